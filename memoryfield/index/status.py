"""A field's indexes as a whole: sync one, follow a page's change, tell what is in each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from ..containers import Container
from ..containers.base import require_writable
from ..embedders import DEFAULT_MODEL, MODELS, Embedder, dimensions_of, find_embedder, is_known
from ..errors import (
    EmbedderUnavailableError,
    IndexFileError,
    IndexUnreadableError,
    MemoryfieldError,
    UsageError,
)
from ..names import INDEX_SUFFIX, is_index, is_page
from .files import code_of, discard_index, embedder_of, has_embedder, index_files, open_index
from .store import DAMAGE, WRONG_VALUES, IndexStore
from .sync import Progress, SyncReport, look, really_changed, sync

FOLLOW_TIMEOUT_MS = 5_000
"""How long a deletion, a new name or a look waits for an index that another process has locked."""


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """An index, in pages.

    `embedded` have a vector of their present bytes; `pending` are new, changed, or still without one;
    `failed` cannot have one, for the reasons in `failures`; `gone` are in the index alone.
    """

    filename: str
    model: str
    dimensions: int | None
    bytes: int
    embedded: int = 0
    pending: int = 0
    failures: tuple[tuple[str, str], ...] = ()
    gone: int = 0
    problem: str = ""

    @property
    def failed(self) -> int:
        return len(self.failures)

    @property
    def is_complete(self) -> bool:
        """Whether `embed` would find nothing to do, and nothing wrong."""
        return not (self.pending or self.failures or self.gone or self.problem)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        names = ("filename", "model", "dimensions", "bytes", "embedded", "pending", "failed", "gone", "problem")
        failures = [{"filename": name, "reason": reason} for name, reason in self.failures]
        return {**{name: getattr(self, name) for name in names}, "failures": failures}


def sync_index(
    container: Container,
    model: str | None,
    *,
    rebuild: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring one index up to date, made if it is not there, made anew if it is damaged or `rebuild` says so."""
    if threads is not None and threads < 1:
        raise UsageError(f"{threads} threads cannot compute anything", hint="Give it at least 1.")
    embedder = embedder_of(container, model or models_of(container)[0], threads=threads)
    model = embedder.model
    require_writable(container)
    missing = model not in index_files(container)
    if (rebuild or missing) and (reason := embedder.unavailable()):
        if not missing:
            raise EmbedderUnavailableError(reason)
        pages = sum(is_page(name) for name in container.names())  # no index is better than one without vectors
        return SyncReport(model, pages=pages, pending=pages, unavailable=reason)
    if missing and not any(map(is_page, container.names())):
        return SyncReport(model, notes=["the field has no pages"])
    if rebuild:  # whose vectors may have another length than those that are there
        embedder = find_embedder(embedder.spec, threads=threads)
    try:
        return _synced(container, model, embedder, progress, anew=rebuild)
    except IndexUnreadableError:
        raise
    except (IndexFileError, *DAMAGE) as error:
        discard_index(container, model)
        report = _synced(container, model, embedder, progress)
        report.notes.insert(0, f"{error}: it was made anew")
        return report


def models_of(container: Container) -> list[str]:
    """The models whose indexes the field has and whose embedders are known; the default one without any."""
    return [code for code in index_files(container) if has_embedder(container, code)] or [DEFAULT_MODEL]


def _synced(
    container: Container, model: str, embedder: Embedder, progress: Progress | None, *, anew: bool = False
) -> SyncReport:
    store = open_index(container, model, embedder.dimensions, create=True)
    try:
        if anew:
            store.forget()
        return sync(container, store, embedder, progress=progress)
    finally:
        store.close()
        path = container.local_path(model + INDEX_SUFFIX)
        if path and path.exists() and not path.stat().st_size:  # begun, and nothing could be stored
            path.unlink()


def follow_deletions(container: Container, names: Sequence[str]) -> list[str]:
    """Let every index follow the deletion of pages, whoever deleted them.

    Returns:
        Notes about those that could not: the next sync mends them.
    """
    return _in_each_index(container, lambda store: store.remove(names))


def follow_renames(container: Container, renames: Mapping[str, str]) -> list[str]:
    """Likewise for new names; no page had one of them before."""

    def rename(store: IndexStore) -> None:
        for old, new in renames.items():
            store.rename(old, new)

    return _in_each_index(container, rename)


def _in_each_index(container: Container, change: Callable[[IndexStore], None]) -> list[str]:
    """Change every index that can be changed; notes about the others."""
    notes: list[str] = []
    for filename in filter(is_index, container.names()):
        try:
            store = open_index(container, code_of(filename), None, name=filename, timeout_ms=FOLLOW_TIMEOUT_MS)
        except (MemoryfieldError, OSError, apsw.Error, *DAMAGE) as error:
            if code_of(filename) in MODELS:
                notes.append(f"{filename} could not follow: {error}")
            continue
        try:
            with store.transaction():
                change(store)
            store.forget_words()
        except (apsw.Error, *DAMAGE) as error:
            notes.append(f"{filename} could not follow: {error}")
        finally:
            store.close()
    return notes


def index_status(container: Container) -> list[IndexStatus]:
    """What is in each index of a container; a database that is none is passed over."""
    found = [_status(container, model, filename) for model, filename in index_files(container).items()]
    return [status for status in found if is_known(status.model) or not status.problem]


def _status(container: Container, model: str, filename: str) -> IndexStatus:
    size = container.entry(filename).size
    dimensions = dimensions_of(model)
    try:
        store = open_index(container, model, dimensions, timeout_ms=FOLLOW_TIMEOUT_MS)
        try:
            return _counted(container, store, filename, size)
        finally:
            store.close()
    except (IndexUnreadableError, apsw.BusyError, apsw.LockedError) as error:
        return IndexStatus(filename, model, dimensions, size, problem=f"{error}: another process may be at work")
    except (IndexFileError, *DAMAGE, *WRONG_VALUES, apsw.Error) as error:
        problem = f"{error}: `memoryfield embed` makes it anew"
        return IndexStatus(filename, model, dimensions, size, problem=problem)


def _counted(container: Container, store: IndexStore, filename: str, size: int) -> IndexStatus:
    changes = look(container, store)
    unreadable: list[tuple[str, str]] = []
    changed = {entry.name for entry in really_changed(container, changes, unreadable)}
    unsure = changed.union(name for name, _ in unreadable)
    rows = [row for name, row in changes.rows.items() if name in changes.entries and name not in unsure]
    return IndexStatus(
        filename=filename,
        model=store.model,
        dimensions=store.counts()[1] or store.dimensions,
        bytes=size,
        embedded=sum(bool(row.embedded) for row in rows),
        pending=len(changed) + sum(row.pending for row in rows),
        failures=(*unreadable, *((row.filename, row.fault) for row in rows if row.fault)),
        gone=len(changes.removed),
    )
