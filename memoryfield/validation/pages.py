"""Rules about one page: its name, its bytes, its frontmatter."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Iterator
from typing import Any

from .. import names
from ..dates import moment_of
from ..frontmatter import Problem, place
from ..frontmatter.blocks import KNOWN_KEYS
from ..page import Page, headings
from .report import Fault

MAX_SUMMARY_CHARS = 300
_DAY_NS = 86_400 * 1_000_000_000
ASKED_FOR = {"title": "F-3", "uuid": "F-4", "created": "F-5", "updated": "F-6"}
"""The keys that every page should have, and where that is required."""
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?", re.ASCII)
"""A datetime as it is written there, its zone aside."""
_LOOSE = re.compile(
    r"\d{4}-\d\d-\d\d[Tt \t]+\d\d?:\d\d(?::\d\d(?:\.\d*)?)?[ \t]*(?P<zone>[Zz]|[+-]\d\d?(?::?\d\d)?)?", re.ASCII
)
_DATE_OF_YAML = re.compile(  # the timestamp of YAML 1.1; what only begins like one stays a text
    r"\d{4}-\d\d-\d\d|\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?",
    re.ASCII,
)
_QUOTED = {key: re.compile(rf"^{key}:[ \t]+[\"']", re.MULTILINE) for key in (*KNOWN_KEYS, "expires")}
_UTC = ("Z", "z", "+00:00")
_PROBLEMS = {
    "not-utf8": "P-1",
    "toml": "P-3",
    "json": "P-3",
    "no-frontmatter": "P-3",
    "second-block": "F-21",
    "duplicate-key": "F-15",
    "merge-key": "F-16",
    "tag": "F-16",
}
"""Which requirement a problem of the parser's breaks; F-7 otherwise."""


def name(page: Page) -> Iterator[Fault]:
    """P-2."""
    if not names.is_legal_page_name(page.filename):
        better = names.slug(names.stem(page.filename)) + names.PAGE_SUFFIX
        message = (
            "a name must be lowercase ASCII letters, digits and hyphens, first and last a letter or digit,"
            f" with .md (such as {better})"
        )
        yield Fault(page.filename, 0, 0, "P-2", message)


def encoding(page: Page) -> Iterator[Fault]:
    """P-1."""
    yield from (_of_problem(page, problem) for problem in page.problems if problem.code == "not-utf8")


def content(page: Page) -> Iterator[Fault]:
    """P-4, P-8, P-9 and R-7: the bytes as a whole."""
    if page.is_utf8 and page.raw.startswith(b"\xef\xbb\xbf"):
        yield Fault(page.filename, 1, 1, "P-9", "begins with a byte order mark")
    if not page.body.strip():
        yield Fault(page.filename, 0, 0, "P-8", "has no text")
    if page.size > names.MAX_PAGE_BYTES:
        message = f"is {page.size:,} bytes; pages should stay within {names.MAX_PAGE_BYTES:,}"
        if any(problem.code == "too-long" for problem in page.problems):
            message += "; its frontmatter was not read"
        yield Fault(page.filename, 0, 0, "P-4", message)
    if b"\r" in page.raw:
        line = page.raw.count(b"\n", 0, page.raw.index(b"\r")) + 1
        kind = "CR LF" if b"\r\n" in page.raw else "CR"
        yield Fault(page.filename, line, 0, "R-7", f"lines end in {kind}, not in LF")


def block(page: Page) -> Iterator[Fault]:
    """P-3, F-7, F-15, F-16 and F-21: whether there is a block, and what is wrong with it."""
    features = {place(page.text, feature.at)[0]: feature for feature in reversed(page.yaml_features)}
    for problem in page.problems:
        if problem.code not in ("not-utf8", "too-long") and not (features and problem.code in _SAID_BY_FEATURES):
            yield _of_problem(page, problem)
    if page.block is None:
        yield Fault(page.filename, 1, 0, "P-3", "should begin with frontmatter")
    for line, feature in sorted(features.items()):
        column = place(page.text, feature.at)[1]
        yield Fault(page.filename, line, column, "F-16", f"the frontmatter uses {_FEATURES[feature.kind]}")


