"""The written format itself: its examples hold, its files say the same, every requirement has a place."""

from __future__ import annotations

import json
import re
from pathlib import Path

import apsw
import pytest
import sqlite_vec
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from memoryfield import Field
from memoryfield.index.schema import PAGES
from memoryfield.page import Page
from memoryfield.validation import explain, requirements, validate

from ..cli.support import forked, make_kitchen

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "spec"
TEXT = (SPEC / "memoryfield.md").read_text(encoding="utf-8")
IDENTIFIERS = re.findall(r"^- \*\*([A-Z]-\d+)\*\*", TEXT, re.MULTILINE)


def block(language: str, containing: str) -> str:
    (found,) = (one for one in re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S) if containing in one)
    return str(found)


def test_every_requirement_is_read_with_its_reason_and_is_there_once() -> None:
    assert len(IDENTIFIERS) == len(set(IDENTIFIERS)) > 100
    assert list(requirements()) == IDENTIFIERS
    for one in requirements().values():
        assert re.search(r"\b(MUST|SHOULD|MAY)\b", one.text), one.id
        assert one.why, one.id
        assert one.mend, one.id


def test_identifiers_of_a_letter_count_up() -> None:
    for letter in {identifier[0] for identifier in IDENTIFIERS}:
        numbers = [int(one[2:]) for one in IDENTIFIERS if one[0] == letter]
        assert sorted(numbers) == list(range(1, len(numbers) + 1)), letter


def test_identifiers_that_the_text_names_are_there() -> None:
    assert set(re.findall(r"\b([A-Z]-\d+)\b", TEXT.replace("SHA-256", "").replace("UTF-8", ""))) <= set(IDENTIFIERS)


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_the_command_explains_it(identifier: str) -> None:
    run = forked("validate", "--explain", identifier.lower())
    assert run.code == 0
    assert explain(identifier).text in run.out
    assert explain(identifier).why in run.out
    assert explain(identifier).mend in run.out


def test_what_looks_for_nothing_is_in_no_rule_and_what_does_is() -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "memoryfield/validation").glob("*.py"))
    code = code[: code.index("MENDING")] + code[code.index("_READER") :] if "MENDING = {" in code else code
    rules = "".join(
        path.read_text(encoding="utf-8")
        for path in (ROOT / "memoryfield/validation").glob("*.py")
        if path.name not in ("requirements.py", "mending.py", "fixes.py")
    )
    for name in ("gate.py", "records.py"):  # a rule hands on what they find
        rules += (ROOT / "memoryfield/containers" / name).read_text(encoding="utf-8")
    for one in requirements().values():
        assert (f'"{one.id}"' in rules) == one.is_visible, one.id


def test_the_page_in_the_text_follows_the_format(tmp_path: Path) -> None:
    text = block("markdown", "uuid:")
    (tmp_path / "woks.md").write_text(text, encoding="utf-8")
    with Field.open(tmp_path) as field:
        assert validate(field.container) == []
        frontmatter = field.read("woks").frontmatter
    schema = json.loads((SPEC / "frontmatter.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    assert list(Draft202012Validator(schema).iter_errors(frontmatter)) == []


def test_the_schema_of_frontmatter_takes_the_samples_and_refuses_what_breaks_a_requirement() -> None:
    schema = Draft202012Validator(json.loads((SPEC / "frontmatter.schema.json").read_text(encoding="utf-8")))
    for path in (ROOT / "samples" / "fieldnotes").glob("*.md"):
        assert list(schema.iter_errors(Page(path.name, path.read_bytes()).frontmatter)) == [], path.name
    for wrong in (
        {"title": 1},
        {"title": " "},
        {"uuid": "x"},
        {"created": "2026-03-14"},
        {"updated": "2026-03-14T09:12:40+01:00"},
        {"tags": "a, b"},
        {"source": 1},
        {"expires": "soon"},
        {"supersedes": ["x"]},
    ):
        assert len(list(schema.iter_errors(wrong))) == 1, wrong


def kind_in_the_text(value: str) -> type:
    """What the table in the text says that a bare value is."""
    rows = re.findall(r"^\| (null|true or false|an integer|a number) \| (.+) \|$", TEXT, re.MULTILINE)
    assert len(rows) == 4
    for kind, cell in rows:
        spans = [span.replace("\\|", "|") for span in re.findall(r"`([^`]+)`", cell)]
        if kind in ("null", "true or false"):
            found = value in " ".join(spans).split() or (kind == "null" and not value)
        else:
            found = any(re.fullmatch(span, value) for span in spans)
        if found:
            return {"null": type(None), "true or false": bool, "an integer": int, "a number": float}[kind]
    return str


@given(
    st.from_regex(r"[-+]?[0-9._:eExXob]{1,6}", fullmatch=True)
    | st.sampled_from(
        "~ null Null nULL NULL yes Yes yES y n on off OFF true TRUE tRUE no 0x_f 0b1 0o7 1e3 1.5e+3".split()
    )
)
@settings(max_examples=300)
@example("")
@example("190:20:30")
@example("190:20:30.15")
@example("08")
@example("-0")
def test_a_bare_value_is_what_the_text_says(value: str) -> None:
    read = Page("a.md", f"---\nkey: {value}\n---\n".encode())
    if read.problems:
        return  # `0x_`, `1:60:`: no value at all
    assert type(read.frontmatter["key"]) is kind_in_the_text(value)


def test_the_answer_in_the_text_is_as_its_schema_says() -> None:
    schema = json.loads((SPEC / "search-result.schema.json").read_text(encoding="utf-8"))
    assert list(Draft202012Validator(schema).iter_errors(json.loads(block("json", '"results"')))) == []


def columns(sql: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(":memory:")
    connection.execute(sql)
    return list(connection.execute("PRAGMA table_info(pages)"))


def test_the_tables_in_the_text_in_the_file_and_in_our_indexes_are_one() -> None:
    ours = columns(PAGES)
    assert columns(block("sql", "CREATE TABLE")) == ours
    assert columns((SPEC / "index.sql").read_text(encoding="utf-8")) == ours


def test_the_query_in_the_text_finds_the_nearest_page(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen", embedded=True)
    connection = apsw.Connection(str(kitchen / "all-MiniLM-L6-v2.sqlite3"), flags=apsw.SQLITE_OPEN_READONLY)
    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())
    ((name, vector),) = connection.execute("SELECT filename, embedding FROM pages ORDER BY filename DESC LIMIT 1")
    found = list(connection.execute(block("sql", "vec_distance_cosine"), {"query": vector}))
    assert found[0][0] == name
    assert found[0][1] == pytest.approx(0, abs=1e-6)
    assert len(found) == 3


def test_links_lead_to_files_and_headings_that_are_there() -> None:
    headings = {re.sub(r"[^a-z0-9 -]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.+)$", TEXT, re.M)}
    targets = re.findall(r"\]\(([^)]+)\)", re.sub(r"```.*?```|`[^`\n]*`", "", TEXT, flags=re.S))
    assert targets
    for target in targets:
        assert (target[1:] in headings) if target.startswith("#") else (SPEC / target).exists(), target
