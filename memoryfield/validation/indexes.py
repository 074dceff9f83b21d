"""Rules about vector indexes: is it one, whose is it, and does it match the pages."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import apsw

from .. import names
from ..containers import Container
from ..embedders import MODELS, code_of_spec, dimensions_of
from ..embedders.specs import begins_with
from ..errors import MemoryfieldError
from ..index.files import code_of, is_file
from ..index.schema import PAGES_COLUMNS
from ..index.store import JOURNAL, WAL, deserialize
from .across import some
from .report import Fault

FEW_PAGES = 100
"""A field of fewer needs no index."""
_FLOAT_BYTES = 4
_NO_MODEL = frozenset(["", *"index indexes vector vectors embedding embeddings pages search memory db".split()])
_TEXTUAL = re.compile(r"\.(csv|tsv|jsonl?|ndjson|txt|ya?ml|xml)(\.gz)?$", re.IGNORECASE)


class Soundness:
    """Looks whether the databases in a folder are sound, while others use the time: SQLite needs no Python for it."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._problems: dict[str, str] = {}
        self._thread = threading.Thread(target=self._look, daemon=True)
        if container.local_path("index.md"):  # else they have to be unpacked first, one at a time
            self._thread.start()

    def _look(self) -> None:
        listed: list[str] = []
        with suppress(OSError):  # whoever lists the pages will tell
            listed = self._container.names()
        for name in filter(names.is_index, listed):
            with suppress(OSError, MemoryfieldError, apsw.Error, UnicodeDecodeError):  # will be told when it is opened
                connection = _open(self._container, name)
                try:
                    self._problems[name] = _problem(connection)
                finally:
                    connection.close()

    def problem(self, name: str, connection: apsw.Connection) -> str:
        """What is wrong with a database, or nothing."""
        if self._thread.ident is not None:
            self._thread.join()
        return self._problems[name] if name in self._problems else _problem(connection)


def _problem(connection: apsw.Connection) -> str:
    found = [str(problem) for (problem,) in connection.execute("PRAGMA quick_check(1)")]
    return "" if found == ["ok"] else found[0].splitlines()[-1]


def indexes(container: Container, hashes: dict[str, bytes], soundness: Soundness) -> Iterator[Fault]:
    """X-1, X-3 and X-5 to X-10, R-8.

    Args:
        hashes: of every page that could be read, the SHA-256; of one without text, nothing.
    """
    found = [name for name in sorted(container.names()) if not names.is_debris(name)]
    for name in found:
        if _TEXTUAL.search(name) and any(begins_with(name, model) for model in MODELS):
            yield Fault(name, 0, 0, "X-5", "is a vector index in a textual format")
    seen = False
    for name in (name for name in found if names.is_index(name) and is_file(container, name)):
        faults, is_index = _index(container, name, hashes, soundness)
        seen = seen or is_index
        yield from faults
    other = any(begins_with(name, model) and not names.is_page(name) for name in found for model in MODELS)
    if not seen and not other and len(hashes) >= FEW_PAGES:
        yield Fault("", 0, 0, "X-1", f"{len(hashes):,} pages, and no vector index")


def _index(container: Container, name: str, hashes: dict[str, bytes], soundness: Soundness) -> tuple[list[Fault], bool]:
    """What is wrong with a file that is named as an SQLite database, and whether it is an index at all."""
    claims = any(begins_with(names.model_code(name), model) for model in MODELS)
    try:
        connection = _open(container, name)
        try:
            columns = {row[1] for row in connection.execute("PRAGMA table_info(pages)")}
            if not claims and not {"filename", "embedding"} <= columns:
                return [], False  # somebody's own database
            found = list(_described(connection, name, columns))
            if _program(connection) or not {"filename", "embedding", "sha256_hash"} <= columns:
                return found, True
            if problem := soundness.problem(name, connection):
                return [*found, Fault(name, 0, 0, "X-10", f"is damaged: {problem}")], True
            return [*found, *_rows(connection, name, container, hashes)], True
        finally:
            connection.close()
    except OSError as error:
        return [Fault(name, 0, 0, "X-10", f"cannot be read: {error.strerror or error}")], True
    except apsw.BusyError:
        return [], True  # somebody writes to it
    except (apsw.Error, UnicodeDecodeError) as error:
        return [Fault(name, 0, 0, "X-10", f"is no sound SQLite database: {error}")], True


