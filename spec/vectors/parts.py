"""What the cases are made of: notes, pages, deflate streams, and zips in whatever state they are wanted."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

# pages


class Note(NamedTuple):
    """A page as the special cases use it."""

    title: str
    uuid: str
    created: str
    updated: str
    body: str


TEA = Note(
    "How hot is the water for green tea?",
    "b23b53aa-26d0-451b-ac20-6fdd771f52f5",
    "2025-03-14T09:12:40Z",
    "2025-05-02T16:30:05Z",
    "\n70 to 80 degrees Celsius. Boiling water makes it bitter.\n\nSource: packages of three sorts.\n",
)
PAN = Note(
    "How to season a steel pan",
    "0c9b2a4e-6f53-4a7e-9a39-3a6a0a0f8a11",
    "2025-04-02T18:00:00Z",
    "2025-04-20T18:45:30Z",
    "\nRub it with a thin film of oil, heat it until it smokes, wipe it; three times.\n\n"
    "Source: done with two pans, April 2025.\n",
)
GLUE = Note(
    "How long wood glue is clamped",
    "5e8f6a1d-43b7-4c0e-8d52-917f0b6c2e94",
    "2025-02-11T15:20:10Z",
    "2025-06-30T07:05:50Z",
    "\nHalf an hour at 20 degrees Celsius, a day until it bears a load.\n\nSource: printed on the bottle.\n",
)


SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="3"/></svg>\n'


def page(note: Note, *more: str, body: str | None = None) -> str:
    """A page's text: the note, with more lines in its frontmatter or with another body."""
    lines = [f'title: "{note.title}"', f"uuid: {note.uuid}", f'created: "{note.created}"', f'updated: "{note.updated}"']
    return "\n".join(["---", *lines, *more, "---", note.body if body is None else body])


def frontmatter(note: Note) -> str:
    """The same as an index has it."""
    known = {"title": note.title, "uuid": note.uuid, "created": note.created, "updated": note.updated}
    return json.dumps(known, ensure_ascii=False)


# deflate


