"""A long page cut into pages within the limit, at its headings: nothing of the text is lost, and links still lead."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate, pairwise
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import UUID, uuid4, uuid5

from . import names
from .containers import Container
from .containers.base import require_writable
from .containers.directory import changing
from .errors import RefusedError
from .field import Field, check_match
from .frontmatter import newline_of
from .frontmatter.rewriting import new_block
from .outline import PARAGRAPH, Cut, Outline, closing, outline
from .page import Page, now, with_filled_frontmatter
from .sections import Section, sections
from .sections import anchor as anchor_of

SMALL = 4
"""A section under this part of what fits is not a page of its own, if it fits on that of its neighbour."""
MAX_TRIES = 12
_MAX_TITLE = 120
_UUID = re.compile(names.UUID)
_FIRST_ONLY = frozenset(
    "title summary uuid created updated supersedes imported alias aliases id slug permalink".split()
)
"""Keys that speak of the page as a whole, or must be unique. All others are every part's: sources and tags first."""


class Part(NamedTuple):
    """One of the pages that a page is cut into. `note` tells why it is longer than the limit, if it is."""

    name: str
    title: str
    raw: bytes
    note: str = ""


class Piece(NamedTuple):
    """The lines, from `start` to before `end`, that a part holds, and the rank of the cut before them."""

    start: int
    end: int
    rank: int


def split_text(
    page: Page, *, limit: int = names.MAX_PAGE_BYTES, taken: Collection[str] = (), fresh: bool = False
) -> list[Part]:
    """A page cut into pages within a limit in bytes, frontmatter included; one that is within it stays as it is.

    The first part keeps the name and the frontmatter, and lists the others.

    Args:
        taken: names that no part gets, besides the page's own.
        fresh: the parts are new now: `updated` says so, and they get uuids of chance. Else all dates are
            the page's, and the uuids are made from the page's own and the parts' names: always the same.

    Raises:
        RefusedError: the page is not UTF-8, or its frontmatter is broken.
    """
    if page.size <= limit:
        return [Part(page.filename, page.title, page.raw)]
    return splitting(page, limit=limit, taken=taken, fresh=fresh).parts


class Splitting(NamedTuple):
    """A page's parts, and where each of its anchors is now: the part's name, and the anchor there."""

    parts: list[Part]
    anchors: dict[str, tuple[str, str]]


