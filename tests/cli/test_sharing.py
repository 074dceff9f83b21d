"""The commands on archives: pack and unpack."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from memoryfield import Field

from .support import INDEX, PAGES, contents, forked, make_kitchen, write_page


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A field of three pages with an index."""
    return make_kitchen(tmp_path / "kitchen", embedded=True)


def test_a_field_becomes_one_zip_and_a_field_again(kitchen: Path, tmp_path: Path) -> None:
    write_page(kitchen, "picture.png", b"\x89PNG\r\n")
    write_page(kitchen, ".DS_Store", b"debris")
    (kitchen / "drafts").mkdir()
    run = forked("pack", "-f", "kitchen", "--output", "notes.memoryfield.zip", cwd=tmp_path)
    assert run.code == 0
    archive = tmp_path / "notes.memoryfield.zip"
    assert "3 pages" in run.out
    assert hashlib.sha256(archive.read_bytes()).hexdigest() in run.out
    with zipfile.ZipFile(archive) as opened:
        assert opened.testzip() is None
        assert sorted(opened.namelist()) == sorted([*PAGES, "picture.png", INDEX])
    unpacked = forked("unpack", archive, "copy", cwd=tmp_path)
    assert unpacked.code == 0
    assert "copy" in unpacked.out
    assert "3 pages" in unpacked.out
    copied = contents(tmp_path / "copy")
    assert {name: copied[name] for name in PAGES} == {name: text.encode() for name, text in PAGES.items()}
    found = forked("search", "which wok heats evenly?", "--json", "-f", "copy", cwd=tmp_path).json
    assert (found["mode"], found["results"][0]["filename"]) == ("hybrid", "woks.md")


