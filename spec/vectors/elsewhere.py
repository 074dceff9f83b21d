"""Archives from elsewhere: what attackers make of a zip, and what the programs of this world do.

The latter are built from what those programs were seen to write, header by header, with deflate streams of our own.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Iterator
from typing import Any

from parts import (
    GLUE,
    PAN,
    SVG,
    TEA,
    WIDE,
    Entry,
    deflated,
    descriptor,
    entry,
    field,
    inflating,
    inflating_fast,
    local_header,
    make_zip,
    moment,
    page,
    swollen,
    with_zip64_end,
)

Archives = Iterator[tuple[str, bytes]]

GREEN, SEASONING, WOOD = (
    entry("green-tea.md", page(TEA)),
    entry("seasoning.md", page(PAN)),
    entry("wood-glue.md", page(GLUE)),
)
PICTURE = entry("pan.svg", SVG)
DEFLATED_PICTURE = PICTURE._replace(method=8, packed=deflated(PICTURE.data))


def hostile() -> Archives:
    """Archives that a reader refuses, or that it must not believe."""
    for group in (names, kinds, twins, doubles, encrypted, headers, overlaps, gaps, ends, bombs, liars):
        for case, archive in group():
            yield f"invalid/{case}/field.memoryfield.zip", archive


# names and kinds


def names() -> Archives:
    """Names that lead out of the folder in which somebody unpacks."""
    for case, name in (
        ("out-of-the-archive", "../seasoning.md"),
        ("climbing-in-the-middle", "logs/../../seasoning.md"),
        ("climbing-at-the-end", "logs/.."),
        ("climbing-alone", ".."),
        ("climbing-and-back", "../field/seasoning.md"),
        ("absolute", "/etc/seasoning.md"),
        ("host-and-share", "//host/share/seasoning.md"),
        ("drive-letter", "C:seasoning.md"),
        ("drive-and-folder", "C:/seasoning.md"),
        ("drive-and-backslash", "C:\\seasoning.md"),
        ("backslash", "..\\seasoning.md"),
        ("backslash-in-a-folder", "logs\\a.txt"),
        ("backslash-host-and-share", "\\\\host\\share\\seasoning.md"),
        ("backslash-device", "\\\\?\\C:\\seasoning.md"),
        ("mixed-separators", "logs\\..\\../seasoning.md"),
        ("a-dot-in-the-middle", "logs/./a.txt"),
        ("an-empty-folder-name", "logs//a.txt"),
        ("an-empty-name", ""),
    ):
        yield f"s-1-{case}", make_zip(GREEN, entry(name, page(PAN)))
    yield "s-1-a-folder-that-climbs", make_zip(GREEN, entry("../", b"", mode=0o40755))


def kinds() -> Archives:
    """Entries that are neither files nor folders, and names that do things to a terminal."""
    for case, name, mode in (
        ("a-pipe", "seasoning.md", 0o10644),
        ("a-socket", "seasoning.md", 0o140644),
        ("a-device", "seasoning.md", 0o20644),
        ("a-block-device", "logs/disk", 0o60644),
        ("a-link-that-leads-outside", "seasoning.md", 0o120777),
        ("a-link-named-as-a-folder", "logs/", 0o120777),
    ):
        yield f"a-14-{case}", make_zip(GREEN, entry(name, "/etc/hostname", mode=mode))
    yield "a-14-a-link-within", make_zip(GREEN, entry("seasoning.md", "green-tea.md", mode=0o120777))
    link = entry("logs", "/tmp", mode=0o120777)
    yield "a-14-through-a-link", make_zip(GREEN, link, entry("logs/a.txt", "x\n"))
    for case, name in (
        ("an-escape", "a\x1b[2J.md"),
        ("a-line-feed", "a\nb.md"),
        ("a-return", "logs/a\rb.txt"),
        ("a-nul", "seasoning.md\0.txt"),
        ("a-delete", "a\x7fb.txt"),
        ("a-c1-control", "a\x9b2Jb.txt"),
    ):
        yield f"a-14-{case}", make_zip(GREEN, entry(name, page(PAN)))


def twins() -> Archives:
    """Names that are different to one file system and the same to another."""
    for case, first, second in (
        ("case", "Burner.svg", "burner.svg"),
        ("case-of-other-scripts", "\u03a3.svg", "\u03c3.svg"),
        ("normal-form", "cafe\u0301.svg", "caf\u00e9.svg"),
        ("case-and-normal-form", "CAFE\u0301.svg", "caf\u00e9.svg"),
        ("case-in-a-folder", "logs/A.txt", "logs/a.txt"),
        ("case-of-a-folder", "Logs/a.txt", "logs/a.txt"),
        ("case-of-two-folders", "Logs/a.txt", "logs/b.txt"),
        ("case-of-debris", "Desktop.ini", "desktop.ini"),
        ("a-file-and-a-folder", "logs", "logs/a.txt"),
        ("a-file-and-an-empty-folder", "logs", "logs/"),
        ("a-file-and-a-folder-by-case", "Logs", "logs/a.txt"),
    ):
        mode = 0o40755 if second.endswith("/") else 0o100644
        data = b"" if second.endswith("/") else SVG
        yield f"a-14-{case}", make_zip(GREEN, entry(first, SVG), entry(second, data, mode=mode))
    yield "a-14-case-of-pages", make_zip(entry("Green-Tea.md", page(GLUE)), GREEN)


def doubles() -> Archives:
    """Two entries of one name."""
    other = entry("green-tea.md", page(PAN))
    yield "a-5-one-name-twice", make_zip(GREEN, other, WOOD)
    yield "a-5-far-apart", make_zip(GREEN, PICTURE, WOOD, other)
    yield "a-5-three-times", make_zip(GREEN, other, entry("green-tea.md", page(GLUE)))
    yield "a-5-the-same-twice", make_zip(GREEN, SEASONING, GREEN)
    yield "a-5-in-a-folder", make_zip(GREEN, entry("logs/a.txt", "x\n"), entry("logs/a.txt", "y\n"))
    umlaut = entry("s\u00fc\u00df.svg", SVG)
    yield "a-5-flagged-and-not", make_zip(GREEN, umlaut, umlaut._replace(flags=0))


def encrypted() -> Archives:
    """Entries that are encrypted, in the ways that there are."""
    noise = bytes((7 * number + 3) % 256 for number in range(200))
    secret = SEASONING._replace(method=8, packed=noise)
    yield "a-4-encrypted", make_zip(GREEN, secret._replace(flags=1))
    strong = field(0x17, struct.pack("<HHHH", 2, 0x6610, 256, 1))
    yield "a-4-strongly-encrypted", make_zip(GREEN, secret._replace(flags=0x41, extra=strong))
    masked = secret._replace(flags=0x2041, extra=strong, local={"name": b"1", "crc": 0, "size": 0})
    yield "a-4-masked-headers", make_zip(GREEN, masked)
    aes = field(0x9901, struct.pack("<H2sBH", 2, b"AE", 3, 0))
    yield "a-4-aes", make_zip(GREEN, secret._replace(flags=1, method=99, extra=aes, crc=0))
    yield "a-4-an-encrypted-attachment", make_zip(GREEN, PICTURE._replace(flags=1, method=8, packed=noise), SEASONING)


# what contradicts itself


def headers() -> Archives:
    """Entries whose own header, or what follows their data, is not what the directory says."""
    for case, said in (
        ("another-name", {"name": b"pot.svg"}),
        ("a-longer-name", {"name": b"pan-of-steel.svg"}),
        ("a-name-that-climbs", {"name": b"../pan.svg"}),
        ("another-method", {"method": 8}),
        ("another-size", {"size": len(SVG) + 1}),
        ("another-packed-size", {"packed_size": len(SVG) - 1}),
        ("another-checksum", {"crc": 0}),
        ("encrypted-in-its-header", {"flags": 1}),
        ("another-unicode-name-in-its-header", {"extra": unicode_path(b"pan.svg", "../pan.svg")}),
        ("zip64-in-its-header", {"size": WIDE, "packed_size": WIDE, "extra": sizes(len(SVG) + 1, len(SVG))}),
    ):
        yield f"a-12-{case}", make_zip(GREEN, PICTURE._replace(local=said), SEASONING)
    for case, said in (
        ("zip64-in-the-directory", {"size": WIDE, "extra": sizes(len(SVG) + 1)}),
        ("zip64-of-another-place", {"offset": WIDE, "extra": sizes(0)}),
        ("on-another-disk", {"disk": 1}),
        ("at-a-place-beyond-the-file", {"offset": 1 << 30}),
        ("at-a-place-without-a-header", {"offset": 5}),
    ):
        is_there = "offset" not in said
        yield f"a-12-{case}", make_zip(GREEN, PICTURE._replace(listed=said, is_there=is_there), SEASONING)
    streamed = PICTURE._replace(flags=8, local={"crc": 0, "size": 0, "packed_size": 0})
    wrong = descriptor(streamed._replace(data=SVG.upper().encode()))
    yield "a-12-another-checksum-behind", make_zip(GREEN, streamed._replace(after=wrong), SEASONING)
    wrong = descriptor(streamed._replace(packed=b"", data=streamed.data))
    yield "a-12-another-size-behind", make_zip(GREEN, streamed._replace(after=wrong), SEASONING)
    yield "a-12-nothing-behind", make_zip(GREEN, streamed, SEASONING)
    half = streamed._replace(local={"crc": 0, "size": 7, "packed_size": 0}, after=descriptor(streamed))
    yield "a-12-another-size-in-front", make_zip(GREEN, half, SEASONING)
    other = unicode_path(b"pan.svg", "../pan.svg")
    yield "a-12-another-unicode-name", make_zip(GREEN, PICTURE._replace(extra=other), SEASONING)
    unasked = {"extra": sizes(len(SVG) + 1, len(SVG))}
    yield "a-12-zip64-not-asked-for", make_zip(GREEN, PICTURE._replace(local=unasked, listed=unasked), SEASONING)
    larger = {"size": len(SVG) + 1}
    yield "a-12-stored-in-another-size", make_zip(GREEN, PICTURE._replace(local=larger, listed=larger), SEASONING)


def sizes(*numbers: int) -> bytes:
    """The extra field of zip64."""
    return field(1, struct.pack(f"<{len(numbers)}Q", *numbers))


def unicode_path(name: bytes, path: str) -> bytes:
    """The extra field that says in Unicode what this name is."""
    return field(0x7075, struct.pack("<BI", 1, zlib.crc32(name)) + path.encode())


def overlaps() -> Archives:
    """Entries that share bytes."""
    again = entry("pot.svg", SVG, is_there=False, listed={"offset": 0})
    yield "a-12-one-place-for-two", make_zip(PICTURE, again, GREEN)
    inner = local_header(SEASONING) + SEASONING.data
    outer = entry("logs.bin", inner)
    place = len(local_header(outer))
    yield "a-12-one-in-the-other", make_zip(outer, SEASONING._replace(is_there=False, listed={"offset": place}), GREEN)
    longer = SVG.encode() + local_header(GREEN)[:10]
    said = {"size": len(longer), "packed_size": len(longer), "crc": zlib.crc32(longer)}
    yield "a-12-into-the-next", make_zip(PICTURE._replace(local=said, listed=said), GREEN)
    yield "a-12-one-kernel-for-many", make_zip(*one_kernel(6), GREEN)


def one_kernel(count: int) -> list[Entry]:
    """Entries of which each holds all that follow: a stored block for the next header, then what the next one holds."""
    data, packed = swollen(1 << 20), inflating(1 << 20)
    entries = [Entry(f"kernel-{count}.bin".encode(), data, method=8, packed=packed)]
    for number in range(count - 1, 0, -1):
        header = local_header(entries[0])
        data = header + data
        packed = b"\0" + struct.pack("<HH", len(header), 0xFFFF ^ len(header)) + header + packed
        entries.insert(0, Entry(f"kernel-{number}.bin".encode(), data, method=8, packed=packed))
    place, placed = 0, entries[:1]
    for before, item in itertools.pairwise(entries):
        place += len(local_header(before)) + 5
        placed.append(item._replace(is_there=False, listed={"offset": place}))
    return placed


def gaps() -> Archives:
    """Bytes that belong to no entry."""
    sound = make_zip(GREEN, SEASONING)
    yield "a-12-bytes-between", make_zip(GREEN, SEASONING._replace(before=b"Not in the directory."))
    yield "a-12-a-hidden-entry", make_zip(GREEN, WOOD._replace(is_listed=False), SEASONING)
    yield "a-12-a-hidden-entry-in-front", make_zip(WOOD._replace(is_listed=False), GREEN, SEASONING)
    yield "a-12-bytes-before-the-directory", make_zip(GREEN, SEASONING, between=b"Not in the directory.")
    stub = b'#!/bin/sh\nexec unzip "$0"\n'
    yield "a-12-a-program-before", stub + make_zip(GREEN, SEASONING, start=len(stub))
    yield "a-12-a-program-before-not-counted", stub + sound
    yield "a-12-bytes-after", sound + b"After the end.\n"
    yield "a-12-zeros-after", sound + bytes(512)
    yield "a-12-bytes-before-the-end", sound[:-22] + b"Before the end." + sound[-22:]


def ends() -> Archives:
    """End records that lie, and archives with several."""
    sound = make_zip(GREEN, SEASONING)
    directory = sound.index(b"PK\1\2")
    size = len(sound) - 22 - directory
    yield "a-12-two-archives", make_zip(WOOD) + sound
    yield "a-12-two-archives-counted", make_zip(WOOD) + make_zip(GREEN, SEASONING, start=len(make_zip(WOOD)))
    inner = make_zip(WOOD, start=len(sound))
    yield "a-12-an-archive-in-the-comment", make_zip(GREEN, SEASONING, comment=inner)
    false = sound[-22:-2] + struct.pack("<H", 0) + b"."
    yield "a-12-a-false-end-in-the-comment", make_zip(GREEN, SEASONING, comment=false)
    yield "a-12-too-few", make_zip(GREEN, SEASONING, here=1, count=1)
    yield "a-12-too-many", make_zip(GREEN, SEASONING, here=3, count=3)
    yield "a-12-more-here-than-in-all", make_zip(GREEN, SEASONING, here=2, count=1)
    yield "a-12-several-disks", make_zip(GREEN, SEASONING, disk=1, directory_disk=1)
    yield "a-12-a-directory-that-is-longer", make_zip(GREEN, SEASONING, size=size - 58)
    yield "a-12-a-directory-that-is-shorter", make_zip(GREEN, SEASONING, size=size + 58)
    yield "a-12-a-directory-elsewhere", make_zip(GREEN, SEASONING, offset=directory + 3)
    yield "a-12-a-directory-within-itself", make_zip(GREEN, SEASONING, offset=directory + 58)
    yield "a-12-a-directory-beyond-the-file", make_zip(GREEN, SEASONING, offset=1 << 30)
    yield "a-12-zip64-says-otherwise", with_zip64_end(sound, wide=(), here=1, count=1)
    yield "a-12-a-directory-that-is-cut-off", sound[: directory + 60] + sound[-22:]


# what is too much


def bombs() -> Archives:
    """Archives that unpack to more than a reader should take."""
    megabyte = 1 << 20
    ten, many = swollen(10 * megabyte), swollen(62 * megabyte)
    fast, filler = inflating_fast(10 * megabyte), entry("filler.txt", "It takes room.\n" * 5_000)
    yield "a-13-a-thousandfold", make_zip(GREEN, entry("a.bin", ten, method=8, packed=fast), filler)
    yield "a-13-a-thousandfold-page", make_zip(GREEN, entry("long.md", ten, method=8, packed=fast), filler)
    small = Entry(b"", swollen(megabyte - 300), method=8, packed=inflating_fast(megabyte - 300))
    together = (small._replace(name=b"%02d.bin" % number) for number in range(20))
    yield "a-13-a-thousandfold-together", make_zip(GREEN, *together)
    large = entry("a.bin", swollen(64 * megabyte), method=8, packed=inflating(64 * megabyte))
    yield "a-13-a-large-entry", make_zip(GREEN, large)
    one = Entry(b"", many, method=8, packed=inflating(62 * megabyte), crc=zlib.crc32(many))
    yield "a-13-large-together", make_zip(GREEN, *(one._replace(name=b"%02d.bin" % number) for number in range(17)))
    exabytes = entry("a.bin", b"", method=8, packed=fast)
    said = {"size": WIDE, "extra": sizes((1 << 62) + 1)}
    local = {"size": WIDE, "packed_size": WIDE, "extra": sizes((1 << 62) + 1, len(exabytes.content))}
    yield "a-13-exabytes", make_zip(GREEN, exabytes._replace(listed=said, local=local))
    yield "a-13-many-entries", many_entries(100_001)


def many_entries(count: int) -> bytes:
    """A zip of so many entries, nearly all of them empty."""
    rest = (Entry(str(number).encode(), b"") for number in range(count - 1))
    return with_zip64_end(make_zip(GREEN, *rest, here=0, count=0), here=count, count=count)


def liars() -> Archives:
    """Entries whose data are not what both headers say."""
    packed = deflated(SEASONING.data)
    short, long = SEASONING.data[:100], SEASONING.data + b"More.\n"
    honest = SEASONING._replace(method=8, packed=packed)
    for case, declared in (("smaller", short), ("larger", long)):
        said = {"size": len(declared), "crc": zlib.crc32(SEASONING.data)}
        yield f"a-1-declared-{case}", make_zip(GREEN, honest._replace(local=said, listed=said))
    said = {"size": len(short), "crc": zlib.crc32(short)}
    yield "a-1-declared-smaller-with-its-checksum", make_zip(GREEN, honest._replace(local=said, listed=said))
    data = b"---\ntitle: a\n---\n"
    bomb = Entry(b"seasoning.md", data, method=8, packed=inflating_fast(100 << 20))
    yield "a-1-a-bomb-declared-small", make_zip(GREEN, bomb)
    yield "a-1-more-behind-its-data", make_zip(GREEN, honest._replace(packed=packed + b"Hidden."))
    yield "a-1-no-stream", make_zip(GREEN, honest._replace(packed=b"\x07" + packed))


# what real programs write


SECONDS = 1_746_203_405
"""The moment of `TIME`, in seconds since 1970."""
TIME = moment("2025-05-02T16:30:04Z")
TREE = {"mode": 0o40755, "attributes": 0x10, "time": TIME}
UMLAUT = "s\u00fc\u00df.svg"
OWNER = field(0x7875, struct.pack("<BBIBI", 1, 4, 501, 4, 20))


def times(flags: int, *seconds: int) -> bytes:
    """The extra field of Unix times."""
    return field(0x5455, struct.pack(f"<B{len(seconds)}I", flags, *seconds))


def squeezed(*items: Entry) -> list[Entry]:
    """The entries, deflated."""
    return [item._replace(method=8, packed=deflated(item.data)) for item in items]


def streamed(item: Entry, layout: str = "<4sIII", **local: Any) -> Entry:
    """The entry as it is written by who cannot go back: nothing is known before the data, all of it follows."""
    said = {"crc": 0, "size": 0, "packed_size": 0} | local
    return item._replace(flags=item.flags | 8, local=said, after=descriptor(item, layout))


def pages_and_more(**more: Any) -> list[Entry]:
    """Two pages, deflated, and a picture whose name is not ASCII, stored."""
    entries = [*squeezed(GREEN, SEASONING), entry(UMLAUT, SVG)]
    return [item._replace(**({"time": TIME} | more)) for item in entries]


def real_world() -> Archives:
    """Archives as common programs write them."""
    for group in (systems, packers, languages, others):
        for case, archive in group():
            yield f"{case}/field.memoryfield.zip", archive


def systems() -> Archives:
    """macOS and Windows."""
    yield "invalid/a-3-of-finder", make_zip(*finder())
    old = {"extra": field(0x5855, struct.pack("<IIHH", SECONDS, SECONDS, 501, 20))}
    listed = {"extra": field(0x5855, struct.pack("<II", SECONDS, SECONDS))}
    files = [*squeezed(GREEN, entry("__MACOSX/._green-tea.md", APPLE_DOUBLE), SEASONING)]
    mac = [streamed(item._replace(time=TIME, version=21, attributes=0x4000, listed=listed), **old) for item in files]
    folder = entry("__MACOSX/", b"", **TREE, version=21, local=old | {"needed": 10}, listed=listed)
    yield "valid/a-1-of-ditto", make_zip(mac[0], folder, *mac[1:])
    windows = {"system": 0, "mode": 0, "attributes": 0x20}
    yield "valid/a-1-of-explorer", make_zip(*pages_and_more(**windows), entry("empty.txt", b"", time=TIME, **windows))
    packed = [item._replace(name=b"kitchen/" + item.name, **windows) for item in pages_and_more()]
    yield "invalid/a-3-of-explorer", make_zip(*packed)
    folder = entry("kitchen/", b"", time=TIME, system=0, mode=0, attributes=0x10)
    yield "invalid/a-3-of-explorer-with-its-folder", make_zip(folder, *packed)
    local, listed = {"extra": times(1, SECONDS) + OWNER}, {"extra": times(1, SECONDS) + OWNER}
    tar = [streamed(item._replace(listed=listed), **local) for item in pages_and_more()]
    folder = entry("logs/", b"", time=TIME, mode=0o40755, extra=local["extra"])
    empty = entry("empty.txt", b"", time=TIME, extra=local["extra"])
    yield "valid/a-1-of-windows-tar", make_zip(folder, *tar, empty)
    here = [item._replace(name=b"./" + item.name) for item in (folder._replace(name=b""), *tar, empty)]
    yield "valid/a-1-of-windows-tar-of-the-folder-itself", make_zip(*here)


APPLE_DOUBLE = bytes.fromhex("0005160700020000") + b"Mac OS X        " + bytes(58)


def finder() -> Iterator[Entry]:
    """What "Compress" in a Mac's menu makes of the folder `kitchen`."""
    local = {"extra": times(7, SECONDS, SECONDS, SECONDS) + OWNER}
    listed = {"extra": times(7, SECONDS) + OWNER}
    for name, data in (
        ("kitchen/", b""),
        ("kitchen/green-tea.md", GREEN.data),
        ("__MACOSX/", b""),
        ("__MACOSX/kitchen/", b""),
        ("__MACOSX/kitchen/._green-tea.md", APPLE_DOUBLE),
        ("kitchen/.DS_Store", b"\0\0\0\1Bud1"),
        ("kitchen/seasoning.md", SEASONING.data),
    ):
        item = entry(name, data, time=TIME, version=21, attributes=0x4000, listed=listed)
        if name.endswith("/"):
            yield item._replace(mode=0o40755, local=local | {"needed": 10}, listed=listed | {"needed": 10})
        else:
            yield streamed(*squeezed(item), **local)


