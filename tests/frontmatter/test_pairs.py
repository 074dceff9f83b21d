"""Keys and values as they are written into a block: what is read back is what was given."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryfield.frontmatter.rewriting import _export, _is_plain, pair
from memoryfield.page import Page, with_keys


def read_back(block: str) -> dict[str, Any]:
    page = Page("page.md", f"---\n{block}---\nText.\n".encode())
    assert page.problems == []
    return page.frontmatter


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("title", "Which wok?", "title: Which wok?\n"),
        ("title", "yes", "title: 'yes'\n"),
        ("created", "2024-01-02T03:04:05Z", 'created: "2024-01-02T03:04:05Z"\n'),
        ("tags", ["a", "b.c"], "tags: [a, b.c]\n"),
        ("tags", ["a b", "no", "1"], "tags: [\"a b\", 'no', '1']\n"),
        ("tags", [], "tags: []\n"),
        ("no", "x", "'no': x\n"),
        ("n", 5, "n: 5\n"),
    ],
)
def test_a_pair_is_written_on_a_line(key: str, value: Any, wanted: str) -> None:
    assert pair(key, value) == wanted
    assert read_back(wanted) == {key: value}


values = st.one_of(st.text(), st.lists(st.text()), st.integers(-(2**60), 2**60), st.booleans(), st.none())


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1), values)
def test_whatever_is_written_is_read(key: str, value: Any) -> None:
    text = pair(key, value)
    page = Page("page.md", f"---\n{text}---\nText.\n".encode())
    if page.problems:  # characters that YAML refuses even in quotes
        return
    assert list(page.frontmatter.values()) == [value]


@given(st.text(alphabet="aAyYnNoOtTrRuUeEfF019 ()/._-", max_size=12))
def test_what_is_plain_is_what_the_dumper_leaves_plain(text: str) -> None:
    if _is_plain(text):
        assert _export({"key": text}) == f"key: {text}"


def test_every_uuid_is_plain() -> None:
    for number in range(500):
        made = str(uuid.uuid5(uuid.NAMESPACE_URL, str(number)))
        assert pair("uuid", made) == f"uuid: {made}\n" == _export({"uuid": made}) + "\n"


def test_a_list_takes_the_place_of_another() -> None:
    page = Page("a.md", b"---\ntags:\n- old\n- older\n# kept\ntitle: T\n---\nText.\n")
    edited = with_keys(page, tags=["old", "new one"], aliases=["x"])
    assert edited is not None
    assert Page("a.md", edited).frontmatter == {"tags": ["old", "new one"], "title": "T", "aliases": ["x"]}
    assert b"# kept\n" in edited
