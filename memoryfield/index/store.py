"""One index file: opened, checked, read and written. SQLite through apsw; no text of a page is kept."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from ..containers.base import inode_of
from ..dates import iso_time, storable
from ..errors import IndexFileError
from . import schema

BUSY_TIMEOUT_MS = 30_000

WRITE_CACHE_KB = 16 << 10
"""A transaction that does not fit into the cache keeps readers out long before its end."""
MERGE_PAGES = 1_000
"""So many database pages of the keyword table are merged in one transaction: about a tenth of a second."""

FORGOTTEN_AT_ONCE = 2_000

JOURNAL = slice(18, 20)
"""Where SQLite's header says which kind of journal a file keeps: a write-ahead log (`WAL`), or a plain one."""
WAL, NO_WAL = b"\x02\x02", b"\x01\x01"

DAMAGE = (
    apsw.NotADBError,
    apsw.CorruptError,
    apsw.FormatError,
    apsw.SQLError,
    apsw.ConstraintError,
    apsw.MismatchError,
    UnicodeDecodeError,
)
"""What SQLite raises for a file that can only be made anew."""


WRONG_VALUES = (TypeError, AttributeError, ValueError, RecursionError, OverflowError)
"""What Python raises over values that nobody but another program can have put into an index."""


class Row(NamedTuple):
    """What the index knows of a page. `embedded`: its vector is of these bytes and of the right length."""

    filename: str
    id: int
    size: int
    mtime_ns: int
    crc32: int
    sha256: bytes
    indexed_ns: int
    fault: str | None
    embedded: int

    @property
    def pending(self) -> bool:
        """Whether a vector is missing that could be made."""
        return not self.embedded and self.fault is None


class Record(NamedTuple):
    """A page as it goes into the index. Without a `vector`, the one that is stored stays."""

    filename: str
    size: int
    mtime_ns: int
    crc32: int
    sha256: bytes
    indexed_ns: int
    broken: bool
    text: str
    frontmatter: dict[str, Any]
    created_ns: int | None = None
    updated_ns: int | None = None
    expires_ns: int | None = None
    supersedes: tuple[str, ...] = ()
    fault: str | None = None
    vector: bytes | None = None


