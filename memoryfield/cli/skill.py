"""The commands on the skill for agents: print it, install it, take it away, tell where it is."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UsageError
from .common import JsonOption, OnlyOption, command_group, print_json, scopes_of
from .options import PlainCommand
from .render import escaped, say, styled

if TYPE_CHECKING:
    from ..agents.skill import Report

app = command_group()
skill = typer.Typer(rich_markup_mode=None)
app.add_typer(skill, name="skill")

AgentOption = Annotated[
    list[str] | None,
    typer.Option(
        "--agent",
        metavar="NAME",
        help="claude-code, codex, cursor, copilot, gemini, opencode, or agents for the rest; repeatable.",
    ),
]
ProjectOption = Annotated[bool, typer.Option("--project", help="In the repository that you stand in.")]
UserOption = Annotated[bool, typer.Option("--user", help="Yours, in every project; so it is without --project.")]


@skill.callback(invoke_without_command=True)
def print_skill(context: typer.Context) -> None:
    """Print the skill that teaches an agent to use a field, or install it where agents look for skills.

    \b
    Example:
      $ memoryfield skill
      $ memoryfield skill install
      $ memoryfield skill status
    """
    if context.invoked_subcommand is None:
        from ..agents.skill import content

        sys.stdout.buffer.write(content())
        sys.stdout.buffer.flush()


@skill.command(cls=PlainCommand)
def install(
    agent: AgentOption = None, project: ProjectOption = False, user: UserOption = False, as_json: JsonOption = False
) -> None:
    """Install the skill, or bring it up to date, for the agents that are used here.

    It is yours, in every project, unless --project puts it into this one. Besides
    Claude Code, agents share .agents/skills, and get one file where that is
    enough. A file that somebody edited, or that is not ours, stays as it is.

    \b
    Example:
      $ memoryfield skill install
      $ memoryfield skill install --agent claude-code --agent codex --project
    """
    from ..agents import skill

    report = skill.install(agent or (), _scope(project, user))
    _report(report, as_json)
    if any(placed.result in ("installed", "updated") for placed in report.places):
        say("next: begin a new session of the agent; set MEMORYFIELD to your field, or tell the agent where it is")
    _end(report.exit_code)


@skill.command(cls=PlainCommand)
def uninstall(
    agent: AgentOption = None, project: ProjectOption = False, user: UserOption = False, as_json: JsonOption = False
) -> None:
    """Remove the skill where `install` put it, and its folder; nothing else.

    \b
    Example:
      $ memoryfield skill install --agent claude-code
      $ memoryfield skill uninstall
    """
    from ..agents import skill

    report = skill.uninstall(agent or (), _scope(project, user))
    _report(report, as_json)
    _end(report.exit_code)


@skill.command(cls=PlainCommand)
def status(project: OnlyOption = None, as_json: JsonOption = False) -> None:
    """Tell which agents find the skill, and whether it is current; exit 1 if none does.

    \b
    Example:
      $ memoryfield skill install
      $ memoryfield skill status
      $ memoryfield skill status --user
    """
    from ..agents.skill import State, status

    found = status(scopes=scopes_of(project))
    there = [one for one in found if one.state != State.ABSENT]
    if as_json:
        print_json({"places": [one.to_dict() for one in found]})
    else:
        for one in there:
            print("  ".join((styled(one.agent, 1), one.scope, one.state, _shown(one.path))))
        if absent := dict.fromkeys(one.agent for one in found if one.agent not in {other.agent for other in there}):
            say(f"not there: {', '.join(absent)}")
    _end(0 if any(one.state != State.FOREIGN for one in there) else 1)


def _scope(project: bool, user: bool) -> str:
    if project and user:
        raise UsageError("--project and --user exclude each other")
    return "project" if project else "user"


def _report(report: "Report", as_json: bool) -> None:
    """Tell what was done in each place."""
    for note in report.notes:
        say(f"note: {note}")
    if as_json:
        print_json(report.to_dict())
        return
    for placed in report.places:
        if placed.reason:
            say(f"error: {_shown(placed.path)}: {placed.reason}")
        else:
            print(f"{_shown(placed.path)}: {placed.result} ({', '.join(placed.agents)})")


def _shown(path: Path) -> str:
    """A path of the project from the current folder on, if it lies in it."""
    return escaped(str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path))


def _end(code: int) -> None:
    if code:
        raise typer.Exit(code)
