"""The gate for archives: looks at everything in a zip but the data, before a name is used or a byte inflated.

Programs read a zip in two ways, from its directory or from one local header to the next, and where
the two differ, people see different fields in one file. So whatever is not said twice in the same
words is a finding: headers that contradict the directory, entries that overlap, bytes that are part
of no entry, several ends. This is the only reader of the directory: a second one might see other entries.

What is read: the end, the directory once its size is known to be within bounds, and each local header.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import IO, NamedTuple

from ..errors import ArchiveError, UnsafeArchiveError
from ..names import folded, is_debris, is_page, plain_name_fault, plainly_a_page
from .limits import Limits

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_LOCATOR = struct.Struct("<4sLQL")
_END64 = struct.Struct("<4sQ2H2L4Q")
_LOCAL_SIGN, _CENTRAL_SIGN, _END_SIGN = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_LOCATOR_SIGN, _END64_SIGN, _DESCRIPTOR_SIGN = b"PK\x06\x07", b"PK\x06\x06", b"PK\x07\x08"
_MAX_COMMENT = 0xFFFF
_ELSEWHERE16, _ELSEWHERE = 0xFFFF, 0xFFFFFFFF
_ELSEWHERES = (_ELSEWHERE16,) * 4 + (_ELSEWHERE,) * 2
"""Values that say: the true one stands in the zip64 record. These are those of the six in both records."""

_ZIP64_EXTRA, _PATH_EXTRA = b"\x01\x00", b"up"
_NEEDLES = (_ZIP64_EXTRA, _PATH_EXTRA)
"""Extra fields without these bytes need no closer look."""
_ENCRYPTED, _DESCRIPTOR, _PATCH, _STRONG, _UTF8, _MASKED = 0x1, 0x8, 0x20, 0x40, 0x800, 0x2000
_UNREADABLE = _ENCRYPTED | _STRONG | _MASKED | _PATCH
_NEWEST = 63
"""The version of the zip format, times ten, that the last addition which is known here needs."""
STORED, DEFLATED = 0, 8
_FILE, _FOLDER, _LINK = 0o10, 0o04, 0o12
"""The kinds in a Unix mode, its lower twelve bits away."""
_DOS_FOLDER, _DOS_LABEL, _DOS_LINK = 0x10, 0x08, 0x400
_DOS_NO_FILE = _DOS_FOLDER | _DOS_LABEL | _DOS_LINK
"""A disk's name, which Info-ZIP passes over, and what 7-Zip makes a link of."""

_SMALL = 1 << 20
"""An entry within this may shrink as it likes."""
_DIRECTORY_BYTES = 512
"""Of the directory, for each entry that the limits allow: ten thousand bytes of name are not meant well."""
_MAX_PART, _MAX_PATH, _MAX_DEPTH = 255, 1024, 32
"""Bytes of a name, and of all with the folders before it, that file systems take; and folders within folders."""
_CONTROL = "contains a control character"
_tame = re.compile(r"[^\x00-\x1f\x7f-\x9f\\:]+").fullmatch
_climbs = re.compile(r"//|/\.\.?/").search
"""What most names are, and what they are not: a hundred thousand need no closer look then."""
_EMPTY = 16
"""Packed bytes that nothing at all may take."""
MACOSX = "__MACOSX"
HERE = "./"
"""The folder itself, which is nothing."""
_MAX_SHOWN = 200


class Finding(NamedTuple):
    """Something for which an archive is refused: the requirement that it breaks, and the entry, if it is about one."""

    entry: str | None
    requirement: str
    message: str
    hint: str = ""

    def refusal(self) -> UnsafeArchiveError:
        """The finding as an error."""
        if self.entry is None:
            return UnsafeArchiveError(f"the archive {self.message}", entry="", hint=self.hint)
        shown = self.entry if len(self.entry) <= _MAX_SHOWN else self.entry[:_MAX_SHOWN] + "…"
        return UnsafeArchiveError(f"the archive's entry {shown!r} {self.message}", entry=self.entry, hint=self.hint)


