"""An index made afresh, for an archive: it tells of the pages and their vectors, and is the same wherever it is made.

A database that has lived keeps traces: of what was deleted, of the order in which it grew, of the
version of SQLite that wrote it. So our own tables are made of the pages, in order of name and in
one go; the vectors are taken from the lived index, where they are of just these bytes; all is
copied once more, without gaps; and what SQLite notes of itself in the file's header is evened out.
"""

from __future__ import annotations

import errno
import json
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from ..containers.base import digest, digest_line
from . import schema
from .store import BUSY_TIMEOUT_MS, INSERT_FILE, Record, file_values
from .sync import CLOCK_SLACK_NS

FLUSH_BYTES = 24 << 20
"""After so many bytes of text, the words that were gathered are written: they take about as much memory."""
_NEVER = 1 << 30
_PAGE_SIZE = 8192
_CACHE_KB = 16 << 10
_SQLITE_VERSION = 3_047_001
"""The oldest SQLite that we work with stands in the header as the one that wrote the file."""
_ROW = (
    "(rowid, filename, frontmatter, last_modified, sha256_hash, embedding) SELECT f.id, f.filename, f.frontmatter,"
    " strftime('%Y-%m-%dT%H:%M:%S.000000Z', f.mtime_ns / 1000000000, 'unixepoch'), f.sha256, {}"
    " FROM main.memoryfield_files f"
)
"""A page's row, with a vector from somewhere. The numbers are given so that rows stand in order of name."""
_HEADER = ((24, 1), (40, 1), (92, 1), (96, _SQLITE_VERSION))
"""Change counter, schema cookie, the change that the version is valid for, the version: place and value."""


class Lived(NamedTuple):
    """The index that vectors are taken from: its file, its model, the embedder's spec, a vector's bytes if known."""

    path: Path
    model: str
    spec: str
    width: int | None


