"""Writes into the configurations of harnesses how they start our MCP server, and takes it out again.

One entry is ours, of the name `memoryfield`. What else a file holds stays byte for byte, comments too; keys that
somebody added to the entry stay as well. A file that cannot be understood is not touched.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..containers import is_name
from ..errors import RefusedError
from . import jsonc
from .harnesses import SCOPES, Place, named

NAME = "memoryfield"

Path_ = tuple[str, ...]


class Harness(NamedTuple):
    """Where a harness keeps its MCP servers, for a project and for the user.

    `keys` lead to the servers, `entry` makes one from the words of a command. `here` is what a harness puts the
    project's folder for, if it does not start servers in that folder.
    """

    name: str
    project: Callable[[Path], Path]
    user: Callable[[], Path]
    keys: tuple[Path_, Path_]
    entry: tuple[Callable[[list[str]], dict[str, Any]], Callable[[list[str]], dict[str, Any]]]
    here: str = ""


class Installed(NamedTuple):
    """What is in one configuration now. `state`: installed, unchanged, removed, absent, or broken."""

    agent: str
    scope: str
    path: Path
    state: str
    command: list[str]
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self._asdict(), "path": str(self.path)}


def _stdio(words: list[str]) -> dict[str, Any]:
    return {"type": "stdio", "command": words[0], "args": words[1:]}


def _copilot(words: list[str]) -> dict[str, Any]:
    return {**_stdio(words), "tools": ["*"]}


def _plain(words: list[str]) -> dict[str, Any]:
    return {"command": words[0], "args": words[1:]}


def _opencode(words: list[str]) -> dict[str, Any]:
    return {"type": "local", "command": words}


def _beside(rest: str) -> Callable[[Path], Path]:
    return lambda root: root / rest


def _opencode_file(folders: Sequence[Path]) -> Path:
    """The one that is there, else a new one."""
    there = [folder / name for folder in folders for name in ("opencode.jsonc", "opencode.json")]
    return next((path for path in there if path.is_file()), folders[0] / "opencode.json")


_SERVERS: Path_ = ("mcpServers",)

HARNESSES = (
    # https://code.claude.com/docs/en/mcp; CLAUDE_CONFIG_DIR: https://github.com/microsoft/apm/pull/2096
    Harness(
        "claude-code",
        _beside(".mcp.json"),
        Place("CLAUDE_CONFIG_DIR", "", ".claude.json").path,
        (_SERVERS, _SERVERS),
        (_stdio, _stdio),
    ),
    # https://developers.openai.com/codex/mcp: the project's is read where the project is trusted
    Harness(
        "codex",
        _beside(".codex/config.toml"),
        Place("CODEX_HOME", ".codex", "config.toml").path,
        (("mcp_servers",), ("mcp_servers",)),
        (_plain, _plain),
    ),
    # https://cursor.com/docs/context/mcp
    Harness(
        "cursor",
        _beside(".cursor/mcp.json"),
        Place("", ".cursor", "mcp.json").path,
        (_SERVERS, _SERVERS),
        (_stdio, _stdio),
        "${workspaceFolder}",
    ),
    # VS Code: https://code.visualstudio.com/docs/agents/reference/mcp-configuration
    # Copilot CLI: https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
    Harness(
        "copilot",
        _beside(".vscode/mcp.json"),
        Place("COPILOT_HOME", ".copilot", "mcp-config.json").path,
        (("servers",), _SERVERS),
        (_stdio, _copilot),
        "${workspaceFolder}",
    ),
    # https://geminicli.com/docs/tools/mcp-server; GEMINI_CLI_HOME: https://geminicli.com/docs/reference/configuration
    Harness(
        "gemini",
        _beside(".gemini/settings.json"),
        Place("GEMINI_CLI_HOME", "", ".gemini/settings.json").path,
        (_SERVERS, _SERVERS),
        (_plain, _plain),
    ),
    # https://opencode.ai/v2/docs/mcp-servers; before version 2, servers stood under `mcp` itself, and still may:
    # https://opencode.ai/docs/migrate-v1
    Harness(
        "opencode",
        lambda root: _opencode_file([root, root / ".opencode"]),
        lambda: _opencode_file([Place("XDG_CONFIG_HOME", ".config", "opencode").path()]),
        (("mcp", "servers"), ("mcp", "servers")),
        (_opencode, _opencode),
    ),
)
_FORMER_KEYS: dict[str, Path_] = {"opencode": ("mcp",)}


def install(
    agents: Sequence[str], scope: str, root: Path, fields: Sequence[str], allow_writes: bool = False
) -> list[Installed]:
    """Let harnesses start the server with these fields.

    Args:
        scope: `project`, the folder `root`; or `user`.
        fields: locations, from the current folder on, or names.

    Raises:
        UsageError: no such harness, or no field at a location.
        RefusedError: a configuration that cannot be understood, or changed meanwhile.
    """
    from ..containers import open_container

    for field in fields:
        open_container(field).close()  # a server that cannot start is of no use
    found: list[Installed] = []
    for harness in named(agents, HARNESSES):
        words = [*_command(scope), "mcp"]
        for field in fields:
            words += ["-f", _location(field, scope, root, harness.here)]
        words += ["--allow-writes"] if allow_writes else []
        file = _File(_path(harness, scope, root))
        keys = (*_keys(harness, scope, file), NAME)
        for key, value in _entry(harness, scope, words).items():
            file.put((*keys, key), value)
        changed = file.save()
        note = _note(harness.name, scope)
        found.append(Installed(harness.name, scope, file.path, "installed" if changed else "unchanged", words, note))
    return found


def uninstall(agents: Sequence[str], scope: str, root: Path) -> list[Installed]:
    """Take the server out of configurations. Raises what `install` does."""
    found: list[Installed] = []
    for harness in named(agents, HARNESSES):
        file = _File(_path(harness, scope, root))
        for keys in _all_keys(harness, scope):
            file.remove((*keys, NAME))
        changed = file.save()
        found.append(Installed(harness.name, scope, file.path, "removed" if changed else "absent", []))
    return found


def status(root: Path) -> list[Installed]:
    """What is in each harness's configurations; a broken one is told of."""
    found: list[Installed] = []
    for harness in HARNESSES:
        for scope in SCOPES:
            path = _path(harness, scope, root)
            try:
                file = _File(path)
                entries = [file.get((*keys, NAME)) for keys in _all_keys(harness, scope)]
                words = next((_words(entry) for entry in entries if isinstance(entry, dict)), [])
                found.append(Installed(harness.name, scope, path, "installed" if words else "absent", words))
            except (RefusedError, OSError) as error:
                found.append(Installed(harness.name, scope, path, "broken", [], str(error)))
    return found