_FEATURES = {"anchor": "an anchor (&)", "alias": "an alias (*)", "tag": "a tag (!)", "merge": "a merge key (<<)"}
_SAID_BY_FEATURES = ("merge-key", "tag", "expands")


def _of_problem(page: Page, problem: Problem) -> Fault:
    requirement = _PROBLEMS.get(problem.code, "F-7")
    return Fault(page.filename, problem.line, problem.column, requirement, problem.message)


def keys(page: Page) -> Iterator[Fault]:
    """F-3 to F-6, F-11, F-14: the keys that every page should have, and what their values are."""
    if not page.frontmatter_is_valid:
        return
    for key, requirement in ASKED_FOR.items():
        if is_empty(page.frontmatter.get(key)):
            yield at_key(page, key, requirement, f"the frontmatter should have {key}")
    for key in ("title", "summary", "uuid"):
        value = page.frontmatter.get(key)
        if value is not None and not isinstance(value, str):
            yield at_key(page, key, "F-14", f"{key} should be text, and YAML takes it for {_kind(value)}")
        elif isinstance(value, str) and _DATE_OF_YAML.fullmatch(value) and not _is_quoted(page, key):
            yield at_key(page, key, "F-14", f"{key} should be text in quotes: YAML takes it for a date")
    given = page.frontmatter.get("uuid")
    if isinstance(given, str) and given.strip() and not is_uuid(given):
        usual = names.usual_uuid(given)
        message = f"the usual form of this uuid is {usual}" if usual else f"{given!r} is not a uuid"
        yield at_key(page, "uuid", "F-11", message)


def is_empty(value: Any) -> bool:
    """Whether a key with this value counts as missing."""
    return value is None or (isinstance(value, str) and not value.strip())


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return (
        "keys and values" if isinstance(value, dict) else "a list" if isinstance(value, list) else f"the number {value}"
    )


def quoted_dates(page: Page) -> Iterator[Fault]:
    """F-8: created and updated are written as text."""
    for key, _ in _dates(page):
        if not _is_quoted(page, key):
            yield at_key(page, key, "F-8", f"{key} must be a string in quotes")


def _dates(page: Page) -> Iterator[tuple[str, Any]]:
    """Created and updated, as far as they have values."""
    if not page.frontmatter_is_valid:
        return
    for key in ("created", "updated"):
        value = page.frontmatter.get(key)
        value = value.strip() if isinstance(value, str) else value  # a block scalar ends with a line end
        if value is not None and value != "":
            yield key, value


def dates(page: Page, *, now_ns: int) -> Iterator[Fault]:
    """F-9, F-10, F-18 and F-19: what created and updated say."""
    moments: dict[str, int | None] = {}
    for key, value in _dates(page):
        if not isinstance(value, str) or not _is_datetime(value):
            none = isinstance(value, str) and RFC_3339.fullmatch(value)
            what = "; there is no such day or time" if none else ""
            yield at_key(page, key, "F-9", f"{key} should be an ISO 8601 datetime such as 2026-03-14T09:12:40Z{what}")
        if isinstance(value, str) and not value.endswith(_UTC) and (zone := _zone(value)) is not None:
            what = f"it is in {zone}" if zone else "it names no zone"
            yield at_key(page, key, "F-10", f"{key} should be in UTC, with Z at its end; {what}")
        moments[key] = moment_of(value)
        if (moments[key] or 0) > now_ns + _DAY_NS:
            yield at_key(page, key, "F-19", f"{key} lies in the future")
    created, updated = moments.get("created"), moments.get("updated")
    if created is not None and updated is not None and created > updated:
        yield at_key(page, "created", "F-18", "created is later than updated")


