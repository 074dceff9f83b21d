"""The command that cuts a long page into several: split."""

from typing import Annotated

import typer

from .common import FieldOption, JsonOption, command_group, open_field, print_json
from .options import PlainCommand
from .render import escaped, say, size, styled

app = command_group()


@app.command(cls=PlainCommand)
def split(
    page: Annotated[str, typer.Argument(help="Name, stem, uuid or its first 8 characters.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the parts, and write nothing.")] = False,
    if_match: Annotated[
        str, typer.Option(metavar="SHA256", help="Split only if the stored page has this sha256.")
    ] = "",
    field: FieldOption = None,
    as_json: JsonOption = False,
) -> None:
    """Cut a page of more than 8,192 bytes into pages within them, at its headings.

    The first part keeps the page's name and uuid, and lists the others, each with a uuid of its own
    and the page's sources and tags. Links to headings follow, those of other pages, too.

    \b
    Example:
      $ memoryfield split woks --dry-run
      $ memoryfield split woks
    """
    with open_field(field) as opened:
        done = opened.split(page, if_match=if_match, dry_run=dry_run)
    for note in done.notes:
        say(f"note: {note}")
    if as_json:
        print_json(done.to_dict())
        return
    for part in done.parts:
        print(f"{styled(escaped(part.name), 1)}: {escaped(part.title)}, {size(len(part.raw))}")
    for name in done.followed:
        print(f"{escaped(name)}: its links lead to the parts")
    if dry_run and len(done.parts) > 1:
        say("nothing was written: this is what `split` would do")
