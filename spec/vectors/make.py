"""Writes the complete set of conformance vectors: plain files are copied, what git or file systems would spoil is made.

    python spec/vectors/make.py OUT          write all cases into the folder OUT, and check them against SHA256SUMS
    python spec/vectors/make.py --update     rewrite SHA256SUMS after a change
    python spec/vectors/make.py --coverage   print which cases keep and break each requirement

Needs Python 3.11 and nothing else. Every byte is the same on every machine: zips are put together here, by hand, since
zlib's output differs between versions, and of SQLite's databases the fields that hold SQLite's own version are blanked.
"""

from __future__ import annotations

import argparse
import bz2
import hashlib
import json
import shutil
import sqlite3
import struct
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from elsewhere import hostile, real_world
from parts import GLUE, PAN, SVG, TEA, Entry, Note, entry, frontmatter, make_zip, moment, page

HERE = Path(__file__).resolve().parent
SUMS = HERE / "SHA256SUMS"


class Link(NamedTuple):
    """A symbolic link. Where the file system has none (Windows, often), the case that holds it is left out."""

    target: str


# indexes

PAGES_TABLE = """
    CREATE TABLE pages (filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL, last_modified DATETIME NOT NULL,
                        sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL);
"""
NOMIC, MINILM = ("nomic-embed-text-v1.5.sqlite3", 768), ("all-MiniLM-L6-v2.sqlite3", 384)


def vector(number: int, dimensions: int) -> bytes:
    """A unit vector: one at the place of this number, else zeros."""
    values = [0.0] * dimensions
    values[number] = 1.0
    return struct.pack(f"<{dimensions}f", *values)


class Row(NamedTuple):
    """A row of the table `pages`."""

    filename: str
    frontmatter: str
    last_modified: str
    sha256_hash: bytes
    embedding: bytes


def row(name: str, text: str, note: Note, number: int, dimensions: int, time: str = "") -> Row:
    """A page's row as it should be."""
    time = (time or note.updated).replace("Z", ".000000Z")
    return Row(name, frontmatter(note), time, hashlib.sha256(text.encode()).digest(), vector(number, dimensions))


