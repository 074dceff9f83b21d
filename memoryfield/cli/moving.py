"""The commands between a field and other programs: import and export."""

from __future__ import annotations

import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import RefusedError, UsageError
from .common import AllowOption, FieldOption, JsonOption, command_group, open_field, print_json
from .options import PlainCommand
from .progress import progress_bar
from .render import contents, escaped, plural, say, size

if TYPE_CHECKING:
    from ..importing import Imported

app = command_group()


class Kind(StrEnum):
    """What a source can be."""

    markdown = "markdown"
    claude = "claude"
    basic_memory = "basic-memory"
    mcp_memory = "mcp-memory"
    jsonl = "jsonl"


class Folders(StrEnum):
    """What becomes of the folders in which notes lie."""

    tags = "tags"
    name = "name"


class Form(StrEnum):
    """What a field can be written out as."""

    markdown = "markdown"
    jsonl = "jsonl"


@app.command("import", cls=PlainCommand)
def import_(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A folder of notes, or a file.")],
    field: FieldOption = None,
    kind: Annotated[
        Kind | None, typer.Option("--from", help="What the source is; else it is told by its looks.")
    ] = None,
    folders: Annotated[
        Folders, typer.Option("--folders", help="What the folders of a note become: tags, or part of its name.")
    ] = Folders.tags,
    label: Annotated[
        str, typer.Option("--label", metavar="NAME", help="What the source is called; else as its folder is.")
    ] = "",
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Where a page was edited here and its source has changed, take the source's text."
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be done, and do nothing.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Bring the notes of another program into the field: all of it or nothing.

    markdown: Obsidian, Logseq, Hugo, any tree of Markdown; claude: Claude Code's memory folders and CLAUDE.md;
    basic-memory; mcp-memory: the reference MCP memory server's file; jsonl: lines with a text, as of mem0 and Letta.

    Importing again updates the pages: each is found by its uuid, whatever its name is now. A page that was edited
    here stays; if its source has changed too, that is a conflict, and the command ends with 3.

    \b
    Example:
      $ memoryfield import vault -f notes --dry-run
      $ memoryfield import memory.jsonl -f notes
    """
    from ..importing import import_source

    with open_field(field) as opened, progress_bar("importing", at_once=False, unit="notes") as show:
        imported = import_source(
            opened,
            source,
            kind=kind.value if kind else "",
            label=label,
            folders=folders.value,
            replace=replace,
            dry_run=dry_run,
            progress=show,
        )
    if as_json:
        print_json(imported.to_dict())
    else:
        _print(imported)
    _tell(imported, dry_run)
    if imported.conflicts:
        raise typer.Exit(RefusedError.exit_code)
    if imported.failed or imported.is_empty:
        raise typer.Exit(1)


def _print(imported: Imported) -> None:
    """A line for each page that is written or stays, and for each copy of a file."""
    lists = {
        "added": imported.added,
        "updated": imported.updated,
        "kept": imported.kept,
        "conflict": imported.conflicts,
        "copied": imported.attachments,
    }
    for word, pages in lists.items():
        for page in pages:
            print(escaped(f"{word} {page.filename}  <- {page.source}"))
    for name in imported.gone:
        print(escaped(f"gone {name}"))


_SHOWN = 5
_WORDS = {
    "note": "not imported",
    "line": "not imported",
    "empty": "empty",
    "duplicate": "twice the same",
    "file": "files not copied",
    "folder": "folders passed over",
    "link": "links left as they are",
    "frontmatter": "frontmatter not understood",
    "date": "dates not understood",
    "key": "keys left out",
    "relation": "relations not linked",
    "text": "texts that were not sound",
}


def _tell(imported: Imported, dry_run: bool) -> None:
    """How much there was of everything, and what somebody should look at."""
    for note in imported.notes:
        say(f"note: {note}")
    changed = imported.added or imported.updated or imported.kept or imported.conflicts or imported.attachments
    most = _SHOWN if changed or imported.is_empty else 0  # where all is as it was, it was told before
    by_kind = Counter(item.kind for item in imported.left)
    for kind, count in by_kind.items():
        items = [item for item in imported.left if item.kind == kind]
        shown = len(items) if kind in ("note", "line") else most
        say(f"{_WORDS.get(kind, kind)}: {count}{'' if shown else '; --json lists them'}")
        for item in items[:shown]:
            say(f"  {item.place}: {item.reason}")
        if 0 < shown < len(items):
            say(f"  and {len(items) - shown:,} more; --json lists them all")
    if imported.gone:
        say(f"no longer in the source, and kept: {plural(len(imported.gone), 'page')}")
    if imported.conflicts:
        say("edited here, and changed in the source: --replace takes the source's text")
    if imported.is_empty:
        say(f"there was nothing to import in {imported.source!r}, taken for {imported.kind}")
        return
    counts = f"{len(imported.added)} new, {len(imported.updated)} updated, {imported.same} unchanged"
    for count, what in ((len(imported.kept), "edited here and kept"), (len(imported.conflicts), "in conflict")):
        counts += f", {count} {what}" if count else ""
    say(f"{imported.kind}: {'would be ' if dry_run else ''}{counts}")


@app.command(cls=PlainCommand)
def export(
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="A new folder (markdown), a file or - (jsonl).")],
    to: Annotated[Form, typer.Option("--to", help="Markdown files, or a line of JSON for each page.")],
    replace: Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")] = False,
    field: FieldOption = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the field out for other programs.

    markdown: a folder with every page and every other file, as they are; no index. jsonl: one line a page, with its
    frontmatter and its text, which `import --from jsonl` takes back.

    \b
    Example:
      $ memoryfield export copy --to markdown -f notes
      $ memoryfield export notes.jsonl --to jsonl -f notes
    """
    from ..exporting import export_jsonl, export_markdown

    is_stream = output == "-"
    if is_stream and (as_json or to is Form.markdown):
        raise UsageError("only lines go to standard output, and nothing beside them")
    with open_field(field, allow) as opened:
        if to is Form.markdown:
            exported = export_markdown(opened, output)
        else:
            exported = export_jsonl(opened, sys.stdout.buffer if is_stream else output, replace=replace)
    for name, reason in exported.left:
        say(f"not exported: {name} {reason}")
    if as_json:
        print_json(exported.to_dict())
    elif not is_stream:
        print(escaped(output))
    say(f"{contents(exported.pages, exported.attachments, 0)}, {size(exported.bytes)}")
    if exported.failed:
        raise typer.Exit(1)
