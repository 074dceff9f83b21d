"""Of what kind a source is, and what it is called."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..page import Page
from .items import Gathered
from .linking import NOTE_SUFFIXES
from .tree import files, single_file

KINDS = ("markdown", "claude", "basic-memory", "mcp-memory", "jsonl")
IN_FILES = frozenset({"mcp-memory", "jsonl"})
"""Kinds whose source is a file, never a folder."""
_JSON_SUFFIXES = (".jsonl", ".ndjson", ".json", ".af")
_CLAUDE = frozenset({"claude.md", "claude.local.md", "memory.md"})
_LOOKED_AT = 50
_LOOKED_AT_BYTES = 1 << 20


def kind_of(source: Path) -> str:
    """The kind that a source looks like.

    Raises:
        UsageError: it looks like none.
        OSError: it is no regular file, or cannot be looked at.
    """
    if source.is_dir():
        return _of_folder(source)
    single_file(source)  # a pipe would be waited for
    name = source.name.lower()
    if name in _CLAUDE:
        return "claude"
    if name.endswith(NOTE_SUFFIXES):
        return "basic-memory" if _has_permalink(source) else "markdown"
    if is_json(source):
        return "mcp-memory" if _is_graph(source) else "jsonl"
    hint = "`memoryfield merge` takes archives." if name.endswith(".zip") else "Name its kind with --from."
    raise UsageError(f"{str(source)!r} is of no kind that can be told", hint=hint)


def is_json(source: Path) -> bool:
    """Whether a file is called as one of JSON is."""
    return source.name.lower().endswith(_JSON_SUFFIXES)


def _of_folder(folder: Path) -> str:
    if (folder / ".obsidian").is_dir() or (folder / "logseq").is_dir():
        return "markdown"
    if (folder / "MEMORY.md").is_file() or folder.resolve().name == ".claude":
        return "claude"
    notes = [file for file in islice(files(folder, Gathered()), 5000) if file.path.lower().endswith(NOTE_SUFFIXES)]
    if not notes:
        if any((folder / name).is_file() for name in ("CLAUDE.md", ".claude/CLAUDE.md")):
            return "claude"
        raise UsageError(
            f"there is no Markdown in {str(folder)!r}",
            hint="Of JSON lines, name the file; see `memoryfield import -h`.",
        )
    if all(file.place.name.lower() in _CLAUDE for file in notes):
        return "claude"
    some = notes[:_LOOKED_AT]
    return "basic-memory" if 2 * sum(_has_permalink(file.place) for file in some) > len(some) else "markdown"


def _has_permalink(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            raw = opened.read(8192)
    except OSError:
        return False
    return b"permalink:" in raw and "permalink" in Page("page.md", raw).frontmatter


def _is_graph(file: Path) -> bool:
    """Whether the first lines are entities and relations."""
    with file.open("rb") as opened:
        lines = opened.read(_LOOKED_AT_BYTES).split(b"\n")[:_LOOKED_AT]
    return any(_is_of_graph(line) for line in lines) or b'"entityType"' in b"\n".join(lines)


def _is_of_graph(line: bytes) -> bool:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and (
        isinstance(value.get("entities"), list)
        or (value.get("type") == "entity" and "name" in value)
        or (value.get("type") == "relation" and "relationType" in value)
    )


def label_of(source: Path, kind: str) -> str:
    """What a source is called: its folder's name; of a file of lines, also its own.

    A folder called `memory` says nothing without that in which it lies, nor does `.claude`.
    """
    place = source.resolve()
    if kind in IN_FILES:
        return "/".join(filter(None, (_name_of(place.parent), place.name)))
    return _name_of(place if place.is_dir() else place.parent)


def _name_of(folder: Path) -> str:
    if folder.name.lower() in ("memory", ".claude", "docs", "notes", "content") and folder.parent.name:
        return f"{folder.parent.name}/{folder.name}"
    return folder.name
