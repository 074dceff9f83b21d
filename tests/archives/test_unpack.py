"""Unpacking: a hostile or damaged archive leaves nothing, and a good one all of its files in a new folder."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryfield import Field, MemoryfieldError, pack, unpack
from memoryfield.containers import Limits
from memoryfield.errors import (
    ArchiveError,
    FieldNotFoundError,
    NotEmptyError,
    ReadOnlyError,
    RefusedError,
    UnsafeArchiveError,
)

from ..support import full_disk, no_privileges

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")

FILES = {
    "index.md": b"# Kitchen notes\n\nWhat is known about pans.\n",
    "woks.md": b"Carbon steel heats evenly.\n" * 40,
    "炭素.md": "# 炭素\n\n鋼。\n".encode(),
    "photo.jpg": bytes(range(256)),
    "empty": b"",
}
LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"


def make_zip(path: Path, files: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tree(path: Path) -> dict[str, bytes | str]:
    """Everything under a folder: bytes of files, targets of links."""
    found: dict[str, bytes | str] = {}
    for item in path.rglob("*"):
        name = str(item.relative_to(path))
        if item.is_symlink():
            found[name] = f"link to {item.readlink()}"
        else:
            found[name] = item.read_bytes() if item.is_file() else "folder"
    return found


def patched(raw: bytes, signature: bytes, offset: int, value: bytes, which: int = 0) -> bytes:
    """Bytes of a zip with some of them replaced, counted from the n-th header of a kind."""
    place = -1
    for _ in range(which + 1):
        place = raw.index(signature, place + 1)
    place += offset
    return raw[:place] + value + raw[place + len(value) :]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return make_zip(tmp_path / "notes.memoryfield.zip", FILES)


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    return tmp_path / "copy"


# a good archive


def test_every_file_comes_out_to_the_byte(archive: Path, dest: Path) -> None:
    unpacked = unpack(archive, dest)
    assert tree(dest) == FILES
    assert unpacked.path == dest
    assert (unpacked.files, unpacked.pages, unpacked.bytes) == (5, 3, sum(map(len, FILES.values())))
    assert sorted(item.name for item in archive.parent.iterdir()) == ["copy", "notes.memoryfield.zip"]


@pytest.mark.parametrize("file", ["notes.memoryfield.zip", "notes.zip"])
def test_without_a_place_it_goes_into_the_current_folder_under_the_archives_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    (tmp_path / "here").mkdir()
    make_zip(tmp_path / file, FILES)
    monkeypatch.chdir(tmp_path / "here")
    assert unpack(Path("..") / file).path == Path("notes")
    assert tree(tmp_path / "here" / "notes") == FILES


def test_folders_that_lead_to_the_place_are_made(archive: Path, tmp_path: Path) -> None:
    unpack(archive, tmp_path / "new" / "deep" / "copy")
    assert tree(tmp_path / "new" / "deep" / "copy") == FILES


def test_sub_folders_come_out_and_are_no_pages(tmp_path: Path, dest: Path) -> None:
    files = {"woks.md": b"text", "sub/": b"", "sub/deep/pans.md": b"text", "hollow/": b""}
    unpacked = unpack(make_zip(tmp_path / "notes.zip", files), dest)
    assert (unpacked.files, unpacked.pages) == (2, 1)
    assert (dest / "hollow").is_dir()
    assert (dest / "sub" / "deep" / "pans.md").read_bytes() == b"text"


def test_files_keep_their_times(tmp_path: Path, dest: Path) -> None:
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("woks.md", (2026, 3, 14, 9, 12, 40)), b"text")
    unpack(tmp_path / "notes.zip", dest)
    assert (dest / "woks.md").stat().st_mtime_ns == 1_773_479_560 * 1_000_000_000


@posix_only
def test_no_file_comes_out_executable_or_beyond_the_umask(tmp_path: Path, dest: Path) -> None:
    info = zipfile.ZipInfo("woks.md")
    info.external_attr = (stat.S_IFREG | 0o6777) << 16
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        archive.writestr(info, b"text")
    former = os.umask(0o077)
    try:
        unpack(tmp_path / "notes.zip", dest)
    finally:
        os.umask(former)
    assert (dest / "woks.md").stat().st_mode & 0o7777 == 0o600
    assert dest.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_the_format_allows_is_unpacked(tmp_path: Path, dest: Path, compression: int) -> None:
    unpack(make_zip(tmp_path / "notes.zip", FILES, compression), dest)
    assert tree(dest) == FILES


def test_an_entry_in_zip64_form_is_unpacked(tmp_path: Path, dest: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive,
        archive.open("woks.md", "w", force_zip64=True) as file,
    ):
        file.write(FILES["woks.md"])
    unpack(tmp_path / "notes.zip", dest)
    assert tree(dest) == {"woks.md": FILES["woks.md"]}


def test_names_in_utf8_that_are_not_marked_so_come_out_right(archive: Path, dest: Path) -> None:
    raw = patched(archive.read_bytes(), LOCAL, 6, b"\x00\x00", 2)
    archive.write_bytes(patched(raw, CENTRAL, 8, b"\x00\x00", 2))
    unpack(archive, dest)
    assert tree(dest) == FILES


@pytest.mark.skipif(shutil.which("zip") is None, reason="there is no zip program")
def test_the_zip_programs_archives_are_unpacked(tmp_path: Path, dest: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    subprocess.run(["zip", "-q", "-r", "../files.zip", "."], cwd=folder, check=True)
    piped = subprocess.run(["zip", "-q", "-r", "-", "."], cwd=folder, check=True, capture_output=True)
    (tmp_path / "piped.zip").write_bytes(piped.stdout)
    for number, name in enumerate(("files.zip", "piped.zip")):
        unpack(tmp_path / name, dest / str(number))
        assert tree(dest / str(number)) == FILES


def test_an_archive_without_entries_is_an_empty_folder(tmp_path: Path, dest: Path) -> None:
    assert unpack(make_zip(tmp_path / "notes.zip", {}), dest).files == 0
    assert tree(dest) == {}


def test_progress_ends_with_all_entries(archive: Path, dest: Path) -> None:
    seen: list[tuple[int, int]] = []
    unpack(archive, dest, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(done, 5) for done in range(1, 6)]


MACOS = {
    "Kitchen notes/": b"",
    **{f"Kitchen notes/{name}": content for name, content in FILES.items()},
    "Kitchen notes/.DS_Store": b"x",
    "__MACOSX/": b"",
    "__MACOSX/Kitchen notes/._woks.md": b"\x00\x05\x16\x07",
}


def test_a_folder_as_macos_zips_it_comes_out_as_the_field(tmp_path: Path, dest: Path) -> None:
    unpacked = unpack(make_zip(tmp_path / "notes.zip", MACOS), dest)
    assert tree(dest) == FILES
    assert (unpacked.files, unpacked.pages) == (5, 3)
    assert [name for name, _ in unpacked.left_out] == [".DS_Store", "__MACOSX/", "__MACOSX/Kitchen notes/._woks.md"]


def test_what_is_no_part_of_a_field_stays_out_and_is_listed(tmp_path: Path, dest: Path) -> None:
    debris = [".git/config", ".hidden.md", "a.sync-conflict-1.md", "b.md~", "sub/Thumbs.db", "x.sqlite3-journal"]
    files = {**FILES, **dict.fromkeys(debris, b"x"), "sub/a.txt": b"deep"}
    unpacked = unpack(make_zip(tmp_path / "notes.zip", files), dest)
    assert tree(dest) == {**FILES, "sub": "folder", "sub/a.txt": b"deep"}
    assert [name for name, _ in unpacked.left_out] == sorted(debris)
    assert [one["name"] for one in unpacked.to_dict()["left_out"]] == sorted(debris)


def test_a_larger_archive_is_unpacked_if_that_is_allowed(archive: Path, dest: Path) -> None:
    with pytest.raises(UnsafeArchiveError) as caught:
        unpack(archive, dest, limits=Limits(entries=4))
    assert "--allow entries=5" in caught.value.hint
    assert not dest.exists()
    assert unpack(archive, dest, limits=Limits(entries=5)).files == 5


@pytest.mark.parametrize(
    "name", ["a.md:stream", "CON", "nul.md", "sub/aux.txt", "COM\u00b9.md", "a.", "b ", "what?.md"]
)
def test_a_name_of_which_windows_makes_something_else_is_refused_there_and_only_there(
    tmp_path: Path, dest: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = make_zip(tmp_path / "notes.zip", {"woks.md": b"text", name: b"x"})
    if sys.platform != "win32":
        assert unpack(archive, dest).files == 2
        shutil.rmtree(dest)
        monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(UnsafeArchiveError) as caught:
        unpack(archive, dest)
    assert caught.value.entry == name
    assert not dest.exists()


def test_an_index_that_is_unpacked_is_current(tmp_path: Path, dest: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "woks.md").write_bytes(FILES["woks.md"])
    with Field.open(notes) as field:
        field.sync()
        packed = pack(field, tmp_path / "notes.memoryfield.zip")
    unpack(packed.path, dest)
    with Field.open(dest) as field:
        report = field.sync()
        assert (report.added, report.changed, report.removed) == (0, 0, 0)


# the place


@pytest.mark.parametrize("name", ["woks.md", ".hidden", "sub"])
def test_a_place_that_is_not_empty_is_refused_untouched(archive: Path, dest: Path, name: str) -> None:
    dest.mkdir()
    (dest / name).mkdir() if name == "sub" else (dest / name).write_bytes(b"mine")
    before = tree(archive.parent)
    with pytest.raises(NotEmptyError) as caught:
        unpack(archive, dest)
    assert caught.value.exit_code == 3
    assert tree(archive.parent) == before


def test_a_file_in_the_place_is_refused_untouched(archive: Path, dest: Path) -> None:
    dest.write_bytes(b"mine")
    with pytest.raises(NotEmptyError) as caught:
        unpack(archive, dest)
    assert caught.value.exit_code == 3
    assert dest.read_bytes() == b"mine"
    assert len(tree(archive.parent)) == 2


@posix_only
@pytest.mark.parametrize("mode", [0o700, 0o755, 0o750])
def test_an_empty_folder_is_filled_and_stays_as_private_as_it_was(archive: Path, dest: Path, mode: int) -> None:
    dest.mkdir()
    dest.chmod(mode)
    unpack(archive, dest)
    assert tree(dest) == FILES
    assert dest.stat().st_mode & 0o777 == mode


@posix_only
def test_the_current_folder_can_be_the_place(archive: Path, dest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dest.mkdir()
    monkeypatch.chdir(dest)
    unpack(archive, ".")
    assert tree(dest) == FILES
    assert Path.cwd() == dest.resolve()
    assert Path("woks.md").exists()
    assert sorted(item.name for item in archive.parent.iterdir()) == ["copy", "notes.memoryfield.zip"]


@posix_only
def test_a_link_to_an_empty_folder_can_be_the_place(archive: Path, dest: Path) -> None:
    dest.mkdir()
    link = dest.with_name("link")
    link.symlink_to("copy")
    unpack(archive, link)
    assert tree(dest) == FILES
    assert link.is_symlink()


def test_what_is_not_there_or_no_zip_is_said_to_be(tmp_path: Path, dest: Path) -> None:
    with pytest.raises(FieldNotFoundError) as missing:
        unpack(tmp_path / "missing.zip", dest)
    assert missing.value.exit_code == 2
    (tmp_path / "notes.zip").write_bytes(b"# Notes\n")
    with pytest.raises(ArchiveError) as no_zip:
        unpack(tmp_path / "notes.zip", dest)
    assert no_zip.value.exit_code == 1
    assert "notes.zip" in no_zip.value.message
    (tmp_path / "notes.zip").unlink()
    (tmp_path / "notes.zip").mkdir()
    with pytest.raises((OSError, MemoryfieldError)):
        unpack(tmp_path / "notes.zip", dest)
    assert not dest.exists()


# hostile archives


def with_special(kind: int) -> Callable[[Path], str]:
    """Makes an archive with an entry of a kind that is no file."""

    def make(path: Path) -> str:
        info = zipfile.ZipInfo("special.md")
        info.create_system = 3
        info.external_attr = (kind | 0o777) << 16
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(info, b"/etc/passwd")
        return "special.md"

    return make


def with_name(name: str) -> Callable[[Path], str]:
    """Makes an archive with an entry of a bad name."""

    def make(path: Path) -> str:
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(name, b"hostile")
        return name

    return make


def with_nul(name: bytes, shown: str) -> Callable[[Path], str]:
    """Makes an archive with a NUL byte in an entry's name."""

    def make(path: Path) -> str:
        with_name("HOSTILE.md")(path)
        raw = path.read_bytes()
        assert len(name) == len("HOSTILE.md")
        path.write_bytes(raw.replace(b"HOSTILE.md", name))
        return shown

    return make


