"""The quick reader of plain frontmatter beside the YAML parser: it says the same, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryfield.frontmatter import plain_yaml, safe_yaml
from memoryfield.frontmatter.safe_yaml import YamlError, plain_mapping

UUID = "6f1c1c6e-8f39-4a52-9d1a-0d9f6f3a2b10"


def test_usual_frontmatter_is_read() -> None:
    source = (
        f'title: "Re: Wöks, “hot”"\nuuid: {UUID}\ncreated: "2026-03-14T09:12:40Z"\n'
        "summary: Steel, isn't 2 mm (thin)?\ntags: [pans, carbon-steel]\nsource: https://example.org/a?b=c\n"
    )
    assert plain_yaml.read(source) == {
        "title": "Re: Wöks, “hot”",
        "uuid": UUID,
        "created": "2026-03-14T09:12:40Z",
        "summary": "Steel, isn't 2 mm (thin)?",
        "tags": ["pans", "carbon-steel"],
        "source": "https://example.org/a?b=c",
    }


@pytest.mark.parametrize(
    "source",
    [
        "title: Re: a\n",
        "title: yes\n",
        "title: Null\n",
        "on: a\n",
        "a: b #c\n",
        "a: 'b'\n",
        'a: "\\n"\n',
        "a: 1\n",
        "a: 2026-03-14\n",
        "a: b\na: c\n",
        "a: b",
        "a: b\r\n",
        "a:\n",
        " a: b\n",
        "a: b \n",
        "a: [b, no]\n",
        "a: [b, 1]\n",
        "a: []\n",
        "a: [b, [c]]\n",
        "a: http://b: c\n",
        "a: http://b #c\n",
        'a: "b\u2028c"\n',
        'a: "b\x85c"\n',
        'a: "b\ufeffc"\n',
        "a: b\n\n",
        "# c\n",
    ],
)
def test_everything_else_is_left_to_the_parser(source: str) -> None:
    assert plain_yaml.read(source) is None


PIECES = [
    "a",
    "title",
    "On",
    "y",
    "NULL",
    "true",
    ": ",
    ":",
    '"',
    "'",
    " ",
    "\n",
    ",",
    "-",
    ".",
    "1",
    "0x1",
    "e",
    "_",
    "~",
    "é",
    "炭",
]
lines = st.tuples(
    st.one_of(
        st.sampled_from(["a", "b", "title", "on", "y", "_", "null", "x-1"]), st.text("ab1_-", min_size=1, max_size=5)
    ),
    st.one_of(
        st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
        st.text(max_size=8).map(lambda text: f'"{text}"'),
        st.text(max_size=8).map(lambda text: f"a{text}"),
        st.lists(st.from_regex(r"[A-Za-z0-9_.-]{1,5}", fullmatch=True)).map(lambda items: f"[{', '.join(items)}]"),
        st.from_regex(r"https?://[a-z0-9.~/?=&%+#:-]{1,12}", fullmatch=True),
        st.from_regex(r"[A-Za-z0-9_()/.,+:'?!;=%~ -]{1,12}", fullmatch=True),
        st.uuids().map(str),
    ),
).map(lambda pair: f"{pair[0]}: {pair[1]}\n")


@given(st.lists(lines, max_size=4).map("".join))
@settings(max_examples=500)
@example("a: Inf\n")
@example("a: e-1/.\n")
def test_what_is_read_is_what_the_parser_reads(source: str) -> None:
    quick = plain_yaml.read(source)
    if quick is None:
        return
    try:
        loaded = safe_yaml.load(source)
    except YamlError as error:
        raise AssertionError(source) from error
    assert loaded.repeated == []
    assert plain_mapping(loaded.value or {}) == quick