class _File:
    """A configuration: its text, and the text that it is to have."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._target = Path(os.path.realpath(path))  # a link stays one
        self._raw = self._target.read_bytes() if self._target.exists() else None
        try:
            self._text = (self._raw or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            line = (self._raw or b"").count(b"\n", 0, error.start) + 1
            raise self._refusal(RefusedError(f"{line}: not UTF-8")) from None
        self._is_toml = path.suffix == ".toml"

    def _refusal(self, error: Exception) -> RefusedError:
        message = error.message if isinstance(error, RefusedError) else str(error)
        gap = "" if message[:1].isdigit() else " "
        return RefusedError(f"{self.path}:{gap}{message}", hint="Nothing was changed. Mend it, then try again.")

    def get(self, keys: Path_) -> Any:
        """The value at these keys, or None."""
        if not self._text.strip("\ufeff \t\r\n"):
            return None
        try:
            if not self._is_toml:
                return jsonc.get(self._text, keys)
            value: Any = _toml(self._text).unwrap()
            for key in keys:
                value = value.get(key) if isinstance(value, dict) else None
            return value
        except RefusedError as error:
            raise self._refusal(error) from None

    def put(self, keys: Path_, value: Any) -> None:
        """Give these keys a value."""
        if self.get(keys) == value:
            return
        try:
            self._text = _with_toml(self._text, keys, value) if self._is_toml else jsonc.put(self._text, keys, value)
        except RefusedError as error:
            raise self._refusal(error) from None

    def remove(self, keys: Path_) -> None:
        """Take away what is at these keys."""
        if self.get(keys) is not None:
            self._text = _without_toml(self._text, keys) if self._is_toml else jsonc.remove(self._text, keys)

    def save(self) -> bool:
        """Store the text whole, with the file's permissions, if it has changed.

        Raises:
            RefusedError: somebody else has changed the file meanwhile.
        """
        raw = self._text.encode("utf-8")
        if raw == (self._raw or b""):
            return False
        self._target.parent.mkdir(parents=True, exist_ok=True)
        draft = self._target.with_name(f".{self._target.name}.{secrets.token_hex(4)}")
        try:
            with draft.open("xb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            if self._raw is not None:
                shutil.copymode(self._target, draft)
            if (self._target.read_bytes() if self._target.exists() else None) != self._raw:
                raise RefusedError(f"{self.path} was changed by somebody else meanwhile", hint="Try again.")
            draft.replace(self._target)
        finally:
            draft.unlink(missing_ok=True)
        return True


def _toml(text: str) -> Any:
    import tomlkit
    from tomlkit.exceptions import ParseError

    try:
        return tomlkit.parse(text)
    except ParseError as error:
        raise RefusedError(f"{error.line}:{error.col + 1}: {str(error).partition(' at line ')[0]}") from None


def _with_toml(text: str, keys: Path_, value: Any) -> str:
    import tomlkit

    document = _toml(text)
    table = document
    for depth, key in enumerate(keys[:-1]):
        if key not in table:
            table[key] = tomlkit.table(is_super_table=depth < len(keys) - 2)
        table = table[key]
        if not hasattr(table, "keys"):
            raise RefusedError(f"{'.'.join(keys[: depth + 1])} is no table")
    table[keys[-1]] = value
    return tomlkit.dumps(document)


def _without_toml(text: str, keys: Path_) -> str:
    import tomlkit

    document = _toml(text)
    owners = [document]
    for key in keys[:-1]:
        owners.append(owners[-1][key])
    del owners[-1][keys[-1]]
    if len(owners) > 1 and not owners[-1]:
        del owners[-2][keys[-2]]
    return tomlkit.dumps(document)


def _path(harness: Harness, scope: str, root: Path) -> Path:
    return harness.project(root.absolute()) if scope == "project" else harness.user()


def _all_keys(harness: Harness, scope: str) -> list[Path_]:
    """Where the servers may stand."""
    former = _FORMER_KEYS.get(harness.name)
    return [harness.keys[SCOPES.index(scope)], *([former] if former else [])]


def _keys(harness: Harness, scope: str, file: _File) -> Path_:
    """Where the servers stand in this file: as it has them already, else as they should."""
    keys, *former = _all_keys(harness, scope)
    if former and file.get(keys) is None and file.get(former[0]):
        return former[0]
    return keys


def _entry(harness: Harness, scope: str, words: list[str]) -> dict[str, Any]:
    return harness.entry[SCOPES.index(scope)](words)


def _words(entry: dict[str, Any]) -> list[str]:
    command, arguments = entry.get("command"), entry.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return [str(word) for word in words if word is not None]


def _command(scope: str) -> list[str]:
    """What starts us. A project is shared, so there it is a bare name, if that leads here."""
    own = _executable()
    if own is None:
        return [sys.executable, "-m", NAME]
    bare = shutil.which(NAME)
    if scope == "project" and bare and Path(bare).resolve() == own.resolve():
        return [NAME]
    return [str(own)]


def _executable() -> Path | None:
    """The program that the user ran, else the one that was installed with us."""
    suffix = ".exe" if sys.platform == "win32" else ""
    begun = Path(sys.argv[0]).absolute()
    installed = Path(sysconfig.get_path("scripts")) / f"{NAME}{suffix}"
    for path in (begun, begun.with_name(begun.name + suffix), installed):
        if path.stem == NAME and path.is_file():
            return path
    return None


def _location(field: str, scope: str, root: Path, here: str) -> str:
    """A field as the harness will find it: a name stays one; a place within a project is told from there on."""
    if is_name(field):
        return field
    path = Path(field).absolute()
    if scope == "user":
        return str(path)
    try:
        inner = path.resolve().relative_to(root.resolve()).as_posix()
    except ValueError:
        return str(path)
    if here:
        return here if inner == "." else f"{here}/{inner}"
    return f"./{inner}" if inner != "." else inner  # a bare word could be a name


def _note(agent: str, scope: str) -> str:
    if (agent, scope) == ("copilot", "project"):
        return "VS Code reads this file; Copilot CLI reads the project's .mcp.json, as --agent claude-code writes it"
    if (agent, scope) == ("codex", "project"):
        return "Codex reads a project's configuration once the project is trusted"
    return ""
