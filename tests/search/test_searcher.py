"""Several fields, many queries, whole pages, and pages like a page: all by one score."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryfield import Field, MemoryfieldError, Searcher, pack
from memoryfield.embedders.minilm import MiniLM
from memoryfield.errors import UnknownModelError, UsageError
from memoryfield.index.store import IndexStore
from memoryfield.search.keyword import Postings, StoredWords

INDEX = "all-MiniLM-L6-v2.sqlite3"


def make(folder: Path, pages: Mapping[str, str], *, embedded: bool = False) -> Path:
    """A field of pages by their stem, written an hour ago."""
    folder.mkdir(exist_ok=True)
    for stem, text in pages.items():
        path = folder / f"{stem}.md"
        path.write_text(text, encoding="utf-8")
        os.utime(path, (time.time() - 3600,) * 2)
    if embedded:
        with Field.open(folder) as field:
            field.sync()
    return folder


KITCHEN = {"woks": "A wok of carbon steel heats evenly.", "pans": "A pan of iron is slow.", "tea": "Tea is brewed hot."}
GARAGE = {
    "oil": "Change the oil of the car.",
    "wok-burner": "A burner for a wok in the garage.",
    "tyres": "Winter tyres.",
}


@pytest.fixture
def fields(tmp_path: Path) -> list[Path]:
    """A folder, another one, and an archive."""
    kitchen = make(tmp_path / "kitchen", KITCHEN, embedded=True)
    garage = make(tmp_path / "garage", GARAGE, embedded=True)
    with Field.open(make(tmp_path / "packed", {"third": "One more wok, of copper."}, embedded=True)) as field:
        pack(field, tmp_path / "third.memoryfield.zip")
    return [kitchen, garage, tmp_path / "third.memoryfield.zip"]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_page_that_leaves_the_index_while_it_is_searched_breaks_nothing(
    mode: str, many: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever takes it out waits until the ranking is made, or the ranking does without it."""
    kitchen = make(tmp_path / "kitchen", KITCHEN, embedded=True)
    others: list[threading.Thread] = []

    def remove() -> None:
        with Field.open(kitchen) as field:
            field.delete("woks")

    def meanwhile(words: StoredWords | Postings, telling: Any) -> Any:
        if not others:
            others.append(threading.Thread(target=remove))
            others[0].start()
            others[0].join(0.5)
        return scores(words, telling)

    kind: Any = Postings if many else StoredWords
    scores = kind._scores
    with Searcher.open([kitchen], mode=mode, min_score=0.0) as searcher:
        if many:
            searcher.expect_many()
        searcher.search("pan")
        monkeypatch.setattr(kind, "_scores", meanwhile)
        assert searcher.search("a wok of carbon steel, a pan of iron").results
        others[0].join()
        assert "woks.md" not in [hit.filename for hit in searcher.search("wok of carbon steel").results]


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("row", [-5, 99, 2**60])
def test_words_of_no_page_in_an_index_that_others_wrote_are_passed_over(row: int, many: bool, tmp_path: Path) -> None:
    kitchen = make(tmp_path / "kitchen", KITCHEN, embedded=True)
    connection = apsw.Connection(str(kitchen / INDEX))
    connection.execute("INSERT INTO memoryfield_keyword (rowid, text) VALUES (?, 'wok wok wok')", (row,))
    connection.close()
    for mode in ("keyword", "hybrid"):
        with Searcher.open([kitchen], mode=mode) as searcher:
            if many:
                searcher.expect_many()
            assert "woks.md" in [hit.filename for hit in searcher.search("wok", min_score=0.0).results]


# An index that is replaced under a searcher that lasts


def by_another_folder(kitchen: Path, other: Path) -> None:
    kitchen.rename(kitchen.with_name("former"))
    other.rename(kitchen)


def by_no_index(kitchen: Path, other: Path) -> None:
    (kitchen / INDEX).unlink()
    (kitchen / "quokka.md").write_text("Quokkas smile.")