def make_index(*rows: tuple[object, ...], schema: str = PAGES_TABLE, after: str = "") -> bytes:
    """An SQLite file with these rows, in which `after` was executed then."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "index.sqlite3"
        connection = sqlite3.connect(file, isolation_level=None)
        connection.executescript("PRAGMA page_size = 4096; PRAGMA journal_mode = DELETE; PRAGMA auto_vacuum = NONE;")
        # Without secure_delete, what happened to lie in memory fills the gaps of the file.
        connection.executescript("PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;" + schema)
        for one in rows:
            connection.execute(f"INSERT INTO pages VALUES ({', '.join('?' * len(one))})", one)
        connection.executescript(after)
        connection.close()
        content = bytearray(file.read_bytes())
    content[24:28] = content[92:96] = struct.pack(">I", 1)  # how often it was changed, twice
    content[96:100] = struct.pack(">I", 3_040_000)  # which SQLite wrote it
    return bytes(content)


def with_free_page(database: bytes, left: str) -> bytes:
    """A database of which a page is free, and still holds what was deleted. (Each SQLite leaves something else.)"""
    count = len(database) // 4096 + 1
    header = bytearray(database)
    header[28:40] = struct.pack(">III", count, count, 1)  # pages; the first free one; how many are free
    return bytes(header) + (struct.pack(">II", 0, 0) + left.encode()).ljust(4096, b"\0")


# the special files


Files = Iterator[tuple[str, bytes | str | Link]]


def in_field(case: str, **files: bytes | str) -> Files:
    """The files of a folder, `green_tea` for green-tea.md."""
    for name, content in files.items():
        yield f"{case}/field/{name.replace('_', '-')}.md", content


def text() -> Files:
    """Pages whose bytes or characters git, an editor or a reviewer would not see or keep."""
    tea, pan, glue = page(TEA), page(PAN), page(GLUE)
    latin = page(TEA, body=TEA.body.replace("three sorts", "drei Geschäften")).encode("latin-1")
    yield from in_field("invalid/p-1-latin-1", green_tea=latin)
    yield from in_field("invalid/p-1-utf-16", green_tea=tea.encode("utf-16-le").join([b"\xff\xfe", b""]))
    yield from in_field("invalid/p-5-long-page", altitude_boiling=page(GLUE, body=long_body(220_000)))
    yield from in_field("invalid/p-9-byte-order-mark", green_tea="\ufeff" + tea)
    yield from in_field("invalid/p-9-above-prose", green_tea="\ufeff# Green tea\n" + TEA.body)
    yield from in_field("invalid/p-10-escape", seasoning=pan.replace("smokes", "\x1b[31msmokes\x1b[0m"))
    yield from in_field("invalid/p-10-nul", seasoning=pan.replace("oil", "oil\0"))
    control = "\nSet it to 40\x7f degrees.\nWait.\fThen\x9b dry it.\nA tab\tis none.\n\nSource: tried, 2025.\n"
    yield from in_field("invalid/p-10-others", seasoning=page(PAN, body=control))
    yield from in_field("invalid/p-10-a-c1-control", seasoning=pan.replace("oil", "\x9boil"))
    yield from in_field("invalid/p-10-no-line-ends", seasoning=page(PAN, body=NO_LINE_ENDS))
    separated = f"note: of April\u2028---\u2028\n\nThe oil is in [its page](oil.md).\n{PAN.body}"
    yield from in_field("invalid/f-7-a-separator-is-no-line-end", seasoning=pan.split("---\n\n")[0] + separated)
    yield from in_field("valid/r-7-cr-lf", green_tea=tea.replace("\n", "\r\n"))
    yield from in_field("valid/r-7-cr", green_tea=tea.replace("\n", "\r"))
    mixed = "\nThe first line.\nThe second, from elsewhere.\r\nThe third.\n\nSource: a mail, 2025.\n"
    yield from in_field("valid/r-7-one-line", green_tea=page(TEA, body=mixed))
    yield from in_field("invalid/f-20-cr-lf", green_tea=tea.replace(f'"{TEA.title}"', "Re: tea").replace("\n", "\r\n"))
    filler = "".join(f"measured-{number}: {number * 7 % 101} degrees\n" for number in range(200_000))
    yield from in_field("invalid/s-5-five-megabytes", green_tea=page(TEA, filler.rstrip("\n")))
    yield from in_field("invalid/s-6-zero-width", seasoning=pan.replace("smokes", "smo\u200bkes\ufeff"))
    yield from in_field("invalid/s-6-in-the-title", seasoning=pan.replace("steel", "st\u2060eel"))
    yield from in_field("invalid/s-6-bidi-override", seasoning=pan.replace("three times", "\u202esemit eerht\u202c"))
    tags = "".join(chr(0xE0000 + ord(char)) for char in "add salt")
    yield from in_field("invalid/s-6-tag-characters", seasoning=pan.replace("times.", "times." + tags))
    hidden = "".join(chr(0xE0100 + byte - 16) for byte in b"add salt")
    yield from in_field("invalid/s-6-variation-selectors", seasoning=pan.replace("times.", "times." + hidden))
    yield from in_field(
        "invalid/s-6-private-use", seasoning=pan.replace("oil", "\ue000 oil").replace("April", "\U000f0001")
    )
    in_place = (
        "\nHearts \u2764\ufe0f and a keycap 1\ufe0f\u20e3, a family "
        "\U0001f469\u200d\U0001f469\u200d\U0001f467, Persian "
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645, Hebrew \u05ea\u05d4.\n\nSource: tried, 2025.\n"
    )
    yield from in_field("valid/s-6-in-their-place", green_tea=page(TEA, body=in_place))
    yield from in_field("valid/s-6-flags-and-joiners", green_tea=page(TEA, body=JOINED))
    yield from in_field("invalid/s-6-out-of-place", green_tea=page(TEA, body=OUT_OF_PLACE))
    key = "".join(hashlib.sha256(f"no key {number}".encode()).hexdigest() + "\n" for number in range(6))
    kind = "RSA PRIVATE KEY"  # in parts, so that no scanner stumbles over this file
    secret = f"\nThe door's key:\n\n-----BEGIN {kind}-----\n{key}-----END {kind}-----\n\nSource: the door.\n"
    yield from in_field("invalid/s-7-private-key", wood_glue=page(GLUE, body=secret))
    token = "ghp" + "_" + "1a2B3c4D5e6F7g8H9i0JkLmNoPqRsTuVwXyZ"
    yield from in_field("invalid/s-7-token", wood_glue=page(GLUE, body=f"\nThe token is {token}.\n\nSource: a mail.\n"))
    yield from in_field("invalid/p-12-link-into-nowhere", green_tea=tea)
    yield "invalid/p-12-link-into-nowhere/field/seasoning.md", Link("gone.md")
    yield from in_field("invalid/s-1-link-that-leads-outside", green_tea=tea)
    yield "invalid/s-1-link-that-leads-outside/field/seasoning.md", Link("../outside.md")
    yield "invalid/s-1-link-that-leads-outside/outside.md", pan
    yield from in_field("valid/s-1-link-within-the-field", green_tea=tea)
    yield "valid/s-1-link-within-the-field/field/notes.txt", glue
    yield "valid/s-1-link-within-the-field/field/wood-glue.md", Link("notes.txt")
    debris = "valid/a-11-debris-in-capitals/field"
    yield f"{debris}/green-tea.md", tea
    yield f"{debris}/tea.SYNC-CONFLICT-1.txt", "In capitals this is a file like any other.\n"
    yield from ((f"{debris}/{name}", "x") for name in ("Desktop.ini", "thumbs.DB", ".ds_store"))


NO_LINE_ENDS = (
    "\nHeat it.\fWipe it.\x0bThree times.\n"
    "Let it\x85cool.\n\nThe oil is in [its page](oil.md).\n\nSource: tried, 2025.\n"
)
JOINED = (
    "\nFlags: \U0001f1ef\U0001f1f5, \U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f, "
    "\U0001f3f3\ufe0f\u200d\U0001f308. A cook \U0001f469\U0001f3fd\u200d\U0001f373, a heart on fire "
    "\u2764\ufe0f\u200d\U0001f525, a runner \U0001f3c3\u200d\u2640\ufe0f, Hindi \u0915\u094d\u200d\u0937, Sinhala "
    "\u0dc1\u0dca\u200d\u0dbb\u0dd3, a keycap #\ufe0f\u20e3, a soft hy\u00adphen.\n\nSource: tried, 2025.\n"
)

OUT_OF_PLACE = (
    "\nA joiner in ste\u200dam,\na selector after oil\ufe0f,\ntwo joiners in \U0001f469\u200d\u200d\U0001f373,\n"
    "a flag without an end \U0001f3f4\U000e0067\U000e0062,\na soft hyphen\u00ad at the end of a word,\n"
    "a grapheme joiner\u034f after a letter.\n\nSource: tried, 2025.\n"
)


def long_body(size: int) -> str:
    """A body of about so many bytes."""
    lines = [f"At {metres:,} m water boils at {100 - metres / 300:.2f} degrees.\n" for metres in range(0, size // 40)]
    return "\n" + "".join(lines) + "\nSource: one degree for 300 m, computed.\n"


def twins() -> Files:
    """Names in a folder that some file systems take for one."""
    tea, glue = page(TEA), page(GLUE)
    for case, first, second in (
        ("invalid/c-8-case", "Burner.svg", "burner.svg"),
        ("invalid/c-8-normal-form", "cafe\u0301.svg", "caf\u00e9.svg"),
        ("valid/c-8-debris-in-capitals", "Desktop.ini", "desktop.ini"),
    ):
        yield from in_field(case, green_tea=tea)
        yield f"{case}/field/{first}", SVG
        yield f"{case}/field/{second}", SVG
    yield from in_field("invalid/c-8-pages", green_tea=tea)
    yield "invalid/c-8-pages/field/Green-Tea.md", glue


DEFLATED = bytes.fromhex(
    "558fb16ec3300c44777d05e19d06255b76aba540b3646fa66eb22539429c289068e4f7cb025d0a7021dee1e10e111567dea383ee5c5e"
    "702d0cb9015f23bc3cc70aa954d86a8c0fe0e83f3a751c393858ccb0d8c17b3453201cad5ed0af86704a21ccb34ed624abd61a4521e9"
    "ce90b14803eaf142ef4e1b37d2b7a89ee11f9733173db9811c59e128ddd44cc005de0842fcadd1e014f7968fd6c367c97b7e6c7f3def"
    "fe2630332c99e5ef95fa2a475d65d7d3af37bf092c497689035aa9dc7af503"
)
"""The page TEA, deflated once and for all."""


def archives() -> Files:
    """Zips, sound and otherwise."""
    tea, pan = page(TEA), page(PAN)
    green, seasoning = entry("green-tea.md", tea), entry("seasoning.md", pan)
    sound = make_zip(green, seasoning)

    def archive(case: str, *entries: Entry, name: str = "field.memoryfield.zip") -> tuple[str, bytes]:
        return f"{case}/{name}", make_zip(*entries)

    yield archive("valid/a-1-stored", green, seasoning, entry("pan.svg", SVG))
    yield archive("valid/a-4-deflated", green._replace(method=8, packed=DEFLATED), seasoning)
    yield archive(
        "valid/a-3-folders-beside-the-pages", green, entry("logs/", b"", mode=0o40755), entry("logs/a.txt", "x\n")
    )
    yield archive(
        "valid/c-5-debris-in-an-archive", green, entry(".DS_Store", "x"), entry("__MACOSX/._green-tea.md", "x")
    )
    yield archive("valid/p-2-device-names", entry("con.md", tea), entry("nul.md", pan))
    yield "invalid/a-1-no-zip/field.memoryfield.zip", b"This was meant to be a zip.\n"
    yield "invalid/a-1-cut-off/field.memoryfield.zip", sound[:-40]
    yield archive("invalid/a-1-wrong-checksum", green, seasoning._replace(crc=0))
    yield archive("invalid/a-2-another-name", green, seasoning, name="kitchen.zip")
    yield archive("invalid/a-2-in-capitals", green, seasoning, name="kitchen.Memoryfield.zip")
    yield archive(
        "invalid/a-3-a-folder-in-the-archive", entry("kitchen/green-tea.md", tea), entry("kitchen/seasoning.md", pan)
    )
    beside = entry("readme.txt", "What is in the folder.\n")
    yield archive("invalid/a-3-a-folder-beside-a-file", entry("kitchen/green-tea.md", tea), beside)
    bzip2 = bz2.compress(pan.encode())  # which has given the same bytes for ever
    yield archive("invalid/a-4-another-method", green, seasoning._replace(method=12, packed=bzip2))
    yield archive("invalid/p-2-other-scripts", entry("k\u00e4se.md", pan), entry("\u8336.md", tea))
    yield archive("invalid/p-2-signs", entry("tea at 10:30.md", tea), entry("what?.md", pan))
    yield from many_pages()


def many_pages() -> Files:
    """Fields of about a hundred pages, where an index is asked for."""
    pages = [
        (f"miles-{number:03}.md", Note(
            f"How far are {number} miles?", f"00000000-0000-4000-a000-{number:012}", TEA.created, TEA.updated,
            f"\n{number} miles are {number * 1.609344:.2f} km.\n\nSource: a mile is 1,609.344 m.\n",
        ))
        for number in range(2, 102)
    ]  # fmt: skip
    entries = [entry(name, page(note)) for name, note in pages]
    name, size = MINILM
    rows = [row(file, page(note), note, number, size) for number, (file, note) in enumerate(pages)]
    yield "valid/x-1-ninety-nine-pages/field.memoryfield.zip", make_zip(*entries[:99])
    yield "invalid/x-1-a-hundred-pages/field.memoryfield.zip", make_zip(*entries)
    yield "valid/x-1-a-hundred-pages/field.memoryfield.zip", make_zip(entry(name, make_index(*rows)), *entries)


def reproducible() -> Files:
    """Archives whose packer meant them to be reproducible."""
    tea, pan = page(TEA), page(PAN)
    name, size = NOMIC
    green = entry("green-tea.md", tea, time=moment(TEA.updated))
    seasoning = entry("seasoning.md", pan, time=moment(PAN.updated))
    svg = entry("pan.svg", SVG)
    rows = row("green-tea.md", tea, TEA, 0, size, "2025-05-02T16:30:04Z"), row("seasoning.md", pan, PAN, 1, size)
    index = entry(name, make_index(*rows))

    def packed(case: str, *entries: Entry, comment: bytes = b"") -> tuple[str, bytes]:
        return f"{case}/field.memoryfield.zip", make_zip(*entries, comment=comment)

    umlaut = entry("s\u00fc\u00df.svg", SVG)
    yield packed("valid/a-6-reproducible", green, index, svg, seasoning, umlaut)
    old = TEA._replace(created="1971-03-01T10:00:00Z", updated="1971-03-02T10:00:00Z")
    yield packed("valid/a-7-before-1980", entry("green-tea.md", page(old)), seasoning)
    yield packed("invalid/a-6-order-of-a-folder", seasoning, green)
    yield packed("invalid/a-6-comment", green, seasoning, comment=b"packed on a Friday")
    stamp = struct.pack("<HHBI", 0x5455, 5, 1, 1_746_203_405)
    yield packed("invalid/a-6-extra-field", green, seasoning._replace(extra=stamp))
    yield packed("invalid/a-6-name-not-flagged", green, umlaut._replace(flags=0))
    yield packed("invalid/a-7-time-of-the-file", green._replace(time=(2025, 11, 3, 8, 14, 22)), seasoning)
    yield packed("invalid/a-7-another-file-with-a-time", green, svg._replace(time=(2025, 11, 3, 8, 14, 22)))
    yield packed("invalid/a-8-mode-of-the-file", green, seasoning._replace(mode=0o100600))
    yield packed("invalid/a-9-debris", entry(".DS_Store", "x"), green, seasoning)
    yield packed("invalid/a-9-a-folder", green, entry("logs/a.txt", "x\n"), seasoning)
    yield packed("invalid/a-10-rows-in-another-order", green, entry(name, make_index(*reversed(rows))), seasoning)
    other = [one._replace(last_modified="2025-11-03T08:14:22.251731Z") for one in rows]
    yield packed("invalid/a-10-times-of-the-files", green, entry(name, make_index(*other)), seasoning)
    lived = with_free_page(make_index(*rows), "wood-glue.md" + frontmatter(GLUE))
    yield packed("invalid/a-10-a-database-that-has-lived", green, entry(name, lived), seasoning)


def indexes() -> Files:
    """Vector indexes beside pages, in folders and archives."""
    tea, pan, glue = page(TEA), page(PAN), page(GLUE)
    name, size = NOMIC
    rows = row("green-tea.md", tea, TEA, 0, size), row("seasoning.md", pan, PAN, 1, size)
    sound = make_index(*rows)

    def folder(case: str, **files: bytes) -> Files:
        yield from in_field(case, green_tea=tea, seasoning=pan)
        for model, content in files.items():
            yield f"{case}/field/{model}", content

    def archive(case: str, content: bytes, file: str = name) -> tuple[str, bytes]:
        entries = entry("green-tea.md", tea), entry(file, content), entry("seasoning.md", pan)
        return f"{case}/field.memoryfield.zip", make_zip(*entries)

    yield from folder("valid/x-2-an-index-of-nomic", **{name: sound})
    small = [one._replace(embedding=vector(number, MINILM[1])) for number, one in enumerate(rows)]
    more = "CREATE TABLE memo (words TEXT); INSERT INTO memo VALUES ('tables of one''s own may be there');"
    yield from folder("valid/x-3-two-indexes", **{name: sound, MINILM[0]: make_index(*small, after=more)})
    yield archive("valid/x-9-an-archive-with-its-index", sound)
    entries = entry("empty.md", b""), entry("green-tea.md", tea), entry(name, sound), entry("seasoning.md", pan)
    yield "invalid/p-8-empty-beside-an-index/field.memoryfield.zip", make_zip(*entries)
    liar = rows[0]._replace(frontmatter='{"title": "How hot is the water for black tea?"}')
    yield archive("valid/x-11-an-index-that-tells-otherwise", make_index(liar, rows[1]))
    yield from folder("invalid/x-11-answered-from-the-index", **{name: make_index(liar, rows[1])})
    trigger = "CREATE TABLE seen (name TEXT);" + "".join(
        f"CREATE TRIGGER on_{verb} AFTER {verb} ON pages BEGIN INSERT INTO seen VALUES ('{verb}'); END;"
        for verb in ("INSERT", "UPDATE", "DELETE")
    )
    yield archive("invalid/x-6-triggers", make_index(*rows, after=trigger))
    yield from folder("invalid/x-3-name-without-version", **{"nomic-embed-text.sqlite3": sound})
    yield from folder("invalid/x-3-no-model-in-the-name", **{"index.sqlite3": sound})
    table = (
        "CREATE TABLE vectors (name TEXT, embedding BLOB); INSERT INTO vectors VALUES ('green-tea.md', x'0000803f');"
    )
    yield from folder("invalid/x-6-no-table-of-pages", **{name: make_index(schema=table)})
    timeless = PAGES_TABLE.replace("last_modified DATETIME NOT NULL,", "")
    without = [(one.filename, one.frontmatter, one.sha256_hash, one.embedding) for one in rows]
    yield from folder("invalid/x-6-a-column-is-missing", **{name: make_index(*without, schema=timeless)})
    short = rows[1]._replace(embedding=vector(1, 384))
    yield from folder("invalid/x-7-two-lengths", **{name: make_index(rows[0], short)})
    yield from folder("invalid/x-7-another-models-length", **{name: make_index(*small)})
    ragged = rows[1]._replace(embedding=rows[1].embedding[:-3])
    yield from folder("invalid/x-7-not-whole-numbers", **{name: make_index(rows[0], ragged)})
    gone = row("wood-glue.md", glue, GLUE, 2, size)
    yield from folder("invalid/x-8-a-page-that-is-gone", **{name: make_index(*rows, gone)})
    yield archive("invalid/x-8-gone-in-an-archive", make_index(*rows, gone))
    case, no_page = "invalid/x-8-a-file-that-is-no-page", gone._replace(filename="wood-glue.txt")
    yield from folder(case, **{name: make_index(*rows, no_page), "wood-glue.txt": glue.encode()})
    stale = rows[1]._replace(sha256_hash=hashlib.sha256(b"as it was in April").digest())
    yield archive("invalid/x-9-behind-its-pages", make_index(rows[0], stale))
    yield archive("invalid/x-9-a-page-is-missing", make_index(rows[0]))
    yield from folder("invalid/x-10-no-database", **{name: b"This was meant to be a database.\n"})
    yield from folder("invalid/x-10-cut-off", **{name: sound[: len(sound) // 2]})
    yield from folder("valid/r-8-behind-its-pages", **{name: make_index(rows[0], stale)})
    yield from folder("valid/r-8-a-page-is-missing", **{name: make_index(rows[0])})
    yield from timed(tea, pan, rows, name)


def timed(tea: str, pan: str, rows: tuple[Row, ...], name: str) -> Files:
    """Indexes whose times are compared with what the transport tells (`times` in expect.json)."""
    for case, time in (
        ("valid/t-1-time-of-the-file", "2025-05-02T16:31:00.000000Z"),
        ("invalid/t-1-time-of-indexing", "2025-11-03T08:14:22.251731Z"),
        ("valid/t-2-time-of-the-commit", "2025-05-02T16:32:10.000000Z"),
        ("invalid/t-2-time-of-the-checkout", "2025-11-03T08:14:22.000000Z"),
        ("valid/t-3-time-of-the-listing", "2025-05-02T16:35:00.000000Z"),
        ("invalid/t-3-time-of-the-download", "2025-11-03T08:14:22.000000Z"),
    ):
        yield from in_field(case, green_tea=tea, seasoning=pan)
        dated = [one._replace(last_modified=time) for one in rows]
        yield f"{case}/field/{name}", make_index(*dated)


def changes() -> Files:
    """Indexes before and after a change."""
    tea, glue = page(TEA), page(GLUE)
    name, size = NOMIC
    green, wood = row("green-tea.md", tea, TEA, 0, size), row("wood-glue.md", glue, GLUE, 1, size)
    words = (
        "CREATE TABLE words (filename TEXT, text TEXT);"
        "INSERT INTO words VALUES ('wood-glue.md', 'half hour clamped bears load');"
    )
    without_row = words + "DELETE FROM pages WHERE filename = 'wood-glue.md';"
    without_both = without_row + "DELETE FROM words;"
    both, clean = make_index(green, wood, after=words), make_index(green, wood, after=without_both + "VACUUM;")
    for case, after in (
        ("valid/x-13-deleted-with-its-rows", clean),
        ("invalid/x-13-its-row-is-still-there", both),
        ("invalid/x-13-its-words-are-still-there", make_index(green, wood, after=without_row + "VACUUM;")),
        ("valid/s-12-deleted-for-good", clean),
        ("invalid/s-12-left-in-free-pages", with_free_page(clean, "wood-glue.md" + frontmatter(GLUE))),
    ):
        yield f"{case}/before/green-tea.md", tea
        yield f"{case}/before/wood-glue.md", glue
        yield f"{case}/before/{name}", both
        yield f"{case}/after/green-tea.md", tea
        yield f"{case}/after/{name}", after
    touched = green._replace(last_modified="2025-11-03T08:14:22.000000Z")
    anew = touched._replace(embedding=vector(1, size))
    for case, then in (("valid/t-4-touched-and-not-changed", touched), ("invalid/t-4-embedded-anew", anew)):
        for state, one in (("before", green), ("after", then)):
            yield f"{case}/{state}/green-tea.md", tea
            yield f"{case}/{state}/{name}", make_index(one)
    trap = (
        "CREATE TABLE seen (name TEXT);"
        "CREATE TRIGGER spy AFTER INSERT ON pages BEGIN INSERT INTO seen VALUES (new.filename); END;"
    )
    ran = "INSERT INTO seen VALUES ('wood-glue.md');"
    for case, done in (("valid/s-10-a-trigger-did-not-run", trap), ("invalid/s-10-a-trigger-ran", trap + ran)):
        yield f"{case}/before/green-tea.md", tea
        yield f"{case}/before/{name}", make_index(green, after=trap)
        yield f"{case}/after/green-tea.md", tea
        yield f"{case}/after/wood-glue.md", glue
        yield f"{case}/after/{name}", make_index(green, wood, after=done)


def specials() -> Files:
    """Every special file: its path below OUT, and what it is."""
    for group in (text, twins, archives, hostile, real_world, reproducible, indexes, changes):
        yield from group()


# writing and checking


def write(out: Path) -> list[str]:
    """Write every case into the folder `out`; the cases that were left out, since this file system cannot hold them."""
    for kind in ("valid", "invalid"):
        shutil.copytree(HERE / kind, out / kind, dirs_exist_ok=True)
    left_out = []
    for name, content in specials():
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(content, Link):
            target.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
            continue
        try:
            target.unlink(missing_ok=True)
            target.symlink_to(content.target)
        except (OSError, NotImplementedError):
            left_out.append("/".join(name.split("/")[:2]))
    left_out += missing(out, set(left_out))
    for case in left_out:
        shutil.rmtree(out / case)
    return left_out


def missing(out: Path, left_out: set[str]) -> list[str]:
    """The cases of which the file system took two names for one, or changed a name."""
    folders: dict[Path, set[str]] = {}
    found = set()
    for name, _ in specials():
        target, case = out / name, "/".join(name.split("/")[:2])
        if case not in left_out and target.name not in folders.setdefault(target.parent, names_in(target.parent)):
            found.add(case)
    return sorted(found)


def names_in(folder: Path) -> set[str]:
    """The names in a folder, as the file system has them."""
    return {file.name for file in folder.iterdir()}


def sums(out: Path) -> dict[str, str]:
    """The SHA-256 of every file below a folder but the expectations; of a link, that of its target's name."""
    found = {}
    for file in sorted(out.rglob("*")):
        if file.is_symlink():
            content = file.readlink().as_posix().encode()
        elif file.is_file() and file.name != "expect.json":
            content = file.read_bytes()
        else:
            continue
        found[file.relative_to(out).as_posix()] = hashlib.sha256(content).hexdigest()
    return found


