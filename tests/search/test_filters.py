"""Which pages may be found: conditions on the frontmatter, dates, names, phrases, and what is still valid."""

from __future__ import annotations

import json
import os
import time
import unicodedata
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryfield import Field, Searcher, SearchResult

OLD, NEW = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"


def page(body: str = "wok", **keys: Any) -> str:
    """A page whose frontmatter holds these keys; JSON is YAML."""
    return f"---\n{json.dumps(keys)}\n---\n\n{body}\n" if not keys else _block(keys) + f"\n{body}\n"


def _block(keys: Mapping[str, Any]) -> str:
    lines = "".join(f"{key}: {json.dumps(value)}\n" for key, value in keys.items())
    return f"---\n{lines}---\n"


def make(folder: Path, pages: Mapping[str, str]) -> None:
    """Pages by their stem, all written on 2025-06-15."""
    for stem, text in pages.items():
        path = folder / f"{stem}.md"
        path.write_text(text, encoding="utf-8")
        os.utime(path, (1_749_945_600, 1_749_945_600))


def search(folder: Path, query: str = "wok", **options: Any) -> SearchResult:
    """By keyword, whatever the score."""
    with Field.open(folder) as field:
        return field.search(query, **{"mode": "keyword", "min_score": 0, "limit": 100, **options})


def found(folder: Path, query: str = "wok", **options: Any) -> set[str]:
    """The stems of what is found."""
    return {hit.filename.removesuffix(".md") for hit in search(folder, query, **options).results}


# Conditions

PAGES = {
    "text": page(status="open", note="a=b", version="1.10"),
    "number": page(priority=3, ratio=0.5, version=1.1, big=1234567890123456789),
    "truth": page(draft=True, none=None),
    "list": page(tags=["ops", "On Call", 7]),
    "deep": page(author={"name": "Ann", "teams": [{"name": "ops"}, {"name": "dev"}]}, **{"a.b": "dotted"}),
    "bare": "wok\n",
    "broken": "---\nstatus: open\n  bad: [\n---\n\nwok\n",
}


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (["status=open"], {"text"}),
        (["status = open"], {"text"}),
        (["status=Open"], set()),
        (["status="], set()),
        (["note=a=b"], {"text"}),
        (["priority=3"], {"number"}),
        (["priority=3.0"], {"number"}),
        (["ratio=.5"], {"number"}),
        (["priority=three"], set()),
        (["version=1.10"], {"text", "number"}),
        (["version=1.1"], {"number"}),
        (["draft=true"], {"truth"}),
        (["draft=True"], {"truth"}),
        (["draft=yes"], {"truth"}),
        (["draft=no"], set()),
        (["big=1234567890123456789"], {"number"}),
        (["big=1234567890123456788"], set()),
        (["big=1.5"], set()),
        (["draft=1"], set()),
        (["none=null"], {"truth"}),
        (["none="], {"truth"}),
        (["tags=ops"], {"list"}),
        (["tags=On Call"], {"list"}),
        (["tags=7"], {"list"}),
        (["tags=op"], set()),
        (["tags=ops", "tags=7"], {"list"}),
        (["tags=ops", "status=open"], set()),
        (["author.name=Ann"], {"deep"}),
        (["author.teams.name=dev"], {"deep"}),
        (["author=Ann"], set()),
        (["a.b=dotted"], {"deep"}),
        (["name=Ann"], set()),
        (["missing.key=1"], set()),
    ],
)
def test_a_condition_is_about_the_frontmatter(tmp_path: Path, where: list[str], expected: set[str]) -> None:
    make(tmp_path, PAGES)
    assert found(tmp_path, where=where) == expected


def test_conditions_are_met_by_what_is_in_the_page_now(tmp_path: Path) -> None:
    make(tmp_path, {"one": page(status="open"), "two": page(status="done")})
    with Field.open(tmp_path) as field:
        field.sync()
        make(tmp_path, {"one": page("wok wok", status="done")})
        hits = field.search("wok", min_score=0, where=["status=done"]).results
        assert {hit.filename for hit in hits} == {"one.md", "two.md"}


