"""References in the HTML that stands in Markdown: pictures, links, and whatever else names a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

# Bounded, so that nothing is tried over and over: a note may hold megabytes of angle brackets.
_TAG = re.compile(r"<(?:a|area|audio|embed|iframe|image|img|link|object|source|track|video)\s([^<>]{1,4000})>", re.I)
_VALUE = re.compile(
    r"(?<![^\s\"'/])(?P<key>src|href|poster|data|srcset)\s{0,9}=\s{0,9}"
    r"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"']+))",
    re.I,
)
_OF_SET = re.compile(r"[^\s,][^\s]*[^\s,](?=[\s,]|$)")
"""Of `a.png 1x, b.png 2x`, every word; those that are no files are sizes."""
_SIZE = re.compile(r"[\d.]+[wxh]")


class Reference(NamedTuple):
    """What a tag leads to, without its entities. `start` and `end` are its offsets in the text."""

    start: int
    end: int
    target: str


def references(visible: str) -> Iterator[Reference]:
    """The references of a Markdown text that has no code in it, in their order."""
    for tag in _TAG.finditer(visible):
        for match in _VALUE.finditer(visible, tag.start(1), tag.end(1)):
            start, end = match.span(match.lastgroup or 0)
            if match["key"].lower() == "srcset":
                found = [one.span() for one in _OF_SET.finditer(visible, start, end)]
            else:
                found = [(start, end)]
            for start, end in found:
                if not _SIZE.fullmatch(visible, start, end):
                    yield Reference(start, end, unescape(visible[start:end]).strip())