def listed() -> dict[str, str]:
    """What SHA256SUMS says."""
    lines = SUMS.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}


def differences(out: Path, left_out: list[str]) -> list[str]:
    """How the files differ from SHA256SUMS."""
    found, wanted = sums(out), listed()
    names = sorted(found.keys() | wanted.keys())
    return [
        f"{name}: {'is missing' if name not in found else 'is not listed' if name not in wanted else 'differs'}"
        for name in names
        if found.get(name) != wanted.get(name) and "/".join(name.split("/")[:2]) not in left_out
    ]


def coverage() -> dict[str, tuple[list[str], list[str]]]:
    """For each requirement the cases that keep it and those that break it."""
    table: dict[str, tuple[list[str], list[str]]] = {}
    for file in sorted(HERE.glob("*valid/*/expect.json")):
        expected = json.loads(file.read_text(encoding="utf-8"))
        case = f"{file.parent.parent.name}/{file.parent.name}"
        for column, key in enumerate(("keeps", "breaks")):
            for requirement in expected.get(key, []):
                table.setdefault(requirement, ([], []))[column].append(case)
    return dict(sorted(table.items(), key=lambda item: (item[0][0], int(item[0].split("-")[1]))))


def update() -> None:
    """Rewrite SHA256SUMS."""
    with tempfile.TemporaryDirectory() as folder:
        if write(Path(folder)):
            sys.exit("this file system cannot hold every case: SHA256SUMS was not touched")
        lines = [f"{digest}  {name}\n" for name, digest in sums(Path(folder)).items()]
    SUMS.write_bytes("".join(lines).encode("utf-8"))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", nargs="?", type=Path, help="the folder to write into")
    parser.add_argument("--update", action="store_true", help="rewrite SHA256SUMS")
    parser.add_argument("--coverage", action="store_true", help="print which cases keep and break each requirement")
    given = parser.parse_args()
    if given.coverage:
        for requirement, (kept, broken) in coverage().items():
            print(f"{requirement:5} kept by {', '.join(kept) or '-'}; broken by {', '.join(broken) or '-'}")
    if given.update:
        update()
    if given.out is None:
        if not (given.coverage or given.update):
            parser.error("name a folder to write into")
        return
    if given.out.resolve().is_relative_to(HERE.resolve()) or (given.out.exists() and not given.out.is_dir()):
        parser.error(f"{given.out} is no folder outside of these vectors")
    left_out = write(given.out)
    for case in left_out:
        print(f"{case} was left out: this file system cannot hold it", file=sys.stderr)
    if wrong := differences(given.out, left_out):
        sys.exit("\n".join(wrong))
    print(f"{given.out}: {sum(1 for _ in given.out.glob('*/*/expect.json'))} cases, every file as SHA256SUMS has it")


if __name__ == "__main__":
    main()
