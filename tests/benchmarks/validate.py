"""What it costs to validate a field: whole processes, beside one that only reads the files and hashes them.

    python -m tests.benchmarks.validate [--json FILE] [--pages 10000] [--times 5]

The pages are of 3,000 bytes, with an index; the files lie in the system's memory. Secrets are looked
for where detect-secrets is installed. Memory at a tenth of the pages shows whether it grows with them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memoryfield.validation.secrets import is_installed

from .fields import index_field, write_field
from .measure import Run, interleaved, median_seconds, save, spread, table

AT_MOST = 2.5
"""Seconds, for 10,000 pages on two cores that do nothing else."""

_REFERENCE = """
import hashlib, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    hashlib.sha256(path.read_bytes()).digest()
"""


def commands(field: Path) -> dict[str, list[str]]:
    """What is measured on a field, by name."""
    validate = [sys.executable, "-m", "memoryfield", "validate", "-f", str(field)]
    found = {
        "reading and hashing": [sys.executable, "-c", _REFERENCE, str(field)],
        "validate, no secrets": [*validate, "--ignore", "S-7"],
    }
    return {**found, "validate": validate} if is_installed() else found


def measure(field: Path, pages: int, times: int) -> list[dict[str, Any]]:
    """A row for each command; the bound is for 10,000 pages."""
    runs = interleaved(commands(field), times)
    bound = AT_MOST if pages == 10_000 else None
    return [_row(name, pages, each, bound if name.startswith("validate") else None) for name, each in runs.items()]


def _row(name: str, pages: int, runs: list[Run], at_most: float | None) -> dict[str, Any]:
    seconds = median_seconds(runs)
    return {
        "command": name,
        "pages": pages,
        "seconds": seconds,
        "noise": spread(runs),
        "megabytes": max(run.megabytes for run in runs),
        "at_most": at_most,
        "within": None if at_most is None else seconds <= at_most,
    }


def main() -> None:
    """Make two fields, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--pages", type=int, default=10_000, help="pages in the field (10000)")
    parser.add_argument("--times", type=int, default=5, help="runs of each command (5)")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        for pages in (arguments.pages // 10, arguments.pages):
            field = Path(scratch) / str(pages)
            write_field(field, pages, 3000)
            index_field(field)
            rows += measure(field, pages, arguments.times)
    header: Sequence[str] = ["command", "pages", "seconds", "± s", "peak MB", "at most", "within"]
    print(table(header, [_cells(row) for row in rows]))
    save({"rows": rows}, arguments.json)


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["command"],
        f"{row['pages']:,}",
        f"{row['seconds']:.3f}",
        f"{row['noise']:.3f}",
        f"{row['megabytes']:.0f}",
        "" if row["at_most"] is None else f"{row['at_most']:.2f}",
        {True: "yes", False: "NO", None: ""}[row["within"]],
    ]


if __name__ == "__main__":
    main()
