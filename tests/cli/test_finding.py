"""The commands around the index: embed and search."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import time
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

from memoryfield.index.store import IndexStore

from ..benchmarks.tokens import FIELD, QUERIES, tokens
from .support import (
    INDEX,
    MODEL,
    NO_SERVER,
    PAGES,
    command,
    contents,
    environment,
    forked,
    lines,
    make_kitchen,
    memoryfield,
    write_page,
)

NOMIC = "nomic-embed-text-v1.5"


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A field of three pages with an index."""
    return make_kitchen(tmp_path / "kitchen", embedded=True)


def embedded_in(index: Path) -> int:
    """How many vectors an index file holds, as another program sees it."""
    with sqlite3.connect(f"file:{index}?mode=ro", uri=True) as connection:
        count = int(next(connection.execute("SELECT count(*) FROM pages"))[0])
    connection.close()
    return count


# embed


def test_embed_brings_the_index_up_to_date(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen")
    write_page(kitchen, "latin.md", b"caf\xe9\n")
    first = memoryfield("embed", "--json", cwd=kitchen)
    assert first.code == 1  # one page is not UTF-8
    (told,) = first.json["indexes"]
    assert (told["model"], told["pages"]) == (MODEL, 4)
    assert (told["added"], told["embedded"], told["pending"]) == (4, 3, 0)
    assert [failed["filename"] for failed in told["failed"]] == ["latin.md"]
    assert "latin.md" in first.err
    assert embedded_in(kitchen / INDEX) == 3
    (kitchen / "latin.md").unlink()
    write_page(kitchen, "pans.md", "Other text.\n", age=10)
    (kitchen / "woks.md").rename(kitchen / "steel.md")
    second = memoryfield("embed", "--json", cwd=kitchen)
    assert second.code == 0
    wanted = {"pages": 3, "added": 0, "changed": 1, "renamed": 1, "removed": 1, "embedded": 1, "pending": 0}
    (told,) = second.json["indexes"]
    assert {key: told[key] for key in wanted} == wanted
    assert told["failed"] == []
    assert {"notes", "unchanged", "seconds"} <= set(told)


def _with_an_empty_index_of_another_model(kitchen: Path) -> None:
    store = IndexStore.open(kitchen / f"{NOMIC}.sqlite3", NOMIC, 768, create=True)
    store.prepare()
    store.close()


def test_embed_refreshes_every_index_that_the_field_has(kitchen: Path) -> None:
    _with_an_empty_index_of_another_model(kitchen)
    write_page(kitchen, "new.md", "A new page.\n", age=10)
    run = memoryfield("embed", "--json", cwd=kitchen)
    assert run.code == 1  # no server answers for one of them
    assert {index["model"]: (index["added"], index["pending"]) for index in run.json["indexes"]} == {
        NOMIC: (4, 4),
        MODEL: (1, 0),
    }


def test_an_index_is_not_begun_where_no_server_answers(kitchen: Path) -> None:
    run = memoryfield("embed", "--model", NOMIC, "--json", cwd=kitchen)
    assert run.code == 1
    assert not (kitchen / f"{NOMIC}.sqlite3").exists()
    assert memoryfield("search", "--json", "which wok heats evenly?", cwd=kitchen).json["notes"] == []


def test_the_model_that_did_not_answer_is_named(kitchen: Path) -> None:
    _with_an_empty_index_of_another_model(kitchen)
    told = memoryfield("search", "--json", "which wok heats evenly?", cwd=kitchen).json
    assert told["model"] == MODEL
    assert any(NOMIC in note for note in told["notes"])


def test_embed_drops_one_index_and_no_other(kitchen: Path) -> None:
    _with_an_empty_index_of_another_model(kitchen)
    assert memoryfield("embed", "--drop", NOMIC, "--json", cwd=kitchen).json["dropped"] == f"{NOMIC}.sqlite3"
    assert not (kitchen / f"{NOMIC}.sqlite3").exists()
    assert (kitchen / INDEX).exists()
    assert memoryfield("embed", "--drop", NOMIC, cwd=kitchen).code == 2


def test_no_sync_searches_what_is_indexed_and_says_so(kitchen: Path) -> None:
    write_page(kitchen, "new.md", "The quetzal is a bird.\n", age=10)
    before = (kitchen / INDEX).read_bytes()
    run = memoryfield("search", "--no-sync", "--json", "quetzal bird", cwd=kitchen)
    assert run.json["results"] == []
    assert any("out of date by 1 page" in note for note in run.json["notes"])
    assert (kitchen / INDEX).read_bytes() == before
    assert memoryfield("search", "quetzal bird", cwd=kitchen).code == 0


def test_embed_sums_up_in_one_line(kitchen: Path) -> None:
    before = contents(kitchen)
    run = memoryfield("embed", cwd=kitchen)
    assert run.code == 0
    assert len(run.out.splitlines()) == 1
    assert MODEL in run.out
    assert "3 pages" in run.out
    assert run.err == ""
    assert {name: content for name, content in contents(kitchen).items() if name != INDEX} == {
        name: content for name, content in before.items() if name != INDEX
    }


def test_rebuild_makes_every_vector_anew(kitchen: Path) -> None:
    with sqlite3.connect(kitchen / INDEX) as connection:
        connection.execute("UPDATE pages SET embedding = zeroblob(1536)")
    connection.close()
    told = memoryfield("embed", "--rebuild", "--json", cwd=kitchen).json
    assert told["indexes"][0]["embedded"] == 3
    with sqlite3.connect(kitchen / INDEX) as connection:
        assert all(any(row[0]) for row in connection.execute("SELECT embedding FROM pages"))
    connection.close()


@pytest.mark.parametrize("place", ["archive", "read-only"])
def test_embed_refuses_what_cannot_be_written(kitchen: Path, place: str) -> None:
    if place == "archive":
        assert forked("pack", "-f", kitchen, "-o", "kitchen.memoryfield.zip", cwd=kitchen.parent).code == 0
        run = forked("embed", "-f", kitchen.parent / "kitchen.memoryfield.zip")
    else:
        if sys.platform == "win32":
            pytest.skip("folders have no such permissions there")
        kitchen.chmod(0o555)
        run = memoryfield("embed", cwd=kitchen, before=obey_permissions)
        kitchen.chmod(0o755)
    assert run.code == 3
    assert len(run.err.splitlines()) == 1
    assert place != "archive" or "`memoryfield unpack`" in run.err


def obey_permissions() -> None:
    """Take the right to ignore permissions from a process of root's, before it starts its program."""
    if os.geteuid() == 0:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            library.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_embed_says_where_no_server_answers(kitchen: Path) -> None:
    run = memoryfield("embed", "--model", NOMIC, "--json", cwd=kitchen)
    assert run.code == 1
    assert NO_SERVER in run.err
    assert "ollama" in run.err.lower()
    (told,) = run.json["indexes"]
    assert (told["model"], told["embedded"], told["pending"]) == (NOMIC, 0, 3)
    assert any(NO_SERVER in note for note in told["notes"])


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_an_interrupted_embed_keeps_what_is_done(tmp_path: Path) -> None:
    total = 200
    for number in range(total):
        write_page(
            tmp_path, f"page-{number:03d}.md", f"# Page {number}\n\n{'some words about a wok and a pan ' * 10}\n"
        )
    process = subprocess.Popen(
        command("embed"), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        if (tmp_path / INDEX).exists() and (tmp_path / INDEX).stat().st_size > 100_000:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, talk = process.communicate(timeout=60)
    assert process.returncode == 130, (out, talk)
    assert b"Traceback" not in talk
    assert len(talk.splitlines()) == 1
    done = embedded_in(tmp_path / INDEX)
    assert 0 < done < total
    (index,) = forked("info", "--json", cwd=tmp_path).json["indexes"]
    assert (index["embedded"], index["pending"]) == (done, total - done)


# search


def test_results_through_a_pipe_are_plain_text(kitchen: Path) -> None:
    run = memoryfield("search", "which wok heats evenly?", cwd=kitchen)
    assert run.code == 0
    assert run.err == ""
    assert "\x1b" not in run.out
    lines = run.out.splitlines()
    assert re.fullmatch(r"strong 0\.\d\d woks\.md: A carbon steel wok heats evenly, and it is light\.", lines[0])
    assert all(re.match(r"(strong|weak) 0\.\d\d [a-z]+\.md( \(.+\))?: ", line) for line in lines)


def test_brief_results_are_names_and_summaries(kitchen: Path) -> None:
    run = memoryfield("search", "--brief", "--min-score", "0", "which wok heats evenly?", cwd=kitchen)
    assert (run.code, run.err) == (0, "")
    lines = run.out.splitlines()
    assert lines[0] == "strong woks: Carbon steel."
    assert "weak pans: Cast iron pans" in lines
    assert len(lines) == 3


@pytest.mark.parametrize("options", [["--full", "wok"], ["--json", "wok"], ["-"], ["--budget", "100", "wok"]])
def test_brief_results_are_for_one_question_and_no_json(kitchen: Path, options: list[str]) -> None:
    run = forked("search", "--brief", *options, cwd=kitchen)
    assert run.code == 2
    assert not run.out if "--json" not in options else run.json["error"]["kind"] == "usage"
    assert "--brief" in run.err


@pytest.mark.parametrize(("options", "at_most"), [([], 200), (["--brief"], 80)])
def test_five_results_take_few_tokens(options: list[str], at_most: int) -> None:
    pytest.importorskip("bpe_openai")
    for query in QUERIES[::5]:
        run = forked("search", "--mode", "keyword", "--min-score", "0", *options, query, cwd=FIELD)
        assert 0 < tokens(run.out) <= at_most, (query, run.out)
        assert {line.split()[0] for line in run.out.splitlines()} <= {"strong", "weak"}


def test_results_in_json(kitchen: Path) -> None:
    run = memoryfield("search", "which wok heats evenly?", "--json", cwd=kitchen)
    assert run.code == 0
    assert run.err == ""
    found = run.json
    assert list(found) == ["schema", "query", "mode", "model", "notes", "results"]
    assert (found["query"], found["mode"], found["model"]) == ("which wok heats evenly?", "hybrid", MODEL)
    hit = found["results"][0]
    assert set(hit) == {
        *("field", "filename", "score", "match", "keyword", "semantic"),
        *("title", "summary", "snippet", "bytes", "frontmatter"),
    }
    assert (hit["field"], hit["filename"], hit["match"]) == ("kitchen", "woks.md", "strong")
    assert hit["score"] == pytest.approx((hit["keyword"] + hit["semantic"]) / 2, abs=1e-4)
    assert hit["frontmatter"]["uuid"] == "11111111-1111-4111-8111-111111111111"


def test_limit_mode_and_score_are_obeyed(kitchen: Path) -> None:
    query = "heats"

    def found(*options: str) -> list[str]:
        return [
            hit["filename"] for hit in memoryfield("search", query, *options, "--json", cwd=kitchen).json["results"]
        ]

    assert found("--mode", "keyword", "--min-score", "0") == ["woks.md", "pans.md"]
    assert found("--mode", "keyword", "--min-score", "0", "-n", "1") == ["woks.md"]

    assert sorted(found("--mode", "semantic", "--min-score", "0")) == ["index.md", "pans.md", "woks.md"]
    assert len(found("--min-score", "0", "--limit", "2", "--model", MODEL)) == 2


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_nothing_found_is_exit_1(kitchen: Path, options: list[str]) -> None:
    run = forked("search", "quantum chromodynamics", "--mode", "keyword", *options, cwd=kitchen)
    assert run.code == 1
    if options:
        assert run.json["results"] == []
    else:
        assert run.out == ""
        assert "nothing" in run.err


def test_words_that_look_like_options_are_searched_after_two_dashes(kitchen: Path) -> None:
    write_page(kitchen, "hooks.md", "Skip hooks with --no-verify only.\n", age=10)
    run = forked("search", "--mode", "keyword", "--json", "--", "--no-verify", cwd=kitchen)
    assert [hit["filename"] for hit in run.json["results"]] == ["hooks.md"]


def test_a_change_is_found_without_embed(kitchen: Path) -> None:
    with (kitchen / "pans.md").open("a", encoding="utf-8") as file:
        file.write("\nQuench it never.\n")
    run = memoryfield("search", "quench", "--json", cwd=kitchen)
    assert run.code == 0
    assert run.json["notes"] == []
    assert run.json["results"][0]["filename"] == "pans.md"
    assert run.json["results"][0]["semantic"] is not None


def test_what_is_missing_is_said_apart_from_the_data(kitchen: Path) -> None:
    for number in range(26):
        write_page(kitchen, f"new-{number}.md", f"anneal {number}\n", age=10)
    run = memoryfield("search", "anneal", "--mode", "hybrid", "--min-score", "0", cwd=kitchen)
    assert run.code == 0
    assert "26" in run.err
    assert "memoryfield embed" in run.err
    assert "memoryfield embed" not in run.out


def test_a_field_that_was_never_embedded_is_searched_by_keyword(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen")
    run = forked("search", "which wok heats evenly?", "--json", cwd=kitchen)
    assert run.code == 0
    assert (run.json["mode"], run.json["model"]) == ("keyword", None)
    assert run.json["results"][0]["filename"] == "woks.md"
    assert any("memoryfield embed" in note for note in run.json["notes"])
    assert set(contents(kitchen)) == set(PAGES)


def make_nomic_kitchen(folder: Path) -> Path:
    """A field whose only index is of a model that a server runs."""
    kitchen = make_kitchen(folder)
    with sqlite3.connect(kitchen / f"{NOMIC}.sqlite3") as connection:
        connection.execute(
            "CREATE TABLE pages (filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL, last_modified DATETIME NOT NULL,"
            " sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL)"
        )
        for name, text in PAGES.items():
            row = (
                name,
                "{}",
                "2026-01-01T00:00:00Z",
                sha256(text.encode()).digest(),
                struct.pack("<768f", *[0.1] * 768),
            )
            connection.execute("INSERT INTO pages VALUES (?, ?, ?, ?, ?)", row)
    connection.close()
    return kitchen


def test_without_the_server_of_its_only_index_a_field_is_searched_by_keyword(tmp_path: Path) -> None:
    kitchen = make_nomic_kitchen(tmp_path / "kitchen")
    run = memoryfield("search", "which wok heats evenly?", cwd=kitchen)
    assert run.code == 0
    assert "woks.md" in run.out.splitlines()[0]
    assert "keyword" in run.err
    assert NO_SERVER in run.err


def test_an_address_that_is_none_is_named(tmp_path: Path) -> None:
    kitchen, host = make_nomic_kitchen(tmp_path / "kitchen"), "localhost:99999"

    run = memoryfield("search", "which wok heats evenly?", cwd=kitchen, env={"OLLAMA_HOST": host})
    assert run.code == 0
    assert "woks.md" in run.out.splitlines()[0]
    assert "OLLAMA_HOST" in run.err or host in run.err


def test_an_archive_is_searched_listed_read_and_validated_in_place(kitchen: Path) -> None:
    place = kitchen.parent / "shelf"
    place.mkdir()
    assert forked("pack", "-f", kitchen, "-o", place / "kitchen.memoryfield.zip").code == 0
    archive = next(iter(place.iterdir()))
    before = contents(place)
    found = memoryfield("search", "which wok heats evenly?", "--json", "-f", archive).json
    assert (found["mode"], found["notes"]) == ("hybrid", [])
    assert (found["results"][0]["field"], found["results"][0]["filename"]) == ("kitchen", "woks.md")

    assert forked("read", "woks", "-f", archive).out == PAGES["woks.md"]
    assert forked("validate", "-f", archive).code == 0
    assert forked("info", "--json", "-f", archive).json["indexes"][0]["embedded"] == 3
    for arguments in (["write", "new"], ["edit", "woks"]):
        assert forked(*arguments, "-f", archive, stdin="x", env={"EDITOR": "true"}).code == 3, arguments
    assert contents(place) == before


# Hard cases


def test_a_database_of_the_user_is_an_attachment_and_no_index(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen")
    with sqlite3.connect(kitchen / "recipes.sqlite3") as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.execute("INSERT INTO recipes VALUES ('fried rice')")
    connection.close()
    before = (kitchen / "recipes.sqlite3").read_bytes()
    assert forked("search", "which wok heats evenly?", cwd=kitchen).code == 0
    run = memoryfield("embed", cwd=kitchen)
    assert run.code == 0, run.err
    assert MODEL in run.out
    assert (kitchen / "recipes.sqlite3").read_bytes() == before
    assert [index["model"] for index in forked("info", "--json", cwd=kitchen).json["indexes"]] == [MODEL]
    packed = forked("pack", "--json", cwd=kitchen).json
    assert (packed["attachments"], packed["left_out"]) == (1, [])
    with zipfile.ZipFile(tmp_path / "kitchen.memoryfield.zip") as archive:
        assert archive.read("recipes.sqlite3") == before


def test_a_page_of_fifty_megabytes(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen")
    line = b"Some words about quenching a very hot pan in cold oil, again and again and again.\n"
    raw = line * (50_000_000 // len(line) + 1)
    write_page(kitchen, "huge.md", raw)
    found = memoryfield("search", "quenching oil", "--mode", "keyword", "--json", cwd=kitchen)
    assert found.code == 0
    assert found.json["results"][0]["filename"] == "huge.md"
    assert len(found.json["results"][0]["snippet"]) <= 240
    assert forked("read", "huge", cwd=kitchen).raw == raw
    assert "huge.md" in forked("validate", cwd=kitchen).out


NO_CACHE = {"PYTHONDONTWRITEBYTECODE": "1"}
"""For a process that can write little: a module cut short in Python's cache would outlive the test."""


@pytest.mark.skipif(sys.platform == "win32", reason="limits are POSIX")
class TestFullDisk:
    """A file system that takes no more, as a limit on the size of a file shows it."""

    @staticmethod
    def limit(size: int) -> None:
        """No file of this process grows beyond `size` bytes."""
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    def test_a_page_keeps_its_old_text(self, kitchen: Path) -> None:
        before = contents(kitchen)
        run = memoryfield(
            "write",
            "woks",
            "--replace",
            cwd=kitchen,
            stdin="word " * 20_000,
            env=NO_CACHE,
            before=lambda: self.limit(50_000),
        )
        assert run.code == 1
        assert run.out == ""
        assert len(run.err.splitlines()) == 1
        assert contents(kitchen) == before

    def test_embed_says_so_in_one_line(self, tmp_path: Path) -> None:
        kitchen = make_kitchen(tmp_path / "kitchen")
        run = memoryfield("embed", cwd=kitchen, env=NO_CACHE, before=lambda: self.limit(20_000))
        assert run.code not in (0, 2)
        assert len(run.err.splitlines()) == 1
        assert run.out == ""
        assert {name: text for name, text in contents(kitchen).items() if name in PAGES} == {
            name: text.encode() for name, text in PAGES.items()
        }
        assert memoryfield("embed", cwd=kitchen).code == 0

    def test_a_search_still_answers(self, kitchen: Path) -> None:
        write_page(kitchen, "pans.md", "Quench it never.\n", age=10)
        run = memoryfield(
            "search", "which wok heats evenly?", cwd=kitchen, env=NO_CACHE, before=lambda: self.limit(1000)
        )
        assert run.code == 0
        assert "woks.md" in run.out.splitlines()[0]
        assert run.err
        assert len(lines(run.err)) <= 2

    def test_an_archive_is_left_unmade(self, kitchen: Path) -> None:
        run = memoryfield(
            "pack", "-o", "../x.memoryfield.zip", cwd=kitchen, env=NO_CACHE, before=lambda: self.limit(300)
        )
        assert run.code == 1
        assert len(run.err.splitlines()) == 1
        assert sorted(path.name for path in kitchen.parent.iterdir()) == ["kitchen"]


# Several fields, many queries, whole pages


@pytest.fixture
def garage(tmp_path: Path) -> Path:
    """Another field, of one page, without an index."""
    folder = tmp_path / "garage"
    folder.mkdir()
    write_page(folder, "burner.md", "# A burner for the wok\n\nIt runs on propane.\n")
    return folder


def test_several_fields_are_searched_together(kitchen: Path, garage: Path, tmp_path: Path) -> None:
    found = memoryfield("search", "-f", kitchen, "-f", garage, "-f", "missing", "--min-score", "0", "wok", cwd=tmp_path)
    assert found.code == 0
    assert " kitchen/woks.md: " in found.out
    assert " garage/burner.md: " in found.out
    assert "note: missing was not searched: no folder or archive at 'missing'" in found.err
    assert "note: garage: this field is not embedded yet" in found.err


def test_that_all_fields_are_broken_is_a_failure(tmp_path: Path) -> None:
    failed = memoryfield("search", "-f", "one", "-f", "two", "wok", cwd=tmp_path)
    assert (failed.code, failed.out) == (1, "")
    assert "none of the 2 fields can be searched" in failed.err


def test_each_line_of_standard_input_is_answered_with_a_line_of_json(kitchen: Path) -> None:
    queries = "which wok?\n\ncaf\xe9 ❄\r\nwok\0pan\n".encode() + b"\xff\xfe\nlast without an end"
    answered = memoryfield("search", "-", "-n", "1", "--min-score", "0", cwd=kitchen, stdin=queries)
    assert answered.code == 0
    results = [json.loads(line) for line in answered.out.splitlines()]
    given = ["which wok?", "", "café ❄", "wok\0pan", "\ufffd\ufffd", "last without an end"]
    assert [result["query"] for result in results] == given
    assert results[0]["results"][0]["filename"] == "woks.md"
    assert results[1]["results"] == []
    shape = json.loads(memoryfield("search", "wok", "--json", cwd=kitchen).out)
    assert all(result.keys() == shape.keys() for result in results)


def test_queries_that_find_nothing_end_with_1(kitchen: Path) -> None:
    assert memoryfield("search", "-", "--mode", "keyword", cwd=kitchen, stdin="zinc\n").code == 1
    assert memoryfield("search", "-", "--mode", "keyword", cwd=kitchen, stdin="").code == 1


def test_a_program_can_ask_one_query_at_a_time(kitchen: Path) -> None:
    words = command("search", "-", "--mode", "keyword", "--min-score", "0")
    with subprocess.Popen(
        words, cwd=kitchen, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for query in ("wok", "iron"):
            process.stdin.write(f"{query}\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["query"] == query
        process.stdin.close()
        assert process.wait(30) == 0


def test_whole_pages_are_printed_while_they_fit(kitchen: Path) -> None:
    whole = memoryfield("search", "--full", "--min-score", "0", "-n", "2", "iron wok", cwd=kitchen)
    assert whole.code == 0
    assert PAGES["woks.md"].strip() in whole.out
    assert PAGES["pans.md"].strip() in whole.out
    tokens = -(-len(PAGES["woks.md"]) // 4)
    tight = memoryfield("search", "--budget", str(tokens), "--min-score", "0", "steel wok", cwd=kitchen)
    assert PAGES["woks.md"].strip() in tight.out
    assert "Cast iron" not in tight.out
    assert "beyond the budget" in tight.err


def test_conditions_are_options(kitchen: Path) -> None:
    write_page(kitchen, "old.md", '---\ntitle: Old wok\nstatus: done\nexpires: "2020-01-01"\n---\n\nA wok.\n')
    common = ("search", "--mode", "keyword", "--min-score", "0", "wok")
    assert "old.md" not in memoryfield(*common, cwd=kitchen).out
    stale = memoryfield(*common, "--include-stale", "--where", "status=done", cwd=kitchen)
    assert stale.out.startswith("strong ")
    assert " expired 2020-01-01 old.md: A wok." in stale.out
    assert "woks.md" not in stale.out
    assert "old.md" in memoryfield(*common, "--as-of", "2019-12-31", cwd=kitchen).out
    assert "woks.md" in memoryfield(*common, "--until", "2026-01-03", "--name", "w*", cwd=kitchen).out
    assert memoryfield(*common, "--since", "2026-01-04", "--name", "w*", cwd=kitchen).code == 1
    assert memoryfield(*common, "--since", "soon", cwd=kitchen).code == 2
    assert memoryfield(*common, "--where", "status", cwd=kitchen).code == 2


def test_similar_pages_are_found_by_name(kitchen: Path) -> None:
    found = memoryfield("similar", "woks", "--min-score", "0", "-n", "1", "--json", cwd=kitchen)
    assert found.code == 0
    assert [hit["filename"] for hit in found.json["results"]] == ["pans.md"]
    assert memoryfield("similar", "no-such-page", cwd=kitchen).code == 1


def test_batch_output_into_a_closed_pipe_ends_quietly(kitchen: Path) -> None:
    shell = f"yes wok | {' '.join(command('search', '-', '--mode', 'keyword', '--min-score', '0'))} | head -n 1"
    done = subprocess.run(
        ["sh", "-c", shell], cwd=kitchen, env=environment(), capture_output=True, check=False, timeout=60
    )
    assert json.loads(done.stdout)["query"] == "wok"
    assert done.stderr == b""
