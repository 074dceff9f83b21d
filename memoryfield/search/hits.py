"""A page that was found, as results show it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from ..containers import Container
from ..errors import PageNameError
from ..index.store import WRONG_VALUES, IndexStore
from ..page import Page
from .ask import TOKEN_CHARS, Ask
from .hybrid import Scored
from .keyword import Term, places_of_stems
from .result import Hit
from .snippet import Weigh, snippet, words_of


def make_hit(
    container: Container,
    store: IndexStore,
    field: str,
    scored: Scored,
    telling: dict[Term, float],
    ask: Ask,
    notes: list[str],
) -> Hit | None:
    """A page with its snippet; None where it has gone since, or cannot be read. What is wrong with it is noted.

    Args:
        telling: the query's terms with their weights.
    """
    name = scored.filename
    try:
        page = Page(name, container.read(name))
    except (FileNotFoundError, PageNameError):  # gone since, or never there: other tools write names, too
        return None
    except OSError as error:
        notes.append(f"{name} answers, too, and cannot be read: {error.strerror or error}")
        return None
    if known := _known_frontmatter(store, page):
        page.take_frontmatter(known)
    elif page.problems and page.is_utf8:
        problem = page.problems[0]
        notes.append(f"{name}:{problem.line}:{problem.column}: {problem.message}")
    weigh = _weigher(store, telling) if telling else None
    passage = snippet(page, weigh)
    places = words_of(passage)
    marked = weigh([passage[start:end] for start, end in places]) if weigh else {}
    extra: dict[str, Any] = {"stale": scored.stale} if ask.include_stale else {}
    return Hit(
        field=field,
        filename=name,
        score=scored.score,
        keyword=scored.keyword,
        semantic=scored.semantic,
        title=page.title,
        summary=page.summary,
        snippet=passage,
        bytes=page.size,
        frontmatter=page.frontmatter if page.has_frontmatter else None,
        marks=tuple(places[place] for place in sorted(marked)),
        extra={**extra, "text": page.text} if ask.full else extra,
    )


def within_budget(hits: Sequence[Hit], budget: int | None, notes: list[str]) -> list[Hit]:
    """The hits, best first; those whose text no longer fits into so many tokens lose it, and a note names them."""
    if budget is None:
        return list(hits)
    left = budget * TOKEN_CHARS
    fitting: list[Hit] = []
    missing: list[str] = []
    for hit in hits:
        size = len(hit.extra["text"])
        if size <= left:
            left -= size
            fitting.append(hit)
        else:
            missing.append(f"{hit.filename} ({-(-size // TOKEN_CHARS):,})")
            fitting.append(hit._replace(extra={**hit.extra, "text": None}))
    if missing:
        notes.append(f"found too, beyond the budget of {budget:,} tokens: {', '.join(missing)}")
    return fitting


def _known_frontmatter(store: IndexStore, page: Page) -> dict[str, Any] | None:
    """A page's keys as the index has them, for these very bytes; other tools write there too."""
    try:
        known = json.loads(store.frontmatter(page.filename, bytes.fromhex(page.sha256)) or "")
    except (apsw.Error, *WRONG_VALUES):  # damage that shows only here: the page itself tells
        return None
    return known if isinstance(known, dict) else None


def _weigher(store: IndexStore, telling: dict[Term, float]) -> Weigh:
    """How much of the query's weight the words of a page carry, by their stems."""
    weights: dict[str, float] = {}
    for term, weight in telling.items():
        for stem in term.stems:
            weights[stem] = max(weights.get(stem, 0.0), (weight + 0.1) / len(term.stems))

    def weigh(text_words: list[str]) -> dict[int, dict[str, float]]:
        found = places_of_stems(store.connection, text_words, weights)
        return {place: {stem: weights[stem] for stem in stems} for place, stems in found.items()}

    return weigh
