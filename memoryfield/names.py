"""Names inside a field: which file is a page, an index, debris; how a title becomes a name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import count

PAGE_SUFFIX = ".md"
INDEX_SUFFIX = ".sqlite3"
ARCHIVE_SUFFIX = ".memoryfield.zip"
SIDECAR_SUFFIX = ".sha256"
"""Of the file beside an archive that tells its sha256."""
MAX_PAGE_BYTES = 8192
"""The size within which a page should stay; an embedder reads no further."""

MAX_NAME_BYTES = 255
"""The longest name of a file, in UTF-8, that Linux, macOS and Windows store."""

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
"""The form of what names a page whatever it is called, as a pattern."""

_LEGAL_STEM = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
# Of ten thousand names, nearly all match this, and need no closer look.
plainly_a_page = re.compile(r"[a-z0-9-]+\.md").fullmatch
_JOURNALS = ("-journal", "-wal", "-shm")
_DEBRIS = frozenset({".ds_store", "desktop.ini", "thumbs.db"})
_MAX_STEM = 100
_RESERVED = re.compile(r"con|prn|aux|nul|com\d|lpt\d")
"""Names that Windows keeps for devices, with whatever suffix."""
_DEVICE = re.compile(r"con|prn|aux|nul|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$", re.IGNORECASE)
"""The same with the rare ones."""


def is_debris(name: str) -> bool:
    """Files that systems and sync tools leave behind, and every dot-file: never part of a field."""
    return name.startswith(".") or name.endswith("~") or ".sync-conflict-" in name or name.lower() in _DEBRIS


def is_page(name: str) -> bool:
    """Whether a file of this name is a page. Illegal names count: they are listed, and reported."""
    if plainly_a_page(name):
        return True
    return name.lower().endswith(PAGE_SUFFIX) and not is_debris(name)


def is_index(name: str) -> bool:
    """Whether a file of this name is an SQLite vector index."""
    return name.endswith(INDEX_SUFFIX) and not is_debris(name)


def is_journal(name: str) -> bool:
    """Whether a file of this name is one that SQLite keeps beside an index at work."""
    return name.endswith(_JOURNALS) and is_index(name.rsplit("-", 1)[0])


def is_legal_page_name(name: str) -> bool:
    """Lowercase ASCII letters, digits and hyphens, first and last a letter or digit, then `.md`."""
    return name.endswith(PAGE_SUFFIX) and _LEGAL_STEM.fullmatch(name[: -len(PAGE_SUFFIX)]) is not None


def is_field_name(text: str) -> bool:
    """Whether a field can be called this: letters as in the stem of a page, so that it cannot be taken for a path."""
    return _LEGAL_STEM.fullmatch(text) is not None and len(text) <= _MAX_STEM


def usual_uuid(text: str) -> str:
    """A UUID in its usual form, which may be written in another: in capitals, braces, without hyphens; else nothing."""
    import uuid

    try:
        return str(uuid.UUID(text.strip()))
    except ValueError:
        return ""


def alternatives(stem: str, suffix: str = PAGE_SUFFIX) -> Iterator[str]:
    """Names for a file that is to be called like this, best first: `stem.md`, `stem-2.md`, `stem-3.md`, and so on."""
    yield stem + suffix
    yield from (f"{stem}-{number}{suffix}" for number in count(2))


def stem(name: str) -> str:
    """The name without `.md`."""
    return name[: -len(PAGE_SUFFIX)] if name.lower().endswith(PAGE_SUFFIX) else name


def with_suffix(name: str) -> str:
    """The name with `.md`, whether or not it was given."""
    return name if name.lower().endswith(PAGE_SUFFIX) else name + PAGE_SUFFIX


def plain_name_fault(name: str) -> str | None:
    """Why `name` is no plain file name inside a field (a separator, `..`, a drive letter), or None."""
    if plainly_a_page(name):
        return None
    if name in (".", ".."):
        return "leads out of the folder"
    if not name:
        return "is empty"
    if "/" in name or "\\" in name:
        return "contains a separator"
    if re.match(r"[A-Za-z]:", name):
        return "begins with a drive letter"
    if any(ord(ch) < 32 or ord(ch) == 127 for ch in name):
        return "contains a control character"
    if any(0xD800 <= ord(ch) < 0xE000 for ch in name):
        return "is not UTF-8"
    return None


def windows_name_fault(name: str) -> str | None:
    """Why Windows would make something else of a plain name than a file of that name, or None.

    A colon leads to another stream of a file, some names are devices, and dots and spaces at the end are dropped.
    """
    if any(character in '<>:"|?*' for character in name):
        return "contains a character that Windows does not allow"
    if _DEVICE.fullmatch(name.split(".")[0].rstrip()):
        return "is one of a device on Windows"
    return "ends in a dot or a space, which Windows drops" if name.endswith((".", " ")) else None


def folded(name: str) -> str:
    """A name as a file system sees it that tells neither capitals nor Unicode's normal forms apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def slug(title: str) -> str:
    """A legal stem made from a title in any script, at most 100 characters; `page` if nothing is left."""
    from slugify import slugify

    made = slugify(title, max_length=_MAX_STEM, word_boundary=True, save_order=True) or "page"
    return f"{made}-page" if _RESERVED.fullmatch(made) else made


def model_code(index_name: str) -> str:
    """The model code in an index's file name."""
    return index_name[: -len(INDEX_SUFFIX)]
