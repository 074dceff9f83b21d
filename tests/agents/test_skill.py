"""SKILL.md: what it says of itself is valid, every command in it runs, and what it tells of their answers is so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from memoryfield import Field
from memoryfield.agents import skill

from ..cli.support import environment, forked

ROOT = Path(__file__).parents[2]
TEXT = skill.content().decode("utf-8")
FRONTMATTER, BODY = re.fullmatch(r"---\n(.*?)\n---\n(.*)", TEXT, re.DOTALL).groups()  # type: ignore[union-attr]
MOST_TOKENS = 1200

on_posix = pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell")


def blocks() -> list[str]:
    """The commands in fences, block by block."""
    return re.findall(r"^```sh\n(.*?)^```$", BODY, re.MULTILINE | re.DOTALL)


def inline_commands() -> list[str]:
    """The commands in the text."""
    return re.findall(r"`((?:memoryfield|python3 -m memoryfield)\b[^`\n]*)`", re.sub(r"(?ms)^```.*?^```$", "", BODY))


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Those of the sample notes that the skill speaks of; the commands run one after the other, as an agent's would."""
    place = tmp_path_factory.mktemp("place") / "fieldnotes"
    place.mkdir()
    for topic in ("csv", "http", "time"):  # to embed all would take most of the time
        for page in (ROOT / "samples" / "fieldnotes").glob(f"{topic}-*.md"):
            shutil.copy(page, place)
    with Field.open(place) as field:
        field.sync()
    return place


@pytest.fixture(scope="module")
def shell(field: Path, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(field, tmp_path_factory.mktemp("bin"))


class Shell:
    """Runs commands in a shell beside a field that MEMORYFIELD names, with `memoryfield` on the PATH."""

    def __init__(self, field: Path, bin_folder: Path) -> None:
        self.folder = field.parent
        for name, words in (("memoryfield", "-m memoryfield"), ("python3", "")):
            script = bin_folder / name
            script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n', encoding="utf-8")
            script.chmod(0o755)
        path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
        self._environment = environment(PATH=path, MEMORYFIELD=str(field))

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        """Run a script to its end, or to the first command that fails."""
        return subprocess.run(
            ["sh", "-e"],
            input=script,
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def output(self, script: str) -> str:
        """What a script printed, which went well."""
        done = self.run(script)
        assert done.returncode == 0, (script, done)
        assert "error:" not in done.stderr, (script, done)
        return done.stdout


def test_the_frontmatter_is_what_the_specification_allows() -> None:
    """https://agentskills.io/specification"""
    facts = yaml.safe_load(FRONTMATTER)
    assert set(facts) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert facts["name"] == skill.NAME
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", facts["name"])
    assert 0 < len(facts["description"]) <= 1024
    assert 0 < len(facts["compatibility"]) <= 500
    assert all(isinstance(value, str) for value in facts["metadata"].values())


def test_the_stamp_is_that_of_the_text() -> None:
    """After a change of the text: `python -m tests.agents.stamp`."""
    assert skill.stamped(skill.content()) == skill.content()


def test_the_skill_is_short() -> None:
    """In tokens of o200k_base if a tokenizer is there; and by its bytes, of which it has more than four a token."""
    assert len(TEXT.encode("utf-8")) <= 4.2 * MOST_TOKENS
    bpe = pytest.importorskip("bpe_openai")
    assert len(bpe.get_encoding("o200k_base").encode(TEXT)) <= MOST_TOKENS


@on_posix
def test_every_command_in_fences_runs(shell: Shell) -> None:
    for block in blocks():
        before, edit, after = block.replace("/tmp/", f"{shell.folder}/").partition("# edit")
        printed = shell.output(before)
        if edit:
            found = re.search(r"\b([0-9a-f]{64})  (\S+)$", printed, re.MULTILINE)
            assert found
            draft = Path(found[2])
            draft.write_text(draft.read_text("utf-8") + "\nA tab needs no quotes.\n", encoding="utf-8")
            commands = after.partition("\n")[2]
            assert "SHA256" in commands
            shell.output(commands.replace("SHA256", found[1]))
            draft.unlink()
            assert "A tab needs no quotes." in shell.output("memoryfield read csv-quoting-rules")
    assert "Calendar invitations" in shell.output("memoryfield read team-time-zone")


@on_posix
def test_every_command_in_the_text_runs(shell: Shell) -> None:
    page = "page-to-forget"
    shell.output(f"echo Nothing. | memoryfield write {page}")
    given = {"PAGE": page, "FOLDER": "new", "COMMAND": "search"}
    commands = inline_commands()
    assert len(commands) > 3
    for command in commands:
        words = [given.get(word, word) for word in command.split()]
        if words == ["python3", "-m", "memoryfield"]:
            words.append("--version")
        shell.output(" ".join(words))
    assert shell.run(f"memoryfield read {page}").returncode == 1


@on_posix
def test_the_answers_are_as_the_skill_tells(shell: Shell) -> None:
    found = shell.output('memoryfield search "why did my job run twice when the clocks changed?"')
    assert re.search(r"\b(strong|weak) 0\.\d\d .*\btime-cron-dst\.md\b", found)
    none = shell.run("memoryfield search zebra migration patterns")
    assert (none.returncode, none.stdout, none.stderr.splitlines()[-1]) == (1, "", "nothing found")
    several = shell.output("memoryfield read time-cron-dst time-store-utc")
    assert "==> time-cron-dst.md <==" in several
    assert "==> time-store-utc.md <==" in several


@on_posix
@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("memoryfield read no-such-page", 1, "no page"),
        ("memoryfield serach wok", 2, "search"),
        ("memoryfield -f . search wok", 2, "-f"),
        ("env -u MEMORYFIELD memoryfield search wok", 2, "no memoryfield here"),
        ("echo x | memoryfield write csv-quoting-rules", 3, "exists already"),
        ("echo x | memoryfield write csv-quoting-rules --replace --if-match 00", 3, "Read it again"),
        ("memoryfield pack -o x.memoryfield.zip; echo x | memoryfield write -f x.memoryfield.zip new", 3, "archive"),
    ],
)
def test_a_failure_has_the_exit_code_that_the_skill_tells(shell: Shell, command: str, code: int, says: str) -> None:
    done = shell.run(command)
    assert done.returncode == code, done
    assert says in done.stderr


def test_it_is_printed_byte_for_byte() -> None:
    assert forked("skill").raw == (ROOT / "memoryfield" / "agents" / "SKILL.md").read_bytes()
