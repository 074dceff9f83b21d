"""A field in a zip, read in place. Nothing is extracted, and nothing is written beside it."""

from __future__ import annotations

import datetime
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ArchiveError, FieldNotFoundError, ReadOnlyError
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
        try:
            self._zip = zipfile.ZipFile(location)
        except FileNotFoundError:
            raise FieldNotFoundError(f"no archive {str(location)!r}") from None
        except (zipfile.BadZipFile, NotImplementedError) as error:
            raise ArchiveError(f"{str(location)!r} is not a readable zip: {error}") from None
        self._entries: dict[str, Entry] = {}
        self._skipped: list[Skipped] = []
        self._list()

    def _list(self) -> None:
        for info in self._zip.infolist():
            if info.is_dir() or "/" in info.filename:
                folder = info.filename.split("/", 1)[0]
                skipped = Skipped(folder, "is a folder")
                if skipped not in self._skipped:
                    self._skipped.append(skipped)
            elif fault := plain_name_fault(info.filename):
                self._skipped.append(Skipped(info.filename, f"has a name that {fault}"))
            elif not is_regular(info):
                self._skipped.append(Skipped(info.filename, "is not a regular file"))
            else:
                self._entries[info.filename] = Entry(info.filename, info.file_size, mtime_ns(info), info.CRC)

    def names(self) -> list[str]:
        return list(self._entries)

    def fingerprint(self) -> str:
        pages = (entry for entry in self.entries() if is_page(entry.name))
        return digest("crc", [digest_line(page.name, page.size, page.crc32 or 0) for page in pages])

    def entries(self) -> list[Entry]:
        return list(self._entries.values())

    def skipped(self) -> list[Skipped]:
        return self._skipped

    def entry(self, name: str) -> Entry:
        check_plain(name)
        try:
            return self._entries[name]
        except KeyError:
            raise FileNotFoundError(2, "no such file in the archive", name) from None

    def read(self, name: str, limit: int | None = None) -> bytes:
        self.entry(name)
        try:
            with self._zip.open(name) as file:
                return file.read() if limit is None else file.read(limit)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            raise OSError(5, f"cannot be read from the archive: {error}", name) from error

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
