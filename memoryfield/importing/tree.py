"""A folder gone through, once and safely: no link is followed, and what is passed over is told."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from ..containers.folders import is_regular
from ..errors import reason_of
from .items import Gathered, SourceFile, readable

_SKIPPED = frozenset({"node_modules", "__pycache__"})
MAX_DEPTH = 64


def files(
    root: Path, gathered: Gathered, *, hidden: frozenset[str] = frozenset(), beside: Path | None = None
) -> Iterator[SourceFile]:
    """Every regular file below a folder, in order of their paths.

    Args:
        hidden: names of folders that are entered although they begin with a dot.
        beside: a folder that is not entered: the field itself.
    """
    yield from _below(root, "", gathered, _enters(hidden, beside), 0)


def _enters(hidden: frozenset[str], beside: Path | None) -> Callable[[os.DirEntry[str]], str]:
    """Tells of a folder why it is not entered; nothing if it is."""

    def fault(item: os.DirEntry[str]) -> str:
        if item.name in _SKIPPED:
            return "holds what programs have put there"
        if item.name.startswith(".") and item.name not in hidden:
            return "begins with a dot"
        if item.name == "logseq" and (Path(item.path) / "config.edn").is_file():
            return "holds Logseq's settings and backups"
        if beside is not None and Path(item.path).resolve() == beside:
            return "is the field itself"
        return ""

    return fault


def _below(
    folder: Path, path: str, gathered: Gathered, fault_of: Callable[[os.DirEntry[str]], str], depth: int
) -> Iterator[SourceFile]:
    try:
        with os.scandir(folder) as listing:
            items = sorted(listing, key=lambda item: item.name)
    except OSError as error:
        gathered.leave("folder", readable(path) or ".", reason_of(error))
        return
    for item in items:
        here = f"{path}/{item.name}" if path else item.name
        if item.is_symlink():
            gathered.leave("file", readable(here), "is a link, which is not followed")
        elif item.is_dir():
            fault = fault_of(item) or ("lies too deep" if depth >= MAX_DEPTH else "")
            if fault:
                gathered.leave("folder", readable(here), fault)
            else:
                yield from _below(Path(item.path), here, gathered, fault_of, depth + 1)
        elif item.name.startswith("."):
            gathered.leave("file", readable(here), "begins with a dot")
        else:
            status = item.stat(follow_symlinks=False)
            if is_regular(status):
                yield source_file(here, Path(item.path), status)
            else:
                gathered.leave("file", readable(here), "is no regular file")


def source_file(path: str, place: Path, status: os.stat_result) -> SourceFile:
    """A file with what its status says; where a system does not tell when it was made, it was when last changed."""
    birth = getattr(status, "st_birthtime", None)
    birth_ns = min(int(birth * 1e9), status.st_mtime_ns) if birth else status.st_mtime_ns
    return SourceFile(path, place, status.st_size, status.st_mtime_ns, birth_ns)


def single_file(place: Path) -> SourceFile:
    """A file that is the whole source.

    Raises:
        OSError: it cannot be looked at, or is no regular file.
    """
    status = place.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError(22, "is no regular file", str(place))
    return source_file(place.name, place, status)
