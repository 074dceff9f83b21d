"""How much an archive may hold before it is refused: read from its directory, before anything is inflated."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..errors import UsageError

SMALL = 1 << 20
"""An entry within this may shrink as it likes."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Limits(NamedTuple):
    """What is accepted from elsewhere. Sizes are bytes, unpacked."""

    entries: int = 100_000
    total: int = 1 << 30
    entry: int = 64 << 20
    ratio: int = 200
    """Bytes unpacked for each byte packed."""

    @classmethod
    def read(cls, given: Iterable[str]) -> Limits:
        """The default limits, but for those given as `NAME=VALUE`, such as `total=4G` and `entries=200000`.

        Raises:
            UsageError: a name that is none, or a value that is no number.
        """
        changed: dict[str, int] = {}
        for item in given:
            name, _, value = item.partition("=")
            number = re.fullmatch(r"([1-9][0-9]{0,15})([KMG]?)", value.strip().upper())
            if name.strip() not in cls._fields or not number:
                raise UsageError(
                    f"{item!r} is no limit", hint=f"NAME=VALUE, such as total=4G; names are {', '.join(cls._fields)}."
                )
            changed[name.strip()] = int(number[1]) * _UNITS[number[2]]
        return cls()._replace(**changed)


DEFAULT_LIMITS = Limits()


def beyond(sizes: Iterable[tuple[int, int]], whole: int, limits: Limits) -> dict[str, int]:
    """The limits that an archive passes, and what each must be raised to.

    Args:
        sizes: of each entry, how many bytes it is and how many it takes.
        whole: how many bytes the archive is.
    """
    count, total, largest, ratio = 0, 0, 0, 0
    for size, packed in sizes:
        count, total, largest = count + 1, total + size, max(largest, size)
        if size > SMALL:
            ratio = max(ratio, times(size, packed))
    needed = {"entries": count, "total": total, "entry": largest, "ratio": max(ratio, times(total, whole))}
    return {name: value for name, value in needed.items() if value > getattr(limits, name)}


def options(**needed: int) -> str:
    """The options that raise limits to what an archive needs."""
    values = {name: f"{-(-value >> 20)}M" if name in ("total", "entry") else value for name, value in needed.items()}
    return " ".join(f"--allow {name}={value}" for name, value in values.items())


def allow(**needed: int) -> str:
    """How limits are raised to what an archive needs."""
    return f"If you trust where it comes from: {options(**needed)}"


def times(size: int, packed: int) -> int:
    return -(-size // max(1, packed))
