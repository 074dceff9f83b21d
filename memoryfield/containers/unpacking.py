"""The bytes of a zip's entries: never more than an entry declares, and all of them, or an error."""

from __future__ import annotations

import io
import threading
import zlib
from collections.abc import Iterator
from typing import IO, Any, Protocol

from .gate import DEFLATED, STORED, Item

BZIP2, LZMA = 12, 14
_CHUNK = 1 << 20
_READ = 1 << 16
_MAX_DICTIONARY = 64 << 20
_ENDS_ITSELF = 0x2
"""The flag of an entry in LZMA whose data say where they end."""


class OverrunError(ValueError):
    """An entry holds more than it says."""


class _Decompressor(Protocol):
    """What bz2 and lzma offer."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class Source:
    """Reads entries of one open zip; from several threads, too."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._lock = threading.Lock()

    def pieces(self, item: Item) -> Iterator[bytes]:
        """What an entry holds, piece by piece, a megabyte at most.

        Raises:
            OverrunError: it holds more than it says.
            ValueError: it is not what its checksum and sizes say, must not be read, or is packed in an unknown way.
            Exception: whatever zlib, bz2 and lzma raise.
        """
        if item.blocked:
            raise ValueError(item.blocked)
        made = checksum = 0
        for piece in self._stored(item) if item.method == STORED else self._inflated(item):
            made += len(piece)
            if made > item.size:
                raise OverrunError("it is larger than it says")
            checksum = zlib.crc32(piece, checksum)
            yield piece
        if made != item.size:
            raise ValueError("it is shorter than it says")
        if checksum != item.crc:
            raise ValueError("its checksum is wrong")

    def _stored(self, item: Item) -> Iterator[bytes]:
        for place in range(0, item.packed, _CHUNK):
            yield self._at(item.data + place, min(_CHUNK, item.packed - place))

    def _inflated(self, item: Item) -> Iterator[bytes]:
        place, end = item.data, item.data + item.packed
        inflater = _Inflater() if item.method == DEFLATED else None
        if inflater is None:
            inflater, place = self._other(item)
        endless = item.method == LZMA and not item.flags & _ENDS_ITSELF
        room = item.size if endless else item.size + 1  # to see that nothing follows
        while not inflater.eof:
            if endless and not room:
                return
            if inflater.needs_input and place >= end:
                raise ValueError("its data are cut off")
            packed = self._at(place, min(_READ, end - place)) if inflater.needs_input else b""
            place += len(packed)
            piece = inflater.decompress(packed, min(room, _CHUNK))
            room = room - len(piece) if endless else max(1, room - len(piece))
            if piece:
                yield piece
        if place < end or inflater.unused_data:
            raise ValueError("something follows its data")

    def _other(self, item: Item) -> tuple[Any, int]:
        """What reads the less common ways of packing, and where to begin."""
        if item.method == BZIP2:
            import bz2

            return bz2.BZ2Decompressor(), item.data
        if item.method == LZMA:
            return _lzma(self._at(item.data, 9), item)
        raise ValueError(f"it is packed with method {item.method}, which is not known here")

    def _at(self, place: int, length: int) -> bytes:
        with self._lock:
            self._file.seek(place)
            found = self._file.read(length)
        if len(found) != length:
            raise ValueError("the archive has become shorter")
        return found


class _Inflater:
    """Deflate, with what the other decompressors have."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(-15)
        self._is_full = False

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail and not self._is_full

    def decompress(self, data: bytes, max_length: int) -> bytes:
        made = self._zlib.decompress(self._zlib.unconsumed_tail or data, max_length)
        self._is_full = len(made) == max_length
        return made


def _lzma(head: bytes, item: Item) -> tuple[_Decompressor, int]:
    """A decompressor for LZMA as zips have it: two bytes of version, two of length, five of properties."""
    import lzma

    if head[2:4] != b"\x05\x00":
        raise ValueError("its LZMA header is not known here")
    rest, lc = divmod(head[4], 9)
    pb, lp = divmod(rest, 5)
    declared = int.from_bytes(head[5:9], "little")
    dictionary = max(4096, min(declared, item.size, _MAX_DICTIONARY))  # more than the whole is never looked back to
    settings = {"id": lzma.FILTER_LZMA1, "dict_size": dictionary, "lc": lc, "lp": lp, "pb": pb}
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[settings]), item.data + 9


class EntryFile(io.RawIOBase):
    """Pieces as a file to read from."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._rest = memoryview(piece)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def readall(self) -> bytes:
        found = b"".join([self._rest, *self._pieces])
        self._rest = memoryview(b"")
        return found
