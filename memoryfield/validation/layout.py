"""Rules about the files of a field: what lies where, under which name; of an archive, its entries."""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator

from .. import names
from ..containers import Container
from ..containers.archive import ArchiveContainer
from ..containers.base import FOLDER, LINK_IN_ARCHIVE, LINK_OUT
from .report import Fault

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1
_DRIVE = re.compile(r"[A-Za-z]:")


def layout(container: Container, pages: int) -> Iterator[Fault]:
    """C-1, C-2, C-8, P-12, S-1, and the rules for archives."""
    nested = sorted(container.nested_pages())
    if not pages:
        yield Fault("", 0, 0, "C-1", "a field must hold at least one page")
    if nested and not pages and isinstance(container, ArchiveContainer):
        yield Fault("", 0, 0, "A-3", f"the pages lie in a folder inside the archive ({nested[0]})")
    yield from (Fault(path, 0, 0, "C-2", "lies in a sub-folder, where nobody reads it") for path in nested)
    yield from _same_names(container.names())
    yield from _skipped(container)
    yield from _names_of_archive(container)
    yield from odd_entries(container)


def _same_names(given: list[str]) -> Iterator[Fault]:
    """C-8: names that some file systems take for one."""
    seen: dict[str, str] = {}
    for name in sorted(name for name in given if not names.is_debris(name)):
        first = seen.setdefault(names.folded(name), name)
        if first != name:
            yield Fault(name, 0, 0, "C-8", f"differs from {first} in capitals or normal form only")


def _skipped(container: Container) -> Iterator[Fault]:
    """S-1, P-2 and P-12: what is there and is not read."""
    for item in container.skipped():
        if item.reason == FOLDER:
            continue
        if item.reason in (LINK_OUT, LINK_IN_ARCHIVE) or _leads_out(item.name):
            yield Fault(item.name, 0, 0, "S-1", f"{item.reason}; it is not read")
        elif names.is_page(item.name):
            requirement = "P-2" if names.plain_name_fault(item.name) else "P-12"
            yield Fault(item.name, 0, 0, requirement, f"{item.reason}; it is not read")


def _leads_out(name: str) -> bool:
    """Whether some program may take a name for one of a file elsewhere."""
    return name.startswith("/") or "\\" in name or _DRIVE.match(name) is not None or ".." in name.split("/")


def _names_of_archive(container: Container) -> Iterator[Fault]:
    """A-2 and A-5."""
    if not isinstance(container, ArchiveContainer):
        return
    if not container.location.name.endswith(names.ARCHIVE_SUFFIX):
        yield Fault("", 0, 0, "A-2", f"{container.location.name} should be named NAME{names.ARCHIVE_SUFFIX}")
    for name, count in Counter(name for name, _ in container.infos()).items():
        if count > 1:
            yield Fault(name, 0, 0, "A-5", f"{count} entries of the archive have this name")


def odd_entries(container: Container) -> Iterator[Fault]:
    """A-4: entries of an archive that most programs cannot read."""
    for name, info in container.infos() if isinstance(container, ArchiveContainer) else ():
        if info.flag_bits & _ENCRYPTED:
            yield Fault(name, 0, 0, "A-4", "is encrypted")
        elif info.compress_type not in _METHODS:
            message = f"is packed with method {info.compress_type}; only deflate is read everywhere"
            yield Fault(name, 0, 0, "A-4", message)
