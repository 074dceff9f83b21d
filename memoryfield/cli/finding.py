"""Commands around the index: embed and search."""

import sys
import time
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from ..field import Field
from .common import (
    AllowOption,
    FieldOption,
    FieldsOption,
    JsonOption,
    command_group,
    open_field,
    open_searcher,
    print_json,
    print_json_line,
)
from .options import PlainCommand
from .progress import progress_bar
from .render import cells, escaped, escaped_page, plural, say, styled, width, wrapped

if TYPE_CHECKING:
    from ..index.sync import SyncReport
    from ..search.result import SearchResult
    from ..search.short import Line

app = command_group()


@app.command(cls=PlainCommand)
def embed(
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL", help="The model, repeatable; else each that the field has, else all-MiniLM-L6-v2."
        ),
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Throw the index away and make it anew.")] = False,
    drop: Annotated[str | None, typer.Option(metavar="MODEL", help="Delete this model's index instead.")] = None,
    threads: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="How many the bundled model uses; else one for each core."),
    ] = None,
    field: FieldOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the indexes up to date: new and changed pages are embedded, vanished ones dropped.

    Besides the bundled all-MiniLM-L6-v2, a MODEL is nomic-embed-text-v1.5 or ollama:TAG, from the
    Ollama server at OLLAMA_HOST, else localhost:11434; or openai:MODEL, from any server with OpenAI's
    embeddings call, at OPENAI_BASE_URL, with the key in OPENAI_API_KEY. The index remembers which
    it was, never the address or the key. `memoryfield models` lists what there is.

    \b
    Example:
      $ memoryfield embed
      $ memoryfield embed --model all-MiniLM-L6-v2 --rebuild --threads 1
      $ memoryfield embed --drop all-MiniLM-L6-v2
    """
    with open_field(field) as opened:
        if drop is not None:
            if rebuild or model:
                raise UsageError("--drop deletes an index, and goes with neither --model nor --rebuild")
            name = opened.drop_index(drop)
            if as_json:
                print_json({"field": opened.name, "dropped": name})
            else:
                print(f"{escaped(name)} deleted")
            return
        wanted = dict.fromkeys(model or opened.models())
        reports = [_embed_one(opened, code, rebuild, threads, as_json) for code in wanted]
    if as_json:
        print_json({"field": opened.name, "indexes": [report for report, _ in reports]})
    if not all(complete for _, complete in reports):
        raise typer.Exit(1)


def _embed_one(
    opened: Field, model: str, rebuild: bool, threads: int | None, as_json: bool
) -> tuple[dict[str, Any], bool]:
    """Bring one index up to date and tell about it.

    Returns:
        The report as JSON has it, and whether nothing is left to do.
    """
    start = time.monotonic()
    with progress_bar("embedding") as progress:
        try:
            report = opened.sync(model, rebuild=rebuild, threads=threads, progress=progress)
        except KeyboardInterrupt:
            say("interrupted: what is embedded stays; `memoryfield embed` goes on from there")
            raise typer.Exit(130) from None
    seconds = time.monotonic() - start
    for note in report.notes:
        say(f"note: {note}")
    for name, reason in report.failed:
        say(f"error: {name}: {reason}")
    if report.unavailable:
        stays = ". What is embedded stays; `memoryfield embed` goes on from there" if report.embedded else ""
        say(f"error: {report.unavailable.rstrip('.') if stays else report.unavailable}{stays}")
    if not as_json:
        print(_summary(report, seconds))
    complete = not (report.failed or report.pending or report.unavailable)
    return {**report.to_dict(), "seconds": round(seconds, 3)}, complete


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


_LIMIT = typer.Option("-n", "--limit", min=1, help="At most so many pages.")
_MIN_SCORE = typer.Option(min=0, max=1, help="Leave out pages under this score (0.25).", show_default=False)
_MODEL = typer.Option(metavar="MODEL", help="Whose vectors; else the first index whose model answers.")
_NO_SYNC = typer.Option("--no-sync", help="Search what is indexed; do not pick up changes.")
_WHERE = typer.Option(metavar="KEY=VALUE", help="Only pages whose frontmatter has this; repeatable.")
_SINCE = typer.Option(metavar="DATE", help="Only pages updated then or later; 90d: within 90 days.")
_UNTIL = typer.Option(metavar="DATE", help="Only pages last updated then or earlier.")
_NAME = typer.Option(metavar="GLOB", help="Only pages whose file name matches, such as 'sqlite-*'.")
_STALE = typer.Option("--include-stale", help="Also pages that expired or were superseded, marked.")
_AS_OF = typer.Option(metavar="DATE", help="What was valid then, in place of now.")
_RECENCY = typer.Option(
    metavar="HALF_LIFE", help="Let newer pages count more: half of the score fades, by half in each such span (90d)."
)


@app.command(cls=PlainCommand)
def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="A question, or some words; - for many.")],
    limit: Annotated[int, _LIMIT] = 5,
    mode: Annotated[Mode, typer.Option(help="By words, by meaning, or both.")] = Mode.HYBRID,
    min_score: Annotated[float | None, _MIN_SCORE] = None,
    model: Annotated[str | None, _MODEL] = None,
    where: Annotated[list[str] | None, _WHERE] = None,
    since: Annotated[str | None, _SINCE] = None,
    until: Annotated[str | None, _UNTIL] = None,
    name: Annotated[str | None, _NAME] = None,
    include_stale: Annotated[bool, _STALE] = False,
    as_of: Annotated[str | None, _AS_OF] = None,
    recency: Annotated[str | None, _RECENCY] = None,
    full: Annotated[bool, typer.Option("--full", help="Print the pages themselves.")] = False,
    budget: Annotated[
        int | None, typer.Option(min=1, metavar="TOKENS", help="With --full: as many as fit, at 4 characters a token.")
    ] = None,
    brief: Annotated[bool, typer.Option("--brief", help="Print names and summaries alone.")] = False,
    no_sync: Annotated[bool, _NO_SYNC] = False,
    field: FieldsOption = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the pages that answer a question; exit 1 if there are none.

    A strong match scores 0.45 or more. Changed pages are found without `embed`. A phrase in double
    quotes must stand in the page. Several fields are searched together, and one that is broken does
    not stop the others. With - as the query, each line of standard input is one, and is answered
    with one line of JSON.

    A page whose `expires` lies in the past, or whose uuid is in another page's `supersedes`, is left
    out, and a note says so.

    \b
    Example:
      $ memoryfield search "which wok heats evenly?"
      $ memoryfield search --brief "which wok heats evenly?"
      $ memoryfield search --mode keyword -n 1 --json wok
      $ memoryfield search 'which "carbon steel" wok?' --where status=tested --since 2026-01-01
      $ memoryfield search -f notes -f team.memoryfield.zip "which wok?" --full --budget 2000
      $ memoryfield search - < questions.txt
    """
    if brief and (full or budget or as_json or query == ["-"]):
        raise UsageError("--brief prints a line a page, so it goes with neither --full, --json nor - as the query")
    with open_searcher(
        field,
        allow,
        limit=limit,
        mode=mode.value,
        min_score=min_score,
        model=model,
        sync=not no_sync,
        where=where or (),
        since=since,
        until=until,
        name=name,
        include_stale=include_stale,
        as_of=as_of,
        recency=recency,
        full=full,
        budget=budget,
    ) as searcher:
        if query == ["-"]:
            found_any = False
            for found in searcher.search_many(_lines()):
                found_any |= bool(found.results)
                print_json_line(found.to_dict())
        else:
            found = searcher.search(" ".join(query))
            found_any = _show(found, as_json, brief)
    if not found_any:
        raise typer.Exit(1)


