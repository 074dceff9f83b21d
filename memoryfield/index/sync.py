"""Bring an index up to date with the pages: look what changed, read and embed it in batches, store it.

A file is taken as unchanged when its size and time (in an archive: its size and CRC) are the stored
ones and its time is clearly older than the moment at which it was read; otherwise its sha256
decides. Models compute outside of transactions, and each batch is stored in one short transaction.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..containers import Container, Entry
from ..containers.base import digest, digest_line
from ..dates import storable
from ..embedders import Embedder, page_input
from ..errors import EmbedderError, EmbedderUnavailableError
from ..names import is_page
from ..page import Page
from .store import IndexStore, Record, Row

Progress = Callable[[int, int], None]
"""Called with the number of pages done and the number of pages to do."""

CLOCK_SLACK_NS = 2_000_000_000
"""Times may be this coarse (FAT counts in two seconds): a younger file may change unnoticed."""

BATCH_BYTES = 4 << 20
MAX_INDEXED = 64 << 20
"""A larger page is not read into memory; it is named as failed."""
BLANK = ""
"""The fault of a page without text: nothing to embed, and nothing wrong."""


@dataclass(slots=True)
class Changes:
    """How the pages differ from an index, as far as can be told without reading them."""

    entries: dict[str, Entry]
    rows: dict[str, Row]
    suspects: list[Entry]
    """New, or perhaps changed."""
    removed: list[str]
    pending: list[str]
    """Unchanged, but without a vector."""

    @property
    def none(self) -> bool:
        return not (self.suspects or self.removed or self.pending)


@dataclass(slots=True)
class SyncReport:
    """What a sync did, in pages. `pending` and `failed` pages have no vector."""

    model: str
    pages: int = 0
    added: int = 0
    changed: int = 0
    renamed: int = 0
    removed: int = 0
    unchanged: int = 0
    embedded: int = 0
    pending: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    """Name and reason of each page that could not be read or embedded, now or earlier."""
    notes: list[str] = field(default_factory=list)
    unavailable: str = ""
    """Why the embedder stopped answering, if it did."""

    def go_on(self, later: SyncReport) -> None:
        """What a second look did, as part of the first."""
        for name in ("added", "changed", "renamed", "removed", "embedded"):
            setattr(self, name, getattr(self, name) + getattr(later, name))
        self.pages, self.pending, self.failed = later.pages, later.pending, later.failed
        self.notes += later.notes
        self.unavailable = later.unavailable

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        names = ("model", "pages", "added", "changed", "renamed", "removed", "unchanged", "embedded", "pending")
        return {
            **{name: getattr(self, name) for name in names},
            "failed": [{"filename": name, "reason": reason} for name, reason in self.failed],
            "notes": [*self.notes, *([self.unavailable] if self.unavailable else [])],
        }


def look(container: Container, store: IndexStore) -> Changes:
    """Compare the pages with an index by size and time. Reads no page."""
    entries = {entry.name: entry for entry in container.entries() if is_page(entry.name)}
    rows = store.rows()
    suspects = [entry for name, entry in entries.items() if name not in rows or not _same(entry, rows[name])]
    suspects.sort()  # rows that come in order cost the least
    suspected = {entry.name for entry in suspects}
    pending = [name for name, row in rows.items() if row.pending and name in entries and name not in suspected]
    removed = [name for name in rows if name not in entries]
    return Changes(entries, rows, suspects, removed, pending)


def _same(entry: Entry, row: Row) -> bool:
    if entry.size != row.size:
        return False
    if entry.crc32 is not None:
        return entry.crc32 == row.crc32
    return storable(entry.mtime_ns) == row.mtime_ns < row.indexed_ns - CLOCK_SLACK_NS


def really_changed(
    container: Container, changes: Changes, unreadable: list[tuple[str, str]] | None = None
) -> list[Entry]:
    """The suspects whose bytes are not those that the index knows.

    One that cannot be read is among them, or goes with its reason into `unreadable`.
    """
    changed: list[Entry] = []
    for entry in changes.suspects:
        row = changes.rows.get(entry.name)
        try:
            if row is None:
                if unreadable is not None:
                    _read(container, entry.name, limit=1)
                changed.append(entry)
            elif _read(container, entry.name).sha256 != row.sha256.hex():
                changed.append(entry)
        except FileNotFoundError:
            continue
        except _UnreadableError as error:
            if unreadable is None:
                changed.append(entry)
            else:
                unreadable.append((entry.name, str(error)))
    return changed


class _UnreadableError(Exception):
    """Why a page cannot be read, as a report says it."""


def _read(container: Container, name: str, limit: int | None = None) -> Page:
    """A page, or its first bytes.

    Raises:
        FileNotFoundError: it is gone.
        _UnreadableError: it cannot be read, or is too large.
    """
    try:
        entry = container.entry(name)
        if entry.size > MAX_INDEXED:
            raise _UnreadableError(f"is larger than {MAX_INDEXED:,} bytes, too large to be indexed")
        return Page(name, container.read(name, limit), mtime_ns=entry.mtime_ns)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _UnreadableError(f"cannot be read: {error.strerror or error}") from error


def sync(
    container: Container,
    store: IndexStore,
    embedder: Embedder | None,
    *,
    changes: Changes | None = None,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring an index up to date. Without an embedder: its keyword rows only.

    A page that cannot be read or embedded is named in the report and spoils only itself. Where the
    embedder stops answering, the rest is stored without vectors, and the report says why.
    """
    store.prepare()
    if embedder is not None and store.embedder != embedder.spec:
        with store.transaction():
            store.note_embedder(embedder.spec)
    changes = changes or look(container, store)
    report = SyncReport(store.model, pages=len(changes.entries))
    if wrong := store.wrong_length():
        report.notes.append(f"{wrong} vectors of {store.model} had the wrong length and are made anew")
    run = _Run(container, store, embedder, changes, report)
    names = [entry.name for entry in changes.suspects]
    if embedder is not None:
        names += changes.pending
    done = 0
    if progress:
        progress(0, len(names))
    for batch in _batches(names, changes.entries, lambda: embedder.batch if embedder else 256):
        run.batch(batch)
        done += len(batch)
        if progress:
            progress(done, len(names))
    run.finish()
    if run.late(names):  # pages that came meanwhile, and that a search put in without a vector
        report.go_on(sync(container, store, embedder, progress=progress))
    return report


