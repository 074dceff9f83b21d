"""Page: any bytes can be read, and what is written back changes nothing that was not asked for."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import uuid
from typing import Any

import frontmatter as library
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryfield.page import Page, headings, now, with_filled_frontmatter, with_keys

UUID = "6f1c1c6e-8f39-4a52-9d1a-0d9f6f3a2b10"
OTHER_UUID = "0c9ad0a1-54b7-4c4e-8f31-2c7f2fd1e9aa"
LONG_AGO = "2020-02-29T00:00:00Z"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
OURS = {"title", "uuid", "created", "updated"}
BOM = b"\xef\xbb\xbf"
WILL_CHANGE = re.compile(r"\w+:\s*(?:~|''|\"\")?|\{.*")
"""Lines of keys without a value, and flow mappings."""
COMPLETE = (
    f"---\n# by hand\nuuid: {UUID}   # an id\ntags: [b, 'a']\ntitle: 'Woks'\n"
    f'created: {LONG_AGO}\nupdated: "{LONG_AGO}"\n---\n\n# Heading\n\nThey heat evenly.\n'
).encode()

BROKEN = {
    "not closed": b"---\ntitle: Woks\n\n# Heading\n",
    "not closed, with CRLF": b"---\r\ntitle: Woks\r\n\r\n# Heading\r\n",
    "only a line of dashes": b"---\n",
    "a rule above prose": b"---\n\nJust words.\n",
    "prose between rules": b"---\nJust words.\n---\n\nMore.\n",
    "a list": b"---\n- a\n- b\n---\n\nBody\n",
    "a single value": b"---\n42\n---\n\nBody\n",
    "tabs": b"---\ntitle: Woks\ntags:\n\t- a\n---\n\nBody\n",
    "a colon": b"---\ntitle: Re: a thing\n---\n\nBody\n",
    "a backtick first": b"---\ntitle: `jq` in five lines\n---\n\nBody\n",
    "a star first": b"---\ntitle: *bold* move\n---\n\nBody\n",
    "a block that starts with a backtick": b"---\n`code`: 1\n---\n\nBody\n",
    "a block that starts with a star": b"---\n* one\n* two\n---\n\nBody\n",
    "a NUL byte in the block": b"---\ntitle: Wo\x00ks\n---\n\nBody\n",
    "a merge key": b"---\nbase: &b {n: 1}\n<<: *b\n---\n\nBody\n",
    "aliases that multiply": b"---\na: &a [x, x, x, x, x, x, x, x, x, x]\n"
    + b"".join(b"k%d: &%c [%s]\n" % (n, 97 + n, b", ".join([b"*%c" % (96 + n)] * 10)) for n in range(1, 8))
    + b"---\n\nBody\n",
    "deep nesting": b"---\nn: " + b"[" * 20_000 + b"]" * 20_000 + b"\n---\n\nBody\n",
    "a huge block": b"---\ntitle: Woks\nn: " + b"x" * 100_000 + b"\n---\n\nBody\n",
    "broken, with a BOM": BOM + b"---\ntitle: Re: a thing\n---\n\nBody\n",
    "broken, with a second block": b"---\ntitle: Re: a thing\n---\n\n---\ntitle: b\n---\n\nBody\n",
    "a Latin-1 letter in the block": b"---\ntitle: caf\xe9\n---\n\nBody\n",
    "a Latin-1 letter in the body": b"---\ntitle: Woks\n---\n\ncaf\xe9\n",
    "UTF-16": "---\ntitle: Woks\n---\n".encode("utf-16"),
    "a picture": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\xff",
}
"""Pages whose frontmatter cannot be edited safely: nothing may change in them."""

GOOD_BLOCKS = {
    "no frontmatter": b"# Heading\n\nThey heat evenly.\n",
    "empty": b"",
    "only a BOM": BOM,
    "an empty block": b"---\n---\nBody\n",
    "a comment alone": b"---\n# nothing yet\n---\nBody\n",
    "CRLF": b"---\r\ntitle: Woks # why\r\n---\r\n\r\nBody\r\n",
    "a BOM": BOM + b"---\ntitle: Woks\n---\n\nBody\n",
    "dots": b"---\ntitle: Woks\n...\nBody\n",
    "a flow mapping": b"---\n{title: Woks, n: [1, 2]} # why\n---\nBody\n",
    "block scalars": b"---\nsummary: |\n  a\n\n  b # not a comment\n\ntitle: >-\n  Wo\n  ks\n---\nBody\n",
    "two blocks": b"---\ntitle: Woks\n---\n\n---\ntitle: b\n---\n\nBody\n",
    "a NUL byte in the body": b"---\ntitle: Woks\n---\n\nBo\x00dy\n",
    "null values": b"---\ntitle:\nuuid: ~\ncreated: ''\nupdated: \"\"\n---\nBody\n",
    "equal keys": b"---\ntitle: a\ntitle: b\n---\nBody\n",
    "keys that are no text": b"---\n1: a\n2.5: {null: b}\n---\nBody\n",
    "not a number": b"---\nn: .nan\nm: -.inf\n---\nBody\n",
    "CR": b"---\rtitle: Woks # why\r---\r\rBody\r",
    "CR without frontmatter": b"# Heading\r\rBody\r",
    "no line end": b"---\ntitle: Woks\n---",
    "blank lines first": b"\n\n# Heading\n",
}

PIECES = """---|title: |summary: |uuid: |created: |a: |tags:|  - |- |# |'|"|`|*|&a |*a|[|]|{|}|, |: |<<: |!!str |!x |?
>-|...|2026-03-14|.nan|0x1f|12:30|=|~|```|===|炭素|text"""
pieces = st.sampled_from(
    [
        *PIECES.replace("\n", "|").split("|"),
        "---\n",
        "\n",
        "\r\n",
        "\r",
        "|\n  ",
        "\t",
        "\ufeff",
        "\0",
        "\x85",
        "\u2028",
        UUID,
    ]
)
soups = st.lists(pieces, max_size=25).map(lambda parts: "".join(parts).encode())
heads = soups.map(lambda soup: b"---\n" + soup + b"\n---\n")
any_bytes = st.binary(max_size=200) | soups | heads | st.tuples(heads, st.binary(max_size=50)).map(b"".join)


def read_everything(page: Page) -> None:
    """Ask a page for all it knows, and check what holds for every page."""
    assert page.size == len(page.raw)
    assert page.title
    assert "\n" not in page.title + page.summary + page.uuid + page.created + page.updated
    assert page.text.endswith(page.body)
    json.dumps(page.frontmatter, allow_nan=False).encode()
    json.dumps(page.frontmatter, ensure_ascii=False).encode()
    last = page.raw.count(b"\n") + page.raw.count(b"\r") + page.text.count("\x85") + page.text.count("\u2028") + 1
    for problem in page.problems:
        assert 1 <= problem.line <= last
        assert problem.column >= 1
        assert problem.message


def body_bytes(page: Page) -> bytes:
    return page.body.encode()


# reading


@settings(max_examples=500, deadline=None)
@given(any_bytes)
@example(b"---\n\xff: \xff\n---\n\xff")
@example(b"---\n? [a]\n: b\n---\n")
@example(b"---\n? {a: b}\n: c\n---\n\n---\na: b\n---\n")
@example(b"---\n!!binary aGk=: 1\n---\n")
def test_any_bytes_make_a_page_that_can_be_read_and_written_back(raw: bytes) -> None:
    page = Page("any.md", raw)
    read_everything(page)
    for written in (with_keys(page, updated=LONG_AGO) or raw, with_filled_frontmatter(page, title="T", kept=page)):
        again = Page("any.md", written)
        read_everything(again)
        assert again.is_utf8 == page.is_utf8
        assert written == raw or written.endswith(body_bytes(page))
        assert (
            again.frontmatter.items()
            >= {key: value for key, value in page.frontmatter.items() if key not in OURS}.items()
        )


@pytest.mark.parametrize("raw", (BROKEN | GOOD_BLOCKS).values(), ids=(BROKEN | GOOD_BLOCKS).keys())
def test_a_strange_page_keeps_its_bytes_and_has_a_title(raw: bytes) -> None:
    page = Page("strange-page.md", raw)
    read_everything(page)
    assert page.raw == raw
    assert page.sha256 == hashlib.sha256(raw).hexdigest()


def test_a_page_shows_what_it_holds() -> None:
    page = Page("woks.md", COMPLETE, mtime_ns=7)
    assert (page.title, page.summary, page.uuid) == ("Woks", "", UUID)
    assert (page.created, page.updated) == (LONG_AGO, LONG_AGO)
    assert page.frontmatter["tags"] == ["b", "a"]
    assert page.body == "\n# Heading\n\nThey heat evenly.\n"
    assert page.text.encode() == page.raw
    assert page.heading == "Heading"
    assert page.mtime_ns == 7
    assert page.has_frontmatter
    assert page.is_utf8
    assert page.problems == []


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        (b"---\ntitle: From frontmatter\n---\n# Heading\n", "From frontmatter"),
        (b"---\ntitle: Re: a thing\n---\n# Heading\n", "Re: a thing"),
        (b"---\ntitle: `jq` in five lines\n---\n# Heading\n", "`jq` in five lines"),
        (b"---\ntitle: *bold* move\n---\n", "*bold* move"),
        (b"---\ntitle:\n---\n# Heading\n", "Heading"),
        (b"---\ntitle: ''\n---\n# Heading\n", "Heading"),
        (b"---\ntitle: ' '\n---\n# Heading\n", "Heading"),
        (b"---\ntitle: [a, b]\n---\n# Heading\n", "Heading"),
        (b"---\ntitle: {a: b}\n---\n# Heading\n", "Heading"),
        (b"---\ntitle: |\n  two\n  lines\n---\n", "two lines"),
        (b"---\ntitle: 2026\n---\n", "2026"),
        (b"---\ntitle: 2026-03-14\n---\n", "2026-03-14"),
        (b"---\n- a\n---\n\nText\n\nHeading\n===\n", "Heading"),
        (b"---\ntitle: Woks\n\n# Heading\n", "Woks"),
        (b"---\n# no heading, a comment\n---\n", "the-name"),
        (b"no heading", "the-name"),
        (b"", "the-name"),
        (BOM + b"# Heading\n", "Heading"),
        (b"```\n# code\n```\n## Deeper ##\n", "Deeper"),
        (b"```sh``` is a kind of block\n\n# Heading\n", "Heading"),
        (b"caf\xe9\n\n# Heading\n", "Heading"),
    ],
)
def test_the_title_comes_from_the_frontmatter_else_the_first_heading_else_the_name(raw: bytes, title: str) -> None:
    assert Page("the-name.md", raw).title == title


