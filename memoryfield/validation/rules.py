"""The rules. Each looks at one page, or at the field, and yields faults."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Callable, Iterator

from .. import names
from ..containers import Container
from ..dates import moment_of
from ..errors import PageNameError
from ..frontmatter import KeyPlace, find_block, key_places
from ..page import Page
from .report import Fault, Severity

Rule = Callable[[Page], Iterator[Fault]]

_DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
_ZERO_OFFSETS = ("Z", "+00:00", "+0000")


def validate(container: Container) -> list[Fault]:
    """Every fault of a field, sorted by page and line. An empty list: it follows the format."""
    faults: list[Fault] = []
    uuids: dict[str, str] = {}
    pages = 0
    for entry in sorted(container.entries(), key=lambda entry: entry.name):
        if not names.is_page(entry.name):
            continue
        pages += 1
        try:
            page = Page(entry.name, container.read(entry.name))
        except PageNameError as error:
            faults.append(Fault(entry.name, 0, "error", error.message))
            continue
        except OSError as error:
            faults.append(Fault(entry.name, 0, "error", f"cannot be read: {error.strerror or error}"))
            continue
        for rule in PAGE_RULES:
            faults += rule(page)
        if page.uuid:
            first = uuids.setdefault(page.uuid, page.filename)
            if first != page.filename:
                faults.append(_at_key(page, "uuid", "error", f"{first} has the same uuid"))
    if not pages:
        faults.append(Fault("", 0, "error", "a field must hold at least one page"))
    faults += _skipped(container)
    return sorted(faults)


def _skipped(container: Container) -> Iterator[Fault]:
    for item in container.skipped():
        if item.reason != "is a folder" and names.is_page(item.name):
            yield Fault(item.name, 0, "error", f"{item.reason}; it is not read")


def _name(page: Page) -> Iterator[Fault]:
    if not names.is_legal_page_name(page.filename):
        better = names.slug(names.stem(page.filename)) + names.PAGE_SUFFIX
        yield Fault(
            page.filename,
            0,
            "error",
            "a name must be lowercase ASCII letters, digits and hyphens, first and last a letter or digit,"
            f" with .md (such as {better})",
        )


def _content(page: Page) -> Iterator[Fault]:
    if page.is_utf8 and page.raw.startswith(b"\xef\xbb\xbf"):
        yield Fault(page.filename, 1, "warning", "begins with a byte order mark")
    if b"\x00" in page.raw:
        line = page.raw.count(b"\n", 0, page.raw.index(b"\x00")) + 1
        yield Fault(page.filename, line, "warning", "holds a NUL byte")
    if not page.body.strip():
        yield Fault(page.filename, 0, "warning", "has no text")
    if page.size > names.MAX_PAGE_BYTES:
        yield Fault(
            page.filename,
            0,
            "warning",
            f"is {page.size:,} bytes; pages should stay within {names.MAX_PAGE_BYTES:,}",
        )


def _frontmatter(page: Page) -> Iterator[Fault]:
    for problem in page.problems:
        severity: Severity = "error" if problem.message.startswith("not UTF-8") else "warning"
        yield Fault(page.filename, problem.line, severity, problem.message)
    if not page.has_frontmatter:
        yield Fault(page.filename, 1, "warning", "should begin with frontmatter")
    elif page.frontmatter_is_valid:
        yield from _keys(page)


def _keys(page: Page) -> Iterator[Fault]:
    for key in ("title", "uuid", "created", "updated"):
        if page.frontmatter.get(key) in (None, ""):
            yield Fault(page.filename, 1, "warning", f"the frontmatter should have {key}")
    for key in ("title", "uuid", "summary"):
        if isinstance(page.frontmatter.get(key), dict | list):
            yield _at_key(page, key, "warning", f"{key} should be text")


def _uuid(page: Page) -> Iterator[Fault]:
    if not page.uuid:
        return
    if not _is_uuid(page.uuid):
        yield _at_key(page, "uuid", "warning", f"{page.uuid!r} is not a uuid")


def _dates(page: Page) -> Iterator[Fault]:
    for key in ("created", "updated"):
        value = page.frontmatter.get(key)
        if value in (None, ""):
            continue
        zone = _zone(value)
        place = _places(page).get(key)
        if zone is None:
            yield _at_key(page, key, "warning", f"{key} should be an ISO 8601 datetime such as 2026-03-14T09:12:40Z")
        elif zone not in _ZERO_OFFSETS:
            yield _at_key(page, key, "warning", f"{key} should be in UTC, with a Z at its end")
        elif place and not place.quoted:
            yield _at_key(page, key, "warning", f"{key} should be a quoted string")


def _lifecycle(page: Page) -> Iterator[Fault]:
    """Keys that say how long a page is valid: with a value that means nothing, it would be valid for ever."""
    expires = page.frontmatter.get("expires")
    if expires not in (None, "") and moment_of(expires) is None:
        yield _at_key(page, "expires", "warning", "expires should be an ISO 8601 date such as 2026-03-14")
    given = page.frontmatter.get("supersedes")
    for one in given if isinstance(given, list) else [] if given in (None, "") else [given]:
        if not _is_uuid(one):
            yield _at_key(page, "supersedes", "warning", f"supersedes should be uuids of pages, and {one!r} is none")


def _is_uuid(value: object) -> bool:
    try:
        return isinstance(value, str) and str(uuid.UUID(value)) == value.strip().lower()
    except ValueError:
        return False


def _zone(value: object) -> str | None:
    """The zone at the end of a datetime, empty if there is none; None for what is no datetime."""
    match = _DATETIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    try:
        datetime.datetime.fromisoformat(match[0])
    except ValueError:
        return None
    return match[1] or ""


def _places(page: Page) -> dict[str, KeyPlace]:
    block = find_block(page.text)
    return key_places(page.text, block) if block and block.closed else {}


def _at_key(page: Page, key: str, severity: Severity, message: str) -> Fault:
    """A fault at the line on which a key stands."""
    place = _places(page).get(key)
    return Fault(page.filename, place.line if place else 1, severity, message)


PAGE_RULES: tuple[Rule, ...] = (_name, _content, _frontmatter, _uuid, _dates, _lifecycle)
