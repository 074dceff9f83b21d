"""Searches: one field or several, one query or many, one score."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import apsw

from ..containers import DEFAULT_LIMITS, Container, Limits, open_container, place_of
from ..embedders import Embedder, find_embedder
from ..errors import MemoryfieldError, UsageError, reason_of
from ..index.files import has_embedder
from ..index.store import DAMAGE, WRONG_VALUES, IndexStore
from .ask import Ask, Options, Query, read_options, read_query
from .hits import make_hit, within_budget
from .hybrid import Ranking, Scored, Selection, rank
from .keyword import ByWord, Postings, StoredWords, Term
from .result import Hit, SearchResult
from .semantic import Matrix, Nearest, Stored
from .source import Source, Vectors

if TYPE_CHECKING:
    from typing import Unpack

AHEAD = 32
"""So many queries are read ahead, embedded and compared at once."""
REFRESH_SECONDS = 1.0
"""How old the look at the pages may be from which a further query is answered."""


class Searcher:
    """Searches fields as often as wanted; models and indexes are loaded once.

    ```python
    with Searcher.open(["notes", "team.memoryfield.zip"], limit=3) as searcher:
        for query in queries:
            result = searcher.search(query)
    ```

    Scores mean the same in every field, so what several fields hold is merged by score. A field that
    cannot be searched is named in the notes, does not stop the others, and is tried again with the next
    query. It is not made for several threads at once.
    """

    def __init__(self, containers: Sequence[Container], **options: Unpack[Options]) -> None:
        self._options = options
        self._ask = read_options(options)
        self._vectors = Vectors()
        self._fields = [_Field(container, container.name, self._ask, self._vectors) for container in containers]
        self._check_model(containers)
        self._broken: list[tuple[str, Exception]] = []
        self._opened: list[Container] = []

    @classmethod
    def open(
        cls, locations: Sequence[str | Path], limits: Limits = DEFAULT_LIMITS, **options: Unpack[Options]
    ) -> Searcher:
        """A searcher of the fields at these locations; it closes them in the end.

        Raises:
            UsageError: an option that means nothing.
            MemoryfieldError: none of the fields can be opened.
        """
        searcher = cls([], **options)
        try:
            searcher._open(locations, limits)
        except BaseException:
            searcher.close()
            raise
        return searcher

    def _open(self, locations: Sequence[str | Path], limits: Limits) -> None:
        places: dict[str, str | Path] = {}
        for location in locations:
            place = place_of(location) if len(locations) > 1 else ""  # of a name, that reads a file
            places.setdefault(place, location)
        found: list[tuple[str, Container]] = []
        for location in places.values():
            try:
                container = open_container(location, limits)
            except (MemoryfieldError, OSError) as error:
                self._broken.append((str(location), error))
            else:
                found.append((str(location), container))
                self._opened.append(container)
        _check_any_left(bool(found), self._broken)
        names = [container.name for _, container in found]
        for location, container in found:  # two of one name are told apart by their places
            name = container.name if names.count(container.name) == 1 else location
            self._fields.append(_Field(container, name, self._ask, self._vectors))
        self._check_model(self._opened)

    def _check_model(self, containers: Sequence[Container]) -> None:
        """A model that is asked for must be known, or be that of an index that one of the fields has.

        Raises:
            UnknownModelError: it is neither.
        """
        if self._ask.model and containers and not any(has_embedder(field, self._ask.model) for field in containers):
            find_embedder(self._ask.model)

    @property
    def unopened(self) -> list[tuple[str, Exception]]:
        """The fields that could not be opened, by their locations, and why."""
        return list(self._broken)

    @property
    def names(self) -> list[str]:
        """The fields' names, as results show them."""
        return [field.name for field in self._fields]

    def container(self, name: str) -> Container:
        """A field's container, as it is now: an archive may have been replaced. It is closed with the searcher.

        Raises:
            KeyError: no field has this name.
            MemoryfieldError, OSError: it is not there any more, or cannot be read.
        """
        return {field.name: field for field in self._fields}[name].present_container()

    def share(self, embedder: Embedder) -> Embedder:
        """The one of its spec that searches load and keep."""
        return self._vectors.share(embedder)

    def expect_many(self) -> None:
        """Keep in memory what the coming queries have in common: the pages' vectors, and where words stand."""
        for field in self._fields:
            field.many = True

    def watch(self) -> None:
        """Be told of changes in folders, where that can be, instead of looking at all pages for each query."""
        for field in self._fields:
            field.watch()

    def recheck(self) -> None:
        """See, at leisure, what nobody was told of (`Container.recheck`); what cannot be seen, a search will tell."""
        for field in self._fields:
            with suppress(OSError):
                field.recheck()

    def __enter__(self) -> Searcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(wait=kind is not KeyboardInterrupt)

    def close(self, wait: bool = True) -> None:
        """Let go of all files. Without `wait`, a server that hangs is not waited for."""
        for field in self._fields:
            field.close()
        for container in self._opened:
            container.close()
        if wait:
            self._vectors.close()

    def search(self, query: str, *, among: Collection[str] | None = None, **options: Unpack[Options]) -> SearchResult:
        """The pages that answer a query best.

        Args:
            among: the names of the fields to search; else all.
            options: in place of those that the searcher was opened with; `model` and `sync` stay as they are.

        Raises:
            UsageError: the query is empty, or an option means nothing.
            MemoryfieldError: no field can be searched.
        """
        read = read_query(query)
        given: Options = {**self._options, **options}
        self._ask = read_options(given)
        fields = [field for field in self._fields if among is None or field.name in among]
        try:
            for field in fields:
                field.ask(self._ask)
                field.look_again()
                field.begin(read)
            return self._answer(query, lambda field: field.rank(read), fields)
        finally:
            self._vectors.forget()

    def _look_again(self) -> None:
        for field in self._fields:
            field.look_again()

    def search_many(self, queries: Iterable[str]) -> Iterator[SearchResult]:
        """The answers to many queries, in order, each as soon as it can be given.

        An empty query finds nothing, and a note says so. What is there already is embedded at once,
        and answered from one look at the pages a second; who asks one at a time gets a new look for each.
        """
        self.expect_many()
        coming = _Coming(queries)
        while group := coming.group():
            if len(group) == 1:
                self._look_again()
            texts = [read_query(query).text for query in group if query.strip()]
            for field in self._fields:
                field.expect(texts)
            for query in group:
                yield self._answer_any(query)
            self._vectors.forget()

    def _answer_any(self, query: str) -> SearchResult:
        try:
            read = read_query(query)
            return self._answer(query, lambda field: field.rank(read))
        except UsageError as error:
            return SearchResult(query, self._ask.mode, None, [str(error)], [])

    def similar(self, filename: str) -> SearchResult:
        """The pages of the first field nearest to one of its pages, by their stored vectors.

        Raises:
            MemoryfieldError: the page has no vector, or no index serves.
        """
        return self._answer(filename, lambda field: field.rank_similar(filename))

    def _answer(
        self, given: str, ranking: Callable[[_Field], Ranking], fields: Sequence[_Field] | None = None
    ) -> SearchResult:
        rankings: list[tuple[_Field, Ranking]] = []
        broken = list(self._broken)
        for field in self._fields if fields is None else fields:
            try:
                rankings.append((field, field.unless_broken(ranking)))
            except UsageError:
                raise
            except (MemoryfieldError, OSError, apsw.Error) as error:
                broken.append((field.name, error))
        _check_any_left(bool(rankings), broken)
        several = len(rankings) + len(broken) > 1
        notes = [f"{name} was not searched: {reason_of(error)}" for name, error in broken]
        scored = [(page, field, found) for field, found in rankings for page in found.pages]
        scored.sort(key=lambda item: -item[0].score)  # stable: fields in the order given
        hits: list[Hit] = []
        for page, field, found in scored:
            if len(hits) == self._ask.limit:
                break
            if hit := field.hit(page, found.telling):
                hits.append(hit)
        for field, found in rankings:
            told = field.take_notes() + found.notes
            notes += [f"{field.name}: {note}" for note in told] if several else told
        if self._ask.full:
            hits = within_budget(hits, self._ask.budget, notes)
        modes = [found.mode for _, found in rankings]
        models = dict.fromkeys(field.model for field, found in rankings if field.model and found.mode != "keyword")
        mode = next((mode for mode in modes if mode != "keyword"), "keyword")
        if mode != "keyword":
            notes += [
                f"{field.name}: its scores are of words alone, and not to be compared with the other fields'"
                for field, found in rankings
                if found.mode == "keyword" and found.pages
            ]
        return SearchResult(given, mode, ", ".join(filter(None, models)) or None, notes, hits, several)


