"""A field written out for other programs, and taken back without loss."""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryfield import Field
from memoryfield.errors import NotEmptyError, RefusedError, UsageError
from memoryfield.exporting import export_jsonl, export_markdown
from memoryfield.frontmatter.rewriting import pair
from memoryfield.importing import Imported
from memoryfield.importing.keys import moment_text, words_of
from memoryfield.importing.values import text_of
from memoryfield.page import Page

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


@pytest.mark.parametrize("form", ["markdown", "jsonl"])
def test_pages_that_were_written_go_back_into_their_field_unchanged(tmp_path: Path, form: str) -> None:
    with Field.create(tmp_path / "field") as field:
        field.write("woks.md", "They heat evenly.\n", title="Woks")
        before = {path.name: path.read_bytes() for path in (tmp_path / "field").iterdir()}
        source = tmp_path / "copy"
        export_markdown(field, source) if form == "markdown" else export_jsonl(field, source)
    imported = bring(tmp_path / "field", source, kind=form)
    assert (imported.same, imported.conflicts) == (2, [])
    assert {path.name: path.read_bytes() for path in (tmp_path / "field").iterdir()} == before


def test_pages_without_uuid_go_back_into_their_field_as_themselves(tmp_path: Path) -> None:
    bare: dict[str, str | bytes] = {
        "bare.md": "Text only.\n",
        "tagged.md": "---\ntitle: T\ntags: [a]\n---\n\nText. [bare](bare.md)\n",
        "broken.md": "---\ntitle: [a\n---\nText.\n",
        "toml.md": '+++\ntitle = "T"\n+++\nText.\n',
        "long.md": "".join(f"## Part {number}\n\n{'Words and words. ' * 150}\n\n" for number in range(8)),
    }
    field = make(tmp_path / "field", bare)
    before = {path.name: path.read_bytes() for path in field.iterdir()}
    with Field.open(field) as opened:
        export_jsonl(opened, tmp_path / "x.jsonl")
        export_markdown(opened, tmp_path / "copy")
    for source in (tmp_path / "x.jsonl", tmp_path / "copy"):
        imported = bring(field, source)
        assert (imported.added, imported.updated, imported.conflicts) == ([], [], [])
        assert {path.name: path.read_bytes() for path in field.iterdir()} == before
    make(field, {"bare.md": "Another text.\n"})
    assert [page.filename for page in bring(field, tmp_path / "copy").added] == ["bare-2.md"]


def test_the_index_of_a_field_takes_the_place_of_that_of_a_new_one(tmp_path: Path) -> None:
    text = "# Pans\n\nAll about pans. [woks](woks.md)\n"
    field = make(tmp_path / "field", {"index.md": f"---\ntitle: Pans\n---\n\n{text}", "woks.md": "[up](index.md)\n"})
    with Field.open(field) as opened:
        export_jsonl(opened, tmp_path / "x.jsonl")
        export_markdown(opened, tmp_path / "copy")
    for number, source in enumerate((tmp_path / "x.jsonl", tmp_path / "copy")):
        new = tmp_path / f"new{number}"
        Field.create(new).close()
        imported = bring(new, source)
        assert sorted(pages(new)) == ["index.md", "woks.md"]
        assert pages(new)["index.md"].body == f"\n{text}"
        assert "[up](index.md)" in pages(new)["woks.md"].body
        assert any("takes the place" in note for note in imported.notes)
        assert bring(new, source).same == 2


@pytest.mark.parametrize("told", ["summary", "title", "edited"])
def test_an_index_that_somebody_wrote_stays(tmp_path: Path, told: str) -> None:
    source = make_lines(tmp_path / "x.jsonl", {"filename": "index.md", "text": "Theirs.\n"})
    title, summary = ("Ours" if told == key else "" for key in ("title", "summary"))
    Field.create(tmp_path / "new", title=title, summary=summary).close()
    if told == "edited":
        with (tmp_path / "new" / "index.md").open("a", encoding="utf-8") as file:
            file.write("Ours.\n")
    before = (tmp_path / "new" / "index.md").read_bytes()
    assert [page.filename for page in bring(tmp_path / "new", source).added] == ["index-2.md"]
    assert (tmp_path / "new" / "index.md").read_bytes() == before


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


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    field = Field.open(make(tmp_path, {"field/a.md": "A.\n", "file": "x"}) / "field")
    with pytest.raises(RefusedError, match="is a file"):
        export_markdown(field, tmp_path / "file")
    for parent in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(UsageError, match=f"there is no folder .*{parent.name}"):
            export_jsonl(field, parent / "x.jsonl")
    export_jsonl(field, tmp_path / ("x" * 250))  # a name that just fits
    assert (tmp_path / ("x" * 250)).is_file()
    field.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size")
