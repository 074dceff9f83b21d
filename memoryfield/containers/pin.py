"""What the archive of a name must be, checked on the very bytes that are then read."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from ..errors import HashMismatchError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


_TICK = 0.02
"""Seconds within which two writes may leave one time behind: older systems' clocks for files go by hundredths."""
_PATIENCE = 100
"""So many of them a file is waited for that is being written to."""


class Pin(NamedTuple):
    """The name of a field and the sha256 (64 hexadecimal digits) that its archive must have."""

    name: str
    sha256: str

    def open(self, location: Path) -> IO[bytes]:
        """The archive, to be read; its sha256 has been compared before anything else is done with it.

        What is read later on is of these bytes, too: should the file be written over meanwhile, reading raises.

        Raises:
            HashMismatchError: it is another archive, or becomes one.
            OSError: it cannot be opened.
        """
        file = _Unchanging(location, self)
        try:
            file.check()
        except BaseException:
            file.close()
            raise
        return io.BufferedReader(file)

    def mismatch(self, found: str) -> HashMismatchError:
        """What to raise for an archive with another sha256."""
        return HashMismatchError(
            f"the archive of {self.name!r} is not the one that was pinned: pinned is sha256 {self.sha256},"
            f" and there is {found}",
            expected=self.sha256,
            found=found,
            hint=f"`memoryfield update {self.name} --dry-run` shows what changed,"
            f" `memoryfield update {self.name}` accepts it."
            " If you expected no new version, do not open it; ask for it again.",
        )


class _Unchanging(io.FileIO):
    """A file that is hashed again whenever it may have been written to since the last time."""

    def __init__(self, location: Path, pin: Pin) -> None:
        super().__init__(location)
        self._pin = pin
        self._stamp: tuple[int, ...] = ()

    read, readall = io.RawIOBase.read, io.RawIOBase.readall  # type: ignore[assignment]  # by way of `readinto`

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        place = self.tell()
        count = super().readinto(buffer)
        while self._stamp and self._stamp != self._stamp_now():
            self.check()
            self.seek(place)
            count = super().readinto(buffer)  # what was read before may have stood there for a moment only
        return count

    def check(self) -> None:
        """Compare the file's sha256 with the pin, and go on reading where it was."""
        place, self._stamp = self.tell(), ()
        stamp = self._stamp_at_rest()
        self.seek(0)
        found = hashlib.file_digest(cast("io.BufferedReader", self), "sha256").hexdigest()
        if found != self._pin.sha256:
            raise self._pin.mismatch(found)
        self.seek(place)
        self._stamp = stamp

    def _stamp_at_rest(self) -> tuple[int, ...]:
        """A stamp that is old enough for every later write to leave another."""
        for _ in range(_PATIENCE):
            stamp = self._stamp_now()
            if not 0 <= time.time_ns() - stamp[-1] < _TICK * 1e9:
                return stamp
            time.sleep(_TICK)
        raise OSError(errno.EBUSY, "is being written to all the time", self.name)

    def _stamp_now(self) -> tuple[int, ...]:
        """What changes when the file is written to. (`st_ctime_ns` cannot be set, as the others can.)"""
        status = os.fstat(self.fileno())
        return status.st_size, status.st_mtime_ns, status.st_ctime_ns
