"""What becomes of each page when one field is merged into another: by identity, by a common ancestor, by a strategy."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, NamedTuple

from .. import names
from ..containers import Container
from ..containers.contents import files
from ..errors import PageConflictError
from ..page import Page, with_keys

Strategy = Literal["", "ours", "theirs", "newer", "both"]
Kind = Literal["changed", "two-pages", "two-names", "deleted-here", "deleted-there", "name", "uuid"]

ORIGIN = "merged-from"
"""The key of a copy's frontmatter that says which page of which field it was."""


class File(NamedTuple):
    """A page or another file of one side. `sha256` in hexadecimal; `uuid` is empty for what has none."""

    name: str
    sha256: str
    uuid: str = ""


class Side:
    """The pages and other files of a field, each read once; no text is kept.

    Raises:
        OSError: a file cannot be read.
    """

    def __init__(self, container: Container, progress: Callable[[], None] | None = None) -> None:
        self.container = container
        self.files: dict[str, File] = {}
        self._folded: dict[str, str] = {}
        self._uuids: dict[str, list[str]] = {}
        for name, raw in files(container, done=progress):
            self._look(name, raw)

    def _look(self, name: str, raw: bytes) -> None:
        file = File(name, hashlib.sha256(raw).hexdigest(), Page(name, raw).uuid if names.is_page(name) else "")
        self.files[name] = file
        self._folded.setdefault(names.folded(name), name)
        if file.uuid:
            self._uuids.setdefault(file.uuid, []).append(name)

    def only(self, uuid: str) -> File | None:
        """The page that has this uuid, if it is one and no more."""
        found = self._uuids.get(uuid, ())
        return self.files[found[0]] if len(found) == 1 else None

    def like(self, name: str) -> File | None:
        """The file of this name, once case and Unicode's normal form are set aside."""
        found = self._folded.get(names.folded(name))
        return self.files[found] if found is not None else None

    def read(self, file: File) -> bytes:
        """A file's bytes, which must be those that were seen.

        Raises:
            PageConflictError: they are not.
        """
        raw = self.container.read(file.name)
        if hashlib.sha256(raw).hexdigest() != file.sha256:
            raise PageConflictError(f"{file.name} of {self.container.name} has changed meanwhile", hint="Try again.")
        return raw

    def page(self, file: File) -> Page:
        """A page as it was seen."""
        return Page(file.name, self.read(file))


class About(NamedTuple):
    """One side of a conflict. `updated` as the page has it."""

    filename: str
    sha256: str
    uuid: str
    updated: str


@dataclass(slots=True)
class Conflict:
    """Two versions, or two pages, of which only one can have a name or a uuid.

    `ours` or `theirs` is None where it was deleted, or where what is in the way is no page. `decided`
    says what a strategy made of it: `ours`, `theirs` or `both`; empty as long as it is open.
    """

    filename: str
    kind: Kind
    reason: str
    ours: About | None
    theirs: About | None
    decided: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        sides = {"ours": self.ours and self.ours._asdict(), "theirs": self.theirs and self.theirs._asdict()}
        facts = {"filename": self.filename, "kind": self.kind, "reason": self.reason, **sides}
        return facts | ({"decided": self.decided} if self.decided else {})


@dataclass(slots=True)
class Step:
    """What becomes of one page: its name afterwards (empty: it is not there), and whose bytes it has.

    It `is_mixed` where each side has bytes of its own. A `copy` is theirs beside ours: with a note of
    its origin, and with `new_uuid` in place of its own if that is set.
    """

    ours: File | None
    theirs: File | None
    base: File | None = None
    name: str = ""
    take: bool = False
    is_mixed: bool = False
    copy: bool = False
    new_uuid: str = ""
    conflict: Conflict | None = None

    @property
    def is_open(self) -> bool:
        return self.conflict is not None and not self.conflict.decided

    @property
    def uuid(self) -> str:
        """The page's uuid afterwards."""
        ours = self.ours.uuid if self.ours else ""
        if self.take and self.theirs:
            return self.new_uuid or self.theirs.uuid or ours
        return ours

    @property
    def keeps_name(self) -> bool:
        return self.ours is not None and self.name == self.ours.name

    @property
    def keeps_uuid(self) -> bool:
        return self.ours is not None and self.uuid == self.ours.uuid

    @property
    def is_as_it_was(self) -> bool:
        return self.keeps_name and not self.take

    def stay(self) -> None:
        """Ours stays as it is; what is only theirs is not taken."""
        self.name, self.take = self.ours.name if self.ours else "", False


