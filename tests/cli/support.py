"""Runs the command line as users do: a process of its own, a clean environment, with or without a terminal."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeVar

from memoryfield import Field
from memoryfield.cli import main as command_line

from .shapes import check_answer

T = TypeVar("T")

MODEL = "all-MiniLM-L6-v2"
INDEX = f"{MODEL}.sqlite3"
NO_SERVER = "127.0.0.1:9"
"""An address at which nothing listens."""

WOKS = """---
title: Which wok heats evenly?
summary: Carbon steel.
uuid: 11111111-1111-4111-8111-111111111111
created: "2026-01-01T00:00:00Z"
updated: "2026-01-03T00:00:00Z"
---

# Woks

A carbon steel wok heats evenly, and it is light.
"""
PANS = """---
title: Cast iron pans
uuid: 22222222-2222-4222-8222-222222222222
created: "2026-01-02T00:00:00Z"
updated: "2026-01-02T00:00:00Z"
---

# Pans

A cast iron pan holds its heat for long. It is heavy, and it needs oil so that it does not rust.
"""
ABOUT = """---
title: Kitchen notes
uuid: 33333333-3333-4333-8333-333333333333
created: "2026-01-03T00:00:00Z"
updated: "2026-01-01T00:00:00Z"
---

# Kitchen notes

