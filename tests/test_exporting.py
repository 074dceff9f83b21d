"""A field written out for other programs, and taken back without loss."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.errors import NotEmptyError, RefusedError
from memoryfield.exporting import export_jsonl, export_markdown

from .importing.support import bring, faults, make, make_lines, pages

FIELDNOTES = Path(__file__).parent.parent / "samples" / "fieldnotes"


def test_the_sample_field_comes_back_from_its_lines(tmp_path: Path) -> None:
    with Field.open(FIELDNOTES) as field:
        exported = export_jsonl(field, tmp_path / "notes.jsonl")
    before = pages(FIELDNOTES)
    assert (exported.pages, exported.left) == (len(before), [])
    imported = bring(tmp_path / "back", tmp_path / "notes.jsonl")
    assert imported.left == []
    after = pages(tmp_path / "back")
    assert after.keys() == before.keys()
    for name, page in before.items():
        assert after[name].body == page.body
        assert after[name].uuid == page.uuid
        keys = {key: value for key, value in after[name].frontmatter.items() if key != "imported"}
        assert keys == page.frontmatter
    assert faults(tmp_path / "back") == []


def test_lines_that_go_back_into_their_field_change_nothing(tmp_path: Path) -> None:
    field = tmp_path / "field"
    shutil.copytree(FIELDNOTES, field)
    before = {path.name: path.read_bytes() for path in field.iterdir()}
    with Field.open(field) as opened:
        export_jsonl(opened, tmp_path / "notes.jsonl")
    imported = bring(field, tmp_path / "notes.jsonl")
    assert (imported.added, imported.updated, imported.conflicts) == ([], [], [])
    assert {path.name: path.read_bytes() for path in field.iterdir()} == before


def test_odd_pages_survive_the_way_through_lines(tmp_path: Path) -> None:
    odd: dict[str, str | bytes] = {
        "bare.md": "Text only.\n",
        "broken.md": "---\ntitle: [a\n---\nText.\n",
        "crlf.md": "---\r\ntitle: CR\r\ncreated: 2024-01-01\r\n---\r\nText.\r\n",
        "toml.md": '+++\ntitle = "T"\n+++\nText.\n',
        "tight.md": "---\ntitle: Tight\nz: 1\na: [x, {y: null}]\n---\nText without an end",
        "latin.md": b"caf\xe9\n",
        "picture.png": b"\x89PNG",
    }
    with Field.open(make(tmp_path / "field", odd)) as field:
        exported = export_jsonl(field, tmp_path / "x.jsonl")
    assert [name for name, _ in exported.left] == ["latin.md", "picture.png"]
    bring(tmp_path / "back", tmp_path / "x.jsonl")
    before, after = pages(tmp_path / "field"), pages(tmp_path / "back")
    assert after.keys() == before.keys() - {"latin.md"}
    assert after["broken.md"].body == odd["broken.md"]
    assert after["bare.md"].body == "Text only.\n"
    assert after["crlf.md"].body == "Text.\r\n"
    assert after["toml.md"].body == odd["toml.md"]
    assert after["tight.md"].body == "Text without an end"
    assert after["tight.md"].frontmatter["a"] == ["x", {"y": None}]
    assert list(after["tight.md"].frontmatter)[:3] == ["title", "z", "a"]


def test_a_line_says_what_a_page_is(tmp_path: Path) -> None:
    text = "---\ntitle: T\nsummary: S\ntags: [a]\nsource: https://example.com\n---\n\nText.\n"
    output = io.BytesIO()
    with Field.open(make(tmp_path / "field", {"a.md": text})) as field:
        export_jsonl(field, output)
    assert json.loads(output.getvalue()) == {
        "filename": "a.md",
        "uuid": "",
        "title": "T",
        "summary": "S",
        "created": "",
        "updated": "",
        "tags": ["a"],
        "source": "https://example.com",
        "frontmatter": {"title": "T", "summary": "S", "tags": ["a"], "source": "https://example.com"},
        "text": "\nText.\n",
    }


def test_markdown_is_every_file_but_indexes(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": "A.\n",
        "p.png": b"\x89PNG",
        "latin.md": b"caf\xe9",
        "m.sqlite3": b"SQLite",
        ".hidden": "x",
    }
    with Field.open(make(tmp_path / "field", files)) as field:
        exported = export_markdown(field, tmp_path / "copy")
    assert (exported.pages, exported.attachments) == (2, 1)
    copied = {path.name: path.read_bytes() for path in (tmp_path / "copy").iterdir()}
    assert copied == {"a.md": b"A.\n", "p.png": b"\x89PNG", "latin.md": b"caf\xe9"}


def test_nothing_is_written_over(tmp_path: Path) -> None:
    make(tmp_path, {"field/a.md": "A.\n", "full/x": "x", "there.jsonl": "old"})
    with Field.open(tmp_path / "field") as field:
        with pytest.raises(NotEmptyError):
            export_markdown(field, tmp_path / "full")
        with pytest.raises(NotEmptyError):
            export_jsonl(field, tmp_path / "there.jsonl")
        assert (tmp_path / "there.jsonl").read_text(encoding="utf-8") == "old"
        export_jsonl(field, tmp_path / "there.jsonl", replace=True)
    assert json.loads((tmp_path / "there.jsonl").read_bytes())["filename"] == "a.md"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["field", "full", "there.jsonl"]


def test_links_follow_where_a_name_was_taken(tmp_path: Path) -> None:
    lines = make_lines(
        tmp_path / "x.jsonl",
        {"filename": "a.md", "frontmatter": {}, "text": "See [b](b.md).\n"},
        {"filename": "b.md", "frontmatter": {}, "text": "B.\n"},
    )
    field = make(tmp_path / "field", {"b.md": "Another.\n"})
    bring(field, lines)
    assert pages(field)["a.md"].body == "See [b](b-2.md).\n"


def test_nothing_but_files_outside_of_the_field_is_replaced(tmp_path: Path) -> None:
    field = Field.create(tmp_path / "notes")
    page = (tmp_path / "notes" / "index.md").read_bytes()
    for output in (tmp_path / "notes" / "index.md", tmp_path / "notes" / "new.md", tmp_path):
        with pytest.raises(RefusedError):
            export_jsonl(field, output, replace=True)
    with pytest.raises(RefusedError):
        export_markdown(field, tmp_path / "notes" / "copy")
    assert [(file.name, file.read_bytes()) for file in (tmp_path / "notes").iterdir()] == [("index.md", page)]
    (tmp_path / "real.jsonl").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real.jsonl")
    export_jsonl(field, tmp_path / "link", replace=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real.jsonl").read_text("utf-8").count("\n") == 1
