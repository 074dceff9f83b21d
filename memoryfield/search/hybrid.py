"""A whole search: which index, how fresh, both halves, one score.

score = ½ keyword + ½ semantic, computed for every page among either half's best 200; a page without
a vector has no semantic half. A search without an embedder, and a query without a usable term, are
scored by the half that there is, alone.
"""

from __future__ import annotations

import heapq
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import apsw

from ..containers import Container
from ..embedders import DEFAULT_MODEL, MODELS, Embedder, dimensions_of, find_embedder, page_input
from ..errors import (
    EmbedderError,
    IndexFileError,
    IndexUnreadableError,
    MemoryfieldError,
    ReadOnlyError,
    UnknownModelError,
    UsageError,
)
from ..index.files import discard_index, index_files, open_index
from ..index.store import DAMAGE, IndexStore
from ..page import Page
from .keyword import Term, idfs, keyword_scores, stems_of_words, terms
from .result import MIN_SCORE, Hit, SearchResult
from .semantic import semantic_of, semantic_scores
from .snippet import Weigh, snippet, words_of

if TYPE_CHECKING:
    from ..index.sync import Changes

MODES = ("hybrid", "keyword", "semantic")
CANDIDATES = 200
"""How many of each half's best are looked at by the other half too; more where more are asked for."""
TIMEOUT_MS = 5_000
"""How long a search waits for an index that another process has locked."""
MAX_EMBED = 25
"""So many new or changed pages are embedded by a search itself."""


def search(
    container: Container,
    query: str,
    *,
    limit: int = 5,
    mode: str = "hybrid",
    min_score: float = MIN_SCORE,
    model: str | None = None,
    sync: bool = True,
) -> SearchResult:
    """The pages that answer a query best.

    Raises:
        UsageError: an empty query, a limit below 1, an unknown mode.
        UnknownModelError: a model was asked for that nobody knows.
    """
    if mode not in MODES:
        raise UsageError(f"unknown mode {mode!r}", hint=f"Choose one of {', '.join(MODES)}.")
    if limit < 1:
        raise UsageError(f"a limit of {limit} finds nothing", hint="Ask for at least 1.")
    if not query.strip():
        raise UsageError("the query is empty", hint="Say what you look for.")
    valid = query.encode("utf-8", "replace").decode()  # no lone surrogates
    return _Search(container, valid, limit, mode, min_score, sync).run(model)._replace(query=query)


class _QueryVector:
    """The query's vector, made in a thread while files and keywords are looked at."""

    def __init__(self, embedder: Embedder, query: str) -> None:
        self._vector = b""
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._make, args=(embedder, query), daemon=True)
        try:
            embedder.load()  # before the thread: imports would only take turns with what goes on here
        except EmbedderError as error:
            self._error = error
        else:
            self._thread.start()

    def _make(self, embedder: Embedder, query: str) -> None:
        try:
            self._vector = embedder.embed_query(page_input(query.encode()))
        except Exception as error:
            self._error = error

    def finish(self) -> None:
        """Wait for the thread, whatever came of it."""
        if self._thread.ident is not None:
            self._thread.join()

    def get(self) -> bytes:
        """Wait for the vector.

        Raises:
            EmbedderError: what the embedder raised.
        """
        self.finish()
        if self._error:
            raise self._error
        return self._vector


