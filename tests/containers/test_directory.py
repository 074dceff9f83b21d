"""A field in a folder: whole writes, plain names, and links, folders and special files kept out."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryfield.containers import open_container
from memoryfield.containers.directory import DirectoryContainer
from memoryfield.errors import FieldNotFoundError, MemoryfieldError, PageNameError, ReadOnlyError

from ..support import full_disk, no_privileges

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs names that only Linux allows")

NOT_PLAIN = [
    "",
    ".",
    "..",
    "../outside.md",
    "sub/page.md",
    "/etc/hostname",
    "sub\\page.md",
    "..\\outside.md",
    "C:page.md",
    "c:\\page.md",
    "two\nlines.md",
    "nul\x00byte.md",
    "bell\x07.md",
    "delete\x7f.md",
]

OPERATIONS: dict[str, Callable[[DirectoryContainer, str], object]] = {
    "entry": lambda folder, name: folder.entry(name),
    "read": lambda folder, name: folder.read(name),
    "local_path": lambda folder, name: folder.local_path(name),
    "write": lambda folder, name: folder.write(name, b"new"),
    "rename from": lambda folder, name: folder.rename(name, "other.md"),
    "rename to": lambda folder, name: folder.rename("page.md", name),
    "delete": lambda folder, name: folder.delete(name),
}


def tree(path: Path) -> dict[str, bytes | str]:
    """Everything under a folder: bytes of files, targets of links, what else it is."""
    found: dict[str, bytes | str] = {}
    for item in sorted(path.rglob("*")):
        name = str(item.relative_to(path))
        if item.is_symlink():
            found[name] = f"link to {item.readlink()}"
        elif item.is_file():
            found[name] = item.read_bytes()
        else:
            found[name] = "folder" if item.is_dir() else "special"
    return found


@pytest.fixture
def folder(tmp_path: Path) -> DirectoryContainer:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "page.md").write_bytes(b"old")
    return DirectoryContainer(root)


def listed(folder: DirectoryContainer) -> list[str]:
    return sorted(entry.name for entry in folder.entries())


def reasons(folder: DirectoryContainer) -> dict[str, str]:
    return {item.name: item.reason for item in folder.skipped()}


# opening


def test_a_folder_is_opened_and_named_after_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes").mkdir()
    monkeypatch.chdir(tmp_path / "notes")
    assert open_container(tmp_path / "notes").name == "notes"
    assert open_container(".").name == "notes"


def test_a_place_where_nothing_is_is_no_field(tmp_path: Path) -> None:
    with pytest.raises(FieldNotFoundError) as caught:
        open_container(tmp_path / "nowhere")
    assert caught.value.exit_code == 2
    assert "nowhere" in caught.value.message
    assert "create" in caught.value.hint
    with pytest.raises(FieldNotFoundError):
        DirectoryContainer(tmp_path / "nowhere")


@posix_only
def test_a_special_file_is_no_field(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FieldNotFoundError):
        open_container(tmp_path / "pipe")


# names


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", NOT_PLAIN)
def test_a_name_that_is_not_plain_is_refused_everywhere(
    folder: DirectoryContainer, tmp_path: Path, operation: str, name: str
) -> None:
    (folder.location / "sub").mkdir()
    (folder.location / "sub" / "page.md").write_bytes(b"in a sub-folder")
    (tmp_path / "outside.md").write_bytes(b"outside")
    before = tree(tmp_path)
    with pytest.raises(PageNameError) as caught:
        OPERATIONS[operation](folder, name)
    assert caught.value.exit_code == 2
    assert repr(name) in caught.value.message
    assert tree(tmp_path) == before


@linux_only
@pytest.mark.parametrize("name", ["Q: what is it.md", "a\\b.md", "two\nlines.md", "caf\udce9.md"])
def test_a_file_whose_name_is_not_plain_is_skipped_and_the_others_are_listed(
    folder: DirectoryContainer, name: str
) -> None:
    (folder.location / name).write_bytes(b"text")
    assert listed(folder) == ["page.md"]
    assert reasons(folder).keys() == {name}
    assert [folder.read(entry.name) for entry in folder.entries()] == [b"old"]


@pytest.mark.parametrize(
    "name", ["Capitals And Spaces.md", "炭素.md", "ünïcöde.md", "photo.jpg", ".hidden", "no-suffix"]
)
def test_any_plain_name_is_listed_read_renamed_and_deleted(folder: DirectoryContainer, name: str) -> None:
    folder.write(name, b"text")
    assert name in listed(folder)
    assert folder.read(name) == b"text"
    folder.rename(name, "other.md")
    assert listed(folder) == ["other.md", "page.md"]
    folder.rename("other.md", name)
    folder.delete(name)
    assert listed(folder) == ["page.md"]


# reading


def test_an_entry_tells_size_and_time(folder: DirectoryContainer) -> None:
    os.utime(folder.location / "page.md", ns=(0, 1_700_000_000_123_456_700))
    entry = folder.entry("page.md")
    assert (entry.name, entry.size, entry.mtime_ns, entry.crc32) == ("page.md", 3, 1_700_000_000_123_456_700, None)
    assert folder.entries() == [entry]


def test_reading_stops_at_the_limit(folder: DirectoryContainer) -> None:
    folder.write("page.md", b"0123456789")
    assert folder.read("page.md", 4) == b"0123"
    assert folder.read("page.md", 400) == b"0123456789"
    assert folder.read("page.md") == b"0123456789"


@pytest.mark.parametrize("operation", ["entry", "read", "rename from", "delete"])
def test_a_file_that_is_not_there_is_not_found(folder: DirectoryContainer, operation: str) -> None:
    with pytest.raises(FileNotFoundError):
        OPERATIONS[operation](folder, "missing.md")
    assert listed(folder) == ["page.md"]


def test_a_folder_of_a_pages_name_cannot_be_read(folder: DirectoryContainer) -> None:
    (folder.location / "sub.md").mkdir()
    for operation in ("entry", "read"):
        with pytest.raises(OSError, match=r"sub\.md"):
            OPERATIONS[operation](folder, "sub.md")


# writing


def test_a_write_stores_the_bytes_and_nothing_else(folder: DirectoryContainer) -> None:
    folder.write("new.md", b"first\r\n\x00\xff")
    folder.write("page.md", b"second")
    assert tree(folder.location) == {"new.md": b"first\r\n\x00\xff", "page.md": b"second"}


def test_a_failed_write_leaves_what_was_there_and_no_temporary_file(folder: DirectoryContainer) -> None:
    (folder.location / "taken.md").mkdir()
    before = tree(folder.location)
    with pytest.raises((OSError, MemoryfieldError)):
        folder.write("taken.md", b"cannot replace a folder")
    assert tree(folder.location) == before


@posix_only
def test_a_full_disk_leaves_the_old_bytes_and_no_temporary_file(folder: DirectoryContainer) -> None:
    before = tree(folder.location)
    with full_disk(1000), pytest.raises(OSError, match="too large"):
        folder.write("page.md", b"x" * 5000)
    with full_disk(1000), pytest.raises(OSError, match="too large"):
        folder.write("new.md", b"x" * 5000)
    assert tree(folder.location) == before
    folder.write("page.md", b"x" * 5000)
    assert folder.read("page.md") == b"x" * 5000


def _write_for_ever(location: str, versions: list[bytes]) -> None:
    folder = DirectoryContainer(Path(location))
    while True:
        for version in versions:
            folder.write("page.md", version)


def test_a_page_is_whole_while_it_is_written_and_after_its_writer_was_killed(folder: DirectoryContainer) -> None:
    versions = [bytes([letter]) * 200_000 for letter in b"ab"]
    writer = multiprocessing.get_context("spawn").Process(
        target=_write_for_ever, args=(str(folder.location), versions), daemon=True
    )
    writer.start()
    try:
        seen: set[bytes] = set()
        while len(seen) < 2 and writer.is_alive():
            content = folder.read("page.md")
            assert content == b"old" or content in versions
            seen |= {content} - {b"old"}
    finally:
        writer.kill()
        writer.join()
    assert seen == set(versions)
    assert folder.read("page.md") in versions


def test_what_a_killed_writer_left_behind_is_removed_by_the_next(folder: DirectoryContainer) -> None:
    def left(name: str, seconds: float) -> Path:
        path = folder.location / name
        path.write_bytes(b"half a pa")
        os.utime(path, (time.time() - seconds, time.time() - seconds))
        return path

    dead = left(".memoryfield-0123456789abcdef.tmp", 3600)
    others = [
        left(".memoryfield-0123456789abcdee.tmp", 1),
        left(".memoryfield-notes.tmp", 3600),
        left("memoryfield-0123456789abcdef.tmp", 3600),
    ]
    (folder.location / ".memoryfield-fedcba9876543210.tmp").mkdir()
    with folder.lock():
        assert not dead.exists()
    assert all(path.exists() for path in others)
    assert (folder.location / ".memoryfield-fedcba9876543210.tmp").is_dir()


@posix_only
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444])
def test_a_file_keeps_its_mode_when_it_is_written_again(folder: DirectoryContainer, mode: int) -> None:
    (folder.location / "page.md").chmod(mode)
    folder.write("page.md", b"new")
    assert (folder.location / "page.md").stat().st_mode & 0o777 == mode
    assert folder.read("page.md") == b"new"


@posix_only
@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644), (0o002, 0o664)])
def test_a_new_file_gets_the_mode_that_the_umask_allows(folder: DirectoryContainer, umask: int, mode: int) -> None:
    former = os.umask(umask)
    try:
        folder.write("new.md", b"text")
    finally:
        os.umask(former)
    assert (folder.location / "new.md").stat().st_mode & 0o777 == mode


@posix_only
@pytest.mark.parametrize("name", ["a" * 252 + ".md", "炭" * 84 + ".md"], ids=["ascii", "cjk"])
def test_a_name_as_long_as_the_system_allows_can_be_written(folder: DirectoryContainer, name: str) -> None:
    assert len(name.encode()) == 255
    (folder.location / name).write_bytes(b"by another tool")
    folder.write(name, b"new")
    assert folder.read(name) == b"new"


@posix_only
@pytest.mark.parametrize("operation", ["write", "rename from", "delete"])
def test_a_folder_without_permission_is_read_only(
    folder: DirectoryContainer, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    monkeypatch.chdir(folder.location)
    here = DirectoryContainer(Path())
    folder.location.chmod(0o555)
    try:
        with no_privileges():
            with pytest.raises(ReadOnlyError) as caught:
                OPERATIONS[operation](here, "page.md")
            assert here.read("page.md") == b"old"
    finally:
        folder.location.chmod(0o755)
    assert caught.value.exit_code == 3
    assert tree(folder.location) == {"page.md": b"old"}


# links, folders, special files


@posix_only
def test_a_link_inside_is_a_file_and_writing_goes_through_it(folder: DirectoryContainer) -> None:
    (folder.location / "alias.md").symlink_to("page.md")
    assert listed(folder) == ["alias.md", "page.md"]
    assert folder.skipped() == []
    assert folder.read("alias.md") == b"old"
    assert folder.entry("alias.md").size == 3
    folder.write("alias.md", b"through the link")
    assert tree(folder.location) == {"alias.md": "link to page.md", "page.md": b"through the link"}
    folder.delete("alias.md")
    assert tree(folder.location) == {"page.md": b"through the link"}


@posix_only
def test_a_field_that_is_itself_reached_by_a_link_is_complete(folder: DirectoryContainer, tmp_path: Path) -> None:
    (folder.location / "alias.md").symlink_to(folder.location / "page.md")
    (tmp_path / "link").symlink_to("notes")
    linked = DirectoryContainer(tmp_path / "link")
    assert listed(linked) == ["alias.md", "page.md"]
    assert linked.read("alias.md") == b"old"


@posix_only
@pytest.mark.parametrize("operation", ["entry", "read", "local_path", "write"])
@pytest.mark.parametrize(
    ("target", "word"),
    [
        ("../outside.md", "outside"),
        ("/etc/hostname", "outside"),
        ("sub/page.md", "outside"),
        ("out.md", "outside"),
        ("missing.md", "nowhere"),
        ("link.md", "nowhere"),
        ("sub", "nowhere"),
        ("pipe", "nowhere"),
    ],
)
def test_a_link_that_leads_to_no_file_of_the_field_is_refused_and_skipped(
    folder: DirectoryContainer, tmp_path: Path, operation: str, target: str, word: str
) -> None:
    (tmp_path / "outside.md").write_bytes(b"outside")
    (folder.location / "sub").mkdir()
    (folder.location / "sub" / "page.md").write_bytes(b"in a sub-folder")
    (folder.location / "out.md").symlink_to("../outside.md")
    os.mkfifo(folder.location / "pipe")
    (folder.location / "link.md").symlink_to(target)
    before = tree(tmp_path)
    with pytest.raises((OSError, MemoryfieldError)) as caught:
        OPERATIONS[operation](folder, "link.md")
    assert "link.md" in str(caught.value)
    assert listed(folder) == ["page.md"]
    assert word in reasons(folder)["link.md"]
    assert tree(tmp_path) == before


@posix_only
def test_deleting_a_link_leaves_what_it_leads_to(folder: DirectoryContainer, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_bytes(b"outside")
    (folder.location / "link.md").symlink_to("../outside.md")
    folder.delete("link.md")
    assert tree(tmp_path) == {"notes": "folder", "notes/page.md": b"old", "outside.md": b"outside"}


@posix_only
def test_sub_folders_and_special_files_are_skipped_with_a_reason(folder: DirectoryContainer) -> None:
    (folder.location / "sub.md").mkdir()
    os.mkfifo(folder.location / "pipe.md")
    assert listed(folder) == ["page.md"]
    assert reasons(folder) == {"pipe.md": "is not a regular file", "sub.md": "is a folder"}


def test_what_is_skipped_is_known_without_listing_first(folder: DirectoryContainer) -> None:
    (folder.location / "sub").mkdir()
    assert reasons(folder) == {"sub": "is a folder"}


@posix_only
def test_reading_a_special_file_fails_and_does_not_wait(folder: DirectoryContainer) -> None:
    os.mkfifo(folder.location / "pipe.md")
    with pytest.raises(OSError, match=r"pipe\.md"):
        folder.entry("pipe.md")
    script = (
        "import sys, pathlib\n"
        "from memoryfield.containers.directory import DirectoryContainer\n"
        "try:\n"
        "    DirectoryContainer(pathlib.Path(sys.argv[1])).read('pipe.md')\n"
        "except OSError:\n"
        "    print('refused')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder.location)], capture_output=True, text=True, timeout=5
    )
    assert done.stdout == "refused\n"


@posix_only
@pytest.mark.parametrize("operation", ["write", "rename to"])
def test_a_special_file_is_not_overwritten(folder: DirectoryContainer, operation: str) -> None:
    os.mkfifo(folder.location / "pipe.md")
    before = tree(folder.location)
    with pytest.raises((OSError, MemoryfieldError)):
        OPERATIONS[operation](folder, "pipe.md")
    assert tree(folder.location) == before


# the fingerprint of a large folder, taken by another process


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DirectoryContainer:
    """A folder that counts as large."""
    monkeypatch.setattr("memoryfield.containers.directory.MANY", 1)
    for number in range(30):
        (tmp_path / f"page-{number}.md").write_text("x" * number)
    (tmp_path / "notes.txt").write_text("no page")
    (tmp_path / "folder").mkdir()
    container = DirectoryContainer(tmp_path)
    container.names()
    return container


def test_another_process_takes_the_same_fingerprint(many: DirectoryContainer, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = many.fingerprint()
    monkeypatch.setattr(DirectoryContainer, "fingerprint", lambda self: "taken here")
    assert many.begin_fingerprint()() == expected


@pytest.mark.parametrize(
    "name", ["Capital.md", "x.MD", "~.md", ".hidden.md", "b.sync-conflict-1.md", "ünder.md", ".md", "a\nb.md"]
)
def test_names_that_have_to_be_judged_are_judged_here(name: str, many: DirectoryContainer) -> None:
    (many.location / name).write_text("a strange name")
    assert many.begin_fingerprint()() == many.fingerprint()


def test_links_are_judged_here(many: DirectoryContainer, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "x.md"
    outside.write_text("outside")
    for name, target in {"in.md": many.location / "page-1.md", "out.md": outside}.items():
        try:
            (many.location / name).symlink_to(target)
        except OSError:
            pytest.skip("no links here")
    assert many.begin_fingerprint()() == many.fingerprint()


@pytest.mark.parametrize("python", ["", "/nowhere/python", "/bin/false"])
def test_without_another_process_the_fingerprint_is_taken_here(
    python: str, many: DirectoryContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    assert many.begin_fingerprint()() == many.fingerprint()


def test_a_small_folder_needs_no_other_process(many: DirectoryContainer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoryfield.containers.directory.MANY", 1_000)
    assert many.begin_fingerprint() == many.fingerprint


@pytest.mark.skipif(sys.platform == "win32", reason="no links")
def test_a_link_that_takes_a_page_s_place_after_it_was_looked_at_is_not_followed_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "private").write_bytes(b"secret")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "woks.md").write_bytes(b"# Woks\n")
    (tmp_path / "notes" / "link.md").symlink_to("woks.md")
    look = DirectoryContainer._checked

    def swapped(folder: DirectoryContainer, name: str) -> str:
        path = look(folder, name)
        Path(path).unlink()
        Path(path).symlink_to(tmp_path / "private")
        return path

    folder = DirectoryContainer(tmp_path / "notes")
    assert folder.read("link.md") == b"# Woks\n"
    monkeypatch.setattr(DirectoryContainer, "_checked", swapped)
    for name in ("link.md", "woks.md"):
        with pytest.raises(PermissionError, match="outside"):
            folder.read(name)
        with pytest.raises(PermissionError, match="outside"):
            folder.open(name)
