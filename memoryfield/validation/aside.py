"""The rules that look for words take half of the time: of many pages, another process does that on another core."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from ..containers import DEFAULT_LIMITS, Container, Limits, open_container
from .report import Fault
from .walk import word_faults

MANY = 2_000
"""So many pages are worth another process."""

_START = "import sys; sys.path.insert(0, sys.argv[1]); from memoryfield.validation.aside import main; main()"


def begin(container: Container, wanted: Iterable[str]) -> tuple[Callable[[], list[Fault] | None], Callable[[], None]]:
    """Begin to look for what breaks the `wanted` requirements.

    Returns:
        What waits for the faults, None if they are to be looked for here after all; and what gives up.
    """
    if not sys.executable or hasattr(sys, "frozen"):
        return lambda: None, lambda: None
    import subprocess

    package = Path(__file__).parents[2]
    location = container.location.absolute()
    limits = json.dumps(getattr(container, "limits", DEFAULT_LIMITS))
    arguments = [sys.executable, "-c", _START, str(package), str(location), ",".join(wanted), limits]
    try:
        helper = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        return lambda: None, lambda: None

    def collect() -> list[Fault] | None:
        answer = helper.communicate()[0]
        return [Fault(*fault) for fault in json.loads(answer)] if helper.returncode == 0 else None

    def give_up() -> None:
        helper.kill()
        helper.communicate()

    return collect, give_up


def main() -> None:
    """What the other process does: location, requirements and limits as arguments, a JSON array of faults as output."""
    location, wanted, limits = sys.argv[2:]
    try:
        container = open_container(location, Limits(*json.loads(limits)), strict=False)
        found = list(word_faults(container, wanted.split(",")))
        names = ("filename", "line", "column", "requirement", "message", "source")
        print(json.dumps([[getattr(fault, name) for name in names] for fault in found]))
    except KeyboardInterrupt:
        sys.exit(1)