class _Coming:
    """Queries that are read ahead, in a thread that may wait for them while others are answered."""

    def __init__(self, queries: Iterable[str]) -> None:
        self._queue: queue.Queue[str | BaseException | None] = queue.Queue(AHEAD)
        self._ended = False
        self._error: BaseException | None = None
        threading.Thread(target=self._read, args=(queries,), daemon=True).start()

    def _read(self, queries: Iterable[str]) -> None:
        try:
            for query in queries:
                self._queue.put(query)
        except BaseException as error:  # raised where it is waited for
            self._queue.put(error)
        self._queue.put(None)

    def group(self) -> list[str]:
        """The next query, waited for, and those that are there already; nothing after the last."""
        group: list[str] = []
        while not self._ended and len(group) < AHEAD and not (group and self._queue.empty()):
            item = self._queue.get()
            if isinstance(item, str):
                group.append(item)
            else:
                self._ended, self._error = True, item
        if self._error and not group:
            raise self._error
        return group


class _Field:
    """One of the fields that are searched, by the name that its hits get."""

    def __init__(self, container: Container, name: str, ask: Ask, vectors: Vectors) -> None:
        self.name = name
        self.many = False
        self._is_lasting = False
        self.notes: list[str] = []
        self._container = container
        self._own: Container | None = None
        self._ask = ask
        self._vectors = vectors
        self._source: Source | None = None
        self._looked = -math.inf
        self._error: Exception | None = None
        self._version: object = None
        self._by_word: ByWord | None = None
        self._nearest: Nearest | None = None
        self._selected: Selection | None = None

    @property
    def model(self) -> str | None:
        """The model whose vectors serve, once one was chosen."""
        return self._source.model if self._source else None

    def close(self) -> None:
        """Let go of the index."""
        if self._source:
            self._source.close()
        if self._own:
            self._own.close()

    def ask(self, ask: Ask) -> None:
        """Search by these options from now on."""
        if self._source and self._source.ask.mode == "keyword" != ask.mode:  # it was chosen without its vectors
            self._forget_source()
        self._ask, self._selected = ask, None

    def watch(self) -> None:
        """Be told of changes."""
        self._is_lasting = True
        self._container.watch()

    def recheck(self) -> None:
        """See what nobody was told of."""
        self._container.recheck()

    def look_again(self) -> None:
        """Let the next query be answered from a new look at the pages."""
        self._looked = -math.inf

    def begin(self, query: Query) -> None:
        """Let the query's vector be made while the pages are looked at, where it is known by which model."""
        if self._source and self._source.has_chosen and self._source.spec and self._ask.mode != "keyword":
            self._vectors.begin(self._source.spec, query.text)

    def unless_broken(self, ranking: Callable[[_Field], Ranking]) -> Ranking:
        """A ranking; where that failed, it is not tried again before it is time for a new look.

        Raises:
            MemoryfieldError, OSError, apsw.Error: the field cannot be searched.
        """
        if self._error and not self._is_due():
            raise self._error
        try:
            found = ranking(self)
        except Exception as error:
            self._error, self._looked = error, time.monotonic()
            self._forget_source()
            raise
        self._error = None
        return found

    def _forget_source(self) -> None:
        if self._source:
            self._source.close()
        self._source = None

    def present_container(self) -> Container:
        """The container; a new one, where the archive is another than the one that was opened."""
        container = self._container.renewed()
        if container is not self._container:
            self.close()
            self._container, self._own, self._source = container, container, None
        return container

    def rank(self, query: Query) -> Ranking:
        """This field's pages for a query."""
        return self._by_a_sound_index(query, lambda source: self._rank(source, query))

    def rank_similar(self, filename: str) -> Ranking:
        """This field's pages by their nearness to one of them."""
        return self._by_a_sound_index(None, lambda source: self._rank_similar(source, filename))

    def expect(self, texts: list[str]) -> None:
        """Make the vectors of coming queries, and compare them with the pages, all at once."""
        if self._source is None or self.model is None or self._source.spec is None or len(texts) < 2:
            return
        vectors = self._vectors.make(self._source.spec, texts)
        if vectors and isinstance(self._nearest, Matrix):
            self._nearest.compare(vectors)

    def hit(self, page: Scored, telling: dict[Term, float]) -> Hit | None:
        """A page as a result shows it; None where it has gone since."""
        assert self._source is not None
        return make_hit(self._container, self._source.store, self.name, page, telling, self._ask, self.notes)

    def take_notes(self) -> list[str]:
        """What there is to say about the field, and about this query's pages."""
        notes, self.notes = list(dict.fromkeys(self.notes)), []
        return [*self._container.notes, *(self._source.take_notes() if self._source else []), *notes]

    def _by_a_sound_index(self, query: Query | None, ranking: Callable[[Source], Ranking]) -> Ranking:
        """Rank by the index that serves; where it turns out to be damaged, by the next."""
        while True:
            source = self._present_source()
            try:
                self._look(source, query)
                return ranking(source)
            except (apsw.Error, *DAMAGE, *WRONG_VALUES) as error:
                source.give_up(error)

    def _present_source(self) -> Source:
        """The field's source; a new one, where the archive is another than the one that was opened."""
        if (self._source or self._error) and self._is_due():
            self.present_container()
            if self._source and self._source.is_outdated:
                self._forget_source()
        if self._source is None:
            self._source = Source(self._container, self._ask, self._vectors, self._rank_by)
        return self._source

    def _is_due(self) -> bool:
        """Whether it is time to look at the pages again."""
        return time.monotonic() - self._looked > REFRESH_SECONDS

    def _look(self, source: Source, query: Query | None) -> None:
        """Choose an index, or look whether the pages have changed since it was looked at."""
        if not source.has_chosen:
            source.choose(query)
        elif self._is_due():
            source.freshen()
        self._looked = time.monotonic()
        if self._is_lasting:
            source.store.unmap()
        self._turn_to(source.store)

    def _turn_to(self, store: IndexStore) -> None:
        """Forget what was read of another index, or of this one before it changed."""
        version = store, store.version()
        if version != self._version:
            self._version = version
            self._by_word = self._nearest = self._selected = None

    def _rank(self, source: Source, query: Query) -> Ranking:
        if ahead := source.take_ahead():
            return ahead
        vector = None
        try:
            vector = source.vector(query) if self._ask.mode != "keyword" else None
        except MemoryfieldError as error:  # it answered before, and does no longer
            self.notes.append(f"{source.model} was not used, searched by keyword alone: {error}")
        return self._rank_by(source.store, query, vector)

    def _rank_by(self, store: IndexStore, query: Query, vector: bytes | None) -> Ranking:
        with store.snapshot():
            self._turn_to(store)
            nearest = self._compare(store) if vector is not None else None
            if self._by_word is None and store.has_own_tables:
                self._by_word = Postings(store) if self.many else StoredWords(store)
            return rank(store, query, self._ask, self._select(store, query.phrases), self._by_word, vector, nearest)

    def _rank_similar(self, source: Source, filename: str) -> Ranking:
        store = source.store
        vector = store.vector(filename)
        if vector is None:
            why = "; ".join(source.notes) or f"{filename} is not embedded yet: run `memoryfield embed`"
            raise MemoryfieldError(f"{filename} has no vector to compare with: {why}")
        with store.snapshot():
            nearest = self._compare(store)
            found = rank(store, Query(filename, ""), self._ask, self._select(store, ()), None, vector, nearest)
        return found._replace(pages=[page for page in found.pages if page.filename != filename])

    def _compare(self, store: IndexStore) -> Nearest:
        """Vectors to compare with; in memory where many queries are to come."""
        if self._nearest is None:
            dimensions = store.counts()[1]
            self._nearest = Matrix(store, dimensions) if self.many and dimensions else Stored(store)
        return self._nearest

    def _select(self, store: IndexStore, phrases: Sequence[str]) -> Selection:
        """Which pages may be found; looked up only where there is anything to look up."""
        selection = None if phrases else self._selected
        if selection is None:
            selection = Selection()
            if phrases or self._ask.is_selective or store.may_hold_stale:
                from .filters import select

                selection = select(store, self._container, self._ask, phrases)
            self._selected = None if phrases else selection
        if selection.allowed is not None and not selection.allowed:
            from .filters import unmet

            quoted = " and ".join(f'"{phrase}"' for phrase in phrases)
            self.notes.append(f"no page holds {quoted}" if phrases else unmet(store, self._ask))
        return selection


def _check_any_left(left: bool, broken: Sequence[tuple[str, Exception]]) -> None:
    if left:
        return
    if len(broken) == 1:
        raise broken[0][1]
    told = "; ".join(f"{name}: {reason_of(error)}" for name, error in broken)
    raise MemoryfieldError(f"none of the {len(broken)} fields can be searched: {told}")
