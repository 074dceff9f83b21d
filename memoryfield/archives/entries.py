"""An archive whose entries are each read once, and to the end: those that are no pages beside the pages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from .. import names
from ..containers.archive import ArchiveContainer, open_file, reading
from ..containers.contents import says_something
from ..containers.limits import Limits
from ..containers.survey import Item
from ..containers.unpacking import Source
from ..errors import reason_of


class Unsound(NamedTuple):
    """An entry that cannot be read to its end, or is not what the archive says, and why."""

    name: str
    reason: str


class ReadOnce(ArchiveContainer):
    """An archive in which others than pages are read by a thread: SQLite and zlib need no Python for it.

    Indexes are copied into a folder, where `local_path` tells of them. What is learnt:

    - `hashes`: the SHA-256 (32 bytes) of each other file of the field, by name
    - `unsound`: the entries that cannot be read, but for pages and indexes, whose readers are told

    Raises:
        UnsafeArchiveError: it must not be opened.
    """

    def __init__(self, location: Path, limits: Limits, copies: Path) -> None:
        super().__init__(location, limits)
        self.hashes: dict[str, bytes] = {}
        self.unsound: list[Unsound] = []
        self._folder = copies
        self._is_closing = False
        self._own = open_file(location)
        self._beside = Source(self._own)
        self._thread = ThreadPoolExecutor(1)
        indexes = [name for name in self.names() if names.is_index(name)]
        self._copies = {name: self._thread.submit(self._copy, number, name) for number, name in enumerate(indexes)}
        self._rest: Future[None] = self._thread.submit(self._read_rest)

    def local_path(self, name: str) -> Path | None:
        return self._copies[name].result() if name in self._copies else None

    def _read_beside(self, name: str, item: Item) -> Iterator[bytes]:
        with reading(name):
            yield from self._beside.pieces(item)

    def _copy(self, number: int, name: str) -> Path:
        path = self._folder / f"{number}{names.INDEX_SUFFIX}"
        with path.open("xb") as target:
            for piece in self._read_beside(name, self._items[name]):
                target.write(piece)
        return path

    def _read_rest(self) -> None:
        """Read every entry that is neither a page nor an index, whether or not it is a file of the field."""
        for name, item in self.infos():
            is_own = self._items.get(name) is item
            if item.is_folder or (is_own and (name in self._copies or names.is_page(name))):
                continue
            digest = hashlib.sha256()
            try:
                for piece in self._read_beside(name, item):
                    digest.update(piece)
                    if self._is_closing:
                        return
            except OSError as error:
                self.unsound.append(Unsound(name, reason_of(error)))
                continue
            if is_own and says_something(name):
                self.hashes[name] = digest.digest()

    def wait(self) -> None:
        """Until all that the thread reads is read."""
        self._rest.result()

    def close(self) -> None:
        self._is_closing = True
        self._thread.shutdown(cancel_futures=True)
        self._own.close()
        super().close()
