"""Text added to a page, at its end or at that of a section."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.errors import RefusedError, SectionNotFoundError, UsageError
from memoryfield.page import Page
from memoryfield.splitting import place_of_way

HEAD = '---\ntitle: Woks\nuuid: 0b8e9a3e-6f1c-4d6a-9a55-1d2c3b4a5f60\ncreated: "2026-01-02T03:04:05Z"\n---\n\n'
TEXT = """# Woks

Hello.

## Log

- one

### Details

Deep.


## Care

Oil.
## Last
No line end"""


@pytest.fixture
def field(tmp_path: Path) -> Field:
    (tmp_path / "woks.md").write_bytes((HEAD + TEXT).encode())
    return Field.open(tmp_path)


def append(field: Field, text: str, section: str) -> str:
    return field.write("woks", text, mode="append", section=section).page.body.removeprefix("\n")


@pytest.mark.parametrize("section", ["Log", "log", "## Log", "### log"])
def test_it_comes_at_the_end_of_the_whole_section(field: Field, section: str) -> None:
    assert append(field, "- two\n", section) == TEXT.replace("Deep.\n", "Deep.\n\n- two\n")


def test_of_an_inner_section_that_is_its_own_end(field: Field) -> None:
    assert append(field, "- two", "details") == TEXT.replace("Deep.\n", "Deep.\n\n- two\n")


def test_an_empty_line_parts_it_from_what_follows(field: Field) -> None:
    assert append(field, "Wipe.\n\n\n", "Care") == TEXT.replace("Oil.\n", "Oil.\n\nWipe.\n\n")


def test_the_last_section_ends_with_the_page(field: Field) -> None:
    assert append(field, "Now.\n", "Last") == TEXT + "\n\nNow.\n"


def test_each_comes_behind_the_one_before_and_updated_is_fresh(field: Field) -> None:
    for number in range(3):
        append(field, f"- {number}", "Details")
    page = field.read("woks")
    assert "Deep.\n\n- 0\n- 1\n- 2\n\n\n## Care" in page.body
    assert (page.created, page.uuid[:8]) == ("2026-01-02T03:04:05Z", "0b8e9a3e")
    assert page.updated > page.created


def test_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "woks.md").write_bytes((HEAD + TEXT).replace("\n", "\r\n").encode())
    page = Field.open(tmp_path).write("woks", "- two", mode="append", section="Log").page
    assert b"Deep.\r\n\r\n- two\r\n\r\n\r\n## Care" in page.raw
    assert b"\n" not in page.raw.replace(b"\r\n", b"")


def test_a_section_that_is_not_there_is_refused_with_the_closest(field: Field) -> None:
    before = field.read("woks").raw
    with pytest.raises(SectionNotFoundError, match=r"Did you mean woks\.md#details"):
        append(field, "text", "Detail")
    assert field.read("woks").raw == before


def test_it_is_made_where_it_is_given_as_a_heading(field: Field) -> None:
    written = field.write("woks", "- We oil it.\n", mode="append", section="## Decisions")
    assert written.page.body.endswith(TEXT + "\n\n## Decisions\n\n- We oil it.\n")
    assert written.notes == ("woks.md had no section '## Decisions': it was made",)
    again = field.write("woks", "- And dry it.\n", mode="append", section="## Decisions")
    assert again.page.body.endswith("## Decisions\n\n- We oil it.\n- And dry it.\n")
    assert again.notes == ()


def test_so_is_the_page_itself(field: Field) -> None:
    written = field.write("log", "- Begun.\n", title="A log", mode="append", section="## Decisions")
    assert written.created
    assert written.page.body == "\n## Decisions\n\n- Begun.\n"
    with pytest.raises(SectionNotFoundError, match="'## Decisions'"):
        field.write("other", "- Begun.\n", mode="append", section="Decisions")


def test_of_several_alike_the_anchor_tells(field: Field) -> None:
    field.write("woks", "## Log\n\nAnother.", mode="append")
    with pytest.raises(SectionNotFoundError, match="2 sections"):
        append(field, "text", "## Log")
    assert append(field, "text", "log-1").endswith("Another.\n\ntext\n")


def test_a_section_is_for_appending_alone(field: Field) -> None:
    with pytest.raises(UsageError, match="--append"):
        field.write("woks", "text", mode="replace", section="Log")


@pytest.mark.parametrize("text", ["```\ncode", "~~~~\n~~~", "<!-- note", "<pre>\n"])
def test_what_never_ends_would_take_in_the_rest(field: Field, text: str) -> None:
    with pytest.raises(RefusedError, match="within a block"):
        append(field, text, "Log")
    assert text.strip() in append(field, text, "Last")


@pytest.mark.parametrize(
    ("opened", "closing"),
    [
        ("```sh\nmake", "```"),
        ("~~~~\n```\n", "~~~~"),
        ("<!-- note\n", "-->"),
        ("<PRE>\n\nas it is\n", "</pre>"),
        ("<?php\n", "?>"),
        ("<!DOCTYPE\n", ">"),
    ],
)
@pytest.mark.parametrize("section", ["", "Last", "## New"])
def test_an_open_block_at_the_end_is_closed_and_that_is_said(
    field: Field, opened: str, closing: str, section: str
) -> None:
    (field.location / "woks.md").write_text(HEAD + TEXT + "\n\n" + opened, "utf-8")
    written = field.write("woks", "More.\n", mode="append", section=section)
    behind = f"{opened.rstrip()}\n{closing}\n\n" + ("## New\n\n" if section == "## New" else "") + "More.\n"
    assert written.page.body.endswith(behind)
    assert any("to close it" in note for note in written.notes)
    again = field.write("woks", "And more.\n", mode="append", section=section)
    assert again.notes == ()


def test_what_is_indented_in_an_item_ends_with_it(field: Field) -> None:
    text = append(field, "- item\n  ```\n  code\n", "Last")
    assert append(field, "More.\n", "## New") == text + "\n## New\n\nMore.\n"


# pages that were split


@pytest.mark.parametrize("sections", [2, 60])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_way_to_the_other_parts_stays_the_last(field: Field, sections: int, newline: str) -> None:
    text = HEAD + TEXT + "".join(f"\n\n## Part [{number}]\n\n" + "It is so.\n" * 700 for number in range(sections))
    (field.location / "woks.md").write_bytes(text.replace("\n", newline).encode())
    parts = field.split("woks").parts
    for part in (parts[0], parts[1], parts[-1]):
        before = field.read(part.name).text
        place = place_of_way(before)
        assert place is not None
        way = before[place:]
        assert ".md)" in way
        for number, section in enumerate(("", "## New", "new")):
            after = field.write(part.name, f"- {number}\n", mode="append", section=section).page.text
            assert re.search(rf"- {number}\s+{re.escape(way)}\Z", after)
        assert re.search(r"- 0\s+## New\s+- 1\s+- 2\s", after)
        assert "\n" not in after.replace(newline, "")


def test_links_that_are_text_are_none(field: Field) -> None:
    text = field.write("woks", "Part 1 of it: [a](a.md).\n", mode="append").page.body
    assert place_of_way(text) is None
    assert field.write("woks", "More.", mode="append").page.body == text + "\nMore."


def test_a_new_page_keeps_the_frontmatter_of_its_text(field: Field) -> None:
    page = field.write("log", "---\ntitle: Log\nstatus: new\n---\nBegun.\n", mode="append", section="## First").page
    assert (page.title, page.frontmatter["status"]) == ("Log", "new")
    assert page.body == "\n## First\n\nBegun.\n"


def test_code_that_ends_is_fine(field: Field) -> None:
    assert "Deep.\n\n```\ncode\n```\n\n\n## Care" in append(field, "```\ncode\n```\n", "Log")


def test_what_is_not_utf8_has_no_sections(field: Field) -> None:
    raw = (HEAD + TEXT).encode() + b"\xff\n"
    (field.location / "woks.md").write_bytes(raw)
    with pytest.raises(RefusedError, match="not UTF-8"):
        append(field, "text", "Log")
    assert Page("", (field.location / "woks.md").read_bytes()).raw == raw


@pytest.mark.parametrize(
    ("stored", "added", "expected"),
    [
        ("- one\n- two", "- three\n", "- one\n- two\n- three\n"),
        ("- one\n- two\n", "- three", "- one\n- two\n- three"),
        ("- one\n- two\r\n", "- three\n", "- one\n- two\r\n- three\r\n"),
        ("1. one\n   more\n", "2. two\n", "1. one\n   more\n2. two\n"),
        ("* one\n  - inner\n", "* two\n", "* one\n  - inner\n* two\n"),
        ("- one\n", "1. two\n", "- one\n\n1. two\n"),
        ("- one\n", "* two\n", "- one\n\n* two\n"),
        ("- one\n", "-two\n", "- one\n\n-two\n"),
        ("- one\n\n", "- two\n", "- one\n\n- two\n"),
        ("- one\n\nText.\n", "- two\n", "- one\n\nText.\n\n- two\n"),
    ],
)
def test_an_item_joins_the_list_that_it_is_added_to(tmp_path: Path, stored: str, added: str, expected: str) -> None:
    (tmp_path / "woks.md").write_bytes(stored.encode())
    page = Field.open(tmp_path).write("woks", added, mode="append").page
    assert page.raw.endswith(b"\n" + expected.encode())


@pytest.mark.parametrize(("theirs", "ours"), [(b"\r\n", b"\n"), (b"\n", b"\r\n")])
def test_what_is_added_has_the_line_ends_of_the_page(tmp_path: Path, theirs: bytes, ours: bytes) -> None:
    (tmp_path / "woks.md").write_bytes(b"One." + theirs)
    page = Field.open(tmp_path).write("woks", b"Two." + ours + b"Three." + ours, mode="append").page
    assert page.raw.endswith(theirs.join([b"One.", b"", b"Two.", b"Three.", b""]))


def test_a_text_that_is_not_utf8_does_not_spoil_a_page(field: Field) -> None:
    before = field.read("woks").raw
    with pytest.raises(RefusedError, match="not UTF-8") as caught:
        field.write("woks", b"caf\xe9\n", mode="append")
    assert caught.value.exit_code == 3
    assert field.read("woks").raw == before


@pytest.mark.parametrize(
    ("had", "given", "got"), [("a, b", "c", "a b c"), ("a, b", "b", "a, b"), ("a", "b, c", "a b c")]
)
def test_tags_with_commas_between_are_several(tmp_path: Path, had: str, given: str, got: str) -> None:
    (tmp_path / "woks.md").write_text(f"---\ntags: {had}\n---\nOne.\n")
    page = Field.open(tmp_path).write("woks", f"---\ntags: {given}\n---\nTwo.\n", mode="append").page
    assert page.frontmatter["tags"] == (got if "," in got else got.split())


@pytest.mark.parametrize("section", ["##", "## ##", "####### Seven", "## Two\nlines", "## Two\rlines", "Two\nlines"])
def test_what_cannot_be_a_heading_is_refused_and_said_what_one_is(field: Field, section: str) -> None:
    before = field.read("woks").raw
    with pytest.raises(SectionNotFoundError) as caught:
        append(field, "- two", section)
    assert "one to six #" in str(caught.value)
    assert "Given as" not in str(caught.value)
    assert field.read("woks").raw == before
