"""A field's indexes as a whole: found by name, made, mended, followed, counted."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryfield.containers import Container, open_container
from memoryfield.containers.directory import DirectoryContainer
from memoryfield.embedders import DEFAULT_MODEL
from memoryfield.errors import EmbedderUnavailableError, IndexFileError, ReadOnlyError, UnknownModelError
from memoryfield.index.files import discard_index, index_files, open_index
from memoryfield.index.status import IndexStatus, follow_deletions, follow_renames, index_status, sync_index
from memoryfield.index.sync import MAX_INDEXED, SyncReport

from ..doubles.ollama_server import OllamaServer, hashed_vectors
from ..support import no_privileges

NOMIC = "nomic-embed-text-v1.5"
NAME = f"{NOMIC}.sqlite3"
OLD = 1_700_000_000 * 10**9


def write(folder: Path, name: str, text: str, mtime_ns: int = OLD) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    os.utime(path, ns=(mtime_ns, mtime_ns))
    return path


def rows(path: Path, sql: str = "SELECT filename FROM pages ORDER BY filename") -> list[Any]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return [row[0] for row in connection.execute(sql)]


def status_of(container: Container) -> IndexStatus:
    (status,) = index_status(container)
    return status


def thirty_pages(place: Path) -> None:
    for number in range(30):
        word = "xobodum" if number == 29 else f"wok{number}"
        write(place, f"{number:02}.md", f"---\ntitle: Page {number}\n---\n\nOf {word}.\n", OLD + number * 10**9)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Thirty pages, not embedded."""
    place = tmp_path / "notes"
    place.mkdir()
    thirty_pages(place)
    return place


@pytest.fixture
def field(folder: Path) -> Container:
    return open_container(folder)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The index of the thirty pages, embedded by Ollama's double: made once."""
    place = tmp_path_factory.mktemp("once")
    thirty_pages(place)
    with OllamaServer(make_vectors=hashed_vectors) as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OLLAMA_HOST", server.host)
        patch.setenv("NO_PROXY", "127.0.0.1")
        assert sync_index(open_container(place), NOMIC).embedded == 30
    return (place / NAME).read_bytes()


@pytest.fixture
def embedded(field: Container, folder: Path, index: bytes, ollama: OllamaServer) -> Container:
    """The thirty pages, embedded."""
    (folder / NAME).write_bytes(index)
    return field


# which files are indexes


def test_indexes_are_found_by_the_code_with_which_their_names_begin(folder: Path, field: Container) -> None:
    for name in (
        f"{DEFAULT_MODEL}.sqlite3",
        f"{NOMIC}-of-my-laptop.sqlite3",
        "text-embedding-3-small.sqlite3",
        ".hidden.sqlite3",
        "data.db",
        f"{DEFAULT_MODEL}.sqlite3-journal",
        f"{DEFAULT_MODEL}.sync-conflict-20240101-000000-ABC.sqlite3",
    ):
        write(folder, name, "")
    (folder / "folder.sqlite3").mkdir()
    assert index_files(field) == {
        NOMIC: f"{NOMIC}-of-my-laptop.sqlite3",
        DEFAULT_MODEL: f"{DEFAULT_MODEL}.sqlite3",
        "text-embedding-3-small": "text-embedding-3-small.sqlite3",
    }


def test_a_model_code_that_goes_on_is_another_model(folder: Path, field: Container) -> None:
    write(folder, f"{DEFAULT_MODEL}2.sqlite3", "")
    assert index_files(field) == {f"{DEFAULT_MODEL}2": f"{DEFAULT_MODEL}2.sqlite3"}


def test_of_two_indexes_of_a_model_the_one_with_the_plain_name_counts(folder: Path, field: Container) -> None:
    for name in (f"{NOMIC}-a.sqlite3", NAME, f"{NOMIC}.old.sqlite3"):
        write(folder, name, "")
    assert index_files(field) == {NOMIC: NAME}


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
@pytest.mark.parametrize("name", ["C:.sqlite3", "a\\b.sqlite3", "tab\t.sqlite3"])
def test_a_strange_file_name_hides_no_index(name: str, folder: Path, embedded: Container) -> None:
    write(folder, name, "")
    assert index_files(embedded)[NOMIC] == NAME
    assert any(status.model == NOMIC and status.embedded == 30 for status in index_status(embedded))
    (folder / "29.md").unlink()
    follow_deletions(embedded, ["29.md"])
    assert len(rows(folder / NAME)) == 29


