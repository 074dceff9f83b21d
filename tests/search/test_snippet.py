"""The passage that answers for a page: plain text, short, cut at words, with the query's words marked."""

from __future__ import annotations

import tempfile
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryfield import Field, Hit, Page
from memoryfield.search.snippet import plain

LONGEST = 240


def hit_for(folder: Path, text: str, query: str) -> Hit:
    """A page of this text, found by a query."""
    (folder / "page.md").write_text(text, encoding="utf-8")
    (folder / "other.md").write_text("nothing in common here", encoding="utf-8")
    with Field.open(folder) as field:
        found = field.search(query, mode="keyword", min_score=0).results
    assert [hit.filename for hit in found] == ["page.md"]
    return found[0]


def shown(body: str, *words: str) -> str:
    """The snippet of a page with this body for a query of these words; without any, for one that only its title has."""
    text = body if body.startswith("---\n") else f"---\ntitle: Quench\n---\n\n{body}"
    with tempfile.TemporaryDirectory() as folder:
        return hit_for(Path(folder), text, " ".join(words) or "quench").snippet


def sentences(count: int, start: int = 0) -> str:
    """Filler: sentences of six words that stand nowhere else."""
    return " ".join(f"Filler{number} has some words, {number} even." for number in range(start, start + count))


# The passage


@given(
    body=st.lists(st.text(max_size=12) | st.sampled_from(["wok", "# wok", "\n", "**", "`", "| a |"]), max_size=80).map(
        " ".join
    )
)
@settings(max_examples=60, deadline=None)
def test_a_snippet_is_short_printable_and_on_one_line(body: str) -> None:
    for found in (shown(body, "wok", "quench"), shown(body)):
        assert len(found) <= LONGEST
        assert not any(unicodedata.category(character) == "Cc" for character in found)
        assert found == " ".join(found.split())


def test_it_is_cut_at_words_and_says_where() -> None:
    text = f"{sentences(30)} The wok heats evenly. {sentences(30, 30)}"
    found = shown(text, "wok")
    assert "wok heats evenly." in found
    assert found.startswith("… ")
    assert found.endswith(" …")
    assert (
        found.removeprefix("… ").removesuffix(" …").split() == [word for word in text.split() if word in found.split()]
        or f" {found.removeprefix('… ').removesuffix(' …')} " in f" {text} "
    )
    assert len(found) > 200


def test_a_short_page_is_shown_whole() -> None:
    assert shown("Carbon steel heats evenly.", "steel") == "Carbon steel heats evenly."
    assert shown("Carbon steel heats evenly.") == "Carbon steel heats evenly."


def test_a_page_without_text_has_an_empty_snippet() -> None:
    assert shown("") == ""
    assert shown("---\ntitle: Woks\n---\n", "woks") == ""


def test_a_word_longer_than_a_snippet_is_cut_within() -> None:
    found = shown("x" * 1000)
    assert 200 < len(found) <= LONGEST
    assert found.startswith("xxx")
    assert found.endswith("…")


def test_the_passage_with_most_of_the_query_is_taken() -> None:
    text = f"A wok is here. {sentences(30)} An iron wok needs oil. {sentences(30, 30)} More oil."
    assert "An iron wok needs oil." in shown(text, "wok", "iron", "oil")


def test_of_two_equal_passages_the_first_is_taken() -> None:
    text = f"The first wok. {sentences(40)} The second wok. {sentences(40, 40)}"
    assert "first wok" in shown(text, "wok")


def test_a_sentence_is_shown_from_its_beginning_if_that_is_near() -> None:
    text = f"{sentences(30)} After the long heating the wok is blue. {sentences(30, 30)}"
    assert shown(text, "wok").startswith("… After the long heating the wok is blue.")


def test_the_summary_stands_in_where_no_word_of_the_query_is_in_the_text() -> None:
    text = "---\ntitle: Woks\nsummary: All about pans.\n---\n\nSome other text.\n"
    assert shown(text, "woks") == "All about pans."
    assert shown(text, "text") == "Some other text."


def test_without_a_summary_the_beginning_stands_in() -> None:
    assert shown("---\ntitle: Woks\n---\n\nSome other text.\n", "wok") == "Some other text."


