"""Several processes at one index at once: embed, search, and somebody who writes pages meanwhile."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from memoryfield import Field
from memoryfield.containers import open_container
from memoryfield.index import status

from ..cli.support import command, environment
from ..doubles.ollama_server import OllamaServer, hashed_vector

NOMIC = "nomic-embed-text-v1.5"
NAME = f"{NOMIC}.sqlite3"
OLD = 1_700_000_000


def write(folder: Path, name: str, text: str) -> None:
    """A page, as if written long ago; whole at once, as editors do."""
    temporary = folder / f".{name}.tmp"
    temporary.write_text(text, "utf-8")
    os.utime(temporary, (OLD, OLD + len(text)))
    temporary.replace(folder / name)


def page(number: int, word: str) -> str:
    return f"---\ntitle: Page {number}\n---\n\nOf woks, of {word}{number}.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A hundred and twenty pages."""
    place = tmp_path / "notes"
    place.mkdir()
    for number in range(120):
        write(place, f"{number:03}.md", page(number, "steel"))
    return place


def assert_right(folder: Path) -> None:
    """Every page has its own vector and its own words, and nothing else has."""
    texts = {path.name: path.read_text("utf-8") for path in folder.glob("*.md")}
    with closing(sqlite3.connect(folder / NAME)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute("SELECT filename, sha256_hash, embedding FROM pages").fetchall()
    assert sorted(name for name, _, _ in rows) == sorted(texts)
    for name, sha256, embedding in rows:
        assert sha256 == hashlib.sha256(texts[name].encode()).digest()
        assert embedding == struct.pack("<768f", *hashed_vector(texts[name]))
    with closing(apsw.Connection(str(folder / NAME))) as connection:
        connection.execute("INSERT INTO memoryfield_keyword (memoryfield_keyword) VALUES ('integrity-check')")


def start(folder: Path, server: OllamaServer, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(*arguments, "-f", str(folder)),
        env=environment(OLLAMA_HOST=server.host, NO_PROXY="127.0.0.1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_two_embed_while_others_search_and_pages_change(folder: Path, ollama: OllamaServer) -> None:
    embedding = [start(folder, ollama, "embed", "--model", NOMIC) for _ in range(2)]
    searches: list[subprocess.Popen[bytes]] = []
    for number in range(40):
        write(folder, f"{number:03}.md", page(number, "carbon"))
        (folder / f"{119 - number:03}.md").unlink()
        write(folder, f"{200 + number}.md", page(number, "copper"))
        time.sleep(0.02)
        if number % 10 == 0:
            searches.append(start(folder, ollama, "search", "--min-score", "0", "--json", "woks"))
    for process in [*embedding, *searches]:
        out, talk = process.communicate(timeout=60)
        assert (process.returncode, b"Traceback" in talk) == (0, False), (process.args, out, talk)
    last = start(folder, ollama, "embed")
    assert last.wait(60) == 0
    assert_right(folder)
    asked = Counter(ollama.embedded)
    assert max(asked.values()) <= len(embedding) + len(searches) + 1
    before = len(ollama.embedded)
    assert start(folder, ollama, "embed").wait(60) == 0
    assert len(ollama.embedded) == before


class BusyEmbedder:
    """A model that computes until it is told to stop."""

    model = spec = NOMIC
    dimensions: int | None = 768
    batch = 16

    def __init__(self) -> None:
        self.computing = threading.Event()
        self.done = threading.Event()

    def load(self) -> None:
        """There is nothing to load."""

    def embed_pages(self, texts: list[str]) -> list[bytes]:
        self.computing.set()
        assert self.done.wait(60)
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        return struct.pack("<768f", *hashed_vector(text))

    def unavailable(self) -> str:
        return ""


WRITER = """
import sys, apsw
connection = apsw.Connection(sys.argv[1])
connection.set_busy_timeout(0)  # whoever has to wait fails
connection.execute("BEGIN EXCLUSIVE")
connection.execute("UPDATE pages SET frontmatter = frontmatter")
connection.execute("COMMIT")
"""


@contextmanager
def computing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A sync whose model computes as long as the `with` block lasts."""
    embedder = BusyEmbedder()
    monkeypatch.setattr(status, "embedder_of", lambda container, model, threads: embedder)
    working = threading.Thread(target=lambda: status.sync_index(open_container(folder), NOMIC))
    working.start()
    try:
        assert embedder.computing.wait(60)
        yield
    finally:
        embedder.done.set()
        working.join()


def test_no_lock_is_held_while_a_model_computes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with computing(folder, monkeypatch):
        subprocess.run([sys.executable, "-c", WRITER, str(folder / NAME)], check=True, timeout=60)
    assert_right(folder)


def test_a_page_is_deleted_from_the_index_while_a_model_computes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with computing(folder, monkeypatch), Field.open(folder) as field:
        told: list[str] = []
        field.delete("000", told)
        field.rename("001", "renamed", told)
        assert told == []
    monkeypatch.undo()
    again = BusyEmbedder()
    again.done.set()
    monkeypatch.setattr(status, "embedder_of", lambda container, model, threads: again)
    status.sync_index(open_container(folder), NOMIC)
    assert_right(folder)
