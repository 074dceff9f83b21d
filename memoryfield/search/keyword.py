"""The keyword half of the score: BM25, divided by what the query could reach at most.

BM25 is FTS5's (k1 = 1.2, b = 0.75), and so is idf = ln((N - n + ½) / (n + ½)), floored at 1e-6,
with N pages of which n hold the term (Robertson and Zaragoza, 2009, The Probabilistic Relevance
Framework: BM25 and Beyond). The ceiling is Σ idf·(k1 + 1) over the query's distinct terms; a term
that no page has counts with n = 0. So the half lies between 0 and 1, and means the same in every
field.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from heapq import nlargest
from itertools import accumulate, chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import apsw

from ..index.schema import TOKENIZER, may_be_unspaced, unspaced, words
from ..index.store import IndexStore
from .semantic import first

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1 = 1.2
MIN_IDF = 1e-6
MAX_POSTINGS = 10_000_000
"""So many pairs of a term and a page are kept in memory, of 16 bytes each."""
MAX_TERMS = 64
"""Of a longer query, the first distinct terms count."""

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are as at be because been before being
    below between both but by can cannot could did do does doing down during each few for from
    further had has have having he her here hers him his how i if in into is it its itself just me
    more most my no nor not of off on once only or other our ours out over own same she should so
    some such than that the their theirs them then there these they this those through to too under
    until up very was we were what when where which while who whom why will with would you your yours
    """.split()
)

_BM25 = "SELECT rowid, -bm25(memoryfield_keyword) FROM memoryfield_keyword WHERE memoryfield_keyword MATCH ?"
_SHORTENED = frozenset("s t d m re ve ll".split())
"""What an apostrophe leaves of a word: what's, don't, we'll."""


class Term(NamedTuple):
    """A word of the query: its text, and its stems in order (three for `enable_load_extension`)."""

    stems: tuple[str, ...]
    text: str

    @property
    def expression(self) -> str:
        """The term as an FTS5 phrase."""
        return as_phrase(self.text)


def as_phrase(text: str) -> str:
    """Text as an FTS5 phrase. Nothing in it is syntax."""
    return '"' + text.replace("\x00", " ").replace('"', '""') + '"'


def terms(connection: apsw.Connection, query: str) -> list[Term]:
    """The distinct terms of a query, stop words left out unless nothing else is left.

    A run in a script without spaces gives its overlapping pairs of characters.
    """
    tokenize = stemmer(connection)
    found: dict[tuple[str, ...], Term] = {}
    stopped: dict[tuple[str, ...], Term] = {}
    for word in _pieces(query):
        stems = tokenize(word)
        if not stems:
            continue
        parts = re.findall(r"\w+", word.lower())
        bag = stopped if all(part in STOP_WORDS or part in _SHORTENED for part in parts) else found
        if len(bag) < MAX_TERMS:
            bag.setdefault(stems, Term(stems, word))
    return list((found or stopped).values())


def stemmer(connection: apsw.Connection) -> Callable[[str], tuple[str, ...]]:
    """What the keyword table makes of a text: its stems, in order."""
    tokenizer = connection.fts5_tokenizer(*TOKENIZER)

    def stems(text: str) -> tuple[str, ...]:
        encoded = text.encode("utf-8", "replace")
        found = tokenizer(encoded, apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False)
        return tuple(map(str, found))

    return stems


def places_of_stems(
    connection: apsw.Connection, text_words: Sequence[str], wanted: Container[str]
) -> dict[int, list[str]]:
    """Where the wanted stems are among many words: the word's place, and its wanted stems."""
    whole = "\n".join(text_words)
    if whole.isascii() and words(whole) == whole:
        text, lengths = whole.encode(), map(len, text_words)
    else:
        encoded = [words(word).encode("utf-8", "replace") for word in text_words]
        text, lengths = b"\n".join(encoded), map(len, encoded)
    ends = list(accumulate(length + 1 for length in lengths))
    found: dict[int, list[str]] = {}
    tokenizer = connection.fts5_tokenizer(*TOKENIZER)
    tokens: Iterable[Any] = tokenizer(
        text, apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=True, include_colocated=False
    )
    for start, _, stem in tokens:
        if stem in wanted:
            found.setdefault(bisect_right(ends, start), []).append(stem)
    return found


def _pieces(query: str) -> list[str]:
    """The query's words; of a run without spaces, each two neighbours, as `words` sets them apart."""
    pieces: list[str] = []
    for word in unicodedata.normalize("NFC", query.replace("\x00", " ")).split():
        if not may_be_unspaced(word):
            pieces.append(words(word))
            continue
        for is_unspaced, group in groupby(word, lambda character: bool(unspaced().match(character))):
            run = "".join(group)
            if is_unspaced:
                pieces += [words(run[place : place + 2]) for place in range(max(1, len(run) - 1))]
            else:
                pieces.append(words(run))
    return pieces


