"""A whole search: both halves in one score, how fresh the index is, and what serves where something is missing."""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import os
import random
import shutil
import sqlite3
import struct
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryfield import Field, MemoryfieldError, Page, SearchResult
from memoryfield.embedders.minilm import MiniLM
from memoryfield.errors import EmbedderError, UnknownModelError, UsageError
from memoryfield.index.store import IndexStore
from memoryfield.index.sync import sync

from .test_keyword import bm25_over_ceiling

MODEL = "all-MiniLM-L6-v2"
INDEX = f"{MODEL}.sqlite3"
NOMIC = "nomic-embed-text-v1.5"
SAMPLES = Path(__file__).parents[2] / "samples" / "fieldnotes"
QUERY = "which wok heats evenly?"
KEYS = {
    "field",
    "filename",
    "score",
    "match",
    "keyword",
    "semantic",
    "title",
    "summary",
    "snippet",
    "bytes",
    "frontmatter",
}


# Pages whose vectors are chosen


def values_of(vector: bytes) -> tuple[float, ...]:
    """A stored vector's float32 values."""
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def cosine_of(first: bytes, second: bytes) -> float:
    """By hand."""
    a, b = values_of(first), values_of(second)
    length = math.sqrt(math.fsum(x * x for x in a)) * math.sqrt(math.fsum(x * x for x in b))
    return math.fsum(x * y for x, y in zip(a, b, strict=True)) / length


def with_cosine(query: bytes, cosine: float, seed: str = "") -> bytes:
    """A unit vector that has this cosine to a query's vector."""
    direction = values_of(query)
    chance = random.Random(seed)
    other = [chance.gauss(0, 1) for _ in direction]
    along = math.fsum(x * y for x, y in zip(other, direction, strict=True))
    other = [x - along * y for x, y in zip(other, direction, strict=True)]
    length = math.sqrt(math.fsum(x * x for x in other))
    across = math.sqrt(1 - cosine * cosine) / length
    return struct.pack(f"<{len(other)}f", *(cosine * y + across * x for x, y in zip(other, direction, strict=True)))


class ChosenVectors:
    """An embedder that costs nothing: it looks up each page's text."""

    model = spec = MODEL
    where = "here"
    batch = 64

    def __init__(self, vectors: Mapping[str, bytes]) -> None:
        self.vectors = vectors
        self.dimensions: int | None = len(next(iter(vectors.values()))) // 4 if vectors else 384

    def load(self) -> None:
        """Nothing to load."""

    def embed_pages(self, texts: Sequence[str]) -> list[bytes | EmbedderError]:
        return [self.vectors[text] for text in texts]

    def embed_query(self, text: str) -> bytes:
        raise AssertionError("a search makes its own embedder")

    embed_queries = embed_pages

    def unavailable(self) -> str:
        return ""


def write_page(folder: Path, name: str, text: str | bytes, age: float = 3600) -> Path:
    """A page that was written an hour ago."""
    path = folder / name
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    moment = time.time() - age
    os.utime(path, (moment, moment))
    return path


def make_field(folder: Path, pages: Mapping[str, tuple[str, float]], query: bytes) -> Path:
    """A field with an index, from each page's text and the cosine that it shall have to a query."""
    folder.mkdir(exist_ok=True)
    for name, (text, _) in pages.items():
        write_page(folder, name, text)
    index_by_hand(folder, {text: with_cosine(query, cosine, name) for name, (text, cosine) in pages.items()})
    return folder


def index_by_hand(folder: Path, vectors: Mapping[str, bytes]) -> None:
    """Bring the index up to date with given vectors."""
    store = IndexStore.open(folder / INDEX, MODEL, 384, create=True)
    try:
        with Field.open(folder) as field:
            report = sync(field.container, store, ChosenVectors(vectors))
    finally:
        store.close()
    assert not report.failed


def searched(folder: Path, query: str = QUERY, **options: Any) -> SearchResult:
    """One search."""
    with Field.open(folder) as field:
        return field.search(query, **options)


def names_of(found: SearchResult) -> list[str]:
    """The files that were found, best first."""
    return [hit.filename for hit in found.results]


