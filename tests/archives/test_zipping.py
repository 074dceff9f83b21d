"""The zip that we write: what any reader makes of it, in pieces and at once, and where zip64 begins."""

from __future__ import annotations

import io
import random
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memoryfield.archives import zipping
from memoryfield.archives.zipping import CHUNK, ZipWriter, content_of, entry_seconds

RANDOM = random.Random(7).randbytes(2 * CHUNK + 12_345)
CONTENTS = {
    "a.bin": RANDOM,
    "b.txt": b"carbon steel heats evenly\n" * 100_000,
    "chunk": RANDOM[:CHUNK],
    "empty": b"",
    "käse.md": "# Käse\n".encode(),
}


def pieces(content: bytes) -> Iterator[bytes]:
    return (content[place : place + CHUNK] for place in range(0, len(content), CHUNK))


def written(contents: dict[str, bytes], *, streamed: bool = False, store: bool = False) -> bytes:
    file = io.BytesIO()
    writer = ZipWriter(file, store=store)
    with ThreadPoolExecutor(2) as pool:
        for name, content in contents.items():
            if streamed:
                writer.stream(name, entry_seconds(None), pieces(content), len(content), pool)
            else:
                writer.add(name, entry_seconds(None), content_of(content, store=store))
    assert [writer.read(name) for name in contents] == list(contents.values())
    writer.finish()
    return file.getvalue()


def read_back(raw: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("store", [False, True])
def test_in_pieces_and_at_once_it_is_the_same_and_is_read_back(store: bool, tmp_path: Path) -> None:
    raw = written(CONTENTS, store=store)
    assert written(CONTENTS, store=store, streamed=True) == raw
    assert read_back(raw) == CONTENTS
    (tmp_path / "a.zip").write_bytes(raw)
    if shutil.which("unzip"):
        subprocess.run(["unzip", "-tq", tmp_path / "a.zip"], check=True, stdout=subprocess.DEVNULL)


def test_two_writers_make_one_archive() -> None:
    first, second = io.BytesIO(), io.BytesIO()
    one, two = ZipWriter(first), ZipWriter(second)
    for number, (name, content) in enumerate(CONTENTS.items()):
        (one if number < 2 else two).add(name, entry_seconds(None), content_of(content))
    one.append(two)
    one.finish()
    assert first.getvalue() == written(CONTENTS)


@pytest.mark.parametrize("streamed", [False, True])
def test_from_a_size_on_the_fields_of_zip64_are_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, streamed: bool
) -> None:
    """Beyond 4 GiB; here that is made small, and readers take the fields for what they are."""
    contents = {"a.txt": b"x" * 50, "b.bin": RANDOM[:30_000], "c.txt": b"small, and far behind"}
    assert b"PK\6\6" not in written(contents, streamed=streamed)
    monkeypatch.setattr(zipping, "BIG", 20_000)
    monkeypatch.setattr(zipping, "CHUNK", 1000)
    raw = written(contents, streamed=streamed)
    assert b"PK\6\6" in raw
    assert read_back(raw) == contents
    (tmp_path / "a.zip").write_bytes(raw)
    if shutil.which("unzip"):
        subprocess.run(["unzip", "-tq", tmp_path / "a.zip"], check=True, stdout=subprocess.DEVNULL)


def test_so_many_entries_need_a_second_end() -> None:
    file = io.BytesIO()
    writer = ZipWriter(file)
    for number in range(65_535):
        writer.add(f"page-{number:05d}.md", entry_seconds(None), content_of(b"", store=True))
    writer.finish()
    assert b"PK\6\6" in file.getvalue()
    with zipfile.ZipFile(file) as archive:
        assert len(archive.namelist()) == 65_535


def test_a_file_that_grows_beyond_what_its_header_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipping, "BIG", 3 * CHUNK)
    with ThreadPoolExecutor(1) as pool, pytest.raises(OverflowError, match="grown"):
        ZipWriter(io.BytesIO()).stream("log", entry_seconds(None), pieces(bytes(4 * CHUNK)), 10, pool)


@pytest.mark.parametrize(
    ("moment_ns", "seconds"),
    [(None, 315_532_800), (-5, 315_532_800), (1_767_225_601_999_999_999, 1_767_225_600), (2**63 - 1, 4_354_819_198)],
)
def test_a_time_is_even_and_one_that_a_zip_can_have(moment_ns: int | None, seconds: int) -> None:
    assert entry_seconds(moment_ns) == seconds
