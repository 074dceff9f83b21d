"""Sections: the parts of a page between its headings, found by heading or by anchor."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any, NamedTuple

from .errors import SectionNotFoundError
from .names import folded
from .page import Page, headings

_MAX_SUGGESTIONS = 3
_MAX_SPAN = 500
"""Characters of a link or a code span in a heading; what is longer is left as it is, so that no line takes long."""
_MARKUP = re.compile(
    rf"(?P<tick>(?<!`)`+(?!`))(?P<code>.{{1,{_MAX_SPAN}}}?)(?<!`)(?P=tick)(?!`)"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
    rf"|!\[[^\[\]]{{0,{_MAX_SPAN}}}\]\([^()]{{0,{_MAX_SPAN}}}\)"
    rf"|\[(?P<link>[^\[\]]{{0,{_MAX_SPAN}}})\](?:\([^()]{{0,{_MAX_SPAN}}}\)|\[[^\[\]]{{0,{_MAX_SPAN}}}\])"
    rf"|<(?P<address>[A-Za-z][A-Za-z0-9+.-]{{1,31}}:[^\s<>]{{0,{_MAX_SPAN}}})>"
    rf"|</?[A-Za-z][^<>]{{0,{_MAX_SPAN}}}>"
    r"|\*+(?=\S)|(?<=\S)\*+|~~|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)"
)


class Section(NamedTuple):
    """A heading and what stands under it, to the next heading of its level or higher; nested sections overlap.

    `text` is the heading as written, `anchor` what a link to it has after the `#`, and `start` and
    `end` are places of characters in the body: of the heading's first, and after the section's last.
    """

    level: int
    text: str
    anchor: str
    start: int
    end: int

    def to_dict(self, body: str) -> dict[str, Any]:
        """As JSON has it; its size is in bytes, with those of the sections inside."""
        size = len(body[self.start : self.end].encode("utf-8"))
        return {"level": self.level, "heading": self.text, "anchor": self.anchor, "bytes": size}


def sections(body: str) -> list[Section]:
    """The sections of a page's body, in order of their headings."""
    found = list(headings(body))
    ends = [len(body)] * len(found)
    opened: list[int] = []
    for place, heading in enumerate(found):
        while opened and found[opened[-1]].level >= heading.level:
            ends[opened.pop()] = heading.start
        opened.append(place)
    anchors = _anchors(heading.text for heading in found)
    return [
        Section(heading.level, heading.text, anchor, heading.start, end)
        for heading, anchor, end in zip(found, anchors, ends, strict=True)
    ]


def find_section(page: Page, wanted: str) -> Section:
    """The section of an anchor, as a link to it has it; else of a heading: as written, or whatever its case and markup.

    Raises:
        SectionNotFoundError: there is none, or there are several; `suggestions` are the closest.
    """
    wanted = wanted.strip()
    found = sections(page.body)
    alike = _matching(found, wanted)
    if not alike and "%" in wanted:
        from urllib.parse import unquote

        alike = _matching(found, unquote(wanted))
    if len(alike) == 1:
        return alike[0]
    close = _addresses(page, alike or _closest(found, wanted))
    shown = f"{page.filename}#{wanted}"
    if alike:
        raise SectionNotFoundError(f"{page.filename} has {len(alike)} sections {wanted!r}", shown, close)
    hint = f"`memoryfield read --outline {page.filename}` shows its headings." if found else "It has no headings."
    raise SectionNotFoundError(f"{page.filename} has no section {wanted!r}", shown, close, hint=hint)


def _matching(found: list[Section], wanted: str) -> list[Section]:
    """The sections that are meant; an anchor is that of one alone, whatever other headings say."""
    by_anchor = {section.anchor: section for section in found if section.anchor}
    if wanted in by_anchor:
        return [by_anchor[wanted]]
    alike = [section for section in found if section.text == wanted]
    alike = alike or [section for section in found if _bare(section.text) == _bare(wanted)]
    return alike or [by_anchor[name] for name in [anchor(wanted)] if name in by_anchor]


def anchor(heading: str) -> str:
    """What a link to a heading has after the `#`, as GitHub makes it: without markup and punctuation, in lowercase.

    https://docs.github.com/get-started/writing-on-github/getting-started-with-writing-and-formatting-on-github/basic-writing-and-formatting-syntax#section-links
    """
    return "".join(filter(_is_kept, _plain(heading).lower().strip())).replace(" ", "-")


def _is_kept(character: str) -> bool:
    """Letters, marks, digits, what joins words, hyphens and spaces."""
    return character in " -" or unicodedata.category(character) in _KEPT


_KEPT = frozenset("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl Pc".split())


def _anchors(texts: Iterable[str]) -> list[str]:
    """Each heading's anchor; one that is there already gets a number."""
    counts: dict[str, int] = {}
    made: list[str] = []
    for text in texts:
        first = name = anchor(text)
        while name in counts:
            counts[first] += 1
            name = f"{first}-{counts[first]}"
        counts[name] = 0
        made.append(name)
    return made


def _plain(heading: str) -> str:
    """A heading without its inline markup: `code`, emphasis, links, tags, escapes."""
    text = _MARKUP.sub(lambda found: _plain(found["link"]) if found["link"] else _kept(found), heading)
    return _unescaped(text) if "&" in text else text


def _kept(found: re.Match[str]) -> str:
    code = found["code"]
    if code is not None:
        return code[1:-1] if code[:1] == code[-1:] == " " and code.strip() else code
    return found["escaped"] or found["address"] or ""


def _unescaped(text: str) -> str:
    import html

    return html.unescape(text)


def _bare(text: str) -> str:
    """A heading for comparing: without its markup, whatever its case and spaces."""
    return folded(" ".join(_plain(text).split()))


def _closest(found: list[Section], wanted: str) -> list[Section]:
    """The sections whose anchors hold the wanted one, or look like it."""
    import difflib

    name = anchor(wanted)
    by_anchor = {section.anchor: section for section in found}
    holding = [text for text in by_anchor if name and name in text]
    alike = difflib.get_close_matches(name, by_anchor, n=_MAX_SUGGESTIONS, cutoff=0.6)
    return [by_anchor[text] for text in dict.fromkeys(holding + alike)]


def _addresses(page: Page, found: list[Section]) -> tuple[str, ...]:
    """What to ask for instead: anchors, which need no quotes in a shell."""
    return tuple(f"{page.filename}#{section.anchor or section.text}" for section in found[:_MAX_SUGGESTIONS])
