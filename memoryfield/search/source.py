"""One field as a search sees it: which index serves, and how fresh it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import apsw

from ..containers import Container
from ..embedders import DEFAULT_MODEL, MODELS, Embedder, code_of_spec, dimensions_of, page_input
from ..errors import (
    EmbedderError,
    EmbedderUnavailableError,
    IndexFileError,
    IndexUnreadableError,
    MemoryfieldError,
    ReadOnlyError,
    UnknownModelError,
)
from ..index import cache
from ..index.files import discard_index, embedder_of, index_files, open_index
from ..index.store import DAMAGE, WRONG_VALUES, IndexStore
from ..names import is_page
from .ask import Ask, Query
from .hybrid import Ranking

if TYPE_CHECKING:
    from ..index.sync import Changes

TIMEOUT_MS = 5_000
"""How long a search waits for an index that another process has locked."""
LONGEST_WAIT = 40
"""Seconds for a query's vector, whatever a server does: somebody is waiting."""
MAX_EMBED = 25
"""So many new or changed pages are embedded by a search itself."""


class _Making:
    """A query's vector, made in a thread while files and keywords are looked at."""

    def __init__(self, embedder: Embedder, text: str) -> None:
        self._vector = b""
        self._error: Exception | None = None
        self._late = False
        self._thread = threading.Thread(target=self._make, args=(embedder, text), daemon=True)
        try:
            embedder.load()  # before the thread: imports would only take turns with what goes on here
        except EmbedderError as error:
            self._error = error
        else:
            self._thread.start()

    def _make(self, embedder: Embedder, text: str) -> None:
        try:
            self._vector = embedder.embed_query(page_input(text.encode()))
        except Exception as error:
            self._error = error

    def finish(self) -> None:
        """Wait for the thread, unless it was given up."""
        if self._thread.ident is not None and not self._late:
            self._thread.join(LONGEST_WAIT)
            self._late = self._thread.is_alive()

    def get(self) -> bytes:
        self.finish()
        if self._late:
            raise EmbedderUnavailableError(f"no vector of the query came within {LONGEST_WAIT} seconds")
        if self._error:
            raise self._error
        return self._vector


class Vectors:
    """Each query's vector by each embedder (named by its spec), made once for all the fields that are searched."""

    def __init__(self) -> None:
        self._embedders: dict[str, Embedder] = {}
        self._making: dict[tuple[str, str], _Making] = {}
        self._made: dict[tuple[str, str], bytes] = {}

    def share(self, embedder: Embedder) -> Embedder:
        """The one embedder of this spec, which is this one if there is no other yet."""
        return self._embedders.setdefault(embedder.spec, embedder)

    def embedder(self, spec: str) -> Embedder:
        """The embedder that is shared under this spec."""
        return self._embedders[spec]

    def begin(self, spec: str, text: str) -> None:
        """Let a vector be made, while the caller does something else."""
        if (spec, text) not in self._made and (spec, text) not in self._making:
            self._making[spec, text] = _Making(self.embedder(spec), text)

    def get(self, spec: str, text: str) -> bytes:
        """A vector, waited for.

        Raises:
            EmbedderError: what the embedder raised.
        """
        if (spec, text) not in self._made:
            self.begin(spec, text)
            self._made[spec, text] = self._making.pop((spec, text)).get()
        return self._made[spec, text]

    def make(self, spec: str, texts: Sequence[str]) -> list[bytes]:
        """The vectors of many queries at once, without those that fail; `get` tells why."""
        new = [text for text in dict.fromkeys(texts) if (spec, text) not in self._made]
        try:
            answers = self.embedder(spec).embed_queries([page_input(text.encode()) for text in new]) if new else []
        except EmbedderError:
            return []
        self._made |= {(spec, text): a for text, a in zip(new, answers, strict=True) if isinstance(a, bytes)}
        return [self._made[spec, text] for text in dict.fromkeys(texts) if (spec, text) in self._made]

    def forget(self) -> None:
        """The queries so far are answered."""
        self.close()
        self._making.clear()
        self._made.clear()

    def close(self) -> None:
        """Wait for what is still being made."""
        for making in self._making.values():
            making.finish()


