"""Commands on names of fields and their pins: add, fields, remove, update."""

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import RefusedError, UsageError
from .common import AllowOption, JsonOption, agreed, command_group, print_json
from .comparing import print_changes, print_patch
from .options import PlainCommand
from .progress import progress_bar
from .render import escaped, plural, say, styled

if TYPE_CHECKING:
    from ..archives.pins import Listed, Update

app = command_group()


@app.command(cls=PlainCommand)
def add(
    name: Annotated[str, typer.Argument(help="Lowercase letters, digits and hyphens.")],
    location: Annotated[str, typer.Argument(help="A folder, a .memoryfield.zip, or an https URL of one.")],
    sha256: Annotated[str, typer.Option(metavar="HEX", help="What the archive's sha256 must be.")] = "",
    project: Annotated[
        bool, typer.Option("--project", help="Keep the name in the current folder's memoryfields.toml.")
    ] = False,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a field a name, by which -f and MEMORYFIELD know it; an archive is pinned by its sha256.

    Every later use of the name checks the pin. The name is kept in the nearest memoryfields.toml upwards
    from the current folder, else in your own. An archive from a URL is fetched into the cache.

    \b
    Example:
      $ memoryfield add kitchen notes.memoryfield.zip
      $ memoryfield search -f kitchen "what heats evenly?"
    """
    from ..archives import pins

    with progress_bar("fetching", at_once=False, unit="bytes") as progress:
        pinned = pins.add(name, location, sha256=sha256, allow=allow or (), project=project, progress=progress)
    if pinned.named.sha256 and not sha256:
        say("note: pinned is what is there now: compare the sha256 with that of whoever sent it")
    if pinned.hides:
        say(f"note: here, it hides {name!r} of {str(pinned.hides.file)!r}, which is {pinned.hides.shown}")
    if as_json:
        print_json(pinned.to_dict())
        return
    print(f"{styled(name, 1)}: {escaped(pinned.named.shown)}, {plural(pinned.pages, 'page')}")
    if pinned.named.sha256:
        print(f"sha256 {pinned.named.sha256}")
    print(f"content {pinned.content_hash}")
    file = pinned.named.file
    say(f"kept in {file.name if file.parent == Path.cwd() else file}")


@app.command(cls=PlainCommand)
def fields(
    check: Annotated[
        bool, typer.Option("--check", help="Verify all: read every page, and fetch what is missing.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the names of fields: location, pages, pin, and when each was last checked.

    What is wrong with one is told beside it. With --check, the exit code tells, too.

    \b
    Example:
      $ memoryfield fields
      $ memoryfield fields --check
    """
    from ..archives import pins

    found = pins.listed(check=check)
    if as_json:
        print_json({"fields": [one.to_dict() for one in found]})
    else:
        for one in found:
            _print_listed(one)
        if not found:
            say("no field has a name: `memoryfield add NAME LOCATION` gives one")
    if check and (code := max((_code(one) for one in found), default=0)):
        raise typer.Exit(code)


def _code(one: "Listed") -> int:
    """What a name adds to the exit code of all: whatever is wrong with it but a refusal is a problem."""
    return one.exit_code if one.exit_code in (0, RefusedError.exit_code) else 1


def _print_listed(one: "Listed") -> None:
    parts = [styled(escaped(one.named.name), 1), escaped(one.named.shown)]
    if one.pages is not None:
        parts.append(plural(one.pages, "page"))
    elif not one.error:
        parts.append("not fetched yet")
    parts.append(f"sha256 {one.named.sha256[:12]}" if one.named.sha256 else "no pin")
    date = time.strftime("%Y-%m-%d", time.gmtime(one.checked)) if one.checked else ""
    if one.error:
        parts.append(f"fails, was well on {date}" if date else "fails")
    else:
        parts.append(f"checked {date}" if date else "not checked")
    print("  ".join(parts))
    if one.error:
        print(f"  {escaped(one.problem)}")


@app.command(cls=PlainCommand)
def remove(
    name: Annotated[str, typer.Argument(help="The name to forget.")],
    as_json: JsonOption = False,
) -> None:
    """Forget a name; the field itself stays where it is.

    \b
    Example:
      $ memoryfield remove kitchen
    """
    from ..archives import pins

    removed = pins.remove(name)
    if as_json:
        print_json({"name": name, "location": removed.shown, "file": str(removed.file)})
    else:
        print(f"{name}: removed from {escaped(str(removed.file))}")


@app.command(cls=PlainCommand)
def update(
    name: Annotated[str, typer.Argument(help="The name of an archive.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Move the pin without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what changed, and move nothing.")] = False,
    sha256: Annotated[str, typer.Option(metavar="HEX", help="What the archive's sha256 must be.")] = "",
    patch: Annotated[bool, typer.Option("--patch", "-p", help="Show the text that differs, as a patch.")] = False,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at an archive again, show what changed since it was pinned, and move the pin after a yes.

    What changed inside of a page can be told where the old archive is still here, in the cache of those
    that were fetched.

    \b
    Example:
      $ memoryfield update kitchen --dry-run
    """
    if patch and as_json:
        raise UsageError("--patch and --json are two forms", hint="Choose one.")
    from ..archives import pins

    bar = ExitStack()

    def accept(seen: "Update") -> bool:
        bar.close()
        if not as_json:
            _print_update(seen, patch)
        if dry_run or yes:
            return yes and not dry_run
        if not sys.stdin.isatty():
            return False
        return agreed("Pin this one?")

    with bar:
        progress = bar.enter_context(progress_bar("fetching", at_once=False, unit="bytes"))
        seen = pins.update(name, accept, sha256=sha256, allow=allow or (), progress=progress)
    if as_json:
        print_json(seen.to_dict())
    elif not seen.is_changed:
        print(f"{name}: unchanged, {plural(seen.pages, 'page')}, sha256 {seen.sha256}")
    elif seen.is_moved:
        print(f"{name}: pinned is now {seen.sha256}")
    if seen.is_changed and not seen.is_moved and not dry_run:
        hint = "" if sys.stdin.isatty() else "Say --yes where nobody can be asked."
        raise RefusedError("the pin was not moved", hint=hint)


def _print_update(seen: "Update", patch: bool) -> None:
    print(f"{styled(seen.named.name, 1)}: {escaped(seen.named.shown)}, {plural(seen.pages, 'page')}")
    print(f"pinned sha256 {seen.named.sha256 or 'none'}")
    print(f"found  sha256 {seen.sha256}")
    if seen.diff is None:
        print("what was pinned is not known here any more: all of it may have changed")
    elif seen.diff.is_same:
        print("the pages are the same; what differs is how they are packed, or an index")
    elif patch and seen.is_at_hand:
        sys.stdout.flush()  # the patch is written byte for byte
        print_patch(seen.diff)
        sys.stdout.buffer.flush()
    else:
        print_changes(seen.diff)
    if patch and not seen.is_at_hand:
        say("note: there is no patch: the archive that was pinned is not here any more")