def test_conditions_come_before_ranking(tmp_path: Path) -> None:
    """A page that is no candidate without them is found with them: 300 others are better."""
    make(tmp_path, {f"better-{n}": page("wok wok wok", kind="common") for n in range(300)})
    make(tmp_path, {"wanted": page("wok " + "filler " * 200, kind="rare")})
    with Field.open(tmp_path) as field:
        for mode in ("keyword", "hybrid"):
            hits = field.search("wok", mode=mode, min_score=0, where=["kind=rare"]).results
            assert [hit.filename for hit in hits] == ["wanted.md"]


def test_scores_are_those_of_the_whole_field(tmp_path: Path) -> None:
    make(tmp_path, {f"other-{n}": page("pan", kind="a") for n in range(9)} | {"one": page("wok pan", kind="b")})
    alone = search(tmp_path, where=["kind=b"]).results
    among = search(tmp_path).results
    assert [(hit.filename, hit.score) for hit in alone] == [(hit.filename, hit.score) for hit in among]


def test_that_no_page_meets_the_conditions_is_noted(tmp_path: Path) -> None:
    make(tmp_path, {"one": page(status="open", tags=[1, True]), "two": page(status="new", tags=["x"])})
    assert search(tmp_path, where=["status=done"]).notes == ["no page has status=done; what status is: new, open"]
    assert search(tmp_path, where=["Status=open"]).notes == ["no page has the key 'Status'"]
    assert search(tmp_path, where=["tags=2"]).notes == ["no page has tags=2; what tags is: 1, true, x"]
    assert search(tmp_path, where=["status=open", "tags=x"]).notes == ["no page meets the conditions"]
    assert search(tmp_path, where=["status=open"], since="2100-01-01").notes == ["no page meets the conditions"]


# Dates and names

DATED = {
    "january": page(updated="2026-01-10T00:00:00Z"),
    "zone": page(updated="2026-01-10T23:30:00-02:00"),
    "march": page(updated="2026-03-01T12:00:00Z", created="2020-01-01T00:00:00Z"),
    "no-date": page(updated="last week"),
    "none": "wok\n",
}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"since": "2026-01-11"}, {"zone", "march"}),
        ({"since": "2026-01-10"}, {"january", "zone", "march"}),
        ({"until": "2026-01-10"}, {"january", "no-date", "none"}),
        ({"since": "2026-01-01", "until": "2026-02-01"}, {"january", "zone"}),
        ({"since": "2025-06-15", "until": "2025-06-15"}, {"no-date", "none"}),
        ({"since": "2026-03-01T12:00:01Z"}, set()),
        ({"until": "2020-06-01"}, set()),
        ({"name": "ma*"}, {"march"}),
        ({"name": "*.md", "since": "2026-03-01"}, {"march"}),
        ({"name": "march"}, {"march"}),
        ({"name": "march.md"}, {"march"}),
        ({"name": "MARCH"}, set()),
        ({"name": "[jm]*"}, {"january", "march"}),
    ],
)
def test_dates_are_of_updated_else_of_the_file(tmp_path: Path, options: dict[str, str], expected: set[str]) -> None:
    make(tmp_path, DATED)
    assert found(tmp_path, **options) == expected


# Phrases

