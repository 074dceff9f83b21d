"""What can be mended in one page without guessing; everything else in it stays as it is."""

from __future__ import annotations

import datetime
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from .. import names
from ..dates import iso_time, moment_of
from ..frontmatter import Block, KeyPlace, find_block, known_lines
from ..frontmatter.blocks import KNOWN_KEYS
from ..frontmatter.rewriting import new_block, set_keys
from ..frontmatter.safe_yaml import YamlError, load
from ..page import Page
from .links import Link, with_targets
from .pages import ASKED_FOR, RFC_3339, is_empty

_BOM = "\ufeff"
_DATETIME = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:(?:[Tt]|[ \t]+)(\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?[ \t]*(Z|z|UTC|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
_ZONED = re.compile(r"(?:[Zz]|UTC|:\d\d(?:[.,]\d+)?[ \t]*[+-]\d\d(?::?\d\d)?)$")
_UTC_ZONES = ("Z", "+00:00")
_UUID = re.compile(
    rf"(?:urn:uuid:)?(?:({names.UUID}|[0-9a-f]{{32}})|\{{({names.UUID})\}})",
    re.ASCII | re.IGNORECASE,
)
_KEY = re.compile(rf"(?:(?:{'|'.join(KNOWN_KEYS)})[ \t]*:|\w[\w .-]*:(?=[ \t]|$))[ \t]*")
"""A key in the first column; a blank must follow its colon where it is none of the five."""
_QUOTED = re.compile(r"(\"[^\"]*\"|'[^']*')(?:[ \t]+#.*)?")
_MENDED_KEYS = (*KNOWN_KEYS, "expires")
_STANDS_IN = "x"
"""A value that any block can hold, until the right one is set."""


class Mend(NamedTuple):
    """One thing that is mended: the requirement that was broken, the line in the page as it was, and what is done."""

    requirement: str
    line: int
    message: str


class Key(NamedTuple):
    """A key that gets a value, and why."""

    value: str
    mends: list[Mend]


def mended(page: Page, renames: Mapping[str, str], now: str) -> tuple[bytes, list[Mend]]:
    """A page's bytes as they should be, and what differs; the same bytes where nothing can be mended.

    A page that is not UTF-8 stays as it is. So does one whose frontmatter is broken in a way that
    leaves more than one reading; only its links to renamed pages follow.

    Args:
        page: with its file's time.
        renames: old names of pages to new ones.
        now: the present moment, as pages write it.
    """
    if not page.is_utf8:
        return page.raw, []
    text, mends = _plain(page.raw.decode("utf-8"))
    text, followed = with_new_names(text, renames)
    with_frontmatter = _with_frontmatter(Page(page.filename, text.encode("utf-8"), mtime_ns=page.mtime_ns), now)
    if with_frontmatter is None:
        mark = _BOM if page.raw.startswith(_BOM.encode("utf-8")) else ""
        text, followed = with_new_names(page.text, renames)
        return (mark + text).encode("utf-8"), followed
    return with_frontmatter[0].encode("utf-8"), [*mends, *followed, *with_frontmatter[1]]


def _plain(text: str) -> tuple[str, list[Mend]]:
    """The text without a byte order mark, its lines ended by LF."""
    mends = []
    if text.startswith(_BOM):
        text = text.lstrip(_BOM)
        mends.append(Mend("P-9", 1, "removes the byte order mark"))
    if "\r" in text:
        line = text.count("\n", 0, text.index("\r")) + 1
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        mends.append(Mend("R-7", line, "ends lines with LF"))
    return text, mends


def with_new_names(text: str, renames: Mapping[str, str]) -> tuple[str, list[Mend]]:
    """The text with its links to renamed pages following them; anchors, queries and `./` stay."""
    if not renames:
        return text, []
    head = len(text) - len(Page("page.md", text.encode("utf-8")).body)
    body, mends = text[head:], []
    line, counted = 1, 0

    def target(link: Link) -> str | None:
        nonlocal line, counted
        new = renames.get(link.page or "")
        if new is None:
            return None
        line, counted = line + text.count("\n", counted, head + link.start), head + link.start
        mends.append(Mend("P-2", line, f"lets the link to {link.page} lead to {new}"))
        written = body[link.start : link.end]
        path = re.split(r"[?#]", written, maxsplit=1)[0]
        return ("./" if path.startswith("./") else "") + new + written[len(path) :]

    return text[:head] + with_targets(body, target), mends


def _with_frontmatter(page: Page, now: str) -> tuple[str, list[Mend]] | None:
    """The text with frontmatter that is there, valid and complete; None where it has more than one reading."""
    text = page.text
    if page.block is None or not page.has_frontmatter:  # `---` may be a rule above prose
        return _with_block(page, now)
    if not page.block.closed or page.block.kind != "yaml":
        return None
    if page.frontmatter_is_valid:
        return _with_keys(page, now)
    requoted = _requoted(text, page.block)
    if requoted is None:
        return None
    text, mends = _with_keys(Page(page.filename, requoted[0].encode("utf-8"), mtime_ns=page.mtime_ns), now)
    return text, requoted[1] + mends


def _with_block(page: Page, now: str) -> tuple[str, list[Mend]]:
    values = _made(page, {}, now)
    gap = "" if not page.text or page.text.startswith("\n") else "\n"
    text = new_block(values) + gap + page.text
    made = Page(page.filename, text.encode("utf-8"))
    if made.frontmatter != values or made.body != gap + page.text:
        return page.text, []
    return text, [Mend("P-3", 1, "puts frontmatter on top")]


def _title(page: Page) -> str:
    """What readers call the page: by its first heading, else by its name."""
    stem = names.stem(page.filename)
    return (page.heading or "").strip() or stem.strip() or names.slug(stem)


# values that YAML refuses


class _Entry(NamedTuple):
    """A key of a block: it and its value stand in `lines[first:last]`."""

    key: str
    first: int
    last: int


def _requoted(text: str, block: Block) -> tuple[str, list[Mend]] | None:
    """A broken block with quotes around the values that make it so, each on a line of its own.

    None where that does not make it valid, or would change another value.
    """
    lines = text[block.start : block.end].split("\n")
    entries = _entries(lines)
    times = Counter(entry.key for entry in entries)
    if any(times[key] > 1 for key in KNOWN_KEYS):  # of two, the first counts now, and the last would then
        return None
    anchors = set(re.findall(r"(?:^|[ \t\[{,])&([\w-]+)", text[block.start : block.end], re.MULTILINE))
    values: dict[str, str] = {}
    mends = []
    for entry in entries:
        if _is_valid(entry, lines, anchors):
            continue
        parts = _value(lines[entry.first])
        if parts is None or times[entry.key] > 1 or not _is_one_line(entry, lines):
            return None
        head, values[entry.key], rest = parts
        lines[entry.first] = head + _STANDS_IN + rest
        line = text.count("\n", 0, block.start) + entry.first + 1
        mends.append(Mend("F-7", line, f"puts quotes around the value of {entry.key}"))
    if not values:
        return None
    repaired = text[: block.start] + "\n".join(lines) + text[block.end :]
    repaired_block = find_block(repaired)
    assert repaired_block is not None
    edited = set_keys(repaired, repaired_block, values)
    return None if edited is None else (edited, mends)


def _entries(lines: list[str]) -> list[_Entry]:
    starts = [number for number, line in enumerate(lines) if _KEY.match(line)]
    return [
        _Entry(lines[first].partition(":")[0].rstrip(), first, last) for first, last in pairwise([*starts, len(lines)])
    ]


def _is_valid(entry: _Entry, lines: list[str], anchors: set[str]) -> bool:
    """Whether a key and its value can be read by themselves, or with the anchor that the value names."""
    alias = re.fullmatch(r"[^:]*:[ \t]+\*([\w-]+)[ \t]*(?:#.*)?", lines[entry.first])
    if alias and alias[1] in anchors:
        return True
    try:
        value = load("\n".join(lines[entry.first : entry.last]) + "\n").value
    except YamlError:
        return False
    return isinstance(value, dict) and len(value) == 1


def _is_one_line(entry: _Entry, lines: list[str]) -> bool:
    """Whether nothing but blank lines and comments follows before the next key."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in lines[entry.first + 1 : entry.last])


def _value(line: str) -> tuple[str, str, str] | None:
    """What stands before a line's value, the value as F-20 reads it, and what follows it.

    None where there is no value, or where one that is read would leave out more than a comment.
    """
    key = _KEY.match(line)
    assert key is not None
    rest = line[key.end() :]
    quoted = _QUOTED.fullmatch(rest.rstrip())
    comment = re.search(r"(?:^|[ \t])#", rest)
    written = quoted[1] if quoted else (rest[: comment.start()] if comment else rest).rstrip()
    if not rest.replace("\t", " ").isprintable():
        return None  # in quotes it would become an escape, which nobody sees
    value = known_lines(f"title: {rest}").get("title")
    if value is None or value != (written[1:-1] if quoted else written):
        return None
    gap = "" if key[0].endswith((" ", "\t")) else " "
    return key[0] + gap, value, rest[len(written) :]


# keys that are missing, or written in another way than they should be


def _with_keys(page: Page, now: str) -> tuple[str, list[Mend]]:
    """The text with the keys mended; a key that cannot be set without touching another one stays as it is."""
    assert page.block is not None
    wanted = _wanted(page, now)
    if not wanted:
        return page.text, []
    text = set_keys(page.text, page.block, {key: item.value for key, item in wanted.items()})
    if text is not None:
        return text, [mend for item in wanted.values() for mend in item.mends]
    text = page.text
    mends: list[Mend] = []
    for key, item in wanted.items():
        block = find_block(text)
        assert block is not None
        edited = set_keys(text, block, {key: item.value})
        if edited is not None:
            text, mends = edited, [*mends, *item.mends]
    return text, mends


def _wanted(page: Page, now: str) -> dict[str, Key]:
    """The keys that should have another value, or another way of writing it."""
    keys = dict(_written_otherwise(page))
    values = {**page.frontmatter, **{key: item.value for key, item in keys.items()}}
    missing = [key for key in ASKED_FOR if is_empty(values.get(key))]
    made = _made(page, values, now) if missing else {}
    return keys | {key: Key(made[key], [Mend(ASKED_FOR[key], 1, f"adds {key}")]) for key in missing}


def _made(page: Page, values: Mapping[str, Any], now: str) -> dict[str, str]:
    """What a page has for each key that is asked for, where it lacks it."""
    created, updated = _times(values, page.mtime_ns, now)
    return {"title": _title(page), "uuid": str(uuid.uuid4()), "created": created, "updated": updated}


def _written_otherwise(page: Page) -> Iterator[tuple[str, Key]]:
    """The keys that are there, and should be written in another way."""
    for key, value in page.frontmatter.items():
        place = page.key_places.get(key)
        if key not in _MENDED_KEYS or place is None or is_empty(value):
            continue
        text = _as_written(value, place)
        if text is None:
            continue
        if key in ("created", "updated"):
            item = _as_datetime(key, text, place)
        elif key == "expires":
            item = _as_date(key, text, place)
        else:
            item = _as_text(key, text, place)
        if item:
            yield key, item


def _as_written(value: Any, place: KeyPlace) -> str | None:
    """The text of a value, for a bare one as it is written; None where it is no text.

    Of lists and mappings, only `[[a link]]` and a `{uuid}` are taken for texts.
    """
    bare = place.style == "plain" and "\n" not in place.source and not place.source.startswith(("!", "&"))
    if bare or (place.style == "flow" and (place.source.startswith("[[") or _UUID.fullmatch(place.source))):
        return place.source
    return value if isinstance(value, str) else None


def _as_text(key: str, text: str, place: KeyPlace) -> Key | None:
    """title, summary or uuid as a string, and a uuid in its usual form."""
    mends: list[Mend] = []
    if not place.quoted and _is_no_string(text):
        mends.append(Mend("F-14", place.line, f"puts quotes around {key}"))
    usual = _usual_uuid(text) if key == "uuid" else None
    if usual and usual != text:
        mends.append(Mend("F-11", place.line, "writes uuid in its usual form"))
    return Key(usual or text, mends) if mends else None


def _is_no_string(written: str) -> bool:
    """Whether YAML 1.1 makes anything but a string of a bare value."""
    import yaml

    if written.startswith(("[", "{")):
        return True
    resolver: Any = yaml.resolver.Resolver()  # types-PyYAML says nothing of its methods
    return not resolver.resolve(yaml.ScalarNode, written, (True, False)).endswith((":str", ":value"))


def _usual_uuid(text: str) -> str | None:
    """A UUID in lowercase with hyphens, whether it was in capitals, in braces, without hyphens or a URN."""
    match = _UUID.fullmatch(text.strip())
    return str(uuid.UUID(match[1] or match[2])) if match else None


def _as_datetime(key: str, text: str, place: KeyPlace) -> Key | None:
    """created or updated in quotes, as RFC 3339 writes it in UTC. What is no datetime is left alone."""
    text = text.strip()  # a block scalar ends with a line end
    moment = in_utc(text)
    if moment is None:
        return None
    mends = [] if place.quoted else [Mend("F-8", place.line, f"puts quotes around {key}")]
    if not RFC_3339.fullmatch(text):
        zone = "" if _ZONED.search(text) else ", in UTC, since it names no zone"
        mends.append(Mend("F-9", place.line, f"writes {key} as {moment}{zone}"))
    elif not text.endswith(_UTC_ZONES):
        taken = f"takes {key} for UTC, since it names no zone" if not _ZONED.search(text) else f"turns {key} into UTC"
        mends.append(Mend("F-10", place.line, f"{taken}: {moment}"))
    else:
        moment = text
    return Key(moment, mends) if mends else None


def _as_date(key: str, text: str, place: KeyPlace) -> Key | None:
    """expires in quotes, where it is a date."""
    if place.quoted or in_utc(text) is None:
        return None
    return Key(text, [Mend("K-3", place.line, f"puts quotes around {key}")])


def in_utc(text: str) -> str | None:
    """A date or datetime as RFC 3339 writes it in UTC, the fraction of a second kept; None for what is none.

    As everywhere here, a time without a zone is taken as UTC, and a date alone as its first moment.
    """
    match = _DATETIME.fullmatch(text.strip())
    if match is None:
        return None
    day, minutes, seconds, fraction, zone = match.groups()
    zone = "+00:00" if zone in (None, "Z", "z", "UTC") else zone
    try:
        moment = datetime.datetime.fromisoformat(f"{day}T{minutes or '00:00'}:{seconds or '00'}{zone}")
        moment = moment.astimezone(datetime.UTC)
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=None).isoformat() + (f".{fraction}" if fraction else "") + "Z"


def _times(values: Mapping[str, Any], mtime_ns: int, now: str) -> tuple[str, str]:
    """What `created` and `updated` are where they are missing.

    `created` is what `updated` says, and `updated` the file's time, but not before `created`. Where
    neither says anything, both are the file's time, or `now` where that is none or lies in the future.
    """
    present = moment_of(now)
    has_time = mtime_ns > 0 and (present is None or mtime_ns <= present)
    changed = iso_time(mtime_ns)[: len("2026-03-14T09:12:40")] + "Z" if has_time else now
    created, updated = (in_utc(str(values.get(key))) for key in ("created", "updated"))
    created = created or updated or changed
    return created, updated or max(changed, created, key=lambda text: moment_of(text) or 0)


# what other pages know a page by


def with_usual_uuids(page: Page, usual: Mapping[str, str]) -> tuple[bytes, list[Mend]]:
    """The page's bytes, its `supersedes` naming pages by uuids in their usual form.

    Args:
        usual: from uuids as readers compare them, in lowercase, to their usual form.
    """
    given = page.frontmatter.get("supersedes")
    items = given if isinstance(given, list) else [given]
    named = {
        item: usual[item.strip().lower()]
        for item in (item for item in items if isinstance(item, str))
        if item.strip().lower() in usual
    }
    places = page.key_places if named else {}
    if "supersedes" not in places:
        return page.raw, []
    first = places["supersedes"].line
    last = min((place.line for place in places.values() if place.line > first), default=0)
    lines = page.text.split("\n")
    assert page.block is not None
    last = last or page.text.count("\n", 0, page.block.end) + 1
    for number in range(first - 1, last - 1):
        for old, new in named.items():
            lines[number] = lines[number].replace(old, new)
    wanted = [named.get(item, item) if isinstance(item, str) else item for item in items]
    expected = {**page.frontmatter, "supersedes": wanted if isinstance(given, list) else wanted[0]}
    result = Page(page.filename, "\n".join(lines).encode("utf-8"))
    if result.frontmatter != expected or result.body != page.body:
        return page.raw, []
    return result.raw, [Mend("F-11", first, "lets supersedes name the uuid in its usual form")]
