"""What a search of an archive costs beside one of the same field unpacked: whole processes, in pairs.

    python -m tests.benchmarks.archive [--json FILE] [--pages 10000] [--times 9]

Each pair is a search of the folder and one of the archive, one right after the other; the ratio is
the median of the pairs' ratios. The cache is warm, except where the table says "first", and the
files lie in the system's memory. An archive without an index is compared with the folder's search
by keyword, for information: that folder has an index.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memoryfield import Field, pack

from .cold import QUERY, commands
from .fields import index_field, write_field
from .measure import Run, median_seconds, run, save, spread, table

MODES = ("keyword", "semantic", "hybrid")
AT_MOST = 1.5


def pairs(folder: Sequence[str], archive: Sequence[str], times: int, before: Callable[[], None]) -> list[list[Run]]:
    """Runs of both, in turns; `before` comes before each search of the archive. A first round is not counted."""
    found: list[list[Run]] = []
    for _ in range(times + 1):
        one = run(folder)
        before()
        found.append([one, run(archive)])
    return found[1:]


def _row(what: str, mode: str, runs: list[list[Run]], at_most: float | None) -> dict[str, Any]:
    folder, archive = map(list, zip(*runs, strict=True))
    ratio = statistics.median(of_archive.seconds / of_folder.seconds for of_folder, of_archive in runs)
    return {
        "archive": what,
        "mode": mode,
        "folder_seconds": median_seconds(folder),
        "archive_seconds": median_seconds(archive),
        "noise": spread(archive),
        "ratio": ratio,
        "ratios": [of_archive.seconds / of_folder.seconds for of_folder, of_archive in runs],
        "at_most": at_most,
        "megabytes": max(each.megabytes for each in archive),
        "within": None if at_most is None else ratio <= at_most,
    }


def measure(field: Path, archive: Path, plain: Path, cache: Path, times: int) -> list[dict[str, Any]]:
    """A row for each mode with the cache warm, one for first searches, and two for an archive without index."""

    def search(place: Path, mode: str) -> list[str]:
        return [*commands(place)["search"], "--mode", mode]

    def warm() -> None:
        pass

    def emptied() -> None:
        shutil.rmtree(cache, ignore_errors=True)

    rows = [
        _row("index inside", mode, pairs(search(field, mode), search(archive, mode), times, warm), AT_MOST)
        for mode in MODES
    ]
    few = max(2, times // 3)
    for what, place, before, count in (
        ("index inside, first", archive, emptied, few),
        ("no index", plain, warm, times),
        ("no index, first", plain, emptied, few),
    ):
        rows.append(
            _row(what, "keyword", pairs(search(field, "keyword"), search(place, "keyword"), count, before), None)
        )
    return rows


def main() -> None:
    """Make a field and its archives, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--pages", type=int, default=10_000, help="pages in the field (10000)")
    parser.add_argument("--times", type=int, default=9, help="pairs of each kind (9)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        field, archive, plain = place / "field", place / "field.memoryfield.zip", place / "plain.memoryfield.zip"
        # On Linux as for a user, who has no MEMORYFIELD_CACHE: finding the folder costs an import.
        variable = "XDG_CACHE_HOME" if sys.platform == "linux" else "MEMORYFIELD_CACHE"
        os.environ.pop("MEMORYFIELD_CACHE", None)
        os.environ[variable] = str(place / "cache")
        write_field(field, arguments.pages, 3000)
        with Field.open(field) as opened:
            pack(opened, plain)
            index_field(field)
            packed = pack(opened, archive)
        rows = measure(field, archive, plain, place / "cache", arguments.times)
    header = [f"{arguments.pages:,} pages, {packed.bytes / 1e6:.0f} MB", "mode", "folder s", "archive s", "± s"]
    print(table([*header, "ratio", "at most", "peak MB", "within"], [_cells(row) for row in rows]))
    save({"pages": arguments.pages, "archive_bytes": packed.bytes, "query": QUERY, "rows": rows}, arguments.json)


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["archive"],
        row["mode"],
        f"{row['folder_seconds']:.3f}",
        f"{row['archive_seconds']:.3f}",
        f"{row['noise']:.3f}",
        f"{row['ratio']:.2f}",
        "" if row["at_most"] is None else f"{row['at_most']:.1f}",
        f"{row['megabytes']:.0f}",
        {True: "yes", False: "NO", None: ""}[row["within"]],
    ]


if __name__ == "__main__":
    main()
