"""The bytes of a zip's entries: never more than an entry declares, and all of them, or an error."""

from __future__ import annotations

import io
import threading
import zlib
from collections.abc import Iterator
from typing import IO, Any

from .survey import Item
from .zipformat import DEFLATED, STORED

_CHUNK = 1 << 20
_READ = 1 << 16


class OverrunError(ValueError):
    """An entry holds more than it says."""


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
            zlib.error: its data are no deflate.
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
        if item.method != DEFLATED:
            raise ValueError(f"it is packed with method {item.method}, and only deflate is read here")
        inflater = zlib.decompressobj(-15)
        place, end = item.data, item.data + item.packed
        room = item.size + 1  # to see that nothing follows
        while not inflater.eof:
            packed = inflater.unconsumed_tail
            if not packed:
                packed = self._at(place, min(_READ, end - place))
                place += len(packed)
            piece = inflater.decompress(packed, min(room, _CHUNK))
            if not (packed or piece):
                raise ValueError("its data are cut off")
            room = max(1, room - len(piece))
            if piece:
                yield piece
        if place < end or inflater.unused_data:
            raise ValueError("something follows its data")

    def _at(self, place: int, length: int) -> bytes:
        with self._lock:
            self._file.seek(place)
            found = self._file.read(length)
        if len(found) != length:
            raise ValueError("the archive has become shorter")
        return found


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
