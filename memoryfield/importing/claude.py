"""What Claude Code keeps: its memory folders (MEMORY.md and topic files), CLAUDE.md files and rules.

A topic file's `description` becomes the summary, its type a tag. A line's `@path` in a CLAUDE.md, which
Claude Code reads along, becomes a link where that file came along, Markdown or not; nothing outside the source is read.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from ..validation.links import without_code
from . import markdown
from .items import Gathered, Note
from .values import text_of

_MEMORIES = frozenset({"claude.md", "claude.local.md", "memory.md"})
_IMPORT = re.compile(r"(?<!\S)@([\w.~/-]*\w)")
_PATH = re.compile(r"[~./].*|.*\.(?:md|markdown)|.+/.*\.\w+")
"""What is a path beyond doubt; another word behind an `@` is one if that file came along, and else somebody's name."""
_HIDDEN = frozenset({".claude"})


def read(source: Path, label: str, gathered: Gathered, beside: Path | None = None) -> None:
    """Read the memories below a folder, or a single file."""
    wanted = _wanted(source) if source.is_dir() else lambda path: True
    markdown.read(source, label, gathered, wanted=wanted, hidden=_HIDDEN, beside=beside, kind="claude")
    _take_imported(source, label, gathered)
    known = {note.path for note in gathered.notes} | set(gathered.files)
    for note in gathered.notes:
        _adjust(note)
        _link_imports(note, known, gathered)


def _wanted(source: Path) -> markdown.Wanted:
    """Memories by their names, and all that lies beside or below a MEMORY.md, or in a folder of rules."""
    is_memory = (source / "MEMORY.md").is_file()

    def wanted(path: str) -> bool:
        if posixpath.basename(path).lower() in _MEMORIES or is_memory:
            return True
        folders = Path(path).parent
        if re.search(r"(?:^|/)\.claude/rules/", path) or (source.name == ".claude" and path.startswith("rules/")):
            return True
        return any((source / folder / "MEMORY.md").is_file() for folder in (folders, *folders.parents))

    return wanted


def _take_imported(source: Path, label: str, gathered: Gathered) -> None:
    """Files that a CLAUDE.md imports are its notes too, if they lie within the source."""
    if not source.is_dir():
        return
    left = {item.place: item for item in gathered.left if item.kind == "file" and "none of the notes" in item.reason}
    waiting = list(gathered.notes)
    while waiting:
        note = waiting.pop()
        for path in _imports(note):
            if path in left and (file := markdown.file_at(source, path)):
                gathered.left.remove(left.pop(path))
                if found := markdown.note_of(file, label, gathered, kind="claude"):
                    gathered.notes.append(found)
                    waiting.append(found)
    gathered.notes.sort(key=lambda note: note.path)


def _imports(note: Note) -> list[str]:
    """The paths in the source that a note imports; those that lead out of it begin with `..`, `/` or `~`."""
    folder = posixpath.dirname(note.path)
    return [_joined(folder, match[1]) for match in _IMPORT.finditer(without_code(note.body))]


def _joined(folder: str, path: str) -> str:
    return path if path.startswith(("~", "/")) else posixpath.normpath(posixpath.join(folder, path))


def _link_imports(note: Note, known: set[str], gathered: Gathered) -> None:
    folder = posixpath.dirname(note.path)
    for match in reversed(list(_IMPORT.finditer(without_code(note.body)))):
        if _joined(folder, match[1]) in known:
            note.body = f"{note.body[: match.start()]}[{match[0]}]({match[1]}){note.body[match.end() :]}"
        elif _PATH.fullmatch(match[1]):
            gathered.leave("link", note.path, f"{match[0]} leads to nothing that came along")


def _adjust(note: Note) -> None:
    note.title = note.title if note.title != note.name else text_of(note.keys.get("name")) or note.name
    if isinstance(note.keys.get("name"), str):
        note.names.append(note.keys["name"])
    metadata = note.keys.get("metadata")
    kind = note.keys.get("type") or (metadata.get("type") if isinstance(metadata, dict) else None)
    if isinstance(kind, str) and kind:
        note.tags.append(kind)
