"""Packing a field: every page to the byte, what is left out is said, and a failure leaves the old archive."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import shutil
import sqlite3
import sys
import tempfile
import time
import zipfile
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from memoryfield import Field, MemoryfieldError, unpack
from memoryfield import pack as pack_strictly
from memoryfield.errors import BrokenFieldError, NotEmptyError, RefusedError, UsageError

from ..support import full_disk

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs names that only Linux allows")

pack = partial(pack_strictly, force=True)
"""The pages here break what a field MUST keep, on purpose."""

INDEX = "all-MiniLM-L6-v2.sqlite3"
PAGES = {
    "index.md": b"# Kitchen notes\n\nWhat is known about pans.\n",
    "woks.md": b"---\ntitle: Quibbleworthy woks\n---\r\n\r\nCarbon steel heats flumboxically.\r\n",
    "empty.md": b"",
    "Capitals And Spaces.md": b"caf\xe9 \x00 not UTF-8\n",
    "\u70ad\u7d20.md": "# 炭素\n\n鋼。\n".encode(),
}
ATTACHMENTS = {
    "photo of a wok.jpg": bytes(range(256)) * 50,
    "empty": b"",
    "données.csv": b"a,b\r\n1,2\r\n",
    "inner.zip": b"PK\x05\x06" + bytes(18),
}
DEBRIS = {
    ".hidden.md": b"hidden",
    ".DS_Store": b"x",
    "Thumbs.db": b"x",
    "desktop.ini": b"x",
    "woks.md~": b"x",
    "woks.sync-conflict-20260101-1.md": b"x",
    ".woks.md.1a2b3c4d.tmp": b"x",
    f"{INDEX}-journal": b"x",
    f"{INDEX}-wal": b"x",
    f"{INDEX}-shm": b"x",
}


def fill(path: Path, *contents: dict[str, bytes]) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for files in contents:
        for name, content in files.items():
            (path / name).write_bytes(content)
    return path


def files_of(path: Path) -> dict[str, bytes]:
    """The files of a folder or of a zip."""
    if path.is_dir():
        return {str(item.relative_to(path)): item.read_bytes() for item in path.rglob("*") if item.is_file()}
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert len(names) == len(set(names))
        return {name: archive.read(name) for name in names}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return fill(tmp_path / "notes", PAGES)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "notes.memoryfield.zip"


@pytest.fixture(scope="module")
def indexed_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A field with an up-to-date index; copy it."""
    path = fill(tmp_path_factory.mktemp("indexed") / "notes", PAGES)
    for item in path.iterdir():
        os.utime(item, (1_700_000_000, 1_700_000_000))
    Field.open(path).sync()
    return path


@pytest.fixture
def indexed(indexed_once: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(indexed_once, tmp_path / "indexed"))


