"""The YAML block: found, read whatever is in it, edited without touching anything else, and written for others."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import frontmatter as library
import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from memoryfield.frontmatter import Problem, key_places, read_block, yaml_features
from memoryfield.frontmatter.blocks import MAX_BLOCK_CHARS, Block, find_block
from memoryfield.frontmatter.rewriting import new_block, set_keys
from memoryfield.frontmatter.safe_yaml import load

UUID = "6f1c1c6e-8f39-4a52-9d1a-0d9f6f3a2b10"
MOMENT = "2026-03-14T09:12:40Z"

TRICKY = [
    "",
    " ",
    " padded ",
    "Re: a thing",
    "a # b",
    "#1",
    "- a",
    "-",
    "---",
    "...",
    "`jq` in five lines",
    "*bold* move",
    "&anchor",
    "!tag",
    "%TAG",
    "@at",
    "? why",
    ": colon",
    "ends with:",
    "[a, b]",
    "{a: b}",
    "a, b",
    "}",
    "|",
    ">",
    "it's",
    'say "hi"',
    "\"both\" and 'both'",
    "back\\slash",
    "null",
    "~",
    "yes",
    "No",
    "true",
    "12",
    "1_000",
    "0x1f",
    "0o17",
    "12:30",
    "1e5",
    "1.5",
    ".nan",
    ".inf",
    "=",
    "<<",
    "2026-03-14",
    MOMENT,
    "2026-03-14 is the day",
    "炭素 🐟 é e\u0301",
    "a\ttab",
    "nul \x00 bell \x07 delete \x7f",
    "\ufeff\ufffe\uffff\U0010ffff",
    "x" * 5000,
    "word " * 3000,
]
"""Texts that YAML would read as something else if they were written as they are."""

WIDE_SPACES = ["\xa0", "a\xa0", "\u3000a", "a\u3000", "\u2003a\u2003"]
LINE_ENDS = ["one\ntwo", "one\r\ntwo", "\n", "one\n---\ntwo", "one\n...\ntwo\n", "a\x85b", "a\u2028b", "a\u2029b"]

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(TRICKY + LINE_ENDS)
line_text = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=30) | st.sampled_from(
    [*WIDE_SPACES, *(text for text in TRICKY if text.isprintable() or "\U0010ffff" in text)]
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=3),
    max_leaves=8,
)


def page(block: str, body: str = "\nThe body.\n") -> str:
    """A page's text around the lines of a block."""
    return f"---\n{block}---\n{body}"


def parsed(text: str) -> tuple[dict[str, Any], list[Problem], bool]:
    block = find_block(text)
    assert block is not None
    reading = read_block(text, block)
    return reading.values, reading.problems, reading.is_frontmatter


def endings(text: str) -> set[str]:
    """What ends the lines of a text."""
    return set(re.findall("\r\n|\r|\n", text))


def keys(text: str) -> dict[str, Any]:
    """The keys of a block that has no fault."""
    values, problems, is_frontmatter = parsed(text)
    assert problems == []
    assert is_frontmatter
    return values


def edited(text: str, **values: str) -> str | None:
    block = find_block(text)
    assert block is not None
    return set_keys(text, block, values)


# finding


@pytest.mark.parametrize(
    ("text", "source", "body"),
    [
        ("---\ntitle: a\n---\nbody\n", "title: a\n", "body\n"),
        ("---\r\ntitle: a\r\n---\r\nbody\r\n", "title: a\r\n", "body\r\n"),
        ("---\rtitle: a\r---\rbody\r", "title: a\r", "body\r"),
        ("---\ntitle: a\n...\nbody", "title: a\n", "body"),
        ("--- \t\ntitle: a\n---  \nbody", "title: a\n", "body"),
        ("---\ntitle: a\n---", "title: a\n", ""),
        ("---\n---\nbody", "", "body"),
        ("---\n---", "", ""),
        ("---\ntext: |\n  ---\n  a\n---\nbody", "text: |\n  ---\n  a\n", "body"),
        ("---\na: 1\n----\n--- b\n---\nbody", "a: 1\n----\n--- b\n", "body"),
        ("---\na: 1\n---\n\n---\nb: 2\n---\n", "a: 1\n", "\n---\nb: 2\n---\n"),
    ],
)
def test_a_block_ends_at_the_first_line_of_dashes_or_dots(text: str, source: str, body: str) -> None:
    block = find_block(text)
    assert block is not None
    assert block.closed
    assert text[block.start : block.end] == source
    assert text[block.body :] == body


@pytest.mark.parametrize("text", ["", "body", "# Heading\n---\na: 1\n---\n", "----\na: 1\n---\n", "--", "---a\n---\n"])
def test_a_text_that_does_not_begin_with_a_line_of_dashes_has_no_block(text: str) -> None:
    assert find_block(text) is None


@pytest.mark.parametrize("text", ["---", "---\n", "---\ntitle: a\n", "---\ntitle: a\n ---\n", "---\ntitle: a\n----\n"])
def test_a_block_that_is_never_closed_is_found_and_everything_is_body(text: str) -> None:
    block = find_block(text)
    assert block == Block(min(4, len(text)), len(text), 0, closed=False)


# reading


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("", {}),
        ("# only a comment\n", {}),
        ("title: Woks\ntags: [a, b]\n", {"title": "Woks", "tags": ["a", "b"]}),
        ("{title: Woks, n: 1}\n", {"title": "Woks", "n": 1}),
        ("  title: Woks\n  n: 1\n", {"title": "Woks", "n": 1}),
        ("title: |\n  a\n  b\nn: >-\n  c\n  d\n", {"title": "a\nb\n", "n": "c d"}),
        ("'title': \"a\\u00e9\\n\" # comment\n", {"title": "aé\n"}),
        ("empty:\nnone: ~\nyes: true\nn: 1.5\n", {"empty": None, "none": None, "True": True, "n": 1.5}),
        ("a: &x [1, 2]\nb: *x\n", {"a": [1, 2], "b": [1, 2]}),
        ("? title\n: Woks\n", {"title": "Woks"}),
        ("&k title: &v Woks\nb: [*k, *v]\n", {"title": "Woks", "b": ["title", "Woks"]}),
        ("title:\tWoks\n", {"title": "Woks"}),
        ("タイトル: 炭素\n", {"タイトル": "炭素"}),
    ],
)
def test_valid_yaml_is_read(block: str, expected: dict[str, Any]) -> None:
    assert keys(page(block)) == expected
    assert keys(page(block).replace("\n", "\r\n")) == expected


