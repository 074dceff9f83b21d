"""Text for people: escaped, clipped and wrapped to the terminal, coloured only there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import unicodedata

from ..escaping import escaped as escaped
from ..escaping import escaped_page as escaped_page
from ..names import ARCHIVE_SUFFIX

_named = ""
"""The field that the command was given, as it is written in a shell."""
_COMMAND = re.compile(
    r"(`memoryfield (?:write|read|list|edit|split|rename|delete|info|embed|search|similar|validate|pack))"
    r"(?=[ `])(?![^`]* -f )"
)
"""A command that works on a field, in what the library advises."""


def name_field(given: str) -> None:
    """From now on, advised commands name the field as the user did; an archive is not what they would work on."""
    global _named
    _named = "" if given.endswith(ARCHIVE_SUFFIX) else shlex.quote(given)


def advised(text: str) -> str:
    """A text whose commands work when they are copied: with the field that was given."""
    return _COMMAND.sub(lambda found: f"{found[1]} -f {_named}", text) if _named else text


def say(message: str) -> None:
    """One line on standard error. A disk that is full, or a terminal that is gone, stops no command."""
    try:
        print(escaped(advised(message)), file=sys.stderr, flush=True)
    except BrokenPipeError:
        raise
    except OSError:
        pass


def revealed(text: str) -> str:
    """Text on one line with everything in it that cannot be seen spelled out, tabs as spaces."""
    return "".join(
        character if character.isprintable() else f"\\u{ord(character):04x}" for character in text.replace("\t", " ")
    )


def is_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def width() -> int | None:
    """The terminal's columns; None where output goes elsewhere and is not wrapped."""
    return max(20, shutil.get_terminal_size().columns) if is_terminal() else None


def styled(text: str, *codes: int) -> str:
    """Text in bold (1), dim (2) or a colour, on a terminal that wants it."""
    if not codes or not is_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m"


def cells(text: str) -> int:
    """How many columns a text takes."""
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clipped(text: str, columns: int) -> str:
    """A text cut to columns, with an ellipsis if something is missing."""
    if cells(text) <= columns:
        return text
    taken = ""
    room = columns - 1
    for character in text:
        room -= _cell(character)
        if room < 0:
            break
        taken += character
    return taken.rstrip() + "…"


def wrapped(text: str, columns: int) -> list[tuple[int, int]]:
    """Where the lines of a text begin and end when it is wrapped to columns: at spaces, else anywhere."""
    lines: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        used, end = 0, start
        while end < len(text) and used + _cell(text[end]) <= columns:
            used += _cell(text[end])
            end += 1
        end = max(end, start + 1)
        if end < len(text) and text[end] != " " and (space := text.rfind(" ", start + 1, end)) > 0:
            end = space
        lines.append((start, end))
        start = end
        while start < len(text) and text[start] == " ":
            start += 1
    return lines


def size(count: int) -> str:
    """Bytes for people."""
    if count < 10_000:
        return f"{count:,} bytes"
    value = float(count)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 1000 or unit == "GB":
            break
    return f"{value:.1f} {unit}"


def contents(pages: int, attachments: int, indexes: int) -> str:
    """How many pages, other files and indexes there are; of the latter two, none is not told."""
    others = [plural(count, word) for count, word in ((attachments, "other file"), (indexes, "index")) if count]
    return ", ".join([plural(pages, "page"), *others])


def plural(count: int, word: str) -> str:
    """`1 page`, `2 pages`, `3 indexes`."""
    ending = "" if count == 1 else "es" if word.endswith("x") else "s"
    return f"{count:,} {word}{ending}"
