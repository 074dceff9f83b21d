"""Which uuid and which name each page gets: the same ones whenever the same source is imported."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable

from .. import names
from ..names import folded
from .items import Gathered, Note, digest_of

NAMESPACE = uuid.UUID("4541aa1e-439d-51b2-8566-b79e074305a1")
"""Of the uuids that are made (UUIDv5, RFC 9562), itself made of `memoryfield:import` in the namespace of URLs.
What is hashed in it is the kind, a colon, and the note's identity. Every tree of Markdown counts as `markdown`: what
a folder is taken for may change as it grows."""
_UUID = re.compile(names.UUID)


def uuid_of(kind: str, identity: str) -> str:
    """The uuid of what has this identity in sources of a kind."""
    family = "markdown" if kind in ("claude", "basic-memory") else kind
    return str(uuid.uuid5(NAMESPACE, f"{family}:{identity}"))


def uuid_of_part(whole: str, part: str) -> str:
    """The uuid of a part of a page that was split: from the page's uuid, and the part's name."""
    return str(uuid.uuid5(uuid.UUID(whole), part))


def uuids(gathered: Gathered, kind: str) -> list[str]:
    """For each note the uuid that it carries, else that of its identity; of two notes with one, the first keeps it."""
    found: list[str] = []
    seen: set[str] = set()
    for note in gathered.notes:
        given = note.keys.get("uuid")
        own = given.strip().lower() if isinstance(given, str) else ""
        if given not in (None, "") and (not _UUID.fullmatch(own) or own in seen):
            reason = "is that of another note here" if own in seen else "is none"
            gathered.leave("frontmatter", note.path, f"the uuid {given!r} {reason}: the page gets another")
            own = ""
        made = own or uuid_of(kind, note.identity)
        while made in seen:
            made = uuid_of_part(made, note.path)
        seen.add(made)
        found.append(made)
    return found


class PageNames:
    """Gives out names that no file of a field has, nor any other page of this import."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {folded(name) for name in taken}

    def free(self, wishes: Iterable[str]) -> str:
        """The first wish that is free, else the last one numbered from 2."""
        stem = ""
        for stem in wishes:
            if self._take(stem + names.PAGE_SUFFIX):
                return stem + names.PAGE_SUFFIX
        return next(name for name in names.alternatives(stem) if self._take(name))

    def give_up(self, name: str) -> None:
        """A page may have the name that a file has: it takes its place."""
        self._taken.discard(folded(name))

    def _take(self, name: str) -> bool:
        if folded(name) in self._taken:
            return False
        self._taken.add(folded(name))
        return True


def wishes(note: Note, folders: str) -> list[str]:
    """The stems that a note would like, best first: its name alone, then with its folders (or always with them)."""
    alone = names.slug(note.name)
    inside = note.folders[:-1] if note.is_index else note.folders
    whole = names.slug("-".join((*inside, note.name)))
    last = names.slug("-".join((*inside[-1:], note.name)))
    found = [whole] if folders == "name" else list(dict.fromkeys((alone, last, whole)))
    return ["index", *found] if note.is_index and not note.folders else found


def plain_name(path: str) -> str:
    """What a copy of a file is called where no other file has the name."""
    base, _, suffix = path.rpartition("/")[2].rpartition(".")
    ending = re.sub(r"[^a-z0-9]", "", suffix.lower())[:16] if base else ""
    return names.slug(base or suffix) + (f".{ending}" if ending else "")


class FileNames:
    """Names for copies of files: plain, flat, and never that of another file with other bytes."""

    def __init__(self, taken: Iterable[str], digest: Callable[[str], str]) -> None:
        """Args:
        taken: names that files have already.
        digest: tells that of such a file's bytes; empty, if no copy may be taken for it.
        """
        self._digests: dict[str, str] = {}
        self._existing = {folded(name): name for name in taken}
        self._digest = digest

    def name(self, path: str, raw: bytes) -> str:
        """The copy's name: that of the file, with a part of its digest where another file is called so."""
        digest = digest_of(raw)
        plain = plain_name(path)
        stem, dot, ending = plain.partition(".")
        ending = dot + ending
        for made in (plain, f"{stem}-{digest[:8]}{ending}", f"{stem}-{digest}{ending}"):
            if made not in self._digests:
                self._digests[made] = self._digest(self._existing[made]) if made in self._existing else digest
            if self._digests[made] == digest:
                return made
        raise AssertionError("two files have one digest")
