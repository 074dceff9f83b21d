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

import apsw

from .. import names
from ..containers import Container, Entry
from ..embedders import MODELS, dimensions_of
from ..errors import IndexFileError, NotEmptyError, PageNameError, ReadOnlyError, RefusedError, UsageError
from ..index.files import index_files, open_index
from ..index.store import DAMAGE, IndexStore
from ..index.sync import sync

if TYPE_CHECKING:
    from ..field import Field

Progress = Callable[[int, int], None]

_EARLIEST = datetime.datetime(1980, 1, 1, tzinfo=datetime.UTC)
_LATEST = datetime.datetime(2107, 12, 31, 23, 59, 58, tzinfo=datetime.UTC)


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
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {str(target.parent)!r}")
    if target.exists() and not replace:
        raise NotEmptyError(f"{str(target)!r} exists already", hint="Choose another --output, or use --force.")
    if container.writable and target.parent.resolve() == container.location.resolve():
        raise RefusedError(f"{str(target)!r} would lie inside the field", hint="Choose an --output outside of it.")
    entries, left_out = _contents(container)
    if not any(names.is_page(entry.name) for entry in entries):
        raise UsageError(f"the field {container.name!r} has no pages to pack")
    temporary = target.with_name(f".memoryfield-{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            packed, indexes = _write(container, file, entries, left_out, progress)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except PermissionError as error:
        raise ReadOnlyError(f"cannot write in {str(target.parent)!r}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    with target.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Packed(
        path=target,
        bytes=target.stat().st_size,
        sha256=digest,
        pages=sum(names.is_page(name) for name in packed),
        attachments=sum(not names.is_page(name) and name not in indexes for name in packed),
        indexes=indexes,
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
        elif names.is_journal(entry.name):
            left_out.append((entry.name, "belongs to an index at work"))
        elif names.is_index(entry.name) and entry.name not in indexes:
            left_out.append((entry.name, "is a second index of the same model"))
        else:
            entries.append(entry)
    folded: dict[str, str] = {}
    for entry in entries:
        other = folded.setdefault(names.folded(entry.name), entry.name)
        if other != entry.name:
            raise RefusedError(
                f"{other} and {entry.name} would be one file on many systems", hint="Rename one of them."
            )
    return entries, sorted(left_out)


def _write(
    container: Container,
    file: Any,
    entries: list[Entry],
    left_out: list[tuple[str, str]],
    progress: Progress | None,
) -> tuple[list[str], list[str]]:
    """Fill the archive; the names of all files in it, and of the indexes among them."""
    packed: list[str] = []
    indexes: list[str] = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for done, entry in enumerate(entries, 1):
            try:
                content = _index_copy(container, entry.name) if names.is_index(entry.name) else None
                if content is not None:
                    indexes.append(entry.name)
                else:
                    content = container.read(entry.name)
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
    return packed, indexes


def _info(entry: Entry) -> zipfile.ZipInfo:
    first, last = int(_EARLIEST.timestamp()), int(_LATEST.timestamp())
    seconds = min(max(entry.mtime_ns // 1_000_000_000, first), last)
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    info = zipfile.ZipInfo(entry.name, moment.timetuple()[:6])
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o100644 << 16
    info.create_system = 3  # Unix, whatever this machine is: the mode is read there only
    return info


class _NoCopyError(Exception):
    """An index that is left out, and why."""


def _index_copy(container: Container, name: str) -> bytes | None:
    """An index as it is at one moment, with nothing of pages that are gone or have changed since.

    Returns:
        None for a database that is no index: it is an attachment like any other.
    """
    model = next((code for code, filename in index_files(container).items() if filename == name), "")
    try:
        store = open_index(container, model, None, name=name)
    except IndexFileError as error:
        if model in MODELS:
            raise _NoCopyError(error.message) from error
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        try:
            try:
                store.connection.execute("VACUUM INTO ?", (str(path),))
            finally:
                store.close()
            copy = IndexStore.open(path, model, dimensions_of(model))
            try:
                _settle(container, copy)
            finally:
                copy.close()
        except DAMAGE as error:
            raise _NoCopyError(f"is damaged: {error}") from error
        except apsw.Error as error:
            raise _NoCopyError(f"cannot be copied: {error}") from error
        return path.read_bytes()


def _settle(container: Container, copy: IndexStore) -> None:
    """Take out of a copied index what is not of the pages as they are now."""
    if copy.has_own_tables:
        sync(container, copy, None)
        with copy.transaction():
            copy.remove_stale_vectors()
        sync(container, copy, None)  # nothing is left to do but to note that all is settled
        return
    stale: list[str] = []
    for name, sha256 in copy.connection.execute("SELECT filename, sha256_hash FROM pages"):
        try:
            current = hashlib.sha256(container.read(str(name))).digest()
        except (OSError, PageNameError):
            current = b""
        if current != sha256:
            stale.append(str(name))
    with copy.transaction():
        copy.remove(stale)
