"""Writes into the configurations of harnesses how they start our MCP server, and takes it out again.

One entry is ours, of the name `memoryfield`. What else a file holds stays byte for byte, comments too; keys that
somebody added to the entry stay as well. A file that cannot be understood is not touched.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import sysconfig
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import dropwhile
from pathlib import Path, PureWindowsPath
from typing import Any, NamedTuple

from ..containers import is_name
from ..errors import RefusedError, reason_of
from . import jsonc, toml
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
    """What is in one configuration now.

    `state`: installed, unchanged, removed, absent, not ours, broken (cannot be read); refused or failed, for the
    reason that `note` tells.
    """

    agent: str
    scope: str
    path: Path
    state: str
    command: list[str]
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self._asdict(), "path": str(self.path)}


class Report(NamedTuple):
    """What is in each configuration, and in plain words what the server needs besides."""

    agents: list[Installed]
    notes: list[str]

    @property
    def exit_code(self) -> int:
        """3 if one was refused, 1 if one failed."""
        states = {one.state for one in self.agents}
        return RefusedError.exit_code if "refused" in states else 1 if "failed" in states else 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"agents": [one.to_dict() for one in self.agents], "notes": self.notes}


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


def install(agents: Sequence[str], scope: str, root: Path, fields: Sequence[str], allow_writes: bool = False) -> Report:
    """Let harnesses start the server with these fields.

    Args:
        scope: `project`, the folder `root`; or `user`.
        fields: locations, from the current folder on, or names.

    Raises:
        UsageError: no such harness, no field at a location, or no home folder.
    """
    from ..containers import open_container

    for field in fields:
        open_container(field).close()  # a server that cannot start is of no use

    def change(harness: Harness, file: _File) -> Installed:
        words = [*_command(scope), "mcp"]
        for field in fields:
            words += ["-f", _location(field, scope, root, harness.here)]
        words += ["--allow-writes"] if allow_writes else []
        keys = (*_keys(harness, scope, file), NAME)
        for key, value in _entry(harness, scope, words).items():
            file.put((*keys, key), value)
        state = "installed" if file.save() else "unchanged"
        return Installed(harness.name, scope, file.path, state, words, _note(harness.name, scope))

    return Report(_each(agents, scope, root, change), [*_needs(scope), *_outside(fields, scope, root)])


def uninstall(agents: Sequence[str], scope: str, root: Path) -> Report:
    """Take the server out of configurations.

    Raises:
        UsageError: no such harness.
    """

    def change(harness: Harness, file: _File) -> Installed:
        for keys in _all_keys(harness, scope):
            file.remove((*keys, NAME))
        return Installed(harness.name, scope, file.path, "removed" if file.save() else "absent", [])

    return Report(_each(agents, scope, root, change), [])


def status(root: Path, scopes: Sequence[str] = SCOPES) -> Report:
    """What is in each harness's configurations; a broken one is told of."""
    found = [_found(harness, scope, _path(harness, scope, root)) for harness in HARNESSES for scope in scopes]
    return Report(found, [])


def _each(
    agents: Sequence[str], scope: str, root: Path, change: Callable[[Harness, _File], Installed]
) -> list[Installed]:
    """Change each configuration whose entry is ours or none; what goes wrong in one does not stop the others."""
    found: list[Installed] = []
    places = [(harness, _path(harness, scope, root)) for harness in named(agents, HARNESSES)]
    for harness, path in places:
        try:
            file = _File(path)
            _check_ours(harness, scope, file)
            found.append(change(harness, file))
        except (RefusedError, OSError) as error:
            state = "refused" if isinstance(error, RefusedError) else "failed"
            found.append(Installed(harness.name, scope, path, state, [], _told(path, error)))
    return found


def _found(harness: Harness, scope: str, path: Path) -> Installed:
    try:
        entries = _entries(harness, scope, _File(path))
    except (RefusedError, OSError) as error:
        return Installed(harness.name, scope, path, "broken", [], _told(path, error))
    ours = [_words(entry) for entry in entries.values() if _is_ours(entry)]
    state = "absent" if not entries else "installed" if len(ours) == len(entries) else "not ours"
    return Installed(harness.name, scope, path, state, ours[0] if ours else [])


def _told(path: Path, error: Exception) -> str:
    return str(error) if isinstance(error, RefusedError) else f"{path}: {reason_of(error)}"


