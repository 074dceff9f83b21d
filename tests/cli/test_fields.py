"""The commands on a field as a whole: create, info."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryfield import Page

from .support import INDEX, MODEL, PAGES, contents, forked, make_kitchen, write_page


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A field of three pages."""
    return make_kitchen(tmp_path / "kitchen")


# create


def test_a_new_field_has_a_page_that_introduces_it(tmp_path: Path) -> None:
    run = forked("create", "notes", "--title", "Küche", "--summary", "What we learned.", cwd=tmp_path)
    assert run.code == 0
    assert "notes" in run.out
    assert set(contents(tmp_path / "notes")) == {"index.md"}
    page = Page("index.md", (tmp_path / "notes" / "index.md").read_bytes())
    assert (page.title, page.summary) == ("Küche", "What we learned.")
    assert page.uuid
    assert page.heading == "Küche"
    assert forked("validate", "-f", "notes", cwd=tmp_path).code == 0


def test_a_new_field_is_called_as_its_folder(tmp_path: Path) -> None:
    run = forked("create", "deep/er/my notes", "--json", cwd=tmp_path)
    assert run.code == 0
    assert run.json["title"] == "my notes"
    assert run.json["field"] == "my notes"
    assert run.json["pages"] == ["index.md"]
    assert Path(tmp_path, run.json["path"]).is_dir()


def test_the_next_step_that_is_told_works(tmp_path: Path) -> None:
    talk = forked("create", "my notes", cwd=tmp_path).err
    assert "write" in talk
    assert "'my notes'" in talk or '"my notes"' in talk or "my\\ notes" in talk


def test_an_empty_folder_becomes_a_field(tmp_path: Path) -> None:
    assert forked("create", ".", "--title", "Here", cwd=tmp_path).code == 0
    assert set(contents(tmp_path)) == {"index.md"}


@pytest.mark.parametrize("name", ["woks.md", "notes.txt", ".hidden", INDEX])
def test_a_folder_that_holds_anything_is_refused_untouched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    run = forked("create", tmp_path)
    assert run.code == 3
    assert run.out == ""
    assert len(run.err.splitlines()) == 1
    assert contents(tmp_path) == {name: b"mine"}


def test_a_place_that_cannot_be_a_field_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    assert forked("create", tmp_path / "file").code == 3
    below = forked("create", tmp_path / "file" / "below")
    assert below.code in (1, 2, 3)
    assert len(below.err.splitlines()) == 1
    assert contents(tmp_path) == {"file": b"mine"}


# info


def test_info_counts_pages_and_bytes(kitchen: Path) -> None:
    run = forked("info", cwd=kitchen)
    assert run.code == 0
    assert "3 pages" in run.out
    assert "pans.md" in run.out
    assert "memoryfield embed" in run.out
    told = forked("info", "--json", cwd=kitchen).json
    assert told["field"] == "kitchen"
    assert told["pages"] == 3
    assert told["bytes"] == sum(map(len, PAGES.values()))
    assert told["largest"] == {"filename": "pans.md", "bytes": len(PAGES["pans.md"])}
    assert told["indexes"] == []
    assert "location" in told


def test_info_tells_what_is_pending_in_each_index(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen", embedded=True)
    write_page(kitchen, "lids.md", "Glass lids.\n", age=10)
    write_page(kitchen, "pans.md", "Other text.\n", age=10)
    (kitchen / "woks.md").unlink()
    (kitchen / "nomic-embed-text-v1.5.sqlite3").write_bytes(b"this is no database" * 100)
    before = contents(kitchen)
    human, told = forked("info", cwd=kitchen).out, forked("info", "--json", cwd=kitchen).json
    assert contents(kitchen) == before
    nomic, minilm = told["indexes"]
    assert set(minilm) >= {
        "filename",
        "model",
        "dimensions",
        "bytes",
        "embedded",
        "pending",
        "failed",
        "gone",
        "failures",
    }
    assert (minilm["filename"], minilm["model"], minilm["dimensions"]) == (INDEX, MODEL, 384)
    assert (minilm["embedded"], minilm["pending"], minilm["failed"], minilm["gone"]) == (1, 2, 0, 1)
    assert minilm["bytes"] == (kitchen / INDEX).stat().st_size
    assert nomic["model"] == "nomic-embed-text-v1.5"
    assert nomic["problem"]
    for fact in (MODEL, "384", "1 embedded", "2 pending", "1 gone", "nomic-embed-text-v1.5"):
        assert fact in human


def test_info_names_pages_that_failed(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen", embedded=True)
    for number in range(5):
        (kitchen / f"bad-{number}.md").write_bytes(b"caf\xe9")
    assert forked("embed", cwd=kitchen).code == 1
    human, (index,) = forked("info", cwd=kitchen).out, forked("info", "--json", cwd=kitchen).json["indexes"]
    assert (index["embedded"], index["pending"], index["failed"]) == (3, 0, 5)
    assert [failure["filename"] for failure in index["failures"]] == [f"bad-{number}.md" for number in range(5)]
    assert "5 failed" in human
    assert "  bad-2.md: not UTF-8: the byte 0xe9\n  and 2 more\n" in human
    assert "bad-3.md" not in human


def test_info_of_an_empty_field(tmp_path: Path) -> None:
    told = forked("info", "--json", "-f", tmp_path).json
    assert (told["pages"], told["bytes"], told["largest"]) == (0, 0, None)
    assert "0 pages" in forked("info", "-f", tmp_path).out
