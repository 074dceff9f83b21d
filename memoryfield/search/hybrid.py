"""One field, one query: both halves, one score.

score = ½ keyword + ½ semantic, computed for every page among either half's best 200. Where there is
only one half, it is the score: in a search without an embedder, for a query without a usable term,
and for a page that has no vector yet.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from ..index.store import IndexStore
from .ask import Ask, Query
from .keyword import ByWord, Term, terms
from .semantic import Nearest

CANDIDATES = 200
"""How many of each half's best are looked at by the other half too; more where more are asked for."""

EXPIRED, SUPERSEDED, LATER = "expired", "superseded", "created"
"""How a reason for leaving a page out begins."""
_TOLD = {EXPIRED: "expired", SUPERSEDED: "superseded", LATER: "created later"}


class Selection(NamedTuple):
    """What a search is among.

    `allowed` are the pages that meet every condition (None: all of them). `stale` are those that are
    not valid at the moment, each with the reason. `ages` in seconds, where recency is asked for.
    """

    allowed: set[str] | None = None
    stale: dict[str, str] = {}  # noqa: RUF012  # never changed
    ages: dict[str, float] | None = None


class Scored(NamedTuple):
    """A page's score and its halves (None: not computed), and why it is stale, if it is."""

    filename: str
    score: float
    keyword: float | None
    semantic: float | None
    stale: str | None = None


class Ranking(NamedTuple):
    """The pages that reach the least score, best first; `telling` is the weight of each term of the query."""

    mode: str
    pages: list[Scored]
    telling: dict[Term, float]
    notes: list[str]


def rank(
    store: IndexStore,
    query: Query,
    ask: Ask,
    selection: Selection,
    by_word: ByWord | None,
    vector: bytes | None = None,
    nearest: Nearest | None = None,
) -> Ranking:
    """Rank the pages of an index. Without a vector: by keyword alone.

    Args:
        selection: which pages may be found.
        by_word: compares the query's terms with the pages; None for an index without a keyword table.
        vector: the query's, with `nearest` to compare it with the pages'.
    """
    notes: list[str] = []
    query_terms = terms(store.connection, query.text)
    telling = by_word.telling(query_terms) if by_word else {}
    mode = "keyword" if vector is None else ask.mode if by_word else "semantic"
    choose = _Chooser(selection, ask)
    halves = _halves(telling, choose, by_word if mode != "semantic" else None, vector, nearest)
    if not query_terms and mode == "keyword":
        notes.append("the query has no words to look for")
    by_semantic = mode == "semantic" or not query_terms
    scored = [
        Scored(name, _score(mode, by_semantic, *pair) * choose.worth(name), *pair, selection.stale.get(name))
        for name, pair in halves.items()
    ]
    return Ranking(mode, _best(scored, ask, notes), telling, notes)


class _Chooser:
    """Takes the best pages of a half, among those that may be found.

    Stale pages come in too, without taking a place: that some would have been found is worth a note.
    """

    def __init__(self, selection: Selection, ask: Ask) -> None:
        self.most = max(CANDIDATES, ask.limit)
        self.selection = selection
        self._half_life = ask.half_life
        self._aside = {} if ask.include_stale else selection.stale
        self.takes_all = selection.allowed is None and not self._aside and selection.ages is None

    def worth(self, name: str) -> float:
        """What a page's score is multiplied by."""
        if self.selection.ages is None or not self._half_life:
            return 1.0
        return recency(self.selection.ages.get(name, 0.0), self._half_life)

    def best(self, scores: Iterable[tuple[str, float]]) -> list[str]:
        """The names of the best."""
        allowed = self.selection.allowed
        among = [(score * self.worth(name), name) for name, score in scores if allowed is None or name in allowed]
        aside = [name for _, name in among if name in self._aside]
        if aside:
            among = [item for item in among if item[1] not in self._aside]
        return [name for _, name in heapq.nlargest(self.most, among, key=itemgetter(0))] + aside  # of equals, the first


def recency(age: float, half_life: float) -> float:
    """What is left of a score at an age: ½ + ½·0.5^(age / half-life), both in seconds.

    That recent memories should count more, by a factor that decays exponentially, is from Park et
    al., 2023, Generative Agents: Interactive Simulacra of Human Behavior (recency, importance,
    relevance). Here half of the score stays, however old the page is.
    """
    return 0.5 + 0.5 * math.exp2(-age / half_life)


def _halves(
    telling: dict[Term, float],
    choose: _Chooser,
    by_word: ByWord | None,
    vector: bytes | None,
    nearest: Nearest | None,
) -> dict[str, tuple[float | None, float | None]]:
    """Both halves of every page that is among either half's best; None for one that is not asked for."""
    most = choose.most if choose.takes_all else -1
    worded = by_word.best(telling, most) if by_word else {}
    wanted = list(worded) if choose.takes_all else choose.best(worded.items())
    if vector is None or nearest is None:
        return {name: (worded[name], None) for name in wanted}
    near = nearest.best(vector, most)
    if not choose.takes_all:
        near = {name: near[name] for name in choose.best(near.items())}
    near |= nearest.of(vector, [name for name in wanted if name not in near])
    if by_word is None:
        return {name: (None, score) for name, score in near.items()}
    worded |= by_word.of(telling, [name for name in near if name not in worded])
    return {name: (worded.get(name, 0.0), near.get(name)) for name in dict.fromkeys([*wanted, *near])}


def _score(mode: str, by_semantic: bool, keyword: float | None, semantic: float | None) -> float:
    """One number from both halves, or from the one that counts."""
    if mode == "keyword":
        return keyword or 0.0
    if by_semantic:
        return semantic or 0.0
    if keyword is None or semantic is None:
        return keyword or semantic or 0.0
    return 0.5 * keyword + 0.5 * semantic


def _best(scored: list[Scored], ask: Ask, notes: list[str]) -> list[Scored]:
    """What is good enough, best first, without what is stale; the notes tell what was left out."""
    good = sorted(
        (page for page in scored if page.score >= ask.min_score), key=lambda page: (-page.score, page.filename)
    )
    valid = sum(ask.include_stale or not page.stale for page in scored)
    if not good and valid:
        many = f"{valid} {'page scores' if valid == 1 else 'pages score'}"
        notes.append(f"{many} under {ask.min_score:g}: --min-score 0 shows them")
    if ask.include_stale:
        return good
    stale = [page.stale for page in good if page.stale]
    if stale:
        kinds = {kind: sum(reason.startswith(kind) for reason in stale) for kind in _TOLD}
        told = ", ".join(f"{n:,} {_TOLD[kind]}" for kind, n in kinds.items() if n)
        many = f"{len(stale):,} {'page was' if len(stale) == 1 else 'pages were'}"
        notes.append(f"{many} left out: {told}; --include-stale shows {'it' if len(stale) == 1 else 'them'}")
    return [page for page in good if not page.stale]
