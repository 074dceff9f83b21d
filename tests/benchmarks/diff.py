"""What it costs to compare two fields, beside `diff -rq` and `git diff --no-index` of the same folders.

    python -m tests.benchmarks.diff [--json FILE] [--pages 10000] [--changes 100] [--times 5]

The pages are of 3,000 bytes, with an index; of the changes, half are in the text, a fourth in the
frontmatter, and the rest are new names, new pages and pages that are gone. Whole processes, in turns;
the files lie in the system's memory.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from memoryfield import Field, pack

from .fields import index_field, write_field
from .measure import Run, interleaved, median_seconds, save, spread, table

AT_MOST = 3.0
"""Seconds, for 10,000 pages against 10,000 with 100 changes."""
KINDS = ("text", "text", "frontmatter", "other")


def change(folder: Path, changes: int) -> None:
    """Change so many pages, evenly spread."""
    pages = sorted(folder.glob("*.md"))
    for number, path in enumerate(pages[:: max(1, len(pages) // changes)][:changes]):
        text = path.read_text(encoding="utf-8")
        kind = KINDS[number % 4]
        if kind == "text":
            path.write_text(text + "One more line.\n", encoding="utf-8")
        elif kind == "frontmatter":
            path.write_text(text.replace("updated: ", 'tags: ["new"]\nupdated: ', 1), encoding="utf-8")
        elif number % 3 == 0:
            path.rename(path.with_name(f"renamed-{path.name}"))
        elif number % 3 == 1:
            path.unlink()
        else:
            path.with_name(f"new-{path.name}").write_text("# New\n", encoding="utf-8")


def commands(a: Path, b: Path, archive: Path) -> dict[str, list[str]]:
    """What is measured, by name. What is compared with comes first."""
    found = {"diff -rq": ["diff", "-rq", str(a), str(b)]}
    found["git diff"] = ["git", "diff", "--no-index", "--name-status", str(a), str(b)]
    found = {name: [str(shutil.which(words[0])), *words[1:]] for name, words in found.items() if shutil.which(words[0])}
    ours = [sys.executable, "-m", "memoryfield", "diff"]
    return {
        **found,
        "folder, folder": [*ours, str(a), str(b)],
        "folder, archive": [*ours, str(a), str(archive)],
        "folder, folder, -p": [*ours, "-p", str(a), str(b)],
        "folder, folder, --stat": [*ours, "--stat", str(a), str(b)],
    }


def measure(a: Path, b: Path, archive: Path, is_bound: bool, times: int) -> list[dict[str, Any]]:
    """A row for each command."""
    runs = interleaved(commands(a, b, archive), times)
    compared_with = [name for name in runs if name in ("diff -rq", "git diff")]
    references = {name: median_seconds(runs[name]) for name in compared_with}
    return [_row(name, each, references, is_bound) for name, each in runs.items()]


def _row(name: str, runs: list[Run], references: dict[str, float], is_bound: bool) -> dict[str, Any]:
    seconds = median_seconds(runs)
    at_most = AT_MOST if is_bound and name not in references else None
    return {
        "command": name,
        "seconds": seconds,
        "noise": spread(runs),
        "megabytes": max(run.megabytes for run in runs),
        "ratios": {reference: seconds / other for reference, other in references.items()},
        "at_most": at_most,
        "within": None if at_most is None else seconds <= at_most,
    }


def main() -> None:
    """Make two fields and an archive, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--pages", type=int, default=10_000, help="pages in each field (10000)")
    parser.add_argument("--changes", type=int, default=100, help="pages that differ (100)")
    parser.add_argument("--times", type=int, default=5, help="runs of each command (5)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        a, b, archive = (Path(scratch) / name for name in ("a", "b", "b.memoryfield.zip"))
        write_field(a, arguments.pages, 3000)
        index_field(a)
        shutil.copytree(a, b)
        change(b, arguments.changes)
        index_field(b)
        with Field.open(b) as opened:
            pack(opened, archive)
        rows = measure(a, b, archive, arguments.pages == 10_000, arguments.times)
    references = sorted({reference for row in rows for reference in row["ratios"]})
    header = [f"{arguments.pages:,} pages, {arguments.changes} changes", "seconds", "± s", "peak MB"]
    header += [*(f"/ {reference}" for reference in references), "at most", "within"]
    print(table(header, [_cells(row, references) for row in rows]))
    save({"pages": arguments.pages, "changes": arguments.changes, "rows": rows}, arguments.json)


def _cells(row: dict[str, Any], references: list[str]) -> list[str]:
    return [
        row["command"],
        f"{row['seconds']:.3f}",
        f"{row['noise']:.3f}",
        f"{row['megabytes']:.0f}",
        *(f"{row['ratios'][reference]:.1f}" for reference in references),
        "" if row["at_most"] is None else f"{row['at_most']:.1f}",
        {True: "yes", False: "NO", None: ""}[row["within"]],
    ]


if __name__ == "__main__":
    main()