class _Search:
    def __init__(self, container: Container, query: str, limit: int, mode: str, min_score: float, sync: bool) -> None:
        self.container = container
        self.query = query
        self.limit = limit
        self.mode = mode
        self.min_score = min_score
        self.sync = sync
        self.notes: list[str] = []
        self.files: dict[str, str] = {}

    def run(self, model: str | None) -> SearchResult:
        self.files = index_files(self.container)
        models = [model] if model else list(self.files)
        if model:
            find_embedder(model)
        silent: list[str] = []
        fallback: IndexStore | None = None
        try:
            for code in models:
                answer = self._try(code, silent)
                if isinstance(answer, SearchResult):
                    self.notes += silent
                    return answer
                if fallback and answer:
                    answer.close()
                fallback = fallback or answer
            self.notes += silent
            if silent:
                self.notes.append("searched by keyword alone")
            if fallback is None:
                fallback = self._keyword_only_store(bool(models))
            return self._rank(fallback, None, None)
        finally:
            if fallback:
                fallback.close()

    def _try(self, code: str, silent: list[str]) -> SearchResult | IndexStore | None:
        """Search with one model's index.

        Returns:
            The answer; or its index, fit for keyword search, where the model does not answer;
            or None where the index cannot be used at all.
        """
        embedder: Embedder | None = None
        if self.mode != "keyword":
            try:
                embedder = find_embedder(code)
            except UnknownModelError:
                silent.append(f"no embedder is known for the index of {code}")
        vector = _QueryVector(embedder, self.query) if embedder else None
        try:
            return self._search_index(code, embedder, vector, silent)
        except KeyboardInterrupt:
            vector = None  # do not wait for a server that hangs
            raise
        finally:
            if vector:
                vector.finish()

    def _search_index(
        self, code: str, embedder: Embedder | None, vector: _QueryVector | None, silent: list[str]
    ) -> SearchResult | IndexStore | None:
        store = self._open(code)
        if store is None:
            return None
        try:
            self._freshen(store, embedder)
            if vector is None:
                if self.mode != "keyword":
                    return store
                answer = self._rank(store, None, None)
            elif not store.counts()[0]:
                silent.append(f"the index of {code} holds no vectors")
                return store
            else:
                answer = self._rank(store, code, vector.get)
        except MemoryfieldError as error:
            silent.append(f"{code} was not used: {error}")
            return store
        except DAMAGE as error:
            store.close()
            return self._recover(code, silent, error)
        except apsw.Error as error:  # locked for long, or the disk is full
            store.close()
            silent.append(f"the index of {code} could not be used: {error}")
            return None
        store.close()
        return answer

    def _recover(self, code: str, silent: list[str], error: Exception) -> SearchResult | IndexStore | None:
        """Damage that only showed while reading: make the index anew, once, and search again."""
        if code not in self.files or code not in MODELS:
            return None
        self.notes.append(f"the index of {code} is damaged ({error}): it is made anew")
        store = self._recreate(code)
        if store is None:
            return None
        store.prepare()
        store.close()
        del self.files[code]
        return self._try(code, silent)

    def _open(self, code: str) -> IndexStore | None:
        try:
            name = self.files.get(code, "")
            return open_index(self.container, code, dimensions_of(code), name=name, timeout_ms=TIMEOUT_MS)
        except IndexUnreadableError as error:
            self.notes.append(str(error))
            return None
        except IndexFileError as error:
            if code not in MODELS:
                return None  # somebody's own database, and not ours to make anew
            if not index_files(self.container).get(code):
                self.notes.append(f"{error}: run `memoryfield embed --model {code}`")
                return None
            self.notes.append(f"{error}{': it is made anew' if self.container.writable else ''}")
        return self._recreate(code)

    def _recreate(self, code: str) -> IndexStore | None:
        if not self.container.writable:
            return None
        try:
            discard_index(self.container, code)
            return open_index(self.container, code, dimensions_of(code), create=True)
        except (ReadOnlyError, IndexFileError, OSError, apsw.Error) as error:
            self.notes.append(str(error))
            return None

    def _keyword_only_store(self, had_index: bool) -> IndexStore:
        """A keyword index in memory, for a field that has no other."""
        from ..index.sync import sync

        store = IndexStore.memory(DEFAULT_MODEL, None)
        report = sync(self.container, store, None)
        self._note_failed(report.failed)
        if not report.pages:
            self.notes.append("the field has no pages")
        elif not had_index and self.mode != "keyword":
            self.notes.append(f"this field is not embedded yet, searched by keyword alone: {self._how_to_embed()}")
        return store

    def _freshen(self, store: IndexStore, embedder: Embedder | None) -> None:
        """Bring the index up to date, if little has changed; say what is missing otherwise."""
        try:
            if store.is_current(self.container.fingerprint(), vectors=self.mode != "keyword"):
                return
            from ..index.sync import look, sync

            store_changes = look(self.container, store)
            if not (store.writable and self.sync):
                self._note_stale(store_changes)
                return
            pending = len(store_changes.pending)
            if not store_changes.none:
                work = len(store_changes.suspects) + pending
                report = sync(self.container, store, embedder if work <= MAX_EMBED else None, changes=store_changes)
                if embedder and work > MAX_EMBED and 0 < report.pending <= MAX_EMBED:
                    report = sync(self.container, store, embedder)
                self.notes += report.notes
                self._note_failed(report.failed)
                pending = report.pending
            if pending and self.mode != "keyword":
                self.notes.append(f"{_pages(pending)} not embedded yet: {self._how_to_embed()}")
        except (
            apsw.FullError,
            apsw.IOError,
            apsw.ReadOnlyError,
            apsw.BusyError,
            apsw.CantOpenError,
        ) as error:
            self.notes.append(f"the index could not be brought up to date: {error}")

    def _how_to_embed(self) -> str:
        if self.container.location.is_dir():
            return "run `memoryfield embed`"
        return "unpack the archive, run `memoryfield embed` on the folder, and pack it"

    def _note_stale(self, changes: Changes) -> None:
        """For an index that cannot be written: how many pages differ from it."""
        from ..index.sync import really_changed

        stale = len(really_changed(self.container, changes)) + len(changes.removed) + len(changes.pending)
        if stale:
            self.notes.append(
                f"the index is out of date by {stale} page{'' if stale == 1 else 's'}"
                + (" and cannot be written" if self.sync else "")
            )

    def _note_failed(self, failed: list[tuple[str, str]]) -> None:
        if failed:
            name, reason = failed[0]
            more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
            self.notes.append(f"{name}: {reason}{more}")

    def _rank(self, store: IndexStore, model: str | None, vector: Callable[[], bytes] | None) -> SearchResult:
        most = max(CANDIDATES, self.limit)
        query_terms = terms(store.connection, self.query)
        telling = idfs(store, query_terms) if store.has_own_tables else {}
        keyword: dict[int, float] = {}
        if store.has_own_tables and (self.mode != "semantic" or vector is None):
            keyword = keyword_scores(store, telling)
        best = heapq.nlargest(most, keyword.items(), key=lambda item: item[1])
        names = _names(store, [row for row, _ in best])
        halves: dict[str, list[float | None]] = {names[row]: [score, None] for row, score in best}
        mode = "keyword"
        if vector is not None:
            mode = self.mode
            query_vector = vector()
            near = semantic_scores(store, query_vector, most)
            near |= semantic_of(store, query_vector, [name for name in halves if name not in near])
            ids = _ids(store, [name for name in near if name not in halves]) if self.mode == "hybrid" else {}
            for name, score in near.items():
                halves.setdefault(name, [keyword.get(ids.get(name, -1), 0.0), None])[1] = score
        if not query_terms and mode == "keyword":
            self.notes.append("the query has no words to look for")
        scored = [(_score(mode, bool(query_terms), *pair), name) for name, pair in halves.items()]
        under = len(scored)
        scored = sorted((item for item in scored if item[0] >= self.min_score), key=lambda item: (-item[0], item[1]))
        under -= len(scored)
        if under and not scored:
            self.notes.append(
                f"{under} {'page scores' if under == 1 else 'pages score'} under {self.min_score:g}:"
                " --min-score 0 shows them"
            )
        weigh = _weigher(store, telling) if telling else None
        hits: list[Hit] = []
        for score, name in scored:
            if len(hits) == self.limit:
                break
            hit = self._hit(store, name, score, halves[name], weigh)
            if hit:
                hits.append(hit)
        if mode == "semantic":
            hits = [_without_keyword(hit) for hit in hits]
        return SearchResult(self.query, mode, model, self.notes, hits)

    def _hit(
        self, store: IndexStore, name: str, score: float, halves: list[float | None], weigh: Weigh | None
    ) -> Hit | None:
        try:
            page = Page(name, self.container.read(name))
        except OSError:  # gone since
            return None
        if known := _known_frontmatter(store, page):
            page.take_frontmatter(known)
        elif page.problems and page.is_utf8:
            problem = page.problems[0]
            self.notes.append(f"{name}:{problem.line}:{problem.column}: {problem.message}")
        passage = snippet(page, weigh)
        places = words_of(passage)
        weights = weigh([passage[start:end] for start, end in places]) if weigh else []
        marks = tuple(place for place, weight in zip(places, weights, strict=False) if weight)
        return Hit(
            field=self.container.name,
            filename=name,
            score=score,
            keyword=halves[0],
            semantic=halves[1],
            title=page.title,
            summary=page.summary,
            snippet=passage,
            bytes=page.size,
            frontmatter=page.frontmatter,
            marks=marks,
        )


