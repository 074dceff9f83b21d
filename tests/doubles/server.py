"""What the doubles of embedding servers share: a real socket, vectors, and every way to fail.

A double speaks the protocol that its server documents, and by default embeds with the bundled
model, padded or projected to the dimensions that are asked for, so that what is found with it can
be judged. Tests that need speed take `hashed_vectors` instead.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import socket
import struct
import sys
import threading
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, Self

DIMENSIONS = 768

_PREFIX = re.compile(r"search_(?:document|query): ")

Answer = Literal["right", "short", "zeros", "nan", "fewer", "no json", "no vectors", "cut off"]
Flood = Literal["huge", "gzip bomb", "drip"]
"""A body that hardly ends, one that hardly ends once it is unpacked, and one that comes a byte at a time."""
FLOOD = 256 << 20
"""Bytes of a flood, in the end; many more than anybody should read."""
DRIP = 0.02
"""Seconds between two bytes of a drip."""
MakeVectors = Callable[[Sequence[str], int], list[list[float]]]


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


def hashed_vectors(texts: Sequence[str], dimensions: int) -> list[list[float]]:
    """Near for texts with the same words; nothing else about them means anything."""
    return [hashed_vector(text, dimensions) for text in texts]


_model_lock = threading.Lock()


@cache
def _model() -> Any:
    from memoryfield.embedders.minilm import MiniLM

    return MiniLM()


def bundled_vectors(texts: Sequence[str], dimensions: int) -> list[list[float]]:
    """The bundled model's vectors, without the prefixes of others, in so many dimensions."""
    with _model_lock:
        made = _model().embed_pages([_PREFIX.sub("", text, count=1) for text in texts])
    return [_resized(list(struct.unpack(f"<{len(vector) // 4}f", vector)), dimensions) for vector in made]


def _resized(values: list[float], dimensions: int) -> list[float]:
    """Zeros at the end keep every cosine; a random projection keeps them nearly."""
    if dimensions >= len(values):
        return values + [0.0] * (dimensions - len(values))
    return [
        math.sumprod(row, values) if hasattr(math, "sumprod") else sum(map(float.__mul__, row, values))
        for row in _projection(len(values), dimensions)
    ]


@cache
def _projection(wide: int, narrow: int) -> list[list[float]]:
    rng = random.Random(7)
    return [[rng.gauss(0, 1 / math.sqrt(narrow)) for _ in range(wide)] for _ in range(narrow)]