def packers() -> Archives:
    """Programs that pack."""
    local, listed = times(3, SECONDS, SECONDS) + OWNER, times(3, SECONDS) + OWNER
    unix = {"version": 30, "local": {"extra": local}, "listed": {"extra": listed}}
    old = [item._replace(flags=0) for item in pages_and_more(**unix)]
    folder = entry("logs/", b"", **TREE, **unix)
    yield "valid/a-1-of-info-zip", make_zip(folder, *old)
    stream = [streamed(item, extra=local, size=len(item.data)) for item in old]
    yield "valid/a-1-of-info-zip-in-a-pipe", make_zip(folder, *stream)
    yield "valid/a-1-of-info-zip-with-zip64", with_zip64_end(make_zip(*map(info_zip64, old)), wide=["offset"])
    name = UMLAUT.encode("cp437")
    other = {"name": name, "extra": unicode_path(name, UMLAUT), "flags": 0, "system": 0, "mode": 0, "attributes": 0x20}
    yield "valid/a-1-of-info-zip-on-windows", make_zip(*old[:2], old[2]._replace(**other, local={}, listed={}))
    ntfs = field(10, struct.pack("<IHHQQQ", 0, 1, 24, *[133_906_770_050_000_000] * 3))
    windows = {"version": 63, "system": 0, "mode": 0, "attributes": 0x20, "listed": {"extra": ntfs}}
    yield "valid/a-1-of-7-zip", make_zip(*pages_and_more(**windows))
    unix = {"version": 63, "attributes": 0x8020, "listed": {"extra": ntfs}}
    folder = entry("logs/", b"", mode=0o40755, time=TIME, version=63, attributes=0x8010, listed={"extra": ntfs})
    yield "valid/a-1-of-7-zip-on-unix", make_zip(*pages_and_more(**unix), folder)
    git = {"version": 0, "system": 0, "mode": 0, "extra": times(1, SECONDS)}
    commit = b"06b88a800cbac81af46f3e09e623bc5e9364fa30"
    yield "valid/a-1-of-git-archive", make_zip(*pages_and_more(**git), comment=commit)


