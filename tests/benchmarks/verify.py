"""What it costs to verify an archive, beside `sha256sum` and `unzip -t` of it, one after the other.

    python -m tests.benchmarks.verify [--json FILE] [--pages 60000] [--times 5]

Two archives of about 1 GB: one of many pages of 8,000 bytes with an index and attachments that cannot
be compressed, one of few pages and four large attachments. Whole processes, in turns; the files lie in
the system's memory. Each entry of the table is a median, and the ratio is the median of the ratios of
runs that followed each other.
"""

from __future__ import annotations

import argparse
import random
import shlex
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from memoryfield import Field, pack

from .fields import index_field, pages
from .measure import Run, interleaved, median_seconds, save, spread, table

AT_MOST = 2.0
DISTINCT = 2_000
"""So many texts are made; more pages than these share them, with uuids of their own."""
ALLOW = ("--allow", "total=8G", "--allow", "entry=2G", "--allow", "entries=1000000")
REFERENCE, OURS = "sha256sum, unzip -t", "verify"


def write_pages(folder: Path, count: int) -> None:
    """Pages of 8,000 bytes."""
    folder.mkdir()
    texts = [text for _, text in pages(min(count, DISTINCT), 8000)]
    for number in range(count):
        text = texts[number % len(texts)]
        uuid = f"-0000-4000-8000-{number % len(texts):012d}"
        (folder / f"page-{number:06d}.md").write_text(
            text.replace(uuid, f"-0000-4000-8000-{number:012d}", 1), encoding="utf-8"
        )


def write_attachments(folder: Path, count: int, megabytes: int) -> None:
    """Files of random bytes."""
    rng = random.Random(7)
    for number in range(count):
        with (folder / f"picture-{number:03d}.png").open("wb") as file:
            for _ in range(megabytes):
                file.write(rng.randbytes(1 << 20))


def make(place: Path, count: int, attachments: int, megabytes: int) -> Path:
    """An archive of a field with an index."""
    folder = place / "field"
    write_pages(folder, count)
    index_field(folder)
    write_attachments(folder, attachments, megabytes)
    with Field.open(folder) as opened:
        return pack(opened, place / "field.memoryfield.zip").path


def measure(what: str, archive: Path, times: int) -> list[dict[str, Any]]:
    """A row for the reference and one for ours."""
    quoted = shlex.quote(str(archive))
    commands = {
        REFERENCE: ["/bin/sh", "-c", f"sha256sum {quoted} && unzip -tq {quoted}"],
        OURS: [sys.executable, "-m", "memoryfield", "verify", str(archive), *ALLOW],
    }
    runs = interleaved(commands, times)
    ratios = [our.seconds / their.seconds for our, their in zip(runs[OURS], runs[REFERENCE], strict=True)]
    size = archive.stat().st_size
    return [_row(what, size, name, each, ratios if name == OURS else None) for name, each in runs.items()]


def _row(what: str, size: int, name: str, runs: list[Run], ratios: list[float] | None) -> dict[str, Any]:
    ratio = statistics.median(ratios) if ratios else None
    return {
        "archive": what,
        "bytes": size,
        "command": name,
        "seconds": median_seconds(runs),
        "noise": spread(runs),
        "megabytes": max(run.megabytes for run in runs),
        "ratio": ratio,
        "ratios": ratios,
        "at_most": AT_MOST if ratio else None,
        "within": None if ratio is None else ratio <= AT_MOST,
    }


def main() -> None:
    """Make two archives, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--pages", type=int, default=60_000, help="pages of the first archive (60000)")
    parser.add_argument("--times", type=int, default=5, help="runs of each command (5)")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    kinds = (
        (f"{arguments.pages:,} pages, 40 attachments", arguments.pages, 40, 18),
        ("100 pages, 4 attachments", 100, 4, 256),
    )
    for what, count, attachments, megabytes in kinds:
        with tempfile.TemporaryDirectory() as scratch:
            rows += measure(what, make(Path(scratch), count, attachments, megabytes), arguments.times)
    print(table(["archive", "MB", "command", "seconds", "± s", "peak MB", "ratio", "within"], [*map(_cells, rows)]))
    save({"rows": rows}, arguments.json)


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["archive"],
        f"{row['bytes'] / 1e6:.0f}",
        row["command"],
        f"{row['seconds']:.2f}",
        f"{row['noise']:.2f}",
        f"{row['megabytes']:.0f}",
        "" if row["ratio"] is None else f"{row['ratio']:.2f}",
        {True: "yes", False: "NO", None: ""}[row["within"]],
    ]


if __name__ == "__main__":
    main()
