"""How much an archive may hold before it is refused: read from its directory, before anything is inflated."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..errors import UsageError

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
