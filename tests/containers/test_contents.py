"""The content hash: the same whatever carries the files, another one for any other file, and blind to caches."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from memoryfield import Field, pack

PAGES = {"index.md": b"# Notes\n", "woks.md": b"Caf\xe9, not UTF-8\n", "photo.jpg": bytes(range(256))}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, content in PAGES.items():
        (folder / name).write_bytes(content)
    return folder


def content_hash(location: Path) -> str:
    with Field.open(location) as field:
        return field.content_hash()


def test_it_is_what_sha256sum_says_of_sha256sum(notes: Path) -> None:
    listed = subprocess.run(["sha256sum", *PAGES], cwd=notes, capture_output=True, check=True).stdout
    lines = b"".join(sorted(listed.splitlines(keepends=True)))
    assert content_hash(notes) == "mf1:" + hashlib.sha256(lines).hexdigest()


@pytest.mark.parametrize(
    "name", [".hidden", ".DS_Store", "woks.md~", "m.sqlite3", "m.sqlite3-wal", "m.sqlite3-journal", "m.sqlite3-shm"]
)
def test_it_does_not_see_caches_and_debris(notes: Path, name: str) -> None:
    before = content_hash(notes)
    (notes / name).write_bytes(b"x")
    (notes / "folder").mkdir()
    assert content_hash(notes) == before


@pytest.mark.parametrize("name", ["woks.md", "photo.jpg", "new.md", "new-wal", "données.csv"])
def test_it_sees_every_other_file(notes: Path, name: str) -> None:
    before = content_hash(notes)
    (notes / name).write_bytes(b"another")
    assert content_hash(notes) != before


def test_an_archive_has_the_hash_of_its_folder(notes: Path, tmp_path: Path) -> None:
    (notes / "all-MiniLM-L6-v2.sqlite3-journal").write_bytes(b"x")
    with Field.open(notes) as field:
        packed = pack(field, tmp_path / "notes.memoryfield.zip", force=True)
    assert content_hash(packed.path) == packed.content_hash == content_hash(notes)
