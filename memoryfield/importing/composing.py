"""A note made into a page: its frontmatter completed, and the mark by which a later import knows what was imported.

The key `imported` holds two digests of 16 hexadecimal digits each, of the note and of the page without that line:
`imported: "SOURCE-PAGE"`. So it can be told, without anything else being kept, whether the source has changed
since, and whether somebody has edited the page.
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
_MARK_LINE = re.compile(rb'^imported: "([0-9a-f]{16})-([0-9a-f]{16})"(?:\r\n|\n|\r|\Z)', re.MULTILINE)


class Mark(NamedTuple):
    """What a page's `imported` says: digests of the note, and of the page as it was imported."""

    source: str
    page: str


def mark_of(page: Page) -> Mark | None:
    """A page's mark, if it was imported."""
    match = _MARK_LINE.search(page.raw)
    if match is None or page.frontmatter.get(MARK) != f"{match[1].decode()}-{match[2].decode()}":
        return None
    return Mark(match[1].decode(), match[2].decode())


def unmarked(raw: bytes) -> bytes:
    """A page without the line of its mark."""
    return _MARK_LINE.sub(b"", raw, count=1)


def is_edited(page: Page, mark: Mark) -> bool:
    """Whether a page is no longer what was imported."""
    return digest_of(unmarked(page.raw)) != mark.page


def marked(raw: bytes, digest: str) -> bytes:
    """A page with its mark, as the last line of its frontmatter."""
    page = Page("page.md", raw)
    assert page.block is not None
    text = page.text
    line = f'{MARK}: "{digest}-{digest_of(raw)}"{newline_of(text[: page.block.body])}'
    return (text[: page.block.end] + line + text[page.block.end :]).encode("utf-8")


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
    if "page" in missing or not all(isinstance(value, str) or is_texts(value) for value in missing.values()):
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
    return {key: value for key, value in note.keys.items() if key not in values and key != MARK}


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
