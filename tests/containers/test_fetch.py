"""Archives from the web: what is fetched, what is resumed, what is refused, and what is left in the cache."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import socket
import stat
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryfield.containers import fetch as fetching
from memoryfield.containers.fetch import Fetched, fetch, kept
from memoryfield.errors import FetchError, HashMismatchError, MemoryfieldError, RefusedError

from ..doubles.file_server import FileServer, make_certificate
from ..support import full_disk

MOST = 1 << 20
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="as POSIX has it")


def archive(path: Path, seed: int = 1, size: int = 50_000) -> bytes:
    """The bytes of a zip that do not shrink."""
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("woks.md", random.Random(seed).randbytes(size))
    return path.read_bytes()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "FIRST_WAIT", 0.001)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def old(tmp_path: Path) -> bytes:
    return archive(tmp_path / "old.zip", 1)


@pytest.fixture
def new(tmp_path: Path) -> bytes:
    return archive(tmp_path / "new.zip", 2)


@pytest.fixture
def server(old: bytes) -> Iterator[FileServer]:
    with FileServer(old) as running:
        yield running


@pytest.fixture
def cache(cache_folder: Path) -> Path:
    return cache_folder.parent / "fetched"


def left(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


def test_an_archive_is_kept_by_its_sha256(server: FileServer, old: bytes, cache: Path) -> None:
    assert fetch(server.url, MOST) == Fetched(cache / f"{digest(old)}.memoryfield.zip", digest(old), True)
    assert kept(digest(old)).read_bytes() == old
    assert left(cache) == [f"{digest(old)}.memoryfield.zip"]
    assert not fetch(server.url, MOST).is_new
    assert len(server.seen) == 2


def test_what_is_known_and_there_is_not_fetched_again(server: FileServer, old: bytes) -> None:
    fetch(server.url, MOST)
    assert not fetch(server.url, MOST, expected=digest(old)).is_new
    assert len(server.seen) == 1


def test_a_damaged_copy_is_fetched_again(server: FileServer, old: bytes) -> None:
    fetch(server.url, MOST)
    kept(digest(old)).write_bytes(b"PK damaged")
    assert fetch(server.url, MOST, expected=digest(old)).is_new
    assert kept(digest(old)).read_bytes() == old


@POSIX
def test_the_cache_is_the_users_alone(server: FileServer, cache: Path) -> None:
    before = os.umask(0)
    try:
        path = fetch(server.url, MOST).path
    finally:
        os.umask(before)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_without_a_cache_there_is_nothing_to_fetch_into(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYFIELD_CACHE", "")
    with pytest.raises(FetchError, match=r"needs a cache.*MEMORYFIELD_CACHE"):
        fetch(server.url, MOST)
    assert not server.seen


def test_another_archive_than_the_expected_leaves_nothing(server: FileServer, old: bytes, cache: Path) -> None:
    with pytest.raises(HashMismatchError) as caught:
        fetch(server.url, MOST, expected="0" * 64)
    assert (caught.value.expected, caught.value.found) == ("0" * 64, digest(old))
    assert left(cache) == []


# Resuming


@pytest.mark.parametrize("known_by", ["tag", "time"])
def test_a_broken_connection_is_taken_up_again(server: FileServer, old: bytes, known_by: str) -> None:
    if known_by == "time":
        server.tag, server.modified = "", "Mon, 30 Nov 2026 10:00:00 GMT"
    server.break_after = [20_000, 10_000]
    assert fetch(server.url, MOST).sha256 == digest(old)
    assert [request.get("range") for request in server.seen] == [None, "bytes=20000-", "bytes=30000-"]
    version = server.modified or f'"{digest(old)[:16]}"'
    assert [request.get("if-range") for request in server.seen] == [None, version, version]
    assert server.sent == len(old)


def test_a_later_run_takes_up_what_an_earlier_one_left(
    server: FileServer, old: bytes, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    server.break_after = [20_000]
    with pytest.raises(FetchError, match="20,000 bytes that came in are kept"):
        fetch(server.url, MOST)
    assert sorted(name.rpartition(".")[2] for name in left(cache)) == ["part", "tag"]
    assert fetch(server.url, MOST).sha256 == digest(old)
    assert server.seen[1]["range"] == "bytes=20000-"
    assert left(cache) == [f"{digest(old)}.memoryfield.zip"]


def test_a_file_that_changed_meanwhile_is_fetched_from_its_beginning(
    server: FileServer, old: bytes, new: bytes
) -> None:
    def change(server: FileServer, number: int) -> None:
        server.content = old if number == 0 else new

    server.before, server.break_after = change, [20_000]
    assert fetch(server.url, MOST).sha256 == digest(new)


def test_a_server_that_goes_on_with_another_file_is_noticed_by_its_tag(
    server: FileServer, old: bytes, new: bytes
) -> None:
    def change(server: FileServer, number: int) -> None:
        server.content = old if number == 0 else new

    server.before, server.break_after, server.ignore_conditions = change, [20_000], True
    assert fetch(server.url, MOST).sha256 == digest(new)
    assert "range" not in server.seen[2]


def test_one_that_lies_about_the_tag_too_is_noticed_by_the_sha256_and_asked_once_more(
    server: FileServer, old: bytes, new: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    server.tag, server.break_after = '"same"', [20_000]
    with pytest.raises(FetchError):
        fetch(server.url, MOST)
    server.content = new
    assert fetch(server.url, MOST, expected=digest(new)).sha256 == digest(new)
    assert [request.get("range") for request in server.seen] == [None, "bytes=20000-", None]


def test_what_was_mixed_of_two_files_is_not_taken_for_the_expected_one(
    server: FileServer, old: bytes, new: bytes, cache: Path
) -> None:
    def change(server: FileServer, number: int) -> None:
        server.content = old if number == 0 else new

    server.before, server.break_after, server.tag = change, [20_000], '"same"'
    with pytest.raises(HashMismatchError):
        fetch(server.url, MOST, expected=digest(old))
    assert left(cache) == []


@pytest.mark.parametrize("kind", ["no ranges", "weak tag", "no tag"])
def test_where_nothing_can_be_resumed_all_is_fetched_again(server: FileServer, old: bytes, kind: str) -> None:
    server.ranges = kind != "no ranges"
    server.tag = {"weak tag": 'W/"1"', "no tag": ""}.get(kind)
    server.break_after = [20_000]
    assert fetch(server.url, MOST).sha256 == digest(old)
    assert ("range" in server.seen[1]) == (kind == "no ranges")


def test_a_server_that_has_less_than_was_begun_is_asked_for_all(server: FileServer, tmp_path: Path, old: bytes) -> None:
    short = archive(tmp_path / "short.zip", 3, 5_000)

    def change(server: FileServer, number: int) -> None:
        server.content = old if number == 0 else short

    server.before, server.break_after, server.tag = change, [20_000], '"same"'
    assert fetch(server.url, MOST).sha256 == digest(short)


def test_a_connection_that_always_breaks_is_given_up(server: FileServer) -> None:
    server.break_after = [100] * 100
    with pytest.raises(FetchError, match=f"failed {fetching.ATTEMPTS} times"):
        fetch(server.url, MOST)
    assert len(server.seen) == fetching.ATTEMPTS


def test_a_server_that_is_busy_is_asked_again(server: FileServer, old: bytes) -> None:
    server.status = [503, 429, 200]
    assert fetch(server.url, MOST).sha256 == digest(old)


def test_what_was_begun_long_ago_goes(server: FileServer, cache: Path) -> None:
    cache.mkdir(mode=0o700)
    (cache / ".0123.part").write_bytes(b"PK")
    (cache / ".4567.part").write_bytes(b"PK")
    os.utime(cache / ".0123.part", (1, 1))
    fetch(server.url, MOST)
    assert ".0123.part" not in left(cache)
    assert ".4567.part" in left(cache)


@POSIX
def test_a_link_in_the_place_of_what_was_begun_is_not_followed(
    server: FileServer, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    server.break_after = [20_000]
    with pytest.raises(FetchError):
        fetch(server.url, MOST)
    (tmp_path / "mine.txt").write_bytes(b"mine")
    (part,) = cache.glob(".*.part")
    part.unlink()
    part.symlink_to(tmp_path / "mine.txt")
    with pytest.raises(OSError, match=r"symbolic links|loop"):
        fetch(server.url, MOST)
    assert (tmp_path / "mine.txt").read_bytes() == b"mine"


def test_two_at_once_fetch_it_once(server: FileServer, old: bytes) -> None:
    done: list[Fetched] = []
    server.before = lambda server, number: time.sleep(0.2)
    threads = [
        threading.Thread(target=lambda: done.append(fetch(server.url, MOST, expected=digest(old)))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.sha256 for one in done] == [digest(old)] * 3
    assert len(server.seen) == 1


# What a server may not do


def test_more_than_is_allowed_is_refused_before_it_comes(server: FileServer, cache: Path) -> None:
    with pytest.raises(RefusedError, match=r"50,\d\d\d bytes, more than the 10,000.*--allow"):
        fetch(server.url, 10_000)
    assert left(cache) == []


def test_a_body_without_an_end_is_cut_off(server: FileServer, cache: Path) -> None:
    server.endless = True
    with pytest.raises(RefusedError, match="more than"):
        fetch(server.url, MOST)
    assert left(cache) == []


def test_a_content_length_that_promises_more_is_an_end_too_early(
    server: FileServer, old: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 2)
    server.declared, server.ranges = len(old) + 1000, False
    with pytest.raises(FetchError, match="failed 2 times"):
        fetch(server.url, MOST)


def test_a_content_length_that_promises_less_is_believed(server: FileServer, old: bytes) -> None:
    server.declared = 1000
    assert fetch(server.url, MOST).sha256 == digest(old[:1000])


def test_a_server_that_hardly_sends_is_given_up(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "WINDOW", 0.2)
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    server.drip = 0.01
    with pytest.raises(FetchError, match="too slowly"):
        fetch(server.url, MOST)


def test_a_server_that_says_nothing_is_given_up(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "READ_TIMEOUT", 0.1)
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    server.before = lambda server, number: time.sleep(1)
    with pytest.raises(FetchError, match="failed"):
        fetch(server.url, MOST)


@pytest.mark.parametrize(
    ("content", "headers", "told"),
    [
        (b"<!doctype html><p>Log in", {"Content-Type": "text/html; charset=utf-8"}, "a web page, and not with a zip"),
        (b"\x1f\x8b..", {"Content-Type": "application/x-tar\x1b[31m"}, "something of type application/x-tar, and"),
        (b"x", {}, "something else, and not with a zip"),
        (b"", {}, "an empty file"),
        (b"PK\x03\x04", {"Content-Encoding": "gzip"}, "compressed the archive once more"),
    ],
    ids=["web page", "tar", "one byte", "empty", "gzip"],
)
def test_what_is_no_zip_is_told_and_not_kept(
    server: FileServer, cache: Path, content: bytes, headers: dict[str, str], told: str
) -> None:
    server.content, server.headers = content, headers
    with pytest.raises(FetchError, match=told):
        fetch(server.url, MOST)
    assert left(cache) == []


@pytest.mark.parametrize("status", [404, 410, 403, 304, 204])
def test_other_answers_are_told(server: FileServer, status: int) -> None:
    server.status = [status]
    with pytest.raises(FetchError, match=f"status {status}"):
        fetch(server.url, MOST)
    assert len(server.seen) == 1


def test_no_server_is_told_at_once(server: FileServer) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(FetchError, match=rf"no server answers at http://127.0.0.1:{port} "):
        fetch(f"http://127.0.0.1:{port}/a.zip", MOST)


def test_a_name_that_nobody_has_is_told() -> None:
    with pytest.raises(FetchError, match=r"there is no server https://nobody\.invalid"):
        fetch("https://nobody.invalid/a.zip?token=secret", MOST)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits of the disk are set for a process")
def test_a_full_disk_leaves_nothing(server: FileServer, cache: Path) -> None:
    with full_disk(10_000), pytest.raises(OSError, match=r"too large|space"):
        fetch(server.url, MOST)
    assert left(cache) == []


# Where it may lead


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/a.zip",
        "http://169.254.169.254/latest/meta-data",
        "http://127.0.0.1.example.com/a.zip",
        "http://[::ffff:127.0.0.1]/a.zip",
        "http://127.1/a.zip",
        "http://0/a.zip",
        "ftp://localhost/a.zip",
        "file:///etc/passwd",
        "https:///a.zip",
        "http://user:secret@localhost/a.zip",
        "https://user@example.com/a.zip",
    ],
)
def test_other_addresses_are_refused_and_no_password_told(url: str) -> None:
    with pytest.raises(RefusedError) as caught:
        fetch(url, MOST)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["http://exa\x00mple", "http://[bad", "https://localhost:99999999/"])
def test_what_is_no_url_is_told(url: str) -> None:
    with pytest.raises(MemoryfieldError):
        fetch(url, MOST)


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://example.com/a.zip",
        "//example.com/a.zip",
        "file:///etc/passwd",
        "ftp://localhost/a.zip",
        "http://localhost:99999999/",
        "https:///a.zip",
        "https://user:secret@example.com/a.zip",
    ],
)
def test_a_redirect_to_another_kind_of_address_is_refused(server: FileServer, cache: Path, target: str) -> None:
    server.redirect = lambda path: target
    with pytest.raises(RefusedError, match="redirects to") as caught:
        fetch(server.url, MOST)
    assert "secret" not in str(caught.value)
    assert len(server.seen) == 1
    assert left(cache) == []


@pytest.mark.parametrize("target", ["javascript:1", "https://exa\x7fmple/"])
def test_a_redirect_that_is_no_url_is_told(server: FileServer, target: str) -> None:
    server.redirect = lambda path: target
    with pytest.raises(FetchError, match="no URL"):
        fetch(server.url, MOST)


def test_a_redirect_to_where_no_server_is_blames_that_place(server: FileServer) -> None:
    server.redirect = lambda path: "http://localhost:9/"
    with pytest.raises(FetchError, match="no server answers at http://localhost:9 "):
        fetch(server.url, MOST)


def test_redirects_on_the_same_machine_are_followed_and_resumed(server: FileServer, old: bytes) -> None:
    server.redirect = lambda path: "/b/c.zip" if path.startswith("/team") else ""
    server.break_after = [0, 20_000]
    assert fetch(server.url, MOST).sha256 == digest(old)
    assert server.seen[3]["range"] == "bytes=20000-"


def test_redirects_in_a_circle_end(server: FileServer) -> None:
    server.redirect = lambda path: path + "x"
    with pytest.raises(FetchError, match="redirects more than 5 times"):
        fetch(server.url, MOST)
    assert len(server.seen) == fetching.MAX_REDIRECTS + 1


def test_a_proxy_is_not_asked_for_this_machine(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with FileServer(b"PK of the proxy") as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base)
        monkeypatch.setenv("ALL_PROXY", proxy.base)
        fetch(server.url, MOST)
        assert not proxy.seen
    assert len(server.seen) == 1


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if not shutil.which("openssl"):
        pytest.skip("there is no openssl to make a certificate")
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def secure(old: bytes, certificate: tuple[Path, Path]) -> Iterator[FileServer]:
    with FileServer(old, certificate=certificate) as running:
        yield running


def test_a_certificate_that_is_trusted_is(
    secure: FileServer, old: bytes, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    assert fetch(secure.url, MOST).sha256 == digest(old)


def test_a_certificate_that_nobody_knows_is_not(secure: FileServer) -> None:
    with pytest.raises(FetchError, match=r"no safe connection.*certificate"):
        fetch(secure.url, MOST)
    assert not secure.seen


def test_https_does_not_redirect_to_http(
    secure: FileServer, server: FileServer, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    secure.redirect = lambda path: server.url
    with pytest.raises(RefusedError, match="not https"):
        fetch(secure.url, MOST)
    assert not server.seen
