"""The YAML that nearly every page has, read without a YAML parser: a key and a text on each line.

A parser takes ten times as long. Whatever is not entirely of this form is left to it: `read` says
nothing that it would not say.
"""

import re

_PRINTED = r"\xa1-\xac\xae-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff"
_TEXT = rf'"([\x20\x21\x23-\x5b\x5d-\x7e{_PRINTED}]*)"'
"""In double quotes, without escapes, and without characters that YAML takes for line ends or refuses."""
_WORDS = r"[A-Za-z][A-Za-z0-9_()/.-]*(?:,? [A-Za-z0-9_()/.-]+)*"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_LINE = rf"([A-Za-z_][A-Za-z0-9_-]*): (?:{_TEXT}|({_WORDS}|{_UUID}))\n"
_LINES = re.compile(rf"(?:{_LINE})*")
_EACH = re.compile(_LINE)
_NOT_TEXT = frozenset("y n yes no on off true false null".split())
"""Words that YAML 1.1 takes for something else, in lowercase."""


def read(source: str) -> dict[str, str] | None:
    """The keys and texts of a block, or None if that is not all that it consists of."""
    if not _LINES.fullmatch(source):
        return None
    found: dict[str, str] = {}
    lines = _EACH.findall(source)
    for key, text, words in lines:
        if key.lower() in _NOT_TEXT or words.lower() in _NOT_TEXT:
            return None
        found[key] = text or words
    return found if len(found) == len(lines) else None