def test_both_report_in_json(kitchen: Path, tmp_path: Path) -> None:
    write_page(kitchen, "old.md~", b"debris")
    packed = forked("pack", "-f", "kitchen", "--json", cwd=tmp_path).json
    archive = tmp_path / "kitchen.memoryfield.zip"
    assert packed["path"] == "kitchen.memoryfield.zip"
    assert packed["bytes"] == archive.stat().st_size
    assert packed["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert (packed["pages"], packed["attachments"], packed["indexes"]) == (3, 0, [INDEX])
    assert [left["name"] for left in packed["left_out"]] == ["old.md~"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    unpacked = forked("unpack", archive, "--json", cwd=elsewhere).json
    assert unpacked["path"] == "kitchen"
    assert (unpacked["pages"], unpacked["files"]) == (3, 4)
    assert unpacked["bytes"] == sum(map(len, contents(elsewhere / "kitchen").values()))


def test_in_the_current_folder_the_archive_goes_beside_it(kitchen: Path, tmp_path: Path) -> None:
    run = forked("pack", cwd=kitchen)
    assert run.code == 0
    assert (tmp_path / "kitchen.memoryfield.zip").is_file()
    assert set(contents(kitchen)) == {*PAGES, INDEX}


def test_an_archive_that_is_there_is_kept_unless_it_is_to_be_replaced(kitchen: Path, tmp_path: Path) -> None:
    archive = tmp_path / "kitchen.memoryfield.zip"
    archive.write_bytes(b"mine")
    refused = forked("pack", "-f", "kitchen", cwd=tmp_path)
    assert refused.code == 3
    assert "--replace" in refused.err
    assert forked("pack", "-f", "kitchen", "--force", cwd=tmp_path).code == 3
    assert archive.read_bytes() == b"mine"
    assert forked("pack", "-f", "kitchen", "--replace", cwd=tmp_path).code == 0
    assert zipfile.is_zipfile(archive)


def test_what_cannot_be_packed_is_refused(kitchen: Path, tmp_path: Path) -> None:
    inside = forked("pack", "-o", "x.memoryfield.zip", cwd=kitchen)
    assert inside.code == 3
    empty = tmp_path / "empty"
    empty.mkdir()
    assert forked("pack", "-f", empty, cwd=tmp_path).code == 2
    assert forked("pack", "-f", kitchen, "-o", "no/such/folder/x.zip", cwd=tmp_path).code in (1, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "kitchen"]


def test_what_is_printed_names_the_content_and_the_sidecar_is_read_by_sha256sum(kitchen: Path, tmp_path: Path) -> None:
    run = forked("pack", "-f", "kitchen", "--sidecar", cwd=tmp_path)
    assert run.code == 0
    assert run.out.splitlines()[2] == f"content {Field.open(kitchen).content_hash()}"
    assert run.out.splitlines()[2] in forked("info", "-f", "kitchen", cwd=tmp_path).out.splitlines()
    if shutil.which("sha256sum"):
        done = subprocess.run(["sha256sum", "-c", "kitchen.memoryfield.zip.sha256"], cwd=tmp_path, check=False)
        assert done.returncode == 0
    assert forked("pack", "-f", "kitchen", "-o", "a.zip", "--no-index", "--json", cwd=tmp_path).json["indexes"] == []


def test_a_dry_run_tells_what_would_go_in_and_writes_nothing(kitchen: Path, tmp_path: Path) -> None:
    write_page(kitchen, "old.md~", b"debris")
    before = contents(tmp_path)
    run = forked("pack", "-f", "kitchen", "--dry-run", cwd=tmp_path)
    assert run.code == 0
    told = [line.split("  ") for line in run.out.splitlines()]
    assert [line[-1] for line in told] == sorted([*PAGES, INDEX])
    assert all(line[0].endswith("Z") and line[-2] for line in told)
    assert "old.md~" in run.err
    assert contents(tmp_path) == before
    assert {path.name for path in tmp_path.iterdir()} == {"kitchen"}


def test_a_field_that_breaks_a_must_is_packed_by_force_alone(kitchen: Path, tmp_path: Path) -> None:
    write_page(kitchen, "dates.md", b"---\ntitle: Dates\ncreated: 2026-01-01\n---\n\nText.\n")
    refused = forked("pack", "-f", "kitchen", cwd=tmp_path)
    assert (refused.code, refused.out) == (3, "")
    assert all(part in refused.err for part in ("dates.md:3", "F-8", "memoryfield validate", "--force"))
    assert {path.name for path in tmp_path.iterdir()} == {"kitchen"}
    dry = forked("pack", "-f", "kitchen", "--dry-run", cwd=tmp_path)
    assert dry.code == 3
    assert "dates.md:3" in dry.err
    forced = forked("pack", "-f", "kitchen", "--dry-run", "--force", cwd=tmp_path)
    assert forced.code == 0
    assert "dates.md:3" in forced.err
    assert "refused" not in forced.err
    assert forked("pack", "-f", "kitchen", "--force", cwd=tmp_path).code == 0


@pytest.mark.parametrize("arguments", [["--model", "bge-m3"], ["--no-index", "--model", "all-MiniLM-L6-v2"]])
def test_a_model_that_the_field_has_no_index_of_is_wrong_usage(
    kitchen: Path, tmp_path: Path, arguments: list[str]
) -> None:
    run = forked("pack", "-f", "kitchen", *arguments, cwd=tmp_path)
    assert run.code == 2
    assert arguments[-1] in run.err or "--no-index" in run.err
    assert {path.name for path in tmp_path.iterdir()} == {"kitchen"}


def archive_with(path: Path, *entries: tuple[str, bytes, int]) -> Path:
    """A zip of entries, each with a name, bytes and a Unix mode."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, content, mode in [("woks.md", b"# Woks\n", 0o100644), *entries]:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.create_system = 3
            archive.writestr(info, content)
    return path


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("../evil.md", 0o100644),
        ("/evil.md", 0o100644),
        ("a/../../evil.md", 0o100644),
        ("..\\evil.md", 0o100644),
        ("C:evil.md", 0o100644),
        ("evil.md", 0o120777),
        ("woks.md", 0o100644),
        ("WOKS.md", 0o100644),
    ],
    ids=["parent", "root", "through", "backslash", "drive", "link", "twice", "case"],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_unsafe_archive_is_refused_and_nothing_written(tmp_path: Path, name: str, mode: int) -> None:
    place = tmp_path / "place"
    place.mkdir()
    archive_with(place / "evil.zip", (name, b"/etc/passwd", mode))
    run = forked("unpack", "evil.zip", "copy", cwd=place)
    assert run.code == 3
    assert run.out == ""
    assert name.replace("\\", "") in run.err.replace("\\", "")
    assert [path.name for path in place.iterdir()] == ["evil.zip"]
    assert [path.name for path in tmp_path.iterdir()] == ["place"]


def test_a_folder_that_is_not_empty_is_refused(tmp_path: Path) -> None:
    archive_with(tmp_path / "a.zip")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine.txt").write_text("mine", encoding="utf-8")
    run = forked("unpack", "a.zip", "copy", cwd=tmp_path)
    assert run.code == 3
    assert contents(tmp_path / "copy") == {"mine.txt": b"mine"}
    assert forked("unpack", "a.zip", "copy/mine.txt", cwd=tmp_path).code == 3


@pytest.mark.parametrize(("content", "code"), [(b"no zip", 1), (b"", 1), (None, 2)], ids=["text", "empty", "missing"])
def test_what_is_no_archive_is_named(tmp_path: Path, content: bytes | None, code: int) -> None:
    if content is not None:
        (tmp_path / "a.zip").write_bytes(content)
    for arguments in (["unpack", "a.zip", "copy"], ["list", "-f", "a.zip"]):
        run = forked(*arguments, cwd=tmp_path)
        assert run.code == code
        assert run.out == ""
        assert "a.zip" in run.err
        assert len(run.err.splitlines()) == 1
    assert not (tmp_path / "copy").exists()


def test_a_damaged_entry_leaves_nothing_behind(tmp_path: Path) -> None:
    archive = archive_with(tmp_path / "a.zip", ("pans.md", b"iron pans\n" * 50, 0o100644))
    content = archive.read_bytes()
    archive.write_bytes(content.replace(b"iron pans\niron", b"iron pots\niron", 1))
    run = forked("unpack", "a.zip", "copy", cwd=tmp_path)
    assert run.code == 1
    assert "pans.md" in run.err
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_an_archive_as_macos_makes_it_is_unpacked_and_what_stays_out_is_said(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "notes.zip", "w") as archive:
        for name in ("notes/woks.md", "notes/.DS_Store", "__MACOSX/notes/._woks.md"):
            archive.writestr(name, "Steel.")
    run = forked("unpack", "notes.zip", cwd=tmp_path)
    assert (run.code, sorted(contents(tmp_path / "notes"))) == (0, ["woks.md"])
    assert "left out: .DS_Store" in run.err
    assert "left out: __MACOSX/notes/._woks.md" in run.err
    found = forked("search", "steel", "--json", "-f", "notes.zip", cwd=tmp_path).json
    assert [hit["filename"] for hit in found["results"]] == ["woks.md"]


def test_a_bomb_is_refused_unless_that_is_allowed(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.md", "x" * (3 << 20))
    run = forked("unpack", "bomb.zip", cwd=tmp_path)
    assert run.code == 3
    assert "bomb.md" in run.err
    assert not (tmp_path / "bomb").exists()
    allowed = run.err.partition("trust where it comes from: ")[2].split()
    assert forked("unpack", "bomb.zip", *allowed, cwd=tmp_path).code == 0
    assert forked("search", "x", "-f", "bomb.zip", cwd=tmp_path).code == 3
