"""Commands on archives: pack and unpack."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ..errors import FieldNotFoundError, RefusedError, UsageError
from ..field import Field
from .common import AllowOption, FieldOption, JsonOption, command_group, open_field, print_json
from .options import PlainCommand
from .progress import progress_bar
from .render import contents, escaped, plural, say, size

app = command_group()


@app.command(cls=PlainCommand)
def pack(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The archive; else NAME.memoryfield.zip."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Write over an archive that is there.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Pack a field that breaks a MUST of the format.")] = False,
    store: Annotated[
        bool, typer.Option("--store", help="Compress nothing: the same bytes on every machine, and a larger file.")
    ] = False,
    model: Annotated[
        list[str] | None, typer.Option("--model", metavar="CODE", help="Only the index of this model; repeatable.")
    ] = None,
    no_index: Annotated[bool, typer.Option("--no-index", help="No index: the receiver makes one.")] = False,
    sidecar: Annotated[
        bool, typer.Option("--sidecar", help="Also write FILE.sha256, which `sha256sum -c` reads.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would go in, and write nothing.")] = False,
    field: FieldOption = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a field into one zip: its pages, its other files and its indexes.

    Without --output it goes into the current folder, or beside the field if that is the current folder.

    The same field gives the same bytes whenever and wherever it is packed, so that its sha256 can be
    compared; each index is brought up to date and written afresh. Compressed bytes depend on the zlib
    that Python was built with: where others have to come to the very same file, use --store.
    The line "content" names the pages and other files whatever zips them.

    \b
    Example:
      $ memoryfield pack -f notes --output notes.memoryfield.zip
    """
    from ..archives.pack import pack as pack_field

    if no_index and model:
        raise UsageError("--no-index and --model contradict each other")
    models = [] if no_index else model or None
    with open_field(field, allow) as opened:
        if dry_run:
            _show_plan(opened, models, as_json, force=force)
            return
        if output is None and opened.location.resolve() == Path.cwd():
            output = Path.cwd().parent
        with progress_bar("packing", at_once=False) as progress:
            packed = pack_field(
                opened,
                output,
                replace=replace,
                force=force,
                store=store,
                models=models,
                sidecar=sidecar,
                progress=progress,
            )
    if as_json:
        print_json(packed.to_dict())
        return
    _say_left_out(packed.left_out, packed.notes)
    held = contents(packed.pages, packed.attachments, len(packed.indexes))
    print(f"{escaped(str(packed.path))}: {held}, {size(packed.bytes)}")
    print(f"sha256 {packed.sha256}")
    print(f"content {packed.content_hash}")


def _say_left_out(left_out: list[tuple[str, str]], notes: Sequence[str] = ()) -> None:
    for name, reason in left_out:
        say(f"left out: {name} ({reason})")
    for note in notes:
        say(f"note: {note}")


def _show_plan(opened: Field, models: list[str] | None, as_json: bool, *, force: bool) -> None:
    """What would be packed, a file a line; exit code 3 where it would be refused."""
    from ..archives.planning import plan

    planned = plan(opened, models=models)
    if as_json:
        print_json(planned.to_dict())
    else:
        _say_left_out(planned.left_out, planned.notes)
        for file in planned.files:
            print(f"{file.time}  {size(file.bytes):>12}  {escaped(file.name)}")
        for fault in planned.faults:
            say(str(fault))
        if planned.faults and not force:
            say("it would be refused: see `memoryfield validate`, or use --force")
    if planned.faults and not force:
        raise typer.Exit(RefusedError.exit_code)


@app.command(cls=PlainCommand)
def unpack(
    archive: Annotated[str, typer.Argument(metavar="FILE", help="The .memoryfield.zip, or its field's name.")],
    dest: Annotated[Path | None, typer.Argument(help="A new or empty folder; else the archive's name.")] = None,
    allow: AllowOption = None,
    into: Annotated[
        str, typer.Option("--into", metavar="FIELD", help="Merge it into a field that is there, as `merge` does.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Extract an archive into a new folder, after a look at every entry.

    An archive that is not safe is refused, and nothing is written then: names that lead outside, links,
    entries that contradict themselves, too much. What systems leave behind (.DS_Store, __MACOSX) stays out.

    \b
    Example:
      $ memoryfield unpack notes.memoryfield.zip copy-of-notes
    """
    if into:
        unpack_into(archive, dest, into, allow, as_json)
        return
    from ..archives.unpack import unpack as unpack_archive
    from ..containers import Limits

    limits = Limits.read(allow or ())
    with progress_bar("unpacking", at_once=False, unit="files") as progress:
        unpacked = unpack_archive(archive, dest, limits=limits, progress=progress)
    if as_json:
        print_json(unpacked.to_dict())
        return
    _say_left_out(unpacked.left_out)
    print(f"{escaped(str(unpacked.path))}: {plural(unpacked.pages, 'page')}, {size(unpacked.bytes)}")


def unpack_into(archive: str, dest: Path | None, field: str, allow: list[str] | None, as_json: bool) -> None:
    """Merge an archive into a field."""
    from ..containers import is_name
    from .merging import merge_into

    if dest is not None:
        raise UsageError("a folder and --into exclude each other")
    if Path(archive).is_dir() and not is_name(archive):
        raise FieldNotFoundError(f"no archive {archive!r}", hint="`memoryfield merge` also takes folders.")
    command = f"`memoryfield merge {shlex.quote(archive)} -f {shlex.quote(field)}`"
    merge_into(archive, [field], allow=allow, as_json=as_json, deciding=command)
