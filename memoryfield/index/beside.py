"""Taking in words takes as long as reading and deflating pages: of many, another process does it meanwhile."""

from __future__ import annotations

import errno
import json
import pickle
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import processes
from .packed import Words
from .store import Record

if TYPE_CHECKING:
    import subprocess

_READY = b"ready\n"


class WordsElsewhere:
    """Does what `Words` does, in another process; here, where that does not begin.

    Raises, from `add` and `finish`:
        OSError: the disk is full, or somebody ended the process.
    """

    def __init__(self, path: Path, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin
        assert process.stdout
        self._path, self._process = path, process
        self._input, self._output = process.stdin, process.stdout
        self._here: Words | None = None
        self._is_asked = self._is_given_up = False

    def add(self, records: Sequence[Record]) -> None:
        """Take in pages; all of them in order of name."""
        self._ask()
        if self._here:
            self._here.add(records)
        else:
            self._send(records)

    def finish(self) -> None:
        """All pages are in: make one piece of their words, and let go of the file."""
        self._ask()
        if self._here:
            self._here.finish()
            return
        self._send([])
        answer = self._output.read()
        if self._process.wait() != 0:
            raise self._why(answer)

    def _ask(self) -> None:
        """See whether the process is there: when the first pages come, and not before, so that it has time to begin."""
        if self._is_asked:
            return
        self._is_asked = True
        if self._output.readline() != _READY and not self._is_given_up:
            self._here = Words(self._path)

    def _send(self, records: Sequence[Record]) -> None:
        try:
            # Only our own process reads it, and only what comes from here.
            pickle.dump(list(map(tuple, records)), self._input, pickle.HIGHEST_PROTOCOL)
            self._input.flush()
        except OSError:
            raise self._why(self._output.read()) from None

    def _why(self, answer: bytes) -> OSError:
        """What the process said before it ended, if it did."""
        code = self._process.wait()
        if answer:
            return OSError(*json.loads(answer))
        return OSError(errno.ECHILD, f"the process that indexes pages was ended ({code}): is memory short?")

    def give_up(self) -> None:
        """The pages that are still to come do not matter any more."""
        self._is_given_up = True
        processes.end(self._process)

    def close(self) -> None:
        """Let go of the scratch file."""
        self.give_up()
        if self._here:
            self._here.close()


Filler = Words | WordsElsewhere


def words(path: Path, pages: int) -> Filler:
    """What takes in the words of so many pages, for a scratch file."""
    process = processes.start(__name__, str(path)) if pages >= processes.MANY else None
    return WordsElsewhere(path, process) if process else Words(path)


def main() -> None:
    """What the other process does: the file as argument, lists of records as input, the last empty; error as output."""
    try:
        sys.stdout.buffer.write(_READY)
        sys.stdout.flush()
        words = Words(Path(sys.argv[1]))
        while records := pickle.load(sys.stdin.buffer):
            words.add([Record._make(record) for record in records])
        words.finish()
    except OSError as error:
        print(json.dumps([error.errno, error.strerror]), flush=True)
        sys.exit(1)
    except (KeyboardInterrupt, EOFError):
        sys.exit(1)