class Item:
    """An entry of a zip as its directory has it. Sizes are bytes; `data` is where its packed bytes begin."""

    __slots__ = (
        "attributes", "blocked", "crc", "data", "flags", "head", "in_zip64", "is_skipped", "method", "moment",
        "name", "offset", "packed", "raw", "size",
    )  # fmt: skip

    def __init__(
        self, name: str, raw: bytes, head: bytes, flags: int, method: int, moment: int, crc: int, packed: int,
        size: int, attributes: int, offset: int,
    ) -> None:  # fmt: skip
        self.name = name
        self.raw = raw
        self.head = head
        """Flags to length of the name, as they must stand in the local header, too."""
        self.flags = flags
        self.method = method
        self.moment = moment
        """Date and time, as in a DOS directory."""
        self.crc = crc
        self.packed = packed
        self.size = size
        self.attributes = attributes
        self.offset = offset
        self.data = 0
        self.in_zip64 = False
        self.blocked = ""
        """Why it must not be read."""
        self.is_skipped = False
        """Whether it is no file that may have its name."""

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/")

    @property
    def kind(self) -> int:
        """What its Unix mode says that it is; 0 if that says nothing."""
        return self.attributes >> 28

    @property
    def is_link(self) -> bool:
        return self.kind == _LINK

    @property
    def place(self) -> tuple[bytes, int, int, int, int]:
        """What tells it from any other entry of any archive."""
        return self.raw, self.offset, self.packed, self.size, self.crc


