"""The table `pages` is common ground: other tools' indexes are searched, and ours is read by other tools."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryfield import Field
from memoryfield.embedders import DEFAULT_MODEL, find_embedder, page_input
from memoryfield.errors import EmbedderError

INDEX = f"{DEFAULT_MODEL}.sqlite3"
PAGES = {
    "woks.md": "---\ntitle: Woks\n---\n\nCarbon steel heats evenly over a flame.\n",
    "tea.md": "---\ntitle: Tea\n---\n\nGreen leaves want water well below boiling.\n",
    "knives.md": "---\ntitle: Knives\n---\n\nSharpen a blade on a wet stone.\n",
}
QUERY = "how hot may the water for tea be?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        (tmp_path / name).write_bytes(text.encode())
        os.utime(tmp_path / name, (1_700_000_000, 1_700_000_000))
    return tmp_path


def by_another_tool(path: Path) -> None:
    """An index as a tool makes it that knows the format alone."""
    vectors = find_embedder(DEFAULT_MODEL).embed_pages([page_input(text.encode()) for text in PAGES.values()])
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE pages (filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL,"
            " last_modified DATETIME NOT NULL, sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL)"
        )
        for (name, text), vector in zip(PAGES.items(), vectors, strict=True):
            assert not isinstance(vector, EmbedderError)
            sha256 = hashlib.sha256(text.encode()).digest()
            connection.execute(
                "INSERT INTO pages VALUES (?, '{}', '2023-11-14T22:13:20.000000Z', ?, ?)", (name, sha256, vector)
            )
        connection.commit()


def test_an_index_of_another_tool_is_searched_as_it_is_and_then_becomes_ours(folder: Path) -> None:
    by_another_tool(folder / INDEX)
    before = (folder / INDEX).read_bytes()
    with Field.open(folder) as field:
        found = field.search(QUERY, mode="semantic", min_score=0, sync=False)
        assert [hit.filename for hit in found.results][:1] == ["tea.md"]
        assert len(found.results) == 3
        assert (folder / INDEX).read_bytes() == before
        report = field.sync()
        assert (report.embedded, report.pending, report.failed) == (0, 0, [])
        found = field.search("flame", mode="keyword", min_score=0)
        assert [hit.filename for hit in found.results] == ["woks.md"]
        (status,) = field.indexes()
        assert status.is_complete


def test_our_index_is_read_by_a_tool_that_knows_the_table_and_a_distance(folder: Path) -> None:
    import sqlite_vec

    with Field.open(folder) as field:
        assert field.sync().embedded == 3
    query = find_embedder(DEFAULT_MODEL).embed_query(QUERY)
    with closing(apsw.Connection(str(folder / INDEX), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        rows: list[Any] = connection.execute(
            "SELECT filename, vec_distance_cosine(embedding, ?) AS distance, sha256_hash, last_modified"
            " FROM pages ORDER BY distance",
            (query,),
        ).fetchall()
    assert rows[0][0] == "tea.md"
    for name, distance, sha256, modified in rows:
        assert 0 <= distance <= 2
        assert sha256 == hashlib.sha256(PAGES[name].encode()).digest()
        assert modified == "2023-11-14T22:13:20.000000Z"
