"""A web server with one file, over a real socket: with ranges, redirects, TLS, and every way to fail."""

from __future__ import annotations

import hashlib
import re
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

PIECE = 4096


@dataclass
class FileServer:
    """A server of `content`; it listens as long as the `with` block lasts."""

    content: bytes = b""
    tag: str | None = None
    """The entity tag; None: made of the content; empty: none is given."""
    modified: str = ""
    ranges: bool = True
    break_after: list[int] = field(default_factory=list)
    """For each answer in turn: after so many bytes of the body the connection breaks."""
    before: Callable[[FileServer, int], None] = lambda server, number: None
    """Called with each request's number, from 0, before it is answered."""
    status: list[int] = field(default_factory=list)
    """For each answer in turn: a failure in place of the file."""
    redirect: Callable[[str], str] = lambda path: ""
    """Where a path leads instead."""
    headers: dict[str, str] = field(default_factory=dict)
    declared: int | None = None
    """What Content-Length says instead of the truth."""
    endless: bool = False
    drip: float = 0
    """Seconds between two bytes."""
    ignore_conditions: bool = False
    """Whether a range is answered whatever If-Range says."""
    certificate: tuple[Path, Path] | None = None
    seen: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    sent: int = 0

    def __enter__(self) -> Self:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
                    outer._answer(self)

            def log_message(self, *_: object) -> None: ...

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None: ...

        self._server = Server(("127.0.0.1", 0), Handler)
        if self.certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificate)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def base(self) -> str:
        return f"{'https' if self.certificate else 'http'}://localhost:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.base}/team.memoryfield.zip"

    def _tag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:16]}"' if self.tag is None else self.tag

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        number = len(self.seen)
        self.seen.append({name.lower(): value for name, value in handler.headers.items()})
        self.paths.append(handler.path)
        self.before(self, number)
        if target := self.redirect(handler.path):
            handler.send_response(302)
            handler.send_header("Location", target)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if number < len(self.status) and self.status[number] != 200:
            handler.send_response(self.status[number])
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        self._send(handler, number)

    def _send(self, handler: BaseHTTPRequestHandler, number: int) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        condition = handler.headers.get("If-Range", "")
        matches = self.ignore_conditions or condition in ("", self._tag(), self.modified)
        start = int(asked[1]) if asked and self.ranges and matches else 0
        if asked and self.ranges and matches and start >= len(self.content):
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(self.content)}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        body = self.content[start:]
        handler.send_response(206 if start else 200)
        if start:
            handler.send_header("Content-Range", f"bytes {start}-{len(self.content) - 1}/{len(self.content)}")
        for name, value in (("ETag", self._tag()), ("Last-Modified", self.modified), *self.headers.items()):
            if value:
                handler.send_header(name, value)
        if self.endless:
            handler.send_header("Connection", "close")
        else:
            handler.send_header("Content-Length", str(len(body) if self.declared is None else self.declared))
        handler.end_headers()
        self._pour(handler, body, number)

    def _pour(self, handler: BaseHTTPRequestHandler, body: bytes, number: int) -> None:
        end = self.break_after[number] if number < len(self.break_after) else len(body)
        step = 1 if self.drip else PIECE
        for place in range(0, min(end, len(body)), step):
            piece = body[place : min(place + step, end)]
            handler.wfile.write(piece)
            self.sent += len(piece)
            if self.drip:
                time.sleep(self.drip)
        while self.endless:
            handler.wfile.write(b"\0" * PIECE)
            self.sent += PIECE
        if end < len(body) or self.declared is not None:
            handler.close_connection = True
            with suppress(OSError):
                handler.connection.shutdown(socket.SHUT_RDWR)


def make_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for localhost that vouches for itself, and its key."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        (
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)),
        ),
        check=True,
        capture_output=True,
    )
    return certificate, key
