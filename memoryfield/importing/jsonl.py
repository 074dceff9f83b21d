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
`frontmatter` is taken for the page's own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..frontmatter.safe_yaml import YamlError, plain_mapping
from ..names import UUID
from ..page import Page
from . import keys as words
from .items import Gathered, Note, digest_of
from .markdown import MAX_NOTE_BYTES
from .tree import single_file

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
    raw = source.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if b"\\ud" in raw.lower():
        raw = b"\n".join(_without_lone_surrogates(line) for line in raw.split(b"\n"))
    for number, value in _values(raw):
        if isinstance(value, dict):
            yield number, value
        else:
            fault = "is not JSON" if value is _BROKEN else "is no JSON object"
            gathered.leave("line", f"{source.name}:{number}", fault)


_BROKEN = object()


def _values(raw: bytes) -> Iterator[tuple[int, Any]]:
    """What a file holds, numbered from 1: the items of an array, else a value for each line that is not blank."""
    whole = _whole(raw)
    if whole is not None:
        yield from enumerate(whole, 1)
        return
    for number, line in enumerate(raw.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError):
                yield number, _BROKEN


def _without_lone_surrogates(line: bytes) -> bytes:
    """A line whose escapes name no halves of characters, which UTF-8 cannot hold."""
    return re.sub(
        rb"(\\\\)|(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\ud[89a-f][0-9a-f]{2}",
        lambda match: match[1] or match[2] or b"\\ufffd",
        line,
        flags=re.IGNORECASE,
    )


def _whole(raw: bytes) -> list[Any] | None:
    """The array that a file is, or that the object holds which it is; None for lines."""
    try:
        value = json.loads(raw)
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
    keys = _held(own, place, gathered) if isinstance(own, dict) else {}
    rest = {key: value for key, value in line.items() if key not in (text_key, "frontmatter") and value is not None}
    filename = str(line.get("filename") or "")
    given = Page("page.md", text.encode("utf-8"))
    head = None
    if isinstance(own, dict):
        body = text
    elif given.has_frontmatter and given.frontmatter_is_valid:
        keys, body, head = dict(given.frontmatter), given.body, given
    else:
        body = text if text.endswith("\n") else text + "\n"
    if not body.strip() and not keys:
        gathered.leave("empty", place, "holds nothing")
        return None
    title = _taken(rest, keys, _TITLE, "title")
    note = Note(
        path=filename or place,
        identity=_identity(line, keys, label, text, filename),
        source="",
        name=filename.removesuffix(".md") or "",
        title=" ".join(str(title).split()) or _title_of(body),
        body=body,
        keys=keys,
        digest=digest_of(json.dumps(line, sort_keys=True, ensure_ascii=True).encode("ascii")),
        summary=" ".join(str(_taken(rest, keys, _SUMMARY, "summary")).split()),
        head=head,
        is_exact=isinstance(own, dict),
    )
    note.name = note.name or note.title
    note.tags = words.added(words.words_of(keys.get("tags")), words.words_of(_taken(rest, {}, _TAGS, "")))
    note.source = str(_taken(rest, keys, _SOURCE, "source") or f"{label}#{_id_of(line)}".rstrip("#"))
    created, updated, odd = words.dates({**rest, **keys})
    for reason in odd:
        gathered.leave("date", place, reason)
    note.given_dates = (created, updated or created)
    if not isinstance(own, dict):
        for key in ("created", "updated", "created_at", "updated_at"):
            rest.pop(key, None)
        others = {key: value for key, value in rest.items() if key not in ("uuid", "filename") and key not in keys}
        for key, value in _held(others, place, gathered).items():
            note.keys[key] = value
    if (uuid := rest.get("uuid")) and "uuid" not in note.keys:
        note.keys["uuid"] = uuid
    return note


def _clean(text: str) -> str:
    """Text that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode("utf-8").removeprefix("\ufeff")


def _taken(rest: dict[str, Any], keys: dict[str, Any], wanted: tuple[str, ...], own: str) -> Any:
    """The value of the first of these keys, which then is no other key any more; the page's own comes first."""
    for key in wanted:
        if rest.get(key) not in (None, "", []) and not isinstance(rest[key], dict):
            value = rest.pop(key)
            return keys.get(own) or value
    return keys.get(own) or ""


def _id_of(line: dict[str, Any]) -> str:
    return next((str(line[key]) for key in _ID if line.get(key) not in (None, "")), "")


def _identity(line: dict[str, Any], keys: dict[str, Any], label: str, text: str, filename: str) -> str:
    """What the uuid is derived from: an id that is unique in itself, else one of this file, else the text."""
    made = _id_of(line)
    if re.fullmatch(rf"(?:[a-z]+-)?{UUID}", made):
        return made
    return f"{label}#{made or digest_of(text.encode('utf-8'))}"


def _title_of(body: str) -> str:
    """The first heading, else the beginning of the first line, up to a word's end."""
    page = Page("page.md", body.encode("utf-8"))
    first = page.heading or next((line.strip() for line in body.splitlines() if line.strip()), "")
    if len(first) <= _MAX_TITLE:
        return first
    return first[:_MAX_TITLE].rpartition(" ")[0] + "…" if " " in first[:_MAX_TITLE] else first[:_MAX_TITLE] + "…"


def _held(values: dict[str, Any], place: str, gathered: Gathered) -> dict[str, Any]:
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
