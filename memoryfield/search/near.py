"""Pages that say nearly what a text says that is about to be written, so that its writer can update one of them.

score = ½ words + ½ meaning. `words` is the cosine of the two sets of words, each word weighted by how
rare it is in the field; `meaning` that of the two vectors. What is compared are titles, summaries and
bodies: uuids and dates tell nothing.

Words come first, for they need no model: a page that shares too few of them cannot reach the
threshold, whatever it means. Where no page shares enough, no model is loaded.

A short text may say what a part of a long page says, which has many words beside those, and means
more. So the page's best passage is looked at, too: as many words as the text has, one after another.
It says the text again if it has enough of the text's words, weighted as above; what a model would
say of a passage tells no more (tests/benchmarks/near.py).
"""

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from operator import mul
from typing import Any, TypeVar

import apsw

from ..answers import Similar
from ..containers import Container
from ..embedders import DEFAULT_MODEL, Embedder, Vector, dimensions_of
from ..errors import EmbedderError, EmbedderUnavailableError, MemoryfieldError, reason_of
from ..index.files import embedder_of, index_files, open_index
from ..index.schema import TOKENIZER, words
from ..index.store import DAMAGE, WRONG_VALUES, IndexStore
from ..names import MAX_PAGE_BYTES, is_page
from ..page import Page
from .keyword import STOP_WORDS, as_phrase
from .semantic import Stored

T = TypeVar("T")

THRESHOLD = 0.6
"""The least score that is told: the lowest at which at most 1 % of siblings are (tests/benchmarks/near.py)."""
BY_WORDS_ALONE = 0.55
"""The least `words` of a page whose vector cannot be compared."""
ALIKE = 0.9
"""From so much `words` on, a page is nearly the same whatever a model would say, and none is loaded."""
IN_A_PASSAGE = 0.58
"""The least share of the text's words, by weight, in one passage of a longer page: what half of the topics chose
by the same rule, and at which no sibling of the other half is told."""
LONGER = 2
"""So many times as many words as the text has a page of which a passage is looked at."""
SCRAP = 8
"""Fewer different words stand together in some passage by chance."""
MOST = 3
"""So many pages are told, the nearest ones."""

CANDIDATES = 20
"""So many of the pages that share the most telling words with the text are looked at."""
MAX_WORDS = 400
"""So many different words of a text count."""
LOOKED_UP, MAX_ROWS = 48, 20_000
"""The words that pages are looked up by: the rarest, so many at most, as long as so many rows hold them."""
MAX_UNKNOWN = 1_000
"""So many pages that no index knows yet are read."""
MAX_EMBEDDED = 2
"""So many of them get a vector to be compared by."""
BEGINNING = 250
"""Characters of a text that are embedded: enough to tell memories apart, and read soon from a cold start."""
TIMEOUT_MS = 500
"""How long an index is waited for that another process has locked."""
BUNDLED_WAIT, SERVER_WAIT = 20.0, 2.0
"""Seconds for the vectors: the writer waits."""

_UNUSABLE = (MemoryfieldError, OSError, apsw.Error, *DAMAGE, *WRONG_VALUES)
"""What an index or a model may raise. A write must not fail of it."""


