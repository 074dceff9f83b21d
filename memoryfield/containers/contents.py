"""What a field says, whatever carries it: the hash of each page and other file, and the one hash of them all (A-11)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from .. import names
from .base import Container


def says_something(name: str) -> bool:
    """Whether a file of this name is a page or another file of the field, and neither debris nor an index."""
    return not (names.is_debris(name) or names.is_index(name) or names.is_journal(name))


def file_hashes(container: Container) -> dict[str, bytes]:
    """The SHA-256 (32 bytes) of each page and other file at the root, by name, sorted.

    Raises:
        OSError: one cannot be read; its `filename` is the file's.
    """
    wanted = sorted(entry.name for entry in container.entries() if says_something(entry.name))
    hashes: dict[str, bytes] = {}
    for name in wanted:
        try:
            hashes[name] = hashlib.sha256(container.read(name)).digest()
        except FileNotFoundError:
            continue  # gone since the folder was listed
    return hashes


def content_hash(hashes: Mapping[str, bytes]) -> str:
    """The content hash of these files: `mf1:` and 64 hexadecimal digits, by A-11 of the format."""
    lines = sorted(f"{digest.hex()}  {name}\n".encode() for name, digest in hashes.items())
    return "mf1:" + hashlib.sha256(b"".join(lines)).hexdigest()
