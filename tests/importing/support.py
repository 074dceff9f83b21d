"""Sources made for a test, and fields to import them into."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memoryfield import Field
from memoryfield.importing import Imported, import_source
from memoryfield.page import Page

OLD = 1_700_000_000
"""2023-11-14T22:13:20Z, the time of every file that is made here."""


def make(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """A folder with these files in it, all of one time."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        os.utime(place, (OLD, OLD))
    return folder


def make_lines(file: Path, *lines: object) -> Path:
    """A file of JSON lines."""
    text = "".join((line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)) + "\n" for line in lines)
    make(file.parent, {file.name: text})
    return file


def bring(field: Path, source: Path, **options: Any) -> Imported:
    """Import a source into a field, which is made if it is not there."""
    field.mkdir(exist_ok=True)
    with Field.open(field) as opened:
        return import_source(opened, source, **options)


def pages(field: Path) -> dict[str, Page]:
    """The pages of a field, by their names."""
    with Field.open(field) as opened:
        return {page.filename: page for page in opened.pages()}


def left(imported: Imported, kind: str) -> list[tuple[str, str]]:
    """Place and reason of what was left, of one kind."""
    return [(item.place, item.reason) for item in imported.left if item.kind == kind]


def faults(field: Path) -> list[str]:
    """What `validate` says of a field, notices aside."""
    with Field.open(field) as opened:
        return [str(fault) for fault in opened.validate() if fault.severity != "notice"]
