"""The gate: an archive that programs would read differently, or that is too much, is refused; real ones are welcome.

The vectors of spec/vectors hold many more hostile archives; here is what each rule is about, and what fuzzing finds.
"""

from __future__ import annotations

import io
import json
import shutil
import struct
import subprocess
import sys
import textwrap
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryfield import Field
from memoryfield.containers import Limits, gate, records
from memoryfield.containers.archive import ArchiveContainer
from memoryfield.errors import ArchiveError, MemoryfieldError, UnsafeArchiveError

from .zips import WIDE, Part, build, deflate, descriptor, extra, streamed, unicode_path, with_zip64_end, zip64

WOKS = Part(b"woks.md", b"# Woks\n\nCarbon steel heats evenly.\n")
PANS = Part(b"pans.md", b"# Pans\n\n" + b"Cast iron keeps its heat. " * 30, deflated=True)
PHOTO = Part(b"photo.jpg", bytes(range(256)))
SOUND = build(WOKS, PANS, PHOTO)
MEGABYTE = 1 << 20
ZEROS = bytes(2 * MEGABYTE)


def written(tmp_path: Path, archive: bytes) -> Path:
    path = tmp_path / "notes.memoryfield.zip"
    path.write_bytes(archive)
    return path


def content(path: Path, limits: Limits | None = None, *, strict: bool = True) -> dict[str, bytes]:
    container = ArchiveContainer(path, limits or Limits(), strict=strict)
    try:
        return {entry.name: container.read(entry.name) for entry in container.entries()}
    finally:
        container.close()


def refusal(path: Path, limits: Limits | None = None) -> UnsafeArchiveError:
    with pytest.raises(UnsafeArchiveError) as caught:
        ArchiveContainer(path, limits or Limits())
    assert caught.value.exit_code == 3
    return caught.value


# welcome


WELCOME: dict[str, bytes] = {
    "plain": SOUND,
    "with a comment": build(WOKS, PANS, PHOTO, comment=b"Packed by hand."),
    "descriptors": build(streamed(WOKS), streamed(PANS), PHOTO),
    "descriptors without signature": build(streamed(WOKS, signed=False), streamed(PANS, signed=False), PHOTO),
    "wide descriptors": build(streamed(WOKS, wide=True), streamed(PANS, wide=True, signed=False), PHOTO),
    "descriptors, and sizes in the header": build(PANS._replace(flags=8, after=descriptor(PANS)), WOKS, PHOTO),
    "zip64 end": with_zip64_end(SOUND),
    "zip64 entry": build(
        WOKS,
        PANS,
        PHOTO._replace(
            local={"size": WIDE, "packed": WIDE, "extra": zip64(256, 256)},
            listed={"size": WIDE, "packed": WIDE, "extra": zip64(256, 256)},
        ),
    ),
    "zip64 in the header only": build(
        WOKS, PANS, PHOTO._replace(local={"size": WIDE, "packed": WIDE, "extra": zip64(256, 256)})
    ),
    "zip64 offset only": build(WOKS._replace(listed={"offset": WIDE, "extra": zip64(0)}), PANS, PHOTO),
    "zip64, not needed": build(
        WOKS, PANS, PHOTO._replace(local={"extra": zip64(256, 256)}, listed={"extra": zip64(256, 256)})
    ),
    "zip64, streamed": build(
        WOKS,
        PANS,
        PHOTO._replace(
            flags=8,
            local={"crc": 0, "size": WIDE, "packed": WIDE, "extra": zip64(0, 0)},
            after=descriptor(PHOTO, wide=True),
        ),
    ),
    "a time as Info-ZIP has it": build(
        WOKS._replace(
            local={"extra": extra(0x5455, b"\x03" + bytes(8))}, listed={"extra": extra(0x5455, b"\x03" + bytes(4))}
        ),
        PANS,
        PHOTO,
    ),
    "a unicode path that is the name": build(WOKS._replace(extra=unicode_path(b"woks.md", "woks.md")), PANS, PHOTO),
    "a unicode path of another name": build(WOKS._replace(extra=unicode_path(b"other", "../up.md")), PANS, PHOTO),
    "Java's mark": build(WOKS._replace(local={"extra": extra(0xCAFE, b"")}), PANS, PHOTO),
    "extra bytes that are no field": build(WOKS._replace(extra=b"\x00\x00\x00"), PANS, PHOTO),
    "flagged in one place only": build(WOKS._replace(local={"flags": 0x800}), PANS, PHOTO),
    "a descriptor's flag in the header only": build(
        WOKS._replace(local={"flags": 8, "crc": 0, "size": 0, "packed": 0}, after=descriptor(WOKS)), PANS, PHOTO
    ),
}