def bits(text: str) -> bytes:
    """Bits, the first of them the lowest of the first byte."""
    return int(text[::-1], 2).to_bytes(-(-len(text) // 8), "little")


def number(value: int, size: int) -> str:
    """A number in so many bits, the lowest first."""
    return format(value, f"0{size}b")[::-1]


def deflated(data: bytes) -> bytes:
    """A deflate stream of literals in the fixed code: zlib's own output differs between its versions."""
    codes = (format(0x30 + byte, "08b") if byte < 144 else format(0x190 + byte - 144, "09b") for byte in data)
    return bits("110" + "".join(codes) + "0000000")


_LETTER, _MATCH = b"a", 258


def swollen(size: int) -> bytes:
    """What `inflating` and `inflating_fast` give: at least `size` times one letter."""
    return _LETTER * (1 + _MATCH * -(-size // _MATCH))


def inflating(size: int) -> bytes:
    """A deflate stream of one letter, repeated in the fixed code: 158 bytes for each one."""
    return bits("110" + format(0x30 + _LETTER[0], "08b") + "1100010100000" * -(-size // _MATCH) + "0000000")


def inflating_fast(size: int) -> bytes:
    """The same in a code of its own, in which a match takes two bits: up to 1,032 bytes for each one."""
    lengths = {18: 1, 1: 2, 2: 2}  # of the codes in which the lengths of the codes are written: 0, 10, 11
    order = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1)
    head = "101" + number(285 - 256, 5) + number(0, 5) + number(len(order) - 4, 4)
    head += "".join(number(lengths.get(one, 0), 3) for one in order)

    def unused(count: int) -> str:
        return "0" + number(count - 11, 7)

    head += unused(97) + "11" + unused(138) + unused(20) + "11" + unused(28) + "10" + "10"
    return bits(head + "10" + "00" * -(-size // _MATCH) + "11")


# zips

NOTHING: Mapping[str, Any] = MappingProxyType({})
WIDE = 0xFFFFFFFF
"""Stands for a number that is in the zip64 extra field."""


class Entry(NamedTuple):
    """An entry of a zip: stored, a regular file made on Unix, of 1980, unless something else is said.

    `local` and `listed` are what the header before its data and the directory say otherwise: `name`, `flags`, `method`,
    `time`, `date`, `crc`, `packed_size`, `size`, `extra`, `needed`, and in the directory `offset` and `disk`.
    """

    name: bytes
    data: bytes
    time: tuple[int, int, int, int, int, int] = (1980, 1, 1, 0, 0, 0)
    method: int = 0
    packed: bytes | None = None
    flags: int = 0
    mode: int = 0o100644
    extra: bytes = b""
    comment: bytes = b""
    crc: int | None = None
    system: int = 3
    version: int = 20
    attributes: int = 0
    local: Mapping[str, Any] = NOTHING
    listed: Mapping[str, Any] = NOTHING
    before: bytes = b""
    """Bytes that stand before its header and belong to nothing."""
    after: bytes = b""
    """What follows its data: a descriptor."""
    is_there: bool = True
    """Whether it has a header and data of its own."""
    is_listed: bool = True
    """Whether the directory has it."""

    @property
    def content(self) -> bytes:
        """Its data as they lie in the archive."""
        return self.data if self.packed is None else self.packed

    def said(self) -> dict[str, Any]:
        """What both headers say."""
        year, month, day, hour, minute, second = self.time
        return {
            "name": self.name,
            "needed": 20 if self.method in (0, 8) else 46,
            "flags": self.flags,
            "method": self.method,
            "time": hour << 11 | minute << 5 | second // 2,
            "date": (year - 1980) << 9 | month << 5 | day,
            "crc": zlib.crc32(self.data) if self.crc is None else self.crc,
            "packed_size": len(self.content),
            "size": len(self.data),
            "extra": self.extra,
        }


def entry(name: str, data: str | bytes, **more: Any) -> Entry:
    """An entry; a name that is not ASCII is flagged as UTF-8."""
    raw = data.encode() if isinstance(data, str) else data
    flags = more.pop("flags", 0) | (0 if name.isascii() else 0x800)
    return Entry(name.encode(), raw, flags=flags, **more)


def descriptor(item: Entry, layout: str = "<4sIII", signature: bytes = b"PK\7\10") -> bytes:
    """What follows the data of an entry that was written as it came: checksum and sizes, in zip64 of eight bytes."""
    return struct.pack(layout, signature, zlib.crc32(item.data), len(item.content), len(item.data))


def field(kind: int, data: bytes) -> bytes:
    """An extra field."""
    return struct.pack("<HH", kind, len(data)) + data


def _shared(said: Mapping[str, Any]) -> bytes:
    """The part that is the same in both headers."""
    keys = ("needed", "flags", "method", "time", "date", "crc", "packed_size", "size")
    return struct.pack("<HHHHHIII", *(said[key] for key in keys)) + struct.pack(
        "<HH", len(said["name"]), len(said["extra"])
    )


def local_header(item: Entry) -> bytes:
    """The header that stands before an entry's data."""
    said = item.said() | dict(item.local)
    return b"PK\3\4" + _shared(said) + said["name"] + said["extra"]


def directory_header(item: Entry, offset: int) -> bytes:
    """An entry of the directory."""
    said = item.said() | {"offset": offset, "disk": 0} | dict(item.listed)
    version = max(item.version, 46 if item.method not in (0, 8) else 0)
    header = b"PK\1\2" + struct.pack("<BB", version, item.system) + _shared(said)
    header += struct.pack("<HHH", len(item.comment), said["disk"], 0)
    header += struct.pack("<II", item.mode << 16 | item.attributes, said["offset"])
    return header + said["name"] + said["extra"] + item.comment


def make_zip(*entries: Entry, comment: bytes = b"", start: int = 0, between: bytes = b"", **end: int) -> bytes:
    """A zip of these entries in this order.

    Args:
        start: at which place in its file the zip is to stand.
        between: bytes between the entries and the directory that belong to nothing.
        end: what the end record says otherwise: `disk`, `directory_disk`, `here`, `count`, `size`, `offset`.
    """
    files, directory = bytearray(), bytearray()
    for item in entries:
        files += item.before
        offset = start + len(files)
        if item.is_there:
            files += local_header(item) + item.content + item.after
        if item.is_listed:
            directory += directory_header(item, offset)
    files += between
    count = sum(item.is_listed for item in entries)
    known = {"disk": 0, "directory_disk": 0, "here": count, "count": count, "size": len(directory)}
    said = known | {"offset": start + len(files)} | end
    return bytes(files + directory) + b"PK\5\6" + struct.pack("<HHHHIIH", *said.values(), len(comment)) + comment


NUMBERS = ("here", "count", "size", "offset")


def with_zip64_end(archive: bytes, wide: Collection[str] = NUMBERS, **otherwise: int) -> bytes:
    """The zip, which has no comment, with an end record of zip64 as well.

    Args:
        wide: the numbers of which the old record only says that they stand in the new one.
        otherwise: what the new record says otherwise: `here`, `count`, `size`, `offset`.
    """
    old = dict(zip(NUMBERS, struct.unpack("<HHII", archive[-14:-2]), strict=True))
    record = b"PK\6\6" + struct.pack("<QBBHIIQQQQ", 44, 45, 3, 45, 0, 0, *(old | otherwise).values())
    locator = b"PK\6\7" + struct.pack("<IQI", 0, len(archive) - 22, 1)
    old |= {key: 0xFFFF if key in ("here", "count") else WIDE for key in wide}
    return archive[:-22] + record + locator + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, *old.values(), 0)


def moment(text: str) -> tuple[int, int, int, int, int, int]:
    """The parts of a time such as 2025-05-02T16:30:05Z."""
    parts = [int(part) for part in text.rstrip("Z").replace("T", "-").replace(":", "-").split("-")]
    return parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]
