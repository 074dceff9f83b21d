"""Which pages may be found at all: conditions, phrases, and what is no longer (or not yet) valid.

Exact, and before ranking: a page that is left out takes no place in either half's best.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from ..containers import Container
from ..dates import MAX_NS, iso_time, moment_of
from ..index.schema import words
from ..index.store import IndexStore
from ..names import is_page, stem
from ..page import Page
from .ask import Ask
from .hybrid import EXPIRED, LATER, SUPERSEDED, Selection
from .keyword import as_phrase, stemmer

SHOWN = 5
"""So many values are told of a key that has not the wanted one."""
_MARKS = re.compile(r"^[ \t]*(?:>[ \t]?)+|[*`]+|(?<![^\W_])_+(?=[^\W_])|(?<=[^\W_])_+(?![^\W_])", re.MULTILINE)
"""Marks of Markdown that may stand within a phrase: of quotations, emphasis, code."""


class _Facts(NamedTuple):
    """What a condition can be about: the frontmatter as JSON text, the file's time and what was made of dates."""

    filename: str
    frontmatter: str
    mtime_ns: int
    updated_ns: int | None

    @property
    def moment(self) -> int:
        return self.mtime_ns if self.updated_ns is None else self.updated_ns


def select(store: IndexStore, container: Container, ask: Ask, phrases: Iterable[str] = ()) -> Selection:
    """The pages that a search is among."""
    allowed: set[str] | None = None
    ages: dict[str, float] | None = None
    if ask.where or ask.name or ask.since is not None or ask.until is not None:
        allowed = {facts.filename for facts in _facts(store) if _meets(facts, ask)}
    for phrase in phrases:
        allowed = set(_holding(store, container, phrase, allowed))
    if ask.half_life:
        ages = {facts.filename: max(0, ask.moment - facts.moment) / 1e9 for facts in _facts(store)}
    return Selection(allowed, _stale(store, ask), ages)


# conditions


def _facts(store: IndexStore) -> Iterator[_Facts]:
    if store.has_own_tables:
        sql = "SELECT filename, frontmatter, mtime_ns, updated_ns FROM memoryfield_files"
        yield from map(_Facts._make, store.connection.execute(sql))
        return
    for name, text, modified in store.connection.execute("SELECT filename, frontmatter, last_modified FROM pages"):
        page = _page_of(name, text)
        text = json.dumps(page.frontmatter, ensure_ascii=False)  # another tool may have written it in another way
        yield _Facts(page.filename, text, moment_of(modified) or 0, page.updated_ns)


def _page_of(name: Any, text: Any) -> Page:
    """What an index that another tool made tells of a page: its name and frontmatter."""
    page = Page(str(name), b"---\n---\n")
    page.take_frontmatter(_object(text))
    return page


def _object(text: Any) -> dict[str, Any]:
    """JSON that another tool may have written, as a mapping."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _meets(facts: _Facts, ask: Ask) -> bool:
    if ask.name and not (fnmatchcase(facts.filename, ask.name) or fnmatchcase(stem(facts.filename), ask.name)):
        return False
    if ask.since is not None and facts.moment < ask.since:
        return False
    if ask.until is not None and facts.moment > ask.until:
        return False
    if not all(json.dumps(key.split(".")[0], ensure_ascii=False)[:-1] in facts.frontmatter for key, _ in ask.where):
        return False  # quicker than reading it
    frontmatter = json.loads(facts.frontmatter) if ask.where else {}
    return all(any(_equal(value, wanted) for value in _values(frontmatter, key)) for key, wanted in ask.where)


def _values(value: Any, key: str) -> Iterator[Any]:
    """What stands under a dotted key, which may itself contain dots; the items of lists, each."""
    if isinstance(value, list):
        for item in value:
            yield from _values(item, key)
    elif not key:
        yield value
    elif isinstance(value, dict):
        parts = key.split(".")
        for count in range(len(parts), 0, -1):
            head = ".".join(parts[:count])
            if head in value:
                yield from _values(value[head], ".".join(parts[count:]))


def _equal(value: Any, wanted: str) -> bool:
    if isinstance(value, str):
        return value.strip() == wanted
    if value is None:
        return wanted in ("", "null", "~")
    if isinstance(value, bool):  # in the words that YAML 1.1 has for it
        return wanted.lower() in (("true", "yes", "on") if value else ("false", "no", "off"))
    if isinstance(value, int | float):
        try:
            return value == (int(wanted) if isinstance(value, int) and wanted.strip("+-").isdigit() else float(wanted))
        except ValueError:
            return False
    return False


def unmet(store: IndexStore, ask: Ask) -> str:
    """Why no page meets the conditions: of the first that none meets alone, what there is instead."""
    for key, wanted in ask.where:
        values = [value for facts in _facts(store) for value in _values(_object(facts.frontmatter), key)]
        if any(_equal(value, wanted) for value in values):
            continue
        found = {v if isinstance(v, str) else json.dumps(v) for v in values if not isinstance(v, dict)}
        if not found:
            return f"no page has the key {key!r}"
        some = ", ".join(sorted(found)[:SHOWN]) + (", ..." if len(found) > SHOWN else "")
        return f"no page has {key}={wanted}; what {key} is: {some}"
    return "no page meets the conditions"


# phrases


def _holding(store: IndexStore, container: Container, phrase: str, among: set[str] | None) -> Iterator[str]:
    """The pages in which a phrase stands, whatever its case, accents and line breaks."""
    pattern = re.compile(_whole(_folded(phrase)))
    for name in _perhaps_holding(store, container, phrase):
        if among is not None and name not in among:
            continue
        try:
            text = Page(name, container.read(name)).text
        except OSError:
            continue
        if pattern.search(_folded(text)) or pattern.search(_folded(_MARKS.sub("", text))):
            yield name


def _perhaps_holding(store: IndexStore, container: Container, phrase: str) -> list[str]:
    """The pages with the phrase's stems in order; all pages, for a phrase without any."""
    phrase = re.sub("[+#]", " ", phrase)  # which may be words of their own, or stand within one
    if not (store.has_own_tables and stemmer(store.connection)(words(phrase))):
        return [name for name in container.names() if is_page(name)]
    sql = """
        SELECT filename FROM memoryfield_files
        WHERE id IN (SELECT rowid FROM memoryfield_keyword WHERE memoryfield_keyword MATCH ?)
    """
    return [name for (name,) in store.connection.execute(sql, (as_phrase(words(phrase)),))]


