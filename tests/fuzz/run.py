"""Fuzz by coverage: `python -m tests.fuzz.run parser --minutes 10`, or `writer`; needs `pip install -e '.[fuzz]'`.

What makes a check fail is printed with its traceback, and kept in the folder of inputs as `crash-…`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["memoryfield", "yaml", "tomllib"]):
    from tests.fuzz import harness

MAX_SECONDS, MAX_MEGABYTES, MAX_INPUT = 5, 1024, 4096
"""An input that takes longer, or more memory, is a finding."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("check", choices=sorted(harness.CHECKS))
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--inputs", type=Path, help="a folder that keeps the inputs which reached something new")
    chosen = parser.parse_args()
    folder = chosen.inputs or Path(tempfile.mkdtemp(prefix="memoryfield-fuzz-"))
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(harness.seeds(chosen.check)):
        (folder / f"seed-{number:02}").write_bytes(seed)
    words = folder.with_name(folder.name + ".words")
    words.write_text("".join(f'"{_quoted(word)}"\n' for word in harness.WORDS), encoding="ascii")
    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={round(chosen.minutes * 60)}",
            f"-timeout={MAX_SECONDS}",
            f"-rss_limit_mb={MAX_MEGABYTES}",
            f"-max_len={MAX_INPUT}",
            f"-dict={words}",
            f"-artifact_prefix={folder}/",
            "-print_final_stats=1",
            str(folder),
        ],
        harness.CHECKS[chosen.check],
    )
    print(f"inputs in {folder}", flush=True)
    atheris.Fuzz()


def _quoted(word: str) -> str:
    """As libFuzzer's dictionaries have it."""
    return "".join(f"\\x{byte:02x}" for byte in word.encode())


if __name__ == "__main__":
    main()
