"""Links in Markdown: which are found, where they lead, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memoryfield.validation.links import links


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("[a](woks.md)", "woks.md"),
        ("see [a](woks.md#heat).", "woks.md#heat"),
        ('[a](woks.md "a title")', "woks.md"),
        ("[a]( woks.md )", "woks.md"),
        ("[a](\nwoks.md\n)", "woks.md"),
        ("[a](<old woks.md>)", "old woks.md"),
        ("[a](old%20woks.md)", "old woks.md"),
        ("[a](a(b).md)", "a(b).md"),
        (r"[a](a\(b.md)", "a(b.md"),
        (r"[a \[b](woks.md)", "woks.md"),
        ("![a](woks.png)", "woks.png"),
        ("[**a** [b]](woks.md)", "woks.md"),
        ("[a]: woks.md", "woks.md"),
        ("text\n\n[a]:\n  <old woks.md> 'title'", "old woks.md"),
        ("- item\n\n    [in a list](woks.md)", "woks.md"),
        ("> [quoted](woks.md)", "woks.md"),
        ("a ` [one backtick](woks.md)", "woks.md"),
        ("line\n    [a continued paragraph](woks.md)", "woks.md"),
        ("```\ncode\n```\n[after](woks.md)", "woks.md"),
        ("<!-- no end [a](woks.md)", "woks.md"),
        ("> ```\n> code\n\n[a](woks.md)", "woks.md"),
        ("- ```\n  code\n\n[a](woks.md)", "woks.md"),
        ("[a [b] c](woks.md)", "woks.md"),
    ],
)
def test_a_link_is_found_with_its_place(text: str, target: str) -> None:
    (link,) = links(text)
    assert link.target == target
    assert text[link.start : link.end].replace("%20", " ").replace("\\", "") == target


@pytest.mark.parametrize(
    "text",
    [
        "`[a](woks.md)`",
        "``a ` [a](woks.md)``",
        "```\n[a](woks.md)\n```",
        "~~~ text\n[a](woks.md)\n```\n[a](woks.md)\n~~~",
        "text\n\n    [a](woks.md)\n",
        "text\n\n\t[a](woks.md)\n\n\t[b](woks.md)",
        "- item\n\ntext\n\n    [a](woks.md)",
        "<!-- [a](woks.md) -->",
        "[^1]: woks.md",
        "[a] (woks.md)",
        "a]b",
        "[a]()",
        r"\[a](woks.md)",
        r"See [1] and \[a](woks.md)",
        "- item\n\n      [a](woks.md)",
        "<pre>\n[a](woks.md)\n</pre>",
        "> ```\n> [a](woks.md)",
    ],
)
def test_what_is_no_link_is_not_found(text: str) -> None:
    assert not [link for link in links(text) if link.page]


@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("[a](woks.md)", "woks.md"),
        ("[a](./woks.md?x#y)", "woks.md"),
        ("[a](Woks.MD)", "Woks.MD"),
        ("[a](C%23%20notes.md#top)", "C# notes.md"),
        ("[a](what%3F.md?x)", "what?.md"),
        ("[a](#heat)", None),
        ("[a](woks)", None),
        ("[a](woks.png)", None),
        ("[a](https://example.org/woks.md)", None),
        ("[a](folder/woks.md)", None),
        ("[a](../woks.md)", None),
        ("[a](/woks.md)", None),
        ("[a](mailto:a@woks.md)", None),
    ],
)
def test_a_link_leads_to_a_page_of_the_field_or_elsewhere(text: str, page: str | None) -> None:
    assert [link.page for link in links(text)] == [page]


PIECES = ["[a](b.md)", "[c](<d e.md>)", "`", "``", "```", "\n", "\n\n", "    ", "text", " ", "~~~"]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_the_links_that_a_markdown_parser_sees_are_found_and_no_others(text: str) -> None:
    tokens = [token for block in MarkdownIt().parse(text) for token in block.children or []]
    seen = [str(token.attrs["href"]).replace("%20", " ") for token in tokens if token.type == "link_open"]
    assert [link.target for link in links(text)] == seen


@pytest.mark.parametrize("piece", ["[", "](", "]((", "` `` ", "<!--", "<!-- -->", "[a]:", "> ", "\n \n", "](<", "](\\"])
def test_a_megabyte_of_half_links_is_read_once(piece: str) -> None:
    assert len(list(links(piece * (1_000_000 // len(piece)) + "[a](b.md)"))) <= 2
