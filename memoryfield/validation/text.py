"""Rules about the characters and the words of a page's text, frontmatter included."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from ..page import Page
from .report import Fault

MAX_LINES = 20
"""Of one requirement, so many lines of a page are reported; then how many more there are."""

_NO_CONTROL = bytes(byte for byte in range(256) if (byte >= 32 and byte != 127) or byte in b"\t\n\r")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def control_characters(page: Page) -> Iterator[Fault]:
    """P-10: what is neither text nor a line's end."""
    if page.text.isascii() and not page.raw.translate(None, _NO_CONTROL):  # quicker than to look at each character
        return
    found = ((match.start(), _named(match[0])) for match in _CONTROL.finditer(page.text))
    yield from _by_line(page, "P-10", found, "holds {}, a control character")


# Each alternative is one character, or a run that is judged by what stands around it.
@cache
def _hidden() -> re.Pattern[str]:
    return re.compile(
        "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"  # the flag of England and the like
        "|[\u200b\u2060-\u2064\u206a-\u206f\u180e\ufeff\u115f\u1160\u3164\uffa0\u00ad\u034f]"
        "|[\u202a-\u202e\u2066-\u2069]"
        "|[\u200c\u200d]+"
        "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]+"
        "|[\U000e0000-\U000e007f]"
        "|[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]"
    )


def hidden_characters(page: Page) -> Iterator[Fault]:
    """S-6: what a person does not see and a program reads."""
    if page.text.isascii():
        return
    text = page.text
    found = (
        (match.start(), _named(match[0][0]))
        for match in _hidden().finditer(text)
        if not _in_place(text, match.start(), match.end())
    )
    yield from _by_line(page, "S-6", found, "holds {}, which nobody sees")


def _in_place(text: str, start: int, end: int) -> bool:
    """Whether an invisible character does what it is for: joins an emoji, shapes a letter, chooses its form."""
    run, before, after = text[start:end], text[start - 1 : start], text[end : end + 1]
    first = run[0]
    if first == "\U0001f3f4":
        return True
    if first == "\u00ad":
        return before.isalpha() and after.isalpha()
    if first == "\u034f":
        return bool(before) and unicodedata.combining(before) != 0
    if first in "\u200c\u200d":
        return len(run) == 1 and (
            (_is_shaped(before) and (_is_shaped(after) or first == "\u200d")) or _joins(before, after)
        )
    if "\ufe00" <= first <= "\ufe0f" or first >= "\U000e0100":
        return len(run) == 1 and bool(before) and not before.isspace() and not _is_plain_letter(before)
    return False


_PICTURES = frozenset({"So", "Sk", "Mn", "Sm"})


def _joins(before: str, after: str) -> bool:
    """Whether a joiner stands between two pictures, as in a family of emoji."""
    pictures = ("So", "Sk", "Mn", "Sm")
    return (
        bool(before and after) and unicodedata.category(before) in pictures and unicodedata.category(after) in pictures
    )


def _is_shaped(character: str) -> bool:
    """Whether a letter belongs to a script in which joiners are part of the spelling: Arabic, Indic, Mongolian."""
    return bool(character) and (
        "\u0600" <= character <= "\u08ff" or "\u0900" <= character <= "\u0dff" or "\u1000" <= character <= "\u18af"
    )


def _is_plain_letter(character: str) -> bool:
    """Whether no variation of a character is known: ASCII but digits, `#` and `*`, Latin, Greek, Cyrillic."""
    return character < "\u0590" and character not in "0123456789#*\u00a9\u00ae"


def _named(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" {name}" if name else "")


def _by_line(page: Page, requirement: str, found: Iterator[tuple[int, str]], message: str) -> Iterator[Fault]:
    """One fault for each line, at its first finding; of very many lines, the first."""
    text, counted, line, reported, more = page.text, 0, 1, 0, 0
    for offset, what in found:
        newlines = text.count("\n", counted, offset)
        if reported == line + newlines:
            continue
        line, counted = line + newlines, offset
        reported = line
        more += 1
        if more <= MAX_LINES:
            column = offset - text.rfind("\n", 0, offset)
            yield Fault(page.filename, line, column, requirement, message.format(what))
    if more > MAX_LINES:
        yield Fault(page.filename, 0, 0, requirement, f"and {more - MAX_LINES:,} more lines like these")


_CUES = (
    *("ignor", "disregard", "forget", "override", "bypass", "instruction", "system", "you are now", "the user"),
    *("<|", "inst]", "sys>>"),
)
"""One of these is in everything that is looked for, in lowercase: to look for them first is quick."""
_EARLIER = r"(?:all\s+|any\s+|every\s+|everything\s+)?(?:of\s+)?(?:the\s+|your\s+|my\s+|these\s+|those\s+)?"


@cache
def _addresses() -> re.Pattern[str]:
    """What is written to a reading model rather than to a person."""
    return re.compile(
        r"\b(?:ignore|disregard|forget|override|bypass)\s+" + _EARLIER + r"(?:(?:previous|prior|above|earlier|preceding"
        r"|foregoing|original|system|initial|other)\s+)+(?:instruction|direction|directive|prompt|rule|message|guideline"
        r"|command|context)s?\b"
        r"|\b(?:ignore|disregard|forget)\s+(?:everything|all)\s+(?:above|before|you\b|that\s+(?:was|came))"
        r"|\b(?:ignore|disregard|forget)\s+(?:all\s+)?(?:your|the|these)\s+(?:instructions|guidelines|system prompt)"
        r"|\bignor(?:iere|ez|a|e|are)\s+(?:alle|toutes?|todas?|tutte|as)?\s*(?:vorherigen|bisherigen|les|las|le)?\s*"
        r"(?:anweisungen|instructions\s+pr|instrucciones\s+(?:previas|anteriores)|istruzioni\s+precedenti)"
        r"|\b(?:reveal|print|repeat|show|output|leak)\s+(?:me\s+)?(?:your|the)\s+(?:hidden\s+|full\s+)?system\s+prompt\b"
        r"|\b(?:new|updated|real|actual)\s+(?:system\s+)?instructions?\s*(?:for\s+(?:you|the\s+(?:ai|model|assistant)))?\s*:"
        r"|\byou\s+are\s+now\s+(?:in\s+)?(?:dan\b|developer\s+mode|jailbroken|unrestricted)"
        r"|\bdo\s+not\s+(?:tell|inform|mention\s+(?:this|it)\s+to)\s+the\s+user\b"
        r"|<\|(?:im_start|im_end|system|endoftext|start_header_id)\|>|\[/?INST\]|<</?SYS>>|<system>|^#{1,4} system\s*:",
        re.IGNORECASE | re.MULTILINE,
    )


def addresses_a_model(page: Page) -> Iterator[Fault]:
    """R-6: text that tells whoever reads it what to do, where that is a program."""
    lowered = page.text.lower()
    if not any(map(lowered.__contains__, _CUES)):
        return
    found = ((match.start(), " ".join(match[0].split())) for match in _addresses().finditer(page.text))
    yield from _by_line(page, "R-6", found, "addresses a model that reads it: “{}”")