def _restlessness(step: Step) -> int:
    """In which order pages get their names: first who stays, so that what arrives clashes with it, not the reverse."""
    if step.is_as_it_was or step.is_open:
        return 0
    return 1 if step.keeps_name else 2 if step.ours else 3


@dataclass
class Decision:
    """All steps, and in plain words what should be known about them."""

    steps: list[Step]
    notes: list[str] = field(default_factory=list)


def decide(ours: Side, theirs: Side, base: Side | None, strategy: Strategy, blocked: dict[str, str]) -> Decision:
    """What becomes of every page and other file of both sides.

    Args:
        base: a common ancestor.
        blocked: the names that cannot be given to a file or taken from one, and why.
    """
    return _Decider(ours, theirs, base, strategy, blocked).decide()


class _Decider:
    def __init__(
        self, ours: Side, theirs: Side, base: Side | None, strategy: Strategy, blocked: dict[str, str]
    ) -> None:
        self._ours, self._theirs, self._base = ours, theirs, base
        self._strategy = strategy
        self._blocked = blocked
        self._notes: list[str] = []
        self._names: dict[str, Step] = {}
        self._uuids: dict[str, Step] = {}
        self._staying: dict[str, str] = {}
        """The names of ours whose bytes stay, by their hashes."""
        self._here = {names.folded(name) for name in ours.container.names()}
        self._listed = self._here.union(map(names.folded, theirs.files))

    def decide(self) -> Decision:
        pairs = _paired(self._ours, self._theirs)
        steps = [Step(pairs.get(file.name), file) for file in self._theirs.files.values()]
        paired = {file.name for file in pairs.values()}
        steps += [Step(file, None) for file in self._ours.files.values() if file.name not in paired]
        copies: list[Step] = []
        for step in steps:
            step.base = self._ancestor(step)
            self._decide_one(step)
            copies += self._resolved(step)
        for step in sorted(steps, key=_restlessness):
            copies += self._placed(step)
        self._staying = {step.ours.sha256: step.name for step in steps if step.ours and step.name and not step.take}
        for copy in copies:
            self._place_copy(copy)
        self._check_all(steps)
        return Decision([*steps, *copies], self._notes)

    def _ancestor(self, step: Step) -> File | None:
        """What a page was in the common ancestor."""
        if self._base is None:
            return None
        for file, side in ((step.ours, self._ours), (step.theirs, self._theirs)):
            if file and side.only(file.uuid) and (found := self._base.only(file.uuid)):
                return found
        for file in filter(None, (step.ours, step.theirs)):
            named = self._base.files.get(file.name) or self._base.like(file.name)
            if named and not _are_two(file, named):
                return named
        return None

    # one page by itself

    def _decide_one(self, step: Step) -> None:
        """What becomes of a page, or a conflict."""
        ours, theirs, base = step.ours, step.theirs, step.base
        if ours and theirs:
            self._decide_pair(step, ours, theirs, base)
        elif theirs and base is None:
            step.name, step.take = theirs.name, True
        elif theirs and theirs != base:
            step.conflict = self._conflict(step, "deleted-here", "was deleted here and changed there")
        elif ours and base and ours != base:
            step.conflict = self._conflict(step, "deleted-there", "was changed here and deleted there")
        elif ours and base is None:
            step.name = ours.name

    def _decide_pair(self, step: Step, ours: File, theirs: File, base: File | None) -> None:
        step.name = self._name(ours, theirs, base)
        step.is_mixed = ours.sha256 != theirs.sha256 and not (base and base.sha256 in (ours.sha256, theirs.sha256))
        step.take = base is not None and base.sha256 == ours.sha256 and not step.is_mixed
        if step.is_mixed and self._was_merged(ours, theirs):
            step.name, step.is_mixed = step.name or ours.name, False
        if not step.name:
            reason = f"is called {theirs.name} there" + (", and differs" if step.is_mixed else "")
            step.conflict = self._conflict(step, "two-names", reason)
        elif step.is_mixed:
            reason = "was changed on both sides" if base else "differs, and nothing tells which side changed it"
            step.conflict = self._conflict(step, "changed", reason)

    def _name(self, ours: File, theirs: File, base: File | None) -> str:
        """A page's name afterwards; empty where the sides have given it different names."""
        was = names.folded(base.name) if base else None
        if names.folded(ours.name) == names.folded(theirs.name):
            if ours.name != theirs.name:
                self._notes.append(f"{theirs.name} there is {ours.name} here")
            return ours.name
        if was == names.folded(ours.name):
            return theirs.name
        if was == names.folded(theirs.name):
            return ours.name
        if base is None and ours.sha256 == theirs.sha256:
            self._notes.append(f"{ours.name} is called {theirs.name} there, and is the same")
            return theirs.name if self._strategy == "theirs" else ours.name
        return ""

    def _was_merged(self, ours: File, theirs: File) -> bool:
        """Whether an earlier merge made one of the other, and neither has changed since."""
        if not (names.is_page(ours.name) and names.is_page(theirs.name)):
            return False
        page, other = self._ours.page(ours), self._theirs.page(theirs)
        return _made_of(page, other) or _made_of(other, page)

    def _resolved(self, step: Step) -> Iterator[Step]:
        """Decide a conflict about one page by the strategy; what is added beside it."""
        conflict = step.conflict
        if conflict is None:
            return
        winner = conflict.decided = self._newer(conflict) if self._strategy == "newer" else self._strategy
        if step.ours and step.theirs and not step.is_mixed:  # about the name alone
            step.name = step.theirs.name if winner == "theirs" else step.ours.name
        elif winner == "theirs":
            step.name, step.take = (step.name if step.ours else "") or (step.theirs.name if step.theirs else ""), True
        elif winner == "both" and step.ours is None and step.theirs:
            step.name, step.take = step.theirs.name, True
        else:
            step.stay()
            if winner == "both" and step.theirs:
                yield Step(None, step.theirs, take=True, copy=True)

    def _newer(self, conflict: Conflict) -> Strategy:
        """Which side is the newer one; none, and said, where that cannot be told."""
        from ..dates import moment_of

        if conflict.kind == "two-pages":  # of which one would be lost
            conflict.reason += ", and neither is a newer version of the other"
            return ""
        ours = moment_of(conflict.ours.updated) if conflict.ours else None
        theirs = moment_of(conflict.theirs.updated) if conflict.theirs else None
        if ours is None or theirs is None:
            conflict.reason += "; `updated` is not there on both sides"
        elif ours == theirs:
            conflict.reason += "; `updated` is the same on both sides"
        else:
            return "ours" if ours > theirs else "theirs"
        return ""

    # pages beside each other

    def _placed(self, step: Step) -> Iterator[Step]:
        """Give a page its name and its uuid, unless another has them; what is added beside it."""
        if step.is_open:
            step.stay()
        elif reason := self._hindrance(step):
            step.conflict = self._conflict(step, "name", reason)
            if self._strategy in ("ours", "both"):
                yield from self._withdrawn(step)
            else:
                step.stay()
        elif found := self._in_the_way(step):
            yield from self._parted(step, *found)
        if step.name:
            self._names.setdefault(names.folded(step.name), step)
            if step.uuid:
                self._uuids.setdefault(step.uuid, step)

    def _hindrance(self, step: Step) -> str:
        """Why a page cannot be changed here, or get its name."""
        if step.is_as_it_was or (step.ours is None and not step.name):
            return ""
        touched = (step.name, step.ours.name if step.ours else "")
        return next((reason for name in touched if (reason := self._blocked.get(names.folded(name), ""))), "")

    def _in_the_way(self, step: Step) -> tuple[Kind, Step] | None:
        """The page that has the name or the uuid already; not where both are of ours, and had it before."""
        other = self._names.get(names.folded(step.name)) if step.name else None
        if other and not (step.keeps_name and other.keeps_name):
            return ("two-pages" if other.name == step.name else "name"), other
        other = self._uuids.get(step.uuid) if step.name and step.uuid else None
        if other and not (step.keeps_uuid and other.keeps_uuid):
            return "uuid", other
        return None

    def _parted(self, step: Step, kind: Kind, other: Step) -> Iterator[Step]:
        """Decide the conflict of what arrives with what is there, by the strategy; what is added beside it."""
        conflict = step.conflict = self._clash(kind, step, other)
        winner = self._newer(conflict) if self._strategy == "newer" else self._strategy
        if winner in ("ours", "both") and step.ours and kind != "uuid" and not step.is_mixed:
            step.name, conflict.decided = step.ours.name, winner
        elif winner in ("ours", "both"):
            yield from self._withdrawn(step)
        elif winner == "theirs" and kind == "two-pages" and step.ours is None and other.theirs is None:
            if self._uuids.get(other.uuid) is other:
                del self._uuids[other.uuid]
            self._names.pop(names.folded(other.name))
            other.name, conflict.decided = "", "theirs"
        if step.is_open:
            step.stay()

    def _clash(self, kind: Kind, step: Step, other: Step) -> Conflict:
        assert step.theirs is not None
        reasons: dict[str, str] = {
            "two-pages": "is another page there than here",
            "name": f"differs from {other.name} by capitals or the form of its accents alone",
            "uuid": f"has the uuid of {other.name}, and is not the same page",
        }
        ours = other.ours and _about(self._ours, other.ours)
        return Conflict(step.theirs.name, kind, reasons[kind], ours, _about(self._theirs, step.theirs))

    def _withdrawn(self, step: Step) -> Iterator[Step]:
        """Leave ours as it is; theirs, if both are wanted, becomes a copy."""
        conflict = step.conflict
        assert conflict is not None
        step.stay()
        conflict.decided = "both" if self._strategy == "both" else "ours"
        differs = step.theirs and not (step.ours and step.ours.sha256 == step.theirs.sha256)
        if conflict.decided == "both" and differs:
            yield Step(None, step.theirs, take=True, copy=True)

    def _place_copy(self, copy: Step) -> None:
        """Give a copy a name and a uuid that are free, unless it was made by an earlier merge."""
        theirs = copy.theirs
        assert theirs is not None
        holder = self._uuids.get(theirs.uuid)
        new_uuid = _derived_uuid(theirs) if holder or not theirs.uuid else ""
        if names.is_page(theirs.name) and self._can_be_noted(theirs, new_uuid):
            copy.copy, copy.new_uuid = True, new_uuid
        else:
            copy.copy = False
        there = holder if holder and self._is_copy(holder, theirs) else self._uuids.get(copy.new_uuid)
        earlier = (there and there.name) or ("" if copy.copy else self._staying.get(theirs.sha256, ""))
        if earlier:
            self._notes.append(f"{theirs.name} is here already, as {earlier}")
        elif holder and not copy.copy:
            reason = f"has the uuid of {holder.name}, and no other can be written into its frontmatter"
            copy.conflict = Conflict(theirs.name, "uuid", reason, None, _about(self._theirs, theirs))
        else:
            self._add_copy(copy, theirs)

    def _is_copy(self, holder: Step, theirs: File) -> bool:
        """Whether an earlier merge has made this page of ours of theirs."""
        if not (holder.ours and not holder.take and names.is_page(theirs.name)):
            return False
        return _made_of(self._ours.page(holder.ours), self._theirs.page(theirs))

    def _can_be_noted(self, theirs: File, new_uuid: str) -> bool:
        return copied(self._theirs.page(theirs), self._theirs.container.name, new_uuid) is not None

    def _add_copy(self, copy: Step, theirs: File) -> None:
        copy.name = self._free_name(theirs.name)
        if not copy.copy and names.is_page(copy.name):
            self._notes.append(
                f"{copy.name} is {theirs.name} byte for byte: nothing can be written into its frontmatter"
            )
        self._names[names.folded(copy.name)] = copy
        if copy.uuid:
            self._uuids[copy.uuid] = copy

    def _free_name(self, name: str) -> str:
        """The name, if it is free here and legal; else one like it that is on neither side."""
        stem, suffix = os.path.splitext(name)  # noqa: PTH122
        if names.is_page(name):
            stem, suffix = names.stem(name), names.PAGE_SUFFIX
            stem = stem if names.is_legal_page_name(stem + suffix) else names.slug(stem)
        own = names.folded(stem + suffix)
        if own not in self._names and own not in self._here:
            return stem + suffix
        others = islice(names.alternatives(stem, suffix), 1, None)
        found = next(candidate for candidate in others if names.folded(candidate) not in self._listed)
        self._listed.add(names.folded(found))
        return found

    def _check_all(self, steps: list[Step]) -> None:
        """Make sure that nobody came back to a name or a uuid that another was given meanwhile."""
        self._names, self._uuids = {}, {}
        for step in sorted(steps, key=_restlessness):
            if found := self._in_the_way(step):
                kind, other = found
                reason = f"cannot be what it is to be beside {other.name}: both would have one {kind.split('-')[-1]}"
                step.conflict = self._conflict(step, kind, reason)
            self._names.setdefault(names.folded(step.name), step)
            self._uuids.setdefault(step.uuid, step)

    def _conflict(self, step: Step, kind: Kind, reason: str) -> Conflict:
        ours = step.ours and _about(self._ours, step.ours)
        theirs = step.theirs and _about(self._theirs, step.theirs)
        file = step.ours or step.theirs
        assert file is not None
        return Conflict(file.name, kind, reason, ours, theirs)


