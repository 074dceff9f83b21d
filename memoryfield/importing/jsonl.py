"""Lines of JSON with a text each; also one JSON array, or an object that holds one.

Whose key is what:

| page | key, the first that is there | mem0 | Letta | `export --to jsonl` |
| --- | --- | --- | --- | --- |
| text | text, memory, content, body, value | memory | text; value (of a block) | text |
| title | title, name, label | | label (of a block) | title |
| summary | summary, description | | description (of a block) | summary |
| tags | tags, categories, labels | categories | tags | tags |
| created, updated | in every spelling that frontmatter may have | created_at | created_at | created |
| source | source, url, uri | | | source |
| uuid | uuid, kept; else made of id, key, filename or label; else of the text | id | id; label (of a block) | uuid |

All other keys go into the frontmatter as they are; those that are null are left out, and vectors are told as left.
An object `frontmatter` is taken for the page's own. Where the line says something else than that, or than the
frontmatter in its text, or something that no page can have there, it is kept as `KEY-before`, and told.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .. import names
from ..exporting import line_of
from ..frontmatter.safe_yaml import YamlError, plain_mapping
from ..page import Page
from . import keys as words
from .items import Gathered, Note, digest_of
from .markdown import MAX_NOTE_BYTES
from .tree import single_file
from .values import OWN, is_date, is_words, put, set_aside, text_of

MAX_SOURCE_BYTES = 1 << 30
_TEXT = ("text", "memory", "content", "body", "value")
_TITLE = ("title", "name", "label")
_SUMMARY = ("summary", "description")
_TAGS = ("tags", "categories", "labels")
_SOURCE = ("source", "url", "uri")
_ID = ("id", "memory_id", "key", "filename", "label")
_LISTS = ("results", "memories", "passages", "blocks", "pages", "data", "items")
"""Under which a JSON object may hold its memories: mem0 answers with `results`, a Letta agent file has `blocks`."""
_MAX_TITLE = 80


def read(source: Path, label: str, gathered: Gathered, beside: Path | None = None) -> None:
    """Read a file of JSON."""
    times = times_of(source)
    seen: dict[str, int] = {}
    for number, line in lines_of(source, gathered):
        place = f"{source.name}:{number}"
        note = _note(line, place, label, gathered)
        if note is None:
            continue
        if (first := seen.get(note.identity)) is not None:
            if gathered.notes[first].digest == note.digest:
                gathered.leave("duplicate", place, f"is the same as {gathered.notes[first].path}")
                continue
            note.identity += f"#{note.digest}"
        seen[note.identity] = len(gathered.notes)
        note.file_times = times
        gathered.notes.append(note)


def times_of(source: Path) -> tuple[str, str]:
    """When a file was made and last changed, as pages write it."""
    from ..dates import second_of

    file = single_file(source)
    return second_of(file.birth_ns), second_of(file.mtime_ns)


def lines_of(source: Path, gathered: Gathered) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file, with their numbers from 1: of a line, or in an array."""
    file = single_file(source)
    if file.size > MAX_SOURCE_BYTES:
        gathered.leave("note", source.name, f"is {file.size:,} bytes; more than {MAX_SOURCE_BYTES:,} are not read")
        return
    try:
        raw = _in_utf8(source.read_bytes())
    except UnicodeDecodeError as error:
        fault = f"begins like {error.encoding}, and is none at byte {error.start:,}; save it as UTF-8"
        gathered.leave("note", source.name, f"{fault}, and import it again")
        return
    raw = _without_lone_surrogates(raw, source.name, gathered)
    for number, value in _values(raw):
        if isinstance(value, dict):
            yield number, value
            continue
        reason = value.reason if isinstance(value, _Broken) else "is no JSON object"
        gathered.leave("line", f"{source.name}:{number}", reason)


def _in_utf8(raw: bytes) -> bytes:
    """A file's bytes in UTF-8, without a byte order mark.

    Raises:
        UnicodeDecodeError: they begin like another encoding, and are not in it.
    """
    encoding = json.detect_encoding(raw)
    return raw.removeprefix(codecs.BOM_UTF8) if encoding.startswith("utf-8") else raw.decode(encoding).encode("utf-8")


class _Broken(NamedTuple):
    """A line that cannot be read, and why."""

    reason: str


