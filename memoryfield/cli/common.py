"""What the commands share: the field option, opening the field, JSON."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..answers import answer
from ..containers import Container, Limits
from ..errors import UsageError
from ..field import Field, locate
from .render import advised, name_field, say

if TYPE_CHECKING:
    from typing import Unpack

    from ..search.ask import Options
    from ..search.searcher import Searcher

FieldOption = Annotated[
    list[str] | None,  # so that a second one is not silently taken for the first
    typer.Option("--field", "-f", metavar="LOCATION", help="The field: a folder, a .memoryfield.zip, or a name."),
]
FieldsOption = Annotated[
    list[str] | None,
    typer.Option("--field", "-f", metavar="LOCATION", help="A folder, a .memoryfield.zip, or a name; repeatable."),
]
AllowOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", metavar="NAME=VALUE", help="Open a larger archive: entries=N, total=4G, entry=1G, ratio=N."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
OnlyOption = Annotated[
    bool | None, typer.Option("--project/--user", help="Only the project's, or only yours.", show_default=False)
]


def scopes_of(project: bool | None) -> tuple[str, ...]:
    """The scopes that `OnlyOption` leaves."""
    return ("project", "user") if project is None else ("project" if project else "user",)


def command_group() -> typer.Typer:
    """Where a module of commands registers them; help in plain text, errors by `main`."""
    return typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


def open_field(given: list[str] | None, allow: list[str] | None = None) -> Field:
    """The field that a command works on; an archive must be within the limits.

    Raises:
        UsageError: several are given.
    """
    opened = Field.open(location_of(given), Limits.read(allow or ()))
    tell_notes(opened.container)
    return opened


def tell_notes(container: Container) -> None:
    """Say what is to be known of the place that was opened."""
    for note in container.notes:
        say(f"note: {note}")


def location_of(given: list[str] | None) -> str:
    """Where the field lies that a command works on; nothing needs to be there.

    Raises:
        UsageError: several are given.
    """
    locations = locations_of(given)
    if len(set(locations)) > 1:
        raise UsageError(f"{len(locations)} fields are given, and this works on one", hint="`search` takes several.")
    return locations[0]


def open_searcher(given: list[str] | None, allow: list[str] | None = None, **options: "Unpack[Options]") -> "Searcher":
    """What searches the given fields, or the one that a command works on."""
    from ..search.searcher import Searcher

    return Searcher.open(locations_of(given), Limits.read(allow or ()), **options)


def is_named(given: list[str] | None) -> bool:
    """Whether the field is named, and not just the current folder that holds a page."""
    return bool(given or os.environ.get("MEMORYFIELD"))


def locations_of(given: list[str] | None) -> list[str]:
    """The given fields, else the environment's, else the current folder."""
    if given and not all(given):
        raise UsageError("a field's location is empty", hint="Is a variable not set?")
    if given and len(set(given)) == 1:
        name_field(given[0])
    return given or [locate(None, os.environ.get("MEMORYFIELD"), Path())]


def agreed(question: str) -> bool:
    """Ask on the terminal; no answer is a no."""
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


has_answered = False
"""Whether a JSON object was printed: an error that comes then is told on standard error alone."""


def print_json(facts: dict[str, Any]) -> None:
    """One JSON object on standard output, with its shape's version."""
    _answered()
    print(json.dumps(answer(facts), ensure_ascii=_is_plain(), indent=2))


def print_json_line(facts: dict[str, Any]) -> None:
    """The same on a line of its own, sent off at once."""
    _answered()
    print(json.dumps(answer(facts), ensure_ascii=_is_plain()), flush=True)


def print_json_error(facts: dict[str, Any]) -> None:
    """Why a command ends, as JSON on one line, if it has not answered yet."""
    if not has_answered:
        facts = {**facts, "hint": advised(facts["hint"])}
        print(json.dumps(answer({"error": facts}), ensure_ascii=_is_plain()))


def _answered() -> None:
    global has_answered
    has_answered = True


def print_foreign_json(value: Any) -> None:
    """JSON whose shape is not ours."""
    print(json.dumps(value, ensure_ascii=_is_plain(), indent=2))


def _is_plain() -> bool:
    """Whether standard output should get ASCII alone."""
    return sys.stdout.isatty() or not (sys.stdout.encoding or "").lower().startswith("utf")
