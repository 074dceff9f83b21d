"""A zip whose bytes depend on what is put in and on nothing else: the format's reproducible profile, A-6 to A-8."""

from __future__ import annotations

import datetime
import os
import shutil
import struct
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import BinaryIO, NamedTuple

from ..containers import zipformat as zf

EARLIEST = 315_532_800
"""Seconds since 1970: 1980-01-01T00:00:00Z, before which a zip has no time."""
LATEST = 4_354_819_198
"""2107-12-31T23:59:58Z, after which it has none."""

LEVEL = 6
QUICK = 1
"""For indexes: most of them are vectors, which hardly shrink at any level, and this takes half the time."""
CHUNK = 1 << 20
"""So many bytes of an entry are deflated at a time, each chunk by any thread."""
_WINDOW = 32 << 10
_AHEAD = 4

_MADE_BY = 3 << 8 | 20  # Unix, whatever this machine is: the mode is read there only
_MODE = 0o100644 << 16
_VERSION, _VERSION_64 = 20, 45
BIG, MANY = zf.ELSEWHERE, zf.ELSEWHERE16
"""Sizes and numbers from here on need the fields of zip64: an extra field with the entry, a second end."""
_FIELDS = struct.Struct("<3HL3Q")


class Content(NamedTuple):
    """An entry's bytes as they are written: packed, or not."""

    method: int
    size: int
    crc32: int
    packed: bytes


def entry_seconds(moment_ns: int | None) -> int:
    """The time of an entry for a moment (nanoseconds since 1970): seconds since 1970, even; without one, 1980."""
    if moment_ns is None:
        return EARLIEST
    seconds = moment_ns // 1_000_000_000
    return max(EARLIEST, min(seconds - seconds % 2, LATEST))


def content_of(raw: bytes, *, store: bool = False) -> Content:
    """A whole file as an entry's content."""
    crc32 = zlib.crc32(raw)
    if store:
        return Content(zf.STORED, len(raw), crc32, raw)
    pieces = [raw[place : place + CHUNK] for place in range(0, len(raw), CHUNK)] or [b""]
    packed = [_deflated(piece, window, last) for piece, window, last in _with_windows(pieces)]
    return Content(zf.DEFLATED, len(raw), crc32, b"".join(packed))


def _with_windows(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bytes, bool]]:
    """Each piece with what stands before it, and whether it is the last."""
    window, waiting = b"", None
    for piece in pieces:
        if waiting is not None:
            yield waiting, window, False
            window = waiting[-_WINDOW:]
        waiting = piece
    yield waiting or b"", window, True


def _deflated(piece: bytes, window: bytes, last: bool, level: int = LEVEL) -> bytes:
    """A piece of a stream, which ends on a byte: pieces that were deflated apart are one stream, joined."""
    if last and not window:
        return zlib.compress(piece, level, -zlib.MAX_WBITS)  # the same, in one call
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    if window:
        packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=window)
    return packer.compress(piece) + packer.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)


class ZipWriter:
    """Writes entries one after the other, in the order that they are given in, which should be that of their names.

    ```python
    writer = ZipWriter(file)
    writer.add("woks.md", entry_seconds(None), content_of(b"# Woks"))
    writer.finish()
    ```
    """

    def __init__(self, file: BinaryIO, *, store: bool = False) -> None:
        self._file = file
        self._store = store
        self._names: list[bytes] = []
        self._fields = bytearray()
        self._place = 0

    def add(self, name: str, seconds: int, content: Content) -> None:
        """Write an entry that is at hand whole; `seconds` as `entry_seconds` gives them."""
        facts = (content.method, *_dos_time(seconds), content.crc32, len(content.packed), content.size)
        encoded = name.encode()
        record = _local_header(encoded, facts, max(facts[-2:]) >= BIG) + content.packed
        self._file.write(record)
        self._note(encoded, facts, self._place)
        self._place += len(record)

    def stream(
        self,
        name: str,
        seconds: int,
        pieces: Iterable[bytes],
        expected: int,
        pool: Executor,
        *,
        level: int = LEVEL,
    ) -> None:
        """Write an entry piece by piece, deflated by the threads of `pool`.

        Args:
            pieces: of `CHUNK` bytes each, but for the last.
            expected: how many bytes it will be: too large a file needs other fields.
            level: of deflate.

        Raises:
            OverflowError: it has become too large for them meanwhile.
        """
        place, size, crc32, packed = self._place, 0, 0, 0
        method = zf.STORED if self._store else zf.DEFLATED
        encoded, times = name.encode(), _dos_time(seconds)
        zip64 = expected >= BIG - (expected >> 8) - CHUNK

        def counted() -> Iterator[bytes]:
            nonlocal size, crc32
            for piece in pieces:
                size, crc32 = size + len(piece), zlib.crc32(piece, crc32)
                yield piece

        header = _local_header(encoded, (method, *times, 0, 0, 0), zip64)
        self._file.write(header)
        for piece in counted() if self._store else _deflated_apart(counted(), pool, level):
            self._file.write(piece)
            packed += len(piece)
        if not zip64 and max(size, packed) >= BIG:
            raise OverflowError(f"{name} has grown beyond 4 GiB while it was read")
        facts = (method, *times, crc32, packed, size)
        self._place += len(header) + packed
        self._file.seek(place)
        self._file.write(_local_header(encoded, facts, zip64))  # now that everything is known
        self._file.seek(self._place)
        self._note(encoded, facts, place)

    def _note(self, name: bytes, facts: tuple[int, ...], place: int) -> None:
        self._names.append(name)
        self._fields += _FIELDS.pack(*facts, place)

    def append(self, other: ZipWriter) -> None:
        """Take over the entries of another writer, which is done with."""
        for name, fields in zip(other._names, _FIELDS.iter_unpack(other._fields), strict=True):
            self._names.append(name)
            self._fields += _FIELDS.pack(*fields[:-1], fields[-1] + self._place)
        other._file.seek(0)
        shutil.copyfileobj(other._file, self._file, CHUNK)
        self._place += other._place

    def read(self, name: str) -> bytes:
        """The bytes of an entry that was added."""
        number = self._names.index(name.encode())
        method, _, _, _, packed, _, place = _FIELDS.unpack_from(self._fields, number * _FIELDS.size)
        self._file.seek(place)
        *_, name_bytes, extra_bytes = zf.LOCAL.unpack(self._file.read(zf.LOCAL.size))
        self._file.seek(name_bytes + extra_bytes, os.SEEK_CUR)
        content = self._file.read(packed)
        self._file.seek(self._place)
        return zlib.decompress(content, -zlib.MAX_WBITS) if method == zf.DEFLATED else content

    def __contains__(self, name: str) -> bool:
        return name.encode() in self._names

    def sizes(self) -> Iterator[tuple[int, int]]:
        """Of each entry, how many bytes it is and how many it takes."""
        for _, _, _, _, packed, size, _ in _FIELDS.iter_unpack(self._fields):
            yield size, packed

    def finish(self) -> None:
        """Write the directory."""
        start = self._place
        for name, fields in zip(self._names, _FIELDS.iter_unpack(self._fields), strict=True):
            record = _central_header(name, fields)
            self._file.write(record)
            self._place += len(record)
        self._file.write(_end(len(self._names), self._place - start, start))