class _File:
    """A configuration: its text, and the text that it is to have."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._target = Path(os.path.realpath(path))  # a link stays one
        self._raw = self._read()
        try:
            self._text = (self._raw or b"").decode("utf-8")
        except UnicodeDecodeError as error:
            line = (self._raw or b"").count(b"\n", 0, error.start) + 1
            raise self._refusal(RefusedError(f"{line}: not UTF-8")) from None
        self._format = toml if path.suffix == ".toml" else jsonc

    def _read(self) -> bytes | None:
        if self._target.exists() and not self._target.is_file():
            raise self._refusal(RefusedError("it is no plain file"))  # a device that is replaced is lost to everybody
        try:
            return self._target.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _refusal(self, error: RefusedError) -> RefusedError:
        gap = "" if error.message[:1].isdigit() else " "
        return RefusedError(f"{self.path}:{gap}{error.message}", hint="Nothing was changed. Mend it, then try again.")

    def get(self, keys: Path_) -> Any:
        """The value at these keys, or None."""
        return self._told(self._format.get, keys)

    def put(self, keys: Path_, value: Any) -> None:
        """Give these keys a value."""
        self._text = self._told(self._format.put, keys, value)

    def remove(self, keys: Path_) -> None:
        """Take away what is at these keys."""
        if self.get(keys) is not None:
            self._text = self._told(self._format.remove, keys)

    def _told(self, do: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return do(self._text, *arguments)
        except RefusedError as error:
            raise self._refusal(error) from None

    def save(self) -> bool:
        """Store the text whole, with the file's permissions, if it has changed.

        Raises:
            RefusedError: it is read-only, or somebody else has changed the file meanwhile.
        """
        try:
            raw = self._text.encode("utf-8")
        except UnicodeEncodeError:
            raise self._refusal(RefusedError("a path that is not UTF-8 cannot be written into it")) from None
        if raw == (self._raw or b""):
            return False
        if self._raw is not None and not self._target.stat().st_mode & 0o222:
            raise self._refusal(RefusedError("it is read-only"))
        self._target.parent.mkdir(parents=True, exist_ok=True)
        draft = self._target.with_name(f".{self._target.name}.{secrets.token_hex(4)}")
        try:
            with draft.open("xb") as file:
                file.write(raw)
                file.flush()
                os.fsync(file.fileno())
            if self._raw is not None:
                shutil.copymode(self._target, draft)
            if self._read() != self._raw:
                raise RefusedError(f"{self.path} was changed by somebody else meanwhile", hint="Try again.")
            draft.replace(self._target)
        finally:
            draft.unlink(missing_ok=True)
        return True


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


def _words(entry: Any) -> list[str]:
    if not isinstance(entry, dict):
        return []
    command, arguments = entry.get("command"), entry.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    return [str(word) for word in words if word is not None]


def _entries(harness: Harness, scope: str, file: _File) -> dict[str, Any]:
    """What is there under our name, by the keys that lead to it."""
    found = {".".join(keys): file.get((*keys, NAME)) for keys in _all_keys(harness, scope)}
    return {keys: entry for keys, entry in found.items() if entry is not None}


def _is_ours(entry: Any) -> bool:
    """Whether it starts `memoryfield mcp`: the program itself, Python, or what runs programs of packages."""
    words = _words(entry) or [""]
    words[0] = PureWindowsPath(words[0]).name.lower().removesuffix(".exe")
    if words[0] == NAME:
        return words[1:2] == ["mcp"]
    if _PYTHON.fullmatch(words[0]):
        rest = list(dropwhile(lambda word: word.startswith("-") and word != "-m", words[1:]))
        return rest[:3] == ["-m", NAME, "mcp"]
    runner = next((runner for runner in _RUNNERS if words[: len(runner)] == runner), None)
    rest = words[len(runner) :] if runner else []
    while rest and rest[0].startswith("-"):
        rest = rest[2 if rest[0] in _OPTIONS_WITH_VALUE else 1 :]
    return len(rest) > 1 and bool(_PACKAGE.fullmatch(rest[0])) and rest[1] == "mcp"


_PYTHON = re.compile(r"py|(python|pypy)w?[0-9.]*")
_RUNNERS = (["uvx"], ["uv", "tool", "run"], ["pipx", "run"])
_PACKAGE = re.compile(r"memoryfield(-cli(\[.*\])?([@=<>~!].*)?)?")
_OPTIONS_WITH_VALUE = (
    *("--from", "--with", "-w", "--with-editable", "--with-requirements", "--spec"),
    *("--python", "-p", "--index", "--default-index", "--index-url", "-i", "--pip-args", "--directory"),
)
"""Of uvx and pipx: the word that follows is no program."""


def _check_ours(harness: Harness, scope: str, file: _File) -> None:
    """Refuse to change or remove what somebody else has under our name."""
    for keys, entry in _entries(harness, scope, file).items():
        if not _is_ours(entry):
            raise RefusedError(
                f"{file.path}: {keys}.{NAME} does not start `{NAME} mcp` in a way known here, so it is not ours",
                hint="Rename or remove it, then try again.",
            )


def _command(scope: str) -> list[str]:
    """What starts us. A project is shared, and its configuration true for everybody: a bare name."""
    own = _executable()
    if scope == "project":
        return [NAME]
    return [str(own)] if own else [sys.executable, "-m", NAME]


def _needs(scope: str) -> list[str]:
    """What is missing here for the server to start."""
    notes: list[str] = []
    if find_spec("mcp") is None:
        notes.append("the server needs an extra that is not installed: pip install 'memoryfield-cli[mcp]'")
    if scope == "project":
        bare, own = shutil.which(NAME), _executable()
        if bare is None:
            notes.append(
                f"the project's configuration starts `{NAME}`, which is not on your PATH: "
                "pipx install 'memoryfield-cli[mcp]' puts it there"
            )
        elif own and Path(bare).resolve() != own.resolve():
            notes.append(f"the project's configuration starts `{NAME}`, which on your PATH is {bare}")
    return notes


def _executable() -> Path | None:
    """The program that the user ran, else the one that was installed with us."""
    suffix = ".exe" if sys.platform == "win32" else ""
    begun = Path(sys.argv[0]).absolute()
    installed = Path(sysconfig.get_path("scripts")) / f"{NAME}{suffix}"
    for path in (begun, begun.with_name(begun.name + suffix), installed):
        if path.stem == NAME and path.is_file():
            return path
    return None


def _outside(fields: Sequence[str], scope: str, root: Path) -> list[str]:
    """Which fields others who have the project's configuration will not find by it."""
    places = [_location(field, scope, root, "") for field in fields] if scope == "project" else []
    return [
        f"{place} lies outside of the project, so that only you find it there; a name from `{NAME} add` can be shared"
        for place in places
        if Path(place).is_absolute()
    ]


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
