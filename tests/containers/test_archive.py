"""A field in a zip, read in place: zips by other tools, damaged zips, and nothing written anywhere."""

from __future__ import annotations

import io
import shutil
import sqlite3
import stat
import struct
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryfield import Field
from memoryfield.containers import open_container
from memoryfield.containers.archive import ArchiveContainer
from memoryfield.errors import (
    ArchiveError,
    FieldNotFoundError,
    MemoryfieldError,
    PageNameError,
    ReadOnlyError,
)

PAGES = {
    "index.md": b"# Kitchen notes\n\nWhat is known about pans.\n",
    "woks.md": b"---\ntitle: Woks\nuuid: 0b8f6a52-6d3c-4a0e-9a53-0f6f0c5f7a11\n---\n\nCarbon steel heats evenly.\n",
    "炭素.md": "# 炭素\n\n鋼。\n".encode(),
}


def make_zip(path: Path, files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def add_special(path: Path, name: str, mode: int, content: bytes = b"/etc/hostname") -> None:
    """Append an entry with a Unix mode."""
    info = zipfile.ZipInfo(name)
    info.create_system = 3
    info.external_attr = mode << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, content)


def patched(raw: bytes, signature: bytes, offset: int, value: bytes, which: int = 0) -> bytes:
    """Bytes of a zip with some of them replaced, counted from the n-th header of a kind."""
    place = -1
    for _ in range(which + 1):
        place = raw.index(signature, place + 1)
    place += offset
    return raw[:place] + value + raw[place + len(value) :]


LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def content_of(container: ArchiveContainer) -> dict[str, bytes]:
    return {entry.name: container.read(entry.name) for entry in container.entries()}


def tree(path: Path) -> dict[str, tuple[int, int, int]]:
    """Everything under a folder: mode, size, time."""
    return {
        str(item.relative_to(path)): (item.stat().st_mode, item.stat().st_size, item.stat().st_mtime_ns)
        for item in path.rglob("*")
    }


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return make_zip(tmp_path / "notes.memoryfield.zip", PAGES)


# reading in place


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_the_format_allows_is_read(tmp_path: Path, compression: int) -> None:
    container = ArchiveContainer(make_zip(tmp_path / "notes.zip", PAGES, compression))
    assert content_of(container) == PAGES


@pytest.mark.parametrize(
    ("file", "name"),
    [("notes.memoryfield.zip", "notes"), ("notes.zip", "notes"), ("notes", "notes"), ("a.b.zip", "a.b")],
)
def test_an_archive_is_named_after_its_file(tmp_path: Path, file: str, name: str) -> None:
    assert open_container(make_zip(tmp_path / file, PAGES)).name == name


