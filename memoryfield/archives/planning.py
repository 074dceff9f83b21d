"""What goes into an archive of a field, what stays out and why; before anything is written."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import names
from ..containers import Container, Entry, Skipped
from ..containers.base import FOLDER
from ..dates import iso_time
from ..errors import RefusedError, UsageError
from ..index.sync import fault_of
from ..page import Page
from ..validation.report import Fault
from ..validation.rules import Musts, unread_pages
from .indexing import Candidates, candidates, missing_in, why_incomplete
from .zipping import entry_seconds

if TYPE_CHECKING:
    from ..field import Field


class Listing(NamedTuple):
    """The files of a field that are packed, sorted by name; what stays out, and why; pages that nobody can read."""

    entries: list[Entry]
    indexes: Candidates
    left_out: list[tuple[str, str]]
    unread: list[Fault]

    def pages(self) -> set[str]:
        """The names of the pages."""
        return {entry.name for entry in self.entries if names.is_page(entry.name)}


def listing(container: Container, models: Sequence[str] | None, scratch: Path) -> Listing:
    """What would be packed. `models` and `scratch` are those of `candidates`.

    Raises:
        UsageError: the field has no pages, or no index of a wanted model.
        RefusedError: two names that are one on many systems.
    """
    skipped = container.skipped()
    found = sorted(container.entries(), key=lambda entry: entry.name)
    indexes = candidates(container, [entry.name for entry in found if names.is_index(entry.name)], models, scratch)
    left_out = dict(_skipped(container, skipped)) | dict(indexes.left_out)
    left_out |= {entry.name: reason for entry in found if (reason := _reason(entry.name))}
    entries = [entry for entry in found if entry.name not in left_out]
    _refuse_one_name(entries)
    if not any(names.is_page(entry.name) for entry in entries):
        raise UsageError(f"the field {container.name!r} has no pages to pack")
    return Listing(entries, indexes, sorted(left_out.items()), unread_pages(skipped))


def _reason(name: str) -> str:
    """Why a file of this name stays out, or nothing."""
    if names.is_debris(name):
        return "begins with a dot" if name.startswith(".") else "is no part of a field"
    return "belongs to an index at work" if names.is_journal(name) else ""


def _skipped(container: Container, skipped: Iterable[Skipped]) -> Iterable[tuple[str, str]]:
    """What is no file of the field; of a folder, also that it holds pages."""
    nested = {path.split("/", 1)[0]: path for path in container.nested_pages()}
    for item in skipped:
        page = nested.get(item.name) if item.reason == FOLDER else None
        yield item.name, f"{item.reason}, where nobody reads pages ({page})" if page else item.reason


def _refuse_one_name(entries: list[Entry]) -> None:
    """Refuse two names that some file systems take for one. A plain page's name is what it is folded to."""
    plain = {entry.name for entry in entries if names.plainly_a_page(entry.name)}
    folded: dict[str, str] = {}
    for entry in entries:
        if entry.name in plain:
            continue
        key = names.folded(entry.name)
        other = folded.setdefault(key, entry.name)
        if other == entry.name and key in plain:
            other = key
        if other != entry.name:
            raise RefusedError(
                f"{other} and {entry.name} would be one file on many systems", hint="Rename one of them."
            )


class Planned(NamedTuple):
    """A file that would be packed: its size in bytes, and the time of its entry in seconds since 1970."""

    name: str
    kind: str
    """`page`, `file` or `index`."""
    bytes: int
    seconds: int

    @property
    def time(self) -> str:
        """The time in RFC 3339."""
        return iso_time(self.seconds * 1_000_000_000).replace(".000000", "")

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"name": self.name, "kind": self.kind, "bytes": self.bytes, "time": self.time}


@dataclass(frozen=True, slots=True)
class Plan:
    """What `pack` would do: an index's size is that of the one that is there, not of the one that is made."""

    files: list[Planned] = dataclasses.field(default_factory=list)
    left_out: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    faults: list[Fault] = dataclasses.field(default_factory=list)
    """What breaks a MUST: with any, `pack` refuses unless it is forced."""
    notes: list[str] = dataclasses.field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "files": [file.to_dict() for file in self.files],
            "left_out": [{"name": name, "reason": reason} for name, reason in self.left_out],
            "faults": [fault.to_dict() for fault in self.faults],
            "notes": self.notes,
        }


def plan(field: Field, *, models: Sequence[str] | None = None) -> Plan:
    """What `pack` would put into an archive. Nothing is written, nothing is embedded.

    Args:
        models: the indexes that are wanted, by code or spec; None: all.

    Raises:
        UsageError, RefusedError: as `pack` does, for what cannot be packed at all.
    """
    container = field.container
    with tempfile.TemporaryDirectory() as scratch:
        listed = listing(container, models, Path(scratch))
        files, hashes, faults = _looked_at(container, listed)
        left_out, notes = list(listed.left_out), []
        for name, lived in listed.indexes.indexes.items():
            missing = missing_in(lived, hashes)
            if missing and (reason := why_incomplete(container, lived, missing)):
                left_out.append((name, reason))
                files = [file for file in files if file.name != name]
            elif missing:
                notes.append(f"{len(missing):,} pages would be embedded for {name}")
    return Plan(files, sorted(left_out), sorted(faults), notes)


def _looked_at(container: Container, listed: Listing) -> tuple[list[Planned], dict[str, bytes], list[Fault]]:
    """Each file; the hashes of the pages that could have a vector; and what breaks a MUST."""
    files: list[Planned] = []
    hashes: dict[str, bytes] = {}
    faults = list(listed.unread)
    musts = Musts(listed.pages())
    for entry in listed.entries:
        kind, seconds = "file", entry_seconds(None)
        if entry.name in listed.indexes.indexes:
            kind = "index"
        elif names.is_page(entry.name):
            page = Page(entry.name, container.read(entry.name))
            kind, seconds = "page", page_seconds(page)
            faults += musts.look(page)
            if fault_of(page) is None:
                hashes[entry.name] = bytes.fromhex(page.sha256)
        files.append(Planned(entry.name, kind, entry.size, seconds))
    return files, hashes, faults


def page_seconds(page: Page) -> int:
    """The time of a page's entry: of `updated`, else of `created`, else 1980 (A-7)."""
    moment = page.updated_ns
    return entry_seconds(page.created_ns if moment is None else moment)
