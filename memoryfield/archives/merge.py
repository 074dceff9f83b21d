"""One field merged into another: everything or nothing, and never a choice that nobody made."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import names
from ..containers import Container
from ..containers.base import require_writable
from ..containers.contents import counting, total
from ..containers.directory import DirectoryContainer, changing
from ..errors import FieldNotFoundError, UsageError
from ..field import Field, container_of
from ..page import Page, with_keys
from .deciding import Conflict, Decision, Side, Step, Strategy, copied, decide

if TYPE_CHECKING:
    from ..containers.journal import Changes

Progress = Callable[[int, int], None]
PROGRESS_EACH = 500


@dataclass
class Merged:
    """What a merge did, or with `dry_run` would do. Names are those in the field.

    As long as a conflict is open, nothing was `written`.
    """

    field: str
    source: str
    written: bool = False
    same: int = 0
    """Files that both sides have alike."""
    added: list[str] = dataclasses.field(default_factory=list)
    taken: list[str] = dataclasses.field(default_factory=list)
    """Their bytes are the source's now."""
    kept: list[str] = dataclasses.field(default_factory=list)
    """They differ from the source's, and stay."""
    removed: list[str] = dataclasses.field(default_factory=list)
    """The source has deleted them, and they were unchanged here."""
    stay_deleted: list[str] = dataclasses.field(default_factory=list)
    """They were deleted here, and are unchanged there."""
    renamed: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    """Old and new names of pages that the source has renamed."""
    conflicts: list[Conflict] = dataclasses.field(default_factory=list)
    """The open ones."""
    resolved: list[Conflict] = dataclasses.field(default_factory=list)
    """Those that the strategy has decided."""
    notes: list[str] = dataclasses.field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        lists = ("added", "taken", "kept", "removed", "stay_deleted")
        return {
            "field": self.field,
            "source": self.source,
            "written": self.written,
            "same": self.same,
            **{name: getattr(self, name) for name in lists},
            "renamed": [{"old_name": old, "filename": new} for old, new in self.renamed],
            "conflicts": [conflict.to_dict() for conflict in self.conflicts],
            "resolved": [conflict.to_dict() for conflict in self.resolved],
            "notes": self.notes,
        }


