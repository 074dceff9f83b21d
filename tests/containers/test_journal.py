"""Changes of many files: all or none, at whichever file operation the process is killed."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from memoryfield.containers import open_container
from memoryfield.containers.directory import DirectoryContainer
from memoryfield.containers.journal import STAGE, is_decided
from memoryfield.errors import ContainerError, PageConflictError, PageNameError, RefusedError

from ..support import full_disk, no_privileges

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL, no links")

BEFORE = {"deleted.md": b"gone soon", "other.md": b"not touched", "woks.md": b"old", "wok.jpg": b"picture"}
AFTER = {"new.md": b"new", "other.md": b"not touched", "woks.md": b"newer", "wok.jpg": b"another"}

STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.listdir"}
"""What a process does to files, as Python's audit hooks call it."""


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def change(folder: DirectoryContainer, at_last: Callable[[], object] = lambda: None) -> None:
    """From BEFORE to AFTER; `at_last` is called before it is done."""
    with folder.change_many() as changes:
        for name, data in AFTER.items():
            if BEFORE.get(name) != data:
                changes.put(name, data, sha256(BEFORE[name]) if name in BEFORE else "")
        changes.delete("deleted.md", sha256(BEFORE["deleted.md"]))
        at_last()


def put(folder: DirectoryContainer, **files: bytes) -> None:
    """Store new files."""
    with folder.change_many() as changes:
        for name, data in files.items():
            changes.put(name, data, "")


def content(folder: Path) -> dict[str, bytes]:
    """Everything that lies in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def filled(folder: Path) -> DirectoryContainer:
    folder.mkdir()
    for name, data in BEFORE.items():
        (folder / name).write_bytes(data)
    return DirectoryContainer(folder)


def killed(folder: Path, steps: int, doing: Callable[[Path], object]) -> bool:
    """Do it in a process that is killed before its file operation of this number, from 0; whether it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads: ours are idle
        child = os.fork()
    if not child:
        _become(folder, steps, doing)
    _, how = os.waitpid(child, 0)
    assert how in (0, signal.SIGKILL), how
    return how != 0


def _become(folder: Path, left: int, doing: Callable[[Path], object]) -> NoReturn:
    place = str(folder)

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event in STEPS and place in str(arguments):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    code = 1
    try:
        sys.addaudithook(watch)
        doing(folder)
        code = 0
    except BaseException as error:
        print(repr(error), file=sys.__stderr__, flush=True)
    finally:
        os._exit(code)


def change_there(folder: Path) -> None:
    change(DirectoryContainer(folder))


def test_all_is_changed_and_nothing_is_left_over(tmp_path: Path) -> None:
    folder = filled(tmp_path / "field")
    (folder.location / "woks.md").chmod(0o600)
    change(folder)
    assert content(folder.location) == AFTER
    assert not (folder.location / STAGE).exists()
    if sys.platform != "win32":
        assert (folder.location / "woks.md").stat().st_mode & 0o777 == 0o600


def test_no_change_makes_nothing(tmp_path: Path) -> None:
    folder = filled(tmp_path / "field")
    with folder.change_many():
        assert not (folder.location / STAGE).exists()
    assert content(folder.location) == BEFORE


@posix_only
def test_killed_at_any_operation_it_is_before_or_after(tmp_path: Path) -> None:
    seen: list[dict[str, bytes]] = []
    steps, field = 0, tmp_path / "field"
    decided: list[Path] = []
    while True:
        filled(field)
        if not killed(field, steps, change_there):
            break
        kept = tmp_path / f"killed-{steps}"
        field.rename(kept)
        if any(path.name.startswith("plan-") for path in kept.rglob("*")):
            decided.append(kept)
            _killed_while_it_is_settled(kept)
        open_container(kept)
        assert not (kept / STAGE).exists()
        assert content(kept) in (BEFORE, AFTER)
        seen.append(content(kept))
        steps += 1
    assert BEFORE in seen
    assert AFTER in seen
    assert len(decided) >= len(BEFORE)
    assert seen == sorted(seen, key=lambda found: found == AFTER), "once decided, it stays decided"


