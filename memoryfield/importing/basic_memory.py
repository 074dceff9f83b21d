"""The notes of basic-memory: Markdown with `permalink` and `type`; observations and relations stay text.

A permalink becomes an alias, and notes are found by it, as `[[permalink]]` and `memory://permalink`.
"""

from __future__ import annotations

from pathlib import Path

from . import markdown
from .items import Gathered


def read(source: Path, label: str, gathered: Gathered, beside: Path | None = None) -> None:
    """Read a project's folder, or a single note."""
    markdown.read(source, label, gathered, beside=beside, kind="basic-memory")
    for note in gathered.notes:
        permalink = note.keys.get("permalink")
        if isinstance(permalink, str) and permalink.strip():
            note.aliases.append(permalink.strip())
            note.names.append(permalink.strip())