def test_a_long_summary_is_cut_too() -> None:
    found = shown(f"---\ntitle: Quench\nsummary: {'long words ' * 60}\n---\n\nText.\n")
    assert len(found) <= LONGEST
    assert found.endswith("words …") or found.endswith("long …")


# What is no part of it


def test_frontmatter_is_left_out(tmp_path: Path) -> None:
    hit = hit_for(tmp_path, "---\ntitle: Quench\ntags: [wok]\n---\n\nA wok is hot.\n", "wok quench")
    assert hit.snippet == "A wok is hot."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Heading\n\nText", "Text"),
        ("Text\n\n## Heading ##\n\nmore", "Text more"),
        ("some **bold**, *slanted* and ***both***", "some bold, slanted and both"),
        ("call `git log` and ``x``", "call git log and x"),
        ("> quoted\n> text", "quoted text"),
        ("- one\n- two\n* three\n+ four\n1. five\n2) six", "one two three four five six"),
        ('[a link](https://example.org/x_(y)) and ![a picture](p.png "title")', "a link and a picture"),
        ("```python\nprint()\n```\nafter", "print() after"),
        ("~~~\nraw\n~~~\nafter", "raw after"),
        ("| one | two |\n| --- | :-: |\n| three | four |", "one two three four"),
    ],
)
def test_marks_of_markdown_are_left_out(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize("rule", ["===", "---", "***", "- - -", "| --- | :-: |"])
def test_rules_are_left_out(rule: str) -> None:
    assert not set(rule) - {" "} & set(shown(f"One one\n{rule}\n\nTwo\n\n{rule}\n\nThree"))


@pytest.mark.parametrize(
    "text",
    [
        "2 * 3 * 4 is 24, and x**2 is a square",
        "SELECT * FROM pages",
        "enable_load_extension and __init__",
        "a - b, C++, C#, #5, 1.5 > 1",
        "[not a link] (here)",
    ],
)
def test_what_only_looks_like_a_mark_stays(text: str) -> None:
    assert shown(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Run `ls *.md | wc -l` to count.", "Run ls *.md | wc -l to count."),
        ("```sh\ncat *.md | sort\n```", "cat *.md | sort"),
        ("```python\ncall(*args, **kwargs)\n```", "call(*args, **kwargs)"),
    ],
)
def test_code_is_shown_as_it_is(text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize("text", ["ls | wc", "ls|wc", "| ls | wc |", "ls || wc"])
def test_words_beside_a_pipe_are_not_glued(text: str) -> None:
    assert {"ls", "wc"} <= set(shown(text).replace("|", " ").split())


def test_a_word_beside_a_pipe_is_still_found_and_marked(tmp_path: Path) -> None:
    hit = hit_for(
        tmp_path, "Count files with `ls | wc -l` only.\n\n| pan | wok |\n|---|---|\n| iron | steel |\n", "wc wok"
    )
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["wc", "wok"]


_HARMFUL = "\x1b]0;x\x07 \x1b[31m \x9b31m \x00 \x08 \u202e \u2066 \u200b \ufeff"


def _is_harmful(text: str) -> bool:
    return any(character in "\u202e\u2066" or unicodedata.category(character) == "Cc" for character in text)


def test_control_characters_of_the_text_are_left_out(tmp_path: Path) -> None:
    hit = hit_for(tmp_path, f"A wok {_HARMFUL} is hot.\n", "wok")
    assert not _is_harmful(hit.snippet)
    assert "wok" in hit.snippet
    assert "is hot." in hit.snippet


def test_control_characters_of_a_summary_are_left_out(tmp_path: Path) -> None:
    text = '---\ntitle: Quench\nsummary: "All \\e]0;x\\a about \\u202E pans."\n---\n\nSome other text.\n'
    hit = hit_for(tmp_path, text, "quench")
    assert not _is_harmful(hit.snippet)
    assert "pans." in hit.snippet


# The marks


@pytest.mark.parametrize(
    ("text", "query", "marked"),
    [
        ("Woks of iron; the WOK, (wok) and more.", "wok", ["Woks", "WOK", "wok"]),
        ("Heating evenly, it heats.", "heat evenly", ["Heating", "evenly", "heats"]),
        ("Une crème brûlée.", "creme", ["crème"]),
        ("これは中華鍋です", "中華鍋", list("中華鍋")),
        ("call enable_load_extension now", "enable_load_extension", ["enable_load_extension"]),
        ("The wok of the day", "which is the wok of the day", ["wok", "day"]),
    ],
)
def test_marks_point_at_words_of_the_query(tmp_path: Path, text: str, query: str, marked: list[str]) -> None:
    hit = hit_for(tmp_path, text, query)
    assert [hit.snippet[start:end].strip("(),.;") for start, end in hit.marks] == marked


@pytest.mark.parametrize("query", ["wok", "filler7 wok", "even"])
def test_marks_lie_in_the_snippet_in_order(tmp_path: Path, query: str) -> None:
    hit = hit_for(tmp_path, f"{sentences(30)} The wok heats evenly. {sentences(30, 30)}", query)
    assert hit.marks
    edges = [place for mark in hit.marks for place in mark]
    assert edges == sorted(edges)
    assert all(0 <= start < end <= len(hit.snippet) for start, end in hit.marks)
    assert all(not hit.snippet[start:end].isspace() for start, end in hit.marks)


def test_a_summary_is_marked_too(tmp_path: Path) -> None:
    hit = hit_for(tmp_path, "---\ntitle: Pans\nsummary: A wok and pans.\n---\n\nSome other text.\n", "wok")
    assert [hit.snippet[start:end] for start, end in hit.marks] == ["wok"]


def test_an_unclosed_frontmatter_does_not_stop_a_snippet(tmp_path: Path) -> None:
    hit = hit_for(tmp_path, "---\ntitle: Pans\n\nA wok is hot.\n", "hot")
    assert "A wok is hot." in hit.snippet


# A title that asks the query

ASKED = "---\ntitle: Which pan heats evenly?\n{summary}---\n\nOf carbon steel. {filler} No pan heats.\n"


def test_where_the_title_asks_what_was_asked_the_answer_comes_first(tmp_path: Path) -> None:
    """A page is one question, its answer first; the words of the question stand anywhere in the rest of it."""
    text = ASKED.format(summary='summary: "Thin carbon steel."\n', filler=sentences(30))
    assert hit_for(tmp_path, text, "my pan heats evenly").snippet == "Thin carbon steel."
    text = ASKED.format(summary="", filler=sentences(30))
    assert hit_for(tmp_path, text, "my pan heats evenly").snippet.startswith("Of carbon steel. Filler0")


def test_a_passage_that_says_more_than_the_title_is_shown(tmp_path: Path) -> None:
    text = ASKED.format(summary="", filler=f"{sentences(30)} A crepe pan of cast iron heats evenly as well.")
    found = hit_for(tmp_path, text, "crepe pan that heats evenly").snippet
    assert "A crepe pan of cast iron heats evenly" in found


# Where it begins


def test_a_short_body_is_shown_whole(tmp_path: Path) -> None:
    text = "Below 18 % of water it keeps; above 20 % it ferments. Take only combs that are capped."
    assert hit_for(tmp_path, text, "ferments honey").snippet == text


def test_the_last_word_of_a_sentence_brings_the_sentence(tmp_path: Path) -> None:
    text = f"{sentences(30)} In the weeks before they leave the bees build cups along the lower edge, then they swarm."
    found = hit_for(tmp_path, text, "swarm").snippet
    assert found == "… In the weeks before they leave the bees build cups along the lower edge, then they swarm."


def test_a_sentence_is_not_brought_at_the_cost_of_what_is_looked_for(tmp_path: Path) -> None:
    long = "It " + "goes on " * 20 + "to a wok"
    found = hit_for(tmp_path, f"{sentences(30)} {long} {'and on ' * 20} to a pan.", "wok pan").snippet
    assert "wok" in found
    assert "pan" in found


@pytest.mark.parametrize("run", ["`", "``", "~", "#", "*", "|", "[", "(", "<", "> ", "- "])
def test_a_run_of_one_sign_takes_no_more_than_linear_time(run: str) -> None:
    """Counted in what the parts of the text take beside each other: a quarter of it, and all."""

    def took(count: int) -> float:
        page = Page("page.md", f"A wok is good. {run * count}".encode())
        begin = time.process_time()
        plain(page)
        return time.process_time() - begin

    took(1_000)
    assert took(40_000) < 0.1 + 16 * took(10_000)
