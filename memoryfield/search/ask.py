"""What is asked: a query's words and phrases, and the options that every kind of search shares."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from ..dates import moment_of, span_of
from ..errors import UsageError
from .result import MIN_SCORE

MODES = ("hybrid", "keyword", "semantic")
TOKEN_CHARS = 4
"""So many characters count as a token."""

_QUOTED = re.compile(r'(?<!\w)"([^"]*)"(?!\w)')


class Options(TypedDict, total=False):
    """How to search, and among which pages.

    Keys:
        limit: at most so many pages (5).
        mode: `hybrid`, `keyword` or `semantic`.
        min_score: between 0 and 1; pages under it are left out (0.25).
        model: whose vectors to use; else the first index whose model answers.
        sync: pick up what has changed (at most 25 pages are embedded for it).
        where: `KEY=VALUE`, each of which the frontmatter must have; of a list, one of its items.
            `a.b=c` looks for b within a. Numbers are compared as numbers, all else letter by letter.
        since, until: a date, or a span before now such as `90d`: the first and the last moment of `updated`,
            or of the file's time where there is none.
        name: a pattern such as `sqlite-*` that the file name, or what stands before its `.md`, must match.
        include_stale: also pages that have expired or were superseded, marked as such.
        as_of: a date; what was valid then: nothing created later, nothing expired or superseded by then.
        recency: the half-life of a page's worth, such as `90d`: see `hybrid.recency`.
        full: give the pages' whole text too, best first, while it fits into `budget`.
        budget: in tokens, of 4 characters each.
    """

    limit: int
    mode: str
    min_score: float | None
    model: str | None
    sync: bool
    where: Sequence[str]
    since: str | None
    until: str | None
    name: str | None
    include_stale: bool
    as_of: str | None
    recency: str | None
    full: bool
    budget: int | None


class Ask(NamedTuple):
    """The same, checked and read. Moments are in nanoseconds since 1970, UTC; `half_life` is in seconds."""

    limit: int = 5
    mode: str = "hybrid"
    min_score: float = MIN_SCORE
    model: str | None = None
    sync: bool = True
    where: tuple[tuple[str, str], ...] = ()
    since: int | None = None
    until: int | None = None
    name: str | None = None
    include_stale: bool = False
    as_of: int | None = None
    half_life: float | None = None
    full: bool = False
    budget: int | None = None
    now: int = 0

    @property
    def moment(self) -> int:
        """The moment whose valid pages are asked for."""
        return self.now if self.as_of is None else self.as_of

    @property
    def is_selective(self) -> bool:
        """Whether it depends on more than a page's text whether it is found, and where."""
        dates = (self.since, self.until, self.as_of, self.half_life)
        return bool(self.where or self.name) or any(date is not None for date in dates)


class Query(NamedTuple):
    """A query as it was given, its text without the quotes of phrases, and the phrases that must stand in a page."""

    given: str
    text: str
    phrases: tuple[str, ...] = ()


def read_options(options: Options) -> Ask:
    """Check options and read their dates.

    Raises:
        UsageError: a value that means nothing.
    """
    min_score, budget = options.get("min_score"), options.get("budget")
    ask = Ask(
        limit=options.get("limit", 5),
        mode=options.get("mode", "hybrid"),
        min_score=MIN_SCORE if min_score is None else min_score,
        model=options.get("model"),
        sync=options.get("sync", True),
        where=tuple(map(_pair, options.get("where") or ())),
        name=options.get("name"),
        include_stale=options.get("include_stale", False),
        full=options.get("full", False) or budget is not None,
        budget=budget,
        now=time.time_ns(),
    )
    if ask.mode not in MODES:
        raise UsageError(f"unknown mode {ask.mode!r}", hint=f"Choose one of {', '.join(MODES)}.")
    if ask.limit < 1:
        raise UsageError(f"a limit of {ask.limit} finds nothing", hint="Ask for at least 1.")
    if ask.budget is not None and ask.budget < 1:
        raise UsageError(f"a budget of {ask.budget} tokens holds nothing", hint="Give at least 1.")
    return ask._replace(
        since=_moment("since", options.get("since"), ask.now, end_of_day=False),
        until=_moment("until", options.get("until"), ask.now, end_of_day=True),
        as_of=_moment("as_of", options.get("as_of"), ask.now, end_of_day=True),
        half_life=_half_life(options.get("recency")),
    )


def read_query(given: str) -> Query:
    """A query's phrases in double quotes, and its text without their quotes. A lone quote is text.

    Raises:
        UsageError: the query is empty.
    """
    valid = given.encode("utf-8", "replace").decode()  # no lone surrogates
    if not valid.strip():
        raise UsageError("the query is empty", hint="Say what you look for.")
    phrases = dict.fromkeys(" ".join(quoted.split()) for quoted in _QUOTED.findall(valid))
    text = _QUOTED.sub(lambda quoted: f" {quoted[1]} " if quoted[1].strip() else quoted[0], valid)
    return Query(given, text.strip(), tuple(filter(None, phrases)))


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (equals and key.strip()):
        raise UsageError(f"{text!r} is no condition", hint="Write KEY=VALUE, such as status=open or author.name=Ann.")
    return key.strip(), value.strip()


def _moment(option: str, text: str | None, now: int, *, end_of_day: bool) -> int | None:
    if text is None:
        return None
    span = span_of(text)
    moment = moment_of(text, end_of_day=end_of_day) if span is None else now - round(span * 1e9)
    if moment is None:
        raise UsageError(
            f"{option.replace('_', '-')}: {text!r} is no date", hint="Write it like 2026-03-14, or like 90d for a span."
        )
    return moment


def _half_life(text: str | None) -> float | None:
    if text is None:
        return None
    span = span_of(text)
    if not span:
        raise UsageError(f"recency: {text!r} is no half-life", hint="Write it like 90d, 12h, 8w or 1y.")
    return span
