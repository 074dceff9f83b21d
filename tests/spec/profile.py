"""Which requirements of the reproducible profile (A-6 to A-10) an archive breaks; and the content hash (A-11)."""

from __future__ import annotations

import datetime
import hashlib
import re
import sqlite3
import stat
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from memoryfield.page import Page

_DEBRIS = re.compile(r".*\.sync-conflict-.*|.*~|\..*|(?i:desktop\.ini|thumbs\.db)")


def broken_by_archive(location: Path, scratch: Path) -> set[str]:
    """The requirements of the profile that an archive breaks; `scratch` is a folder for its index."""
    with zipfile.ZipFile(location) as archive:
        infos = archive.infolist()
        broken = set(_order(archive))
        for info in infos:
            broken |= set(_entry(info, archive.read(info)))
            if info.filename.endswith(".sqlite3"):
                file = Path(archive.extract(info, scratch))
                broken |= set(_index(file, {one.filename: _time(one.date_time) for one in infos}))
    return broken


def _order(archive: zipfile.ZipFile) -> Iterator[str]:
    infos = archive.infolist()
    names = [info.orig_filename.encode() for info in infos]
    unflagged = any(not info.orig_filename.isascii() and not info.flag_bits & 0x800 for info in infos)
    if names != sorted(names) or unflagged or archive.comment or any(info.extra or info.comment for info in infos):
        yield "A-6"


def _entry(info: zipfile.ZipInfo, content: bytes) -> Iterator[str]:
    name = info.filename
    if "/" in name or _DEBRIS.fullmatch(name):
        yield "A-9"
        return
    if info.create_system != 3 or info.external_attr >> 16 != stat.S_IFREG | 0o644:
        yield "A-8"
    if _time(info.date_time) != _wanted(name, content):
        yield "A-7"


def _time(parts: tuple[int, int, int, int, int, int]) -> datetime.datetime:
    return datetime.datetime(*parts, tzinfo=datetime.UTC)


def _wanted(name: str, content: bytes) -> datetime.datetime:
    """The time that an entry must have."""
    first = datetime.datetime(1980, 1, 1, tzinfo=datetime.UTC)
    page = Page(name, content)
    text = page.updated or page.created
    if not name.endswith(".md") or not text:
        return first
    moment = datetime.datetime.fromisoformat(text).astimezone(datetime.UTC)
    return max(first, moment.replace(second=moment.second // 2 * 2, microsecond=0))


def _index(file: Path, times: dict[str, datetime.datetime]) -> Iterator[str]:
    with closing(sqlite3.connect(file)) as connection:
        rows = connection.execute("SELECT filename, last_modified FROM pages ORDER BY rowid").fetchall()
        free = connection.execute("PRAGMA freelist_count").fetchone()[0]
    names = [name.encode() for name, _ in rows]
    modified = {name: datetime.datetime.fromisoformat(time) for name, time in rows}
    if names != sorted(names) or free or any(times[name] != time for name, time in modified.items()):
        yield "A-10"


def content_hash(folder: Path) -> str:
    """The content hash of a folder without an index."""
    files = (file for file in folder.iterdir() if file.is_file() and not _DEBRIS.fullmatch(file.name))
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    return "mf1:" + hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()
