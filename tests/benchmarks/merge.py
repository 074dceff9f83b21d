"""What it costs to merge one field into another, beside `cp -r` of the pages that are merged and a `sync`.

    python -m tests.benchmarks.merge [--json FILE] [--pages 10000] [--times 3]

Three sources of as many pages as the field: all of them new, all of them changed, one in a hundred
changed. The pages are of 3,000 bytes. Whole processes, each with a fresh copy of the field.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from .fields import write_field
from .measure import Run, median_seconds, run, save, table


def sources(field: Path, place: Path) -> dict[str, Path]:
    """The three sources."""
    found = {name: place / name for name in ("new", "changed", "1 % changed")}
    for folder in found.values():
        folder.mkdir()
    for number, path in enumerate(sorted(field.glob("*.md"))):
        raw = path.read_bytes()
        other = raw.replace(b"updated: ", b"note: other\nupdated: ", 1)
        new = b"\n".join(line for line in raw.split(b"\n") if not line.startswith(b"uuid:"))
        (found["new"] / f"new-{path.name}").write_bytes(new)
        (found["changed"] / path.name).write_bytes(other)
        (found["1 % changed"] / path.name).write_bytes(raw if number % 100 else other)
    return found


def measure(field: Path, source: Path, place: Path, times: int) -> dict[str, list[Run]]:
    """Runs of both, in turns."""
    runs: dict[str, list[Run]] = {"cp": [], "merge": []}
    for _ in range(times):
        copy = place / "copy"
        shutil.copytree(field, copy)
        runs["merge"].append(
            run([sys.executable, "-m", "memoryfield", "merge", str(source), "-f", str(copy), "--theirs"])
        )
        runs["cp"].append(run(["/bin/sh", "-c", 'cp -r "$1" "$2" && sync', "cp", str(source), str(place / "plain")]))
        shutil.rmtree(copy)
        shutil.rmtree(place / "plain")
    return runs


def main() -> None:
    """Make the fields, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--pages", type=int, default=10_000, help="pages on each side (10000)")
    parser.add_argument("--times", type=int, default=3, help="runs of each (3)")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        write_field(place / "field", arguments.pages, 3000)
        for name, source in sources(place / "field", place).items():
            runs = measure(place / "field", source, place, arguments.times)
            megabytes = max(each.megabytes for each in runs["merge"])
            seconds = {kind: median_seconds(each) for kind, each in runs.items()}
            rows.append({"source": name, **seconds, "megabytes": megabytes})
    header = [f"{arguments.pages:,} pages", "merge s", "cp and sync s", "peak MB"]
    lines = [[row["source"], f"{row['merge']:.2f}", f"{row['cp']:.2f}", f"{row['megabytes']:.0f}"] for row in rows]
    print(table(header, lines))
    save({"pages": arguments.pages, "rows": rows}, arguments.json)


if __name__ == "__main__":
    main()
