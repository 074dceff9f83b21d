"""Many files of a folder changed at once: all of them or none, whenever the process is killed.

New bytes are staged in a folder beside the pages, whose name begins with a dot. One renaming makes the
plan final. From then on it is carried out, by whoever comes next if need be: every step is a renaming
or a deletion that is either done or not, so it can be gone through any number of times, and takes no room.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from ..errors import ContainerError, PageConflictError, PageNameError, ReadOnlyError, RefusedError
from .base import check_plain
from .folders import is_planted

STAGE = ".memoryfield-changes"
_PLAN = "plan-"
"""A plan's file is called by its own inode: what was copied or unpacked from elsewhere is no plan of this folder."""
_FLUSHERS = 16


class Change(NamedTuple):
    """What becomes of one file. Digests are SHA-256 in hexadecimal; `before` is empty where there is none.

    `staged` is the file with the new bytes; empty: the file is deleted.
    """

    name: str
    before: str
    staged: str = ""


class Changes:
    """Changes of many files, to be made at once. The folder's lock is held all the time.

    ```python
    with container.change_many() as changes:
        changes.put("woks.md", b"# Woks\\n", before="")
        changes.delete("pans.md", before=page.sha256)
    ```
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stage = folder / STAGE
        self._changes: list[Change] = []
        self._begun = False
        if os.path.lexists(self._stage):
            raise RefusedError(
                f"changes of many pages were begun in {str(folder)!r}, or where it comes from, and never completed",
                hint=f"If the pages are as they should be, delete {STAGE} in it.",
            )

    def put(self, name: str, data: bytes, before: str) -> None:
        """Store a file; `before` is the digest of the one that it takes the place of."""
        check_plain(name)
        self._begin()
        staged = str(len(self._changes))
        with new_file(self._stage / staged) as file:
            with suppress(FileNotFoundError):
                if before:
                    (self._stage / staged).chmod(stat.S_IMODE((self._folder / name).stat().st_mode))
            file.write(data)
        self._changes.append(Change(name, before, staged))

    def delete(self, name: str, before: str) -> None:
        """Remove a file that has this digest."""
        check_plain(name)
        self._begin()
        self._changes.append(Change(name, before))

    def _begin(self) -> None:
        if not self._begun:
            try:
                self._stage.mkdir()
            except PermissionError as error:
                raise ReadOnlyError(f"cannot write in {str(self._folder)!r}: {error.strerror}") from error
            self._begun = True

    def commit(self) -> None:
        """Make all changes.

        Raises:
            PageConflictError: a file is no longer what it was; nothing is changed.
            ContainerError: all is decided, but could not be completed now.
        """
        if not self._changes:
            return
        _flush_files(self._stage / change.staged for change in self._changes if change.staged)
        draft = self._stage / "plan"
        with new_file(draft) as file:
            file.write(json.dumps(self._changes).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        flush_folder(self._folder)
        for change in self._changes:
            if _digest(self._folder / change.name) != change.before:
                raise PageConflictError(f"{change.name} has changed meanwhile; nothing was written", hint="Try again.")
        plan = self._stage / f"{_PLAN}{draft.stat().st_ino}"
        try:
            draft.rename(plan)  # from here on all is decided
            flush_folder(self._stage)
            self._complete(plan, checked=True)
        except KeyboardInterrupt:
            if plan.exists():  # and is not left half-made
                self._complete(plan)
            raise

    def _complete(self, plan: Path, *, checked: bool = False) -> None:
        try:
            _carry_out(self._folder, plan, self._changes, checked=checked)
        except OSError as error:
            raise ContainerError(
                f"the changes in {str(self._folder)!r} are decided, but not complete: {error.strerror or error}",
                hint="They are gone on with when the field is opened next.",
            ) from error

    def abandon(self) -> None:
        """Forget the changes, unless they are decided."""
        if self._begun and _plan(self._stage) is None:
            _clear(self._stage)


def is_begun(folder: Path) -> bool:
    """Whether changes are being made in a folder, or were left behind by a process that was killed."""
    return os.path.lexists(os.path.join(folder, STAGE))  # noqa: PTH118 - asked whenever a field is opened


def is_decided(folder: Path) -> bool:
    """Whether they are to be carried out, by whoever comes next."""
    return _plan(folder / STAGE) is not None


def settle(folder: Path, sure: bool) -> list[str]:
    """Carry out what a killed process had decided, and clear away what it had only begun.

    Args:
        sure: the lock is held, so that nobody is at work.

    Returns:
        Notes about what could not be done.
    """
    stage = folder / STAGE
    if not is_begun(folder) or stage.is_symlink() or not stage.is_dir():
        return []
    try:
        if folder.stat().st_mode & stat.S_ISVTX and is_planted(stage.lstat(), folder):
            return [f"{STAGE} in this folder was put there by another user, who may not change others' pages in it"]
        plan = _plan(stage)
        if plan is None:
            if sure:
                _clear(stage)
            return []
        if plan.name != f"{_PLAN}{plan.lstat().st_ino}":
            return [
                "this folder is a copy, made while many pages were being changed: some may be old, others new; "
                f"if they are as they should be, delete {STAGE} in it"
            ]
        return _carry_out(folder, plan, _read(plan))
    except FileNotFoundError:
        return []  # another process was quicker, on a file system without locks
    except (OSError, PageNameError, ValueError, TypeError, RecursionError) as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or error
        return [f"many pages were being changed, and that is not complete: it cannot be gone on with ({reason})"]


def _plan(stage: Path) -> Path | None:
    """The file that says what was decided."""
    try:
        return next((stage / name for name in os.listdir(stage) if name.startswith(_PLAN)), None)  # noqa: PTH208
    except OSError:
        return None


def _read(plan: Path) -> list[Change]:
    """What was decided, looked at as a whole before anything is done."""
    changes = [Change(*change) for change in json.loads(plan.read_bytes())]
    for change in changes:
        check_plain(change.name)
        check_plain(change.staged or change.name)
    return changes


def _carry_out(folder: Path, plan: Path, changes: list[Change], *, checked: bool = False) -> list[str]:
    """Make the changes that are not made yet; a file that somebody else has changed since stays as it is."""
    notes: list[str] = []
    for change in sorted(changes, key=lambda change: not change.staged):  # rather a page twice than not at all
        path, staged = folder / change.name, plan.parent / change.staged
        if not os.path.lexists(staged if change.staged else path):
            continue  # done
        if not checked and _digest(path) != change.before:
            notes.append(f"{change.name} has changed since many pages were to be changed: it stays as it is")
        elif change.staged:
            with suppress(FileNotFoundError):
                staged.replace(path)
        else:
            path.unlink(missing_ok=True)
    flush_folder(folder)
    flush_folder(plan.parent)
    plan.unlink(missing_ok=True)
    _clear(plan.parent)
    return notes


def _clear(stage: Path) -> None:
    """Remove the stage, as far as that can be done."""
    with suppress(OSError):
        for name in os.listdir(stage):  # noqa: PTH208
            (stage / name).unlink()
        stage.rmdir()


def _digest(path: Path) -> str:
    """Of a file; empty where there is none, `-` for what is no regular file."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return "-"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def new_file(path: Path) -> IO[bytes]:
    """A file that is not there yet."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    return os.fdopen(handle, "wb")


def _flush_files(paths: Iterable[Path]) -> None:
    """See files onto the disk: many at a time, which a file system writes down together."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_FLUSHERS) as flushers:
        for _ in flushers.map(_flush, paths):
            pass


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_folder(folder: Path) -> None:
    """Make renamings in a folder durable, where it can be flushed (not on Windows)."""
    if sys.platform == "win32":
        return
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
