"""Text added to a page: at its end, or at the end of one of its sections."""

from __future__ import annotations

import re

from .errors import RefusedError, SectionNotFoundError
from .page import Page

_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_LINE_END = re.compile(r"\r\n?|\n")
_MAY_NEVER_END = (b"```", b"~~~", b"<!--", b"<pre", b"<script", b"<style", b"<textarea")


def appended(stored: Page, added: bytes, section: str, notes: list[str]) -> bytes:
    """The stored bytes with others at their end, or at that of a section; `notes` tells that it was made.

    Args:
        section: its heading or anchor; as `## Heading` it is made at the end, where it is not there.

    Raises:
        SectionNotFoundError: there is no such section, or there are several.
        RefusedError: the page is not UTF-8, or the text would take in the sections behind it.
    """
    if not section:
        return joined(stored.raw, added)
    end = _end_of(stored, section)
    if end is None:
        heading = section.strip()
        notes.append(f"{stored.filename} had no section {heading!r}: it was made")
        return joined(joined(stored.raw, heading.encode("utf-8")), added)
    if not added.strip():
        return stored.raw
    head, rest = stored.raw[:end], stored.raw[end:]
    if rest.strip():
        _check_that_it_ends(added)
    newline = b"\r\n" if b"\r\n" in stored.raw else b"\n"
    gap = newline if rest and not rest.startswith((b"\r", b"\n")) else b""
    return joined(head, added.rstrip(b"\r\n")) + newline + gap + rest


def joined(stored: bytes, added: bytes) -> bytes:
    """The stored bytes, an empty line, the added ones."""
    newline = b"\r\n" if b"\r\n" in stored else b"\n"
    if not stored or not added:
        return stored + added
    gap = b"" if stored.endswith(newline * 2) else newline if stored.endswith(b"\n") else newline * 2
    return stored + gap + added


def _end_of(page: Page, wanted: str) -> int | None:
    """How many bytes of a page come before the end of a section's last line; None for one that is to be made."""
    from .sections import anchor, find_section, sections

    if not page.is_utf8:
        raise RefusedError(f"{page.filename} is not UTF-8: its sections cannot be told", hint="Leave --section out.")
    heading = _HEADING.fullmatch(wanted.strip())
    text = heading[2] if heading else wanted
    if heading and not any(anchor(section.text) == anchor(text) for section in sections(page.body)):
        return None
    try:
        before = page.body[: find_section(page, text).end]
    except SectionNotFoundError as error:
        if not heading:
            error.hint = f"{error.hint} Given as '## {wanted.strip()}', a section is made where there is none."
        raise
    line_end = _LINE_END.search(before, len(before.rstrip()))
    behind = page.body[line_end.end() if line_end else len(before) :]
    return page.size - len(behind.encode("utf-8"))


def _check_that_it_ends(added: bytes) -> None:
    """Refuse a text after which the rest of the page would be code or a comment."""
    if not any(mark in added for mark in _MAY_NEVER_END):
        return
    from .outline import is_open

    if is_open(added.decode("utf-8", "replace")):
        raise RefusedError(
            "the text ends within a block of code or a comment, which would take in the sections behind it",
            hint="Close that block.",
        )
