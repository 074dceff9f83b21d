"""What the embedders behind a server share: patience with it, batches that one text spoils, texts that are too long.

A module for each protocol makes single calls, and says what the failure of one means by what it
raises: PassingError, TooLongError, EmbedderError (refused, and would be again), or
EmbedderUnavailableError (no server, no model, no key).
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import cache
from typing import Any, NamedTuple, TypeVar

from ..errors import EmbedderError, EmbedderUnavailableError
from .base import Vector, mean_vector, unit_vector, unit_vectors
from .specs import Spec

T = TypeVar("T")


class Patience(NamedTuple):
    """How long a server is waited for."""

    attempts: int
    timeout: float
    """Seconds for one request."""
    longest_wait: float
    """Seconds between two attempts that a server may ask for; if it asks for more, it is given up."""


PAGES = Patience(6, 600, 60)
"""A batch of long pages may take a slow machine minutes."""
QUERY = Patience(4, 20, 5)
"""Somebody is waiting. A model that has to be loaded first may need some seconds."""
CHECK = Patience(1, 5, 0)
CONNECT_TIMEOUT = 5
FIRST_WAIT = 0.25
"""Seconds before the second attempt; each further wait is twice as long."""

FIRST_BATCH = 64
MAX_BATCH = 256
"""Pages in a request: many cost a quick server hardly more than one. While it is quick, twice as many come next."""
QUICK, SLOW = 2.0, 20.0
"""Seconds for a batch: under the one, the next is larger; over the other, it is smaller, so that progress is seen."""

MANY = 16
"""Vectors for which numpy pays."""
MAX_FAULT = 200
"""Characters of what a server says of an error."""
MAX_VECTOR = 8192 * 32
"""Bytes of an answer for each vector that was asked for: many dimensions, written at length."""
MAX_OTHER = 8 << 20
"""Bytes of an answer for all else: a hosted server's list of models may take more than one million."""
ASKED_FOR = {"Accept-Encoding": "identity"}
"""The headers of each request: what comes compressed may be any size."""
_most: ContextVar[int] = ContextVar("_most")
"""Bytes that the answer to what is asked now may have: Ollama's package takes nothing that would carry it."""
_TOO_LONG = (
    "context length",  # Ollama, OpenAI, vLLM
    "context size",  # llama.cpp, beyond the model's context
    "too large to process",  # llama.cpp, beyond its physical batch
    "exceeds",
    "exceeding",
    "too long",
    "too many tokens",
    "maximum input length",
)
_NO_LENGTH = (401, 402, 403, 404, 429, 503)
"""Statuses that never speak of a text's length, whatever they say of limits."""

_PREFIXES = {"nomic-embed-text": ("search_document: ", "search_query: ")}
"""By a part of the model's name: what it wants before a page, and before a query."""


