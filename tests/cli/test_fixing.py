"""validate --fix and --diff: what they do, what they print, and what they refuse."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .support import contents, forked, make_kitchen, memoryfield, on_terminal, write_page

HOSE = "---\ntitle: Re: the hose\ncreated: 2026-05-02 10:00:00+02:00 # by hand\n---\n\nSee [pans](Pans%20Old.md).\r\n"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    write_page(folder, "The Hose.md", HOSE)
    write_page(folder, "Pans Old.md", "# Pans\n\nOld ones.\n")
    return folder


def test_a_diff_is_shown_as_a_patch_and_nothing_is_done(inbox: Path) -> None:
    before = contents(inbox)
    run = memoryfield("validate", "-f", inbox, "--diff")
    assert (run.code, run.err.strip().splitlines()[-1]) == (1, "2 pages would change")
    assert contents(inbox) == before
    patch = inbox.parent / "fix.patch"
    patch.write_bytes(run.raw)
    subprocess.run(["git", "apply", "--unsafe-paths", f"--directory={inbox}", patch], cwd=inbox.parent, check=True)
    assert sorted(contents(inbox)) == ["pans-old.md", "the-hose.md"]
    assert forked("validate", "-f", inbox, "--strict", "--ignore", "R").code == 0


def test_a_fix_is_told_line_by_line_and_the_rest_is_validated(inbox: Path) -> None:
    run = forked("validate", "-f", inbox, "--fix")
    assert run.code == 0
    for line in (
        "Pans Old.md: mended P-2: renames it to pans-old.md",
        "Pans Old.md:1: mended P-3: puts frontmatter on top",
        "The Hose.md:2: mended F-7: puts quotes around the value of title",
        "The Hose.md:3: mended F-8: puts quotes around created",
        "The Hose.md:6: mended P-2: lets the link to Pans Old.md lead to pans-old.md",
    ):
        assert line in run.out.splitlines()
    assert "# by hand" in (inbox / "the-hose.md").read_text()
    again = forked("validate", "-f", inbox, "--fix", "--json").json
    assert (again["fixed"], again["errors"], again["warnings"]) == ([], 0, 0)
    assert forked("validate", "-f", inbox, "--diff").err == "nothing to mend\n"
    assert forked("validate", "-f", inbox, "--diff").code == 0


def test_json_tells_what_was_mended(inbox: Path) -> None:
    told = forked("validate", "-f", inbox, "--diff", "--json").json
    assert [(change["filename"], change["new_name"]) for change in told["changes"]] == [
        ("Pans Old.md", "pans-old.md"),
        ("The Hose.md", "the-hose.md"),
    ]
    assert all("diff --git" in change["diff"] for change in told["changes"])
    fixed = forked("validate", "-f", inbox, "--fix", "--json").json["fixed"]
    assert [(one["filename"], one["new_name"], one["problem"]) for one in fixed] == [
        ("Pans Old.md", "pans-old.md", ""),
        ("The Hose.md", "the-hose.md", ""),
    ]
    assert {"requirement": "F-8", "line": 3, "message": "puts quotes around created"} in fixed[1]["mended"]


@pytest.mark.parametrize("form", ["github", "sarif"])
def test_what_was_mended_does_not_mix_with_a_report_for_programs(inbox: Path, form: str) -> None:
    run = forked("validate", "-f", inbox, "--fix", "--format", form)
    assert "mended" not in run.out
    assert "mended P-2" in run.err


def test_a_fix_names_its_field(inbox: Path) -> None:
    before = contents(inbox)
    run = forked("validate", "--fix", cwd=inbox)
    assert (run.code, run.out) == (2, "")
    assert "-f ." in run.err
    assert contents(inbox) == before
    assert forked("validate", "--fix", "-f", ".", cwd=inbox).code == 0
    assert forked("validate", "--fix", cwd=inbox.parent, env={"MEMORYFIELD": str(inbox)}).code == 0


@pytest.mark.parametrize("option", ["--fix", "--diff"])
@pytest.mark.parametrize("choice", [["--select", "F"], ["--ignore", "P-2"]])
def test_what_is_mended_cannot_be_chosen(inbox: Path, option: str, choice: list[str]) -> None:
    run = forked("validate", "-f", inbox, option, *choice)
    assert (run.code, run.out) == (2, "")


def test_an_archive_can_be_looked_at_and_not_mended(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen")
    write_page(kitchen, "bare.md", "# Bare\n\nText.\n")
    archive = tmp_path / "kitchen.memoryfield.zip"
    assert forked("pack", "-f", kitchen, "-o", archive).code == 0
    before = archive.read_bytes()
    assert "+title: Bare" in forked("validate", "-f", archive, "--diff").out
    run = forked("validate", "-f", archive, "--fix")
    assert (run.code, "read-only" in run.err) == (3, True)
    assert archive.read_bytes() == before


def test_a_patch_is_harmless_on_a_terminal(inbox: Path) -> None:
    write_page(inbox, "evil.md", "# \x1b]0;x\x07 title\n\nText \x9b31m.\r\n")
    run = on_terminal("validate", "-f", inbox, "--diff")
    assert "\x1b]0;" not in run.out
    assert "\\x1b]0;x" in run.out