INSERT_FILE = (
    "INSERT INTO memoryfield_files (filename, size, mtime_ns, crc32, sha256, indexed_ns, fault, broken,"
    " frontmatter, created_ns, updated_ns, expires_ns, supersedes)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def file_values(record: Record) -> tuple[Any, ...]:
    """The values for `INSERT_FILE`."""
    return (
        record.filename,
        record.size,
        storable(record.mtime_ns),
        record.crc32,
        record.sha256,
        record.indexed_ns,
        record.fault,
        record.broken,
        frontmatter_text(record),
        record.created_ns,
        record.updated_ns,
        record.expires_ns,
        json.dumps(record.supersedes) if record.supersedes else None,
    )


def frontmatter_text(record: Record) -> str:
    """The frontmatter of a page as it is stored."""
    return json.dumps(record.frontmatter, ensure_ascii=False)


class IndexStore:
    """The index of one model, in a file or in memory.

    ```python
    store = IndexStore.open(Path("notes/all-MiniLM-L6-v2.sqlite3"), "all-MiniLM-L6-v2", 384, create=True)
    with store.transaction():
        store.put(record)
    ```

    Raises, from `open` and `load`:
        IndexFileError: the file is no index of this model, or is damaged.
    """

    def __init__(self, connection: apsw.Connection, model: str, dimensions: int | None, *, writable: bool) -> None:
        self.connection = connection
        self.model = model
        self.dimensions = dimensions
        self.writable = writable
        self.has_own_tables = False
        self.kept_changes = 0
        """Of the changes made here, so many are in the cache."""
        self._vectors_loaded = False
        self._file: tuple[Path, tuple[int, int] | None] | None = None
        self._lengths: tuple[object, int] | None = None

    @classmethod
    def open(
        cls,
        path: Path,
        model: str,
        dimensions: int | None,
        *,
        writable: bool = True,
        create: bool = False,
        timeout_ms: int = BUSY_TIMEOUT_MS,
        name: str = "",
    ) -> "IndexStore":
        """Open an index file; with `create`, make it if it is not there. `name`: what errors call it."""
        name = name or path.name
        flags = apsw.SQLITE_OPEN_READONLY
        if writable:
            flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
        try:
            connection = apsw.Connection(str(path), flags=flags)
            connection.set_busy_timeout(timeout_ms)
            try:
                if create:
                    connection.pragma("cache_size", -WRITE_CACHE_KB)
                    if not path.stat().st_size:
                        connection.pragma("page_size", 8192)
                store = cls._checked(connection, name, model, dimensions, writable, create)
                store._file = path, inode_of(path)
                return store
            except BaseException:
                connection.close()
                raise
        except DAMAGE as error:
            raise IndexFileError(f"{name} is damaged: {error}") from error

    @classmethod
    def memory(cls, model: str, dimensions: int | None, content: bytes | None = None, name: str = "") -> "IndexStore":
        """An index in memory: empty, or with a file's content."""
        connection = apsw.Connection(":memory:")
        try:
            if content is not None:
                deserialize(connection, content)
            return cls._checked(connection, name, model, dimensions, True, content is None)
        except DAMAGE as error:
            connection.close()
            raise IndexFileError(f"{name} is damaged: {error}") from error

    @classmethod
    def _checked(
        cls,
        connection: apsw.Connection,
        name: str,
        model: str,
        dimensions: int | None,
        writable: bool,
        create: bool,
    ) -> "IndexStore":
        store = cls(connection, model, dimensions, writable=writable)
        _set_up(connection, mapped=not create)
        store._check(name, create)
        return store

    def to_memory(self) -> None:
        """Go on with a copy in memory, which can be written, in place of a file that must stay as it is."""
        if self.writable:
            return
        connection = apsw.Connection(":memory:")
        connection.deserialize("main", self.connection.serialize("main"))
        _set_up(connection)
        self.connection.close()
        self.connection, self.writable, self._vectors_loaded, self._file = connection, True, False, None

    @property
    def is_in_place(self) -> bool:
        """Whether the file is the one that was opened, and not another of its name; what is in memory always is."""
        return self._file is None or inode_of(self._file[0]) == self._file[1]

    def unmap(self) -> None:
        """Read the file as files are read: one that somebody cuts short under a mapping ends the process."""
        self.connection.pragma("mmap_size", 0)

    def _check(self, name: str, create: bool) -> None:
        self._refuse_programs(name)
        columns = {row[1] for row in self.connection.execute("PRAGMA table_info(pages)")}
        if not columns:
            if not create:
                raise IndexFileError(f"{name} is empty: it has no table `pages`")
        elif missing := schema.PAGES_COLUMNS - columns:
            raise IndexFileError(f"{name} is no index: its table `pages` has no column {sorted(missing)[0]!r}")
        meta = self._meta()
        if meta.get("model", self.model) != self.model:
            raise IndexFileError(f"{name} holds vectors of another model, {meta['model']!r}")
        self.has_own_tables = meta.get("version") == schema.VERSION and self._has_all_tables()

    def _refuse_programs(self, name: str) -> None:
        """An index holds rows. What computes them while they are read or written may never come to an end."""
        sql = """
            SELECT type, name FROM sqlite_master WHERE type = 'trigger' OR (type = 'view' OR sql LIKE 'CREATE VIRTUAL%')
            AND (lower(name) = 'pages' OR name LIKE 'memoryfield\\_%' ESCAPE '\\' AND name <> 'memoryfield_keyword')
        """
        for kind, what in self.connection.execute(sql):
            kind = "virtual table" if kind == "table" else kind
            raise IndexFileError(f"{name} is no index: {what!r} in it is a {kind}")

    def _meta(self) -> dict[str, str]:
        if not self._has_table("memoryfield_meta"):
            return {}
        return dict(self.connection.execute("SELECT key, value FROM memoryfield_meta"))

    def _has_all_tables(self) -> bool:
        return all(self._has_table(f"memoryfield_{name}") for name in ("meta", "files", "keyword"))

    def _has_table(self, name: str) -> bool:
        return bool(self.count("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)))

    def prepare(self) -> None:
        """Make the tables that are missing, and our own anew if they are of another version."""
        if self.has_own_tables:
            return
        if self._has_table("pages") and not self._has_table("memoryfield_meta"):
            self._clean()
        with self.transaction():
            if self._meta().get("version") == schema.VERSION and self._has_all_tables():
                self.has_own_tables = True  # another process was quicker
                return
            self._make_tables()
        self.has_own_tables = True

    def _make_tables(self) -> None:
        """Our own tables, empty, and `pages` if it is not there; who embeds is not forgotten."""
        embedder = self.embedder
        self.connection.execute(schema.PAGES + schema.DROP_OURS + schema.OURS)
        self.connection.executemany(
            "INSERT INTO memoryfield_meta VALUES (?, ?)", [("model", self.model), ("version", schema.VERSION)]
        )
        if embedder:
            self.note_embedder(embedder)

    def forget(self) -> None:
        """Let all be made anew by the next sync: no vector counts any more, and our own tables are empty.

        In place, not in another file that takes this one's name: a process that has this one open
        would go on with a journal that is then taken for the new file's. The old vectors serve
        searches until there are new ones, if those will have the same length, and a sync that is
        killed is gone on with.

        Raises:
            IndexFileError: the file is damaged.
        """
        if (found := self.connection.pragma("integrity_check")) != "ok":
            raise IndexFileError(f"{Path(self.connection.filename).name} is damaged: {found}")
        if not self._has_table("pages"):
            return
        names = [row[0] for row in self.connection.execute("SELECT filename FROM pages")]
        sql = "DELETE FROM pages" if self.dimensions is None else "UPDATE pages SET sha256_hash = zeroblob(32)"
        sql += " WHERE filename IN (SELECT value FROM json_each(?))"
        for place in range(0, len(names), FORGOTTEN_AT_ONCE):
            with self.transaction():
                self.connection.execute(sql, (json.dumps(names[place : place + FORGOTTEN_AT_ONCE]),))
        with self.transaction():
            self._make_tables()
        self.has_own_tables = True

    def _clean(self) -> None:
        """Rid another tool's file of what it deleted and did not overwrite, and of a journal that stays beside it."""
        with suppress(apsw.BusyError, apsw.LockedError, apsw.FullError, apsw.IOError):  # nothing depends on it
            self.connection.pragma("journal_mode", "delete")
            self.connection.execute("VACUUM")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing. Taken for writing from the start, and meant to be short."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            if self.has_own_tables:
                self.connection.execute("DELETE FROM memoryfield_meta WHERE key LIKE 'current by %'")
            yield
        except BaseException:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """What is read within is of one moment; who writes meanwhile waits, or is not seen."""
        self.connection.execute("BEGIN")
        try:
            yield
        finally:
            if self.connection.in_transaction:
                self.connection.execute("COMMIT")

    def close(self) -> None:
        self.connection.close()

    # reading

    @property
    def _width(self) -> int | None:
        """Bytes of a vector of the model's length, where that is known."""
        return None if self.dimensions is None else 4 * self.dimensions

    def rows(self) -> dict[str, Row]:
        """What is known of each page, by file name.

        Raises:
            apsw.MismatchError: a value is not of its column's type; SQLite lets any be stored.
        """
        if not self.has_own_tables:
            return {}
        if self.count(f"SELECT EXISTS (SELECT 1 FROM memoryfield_files WHERE {_WRONG_TYPES})"):
            raise apsw.MismatchError("a row holds values of other types than its columns")
        sql = """
            SELECT f.filename, f.id, f.size, f.mtime_ns, f.crc32, f.sha256, f.indexed_ns, f.fault,
                   p.sha256_hash IS f.sha256 AND length(p.embedding) = ifnull(?, length(p.embedding))
            FROM memoryfield_files f LEFT JOIN pages p ON p.filename = f.filename
        """
        return {row.filename: row for row in map(Row._make, self.connection.execute(sql, (self._width,)))}

    def vector_hashes(self, filenames: Sequence[str]) -> dict[str, bytes]:
        """The sha256 of the bytes that each page's stored vector was made of."""
        sql = "SELECT filename, sha256_hash FROM pages WHERE filename IN (SELECT value FROM json_each(?))"
        sql += " AND length(embedding) = ifnull(?, length(embedding))"
        return dict(self.connection.execute(sql, (json.dumps(list(filenames)), self._width)))

    def frontmatter(self, filename: str, sha256: bytes) -> str | None:
        """A page's stored frontmatter as JSON text, if it is of these bytes and nothing was wrong with it."""
        if not self.has_own_tables:
            return None
        sql = "SELECT frontmatter FROM memoryfield_files WHERE filename = ? AND sha256 = ? AND NOT broken"
        return next((row[0] for row in self.connection.execute(sql, (filename, sha256))), None)

    def vector(self, filename: str) -> bytes | None:
        """A page's stored vector, of whichever bytes it was made."""
        sql = "SELECT embedding FROM pages WHERE filename = ? AND length(embedding) = ifnull(?, length(embedding))"
        return next((bytes(row[0]) for row in self.connection.execute(sql, (filename, self._width))), None)

    @property
    def may_hold_stale(self) -> bool:
        """Whether any page says when it expires, or which page it takes the place of."""
        if not self.has_own_tables:
            return True
        sql = "SELECT EXISTS (SELECT 1 FROM memoryfield_files WHERE {} IS NOT NULL)"
        return any(self.count(sql.format(column)) for column in ("expires_ns", "supersedes"))

    def version(self) -> tuple[int, int]:
        """Another one after every change, whoever made it."""
        return self.count("PRAGMA data_version"), self.connection.total_changes()

    def is_current(self, fingerprint: str | Callable[[], str], *, vectors: bool = False) -> bool:
        """Whether the index is of just these pages, by a container's fingerprint, and nothing is missing.

        A fingerprint that is still being taken is waited for last.

        With `vectors`, also whether all vectors have the model's length, whoever may have written them.
        """
        if not self.has_own_tables or (vectors and self.wrong_length()):
            return False
        sql = "SELECT count(*) FROM memoryfield_meta WHERE key LIKE 'current by %' AND value = ?"
        return bool(self.count(sql, (fingerprint if isinstance(fingerprint, str) else fingerprint(),)))

    def mark_current(self, *fingerprints: str) -> None:
        """Remember the pages that the index is of; any later change forgets them."""
        with self.transaction():
            self.connection.executemany(
                "INSERT INTO memoryfield_meta VALUES (?, ?)",
                [(f"current by {fingerprint.split(':')[0]}", fingerprint) for fingerprint in fingerprints],
            )

    @property
    def embedder(self) -> str:
        """The spec of the embedder that the index was last synced with; empty where that is not known."""
        return str(self._meta().get("embedder", ""))

    def counts(self) -> tuple[int, int | None]:
        """How many vectors there are, and their dimensions (None without any)."""
        count = self.count("SELECT count(*) FROM pages")
        first = self.connection.execute("SELECT length(embedding) / 4 FROM pages LIMIT 1").fetchone()
        return count, first and first[0]

    def wrong_length(self) -> int:
        """How many vectors are not of the model's length. Every row is looked at, once for each version."""
        if self._width is None:
            return 0
        seen = self.version(), self._width
        if self._lengths is None or self._lengths[0] != seen:
            sql = "SELECT count(*) FROM pages WHERE length(embedding) <> ?"
            self._lengths = seen, self.count(sql, (self._width,))
        return self._lengths[1]

    def count(self, sql: str, bindings: tuple[Any, ...] = ()) -> int:
        """The number that a query gives."""
        return next(int(row[0]) for row in self.connection.execute(sql, bindings))

    def load_vectors(self) -> None:
        """Bring in sqlite-vec's functions, by its file: importing its package would bring in numpy."""
        if self._vectors_loaded:
            return
        spec = importlib.util.find_spec("sqlite_vec")
        if spec is None or not spec.submodule_search_locations:
            raise IndexFileError("sqlite-vec is not installed", hint="Run `pip install sqlite-vec`.")
        suffix = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
        library = Path(next(iter(spec.submodule_search_locations))) / f"vec0{suffix}"
        self.connection.enable_load_extension(True)
        self.connection.load_extension(str(library), "sqlite3_vec_init")
        self.connection.enable_load_extension(False)
        self._vectors_loaded = True

    # writing, each within a transaction of the caller's

    def put(self, record: Record) -> None:
        """Store a page: its keyword row, and its vector if it has one."""
        last_modified, frontmatter = iso_time(record.mtime_ns), frontmatter_text(record)
        self._drop_words(record.filename)
        self.connection.execute(INSERT_FILE, file_values(record))
        self.connection.execute(
            "INSERT INTO memoryfield_keyword (rowid, text) VALUES (?, ?)",
            (self.connection.last_insert_rowid(), schema.words(record.text)),
        )
        if record.vector is not None:
            self.connection.execute(
                "INSERT OR REPLACE INTO pages (filename, frontmatter, last_modified, sha256_hash, embedding)"
                " VALUES (?, ?, ?, ?, ?)",
                (record.filename, frontmatter, last_modified, record.sha256, record.vector),
            )
            return
        if record.fault is not None:
            self.connection.execute("DELETE FROM pages WHERE filename = ?", (record.filename,))
        # A vector of other bytes stays until there is a new one, with its own sha256 and time; the old words go.
        self.connection.execute("UPDATE pages SET frontmatter = ? WHERE filename = ?", (frontmatter, record.filename))
        self._date_vector(record.filename, last_modified)

    def note_embedder(self, spec: str) -> None:
        """Remember whom the vectors are from: a later sync asks the same server."""
        self.connection.execute("INSERT OR REPLACE INTO memoryfield_meta VALUES ('embedder', ?)", (spec,))

    def _date_vector(self, filename: str, last_modified: str) -> None:
        """Give a vector its file's time, if it is of the file's bytes: other tools may go by the time alone."""
        self.connection.execute(
            "UPDATE pages SET last_modified = ?1 WHERE filename = ?2"
            " AND sha256_hash = (SELECT sha256 FROM memoryfield_files WHERE filename = ?2)",
            (last_modified, filename),
        )

    def _drop_words(self, filename: str) -> None:
        """Take a page out of our own tables; `forget_words` then takes its words out of the file."""
        row = self.connection.execute("SELECT id FROM memoryfield_files WHERE filename = ?", (filename,)).fetchone()
        if row:
            self.connection.execute("DELETE FROM memoryfield_keyword WHERE rowid = ?", row)
            self.connection.execute("DELETE FROM memoryfield_files WHERE id = ?", row)
            self.connection.execute(
                "INSERT OR REPLACE INTO memoryfield_meta VALUES ('traces', lower(hex(randomblob(8))))"
            )

    def touch(self, filename: str, size: int, mtime_ns: int, crc32: int, indexed_ns: int) -> None:
        """The file has another time and the same bytes."""
        self.connection.execute(
            "UPDATE memoryfield_files SET size = ?, mtime_ns = ?, crc32 = ?, indexed_ns = ? WHERE filename = ?",
            (size, storable(mtime_ns), crc32, indexed_ns, filename),
        )
        self._date_vector(filename, iso_time(mtime_ns))

    def rename(self, old: str, new: str) -> None:
        """A page's rows get its new name."""
        if self.has_own_tables and self._knows("memoryfield_files", old):
            self._drop_words(new)
            self.connection.execute("UPDATE memoryfield_files SET filename = ? WHERE filename = ?", (new, old))
        if self._knows("pages", old):
            self.connection.execute("DELETE FROM pages WHERE filename = ?", (new,))
            self.connection.execute("UPDATE pages SET filename = ? WHERE filename = ?", (new, old))

    def _knows(self, table: str, filename: str) -> bool:
        return bool(self.count(f"SELECT count(*) FROM {table} WHERE filename = ?", (filename,)))

    def remove(self, filenames: Sequence[str]) -> None:
        """Drop the rows of pages."""
        for name in filenames:
            self.connection.execute("DELETE FROM pages WHERE filename = ?", (name,))
            if self.has_own_tables:
                self._drop_words(name)

    def remove_stale_vectors(self) -> None:
        """Drop the vectors that are not of their pages' present bytes."""
        self.connection.execute(
            "DELETE FROM pages WHERE NOT EXISTS (SELECT 1 FROM memoryfield_files f"
            " WHERE f.filename = pages.filename AND f.sha256 = pages.sha256_hash)"
        )

    @property
    def has_traces(self) -> bool:
        """Whether words of deleted rows are still in the file."""
        return self.has_own_tables and "traces" in self._meta()

    def forget_words(self) -> None:
        """Take the words of deleted rows out of the file; until then, the keyword table keeps them.

        Transactions of its own: in a large field this takes seconds, and none is to be kept waiting so long.
        """
        while self.has_traces:
            self._merge_words()

    def _merge_words(self) -> None:
        """Merge the keyword table into one segment; done if nobody deleted any more words meanwhile."""
        seen = self._meta().get("traces")
        at_once = -MERGE_PAGES  # the first call puts all segments on one level, so that they become one
        merging = True
        while merging:
            with self.transaction():
                before = self.connection.total_changes()
                self.connection.execute(
                    "INSERT INTO memoryfield_keyword (memoryfield_keyword, rank) VALUES ('merge', ?)", (at_once,)
                )
                merging = self.connection.total_changes() - before >= 2  # else all is merged, says FTS5
                if not merging:
                    self.connection.execute("DELETE FROM memoryfield_meta WHERE key = 'traces' AND value = ?", (seen,))
            at_once = MERGE_PAGES


def deserialize(connection: apsw.Connection, content: bytes) -> None:
    """Let a connection to memory hold a file's content."""
    # A file in WAL mode cannot be read from memory: say that its journal is a plain one.
    connection.deserialize("main", content[: JOURNAL.start] + NO_WAL + content[JOURNAL.stop :])


def _set_up(connection: apsw.Connection, *, mapped: bool = True) -> None:
    """Mapped pages count as memory: a search wants them for their speed, a sync would map the whole file."""
    for pragma, value in (("mmap_size", mapped << 30), ("secure_delete", True), ("temp_store", "memory")):
        connection.pragma(pragma, value)
    connection.pragma("trusted_schema", False)  # the file may come from anybody


_TYPES = {
    "text": ("filename", "frontmatter"),
    "integer": ("size", "mtime_ns", "crc32", "indexed_ns", "broken"),
    "blob": ("sha256",),
}
_OPTIONAL_TYPES = {"text": ("fault", "supersedes"), "integer": ("created_ns", "updated_ns", "expires_ns")}
_WRONG_TYPES = " OR ".join(
    [f"typeof({name}) <> '{kind}'" for kind, names in _TYPES.items() for name in names]
    + [f"typeof({name}) NOT IN ('{kind}', 'null')" for kind, names in _OPTIONAL_TYPES.items() for name in names]
)
