"""A field in a zip, read in place. Nothing is extracted, and nothing is written beside it."""

from __future__ import annotations

import datetime
import errno
import gc
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from ..errors import ArchiveError, FieldNotFoundError, MemoryfieldError, ReadOnlyError
from ..names import ARCHIVE_SUFFIX, is_debris, is_page
from . import gate
from .base import FOLDER, LINK_IN_ARCHIVE, Entry, Skipped, check_plain, digest, digest_line
from .limits import DEFAULT_LIMITS, Limits
from .survey import HERE, Finding, Item, Survey
from .unpacking import EntryFile, Source

if TYPE_CHECKING:
    from .pin import Pin


class ArchiveContainer:
    """The files at the root of a `.memoryfield.zip`; or in the one folder that it holds, where nothing is beside that.

    Args:
        limits: how much it may hold.
        pin: read no other archive than this.
        strict: refuse what the gate finds anything against. Else `findings` tells, and what cannot be
            trusted is listed and cannot be read: that is for those who report.

    Raises:
        FieldNotFoundError: there is no such file.
        ArchiveError: it is not a zip that can be read.
        UnsafeArchiveError: it is refused, and why.
        HashMismatchError: it is not the one that was pinned; nothing of it has been read then.
    """

    writable = False
    notes: Sequence[str] = ()

    def __init__(
        self, location: Path, limits: Limits = DEFAULT_LIMITS, *, strict: bool = True, pin: Pin | None = None
    ) -> None:
        self.location = location
        self.limits = limits
        self.strict = strict
        self._pin = pin
        self.name = pin.name if pin else location.name.removesuffix(ARCHIVE_SUFFIX).removesuffix(".zip")
        self._file = open_file(location, pin)
        try:
            self._survey = _surveyed(location, self._file, limits)
            if strict and self._survey.findings:
                raise self._survey.findings[0].refusal()
        except BaseException:
            self._file.close()
            raise
        self._source = Source(self._file)
        self._identity = identity(os.fstat(self._file.fileno()))
        self._items: dict[str, Item] = {}
        self._skipped: list[Skipped] = []
        self._sha256 = pin.sha256 if pin else None
        self._list()

    def _list(self) -> None:
        root = self._survey.root
        skipped_once: dict[Skipped, None] = {}
        for item in self._survey.items:
            if item.name == HERE:
                continue
            name = item.name.removeprefix(root) if root else item.name
            if root and not item.name.startswith(root):
                first, slash, _ = item.name.partition("/")
                skipped_once[Skipped(first, FOLDER if slash else "lies beside the folder of the field")] = None
            elif item.is_skipped:
                self._skipped.append(Skipped(name, LINK_IN_ARCHIVE if item.is_link else "is no file of a field"))
            elif "/" in name:
                skipped_once[Skipped(name.split("/", 1)[0], FOLDER)] = None
            elif name:
                self._items[name] = item
        self._skipped += skipped_once

    @property
    def findings(self) -> list[Finding]:
        """All that the gate found; empty for an archive that was opened strictly."""
        return self._survey.findings

    @property
    def is_readable(self) -> bool:
        """Whether it is certain what the archive lists; else it seems empty."""
        return self._survey.is_readable

    @property
    def root(self) -> str:
        """The folder in the archive that is read as the field, and a slash; empty if it is the archive's own root."""
        return self._survey.root

    def blocked(self) -> dict[str, str]:
        """The files that cannot be trusted or bounded, and why."""
        return {name: item.blocked for name, item in self._items.items() if item.blocked}

    def names(self) -> list[str]:
        return list(self._items)

    def fingerprint(self) -> str:
        pages = ((name, item) for name, item in self._items.items() if is_page(name))
        return digest("crc", [digest_line(name, item.size, item.crc) for name, item in pages])

    def sha256(self) -> str:
        """The digest of the whole archive, in hexadecimal; empty if another file has taken its place."""
        if self._sha256 is None:
            self._sha256 = self._hashed()
        return self._sha256

    def is_unchanged(self) -> bool:
        """Whether all that was read until now is of the bytes that `sha256` told of: the directory, too."""
        try:
            with self.location.open("rb", buffering=0) as file:
                now = gate.survey(file, self.limits)
        except (OSError, ArchiveError):
            return False
        same = [item.place for item in now.items] == [item.place for item in self._survey.items]
        return same and bool(self.sha256()) and self._hashed() == self._sha256

    def _hashed(self) -> str:
        try:
            with self.location.open("rb") as file:  # a handle of its own: ours is being read
                if self._file.closed or not os.path.samestat(os.fstat(file.fileno()), os.fstat(self._file.fileno())):
                    return ""
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return ""

    def packed_size(self, *names: str) -> int:
        """How many bytes these files take in the archive."""
        return sum(self._items[name].packed for name in names)

    def open(self, name: str) -> IO[bytes]:
        self.entry(name)
        return cast("IO[bytes]", EntryFile(self._pieces(name, self._items[name])))

    def renewed(self) -> ArchiveContainer:
        if identity(self.location.stat()) == self._identity:
            return self
        return ArchiveContainer(self.location, self.limits, strict=self.strict, pin=self._pin)

    def begin_fingerprint(self) -> Callable[[], str]:
        return self.fingerprint

    def watch(self) -> None:
        """Its directory is read once, and `renewed` tells when another archive has taken its place."""

    def recheck(self) -> None:
        """As `watch`."""

    def moment(self) -> int | None:
        return 0

    def entries(self) -> list[Entry]:
        return [_entry(name, item) for name, item in self._items.items()]

    def skipped(self) -> list[Skipped]:
        return self._skipped

    def nested_pages(self) -> list[str]:
        found: dict[str, str] = {}
        root = self._survey.root
        for name in sorted(item.name for item in self._survey.items if not item.is_skipped):
            parts = name.removeprefix(root).split("/")
            if len(parts) > 1 and parts[0] and is_page(parts[-1]) and not any(map(is_debris, parts)):
                found.setdefault(parts[0], name.removeprefix(root))
        return list(found.values())

    def infos(self) -> list[tuple[str, Item]]:
        """Every entry as the directory has it, two of one name and folders included; names as those of the field."""
        root = self._survey.root
        return [(item.name.removeprefix(root), item) for item in self._survey.items if item.name != HERE]

    def entry(self, name: str) -> Entry:
        check_plain(name)
        try:
            return _entry(name, self._items[name])
        except KeyError:
            raise FileNotFoundError(2, "no such file in the archive", name) from None

    def read(self, name: str, limit: int | None = None) -> bytes:
        self.entry(name)
        pieces = self._pieces(name, self._items[name])
        if limit is None:
            return b"".join(pieces)
        begun = b""
        while len(begun) < limit and (piece := next(pieces, b"")):
            begun += piece
        return begun[:limit]

    def _pieces(self, name: str, item: Item) -> Iterator[bytes]:
        with reading(name):
            yield from self._source.pieces(item)

    def pieces(self, item: Item) -> Iterator[bytes]:
        """What an entry of `infos` holds, piece by piece; raises whatever is wrong with it."""
        return self._source.pieces(item)

    def local_path(self, name: str) -> Path | None:
        return None

    def write(self, name: str, data: bytes) -> None:
        raise self._read_only()

    def rename(self, old: str, new: str) -> None:
        raise self._read_only()

    def delete(self, name: str) -> None:
        raise self._read_only()

    @contextmanager
    def lock(self) -> Iterator[None]:
        raise self._read_only()
        yield

    def _read_only(self) -> ReadOnlyError:
        return ReadOnlyError(
            f"{str(self.location)!r} is an archive, and archives are read-only",
            hint="Unpack it (`memoryfield unpack`), change the folder, and pack it again.",
        )

    def close(self) -> None:
        self._file.close()