def state_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time."""
    return {path.name: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.fixture(scope="module")
def query_vector() -> bytes:
    """The vector of QUERY."""
    return MiniLM().embed_query(QUERY)


PAGES = {
    "eggs.md": ("egg salt", 0.9),
    "heat.md": ("stove heats salt", 0.3),
    "pans.md": ("pan heats iron", 0.6),
    "spare.md": ("wok wok wok wok", -0.5),
    "woks.md": ("wok heats evenly iron", 0.8),
}


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory, query_vector: bytes) -> Path:
    """A field with an up-to-date index. Tests that change it work on a copy."""
    return make_field(tmp_path_factory.mktemp("made") / "kitchen", PAGES, query_vector)


@pytest.fixture
def kitchen(indexed: Path, tmp_path: Path) -> Path:
    """A copy of that field."""
    return Path(shutil.copytree(indexed, tmp_path / "kitchen"))


# The score


def test_the_score_is_half_keyword_and_half_cosine(indexed: Path) -> None:
    found = searched(indexed, min_score=0)
    keyword = bm25_over_ceiling({name: text.split() for name, (text, _) in PAGES.items()}, ["wok", "heats", "evenly"])
    assert found.mode == "hybrid"
    assert found.model == MODEL
    assert found.notes == []
    assert {hit.filename for hit in found.results} == set(PAGES)
    for hit in found.results:
        semantic = max(0.0, PAGES[hit.filename][1])
        assert hit.keyword == pytest.approx(keyword.get(hit.filename, 0.0), rel=1e-9)
        assert hit.semantic == pytest.approx(semantic, abs=1e-5)
        assert hit.score == pytest.approx(0.5 * keyword.get(hit.filename, 0.0) + 0.5 * semantic, abs=1e-5)
        assert hit.match == ("strong" if hit.score >= 0.45 else "weak")
    assert [hit.score for hit in found.results] == sorted((hit.score for hit in found.results), reverse=True)
    assert names_of(found)[0] == "woks.md"


def test_sample_pages_score_as_computed_from_scratch(tmp_path: Path) -> None:
    query = "Why is my SQLite database locked while writing?"
    for path in sorted(SAMPLES.glob("sqlite-*.md"))[:2]:
        shutil.copy(path, tmp_path)
    with Field.open(tmp_path) as field:
        assert field.sync().embedded == 2
    pages = {path.name: path.read_bytes() for path in tmp_path.glob("*.md")}
    stems = apsw.Connection(":memory:").fts5_tokenizer("porter", ["unicode61", "remove_diacritics", "2"])

    def stemmed(text: bytes) -> list[str]:
        found = stems(text, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
        return [str(stem) for stem in found]

    keyword = bm25_over_ceiling(
        {name: stemmed(raw) for name, raw in pages.items()}, stemmed(b"SQLite database locked writing")
    )
    with sqlite3.connect(tmp_path / INDEX) as connection:
        vectors = dict(connection.execute("SELECT filename, embedding FROM pages"))
    connection.close()
    asked = MiniLM().embed_query(query)
    semantic = {name: cosine_of(vector, asked) for name, vector in vectors.items()}
    found = searched(tmp_path, query, min_score=0)
    assert {hit.filename for hit in found.results} == set(pages)
    for hit in found.results:
        assert hit.keyword == pytest.approx(keyword[hit.filename], rel=1e-6)
        assert hit.semantic == pytest.approx(semantic[hit.filename], abs=1e-5)
        assert hit.score == pytest.approx((keyword[hit.filename] + semantic[hit.filename]) / 2, abs=1e-5)
    assert found.results[0].filename == "sqlite-database-is-locked.md"
    assert found.results[0].match == "strong"


def test_both_halves_are_computed_for_every_candidate(tmp_path: Path, query_vector: bytes) -> None:
    pages = {f"near-{number:03d}.md": (f"wok wok heats{' salt' * (number % 3)}", 0.1) for number in range(205)}
    # Each of these is among the best 200 of one half only: the first by its vector, the second by its words.
    pages["by-vector.md"] = ("wok " + "salt " * 60, 0.9)
    pages["by-words.md"] = ("wok wok wok heats evenly", -0.9)
    make_field(tmp_path, pages, query_vector)
    found = {hit.filename: hit for hit in searched(tmp_path, min_score=0, limit=500).results}
    keyword = bm25_over_ceiling({name: text.split() for name, (text, _) in pages.items()}, ["wok", "heats", "evenly"])
    assert sorted(keyword, key=lambda name: -keyword[name]).index("by-vector.md") > 200
    assert found["by-vector.md"].keyword == pytest.approx(keyword["by-vector.md"], rel=1e-9)
    assert found["by-vector.md"].semantic == pytest.approx(0.9, abs=1e-5)
    assert found["by-words.md"].semantic == 0
    assert all(hit.semantic == pytest.approx(0.1, abs=1e-5) for name, hit in found.items() if name.startswith("near"))


def test_a_page_without_a_vector_is_scored_by_its_words(kitchen: Path) -> None:
    write_page(kitchen, "broken.md", b"wok heats evenly \xff")
    found = {hit.filename: hit for hit in searched(kitchen, min_score=0).results}
    assert found["broken.md"].semantic is None
    assert found["broken.md"].keyword
    assert found["broken.md"].score == found["broken.md"].keyword


@pytest.mark.parametrize("query", ["?!", "🍳"])
def test_a_query_without_a_word_is_scored_by_its_meaning_alone(tmp_path: Path, query: str) -> None:
    pages = {"near.md": ("iron wok", 0.7), "far.md": ("egg salt", 0.3)}
    make_field(tmp_path, pages, MiniLM().embed_query(query))
    found = searched(tmp_path, query)
    assert [(hit.filename, round(hit.score, 4)) for hit in found.results] == [("near.md", 0.7), ("far.md", 0.3)]


def test_strong_begins_at_045_and_weak_ends_at_025(tmp_path: Path, query_vector: bytes) -> None:
    cosines = {"a.md": 0.9, "b.md": 0.451, "c.md": 0.449, "d.md": 0.251, "e.md": 0.249, "f.md": 0.0}
    make_field(tmp_path, {name: (f"page {name}", cosine) for name, cosine in cosines.items()}, query_vector)
    found = searched(tmp_path, mode="semantic", limit=100)
    assert {hit.filename: hit.match for hit in found.results} == {
        "a.md": "strong",
        "b.md": "strong",
        "c.md": "weak",
        "d.md": "weak",
    }
    assert names_of(searched(tmp_path, mode="semantic", limit=100, min_score=0)) == list(cosines)

    assert names_of(searched(tmp_path, mode="semantic", min_score=0, limit=2)) == ["a.md", "b.md"]


def test_five_pages_are_given_where_nothing_is_said(tmp_path: Path) -> None:
    for number in range(8):
        write_page(tmp_path, f"page-{number}.md", "wok")
    write_page(tmp_path, "other.md", "pan " * 40)
    assert names_of(searched(tmp_path, "wok", min_score=0)) == [f"page-{number}.md" for number in range(5)]


def test_modes_leave_the_other_half_out(indexed: Path) -> None:
    by_words = searched(indexed, mode="keyword", min_score=0)
    assert (by_words.mode, by_words.model) == ("keyword", None)
    assert set(names_of(by_words)) == {"woks.md", "pans.md", "heat.md", "spare.md"}
    assert all(hit.semantic is None and hit.score == hit.keyword for hit in by_words.results)
    by_meaning = searched(indexed, mode="semantic", min_score=0)
    assert (by_meaning.mode, by_meaning.model) == ("semantic", MODEL)
    assert names_of(by_meaning)[:3] == ["eggs.md", "woks.md", "pans.md"]
    assert all(hit.keyword is None and hit.score == hit.semantic for hit in by_meaning.results)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("", {}),
        (" \n\t", {}),
        ("wok", {"limit": 0}),
        ("wok", {"limit": -3}),
        ("wok", {"mode": "fuzzy"}),
        ("wok", {"model": "no-such-model"}),
    ],
)
def test_what_cannot_be_meant_is_refused(indexed: Path, query: str, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        searched(indexed, query, **options)
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_an_unknown_model_is_refused_with_the_known_ones(indexed: Path) -> None:
    with pytest.raises(UnknownModelError, match=f"(?s){NOMIC}.*{MODEL}"):
        searched(indexed, model="no-such-model")


# The result


def test_a_result_has_just_these_keys_and_is_json(kitchen: Path) -> None:
    odd = (
        "---\ntitle: Woks\nsummary: Wok facts.\nday: 2026-03-14\nnan: .nan\nhuge: 123456789012345678901234567890\n"
        "set: !!set {a, b}\ndata: !!binary aGVsbG8=\nnested: {a: [1, {b: null}]}\n1: one\n---\n\nA wok heats evenly.\n"
    )
    write_page(kitchen, "odd.md", odd)
    result = searched(kitchen, min_score=0).to_dict()
    assert list(result) == ["query", "mode", "model", "notes", "results"]
    assert result["query"] == QUERY
    assert all(set(hit) == KEYS for hit in result["results"])
    again = json.loads(json.dumps(result, allow_nan=False))
    assert again == result
    hit = next(hit for hit in again["results"] if hit["filename"] == "odd.md")
    assert hit["field"] == "kitchen"
    assert (hit["title"], hit["summary"], hit["snippet"]) == ("Woks", "Wok facts.", "A wok heats evenly.")
    assert hit["bytes"] == len(odd)
    assert hit["frontmatter"]["day"] == "2026-03-14"
    for number in ("score", "keyword", "semantic"):
        assert 0 <= hit[number] <= 1
        assert hit[number] == round(hit[number], 4)


def test_stored_and_fresh_frontmatter_are_the_same(kitchen: Path) -> None:
    raw = '---\ntitle: "Woks: all"\ntags: [a, 1, 2.5, true, null]\n---\n\nA wok heats evenly.\n'
    write_page(kitchen, "odd.md", raw)
    first, second = searched(kitchen), searched(kitchen, mode="keyword")
    for found in (first, second):
        hit = next(hit for hit in found.results if hit.filename == "odd.md")
        assert hit.frontmatter == Page("odd.md", raw.encode()).frontmatter
        assert hit.title == "Woks: all"


def test_frontmatter_that_does_not_parse_is_noted_with_its_place(kitchen: Path) -> None:
    write_page(kitchen, "broken.md", "---\ntitle: [unclosed\n---\n\nA wok heats evenly.\n")
    found = searched(kitchen, mode="keyword")
    assert "broken.md" in names_of(found)
    assert any(note.startswith("broken.md:3:") for note in found.notes)


def test_a_search_leaves_no_thread_behind(kitchen: Path) -> None:
    before = set(threading.enumerate())
    (kitchen / INDEX).unlink()
    searched(kitchen, model=MODEL)
    assert set(threading.enumerate()) <= before


# How fresh the index is


def test_a_field_that_was_never_embedded_is_searched_by_words(kitchen: Path) -> None:
    (kitchen / INDEX).unlink()
    before = state_of(kitchen)
    found = searched(kitchen)
    assert (found.mode, found.model) == ("keyword", None)
    assert names_of(found)[0] == "woks.md"
    assert found.results[0].score == found.results[0].keyword
    assert any("not embedded" in note and "memoryfield embed" in note for note in found.notes)
    assert state_of(kitchen) == before


def test_changes_are_found_without_embed(kitchen: Path) -> None:
    (kitchen / "eggs.md").write_text("quench the hot steel", encoding="utf-8")
    (kitchen / "new.md").write_text("anneal the quench tank", encoding="utf-8")
    (kitchen / "heat.md").unlink()
    (kitchen / "pans.md").rename(kitchen / "griddles.md")
    found = searched(kitchen, "quench", min_score=0)
    assert found.notes == []
    assert set(names_of(found)[:2]) == {"eggs.md", "new.md"}
    assert set(names_of(found)) == {"eggs.md", "new.md", "spare.md", "woks.md", "griddles.md"}
    assert all(hit.semantic is not None for hit in found.results)
    assert {hit.filename for hit in searched(kitchen, "iron", mode="keyword").results} == {"woks.md", "griddles.md"}
    with Field.open(kitchen) as field:
        assert [(index.embedded, index.pending) for index in field.indexes()] == [(5, 0)]


def test_a_change_that_keeps_the_size_is_found(kitchen: Path) -> None:
    text = (kitchen / "eggs.md").read_text(encoding="utf-8")
    (kitchen / "eggs.md").write_text(text.replace("salt", "pots"), encoding="utf-8")
    assert names_of(searched(kitchen, "pots", mode="keyword")) == ["eggs.md"]
    (kitchen / "eggs.md").write_text(text.replace("salt", "lids"), encoding="utf-8")
    assert names_of(searched(kitchen, "pots", mode="keyword")) == []
    assert names_of(searched(kitchen, "lids", mode="keyword")) == ["eggs.md"]


@pytest.mark.parametrize(("count", "embedded"), [(25, True), (26, False)])
def test_up_to_25_changed_pages_are_embedded_by_a_search(kitchen: Path, count: int, embedded: bool) -> None:
    for number in range(count):
        write_page(kitchen, f"new-{number:02d}.md", f"anneal quench {number}", age=10)
    found = searched(kitchen, "anneal", min_score=0, limit=100)
    assert [name for name in names_of(found) if name.startswith("new")]
    halves = {hit.semantic is None for hit in found.results if hit.filename.startswith("new")}
    assert halves == {not embedded}
    if embedded:
        assert found.notes == []
    else:
        assert any(str(count) in note and "memoryfield embed" in note for note in found.notes)


def test_pages_that_were_only_touched_are_no_change(kitchen: Path, query_vector: bytes) -> None:
    pages = {f"more-{number:02d}.md": (f"anneal {number}", 0.5) for number in range(30)}
    make_field(kitchen, {**PAGES, **pages}, query_vector)
    for path in kitchen.glob("*.md"):
        os.utime(path, (time.time() - 100, time.time() - 100))
    found = searched(kitchen)
    assert found.notes == []
    assert found.results[0].semantic == pytest.approx(0.8, abs=1e-5)


def test_a_page_whose_name_is_not_legal_is_searched_all_the_same(kitchen: Path) -> None:
    write_page(kitchen, "My Notes.MD", "quench it")
    assert names_of(searched(kitchen, "quench", mode="keyword")) == ["My Notes.MD"]


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="file names are Unicode there")
def test_a_file_name_that_is_not_utf8_stops_nothing(kitchen: Path) -> None:
    (kitchen / os.fsdecode(b"caf\xe9.md")).write_text("quench it", encoding="utf-8")
    found = searched(kitchen, mode="keyword")
    assert names_of(found)[0] == "woks.md"
    json.dumps(found.to_dict()).encode("utf-8")


def test_a_link_that_leads_outside_is_not_searched(kitchen: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("quench secret", encoding="utf-8")
    (kitchen / "secret.md").symlink_to(tmp_path / "secret.md")
    assert names_of(searched(kitchen, "quench secret", mode="keyword", min_score=0)) == []


def test_a_field_without_pages_says_so(tmp_path: Path) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    found = searched(tmp_path)
    assert found.results == []
    assert any("no pages" in note for note in found.notes)
    assert set(state_of(tmp_path)) == {"picture.png"}


# An index that cannot be used as it is


def _make_index(path: Path, rows: Mapping[str, tuple[bytes, bytes]]) -> None:
    """An index as another tool may make it, from each page's sha256 and vector."""
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TABLE pages (filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL, last_modified DATETIME NOT NULL,"
            " sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL)"
        )
        connection.executemany(
            "INSERT INTO pages VALUES (?, '{}', '2026-01-01T00:00:00Z', ?, ?)",
            [(name, *row) for name, row in rows.items()],
        )
    connection.close()


