"""Where the frontmatter stands in a page's text, whatever it is written in."""

import re
from typing import Literal, NamedTuple

Kind = Literal["yaml", "toml", "json"]

KNOWN_KEYS = ("title", "summary", "uuid", "created", "updated")
"""The keys that are understood one by one where the block as a whole is not."""

MAX_BLOCK_CHARS = 65_536
BREAK = r"(?>\r\n?|\n)"

_OPENING = re.compile(r"(?:\s*[\r\n])?---[ \t]*(?:\r\n|\n|\r|\Z)\ufeff*")  # such a mark shifts what libyaml counts
_CLOSING = re.compile(r"(?<![^\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_PERHAPS_FOREIGN = re.compile(r"(?:\s*[\r\n])?(?:\+\+\+|\{)")


class Block(NamedTuple):
    """Where the frontmatter stands in a page's text: `text[start:end]` is what it says, the body begins at `body`."""

    start: int
    end: int
    body: int
    closed: bool = True
    kind: Kind = "yaml"


def find_block(text: str, at: int = 0) -> Block | None:
    """The frontmatter block at the beginning of a text (or at a place in it), below empty lines at most, or None.

    A block that is never closed is found too (`closed` is false, and everything is body). TOML
    between lines of `+++`, and JSON, are frontmatter only where they look like it beyond doubt.
    """
    opening = _OPENING.match(text, at)
    if opening:
        return _closed(text, opening.end(), _CLOSING, "yaml")
    if not _PERHAPS_FOREIGN.match(text, at):
        return None
    return _find_toml(text, at) or _find_json(text, at)


def _closed(text: str, start: int, pattern: re.Pattern[str], kind: Kind) -> Block:
    closing = pattern.search(text, start)
    if closing is None:
        return Block(start, len(text), 0, closed=False, kind=kind)
    return Block(start, closing.start(), closing.end(), kind=kind)


# Compiled when they are first needed: hardly any page has such a block.
_TOML_OPENING = rf"(?:\s*[\r\n])?\+\+\+[ \t]*{BREAK}"
_TOML_CLOSING = rf"(?<![^\r\n])\+\+\+[ \t]*(?:{BREAK}|\Z)"
_TOML_BLANK = rf"(?:[ \t]*+(?:\#[^\r\n]*+)?{BREAK})*+[ \t]*+"
_TOML_NAME = r"""(?:[\w-]++|"[^"\r\n]*+"|'[^'\r\n]*+')"""
_TOML_DOTTED = rf"{_TOML_NAME}(?:[ \t]*+\.[ \t]*+{_TOML_NAME})*+[ \t]*+"
_TOML_FIRST_LINE = rf"{_TOML_BLANK}(?:{_TOML_DOTTED}=|\[\[?[ \t]*+{_TOML_DOTTED}\]\]?[ \t]*+(?:\#[^\r\n]*+)?{BREAK})"

_JSON_OPENING = r"(?:\s*[\r\n])?(?=\{\s*+\")"
_JSON_KNOWN_KEY_FIRST = rf"\{{[ \t]*+{BREAK}\s*+\"(?:{'|'.join(KNOWN_KEYS)})\"\s*+:"
_JSON_CLOSING = rf"(?<![^\r\n])\}}[ \t]*(?:{BREAK}|\Z)"
_LINE_END = rf"[ \t]*+(?:{BREAK}|\Z)"


def _find_toml(text: str, at: int) -> Block | None:
    """TOML between lines of `+++`, if its first line is a key or a table."""
    opening = re.compile(_TOML_OPENING).match(text, at)
    if not opening:
        return None
    start = opening.end()
    if not re.compile(_TOML_FIRST_LINE).match(text, start, start + MAX_BLOCK_CHARS):
        return None
    return _closed(text, start, re.compile(_TOML_CLOSING), "toml")


def _find_json(text: str, at: int) -> Block | None:
    """A JSON object with a key that pages have; a broken one, if it is laid out as frontmatter is."""
    opening = re.compile(_JSON_OPENING).match(text, at)
    if not opening:
        return None
    start = opening.end()
    if end := _end_of_object(text, start):
        rest = re.compile(_LINE_END).match(text, end)
        return Block(start, end, rest.end(), kind="json") if rest else None
    if not re.compile(_JSON_KNOWN_KEY_FIRST).match(text, start, start + MAX_BLOCK_CHARS):
        return None
    closing = re.compile(_JSON_CLOSING).search(text, start)
    return Block(start, closing.start() + 1, closing.end(), kind="json") if closing else None


def _end_of_object(text: str, start: int) -> int:
    """Where a JSON object with a known key ends; 0 if there is none within the bounds."""
    import json

    try:
        value, length = json.JSONDecoder().raw_decode(text[start : start + MAX_BLOCK_CHARS])
    except (ValueError, RecursionError):
        return 0
    return start + length if isinstance(value, dict) and any(key in value for key in KNOWN_KEYS) else 0


def place(text: str, index: int) -> tuple[int, int]:
    """Line and column of a place in a text, both from 1. A line ends with LF, CRLF or CR."""
    line = text.count("\n", 0, index) + text.count("\r", 0, index) - text.count("\r\n", 0, index) + 1
    return line, index - max(text.rfind("\n", 0, index), text.rfind("\r", 0, index))


def newline_of(text: str) -> str:
    """How the lines of a text end: CRLF, where one does; else LF, unless there are only CRs."""
    return "\r\n" if "\r\n" in text else "\r" if "\r" in text and "\n" not in text else "\n"