class Words:
    """The words of some pages on their way into a scratch file, from which a `FreshIndex` is made.

    ```python
    words = Words(folder / "words")
    words.add(records)                  # in order of name; may be in another thread
    words.finish()
    ```

    Raises, from all of these:
        OSError: the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self._text = self._flushes = 0
        self._connection = _connect(path)
        with _disk_errors():
            self._connection.execute(schema.PAGES + schema.OURS)
            # Flushed and merged only when we say so: versions of SQLite need not agree on when.
            for option, value in (("hashsize", _NEVER), ("automerge", 0), ("crisismerge", 1999)):
                self._connection.execute(
                    "INSERT INTO memoryfield_keyword (memoryfield_keyword, rank) VALUES (?, ?)", (option, value)
                )
            self._connection.execute("BEGIN")

    def add(self, records: Sequence[Record]) -> None:
        """Take in pages; all of them in order of name."""
        with _disk_errors():
            self._connection.executemany(INSERT_FILE, map(file_values, records))
            first = self._connection.last_insert_rowid() - len(records) + 1
            # In SQLite's JSON, a text ends with a NUL; to the tokenizer that is the same as a space.
            texts = [schema.words(record.text).replace("\0", " ") for record in records]
            self._connection.execute(
                # One statement: while SQLite is at it, other threads run.
                "INSERT INTO memoryfield_keyword (rowid, text) SELECT ? + key, value FROM json_each(?) ORDER BY key",
                (first, json.dumps(texts, ensure_ascii=False)),
            )
            self._text += sum(record.size for record in records)
            if self._text >= FLUSH_BYTES:
                self._connection.execute("COMMIT")
                self._connection.execute("BEGIN")
                self._text, self._flushes = 0, self._flushes + 1

    def finish(self) -> None:
        """All pages are in: make one piece of their words, and let go of the file."""
        with _disk_errors():
            self._connection.execute("COMMIT")
            if self._flushes:
                self._connection.execute("INSERT INTO memoryfield_keyword (memoryfield_keyword) VALUES ('optimize')")
            # As in an index that was never told otherwise.
            self._connection.execute("DELETE FROM memoryfield_keyword_config WHERE k <> 'version'")
        self.close()

    def give_up(self) -> None:
        """The pages that are still to come do not matter any more."""

    def close(self) -> None:
        """Let go of the scratch file."""
        self._connection.close()


class FreshIndex:
    """A packed index for each model, from the words in a scratch file.

    ```python
    fresh = FreshIndex(folder / "words")
    fresh.take_vectors(lived)
    if not fresh.missing():
        fresh.write(folder / "index.sqlite3", lived)
    ```

    Raises, from all of these:
        OSError: the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self._connection = _connect(path)

    def take_vectors(self, lived: Lived) -> None:
        """Fill `pages` from a lived index, with the vectors that are of the pages' very bytes, and no others.

        Raises:
            apsw.Error: it cannot be read.
        """
        connection = self._connection
        with _disk_errors():
            connection.execute("DELETE FROM main.pages")
        connection.execute("ATTACH ? AS lived", (lived.path.absolute().as_uri() + "?mode=rw",))
        try:
            connection.execute("BEGIN")
            width = lived.width or self._usual_width()
            connection.execute(
                # In the order of the left table; of two rows with one name, the first.
                f"INSERT OR IGNORE INTO main.pages {_ROW.format('p.embedding')}"
                " CROSS JOIN lived.pages p ON p.filename = f.filename"
                " AND p.sha256_hash = f.sha256 AND typeof(p.embedding) = 'blob' AND length(p.embedding) = ?"
                " ORDER BY f.id",
                (width,),
            )
        finally:
            if connection.in_transaction:
                connection.execute("COMMIT")
            connection.execute("DETACH lived")

    def _usual_width(self) -> int:
        """The length that most vectors of a lived index have."""
        sql = (
            "SELECT length(embedding) FROM lived.pages WHERE typeof(embedding) = 'blob' AND length(embedding) > 0"
            " AND length(embedding) % 4 = 0 GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
        )
        return next((int(row[0]) for row in self._connection.execute(sql)), 0)

    def missing(self, most: int = -1) -> list[str]:
        """The pages that have no vector and could have one, sorted; the first `most` of them."""
        sql = (
            "SELECT filename FROM memoryfield_files WHERE fault IS NULL"
            " AND filename NOT IN (SELECT filename FROM pages) ORDER BY id LIMIT ?"
        )
        return [str(row[0]) for row in self._connection.execute(sql, (most,))]

    def put_vector(self, name: str, vector: bytes) -> None:
        """A vector that no lived index has."""
        with _disk_errors():
            self._connection.execute(f"INSERT INTO pages {_ROW.format('?')} WHERE f.filename = ?", (vector, name))

    def write(self, path: Path, lived: Lived) -> None:
        """Write the index of a model into a new file."""
        connection = self._connection
        meta = [("model", lived.model), ("version", schema.VERSION), *self._fingerprints()]
        if lived.spec:
            meta.append(("embedder", lived.spec))
        with _disk_errors():
            connection.execute("DELETE FROM memoryfield_meta")
            connection.executemany("INSERT INTO memoryfield_meta VALUES (?, ?)", sorted(meta))
            connection.execute("VACUUM main INTO ?", (str(path),))
        with path.open("r+b") as file:
            for place, value in _HEADER:
                file.seek(place)
                file.write(struct.pack(">L", value))

    def _fingerprints(self) -> Iterator[tuple[str, str]]:
        """What lets a search see at a glance that nothing is missing, in the archive and unpacked."""
        rows = "SELECT filename, size, {} FROM memoryfield_files"
        for kind, column in (("time", "mtime_ns"), ("crc", "crc32")):
            lines = [digest_line(*row) for row in self._connection.execute(rows.format(column))]
            yield f"current by {kind}", digest(kind, lines)

    def close(self) -> None:
        """Let go of the scratch file."""
        self._connection.close()


def indexed_ns(mtime_ns: int) -> int:
    """A moment of indexing at which a file of this time was old enough to be trusted."""
    return mtime_ns + 2 * CLOCK_SLACK_NS


def _connect(path: Path) -> apsw.Connection:
    """Open a scratch file, or make it."""
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    with _disk_errors():
        for pragma, value in (
            ("page_size", _PAGE_SIZE),
            ("auto_vacuum", 0),
            ("cache_size", -_CACHE_KB),
            ("temp_store", "memory"),
            ("trusted_schema", False),
            ("journal_mode", "off"),  # whatever happens, the file is thrown away
            ("synchronous", "off"),
        ):
            connection.pragma(pragma, value)
    return connection


@contextmanager
def _disk_errors() -> Iterator[None]:
    """Say of the scratch file what is said of any file."""
    try:
        yield
    except (apsw.FullError, apsw.IOError) as error:
        raise OSError(errno.ENOSPC, f"{error}: is the disk full?") from error
