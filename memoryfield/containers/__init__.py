"""Where a field's bytes live: a folder, or a zip read in place."""

from __future__ import annotations

from pathlib import Path

from ..errors import FieldNotFoundError
from .base import Container, Entry, Skipped
from .limits import DEFAULT_LIMITS, Limits

__all__ = ["DEFAULT_LIMITS", "Container", "Entry", "Limits", "Skipped", "open_container"]


def open_container(location: str | Path, limits: Limits = DEFAULT_LIMITS, *, strict: bool = True) -> Container:
    """The container at a location: a folder, or a zip within the limits.

    Args:
        strict: refuse an archive that is not safe; only what reports on archives opens others.

    Raises:
        FieldNotFoundError: nothing is there, or something that is neither.
        ArchiveError: a file that is no readable zip.
        UnsafeArchiveError: an archive that is refused, and why.
    """
    path = Path(location)
    if path.is_dir():
        from .directory import DirectoryContainer

        return DirectoryContainer(path)
    if path.is_file():
        from .archive import ArchiveContainer

        return ArchiveContainer(path, limits, strict=strict)
    raise FieldNotFoundError(
        f"no folder or archive at {str(location)!r}", hint="`memoryfield create PATH` makes a new field."
    )
