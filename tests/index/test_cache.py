"""What is kept of archives in the user's cache: when it serves, for which bytes alone, and what may go wrong."""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from memoryfield import Field, SearchResult, pack
from memoryfield.containers import DEFAULT_LIMITS, Limits
from memoryfield.containers.archive import ArchiveContainer
from memoryfield.containers.survey import Item
from memoryfield.containers.unpacking import Source
from memoryfield.embedders.minilm import MiniLM
from memoryfield.errors import IndexFileError
from memoryfield.index import cache, schema
from memoryfield.index.cache import Slot, forget, slot
from memoryfield.index.files import open_index
from memoryfield.index.store import IndexStore

from ..support import full_disk, no_privileges

MODEL = "all-MiniLM-L6-v2"
INDEX = f"{MODEL}.sqlite3"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="as POSIX has it")
PAGES = {"woks.md": "# Woks\n\nCarbon steel heats evenly.\n", "pans.md": "# Pans\n\nCast iron stays hot.\n"}


@pytest.fixture(autouse=True)
def _small_archives_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the small archives of these tests are kept; and no test leaves its distrust to the next."""
    monkeypatch.setattr(cache, "MIN_ARCHIVE", 0)
    monkeypatch.setattr(cache, "_distrusted", set())


def zipped(path: Path, files: dict[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    path.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), content, compression)
    return path


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a field with an index of the two pages."""
    folder = tmp_path_factory.mktemp("embedded")
    for name, text in PAGES.items():
        (folder / name).write_text(text, "utf-8")
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    with Field.open(folder) as field:
        assert field.sync().embedded == 2
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """An archive without an index."""
    return zipped(tmp_path / "shelf" / "notes.memoryfield.zip", {**PAGES})


@pytest.fixture
def indexed(tmp_path: Path, embedded: dict[str, bytes]) -> Path:
    """An archive with its index."""
    return zipped(tmp_path / "shelf" / "notes.memoryfield.zip", {**embedded})


@pytest.fixture(params=["plain", "indexed"])
def archive(request: pytest.FixtureRequest) -> Path:
    """Both."""
    path: Path = request.getfixturevalue(request.param)
    return path


NO_LIMITS = Limits(entry=1 << 40, total=1 << 40, ratio=1 << 20)


def search(
    path: Path, query: str = "carbon steel", mode: str = "keyword", limits: Limits = DEFAULT_LIMITS, **options: Any
) -> SearchResult:
    with Field.open(path, limits) as field:
        return field.search(query, mode=mode, **options)


def found(path: Path, query: str = "carbon steel", mode: str = "keyword", **options: Any) -> list[str]:
    return [hit.filename for hit in search(path, query, mode, **options).results]


def kept(folder: Path) -> list[Path]:
    """What the cache holds, anything included."""
    return sorted(folder.iterdir()) if folder.exists() else []


def kept_store(path: Path) -> IndexStore:
    """What the cache holds of an archive's index."""
    with closing(ArchiveContainer(path)) as container:
        place = slot(container, INDEX)
        store = place.open(MODEL, 384) if place else None
    assert store is not None
    return store


def tree(path: Path) -> dict[str, tuple[int, int, int, int]]:
    return {
        str(item.relative_to(path)): (
            item.stat().st_mode,
            item.stat().st_size,
            item.stat().st_mtime_ns,
            item.stat().st_ino,
        )
        for item in [path, *path.rglob("*")]
    }


