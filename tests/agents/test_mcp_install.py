"""The entries in the configurations of harnesses: where they go, what they say, and that nothing else changes."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import sysconfig
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
    old = '[mcp_servers.memoryfield]\ncommand = "/old/memoryfield"\nargs = ["mcp"]\nstartup_timeout_sec = 20 # slow\n'
    codex.write_text(old, encoding="utf-8")
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


def check_refused(house: House, agent: str, text: str, says: str, state: str) -> None:
    """Neither install nor uninstall touches a project's configuration with this text; status calls it so."""
    file = house.file(agent, "project")
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    for words_ in (
        ("install", "--agent", agent, "--project", "-f", "notes"),
        ("uninstall", "--agent", agent, "--project"),
    ):
        refused = house.run(*words_)
        assert refused.code == 3
        assert refused.out == f"{agent}\tproject\trefused\t{file.relative_to(house.project).as_posix()}\n"
        assert f"error: {file}: " in refused.err
        assert says in refused.err
        assert file.read_text(encoding="utf-8") == text
    shown = house.run("status", "--project")
    (line,) = [line for line in shown.out.splitlines() if line.startswith(f"{agent}\t")]
    assert line == f"{agent}\tproject\t{state}\t{file.relative_to(house.project).as_posix()}"
    assert (f"note: {file}: " in shown.err and says in shown.err) == (state == "broken")


@pytest.mark.parametrize(
    ("agent", "text", "says"),
    [
        ("claude-code", '{"mcpServers": []}', "mcpServers is no object"),
        ("claude-code", '{"mcpServers": null}', "mcpServers is no object"),
        ("claude-code", "[]", "the whole is no object"),
        ("opencode", '{"mcp": {"servers": 1}}', "mcp.servers is no object"),
        ("claude-code", '{"mcpServers": {"b": {}}, "mcpServers": {}}', "mcpServers stands twice"),
        ("cursor", '{"mcpServers": {"memoryfield": {}, "memoryfield": {}}}', "mcpServers.memoryfield stands twice"),
        ("codex", "mcp_servers = 1\n", "mcp_servers is no table"),
        ("codex", "[[mcp_servers]]\nname = 'b'\n", "mcp_servers is no table"),
    ],
)
def test_what_holds_no_servers_where_they_belong_is_not_touched(house: House, agent: str, text: str, says: str) -> None:
    check_refused(house, agent, text, says, "broken")


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ("claude-code", '{"mcpServers": {"memoryfield": {"command": "npx", "args": ["-y", "field"]}}}'),
        ("claude-code", '{"mcpServers": {"memoryfield": {"command": "memoryfield", "args": ["serve"]}}}'),
        ("cursor", '{"mcpServers": {"memoryfield": {"command": "npx", "args": ["mcp", "--key", "secret"]}}}'),
        ("gemini", '{"mcpServers": {"memoryfield": {"httpUrl": "http://localhost:1/mcp"}}}'),
        ("cursor", '{"mcpServers": {"memoryfield": "npx"}}'),
        *(
            ("gemini", json.dumps({"mcpServers": {"memoryfield": {"command": words[0], "args": words[1:]}}}))
            for words in (
                ["npx", "-y", "@acme/memoryfield", "mcp"],
                ["echo", "memoryfield", "mcp", "rm -rf"],
                ["memoryfield", "serve", "memoryfield", "mcp"],
                ["/opt/memoryfield.js", "mcp"],
                ["python", "server.py", "-m", "memoryfield", "mcp"],
                ["uvx", "ruff", "memoryfield", "mcp"],
                ["uvx", "--offline", "ruff", "memoryfield", "mcp"],
                ["uvx", "--from", "memoryfield", "mcp"],
                ["uvx", "memoryfield-client", "mcp"],
                ["uv", "run", "memoryfield", "mcp"],
                ["docker", "run", "memoryfield", "mcp"],
            )
        ),
        ("opencode", '{"mcp": {"memoryfield": {"command": ["npx", "-y", "@acme/memoryfield", "mcp"]}}}'),
        ("opencode", '{"mcp": {"memoryfield": {"command": []}}}'),
        ("opencode", '{"mcp": {"memoryfield": {"type": "local", "command": ["npx", "memory", "field"]}}}'),
        ("codex", "[mcp_servers.memoryfield]\ncommand = 'npx'\n"),
        ("codex", "[mcp_servers]\nmemoryfield = 1\n"),
    ],
)
def test_an_entry_of_our_name_that_starts_something_else_is_somebody_elses(house: House, agent: str, text: str) -> None:
    check_refused(
        house, agent, text, "does not start `memoryfield mcp` in a way known here, so it is not ours", "not ours"
    )