class Survey:
    """What the gate saw of a zip: its entries, and all that speaks against it."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.findings: list[Finding] = []
        self.is_readable = True
        """False where it is not certain, or too much, what the directory lists."""
        self.root = ""
        """The one folder in which all files of the field lie, and a slash; empty if they lie at the root."""

    def tell(self, entry: str | None, requirement: str, message: str, hint: str = "") -> None:
        self.findings.append(Finding(entry, requirement, message, hint))

    def block(self, item: Item, requirement: str, message: str, hint: str = "") -> None:
        """Tell of an entry, and that its bytes cannot be trusted or bounded."""
        self.tell(item.name, requirement, message, hint)
        item.blocked = item.blocked or message


class _UnclearError(Exception):
    """A finding after which nothing more can be said."""

    def __init__(self, requirement: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.finding = Finding(None, requirement, message, hint)


def survey(file: IO[bytes], limits: Limits) -> Survey:
    """Look at a zip.

    Args:
        file: at any position; what is read of it is at most its directory at once.

    Raises:
        ArchiveError: it does not even have an end like one.
    """
    seen = Survey()
    try:
        start, data, count, shift = _directory(file, limits, seen)
        _list(seen, data, count, shift)
    except _UnclearError as unclear:
        seen.findings.append(unclear.finding)
        seen.is_readable = False
        seen.items = []
        return seen
    _check_names(seen)
    _check_headers(seen, file, start)
    _check_sizes(seen, file.seek(0, 2), limits)
    seen.root = _root(seen.items)
    return seen


def _read(file: IO[bytes], offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


# the end


def _directory(file: IO[bytes], limits: Limits, seen: Survey) -> tuple[int, bytes, int, int]:
    """Where the directory begins, its bytes, how many entries it has, and by how much all its offsets are wrong."""
    place, record = _end_record(file, seen)
    _, disk, first_disk, here, count, size, offset, _ = _END.unpack(record)
    end = place
    if place >= _LOCATOR.size and _read(file, place - _LOCATOR.size, 4) == _LOCATOR_SIGN:
        end, values = _zip64(file, place - _LOCATOR.size)
        given = (disk, first_disk, here, count, size, offset)
        for value, true, elsewhere in zip(given, values, _ELSEWHERES, strict=True):
            if value not in (true, elsewhere):
                raise _UnclearError("A-12", "has two end records that contradict each other")
        disk, first_disk, here, count, size, offset = values
    if disk or first_disk or here != count:
        raise _UnclearError("A-12", "is a part of several, or its end record contradicts itself")
    if count > limits.entries:
        hint = allow(entries=count)
        raise _UnclearError("A-13", f"has {count:,} entries, and the limit is {limits.entries:,}", hint)
    start = end - size
    if start < 0 or start < offset:
        raise _UnclearError("A-12", "says that its directory lies where it cannot lie")
    if size > max(limits.entries * _DIRECTORY_BYTES, 1 << 16):
        hint = allow(entries=-(-size // _DIRECTORY_BYTES))
        raise _UnclearError("A-13", f"has a directory of {size:,} bytes, which is too much for its entries", hint)
    if count * _CENTRAL.size > size:
        raise _UnclearError("A-12", "has a directory that is too small for the number of its entries")
    if start > offset:
        seen.tell(None, "A-12", f"has {start - offset:,} bytes before its first entry, or after its directory")
    return start, _read(file, start, size), count, start - offset


def _end_record(file: IO[bytes], seen: Survey) -> tuple[int, bytes]:
    """The end record and its place: the one that stands last, and whose comment ends the file."""
    size = file.seek(0, 2)
    first = max(0, size - _MAX_COMMENT - _END.size)
    tail = _read(file, first, size - first)
    places: list[int] = []
    place = tail.find(_END_SIGN)
    while place >= 0:
        places.append(place)
        place = tail.find(_END_SIGN, place + 1)
    whole = [place for place in places if place + _END.size <= len(tail)]
    if not whole:
        raise ArchiveError("it has no end record; is it cut off, or no zip at all?")
    ends = {place: place + _END.size + _END.unpack_from(tail, place)[-1] for place in whole}
    fitting = [place for place in whole if ends[place] == len(tail)]
    if len(fitting) > 1 or (fitting and fitting[0] != places[-1]):
        raise _UnclearError("A-12", "has several end records, of which programs would choose different ones")
    chosen = fitting[0] if fitting else whole[-1]
    if ends[chosen] > len(tail):
        raise ArchiveError("its comment is cut off")
    if ends[chosen] < len(tail):
        seen.tell(None, "A-12", f"has {len(tail) - ends[chosen]:,} bytes after its end")
    return first + chosen, tail[chosen : chosen + _END.size]


def _zip64(file: IO[bytes], place: int) -> tuple[int, tuple[int, ...]]:
    """Where the zip64 end record begins, and the six values in it that the end record has, too.

    Args:
        place: where its locator is.
    """
    _, disk, offset, disks = _LOCATOR.unpack(_read(file, place, _LOCATOR.size))
    if offset + _END64.size != place or disk or disks > 1:
        raise _UnclearError("A-12", "has its zip64 end record not where it says")
    sign, size, _, _, *values = _END64.unpack(_read(file, offset, _END64.size))
    if sign != _END64_SIGN or size != _END64.size - 12:
        raise _UnclearError("A-12", "has no zip64 end record where it says")
    return offset, tuple(values)


# the directory


def _list(seen: Survey, data: bytes, count: int, shift: int) -> None:
    """Fill the survey with the directory's entries."""
    place, size, items = 0, len(data), seen.items
    unpack, central, fixed = _CENTRAL.unpack_from, _CENTRAL_SIGN, _CENTRAL.size
    for _ in range(count):
        if place + fixed > size:
            raise _UnclearError("A-12", "has fewer entries in its directory than it says")
        sign, _, version, flags, method, time, date, crc, packed, full, named, extras, comment, disk, _, kind, at = (
            unpack(data, place)
        )
        if sign != central:
            raise _UnclearError("A-12", "has a directory that is not one entry after the other")
        after_name = place + fixed + named
        raw = data[place + fixed : after_name]
        head = data[place + 8 : place + 30]
        try:
            name = raw.decode()
        except UnicodeDecodeError:
            name = ""
        if name[:2] == HERE:
            name = _inside(name)
        item = Item(name, raw, head, flags, method, date << 16 | time, crc, packed, full, kind, at)
        items.append(item)
        extra = data[after_name : after_name + extras] if extras else b""
        if not name or disk or version & 0xFF > _NEWEST or flags & _UNREADABLE:
            _look_closer(seen, item, extra, disk, version & 0xFF)
        if packed == _ELSEWHERE or full == _ELSEWHERE or at == _ELSEWHERE or _has_needle(extra):
            _read_extra(seen, item, extra)
        item.offset += shift
        place = after_name + extras + comment
    if place != size:
        raise _UnclearError("A-12", "has a directory of another size than it says")


def _has_needle(extra: bytes) -> bool:
    return bool(extra) and (_NEEDLES[0] in extra or _NEEDLES[1] in extra)


def _look_closer(seen: Survey, item: Item, extra: bytes, disk: int, version: int) -> None:
    if not item.name:
        _decode(seen, item, extra)
    if disk not in (0, _ELSEWHERE16):
        seen.block(item, "A-12", "lies in another file")
    if version > _NEWEST:
        seen.block(item, "A-4", f"needs version {version / 10} of the zip format")
    if item.flags & (_ENCRYPTED | _STRONG | _MASKED):
        seen.block(item, "A-4", "is encrypted")
    elif item.flags & _PATCH:
        seen.block(item, "A-4", "is a patch of another file")


