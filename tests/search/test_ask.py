"""What is asked: which options mean something, and what of a query is a phrase."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryfield.errors import UsageError
from memoryfield.search.ask import Query, read_options, read_query

DAY = 86_400 * 1_000_000_000


@pytest.mark.parametrize(
    ("given", "text", "phrases"),
    [
        ("which wok?", "which wok?", ()),
        ('"carbon steel"', "carbon steel", ("carbon steel",)),
        ('a "b c" d "e', 'a  b c  d "e', ("b c",)),
        ('"a" "b" "a"', "a   b   a", ("a", "b")),
        ('" spaced\n out "', "spaced\n out", ("spaced out",)),
        ('5" disk and 3" disk', '5" disk and 3" disk', ()),
        ('""', '""', ()),
        ('" "', '" "', ()),
        ('""wok""', '" wok "', ("wok",)),
        ('say "C++" now', "say  C++  now", ("C++",)),
    ],
)
def test_what_stands_in_double_quotes_is_a_phrase(given: str, text: str, phrases: tuple[str, ...]) -> None:
    assert read_query(given) == Query(given, text, phrases)


@given(st.text(alphabet=st.characters(codec="utf-8")).filter(lambda text: text.strip() and '"' not in text))
def test_without_quotes_all_is_text(text: str) -> None:
    assert read_query(text) == Query(text, text.strip(), ())


@pytest.mark.parametrize("empty", ["", " ", "\n\t"])
def test_an_empty_query_is_refused(empty: str) -> None:
    with pytest.raises(UsageError, match="empty"):
        read_query(empty)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"limit": 0}, "limit"),
        ({"mode": "best"}, "mode"),
        ({"where": ["status"]}, "status"),
        ({"where": ["=open"]}, "=open"),
        ({"since": "soon"}, "since"),
        ({"until": "2026-13-01"}, "until"),
        ({"as_of": ""}, "as-of"),
        ({"recency": "fast"}, "recency"),
        ({"recency": "0d"}, "recency"),
        ({"budget": 0}, "budget"),
    ],
)
def test_an_option_that_means_nothing_is_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(UsageError, match=what) as refused:
        read_options(options)  # type: ignore[arg-type]
    assert refused.value.hint


def test_dates_are_whole_days_and_spans_count_back_from_now() -> None:
    ask = read_options({"since": "2026-01-01", "until": "2026-01-01", "as_of": "90d"})
    assert ask.since is not None
    assert ask.until == ask.since + DAY - 1
    assert ask.as_of == ask.moment == ask.now - 90 * DAY


def test_a_budget_asks_for_whole_pages() -> None:
    assert read_options({"budget": 100}).full
    assert not read_options({"limit": 1}).full