@pytest.mark.parametrize("title", ["Yes", "No", "true", "12:30", "007", "1.10", "null and void"])
def test_an_unquoted_title_is_shown_as_it_was_written(title: str) -> None:
    assert Page("a.md", f"---\ntitle: {title}\n---\n".encode()).title == title


def test_a_uuid_is_compared_in_lowercase() -> None:
    assert Page("a.md", f"---\nuuid: {UUID.upper()}\n---\n".encode()).uuid == UUID


@pytest.mark.parametrize(
    ("raw", "line", "column"),
    [
        (b"caf\xe9", 1, 4),
        (b"---\ntitle: a\n---\n\nna\xc3\xafve \xff\n", 5, 8),
        (b"a\r\nb\r\n\xc3(", 3, 1),
        (b"\xed\xa0\x80", 1, 1),
        (b"ab\xc3", 1, 3),
        (b"a\rb\r\r\xff", 4, 1),
    ],
)
def test_a_page_that_is_not_utf8_says_where(raw: bytes, line: int, column: int) -> None:
    page = Page("a.md", raw)
    assert not page.is_utf8
    assert (page.problems[0].line, page.problems[0].column) == (line, column)
    assert "not UTF-8" in page.problems[0].message
    assert page.problems[0].code == "not-utf8"
    assert "\ufffd" in page.text
    assert page.raw == raw


