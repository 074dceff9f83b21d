"""The rows of an index beside the pages that they are of: what a reader would believe has to be so."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from ..embedders import MODELS, dimensions_of
from ..embedders.specs import begins_with
from ..errors import IndexFileError
from ..index.files import code_of
from ..index.schema import OURS
from ..index.store import DAMAGE, WRONG_VALUES, IndexStore
from ..index.sync import MAX_INDEXED
from ..names import model_code
from ..page import Page

_DEFINITIONS = """
    SELECT name, sql FROM sqlite_master WHERE name IN ('memoryfield_meta', 'memoryfield_files', 'memoryfield_keyword')
"""
NAMED = 3
"""So many pages a message names."""


class Known(NamedTuple):
    """What is remembered of a page: its bytes' hash, whether it has text, and what an index may say of it."""

    sha256: bytes
    size: int
    has_text: bool
    frontmatter: bytes
    """A digest of the frontmatter as our indexes write it."""
    told: tuple[Any, ...]
    """Dates, `supersedes` and whether the page has problems, as our indexes write them."""


class RowFault(NamedTuple):
    """A requirement that an index breaks, and how."""

    requirement: str
    message: str


def known(page: Page) -> Known:
    """What is to be remembered of a page."""
    supersedes = json.dumps(page.supersedes) if page.supersedes else None
    return Known(
        bytes.fromhex(page.sha256),
        page.size,
        bool(page.text.strip() and page.text.strip("\0 \t\r\n")),
        _digest(json.dumps(page.frontmatter, ensure_ascii=False)),
        (page.created_ns, page.updated_ns, page.expires_ns, supersedes, bool(page.problems)),
    )


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class Rows:
    """One index, compared with the pages. What is wrong is in `faults`, `count` is that of the vectors.

    Neither vectors nor words are computed anew: a vector that is of the right length and a keyword row
    that is there are not known to be those of their page.

    Args:
        path: the database.
        name: what it is called in the archive.
        pages: what is known of each page that could be read.
        unread: the pages of which nothing is known.
        crcs: the CRC-32 of each page.
        read: gives a page once more.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        pages: Mapping[str, Known],
        unread: set[str],
        crcs: Mapping[str, int | None],
        read: Callable[[str], Page],
    ) -> None:
        self.pages, self.unread, self.crcs, self.read = pages, unread, crcs, read
        self.faults: list[RowFault] = []
        self.count = 0
        model = code_of(name)
        try:
            store = IndexStore.open(path, model, dimensions_of(model), writable=False, name=name)
        except IndexFileError as error:
            self.faults.append(RowFault("X-6", error.message))
            return
        try:
            self.faults += self._vectors(store)
            if store.has_own_tables:
                if found := _otherwise_made(store.connection):
                    self.faults.append(RowFault("X-11", f"its table {found} is made otherwise than it should be"))
                self.faults += self._files(store)
                self.faults += self._keywords(store)
        except (apsw.Error, *DAMAGE, *WRONG_VALUES) as error:
            self.faults.append(RowFault("X-10", f"cannot be read as an index: {error}"))
        finally:
            store.close()

    def _vectors(self, store: IndexStore) -> Iterator[RowFault]:
        """X-8, X-9 and X-11: the table `pages`, which any tool may read."""
        gone: list[str] = []
        stale: list[str] = []
        repeated: list[str] = []
        otherwise: list[str] = []
        missing = {name for name, page in self.pages.items() if page.has_text and page.size <= MAX_INDEXED}
        seen: set[str] = set()
        for name, digest, frontmatter in store.connection.execute(
            "SELECT filename, sha256_hash, frontmatter FROM pages"
        ):
            self.count += 1
            if name in seen:
                repeated.append(name)
            seen.add(name)
            missing.discard(name)
            page = self.pages.get(name)
            if page is None:
                if name not in self.unread:
                    gone.append(str(name))
            elif digest != page.sha256:
                stale.append(name)
            elif not self._is_of(page, name, frontmatter):
                otherwise.append(name)
        yield from _told("X-8", "holds rows of pages that are gone", gone)
        yield from _told("X-8", "holds several rows of one page", repeated)
        yield from _told("X-9", "holds rows of other bytes than the pages have", stale)
        yield from _told("X-9", "holds no row of pages that have text", sorted(missing))
        yield from _told("X-11", "says something else than the frontmatter of pages", otherwise)

    def _is_of(self, page: Known, name: str, frontmatter: Any) -> bool:
        """Whether a stored frontmatter says what the page's does, however it is written."""
        if isinstance(frontmatter, str) and _digest(frontmatter) == page.frontmatter:
            return True
        try:
            return _is_same(json.loads(frontmatter, object_pairs_hook=_once), self.read(name).frontmatter)
        except WRONG_VALUES:
            return False

    def _files(self, store: IndexStore) -> Iterator[RowFault]:
        """X-8, X-9 and X-11: our own table, by which a search knows whether an index is up to date."""
        sql = (
            "SELECT filename, size, crc32, sha256, frontmatter, created_ns, updated_ns, expires_ns, supersedes, broken"
            " FROM memoryfield_files"
        )
        gone: list[str] = []
        stale: list[str] = []
        otherwise: list[str] = []
        missing = {name for name, page in self.pages.items() if page.size <= MAX_INDEXED}
        for name, size, crc, digest, frontmatter, *told, broken in store.connection.execute(sql):
            missing.discard(name)
            page = self.pages.get(name)
            if page is None:
                gone += [] if name in self.unread else [str(name)]
            elif (digest, size, crc) != (page.sha256, page.size, self.crcs.get(name)):
                stale.append(name)
            elif _digest(frontmatter) != page.frontmatter or (*told, bool(broken)) != page.told:
                otherwise.append(name)
        yield from _told("X-8", "its table memoryfield_files holds rows of pages that are gone", gone)
        yield from _told("X-9", "its table memoryfield_files is of other bytes than the pages have", stale)
        yield from _told("X-9", "its table memoryfield_files holds no row of pages", sorted(missing))
        yield from _told("X-11", "its table memoryfield_files says something else than the pages", otherwise)

    def _keywords(self, store: IndexStore) -> Iterator[RowFault]:
        """X-9: a row of words for each page that our own table has, and no other."""
        ids = {row[0] for row in store.connection.execute("SELECT id FROM memoryfield_files")}
        # Not from the keyword table itself, which may be made to read something that never ends.
        words = {row[0] for row in store.connection.execute("SELECT id FROM memoryfield_keyword_docsize")}
        if ids != words:
            counts = f"{len(ids - words):,} missing, {len(words - ids):,} of no page"
            yield RowFault("X-9", f"its words are not those of the pages ({counts})")


