"""Limits of archives as a person gives them."""

from __future__ import annotations

import pytest

from memoryfield.containers import Limits
from memoryfield.errors import UsageError


def test_limits_are_read_with_their_units() -> None:
    assert Limits.read(()) == Limits()
    assert Limits.read(["total=4G", "entries=200000", "ratio=1k"]) == Limits(200_000, 4 << 30, 64 << 20, 1024)


@pytest.mark.parametrize("given", ["", "total", "total=", "total=-1", "total=0", "total=4T", "size=1", "total=1e9"])
def test_what_is_no_limit_is_refused(given: str) -> None:
    with pytest.raises(UsageError, match="is no limit"):
        Limits.read([given])
