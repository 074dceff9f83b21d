"""The entries in the configurations of harnesses: where they go, what they say, and that nothing else changes."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from memoryfield.agents import mcp_install
from memoryfield.agents.mcp_install import HARNESSES
from memoryfield.errors import RefusedError

from ..cli.support import Run, forked, make_kitchen, memoryfield

AGENTS = [harness.name for harness in HARNESSES]
WINDOWS = sys.platform == "win32"

PLACES = {
    ("claude-code", "project"): (".mcp.json", ("mcpServers",)),
    ("claude-code", "user"): (".claude.json", ("mcpServers",)),
    ("codex", "project"): (".codex/config.toml", ("mcp_servers",)),
    ("codex", "user"): (".codex/config.toml", ("mcp_servers",)),
    ("cursor", "project"): (".cursor/mcp.json", ("mcpServers",)),
    ("cursor", "user"): (".cursor/mcp.json", ("mcpServers",)),
    ("copilot", "project"): (".vscode/mcp.json", ("servers",)),
    ("copilot", "user"): (".copilot/mcp-config.json", ("mcpServers",)),
    ("gemini", "project"): (".gemini/settings.json", ("mcpServers",)),
    ("gemini", "user"): (".gemini/settings.json", ("mcpServers",)),
    ("opencode", "project"): ("opencode.json", ("mcp", "servers")),
    ("opencode", "user"): (".config/opencode/opencode.json", ("mcp", "servers")),
}
"""Where each harness looks, under the project's folder or the home folder, and the keys that lead to its servers."""


