"""Bringing an index up to date: what is noticed, what is read and embedded, what is reported, what survives."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import multiprocessing
import os
import shutil
import signal
import sqlite3
import struct
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryfield.containers import open_container
from memoryfield.containers.directory import DirectoryContainer
from memoryfield.errors import EmbedderError, EmbedderUnavailableError
from memoryfield.index.schema import words
from memoryfield.index.store import IndexStore
from memoryfield.index.sync import CLOCK_SLACK_NS, SyncReport, look, sync

from ..doubles.ollama_server import hashed_vector

MODEL = "counting-model"
NAME = f"{MODEL}.sqlite3"
DIMENSIONS = 16
OLD = 1_700_000_000 * 10**9
"""A time long past, in nanoseconds."""


def vector_of(text: str, dimensions: int = DIMENSIONS) -> bytes:
    return struct.pack(f"<{dimensions}f", *hashed_vector(text, dimensions))


class CountingEmbedder:
    """An embedder of hashed words that notes what it was given, and fails where it is told to."""

    model = spec = MODEL
    where = "here"

    def __init__(self, *, batch: int = 4, fails_at: str = "", last_batches: int | None = None) -> None:
        self.dimensions: int | None = DIMENSIONS
        self.batch = batch
        self.texts: list[str] = []
        self.refusals = 0
        self._fails_at = fails_at
        self._last_batches = last_batches

    def load(self) -> None:
        """There is nothing to load."""

    def embed_pages(self, texts: Sequence[str]) -> list[bytes | EmbedderError]:
        if self._last_batches == 0:
            self.refusals += 1
            raise EmbedderUnavailableError("the model went away")
        if self._last_batches is not None:
            self._last_batches -= 1
        assert 0 < len(texts) <= self.batch
        self.texts += texts
        return [self._answer(text) for text in texts]

    def _answer(self, text: str) -> bytes | EmbedderError:
        if self._fails_at and self._fails_at in text:
            return EmbedderError("the model chokes on it")
        return vector_of(text)

    def embed_query(self, text: str) -> bytes:
        return vector_of(text)

    def embed_queries(self, texts: Sequence[str]) -> list[bytes | EmbedderError]:
        return [vector_of(text) for text in texts]

    def unavailable(self) -> str:
        return ""


class CountingContainer(DirectoryContainer):
    """A folder that notes which pages are read."""

    def __init__(self, location: Path) -> None:
        super().__init__(location)
        self.reads: list[str] = []

    def read(self, name: str, limit: int | None = None) -> bytes:
        self.reads.append(name)
        return super().read(name, limit)


class Notes:
    """A folder with an index beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.container = CountingContainer(folder)
        self.store = IndexStore.open(folder / NAME, MODEL, DIMENSIONS, create=True)
        self._clock = OLD

    @property
    def index(self) -> Path:
        return self.folder / NAME

    def write(self, name: str, text: str | bytes, mtime_ns: int | None = None) -> Path:
        """A page, as an editor would save it at a time long past: each a minute after the one before."""
        self._clock += 60 * 10**9
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        moment = self._clock if mtime_ns is None else mtime_ns
        os.utime(path, ns=(moment, moment))
        return path

    def sync(self, embedder: CountingEmbedder | None = None, **options: Any) -> SyncReport:
        self.container.reads.clear()
        return sync(self.container, self.store, embedder, **options)

    def words(self, word: str) -> list[str]:
        """The pages that a word is found in."""
        sql = """
            SELECT filename FROM memoryfield_files WHERE id IN
            (SELECT rowid FROM memoryfield_keyword WHERE memoryfield_keyword MATCH ?) ORDER BY filename
        """
        return [row[0] for row in self.store.connection.execute(sql, (f'"{word}"',))]

    def pages(self) -> dict[str, tuple[str, str, bytes, bytes]]:
        """The table `pages`, as another tool reads it."""
        with closing(sqlite3.connect(f"file:{self.index}?mode=ro", uri=True)) as connection:
            rows = connection.execute("SELECT * FROM pages").fetchall()
        return {row[0]: tuple(row[1:]) for row in rows}

    def assert_right(self) -> None:
        """Every page has a row of its own bytes and their vector, and nothing else has."""
        texts = {path.name: path.read_bytes().decode() for path in self.folder.glob("*.md")}
        assert sorted(self.store.rows()) == sorted(texts)
        stored = self.pages()
        assert sorted(stored) == sorted(texts)
        for name, text in texts.items():
            _, modified, sha256, embedding = stored[name]
            assert sha256 == hashlib.sha256(text.encode()).digest()
            assert embedding == vector_of(text)
            assert nanoseconds(modified) == (self.folder / name).stat().st_mtime_ns // 1000 * 1000
        assert self.store.connection.pragma("integrity_check") == "ok"
        check = "INSERT INTO memoryfield_keyword (memoryfield_keyword) VALUES ('integrity-check')"
        self.store.connection.execute(check)
        assert self.store.count("SELECT count(*) FROM memoryfield_keyword") == len(texts)


