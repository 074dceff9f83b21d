"""The gate for archives: looks at everything in a zip but the data, before a name is used or a byte inflated.

Programs read a zip in two ways, from its directory or from one local header to the next, and where
the two differ, people see different fields in one file. So whatever is not said twice in the same
words is a finding: headers that contradict the directory, entries that overlap, bytes that are part
of no entry, several ends.

What is read: the end, the directory once its size is known to be within bounds, and each local header.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import IO

from ..names import folded, is_debris, is_page, plain_name_fault, plainly_a_page
from .limits import SMALL, Limits, allow, beyond, times
from .records import check_headers, read_directory, read_end
from .survey import FILE, FOLDER, HERE, MAX_SHOWN, Item, Survey, UnclearError

_DOS_FOLDER, _DOS_LABEL, _DOS_LINK = 0x10, 0x08, 0x400
_DOS_NO_FILE = _DOS_FOLDER | _DOS_LABEL | _DOS_LINK
"""A disk's name, which Info-ZIP passes over, and what 7-Zip makes a link of."""
_MAX_PART, _MAX_PATH, _MAX_DEPTH = 255, 1024, 32
"""Bytes of a name, and of all with the folders before it, that file systems take; and folders within folders."""
_CONTROL = "contains a control character"
_tame = re.compile(r"[^\x00-\x1f\x7f-\x9f\\:]+").fullmatch
_climbs = re.compile(r"//|/\.\.?/").search
"""What most names are, and what they are not: a hundred thousand need no closer look then."""
_EMPTY = 16
"""Packed bytes that nothing at all may take."""
MACOSX = "__MACOSX"


def survey(file: IO[bytes], limits: Limits) -> Survey:
    """Look at a zip.

    Args:
        file: at any position; what is read of it is at most its directory at once.

    Raises:
        ArchiveError: it does not even have an end like one.
    """
    seen = Survey()
    try:
        start, data, count, shift = read_end(file, limits, seen)
        read_directory(seen, data, count, shift)
    except UnclearError as unclear:
        seen.findings.append(unclear.finding)
        seen.is_readable = False
        seen.items = []
        return seen
    _check_names(seen)
    check_headers(seen, file, start)
    _check_sizes(seen, file.seek(0, 2), limits)
    seen.root = _root(seen.items)
    return seen


# limits


def _check_sizes(seen: Survey, packed: int, limits: Limits) -> None:
    """Tell of what is more than the limits, as the directory has it, and block what lies beyond them."""
    total = 0
    first = len(seen.findings)
    for item in seen.items:
        size = item.size
        total += size
        if total > limits.total and not item.blocked:
            item.blocked = f"lies beyond the first {limits.total:,} bytes of the archive"
        if size > limits.entry:
            seen.block(item, "A-13", f"says that it unpacks to {size:,} bytes, and the limit is {limits.entry:,}")
        if size > SMALL and size > limits.ratio * item.packed:
            seen.block(item, "A-13", _too_small(size, item.packed, limits))
    if total > limits.total:
        seen.tell(None, "A-13", f"says that it unpacks to {total:,} bytes, and the limit is {limits.total:,}")
    if total > limits.ratio * packed:
        seen.tell(None, "A-13", _too_small(total, packed, limits))
        for item in seen.items:
            item.blocked = item.blocked or _too_small(total, packed, limits)
    if seen.findings[first:]:
        hint = allow(**beyond(((item.size, item.packed) for item in seen.items), packed, limits))
        seen.findings[first:] = [one._replace(hint=hint) for one in seen.findings[first:]]


def _too_small(size: int, packed: int, limits: Limits) -> str:
    return f"says that it unpacks to {times(size, packed):,} times its size, and the limit is {limits.ratio:,}"


# names


def _check_names(seen: Survey) -> None:
    """Names that lead outside, kinds of entries that are no files, and names that some systems take for one."""
    plain: dict[str, Item] = {}
    others: list[Item] = []
    for item in seen.items:
        kind = item.attributes >> 28
        if item.name == HERE and not item.size and kind in (0, FOLDER):
            continue
        is_file = (kind == 0 or kind == FILE) and not item.attributes & _DOS_NO_FILE
        if is_file and plainly_a_page(item.name) and len(item.name) <= _MAX_PART:
            if item.name in plain:
                _tell_twice(seen, item, plain[item.name])
            plain.setdefault(item.name, item)
        elif item.is_skipped or not _check_name(seen, item):
            item.is_skipped = True
        else:
            _check_kind(seen, item)
            others.append(item)
    _check_same(seen, plain, others)


