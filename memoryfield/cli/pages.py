"""Commands on pages: write, read, list, edit, rename, delete."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..answers import Deleted, PageRead, Renamed, Written
from ..errors import MemoryfieldError, RefusedError, UsageError
from ..field import Field
from ..page import Page
from .common import AllowOption, FieldOption, JsonOption, agreed, command_group, open_field, print_json
from .options import PlainCommand
from .render import cells, clipped, escaped, escaped_page, is_terminal, plural, say, size, styled, width

app = command_group()


@app.command(cls=PlainCommand)
def write(
    page: Annotated[str, typer.Argument(help="The page's name, with or without .md; else made from the title.")] = "",
    title: Annotated[str, typer.Option(help="The title; else the first heading, else the name.")] = "",
    summary: Annotated[str, typer.Option(help="One sentence that gives the answer.")] = "",
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Read the text from a file instead.")
    ] = None,
    append: Annotated[bool, typer.Option("--append", help="Add the text to the page's end.")] = False,
    section: Annotated[
        str, typer.Option(metavar="HEADING", help='With --append: to the end of a section; "## New" makes it.')
    ] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace the page; its uuid and created stay.")] = False,
    if_match: Annotated[
        str, typer.Option(metavar="SHA256", help="Write only if the stored page has this sha256.")
    ] = "",
    no_duplicates: Annotated[
        bool, typer.Option("--no-duplicates", help="Refuse a new page if others say nearly the same.")
    ] = False,
    field: FieldOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store a page from standard input; what its frontmatter lacks is filled in.

    An existing page is not overwritten unless --replace or --append says so. If other pages say nearly
    the same, a note names them.

    \b
    Example:
      $ echo "Carbon steel heats evenly." | memoryfield write woks --title "Which wok heats evenly?"
      $ memoryfield write --from draft.md --replace
      $ echo "- Rinse it hot." | memoryfield write woks --append --section "## Care"
    """
    if append and replace:
        raise UsageError("--append and --replace exclude each other")
    with open_field(field) as opened:
        if not page and source is not None and not title:
            page = _name_for(source)
        mode: Any = "append" if append else "replace" if replace else "new"
        duplicates: Any = "refuse" if no_duplicates else "tell"
        written = opened.write(
            page,
            _text(source),
            title=title,
            summary=summary,
            mode=mode,
            section=section,
            if_match=if_match,
            duplicates=duplicates,
        )
        _report(written, as_json)


def _name_for(source: Path) -> str:
    """The name for a file's page, if neither it nor a title tells one: that of the file."""
    given = Page("page.md", source.read_bytes())
    return "" if given.frontmatter.get("title") or given.heading else source.stem


def _text(source: Path | None) -> bytes:
    if source is not None:
        return source.read_bytes()
    if sys.stdin.isatty():
        say("reading the page from standard input; end it with Ctrl-D")
    return sys.stdin.buffer.read()


def _report(written: Written, as_json: bool) -> None:
    for note in written.told:
        say(f"note: {note}")
    if written.similar:
        say("note: if it is one memory, keep one page: add to it with --append, and delete the other")
    if as_json:
        print_json(written.to_dict())
    else:
        print(escaped(written.page.filename))


_WANTED = typer.Argument(metavar="PAGE...", help="Name, stem, uuid or its first 8 characters; #HEADING for a section.")