def info_zip64(item: Entry) -> Entry:
    """An entry as `zip -fz` writes it."""
    size = len(item.data)
    wide = {"size": WIDE, "needed": 45}
    local = {"extra": item.local["extra"] + sizes(size, len(item.content)), "packed_size": WIDE}
    return item._replace(local=wide | local, listed=wide | {"extra": item.listed["extra"] + sizes(size)})


def languages() -> Archives:
    """Libraries of programming languages."""
    files = pages_and_more()
    yield "valid/a-1-of-python", make_zip(*pages_and_more(mode=0o600))
    yield "valid/a-1-of-python-in-a-pipe", make_zip(*map(streamed, files))
    both = {"size": WIDE, "packed_size": WIDE, "needed": 45}
    known = [
        item._replace(local=both | {"extra": sizes(len(item.data), len(item.content))}, listed={"needed": 45})
        for item in files
    ]
    yield "valid/a-1-of-python-with-zip64", make_zip(*known)
    later = [streamed(item._replace(listed={"needed": 45}), "<4sIQQ", **both, extra=sizes(0, 0)) for item in files]
    yield "valid/a-1-of-python-with-zip64-in-a-pipe", make_zip(*later)
    go = {"system": 0, "mode": 0, "extra": times(1, SECONDS)}
    folder = entry("logs/", b"", system=0, mode=0, time=TIME)
    yield "valid/a-1-of-go", make_zip(*map(streamed, pages_and_more(**go)), folder)
    yield "valid/a-1-of-jar", make_zip(*jar())
    java = [streamed(item._replace(flags=item.flags | 0x800)) for item in pages_and_more(**go)[:2]]
    stored = entry("pan.svg", SVG, system=0, mode=0, time=TIME, version=10, flags=0x800)
    yield "valid/a-1-of-java", make_zip(*java, stored)
    net = pages_and_more(system=0, mode=0)
    yield "valid/a-1-of-dotnet", make_zip(*(item._replace(flags=item.flags | 2) for item in net[:2]), net[2])