class ByWord(Protocol):
    """What a query's terms tell of the pages, by file name."""

    def telling(self, query_terms: Sequence[Term]) -> dict[Term, float]:
        """How telling each term is in this index; a term that no page has is the most telling."""
        ...

    def best(self, telling: Mapping[Term, float], most: int) -> dict[str, float]:
        """The keyword half of the `most` best pages (-1: of every page that holds a term)."""
        ...

    def of(self, telling: Mapping[Term, float], names: Sequence[str]) -> dict[str, float]:
        """The keyword half of each of these pages that the index knows; 0 without any of the terms."""
        ...


class StoredWords:
    """FTS5's own bm25(), asked once for each query."""

    def __init__(self, store: IndexStore) -> None:
        self._store = store
        self._asked: tuple[list[Term], dict[int, float]] = ([], {})

    def telling(self, query_terms: Sequence[Term]) -> dict[Term, float]:
        pages = self._store.count("SELECT count(*) FROM memoryfield_files")
        sql = "SELECT count(*) FROM memoryfield_keyword WHERE memoryfield_keyword MATCH ?"
        return {term: idf(pages, self._store.count(sql, (term.expression,))) for term in query_terms}

    def best(self, telling: Mapping[Term, float], most: int) -> dict[str, float]:
        scores = self._scores(telling)
        rows = list(scores) if most < 0 else nlargest(most, scores, key=scores.__getitem__)
        sql = "SELECT id, filename FROM memoryfield_files WHERE id IN (SELECT value FROM json_each(?))"
        names = dict(self._store.connection.execute(sql, (json.dumps(rows),))) if rows else {}
        return {names[row]: scores[row] for row in rows if row in names}  # whatever others put into the file

    def of(self, telling: Mapping[Term, float], names: Sequence[str]) -> dict[str, float]:
        scores = self._scores(telling)
        sql = "SELECT filename, id FROM memoryfield_files WHERE filename IN (SELECT value FROM json_each(?))"
        found = self._store.connection.execute(sql, (json.dumps(list(names)),)) if names else ()
        return {name: scores.get(row, 0.0) for name, row in found}

    def _scores(self, telling: Mapping[Term, float]) -> dict[int, float]:
        asked = list(telling)
        if asked and self._asked[0] != asked:
            ceiling = sum(telling.values()) * (K1 + 1)
            expression = " OR ".join(term.expression for term in asked)
            rows = self._store.connection.execute(_BM25, (expression,))
            self._asked = asked, {row: min(1.0, score / ceiling) for row, score in rows}
        return self._asked[1] if asked else {}


class Postings:
    """The same from memory, for many queries: bm25() is a sum over the terms, and each term is asked for once."""

    def __init__(self, store: IndexStore) -> None:
        import numpy as np

        self._store = store
        self._names: dict[int, str] = dict(store.connection.execute("SELECT id, filename FROM memoryfield_files"))
        self._rows = {name: row for row, name in self._names.items()}
        self._ids = np.fromiter(self._names, dtype=np.float64, count=len(self._names))
        self._terms: dict[Term, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        self._kept = 0
        self._asked: tuple[list[Term], NDArray[np.float64] | None] = ([], None)

    def telling(self, query_terms: Sequence[Term]) -> dict[Term, float]:
        return {term: idf(len(self._names), len(self._of_term(term)[0])) for term in query_terms}

    def best(self, telling: Mapping[Term, float], most: int) -> dict[str, float]:
        import numpy as np

        scores = self._scores(telling)
        rows = first(scores, np.flatnonzero(scores), most)
        return {self._names[row]: score for row, score in zip(rows.tolist(), scores[rows].tolist(), strict=True)}

    def of(self, telling: Mapping[Term, float], names: Sequence[str]) -> dict[str, float]:
        scores = self._scores(telling)
        return {name: float(scores[self._rows[name]]) for name in names if name in self._rows}

    def _scores(self, telling: Mapping[Term, float]) -> NDArray[np.float64]:
        """The keyword half of every row."""
        import numpy as np

        asked = list(telling)
        scores = self._asked[1]
        if scores is None or self._asked[0] != asked:
            scores = np.zeros(max(self._names, default=0) + 1)
            for term in asked:
                rows, gained = self._of_term(term)
                scores[rows] += gained
            np.minimum(scores / (sum(telling.values()) * (K1 + 1) or 1), 1, out=scores)
            self._asked = asked, scores
        return scores

    def _of_term(self, term: Term) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rows that hold a term, and what it adds to the score of each."""
        import numpy as np

        if term not in self._terms:
            found = chain.from_iterable(self._store.connection.execute(_BM25, (term.expression,)))
            pairs = np.fromiter(found, dtype=np.float64).reshape(-1, 2)
            if self._kept > MAX_POSTINGS:
                self._terms.clear()
                self._kept = 0
            pairs = pairs[np.isin(pairs[:, 0], self._ids)]  # whatever others put into the file
            self._kept += len(pairs)
            self._terms[term] = pairs[:, 0].astype(np.int64), pairs[:, 1]
        return self._terms[term]


def idf(pages: int, holding: int) -> float:
    """How telling a term is that `holding` of `pages` pages have."""
    return max(MIN_IDF, math.log((pages - holding + 0.5) / (holding + 0.5)))
