"""A field in a folder."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO

from ..errors import FieldNotFoundError, ReadOnlyError
from ..names import is_debris, is_page, plain_name_fault, plainly_a_page
from .base import (
    FOLDER,
    LINK_OUT,
    NOT_ALLOWED,
    Container,
    Entry,
    Skipped,
    check_plain,
    digest,
    digest_line,
    say_where,
)
from .journal import Changes, flush_folder, is_begun, is_decided, new_file, settle
from .watch import Watch, watched

MANY = 20_000
"""Of so many files, a process of its own takes the fingerprint, beside what ours does next."""

DEAD_AFTER = 60
"""Seconds after which a temporary file is taken for one whose writer was killed."""
_TEMPORARY = re.compile(r"\.memoryfield-[0-9a-f]{16}\.tmp").fullmatch
_TYPE, _FILE, _LINK = 0o170000, stat.S_IFREG, stat.S_IFLNK


def _open(path: str, flags: int) -> int:
    """A file; a pipe in its place is not waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class DirectoryContainer:
    """The files of one folder; sub-folders, and links that lead outside it, are not part of it.

    ```python
    folder = DirectoryContainer(Path("notes"))
    folder.write("woks.md", b"# Woks\\n")      # atomically: a temporary file, flushed and renamed
    folder.read("woks.md")
    ```
    """

    def __init__(self, location: Path) -> None:
        if not location.is_dir():
            raise FieldNotFoundError(f"no folder {str(location)!r}")
        self.location = location
        self.name = location.resolve().name
        self._root = Path(os.path.realpath(location))
        self._skipped: list[Skipped] = []
        self._seen = 0
        self._plain: set[str] = set()
        self._digested: tuple[list[tuple[str, int, int]], str] = ([], digest("time", []))
        self._watch: Watch | None = None
        self._looks = 0
        self.notes: Sequence[str] = []
        if is_begun(location):
            self._settle()

    @property
    def writable(self) -> bool:
        return os.access(self.location, os.W_OK | os.X_OK)

    def names(self) -> list[str]:
        names = os.listdir(self.location)  # noqa: PTH208
        self._seen = len(names)
        return names

    def begin_fingerprint(self) -> Callable[[], str]:
        if self._watch or self._seen < MANY or not sys.executable or hasattr(sys, "frozen"):
            return self.fingerprint
        import subprocess

        script = Path(__file__).with_name("scan.py")
        try:
            helper = subprocess.Popen(
                [sys.executable, "-I", "-S", script, self._root],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return self.fingerprint

        def collect() -> str:
            found = helper.communicate()[0]
            return found.decode() if helper.returncode == 0 and found else self.fingerprint()

        return collect

    def renewed(self) -> DirectoryContainer:
        if is_begun(self.location):
            self._settle()
        return self

    def _settle(self) -> None:
        """Complete, or clear away, the changes of many files that a killed process has left behind.

        What is decided is waited for. What is only begun belongs to a process at work, if the lock is held.
        """
        try:
            decided = is_decided(self.location)
            with _locked(self.location, wait=decided) as sure:
                if decided or sure:
                    self.notes = settle(self.location, sure)
        except OSError as error:
            self.notes = [f"changes of many pages were begun here: {error.strerror or error}"]

    def watch(self) -> None:
        if self._watch:
            self._watch.close()
        self._watch = watched(self.location)

    def fingerprint(self) -> str:
        if self._watch and not self._watch.serves:
            self.watch()
        if self.moment() is None:
            self._looks += 1
            self._look()
        return self._digested[1]

    def recheck(self) -> None:
        if self.moment() is not None:
            before = self._digested[1]
            self._look()
            self._looks += self._digested[1] != before

    def moment(self) -> int | None:
        return self._looks if self._watch and self._watch.is_quiet() else None

    def _look(self) -> None:
        """Take the fingerprint anew, of all files."""
        found: list[tuple[str, int, int]] = []
        plain, kind, file, link = self._plain, _TYPE, _FILE, _LINK
        shared = False
        with _scanned(self.location) as listing:
            for item in listing:
                name = item.name
                if name not in plain:
                    if plainly_a_page(name):
                        plain.add(name)
                    elif not is_page(name) or plain_name_fault(name):
                        continue
                try:
                    status = item.stat(follow_symlinks=False)
                    if status.st_mode & kind == link and not self._link_fault(str(self.location / name)):
                        shared = True
                        status = (self.location / name).stat()
                except FileNotFoundError:
                    continue  # gone between listing and looking
                if status.st_mode & kind == file:
                    found.append((name, status.st_size, status.st_mtime_ns))
                    if status.st_nlink > 1:
                        shared = True
        if found != self._digested[0]:
            self._digested = found, digest("time", [digest_line(*page) for page in found])
        if self._watch and not shared:  # a file of two names can be changed by the other, and no page is told of
            self._watch.looked()

    def entries(self) -> list[Entry]:
        return [Entry(item.name, st.st_size, st.st_mtime_ns) for item, st in self._files()]

    def _files(self) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        """The files at the root; what is none, or has no plain name, is noted."""
        self._skipped = []
        with os.scandir(self.location) as listing:
            for item in listing:
                if fault := plain_name_fault(item.name):
                    self._skipped.append(Skipped(item.name, f"has a name that {fault}"))
                    continue
                try:
                    status: os.stat_result | None = item.stat(follow_symlinks=False)
                    if status and not stat.S_ISREG(status.st_mode):
                        status = self._followed(item, status)
                except FileNotFoundError:
                    continue  # gone between listing and looking
                if status:
                    yield item, status

    def _followed(self, item: os.DirEntry[str], status: os.stat_result) -> os.stat_result | None:
        """What a link within the field leads to; None, and noted, for all that is no file of the field."""
        reason: str | None = "is not a regular file"
        if stat.S_ISDIR(status.st_mode):
            reason = FOLDER
        elif stat.S_ISLNK(status.st_mode):
            reason = self._link_fault(item.path)
        if reason is None:
            return item.stat()
        self._skipped.append(Skipped(item.name, reason))
        return None

    def skipped(self) -> list[Skipped]:
        self.entries()
        return self._skipped

    def nested_pages(self) -> list[str]:
        with os.scandir(self.location) as listing:
            folders = [item.name for item in listing if not is_debris(item.name) and item.is_dir(follow_symlinks=False)]
        return [page for page in map(self._first_page, folders) if page]

    def _first_page(self, folder: str) -> str:
        for path, inner, files in os.walk(self.location / folder):
            inner[:] = sorted(name for name in inner if not is_debris(name))
            if found := min(filter(is_page, files), default=""):
                return (Path(path) / found).relative_to(self.location).as_posix()
        return ""

    def _link_fault(self, path: str) -> str | None:
        target = Path(os.path.realpath(path))
        if target.parent != self._root:
            return LINK_OUT
        return None if target.is_file() else "is a link that leads nowhere"

    def _path(self, name: str) -> Path:
        return Path(self._checked(name))

    def _checked(self, name: str) -> str:
        check_plain(name)
        path = os.path.join(self.location, name)  # noqa: PTH118 - ten thousand Paths take a while
        if os.path.islink(path) and (fault := self._link_fault(path)):  # noqa: PTH114
            raise PermissionError(13, f"{name} {fault}", path)
        return path

    def entry(self, name: str) -> Entry:
        status = self._path(name).stat()
        if not stat.S_ISREG(status.st_mode):
            raise FileNotFoundError(2, "is not a file", name)
        return Entry(name, status.st_size, status.st_mtime_ns)

    def read(self, name: str, limit: int | None = None) -> bytes:
        handle = self._opened(self._checked(name))
        try:  # without a file object: ten thousand of them take a while
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise FileNotFoundError(2, "is not a file", name)
            wanted = status.st_size + 1 if limit is None else limit
            raw = os.read(handle, wanted)
            while limit is None and (more := os.read(handle, 1 << 20)):
                raw += more
            return raw
        finally:
            os.close(handle)

    def open(self, name: str) -> IO[bytes]:
        file = os.fdopen(self._opened(self._checked(name)), "rb")
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise FileNotFoundError(2, "is not a file", name)
        return file

    def _opened(self, path: str) -> int:
        """A file to read. A link that took its place after it was looked at is not followed out of the folder."""
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            return _open(path, flags)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EMLINK):
                raise
        target = Path(os.path.realpath(path))
        if target.parent != self._root:
            raise PermissionError(errno.EACCES, f"{os.path.basename(path)} {LINK_OUT}", path)  # noqa: PTH119
        return _open(str(target), flags)

    def local_path(self, name: str) -> Path | None:
        return self._path(name)

    def write(self, name: str, data: bytes) -> None:
        path = self._path(name).resolve() if (self.location / name).is_symlink() else self._path(name)
        with self._read_only_errors():
            if path.exists():
                self.entry(name)
            temporary = path.with_name(f".memoryfield-{secrets.token_hex(8)}.tmp")
            try:
                self._write_through(temporary, data, path)
                os.replace(temporary, path)  # noqa: PTH105
            except BaseException:
                with suppress(OSError):
                    temporary.unlink()
                raise
            flush_folder(self.location)

    @staticmethod
    def _write_through(temporary: Path, data: bytes, target: Path) -> None:
        with new_file(temporary) as file:
            with suppress(FileNotFoundError):
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def rename(self, old: str, new: str) -> None:
        source, target = self._path(old), self._path(new)
        if target.exists():
            self.entry(new)
        with self._read_only_errors():
            source.rename(target)
            flush_folder(self.location)

    def delete(self, name: str) -> None:
        check_plain(name)
        with self._read_only_errors():
            (self.location / name).unlink()
            flush_folder(self.location)

    @contextmanager
    def _read_only_errors(self) -> Iterator[None]:
        """Say in the field's own words that a folder does not allow writing."""
        try:
            yield
        except OSError as error:
            if error.errno in NOT_ALLOWED:
                raise ReadOnlyError(f"cannot write in {str(self.location)!r}: {error.strerror}") from error
            say_where(error, self.location)
            raise

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the folder's advisory lock, which every writing memoryfield process takes."""
        with _locked(self.location) as sure:
            if is_begun(self.location):
                self.notes = settle(self.location, sure)
            if sure:
                self._clear_dead()
            yield

    def _clear_dead(self) -> None:
        """Remove what writers that were killed have left behind. The lock is held: nobody is at work on it."""
        for name in filter(_TEMPORARY, os.listdir(self.location)):  # noqa: PTH208 - among ten thousand pages
            path = self.location / name
            with suppress(OSError):
                status = path.lstat()
                if stat.S_ISREG(status.st_mode) and time.time() - status.st_mtime > DEAD_AFTER:
                    path.unlink()

    @contextmanager
    def change_many(self) -> Iterator[Changes]:
        """Hold the lock, and at its end make all changes or none; killed at any moment, likewise.

        Raises:
            PageConflictError: a file is not what it was when its change was noted.
            RefusedError: others were begun, and cannot be completed.
        """
        with self.lock():
            changes = Changes(self.location)
            try:
                yield changes
                with self._read_only_errors():
                    changes.commit()
            except BaseException as error:
                changes.abandon()
                say_where(error, self.location)
                raise

    def close(self) -> None:
        if self._watch:
            self._watch.close()
            self._watch = None


def changing(container: Container, *, dry_run: bool = False) -> AbstractContextManager[Changes | None]:
    """`change_many` of a container that can be written; of a dry run, no changes and no lock."""
    if dry_run:
        return nullcontext()
    assert isinstance(container, DirectoryContainer)  # nothing else is writable
    return container.change_many()


@contextmanager
def _scanned(folder: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
    """What a folder holds; each is looked up from the opened folder where that can be, which is quicker."""
    if os.scandir not in os.supports_fd:
        with os.scandir(folder) as listing:
            yield listing
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with os.scandir(handle) as listing:
            yield listing
    finally:
        os.close(handle)


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold a folder's lock. False, where it is held by another (and not waited for), or there are no locks."""
    if sys.platform == "win32":  # a folder cannot be locked there: a file beside the pages serves
        import msvcrt

        with (folder / ".memoryfield.lock").open("ab") as file:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            except OSError:
                if wait:
                    raise
                yield False
                return
            try:
                yield True
            finally:
                file.seek(0)
                msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
        sure = False
        try:
            with suppress(OSError):  # some network file systems know no locks: renaming is still atomic
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
                sure = True
            yield sure
        finally:
            os.close(handle)
