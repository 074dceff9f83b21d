"""The MCP server over 10,000 pages: a search by stdio and by HTTP, beside the library's own and the command.

    python -m tests.benchmarks.mcp [--json FILE] [--times 200] [--pages 10000] [--field FOLDER]

Each way answers the same queries, in turns, so that noise meets all alike; the first answers are not counted. Each
server is a process of its own. The library's is `Searcher.search` in this process, which watches the field, too. The
tokens of what a model reads each session are counted with o200k_base, where bpe-openai is there, else as 4 characters
each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from memoryfield.search.searcher import Searcher

from .batch import questions
from .fields import index_field, write_field
from .measure import interleaved, median_seconds, save, table

AT_MOST = 40.0
"""Milliseconds for a search."""
MOST_TOKENS = 900
PAUSE = 2.0
"""Seconds between a write and the search after it: an agent thinks meanwhile."""

Way = Callable[[str], Awaitable[Any]]


def tool() -> str:
    """The command."""
    return shutil.which("memoryfield") or str(Path(sys.executable).parent / "memoryfield")


async def measure(field: Path, queries: list[str]) -> dict[str, list[float]]:
    """Milliseconds of each query, by way; and what the processes weigh."""
    http = subprocess.Popen(
        [tool(), "mcp", "-f", str(field), "--allow-writes", "--http", "--port", "0"], stderr=subprocess.PIPE, text=True
    )
    assert http.stderr
    address = http.stderr.readline().strip()
    searcher = Searcher.open([field])
    searcher.expect_many()
    searcher.watch()
    took: dict[str, list[float]] = {}
    try:
        async with AsyncExitStack() as stack:
            words = ["mcp", "-f", str(field)]
            stdio = await stack.enter_async_context(Client(StdioServerParameters(command=tool(), args=words)))
            web = await stack.enter_async_context(Client(address))

            async def library(query: str) -> Any:
                return searcher.search(query).to_dict()

            async def one_and_write(query: str) -> Any:
                await web.call_tool("write", {"name": "log", "text": query, "mode": "append"})
                await asyncio.sleep(PAUSE)
                start = time.perf_counter()
                found = await web.call_tool("search", {"query": query})
                took.setdefault("http, after a write", []).append((time.perf_counter() - start) * 1000)
                return found

            ways: dict[str, Way] = {
                "library": library,
                "stdio": lambda query: stdio.call_tool("search", {"query": query}),
                "http": lambda query: web.call_tool("search", {"query": query}),
            }
            for way in ways.values():
                await way("warm up")
            for query in queries:
                for name, way in ways.items():
                    start = time.perf_counter()
                    await way(query)
                    took.setdefault(name, []).append((time.perf_counter() - start) * 1000)
            for query in queries[:20]:
                await one_and_write(query)
            took["16 at once, http"] = []
            for place in range(0, len(queries), 16):
                start = time.perf_counter()
                some = queries[place : place + 16]
                await asyncio.gather(*(web.call_tool("search", {"query": query}) for query in some))
                took["16 at once, http"].append((time.perf_counter() - start) * 1000 / len(some))
            took["memory of the server, MB"] = [memory(http.pid)]
            took["tokens"] = [await tokens(web)]
    finally:
        searcher.close()
        http.terminate()
        http.wait()
    return took


def memory(process: int) -> float:
    """What a process takes at its peak, in MB; 0 where the system does not tell."""
    told = Path(f"/proc/{process}/status")
    if not told.exists():
        return 0.0
    lines = dict(line.split(":", 1) for line in told.read_text(encoding="ascii").splitlines())
    return int(lines["VmHWM"].split()[0]) / 1000


async def tokens(client: Any) -> float:
    """What a model reads of the server each session: tools with their arguments, and the instructions."""
    listed = (await client.list_tools()).tools
    told = [{"name": one.name, "description": one.description, "parameters": one.input_schema} for one in listed]
    text = json.dumps(told, separators=(",", ":")) + client.instructions
    try:
        import bpe_openai
    except ImportError:
        return len(text) / 4
    return len(bpe_openai.get_encoding("o200k_base").encode(text))


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--times", type=int, default=200, help="how many queries")
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--field", type=Path, help="a field that is there; it is copied")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        field = Path(folder) / "field"
        if options.field:
            shutil.copytree(options.field, field)
        else:
            write_field(field, options.pages, 3000)
            index_field(field)
        queries = questions(options.times)
        took = asyncio.run(measure(field, queries))
        command = interleaved({"command": [tool(), "search", "-f", str(field), "--json", queries[0]]}, 5)["command"]
    weight, count = took.pop("memory of the server, MB")[0], took.pop("tokens")[0]
    took["the command, a process each"] = [median_seconds(command) * 1000]
    reference = statistics.median(took["library"])
    rows: list[dict[str, Any]] = []
    for name, times in took.items():
        p50, p95 = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
        within = p50 <= AT_MOST if name in ("stdio", "http") else None
        rows.append({"way": name, "p50": p50, "p95": p95, "ratio": p50 / reference, "within": within})
    print(f"{len(queries)} searches over {options.pages:,} pages, in milliseconds\n")
    told = {None: "", True: "yes", False: "NO"}
    shown = [
        (row["way"], *(f"{row[key]:.1f}" for key in ("p50", "p95")), f"{row['ratio']:.2f}", told[row["within"]])
        for row in rows
    ]
    print(table(("way", "p50", "p95", "to the library's", f"within {AT_MOST:.0f}"), shown))
    print(f"\nthe server takes {weight:.0f} MB; tools and instructions are {count:.0f} tokens (at most {MOST_TOKENS})")
    save({"pages": options.pages, "rows": rows, "megabytes": weight, "tokens": count}, options.json)


if __name__ == "__main__":
    main()