def _killed_while_it_is_settled(field: Path) -> None:
    """A process that completes the changes is killed, too, and again, each time one operation later."""
    steps = 0
    while (field / STAGE).exists() and killed(field, steps, DirectoryContainer):
        steps += 1
    assert content(field) == AFTER


@pytest.mark.parametrize("name", ["woks.md", "new.md", "deleted.md"])
def test_a_file_that_changes_meanwhile_stops_all_of_it(tmp_path: Path, name: str) -> None:
    folder = filled(tmp_path / "field")
    with pytest.raises(PageConflictError, match=name):
        change(folder, lambda: (folder.location / name).write_bytes(b"an editor's"))
    assert content(folder.location) == {**BEFORE, name: b"an editor's"}


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    folder = filled(tmp_path / "field")
    with pytest.raises(ZeroDivisionError):
        change(folder, lambda: 1 / 0)
    with pytest.raises(PageNameError):
        put(folder, **{"new.md": b"new", "../new.md": b"new"})
    assert content(folder.location) == BEFORE
    assert not (folder.location / STAGE).exists()


@posix_only
@pytest.mark.parametrize("files", [{}, {"first.md": b"small"}])
def test_a_full_disk_leaves_nothing(tmp_path: Path, files: dict[str, bytes]) -> None:
    folder = filled(tmp_path / "field")
    with full_disk(4096), pytest.raises(OSError, match="File too large"):
        put(folder, **files, **{"new.md": bytes(10_000)})
    assert content(folder.location) == BEFORE
    assert not (folder.location / STAGE).exists()


def decided(folder: Path) -> Path:
    """A folder in which the changes were decided, and none is made yet."""
    filled(folder)
    steps = 0
    while killed(folder, steps, change_there):
        if any((folder / STAGE).glob("plan-*")):
            return folder
        shutil.rmtree(folder)
        filled(folder)
        steps += 1
    raise AssertionError("it ended before it was decided")


@posix_only
def test_what_was_changed_after_the_crash_stays(tmp_path: Path) -> None:
    folder = decided(tmp_path / "field")
    for name in ("woks.md", "deleted.md", "new.md"):
        (folder / name).write_bytes(b"an editor's")
    container = DirectoryContainer(folder)
    assert content(folder) == {**AFTER, **dict.fromkeys(("woks.md", "deleted.md", "new.md"), b"an editor's")}
    assert len(container.notes) == 3
    assert DirectoryContainer(folder).notes == []


@posix_only
def test_who_writes_first_completes_it(tmp_path: Path) -> None:
    (tmp_path / "field").mkdir()
    early = DirectoryContainer(tmp_path / "field")
    (tmp_path / "field").rmdir()
    folder = decided(tmp_path / "field")
    with early.lock():
        assert content(folder) == AFTER


@posix_only
def test_a_long_reader_completes_it(tmp_path: Path) -> None:
    (tmp_path / "field").mkdir()
    early = DirectoryContainer(tmp_path / "field")
    (tmp_path / "field").rmdir()
    folder = decided(tmp_path / "field")
    early.renewed()
    assert content(folder) == AFTER


@posix_only
def test_a_copy_is_not_changed_by_a_plan_that_was_copied_with_it(tmp_path: Path) -> None:
    folder = decided(tmp_path / "field")
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    found = content(copy)
    container = DirectoryContainer(copy)
    assert content(copy) == found
    assert STAGE in container.notes[0]
    with pytest.raises(RefusedError, match=STAGE):
        put(container, **{"another.md": b"x"})
    shutil.rmtree(copy / STAGE)
    assert DirectoryContainer(copy).notes == []


@posix_only
@pytest.mark.parametrize(
    "plan",
    [b"", b"{}", b"[[1, 2, 3]]", b'[["../../outside.md", "", "0"]]', b'[["a.md", "", "../woks.md"]]', b"[" * 99_999],
)
def test_a_plan_that_makes_no_sense_changes_nothing(tmp_path: Path, plan: bytes) -> None:
    folder = decided(tmp_path / "field")
    (file,) = (folder / STAGE).glob("plan-*")
    file.write_bytes(plan)
    container = DirectoryContainer(folder)
    assert {name: data for name, data in content(folder).items() if STAGE not in name} == BEFORE
    assert container.notes or plan == b"{}"


