"""Zips put together byte by byte, so that each part can say something else than it should."""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

WIDE = 0xFFFFFFFF


class Part(NamedTuple):
    """An entry; `local` and `listed` are what its own header and the directory say otherwise."""

    name: bytes
    data: bytes = b""
    deflated: bool = False
    flags: int = 0
    mode: int = 0o100644
    dos: int = 0
    extra: bytes = b""
    local: dict[str, Any] = {}  # noqa: RUF012 - never changed
    listed: dict[str, Any] = {}  # noqa: RUF012
    before: bytes = b""
    after: bytes = b""
    packed: bytes | None = None

    @property
    def content(self) -> bytes:
        """The packed bytes."""
        if self.packed is not None:
            return self.packed
        return deflate(self.data) if self.deflated else self.data

    def values(self, otherwise: dict[str, Any]) -> dict[str, Any]:
        """What a header of it says."""
        method = 8 if self.deflated else 0
        known = {"name": self.name, "flags": self.flags, "method": method, "crc": zlib.crc32(self.data)}
        known |= {"packed": len(self.content), "size": len(self.data), "extra": self.extra}
        return {**known, **otherwise}


def deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def extra(kind: int, content: bytes) -> bytes:
    """An extra field."""
    return struct.pack("<HH", kind, len(content)) + content


def zip64(*numbers: int) -> bytes:
    """The extra field of zip64."""
    return extra(1, struct.pack(f"<{len(numbers)}Q", *numbers))


def unicode_path(name: bytes, path: str) -> bytes:
    """The extra field that says what a name is in Unicode."""
    return extra(0x7075, struct.pack("<BL", 1, zlib.crc32(name)) + path.encode())


def descriptor(part: Part, *, signed: bool = True, wide: bool = False) -> bytes:
    """What stands behind the data of an entry that was streamed."""
    numbers = struct.pack("<L2Q" if wide else "<3L", zlib.crc32(part.data), len(part.content), len(part.data))
    return (b"PK\x07\x08" if signed else b"") + numbers


def streamed(part: Part, *, signed: bool = True, wide: bool = False) -> Part:
    """The same entry as a program writes it that cannot go back."""
    local = {"crc": 0, "packed": 0, "size": 0}
    return part._replace(flags=part.flags | 8, local=local, after=descriptor(part, signed=signed, wide=wide))


def _header(values: dict[str, Any]) -> bytes:
    name, more = values["name"], values["extra"]
    head = struct.pack("<4H", values["flags"], values["method"], 0x6000, 0x5C6E)
    return head + struct.pack("<3L2H", values["crc"], values["packed"], values["size"], len(name), len(more))


def build(*parts: Part, comment: bytes = b"", between: bytes = b"", end: dict[str, int] | None = None) -> bytes:
    """A zip of these entries, in this order; `end` is what its end record says otherwise."""
    files = directory = b""
    for part in parts:
        files += part.before
        local = part.values(part.local)
        listed = {"offset": len(files), "disk": 0, **part.values(part.listed)}
        files += b"PK\x03\x04\x14\x00" + _header(local) + local["name"] + local["extra"] + part.content + part.after
        directory += b"PK\x01\x02\x14\x03\x14\x00" + _header(listed)
        directory += struct.pack("<3H2L", 0, listed["disk"], 0, part.mode << 16 | part.dos, listed["offset"])
        directory += listed["name"] + listed["extra"]
    files += between
    said = {"disk": 0, "first": 0, "here": len(parts), "count": len(parts), "size": len(directory)}
    said |= {"offset": len(files), "comment": len(comment), **(end or {})}
    return files + directory + b"PK\x05\x06" + struct.pack("<4H2LH", *said.values()) + comment


def with_zip64_end(archive: bytes, **otherwise: int) -> bytes:
    """A zip without comment with the records of zip64 before its end, and the end pointing to them."""
    _, _, here, count, size, offset, _ = struct.unpack("<4H2LH", archive[-18:])
    said = {"size of it": 44, "versions": 45 << 16 | 45, "disk": 0, "first": 0, "here": here, "count": count}
    said |= {"size": size, "offset": offset, "place": len(archive) - 22, "disks": 1}
    said |= {name.replace("_", " "): value for name, value in otherwise.items()}
    place, disks = said.pop("place"), said.pop("disks")
    record = b"PK\x06\x06" + struct.pack("<QL2L4Q", *said.values())
    locator = b"PK\x06\x07" + struct.pack("<LQL", 0, place, disks)
    end = struct.pack("<4H2LH", 0, 0, 0xFFFF, 0xFFFF, WIDE, WIDE, 0)
    return archive[:-22] + record + locator + b"PK\x05\x06" + end