class Nearness:
    """A text that is about to be written, as a page of its own name, and the field that may say it already.

    ```python
    nearness = Nearness(container, page)
    similar = nearness.look()
    with container.lock():
        similar += nearness.look_again()       # what was written meanwhile
    ```
    """

    def __init__(self, container: Container, page: Page, share: Callable[[Embedder], Embedder] | None = None) -> None:
        self.notes: list[str] = []
        """What could not be compared, and why."""
        self._container = container
        self._own = page.filename
        self._share = share or (lambda embedder: embedder)
        self._connection = apsw.Connection(":memory:")
        self._tokenizer: Any = self._connection.fts5_tokenizer(*TOKENIZER)
        self._stop = frozenset(self._stems(" ".join(STOP_WORDS)))
        self._title = self._stems(page.title)
        self._text = _said(page)
        self._words = self._words_of(self._text)
        self._body = self._telling(_told(page))
        self._seen: set[str] = set()

    def look(self) -> list[Similar]:
        """The pages that say nearly the same, nearest first. Whatever cannot be compared is not; nothing is raised."""
        if not self._words:
            return []
        try:
            self._seen = self._names()
            store, code = self._open()
            try:
                return self._told(self._others(store), lambda others: self._compare_meaning(others, store, code))
            finally:
                if store:
                    store.close()
        except _UNUSABLE as error:
            self.notes.append(f"whether other pages say the same could not be seen: {reason_of(error)}")
            return []

    def look_again(self) -> list[Similar]:
        """The same for pages that came since `look`, by words alone: a lock is held meanwhile."""
        if not self._words:
            return []
        try:
            new = self._names() - self._seen
        except OSError:
            return []
        return self._told(self._weighed(self._read(sorted(new)[:MAX_UNKNOWN]), None), None)

    def _names(self) -> set[str]:
        return {name for name in self._container.names() if is_page(name) and name != self._own}

    def _open(self) -> tuple[IndexStore | None, str]:
        """The index that a search would take first, and its model; without one, the default model."""
        for code, name in index_files(self._container).items():
            with suppress(*_UNUSABLE):
                return open_index(self._container, code, dimensions_of(code), name=name, timeout_ms=TIMEOUT_MS), code
        return None, DEFAULT_MODEL

    def _told(self, others: list[_Other], compare: Callable[[list[_Other]], None] | None) -> list[Similar]:
        """The near ones. Their meaning is compared only if their words let them reach the threshold."""
        others = [other for other in others if other.says_it or other.words >= min(BY_WORDS_ALONE, 2 * THRESHOLD - 1)]
        if compare and 0 < max((max(other.words, other.passage) for other in others), default=0) < ALIKE:
            try:
                compare(others)
            except _UNUSABLE as error:
                self.notes.append(f"compared with other pages by words alone: {reason_of(error)}")
        near = sorted((other for other in others if other.is_near), key=lambda other: (-other.score, other.filename))
        return [other.similar(self._container.name) for other in near[:MOST]]

    # words

    def _stems(self, text: str) -> list[str]:
        encoded = words(text).encode("utf-8", "replace")
        stems = self._tokenizer(
            encoded, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
        )
        return list(map(str, stems))

    def _telling(self, text: str) -> list[str]:
        """A text's stems, one after another, stop words left out."""
        return [stem for stem in self._stems(text) if stem not in self._stop]

    def _words_of(self, text: str) -> dict[str, str]:
        """The first stems of a text, each with the word that it was, stop words left out."""
        encoded = words(text).encode("utf-8", "replace")
        found: dict[str, str] = {}
        for start, end, stem in self._tokenizer(
            encoded, apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=True, include_colocated=False
        ):
            if stem not in self._stop and len(found) < MAX_WORDS:
                found.setdefault(stem, encoded[start:end].decode("utf-8", "replace"))
        return found

    def _others(self, store: IndexStore | None) -> list[_Other]:
        """The pages that may be near, weighed by their words: by the index, and all that it does not know."""
        known: set[str] = set()
        candidates: list[str] = []
        counts: dict[str, int] = {}
        if store and store.has_own_tables:
            known = {row[0] for row in store.connection.execute("SELECT filename FROM memoryfield_files")}
            counts = _counts(store, self._words)
            candidates = [name for name in self._look_up(store, counts) if name in self._seen]
        unknown = sorted(self._seen - known)
        if len(unknown) > MAX_UNKNOWN:
            self.notes.append(
                f"{len(unknown):,} pages are in no index yet and were not compared: run `memoryfield embed`"
            )
            unknown = []
        return self._weighed(self._read([*candidates, *unknown]), (counts, len(known)), len(candidates))

    def _look_up(self, store: IndexStore, counts: dict[str, int]) -> list[str]:
        """The pages that share the most telling words with the text, best first."""
        chosen: list[str] = []
        rows = 0
        for count, stem in sorted((count, stem) for stem, count in counts.items())[:LOOKED_UP]:
            rows += count
            if chosen and rows > MAX_ROWS:
                break
            chosen.append(as_phrase(self._words[stem]))
        sql = """
            SELECT filename FROM memoryfield_files JOIN (
                SELECT rowid AS row, bm25(memoryfield_keyword) AS distance FROM memoryfield_keyword
                WHERE memoryfield_keyword MATCH ? ORDER BY distance LIMIT ?
            ) ON id = row ORDER BY distance
        """
        return [row[0] for row in store.connection.execute(sql, (" OR ".join(chosen), CANDIDATES))] if chosen else []

    def _read(self, names: Iterable[str]) -> list[_Other]:
        """Other pages, as far as they can be read."""
        others: list[_Other] = []
        for name in names:
            with suppress(MemoryfieldError, OSError):
                said = Page(name, self._container.read(name, MAX_PAGE_BYTES))
                others.append(_Other(said, self._telling(_said(said))))
        return others

    def _weighed(
        self, others: list[_Other], known: tuple[dict[str, int], int] | None, counted: int = 0
    ) -> list[_Other]:
        """Set how alike the words are: the cosine of sets of words, each weighted by the square of its rarity.

        Rarity is 1 + ln((1 + pages) / (1 + pages that hold it)), the text itself counted as a page. What
        the other page has beside the shared words is taken to be as rare as the text's words are on average.

        Args:
            known: how many indexed pages hold each word of the text, and how many there are.
            counted: how many of the others, the first, are among those.
        """
        held, pages = known or ({}, 0)
        counts = {stem: 1 + held.get(stem, 0) for stem in self._words}
        for other in others[counted:]:
            for stem in other.stems & counts.keys():
                counts[stem] += 1
        pages += 1 + len(others) - counted
        weight = {stem: (1 + math.log((1 + pages) / (1 + count))) ** 2 for stem, count in counts.items()}
        whole = sum(weight.values())
        for other in others:
            if self._title and self._stems(other.page.title) == self._title:
                other.words = 1.0  # one question has one page
                continue
            common = other.stems & weight.keys()
            shared = sum(weight[stem] for stem in common)
            rest = (len(other.stems) - len(common)) * whole / len(weight)
            other.words = shared / math.sqrt(whole * (shared + rest)) if shared else 0.0
        self._look_for_passages(others, weight)
        return others

    def _look_for_passages(self, others: list[_Other], weight: dict[str, float]) -> None:
        """Set what share of the text's words, its title and headings left out, one passage of each longer page has."""
        own = {stem: weight[stem] for stem in self._body if stem in weight}
        if len(own) < SCRAP:
            return
        whole = sum(own.values())
        for other in others:
            most = sum(own[stem] for stem in own.keys() & other.stems)
            if most >= IN_A_PASSAGE * whole and len(other.said) >= LONGER * len(self._body):
                other.passage = _in_a_passage(own, other.said, len(self._body)) / whole

    # meaning

    def _compare_meaning(self, others: list[_Other], store: IndexStore | None, code: str) -> None:
        """Set how near the vectors are: the stored ones, and those that a few pages without one get now."""
        stored = set(store.vector_hashes([other.filename for other in others])) if store else set()
        without = sorted((other for other in others if other.filename not in stored), key=lambda other: -other.words)
        texts = [self._text, *(_said(other.page) for other in without[:MAX_EMBEDDED])]
        embedder = self._share(embedder_of(self._container, code))
        vector, *more = _vectors(embedder, [text[:BEGINNING] for text in texts])
        found = Stored(store).of(vector, list(stored)) if store else {}
        for other in others:
            other.meaning = found.get(other.filename)
        for other, its in zip(without, more, strict=False):
            other.meaning = _cosine(vector, its)


