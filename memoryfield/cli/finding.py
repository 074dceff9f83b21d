"""Commands around the index: embed and search."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..field import Field
from .common import FieldOption, JsonOption, command_group, open_field, print_json
from .options import PlainCommand
from .render import cells, escaped, plural, say, styled, width, wrapped

if TYPE_CHECKING:
    from ..index.sync import Progress, SyncReport
    from ..search.result import Hit

app = command_group()


@app.command(cls=PlainCommand)
def embed(
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CODE", help="The model, repeatable; else each that the field has, else all-MiniLM-L6-v2."
        ),
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Throw the index away and make it anew.")] = False,
    drop: Annotated[str | None, typer.Option(metavar="CODE", help="Delete this model's index instead.")] = None,
    field: FieldOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the indexes up to date: new and changed pages are embedded, vanished ones dropped.

    nomic-embed-text-v1.5 comes from the Ollama server at OLLAMA_HOST, else localhost:11434.

    \b
    Example:
      $ memoryfield embed
      $ memoryfield embed --model all-MiniLM-L6-v2 --rebuild
      $ memoryfield embed --drop all-MiniLM-L6-v2
    """
    with open_field(field) as opened:
        if drop:
            name = opened.drop_index(drop)
            if as_json:
                print_json({"field": opened.name, "dropped": name})
            else:
                print(f"{escaped(name)} deleted")
            return
        reports = [_embed_one(opened, code, rebuild, as_json) for code in dict.fromkeys(model or opened.models())]
    if as_json:
        print_json({"field": opened.name, "indexes": [report for report, _ in reports]})
    if not all(complete for _, complete in reports):
        raise typer.Exit(1)


def _embed_one(opened: Field, model: str, rebuild: bool, as_json: bool) -> tuple[dict[str, Any], bool]:
    """Bring one index up to date and tell about it.

    Returns:
        The report as JSON has it, and whether nothing is left to do.
    """
    start = time.monotonic()
    with _progress() as progress:
        try:
            report = opened.sync(model, rebuild=rebuild, progress=progress)
        except KeyboardInterrupt:
            say("interrupted: what is embedded stays; `memoryfield embed` goes on from there")
            raise typer.Exit(130) from None
    seconds = time.monotonic() - start
    for note in report.notes:
        say(f"note: {note}")
    for name, reason in report.failed:
        say(f"error: {name}: {reason}")
    if report.unavailable:
        say(f"error: {report.unavailable}")
    if not as_json:
        print(_summary(report, seconds))
    complete = not (report.failed or report.pending or report.unavailable)
    return {**report.to_dict(), "seconds": round(seconds, 3)}, complete


@contextmanager
def _progress() -> Iterator["Progress | None"]:
    """A bar on a terminal: pages, pages a second, time left."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("embedding"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("embedding", total=None, rate="")
        start = time.monotonic()

        def show(done: int, total: int) -> None:
            rate = done / max(1e-9, time.monotonic() - start)
            bar.update(task, completed=done, total=total, rate=f"{rate:.1f} pages/s")

        yield show


def _summary(report: "SyncReport", seconds: float) -> str:
    """What was done, on one line."""
    counts = (
        (report.added, "added"),
        (report.changed, "changed"),
        (report.renamed, "renamed"),
        (report.removed, "removed"),
        (report.unchanged, "unchanged"),
        (report.embedded if report.embedded != report.added + report.changed else 0, "embedded"),
        (report.pending, "still to embed"),
        (len(report.failed), "failed"),
    )
    done = ", ".join(f"{count:,} {word}" for count, word in counts if count) or "nothing to do"
    rate = f", {report.embedded / seconds:,.1f} pages/s" if report.embedded else ""
    return f"{report.model}: {plural(report.pages, 'page')}: {done}; {seconds:.1f} s{rate}"


class Mode(StrEnum):
    """How to search."""

    HYBRID = "hybrid"
    KEYWORD = "keyword"
    SEMANTIC = "semantic"


@app.command(cls=PlainCommand)
def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="A question, or some words.")],
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="At most so many pages.")] = 5,
    mode: Annotated[Mode, typer.Option(help="By words, by meaning, or both.")] = Mode.HYBRID,
    min_score: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Leave out pages under this score (0.25).", show_default=False),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Whose vectors; else the first index whose model answers."),
    ] = None,
    no_sync: Annotated[bool, typer.Option("--no-sync", help="Search what is indexed; do not pick up changes.")] = False,
    field: FieldOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the pages that answer a question; exit 1 if there are none.

    A strong match scores 0.45 or more. Changed pages are found without `embed`.

    \b
    Example:
      $ memoryfield search "which wok heats evenly?"
      $ memoryfield search --mode keyword -n 1 --json wok
    """
    with open_field(field) as opened:
        found = opened.search(
            " ".join(query), limit=limit, mode=mode.value, min_score=min_score, model=model, sync=not no_sync
        )
    if as_json:
        print_json(found.to_dict())
    else:
        for note in found.notes:
            say(f"note: {note}")
        for rank, hit in enumerate(found.results, 1):
            _print_hit(rank, hit)
        if not found.results:
            say("nothing found")
    if not found.results:
        raise typer.Exit(1)


def _print_hit(rank: int, hit: "Hit") -> None:
    columns = width()
    head = f"{rank} {hit.match} {hit.score:.2f}"
    title, name = escaped(hit.title), escaped(hit.filename)
    strength = styled(head, 32 if hit.match == "strong" else 33)
    if columns is None:
        print(f"{head}  {title}  ({name})\n  {_marked(hit, 0, len(hit.snippet))}")
        return
    if cells(f"{head}  {title}  {name}") <= columns:
        print(f"{strength}  {styled(title, 1)}  {styled(name, 2)}")
    else:
        print(strength)
        for start, end in wrapped(name, columns - 2):
            print(f"  {styled(name[start:end], 2)}")
        for start, end in wrapped(title, columns - 2):
            print(f"  {styled(title[start:end], 1)}")
    for start, end in wrapped(hit.snippet, columns - 2):
        print(f"  {_marked(hit, start, end)}")


def _marked(hit: "Hit", start: int, end: int) -> str:
    """A part of the snippet, with the query's words in bold on a terminal."""
    line, place = "", start
    for first, last in hit.marks:
        if first >= start and last <= end:
            line += escaped(hit.snippet[place:first]) + styled(escaped(hit.snippet[first:last]), 1, 4)
            place = last
    return line + escaped(hit.snippet[place:end])
