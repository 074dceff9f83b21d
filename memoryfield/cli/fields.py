"""Commands on a field as a whole: create, info."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..field import Field
from .common import AllowOption, FieldOption, JsonOption, command_group, open_field, print_json
from .options import PlainCommand
from .render import advised, escaped, plural, say, size, styled

app = command_group()

SHOWN_FAILURES = 3
"""So many pages that have no vector are named; `--json` names all."""


@app.command(cls=PlainCommand)
def create(
    path: Annotated[Path, typer.Argument(help="The folder to make, or an empty one.")],
    title: Annotated[str, typer.Option(help="What the field is called; else the folder's name.")] = "",
    summary: Annotated[str, typer.Option(help="One sentence about what it holds.")] = "",
    git: Annotated[bool, typer.Option("--git", help="Make it a git repository, indexes left out.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a new field: a folder with an index.md that introduces it.

    A folder that holds anything is refused, untouched; with --git, a field gets what git needs.

    \b
    Example:
      $ memoryfield create notes --title "Kitchen notes" --summary "What we learned about pans."
      $ memoryfield create shared --git
    """
    with Field.create(path, title=title, summary=summary, git=git) as field:
        made = field.made
        assert made
        if as_json:
            print_json({**made.to_dict(), "path": str(path)})
            return
        print(f"{escaped(str(path))}: {'a new field, with index.md' if made.is_new else 'the field was there already'}")
        if made.git:
            say(str(made.git))
        if made.is_new:
            say(f'next: memoryfield write -f {shlex.quote(str(path))} --title "…"')


@app.command(cls=PlainCommand)
def info(field: FieldOption = None, allow: AllowOption = None, as_json: JsonOption = False) -> None:
    """Tell what is in a field: pages, bytes, and each index with what is pending and what failed.

    \b
    Example:
      $ memoryfield info -f notes
    """
    with open_field(field, allow) as opened:
        entries = opened.entries()
        indexes = opened.indexes()
        largest = max(entries, key=lambda entry: entry.size, default=None)
        total = sum(entry.size for entry in entries)
        content_hash, unread = _content_hash(opened)
        if as_json:
            print_json(
                {
                    "field": opened.name,
                    "location": str(opened.location),
                    "pages": len(entries),
                    "bytes": total,
                    "content_hash": content_hash or None,
                    "largest": largest and {"filename": largest.name, "bytes": largest.size},
                    "indexes": [index.to_dict() for index in indexes],
                }
            )
            return
        print(f"{styled(escaped(opened.name), 1)}: {plural(len(entries), 'page')}, {size(total)}")
        print(f"content {content_hash}" if content_hash else f"no content hash: {escaped(unread)}")
        if largest:
            print(f"largest: {escaped(largest.name)}, {size(largest.size)}")
        for index in indexes:
            if index.problem:
                print(f"index {escaped(index.model)}: {escaped(index.problem)}")
                continue
            dimensions = f"{index.dimensions} dimensions" if index.dimensions else "no vectors"
            counts = f"{index.embedded:,} embedded, {index.pending:,} pending, {index.failed:,} failed"
            counts += f", {index.gone:,} gone" if index.gone else ""
            print(f"index {escaped(index.model)}: {dimensions}, {counts}, {size(index.bytes)}")
            _print_failures(index.failures)
        if not indexes:
            how = advised("run `memoryfield embed`")
            print(f"no index: {how}" if opened.container.writable else f"no index: unpack it, {how}, and pack it again")


def _content_hash(field: Field) -> tuple[str, str]:
    """The content hash, or nothing and why."""
    try:
        return field.content_hash(), ""
    except OSError as error:
        return "", f"{error.filename}: {error.strerror or error}"


def _print_failures(failures: tuple[tuple[str, str], ...]) -> None:
    for name, reason in failures[:SHOWN_FAILURES]:
        print(f"  {escaped(name)}: {escaped(reason)}")
    if len(failures) > SHOWN_FAILURES:
        print(f"  and {len(failures) - SHOWN_FAILURES:,} more")