def test_a_byte_order_mark_is_in_the_bytes_and_not_in_the_text() -> None:
    page = Page("a.md", BOM + b"---\ntitle: Woks\n---\nBody\n")
    assert page.title == "Woks"
    assert page.text == "---\ntitle: Woks\n---\nBody\n"
    assert page.raw.startswith(BOM)


def test_the_body_of_a_page_without_readable_frontmatter_is_all_of_it() -> None:
    for raw in (b"# Heading\n", b"---\ntitle: not closed\n\nText\n", b"---\nJust words.\n---\nMore.\n"):
        assert Page("a.md", raw).body == raw.decode()


def test_a_broken_block_is_not_part_of_the_body() -> None:
    assert Page("a.md", b"---\ntitle: Re: a thing\n---\nBody\n").body == "Body\n"


def test_keys_that_are_known_already_are_taken_over() -> None:
    page = Page("a.md", COMPLETE)
    page.take_frontmatter({"title": "Known"})
    assert page.title == "Known"
    assert page.body == "\n# Heading\n\nThey heat evenly.\n"
    without = Page("a.md", b"# Heading\n")
    without.take_frontmatter({"title": "Known"})
    assert without.frontmatter == {}
    assert without.title == "Heading"


def test_a_page_of_many_megabytes_is_read() -> None:
    page = Page("big.md", b"---\ntitle: Big\n---\n\n" + b"All work and no play. \n" * 200_000)
    assert page.title == "Big"
    assert page.size == len(page.raw) > 4_000_000
    assert page.problems == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", []),
        ("# A\n\ntext\n\n## B ##\n", [(1, "A"), (5, "B")]),
        ("\r\n# A\r\ntext\r\n# B", [(2, "A"), (4, "B")]),
        ("#\tA\n   ### B\n    # code\n#no\n# \n####### no\n", [(1, "A"), (2, "B")]),
        ("A\n===\n\nB c\n  =\n\n===\n", [(1, "A"), (4, "B c")]),
        ("```\n# no\n```\n# A\n", [(4, "A")]),
        ("~~~ sh\n```\n# no\n~~~\n# A\n", [(5, "A")]),
        ("````\n```\n# no\n`````\n# A\n", [(5, "A")]),
        ("```\n# no\n``` not the end\n# no\n```\n# A\n", [(6, "A")]),
        ("```\n# never closed\n", []),
        ("A\u2028# no\x85# no\x0c# no\n\n# B", [(3, "B")]),
        ("- a\n  # no\n\n   # no\n# B", [(5, "B")]),
        ("> # no\n\nA\nb\n===\n", [(3, "A b")]),
        ("```\n```~~~\n# no\n```\n# A\n", [(5, "A")]),
        ("A b\n---\n\n- item\n---\n\n---\n> c\n---\n", [(1, "A b")]),
        ("# A #b\n", [(1, "A #b")]),
        ("# 炭素 `code` *x*\n", [(1, "炭素 `code` *x*")]),
    ],
)
def test_headings_stand_outside_code(body: str, expected: list[tuple[int, str]]) -> None:
    found = list(headings(body))
    assert [(heading.line, heading.text) for heading in found] == expected
    assert all(heading.text.split()[0] in body[heading.start : heading.end] for heading in found)