def _open(container: Container, name: str) -> apsw.Connection:
    """A database, read-only; out of an archive, in memory. Nothing in it may read beyond it, or run."""
    path = container.local_path(name)
    if path is None:
        connection = apsw.Connection(":memory:")
        if content := container.read(name):
            deserialize(connection, content)
    else:
        how = "?immutable=1" if _is_at_rest(path) else ""
        uri = path.absolute().as_uri() + how
        connection = apsw.Connection(uri, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.set_busy_timeout(2_000)
    connection.pragma("mmap_size", 1 << 30)
    return connection


def _is_at_rest(path: Path) -> bool:
    """Whether a database keeps a write-ahead log, and none is there: SQLite would make one to read, and leave it."""
    with path.open("rb") as file:
        is_wal = file.read(JOURNAL.stop)[JOURNAL] == WAL
    return is_wal and not path.with_name(path.name + "-wal").exists()


def _described(connection: apsw.Connection, name: str, columns: set[str]) -> Iterator[Fault]:
    """X-3 and X-6: what its name says, and what it is made of."""
    yield from misnamed(connection, name)
    if program := _program(connection):
        yield Fault(name, 0, 0, "X-6", f"{program}, which readers do not run")
        return
    if missing := PAGES_COLUMNS - columns:
        what = f"has no column {sorted(missing)[0]!r}" if columns else "is not there"
        yield Fault(name, 0, 0, "X-6", f"its table `pages` {what}")


def _program(connection: apsw.Connection) -> str:
    """Something in a database that would be run when it is read or written, or nothing."""
    sql = (
        "SELECT type, name FROM sqlite_master WHERE type = 'trigger' OR lower(name) = 'pages' AND"
        " (type = 'view' OR sql LIKE 'CREATE VIRTUAL%')"
    )
    for kind, what in connection.execute(sql):
        return f"{what!r} in it is a {'virtual table' if kind == 'table' else kind}"
    return ""


def misnamed(connection: apsw.Connection, name: str) -> Iterator[Fault]:
    """X-3: whether the file name begins with the code of the model whose vectors it holds."""
    stem = names.model_code(name)
    meant = code_of_spec(f"ollama:{stem}")
    if meant in MODELS and not begins_with(stem, meant):
        yield Fault(name, 0, 0, "X-3", f"the full model code is {meant}")
        return
    if set(re.split(r"[^a-z]+", stem.lower())) <= _NO_MODEL:
        yield Fault(name, 0, 0, "X-3", "its name tells no model")
        return
    noted = connection.execute(
        "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'memoryfield_meta'"
    ).fetchone()
    model = noted and connection.execute("SELECT value FROM memoryfield_meta WHERE key = 'model'").fetchone()
    if model and not begins_with(stem, str(model[0])):
        yield Fault(name, 0, 0, "X-3", f"it holds vectors of {model[0]}")


def _rows(connection: apsw.Connection, name: str, container: Container, hashes: dict[str, bytes]) -> Iterator[Fault]:
    """X-7 to X-9 and R-8: the rows beside the pages."""
    lengths: Counter[int | None] = Counter()
    gone: list[str] = []
    stale: list[str] = []
    missing = {page for page, digest in hashes.items() if digest}
    there = set(filter(names.is_page, container.names()))
    sql = "SELECT filename, sha256_hash, CASE typeof(embedding) WHEN 'blob' THEN length(embedding) END FROM pages"
    for page, digest, length in connection.execute(sql):
        lengths[length] += 1
        missing.discard(page)
        if page not in hashes:  # one that is there could not be read: others tell
            if page not in there:
                gone.append(page if isinstance(page, str) else f"one named {page!r}")
        elif hashes[page] != digest:
            stale.append(page)
    yield from _lengths(name, lengths)
    if gone:
        yield Fault(name, 0, 0, "X-8", f"holds rows of pages that are gone: {some(sorted(gone))}")
    if behind := sorted(set(stale)) + sorted(missing):
        counts = f"{len(stale):,} changed, {len(missing):,} missing"
        requirement = "R-8" if container.writable or container.local_path(name) else "X-9"
        yield Fault(name, 0, 0, requirement, f"is behind its pages ({counts}): {some(behind)}")


def _lengths(name: str, lengths: Counter[int | None]) -> Iterator[Fault]:
    """X-7."""
    dimensions = dimensions_of(code_of(name))
    known = (dimensions or 0) * _FLOAT_BYTES or (lengths and lengths.most_common(1)[0][0])
    wrong = sum(count for length, count in lengths.items() if length != known or not length or length % _FLOAT_BYTES)
    if wrong:
        expected = f"{dimensions} numbers" if dimensions else "float32 numbers of one length"
        yield Fault(name, 0, 0, "X-7", f"{wrong:,} of its vectors are not {expected}")
