"""What it costs to import a vault, and to import it again, beside `cp -r` and a `sync` of the same files.

    python -m tests.benchmarks.importing [--json FILE] [--notes 5000] [--times 3]

The notes are of 2,000 bytes in fifty folders: a third has frontmatter, each has four links to others, one tag and one
heading, and every tenth shows a picture. Whole processes, each with a fresh field.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from .measure import Run, median_seconds, run, save, table

FOLDERS = 50


def write_vault(place: Path, notes: int) -> None:
    """Notes as Obsidian keeps them."""
    for number in range(notes):
        folder = place / f"Folder {number % FOLDERS}"
        folder.mkdir(parents=True, exist_ok=True)
        head = "" if number % 3 else f"---\naliases: [Also {number}]\ntags:\n  - some\ncreated: 2024-05-06\n---\n"
        links = ", ".join(f"[[Note {(number * 7 + step) % notes}|see {step}]]" for step in range(4))
        picture = f"![[pic {number}.png]]\n" if number % 10 == 0 else ""
        text = f"{head}# Note {number}\n\nThis one: {links}. #tag{number % 9}\n\n{picture}{'Words of it. ' * 140}\n"
        (folder / f"Note {number}.md").write_text(text, encoding="utf-8")
        if picture:
            (folder / f"pic {number}.png").write_bytes(b"\x89PNG" + str(number).encode() * 100)


def measure(vault: Path, place: Path, times: int) -> dict[str, list[Run]]:
    """Runs of each, in turns."""
    runs: dict[str, list[Run]] = {"import": [], "import again": [], "cp": []}
    for _ in range(times):
        field = place / "field"
        field.mkdir()
        importing = [sys.executable, "-m", "memoryfield", "import", str(vault), "-f", str(field)]
        runs["import"].append(run(importing))
        runs["import again"].append(run(importing))
        runs["cp"].append(run(["/bin/sh", "-c", 'cp -r "$1" "$2" && sync', "cp", str(vault), str(place / "plain")]))
        shutil.rmtree(field)
        shutil.rmtree(place / "plain")
    return runs


def main() -> None:
    """Make the vault, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--notes", type=int, default=5000, help="notes in the vault (5000)")
    parser.add_argument("--times", type=int, default=3, help="runs of each (3)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        write_vault(Path(scratch) / "vault", arguments.notes)
        runs = measure(Path(scratch) / "vault", Path(scratch), arguments.times)
    plain = median_seconds(runs["cp"])
    rows: list[dict[str, Any]] = [
        {"what": name, "seconds": median_seconds(each), "megabytes": max(one.megabytes for one in each)}
        for name, each in runs.items()
    ]
    header = [f"{arguments.notes:,} notes", "s", "times cp and sync", "peak MB"]
    lines = [
        [row["what"], f"{row['seconds']:.2f}", f"{row['seconds'] / plain:.1f}", f"{row['megabytes']:.0f}"]
        for row in rows
    ]
    print(table(header, lines))
    save({"notes": arguments.notes, "rows": rows}, arguments.json)


if __name__ == "__main__":
    main()