def test_a_heading_knows_its_level_and_its_place() -> None:
    body = "text\r\n## A ##\r\nb\n  c\n---\n\nD\n==\n###### E"
    found = list(headings(body))
    assert [(heading.level, body[heading.start : heading.end]) for heading in found] == [
        (2, "## A ##\r\n"),
        (2, "b\n  c\n---\n"),
        (1, "D\n==\n"),
        (6, "###### E"),
    ]


def test_a_heading_with_a_very_long_run_of_blanks_does_not_hang() -> None:
    code = "from memoryfield.page import Page; print(len(Page('a.md', b'# a' + b' ' * 200_000 + b'b').title))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20, check=True)
    assert int(done.stdout) > 0


def test_now_is_utc_to_the_second() -> None:
    assert MOMENT.fullmatch(now())


def test_a_page_tells_where_its_frontmatter_and_its_keys_stand() -> None:
    for page in (Page("a.md", COMPLETE), Page("a.md", BOM + COMPLETE)):
        assert page.block is not None
        assert (page.block.kind, page.block.closed) == ("yaml", True)
        assert page.text[page.block.body :] == page.body
        assert [(key, at.line, at.style) for key, at in page.key_places.items()] == [
            ("uuid", 3, "plain"),
            ("tags", 4, "flow"),
            ("title", 5, "single"),
            ("created", 6, "plain"),
            ("updated", 7, "double"),
        ]
        assert page.key_places["uuid"].source == UUID
        assert page.yaml_features == []
    assert Page("a.md", b"# Heading\n").block is None
    assert Page("a.md", b"# Heading\n").key_places == {}
    assert Page("a.md", b"# &a *a\n").yaml_features == []


def test_a_page_whose_keys_are_known_already_tells_where_they_stand() -> None:
    page = Page("a.md", COMPLETE)
    page.take_frontmatter(dict(page.frontmatter))
    assert page.frontmatter_is_valid
    assert page.key_places == Page("a.md", COMPLETE).key_places


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN.keys())
def test_a_page_that_was_not_understood_has_a_problem_with_a_code(raw: bytes) -> None:
    page = Page("a.md", raw)
    assert page.key_places == {} or not page.is_utf8
    assert all(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", problem.code) for problem in page.problems)
    assert page.problems


# setting keys


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN.keys())
def test_keys_are_not_set_in_a_page_that_was_not_understood(raw: bytes) -> None:
    assert with_keys(Page("a.md", raw), updated=LONG_AGO) is None
    assert with_keys(Page("a.md", raw), title="New") is None


