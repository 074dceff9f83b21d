"""A folder that is watched: nothing that happens to a page is missed, and what is no page's business wakes nobody."""

from __future__ import annotations

import mmap
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memoryfield import Searcher
from memoryfield.containers import Entry
from memoryfield.containers import watch as watching
from memoryfield.containers.directory import DirectoryContainer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of changes without delay")

OLD = time.time_ns() - 3600 * 10**9


def age(path: Path) -> None:
    """Let a file be of one time, whenever it was written: its size and time then tell nothing."""
    os.utime(path, ns=(OLD, OLD))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three pages and a text."""
    folder = tmp_path / "field"
    folder.mkdir()
    for name in ("woks.md", "pans.md", "tea.md", "notes.txt"):
        (folder / name).write_text("Heats evenly.")
        age(folder / name)
    return folder


@pytest.fixture
def container(folder: Path) -> Iterator[DirectoryContainer]:
    """The folder, watched and looked at."""
    container = DirectoryContainer(folder)
    container.watch()
    container.fingerprint()
    if container.moment() is None:
        pytest.skip("this file system is not watched")
    yield container
    container.close()


def in_place(folder: Path) -> None:
    (folder / "woks.md").write_text("Heats slowly.")
    age(folder / "woks.md")


def by_a_map(folder: Path) -> None:
    with (folder / "woks.md").open("r+b") as file, mmap.mmap(file.fileno(), 0) as view:
        view[6:12] = b"slowly"
    age(folder / "woks.md")


def by_a_rename(folder: Path) -> None:
    (folder / "x.tmp").write_text("Heats slowly.")
    age(folder / "x.tmp")
    (folder / "x.tmp").rename(folder / "woks.md")


def by_swapping(folder: Path) -> None:
    (folder / "woks.md").rename(folder / "x")
    (folder / "pans.md").rename(folder / "woks.md")
    (folder / "x").rename(folder / "pans.md")


def by_a_link_into_it(folder: Path) -> None:
    (folder.parent / "link").symlink_to(folder)
    in_place(folder.parent / "link")


CHANGES: list[Callable[[Path], object]] = [in_place, by_a_map, by_a_rename, by_swapping, by_a_link_into_it]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_size_and_time_do_not_tell_is_noticed(
    change: Callable[[Path], object], container: DirectoryContainer, folder: Path
) -> None:
    before = container.moment()
    assert before is not None
    change(folder)
    assert container.moment() is None
    container.fingerprint()
    assert container.moment() not in (None, before)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "new.md").write_text("new"),
        lambda folder: (folder / "New.MD").write_text("new"),
        lambda folder: (folder / "woks.md").unlink(),
        lambda folder: (folder / "woks.md").rename(folder / "pots.md"),
        lambda folder: (folder / "woks.md").rename(folder.parent / "woks.md"),
        lambda folder: (folder / "notes.txt").rename(folder / "notes.md"),
        lambda folder: (folder / "woks.md").open("a").write("more"),
        lambda folder: os.truncate(folder / "woks.md", 3),
        lambda folder: os.utime(folder / "woks.md"),
        lambda folder: os.link(folder.parent / "field" / "woks.md", folder / "linked.md"),
    ],
)
def test_the_fingerprint_is_that_of_the_pages_as_they_are(
    change: Callable[[Path], object], container: DirectoryContainer, folder: Path
) -> None:
    before = container.fingerprint()
    change(folder)
    assert container.fingerprint() == DirectoryContainer(folder).fingerprint()
    assert container.fingerprint() != before


def test_what_is_no_page_wakes_nobody(container: DirectoryContainer, folder: Path) -> None:
    before = container.moment()
    for name in ("notes.txt", "all-MiniLM-L6-v2.sqlite3", ".memoryfield-0.tmp"):
        (folder / name).write_text("bytes")
    (folder / "woks.md").read_text()
    (folder / ".memoryfield-0.tmp").unlink()
    assert before is not None
    assert container.moment() == before


def test_pages_are_looked_at_only_after_a_change(
    container: DirectoryContainer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[object] = []
    look = DirectoryContainer._look

    def counted(container: DirectoryContainer) -> None:
        looks.append(container)
        look(container)

    monkeypatch.setattr(DirectoryContainer, "_look", counted)
    for _ in range(3):
        container.fingerprint()
    assert not looks
    in_place(folder)
    for _ in range(3):
        container.fingerprint()
    assert len(looks) == 1


@pytest.mark.parametrize("way", [os.link, os.symlink])
def test_a_page_that_has_another_name_is_looked_at_each_time(way: Callable[..., None], folder: Path) -> None:
    """What is done by the other name is not told of the page."""
    way(folder / "notes.txt", folder / "other.md")
    container = DirectoryContainer(folder)
    container.watch()
    before = container.fingerprint()
    (folder / "notes.txt").write_text("Longer than it was.")
    assert container.moment() is None
    assert container.fingerprint() != before


def test_a_folder_that_takes_the_place_is_watched_in_its_stead(container: DirectoryContainer, folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "next")
    folder.rename(folder.parent / "former")
    (folder.parent / "next").rename(folder)
    (folder / "new.md").write_text("new")
    assert container.fingerprint() == DirectoryContainer(folder).fingerprint()
    assert container.fingerprint() == DirectoryContainer(folder).fingerprint()
    assert container.moment() is not None
    in_place(folder)
    assert container.moment() is None


def test_a_folder_under_a_parent_that_was_moved_away_has_gone(container: DirectoryContainer, folder: Path) -> None:
    moved = folder.parent.with_name("moved")
    folder.parent.rename(moved)
    try:
        with pytest.raises(FileNotFoundError):
            container.fingerprint()
    finally:
        moved.rename(folder.parent)
    assert container.fingerprint() == DirectoryContainer(folder).fingerprint()


def test_more_events_than_the_system_keeps_count_as_a_change(container: DirectoryContainer, folder: Path) -> None:
    """They are dropped, and those of pages may be among them."""
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip("so many events take too long")
    for number in range(most // 2 + 1):  # two of the same in a row are one
        (folder / f"x{number % 2}").touch()
        (folder / f"y{number % 2}").touch()
    assert container.moment() is None


def test_a_search_finds_what_was_written_just_before(tmp_path: Path) -> None:
    """Again and again, at once, within the grain of times, and of the same size."""
    folder = tmp_path / "field"
    folder.mkdir()
    page = folder / "woks.md"
    words = ["apple", "peach", "lemon", "grape"]
    page.write_text("# Woks\n\nThis is about apple.\n")
    with Searcher.open([folder], mode="keyword", min_score=0.0) as searcher:
        searcher.watch()
        for number in range(60):
            word = words[number % 4]
            page.write_text(f"# Woks\n\nThis is about {word}.\n")
            assert [hit.filename for hit in searcher.search(word).results] == ["woks.md"]
            assert not searcher.search(words[(number + 1) % 4]).results


def test_pages_too_young_for_their_times_to_tell_are_not_looked_at_for_each_search(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed: list[object] = []
    entries = DirectoryContainer.entries

    def counted(container: DirectoryContainer) -> list[Entry]:
        listed.append(container)
        return entries(container)

    monkeypatch.setattr(DirectoryContainer, "entries", counted)
    with Searcher.open([folder], mode="keyword", min_score=0.0) as searcher:
        searcher.watch()
        searcher.search("woks")
        (folder / "woks.md").write_text("Heats slowly.")
        assert searcher.search("slowly").results
        listed.clear()
        assert searcher.search("slowly").results
        assert not listed
        (folder / "woks.md").write_text("Heats evenly.")
        searcher.container("field").fingerprint()  # by somebody else, who has then seen it
        assert not searcher.search("slowly").results


@pytest.mark.parametrize("way", ["a hard link", "a map"])
def test_what_nobody_is_told_of_is_seen_when_all_is_looked_at_again(
    way: str, container: DirectoryContainer, folder: Path
) -> None:
    before, page = container.fingerprint(), folder / "woks.md"
    if way == "a hard link":
        os.link(page, folder.parent / "elsewhere.md")
        (folder.parent / "elsewhere.md").write_text("Heats slowly, and more.")
        container.recheck()
    else:
        with page.open("r+b") as file, mmap.mmap(file.fileno(), 0) as view:
            view[6:12] = b"slowly"
            view.flush()
            container.recheck()
    assert container.fingerprint() != before
    moment = container.moment()
    container.recheck()
    assert container.moment() == moment


# where there is no watch


def test_without_the_library_the_files_are_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "inotify_simple", None)
    container = DirectoryContainer(folder)
    container.watch()
    container.fingerprint()
    assert container.moment() is None


@pytest.mark.parametrize("kind", ["nfs4", "9p", "fuse.sshfs", "cifs", "overlay", "virtiofs"])
def test_a_file_system_that_others_may_change_is_not_watched(
    kind: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mountinfo"
    here = str(folder.parent).replace(" ", "\\040")
    mounts.write_text(f"27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 0:25 / {here} rw shared:1 - {kind} x rw\n")
    monkeypatch.setattr(watching, "MOUNTS", mounts)
    assert watching.watched(folder) is None
    assert watching.watched(folder.parent.parent) is not None


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/home", "ext4"),
        ("/mnt/a b", "nfs"),
        ("/mnt/a b/c", "nfs"),
        ("/mnt/a bc", "ext4"),
        ("/twice/x", "tmpfs"),
    ],
)
def test_the_last_mount_that_holds_a_path_counts(path: str, kind: str) -> None:
    mounts = [
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
        "28 27 0:25 / /twice rw - cifs x rw",
        "29 27 0:26 / /twice rw shared:3 master:1 - tmpfs x rw",
        "30 27 0:27 / /mnt/a\\040b rw - nfs host:/x rw",
    ]
    assert watching._file_system(path, mounts) == kind


def test_a_system_that_allows_no_more_watches_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import inotify_simple

    def refused(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(inotify_simple, "INotify", refused)
    assert watching.watched(folder) is None
