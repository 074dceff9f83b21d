"""What the frontmatter of other programs says, in the words of ours: dates, tags, aliases."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..dates import moment_of, second_of

_CREATED = (
    "created createdat datecreated createddate creationdate createdtime createtime date "
    "published publishdate pubdate timestamp ctime"
).split()
_UPDATED = (
    "updated updatedat dateupdated updateddate updatetime lastupdated modified modifiedat datemodified modifieddate "
    "lastmod lastmodified lastedited lasteditedtime mtime"
).split()
"""Keys in lowercase without blanks, hyphens and underscores; the first that is there counts."""
_FORMATS = (
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%Y_%m_%d",
    "%B %d, %Y",
    "%b %d, %Y",
    "%d %B %Y",
    "%d %b %Y",
    "%A, %B %d, %Y",
    "%A, %B %d, %Y %I:%M %p",
    "%B %d, %Y %I:%M %p",
    "%b %d, %Y %I:%M %p",
)
_MILLISECONDS = 10**11
"""Seconds reach this in the year 5138, milliseconds did in 1973."""
_DATE_IN_NAME = re.compile(r"(\d{4})[-_](\d\d)[-_](\d\d)(?!\d)")


def dates(keys: Mapping[str, Any]) -> tuple[str, str, list[str]]:
    """`created` and `updated` as pages write them, empty where nothing tells, and what is no date although it should.

    A day and month whose order only a country's habit tells is none: `05/01/2024` is left alone.
    """
    plain: dict[str, tuple[str, Any]] = {}
    for key, value in keys.items():
        plain.setdefault(re.sub(r"[ _-]", "", str(key)).lower(), (str(key), value))
    odd: list[str] = []
    created, updated = _first(plain, _CREATED, odd), _first(plain, _UPDATED, odd)
    if "" < updated < created:
        odd.append(f"updated: {updated} lies before {created}, when it was created, and which is taken for both")
    return created, updated, odd


def _first(plain: Mapping[str, tuple[str, Any]], wanted: Iterable[str], odd: list[str]) -> str:
    for name in wanted:
        key, value = plain.get(name, ("", None))
        if value in (None, "", []):
            continue
        if found := moment_text(value):
            return found
        odd.append(f"{key}: {str(value)[:60]!r} is no date that can be told for sure")
    return ""


def moment_text(value: Any) -> str:
    """A moment as pages write it; empty for what is none. A number is seconds or milliseconds since 1970."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value).strip().removeprefix("[[").removesuffix("]]")
    if not isinstance(value, str) or re.fullmatch(r"\d{10}|\d{13}", text):
        return _of_number(float(text))
    moment = moment_of(text)
    if moment is None:
        moment = _of_words(text)
    return "" if moment is None else second_of(moment)


def _of_number(number: float) -> str:
    seconds = number / 1000 if abs(number) >= _MILLISECONDS else number
    return second_of(int(seconds) * 10**9) if 10**8 <= seconds < 10**10 else ""


def _of_words(text: str) -> int | None:
    from email.utils import parsedate_to_datetime

    for pattern in _FORMATS:
        try:
            return moment_of(datetime.datetime.strptime(text, pattern).isoformat())
        except ValueError:
            continue
    try:
        return moment_of(parsedate_to_datetime(text).isoformat())
    except (ValueError, TypeError, IndexError):
        return None


def date_in_name(name: str) -> str:
    """The date with which a file's name begins, as those of journals and blogs do."""
    match = _DATE_IN_NAME.match(name)
    return moment_text("-".join(match.groups())) if match else ""


def words_of(value: Any) -> list[str]:
    """Tags or aliases: a list of them, or a text with commas between them; without `#` and the brackets of a link."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list):
        return []
    found = (str(one).strip() for one in value if isinstance(one, str | int | float) and not isinstance(one, bool))
    return [one for one in (re.sub(r"^#?\[\[(.*)\]\]$|^#", r"\1", one).strip() for one in found) if one]


def added(present: Iterable[str], more: Iterable[str]) -> list[str]:
    """Those of `more` that are not present, whatever their case, each once."""
    seen = {one.casefold() for one in present}
    new: list[str] = []
    for one in more:
        if one.casefold() not in seen:
            seen.add(one.casefold())
            new.append(one)
    return new
