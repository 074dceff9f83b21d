"""What differs between two fields: page by page, key by key, as a patch, or counted in lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from .. import names
from ..containers import Container
from ..field import Field, container_of
from ..page import Page
from .matching import By, Noted, Pair, Progress, Side, match, read_sides
from .patches import count, patch

Kind = Literal["added", "removed", "changed", "renamed"]
KINDS: tuple[Kind, ...] = ("added", "removed", "changed", "renamed")


class KeyChange(NamedTuple):
    """A key of the frontmatter that differs; `old` or `new` is None where the key is not there."""

    key: str
    kind: Literal["added", "removed", "changed"]
    old: Any
    new: Any

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        sides = {"old": self.old} if self.kind != "added" else {}
        return {"key": self.key, "kind": self.kind, **sides, **({"new": self.new} if self.kind != "removed" else {})}


@dataclass(frozen=True, slots=True)
class FileChange:
    """A page or another file that differs.

    `old_name` is its name in A, `name` that in B (of a removed file, both are that in A); hashes are
    SHA-256 in hexadecimal, empty for the side that has none. A renamed file `is_edited` if its bytes
    changed, too; so is a changed one, always. `keys` and `body` say how, where it is a page.
    """

    kind: Kind
    name: str
    old_name: str
    by: By = "name"
    old_sha256: str = ""
    new_sha256: str = ""
    keys: tuple[KeyChange, ...] = ()
    body: bool = False
    notes: tuple[str, ...] = ()

    @property
    def is_page(self) -> bool:
        return names.is_page(self.name)

    @property
    def is_edited(self) -> bool:
        return bool(self.old_sha256 and self.new_sha256) and self.old_sha256 != self.new_sha256

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        found: dict[str, Any] = {"name": self.name}
        if self.kind == "renamed":
            found |= {"old_name": self.old_name, "by": self.by, "edited": self.is_edited}
        if self.kind != "added":
            found["old_sha256"] = self.old_sha256
        if self.kind != "removed":
            found["new_sha256"] = self.new_sha256
        if self.is_page and self.kind in ("changed", "renamed"):
            found |= {"keys": [key.to_dict() for key in self.keys], "body": self.body, "notes": list(self.notes)}
        return found


class Unread(NamedTuple):
    """A file that could not be read, so that nothing is known of it: on which side (`a`, `b`), and why."""

    side: Literal["a", "b"]
    name: str
    reason: str


class FileStat(NamedTuple):
    """How many lines of a file were added and removed; None of a file that is no text."""

    change: FileChange
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class Diff:
    """What differs between two fields, A and B. As long as they are open, `patch` and `stat` read them."""

    a: Side = field(repr=False)
    b: Side = field(repr=False)
    changes: list[FileChange]
    """Sorted by name."""
    unread: list[Unread]

    def pages(self, kind: Kind) -> list[FileChange]:
        """The pages that were added, removed, changed or renamed."""
        return [change for change in self.changes if change.kind == kind and change.is_page]

    def attachments(self, kind: Kind) -> list[FileChange]:
        """Likewise the files that are no pages. Indexes are none of a field's content."""
        return [change for change in self.changes if change.kind == kind and not change.is_page]

    @property
    def is_same(self) -> bool:
        """Whether both hold the same files, byte for byte; what could not be read, is not known to be the same."""
        return not self.changes and not self.unread

    def patch(self) -> Iterator[str]:
        """A unified diff of all that is text, line by line, as `git apply` and `patch -p1` take it.

        Raises:
            OSError: a file cannot be read any more.
        """
        for change in self.changes:
            yield from patch(change.old_name, change.name, *self._bytes_of(change))

    def stat(self) -> Iterator[FileStat]:
        """Lines added and removed, file by file. Raises what `patch` does."""
        for change in self.changes:
            added, removed = count(*self._bytes_of(change)) or (None, None)
            yield FileStat(change, added, removed)

    def _bytes_of(self, change: FileChange) -> tuple[bytes | None, bytes | None]:
        before = None if change.kind == "added" else self.a.read(change.old_name)
        return before, None if change.kind == "removed" else self.b.read(change.name)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "same": self.is_same,
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
            "pages": {kind: [change.to_dict() for change in self.pages(kind)] for kind in KINDS},
            "attachments": {kind: [change.to_dict() for change in self.attachments(kind)] for kind in KINDS},
            "unread": [one._asdict() for one in self.unread],
        }


