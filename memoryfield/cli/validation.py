"""The validate command: faults as text, JSON, annotations or SARIF; what they mean; mending them."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import __version__
from ..errors import ArchiveError, UsageError
from ..field import Field
from .common import (
    AllowOption,
    FieldOption,
    JsonOption,
    command_group,
    is_named,
    location_of,
    open_field,
    print_foreign_json,
    print_json,
)
from .options import PlainCommand
from .progress import progress_bar
from .render import clipped, escaped, is_terminal, plural, revealed, say, styled, width

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
        str, typer.Option(metavar="ID", help="What a requirement (or all of a letter) says, why, and how to mend it.")
    ] = "",
    form: Annotated[Format, typer.Option("--format", help="How the report is written.")] = Format.text,
    as_json: JsonOption = False,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended without guessing.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Show what --fix would do, and do nothing.")] = False,
    allow: AllowOption = None,
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
    if (explain or diff) and form in (Format.github, Format.sarif):
        raise UsageError(f"--format {form.value} is for reports", hint="Choose text or json.")
    if explain:
        _explain(explain, form)
        return
    if (fix or diff) and (select or ignore):
        raise UsageError("--fix mends all that it can, and --select and --ignore choose what is reported")
    if fix and not diff and not is_named(field):
        raise UsageError("--fix changes and renames files: name the field", hint="For the current folder: -f .")
    if diff:
        raise typer.Exit(int(_show_fixes(field, allow, form)))
    fixed, complete = _fix(field, allow, form) if fix else (None, True)
    faults, read_all = _report(field, allow, select or [], ignore or [], form, fixed)
    worst = {fault.severity for fault in faults}
    if not complete or not read_all or "error" in worst or (strict and "warning" in worst):
        raise typer.Exit(1)


def _form(form: Format, as_json: bool) -> Format:
    if as_json and form not in (Format.text, Format.json):
        raise UsageError(f"--json and --format {form.value} are two formats", hint="Choose one.")
    return Format.json if as_json else form


def _explain(identifier: str, form: Format) -> None:
    from ..validation import explain, requirements

    if matching := [one for one in requirements().values() if one.id.partition("-")[0] == identifier.strip().upper()]:
        if form is Format.json:
            print_json({"requirements": [one._asdict() for one in matching]})
        for one in matching if form is not Format.json else ():
            print(f"{styled(one.id, 1)} ({one.severity}): {one.text}")
        return
    found = explain(identifier)
    if form is Format.json:
        print_json(found._asdict())
        return
    print(f"{styled(found.id, 1)} ({found.severity}): {found.text}")
    print(f"Why: {found.why}")
    print(f"Mend: {found.mend}" if found.is_visible else found.mend)


def _report(
    given: list[str] | None,
    allow: list[str] | None,
    select: list[str],
    ignore: list[str],
    form: Format,
    fixed: list[dict[str, Any]] | None,
) -> "tuple[list[Fault], bool]":
    """Validate, print what was found (and in JSON what was `fixed`); the faults, and whether all pages were read."""
    from ..containers import Limits, open_container
    from ..validation import chosen, formats, no_archive, secrets, unread

    place = location_of(given)
    location = Path(place)
    chosen(select, ignore)  # wrong identifiers are wrong usage, also where there is nothing to validate
    limits = Limits.read(allow or ())
    not_read: list[str] = []
    try:
        container = open_container(place, limits, strict=False)
        location = container.location
        with Field(container) as opened, progress_bar("checking", at_once=False) as progress:
            name, pages = opened.name, len(opened.entries())
            faults = opened.validate(select=select, ignore=ignore, progress=progress)
            not_read = [*container.notes, *unread(container)]
    except ArchiveError as error:
        name, pages, faults = location.name, 0, [no_archive(error.message)]
    notes = [*secrets.not_looked_for(select, ignore), *not_read]
    if form is Format.json:
        report = formats.as_json(name, pages, faults, notes)
        print_json(report if fixed is None else {**report, "fixed": fixed})
    elif form is Format.sarif:
        print_foreign_json(formats.as_sarif(location, faults, version=__version__))
    elif form is Format.github:
        for line in formats.as_github(location, faults):
            print(escaped(line))
    else:
        for fault in faults:
            _print_fault(fault)
    for note in notes if form is not Format.json else ():
        say(f"note: {note}")
    _say_counts(pages, faults)
    return faults, not not_read


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


def _show_fixes(given: list[str] | None, allow: list[str] | None, form: Format) -> bool:
    """Print what --fix would do; whether that is anything."""
    from ..validation.fixes import diff

    with open_field(given, allow) as opened:
        changes = opened.fixes()
        if form is Format.json:
            print_json(
                {"field": opened.name, "changes": [{**change.to_dict(), "diff": diff(change)} for change in changes]}
            )
        else:
            for change in changes:
                print("".join(_patch_line(line) for line in diff(change).splitlines(keepends=True)), end="")
    say(f"{plural(len(changes), 'page')} would change" if changes else "nothing to mend")
    return bool(changes)


def _patch_line(line: str) -> str:
    """A line of a patch: byte for byte where a program reads it, escaped and coloured on a terminal."""
    if not is_terminal():
        return line
    colour = {"+": (32,), "-": (31,), "@": (36,)}.get(line[0], ())
    return styled(escaped(line.rstrip("\n")), *colour) + "\n"


def _fix(given: list[str] | None, allow: list[str] | None, form: Format) -> tuple[list[dict[str, Any]], bool]:
    """Mend what can be mended and tell about it; what was done, and whether all of it could be."""
    with open_field(given, allow) as opened:
        changes = opened.fixes()
        outcomes = opened.fix(changes)
    done = {change.filename: change for change in changes}
    for outcome in outcomes:
        if outcome.problem:
            say(f"error: {outcome.filename}: {outcome.problem}" if outcome.filename else f"note: {outcome.problem}")
            continue
        for mend in done[outcome.filename].mended:
            line = f"{outcome.filename}:{mend.line}" if mend.line else outcome.filename
            told = f"{styled(escaped(line), 1)}: mended {mend.requirement}: {escaped(mend.message)}"
            print(told, file=sys.stdout if form is Format.text else sys.stderr)
    told_of = [{**done[one.filename].to_dict(), "problem": one.problem} for one in outcomes if one.filename]
    return told_of, not any(outcome.problem for outcome in outcomes if outcome.filename)
