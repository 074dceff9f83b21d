"""A note made into a page: its frontmatter completed, and the mark by which a later import knows what was imported.

The key `imported` is the last of the frontmatter: `imported: "SOURCE-PAGE-PLACE"`, digests of 16 hexadecimal digits
each, of the note and of the page without that line, and of four, of where the source lies (`sameness`). So it can be
told, without anything else being kept, whether the source has changed since, whether somebody has edited the page,
and whether another source is called the same.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ..frontmatter import newline_of
from ..frontmatter.rewriting import is_texts
from ..page import Page, with_keys
from . import keys as words
from .items import Note, digest_of

MARK = "imported"
_FORM = re.compile(r"([0-9a-f]{16})-([0-9a-f]{16})(?:-([0-9a-f]{4}))?")
_LINE = re.compile(rf'(?<![^\r\n])imported: "{_FORM.pattern}"(?:\r\n|\n|\r|\Z)')
_KEY = re.compile(r"(?<![^\r\n])imported(?=[ \t]*:)")


class Mark(NamedTuple):
    """What a page's `imported` says: digests of the note, of the page as it was imported, and of the source's place."""

    source: str
    page: str
    place: str


def mark_of(page: Page) -> Mark | None:
    """A page's mark, if it was imported."""
    match = _FORM.fullmatch(str(page.frontmatter.get(MARK)))
    return Mark(match[1], match[2], match[3] or "") if match else None


def unmarked(page: Page) -> bytes:
    """A page without the line of its mark: the last one that its frontmatter has, which counts."""
    lines = list(_LINE.finditer(page.text, 0, page.block.end)) if page.block else []
    return (page.text[: lines[-1].start()] + page.text[lines[-1].end() :]).encode("utf-8") if lines else page.raw


def is_edited(page: Page, mark: Mark) -> bool:
    """Whether a page is no longer what was imported."""
    return digest_of(unmarked(page)) != mark.page


def marked(raw: bytes, digest: str, place: str) -> bytes:
    """A page with its mark, as the last line of its frontmatter."""
    page = Page("page.md", raw)
    assert page.block is not None
    text = page.text
    line = f'{MARK}: "{digest}-{digest_of(raw)}-{place}"{newline_of(text[: page.block.body])}'
    return (text[: page.block.end] + line + text[page.block.end :]).encode("utf-8")


def give_way(note: Note) -> str:
    """Take `imported` out of the keys that a note has itself: the page's own mark stands there.

    Returns:
        The key that its value has now; empty, if there was none, or only the mark of another import.
    """
    if MARK not in note.keys:
        return ""
    is_mark = _FORM.fullmatch(str(note.keys[MARK])) is not None
    other = f"{MARK}-before"
    while other in note.keys:
        other += "-before"

    def without(keys: dict[str, Any]) -> dict[str, Any]:
        return {other if key == MARK else key: value for key, value in keys.items() if key != MARK or not is_mark}

    note.keys = without(note.keys)
    if note.head is not None and note.head.block is not None:
        start, end = note.head.block.start, note.head.block.end
        block = note.head.text[start:end]
        block = _LINE.sub("", block) if is_mark else _KEY.sub(other, block)
        head = Page("page.md", (note.head.text[:start] + block + note.head.text[end:]).encode("utf-8"))
        if head.frontmatter == without(note.head.frontmatter) and head.body == note.head.body:
            note.head = head
    return "" if is_mark else other


class Composed(NamedTuple):
    """A page without its mark; `is_anew` where the frontmatter that the note had could not be edited in place."""

    raw: bytes
    is_anew: bool


def composed(note: Note, body: str, uuid: str, stored: Page | None) -> Composed:
    """The page that a note becomes.

    Args:
        body: its text, with links rewritten.
        stored: the page that it was imported as before; dates that come from files do not change while the note
            does not.
    """
    values = _values(note, uuid, stored)
    edited = _edited(note, body, values)
    return Composed(_anew(note, body, values) if edited is None else edited, note.head is not None and edited is None)


def _edited(note: Note, body: str, values: dict[str, Any]) -> bytes | None:
    """The page with its own frontmatter, and the keys that it lacks; None where that cannot be edited."""
    if note.head is None or note.head.block is None:
        return None
    page = Page("page.md", (note.head.text[: note.head.block.body] + body).encode("utf-8"))
    wanted = {**note.keys, **values}
    missing = {key: value for key, value in wanted.items() if note.head.frontmatter.get(key) != value}
    if (
        MARK in note.head.frontmatter
        or "page" in missing
        or not all(isinstance(value, str) or is_texts(value) for value in missing.values())
    ):
        return None
    edited = with_keys(page, **missing) if missing else page.raw
    block = Page("page.md", edited).block if edited is not None else None
    return edited if edited is not None and block is not None and _takes_lines(edited, block.end) else None


def _takes_lines(raw: bytes, end: int) -> bool:
    """Whether a line can be put at the end of the block: not into braces, nor where the keys are indented."""
    line = raw.decode("utf-8")[:end].rstrip("\r\n").replace("\r", "\n").rpartition("\n")[2]
    return re.match(r"[A-Za-z_]", line) is not None


def _anew(note: Note, body: str, values: dict[str, Any]) -> bytes:
    """A page with a new block of frontmatter."""
    from ..frontmatter.rewriting import pair

    newline = newline_of(body)
    keys = {**note.keys, **values} if note.is_exact else {**values, **_others(note, values)}
    block = "---\n" + "".join(pair(str(key), value) for key, value in keys.items()) + "---\n"
    gap = "" if note.is_exact or not body or body.startswith(("\n", "\r")) else newline
    return (block.replace("\n", newline) + gap + body).encode("utf-8", "replace")


def _others(note: Note, values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in note.keys.items() if key not in values}


def _values(note: Note, uuid: str, stored: Page | None) -> dict[str, Any]:
    """The keys that a page must have, as they are to be."""
    created, updated = _dates(note, stored)
    values: dict[str, Any] = {"title": note.title}
    summary = note.keys.get("summary")
    if note.summary and not (isinstance(summary, str) and summary.strip()):
        values["summary"] = note.summary
    values |= {"uuid": uuid, "created": created, "updated": updated}
    if note.keys.get("source") in (None, "", []) and not (note.is_exact and note.keys.get("uuid")):
        values["source"] = note.source
    for key, more in (("tags", note.tags), ("aliases", note.aliases)):
        present = words.words_of(note.keys.get(key))
        if new := words.added(present, more):
            values[key] = present + new
    if note.is_exact:  # what its own frontmatter says is not spelled anew
        return {key: value for key, value in values.items() if key == "uuid" or note.keys.get(key) in (None, "", [])}
    return values


def _dates(note: Note, stored: Page | None) -> tuple[str, str]:
    """`created` and `updated`: as the note tells them, else as the page has them, else those of the file."""
    created, updated = note.given_dates
    mark = mark_of(stored) if stored is not None else None
    same = mark is not None and mark.source == note.digest
    created = (
        created or (stored.created if stored is not None else "") or min(filter(None, (note.file_times[0], updated)))
    )
    updated = updated or (stored.updated if stored is not None and same else "") or note.file_times[1]
    return created, max(created, updated)
