"""What must not happen whatever lies in a field: each of these once did."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import apsw
import pytest

from memoryfield import Field, unpack
from memoryfield.embedders.ollama import OllamaEmbedder
from memoryfield.embedders.specs import parse
from memoryfield.errors import EmbedderError, FieldNotFoundError, NotEmptyError, RefusedError
from memoryfield.index.store import IndexStore
from memoryfield.index.sync import sync

MODEL = "all-MiniLM-L6-v2"
INDEX = f"{MODEL}.sqlite3"


class Embedder:
    """An embedder that costs nothing: the same unit vector for every text."""

    model = spec = MODEL
    where = "here"
    dimensions: int | None = 384
    batch = 8
    vector = bytes(1532) + b"\x00\x00\x80\x3f"

    def load(self) -> None:
        """Nothing to load."""

    def embed_pages(self, texts: list[str]) -> list[bytes]:
        """The vector, once a text."""
        return [self.vector for _ in texts]

    def embed_query(self, text: str) -> bytes:
        """The vector."""
        return self.vector

    embed_queries = embed_pages

    def unavailable(self) -> str:
        """It answers."""
        return ""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A field of three pages with an index."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("pans", "pots", "woks"):
        page = folder / f"{name}.md"
        page.write_text(f"---\ntitle: {name}\n---\n\nAll about {name}.\n", encoding="utf-8")
        os.utime(page, (1_700_000_000, 1_700_000_000))
    with Field.open(folder) as field:
        store = IndexStore.open(folder / INDEX, MODEL, 384, create=True)
        sync(field.container, store, Embedder())  # type: ignore[arg-type]
        store.close()
    return folder


def vectors(folder: Path) -> int:
    """How many vectors an index holds."""
    with sqlite3.connect(folder / INDEX) as connection:
        count = int(connection.execute("SELECT count(*) FROM pages").fetchone()[0])
    connection.close()
    return count


def test_an_index_that_cannot_be_opened_is_not_deleted(notes: Path) -> None:
    (notes / f"{INDEX}-journal").mkdir()  # SQLite then cannot open the file
    with Field.open(notes) as field:
        found = field.search("woks", mode="keyword", min_score=0)
    assert [hit.filename for hit in found.results] == ["woks.md"]
    assert any("cannot be opened" in note for note in found.notes)
    (notes / f"{INDEX}-journal").rmdir()
    assert vectors(notes) == 3


@pytest.mark.parametrize("stored", ["{", "[1]", "null", '"text"'])
def test_frontmatter_that_another_tool_stored_wrongly_is_read_from_the_page(notes: Path, stored: str) -> None:
    with sqlite3.connect(notes / INDEX) as connection:
        connection.execute("UPDATE pages SET frontmatter = ?", (stored,))
    connection.close()
    with Field.open(notes) as field:
        found = field.search("woks", mode="keyword", min_score=0)
    assert found.results[0].title == "woks"


def test_a_name_in_the_index_that_is_not_utf8_is_damage_and_heals(notes: Path) -> None:
    with sqlite3.connect(notes / INDEX) as connection:
        connection.execute("UPDATE memoryfield_files SET filename = CAST(x'ff2e6d64' AS TEXT) WHERE id = 2")
    connection.close()
    with Field.open(notes) as field:
        assert field.sync().pending == 0
        assert len(field.search("woks", mode="keyword", min_score=0).results) == 1


def test_rebuilding_keeps_the_old_vectors_until_there_are_new_ones(notes: Path) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with Field.open(notes) as field:
        with pytest.raises(KeyboardInterrupt):
            field.sync(rebuild=True, progress=interrupted)
        found = field.search("woks", mode="semantic", min_score=0, sync=False)
        assert (len(found.results), found.model) == (3, MODEL)
        assert field.sync().embedded == 3
    assert vectors(notes) == 3
    assert sorted(path.name for path in notes.iterdir()) == [INDEX, "pans.md", "pots.md", "woks.md"]


def test_a_deletion_that_an_index_could_not_follow_is_told(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryfield.index.status.FOLLOW_TIMEOUT_MS", 50)
    holder = apsw.Connection(str(notes / INDEX))
    holder.execute("BEGIN EXCLUSIVE")
    told: list[str] = []
    with Field.open(notes) as field:
        field.delete("woks", told)
    holder.execute("ROLLBACK")
    holder.close()
    assert not (notes / "woks.md").exists()
    assert len(told) == 1
    assert INDEX in told[0]


def test_an_index_without_vectors_does_not_keep_words_from_being_found(notes: Path) -> None:
    with sqlite3.connect(notes / INDEX) as connection:
        connection.execute("DELETE FROM pages")
    connection.close()
    with Field.open(notes) as field:
        found = field.search("woks", min_score=0, sync=False)
    assert found.mode == "keyword"
    assert [hit.filename for hit in found.results] == ["woks.md"]


def test_an_archive_whose_index_cannot_be_read_is_searched_by_words(notes: Path, tmp_path: Path) -> None:
    location = tmp_path / "notes.memoryfield.zip"
    with zipfile.ZipFile(location, "w") as archive:
        for path in notes.iterdir():
            archive.write(path, path.name)
    content = location.read_bytes()
    with zipfile.ZipFile(location) as archive:
        start = archive.getinfo(INDEX).header_offset + 30 + len(INDEX) + 5000
    location.write_bytes(content[:start] + bytes(50) + b"x" * 50 + content[start + 100 :])
    with Field.open(location) as field:
        found = field.search("woks", min_score=0)
    assert [hit.filename for hit in found.results] == ["woks.md"]


@pytest.mark.parametrize("seconds", [300_000_000_000, -20_000_000_000])
def test_far_file_times_stop_nothing(notes: Path, seconds: int) -> None:
    try:
        os.utime(notes / "woks.md", (seconds, seconds))
    except (OSError, OverflowError):
        pytest.skip("this file system has no such times")
    with Field.open(notes) as field:
        assert len(list(field.pages())) == 3
        assert field.search("woks", mode="keyword", min_score=0).results


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes there")
def test_unpacking_a_pipe_does_not_wait_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FieldNotFoundError):
        unpack(tmp_path / "pipe", tmp_path / "new")


def test_a_folder_without_pages_gets_no_index(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear all", encoding="utf-8")
    with Field.open(tmp_path) as field:
        assert field.sync().notes == ["the field has no pages"]
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_an_empty_text_replaces_nothing(notes: Path) -> None:
    with Field.open(notes) as field, pytest.raises(RefusedError):
        field.write("woks", " \n", mode="replace")
    assert "All about woks" in (notes / "woks.md").read_text(encoding="utf-8")


def test_a_replacing_text_without_frontmatter_keeps_that_of_the_page(notes: Path) -> None:
    (notes / "woks.md").write_text("---\ntitle: Woks\ntags: [pan]  # kept\nowner: ann\n---\n\nOld.\n", encoding="utf-8")
    with Field.open(notes) as field:
        page = field.write("woks", "New.\n", mode="replace").page
    assert page.frontmatter["owner"] == "ann"
    assert "tags: [pan]  # kept" in page.text
    assert page.title == "Woks"
    assert page.body.strip() == "New."


def test_a_title_whose_name_is_taken_is_told_a_free_one(notes: Path) -> None:
    with Field.open(notes) as field, pytest.raises(RefusedError, match=r"woks-2\.md"):
        field.write("", "Text", title="Woks")


def test_a_folder_that_is_not_there_is_named_when_packing(notes: Path, tmp_path: Path) -> None:
    from memoryfield import pack
    from memoryfield.errors import UsageError

    with Field.open(notes) as field, pytest.raises(UsageError, match="nowhere"):
        pack(field, tmp_path / "nowhere" / "x.memoryfield.zip")


def test_unpacking_into_the_archive_itself_is_refused(notes: Path, tmp_path: Path) -> None:
    location = tmp_path / "notes.memoryfield.zip"
    with zipfile.ZipFile(location, "w") as archive:
        archive.writestr("a.md", "A")
    with pytest.raises(NotEmptyError):
        unpack(location, location)


ANSWERS = [
    (200, "null"),
    (200, "[]"),
    (200, '{"embeddings": null}'),
    (400, '{"error": null}'),
    (400, '{"error": {"a": 1}}'),
    (500, "[1]"),
    (200, json.dumps({"model": "x", "embeddings": [["no"] * 768]})),
    (200, "<html>"),
]


@pytest.mark.parametrize(("status", "body"), ANSWERS)
def test_an_answer_of_another_shape_is_one_error(status: int, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Handler(BaseHTTPRequestHandler):
        """Whatever is asked, one answer."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Quiet."""

    monkeypatch.setattr("memoryfield.embedders.remote.FIRST_WAIT", 0.001)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.server_port}")
    try:
        with pytest.raises(EmbedderError) as error:
            OllamaEmbedder(parse("nomic-embed-text-v1.5"), 768).embed_query("wok")
    finally:
        server.shutdown()
        server.server_close()
    assert len(str(error.value)) < 500
