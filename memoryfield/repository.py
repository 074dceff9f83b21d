"""A field in git: what git is told about its files, and the repository itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from .errors import MemoryfieldError, UsageError

FOLDER = ".git"
IGNORE = """\
# Vector indexes: `memoryfield embed` makes them again.
*.sqlite3
*.sqlite3-journal
*.sqlite3-wal
*.sqlite3-shm
# Locks, and what a writer that was killed has left behind.
.memoryfield*
"""
ATTRIBUTES = """\
# The same bytes, line ends included, and so the same hashes, on every system; diffs that name the heading.
* -text
*.md diff=markdown
*.sqlite3 binary
"""
FILES = {".gitignore": IGNORE, ".gitattributes": ATTRIBUTES}


def enclosing(folder: Path) -> Path | None:
    """The repository that a folder lies in, or would lie in; None: there is none.

    Raises:
        UsageError: there is no git.
    """
    place = folder.absolute()
    while not place.is_dir():
        place = place.parent
    done = _git(place, "rev-parse", "--show-toplevel")
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None


def prepare(folder: Path, inside: Path | None) -> list[str]:
    """Put the two files into a field, and make a repository of it unless it lies in one; the files' names.

    Raises:
        MemoryfieldError: git does not make one; the field and the files are there.
    """
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    if inside is None:
        done = _git(folder, "init", "--quiet")
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise MemoryfieldError(
                f"{str(folder)!r} is a field now, but no repository: {reason}", hint="`git init` in it makes one."
            )
    return list(FILES)


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git in a folder, whatever repository a hook that calls us may work on."""
    program = shutil.which("git")
    if program is None:
        raise UsageError("git is not installed, or not on the PATH", hint="Install git, or leave --git out.")
    clean = {name: value for name, value in os.environ.items() if name not in _OF_ANOTHER}
    return subprocess.run(
        [program, *arguments],
        cwd=folder,
        env={**clean, "LC_ALL": "C"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


_OF_ANOTHER = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")
