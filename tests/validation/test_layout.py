"""Rules about the files of a field and the entries of an archive."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import warnings
import zipfile
from pathlib import Path

import pytest

from ..support import no_privileges
from .support import OTHER, check, only, pack, page, told, write

NAME = "notes.memoryfield.zip"


# C-1, C-2, C-8


@pytest.mark.parametrize(
    "name",
    [
        *("notes.txt", "model.sqlite3.gz", ".hidden.md", "a.md~", "b.sync-conflict-1.md", ".DS_Store", "Thumbs.db"),
        *("X Y.png", "desktop.ini", "Desktop.INI", "a.markdown"),
    ],
)
def test_files_that_are_no_pages_are_nobodys_business(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"a.md": page(), name: b"\xff\x00 not a page"})
    assert told(check(tmp_path)) == []
    assert told(check(pack(tmp_path / NAME, {"a.md": page(), name: b"\xff\x00 not a page"}))) == []


def test_a_field_without_a_page_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"notes.txt": "no page", ".hidden.md": "no page"})
    assert told(check(tmp_path)) == [". error C-1"]
    assert told(check(pack(tmp_path / NAME, {"notes.txt": "no page"}))) == [". error C-1"]


@pytest.mark.parametrize("inner", ["sub", "sub/deeper", "Some Folder.md", "sub/node_modules"])
def test_a_page_in_a_sub_folder_is_an_error_once_for_each_folder(tmp_path: Path, inner: str) -> None:
    folder = tmp_path / "field"
    (folder / inner).mkdir(parents=True)
    write(folder, {"a.md": page()})
    write(folder / inner, {"Bad Name.md": b"\xff", "b.md": "lost"})
    assert told(check(folder)) == [f"{inner}/Bad Name.md error C-2"]
    packed = pack(tmp_path / NAME, {"a.md": page(), f"{inner}/b.md": "lost", f"{inner}/c.md": "lost"})
    assert told(check(packed)) == [f"{inner}/b.md error C-2"]


@pytest.mark.parametrize(
    "path", ["logs/today.txt", ".git/a.md", ".obsidian/b/c.md", "sub/.hidden.md", "sub/a.md~", "x/"]
)
def test_sub_folders_for_other_purposes_are_no_fault(tmp_path: Path, path: str) -> None:
    folder = tmp_path / "field"
    target = folder / path
    target.parent.mkdir(parents=True)
    write(folder, {"a.md": page()})
    if path.endswith("/"):
        target.mkdir(exist_ok=True)
    else:
        target.write_text("text", encoding="utf-8")
    assert told(check(folder)) == []
    assert told(check(pack(tmp_path / NAME, {"a.md": page(), path: ""}))) == []


@pytest.mark.parametrize(
    ("first", "second"), [("A.png", "a.png"), ("caf\u00e9.png", "cafe\u0301.png"), ("STRASSE.txt", "stra\u00dfe.txt")]
)
def test_names_that_some_file_systems_take_for_one_are_told(tmp_path: Path, first: str, second: str) -> None:
    fault = only(check(pack(tmp_path / NAME, {"a.md": page(), first: "1", second: "2"})))
    assert (fault.requirement, fault.severity, fault.filename) == ("A-14", "error", second)
    assert repr(first) in fault.message
    folder = tmp_path / "folder"
    folder.mkdir()
    write(folder, {"a.md": page(), first: "1", second: "2"})
    if len(list(folder.iterdir())) < 3:
        pytest.skip("this file system takes them for one")
    fault = only(check(folder))
    assert (fault.requirement, fault.severity) == ("C-8", "warning")
    assert {fault.filename, fault.message.split("from ")[1].split(" in ")[0]} == {first, second}


# P-12, S-1: links and names


def link(folder: Path, name: str, target: Path | str) -> None:
    try:
        (folder / name).symlink_to(target)
    except OSError:
        pytest.skip("no links can be made here")


def test_a_page_that_is_a_link_to_a_file_outside_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text(page(title="Secret"))
    folder = tmp_path / "field"
    folder.mkdir()
    write(folder, {"a.md": page()})
    link(folder, "b.md", tmp_path / "outside.md")
    fault = only(check(folder))
    assert told([fault]) == ["b.md error S-1"]
    assert "outside" in fault.message


def test_links_within_the_field_are_read_as_what_they_lead_to(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": page(), "text.txt": page(uuid=OTHER, title="Pans", body="Other")})
    link(tmp_path, "b.md", "text.txt")
    assert told(check(tmp_path)) == []
    link(tmp_path, "c.md", "a.md")
    assert told(check(tmp_path, select="F-13")) == ["c.md:3:1 error F-13"]


def test_a_link_into_nowhere_is_an_error_where_it_should_be_a_page(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": page()})
    link(tmp_path, "b.md", "gone.md")
    link(tmp_path, "c.txt", "gone.txt")
    link(tmp_path, ".#a.md", "somebody@host.4711")  # Emacs marks what it edits like this
    assert told(check(tmp_path)) == ["b.md error P-12"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": page()})
    os.mkfifo(tmp_path / "b.md")
    os.mkfifo(tmp_path / "nomic-embed-text-v1.5.sqlite3")
    assert told(check(tmp_path)) == ["b.md error P-12"]


def test_a_page_that_may_not_be_read_is_an_error_and_the_others_are_still_looked_at(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == os.geteuid() and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    write(tmp_path, {"a.md": page(), "b.md": page(title="No", uuid=OTHER)})
    (tmp_path / "a.md").chmod(0)
    with no_privileges():
        found = check(tmp_path)
    assert told(found) == ["a.md error P-12", "b.md:2:1 warning F-14"][:2] or os.name == "nt"


@pytest.mark.skipif(os.name == "nt", reason="such names cannot be made there")
def test_a_name_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": page()})
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.md")).write_text(page())
    except OSError:
        pytest.skip("this file system wants UTF-8")
    fault = only(check(tmp_path))
    assert (fault.requirement, fault.line) == ("P-2", 0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("c:d.md", "error S-1"),
        ("a\tb.md", "error A-14"),
        ("a\nb.md", "error A-14"),
        ("../up.md", "error S-1"),
        ("../up.txt", "error S-1"),
        ("sub/../../up.md", "error S-1"),
        ("/etc/root.md", "error S-1"),
        *([("a\\b.md", "error S-1"), ("..\\up.md", "error S-1")] if os.sep == "/" else []),
    ],
)
def test_a_name_that_is_not_plain_is_an_error_and_the_others_are_still_looked_at(
    tmp_path: Path, name: str, expected: str
) -> None:
    packed = pack(tmp_path / NAME, {name: page(), "z.md": page(title="No")})
    found = [line for line in told(check(packed)) if " C-2" not in line]
    assert f"{name} {expected}" in found
    assert "z.md:2:1 warning F-14" in found
    assert len(found) == 2


def test_an_entry_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / NAME, "w") as archive:
        archive.writestr("a.md", page())
        for name in ("b.md", "c.txt"):
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, "a.md")
    assert told(check(tmp_path / NAME)) == ["b.md error A-14", "c.txt error A-14"]


#


@pytest.mark.parametrize("name", ["notes.zip", "notes.memoryfield", "notes"])
def test_an_archive_under_another_name_is_a_warning(tmp_path: Path, name: str) -> None:
    fault = only(check(pack(tmp_path / name, {"a.md": page()})))
    assert told([fault]) == [". warning A-2"]
    assert name in fault.message


def test_an_archive_is_validated_in_place(tmp_path: Path) -> None:
    packed = pack(tmp_path / NAME, {"a.md": page(), "b.md": page(title="Pans", uuid="x", body="Other")})
    assert told(check(packed)) == ["b.md:3:1 warning F-11"]
    assert [item.name for item in tmp_path.iterdir()] == [NAME]


def test_a_page_that_fails_its_checksum_is_an_error_and_the_others_are_still_looked_at(tmp_path: Path) -> None:
    location = tmp_path / NAME
    with zipfile.ZipFile(location, "w") as archive:
        archive.writestr("a.md", page(body="SPOILED"))
        archive.writestr("b.md", page(uuid="x", body="Other"))
    location.write_bytes(location.read_bytes().replace(b"SPOILED", b"spoiled"))
    found = check(location)
    assert told(found) == ["a.md error A-1", "b.md:3:1 warning F-11"]
    assert "cannot be read" in found[0].message


def test_a_folder_in_the_archive_is_told_as_what_it_is(tmp_path: Path) -> None:
    packed = pack(
        tmp_path / NAME,
        {"notes/a.md": page(), "notes/b.md": page(title="Pans", uuid=OTHER, body="B"), "__MACOSX/notes/._a.md": "x"},
    )
    found = check(packed)
    assert told(found) == [". error A-3"]
    assert "notes/" in found[0].message
    two = pack(tmp_path / NAME, {"notes/a.md": page(), "other/b.md": page()})
    assert told(check(two)) == [". error A-3", ". error C-1", "notes/a.md error C-2", "other/b.md error C-2"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_another_method_is_an_error_told_once(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / NAME, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.md", page())
        archive.writestr("b.md", page(uuid="x"), compress_type=method)
        archive.writestr("c.txt", "text", compress_type=method)
    found = check(tmp_path / NAME)
    assert told(found) == ["b.md error A-4", "c.txt error A-4"]
    assert str(method) in found[0].message


def test_two_entries_of_one_name_are_an_error(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(tmp_path / NAME, "w") as archive:
            for text in (page(), page(), page(title="Pans")):
                archive.writestr("a.md", text)
    fault = only(check(tmp_path / NAME))
    assert told([fault]) == ["a.md error A-5"]


ZIP = shutil.which("zip")


@pytest.mark.skipif(ZIP is None, reason="there is no zip here")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-q", NAME, "a.md"], []),
        (["-q", "-0", NAME, "a.md"], []),
        (["-q", "-P", "word", NAME, "a.md"], ["a.md error A-4"]),
        (["-q", "-Z", "bzip2", NAME, "a.md"], ["a.md error A-4"]),
        (["-q", "-r", NAME, "."], ["sub/b.md error C-2"]),
        (["-q", "-r", NAME, "sub"], [". error A-3"]),
        (["-q", "-r", "notes.zip", "a.md"], [". warning A-2"]),
    ],
)
def test_what_the_zip_command_makes(tmp_path: Path, arguments: list[str], expected: list[str]) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path, {"a.md": page(body="A text that can be made smaller. " * 20)})
    write(tmp_path / "sub", {"b.md": page()})
    subprocess.run([str(ZIP), *arguments], cwd=tmp_path, check=True, stdin=subprocess.DEVNULL)
    assert told(check(next(tmp_path.glob("*.zip")))) == expected