def by_an_index_made_anew(kitchen: Path, other: Path) -> None:
    by_no_index(kitchen, other)
    with Field.open(kitchen) as field:
        field.sync()


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize("replace", [by_another_folder, by_no_index, by_an_index_made_anew])
def test_an_index_that_is_replaced_is_opened_anew(
    replace: Callable[[Path, Path], None], many: bool, tmp_path: Path
) -> None:
    kitchen = make(tmp_path / "kitchen", KITCHEN, embedded=True)
    other = make(tmp_path / "other", {"quokka": "Quokkas smile."}, embedded=True)
    with Searcher.open([kitchen], min_score=0.1) as searcher:
        if many:
            searcher.expect_many()
            searcher.watch()
        assert searcher.search("wok of carbon steel").results
        replace(kitchen, other)
        found = searcher.search("quokkas")
        assert [hit.filename for hit in found.results][:1] == ["quokka.md"]
        assert not any("could not be brought up to date" in note for note in found.notes)


CUT = """
import sys
from memoryfield import Searcher
with Searcher.open([sys.argv[1]]) as searcher:
    searcher.expect_many()
    searcher.watch()
    searcher.search("wok")
    open(sys.argv[2], "r+b").truncate(int(sys.argv[3]))
    print(searcher.search("pan of iron").results[0].filename)
"""


@pytest.mark.parametrize("size", [0, 100, 9000])
def test_an_index_that_is_cut_short_does_not_end_what_lasts(size: int, tmp_path: Path) -> None:
    kitchen = make(tmp_path / "kitchen", KITCHEN, embedded=True)
    told = subprocess.run(
        [sys.executable, "-c", CUT, kitchen, kitchen / INDEX, str(size)], capture_output=True, text=True, check=False
    )
    assert (told.returncode, told.stdout) == (0, "pans.md\n"), told.stderr


def test_an_index_that_is_busy_while_its_pages_are_compared_serves_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen = make(tmp_path / "kitchen", KITCHEN, embedded=True)
    is_current = IndexStore.is_current

    def busy(*given: Any, **more: Any) -> bool:
        monkeypatch.setattr(IndexStore, "is_current", is_current)
        raise apsw.BusyError("database is locked")

    with Searcher.open([kitchen]) as searcher:
        searcher.search("wok")
        monkeypatch.setattr(IndexStore, "is_current", busy)
        found = searcher.search("wok of carbon steel")
        assert (found.mode, found.notes) == (
            "hybrid",
            ["the index could not be brought up to date: database is locked"],
        )
        assert found.results
        assert searcher.search("wok of carbon steel").notes == []


def test_an_index_that_was_mended_is_told_of_once(tmp_path: Path) -> None:
    kitchen = make(tmp_path / "kitchen", KITCHEN, embedded=True)
    with Searcher.open([kitchen]) as searcher:
        searcher.watch()
        searcher.search("wok")
        (kitchen / INDEX).open("r+b").truncate(9000)
        told = [searcher.search("pan of iron").notes, searcher.search("pan of iron").notes]
    assert [any("made anew" in note for note in notes) for notes in told] == [True, False]


