"""Rules about the files of a field: what lies where, under which name; of an archive, its entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .. import names
from ..containers import Container, Skipped
from ..containers.archive import ArchiveContainer
from ..containers.base import FOLDER, LINK_OUT
from ..containers.zipformat import DEFLATED, STORED
from .report import Fault


def layout(container: Container, pages: int) -> Iterator[Fault]:
    """C-1, C-2, C-8, P-12, S-1, and the rules for archives."""
    nested = sorted(container.nested_pages())
    if not pages:
        yield Fault("", 0, 0, "C-1", "a field must hold at least one page")
    if isinstance(container, ArchiveContainer) and (container.root or (nested and not pages)):
        yield Fault("", 0, 0, "A-3", f"the pages lie in a folder inside the archive ({container.root or nested[0]})")
    yield from (Fault(path, 0, 0, "C-2", "lies in a sub-folder, where nobody reads it") for path in nested)
    if isinstance(container, ArchiveContainer):
        yield from _archive(container)
        return
    yield from _same_names(container.names())
    yield from skipped(container.skipped())


def _same_names(given: list[str]) -> Iterator[Fault]:
    """C-8: names that some file systems take for one."""
    seen: dict[str, str] = {}
    for name in sorted(name for name in given if not names.is_debris(name)):
        first = seen.setdefault(names.folded(name), name)
        if first != name:
            yield Fault(name, 0, 0, "C-8", f"differs from {first} in capitals or normal form only")


def skipped(items: Iterable[Skipped]) -> Iterator[Fault]:
    """S-1, P-2 and P-12: what is in a folder and is not read."""
    for item in items:
        if item.reason == FOLDER:
            continue
        if item.reason == LINK_OUT or "\\" in item.name:
            yield Fault(item.name, 0, 0, "S-1", f"{item.reason}; it is not read")
        elif names.is_page(item.name):
            requirement = "P-2" if names.plain_name_fault(item.name) else "P-12"
            yield Fault(item.name, 0, 0, requirement, f"{item.reason}; it is not read")


def _archive(container: ArchiveContainer) -> Iterator[Fault]:
    """A-2, A-4, and what the gate found."""
    if not container.location.name.endswith(names.ARCHIVE_SUFFIX):
        yield Fault("", 0, 0, "A-2", f"{container.location.name} should be named NAME{names.ARCHIVE_SUFFIX}")
    yield from gate_faults(container)
    for name, item in container.infos():
        if item.method not in (STORED, DEFLATED) and not item.blocked:
            message = f"is packed with method {item.method}; only deflate is read everywhere"
            yield Fault(name, 0, 0, "A-4", message)


def gate_faults(container: ArchiveContainer) -> Iterator[Fault]:
    """A-4, A-5, A-12, A-13, A-14, S-1: that for which others refuse an archive; once for each entry."""
    told: set[tuple[str | None, str]] = set()
    for finding in container.findings:
        if finding[:2] not in told:
            told.add(finding[:2])
            message = f"{finding.message}. {finding.hint}" if finding.hint else finding.message
            yield Fault((finding.entry or "").removeprefix(container.root), 0, 0, finding.requirement, message)


def unreadable(container: Container) -> set[str]:
    """The files of an archive of which the rules above tell, and that others therefore pass over."""
    if not isinstance(container, ArchiveContainer):
        return set()
    odd = {name for name, item in container.infos() if item.method not in (STORED, DEFLATED)}
    return odd | container.blocked().keys()


def unread(container: Container) -> list[str]:
    """A sentence on the pages of an archive that could not be looked at, if there are any."""
    if not isinstance(container, ArchiveContainer):
        return []
    if not container.is_readable:
        return ["no page was read: what the archive lists is not certain, or too much"]
    count = sum(map(names.is_page, container.blocked()))
    return [f"not read: {count:,} of the pages, which cannot be trusted, or are too large"] if count else []
