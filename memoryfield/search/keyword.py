"""The keyword half of the score: BM25, divided by what the query could reach at most.

BM25 is FTS5's (k1 = 1.2, b = 0.75), and so is idf = ln((N - n + ½) / (n + ½)), floored at 1e-6,
with N pages of which n hold the term (Robertson and Zaragoza, 2009, The Probabilistic Relevance
Framework: BM25 and Beyond). The ceiling is Σ idf·(k1 + 1) over the query's distinct terms; a term
that no page has counts with n = 0. So the half lies between 0 and 1, and means the same in every
field.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, groupby
from typing import Any, NamedTuple

import apsw

from ..index.schema import TOKENIZER, may_be_unspaced, unspaced, words
from ..index.store import IndexStore

K1 = 1.2
MIN_IDF = 1e-6
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
    return '"' + text.replace('"', '""') + '"'


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


def stems_of_words(connection: apsw.Connection, text_words: Sequence[str]) -> list[list[str]]:
    """The stems in each of many words, by one call of the tokenizer."""
    encoded = [words(word).encode("utf-8", "replace") for word in text_words]
    ends = list(accumulate(len(word) + 1 for word in encoded))
    found: list[list[str]] = [[] for _ in encoded]
    place = 0
    tokenizer = connection.fts5_tokenizer(*TOKENIZER)
    tokens: Iterable[Any] = tokenizer(
        b"\n".join(encoded), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=True, include_colocated=False
    )
    for start, _, stem in tokens:
        while start >= ends[place]:
            place += 1
        found[place].append(stem)
    return found


def _pieces(query: str) -> list[str]:
    """The query's words; of a run without spaces, each two neighbours, as `words` sets them apart."""
    pieces: list[str] = []
    for word in query.replace("\x00", " ").split():
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


def idfs(store: IndexStore, query_terms: list[Term]) -> dict[Term, float]:
    """How telling each term is in this index; a term that no page has is the most telling."""
    pages = store.count("SELECT count(*) FROM memoryfield_files")
    sql = "SELECT count(*) FROM memoryfield_keyword WHERE memoryfield_keyword MATCH ?"
    return {term: idf(pages, store.count(sql, (term.expression,))) for term in query_terms}


def keyword_scores(store: IndexStore, telling: dict[Term, float]) -> dict[int, float]:
    """The keyword half, between 0 and 1, of every page that holds a term; by the row's id.

    `telling` is what `idfs` gave for the query's terms.
    """
    if not telling:
        return {}
    ceiling = sum(telling.values()) * (K1 + 1)
    expression = " OR ".join(term.expression for term in telling)
    sql = "SELECT rowid, -bm25(memoryfield_keyword) FROM memoryfield_keyword WHERE memoryfield_keyword MATCH ?"
    return {row: min(1.0, score / ceiling) for row, score in store.connection.execute(sql, (expression,))}


def idf(pages: int, holding: int) -> float:
    """How telling a term is that `holding` of `pages` pages have."""
    return max(MIN_IDF, math.log((pages - holding + 0.5) / (holding + 0.5)))
