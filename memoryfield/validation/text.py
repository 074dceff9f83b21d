"""Rules about the characters of a page's text, frontmatter included."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache

from ..frontmatter import place
from ..page import Page
from .pages import at_key
from .report import Fault

MAX_LINES = 20
"""Of one requirement, so many lines of a page are reported; then how many more there are."""

_NO_CONTROL = bytes(byte for byte in range(256) if (byte >= 32 and byte != 127) or byte in b"\t\n\r")
_LINE_END = re.compile("[\r\n]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]+")


def control_characters(page: Page) -> Iterator[Fault]:
    """P-10: what is neither text nor a line's end."""
    if page.text.isascii() and not page.raw.translate(None, _NO_CONTROL):  # quicker than to look at each character
        return
    found = (
        (match.start(), f"holds {_named(match[0][0])}, a control character") for match in _CONTROL.finditer(page.text)
    )
    yield from by_line(page, "P-10", found)


def escaped_characters(page: Page) -> Iterator[Fault]:
    """P-10 and S-6 in values of the frontmatter that spell such a character out, as `\\e` and `\\u202e` in quotes."""
    if page.block is None or "\\" not in page.text[page.block.start : page.block.end]:
        return
    for key, value in page.frontmatter.items():
        if not isinstance(value, str) or value in page.text:
            continue
        if found := _CONTROL.search(value):
            yield at_key(page, key, "P-10", f"{key} spells out {_named(found[0][0])}, a control character")
        elif any(_misplaced(value, match.start(), match.end()) is not None for match in _hidden().finditer(value)):
            yield at_key(page, key, "S-6", f"{key} spells out characters that nobody sees")


_TAGS = "\U000e0000-\U000e007f"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_HIDDEN = (
    "\u200b-\u200f\u061c\u2060-\u2064\u206a-\u206f\u180e\ufeff\u115f\u1160\u3164\uffa0\u00ad\u034f"
    f"\u202a-\u202e\u2066-\u2069{_TAGS}{_SELECTORS}\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
)


# Compiled when they are first needed: most pages hold nothing of the kind.
@cache
def _hidden() -> re.Pattern[str]:
    return re.compile(f"[{_HIDDEN}]+")


@cache
def _flag() -> re.Pattern[str]:
    """The part of a flag that is hidden, as in that of England, behind a black flag."""
    return re.compile("(?<=\U0001f3f4)[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")


def hidden_characters(page: Page) -> Iterator[Fault]:
    """S-6: what a person does not see and a program reads."""
    if page.text.isascii():
        return
    text = page.text
    places = (_misplaced(text, match.start(), match.end()) for match in _hidden().finditer(text))
    found = ((at, f"holds {_named(text[at])}, which nobody sees") for at in places if at is not None)
    yield from by_line(page, "S-6", found)


def _misplaced(text: str, start: int, end: int) -> int | None:
    """Where in a run of hidden characters the first stands that does nothing of what it is for."""
    flag = _flag().match(text, start)
    for at in range(flag.end() if flag else start, end):
        if not _is_in_place(text[at], text[at - 1 : at], text[at + 1 : at + 2], text[max(0, at - 100) : at + 100]):
            return at
    return None


def _is_in_place(character: str, before: str, after: str, around: str) -> bool:
    """Whether a character shapes letters, joins pictures or chooses their form, breaks a word or turns a line."""
    if _is_selector(character):
        return _has_forms(before, character)
    if character in "\u200c\u200d":
        return _shapes(character, before, after) or _joins(before, after)
    if not before or _hidden().match(before):
        return False
    if character in "\u200e\u200f\u061c":
        return any(unicodedata.bidirectional(near) in ("R", "AL") for near in around if near not in "\u200f\u061c")
    if character == "\u200b":
        return _is_unspaced(before) or _is_unspaced(after)
    if character == "\u00ad":
        return before.isalpha() and after.isalpha()
    return character == "\u034f" and unicodedata.combining(before) != 0


def _shapes(joiner: str, before: str, after: str) -> bool:
    """Whether a joiner or non-joiner is part of the spelling, as in Persian and Hindi."""
    if before and _hidden().match(before):
        return False
    if joiner == "\u200d":
        return _is_shaped(before) or _is_shaped(after)
    is_halant = bool(before) and unicodedata.combining(before) == 9
    within = _is_shaped(before) and (_is_shaped(after) or after.isalnum())
    return is_halant or within or (_is_shaped(after) and before.isalnum())


def _is_shaped(character: str) -> bool:
    """Whether a letter belongs to a script in which joiners matter: Arabic and its kin, Indic, Khmer, Mongolian."""
    return any(
        first <= character <= last
        for first, last in (
            ("\u0600", "\u08ff"),
            ("\u0900", "\u0dff"),
            ("\u1000", "\u109f"),
            ("\u1700", "\u1aff"),
            ("\u1b00", "\u1cff"),
            ("\ua800", "\uabff"),
            ("\U00010a00", "\U00011fff"),
            ("\U0001e900", "\U0001e95f"),
        )
    )


def _is_unspaced(character: str) -> bool:
    """Whether a letter belongs to a script whose words may be parted by spaces of no width, as in Thai and Khmer."""
    return (
        "\u0e00" <= character <= "\u109f" or "\u1780" <= character <= "\u17ff" or "\u1900" <= character <= "\u1bff"
    ) or "\ua980" <= character <= "\uaadf"


_PICTURES = frozenset({"So", "Sk", "Mn", "Sm"})


def _joins(before: str, after: str) -> bool:
    """Whether a joiner stands between two pictures, as in a family of emoji; the first may have a selector."""
    return (before == "\ufe0f" or _is_picture(before)) and _is_picture(after)


def _is_picture(character: str) -> bool:
    if not character or _is_selector(character):
        return False
    return "\U0001f000" <= character <= "\U0001faff" or unicodedata.category(character) in _PICTURES


def _is_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _has_forms(character: str, selector: str) -> bool:
    """Whether a character may have the variation that a selector asks for."""
    if not character or _hidden().match(character):
        return False
    if "\u3400" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff" or character >= "\U00020000":
        return True  # Han: hundreds of forms are registered
    if selector >= "\U000e0100":
        return False
    if character in "0123456789#*\u00a9\u00ae\u2139":
        return True
    if "\u1000" <= character <= "\u109f" or "\ua840" <= character <= "\uaa7f":
        return True  # Myanmar, Phags-pa
    return character >= "\u2000" and (_is_picture(character) or unicodedata.category(character)[0] in "SP")


def _named(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" {name}" if name else "")


def by_line(page: Page, requirement: str, found: Iterable[tuple[int, str]]) -> Iterator[Fault]:
    """One fault for each line, at its first finding; of very many lines, the first.

    Args:
        found: offsets in the page's text, ascending, and what is wrong there.
    """
    text, end, lines, first_more = page.text, -1, 0, 0
    for offset, message in found:
        if offset <= end:
            continue  # on the line that was reported last
        lines += 1
        found_end = _LINE_END.search(text, offset)
        end = found_end.start() if found_end else len(text)
        if lines <= MAX_LINES:
            yield Fault(page.filename, *place(text, offset), requirement, message)
        elif lines == MAX_LINES + 1:
            first_more = place(text, offset)[0]
    if first_more:
        message = f"and {lines - MAX_LINES:,} more lines like these from here on"
        yield Fault(page.filename, first_more, 0, requirement, message)
