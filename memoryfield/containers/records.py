"""The records of a zip: its end, its directory and its local headers, read once and held against each other.

This is the only reader of the directory: a second one might see other entries.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO

from ..errors import ArchiveError
from . import zipformat as zf
from .limits import Limits, allow
from .survey import HERE, MAX_SHOWN, Item, Survey, UnclearError

_DESCRIPTOR_SIGN = b"PK\x07\x08"
_MAX_COMMENT = 0xFFFF
_ELSEWHERES = (zf.ELSEWHERE16,) * 4 + (zf.ELSEWHERE,) * 2
"""Those of the six values that are in both end records."""

_ZIP64_EXTRA, _PATH_EXTRA = b"\x01\x00", b"up"
_NEEDLES = (_ZIP64_EXTRA, _PATH_EXTRA)
"""Extra fields without these bytes need no closer look."""
_ENCRYPTED, _DESCRIPTOR, _PATCH, _STRONG, _MASKED = 0x1, 0x8, 0x20, 0x40, 0x2000
_UNREADABLE = _ENCRYPTED | _STRONG | _MASKED | _PATCH
_NEWEST = 63
"""The version of the zip format, times ten, that the last addition which is known here needs."""

_DIRECTORY_BYTES = 512
"""Of the directory, for each entry that the limits allow: ten thousand bytes of name are not meant well."""


def _read(file: IO[bytes], offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


# the end


def read_end(file: IO[bytes], limits: Limits, seen: Survey) -> tuple[int, bytes, int, int]:
    """Where the directory begins, its bytes, how many entries it has, and by how much all its offsets are wrong."""
    place, record = _end_record(file, seen)
    _, disk, first_disk, here, count, size, offset, _ = zf.END.unpack(record)
    end = place
    if place >= zf.LOCATOR.size and _read(file, place - zf.LOCATOR.size, 4) == zf.LOCATOR_SIGN:
        end, values = _zip64(file, place - zf.LOCATOR.size)
        given = (disk, first_disk, here, count, size, offset)
        for value, true, elsewhere in zip(given, values, _ELSEWHERES, strict=True):
            if value not in (true, elsewhere):
                raise UnclearError("A-12", "has two end records that contradict each other")
        disk, first_disk, here, count, size, offset = values
    if disk or first_disk or here != count:
        raise UnclearError("A-12", "is a part of several, or its end record contradicts itself")
    if count > limits.entries:
        hint = allow(entries=count)
        raise UnclearError("A-13", f"has {count:,} entries, and the limit is {limits.entries:,}", hint)
    start = end - size
    if start < 0 or start < offset:
        raise UnclearError("A-12", "says that its directory lies where it cannot lie")
    if size > max(limits.entries * _DIRECTORY_BYTES, 1 << 16):
        hint = allow(entries=-(-size // _DIRECTORY_BYTES))
        raise UnclearError("A-13", f"has a directory of {size:,} bytes, which is too much for its entries", hint)
    if count * zf.CENTRAL.size > size:
        raise UnclearError("A-12", "has a directory that is too small for the number of its entries")
    if start > offset:
        seen.tell(None, "A-12", f"has {start - offset:,} bytes before its first entry, or after its directory")
    return start, _read(file, start, size), count, start - offset


def _end_record(file: IO[bytes], seen: Survey) -> tuple[int, bytes]:
    """The end record and its place: the one that stands last, and whose comment ends the file."""
    size = file.seek(0, 2)
    first = max(0, size - _MAX_COMMENT - zf.END.size)
    tail = _read(file, first, size - first)
    places: list[int] = []
    place = tail.find(zf.END_SIGN)
    while place >= 0:
        places.append(place)
        place = tail.find(zf.END_SIGN, place + 1)
    whole = [place for place in places if place + zf.END.size <= len(tail)]
    if not whole:
        raise ArchiveError("it has no end record; is it cut off, or no zip at all?")
    ends = {place: place + zf.END.size + zf.END.unpack_from(tail, place)[-1] for place in whole}
    fitting = [place for place in whole if ends[place] == len(tail)]
    if len(fitting) > 1 or (fitting and fitting[0] != places[-1]):
        raise UnclearError("A-12", "has several end records, of which programs would choose different ones")
    chosen = fitting[0] if fitting else whole[-1]
    if ends[chosen] > len(tail):
        raise ArchiveError("its comment is cut off")
    if ends[chosen] < len(tail):
        seen.tell(None, "A-12", f"has {len(tail) - ends[chosen]:,} bytes after its end")
    return first + chosen, tail[chosen : chosen + zf.END.size]


def _zip64(file: IO[bytes], place: int) -> tuple[int, tuple[int, ...]]:
    """Where the zip64 end record begins, and the six values in it that the end record has, too.

    Args:
        place: where its locator is.
    """
    _, disk, offset, disks = zf.LOCATOR.unpack(_read(file, place, zf.LOCATOR.size))
    if offset + zf.END64.size != place or disk or disks > 1:
        raise UnclearError("A-12", "has its zip64 end record not where it says")
    sign, size, _, _, *values = zf.END64.unpack(_read(file, offset, zf.END64.size))
    if sign != zf.END64_SIGN or size != zf.END64.size - 12:
        raise UnclearError("A-12", "has no zip64 end record where it says")
    return offset, tuple(values)


# the directory


def read_directory(seen: Survey, data: bytes, count: int, shift: int) -> None:
    """Fill the survey with the directory's entries."""
    place, size, items = 0, len(data), seen.items
    unpack, central, fixed = zf.CENTRAL.unpack_from, zf.CENTRAL_SIGN, zf.CENTRAL.size
    elsewhere = zf.ELSEWHERE
    for _ in range(count):
        if place + fixed > size:
            raise UnclearError("A-12", "has fewer entries in its directory than it says")
        sign, _, version, flags, method, time, date, crc, packed, full, named, extras, comment, disk, _, kind, at = (
            unpack(data, place)
        )
        if sign != central:
            raise UnclearError("A-12", "has a directory that is not one entry after the other")
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
        if packed == elsewhere or full == elsewhere or at == elsewhere or _has_needle(extra):
            _read_extra(seen, item, extra)
        item.offset += shift
        place = after_name + extras + comment
    if place != size:
        raise UnclearError("A-12", "has a directory of another size than it says")


