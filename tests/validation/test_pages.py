"""Rules about one page, each with what keeps it and what breaks it, and at which place."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from memoryfield.names import is_legal_page_name

from .support import MOMENT, UUID, check, check_page, only, page, told, write

QUOTED = f'"{MOMENT}"'


@pytest.mark.parametrize(
    "text",
    [
        page(),
        page(title="'Re: a thing'"),
        page(more="tags: [a]\nsummary: One question.\n"),
        page(more="# a comment\nanything: {of: [mine, 1, ~]}\n"),
        page() + "\n",
        page().rstrip("\n"),
        "\n" + page(),
        page().replace("---\n\n", "...\n\n"),
    ],
)
def test_a_page_that_follows_the_format_has_no_fault(tmp_path: Path, text: str) -> None:
    assert told(check_page(tmp_path, text)) == []


# P-2: names


@pytest.mark.parametrize("name", ["a.md", "7.md", "a-b.md", "a--b.md", "index.md", "con.md", f"{'x' * 200}.md"])
def test_a_legal_name_is_no_fault(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: page()})
    assert told(check(tmp_path)) == []


@pytest.mark.parametrize(
    "name",
    ["Capitals.md", "with space.md", "under_score.md", "-a.md", "a-.md", "ünï.md", "炭素.md", "a.b.md", "a.MD", "-.md"],
)
def test_an_illegal_name_is_an_error_that_names_a_legal_one(tmp_path: Path, name: str) -> None:
    write(tmp_path, {name: page()})
    fault = only(check(tmp_path))
    assert told([fault]) == [f"{name} error P-2"]
    assert is_legal_page_name(fault.message.split("such as ")[1].rstrip(")"))


# P-1, P-4, P-8, P-9, R-7: the bytes


def test_a_page_that_is_not_utf8_is_an_error_at_its_place(tmp_path: Path) -> None:
    fault = only(check_page(tmp_path, page(body="one\ncaf\u00e9").encode("latin-1")))
    assert told([fault]) == ["a.md:9:4 error P-1"]
    assert "0xe9" in fault.message


@pytest.mark.parametrize("raw", [b"\xff\xfea\x00", page().encode("utf-16"), b"\x80" * 300])
def test_what_is_no_text_is_told_once(tmp_path: Path, raw: bytes) -> None:
    found = told(check_page(tmp_path, raw, select="P-1,P-10,S-6"))
    assert found == ["a.md:1:1 error P-1"]


@pytest.mark.parametrize(("size", "expected"), [(8192, []), (8193, ["a.md warning P-4"])])
def test_a_page_should_stay_within_8192_bytes(tmp_path: Path, size: int, expected: list[str]) -> None:
    filler = "é" * ((size - len(page(body="").encode())) // 2)
    text = page(body=filler + "x" * (size - len(page(body=filler).encode())))
    assert len(text.encode()) == size
    found = check_page(tmp_path, text)
    assert told(found) == expected
    assert all("8,193" in fault.message for fault in found)


@pytest.mark.parametrize("body", ["", "\n\n", " \t\n", "\u00a0"])
def test_a_page_without_text_is_a_warning(tmp_path: Path, body: str) -> None:
    assert told(check_page(tmp_path, page(body=body))) == ["a.md warning P-8"]


def test_an_empty_page_has_neither_text_nor_frontmatter(tmp_path: Path) -> None:
    assert told(check_page(tmp_path, b"")) == ["a.md warning P-8", "a.md:1 warning P-3"]


def test_a_byte_order_mark_is_a_warning_and_moves_no_place(tmp_path: Path) -> None:
    raw = b"\xef\xbb\xbf" + page(title="No").encode()
    assert told(check_page(tmp_path, raw)) == ["a.md:1:1 warning P-9", "a.md:2:1 warning F-14"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (page().replace("\n", "\r\n"), 1, "CR LF"),
        (page().replace("\n", "\r"), 1, "CR,"),
        (page(body="one\ntwo\r\nthree"), 9, "CR LF"),
        (page(body="one\ntwo\rthree"), 9, "CR,"),
    ],
)
def test_lines_that_end_otherwise_are_a_notice_where_they_begin(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    fault = only(check_page(tmp_path, text))
    assert told([fault]) == [f"a.md:{line} notice R-7"]
    assert words in fault.message


# P-3, F-7, F-15, F-16, F-21: the block


@pytest.mark.parametrize(
    "text", ["# Heading\n\nText\n", "Text\n\n---\ntitle: Woks\n---\n", "----\ntitle: x\n----\n\nText\n"]
)
def test_a_page_without_frontmatter_is_a_warning(tmp_path: Path, text: str) -> None:
    fault = only(check_page(tmp_path, text))
    assert told([fault]) == ["a.md:1 warning P-3"]
    assert "should begin with frontmatter" in fault.message


@pytest.mark.parametrize(
    "text", [f'+++\ntitle = "Woks"\nuuid = "{UUID}"\n+++\n\nText\n', '{\n  "title": "Woks"\n}\n\nText\n']
)
def test_another_kind_of_block_is_no_frontmatter(tmp_path: Path, text: str) -> None:
    assert told(check_page(tmp_path, text, select="P-3,F-7")) == ["a.md:1:1 warning P-3"]


@pytest.mark.parametrize(
    ("text", "place", "requirement", "words"),
    [
        ("---\ntitle: Woks\n\nText\n", "1:1", "F-7", "not closed"),
        ("---\n- a\n- b\n---\n\nText\n", "2:1", "F-7", "list"),
        ("---\ntitle: Woks\ntags:\n\t- a\n---\n\nText\n", "4:1", "F-7", "not valid YAML"),
        ("---\ntitle: Re: a thing\n---\n\nText\n", "2:10", "F-7", "not valid YAML"),
        ("---\ntitle: `jq`\n---\n\nText\n", "2:8", "F-7", "not valid YAML"),
        ("---\ntitle: *bold* move\n---\n\nText\n", "2:13", "F-7", "not valid YAML"),
        ('---\ntitle: "C:\\new"\n---\n\nText\n', "2:8", "F-7", "backslash"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_frontmatter_that_was_not_understood_is_a_warning_at_its_place(
    tmp_path: Path, text: str, place: str, requirement: str, words: str, newline: str
) -> None:
    found = check_page(tmp_path, text.replace("\n", newline), select="F-7,F-16")
    assert told(found)[0] == f"a.md:{place} warning {requirement}"
    assert words in found[0].message


def test_broken_frontmatter_is_not_asked_for_its_keys(tmp_path: Path) -> None:
    assert told(check_page(tmp_path, "---\ntitle: Re: a thing\n---\n\nText\n")) == ["a.md:2:10 warning F-7"]


def test_a_key_that_occurs_twice_is_a_warning_at_the_second(tmp_path: Path) -> None:
    text = page(more="tags: [a]\ntags: [b]\n")
    assert told(check_page(tmp_path, text)) == ["a.md:7:1 warning F-15"]
    assert told(check_page(tmp_path, page(more="Tags: [a]\ntags: [b]\n"))) == []


@pytest.mark.parametrize(
    ("more", "places", "word"),
    [
        ("note: &n words\n", ["6:7"], "anchor"),
        ("note: &n words\nagain: *n\n", ["6:7", "7:8"], "anchor"),
        ("note: !!str 7\n", ["6:7"], "tag"),
        ("base: &b {n: 1}\nother:\n  <<: *b\n", ["6:7", "8:3"], "anchor"),
    ],
)
def test_yaml_that_says_more_than_text_is_a_warning(tmp_path: Path, more: str, places: list[str], word: str) -> None:
    found = check_page(tmp_path, page(more=more), select="F-16")
    assert told(found) == [f"a.md:{place} warning F-16" for place in places]
    assert word in found[0].message


@pytest.mark.parametrize("value", ["AT&T", "'&n'", "a * b", '"!tag"', "wow!", "C&A *sale*"])
def test_signs_within_a_value_are_no_yaml(tmp_path: Path, value: str) -> None:
    assert told(check_page(tmp_path, page(title=value))) == []


def test_a_second_block_is_a_warning_at_its_line(tmp_path: Path) -> None:
    assert told(check_page(tmp_path, page(body="---\ntitle: b\n---\n\nText"))) == ["a.md:8:1 warning F-21"]


@pytest.mark.parametrize(
    "body", ["---\n\nText\n\n---\n\nText", "One\n\n---\n\ntwo: three\n\n---\n\nfour", "***\n\nText"]
)
def test_rules_in_the_body_are_no_second_block(tmp_path: Path, body: str) -> None:
    assert told(check_page(tmp_path, page(body=body))) == []


# F-3 to F-6, F-11, F-14: the keys


@pytest.mark.parametrize(
    ("key", "requirement", "line"),
    [("title", "F-3", 2), ("uuid", "F-4", 3), ("created", "F-5", 4), ("updated", "F-6", 5)],
)
@pytest.mark.parametrize("value", [None, "", "~", "''", "'  '"])
def test_a_missing_or_empty_key_is_a_warning(
    tmp_path: Path, key: str, requirement: str, line: int, value: str | None
) -> None:
    text = page(**{key: value or ""})
    if value is None:
        text = text.replace(f"{key}: \n", "")
    place = "1" if value is None else f"{line}:1"
    found = check_page(tmp_path, text, select="F-3,F-4,F-5,F-6")
    assert told(found) == [f"a.md:{place} warning {requirement}"]
    assert f"should have {key}" in found[0].message


def test_a_summary_is_not_asked_for(tmp_path: Path) -> None:
    assert told(check_page(tmp_path, page(more="summary:\n"))) == []


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("2026-03-14", "a date"),
        ("2026-3-4 9:12:40.5 +1", "a date"),
        ("No", "false"),
        ("on", "true"),
        ("1.10", "1.1"),
        ("2026", "2026"),
        ("[a, b]", "a list"),
        ("{a: b}", "keys and values"),
    ],
)
@pytest.mark.parametrize(("key", "line"), [("title", 2), ("uuid", 3), ("summary", 6)])
def test_a_text_that_yaml_takes_for_something_else_is_a_warning(
    tmp_path: Path, key: str, line: int, value: str, word: str
) -> None:
    text = page(more=f"summary: {value}\n") if key == "summary" else page(**{key: value})
    fault = only(check_page(tmp_path, text, ignore="F-11"))
    assert told([fault]) == [f"a.md:{line}:1 warning F-14"]
    assert word in fault.message


@pytest.mark.parametrize(
    "value", ["No woks", "'No'", '"1.10"', "1.1.0", "v2", "y", "~user", "2026-03-14 in Rome", "2026-3-14"]
)
def test_a_text_that_stays_one_is_no_fault(tmp_path: Path, value: str) -> None:
    assert told(check_page(tmp_path, page(title=value))) == []


@pytest.mark.parametrize("uuid", [UUID, f"'{UUID}'", "00000000-0000-0000-0000-000000000000"])
def test_a_uuid_is_no_fault(tmp_path: Path, uuid: str) -> None:
    assert told(check_page(tmp_path, page(uuid=uuid))) == []


@pytest.mark.parametrize(
    "uuid",
    [
        *("x", UUID[:-1], UUID + "0", UUID.replace("-", ""), UUID.upper(), f"'{{{UUID}}}'", f"urn:uuid:{UUID}"),
        *(UUID[:-1] + "g", f"'{UUID} '", "٦" + UUID[1:]),
    ],
)
def test_what_is_no_uuid_in_its_usual_form_is_a_warning(tmp_path: Path, uuid: str) -> None:
    assert told(check_page(tmp_path, page(uuid=uuid))) == ["a.md:3:1 warning F-11"]


# F-8 to F-10, F-18, F-19: the dates


@pytest.mark.parametrize("key", ["created", "updated"])
@pytest.mark.parametrize(
    "value",
    [
        QUOTED,
        f"'{MOMENT}'",
        f"{QUOTED}  # by hand",
        f"   {QUOTED}",
        f"\n  {QUOTED}",
        '"2026-03-14T09:12:40+00:00"',
        '"2024-02-29T00:00:00Z"',
        f"|-\n  {MOMENT}",
    ],
)
def test_a_quoted_datetime_in_utc_is_no_fault(tmp_path: Path, key: str, value: str) -> None:
    dates = {"created": '"2020-01-01T00:00:00Z"', "updated": '"2026-05-01T00:00:00.5Z"', key: value}
    assert told(check_page(tmp_path, page(**dates))) == []


@pytest.mark.parametrize(("key", "line"), [("created", 4), ("updated", 5)])
@pytest.mark.parametrize(
    ("value", "requirements"),
    [
        (MOMENT, ["error F-8"]),
        ("2026-03-14T09:12:40+00:00  # 'by hand'", ["error F-8"]),
        ("2026-03-14", ["error F-8", "warning F-9"]),
        ("yesterday", ["error F-8", "warning F-9"]),
        ("20260314", ["error F-8", "warning F-9"]),
        ("true", ["error F-8", "warning F-9"]),
        ('"2026-03-14T09:12:40"', ["warning F-10"]),
        ('"2026-03-14T09:12:40+01:00"', ["warning F-10"]),
        ('"2026-03-14T09:12:40-00:30"', ["warning F-10"]),
        ('"2026-03-14T09:12:40-0730"', ["warning F-10", "warning F-9"]),
        ('"2026-03-14 09:12"', ["warning F-10", "warning F-9"]),
        ('"2026-03-14T09:12Z"', ["warning F-9"]),
        ('"2026-03-14 09:12:40Z"', ["warning F-9"]),
        ('"2026-03-14"', ["warning F-9"]),
        ('"14 March 2026"', ["warning F-9"]),
        ('"09:12:40Z"', ["warning F-9"]),
        ('"2026-13-14T09:12:40Z"', ["warning F-9"]),
        ('"2026-02-30T09:12:40Z"', ["warning F-9"]),
        ('"2026-03-14T25:12:40Z"', ["warning F-9"]),
        ('"2026-03-14T09:61:40Z"', ["warning F-9"]),
        ('"2026-W11-6T09:12:40Z"', ["warning F-9"]),
        ('"٢٠٢٦-03-14T09:12:40Z"', ["warning F-9"]),
    ],
)
def test_another_date_is_told_at_its_place(
    tmp_path: Path, key: str, line: int, value: str, requirements: list[str]
) -> None:
    dates = {"created": '"2020-01-01T00:00:00Z"', "updated": '"2026-05-01T00:00:00Z"', key: value}
    found = check_page(tmp_path, page(**dates))
    assert sorted(told(found)) == sorted(f"a.md:{line}:1 {requirement}" for requirement in requirements)
    assert all(key in fault.message for fault in found)


@pytest.mark.parametrize("value", [f"[{QUOTED}]", f"{{at: {QUOTED}}}"])
def test_a_date_in_a_collection_is_none(tmp_path: Path, value: str) -> None:
    assert told(check_page(tmp_path, page(updated=value))) == ["a.md:5:1 warning F-9"]


@pytest.mark.parametrize(
    ("created", "updated", "expected"),
    [
        ("2026-03-14T09:12:40Z", "2026-03-14T09:12:39Z", ["a.md:4:1 warning F-18"]),
        ("2026-03-14T09:12:40Z", "2026-03-14T09:12:40Z", []),
        ("2026-03-14T09:00:00+02:00", "2026-03-14T08:00:00Z", ["a.md:4:1 warning F-10"]),
        ("2026-03-14T09:00:00Z", "2026-03-14T09:30:00+01:00", ["a.md:4:1 warning F-18", "a.md:5:1 warning F-10"]),
        ("2026-03-15", "2026-03-14", ["a.md:4:1 warning F-18", "a.md:4:1 warning F-9", "a.md:5:1 warning F-9"]),
    ],
)
def test_created_should_not_be_later_than_updated(
    tmp_path: Path, created: str, updated: str, expected: list[str]
) -> None:
    assert told(check_page(tmp_path, page(created=f'"{created}"', updated=f'"{updated}"'))) == expected


@pytest.mark.parametrize(("hours", "expected"), [(23, []), (25, ["a.md:4:1 warning F-19", "a.md:5:1 warning F-19"])])
def test_a_date_should_not_lie_more_than_a_day_ahead(tmp_path: Path, hours: int, expected: list[str]) -> None:
    moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)
    written = f'"{moment:%Y-%m-%dT%H:%M:%SZ}"'
    assert told(check_page(tmp_path, page(created=written, updated=written))) == expected


@pytest.mark.parametrize("year", ["0001", "9999"])
def test_a_date_at_the_end_of_time_breaks_nothing(tmp_path: Path, year: str) -> None:
    written = f'"{year}-12-31T23:59:59.999999Z"'
    found = told(check_page(tmp_path, page(created=written, updated=written)))
    assert found == ([] if year == "0001" else ["a.md:4:1 warning F-19", "a.md:5:1 warning F-19"])


# where things stand


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_the_line_of_a_key_is_right_whatever_stands_around_it(tmp_path: Path, newline: str) -> None:
    text = page(created='"yesterday"').replace("title:", "# a comment: created: no\nnote: |\n  created: no\n\ntitle:")
    found = check_page(tmp_path, text.replace("\n", newline), ignore="R-7")
    assert told(found) == ["a.md:8:1 warning F-9"]
    assert found[0].source == 'created: "yesterday"'


@pytest.mark.parametrize(
    ("block", "places"),
    [
        (f'"title": Woks\n"uuid": {UUID}\n"created": {QUOTED}\n\'updated\': {QUOTED}\n', []),
        (f'title: Woks\nuuid: {UUID}\n"created": "yesterday"\nupdated: {QUOTED}\n', ["4:1"]),
        (f"{{title: Woks, uuid: {UUID}, created: {QUOTED}, updated: {QUOTED}}}\n", []),
        (f'{{title: Woks,\n uuid: {UUID},\n created: "yesterday",\n updated: {QUOTED}}}\n', ["4:2"]),
        (f'  title: Woks\n  uuid: {UUID}\n  created: {QUOTED}\n  updated: "now"\n', ["5:3"]),
    ],
)
def test_keys_are_judged_however_they_are_written(tmp_path: Path, block: str, places: list[str]) -> None:
    found = told(check_page(tmp_path, f"---\n{block}---\n\nText\n"))
    assert found == [f"a.md:{place} warning F-9" for place in places]


# K-1 to K-3, K-5: optional keys


@pytest.mark.parametrize(
    "more",
    [
        "tags: [a, b]\n",
        "tags: []\n",
        "tags:\n",
        "tags:\n  - 'no'\n  - two words\n",
        "source: https://example.com/a?b=c\n",
        "source: [https://example.com, 'a book']\n",
        'expires: "2026-01-01"\n',
        "expires: '2026-01-01T00:00:00Z'\n",
        "expires:\n",
        "supersedes: []\n",
        "supersedes:\n",
    ],
)
def test_optional_keys_with_a_meaning_are_no_fault(tmp_path: Path, more: str) -> None:
    assert told(check_page(tmp_path, page(more=more))) == []


@pytest.mark.parametrize(
    ("more", "requirement", "words"),
    [
        ("tags: a, b\n", "K-1", "list of texts"),
        ("tags: [a, no]\n", "K-1", "list of texts"),
        ("tags: [2026]\n", "K-1", "list of texts"),
        ("tags: {a: b}\n", "K-1", "list of texts"),
        ("source: 7\n", "K-2", "URL"),
        ("source: {url: x}\n", "K-2", "URL"),
        ("source: [x, [y]]\n", "K-2", "URL"),
        ("expires: soon\n", "K-3", "ISO 8601"),
        ("expires: 2026\n", "K-3", "ISO 8601"),
        ("expires: [a]\n", "K-3", "ISO 8601"),
        ("expires: 2026-01-01\n", "K-3", "quotes"),
        ("supersedes: old-page.md\n", "K-5", "'old-page.md' is none"),
        (f"supersedes: [{UUID.upper()}]\n", "K-5", "is none"),
        ("supersedes: 7\n", "K-5", "7 is none"),
        ("supersedes: {a: b}\n", "K-5", "is none"),
    ],
)
def test_an_optional_key_that_means_nothing_is_a_warning(
    tmp_path: Path, more: str, requirement: str, words: str
) -> None:
    fault = only(check_page(tmp_path, page(more=more), ignore="K-6,K-7"))
    assert told([fault]) == [f"a.md:6:1 warning {requirement}"]
    assert words in fault.message


# title, heading, summary


@pytest.mark.parametrize(
    ("title", "body"),
    [
        ("Woks", "# Woks\n\nText"),
        ("Woks", "# Woks.\n\nText"),
        ("Woks", "# **Woks**\n\nText"),
        ("Woks of `steel`", "# Woks of steel\n\nText"),
        ("woks", "# WOKS #\n\nText"),
        ("Woks", "# [Woks](https://example.com)\n\nText"),
        ("Woks", "Woks\n====\n\nText"),
        ("Woks", "## Pans\n\nText"),
        ("Woks", "Text\n\n### Pans\n"),
        ("Woks", "Pans\n----\n\nText"),
        ("Woks", "```\n# Pans\n```\n\nText"),
        ("Woks", "    # Pans\n\nText"),
        ("'Woks: which?'", "# Woks: which?\n\nText"),
        ("snake_case", "# snake\\_case\n\nText"),
        ("Woks", "#Pans\n\nText"),
    ],
)
def test_a_heading_like_the_title_is_no_fault(tmp_path: Path, title: str, body: str) -> None:
    assert told(check_page(tmp_path, page(title=title, body=body))) == []


@pytest.mark.parametrize("body", ["# Pans\n\nText", "Text\n\n# Pans\n\n# Woks", "Pans\n===\n\nText", "#\tPans\n\nText"])
def test_a_heading_that_is_not_the_title_is_a_notice(tmp_path: Path, body: str) -> None:
    fault = only(check_page(tmp_path, page(body=body)))
    assert told([fault]) == ["a.md:2:1 notice R-2"]
    assert "'Pans'" in fault.message


@pytest.mark.parametrize(("length", "expected"), [(300, []), (301, ["a.md:6:1 notice R-3"])])
@pytest.mark.parametrize("letter", ["x", "炭"])
def test_a_long_summary_is_a_notice(tmp_path: Path, length: int, expected: list[str], letter: str) -> None:
    assert told(check_page(tmp_path, page(more=f"summary: {letter * length}\n"))) == expected


@pytest.mark.parametrize("summary", ["Woks", "woks.", "'**Woks**'", '" Woks "', ">\n  Woks\n"])
def test_a_summary_that_is_the_title_is_a_notice(tmp_path: Path, summary: str) -> None:
    assert told(check_page(tmp_path, page(more=f"summary: {summary}\n"))) == ["a.md:6:1 notice R-4"]


@pytest.mark.parametrize("summary", ["Woks?", "Woks, and pans.", "''", "Wok"])
def test_a_summary_that_says_more_is_no_fault(tmp_path: Path, summary: str) -> None:
    assert told(check_page(tmp_path, page(more=f"summary: {summary}\n"))) == []
