"""What an import did, or would do."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

from .items import FAILED_KINDS, Left


class Brought(NamedTuple):
    """A page that an import has written, or a copy of a file (which has no uuid), and where it comes from."""

    filename: str
    source: str
    uuid: str
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return self._asdict()


@dataclass
class Imported:
    """What an import did, or with `dry_run` would do."""

    field: str
    source: str
    kind: str
    label: str
    written: bool = False
    added: list[Brought] = dataclasses.field(default_factory=list)
    updated: list[Brought] = dataclasses.field(default_factory=list)
    same: int = 0
    """Pages that are as this import would make them."""
    kept: list[Brought] = dataclasses.field(default_factory=list)
    """Edited in the field, while their source has not changed: they stay."""
    conflicts: list[Brought] = dataclasses.field(default_factory=list)
    """Edited in the field, and their source has changed too: they stay, unless pages are to be replaced."""
    gone: list[str] = dataclasses.field(default_factory=list)
    """Pages that came from this source, and that nothing in it makes any more: they stay."""
    attachments: list[Brought] = dataclasses.field(default_factory=list)
    """Files copied since pages link to them; those that were there already are not among them."""
    left: list[Left] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def failed(self) -> list[Left]:
        """What somebody must look at: notes that did not come along."""
        return [item for item in self.left if item.kind in FAILED_KINDS]

    @property
    def is_empty(self) -> bool:
        """Whether the source held no note at all."""
        return not (self.added or self.updated or self.same or self.kept or self.conflicts)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        lists = ("added", "updated", "kept", "conflicts", "attachments", "left")
        return {
            "field": self.field,
            "source": self.source,
            "kind": self.kind,
            "label": self.label,
            "written": self.written,
            "same": self.same,
            **{name: [item.to_dict() for item in getattr(self, name)] for name in lists},
            "gone": self.gone,
            "notes": self.notes,
        }
