"""A field in a zip, read in place. Nothing is extracted, and nothing is written beside it."""

from __future__ import annotations

import datetime
import errno
import stat
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ArchiveError, FieldNotFoundError, MemoryfieldError, ReadOnlyError
from ..names import ARCHIVE_SUFFIX, is_page, plain_name_fault
from .base import Entry, Skipped, check_plain, digest, digest_line


class ArchiveContainer:
    """The files at the root of a `.memoryfield.zip`.

    Raises:
        FieldNotFoundError: there is no such file.
        ArchiveError: it is not a zip that can be read.
    """

    writable = False

    def __init__(self, location: Path) -> None:
        self.location = location
        self.name = location.name.removesuffix(ARCHIVE_SUFFIX).removesuffix(".zip")
        self._zip = open_zip(location)
        self._infos: dict[str, zipfile.ZipInfo] = {}
        self._skipped: list[Skipped] = []
        self._list()

    def _list(self) -> None:
        skipped_once: dict[Skipped, None] = {}
        for info in self._zip.infolist():
            name = entry_name(info)
            if "/" in name:
                fault = next(filter(None, map(plain_name_fault, name.removesuffix("/").split("/"))), None)
                skipped = (
                    Skipped(name, f"has a name that {fault}")
                    if fault
                    else Skipped(name.split("/", 1)[0], "is a folder")
                )
                skipped_once[skipped] = None
            elif fault := plain_name_fault(name):
                self._skipped.append(Skipped(name, f"has a name that {fault}"))
            elif not is_regular(info):
                self._skipped.append(Skipped(name, "is not a regular file"))
            else:
                self._infos[name] = info
        self._skipped += skipped_once

    def names(self) -> list[str]:
        return list(self._infos)

    def fingerprint(self) -> str:
        pages = (entry for entry in self.entries() if is_page(entry.name))
        return digest("crc", [digest_line(page.name, page.size, page.crc32 or 0) for page in pages])

    def entries(self) -> list[Entry]:
        return [_entry(name, info) for name, info in self._infos.items()]

    def skipped(self) -> list[Skipped]:
        return self._skipped

    def entry(self, name: str) -> Entry:
        check_plain(name)
        try:
            return _entry(name, self._infos[name])
        except KeyError:
            raise FileNotFoundError(2, "no such file in the archive", name) from None

    def read(self, name: str, limit: int | None = None) -> bytes:
        self.entry(name)
        with reading(name), self._zip.open(self._infos[name]) as file:
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
    try:
        return zipfile.ZipFile(location)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise FieldNotFoundError(f"no archive {str(location)!r}") from None
    except PermissionError:
        raise
    except Exception as error:  # zipfile lets through whatever its parts raise
        raise ArchiveError(f"{str(location)!r} is not a readable zip: {error}") from None


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
    """An entry's name. Names that are UTF-8 without saying so, as many tools write them, are taken as UTF-8."""
    if info.flag_bits & 0x800:
        return info.filename
    try:
        return info.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return info.filename


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