PHRASES = {
    "exact": "Rub it with carbon steel wool.",
    "apart": "carbon and steel",
    "stems": "carbons steels",
    "lines": "some carbon\n  steel here",
    "marked": "thin **carbon** steel and `carbon`",
    "accents": "CÁRBON STÉEL",
    "quoted": "> some carbon\n> steel",
    "underlined": "__carbon steel__ and _snake_case_",
    "title": "---\ntitle: Carbon steel\n---\n\ntext\n",
    "cpp": "C++ templates and --no-verify",
    "c": "C and no verify",
    "c7": "C#7 or g++12",
    "hangul": unicodedata.normalize("NFD", "한국어 찾기"),
    "han": "重跑gen-itgc后再试",
}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"carbon steel"', {"exact", "lines", "marked", "accents", "title", "quoted", "underlined"}),
        ('wool "carbon steel"', {"exact", "lines", "marked", "accents", "title", "quoted", "underlined"}),
        ('"snake_case"', {"underlined"}),
        ('"snakecase"', set()),
        ('"carbon steel" "wool"', {"exact"}),
        ('"carbon ste"', set()),
        ('"C++"', {"cpp"}),
        ('"--no-verify"', {"cpp"}),
        ('"no verify"', {"c"}),
        ('"한국어"', {"hangul"}),
        ("한국어", {"hangul"}),
        ('"gen-itgc"', {"han"}),
        ('"重跑"', {"han"}),
        ('"跑后"', set()),
    ],
)
def test_a_phrase_must_stand_in_the_page(tmp_path: Path, query: str, expected: set[str]) -> None:
    make(tmp_path, PHRASES)
    assert found(tmp_path, query) == expected


def test_a_phrase_without_words_is_looked_for_too(tmp_path: Path) -> None:
    make(tmp_path, {"arrow": "wok => pan", "none": "wok pan"})
    assert found(tmp_path, 'wok "=>"') == {"arrow"}


def test_that_no_page_holds_a_phrase_is_noted(tmp_path: Path) -> None:
    make(tmp_path, PHRASES)
    assert search(tmp_path, '"zinc wok" carbon').notes == ['no page holds "zinc wok"']


def test_a_phrase_counts_for_meaning_too(tmp_path: Path) -> None:
    make(tmp_path, {"one": "a pan of iron", "two": "the wok heats evenly"})
    with Field.open(tmp_path) as field:
        field.sync()
        hits = field.search('even heating "iron"', mode="semantic", min_score=0).results
        assert [hit.filename for hit in hits] == ["one.md"]


# What is valid

LIVES = {
    "old": page(uuid=OLD, title="old", created="2024-01-01T00:00:00Z"),
    "new": page(uuid=NEW, title="new", created="2025-03-01T00:00:00Z", supersedes=[OLD.upper()]),
    "gone": page(expires="2025-01-31", title="gone"),
    "later": page(expires="2100-01-01T00:00:00Z", title="later"),
    "vague": page(expires="some day", title="vague"),
    "bare": "wok\n",
}


def test_what_is_expired_or_superseded_is_left_out_and_the_note_says_why(tmp_path: Path) -> None:
    make(tmp_path, LIVES)
    result = search(tmp_path)
    assert {hit.filename for hit in result.results} == {"new.md", "later.md", "vague.md", "bare.md"}
    assert result.notes == ["2 pages were left out: 1 expired, 1 superseded; --include-stale shows them"]
    assert all("stale" not in hit.to_dict() for hit in result.results)


def test_stale_pages_can_be_asked_for_and_are_marked(tmp_path: Path) -> None:
    make(tmp_path, LIVES)
    result = search(tmp_path, include_stale=True)
    assert result.notes == []
    assert {hit.filename: hit.to_dict()["stale"] for hit in result.results} == {
        "old.md": "superseded by new.md",
        "gone.md": "expired 2025-01-31",
        **dict.fromkeys(["new.md", "later.md", "vague.md", "bare.md"]),
    }


@pytest.mark.parametrize(
    ("as_of", "expected"),
    [
        ("2024-06-01", {"old", "gone", "later", "vague", "bare"}),
        ("2025-01-31", {"old", "gone", "later", "vague", "bare"}),
        ("2025-02-01", {"old", "later", "vague", "bare"}),
        ("2025-02-28T23:59:59Z", {"old", "later", "vague", "bare"}),
        ("2025-03-01", {"new", "later", "vague", "bare"}),
        ("2023-01-01", {"gone", "later", "vague", "bare"}),
        ("2101-01-01", {"new", "vague", "bare"}),
    ],
)
def test_as_of_asks_what_was_valid_then(tmp_path: Path, as_of: str, expected: set[str]) -> None:
    make(tmp_path, LIVES)
    assert found(tmp_path, as_of=as_of) == expected