def without_name(path: Path) -> str:
    """Makes an archive with an entry that has no name: the name of the first becomes an extra field."""
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist()}
    raw = make_zip(path, {"X": b"hostile", **files}).read_bytes()
    for signature, length in ((LOCAL, 26), (CENTRAL, 28)):
        raw = patched(raw, signature, length, struct.pack("<HH", 0, 1))
    path.write_bytes(raw)
    return ""


HOSTILE: dict[str, Callable[[Path], str]] = {
    "absolute": with_name("/tmp/hostile.md"),
    "two slashes": with_name("//host/hostile.md"),
    "above": with_name("../hostile.md"),
    "above, later": with_name("sub/../../hostile.md"),
    "above, as a folder": with_name("../hostile/"),
    "dots only": with_name(".."),
    "here, within": with_name("sub/./hostile.md"),
    "empty part": with_name("sub//hostile.md"),
    "backslash": with_name("..\\hostile.md"),
    "backslash in a folder": with_name("sub/a\\b.md"),
    "drive letter": with_name("C:hostile.md"),
    "drive letter and slash": with_name("C:/hostile.md"),
    "drive letter and backslash": with_name("c:\\hostile.md"),
    "line end": with_name("two\nlines.md"),
    "escape": with_name("\x1b[2Jhostile.md"),
    "delete": with_name("hostile\x7f.md"),
    "twice": with_name("woks.md"),
    "twice but for capitals": with_name("WOKS.md"),
    "twice but for capitals, other script": with_name("ΣΟΦΌΣ.md"),
    "link": with_special(stat.S_IFLNK),
    "pipe": with_special(stat.S_IFIFO),
    "device": with_special(stat.S_IFCHR),
    "disk": with_special(stat.S_IFBLK),
    "socket": with_special(stat.S_IFSOCK),
    "NUL in the name": with_nul(b"a.md\x00b.exe", "a.md\x00b.exe"),
    "NUL before the name": with_nul(b"\x00HOSTILE.m", "\x00HOSTILE.m"),
    "no name": without_name,
    "a file that is a folder, too": with_name("woks.md/hostile.md"),
    "a folder that is a file, too": with_name("woks.md/"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("place", ["copy", "new/deep/copy", "empty"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_archive_is_refused_and_nothing_is_written(tmp_path: Path, kind: str, place: str) -> None:
    archive = make_zip(tmp_path / "notes.zip", {**FILES, "σοφός.md": b"text"})
    entry = HOSTILE[kind](archive)
    (tmp_path / "empty").mkdir()
    before = tree(tmp_path)
    with pytest.raises(UnsafeArchiveError) as caught:
        unpack(archive, tmp_path / place)
    assert caught.value.exit_code == 3
    assert caught.value.entry == entry
    assert isinstance(caught.value, RefusedError)
    assert "\x1b" not in caught.value.message
    assert "\n" not in caught.value.message
    assert tree(tmp_path) == before


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("hidden", [True, False], ids=["CRC of the beginning", "CRC of the whole"])
def test_an_entry_that_is_larger_than_it_says_is_refused(
    tmp_path: Path, dest: Path, compression: int, hidden: bool
) -> None:
    archive = make_zip(tmp_path / "notes.zip", {"index.md": b"text", "woks.md": b"x" * 100_000}, compression)
    raw = archive.read_bytes()
    for signature, shift in ((LOCAL, 0), (CENTRAL, 2)):
        raw = patched(raw, signature, 22 + shift, struct.pack("<I", 10), 1)
        if hidden:
            raw = patched(raw, signature, 14 + shift, struct.pack("<I", zlib.crc32(b"x" * 10)), 1)
    archive.write_bytes(raw)
    assert zipfile.ZipFile(archive).getinfo("woks.md").file_size == 10
    before = tree(tmp_path)
    with pytest.raises((UnsafeArchiveError, ArchiveError), match=r"woks\.md"):
        unpack(archive, dest)
    assert tree(tmp_path) == before


# damaged archives


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty file": lambda raw: b"",
    "first half only": lambda raw: raw[: len(raw) // 2],
    "end cut off": lambda raw: raw[:-10],
    "wrong CRC": lambda raw: patched(patched(raw, CENTRAL, 16, b"\x11" * 4, 3), LOCAL, 14, b"\x11" * 4, 3),
    "unknown compression": lambda raw: patched(patched(raw, CENTRAL, 10, b"\x61", 3), LOCAL, 8, b"\x61", 3),
    "data overwritten": lambda raw: patched(raw, LOCAL, 40, b"\xff" * 12, 1),
}


@pytest.mark.parametrize("place", ["copy", "new/deep/copy", "empty"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_archive_is_an_archive_error_and_leaves_nothing(archive: Path, damage: str, place: str) -> None:
    archive.write_bytes(DAMAGE[damage](archive.read_bytes()))
    (archive.parent / "empty").mkdir()
    before = tree(archive.parent)
    with pytest.raises(ArchiveError) as caught:
        unpack(archive, archive.parent / place)
    assert caught.value.exit_code == 1
    assert tree(archive.parent) == before


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_data_and_another_method_are_an_archive_error(tmp_path: Path, dest: Path, compression: int) -> None:
    archive = make_zip(tmp_path / "notes.zip", {"woks.md": FILES["woks.md"]}, compression)
    archive.write_bytes(patched(archive.read_bytes(), LOCAL, 30 + len("woks.md") + 12, b"\xff" * 12))
    with pytest.raises(
        (ArchiveError, UnsafeArchiveError), match=r"woks\.md"
    ):  # damage can look like more than was said
        unpack(archive, dest)
    assert [item.name for item in tmp_path.iterdir()] == ["notes.zip"]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    compression=st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]),
    edits=st.lists(st.tuples(st.integers(0, 5000), st.binary(min_size=1, max_size=4)), min_size=1, max_size=4),
)
def test_whatever_bytes_an_archive_has_it_is_unpacked_or_an_error_of_ours_and_leaves_nothing(
    tmp_path_factory: pytest.TempPathFactory, compression: int, edits: list[tuple[int, bytes]]
) -> None:
    folder = tmp_path_factory.mktemp("fuzzed")
    archive = make_zip(folder / "notes.zip", {"woks.md": b"text", "炭素.md": b"Carbon. " * 9}, compression)
    raw = bytearray(archive.read_bytes())
    for place, value in edits:
        place %= len(raw)
        raw[place : place + len(value)] = value
    archive.write_bytes(raw)
    try:
        unpack(archive, folder / "copy")
    except MemoryfieldError:
        assert [item.name for item in folder.iterdir()] == ["notes.zip"]


# interrupted


@posix_only
@pytest.mark.parametrize("place", ["copy", "empty"])
def test_a_full_disk_leaves_nothing(archive: Path, place: str) -> None:
    (archive.parent / "empty").mkdir()
    before = tree(archive.parent)
    with full_disk(300), pytest.raises(OSError, match="too large") as told:
        unpack(archive, archive.parent / place)
    assert told.value.filename == str(archive.parent)
    assert tree(archive.parent) == before


def test_an_interrupted_unpack_leaves_nothing(archive: Path, dest: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    before = tree(archive.parent)
    with pytest.raises(KeyboardInterrupt):
        unpack(archive, dest, progress=interrupt)
    assert tree(archive.parent) == before


def _unpack_and_stop(archive: str, dest: str, said: Connection) -> None:
    def stop(done: int, total: int) -> None:
        if done == 150:
            said.send(done)
            said.recv()  # for ever

    unpack(archive, dest, progress=stop)


def half_unpacked(archive: Path, dest: Path) -> BaseProcess:
    """A process that has unpacked half, and goes no further."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    unpacker = context.Process(target=_unpack_and_stop, args=(str(archive), str(dest), there), daemon=True)
    unpacker.start()
    assert here.poll(30)
    unpacker.pipe = here  # type: ignore[attr-defined] # or it would be closed
    return unpacker


MANY = {f"page-{number}.md": os.urandom(2_000) for number in range(300)}


@pytest.mark.parametrize("place", ["copy", "empty"])
def test_a_killed_unpack_leaves_nothing_that_hinders_the_next(tmp_path: Path, place: str) -> None:
    archive = make_zip(tmp_path / "notes.zip", MANY, zipfile.ZIP_STORED)
    (tmp_path / "empty").mkdir()
    dest = tmp_path / place
    unpacker = half_unpacked(archive, dest)
    unpacker.kill()
    unpacker.join()
    assert tree(dest) == {} if place == "empty" else not dest.exists()
    unpack(archive, dest)
    assert tree(dest) == MANY
    if sys.platform != "win32":
        assert {item.name for item in tmp_path.iterdir()} == {"notes.zip", "empty", place}


@posix_only
def test_a_killed_unpack_into_the_current_folder_does_not_hinder_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = make_zip(tmp_path / "notes.zip", MANY, zipfile.ZIP_STORED)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    unpacker = half_unpacked(archive, Path())
    unpacker.kill()
    unpacker.join()
    assert {name.split("/")[0].split("-")[0] for name in tree(Path())} == {".memoryfield"}
    unpack(archive, ".")
    assert tree(Path()) == MANY


@posix_only
def test_one_that_is_still_at_work_is_left_alone(tmp_path: Path, dest: Path) -> None:
    archive = make_zip(tmp_path / "notes.zip", MANY, zipfile.ZIP_STORED)
    unpacker = half_unpacked(archive, dest)
    try:
        (working,) = tmp_path.glob(".memoryfield-*")
        unpack(archive, dest)
        assert len(tree(working)) == 150
    finally:
        unpacker.kill()
        unpacker.join()


@posix_only
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_asked_to_end_cleans_up(tmp_path: Path, number: signal.Signals) -> None:
    files = {f"page-{count}.md": b"x" for count in range(60_000)}
    make_zip(tmp_path / "notes.zip", files, zipfile.ZIP_STORED)
    command = [sys.executable, "-m", "memoryfield", "unpack", "notes.zip", "new/copy"]
    run = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not any(tmp_path.glob("new/.memoryfield-*/page-9.md")):
        assert run.poll() is None
        time.sleep(0.01)
    run.send_signal(number)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert said == "interrupted\n"
    assert [item.name for item in tmp_path.iterdir()] == ["notes.zip"]


@posix_only
def test_a_move_that_fails_half_way_is_taken_back(archive: Path, dest: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dest.mkdir()
    monkeypatch.chdir(dest)
    really, moves = Path.rename, 0

    def failing(self: Path, target: Path) -> Path:
        nonlocal moves
        moves += 1
        if moves == 3:
            raise OSError(28, "No space left on device")
        return really(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="space"):
        unpack(archive, ".")
    assert tree(dest) == {}


@posix_only
@pytest.mark.parametrize("place", ["copy", "new/copy"])
def test_a_folder_that_cannot_be_written_is_told(archive: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(archive.parent)
    archive.parent.chmod(0o555)
    with no_privileges(), pytest.raises(ReadOnlyError, match="cannot write in"):
        unpack(archive.name, place)


@pytest.mark.parametrize("made", ["before", "meanwhile"])
def test_a_folder_that_another_process_fills_meanwhile_is_left_alone(archive: Path, dest: Path, made: str) -> None:
    if made == "before":
        dest.mkdir()

    def fill(done: int, total: int) -> None:
        if done == total:
            dest.mkdir(exist_ok=True)
            (dest / "theirs.md").write_bytes(b"theirs")

    with pytest.raises(NotEmptyError, match="is not empty"):
        unpack(archive, dest, progress=fill)
    assert {item.name for item in archive.parent.iterdir()} == {archive.name, dest.name}
    assert tree(dest) == {"theirs.md": b"theirs"}