def _folded(text: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    return " ".join(plain.lower().split())


def _whole(phrase: str) -> str:
    """A pattern for whole words: a Latin word within a run of another script is one."""
    before = r"(?<![0-9a-z_])" if re.match("[0-9a-z_]", phrase) else ""
    after = r"(?![0-9a-z_])" if re.match("[0-9a-z_]", phrase[-1:]) else ""
    return before + re.escape(phrase) + after


# what is valid


def _stale(store: IndexStore, ask: Ask) -> dict[str, str]:
    """The pages that are not valid at the moment, and why."""
    stale: dict[str, str] = {}
    superseding: dict[str, list[str]] = {}
    for name, created, expires, supersedes in _bounded(store, ask.as_of):
        if ask.as_of is not None and created is not None and created > ask.as_of:
            stale[name] = f"{LATER} {_day(created)}"
            continue
        if expires is not None and expires < ask.moment:
            stale[name] = f"{EXPIRED} {_day(expires)}"
        for uuid in json.loads(supersedes or "[]"):
            superseding.setdefault(uuid, []).append(name)
    if superseding:
        for name, uuid in _named_by(store, list(superseding)):
            others = [other for other in superseding[uuid] if other != name]
            if others:
                stale.setdefault(name, f"{SUPERSEDED} by {others[0]}")
    return stale


def _bounded(store: IndexStore, as_of: int | None) -> Iterator[tuple[str, int | None, int | None, str | None]]:
    """Name, created, expires and supersedes of each page that has the last or the one before it (with `as_of`: any)."""
    if not store.has_own_tables:
        for name, text in store.connection.execute("SELECT filename, frontmatter FROM pages"):
            page = _page_of(name, text)
            yield page.filename, page.created_ns, page.expires_ns, json.dumps(page.supersedes)
        return
    sql = "SELECT filename, created_ns, expires_ns, supersedes FROM memoryfield_files"
    if as_of is None:  # one condition at a time: each has an index of its own
        sql = f"{sql} WHERE expires_ns IS NOT NULL UNION ALL {sql} WHERE supersedes IS NOT NULL AND expires_ns IS NULL"
    yield from store.connection.execute(sql)


def _named_by(store: IndexStore, uuids: list[str]) -> Iterator[tuple[str, str]]:
    """The pages that have one of these uuids."""
    table = "memoryfield_files" if store.has_own_tables else "pages"
    sql = f"""
        SELECT filename, lower(trim(frontmatter ->> '$.uuid')) AS uuid FROM {table}
        WHERE json_valid(frontmatter) AND uuid IN (SELECT value FROM json_each(?))
    """
    for name, uuid in store.connection.execute(sql, (json.dumps(uuids),)):
        yield str(name), str(uuid)


def _day(moment_ns: int) -> str:
    if abs(moment_ns) == MAX_NS:
        return "before 1678" if moment_ns < 0 else "after 2261"
    return iso_time(moment_ns)[:10]