@pytest.mark.parametrize("kind", WELCOME)
def test_what_is_odd_and_sound_is_read(tmp_path: Path, kind: str) -> None:
    path = written(tmp_path, WELCOME[kind])
    assert content(path) == {"woks.md": WOKS.data, "pans.md": PANS.data, "photo.jpg": PHOTO.data}
    if kind != "extra bytes that are no field":  # which zipfile cannot read
        assert zipfile.ZipFile(path).testzip() is None


def test_a_name_in_an_old_code_page_is_the_one_that_its_unicode_path_says(tmp_path: Path) -> None:
    name = b"\x92Y\x91f.md"  # in Shift JIS
    archive = build(WOKS, Part(name, b"text", extra=unicode_path(name, "炭素.md")))
    assert content(written(tmp_path, archive)) == {"woks.md": WOKS.data, "炭素.md": b"text"}


@pytest.mark.skipif(shutil.which("jar") is None, reason="there is no Java")
@pytest.mark.parametrize("options", ["-cf", "-cMf", "-cM0f"])
def test_what_jar_makes_is_read(tmp_path: Path, options: str) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for part in (WOKS, PANS):
        (folder / part.name.decode()).write_bytes(part.data)
    subprocess.run(["jar", options, "../notes.zip", "."], cwd=folder, check=True)
    assert content(tmp_path / "notes.zip") == {"woks.md": WOKS.data, "pans.md": PANS.data}


@pytest.mark.skipif(shutil.which("zip") is None, reason="there is no zip program")
@pytest.mark.parametrize("options", [["-r"], ["-r", "-fz"], ["-r", "-UN=UTF8"], ["-r", "-fd"], ["-r", "-fd", "-fz-"]])
def test_what_zip_makes_is_read_though_names_are_not_ascii(tmp_path: Path, options: list[str]) -> None:
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    (folder / "炭素.md").write_bytes(b"text")
    (folder / "sub" / "a.txt").write_bytes(b"deep")
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    subprocess.run(["zip", "-q", *options, "../notes.zip", "."], cwd=folder, check=True, env=environment)
    assert content(tmp_path / "notes.zip") == {"炭素.md": b"text"}


# refused


