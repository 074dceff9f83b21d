"""A server that embeds everything into one constant vector, in next to no time, for measuring whoever asks.

    python -m tests.doubles.constant_server        # prints its port, and serves until it is ended

It speaks as much of Ollama's and OpenAI's protocols as embedding takes, and runs in a process of
its own, so that it does not share an interpreter with what is measured.
"""

from __future__ import annotations

import json
import math
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

DIMENSIONS = 768
_VALUES = [place * 37 % 101 - 50 for place in range(DIMENSIONS)]
VECTOR = json.dumps([round(value / math.hypot(*_VALUES), 9) for value in _VALUES])
"""Of unit length, to as many digits as the real servers give."""
OLLAMA_MODEL, OPENAI_MODEL = "constant", "constant-openai"
LISTS = {
    b"/api/tags": json.dumps({"models": [{"name": OLLAMA_MODEL, "model": OLLAMA_MODEL}]}).encode(),
    b"/v1/models": json.dumps({"object": "list", "data": [{"id": OPENAI_MODEL, "object": "model"}]}).encode(),
}


@cache
def _ollama(count: int) -> bytes:
    return f'{{"model": "{OLLAMA_MODEL}", "embeddings": [{", ".join([VECTOR] * count)}]}}'.encode()


@cache
def _openai(count: int) -> bytes:
    items = ", ".join(f'{{"object": "embedding", "index": {place}, "embedding": {VECTOR}}}' for place in range(count))
    return f'{{"object": "list", "model": "{OPENAI_MODEL}", "data": [{items}]}}'.encode()


def _serve(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with connection, connection.makefile("rb") as stream:
        while line := stream.readline():
            path = line.split()[1]
            length = 0
            while (header := stream.readline()) != b"\r\n":
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            body = stream.read(length)
            payload = LISTS.get(path) or _answer(path, body)
            head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(payload)}\r\n\r\n"
            connection.sendall(head.encode() + payload)


def _answer(path: bytes, body: bytes) -> bytes:
    texts = json.loads(body)["input"]
    return (_ollama if path == b"/api/embed" else _openai)(1 if isinstance(texts, str) else len(texts))


@contextmanager
def constant_server() -> Iterator[str]:
    """The server in a process of its own; its address."""
    command = [sys.executable, "-m", "tests.doubles.constant_server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


def main() -> None:
    """Listen, and tell where."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            connection, _ = server.accept()
            threading.Thread(target=_serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