def _decode(seen: Survey, item: Item, extra: bytes) -> None:
    """Find the name of an entry whose name is not UTF-8."""
    item.name = _inside(_unicode_path(item.raw, _fields(extra)) or item.raw.decode("cp437"))
    if item.raw and item.flags & _UTF8:
        seen.block(item, "S-1", "has a name that is not UTF-8, though it says so")


def _inside(name: str) -> str:
    """A name without the folder itself before it, as tar writes it that packs `.`."""
    return name if name == HERE else name.removeprefix(HERE)


def _fields(extra: bytes) -> list[tuple[bytes, bytes]]:
    """Identifier and content of the extra fields that matter; what does not parse is passed over, as everybody does."""
    found: list[tuple[bytes, bytes]] = []
    place, last = 0, len(extra) - 4
    while place <= last:  # up to sixteen thousand times for one entry
        after = place + 4 + (extra[place + 2] | extra[place + 3] << 8)
        kind = extra[place : place + 2]
        if kind in _NEEDLES and after <= len(extra):
            found.append((kind, extra[place + 4 : after]))
        place = after
    return found


def _unicode_path(raw: bytes, fields: list[tuple[bytes, bytes]]) -> str | None:
    """The name in a unicode path field that is of this name; None if there is none that counts.

    Only version 1 is defined; Info-ZIP and 7-Zip take version 0 as well. Empty: it is no UTF-8.
    """
    import zlib

    mark = zlib.crc32(raw).to_bytes(4, "little")
    for kind, content in fields:
        if kind == _PATH_EXTRA and content[:1] in (b"\0", b"\1") and content[1:5] == mark:
            try:
                return content[5:].decode()
            except UnicodeDecodeError:
                return ""
    return None


def _read_extra(seen: Survey, item: Item, extra: bytes) -> None:
    """Take sizes and offset from the zip64 field, and see that other readers know the entry by the same name."""
    fields = _fields(extra)
    values = [item.size, item.packed, item.offset]
    fault = _merge_zip64(values, fields, 3)
    if fault:
        seen.block(item, "A-12", fault)
    item.in_zip64 = values != [item.size, item.packed, item.offset]
    item.size, item.packed, item.offset = values
    _check_paths(seen, item, fields)


def _check_paths(seen: Survey, item: Item, fields: list[tuple[bytes, bytes]]) -> None:
    other = _unicode_path(item.raw, fields)
    if other is not None and _inside(other) != item.name:
        seen.block(item, "A-12", f"has a second name, {other[:_MAX_SHOWN]!r}, by which some programs know it")
    if sum(kind == _PATH_EXTRA for kind, _ in fields) > 1:
        seen.block(item, "A-12", "has several unicode names")


def _merge_zip64(values: list[int], fields: list[tuple[bytes, bytes]], known: int) -> str:
    """Put the zip64 field's values in the place of those that say so; what is wrong, if anything is.

    Args:
        values: unpacked size, packed size and, in the directory, offset; changed in place.
        known: how many of them a complete field has.
    """
    found = [content for kind, content in fields if kind == _ZIP64_EXTRA]
    wanted = [number for number, value in enumerate(values) if value == _ELSEWHERE]
    if len(found) > 1:
        return "has several zip64 fields"
    if not found:
        return "has no zip64 field, though it says so" if wanted else ""
    content = found[0]
    numbers = [int.from_bytes(content[at : at + 8], "little") for at in range(0, len(content) - len(content) % 8, 8)]
    if len(numbers) < len(wanted):
        return "has a zip64 field that is too short"
    if len(numbers) > len(wanted):  # all of them, needed or not
        if any(value not in (number, _ELSEWHERE) for value, number in zip(values, numbers[:known], strict=False)):
            return "has a zip64 field that contradicts its header"
        first = numbers[: len(wanted)]
        numbers = [numbers[number] for number in wanted if number < len(numbers)]
        if numbers != first:  # most programs take what they need from its beginning
            return "has a zip64 field that programs would read differently"
    for number, value in zip(wanted, numbers, strict=True):
        values[number] = value
    return ""


# limits


