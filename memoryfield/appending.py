"""Text added to a page: at its end, or at the end of one of its sections."""

from __future__ import annotations

import re
from typing import Any

from .errors import RefusedError, SectionNotFoundError
from .page import Page

_HEADING = re.compile(r"(#{1,6})[ \t]+(?!#+\s*$)(\S[^\r\n]*)")
_ITEM = re.compile(rb"(?:([-*+])|\d{1,9}([.)]))[ \t]+\S")
_LINE_END = re.compile(r"\r\n?|\n")
_MAY_NEVER_END = (b"```", b"~~~", b"<!", b"<?", b"<pre", b"<script", b"<style", b"<textarea")
_GATHERED = ("tags", "source")
"""Keys that a page has of every text in it; all others speak of one text as a whole."""
_MOST_TAIL = 300
"""So many bytes at a page's end hold the last of the links that `split` puts there."""


def appended(stored: Page | None, given: Page, section: str, notes: list[str]) -> bytes:
    """The stored bytes with a text at their end, or at that of a section; `notes` tells what else was done.

    The links that `split` puts below a page's text stay the last.

    Args:
        stored: none: the page is made, with the frontmatter of the text.
        given: the text; its frontmatter is left out, unless it is broken.
        section: its heading or anchor; as `## Heading` it is made at the end, where it is not there.

    Raises:
        SectionNotFoundError: there is no such section, or there are several.
        RefusedError: the page or the text is not UTF-8, or the text would take in what stands behind it.
    """
    if stored and stored.is_utf8 and not given.is_utf8:
        raise RefusedError(
            f"the text is not UTF-8, and {stored.filename} is: nothing could read the rest of it any more",
            hint="Convert the text to UTF-8.",
        )
    is_broken = given.has_frontmatter and not given.frontmatter_is_valid
    if is_broken:
        notes.append("the text's frontmatter is broken: it was added as it is, with the text")
    above = b"" if is_broken else given.head
    page, added = stored or Page(given.filename, above), given.raw[len(above) :]
    if b"\n" in page.raw:
        added = re.sub(rb"\r?\n", _newline(page), added)
    end = _end_of(page, section) if section else None
    if not added.strip():
        return page.raw
    if section:
        added = added.rstrip(b"\r\n") + _newline(page)
    if section and end is None:
        heading = section.strip()
        notes.append(f"{page.filename} had no section {heading!r}: it was made")
        added = joined(heading.encode("utf-8"), added, _newline(page))
    return _inserted(page, added, end, notes)


def _inserted(page: Page, added: bytes, end: int | None, notes: list[str]) -> bytes:
    """A page's bytes with others behind so many of them; None: behind its text."""
    newline, last = _newline(page), _end_of_text(page)
    end = last if end is None else min(end, last)
    head, rest = page.raw[:end], page.raw[end:]
    if rest.strip() and _closing(added):
        raise RefusedError(
            "the text ends within a block of code or a comment, which would take in what stands behind it",
            hint="Close that block.",
        )
    if end == last and (closing := _closing(head[len(page.head) :])):
        notes.append(f"{page.filename} ended within a block of code or a comment: {closing!r} was added to close it")
        head = head + (b"" if head.endswith(b"\n") else newline) + closing.encode("utf-8") + newline
    if not rest:
        return joined(head, added, newline)
    gap = newline if not rest.startswith((b"\r", b"\n")) else b""
    return joined(head, added.rstrip(b"\r\n"), newline) + newline + gap + rest


def joined(stored: bytes, added: bytes, newline: bytes) -> bytes:
    """The stored bytes, an empty line, the added ones; between items of one list, no empty line."""
    if not stored:
        return added
    if (mark := _last_item(stored)) and mark == _item_mark(added):
        return stored + (b"" if stored.endswith(b"\n") else newline) + added
    gap = b"" if stored.endswith(newline * 2) else newline if stored.endswith(b"\n") else newline * 2
    return stored + gap + added


def _item_mark(line: bytes) -> bytes:
    """What makes a line an item of its kind of list, as `-` or the dot behind a number; nothing where it is none."""
    item = _ITEM.match(line)
    return item[item.lastindex or 0] if item else b""


def _last_item(text: bytes) -> bytes:
    """The mark of the item with which a text ends, with indented lines below it or not; nothing where none does."""
    for line in reversed(text.splitlines()):
        if not line.startswith((b" ", b"\t")):
            return _item_mark(line)
        if not line.strip():
            break
    return b""


def _newline(page: Page) -> bytes:
    return b"\r\n" if b"\r\n" in page.raw else b"\n"


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
        return _end_of_line(page, find_section(page, text).end)
    except SectionNotFoundError as error:
        if re.search(r"\A#|[\r\n]", wanted.strip()):
            error.hint = "A heading that can be made is one to six #, a space and a text on one line, as in '## Log'."
        elif not heading:
            error.hint = f"{error.hint} Given as '## {wanted.strip()}', a section is made where there is none."
        raise


def _end_of_text(page: Page) -> int:
    """How many bytes of a page come before the links that `split` puts below its text; without them, all."""
    if b".md)" not in page.raw[-_MOST_TAIL:] or not page.is_utf8:
        return page.size
    from .splitting import place_of_way

    place = place_of_way(page.body)
    return page.size if place is None else _end_of_line(page, place)


def _end_of_line(page: Page, place: int) -> int:
    """How many bytes of a page come before the end of the last line of text that stands before a place in its body."""
    before = page.body[:place]
    line_end = _LINE_END.search(before, len(before.rstrip()))
    behind = page.body[line_end.end() if line_end else len(before) :]
    return page.size - len(behind.encode("utf-8"))


def _closing(text: bytes) -> str:
    """What would end the block of code, or the comment, in which a text ends; nothing where it does not."""
    lower = text.lower()
    if not any(mark in lower for mark in _MAY_NEVER_END):
        return ""
    from .outline import closing

    return closing(text.decode("utf-8", "replace"))


# the frontmatter of a text that is added


def gathered(stored: Page, given: Page, notes: list[str]) -> dict[str, str | list[str]]:
    """The keys that a page gets of a text that is added to it; `notes` tells of all that the text has of its own."""
    values: dict[str, str | list[str]] = {}
    left_out = []
    for key, value in given.frontmatter.items() if given.frontmatter_is_valid else ():
        had = stored.frontmatter.get(key)
        if value in (had, None, "", []):
            continue
        before, more = _texts(had, key), _texts(value, key)
        if key not in _GATHERED or before is None or more is None:
            left_out.append(key)
        elif new := [text for text in more if text not in before]:
            values[key] = [*before, *new] if before or len(new) > 1 else value
    if values:
        notes.append(f"the text's {' and '.join(values)} went to the page's own")
    if left_out:
        notes.append(f"left out of the text's frontmatter, since the page has its own: {', '.join(left_out)}")
    return values


def _texts(value: Any, key: str) -> list[str] | None:
    """The texts of a key that holds one, a list of them, or nothing; None where it holds anything else.

    Tags may be one text, with commas between them.
    """
    if key == "tags" and isinstance(value, str):
        value = [tag for part in value.split(",") if (tag := part.strip())]
    texts = [] if value in (None, "") else value if isinstance(value, list) else [value]
    return texts if all(isinstance(text, str) for text in texts) else None