def test_stale_pages_that_do_not_match_are_not_counted(tmp_path: Path) -> None:
    make(tmp_path, {"one": page("wok"), "gone": page("pan", expires="2020-01-01")})
    assert search(tmp_path).notes == []


def test_a_page_does_not_supersede_itself_and_one_uuid_is_enough(tmp_path: Path) -> None:
    make(tmp_path, {"self": page(uuid=OLD, supersedes=OLD), "two": page(uuid=NEW), "three": page(supersedes=NEW)})
    assert found(tmp_path) == {"self", "three"}
    make(tmp_path, {"successor": page(supersedes=[OLD])})  # naming itself shields a page from no other
    assert found(tmp_path) == {"three", "successor"}


def test_stale_pages_take_no_place_among_the_candidates(tmp_path: Path) -> None:
    make(tmp_path, {f"gone-{n}": page("wok wok wok", expires="2020-01-01") for n in range(300)})
    make(tmp_path, {"valid": page("wok " + "filler " * 200)})
    with Field.open(tmp_path) as field:
        for mode in ("keyword", "hybrid"):
            result = field.search("wok", mode=mode, min_score=0)
            assert [hit.filename for hit in result.results] == ["valid.md"]
            assert any("300 pages were left out: 300 expired" in note for note in result.notes)


def test_lifecycle_and_conditions_hold_for_an_index_that_another_tool_made(tmp_path: Path) -> None:
    """With nothing but the table `pages`, and not to be synced: what it holds is what there is to go by."""
    make(tmp_path, LIVES)
    with Field.open(tmp_path) as field:
        field.sync()
    index = tmp_path / "all-MiniLM-L6-v2.sqlite3"
    connection = apsw.Connection(str(index))
    for table in ("memoryfield_keyword", "memoryfield_files", "memoryfield_meta"):
        connection.execute(f"DROP TABLE {table}")
    connection.close()
    options: dict[str, Any] = {"mode": "hybrid", "sync": False}
    assert found(tmp_path, **options) == {"new", "later", "vague", "bare"}
    assert found(tmp_path, include_stale=True, **options) == set(LIVES)
    assert found(tmp_path, where=["title=later"], **options) == {"later"}
    assert found(tmp_path, until="2026-01-01", name="[lv]*", **options) == {"later", "vague"}
    assert found(tmp_path, as_of="2024-06-01", **options) == {"old", "gone", "later", "vague", "bare"}


# Recency


def test_recency_lets_half_of_the_score_fade_by_half_in_each_half_life(tmp_path: Path) -> None:
    stamp = "2026-01-01T00:00:00Z"
    make(tmp_path, {"new": page(updated=stamp), "old": page(updated="2025-01-01T00:00:00Z"), "x": "pan", "y": "pan"})
    plain = {hit.filename: hit.score for hit in search(tmp_path).results}
    aged = {hit.filename: hit.score for hit in search(tmp_path, recency="365d", as_of=stamp).results}
    assert aged["new.md"] == pytest.approx(plain["new.md"])
    assert aged["old.md"] == pytest.approx(plain["old.md"] * 0.75)
    older = {hit.filename: hit.score for hit in search(tmp_path, recency="1h", as_of=stamp).results}
    assert older["old.md"] == pytest.approx(plain["old.md"] * 0.5)


def test_recency_is_taken_before_the_best_are_chosen(tmp_path: Path) -> None:
    """A new page that is no candidate by its words alone."""
    make(tmp_path, {f"old-{n}": page("wok wok wok", updated="2000-01-01T00:00:00Z") for n in range(300)})
    make(tmp_path, {"new": page("wok pan", updated="2100-01-01T00:00:00Z")})
    assert search(tmp_path).results[0].filename != "new.md"
    assert search(tmp_path, recency="30d", limit=1).results[0].filename == "new.md"