def _is_quoted(page: Page, key: str) -> bool:
    """Whether a value is written as text."""
    assert page.block is not None
    if _QUOTED[key].search(page.text, page.block.start, page.block.end):
        return True  # as nearly always, and quicker than to ask where it stands
    written = page.key_places.get(key)
    return written is None or written.style not in ("plain", "alias")


def _is_datetime(value: str) -> bool:
    if not RFC_3339.fullmatch(value):
        return False
    try:
        datetime.datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def _zone(value: str) -> str | None:
    """The zone at the end of a datetime, empty if there is none; None for what is no datetime."""
    match = _LOOSE.fullmatch(value.strip())
    return (match["zone"] or "") if match else None


def optional_keys(page: Page) -> Iterator[Fault]:
    """K-1, K-2, K-3 and K-5: tags, source, expires, supersedes. With a value that means nothing, they do nothing."""
    if not page.frontmatter_is_valid:
        return
    found = page.frontmatter
    if "tags" in found and found["tags"] is not None and not _are_texts(found["tags"]):
        yield at_key(page, "tags", "K-1", "tags should be a list of texts")
    source = found.get("source")
    if source is not None and not isinstance(source, str) and not _are_texts(source):
        yield at_key(page, "source", "K-2", "source should be a text, best a URL, or a list of them")
    yield from _expires(page, found.get("expires"))
    given = found.get("supersedes")
    for one in given if isinstance(given, list) else [] if given in (None, "") else [given]:
        if not is_uuid(one):
            yield at_key(page, "supersedes", "K-5", f"supersedes should be uuids of pages, and {one!r} is none")


def _expires(page: Page, expires: Any) -> Iterator[Fault]:
    if expires is None or expires == "":
        return
    if moment_of(expires) is None:
        yield at_key(page, "expires", "K-3", "expires should be an ISO 8601 date such as 2026-03-14")
    elif not _is_quoted(page, "expires"):
        yield at_key(page, "expires", "K-3", "expires should be a string in quotes")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def headline(page: Page) -> Iterator[Fault]:
    """R-2 to R-4: what title, heading and summary say beside each other."""
    title, summary = page.frontmatter.get("title"), page.frontmatter.get("summary")
    summary = " ".join(summary.split()) if isinstance(summary, str) else ""
    if isinstance(title, str) and title.strip():
        heading = page.heading
        if heading and heading != title and _bare(heading) != _bare(title) and _is_first_level(page):
            yield at_key(page, "title", "R-2", f"the title is not the heading, {heading!r}")
        if summary and _bare(summary) == _bare(title):
            yield at_key(page, "summary", "R-4", "the summary only repeats the title")
    if len(summary) > MAX_SUMMARY_CHARS:
        message = f"the summary has {len(summary):,} characters; {MAX_SUMMARY_CHARS} fit into a list"
        yield at_key(page, "summary", "R-3", message)


def _is_first_level(page: Page) -> bool:
    """Whether the first heading is one of the first level."""
    return next(headings(page.body)).level == 1


def _bare(text: str) -> str:
    """A text without its markup, capitals, and the full stop at its end."""
    linked = re.sub(r"\[([^\[\]]*)\]\([^()]*\)", r"\1", text)
    return " ".join(re.sub(r"[`*_\\]", "", linked).split()).rstrip(".").casefold()


def is_uuid(value: object) -> bool:
    """Whether a value is a UUID in its usual text form, whatever its version, in lowercase."""
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value
    except ValueError:
        return False


def _opening(page: Page) -> int:
    """The line of the `---` above the frontmatter."""
    return max(1, place(page.text, page.block.start)[0] - 1) if page.block else 1


def at_key(page: Page, key: str, requirement: str, message: str) -> Fault:
    """A fault where a key's value stands; at the top of the block where there is no such key."""
    found = page.key_places.get(key)
    if found is None:
        return Fault(page.filename, _opening(page), 0, requirement, message)
    return Fault(page.filename, found.line, found.column, requirement, message)
