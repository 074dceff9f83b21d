"""The validate command: faults as text, JSON, annotations or SARIF; what they mean; mending them."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ArchiveError, UsageError
from ..field import Field
from .common import FieldOption, JsonOption, command_group, location_of, print_json
from .options import PlainCommand
from .progress import progress_bar
from .render import clipped, escaped, plural, revealed, say, styled, width

if TYPE_CHECKING:
    from ..validation import Fault

app = command_group()

EXPECTED_WIDTH = 120
"""Columns of a quoted line where output goes elsewhere."""
_COLOURS = {"error": 31, "warning": 33, "notice": 36}


class Format(StrEnum):
    """How a report is written."""

    text = "text"
    json = "json"
    github = "github"
    sarif = "sarif"


@app.command(cls=PlainCommand)
def validate(
    field: FieldOption = None,
    select: Annotated[
        list[str] | None, typer.Option(metavar="IDS", help="Only these: F-8, or F for all of them; repeatable.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(metavar="IDS", help="All but these; repeatable.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 for warnings, too.")] = False,
    explain: Annotated[
        str, typer.Option(metavar="ID", help="Tell what a requirement says, why, and how to mend it.")
    ] = "",
    form: Annotated[Format, typer.Option("--format", help="How the report is written.")] = Format.text,
    as_json: JsonOption = False,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended without guessing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what --fix would do, and do nothing.")] = False,
) -> None:
    """Check every page and index against the format; exit 1 if a MUST is broken.

    What breaks a MUST of the written format is an error, a SHOULD a warning, and what is only worth
    a look a notice. Keys and tokens are looked for if detect-secrets is installed: `pip install
    'memoryfield-cli[secrets]'`.

    \b
    Example:
      $ memoryfield validate -f notes
      $ memoryfield validate --explain F-8
      $ memoryfield validate -f notes --diff
    """
    form = _form(form, as_json)
    if explain:
        _explain(explain, form)
        return
    if fix or diff:
        _mend(field, select or [], ignore or [], form, only_show=diff)
        if diff:
            return
    faults = _report(field, select or [], ignore or [], form)
    worst = {fault.severity for fault in faults}
    if "error" in worst or (strict and "warning" in worst):
        raise typer.Exit(1)


def _form(form: Format, as_json: bool) -> Format:
    if as_json and form not in (Format.text, Format.json):
        raise UsageError(f"--json and --format {form.value} are two formats", hint="Choose one.")
    return Format.json if as_json else form


def _explain(identifier: str, form: Format) -> None:
    from ..validation import explain

    found = explain(identifier)
    if form is Format.json:
        print_json(found._asdict())
        return
    print(f"{styled(found.id, 1)} ({found.severity}): {found.text}")
    print(f"Why: {found.why}")
    print(f"Mend: {found.mend}" if found.is_visible else found.mend)


def _report(given: list[str] | None, select: list[str], ignore: list[str], form: Format) -> "list[Fault]":
    """Validate, print what was found, and hand it on."""
    from ..validation import formats, no_archive, secrets

    location = Path(location_of(given))
    try:
        with Field.open(location) as opened, progress_bar("checking") as progress:
            name, pages = opened.name, len(opened.entries())
            faults = opened.validate(select=select, ignore=ignore, progress=progress)
    except ArchiveError as error:
        name, pages, faults = location.name, 0, [no_archive(error.message)]
    notes = [] if secrets.is_installed() else [f"secrets were not looked for: {secrets.HINT}"]
    if form is Format.json:
        print_json(formats.as_json(name, pages, faults, notes))
    elif form is Format.sarif:
        print_json(formats.as_sarif(location, faults))
    elif form is Format.github:
        for line in formats.as_github(location, faults):
            print(line)
    else:
        for fault in faults:
            _print_fault(fault)
    _say_counts(pages, faults)
    return faults


def _print_fault(fault: "Fault") -> None:
    kind = styled(f"{fault.severity} {fault.requirement}", _COLOURS[fault.severity])
    print(f"{styled(escaped(fault.place), 1)}: {kind}: {escaped(fault.message)}")
    if fault.source.strip():
        print(styled("    " + clipped(revealed(fault.source).strip(), (width() or EXPECTED_WIDTH) - 4), 2))


def _say_counts(pages: int, faults: "list[Fault]") -> None:
    from ..validation.formats import count

    counts = count(faults)
    parts = [plural(pages, "page"), plural(counts["errors"], "error"), plural(counts["warnings"], "warning")]
    if counts["notices"]:
        parts.append(plural(counts["notices"], "notice"))
    say(", ".join(parts))


def _mend(given: list[str] | None, select: list[str], ignore: list[str], form: Format, *, only_show: bool) -> None:
    """Mend what can be mended, or show it; whatever could not be done is said."""
