"""An archive back into a folder. Nothing is written before the gate has looked at every entry."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..containers import open_archive
from ..containers.archive import ArchiveContainer, mtime_ns
from ..containers.base import NOT_ALLOWED
from ..containers.gate import MACOSX
from ..containers.journal import flush_folder
from ..containers.limits import DEFAULT_LIMITS, Limits
from ..containers.survey import Item
from ..containers.unpacking import OverrunError
from ..errors import ArchiveError, NotEmptyError, ReadOnlyError, UnsafeArchiveError
from ..names import is_debris, is_journal, is_page, windows_name_fault
from .scratch import new_folder, remove_dead

Progress = Callable[[int, int], None]
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
"""Errors of a folder that cannot get its name, since something has it."""
_MANY = 32
"""Beyond so many files, one flush of all that the system holds is quicker than one for each."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A folder that an archive was unpacked into, and what of the archive is not in it and why."""

    path: Path
    files: int
    pages: int
    bytes: int
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "path": str(self.path),
            "files": self.files,
            "pages": self.pages,
            "bytes": self.bytes,
            "left_out": [{"name": name, "reason": reason} for name, reason in self.left_out],
        }


def unpack(
    archive: str | Path,
    dest: str | Path | None = None,
    *,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
) -> Unpacked:
    """Extract an archive into a new folder: into one beside it first, which is then renamed.

    Debris and what macOS leaves behind stay out. Where all lies in one folder, that folder's content comes out.

    Args:
        archive: where it lies, or the name of a field.
        dest: the folder, which must be new or empty; else the archive's name, in the current folder.
        limits: how much the archive may hold.
        progress: called with the number of files done and to do.

    Raises:
        FieldNotFoundError: there is no such file.
        ArchiveError: it is no readable zip, or an entry is damaged.
        UnsafeArchiveError: it is refused, and why.
        NotEmptyError: the folder holds something.
        ReadOnlyError: it cannot be made there.
    """
    container = open_archive(archive, limits)
    target = Path(container.name if dest is None else dest)
    try:
        wanted, left_out = _sorted_out(container)
        with _place(target) as temporary:
            size = _extract(container, wanted, temporary, progress)
    finally:
        container.close()
    files = [name for name, _ in wanted if not name.endswith("/")]
    pages = sum(is_page(name) and "/" not in name for name in files)
    return Unpacked(target, len(files), pages, size, left_out)


def _sorted_out(container: ArchiveContainer) -> tuple[list[tuple[str, Item]], list[tuple[str, str]]]:
    """The entries that come out, and name and reason of those that do not.

    Raises:
        UnsafeArchiveError: a name that would do harm on this system.
    """
    wanted: list[tuple[str, Item]] = []
    left_out: list[tuple[str, str]] = []
    for name, item in container.infos():
        parts = name.removesuffix("/").split("/")
        if parts[0] == MACOSX or any(map(is_debris, parts)):
            left_out.append((name, "is no part of a field"))
        elif is_journal(name):
            left_out.append((name, "belongs to an index at work"))
        elif name:
            if sys.platform == "win32" and (fault := next(filter(None, map(windows_name_fault, parts)), None)):
                raise UnsafeArchiveError(f"the archive's entry {name!r} has a name that {fault}", entry=name)
            wanted.append((name, item))
    return wanted, sorted(left_out)


def _extract(
    container: ArchiveContainer, wanted: list[tuple[str, Item]], folder: Path, progress: Progress | None
) -> int:
    """Write and flush all entries; how many bytes. Folders get no time of their own."""
    size = 0
    made: set[str] = set()
    each = len(wanted) <= _MANY or not hasattr(os, "sync")
    for done, (name, item) in enumerate(wanted, 1):
        above = name.rpartition("/")[0]
        if above and above not in made:
            (folder / above).mkdir(parents=True, exist_ok=True)
            made.add(above)
        if not item.is_folder:
            size += _extract_one(container, name, item, folder / name, flush=each)
        if progress:
            progress(done, len(wanted))
    if not each:
        os.sync()
    return size


def _extract_one(container: ArchiveContainer, name: str, item: Item, path: Path, *, flush: bool) -> int:
    """Write one entry, with its time.

    Raises:
        ArchiveError: it is damaged, or compressed in a way that is not known here.
        UnsafeArchiveError: it is larger than it says.
    """
    size = 0
    with path.open("xb") as file:
        for piece in _pieces(container, name, item):
            file.write(piece)
            size += len(piece)
        if flush:
            file.flush()
            os.fsync(file.fileno())
    moment = mtime_ns(item)
    os.utime(path, ns=(moment, moment))
    return size


def _pieces(container: ArchiveContainer, name: str, item: Item) -> Iterator[bytes]:
    try:
        yield from container.pieces(item)
    except (GeneratorExit, MemoryError):
        raise
    except OverrunError:
        raise UnsafeArchiveError(f"the archive's entry {name!r} is larger than it says", entry=name) from None
    except Exception as error:  # whatever the parts raise that inflate
        raise ArchiveError(f"the archive's entry {name!r} cannot be read: {error}") from error


# the place


@contextmanager
def _place(target: Path) -> Iterator[Path]:
    """A new folder, to be filled; then it gets the target's name, or where anything fails, it is gone.

    Raises:
        NotEmptyError: the target holds something, or is a file.
        ReadOnlyError: it cannot be made there.
    """
    if target.exists() and not target.is_dir():
        raise NotEmptyError(f"{str(target)!r} is a file", hint="Choose a new or an empty folder.")
    there = target.is_dir()
    inside = there and _stays(target)
    parent = target if inside else (target.resolve() if there else target).parent
    for folder in (target, parent):
        remove_dead(folder, target)
    if there and any(target.iterdir()):
        raise _not_empty(target)
    above = [folder for folder in target.parents if not folder.exists()]
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with new_folder(parent, target) as temporary:
            yield temporary
            _put(temporary, target, inside=inside, there=there)
    except BaseException as error:
        with suppress(OSError):
            for folder in above:
                folder.rmdir()
        if isinstance(error, OSError) and error.errno in NOT_ALLOWED:
            raise ReadOnlyError(f"cannot write in {str(target.parent)!r}: {error.strerror}") from error
        raise
    flush_folder(target.parent)


def _not_empty(target: Path) -> NotEmptyError:
    return NotEmptyError(f"{str(target)!r} is not empty", hint="Choose a new or an empty folder.")


def _stays(target: Path) -> bool:
    """Whether an empty folder must stay the one that it is, since somebody stands in it, or another disk begins."""
    real = target.resolve()
    return real == Path.cwd() or real.is_mount() or not os.access(real.parent, os.W_OK | os.X_OK)


def _put(temporary: Path, target: Path, *, inside: bool, there: bool) -> None:
    if inside:
        _move_content(temporary, target)
        return
    place = target
    if there:
        place = target.resolve()
        temporary.chmod(place.stat().st_mode & 0o7777)
        if sys.platform == "win32":
            place.rmdir()  # where a folder cannot take an empty one's place
    try:
        temporary.rename(place)
    except OSError as error:
        if error.errno in _TAKEN:
            raise _not_empty(target) from error  # another process was quicker
        raise


def _move_content(temporary: Path, target: Path) -> None:
    moved: list[Path] = []
    try:
        for item in list(temporary.iterdir()):
            moved.append(item.rename(target / item.name))
    except BaseException:
        for item in moved:
            item.rename(temporary / item.name)
        raise
