"""A field in a zip, read in place. Nothing is extracted, and nothing is written beside it."""

from __future__ import annotations

import datetime
import errno
import gc
import hashlib
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import ArchiveError, FieldNotFoundError, MemoryfieldError, ReadOnlyError
from ..names import ARCHIVE_SUFFIX, is_debris, is_page, plain_name_fault, plainly_a_page
from .base import FOLDER, LINK_IN_ARCHIVE, Entry, Skipped, check_plain, digest, digest_line
from .limits import DEFAULT_LIMITS, Limits

_BYTES = "latin-1"
"""Names that do not say that they are UTF-8 are read as bytes; zipfile's own guess takes longer. See `entry_name`."""


class ArchiveContainer:
    """The files at the root of a `.memoryfield.zip`.

    Raises:
        FieldNotFoundError: there is no such file.
        ArchiveError: it is not a zip that can be read.
    """

    writable = False

    def __init__(self, location: Path, limits: Limits = DEFAULT_LIMITS) -> None:
        self.location = location
        self.limits = limits
        self.name = location.name.removesuffix(ARCHIVE_SUFFIX).removesuffix(".zip")
        self._zip = open_zip(location)
        assert self._zip.fp is not None
        self._identity = _identity(os.fstat(self._zip.fp.fileno()))
        self._infos: dict[str, zipfile.ZipInfo] = {}
        self._skipped: list[Skipped] = []
        self._sha256: str | None = None
        self._list()

    def _list(self) -> None:
        skipped_once: dict[Skipped, None] = {}
        for info in self._zip.infolist():
            if plainly_a_page(info.filename) and is_regular(info):  # of many entries, nearly all
                self._infos[info.filename] = info
                continue
            name = entry_name(info)
            if "/" in name:
                fault = next(filter(None, map(plain_name_fault, name.removesuffix("/").split("/"))), None)
                skipped = Skipped(name, f"has a name that {fault}") if fault else Skipped(name.split("/", 1)[0], FOLDER)
                skipped_once[skipped] = None
            elif fault := plain_name_fault(name):
                self._skipped.append(Skipped(name, f"has a name that {fault}"))
            elif not is_regular(info):
                kind = stat.S_IFMT(info.external_attr >> 16)
                reason = LINK_IN_ARCHIVE if kind == stat.S_IFLNK else "is not a regular file"
                self._skipped.append(Skipped(name, reason))
            else:
                self._infos[name] = info
        self._skipped += skipped_once

    def names(self) -> list[str]:
        return list(self._infos)

    def fingerprint(self) -> str:
        pages = ((name, info) for name, info in self._infos.items() if is_page(name))
        return digest("crc", [digest_line(name, info.file_size, info.CRC) for name, info in pages])

    def sha256(self) -> str:
        """The digest of the whole archive, in hexadecimal; empty if another file has taken its place."""
        if self._sha256 is None:
            self._sha256 = self._hashed()
        return self._sha256

    def is_unchanged(self) -> bool:
        """Whether all that was read until now is of the bytes that `sha256` told of: the directory, too."""
        try:
            with zipfile.ZipFile(self.location, metadata_encoding=_BYTES) as now:
                same = _places(now) == _places(self._zip)
        except Exception:  # zipfile lets through whatever its parts raise
            return False
        return same and bool(self.sha256()) and self._hashed() == self._sha256

    def _hashed(self) -> str:
        try:
            with self.location.open("rb") as file:  # a handle of its own: the zip's is being read
                opened = self._zip.fp
                if opened is None or not os.path.samestat(os.fstat(file.fileno()), os.fstat(opened.fileno())):
                    return ""
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            return ""

    def packed_size(self, *names: str) -> int:
        """How many bytes these files take in the archive."""
        return sum(self._infos[name].compress_size for name in names)

    def open(self, name: str) -> IO[bytes]:
        """A file that `entry` knows, to be read piece by piece. Raises whatever zipfile lets through."""
        return self._zip.open(self._infos[name])

    def renewed(self) -> ArchiveContainer:
        return (
            self if _identity(self.location.stat()) == self._identity else ArchiveContainer(self.location, self.limits)
        )

    def begin_fingerprint(self) -> Callable[[], str]:
        return self.fingerprint

    def entries(self) -> list[Entry]:
        return [_entry(name, info) for name, info in self._infos.items()]

    def skipped(self) -> list[Skipped]:
        return self._skipped

    def nested_pages(self) -> list[str]:
        found: dict[str, str] = {}
        for name in sorted(map(entry_name, self._zip.infolist())):
            parts = name.split("/")
            if len(parts) > 1 and parts[0] and is_page(parts[-1]) and not any(map(is_debris, parts)):
                found.setdefault(parts[0], name)
        return list(found.values())

    def infos(self) -> list[tuple[str, zipfile.ZipInfo]]:
        """Every entry as the directory has it, two of one name and folders included."""
        return [(entry_name(info), info) for info in self._zip.infolist()]

    def entry(self, name: str) -> Entry:
        check_plain(name)
        try:
            return _entry(name, self._infos[name])
        except KeyError:
            raise FileNotFoundError(2, "no such file in the archive", name) from None

    def read(self, name: str, limit: int | None = None) -> bytes:
        self.entry(name)
        with reading(name), self.open(name) as file:
            return file.read() if limit is None else file.read(limit)

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
        self._zip.close()


