"""Moments and spans of time, as pages and options write them. A moment is in nanoseconds since 1970, UTC."""

from __future__ import annotations

import datetime
import re

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_DAY_NS = 86_400 * 1_000_000_000
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SPAN = re.compile(r"(\d+(?:\.\d+)?) ?(h(?:ours?)?|d(?:ays?)?|w(?:eeks?)?|y(?:ears?)?)", re.ASCII | re.IGNORECASE)
_SECONDS = {"h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365.2425 * 86_400}
"""Of a year: the mean one of the Gregorian calendar."""

MAX_NS = 2**63 - 1
"""The latest moment that SQLite's integers hold, in the year 2262; what lies further out is taken for it."""
_FIRST_SECOND = -62_135_596_800
"""The beginning of the year 1."""


def moment_of(text: object, *, end_of_day: bool = False) -> int | None:
    """The moment that a text in ISO 8601 names; None for what is no date.

    A time without a zone is taken as UTC. A date alone is its first moment, or with `end_of_day`
    its last.
    """
    if not isinstance(text, str):
        return None
    text = text.strip()
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    moment = moment.replace(tzinfo=datetime.UTC) if moment.tzinfo is None else moment
    last = end_of_day and _DATE.fullmatch(text) is not None
    span = moment - _EPOCH
    since = span.days * _DAY_NS + span.seconds * 1_000_000_000 + span.microseconds * 1000
    return storable(since + (_DAY_NS - 1 if last else 0))


def storable(moment_ns: int) -> int:
    """A moment as SQLite can hold it."""
    return max(-MAX_NS, min(moment_ns, MAX_NS))


def iso_time(moment_ns: int) -> str:
    """A moment as the `pages` table has a file's time: UTC, ISO 8601, to the microsecond."""
    seconds, rest = divmod(max(_FIRST_SECOND * 1_000_000_000, min(moment_ns, MAX_NS)), 1_000_000_000)
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC).replace(microsecond=rest // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def second_of(moment_ns: int) -> str:
    """A moment as pages write it: RFC 3339, UTC, to the second."""
    return iso_time(moment_ns)[:19] + "Z"


def span_of(text: str) -> float | None:
    """Seconds in a span such as `90d`, `12h`, `2 weeks` or `1y`; None for what is none."""
    match = _SPAN.fullmatch(text.strip())
    return float(match[1]) * _SECONDS[match[2][0].lower()] if match else None
