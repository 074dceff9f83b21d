"""Folders for what is not finished: gone in the end, and where a process was killed, at the next attempt.

A folder's name tells which target it is meant for, and while it is in use it is locked: what a killed
process left behind for the same target is known by being unlocked, and is removed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..containers.base import say_where


@contextmanager
def new_folder(parent: Path, target: Path, mode: int = 0o777) -> Iterator[Path]:
    """A folder of a new name, locked, for what shall become the target; whatever happens, it is gone in the end."""
    handle = None
    while True:
        folder = parent / f"{_tag(target)}{secrets.token_hex(4)}.tmp"
        folder.mkdir(mode)
        if sys.platform == "win32" or (handle := _lock(folder)) is not None:
            break
    try:
        yield folder
    except BaseException as error:
        say_where(error, parent)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _lock(folder: Path) -> int | None:
    """The lock of a folder that is still there; None if another process has it, or has removed it."""
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), folder.lstat()):
            return handle
    except BlockingIOError:
        pass
    except OSError:
        if folder.is_dir():
            return handle  # some network file systems know no locks
    os.close(handle)
    return None


def remove_dead(parent: Path, target: Path) -> None:
    """Remove what killed processes left behind for this target. Windows locks no folders: there it stays."""
    if sys.platform == "win32" or not parent.is_dir():
        return
    for folder in parent.glob(f"{_tag(target)}*.tmp"):
        handle = _lock(folder)
        if handle is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(handle)


def _tag(target: Path) -> str:
    return f".memoryfield-{hashlib.sha256(target.resolve().name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}-"
