"""A double of an Ollama server: the real protocol over a real socket, with a cheap hash in place of a model.

It follows what Ollama documents (docs/api.md of ollama/ollama) and what its EmbedHandler does
(server/routes.go there): POST /api/embed, GET /api/tags, GET /api/version, and errors as
`{"error": "..."}`, with the messages that the real server gives. Where a text is too long and
`truncate` is false, those are status 400 and "the input length exceeds the context length"; other
versions have answered 500, 413, or "input length exceeds maximum context length". A model whose
vector holds NaN makes the real server answer 500, "failed to encode response: json: unsupported
value: NaN" (issues 9639 and 15582 there).

It is a double: the vectors come from hashed words, so that texts with the same words have near
vectors, and nothing else about them means anything. It can be told to fail.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import socket
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal

DIMENSIONS = 768
TOO_LONG = (400, "the input length exceeds the context length")
NAN_IN_VECTOR = (500, "failed to encode response: json: unsupported value: NaN")
BUSY = (503, "server busy, please try again.  maximum pending requests exceeded")

_PREFIX = re.compile(r"search_(?:document|query): ")

Answer = Literal["right", "short", "zeros", "nan", "fewer", "no json", "no vectors"]


def hashed_vector(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A unit vector of a text's words: each adds or takes 1 at four places that its hash names."""
    values = [0.0] * dimensions
    values[0] = 0.5  # a text without words has a vector too
    for word in re.findall(r"\w+", _PREFIX.sub("", text, count=1).lower()):
        digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=12).digest()
        for start in range(0, 12, 3):
            place = int.from_bytes(digest[start : start + 2], "little") % dimensions
            values[place] += 1.0 if digest[start + 2] & 1 else -1.0
    length = math.sqrt(math.fsum(value * value for value in values))
    return [value / length for value in values]


@dataclass
class Received:
    """A request as it came in."""

    method: str
    path: str
    body: Any = None


@dataclass
class OllamaServer:
    """The server; it listens as long as the `with` block lasts.

    ```python
    with OllamaServer() as server:
        server.failures = [(503, "server busy")] * 2   # the next two requests fail, then all is well
        ...
        assert server.embedded == ["search_query: woks"]
    ```
    """

    models: list[str] = field(default_factory=lambda: ["nomic-embed-text:latest"])
    dimensions: int = DIMENSIONS

    failures: list[tuple[int, str]] = field(default_factory=list)
    """Statuses and messages for the next requests to embed, one each."""
    answers: list[Answer] = field(default_factory=list)
    """What the next requests to embed get in place of a right answer, one each."""
    answer: Answer = "right"
    """What every further one gets."""
    spoiled: dict[str, Answer] = field(default_factory=dict)
    """A word, and what is wrong with the vector of each text that holds it (`short`, `zeros`, `nan`)."""
    poisoned: dict[str, tuple[int, str]] = field(default_factory=dict)
    """A word, and the error that a request with a text that holds it ends in."""
    longest: int | None = None
    """The longest text that fits into the context, in characters."""
    too_long: tuple[int, str] = TOO_LONG
    dies_after: int | None = None
    """After so many answers to requests to embed, the next is cut off, and nothing listens any more."""

    received: list[Received] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)
    """Every text that a vector was given for, in order."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._answered = 0
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def host(self) -> str:
        """As OLLAMA_HOST has it."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def requests(self) -> list[Received]:
        """The requests to embed."""
        return [request for request in self.received if request.path == "/api/embed"]

    def __enter__(self) -> OllamaServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()

    def embed(self, body: Any) -> tuple[int, Any] | None:
        """Status and answer of a request to embed; None: cut it off."""
        with self._lock:
            if self.dies_after is not None and self._answered >= self.dies_after:
                return None
            self._answered += 1
            if self.failures:
                return _error(*self.failures.pop(0))
            answer = self.answers.pop(0) if self.answers else self.answer
            return self._embed(body, answer)

    def _embed(self, body: Any, answer: Answer) -> tuple[int, Any]:
        if not isinstance(body, dict):
            return _error(400, "missing request body")
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return _error(400, "invalid input type")
        model = str(body.get("model", ""))
        if model not in self.models and f"{model}:latest" not in self.models:
            return _error(404, f"model '{model}' not found")
        for word, error in self.poisoned.items():
            if any(word in text for text in texts):
                return _error(*error)
        if self.longest is not None and any(len(text) > self.longest for text in texts):
            if body.get("truncate") is False:
                return _error(*self.too_long)
            texts = [text[: self.longest] for text in texts]
        if answer == "no json":
            return 200, "<html>a proxy's page</html>"
        if answer == "no vectors":
            return 200, {"model": model}
        self.embedded += texts
        vectors = [self._vector(text, answer) for text in texts]
        if answer == "fewer":
            vectors = vectors[:-1]
        return 200, {"model": model, "embeddings": vectors, "total_duration": 1, "load_duration": 1}

    def _vector(self, text: str, answer: Answer) -> list[float]:
        answer = next((wrong for word, wrong in self.spoiled.items() if word in text), answer)
        vector = hashed_vector(text, self.dimensions)
        if answer == "short":
            return vector[: self.dimensions // 2]
        if answer == "zeros":
            return [0.0] * self.dimensions
        if answer == "nan":
            return [math.nan, *vector[1:]]
        return vector

    def tags(self) -> dict[str, Any]:
        """The models that are there, as `ollama list` shows them."""
        details = {"format": "gguf", "family": "nomic-bert", "parameter_size": "137M", "quantization_level": "F16"}
        common = {"modified_at": "2024-11-04T14:56:49.277302595-07:00", "size": 274302450, "details": details}
        return {"models": [{"name": name, "model": name, "digest": "0a109f422b47", **common} for name in self.models]}


def _error(status: int, message: str) -> tuple[int, Any]:
    return status, {"error": message}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, ollama: OllamaServer) -> None:
        self.ollama = ollama
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    @property
    def _ollama(self) -> OllamaServer:
        assert isinstance(self.server, _Server)
        return self.server.ollama

    def do_GET(self) -> None:  # the base class wants this name
        self._ollama.received.append(Received("GET", self.path))
        if self.path == "/api/tags":
            self._send(200, self._ollama.tags())
        elif self.path == "/api/version":
            self._send(200, {"version": "0.13.0"})
        elif self.path == "/":
            self._send(200, "Ollama is running")
        else:
            self._send(404, "404 page not found")

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        self._ollama.received.append(Received("POST", self.path, body))
        if self.path != "/api/embed":
            self._send(404, "404 page not found")
            return
        answer = self._ollama.embed(body)
        if answer is None:
            self._die()
        else:
            self._send(*answer)

    def _send(self, status: int, content: Any) -> None:
        text = isinstance(content, str)
        payload = (content if text else json.dumps(content)).encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if text else "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def _die(self) -> None:
        """Stop listening, then cut this connection off in the middle of an answer."""
        self.server.shutdown()
        self.server.server_close()
        self.wfile.write(b'HTTP/1.0 200 OK\r\nContent-Length: 99999\r\n\r\n{"model": "nomic')
        self.wfile.flush()
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it so
        """Be quiet."""
