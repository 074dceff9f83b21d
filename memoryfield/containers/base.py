"""What every container of a field can do, and the one place where names are refused."""

import errno
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from hashlib import blake2b
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from ..errors import PageNameError, ReadOnlyError
from ..names import plain_name_fault

NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
"""Errors of a place where nothing can be made."""
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk that has no room, or not for so large a file."""


class Entry(NamedTuple):
    """A file in a container. `size` in bytes; `mtime_ns` in nanoseconds since 1970, UTC.

    `crc32` is known in archives only; there it tells whether a file has changed, where times cannot.
    """

    name: str
    size: int
    mtime_ns: int
    crc32: int | None = None


FOLDER = "is a folder"
LINK_OUT = "is a link that leads outside the field"
LINK_IN_ARCHIVE = "is a link, which is not followed"
"""Reasons for which something is `Skipped` that others ask for."""


class Skipped(NamedTuple):
    """Something in a container that is no file of the field, and why: a sub-folder, a link leading out."""

    name: str
    reason: str


class Container(Protocol):
    """Where the files of a field live. Names are plain: no separators, no links that lead outside.

    Reading raises `FileNotFoundError` for a name that is not there and `OSError` for one that
    cannot be read; a name that is not plain raises `PageNameError`. A container that cannot be
    written raises `ReadOnlyError` from `write`, `rename` and `delete`.
    """

    notes: Sequence[str]
    """In plain words, what is not in order with the place itself, and what may be mistaken about it."""

    @property
    def location(self) -> Path:
        """The folder or file on this machine."""
        ...

    @property
    def name(self) -> str:
        """The field's name, as results show it."""
        ...

    @property
    def writable(self) -> bool:
        """Whether `write` can work."""
        ...

    def names(self) -> list[str]:
        """Every name at the root, whatever it is: quicker than `entries`."""
        ...

    def fingerprint(self) -> str:
        """A digest of every page's name, size and time (in an archive: CRC), as `digest` makes it."""
        ...

    def begin_fingerprint(self) -> Callable[[], str]:
        """`fingerprint` as it is now, or a little later; call what is returned to wait for it.

        To look at 100,000 files takes a third of a second, in which threads could do nothing else.
        """
        ...

    def watch(self) -> None:
        """From now on be told of changes, where that can be, instead of looking at all files for each fingerprint."""
        ...

    def recheck(self) -> None:
        """Look at all files although nothing was told: of some changes, nothing ever is.

        Those are made by another name that a page got elsewhere, in memory that a page is mapped to, or in a file
        that is mounted over a page.
        """
        ...

    def moment(self) -> int | None:
        """A number that stays as long as no page is touched, be its time the same; None where that cannot be told.

        It cannot without a watch, and from a change on until the next fingerprint.
        """
        ...

    def renewed(self) -> "Container":
        """Itself; or a new one, where another file has taken the place of the one that was opened."""
        ...

    def entries(self) -> list[Entry]:
        """Every file at the root, debris included, in no particular order."""
        ...

    def skipped(self) -> list[Skipped]:
        """What `entries` left out."""
        ...

    def nested_pages(self) -> list[str]:
        """For each sub-folder that holds any, the path of a file that would be a page at the root.

        Folders whose names begin with a dot are nobody's business.
        """
        ...

    def entry(self, name: str) -> Entry:
        """One file's entry."""
        ...

    def read(self, name: str, limit: int | None = None) -> bytes:
        """A file's bytes, or its first `limit` bytes."""
        ...

    def open(self, name: str) -> IO[bytes]:
        """A file, to be read piece by piece; reading raises what `read` does."""
        ...

    def local_path(self, name: str) -> Path | None:
        """Where a file lies on this machine, if it is a file of its own there."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Store a file whole: afterwards it holds either the old bytes or the new ones."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Give a file another name."""
        ...

    def delete(self, name: str) -> None:
        """Remove a file."""
        ...

    def lock(self) -> AbstractContextManager[None]:
        """Keep other writers out while a change is checked and made."""
        ...

    def close(self) -> None:
        """Let go of open files."""
        ...


def check_plain(name: str) -> None:
    """Refuse a name that could lead outside the container.

    Raises:
        PageNameError: it has a separator, `..`, a drive letter or a control character.
    """
    if fault := plain_name_fault(name):
        raise PageNameError(f"the name {name!r} {fault}", hint="Give the plain name of a page in the field.")


def require_writable(container: Container) -> None:
    """Refuse to go on where a container cannot be written.

    Raises:
        ReadOnlyError: it cannot; an archive says how to go on.
    """
    if not container.writable:
        with container.lock():
            pass
        raise ReadOnlyError(f"cannot write in {str(container.location)!r}: no permission")


def inode_of(path: Path) -> tuple[int, int] | None:
    """What tells a file or a folder from any other that takes its place; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def say_where(error: BaseException, folder: Path) -> None:
    """Name the folder in the error of a full disk, which a system gives without the file that it wrote."""
    if isinstance(error, OSError) and error.errno in DISK_FULL and error.filename is None:
        error.filename = str(folder)


def digest(kind: str, lines: list[str]) -> str:
    """A short text that is the same as long as the same pages have the same sizes and stamps.

    Args:
        kind: what the stamps are, `time` or `crc`.
        lines: one a page, as `digest_line` makes it, in any order.
    """
    content = "\n".join(sorted(lines)).encode("utf-8", "surrogatepass")
    return f"{kind}:{len(lines)}:{blake2b(content, digest_size=16).hexdigest()}"


def digest_line(name: str, size: int, stamp: int) -> str:
    """A page in a digest."""
    return f"{name}\0{size}\0{stamp}"
