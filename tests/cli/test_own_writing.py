"""What our own commands write follows the format, without a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from .support import forked

TITLES = [
    "Re: a thing",
    "*bold* move",
    "`jq`",
    "No",
    "1.10",
    "2026-03-14",
    "[[link]]",
    "Wöks: “hot”",
    "炭素鋼",
    'a "b" \\ c',
]
TEXTS = ["Plain text.\n", "# A heading\n\nText.\n", "\n\nText below empty lines.\n", "---\n\nA rule, then text.\n"]


def write(field: Path, text: str, *arguments: str) -> None:
    run = forked("write", "-f", field, *arguments, stdin=text)
    assert run.code == 0, run.err


@pytest.mark.parametrize("text", TEXTS)
def test_pages_archives_and_copies_of_them_validate_strictly(tmp_path: Path, text: str) -> None:
    field = tmp_path / "notes"
    assert forked("create", field, "--title", "Kitchen: notes", "--summary", "What *we* know: pans.").code == 0
    for title in TITLES:
        write(field, text, "--title", title, "--summary", f"About {title}")
    write(field, text, "named")
    write(field, "More.\n", "named", "--append")
    write(field, "---\ntags: [a]\nsource: https://example.org\n---\n\n" + text, "tagged")
    write(field, "Other text.\n", "tagged", "--replace")
    assert forked("rename", "-f", field, "named", "renamed").code == 0
    assert forked("delete", "-f", field, "tagged", "--yes").code == 0
    assert forked("embed", "-f", field).code == 0
    assert forked("pack", "-f", field, "-o", tmp_path / "notes.memoryfield.zip").code == 0
    assert forked("unpack", tmp_path / "notes.memoryfield.zip", tmp_path / "copy").code == 0
    for location in (field, tmp_path / "notes.memoryfield.zip", tmp_path / "copy"):
        run = forked("validate", "--strict", "-f", location, "--ignore", "R")
        assert (run.code, run.out) == (0, "")