What we learned about cookware.
"""
PAGES = {"index.md": ABOUT, "pans.md": PANS, "woks.md": WOKS}

TIMEOUT = 60


@dataclass(frozen=True)
class Run:
    """How a command ended: its exit code, and the bytes of its two streams."""

    code: int
    raw: bytes
    talk: bytes = b""

    @property
    def out(self) -> str:
        """Standard output as text."""
        return self.raw.decode("utf-8")

    @property
    def err(self) -> str:
        """Standard error as text."""
        return self.talk.decode("utf-8")

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.raw)


def environment(**more: str) -> dict[str, str]:
    """What a command sees of ours: next to nothing."""
    kept = (
        "PATH",
        "HOME",
        "MEMORYFIELD_CACHE",
        "MEMORYFIELD_CONFIG",
        "PYTHONPATH",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "TMPDIR",
    )
    clean = {name: os.environ[name] for name in kept if name in os.environ}
    return {**clean, "LANG": "C.UTF-8", "OLLAMA_HOST": NO_SERVER, **more}


def command(*arguments: str | Path) -> list[str]:
    """The words that start memoryfield."""
    return [sys.executable, "-m", "memoryfield", *map(str, arguments)]


def memoryfield(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: bytes | str = b"",
    env: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> Run:
    """Run a command. Whatever comes of it, there must be no traceback, and JSON must be as its schema says.

    Args:
        before: called in the new process before it starts its program.
    """
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        input=stdin.encode("utf-8") if isinstance(stdin, str) else stdin,
        capture_output=True,
        env=environment(**(env or {})),
        preexec_fn=before,
        timeout=TIMEOUT,
        check=False,
    )
    return _checked(arguments, Run(done.returncode, done.stdout, done.stderr))


def _checked(arguments: Sequence[str | Path], run: Run) -> Run:
    assert b"Traceback" not in run.talk, run.talk.decode("utf-8", "replace")
    check_answer([*map(str, arguments)], run.code, run.raw)
    return run


def forked(
    *arguments: str | Path,
    cwd: Path | None = None,
    stdin: bytes | str = b"",
    env: Mapping[str, str] | None = None,
) -> Run:
    """The same in a fork of this process, which has the modules loaded already: a process too, and many times faster.

    For commands that run no model. Where processes cannot fork, it is `memoryfield`.
    """
    if not hasattr(os, "fork"):
        return memoryfield(*arguments, cwd=cwd, stdin=stdin, env=env)
    with _streams(stdin) as streams:
        child = _fork()
        if child == 0:
            os._exit(_called(arguments, streams, cwd, env))
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        run = Run(code, *map(_all_of, streams[1:]))
    return _checked(arguments, run)


def forked_in_turn(
    calls: Sequence[Sequence[str]],
    cwd: Path,
    stdin: bytes | str,
    env: Mapping[str, str],
    after: Callable[[], T],
) -> Iterator[tuple[Sequence[str], Run, T]]:
    """Commands one after the other in one fork, faster again than a fork for each.

    Returns:
        Each call, how it ended, and what `after` gave then.
    """
    if not hasattr(os, "fork"):
        yield from ((call, memoryfield(*call, cwd=cwd, stdin=stdin, env=env), after()) for call in calls)
        return
    with tempfile.TemporaryFile() as found:
        child = _fork()
        if child == 0:
            for call in calls:
                with _streams(stdin) as streams:
                    code = _called(call, streams, cwd, env)
                    pickle.dump((Run(code, *map(_all_of, streams[1:])), after()), found)
            found.flush()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, "a command ended the process in which others were to follow"
        found.seek(0)
        for call in calls:
            run, seen = pickle.load(found)
            yield call, _checked(call, run), seen


@contextmanager
def _streams(stdin: bytes | str) -> Iterator[tuple[IO[bytes], IO[bytes], IO[bytes]]]:
    """A file for each stream of a command, the first filled."""
    with tempfile.TemporaryFile() as keys, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as talk:
        keys.write(stdin.encode("utf-8") if isinstance(stdin, str) else stdin)
        keys.seek(0)
        yield keys, out, talk


def _all_of(stream: IO[bytes]) -> bytes:
    stream.seek(0)
    return stream.read()


def _fork() -> int:
    """A fork that has every module of the command line."""
    for module in set(command_line.COMMANDS.values()):
        import_module(f"memoryfield.cli.{module}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads: ours are idle
        return os.fork()


def _called(
    arguments: Sequence[str | Path],
    streams: Sequence[IO[bytes]],
    cwd: Path | None,
    env: Mapping[str, str] | None,
) -> int:
    """In the child: take on the streams, the folder and the environment of a new process, and run; the exit code."""
    try:
        variables = environment(**(env or {}))  # of which some are ours
        signal.alarm(TIMEOUT)
        for place, stream in enumerate(streams):
            os.dup2(stream.fileno(), place)
        sys.stdin, sys.stdout, sys.stderr = (
            io.TextIOWrapper(io.FileIO(place, mode, closefd=False), encoding="utf-8")
            for place, mode in enumerate(("r", "w", "w"))
        )
        os.environ.clear()
        os.environ.update(variables)
        os.chdir(cwd or ".")
        sys.argv = ["memoryfield", *map(str, arguments)]
        command_line.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 1


def on_terminal(
    *arguments: str | Path,
    cwd: Path | None = None,
    columns: int = 80,
    answers: Sequence[tuple[str, bytes]] = (),
    talk_too: bool = True,
    env: Mapping[str, str] | None = None,
) -> Run:
    """Run a command on a terminal of its own.

    Args:
        answers: pairs of a text to wait for on the terminal and the keys to press then.
        talk_too: whether standard error goes to the terminal too; otherwise it is caught apart.

    Returns:
        The run, with all that the terminal was sent in `raw`.
    """
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    with tempfile.TemporaryFile() as talk:
        process = subprocess.Popen(
            command(*arguments),
            cwd=cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave if talk_too else talk,
            env=environment(**{"TERM": "xterm-256color", **(env or {})}),
            preexec_fn=take_terminal,
        )
        os.close(slave)
        try:
            raw = _conversation(master, answers)
            code = process.wait(TIMEOUT)
        finally:
            process.kill()
            process.wait()
            os.close(master)
        talk.seek(0)
        run = Run(code, raw, talk.read())
    assert b"Traceback" not in run.raw + run.talk, run
    return run


def _conversation(master: int, answers: Sequence[tuple[str, bytes]]) -> bytes:
    """All that comes from a terminal until it is closed, with each answer given when its turn comes."""
    import select

    raw = b""
    waiting = list(answers)
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        if not select.select([master], [], [], 0.5)[0]:
            continue
        try:
            part = os.read(master, 65536)
        except OSError:  # closed at the other end
            return raw
        if not part:
            return raw
        raw += part
        if waiting and waiting[0][0].encode() in raw:
            os.write(master, waiting.pop(0)[1])
    raise AssertionError(f"the terminal is still open: {raw!r}")


_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def unstyled(text: str) -> str:
    """Terminal output without bold and colour. Any other escape sequence stays."""
    return _STYLE.sub("", text)


def cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(bool(unicodedata.combining(character)) for character in text)


def lines(text: str) -> list[str]:
    """The lines of an output."""
    return text.replace("\r\n", "\n").splitlines()


# Fields


def write_page(folder: Path, name: str, text: str | bytes, age: float = 3600) -> Path:
    """A page file, as some other program writes it; by its time, an hour old."""
    path = folder / name
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    moment = int(time.time() - age)
    os.utime(path, (moment, moment))
    return path


def make_kitchen(folder: Path, *, embedded: bool = False) -> Path:
    """A field of three pages in a new folder, with or without an index."""
    folder.mkdir(parents=True)
    for name, text in PAGES.items():
        path = write_page(folder, name, text)
        os.utime(path, (1_767_225_600, 1_767_225_600))
    if embedded:
        (folder / INDEX).write_bytes(_index_of_kitchen())
    return folder


@cache
def _index_of_kitchen() -> bytes:
    """The index of just those pages, made once."""
    with tempfile.TemporaryDirectory() as place:
        folder = make_kitchen(Path(place) / "kitchen")
        with Field.open(folder) as field:
            assert field.sync().embedded == len(PAGES)
        return (folder / INDEX).read_bytes()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file in a folder, with its bytes."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