def jar() -> Iterator[Entry]:
    """What `jar -c` makes: a manifest comes first, in a folder that is deflated."""
    java = {"system": 0, "mode": 0, "time": TIME, "flags": 0x800}
    magic = field(0xCAFE, b"")
    yield streamed(entry("META-INF/", b"", **java, method=8, packed=b"\3\0", extra=magic))
    manifest = entry("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nCreated-By: 17.0.11\r\n\r\n", **java)
    yield from map(streamed, squeezed(manifest))
    yield from map(streamed, squeezed(entry("green-tea.md", GREEN.data, **java)))
    yield entry("logs/", b"", **java, version=10)
    yield from map(streamed, squeezed(entry("seasoning.md", SEASONING.data, **java)))


def others() -> Archives:
    """What many of them do now and then."""
    files = pages_and_more()
    yield "valid/a-1-zip64-at-the-end", with_zip64_end(make_zip(*files))
    wide = [
        item._replace(listed={"size": WIDE, "packed_size": WIDE, "extra": sizes(len(item.data), len(item.content))})
        for item in files
    ]
    yield "valid/a-1-zip64-in-the-directory", with_zip64_end(make_zip(*wide))
    bare = [streamed(item)._replace(after=descriptor(item)[4:]) for item in files]
    yield "valid/a-1-a-descriptor-without-its-signature", make_zip(*bare)
    yield "valid/a-1-without-a-time", make_zip(*pages_and_more(time=(1980, 0, 0, 0, 0, 0)))
    yield "valid/a-1-aligned", make_zip(*aligned(files))


def aligned(items: list[Entry]) -> Iterator[Entry]:
    """Entries whose data begin at multiples of four, as Android's tools place them."""
    place = 0
    for item in items:
        padding = bytes(-(place + len(local_header(item)) + 6) % 4)
        placed = item._replace(local={"extra": field(0xD935, struct.pack("<H", 4) + padding)})
        place += len(local_header(placed)) + len(placed.content)
        yield placed
