"""Four people and an archive: one sends it, one pins it, one tampers with it, one sends a bomb. Over a real server."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..doubles.file_server import FileServer
from .support import Run, forked, make_kitchen, write_page

ARCHIVE = "kitchen.memoryfield.zip"


@pytest.fixture
def ann(tmp_path: Path) -> Path:
    """A field that was packed, with a sidecar."""
    place = tmp_path / "ann"
    make_kitchen(place / "kitchen", embedded=True)
    ok("pack", "-f", "kitchen", "--sidecar", cwd=place)
    return place


@pytest.fixture
def server(ann: Path) -> Iterator[FileServer]:
    with FileServer((ann / ARCHIVE).read_bytes()) as running:
        yield running


@pytest.fixture
def ben(tmp_path: Path, ann: Path, server: FileServer) -> Path:
    """Somebody who added the archive by its URL, with the hash that was promised."""
    place = tmp_path / "ben"
    place.mkdir()
    ok("add", "team", server.url, "--sha256", promised(ann), "--project", cwd=place)
    return place


def ok(*arguments: str, cwd: Path) -> Run:
    run = forked(*arguments, cwd=cwd)
    assert run.code == 0, run
    return run


def promised(ann: Path) -> str:
    return (ann / f"{ARCHIVE}.sha256").read_text(encoding="utf-8").split()[0]


def next_version(ann: Path, server: FileServer) -> None:
    write_page(ann / "kitchen", "lids.md", "---\ntitle: Lids\n---\n\nGlass lids let you see.\n")
    write_page(ann / "kitchen", "woks.md", "---\ntitle: Woks\n---\n\nCarbon steel, as ever.\n")
    ok("pack", "-f", "kitchen", "--sidecar", "--replace", cwd=ann)
    server.content = (ann / ARCHIVE).read_bytes()


def test_it_is_added_by_name_searched_updated_and_accepted(ann: Path, ben: Path, server: FileServer) -> None:
    first = promised(ann)
    assert first in (ben / "memoryfields.toml").read_text(encoding="utf-8")
    assert ok("search", "-f", "team", "--mode", "keyword", "wok", cwd=ben).out
    next_version(ann, server)
    second = promised(ann)
    assert ok("search", "-f", "team", "--mode", "keyword", "wok", cwd=ben).out, "what was pinned is still at hand"
    refused = forked("update", "team", cwd=ben)
    assert refused.code == 3
    told = ok("update", "team", "--dry-run", cwd=ben)
    assert first in told.out
    assert second in told.out
    assert re.search(r"^added lids\.md$", told.out, re.M)
    assert re.search(r"^changed woks\.md$", told.out, re.M)
    assert first in (ben / "memoryfields.toml").read_text(encoding="utf-8")
    ok("update", "team", "--yes", cwd=ben)
    assert second in (ben / "memoryfields.toml").read_text(encoding="utf-8")
    assert "lids.md" in ok("search", "-f", "team", "--mode", "keyword", "glass lids", cwd=ben).out
    ok("fields", "--check", cwd=ben)


def test_another_file_than_the_promised_one_is_not_added(ann: Path, tmp_path: Path, server: FileServer) -> None:
    server.content = server.content[:200] + bytes([server.content[200] ^ 1]) + server.content[201:]
    run = forked("add", "team", server.url, "--sha256", promised(ann), "--project", cwd=tmp_path)
    assert run.code == 3
    assert promised(ann) in run.err
    assert not (tmp_path / "memoryfields.toml").exists()


@pytest.mark.parametrize("place", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_one_byte_that_was_changed_is_caught(ann: Path, place: float) -> None:
    raw = bytearray((ann / ARCHIVE).read_bytes())
    raw[int(place * (len(raw) - 1))] ^= 1
    ok("add", "team", ARCHIVE, "--project", cwd=ann)
    (ann / ARCHIVE).write_bytes(raw)
    assert forked("verify", ARCHIVE, "--sidecar", cwd=ann).code == 3
    assert forked("search", "-f", "team", "wok", cwd=ann).code == 3
    assert forked("fields", "--check", cwd=ann).code in (1, 3)
    assert forked("unpack", "team", "copy", cwd=ann).code == 3
    assert not (ann / "copy").exists()


def test_a_byte_of_a_page_is_caught_by_its_checksum_where_nothing_was_promised(ann: Path) -> None:
    ok("pack", "-f", "kitchen", "--store", "--no-index", "--replace", cwd=ann)
    raw = (ann / ARCHIVE).read_bytes()
    (ann / ARCHIVE).write_bytes(raw.replace(b"Carbon", b"Garbon", 1))
    run = forked("verify", ARCHIVE, cwd=ann)
    assert run.code == 1
    assert "woks.md: error A-1: cannot be read: in the archive, its checksum is wrong" in run.err + run.out


def test_a_bomb_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / ARCHIVE, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("gift.md", bytes(100_000_000))
    for command in ("search -f {} gift", "unpack {}", "verify {}", "add team {}", "diff {} {}"):
        run = forked(*command.replace("{}", ARCHIVE).split(), cwd=tmp_path)
        assert run.code == 3, run
        assert "gift.md" in run.err
        assert "--allow entry=96M --allow ratio=" in run.err
    assert [item.name for item in tmp_path.iterdir()] == [ARCHIVE]
