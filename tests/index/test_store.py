"""One index file: made, opened, checked, written; read by Python's own sqlite3 as any other tool would."""

from __future__ import annotations

import json
import math
import random
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryfield.dates import iso_time
from memoryfield.errors import IndexFileError
from memoryfield.index import store as module
from memoryfield.index.store import IndexStore, Record

MODEL = "all-MiniLM-L6-v2"
NAME = f"{MODEL}.sqlite3"
DIMENSIONS = 4
MTIME = 1_700_000_000_123_456_789

Values = tuple[float, float, float, float]


def vector(*values: float) -> bytes:
    length = math.hypot(*values)
    return struct.pack(f"<{len(values)}f", *(value / length for value in values))


def record(
    name: str,
    text: str = "carbon steel woks",
    values: Values | None = (1.0, 0.0, 0.0, 0.0),
    frontmatter: dict[str, Any] | None = None,
    fault: str | None = None,
    sha256: bytes = b"\x01" * 32,
) -> Record:
    return Record(
        filename=name,
        size=len(text),
        mtime_ns=MTIME,
        crc32=0xCAFEBABE,
        sha256=sha256,
        indexed_ns=MTIME + 10**10,
        broken=False,
        text=text,
        frontmatter=frontmatter or {"title": "Woks"},
        fault=fault,
        vector=None if values is None else vector(*values),
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / NAME


@pytest.fixture
def store(path: Path) -> Iterator[IndexStore]:
    with closing(IndexStore.open(path, MODEL, DIMENSIONS, create=True)) as made:
        made.prepare()
        yield made


def put(store: IndexStore, *records: Record) -> None:
    with store.transaction():
        for each in records:
            store.put(each)


def plain(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """What another tool reads."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(sql).fetchall()


def matches(store: IndexStore, word: str) -> list[str]:
    sql = """
        SELECT filename FROM memoryfield_files WHERE id IN
        (SELECT rowid FROM memoryfield_keyword WHERE memoryfield_keyword MATCH ?) ORDER BY filename
    """
    return [row[0] for row in store.connection.execute(sql, (word,))]


# as other tools see it


def test_the_file_is_read_by_plain_sqlite_column_for_column(store: IndexStore, path: Path) -> None:
    put(store, record("woks.md", frontmatter={"title": "Wöks \U0001f373", "tags": ["a", 1, None], "n": {"x": 1.5}}))
    store.close()
    ((name, frontmatter, modified, sha256, embedding),) = plain(path, "SELECT * FROM pages")
    assert name == "woks.md"
    assert json.loads(frontmatter) == {"title": "Wöks \U0001f373", "tags": ["a", 1, None], "n": {"x": 1.5}}
    assert modified == "2023-11-14T22:13:20.123456Z"
    assert sha256 == b"\x01" * 32
    assert struct.unpack("<4f", embedding) == (1.0, 0.0, 0.0, 0.0)
    types = (
        "SELECT typeof(filename), typeof(frontmatter), typeof(last_modified), typeof(sha256_hash), typeof(embedding)"
    )
    assert plain(path, f"{types} FROM pages") == [("text", "text", "text", "blob", "blob")]
    assert plain(path, "SELECT json_type(frontmatter) FROM pages") == [("object",)]
    assert plain(path, "PRAGMA integrity_check") == [("ok",)]


def test_pages_is_the_first_table_and_ours_are_named_as_ours(store: IndexStore, path: Path) -> None:
    names = [row[0] for row in plain(path, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")]
    assert names[0] == "pages"
    assert len(names) > 1
    assert all(name.startswith("memoryfield_") for name in names[1:])


def test_no_text_of_a_page_is_kept(store: IndexStore, path: Path) -> None:
    put(store, record("woks.md", text="They heat evenly, quickly and for a long time."))
    store.close()
    assert b"evenly, quickly" not in path.read_bytes()


# opening


def test_opening_makes_no_file_unless_asked(tmp_path: Path) -> None:
    with pytest.raises((IndexFileError, apsw.CantOpenError)):
        IndexStore.open(tmp_path / "none.sqlite3", MODEL, DIMENSIONS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("writable", [True, False])
def test_what_was_put_is_there_after_opening_again(writable: bool, store: IndexStore, path: Path) -> None:
    put(store, record("woks.md"))
    with closing(IndexStore.open(path, MODEL, DIMENSIONS, writable=writable)) as again:
        assert again.has_own_tables
        assert list(again.rows()) == ["woks.md"]
        assert again.rows()["woks.md"].embedded
        assert matches(again, "woks") == ["woks.md"]


def test_an_index_opened_for_reading_is_not_written(store: IndexStore, path: Path) -> None:
    with (
        closing(IndexStore.open(path, MODEL, DIMENSIONS, writable=False)) as again,
        pytest.raises(apsw.ReadOnlyError),
    ):
        put(again, record("woks.md"))


def noise(size: int) -> bytes:
    return random.Random(7).randbytes(size)


@pytest.mark.parametrize(
    "content",
    [noise(100), noise(8192), noise(100_000), b"SQLite format 3\x00" + noise(5000), b"---\ntitle: Woks\n---\n" * 100],
    ids=["short noise", "a page of noise", "much noise", "noise after the right beginning", "text"],
)
def test_a_file_that_is_no_database_is_damaged(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    for create in (False, True):
        with pytest.raises(IndexFileError, match=NAME):
            IndexStore.open(path, MODEL, DIMENSIONS, create=create)
    with pytest.raises(IndexFileError, match=NAME):
        IndexStore.memory(MODEL, DIMENSIONS, content, NAME)
    assert path.read_bytes() == content


def test_an_empty_file_is_no_index_but_becomes_one_where_asked(path: Path) -> None:
    path.write_bytes(b"")
    with pytest.raises(IndexFileError, match="empty"):
        IndexStore.open(path, MODEL, DIMENSIONS)
    with closing(IndexStore.open(path, MODEL, DIMENSIONS, create=True)) as store:
        store.prepare()
        put(store, record("woks.md"))
    assert plain(path, "SELECT filename FROM pages") == [("woks.md",)]


def test_an_index_of_another_model_is_refused_by_its_name(store: IndexStore, path: Path) -> None:
    with pytest.raises(IndexFileError, match=f"another model, '{MODEL}'"):
        IndexStore.open(path, "nomic-embed-text-v1.5", 768)


def test_a_database_of_something_else_is_refused(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, url TEXT)")
    with pytest.raises(IndexFileError, match=r"no index.*no column"):
        IndexStore.open(path, MODEL, DIMENSIONS)


def test_a_database_without_pages_is_no_index(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY)")
    with pytest.raises(IndexFileError):
        IndexStore.open(path, MODEL, DIMENSIONS)


def test_a_copy_in_memory_holds_what_the_file_held(store: IndexStore, path: Path) -> None:
    put(store, record("woks.md"))
    store.close()
    before = path.read_bytes()
    with closing(IndexStore.memory(MODEL, DIMENSIONS, before, NAME)) as copy:
        put(copy, record("pans.md"))
        assert sorted(copy.rows()) == ["pans.md", "woks.md"]
    assert path.read_bytes() == before


def test_a_copy_in_memory_of_a_file_in_wal_mode_can_be_used(path: Path) -> None:
    foreign(path, wal=True)
    assert path.read_bytes()[18:20] == b"\x02\x02"
    with closing(IndexStore.memory(MODEL, DIMENSIONS, path.read_bytes(), NAME)) as copy:
        copy.prepare()
        assert copy.counts() == (1, DIMENSIONS)


# indexes that another tool made


def foreign(path: Path, columns: str = "", *, wal: bool = False, values: int = DIMENSIONS) -> None:
    """An index with only the table of the format, and one page in it."""
    columns = columns or (
        "filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL, last_modified DATETIME NOT NULL,"
        " sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL"
    )
    with closing(sqlite3.connect(path)) as connection:
        if wal:
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"CREATE TABLE pages ({columns})")
        connection.execute(
            "INSERT INTO pages (filename, frontmatter, last_modified, sha256_hash, embedding) VALUES (?, ?, ?, ?, ?)",
            ("old.md", "{}", "2020-01-01T00:00:00Z", b"\x07" * 32, vector(*[1.0] * values)),
        )
        connection.commit()


def test_an_index_of_another_tool_gets_our_tables_and_keeps_its_rows(path: Path) -> None:
    foreign(path)
    with closing(IndexStore.open(path, MODEL, DIMENSIONS)) as store:
        assert not store.has_own_tables
        assert store.rows() == {}
        store.prepare()
        assert store.has_own_tables
        assert store.vector_hashes(["old.md", "other.md"]) == {"old.md": b"\x07" * 32}
        put(store, record("old.md", values=None, sha256=b"\x07" * 32))
        assert store.rows()["old.md"].embedded
    assert plain(path, "SELECT filename, embedding FROM pages") == [("old.md", vector(1, 1, 1, 1))]


@pytest.mark.parametrize(
    "columns",
    [
        "filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL, last_modified DATETIME NOT NULL,"
        " sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL, summary TEXT",
        "filename TEXT PRIMARY KEY, note TEXT DEFAULT 'x', frontmatter JSON NOT NULL, last_modified DATETIME NOT NULL,"
        " sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL",
        "embedding BLOB NOT NULL, sha256_hash BLOB NOT NULL, last_modified DATETIME NOT NULL,"
        " frontmatter JSON NOT NULL, filename TEXT PRIMARY KEY",
    ],
    ids=["one more at the end", "one more in between", "another order"],
)
def test_a_table_with_more_columns_or_in_another_order_is_written_rightly(columns: str, path: Path) -> None:
    foreign(path, columns)
    with closing(IndexStore.open(path, MODEL, DIMENSIONS)) as store:
        store.prepare()
        put(store, record("woks.md", values=(0.0, 1.0, 0.0, 0.0)))
    sql = "SELECT frontmatter, sha256_hash, embedding FROM pages WHERE filename = 'woks.md'"
    assert plain(path, sql) == [('{"title": "Woks"}', b"\x01" * 32, vector(0, 1, 0, 0))]


@pytest.mark.parametrize("dropped", ["memoryfield_keyword", "memoryfield_files", "memoryfield_meta"])
def test_any_table_of_ours_can_be_dropped_without_loss(dropped: str, store: IndexStore, path: Path) -> None:
    put(store, record("woks.md"))
    store.close()
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(f"DROP TABLE {dropped}")
    with closing(IndexStore.open(path, MODEL, DIMENSIONS)) as again:
        again.prepare()
        assert again.vector_hashes(["woks.md"]) == {"woks.md": b"\x01" * 32}
        put(again, record("woks.md", values=None))
        assert again.rows()["woks.md"].embedded
        assert matches(again, "woks") == ["woks.md"]


def test_tables_of_another_version_are_made_anew_and_vectors_stay(store: IndexStore, path: Path) -> None:
    put(store, record("woks.md"))
    store.connection.execute("UPDATE memoryfield_meta SET value = '0' WHERE key = 'version'")
    with closing(IndexStore.open(path, MODEL, DIMENSIONS)) as again:
        assert not again.has_own_tables
        again.prepare()
        assert again.rows() == {}
        assert again.vector_hashes(["woks.md"]) == {"woks.md": b"\x01" * 32}


def test_preparing_again_changes_nothing(store: IndexStore, path: Path) -> None:
    put(store, record("woks.md"))
    with closing(IndexStore.open(path, MODEL, DIMENSIONS)) as again:
        again.prepare()
    store.prepare()
    assert list(store.rows()) == ["woks.md"]


def test_preparing_after_another_process_did_keeps_its_rows(path: Path) -> None:
    with (
        closing(IndexStore.open(path, MODEL, DIMENSIONS, create=True)) as first,
        closing(IndexStore.open(path, MODEL, DIMENSIONS, create=True)) as second,
    ):
        first.prepare()
        put(first, record("woks.md"))
        second.prepare()
        assert list(second.rows()) == ["woks.md"]
        assert matches(second, "woks") == ["woks.md"]


# writing


def test_putting_a_page_again_replaces_all_of_it(store: IndexStore) -> None:
    put(store, record("woks.md", text="carbon steel"))
    put(store, record("woks.md", text="cast iron", values=(0.0, 0.0, 1.0, 0.0), sha256=b"\x02" * 32))
    assert matches(store, "carbon") == []
    assert matches(store, "iron") == ["woks.md"]
    assert store.rows()["woks.md"].sha256 == b"\x02" * 32
    assert store.counts() == (1, 4)
    assert store.count("SELECT count(*) FROM memoryfield_keyword") == 1


@pytest.mark.parametrize(
    ("values", "fault", "embedded", "pending"),
    [((1.0, 0.0, 0.0, 0.0), None, True, False), (None, None, False, True), (None, "", False, False)],
    ids=["with a vector", "without one yet", "blank"],
)
def test_a_row_tells_whether_a_vector_is_missing(
    values: Values | None, fault: str | None, embedded: bool, pending: bool, store: IndexStore
) -> None:
    put(store, record("woks.md", values=values, fault=fault))
    row = store.rows()["woks.md"]
    assert (bool(row.embedded), row.pending) == (embedded, pending)


def test_a_vector_of_other_bytes_or_of_another_length_does_not_count(store: IndexStore, path: Path) -> None:
    put(store, record("woks.md"), record("pans.md"))
    store.connection.execute("UPDATE pages SET sha256_hash = zeroblob(32) WHERE filename = 'pans.md'")
    store.connection.execute("UPDATE pages SET embedding = zeroblob(12) WHERE filename = 'woks.md'")
    assert [row.pending for row in store.rows().values()] == [True, True]
    assert store.wrong_length() == 1
    assert list(store.vector_hashes(["woks.md", "pans.md"])) == ["pans.md"]


def test_a_page_that_can_have_no_vector_loses_the_one_it_had(store: IndexStore) -> None:
    put(store, record("woks.md"))
    put(store, record("woks.md", values=None, fault="not UTF-8"))
    assert store.counts()[0] == 0
    assert store.rows()["woks.md"].fault == "not UTF-8"


def test_a_page_goes_by_its_new_name_after_renaming(store: IndexStore) -> None:
    put(store, record("old.md"), record("in-the-way.md", text="poems"))
    with store.transaction():
        store.rename("old.md", "in-the-way.md")
    assert list(store.rows()) == ["in-the-way.md"]
    assert store.rows()["in-the-way.md"].embedded
    assert matches(store, "woks") == ["in-the-way.md"]
    assert matches(store, "poems") == []


def test_removing_takes_every_row_of_a_page(store: IndexStore) -> None:
    put(store, record("woks.md"), record("pans.md"))
    with store.transaction():
        store.remove(["woks.md", "never-there.md"])
    assert list(store.rows()) == ["pans.md"]
    assert matches(store, "woks") == ["pans.md"]
    assert store.counts()[0] == 1


def test_a_page_whose_row_id_is_used_again_keeps_its_own_words(store: IndexStore) -> None:
    put(store, record("a.md", text="alpha"), record("b.md", text="beta"))
    with store.transaction():
        store.remove(["b.md"])
    put(store, record("c.md", text="gamma"), record("a.md", text="delta"))
    found = {word: matches(store, word) for word in ("alpha", "beta", "gamma", "delta")}
    assert found == {"alpha": [], "beta": [], "gamma": ["c.md"], "delta": ["a.md"]}


def shared(number: int, word: str) -> Record:
    return record(f"{number:04}.md", f"{word} " + " ".join(f"w{number}x{other}" for other in range(200)))


def deleted(path: Path, name: str) -> None:
    """Another process takes a page out."""
    with closing(IndexStore.open(path, MODEL, DIMENSIONS)) as other, other.transaction():
        other.remove([name])


def test_words_are_forgotten_in_short_transactions(
    store: IndexStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(40):
        put(store, shared(number, "qohiddum" if number == 7 else "plain"))
    monkeypatch.setattr(module, "MERGE_PAGES", 2)
    deleted(path, "0007.md")
    began: list[str] = []
    store.connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: began.append(event["sql"]))
    store.forget_words()
    store.connection.trace_v2(0, None)
    assert began.count("BEGIN IMMEDIATE") > 3
    assert b"qohiddum" not in path.read_bytes()
    assert not store.has_traces
    assert matches(store, "plain") == [f"{number:04}.md" for number in range(40) if number != 7]


@pytest.mark.parametrize("moment", range(1, 5))
def test_words_that_are_deleted_while_others_are_forgotten_go_too(
    moment: int, store: IndexStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.transaction():
        for number in range(20):
            store.put(shared(number, {7: "qohiddum", 9: "zutitlum"}.get(number, "plain")))
    monkeypatch.setattr(module, "MERGE_PAGES", 2)
    deleted(path, "0007.md")
    transaction = store.transaction
    taken = count(1)

    @contextmanager
    def and_then() -> Iterator[None]:
        with transaction():
            yield
        if next(taken) == moment:
            deleted(path, "0009.md")

    monkeypatch.setattr(store, "transaction", and_then)
    store.forget_words()
    assert next(taken) > moment, "not so many transactions: nothing was tried"
    content = path.read_bytes()
    assert [word for word in (b"qohiddum", b"zutitlum") if word in content] == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_transaction_that_fails_leaves_nothing(error: type[BaseException], store: IndexStore) -> None:
    def fail() -> None:
        with store.transaction():
            store.put(record("woks.md"))
            raise error

    with pytest.raises(error):
        fail()
    assert store.rows() == {}
    put(store, record("pans.md"))
    assert list(store.rows()) == ["pans.md"]


def test_a_transaction_keeps_other_writers_out_from_its_start(store: IndexStore, path: Path) -> None:
    with closing(IndexStore.open(path, MODEL, DIMENSIONS)) as other:
        other.connection.set_busy_timeout(0)
        with store.transaction(), pytest.raises(apsw.BusyError), other.transaction():
            pass
        put(other, record("woks.md"))
    assert list(store.rows()) == ["woks.md"]


def test_readers_are_not_kept_out_by_a_transaction_under_way(store: IndexStore, path: Path) -> None:
    put(store, record("woks.md"))
    with store.transaction():
        store.put(record("pans.md"))
        assert plain(path, "SELECT filename FROM pages") == [("woks.md",)]


def test_names_that_sql_or_like_would_read_otherwise_are_just_names(store: IndexStore) -> None:
    names = ["it's.md", "100%.md", "a_b.md", 'say "hi".md', "*.md", "Ünï.md", "a'); DROP TABLE pages; --.md"]
    put(store, *(record(name) for name in names))
    with store.transaction():
        store.remove(["100%.md", "*.md"])
        store.rename("it's.md", "_t's.md")
    assert sorted(store.rows()) == sorted([*names[2:4], *names[5:], "_t's.md"])


def test_the_frontmatter_is_given_for_the_same_bytes_only(store: IndexStore) -> None:
    put(store, record("woks.md"), record("broken.md")._replace(broken=True))
    assert store.frontmatter("woks.md", b"\x01" * 32) == '{"title": "Woks"}'
    assert store.frontmatter("woks.md", b"\x02" * 32) is None
    assert store.frontmatter("broken.md", b"\x01" * 32) is None
    assert store.frontmatter("none.md", b"\x01" * 32) is None


# the mark of an index that is up to date


@pytest.mark.parametrize(
    "change",
    [
        lambda store: store.put(record("new.md")),
        lambda store: store.remove(["woks.md"]),
        lambda store: store.rename("woks.md", "pans.md"),
        lambda store: store.touch("woks.md", 1, 2, 3, 4),
    ],
    ids=["put", "remove", "rename", "touch"],
)
def test_any_change_takes_the_mark_of_being_current(change: Callable[[IndexStore], None], store: IndexStore) -> None:
    put(store, record("woks.md"))
    store.mark_current("time:1:abc", "crc:1:def")
    assert store.is_current("time:1:abc")
    assert store.is_current("crc:1:def")
    assert not store.is_current("time:1:def")
    with store.transaction():
        change(store)
    assert not store.is_current("time:1:abc")
    assert not store.is_current("crc:1:def")


# vectors


def test_cosines_are_computed_in_sql(store: IndexStore) -> None:
    put(
        store, record("a.md"), record("b.md", values=(0.6, 0.8, 0.0, 0.0)), record("c.md", values=(-1.0, 0.0, 0.0, 0.0))
    )
    store.load_vectors()
    store.load_vectors()
    sql = "SELECT 1 - vec_distance_cosine(embedding, ?) FROM pages ORDER BY filename"
    found = [row[0] for row in store.connection.execute(sql, (vector(1, 0, 0, 0),))]
    assert found == pytest.approx([1.0, 0.6, -1.0], abs=1e-6)


def test_the_index_needs_no_numpy() -> None:
    code = (
        "import sys; from memoryfield.index.store import IndexStore; store = IndexStore.memory('m', 4);"
        "store.prepare(); store.load_vectors(); print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# times


@pytest.mark.parametrize(
    ("mtime_ns", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1_700_000_000_123_456_789, "2023-11-14T22:13:20.123456Z"),
        (1_709_164_800_000_000_000, "2024-02-29T00:00:00.000000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (4_102_444_800_999_999_999, "2100-01-01T00:00:00.999999Z"),
    ],
)
def test_a_time_is_written_as_utc(mtime_ns: int, text: str) -> None:
    assert iso_time(mtime_ns) == text


@pytest.mark.parametrize("mtime_ns", [2**63 - 1, -(2**63)])
def test_the_farthest_times_are_written_all_the_same(mtime_ns: int) -> None:
    assert iso_time(mtime_ns).endswith("Z")


ENDLESS = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r)"


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        (
            f"DROP TABLE pages; CREATE VIEW pages AS {ENDLESS} SELECT 'p' || i AS filename, '{{}}' AS frontmatter,"
            " '' AS last_modified, x'' AS sha256_hash, zeroblob(1536) AS embedding FROM r",
            "'pages' in it is a view",
        ),
        (
            f"CREATE TRIGGER t AFTER INSERT ON pages BEGIN INSERT INTO sink {ENDLESS} SELECT i FROM r; END",
            "'t' in it is a trigger",
        ),
        (
            "DROP TABLE pages; CREATE VIRTUAL TABLE pages USING"
            " fts5(filename, frontmatter, last_modified, sha256_hash, embedding)",
            "'pages' in it is a virtual table",
        ),
        (
            "DROP TABLE memoryfield_meta; CREATE VIEW memoryfield_meta AS"
            f" {ENDLESS} SELECT 'key' AS key, 'value' AS value FROM r",
            "'memoryfield_meta' in it is a view",
        ),
    ],
)
def test_an_index_that_computes_what_it_holds_is_refused(tmp_path: Path, statement: str, what: str) -> None:
    path = tmp_path / f"{MODEL}.sqlite3"
    store = IndexStore.open(path, MODEL, 384, create=True)
    store.prepare()
    store.connection.execute("CREATE TABLE sink (i)")
    store.connection.execute(statement)
    store.close()
    with pytest.raises(IndexFileError, match=what):
        IndexStore.open(path, MODEL, 384)
