"""What is seen of a zip: its entries, and what speaks against it."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import UnsafeArchiveError

FILE, FOLDER, LINK = 0o10, 0o04, 0o12
"""The kinds in a Unix mode, its lower twelve bits away."""
HERE = "./"
"""The folder itself, which is nothing."""
MAX_SHOWN = 200
"""So many characters of a name are shown."""


class Finding(NamedTuple):
    """Something for which an archive is refused: the requirement that it breaks, and the entry, if it is about one."""

    entry: str | None
    requirement: str
    message: str
    hint: str = ""

    def refusal(self) -> UnsafeArchiveError:
        """The finding as an error."""
        if self.entry is None:
            return UnsafeArchiveError(f"the archive {self.message}", entry="", hint=self.hint)
        shown = self.entry if len(self.entry) <= MAX_SHOWN else self.entry[:MAX_SHOWN] + "…"
        return UnsafeArchiveError(f"the archive's entry {shown!r} {self.message}", entry=self.entry, hint=self.hint)


class Item:
    """An entry of a zip as its directory has it. Sizes are bytes; `data` is where its packed bytes begin."""

    __slots__ = (
        "attributes", "blocked", "crc", "data", "flags", "head", "in_zip64", "is_skipped", "method", "moment",
        "name", "offset", "packed", "raw", "size",
    )  # fmt: skip

    def __init__(
        self, name: str, raw: bytes, head: bytes, flags: int, method: int, moment: int, crc: int, packed: int,
        size: int, attributes: int, offset: int,
    ) -> None:  # fmt: skip
        self.name = name
        self.raw = raw
        self.head = head
        """Flags to length of the name, as they must stand in the local header, too."""
        self.flags = flags
        self.method = method
        self.moment = moment
        """Date and time, as in a DOS directory."""
        self.crc = crc
        self.packed = packed
        self.size = size
        self.attributes = attributes
        self.offset = offset
        self.data = 0
        self.in_zip64 = False
        self.blocked = ""
        """Why it must not be read."""
        self.is_skipped = False
        """Whether it is no file that may have its name."""

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/")

    @property
    def kind(self) -> int:
        """What its Unix mode says that it is; 0 if that says nothing."""
        return self.attributes >> 28

    @property
    def is_link(self) -> bool:
        return self.kind == LINK

    @property
    def place(self) -> tuple[bytes, int, int, int, int]:
        """What tells it from any other entry of any archive."""
        return self.raw, self.offset, self.packed, self.size, self.crc


class Survey:
    """What the gate saw of a zip: its entries, and all that speaks against it."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.findings: list[Finding] = []
        self.is_readable = True
        """False where it is not certain, or too much, what the directory lists."""
        self.root = ""
        """The one folder in which all files of the field lie, and a slash; empty if they lie at the root."""

    def tell(self, entry: str | None, requirement: str, message: str, hint: str = "") -> None:
        self.findings.append(Finding(entry, requirement, message, hint))

    def block(self, item: Item, requirement: str, message: str, hint: str = "") -> None:
        """Tell of an entry, and that its bytes cannot be trusted or bounded."""
        self.tell(item.name, requirement, message, hint)
        item.blocked = item.blocked or message


class UnclearError(Exception):
    """A finding after which nothing more can be said."""

    def __init__(self, requirement: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.finding = Finding(None, requirement, message, hint)