@pytest.mark.parametrize("date", ["2026-03-14", MOMENT, "2026-03-14 09:12:40", "2026-03-14t09:12:40.5+01:00"])
def test_an_unquoted_date_is_kept_as_it_was_written(date: str) -> None:
    assert keys(page(f"created: {date}\nnested: [{date}]\n")) == {"created": date, "nested": [date]}


def test_of_two_equal_keys_the_last_one_counts_as_in_other_readers() -> None:
    text = page("title: first\ntitle: last\n")
    assert parsed(text)[0] == {"title": "last"} == library.loads(text).metadata


def test_keys_that_are_no_text_become_text() -> None:
    values = keys(page("1: a\n2.5: b\nnull: c\n2026-03-14: d\nnested: {7: {false: e}}\n"))
    assert values == {"1": "a", "2.5": "b", "None": "c", "2026-03-14": "d", "nested": {"7": {"False": "e"}}}


def test_keys_that_are_equal_to_python_and_to_nobody_else_stay_apart() -> None:
    text = page("true: a\n1: b\n1.0: c\n")
    assert keys(text) == {"True": "a", "1": "b", "1.0": "c"}
    block = find_block(text)
    assert block is not None
    assert [at.source for at in key_places(text, block).values()] == ["a", "b", "c"]


def test_values_that_json_cannot_hold_become_text() -> None:
    values = keys(
        page("a: .nan\nb: -.inf\nc: 99999999999999999999\nd: !!timestamp 2026-03-14\ne: !!set {x}\nf: !!binary aGk=\n")
    )
    assert values["a"] == "nan"
    assert values["b"] == "-inf"
    assert values["c"] == "99999999999999999999"
    assert values["d"] == "2026-03-14"
    assert values["e"] == ["x"]
    json.dumps(values, allow_nan=False)


@pytest.mark.parametrize("number", ["0x" + "f" * 5000, "0b" + "1" * 20_000, "0" + "7" * 9000, "9" * 5000])
def test_a_number_too_long_for_python_is_a_problem_and_no_crash(number: str) -> None:
    values, _, is_frontmatter = parsed(page(f"title: Woks\nbig: {number}\n"))
    assert values["title"] == "Woks"
    assert is_frontmatter


BROKEN = {
    "a colon in a plain title": ("title: Re: a thing\n", 2, "Re: a thing"),
    "a title that starts with a backtick": ("title: `jq` in five lines\n", 2, "`jq` in five lines"),
    "a title that starts with a star": ("title: *bold* move\n", 2, "*bold* move"),
    "a title that starts with an at": ("title: @home\n", 2, "@home"),
    "a title that starts with a percent": ("title: %d items\n", 2, "%d items"),
    "a tab as indentation": ("title: Woks\ntags:\n\t- a\n", 4, "Woks"),
    "a bracket left open": ("title: Woks\ntags: [a\nn: 1\n", 4, "Woks"),
    "a quote left open": ("title: Woks\nn: 'a\n", 4, "Woks"),
    "two documents": ("title: Woks\n--- more\n", 3, "Woks"),
    "an unknown tag": ("title: Woks\nn: !thing x\n", 3, "Woks"),
    "an object of Python": ("title: Woks\nn: !!python/object/apply:os.getcwd []\n", 3, "Woks"),
    "a date that is none": ("title: Woks\nn: !!timestamp x\n", 2, "Woks"),
    "a truth that is none": ("title: Woks\nn: !!bool x\n", 2, "Woks"),
    "a number that is none": ("title: Woks\nn: !!int ''\n", 2, "Woks"),
    "a mapping that is none": ("title: Woks\nn: !!map []\n", 3, "Woks"),
    "a set that is none": ("title: Woks\nn: !!set x\n", 3, "Woks"),
    "a date beyond the calendar": ("title: Woks\nn: !!timestamp 2026-99-99\n", 2, "Woks"),
    "an unknown alias": ("title: Woks\nn: *nowhere\n", 3, "Woks"),
    "a key that is a list": ("title: Woks\n? [a, b]\n: c\n", 3, "Woks"),
    "a merge key": ("base: &b {n: 1}\n<<: *b\ntitle: Woks\n", 3, "Woks"),
    "a merge key within": ("title: Woks\nbase: &b {n: 1}\nmore:\n  <<: *b\n", 5, "Woks"),
    "a NUL byte": ("title: Woks\nn: a\x00b\n", 3, "Woks"),
    "a control character": ("title: Woks\nn: é\x07\n", 3, "Woks"),
    "a list": ("- title: Woks\n- b\n", 2, None),
    "a single value": ("42\n", 2, None),
    "a value that contains itself": ("title: Woks\nn: &n [*n]\n", 2, "Woks"),
    "deep nesting": ("title: Woks\nn: " + "[" * 60 + "]" * 60 + "\n", 2, "Woks"),
    "very deep nesting": ("title: Woks\nn: " + "[" * 30_000 + "]" * 30_000 + "\n", 3, "Woks"),
    "very deep nesting, not closed": ("title: Woks\nn: " + "{a: " * 15_000 + "\n", 3, "Woks"),
    "very many values": ("title: Woks\nn: [" + "1," * 12_000 + "]\n", 2, "Woks"),
    "aliases that multiply": (
        "title: Woks\na0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)),
        2,
        "Woks",
    ),
}


