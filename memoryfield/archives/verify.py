"""Whether an archive is the one that was promised, whole, sound, and says nothing that its pages do not."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .. import names
from ..containers import DEFAULT_LIMITS, Limits, is_name, open_container
from ..containers.archive import identity
from ..containers.contents import content_hash, says_something
from ..errors import ArchiveError, HashMismatchError, UsageError
from ..page import Page
from ..validation import requirements, validate
from .entries import ReadOnce
from .rows import Known, Rows, is_meant_as_index, known

Progress = Callable[[int, int], None]
Promise = Literal["", "given", "sidecar", "pin"]
_PROMISES = {"": "computed", "given": "as given", "sidecar": "as in the sidecar", "pin": "as pinned"}

MAX_SIDECAR_BYTES = 1 << 20
_HEX = re.compile(r"[0-9a-f]{64}")
_SIDECAR_LINE = re.compile(r"(\\?)([0-9A-Fa-f]{64}) [ *](.+)")


class Finding(NamedTuple):
    """Something that is wrong: where (`file:line:column`, as far as known), which requirement, and what."""

    place: str
    requirement: str
    message: str


class Check(NamedTuple):
    """Something that was looked at, and whether all of it was as it should be."""

    what: str
    holds: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found. `holds` tells whether the archive is all that it should be.

    `promise` is where the sha256 came from that it was compared with: `given`, `sidecar`, `pin`, or nothing.
    The content hash is empty where a page or another file could not be read.
    """

    path: Path
    bytes: int
    sha256: str
    promise: Promise
    content_hash: str
    pages: int
    attachments: int
    indexes: tuple[str, ...]
    checks: tuple[Check, ...]
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "path": str(self.path),
            "holds": self.holds,
            "bytes": self.bytes,
            "sha256": self.sha256,
            "promise": self.promise or None,
            "content_hash": self.content_hash or None,
            "pages": self.pages,
            "attachments": self.attachments,
            "indexes": list(self.indexes),
            "checks": [check._asdict() for check in self.checks],
            "findings": [finding._asdict() for finding in self.findings],
        }


def verify(
    location: str | Path,
    *,
    sha256: str = "",
    sidecar: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    progress: Progress | None = None,
) -> Verified:
    """Look at all of an archive: its hash, its form, each entry, what is a MUST, and each row of its indexes.

    A hash that was promised is compared before anything in the archive is parsed. All that is wrong is
    found, not only the first. Not looked for: whether vectors and words are those of their pages (that
    would take the model, and longer).

    Args:
        sha256: what was promised, in hexadecimal.
        sidecar: take it from the file beside the archive, NAME.memoryfield.zip.sha256.
        limits: how much is read.
        progress: called with the number of pages looked at, and of all.

    Raises:
        UsageError: it is no archive on this machine, or the promise cannot be read.
        HashMismatchError: it is not the one that was promised.
        UnsafeArchiveError: it must not be opened.
        ArchiveError: it is no readable zip, or it was changed meanwhile.
    """
    if sha256 and sidecar:
        raise UsageError("a sha256 and a sidecar are two promises", hint="Choose one.")
    path, is_pinned = _located(location, limits)
    expected = _given(sha256) if sha256 else _from_sidecar(path) if sidecar else ""
    before = _identity(path)
    found = ""
    if expected:
        found = _hash(path)
        if found != expected:
            raise HashMismatchError(
                f"{str(path)!r} is not the archive that was promised: its sha256 is {found}, promised was {expected}",
                expected=expected,
                found=found,
                hint="Do not open it; ask for it again.",
            )
    promise: Promise = "given" if sha256 else "sidecar" if sidecar else "pin" if is_pinned else ""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(1) as beside:
        hashing = None if found else beside.submit(_hash, path)
        archive = ReadOnce(path, limits, Path(folder))
        try:
            verified = _verified(archive, lambda: hashing.result() if hashing else found, promise, progress)
        finally:
            archive.close()
    if _identity(path) != before:
        raise ArchiveError(f"{str(path)!r} was changed while it was verified", hint="Try again.")
    return verified


def _located(location: str | Path, limits: Limits) -> tuple[Path, bool]:
    """The archive's file, and whether it is that of a name, whose pin it was compared with."""
    text = str(location)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text):
        raise UsageError(f"{text!r} is a URL", hint="Download the archive, and verify the file.")
    path, is_pinned = Path(location), is_name(location)
    if is_pinned or not path.is_file():
        container = open_container(location, limits)
        path = container.location
        container.close()
    if path.is_dir():
        raise UsageError(f"{text!r} is a folder", hint="`memoryfield validate -f FOLDER` looks at folders.")
    return path, is_pinned