def _paired(ours: Side, theirs: Side) -> dict[str, File]:
    """Which file of theirs is which of ours: by uuid, else by name, else by a name that is nearly the same."""
    found: dict[str, File] = {}
    claimed: set[str] = set()

    def claim(file: File, candidate: File | None) -> None:
        if candidate is None or candidate.name in claimed or _are_two(file, candidate):
            return
        found[file.name] = candidate
        claimed.add(candidate.name)

    for file in theirs.files.values():
        if file.uuid and theirs.only(file.uuid):
            claim(file, ours.only(file.uuid))
    for look in (ours.files.get, ours.like):
        for file in theirs.files.values():
            if file.name not in found:
                claim(file, look(file.name))
    return found


def _are_two(file: File, other: File) -> bool:
    """Whether two files are not one, whatever their names are."""
    two_uuids = bool(file.uuid and other.uuid) and file.uuid != other.uuid
    return two_uuids or names.is_page(file.name) != names.is_page(other.name)


def _made_of(page: Page, original: Page) -> bool:
    """Whether a page is another with a note of its origin, or with the uuid that was kept when it was taken."""
    added = {} if original.uuid else {"uuid": page.uuid}  # in the order of `copied`
    origin = page.frontmatter.get(ORIGIN)
    if isinstance(origin, str) and origin != original.frontmatter.get(ORIGIN):
        added[ORIGIN] = origin
    return bool(added) and with_keys(original, **added) == page.raw


def _about(side: Side, file: File) -> About:
    updated = side.page(file).updated if names.is_page(file.name) else ""
    return About(file.name, file.sha256, file.uuid, updated)


def _derived_uuid(file: File) -> str:
    """A uuid for a copy: the same whenever and wherever the same page is copied, so that it is copied once."""
    import uuid

    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"memoryfield:merged:{file.name}:{file.sha256}"))


def copied(page: Page, field_name: str, new_uuid: str) -> bytes | None:
    """A page's bytes with a note of where it comes from, and another uuid if one is given.

    Returns:
        None where its frontmatter cannot be added to.
    """
    origin = f"{field_name}/{page.filename}" + (f" ({page.uuid})" if new_uuid and page.uuid else "")
    noted = page.frontmatter.get(ORIGIN)
    if isinstance(noted, str) and noted:
        origin = f"{noted}; {origin}"
    elif noted:
        return with_keys(page, uuid=new_uuid) if new_uuid else page.raw
    return with_keys(page, **({"uuid": new_uuid} if new_uuid else {}), **{ORIGIN: origin})
