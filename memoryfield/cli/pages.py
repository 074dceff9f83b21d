"""Commands on pages: write, read, list, edit, rename, delete."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import MemoryfieldError, PageConflictError, PageNotFoundError, RefusedError, UsageError
from ..field import Field, Written
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
    replace: Annotated[bool, typer.Option("--replace", help="Replace the page; its uuid and created stay.")] = False,
    if_match: Annotated[
        str, typer.Option(metavar="SHA256", help="Write only if the stored page has this sha256.")
    ] = "",
    field: FieldOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store a page from standard input; what its frontmatter lacks is filled in.

    An existing page is not overwritten unless --replace or --append says so.

    \b
    Example:
      $ echo "Carbon steel heats evenly." | memoryfield write woks --title "Which wok heats evenly?"
      $ memoryfield write --from draft.md --replace
    """
    if append and replace:
        raise UsageError("--append and --replace exclude each other")
    with open_field(field) as opened:
        if not page and source is not None and not title:
            page = _name_for(source)
        mode: Any = "append" if append else "replace" if replace else "new"
        written = opened.write(page, _text(source), title=title, summary=summary, mode=mode, if_match=if_match)
        _report(opened, written, as_json)


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


def _report(opened: Field, written: Written, as_json: bool) -> None:
    page = written.page
    for note in written.notes:
        say(f"note: {note}")
    if as_json:
        print_json(
            {
                "field": opened.name,
                "filename": page.filename,
                "created": written.created,
                "uuid": page.uuid,
                "sha256": page.sha256,
                "bytes": page.size,
                "notes": list(written.notes),
            }
        )
    else:
        print(escaped(page.filename))


@app.command(cls=PlainCommand)
def read(
    pages: Annotated[list[str], typer.Argument(metavar="PAGE...", help="Name, stem, uuid or its first 8 characters.")],
    body: Annotated[bool, typer.Option("--body", help="Leave the frontmatter out.")] = False,
    field: FieldOption = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print pages. One page: its bytes, as they are. Several: each under a line with its name.

    \b
    Example:
      $ memoryfield read woks
      $ memoryfield read --body woks pans
    """
    found: list[dict[str, Any]] = []
    missing: list[PageNotFoundError] = []
    failed: list[MemoryfieldError | OSError] = []
    with open_field(field, allow) as opened:
        for wanted in pages:
            try:
                page = opened.read(wanted)
            except PageNotFoundError as error:
                missing.append(error)
                failed.append(error)
                continue
            except (MemoryfieldError, OSError) as error:
                failed.append(error)
                continue
            if as_json:
                found.append(_page_json(page, body))
                continue
            if len(pages) > 1:
                print(f"{'' if not found else chr(10)}==> {escaped(page.filename)} <==", flush=True)
            found.append({})
            _print_page(page, body)
    if as_json:
        print_json(
            {
                "field": opened.name,
                "pages": found,
                "missing": [{"wanted": error.wanted, "suggestions": list(error.suggestions)} for error in missing],
            }
        )
    for fault in failed:
        say(f"error: {fault if isinstance(fault, MemoryfieldError) else f'{fault.filename}: {fault.strerror}'}")
    if failed:
        raise typer.Exit(1)


def _page_json(page: Page, body: bool) -> dict[str, Any]:
    found = {
        "filename": page.filename,
        "title": page.title,
        "uuid": page.uuid,
        "sha256": page.sha256,
        "bytes": page.size,
        "frontmatter": page.frontmatter,
        "body": page.body,
        "problems": [
            {"line": problem.line, "column": problem.column, "message": problem.message} for problem in page.problems
        ],
    }
    return found if body else {**found, "text": page.text}


def _print_page(page: Page, body: bool) -> None:
    if is_terminal():
        print(escaped_page(page.body if body else page.text), end="")
        return
    if not body:
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
        unreadable: list[tuple[str, str]] = []
        rows = [_row(page) for page in opened.pages(unreadable)]
        key = {"name": "filename", "size": "bytes"}.get(sort.value, sort.value)
        descending = sort in (SortKey.UPDATED, SortKey.CREATED, SortKey.SIZE)
        rows.sort(key=lambda row: row["filename"])
        rows.sort(key=lambda row: _sortable(row[key]), reverse=descending != reverse)
        failed = [{"filename": name, "reason": reason} for name, reason in unreadable]
        if as_json:
            print_json({"field": opened.name, "pages": rows, "failed": failed})
        else:
            _print_list(rows)
    for name, reason in unreadable:
        say(f"error: {name}: {reason}")
    if unreadable:
        raise typer.Exit(1)


def _row(page: Page) -> dict[str, Any]:
    return {
        "filename": page.filename,
        "title": page.title,
        "summary": page.summary,
        "uuid": page.uuid,
        "created": page.created,
        "updated": page.updated or _mtime(page),
        "bytes": page.size,
    }


def _mtime(page: Page) -> str:
    from ..dates import iso_time

    return iso_time(page.mtime_ns)[:19] + "Z"


def _sortable(value: Any) -> Any:
    return value.casefold() if isinstance(value, str) else value


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
            raise typer.Exit(1 if failed else 0)
        try:
            written = opened.rewrite(before.filename, before, raw)
        except BaseException as error:
            say(f"your text is kept in {path}")
            if isinstance(error, PageConflictError):
                raise PageConflictError(f"{before.filename} was changed by somebody else meanwhile") from None
            raise
        draft.unlink()
        for note in written.notes:
            say(f"note: {note}")
        print(escaped(written.page.filename))


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
        print(f"{escaped(was)} -> {escaped(opened.find(new))}")


@app.command(cls=PlainCommand)
def delete(
    pages: Annotated[list[str], typer.Argument(metavar="PAGE...", help="Name, stem or uuid.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    field: FieldOption = None,
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
        notes: list[str] = []
        for name in found:
            opened.delete(name, notes)
            print(escaped(name))
        for note in dict.fromkeys(notes):
            say(f"note: {note}; `memoryfield embed` mends it")
        say(f"deleted {plural(len(found), 'page')}")
