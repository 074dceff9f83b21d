"""What is read out of a source: notes, and what of it could not be carried over."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..page import Page


class Left(NamedTuple):
    """Something of the source that is not in the field, or not as it was.

    `kind`: `note` or `line` (of JSON), not imported at all; `empty`, `duplicate`, `file`, `folder`, `link`,
    `frontmatter`, `date`, `key`, `relation`, `text`. `place` is where in the source.
    """

    kind: str
    place: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        """As JSON has it."""
        return self._asdict()


FAILED_KINDS = frozenset({"note", "line"})
"""Of these, somebody's memory is missing in the field."""


class SourceFile(NamedTuple):
    """A file of a source: its path there, with slashes, and where it lies. Times in nanoseconds since 1970, UTC."""

    path: str
    place: Path
    size: int
    mtime_ns: int
    birth_ns: int


@dataclass
class Note:
    """One note as it was read: what becomes a page.

    `identity` is what its uuid is derived from, `digest` that of all its source says, by which a later
    import sees whether it has changed.
    """

    path: str
    """Its path in the source, or what stands for one."""
    identity: str
    source: str
    """What the page's `source` says."""
    name: str
    """As the source calls it, in any script."""
    title: str
    body: str
    keys: dict[str, Any]
    """Its frontmatter."""
    digest: str
    folders: tuple[str, ...] = ()
    head: Page | None = None
    """The page as it was, where its frontmatter can be edited in place."""
    summary: str = ""
    tags: list[str] = field(default_factory=list)
    """Those that its frontmatter does not have."""
    aliases: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Further names by which other notes may link to it."""
    file_times: tuple[str, str] = ("", "")
    """When its file was made and last changed, where it tells no dates itself."""
    given_dates: tuple[str, str] = ("", "")
    """`created` and `updated` as the source tells them."""
    is_index: bool = False
    """Whether it stands for its folder."""
    is_exact: bool = False
    """Whether the body follows the frontmatter as it is, without an empty line put between."""


@dataclass
class Gathered:
    """All that a source holds."""

    notes: list[Note] = field(default_factory=list)
    files: dict[str, SourceFile] = field(default_factory=dict)
    """Files that are no notes, by their paths: copied where a note links to them."""
    left: list[Left] = field(default_factory=list)

    def leave(self, kind: str, place: str, reason: str) -> None:
        """Note what is not carried over."""
        self.left.append(Left(kind, place, reason))


def digest_of(raw: bytes) -> str:
    """Sixteen hexadecimal digits that change when the bytes do."""
    return hashlib.sha256(raw).hexdigest()[:16]


def readable(text: str) -> str:
    """A file's name as text, whatever bytes it was made of."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