def diff(a: Container | Field, b: Container | Field, *, progress: Progress | None = None) -> Diff:
    """What differs between two fields.

    Every page and other file of both is read for its hash; only pages that differ are parsed. Files of
    one name are one file; a page without a counterpart is looked for by its uuid, where that occurs once
    on each side, and any file by its content. A file that cannot be read is among `unread`, whatever
    the other side has.

    Args:
        progress: called with the number of files read, and of all.
    """
    return compared(*read_sides(container_of(a), container_of(b), progress))


def compared(side_a: Side, side_b: Side) -> Diff:
    """What differs between two sides that have been read; the first may be known by its hashes alone."""
    matching = match(side_a, side_b)
    changes = [change for pair in matching.pairs if (change := _compared(side_a, side_b, pair))]
    changes += [
        FileChange("removed", name, name, old_sha256=side_a.hashes[name].hex())
        for name in matching.only_a
        if name in side_a.hashes
    ]
    changes += [
        FileChange("added", name, name, new_sha256=side_b.hashes[name].hex())
        for name in matching.only_b
        if name in side_b.hashes
    ]
    unread = [Unread("a", *item) for item in side_a.unread.items()]
    unread += [Unread("b", *item) for item in side_b.unread.items()]
    return Diff(side_a, side_b, sorted(changes, key=lambda change: (change.name, change.old_name)), unread)


def _compared(a: Side, b: Side, pair: Pair) -> FileChange | None:
    """How a file on both sides differs; None if it does not, or cannot be read."""
    old, new = a.hashes.get(pair.a), b.hashes.get(pair.b)
    is_renamed = pair.a != pair.b
    if old is None or new is None or (old == new and not is_renamed):
        return None
    kind: Kind = "renamed" if is_renamed else "changed"
    keys: list[KeyChange] = []
    body, notes = False, list[str]()
    if old != new and names.is_page(pair.b):
        if isinstance(a, Noted):
            notes.append("how is not known: the old one is not here any more")
        else:
            page_a, page_b = a.page(pair.a), b.page(pair.b)
            keys, body = key_changes(page_a, page_b), page_a.body != page_b.body
            notes = _notes(page_a, page_b)
            if not keys and not body and page_a.is_utf8 and page_b.is_utf8:
                notes.append("only how its frontmatter is written")
    return FileChange(kind, pair.b, pair.a, pair.by, old.hex(), new.hex(), tuple(keys), body, tuple(notes))


def key_changes(before: Page, after: Page) -> list[KeyChange]:
    """How the frontmatter differs: the old keys in their order, then the new ones. Of a broken block, what is known."""
    old, new = before.frontmatter, after.frontmatter
    found: list[KeyChange] = []
    for key, value in old.items():
        if key not in new:
            found.append(KeyChange(key, "removed", value, None))
        elif _written(value) != _written(new[key]):
            found.append(KeyChange(key, "changed", value, new[key]))
    return found + [KeyChange(key, "added", None, value) for key, value in new.items() if key not in old]


def _written(value: Any) -> str:
    """A value as text: `1` and `true` are equal to Python."""
    return json.dumps(value, sort_keys=True)


def _notes(before: Page, after: Page) -> list[str]:
    """What could not be understood, on which side."""
    return [
        f"{side}:{problem.line}: {problem.message}"
        for side, page in (("a", before), ("b", after))
        for problem in page.problems
    ]
