"""Sections: where they begin and end, and how one is found."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryfield.errors import SectionNotFoundError
from memoryfield.page import Page
from memoryfield.sections import anchor, find_section, sections

BODY = """intro

# Woks

They heat evenly.

## Why `carbon` steel?

It is *light*.

### Example

One.

## Care

```
# no heading
```

### Example

Two.
"""


def found(body: str, wanted: str) -> str:
    """The text of a section."""
    section = find_section(Page("woks.md", body.encode()), wanted)
    return body[section.start : section.end]


def test_a_section_runs_to_the_next_heading_of_its_level_or_higher() -> None:
    texts = [(section.level, section.text, BODY[section.start : section.end]) for section in sections(BODY)]
    why = BODY[BODY.index("## Why") : BODY.index("## Care")]
    care = BODY[BODY.index("## Care") :]
    assert texts == [
        (1, "Woks", BODY[BODY.index("# Woks") :]),
        (2, "Why `carbon` steel?", why),
        (3, "Example", "### Example\n\nOne.\n\n"),
        (2, "Care", care),
        (3, "Example", "### Example\n\nTwo.\n"),
    ]


def test_a_page_without_headings_has_no_sections() -> None:
    assert sections("") == sections("text\n") == []


def test_a_higher_level_ends_every_section_under_it() -> None:
    body = "### A\na\n###### B\nb\n## C\nc\n\nD\n=\nd\n"
    assert [body[section.start : section.end] for section in sections(body)] == [
        "### A\na\n###### B\nb\n",
        "###### B\nb\n",
        "## C\nc\n\n",
        "D\n=\nd\n",
    ]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("Woks", "woks"),
        ("Why `carbon` steel?", "why-carbon-steel"),
        ("Limits & Retries", "limits--retries"),
        ("A [link](https://a.example/b_c) and [another][ref]", "a-link-and-another"),
        ("![a picture](x.png) Woks", "woks"),
        ("**Bold**, *em*, __both__ and ~~none~~", "bold-em-both-and-none"),
        ("snake_case and 2 * 3", "snake_case-and-2--3"),
        ("`__init__` and `a``b` ``c`d``", "__init__-and-ab-cd"),
        ("<kbd>Ctrl</kbd> &amp; <https://a.example>", "ctrl--httpsaexample"),
        (r"\*not em\* \`nor code\`", "not-em-nor-code"),
        ("Привет non-latin 你好", "привет-non-latin-你好"),
        ("สวัสดี", "สวัสดี"),
        ("Cafe\u0301 ½ Ⅷ", "cafe\u0301--ⅷ"),
        ("😄 emoji", "-emoji"),
        ("[[wiki]] a < b > c", "wiki-a--b--c"),
        ("???", ""),
    ],
)
def test_anchors_are_those_of_github(heading: str, expected: str) -> None:
    assert anchor(heading) == expected


def test_repeated_headings_get_numbers_that_no_other_has() -> None:
    body = "# A\n# A 1\n# A\n# a\n# ?\n# !\n"
    assert [section.anchor for section in sections(body)] == ["a", "a-1", "a-2", "a-3", "", "-1"]


@pytest.mark.parametrize(
    "wanted",
    [
        "Why `carbon` steel?",
        "Why carbon steel?",
        "  why   CARBON steel? ",
        "why-carbon-steel",
        "Why-Carbon-Steel",
        "why carbon steel",
    ],
)
def test_a_section_is_found_by_heading_or_anchor(wanted: str) -> None:
    assert found(BODY, wanted).startswith("## Why `carbon` steel?")


def test_unicode_has_no_forms_here() -> None:
    assert found("# Cafe\u0301\n", "CAFÉ") == "# Cafe\u0301\n"


def test_the_heading_as_written_comes_first() -> None:
    assert found("# woks\n# Woks\n", "Woks") == "# Woks\n"
    assert found("# A-1\n# a\n# A\n", "A-1") == "# A-1\n"


def test_of_equal_headings_each_is_found_by_its_anchor() -> None:
    with pytest.raises(SectionNotFoundError, match="has 2 sections 'Example'") as caught:
        found(BODY, "Example")
    assert caught.value.suggestions == ("woks.md#example", "woks.md#example-1")
    assert found(BODY, "example") == "### Example\n\nOne.\n\n"
    assert found(BODY, "example-1") == "### Example\n\nTwo.\n"
    assert found("# a\n1\n# a\n2\n", "a") == "# a\n1\n"


def test_an_anchor_is_that_of_one_heading_whatever_others_say() -> None:
    body = "# Same\n1\n# Same\n2\n# same-1\n3\n# Same 1\n4\n"
    assert [section.anchor for section in sections(body)] == ["same", "same-1", "same-1-1", "same-1-2"]
    assert found(body, "same-1") == "# Same\n2\n"
    assert found(body, "same-1-1") == "# same-1\n3\n"
    assert found(body, "Same 1") == "# Same 1\n4\n"
    assert found("# Foo\n1\n# foo\n2\n", "foo") == "# Foo\n1\n"


@pytest.mark.parametrize("wanted", ["caf%C3%A9-100", "caf%c3%a9-100", "Caf%C3%A9%20100%25", "CAF%C3%A9 100%"])
def test_an_anchor_may_be_percent_encoded(wanted: str) -> None:
    assert found("# Café 100%\n", wanted) == "# Café 100%\n"


def test_a_percent_sign_that_encodes_nothing_is_one() -> None:
    assert found("# 50%C3 off\n# 50Ã off\n", "50%C3 off") == "# 50%C3 off\n"
    with pytest.raises(SectionNotFoundError, match="'caf%C3'"):
        found("# Woks\n", "caf%C3")


def test_where_there_is_none_the_closest_are_named() -> None:
    with pytest.raises(
        SectionNotFoundError, match=r"no section 'carbon'.*Did you mean woks.md#why-carbon-steel"
    ) as caught:
        found(BODY, "carbon")
    assert caught.value.wanted == "woks.md#carbon"
    assert caught.value.suggestions[0] == "woks.md#why-carbon-steel"
    with pytest.raises(SectionNotFoundError) as caught:
        found(BODY, "cares")
    assert caught.value.suggestions == ("woks.md#care",)
    with pytest.raises(SectionNotFoundError, match=r"`memoryfield read --outline woks.md` shows its headings"):
        found(BODY, "nothing like it")
    with pytest.raises(SectionNotFoundError, match="It has no headings"):
        found("text\n", "woks")


@pytest.mark.parametrize("wanted", ["", " ", "#", "?"])
def test_nothing_is_no_heading(wanted: str) -> None:
    with pytest.raises(SectionNotFoundError):
        found(BODY, wanted)


def test_a_heading_of_signs_alone_is_found_by_them() -> None:
    assert found("# ???\nA\n# !!!\n", "???") == "# ???\nA\n"


@given(st.text(alphabet="#-= abAB`*_[]()<>\\&;\n\r\t"))
def test_every_section_is_found_by_its_anchor(body: str) -> None:
    for section in sections(body):
        assert body[section.start : section.end].lstrip(" ")[:1] not in ("", "\n", "\r")
        if section.anchor and not any(_bare(other.text) == section.anchor for other in sections(body)):
            assert find_section(Page("a.md", body.encode()), section.anchor) == section


def _bare(text: str) -> str:
    return " ".join(re.sub(r"[`*_\\\[\]()<>&;]", "", text).lower().split())


@pytest.mark.parametrize("sign", ["`", "[", "](", "<a", "*", "_", "a_ ", "` `` ", "![", "[a](", "\\", "&", "# "])
def test_no_heading_takes_long(sign: str) -> None:
    short, long = (_seconds("# " + sign * count) for count in (20_000, 80_000))
    assert long < 16 * max(short, 0.01)


def _seconds(body: str) -> float:
    start = time.process_time()
    sections(body)
    return time.process_time() - start
