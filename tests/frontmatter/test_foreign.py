"""Frontmatter in TOML or JSON: read with the same bounds, told, never edited; and text that only looks like it."""

from __future__ import annotations

import json

import pytest

from memoryfield.frontmatter.blocks import MAX_BLOCK_CHARS, find_block
from memoryfield.page import Page, with_block_of, with_filled_frontmatter, with_keys

UUID = "6f1c1c6e-8f39-4a52-9d1a-0d9f6f3a2b10"
BOM = "\ufeff"
BODY = "\nThey heat evenly.\n"

TOML = f"""+++
# by hand
title = "Woks: \\"thin\\" ones"
summary = 'C:\\new'
uuid = "{UUID}"
created = 2026-03-14T09:12:40Z
updated = 2026-03-15
tags = ["a", "b"]

[author]
name = "Ann"
since = 07:32:00
+++
{BODY}"""
TOML_KEYS = {
    "title": 'Woks: "thin" ones',
    "summary": "C:\\new",
    "uuid": UUID,
    "created": "2026-03-14T09:12:40Z",
    "updated": "2026-03-15",
    "tags": ["a", "b"],
    "author": {"name": "Ann", "since": "07:32:00"},
}
JSON = json.dumps({**TOML_KEYS, "n": 1.5, "none": None}, indent=2) + "\n" + BODY
FOREIGN = {
    "TOML": TOML,
    "JSON": JSON,
    "JSON on one line": json.dumps(TOML_KEYS) + "\n" + BODY,
    "TOML that is not valid": f'+++\ntitle = "Woks"\nuuid = "{UUID}"\nn = \n+++\n{BODY}',
    "TOML that is not closed": f'+++\ntitle = "Woks"\n{BODY}',
    "TOML that begins with a table": f'+++\n\n# why\n[a."b c"]\nn = 1\n+++\n{BODY}',
    "JSON that is not valid": f'{{\n  "title": "Woks",\n  "n": nope\n}}\n{BODY}',
    "deep TOML": f'+++\ntitle = "Woks"\nn = {"[" * 2000}{"]" * 2000}\n+++\n{BODY}',
    "TOML with a key of very many parts": f'+++\ntitle = "Woks"\n{".".join("a" * 30_000)} = 1\n+++\n{BODY}',
    "TOML with very many values": f'+++\ntitle = "Woks"\nn = [{"1," * 12_000}]\n+++\n{BODY}',
    "deep JSON": '{"title": "Woks", "n": ' + "[" * 60 + "]" * 60 + "}\n" + BODY,
    "very deep JSON": '{\n"title": "Woks",\n"n": ' + "[" * 30_000 + "]" * 30_000 + "\n}\n" + BODY,
    "long TOML": f'+++\ntitle = "Woks"\nn = "{"x" * MAX_BLOCK_CHARS}"\n+++\n{BODY}',
    "long JSON": '{\n"title": "Woks",\n"n": "' + "x" * MAX_BLOCK_CHARS + '"\n}\n' + BODY,
    "a number of many digits in TOML": f'+++\ntitle = "Woks"\nn = {"9" * 9000}\n+++\n{BODY}',
    "a number of many digits in JSON": '{\n"title": "Woks",\n"n": ' + "9" * 9000 + "\n}\n" + BODY,
    "a surrogate in JSON": '{"title": "Woks", "n": "\\ud800"}\n' + BODY,
}


def page(text: str) -> Page:
    return Page("the-name.md", text.encode())


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", ["", BOM, "\n\n", " \n"])
@pytest.mark.parametrize(("text", "kind"), [(TOML, "toml"), (JSON, "json")])
def test_toml_and_json_are_read_with_dates_as_text(text: str, kind: str, before: str, newline: str) -> None:
    read = page((before + text).replace("\n", newline))
    assert read.block is not None
    assert (read.block.kind, read.block.closed) == (kind, True)
    assert read.frontmatter.items() >= TOML_KEYS.items()
    assert read.body == BODY.replace("\n", newline)
    assert (read.title, read.uuid, read.updated) == ('Woks: "thin" ones', UUID, "2026-03-15")
    assert [(problem.code, problem.column) for problem in read.problems] == [(kind, 1)]
    assert read.problems[0].line == (before + text).count("\n", 0, len(before)) + 1
    assert "not YAML" in read.problems[0].message


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_foreign_block_has_one_problem_keeps_the_known_keys_and_is_never_touched(text: str) -> None:
    read = page(text)
    assert len(read.problems) == 1
    assert "\n" not in read.problems[0].message
    assert read.title in ("Woks", 'Woks: "thin" ones', "the-name")
    assert read.title != "the-name" or "title" not in text
    assert read.body.endswith(BODY)
    json.dumps(read.frontmatter, allow_nan=False, ensure_ascii=False).encode()
    assert read.has_frontmatter
    assert not read.frontmatter_is_valid
    assert read.key_places == {}
    assert read.yaml_features == []
    assert with_keys(read, title="New") is None
    assert with_filled_frontmatter(read, title="New", summary="S") == read.raw
    assert with_block_of(page("---\ntitle: x\n---\n"), read).raw == read.raw