def _values(raw: bytes) -> Iterator[tuple[int, Any]]:
    """What a file holds, numbered from 1: the items of an array, else a value for each line that is not blank."""
    whole = _whole(raw)
    if whole is not None:
        yield from enumerate(whole, 1)
        return
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line, object_pairs_hook=_object)
            except (json.JSONDecodeError, UnicodeDecodeError):
                yield number, _Broken("is not JSON")
            except RecursionError:
                yield number, _Broken("is nested too deeply")
            except ValueError:
                yield number, _Broken(f"has a number of more than {sys.get_int_max_str_digits():,} digits")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; of a key that is there twice the last one counts, and the other is kept beside."""
    made = dict(pairs)
    if len(made) < len(pairs):
        made |= {f"{key}-before": value for key, value in pairs if made[key] != value}
    return made


_SURROGATES = re.compile(
    rb"(\\\\)|(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\ud[89a-f][0-9a-f]{2}|\xed[\xa0-\xbf][\x80-\xbf]",
    re.IGNORECASE,
)


def _without_lone_surrogates(raw: bytes, name: str, gathered: Gathered) -> bytes:
    """Lines in which no halves of characters are, which UTF-8 cannot hold; where there were some, it is told."""
    if b"\\ud" not in raw and b"\\uD" not in raw and b"\xed" not in raw:
        return raw
    lines = raw.split(b"\n")
    for number, line in enumerate(lines):
        lines[number] = _SURROGATES.sub(lambda match: match[1] or match[2] or b"\\ufffd", line)
        count = sum(not (match[1] or match[2]) for match in _SURROGATES.finditer(line))
        if count:
            gathered.leave("text", f"{name}:{number + 1}", f"halves of characters, which became \ufffd: {count:,}")
    return b"\n".join(lines)


def _whole(raw: bytes) -> list[Any] | None:
    """The array that a file is, or that the object holds which it is; None for lines."""
    try:
        value = json.loads(raw, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and not any(isinstance(value.get(key), str) for key in _TEXT):
        for key in _LISTS:
            if isinstance(value.get(key), list):
                return list(value[key])
    return [value]


def _note(line: dict[str, Any], place: str, label: str, gathered: Gathered) -> Note | None:
    """A line as a note; None, and told, where it has no text."""
    texts = [key for key in _TEXT if isinstance(line.get(key), str)]
    text_key = next((key for key in texts if line[key].strip()), texts[0] if texts else None)
    if text_key is None:
        gathered.leave("line", place, f"has no text: none of {', '.join(_TEXT)} is a text")
        return None
    text = _clean(line[text_key])
    if len(text) > MAX_NOTE_BYTES:
        gathered.leave("line", place, f"is of {len(text):,} characters; more than {MAX_NOTE_BYTES:,} are no note")
        return None
    own = line.get("frontmatter")
    is_exact = isinstance(own, dict)
    rest = {key: value for key, value in line.items() if key != text_key and _says_something(key, value)}
    filename = rest.pop("filename") if isinstance(rest.get("filename"), str) else ""
    given = Page(filename or "page.md", text.encode("utf-8"))
    keys: dict[str, Any] = {}
    head = None
    body = text if is_exact or text.endswith("\n") else text + "\n"
    if isinstance(own, dict):
        del rest["frontmatter"]
        keys = held(own, place, gathered)
        _forget_repeated(rest, own, given)
    elif given.has_frontmatter and given.frontmatter_is_valid:
        keys, body, head = dict(given.frontmatter), given.body, given
    if not body.strip() and not keys:
        gathered.leave("empty", place, "holds nothing")
        return None
    if filename and names.slug(names.stem(filename)) != names.stem(filename):
        rest["filename"] = filename
    set_aside(rest, place, gathered)
    if not is_exact:
        set_aside(keys, place, gathered)
    title = _taken(rest, keys, _TITLE)
    summary = _taken(rest, keys, _SUMMARY)
    source = _source_taken(rest, keys)
    tags = words.words_of(_words_taken(rest))
    created, updated = _dates(rest, keys, place, gathered)
    for key, value in held(rest, place, gathered).items():
        put(keys, key, value, place, gathered)
    if is_exact:  # what its own frontmatter says is not spelled anew: only what is new goes into it
        keys |= {"source": source} if source else {}
        if tags and is_words(present := keys.get("tags")):
            keys["tags"] = [*words.words_of(present), *words.added(words.words_of(present), tags)]
        elif tags:
            put(keys, "tags", tags, place, gathered)
    note = Note(
        path=filename or place,
        identity=_identity(line, label, text),
        source=source or text_of(keys.get("source")) or f"{label}#{_id_of(line)}".rstrip("#"),
        name=names.stem(filename),
        title=title or _title_of(body) or names.stem(filename),
        body=body,
        keys=keys,
        digest=digest_of(json.dumps(line, sort_keys=True, ensure_ascii=True).encode("ascii")),
        summary=summary,
        head=head,
        tags=tags,
        given_dates=(created, updated or created),
        is_exact=is_exact,
    )
    note.name = note.name or note.title
    return note


def _says_something(key: str, value: Any) -> bool:
    return value is not None and not (key in OWN and value in ("", []))


def _clean(text: str) -> str:
    """Text that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode("utf-8").removeprefix("\ufeff")


