"""What the commands share: the field option, opening the field, JSON."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..field import Field, locate

FieldOption = Annotated[
    str | None,
    typer.Option("--field", "-f", metavar="LOCATION", help="The field: a folder or a .memoryfield.zip."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]


def command_group() -> typer.Typer:
    """Where a module of commands registers them; help in plain text, errors by `main`."""
    return typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)


def open_field(given: str | None) -> Field:
    """The field that a command works on."""
    return Field.open(locate(given, os.environ.get("MEMORYFIELD"), Path()))


def print_json(value: Any) -> None:
    """One JSON object on standard output."""
    plain = sys.stdout.isatty() or not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(value, ensure_ascii=plain, indent=2))
