"""Where a field's bytes live: a folder, or a zip read in place; and by which name it goes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import FieldNotFoundError
from ..names import is_field_name
from .base import Container, Entry, Skipped
from .limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from .archive import ArchiveContainer

__all__ = [
    "DEFAULT_LIMITS",
    "Container",
    "Entry",
    "Limits",
    "Skipped",
    "is_name",
    "open_archive",
    "open_container",
    "place_of",
]


def open_container(location: str | Path, limits: Limits = DEFAULT_LIMITS, *, strict: bool = True) -> Container:
    """The container at a location: a folder, or a zip within the limits, or what a name leads to.

    A plain word that is the name of a field (see `registry`) means that field, and no folder of this name here:
    else whoever puts one there could take the place of what was pinned. `./word`, or a `Path`, means the folder.

    Args:
        strict: refuse an archive that is not safe; only what reports on archives opens others.

    Raises:
        FieldNotFoundError: nothing is there, or something that is neither.
        ArchiveError: a file that is no readable zip.
        UnsafeArchiveError: an archive that is refused, and why.
        HashMismatchError: the archive of a name is not the one that was pinned.
    """
    if isinstance(location, str) and is_field_name(location):
        from . import registry

        if named := registry.find(location):
            container = registry.open_named(named, limits, strict=strict)
            if os.path.isdir(location) and not os.path.samefile(location, container.location):  # noqa: PTH112, PTH121
                note = f"{location!r} is the field of this name at {named.shown}; ./{location} is the folder"
                container.notes = [*container.notes, note]
            return container
    path = Path(location)
    if path.is_dir():
        from .directory import DirectoryContainer

        return DirectoryContainer(path)
    if path.is_file():
        from .archive import ArchiveContainer

        return ArchiveContainer(path, limits, strict=strict)
    raise FieldNotFoundError(f"no folder or archive at {str(location)!r}", hint=_hint_for(location))


def _hint_for(location: str | Path) -> str:
    """What to do where nothing is: at a URL, at what may be meant as a name, at a path."""
    text = str(location)
    if text.startswith(("https:", "http:")):
        return "`memoryfield add NAME URL` fetches an archive, and names and pins it."
    if isinstance(location, str) and is_field_name(location):
        from . import registry

        if hint := registry.hint_for(location):
            return hint
    return "Is the path right?" if text.endswith(".zip") else "`memoryfield create PATH` makes a new field."


def open_archive(location: str | Path, limits: Limits = DEFAULT_LIMITS) -> ArchiveContainer:
    """The archive at a location, or of a name. Raises what `open_container` does, and for a folder, too:

    Raises:
        FieldNotFoundError: it is a folder.
    """
    from .archive import ArchiveContainer

    container = open_container(location, limits)
    if isinstance(container, ArchiveContainer):
        return container
    container.close()
    raise FieldNotFoundError(f"{str(location)!r} is a folder, and no archive")


def is_name(location: str | Path) -> bool:
    """Whether it is the name of a field, and not a path."""
    if not isinstance(location, str) or not is_field_name(location):
        return False
    from . import registry

    return registry.find(location) is not None


def place_of(location: str | Path) -> str:
    """What is the same for two locations of one field: its name, else its path."""
    return f"name:{location}" if is_name(location) else str(Path(location).resolve())
