"""Text that came out of a field, with nothing left in it that a terminal would obey."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE_IN_TEXT = re.compile(r"(?![\n\t])" + _UNSAFE.pattern)


def escaped(text: str) -> str:
    """A text on one line."""
    return _UNSAFE.sub(_visible, text)


def escaped_page(text: str) -> str:
    """A whole page: line ends and tabs stay."""
    return _UNSAFE_IN_TEXT.sub(_visible, text.replace("\r\n", "\n"))


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