def _has_needle(extra: bytes) -> bool:
    return bool(extra) and (_NEEDLES[0] in extra or _NEEDLES[1] in extra)


def _look_closer(seen: Survey, item: Item, extra: bytes, disk: int, version: int) -> None:
    if not item.name:
        _decode(seen, item, extra)
    if disk not in (0, zf.ELSEWHERE16):
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
    if item.raw and item.flags & zf.UTF8:
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
        seen.block(item, "A-12", f"has a second name, {other[:MAX_SHOWN]!r}, by which some programs know it")
    if sum(kind == _PATH_EXTRA for kind, _ in fields) > 1:
        seen.block(item, "A-12", "has several unicode names")


def _merge_zip64(values: list[int], fields: list[tuple[bytes, bytes]], known: int) -> str:
    """Put the zip64 field's values in the place of those that say so; what is wrong, if anything is.

    Args:
        values: unpacked size, packed size and, in the directory, offset; changed in place.
        known: how many of them a complete field has.
    """
    found = [content for kind, content in fields if kind == _ZIP64_EXTRA]
    wanted = [number for number, value in enumerate(values) if value == zf.ELSEWHERE]
    if len(found) > 1:
        return "has several zip64 fields"
    if not found:
        return "has no zip64 field, though it says so" if wanted else ""
    content = found[0]
    numbers = [int.from_bytes(content[at : at + 8], "little") for at in range(0, len(content) - len(content) % 8, 8)]
    if len(numbers) < len(wanted):
        return "has a zip64 field that is too short"
    if len(numbers) > len(wanted):  # all of them, needed or not
        if any(value not in (number, zf.ELSEWHERE) for value, number in zip(values, numbers[:known], strict=False)):
            return "has a zip64 field that contradicts its header"
        first = numbers[: len(wanted)]
        numbers = [numbers[number] for number in wanted if number < len(numbers)]
        if numbers != first:  # most programs take what they need from its beginning
            return "has a zip64 field that programs would read differently"
    for number, value in zip(wanted, numbers, strict=True):
        values[number] = value
    return ""


# local headers


def check_headers(seen: Survey, file: IO[bytes], end: int) -> None:
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
        if offset < reach and header[:4] == zf.LOCAL_SIGN and len(header) >= 30:
            # It is refused; and a hundred thousand may share one header, and its extra fields.
            flags, extras = item.flags, header[28] | header[29] << 8
        elif not (header[6:28] == item.head and header[30:] == item.raw and header[:4] == zf.LOCAL_SIGN):
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
        if item.method == zf.STORED and item.packed != item.size:
            seen.block(item, "A-12", "is stored, and its two sizes differ")
        previous = item if reached >= reach else previous
        reach = max(reach, reached)
    if reach < end:
        place = "between its last entry and its directory" if order else "before its directory"
        seen.tell(None, "A-12", f"has {end - reach:,} bytes {place}")


def _tell_gap(seen: Survey, previous: Item | None, item: Item, reach: int) -> None:
    if item.offset < reach and previous:
        seen.block(item, "A-12", f"overlaps {previous.name[:MAX_SHOWN]!r}")
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
    if len(header) < zf.LOCAL.size or header[:4] != zf.LOCAL_SIGN:
        seen.block(item, "A-12", "has no header where the directory says")
        return 0, -1
    _, _, flags, method, _, _, crc, packed, size, named, extras = zf.LOCAL.unpack_from(header)
    extra = window.at(item.offset + zf.LOCAL.size + named, extras) if extras else b""
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
    if named != len(item.raw) or header[zf.LOCAL.size :] != item.raw:
        yield "another name"
    mask = _UNREADABLE | (0 if item.raw.isascii() else zf.UTF8)
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
    short = struct.pack("<3L", item.crc, item.packed & zf.ELSEWHERE, item.size & zf.ELSEWHERE)
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
