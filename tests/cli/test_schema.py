"""What `schema` tells of the commands is what they are: held against their help and how they end."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from memoryfield import __version__
from memoryfield.cli.main import COMMANDS
from memoryfield.cli.schema import EXIT_CODES, OWN_EXIT_CODES
from memoryfield.specification import closure, referred

from .support import forked, make_kitchen, memoryfield, on_terminal, write_page
from .test_help import SUBCOMMANDS, examples

README = Path(__file__).parents[2] / "README.md"


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """All that `schema` tells."""
    found: dict[str, Any] = forked("schema").json
    return found


def of(told: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {one["name"]: one for one in told["commands"]}[name]
    return found


def listed(text: str, heading: str) -> list[str]:
    """The entries of a part of a help page, each with all its lines on one."""
    _, _, after = text.partition(f"\n{heading}:\n")
    return [" ".join(entry.split()) for entry in re.split(r"\n  (?! )", "\n" + after.partition("\n\n")[0])[1:]]


def test_every_command_is_told_once_and_in_order(told: dict[str, Any]) -> None:
    assert [one["name"] for one in told["commands"] if " " not in one["name"]] == list(COMMANDS)
    assert told["version"] == __version__


@pytest.mark.parametrize("name", COMMANDS)
def test_the_options_are_those_of_the_help_and_the_other_way_round(told: dict[str, Any], name: str) -> None:
    shown = listed(forked(name, "--help", env={"COLUMNS": "300"}).out, "Options")
    command = of(told, name)
    assert shown.pop().startswith("-h, --help ")
    assert len(shown) == len(command["options"])
    for line, option in zip(shown, command["options"], strict=True):
        names = re.match(r"(-[\w-]+(?:, -[\w-]+)*)", line)
        assert names
        assert sorted(names[0].split(", ")) == sorted(option["names"])
        assert option["help"] in line
        assert option.get("metavar", "") in line
        assert ("default" in option) == ("[default: " in line), line
        if "default" in option:
            assert f"default: {option['default']}" in line
        assert all(choice in line for choice in option.get("choices", []))
        assert (option["type"] == "boolean") == line.startswith(f"{names[0]} {option['help']}")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_arguments_are_those_of_the_help_and_the_other_way_round(told: dict[str, Any], name: str) -> None:
    text = forked(name, "--help", env={"COLUMNS": "300"}).out
    shown = listed(text, "Arguments")
    command = of(told, name)
    assert len(shown) == len(command["arguments"])
    for line, argument in zip(shown, command["arguments"], strict=True):
        assert argument["help"] in line
        assert argument.get("metavar", argument["name"]) in line
        assert argument.get("required", False) == ("[required]" in line)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_and_examples_are_those_of_the_help(told: dict[str, Any], name: str) -> None:
    text = forked(name, "--help").out
    command = of(told, name)
    assert command["examples"] == examples(text)
    assert command["help"].replace("\n", " ") in " ".join(text.split())


def test_an_option_that_is_told_as_repeatable_can_be_repeated_and_no_other(told: dict[str, Any]) -> None:
    for command in told["commands"]:
        for option in command["options"]:
            if "--field" in option["names"]:
                assert option.get("multiple", False) == (command["name"] in ("search", "mcp", "mcp install")), command[
                    "name"
                ]


def test_one_command_is_told_with_what_its_answer_needs(told: dict[str, Any]) -> None:
    for name in COMMANDS:
        one = forked("schema", name).json
        assert one["commands"] == [each for each in told["commands"] if each["name"].split()[0] == name]
        assert one["$defs"] == closure(referred(one["commands"]))
        assert set(referred(one)) <= one["$defs"].keys()
    assert set(referred(told)) == told["$defs"].keys()


def test_one_of_the_commands_inside_of_another_is_told_alone(told: dict[str, Any]) -> None:
    for name in SUBCOMMANDS:
        expected = [of(told, name)]
        assert forked("schema", *name.split()).json["commands"] == expected
        assert forked("schema", name).json["commands"] == expected


def test_a_program_gets_one_line_and_a_person_many() -> None:
    assert forked("schema", "read").out.count("\n") == 1
    assert on_terminal("schema", "read").out.count("\n") > 50


def test_no_such_command_is_wrong_usage() -> None:
    run = forked("schema", "serach")
    assert (run.code, run.out) == (2, "")
    assert "there is no command 'serach'" in run.err
    assert "search" in run.err
    run = forked("schema", "skill", "instal")
    assert (run.code, run.out) == (2, "")
    assert "there is no command 'skill instal'" in run.err
    assert "skill install" in run.err
    assert "rename" not in run.err


# exit codes


def test_the_readme_has_the_table_of_exit_codes() -> None:
    codes = ", ".join(f"{code} {meaning}" for code, meaning in EXIT_CODES.items() if code < 100)
    assert codes in README.read_text(encoding="utf-8")


def test_exit_codes_of_their_own_belong_to_commands() -> None:
    assert OWN_EXIT_CODES.keys() <= COMMANDS.keys() | set(SUBCOMMANDS)
    assert all(codes.keys() <= {1, 2, 3} for codes in OWN_EXIT_CODES.values())


ENDINGS: dict[tuple[str, int], list[str]] = {
    ("create", 3): ["create", "kitchen"],
    ("write", 3): ["write", "woks", "-f", "kitchen"],
    ("read", 1): ["read", "nothing", "-f", "kitchen"],
    ("list", 1): ["list", "-f", "damaged.memoryfield.zip"],
    ("edit", 1): ["edit", "nothing", "-f", "kitchen"],
    ("edit", 3): ["edit", "woks", "-f", "kitchen"],
    ("rename", 1): ["rename", "nothing", "other", "-f", "kitchen"],
    ("rename", 3): ["rename", "woks", "pans", "-f", "kitchen"],
    ("delete", 1): ["delete", "nothing", "-y", "-f", "kitchen"],
    ("delete", 3): ["delete", "woks", "-f", "kitchen"],
    ("embed", 1): ["embed", "-f", "broken"],
    ("search", 1): ["search", "zzz", "-f", "kitchen"],
    ("similar", 1): ["similar", "nothing", "-f", "kitchen"],
    ("validate", 1): ["validate", "-f", "broken"],
    ("pack", 3): ["pack", "-f", "kitchen"],
    ("unpack", 3): ["unpack", "kitchen.memoryfield.zip", "kitchen"],
    ("verify", 1): ["verify", "damaged.memoryfield.zip"],
    ("verify", 3): ["verify", "kitchen.memoryfield.zip", "--sha256", "0" * 64],
    ("diff", 1): ["diff", "kitchen", "broken"],
    ("diff", 2): ["diff", "kitchen", "nowhere"],
    ("merge", 3): ["merge", "broken", "-f", "kitchen"],
    ("add", 3): ["add", "cook", "kitchen.memoryfield.zip", "--sha256", "0" * 64],
    ("fields", 1): ["fields", "--check"],
    ("fields", 3): ["fields", "--check"],
    ("update", 3): ["update", "cook"],
    ("write", 1): ["write", "woks", "-f", "kitchen", "--append", "--section", "Nothing"],
    ("split", 1): ["split", "nothing", "-f", "kitchen"],
    ("split", 3): ["split", "woks", "-f", "kitchen", "--if-match", "0" * 64],
    ("import", 1): ["import", "nothing-here", "-f", "kitchen"],
    ("import", 3): ["import", "notes", "-f", "kitchen"],
    ("export", 3): ["export", "broken", "-f", "kitchen", "--to", "markdown"],
    ("skill install", 1): ["skill", "install", "--agent", "claude-code"],
    ("skill install", 3): ["skill", "install", "--agent", "claude-code"],
    ("skill uninstall", 1): ["skill", "uninstall"],
    ("skill uninstall", 3): ["skill", "uninstall"],
    ("skill status", 1): ["skill", "status"],
    ("mcp install", 3): ["mcp", "install", "--agent", "cursor", "-f", "kitchen", "--project"],
}
"""For each exit code with a meaning of its own, a call that ends with it."""


def test_every_exit_code_with_a_meaning_of_its_own_is_tried() -> None:
    assert ENDINGS.keys() == {(name, code) for name, codes in OWN_EXIT_CODES.items() for code in codes}


@pytest.mark.parametrize(("name", "code"), ENDINGS, ids=str)
def test_a_command_ends_with_the_code_that_is_told(tmp_path: Path, name: str, code: int) -> None:
    kitchen, broken = make_kitchen(tmp_path / "kitchen"), make_kitchen(tmp_path / "broken")
    write_page(broken, "latin.md", b"# W\xf6ks\n\nText.\n")
    write_page(broken, "woks.md", "# Woks\n\nAnother text.\n")
    assert forked("pack", "-f", "kitchen", "--store", cwd=tmp_path).code == 0
    archive = tmp_path / "kitchen.memoryfield.zip"
    raw = archive.read_bytes()
    (tmp_path / "damaged.memoryfield.zip").write_bytes(raw.replace(b"A carbon steel wok", b"X carbon steel wok"))
    if name in ("fields", "update"):
        assert forked("add", "cook", "kitchen.memoryfield.zip", cwd=tmp_path).code == 0
        write_page(kitchen, "woks.md", "# Woks\n\nAnother text.\n")
        assert forked("pack", "-f", "kitchen", "--store", "--replace", cwd=tmp_path).code == 0
    if (name, code) == ("fields", 1):
        archive.unlink()
    home = tmp_path / "home"
    if (name, code) == ("skill install", 1):
        write_page(tmp_path, "home", "a file in the way")
    elif name.startswith("skill ") and code == 3:
        mine = home / ".claude/skills/memoryfield"
        mine.mkdir(parents=True)
        write_page(mine, "SKILL.md", "Mine.\n")
    if name == "mcp install":
        (tmp_path / ".cursor").mkdir()
        write_page(tmp_path / ".cursor", "mcp.json", "{ broken")
    if (name, code) == ("import", 1):
        (tmp_path / "nothing-here").mkdir()
        (tmp_path / "nothing-here" / "latin.md").write_bytes(b"W\xf6k\n")
    elif name == "import":
        _make_conflict(tmp_path / "notes", kitchen)
    script = tmp_path / "editor.sh"
    script.write_text(f"echo Other. >> '{kitchen}/woks.md'; echo More. >> \"$1\"\n")
    run = memoryfield if name in ("embed", "search") else forked
    done = run(*ENDINGS[name, code], cwd=tmp_path, env={"EDITOR": f"sh '{script}'", "HOME": str(home)}, stdin="Text.\n")
    assert done.code == code, done


def _make_conflict(notes: Path, kitchen: Path) -> None:
    """A note that was imported, and then changed on both sides."""
    notes.mkdir()
    write_page(notes, "note.md", "A note.\n")
    assert forked("import", "notes", "-f", "kitchen", cwd=notes.parent).code == 0
    write_page(notes, "note.md", "Another note.\n")
    write_page(kitchen, "note.md", (kitchen / "note.md").read_text() + "More.\n")