def _check_name(seen: Survey, item: Item) -> bool:
    """Tell of a name that no file of a field can have."""
    name = item.name.removesuffix("/")
    length = len(item.name.encode())
    if length <= _MAX_PART and _tame(name) and name.count("/") < _MAX_DEPTH and not _climbs(f"/{name}/"):
        return True
    fault: str | None
    if item.name.startswith("/"):
        fault = "is absolute"
    elif length > _MAX_PATH or name.count("/") >= _MAX_DEPTH:
        fault = "is longer than file systems take"
    else:
        fault = next(filter(None, map(_name_fault, name.split("/"))), None)
    if fault:
        seen.tell(item.name, "A-14" if fault == _CONTROL else "S-1", f"has a name that {fault}")
    return not fault


def _name_fault(part: str) -> str | None:
    if fault := plain_name_fault(part):
        return fault
    if any("\x80" <= character <= "\x9f" for character in part):
        return _CONTROL
    return "is longer than file systems take" if len(part.encode()) > _MAX_PART else None


def _check_kind(seen: Survey, item: Item) -> None:
    if item.is_link:
        seen.tell(item.name, "A-14", "is a link, which is not followed")
        item.is_skipped = True
    elif item.is_folder and (item.kind not in (0, FILE, FOLDER) or item.size or item.packed > _EMPTY):
        special = item.kind not in (0, FILE, FOLDER)
        seen.tell(item.name, "A-14", "is a special file" if special else "is a folder, and holds data")
        item.is_skipped = True
    elif not item.is_folder and (item.kind not in (0, FILE) or item.attributes & _DOS_NO_FILE):
        seen.tell(item.name, "A-14", "is not a regular file")
        item.is_skipped = True


def _tell_twice(seen: Survey, one: Item, other: Item) -> None:
    """Tell of the one that lies behind the other."""
    first, second = sorted((other, one), key=lambda item: item.offset)
    if one.name == other.name:
        seen.tell(second.name, "A-5", "stands there twice")
    else:
        seen.tell(second.name, "A-14", f"and {first.name[:MAX_SHOWN]!r} are one file on many systems")


def _check_same(seen: Survey, plain: dict[str, Item], others: list[Item]) -> None:
    """Tell of names that are the same, and of files that are folders, too.

    Sorted by folded name, a folder's content stands right behind the folder, and behind a file of its name:
    nothing that a name may hold sorts before the character that stands for the slash here.
    """
    rows = [(folded(item.name.removesuffix("/")).replace("/", "\x01"), item) for item in others]
    if any("\x01" in row[0] or row[1].is_folder for row in rows):
        rows += plain.items()
    else:
        for key, item in rows:
            first = plain.setdefault(key, item)
            if first is not item:
                _tell_twice(seen, item, first)
        return
    rows.sort(key=lambda row: row[0])
    for (key, item), (next_key, following) in pairwise(rows):
        if key == next_key:
            _tell_twice(seen, following, item)
        elif next_key.startswith(key + "\x01") and not item.is_folder:
            seen.tell(following.name, "A-14", f"lies in {item.name!r}, which is a file and a folder")
        else:
            _check_folders(seen, item, following)


def _check_folders(seen: Survey, item: Item, following: Item) -> None:
    """Tell of folders whose names are the same but for case and normal form."""
    theirs, ours = item.name.split("/"), following.name.split("/")
    for one, other in zip(theirs[:-1], ours[:-1], strict=False):
        if one != other:
            if folded(one) == folded(other):
                seen.tell(following.name, "A-14", f"lies in a folder that is {one!r} on many systems, too")
            return


# one folder around it all


def _root(items: Iterable[Item]) -> str:
    """The one folder that holds pages, and a slash, if beside it there is nothing but what systems leave behind."""
    root, has_page = "", False
    for item in items:
        first, slash, rest = item.name.partition("/")
        if is_debris(first) or first == MACOSX:
            continue
        if not slash or (root and first != root):
            return ""
        root = first
        has_page = has_page or (is_page(rest) and "/" not in rest and not item.is_skipped)
    return f"{root}/" if has_page else ""