def _deflated_apart(pieces: Iterable[bytes], pool: Executor, level: int) -> Iterator[bytes]:
    """A stream's pieces, deflated, in their order; some of them at the same time."""
    under_way: deque[Future[bytes]] = deque()
    for piece, window, last in _with_windows(pieces):
        under_way.append(pool.submit(_deflated, piece, window, last, level))
        if len(under_way) >= _AHEAD:
            yield under_way.popleft().result()
    while under_way:
        yield under_way.popleft().result()


def _dos_time(seconds: int) -> tuple[int, int]:
    """A time as a zip has it: the time of the day, and the day."""
    at = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return at.hour << 11 | at.minute << 5 | at.second // 2, (at.year - 1980) << 9 | at.month << 5 | at.day


def _flags(name: bytes) -> int:
    return 0 if name.isascii() else zf.UTF8


def _local_header(name: bytes, facts: tuple[int, ...], zip64: bool) -> bytes:
    """What stands before an entry; `facts`: method, time, day, CRC, packed and real size."""
    *known, packed, size = facts
    extra = struct.pack("<2H2Q", 1, 16, size, packed) if zip64 else b""
    version = _VERSION_64 if zip64 else _VERSION
    shown = (zf.ELSEWHERE, zf.ELSEWHERE) if zip64 else (packed, size)
    return zf.LOCAL.pack(zf.LOCAL_SIGN, version, _flags(name), *known, *shown, len(name), len(extra)) + name + extra


def _central_header(name: bytes, fields: tuple[int, ...]) -> bytes:
    method, time, day, crc32, packed, size, place = fields
    numbers = [size, packed, place]
    large = [number for number in numbers if number >= BIG]
    size, packed, place = (zf.ELSEWHERE if number >= BIG else number for number in numbers)
    extra = struct.pack(f"<2H{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    version = _VERSION_64 if large else _VERSION
    head = zf.CENTRAL.pack(
        *(zf.CENTRAL_SIGN, _MADE_BY, version, _flags(name), method, time, day, crc32, packed, size),
        *(len(name), len(extra), 0, 0, 0, _MODE, place),
    )
    return head + name + extra


def _end(count: int, size: int, start: int) -> bytes:
    """What ends an archive: of so many entries, with a directory of so many bytes from `start` on."""
    if count < MANY and max(size, start) < BIG:
        return zf.END.pack(zf.END_SIGN, 0, 0, count, count, size, start, 0)
    versions = (_MADE_BY & ~0xFF | _VERSION_64, _VERSION_64)
    end_64 = zf.END64.pack(zf.END64_SIGN, zf.END64.size - 12, *versions, 0, 0, count, count, size, start)
    locator = zf.LOCATOR.pack(zf.LOCATOR_SIGN, 0, start + size, 1)
    counts = [zf.ELSEWHERE16 if count >= MANY else count] * 2
    places = [zf.ELSEWHERE if number >= BIG else number for number in (size, start)]
    return end_64 + locator + zf.END.pack(zf.END_SIGN, 0, 0, *counts, *places, 0)
