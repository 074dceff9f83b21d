"""What batches are worth: pages a second of `Field.sync` from nothing, against a server that costs nothing.

    python -m tests.benchmarks.remote [--json FILE] [--times 3] [--pages 2000] [--batches 1 16 64]

A double in a process of its own gives every text the same vector, over Ollama's protocol and over
OpenAI's. Each batch size is measured end to end, in turns, beside one request a page.
"""

from __future__ import annotations

import argparse
import operator
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from memoryfield import Field
from memoryfield.embedders import remote

from ..doubles.constant_server import OLLAMA_MODEL, OPENAI_MODEL, constant_server
from .fields import write_field
from .measure import save, table

SIZE = 2_000
SPECS = {"Ollama": f"ollama:{OLLAMA_MODEL}", "OpenAI": f"openai:{OPENAI_MODEL}"}
AT_LEAST = 10.0


def pages_a_second(folder: Path, spec: str, batch: int) -> float:
    """One sync from nothing, with requests of so many pages; 0: as the tool would."""
    sizes = remote.FIRST_BATCH, remote.MAX_BATCH
    if batch:
        remote.FIRST_BATCH = remote.MAX_BATCH = batch
    try:
        with Field.open(folder) as field:
            for status in field.indexes():
                field.drop_index(status.model)
            start = time.perf_counter()
            report = field.sync(spec)
            seconds = time.perf_counter() - start
    finally:
        remote.FIRST_BATCH, remote.MAX_BATCH = sizes
    if report.unavailable or report.failed or not report.embedded:
        raise RuntimeError(f"{spec}: {report}")
    return report.embedded / seconds


def measure(folder: Path, batches: list[int], times: int) -> list[dict[str, Any]]:
    """Medians for each protocol and batch size, of rates and of how they compare; a first round is not counted."""
    rates: dict[tuple[str, int], list[float]] = {(server, batch): [] for server in SPECS for batch in batches}
    for turn in range(times + 1):
        for (server, batch), found in rates.items():
            rate = pages_a_second(folder, SPECS[server], batch)
            if turn:
                found.append(rate)
    rows: list[dict[str, Any]] = []
    for (server, batch), found in rates.items():
        times_single = statistics.median(map(operator.truediv, found, rates[server, 1]))  # turn by turn: disks vary
        rows.append(
            {
                "server": server,
                "batch": batch or "as the tool",
                "pages_per_second": statistics.median(found),
                "runs": found,
                "times_one_a_request": times_single,
                "at_least": None if batch else AT_LEAST,
                "within": None if batch else times_single >= AT_LEAST,
            }
        )
    return rows


def main() -> None:
    """Make the field, start the double, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--times", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--pages", type=int, default=2_000, help="pages of 2,000 bytes (2,000)")
    parser.add_argument("--batches", type=int, nargs="+", default=[16], help="sizes beside 1 and the tool's")
    arguments = parser.parse_args()
    batches = [*sorted({1, *arguments.batches}), 0]
    with tempfile.TemporaryDirectory() as place, constant_server() as address:
        os.environ |= {"OLLAMA_HOST": address, "OPENAI_BASE_URL": f"{address}/v1", "NO_PROXY": "127.0.0.1"}
        folder = Path(place) / "field"
        write_field(folder, arguments.pages, SIZE)
        rows = measure(folder, batches, arguments.times)
    header = ["server", "pages a request", "pages/s", "times one a request", "at least", "within"]
    print(table(header, [_cells(row) for row in rows]))
    save({"pages": arguments.pages, "bytes": SIZE, "remote": rows}, arguments.json)


def _cells(row: dict[str, Any]) -> list[str]:
    return [
        row["server"],
        str(row["batch"]),
        f"{row['pages_per_second']:,.0f}",
        f"{row['times_one_a_request']:.1f}",
        "" if row["at_least"] is None else f"{row['at_least']:.0f}",
        {True: "yes", False: "NO", None: ""}[row["within"]],
    ]


if __name__ == "__main__":
    main()
