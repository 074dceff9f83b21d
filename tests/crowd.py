"""Many processes at one field, some of them killed; every write is noted by its writer, and looked for at the end."""

from __future__ import annotations

import json
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from memoryfield import Field

LOG, CHAIN = "log.md", "chain.md"
FILLING = "Carbon steel heats evenly, and it is light. " * 40
WAIT = 120
"""Seconds that a process may take: one that takes longer waits for ever."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write as its writer saw it. `code` is None where it was killed."""

    kind: str
    token: str
    code: int | None
    talk: str
    before: str = ""
    """Of a replacement, the token of the text that it took the place of."""

    @property
    def is_done(self) -> bool:
        """Whether the writer was told that it is stored."""
        return self.code == 0


@dataclass
class Crowd:
    """Writers, and others at the same field, each a thread that starts one process after the other.

    Args:
        folder: the field; it is made.
        model: whose index is kept.
        variables: the processes' environment.
        writes: how many each writer makes.
        kills: how many processes are killed.
        seconds: how long at least; writers that are done sooner go on.
    """

    folder: Path
    model: str
    variables: Mapping[str, str]
    writers: int = 8
    writes: int = 50
    embedding: int = 2
    searching: int = 2
    packing: int = 1
    kills: int = 3
    seconds: float = 0
    seed: int = 0
    log: list[Write] = field(default_factory=list)
    others: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    killed: Counter[str] = field(default_factory=Counter)
    took: float = 0

    def __post_init__(self) -> None:
        self._running: dict[subprocess.Popen[bytes], str] = {}
        self._doomed: set[subprocess.Popen[bytes]] = set()
        self._guard = threading.Lock()
        self._over = threading.Event()
        self.archive = self.folder.parent / "packed.memoryfield.zip"

    def run(self) -> None:
        """Let them all work until the writers are done."""
        with Field.create(self.folder) as made:
            made.write(LOG, "# Log\n\n## First\n\n## Last\n")
            made.write(CHAIN, "token start\n")
            made.sync(self.model)
        began = time.monotonic()
        writers = [threading.Thread(target=self._write_all, args=(number, began)) for number in range(self.writers)]
        others = [
            *(threading.Thread(target=self._repeat, args=("embed",)) for _ in range(self.embedding)),
            *(
                threading.Thread(target=self._repeat, args=("search", "what heats evenly?"))
                for _ in range(self.searching)
            ),
            *(
                threading.Thread(target=self._repeat, args=("pack", "--replace", "-o", str(self.archive)))
                for _ in range(self.packing)
            ),
            threading.Thread(target=self._kill),
        ]
        for thread in [*writers, *others]:
            thread.start()
        for thread in writers:
            thread.join()
        self.took = time.monotonic() - began
        self._over.set()
        for thread in others:
            thread.join()

    def _process(self, kind: str, *arguments: str, text: str = "") -> tuple[int | None, str, str]:
        """Run a command; its exit code (None: it was killed), its output and its talk."""
        process = subprocess.Popen(
            [sys.executable, "-m", "memoryfield", *arguments, "-f", str(self.folder)],
            env=dict(self.variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with self._guard:
            self._running[process] = kind
        try:
            out, talk = process.communicate(text.encode(), timeout=WAIT)
        except subprocess.TimeoutExpired:
            process.kill()
            out, talk = process.communicate()
            self.faults.append(f"{arguments} took more than {WAIT} seconds")
        with self._guard:
            del self._running[process]
            killed = process in self._doomed and process.returncode == -signal.SIGKILL
        if b"Traceback" in talk:
            self.faults.append(f"{arguments}: {talk.decode()}")
        return None if killed else process.returncode, out.decode(), talk.decode()

    def _write_all(self, writer: int, began: float) -> None:
        chance = random.Random(self.seed * 1000 + writer)
        number = 0
        while number < self.writes or time.monotonic() - began < self.seconds:
            token = f"t{writer}x{number}"
            kind = chance.choice(["new", "append", "section", "replace"])
            self.log.append(getattr(self, f"_{kind}")(token, chance))
            number += 1

    def _new(self, token: str, chance: random.Random) -> Write:
        title = f"Page {token}" if chance.random() < 0.9 else f"Page {chance.randrange(5)}"
        text = f"# {title}\n\ntoken {token}\n\n{FILLING}\n\nend {token}\n"
        code, _, talk = self._process("write", "write", text=text)
        return Write("new", token, code, talk)

    def _append(self, token: str, chance: random.Random) -> Write:
        code, _, talk = self._process(
            "write", "write", LOG, "--append", text=f"- token {token} {FILLING} end {token}\n"
        )
        return Write("append", token, code, talk)

    def _section(self, token: str, chance: random.Random) -> Write:
        section = chance.choice(["First", "Last", "## New"])
        text = f"- token {token} {FILLING} end {token}\n"
        code, _, talk = self._process("write", "write", LOG, "--append", "--section", section, text=text)
        return Write("section", token, code, talk)

    def _replace(self, token: str, chance: random.Random) -> Write:
        code, out, talk = self._process("read", "read", CHAIN, "--json")
        if code != 0:
            return Write("read", token, code, talk)
        page = json.loads(out)["pages"][0]
        found = re.search(r"token (\w+)", page["body"])
        assert found
        text = f"token {token}\n\n{FILLING}\n\nend {token}\n"
        code, _, talk = self._process("write", "write", CHAIN, "--replace", "--if-match", page["sha256"], text=text)
        return Write("replace", token, code, talk, found[1])

    def _repeat(self, *arguments: str) -> None:
        while not self._over.is_set():
            more = ("--model", self.model) if arguments[0] != "pack" else ()
            code, _, talk = self._process(arguments[0], *arguments, *more)
            if code is None:
                continue
            self.others[arguments[0], code] += 1
            if code not in (0, 1) or (code == 1 and arguments[0] != "search"):
                self.faults.append(f"{arguments[0]} ended with {code}: {talk}")

    def _kill(self) -> None:
        chance = random.Random(self.seed)
        count = 0
        while count < self.kills and not self._over.wait(chance.uniform(0.2, 1.2)):
            with self._guard:
                kinds = sorted(set(self._running.values()) - {"read"})
                kind = "write" if count % 2 == 0 and "write" in kinds else chance.choice(kinds or ["none"])
                running = [process for process, its in self._running.items() if its == kind and process.poll() is None]
                if not running:
                    continue
                process = chance.choice(running)
                self._doomed.add(process)
                process.send_signal(signal.SIGKILL)
            self.killed[kind] += 1
            count += 1

    # what is to hold at the end

    def check(self) -> Iterator[str]:
        """All that is wrong with what is there now."""
        yield from self.faults
        texts = {path.name: path.read_text("utf-8") for path in self.folder.glob("*.md")}
        for name, text in texts.items():
            page = Field.open(self.folder).read(name)
            if page.problems or not page.uuid or not page.updated:
                yield f"{name} is torn: {page.problems}"
            for token in re.findall(r"token (t\w+)", text):
                if text.count(f"end {token}\n") != 1:
                    yield f"{name}: {token} does not end as it was written"
        where = Counter(token for text in texts.values() for token in re.findall(r"token (t\w+)", text))
        for write in self.log:
            if write.kind in ("new", "append", "section"):
                wanted = {1} if write.is_done else {0, 1} if write.code is None else {0}
                if where[write.token] not in wanted:
                    yield f"{write} is there {where[write.token]} times"
            if write.code not in (0, None) and not (write.code == 3 and write.talk.startswith("error: ")):
                yield f"{write} was not told so"
        yield from self._check_chain(texts[CHAIN])
        yield from self._check_index()
        yield from self._check_archive()

    def _check_chain(self, text: str) -> Iterator[str]:
        """Each replacement took the place of the one that its writer had read, and of no other."""
        before = {write.token: write.before for write in self.log if write.kind == "replace"}
        found = re.search(r"token (\w+)", text)
        token = found[1] if found else ""
        chain = []
        while token in before:
            chain.append(token)
            token = before[token]
        done = [write.token for write in self.log if write.kind == "replace" and write.is_done]
        if token != "start" or (lost := set(done) - set(chain)):
            yield f"replaced, and lost: {lost if token == 'start' else token}"

    def _check_index(self) -> Iterator[str]:
        with Field.open(self.folder) as opened:
            report = opened.sync(self.model)
            if report.failed or report.pending:
                yield f"not embedded: {report}"
            yield from (str(fault) for fault in opened.validate() if fault.severity == "error")
            pages = {page.filename: page.sha256 for page in opened.pages()}
        with closing(sqlite3.connect(self.folder / f"{self.model}.sqlite3")) as connection:
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                yield "the index is damaged"
            rows = connection.execute("SELECT filename, sha256_hash, length(embedding) FROM pages").fetchall()
        if {name: sha256.hex() for name, sha256, _ in rows} != pages or not all(length for *_, length in rows):
            yield "the index is not that of the pages"

    def _check_archive(self) -> Iterator[str]:
        if not self.archive.exists():
            if self.packing:
                yield "nothing was packed"
            return
        verify = subprocess.run(
            [sys.executable, "-m", "memoryfield", "verify", str(self.archive)],
            env=dict(self.variables),
            capture_output=True,
            text=True,
            check=False,
        )
        if verify.returncode:
            yield f"the archive: {verify.stdout} {verify.stderr}"

    def left(self) -> list[str]:
        """What killed processes have left behind."""
        return sorted(path.name for path in self.folder.glob(".memoryfield*"))

    def count(self, holds: Callable[[Write], bool]) -> int:
        """How many writes are such."""
        return sum(map(holds, self.log))