def test_an_index_that_is_not_there_is_not_made_by_looking(folder: Path, field: Container) -> None:
    before = sorted(folder.iterdir())
    with pytest.raises(IndexFileError, match="no index"):
        open_index(field, NOMIC, 768)
    assert index_status(field) == []
    follow_deletions(field, ["00.md"])
    discard_index(field, NOMIC)
    assert sorted(folder.iterdir()) == before


# making and mending


def test_the_index_is_a_file_named_by_its_model(folder: Path, embedded: Container) -> None:
    assert index_files(embedded) == {NOMIC: NAME}
    assert rows(folder / NAME) == [f"{number:02}.md" for number in range(30)]
    assert rows(folder / NAME, "SELECT DISTINCT length(embedding) FROM pages") == [3072]
    assert sorted(path.name for path in folder.iterdir() if path.suffix != ".md") == [NAME]


def test_an_index_of_another_name_for_the_same_model_is_used(
    folder: Path, embedded: Container, ollama: OllamaServer
) -> None:
    (folder / NAME).rename(folder / f"{NOMIC}-mine.sqlite3")
    assert sync_index(embedded, NOMIC).unchanged == 30
    assert ollama.embedded == []
    assert index_files(embedded) == {NOMIC: f"{NOMIC}-mine.sqlite3"}


def test_without_a_model_the_index_that_is_there_is_brought_up_to_date(
    folder: Path, embedded: Container, ollama: OllamaServer
) -> None:
    write(folder, "new.md", "new")
    report = sync_index(embedded, None)
    assert (report.model, report.added, report.embedded) == (NOMIC, 1, 1)
    assert ollama.embedded == ["search_document: new"]


@pytest.mark.parametrize("other", ["", "text-embedding-3-small.sqlite3", "inventory.sqlite3"])
def test_without_a_model_and_without_a_known_index_the_default_is_made(other: str, tmp_path: Path) -> None:
    write(tmp_path, "a.md", "")
    if other:
        write(tmp_path, other, "")
    assert sync_index(open_container(tmp_path), None).model == DEFAULT_MODEL
    assert (tmp_path / f"{DEFAULT_MODEL}.sqlite3").stat().st_size > 0


def test_an_unknown_model_is_refused(folder: Path, field: Container) -> None:
    with pytest.raises(UnknownModelError, match="text-embedding-3-small"):
        sync_index(field, "text-embedding-3-small")
    assert index_files(field) == {}


def test_rebuilding_embeds_every_page_again(embedded: Container, ollama: OllamaServer) -> None:
    report = sync_index(embedded, NOMIC, rebuild=True)
    assert (report.added, report.embedded, report.unchanged) == (30, 30, 0)
    assert len(ollama.embedded) == 30


def test_rebuilding_without_a_server_loses_no_vectors(folder: Path, embedded: Container, ollama: OllamaServer) -> None:
    ollama.stop()
    try:
        report: SyncReport | None = sync_index(embedded, NOMIC, rebuild=True)
    except EmbedderUnavailableError:
        report = None
    assert report is None or report.unavailable
    assert len(rows(folder / NAME)) == 30


