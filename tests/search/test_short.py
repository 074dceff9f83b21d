"""Results in few tokens: what is left out, and what never is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryfield.search.result import Hit, SearchResult
from memoryfield.search.short import cost, passages, summaries

LONG = " ".join(f"word{number}" for number in range(30))


def hit(filename: str = "woks.md", score: float = 0.5, **facts: Any) -> Hit:
    """A hit with a passage of thirty words."""
    known: dict[str, Any] = {"title": "Woks", "summary": "", "snippet": LONG, "bytes": 1, "frontmatter": None}
    return Hit("kitchen", filename, score, score, score, **{**known, **facts})


def result(*hits: Hit, several: bool = False) -> SearchResult:
    """A result with these hits."""
    return SearchResult("words", "hybrid", None, [], list(hits), several)


def marks_of(text: str, *words: str) -> tuple[tuple[int, int], ...]:
    """Where these words stand."""
    return tuple(sorted((text.index(word), text.index(word) + len(word)) for word in words))


def test_one_result_is_told_at_length() -> None:
    (line,) = passages(result(hit()))
    assert line == ("strong 0.50", "woks.md", LONG, ())


def test_of_many_results_each_is_cut_at_a_word() -> None:
    for line in passages(result(*[hit()] * 5)):
        assert line.text.endswith(" …")
        assert LONG.startswith(line.text.removesuffix(" …") + " ")
        assert 5 < len(line.text.split()) < 20


def test_what_one_leaves_over_the_next_may_use() -> None:
    alone = passages(result(*[hit()] * 5))
    beside = passages(result(*[hit(snippet="Short.")] * 3, hit(), hit()))
    assert len(beside[3].text) > len(alone[3].text)


def test_a_weak_score_is_not_rounded_up_and_a_page_that_is_not_valid_says_so() -> None:
    (line,) = passages(result(hit(score=0.4499, extra={"stale": "expired 2025-12-31"})))
    assert line.head == "weak 0.44 expired 2025-12-31"
    (line,) = summaries(result(hit(score=0.4499, extra={"stale": "expired 2025-12-31"})))
    assert line.head == "weak expired 2025-12-31"


def test_the_passage_keeps_the_words_of_the_query() -> None:
    marks = marks_of(LONG, "word14", "word15", "word16")
    line = passages(result(*[hit(marks=marks)] * 5))[0]
    assert [line.text[start:end] for start, end in line.marks] == ["word14", "word15", "word16"]
    assert line.text.startswith("… word")
    assert line.text.endswith(" …")


def test_the_passage_with_most_of_the_words_is_shown() -> None:
    marks = marks_of(LONG, "word1", "word27", "word28")
    line = passages(result(*[hit(marks=marks)] * 5))[0]
    assert [line.text[start:end] for start, end in line.marks] == ["word27", "word28"]
    assert line.text.endswith("word28 word29")
    assert len(line.text.split()) > 5, "what stands before fills the room"


def test_a_passage_begins_with_its_sentence() -> None:
    text = LONG + ". The answer is the wok. " + LONG
    line = passages(result(*[hit(snippet=text, marks=marks_of(text, "wok"))] * 5))[0]
    assert line.text.startswith("… The answer is the wok. word0")


@pytest.mark.parametrize(
    ("filename", "title", "shown"),
    [
        ("wok-care.md", "How to care for a wok", "wok-care.md"),
        ("2026-01-03.md", "How to care for a wok", "2026-01-03.md (How to care for a wok)"),
        ("woks.md", "Which wok?", "woks.md"),
        ("2026-01-03.md", "Notes of 2026", "2026-01-03.md (Notes of 2026)"),
        ("2026-01-03.md", "2026-01-03", "2026-01-03.md"),
        ("guo.md", "鍋", "guo.md (鍋)"),
    ],
)
def test_a_title_is_shown_where_the_name_does_not_tell_it(filename: str, title: str, shown: str) -> None:
    assert passages(result(hit(filename, title=title)))[0].name == shown


def test_a_long_title_leaves_room_for_the_passage() -> None:
    line = passages(result(*[hit("x.md", title=LONG)] * 5))[0]
    assert line.name.startswith("x.md (word0 ")
    assert line.name.endswith(" …)")
    assert line.text.startswith("word0 word1")


def test_of_several_fields_each_result_names_its_own() -> None:
    assert passages(result(hit(), several=True))[0].name == "kitchen/woks.md"
    assert summaries(result(hit(), several=True))[0].name == "kitchen/woks"


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"summary": "They heat.", "title": "All of woks"}, "They heat."),
        ({"title": "All of woks"}, "All of woks"),
        ({"title": "woks", "snippet": "A passage."}, "A passage."),
    ],
)
def test_a_brief_result_is_the_summary_else_the_title_else_the_passage(facts: dict[str, Any], text: str) -> None:
    assert summaries(result(hit(**facts))) == [("strong", "woks", text, ())]


def test_five_brief_results_are_clipped_together() -> None:
    lines = summaries(result(*[hit(summary=LONG)] * 5))
    assert all(line.text.endswith(" …") for line in lines)
    assert sum(cost(f"{line.head} {line.name}: {line.text}") for line in lines) <= 80


def test_a_name_that_takes_all_the_room_is_still_shown_whole() -> None:
    name = "-".join(["wok"] * 40) + ".md"
    assert [(line.name, line.text) for line in passages(result(*[hit(name)] * 5))] == [(name, "…")] * 5
    assert passages(result(*[hit(name, snippet="")] * 5))[0].text == ""
    assert passages(result(*[hit(name, snippet="… …")] * 5))[0].text == ""


@pytest.mark.parametrize("word", ["x1" * 120, "鍋" * 240, "-" * 240])
def test_a_word_longer_than_the_room_is_cut(word: str) -> None:
    for line in passages(result(*[hit(snippet=word)] * 5)):
        assert 10 < len(line.text) < 60
        assert line.text.endswith("…")


WORDS = st.lists(st.text(alphabet="aé鍋.`-…1 ", min_size=1, max_size=12), max_size=40)


@given(WORDS, st.integers(1, 8), st.data())
def test_what_is_shown_stands_in_the_passage(words: list[str], count: int, data: st.DataObject) -> None:
    text = " ".join(" ".join(words).split())
    spans = [(text.index(word), text.index(word) + len(word)) for word in text.split()]
    marks = tuple(sorted(set(data.draw(st.lists(st.sampled_from(spans), max_size=5)) if spans else [])))
    for line in passages(result(*[hit(snippet=text, marks=marks)] * count)):
        assert line.text.removeprefix("… ").removesuffix(" …") in text
        for start, end in line.marks:
            assert line.text[start:end] in {text[begin:stop] for begin, stop in marks}


def test_the_cost_is_about_what_a_tokenizer_counts() -> None:
    assert cost("") == 0
    assert cost("It heats evenly.") == 4
    assert cost("2026-01-03") == 2 + 5 - 1
    assert cost("enable_load_extension") == 3 + 2 + 1
    assert cost("鍋鍋") == 2
