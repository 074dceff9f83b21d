"""Models that an Ollama server runs, through its own Python package."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import EmbedderError, EmbedderUnavailableError
from .base import import_library
from .remote import ASKED_FOR, CHECK, CONNECT_TIMEOUT, QUERY, PassingError, Patience, RemoteEmbedder, refusal, tls, told
from .specs import Spec


class OllamaEmbedder(RemoteEmbedder):
    """A model served by Ollama at $OLLAMA_HOST, else at localhost:11434.

    ```python
    vectors = OllamaEmbedder(parse("ollama:bge-m3")).embed_pages(["carbon steel woks", "cast iron pans"])
    ```
    """

    def __init__(self, spec: Spec, dimensions: int | None = None) -> None:
        super().__init__(spec, dimensions)
        self._clients: dict[float, Any] = {}
        self._retry_after: str | None = None

    def load(self) -> None:
        self._client(QUERY)

    @property
    def where(self) -> str:
        try:
            return f"Ollama at {self._host()}"
        except EmbedderError:
            return "Ollama"

    def models(self) -> dict[str, int | None]:
        """The embedding models that the server has: tags, and the dimensions of their vectors."""
        shown = {tag: self._show(tag) for tag in self._tags()}
        return {tag: _dimensions(info) for tag, info in shown.items() if "embedding" in (info.capabilities or [])}

    def _tags(self) -> list[str]:
        return [model.model or "" for model in self._ask(lambda: self._answer(lambda c: c.list(), CHECK), CHECK).models]

    def _show(self, tag: str) -> Any:
        return self._ask(lambda: self._answer(lambda client: client.show(tag), CHECK), CHECK)

    def _check(self) -> None:
        tags = self._tags()
        if self._name not in tags and f"{self._name}:latest" not in tags:
            raise self._missing()

    def _call(self, texts: Sequence[str], patience: Patience) -> Sequence[Sequence[float]]:
        answer = self._answer(lambda client: client.embed(model=self._name, input=texts, truncate=False), patience)
        vectors: Sequence[Sequence[float]] = answer.embeddings
        return vectors

    def _answer(self, call: Callable[[Any], Any], patience: Patience) -> Any:
        """One call of the package, its exceptions translated."""
        client = self._client(patience)
        import httpx
        import ollama

        secrets = (os.environ.get("OLLAMA_API_KEY", ""),)  # which the package sends
        self._retry_after = None
        try:
            return call(client)
        except ollama.ResponseError as error:
            fault = told(str(error.error), secrets)
            if error.status_code == 404:
                raise (self._missing() if "model" in fault.lower() else self._no_ollama()) from None
            raise refusal(error.status_code, fault, self._retry_after) from None
        except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout):
            raise EmbedderUnavailableError(
                f"no Ollama server answers at {self._host()}",
                hint="Start it with `ollama serve`, or set OLLAMA_HOST.",
            ) from None
        except httpx.TimeoutException:
            raise EmbedderUnavailableError(f"Ollama at {self._host()} did not answer in time") from None
        except (httpx.HTTPError, ValueError, TypeError, AttributeError, KeyError) as error:
            # Cut off, or an answer that is no JSON, or not of the expected shape.
            raise PassingError(told(f"{type(error).__name__}: {error}", secrets)) from None

    def _missing(self) -> EmbedderUnavailableError:
        return EmbedderUnavailableError(
            f"Ollama at {self._host()} does not have the model {self._name}",
            hint=f"Run `ollama pull {self._name}`.",
        )

    def _no_ollama(self) -> EmbedderUnavailableError:
        return EmbedderUnavailableError(
            f"what answers at {self._host()} is no Ollama server that embeds (status 404)", hint="Is OLLAMA_HOST right?"
        )

    def _host(self) -> str:
        return str(self._client(QUERY)._client.base_url).rstrip("/")

    def _client(self, patience: Patience) -> Any:
        """A client of the package: one for each timeout, since a call of it has none of its own."""
        if patience.timeout not in self._clients:
            self._clients[patience.timeout] = self._made(patience.timeout)
        return self._clients[patience.timeout]

    def _made(self, timeout: float) -> Any:
        import_library("httpx")
        import httpx

        try:
            import ollama  # which makes a client of its own here, of the same settings

            return ollama.Client(
                timeout=httpx.Timeout(timeout, connect=CONNECT_TIMEOUT),
                verify=tls(),
                headers=ASKED_FOR,
                event_hooks={"response": [self._note_wait, self._bound]},
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            why = f": {error}" if isinstance(error, ImportError) else ""  # others may name a part of a password
            raise EmbedderUnavailableError(
                f"no Ollama server can be asked{why}",
                hint="OLLAMA_HOST should be like localhost:11434; ALL_PROXY and the like must name a usable proxy.",
            ) from None

    def _note_wait(self, response: Any) -> None:
        """The package's exceptions do not tell for how long a busy server wants to be left alone."""
        self._retry_after = response.headers.get("retry-after")


def _dimensions(shown: Any) -> int | None:
    """The length of a model's vectors, as the server knows it: under the name of the model's architecture."""
    lengths = (value for key, value in (shown.modelinfo or {}).items() if key.endswith(".embedding_length"))
    return next((value for value in lengths if isinstance(value, int)), None)
