"""The command that takes one field's pages into another: merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..containers import Limits, open_container
from ..errors import RefusedError, UsageError
from .common import AllowOption, FieldOption, JsonOption, command_group, open_field, print_json, tell_notes
from .options import PlainCommand
from .progress import progress_bar
from .render import escaped, plural, say

if TYPE_CHECKING:
    from ..archives.deciding import Conflict
    from ..archives.merge import Merged

app = command_group()

BaseOption = Annotated[
    str,
    typer.Option(
        "--base", metavar="LOCATION", help="What both sides once were: then what one side alone changed is taken."
    ),
]
OursOption = Annotated[bool, typer.Option("--ours", help="In a conflict, keep the field's page.")]
TheirsOption = Annotated[bool, typer.Option("--theirs", help="In a conflict, take the source's page.")]
NewerOption = Annotated[bool, typer.Option("--newer", help="In a conflict, the page that was updated last.")]
BothOption = Annotated[bool, typer.Option("--both", help="In a conflict, keep both; the source's gets a free name.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Tell what would be done, and do nothing.")]


@app.command(cls=PlainCommand)
def merge(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A folder, a .memoryfield.zip, or a name.")],
    field: FieldOption = None,
    base: BaseOption = "",
    ours: OursOption = False,
    theirs: TheirsOption = False,
    newer: NewerOption = False,
    both: BothOption = False,
    dry_run: DryRunOption = False,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take the pages of another field into this one: all of it or nothing.

    New pages are added. Where a page differs, and nothing tells that one side alone changed it,
    both are listed and nothing is written, unless an option decides.

    \b
    Example:
      $ memoryfield merge team.memoryfield.zip -f notes --dry-run
      $ memoryfield merge team.memoryfield.zip -f notes --base team-in-may.memoryfield.zip --newer
    """
    strategy = chosen(ours=ours, theirs=theirs, newer=newer, both=both)
    merge_into(source, field, base=base, strategy=strategy, dry_run=dry_run, allow=allow, as_json=as_json)


def chosen(**options: bool) -> Any:
    """The name of the one option that is set, if any.

    Raises:
        UsageError: several are.
    """
    given = [name for name, is_set in options.items() if is_set]
    if len(given) > 1:
        raise UsageError(f"{' and '.join('--' + name for name in given)} exclude each other")
    return given[0] if given else ""


def merge_into(
    source: str,
    field: list[str] | None,
    *,
    base: str = "",
    strategy: Any = "",
    dry_run: bool = False,
    allow: list[str] | None = None,
    as_json: bool = False,
    deciding: str = "`memoryfield merge`",
) -> None:
    """Merge, and tell what was done; leave with 3 where conflicts are open. `deciding`: what takes the strategies."""
    from contextlib import ExitStack, closing

    from ..archives.merge import merge as merge_fields

    limits = Limits.read(allow or ())
    with ExitStack() as stack:
        opened = stack.enter_context(open_field(field, allow))
        theirs = stack.enter_context(closing(open_container(source, limits)))
        ancestor = stack.enter_context(closing(open_container(base, limits))) if base else None
        for container in filter(None, (theirs, ancestor)):
            tell_notes(container)
        show = stack.enter_context(progress_bar("merging", at_once=False))
        merged = merge_fields(opened, theirs, base=ancestor, resolve=strategy, dry_run=dry_run, progress=show)
    for note in merged.notes:
        say(f"note: {note}")
    if as_json:
        print_json(merged.to_dict())
    else:
        _print(merged, dry_run)
    if merged.conflicts:
        _say_conflicts(merged, deciding, with_base=bool(base), strategy=strategy)
        raise typer.Exit(RefusedError.exit_code)


def _print(merged: Merged, dry_run: bool) -> None:
    """A line for each page that changes, then how many; nothing where conflicts keep it from being done."""
    if merged.conflicts and not dry_run:
        return
    lines = {
        "added": merged.added,
        "taken": merged.taken,
        "renamed": [f"{old} -> {new}" for old, new in merged.renamed],
        "removed": merged.removed,
        "kept": merged.kept,
        "stays deleted": merged.stay_deleted,
    }
    for word, found in lines.items():
        for name in found:
            print(f"{word}: {escaped(name)}")
    counts = [f"{len(found):,} {word}" for word, found in lines.items() if found]
    print(f"{', '.join([*counts, f'{merged.same:,} the same'])}{'; nothing was written' if dry_run else ''}")


def _say_conflicts(merged: Merged, deciding: str, *, with_base: bool, strategy: str) -> None:
    for conflict in merged.conflicts:
        say(f"conflict: {conflict.filename} {conflict.reason}{_times(conflict)}")
    left = [name for name in ("ours", "theirs", "newer", "both") if name != strategy]
    hint = f"{deciding} with --{', --'.join(left[:-1])} or --{left[-1]} decides"
    if not with_base:
        hint += "; --base LOCATION, what both sides once were, tells who changed what"
    say(f"error: {plural(len(merged.conflicts), 'conflict')}, and nothing was written. {hint}.")


def _times(conflict: Conflict) -> str:
    """When each side was updated, where that is known of both."""
    if not (conflict.ours and conflict.theirs and conflict.ours.updated and conflict.theirs.updated):
        return ""
    return f" (updated here {conflict.ours.updated}, there {conflict.theirs.updated})"
