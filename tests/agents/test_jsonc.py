"""Single values change in JSON with comments, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryfield.agents.jsonc import BrokenJsonError, get, put, remove
from memoryfield.errors import RefusedError

ENTRY = {"command": "memoryfield", "args": ["mcp"]}
KEYS = ("mcpServers", "memoryfield")
COMMENTED = """// my servers
{
    // before
    "mcpServers": {
        /* the first */
        "other": {"command": "x"}, // and why
        // the end
    },
    "theme": "dark", // nice
}
// after
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "a": 1\n}\n'),
        ("{}", '{\n  "a": 1\n}'),
        ("\ufeff{}\r\n", '\ufeff{\r\n  "a": 1\r\n}\r\n'),
        ('{"b": 2}', '{"b": 2, "a": 1}'),
        ('{"b": 2,}', '{"b": 2, "a": 1,}'),
        ('{\n\t"b": 2\n}\n', '{\n\t"b": 2,\n\t"a": 1\n}\n'),
        ('{\r\n  "b": 2\r\n}\r\n', '{\r\n  "b": 2,\r\n  "a": 1\r\n}\r\n'),
        ('{\n  "b": 2 // two\n}\n', '{\n  "b": 2, // two\n  "a": 1\n}\n'),
        ('{\n  "b": 2, // two\n}\n', '{\n  "b": 2, // two\n  "a": 1,\n}\n'),
        ("{ // nothing yet\n}\n", '{ // nothing yet\n  "a": 1\n}\n'),
        ('{"a": 0}', '{"a": 1}'),
        ('{"a": [1, /* x */ 2] /* y */}', '{"a": 1 /* y */}'),
        ('{"a": true}', '{"a": 1}'),
        ('{"\\u0061": 1.0}', '{"\\u0061": 1}'),
        ('{"a": 1 /* kept */ }', '{"a": 1 /* kept */ }'),
    ],
)
def test_a_value_is_put_where_it_belongs(before: str, after: str) -> None:
    assert put(before, ("a",), 1) == after
    assert put(after, ("a",), 1) == after


def test_comments_and_form_stay() -> None:
    after = put(COMMENTED, KEYS, ENTRY)
    added = """
        "memoryfield": {
            "command": "memoryfield",
            "args": [
                "mcp"
            ]
        },"""
    assert after == COMMENTED.replace("        // the end", f"        // the end{added}")
    assert get(after, KEYS) == ENTRY
    assert remove(after, KEYS) == COMMENTED


@pytest.mark.parametrize(
    "before",
    [
        COMMENTED,
        '{"mcpServers": {"other": {}}}',
        '{\n  "mcpServers": {\n    "other": {}\n  }\n}\n',
        '{\n  "mcpServers": {\n    "other": {},\n  },\n}\n',
        '{\r\n\t"theme": "dark"\r\n}',
        '{"theme": "dark"}',
        "{}",
        "{ /* empty */ }",
        '{"a": {}, "mcpServers": { /* none yet */ }}',
    ],
)
def test_what_was_put_can_be_taken_away_without_a_trace(before: str) -> None:
    after = put(before, KEYS, ENTRY)
    assert get(after, KEYS) == ENTRY
    assert remove(after, KEYS) == before