class _Other:
    """A page that is compared with the text."""

    def __init__(self, page: Page, said: list[str]) -> None:
        self.page, self.filename, self.said, self.stems = page, page.filename, said, frozenset(said)
        self.words = self.passage = 0.0
        self.meaning: float | None = None

    @property
    def says_it(self) -> bool:
        """Whether one passage of it says the text."""
        return self.passage >= IN_A_PASSAGE

    @property
    def score(self) -> float:
        if self.says_it:
            return max(self.words, self.passage)
        return self.words if self.meaning is None else 0.5 * self.words + 0.5 * self.meaning

    @property
    def is_near(self) -> bool:
        return self.says_it or self.score >= (BY_WORDS_ALONE if self.meaning is None else THRESHOLD)

    def similar(self, field: str) -> Similar:
        if self.says_it:
            return Similar(field, self.filename, self.page.title, self.score, self.score, None)
        return Similar(field, self.filename, self.page.title, self.score, self.words, self.meaning)


def _said(page: Page) -> str:
    """What a page says, as much as is embedded, without what its frontmatter says of the page itself."""
    title = "" if page.title == page.heading else page.title
    text = "\n".join(filter(None, (title, page.summary, page.body.strip()))) if page.is_utf8 else ""
    return text.encode("utf-8", "replace")[:MAX_PAGE_BYTES].decode("utf-8", "ignore")


