"""Fills an archive. Every file is read once: what is written, hashed, judged and indexed are the very same bytes."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, BinaryIO

from .. import names
from ..containers import Container, Entry
from ..errors import BrokenFieldError
from ..index.beside import Filler, words
from ..index.packed import FreshIndex, indexed_ns
from ..index.store import Record
from ..index.sync import MAX_INDEXED, fault_of, record_of
from ..page import Page
from ..validation.report import Fault
from ..validation.rules import Musts
from .indexing import LeftOutError, complete
from .planning import Listing, page_seconds
from .zipping import CHUNK, QUICK, ZipWriter, content_of, entry_seconds

Progress = Callable[[int, int], None]

SHOWN_FAULTS = 5
"""So many faults of a field are named; then no more are looked for."""
BATCH_BYTES = 512 << 10
BATCHES_AHEAD = 4


class Filling:
    """One archive under way.

    An index stands before the pages, by its name, and can only be made when all of them were read: so
    the entries after one go into a file of their own, which is joined in the end.

    Args:
        folder: for temporary files.
        judged: whether a field that breaks a MUST is refused.
    """

    def __init__(
        self,
        container: Container,
        listed: Listing,
        folder: Path,
        *,
        store: bool,
        judged: bool,
        progress: Progress | None,
    ) -> None:
        self.container, self.listed, self.folder = container, listed, folder
        self.hashes: dict[str, bytes] = {}
        """SHA-256 of every page and other file in the archive."""
        self.indexes: list[str] = []
        self.left_out: list[tuple[str, str]] = []
        self.notes: list[str] = []
        self._lived = listed.indexes.indexes
        self._store, self._progress, self._done = store, progress, 0
        self._musts = Musts(listed.pages()) if judged else None
        self._faults = list(listed.unread) if judged else []
        self._parts: list[ZipWriter] = []
        self._words: Filler | None = None
        self._under_way: deque[Future[None]] = deque()
        self._records: list[Record] = []
        self._size = 0

    def run(self, file: BinaryIO) -> ZipWriter:
        """Write everything into a file.

        Raises:
            BrokenFieldError: the field breaks a MUST, and is judged.
            OSError: a file cannot be read, or the disk is full.
        """
        with ExitStack() as stack:
            self._zipping = stack.enter_context(ThreadPoolExecutor(max(1, os.cpu_count() or 1)))
            self._indexing = stack.enter_context(ThreadPoolExecutor(1))
            if self._lived:
                self._words = stack.enter_context(closing(words(self.folder / "words", len(self.listed.entries))))
                stack.callback(self._indexing.shutdown)  # before the file is closed that it writes to
                stack.callback(self._words.give_up)
            self._parts = [ZipWriter(file, store=self._store)]
            self._read_files(stack)
            if self._faults:
                raise _refused(self._faults)
            self._join()
            self._parts[0].finish()
        return self._parts[0]

    def _read_files(self, stack: ExitStack) -> None:
        for entry in self.listed.entries:
            if entry.name in self._lived:
                self._send()
                part = self.folder / f"part-{len(self._parts)}"
                self._parts.append(ZipWriter(stack.enter_context(part.open("w+b")), store=self._store))
                continue
            try:
                self._read_file(entry)
            except FileNotFoundError:
                self.left_out.append((entry.name, "was gone before it was read"))
            self._tell()
            if len(self._faults) >= SHOWN_FAULTS:
                raise _refused(self._faults)
        self._send()
        while self._under_way:
            self._under_way.popleft().result()

    def _tell(self) -> None:
        self._done += 1
        if self._progress:
            self._progress(self._done, len(self.listed.entries))

    def _read_file(self, entry: Entry) -> None:
        if names.is_page(entry.name):
            raw = self.container.read(entry.name)
            self._take(entry.name, self._read_page(entry.name, raw), raw)
        elif entry.size < CHUNK:
            raw = self.container.read(entry.name)
            self.hashes[entry.name] = hashlib.sha256(raw).digest()
            self._take(entry.name, entry_seconds(None), raw)
        else:
            self._send()
            self._stream(entry)

    def _read_page(self, name: str, raw: bytes) -> int:
        """Judge a page, and index it; the time of its entry."""
        page = Page(name, raw)
        if self._musts:
            self._faults += self._musts.look(page)
        seconds = page_seconds(page)
        self.hashes[name] = bytes.fromhex(page.sha256)
        if self._words and len(raw) > MAX_INDEXED:
            self.notes.append(f"{name} is larger than {MAX_INDEXED:,} bytes, too large to be indexed")
        elif self._words:
            page.mtime_ns = seconds * 1_000_000_000
            self._records.append(record_of(page, zlib.crc32(raw), indexed_ns(page.mtime_ns), fault=fault_of(page)))
        return seconds

    def _take(self, name: str, seconds: int, raw: bytes) -> None:
        # Here, not by a thread: a page is deflated in less time than a thread waits for its turn.
        self._parts[-1].add(name, seconds, content_of(raw, store=self._store))
        self._size += len(raw)
        if self._size >= BATCH_BYTES:
            self._send()

    def _send(self) -> None:
        """Let another thread or process take in the words of what was read. How they are cut shows in the index."""
        if self._words and self._records:
            self._under_way.append(self._indexing.submit(self._words.add, self._records))
        self._records, self._size = [], 0
        while len(self._under_way) > BATCHES_AHEAD:
            self._under_way.popleft().result()

    def _stream(self, entry: Entry) -> None:
        """Pack a large file without having all of it in memory."""
        digest = hashlib.sha256()

        def pieces(source: IO[bytes]) -> Iterator[bytes]:
            while piece := source.read(CHUNK):
                digest.update(piece)
                yield piece

        with self.container.open(entry.name) as source:
            self._parts[-1].stream(entry.name, entry_seconds(None), pieces(source), entry.size, self._zipping)
        self.hashes[entry.name] = digest.digest()

    def _join(self) -> None:
        """Make the indexes, each in its place between the parts."""
        if not self._words:
            return
        self._words.finish()
        whole = self._parts[0]
        with closing(FreshIndex(self.folder / "words")) as fresh:
            for name, part in zip(sorted(self._lived), self._parts[1:], strict=True):
                try:
                    self._add_index(whole, name, fresh)
                except LeftOutError as error:
                    self.left_out.append((name, str(error)))
                whole.append(part)
                self._tell()

    def _add_index(self, writer: ZipWriter, name: str, fresh: FreshIndex) -> None:
        lived = self._lived[name]
        complete(self.container, fresh, lived, self._packed, self._progress)
        path = self.folder / "index"
        fresh.write(path, lived)
        with path.open("rb") as source:
            pieces = iter(lambda: source.read(CHUNK), b"")
            size = path.stat().st_size
            writer.stream(name, entry_seconds(None), pieces, size, self._zipping, level=QUICK)
        path.unlink()
        self.indexes.append(name)

    def _packed(self, name: str) -> bytes:
        """A page's bytes as they are in the archive."""
        return next(part for part in self._parts if name in part).read(name)


def _refused(faults: list[Fault]) -> BrokenFieldError:
    first = sorted(faults)[:SHOWN_FAULTS]
    told = "; ".join(f"{fault.place}: {fault.requirement}: {fault.message}" for fault in first)
    return BrokenFieldError(
        f"the field breaks what the format says that it MUST: {told}",
        faults=first,
        hint="`memoryfield validate` shows all of it, and how to mend it; --force packs it nevertheless.",
    )