def nanoseconds(text: str) -> int:
    """An ISO 8601 time in UTC."""
    moment = datetime.datetime.fromisoformat(text)
    assert moment.utcoffset() == datetime.timedelta(0)
    delta = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (delta // datetime.timedelta(microseconds=1)) * 1000


def numbers(report: SyncReport) -> dict[str, int]:
    """The counts of a report that are not zero, without the number of pages."""
    names = ("added", "changed", "renamed", "removed", "unchanged", "embedded", "pending")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    made = Notes(tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def three(notes: Notes) -> Notes:
    """Three pages, embedded."""
    for name in ("a.md", "b.md", "c.md"):
        notes.write(name, f"---\ntitle: {name}\n---\n\nThe page {name} speaks of wok{name[0]}.\n")
    notes.sync(CountingEmbedder())
    return notes


# what a sync does


def test_a_first_sync_embeds_every_page(notes: Notes) -> None:
    notes.write("a.md", "alpha")
    notes.write("b.md", "---\ntitle: Beta\ntags: [x, 1]\n---\nbeta")
    embedder = CountingEmbedder()
    report = notes.sync(embedder)
    assert numbers(report) == {"added": 2, "embedded": 2}
    assert (report.pages, report.model, report.failed, report.notes, report.unavailable) == (2, MODEL, [], [], "")
    assert sorted(embedder.texts) == ["---\ntitle: Beta\ntags: [x, 1]\n---\nbeta", "alpha"]
    notes.assert_right()
    assert json.loads(notes.pages()["b.md"][0]) == {"title": "Beta", "tags": ["x", 1]}
    assert json.loads(notes.pages()["a.md"][0]) == {}


def test_an_unchanged_field_is_neither_read_nor_embedded(three: Notes) -> None:
    assert look(three.container, three.store).none
    embedder = CountingEmbedder()
    before = three.index.read_bytes()
    assert numbers(three.sync(embedder)) == {"unchanged": 3}
    assert three.container.reads == []
    assert embedder.texts == []
    assert three.index.read_bytes() == before


def test_everything_at_once_is_told_apart(three: Notes) -> None:
    three.write("d.md", "delta")
    three.write("e.md", "epsilon")
    three.sync(CountingEmbedder())
    three.write("new.md", "a new page")
    three.write("a.md", "another text")
    (three.folder / "b.md").rename(three.folder / "b2.md")
    (three.folder / "c.md").unlink()
    os.utime(three.folder / "d.md", ns=(OLD, OLD))
    embedder = CountingEmbedder()
    report = three.sync(embedder)
    assert numbers(report) == {"added": 1, "changed": 1, "renamed": 1, "removed": 1, "unchanged": 2, "embedded": 2}
    assert report.pages == 5
    assert sorted(embedder.texts) == ["a new page", "another text"]
    assert "e.md" not in three.container.reads
    three.assert_right()
    assert look(three.container, three.store).none


def test_a_changed_page_is_found_by_its_new_words_only(three: Notes) -> None:
    three.write("a.md", "cast iron")
    assert numbers(three.sync(CountingEmbedder())) == {"changed": 1, "unchanged": 2, "embedded": 1}
    assert three.words("iron") == ["a.md"]
    assert three.words("woka") == []
    three.assert_right()


def test_a_renamed_page_keeps_its_vector(three: Notes) -> None:
    (three.folder / "a.md").rename(three.folder / "z.md")
    embedder = CountingEmbedder()
    assert numbers(three.sync(embedder)) == {"renamed": 1, "unchanged": 2}
    assert embedder.texts == []
    assert three.words("woka") == ["z.md"]
    three.assert_right()


@pytest.mark.parametrize(("old", "new"), [("Foo.md", "foo.md"), ("foo.md", "FOO.md")])
def test_a_page_whose_name_changes_its_case_keeps_its_vector(old: str, new: str, notes: Notes) -> None:
    notes.write(old, "alpha")
    notes.sync(CountingEmbedder())
    (notes.folder / old).rename(notes.folder / new)
    embedder = CountingEmbedder()
    assert numbers(notes.sync(embedder)) == {"renamed": 1}
    assert embedder.texts == []
    assert notes.words("alpha") == [new]
    notes.assert_right()


def test_a_page_that_takes_the_name_of_another_keeps_its_vector(three: Notes) -> None:
    (three.folder / "a.md").replace(three.folder / "b.md")
    embedder = CountingEmbedder()
    assert numbers(three.sync(embedder)) == {"renamed": 1, "unchanged": 1}
    assert embedder.texts == []
    assert (three.words("woka"), three.words("wokb")) == (["b.md"], [])
    three.assert_right()


def test_two_pages_of_the_same_bytes_are_renamed_each_for_itself(notes: Notes) -> None:
    notes.write("a.md", "the same")
    notes.write("b.md", "the same")
    notes.sync(CountingEmbedder())
    (notes.folder / "a.md").rename(notes.folder / "c.md")
    (notes.folder / "b.md").rename(notes.folder / "d.md")
    assert numbers(notes.sync(CountingEmbedder())) == {"renamed": 2}
    notes.assert_right()


def test_a_copy_of_a_page_is_a_page_of_its_own(three: Notes) -> None:
    shutil.copy(three.folder / "a.md", three.folder / "copy.md")
    report = three.sync(CountingEmbedder())
    assert (report.added, report.renamed, report.removed) == (1, 0, 0)
    assert three.words("woka") == ["a.md", "copy.md"]


def test_pages_that_change_names_with_each_other_are_told_apart(three: Notes) -> None:
    a, b = (three.folder / "a.md").read_bytes(), (three.folder / "b.md").read_bytes()
    three.write("a.md", b)
    three.write("b.md", a)
    three.sync(CountingEmbedder())
    assert three.words("woka") == ["b.md"]
    three.assert_right()


def test_a_touched_page_is_hashed_but_not_embedded(three: Notes) -> None:
    os.utime(three.folder / "a.md", ns=(OLD + 5, OLD + 5))
    embedder = CountingEmbedder()
    assert numbers(three.sync(embedder)) == {"unchanged": 3}
    assert three.container.reads == ["a.md"]
    assert embedder.texts == []
    three.assert_right()
    assert look(three.container, three.store).none


def test_a_page_that_is_not_a_page_is_not_indexed(three: Notes) -> None:
    for name in ("notes.txt", ".hidden.md", "a.md~", "b.sync-conflict-20240101-000000-ABC.md"):
        three.write(name, "no page")
    (three.folder / "folder.md").mkdir()
    assert numbers(three.sync(CountingEmbedder())) == {"unchanged": 3}


def test_times_are_those_of_the_files_to_the_microsecond(notes: Notes) -> None:
    notes.write("a.md", "alpha", mtime_ns=1_609_459_199_999_999_999)
    notes.sync(CountingEmbedder())
    assert notes.pages()["a.md"][1] == "2020-12-31T23:59:59.999999Z"


def test_the_progress_counts_up_to_all_there_is_to_do(notes: Notes) -> None:
    for number in range(10):
        notes.write(f"{number}.md", f"page {number}")
    told: list[tuple[int, int]] = []
    notes.sync(CountingEmbedder(batch=4), progress=lambda done, todo: told.append((done, todo)))
    assert told == [(0, 10), (4, 10), (8, 10), (10, 10)]


def test_an_empty_field_has_an_empty_index(notes: Notes) -> None:
    assert numbers(notes.sync(CountingEmbedder())) == {}
    assert notes.pages() == {}


def test_a_page_that_vanishes_while_it_is_looked_at_is_removed(three: Notes) -> None:
    three.write("a.md", "another text")
    changes = look(three.container, three.store)
    (three.folder / "a.md").unlink()
    report = three.sync(CountingEmbedder(), changes=changes)
    assert (report.removed, report.failed) == (1, [])
    three.assert_right()


@pytest.mark.parametrize("names", ["az", "amz"], ids=["once", "before and after"])
def test_a_page_that_is_renamed_while_it_is_looked_at_is_not_embedded_again(names: str, three: Notes) -> None:
    os.utime(three.folder / "a.md", ns=(OLD + 1, OLD + 1))
    for old, new in pairwise(names):
        changes = look(three.container, three.store)
        (three.folder / f"{old}.md").rename(three.folder / f"{new}.md")
    assert three.sync(CountingEmbedder(), changes=changes).failed == []
    embedder = CountingEmbedder()
    assert numbers(three.sync(embedder)) == {"renamed": 1, "unchanged": 2}
    assert embedder.texts == []
    three.assert_right()


# changes that are hard to see


@pytest.mark.parametrize("age_ns", [0, 10**9, CLOCK_SLACK_NS - 10**8])
def test_a_change_of_the_same_size_and_time_is_noticed_while_the_clock_may_be_coarse(age_ns: int, notes: Notes) -> None:
    moment = time.time_ns() - age_ns
    notes.write("a.md", "first", mtime_ns=moment)
    notes.sync(CountingEmbedder())
    notes.write("a.md", "other", mtime_ns=moment)
    assert numbers(notes.sync(CountingEmbedder())) == {"changed": 1, "embedded": 1}
    assert notes.words("other") == ["a.md"]
    notes.assert_right()


def test_a_change_of_the_last_nanosecond_is_noticed(three: Notes) -> None:
    three.write("a.md", "The page a.md speaks of wokz.", mtime_ns=OLD)
    three.sync(CountingEmbedder())
    three.write("a.md", "The page a.md speaks of woky.", mtime_ns=OLD + 100)  # NTFS counts in hundreds
    assert numbers(three.sync(CountingEmbedder())) == {"changed": 1, "unchanged": 2, "embedded": 1}
    assert three.words("woky") == ["a.md"]


def test_a_page_from_the_future_is_looked_at_each_time(notes: Notes) -> None:
    moment = time.time_ns() + 3600 * 10**9
    notes.write("a.md", "first", mtime_ns=moment)
    notes.sync(CountingEmbedder())
    embedder = CountingEmbedder()
    assert numbers(notes.sync(embedder)) == {"unchanged": 1}
    assert embedder.texts == []
    notes.write("a.md", "other", mtime_ns=moment)
    assert numbers(notes.sync(CountingEmbedder())) == {"changed": 1, "embedded": 1}


@pytest.mark.parametrize("seconds", [1, 4])
def test_an_older_time_is_a_change_too(seconds: int, three: Notes) -> None:
    three.write("a.md", "an older copy", mtime_ns=OLD - seconds * 10**9)
    assert numbers(three.sync(CountingEmbedder())) == {"changed": 1, "unchanged": 2, "embedded": 1}


@pytest.mark.parametrize("year", [1902, 1969, 2039, 2261, 2400])
def test_a_page_of_any_year_is_indexed(year: int, notes: Notes) -> None:
    moment = datetime.datetime(year, 6, 1, tzinfo=datetime.UTC)
    notes.write("a.md", "alpha", mtime_ns=int(moment.timestamp()) * 10**9)
    notes.write("b.md", "beta")
    report = notes.sync(CountingEmbedder())
    assert numbers(report) == {"added": 2, "embedded": 2}
    assert notes.words("alpha") == ["a.md"]


# one bad page spoils only itself


def test_a_page_that_cannot_be_embedded_spoils_only_itself(notes: Notes) -> None:
    for name in "abcdef":
        notes.write(f"{name}.md", f"page {name}" + (" poison" if name == "c" else ""))
    report = notes.sync(CountingEmbedder(batch=3, fails_at="poison"))
    assert numbers(report) == {"added": 6, "embedded": 5, "pending": 1}
    assert report.failed == [("c.md", "cannot be embedded: the model chokes on it")]
    assert report.unavailable == ""
    assert notes.words("poison") == ["c.md"]
    assert sorted(notes.pages()) == ["a.md", "b.md", "d.md", "e.md", "f.md"]
    report = notes.sync(CountingEmbedder())
    assert numbers(report) == {"unchanged": 6, "embedded": 1}
    notes.assert_right()


def test_an_embedder_that_goes_half_way_leaves_what_it_gave_and_all_the_words(notes: Notes) -> None:
    for number in range(10):
        notes.write(f"{number}.md", f"page number{number}")
    going = CountingEmbedder(batch=4, last_batches=1)
    report = notes.sync(going)
    assert going.refusals == 1  # it is not asked again: each asking may take minutes
    assert numbers(report) == {"added": 10, "embedded": 4, "pending": 6}
    assert report.unavailable == "the model went away"
    assert len(notes.pages()) == 4
    assert all(notes.words(f"number{number}") == [f"{number}.md"] for number in range(10))
    embedder = CountingEmbedder()
    assert numbers(notes.sync(embedder)) == {"unchanged": 10, "embedded": 6}
    assert len(embedder.texts) == 6
    notes.assert_right()


def test_without_an_embedder_the_words_are_there_and_the_vectors_wait(notes: Notes) -> None:
    notes.write("a.md", "alpha")
    assert numbers(notes.sync(None)) == {"added": 1, "pending": 1}
    assert notes.words("alpha") == ["a.md"]
    assert numbers(notes.sync(None)) == {"unchanged": 1, "pending": 1}
    assert numbers(notes.sync(CountingEmbedder())) == {"unchanged": 1, "embedded": 1}
    notes.assert_right()


def test_a_page_renamed_before_it_was_embedded_is_embedded_in_the_same_run(notes: Notes) -> None:
    notes.write("a.md", "alpha")
    notes.sync(None)
    (notes.folder / "a.md").rename(notes.folder / "b.md")
    report = notes.sync(CountingEmbedder())
    assert numbers(report) == {"renamed": 1, "embedded": 1}
    notes.assert_right()


@pytest.mark.parametrize(
    "raw",
    [b"caf\xe9 latin", b"\xff\xfea\x00b\x00", b"---\ntitle: ok\n---\nend cut \xe7\x82"],
    ids=["latin-1", "utf-16", "cut"],
)
def test_a_page_that_is_not_utf8_has_words_and_a_reason_but_no_vector(raw: bytes, notes: Notes) -> None:
    notes.write("a.md", raw + b" findme")
    notes.write("b.md", "beta")
    embedder = CountingEmbedder()
    report = notes.sync(embedder)
    assert numbers(report) == {"added": 2, "embedded": 1}
    ((name, reason),) = report.failed
    assert name == "a.md"
    assert "not UTF-8" in reason
    assert embedder.texts == ["beta"]
    if b"\x00" not in raw:
        assert notes.words("findme") == ["a.md"]
    assert list(notes.pages()) == ["b.md"]
    again = notes.sync(CountingEmbedder())
    assert numbers(again) == {"unchanged": 2}
    assert again.failed == report.failed
    notes.write("a.md", "now utf-8")
    assert numbers(notes.sync(CountingEmbedder())) == {"changed": 1, "unchanged": 1, "embedded": 1}
    notes.assert_right()


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"  \t\r\n", b"\x00\x00", b"\xef\xbb\xbf"])
def test_a_blank_page_is_no_failure_and_has_no_vector(raw: bytes, notes: Notes) -> None:
    notes.write("a.md", raw)
    embedder = CountingEmbedder()
    report = notes.sync(embedder)
    assert numbers(report) == {"added": 1}
    assert report.failed == []
    assert embedder.texts == []
    assert look(notes.container, notes.store).none


