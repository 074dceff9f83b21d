"""Whether a source is the one that was imported under its name before, or another that is called the same.

A page's mark tells where its source lay. A source that lies there is the same, whatever has become of its text. One
that lies elsewhere was moved, copied or cloned, or is another one: it is the same if more of its notes stand in the
pages than do not.
"""

from __future__ import annotations

import platform
from pathlib import Path

from .items import digest_of


def place_of(source: Path) -> str:
    """Four hexadecimal digits of a machine's name and a path on it: enough to tell two places apart, too few to
    find out which they are."""
    return digest_of(f"{platform.node()}\0{source.resolve()}".encode("utf-8", "surrogateescape"))[:4]


def stands_in(old: str, there: set[str]) -> bool:
    """Whether at least half of the lines of a text, headings aside, are among others: they are what became of it."""
    lines = lines_of(old)
    return 2 * len(lines & there) >= len(lines)


def lines_of(text: str) -> set[str]:
    """The lines of a text that say something; no headings."""
    return {line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")}