def _forget_repeated(rest: dict[str, Any], own: dict[str, Any], page: Page) -> None:
    """Take away what `export` has written beside the frontmatter: it says there what is in it, or made of the text."""
    page = Page(page.filename, b"---\n---\n" + page.raw)
    page.take_frontmatter(own)
    for key, value in line_of(page).items():
        is_number = isinstance(own.get(key), int | float)  # which has more than one spelling
        if own.get(key) not in (None, "", []) and key in rest and (rest[key] == value or is_number):
            del rest[key]


def _taken(rest: dict[str, Any], keys: dict[str, Any], wanted: tuple[str, ...]) -> str:
    """The text for a key of the page's own, which then is no other key any more. What the page says itself comes first.

    Args:
        wanted: the keys that it can come from; the first is the page's own.
    """
    said = text_of(keys.get(wanted[0]))
    for key in wanted:
        if value := text_of(rest.get(key)):
            if not said or said == value:
                del rest[key]
            return said or value
    return said


def _source_taken(rest: dict[str, Any], keys: dict[str, Any]) -> str:
    """Where it comes from, if the page does not say so itself. A list of sources stays one."""
    if keys.get("source") or isinstance(rest.get("source"), list):
        return ""
    key = next((key for key in _SOURCE if text_of(rest.get(key)) and not isinstance(rest[key], list)), "")
    return text_of(rest.pop(key)) if key else ""


def _words_taken(rest: dict[str, Any]) -> Any:
    for key in _TAGS:
        if rest.get(key) and is_words(rest[key]):
            return rest.pop(key)
    return None


def _dates(rest: dict[str, Any], keys: dict[str, Any], place: str, gathered: Gathered) -> tuple[str, str]:
    """When it was made and changed; a key that says just this is no other key any more."""
    created, updated, odd = words.dates({**rest, **keys})
    for reason in odd:
        gathered.leave("date", place, reason)
    for key in ("created", "updated", "created_at", "updated_at"):
        if is_date(rest.get(key)) and words.moment_text(rest[key]) in (created, updated):
            del rest[key]
    return created, updated


def _id_of(line: dict[str, Any]) -> str:
    return next((made for key in _ID if (made := text_of(line.get(key)))), "")


def _identity(line: dict[str, Any], label: str, text: str) -> str:
    """What the uuid is derived from: an id that is unique in itself, else one of this file, else the text."""
    made = _id_of(line)
    if re.fullmatch(rf"(?:[a-z]+-)?{names.UUID}", made):
        return made
    return f"{label}#{made or digest_of(text.encode('utf-8'))}"


def _title_of(body: str) -> str:
    """The first heading, else the beginning of the first line, up to a word's end."""
    page = Page("page.md", body.encode("utf-8"))
    first = page.heading or next((line.strip() for line in body.splitlines() if line.strip()), "")
    if len(first) <= _MAX_TITLE:
        return first
    return first[:_MAX_TITLE].rpartition(" ")[0] + "…" if " " in first[:_MAX_TITLE] else first[:_MAX_TITLE] + "…"


def held(values: dict[str, Any], place: str, gathered: Gathered) -> dict[str, Any]:
    """Those keys that frontmatter can hold; the others are told."""
    held: dict[str, Any] = {}
    for key, value in values.items():
        if _is_vector(value) or key == "embedding_config":
            gathered.leave("key", place, f"{key}: is of use to one model only")
            continue
        try:
            held.update(plain_mapping({key: value}))
        except YamlError as error:
            gathered.leave("key", place, f"{key}: {error.message}")
    return held


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 16 and all(isinstance(one, int | float) for one in value)