class Source:
    """A field that is searched: its index is chosen with the first query, and stays.

    `store` is that index, `model` the code of the vectors that serve, or None where words alone are
    searched, and `spec` that of its embedder, or None where none is known.
    """

    def __init__(
        self,
        container: Container,
        ask: Ask,
        vectors: Vectors,
        rank: Callable[[IndexStore, Query, bytes | None], Ranking],
    ) -> None:
        self.container = container
        self.ask = ask
        self.vectors = vectors
        self.model: str | None = None
        self.spec: str | None = None
        self._chosen: list[str] = []
        self._fresh: dict[str, list[str]] = {}
        self._store: IndexStore | None = None
        self._files = index_files(container)
        self._fingerprint = container.fingerprint
        self._rank = rank
        self._ahead: tuple[IndexStore, object, Ranking] | None = None
        self._codes = [code_of_spec(ask.model)] if ask.model else list(self._files)
        self._had_index = bool(self._codes)
        self._made_anew: set[str] = set()
        self._was_empty = False
        self._once: list[str] = []
        self._settled: object = None
        """The index, its version and the pages' moment when all was done that can be; not all of it shows by times."""

    @property
    def has_chosen(self) -> bool:
        """Whether there is an index to search."""
        return self._store is not None

    @property
    def store(self) -> IndexStore:
        """The chosen index."""
        assert self._store is not None
        return self._store

    @property
    def notes(self) -> list[str]:
        """What a caller should know about the choice of the index and its freshness."""
        return [*dict.fromkeys(self._chosen), *(self._fresh.get(self._store.model, []) if self._store else [])]

    def take_notes(self) -> list[str]:
        """`notes`, and what was done since they were taken last."""
        once, self._once = list(dict.fromkeys(self._once)), []
        return [*once, *self.notes]

    @property
    def is_outdated(self) -> bool:
        """Whether to choose anew: the index is no longer the file that was opened, or a better one has come."""
        if self._store is None:
            return False
        if not self._store.is_in_place or (self._was_empty and any(map(is_page, self.container.names()))):
            return True
        words_alone = self.ask.mode != "keyword" and self.model is None
        return words_alone and index_files(self.container).keys() != self._files.keys()

    def close(self) -> None:
        """Let go of the index."""
        if self._store:
            self._store.close()
            self._store = None

    def choose(self, query: Query | None) -> None:
        """Take the first index whose model answers, brought up to date; else one for keywords alone.

        Without a query, no model is needed: stored vectors are compared with each other.
        """
        if self._files and query:  # a model is loaded meanwhile
            self._fingerprint = self.container.begin_fingerprint()
        silent: list[str] = []
        fallback: IndexStore | None = None
        for code in list(self._codes):
            store, serves = self._try(code, query, silent)
            if serves:
                if fallback:
                    fallback.close()
                self._store, self.model = store, code if self.ask.mode != "keyword" else None
                self._chosen += silent
                return
            if store is None:
                self._codes = [other for other in self._codes if other != code]
            elif fallback:
                store.close()
            else:
                fallback = store
        self._chosen += silent
        if self.ask.mode != "keyword" and (silent or self._had_index):
            self._chosen.append("searched by keyword alone")
        self.model = None
        self._store = fallback or self._keyword_only_store()

    def vector(self, query: Query) -> bytes | None:
        """The query's vector by the chosen model; None, and a note, where words alone have to do."""
        if self.model is None or self.spec is None:
            return None
        return self.vectors.get(self.spec, query.text)

    def give_up(self, error: Exception) -> None:
        """The index failed while it was read: made anew if it is damaged and ours, else passed over.

        Raises:
            Exception: the error itself, where there is nothing left to fall back to.
        """
        if self._store is None:
            raise error
        if isinstance(error, DAMAGE) and cache.forget(self.container):
            self.close()  # what was kept of an archive: the archive itself may be sound
            return
        code = self.store.model
        name = self._files.pop(code, None)
        self.close()
        if name is None and code not in self._codes:
            raise error
        if isinstance(error, DAMAGE) and code in MODELS and code not in self._made_anew:
            self._once.append(f"the index of {code} is damaged ({error}): it is made anew")
            self._made_anew.add(code)
            if store := self._recreate(code):
                store.prepare()
                store.close()
                self._files = index_files(self.container)
                return
        elif not isinstance(error, DAMAGE):  # locked for long, or the disk is full
            self._chosen.append(f"the index of {code} could not be used: {error}")
        self._codes = [other for other in self._codes if other != code]

    def _try(self, code: str, query: Query | None, silent: list[str]) -> tuple[IndexStore | None, bool]:
        """One model's index: opened and brought up to date.

        Returns:
            The index (None where it cannot be used at all), and whether it serves as asked; one whose
            model does not answer still serves for keywords.
        """
        embedder: Embedder | None = None
        if self.ask.mode != "keyword":
            try:
                embedder = self.vectors.share(embedder_of(self.container, self.ask.model or code))
                if query:
                    self.vectors.begin(embedder.spec, query.text)
            except UnknownModelError:
                silent.append(f"no embedder is known for the index of {code}")
        store = self._open(code)
        if store is None:
            return None, False
        try:
            if query and self._fingerprint != self.container.fingerprint:
                self._rank_ahead(store, embedder, query)
            self._freshen(store, embedder)
            if self.ask.mode == "keyword":
                return store, True
            if embedder is None and query:
                return store, False
            if not store.counts()[0]:
                silent.append(f"the index of {code} holds no vectors")
                return store, False
            if query and embedder:
                self.vectors.get(embedder.spec, query.text)
        except MemoryfieldError as error:
            silent.append(f"{code} was not used: {error}")
            return store, False
        except (apsw.Error, *DAMAGE, *WRONG_VALUES) as error:
            self._store = store
            self.give_up(error)
            return self._try(code, query, silent) if code in self._codes else (None, False)
        self.spec = embedder.spec if embedder else None
        return store, True

    def _open(self, code: str) -> IndexStore | None:
        try:
            name = self._files.get(code, "")
            return open_index(self.container, code, dimensions_of(code), name=name, timeout_ms=TIMEOUT_MS, cached=True)
        except IndexUnreadableError as error:
            self._chosen.append(str(error))
            return None
        except IndexFileError as error:
            if not index_files(self.container).get(code):
                self._chosen.append(f"{error}: run `memoryfield embed --model {self.ask.model or code}`")
                return None
            if code not in MODELS:
                return None  # somebody's own database, and not ours to make anew
            told = self._once if self.container.writable else self._chosen
            told.append(f"{error}{': it is made anew' if self.container.writable else ''}")
        return self._recreate(code)

    def _recreate(self, code: str) -> IndexStore | None:
        if not self.container.writable:
            return None
        try:
            discard_index(self.container, code)
            return open_index(self.container, code, dimensions_of(code), create=True)
        except (ReadOnlyError, IndexFileError, OSError, apsw.Error) as error:
            self._chosen.append(str(error))
            return None

    def _keyword_only_store(self) -> IndexStore:
        """A keyword index for a field that has no other: in memory, or from the cache."""
        store, failed = cache.keyword_index(self.container, DEFAULT_MODEL)
        self._chosen += _failed_note(failed)
        if not any(map(is_page, self.container.names())):
            self._chosen.append("the field has no pages")
            self._was_empty = True
        elif not self._had_index and self.ask.mode != "keyword":
            self._chosen.append(f"this field is not embedded yet, searched by keyword alone: {self._how_to_embed()}")
        return store

    def _rank_ahead(self, store: IndexStore, embedder: Embedder | None, query: Query) -> None:
        """Rank while another process looks at the pages: most likely, nothing has changed."""
        vector = None
        if self.ask.mode != "keyword":
            store.wrong_length()  # the vector is still being made
            if embedder is None or not store.counts()[0]:
                return
            try:
                vector = self.vectors.get(embedder.spec, query.text)
            except MemoryfieldError:
                return  # for whoever needs the vector to tell
        ranking = self._rank(store, query, vector)
        self._ahead = store, store.version(), ranking

    def take_ahead(self) -> Ranking | None:
        """The first query's ranking, if it was made ahead, and by what the chosen index holds now."""
        ahead, self._ahead = self._ahead, None
        if ahead and ahead[0] is self._store and ahead[1] == ahead[0].version():
            return ahead[2]
        return None

    def freshen(self) -> None:
        """Bring the chosen index up to date once more."""
        self._freshen(self.store, self.vectors.embedder(self.spec) if self.spec else None)

    def _freshen(self, store: IndexStore, embedder: Embedder | None) -> None:
        """Bring the index up to date, if little has changed; say what is missing otherwise."""
        notes: list[str] = []
        try:
            fingerprint, self._fingerprint = self._fingerprint, self.container.fingerprint
            if not store.is_current(fingerprint, vectors=self.ask.mode != "keyword"):
                if self._is_settled(store):
                    return  # what was told then still holds
                self._bring_up_to_date(store, embedder, notes)
        except (
            apsw.FullError,
            apsw.IOError,
            apsw.ReadOnlyError,
            apsw.BusyError,
            apsw.CantOpenError,
        ) as error:
            notes.append(f"the index could not be brought up to date: {error}")
        self._fresh[store.model] = notes

    def _bring_up_to_date(self, store: IndexStore, embedder: Embedder | None, notes: list[str]) -> None:
        """The same for an index that may not be of just these pages."""
        from ..index.sync import look, sync

        moment = self.container.moment()
        slot = cache.slot(self.container, self._files.get(store.model, "")) if self.ask.sync else None
        if slot:
            store.to_memory()
        store_changes = look(self.container, store)
        if not (store.writable and self.ask.sync):
            notes += self._stale_note(store_changes)
            self._settle(store, moment)
            return
        pending = len(store_changes.pending)
        if not store_changes.none:
            work = len(store_changes.suspects) + pending
            report = sync(self.container, store, embedder if work <= MAX_EMBED else None, changes=store_changes)
            if embedder and work > MAX_EMBED and 0 < report.pending <= MAX_EMBED:
                report = sync(self.container, store, embedder)
            notes += report.notes
            notes += _failed_note(report.failed)
            pending = report.pending
        if slot:
            slot.keep(store, settled=store_changes.none)
        if not pending or embedder is None or pending > MAX_EMBED:  # else they are tried again
            self._settle(store, moment)
        by_words = self.has_chosen and self.model is None  # and it was said why
        if pending and self.ask.mode != "keyword" and not by_words:
            notes.append(f"{_pages(pending)} not embedded yet: {self._how_to_embed()}")

    def _settle(self, store: IndexStore, moment: int | None) -> None:
        """There is no more to be done, until the index or a page changes."""
        self._settled = moment is not None and (store, store.version(), moment)

    def _is_settled(self, store: IndexStore) -> bool:
        return self._settled == (store, store.version(), self.container.moment())

    def _how_to_embed(self) -> str:
        if self.container.location.is_dir():
            return "run `memoryfield embed`"
        return "unpack the archive, run `memoryfield embed` on the folder, and pack it"

    def _stale_note(self, changes: Changes) -> list[str]:
        """For an index that cannot be written: how many pages differ from it."""
        from ..index.sync import really_changed

        stale = len(really_changed(self.container, changes)) + len(changes.removed) + len(changes.pending)
        if not stale:
            return []
        why = " and cannot be written" if self.ask.sync else ""
        return [f"the index is out of date by {stale} page{'' if stale == 1 else 's'}{why}"]


def _failed_note(failed: list[tuple[str, str]]) -> list[str]:
    if not failed:
        return []
    name, reason = failed[0]
    more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
    return [f"{name}: {reason}{more}"]


def _pages(count: int) -> str:
    return "1 page is" if count == 1 else f"{count} pages are"
