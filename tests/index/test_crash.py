"""A process that syncs is killed at any moment, again and again, while pages change: what is left is right."""

from __future__ import annotations

import hashlib
import os
import random
import secrets
import signal
import sqlite3
import struct
import sys
import time
import warnings
import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from memoryfield.containers import open_container
from memoryfield.index import status
from memoryfield.index.store import IndexStore
from memoryfield.index.sync import SyncReport

from ..doubles.ollama_server import hashed_vector

MODEL = "slow-model"
NAME = f"{MODEL}.sqlite3"
DIMENSIONS = 16
BATCH = 16
PAGES = 200
KILLS = 50

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no fork, no SIGKILL")


def vector_of(text: str) -> bytes:
    return struct.pack(f"<{DIMENSIONS}f", *hashed_vector(text, DIMENSIONS))


class SlowEmbedder:
    """An embedder that takes a little time, and writes into a log what it was asked, before it answers."""

    model = spec = MODEL
    dimensions: int | None = DIMENSIONS
    batch = BATCH

    def __init__(self, log: Path) -> None:
        self._log = log

    def load(self) -> None:
        """There is nothing to load."""

    def embed_pages(self, texts: Sequence[str]) -> list[bytes]:
        with self._log.open("a", encoding="utf-8") as log:
            log.writelines(hashlib.sha256(text.encode()).hexdigest() + "\n" for text in texts)
        time.sleep(0.001)
        return [vector_of(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        return vector_of(text)

    def unavailable(self) -> str:
        return ""


class Field:
    """A folder of pages that change; every text that was ever there is remembered by its sha256."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.index = folder / NAME
        self.log = folder / "asked.txt"
        self.random = random.Random(seed)
        self.texts: dict[bytes, str] = {}
        self.words: dict[bytes, str] = {}
        for number in range(PAGES):
            self.write(f"{number:03}.md")

    def write(self, name: str) -> None:
        """A page with a word that no other text has."""
        word = f"q{len(self.texts):06}x"
        text = f"---\ntitle: {name}\n---\n\n{word} " + " ".join(self.random.choices(["wok", "pan", "pot"], k=60)) + "\n"
        sha256 = hashlib.sha256(text.encode()).digest()
        self.texts[sha256], self.words[sha256] = text, word
        temporary = self.folder / "new.tmp"
        temporary.write_text(text, "utf-8")
        if self.random.random() < 0.5:  # half of them long ago, and so taken as unchanged by their times
            moment = 1_600_000_000 * 10**9 + len(self.texts)
            os.utime(temporary, ns=(moment, moment))
        temporary.replace(self.folder / name)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*.md"))

    def change(self, *whats: str) -> None:
        """A fifth of the pages: changed, deleted, renamed; and as many new ones as are gone."""
        for name in self.random.sample(names := self.names(), min(PAGES // 5, len(names))):
            what = self.random.choice(whats)
            if what == "write":
                self.write(name)
            elif what == "delete":
                (self.folder / name).unlink()
                self.write(f"{len(self.texts):06}.md")
            else:
                (self.folder / name).rename(self.folder / f"{len(self.texts):06}-{name[:3]}.md")

    def embedded(self) -> set[str]:
        """The sha256 of each text that has its vector."""
        if not self.index.exists():
            return set()
        with closing(sqlite3.connect(self.index)) as connection:
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
            if "pages" not in tables:
                return set()
            return {row[0].hex() for row in connection.execute("SELECT sha256_hash FROM pages")}

    def asked(self) -> list[str]:
        """What the embedder was asked since the last time that this was asked."""
        asked = self.log.read_text("utf-8").split() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return asked

    def begin(self, *, rebuild: bool = False) -> int:
        """A process that syncs."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads: ours are idle
            child = os.fork()
        if child:
            return child
        try:
            self.sync(rebuild=rebuild)
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.__stderr__, flush=True)
        finally:
            os._exit(1)

    def sync(self, *, rebuild: bool = False) -> SyncReport:
        return status.sync_index(open_container(self.folder), MODEL, rebuild=rebuild)

    def assert_right(self) -> None:
        """The index opens and is sound, and every row that it has tells the truth about one text."""
        if not self.index.exists() or not self.index.stat().st_size:
            return
        with closing(sqlite3.connect(self.index)) as plain:
            assert plain.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        with closing(IndexStore.open(self.index, MODEL, DIMENSIONS, create=True)) as store:
            store.prepare()
            connection = store.connection
            for sha256, vector in connection.execute("SELECT sha256_hash, embedding FROM pages"):
                assert sha256 == bytes(32) or vector == vector_of(self.texts[sha256])
            rows = store.rows().values()
            for row in rows:
                text = self.texts[row.sha256]
                assert (row.size, row.crc32) == (len(text), zlib.crc32(text.encode()))
                found = connection.execute(
                    "SELECT rowid FROM memoryfield_keyword WHERE memoryfield_keyword MATCH ?",
                    (self.words[row.sha256],),
                )
                assert [number for (number,) in found] == [row.id]
            assert store.count("SELECT count(*) FROM memoryfield_keyword") == len(rows)
            connection.execute("INSERT INTO memoryfield_keyword (memoryfield_keyword) VALUES ('integrity-check')")

    def assert_complete(self) -> None:
        """Every page is in the index, with its own vector, and nothing else is."""
        self.assert_right()
        with closing(sqlite3.connect(self.index)) as connection:
            stored = dict(connection.execute("SELECT filename, sha256_hash FROM pages"))
        assert stored == {name: hashlib.sha256((self.folder / name).read_bytes()).digest() for name in self.names()}
        left = {path.name for path in self.folder.iterdir() if path.suffix != ".md"}
        assert left <= {NAME, self.log.name}


@pytest.fixture
def field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Field:
    seed = secrets.randbits(32)
    print(f"seed {seed}")  # pytest shows it with a failure
    made = Field(tmp_path, seed)
    embedder = SlowEmbedder(made.log)
    monkeypatch.setattr(status, "embedder_of", lambda container, model, threads: embedder)
    monkeypatch.setattr(status, "find_embedder", lambda spec, threads: embedder)
    return made


def ended(child: int) -> bool:
    """Kill a process; whether it had ended by itself, and well."""
    os.kill(child, signal.SIGKILL)
    _, how = os.waitpid(child, 0)
    assert how in (0, signal.SIGKILL), how
    return how == 0


def test_killed_at_any_moment_an_index_is_right_and_no_more_than_a_batch_is_lost(field: Field) -> None:
    start = time.monotonic()
    field.sync()
    longest = time.monotonic() - start
    field.asked()
    kills = rounds = 0
    while kills < KILLS:
        rounds += 1
        assert rounds < 20 * KILLS, "the process ends before it can be killed"
        field.change("write", "write", "write", "delete", "rename")
        if rounds % 10 == 0:
            field.index.unlink()
        rebuild = rounds % 10 == 5
        before = field.embedded()
        child = field.begin(rebuild=rebuild)
        time.sleep(field.random.uniform(0, longest))
        if field.random.random() < 0.3:
            field.change("write", "delete")
        kills += not ended(child)
        field.assert_right()
        asked = field.asked()
        assert len(asked) == len(set(asked)), "a page was embedded twice in one run"
        assert rebuild or not before & set(asked), "a page that had its vector was embedded again"
        assert len(set(asked) - field.embedded()) <= BATCH
    field.sync()
    field.assert_complete()
    field.asked()
    assert field.sync().embedded == 0
    assert field.asked() == []


def test_a_killed_rebuild_is_gone_on_with(field: Field) -> None:
    field.sync()
    field.asked()
    child = field.begin(rebuild=True)
    while not field.log.exists() or len(field.log.read_text("utf-8").split()) <= 3 * BATCH:
        time.sleep(0.001)
    assert not ended(child)
    asked = len(field.asked())
    assert field.sync().embedded in range(PAGES - asked, PAGES - asked + BATCH + 1)
    field.assert_complete()