def _otherwise_made(connection: apsw.Connection) -> str:
    """The first of our own tables that is not as we make it, or nothing."""
    own = apsw.Connection(":memory:")
    try:
        own.execute(OURS)
        made = dict(own.execute(_DEFINITIONS))
    finally:
        own.close()
    found = dict(connection.execute(_DEFINITIONS))
    return next((name for name, sql in made.items() if found.get(name) != sql), "")


def is_meant_as_index(path: Path, name: str) -> bool:
    """Whether a database is one, and not somebody's own: by its name, or by the columns of its table `pages`."""
    if any(begins_with(model_code(name), model) for model in MODELS):
        return True
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            columns = {row[1] for row in connection.execute("PRAGMA table_info(pages)")}
        finally:
            connection.close()
    except (apsw.Error, UnicodeDecodeError):
        return False  # X-10 tells of it
    return {"filename", "embedding"} <= columns


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; raises `ValueError` for two keys of one name, of which programs take one or the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _is_same(stored: Any, said: Any) -> bool:
    """Whether two values are, but for what writers differ in: a number, a date or a truth value may be text."""
    if isinstance(said, dict) and isinstance(stored, dict):
        keyed = {str(key): item for key, item in said.items()}
        return stored.keys() == keyed.keys() and all(_is_same(stored[key], item) for key, item in keyed.items())
    if isinstance(said, list) and isinstance(stored, list):
        return len(stored) == len(said) and all(map(_is_same, stored, said))
    if isinstance(said, str):
        return str(stored) == said
    return str(stored).lower() == str(said).lower()


def _told(requirement: str, message: str, found: list[str]) -> Iterator[RowFault]:
    if found:
        shown = ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED:,} more" if len(found) > NAMED else "")
        yield RowFault(requirement, f"{message}: {shown}")