@pytest.mark.parametrize(
    "start",
    [
        ["/old/bin/memoryfield", "mcp"],
        ["C:\\Tools\\memoryfield.exe", "mcp"],
        ["/usr/bin/python3", "-m", "memoryfield", "mcp", "-f", "x"],
        ["py", "-3", "-m", "memoryfield", "mcp"],
        ["C:\\Python\\python.exe", "-m", "memoryfield", "mcp"],
        ["python3.13", "-I", "-m", "memoryfield", "mcp"],
        ["uvx", "--from", "memoryfield-cli[mcp]", "memoryfield", "mcp"],
        ["/home/me/.local/bin/uvx", "--from=memoryfield-cli[mcp]", "--offline", "memoryfield", "mcp"],
        ["uv", "tool", "run", "-p", "3.13", "--with", "mcp", "memoryfield", "mcp"],
        ["uvx", "memoryfield-cli[mcp]@latest", "mcp"],
        ["pipx", "run", "--spec", "memoryfield-cli[mcp]", "memoryfield", "mcp"],
    ],
)
def test_an_entry_that_starts_us_in_another_way_is_ours(house: House, start: list[str]) -> None:
    file = house.file("claude-code", "project")
    file.write_text(json.dumps({"mcpServers": {"memoryfield": {"command": start[0], "args": start[1:]}}}))
    assert house.run("status", "--project").out.startswith("claude-code\tproject\tinstalled")
    assert house.run("install", "--agent", "claude-code", "--project", "-f", "notes").code == 0
    assert words(house.entry("claude-code", "project")) == ["memoryfield", "mcp", "-f", "./notes"]
    assert house.run("uninstall", "--agent", "claude-code", "--project").code == 0


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = {b = {command = 'b'}}\n",
        "[mcp_servers]\nmemoryfield = {command = '/old/memoryfield'}\n".replace("}", ", args = ['mcp']}"),
    ],
)
def test_inline_tables_are_refused_in_words(house: House, text: str) -> None:
    file = house.file("codex", "user")
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    refused = house.run("install", "--agent", "codex", "-f", "notes")
    assert refused.code == 3
    assert "mcp_servers is written in a way that cannot be changed here; it should be tables" in refused.err
    assert file.read_text(encoding="utf-8") == text


def test_one_configuration_that_is_refused_does_not_stop_the_others(house: House) -> None:
    house.file("cursor", "user").parent.mkdir()
    house.file("cursor", "user").write_text("{ broken")
    house.file("gemini", "user").parent.write_text("a file in the way")
    agents = [word for agent in ("claude-code", "cursor", "gemini", "codex") for word in ("--agent", agent)]
    done = house.run("install", *agents, "-f", "notes", "--json")
    assert done.code == 3
    states = {one["agent"]: one["state"] for one in done.json["agents"]}
    assert states == {"claude-code": "installed", "cursor": "refused", "gemini": "failed", "codex": "installed"}
    assert done.json["agents"][2]["note"].startswith(f"{house.file('gemini', 'user')}: ")
    assert house.run("install", "--agent", "gemini", "-f", "notes").code == 1


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


def test_what_is_read_only_is_refused(house: House) -> None:
    file = house.file("claude-code", "user")
    file.write_text("{}", encoding="utf-8")
    file.chmod(0o444)
    refused = house.run("install", "--agent", "claude-code", "-f", "notes")
    assert (refused.code, file.read_text(encoding="utf-8")) == (3, "{}")
    assert f"{file}: it is read-only" in refused.err
    file.chmod(0o644)


