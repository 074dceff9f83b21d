"""The rules that look for words take half of the time: of many pages, another process does that on another core."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable

from ..containers import DEFAULT_LIMITS, Container, Limits, open_container
from ..processes import end, start
from .report import Fault
from .walk import word_faults


def begin(container: Container, wanted: Iterable[str]) -> tuple[Callable[[], list[Fault] | None], Callable[[], None]]:
    """Begin to look for what breaks the `wanted` requirements.

    Returns:
        What waits for the faults, None if they are to be looked for here after all; and what gives up.
    """
    limits = json.dumps(getattr(container, "limits", DEFAULT_LIMITS))
    helper = start(__name__, str(container.location.absolute()), ",".join(wanted), limits)
    if helper is None:
        return lambda: None, lambda: None

    def collect() -> list[Fault] | None:
        answer = helper.communicate()[0]
        return [Fault(*fault) for fault in json.loads(answer)] if helper.returncode == 0 else None

    return collect, lambda: end(helper)


def main() -> None:
    """What the other process does: location, requirements and limits as arguments, a JSON array of faults as output."""
    location, wanted, limits = sys.argv[1:]
    try:
        container = open_container(location, Limits(*json.loads(limits)), strict=False)
        found = list(word_faults(container, wanted.split(",")))
        names = ("filename", "line", "column", "requirement", "message", "source")
        print(json.dumps([[getattr(fault, name) for name in names] for fault in found]))
    except KeyboardInterrupt:
        sys.exit(1)