def beyond(sizes: Iterable[tuple[int, int]], whole: int, limits: Limits) -> dict[str, int]:
    """The limits that an archive passes, and what each must be raised to.

    Args:
        sizes: of each entry, how many bytes it is and how many it takes.
        whole: how many bytes the archive is.
    """
    count, total, largest, ratio = 0, 0, 0, 0
    for size, packed in sizes:
        count, total, largest = count + 1, total + size, max(largest, size)
        if size > _SMALL:
            ratio = max(ratio, _ratio(size, packed))
    needed = {"entries": count, "total": total, "entry": largest, "ratio": max(ratio, _ratio(total, whole))}
    return {name: value for name, value in needed.items() if value > getattr(limits, name)}


def options(**needed: int) -> str:
    """The options that raise limits to what an archive needs."""
    values = {name: f"{-(-value >> 20)}M" if name in ("total", "entry") else value for name, value in needed.items()}
    return " ".join(f"--allow {name}={value}" for name, value in values.items())


def allow(**needed: int) -> str:
    """How limits are raised to what an archive needs."""
    return f"If you trust where it comes from: {options(**needed)}"


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
        if size > _SMALL and size > limits.ratio * item.packed:
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


def _ratio(size: int, packed: int) -> int:
    return -(-size // max(1, packed))


def _too_small(size: int, packed: int, limits: Limits) -> str:
    return f"says that it unpacks to {_ratio(size, packed):,} times its size, and the limit is {limits.ratio:,}"


# names


def _check_names(seen: Survey) -> None:
    """Names that lead outside, kinds of entries that are no files, and names that some systems take for one."""
    plain: dict[str, Item] = {}
    others: list[Item] = []
    for item in seen.items:
        kind = item.attributes >> 28
        if item.name == HERE and not item.size and kind in (0, _FOLDER):
            continue
        is_file = (kind == 0 or kind == _FILE) and not item.attributes & _DOS_NO_FILE
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
    elif item.is_folder and (item.kind not in (0, _FILE, _FOLDER) or item.size or item.packed > _EMPTY):
        special = item.kind not in (0, _FILE, _FOLDER)
        seen.tell(item.name, "A-14", "is a special file" if special else "is a folder, and holds data")
        item.is_skipped = True
    elif not item.is_folder and (item.kind not in (0, _FILE) or item.attributes & _DOS_NO_FILE):
        seen.tell(item.name, "A-14", "is not a regular file")
        item.is_skipped = True


def _tell_twice(seen: Survey, one: Item, other: Item) -> None:
    """Tell of the one that lies behind the other."""
    first, second = sorted((other, one), key=lambda item: item.offset)
    if one.name == other.name:
        seen.tell(second.name, "A-5", "stands there twice")
    else:
        seen.tell(second.name, "A-14", f"and {first.name[:_MAX_SHOWN]!r} are one file on many systems")


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


# local headers


def _check_headers(seen: Survey, file: IO[bytes], end: int) -> None:
    """Compare each local header with the directory, and see that entries lie one after the other, from 0 to the end."""
    order = sorted(seen.items, key=lambda item: item.offset)
    window = _Window(file, end, 1 << 16 if end < len(order) << 14 else 1 << 12)
    reach = 0
    previous: Item | None = None
    starts = [*(item.offset for item in order), end]
    for item, following in zip(order, starts[1:], strict=True):
        offset, named = item.offset, len(item.raw)
        if offset != reach:
            _tell_gap(seen, previous, item, reach)
        header = window.at(offset, 30 + named)
        if offset < reach and header[:4] == _LOCAL_SIGN and len(header) >= 30:
            # It is refused; and a hundred thousand may share one header, and its extra fields.
            flags, extras = item.flags, header[28] | header[29] << 8
        elif not (header[6:28] == item.head and header[30:] == item.raw and header[:4] == _LOCAL_SIGN):
            flags, extras = _compare(seen, item, window, header)
        else:
            flags, extras = item.flags, header[28] | header[29] << 8
            if item.in_zip64 or (extras and _has_needle(window.at(offset + 30 + named, extras))):
                flags, extras = _compare(seen, item, window, header)
        if extras < 0:
            continue  # there is nothing
        item.data = offset + 30 + named + extras
        reached = item.data + item.packed
        if flags & _DESCRIPTOR:
            reached = _after_descriptor(seen, item, window, reached, following)
        if reached > end and not item.blocked:
            seen.block(item, "A-12", "does not lie in the archive as far as it says")
        if item.method == STORED and item.packed != item.size:
            seen.block(item, "A-12", "is stored, and its two sizes differ")
        previous = item if reached >= reach else previous
        reach = max(reach, reached)
    if reach < end:
        place = "between its last entry and its directory" if order else "before its directory"
        seen.tell(None, "A-12", f"has {end - reach:,} bytes {place}")


def _tell_gap(seen: Survey, previous: Item | None, item: Item, reach: int) -> None:
    if item.offset < reach and previous:
        seen.block(item, "A-12", f"overlaps {previous.name[:_MAX_SHOWN]!r}")
        previous.blocked = previous.blocked or "overlaps another"
    elif previous is None:
        seen.tell(None, "A-12", f"has {item.offset:,} bytes before its first entry")
    else:
        message = (
            f"begins {item.offset - reach:,} bytes after the end of the one before, and nothing says what they are"
        )
        seen.tell(item.name, "A-12", message)


def _compare(seen: Survey, item: Item, window: _Window, header: bytes) -> tuple[int, int]:
    """Tell where a local header contradicts the directory; its flags, and the length of its extra fields, -1 for none.

    (More exactly, by how much name and extra fields are longer than the name in the directory.)
    """
    if len(header) < _LOCAL.size or header[:4] != _LOCAL_SIGN:
        seen.block(item, "A-12", "has no header where the directory says")
        return 0, -1
    _, _, flags, method, _, _, crc, packed, size, named, extras = _LOCAL.unpack_from(header)
    extra = window.at(item.offset + _LOCAL.size + named, extras) if extras else b""
    fields = _fields(extra)
    for fault in _contradictions(item, header, flags, method, crc, [size, packed], named, fields):
        seen.block(item, "A-12", f"has a header that contradicts the directory: {fault}")
    if not item.blocked:
        _check_paths(seen, item, fields)
    return flags, max(0, extras + named - len(item.raw))


def _contradictions(
    item: Item,
    header: bytes,
    flags: int,
    method: int,
    crc: int,
    sizes: list[int],
    named: int,
    fields: list[tuple[bytes, bytes]],
) -> Iterator[str]:
    if named != len(item.raw) or header[_LOCAL.size :] != item.raw:
        yield "another name"
    mask = _UNREADABLE | (0 if item.raw.isascii() else _UTF8)
    if (flags ^ item.flags) & mask:
        yield "other flags"
    if method != item.method:
        yield "another method of packing"
    if fault := _merge_zip64(sizes, fields, 2):
        yield f"it {fault}"
    later = bool(flags & _DESCRIPTOR)  # then a header may leave open what the descriptor tells
    if crc != item.crc and not (later and crc == 0):
        yield "another checksum"
    for value, true in zip(sizes, (item.size, item.packed), strict=True):
        if value != true and not (later and value == 0):
            yield "another size"
            return


def _after_descriptor(seen: Survey, item: Item, window: _Window, place: int, following: int) -> int:
    """Where the data descriptor ends, of the four forms in which programs write it."""
    short = struct.pack("<3L", item.crc, item.packed & _ELSEWHERE, item.size & _ELSEWHERE)
    long = struct.pack("<L2Q", item.crc, item.packed, item.size)
    forms = (short, _DESCRIPTOR_SIGN + short, long, _DESCRIPTOR_SIGN + long)
    found = window.at(place, 24)
    for form in forms:
        if place + len(form) == following and found.startswith(form):
            return following
    for form in reversed(forms):
        if found.startswith(form):
            return place + len(form)  # what follows, others tell of
    seen.block(item, "A-12", "has a data descriptor that contradicts the directory, or none")
    return following if place <= following <= place + len(forms[-1]) else place


class _Window:
    """The bytes of a file from one header to the next, read in few pieces."""

    def __init__(self, file: IO[bytes], end: int, step: int) -> None:
        self._file = file
        self._end = end
        self._step = step
        self._start = 0
        self._bytes = b""

    def at(self, offset: int, length: int) -> bytes:
        """These bytes; fewer at the end, which is where the directory begins."""
        place = offset - self._start
        found = self._bytes[place : place + length] if place >= 0 else b""
        if len(found) == length:
            return found
        if offset >= self._end:
            return b""
        self._bytes = _read(self._file, offset, min(max(self._step, length), self._end - offset))
        self._start = offset
        return self._bytes[:length]


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