def splitting(
    page: Page, *, limit: int = names.MAX_PAGE_BYTES, taken: Collection[str] = (), fresh: bool = False
) -> Splitting:
    """The same, for a page that is over the limit, with what became of its anchors."""
    _check(page)
    if not page.has_frontmatter:
        page = Page(page.filename, with_filled_frontmatter(page), mtime_ns=page.mtime_ns)
    found, headings = outline(page.body), sections(page.body)
    budget = limit - (page.size - len(page.body.encode("utf-8"))) - _MAX_TITLE
    for _ in range(MAX_TRIES):
        pieces = _pieces(found, max(budget, limit // 8))
        made = _Parts(page, found, headings, pieces, taken, fresh).made(limit)
        over = max((len(part.raw) - limit for part in made.parts if not part.note), default=0)
        if over <= 0:
            break
        budget -= over
    return made._replace(parts=[_explained(part, limit) for part in made.parts])


def _explained(part: Part, limit: int) -> Part:
    """A part that says so if it is over the limit."""
    if len(part.raw) <= limit or part.note:
        return part
    note = f"{part.name} is {len(part.raw):,} bytes: its frontmatter and the parts' titles leave too little room"
    return part._replace(note=note)


def _check(page: Page) -> None:
    if not page.is_utf8:
        problem = page.problems[0]
        raise RefusedError(
            f"{page.filename}:{problem.line}:{problem.column}: {problem.message}: it cannot be cut",
            hint="Save the page as UTF-8 first.",
        )
    if page.has_frontmatter and not page.frontmatter_is_valid:
        problem = page.problems[0]
        raise RefusedError(
            f"{page.filename}:{problem.line}:{problem.column}: {problem.message}: it cannot be cut",
            hint="Mend the frontmatter first: `memoryfield validate --fix` may do it.",
        )


# a page of a field


class Split(NamedTuple):
    """What became of a page, or with `dry_run` would; where there is one part, it was not cut."""

    field: str
    filename: str
    parts: list[Part]
    followed: list[str]
    """Other pages, whose links to headings lead to the parts now."""
    written: bool
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "field": self.field,
            "filename": self.filename,
            "written": self.written,
            "parts": [_described(part) for part in self.parts],
            "followed": self.followed,
            "notes": self.notes,
        }


def _described(part: Part) -> dict[str, Any]:
    page = Page(part.name, part.raw)
    return {
        "filename": part.name,
        "title": part.title,
        "uuid": page.uuid,
        "sha256": page.sha256,
        "bytes": page.size,
    }


def split_page(field: Field, wanted: str, *, if_match: str = "", dry_run: bool = False) -> Split:
    """What `Field.split` does."""
    container = field.container
    if not dry_run:
        require_writable(container)
    with changing(container, dry_run=dry_run) as changes:
        page = field.read(wanted)
        check_match(page.filename, page, if_match)
        if page.size <= names.MAX_PAGE_BYTES:
            note = (
                f"{page.filename} is {page.size:,} bytes, within the limit of {names.MAX_PAGE_BYTES:,}: it stays whole"
            )
            return Split(field.name, page.filename, [Part(page.filename, page.title, page.raw)], [], False, [note])
        _check_no_link(container, page.filename)
        made = splitting(page, taken=container.names(), fresh=True)
        notes = [part.note for part in made.parts if part.note]
        if len(made.parts) == 1:
            return Split(field.name, page.filename, made.parts, [], False, notes)
        following = _following(field, page.filename, made.anchors, notes)
        if changes is not None:
            for part in made.parts[1:]:
                changes.put(part.name, part.raw, before="")
            changes.put(page.filename, made.parts[0].raw, before=page.sha256)
            for other, raw in following:
                changes.put(other.filename, raw, before=other.sha256)
    return Split(field.name, page.filename, made.parts, [one.filename for one, _ in following], not dry_run, notes)


def _is_link(container: Container, name: str) -> bool:
    path = container.local_path(name)
    return path is not None and path.is_symlink()


def _check_no_link(container: Container, name: str) -> None:
    if _is_link(container, name):
        raise RefusedError(f"{name} is a link to another page", hint="Split that one.")


def _following(
    field: Field, name: str, anchors: Mapping[str, tuple[str, str]], notes: list[str]
) -> list[tuple[Page, bytes]]:
    """The other pages with links to headings that are in another part now, and what they should say."""
    found = []
    for page in field.pages():
        if page.filename == name or f"{name}#".encode() not in page.raw or _is_link(field.container, page.filename):
            continue
        if not page.is_utf8:
            notes.append(f"{page.filename} is not UTF-8: its links to headings of {name} were not looked at")
            continue
        body = with_moved_anchors(page.body, name, anchors)
        if body != page.body:
            found.append((page, page.head + body.encode("utf-8")))
    return found


# where to cut


def _pieces(found: Outline, budget: int) -> list[Piece]:
    """What the parts hold: as few cuts as possible, the best ones first, and small neighbours together."""
    sizes = [0, *accumulate(len(line.encode("utf-8")) for line in found.lines)]

    def cost(start: int, end: int) -> int:
        copied = sum(sizes[one.end] - sizes[one.start] for one in found.needed(start, end))
        return sizes[end] - sizes[start] + copied

    def cut(piece: Piece, cuts: list[Cut]) -> list[Piece]:
        if not cuts or cost(piece.start, piece.end) <= budget:
            return [piece]
        best = min(one.rank for one in cuts)
        edges = [Cut(piece.start, piece.rank), *(one for one in cuts if one.rank == best), Cut(piece.end, 0)]
        inner = [one for one in cuts if one.rank != best]
        found: list[Piece] = []
        at = 0
        for here, there in pairwise(edges):
            begin = at
            while at < len(inner) and inner[at].line < there.line:
                at += 1
            for one in cut(Piece(here.line, there.line, here.rank), inner[begin:at]):
                if found and belong(found[-1], one):
                    found[-1] = found[-1]._replace(end=one.end)
                else:
                    found.append(one)
        return found

    def belong(last: Piece, piece: Piece) -> bool:
        """Whether two neighbours go on one page: of one section, or where one of them is small."""
        if piece.rank < last.rank or cost(last.start, piece.end) > budget:
            return False
        return piece.rank >= PARAGRAPH or min(cost(*last[:2]), cost(*piece[:2])) < budget // SMALL

    whole = Piece(0, len(found.lines), 0)
    return cut(whole, found.within(whole.start, whole.end))


# what the parts say


class _Parts:
    """The parts that pieces of a page become."""

    def __init__(
        self,
        page: Page,
        found: Outline,
        headings: list[Section],
        pieces: list[Piece],
        taken: Collection[str],
        fresh: bool,
    ) -> None:
        self.page = page
        self.found = found
        self.pieces = pieces
        self.fresh = fresh
        self.newline = newline_of(page.text)
        self.titles = list(_titles(page, found, pieces))
        self.names = list(self._names(taken))
        self.anchors = dict(self._moved(headings))

    def made(self, limit: int) -> Splitting:
        """The parts. One that is over the limit, and cannot be cut, says so."""
        parts = [self._part(number, limit) for number in range(len(self.pieces))]
        return Splitting(parts, self.anchors)

    def _part(self, number: int, limit: int) -> Part:
        piece, name = self.pieces[number], self.names[number]
        raw = self._raw(number, limit) if len(self.pieces) > 1 else self.page.raw
        whole = len(raw) > limit and not self.found.within(piece.start, piece.end)
        note = f"{name} is {len(raw):,} bytes: it holds one block, which stays whole" if whole else ""
        return Part(name, self.titles[number], raw, note)

    def _names(self, taken: Collection[str]) -> Iterator[str]:
        yield self.page.filename
        used = {names.folded(name) for name in (self.page.filename, *taken)}
        for piece in self.pieces[1:]:
            stem = names.slug(f"{names.stem(self.page.filename)} {_heading(self.found, piece.start)}")
            name = next(name for name in names.alternatives(stem) if name not in used)
            used.add(name)
            yield name

    def _moved(self, headings: list[Section]) -> Iterator[tuple[str, tuple[str, str]]]:
        """Each anchor, the part that has it now, and what it is called there."""
        lengths = [0, *accumulate(map(len, self.found.lines))]
        places = [section.start for section in headings]
        for piece, name in zip(self.pieces, self.names, strict=True):
            start, end = lengths[piece.start], lengths[piece.end]
            before = (section.anchor for section in headings[bisect_left(places, start) : bisect_left(places, end)])
            after = [section.anchor for section in sections(self.page.body[start:end])]
            yield from ((anchor, (name, new)) for anchor, new in zip(before, after, strict=False))
        starts = [piece.start for piece in self.pieces]
        for own, line in self.found.own_anchors.items():
            yield own, (self.names[bisect_right(starts, line) - 1], own)

    def _raw(self, number: int, limit: int) -> bytes:
        body = self._body(number, limit)
        if number:
            block = new_block(self._keys(number), self.newline)
            return (block + self.newline + body).encode("utf-8")
        first = Page(self.page.filename, self.page.head + body.encode("utf-8"))
        return with_filled_frontmatter(first, kept=self.page) if self.fresh else first.raw

    def _keys(self, number: int) -> dict[str, Any]:
        """The frontmatter of a part that is not the first."""
        page, moment = self.page, now()
        derived = _UUID.fullmatch(page.uuid) and not self.fresh
        return {
            "title": self.titles[number],
            "uuid": str(uuid5(UUID(page.uuid), self.names[number]) if derived else uuid4()),
            "created": page.created or moment,
            "updated": moment if self.fresh else page.updated or page.created or moment,
            **{key: value for key, value in page.frontmatter.items() if key not in _FIRST_ONLY},
        }

    def _body(self, number: int, limit: int) -> str:
        """The text of a part: its lines, what they need of the others, and the way to the other parts."""
        piece, lines, newline = self.pieces[number], self.found.lines, self.newline
        own = "".join(lines[piece.start : piece.end])
        copied = "".join(
            _ended("".join(lines[one.start : one.end]), newline) for one in self.found.needed(piece.start, piece.end)
        )
        way = self._way(number, limit)
        if closing(own):  # what came behind it would be code
            text = newline.join([way, copied, own] if copied else [way, own])
        else:
            text = "".join(_ended(part, newline) + newline for part in (own, copied) if part) + way
        return self._led(text, self.names[number])

    def _way(self, number: int, limit: int) -> str:
        """How to get to the other parts."""
        newline = self.newline
        linked = [f"[{_in_brackets(title)}]({name})" for title, name in zip(self.titles, self.names, strict=True)]
        if number == 0:
            listed = "".join(f"- {link}{newline}" for link in linked[1:])
            if len(listed.encode("utf-8")) <= limit // SMALL:
                return f"The other parts of this page:{newline}{newline}{listed}"
            return f"This page goes on in {linked[1]}.{newline}"
        before = f" Before it: {linked[number - 1]}." if number > 1 else ""
        after = f" After it: {linked[number + 1]}." if number + 1 < len(linked) else ""
        return f"Part {number + 1} of {len(linked)} of {linked[0]}.{before}{after}{newline}"

    def _led(self, text: str, name: str) -> str:
        """The text with its links to anchors of the page leading to where those are now."""
        return with_moved_anchors(text, self.page.filename, self.anchors, name)


_WAY = re.compile(
    r"(?:^The other parts of this page:\s+(?:^- \[.*\]\([a-z0-9-]+\.md\)\s*)+"
    r"|^This page goes on in \[.*\]\([a-z0-9-]+\.md\)\.\s*"
    r"|^Part \d+ of \d+ of \[.*\]\([a-z0-9-]+\.md\)\..*\s*)\Z",
    re.MULTILINE,
)


def place_of_way(body: str) -> int | None:
    """Where a part's way to the others begins, in characters, if the text ends in it as `split` has written it."""
    found = _WAY.search(body)
    return found.start() if found else None


def with_moved_anchors(text: str, old: str, anchors: Mapping[str, tuple[str, str]], part: str = "") -> str:
    """A page's body, its links to the anchors of a page that was split leading to where those are now.

    Args:
        old: the name of the page that was split.
        anchors: where each of its anchors is.
        part: the name of the page that has the text, if it is one of the parts: `#anchor` is followed, too.
    """
    from .validation.links import Link, with_targets

    def target(link: Link) -> str | None:
        path, _, anchor = link.target.partition("#")
        if not anchor or not (link.page == old or (part and not path)):
            return None
        place = anchors.get(anchor) or anchors.get(anchor_of(anchor))
        if place is None or (place[0] == (link.page or part) and place[1] in (anchor, anchor_of(anchor))):
            return None
        return quote(f"#{place[1]}" if place[0] == part else "#".join(place), safe="#-._~")

    return with_targets(text, target)


def _titles(page: Page, found: Outline, pieces: list[Piece]) -> Iterator[str]:
    yield page.title
    used = Counter([page.title])
    for piece in pieces[1:]:
        heading = _clipped(_heading(found, piece.start))
        title = f"{page.title}: {heading}" if heading and heading != page.title else page.title
        used[title] += 1
        yield f"{title} ({used[title]})" if used[title] > 1 else title


def _heading(found: Outline, line: int) -> str:
    """The text of the heading that a line stands under."""
    cuts = found.cuts[: bisect_right(found.cuts, line, key=lambda cut: cut.line)]
    return next((cut.heading for cut in reversed(cuts) if cut.heading), "")


def _clipped(text: str) -> str:
    """A heading that is not too long for a title."""
    return text if len(text) <= _MAX_TITLE else text[: _MAX_TITLE - 1].rstrip() + "…"


def _in_brackets(title: str) -> str:
    return re.sub(r"([\\\[\]`<])", r"\\\1", title)


def _ended(text: str, newline: str) -> str:
    """A text whose last line ends."""
    return text if text.endswith(("\n", "\r")) else text + newline
