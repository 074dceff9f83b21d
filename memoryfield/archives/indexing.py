"""The indexes that go into an archive: which they are, and what each is still missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

from ..containers import Container
from ..embedders import MODELS, Embedder, code_of_spec, dimensions_of, page_input
from ..embedders.specs import parse
from ..errors import EmbedderError, IndexFileError, MemoryfieldError, UnknownModelError, UsageError
from ..index.cache import check_size
from ..index.files import embedder_of, index_files
from ..index.packed import FreshIndex, Lived
from ..index.store import DAMAGE, JOURNAL, NO_WAL, WAL, WRONG_VALUES, IndexStore
from ..index.sync import Progress, sync
from ..validation.across import some
from ..validation.indexes import misnamed


class LeftOutError(Exception):
    """An index is not packed, and why."""


class Candidates(NamedTuple):
    """The indexes of a field by file name, and those that cannot be packed or are not wanted, with the reasons."""

    indexes: dict[str, Lived]
    left_out: list[tuple[str, str]]


def candidates(
    container: Container, databases: Sequence[str], models: Sequence[str] | None, scratch: Path
) -> Candidates:
    """Look at every index of a field. A database that is no index is not among them: it is a file like any other.

    Args:
        databases: the names of all files that are named like indexes.
        models: codes or specs of those that are wanted; None: all.
        scratch: a folder for copies of those that cannot be written.

    Raises:
        UsageError: the field has no index of a wanted model.
    """
    found = index_files(container)
    wanted = None if models is None else {code_of_spec(model) for model in models}
    if unknown := sorted((wanted or set()) - found.keys()):
        known = ", ".join(found) or "none"
        raise UsageError(f"there is no index of {unknown[0]!r}", hint=f"The field has indexes of: {known}.")
    indexes: dict[str, Lived] = {}
    left_out = [(name, "is a second index of the same model") for name in databases if name not in found.values()]
    for model, name in found.items():
        try:
            lived = _lived(container, model, name, scratch)
        except LeftOutError as error:
            left_out.append((name, str(error)))
            continue
        if lived and wanted is not None and model not in wanted:
            left_out.append((name, "is an index that was not asked for"))
        elif lived:
            indexes[name] = lived
    return Candidates(indexes, left_out)


def _lived(container: Container, model: str, name: str, scratch: Path) -> Lived | None:
    """An index as it is; None for a database that is none.

    Raises:
        LeftOutError: it is damaged, or named for no model.
    """
    dimensions = dimensions_of(model)
    try:
        path = _place(container, name, scratch)
        with closing(IndexStore.open(path, model, None, name=name)) as store:
            if fault := next(misnamed(store.connection, name), None):
                raise LeftOutError(fault.message)
            spec = store.embedder
    except IndexFileError as error:
        if model in MODELS:
            raise LeftOutError(f"{error.message}: `memoryfield embed` makes it anew") from error
        return None
    except (apsw.Error, *DAMAGE, *WRONG_VALUES) as error:
        raise LeftOutError(f"cannot be read: {error}") from error
    return Lived(path, model, spec if _is_spec_of(spec, model) else "", 4 * dimensions if dimensions else None)


def _is_spec_of(spec: str, model: str) -> bool:
    """Whether a spec means the model: whoever made the file may have written anything there."""
    try:
        return bool(spec) and parse(spec).code == model
    except UnknownModelError:
        return False


def _place(container: Container, name: str, scratch: Path) -> Path:
    """Where an index can be opened and written: its own place, or that of a copy."""
    path = container.local_path(name)
    if path is not None and container.writable and os.access(path, os.W_OK):
        return path
    check_size(container, name)
    copy = scratch / f"lived-{name}"
    with copy.open("w+b") as file, container.open(name) as source:
        shutil.copyfileobj(source, file, 1 << 20)
        file.seek(JOURNAL.start)
        if file.read(2) == WAL:  # and this copy has no write-ahead log
            file.seek(JOURNAL.start)
            file.write(NO_WAL)
    return copy


def complete(
    container: Container,
    fresh: FreshIndex,
    lived: Lived,
    packed: Callable[[str], bytes],
    progress: Progress | None,
) -> None:
    """Give a fresh index the vectors of a lived one, which is synced first if any are missing.

    Args:
        packed: gives a page's bytes as they are in the archive.

    Raises:
        LeftOutError: not every page that could have a vector got one.
    """
    try:
        fresh.take_vectors(lived)
        if not fresh.missing(1):
            return
        embedder, problem = _embedder(container, lived.model)
        if embedder is None and not _has_own_tables(lived):
            raise LeftOutError(_incomplete(fresh.missing(), problem))
        problem = _synced(container, lived, embedder, progress) or problem
        fresh.take_vectors(lived)
        if embedder is not None and not problem:
            for name in fresh.missing():  # they changed while they were packed
                fresh.put_vector(name, _embedded(embedder, name, packed(name)))
    except (apsw.Error, MemoryfieldError, *DAMAGE, *WRONG_VALUES) as error:
        raise LeftOutError(f"cannot be brought up to date: {error}") from error
    if missing := fresh.missing():
        raise LeftOutError(_incomplete(missing, problem))


def _embedder(container: Container, model: str) -> tuple[Embedder | None, str]:
    """The embedder of a model, or why there is none."""
    try:
        embedder = embedder_of(container, model)
    except UnknownModelError as error:
        return None, error.message
    problem = embedder.unavailable()
    return (None if problem else embedder), problem


def _has_own_tables(lived: Lived) -> bool:
    with closing(IndexStore.open(lived.path, lived.model, None)) as store:
        return store.has_own_tables


def _synced(container: Container, lived: Lived, embedder: Embedder | None, progress: Progress | None) -> str:
    """Bring a lived index up to date, by its keyword rows alone without an embedder; what went wrong, or nothing."""
    dimensions = embedder.dimensions if embedder else lived.width and lived.width // 4
    with closing(IndexStore.open(lived.path, lived.model, dimensions, create=True)) as store:
        report = sync(container, store, embedder, progress=progress)
    if report.unavailable or not report.pending:
        return report.unavailable
    return next((f"{name} {reason}" for name, reason in report.failed), "")


def _embedded(embedder: Embedder, name: str, raw: bytes) -> bytes:
    [answer] = embedder.embed_pages([page_input(raw)])
    if isinstance(answer, EmbedderError):
        raise LeftOutError(f"{name} cannot be embedded: {answer}")
    return answer


def missing_in(lived: Lived, hashes: Mapping[str, bytes]) -> list[str]:
    """The pages that have no vector in a lived index; `hashes` are those of all that could have one."""
    with closing(IndexStore.open(lived.path, lived.model, None)) as store:
        there = dict(store.connection.execute("SELECT filename, sha256_hash FROM pages"))
    return sorted(name for name, sha256 in hashes.items() if there.get(name) != sha256)


def why_incomplete(container: Container, lived: Lived, missing: Sequence[str]) -> str:
    """Why these pages cannot get their vectors now; nothing if they can."""
    embedder, problem = _embedder(container, lived.model)
    return "" if embedder else _incomplete(missing, problem)


def _incomplete(missing: Sequence[str], problem: str) -> str:
    count = "1 page has" if len(missing) == 1 else f"{len(missing):,} pages have"
    return f"{count} no vector of the present text ({some(list(missing))})" + (f", and {problem}" if problem else "")