def test_a_page_that_becomes_blank_loses_its_vector(three: Notes) -> None:
    three.write("a.md", "")
    assert numbers(three.sync(CountingEmbedder())) == {"changed": 1, "unchanged": 2}
    assert sorted(three.pages()) == ["b.md", "c.md"]
    assert three.words("woka") == []


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: never closed\n\nalpha",
        "---\n- a\n- list\n---\nalpha",
        "---\ntitle:\tx\n\ty: z\n---\nalpha",
        "---\ntitle: Re: a thing\n---\nalpha",
        "---\ntitle: `x`\n---\nalpha",
        "---\na: 1\n---\n---\nb: 2\n---\nalpha",
        "---\r\ntitle: x\r\n---\r\nalpha",
        "\ufeff---\ntitle: x\n---\nalpha",
        "before\x00\n\nalpha",
        '---\n"\\ud800": "\\udfff"\n---\nalpha',
        "---\nx: .nan\ny: .inf\nz: 99999999999999999999999\nd: 2024-01-01\nb: !!binary aGk=\n---\nalpha",
        "---\n1: one\nnull: none\n[a, b]: pair\n---\nalpha",
    ],
)
def test_frontmatter_that_is_broken_or_odd_spoils_nothing(text: str, notes: Notes) -> None:
    notes.write("a.md", text)
    notes.write("b.md", "beta")
    report = notes.sync(CountingEmbedder())
    assert numbers(report) == {"added": 2, "embedded": 2}
    assert report.failed == []
    assert notes.words("alpha") == ["a.md"]
    assert isinstance(json.loads(notes.pages()["a.md"][0]), dict)
    notes.assert_right()