@pytest.mark.skipif(WINDOWS, reason="pipes of POSIX")
@pytest.mark.parametrize("linked", [False, True])
def test_what_is_no_plain_file_is_neither_read_nor_replaced(house: House, linked: bool) -> None:
    file = house.file("claude-code", "user")
    pipe = house.home / "pipe" if linked else file
    os.mkfifo(pipe)
    if linked:
        file.symlink_to(pipe)
    for arguments in (["install", "-f", "notes", "--agent", "claude-code"], ["uninstall", "--agent", "claude-code"]):
        refused = house.run(*arguments)
        assert refused.code == 3
        assert f"{file}: it is no plain file" in refused.err
    assert "claude-code\tuser\tbroken" in house.run("status").out
    assert pipe.is_fifo()


@pytest.mark.skipif(WINDOWS, reason="links and permissions of POSIX")
def test_links_that_lead_nowhere(house: House) -> None:
    link = house.file("claude-code", "user")
    link.symlink_to(house.home / "dotfiles" / "claude.json")
    assert house.run("install", "--agent", "claude-code", "-f", "notes").code == 0
    assert link.is_symlink()
    assert house.entry("claude-code", "user")
    round_ = house.file("cursor", "user")
    round_.parent.mkdir()
    round_.symlink_to(round_)
    refused = house.run("install", "--agent", "cursor", "-f", "notes")
    assert refused.code == 1
    assert f"error: {round_}: Too many levels of symbolic links" in refused.err
    assert round_.is_symlink()


@pytest.mark.skipif(WINDOWS or sys.platform == "darwin", reason="names there are Unicode")
def test_a_path_that_is_not_utf8_is_refused(house: House) -> None:
    make_kitchen(house.project / "caf\udce9")
    for agent in ("claude-code", "codex"):
        refused = house.run("install", "--agent", agent, "-f", "caf\udce9")
        assert refused.code == 3
        assert "a path that is not UTF-8 cannot be written into it" in refused.err
        assert not house.file(agent, "user").exists()


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
    ours.put(("mcpServers", "memoryfield", "command"), "x")
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


@pytest.mark.parametrize("scope", ["project", "user"])
def test_status_can_be_asked_for_one_scope(house: House, scope: str) -> None:
    shown = house.run("status", f"--{scope}", "--json").json["agents"]
    assert [one["scope"] for one in shown] == [scope] * len(AGENTS)


def test_what_the_server_needs_besides_is_told(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    project = ("install", "--agent", "claude-code", "--project", "-f", "notes")
    empty = house.home / "bin"
    empty.mkdir()
    told = house.run(*project, PATH=str(empty))
    assert "starts `memoryfield`, which is not on your PATH: pipx install" in told.err
    assert words(house.entry("claude-code", "project"))[0] == "memoryfield"
    other = empty / ("memoryfield.exe" if WINDOWS else "memoryfield")
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert (
        f"note: the project's configuration starts `memoryfield`, which on your PATH is {other}"
        in house.run(*project, PATH=str(empty)).err
    )
    scripts = Path(sysconfig.get_path("scripts"))
    assert house.run(*project, PATH=str(scripts)).err == ""
    assert house.run("install", "--agent", "claude-code", "-f", "notes", PATH=str(empty)).err == ""
    make_kitchen(house.home / "elsewhere")
    outside = house.run(*project, "-f", "../elsewhere", PATH=str(scripts))
    assert "/elsewhere lies outside of the project" in outside.err
    monkeypatch.setattr(mcp_install, "find_spec", lambda name: None if name == "mcp" else name)
    told = house.run("install", "--agent", "claude-code", "-f", "notes", "--json")
    assert told.json["notes"] == ["the server needs an extra that is not installed: pip install 'memoryfield-cli[mcp]'"]


def test_without_a_home_folder_the_project_is_still_served(house: House) -> None:
    told = house.run("install", "--agent", "claude-code", "-f", "notes", HOME="", USERPROFILE="")
    assert told.code == 2
    assert "your home folder is not known" in told.err
    assert house.run("install", "--agent", "claude-code", "--project", "-f", "notes", HOME="", USERPROFILE="").code == 0


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
