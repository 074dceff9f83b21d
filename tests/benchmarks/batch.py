"""Many queries in one process: `search -` over 10,000 pages, beside the same queries one process each.

    python -m tests.benchmarks.batch [--json FILE] [--times 3] [--pages 10000] [--queries 1000]

The time is that of the whole process, its start and the model's loading included. Queries are of
three to nine words, as frequent as in the pages, so that many pages hold some of them.
"""

from __future__ import annotations

import argparse
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path
from typing import Any

from .fields import index_field, vocabulary, write_field
from .measure import interleaved, median_seconds, save, table

AT_LEAST = 60.0
"""Queries a second, in hybrid mode over 10,000 pages."""


def questions(count: int, seed: int = 11) -> list[str]:
    """Queries made of the pages' words."""
    words = vocabulary(20_000)
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(words))))
    rng = random.Random(seed)
    return [" ".join(rng.choices(words, cum_weights=weights, k=rng.randint(3, 9))) for _ in range(count)]


def measure(field: Path, queries: list[str], times: int) -> list[dict[str, Any]]:
    """A row a mode: queries a second of one process for all, and of a process each."""
    tool = [shutil.which("memoryfield") or str(Path(sys.executable).parent / "memoryfield"), "search", "-f", str(field)]
    asked = "".join(f"{query}\n" for query in queries).encode()
    rows: list[dict[str, Any]] = []
    for mode in ("hybrid", "keyword", "semantic"):
        options = ["--mode", mode, "--min-score", "0"]
        rates: list[float] = []
        for _ in range(times):
            start = time.perf_counter()
            done = subprocess.run([*tool, *options, "-"], input=asked, stdout=subprocess.PIPE, check=True)
            rates.append(len(queries) / (time.perf_counter() - start))
            if done.stdout.count(b"\n") != len(queries):
                raise RuntimeError("not every query was answered")
        single = median_seconds(interleaved({"one": [*tool, *options, "--json", queries[0]]}, 3)["one"])
        rate = statistics.median(rates)
        least = AT_LEAST if mode == "hybrid" else None
        row = {"mode": mode, "queries_per_second": rate, "rates": rates, "one_process_each": 1 / single}
        rows.append({**row, "at_least": least, "within": None if least is None else rate >= least})
    return rows


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=1_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        field = Path(folder) / "field"
        write_field(field, options.pages, 3000)
        index_field(field)
        rows = measure(field, questions(options.queries), options.times)
    print(f"{options.queries:,} queries over {options.pages:,} pages of 3,000 bytes, medians of {options.times}\n")
    header = ("mode", "queries a second", "each run", "one process each", "at least", "within")
    shown = [
        (
            row["mode"],
            f"{row['queries_per_second']:.1f}",
            ", ".join(f"{rate:.1f}" for rate in row["rates"]),
            f"{row['one_process_each']:.1f}",
            "" if row["at_least"] is None else f"{row['at_least']:.0f}",
            {None: "", True: "yes", False: "NO"}[row["within"]],
        )
        for row in rows
    ]
    print(table(header, shown))
    save({"pages": options.pages, "queries": options.queries, "rows": rows}, options.json)


if __name__ == "__main__":
    main()
