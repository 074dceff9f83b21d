"""`skill install`, `uninstall` and `status`: where each harness looks, and nothing of anybody else's is touched."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from memoryfield.agents import skill

from ..cli.support import Run, forked, make_kitchen

FILE = "memoryfield/SKILL.md"
FOLDERS = {
    "claude-code": (".claude/skills", ".claude/skills"),
    "codex": (".agents/skills", ".agents/skills"),
    "cursor": (".cursor/skills", ".cursor/skills"),
    "copilot": (".github/skills", ".copilot/skills"),
    "gemini": (".gemini/skills", ".gemini/skills"),
    "opencode": (".opencode/skills", ".config/opencode/skills"),
    "agents": (".agents/skills", ".agents/skills"),
}
"""Each harness's folder in a project and in the home folder."""

links = pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")


class Person:
    """Somebody with a home folder, who works in a repository in it."""

    def __init__(self, place: Path) -> None:
        self.home = place / "ann"
        self.project = self.home / "work"
        (self.project / ".git").mkdir(parents=True)

    def run(self, *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Run:
        """Run `memoryfield skill …` as they would."""
        home = {"HOME": str(self.home), "USERPROFILE": str(self.home)}
        return forked("skill", *arguments, cwd=cwd or self.project, env={**home, **(env or {})})

    def files(self) -> dict[str, bytes]:
        """All files in the home folder, by their paths from there."""
        found = [path for path in self.home.rglob("*") if path.is_file()]
        return {path.relative_to(self.home).as_posix(): path.read_bytes() for path in found}

    def put(self, path: str, data: bytes) -> Path:
        """A file of theirs."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file


@pytest.fixture
def ann(tmp_path: Path) -> Person:
    return Person(tmp_path)


def old_version() -> bytes:
    """The skill as another version of memoryfield installs it."""
    return skill.stamped(skill.content() + b"\nMore.\n")


def results(run: Run) -> dict[str, str]:
    """What came of each place, by the agents it is for."""
    return {"+".join(place["agents"]): place["result"] for place in run.json["places"]}


@pytest.mark.parametrize("name", FOLDERS)
def test_it_goes_where_the_harness_looks(ann: Person, name: str) -> None:
    project, user = FOLDERS[name]
    assert ann.run("install", "--agent", name).code == 0
    assert ann.files() == {f"{user}/{FILE}": skill.content()}
    assert ann.run("install", "--agent", name, "--project").code == 0
    assert set(ann.files()) == {f"{user}/{FILE}", f"work/{project}/{FILE}"}


@pytest.mark.parametrize(
    ("name", "variable", "folder"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "else/skills"),
        ("copilot", "COPILOT_HOME", "else/skills"),
        ("gemini", "GEMINI_CLI_HOME", "else/.gemini/skills"),
        ("opencode", "XDG_CONFIG_HOME", "else/opencode/skills"),
        ("codex", "CODEX_HOME", ".agents/skills"),
    ],
)
def test_a_variable_that_moves_the_folder_is_honoured(ann: Person, name: str, variable: str, folder: str) -> None:
    moved = {variable: str(ann.home / "else")}
    assert ann.run("install", "--agent", name, env=moved).code == 0
    assert set(ann.files()) == {f"{folder}/{FILE}"}
    assert ann.run("uninstall", "--agent", name, env=moved).code == 0
    assert ann.run("install", "--agent", name, env={variable: ""}).code == 0
    assert set(ann.files()) == {f"{FOLDERS[name][1]}/{FILE}"}


def test_the_project_is_the_repository_that_one_stands_in(ann: Person) -> None:
    below = ann.project / "src" / "deep"
    below.mkdir(parents=True)
    shown = ann.run("install", "--agent", "claude-code", "--project", cwd=below)
    assert set(ann.files()) == {f"work/.claude/skills/{FILE}"}
    assert "installed (claude-code)" in shown.out


def test_the_home_folder_is_not_the_project_of_what_lies_in_it(ann: Person) -> None:
    (ann.home / ".git").mkdir()
    loose = ann.home / "notes"
    loose.mkdir()
    ann.run("install", "--agent", "claude-code", "--project", cwd=loose)
    assert set(ann.files()) == {f"notes/.claude/skills/{FILE}"}


# Which agents


def test_it_is_installed_for_those_that_are_used_here(ann: Person) -> None:
    (ann.home / ".claude").mkdir()
    (ann.home / ".gemini").mkdir()
    shown = ann.run("install")
    assert set(ann.files()) == {f".claude/skills/{FILE}", f".gemini/skills/{FILE}"}
    assert "found here: Claude Code, Gemini CLI" in shown.err
    (ann.project / ".cursor").mkdir()
    assert results(ann.run("install", "--project", "--json")) == dict.fromkeys(
        ("claude-code", "cursor", "gemini"), "installed"
    )


def test_where_none_is_found_it_goes_where_most_look(ann: Person) -> None:
    shown = ann.run("install")
    assert set(ann.files()) == {f".agents/skills/{FILE}"}
    assert "no agent was found here" in shown.err


def test_one_file_serves_all_that_read_the_shared_folder(ann: Person) -> None:
    for folder in (".claude", ".codex", ".cursor", ".config/opencode"):
        (ann.home / folder).mkdir(parents=True)
    shown = ann.run("install")
    assert set(ann.files()) == {f".claude/skills/{FILE}", f".agents/skills/{FILE}"}
    assert "Cursor, OpenCode: also read .agents/skills" in shown.err
    states = {(one["agent"], one["scope"]): one for one in ann.run("status", "--json").json["places"]}
    assert states["cursor", "user"]["state"] == "current"
    assert Path(states["cursor", "user"]["path"]) == ann.home / ".agents/skills" / FILE
    assert states["cursor", "project"]["state"] == "not there"
    assert states["claude-code", "project"]["state"] == "not there"


def test_a_copy_that_is_there_is_kept_current_beside_the_shared_one(ann: Person) -> None:
    ann.put(f".cursor/skills/{FILE}", old_version())
    (ann.home / ".codex").mkdir()
    assert results(ann.run("install", "--json")) == {"codex": "installed", "cursor": "updated"}


def test_an_agent_that_is_not_known_is_wrong_usage(ann: Person) -> None:
    for command in ("install", "uninstall"):
        run = ann.run(command, "--agent", "codex", "--agent", "emacs")
        assert run.code == 2
        assert "no agent 'emacs' is known. They are claude-code, codex" in run.err
    assert ann.run("install", "--project", "--user").code == 2
    assert ann.files() == {}


# What is there already


def test_a_second_time_nothing_changes(ann: Person) -> None:
    assert ": installed (claude-code)" in ann.run("install", "--agent", "claude-code").out
    file = ann.home / ".claude/skills" / FILE
    before = file.stat()
    again = ann.run("install", "--agent", "claude-code")
    assert (again.code, again.out) == (0, f"{file}: unchanged (claude-code)\n")
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_an_older_version_is_updated(ann: Person) -> None:
    ann.put(f".claude/skills/{FILE}", old_version())
    assert [one["state"] for one in ann.run("status", "--json").json["places"]][:2] == ["not there", "old version"]
    assert ann.run("install", "--agent", "claude-code").out.endswith("updated (claude-code)\n")
    assert ann.files() == {f".claude/skills/{FILE}": skill.content()}


@pytest.mark.parametrize(
    ("theirs", "state", "says"),
    [
        (skill.content() + b"\nAlways say please.\n", "edited", "it was edited since it was installed"),
        (b"---\nname: memoryfield\ndescription: Mine.\n---\n\nMine.\n", "not ours", "which is not ours"),
        (b"", "not ours", "which is not ours"),
        (b"\xff\xfe\x00", "not ours", "which is not ours"),
    ],
    ids=["edited", "another's", "empty", "bytes"],
)
def test_what_is_not_ours_or_was_edited_stays(ann: Person, theirs: bytes, state: str, says: str) -> None:
    ann.put(f".claude/skills/{FILE}", theirs)
    run = ann.run("install", "--agent", "claude-code", "--agent", "codex")
    assert run.code == 3
    assert says in run.err
    assert ann.files() == {f".claude/skills/{FILE}": theirs, f".agents/skills/{FILE}": skill.content()}
    places = {
        one["agent"]: one["state"] for one in ann.run("status", "--json").json["places"] if one["scope"] == "user"
    }
    assert places["claude-code"] == state
    gone = ann.run("uninstall", "--json")
    assert gone.code == 3
    assert results(gone) == {"claude-code": "refused", "codex+agents": "removed"}
    assert ann.files() == {f".claude/skills/{FILE}": theirs}


def test_line_ends_that_git_changed_are_no_edit(ann: Person) -> None:
    ann.put(f"work/.claude/skills/{FILE}", skill.content().replace(b"\n", b"\r\n"))
    assert results(ann.run("install", "--project", "--json")) == {"claude-code": "unchanged"}
    assert ann.run("uninstall", "--project").code == 0


def test_one_place_that_fails_does_not_stop_the_others(ann: Person) -> None:
    ann.put(".claude", b"a file in the way")
    run = ann.run("install", "--agent", "claude-code", "--agent", "codex")
    assert run.code == 1
    assert f"error: {ann.home / '.claude/skills' / FILE}: " in run.err
    assert set(ann.files()) == {".claude", f".agents/skills/{FILE}"}


def test_a_folder_in_the_place_of_the_file_is_not_ours(ann: Person) -> None:
    (ann.home / ".claude/skills" / FILE).mkdir(parents=True)
    assert ann.run("install", "--agent", "claude-code").code == 3
    assert ann.run("uninstall").code == 3


@links
def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(ann: Person) -> None:
    pipe = ann.home / ".claude/skills" / FILE
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    assert ann.run("status").code == 1
    assert ann.run("install", "--agent", "claude-code").code == 3
    assert ann.run("uninstall").code == 3
    assert pipe.is_fifo()


# Taking it away


def test_uninstall_removes_the_file_its_folder_and_nothing_else(ann: Person) -> None:
    ann.put(".claude/skills/other/SKILL.md", b"other")
    ann.put(".claude/skills/memoryfield/notes.txt", b"mine")
    for name in ("claude-code", "codex"):
        ann.run("install", "--agent", name)
    gone = ann.run("uninstall")
    assert gone.code == 0
    assert ann.files() == {".claude/skills/other/SKILL.md": b"other", ".claude/skills/memoryfield/notes.txt": b"mine"}
    assert not (ann.home / ".agents/skills/memoryfield").exists()
    assert (ann.home / ".agents/skills").is_dir()


def test_uninstall_goes_by_scope_and_agent(ann: Person) -> None:
    for scope in ("--user", "--project"):
        ann.run("install", "--agent", "claude-code", "--agent", "codex", scope)
    assert results(ann.run("uninstall", "--agent", "claude-code", "--json")) == {"claude-code": "removed"}
    assert results(ann.run("uninstall", "--project", "--json")) == {
        "claude-code": "removed",
        "codex+agents": "removed",
    }
    assert set(ann.files()) == {f".agents/skills/{FILE}"}


def test_there_is_nothing_to_uninstall(ann: Person) -> None:
    run = ann.run("uninstall")
    assert (run.code, run.out, run.err) == (1, "", "note: it is not installed\n")
    assert ann.run("uninstall", "--agent", "codex").code == 1


def test_status_says_who_finds_it(ann: Person) -> None:
    nothing = ann.run("status")
    assert (nothing.code, nothing.out) == (1, "")
    assert nothing.err == f"not there: {', '.join(FOLDERS)}\n"
    assert len(ann.run("status", "--json").json["places"]) == 2 * len(FOLDERS)
    ann.run("install", "--agent", "claude-code")
    ann.run("install", "--agent", "gemini", "--project")
    there = ann.run("status")
    assert there.code == 0
    assert there.out.splitlines() == [
        f"claude-code  user  current  {ann.home / '.claude/skills' / FILE}",
        f"gemini  project  current  {Path('.gemini/skills') / FILE}",
    ]


def test_status_can_be_asked_for_one_scope(ann: Person) -> None:
    ann.run("install", "--agent", "claude-code")
    ann.run("install", "--agent", "gemini", "--project")
    for scope, agent in (("user", "claude-code"), ("project", "gemini")):
        places = ann.run("status", f"--{scope}", "--json").json["places"]
        assert {one["scope"] for one in places} == {scope}
        assert [one["agent"] for one in places if one["state"] == "current"] == [agent]


def test_a_skill_that_is_not_ours_does_not_count_as_installed(ann: Person) -> None:
    ann.put(f".claude/skills/{FILE}", b"mine")
    assert ann.run("status").code == 1


def test_in_the_home_folder_status_tells_each_file_once(ann: Person) -> None:
    ann.run("install", "--agent", "claude-code")
    assert len(ann.run("status", cwd=ann.home).out.splitlines()) == 1


# Links


@links
def test_two_harnesses_with_one_real_folder_have_one_file(ann: Person) -> None:
    (ann.home / ".agents/skills").mkdir(parents=True)
    (ann.home / ".claude").mkdir()
    (ann.home / ".claude/skills").symlink_to(ann.home / ".agents/skills")
    run = ann.run("install", "--agent", "claude-code", "--agent", "codex", "--json")
    assert results(run) == {"claude-code+codex": "installed"}
    assert results(ann.run("uninstall", "--json")) == {"claude-code+codex+agents": "removed"}
    assert (ann.home / ".claude/skills").is_symlink()
    assert ann.files() == {}


@links
def test_a_linked_skill_folder_is_followed(ann: Person) -> None:
    (ann.home / ".claude/skills").mkdir(parents=True)
    link = ann.home / ".claude/skills/memoryfield"
    link.symlink_to(Path("../../.agents/skills/memoryfield"))
    assert results(ann.run("install", "--agent", "claude-code", "--json")) == {"claude-code": "installed"}
    assert results(ann.run("install", "--agent", "codex", "--json")) == {"codex": "unchanged"}
    assert link.is_symlink()
    assert ann.run("uninstall").code == 0
    assert ann.files() == {}
    assert link.is_symlink()


@links
def test_a_folder_that_somebody_linked_stays(ann: Person) -> None:
    folder = ann.home / "dotfiles/skill"
    folder.mkdir(parents=True)
    link = ann.home / ".claude/skills/memoryfield"
    link.parent.mkdir(parents=True)
    link.symlink_to(folder)
    assert ann.run("install", "--agent", "claude-code").code == 0
    assert list(ann.files()) == ["dotfiles/skill/SKILL.md"]
    assert ann.run("uninstall").code == 0
    assert ann.files() == {}
    assert link.is_symlink()
    assert folder.is_dir()


@links
@pytest.mark.parametrize("text", [skill.content(), old_version()], ids=["current", "old"])
def test_a_linked_file_is_somebody_elses(ann: Person, text: bytes) -> None:
    target = ann.put("checkout/SKILL.md", text)
    file = ann.home / ".claude/skills" / FILE
    file.parent.mkdir(parents=True)
    file.symlink_to(target)
    assert ann.run("install", "--agent", "claude-code").code == (0 if text == skill.content() else 3)
    assert ann.run("uninstall").code == 3
    assert target.read_bytes() == text
    assert file.is_symlink()


def test_no_home_folder_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from memoryfield.errors import UsageError

    def none() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", none)
    with pytest.raises(UsageError, match="your home folder is not known"):
        skill.install(["codex"], "user", tmp_path)
    assert skill.install(["codex"], "project", tmp_path).exit_code == 0


@pytest.mark.parametrize("name", FOLDERS)
def test_the_traces_of_each_harness_are_seen(ann: Person, name: str) -> None:
    traces = {"codex": ".codex", "agents": ".agents"}.get(name, str(Path(FOLDERS[name][1]).parent))
    (ann.home / traces).mkdir(parents=True)
    assert results(ann.run("install", "--json")) == {name: "installed"}


def test_a_repository_on_github_is_not_taken_for_one_with_copilot(ann: Person) -> None:
    ann.put("work/.github/workflows/test.yml", b"")
    assert results(ann.run("install", "--project", "--json")) == {"agents": "installed"}
    ann.put("work/.github/copilot-instructions.md", b"")
    ann.run("uninstall", "--project")
    (ann.project / ".agents/skills").rmdir()
    (ann.project / ".agents").rmdir()
    assert results(ann.run("install", "--project", "--json")) == {"copilot": "installed"}


@pytest.mark.parametrize(
    ("variable", "arguments"),
    [
        ("CLAUDE_CONFIG_DIR", ["skill", "install", "--agent", "claude-code"]),
        ("CLAUDE_CONFIG_DIR", ["mcp", "install", "--agent", "claude-code", "-f", "kitchen"]),
        ("CODEX_HOME", ["mcp", "install", "--agent", "codex", "-f", "kitchen"]),
        ("CODEX_HOME", ["mcp", "install", "--agent", "cursor", "--agent", "codex", "-f", "kitchen"]),
    ],
)
@pytest.mark.parametrize("value", ["~nobody-of-this-name/x", "~/x", "x", "./x"])
def test_a_variable_that_is_no_whole_path_is_told(
    tmp_path: Path, variable: str, arguments: list[str], value: str
) -> None:
    make_kitchen(tmp_path / "kitchen")
    run = forked(*arguments, cwd=tmp_path, env={variable: value, "HOME": str(tmp_path / "home")})
    assert (run.code, run.out) == (2, "")
    assert f"{variable} is {value!r}, which is no whole path" in run.err
    assert [path.name for path in tmp_path.iterdir()] == ["kitchen"]


def test_an_empty_home_is_none(ann: Person) -> None:
    told = ann.run("install", "--agent", "claude-code", env={"HOME": "", "USERPROFILE": ""})
    assert told.code == 2
    assert "your home folder is not known" in told.err
    assert ann.run("install", "--agent", "claude-code", "--project", env={"HOME": "", "USERPROFILE": ""}).code == 0
    assert ann.run("status", "--project", env={"HOME": "", "USERPROFILE": ""}).code == 0
