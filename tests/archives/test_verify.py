"""What was promised, what an archive holds, and what its indexes say of it."""

from __future__ import annotations

import hashlib
import sqlite3
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from memoryfield import Field, pack, verify
from memoryfield.archives.verify import Verified
from memoryfield.containers import Limits
from memoryfield.errors import ArchiveError, FieldNotFoundError, HashMismatchError, UnsafeArchiveError, UsageError
from tests.cli.support import INDEX, make_kitchen

PAGE = '---\ntitle: Woks\nuuid: 6f1c1c6e-8f39-4a52-9d1a-0d9f6f3a2b10\ncreated: "2026-03-14T09:12:40Z"\n'
PAGE += 'updated: "2026-03-14T09:12:40Z"\n---\n\nThey heat evenly.\n'


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A field of three pages, an index and a picture, never changed."""
    folder = make_kitchen(tmp_path_factory.mktemp("kitchen") / "kitchen", embedded=True)
    (folder / "picture.png").write_bytes(b"\x89PNG\x00" * 1000)
    return folder


@pytest.fixture
def archive(kitchen: Path, tmp_path: Path) -> Path:
    """The same in one file."""
    with Field.open(kitchen) as field:
        return pack(field, tmp_path / "kitchen.memoryfield.zip").path


def zipped(location: Path, files: dict[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """A zip of these files."""
    with zipfile.ZipFile(location, "w", method) as opened:
        for name, content in files.items():
            opened.writestr(name, content)
    return location


def told(found: Verified) -> list[str]:
    """What was found, without the messages' ends."""
    return [f"{one.place} {one.requirement}: {one.message}" for one in found.findings]


def with_changed_index(archive: Path, tmp_path: Path, change: Callable[[apsw.Connection], object]) -> Path:
    """The archive with another index."""
    with zipfile.ZipFile(archive) as opened:
        files: dict[str, str | bytes] = {name: opened.read(name) for name in opened.namelist()}
    path = tmp_path / "changed.sqlite3"
    content = files[INDEX]
    assert isinstance(content, bytes)
    path.write_bytes(content)
    connection = apsw.Connection(str(path))
    change(connection)
    connection.close()
    return zipped(tmp_path / "changed.memoryfield.zip", {**files, INDEX: path.read_bytes()})


def test_a_packed_field_holds(archive: Path, kitchen: Path) -> None:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    found = verify(archive, sha256=digest.upper())
    assert (found.findings, found.holds, found.promise) == ((), True, "given")
    assert (found.pages, found.attachments, found.indexes) == (3, 1, (INDEX,))
    assert (found.sha256, found.bytes) == (digest, archive.stat().st_size)
    with Field.open(kitchen) as field:
        assert found.content_hash == field.content_hash()
    assert all(check.holds for check in found.checks)
    assert verify(archive).sha256 == digest
    assert list(found.to_dict()) == [
        *("path", "holds", "bytes", "sha256", "promise", "content_hash", "pages", "attachments", "indexes"),
        *("checks", "findings"),
    ]


def test_one_byte_that_was_changed_is_caught(archive: Path) -> None:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    raw = bytearray(archive.read_bytes())
    raw[-30] ^= 1
    archive.write_bytes(raw)
    with pytest.raises(HashMismatchError) as caught:
        verify(archive, sha256=digest)
    assert (caught.value.expected, caught.value.found) == (digest, hashlib.sha256(raw).hexdigest())
    assert caught.value.exit_code == 3


# Sidecars


@pytest.mark.parametrize(
    "form",
    [
        "{digest}  {name}\n",
        "{digest} *{name}\n",
        "{digest}  ./{name}\r\n",
        "{other}  other.zip\n{upper}  {name}\nsome words\n",
        "{digest}  {name}",
    ],
)
def test_a_sidecar_promises_in_any_form_of_sha256sum(archive: Path, form: str) -> None:
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    beside = archive.with_name(archive.name + ".sha256")
    beside.write_bytes(form.format(digest=digest, upper=digest.upper(), other="0" * 64, name=archive.name).encode())
    assert verify(archive, sidecar=True).promise == "sidecar"
    beside.write_bytes(form.format(digest="1" * 64, upper="1" * 64, other=digest, name=archive.name).encode())
    with pytest.raises(HashMismatchError):
        verify(archive, sidecar=True)


