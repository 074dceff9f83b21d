"""How time, memory and the index grow with the number of pages: whole processes, pages of 2,048 bytes.

    python -m tests.benchmarks.scale [--pages 1000,10000,100000] [--times 5] [--json FILE]

The embedder costs nothing (random unit vectors of 384 dimensions under the bundled model's code), so
that a sync is our own work alone; a search embeds its query with the real model. Searches are told
as seconds more than the import line, `python -c "import numpy, onnxruntime, tokenizers"`, in the
same run. Growth counts as linear or better if from each size to the next no time, no memory and no
index grows by a greater factor than the number of pages, with 10 % for noise.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from .cold import IMPORT_LINE, IMPORTS
from .fields import MODEL, vocabulary, write_field
from .measure import interleaved, median_seconds, run, save, spread, table

PAGE_BYTES = 2048
MODES = ("keyword", "semantic", "hybrid")
QUERY = " ".join(vocabulary(20_000)[rank] for rank in (100, 300, 1_000, 5_000, 15_000))
"""A word that a quarter of the pages hold, one that hardly any does, and three between them."""
NOISE = 1.1

MOST_SECONDS = 0.5
MOST_INDEX_BYTES = 4096
MOST_MEGABYTES = 300


def scale(count: int, times: int, place: Path) -> dict[str, Any]:
    """All figures for a field of so many pages, which is made in `place`."""
    field = place / f"field-{count}"
    write_field(field, count, PAGE_BYTES)
    code = (
        f"from pathlib import Path; from tests.benchmarks.fields import index_field; index_field(Path({str(field)!r}))"
    )
    first = run([sys.executable, "-c", code])
    tool = shutil.which("memoryfield") or str(Path(sys.executable).parent / "memoryfield")
    search = [tool, "search", "-f", str(field), QUERY, "--min-score", "0", "--mode"]
    commands = {mode: [*search, mode] for mode in MODES}
    commands |= {IMPORT_LINE: [sys.executable, "-c", IMPORTS], "again": [tool, "embed", "-f", str(field)]}
    runs = interleaved(commands, times)
    base = median_seconds(runs[IMPORT_LINE])
    row = {
        "pages": count,
        "sync_seconds": first.seconds,
        "sync_again_seconds": median_seconds(runs["again"]),
        "import_line_seconds": base,
        **{f"{mode}_seconds_more": median_seconds(runs[mode]) - base for mode in MODES},
        "noise_seconds": max(map(spread, runs.values())),
        "index_bytes_a_page": (field / f"{MODEL}.sqlite3").stat().st_size / count,
        "sync_megabytes": max(first.megabytes, *(result.megabytes for result in runs["again"])),
        "search_megabytes": max(result.megabytes for mode in MODES for result in runs[mode]),
    }
    shutil.rmtree(field)
    return row


def verdicts(rows: list[dict[str, Any]]) -> dict[str, bool]:
    """Each bound in words, and whether it holds."""
    largest = rows[-1]
    hybrid = f"cold hybrid search of {largest['pages']:,} pages: at most {MOST_SECONDS} s more than the import line"
    return {
        "growth is linear or better": not faster_than_linear(rows),
        hybrid: largest["hybrid_seconds_more"] <= MOST_SECONDS,
        f"index: at most {MOST_INDEX_BYTES:,} bytes a page": _at_most(rows, "index_bytes_a_page", MOST_INDEX_BYTES),
        f"sync: at most {MOST_MEGABYTES} MB": _at_most(rows, "sync_megabytes", MOST_MEGABYTES),
    }


def _at_most(rows: list[dict[str, Any]], name: str, most: float) -> bool:
    return all(row[name] <= most for row in rows)


def faster_than_linear(rows: list[dict[str, Any]]) -> list[str]:
    """What grows by a greater factor than the number of pages, from one size to the next."""
    return [
        f"{name} from {small['pages']:,} to {large['pages']:,} pages"
        for small, large in pairwise(map(_totals, rows))
        for name in small
        if large[name] > small[name] * NOISE * large["pages"] / small["pages"]
    ]


def _totals(row: dict[str, Any]) -> dict[str, float]:
    """What grows, from nothing: whole processes, the whole index."""
    return {
        "pages": row["pages"],
        "sync": row["sync_seconds"],
        "sync with nothing to do": row["sync_again_seconds"],
        **{f"{mode} search": row[f"{mode}_seconds_more"] + row["import_line_seconds"] for mode in MODES},
        "index": row["index_bytes_a_page"] * row["pages"],
        "memory of the sync": row["sync_megabytes"],
        "memory of the search": row["search_megabytes"],
    }


_COLUMNS = {
    "pages": ("pages", ",d"),
    "sync s": ("sync_seconds", ".1f"),
    "again s": ("sync_again_seconds", ".2f"),
    "keyword s": ("keyword_seconds_more", "+.2f"),
    "semantic s": ("semantic_seconds_more", "+.2f"),
    "hybrid s": ("hybrid_seconds_more", "+.2f"),
    "± s": ("noise_seconds", ".2f"),
    "index bytes a page": ("index_bytes_a_page", ",.0f"),
    "sync MB": ("sync_megabytes", ".0f"),
    "search MB": ("search_megabytes", ".0f"),
}


def main() -> None:
    """Make the fields, one after the other, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", default="1000,10000,100000", help="numbers of pages (1000,10000,100000)")
    parser.add_argument("--times", type=int, default=5, help="runs of each search and of the sync without work (5)")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        counts = sorted(map(int, arguments.pages.split(",")))
        rows = [scale(count, arguments.times, Path(folder)) for count in counts]
    cells = [[format(row[name], form) for name, form in _COLUMNS.values()] for row in rows]
    print(table(list(_COLUMNS), cells))
    print(f"\nsearches: cold, more than the import line ({rows[-1]['import_line_seconds']:.2f} s)")
    held = verdicts(rows)
    for bound, holds in held.items():
        print(f"{'yes' if holds else 'NO '}  {bound}")
    for found in faster_than_linear(rows):
        print(f"     faster than linear: {found}")
    save({"scale": rows, "bounds": held}, arguments.json)


if __name__ == "__main__":
    main()