def test_keys_are_not_set_where_there_is_no_frontmatter() -> None:
    assert with_keys(Page("a.md", b"# Heading\n"), title="New") is None


def test_setting_a_key_changes_its_value_and_nothing_else() -> None:
    later = "2026-03-14T09:12:40Z"
    expected = COMPLETE.replace(f'updated: "{LONG_AGO}"'.encode(), f'updated: "{later}"'.encode())
    assert with_keys(Page("a.md", COMPLETE), updated=later) == expected
    crlf = COMPLETE.replace(b"\n", b"\r\n")
    assert with_keys(Page("a.md", crlf), updated=later) == expected.replace(b"\n", b"\r\n")
    assert with_keys(Page("a.md", BOM + COMPLETE), updated=later) == BOM + expected


# filling in


def filled(raw: bytes, name: str = "the-name.md", **options: Any) -> Page:
    return Page(name, with_filled_frontmatter(Page(name, raw), **options))


RULES_FIRST = ("a rule above prose", "prose between rules", "a block that starts with a star")


@pytest.mark.parametrize("name", [name for name in BROKEN if name not in RULES_FIRST])
@pytest.mark.parametrize("options", [{}, {"title": "T", "summary": "S"}, {"kept": Page("a.md", COMPLETE)}])
def test_a_broken_page_is_written_as_it_is(name: str, options: dict[str, Any]) -> None:
    assert with_filled_frontmatter(Page("a.md", BROKEN[name]), **options) == BROKEN[name]


@pytest.mark.parametrize("name", RULES_FIRST)
def test_prose_below_a_rule_gets_frontmatter_on_top(name: str) -> None:
    assert not Page("a.md", BROKEN[name]).has_frontmatter
    after = filled(BROKEN[name], title="T")
    assert (after.title, after.problems, after.body.lstrip("\n")) == ("T", [], BROKEN[name].decode())


@pytest.mark.parametrize("raw", GOOD_BLOCKS.values(), ids=GOOD_BLOCKS.keys())
def test_missing_keys_are_added_and_all_else_stays(raw: bytes) -> None:
    before, after = Page("the-name.md", raw), filled(raw)
    assert after.title
    assert str(uuid.UUID(after.uuid)) == after.uuid
    assert MOMENT.fullmatch(after.created)
    assert after.updated == after.created
    assert after.raw.endswith(body_bytes(before))
    assert [problem.message for problem in after.problems] == [problem.message for problem in before.problems]
    assert after.raw.startswith(BOM) == raw.startswith(BOM)
    for key, value in before.frontmatter.items():
        if value not in (None, ""):
            assert after.frontmatter[key] == value
    lines = iter(after.text.splitlines())
    assert all(line in lines for line in before.text.splitlines() if not WILL_CHANGE.fullmatch(line))
    assert filled(after.raw).raw == after.raw


@pytest.mark.parametrize("raw", GOOD_BLOCKS.values(), ids=GOOD_BLOCKS.keys())
def test_a_page_with_crlf_gets_no_other_line_ends(raw: bytes) -> None:
    crlf = raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    if crlf:
        assert filled(crlf).raw.count(b"\n") == filled(crlf).raw.count(b"\r\n") or b"\n" not in crlf


def test_a_page_whose_lines_end_with_cr_gets_no_other_line_ends() -> None:
    for name in ("CR", "CR without frontmatter"):
        assert b"\n" not in filled(GOOD_BLOCKS[name], summary="S").raw


def test_a_complete_page_stays_as_it_is_to_the_byte() -> None:
    for raw in (COMPLETE, BOM + COMPLETE, COMPLETE.replace(b"\n", b"\r\n")):
        assert filled(raw).raw == raw


@pytest.mark.parametrize(
    ("raw", "given_title", "expected"),
    [
        (b"# Heading\n", "Given", "Given"),
        (b"# Heading\n", "", "Heading"),
        (b"text\n", "", "the-name"),
        (b"---\ntitle: Own\n---\n# Heading\n", "", "Own"),
        (b"---\ntitle: Own\n---\n# Heading\n", "Given", "Given"),
        (b"---\nn: 1\n---\n# Heading\n", "", "Heading"),
        (b"---\ntitle:\n---\ntext\n", "", "the-name"),
    ],
)
def test_the_title_is_the_given_one_else_the_pages_own(raw: bytes, given_title: str, expected: str) -> None:
    assert filled(raw, title=given_title).frontmatter["title"] == expected


