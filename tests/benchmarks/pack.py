"""What packing costs beside `zip -q -r -6` on the same files in the same run, and how much memory a large field takes.

    python -m tests.benchmarks.pack [--json FILE] [--pages 10000] [--many 100000] [--times 5]

Pages of 3 KB and one index that is up to date; the files lie in the system's memory. `--many 0`
leaves out the large field, which takes some minutes to make.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from .fields import index_field, write_field
from .measure import interleaved, median_seconds, run, save, spread, table

AT_MOST = 1.2
MAX_MEGABYTES = 200.0


def _pack(field: Path, archive: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "memoryfield", "pack", "-f", str(field), "-o", str(archive), "--replace", *options]


def beside_zip(field: Path, place: Path, times: int) -> list[dict[str, Any]]:
    """A row for `zip` and for each way to pack."""
    zipped = f'rm -f "{place}/z.zip" && cd "{field}" && exec zip -q -r -6 "{place}/z.zip" .'
    commands = {
        "zip -q -r -6": ["/bin/sh", "-c", zipped],
        "pack": _pack(field, place / "a.zip"),
        "pack --store": _pack(field, place / "b.zip", "--store"),
        "pack --no-index": _pack(field, place / "c.zip", "--no-index"),
    }
    runs = interleaved(commands, times)
    base = median_seconds(runs["zip -q -r -6"])
    rows: list[dict[str, Any]] = []
    for what, found in runs.items():
        seconds, limit = median_seconds(found), AT_MOST if what == "pack" else None
        rows.append(
            {
                "what": what,
                "seconds": seconds,
                "noise": spread(found),
                "ratio": seconds / base,
                "at_most": limit,
                "megabytes": max(each.megabytes for each in found),
                "within": None if limit is None else seconds / base <= limit,
            }
        )
    return rows


def of_many(pages: int, place: Path) -> dict[str, Any]:
    """A row for a large field, packed once."""
    write_field(place / "many", pages, 3000)
    index_field(place / "many")
    found = run(_pack(place / "many", place / "many.zip"))
    return {
        "what": f"pack, {pages:,} pages",
        "seconds": found.seconds,
        "noise": 0.0,
        "ratio": None,
        "at_most": None,
        "megabytes": found.megabytes,
        "within": found.megabytes <= MAX_MEGABYTES,
    }


def main() -> None:
    """Make the fields, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--pages", type=int, default=10_000, help="pages in the field (10000)")
    parser.add_argument("--many", type=int, default=100_000, help="pages in the large field (100000)")
    parser.add_argument("--times", type=int, default=5, help="runs of each (5)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        write_field(place / "field", arguments.pages, 3000)
        index_field(place / "field")
        rows = beside_zip(place / "field", place, arguments.times)
        if arguments.many:
            rows.append(of_many(arguments.many, place))
    header = [f"{arguments.pages:,} pages", "s", "± s", "ratio to zip", "at most", "peak MB", "within"]
    print(table(header, [_cells(row) for row in rows]))
    save({"pages": arguments.pages, "many": arguments.many, "rows": rows}, arguments.json)


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["what"],
        f"{row['seconds']:.2f}",
        f"{row['noise']:.2f}",
        "" if row["ratio"] is None else f"{row['ratio']:.2f}",
        "" if row["at_most"] is None else f"{row['at_most']:.1f}",
        f"{row['megabytes']:.0f}",
        {True: "yes", False: "NO", None: ""}[row["within"]],
    ]


if __name__ == "__main__":
    main()
