"""Which index files a field has, how each is opened, and whose vectors it holds."""

from __future__ import annotations

import os
from contextlib import suppress

import apsw

from ..containers import Container
from ..embedders import DEFAULT_MODEL, MODELS, Embedder, code_of_spec, dimensions_of, find_embedder
from ..embedders.specs import begins_with, parse
from ..errors import IndexFileError, IndexUnreadableError, PageNameError, ReadOnlyError, UnknownModelError
from ..names import INDEX_SUFFIX, is_index, model_code
from .store import BUSY_TIMEOUT_MS, DAMAGE, IndexStore

NOTED_TIMEOUT_MS = 5_000
"""How long a look at an index waits for a process that has it locked."""


def index_files(container: Container) -> dict[str, str]:
    """The field's indexes: model code to file name, the models that a search prefers first."""
    found: dict[str, str] = {}
    names = [name for name in container.names() if name.endswith(INDEX_SUFFIX)]
    for name in sorted(filter(is_index, names)):
        if not is_file(container, name):
            continue
        code = code_of(name)
        if code not in found or name == code + INDEX_SUFFIX:
            found[code] = name
    order = {model: place for place, model in enumerate(MODELS)}
    return dict(sorted(found.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))


def is_file(container: Container, name: str) -> bool:
    """Whether a file of the field has this name, and not something else, such as a folder or a pipe."""
    try:
        container.entry(name)
    except (OSError, PageNameError):  # a folder, a link that leads outside, a strange name
        return False
    return True


def code_of(name: str) -> str:
    """The model code with which an index's file name begins: a known one, else all of it."""
    stem = model_code(name)
    known = [model for model in MODELS if begins_with(stem, model)]
    return max(known, key=len, default=stem)


def embedder_of(container: Container, model: str, *, threads: int | None = None) -> Embedder:
    """The embedder of a known code, of a spec, or of the code of an index that the field has.

    The index itself tells which server its vectors come from, and how long they are.

    Args:
        threads: how many the bundled model uses.

    Raises:
        UnknownModelError: it is none of them.
    """
    code = code_of_spec(model)
    if code == DEFAULT_MODEL:
        return find_embedder(model, threads=threads)
    spec, dimensions = _noted(container, code)
    return find_embedder(spec if model == code and spec else model, dimensions=dimensions)


def has_embedder(container: Container, model: str) -> bool:
    """Whether `embedder_of` finds one."""
    try:
        embedder_of(container, model)
    except UnknownModelError:
        return False
    return True


def _noted(container: Container, code: str) -> tuple[str, int | None]:
    """The spec that an index was last synced with, and the length of its vectors, as far as it tells.

    Whoever made the file may have written anything there: only a spec of just this code counts.
    """
    name = index_files(container).get(code)
    if name is None:
        return "", None
    try:
        dimensions = dimensions_of(code)
        store = open_index(container, code, dimensions, name=name, timeout_ms=NOTED_TIMEOUT_MS, cached=True)
        try:
            spec, dimensions = store.embedder, store.counts()[1]
        finally:
            store.close()
        return (spec if parse(spec).code == code else ""), dimensions
    except UnknownModelError:
        return "", dimensions
    except (IndexFileError, OSError, apsw.Error, *DAMAGE):  # whoever opens it next will tell
        return "", None


def open_index(
    container: Container,
    model: str,
    dimensions: int | None,
    *,
    name: str = "",
    create: bool = False,
    timeout_ms: int = BUSY_TIMEOUT_MS,
    cached: bool = False,
) -> IndexStore:
    """The index of a model: the file itself, or where that cannot be, a copy in memory.

    An index in an archive, and one without our tables in a folder that cannot be written, are
    copied: what they lack is added to the copy. `name` is the file's, where it is known. With
    `cached`, an archive's index may come from the user's cache, brought up to date, and read-only.

    Raises:
        IndexFileError: there is none, or it is damaged or of another model.
        ReadOnlyError: it has to be made, and cannot be.
    """
    name = name or index_files(container).get(model, "")
    if not name:
        if not create:
            raise IndexFileError(f"there is no index of {model}")
        name = model + INDEX_SUFFIX
    path = container.local_path(name)
    if path is None:
        return _of_archive(container, model, dimensions, name, cached)
    writable = container.writable and (not path.exists() or os.access(path, os.W_OK))
    if create and not writable:
        raise ReadOnlyError(f"cannot write in {str(container.location)!r}: no permission")
    try:
        store = IndexStore.open(path, model, dimensions, writable=writable, create=create, timeout_ms=timeout_ms)
    except (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError, apsw.BusyError, apsw.PermissionsError) as error:
        raise IndexUnreadableError(f"{name} cannot be opened: {error}") from error
    if writable or store.has_own_tables:
        return store
    store.close()
    return _copy(container, model, dimensions, name)


def _of_archive(container: Container, model: str, dimensions: int | None, name: str, cached: bool) -> IndexStore:
    from .cache import check_size, slot

    check_size(container, name)
    place = slot(container, name) if cached else None
    store = place.filled(model, dimensions) if place else None
    return store or _copy(container, model, dimensions, name)


def _copy(container: Container, model: str, dimensions: int | None, name: str) -> IndexStore:
    try:
        content = container.read(name)
    except OSError as error:
        raise IndexUnreadableError(f"{name} cannot be read: {error.strerror or error}") from error
    return IndexStore.memory(model, dimensions, content, name)


def discard_index(container: Container, model: str) -> None:
    """Delete a model's index file, and the journal of a transaction that it was in."""
    name = index_files(container).get(model)
    if name is None:
        return
    container.delete(name)
    for journal in (f"{name}-journal", f"{name}-wal", f"{name}-shm"):
        with suppress(FileNotFoundError):
            container.delete(journal)