@app.command(cls=PlainCommand)
def similar(
    page: Annotated[str, typer.Argument(help="Its name, or the beginning of its uuid.")],
    limit: Annotated[int, _LIMIT] = 5,
    min_score: Annotated[float | None, _MIN_SCORE] = None,
    model: Annotated[str | None, _MODEL] = None,
    where: Annotated[list[str] | None, _WHERE] = None,
    since: Annotated[str | None, _SINCE] = None,
    until: Annotated[str | None, _UNTIL] = None,
    name: Annotated[str | None, _NAME] = None,
    include_stale: Annotated[bool, _STALE] = False,
    as_of: Annotated[str | None, _AS_OF] = None,
    recency: Annotated[str | None, _RECENCY] = None,
    no_sync: Annotated[bool, _NO_SYNC] = False,
    field: FieldOption = None,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the pages most like one page, by their stored vectors; exit 1 if there are none.

    \b
    Example:
      $ memoryfield similar woks --min-score 0
    """
    with open_field(field, allow) as opened:
        found = opened.similar(
            page,
            limit=limit,
            min_score=min_score,
            model=model,
            sync=not no_sync,
            where=where or (),
            since=since,
            until=until,
            name=name,
            include_stale=include_stale,
            as_of=as_of,
            recency=recency,
        )
    if not _show(found, as_json):
        raise typer.Exit(1)


def _lines() -> Iterator[str]:
    """The lines of standard input, each as soon as it is there."""
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _show(found: "SearchResult", as_json: bool, brief: bool = False) -> bool:
    """Print a result.

    Returns:
        Whether anything was found.
    """
    if as_json:
        print_json(found.to_dict())
        return bool(found.results)
    for note in found.notes:
        say(f"note: {note}")
    if any("text" in hit.extra for hit in found.results):
        _print_pages(found)
    else:
        from ..search.short import passages, summaries

        for line in summaries(found) if brief else passages(found):
            _print_line(line)
    if not found.results:
        say("nothing found")
    return bool(found.results)


def _print_line(line: "Line") -> None:
    """A result on one line; on a terminal, wrapped."""
    columns = width()
    name = escaped(line.name)
    if columns is None:
        print(f"{escaped(line.head)} {name}: {_marked(line, 0, len(line.text))}".rstrip())
        return
    strength = styled(escaped(line.head), 32 if line.head.startswith("strong") else 33)
    if cells(f"{escaped(line.head)} {name}") <= columns:
        print(f"{strength} {styled(name, 1)}")
    else:
        print(strength)
        for start, end in wrapped(name, columns - 2):
            print(f"  {styled(name[start:end], 1)}")
    for start, end in wrapped(line.text, columns - 2):
        print(f"  {_marked(line, start, end)}")


def _print_pages(found: "SearchResult") -> None:
    """Whole pages, each after a line that tells which it is."""
    from ..search.short import head_of, name_of

    shown = [hit for hit in found.results if hit.extra["text"] is not None]
    for number, hit in enumerate(shown):
        if number:
            print()
        print(f"{styled(escaped(head_of(hit)), 1)} {styled(escaped(name_of(hit, found.several)), 1)}")
        print(escaped_page(hit.extra["text"]).rstrip("\n"))


def _marked(line: "Line", start: int, end: int) -> str:
    """A part of the text, with the query's words in bold on a terminal."""
    shown, place = "", start
    for first, last in line.marks:
        if first >= start and last <= end:
            shown += escaped(line.text[place:first]) + styled(escaped(line.text[first:last]), 1, 4)
            place = last
    return shown + escaped(line.text[place:end])