def open_zip(location: Path) -> zipfile.ZipFile:
    """A zip, its directory read.

    Raises:
        FieldNotFoundError: there is no such file.
        ArchiveError: it is not a zip that can be read.
    """
    if location.exists() and not location.is_file():  # a pipe would be waited for
        raise FieldNotFoundError(f"{str(location)!r} is no file")
    collecting = gc.isenabled()
    gc.disable()  # ten thousand entries that all stay: looking for garbage among them takes half the time
    try:
        return zipfile.ZipFile(location, metadata_encoding=_BYTES)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise FieldNotFoundError(f"no archive {str(location)!r}") from None
    except PermissionError:
        raise
    except Exception as error:  # zipfile lets through whatever its parts raise
        raise ArchiveError(f"{str(location)!r} is not a readable zip: {error}") from None
    finally:
        if collecting:
            gc.enable()


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Say which entry could not be read, as an `OSError`, whatever was wrong with it."""
    try:
        yield
    except MemoryfieldError:
        raise
    except Exception as error:  # zipfile lets through whatever its parts raise
        raise OSError(errno.EIO, f"cannot be read from the archive: {error}", name) from error


def entry_name(info: zipfile.ZipInfo) -> str:
    """The name of an entry of `open_zip`'s.

    Names that are UTF-8 without saying so, as many tools write them, are taken as UTF-8.
    """
    if info.flag_bits & 0x800:
        return info.filename
    raw = info.filename.encode(_BYTES)
    try:
        return raw.decode("utf-8")
    except UnicodeError:
        return raw.decode("cp437")


def _identity(status: os.stat_result) -> tuple[int, ...]:
    """What changes when a file is replaced, or written over."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _places(archive: zipfile.ZipFile) -> list[tuple[str, int, int, int, int]]:
    """Where a zip's directory says that each entry lies, and what it is."""
    return [(i.orig_filename, i.header_offset, i.compress_size, i.file_size, i.CRC) for i in archive.infolist()]


def _entry(name: str, info: zipfile.ZipInfo) -> Entry:
    return Entry(name, info.file_size, mtime_ns(info), info.CRC)


def is_regular(info: zipfile.ZipInfo) -> bool:
    """Whether an entry is a plain file: no link, device or other special file."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    return kind in (0, stat.S_IFREG)


def mtime_ns(info: zipfile.ZipInfo) -> int:
    """An entry's time, read as UTC (a zip does not tell its zone), in nanoseconds since 1970."""
    try:
        moment = datetime.datetime(*info.date_time, tzinfo=datetime.UTC)
    except ValueError:  # month 0 and the like
        return 0
    return int(moment.timestamp()) * 1_000_000_000
