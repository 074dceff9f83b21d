"""Rules about vector indexes: made by SQLite itself, by our own embedding, and by nobody who means well."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from memoryfield.containers import open_container
from memoryfield.index.store import IndexStore
from memoryfield.index.sync import sync

from ..benchmarks.fields import DIMENSIONS, MODEL, FreeEmbedder
from ..support import no_privileges
from .support import OTHER, check, only, pack, page, told, uuid_of, write

NOMIC = "nomic-embed-text-v1.5.sqlite3"
MINILM = f"{MODEL}.sqlite3"
A, B = page(), page(title="Pans", uuid=OTHER, body="Other")
COLUMNS = {
    "filename": "TEXT PRIMARY KEY",
    "frontmatter": "JSON NOT NULL",
    "last_modified": "DATETIME NOT NULL",
    "sha256_hash": "BLOB NOT NULL",
    "embedding": "BLOB NOT NULL",
}
Row = tuple[object, object, object, object, object]


def schema(**changed: str) -> str:
    """The table of the format, some columns otherwise, or (empty) not there."""
    columns = {**COLUMNS, **changed}
    return f"CREATE TABLE pages ({', '.join(f'{name} {kind}' for name, kind in columns.items() if kind)});"


def row(name: str, text: str, length: int = 768) -> Row:
    vector = struct.pack(f"<{length}f", 1.0, *[0.0] * (length - 1))
    return (name, "{}", "2026-03-14T09:12:40Z", hashlib.sha256(text.encode()).digest(), vector)


def make(path: Path, *rows: Row, sql: str = "", table: str = "") -> Path:
    """An index as any program can make one."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(table or schema())
        if rows:
            connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
        connection.executescript(sql)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A field of two pages."""
    place = tmp_path / "field"
    place.mkdir()
    write(place, {"a.md": A, "b.md": B})
    return place


def packed(folder: Path) -> Path:
    files: dict[str, str | bytes] = {path.name: path.read_bytes() for path in folder.iterdir()}
    return pack(folder.parent / "notes.memoryfield.zip", files)


GOOD = (row("a.md", A), row("b.md", B))


def test_an_index_that_matches_is_no_fault(folder: Path) -> None:
    make(folder / NOMIC, *GOOD)
    assert told(check(folder)) == []
    assert told(check(packed(folder))) == []


def test_our_own_index_is_no_fault_and_the_next_change_is_told(folder: Path) -> None:
    write(folder, {"blank.md": ""})
    with closing(IndexStore.open(folder / MINILM, MODEL, DIMENSIONS, create=True)) as store:
        sync(open_container(folder), store, FreeEmbedder())  # type: ignore[arg-type]
    assert told(check(folder, select="X,R-8")) == []
    assert told(check(packed(folder), select="X,R-8")) == []
    write(folder, {"a.md": page(body="Anew"), "c.md": page(uuid=uuid_of(3), title="Lids", body="New")})
    (folder / "b.md").unlink()
    found = check(folder, select="X,R-8")
    assert told(found) == [f"{MINILM} notice R-8", f"{MINILM} warning X-8"]
    assert "1 changed, 1 missing" in found[0].message
    assert "a.md, c.md" in found[0].message
    assert "b.md" in found[1].message
    assert told(check(packed(folder), select="X,R-8")) == [f"{MINILM} warning X-8", f"{MINILM} warning X-9"]


def test_the_row_of_a_page_that_cannot_be_read_is_not_of_one_that_is_gone(folder: Path) -> None:
    make(folder / NOMIC, *GOOD)
    place = packed(folder)
    with zipfile.ZipFile(place) as archive:
        at = archive.getinfo("a.md").header_offset + 40
    raw = bytearray(place.read_bytes())
    raw[at] ^= 1
    place.write_bytes(raw)
    assert told(check(place, select="A-1,X-8,X-9")) == ["a.md error A-1"]


def test_looking_changes_nothing(folder: Path) -> None:
    make(folder / NOMIC, *GOOD)
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}
    check(folder)
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()} == before


#


@pytest.mark.parametrize(("count", "expected"), [(99, []), (100, [". warning X-1"])])
def test_a_larger_field_should_come_with_an_index(tmp_path: Path, count: int, expected: list[str]) -> None:
    pages: dict[str, str | bytes] = {
        f"p{at}.md": page(uuid=uuid_of(at), title=f"T{at}", body=f"B{at}") for at in range(count)
    }
    write(tmp_path, pages)
    assert told(check(tmp_path)) == expected
    write(tmp_path, {"nomic-embed-text-v1.5.faiss": b"another format"})
    assert told(check(tmp_path)) == []


@pytest.mark.parametrize(
    "name", [NOMIC, "nomic-embed-text-v1.5-q8.sqlite3", "bge-m3.sqlite3", "nomic-embed-text-v2-moe.sqlite3"]
)
def test_a_name_that_begins_with_a_model_code_is_no_fault(folder: Path, name: str) -> None:
    make(folder / name, *GOOD)
    assert told(check(folder)) == []


@pytest.mark.parametrize(
    "name", ["nomic-embed-text.sqlite3", "index.sqlite3", "vector-index.sqlite3", "embeddings.sqlite3"]
)
def test_a_name_without_the_models_full_code_is_an_error(folder: Path, name: str) -> None:
    make(folder / name, *GOOD)
    assert told(check(folder)) == [f"{name} error X-3"]


def test_an_index_that_says_it_is_of_another_model_is_an_error(folder: Path) -> None:
    noted = "CREATE TABLE memoryfield_meta (key, value); INSERT INTO memoryfield_meta VALUES ('model', 'bge-m3');"
    make(folder / NOMIC, *GOOD, sql=noted)
    fault = only(check(folder))
    assert told([fault]) == [f"{NOMIC} error X-3"]
    assert "bge-m3" in fault.message


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "JSON", "tsv.gz", "yaml"])
def test_vectors_as_text_are_a_warning(folder: Path, ending: str) -> None:
    write(folder, {f"nomic-embed-text-v1.5.{ending}": "0.1, 0.2", f"teas.{ending}": "1, 2"})
    assert told(check(folder)) == [f"nomic-embed-text-v1.5.{ending} warning X-5"]


#


@pytest.mark.parametrize("column", ["last_modified", "frontmatter", "sha256_hash", "embedding"])
def test_a_column_that_is_missing_is_a_warning_that_names_it(folder: Path, column: str) -> None:
    make(folder / NOMIC, table=schema(**{column: ""}), sql="")
    fault = [fault for fault in check(folder) if fault.requirement == "X-6"]
    assert told(fault) == [f"{NOMIC} warning X-6"]
    assert column in fault[0].message


def test_no_table_is_a_warning(folder: Path) -> None:
    make(folder / NOMIC, table="CREATE TABLE vectors (name, embedding);")
    assert told(check(folder)) == [f"{NOMIC} warning X-6"]


def test_other_tables_may_be_there(folder: Path) -> None:
    make(
        folder / NOMIC,
        *GOOD,
        sql="CREATE TABLE mine (a); CREATE INDEX i ON mine (a); CREATE VIRTUAL TABLE f USING fts5(x);",
    )
    assert told(check(folder)) == []


def test_a_table_of_a_module_that_we_lack_is_no_damage(folder: Path) -> None:
    import sqlite_vec

    make(folder / NOMIC, *GOOD)
    with closing(apsw.Connection(str(folder / NOMIC))) as connection:
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.execute("CREATE VIRTUAL TABLE mine USING vec0(e float[4])")
    assert told(check(folder)) == []


def test_what_would_run_does_not(folder: Path) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS filename"
    view = f"CREATE VIEW pages AS {endless}, x AS embedding, x AS sha256_hash FROM n;"
    make(folder / NOMIC, table=schema().replace("TABLE pages", "TABLE real") + view)
    assert told(check(folder)) == [f"{NOMIC} warning X-6"]
    (folder / NOMIC).unlink()
    large = schema(sha256_hash="BLOB", embedding="BLOB AS (zeroblob(900000000))")
    one = "INSERT INTO pages (filename, frontmatter, last_modified) VALUES ('a.md', '{}', '');"
    make(folder / NOMIC, table=large, sql=one)
    assert told(check(folder)) == [f"{NOMIC} warning X-6"]


#


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((row("a.md", A), row("b.md", B, 384)), ["error X-7"]),
        ((row("a.md", A, 384), row("b.md", B, 384)), ["error X-7"]),
        ((row("a.md", A), ("b.md", "{}", "", hashlib.sha256(B.encode()).digest(), b"\x00" * 3071)), ["error X-7"]),
        ((row("a.md", A), ("b.md", "{}", "", hashlib.sha256(B.encode()).digest(), "text")), ["error X-7"]),
        ((row("a.md", A), ("b.md", "{}", "", hashlib.sha256(B.encode()).digest(), b"")), ["error X-7"]),
        ((row("a.md", A), row("b.md", "as it was")), ["notice R-8"]),
        ((row("a.md", A),), ["notice R-8"]),
        ((), ["notice R-8"]),
        ((*GOOD, row("gone.md", A)), ["warning X-8"]),
        ((*GOOD, (None, "{}", "", b"", row("x", A)[4])), ["warning X-8"]),
        ((*GOOD, (b"a.md", "{}", "", b"", row("x", A)[4])), ["warning X-8"]),
    ],
)
def test_rows_beside_the_pages(folder: Path, rows: tuple[Row, ...], expected: list[str]) -> None:
    make(folder / NOMIC, *rows)
    assert told(check(folder)) == [f"{NOMIC} {one}" for one in expected]


def test_vectors_of_an_unknown_model_are_of_one_length(folder: Path) -> None:
    make(folder / "bge-m3.sqlite3", row("a.md", A, 7), row("b.md", B, 7))
    assert told(check(folder)) == []
    (folder / "bge-m3.sqlite3").unlink()
    make(folder / "bge-m3.sqlite3", row("a.md", A, 7), row("b.md", B, 8))
    assert told(check(folder)) == ["bge-m3.sqlite3 error X-7"]


@pytest.mark.skipif(os.name == "nt", reason="permissions are made otherwise there")
def test_a_folder_that_may_not_be_written_is_still_a_folder(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    make(folder / NOMIC, row("a.md", A))
    for place in (folder, folder.parent, *folder.parent.parents):
        if place.stat().st_uid == os.geteuid() and place != Path("/"):
            place.chmod(place.stat().st_mode | 0o055)
    folder.chmod(0o555)
    try:
        with no_privileges():
            assert told(check(folder)) == [f"{NOMIC} notice R-8"]
    finally:
        folder.chmod(0o755)


#


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def spoiled(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    middle = len(raw) // 8192 * 4096
    raw[middle : middle + 4096] = hashlib.sha256(b"spoiled").digest() * 128
    path.write_bytes(raw)


def not_text(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE pages SET filename = CAST(x'ff6d64' AS TEXT) WHERE filename = 'a.md'")
        connection.commit()


def unknown_order(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.create_collation("mine", lambda a, b: (a > b) - (a < b))
        connection.executescript(f"DROP TABLE pages; {schema(filename='TEXT COLLATE mine PRIMARY KEY')}")


@pytest.mark.parametrize("damage", [cut, spoiled, not_text, unknown_order, lambda path: path.write_text("no database")])
@pytest.mark.parametrize("in_archive", [False, True])
def test_a_damaged_index_is_an_error_told_on_one_line(
    folder: Path, damage: Callable[[Path], object], in_archive: bool
) -> None:
    many = [row(f"gone-{number}.md", A) for number in range(50)]
    damage(make(folder / NOMIC, *GOOD, *many))
    found = [fault for fault in check(packed(folder) if in_archive else folder) if fault.severity == "error"]
    assert told(found) == [f"{NOMIC} error X-10"]
    assert "\n" not in found[0].message


def test_an_empty_file_is_an_empty_database(folder: Path) -> None:
    write(folder, {NOMIC: b"", "mine.sqlite3": b""})
    assert told(check(folder)) == [f"{NOMIC} warning X-6"]
    assert told(check(packed(folder))) == [f"{NOMIC} warning X-6"]


@pytest.mark.parametrize("table", ["songs (id, name)", "pages (id, text)"])
def test_somebodys_own_database_is_nobodys_business(folder: Path, table: str) -> None:
    trigger = f"CREATE TRIGGER t AFTER DELETE ON {table.split()[0]} BEGIN SELECT 1; END;"
    make(folder / "songs.sqlite3", table=f"CREATE TABLE {table}; {trigger}")
    assert told(check(folder)) == []


def test_a_folder_under_the_name_of_an_index_is_none(folder: Path) -> None:
    (folder / NOMIC).mkdir()
    assert told(check(folder)) == []


def test_an_index_with_a_log_is_read_and_nothing_is_left_beside_it(folder: Path) -> None:
    make(folder / NOMIC, *GOOD, sql="PRAGMA journal_mode = wal;")
    assert told(check(folder)) == []
    assert told(check(packed(folder))) == []
    assert sorted(path.name for path in folder.iterdir()) == ["a.md", "b.md", NOMIC]


def test_what_is_still_in_the_log_counts(folder: Path) -> None:
    make(folder / NOMIC, *GOOD, sql="PRAGMA journal_mode = wal;")
    with closing(apsw.Connection(str(folder / NOMIC))) as writer:
        writer.execute("DELETE FROM pages WHERE filename = 'b.md'")
        assert (folder / f"{NOMIC}-wal").stat().st_size
        assert told(check(folder)) == [f"{NOMIC} notice R-8"]


def test_an_index_that_somebody_writes_to_is_no_fault(folder: Path) -> None:
    make(folder / NOMIC, row("gone.md", A))
    with closing(apsw.Connection(str(folder / NOMIC))) as writer:  # of our own library: locks count between processes
        writer.execute("BEGIN EXCLUSIVE")
        assert told(check(folder)) == []
    assert told(check(folder)) == [f"{NOMIC} notice R-8", f"{NOMIC} warning X-8"]
