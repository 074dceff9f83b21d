"""The command that tells programs about the commands: schema."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from .. import __version__
from ..errors import UsageError
from .common import FieldOption, command_group, print_json, print_json_line
from .options import PlainCommand
from .render import is_terminal

app = command_group()

EXIT_CODES = {
    0: "done or found",
    1: "nothing found or problems reported",
    2: "wrong usage",
    3: "refused because it would lose or overwrite something",
    130: "interrupted",
}
"""What the exit codes mean everywhere."""

OWN_EXIT_CODES: dict[str, dict[int, str]] = {
    "create": {3: "the folder holds something already"},
    "write": {
        1: "with --section: no such section",
        3: "the page is there already, is not the one that --if-match names, or with --no-duplicates says nothing new",
    },
    "read": {1: "a page is not there, or cannot be read; the others are printed"},
    "list": {1: "a page cannot be read; the others are listed"},
    "edit": {1: "no such page, or the editor failed", 3: "somebody else changed the page meanwhile"},
    "rename": {1: "no such page", 3: "another page has the new name"},
    "delete": {1: "no such page", 3: "nobody agreed: say --yes"},
    "embed": {1: "not every page has a vector now"},
    "search": {1: "nothing found"},
    "similar": {1: "nothing found, or no such page"},
    "validate": {1: "a MUST is broken, with --strict a SHOULD; with --diff: something would change"},
    "pack": {3: "the archive is there already, or the field breaks a MUST"},
    "unpack": {3: "the folder holds something, or the archive is not safe to open; with --into: as merge"},
    "verify": {1: "the archive has faults", 3: "it is not the one that was promised, or not safe to open"},
    "diff": {1: "they differ", 2: "wrong usage, or a field cannot be read"},
    "merge": {3: "there are conflicts, and nothing was written"},
    "add": {3: "the archive does not have the sha256 that was given, or is not safe to open"},
    "fields": {1: "with --check: a field has problems", 3: "with --check: an archive is not the one that was pinned"},
    "update": {3: "the pin was not moved"},
    "split": {1: "no such page", 3: "the page cannot be read, or is not the one that --if-match names"},
    "import": {1: "something of the source could not be read", 3: "notes and pages have both changed: say --replace"},
    "export": {3: "the folder or file holds something already"},
    "skill install": {1: "a file cannot be written", 3: "a file that was edited or is not ours stays"},
    "skill uninstall": {1: "nothing was there", 3: "a file that was edited or is not ours stays"},
    "skill status": {1: "no agent finds it"},
    "mcp install": {3: "a configuration is broken, or its entry not ours, and was left as it is"},
}
"""What some of them mean for one command, where that is more than the general word."""

_ONE_FIELD = get_args(FieldOption)[1].help
"""By this an option is known that is read as a list and must be given once."""
_TYPES = {bool: "boolean", int: "integer", float: "number", Path: "path"}


@app.command(cls=PlainCommand)
def schema(
    context: typer.Context,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="One command, also of two words; else all of them.")
    ] = None,
) -> None:
    """Tell programs how the commands are called and what they answer, as JSON.

    For each command its arguments, options, examples and exit codes, and the JSON Schema of what it
    answers with --json; without COMMAND also that of an error.

    \b
    Example:
      $ memoryfield schema search
    """
    from ..specification import closure, referred

    group: Any = context.find_root().command
    wanted = " ".join(command or [])
    first = wanted.partition(" ")[0]
    names = [name for name in group.list_commands(context) if first in ("", name)]
    commands = [one for name in names for one in _commands(name, group.get_command(context, name), context)]
    told = {
        "version": __version__,
        "exit_codes": _codes(EXIT_CODES),
        **({} if wanted else {"error": {"$ref": "#/$defs/error"}}),
        "commands": [one for one in commands if wanted in ("", first, one["name"])],
    }
    if not told["commands"]:
        there = [one["name"] for one in commands] or group.list_commands(context)
        raise UsageError(f"there is no command {wanted!r}", hint=f"There are {', '.join(there)}.")
    (print_json if is_terminal() else print_json_line)({**told, "$defs": closure(referred(told))})


def _codes(meanings: dict[int, str]) -> dict[str, str]:
    return {str(code): meaning for code, meaning in meanings.items()}


def _commands(name: str, command: Any, context: typer.Context) -> list[dict[str, Any]]:
    """A command, and those inside of it."""
    inside = getattr(command, "commands", {})
    return [_command(name, command, context), *(_command(f"{name} {one}", inside[one], context) for one in inside)]


def _command(name: str, command: Any, context: typer.Context) -> dict[str, Any]:
    """What is to be known of one command; what is empty is left out."""
    from ..specification import shapes

    text, _, examples = command.help.partition("\b\nExample:")
    params = command.get_params(context)
    own = OWN_EXIT_CODES.get(name, {})
    return {
        "name": name,
        "help": "\n".join(" ".join(part.split()) for part in text.strip().split("\n\n")),
        "examples": [line.strip().removeprefix("$ ") for line in examples.strip().splitlines()],
        "arguments": [_argument(param) for param in params if param.param_type_name == "argument"],
        "options": [_option(param) for param in params if _is_own(param)],
        **({"exit_codes": _codes(own)} if own else {}),
        **({"output": {"$ref": f"#/$defs/{shown}"}} if (shown := name.replace(" ", "-")) in shapes() else {}),
    }


def _is_own(param: Any) -> bool:
    """Whether this is an option that not every command has."""
    return param.param_type_name == "option" and "--help" not in param.opts


def _argument(param: Any) -> dict[str, Any]:
    return {"name": param.name, **({"required": True} if param.required else {}), **_value(param)}


def _option(param: Any) -> dict[str, Any]:
    return {"names": param.opts, **_value(param)}


def _value(param: Any) -> dict[str, Any]:
    """What an argument or an option takes; what is false or empty is left out."""
    wanted = param.type_descriptor.annotation
    choices = [one.value for one in wanted] if isinstance(wanted, type) and issubclass(wanted, Enum) else []
    default = param.default.value if isinstance(param.default, Enum) else param.default
    facts = {
        "type": _TYPES.get(wanted, "string"),
        "metavar": param.metavar,
        "choices": choices,
        "default": default if isinstance(default, str | int | float) else None,
        "min": param.min,
        "max": param.max,
        "multiple": (param.multiple and param.help != _ONE_FIELD) or param.nargs == -1,
        "help": param.help,
    }
    return {key: value for key, value in facts.items() if value or (key in ("min", "max") and value is not None)}
