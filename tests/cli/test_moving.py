"""`import` and `export` as they are called: what is printed, what is said, and the exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ..importing.support import make, make_lines
from .support import command, environment, forked, make_kitchen, memoryfield

VAULT: dict[str, str | bytes] = {
    "Woks.md": "See [[Steel]] and [[Nowhere]].\n",
    "Cookware/Steel.md": "It rusts. ![](p.png)\n",
    "Cookware/p.png": b"x",
}


SCHEMAS = Path(__file__).parents[2] / "spec" / "schemas"


def check(name: str, answer: object) -> None:
    """Hold an answer against its schema, in which every key must be spoken of."""
    schema = json.loads((SCHEMAS / f"{name}.json").read_bytes())
    Draft202012Validator({**schema, "additionalProperties": False}).validate(answer)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    make(tmp_path / "vault", VAULT)
    make_kitchen(tmp_path / "field")
    return tmp_path


def test_what_is_imported_is_printed_and_the_rest_said(place: Path) -> None:
    done = forked("import", "vault", "-f", "field", cwd=place)
    assert done.code == 0
    assert done.out.splitlines() == [
        "added steel.md  <- vault/Cookware/Steel.md",
        "added woks-2.md  <- vault/Woks.md",
        "copied p.png  <- Cookware/p.png",
    ]
    assert done.err.splitlines() == [
        "links left as they are: 1",
        "  Woks.md: [[Nowhere]] leads to nothing that came along",
        "markdown: 2 new, 0 updated, 0 unchanged",
    ]
    again = forked("import", "vault", "-f", "field", cwd=place)
    assert (again.code, again.out) == (0, "")
    assert again.err.splitlines() == [
        "links left as they are: 1; --json lists them",
        "markdown: 0 new, 0 updated, 2 unchanged",
    ]
    make(place / "vault", {"new.md": "New.\n"})
    assert "  Woks.md: [[Nowhere]]" in forked("import", "vault", "-f", "field", cwd=place).err


def test_json_says_all_of_it(place: Path) -> None:
    found = forked("import", "vault", "-f", "field", "--json", "--dry-run", cwd=place).json
    assert list(found) == [
        "schema",
        "field",
        "source",
        "kind",
        "label",
        "written",
        "same",
        "added",
        "updated",
        "kept",
        "conflicts",
        "attachments",
        "left",
        "gone",
        "notes",
    ]
    assert found["written"] is False
    check("import", found)
    assert found["added"][0]["filename"] == "steel.md"
    assert found["left"] == [
        {"kind": "link", "place": "Woks.md", "reason": "[[Nowhere]] leads to nothing that came along"}
    ]
    assert not (place / "field" / "steel.md").exists()
    assert forked("import", "vault", "-f", "field", "--json", cwd=place).json["written"] is True


def test_a_conflict_ends_with_3(place: Path) -> None:
    assert forked("import", "vault", "-f", "field", cwd=place).code == 0
    page = place / "field" / "steel.md"
    page.write_text(page.read_text(encoding="utf-8") + "Mine.\n", encoding="utf-8")
    (place / "vault" / "Cookware" / "Steel.md").write_text("Changed.\n", encoding="utf-8")
    done = forked("import", "vault", "-f", "field", cwd=place)
    assert (done.code, done.out.splitlines()[0]) == (3, "conflict steel.md  <- vault/Cookware/Steel.md")
    assert "--replace" in done.err
    assert done.err.endswith("markdown: 0 new, 0 updated, 1 unchanged, 1 in conflict\n")
    (place / "vault" / "Cookware" / "Steel.md").write_text(str(VAULT["Cookware/Steel.md"]), encoding="utf-8")
    kept = forked("import", "vault", "-f", "field", cwd=place)
    assert (kept.code, kept.out) == (0, "kept steel.md  <- vault/Cookware/Steel.md\n")
    assert kept.err.endswith("markdown: 0 new, 0 updated, 1 unchanged, 1 edited here and kept\n")
    (place / "vault" / "Cookware" / "Steel.md").write_text("Changed.\n", encoding="utf-8")
    assert "Mine." in page.read_text(encoding="utf-8")
    assert forked("import", "vault", "-f", "field", "--replace", cwd=place).code == 0
    assert "Mine." not in page.read_text(encoding="utf-8")


def test_a_note_that_did_not_come_along_ends_with_1(place: Path) -> None:
    make(place / "vault", {"latin.md": b"caf\xe9"})
    done = forked("import", "vault", "-f", "field", cwd=place)
    assert done.code == 1
    assert "not imported: 1\n  latin.md: is not UTF-8 at byte 3" in done.err
    assert (place / "field" / "steel.md").exists()


def test_a_source_without_notes_ends_with_1(place: Path) -> None:
    make_lines(place / "x.jsonl")
    done = forked("import", "x.jsonl", "-f", "field", cwd=place)
    assert (done.code, done.err) == (1, "there was nothing to import in 'x.jsonl', taken for jsonl\n")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["import", "nowhere"], 2, "there is nothing at 'nowhere'"),
        (["import", "field"], 3, "the field itself"),
        (["import", "vault", "--from", "word"], 2, "'word'"),
        (["import", "vault", "--from", "jsonl"], 2, "name the file"),
        (["import", "field/pans.md", "--from", "jsonl"], 1, "is not JSON"),
        (["export", "vault", "--to", "markdown"], 3, "holds something already"),
        (["export", "field/pans.md", "--to", "jsonl"], 3, "lies in the field itself"),
        (["export", "-", "--to", "markdown"], 2, "only lines go to standard output"),
        (["export", "out"], 2, "--to"),
    ],
)
def test_what_is_refused_says_why(place: Path, arguments: list[str], code: int, said: str) -> None:
    done = forked(*arguments, "-f", "field", cwd=place)
    assert done.code == code, done
    assert said in done.err


def test_hostile_names_reach_no_terminal(place: Path) -> None:
    make(place / "evil", {"a\x1b[2J.md": "[[x\x1b]0;y]]\n", "b\u202e.md": "Text.\n", "c\n.md": "Text.\n"})
    done = forked("import", "evil", "-f", "field", cwd=place)
    assert done.code == 0
    assert not set("\x1b\u202e") & set(done.out + done.err)
    assert all(line.startswith("added ") for line in done.out.splitlines())
    checked = forked("validate", "-f", "field", cwd=place)
    assert "error" not in checked.out


def test_lines_go_to_standard_output(place: Path) -> None:
    done = forked("export", "-", "--to", "jsonl", "-f", "field", cwd=place)
    assert done.code == 0
    assert [json.loads(line)["filename"] for line in done.raw.splitlines()] == ["index.md", "pans.md", "woks.md"]
    written = forked("export", "x.jsonl", "--to", "jsonl", "-f", "field", "--json", cwd=place)
    assert (place / "x.jsonl").read_bytes() == done.raw
    check("export", written.json)
    assert written.json == {
        "schema": 1,
        "field": "field",
        "to": "jsonl",
        "output": "x.jsonl",
        "pages": 3,
        "attachments": 0,
        "bytes": len(done.raw),
        "left": [],
    }


def test_a_page_that_stays_behind_makes_the_export_a_failure(place: Path) -> None:
    make(place, {"field/latin.md": b"caf\xe9\n", "field/p.png": b"x"})
    done = forked("export", "x.jsonl", "--to", "jsonl", "-f", "field", cwd=place)
    assert (done.code, done.out) == (1, "x.jsonl\n")
    assert "not exported: latin.md is not UTF-8" in done.err
    (place / "field" / "latin.md").unlink()
    assert (
        forked("export", "y.jsonl", "--to", "jsonl", "-f", "field", cwd=place).code == 0
    )  # a picture never comes along


def test_an_archive_is_exported(place: Path) -> None:
    assert forked("pack", "-f", "field", "-o", "x.memoryfield.zip", cwd=place).code == 0
    done = forked("export", "out", "--to", "markdown", "-f", "x.memoryfield.zip", cwd=place)
    assert (done.code, done.out) == (0, "out\n")
    assert sorted(path.name for path in (place / "out").iterdir()) == ["index.md", "pans.md", "woks.md"]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_an_import_that_is_ended_leaves_whole_pages(place: Path, name: str) -> None:
    make(place / "many", {f"n{number}.md": f"# Note {number}\n\n{'word ' * 200}\n" for number in range(500)})
    process = subprocess.Popen(
        command("import", "many", "-f", "field"),
        cwd=place,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    stage = place / "field" / ".memoryfield-changes"
    while process.poll() is None and not (stage.is_dir() and len(os.listdir(stage)) > 50):  # noqa: PTH208
        time.sleep(0.01)
    process.send_signal(getattr(signal, name))
    _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    found = list((place / "field").glob("n*.md"))
    assert len(found) in (0, 500)
    assert memoryfield("import", "many", "-f", "field", cwd=place).code == 0
    assert len(list((place / "field").glob("n*.md"))) == 500
    assert not stage.exists()
