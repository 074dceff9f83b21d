"""Moments and spans of time, as pages and options write them."""

from __future__ import annotations

import datetime

import pytest

from memoryfield.dates import MAX_NS, moment_of, span_of


def nanoseconds(year: int, month: int, day: int, hour: int = 0) -> int:
    """Since 1970, of a moment in UTC."""
    return int(datetime.datetime(year, month, day, hour, tzinfo=datetime.UTC).timestamp()) * 1_000_000_000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-30", nanoseconds(2026, 11, 30)),
        ("2026-11-30T12:00:00Z", nanoseconds(2026, 11, 30, 12)),
        ("2026-11-30T12:00:00", nanoseconds(2026, 11, 30, 12)),
        ("2026-11-30 12:00", nanoseconds(2026, 11, 30, 12)),
        ("2026-11-30T14:00:00+02:00", nanoseconds(2026, 11, 30, 12)),
        ("2026-11-30T12:00:00.000001Z", nanoseconds(2026, 11, 30, 12) + 1000),
        (" 1969-12-31T23:59:59Z ", -1_000_000_000),
        ("9999-12-31", MAX_NS),
        ("0001-01-01", -MAX_NS),
    ],
)
def test_a_moment_is_read_in_utc(text: str, moment: int) -> None:
    assert moment_of(text) == moment


@pytest.mark.parametrize(
    "text", ["", "soon", "2026", "2026-13-01", "2026-02-30", "12:00", "30.11.2026", None, 2026, True, []]
)
def test_what_is_no_date_has_no_moment(text: object) -> None:
    assert moment_of(text) is None


def test_a_date_alone_lasts_until_its_end() -> None:
    assert moment_of("2026-11-30", end_of_day=True) == nanoseconds(2026, 12, 1) - 1
    assert moment_of("2026-11-30T12:00:00Z", end_of_day=True) == nanoseconds(2026, 11, 30, 12)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90d", 90 * 86_400), ("12h", 43_200), ("2 weeks", 14 * 86_400), ("1y", 365.2425 * 86_400), ("0.5D", 43_200)],
)
def test_a_span_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert span_of(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "1m", "1 fortnight", "1d2h", "inf d", "nand"])
def test_what_is_no_span_is_none(text: str) -> None:
    assert span_of(text) is None
