"""A field into one zip: its pages, its other files and its indexes, at the root."""

from __future__ import annotations

import datetime
import hashlib
import os
import secrets
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import names
from ..containers import Container, Entry
from ..errors import NotEmptyError, RefusedError, UsageError
from ..index.files import index_files, open_index
from ..index.store import DAMAGE

if TYPE_CHECKING:
    from ..field import Field

Progress = Callable[[int, int], None]

_EARLIEST = datetime.datetime(1980, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class Packed:
    """An archive that was made: its sha256 in hexadecimal, and what is not in it and why."""

    path: Path
    bytes: int
    sha256: str
    pages: int
    attachments: int
    indexes: list[str]
    left_out: list[tuple[str, str]]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "path": str(self.path),
            "bytes": self.bytes,
            "sha256": self.sha256,
            "pages": self.pages,
            "attachments": self.attachments,
            "indexes": self.indexes,
            "left_out": [{"name": name, "reason": reason} for name, reason in self.left_out],
        }


def pack(
    field: Field, output: str | Path | None = None, *, replace: bool = False, progress: Progress | None = None
) -> Packed:
    """Write a field into an archive: to a temporary file beside it, then renamed.

    Args:
        output: the file, or a folder for it; else NAME.memoryfield.zip in the current folder.
        replace: write over a file that is there.
        progress: called with the number of files done and to do.

    Raises:
        UsageError: the field has no pages.
        NotEmptyError: the file is there already.
        RefusedError: the archive would lie inside the field.
    """
    container = field.container
    target = _target(container, output)
    if target.exists() and not replace:
        raise NotEmptyError(f"{str(target)!r} exists already", hint="Choose another --output, or use --force.")
    if container.writable and target.parent.resolve() == container.location.resolve():
        raise RefusedError(f"{str(target)!r} would lie inside the field", hint="Choose an --output outside of it.")
    entries, left_out = _contents(container)
    if not any(names.is_page(entry.name) for entry in entries):
        raise UsageError(f"the field {container.name!r} has no pages to pack")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            packed = _write(container, file, entries, left_out, progress)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise
    with target.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Packed(
        path=target,
        bytes=target.stat().st_size,
        sha256=digest,
        pages=sum(names.is_page(name) for name in packed),
        attachments=sum(not names.is_page(name) and not names.is_index(name) for name in packed),
        indexes=[name for name in packed if names.is_index(name)],
        left_out=left_out,
    )


def _target(container: Container, output: str | Path | None) -> Path:
    name = container.name + names.ARCHIVE_SUFFIX
    if output is None:
        return Path(name)
    path = Path(output)
    return path / name if path.is_dir() else path


def _contents(container: Container) -> tuple[list[Entry], list[tuple[str, str]]]:
    """What goes in, sorted by name, and what stays out."""
    left_out = [(item.name, item.reason) for item in container.skipped()]
    entries: list[Entry] = []
    indexes = set(index_files(container).values())
    for entry in sorted(container.entries(), key=lambda entry: entry.name):
        if names.is_debris(entry.name):
            left_out.append((entry.name, "is no part of a field"))
        elif entry.name.endswith(("-journal", "-wal", "-shm")):
            left_out.append((entry.name, "belongs to an index at work"))
        elif names.is_index(entry.name) and entry.name not in indexes:
            left_out.append((entry.name, "is a second index of the same model"))
        else:
            entries.append(entry)
    return entries, sorted(left_out)


def _write(
    container: Container,
    file: Any,
    entries: list[Entry],
    left_out: list[tuple[str, str]],
    progress: Progress | None,
) -> list[str]:
    packed: list[str] = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for done, entry in enumerate(entries, 1):
            try:
                is_index = names.is_index(entry.name)
                content = _index_copy(container, entry.name) if is_index else container.read(entry.name)
            except FileNotFoundError:
                left_out.append((entry.name, "was gone before it was read"))
                continue
            except _NoCopyError as error:
                left_out.append((entry.name, str(error)))
                continue
            archive.writestr(_info(entry), content)
            packed.append(entry.name)
            if progress:
                progress(done, len(entries))
    return packed


def _info(entry: Entry) -> zipfile.ZipInfo:
    moment = max(_EARLIEST, datetime.datetime.fromtimestamp(entry.mtime_ns // 1_000_000_000, datetime.UTC))
    info = zipfile.ZipInfo(entry.name, moment.timetuple()[:6])
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o100644 << 16
    info.create_system = 3  # Unix, whatever this machine is: the mode is read there only
    return info


class _NoCopyError(Exception):
    """An index that is left out, and why."""


def _index_copy(container: Container, name: str) -> bytes:
    """An index as it is at one moment, without the remains of deleted rows."""
    model = next(code for code, filename in index_files(container).items() if filename == name)
    handle, path = tempfile.mkstemp(suffix=names.INDEX_SUFFIX)
    os.close(handle)
    copy = Path(path)
    try:
        store = open_index(container, model, None)
        try:
            copy.unlink()
            store.connection.execute("VACUUM INTO ?", (path,))
        finally:
            store.close()
        return copy.read_bytes()
    except DAMAGE as error:
        raise _NoCopyError(f"is damaged: {error}") from error
    except Exception as error:
        if isinstance(error, OSError):
            raise
        raise _NoCopyError(f"cannot be copied: {error}") from error
    finally:
        with suppress(FileNotFoundError):
            copy.unlink()
