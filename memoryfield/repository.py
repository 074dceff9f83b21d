"""A field in git: what git is told about its files, and the repository itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from .errors import MemoryfieldError, RefusedError, UsageError

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


class Prepared(NamedTuple):
    """What was done: whether a repository was made, and which of the files were; `kept` ones were there."""

    is_new: bool
    written: list[str]
    kept: list[str]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"repository": "new" if self.is_new else "already there", "written": self.written, "kept": self.kept}

    def __str__(self) -> str:
        files = " and ".join(self.written)
        if self.is_new:
            told = f"a git repository{files and f', with {files}'}; nothing is committed yet"
        else:
            told = f"it lies in a git repository already{files and f', and got {files}'}"
        return f"{told}; left as it was: {' and '.join(self.kept)}" if self.kept else told


def enclosing(folder: Path) -> Path | None:
    """The repository that a folder lies in, or would lie in; None: there is none.

    Raises:
        UsageError: there is no git.
        RefusedError: the folder has a .git that is a link to nothing.
    """
    own = folder / FOLDER
    if own.is_symlink() and not own.exists():
        raise RefusedError(f"{str(own)!r} is a link that leads nowhere", hint="Mend it, or delete it.")
    place = folder.absolute()
    while not place.is_dir():
        place = place.parent
    done = _git(place, "rev-parse", "--show-toplevel")
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None


def prepare(folder: Path, inside: Path | None) -> Prepared:
    """Put the two files into a field where they are missing, and make a repository of it unless it lies in one.

    Raises:
        MemoryfieldError: git does not make one; the field and the files are there.
    """
    prepared = Prepared(inside is None, [], [])
    for name, text in FILES.items():
        try:
            with (folder / name).open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
            prepared.written.append(name)
        except FileExistsError:
            prepared.kept.append(name)
    if inside is None:
        done = _git(folder, "init", "--quiet")
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise MemoryfieldError(
                f"{str(folder)!r} is a field now, but no repository: {reason}", hint="`git init` in it makes one."
            )
    return prepared


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
