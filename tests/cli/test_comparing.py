"""The commands diff and verify."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from memoryfield.cli.render import size
from memoryfield.validation import requirements

from ..support import no_privileges
from .support import (
    INDEX,
    WOKS,
    cells,
    contents,
    forked,
    lines,
    make_kitchen,
    memoryfield,
    on_terminal,
    unstyled,
    write_page,
)

MUSTS = sum(one.severity == "error" and one.is_visible for one in requirements().values())
EVIL = "\x1b]0;x\x07\x1b[31m\x9b31m\x08\u202eevil\r"


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A field of three pages with an index."""
    return make_kitchen(tmp_path / "kitchen", embedded=True)


@pytest.fixture
def changed(kitchen: Path, tmp_path: Path) -> Path:
    """The next version of it: a page of each kind of change."""
    folder = tmp_path / "changed"
    shutil.copytree(kitchen, folder)
    text = WOKS.replace("title: Which wok heats evenly?", 'title: "Woks"\ntags: ["steel"]').replace("light", "thin")
    write_page(folder, "woks.md", text.replace("summary: Carbon steel.\n", ""))
    (folder / "pans.md").rename(folder / "iron-pans.md")
    (folder / "index.md").unlink()
    write_page(folder, "new.md", "# New\n")
    write_page(folder, "picture.png", b"\x89PNG\x00")
    return folder


def test_changes_are_told_in_plain_words(kitchen: Path, changed: Path) -> None:
    run = forked("diff", kitchen, changed)
    assert run.code == 1
    assert lines(run.out) == [
        "removed index.md",
        "renamed pans.md → iron-pans.md",
        "added new.md",
        "added picture.png",
        "changed woks.md",
        '    title changed: "Which wok heats evenly?" → "Woks"',
        '    summary removed: "Carbon steel."',
        '    tags added: ["steel"]',
        "    text changed",
    ]
    said = lines(run.err)
    hashes = [forked("info", "--json", "-f", each).json["content_hash"] for each in (kitchen, changed)]
    assert said[:2] == [f"{kitchen}: content {hashes[0]}", f"{changed}: content {hashes[1]}"]
    assert said[2:] == ["1 page added, 1 page removed, 1 page changed, 1 page renamed, 1 other file added"]


def test_an_archive_and_its_folder_are_the_same(kitchen: Path, tmp_path: Path) -> None:
    assert forked("pack", "-f", kitchen, cwd=tmp_path).code == 0
    for form in ([], ["-p"], ["--stat"]):
        run = forked("diff", *form, "kitchen.memoryfield.zip", kitchen, cwd=tmp_path)
        assert (run.code, run.out) == (0, "")
        assert run.err.startswith("no difference: content mf1:")
    run = forked("diff", "--json", "kitchen.memoryfield.zip", kitchen, cwd=tmp_path)
    assert (run.code, run.json["same"], run.err) == (0, True, "")


def test_the_report_in_json_is_the_library_s(kitchen: Path, changed: Path) -> None:
    run = forked("diff", "--json", kitchen, changed)
    assert run.code == 1
    assert run.json["same"] is False
    assert [page["name"] for page in run.json["pages"]["renamed"]] == ["iron-pans.md"]
    assert [file["name"] for file in run.json["attachments"]["added"]] == ["picture.png"]
    assert run.json["b"]["location"] == str(changed)


@pytest.mark.skipif(not shutil.which("patch"), reason="there is no patch")
def test_the_patch_in_a_pipe_makes_b_out_of_a(kitchen: Path, changed: Path, tmp_path: Path) -> None:
    write_page(changed, "odd.md", f"# Odd\r\n\r\n{EVIL}\ttab\u2028käse")
    run = forked("diff", "--patch", kitchen, changed, env={"LANG": "C", "PYTHONIOENCODING": "ascii"})
    assert run.code == 1
    assert "Binary files /dev/null and b/picture.png differ" in run.out
    done = subprocess.run(
        ["patch", "-p1", "-s", "--binary"], input=run.raw, cwd=kitchen, capture_output=True, check=False
    )
    assert done.returncode == 0, done
    assert {**contents(kitchen), "picture.png": b"\x89PNG\x00"} == contents(changed)


