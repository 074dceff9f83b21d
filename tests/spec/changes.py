"""Which requirements a producer broke: a judge of what a field was before, and what it is after."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from memoryfield.page import Page

from .exchanges import KNOWN

_SOURCE = re.compile(r"https?://[^\s)>]+")


def broken_by_change(before: Path, after: Path, renamed: dict[str, str]) -> set[str]:
    """The requirements that a change breaks.

    Args:
        before, after: the field's files.
        renamed: new names by old ones.
    """
    old, new = _pages(before), _pages(after)
    kept = [(page, new[renamed.get(name, name)]) for name, page in old.items() if renamed.get(name, name) in new]
    deleted = old.keys() - new.keys() - renamed.keys()
    broken = {requirement for pair in kept for requirement in _edited(*pair)}
    broken |= set(_split(old, new))
    for index in after.glob("*.sqlite3"):
        broken |= set(_index(before / index.name, index, deleted))
    return broken


def _pages(folder: Path) -> dict[str, Page]:
    return {file.name: Page(file.name, file.read_bytes()) for file in folder.glob("*.md")}


def _edited(old: Page, new: Page) -> Iterator[str]:
    if old.uuid and new.uuid != old.uuid:
        yield "F-12"
    unknown = {key: value for key, value in old.frontmatter.items() if key not in KNOWN}
    if not old.problems and not new.frontmatter.items() >= unknown.items():
        yield "F-17"
    if old.problems and not new.raw.startswith(old.raw[: len(old.raw) - len(old.body.encode())]):
        yield "P-11"


def _split(old: dict[str, Page], new: dict[str, Page]) -> Iterator[str]:
    parts = [page for name, page in new.items() if name not in old]
    for page in old.values():
        if page.size <= 8192:
            continue
        sources = set(_SOURCE.findall(page.text))
        uuids = {part.uuid for part in parts} - {page.uuid, ""}
        whole = len(parts) > 1 and all(
            part.size <= 8192 and sources <= set(_SOURCE.findall(part.text)) for part in parts
        )
        if not whole or len(uuids) < len(parts):
            yield "P-6"


def _index(before: Path, after: Path, deleted: set[str]) -> Iterator[str]:
    old, new = _tables(before), _tables(after)
    if any(name in row for name in deleted for rows in new.values() for row in rows):
        yield "X-13"
    if any(name.encode() in after.read_bytes() for name in deleted):
        yield "S-12"
    if any(rows != old.get(name) for name, rows in new.items() if name in _triggered(after)):
        yield "S-10"
    vectors = {(row[0], row[3]): row[4] for row in old["pages"]}
    if any(vectors.get((row[0], row[3]), row[4]) != row[4] for row in new["pages"]):
        yield "T-4"


def _tables(file: Path) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(file)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {name: connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid').fetchall() for name in names}


def _triggered(file: Path) -> set[str]:
    """The tables into which triggers write."""
    with closing(sqlite3.connect(file)) as connection:
        triggers = [row[0] for row in connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
    return {name for trigger in triggers for name in re.findall(r"INSERT INTO (\w+)", trigger)}
