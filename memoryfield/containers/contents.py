"""What a field says, whatever carries it: the hash of each page and other file, and the one hash of them all (A-11)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping

from .. import names
from ..errors import reason_of
from .base import Container


def says_something(name: str) -> bool:
    """Whether a file of this name is a page or another file of the field, and neither debris nor an index."""
    return not (names.is_debris(name) or names.is_index(name) or names.is_journal(name))


def files(
    container: Container, *, unread: dict[str, str] | None = None, done: Callable[[], None] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Name and bytes of each page and other file at the root, sorted by name; one that has gone meanwhile is none.

    Args:
        unread: gets name and reason of those that cannot be read.
        done: called after each.

    Raises:
        OSError: one cannot be read, and there is no `unread`; its `filename` is the file's.
    """
    for name in sorted(entry.name for entry in container.entries() if says_something(entry.name)):
        raw = None
        try:
            raw = container.read(name)
        except FileNotFoundError:
            pass  # gone since the folder was listed
        except OSError as error:
            if unread is None:
                raise
            unread[name] = reason_of(error)
        if raw is not None:
            yield name, raw
        if done:
            done()


def total(*containers: Container) -> int:
    """How many names `files` would go through."""
    return sum(says_something(name) for container in containers for name in container.names())


def counting(
    of: int, progress: Callable[[int, int], None] | None, each: int, *, last: bool = False
) -> Callable[[], None] | None:
    """What is called for each of so many files: after `each` of them, and perhaps for the last, it tells how many."""
    if progress is None:
        return None
    count = 0

    def done() -> None:
        nonlocal count
        count += 1
        if count % each == 0 or (last and count == of):
            progress(count, max(of, count))

    return done


def file_hashes(container: Container) -> dict[str, bytes]:
    """The SHA-256 (32 bytes) of each page and other file at the root, by name, sorted.

    Raises:
        OSError: one cannot be read; its `filename` is the file's.
    """
    return {name: hashlib.sha256(raw).digest() for name, raw in files(container)}


def content_hash(hashes: Mapping[str, bytes]) -> str:
    """The content hash of these files: `mf1:` and 64 hexadecimal digits, by A-11 of the format."""
    lines = sorted(f"{digest.hex()}  {name}\n".encode() for name, digest in hashes.items())
    return "mf1:" + hashlib.sha256(b"".join(lines)).hexdigest()
