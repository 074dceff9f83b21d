"""Other processes of ours, for what another core can do meanwhile.

Not by `multiprocessing`: that runs the script again that uses this library, if it is not guarded.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

MANY = 2_000
"""So many pages are worth another process."""


def start(module: str, *arguments: str) -> subprocess.Popen[bytes] | None:
    """Run the function `main` of a module in a process of its own; None where none can be started.

    Args:
        arguments: what it finds in `sys.argv[1:]`. Its input and output are pipes to here, its errors are not shown.
    """
    if not sys.executable or hasattr(sys, "frozen"):
        return None
    import subprocess

    script = f"import sys; sys.path.insert(0, sys.argv.pop(1)); from {module} import main; main()"
    # -P: the current folder may be a field from elsewhere, and hold a json.py.
    command = [sys.executable, "-P", "-c", script, str(Path(__file__).parents[1]), *arguments]
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
    except OSError:
        return None


def end(process: subprocess.Popen[bytes]) -> None:
    """Let a process do nothing more, if it still does anything, and wait until it is gone."""
    process.kill()
    process.communicate()