def _batches(names: Sequence[str], entries: dict[str, Entry], most: Callable[[], int]) -> Iterator[list[str]]:
    """Names in batches, bounded in number (asked anew for each) and in the bytes that their pages take."""
    batch: list[str] = []
    size = 0
    for name in names:
        if batch and (len(batch) >= most() or size + entries[name].size > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += entries[name].size
    if batch:
        yield batch


class _Run:
    """One sync under way."""

    def __init__(
        self,
        container: Container,
        store: IndexStore,
        embedder: Embedder | None,
        changes: Changes,
        report: SyncReport,
    ) -> None:
        self.container, self.store, self.embedder = container, store, embedder
        self.changes, self.report = changes, report
        self.suspects = {entry.name for entry in changes.suspects}
        self.gone: dict[bytes, list[str]] = {}
        for name in changes.removed:
            self.gone.setdefault(changes.rows[name].sha256, []).append(name)
        self.touched = 0
        self.pending: set[str] = set()
        self.vanished: list[str] = []
        """Listed, and not there any more when they were to be read."""

    def batch(self, names: list[str]) -> None:
        """Read, embed and store some pages."""
        moment = time.time_ns()
        pages: list[Page] = []
        for name in names:
            try:
                pages.append(_read(self.container, name))
            except FileNotFoundError:
                self.vanished.append(name)
            except _UnreadableError as error:
                self.report.failed.append((name, str(error)))
        records = list(self._records(self._sorted_out(pages, moment), moment))
        if records:
            with self.store.transaction():
                for record in records:
                    self.store.put(record)

    def _sorted_out(self, pages: list[Page], moment: int) -> list[Page]:
        """Settle pages whose bytes the index knows: touched, or under another name. The rest remains."""
        rest: list[Page] = []
        settled: list[tuple[Page, str | None]] = []
        for page in pages:
            sha = bytes.fromhex(page.sha256)
            row = self.changes.rows.get(page.filename)
            if row is not None and row.sha256 == sha:
                settled.append((page, None))
                if row.pending and self.embedder is not None:
                    rest.append(page)
                self.touched += page.filename in self.suspects
            elif self.gone.get(sha):  # the row that was of this name goes
                former = self.gone[sha].pop()
                settled.append((page, former))
                if self.changes.rows[former].pending and self.embedder is not None:
                    rest.append(page)
                self.report.renamed += 1
            else:
                rest.append(page)
                self.report.changed += row is not None
                self.report.added += row is None
        if settled:
            with self.store.transaction():
                for page, old in settled:
                    if old is not None:
                        self.store.rename(old, page.filename)
                    self.store.touch(page.filename, page.size, page.mtime_ns, zlib.crc32(page.raw), moment)
        return rest

    def _records(self, pages: list[Page], moment: int) -> Iterable[Record]:
        faults = {page.filename: fault_of(page) for page in pages}
        stored = self.store.vector_hashes([page.filename for page in pages])
        kept = {page.filename for page in pages if stored.get(page.filename) == bytes.fromhex(page.sha256)}
        wanted = [page for page in pages if faults[page.filename] is None and page.filename not in kept]
        vectors = self._vectors(wanted)
        for page in pages:
            fault, vector = faults[page.filename], vectors.get(page.filename)
            yield record_of(page, zlib.crc32(page.raw), moment, fault=fault, vector=vector)

    def _vectors(self, pages: list[Page]) -> dict[str, bytes]:
        """Vectors by file name. A page that fails stays pending, so that the next run tries it again."""
        if self.embedder is None or not pages:
            return {}
        try:
            answers = self.embedder.embed_pages([page_input(page.raw) for page in pages])
        except EmbedderUnavailableError as error:
            self.report.unavailable = str(error)
            self.embedder = None
            return {}
        vectors: dict[str, bytes] = {}
        for page, answer in zip(pages, answers, strict=True):
            if isinstance(answer, EmbedderError):
                self.report.failed.append((page.filename, f"cannot be embedded: {answer}"))
            else:
                vectors[page.filename] = answer
        if self.store.dimensions is None and vectors:
            self.store.dimensions = self.embedder.dimensions
        self.report.embedded += len(vectors)
        return vectors

    def _drop(self, names: list[str]) -> None:
        if not names:
            return
        with self.store.transaction():
            self.store.remove(names)
        self.report.removed += sum(name in self.changes.rows for name in names)

    def finish(self) -> None:
        """Drop what is gone, take out its words, and count."""
        gone = [*self.vanished, *(name for names in self.gone.values() for name in names)]
        if not (self.vanished and self._has_new_names()):
            self._drop(gone)
        self._drop_unlisted()
        self.store.forget_words()
        rows = self.changes.rows if self.changes.none else self.store.rows()
        report = self.report
        known = {name for name, _ in report.failed}
        report.failed += [(n, row.fault) for n, row in rows.items() if row.fault and n not in known]
        self.pending = {name for name, row in rows.items() if row.pending}
        report.pending = len(self.pending)
        self._mark(rows)
        report.unchanged = len(self.changes.entries) - len(self.changes.suspects) + self.touched

    def late(self, names: Sequence[str]) -> bool:
        """Whether there is anything to embed, by an embedder that answers, which was not among these pages."""
        return self.embedder is not None and not self.pending <= set(names)

    def _has_new_names(self) -> bool:
        """Whether pages that vanished may be there under new names: then the next sync moves their rows."""
        names = filter(is_page, self.container.names())
        return any(name not in self.changes.entries for name in names)

    def _mark(self, rows: dict[str, Row]) -> None:
        """Let the next search see at a glance that nothing has changed, if all is settled."""
        if self.report.pending or any(row.mtime_ns >= row.indexed_ns - CLOCK_SLACK_NS for row in rows.values()):
            return
        by_time = digest("time", [digest_line(row.filename, row.size, row.mtime_ns) for row in rows.values()])
        if not self.store.is_current(by_time):
            by_crc = digest("crc", [digest_line(row.filename, row.size, row.crc32) for row in rows.values()])
            self.store.mark_current(by_time, by_crc)

    def _drop_unlisted(self) -> None:
        """Vectors of pages that are gone, in an index that another tool made."""
        sql = "SELECT filename FROM pages WHERE filename NOT IN (SELECT filename FROM memoryfield_files)"
        unknown = [str(row[0]) for row in self.store.connection.execute(sql)]
        unlisted = [name for name in unknown if name not in self.changes.entries]
        if unlisted:
            with self.store.transaction():
                self.store.remove(unlisted)


def record_of(
    page: Page, crc32: int, indexed_ns: int, *, fault: str | None = None, vector: bytes | None = None
) -> Record:
    """A page as it goes into an index."""
    return Record(
        filename=page.filename,
        size=page.size,
        mtime_ns=page.mtime_ns,
        crc32=crc32,
        sha256=bytes.fromhex(page.sha256),
        indexed_ns=indexed_ns,
        broken=bool(page.problems),
        text=page.text,
        frontmatter=page.frontmatter,
        created_ns=page.created_ns,
        updated_ns=page.updated_ns,
        expires_ns=page.expires_ns,
        supersedes=page.supersedes,
        fault=fault,
        vector=vector,
    )


def fault_of(page: Page) -> str | None:
    """Why a page gets no vector, or None."""
    if not page.is_utf8:
        return page.problems[0].message
    return None if page.text.strip("\x00 \t\r\n") else BLANK
