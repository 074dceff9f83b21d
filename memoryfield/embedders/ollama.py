"""Models that an Ollama server runs, through its own Python package."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from ..errors import EmbedderError, EmbedderUnavailableError
from .base import Vector, import_library, mean_vector, unit_vector

ATTEMPTS = 4
FIRST_WAIT = 0.25
"""Seconds before the second attempt; each further wait is twice as long."""

TIMEOUT = 120
"""Seconds for one request with pages."""
QUERY_TIMEOUT = 20
"""Seconds for a question: somebody is waiting. A model that has to be loaded first may need some."""
MAX_FAULT = 200
"""Characters of what a server says of an error."""

_TOO_LONG = ("context length", "exceeds", "too long")


class OllamaEmbedder:
    """A model served by Ollama at $OLLAMA_HOST, else at localhost:11434.

    ```python
    nomic = OllamaEmbedder("nomic-embed-text-v1.5", "nomic-embed-text", 768,
                           page_prefix="search_document: ", query_prefix="search_query: ")
    ```
    """

    batch = 16

    def __init__(
        self,
        model: str,
        tag: str,
        dimensions: int | None = None,
        *,
        page_prefix: str = "",
        query_prefix: str = "",
    ) -> None:
        self.model = model
        self.dimensions = dimensions
        self._tag = tag
        self._page_prefix = page_prefix
        self._query_prefix = query_prefix
        self._client_made: Any = None

    def load(self) -> None:
        self._client()

    def unavailable(self) -> str:
        try:
            names = [model.model or "" for model in self._ask(lambda client: client.list(), attempts=1).models]
        except EmbedderError as error:
            return str(error)
        if self._tag not in names and f"{self._tag}:latest" not in names:
            return str(self._missing())
        return ""

    def embed_pages(self, texts: Sequence[str]) -> list[Vector | EmbedderError]:
        try:
            return [*self._vectors([self._page_prefix + text for text in texts])]
        except _FailedError:  # is it the server, or one of the texts? A harmless one tells
            self._vectors([self._page_prefix + "text"], attempts=1)
            return [self._one(text, self._page_prefix, attempts=1) for text in texts]
        except EmbedderUnavailableError:
            raise
        except EmbedderError:  # one of them spoils the request: find out which
            return [self._one(text, self._page_prefix) for text in texts]

    def embed_query(self, text: str) -> Vector:
        self._client()._client.timeout = QUERY_TIMEOUT
        try:
            found = self._one(text, self._query_prefix)
        finally:
            self._client()._client.timeout = TIMEOUT
        if isinstance(found, EmbedderError):
            raise found
        return found

    def embed_queries(self, texts: Sequence[str]) -> list[Vector | EmbedderError]:
        return [self._one(text, self._query_prefix) for text in texts]

    def _one(self, text: str, prefix: str, attempts: int = ATTEMPTS) -> Vector | EmbedderError:
        try:
            return self._vectors([prefix + text], attempts)[0]
        except _TooLongError:
            return self._halved(text, prefix)
        except EmbedderUnavailableError as error:
            if attempts == 1 and isinstance(error, _FailedError):
                return EmbedderError(error.message)
            raise
        except EmbedderError as error:
            return error

    def _halved(self, text: str, prefix: str) -> Vector | EmbedderError:
        """A text that the server refuses as too long: its halves, averaged by their length."""
        if len(text) < 2:
            return EmbedderError(f"{self._tag} refuses even {len(text)} characters as too long")
        middle = text.rfind(" ", len(text) // 4, len(text) // 2) + 1 or len(text) // 2
        parts = [text[:middle], text[middle:]]
        vectors: list[Vector] = []
        for part in parts:
            found = self._one(part, prefix)
            if isinstance(found, EmbedderError):
                return found
            vectors.append(found)
        return mean_vector(vectors, [len(part) for part in parts])

    def _vectors(self, texts: Sequence[str], attempts: int = ATTEMPTS) -> list[Vector]:
        valid = [text.encode("utf-8", "replace").decode() for text in texts]
        answer = self._ask(lambda client: client.embed(model=self._tag, input=valid, truncate=False), attempts)
        if len(answer.embeddings) != len(texts):
            raise EmbedderError(f"{self._tag} gave {len(answer.embeddings)} vectors for {len(texts)} texts")
        vectors = [unit_vector(values, self.dimensions, self._tag) for values in answer.embeddings]
        self.dimensions = self.dimensions or len(vectors[0]) // 4
        return vectors

    def _ask(self, call: Any, attempts: int = ATTEMPTS) -> Any:
        """One call to the server; what may pass is tried again after growing waits."""
        client = self._client()
        import httpx
        import ollama

        wait = FIRST_WAIT
        for attempt in range(1, attempts + 1):
            try:
                return call(client)
            except ollama.ResponseError as error:
                if error.status_code == 404:
                    raise self._missing() from None
                told = str(error.error)[:MAX_FAULT]
                if any(words in told.lower() for words in _TOO_LONG):
                    raise _TooLongError(told) from None
                if error.status_code < 500 and error.status_code != 429:
                    raise EmbedderError(f"Ollama refused: {told}") from None
                fault = f"status {error.status_code}, {told}"
            except (ConnectionError, httpx.ConnectError):
                raise EmbedderUnavailableError(
                    f"no Ollama server answers at {self._host()}",
                    hint="Start it with `ollama serve`, or set OLLAMA_HOST.",
                ) from None
            except httpx.TimeoutException:
                raise EmbedderUnavailableError(f"Ollama at {self._host()} did not answer in time") from None
            except (httpx.HTTPError, ValueError, TypeError, AttributeError, KeyError) as error:
                # Cut off, or an answer that is no JSON, or not of the expected shape.
                fault = f"{type(error).__name__}: {error}"[:MAX_FAULT]
            if attempt < attempts:
                time.sleep(wait)
                wait *= 2
        times = f" {attempts} times" if attempts > 1 else ""
        raise _FailedError(f"Ollama at {self._host()} failed{times}: {fault}")

    def _missing(self) -> EmbedderUnavailableError:
        return EmbedderUnavailableError(
            f"Ollama at {self._host()} does not have the model {self._tag}",
            hint=f"Run `ollama pull {self._tag}`.",
        )

    def _host(self) -> str:
        return str(self._client()._client.base_url).rstrip("/")

    def _client(self) -> Any:
        if self._client_made is None:
            import_library("httpx")
            import httpx

            try:
                import ollama  # which makes a client of its own here, of the same settings

                self._client_made = ollama.Client(timeout=TIMEOUT)
            except (ImportError, ValueError, httpx.InvalidURL) as error:
                raise EmbedderUnavailableError(
                    f"no Ollama server can be asked: {error}",
                    hint="OLLAMA_HOST should be like localhost:11434; ALL_PROXY and the like must name a usable proxy.",
                ) from None
        return self._client_made


class _FailedError(EmbedderUnavailableError):
    """The server answered, with an error of its own each time: it, or one of the texts, is the cause."""


class _TooLongError(EmbedderError):
    """The server refuses a text for its length."""
