"""Of many pages, another process takes in the words: the archive is the same, whatever becomes of that process."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryfield import Field, pack, processes
from memoryfield.errors import BrokenFieldError
from memoryfield.index import beside
from memoryfield.index.store import Record

from ..cli.support import INDEX, make_kitchen
from ..support import full_disk
from .test_reproducible import GOLDEN, foreign_field, posix_only

Started = list[subprocess.Popen[bytes]]


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    return make_kitchen(tmp_path / "kitchen", embedded=True)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """The processes that are started, which every field is large enough for; each page is sent by itself."""
    found: Started = []
    start = processes.start

    def noted(module: str, *arguments: str) -> subprocess.Popen[bytes] | None:
        process = start(module, *arguments)
        found.extend([process] if process else [])
        return process

    monkeypatch.setattr(processes, "start", noted)
    monkeypatch.setattr(processes, "MANY", 0)
    monkeypatch.setattr("memoryfield.archives.filling.BATCH_BYTES", 1)
    return found


def after_each_add(monkeypatch: pytest.MonkeyPatch, act: Callable[[beside.WordsElsewhere], None]) -> None:
    add = beside.WordsElsewhere.add

    def also(self: beside.WordsElsewhere, records: list[Record]) -> None:
        add(self, records)
        act(self)

    monkeypatch.setattr(beside.WordsElsewhere, "add", also)


def test_the_same_bytes_come_from_another_process(
    kitchen: Path, tmp_path: Path, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryfield.archives.filling.BATCH_BYTES", 1 << 20)
    packed = pack(Field.open(foreign_field(tmp_path / "notes")), tmp_path / "a.zip", store=True)
    assert packed.sha256 == GOLDEN
    elsewhere = pack(Field.open(kitchen), tmp_path / "b.zip")
    assert [process.returncode for process in started] == [0, 0]
    monkeypatch.setattr(processes, "MANY", 2_000)
    assert pack(Field.open(kitchen), tmp_path / "c.zip").sha256 == elsewhere.sha256
    assert elsewhere.indexes == [INDEX]
    assert len(started) == 2


def test_nobody_is_asked_where_there_is_no_index(kitchen: Path, tmp_path: Path, started: Started) -> None:
    (kitchen / INDEX).unlink()
    pack(Field.open(kitchen), tmp_path / "a.zip")
    assert not started


@pytest.mark.parametrize("python", ["", "/no/such/python", "/bin/false"])
def test_where_there_is_no_other_process_it_is_done_here(
    kitchen: Path, tmp_path: Path, started: Started, python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = pack(Field.open(kitchen), tmp_path / "a.zip").sha256
    monkeypatch.setattr(sys, "executable", python)
    assert pack(Field.open(kitchen), tmp_path / "b.zip").sha256 == there
    assert [process.returncode for process in started[1:]] in ([], [1], [-signal.SIGKILL])


@pytest.mark.parametrize("batch", [1, 1 << 20])
def test_a_process_that_is_killed_fails_the_archive_and_leaves_nothing(
    kitchen: Path, tmp_path: Path, started: Started, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryfield.archives.filling.BATCH_BYTES", batch)

    def kill(words: beside.WordsElsewhere) -> None:
        started[0].kill()
        started[0].wait()

    after_each_add(monkeypatch, kill)
    with pytest.raises(OSError, match="the process that indexes pages was ended") as told:
        pack(Field.open(kitchen), tmp_path / "a.zip")
    assert not isinstance(told.value, BrokenPipeError)
    assert started[0].returncode is not None
    assert [path.name for path in tmp_path.iterdir()] == ["kitchen"]


@posix_only
def test_a_disk_that_is_full_for_the_process_is_told_as_ours(kitchen: Path, tmp_path: Path, started: Started) -> None:
    with full_disk(40_000), pytest.raises(OSError, match="is the disk full"):  # the pages fit, the words do not
        pack(Field.open(kitchen), tmp_path / "a.zip")
    assert started[0].returncode == 1
    assert [path.name for path in tmp_path.iterdir()] == ["kitchen"]


def test_no_process_is_left_when_a_field_is_refused(kitchen: Path, tmp_path: Path, started: Started) -> None:
    (kitchen / "zz.md").write_bytes(b"\xff\xfe# UTF-16\0")
    with pytest.raises(BrokenFieldError):
        pack(Field.open(kitchen), tmp_path / "a.zip")
    assert started[0].returncode is not None
    assert [path.name for path in tmp_path.iterdir()] == ["kitchen"]


@posix_only
def test_a_process_that_does_not_go_on_keeps_nobody_from_giving_up(
    kitchen: Path, tmp_path: Path, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pipe is full, and a thread of ours waits for room in it."""
    (kitchen / "zz.md").write_text("# Long\n\n" + "word " * 100_000)
    after_each_add(monkeypatch, lambda words: os.kill(started[0].pid, signal.SIGSTOP))

    def interrupt(done: int, total: int) -> None:
        if done == total - 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pack(Field.open(kitchen), tmp_path / "a.zip", force=True, progress=interrupt)
    assert started[0].returncode == -signal.SIGKILL
    assert [path.name for path in tmp_path.iterdir()] == ["kitchen"]


@posix_only
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_process_and_no_files(kitchen: Path, tmp_path: Path, number: int) -> None:
    (tmp_path / "out").mkdir()
    script = (
        "import sys, time; from memoryfield import processes; from memoryfield.archives import filling\n"
        "tell, start, processes.MANY = filling.Filling._tell, processes.start, 0\n"
        "pids = []\n"
        "def noted(*words): process = start(*words); pids.append(process.pid); return process\n"
        "def slow(self): pids and print(pids.pop(), flush=True); time.sleep(0.2); tell(self)\n"
        "filling.Filling._tell, processes.start = slow, noted\n"
        "from memoryfield.cli import entry; sys.argv = ['memoryfield', 'pack', *sys.argv[1:]]; entry()"
    )
    command = [sys.executable, "-c", script, "-f", str(kitchen), "-o", str(tmp_path / "out" / "a.zip")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode != 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("sent", [b"", pickle.dumps([("woks.md",)])[:9]])
def test_a_process_that_nobody_sends_to_any_more_ends_and_has_not_finished(tmp_path: Path, sent: bytes) -> None:
    process = processes.start(beside.__name__, str(tmp_path / "words"))
    assert process is not None
    process.communicate(sent, timeout=30)
    assert process.returncode == 1
