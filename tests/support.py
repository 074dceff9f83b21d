"""What several test modules need: a disk that is full, and permissions that count for the superuser too."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """No file can grow beyond `limit` bytes: writing fails as it does on a full disk."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def no_privileges() -> Iterator[None]:
    """Permissions count, for the superuser too."""
    if sys.platform == "win32" or os.geteuid() != 0:
        yield
        return
    try:
        os.seteuid(65534)
    except OSError:
        pytest.skip("the superuser cannot become somebody else here")
    try:
        yield
    finally:
        os.seteuid(0)
