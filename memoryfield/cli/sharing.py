"""Commands on archives: pack and unpack."""

from pathlib import Path
from typing import Annotated

import typer

from .common import AllowOption, FieldOption, JsonOption, command_group, open_field, print_json
from .options import PlainCommand
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
    as_json: JsonOption = False,
) -> None:
    """Extract an archive into a new folder, after a look at every entry.

    Names that lead outside and links are refused, and nothing is written then.

    \b
    Example:
      $ memoryfield unpack notes.memoryfield.zip copy-of-notes
    """
    from ..archives import unpack as unpack_archive

    unpacked = unpack_archive(archive, dest)
    if as_json:
        print_json(unpacked.to_dict())
    else:
        print(f"{escaped(str(unpacked.path))}: {plural(unpacked.pages, 'page')}, {size(unpacked.bytes)}")
