"""What an agent pays: tokens of every answer over samples/fieldnotes, counted with o200k_base.

    python -m tests.benchmarks.tokens [--json FILE]

`search` is asked sixty questions, with five results each whatever they score; `read` is asked for
every page, its outline, and each of its sections. The tokenizer is GitHub's bpe-openai, which
carries its vocabulary and needs no network.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from memoryfield import Field
from memoryfield.sections import sections

from .measure import save, table

ROOT = Path(__file__).parents[2]
FIELD = ROOT / "samples" / "fieldnotes"
SKILL = ROOT / "memoryfield" / "agents" / "SKILL.md"
AT_MOST = {"search": 200, "search --brief": 80, "SKILL.md": 1200}
BUDGET = 2000

QUERIES = """
How do I copy a database that is being written to?
Ã© instead of é
enable_load_extension
my program takes ages before it does anything
database is locked
why is my sqlite query slow
insert or update one row
foreign key constraint not enforced
can deleted data be recovered from an sqlite file
search text in sqlite with ranking
query a JSON column
sqlite stores text in an integer column
readers block the writer
I committed a password to git
undo last commit
lost commit after git reset --hard
which commit broke the build
every line shows as changed in git diff
work on two branches at the same time
when was this function removed from the repository
fix an older commit before pushing
pip error: externally-managed-environment
ModuleNotFoundError after installing with pip
ship data files in a wheel
what does ~=1.4 mean in requirements
make my Python package a command
regex hangs on long input
regex matches too much
match text only if not followed by something
emoji length
compare strings ignoring case
é is not equal to é
excel shows garbled characters in my csv
comma inside a csv field
formula injection spreadsheet export
large ids change value in JSON
BrokenPipeError exit status 141
set -euo pipefail does not stop my script
xargs file names with spaces
sed -i does not work on macOS
sort order differs between machines
why quote "$var" in shell
disk full but du shows little
crash while writing a file leaves it half written
is it safe to extract a zip from the internet
check sha256 of a download
no-cache versus no-store
when can I retry a POST request
which redirect keeps the method
resume an interrupted download
ETag If-None-Match 304
prevent lost updates over HTTP
cron job ran twice when the clocks changed
store timestamps in a database
RFC 3339 or ISO 8601
ambiguous hour daylight saving Python zoneinfo
copy files
git
python
how do I write safe code?
""".strip().splitlines()


@cache
def _encoding() -> Any:
    import bpe_openai

    return bpe_openai.get_encoding("o200k_base")


def tokens(text: str) -> int:
    """How many a text has."""
    return len(_encoding().encode(text))


def printed(arguments: Sequence[str]) -> str:
    """What a command prints on standard output."""
    tool = shutil.which("memoryfield") or str(Path(sys.executable).parent / "memoryfield")
    return subprocess.run([tool, *arguments], capture_output=True, encoding="utf-8", check=True).stdout


def answers(location: Path) -> Iterator[tuple[str, list[str]]]:
    """What each command prints, for each thing that it is asked."""
    at = ["-f", str(location)]
    ways = (["--brief"], ["--json"], ["--full", "--budget", str(BUDGET)])
    for options in ([], *ways):
        command = ["search", *at, *options, "--min-score", "0", "--"]
        yield " ".join(["search", *options]), [printed([*command, query]) for query in QUERIES]
    with Field.open(location) as field:
        pages = list(field.pages())
    yield "read PAGE", [printed(["read", *at, page.filename]) for page in pages]
    yield "read --outline PAGE", [printed(["read", *at, "--outline", page.filename]) for page in pages]
    parts = {page.filename: [f"{page.filename}#{part.anchor}" for part in sections(page.body)[1:]] for page in pages}
    read = [json.loads(printed(["read", *at, "--json", *wanted]))["pages"] for wanted in parts.values() if wanted]
    yield "read PAGE#HEADING", [part["text"] for found in read for part in found]
    if SKILL.is_file():
        yield "SKILL.md", [SKILL.read_text(encoding="utf-8")]
    if descriptions := tool_descriptions(location):
        yield "MCP tools", [descriptions]


def tool_descriptions(location: Path) -> str:
    """What an MCP client is told of the tools, as JSON; nothing where the server is not installed."""
    try:
        from mcp import ClientSession, StdioServerParameters
        from mcp.client.stdio import stdio_client
    except ImportError:
        return ""
    import anyio

    async def listed() -> str:
        arguments = ["-m", "memoryfield", "mcp", "-f", str(location), "--allow-writes"]
        server = StdioServerParameters(command=sys.executable, args=arguments)
        async with stdio_client(server) as (receive, send), ClientSession(receive, send) as session:
            await session.initialize()
            tools = [tool.model_dump(mode="json", by_alias=True) for tool in (await session.list_tools()).tools]
        return json.dumps([{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools])

    return anyio.run(listed)


def measure(location: Path) -> list[dict[str, Any]]:
    """A row a command: tokens in the middle and at worst."""
    rows: list[dict[str, Any]] = []
    for name, texts in answers(location):
        counts = [tokens(text) for text in texts]
        limit = AT_MOST.get(name)
        row = {"command": name, "answers": len(counts), "median": statistics.median(counts), "worst": max(counts)}
        rows.append({**row, "at_most": limit, "within": None if limit is None else max(counts) <= limit})
    return rows


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        location = Path(folder) / "fieldnotes"
        shutil.copytree(FIELD, location, ignore=shutil.ignore_patterns("*.sqlite3"))
        with Field.open(location) as field:
            field.sync()
        rows = measure(location)
    header = ("command", "answers", "median tokens", "worst", "at most", "within")
    shown = [
        (
            row["command"],
            str(row["answers"]),
            f"{row['median']:,.0f}",
            f"{row['worst']:,}",
            "" if row["at_most"] is None else f"{row['at_most']:,}",
            {None: "", True: "yes", False: "NO"}[row["within"]],
        )
        for row in rows
    ]
    print(table(header, shown))
    save({"tokenizer": "o200k_base", "queries": len(QUERIES), "rows": rows}, options.json)


if __name__ == "__main__":
    main()
