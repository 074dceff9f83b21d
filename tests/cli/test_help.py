"""The help: every command has an example, and every example works as it is printed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryfield.cli.main import COMMANDS

from .support import environment, forked, make_kitchen, memoryfield, write_page


def examples(text: str) -> list[str]:
    """The commands of a help page: the lines that begin with `$ ` under `Example:`."""
    _, _, after = text.partition("Example:\n")
    block = after.partition("\n\n")[0]
    return [line.strip().removeprefix("$ ") for line in block.splitlines() if line.strip().startswith("$ ")]


def _an_empty_folder(place: Path) -> Path:
    return place


def _beside_a_field(place: Path) -> Path:
    make_kitchen(place / "notes", embedded=True)
    return place


def _in_a_field(place: Path) -> Path:
    folder = make_kitchen(place / "notes", embedded=True)
    write_page(folder, "draft.md", "# A draft\n\nText.\n")
    return folder


def _before_writing(place: Path) -> Path:
    folder = _in_a_field(place)
    (folder / "woks.md").unlink()
    return folder


def _with_a_long_page(place: Path) -> Path:
    folder = _in_a_field(place)
    sections = "".join(f"## {name}\n\n" + "It heats evenly.\n" * 400 for name in ("Steel", "Iron"))
    write_page(folder, "woks.md", f"# Woks\n\n{sections}")
    return folder


def _in_a_field_beside_others(place: Path) -> Path:
    folder = _in_a_field(place)
    write_page(folder, "carbon-steel.md", "---\ntitle: Carbon steel woks\nstatus: tested\n---\n\nThin carbon steel.\n")
    make_kitchen(folder / "notes", embedded=True)
    assert forked("pack", "-f", "notes", "-o", "team.memoryfield.zip", cwd=folder).code == 0
    (folder / "questions.txt").write_text("which wok?\n\nwhat is a draft?\n", encoding="utf-8")
    return folder


def _beside_an_archive(place: Path) -> Path:
    make_kitchen(place / "notes")
    assert forked("pack", "-f", "notes", cwd=place).code == 0
    return place


def _beside_a_named_archive(place: Path) -> Path:
    _beside_an_archive(place)
    assert forked("add", "kitchen", "notes.memoryfield.zip", cwd=place).code == 0
    return place


def _beside_other_notes(place: Path) -> Path:
    make_kitchen(place / "notes")
    (place / "vault" / "Cookware").mkdir(parents=True)
    (place / "vault" / "Woks.md").write_text("They heat evenly; see [[Steel]]. #wok\n", encoding="utf-8")
    (place / "vault" / "Cookware" / "Steel.md").write_text("# Steel\n\nIt rusts.\n", encoding="utf-8")
    entity = {"type": "entity", "name": "Kitchen", "entityType": "room", "observations": ["It is small."]}
    (place / "memory.jsonl").write_text(json.dumps(entity) + "\n", encoding="utf-8")
    return place


def _beside_an_older_archive(place: Path) -> Path:
    make_kitchen(place / "notes")
    for name in ("team-in-may", "team"):
        assert forked("pack", "-f", "notes", "-o", f"{name}.memoryfield.zip", cwd=place).code == 0
    return place


PLACES: dict[str, Callable[[Path], Path]] = {
    "": _an_empty_folder,
    "create": _an_empty_folder,
    "write": _before_writing,
    "split": _with_a_long_page,
    "info": _beside_a_field,
    "search": _in_a_field_beside_others,
    "validate": _beside_a_field,
    "pack": _beside_a_field,
    "unpack": _beside_an_archive,
    "verify": _beside_an_archive,
    "diff": _beside_an_archive,
    "add": _beside_an_archive,
    "fields": _beside_a_named_archive,
    "remove": _beside_a_named_archive,
    "update": _beside_a_named_archive,
    "mcp": _beside_a_field,
    "mcp install": _beside_a_field,
    "merge": _beside_an_older_archive,
    "skill": _an_empty_folder,
    "import": _beside_other_notes,
    "export": _beside_a_field,
}
"""Where the examples of a command make sense; those of the others do in a field."""


SUBCOMMANDS = ["skill install", "skill uninstall", "skill status", "mcp install", "mcp uninstall", "mcp status"]


@pytest.fixture(scope="module")
def path_with_command(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH on which `memoryfield` is the one under test."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "memoryfield"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m memoryfield "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.skipif(sys.platform == "win32", reason="the examples are for a POSIX shell")
@pytest.mark.parametrize("name", ["", *COMMANDS, *SUBCOMMANDS])
def test_every_example_works_as_it_is_printed(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, path_with_command: str, name: str
) -> None:
    shown = forked(*name.split(), "--help")
    assert shown.code == 0
    assert shown.err == ""
    script = examples(shown.out)
    assert script, shown.out
    assert all("memoryfield" in line for line in script)
    done = subprocess.run(
        ["sh", "-e"],
        input="\n".join(script) + "\n",
        cwd=PLACES.get(name, _in_a_field)(tmp_path),
        env=environment(PATH=path_with_command, HOME=str(tmp_path_factory.mktemp("home"))),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (script, done)
    assert done.stdout or name in ("edit", "validate", "diff")
    assert "error:" not in done.stderr


def test_the_short_option_shows_the_same_help() -> None:
    assert forked("search", "-h").out == memoryfield("search", "--help").out
