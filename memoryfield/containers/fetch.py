"""Archives from the web: fetched into the user's cache, whole or not at all, and kept there by their sha256.

Only https is spoken, and http to this machine itself; a redirect leads nowhere else. What has come in
of an archive when a connection breaks is kept, and the rest asked for, in the same run and in a
later one; If-Range makes sure that it is the rest of the same file, as far as a server can be believed.
What an archive is worth is not decided here, but by its sha256 and by whoever opens it.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from ..errors import FetchError, HashMismatchError, RefusedError
from ..names import ARCHIVE_SUFFIX
from .base import DISK_FULL, say_where
from .directory import DirectoryContainer
from .folders import CACHE_VARIABLE, cache_folder

if TYPE_CHECKING:
    import httpx

FOLDER = "fetched"
CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 20.0
"""Seconds to wait for the next bytes."""
WINDOW = 30.0
MIN_WINDOW_BYTES = 30 << 10
"""In so many seconds so much has to come in: a server that gives a byte now and then would take years."""
ATTEMPTS = 5
FIRST_WAIT = 0.5
MAX_REDIRECTS = 5
MAX_PART_AGE = 7 * 86_400
"""Seconds for which the beginning of an archive is kept."""
MAX_UNUSED = 90 * 86_400
"""Seconds after which an archive that nobody used goes: which projects pin it, nobody knows."""
TOUCH_AFTER = 86_400
"""Seconds within which a use is not noted again."""

Progress = Callable[[int, int], None]
"""Called with the bytes that are there, and those that there will be (0 where that is not known)."""


class Fetched(NamedTuple):
    """An archive in the cache, its sha256, and whether it was not there before."""

    path: Path
    sha256: str
    is_new: bool


class _BrokenError(Exception):
    """The transfer ended too early; another attempt may get further."""


class _NoConnectionError(_BrokenError):
    """There was none to begin with."""


def kept(sha256: str) -> Path:
    """Where the archive of this sha256 lies once it is fetched.

    Raises:
        FetchError: there is no cache.
    """
    return _folder() / (sha256 + ARCHIVE_SUFFIX)


def used(sha256: str) -> Path:
    """Where the archive of this sha256 lies once it is fetched. That it is used now is noted: the file's time.

    Raises:
        FetchError: there is no cache.
    """
    path = kept(sha256)
    with suppress(OSError):
        if abs(time.time() - path.stat().st_mtime) > TOUCH_AFTER:
            os.utime(path)
    return path


def forget(sha256: str) -> None:
    """Remove an archive from the cache: one that was just fetched for the first time, and is not accepted."""
    with suppress(FetchError, OSError):
        kept(sha256).unlink()


def fetch(url: str, most: int, *, expected: str = "", progress: Progress | None = None) -> Fetched:
    """Fetch an archive, or find it in the cache where its sha256 is known.

    Args:
        most: bytes; a larger file is refused.
        expected: the sha256 that it must have; if it has another, nothing is left in the cache.

    Raises:
        FetchError: it cannot be had, or is no zip; or there is no cache.
        RefusedError: the URL, or one that it redirects to, is neither https nor this machine's; it is too large.
        HashMismatchError: it is not the expected one.
    """
    folder = _folder()
    with DirectoryContainer(folder).lock():
        if expected and sha256_of(kept(expected)) == expected:  # another process may just have fetched it
            return Fetched(kept(expected), expected, False)
        part = _Part(folder, url)
        part.sweep()
        was_begun = part.size() > 0
        found = _fetch(url, part, most, progress)
        if expected and found != expected and was_begun:  # begun when another file lay there, perhaps
            part.drop()
            found = _fetch(url, part, most, progress)
        if expected and found != expected:
            part.drop()
            raise HashMismatchError(
                f"the archive is not the one expected: its sha256 should be {expected}, and is {found}",
                expected=expected,
                found=found,
            )
        target = kept(found)
        is_new = sha256_of(target) != found
        part.become(target)
        return Fetched(target, found, is_new)


def sha256_of(path: Path) -> str:
    """A file's sha256, in hexadecimal digits; nothing if it is not there."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return ""


def _folder() -> Path:
    folder = cache_folder(FOLDER)
    if folder is None:
        raise FetchError(
            "an archive from a URL needs a cache, and there is none that only you can write",
            hint=f"Is {CACHE_VARIABLE} set to nothing? Let it name a folder, or fetch the archive and add the file.",
        )
    return folder