@pytest.mark.parametrize(("block", "line", "title"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_block_has_one_problem_in_the_right_line_and_keeps_the_known_keys(
    block: str, line: int, title: str | None
) -> None:
    for text in (page(block), page(block).replace("\n", "\r\n")):
        values, problems, is_frontmatter = parsed(text)
        assert [problem.line for problem in problems] == [line]
        assert "\n" not in problems[0].message
        assert values.get("title") == title
        assert is_frontmatter


@pytest.mark.parametrize(("block", "line", "title"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_block_is_never_edited(block: str, line: int, title: str | None) -> None:
    assert edited(page(block), updated=MOMENT) is None
    assert edited(page(block), title="Another") is None


@pytest.mark.parametrize(("block", "line", "title"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_block_is_not_edited_where_a_second_one_follows(block: str, line: int, title: str | None) -> None:
    assert edited(page(block, "\n---\ntitle: Second\n---\n"), updated=MOMENT) is None


def test_the_column_of_a_problem_counts_from_one() -> None:
    _, problems, _ = parsed(page("title: Re: a thing\n"))
    assert (problems[0].line, problems[0].column) == (2, 10)


def test_known_keys_of_a_broken_block_are_taken_as_text_without_their_quotes() -> None:
    values, _, _ = parsed(
        page(
            f"title: 'Woks'\nsummary: a: b: c\nuuid: {UUID}\ncreated: \"{MOMENT}\"\nupdated :  x \n  title: not this\n"
        )
    )
    assert values == {"title": "Woks", "summary": "a: b: c", "uuid": UUID, "created": MOMENT, "updated": "x"}


@pytest.mark.parametrize("quoted", [UUID, f"'{UUID}'", f'"{UUID}"'])
def test_a_comment_after_a_known_key_of_a_broken_block_is_not_part_of_its_value(quoted: str) -> None:
    values, _, _ = parsed(page(f"title: Re: a thing\nuuid: {quoted}  # made by hand\n"))
    assert values["uuid"] == UUID


def test_a_comment_in_place_of_a_value_of_a_broken_block_is_no_value() -> None:
    values, _, _ = parsed(page("title: Re: a thing\nuuid: # none yet\ncreated:  #\n"))
    assert values == {"title": "Re: a thing"}


@pytest.mark.parametrize("title", ['"Quoted" is: better', "'Quoted' is: better", "\"A\": the 'letter'", "it's: mine"])
def test_a_quoted_word_at_the_head_of_a_known_key_is_not_all_of_its_value(title: str) -> None:
    assert parsed(page(f"title: {title}\n"))[0]["title"] == title


@pytest.mark.parametrize("mark", ["|", ">", ">-", "|+"])
def test_the_mark_of_a_block_scalar_is_not_taken_for_the_value_in_a_broken_block(mark: str) -> None:
    values, _, _ = parsed(page(f"title: Re: a thing\nsummary: {mark}\n  They heat evenly.\n"))
    assert values.get("summary", "They heat evenly.").strip() == "They heat evenly."


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_unclosed_block_gives_its_known_keys_and_none_from_the_text_below(newline: str) -> None:
    text = "---\ntitle: Woks\n\nText.\n\nsummary: not a key, a line of the text\n".replace("\n", newline)
    values, problems, is_frontmatter = parsed(text)
    assert values == {"title": "Woks"}
    assert [(problem.line, problem.column) for problem in problems] == [(1, 1)]
    assert "not closed" in problems[0].message
    assert is_frontmatter


def test_a_block_up_to_the_bound_is_read_and_one_above_is_not() -> None:
    filler = "n: " + "x" * (MAX_BLOCK_CHARS - len("title: Woks\nn: \n"))
    assert keys(page(f"title: Woks\n{filler}\n"))["title"] == "Woks"
    values, problems, _ = parsed(page(f"title: Woks\n{filler}x\n"))
    assert values == {"title": "Woks"}
    assert "longer than" in problems[0].message
    assert edited(page(f"title: Woks\n{filler}x\n"), title="Other") is None


def test_a_long_value_repeated_by_aliases_does_not_grow_beyond_bounds() -> None:
    values, _, _ = parsed(page("title: Woks\na: &a " + "x" * 20_000 + "\nb: [" + "*a," * 500 + "]\n"))
    assert values["title"] == "Woks"
    assert len(json.dumps(values)) < 20 * MAX_BLOCK_CHARS


def test_prose_between_two_rules_is_no_frontmatter() -> None:
    values, problems, is_frontmatter = parsed("---\nJust some words\nand more.\n---\n\nBody\n")
    assert values == {}
    assert not is_frontmatter
    assert len(problems) == 1


@pytest.mark.parametrize("between", ["", "\n", "\n\n", "\r\n"])
def test_a_second_block_is_named_with_its_line(between: str) -> None:
    text = f"---\ntitle: First\n---\n{between}---\ntitle: Second\n---\n\nBody\n"
    values, problems, is_frontmatter = parsed(text)
    assert values == {"title": "First"}
    assert is_frontmatter
    assert [problem.line for problem in problems] == [4 + between.count("\n")]
    assert "second frontmatter block" in problems[0].message


@pytest.mark.parametrize(
    "body", ["\n---\n\nA rule.\n\n---\n", "\n---\ntitle: not closed\n", "\nText\n\n---\na: b\n---\n"]
)
def test_a_rule_in_the_body_is_no_second_block(body: str) -> None:
    assert keys(page("title: First\n", body)) == {"title": "First"}


def test_yaml_gives_text_lists_and_none_as_they_are() -> None:
    assert load("").value is None
    assert load("- a\n- 2026-03-14\n").value == ["a", "2026-03-14"]


# what people really have


REAL = {
    "a colon": ("title: Re: a thing\n", "Re: a thing", ["not-yaml"]),
    "a backtick": ("title: `jq` in five lines\n", "`jq` in five lines", ["not-yaml"]),
    "a star": ("title: *bold* move\n", "*bold* move", ["not-yaml"]),
    "a wiki link": ("title: [[wok]] care\n", "[[wok]] care", ["not-yaml"]),
    "an at": ("title: @home\n", "@home", ["not-yaml"]),
    "a percent": ("title: %d items\n", "%d items", ["not-yaml"]),
    "an ampersand": ("title: & more\n", "& more", ["not-yaml"]),
    "an exclamation mark": ("title: !important\n", "!important", ["tag"]),
    "a Windows path": ("title: C:\\new\n", "C:\\new", []),
    "a Windows path in single quotes": ("title: 'C:\\new'\n", "C:\\new", []),
    "a Windows path in double quotes that is no YAML": ('title: "C:\\Users"\n', "C:\\Users", ["not-yaml"]),
    "a Windows path in double quotes that ends in a backslash": ('title: "C:\\dir\\"\n', "C:\\dir\\", ["not-yaml"]),
    "a Windows path in double quotes beside a fault": ('title: "C:\\new"\nn: a: b\n', "C:\\new", ["not-yaml"]),
    "a Windows path that is escaped": ('title: "C:\\\\new"\n', "C:\\new", []),
    "quotes in quotes": ("title: 'it''s: mine'\nn: a: b\n", "it's: mine", ["not-yaml"]),
    "escapes": ('title: "say \\"h\\u00e9\\"" # why\nn: a: b\n', 'say "hé"', ["not-yaml"]),
    "a tab below a key": ("title: Woks\ntags:\n\t- a\n", "Woks", ["not-yaml"]),
    "a tab after a colon": ("title:\tWoks\n", "Woks", []),
    "an equals sign": ("title: =\n", "=", []),
    "equal keys": ("title: a\ntitle: Woks\n", "Woks", ["duplicate-key"]),
    "a merge key": ("a: &a {n: 1}\n<<: *a\ntitle: Woks\n", "Woks", ["merge-key"]),
    "a list": ("- a\n- b\n", None, ["not-mapping"]),
    "a bomb": (BROKEN["aliases that multiply"][0], "Woks", ["expands"]),
    "deep nesting": (BROKEN["deep nesting"][0], "Woks", ["expands"]),
    "very many values": (BROKEN["very many values"][0], "Woks", ["expands"]),
    "a long block": ("title: Woks\nn: " + "x" * MAX_BLOCK_CHARS + "\n", "Woks", ["too-long"]),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["---", "..."])
@pytest.mark.parametrize(("block", "title", "codes"), REAL.values(), ids=REAL.keys())
def test_what_people_write_is_understood(
    block: str, title: str | None, codes: list[str], end: str, newline: str
) -> None:
    text = f"---\n{block}{end}\nBody\n".replace("\n", newline)
    values, problems, is_frontmatter = parsed(text)
    assert values.get("title") == title
    assert [problem.code for problem in problems] == codes
    assert is_frontmatter
    found = find_block(text)
    assert found is not None
    assert text[found.body :] == f"Body{newline}"


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nJust words.\n\nAnd more.\n",
        "---\n\n# A heading\n\ntitle: not a key\n",
        "---\nJust words.\n---\n",
        "---\n\nJust words.\n\n---\n\nAnd more.\n",
        "---\n**Bold** `code` [link](https://example.org)\n---\n",
        "---\n* one\n* two\n---\n",
        "---\n%&!\n---\n",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_rule_above_prose_is_no_frontmatter_and_says_so(text: str, newline: str) -> None:
    values, problems, is_frontmatter = parsed(text.replace("\n", newline))
    assert values == {}
    assert not is_frontmatter
    assert [(problem.line, problem.column, problem.code) for problem in problems] == [(1, 1, "no-frontmatter")]


@pytest.mark.parametrize("text", ["---", "---\n", "---\ntitle: a\n", "---\nfoo: a\n\nText\n", "---\n'a': [\n\nText\n"])
def test_a_block_that_is_not_closed_says_so(text: str) -> None:
    _, problems, is_frontmatter = parsed(text)
    assert is_frontmatter
    assert [(problem.line, problem.column, problem.code) for problem in problems] == [(1, 1, "unclosed")]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("block", "line", "column"),
    [
        ("title: a\nn: 1\ntitle: b\n", 4, 1),
        ("n:\n  m: 1\n  o: 2\n  'm': 2\n", 5, 3),
        ("n:\n- {é: 1, o: 2, é: 2}\n", 3, 16),
        ("1: a\n'1': b\n", 3, 1),
        ("true: a\nYES: b\n", 3, 1),
        ("名前: a\n名前: b\n", 3, 1),
        ("a: &a {b: 1}\na: *a\n", 3, 1),
        ("{n: 1,\n n: 1}\n", 3, 2),
    ],
)
def test_a_key_that_stands_twice_is_named_with_its_place(block: str, line: int, column: int, newline: str) -> None:
    _, problems, _ = parsed(page(block).replace("\n", newline))
    assert [(problem.line, problem.column, problem.code) for problem in problems] == [(line, column, "duplicate-key")]
    assert "after line" in problems[0].message
    assert "last one counts" in problems[0].message


def test_equal_keys_in_different_mappings_are_no_problem() -> None:
    assert keys(page("a: {n: 1}\nb: {n: 1}\nn: &n {n: 1}\no: [*n, *n]\n"))["n"] == {"n": 1}


def test_very_many_equal_keys_are_told_twenty_times() -> None:
    values, problems, _ = parsed(page("title: Woks\n" + "a:\n" * 20_000))
    assert values == {"title": "Woks", "a": None}
    assert len(problems) == 20


def test_a_message_is_short_whatever_is_in_the_block() -> None:
    for block in (f"{'k' * 9000}: 1\n" * 2, f"title: !{'t' * 9000} x\n", f"title: *{'t' * 9000}\n"):
        _, problems, _ = parsed(page(block))
        assert len(problems) == 1
        assert len(problems[0].message) < 300


@pytest.mark.parametrize(
    ("block", "places"),
    [
        ('path: "C:\\new"\n', [(2, 7)]),
        ('title: "é 🐟"\npaths:\n- "C:\\\\fine"\n- "d:\\temp"\n', [(5, 3)]),
        ('path: \'see "C:\\new"\'\n# "C:\\new"\nb: C:\\new\n', []),
        ('a: &a "C:\\new"\nb: *a\n', []),
        ('"C:\\new": a\n', [(2, 1)]),
        ('a: "A:\\x1f"\n', []),
    ],
)
def test_a_path_of_which_yaml_makes_something_else_is_told(block: str, places: list[tuple[int, int]]) -> None:
    _, problems, _ = parsed(page(block))
    assert [(problem.line, problem.column) for problem in problems] == places
    assert {problem.code for problem in problems} <= {"escape"}


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_counted_alike_whatever_ends_them(newline: str) -> None:
    text = "---\ntitle: a\nn: Re: b\n---\n".replace("\n", newline)
    assert [(problem.line, problem.column) for problem in parsed(text)[1]] == [(3, 6)]
    text = "---\ntitle: a\n---\n\n---\ntitle: b\n---\n".replace("\n", newline)
    assert [(problem.line, problem.code) for problem in parsed(text)[1]] == [(5, "second-block")]
    text = "---\ntitle: 🐟\nn: a\x07\n---\n".replace("\n", newline)
    assert [(problem.line, problem.column) for problem in parsed(text)[1]] == [(3, 5)]


FEW_UNITS = ["[", "- ", "? ", "a: &a ", "---\n", " ", "\r", "a: 1\n", "a:\n- *a\n", '"']
UNITS = [
    *"[|{|- |? |a: &a |---\n| |\r|\n|\t|'|*|&|!|%|a: |a:\n|a: 1\n|- a\n|#|[a,|{a: |*a,|? a\n|0|1:|+++\n".split("|"),
    *['"', "\\", "\0", "é", "!!str ", "a: [*a]\n", "a: *a\n", "title: x\n\n", "''", "a: |\n", '"C:\\n",', '{"title":'],
]


@pytest.mark.parametrize(("units", "size"), [(UNITS, 60_000), (FEW_UNITS, 5_000_000)])
def test_one_thing_again_and_again_is_read_in_little_time_and_memory(units: list[str], size: int) -> None:
    code = f"""
import resource
from memoryfield.page import Page, with_keys
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for unit in {units}:
    for head in ("", "---\\n", "---\\ntitle: Woks\\nn: "):
        for tail in ("", "\\n---\\n\\nBody\\n"):
            page = Page("a.md", (head + unit * ({size} // len(unit)) + tail).encode())
            page.frontmatter, page.problems, page.key_places, page.yaml_features, with_keys(page, title="x")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    pytest.importorskip("resource")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert int(done.stdout) < (200_000 if sys.platform != "darwin" else 200_000_000)


# places


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("written", "style", "source"),
    [
        ("k: plain", "plain", "plain"),
        ("k:    two words  # why", "plain", "two words"),
        ("k: ~", "plain", "~"),
        ("k: 2026-03-14", "plain", "2026-03-14"),
        ("k: over\n  two lines", "plain", "over\n  two lines"),
        ("k: 'single'", "single", "'single'"),
        ('"k"  :  "double # \\" "  # why', "double", '"double # \\" "'),
        ("'k': |\n  a\n\n  # b\n", "literal", "|\n  a\n\n  # b"),
        ("k: >-  # why\n  a\n  b\n\n# about n", "folded", ">-  # why\n  a\n  b"),
        ("k: [a, # why\n  b]", "flow", "[a, # why\n  b]"),
        ("k: {a: b} # why", "flow", "{a: b}"),
        ("k: []", "flow", "[]"),
        ("k:\n- a\n- b # why\n# about n", "block", "- a\n- b"),
        ("k:\n  a:\n    b: c\n\n  # why\n", "block", "a:\n    b: c"),
        ("k:\n  - a\n  - |\n    # b\n", "block", "- a\n  - |\n    # b"),
        ("k:", "empty", ""),
        ("k:   # why", "empty", ""),
        ("a: &a x\nk: *a # *b", "alias", "*a"),
        ("a: &a [*b]\nk: *a".replace("*b", "b"), "alias", "*a"),
        ("a: &a x\nk:\n  - x\n  - *a # *b\n  # about *n", "block", "- x\n  - *a"),
        ("a: &a x\nk:\n  b: &b [*a]\n  c:\n    d: *b", "block", "b: &b [*a]\n  c:\n    d: *b"),
        ("k: !!str 12", "plain", "!!str 12"),
        ("k: &k 'x'", "single", "&k 'x'"),
        ("? k\n: x", "plain", "x"),
        ("k: 炭素 🐟", "plain", "炭素 🐟"),
        ("k: first\nk: last", "plain", "last"),
    ],
)
@pytest.mark.parametrize("before", ["", "🐟: 炭素 # é\nm: |\n  k: no\n\n"])
def test_a_place_tells_where_a_value_stands_and_how_it_is_written(
    before: str, written: str, style: str, source: str, newline: str
) -> None:
    text = f"\n---\n{before}{written}\nn: 1\n---\nBody\n".replace("\n", newline)
    source = source.replace("\n", newline)
    block = find_block(text)
    assert block is not None
    places = key_places(text, block, read_block(text, block).root)
    assert places == key_places(text, block)
    assert list(places) == list(read_block(text, block).values)
    at = places["k"]
    assert (at.style, at.source) == (style, source)
    assert text[at.value_start : at.value_end] == source
    assert text[at.start : at.end].strip("'\"") == "k"
    for line, column, index in (
        (at.line, at.column, at.start),
        (at.value_line, at.value_column, at.value_start),
    ):
        assert re.split("\r\n|\r|\n", text)[line - 1][column - 1 :] == re.split("\r\n|\r|\n", text[index:])[0]
    assert places["n"].source == "1"
    assert at.quoted == (style in ("single", "double", "literal", "folded"))


@pytest.mark.parametrize(
    "text",
    [
        page("title: Re: a thing\n"),
        page("- a\n"),
        page("42\n"),
        page(""),
        page("# a\n"),
        "---\ntitle: a\n",
        "---\nJust words.\n---\n",
        "+++\ntitle = 'a'\n+++\n",
        page(f"title: a\nn: {'x' * MAX_BLOCK_CHARS}\n"),
    ],
)
def test_a_block_that_is_not_keys_and_values_in_yaml_has_no_places(text: str) -> None:
    block = find_block(text)
    assert block is not None
    assert key_places(text, block) == {}


def test_a_key_is_named_as_the_values_name_it() -> None:
    text = page("7: a\nyes: b\n~: c\n1.50: d\n2026-03-14: e\n? 'f'\n: g\n!!str 8: h\n")
    block = find_block(text)
    assert block is not None
    assert list(key_places(text, block)) == list(keys(text)) == ["7", "True", "None", "1.5", "2026-03-14", "f", "8"]


@pytest.mark.parametrize("marks", ["\ufeff", "\ufeff\ufeff"])
def test_a_byte_order_mark_at_the_head_of_a_block_moves_nothing(marks: str) -> None:
    text = page(f"{marks}title: 'a'\nn: 1\n")
    block = find_block(text)
    assert block is not None
    assert keys(text) == {"title": "a", "n": 1}
    assert [(text[at.start : at.end], at.source) for at in key_places(text, block).values()] == [
        ("title", "'a'"),
        ("n", "1"),
    ]
    assert edited(text, title="b", summary="c") == page(f"{marks}title: b\nn: 1\nsummary: c\n")


def test_a_key_that_is_an_alias_has_no_place() -> None:
    text = page("a: &k b\n*k : c\nn: 1\n")
    block = find_block(text)
    assert block is not None
    assert keys(text) == {"a": "b", "b": "c", "n": 1}
    assert list(key_places(text, block)) == ["a", "n"]
    assert edited(text, b="new") is None


def test_a_key_that_stands_again_as_an_alias_has_no_place() -> None:
    text = page("&k a: first\nn: 1\n*k : last\n")
    block = find_block(text)
    assert block is not None
    assert parsed(text)[0] == {"a": "last", "n": 1}
    assert list(key_places(text, block)) == ["n"]
    assert edited(text, a="new") is None


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("title: a & b * c ! d\n", set()),
        ("a: '&a *a !a <<'\n# &a *a !a <<\n", set()),
        ("a: &a 1\n", {"anchor"}),
        ("a: &a 1\nb: *a\n", {"anchor", "alias"}),
        ("a: [{b: &a [1]}, *a]\n", {"anchor", "alias"}),
        ("a: !!str 1\n", {"tag"}),
        ("a: !x {}\n", {"tag"}),
        ("&a b: !!seq []\n", {"anchor", "tag"}),
        ("<<: {a: 1}\n", {"merge"}),
        ("a:\n  <<: *b\n", {"merge", "alias"}),
        ("a: &a 1\nb: [\n", set()),
        ("'<<': 1\n", set()),
    ],
)
def test_what_a_block_uses_of_yaml_beyond_text_is_told(block: str, expected: set[str]) -> None:
    found = find_block(page(block))
    assert found is not None
    features = yaml_features(page(block), found)
    assert {feature.kind for feature in features} == expected
    assert all(page(block)[feature.at] in "&*!<" for feature in features)


# writing


@settings(max_examples=250, deadline=None)
@given(st.dictionaries(any_text, json_values, max_size=5), st.sampled_from(["\n", "\r\n"]))
@example({"a": "a\x85b"}, "\n")
@example({"a": "a\u2028b"}, "\n")
@example({"a": "a\u2029b"}, "\r\n")
@example({"a": "ends with a no-break space\xa0"}, "\n")
@example({"<<": "a", "=": "b", "1": "c", "": "d", "x" * 200: "e"}, "\n")
def test_what_is_written_is_read_back_the_same(values: dict[str, Any], newline: str) -> None:
    text = new_block(values, newline) + "Body"
    assert keys(text) == values
    block = find_block(text)
    assert block is not None
    assert text[block.body :] == "Body"
    assert newline == "\n" or "\n" not in text.replace("\r\n", "")


@settings(max_examples=250, deadline=None)
@given(st.dictionaries(line_text, line_text, min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_is_read_the_same_by_other_readers(values: dict[str, str], newline: str) -> None:
    text = new_block(values, newline) + newline + "# Body" + newline
    block = find_block(text)
    assert block is not None
    assert yaml.safe_load(text[block.start : block.end]) == values
    post = library.loads(text)
    assert post.metadata == values
    assert post.content == "# Body"


@pytest.mark.parametrize("value", TRICKY + WIDE_SPACES)
def test_a_value_that_looks_like_something_else_stays_text_for_every_reader(value: str) -> None:
    expected = {"updated": MOMENT, "title": value}
    text = new_block(expected) + "\nBody\n"
    assert keys(text) == expected
    assert library.loads(text).metadata == expected
    assert yaml.load(text.split("---\n")[1], Loader=yaml.SafeLoader) == expected


def test_a_new_block_looks_as_the_format_shows_it() -> None:
    values = {"title": "Carbon Fibre Woks", "uuid": UUID, "created": MOMENT, "updated": MOMENT}
    expected = f'---\ntitle: Carbon Fibre Woks\nuuid: {UUID}\ncreated: "{MOMENT}"\nupdated: "{MOMENT}"\n---\n'
    assert new_block(values) == expected
    assert new_block(values, "\r\n") == expected.replace("\n", "\r\n")
    assert new_block({"title": "炭素"}) == "---\ntitle: 炭素\n---\n"


# editing

OTHERS: dict[str, dict[str, Any]] = {
    "tags: [git, 'a, b']  # flow": {"tags": ["git", "a, b"]},
    "# a comment: title: no": {},
    "": {},
    "note: |\n  title: not this\n\n  # no comment": {"note": "title: not this\n\n# no comment\n"},
    "folded: >-\n    deep\n    er": {"folded": "deep er"},
    "'quoted key'  :   'it''s'": {"quoted key": "it's"},
    '"escaped": "\\u00e9\\t"': {"escaped": "é\t"},
    "list:\n- a\n-   b # why": {"list": ["a", "b"]},
    "deep:\n    summary: inner\n    uuid: [1, 2]": {"deep": {"summary": "inner", "uuid": [1, 2]}},
    "&key anchored: &value [1]\nalias: *value": {"anchored": [1], "alias": [1]},
    "? explicit\n: key": {"explicit": "key"},
    "date: 2026-03-14": {"date": "2026-03-14"},
    "7: 0x1f": {"7": 31},
    "名前: 🐟": {"名前": "🐟"},
    "nothing:": {"nothing": None},
    "plain: runs\n  over two lines": {"plain": "runs over two lines"},
    "many: {a: 1,\n  b: 2}": {"many": {"a": 1, "b": 2}},
}
OLD_VALUES = [
    "plain",
    "plain words, with commas",
    "'single'",
    "'it''s'",
    '"double"',
    '"a \\"quoted\\" word # no comment"',
    "12",
    "true",
    "~",
    "2026-03-14",
    "!!str tagged",
    "&own anchored",
    "[a, b]",
    "{a: b}",
    "'runs\n  over lines'",
    "runs\n  over lines",
    "|\n  a\n  b",
    ">-\n  a\n\n  b",
    "|+\n  a",
    "炭素 🐟",
]
other_lines = st.lists(st.sampled_from(sorted(OTHERS)), unique=True, max_size=5)


def together(*groups: list[str]) -> dict[str, Any]:
    return {key: value for group in groups for line in group for key, value in OTHERS[line].items()}


@settings(max_examples=400, deadline=None)
@given(
    before=other_lines,
    after=other_lines,
    old=st.sampled_from(OLD_VALUES),
    space=st.sampled_from([" ", "    "]),
    comment=st.sampled_from(["", " # why", "   #"]),
    value=line_text,
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    body=any_text,
)
def test_an_edit_changes_one_value_and_not_a_byte_before_or_after(
    before: list[str], after: list[str], old: str, space: str, comment: str, value: str, newline: str, body: str
) -> None:
    assume(not set(before) & set(after))
    assume("\n" not in old or not comment)
    start = "---\n" + "".join(line + "\n" for line in before) + "summary:" + space
    end = comment + "\n" + "".join(line + "\n" for line in after) + "---\n"
    start, old, end = (part.replace("\n", newline) for part in (start, old, end))
    text = start + old + end + body
    others = together(before, after)
    assume(not body.lstrip().startswith("---") and not (newline == "\r" and body.startswith("\n")))
    assert {**keys(text), "summary": value} == {**others, "summary": value}
    result = edited(text, summary=value)
    assert result is not None
    assert result.startswith(start)
    assert result.endswith(end + body)
    assert keys(result) == {**others, "summary": value}
    assert endings(result[: -len(body) or None]) == {newline}


@settings(max_examples=250, deadline=None)
@given(before=other_lines, value=line_text, newline=st.sampled_from(["\n", "\r\n", "\r"]), body=any_text)
def test_an_added_key_comes_last_and_not_a_byte_before_or_after_changes(
    before: list[str], value: str, newline: str, body: str
) -> None:
    assume(not body.lstrip().startswith("---") and not (newline == "\r" and body.startswith("\n")))
    start = ("---\n" + "".join(line + "\n" for line in before)).replace("\n", newline)
    end = f"---{newline}{body}"
    result = edited(start + end, summary=value, updated=MOMENT)
    assert result is not None
    assert result.startswith(start + "summary:")
    assert result.endswith(f'{newline}updated: "{MOMENT}"{newline}{end}')
    assert keys(result) == {**together(before), "summary": value, "updated": MOMENT}


@settings(max_examples=250, deadline=None)
@given(
    block=st.lists(
        st.sampled_from([*OTHERS, *(f"summary: {old}" for old in OLD_VALUES), "title: x", "- a", "\tb", "...x"]),
        max_size=6,
    ),
    values=st.dictionaries(st.sampled_from(["title", "summary", "uuid"]), any_text, min_size=1),
    body=any_text,
)
def test_an_edit_either_refuses_or_keeps_the_body_and_every_other_key(
    block: list[str], values: dict[str, str], body: str
) -> None:
    text = page("".join(line + "\n" for line in block), body)
    found = find_block(text)
    assert found is not None
    result = set_keys(text, found, values)
    if result is None:
        return
    moved = find_block(result)
    assert moved is not None
    assert result[moved.body :] == text[found.body :]
    assert read_block(result, moved).values == {**read_block(text, found).values, **values}


@pytest.mark.parametrize("value", TRICKY + WIDE_SPACES + LINE_ENDS)
def test_any_text_can_be_set_where_a_value_stands_and_where_none_does(value: str) -> None:
    for text in (page("title: old\nn: 1\n"), page("n: 1\n")):
        result = edited(text, title=value)
        assert result is not None
        assert keys(result) == {"n": 1, "title": value}


def test_several_keys_are_set_at_once_and_stay_where_they_stand() -> None:
    text = page(f"updated: old # when\ntitle: Old\n# middle\nsummary: |\n  old\n\nuuid: {UUID}\n")
    result = edited(text, title="New: title", summary="New", updated=MOMENT)
    assert result == page(
        f"updated: \"{MOMENT}\" # when\ntitle: 'New: title'\n# middle\nsummary: New\n\nuuid: {UUID}\n"
    )


@pytest.mark.parametrize("empty", ["title:", "title: ", "title:    ", "title: ~", "title: ''", "title: null"])
def test_a_key_without_a_value_gets_one_on_its_line(empty: str) -> None:
    result = edited(page(f"{empty}\nn: 1\n"), title="Woks")
    assert result is not None
    assert result.rstrip() == result.rstrip("\n")
    assert [line.strip() for line in result.splitlines()][1:3] == ["title: Woks", "n: 1"]


def test_a_comment_after_an_empty_value_stays() -> None:
    result = edited(page("title: # to be found\nn: 1\n"), title="Woks")
    assert result is not None
    assert result.splitlines()[1].split() == "title: Woks # to be found".split()


@pytest.mark.parametrize(
    "key", ["summary", "'summary'", '"summary"', "&k summary", "!!str summary", "? summary\n", "summary   "]
)
def test_a_key_is_found_however_it_is_written(key: str) -> None:
    text = page(f"a: 1\n{key}: old # why\nb: 2\n")
    assert edited(text, summary="new") == text.replace("old", "new")


@pytest.mark.parametrize(
    "old",
    [
        "\n  - a\n  - b\n# about the next key\n",
        "\n- a\n- b\n# about the next key\n",
        "\n  a: b\n# about the next key\n",
        "\n  - a\n\n  # about the next key\n",
        " # about the key\n  - a\n# about the next key\n",
    ],
)
def test_comments_below_a_list_or_mapping_survive_its_replacement(old: str) -> None:
    result = edited(page(f"summary:{old}tags: [x]\n"), summary="They heat evenly.")
    assert result is None or result.count("# about") == old.count("# about")


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("{}\n", "{title: Woks}\n"),
        ("{n: 1}\n", "{n: 1, title: Woks}\n"),
        ("{n: 1} # why\n", "{n: 1, title: Woks} # why\n"),
        ("{title: old, n: '}'}\n", "{title: Woks, n: '}'}\n"),
        ("{n: {m: 1}}\n", "{n: {m: 1}, title: Woks}\n"),
        ("{n: [1, 2],\n 'title': old  }\n", "{n: [1, 2],\n 'title': Woks  }\n"),
    ],
)
def test_a_flow_mapping_stays_one(block: str, expected: str) -> None:
    assert edited(page(block), title="Woks") == page(expected)


@pytest.mark.parametrize("value", ["a, b", "[a]", "{a}", "a}", "Re: a thing", "a # b", MOMENT])
def test_a_flow_mapping_takes_values_that_need_quotes_there(value: str) -> None:
    for text in (page("{title: old, n: 1}\n"), page("{n: 1}\n")):
        result = edited(text, title=value)
        assert result is not None
        assert keys(result) == {"n": 1, "title": value}


@pytest.mark.parametrize("block", ["{n: 1,}\n", "{n: 1, }\n", "{\n  n: 1,\n}\n", "{\n  n: 1, # why\n}\n"])
def test_a_flow_mapping_with_a_comma_at_its_end_takes_new_keys(block: str) -> None:
    result = edited(page(block), title="Woks")
    assert result is not None
    assert keys(result) == {"n": 1, "title": "Woks"}


@pytest.mark.parametrize("block", ["  n: 1\n", "  n: 1 # why\n  m: [a]\n", "    n:\n      - a\n"])
def test_an_indented_mapping_takes_new_keys(block: str) -> None:
    result = edited(page(block), title="Woks")
    assert result is not None
    assert keys(result) == {**keys(page(block)), "title": "Woks"}


@pytest.mark.parametrize("block", ["title:\told\n", "title: old\t# why\n", "title: old\nn:\t1\n", "title: old\t\n"])
def test_a_block_with_tabs_that_was_read_can_be_edited(block: str) -> None:
    assert keys(page(block))["title"] == "old"
    result = edited(page(block), title="Woks")
    assert result is not None
    assert result.replace("Woks", "old") == page(block)


@pytest.mark.parametrize(
    "block", ["title: &t old\nb: *t\n", "&k title: old\nb: *k\n*k : new\n", "n: 1\n&t title: old\nb: *u\n"]
)
def test_an_edit_that_would_change_another_value_is_refused(block: str) -> None:
    assert edited(page(block), title="New") is None


def test_of_two_equal_keys_the_one_that_counts_is_edited() -> None:
    assert edited(page("title: a\ntitle: b\n"), title="New") == page("title: a\ntitle: New\n")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_keys_are_set_beside_equal_ones_which_stay(newline: str) -> None:
    text = page("n: 1\ntitle: a\nn: [2] # why\n").replace("\n", newline)
    result = edited(text, title="New", summary="S")
    assert result == page("n: 1\ntitle: New\nn: [2] # why\nsummary: S\n").replace("\n", newline)
    assert edited(text, n="3") == page("n: 1\ntitle: a\nn: '3' # why\n").replace("\n", newline)


def test_an_alias_is_replaced_and_what_it_stands_for_stays() -> None:
    assert edited(page("b: &t old\ntitle: *t # why\n"), title="New") == page("b: &t old\ntitle: New # why\n")


def test_a_block_that_would_become_too_long_is_not_edited() -> None:
    text = page("n: " + "x" * (MAX_BLOCK_CHARS - 10) + "\n")
    assert parsed(text)[1] == []
    assert edited(text, title="Woks") is None


def test_a_first_block_is_edited_and_a_second_stays_as_it_is() -> None:
    second = "\n---\ntitle: Second\n---\n\nBody\n"
    assert edited(page("title: First\n", second), title="New") == page("title: New\n", second)


def test_a_block_closed_by_dots_stays_so() -> None:
    assert edited("---\ntitle: a\n...\nBody\n", title="New", n="b") == "---\ntitle: New\nn: b\n...\nBody\n"


def test_a_block_that_is_not_closed_or_is_prose_is_not_edited() -> None:
    assert edited("---\ntitle: a\n\nBody\n", title="New") is None
    assert edited("---\nJust words\n---\nBody\n", title="New") is None
    assert edited(page("null\n"), title="New") is None


@pytest.mark.parametrize("block", ["title: old\r\n", "n: 1\r\n"])
@pytest.mark.parametrize("value", ["one\ntwo", "word " * 3000])
def test_a_value_of_several_lines_gets_the_line_ends_of_its_page(block: str, value: str) -> None:
    result = edited(f"---\r\n{block}---\r\nBody\r\n", title=value)
    assert result is not None
    assert "\n" not in result.replace("\r\n", "")
    assert keys(result)["title"] == value