def test_lines_are_counted(kitchen: Path, changed: Path) -> None:
    run = forked("diff", "--stat", kitchen, changed)
    assert run.code == 1
    assert lines(run.out) == [
        " index.md               | 10 ----------",
        " pans.md → iron-pans.md |  0",
        " new.md                 |  1 +",
        " picture.png            |  - no text",
        " woks.md                |  6 +++---",
        " 5 files changed, 4 lines added, 13 lines removed",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are made otherwise there")
def test_a_last_line_without_an_end_is_shown_on_a_terminal_as_elsewhere(kitchen: Path, changed: Path) -> None:
    (changed / "open.md").write_bytes(b"no end")
    run = on_terminal("diff", "-p", kitchen, changed, talk_too=False)
    assert "+no end\n\\ No newline at end of file\n" in unstyled(run.out).replace("\r\n", "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are made otherwise there")
@pytest.mark.parametrize("form", [[], ["--stat"]])
def test_no_line_is_wider_than_the_terminal(kitchen: Path, changed: Path, form: list[str]) -> None:
    write_page(changed, f"{'long-name-' * 12}x.md", "line\n" * 500)
    write_page(changed, "中華鍋" * 12 + ".md", "line\n" * 20)
    write_page(changed, "woks.md", WOKS.replace("Which", "Which " * 40))
    run = on_terminal("diff", *form, kitchen, changed, columns=40, talk_too=False)
    assert run.code == 1
    shown = lines(unstyled(run.out))
    if form:
        assert all(cells(line) <= 40 for line in shown[:-1]), shown
        assert max(map(cells, shown[:-1])) >= 38
        assert "…" in run.out
    else:
        assert all(cells(line) <= 40 for line in shown if line.startswith(" "))
        assert "changed woks.md" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are made otherwise there")
@pytest.mark.parametrize("form", [[], ["-p"], ["--stat"], ["--json"]])
def test_a_terminal_obeys_nothing_that_a_page_says(kitchen: Path, changed: Path, form: list[str]) -> None:
    title = '"quench \\e]0;x\\a\\e[31m \\u202E"'
    write_page(
        changed, "woks.md", WOKS.replace("Which wok heats evenly?", title).replace("light", f"light\tand {EVIL}")
    )
    write_page(changed, "\u202eevil.md", "text\n")
    run = on_terminal("diff", *form, kitchen, changed, talk_too=True)
    assert run.code == 1
    plain = unstyled(run.out).replace("\r\n", "\n")
    assert not any(character in plain for character in "\x1b\x07\x08\r\x9b\u202e"), plain
    assert "evil" in plain
    if form == ["-p"]:
        assert "light\tand" in plain.expandtabs(1).replace("light and", "light\tand")
        assert "\x1b[32m+" in run.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere", "kitchen"], "no folder or archive at 'nowhere'"),
        (["kitchen", ""], "location is empty"),
        (["kitchen", "no.memoryfield.zip"], "is not a readable zip"),
        (["-p", "--stat", "kitchen", "kitchen"], "Choose one"),
        (["kitchen"], "B"),
        (["--allow", "x=1", "kitchen", "kitchen"], "is no limit"),
    ],
)
def test_what_cannot_be_compared_is_wrong_usage(kitchen: Path, tmp_path: Path, arguments: list[str], told: str) -> None:
    (tmp_path / "no.memoryfield.zip").write_bytes(b"no zip")
    run = forked("diff", *arguments, cwd=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert told in run.err


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are not those of POSIX")
def test_a_folder_that_cannot_be_read_is_not_a_difference(
    kitchen: Path, changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked("diff", kitchen, changed)  # all modules are loaded
    changed.chmod(0)
    monkeypatch.chdir(kitchen)  # above it, nobody may pass
    kitchen.parent.chmod(0o755)
    with no_privileges():
        run = forked("diff", ".", "../changed")
    changed.chmod(0o755)
    assert (run.code, run.out) == (2, "")
    assert run.err == "error: ../changed: Permission denied\n"


def test_it_runs_in_a_process_of_its_own(kitchen: Path, changed: Path) -> None:
    run = memoryfield("diff", kitchen, changed)
    assert run.code == 1
    assert "renamed pans.md → iron-pans.md" in run.out


# verify


@pytest.fixture
def archive(kitchen: Path, tmp_path: Path) -> Path:
    """The field in one file."""
    write_page(kitchen, "picture.png", b"\x89PNG\x00")
    assert forked("pack", "-f", "kitchen", cwd=tmp_path).code == 0
    return tmp_path / "kitchen.memoryfield.zip"


def _sha256(archive: Path) -> str:
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def test_what_was_checked_is_told_line_by_line(archive: Path, kitchen: Path) -> None:
    digest = _sha256(archive)
    run = forked("verify", archive.name, "--sha256", digest, cwd=archive.parent)
    assert (run.code, run.err) == (0, "")
    assert lines(run.out) == [
        "ok sha256: as given",
        "ok archive: nothing in it is unsafe to open",
        "ok entries: 5 read to their ends, CRC-32 compared",
        f"ok format: {MUSTS} requirements that are a MUST, 3 pages",
        f"ok {INDEX}: 3 rows compared",
        f"kitchen.memoryfield.zip: 3 pages, 1 other file, 1 index, {size(archive.stat().st_size)}",
        f"sha256 {digest}",
        f"content {forked('info', '-f', kitchen, '--json').json['content_hash']}",
    ]
    silent = forked("verify", archive)
    assert silent.code == 0
    assert "nothing was promised" in silent.err


def test_faults_are_all_told_and_end_with_1(tmp_path: Path) -> None:
    archive = tmp_path / "x.memoryfield.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("a.md", "---\ncreated: 2026-01-01\n---\nText\n")
        packed.writestr("b.md", b"caf\xe9\n")
        packed.writestr("\u202e.png", "text")
    raw = archive.read_bytes()
    archive.write_bytes(raw.replace(b"text", b"tex7", 1))
    run = on_terminal("verify", archive) if sys.platform != "win32" else forked("verify", archive)
    assert run.code == 1
    plain = unstyled(run.out)
    for line in ("a.md:2:1: error F-8", "b.md:1:4: error P-1", "\\u202e.png: error A-1", "FAULTS entries", "3 faults"):
        assert line in plain, plain
    assert "\u202e" not in plain
    report = forked("verify", archive, "--json")
    assert (report.code, report.json["holds"], report.json["content_hash"]) == (1, False, None)
    assert [finding["requirement"] for finding in report.json["findings"]] == ["A-1", "F-8", "P-1"]
    assert report.json["sha256"] == _sha256(archive)


def test_another_archive_than_the_promised_one_is_refused_unread(archive: Path) -> None:
    promised = "0" * 64
    archive.write_bytes(b"not even a zip")
    run = forked("verify", archive, "--sha256", promised)
    assert (run.code, run.out) == (3, "")
    assert promised in run.err
    assert _sha256(archive) in run.err


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="there is no sha256sum")
def test_a_sidecar_as_sha256sum_writes_it(archive: Path) -> None:
    beside = archive.with_name(archive.name + ".sha256")
    made = subprocess.run(["sha256sum", archive.name], cwd=archive.parent, capture_output=True, check=True)
    beside.write_bytes(made.stdout)
    run = forked("verify", archive, "--sidecar")
    assert run.code == 0
    assert "ok sha256: as in the sidecar" in run.out
    with archive.open("ab") as file:
        file.write(b"\0")
    assert forked("verify", archive, "--sidecar").code == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["kitchen"], "memoryfield validate"),
        (["https://example.org/x.memoryfield.zip"], "Download"),
        (["nowhere.memoryfield.zip"], "no folder or archive"),
        (["kitchen.memoryfield.zip", "--sha256", "abc"], "64 hexadecimal digits"),
        (["kitchen.memoryfield.zip", "--sidecar"], "there is no"),
        (["kitchen.memoryfield.zip", "--sidecar", "--sha256", "0" * 64], "Choose one"),
        (["kitchen.memoryfield.zip", "--allow", "x=1"], "is no limit"),
    ],
)
def test_what_cannot_be_verified_is_wrong_usage(archive: Path, tmp_path: Path, arguments: list[str], told: str) -> None:
    run = forked("verify", *arguments, cwd=tmp_path)
    assert (run.code, run.out) == (2, "")
    assert told in run.err


def test_what_is_no_zip_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "no.memoryfield.zip").write_bytes(b"no zip")
    run = forked("verify", "no.memoryfield.zip", cwd=tmp_path)
    assert (run.code, run.out) == (1, "")
    assert "is not a readable zip" in run.err
