"""Commands on archives: pack and unpack."""

from pathlib import Path
from typing import Annotated

import typer

from .common import AllowOption, FieldOption, JsonOption, command_group, ends_cleanly, open_field, print_json
from .options import PlainCommand
from .progress import progress_bar
from .render import escaped, plural, say, size

app = command_group()


@app.command(cls=PlainCommand)
def pack(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The archive; else NAME.memoryfield.zip."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over an archive that is there.")] = False,
    field: FieldOption = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a field into one zip: its pages, its other files and its indexes.

    Without --output it goes into the current folder, or beside the field if that is the current folder.

    \b
    Example:
      $ memoryfield pack -f notes --output notes.memoryfield.zip
    """
    from ..archives import pack as pack_field

    with open_field(field, allow) as opened:
        if output is None and opened.location.resolve() == Path.cwd():
            output = Path.cwd().parent
        packed = pack_field(opened, output, replace=force)
    if as_json:
        print_json(packed.to_dict())
        return
    for name, reason in packed.left_out:
        say(f"left out: {name} ({reason})")
    counts = [plural(packed.pages, "page")]
    if packed.attachments:
        counts.append(plural(packed.attachments, "other file"))
    if packed.indexes:
        counts.append(plural(len(packed.indexes), "index"))
    print(f"{escaped(str(packed.path))}: {', '.join(counts)}, {size(packed.bytes)}")
    print(f"sha256 {packed.sha256}")


@app.command(cls=PlainCommand)
def unpack(
    archive: Annotated[Path, typer.Argument(metavar="FILE", help="The .memoryfield.zip.")],
    dest: Annotated[Path | None, typer.Argument(help="A new or empty folder; else the archive's name.")] = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Extract an archive into a new folder, after a look at every entry.

    An archive that is not safe is refused, and nothing is written then: names that lead outside, links,
    entries that contradict themselves, too much. What systems leave behind (.DS_Store, __MACOSX) stays out.

    \b
    Example:
      $ memoryfield unpack notes.memoryfield.zip copy-of-notes
    """
    from ..archives import unpack as unpack_archive
    from ..containers import Limits

    limits = Limits.read(allow or ())
    with ends_cleanly(), progress_bar("unpacking", at_once=False, unit="files") as progress:
        unpacked = unpack_archive(archive, dest, limits=limits, progress=progress)
    if as_json:
        print_json(unpacked.to_dict())
        return
    for name, reason in unpacked.left_out:
        say(f"left out: {name} ({reason})")
    print(f"{escaped(str(unpacked.path))}: {plural(unpacked.pages, 'page')}, {size(unpacked.bytes)}")