def test_a_name_that_is_escaped_in_a_sidecar(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a\\b.memoryfield.zip", {"a.md": PAGE})
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    archive.with_name(archive.name + ".sha256").write_text(f"\\{digest}  a\\\\b.memoryfield.zip\n")
    assert verify(archive, sidecar=True).holds


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "does not name"),
        (b"0" * 64 + b"  other.memoryfield.zip\n", "does not name"),
        (b"0" * 64 + b"\n", "does not name"),
        (b"0" * 63 + b"  kitchen.memoryfield.zip\n", "does not name"),
        (b"\xff\xfe", "does not name"),
        (b"0" * 64 + b"  kitchen.memoryfield.zip\n" + b"1" * 64 + b"  kitchen.memoryfield.zip\n", "several hashes"),
    ],
)
def test_a_sidecar_that_promises_nothing_of_this_archive_is_an_error(
    archive: Path, content: bytes, message: str
) -> None:
    archive.with_name(archive.name + ".sha256").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        verify(archive, sidecar=True)


def test_what_is_no_archive_on_this_machine(tmp_path: Path, archive: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        verify(tmp_path)
    with pytest.raises(UsageError, match="is a URL"):
        verify("https://example.org/notes.memoryfield.zip")
    with pytest.raises(FieldNotFoundError):
        verify(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="two promises"):
        verify(archive, sha256="0" * 64, sidecar=True)
    with pytest.raises(UsageError, match="is no sha256"):
        verify(archive, sha256="0" * 63)


# Entries


def tampered(location: Path, name: str, **fields: int) -> Path:
    """A zip whose directory and local header say something else of an entry (in both: `crc`, `size`)."""
    with zipfile.ZipFile(location) as opened:
        info = opened.getinfo(name)
    raw = bytearray(location.read_bytes())
    directory = raw.index(b"PK\x01\x02")
    while raw[directory + 46 : directory + 46 + len(name)] != name.encode():
        directory = raw.index(b"PK\x01\x02", directory + 1)
    for field, local, central in (("crc", 14, 16), ("packed", 18, 20), ("size", 22, 24)):
        if field in fields:
            struct.pack_into("<L", raw, info.header_offset + local, fields[field])
            struct.pack_into("<L", raw, directory + central, fields[field])
    location.write_bytes(raw)
    return location


@pytest.mark.parametrize("name", ["a.md", "picture.png", "folder/inside.txt", ".DS_Store"])
@pytest.mark.parametrize(
    ("method", "fields", "message"),
    [
        (zipfile.ZIP_STORED, {"crc": 1}, "checksum is wrong"),
        (zipfile.ZIP_DEFLATED, {"crc": 1}, "checksum is wrong"),
        (zipfile.ZIP_DEFLATED, {"size": 99}, "is larger than it says"),
        (zipfile.ZIP_DEFLATED, {"size": 10_001}, "is shorter than it says"),
    ],
)
def test_every_entry_is_read_to_its_end(
    tmp_path: Path, name: str, method: int, fields: dict[str, int], message: str
) -> None:
    files: dict[str, str | bytes] = {"index.md": PAGE.replace("6f1c", "7f1c"), name: (PAGE * 100)[:10_000]}
    location = tampered(zipped(tmp_path / "x.memoryfield.zip", files, method), name, **fields)
    found = verify(location)
    assert [(one.place, one.requirement) for one in found.findings] == [(name, "A-1")], told(found)
    assert message in found.findings[0].message
    assert found.content_hash == "" or name in ("folder/inside.txt", ".DS_Store")
    assert next(check.what for check in found.checks if not check.holds) == "entries"


def test_bytes_after_the_end_of_an_entry_are_told_of(tmp_path: Path) -> None:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = squeeze.compress(PAGE.encode()) + squeeze.flush() + b"hidden"
    location = zipped(tmp_path / "x.memoryfield.zip", {"a.md": packed, "b.bin": packed}, zipfile.ZIP_STORED)
    raw = location.read_bytes()
    for signature, method in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = -1
        while (place := raw.find(signature, place + 1)) >= 0:
            raw = raw[: place + method] + b"\x08\x00" + raw[place + method + 2 :]
    location.write_bytes(raw)
    for name in ("a.md", "b.bin"):
        tampered(location, name, crc=zlib.crc32(PAGE.encode()), size=len(PAGE))
    found = verify(location)
    assert [one.place for one in found.findings if "something follows its data" in one.message] == ["b.bin", "a.md"]


def test_all_faults_are_found_not_only_the_first(tmp_path: Path) -> None:
    location = zipped(
        tmp_path / "x.memoryfield.zip",
        {"a.md": PAGE, "b.md": PAGE, "c.md": b"caf\xe9", "d.png": "picture", "x.sqlite3": b"no database" * 100},
        zipfile.ZIP_STORED,
    )
    location.write_bytes(location.read_bytes().replace(b"picture", b"pictur3", 1))
    found = verify(location)
    assert [(one.place.partition(":")[0], one.requirement) for one in found.findings][:4] == [
        ("d.png", "A-1"),
        ("b.md", "F-13"),
        ("c.md", "P-1"),
        ("x.sqlite3", "X-10"),
    ]
    assert (found.pages, found.content_hash) == (3, "")


def test_a_large_entry_is_read_piece_by_piece(tmp_path: Path) -> None:
    big = bytes(range(256)) * 40_000
    location = zipped(tmp_path / "x.memoryfield.zip", {"a.md": PAGE, "b.bin": big, "c.bin": b""})
    found = verify(location, limits=Limits(ratio=10_000))
    assert found.holds
    with Field.open(location, Limits(ratio=10_000)) as field:
        assert found.content_hash == field.content_hash()


def test_a_should_that_is_broken_is_no_fault(tmp_path: Path) -> None:
    assert verify(zipped(tmp_path / "x.zip", {"a.md": "No frontmatter.\n"})).holds


def test_an_archive_that_changes_meanwhile_is_told_of(archive: Path) -> None:
    def change(done: int, total: int) -> None:
        with archive.open("ab") as file:
            file.write(b"more")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memoryfield.validation.rules.PROGRESS_EACH", 1)
        with pytest.raises(ArchiveError, match="was changed while it was verified"):
            verify(archive, progress=change)


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")
def test_an_archive_in_whose_place_another_was_for_a_while_is_told_of(archive: Path) -> None:
    aside = archive.with_name("aside")

    def change(done: int, total: int) -> None:
        if not aside.exists():
            archive.rename(aside)
            zipped(archive, {"a.md": "Others.\n"})
            aside.rename(archive)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memoryfield.validation.rules.PROGRESS_EACH", 1)
        with pytest.raises(ArchiveError, match="was changed while it was verified"):
            verify(archive, progress=change)


def test_what_the_gate_refuses_is_not_opened(archive: Path) -> None:
    with archive.open("ab") as file:
        file.write(b"more")
    with pytest.raises(UnsafeArchiveError) as caught:
        verify(archive)
    assert caught.value.exit_code == 3


def test_a_folder_inside_is_read_as_the_field(tmp_path: Path) -> None:
    location = zipped(tmp_path / "x.memoryfield.zip", {"notes/a.md": PAGE, "notes/b.png": b"1", "__MACOSX/._a.md": "x"})
    found = verify(location)
    assert (found.pages, found.attachments) == (1, 1)
    assert [one.requirement for one in found.findings] == ["A-3"]
    with Field.open(location) as field:
        assert found.content_hash == field.content_hash()


# Rows

CHANGES = {
    "UPDATE pages SET sha256_hash = zeroblob(32) WHERE filename = 'woks.md'": ["X-9: holds rows of other bytes"],
    "DELETE FROM pages WHERE filename = 'woks.md'": ["X-9: holds no row of pages that have text: woks.md"],
    "UPDATE pages SET filename = 'gone.md' WHERE filename = 'woks.md'": [
        "X-8: holds rows of pages that are gone: gone.md",
        "X-9: holds no row of pages that have text: woks.md",
    ],
    "INSERT INTO pages SELECT 7, frontmatter, last_modified, sha256_hash, embedding FROM pages LIMIT 1": [
        "X-8: holds rows of pages that are gone: 7"
    ],
    "UPDATE pages SET embedding = x'00000000' WHERE filename = 'woks.md'": [
        "X-7: 1 of its vectors are not 384 numbers"
    ],
    """UPDATE pages SET frontmatter = '{"title": "Evil"}' WHERE filename = 'woks.md'""": [
        "X-11: says something else than the frontmatter of pages: woks.md"
    ],
    "UPDATE pages SET frontmatter = upper(frontmatter) WHERE filename = 'woks.md'": ["X-11: says something else"],
    "UPDATE pages SET frontmatter = replace(frontmatter, 'Which', 'which')": ["X-11: says something else"],
    """UPDATE pages SET frontmatter = '{"title": "Evil", ' || substr(frontmatter, 2) WHERE filename = 'woks.md'""": [
        "X-11: says something else than the frontmatter of pages: woks.md"
    ],
    "DROP TABLE memoryfield_keyword;"
    " CREATE VIRTUAL TABLE memoryfield_keyword USING fts5(text, content='', contentless_delete=1, tokenize='trigram');"
    " INSERT INTO memoryfield_keyword (rowid, text) SELECT id, 'evil' FROM memoryfield_files": [
        "X-11: its table memoryfield_keyword is made otherwise than it should be"
    ],
    "ALTER TABLE memoryfield_files ADD COLUMN evil TEXT DEFAULT 'x'": ["X-11: its table memoryfield_files is made"],
    "UPDATE pages SET frontmatter = 'no JSON' WHERE filename = 'woks.md'": ["X-11: says something else"],
    "UPDATE pages SET frontmatter = x'00' WHERE filename = 'woks.md'": ["X-11: says something else"],
    """UPDATE memoryfield_files SET frontmatter = '{"title": "Evil"}' WHERE filename = 'woks.md'""": [
        "X-11: its table memoryfield_files says something else than the pages: woks.md"
    ],
    "UPDATE memoryfield_files SET expires_ns = 1 WHERE filename = 'woks.md'": [
        "X-11: its table memoryfield_files says"
    ],
    "UPDATE memoryfield_files SET supersedes = '[1]' WHERE filename = 'woks.md'": ["X-11: its table memoryfield_files"],
    "UPDATE memoryfield_files SET broken = 1 WHERE filename = 'woks.md'": ["X-11: its table memoryfield_files"],
    "UPDATE memoryfield_files SET size = 1 WHERE filename = 'woks.md'": [
        "X-9: its table memoryfield_files is of other"
    ],
    "UPDATE memoryfield_files SET crc32 = 1 WHERE filename = 'woks.md'": [
        "X-9: its table memoryfield_files is of other"
    ],
    "UPDATE memoryfield_files SET sha256 = zeroblob(32) WHERE id = 1": ["X-9: its table memoryfield_files is"],
    "UPDATE memoryfield_files SET filename = 'gone.md' WHERE filename = 'woks.md'": [
        "X-8: its table memoryfield_files holds rows of pages that are gone: gone.md",
        "X-9: its table memoryfield_files holds no row of pages: woks.md",
    ],
    "DELETE FROM memoryfield_keyword WHERE rowid = 1": [
        "X-9: its words are not those of the pages (1 missing, 0 of no page)"
    ],
    "INSERT INTO memoryfield_keyword (rowid, text) VALUES (99, 'evil')": [
        "X-9: its words are not those of the pages (0 missing, 1 of no page)"
    ],
    "CREATE TRIGGER evil AFTER INSERT ON pages BEGIN SELECT 1; END": ["X-6: "],
}


@pytest.mark.parametrize("sql", CHANGES)
def test_rows_that_do_not_match_their_pages_are_found(archive: Path, tmp_path: Path, sql: str) -> None:
    found = verify(with_changed_index(archive, tmp_path, lambda connection: connection.execute(sql)))
    assert len(found.findings) == len(CHANGES[sql]), told(found)
    for line, expected in zip(told(found), CHANGES[sql], strict=True):
        assert line.startswith(f"{INDEX} {expected}"), line
    assert [check.what for check in found.checks if not check.holds][-1] == INDEX


ENDLESS = """
DROP TABLE memoryfield_keyword;
CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'x' AS text FROM n;
CREATE VIRTUAL TABLE memoryfield_keyword USING fts5(text, content='endless', content_rowid='i');
"""


def test_words_that_never_end_are_not_waited_for(archive: Path, tmp_path: Path) -> None:
    found = verify(with_changed_index(archive, tmp_path, lambda connection: connection.execute(ENDLESS)))
    assert [one.message for one in found.findings] == [
        "its table memoryfield_keyword is made otherwise than it should be",
        "its words are not those of the pages (3 missing, 0 of no page)",
    ]


def test_an_index_of_another_tool_may_write_frontmatter_otherwise(archive: Path, tmp_path: Path) -> None:
    def change(connection: apsw.Connection) -> None:
        connection.execute("DROP TABLE memoryfield_files")
        connection.execute("UPDATE pages SET frontmatter = json_pretty(frontmatter)")

    found = verify(with_changed_index(archive, tmp_path, change))
    assert found.findings == ()


def test_somebody_s_own_database_is_a_file_like_others(tmp_path: Path) -> None:
    path = tmp_path / "own.sqlite3"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name)")
    connection.close()
    location = zipped(tmp_path / "x.memoryfield.zip", {"a.md": PAGE, "recipes.sqlite3": path.read_bytes()})
    found = verify(location)
    assert [one.requirement for one in found.findings if one.requirement not in ("X-3",)] == []
    assert found.indexes == ()


def test_a_damaged_index_is_told_of(archive: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        files: dict[str, str | bytes] = {name: opened.read(name) for name in opened.namelist()}
    content = files[INDEX]
    assert isinstance(content, bytes)
    location = zipped(tmp_path / "x.memoryfield.zip", {**files, INDEX: content[: len(content) // 2]})
    found = verify(location)
    assert {(one.place, one.requirement) for one in found.findings} == {(INDEX, "X-10")}
    tampered(archive, INDEX, crc=1)
    assert {(one.place, one.requirement) for one in verify(archive).findings} == {(INDEX, "X-10")}