SIZED = with_zip64_end(SOUND)
LONG = WOKS._replace(data=WOKS.data + b"More.")
HOSTILE: dict[str, tuple[bytes, str, str]] = {
    "another name in its header": (build(WOKS, PANS._replace(local={"name": b"pots.md"})), "pans.md", "A-12"),
    "another method": (build(WOKS, PANS._replace(local={"method": 0})), "pans.md", "A-12"),
    "another checksum": (build(WOKS, PANS._replace(local={"crc": 1})), "pans.md", "A-12"),
    "no checksum": (build(WOKS, PANS._replace(local={"crc": 0})), "pans.md", "A-12"),
    "another size": (build(WOKS, PANS._replace(local={"size": 1})), "pans.md", "A-12"),
    "sizes in zip64 that differ": (
        build(WOKS, PHOTO._replace(local={"size": WIDE, "packed": WIDE, "extra": zip64(256, 257)})),
        "photo.jpg",
        "A-12",
    ),
    "zip64 that nobody asked for": (build(WOKS, PHOTO._replace(local={"extra": zip64(9, 9)})), "photo.jpg", "A-12"),
    "two zip64 fields": (build(WOKS, PHOTO._replace(extra=zip64(256, 256) * 2)), "photo.jpg", "A-12"),
    "zip64 that is read from its beginning or by its order": (
        build(
            WOKS,
            PHOTO._replace(listed={"packed": WIDE, "offset": WIDE, "extra": zip64(256, 256, 37 + len(WOKS.data))}),
        ),
        "photo.jpg",
        "A-12",
    ),
    "zip64 that is not there": (build(WOKS, PHOTO._replace(listed={"size": WIDE})), "photo.jpg", "A-12"),
    "a descriptor that differs": (build(streamed(PANS)._replace(after=descriptor(LONG)), WOKS), "pans.md", "A-12"),
    "a descriptor that is missing": (build(streamed(PANS)._replace(after=b""), WOKS), "pans.md", "A-12"),
    "another name in Unicode": (build(WOKS._replace(extra=unicode_path(b"woks.md", "x.md"))), "woks.md", "A-12"),
    "another name in Unicode, in its header": (
        build(WOKS._replace(local={"extra": unicode_path(b"woks.md", "../x.md")})),
        "woks.md",
        "A-12",
    ),
    "another name in Unicode, of version 0": (
        build(WOKS._replace(extra=extra(0x7075, b"\0" + unicode_path(b"woks.md", "x.md")[5:]))),
        "woks.md",
        "A-12",
    ),
    "a name in Unicode that is empty": (build(WOKS._replace(extra=unicode_path(b"woks.md", ""))), "woks.md", "A-12"),
    "a name in Unicode that is no UTF-8": (
        build(Part(b"w\xff.md", extra=extra(0x7075, unicode_path(b"w\xff.md", "")[4:] + b"\xff.md"))),
        "w\u00a0.md",
        "A-12",
    ),
    "a name in Unicode that is too long": (
        build(Part(b"w\xff.md", extra=unicode_path(b"w\xff.md", "w" * 300 + ".md"))),
        "w" * 300 + ".md",
        "S-1",
    ),
    "a page's name that is too long": (build(Part(b"w" * 300 + b".md")), "w" * 300 + ".md", "S-1"),
    "a disk's name": (build(WOKS, PANS._replace(dos=0x08)), "pans.md", "A-14"),
    "a link as Windows has it": (build(WOKS, PHOTO._replace(dos=0x400)), "photo.jpg", "A-14"),
    "a name that is not UTF-8": (build(WOKS, Part(b"\xff\xfe.md", flags=0x800)), "\u00a0\u25a0.md", "S-1"),
    "flags of encoding that differ": (
        build(WOKS, Part("é.md".encode(), local={"flags": 0x800})),
        "é.md",
        "A-12",
    ),
    "two names for one place": (build(WOKS, PANS._replace(listed={"offset": 0})), "pans.md", "A-12"),
    "into the next": (
        build(WOKS._replace(local={"packed": 50, "size": 50}, listed={"packed": 50, "size": 50}), PANS),
        "pans.md",
        "A-12",
    ),
    "beyond the directory": (
        build(WOKS, PHOTO._replace(local={"packed": 300, "size": 300}, listed={"packed": 300, "size": 300})),
        "photo.jpg",
        "A-12",
    ),
    "no header": (build(WOKS, PANS._replace(listed={"offset": 7})), "pans.md", "A-12"),
    "another disk": (build(WOKS, PANS._replace(listed={"disk": 1})), "pans.md", "A-12"),
    "bytes between": (build(WOKS, PANS._replace(before=b"hidden")), "pans.md", "A-12"),
    "bytes before": (b"hidden" + SOUND, "", "A-12"),
    "bytes before, counted": (build(WOKS._replace(before=b"hidden")), "", "A-12"),
    "bytes before the directory": (build(WOKS, between=b"hidden"), "", "A-12"),
    "bytes in an empty zip": (build(between=b"hidden"), "", "A-12"),
    "bytes after": (SOUND + b"hidden", "", "A-12"),
    "two zips": (build(PANS) + SOUND, "", "A-12"),
    "an end in the comment": (build(WOKS, comment=build()), "", "A-12"),
    "an end in the comment, not at its end": (build(WOKS, comment=build() + b"."), "", "A-12"),
    "the beginning of an end in the comment": (build(WOKS, comment=b"PK\x05\x06"), "", "A-12"),
    "fewer entries than listed": (build(WOKS, PANS, end={"here": 1, "count": 1}), "", "A-12"),
    "more entries than listed": (build(WOKS, PANS, end={"here": 3, "count": 3}), "", "A-12"),
    "many entries in a small directory": (build(WOKS, end={"here": 60_000, "count": 60_000}), "", "A-12"),
    "two counts": (build(WOKS, PANS, end={"here": 1}), "", "A-12"),
    "a part of several": (build(WOKS, end={"disk": 1, "first": 1}), "", "A-12"),
    "a directory before the file": (build(WOKS, end={"size": 1 << 30}), "", "A-12"),
    "a directory beyond the file": (build(WOKS, end={"offset": 1 << 30}), "", "A-12"),
    "another count in zip64": (with_zip64_end(SOUND, here=2, count=2), "", "A-12"),
    "two counts in zip64": (with_zip64_end(SOUND, here=2), "", "A-12"),
    "a zip64 end elsewhere": (with_zip64_end(SOUND, place=3), "", "A-12"),
    "a zip64 end at the end of all numbers": (with_zip64_end(SOUND, place=(1 << 64) - 56), "", "A-12"),
    "a zip64 directory beyond all numbers": (with_zip64_end(SOUND, offset=(1 << 64) - 1), "", "A-12"),
    "another size in zip64": (
        SIZED[:-10] + struct.pack("<L", 0xFFFF) + SIZED[-6:],  # which is no sign that the true one stands elsewhere
        "",
        "A-12",
    ),
    "zip64 of nothing that nobody asked for": (
        build(WOKS, PHOTO._replace(local={"extra": zip64(0, 0)})),
        "photo.jpg",
        "A-12",
    ),
    "zip64 disks": (with_zip64_end(SOUND, disks=2), "", "A-12"),
    "a longer zip64 end": (with_zip64_end(SOUND, size_of_it=45), "", "A-12"),
    "encrypted": (build(WOKS, PANS._replace(flags=1)), "pans.md", "A-4"),
    "strongly encrypted": (build(WOKS, PANS._replace(flags=0x41)), "pans.md", "A-4"),
    "a masked header": (build(WOKS, PANS._replace(flags=0x2000)), "pans.md", "A-4"),
    "encrypted in its header only": (build(WOKS, PANS._replace(local={"flags": 1})), "pans.md", "A-12"),
    "a patch": (build(WOKS, PANS._replace(flags=0x20)), "pans.md", "A-4"),
    "twice": (build(WOKS, PANS, WOKS._replace(data=b"other")), "woks.md", "A-5"),
    "twice, no page": (build(WOKS, PHOTO, PHOTO), "photo.jpg", "A-5"),
    "capitals": (build(WOKS, Part(b"WOKS.md")), "WOKS.md", "A-14"),
    "capitals first": (build(Part(b"WOKS.md"), WOKS), "woks.md", "A-14"),
    "capitals in a folder": (build(WOKS, Part(b"sub/A"), Part(b"sub/a")), "sub/a", "A-14"),
    "capitals of a folder": (build(Part(b"Sub/a"), WOKS, Part(b"sub/b")), "sub/b", "A-14"),
    "a file that is a folder": (build(WOKS, Part(b"woks.md/deep")), "woks.md/deep", "A-14"),
    "a file that is a folder, but for capitals": (build(Part(b"X"), Part(b"x/y/z"), WOKS), "x/y/z", "A-14"),
    "a folder with data": (build(WOKS, Part(b"sub/", b"data")), "sub/", "A-14"),
    "a folder with packed data": (build(WOKS, Part(b"sub/", deflated=True, packed=b"x" * 99)), "sub/", "A-14"),
    "a folder without its slash": (build(WOKS, Part(b"sub", mode=0o40755)), "sub", "A-14"),
    "a link": (build(WOKS, Part(b"pans.md", b"/etc/passwd", mode=0o120777)), "pans.md", "A-14"),
    "a link to a folder": (build(WOKS, Part(b"sub/", mode=0o120777)), "sub/", "A-14"),
    "a pipe": (build(WOKS, Part(b"pans.md", mode=0o010644)), "pans.md", "A-14"),
    "a control character": (build(WOKS, Part(b"a\x1b[2J.md")), "a\x1b[2J.md", "A-14"),
    "a C1 control character": (build(WOKS, Part("a\x9b.md".encode(), flags=0x800)), "a\x9b.md", "A-14"),
    "a NUL": (build(WOKS, Part(b"a.md\0.exe")), "a.md\0.exe", "A-14"),
    "absolute": (build(WOKS, Part(b"/etc/a.md")), "/etc/a.md", "S-1"),
    "above": (build(WOKS, Part(b"sub/../../a.md")), "sub/../../a.md", "S-1"),
    "a drive": (build(WOKS, Part(b"C:a.md")), "C:a.md", "S-1"),
    "a backslash": (build(WOKS, Part(b"..\\a.md")), "..\\a.md", "S-1"),
    "no name": (build(WOKS, Part(b"")), "", "S-1"),
    "a name that is too long": (build(WOKS, Part(b"a" * 300)), "a" * 300, "S-1"),
    "folders without end": (build(WOKS, Part(b"a/" * 100 + b"b")), "a/" * 100 + "b", "S-1"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_what_is_hostile_is_refused_and_a_validation_says_why(tmp_path: Path, kind: str) -> None:
    archive, entry, requirement = HOSTILE[kind]
    path = written(tmp_path, archive)
    error = refusal(path)
    assert error.entry == entry
    if len(entry) < 50:
        assert repr(entry) in error.message or not entry
    container = ArchiveContainer(path, strict=False)
    with Field(container) as field:
        found = {(fault.requirement, fault.filename) for fault in field.validate()}
        assert (requirement, entry) in found
        for name in set(container.names()) - container.blocked().keys():
            assert container.read(name) in {part.data for part in (WOKS, PANS, PHOTO)} | {b"other", b""}


def test_entries_that_share_one_header_do_not_each_cost_as_much_as_it_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred thousand entries at one place, each looked at as a whole, would be half an hour of work."""
    looked_at: list[int] = []
    fields = records._fields

    def noted(extra: bytes) -> list[tuple[bytes, bytes]]:
        looked_at.append(len(extra))
        return fields(extra)

    monkeypatch.setattr(records, "_fields", noted)
    shared = build(WOKS._replace(extra=unicode_path(b"", "") + extra(9, b"") * 16_000))
    shared = shared[: shared.index(b"PK\x01\x02")]
    listed = build(*(Part(b"page-%d.md" % number, listed={"offset": 0}) for number in range(100)))
    directory = listed[listed.index(b"PK\x01\x02") : -22]
    end = struct.pack("<4H2LH", 0, 0, 100, 100, len(directory), len(shared), 0)
    found = gate.survey(io.BytesIO(shared + directory + b"PK\x05\x06" + end), Limits())
    assert any(finding.entry == "page-99.md" for finding in found.findings)
    assert sum(looked_at) < 10 * len(shared)


def test_a_validation_looks_at_the_pages_that_can_be_trusted(tmp_path: Path) -> None:
    path = written(tmp_path, build(WOKS, PANS._replace(local={"crc": 1}), PHOTO))
    container = ArchiveContainer(path, strict=False)
    assert container.read("woks.md") == WOKS.data
    with pytest.raises(OSError, match=r"pans\.md"):
        container.read("pans.md")


# limits


def test_each_limit_is_kept_and_can_be_raised(tmp_path: Path) -> None:
    zeros = Part(b"zeros.bin", ZEROS, deflated=True)
    for archive, limits, said, enough in (
        (build(WOKS, PANS), Limits(entries=1), "entries=2", Limits(entries=2)),
        (build(PHOTO), Limits(entry=255), "entry=1M", Limits(entry=256)),
        (build(PHOTO, WOKS), Limits(total=256), "total=1M", Limits(total=1 << 20)),
        (build(zeros), Limits(), "ratio=1", Limits(ratio=1032)),  # a thousand and some; deflate can no more
    ):
        path = written(tmp_path, archive)
        error = refusal(path, limits)
        assert f"--allow {said}" in error.hint
        content(path, enough)


def test_all_that_must_be_raised_is_said_at_once(tmp_path: Path) -> None:
    path = written(tmp_path, build(Part(b"zeros.bin", ZEROS, deflated=True), WOKS))
    error = refusal(path, Limits(entry=1 << 20, total=1 << 20))
    assert error.hint.count("--allow") == 3
    raised = Limits.read(word for word in error.hint.split() if "=" in word)
    assert content(path, raised)["zeros.bin"] == ZEROS


def test_a_small_entry_may_shrink_as_it_likes_as_long_as_the_whole_does_not(tmp_path: Path) -> None:
    noise = Part(b"noise", bytes(byte for _ in range(20) for byte in range(256)))
    assert content(written(tmp_path, build(Part(b"zeros", bytes(MEGABYTE), deflated=True), noise)))
    assert "times" in refusal(written(tmp_path, build(Part(b"zeros", bytes(MEGABYTE), deflated=True)))).message


def test_a_validation_inflates_no_more_than_the_limits(tmp_path: Path) -> None:
    big = Part(b"big.md", ZEROS, deflated=True)
    noise = Part(b"noise", bytes(byte for _ in range(80) for byte in range(256)))
    container = ArchiveContainer(written(tmp_path, build(WOKS, big, noise, PANS)), strict=False)
    assert {fault.filename for fault in Field(container).validate(select=["A-13"])} == {"big.md"}
    assert container.read("woks.md") == WOKS.data
    with pytest.raises(OSError, match="limit"):
        container.read("big.md")
    container = ArchiveContainer(container.location, Limits(total=len(ZEROS), ratio=2000), strict=False)
    assert container.blocked().keys() == {"big.md", "noise", "pans.md"}


def test_a_validation_of_a_bomb_is_exit_1_and_says_that_not_all_was_read(tmp_path: Path) -> None:
    path = written(tmp_path, build(WOKS, Part(b"big.md", ZEROS, deflated=True)))
    command = [sys.executable, "-m", "memoryfield", "validate", "-f", str(path)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert "A-13" in run.stdout
    assert "not read" in run.stderr
    run = subprocess.run([*command, "--json", "--allow", "ratio=2000"], capture_output=True, text=True)
    assert "A-13" not in {fault["requirement"] for fault in json.loads(run.stdout)["faults"]}


# what an entry holds


@pytest.mark.parametrize("more", [1, 100, 5 * MEGABYTE])
@pytest.mark.parametrize("checksum", ["of the beginning", "of the whole"])
def test_an_entry_is_never_inflated_beyond_what_it_says(tmp_path: Path, more: int, checksum: str) -> None:
    data = b"x" * 100
    whole = data + bytes(more)
    crc = zlib.crc32(whole if checksum == "of the whole" else data)
    said = {"crc": crc}
    page = Part(b"long.md", data, deflated=True, packed=deflate(whole), local=said, listed=said)
    container = ArchiveContainer(written(tmp_path, build(WOKS, page)))
    with pytest.raises(OSError, match="larger than it says"):
        container.read("long.md")
    assert [one.filename for one in Field(container).pages()] == ["woks.md"]


@pytest.mark.parametrize(
    ("packed", "said"),
    [(deflate(b"x" * 100) + b"hidden", "follows"), (deflate(b"x" * 99), "shorter"), (deflate(b"x" * 100)[:-1], "cut")],
)
def test_an_entry_must_be_all_that_it_says_and_nothing_more(tmp_path: Path, packed: bytes, said: str) -> None:
    page = Part(b"long.md", b"x" * 100, deflated=True, packed=packed)
    with pytest.raises(OSError, match=said):
        ArchiveContainer(written(tmp_path, build(WOKS, page))).read("long.md")


def test_an_archive_that_becomes_shorter_is_an_error_and_no_crash(tmp_path: Path) -> None:
    path = written(tmp_path, SOUND)
    container = ArchiveContainer(path)
    with path.open("r+b") as file:
        file.truncate(10)
    with pytest.raises(OSError, match="shorter"):
        container.read("photo.jpg")


# hostile to the reader itself


LIMITED = """
    import resource, sys
    from pathlib import Path
    from memoryfield import Field
    from memoryfield.containers.archive import ArchiveContainer
    from memoryfield.errors import MemoryfieldError
    try:
        with Field(ArchiveContainer(Path(sys.argv[1]), strict=False)) as field:
            field.validate(ignore=["S-7"])
    except MemoryfieldError:
        pass
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def megabytes(path: Path) -> int:
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(LIMITED), path], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return int(run.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux counts it")
def test_no_archive_takes_memory_beyond_bounds(tmp_path: Path) -> None:
    usual = megabytes(written(tmp_path, SOUND))
    directory = 1 << 30  # of nothing, and sparse
    with (tmp_path / "vast.zip").open("wb") as file:
        file.seek(directory)
        file.write(b"PK\x05\x06" + struct.pack("<4H2LH", 0, 0, 9, 9, directory, 0, 0))
    assert megabytes(tmp_path / "vast.zip") < usual + 40
    bomb = Part(b"big.md", b"x" * 100, deflated=True, packed=deflate(bytes(200 * MEGABYTE)))
    assert megabytes(written(tmp_path, build(WOKS, bomb))) < usual + 40
    ends = b"PK\x05\x06" * 20_000
    assert megabytes(written(tmp_path, ends)) < usual + 40


# whatever bytes


def _seeds() -> list[bytes]:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for part in (WOKS, PANS):
            archive.writestr(part.name.decode(), part.data, zipfile.ZIP_DEFLATED)
    named = WOKS._replace(name="wök.md".encode(), flags=0x800)
    kinds = [buffer.getvalue(), SOUND, build(streamed(WOKS), streamed(PANS)), with_zip64_end(SOUND)]
    return [*kinds, build(named, PANS, Part(b"sub/"), comment=b"By hand."), WELCOME["zip64, streamed"]]


SEEDS = _seeds()
CONTENTS = {part.data for part in (WOKS, PANS, PHOTO)}


@settings(max_examples=800, deadline=None, derandomize=True)
@given(
    seed=st.sampled_from(SEEDS),
    edits=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=3),
)
def test_whatever_bytes_are_changed_it_is_refused_or_what_is_read_is_what_was_packed(
    tmp_path_factory: pytest.TempPathFactory, seed: bytes, edits: list[tuple[int, int]]
) -> None:
    raw = bytearray(seed)
    for place, value in edits:
        raw[place % len(raw)] = value
    path = tmp_path_factory.getbasetemp() / "flipped.zip"
    path.write_bytes(raw)
    container: ArchiveContainer | None
    try:
        container = ArchiveContainer(path)
    except (UnsafeArchiveError, ArchiveError):
        container = None
    if container:
        for name in container.names():
            try:
                assert container.read(name) in CONTENTS
            except OSError:
                continue
        container.close()
    try:
        with Field(ArchiveContainer(path, strict=False)) as field:
            field.validate(ignore=["S-7"])
    except MemoryfieldError:
        pass


def test_each_byte_that_is_changed_is_noticed_or_changes_nothing_that_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, SOUND)
    for place in range(len(SOUND)):
        path.write_bytes(SOUND[:place] + bytes([SOUND[place] ^ 0x5A]) + SOUND[place + 1 :])
        try:
            found = content(path)
        except (UnsafeArchiveError, ArchiveError, OSError):
            continue
        assert set(found.values()) <= CONTENTS