def query(content: bytes, sql: str) -> list[tuple[object, ...]]:
    """Ask a database that is given as bytes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite3"
        path.write_bytes(content)
        connection = sqlite3.connect(path)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()


# what goes in


def test_a_field_that_is_packed_and_unpacked_is_the_same_to_the_byte(root: Path, target: Path, tmp_path: Path) -> None:
    fill(root, ATTACHMENTS)
    packed = pack(Field.open(root), target)
    assert files_of(target) == PAGES | ATTACHMENTS
    unpacked = unpack(target, tmp_path / "copy")
    assert files_of(tmp_path / "copy") == files_of(root)
    assert packed.path == target
    assert (packed.pages, packed.attachments, packed.indexes, packed.left_out) == (5, 4, [], [])
    assert packed.bytes == target.stat().st_size
    assert packed.sha256 == hashlib.sha256(target.read_bytes()).hexdigest()
    assert (unpacked.pages, unpacked.files) == (5, 9)
    assert files_of(root) == PAGES | ATTACHMENTS


@posix_only
def test_debris_folders_and_special_files_are_left_out_and_named(root: Path, target: Path, tmp_path: Path) -> None:
    fill(root, DEBRIS)
    fill(root / "sub", {"page.md": b"no page of the field"})
    fill(root / ".git", {"config": b"x"})
    os.mkfifo(root / "pipe.md")
    (tmp_path / "outside.md").write_bytes(b"outside")
    (root / "link.md").symlink_to("../outside.md")
    packed = pack(Field.open(root), target)
    assert files_of(target) == PAGES
    left_out = dict(packed.left_out)
    assert left_out.keys() == DEBRIS.keys() | {"sub", ".git", "pipe.md", "link.md"}
    assert all(left_out.values())
    assert packed.left_out == sorted(packed.left_out)


@posix_only
def test_a_link_inside_is_packed_as_the_file_that_it_leads_to(root: Path, target: Path) -> None:
    (root / "alias.md").symlink_to("woks.md")
    pack(Field.open(root), target)
    assert files_of(target) == {**PAGES, "alias.md": PAGES["woks.md"]}
    assert {info.external_attr >> 16 for info in zipfile.ZipFile(target).infolist()} == {0o100644}


@pytest.mark.parametrize("name", ["travel-journal", "the-wal", "notes-shm"])
def test_an_attachment_that_is_no_journal_of_an_index_is_packed(root: Path, target: Path, name: str) -> None:
    fill(root, {name: b"mine"})
    assert pack(Field.open(root), target).left_out == []
    assert files_of(target) == {**PAGES, name: b"mine"}


def test_a_database_that_is_no_index_is_packed_as_it_is(root: Path, target: Path) -> None:
    connection = sqlite3.connect(root / "recipes.sqlite3")
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.commit()
    connection.close()
    before = files_of(root)
    packed = pack(Field.open(root), target)
    assert packed.left_out == []
    assert files_of(target) == before
    assert packed.attachments + len(packed.indexes) == 1


@posix_only
@pytest.mark.parametrize("seconds", [-1, 0, 300_000_000, 1_700_000_001, 4_300_000_000, 7_300_000_000])
def test_a_page_of_any_time_can_be_packed(root: Path, target: Path, seconds: int) -> None:
    os.utime(root / "woks.md", (seconds, seconds))
    pack(Field.open(root), target)
    assert files_of(target) == PAGES


@linux_only
@pytest.mark.parametrize("name", ["Q: photo.jpg", "a\\b.md", "two\nlines.md"])
def test_a_file_whose_name_is_not_plain_is_left_out_and_named(root: Path, target: Path, name: str) -> None:
    fill(root, {name: b"text"})
    packed = pack(Field.open(root), target)
    assert files_of(target) == PAGES
    assert dict(packed.left_out).keys() == {name}


@linux_only
@pytest.mark.parametrize(
    "names", [("woks.md", "Woks.md"), ("caf\u00e9.md", "cafe\u0301.md"), ("\u00c9.md", "e\u0301.md")]
)
def test_names_that_are_one_on_other_systems_are_refused_or_can_be_unpacked(
    root: Path, target: Path, tmp_path: Path, names: tuple[str, str]
) -> None:
    fill(root, {names[0]: b"a page", names[1]: b"another page"})
    refused = ""
    try:
        pack(Field.open(root), target)
    except MemoryfieldError as error:
        refused = str(error)
    if refused:
        assert names[0] in refused
        assert names[1] in refused
        assert not target.exists()
        return
    unpack(target, tmp_path / "copy")
    assert files_of(tmp_path / "copy") == files_of(root)


def test_an_archive_can_be_packed_again(root: Path, target: Path, tmp_path: Path) -> None:
    fill(root, ATTACHMENTS)
    pack(Field.open(root), target)
    with Field.open(target) as field:
        pack(field, tmp_path / "again.zip")
        assert files_of(tmp_path / "again.zip") == PAGES | ATTACHMENTS
        pack(field, target, replace=True)
    assert files_of(target) == PAGES | ATTACHMENTS


def test_progress_ends_with_all_files(root: Path, target: Path) -> None:
    seen: list[tuple[int, int]] = []
    pack(Field.open(root), target, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 5) for done in range(1, 6)]


# where it goes


def test_without_an_output_it_goes_into_the_current_folder_under_the_fields_name(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert pack(Field.open("notes")).path.resolve() == tmp_path / "notes.memoryfield.zip"
    (tmp_path / "sub").mkdir()
    assert pack(Field.open(root), tmp_path / "sub").path == tmp_path / "sub" / "notes.memoryfield.zip"
    assert files_of(tmp_path / "sub" / "notes.memoryfield.zip") == PAGES


def test_a_file_that_is_there_is_not_overwritten_unless_it_is_said_so(root: Path, target: Path) -> None:
    target.write_bytes(b"mine")
    with pytest.raises(NotEmptyError) as caught:
        pack(Field.open(root), target)
    assert caught.value.exit_code == 3
    assert target.read_bytes() == b"mine"
    pack(Field.open(root), target, replace=True)
    assert files_of(target) == PAGES


@pytest.mark.parametrize("output", ["notes.memoryfield.zip", "other.zip", ""])
def test_an_archive_inside_the_field_is_refused(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    monkeypatch.chdir(root)
    for place in (root / output, Path(output)):
        with pytest.raises(RefusedError) as caught:
            pack(Field.open(root), place)
        assert caught.value.exit_code == 3
    assert files_of(tmp_path) == {f"notes/{name}": content for name, content in PAGES.items()}


@pytest.mark.parametrize("files", [{}, {"photo.jpg": b"x"}, {".hidden.md": b"x"}])
def test_a_field_without_pages_is_refused(tmp_path: Path, target: Path, files: dict[str, bytes]) -> None:
    fill(tmp_path / "notes", files)
    with pytest.raises(UsageError) as caught:
        pack(Field.open(tmp_path / "notes"), target)
    assert caught.value.exit_code == 2
    assert not target.exists()


# failures


def test_an_output_in_a_folder_that_is_not_there_fails_and_makes_nothing(root: Path, tmp_path: Path) -> None:
    with pytest.raises((FileNotFoundError, MemoryfieldError)):
        pack(Field.open(root), tmp_path / "missing" / "notes.zip")
    assert [item.name for item in tmp_path.iterdir()] == ["notes"]


@posix_only
@pytest.mark.parametrize("old", [None, b"the old archive"])
def test_a_full_disk_leaves_the_old_archive(indexed: Path, target: Path, old: bytes | None) -> None:
    if old is not None:
        target.write_bytes(old)
    before = files_of(target.parent)
    with full_disk(600), pytest.raises(OSError, match=r"too large|disk"):
        pack(Field.open(indexed), target, replace=True)
    assert files_of(target.parent) == before


@posix_only
def test_a_page_that_cannot_be_read_is_not_left_out_silently(root: Path, target: Path, tmp_path: Path) -> None:
    fill(root, ATTACHMENTS)
    pack(Field.open(root), target)
    raw = target.read_bytes()
    place = raw.index(b"PK\x03\x04", raw.index(b"woks.md") - 40) + 30 + len("woks.md")
    target.write_bytes(raw[:place] + b"\xff" * 8 + raw[place + 8 :])
    with Field.open(target) as field, pytest.raises((OSError, MemoryfieldError), match=r"woks\.md"):
        pack(field, tmp_path / "again.zip")
    assert not (tmp_path / "again.zip").exists()
    assert not list(tmp_path.glob(".*"))


def _pack_and_stop(location: str, output: str, said: Connection) -> None:
    def stop(done: int, total: int) -> None:
        if done == 2:
            said.send(done)
            said.recv()  # for ever

    pack(Field.open(location), output, replace=True, progress=stop)


@pytest.mark.parametrize("old", [None, b"the old archive"])
def test_a_killed_pack_leaves_the_old_archive(root: Path, target: Path, old: bytes | None) -> None:
    if old is not None:
        target.write_bytes(old)
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    packer = context.Process(target=_pack_and_stop, args=(str(root), str(target), there), daemon=True)
    packer.start()
    assert here.poll(30)
    packer.kill()
    packer.join()
    assert (target.read_bytes() if target.exists() else None) == old
    assert files_of(root) == PAGES
    pack(Field.open(root), target, replace=True)
    assert files_of(target) == PAGES


# indexes


def test_an_index_is_packed_and_works_in_the_archive_and_after_unpacking(
    indexed: Path, target: Path, tmp_path: Path
) -> None:
    before = files_of(indexed)
    packed = pack(Field.open(indexed), target)
    assert files_of(indexed) == before
    assert (packed.pages, packed.attachments, packed.indexes, packed.left_out) == (5, 0, [INDEX], [])
    content = files_of(target)[INDEX]
    assert query(content, "PRAGMA integrity_check") == [("ok",)]
    sql = "SELECT filename, frontmatter, sha256_hash, embedding FROM pages ORDER BY filename"
    assert query(content, sql) == query(before[INDEX], sql)
    with Field.open(target) as field:
        [status] = field.indexes()
        assert (status.embedded, status.pending) == (3, 0)
        assert [hit.filename for hit in field.search("flumboxically", mode="keyword").results] == ["woks.md"]
    unpack(target, tmp_path / "copy")
    report = Field.open(tmp_path / "copy").sync()
    assert (report.unchanged, report.embedded) == (5, 0)


def test_packing_leaves_nothing_in_the_systems_folder_for_temporary_files(
    indexed: Path, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert pack(Field.open(indexed), target).indexes == [INDEX]
    assert files_of(tmp_path / "temporary") == {}


def another_tools_index(root: Path, name: str, journal: str = "delete") -> sqlite3.Connection:
    """Make an index that has the format's own table only, with a row for each page; left open."""
    connection = sqlite3.connect(root / name, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute(
        "CREATE TABLE pages (filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL, last_modified DATETIME NOT NULL,"
        " sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL)"
    )
    for page in root.glob("*.md"):
        digest = hashlib.sha256(page.read_bytes()).digest()
        connection.execute("INSERT INTO pages VALUES (?, '{}', '0', ?, zeroblob(3072))", (page.name, digest))
    return connection


def _hold_an_index(root: str, name: str, journal: str, said: Connection) -> None:
    """Make an index and keep it open, as a process that is at work."""
    connection = another_tools_index(Path(root), name, journal)
    said.send("made")
    said.recv()  # for ever
    connection.close()


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_an_index_that_another_tool_has_open_is_packed_whole(root: Path, target: Path, journal: str) -> None:
    name = "text-embedding-3-small.sqlite3"
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    holder = context.Process(target=_hold_an_index, args=(str(root), name, journal, there), daemon=True)
    holder.start()
    try:
        assert here.poll(30)
        assert (root / f"{name}-wal").exists() == (journal == "wal")
        assert pack(Field.open(root), target).indexes == [name]
    finally:
        holder.kill()
        holder.join()
    assert query(files_of(target)[name], "SELECT count(*), min(length(embedding)) FROM pages") == [(5, 3072)]


def test_what_another_tool_deleted_and_did_not_overwrite_is_not_in_the_packed_index(root: Path, target: Path) -> None:
    name = "text-embedding-3-small.sqlite3"
    connection = another_tools_index(root, name)
    connection.execute("PRAGMA secure_delete = off")
    connection.execute("INSERT INTO pages VALUES ('gone.md', '{\"title\": \"Zwibbleworthy\"}', '0', x'00', x'00')")
    connection.execute("DELETE FROM pages WHERE filename = 'gone.md'")
    connection.close()
    assert b"Zwibbleworthy" in (root / name).read_bytes()
    pack(Field.open(root), target)
    assert b"Zwibbleworthy" not in files_of(target)[name]


def test_another_tools_rows_of_a_page_that_is_gone_are_not_in_the_packed_index(root: Path, target: Path) -> None:
    name = "text-embedding-3-small.sqlite3"
    another_tools_index(root, name).close()
    (root / "woks.md").unlink()
    assert pack(Field.open(root), target).indexes == [name]
    assert b"Quibbleworthy" not in files_of(target)[name]
    assert query(files_of(target)[name], "SELECT count(*) FROM pages") == [(4,)]


def test_an_index_that_is_behind_and_whose_model_is_not_to_be_had_is_left_out_and_named(
    root: Path, target: Path
) -> None:
    name = "text-embedding-3-small.sqlite3"
    another_tools_index(root, name).close()
    before = (root / name).read_bytes()
    (root / "woks.md").write_bytes(b"# Woks\n\nOther text.\n")
    packed = pack(Field.open(root), target)
    assert packed.indexes == []
    [(left, reason)] = packed.left_out
    assert (left, "woks.md" in reason, "text-embedding-3-small" in reason) == (name, True, True)
    assert name not in files_of(target)
    assert (root / name).read_bytes() == before


@linux_only
def test_a_name_that_no_archive_can_have_is_left_out_and_named_and_of_a_page_refused(root: Path, target: Path) -> None:
    fill(root, {"caf\udce9.jpg": b"text"})
    packed = pack(Field.open(root), target)
    assert packed.left_out == [("caf\udce9.jpg", "has a name that is not UTF-8")]
    fill(root, {"caf\udce9.md": b"text"})
    with pytest.raises(BrokenFieldError, match="P-2"):
        pack_strictly(Field.open(root), target, replace=True)
    assert len(pack(Field.open(root), target, replace=True).left_out) == 2


@pytest.mark.parametrize("content", [b"", b"no database" * 100, b"SQLite format 3\x00" + b"x" * 5000])
def test_a_damaged_index_is_left_out_and_named(root: Path, target: Path, content: bytes) -> None:
    fill(root, {INDEX: content})
    packed = pack(Field.open(root), target)
    assert files_of(target) == PAGES
    assert dict(packed.left_out).keys() == {INDEX}
    assert files_of(root) == {**PAGES, INDEX: content}


def test_a_second_index_of_one_model_is_left_out_and_named(indexed: Path, target: Path) -> None:
    shutil.copy(indexed / INDEX, indexed / "all-MiniLM-L6-v2-before.sqlite3")
    packed = pack(Field.open(indexed), target)
    assert packed.indexes == [INDEX]
    assert dict(packed.left_out).keys() == {"all-MiniLM-L6-v2-before.sqlite3"}


TRACES = [b"flumbox", b"Quibbleworthy", b"quibbleworth"]


def packed_index(field: Field, target: Path) -> bytes:
    """The index as it is in the archive of a field."""
    assert pack(field, target).indexes == [INDEX]
    return files_of(target)[INDEX]


def test_the_traces_are_in_the_index_while_the_page_is_there(indexed: Path, target: Path) -> None:
    content = packed_index(Field.open(indexed), target)
    assert all(trace in content for trace in TRACES)


@pytest.mark.parametrize("how", ["delete", "delete the file, sync", "delete the file", "replace, sync", "replace"])
def test_nothing_of_a_text_that_is_gone_is_in_the_packed_index(indexed: Path, target: Path, how: str) -> None:
    field = Field.open(indexed)
    if how == "delete":
        field.delete("woks")
    elif how.startswith("delete the file"):
        (indexed / "woks.md").unlink()
    else:
        (indexed / "woks.md").write_bytes(b"# Woks\n\nOther text.\n")
    if how.endswith("sync"):
        field.sync()
    content = packed_index(field, target)
    assert [trace for trace in TRACES if trace in content] == []


def test_nothing_of_a_changed_text_is_in_the_packed_index_after_a_sync_was_interrupted(
    indexed: Path, target: Path
) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    field = Field.open(indexed)
    (indexed / "woks.md").write_bytes(b"# Woks\n\nOther text.\n")
    with pytest.raises(KeyboardInterrupt):
        field.sync(progress=interrupt)
    field.sync()
    content = packed_index(field, target)
    assert [trace for trace in TRACES if trace in content] == []


def _write_the_index_for_ever(path: str, said: Connection) -> None:
    """Change every row in one transaction, again and again, and some of them on the disk before its end."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None)
    connection.execute("PRAGMA cache_size = 5")
    connection.execute("PRAGMA synchronous = off")
    number = 0
    while True:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE pages SET last_modified = ?", (str(number),))
        time.sleep(0.002)
        connection.execute("COMMIT")
        time.sleep(0.002)
        number += 1
        if number == 3:
            said.send(number)


def test_an_index_that_another_process_writes_is_packed_as_it_is_at_one_moment(root: Path, tmp_path: Path) -> None:
    name = "nomic-embed-text-v1.5.sqlite3"
    fill(root, {f"page-{number}.md": b"text %d" % number for number in range(95)})
    another_tools_index(root, name).close()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    writer = context.Process(target=_write_the_index_for_ever, args=(str(root / name), there), daemon=True)
    writer.start()
    try:
        assert here.poll(30)
        for number in range(4):
            target = tmp_path / f"{number}.zip"
            assert pack(Field.open(root), target).indexes == [name]
            content = files_of(target)[name]
            assert query(content, "PRAGMA integrity_check") == [("ok",)]
            assert query(content, "SELECT count(*), count(DISTINCT last_modified) FROM pages") == [(100, 1)]
        assert writer.is_alive()
    finally:
        writer.kill()
        writer.join()


def test_pages_that_another_process_changes_are_packed_whole(root: Path, tmp_path: Path) -> None:
    versions = [bytes([letter]) * 300_000 for letter in b"ab"]
    fill(root, {"log.md": versions[0]})
    writer = multiprocessing.get_context("spawn").Process(
        target=_write_pages_for_ever, args=(str(root), versions), daemon=True
    )
    writer.start()
    try:
        seen: set[bytes] = set()
        number = 0
        while len(seen) < 2 and writer.is_alive():
            pack(Field.open(root), tmp_path / f"{number}.zip")
            seen.add(files_of(tmp_path / f"{number}.zip")["log.md"])
            number += 1
        assert seen == set(versions)
    finally:
        writer.kill()
        writer.join()


def _write_pages_for_ever(location: str, versions: list[bytes]) -> None:
    field = Field.open(location)
    while True:
        for version in versions:
            field.container.write("log.md", version)


def test_a_large_attachment_of_an_archive_that_is_damaged_is_told_as_such(tmp_path: Path, target: Path) -> None:
    path = tmp_path / "large.memoryfield.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("index.md", PAGES["index.md"])
        archive.writestr("large.bin", b"large" * (1 << 19))
    path.write_bytes(path.read_bytes().replace(b"large" * 9, b"l\x00rge" * 9, 1))
    with pytest.raises(OSError, match="checksum") as told:
        pack(Field.open(path), target)
    assert (told.value.filename, told.value.strerror) == ("large.bin", "in the archive, its checksum is wrong")