class _Part:
    """What there is of an archive that is being fetched, and by what its server knows it again."""

    def __init__(self, folder: Path, url: str) -> None:
        stem = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self.path = folder / f".{stem}.part"
        self._tag = folder / f".{stem}.tag"

    def size(self) -> int:
        """How many bytes there are."""
        try:
            return self.path.lstat().st_size
        except FileNotFoundError:
            return 0

    def tag(self) -> str:
        """The server's word for the version that this is part of, if it gave one that can be relied on."""
        try:
            return self._tag.read_text("ascii")
        except (OSError, ValueError):
            return ""

    def begin(self, tag: str) -> None:
        """Begin anew."""
        self.drop()
        handle = os.open(self._tag, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(tag)

    @contextmanager
    def appending(self) -> Iterator[IO[bytes]]:
        """The file, to be written on. A link in its place is not followed."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(self.path, flags, 0o600), "ab") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def become(self, target: Path) -> None:
        """Take the place of the whole archive."""
        self.path.replace(target)
        self.drop()

    def drop(self) -> None:
        """Remove it."""
        for path in (self.path, self._tag):
            with suppress(OSError):
                path.unlink()

    def sweep(self) -> None:
        """Remove what was begun long ago, of whatever archive, and the archives that nobody used for longer."""
        now = time.time()
        ages = {".part": MAX_PART_AGE, ".tag": MAX_PART_AGE, Path(ARCHIVE_SUFFIX).suffix: MAX_UNUSED}
        for path in self.path.parent.iterdir():
            with suppress(OSError):  # also where Windows has it open
                if path.suffix in ages and now - path.lstat().st_mtime > ages[path.suffix]:
                    path.unlink()


def _fetch(url: str, part: _Part, most: int, progress: Progress | None) -> str:
    """Fetch what is missing; the sha256 of the whole."""
    import httpx

    try:
        address = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise FetchError(f"{url!r} is no URL: {_told(error)}") from None
    timeout = httpx.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT)
    headers = {"Accept-Encoding": "identity", "User-Agent": "memoryfield"}
    mounts = {"http://": None}  # this machine itself is not asked by way of a proxy
    try:
        with httpx.Client(timeout=timeout, headers=headers, mounts=mounts) as client:
            _attempts(client, address, part, most, progress)
    except OSError as error:
        if error.errno in DISK_FULL:
            part.drop()
        say_where(error, part.path.parent)
        raise
    return sha256_of(part.path)


def _attempts(client: httpx.Client, url: httpx.URL, part: _Part, most: int, progress: Progress | None) -> None:
    """Ask until all is there; after a break, for the rest."""
    for attempt in range(ATTEMPTS):
        try:
            _transfer(client, url, part, most, progress)
            return
        except _NoConnectionError as error:
            if not attempt:  # nothing has broken: there is no server
                raise FetchError(str(error), hint="Is the URL right?") from None
            told = str(error)
        except _BrokenError as error:
            told = str(error)
        if attempt + 1 < ATTEMPTS:
            time.sleep(FIRST_WAIT * 2**attempt)
    raise FetchError(
        f"{_server(url)} failed {ATTEMPTS} times: {told}",
        hint=f"Try again: the {part.size():,} bytes that came in are kept." if part.size() else "Try again later.",
    )


def _transfer(client: httpx.Client, url: httpx.URL, part: _Part, most: int, progress: Progress | None) -> None:
    """One request, and all that it brings.

    Raises:
        _BrokenError: that was not all.
        FetchError: another attempt would end alike.
    """
    import httpx

    there, tag = part.size(), part.tag()
    rest = {"Range": f"bytes={there}-", "If-Range": tag} if there and tag else {}
    try:
        response = _ask(client, url, rest)
        try:
            total = _begin(response, part, there if rest else 0, most)
            _receive(response, part, most, total, progress)
        finally:
            response.close()
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise _unreachable(error) from None
    except httpx.HTTPError as error:
        raise _BrokenError(_told(error) or type(error).__name__) from None
    if total and part.size() < total:
        raise _BrokenError("it gave less than it was asked for")
    if not part.size():
        part.drop()
        raise FetchError(f"{_server(url)} answered with an empty file")


def _ask(client: httpx.Client, url: httpx.URL, headers: dict[str, str]) -> httpx.Response:
    """The answer to a request, its body unread; redirects are followed where they may lead."""
    import httpx

    for _ in range(MAX_REDIRECTS + 1):
        if fault := _fault(url):
            raise RefusedError(f"{_server(url)} {fault}", hint="Archives are fetched by https.")
        no_url = FetchError(f"{_server(url)} redirects to something that is no URL on the web")
        try:
            response = client.send(client.build_request("GET", url, headers=headers), stream=True)
            if not response.has_redirect_location:
                return response
            response.close()
            target = url.join(response.headers["location"])
        except httpx.InvalidURL:
            raise no_url from None
        except httpx.RemoteProtocolError as error:
            if "location header" not in str(error):
                raise
            raise no_url from None
        if fault := _fault(target):
            raise RefusedError(f"{_server(url)} redirects to {_server(target)}, which {fault}")
        if url.scheme == "https" and target.scheme != "https":
            raise RefusedError(f"{_server(url)} redirects to {_server(target)}, which is not https")
        url = target
    raise FetchError(f"{_server(url)} redirects more than {MAX_REDIRECTS} times")


def _fault(url: httpx.URL) -> str:
    """Why a URL may not be asked, or nothing."""
    if url.scheme not in ("https", "http") or not url.host or (url.port or 0) > 65_535:
        return "is not an address on the web"
    if url.userinfo:
        return "has a user name or password in its URL"
    if url.scheme == "http" and not _is_this_machine(url.host):
        return "would be asked by http, where anybody on the way can change the answer"
    return ""


def _is_this_machine(host: str) -> bool:
    import ipaddress

    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _begin(response: httpx.Response, part: _Part, there: int, most: int) -> int:
    """Look at an answer's head; make room for a whole file, or leave what there is to be continued.

    Returns:
        How many bytes there will be in the end; 0 where that is not known.
    """
    where = _server(response.url)
    if response.status_code in (206, 416) and there:
        first, total = _range(response)
        if first == there and total > there and _same(part.tag(), response):
            return _bounded(total, most, where)
        part.drop()
        raise _BrokenError("it has another file now than the one that was begun")
    if response.status_code in (408, 429) or response.status_code >= 500:
        raise _BrokenError(f"status {response.status_code} {response.reason_phrase}")
    if response.status_code != 200:
        raise FetchError(
            f"{where} answered with status {response.status_code} {response.reason_phrase}",
            hint="Is the URL right?" if response.status_code in (404, 410) else "",
        )
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise FetchError(f"{where} compressed the archive once more, which was not asked for")
    declared = response.headers.get("content-length", "")
    total = _bounded(int(declared), most, where) if re.fullmatch("[0-9]{1,18}", declared) else 0
    part.begin(_tag(response))
    return total


def _range(response: httpx.Response) -> tuple[int, int]:
    """With which byte an answer begins, and how many the file has; -1 and 0 if that is not said."""
    found = re.fullmatch(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18})", response.headers.get("content-range", ""))
    return (int(found[1]), int(found[2])) if found and response.status_code == 206 else (-1, 0)


def _tag(response: httpx.Response) -> str:
    """What If-Range may be given (RFC 9110, 13.1.5): a strong entity tag, else the time of the last change."""
    tag: str = response.headers.get("etag", "")
    if re.fullmatch(r'"[\x21\x23-\x7e]{1,200}"', tag):
        return tag
    changed: str = response.headers.get("last-modified", "")
    return changed if not tag and re.fullmatch(r"[A-Za-z0-9 ,:]{1,40}", changed) else ""


def _same(tag: str, response: httpx.Response) -> bool:
    """Whether an answer is of the version that was begun: if it says which, it must be that."""
    header = "etag" if tag.startswith('"') else "last-modified"
    return bool(response.headers.get(header, tag) == tag)


def _bounded(size: int, most: int, where: str) -> int:
    if size > most:
        raise RefusedError(
            f"the archive at {where} has {size:,} bytes, more than the {most:,} that are allowed",
            hint="If you trust it: --allow total=4G.",
        )
    return size


def _receive(response: httpx.Response, part: _Part, most: int, total: int, progress: Progress | None) -> None:
    """Write a body to the end of what is there."""
    where = _server(response.url)
    size = part.size()
    begun, in_window = time.monotonic(), 0
    try:
        with part.appending() as file:
            for piece in response.iter_raw():
                if size == 0 and not b"PK".startswith(piece[:2]):
                    raise _no_zip(response)
                size += len(piece)
                _bounded(size, most, where)
                file.write(piece)
                if progress:
                    progress(size, total)
                in_window += len(piece)
                if time.monotonic() - begun > WINDOW:
                    if in_window < MIN_WINDOW_BYTES:
                        raise _BrokenError("it sends too slowly")
                    begun, in_window = time.monotonic(), 0
    except (FetchError, RefusedError):
        part.drop()
        raise


def _no_zip(response: httpx.Response) -> FetchError:
    kind = re.sub(r"[^a-z0-9./+-].*", "", response.headers.get("content-type", "").lower())[:60]
    what = "a web page" if "html" in kind else f"something of type {kind}" if kind else "something else"
    return FetchError(
        f"{_server(response.url)} answered with {what}, and not with a zip", hint="Is it the URL of the file itself?"
    )


def _unreachable(error: httpx.RequestError) -> FetchError | _BrokenError:
    """What to say where no connection came about, by what lies beneath httpx's error."""
    import socket
    import ssl

    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    where = _server(error.request.url)  # not always the first one: it may have been redirected
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return FetchError(
                f"no safe connection to {where}: {_told(cause)}",
                hint="SSL_CERT_FILE can name the certificates that are to be trusted.",
            )
        if isinstance(cause, socket.gaierror):
            return FetchError(f"there is no server {where}: {_told(cause)}", hint="Is the URL right?")
    return _NoConnectionError(f"no server answers at {where} ({_told(error) or 'not in time'})")


def _server(url: httpx.URL) -> str:
    """A server for people: a path or a query may hold what gives access."""
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"


def _told(error: BaseException) -> str:
    """What an error says, on one line and not too long."""
    return " ".join(str(error).split())[:200]
