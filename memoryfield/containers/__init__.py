"""Where a field's bytes live: a folder, or a zip read in place."""

from __future__ import annotations

from pathlib import Path

from ..errors import FieldNotFoundError
from .base import Container, Entry, Skipped

__all__ = ["Container", "Entry", "Skipped", "open_container"]


def open_container(location: str | Path) -> Container:
    """The container at a location: a folder, or a zip.

    Raises:
        FieldNotFoundError: nothing is there, or something that is neither.
        ArchiveError: a file that is no readable zip.
    """
    path = Path(location)
    if path.is_dir():
        from .directory import DirectoryContainer

        return DirectoryContainer(path)
    if path.is_file():
        from .archive import ArchiveContainer

        return ArchiveContainer(path)
    raise FieldNotFoundError(
        f"no folder or archive at {str(location)!r}", hint="`memoryfield create PATH` makes a new field."
    )