def test_one_between_others_is_taken_away() -> None:
    assert remove('{"a": 1, "b": 2, "c": 3}', ("b",)) == '{"a": 1, "c": 3}'
    assert remove('{"b": 2, "c": 3}', ("b",)) == '{ "c": 3}'
    assert remove('{\n  "b": 2, // b\n  "c": 3\n}', ("b",)) == '{ // b\n  "c": 3\n}'
    assert remove('{"a": 1}', ("b", "c")) == '{"a": 1}'


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("{", 1, 2),
        ('{"a" 1}', 1, 6),
        ('{\n  "a": 1\n  "b": 2\n}', 3, 3),
        ("{'a': 1}", 1, 2),
        ('{"a": 01}', 1, 7),
        ('{"a": nul}', 1, 7),
        ('{"a": 1} x', 1, 10),
        ('{"a": "x\n"}', 1, 7),
        ('{"a": [1 2]}', 1, 10),
        ("{,}", 1, 2),
        ('{"a": 1,,}', 1, 9),
        ("// nothing", 1, 11),
        ('{"a": 1} /* open', 1, 10),
        ("[" * 100_000, 1, 202),
    ],
)
def test_what_is_broken_is_told_with_its_place(text: str, line: int, column: int) -> None:
    for change in (lambda: put(text, ("a",), 1), lambda: remove(text, ("a",)), lambda: get(text, ("a",))):
        with pytest.raises(BrokenJsonError) as caught:
            change()
        assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"mcpServers": {"b": {}}, "mcpServers": {"memoryfield": {}}}', "mcpServers stands twice"),
        ('{"mcpServers": {"memoryfield": {}, "\\u006demoryfield": {}}}', "mcpServers.memoryfield stands twice"),
        ('{"mcpServers": []}', "mcpServers is no object"),
        ('{"mcpServers": null}', "mcpServers is no object"),
        ("[]", "the whole is no object"),
    ],
)
def test_what_is_not_one_object_is_neither_read_nor_changed(text: str, says: str) -> None:
    for change in (lambda: put(text, KEYS, ENTRY), lambda: remove(text, KEYS), lambda: get(text, KEYS)):
        with pytest.raises(RefusedError, match=says):
            change()


def test_a_number_of_more_digits_than_python_reads_is_told() -> None:
    assert remove('{"b": ' + "1" * 5_000 + ', "a": 1}', ("a",)) == '{"b": ' + "1" * 5_000 + "}"
    with pytest.raises(RefusedError, match="Exceeds the limit"):
        get('{"a": ' + "1" * 5_000 + "}", ("a",))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=5), VALUES, st.sampled_from([None, 2, "\t"]))
def test_any_json_is_read_changed_and_changed_back(document: dict[str, Any], value: Any, indent: Any) -> None:
    document.pop("ours", None)
    text = json.dumps(document, indent=indent)
    changed = put(text, ("ours",), value)
    assert json.loads(changed) == {**document, "ours": value}
    assert list(json.loads(changed))[:-1] == list(document)
    assert remove(changed, ("ours",)) == text


GAPS = st.sampled_from(["", "", " ", "\n", "\n    ", "\t", " // } , \n", "/* { */", "/* \n */ "])


@st.composite
def documents(draw: st.DrawFn, depth: int = 0) -> str:
    """JSON with comments and trailing commas, as somebody wrote it; at the top, other servers, or none."""
    names = (
        [] if depth > 2 else draw(st.lists(st.sampled_from(["a", "b", "\\u0063", "d // {"]), unique=True, max_size=3))
    )
    inner = documents(depth + 1) | st.sampled_from(["1", '"/*"', "[1, /* ] */ {},]", "null", "{}"])
    members = [f'"{name}"{draw(GAPS)}:{draw(GAPS)}{draw(inner)}{draw(GAPS)}' for name in names]
    if depth == 0 and draw(st.booleans()):
        servers = "{" + draw(GAPS) + f'"b": {draw(inner)}' + draw(st.sampled_from(["", ","])) + draw(GAPS) + "}"
        members.insert(draw(st.integers(0, len(members))), f'"mcpServers":{draw(GAPS)}{servers}{draw(GAPS)}')
    text = ",".join(member + "" if not index else draw(GAPS) + member for index, member in enumerate(members))
    text = "{" + (draw(GAPS) + text + draw(st.sampled_from(["", ","])) + draw(GAPS) if members else "") + "}"
    if depth:
        return text
    text = draw(GAPS) + text + draw(GAPS)
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(documents())
def test_what_was_put_into_any_form_can_be_taken_away_without_a_trace(text: str) -> None:
    changed = put(put(text, (*KEYS, "command"), "x"), (*KEYS, "args"), ["mcp"])
    assert get(changed, KEYS) == {"command": "x", "args": ["mcp"]}
    assert get(remove(changed, KEYS), ()) == get(text, ())
    assert remove(changed, KEYS) == text