class House:
    """A home folder, and a project in it that holds a field."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.project = home / "project"
        make_kitchen(self.project / "notes")

    def run(self, *arguments: str | Path, **env: str) -> Run:
        """A command in the project."""
        return forked("mcp", *arguments, cwd=self.project, env={"HOME": str(self.home), **env})

    def file(self, agent: str, scope: str) -> Path:
        """The configuration."""
        return (self.project if scope == "project" else self.home) / PLACES[agent, scope][0]

    def entry(self, agent: str, scope: str) -> dict[str, Any]:
        """Ours, as the harness reads it."""
        raw = self.file(agent, scope).read_text(encoding="utf-8")
        found: Any = tomllib.loads(raw) if raw and self.file(agent, scope).suffix == ".toml" else json.loads(raw)
        for key in (*PLACES[agent, scope][1], "memoryfield"):
            found = found[key]
        assert isinstance(found, dict)
        return found


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "home")


def words(entry: dict[str, Any]) -> list[str]:
    start = entry["command"]
    return [*start, *entry.get("args", [])] if isinstance(start, list) else [start, *entry["args"]]


@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("agent", AGENTS)
def test_it_is_installed_once_and_taken_out_again(house: House, agent: str, scope: str) -> None:
    first = house.run("install", "--agent", agent, f"--{scope}", "-f", "notes", "--allow-writes")
    assert first.code == 0, first.err
    file = house.file(agent, scope)
    place = ("~/" if scope == "user" else "") + PLACES[agent, scope][0]
    assert first.out.startswith(f"{agent}\t{scope}\tinstalled\t{place}\tmemoryfield mcp -f ")
    entry = house.entry(agent, scope)
    said = words(entry)
    assert said[said.index("mcp") : said.index("mcp") + 2] == ["mcp", "-f"]
    assert said[-1] == "--allow-writes"
    if scope == "user":
        assert said[-2] == str(house.project / "notes")
        assert Path(said[0]).is_absolute()
    else:
        assert said[-2] == ("${workspaceFolder}/notes" if agent in ("cursor", "copilot") else "./notes")
    raw = file.read_bytes()
    again = house.run("install", "--agent", agent, f"--{scope}", "-f", "notes", "--allow-writes")
    assert again.out.split("\t")[2] == "unchanged"
    assert file.read_bytes() == raw
    changed = house.run("install", "--agent", agent, f"--{scope}", "-f", "notes", "--json")
    assert changed.json["agents"][0]["state"] == "installed"
    assert "--allow-writes" not in words(house.entry(agent, scope))
    assert house.run("uninstall", "--agent", agent, f"--{scope}").out.split("\t")[2] == "removed"
    assert file.read_text(encoding="utf-8").strip() in ("{}", "")
    assert house.run("uninstall", "--agent", agent, f"--{scope}").out.split("\t")[2] == "absent"


def test_the_entries_have_the_shapes_that_the_harnesses_read(house: House) -> None:
    for agent in AGENTS:
        for scope in ("project", "user"):
            assert house.run("install", "--agent", agent, f"--{scope}", "-f", "notes").code == 0
    stdio = {"type", "command", "args"}
    keys = {pair: set(house.entry(*pair)) for pair in PLACES}
    assert keys["claude-code", "project"] == keys["claude-code", "user"] == stdio
    assert keys["cursor", "project"] == keys["cursor", "user"] == keys["copilot", "project"] == stdio
    assert keys["copilot", "user"] == {*stdio, "tools"}
    assert keys["codex", "user"] == keys["gemini", "project"] == {"command", "args"}
    assert house.entry("opencode", "user")["type"] == "local"
    assert isinstance(house.entry("opencode", "user")["command"], list)


OTHERS = {
    ".mcp.json": '{\n    // ours\n    "mcpServers": {\n        "b": {"command": "b"} // b\n    }\n}\n',
    ".codex/config.toml": (
        '# mine\nmodel = "x"   # why\n\n[mcp_servers.b]  # b\ncommand = "b"\nargs = [ "1",\n  "2" ]\n\n'
        '[profiles.x]\nmodel = "y"\n'
    ),
    ".cursor/mcp.json": '{"mcpServers":{"b":{"url":"http://localhost:1"}}}',
    ".vscode/mcp.json": '{\r\n\t"inputs": [],\r\n\t"servers": {},\r\n}\r\n',
    ".gemini/settings.json": '{\n  "theme": "dark",\n  "mcpServers": {\n    "b": {"trust": true},\n  }\n}',
    "opencode.json": '{\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {"servers": {"b": {}}}\n}\n',
}


@pytest.mark.parametrize("agent", AGENTS)
def test_others_and_comments_stay_byte_for_byte(house: House, agent: str) -> None:
    file = house.file(agent, "project")
    before = OTHERS[file.relative_to(house.project).as_posix()]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(before.encode())
    assert house.run("install", "--agent", agent, "--project", "-f", "notes").code == 0
    after = file.read_bytes().decode()
    assert after != before
    missing = [line for line in before.splitlines() if line.strip(",{} \t") and line.strip(", \t\r") not in after]
    assert [line for line in missing if "servers" not in line and '"b"' not in line] == []
    assert house.run("uninstall", "--agent", agent, "--project").code == 0
    left = file.read_bytes().decode()
    if agent == "copilot":  # an object that is left empty goes
        assert left == before.replace('\r\n\t"servers": {},', "")
    else:
        assert left == before


def test_keys_that_somebody_added_to_our_entry_stay(house: House) -> None:
    assert house.run("install", "--agent", "gemini", "--project", "-f", "notes").code == 0
    file = house.file("gemini", "project")
    file.write_text(file.read_text().replace('"args"', '"trust": true, // yes\n      "args"'), encoding="utf-8")
    assert house.run("install", "--agent", "gemini", "--project", "-f", "notes", "--allow-writes").code == 0
    text = file.read_text(encoding="utf-8")
    assert '"trust": true, // yes' in text
    assert '"--allow-writes"' in text
    codex = house.file("codex", "user")
    codex.parent.mkdir()
    codex.write_text('[mcp_servers.memoryfield]\ncommand = "old"\nstartup_timeout_sec = 20 # slow\n', encoding="utf-8")
    assert house.run("install", "--agent", "codex", "-f", "notes").code == 0
    assert "startup_timeout_sec = 20 # slow" in codex.read_text(encoding="utf-8")
    assert house.entry("codex", "user")["args"][0] == "mcp"


@pytest.mark.parametrize(
    ("agent", "text", "place"),
    [
        ("claude-code", b'{\n  "mcpServers": {\n    "a": 1\n    "b": 2\n  }\n}', "4:5"),
        ("cursor", b"not json", "1:1"),
        ("gemini", b'{"mcpServers": {}', "1:18"),
        ("codex", b'model = "x"\nbroken\n', "2:7"),
        ("opencode", b'{"a": "\xff"}', "1"),
    ],
)
def test_a_broken_configuration_is_not_touched(house: House, agent: str, text: bytes, place: str) -> None:
    file = house.file(agent, "project")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text)
    for words_ in (
        ("install", "--agent", agent, "--project", "-f", "notes"),
        ("uninstall", "--agent", agent, "--project"),
    ):
        refused = house.run(*words_)
        assert refused.code == 3
        assert f"{file}:{place}" in refused.err
        assert file.read_bytes() == text
    shown = house.run("status", "--json").json["agents"]
    states = {(one["agent"], one["scope"]): one for one in shown}
    assert states[agent, "project"]["state"] == "broken"
    assert place in states[agent, "project"]["note"]


@pytest.mark.parametrize("text", ['{"mcpServers": []}', "[]"])
def test_what_should_be_an_object_and_is_none_is_not_replaced(house: House, text: str) -> None:
    file = house.file("claude-code", "project")
    file.write_text(text, encoding="utf-8")
    refused = house.run("install", "--agent", "claude-code", "--project", "-f", "notes")
    assert refused.code == 3
    assert "is no object" in refused.err
    assert file.read_text(encoding="utf-8") == text


def test_opencode_keeps_the_file_and_the_shape_that_it_has(house: House) -> None:
    file = house.project / "opencode.jsonc"
    before = '{\n  // of version 1\n  "mcp": {\n    "b": {"type": "local", "enabled": true},\n  },\n}\n'
    file.write_text(before, encoding="utf-8")
    assert house.run("install", "--agent", "opencode", "--project", "-f", "notes").code == 0
    assert '\n    "memoryfield": {' in file.read_text(encoding="utf-8")
    assert "servers" not in file.read_text(encoding="utf-8")
    assert not (house.project / "opencode.json").exists()
    assert house.run("install", "--agent", "opencode", "--project", "-f", "notes").out.split("\t")[2] == "unchanged"
    assert house.run("uninstall", "--agent", "opencode", "--project").code == 0
    assert file.read_text(encoding="utf-8") == before


@pytest.mark.skipif(WINDOWS, reason="links and permissions of POSIX")
def test_links_and_permissions_stay(house: House) -> None:
    real = house.home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_text("{}", encoding="utf-8")
    real.chmod(0o600)
    link = house.file("claude-code", "user")
    link.symlink_to(real)
    assert house.run("install", "--agent", "claude-code", "-f", "notes").code == 0
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert house.entry("claude-code", "user")
    assert [path.name for path in real.parent.iterdir()] == ["claude.json"]


def test_folders_that_variables_name_are_taken(house: House) -> None:
    there = house.home / "elsewhere"
    for agent, variable, rest in (
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("copilot", "COPILOT_HOME", "mcp-config.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/opencode.json"),
    ):
        done = house.run("install", "--agent", agent, "-f", "notes", **{variable: str(there)})
        assert done.code == 0, done.err
        assert (there / rest).is_file()
        assert not house.file(agent, "user").exists()


def test_a_name_stays_a_name(house: House) -> None:
    config = {"MEMORYFIELD_CONFIG": str(house.home / "names")}
    named = forked("add", "kitchen", "notes", cwd=house.project, env={"HOME": str(house.home), **config})
    assert named.code == 0, named.err
    done = house.run("install", "--agent", "cursor", "-f", "kitchen", "-f", "./notes", "--json", **config)
    said = done.json["agents"][0]["command"]
    assert said[said.index("mcp") :] == ["mcp", "-f", "kitchen", "-f", str(house.project / "notes")]


def test_without_a_field_it_is_the_one_that_commands_work_on(house: House) -> None:
    done = house.run("install", "--agent", "claude-code", MEMORYFIELD="notes")
    assert done.code == 0, done.err
    assert words(house.entry("claude-code", "user"))[-2:] == ["-f", str(house.project / "notes")]
    nothing = house.run("install", "--agent", "cursor")
    assert nothing.code == 2
    assert "no memoryfield here" in nothing.err
    nowhere = house.run("install", "--agent", "cursor", "-f", "nowhere")
    assert nowhere.code == 2
    assert not house.file("cursor", "user").exists()


def test_wrong_use_is_told(house: House) -> None:
    unknown = house.run("install", "--agent", "emacs", "-f", "notes")
    assert unknown.code == 2
    assert "They are claude-code, codex" in unknown.err
    assert house.run("install", "-f", "notes").code == 2
    assert "stand after its name" in house.run("-f", "notes", "status").err
    assert "--port goes with --http" in house.run("-f", "notes", "--port", "1").err


def test_a_change_by_somebody_else_meanwhile_is_not_lost(house: House) -> None:
    file = house.file("claude-code", "user")
    file.write_text("{}", encoding="utf-8")
    ours = mcp_install._File(file)
    ours.put(("mcpServers", "memoryfield"), {"command": "x"})
    file.write_text('{"theme": "dark"}', encoding="utf-8")
    with pytest.raises(RefusedError, match="changed by somebody else"):
        ours.save()
    assert file.read_text(encoding="utf-8") == '{"theme": "dark"}'
    assert sorted(path.name for path in house.home.iterdir()) == [".claude.json", "project"]


def test_status_tells_what_starts_the_server(house: House) -> None:
    assert house.run("install", "--agent", "codex", "--project", "-f", "notes").code == 0
    shown = {(one["agent"], one["scope"]): one for one in house.run("status", "--json").json["agents"]}
    assert set(shown) == set(PLACES)
    assert [pair for pair, one in shown.items() if one["state"] == "installed"] == [("codex", "project")]
    assert shown["codex", "project"]["command"][-2:] == ["-f", "./notes"]


def test_the_command_that_is_written_starts_the_server(house: House) -> None:
    pytest.importorskip("mcp")
    assert (
        memoryfield(
            "mcp", "install", "--agent", "claude-code", "-f", "notes", cwd=house.project, env={"HOME": str(house.home)}
        ).code
        == 0
    )
    said = words(house.entry("claude-code", "user"))
    done = subprocess.run(said, input=b"", capture_output=True, cwd=house.home, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