def merge(
    field: Field,
    source: Container | Field,
    *,
    base: Container | Field | None = None,
    resolve: Strategy = "",
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Merged:
    """Take the pages and other files of a source into a field; its indexes are not copied.

    New files are added. A page that is on both sides, by its uuid or by its name, and differs, is a
    conflict, unless a common ancestor tells that one side alone has changed, renamed or deleted it.
    As long as a conflict is open, nothing is written. Killed at any moment, the field is as before or
    as after.

    Args:
        base: a common ancestor of both: what the source was when it was taken from here, or the other way round.
        resolve: what becomes of conflicts. `ours` and `theirs` win; so does the `newer` one by `updated`;
            of `both`, theirs gets a free name.
        dry_run: only tell what would be done.

    Raises:
        ReadOnlyError: the field cannot be written.
        UsageError: the source is the field itself, or has no pages.
        PageConflictError: a file was changed meanwhile by something else; nothing is written.
        OSError: a file cannot be read, or the disk is full; nothing is written.
    """
    ours, theirs = field.container, container_of(source)
    before = None if base is None else container_of(base)
    if not dry_run:
        require_writable(ours)
    _check(ours, theirs, before)
    merged = Merged(field.name, theirs.name)
    with changing(ours, dry_run=dry_run) as changes:
        decision, here, there = _decided(ours, theirs, before, resolve, progress)
        _respell(decision.steps, here)
        _report(decision, there, merged)
        if changes is not None and not merged.conflicts:
            _stage(decision.steps, here, there, changes, progress)
            merged.written = True
    if merged.written:
        merged.notes += _follow(ours, merged)
    return merged


def _check(ours: Container, theirs: Container, base: Container | None) -> None:
    if ours.location.samefile(theirs.location):
        raise UsageError(f"{str(theirs.location)!r} is the field itself", hint="Name another one to merge into it.")
    for container in filter(None, (theirs, base)):
        if not any(names.is_page(entry.name) for entry in container.entries()):
            raise FieldNotFoundError(f"{str(container.location)!r} has no pages", hint="Is it the right place?")


def _decided(
    ours: Container, theirs: Container, base: Container | None, resolve: Strategy, progress: Progress | None
) -> tuple[Decision, Side, Side]:
    containers = [ours, theirs, *([base] if base else [])]
    done = counting(total(*containers), progress, PROGRESS_EACH, last=True)
    here, there, *before = (Side(container, done) for container in containers)
    return decide(here, there, before[0] if before else None, resolve, _blocked(ours)), here, there


def _blocked(container: Container) -> dict[str, str]:
    """Names in the field, folded, that no file can get, or whose file cannot be changed, and why."""
    blocked = {
        names.folded(name): f"has a name that something here has, which {why}" for name, why in container.skipped()
    }
    if isinstance(container, DirectoryContainer):
        with os.scandir(container.location) as listing:
            links = [item.name for item in listing if item.is_symlink()]
        for name in links:
            blocked.setdefault(names.folded(name), "is a link here, and what it leads to is left alone")
    return blocked


def _respell(steps: list[Step], ours: Side) -> None:
    """A name that differs from that of a file which goes by capitals alone is spelled as that was.

    Else a file system that does not tell them apart would first store the one and then delete it.
    """
    staying = {step.name for step in steps}
    going = {names.folded(name): name for name in ours.files if name not in staying}
    for step in steps:
        if step.name and not step.keeps_name and (spelled := going.get(names.folded(step.name))):
            step.name = spelled


def _report(decision: Decision, theirs: Side, merged: Merged) -> None:
    """Tell what becomes of each page."""
    for step in decision.steps:
        if conflict := step.conflict:
            (merged.resolved if conflict.decided else merged.conflicts).append(conflict)
        _report_step(step, merged)
    replaced = set(merged.removed) & set(merged.added)
    merged.taken += replaced
    merged.added = [name for name in merged.added if name not in replaced]
    merged.removed = [name for name in merged.removed if name not in replaced]
    for found in (merged.added, merged.taken, merged.kept, merged.removed, merged.stay_deleted, merged.renamed):
        found.sort()
    merged.notes += decision.notes
    for name in filter(names.is_page, merged.added):
        if not names.is_legal_page_name(name):
            merged.notes.append(f"{name} is no legal name for a page: `memoryfield validate --fix` gives it one")
    for name, reason in theirs.container.skipped():
        if not names.is_debris(name):
            merged.notes.append(f"left out: {name} {reason}")


def _report_step(step: Step, merged: Merged) -> None:
    ours, theirs, name = step.ours, step.theirs, step.name
    if step.is_open:
        return
    if ours and not name:
        merged.removed.append(ours.name)
    elif ours and theirs:
        if name != ours.name:
            merged.renamed.append((ours.name, name))
        if ours.sha256 == theirs.sha256:
            merged.same += 1
        else:
            (merged.taken if step.take else merged.kept).append(name)
    elif theirs and name:
        merged.added.append(name)
    elif theirs and step.base and not step.conflict:
        merged.stay_deleted.append(theirs.name)


def _stage(steps: list[Step], ours: Side, theirs: Side, changes: Changes, progress: Progress | None) -> None:
    """Note all changes of files."""
    moving = [step for step in steps if step.name and not step.is_as_it_was]
    done = counting(len(moving), progress, PROGRESS_EACH, last=True)
    staying = {step.name for step in steps}
    for step in moving:
        raw = _bytes(step, ours, theirs)
        before = ours.files[step.name].sha256 if step.name in ours.files else ""
        if hashlib.sha256(raw).hexdigest() != before:
            changes.put(step.name, raw, before)
        if done:
            done()
    for name, file in ours.files.items():
        if name not in staying:
            changes.delete(name, file.sha256)


def _bytes(step: Step, ours: Side, theirs: Side) -> bytes:
    """What a page holds afterwards. The uuid that it has here stays (F-12), unless theirs has another."""
    if not step.take or step.theirs is None:
        assert step.ours is not None
        return ours.read(step.ours)
    raw = theirs.read(step.theirs)
    if step.copy:
        return copied(Page(step.theirs.name, raw), theirs.container.name, step.new_uuid) or raw
    if step.ours and step.ours.uuid and not step.theirs.uuid:
        return with_keys(Page(step.theirs.name, raw), uuid=step.ours.uuid) or raw
    return raw


def _follow(container: Container, merged: Merged) -> list[str]:
    """Let the indexes follow what was deleted and renamed; what they cannot know yet is said."""
    from ..index.status import follow_deletions, follow_renames

    notes: list[str] = []
    if removed := list(filter(names.is_page, merged.removed)):
        notes += follow_deletions(container, removed)
    if renamed := {old: new for old, new in merged.renamed if names.is_page(old)}:
        notes += follow_renames(container, renamed)
    new = sum(map(names.is_page, (*merged.added, *merged.taken)))
    if new and any(map(names.is_index, container.names())):
        notes.append(f"not embedded yet: {new:,} of the pages; `memoryfield embed` does it")
    return notes
