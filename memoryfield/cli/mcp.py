"""The command mcp: a server for agents, and the entry in a harness's configuration that starts it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ..containers import Limits
from ..errors import UsageError
from .common import (
    AllowOption,
    FieldsOption,
    JsonOption,
    OnlyOption,
    command_group,
    locations_of,
    print_json,
    scopes_of,
)
from .options import PlainCommand, read_plainly
from .render import escaped, say

if TYPE_CHECKING:
    from ..agents.mcp.memory import Memory
    from ..agents.mcp_install import Report

app = command_group()
PORT = 8643
"""Where the server listens over HTTP, if nothing else is said."""


class _PlainGroup(typer.core.TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return read_plainly(super().get_params(ctx))


server = typer.Typer(cls=_PlainGroup, rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(server, name="mcp")

AllowWritesOption = Annotated[bool, typer.Option("--allow-writes", help="Offer the tools write and delete, too.")]
AgentOption = Annotated[
    list[str],
    typer.Option(
        "--agent", metavar="NAME", help="claude-code, codex, cursor, copilot, gemini or opencode; repeatable."
    ),
]
ScopeOption = Annotated[
    bool,
    typer.Option(
        "--project/--user", help="This folder's configuration, or yours for every project.", show_default=False
    ),
]


@server.callback(invoke_without_command=True)
def mcp(
    context: typer.Context,
    field: FieldsOption = None,
    allow_writes: AllowWritesOption = False,
    http: Annotated[bool, typer.Option("--http", help="Over HTTP on 127.0.0.1, in place of stdin and stdout.")] = False,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, metavar="N", help=f"With --http: the port ({PORT}; 0: a free one).")
    ] = None,
    allow: AllowOption = None,
) -> None:
    """Serve fields to agents by the Model Context Protocol: tools to search, read and list, and pages as resources.

    It needs `pip install 'memoryfield-cli[mcp]'`, and runs until its input is closed or Ctrl-C. Agents
    see these fields and nothing else; they change nothing without --allow-writes. `mcp install` puts it
    into the configuration of a harness.

    \b
    Example:
      $ memoryfield mcp -f notes < /dev/null
      $ memoryfield mcp install --agent claude-code --project -f notes
    """
    if context.invoked_subcommand:
        if field or allow_writes or http or port is not None or allow:
            raise UsageError("options of a subcommand stand after its name", hint="memoryfield mcp install -f FIELD")
        return
    if port is not None and not http:
        raise UsageError("--port goes with --http")
    serve = _server()
    from ..agents.mcp.memory import Memory

    memory = Memory(locations_of(field), allow_writes=allow_writes, limits=Limits.read(allow or ()))
    for location, error in memory.unopened:
        say(f"note: {location}: {error}")
    serve(memory, (PORT if port is None else port) if http else None)


@server.command(cls=PlainCommand)
def install(
    agent: AgentOption,
    field: FieldsOption = None,
    allow_writes: AllowWritesOption = False,
    project: ScopeOption = False,
    as_json: JsonOption = False,
) -> None:
    """Let a harness start the server: write its configuration, and touch nothing else in it.

    \b
    Example:
      $ memoryfield mcp install --agent claude-code --agent cursor --project -f notes
      $ memoryfield mcp install --agent codex -f notes --allow-writes
    """
    from ..agents import mcp_install

    scope = _scope(project)
    _show(mcp_install.install(agent, scope, Path.cwd(), locations_of(field), allow_writes), as_json)


@server.command(cls=PlainCommand)
def uninstall(agent: AgentOption, project: ScopeOption = False, as_json: JsonOption = False) -> None:
    """Take the server out of a harness's configuration.

    \b
    Example:
      $ memoryfield mcp uninstall --agent claude-code --project
    """
    from ..agents import mcp_install

    _show(mcp_install.uninstall(agent, _scope(project), Path.cwd()), as_json)


@server.command(cls=PlainCommand)
def status(project: OnlyOption = None, as_json: JsonOption = False) -> None:
    """Tell which configurations, of this folder and of the user, start the server, and how.

    \b
    Example:
      $ memoryfield mcp status
      $ memoryfield mcp status --project
    """
    from ..agents import mcp_install

    _show(mcp_install.status(Path.cwd(), scopes_of(project)), as_json)


def _server() -> "Callable[[Memory, int | None], NoReturn]":
    """What runs the server, if the extra is installed, and in a version that it is written for."""
    try:
        from ..agents.mcp.server import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] == "memoryfield":
            raise
        raise UsageError("the MCP server needs an extra", hint="pip install 'memoryfield-cli[mcp]'") from None
    return serve


def _scope(project: bool) -> str:
    return "project" if project else "user"


def _show(report: "Report", as_json: bool) -> None:
    """Tell what is in each configuration; of what went wrong, why, and exit as that says."""
    for note in report.notes:
        say(f"note: {note}")
    if as_json:
        print_json(report.to_dict())
    for one in [] if as_json else report.agents:
        command = f"\t{escaped(_shown_command(one.command))}" if one.command else ""
        print(f"{one.agent}\t{one.scope}\t{one.state}\t{escaped(_shown_path(one.path))}{command}")
        if one.note:
            say(f"{'error' if one.state in ('refused', 'failed') else 'note'}: {one.note}")
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _shown_path(path: Path) -> str:
    """From the current folder on, or from the home folder, where it lies in one of them."""
    for folder, mark in ((Path.cwd(), ""), (Path(os.path.expanduser("~")), "~/")):  # noqa: PTH111 (no home: no error)
        if path.is_relative_to(folder):
            return mark + path.relative_to(folder).as_posix()
    return str(path)


def _shown_command(words: list[str]) -> str:
    """As somebody would type it; the whole path of the program is in the file, and in JSON."""
    return " ".join(["memoryfield", *words[words.index("mcp") :]] if "mcp" in words else words)