@posix_only
def test_a_link_in_the_place_of_the_stage_is_not_followed(tmp_path: Path) -> None:
    folder = decided(tmp_path / "field")
    (folder / STAGE).rename(tmp_path / "elsewhere")
    (folder / STAGE).symlink_to(tmp_path / "elsewhere")
    assert DirectoryContainer(folder).read("woks.md") == b"old"
    assert (tmp_path / "elsewhere").is_dir()


@pytest.mark.parametrize("doing", ["rename", "replace", "unlink"])
def test_what_is_decided_is_completed_though_it_is_interrupted(
    tmp_path: Path, doing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "field")
    really = getattr(Path, doing)

    def interrupted(self: Path, *given: object, **options: object) -> object:
        done = really(self, *given, **options)
        if (tmp_path / "field" / STAGE).exists() and is_decided(tmp_path / "field"):
            monkeypatch.setattr(Path, doing, really)
            raise KeyboardInterrupt
        return done

    monkeypatch.setattr(Path, doing, interrupted)
    with pytest.raises(KeyboardInterrupt):
        change_there(tmp_path / "field")
    assert content(tmp_path / "field") == AFTER
    assert not (tmp_path / "field" / STAGE).exists()


@posix_only
@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="files are given away")
def test_a_plan_of_another_user_is_not_carried_out_in_a_folder_where_each_may_change_the_own_files_alone(
    tmp_path: Path,
) -> None:
    folder = decided(tmp_path / "notes")
    os.chown(folder / STAGE, 65534, -1)
    folder.chmod(0o1777)
    pages = content(folder)
    assert "another user" in DirectoryContainer(folder).notes[0]
    assert content(folder) == pages
    folder.chmod(0o777)  # here anybody can change anything, by hand, too
    assert DirectoryContainer(folder).notes == []
    assert not (folder / STAGE).exists()


def test_where_nothing_can_be_written_it_is_said_and_read_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = decided(tmp_path / "field")
    monkeypatch.chdir(folder)
    folder.chmod(0o555)
    (folder / STAGE).chmod(0o555)
    with no_privileges():
        container = DirectoryContainer(Path())
        assert container.read("woks.md") == b"old"
        assert "not complete" in container.notes[0]
    folder.chmod(0o755)
    (folder / STAGE).chmod(0o755)
    DirectoryContainer(folder)
    assert content(folder) == AFTER


@posix_only
def test_changes_at_work_are_let_alone_until_they_are_decided(tmp_path: Path) -> None:
    folder = filled(tmp_path / "field")
    with folder.change_many() as changes:
        changes.put("new.md", b"new", "")
        assert DirectoryContainer(folder.location).read("woks.md") == b"old"
        assert (folder.location / STAGE).exists()
    assert (folder.location / "new.md").read_bytes() == b"new"


@posix_only
def test_without_locks_what_is_decided_is_completed_and_what_is_begun_let_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    folder = decided(tmp_path / "field")

    def no_locks(handle: int, operation: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    container = DirectoryContainer(folder)
    assert content(folder) == AFTER
    (folder / STAGE).mkdir()
    (folder / STAGE / "0").write_bytes(b"another process writes this now")
    with container.lock():
        assert DirectoryContainer(folder).notes == []
    assert (folder / STAGE / "0").exists()


@posix_only
def test_what_cannot_be_completed_now_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = filled(tmp_path / "field")
    replace: Callable[[Path, Path], Path] = Path.replace

    def refusing(self: Path, target: Path) -> Path:
        if target.name == "woks.md":
            raise PermissionError(1, "Operation not permitted", str(target))
        return replace(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", refusing)
        with pytest.raises(ContainerError, match="decided"):
            change(folder)
        assert "not complete" in DirectoryContainer(folder.location).notes[0]
    open_container(folder.location)
    assert content(folder.location) == AFTER
