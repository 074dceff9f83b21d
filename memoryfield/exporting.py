"""A field written out for other programs: as a folder of Markdown, or as lines of JSON."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from . import names
from .containers.base import say_where
from .containers.contents import files
from .containers.journal import new_file
from .errors import NotEmptyError, RefusedError, UsageError
from .field import Field
from .page import Page

Form = Literal["markdown", "jsonl"]


@dataclass
class Exported:
    """What was written out, and what could not be."""

    field: str
    to: str
    output: str
    pages: int = 0
    attachments: int = 0
    bytes: int = 0
    left: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    """Names of files that are not in what was written, and why."""

    @property
    def failed(self) -> list[str]:
        """Pages that are not in what was written."""
        return [name for name, _ in self.left if names.is_page(name)]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        left = [{"filename": name, "reason": reason} for name, reason in self.left]
        return {**dataclasses.asdict(self), "left": left}


def export_markdown(field: Field, folder: str | Path) -> Exported:
    """Write pages and other files into a new or empty folder, byte for byte; no index.

    Raises:
        NotEmptyError: the folder holds something.
        RefusedError: it is a file, or lies in the field.
        OSError: it cannot be written; then nothing is.
    """
    target = Path(folder)
    _check_outside(field, target)
    if target.exists() and not target.is_dir():
        raise RefusedError(f"{str(folder)!r} is a file", hint="Name a new or an empty folder.")
    if target.exists() and any(target.iterdir()):
        raise NotEmptyError(f"{str(folder)!r} holds something already", hint="Choose a new or an empty folder.")
    is_new = not target.exists()
    target.mkdir(parents=True, exist_ok=True)
    exported = Exported(field.name, "markdown", str(folder))
    written: list[Path] = []
    try:
        for name, raw in _files(field, exported):
            with new_file(target / name) as file:
                written.append(target / name)
                file.write(raw)
            _count(exported, name, len(raw))
    except BaseException as error:
        _take_back([*written, target] if is_new else written)
        say_where(error, target)
        raise
    return exported


def _take_back(written: list[Path]) -> None:
    """Remove what is not finished: a part of a field must not be taken for one."""
    for path in written:
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()


def export_jsonl(field: Field, output: str | Path | IO[bytes], *, replace: bool = False) -> Exported:
    """Write one line of JSON for each page, to a file or a stream. Other files stay behind, and are told.

    A line has `filename`, `uuid`, `title`, `summary`, `created`, `updated`, `tags`, `source`, `frontmatter` and
    `text`: the body, or the whole page where its frontmatter cannot be understood. `import --from jsonl` takes it back.

    Raises:
        NotEmptyError: the file is there, and is not to be replaced.
        RefusedError: it is no file, or lies in the field.
        UsageError: there is no folder for it.
        OSError: it cannot be written; then nothing is, and what was there stays.
    """
    if not isinstance(output, str | Path):
        exported = Exported(field.name, "jsonl", "-")
        for line in _lines(field, exported):
            output.write(line)
        return exported
    target = Path(output).resolve()
    if names.is_page(target.name) or names.is_index(target.name):
        _check_outside(field, target)
    if target.exists() and not target.is_file():
        raise RefusedError(f"{str(output)!r} is no file", hint="Name another, or - for standard output.")
    if target.exists() and not replace:
        raise NotEmptyError(f"{str(output)!r} is there already", hint="Name another file, or use --replace.")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {str(Path(output).parent)!r}", hint="Make it first, or name another.")
    exported = Exported(field.name, "jsonl", str(output))
    temporary = target.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with new_file(temporary) as file:
            for line in _lines(field, exported):
                file.write(line)
        temporary.replace(target)
    except BaseException as error:
        _take_back([temporary])
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename, error.filename2 = str(output), None
        raise
    return exported


def _check_outside(field: Field, target: Path) -> None:
    """Nothing is written into the field itself, nor in its archive's place.

    Raises:
        RefusedError: it would be.
    """
    own = field.location.resolve()
    if target.resolve() == own or own in target.resolve().parents:
        raise RefusedError(f"{str(target)!r} lies in the field itself", hint="Name a place outside of it.")


def _files(field: Field, exported: Exported) -> Iterator[tuple[str, bytes]]:
    """Pages and other files; those that cannot be read are told."""
    unread: dict[str, str] = {}
    yield from files(field.container, unread=unread)
    exported.left += unread.items()


def _lines(field: Field, exported: Exported) -> Iterator[bytes]:
    for name, raw in _files(field, exported):
        page = Page(name, raw)
        if not names.is_page(name):
            exported.left.append((name, "is no page"))
        elif not page.is_utf8:
            exported.left.append((name, "is not UTF-8, which JSON must be"))
        else:
            line = json.dumps(line_of(page), ensure_ascii=False, default=str).encode("utf-8", "replace") + b"\n"
            _count(exported, name, len(line))
            yield line


def line_of(page: Page) -> dict[str, Any]:
    """A page as a line has it."""
    is_read = page.frontmatter_is_valid or not page.has_frontmatter
    tags = page.frontmatter.get("tags")
    return {
        "filename": page.filename,
        "uuid": page.uuid,
        "title": page.title,
        "summary": page.summary,
        "created": page.created,
        "updated": page.updated,
        "tags": tags if isinstance(tags, list) else [tags] if isinstance(tags, str) else [],
        "source": page.frontmatter.get("source"),
        "frontmatter": page.frontmatter if is_read else {},
        "text": page.body if is_read else page.text,
    }


def _count(exported: Exported, name: str, size: int) -> None:
    exported.bytes += size
    if names.is_page(name):
        exported.pages += 1
    else:
        exported.attachments += 1