def test_a_foreign_block_is_not_handed_on_to_the_page_that_replaces_it_and_its_uuid_is() -> None:
    stored, new = page(TOML), page("New\n")
    assert with_block_of(stored, new).raw == new.raw
    written = page(with_filled_frontmatter(new, kept=stored).decode())
    assert written.frontmatter_is_valid
    assert (written.uuid, written.created) == (UUID, "2026-03-14T09:12:40Z")


@pytest.mark.parametrize(
    ("name", "line", "code"),
    [
        ("TOML that is not valid", 4, "toml"),
        ("TOML that is not closed", 1, "unclosed"),
        ("JSON that is not valid", 3, "json"),
        ("deep TOML", 1, "expands"),
        ("TOML with a key of very many parts", 1, "expands"),
        ("TOML with very many values", 1, "expands"),
        ("deep JSON", 1, "expands"),
        ("long TOML", 1, "too-long"),
        ("long JSON", 1, "too-long"),
    ],
)
def test_a_problem_of_a_foreign_block_says_what_and_where(name: str, line: int, code: str) -> None:
    problem = page(FOREIGN[name]).problems[0]
    assert (problem.line, problem.code) == (line, code)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('title = "a \\"b\\"" # why\nsummary = \'it\' # x\n', {"title": 'a "b"', "summary": "it"}),
        ('title = ""\nuuid = # none\ncreated = 2026-03-14 # made\n', {"created": "2026-03-14"}),
        ('title = "C:\\new"\nsummary = "\\q"\n', {"title": "C:\new", "summary": "\\q"}),
        ('title = ["a"]\nupdated = "a" "b"\n', {"updated": 'a" "b'}),
    ],
)
def test_known_keys_of_broken_toml_are_taken_as_text_without_their_quotes(lines: str, expected: dict[str, str]) -> None:
    assert page(f"+++\nbroken = \n{lines}+++\n").frontmatter == expected


TEXTS = [
    "+++\n",
    "+++\nJust words.\n+++\n",
    "+++\n\n+++\n",
    "+++\nfar = away, but = no: key\n".replace("far = ", "far off = "),
    "+++ b/file.py\n@@ -1 +1 @@\n",
    "++++\na = 1\n++++\n",
    "+++\n[not a table](https://example.org)\n+++\n",
    "{",
    "{}",
    "{}\n\nText\n",
    "{ so it begins }\n",
    '{"a": 1}\n\nThat was an example.\n',
    '{"error": {"title": "x"}}\n',
    '{"title": "x"} is what the server answered\n',
    '{"title": "x"\n',
    '{"title": "x",}\n\nText\n',
    '{\n  "status": 200,\n  "broken": ,\n}\n\nText\n',
    '[{"title": "x"}]\n',
    "{{< figure >}}\n\nText\n",
    "{% raw %}\n",
    "{title: Woks}\n\nText\n",
    '```\n{"title": "x"}\n```\n',
    'Text\n\n+++\ntitle = "x"\n+++\n',
    'text {"title": "x"}\n',
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_page_that_only_looks_like_it_is_text(text: str) -> None:
    read = page(text)
    assert read.block is None
    assert read.body == text
    assert read.problems == []
    assert page(with_filled_frontmatter(read).decode()).body.endswith(text)


@pytest.mark.parametrize(
    "unit", ["[", "{", "a.", "a = 1\n", "+++\n", '{"title":', "[a]\n", " ", "\r", '"', "# a\n", "a\n"]
)
@pytest.mark.parametrize("head", ["+++\ntitle = 'x'\n", "+++\n", '{"title": ', '{\n"title": "x",\n', "{"])
def test_five_megabytes_of_it_are_read(head: str, unit: str) -> None:
    read = page(head + unit * (5_000_000 // len(unit)))
    assert len(read.problems) <= 1
    assert set(read.frontmatter) <= {"title"}
    block = find_block(read.text)
    assert block == read.block