class RemoteEmbedder(ABC):
    """A model behind a server. A protocol adds `load`, `where`, `_call` and `_check`."""

    def __init__(self, spec: Spec, dimensions: int | None = None) -> None:
        self.model = spec.code
        self.spec = str(spec)
        self.dimensions = dimensions
        self.batch = FIRST_BATCH
        self._name = spec.name
        known = (prefixes for part, prefixes in _PREFIXES.items() if part in spec.name.lower())
        self._page_prefix, self._query_prefix = next(known, ("", ""))

    @property
    @abstractmethod
    def where(self) -> str:
        """The server, for people: without what gives access to it."""

    @abstractmethod
    def load(self) -> None:
        """Import what is needed, and read the settings."""

    @abstractmethod
    def _call(self, texts: Sequence[str], patience: Patience) -> Sequence[Sequence[float]]:
        """One request: the values of a vector for each text, unchecked."""

    @abstractmethod
    def _check(self) -> None:
        """Raise an EmbedderError if the server, or the model there, does not answer now."""

    def unavailable(self) -> str:
        try:
            self._check()
        except EmbedderError as error:
            return str(error)
        return ""

    def embed_pages(self, texts: Sequence[str]) -> list[Vector | EmbedderError]:
        if not texts:
            return []
        start = time.monotonic()
        found = self._each(texts, self._page_prefix, PAGES)
        seconds = time.monotonic() - start
        if seconds > SLOW:
            self.batch = max(1, self.batch // 2)
        elif seconds < QUICK and len(texts) >= self.batch:
            self.batch = min(MAX_BATCH, 2 * self.batch)
        return found

    def embed_query(self, text: str) -> Vector:
        (found,) = self._each([text], self._query_prefix, QUERY)
        if isinstance(found, EmbedderError):
            raise found
        return found

    def embed_queries(self, texts: Sequence[str]) -> list[Vector | EmbedderError]:
        return self._each(texts, self._query_prefix, QUERY) if texts else []

    def _each(self, texts: Sequence[str], prefix: str, patience: Patience) -> list[Vector | EmbedderError]:
        """A vector or an error for each text. Where one of them spoils the request, its halves tell which."""
        try:
            return [*self._vectors([prefix + text for text in texts], patience)]
        except FailedError as error:
            if patience.attempts > 1:  # is it the server, or one of the texts? A harmless one tells
                patience = patience._replace(attempts=1)
                self._vectors([prefix + "text"], patience)
            fault = EmbedderError(error.message)
        except EmbedderUnavailableError:
            raise
        except EmbedderError as error:
            fault = error
        if len(texts) > 1:
            middle = len(texts) // 2
            return self._each(texts[:middle], prefix, patience) + self._each(texts[middle:], prefix, patience)
        return [self._in_parts(texts[0], prefix, patience, fault) if isinstance(fault, TooLongError) else fault]

    def _in_parts(self, text: str, prefix: str, patience: Patience, fault: TooLongError) -> Vector | EmbedderError:
        """A text that the server refuses as too long: its halves, averaged by their length."""
        if len(text) < 2:
            return EmbedderError(f"{self._name} refuses even {len(text)} characters as too long: {fault.message}")
        middle = text.rfind(" ", len(text) // 4, len(text) // 2) + 1 or len(text) // 2
        parts = [text[:middle], text[middle:]]
        vectors: list[Vector] = []
        for part in parts:
            (found,) = self._each([part], prefix, patience)
            if isinstance(found, EmbedderError):
                return found
            vectors.append(found)
        try:
            return mean_vector(vectors, [len(part) for part in parts])
        except EmbedderError as error:  # they cancel each other out
            return error

    def _vectors(self, texts: Sequence[str], patience: Patience) -> list[Vector]:
        """The vectors of one request, each checked."""
        valid = [text.encode("utf-8", "replace").decode() for text in texts]
        found = self._ask(lambda: self._call(valid, patience), patience, len(texts))
        if len(found) != len(texts):
            raise EmbedderError(f"{self._name} gave {len(found)} vectors for {len(texts)} texts")
        self.dimensions = self.dimensions or Counter(map(len, found)).most_common(1)[0][0]
        if len(found) >= MANY:
            return unit_vectors(found, self.dimensions, self._name)
        return [unit_vector(values, self.dimensions, self._name) for values in found]

    def _ask(self, call: Callable[[], T], patience: Patience, vectors: int = 0) -> T:
        """One call, for so many vectors; what may pass is tried again after growing waits, or those asked for."""
        _most.set(MAX_OTHER + vectors * MAX_VECTOR)
        for attempt in range(patience.attempts):
            try:
                return call()
            except PassingError as error:
                fault = error
            except RecursionError:  # in reading JSON, or in writing it into a message
                fault = PassingError("an answer that is no JSON, or nested too deeply")
            if attempt + 1 == patience.attempts or fault.retry_after > patience.longest_wait:
                break
            time.sleep(max(FIRST_WAIT * 2**attempt, fault.retry_after))
        times = f" {attempt + 1} times" if attempt else ""
        asked = f", and asks to be left alone for {fault.retry_after:.0f} seconds" if fault.retry_after else ""
        message = f"{self.where} failed{times}: {fault.message}{asked}"
        raise EmbedderUnavailableError(message) if fault.busy else FailedError(message)

    def _bound(self, response: Any) -> None:
        """Let an answer end: a hook of httpx's clients.

        Raises:
            EmbedderUnavailableError: it is compressed; or, as it is read, it is too long.
        """
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise EmbedderUnavailableError(f"{self.where} answered with compressed data, which was not asked for")
        most = _most.get() if response.is_success else MAX_OTHER
        too_long = EmbedderUnavailableError(f"{self.where} answered with more than {most} bytes")
        response.stream = _bounded_stream()(response, most, too_long)


@cache
def _bounded_stream() -> Any:
    """The class of streams that end; made here, since it derives from one of httpx."""
    import httpx

    class BoundedStream(httpx.SyncByteStream):
        """A response's own stream, up to so many bytes, and for as long as one read of it may take."""

        def __init__(self, response: httpx.Response, most: int, too_long: EmbedderError) -> None:
            self._stream: Any = response.stream
            self._left, self._too_long = most, too_long
            self._end = time.monotonic() + response.request.extensions["timeout"]["read"]

        def __iter__(self) -> Iterator[bytes]:
            for piece in self._stream:
                self._left -= len(piece)
                if self._left < 0:
                    raise self._too_long
                if time.monotonic() > self._end:
                    raise httpx.ReadTimeout("the body took too long")
                yield piece

        def close(self) -> None:
            self._stream.close()

    return BoundedStream


class PassingError(EmbedderError):
    """A call that failed, and may succeed later. `busy`: it is certainly none of the texts that is to blame."""

    def __init__(self, message: str, *, retry_after: float = 0, busy: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.busy = busy


class FailedError(EmbedderUnavailableError):
    """The server answered, with an error of its own each time: it, or one of the texts, is the cause."""


class TooLongError(EmbedderError):
    """The server refuses a text for its length."""


def refusal(status: int, fault: str, retry_after: str | None) -> EmbedderError:
    """What an answer of this status means that says this of its fault. 401 and 404 are the protocol's to tell."""
    if status == 413 or (status not in _NO_LENGTH and any(words in fault.lower() for words in _TOO_LONG)):
        return TooLongError(fault)
    if status == 429 or status >= 500:
        return PassingError(f"status {status}, {fault}", retry_after=_seconds(retry_after), busy=status == 429)
    return EmbedderError(f"the server refused (status {status}): {fault}")


def _seconds(retry_after: str | None) -> float:
    """Of a Retry-After header; one that gives a date is passed over."""
    try:
        return max(0.0, float(retry_after or 0))
    except ValueError:
        return 0.0


def told(text: str, secrets: Iterable[str] = ()) -> str:
    """What a server said, on one line and not too long, without any part of a secret that it may have repeated."""
    text = text[: 10 * MAX_FAULT]  # to search a long one for a long secret takes minutes
    hidden = [False] * len(text)
    for secret in filter(None, secrets):
        width = min(len(secret), 6)
        for start in range(len(secret) - width + 1):
            piece = re.escape(secret[start : start + width])
            for match in re.finditer(f"(?={piece})", text, re.IGNORECASE):  # all of them, overlapping ones too
                hidden[match.start() : match.start() + width] = [True] * width
    shown = "".join("*" if hide else character for character, hide in zip(text, hidden, strict=True))
    return " ".join(shown.split())[:MAX_FAULT]


@cache
def tls() -> Any:
    """What all clients check certificates with: to make it anew for each would take longer than a request."""
    import httpx

    return httpx.create_ssl_context()
