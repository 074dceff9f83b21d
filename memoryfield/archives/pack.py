"""A field into one zip: its pages, other files and indexes, at the root. The same field gives the same bytes."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import names
from ..containers import DEFAULT_LIMITS, Container
from ..containers.base import NOT_ALLOWED
from ..containers.contents import content_hash, says_something
from ..containers.limits import beyond, options
from ..errors import NotEmptyError, ReadOnlyError, RefusedError, UsageError
from .filling import Filling
from .planning import listing
from .scratch import new_folder, remove_dead

if TYPE_CHECKING:
    from ..field import Field

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Packed:
    """An archive that was made: its sha256 in hexadecimal, and what is not in it and why.

    `content_hash` names the pages and other files whatever zips them (A-11); `notes` say what whoever
    hands on the archive should know.
    """

    path: Path
    bytes: int
    sha256: str
    content_hash: str
    pages: int
    attachments: int
    indexes: list[str]
    left_out: list[tuple[str, str]]
    sidecar: Path | None = None
    notes: list[str] = dataclasses.field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "path": str(self.path),
            "bytes": self.bytes,
            "sha256": self.sha256,
            "content_hash": self.content_hash,
            "pages": self.pages,
            "attachments": self.attachments,
            "indexes": self.indexes,
            "left_out": [{"name": name, "reason": reason} for name, reason in self.left_out],
            "sidecar": self.sidecar and str(self.sidecar),
            "notes": self.notes,
        }


def pack(
    field: Field,
    output: str | Path | None = None,
    *,
    replace: bool = False,
    force: bool = False,
    store: bool = False,
    models: Sequence[str] | None = None,
    sidecar: bool = False,
    progress: Progress | None = None,
) -> Packed:
    """Write a field into an archive: to a temporary file beside it, then renamed.

    Its bytes depend on the pages, the other files and the vectors alone (and, unless they are stored,
    on the zlib that deflates them). Each index is brought up to date first, and packed as if made anew.

    Args:
        output: the file, or a folder for it; else NAME.memoryfield.zip in the current folder.
        replace: write over a file that is there.
        force: pack a field that breaks a MUST of the format.
        store: deflate nothing: the bytes are the same on every machine.
        models: the indexes that are wanted, by code or spec; None: all.
        sidecar: also write the archive's sha256 into NAME.memoryfield.zip.sha256, as `sha256sum -c` reads it.
        progress: called with the number of files done and to do, and, where vectors are missing, of pages.

    Raises:
        UsageError: the field has no pages, or no index of a wanted model.
        NotEmptyError: the file is there already.
        BrokenFieldError: the field breaks a MUST.
        RefusedError: the archive would lie inside the field, or two names are one on many systems.
        OSError: a file cannot be read, or the archive cannot be written.
    """
    container = field.container
    target = _target(container, output)
    beside = target.with_name(target.name + names.SIDECAR_SUFFIX)
    _check_target(container, target, replace)
    if sidecar:
        _check_target(container, beside, replace)
    with _scratch(target) as folder:
        listed = listing(container, models, folder)
        filling = Filling(container, listed, folder, store=store, judged=not force, progress=progress)
        archive = folder / "archive"
        with archive.open("x+b") as file:
            writer = filling.run(file)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        _check_target(container, target, replace)  # it took a while
        archive.replace(target)
        if sidecar:
            _write_sidecar(folder / "sidecar", beside, digest, target.name)
    hashes, size = filling.hashes, target.stat().st_size
    needed = beyond(writer.sizes(), size, DEFAULT_LIMITS)
    too_large = [f"whoever opens it needs {options(**needed)}"] if needed else []
    return Packed(
        path=target,
        bytes=size,
        sha256=digest,
        content_hash=content_hash({name: value for name, value in hashes.items() if says_something(name)}),
        pages=sum(map(names.is_page, hashes)),
        attachments=sum(not names.is_page(name) for name in hashes),
        indexes=filling.indexes,
        left_out=sorted(listed.left_out + filling.left_out),
        sidecar=beside if sidecar else None,
        notes=[*filling.notes, *too_large, *([] if sidecar else _outdated(beside, digest))],
    )


def _target(container: Container, output: str | Path | None) -> Path:
    name = container.name + names.ARCHIVE_SUFFIX
    if output is None:
        return Path(name)
    path = Path(output)
    return path / name if path.is_dir() else path


def _check_target(container: Container, target: Path, replace: bool) -> None:
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {str(target.parent)!r}")
    if target.is_dir() or (target.exists() and not replace):
        raise NotEmptyError(f"{str(target)!r} exists already", hint="Choose another --output, or use --replace.")
    if container.location.is_dir() and target.parent.resolve() == container.location.resolve():
        raise RefusedError(f"{str(target)!r} would lie inside the field", hint="Choose an --output outside of it.")


@contextmanager
def _scratch(target: Path) -> Iterator[Path]:
    """A folder beside the target for what is not finished; gone afterwards."""
    remove_dead(target.parent, target)
    ours = [str(target), str(target.parent / ".memoryfield-")]
    try:
        with new_folder(target.parent, target, mode=0o700) as folder:
            yield folder
    except OSError as error:
        if error.errno not in NOT_ALLOWED or not str(error.filename or target).startswith(tuple(ours)):
            raise  # a file of the field
        raise ReadOnlyError(f"cannot write in {str(target.parent)!r}: {error.strerror}") from error


def _write_sidecar(temporary: Path, path: Path, digest: str, name: str) -> None:
    """The file that `sha256sum -c` reads; in a name, a backslash and a line end are spelled out."""
    spelled = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    mark = "\\" if spelled != name else ""
    with temporary.open("x", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(f"{mark}{digest}  {spelled}\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _outdated(path: Path, digest: str) -> list[str]:
    """A note about a sidecar that is there from before, and is now wrong."""
    try:
        told = path.read_bytes()
    except OSError:
        return []
    return [] if digest.encode() in told else [f"{path.name} is there from before, and tells another sha256"]
