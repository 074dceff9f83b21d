"""Which file of one field is which of another: by name, else by uuid, else by content."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from .. import names
from ..containers import Container
from ..containers.contents import content_hash, counting, files, total
from ..page import Page

Progress = Callable[[int, int], None]
By = Literal["name", "uuid", "content"]

PROGRESS_EACH = 1_000
_CLAIM = re.compile(rb"uuid[\"']?[ \t]*[:=][ \t]*([^\r\n,}]*)")
_EMPTY = hashlib.sha256(b"").digest()


class Pair(NamedTuple):
    """A file on both sides, by its names there, and what they were matched by."""

    a: str
    b: str
    by: By


class Matching(NamedTuple):
    """What is on both sides, and what is on one alone; each sorted by name, pairs by that in `b`."""

    pairs: list[Pair]
    only_a: list[str]
    only_b: list[str]


class Side:
    """The pages and other files of a field: every one is read once for its hash, and no text is kept.

    `hashes` are SHA-256 (32 bytes) by name, sorted; `unread` tells why a file could not be read.
    """

    def __init__(self, container: Container, progress: Callable[[], None] | None = None) -> None:
        self.container = container
        self.hashes: dict[str, bytes] = {}
        self.unread: dict[str, str] = {}
        self._claims: dict[bytes, list[str]] = {}
        self._uuids: dict[str, str] = {}
        for name, raw in files(container, unread=self.unread, done=progress):
            self._look(name, raw)

    def _look(self, name: str, raw: bytes) -> None:
        self.hashes[name] = hashlib.sha256(raw).digest()
        if names.is_page(name):
            for claim in _CLAIM.findall(raw):
                self._claims.setdefault(_plain(claim), []).append(name)

    @property
    def content_hash(self) -> str:
        """The field's content hash (A-11); empty where a file could not be read."""
        return "" if self.unread else content_hash(self.hashes)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "field": self.container.name,
            "location": str(self.container.location),
            "content_hash": self.content_hash or None,
            "pages": sum(map(names.is_page, [*self.hashes, *self.unread])),
        }

    def read(self, name: str) -> bytes:
        """A file's bytes."""
        return self.container.read(name)

    def page(self, name: str) -> Page:
        """A page, read anew."""
        return Page(name, self.read(name))

    def uuid(self, name: str) -> str:
        """The uuid of a page that could be read, in lowercase, or nothing."""
        if name not in self._uuids:
            self._uuids[name] = self.page(name).uuid
        return self._uuids[name]

    def of_uuid(self, uuid: str) -> list[str]:
        """The pages that have this uuid. Only those are parsed in whose text it stands."""
        claimed = self._claims.get(_plain(uuid.encode()), [])
        known = [name for name, found in self._uuids.items() if found == uuid]
        return sorted({name for name in claimed if self.uuid(name) == uuid}.union(known))


class Noted(Side):
    """A side of which only the hashes of its files are known, and no uuid."""

    def __init__(self, hashes: Mapping[str, bytes], field: str) -> None:
        self.hashes = dict(hashes)
        self.unread: dict[str, str] = {}
        self._field = field

    def to_dict(self) -> dict[str, Any]:
        known = {"content_hash": self.content_hash, "pages": sum(map(names.is_page, self.hashes))}
        return {"field": self._field, "location": None, **known}

    def read(self, name: str) -> bytes:
        raise FileNotFoundError(2, "only its hash is known", name)

    def uuid(self, name: str) -> str:
        return ""


def _plain(claim: bytes) -> bytes:
    """A value without its quotes or the comment after it, in lowercase."""
    return claim.partition(b" #")[0].strip(b" \t\"'").lower()


def read_sides(a: Container, b: Container, progress: Progress | None = None) -> tuple[Side, Side]:
    """Both sides, read. `progress` is called now and then with the number of files read, and of all."""
    done = counting(total(a, b), progress, PROGRESS_EACH)
    return Side(a, done), Side(b, done)


def match(a: Side, b: Side) -> Matching:
    """Which file of `a` is which of `b`.

    Files of one name are one file. Of the rest, pages of one uuid are, where it occurs once on each
    side; then files of identical content that is not empty, in order of their names. A page is never
    matched with a file that is none.
    """
    in_a, in_b = {*a.hashes, *a.unread}, {*b.hashes, *b.unread}
    pairs = [Pair(name, name, "name") for name in in_a & in_b]
    rest_a, rest_b = in_a - in_b, in_b - in_a
    for pair in _of_one_uuid(a, b, rest_a, rest_b):
        pairs.append(pair)
        rest_a.discard(pair.a)
        rest_b.discard(pair.b)
    for pair in _of_one_content(a, b, rest_a, rest_b):
        pairs.append(pair)
        rest_a.discard(pair.a)
        rest_b.discard(pair.b)
    return Matching(sorted(pairs, key=lambda pair: pair.b), sorted(rest_a), sorted(rest_b))


def _of_one_uuid(a: Side, b: Side, rest_a: Iterable[str], rest_b: Iterable[str]) -> list[Pair]:
    """The pages of the rest that share a uuid which no other page has."""
    of_a, of_b = _by_uuid(a, rest_a), _by_uuid(b, rest_b)
    shared = (uuid for uuid in of_a if uuid in of_b)
    found = ((a.of_uuid(uuid), b.of_uuid(uuid)) for uuid in shared)
    return [Pair(in_a[0], in_b[0], "uuid") for in_a, in_b in found if len(in_a) == len(in_b) == 1]


def _by_uuid(side: Side, rest: Iterable[str]) -> set[str]:
    return {side.uuid(name) for name in rest if names.is_page(name) and name in side.hashes} - {""}


def _of_one_content(a: Side, b: Side, rest_a: Iterable[str], rest_b: Iterable[str]) -> list[Pair]:
    waiting: dict[tuple[bytes, bool], list[str]] = {}
    for name in sorted(rest_a, reverse=True):
        if a.hashes.get(name, _EMPTY) != _EMPTY:
            waiting.setdefault((a.hashes[name], names.is_page(name)), []).append(name)
    pairs: list[Pair] = []
    for name in sorted(rest_b):
        if name in b.hashes and (alike := waiting.get((b.hashes[name], names.is_page(name)))):
            pairs.append(Pair(alike.pop(), name, "content"))
    return pairs
