"""An archive back into a folder. Nothing is written before every entry has been looked at."""

from __future__ import annotations

import os
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..containers.archive import is_regular, mtime_ns
from ..errors import ArchiveError, FieldNotFoundError, NotEmptyError, UnsafeArchiveError
from ..names import ARCHIVE_SUFFIX, is_page, plain_name_fault

Progress = Callable[[int, int], None]
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A folder that an archive was unpacked into."""

    path: Path
    files: int
    pages: int
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"path": str(self.path), "files": self.files, "pages": self.pages, "bytes": self.bytes}


def unpack(archive: str | Path, dest: str | Path | None = None, *, progress: Progress | None = None) -> Unpacked:
    """Extract an archive into a new folder: into one beside it first, which is then renamed.

    Args:
        dest: the folder, which must be new or empty; else the archive's name, in the current folder.

    Raises:
        FieldNotFoundError: there is no such file.
        ArchiveError: it is no readable zip, or an entry is damaged.
        UnsafeArchiveError: an entry leads outside, is a link, or stands there twice.
        NotEmptyError: the folder holds something.
    """
    source = Path(archive)
    target = Path(dest) if dest is not None else Path(source.name.removesuffix(ARCHIVE_SUFFIX).removesuffix(".zip"))
    if target.exists() and not target.is_dir():
        raise NotEmptyError(f"{str(target)!r} is a file", hint="Choose a new or an empty folder.")
    if target.is_dir() and any(target.iterdir()):
        raise NotEmptyError(f"{str(target)!r} is not empty", hint="Choose a new or an empty folder.")
    try:
        opened = zipfile.ZipFile(source)
    except FileNotFoundError:
        raise FieldNotFoundError(f"no archive {str(source)!r}") from None
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise ArchiveError(f"{str(source)!r} is not a readable zip: {error}") from None
    with opened:
        infos = opened.infolist()
        _check(infos)
        return _extract(opened, infos, target, progress)


def _check(infos: list[zipfile.ZipInfo]) -> None:
    """Refuse an archive with any entry that must not be written."""
    seen: dict[str, str] = {}
    for info in infos:
        name = info.filename
        for part in (name[:-1] if info.is_dir() else name).split("/"):
            if fault := plain_name_fault(part):
                raise UnsafeArchiveError(f"the archive's entry {name!r} {fault}", entry=name)
        if "\x00" in info.orig_filename:
            raise UnsafeArchiveError(f"the archive's entry {info.orig_filename!r} hides its name", entry=name)
        if not info.is_dir() and not is_regular(info):
            raise UnsafeArchiveError(f"the archive's entry {name!r} is a link or a special file", entry=name)
        folded = name.casefold()
        if folded in seen:
            raise UnsafeArchiveError(f"the archive has both {seen[folded]!r} and {name!r}", entry=name)
        seen[folded] = name


def _extract(
    opened: zipfile.ZipFile, infos: list[zipfile.ZipInfo], target: Path, progress: Progress | None
) -> Unpacked:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    files = size = 0
    try:
        temporary.mkdir()
        for done, info in enumerate(infos, 1):
            path = temporary / info.filename
            if info.is_dir():
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                size += _extract_one(opened, info, path)
                files += 1
            if progress:
                progress(done, len(infos))
        if target.is_dir():
            target.rmdir()  # empty, as was checked
        temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    pages = sum(is_page(info.filename) and "/" not in info.filename for info in infos)
    return Unpacked(target, files, pages, size)


def _extract_one(opened: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> int:
    """Write one entry. It may not grow beyond the size that it declares."""
    size = 0
    try:
        with opened.open(info) as source, path.open("xb") as file:
            while chunk := source.read(_CHUNK):
                size += len(chunk)
                if size > info.file_size:
                    raise UnsafeArchiveError(
                        f"the archive's entry {info.filename!r} is larger than it says", entry=info.filename
                    )
                file.write(chunk)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise ArchiveError(f"the archive's entry {info.filename!r} cannot be read: {error}") from error
    moment = mtime_ns(info)
    os.utime(path, ns=(moment, moment))
    return size
