"""A field's indexes as a whole: sync one, follow a page's change, tell what is in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import apsw

from ..containers import Container
from ..embedders import DEFAULT_MODEL, find_embedder, is_known
from ..errors import EmbedderUnavailableError, IndexFileError, MemoryfieldError, ReadOnlyError, UnknownModelError
from ..names import is_index, is_page
from .files import code_of, discard_index, index_files, open_index
from .store import DAMAGE, IndexStore
from .sync import Progress, SyncReport, look, really_changed, sync


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """An index, in pages: `embedded` are up to date, `out_of_date` new, changed or gone, `failed` cannot be."""

    filename: str
    model: str
    dimensions: int | None
    bytes: int
    embedded: int
    out_of_date: int
    failed: int
    problem: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {name: getattr(self, name) for name in self.__slots__}


def sync_index(
    container: Container, model: str | None, *, rebuild: bool = False, progress: Progress | None = None
) -> SyncReport:
    """Bring one index up to date, made if it is not there, made anew if it is damaged or `rebuild` says so."""
    model = model or next(filter(is_known, index_files(container)), DEFAULT_MODEL)
    embedder = find_embedder(model)
    if not container.writable:
        with container.lock():  # an archive says how to go on
            pass
        raise ReadOnlyError(f"cannot write in {str(container.location)!r}: no permission")
    note = ""
    missing = model not in index_files(container)
    if (rebuild or missing) and (reason := embedder.unavailable()):
        if not missing:
            raise EmbedderUnavailableError(reason)
        pages = sum(is_page(name) for name in container.names())  # no index is better than one without vectors
        return SyncReport(model, pages=pages, pending=pages, unavailable=reason)
    if rebuild:
        discard_index(container, model)
    try:
        store = open_index(container, model, embedder.dimensions, create=True)
        try:
            report = sync(container, store, embedder, progress=progress)
        finally:
            store.close()
    except (IndexFileError, *DAMAGE) as error:
        note = f"{error}: it was made anew"
        discard_index(container, model)
        store = open_index(container, model, embedder.dimensions, create=True)
        try:
            report = sync(container, store, embedder, progress=progress)
        finally:
            store.close()
    if note:
        report.notes.insert(0, note)
    return report


def follow(container: Container, change: Literal["rename", "delete"], name: str, new: str = "") -> None:
    """Let every index follow a page's new name or its deletion, whoever made it.

    One that cannot be written or read is passed over: the next sync mends it.
    """
    for filename in filter(is_index, container.names()):
        try:
            store = open_index(container, code_of(filename), None, name=filename)
        except (MemoryfieldError, OSError, apsw.Error):
            continue
        try:
            with store.transaction():
                if change == "rename":
                    store.rename(name, new)
                else:
                    store.remove([name])
                    store.forget_words()
        except apsw.Error:
            continue
        finally:
            store.close()


def index_status(container: Container) -> list[IndexStatus]:
    """What is in each index of a container; a database that is none is passed over."""
    found = [_status(container, model, filename) for model, filename in index_files(container).items()]
    return [status for status in found if is_known(status.model) or not status.problem]


def _status(container: Container, model: str, filename: str) -> IndexStatus:
    size = container.entry(filename).size
    try:
        dimensions = find_embedder(model).dimensions
    except UnknownModelError:
        dimensions = None
    try:
        store = open_index(container, model, dimensions)
        try:
            return _counted(container, store, filename, size)
        finally:
            store.close()
    except (IndexFileError, *DAMAGE, apsw.Error) as error:
        return IndexStatus(filename, model, dimensions, size, 0, 0, 0, str(error))


def _counted(container: Container, store: IndexStore, filename: str, size: int) -> IndexStatus:
    changes = look(container, store)
    changed = {entry.name for entry in really_changed(container, changes)}
    rows = [row for name, row in changes.rows.items() if name in changes.entries and name not in changed]
    return IndexStatus(
        filename=filename,
        model=store.model,
        dimensions=store.counts()[1] or store.dimensions,
        bytes=size,
        embedded=sum(bool(row.embedded) for row in rows),
        out_of_date=len(changed) + len(changes.removed) + sum(row.pending for row in rows),
        failed=sum(bool(row.fault) for row in rows),
    )