def test_a_summary_is_added_only_where_one_is_given() -> None:
    assert "summary" not in filled(b"# Heading\n").frontmatter
    assert filled(b"# Heading\n", summary="A: b").frontmatter["summary"] == "A: b"
    assert filled(b"---\nsummary: old # why\n---\n", summary="New").raw.startswith(b"---\nsummary: New # why\n")


def test_a_new_block_stands_an_empty_line_above_the_text() -> None:
    assert filled(b"# Heading\n").body == "\n# Heading\n"
    assert filled(b"\n# Heading\n").body == "\n# Heading\n"
    assert filled(b"\r\n# Heading\r\n").body == "\r\n# Heading\r\n"
    assert filled(b"").body == ""


@pytest.mark.parametrize("above", [b"\n", b"\n\n", b"\r\n", b"  \n"])
def test_a_block_below_empty_lines_gets_no_second_block_on_top(above: bytes) -> None:
    raw = above + f"---\ntitle: Woks\nuuid: {UUID}\n---\n\nBody\n".encode()
    assert filled(raw).raw.count(b"---\n") == 2


@pytest.mark.parametrize("own", ["", f"uuid: {UUID}\ncreated: 2021-01-01\n"])
def test_a_replaced_page_hands_on_its_uuid_and_created(own: str) -> None:
    kept = Page("a.md", COMPLETE)
    for raw in (f"---\nn: 1 # why\n{own}updated: {LONG_AGO}\n---\n\nNew\n", "New\n"):
        page = filled(raw.encode(), kept=kept)
        assert page.uuid == UUID
        assert page.created == LONG_AGO
        assert page.updated > LONG_AGO
        assert MOMENT.fullmatch(page.updated)
        assert page.body == "\nNew\n"


def test_a_replaced_page_without_uuid_and_created_leaves_those_of_the_new_text() -> None:
    page = filled(f"---\nuuid: {UUID}\ncreated: {LONG_AGO}\n---\n".encode(), kept=Page("a.md", b"old"))
    assert (page.uuid, page.created) == (UUID, LONG_AGO)
    assert page.updated > LONG_AGO
    fresh = filled(b"New\n", kept=Page("a.md", b"old"))
    assert uuid.UUID(fresh.uuid)
    assert MOMENT.fullmatch(fresh.created)


@pytest.mark.parametrize("comment", ["", " # by hand", "   # since: then"])
def test_a_replaced_page_with_a_broken_block_hands_on_its_uuid_and_created_all_the_same(comment: str) -> None:
    kept = Page("a.md", f"---\ntitle: Re: x\nuuid: {UUID}{comment}\ncreated: '{LONG_AGO}'{comment}\n---\n".encode())
    page = filled(b"New\n", kept=kept)
    assert page.uuid == UUID
    assert page.created == LONG_AGO


@settings(max_examples=200, deadline=None)
@given(
    title=st.text(st.characters(exclude_categories=["Cs"]), max_size=40).map(lambda text: " ".join(text.split())),
    body=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")).filter(
        lambda text: not text.lstrip().startswith(("---", "\ufeff"))
    ),
)
@example("Re: a thing", "text")
@example("`jq` in five lines", "# Heading: x")
@example("2026-03-14", "text")
@example("yes", "a\n---\nb: c\n---\n")
@example("12:30", "...")
def test_a_new_page_is_read_the_same_by_other_readers(title: str, body: str) -> None:
    page = filled(body.encode(), title=title, summary=title)
    assert page.problems == []
    if title:
        assert page.frontmatter["title"] == title
    post = library.loads(page.raw.decode())
    assert post.metadata == page.frontmatter
    assert post.content == body.strip()
    assert yaml.safe_load(page.text.split("\n---\n", 1)[0][4:]) == page.frontmatter
    assert all(isinstance(value, str) for value in post.metadata.values())


@settings(max_examples=200, deadline=None)
@given(body=st.text(st.characters(exclude_categories=["Cs"])))
def test_the_text_below_a_new_block_is_the_text_that_was_given(body: str) -> None:
    page = Page("a.md", body.encode())
    written = with_filled_frontmatter(page)
    assert written == page.raw or written.endswith(page.text.encode())


def test_a_title_that_is_no_valid_text_does_not_break_the_page() -> None:
    page = filled(b"# Heading\n", title="caf\udce9")
    assert page.problems == []
    assert page.title.startswith("caf")