def open_file(location: Path, pin: Pin | None = None) -> IO[bytes]:
    """An archive's bytes; with a pin, of none but that.

    Raises:
        FieldNotFoundError: there is no such file.
        HashMismatchError: it is not the one that was pinned.
    """
    if location.exists() and not location.is_file():  # a pipe would be waited for
        raise FieldNotFoundError(f"{str(location)!r} is no file")
    try:
        return pin.open(location) if pin else location.open("rb", buffering=0)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise FieldNotFoundError(f"no archive {str(location)!r}") from None


def _surveyed(location: Path, file: IO[bytes], limits: Limits) -> Survey:
    collecting = gc.isenabled()
    gc.disable()  # ten thousand entries that all stay: looking for garbage among them takes half the time
    try:
        return gate.survey(file, limits)
    except ArchiveError as error:
        raise ArchiveError(f"{str(location)!r} is not a readable zip: {error.message}") from None
    finally:
        if collecting:
            gc.enable()


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Say which entry could not be read, as an `OSError`, whatever was wrong with it."""
    try:
        yield
    except (MemoryfieldError, GeneratorExit):
        raise
    except Exception as error:  # whatever the parts raise that inflate
        raise OSError(errno.EIO, f"in the archive, {error}", name) from error


def identity(status: os.stat_result) -> tuple[int, ...]:
    """What changes when a file is replaced, or written over."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _entry(name: str, item: Item) -> Entry:
    return Entry(name, item.size, mtime_ns(item), item.crc)


def mtime_ns(item: Item) -> int:
    """An entry's time, read as UTC (a zip does not tell its zone), in nanoseconds since 1970."""
    date, time = divmod(item.moment, 1 << 16)
    year, month, day = (date >> 9) + 1980, date >> 5 & 0xF, date & 0x1F
    try:
        moment = datetime.datetime(
            year, month, day, time >> 11, time >> 5 & 0x3F, (time & 0x1F) * 2, tzinfo=datetime.UTC
        )
    except ValueError:  # month 0 and the like
        return 0
    return int(moment.timestamp()) * 1_000_000_000