@dataclass
class Received:
    """A request as it came in."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Failure:
    """An answer in place of a right one."""

    status: int
    message: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass
class EmbeddingServer(ABC):
    """A server; it listens as long as the `with` block lasts."""

    models: list[str] = field(default_factory=list)
    dimensions: int = DIMENSIONS
    make_vectors: MakeVectors = bundled_vectors

    failures: list[tuple[int, str] | Failure] = field(default_factory=list)
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
    too_long: tuple[int, str] = (400, "the input length exceeds the context length")
    most: int | None = None
    """The most texts that one request may bring."""
    dies_after: int | None = None
    """After so many answers to requests to embed, the next is cut off, and nothing listens any more."""
    slow: float = 0
    """Seconds before any answer."""
    flood: Flood | None = None
    """What comes in place of any answer at a path that begins like `flooded`."""
    flooded: str = "/"
    poured: int = 0
    """Bytes of floods that could be sent before whoever asked hung up."""

    received: list[Received] = field(default_factory=list)
    embedded: list[str] = field(default_factory=list)
    """Every text that a vector was given for, in order."""

    embed_path = ""
    """Where requests to embed go."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._answered = 0
        self.connections = 0
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def requests(self) -> list[Received]:
        """The requests to embed."""
        return [request for request in self.received if request.path == self.embed_path]

    def __enter__(self) -> Self:
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

    # the protocol

    @abstractmethod
    def error(self, status: int, message: str) -> Any:
        """The body of an answer with an error."""

    @abstractmethod
    def answered(self, model: str, vectors: list[list[float]], texts: list[str]) -> Any:
        """The body of an answer with vectors."""

    @abstractmethod
    def other(self, request: Received) -> tuple[int, Any]:
        """Status and body for a request that is not one to embed."""

    def has(self, model: str) -> bool:
        """Whether the server can embed with a model of this name."""
        return model in self.models

    def refused(self, request: Received) -> tuple[int, Any] | None:
        """Status and body for whoever may not ask."""
        return None

    # what comes of a request to embed

    def respond(self, request: Received) -> tuple[int, Any, Mapping[str, str]] | None:
        """Status, body and headers; None: cut it off."""
        self.received.append(request)
        if self.slow:
            time.sleep(self.slow)
        if refused := self.refused(request):
            return *refused, {}
        if request.path != self.embed_path or request.method != "POST":
            return *self.other(request), {}
        with self._lock:
            if self.dies_after is not None and self._answered >= self.dies_after:
                return None
            self._answered += 1
            if self.failures:
                failure = self.failures.pop(0)
                failure = failure if isinstance(failure, Failure) else Failure(*failure)
                return failure.status, self.error(failure.status, failure.message), failure.headers
            answer = self.answers.pop(0) if self.answers else self.answer
            return None if answer == "cut off" else (*self._embed(request.body, answer), {})

    def _embed(self, body: Any, answer: Answer) -> tuple[int, Any]:
        if not isinstance(body, dict):
            return 400, self.error(400, "missing request body")
        given = body.get("input")
        texts = [given] if isinstance(given, str) else given or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return 400, self.error(400, "invalid input type")
        model = str(body.get("model", ""))
        if not self.has(model):
            return 404, self.error(404, self.unknown(model))
        if self.most is not None and len(texts) > self.most:
            return 422, self.error(422, f"batch size {len(texts)} > maximum allowed batch size {self.most}")
        for word, error in self.poisoned.items():
            if any(word in text for text in texts):
                return error[0], self.error(*error)
        if self.longest is not None and any(len(text) > self.longest for text in texts):
            if not body.get("truncate", False):
                return self.too_long[0], self.error(*self.too_long)
            texts = [text[: self.longest] for text in texts]
        if answer == "no json":
            return 200, "<html>a proxy's page</html>"
        if answer == "no vectors":
            return 200, {"model": model}
        self.embedded += texts
        vectors = [self._spoil(*pair, answer) for pair in zip(texts, self._made(texts), strict=True)]
        return 200, self.answered(model, vectors[:-1] if answer == "fewer" else vectors, texts)

    def unknown(self, model: str) -> str:
        """What is said of a model that is not there."""
        return f"model '{model}' not found"

    def _made(self, texts: list[str]) -> list[list[float]]:
        return self.make_vectors(texts, self.dimensions)

    def _spoil(self, text: str, vector: list[float], answer: Answer) -> list[float]:
        answer = next((wrong for word, wrong in self.spoiled.items() if word in text), answer)
        if answer == "short":
            return vector[: self.dimensions // 2]
        if answer == "zeros":
            return [0.0] * self.dimensions
        if answer == "nan":
            return [math.nan, *vector[1:]]
        return vector


def _pieces(flood: Flood) -> Iterator[bytes]:
    """The body of a flood: blanks, which JSON may begin with."""
    blanks = b" " * (1 << 16)
    if flood == "drip":
        for _ in range(int(5 / DRIP)):
            yield b" "
            time.sleep(DRIP)
    elif flood == "gzip bomb":
        packer = zlib.compressobj(wbits=31)
        yield from filter(None, (packer.compress(blanks) for _ in range(FLOOD // len(blanks))))
        yield packer.flush()
    else:
        for _ in range(FLOOD // len(blanks)):
            yield blanks


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, double: EmbeddingServer) -> None:
        self.double = double
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no fault; all else is told, as the base class does."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections are kept
    wbufsize = -1  # an answer leaves in one piece
    disable_nagle_algorithm = True

    @property
    def _double(self) -> EmbeddingServer:
        assert isinstance(self.server, _Server)
        return self.server.double

    def setup(self) -> None:
        super().setup()
        self._double.connections += 1

    def handle(self) -> None:
        with suppress(ConnectionError):  # whoever asked hung up between two requests, with an answer half read
            super().handle()

    def do_GET(self) -> None:  # the base class wants this name
        self._respond(None)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        self._respond(body)

    def _respond(self, body: Any) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self._double.respond(Received(self.command, self.path, body, headers))
        flood = self._double.flood if self.path.startswith(self._double.flooded) else None
        if flood:
            with suppress(ConnectionError):  # whoever asked has had enough
                self._pour(flood)
        elif answer is None:
            self._cut_off()
        else:
            with suppress(ConnectionError):  # whoever asked did not wait
                self._send(*answer)

    def _send(self, status: int, content: Any, headers: Mapping[str, str]) -> None:
        text = isinstance(content, str)
        payload = (content if text else json.dumps(content)).encode("utf-8")
        self.send_response(status)
        self.send_header("Content-Type", "text/plain" if text else "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(payload)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(payload)
        self.wfile.flush()

    def _pour(self, flood: Flood) -> None:
        """A body of a length that is not told before."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if flood == "gzip bomb":
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        for piece in _pieces(flood):
            self.wfile.write(piece)
            self.wfile.flush()
            self._double.poured += len(piece)

    def _cut_off(self) -> None:
        """End in the middle of an answer; if the server is to die, nothing listens any more before that."""
        if self._double.dies_after is not None:
            self.server.shutdown()
            self.server.server_close()
        self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n{"model": "nomic')
        self.wfile.flush()
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it so
        """Be quiet."""
