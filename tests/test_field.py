"""The rules for changing pages: what is refused, what is kept, and that no writer loses a page to another."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import sys
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryfield import Field, MemoryfieldError, Page
from memoryfield.errors import (
    FieldNotFoundError,
    NotEmptyError,
    PageConflictError,
    PageExistsError,
    PageNameError,
    PageNotFoundError,
    ReadOnlyError,
    RefusedError,
    UsageError,
)
from memoryfield.field import locate
from memoryfield.names import is_legal_page_name, slug

from .support import full_disk, no_privileges

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")

UUID = "0b8f6a52-6d3c-4a0e-9a53-0f6f0c5f7a11"
OTHER_UUID = "0b8f6a52-aaaa-4aaa-8aaa-aaaaaaaaaaaa"
OLD = "2020-01-02T03:04:05Z"
STORED = f"""---
# kept by hand
uuid: {UUID}
tags: [pans,  steel]   # two spaces
title: 'Carbon Steel Woks'
created: "{OLD}"
updated: "{OLD}"
---

# Carbon steel woks

They heat evenly.
"""


def tree(path: Path) -> dict[str, bytes | str]:
    """Everything under a folder."""
    return {
        str(item.relative_to(path)): item.read_bytes() if item.is_file() else "folder" if item.is_dir() else "special"
        for item in path.rglob("*")
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with one page, `woks.md`."""
    path = tmp_path / "notes"
    path.mkdir()
    (path / "woks.md").write_bytes(STORED.encode())
    return path


@pytest.fixture
def field(root: Path) -> Field:
    return Field.open(root)