def test_on_a_full_disk_nothing_is_left_behind(tmp_path: Path) -> None:
    import resource

    make(tmp_path, {"old.jsonl": "old", "empty/.keep": ""})
    (tmp_path / "empty" / ".keep").unlink()
    field = Field.open(make(tmp_path / "field", {"a.md": "A.\n", "b.md": "B" * 20_000}))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        for export, output in (
            (export_markdown, "new"),
            (export_markdown, "empty"),
            (export_jsonl, "new.jsonl"),
            (lambda field, output: export_jsonl(field, output, replace=True), "old.jsonl"),
        ):
            with pytest.raises(OSError, match="large") as caught:
                export(field, tmp_path / output)
            assert str(caught.value.filename).startswith(str(tmp_path / output))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "field", "old.jsonl"]
    assert list((tmp_path / "empty").iterdir()) == []
    assert (tmp_path / "old.jsonl").read_text("utf-8") == "old"
    field.close()


@pytest.mark.parametrize("count", [0, 1])
def test_fields_of_no_page_and_of_one(tmp_path: Path, count: int) -> None:
    (tmp_path / "field").mkdir()
    with Field.open(make(tmp_path / "field", {"日本.md": "X.\n"} if count else {})) as field:
        assert export_jsonl(field, tmp_path / "x.jsonl").pages == count
        assert export_markdown(field, tmp_path / "copy").pages == count
    assert (tmp_path / "x.jsonl").read_text("utf-8").count("\n") == count
    assert [path.name for path in (tmp_path / "copy").iterdir()] == ["日本.md"][:count]
    for source, kind in ((tmp_path / "x.jsonl", "jsonl"), (tmp_path / "copy", "markdown")):
        imported = bring(tmp_path / kind, source, kind=kind)
        assert [page.filename for page in imported.added] == ["ri-ben.md"][:count]


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = (
    st.none() | st.booleans() | st.integers(-9999, 9999) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
)
VALUES = st.recursive(
    SCALARS | st.sampled_from(["2024-01-02", "2024-01-02T03:04:05Z", "~", "yes", "#x", "[[y]]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from(
    "title summary created updated tags aliases source uuid type date modified title-before".split()
)
KEYS = st.dictionaries(NAMES | TEXTS.filter(lambda key: key not in ("imported", "page")), VALUES, max_size=5)
BODIES = TEXTS | st.sampled_from(
    ["\n# H\n\ntext #tag [x](b.md)\n", "---\nx: 1\n---\ny", "\n\n", "# T\r\nx\r\n", "<img src='x.png'>"]
)


def lost(before: Page, after: Page, imported: Imported) -> dict[str, Any]:
    """Keys of a page that the one made of it does not have, of which nothing is told either."""
    told = [item.reason for item in imported.left]
    found = {}
    for key, value in before.frontmatter.items():
        now = after.frontmatter.get(key)
        is_same = (
            now == value
            or value in (None, "", [])
            or key == "imported"
            or (key in ("title", "summary") and (now == text_of(value) or isinstance(value, int | float)))
            or (key in ("title", "summary") and isinstance(value, str) and not value.strip())
            or (key in ("created", "updated") and now == moment_text(value))
            or (key in ("tags", "aliases") and isinstance(now, list) and set(words_of(value)) <= set(now))
        )
        if not is_same and not any(reason.startswith((f"{key}:", f"the {key} ")) for reason in told):
            found[key] = value
    return found


@settings(max_examples=30, deadline=None)
@given(KEYS, BODIES, st.booleans())
@example({"title": [], "tags": []}, "", True)
@example({"title": {"x": 1}, "title-before": "x", "updated": "some day"}, "Text.", True)
def test_no_page_loses_anything_on_its_way_out_and_in_and_out_again(
    keys: dict[str, Any], body: str, headed: bool
) -> None:
    head = "---\n" + "".join(pair(key, value) for key, value in keys.items()) + "---\n" if headed else ""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make(place / "field", {"a.md": head + body})
        for kind in ("markdown", "jsonl"):
            fields = [place / "field", place / kind, place / f"{kind}-again"]
            for number in (1, 2):
                before = pages(fields[number - 1])["a.md"]
                source = place / f"{kind}-{number}"
                with Field.open(fields[number - 1]) as field:
                    export_markdown(field, source) if kind == "markdown" else export_jsonl(field, source)
                imported = bring(fields[number], source, kind=kind)
                if not imported.added:
                    assert [item.kind for item in imported.left] == ["empty"]
                    break
                after = pages(fields[number])["a.md"]
                assert after.body.strip() == (before.body if before.frontmatter_is_valid else before.text).strip()
                assert lost(before, after, imported) == {}