def _given(sha256: str) -> str:
    digest = sha256.strip().lower()
    if not _HEX.fullmatch(digest):
        raise UsageError(f"{sha256!r} is no sha256", hint="It is 64 hexadecimal digits, as `sha256sum` prints them.")
    return digest


def _from_sidecar(path: Path) -> str:
    """What the file beside an archive promises, in the form of sha256sum."""
    beside = path.with_name(path.name + names.SIDECAR_SUFFIX)
    try:
        with beside.open("rb") as file:
            text = file.read(MAX_SIDECAR_BYTES).decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        raise UsageError(f"there is no {str(beside)!r}", hint="Give the hash with --sha256.") from None
    lines = filter(None, map(_SIDECAR_LINE.fullmatch, text.splitlines()))
    found = {match[2].lower() for match in lines if _names(match, path.name)}
    if len(found) != 1:
        how = "promises several hashes for" if found else "does not name"
        raise UsageError(f"{str(beside)!r} {how} {path.name}", hint="Its form is that of `sha256sum`: HASH  NAME.")
    return found.pop()


def _names(match: re.Match[str], name: str) -> bool:
    """Whether a line of a sidecar is of this file. A backslash before the hash says that the name is escaped."""
    written = match[3].removesuffix("\r")
    if match[1]:
        written = re.sub(r"\\([\\nr])", lambda one: {"n": "\n", "r": "\r"}.get(one[1], "\\"), written)
    return written.removeprefix("./") == name


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _identity(path: Path) -> tuple[int, ...]:
    """What changes when a file is replaced, or written over."""
    status = os.stat(path)  # noqa: PTH116
    changed = status.st_ctime_ns if os.name == "posix" else 0  # which also tells of a renaming, and cannot be set
    return (*identity(status), changed)


def _verified(archive: ReadOnce, sha256: Callable[[], str], promise: Promise, progress: Progress | None) -> Verified:
    pages: dict[str, Known] = {}

    def look(page: Page) -> None:
        pages[page.filename] = known(page)

    must = [one.id for one in requirements().values() if one.severity == "error" and one.is_visible]
    faults = [
        Finding(fault.place, fault.requirement, fault.message)
        for fault in validate(archive, select=must, progress=progress, look=look)
    ]
    archive.wait()
    damaged = [Finding(one.name, "A-1", one.reason) for one in archive.unsound]
    counted, rows = _indexes(archive, pages, {fault.place for fault in faults if fault.requirement == "X-10"})
    listed = sum(map(names.is_page, archive.names()))
    hashes = {**archive.hashes, **{name: page.sha256 for name, page in pages.items()}}
    complete = len(pages) == listed and not archive.unsound
    entries = len(archive.infos())
    places = {one.place for one in (*faults, *rows)}
    checks = [
        Check("sha256", True, _PROMISES[promise]),
        Check("archive", True, "nothing in it is unsafe to open"),
        Check("entries", not damaged and complete, f"{entries:,} read to their ends, CRC-32 compared"),
        Check("format", not faults, f"{len(must)} requirements that are a MUST, {listed:,} page{'s' * (listed != 1)}"),
        *(Check(name, name not in places, f"{count:,} rows compared") for name, count in counted),
    ]
    return Verified(
        path=archive.location,
        bytes=archive.location.stat().st_size,
        sha256=sha256(),
        promise=promise,
        content_hash=content_hash(hashes) if complete else "",
        pages=listed,
        attachments=sum(says_something(name) and not names.is_page(name) for name in archive.names()),
        indexes=tuple(name for name, _ in counted),
        checks=tuple(checks),
        findings=(*damaged, *faults, *rows),
    )


def _indexes(
    archive: ReadOnce, pages: dict[str, Known], unsound: set[str]
) -> tuple[list[tuple[str, int]], list[Finding]]:
    """Each index with the number of its vectors, and what is wrong with its rows."""
    entries = {entry.name: entry for entry in archive.entries()}
    unread = {name for name in entries if names.is_page(name) and name not in pages}
    counted: list[tuple[str, int]] = []
    found: list[Finding] = []
    for name in sorted(filter(names.is_index, entries)):
        if name in unsound:
            counted.append((name, 0))
            found.append(Finding(name, "X-10", "its rows were not compared"))
            continue
        path = archive.local_path(name)
        assert path is not None
        if not is_meant_as_index(path, name):
            continue
        crcs = {page: entries[page].crc32 for page in pages}
        rows = Rows(path, name, pages, unread, crcs, lambda page: Page(page, archive.read(page)))
        counted.append((name, rows.count))
        found += [Finding(name, *fault) for fault in rows.faults]
    return counted, found