@pytest.fixture(scope="module")
def indexed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A field with three pages and an up-to-date index; copy it."""
    path = tmp_path_factory.mktemp("indexed") / "notes"
    path.mkdir()
    (path / "woks.md").write_bytes(STORED.replace("evenly", "evenly, quibbleworthy").encode())
    (path / "pans.md").write_bytes(b"# Pans\n\nCast iron keeps the heat.\n")
    (path / "pots.md").write_bytes(b"# Pots\n\nCopper conducts.\n")
    long_ago = 1_700_000_000
    for page in path.iterdir():
        os.utime(page, (long_ago, long_ago))
    Field.open(path).sync()
    return path


@pytest.fixture
def indexed(indexed_once: Path, tmp_path: Path) -> Field:
    shutil.copytree(indexed_once, tmp_path / "indexed")
    return Field.open(tmp_path / "indexed")


INDEX = "all-MiniLM-L6-v2.sqlite3"


def index_rows(field: Field, name: str = INDEX) -> list[str]:
    connection = sqlite3.connect(field.location / name)
    try:
        return [row[0] for row in connection.execute("SELECT filename FROM pages ORDER BY filename")]
    finally:
        connection.close()


# making a field


def test_a_new_field_has_a_page_that_introduces_it(tmp_path: Path) -> None:
    with Field.create(tmp_path / "deep" / "notes", title="Kitchen Notes", summary="What is known about pans.") as field:
        assert field.name == "notes"
        assert [entry.name for entry in field.entries()] == ["index.md"]
        page = field.read("index")
    assert (page.title, page.summary, page.heading) == ("Kitchen Notes", "What is known about pans.", "Kitchen Notes")
    assert list(page.frontmatter) == ["title", "summary", "uuid", "created", "updated"]
    assert Field.open(tmp_path / "deep" / "notes").validate() == []


def test_a_new_field_is_titled_after_its_folder(tmp_path: Path) -> None:
    assert Field.create(tmp_path / "notes").read("index").title == "notes"


def test_a_title_of_several_lines_is_one_heading(tmp_path: Path) -> None:
    page = Field.create(tmp_path / "notes", title="Kitchen\nNotes").read("index")
    assert page.heading == page.title == "Kitchen Notes"


def test_an_empty_folder_becomes_a_field(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    assert len(Field.create(tmp_path / "notes").entries()) == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [("woks.md", "is a memoryfield already"), ("photo.jpg", "holds other files"), (".git", "holds other files")],
)
def test_a_folder_that_holds_something_is_refused_untouched(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / name).write_bytes(b"mine")
    with pytest.raises(NotEmptyError) as caught:
        Field.create(tmp_path / "notes", title="Notes")
    assert words in caught.value.message
    assert caught.value.exit_code == 3
    assert tree(tmp_path / "notes") == {name: b"mine"}


def test_a_file_in_the_place_of_a_new_field_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b"mine")
    with pytest.raises(NotEmptyError) as caught:
        Field.create(tmp_path / "notes")
    assert caught.value.exit_code == 3
    assert (tmp_path / "notes").read_bytes() == b"mine"


# which field


def test_the_given_field_comes_before_the_environments_and_that_before_the_current_folder(root: Path) -> None:
    assert locate("given", "environment", root) == "given"
    assert locate(None, "environment", root) == "environment"
    assert locate(None, "", root) == str(root)


@pytest.mark.parametrize("name", [None, "photo.jpg", ".hidden.md", "notes.md~", "x.sync-conflict-1.md", "sub.md/x"])
def test_a_current_folder_without_a_page_is_no_field(tmp_path: Path, name: str | None) -> None:
    if name:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"text")
    with pytest.raises(FieldNotFoundError) as caught:
        locate(None, None, tmp_path)
    assert caught.value.exit_code == 2
    assert "-f" in caught.value.hint


# a new page


def test_what_a_page_lacks_is_filled_in(field: Field) -> None:
    written = field.write("pans", "# Cast iron\n\nKeeps the heat.\n")
    page = written.page
    assert (written.created, written.notes) == (True, ())
    assert page.filename == "pans.md"
    assert list(page.frontmatter) == ["title", "uuid", "created", "updated"]
    assert page.title == "Cast iron"
    assert str(uuid.UUID(page.uuid)) == page.uuid
    assert page.created == page.updated
    assert page.body == "\n# Cast iron\n\nKeeps the heat.\n"
    assert (field.location / "pans.md").read_bytes() == page.raw
    assert field.validate() == []


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("# Heading\n", "Given", "Given"),
        ("# Heading\n", "  Given\n twice ", "Given twice"),
        ("---\ntitle: Front\n---\n# Heading\n", "", "Front"),
        ("---\ntitle: Front\n---\n# Heading\n", "Given", "Given"),
        ("Text.\n\nHeading\n=======\n", "", "Heading"),
        ("```\n# no heading\n```\n", "", "pans"),
        ("Text.", "", "pans"),
    ],
)
def test_the_title_is_the_given_one_else_the_first_heading_else_the_name(
    field: Field, text: str, title: str, expected: str
) -> None:
    assert field.write("pans.md", text, title=title).page.title == expected


def test_what_a_page_has_is_kept_comments_and_order_included(field: Field) -> None:
    text = "---\n# by hand\nzeta: [a,  b]\ntitle: 'Pans'  # short\nalpha: yes\n---\nText.\n"
    page = field.write("pans", text, summary="Iron.").page
    lines = page.text.splitlines()
    assert lines[:5] == text.splitlines()[:5]
    assert lines[5] == "summary: Iron."
    assert list(page.frontmatter) == ["zeta", "title", "alpha", "summary", "uuid", "created", "updated"]
    assert page.body == "Text.\n"


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Re: a thing\n---\n\nText.\n",
        "---\ntitle: not closed\n\nText.\n",
        "---\n- a\n- list\n---\n\nText.\n",
        "---\ntitle:\ta\n\tb: tabs\n---\n",
        "---\ntitle: `code`\n---\n",
        "---\ntitle: *star*\n---\n",
    ],
)
@pytest.mark.parametrize("mode", ["new", "replace"])
def test_a_second_block_is_not_put_on_top_of_a_broken_first(
    field: Field, text: str, mode: Literal["new", "replace"]
) -> None:
    if mode == "replace":
        (field.location / "pans.md").write_text("No frontmatter.\n")
    written = field.write("pans", text, title="Given", mode=mode)
    assert written.page.raw == text.encode()
    assert len(written.notes) == 1
    assert written.notes[0].startswith(f"{written.page.filename}:")


def test_bytes_that_are_not_utf8_are_stored_as_they_are(field: Field) -> None:
    written = field.write("pans", b"caf\xe9\n", title="Given")
    assert written.page.raw == b"caf\xe9\n"
    assert "not UTF-8" in written.notes[0]


def test_a_page_that_is_too_large_is_stored_and_said_to_be(field: Field) -> None:
    written = field.write("pans", "x" * 9000)
    assert written.page.size > 9000
    assert "8,192" in written.notes[0]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=200).filter(lambda text: text.encode().strip()))
def test_whatever_text_is_written_is_stored_to_the_byte(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    field = Field.open(tmp_path_factory.mktemp("field"))
    given = Page("pans.md", text.encode())
    page = field.write("pans", text).page
    assert page.body.endswith(given.body.lstrip("\ufeff"))
    assert field.read("pans").raw == page.raw


def test_text_that_utf8_cannot_hold_is_refused_in_our_own_words(field: Field) -> None:
    with pytest.raises(MemoryfieldError):
        field.write("pans", "half a pair: \ud800")
    with pytest.raises(MemoryfieldError):
        Field.create(field.location.parent / "new", title="caf\udce9")
    assert not (field.location / "pans.md").exists()


def test_an_existing_page_is_not_overwritten_unless_it_is_said_so(field: Field) -> None:
    with pytest.raises(PageExistsError) as caught:
        field.write("woks", "Other text.")
    assert caught.value.exit_code == 3
    assert "--replace" in caught.value.hint
    assert "--append" in caught.value.hint
    assert tree(field.location) == {"woks.md": STORED.encode()}


# names


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Carbon Fibre Woks", "carbon-fibre-woks.md"),
        ("Ünïcöde", "unicode.md"),
        ("炭素", "tan-su.md"),
        ("C++ & C#: which?", "c-c-which.md"),
        ("  ...leading and trailing!  ", "leading-and-trailing.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("🔥🔥", "page.md"),
    ],
)
def test_a_page_without_a_name_is_named_after_its_title(field: Field, title: str, name: str) -> None:
    page = field.write("", "Text.", title=title).page
    assert page.filename == name
    assert page.title == title.strip()
    assert field.write("", f"---\nuuid: {OTHER_UUID}\n---\n", title=title + " again").page.filename != name


@pytest.mark.parametrize(
    "text", ["# Cast Iron\n", "---\ntitle: Cast Iron\n---\n", "---\ntitle: Cast Iron\nnot closed\n", "Cast Iron\n===\n"]
)
def test_a_page_without_name_and_title_is_named_after_what_the_text_says(field: Field, text: str) -> None:
    assert field.write("", text).page.filename == "cast-iron.md"


def test_a_page_that_nothing_names_is_refused(field: Field) -> None:
    with pytest.raises(UsageError) as caught:
        field.write("", "Text without a heading.")
    assert caught.value.exit_code == 2
    assert len(tree(field.location)) == 1


@settings(max_examples=300, deadline=None, derandomize=True)
@given(title=st.text(max_size=200))
def test_every_title_gives_a_legal_name_of_bounded_length(title: str) -> None:
    stem = slug(title)
    assert is_legal_page_name(stem + ".md")
    assert len(stem) <= 100


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "..",
        "sub/page",
        "a\\b",
        "c:pans",
        "-pans",
        "pans-",
        "Pans",
        "two words",
        "pans.MD",
        "pans.txt",
        ".hidden",
        "ünïcöde",
        "炭素",
        "nul\x00",
        "pans\n",
        ".md",
        "a" * 300 + "/",
    ],
)
def test_a_name_that_no_page_can_have_is_refused_and_a_legal_one_is_proposed(
    field: Field, tmp_path: Path, name: str
) -> None:
    before = tree(tmp_path)
    for change in (
        lambda: field.write(name, "text"),
        lambda: field.write(name, "text", mode="append"),
        lambda: field.rename("woks", name),
    ):
        with pytest.raises(PageNameError) as caught:
            change()
        assert caught.value.exit_code == 2
        proposed = caught.value.hint.removeprefix("How about ").removesuffix("?")
        assert is_legal_page_name(proposed + ".md")
    assert tree(tmp_path) == before


# replacing


def test_replacing_keeps_uuid_and_created_and_refreshes_updated(field: Field) -> None:
    written = field.write("woks", "# Woks\n\nNew text.\n", mode="replace")
    page = written.page
    assert not written.created
    assert (page.uuid, page.created) == (UUID, OLD)
    assert page.updated > OLD
    assert page.body == "\n# Woks\n\nNew text.\n"


def test_replacing_keeps_created_whatever_the_text_says(field: Field) -> None:
    text = f'---\nuuid: {UUID.upper()}\ncreated: "2024-05-05T05:05:05Z"\nupdated: "2024-05-05T05:05:05Z"\n---\nText.\n'
    page = field.write("woks", text, mode="replace").page
    assert (page.uuid, page.created) == (UUID, OLD)
    assert page.updated > "2025"


def test_replacing_keeps_what_a_broken_page_still_tells(field: Field) -> None:
    (field.location / "woks.md").write_text(f'---\nuuid: {UUID}\ncreated: "{OLD}"\ntitle: Re: woks\n---\nText.\n')
    page = field.write("woks", "New text.\n", mode="replace").page
    assert (page.uuid, page.created) == (UUID, OLD)


def test_replacing_keeps_title_and_summary_unless_the_text_gives_others(field: Field) -> None:
    field.write("woks", "Text.", mode="replace", summary="Carbon steel.")
    written = field.write("woks", "---\ntags: [a]\n---\nText.\n", mode="replace")
    assert (written.page.title, written.page.summary) == ("Carbon Steel Woks", "Carbon steel.")
    assert written.notes == ("kept of the page, since the text had none: title, summary",)
    page = field.write("woks", "---\ntags: [a]\nsummary: Iron.\n---\n# Heading\n", mode="replace").page
    assert (page.title, page.summary) == ("Heading", "Iron.")
    page = field.write("woks", "---\ntitle: Other\nsummary:\n---\nText.\n", mode="replace", title="Given").page
    assert (page.title, page.summary) == ("Given", "")


def test_replacing_a_page_that_has_no_uuid_takes_the_texts(field: Field) -> None:
    (field.location / "pans.md").write_text("No frontmatter.\n")
    assert field.write("pans", f"---\nuuid: {OTHER_UUID}\n---\nText.\n", mode="replace").page.uuid == OTHER_UUID


def test_replacing_a_page_that_is_not_there_makes_it(field: Field) -> None:
    assert field.write("pans", "Text.", mode="replace").created


@pytest.mark.parametrize("mode", ["replace", "append"])
@pytest.mark.parametrize("block", ["uuid: {}", "uuid: {}\ntitle: Re: broken"])
def test_a_text_that_carries_another_uuid_is_refused(
    field: Field, block: str, mode: Literal["replace", "append"]
) -> None:
    with pytest.raises(PageConflictError) as caught:
        field.write("woks", f"---\n{block.format(OTHER_UUID)}\n---\nText.\n", mode=mode)
    assert caught.value.exit_code == 3
    assert UUID in caught.value.message
    assert OTHER_UUID in caught.value.message
    assert tree(field.location) == {"woks.md": STORED.encode()}


# appending


def test_a_new_page_with_the_uuid_of_another_is_refused(field: Field, root: Path) -> None:
    before = tree(root)
    with pytest.raises(PageConflictError, match=r"woks\.md"):
        field.write("copy", STORED.replace(UUID, UUID.upper()))
    assert tree(root) == before
    field.write("other", f"See {UUID}.\n")
    assert field.write("third", STORED.replace(UUID, "ffffffff-6d3c-4a0e-9a53-0f6f0c5f7a11")).created


def test_appending_adds_after_an_empty_line_and_refreshes_updated_only(field: Field) -> None:
    page = field.write("woks", "## Care\n\nOil it.\n", mode="append").page
    assert page.updated > OLD
    assert page.text.replace(page.updated, OLD) == STORED + "\n## Care\n\nOil it.\n"


@pytest.mark.parametrize(
    ("stored", "added", "expected"),
    [
        (b"One.", b"Two.\n", b"One.\n\nTwo.\n"),
        (b"One.\n", b"Two.\n", b"One.\n\nTwo.\n"),
        (b"One.\n\n", b"Two.\n", b"One.\n\nTwo.\n"),
        (b"One.\r\n", b"Two.\r\n", b"One.\r\n\r\nTwo.\r\n"),
        (b"One.\r\nStill", b"Two.\r\n", b"One.\r\nStill\r\n\r\nTwo.\r\n"),
        (b"", b"Two.\n", b"Two.\n"),
        (b"caf\xe9\n", b"caf\xe9\n", b"caf\xe9\n\ncaf\xe9\n"),
        (b"---\ntitle: not closed\n", b"More.\n", b"---\ntitle: not closed\n\nMore.\n"),
        (b"One.\n", b"+++\na = 1\n+++\nMore.\n", b"One.\n\n+++\na = 1\n+++\nMore.\n"),
    ],
)
def test_appending_keeps_every_byte_that_was_there(field: Field, stored: bytes, added: bytes, expected: bytes) -> None:
    (field.location / "pans.md").write_bytes(stored)
    page = field.write("pans", added, mode="append").page
    assert page.raw.endswith(expected)
    assert page.raw == expected or page.problems == []


@pytest.mark.parametrize("keys", ["title: Other\nstatus: new\n", "title: Other\ntitle: Another\nstatus: new\n"])
def test_appending_leaves_out_the_frontmatter_of_the_added_text_and_says_so(field: Field, keys: str) -> None:
    written = field.write("woks", f"---\n{keys}---\nMore.\n", mode="append")
    assert written.page.text.replace(written.page.updated, OLD) == STORED + "\nMore.\n"
    assert written.notes == ("left out of the text's frontmatter, since the page has its own: title, status",)


def test_but_its_tags_and_sources_are_the_pages_too(field: Field) -> None:
    keys = "tags: [iron, steel]\nsource: https://example.org/iron\n"
    written = field.write("woks", f"---\n{keys}---\nMore.\n", mode="append")
    assert written.page.frontmatter["tags"] == ["pans", "steel", "iron"]
    assert written.page.frontmatter["source"] == "https://example.org/iron"
    assert written.notes == ("the text's tags and source went to the page's own",)
    keys = "tags: iron\nsource: [https://example.org/iron, https://example.org/wood]\n"
    page = field.write("woks", f"---\n{keys}---\nAnd more.\n", mode="append").page
    assert page.frontmatter["source"] == ["https://example.org/iron", "https://example.org/wood"]
    odd = field.write("woks", "---\ntags: {a: b}\n---\n", mode="append")
    assert odd.page.raw == page.raw
    assert "tags" in odd.notes[0]


def test_a_page_without_frontmatter_gets_them_and_broken_ones_are_told(field: Field) -> None:
    (field.location / "pans.md").write_bytes(b"# Pans\n")
    page = field.write("pans", "---\nsource: https://example.org\n---\nMore.\n", mode="append").page
    assert page.frontmatter["source"] == "https://example.org"
    written = field.write("pans", "---\na: b: c\n---\nMore.\n", mode="append")
    assert written.page.body.endswith("---\na: b: c\n---\nMore.\n")
    assert "broken" in written.notes[0]


def test_a_name_that_file_systems_cannot_hold_is_refused_before_they_are_asked(field: Field) -> None:
    assert field.write("x" * 252, "Text.").created
    for name in ("x" * 253, "ä" * 300, "a" * 300 + ".md"):
        with pytest.raises(PageNameError, match=r"too long .* take 255, \.md included\. How about [ax]+\?"):
            field.write(name, "Text.")
        with pytest.raises(PageNameError, match="too long"):
            field.rename("woks", name)


@pytest.mark.parametrize("name", ["con", "lpt1", "com0"])
def test_a_name_that_windows_keeps_for_a_device_is_told(field: Field, name: str) -> None:
    note = f"the name {name}.md is one of a device on Windows"
    written = field.write(name, "Text.")
    assert written.notes[0].startswith(note)
    assert f"`memoryfield rename {name}.md {name}-page`" in written.notes[0]
    field.rename(name, f"{name}-page")
    notes: list[str] = []
    field.rename(f"{name}-page", name, notes)
    assert notes[0].startswith(note)
    assert field.write("icon", "Text.").notes == ()


# what changes nothing


@pytest.mark.parametrize("stored", [STORED, STORED.replace(OLD, "2026-01-02T03:04:05+00:00"), "# No frontmatter.\n"])
@pytest.mark.parametrize("mode", ["replace", "append"])
def test_a_write_that_changes_nothing_leaves_the_page_as_it_is(
    field: Field, stored: str, mode: Literal["replace", "append"]
) -> None:
    (field.location / "woks.md").write_text(stored, "utf-8")
    before = (field.location / "woks.md").stat()
    written = field.write("woks", stored if mode == "replace" else "\n", mode=mode)
    assert (written.changed, written.page.text) == (False, stored)
    assert written.notes == ("woks.md says this already: nothing was changed",)
    assert (field.location / "woks.md").stat().st_mtime_ns == before.st_mtime_ns


def test_so_does_a_text_that_the_page_has_with_what_was_filled_in(field: Field) -> None:
    text = "---\ntitle: Pans\n---\n\nIron.\n"
    first = field.write("pans", text, summary="Heavy.").page
    assert not field.write("pans", first.body, title="Pans", summary="Heavy.", mode="replace").changed
    assert not field.write("pans", "", title="Pans", mode="append").changed
    assert field.read("pans").raw == first.raw
    assert field.write("pans", "", mode="append", title="Pots").changed
    assert field.write("pans", "", mode="append", summary="Light.").changed


def test_a_new_page_without_text_is_refused(field: Field) -> None:
    modes: tuple[Literal["new", "replace", "append"], ...] = ("new", "replace", "append")
    for mode in modes:
        with pytest.raises(UsageError, match=r"pans\.md would have no text"):
            field.write("pans", " \n", title="Pans", mode=mode)
    assert not (field.location / "pans.md").exists()
    assert field.write("pans", "---\ntitle: Pans\n---\n").created


def test_appending_fills_in_what_the_page_lacks(field: Field) -> None:
    (field.location / "pans.md").write_bytes(b"# Pans\n")
    page = field.write("pans", "More.\n", mode="append").page
    assert list(page.frontmatter) == ["title", "uuid", "created", "updated"]
    assert page.body == "\n# Pans\n\nMore.\n"


def test_appending_to_a_page_that_is_not_there_makes_it(field: Field) -> None:
    written = field.write("pans", "Text.", mode="append", title="Pans")
    assert written.created
    assert written.page.title == "Pans"


def test_a_title_given_with_an_append_is_not_dropped(field: Field) -> None:
    page = field.write("woks", "More.", mode="append", title="All About Woks", summary="Carbon steel.").page
    assert (page.title, page.summary) == ("All About Woks", "Carbon steel.")
    assert (page.uuid, page.created) == (UUID, OLD)


# --if-match


@pytest.mark.parametrize("mode", ["replace", "append"])
@pytest.mark.parametrize("spelling", [str.lower, str.upper, "  {}\n".format])
def test_a_page_that_matches_is_written(
    field: Field, mode: Literal["replace", "append"], spelling: Callable[[str], str]
) -> None:
    seen = spelling(field.read("woks").sha256)
    assert "More." in field.write("woks", "More.", mode=mode, if_match=seen).page.body


@pytest.mark.parametrize("mode", ["new", "replace", "append"])
@pytest.mark.parametrize("name", ["woks", "missing"])
def test_a_page_that_does_not_match_is_not_written(
    field: Field, mode: Literal["new", "replace", "append"], name: str
) -> None:
    with pytest.raises(PageConflictError) as caught:
        field.write(name, "More.", mode=mode, if_match="0" * 64)
    assert caught.value.exit_code == 3
    assert name + ".md" in caught.value.message
    assert tree(field.location) == {"woks.md": STORED.encode()}


# an edited page


def test_an_edit_refreshes_updated_and_nothing_else(field: Field) -> None:
    edited = STORED.replace("evenly", "very evenly")
    page = field.rewrite("woks.md", field.read("woks"), edited.encode()).page
    assert page.updated > OLD
    assert page.text.replace(page.updated, OLD) == edited


def test_an_edit_that_changed_nothing_does_not_touch_the_file(field: Field) -> None:
    path = field.location / "woks.md"
    os.utime(path, ns=(0, 1_600_000_000_000_000_000))
    written = field.rewrite("woks.md", field.read("woks"), STORED.encode())
    assert written.page.raw == STORED.encode()
    assert path.stat().st_mtime_ns == 1_600_000_000_000_000_000


def test_an_edit_that_broke_the_frontmatter_is_saved_and_reported(field: Field) -> None:
    broken = STORED.replace("title: 'Carbon", "title: Re: 'Carbon").encode()
    written = field.rewrite("woks.md", field.read("woks"), broken)
    assert (field.location / "woks.md").read_bytes() == broken
    assert written.notes[0].startswith("woks.md:5:")


@pytest.mark.parametrize("now", [b"changed meanwhile", None])
def test_an_edit_of_a_page_that_changed_meanwhile_is_refused(field: Field, now: bytes | None) -> None:
    before = field.read("woks")
    path = field.location / "woks.md"
    path.unlink() if now is None else path.write_bytes(now)
    with pytest.raises(PageConflictError) as caught:
        field.rewrite("woks.md", before, b"edited")
    assert caught.value.exit_code == 3
    assert tree(field.location) == ({} if now is None else {"woks.md": now})


@pytest.mark.parametrize("name", ["Capitals And Spaces.md", "炭素.md", "UPPER.MD", "ünïcöde.md"])
def test_a_page_with_an_illegal_name_is_listed_read_edited_renamed_and_deleted(field: Field, name: str) -> None:
    (field.location / name).write_bytes(b"# Title\n\nText.\n")
    assert [entry.name for entry in field.entries()] == sorted([name, "woks.md"])
    assert field.read(name).title == "Title"
    assert field.read(name[:-3]).filename == name
    assert field.rewrite(name, field.read(name), b"# Title\n\nOther text.\n").page.filename == name
    assert name in {fault.filename for fault in field.validate()}
    assert field.rename(name, "pans") == name
    assert field.read("pans").body == "# Title\n\nOther text.\n"
    (field.location / "pans.md").rename(field.location / name)
    assert field.delete(name) == name
    assert tree(field.location) == {"woks.md": STORED.encode()}


# finding


@pytest.mark.parametrize("wanted", ["woks.md", "woks", UUID, UUID[:8], UUID[:9], UUID.upper(), "0B8F6A52-6d3c"])
def test_a_page_is_found_by_name_stem_uuid_and_the_beginning_of_it(field: Field, wanted: str) -> None:
    assert field.find(wanted) == "woks.md"
    assert field.read(wanted).raw == STORED.encode()


@pytest.mark.parametrize(
    "wanted", ["wok", UUID[:7], UUID[1:], UUID + "0", "", "..", "../notes/woks.md", "/", "*", "\x00"]
)
def test_a_page_that_is_not_there_is_not_found(field: Field, wanted: str) -> None:
    for look in (field.find, field.read, field.delete):
        with pytest.raises(PageNotFoundError) as caught:
            look(wanted)
        assert caught.value.exit_code == 1
        assert caught.value.wanted == wanted
    assert len(tree(field.location)) == 1


def test_the_closest_names_are_suggested(field: Field) -> None:
    for name in ("carbon-fibre.md", "pans.md"):
        (field.location / name).write_bytes(b"text")
    with pytest.raises(PageNotFoundError) as caught:
        field.read("carbon-fiber")
    assert caught.value.suggestions == ("carbon-fibre.md",)
    assert "carbon-fibre.md" in str(caught.value)


def test_names_in_which_the_word_stands_come_before_lookalikes(field: Field) -> None:
    for name in ("how-do-i-recognise-a-swarm-mood", "warm", "swarms"):
        field.write(name, "Text.")
    with pytest.raises(PageNotFoundError) as caught:
        field.read("swarm")
    assert caught.value.suggestions[0] == "how-do-i-recognise-a-swarm-mood.md"
    assert set(caught.value.suggestions[1:]) == {"warm.md", "swarms.md"}


def test_a_uuid_that_begins_like_several_is_refused_and_names_them(field: Field) -> None:
    (field.location / "pans.md").write_text(f"---\nuuid: {OTHER_UUID}\n---\n")
    with pytest.raises(UsageError, match=r"pans\.md.*woks\.md") as caught:
        field.read(UUID[:8])
    assert caught.value.exit_code == 2
    assert field.find(UUID[:10]) == "woks.md"
    assert field.find(OTHER_UUID[:10]) == "pans.md"


def test_a_name_comes_before_a_uuid(field: Field) -> None:
    (field.location / "0b8f6a52.md").write_text("The name looks like a uuid.")
    assert field.find("0b8f6a52") == "0b8f6a52.md"


@pytest.mark.skipif(sys.platform != "linux", reason="needs two names that differ in capitals only")
def test_a_legal_name_comes_before_its_like_in_capitals(field: Field) -> None:
    (field.location / "woks.MD").write_text("In capitals.")
    assert field.find("woks") == "woks.md"
    assert field.find("woks.MD") == "woks.MD"


def test_debris_and_other_files_are_no_pages(field: Field) -> None:
    for name in (".hidden.md", "woks.md~", "woks.sync-conflict-1.md", "photo.jpg", "Thumbs.db", ".woks.md.1.tmp"):
        (field.location / name).write_bytes(b"x")
    (field.location / "sub.md").mkdir()
    assert [entry.name for entry in field.entries()] == ["woks.md"]
    assert [page.filename for page in field.pages()] == ["woks.md"]


@posix_only
def test_a_page_that_cannot_be_read_spoils_only_itself(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = field.location / "secret.md"
    secret.write_bytes(b"text")
    secret.chmod(0)
    monkeypatch.chdir(field.location)
    here = Field.open(".")
    with no_privileges():
        assert [page.filename for page in here.pages()] == ["woks.md"]
        assert here.read(UUID).filename == "woks.md"
        with pytest.raises(OSError, match="secret"):
            here.read("secret")
        assert "secret.md" in {fault.filename for fault in here.validate()}


@pytest.mark.skipif(sys.platform != "linux", reason="needs a name that only Linux allows")
def test_a_page_whose_name_is_not_plain_spoils_only_itself(field: Field) -> None:
    (field.location / "Q: what.md").write_bytes(b"carbon")
    assert [page.filename for page in field.pages()] == ["woks.md"]
    assert field.find(UUID) == "woks.md"
    assert [hit.filename for hit in field.search("carbon", mode="keyword").results] == ["woks.md"]
    assert "Q: what.md" in {fault.filename for fault in field.validate()}


# renaming and deleting


@pytest.mark.parametrize("wanted", ["woks", "woks.md", UUID[:8]])
def test_renaming_keeps_the_bytes(field: Field, wanted: str) -> None:
    assert field.rename(wanted, "pans") == "woks.md"
    assert tree(field.location) == {"pans.md": STORED.encode()}


@pytest.mark.parametrize("taken", ["pans", "pans.md"])
def test_renaming_to_a_name_that_is_taken_is_refused(field: Field, taken: str) -> None:
    (field.location / "pans.md").write_bytes(b"mine")
    with pytest.raises(PageExistsError) as caught:
        field.rename("woks", taken)
    assert caught.value.exit_code == 3
    assert tree(field.location) == {"pans.md": b"mine", "woks.md": STORED.encode()}


def test_renaming_what_is_not_there_is_refused(field: Field) -> None:
    with pytest.raises(PageNotFoundError):
        field.rename("missing", "pans")
    assert len(tree(field.location)) == 1


def test_the_index_follows_a_renamed_page(indexed: Field) -> None:
    indexed.rename("woks", "carbon-steel")
    assert index_rows(indexed) == ["carbon-steel.md", "pans.md", "pots.md"]
    [status] = indexed.indexes()
    assert (status.embedded, status.pending) == (3, 0)
    assert [hit.filename for hit in indexed.search("quibbleworthy", mode="keyword").results] == ["carbon-steel.md"]


def test_renaming_a_page_to_its_own_name_changes_nothing(indexed: Field) -> None:
    assert indexed.rename("woks", "woks.md") == "woks.md"
    assert index_rows(indexed) == ["pans.md", "pots.md", "woks.md"]
    [status] = indexed.indexes()
    assert (status.embedded, status.pending) == (3, 0)


def test_a_deleted_page_leaves_the_index_words_included(indexed: Field) -> None:
    path = indexed.location / INDEX
    assert b"quibbleworthi" in path.read_bytes()
    assert indexed.delete("woks") == "woks.md"
    assert not (indexed.location / "woks.md").exists()
    assert index_rows(indexed) == ["pans.md", "pots.md"]
    content = path.read_bytes()
    for word in (b"quibbleworth", b"Carbon Steel Woks", UUID.encode(), b"woks.md"):
        assert word not in content
    [status] = indexed.indexes()
    assert (status.embedded, status.pending) == (2, 0)


def _another_tools_index(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE pages (filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL, last_modified DATETIME NOT NULL,"
        " sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL)"
    )
    connection.executemany(
        "INSERT INTO pages VALUES (?, ?, '2026-01-01T00:00:00Z', zeroblob(32), zeroblob(3072))",
        [("woks.md", '{"title": "Carbon Steel Woks"}'), ("pans.md", "{}")],
    )
    connection.commit()
    connection.close()


@pytest.mark.parametrize("name", ["nomic-embed-text-v1.5.sqlite3", "text-embedding-3-small.sqlite3"])
def test_a_deleted_page_leaves_an_index_that_another_tool_made(field: Field, name: str) -> None:
    _another_tools_index(field.location / name)
    field.delete("woks")
    assert index_rows(field, name) == ["pans.md"]
    assert b"Carbon Steel Woks" not in (field.location / name).read_bytes()


def test_a_deleted_page_leaves_a_second_index_of_the_same_model(indexed: Field) -> None:
    second = "all-MiniLM-L6-v2-before.sqlite3"
    shutil.copy(indexed.location / INDEX, indexed.location / second)
    indexed.delete("woks")
    assert index_rows(indexed) == ["pans.md", "pots.md"]
    assert index_rows(indexed, second) == ["pans.md", "pots.md"]


def test_a_database_that_is_no_index_hinders_nothing(field: Field) -> None:
    connection = sqlite3.connect(field.location / "recipes.sqlite3")
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.commit()
    connection.close()
    before = (field.location / "recipes.sqlite3").read_bytes()
    report = field.sync()
    assert (report.model, report.pages, report.embedded) == ("all-MiniLM-L6-v2", 1, 1)
    assert [hit.filename for hit in field.search("carbon", mode="keyword").results] == ["woks.md"]
    field.rename("woks", "pans")
    field.delete("pans")
    assert (field.location / "recipes.sqlite3").read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"x" * 5000])
def test_a_damaged_index_does_not_keep_a_page_from_being_renamed_and_deleted(field: Field, content: bytes) -> None:
    (field.location / INDEX).write_bytes(content)
    field.rename("woks", "pans")
    field.delete("pans")
    assert tree(field.location) == {INDEX: content}


@pytest.mark.skipif(sys.platform != "linux", reason="needs a name that only Linux allows")
def test_an_index_with_a_name_that_is_not_plain_does_not_keep_a_page_from_being_renamed_and_deleted(
    field: Field,
) -> None:
    _another_tools_index(field.location / "Q: data.sqlite3")
    field.rename("woks", "pans")
    assert field.delete("pans") == "pans.md"


@posix_only
def test_an_index_that_cannot_be_written_does_not_keep_a_page_from_being_renamed_and_deleted(indexed: Field) -> None:
    with full_disk(10):
        indexed.rename("woks", "carbon-steel")
        indexed.delete("pans")
    assert {entry.name for entry in indexed.entries()} == {"carbon-steel.md", "pots.md"}
    report = indexed.sync()
    assert (report.pages, report.failed) == (2, [])
    assert index_rows(indexed) == ["carbon-steel.md", "pots.md"]


# places that cannot be written


CHANGES: dict[str, Callable[[Field], object]] = {
    "write new": lambda field: field.write("pans", "text"),
    "replace": lambda field: field.write("woks", "text", mode="replace"),
    "append": lambda field: field.write("woks", "text", mode="append"),
    "rewrite": lambda field: field.rewrite("woks.md", field.read("woks"), b"text"),
    "rename": lambda field: field.rename("woks", "pans"),
    "delete": lambda field: field.delete("woks"),
    "sync": lambda field: field.sync(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_field_in_an_archive_refuses_every_change(tmp_path: Path, change: str) -> None:
    path = tmp_path / "notes.memoryfield.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("woks.md", STORED)
    before = path.read_bytes()
    with Field.open(path) as field, pytest.raises(ReadOnlyError) as caught:
        CHANGES[change](field)
    assert caught.value.exit_code == 3
    assert [item.name for item in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


@posix_only
@pytest.mark.parametrize("change", [name for name in CHANGES if name != "sync"])
def test_a_folder_without_permission_refuses_every_change(
    root: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.chdir(root)
    field = Field.open(".")
    root.chmod(0o555)
    try:
        with no_privileges(), pytest.raises(ReadOnlyError) as caught:
            CHANGES[change](field)
    finally:
        root.chmod(0o755)
    assert caught.value.exit_code == 3
    assert tree(root) == {"woks.md": STORED.encode()}


@posix_only
@pytest.mark.parametrize("change", ["write new", "replace", "append", "rewrite"])
def test_a_full_disk_leaves_every_page_as_it_was(field: Field, change: str) -> None:
    with full_disk(3), pytest.raises(OSError, match="too large"):
        CHANGES[change](field)
    assert tree(field.location) == {"woks.md": STORED.encode()}


@posix_only
def test_a_link_that_leads_outside_is_neither_read_nor_written_through(field: Field, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_bytes(b"outside")
    (field.location / "link.md").symlink_to("../outside.md")
    assert [entry.name for entry in field.entries()] == ["woks.md"]
    with pytest.raises(PageNotFoundError):
        field.read("link")
    for change in (
        lambda: field.write("link", "text", mode="replace"),
        lambda: field.write("link", "text", mode="append"),
        lambda: field.rename("woks", "link"),
    ):
        with pytest.raises((OSError, MemoryfieldError)):
            change()
    assert (tmp_path / "outside.md").read_bytes() == b"outside"
    assert tree(field.location)["woks.md"] == STORED.encode()
    assert (field.location / "link.md").is_symlink()


# several processes


def _add_lines(location: str, letter: str, count: int) -> None:
    """Add lines by reading, changing and replacing, again if somebody was faster."""
    field = Field.open(location)
    for number in range(count):
        while True:
            page = field.read("log")
            try:
                field.write("log", f"{page.text}{letter}{number}\n", mode="replace", if_match=page.sha256)
            except PageConflictError:
                continue
            break


def _append_lines(location: str, letter: str, count: int) -> None:
    field = Field.open(location)
    for number in range(count):
        field.write("log", f"{letter}{number}\n", mode="append")


def _make_pages(location: str, letter: str, count: int) -> None:
    """Try to make pages that others try to make, too."""
    field = Field.open(location)
    for number in range(count):
        try:
            field.write(f"page-{number}", f"by {letter}\n")
        except PageExistsError:
            continue
        field.write("log", f"{letter} made {number}\n", mode="append")


def _run_together(work: Callable[[str, str, int], None], location: Path, count: int) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(str(location), letter, count)) for letter in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]


@pytest.mark.parametrize("work", [_add_lines, _append_lines])
def test_two_processes_that_change_one_page_lose_nothing(field: Field, work: Callable[[str, str, int], None]) -> None:
    field.write("log", "# Log\n")
    identity = field.read("log").uuid
    _run_together(work, field.location, 40)
    page = field.read("log")
    assert sorted(page.body.split()[2:]) == sorted(f"{letter}{number}" for letter in "ab" for number in range(40))
    assert page.uuid == identity
    assert page.problems == []
    assert len(tree(field.location)) == 2


def test_of_two_processes_that_make_one_page_only_one_does(field: Field) -> None:
    field.write("log", "# Log\n")
    _run_together(_make_pages, field.location, 40)
    made = [line.split(" made ") for line in field.read("log").body.splitlines() if " made " in line]
    assert sorted(int(number) for _, number in made) == list(range(40))
    for letter, number in made:
        assert field.read(f"page-{number}").body.strip() == f"by {letter}"


def test_adding_to_a_page_that_is_not_there_is_told(tmp_path: Path) -> None:
    field = Field.create(tmp_path / "notes")
    field.write("csv-quoting", "Quote it.")
    written = field.write("csv-quotting", "More.", mode="append")
    assert written.notes == ("csv-quotting.md was not there, and is new; did you mean csv-quoting.md?",)
    assert field.write("csv-quotting", "More.", mode="append").notes == ()


def test_what_sha256sum_prints_can_be_given_whole(tmp_path: Path) -> None:
    field = Field.create(tmp_path / "notes")
    page = field.write("steel", "Steel.").page
    assert not field.write("steel", "Iron.", mode="replace", if_match=f"{page.sha256}  /tmp/steel.md\n").created


def test_a_repository_with_its_readme_is_not_taken_for_a_field(tmp_path: Path) -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        (tmp_path / name).write_text("# A program\n")
    with pytest.raises(FieldNotFoundError, match="no memoryfield here"):
        locate(None, None, tmp_path)
    (tmp_path / "index.md").write_text("# Notes\n")
    assert locate(None, None, tmp_path) == str(tmp_path)


def by_writing(field: Field, before: Page, text: bytes) -> None:
    field.write(before.filename, text, mode="replace")


def by_editing(field: Field, before: Page, text: bytes) -> None:
    field.rewrite(before.filename, before, text)


@pytest.mark.parametrize("replace", [by_writing, by_editing])
def test_frontmatter_that_cannot_be_read_does_not_take_the_uuid_away(
    field: Field, replace: Callable[[Field, Page, bytes], None]
) -> None:
    before = field.read("woks")
    with pytest.raises(RefusedError, match="would lose its uuid"):
        replace(field, before, b"---\ntitle: Woks: hot\n---\nnew\n")
    assert field.read("woks").raw == before.raw
    replace(field, before, f"---\ntitle: Woks: hot\nuuid: {before.uuid}\n---\nnew\n".encode())
    assert field.read("woks").uuid == before.uuid


@pytest.mark.parametrize("replace", [by_writing, by_editing])
def test_frontmatter_alone_does_not_take_the_text_away(
    field: Field, replace: Callable[[Field, Page, bytes], None]
) -> None:
    before = field.read("woks")
    with pytest.raises(RefusedError, match="the text is empty"):
        replace(field, before, b"---\ntags: [a]\n---\n")
    assert field.read("woks").raw == before.raw


def test_an_empty_title_takes_none_away(field: Field) -> None:
    title = field.read("woks").title
    assert field.write("woks", "---\ntitle:\ntags: [a]\n---\nnew\n", mode="replace").page.title == title


@pytest.mark.parametrize("form", ["urn:uuid:{}", '"{{{}}}"', "{}"])
def test_a_uuid_is_the_same_in_any_of_its_forms(field: Field, form: str) -> None:
    for known in (UUID, UUID.replace("-", "")):
        with pytest.raises(PageConflictError, match="woks"):
            field.write("pans", f"---\nuuid: {form.format(known)}\n---\nnew\n", title="Pans")