def _sha256(text: str | bytes) -> bytes:
    return hashlib.sha256(text.encode("utf-8") if isinstance(text, str) else text).digest()


def _garbage(path: Path) -> None:
    path.write_bytes(b"this is no database at all. " * 400)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _damaged_inside(path: Path) -> None:
    """The head is good, the tables are not."""
    content = path.read_bytes()
    path.write_bytes(content[: 4 * 8192] + b"\xa5" * (len(content) - 4 * 8192))


def _of_another_model(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE memoryfield_meta SET value = 'another-model' WHERE key = 'model'")
    connection.close()


def _of_another_dimension(path: Path) -> None:
    """Made by another tool, with vectors of three numbers."""
    with sqlite3.connect(path) as connection:
        rows = list(connection.execute("SELECT filename, sha256_hash FROM pages"))
    connection.close()
    path.unlink()
    _make_index(path, {name: (sha256, struct.pack("<3f", 1, 0, 0)) for name, sha256 in rows})


def _with_vectors_cut_short(path: Path) -> None:
    """Ours, but another tool has changed the vectors since."""
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE pages SET embedding = substr(embedding, 1, 12)")
    connection.close()


def _of_no_columns(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE pages (filename TEXT)")
    connection.close()


DAMAGES = (
    _garbage,
    _empty,
    _damaged_inside,
    _of_another_model,
    _of_another_dimension,
    _with_vectors_cut_short,
    _of_no_columns,
)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_anew_with_a_word_about_it(kitchen: Path, damage: Callable[[Path], None]) -> None:
    damage(kitchen / INDEX)
    found = searched(kitchen)
    assert names_of(found)[0] == "woks.md"
    assert any(MODEL in note for note in found.notes)
    assert searched(kitchen, mode="keyword").notes == []
    with Field.open(kitchen) as field:
        assert [(index.embedded, index.pending, index.problem) for index in field.indexes()] == [(5, 0, "")]


@pytest.mark.parametrize("table", ["memoryfield_meta", "memoryfield_files", "memoryfield_keyword"])
def test_tables_of_ours_can_be_dropped_without_loss(kitchen: Path, table: str) -> None:
    connection = apsw.Connection(str(kitchen / INDEX))
    connection.execute(f"DROP TABLE {table}")
    connection.close()
    found = searched(kitchen)
    assert names_of(found)[0] == "woks.md"
    assert found.results[0].semantic == pytest.approx(0.8, abs=1e-5)  # the stored vectors still serve


def test_an_index_that_another_tool_made_is_used(kitchen: Path, query_vector: bytes) -> None:
    (kitchen / INDEX).unlink()
    rows = {name: (_sha256(text), with_cosine(query_vector, cosine, name)) for name, (text, cosine) in PAGES.items()}
    _make_index(kitchen / INDEX, rows)
    with sqlite3.connect(kitchen / INDEX) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    found = searched(kitchen)
    assert found.notes == []
    assert names_of(found)[0] == "woks.md"
    assert found.results[0].semantic == pytest.approx(0.8, abs=1e-5)
    assert found.results[0].keyword is not None


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize("kind", ["database", "text", "damaged"])
def test_a_file_of_the_user_that_only_looks_like_an_index_is_never_touched(kitchen: Path, kind: str, mode: str) -> None:
    mine = kitchen / "recipes.sqlite3"
    if kind == "database":
        with sqlite3.connect(mine) as connection:
            connection.execute("CREATE TABLE recipes (name TEXT)")
            connection.execute("INSERT INTO recipes VALUES ('fried rice')")
        connection.close()
    elif kind == "text":
        mine.write_text("not a database, and nobody's business", encoding="utf-8")
    else:
        shutil.copy(kitchen / INDEX, mine)
        _damaged_inside(mine)
    (kitchen / INDEX).unlink()
    before = mine.read_bytes()
    assert names_of(searched(kitchen, mode=mode))[0] == "woks.md"
    assert mine.read_bytes() == before


def test_an_index_of_an_unknown_model_is_named_and_the_words_serve(kitchen: Path) -> None:
    (kitchen / INDEX).rename(kitchen / "some-model-v2.sqlite3")
    with sqlite3.connect(kitchen / "some-model-v2.sqlite3") as connection:
        connection.execute("DROP TABLE memoryfield_meta")
        before = list(connection.execute("SELECT * FROM pages"))
    connection.close()
    found = searched(kitchen)
    assert found.mode == "keyword"
    assert names_of(found)[0] == "woks.md"
    assert any("some-model-v2" in note for note in found.notes)
    with sqlite3.connect(kitchen / "some-model-v2.sqlite3") as connection:
        assert list(connection.execute("SELECT * FROM pages")) == before
    connection.close()


# A model that does not answer


@pytest.fixture
def no_ollama(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a port at which nothing listens."""
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    return "127.0.0.1:9"


def _make_nomic_index(folder: Path) -> None:
    vector = struct.pack("<768f", 1, *[0] * 767)
    rows = {path.name: (_sha256(path.read_bytes()), vector) for path in folder.glob("*.md")}
    _make_index(folder / f"{NOMIC}.sqlite3", rows)


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_without_the_server_of_its_only_index_a_field_is_searched_by_words(
    kitchen: Path, no_ollama: str, mode: str
) -> None:
    (kitchen / INDEX).unlink()
    _make_nomic_index(kitchen)
    found = searched(kitchen, mode=mode)
    assert (found.mode, found.model) == ("keyword", None)
    assert names_of(found)[0] == "woks.md"
    assert found.results[0].score == found.results[0].keyword
    assert any(no_ollama in note for note in found.notes)
    assert any("keyword" in note for note in found.notes)


def test_where_one_model_does_not_answer_the_next_one_serves(kitchen: Path, no_ollama: str) -> None:
    _make_nomic_index(kitchen)
    found = searched(kitchen)
    assert (found.mode, found.model) == ("hybrid", MODEL)
    assert found.results[0].semantic == pytest.approx(0.8, abs=1e-5)


def test_words_alone_need_no_server(kitchen: Path, no_ollama: str) -> None:
    (kitchen / INDEX).unlink()
    _make_nomic_index(kitchen)
    found = searched(kitchen, mode="keyword")
    assert names_of(found)[0] == "woks.md"
    assert found.notes == []


# Places that cannot be written


def _obey_permissions() -> None:
    """Take the right to ignore permissions from a process of root's, before it starts its program."""
    if os.geteuid() == 0:
        library = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            library.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def _may_write(folder: Path) -> bool:
    """Whether a process that obeys permissions can write in a folder all the same."""
    touched = subprocess.run(
        ["touch", str(folder / "probe")], preexec_fn=_obey_permissions, capture_output=True, check=False
    )
    (folder / "probe").unlink(missing_ok=True)
    return touched.returncode == 0


_SCRIPT = """
import json, sys
from memoryfield import Field
with Field.open(sys.argv[1]) as field:
    print(json.dumps(field.search(sys.argv[2], mode=sys.argv[3]).to_dict()))
"""


def searched_read_only(folder: Path, mode: str = "keyword") -> dict[str, Any]:
    """A search in a folder in which nothing can be written."""
    before = state_of(folder)
    folder.chmod(0o555)
    for path in folder.iterdir():
        path.chmod(0o444)
    try:
        if _may_write(folder):
            pytest.skip("this system lets root write in every folder")
        done = subprocess.run(
            [sys.executable, "-c", _SCRIPT, str(folder), QUERY, mode],
            preexec_fn=_obey_permissions,
            capture_output=True,
            check=False,
        )
    finally:
        folder.chmod(0o755)
    assert done.returncode == 0, done.stderr.decode()
    assert state_of(folder) == before
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such permissions there")
class TestReadOnly:
    """A folder in which nothing can be written is searched, and nothing is written."""

    def test_an_up_to_date_index_serves(self, kitchen: Path) -> None:
        found = searched_read_only(kitchen, "hybrid")
        assert (found["mode"], found["notes"]) == ("hybrid", [])
        assert found["results"][0]["filename"] == "woks.md"

    def test_without_an_index_the_words_serve(self, kitchen: Path) -> None:
        (kitchen / INDEX).unlink()
        found = searched_read_only(kitchen)
        assert found["mode"] == "keyword"
        assert found["results"][0]["filename"] == "woks.md"

    def test_an_index_that_is_behind_serves_with_a_note(self, kitchen: Path) -> None:
        write_page(kitchen, "pans.md", "quench iron")
        found = searched_read_only(kitchen)
        assert found["results"][0]["filename"] == "woks.md"
        assert any("1 page" in note for note in found["notes"])

    @pytest.mark.parametrize("damage", [_garbage, _empty, _damaged_inside])
    def test_a_damaged_index_is_left_alone_and_noted(self, kitchen: Path, damage: Callable[[Path], None]) -> None:
        damage(kitchen / INDEX)
        found = searched_read_only(kitchen)
        assert found["results"][0]["filename"] == "woks.md"
        assert any(MODEL in note for note in found["notes"])


def _zipped(folder: Path) -> Path:
    """The folder's files in an archive in a place of its own."""
    place = folder.parent / "shelf"
    place.mkdir()
    with zipfile.ZipFile(place / "kitchen.memoryfield.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    return place / "kitchen.memoryfield.zip"


def searched_archive(folder: Path, query: str = QUERY) -> SearchResult:
    """A search in an archive, which leaves it and what lies beside it as they are."""
    archive = _zipped(folder)
    before, content = state_of(archive.parent), archive.read_bytes()
    found = searched(archive, query)
    assert state_of(archive.parent) == before
    assert archive.read_bytes() == content
    assert all(hit.field == "kitchen" for hit in found.results)
    return found


def test_an_archive_is_searched_in_place(kitchen: Path) -> None:
    found = searched_archive(kitchen)
    assert (found.mode, found.notes) == ("hybrid", [])
    assert names_of(found)[0] == "woks.md"
    assert found.results[0].semantic == pytest.approx(0.8, abs=1e-5)


def test_an_archive_without_an_index_is_searched_by_words(kitchen: Path) -> None:
    (kitchen / INDEX).unlink()
    found = searched_archive(kitchen)
    assert found.mode == "keyword"
    assert names_of(found)[0] == "woks.md"


def test_an_archive_whose_index_is_behind_is_searched_as_it_is(kitchen: Path) -> None:
    write_page(kitchen, "pans.md", "quench iron")
    found = searched_archive(kitchen, "quench")
    assert names_of(found)[0] == "pans.md"
    assert found.results[0].semantic is not None


@pytest.mark.parametrize("damage", [_garbage, _empty, _damaged_inside])
def test_an_archive_with_a_damaged_index_is_searched_by_words(kitchen: Path, damage: Callable[[Path], None]) -> None:
    damage(kitchen / INDEX)
    found = searched_archive(kitchen)
    assert names_of(found)[0] == "woks.md"
    assert any(MODEL in note for note in found.notes)


def test_an_archive_with_an_index_in_wal_mode_is_searched(kitchen: Path) -> None:
    with sqlite3.connect(kitchen / INDEX) as connection:
        assert next(connection.execute("PRAGMA journal_mode = WAL"))[0] == "wal"
    connection.close()
    found = searched_archive(kitchen)
    assert names_of(found)[0] == "woks.md"


def test_a_damaged_page_in_an_archive_spoils_only_itself(kitchen: Path) -> None:
    (kitchen / INDEX).unlink()
    write_page(kitchen, "zinc.md", "quench " * 400)
    archive = _zipped(kitchen)
    content = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as opened:
        start = opened.getinfo("zinc.md").header_offset
    content[start + 40 : start + 50] = b"\xff" * 10
    archive.write_bytes(content)
    found = searched(archive)
    assert names_of(found)[0] == "woks.md"
    assert any("zinc.md" in note for note in found.notes)


def test_every_error_of_a_search_is_ours(kitchen: Path, tmp_path: Path) -> None:
    for place in (tmp_path / "nothing", tmp_path / "text.zip"):
        if place.suffix:
            place.write_text("no zip", encoding="utf-8")
        with pytest.raises(MemoryfieldError):
            searched(place)


def test_more_pages_than_a_half_looks_at_are_returned_when_asked_for(tmp_path: Path) -> None:
    for number in range(250):
        (tmp_path / f"page-{number:03d}.md").write_text(f"# Page {number}\n\nA wok.\n", encoding="utf-8")
    (tmp_path / "other.md").write_text("# Other\n\nA pan.\n", encoding="utf-8")
    assert len(Field.open(tmp_path).search("wok", limit=300, min_score=0).results) == 250
