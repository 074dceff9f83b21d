"""The YAML that nearly every page has, read without a YAML parser: a key and a text, or a list of words, on each line.

A parser takes ten times as long. Whatever is not entirely of this form is left to it: `read` says
nothing that it would not say.
"""

import re
from functools import cache

from ..names import UUID

_BEYOND_ASCII = r"\xa1-\xac\xae-\u167f\u1681-\u1fff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3001-\ud7ff"
"""Without the spaces and line ends of other scripts, and without what YAML refuses."""
_TEXT = rf'"[\x20\x21\x23-\x5b\x5d-\x7e{_BEYOND_ASCII}]*"'
_IN_WORDS = rf"A-Za-z0-9_()/.'?!;+=%~{_BEYOND_ASCII}-"
_WORDS = rf"[A-Za-z][{_IN_WORDS}]*(?:,? [{_IN_WORDS}]+)*+"
_URL = r"https?://[A-Za-z0-9_.~/?=&%+-]+"
_ITEM = r"[A-Za-z][A-Za-z0-9_.-]*"
_LIST = rf"\[{_ITEM}(?:, {_ITEM})*+\]"
_KEY = r"[A-Za-z_][A-Za-z0-9_-]*"
_VALUE = rf"{_TEXT}|{_URL}|{_WORDS}|{UUID}|{_LIST}"
NOT_TEXT = frozenset("y n yes no on off true false null".split())
"""Words that YAML 1.1 takes for something else, in lowercase."""


@cache
def _lines() -> re.Pattern[str]:
    """Such lines and nothing else. Compiled when it is first needed: that takes a while."""
    return re.compile(rf"(?:{_KEY}: (?:{_VALUE})\n)*+")


def read(source: str) -> dict[str, str | list[str]] | None:
    """The keys and values of a block, or None if such lines are not all that it consists of."""
    if not _lines().fullmatch(source):
        return None
    found: dict[str, str | list[str]] = {}
    lines = source.split("\n")[:-1]
    for line in lines:
        key, _, value = line.partition(": ")
        if value[0] == '"':
            found[key] = value[1:-1]
        else:
            items = value[1:-1].split(", ") if value[0] == "[" else [value]
            if not NOT_TEXT.isdisjoint(map(str.lower, items)):
                return None
            found[key] = items if value[0] == "[" else value
    return found if len(found) == len(lines) and NOT_TEXT.isdisjoint(map(str.lower, found)) else None
