"""Whether anything happened in a folder since it was looked at, known without looking at ten thousand files again.

Linux tells of it, by inotify(7): whatever was done before one asks. That holds in file systems that nobody changes
but this machine. Where it does not hold, there is no watch, and the files are looked at. It is for what lasts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ..names import PAGE_SUFFIX
from .base import inode_of

if TYPE_CHECKING:
    from inotify_simple import INotify

MOUNTS = Path("/proc/self/mountinfo")
LOCAL = frozenset(("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "tmpfs", "xfs", "zfs"))
"""File systems in which nothing happens but through this machine's kernel."""


class Watch:
    """A folder that is watched.

    ```python
    watch = watched(folder)
    if not watch.is_quiet():
        ...                # look at all files
        watch.looked()
    ```
    """

    def __init__(self, folder: Path, events: INotify, descriptor: int) -> None:
        self._folder = folder
        self._inode = inode_of(folder)
        self._events = events
        self._descriptor = descriptor
        self._is_quiet = False

    @property
    def serves(self) -> bool:
        """Whether the folder is the one that is watched: another may have taken its place."""
        return inode_of(self._folder) == self._inode

    def is_quiet(self) -> bool:
        """Whether no page was touched since just before the last look."""
        for event in self._events.read(0):
            if event.wd != self._descriptor or _may_concern(event.name):
                self._is_quiet = False
        return self._is_quiet

    def looked(self) -> None:
        """The files were looked at, after `is_quiet` was asked."""
        self._is_quiet = True

    def close(self) -> None:
        """Watch no longer."""
        self._events.close()


def watched(folder: Path) -> Watch | None:
    """A watch on a folder; None where it could not be relied on, or cannot be had."""
    if not _is_local(folder):
        return None
    try:
        from inotify_simple import INotify, flags
    except ImportError:
        return None
    try:
        events = INotify(nonblocking=True)
    except OSError:  # as many as the system allows are in use
        return None
    mask = (
        flags.MODIFY | flags.ATTRIB | flags.CLOSE_WRITE | flags.CREATE | flags.DELETE
        | flags.MOVED_FROM | flags.MOVED_TO | flags.DELETE_SELF | flags.MOVE_SELF | flags.ONLYDIR
    )  # fmt: skip
    try:
        return Watch(folder, events, events.add_watch(folder, mask))
    except OSError:
        events.close()
        return None


def _may_concern(name: str) -> bool:
    """Whether an event is about a page or, without a name, about the folder itself."""
    return not name or name[-len(PAGE_SUFFIX) :].lower() == PAGE_SUFFIX


def _is_local(folder: Path) -> bool:
    """Whether nobody but this machine changes the file system that a folder lies in."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    return _file_system(os.path.realpath(folder), mounts) in LOCAL


def _file_system(path: str, mounts: Iterable[str]) -> str:
    """The kind of file system at a path, by lines of proc_pid_mountinfo(5): later mounts cover earlier ones."""
    longest, kind = 0, ""
    for line in mounts:
        mount, _, source = line.partition(" - ")
        point = mount.split(" ")[4].replace("\\040", " ").rstrip("/") + "/"
        if len(point) >= longest and f"{path}/".startswith(point):
            longest, kind = len(point), source.partition(" ")[0]
    return kind