def test_a_server_that_dies_half_way_leaves_what_it_gave(
    folder: Path, field: Container, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryfield.embedders.remote.FIRST_BATCH", 16)
    ollama.dies_after = 1
    report = sync_index(field, NOMIC)
    assert (report.added, report.embedded, report.pending) == (30, 16, 14)
    assert ollama.host in report.unavailable
    assert len(rows(folder / NAME)) == 16
    status = status_of(field)
    assert (status.embedded, status.pending, status.failed) == (16, 14, 0)


def test_one_page_that_the_server_fails_at_spoils_only_itself(
    folder: Path, field: Container, ollama: OllamaServer
) -> None:
    ollama.poisoned = {"wok7.": (500, "failed to encode response: json: unsupported value: NaN")}
    report = sync_index(field, NOMIC)
    assert (report.embedded, report.pending) == (29, 1)
    assert [name for name, _ in report.failed] == ["07.md"]
    write(folder, "new.md", "new")
    report = sync_index(field, NOMIC)
    assert (report.embedded, report.pending, report.unavailable) == (1, 1, "")
    assert [name for name, _ in report.failed] == ["07.md"]
    report = sync_index(field, NOMIC)
    assert (report.embedded, report.pending, report.unavailable) == (0, 1, "")
    assert [name for name, _ in report.failed] == ["07.md"]


def nothing(content: bytes) -> bytes:
    return b""


def noise(content: bytes) -> bytes:
    return random.Random(7).randbytes(len(content))


def cut(part: float) -> Callable[[bytes], bytes]:
    return lambda content: content[: int(len(content) * part)]


def overwritten(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + b"\xff" * (len(content) - middle)


def without_beginning(content: bytes) -> bytes:
    return content[8192:]


def text(content: bytes) -> bytes:
    return b"<<<<<<< HEAD\n" * 50


DAMAGES = [
    pytest.param(nothing, id="empty"),
    pytest.param(noise, id="noise"),
    pytest.param(cut(0.9), id="a tenth cut off"),
    pytest.param(cut(0.5), id="half cut off"),
    pytest.param(cut(0.05), id="nearly all cut off"),
    pytest.param(overwritten, id="overwritten from the middle"),
    pytest.param(without_beginning, id="the beginning cut off"),
    pytest.param(text, id="text"),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_is_made_anew_with_a_word(
    damage: Callable[[bytes], bytes], folder: Path, embedded: Container
) -> None:
    (folder / NAME).write_bytes(damage((folder / NAME).read_bytes()))
    status = status_of(embedded)
    assert status.problem or status.embedded < 30
    report = sync_index(embedded, NOMIC)
    assert len(rows(folder / NAME)) == 30
    assert rows(folder / NAME, "PRAGMA integrity_check") == ["ok"]
    assert report.pending == 0
    if damage is not nothing:
        assert any(NAME in note or "made anew" in note for note in report.notes)
    assert status_of(embedded).embedded == 30


def test_a_damaged_index_is_said_and_left_alone_by_looking(folder: Path, embedded: Container) -> None:
    content = noise((folder / NAME).read_bytes())
    (folder / NAME).write_bytes(content)
    status = status_of(embedded)
    assert NAME in status.problem
    assert (status.embedded, status.bytes) == (0, len(content))
    follow_deletions(embedded, ["00.md"])
    follow_renames(embedded, {"01.md": "x.md"})
    assert (folder / NAME).read_bytes() == content


def test_an_index_of_another_model_is_made_anew_with_a_word(folder: Path, embedded: Container) -> None:
    write(folder, "a.md", "")
    for path in folder.glob("[0-9]*.md"):
        path.unlink()
    (folder / NAME).rename(folder / f"{DEFAULT_MODEL}.sqlite3")
    report = sync_index(embedded, DEFAULT_MODEL)
    assert "another model" in report.notes[0]
    assert NOMIC in report.notes[0]
    assert rows(folder / f"{DEFAULT_MODEL}.sqlite3", "SELECT value FROM memoryfield_meta WHERE key = 'model'") == [
        DEFAULT_MODEL
    ]


def test_a_database_of_something_else_under_an_index_name_is_made_anew_with_a_word(
    folder: Path, field: Container, ollama: OllamaServer
) -> None:
    with closing(sqlite3.connect(folder / NAME)) as connection:
        connection.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, url TEXT)")
    report = sync_index(field, NOMIC)
    assert report.embedded == 30
    assert NAME in report.notes[0]


def test_an_index_behind_a_link_that_leads_outside_is_said(
    folder: Path, field: Container, ollama: OllamaServer, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere.sqlite3").write_bytes(b"")
    (folder / NAME).symlink_to(tmp_path / "elsewhere.sqlite3")
    with pytest.raises((IndexFileError, ReadOnlyError, PermissionError), match="outside"):
        sync_index(field, NOMIC)
    assert (tmp_path / "elsewhere.sqlite3").read_bytes() == b""


def test_discarding_takes_the_journal_along(folder: Path, embedded: Container) -> None:
    for suffix in ("-journal", "-wal", "-shm"):
        write(folder, NAME + suffix, "")
    discard_index(embedded, NOMIC)
    assert [path for path in folder.iterdir() if path.suffix != ".md"] == []


# following a page's change


def test_a_deleted_page_leaves_the_index_words_included(folder: Path, embedded: Container) -> None:
    assert b"xobodum" in (folder / NAME).read_bytes()
    (folder / "29.md").unlink()
    follow_deletions(embedded, ["29.md"])
    assert "29.md" not in rows(folder / NAME)
    assert len(rows(folder / NAME)) == 29
    assert b"xobodum" not in (folder / NAME).read_bytes()
    assert status_of(embedded).is_complete


def test_a_deleted_page_leaves_every_index(folder: Path, embedded: Container, index: bytes) -> None:
    names = [NAME, f"{NOMIC}-of-my-laptop.sqlite3"]
    for name in names[1:]:
        (folder / name).write_bytes(index)
    (folder / f"{DEFAULT_MODEL}.sqlite3").write_bytes(b"damaged")
    (folder / "29.md").unlink()
    follow_deletions(embedded, ["29.md"])
    assert [len(rows(folder / name)) for name in names] == [29, 29]
    assert (folder / f"{DEFAULT_MODEL}.sqlite3").read_bytes() == b"damaged"


def test_a_renamed_page_keeps_its_vector(folder: Path, embedded: Container, ollama: OllamaServer) -> None:
    (folder / "29.md").rename(folder / "z.md")
    follow_renames(embedded, {"29.md": "z.md"})
    assert rows(folder / NAME)[-1] == "z.md"
    assert status_of(embedded).is_complete
    assert sync_index(embedded, NOMIC).unchanged == 30
    assert ollama.embedded == []


def only_pages(path: Path) -> None:
    """Make an index one of another tool: with the format's table alone."""
    with closing(apsw.Connection(str(path))) as connection:
        for table in ("keyword", "files", "meta"):
            connection.execute(f"DROP TABLE memoryfield_{table}")
        connection.execute("VACUUM")


@pytest.mark.parametrize("name", [NAME, "text-embedding-3-small.sqlite3"])
def test_a_deleted_page_leaves_the_index_of_another_tool_too(name: str, folder: Path, embedded: Container) -> None:
    only_pages(folder / NAME)
    (folder / NAME).rename(folder / name)
    assert b"Page 29" in (folder / name).read_bytes()
    (folder / "29.md").unlink()
    follow_deletions(embedded, ["29.md"])
    assert "29.md" not in rows(folder / name)
    assert len(rows(folder / name)) == 29
    assert b"Page 29" not in (folder / name).read_bytes()


def test_a_renamed_page_keeps_its_vector_in_the_index_of_another_tool_too(
    folder: Path, embedded: Container, ollama: OllamaServer
) -> None:
    only_pages(folder / NAME)
    (folder / "29.md").rename(folder / "z.md")
    follow_renames(embedded, {"29.md": "z.md"})
    assert sync_index(embedded, NOMIC).embedded == 0
    assert rows(folder / NAME)[-1] == "z.md"
    assert ollama.embedded == []


# what is in an index


def test_the_status_tells_embedded_pending_and_gone_pages_apart(folder: Path, embedded: Container) -> None:
    assert status_of(embedded) == IndexStatus(NAME, NOMIC, 768, (folder / NAME).stat().st_size, 30)
    write(folder, "00.md", "changed")
    write(folder, "new.md", "new")
    (folder / "01.md").unlink()
    status = status_of(embedded)
    assert (status.embedded, status.pending, status.failed, status.gone) == (28, 2, 0, 1)
    assert not status.is_complete


def test_the_status_names_pages_that_cannot_be_embedded(folder: Path, embedded: Container) -> None:
    (folder / "00.md").write_bytes(b"caf\xe9")
    os.utime(folder / "00.md", ns=(OLD, OLD))
    sync_index(embedded, NOMIC)
    status = status_of(embedded)
    assert (status.embedded, status.pending, status.failed) == (29, 0, 1)
    assert status.failures == (("00.md", "not UTF-8: the byte 0xe9"),)


@pytest.fixture
def public(folder: Path, embedded: Container) -> Iterator[Path]:
    """The embedded pages in a folder that everybody can reach and write."""
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(folder, place, dirs_exist_ok=True)
        Path(place).chmod(0o777)
        (Path(place) / NAME).chmod(0o666)
        yield Path(place)


def unreadable_pages(public: Path) -> None:
    """One changed, one new, one too large; and a new one without fault."""
    write(public, "00.md", "changed").chmod(0)
    write(public, "new.md", "new").chmod(0)
    os.truncate(write(public, "large.md", "large"), MAX_INDEXED + 1)
    write(public, "newer.md", "newer").chmod(0o666)


def test_the_status_names_pages_that_cannot_be_read(public: Path) -> None:
    unreadable_pages(public)
    with no_privileges():
        status = status_of(open_container(public))
    assert (status.embedded, status.pending, status.failed, status.gone) == (29, 1, 3, 0)
    reasons = dict(status.failures)
    assert sorted(reasons) == ["00.md", "large.md", "new.md"]
    assert reasons["00.md"] == reasons["new.md"] == f"cannot be read: {os.strerror(13)}"
    assert "too large" in reasons["large.md"]


def test_pages_that_cannot_be_read_are_named_and_the_others_go_in(public: Path, ollama: OllamaServer) -> None:
    unreadable_pages(public)
    with no_privileges():
        report = sync_index(open_container(public), NOMIC)
        status = status_of(open_container(public))
    assert (report.added, report.embedded, report.pending) == (1, 1, 0)
    assert sorted(name for name, _ in report.failed) == ["00.md", "large.md", "new.md"]
    assert ollama.embedded == ["search_document: newer"]
    assert status.embedded == 30
    assert sorted(status.failures) == sorted(report.failed)


def test_pages_written_and_embedded_just_now_are_up_to_date(tmp_path: Path, ollama: OllamaServer) -> None:
    write(tmp_path, "a.md", "alpha", time.time_ns())
    container = open_container(tmp_path)
    sync_index(container, NOMIC)
    status = status_of(container)
    assert (status.embedded, status.pending) == (1, 0)
    write(tmp_path, "a.md", "other", time.time_ns())
    status = status_of(container)
    assert (status.embedded, status.pending) == (0, 1)


def test_a_touched_page_is_up_to_date(folder: Path, embedded: Container) -> None:
    os.utime(folder / "00.md", ns=(OLD - 10**9, OLD - 10**9))
    status = status_of(embedded)
    assert (status.embedded, status.pending) == (30, 0)


def test_the_status_of_an_index_of_an_unknown_model_is_told(folder: Path, embedded: Container) -> None:
    only_pages(folder / NAME)
    (folder / NAME).rename(folder / "text-embedding-3-small.sqlite3")
    status = status_of(embedded)
    assert (status.model, status.dimensions, status.problem) == ("text-embedding-3-small", 768, "")


def test_a_status_is_told_as_json_has_it(embedded: Container) -> None:
    told = status_of(embedded).to_dict()
    assert told["filename"] == NAME
    assert told["embedded"] == 30
    assert set(told) == {
        "filename", "model", "dimensions", "bytes", "embedded", "pending", "failed", "gone", "problem", "failures",
    }  # fmt: skip


# archives


def packed(folder: Path) -> Path:
    path = folder.parent / "notes.memoryfield.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, file.name)
    return path


def test_an_index_in_an_archive_is_read_in_place_and_never_written(folder: Path, embedded: Container) -> None:
    path = packed(folder)
    before = path.read_bytes()
    archive = open_container(path)
    status = status_of(archive)
    assert (status.embedded, status.pending) == (30, 0)
    with closing(open_index(archive, NOMIC, 768)) as store, store.transaction():
        store.remove(["00.md"])
    for rebuild in (False, True):
        with pytest.raises(ReadOnlyError, match="archive"):
            sync_index(archive, NOMIC, rebuild=rebuild)
    archive.close()
    assert path.read_bytes() == before
    assert sorted(item.name for item in folder.parent.iterdir()) == ["notes", "notes.memoryfield.zip"]


def test_an_index_in_wal_mode_is_read_in_an_archive_too(folder: Path, embedded: Container) -> None:
    only_pages(folder / NAME)
    with closing(sqlite3.connect(folder / NAME)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    archive = open_container(packed(folder))
    with closing(open_index(archive, NOMIC, 768)) as store:
        assert store.counts() == (30, 768)
    assert status_of(archive).problem == ""
    archive.close()


@pytest.mark.parametrize("damage", [DAMAGES[1], DAMAGES[3], DAMAGES[7]])
def test_a_damaged_index_in_an_archive_is_said(
    damage: Callable[[bytes], bytes], folder: Path, embedded: Container
) -> None:
    (folder / NAME).write_bytes(damage((folder / NAME).read_bytes()))
    archive = open_container(packed(folder))
    status = status_of(archive)
    assert status.problem
    assert status.embedded == 0
    archive.close()


# folders that cannot be written


class ReadOnlyFolder(DirectoryContainer):
    """A folder without permission to write; root, who may run the tests, has it everywhere."""

    @property
    def writable(self) -> bool:
        return False


def test_an_index_in_a_folder_that_cannot_be_written_is_read_and_not_written(folder: Path, embedded: Container) -> None:
    before = (folder / NAME).read_bytes()
    container = ReadOnlyFolder(folder)
    for rebuild in (False, True):
        with pytest.raises(ReadOnlyError, match="no permission"):
            sync_index(container, NOMIC, rebuild=rebuild)
    with closing(open_index(container, NOMIC, 768)) as store:
        assert not store.writable
        assert store.counts() == (30, 768)
    assert status_of(container).embedded == 30
    assert (folder / NAME).read_bytes() == before


def test_an_index_of_another_tool_is_copied_where_it_cannot_be_written(folder: Path, embedded: Container) -> None:
    only_pages(folder / NAME)
    before = (folder / NAME).read_bytes()
    with closing(open_index(ReadOnlyFolder(folder), NOMIC, 768)) as store:
        store.prepare()
        assert store.counts() == (30, 768)
    assert (folder / NAME).read_bytes() == before
    with pytest.raises(ReadOnlyError):
        open_index(ReadOnlyFolder(folder), DEFAULT_MODEL, 384, create=True)
