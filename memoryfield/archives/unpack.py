"""An archive back into a folder. Nothing is written before every entry has been looked at."""

from __future__ import annotations

import copy
import os
import secrets
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..containers.archive import entry_name, is_regular, mtime_ns, open_zip, reading
from ..errors import ArchiveError, NotEmptyError, UnsafeArchiveError
from ..names import ARCHIVE_SUFFIX, folded, is_page, plain_name_fault

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
    with open_zip(source) as opened:
        infos = {entry_name(info): info for info in opened.infolist()}
        _check(opened.infolist())
        files, size = _extract_beside(opened, infos, target, progress)
    pages = sum(is_page(name) and "/" not in name for name in infos)
    return Unpacked(target, files, pages, size)


def _check(infos: list[zipfile.ZipInfo]) -> None:
    """Refuse an archive with any entry that must not be written."""
    seen: dict[str, str] = {}
    folders: set[str] = set()
    files: set[str] = set()
    for info in infos:
        name = entry_name(info)
        if "\x00" in info.orig_filename:
            raise UnsafeArchiveError(f"the archive's entry {info.orig_filename!r} hides its name", entry=name)
        is_folder = name.endswith("/")
        parts = name.removesuffix("/").split("/")
        for part in parts:
            if fault := plain_name_fault(part):
                raise UnsafeArchiveError(f"the archive's entry {name!r} {fault}", entry=name)
        if not is_folder and not is_regular(info):
            raise UnsafeArchiveError(f"the archive's entry {name!r} is a link or a special file", entry=name)
        path = folded("/".join(parts))
        if path in seen or (path in folders and not is_folder):
            raise UnsafeArchiveError(f"the archive has both {seen.get(path, path)!r} and {name!r}", entry=name)
        above = {folded("/".join(parts[:depth])) for depth in range(1, len(parts) + is_folder)}
        if files_above := above & files:
            raise UnsafeArchiveError(f"the archive's {files_above.pop()!r} is a file and a folder", entry=name)
        folders |= above
        if not is_folder:
            files.add(path)
        seen[path] = name


def _extract_beside(
    opened: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo], target: Path, progress: Progress | None
) -> tuple[int, int]:
    """Extract into a folder beside the target, or in it where it exists, and put it in its place when complete."""
    made = [folder for folder in target.parents if not folder.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    there = target.is_dir()
    temporary = (target / "x" if there else target).with_name(f".memoryfield-{secrets.token_hex(8)}.tmp")
    try:
        temporary.mkdir()
        counts = _extract(opened, infos, temporary, progress)
        if there:
            for item in list(temporary.iterdir()):
                item.rename(target / item.name)
            temporary.rmdir()
        else:
            temporary.rename(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        with suppress(OSError):
            for folder in made:
                folder.rmdir()
        raise
    return counts


def _extract(
    opened: zipfile.ZipFile, infos: dict[str, zipfile.ZipInfo], folder: Path, progress: Progress | None
) -> tuple[int, int]:
    """Write all entries; how many files, how many bytes."""
    files = size = 0
    for done, (name, info) in enumerate(infos.items(), 1):
        path = folder / name
        is_folder = name.endswith("/")
        (path if is_folder else path.parent).mkdir(parents=True, exist_ok=True)
        if not is_folder:
            size += _extract_one(opened, info, path)
            files += 1
        if progress:
            progress(done, len(infos))
    return files, size


def _extract_one(opened: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> int:
    """Write one entry. It may not grow beyond the size that it declares."""
    size = 0
    with path.open("xb") as file:
        for chunk in _chunks(opened, info):
            size += len(chunk)
            if size > info.file_size:
                raise UnsafeArchiveError(
                    f"the archive's entry {info.filename!r} is larger than it says", entry=info.filename
                )
            file.write(chunk)
    moment = mtime_ns(info)
    os.utime(path, ns=(moment, moment))
    return size


def _chunks(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    """An entry's bytes, piece by piece.

    Raises:
        ArchiveError: it is damaged, encrypted, or compressed in a way that is not known here.
    """
    wary = copy.copy(info)
    wary.file_size += 1  # else zipfile stops at the declared size, whatever follows
    try:
        with reading(info.filename), opened.open(wary) as source:
            while chunk := source.read(_CHUNK):
                yield chunk
    except OSError as error:
        raise ArchiveError(f"the archive's entry {info.filename!r} {error.strerror}") from error