def test_a_field_that_was_empty_is_so_no_longer(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    with Searcher.open([tmp_path / "new"], min_score=0.0) as searcher:
        assert "the field has no pages" in searcher.search("wok").notes
        (tmp_path / "new" / "woks.md").write_text("A wok heats evenly.")
        found = searcher.search("wok")
        assert [hit.filename for hit in found.results] == ["woks.md"]
        assert "the field has no pages" not in found.notes


def test_a_page_without_a_vector_is_told_each_time_and_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kitchen = make(tmp_path / "kitchen", KITCHEN, embedded=True)
    (kitchen / "latin.md").write_bytes(b"caf\xe9")
    with Searcher.open([kitchen]) as searcher:
        searcher.watch()
        told = searcher.search("wok").notes
        assert any("latin.md" in note for note in told)
        monkeypatch.setattr("memoryfield.index.sync.look", None)
        if searcher.container("kitchen").moment() is not None:
            assert searcher.search("wok").notes == told


# Several fields


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_a_page_of_an_embedded_archive_that_cannot_be_read_is_told(fields: list[Path], mode: str) -> None:
    with Field.open(fields[0]) as field:
        place = pack(field, fields[0].parent / "k.memoryfield.zip", store=True).path
    place.write_bytes(place.read_bytes().replace(b"carbon steel heats", b"carbon steel HEATS", 1))
    with Field.open(place) as field:
        found = field.search("carbon steel wok", mode=mode, min_score=0)
    assert "woks.md" not in [hit.filename for hit in found.results]
    assert "woks.md answers, too, and cannot be read: in the archive, its checksum is wrong" in found.notes


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_a_score_is_the_same_in_one_field_and_among_several(fields: list[Path], mode: str) -> None:
    alone = {}
    for location in fields:
        with Field.open(location) as field:
            for hit in field.search("which wok?", mode=mode, min_score=0, limit=50).results:
                alone[hit.field, hit.filename] = (hit.score, hit.keyword, hit.semantic)
    with Searcher.open(fields, mode=mode, min_score=0, limit=50) as searcher:
        found = searcher.search("which wok?")
    assert {(hit.field, hit.filename): (hit.score, hit.keyword, hit.semantic) for hit in found.results} == alone
    assert [hit.score for hit in found.results] == sorted((score for score, _, _ in alone.values()), reverse=True)
    assert {field for field, _ in alone} == {"kitchen", "garage", "third"}
    assert (found.mode, found.notes) == (mode, [])


def test_the_limit_is_for_all_fields_together(fields: list[Path]) -> None:
    with Searcher.open(fields, limit=2, min_score=0) as searcher:
        assert len(searcher.search("wok").results) == 2


def test_a_query_is_embedded_once_for_all_fields(fields: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    embed = MiniLM.embed_query

    def counted(self: MiniLM, text: str) -> bytes:
        asked.append(text)
        return embed(self, text)

    monkeypatch.setattr(MiniLM, "embed_query", counted)
    with Searcher.open(fields) as searcher:
        searcher.search("which wok?")
    assert asked == ["which wok?"]


def test_a_broken_field_does_not_stop_the_others(fields: list[Path], tmp_path: Path) -> None:
    (tmp_path / "broken.memoryfield.zip").write_bytes(b"PK\x03\x04 no zip")
    places = [tmp_path / "missing", tmp_path / "broken.memoryfield.zip", *fields]
    with Searcher.open(places, min_score=0) as searcher:
        found = searcher.search("wok")
    assert {hit.field for hit in found.results} == {"kitchen", "garage", "third"}
    assert len(found.notes) == 2
    assert "missing was not searched" in found.notes[0]
    assert "broken.memoryfield.zip was not searched" in found.notes[1]


def test_a_field_that_vanishes_while_it_is_searched_does_not_stop_the_others(fields: list[Path]) -> None:
    with Searcher.open(fields, min_score=0, limit=50) as searcher:
        assert searcher.search("wok").notes == []
        shutil.rmtree(fields[0])
        searcher._fields[0]._looked -= 10
        found = searcher.search("wok")
        assert {hit.field for hit in found.results} == {"garage", "third"}
        assert [note for note in found.notes if "kitchen was not searched" in note]


def test_one_broken_field_alone_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder or archive"):
        Searcher.open([tmp_path / "missing"])


def test_only_broken_fields_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(MemoryfieldError, match="none of the 2 fields") as failed:
        Searcher.open([tmp_path / "one", tmp_path / "two"])
    assert failed.value.exit_code == 1


def test_notes_tell_which_field_they_are_about(fields: list[Path]) -> None:
    (fields[0] / INDEX).unlink()
    with Searcher.open(fields[:2]) as searcher:
        found = searcher.search("wok")
    assert {note.split(":")[0] for note in found.notes} == {"kitchen"}
    assert (found.mode, found.model) == ("hybrid", "all-MiniLM-L6-v2")


def test_fields_of_one_name_are_told_apart_and_one_given_twice_is_searched_once(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for place in (first, second):
        place.mkdir()
        make(place / "notes", {"woks": "A wok."})
    places = [first / "notes", second / "notes", tmp_path / "b" / ".." / "b" / "notes"]
    with Searcher.open(places, mode="keyword", min_score=0) as searcher:
        found = searcher.search("wok")
    assert sorted(hit.field for hit in found.results) == sorted(str(place) for place in places[:2])


def test_an_unknown_model_is_refused_at_once(fields: list[Path]) -> None:
    with pytest.raises(UnknownModelError):
        Searcher.open(fields, model="best-model")


# Many queries

QUERIES = ["which wok heats evenly?", "oil", "", "tea", 'iron "is slow"', "wok wok wok", "oil", "nothing of this", "冷"]


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_many_queries_are_answered_as_each_alone(fields: list[Path], mode: str) -> None:
    with Searcher.open(fields, mode=mode, min_score=0) as searcher:
        many = list(searcher.search_many(QUERIES))
    assert [result.query for result in many] == QUERIES
    for query, result in zip(QUERIES, many, strict=True):
        if not query:
            assert result.results == []
            assert result.notes == ["the query is empty. Say what you look for."]
            continue
        with Searcher.open(fields, mode=mode, min_score=0) as searcher:
            alone = searcher.search(query)
        assert [hit.filename for hit in result.results] == [hit.filename for hit in alone.results]
        for one, other in zip(result.results, alone.results, strict=True):
            assert one.score == pytest.approx(other.score, abs=1e-4)
            assert one._replace(score=0, keyword=None, semantic=None) == other._replace(
                score=0, keyword=None, semantic=None
            )


def test_of_equal_pages_the_same_are_found_by_either_way(tmp_path: Path) -> None:
    """More of them than are candidates."""
    make(tmp_path, {f"page-{number:03}": "one wok" for number in range(500)})
    found: list[list[str]] = []
    with Searcher.open([tmp_path], mode="keyword", min_score=0, limit=250) as searcher:
        found += ([hit.filename for hit in result.results] for result in searcher.search_many(["wok", "wok"]))
        found.append([hit.filename for hit in searcher.search("wok").results])
    for name in (None, "*"):
        with Searcher.open([tmp_path], mode="keyword", min_score=0, limit=250, name=name) as searcher:
            found.append([hit.filename for hit in searcher.search("wok").results])
    assert len(found[0]) == 250
    assert all(names == found[0] for names in found)


def test_each_query_is_answered_before_the_next_one_comes(fields: list[Path]) -> None:
    answered = threading.Event()

    def asking() -> Iterator[str]:
        yield "wok"
        assert answered.wait(30), "the answer waits for the next query"
        yield "oil"

    with Searcher.open(fields) as searcher:
        answers = searcher.search_many(asking())
        assert next(answers).query == "wok"
        answered.set()
        assert [result.query for result in answers] == ["oil"]


def test_what_breaks_while_queries_are_read_is_raised_where_they_are_used(fields: list[Path]) -> None:
    def failing() -> Iterator[str]:
        yield "wok"
        yield "oil"
        raise RuntimeError("the line was cut")

    answered: list[str] = []
    with Searcher.open(fields) as searcher, pytest.raises(RuntimeError, match="the line was cut"):
        answered += (result.query for result in searcher.search_many(failing()))
    assert answered == ["wok", "oil"]


def test_who_asks_one_at_a_time_finds_what_has_just_changed(fields: list[Path]) -> None:
    answers: queue.Queue[str] = queue.Queue()

    def asking() -> Iterator[str]:
        yield "zinc"
        assert "zinc.md" not in answers.get(timeout=30)
        make(fields[0], {"zinc": "Zinc is a metal."})
        yield "zinc"
        assert "zinc.md" in answers.get(timeout=30)
        make(fields[0], {"lead": "Lead is a metal, too."})
        yield "lead"

    with Searcher.open(fields, mode="hybrid", min_score=0.3) as searcher:
        for result in searcher.search_many(asking()):
            answers.put(" ".join(hit.filename for hit in result.results))
        make(fields[0], {"tin": "Tin is a metal, too."})
        assert searcher.search("tin").results[0].filename == "tin.md"
    assert "lead.md" in answers.get(timeout=1)


def test_a_page_that_is_not_embedded_yet_is_found_by_its_words(tmp_path: Path) -> None:
    """Also where there are more of them than a search would embed."""
    field = make(tmp_path / "field", {"one": "A page."}, embedded=True)
    make(
        field, {f"note-{number}": f"# Note {number}\n\nThing {number} with code QX-{number}-z." for number in range(40)}
    )
    with Searcher.open([field]) as searcher:
        found = searcher.search("QX-7-z")
    assert [(hit.filename, hit.semantic, hit.match) for hit in found.results[:1]] == [("note-7.md", None, "strong")]
    assert "40 pages are not embedded yet: run `memoryfield embed`" in found.notes


@pytest.mark.parametrize("way", ["renamed over", "written over"])
def test_an_archive_that_is_replaced_between_queries_is_read_anew(fields: list[Path], way: str) -> None:
    archive = fields[2]
    (other := archive.with_name("other")).mkdir()
    with Field.open(make(other / "field", {"fourth": "A wok of brass."}, embedded=True)) as field:
        pack(field, other / "new.zip")
    with Searcher.open([archive], min_score=0) as searcher:
        assert [hit.filename for hit in searcher.search("wok").results] == ["third.md"]
        if way == "renamed over":
            (other / "new.zip").replace(archive)
        else:
            archive.write_bytes((other / "new.zip").read_bytes())
        assert [hit.filename for hit in searcher.search("wok").results] == ["fourth.md"]
        archive.unlink()
        with pytest.raises((MemoryfieldError, OSError)):
            searcher.search("wok")


# Whole pages


def test_whole_pages_are_given_while_they_fit_best_first(tmp_path: Path) -> None:
    texts = {"best": "wok wok " + "x" * 192, "large": "wok " + "y" * 796, "small": "wok " + "z " * 98}
    make(tmp_path, texts)
    with Field.open(tmp_path) as field:
        found = field.search("wok", mode="keyword", min_score=0, budget=100)
    given = {hit.filename: hit.to_dict()["text"] for hit in found.results}
    assert given == {"best.md": texts["best"], "large.md": None, "small.md": texts["small"]}
    assert found.notes == ["found too, beyond the budget of 100 tokens: large.md (200)"]


def test_without_a_budget_all_pages_are_given_whole(tmp_path: Path) -> None:
    make(tmp_path, KITCHEN)
    with Field.open(tmp_path) as field:
        found = field.search("wok", mode="keyword", min_score=0, full=True)
        assert [hit.to_dict()["text"] for hit in found.results] == [KITCHEN["woks"]]
        assert "text" not in field.search("wok", mode="keyword", min_score=0).results[0].to_dict()


# Pages like a page


def test_similar_pages_are_those_with_the_nearest_vectors(tmp_path: Path) -> None:
    make(tmp_path, {**KITCHEN, "skillet": "A skillet of cast iron takes long to heat."}, embedded=True)
    with Field.open(tmp_path) as field:
        found = field.similar("pans", min_score=0)
        assert found.results[0].filename == "skillet.md"
        assert "pans.md" not in [hit.filename for hit in found.results]
        assert (found.query, found.mode, found.model) == ("pans.md", "semantic", "all-MiniLM-L6-v2")
        assert all(hit.keyword is None and hit.semantic == hit.score for hit in found.results)


def test_similar_needs_no_model_to_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, KITCHEN, embedded=True)
    monkeypatch.setattr(MiniLM, "embed_query", lambda self, text: pytest.fail("stored vectors are enough"))
    with Field.open(tmp_path) as field:
        assert field.similar("pans", min_score=0).results


def test_a_page_without_a_vector_is_told(tmp_path: Path) -> None:
    make(tmp_path, KITCHEN)
    with (
        Field.open(tmp_path) as field,
        pytest.raises(MemoryfieldError, match=r"no vector to compare with: .*`memoryfield embed`"),
    ):
        field.similar("pans")


def test_a_large_field_that_changes_after_it_was_opened_is_searched_as_it_is_now(
    fields: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryfield.containers.directory.MANY", 1)
    with Searcher.open(fields[:1], min_score=0) as searcher:
        make(fields[0], {"lids": "A lid of glass."})
        assert searcher.search("glass lid").results[0].filename == "lids.md"
        assert searcher.search("glass lid").notes == []


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_a_large_field_is_searched_like_a_small_one(
    mode: str, fields: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Searcher.open(fields[:1], mode=mode, min_score=0) as searcher:
        small = searcher.search("which wok?")
    monkeypatch.setattr("memoryfield.containers.directory.MANY", 1)
    with Searcher.open(fields[:1], mode=mode, min_score=0) as searcher:
        assert searcher.search("which wok?") == small
        assert searcher.search("iron").results[0].filename == "pans.md"


# One searcher, many callers


def test_each_query_may_have_its_own_options(fields: list[Path]) -> None:
    with Searcher.open(fields, limit=1) as searcher:
        assert len(searcher.search("wok").results) == 1
        assert len(searcher.search("wok", limit=9, min_score=0).results) == 7
        assert len(searcher.search("wok").results) == 1
        full = searcher.search("wok", full=True).results[0]
        assert "wok" in full.extra["text"]
        assert "text" not in searcher.search("wok").results[0].extra
        assert [hit.filename for hit in searcher.search("wok", name="third*", min_score=0).results] == ["third.md"]
        with pytest.raises(UsageError):
            searcher.search("wok", limit=0)


def test_a_searcher_turns_from_words_to_meaning_and_back(fields: list[Path]) -> None:
    with Searcher.open(fields[:1]) as searcher:
        for mode in ("keyword", "hybrid", "keyword", "semantic", "hybrid"):
            found = searcher.search("a wok of carbon steel", mode=mode)
            best = found.results[0]
            assert (found.mode, best.filename) == (mode, "woks.md")
            assert (best.keyword is None, best.semantic is None) == (mode == "semantic", mode == "keyword")
            assert not found.notes


def test_scores_of_words_alone_are_told_beside_others(tmp_path: Path) -> None:
    embedded = make(tmp_path / "kitchen", KITCHEN, embedded=True)
    plain, empty = make(tmp_path / "garage", {"torch": "A torch for the wok."}), make(tmp_path / "empty", {})
    told = "garage: its scores are of words alone, and not to be compared with the other fields'"
    for fields, mode, expected in (
        ([embedded, plain, empty], "hybrid", [told]),
        ([embedded, plain], "keyword", []),
        ([plain, empty], "hybrid", []),
        ([embedded], "hybrid", []),
    ):
        with Searcher.open(fields, mode=mode, min_score=0) as searcher:
            assert [note for note in searcher.search("wok").notes if "scores" in note] == expected


def test_some_of_the_fields_are_searched(fields: list[Path]) -> None:
    with Searcher.open(fields, min_score=0) as searcher:
        assert searcher.names == ["kitchen", "garage", "third"]
        for names in (["garage"], ["kitchen", "third"]):
            found = searcher.search("wok", among=names, limit=20)
            assert {hit.field for hit in found.results} == set(names)
            assert found.several == (len(names) > 1)


def test_a_field_that_comes_back_is_searched_again(fields: list[Path], tmp_path: Path) -> None:
    with Searcher.open(fields[:2], min_score=0, limit=20) as searcher:
        assert {hit.field for hit in searcher.search("wok").results} == {"kitchen", "garage"}
        fields[0].rename(tmp_path / "away")
        found = searcher.search("wok")
        assert {hit.field for hit in found.results} == {"garage"}
        assert [note for note in found.notes if note.startswith("kitchen was not searched")]
        with pytest.raises(FileNotFoundError):
            searcher.search("wok", among=["kitchen"])
        (tmp_path / "away").rename(fields[0])
        found = searcher.search("wok")
        assert {hit.field for hit in found.results} == {"kitchen", "garage"}
        assert not found.notes


def test_dates_are_read_anew_for_each_query(tmp_path: Path) -> None:
    """A searcher may live for days, and `now` goes on."""
    soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 2))
    field = make(tmp_path / "kitchen", {"milk": f'---\nexpires: "{soon}"\n---\n\nThe milk is fresh.\n'}, embedded=True)
    with Searcher.open([field], mode="keyword", min_score=0) as searcher:
        assert searcher.search("milk").results
        deadline = time.monotonic() + 30
        while searcher.search("milk").results:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert "expired" in searcher.search("milk").notes[0]


def test_what_is_searched_many_times_sees_every_change(fields: list[Path]) -> None:
    with Searcher.open(fields[:1], mode="keyword", min_score=0) as searcher:
        searcher.expect_many()
        assert not searcher.search("quinoa").results
        for number in range(3):
            make(fields[0], {f"grain-{number}": f"Quinoa {number}."})
            assert len(searcher.search("quinoa").results) == number + 1


def test_an_index_that_comes_later_is_used(tmp_path: Path) -> None:
    field = make(tmp_path / "kitchen", KITCHEN)
    with Searcher.open([field], min_score=0) as searcher:
        for _ in range(2):
            found = searcher.search("frying with metal")
            assert (found.model, len(found.notes)) == (None, 1), found.notes
            assert "not embedded yet" in found.notes[0]
        make(field, {}, embedded=True)
        found = searcher.search("frying with metal")
        assert (found.model, found.notes) == ("all-MiniLM-L6-v2", [])