@app.command(cls=PlainCommand)
def read(
    pages: Annotated[list[str], _WANTED],
    body: Annotated[bool, typer.Option("--body", help="Leave the frontmatter out.")] = False,
    outline: Annotated[bool, typer.Option("--outline", help="Print the headings and their sizes alone.")] = False,
    field: FieldOption = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print pages. One page: its bytes, as they are. Several: each under a line with its name.

    PAGE#HEADING is one section, to the next heading of its level: by its heading, or as in a link to
    it (#why-carbon-steel).

    \b
    Example:
      $ memoryfield read woks
      $ memoryfield read --body woks pans
      $ memoryfield read --outline woks
      $ memoryfield read woks#woks pans
    """
    if outline and body:
        raise UsageError("--outline prints no text, so --body does not go with it")
    with open_field(field, allow) as opened:
        found = opened.read_many(pages)
    if as_json:
        print_json(found.to_dict(body=body, outline=outline))
    elif outline:
        for one in found.pages:
            _print_outline(one)
    else:
        for number, one in enumerate(found.pages):
            if len(pages) > 1:
                print(f"{chr(10) if number else ''}==> {_called(one)} <==", flush=True)
            _print_page(one, body)
    for missing in found.missing:
        say(f"error: {missing}")
    for wanted, fault in found.failed:
        told = str(fault) if isinstance(fault, MemoryfieldError) else f"{fault.filename or wanted}: {fault.strerror}"
        say(f"error: {told}")
    if not found.is_complete:
        raise typer.Exit(1)


def _called(one: PageRead) -> str:
    """What was read, as it can be asked for."""
    return escaped(one.filename if one.section is None else f"{one.filename}#{one.section.text}")


def _print_outline(one: PageRead) -> None:
    """A line for the page, and one for each heading; of those that are alike with what tells them apart."""
    from ..sections import anchor as anchor_of

    found = one.to_dict(outline=True)["outline"]
    plain = [anchor_of(section["heading"]) for section in found]
    counts = Counter(plain)
    print(f"{styled(_called(one), 1)}  {one.page.size:,} bytes  {escaped(one.page.title)}")
    for section, name in zip(found, plain, strict=True):
        anchor = f"  #{section['anchor']}" if counts[name] > 1 or section["anchor"] != name else ""
        print(f"{'  ' * section['level']}{escaped(section['heading'])}  {section['bytes']:,}{escaped(anchor)}")


def _print_page(one: PageRead, body: bool) -> None:
    page = one.page
    if is_terminal():
        print(escaped_page(one.body if body else one.text), end="")
        return
    if one.section is not None:
        content = one.text.encode("utf-8")
    elif not body:
        content = page.raw
    else:
        content = page.body.encode("utf-8") if page.is_utf8 else page.raw[len(page.raw) - _body_bytes(page) :]
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _body_bytes(page: Page) -> int:
    """How many bytes of a page that is not UTF-8 are its body; in the frontmatter, each byte is one character."""
    head = page.raw.decode("latin-1")
    other = Page(page.filename, head.encode("utf-8"))
    return len(other.body.encode("latin-1", "replace"))


class SortKey(StrEnum):
    """What `list` sorts by."""

    NAME = "name"
    TITLE = "title"
    UPDATED = "updated"
    CREATED = "created"
    SIZE = "size"


_KEYS: dict[str, Any] = {"name": "filename", "size": "bytes"}
"""Which facts those are, where they are called otherwise."""


@app.command("list", cls=PlainCommand)
def list_pages(
    sort: Annotated[
        SortKey, typer.Option(help="What to sort by; dates and sizes with the greatest first.")
    ] = SortKey.NAME,
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
    field: FieldOption = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the pages with their titles.

    \b
    Example:
      $ memoryfield list --sort updated
    """
    with open_field(field, allow) as opened:
        found = opened.list_pages(_KEYS.get(sort.value, sort.value), reverse=reverse)
    if as_json:
        print_json(found.to_dict())
    else:
        _print_list(found.pages)
    for name, reason in found.failed:
        say(f"error: {name}: {reason}")
    if found.failed:
        raise typer.Exit(1)


def _print_list(rows: list[dict[str, Any]]) -> None:
    columns = width()
    if columns is None:
        for row in rows:
            print(f"{escaped(row['filename'])}\t{escaped(row['title'])}")
        return
    names = max((cells(escaped(row["filename"])) for row in rows), default=0)
    if names + 20 > columns:  # too narrow for two columns: the title goes below
        for row in rows:
            print(styled(clipped(escaped(row["filename"]), columns), 1))
            print(f"  {clipped(escaped(row['title']), columns - 2)}")
        return
    for row in rows:
        name = escaped(row["filename"])
        print(
            f"{styled(name, 1)}{' ' * (names - cells(name) + 2)}{clipped(escaped(row['title']), columns - names - 2)}"
        )


@app.command(cls=PlainCommand)
def edit(
    page: Annotated[str, typer.Argument(help="Name, stem, uuid or its first 8 characters.")],
    field: FieldOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open a page in $VISUAL or $EDITOR; `updated` changes only if the text did.

    \b
    Example:
      $ EDITOR=true memoryfield edit woks
    """
    try:
        command = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    except ValueError as error:
        raise UsageError(f"VISUAL or EDITOR is no command: {error}") from None
    if not command:
        raise UsageError("no editor is set", hint="Set VISUAL or EDITOR, such as EDITOR=nano.")
    with open_field(field) as opened:
        before = opened.read(page)
        if not opened.container.writable:
            raise RefusedError(f"{str(opened.location)!r} cannot be written")
        handle, path = tempfile.mkstemp(prefix="memoryfield-", suffix=f"-{before.filename}")
        draft = Path(path)
        with os.fdopen(handle, "wb") as file:
            file.write(before.raw)
        try:
            failed = _run_editor([*command, path])
        except OSError as error:
            draft.unlink()
            raise UsageError(f"the editor {command[0]!r} cannot be started: {error.strerror}") from None
        raw = draft.read_bytes()
        if raw == before.raw:
            draft.unlink()
            say("nothing changed" if not failed else f"error: the editor ended with {failed}; nothing changed")
            if as_json:
                print_json(Written(before, False, (), opened.name, changed=False).to_dict())
            raise typer.Exit(1 if failed else 0)
        try:
            if failed:
                raise MemoryfieldError(f"the editor ended with {failed}; {before.filename} was left as it is")
            written = opened.rewrite(before.filename, before, raw)
        except BaseException:
            say(f"your text is kept in {path}")
            raise
        draft.unlink()
        _report(written, as_json)


def _run_editor(command: list[str]) -> int:
    """Run an editor and wait for it. Ctrl-C is the editor's own business meanwhile."""
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        return subprocess.call(command)
    finally:
        signal.signal(signal.SIGINT, before)


@app.command(cls=PlainCommand)
def rename(
    old: Annotated[str, typer.Argument(help="The page: name, stem or uuid.")],
    new: Annotated[str, typer.Argument(help="Its new name, with or without .md.")],
    field: FieldOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a page another name; its uuid and its place in the index stay.

    \b
    Example:
      $ memoryfield rename woks carbon-steel-woks
    """
    with open_field(field) as opened:
        notes: list[str] = []
        was = opened.rename(old, new, notes)
        for note in notes:
            say(f"note: {note}")
        renamed = Renamed(opened.name, opened.find(new), was, tuple(notes))
        if as_json:
            print_json(renamed.to_dict())
        else:
            print(f"{escaped(was)} -> {escaped(renamed.filename)}")


@app.command(cls=PlainCommand)
def delete(
    pages: Annotated[list[str], typer.Argument(metavar="PAGE...", help="Name, stem or uuid.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    field: FieldOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete pages, and all that any index holds of them.

    \b
    Example:
      $ memoryfield delete --yes woks
    """
    with open_field(field) as opened:
        found = list(dict.fromkeys(opened.find(page) for page in pages))
        if not yes:
            if not sys.stdin.isatty():
                raise RefusedError(f"not deleted: {', '.join(found)}", hint="Say --yes where nobody can be asked.")
            sizes = [f"{escaped(name)} ({size(opened.container.entry(name).size)})" for name in found]
            if not agreed(f"Delete {', '.join(sizes)}?"):
                raise RefusedError("nothing was deleted")
        deleted = _delete(opened, found, as_json)
        say(f"deleted {plural(len(deleted), 'page')}")


def _delete(opened: Field, names: list[str], as_json: bool) -> list[str]:
    """Delete pages and tell about each, also where one cannot be deleted and ends it."""
    deleted: list[str] = []
    notes: list[str] = []
    try:
        for name in opened.delete_many(names, notes):
            deleted.append(name)
            if not as_json:
                print(escaped(name))
        return deleted
    finally:
        told = tuple(f"{note}; `memoryfield embed` mends it" for note in dict.fromkeys(notes))
        told += tuple(opened.dead_links(deleted) if deleted else ())
        for note in told:
            say(f"note: {note}")
        if as_json and deleted:
            print_json(Deleted(opened.name, deleted, told).to_dict())