def _score(mode: str, has_terms: bool, keyword: float | None, semantic: float | None) -> float:
    """One number from both halves, or from the one that counts."""
    if mode == "keyword":
        return keyword or 0.0
    if mode == "semantic" or not has_terms:
        return semantic or 0.0
    return 0.5 * (keyword or 0.0) + 0.5 * (semantic or 0.0)


def _without_keyword(hit: Hit) -> Hit:
    return hit._replace(keyword=None)


def _known_frontmatter(store: IndexStore, page: Page) -> dict[str, Any] | None:
    """A page's keys as the index has them, for these very bytes; other tools write there too."""
    try:
        known = json.loads(store.frontmatter(page.filename, bytes.fromhex(page.sha256)) or "")
    except ValueError:
        return None
    return known if isinstance(known, dict) else None


def _pages(count: int) -> str:
    return "1 page is" if count == 1 else f"{count} pages are"


def _names(store: IndexStore, ids: list[int]) -> dict[int, str]:
    sql = "SELECT id, filename FROM memoryfield_files WHERE id IN (SELECT value FROM json_each(?))"
    return dict(store.connection.execute(sql, (json.dumps(ids),))) if ids else {}


def _ids(store: IndexStore, names: list[str]) -> dict[str, int]:
    sql = "SELECT filename, id FROM memoryfield_files WHERE filename IN (SELECT value FROM json_each(?))"
    return dict(store.connection.execute(sql, (json.dumps(names),))) if names else {}


def _weigher(store: IndexStore, telling: dict[Term, float]) -> Weigh:
    """How much of the query's weight the words of a page carry, by their stems."""
    weights: dict[str, float] = {}
    for term, weight in telling.items():
        for stem in term.stems:
            weights[stem] = max(weights.get(stem, 0.0), (weight + 0.1) / len(term.stems))

    def weigh(text_words: list[str]) -> list[dict[str, float]]:
        found = stems_of_words(store.connection, text_words)
        return [{stem: weights[stem] for stem in stems if stem in weights} for stems in found]

    return weigh