def _told(page: Page) -> str:
    """What a page says without its title and headings, which are of another's choice where it is a part of a page."""
    lines = page.body.splitlines() if page.is_utf8 else []
    return "\n".join(line for line in lines if not line.startswith("#"))


def _in_a_passage(weight: dict[str, float], said: list[str], length: int) -> float:
    """The weight of the distinct words in that passage of `length` words which has the most of it."""
    inside = dict.fromkeys(weight, 0)
    best = held = 0.0
    for place, stem in enumerate(said):
        if place >= length and (left := said[place - length]) in inside:
            inside[left] -= 1
            held -= 0 if inside[left] else weight[left]
        if stem in inside:
            held += 0 if inside[stem] else weight[stem]
            inside[stem] += 1
            best = max(best, held)
    return best


def _counts(store: IndexStore, stems: Iterable[str]) -> dict[str, int]:
    """How many pages of an index hold each of these stems."""
    store.connection.execute(
        "CREATE VIRTUAL TABLE temp.memoryfield_near USING fts5vocab(main, memoryfield_keyword, row)"
    )
    sql = "SELECT term, doc FROM temp.memoryfield_near WHERE term = ?"
    return dict(row for stem in stems for row in store.connection.execute(sql, (stem,)))


def _vectors(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    """The texts' vectors, if they come soon.

    Raises:
        EmbedderError: none came.
    """

    bundled = embedder.spec == DEFAULT_MODEL

    def make() -> list[Vector | EmbedderError]:
        if bundled and len(texts) == 1:  # of which it starts the quicker
            return [embedder.embed_query(texts[0])]
        return embedder.embed_pages(texts)  # other models take a question for something else

    made = _in_time(make, BUNDLED_WAIT if bundled else SERVER_WAIT)
    vectors: list[Vector] = []
    for vector in made:
        if isinstance(vector, EmbedderError):
            raise vector
        vectors.append(vector)
    return vectors


def _in_time(make: Callable[[], T], seconds: float) -> T:
    """What a function gives, unless it takes too long: then it goes on by itself, until the process ends.

    Raises:
        EmbedderUnavailableError: it took too long.
    """
    made: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            made.append(make())
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not made:
        raise EmbedderUnavailableError(f"no vector came within {seconds:g} seconds")
    return made[0]


def _cosine(one: Vector, other: Vector) -> float:
    """Of two unit vectors, floored at 0."""
    first, second = (struct.unpack(f"<{len(vector) // 4}f", vector) for vector in (one, other))
    return min(1.0, max(0.0, float(sum(map(mul, first, second)))))