# it serves


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_the_answer_is_the_same_at_first_later_without_a_cache_and_in_the_folder(
    indexed: Path,
    embedded: dict[str, bytes],
    tmp_path: Path,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
    cache_folder: Path,
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, content in embedded.items():
        (folder / name).write_bytes(content)
    first, later = search(indexed, mode=mode, min_score=0), search(indexed, mode=mode, min_score=0)
    assert [path.suffix for path in kept(cache_folder)] == [".sqlite3"]
    monkeypatch.setenv("MEMORYFIELD_CACHE", "")
    uncached, unpacked = search(indexed, mode=mode, min_score=0), search(folder, mode=mode, min_score=0)
    assert first == later == uncached == unpacked
    assert first.results


def test_a_later_search_reads_no_more_of_the_archive_than_what_it_shows(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    really = Source.pieces

    def counting(self: Source, item: Item) -> Any:
        read.append(item.name)
        return really(self, item)

    monkeypatch.setattr(Source, "pieces", counting)
    search(archive)
    assert len(read) > 1
    read.clear()
    assert found(archive) == ["woks.md"]
    assert read == ["woks.md"]


def test_an_entry_is_not_written_again(archive: Path, cache_folder: Path) -> None:
    search(archive)
    before = tree(cache_folder)
    assert found(archive) == found(archive, mode="hybrid") == ["woks.md"]
    assert tree(cache_folder) == before


def test_nothing_is_written_beside_the_archive(archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    before, content = tree(tmp_path), archive.read_bytes()
    for _ in range(2):
        assert found(archive) == ["woks.md"]
    assert tree(tmp_path) == before
    assert archive.read_bytes() == content


def test_an_index_that_is_behind_is_brought_up_to_date_once(
    tmp_path: Path, embedded: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    path = zipped(tmp_path / "a.zip", {**embedded, "new.md": "Quench the blade.", "pans.md": "Enamel chips."})
    calls: list[int] = []
    really = MiniLM.embed_pages

    def counting(self: MiniLM, texts: Any) -> Any:
        calls.append(len(texts))
        return really(self, texts)

    monkeypatch.setattr(MiniLM, "embed_pages", counting)
    assert found(path, "quench", "hybrid") == ["new.md"]
    assert sum(calls) == 2
    (entry,) = kept(cache_folder)
    before = tree(cache_folder)
    later = search(path, "enamel", "hybrid")
    assert ([hit.filename for hit in later.results], later.notes) == (["pans.md"], [])
    assert found(path, "cast iron") == []
    assert sum(calls) == 2
    assert tree(cache_folder) == before
    with closing(sqlite3.connect(entry)) as connection:
        assert next(connection.execute("SELECT count(*) FROM pages"))[0] == 3


def test_what_cannot_be_embedded_here_is_noted_each_time_and_the_words_are_kept(
    tmp_path: Path, embedded: dict[str, bytes], cache_folder: Path
) -> None:
    many = {f"blade-{number}.md": f"Quench blade {number}." for number in range(30)}
    path = zipped(tmp_path / "a.zip", {**embedded, **many})
    first = search(path, "quench blade 7", "hybrid", min_score=0)
    before = tree(cache_folder)
    later = search(path, "quench blade 7", "hybrid", min_score=0)
    assert first == later
    assert first.results[0].filename == "blade-7.md"
    assert any("30 pages are not embedded yet" in note and "unpack" in note for note in first.notes)
    assert tree(cache_folder) == before


def test_without_sync_an_entry_is_used_as_it_is(tmp_path: Path, embedded: dict[str, bytes], cache_folder: Path) -> None:
    path = zipped(tmp_path / "a.zip", {**embedded, "new.md": "Quench the blade."})
    seen = search(path, "quench", sync=False)
    assert (seen.results, any("1 page" in note for note in seen.notes)) == ([], True)
    assert found(path, "quench") == ["new.md"]


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_another_tools_index_gets_its_words_once(tmp_path: Path, journal: str, embedded: dict[str, bytes]) -> None:
    (tmp_path / "theirs").write_bytes(embedded[INDEX])
    with closing(apsw.Connection(str(tmp_path / "theirs"))) as connection:
        connection.execute(schema.DROP_OURS)
        connection.execute(f"PRAGMA journal_mode = {journal}")
    path = zipped(tmp_path / "a.zip", {**PAGES, INDEX: (tmp_path / "theirs").read_bytes()})
    assert found(path) == found(path) == ["woks.md"]
    with closing(kept_store(path)) as store:
        assert store.has_own_tables


def test_other_commands_see_the_index_as_it_lies_in_the_archive(tmp_path: Path, embedded: dict[str, bytes]) -> None:
    path = zipped(tmp_path / "a.zip", {**embedded, "new.md": "Quench the blade."})
    assert found(path, "quench", "hybrid") == ["new.md"]
    with Field.open(path) as field:
        (status,) = field.indexes()
    assert (status.embedded, status.pending) == (2, 1)


def test_a_packed_index_says_that_all_is_settled(tmp_path: Path, embedded: dict[str, bytes]) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, content in embedded.items():
        (folder / name).write_bytes(content)
        os.utime(folder / name, (1_700_000_000, 1_700_000_000))
    with Field.open(folder) as field:
        path = pack(field, tmp_path / "notes.memoryfield.zip").path
    with closing(ArchiveContainer(path)) as container, closing(open_index(container, MODEL, 384)) as store:
        assert store.is_current(container.fingerprint(), vectors=True)


# it pays


def test_nothing_is_kept_of_what_is_searched_quickly(
    archive: Path, monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    monkeypatch.setattr(cache, "MIN_ARCHIVE", archive.stat().st_size + 1)
    assert found(archive) == ["woks.md"]
    assert kept(cache_folder) == []
    monkeypatch.setattr(cache, "MIN_ARCHIVE", archive.stat().st_size)
    assert found(archive) == ["woks.md"]
    assert kept(cache_folder)


def test_nothing_is_kept_where_hashing_would_take_longer(
    tmp_path: Path, embedded: dict[str, bytes], cache_folder: Path
) -> None:
    for files in ({**PAGES}, {**embedded}):
        path = zipped(tmp_path / "a.zip", {**files, "film.mp4": os.urandom(2_000_000)})
        assert found(path) == ["woks.md"]
    assert kept(cache_folder) == []


# the content alone decides


def test_archives_of_the_same_name_do_not_meet(tmp_path: Path, embedded: dict[str, bytes]) -> None:
    one = zipped(tmp_path / "a" / "notes.zip", {**embedded})
    other = zipped(tmp_path / "b" / "notes.zip", {"woks.md": "Bronze bells.", "pans.md": "Silver bells."})
    for _ in range(2):
        assert (found(one), found(one, "bronze")) == (["woks.md"], [])
        assert (found(other), found(other, "bronze")) == ([], ["woks.md"])


@pytest.mark.parametrize("in_place", [True, False])
def test_an_archive_that_is_replaced_with_the_same_size_and_time_is_another(tmp_path: Path, in_place: bool) -> None:
    path = zipped(tmp_path / "a.zip", {"woks.md": "Carbon steel."}, zipfile.ZIP_STORED)
    other = zipped(tmp_path / "b.zip", {"woks.md": "Bronze bells!"}, zipfile.ZIP_STORED)
    assert found(path) == ["woks.md"]
    before = path.stat()
    if in_place:
        path.write_bytes(other.read_bytes())
    else:
        other.replace(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert (found(path), found(path, "bronze")) == ([], ["woks.md"])


def with_crc(text: str, wanted: int) -> str:
    """The text and 64 letters, small ones and capitals such that the CRC-32 is the wanted one.

    CRC-32 is linear: each letter's case flips a fixed pattern, and some of the patterns give the difference.
    """
    base = text.encode() + b"z" * 64
    basis: dict[int, tuple[int, int]] = {}  # by highest bit: pattern, and the letters that give it
    for place in range(64):
        changed = bytearray(base)
        changed[len(text) + place] ^= 0x20
        pattern, letters = zlib.crc32(changed) ^ zlib.crc32(base), 1 << place
        while pattern and pattern.bit_length() in basis:
            known = basis[pattern.bit_length()]
            pattern, letters = pattern ^ known[0], letters ^ known[1]
        if pattern:
            basis[pattern.bit_length()] = (pattern, letters)
    rest, chosen = wanted ^ zlib.crc32(base), 0
    while rest:
        pattern, letters = basis[rest.bit_length()]
        rest, chosen = rest ^ pattern, chosen ^ letters
    return text + "".join("Z" if chosen >> place & 1 else "z" for place in range(64))


def forged_and_honest(folder: Path, more: dict[str, bytes] | None = None) -> list[Path]:
    """Two archives that differ in a page's text and in nothing that a zip's directory says."""
    honest = "Carbon steel heats evenly. " + "y" * 64
    forged = with_crc("Bronze bells ring loudly.. ", zlib.crc32(honest.encode()))
    paths = [
        zipped(folder / place / "notes.zip", {"woks.md": text, **(more or {})}, zipfile.ZIP_STORED)
        for place, text in (("a", forged), ("b", honest))
    ]
    directories = []
    for path in paths:
        with zipfile.ZipFile(path) as opened:
            directories.append(path.read_bytes()[opened.start_dir :])
    assert directories[0] == directories[1]
    assert paths[0].stat().st_size == paths[1].stat().st_size
    return paths


@pytest.mark.parametrize("index", [False, True])
def test_an_archive_with_a_forged_directory_does_not_poison_the_honest_one(
    tmp_path: Path, embedded: dict[str, bytes], index: bool, cache_folder: Path
) -> None:
    paths = forged_and_honest(tmp_path, {INDEX: embedded[INDEX]} if index else {})
    for _ in range(2):
        assert (found(paths[0], "bronze bells"), found(paths[0], "carbon steel")) == (["woks.md"], [])
        assert (found(paths[1], "bronze bells"), found(paths[1], "carbon steel")) == ([], ["woks.md"])
    assert len(kept(cache_folder)) == 2


@pytest.mark.parametrize("in_place", [True, False])
def test_an_archive_that_changes_while_it_is_read_is_not_kept(
    tmp_path: Path, in_place: bool, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "a.zip", {"woks.md": "Carbon steel.", "b.md": "Bells."}, zipfile.ZIP_STORED)
    other = zipped(tmp_path / "b.zip", {"woks.md": "Bronze bells!", "b.md": "Books."}, zipfile.ZIP_STORED)
    content = other.read_bytes()
    really = ArchiveContainer.read

    def changing(self: ArchiveContainer, name: str, limit: int | None = None) -> bytes:
        data = really(self, name, limit)
        if in_place:
            path.write_bytes(content)
        elif other.exists():
            other.replace(path)
        return data

    with monkeypatch.context() as patch:
        patch.setattr(ArchiveContainer, "read", changing)
        search(path)
    assert kept(cache_folder) == []
    assert (found(path), found(path, "bronze")) == ([], ["woks.md"])


@pytest.mark.parametrize("in_place", [True, False])
def test_what_was_read_of_other_bytes_is_not_kept_whatever_the_directory_says(
    tmp_path: Path, in_place: bool, cache_folder: Path
) -> None:
    forged, honest = forged_and_honest(tmp_path)
    if in_place:  # the forged bytes come between the sha256 and the reading
        content = honest.read_bytes()
        with Field.open(honest) as field:
            assert isinstance(field.container, ArchiveContainer)
            assert field.container.sha256()
            honest.write_bytes(forged.read_bytes())
            field.search("bronze", mode="keyword")
        honest.write_bytes(content)
    else:  # the forged file is open, the honest one takes its place
        with Field.open(forged) as field:
            honest.replace(forged)
            field.search("bronze", mode="keyword")
        honest = forged
    assert kept(cache_folder) == []
    assert (found(honest, "bronze"), found(honest)) == ([], ["woks.md"])


def test_a_directory_that_is_older_than_the_sha256_is_not_kept(tmp_path: Path, cache_folder: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"woks.md": "Carbon steel."}, zipfile.ZIP_STORED)
    other = zipped(tmp_path / "b.zip", {"pans.md": "Bronze bells!"}, zipfile.ZIP_STORED)
    with Field.open(path) as field:
        path.write_bytes(other.read_bytes())
        field.search("carbon", mode="keyword")
    assert kept(cache_folder) == []


@pytest.mark.skipif(shutil.which("zip") is None, reason="there is no zip program")
def test_the_zip_programs_archive_is_kept_too(tmp_path: Path, embedded: dict[str, bytes], cache_folder: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, content in embedded.items():
        (folder / name).write_bytes(content)
    subprocess.run(["zip", "-q", "-X", "../notes.zip", *embedded], cwd=folder, check=True)
    assert found(tmp_path / "notes.zip") == found(tmp_path / "notes.zip") == ["woks.md"]
    assert len(kept(cache_folder)) == 1


# what may be wrong with an entry


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:9000])


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


def _garbage(path: Path) -> None:
    path.write_bytes(os.urandom(50_000))


def _garbage_inside(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))


def _zeros_inside(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4096] + bytes(len(content) - 4096))


def _other_tables(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.commit()


def _other_columns(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE pages (name TEXT)")
        connection.commit()


def _without_our_tables(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE memoryfield_files")
        connection.commit()


def _without_words(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE memoryfield_keyword_data")
        connection.commit()


def _folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "file").write_text("mine")


@pytest.mark.parametrize(
    "damage",
    [
        _truncated,
        _emptied,
        _garbage,
        _garbage_inside,
        _zeros_inside,
        _other_tables,
        _other_columns,
        _without_our_tables,
        _without_words,
    ],
)
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_damaged_entry_is_thrown_away_and_made_again(
    archive: Path, damage: Callable[[Path], None], mode: str, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = search(archive, mode=mode)
    assert search(archive, mode=mode) == right
    (entry,) = kept(cache_folder)
    damage(entry)
    damaged = entry.read_bytes()
    assert search(archive, mode=mode) == right
    monkeypatch.setattr(cache, "_distrusted", set())  # as in a new process
    assert search(archive, mode=mode) == right
    assert kept(cache_folder) == [entry]
    assert entry.read_bytes() != damaged
    before = tree(cache_folder)
    assert search(archive, mode=mode) == right
    assert tree(cache_folder) == before


def test_a_folder_in_an_entrys_place_is_left_alone(archive: Path, cache_folder: Path) -> None:
    right = search(archive)
    (entry,) = kept(cache_folder)
    _folder_in_its_place(entry)
    assert search(archive) == search(archive) == right
    assert (entry / "file").read_text() == "mine"
    assert kept(cache_folder) == [entry]


@POSIX
def test_a_link_in_an_entrys_place_is_replaced_and_not_followed(
    archive: Path, cache_folder: Path, tmp_path: Path
) -> None:
    right = search(archive)
    (entry,) = kept(cache_folder)
    for content in (entry.read_bytes(), b"mine"):
        precious = tmp_path / "precious"
        precious.write_bytes(content)
        os.utime(precious, (1_000_000_000, 1_000_000_000))
        entry.unlink()
        entry.symlink_to(precious)
        before = precious.stat()
        assert search(archive) == right
        assert precious.read_bytes() == content
        assert precious.stat().st_mtime_ns == before.st_mtime_ns
        assert entry.is_file()
        assert not entry.is_symlink()


def test_an_archive_whose_own_index_is_damaged_is_searched_by_words(
    tmp_path: Path, embedded: dict[str, bytes], cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = embedded[INDEX]
    for damaged in (b"no database", index[:8000], index[:8192] + b"\xa5" * (len(index) - 8192)):
        path = zipped(tmp_path / "a.zip", {**PAGES, INDEX: damaged})
        for _ in range(2):
            monkeypatch.setattr(cache, "_distrusted", set())
            seen = search(path, mode="hybrid")
            assert [hit.filename for hit in seen.results] == ["woks.md"]
            assert any(MODEL in note for note in seen.notes)


def test_only_what_turned_out_damaged_is_distrusted(archive: Path, tmp_path: Path, cache_folder: Path) -> None:
    other = zipped(tmp_path / "other.zip", {"bells.md": "Bronze bells."})
    assert found(archive) + found(other, "bronze") == ["woks.md", "bells.md"]
    with closing(ArchiveContainer(archive)) as container:
        assert forget(container)
        assert not forget(container)
        assert slot(container, "") is None
    assert len(kept(cache_folder)) == 1
    with Field.open(tmp_path) as folder:
        assert not forget(folder.container)


# bombs


def test_an_index_that_inflates_beyond_measure_is_refused(
    tmp_path: Path, embedded: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    monkeypatch.setattr(cache, "HARMLESS", 1 << 20)
    path = zipped(tmp_path / "a.zip", {**PAGES, INDEX: embedded[INDEX] + bytes(30_000_000)})
    seen = search(path, mode="hybrid", limits=NO_LIMITS)
    assert (seen.mode, [hit.filename for hit in seen.results]) == ("keyword", ["woks.md"])
    assert any("inflates" in note and INDEX in note for note in seen.notes)
    assert sum(entry.stat().st_size for entry in kept(cache_folder)) < 1_000_000
    with closing(ArchiveContainer(path, NO_LIMITS)) as container, pytest.raises(IndexFileError):
        open_index(container, MODEL, 384)


def test_an_index_that_would_fill_the_disk_is_refused(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_INFLATED", 10_000)
    seen = search(indexed, mode="hybrid")
    assert (seen.mode, [hit.filename for hit in seen.results]) == ("keyword", ["woks.md"])


@pytest.mark.parametrize("size", [100, (1 << 32) - 2])
def test_no_more_is_inflated_than_an_index_says(
    tmp_path: Path, embedded: dict[str, bytes], size: int, cache_folder: Path
) -> None:
    path = zipped(tmp_path / "a.zip", {INDEX: embedded[INDEX], **PAGES})
    raw = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = raw.index(signature) + offset
        raw[place : place + 4] = struct.pack("<I", size)
    path.write_bytes(raw)
    seen = search(path, mode="hybrid", limits=NO_LIMITS)
    assert (seen.mode, [hit.filename for hit in seen.results]) == ("keyword", ["woks.md"])
    assert sum(entry.stat().st_size for entry in kept(cache_folder)) < 1_000_000


# the folder


@POSIX
def test_folder_and_entry_are_the_users_alone(archive: Path, cache_folder: Path) -> None:
    old = os.umask(0)
    try:
        search(archive)
    finally:
        os.umask(old)
    assert cache_folder.stat().st_mode & 0o777 == 0o700
    assert [entry.stat().st_mode & 0o777 for entry in kept(cache_folder)] == [0o600]


@POSIX
def test_a_folder_that_others_may_read_is_closed_and_one_that_they_may_write_is_not_used(
    archive: Path, cache_folder: Path
) -> None:
    cache_folder.mkdir(mode=0o755)
    cache_folder.chmod(0o775)
    assert found(archive) == ["woks.md"]
    assert kept(cache_folder) == []
    cache_folder.chmod(0o755)
    assert found(archive) == ["woks.md"]
    assert cache_folder.stat().st_mode & 0o777 == 0o700
    assert kept(cache_folder)


@POSIX
def test_a_folder_that_cannot_be_written_is_done_without(archive: Path, cache_folder: Path) -> None:
    archive.chmod(0o644)
    for folder in (archive.parent, *archive.parents[:3], cache_folder.parent, *cache_folder.parents[:3]):
        folder.chmod(0o755)
    with no_privileges():
        first = search(archive)
    assert [hit.filename for hit in first.results] == ["woks.md"]
    assert not cache_folder.exists()


def test_a_file_in_the_folders_place_is_done_without(archive: Path, cache_folder: Path) -> None:
    cache_folder.write_text("mine")
    assert found(archive) == found(archive) == ["woks.md"]
    assert cache_folder.read_text() == "mine"


@POSIX
@pytest.mark.parametrize("limit", [0, 10_000])
def test_a_full_disk_is_done_without_and_nothing_is_left(archive: Path, cache_folder: Path, limit: int) -> None:
    with full_disk(limit):
        seen = search(archive)
    assert ([hit.filename for hit in seen.results], kept(cache_folder)) == (["woks.md"], [])
    assert search(archive) == seen
    assert len(kept(cache_folder)) == 1


def test_the_cache_can_be_turned_off(archive: Path, monkeypatch: pytest.MonkeyPatch, cache_folder: Path) -> None:
    monkeypatch.setenv("MEMORYFIELD_CACHE", "")
    monkeypatch.chdir(archive.parent)
    before = tree(archive.parent)
    assert found(archive) == ["woks.md"]
    assert tree(archive.parent) == before
    assert kept(cache_folder) == []


@pytest.mark.skipif(sys.platform != "linux", reason="where it lies elsewhere, no test can move it")
def test_without_the_variable_it_lies_in_the_users_cache_folder(
    archive: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("MEMORYFIELD_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert found(archive) == ["woks.md"]
    assert len(kept(tmp_path / "xdg" / "memoryfield" / "archives")) == 1


# no more than so much, no longer than so long


def several(folder: Path, count: int = 4) -> list[Path]:
    return [zipped(folder / f"{number}.zip", {"a.md": f"Bell number {number}."}) for number in range(count)]


def entry_of(path: Path) -> Path:
    with closing(ArchiveContainer(path)) as container:
        place = slot(container, "")
        assert isinstance(place, Slot)
        return place.path


def test_what_was_used_longest_ago_goes_when_it_is_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archives = several(tmp_path)
    now = time.time()
    for number, path in enumerate(archives[:3]):
        search(path, "bell")
        os.utime(entry_of(path), (now - 50_000 + number, now - 50_000 + number))
    search(archives[0], "bell")  # used again
    size = entry_of(archives[0]).stat().st_size
    monkeypatch.setattr(cache, "MAX_TOTAL", 3 * size + size // 2)
    search(archives[3], "bell")
    assert [entry_of(path).exists() for path in archives] == [True, False, True, True]


def test_what_nobody_used_for_long_goes(tmp_path: Path, cache_folder: Path) -> None:
    archives = several(tmp_path, 3)
    for path, days in zip(archives, (31, 29, 31), strict=True):
        search(path, "bell")
        os.utime(entry_of(path), (time.time() - days * 86_400,) * 2)
    stale, fresh = cache_folder / ".0000.tmp", cache_folder / ".1111.tmp"
    for leftover in (stale, fresh):
        leftover.write_bytes(b"of a process that was killed, or is at work")
    os.utime(stale, (time.time() - 2 * 86_400,) * 2)
    search(archives[2], "bell")
    assert [entry_of(path).exists() for path in archives] == [False, True, True]
    assert (stale.exists(), fresh.exists()) == (False, True)


def test_an_entry_larger_than_all_that_may_be_kept_is_not(
    archive: Path, monkeypatch: pytest.MonkeyPatch, cache_folder: Path
) -> None:
    monkeypatch.setattr(cache, "MAX_TOTAL", 1000)
    assert found(archive) == found(archive) == ["woks.md"]
    assert kept(cache_folder) == []


@POSIX
def test_an_entry_that_is_removed_goes_on_to_serve_who_reads_it(indexed: Path, cache_folder: Path) -> None:
    search(indexed)
    with closing(kept_store(indexed)) as store:
        kept(cache_folder)[0].unlink()
        assert set(store.rows()) == set(PAGES)


def test_several_processes_at_once_find_the_same(archive: Path, cache_folder: Path) -> None:
    code = "import sys\nfrom memoryfield.index import cache\ncache.MIN_ARCHIVE = 0\nfrom memoryfield.cli import entry\n"
    command = [sys.executable, "-c", f"{code}sys.exit(entry())", "search", "carbon steel", "--mode", "keyword"]
    for _ in range(2):
        running = [
            subprocess.Popen([*command, "--json", "-f", str(archive)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(4)
        ]
        answers = [process.communicate() for process in running]
        assert {process.returncode for process in running} == {0}
        assert {b"woks.md" in out for out, _ in answers} == {True}
        assert len({out for out, _ in answers}) == 1
        assert [entry.suffix for entry in kept(cache_folder)] == [".sqlite3"]