def test_an_entry_tells_size_time_and_crc(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("woks.md", (2026, 3, 14, 9, 12, 40))
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        archive.writestr(info, b"text")
    entry = ArchiveContainer(tmp_path / "notes.zip").entry("woks.md")
    assert (entry.name, entry.size, entry.crc32) == ("woks.md", 4, zlib.crc32(b"text"))
    assert entry.mtime_ns == 1_773_479_560 * 1_000_000_000


def test_an_entry_without_a_date_is_read_all_the_same(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "notes.zip", {"woks.md": b"text"})
    raw = bytearray(path.read_bytes())
    central = raw.index(b"PK\x01\x02")
    raw[central + 12 : central + 16] = bytes(4)
    path.write_bytes(raw)
    container = ArchiveContainer(path)
    assert container.entry("woks.md").mtime_ns == 0
    assert container.read("woks.md") == b"text"


def test_reading_stops_at_the_limit(archive: Path) -> None:
    container = ArchiveContainer(archive)
    assert container.read("index.md", 9) == b"# Kitchen"
    assert container.read("index.md", 9999) == PAGES["index.md"]


def test_a_file_that_is_not_there_is_not_found(archive: Path) -> None:
    container = ArchiveContainer(archive)
    for look in (container.entry, container.read):
        with pytest.raises(FileNotFoundError):
            look("missing.md")


@pytest.mark.parametrize("name", ["", "..", "../woks.md", "sub/woks.md", "a\\b.md", "C:woks.md", "two\nlines.md"])
def test_a_name_that_is_not_plain_is_refused(tmp_path: Path, name: str) -> None:
    archive = make_zip(tmp_path / "notes.zip", {name or "x": b"hidden", **PAGES})
    container = ArchiveContainer(archive, strict=False)
    for look in (container.entry, container.read):
        with pytest.raises(PageNameError) as caught:
            look(name)
        assert caught.value.exit_code == 2


def test_a_file_of_an_archive_lies_nowhere_on_this_machine(archive: Path) -> None:
    assert ArchiveContainer(archive).local_path("woks.md") is None


def test_a_field_in_an_archive_is_listed_read_searched_and_validated_and_nothing_is_written(archive: Path) -> None:
    before = tree(archive.parent)
    with Field.open(archive) as field:
        assert [page.filename for page in field.pages()] == ["index.md", "woks.md", "炭素.md"]
        assert field.read("0b8f6a52").raw == PAGES["woks.md"]
        assert [hit.filename for hit in field.search("carbon steel", mode="keyword").results] == ["woks.md"]
        assert {fault.filename for fault in field.validate()} >= {"炭素.md"}
        assert field.indexes() == []
    assert tree(archive.parent) == before


# read-only


@pytest.mark.parametrize(
    "change",
    [
        lambda container: container.write("new.md", b"text"),
        lambda container: container.write("woks.md", b"text"),
        lambda container: container.rename("woks.md", "pans.md"),
        lambda container: container.delete("woks.md"),
        lambda container: container.lock().__enter__(),
    ],
    ids=["write new", "write", "rename", "delete", "lock"],
)
def test_an_archive_refuses_every_change(archive: Path, change: Callable[[ArchiveContainer], None]) -> None:
    before = archive.read_bytes()
    container = ArchiveContainer(archive)
    assert not container.writable
    with pytest.raises(ReadOnlyError) as caught:
        change(container)
    assert caught.value.exit_code == 3
    assert "unpack" in caught.value.hint
    assert archive.read_bytes() == before


# what is not a file of the field


def test_sub_folders_are_skipped_with_a_reason(tmp_path: Path) -> None:
    files = {**PAGES, "drawings/": b"", "sub/woks.md": b"no page", "sub/deep/pans.md": b"no page", "/rooted.md": b"no"}
    container = ArchiveContainer(make_zip(tmp_path / "notes.zip", files), strict=False)
    assert content_of(container) == PAGES
    reasons = {item.name: item.reason for item in container.skipped()}
    assert reasons["drawings"] == reasons["sub"] == "is a folder"
    assert len(container.skipped()) == 3


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_links_and_special_files_are_skipped_with_a_reason(tmp_path: Path, kind: int) -> None:
    path = make_zip(tmp_path / "notes.zip", PAGES)
    add_special(path, "link.md", kind | 0o777)
    container = ArchiveContainer(path, strict=False)
    assert content_of(container) == PAGES
    reason = "is a link, which is not followed" if kind == stat.S_IFLNK else "is no file of a field"
    assert [(item.name, item.reason) for item in container.skipped()] == [("link.md", reason)]
    with pytest.raises(FileNotFoundError):
        container.read("link.md")


@pytest.mark.parametrize("name", ["..", "a\\b.md", "C:woks.md", "Q: what.md", "two\nlines.md", "bell\x07.md"])
def test_an_entry_whose_name_is_not_plain_spoils_only_itself(tmp_path: Path, name: str) -> None:
    archive = make_zip(tmp_path / "notes.zip", {name: b"carbon", **PAGES})
    container = ArchiveContainer(archive, strict=False)
    assert content_of(container) == PAGES
    assert [item.name for item in container.skipped()] == [name]
    field = Field(container)
    assert [page.filename for page in field.pages()] == sorted(PAGES)
    assert [hit.filename for hit in field.search("carbon", mode="keyword").results] == ["woks.md"]


def test_a_name_of_nothing_spoils_only_itself(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "notes.zip", {"X.md": b"hidden", **PAGES})
    path.write_bytes(path.read_bytes().replace(b"X.md", b"\x00.md"))
    assert content_of(ArchiveContainer(path, strict=False)) == PAGES


def test_an_entry_without_any_name_spoils_only_itself(tmp_path: Path) -> None:
    raw = make_zip(tmp_path / "notes.zip", {"X": b"hidden", **PAGES}).read_bytes()
    for signature, length in ((LOCAL, 26), (CENTRAL, 28)):  # the name becomes an extra field
        raw = patched(raw, signature, length, struct.pack("<HH", 0, 1))
    (tmp_path / "notes.zip").write_bytes(raw)
    assert zipfile.ZipFile(tmp_path / "notes.zip").namelist() == ["", *PAGES]
    assert content_of(ArchiveContainer(tmp_path / "notes.zip", strict=False)) == PAGES


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("mode", [stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777])
def test_of_a_name_that_stands_there_twice_the_entry_and_the_bytes_are_of_one(tmp_path: Path, mode: int) -> None:
    path = make_zip(tmp_path / "notes.zip", {"woks.md": b"first"})
    add_special(path, "woks.md", mode, b"something else")
    container = ArchiveContainer(path, strict=False)
    assert [entry.name for entry in container.entries()] == ["woks.md"]
    entry, content = container.entry("woks.md"), container.read("woks.md")
    assert (entry.size, entry.crc32) == (len(content), zlib.crc32(content))


# zips by other tools


class Pipe(io.RawIOBase):
    """A stream that cannot be rewound, as between two programs."""

    def __init__(self) -> None:
        self.content = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self.content += piece
        return len(piece)


def streamed(path: Path) -> None:
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in PAGES.items():
            archive.writestr(name, content)
    path.write_bytes(pipe.content)
    assert all(info.flag_bits & 8 for info in zipfile.ZipFile(path).infolist())


def zip64(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in PAGES.items():
            with archive.open(name, "w", force_zip64=True) as file:
                file.write(content)


def with_comment(path: Path) -> None:
    make_zip(path, PAGES)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"Packed by hand. " * 100


def without_modes(path: Path) -> None:
    """As DOS and Windows tools write it."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in PAGES.items():
            info = zipfile.ZipInfo(name)
            info.create_system = 0
            info.external_attr = 0x20
            archive.writestr(info, content)
            assert not info.external_attr >> 16


def without_utf8_flag(path: Path) -> None:
    """With names in UTF-8 that are not marked so, as macOS and some zip programs write them."""
    make_zip(path, PAGES)
    raw = path.read_bytes()
    raw = patched(raw, LOCAL, 6, b"\x00\x00", 2)
    path.write_bytes(patched(raw, CENTRAL, 8, b"\x00\x00", 2))
    assert not any(info.flag_bits for info in zipfile.ZipFile(path).infolist())


def test_a_name_in_an_old_code_page_is_told_from_utf_8(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "notes.zip", {"cafX.md": b"coffee", "a.md": b"other"})
    path.write_bytes(path.read_bytes().replace(b"cafX.md", b"caf\x82.md"))
    container = ArchiveContainer(path)
    assert content_of(container) == {"café.md": b"coffee", "a.md": b"other"}


def changed_later(path: Path) -> None:
    """With a hole of old bytes in it, as tools leave that replace the directory only."""
    make_zip(path, {name: content for name, content in PAGES.items() if name != "woks.md"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("woks.md", PAGES["woks.md"])


@pytest.mark.parametrize(
    "make",
    [streamed, zip64, with_comment, without_modes, without_utf8_flag, changed_later],
    ids=lambda make: make.__name__,
)
def test_zips_by_other_tools_are_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "notes.zip"
    make(path)
    container = ArchiveContainer(path)
    assert content_of(container) == PAGES
    assert container.skipped() == []
    assert {entry.name: entry.size for entry in container.entries()} == {n: len(c) for n, c in PAGES.items()}
    assert {entry.crc32 for entry in container.entries()} == {zlib.crc32(content) for content in PAGES.values()}


@pytest.mark.skipif(shutil.which("zip") is None, reason="there is no zip program")
@pytest.mark.parametrize("options", [["-r"], ["-0"], ["-9"], ["-fz"], ["-X"], ["-D"]])
def test_the_zip_programs_archives_are_read(tmp_path: Path, options: list[str]) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, content in PAGES.items():
        (folder / name).write_bytes(content)
    command = ["zip", "-q", *options, "../notes.zip", *PAGES]
    subprocess.run(command, cwd=folder, check=True)
    assert content_of(ArchiveContainer(tmp_path / "notes.zip")) == PAGES
    piped = subprocess.run(["zip", "-q", "-", *PAGES], cwd=folder, check=True, capture_output=True)
    (tmp_path / "piped.zip").write_bytes(piped.stdout)
    assert content_of(ArchiveContainer(tmp_path / "piped.zip")) == PAGES


def as_macos_zips(path: Path, **more: bytes) -> Path:
    files = {f"Kitchen notes/{name}": content for name, content in PAGES.items()}
    files = {"Kitchen notes/": b"", **files, "Kitchen notes/.DS_Store": b"x", "Kitchen notes/sub/a.txt": b"deep"}
    files |= {"__MACOSX/": b"", "__MACOSX/Kitchen notes/._woks.md": b"\x00\x05\x16\x07", ".DS_Store": b"x", **more}
    return make_zip(path, files)


def test_a_folder_zipped_as_macos_does_is_read_as_if_it_were_the_root(tmp_path: Path) -> None:
    container = ArchiveContainer(as_macos_zips(tmp_path / "notes.memoryfield.zip"))
    assert content_of(container) == {**PAGES, ".DS_Store": b"x"}
    assert {item.name for item in container.skipped()} == {"__MACOSX", ".DS_Store", "sub"}
    plain = make_zip(tmp_path / "plain.zip", PAGES)
    with Field(container) as field, Field.open(plain) as same:
        assert [hit.filename for hit in field.search("carbon steel", mode="keyword").results] == ["woks.md"]
        assert field.read("woks").raw == PAGES["woks.md"]
        assert field.content_hash() == same.content_hash()
        faults = field.validate(select=["A", "C"])
        assert [fault.requirement for fault in faults] == ["A-3"]
        assert "Kitchen notes/" in faults[0].message


@pytest.mark.parametrize("beside", ["woks.md", "photo.jpg", "other/pans.md", "other/"])
def test_a_folder_with_something_beside_it_is_not_read_as_the_root(tmp_path: Path, beside: str) -> None:
    container = ArchiveContainer(as_macos_zips(tmp_path / "notes.zip", **{beside: b""}))
    assert container.root == ""
    assert "index.md" not in container.names()


def test_a_folder_without_pages_is_not_read_as_the_root(tmp_path: Path) -> None:
    assert ArchiveContainer(make_zip(tmp_path / "a.zip", {"notes/a.txt": b"", "notes/deep/a.md": b""})).root == ""


def test_an_empty_zip_is_an_empty_field(tmp_path: Path) -> None:
    container = ArchiveContainer(make_zip(tmp_path / "notes.zip", {}))
    assert container.entries() == []
    assert container.skipped() == []


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_an_archive_with_another_tools_index_is_searched(tmp_path: Path, journal: str) -> None:
    connection = sqlite3.connect(tmp_path / "index")
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute(
        "CREATE TABLE pages (filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL, last_modified DATETIME NOT NULL,"
        " sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL)"
    )
    connection.commit()
    connection.close()
    files = {**PAGES, "all-MiniLM-L6-v2.sqlite3": (tmp_path / "index").read_bytes()}
    path = make_zip(tmp_path / "notes.zip", files)
    before = tree(tmp_path)
    with Field.open(path) as field:
        assert [hit.filename for hit in field.search("carbon steel", mode="keyword").results] == ["woks.md"]
    assert tree(tmp_path) == before


def test_an_archive_with_a_damaged_index_is_searched(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "notes.zip", {**PAGES, "all-MiniLM-L6-v2.sqlite3": b"SQLite format 3\x00" + b"x" * 5000})
    with Field.open(path) as field:
        assert [hit.filename for hit in field.search("carbon steel", mode="keyword").results] == ["woks.md"]


# damaged zips


NO_ZIP: dict[str, Callable[[bytes], bytes]] = {
    "empty file": lambda raw: b"",
    "text": lambda raw: b"# Notes\n" * 100,
    "first half only": lambda raw: raw[: len(raw) // 2],
    "end cut off": lambda raw: raw[:-10],
}

BAD_ENTRY: dict[str, Callable[[bytes], bytes]] = {
    "wrong CRC": lambda raw: patched(raw, CENTRAL, 16, b"\x00\x11\x22\x33", 1),
    "data overwritten": lambda raw: patched(raw, LOCAL, 40, b"\xff" * 12, 1),
    "encrypted": lambda raw: patched(raw, CENTRAL, 8, b"\x01", 1),
    "strongly encrypted": lambda raw: patched(raw, CENTRAL, 8, b"\x41", 1),
    "unknown compression": lambda raw: patched(raw, CENTRAL, 10, struct.pack("<H", 97), 1),
    "shorter than its data": lambda raw: patched(raw, CENTRAL, 24, struct.pack("<I", 3), 1),
    "beyond the end": lambda raw: patched(raw, CENTRAL, 42, struct.pack("<I", 1 << 24), 1),
    "at no header": lambda raw: patched(raw, CENTRAL, 42, struct.pack("<I", raw.index(LOCAL, 1) + 2), 1),
    "other name in its header": lambda raw: patched(raw, LOCAL, 30, b"W", 1),
    "header's name not UTF-8": lambda raw: patched(patched(raw, LOCAL, 6, b"\x00\x08", 1), LOCAL, 30, b"\xff", 1),
}


@pytest.mark.parametrize("damage", NO_ZIP)
def test_what_is_no_readable_zip_is_an_archive_error(archive: Path, damage: str) -> None:
    archive.write_bytes(NO_ZIP[damage](archive.read_bytes()))
    with pytest.raises(ArchiveError) as caught:
        open_container(archive)
    assert "notes.memoryfield.zip" in caught.value.message
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("damage", BAD_ENTRY)
def test_a_damaged_entry_cannot_be_read_and_spoils_only_itself(archive: Path, damage: str) -> None:
    archive.write_bytes(BAD_ENTRY[damage](archive.read_bytes()))
    container = ArchiveContainer(archive, strict=False)
    with pytest.raises(OSError, match=r"woks\.md"):
        container.read("woks.md")
    assert container.read("index.md") == PAGES["index.md"]
    assert container.read("炭素.md") == PAGES["炭素.md"]
    field = Field(container)
    assert [page.filename for page in field.pages()] == ["index.md", "炭素.md"]
    faults = [fault.filename for fault in field.validate(select=["A"])]
    assert "woks.md" in faults
    assert "index.md" not in faults
    assert [hit.filename for hit in field.search("pans", mode="keyword").results] == ["index.md"]


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_data_and_another_method_are_an_os_error(tmp_path: Path, compression: int) -> None:
    path = make_zip(tmp_path / "notes.zip", {"woks.md": b"Carbon steel heats evenly. " * 40}, compression)
    path.write_bytes(patched(path.read_bytes(), LOCAL, 30 + len("woks.md") + 12, b"\xff" * 12))
    container = ArchiveContainer(path)
    with pytest.raises(OSError, match=r"woks\.md"):
        container.read("woks.md")


def test_an_entry_that_lies_before_the_file_is_an_error_of_ours(archive: Path) -> None:
    raw = archive.read_bytes()
    start = raw.index(CENTRAL)
    archive.write_bytes(patched(raw, END, 16, struct.pack("<I", start + 5)))
    with pytest.raises((MemoryfieldError, OSError)):
        content_of(ArchiveContainer(archive))


def test_a_folder_or_nothing_is_no_archive(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.zip", tmp_path):
        with pytest.raises((FieldNotFoundError, OSError)):
            ArchiveContainer(path)


def _seed(compression: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in PAGES.items():
            archive.writestr(name, content)
    return buffer.getvalue()


SEEDS = [_seed(kind) for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)]


@settings(max_examples=250, deadline=None, derandomize=True)
@given(
    seed=st.sampled_from(SEEDS),
    edits=st.lists(st.tuples(st.integers(0, 5000), st.binary(min_size=1, max_size=4)), min_size=1, max_size=4),
    cut=st.integers(0, 5000),
)
def test_whatever_bytes_a_zip_has_only_our_errors_and_os_errors_come_of_it(
    tmp_path_factory: pytest.TempPathFactory, seed: bytes, edits: list[tuple[int, bytes]], cut: int
) -> None:
    raw = bytearray(seed)
    for place, value in edits:
        place %= len(raw)
        raw[place : place + len(value)] = value
    if cut < len(raw) // 4:
        del raw[cut : cut + 7]
    path = tmp_path_factory.getbasetemp() / "fuzzed.zip"
    path.write_bytes(raw)
    try:
        container = ArchiveContainer(path, strict=False)
    except ArchiveError:
        return
    for entry in container.entries():
        try:
            container.read(entry.name)
        except OSError:
            continue
    container.close()