# Values that nobody but another program can have put there


@pytest.mark.parametrize(
    "change",
    [
        "expires_ns = 'x'",
        "created_ns = x'00'",
        "updated_ns = 'x'",
        "frontmatter = 7",
        "frontmatter = x'00'",
        "frontmatter = replace(hex(zeroblob(50000)), '00', '[')",
        "indexed_ns = 'x'",
        "sha256 = 1",
        "fault = x'00'",
        "filename = x'ff'",
        "supersedes = 'x'",
        "supersedes = 7",
    ],
)
@pytest.mark.parametrize("kind", ["folder", "archive"])
def test_values_of_wrong_types_are_damage_and_stop_nothing(tmp_path: Path, change: str, kind: str) -> None:
    folder = tmp_path / "field"
    folder.mkdir()
    make(folder, {"wok": page("wok", title="A wok"), "pan": page("pan", title="A pan")})
    with Field.open(folder) as field:
        field.sync()
        with zipfile.ZipFile(tmp_path / "field.memoryfield.zip", "w") as archive:
            connection = apsw.Connection(str(folder / "all-MiniLM-L6-v2.sqlite3"))
            connection.execute(f"UPDATE memoryfield_files SET {change} WHERE filename = 'wok.md'")
            connection.close()
            for path in folder.iterdir():
                archive.write(path, path.name)
        location = folder if kind == "folder" else tmp_path / "field.memoryfield.zip"
        asked: list[dict[str, Any]] = [{}, {"recency": "90d"}, {"as_of": "2100-01-01"}]
        for options in asked:
            with Searcher.open([location], min_score=0, **options) as searcher:
                assert "wok.md" in [hit.filename for hit in searcher.search("wok").results], options
        with Field.open(location) as opened:
            assert opened.indexes()
            opened.search("wok", where=["title=A wok"])


def test_an_archive_whose_index_is_damaged_and_out_of_date_is_searched_all_the_same(tmp_path: Path) -> None:
    folder = tmp_path / "field"
    folder.mkdir()
    make(folder, {"wok": page("wok"), "pan": page("pan")})
    with Field.open(folder) as field:
        field.sync()
    connection = apsw.Connection(str(folder / "all-MiniLM-L6-v2.sqlite3"))
    connection.execute("UPDATE memoryfield_files SET indexed_ns = 'x'")
    connection.close()
    make(folder, {"new": page("another wok")})
    with zipfile.ZipFile(tmp_path / "field.memoryfield.zip", "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
    result = search(tmp_path / "field.memoryfield.zip", mode="hybrid")
    assert {hit.filename for hit in result.results} == {"wok.md", "new.md"}
    assert "searched by keyword alone" in result.notes


@pytest.mark.parametrize("name", ["NULL", "x'ff'", "'../outside.md'", "7"])
def test_names_that_are_none_are_passed_over(tmp_path: Path, name: str) -> None:
    make(tmp_path, {"wok": page("wok"), "pan": page("pan")})
    with Field.open(tmp_path) as field:
        field.sync()
    connection = apsw.Connection(str(tmp_path / "all-MiniLM-L6-v2.sqlite3"))
    for table in ("memoryfield_keyword", "memoryfield_files", "memoryfield_meta"):
        connection.execute(f"DROP TABLE {table}")
    connection.execute(f"UPDATE pages SET filename = {name} WHERE filename = 'pan.md'")
    connection.close()
    options: dict[str, Any] = {"mode": "hybrid", "sync": False}
    assert found(tmp_path, **options) == {"wok"}
    assert search(tmp_path, **options).mode == "semantic"
    assert found(tmp_path, **options, since="2000-01-01") == {"wok"}


def test_a_long_query_with_a_lone_quote_is_read_at_once(tmp_path: Path) -> None:
    make(tmp_path, {"wok": page("wok")})
    started = time.process_time()
    search(tmp_path, 'wok "' + "a b" * 100_000)
    assert time.process_time() - started < 60  # it took hours
