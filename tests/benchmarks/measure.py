"""Whole processes, timed and weighed; tables and JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Run:
    """One process: seconds from start to end, peak memory in MB (0 where the system does not tell)."""

    seconds: float
    megabytes: float


_LAUNCHER = """
import json, os, sys, time
start = time.perf_counter()
quiet = os.open(os.devnull, os.O_WRONLY)
files = [(os.POSIX_SPAWN_DUP2, quiet, 1)]
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=files)
_, status, usage = os.wait4(child, 0)
seconds = time.perf_counter() - start
print(json.dumps([os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss]))
"""
"""A small process between us and the measured one, which would else begin with our own memory."""


def run(command: Sequence[str]) -> Run:
    """Run a command once. It may end with 0, or with 1 (nothing found)."""
    if not hasattr(os, "posix_spawn"):
        start = time.perf_counter()
        code = subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode
        seconds, peak = time.perf_counter() - start, 0
    else:
        launched = subprocess.run(
            [sys.executable, "-S", "-c", _LAUNCHER, *command], stdout=subprocess.PIPE, text=True, check=True
        )
        code, seconds, peak = json.loads(launched.stdout)
    if code not in (0, 1):
        raise RuntimeError(f"{command} ended with {code}")
    return Run(seconds, peak / (1e6 if sys.platform == "darwin" else 1e3))


def interleaved(commands: Mapping[str, Sequence[str]], times: int) -> dict[str, list[Run]]:
    """Each command so many times, in turns, so that noise meets all alike. A first round is not counted."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for turn in range(times + 1):
        for name, command in commands.items():
            result = run(command)
            if turn:
                runs[name].append(result)
    return runs


def median_seconds(runs: list[Run]) -> float:
    """The middle time."""
    return statistics.median(run.seconds for run in runs)


def spread(runs: list[Run]) -> float:
    """Half the distance between the quartiles of the times: the machine's noise."""
    quartiles = statistics.quantiles((run.seconds for run in runs), n=4)
    return (quartiles[2] - quartiles[0]) / 2


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    return {"python": platform.python_version(), "system": platform.system(), "cores": os.cpu_count()}


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    widths = [max(len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    head = "| " + " | ".join(cell.ljust(width) for cell, width in zip(header, widths, strict=True)) + " |"
    rule = "| " + " | ".join("-" * width for width in widths) + " |"
    return "\n".join([head, rule, *lines])


def save(results: dict[str, Any], path: Path | None) -> None:
    """The figures as JSON, into a file or, without one, to standard output after the table."""
    text = json.dumps({"machine": machine(), **results}, indent=2)
    if path is None:
        print(text)
    else:
        path.write_text(text + "\n", encoding="utf-8")
