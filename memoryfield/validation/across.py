"""Rules about pages beside each other: what they share, and what they say of each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import blake2b

from .. import names
from ..frontmatter import place
from ..page import Page
from .links import links
from .pages import at_key, is_uuid
from .report import Fault

LISTED_AT_LEAST = 10
"""index.md is taken for a catalogue if it names so many pages, and more than half of all."""
MAX_LINKS = 20
"""Of a page, so many links that lead nowhere are reported; then how many more there are."""
NAMED = 3
"""So many names a message lists."""

_NAME = re.compile(r"(?<![a-z0-9-])[a-z0-9-]+\.md")  # begun once in each run of such characters, however long


class Across:
    """What is remembered of the pages while they are read, one after the other: hashes and keys, no text.

    `listed` are all pages that are there.
    """

    def __init__(self, listed: set[str]) -> None:
        self._names = listed
        self._folded = {name.lower(): name for name in listed}
        self._uuids: dict[str, str] = {}
        self._titles: dict[str, str] = {}
        self._bodies: dict[bytes, str] = {}
        self._supersedes: dict[str, list[tuple[str, Fault]]] = {}

    def look(self, page: Page) -> Iterator[Fault]:
        """What is wrong with a page beside those before it."""
        yield from self._shared(page)
        yield from self._links(page)
        if page.filename in ("index.md", "listing.md"):
            yield from self._catalogue(page)
        for one in page.supersedes:
            if is_uuid(one):
                given = at_key(page, "supersedes", "K-6", f"no page of this field has the uuid {one}")
                self._supersedes.setdefault(page.uuid, []).append((one, given))

    def musts(self, page: Page) -> Iterator[Fault]:
        """F-13 and I-1 alone, as `look` finds them among others."""
        yield from self._same_uuid(page)
        if page.filename == "index.md":
            yield from self._catalogue(page)

    def _same_uuid(self, page: Page) -> Iterator[Fault]:
        """F-13."""
        uuid = page.uuid
        if uuid and (first := self._uuids.setdefault(uuid, page.filename)) != page.filename:
            yield at_key(page, "uuid", "F-13", f"{first} has the same uuid")

    def _shared(self, page: Page) -> Iterator[Fault]:
        """F-13, R-1 and R-5."""
        yield from self._same_uuid(page)
        title = page.frontmatter.get("title")
        if isinstance(title, str) and title.strip():
            folded = " ".join(title.split()).casefold()
            if (first := self._titles.setdefault(folded, page.filename)) != page.filename:
                yield at_key(page, "title", "R-1", f"{first} has the same title")
        if body := page.body.strip():
            digest = blake2b(body.encode("utf-8", "replace"), digest_size=16).digest()
            if (first := self._bodies.setdefault(digest, page.filename)) != page.filename:
                yield Fault(page.filename, 0, 0, "R-5", f"{first} has the same text")

    def _links(self, page: Page) -> Iterator[Fault]:
        """L-1."""
        start = len(page.text) - len(page.body)
        broken = [link for link in links(page.body) if link.page is not None and link.page not in self._names]
        for link in broken[:MAX_LINKS]:
            near = self._folded.get(str(link.page).lower())
            message = f"leads to {link.page}, which is not there" + (f" ({near} is)" if near else "")
            yield Fault(page.filename, *place(page.text, start + link.start), "L-1", message)
        if len(broken) > MAX_LINKS:
            line, _ = place(page.text, start + broken[MAX_LINKS].start)
            yield Fault(
                page.filename, line, 0, "L-1", f"and {len(broken) - MAX_LINKS:,} more links like these from here on"
            )

    def _catalogue(self, page: Page) -> Iterator[Fault]:
        """I-1 and I-2."""
        others = self._names - {"index.md", "listing.md"}
        named = {link.page for link in links(page.body)} | set(_NAME.findall(page.body))
        unusual = {name for name in others - named if not names.plainly_a_page(name)}
        listed = (others & named) | {name for name in unusual if name in page.body}
        if page.filename == "listing.md":
            if missing := sorted(others - listed):
                yield Fault(page.filename, 0, 0, "I-2", f"does not name {some(missing)}")
        elif len(listed) >= LISTED_AT_LEAST and len(listed) > len(others) / 2:
            message = f"names {len(listed)} of {len(others)} pages: that is a catalogue, not an introduction"
            yield Fault(page.filename, 0, 0, "I-1", message)

    def finish(self) -> Iterator[Fault]:
        """K-6 and K-7: what can only be said when all pages were seen."""
        for given in self._supersedes.values():
            yield from (place for target, place in given if target not in self._uuids)
        yield from self._circles()

    def _circles(self) -> Iterator[Fault]:
        """K-7: each page from which one comes back to itself, following `supersedes`."""
        targets = {one: [target for target, _ in given] for one, given in self._supersedes.items() if one}
        for one in in_circles(targets):
            place = self._supersedes[one][0][1]
            message = "supersedes itself" + ("" if one in targets[one] else ", by way of other pages")
            yield Fault(place.filename, place.line, place.column, "K-7", message)


def in_circles(targets: dict[str, list[str]]) -> set[str]:
    """The nodes of a directed graph from which a path leads back to them, in linear time.

    Those that share a strongly connected component with another, by Tarjan (1972), "Depth-first search
    and linear graph algorithms"; and those with an edge to themselves.
    """
    found: set[str] = set()
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    component: list[str] = []
    waiting: set[str] = set()
    for root in targets:
        path = [] if root in number else [(root, iter(targets[root]))]
        while path:
            node, ahead = path[-1]
            if node not in number:
                number[node] = low[node] = len(number)
                component.append(node)
                waiting.add(node)
            for target in ahead:
                if target not in number:
                    path.append((target, iter(targets.get(target, ()))))
                    break
                if target in waiting:
                    low[node] = min(low[node], number[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    members = [component.pop()]
                    while members[-1] != node:
                        members.append(component.pop())
                    waiting.difference_update(members)
                    if len(members) > 1 or node in targets.get(node, ()):
                        found.update(members)
    return found


def some(found: list[str]) -> str:
    """The first names of a list, and how many there are."""
    shown = ", ".join(found[:NAMED])
    return shown if len(found) <= NAMED else f"{shown} and {len(found) - NAMED:,} more"