def test_a_page_in_a_script_without_spaces_is_found_by_any_part_of_a_run(notes: Notes) -> None:
    notes.write("a.md", "---\ntitle: 鍋\n---\n\n炭素鋼の中華鍋はSQLiteと同じ。กระทะเหล็ก\n")
    notes.sync(CountingEmbedder())
    for word in ("中華鍋", "鋼の", "sqlite", "เหล็ก"):
        assert notes.words(words(word)) == ["a.md"]
    assert notes.words(words("鍋中")) == []


def test_a_large_page_is_indexed_whole_and_embedded_to_its_limit(notes: Notes) -> None:
    notes.write("a.md", "word " * 400_000 + "lastword")
    embedder = CountingEmbedder()
    notes.sync(embedder)
    assert notes.words("lastword") == ["a.md"]
    assert [len(text) for text in embedder.texts] == [8192]


def test_a_page_that_cannot_be_read_spoils_only_itself(three: Notes, tmp_path_factory: pytest.TempPathFactory) -> None:
    three.write("a.md", "another text")
    three.write("b.md", "yet another")
    changes = look(three.container, three.store)
    (three.folder / "a.md").unlink()
    (three.folder / "a.md").symlink_to(tmp_path_factory.mktemp("outside") / "x.md")
    report = three.sync(CountingEmbedder(), changes=changes)
    ((name, reason),) = report.failed
    assert name == "a.md"
    assert "cannot be read" in reason
    assert report.changed == 1
    assert three.words("yet") == ["b.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
@pytest.mark.parametrize("name", ["a\\b.md", "Q: why.md", "tab\there.md", "line\nbreak.md", os.fsdecode(b"caf\xe9.md")])
def test_a_page_with_a_name_that_no_field_can_have_spoils_only_itself(name: str, three: Notes) -> None:
    (three.folder / name).write_text("a page of a strange name")
    three.write("d.md", "delta")
    report = three.sync(CountingEmbedder())
    assert three.words("delta") == ["d.md"]
    assert report.embedded >= 1
    assert three.words("woka") == ["a.md"]


def test_an_entry_of_an_archive_with_such_a_name_spoils_only_itself(tmp_path: Path) -> None:
    packed = tmp_path / "notes.memoryfield.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for name in ("good.md", "a\\b.md", "Q: why.md", "tab\there.md", "../up.md", "/root.md", "folder/page.md"):
            archive.writestr(name, f"the page of {name}")
    container = open_container(packed, strict=False)
    with closing(IndexStore.memory(MODEL, DIMENSIONS)) as store:
        report = sync(container, store, CountingEmbedder())
        assert report.embedded >= 1
        assert "good.md" in store.rows()
    container.close()


def test_a_full_disk_spoils_no_index(three: Notes) -> None:
    for number in range(40):
        three.write(f"{number}.md", " ".join(f"word{number}x{other}" for other in range(500)))
    pages = three.store.connection.pragma("page_count")
    three.store.connection.pragma("max_page_count", pages + 5)
    with pytest.raises(apsw.FullError):
        three.sync(CountingEmbedder())
    assert three.store.connection.pragma("integrity_check") == "ok"
    assert {"a.md", "b.md", "c.md"} <= set(three.pages())
    three.store.connection.pragma("max_page_count", 1_000_000)
    three.sync(CountingEmbedder())
    three.assert_right()


# indexes that another tool made, or that do not fit


def foreign(path: Path, rows: Sequence[tuple[str, str, str, bytes, bytes]]) -> None:
    """An index with the table of the format and nothing else."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(
            "CREATE TABLE pages (filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL,"
            " last_modified DATETIME NOT NULL, sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL)"
        )
        connection.executemany("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()


@pytest.fixture
def taken_over(tmp_path: Path) -> Iterator[Notes]:
    """A field with an index that another tool made: one page as it is, one changed since, one gone, one new."""
    (tmp_path / "kept.md").write_text("the same as ever")
    (tmp_path / "changed.md").write_text("newer text")
    (tmp_path / "new.md").write_text("new text")
    sha256 = hashlib.sha256(b"the same as ever").digest()
    rows = [
        ("kept.md", '{"title": "Kept"}', "2020-01-01T00:00:00Z", sha256, vector_of("by another tool")),
        ("changed.md", "{}", "2020-01-01T00:00:00Z", b"\x01" * 32, vector_of("older text")),
        ("gone.md", "{}", "2020-01-01T00:00:00Z", b"\x02" * 32, vector_of("gone")),
    ]
    foreign(tmp_path / NAME, rows)
    made = Notes(tmp_path)
    yield made
    made.store.close()


def test_vectors_of_another_tool_are_kept_where_the_hash_is_right(taken_over: Notes) -> None:
    embedder = CountingEmbedder()
    report = taken_over.sync(embedder)
    assert report.embedded == 2
    assert report.pending == 0
    assert sorted(embedder.texts) == ["new text", "newer text"]
    stored = taken_over.pages()
    assert sorted(stored) == ["changed.md", "kept.md", "new.md"]
    assert stored["kept.md"][3] == vector_of("by another tool")
    assert stored["changed.md"][3] == vector_of("newer text")
    assert taken_over.words("ever") == ["kept.md"]


def test_a_kept_vector_gets_the_time_of_its_file(taken_over: Notes) -> None:
    taken_over.sync(CountingEmbedder())
    mtime_ns = (taken_over.folder / "kept.md").stat().st_mtime_ns
    assert nanoseconds(taken_over.pages()["kept.md"][1]) == mtime_ns // 1000 * 1000


def test_vectors_of_the_wrong_length_are_made_anew_with_a_word(three: Notes) -> None:
    three.store.connection.execute("UPDATE pages SET embedding = zeroblob(12) WHERE filename <> 'b.md'")
    embedder = CountingEmbedder()
    report = three.sync(embedder)
    assert numbers(report) == {"unchanged": 3, "embedded": 2}
    assert len(embedder.texts) == 2
    (note,) = report.notes
    assert note.startswith("2 vectors")
    assert "wrong length" in note
    three.assert_right()
    assert three.sync(CountingEmbedder()).notes == []


def test_a_row_that_another_tool_deleted_is_made_again(three: Notes) -> None:
    three.store.connection.execute("DELETE FROM pages WHERE filename = 'a.md'")
    assert numbers(three.sync(CountingEmbedder())) == {"unchanged": 3, "embedded": 1}
    three.assert_right()


def test_a_stale_vector_does_not_pass_for_a_fresh_one(three: Notes) -> None:
    """Another tool that goes by the time would skip a page whose row has the new time and the old hash."""
    three.write("a.md", "another text")
    three.sync(None)
    os.utime(three.folder / "a.md", ns=(OLD + 5, OLD + 5))
    three.sync(None)
    row = three.pages().get("a.md")
    sha256 = hashlib.sha256(b"another text").digest()
    assert row is None or row[2] == sha256 or nanoseconds(row[1]) != OLD // 1000 * 1000
    three.sync(CountingEmbedder())
    three.assert_right()


# what must not stay in the file

SECRETS = ("qohiddum", "zutitlum", "xobodum")
"""Words with beginnings of their own: a keyword table stores what two neighbours share only once."""


def secret_page() -> str:
    hidden, title, body = SECRETS
    return f"---\ntitle: {title}\nnote: {hidden}\n---\n\nThe {body} of it.\n"


def found_in(path: Path) -> list[str]:
    """Which secrets are in the bytes of an index, or of what SQLite keeps beside it."""
    content = b"".join(file.read_bytes() for file in path.parent.glob(f"{path.name}*"))
    return [word for word in SECRETS if word.encode() in content]


@pytest.fixture
def secretive(notes: Notes) -> Notes:
    """A field with a page whose words are to be forgotten, among others."""
    for number in range(30):
        notes.write(f"{number}.md", f"---\ntitle: page {number}\n---\n\nNothing to hide in number {number}.\n")
    notes.write("secret.md", secret_page())
    notes.sync(CountingEmbedder(batch=16))
    assert found_in(notes.index) == list(SECRETS)
    return notes


def test_deleted_text_leaves_no_bytes(secretive: Notes) -> None:
    (secretive.folder / "secret.md").unlink()
    secretive.sync(CountingEmbedder())
    assert found_in(secretive.index) == []


def test_replaced_text_leaves_no_bytes(secretive: Notes) -> None:
    secretive.write("secret.md", "nothing here any more")
    secretive.sync(CountingEmbedder())
    assert found_in(secretive.index) == []


@pytest.mark.parametrize("raw", [b"", b"caf\xe9"], ids=["blank", "not UTF-8"])
def test_text_replaced_by_none_leaves_no_bytes(raw: bytes, secretive: Notes) -> None:
    secretive.write("secret.md", raw)
    secretive.sync(CountingEmbedder())
    assert found_in(secretive.index) == []


def test_replaced_text_leaves_no_bytes_even_where_nothing_embeds(secretive: Notes) -> None:
    secretive.write("secret.md", "nothing here any more")
    secretive.sync(None)
    assert found_in(secretive.index) == []


def test_replaced_text_leaves_no_bytes_after_an_interrupted_run_was_gone_on_with(secretive: Notes) -> None:
    secretive.write("secret.md", "nothing here any more")
    for number in range(8):
        secretive.write(f"{number}.md", f"changed {number}")

    def interrupt(done: int, todo: int) -> None:
        if done < todo:
            assert "secret.md" in secretive.store.rows()
            if secretive.store.rows()["secret.md"].sha256 == hashlib.sha256(b"nothing here any more").digest():
                raise KeyboardInterrupt

    changes = look(secretive.container, secretive.store)
    changes.suspects.sort(key=lambda entry: entry.name != "secret.md")
    with pytest.raises(KeyboardInterrupt):
        secretive.sync(CountingEmbedder(batch=1), changes=changes, progress=interrupt)
    for number in range(8):  # back as they were: nothing is left that would change
        secretive.write(f"{number}.md", f"---\ntitle: page {number}\n---\n\nNothing to hide in number {number}.\n")
    secretive.sync(CountingEmbedder())
    secretive.sync(CountingEmbedder())
    assert found_in(secretive.index) == []


@pytest.mark.parametrize("wal", [True, False], ids=["WAL", "journal"])
def test_what_another_tool_left_in_its_index_goes_when_it_becomes_ours(wal: bool, tmp_path: Path) -> None:
    """Made without secure_delete: rows that were deleted long ago, and pages that are deleted now."""
    hidden, title, body = SECRETS
    index = tmp_path / NAME
    old = "2020-01-01T00:00:00Z"
    rows = [(f"{n}.md", json.dumps({"n": "x" * 200}), old, b"\x01" * 32, vector_of(str(n))) for n in range(30)]
    foreign(index, [*rows, ("long-gone.md", json.dumps({"title": hidden}), old, b"\x01" * 32, vector_of("gone"))])
    with closing(sqlite3.connect(index)) as tool:
        if wal:
            tool.execute("PRAGMA journal_mode = wal")
        tool.execute("PRAGMA secure_delete = off")
        tool.execute("DELETE FROM pages WHERE filename IN ('long-gone.md', '3.md', '4.md')")
        tool.execute("INSERT INTO pages VALUES ('a.md', ?, ?, x'01', x'01')", (json.dumps({"title": title}), old))
        tool.commit()
    assert {hidden, title} <= set(found_in(index))
    (tmp_path / "b.md").write_text(f"---\ntitle: {body}\n---\n")
    made = Notes(tmp_path)
    made.sync(CountingEmbedder())
    assert found_in(index) == [body]
    (tmp_path / "b.md").write_text("nothing here any more")
    made.sync(CountingEmbedder())
    assert found_in(index) == []
    made.store.close()
    assert found_in(index) == []


# archives


def test_an_index_goes_along_into_an_archive(three: Notes, tmp_path_factory: pytest.TempPathFactory) -> None:
    three.store.close()
    packed = tmp_path_factory.mktemp("elsewhere") / "notes.memoryfield.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in three.folder.iterdir():
            archive.write(path, path.name)
        archive.writestr("d.md", "one more")
    container = open_container(packed)
    with closing(IndexStore.memory(MODEL, DIMENSIONS, container.read(NAME), NAME)) as store:
        changes = look(container, store)
        assert [entry.name for entry in changes.suspects] == ["d.md"]
        assert (changes.removed, changes.pending) == ([], [])
        embedder = CountingEmbedder()
        assert numbers(sync(container, store, embedder)) == {"added": 1, "unchanged": 3, "embedded": 1}
        assert embedder.texts == ["one more"]
    container.close()
    assert [path.name for path in packed.parent.iterdir()] == [packed.name]


# the mark that lets a search see at a glance that nothing has changed


def test_an_index_that_is_up_to_date_is_marked_for_folders_and_archives(
    three: Notes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert three.store.is_current(three.container.fingerprint())
    packed = tmp_path_factory.mktemp("elsewhere") / "notes.memoryfield.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        for path in three.folder.glob("*.md"):
            archive.write(path, path.name)
    container = open_container(packed)
    assert three.store.is_current(container.fingerprint())
    container.close()


@pytest.mark.parametrize(
    "change",
    [
        lambda notes: notes.write("new.md", "new"),
        lambda notes: notes.write("a.md", "changed"),
        lambda notes: (notes.folder / "a.md").unlink(),
        lambda notes: (notes.folder / "a.md").rename(notes.folder / "z.md"),
        lambda notes: os.utime(notes.folder / "a.md", ns=(OLD, OLD)),
    ],
    ids=["added", "changed", "removed", "renamed", "touched"],
)
def test_any_change_of_a_page_shows(change: Callable[[Notes], object], three: Notes) -> None:
    change(three)
    assert not three.store.is_current(three.container.fingerprint())
    assert not look(three.container, three.store).none
    three.sync(CountingEmbedder())
    assert three.store.is_current(three.container.fingerprint())
    assert look(three.container, three.store).none


def test_an_index_is_not_marked_while_something_may_be_missing(notes: Notes) -> None:
    notes.write("a.md", "alpha")
    notes.sync(None)
    assert not notes.store.is_current(notes.container.fingerprint())
    notes.sync(CountingEmbedder(fails_at="alpha"))
    assert not notes.store.is_current(notes.container.fingerprint())
    notes.write("a.md", "young", mtime_ns=time.time_ns())
    notes.sync(CountingEmbedder())
    assert not notes.store.is_current(notes.container.fingerprint())


# several at once, and sudden ends


def test_two_that_saw_the_same_renaming_do_not_undo_each_other(three: Notes) -> None:
    (three.folder / "a.md").rename(three.folder / "z.md")
    with closing(IndexStore.open(three.index, MODEL, DIMENSIONS)) as other:
        seen_by_both = look(three.container, other)
        three.sync(CountingEmbedder())
        sync(three.container, other, CountingEmbedder(), changes=seen_by_both)
    three.assert_right()
    assert three.words("woka") == ["z.md"]


def test_two_that_saw_the_same_changes_leave_an_index_that_is_right(three: Notes) -> None:
    three.write("a.md", "another text")
    three.write("d.md", "delta")
    (three.folder / "b.md").unlink()
    with closing(IndexStore.open(three.index, MODEL, DIMENSIONS)) as other:
        seen_by_both = look(three.container, other)
        three.sync(CountingEmbedder())
        sync(three.container, other, CountingEmbedder(), changes=seen_by_both)
    three.assert_right()


def sync_in_a_process(folder: Path, pipe: Connection) -> None:
    """Sync, page by page; say after each how many are done. Begins when it is told to."""
    container = DirectoryContainer(folder)
    pipe.send(-1)
    pipe.recv()
    with closing(IndexStore.open(folder / NAME, MODEL, DIMENSIONS, create=True)) as store:
        sync(container, store, CountingEmbedder(batch=2), progress=lambda done, todo: pipe.send(done))
    pipe.send(-2)


class Process:
    """A process that syncs a folder."""

    def __init__(self, folder: Path) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.pipe, other = spawn.Pipe()
        self._process = spawn.Process(target=sync_in_a_process, args=(folder, other), daemon=True)
        self._process.start()
        other.close()
        assert self.pipe.recv() == -1

    def begin(self) -> None:
        self.pipe.send("begin")

    def wait_for(self, done: int) -> None:
        """Until so many pages are done, or the sync is."""
        while True:
            said = self.pipe.recv()
            if said == -2 or said >= done:
                return

    def kill(self) -> None:
        assert self._process.pid is not None
        if sys.platform == "win32":
            self._process.terminate()
        else:
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        assert self._process.exitcode != 0

    def end(self) -> None:
        self.wait_for(sys.maxsize)
        self._process.join()
        assert self._process.exitcode == 0


def forty_pages(notes: Notes) -> None:
    for number in range(40):
        notes.write(f"{number:02}.md", f"---\ntitle: Page {number}\n---\n\n" + f"word{number} text " * 50)


def test_two_processes_at_once_leave_an_index_that_is_right(notes: Notes) -> None:
    forty_pages(notes)
    notes.store.close()
    notes.index.unlink()
    processes = [Process(notes.folder) for _ in range(2)]
    for process in processes:
        process.begin()
    for process in processes:
        process.end()
    notes.store = IndexStore.open(notes.index, MODEL, DIMENSIONS)
    assert numbers(notes.sync(CountingEmbedder())) == {"unchanged": 40}
    notes.assert_right()


def test_a_killed_sync_leaves_an_index_that_the_next_one_goes_on_with(notes: Notes) -> None:
    forty_pages(notes)
    processes = [Process(notes.folder) for _ in range(3)]
    for round_, process in enumerate(processes):
        notes.write("00.md", f"replaced in round {round_}")
        process.begin()
        process.wait_for(2 + 4 * round_)
        process.kill()
        with closing(sqlite3.connect(notes.index)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    with closing(sqlite3.connect(notes.index)) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM pages").fetchone()
    assert kept >= 8
    embedder = CountingEmbedder()
    report = notes.sync(embedder)
    assert len(embedder.texts) == report.embedded <= 40 - kept + 1
    assert report.pending == 0
    notes.assert_right()


def test_vectors_have_unit_length() -> None:
    """The double must keep to what an embedder promises."""
    assert math.isclose(math.hypot(*struct.unpack("<16f", vector_of("some words"))), 1.0, abs_tol=1e-6)
