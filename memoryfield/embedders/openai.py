"""Models behind any server with OpenAI's embeddings call: llama.cpp, vLLM, LM Studio, a hosted one.

Its address is $OPENAI_BASE_URL, else OpenAI's own; the key is $OPENAI_API_KEY. Neither the key nor
a password in the address is ever part of a message: an answer that repeats them is masked.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from typing import Any

from ..errors import EmbedderError, EmbedderUnavailableError
from .base import import_library
from .remote import (
    ASKED_FOR,
    CHECK,
    CONNECT_TIMEOUT,
    FailedError,
    PassingError,
    Patience,
    RemoteEmbedder,
    refusal,
    tls,
    told,
)

OPENAI = "https://api.openai.com/v1"


class OpenAIEmbedder(RemoteEmbedder):
    """A model of the server at $OPENAI_BASE_URL.

    ```python
    vectors = OpenAIEmbedder(parse("openai:BAAI/bge-m3")).embed_pages(["carbon steel woks", "cast iron pans"])
    ```
    """

    _client_made: Any = None
    _url: Any = None
    _key = ""
    _secrets: tuple[str, ...] = ()

    def load(self) -> None:
        self._client()

    @property
    def where(self) -> str:
        try:
            self._client()
        except EmbedderError:
            return "OpenAI-compatible server"
        return f"OpenAI-compatible server at {self._shown()}"

    def names(self) -> list[str]:
        """What the server lists as its models; no more than the name is told of any.

        Raises:
            EmbedderUnavailableError: it does not answer.
            EmbedderError: it does, and gives no list.
        """
        self._client()
        no_list = EmbedderError(f"the server at {self._shown()} does not list its models", hint="Name one yourself.")
        try:
            answer = self._ask(lambda: self._answer("GET", "models", CHECK), CHECK)
        except _NotFoundError:
            raise no_list from None
        items = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(items, list):
            raise no_list
        return [str(item["id"]) for item in items if isinstance(item, dict) and "id" in item]

    def _check(self) -> None:
        try:
            names = self.names()
        except EmbedderError as error:
            if isinstance(error, EmbedderUnavailableError) and not isinstance(error, FailedError):
                raise
            self._vectors([self._page_prefix + "text"], CHECK)  # without a list, it may embed all the same
            return
        if names and self._name not in names and f"{self._name}:latest" not in names:
            raise self._missing(f"; it has {', '.join(names[:3])}{', …' if len(names) > 3 else ''}")

    def _call(self, texts: Sequence[str], patience: Patience) -> Sequence[Sequence[float]]:
        request = {"model": self._name, "input": texts, "encoding_format": "float"}
        try:
            answer = self._answer("POST", "embeddings", patience, request)
        except _NotFoundError as error:
            raise self._missing(f": {error.message}") from None
        try:
            items = sorted(answer["data"], key=lambda item: item.get("index", 0))
            vectors: list[list[float]] = [item["embedding"] for item in items]
        except (LookupError, TypeError, AttributeError):
            fault = answer.get("error") if isinstance(answer, dict) else None
            raise PassingError(f"an answer without embeddings{f': {self._told(fault)}' if fault else ''}") from None
        if not all(isinstance(values, list) for values in vectors):
            raise PassingError("an answer with embeddings that are no lists of numbers")
        return vectors

    def _answer(self, method: str, path: str, patience: Patience, body: Any = None) -> Any:
        """One request, and the JSON that it is answered with."""
        client = self._client()
        import httpx

        timeout = httpx.Timeout(patience.timeout, connect=CONNECT_TIMEOUT)
        try:
            response = client.request(method, path, json=body, timeout=timeout)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise EmbedderUnavailableError(
                f"no server answers at {self._shown()} ({self._told(str(error))})",
                hint="Start it, or set OPENAI_BASE_URL.",
            ) from None
        except httpx.TimeoutException:
            raise EmbedderUnavailableError(f"the server at {self._shown()} did not answer in time") from None
        except httpx.HTTPError as error:
            raise PassingError(self._told(f"{type(error).__name__}: {error}")) from None
        if not response.is_success:
            raise self._refusal(response)
        try:
            return response.json()
        except ValueError:
            raise PassingError("an answer that is no JSON") from None

    def _refusal(self, response: Any) -> EmbedderError:
        """What an answer other than 200 means."""
        status = response.status_code
        if status == 401:
            if self._key:
                fault, hint = "refuses the key in OPENAI_API_KEY", "Is it one for this server?"
            else:
                fault, hint = "asks for a key", "Set OPENAI_API_KEY."
            return EmbedderUnavailableError(f"the server at {self._shown()} {fault}", hint=hint)
        try:
            content = response.json()
        except (ValueError, RecursionError):
            content = response.text
        message = self._told(content)
        if status == 404:
            return _NotFoundError(message or "status 404")
        return refusal(status, message, response.headers.get("retry-after"))

    def _told(self, content: Any) -> str:
        """What a server says of an error, in one of the shapes that are about."""
        while isinstance(content, dict):
            content = next(
                (content[name] for name in ("error", "message", "detail") if content.get(name)), str(content)
            )
        return told(str(content), self._secrets)

    def _missing(self, more: str) -> EmbedderUnavailableError:
        return EmbedderUnavailableError(
            f"the server at {self._shown()} does not have the model {self._name}{more}",
            hint="`memoryfield models` lists what it has; most addresses in OPENAI_BASE_URL end in /v1.",
        )

    def _shown(self) -> str:
        """The address, without a user's name, a password or a query."""
        return str(self._url.copy_with(userinfo=b"", query=None, fragment=None)).rstrip("/")

    def _client(self) -> Any:
        if self._client_made is None:
            import_library("httpx")
            self._read_settings()
            self._client_made = self._made()
        return self._client_made

    def _read_settings(self) -> None:
        import httpx

        wanted = EmbedderUnavailableError(
            "OPENAI_BASE_URL is no address", hint="It should be like http://localhost:8080/v1."
        )
        try:
            self._url = httpx.URL(os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI)
        except httpx.InvalidURL:
            raise wanted from None
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise wanted
        self._key = os.environ.get("OPENAI_API_KEY", "").strip()
        if not (self._key.isascii() and self._key.isprintable()):
            raise EmbedderUnavailableError(
                "OPENAI_API_KEY holds a character that no key has", hint="Is there a line break in it? Copy it anew."
            )
        if not self._key and self._shown() == OPENAI:  # and nothing is asked: nobody has chosen this server
            raise EmbedderUnavailableError(
                f"there is no key for {OPENAI}", hint="Set OPENAI_API_KEY, or OPENAI_BASE_URL for another server."
            )
        user = self._url.userinfo
        self._secrets = (self._key, self._url.password, user.decode(), base64.b64encode(user).decode())

    def _made(self) -> Any:
        import httpx

        login = (self._url.username, self._url.password) if self._url.userinfo and not self._key else None
        try:
            return httpx.Client(
                base_url=self._url.copy_with(
                    userinfo=b"", query=None, fragment=None
                ),  # or else it would be in the library's log
                headers=ASKED_FOR | ({"Authorization": f"Bearer {self._key}"} if self._key else {}),
                event_hooks={"response": [self._bound]},
                auth=login,
                verify=tls(),
            )
        except (ImportError, ValueError, httpx.InvalidURL):  # which may name a proxy with its password
            raise EmbedderUnavailableError(
                f"{self._shown()} cannot be asked", hint="ALL_PROXY and the like must name a usable proxy."
            ) from None


class _NotFoundError(EmbedderError):
    """The server has no such model, or no such call."""
