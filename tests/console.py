"""Documents with examples: `console` blocks are run as they stand, and their output compared.

    python -m tests.console README.md samples/README.md

runs a document's examples and writes what they print into it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_VOLATILE = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha256>"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r"[\d,.]+ (?=s\b|pages/s|bytes|kB|MB)"), "<number> "),
    (re.compile(r"\b0\.\d\d+\b"), "<score>"),
    (re.compile(r"\bchecked \d{4}-\d\d-\d\d"), "checked <date>"),
)


@dataclass
class Example:
    """A command of a document, and what the document says it prints."""

    command: str
    output: list[str] = field(default_factory=list)


def examples(document: Path) -> list[Example]:
    """The commands of all `console` blocks, in order."""
    found: list[Example] = []
    for block in _BLOCK.findall(document.read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Example(line[2:]))
            else:
                found[-1].output.append(line)
    return found


def masked(text: str) -> list[str]:
    """The lines of an output without what differs from run to run."""
    for pattern, name in _VOLATILE:
        text = pattern.sub(name, text)
    return text.splitlines()


def run(examples: list[Example], folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Run the commands in one shell, so that `export` and `cd` last; what each printed, both streams, in order."""
    mark = "=== next example ==="
    script = "".join(f"{example.command}\necho '{mark}'\n" for example in examples)
    done = subprocess.run(
        ["sh"],
        input=script,
        cwd=folder,
        env=dict(environment),
        encoding="utf-8",
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return done.stdout.split(mark + "\n")[:-1]


def said(output: str) -> list[str]:
    """The lines of an output that a document shows: hints and progress are left out."""
    return [line for line in output.splitlines() if not line.startswith(("next: ", "deleted "))]


def environment() -> dict[str, str]:
    """The command `memoryfield` first on the PATH, no field in the environment, and no names of the user's own."""
    cleaned = {key: value for key, value in os.environ.items() if key not in ("MEMORYFIELD", "OLLAMA_HOST")}
    cleaned.setdefault("MEMORYFIELD_CONFIG", os.devnull)
    return {**cleaned, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}


@contextmanager
def workplace(document: Path) -> Iterator[Path]:
    """A folder in which a document's examples make sense: a new one, or a copy of the samples."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "work"
        if document.parent.name == "samples":
            shutil.copytree(document.parent, place, ignore=shutil.ignore_patterns("*.sqlite3"))
        else:
            place.mkdir()
        yield place


def rewrite(document: Path) -> None:
    """Put what the examples print now into their document."""
    found = examples(document)
    with workplace(document) as place:
        printed = iter(run(found, place, environment()))

    def block(match: re.Match[str]) -> str:
        lines: list[str] = []
        for line in match[1].splitlines():
            if line.startswith("$ "):
                lines += [line, *said(next(printed))]
        return "```console\n" + "".join(f"{line}\n" for line in lines) + "```"

    document.write_text(_BLOCK.sub(block, document.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        rewrite(Path(name))
