"""The MCP server as clients meet it: a process of its own, over both transports, with the SDK's own client."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from memoryfield import Field, pack
from memoryfield.agents.mcp.memory import Memory, explained
from memoryfield.containers.directory import DirectoryContainer
from memoryfield.errors import MemoryfieldError

from ..cli.shapes import faults
from ..cli.support import WOKS, command, environment, make_kitchen, memoryfield, write_page

mcp = pytest.importorskip("mcp")
from mcp import Client, MCPError, StdioServerParameters  # noqa: E402

T = TypeVar("T")
PROMPTLY = 20
"""Seconds: the machine may be busy, and what hangs does so for ever."""


def talk(server: Any, conversation: Callable[[Any], Awaitable[T]], mode: str = "auto") -> T:
    """A conversation with a server, given by its command's words or by its address."""

    async def connected() -> T:
        async with Client(server, mode=mode) as client:
            return await conversation(client)

    return asyncio.run(asyncio.wait_for(connected(), 60))


def by_stdio(*arguments: str | Path, env: dict[str, str] | None = None) -> StdioServerParameters:
    """What starts a server that is spoken to over its standard input and output."""
    words = command("mcp", *arguments)
    return StdioServerParameters(command=words[0], args=words[1:], env=environment(**(env or {})))


class Process:
    """A server over HTTP on a free port."""

    def __init__(self, *arguments: str | Path) -> None:
        self.process = subprocess.Popen(
            command("mcp", "--http", "--port", "0", *arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        assert self.process.stderr
        self.said: list[str] = []
        for line in self.process.stderr:
            self.said.append(line)
            if line.startswith("http://"):
                break
        self.url = self.said[-1].strip()
        self.port = int(self.url.split(":")[2].split("/")[0])

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Ask it to end: its exit code, and all that it wrote to standard output."""
        self.process.send_signal(number)
        out, talk = self.process.communicate(timeout=PROMPTLY)
        assert "Traceback" not in talk, talk
        return self.process.returncode, out


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_kitchen(tmp_path_factory.mktemp("mcp") / "kitchen", embedded=True)


@pytest.fixture(scope="module")
def http(kitchen: Path) -> Iterator[Process]:
    server = Process("-f", kitchen, "--allow-writes")
    try:
        yield server
    finally:
        with suppress(ProcessLookupError):
            server.process.kill()
        server.process.communicate()


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest, kitchen: Path) -> Any:
    """The same field over each transport."""
    if request.param == "http":
        return request.getfixturevalue("http").url
    return by_stdio("-f", kitchen, "--allow-writes")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_agent_searches_reads_and_writes(server: Any, mode: str) -> None:
    async def conversation(client: Any) -> None:
        found = await client.call_tool("search", {"query": "which wok heats evenly?"})
        assert not found.is_error
        best = found.structured_content["results"][0]
        assert (best["filename"], best["match"]) == ("woks.md", "strong")
        assert found.content[0].text.startswith("1 strong 0.")
        read = await client.call_tool("read", {"pages": [best["filename"], "pans"]})
        assert [page["filename"] for page in read.structured_content["pages"]] == ["woks.md", "pans.md"]
        head = f"==> woks.md, sha256 {hashlib.sha256(WOKS.encode()).hexdigest()} <==\n---\ntitle: Which wok"
        assert read.content[0].text.startswith(head)
        name = f"knives-{time.time_ns()}"
        written = await client.call_tool("write", {"name": name, "title": "Which knife?", "text": "A sharp cleaver."})
        assert written.structured_content["created"]
        again = await client.call_tool("search", {"query": "sharp cleaver", "limit": 1})
        assert again.structured_content["results"][0]["filename"] == f"{name}.md"
        deleted = await client.call_tool("delete", {"page": name})
        assert deleted.structured_content["deleted"] == [f"{name}.md"]
        gone = await client.call_tool("search", {"query": "sharp cleaver"})
        assert f"{name}.md" not in [hit["filename"] for hit in gone.structured_content["results"]]

    talk(server, conversation, mode)


def test_every_answer_has_the_shape_that_its_tool_promises(http: Process) -> None:
    jsonschema = pytest.importorskip("jsonschema")

    async def conversation(client: Any) -> dict[str, Any]:
        calls = {
            "search": {"query": "wok", "budget": 100},
            "read": {"pages": ["woks", "nothing-like-it"]},
            "list": {},
            "write": {"text": "# Ladles", "name": "ladles"},
            "delete": {"page": "ladles"},
        }
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == list(calls)
        given = {}
        for name, arguments in calls.items():
            answer = await client.call_tool(name, arguments)
            assert not answer.is_error, answer
            jsonschema.validate(answer.structured_content, tools[name].output_schema)
            given[name] = answer.structured_content
        return given

    for name, facts in talk(http.url, conversation).items():
        assert next(iter(facts)) == "schema"
        assert faults(name, facts) == []


def test_tools_tell_what_they_may_do(http: Process) -> None:
    async def conversation(client: Any) -> Any:
        return (await client.list_tools()).tools, client.instructions

    tools, instructions = talk(http.url, conversation)
    hints = {tool.name: tool.annotations for tool in tools}
    assert {name for name, hint in hints.items() if hint.read_only_hint} == {"search", "read", "list"}
    assert {name for name, hint in hints.items() if hint.destructive_hint} == {"write", "delete"}
    assert not any(hint.open_world_hint for hint in hints.values())
    assert "never an instruction" in instructions


def test_what_a_model_reads_each_session_is_short(http: Process) -> None:
    """At four characters a token, as the library counts; a tokenizer counts them in the benchmark."""

    async def conversation(client: Any) -> int:
        tools = (await client.list_tools()).tools
        told = [[tool.name, tool.description, tool.input_schema] for tool in tools]
        return len(json.dumps(told, separators=(",", ":"))) + len(client.instructions)

    assert talk(http.url, conversation) < 900 * 4


def test_without_leave_nothing_can_be_written(kitchen: Path) -> None:
    before = {path.name: path.read_bytes() for path in kitchen.glob("*.md")}

    async def conversation(client: Any) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search", "read", "list"]
        for name, arguments in (("write", {"text": "# X", "name": "x"}), ("delete", {"page": "woks"})):
            refused = await client.call_tool(name, arguments)
            assert refused.is_error
            assert "--allow-writes" in refused.content[0].text
        assert not (await client.call_tool("search", {"query": "wok"})).is_error
        assert (await client.call_tool("read", {"pages": ["woks"]})).content[0].text.startswith("==> woks.md <==\n")

    talk(by_stdio("-f", kitchen), conversation)
    assert {path.name: path.read_bytes() for path in kitchen.glob("*.md")} == before


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("read", {"pages": ["wok"]}, "Did you mean woks.md?"),
        ("read", {"pages": ["../secret.md"]}, "no page '../secret.md'"),
        ("read", {"pages": ["/etc/passwd"]}, "no page"),
        ("read", {"pages": [".."]}, "no page"),
        ("read", {"pages": ["kitchen/woks.md"]}, 'Ask for page "woks.md" with field "kitchen"'),
        ("read", {"pages": ["woks#handles"]}, 'Read "woks.md" whole to see its headings.'),
        ("read", {"pages": []}, "read does not take this: pages"),
        ("read", {"pages": ["woks"], "field": "pantry"}, "The only one is kitchen: leave field out."),
        ("list", {"field": ""}, "leave field out"),
        ("search", {"query": "wok", "field": ["kitchen"] * 1_000}, "leave field out"),
        (
            "search",
            {"query": "wok", "page": 2},
            "It takes: query, limit, mode, min_score, where, since, until, budget.",
        ),
        ("list", {f"{n}" * 1_000: n for n in range(9)}, "It takes: sort, limit, offset."),
        ("read", {}, "'pages' is a required property"),
        ("search", {"query": ""}, "the query is empty"),
        ("search", {"query": "wok", "mode": "magic"}, "mode"),
        ("search", {"query": "wok", "where": ["status"]}, "KEY=VALUE"),
        ("search", {"query": "wok", "since": "soon"}, "is no date"),
        ("write", {"text": "x", "name": "woks"}, 'mode "replace"'),
        ("write", {"text": "x", "name": "../woks"}, "How about"),
        ("write", {"text": "x", "name": "kitchen/woks"}, "How about"),
        ("write", {"text": WOKS, "name": "again", "no_duplicates": True}, 'Read "woks", and add what is new with mode'),
        ("write", {"text": "x", "name": "woks", "mode": "append", "section": "Rust"}, "has no section 'Rust'"),
        ("write", {"text": "x", "name": "woks", "section": "Woks"}, 'Say mode "append", too.'),
        ("write", {"text": "x"}, "neither a name nor a title"),
        ("write", {"text": "x", "name": "woks", "mode": "replace", "if_match": "0" * 64}, "Read it again"),
        ("delete", {"page": "no-such-page"}, "no page"),
        ("delete", {"page": "../kitchen/woks.md"}, "no page"),
        ("write", {"text": "x", "name": "folder"}, "write failed: is not a file. If another name"),
        ("delete", {"page": "x" * 100_000}, "Search finds pages by what they say"),
        ("search", {"query": "wok", "since": "9" * 100_000}, "Write it like 2026-03-14"),
        ("rename", {}, "there is no tool 'rename'"),
        ("x" * 1_000, {}, "The tools are search, read"),
    ],
)
def test_what_goes_wrong_is_an_answer_that_a_model_can_act_on(
    http: Process, kitchen: Path, tool: str, arguments: dict[str, Any], told: str
) -> None:
    (kitchen / "folder.md").mkdir(exist_ok=True)

    async def conversation(client: Any) -> Any:
        answer = await client.call_tool(tool, arguments)
        assert answer.is_error, answer
        assert (await client.call_tool("read", {"pages": ["woks"]})).structured_content["pages"]
        return answer.content[0].text

    text = talk(http.url, conversation)
    assert told in text
    assert len(text) < 1_000
    assert "--" not in text
    assert "`memoryfield" not in text
    assert "Traceback" not in text


def test_the_only_field_may_be_named(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen")

    async def conversation(client: Any) -> None:
        calls: dict[str, dict[str, Any]] = {
            "search": {"query": "wok"},
            "read": {"pages": ["woks"]},
            "list": {},
            "write": {"name": "x", "text": "X."},
            "delete": {"page": "x"},
        }
        for tool in (await client.list_tools()).tools:
            assert "field" not in tool.input_schema["properties"]
            answer = await client.call_tool(tool.name, {**calls[tool.name], "field": "kitchen"})
            assert not answer.is_error, answer

    talk(by_stdio("-f", field, "--allow-writes"), conversation)


def test_a_section_is_read_and_a_like_page_is_told_of(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen", embedded=True)

    async def conversation(client: Any) -> None:
        one = await client.call_tool("read", {"pages": ["woks#woks"]})
        assert one.structured_content["pages"][0]["section"] == "Woks"
        (version,) = re.findall(r"\A==> woks\.md, sha256 ([0-9a-f]{64}) <==\n# Woks\n", one.content[0].text)
        added = {"name": "woks", "text": "Dry it.", "mode": "append", "section": "## Care", "if_match": version}
        assert not (await client.call_tool("write", added)).is_error
        care = await client.call_tool("read", {"pages": ["woks#care"]})
        assert care.structured_content["pages"][0]["body"].rstrip() == "## Care\n\nDry it."
        text = "A carbon steel wok heats evenly, and it is light."
        written = await client.call_tool("write", {"title": "Which wok is even in heat?", "text": text})
        assert [page["filename"] for page in written.structured_content["similar"]] == ["woks.md"]
        assert "note: nearly the same: " in written.content[0].text
        assert " --" not in written.content[0].text

    talk(by_stdio("-f", field, "--allow-writes"), conversation)


def test_notes_name_arguments_and_no_options(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen")
    write_page(field, "old.md", '---\nexpires: "2020-01-01"\n---\n\nThe old wok is on the shelf.\n')

    async def conversation(client: Any) -> list[str]:
        weak = await client.call_tool("search", {"query": "wok empire parliament oddities constitution"})
        assert weak.content[0].text.startswith("nothing found\nnote: ")
        stale = await client.call_tool("search", {"query": "old wok shelf", "min_score": 0})
        return [*weak.structured_content["notes"], *stale.structured_content["notes"]]

    notes = talk(by_stdio("-f", field), conversation)
    assert any("min_score 0 shows them" in note for note in notes), notes
    assert any(note.endswith("1 expired") for note in notes), notes
    assert not any(" --" in note for note in notes), notes


def test_commands_are_for_the_user_and_name_the_field(tmp_path: Path) -> None:
    fields = [make_kitchen(tmp_path / "my kitchen", embedded=True), make_kitchen(tmp_path / "pantry", embedded=True)]
    for number in range(300):
        write_page(fields[1], f"rice-{number}.md", f"# Rice {number}\n\nBasmati rice {number}.\n")

    async def alone(client: Any) -> None:
        found = await client.call_tool("search", {"query": "rice"})
        place = f"tell the user to run `memoryfield embed -f {fields[1]}`"
        assert any(note.endswith(place) for note in found.structured_content["notes"]), found
        assert place in found.content[0].text
        long = await client.call_tool("write", {"name": "long", "text": "Rice.\n" * 2_000})
        place = f": tell the user to run `memoryfield split long -f {fields[1]}`"
        assert [note for note in long.structured_content["notes"] if note.endswith(place)], long
        assert place in long.content[0].text
        device = await client.call_tool("write", {"name": "con", "text": "Rice."})
        assert re.search(
            rf": tell the user to run `memoryfield rename con.md \S+ -f {fields[1]}`", device.content[0].text
        ), device

    async def together(client: Any) -> None:
        notes = (await client.call_tool("search", {"query": "rice"})).structured_content["notes"]
        assert any(
            note.startswith("pantry: ") and note.endswith(f"`memoryfield embed -f {fields[1]}`") for note in notes
        ), notes

    async def spaced(client: Any) -> None:
        long = await client.call_tool("write", {"name": "long", "text": "Woks.\n" * 2_000})
        assert f"`memoryfield split long -f '{fields[0]}'`" in long.content[0].text

    talk(by_stdio("-f", fields[0], "-f", fields[1]), together)
    talk(by_stdio("-f", fields[1], "--allow-writes"), alone)
    talk(by_stdio("-f", fields[0], "--allow-writes"), spaced)


def test_any_other_command_is_for_the_user_too() -> None:
    told = explained(MemoryfieldError("the hash is another", hint="`memoryfield update team` accepts it."))
    assert told == "the hash is another. `memoryfield update team` accepts it. That is for the user to run: tell them."
    told = explained(MemoryfieldError("no vector: run `memoryfield embed`"))
    assert told == "no vector: tell the user to run `memoryfield embed`"


def test_sixteen_calls_at_once_are_all_answered(server: Any) -> None:
    async def conversation(client: Any) -> None:
        queries = [("which wok?", "woks.md"), ("cast iron pan", "pans.md")] * 6
        calls = [client.call_tool("search", {"query": query, "limit": 1}) for query, _ in queries]
        calls += [client.call_tool("read", {"pages": ["woks"]}) for _ in range(2)]
        calls += [client.call_tool("list", {}), client.call_tool("search", {"query": "x", "mode": "nonsense"})]
        answers = await asyncio.gather(*calls)
        for answer, (_, filename) in zip(answers, queries, strict=False):
            assert answer.structured_content["results"][0]["filename"] == filename
        assert [answer.is_error for answer in answers[12:]] == [False, False, False, True]

    talk(server, conversation)


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen")
    first, second = Process("-f", field, "--allow-writes"), Process("-f", field, "--allow-writes")

    async def writing() -> None:
        async with Client(first.url) as one, Client(second.url) as other:
            calls = [
                client.call_tool("write", {"name": "log", "text": f"line {who}-{number}.", "mode": "append"})
                for who, client in enumerate((one, other))
                for number in range(8)
            ]
            assert not any(answer.is_error for answer in await asyncio.gather(*calls))

    try:
        asyncio.run(writing())
    finally:
        assert [server.end()[0] for server in (first, second)] == [0, 0]
    with Field.open(field) as opened:
        assert len(re.findall(r"line \d-\d\.", opened.read("log").body)) == 16


# resources


def test_pages_are_resources(server: Any, kitchen: Path) -> None:
    async def conversation(client: Any) -> None:
        listed = await client.list_resources()
        assert [resource.name for resource in listed.resources] == ["index.md", "pans.md", "woks.md"]
        woks = listed.resources[2]
        assert (woks.uri, woks.mime_type) == ("memoryfield://kitchen/woks.md", "text/markdown")
        assert woks.size == len(WOKS.encode())
        read = (await client.read_resource(woks.uri)).contents[0]
        assert (read.text, read.mime_type, read.uri) == (WOKS, "text/markdown", woks.uri)
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["memoryfield://kitchen/{page}"]

    talk(server, conversation)


@pytest.mark.parametrize(
    "uri",
    [
        "memoryfield://kitchen/nothing.md",
        "memoryfield://kitchen/..%2F..%2Fetc%2Fpasswd",
        "memoryfield://kitchen/woks",
        "memoryfield://kitchen/all-MiniLM-L6-v2.sqlite3",
        "memoryfield://pantry/woks.md",
        "memoryfield://kitchen",
        "file:///etc/passwd",
    ],
)
def test_what_is_no_page_is_no_resource(http: Process, uri: str) -> None:
    async def conversation(client: Any) -> None:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert caught.value.code == -32602
        assert "Internal" not in caught.value.message

    talk(http.url, conversation)


def test_thousands_of_resources_come_in_pages_and_none_twice(tmp_path: Path) -> None:
    fields = [tmp_path / "one", tmp_path / "two"]
    for field in fields:
        field.mkdir()
        for number in range(600):
            (field / f"page-{number:04}.md").write_text("# Text\n", encoding="utf-8")

    async def conversation(client: Any) -> list[str]:
        uris: list[str] = []
        cursor = None
        while True:
            listed = await client.list_resources(cursor=cursor)
            uris += [resource.uri for resource in listed.resources]
            if uris and cursor is None:
                (fields[0] / "page-0001.md").unlink()  # others work on the folder meanwhile
                (fields[0] / "page-0499.md").unlink()
            cursor = listed.next_cursor
            if cursor is None:
                break
        with pytest.raises(MCPError):
            await client.list_resources(cursor="bm9uc2Vuc2U")
        return uris

    uris = talk(by_stdio("-f", fields[0], "-f", fields[1]), conversation)
    assert len(uris) == len(set(uris)) == 1200
    assert uris == sorted(uris)


def test_bytes_that_are_no_text_are_sent_as_they_are(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen")
    raw = b"# Caf\xe9\n\nLatin-1.\n"
    write_page(field, "cafe.md", raw)

    async def conversation(client: Any) -> None:
        read = (await client.read_resource("memoryfield://kitchen/cafe.md")).contents[0]
        assert base64.b64decode(read.blob) == raw
        answer = await client.call_tool("read", {"pages": ["cafe"]})
        assert answer.structured_content["pages"][0]["problems"][0]["message"] == "not UTF-8: the byte 0xe9"

    talk(by_stdio("-f", field), conversation)


# several fields, and fields that change


def test_a_field_is_named_and_never_located(tmp_path: Path, kitchen: Path) -> None:
    other = make_kitchen(tmp_path / "pantry")
    write_page(other, "rice.md", "# Rice\n\nBasmati rice is rinsed before it is cooked.\n")
    hidden = make_kitchen(tmp_path / "hidden")

    async def conversation(client: Any) -> None:
        tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        assert tools["read"]["properties"]["field"]["enum"] == ["kitchen", "pantry"]
        assert "field" in tools["read"]["required"]
        everywhere = await client.call_tool("search", {"query": "basmati rice", "min_score": 0})
        best = everywhere.structured_content["results"][0]
        assert (best["field"], best["filename"]) == ("pantry", "rice.md")
        here = await client.call_tool("search", {"query": "basmati rice", "min_score": 0, "field": "kitchen"})
        assert {hit["field"] for hit in here.structured_content["results"]} <= {"kitchen"}
        for name in ("hidden", str(hidden), "../hidden", ""):
            for tool, arguments in (("search", {"query": "wok"}), ("read", {"pages": ["woks"]}), ("list", {})):
                refused = await client.call_tool(tool, {**arguments, "field": name})
                assert refused.is_error
                assert "kitchen" in refused.content[0].text
                assert "pantry" in refused.content[0].text
        rice = await client.call_tool("read", {"pages": ["rice"], "field": "pantry"})
        assert rice.structured_content["field"] == "pantry"
        assert (await client.call_tool("read", {"pages": ["rice"], "field": "kitchen"})).is_error

    talk(by_stdio("-f", kitchen, "-f", other), conversation)


def test_changes_by_others_are_seen_by_the_very_next_call(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen", embedded=True)

    async def conversation(client: Any) -> None:
        async def best(query: str) -> str | None:
            found = (await client.call_tool("search", {"query": query, "mode": "keyword"})).structured_content
            return found["results"][0]["filename"] if found["results"] else None

        assert await best("quinoa") is None
        for number in range(3):
            (field / f"grain-{number}.md").write_text(f"# Quinoa{number}\n\nQuinoa{number}.\n", encoding="utf-8")
            assert await best(f"quinoa{number}") == f"grain-{number}.md"
        with (field / "grain-0.md").open("a", encoding="utf-8") as page:
            page.write("\nAnd amaranth.\n")
        assert await best("amaranth") == "grain-0.md"
        (field / "grain-0.md").unlink()
        assert await best("amaranth") is None

    talk(by_stdio("-f", field), conversation)


def test_a_field_may_vanish_and_come_back(tmp_path: Path, kitchen: Path) -> None:
    field = make_kitchen(tmp_path / "pantry", embedded=True)

    async def conversation(client: Any) -> None:
        search = {"query": "which wok heats evenly?", "min_score": 0, "limit": 20}
        assert {"kitchen", "pantry"} == await fields(client, search)
        field.rename(tmp_path / "away")
        assert {"kitchen"} == await fields(client, search)
        found = await client.call_tool("search", search)
        assert "pantry was not searched" in found.content[0].text
        for tool, arguments in (("read", {"pages": ["woks"]}), ("list", {}), ("search", {"query": "wok"})):
            gone = await client.call_tool(tool, {**arguments, "field": "pantry"})
            assert gone.is_error, gone
            assert "the field 'pantry' cannot be read now: " in gone.content[0].text
            assert "tell the user" in gone.content[0].text
        assert len((await client.list_resources()).resources) == 3
        (tmp_path / "away").rename(field)
        assert {"kitchen", "pantry"} == await fields(client, search)
        assert not (await client.call_tool("read", {"pages": ["woks"], "field": "pantry"})).is_error

    async def fields(client: Any, search: dict[str, Any]) -> set[str]:
        found = await client.call_tool("search", search)
        return {hit["field"] for hit in found.structured_content["results"]}

    talk(by_stdio("-f", kitchen, "-f", field), conversation)


def test_an_archive_may_be_replaced(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen", embedded=True)
    archive = tmp_path / "team.memoryfield.zip"
    with Field.open(field) as opened:
        pack(opened, archive)

    async def conversation(client: Any) -> None:
        assert not (await client.call_tool("read", {"pages": ["woks"]})).is_error
        write_page(field, "rice.md", "# Rice\n\nBasmati.\n")
        (field / "woks.md").unlink()
        with Field.open(field) as opened:
            pack(opened, tmp_path / "new.memoryfield.zip")
        (tmp_path / "new.memoryfield.zip").replace(archive)
        assert not (await client.call_tool("read", {"pages": ["rice"]})).is_error
        assert (await client.call_tool("read", {"pages": ["woks"]})).is_error
        found = await client.call_tool("search", {"query": "basmati"})
        assert found.structured_content["results"][0]["filename"] == "rice.md"
        refused = await client.call_tool("write", {"text": "# X", "name": "x"})
        assert "archives are read-only. Tell the user to unpack it, change" in refused.content[0].text
        assert "`" not in refused.content[0].text
        archive.write_bytes(b"no zip")
        broken = await client.call_tool("search", {"query": "basmati"})
        assert broken.is_error
        assert "not a readable zip" in broken.content[0].text

    talk(by_stdio("-f", archive, "--allow-writes"), conversation)


def test_a_field_that_is_not_there_at_first_does_not_keep_the_others_away(tmp_path: Path, kitchen: Path) -> None:
    async def conversation(client: Any) -> str:
        return str((await client.call_tool("search", {"query": "wok"})).content[0].text)

    told = talk(by_stdio("-f", kitchen, "-f", tmp_path / "nowhere"), conversation)
    assert "nowhere was not searched" in told
    alone = memoryfield("mcp", "-f", tmp_path / "nowhere")
    assert alone.code == 2
    assert "no folder or archive" in alone.err


# how much is sent


def test_what_is_too_long_is_cut_and_told(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen")
    write_page(field, "long.md", "---\ntitle: Long\n---\n\n" + "A line of text.\n" * 500_000)
    write_page(field, "keys.md", f"---\ntitle: {'t' * 5000}\nkeys: {['k' * 50] * 200}\n---\n\nText.\n")

    async def conversation(client: Any) -> None:
        read = await client.call_tool("read", {"pages": ["long", "woks", "keys"]})
        size = len(json.dumps(read.structured_content)) + len(read.content[0].text)
        assert size < 200_000
        notes = read.structured_content["notes"]
        assert re.search(r"long.md: the last [\d,]+ of 8,000,02\d characters are left out", notes[0])
        assert any(note.startswith("woks.md") for note in notes)
        assert notes[0] in read.content[0].text
        found = await client.call_tool("search", {"query": "ttt text keys", "min_score": 0, "mode": "keyword"})
        assert len(json.dumps(found.structured_content)) < 20_000
        listed = await client.call_tool("list", {"limit": 2})
        assert listed.structured_content["total"] == 5
        assert "3 more of 5; offset 2 goes on" in listed.content[0].text
        rest = await client.call_tool("list", {"limit": 5, "offset": 2})
        names = [page["filename"] for answer in (listed, rest) for page in answer.structured_content["pages"]]
        assert names == ["index.md", "keys.md", "long.md", "pans.md", "woks.md"]
        newest = await client.call_tool("list", {"sort": "updated", "limit": 1})
        assert newest.structured_content["pages"][0]["filename"] in ("long.md", "keys.md")
        with pytest.raises(MCPError, match="are not sent"):
            await client.read_resource("memoryfield://kitchen/long.md")

    talk(by_stdio("-f", field), conversation)


def test_a_field_is_opened_once_for_many_pages(kitchen: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[int] = []
    names = DirectoryContainer.names

    def counted(container: DirectoryContainer) -> Any:
        listed.append(1)
        return names(container)

    with Memory([kitchen]) as memory:
        monkeypatch.setattr(DirectoryContainer, "names", counted)
        *_, answer = memory.read(["woks"] * 50)
    assert answer
    assert answer.facts
    assert len(answer.facts["pages"]) == 50
    assert len(listed) == 51  # each page is looked for


def test_a_page_of_one_long_line_is_read_from_its_beginning(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen")
    write_page(field, "line.md", "---\ntitle: Line\n---\n" + "word " * 20_000)

    async def conversation(client: Any) -> None:
        read = await client.call_tool("read", {"pages": ["line"]})
        body = read.structured_content["pages"][0]["body"]
        assert body.startswith("word word ")
        assert len(body) > 50_000
        assert read.content[0].text.split("---\n")[-1].startswith(body)

    talk(by_stdio("-f", field), conversation)


def test_nothing_that_a_terminal_would_obey_is_in_the_text(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen")
    evil = "\x1b[31mred\x07 \u202eback"
    write_page(field, "evil.md", f'---\ntitle: "\\e[31m \\u202e"\n---\n{evil} wok\n')

    async def conversation(client: Any) -> None:
        calls = {
            "read": {"pages": ["evil", evil]},
            "search": {"query": "red back", "min_score": 0},
            "list": {},
            "delete": {"page": evil},
        }
        for name, arguments in calls.items():
            answer = await client.call_tool(name, arguments)
            assert re.search(r"\\x1b\[31m.*\\u202e", answer.content[0].text), answer
            assert not re.search("[\x1b\x07\u202e]", answer.content[0].text)
            if name == "read":
                assert answer.structured_content["pages"][0]["body"] == f"{evil} wok\n"

    talk(by_stdio("-f", field, "--allow-writes"), conversation)


def test_a_list_by_date_keeps_nobody_waiting(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen")
    for number in range(1_000):
        day = f"2026-02-{number % 28 + 1:02}T00:00:00Z"
        write_page(field, f"note-{number}.md", f'---\ntitle: Note\nupdated: "{day}"\n---\n\nText {number}.\n')
    order: list[str] = []

    async def conversation(client: Any) -> None:
        async def call(name: str, arguments: dict[str, Any]) -> list[str]:
            facts = (await client.call_tool(name, arguments)).structured_content
            order.append(name)
            return [page["filename"] for page in facts["pages"]]

        by_date = {"sort": "updated", "limit": 500.0}
        listed, _ = await asyncio.gather(call("list", by_date), call("read", {"pages": ["woks"]}))
        assert order == ["read", "list"]
        with Field.open(field) as opened:
            assert listed == [row["filename"] for row in opened.list_pages("updated").pages[:500]]
        write_page(field, "note-0.md", '---\nupdated: "2026-03-01T00:00:00Z"\n---\n\nNewer.\n')
        (field / "note-27.md").unlink()
        assert await call("list", by_date) == ["note-0.md", *(name for name in listed if name != "note-27.md")][:500]

    talk(by_stdio("-f", field), conversation)


# who may ask over HTTP


def post(port: int, body: bytes, **headers: str) -> tuple[int, bytes]:
    """A raw request: its status and what came back."""
    given = {"Host": f"127.0.0.1:{port}", "Content-Type": "application/json", "Accept": "application/json", **headers}
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items() if value)
    with socket.create_connection(("127.0.0.1", port), timeout=PROMPTLY) as connection:
        connection.sendall(
            f"POST /mcp HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
        )
        got = b""
        while part := connection.recv(65536):
            got += part
    return int(got.split(b" ", 2)[1]), got


HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "a test", "version": "1"},
        },
    }
).encode()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "[::1]:80"}, 200),
        ({"Origin": "http://localhost:3000"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8643"}, 421),
        ({"Host": "localhost.evil.example"}, 421),
        ({"Host": "127.0.0.1.evil.example:80"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://localhost.evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content-Type": "text/plain"}, 400),
    ],
)
def test_only_this_machine_may_ask(http: Process, headers: dict[str, str], status: int) -> None:
    got, answer = post(http.port, HELLO, **headers)
    assert got == status, answer
    assert (b"memoryfield" in answer) == (status == 200)


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_the_newer_protocol_refuses_others_too(http: Process, headers: dict[str, str]) -> None:
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/list",
            "params": {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": {"name": "a test", "version": "1"},
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
            },
        }
    ).encode()
    named = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
    got, answer = post(http.port, body, **named)
    assert got == 200, answer
    assert b"Find pages" in answer
    got, answer = post(http.port, body, **named, **headers)
    assert got in (403, 421)
    assert b"Find pages" not in answer


def test_it_listens_on_the_loopback_interface_alone(http: Process) -> None:
    assert http.url.startswith("http://127.0.0.1:")
    listening = Path("/proc/net/tcp")
    if not listening.exists():
        pytest.skip("no list of sockets here")
    port = f":{http.port:04X}"
    addresses = [line.split()[1] for line in listening.read_text(encoding="ascii").splitlines()[1:]]
    assert [address for address in addresses if address.endswith(port)][:1] == [f"0100007F{port}"]


@pytest.mark.parametrize("named", ["", "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n"])
def test_a_client_may_leave_in_the_middle(kitchen: Path, named: str) -> None:
    server = Process("-f", kitchen)
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: */*\r\n{named}"
    for rest in ("Content-Length: 1000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n5\r\n{"):
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall((head + rest).encode())
            time.sleep(0.1)  # it has begun to read
    assert post(server.port, HELLO)[0] == 200
    server.process.send_signal(signal.SIGTERM)
    assert server.process.communicate(timeout=PROMPTLY)[1] == ""


def test_nonsense_does_not_end_it(http: Process) -> None:
    for body in (b"", b"{", b"[]", b'{"jsonrpc": "2.0"}', b"\xff\xfe", b"[" * 100_000):
        assert 400 <= post(http.port, body)[0] < 500
    assert post(http.port, HELLO)[0] == 200


def test_a_port_that_is_taken_is_told(http: Process, kitchen: Path) -> None:
    taken = memoryfield("mcp", "-f", kitchen, "--http", "--port", str(http.port))
    assert taken.code == 1
    assert f"cannot listen on port {http.port}" in taken.err


# how it ends


def speak(kitchen: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """A server over its standard streams that has answered once."""
    process = subprocess.Popen(
        command("mcp", "-f", kitchen, *arguments),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdin
    assert process.stdout
    process.stdin.write(HELLO + b"\n")
    process.stdin.flush()
    assert b'"memoryfield"' in process.stdout.readline()
    return process


@pytest.mark.parametrize("how", ["closed", "SIGINT", "SIGTERM"])
def test_over_stdio_it_ends_at_once_and_says_nothing_more(kitchen: Path, how: str) -> None:
    process = speak(kitchen)
    if how == "closed":
        out, said = process.communicate(timeout=PROMPTLY)
    else:
        process.send_signal(getattr(signal, how))  # its input stays open
        assert process.wait(PROMPTLY) == 0
        out, said = process.communicate()
    assert (process.returncode, out, said) == (0, b"", b"")


def test_many_writes_that_wait_do_not_keep_it_from_ending(tmp_path: Path) -> None:
    field = make_kitchen(tmp_path / "kitchen")
    process = speak(field, "--allow-writes")
    assert process.stdin
    assert process.stdout
    for number in range(300):
        arguments = {"name": "log", "text": "A line.", "mode": "append"}
        params = {"name": "write", "arguments": arguments}
        call = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        process.stdin.write(json.dumps(call).encode() + b"\n")
        process.stdin.flush()
    assert b"created log.md" in process.stdout.readline()
    before = _lines(field / "log.md")
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=PROMPTLY)[1] == b""
    assert process.returncode == 0
    assert not list(field.glob(".*.tmp"))  # none was left in the middle
    assert _lines(field / "log.md") - before < 10


def _lines(page: Path) -> int:
    return page.read_bytes().count(b"A line.")


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM"])
def test_over_http_it_ends_at_once(kitchen: Path, how: str) -> None:
    server = Process("-f", kitchen)
    with socket.create_connection(("127.0.0.1", server.port)):  # somebody is connected, and says nothing
        assert server.end(getattr(signal, how)) == (0, "")


def test_standard_output_carries_the_protocol_alone(kitchen: Path) -> None:
    process = speak(kitchen)
    assert process.stdin
    assert process.stdout
    calls = [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "search", "arguments": {"query": "wok"}},
        },
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "read", "arguments": {"pages": ["x"]}}},
        {"jsonrpc": "2.0", "id": 4, "method": "no/such/method"},
    ]
    process.stdin.write(b"".join(json.dumps(call).encode() + b"\n" for call in calls))
    process.stdin.write(
        b'nonsense\n{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": '
        b'{"name": "search", "arguments": {"query": "\\ud800 \\u0000"}}}\n'
    )
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 6, "method": "tools/list"}).encode() + b"\n")
    process.stdin.flush()
    answered: set[Any] = set()
    watch = threading.Timer(PROMPTLY, process.kill)
    watch.start()
    while not {2, 3, 4, 6} <= answered:
        line = process.stdout.readline()
        assert line, process.communicate()
        answer = json.loads(line)
        assert answer["jsonrpc"] == "2.0"
        answered.add(answer.get("id"))
    watch.cancel()
    process.stdin.close()
    assert process.wait(PROMPTLY) == 0
    process.stdin = None
    assert b"Traceback" not in process.communicate()[1]


def test_every_line_is_answered(kitchen: Path) -> None:
    process = speak(kitchen)
    assert process.stdin
    assert process.stdout
    begun = b'{"jsonrpc": "2.0", "id": 7, "method": '
    for line, number, told in (
        (begun + rb'"tools/call", "params": {"name": "search", "arguments": {"query": "wok \ud83d"}}}', 7, "woks.md"),
        (begun + b'"tools/ca', None, "-32700"),
        (begun + b"[" * 10_000 + b"]" * 10_000 + b"}", None, "-32700"),
        (begun + b"5}", 7, "-32600"),
        (begun + b'"tools/list", "params": [1]}', 7, "-32600"),
        (b"[" + begun + b'"ping"}]', None, "-32600"),
        (b'{"jsonrpc": "2.0", "id": true, "method": 5}', None, "-32600"),
        (b"\xff\xfe", None, "-32700"),
        *(
            (
                begun
                + b'"tools/call", "params": {"name": "search", "arguments": {"query": "wok", "min_score": %b}}}' % no,
                7,
                "min_score: nan is no finite number" if no == b"NaN" else "search does not take this: min_score",
            )
            for no in (b"NaN", b"Infinity", b"-Infinity", b"1e999")
        ),
    ):
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["id"] == number
        assert told in json.dumps(answer)
    assert process.communicate(timeout=PROMPTLY) == (b"", b"")


def test_without_the_extra_it_says_what_to_install(kitchen: Path, tmp_path: Path) -> None:
    hiding = tmp_path / "sitecustomize.py"
    hiding.write_text(
        "import sys, importlib.abc\n"
        "class Hidden(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('mcp', 'uvicorn', 'mcp_types'):\n"
        "            raise ModuleNotFoundError(name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n",
        encoding="utf-8",
    )
    run = memoryfield("mcp", "-f", kitchen, env={"PYTHONPATH": str(tmp_path)})
    assert run.code == 2
    assert run.err == "error: the MCP server needs an extra. pip install 'memoryfield-cli[mcp]'\n"
    assert memoryfield("list", "-f", kitchen, env={"PYTHONPATH": str(tmp_path)}).code == 0


def test_no_other_command_loads_the_sdk(kitchen: Path) -> None:
    script = (
        "import sys; from memoryfield.cli.main import run; run(sys.argv[1:])\n"
        "print({'mcp', 'uvicorn', 'pydantic', 'tomlkit'} & {*sys.modules})"
    )
    for words in (["list"], ["mcp", "--help"], ["mcp", "status"]):
        arguments = [*words, *(["-f", str(kitchen)] if words == ["list"] else [])]
        done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.endswith("set()\n")


@pytest.mark.skipif(sys.platform == "win32", reason="a file has one name there")
def test_what_the_system_does_not_tell_of_is_known_to_the_second_search(
    kitchen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that got another name elsewhere, and was changed by that."""
    monkeypatch.setattr("memoryfield.agents.mcp.memory.RECHECK_SECONDS", 0.0)
    with Memory([kitchen]) as memory:
        memory.search("wok")
        os.link(kitchen / "woks.md", kitchen.parent / "elsewhere.md")
        (kitchen.parent / "elsewhere.md").write_text("# Woks\n\nQuokkas smile.\n")
        memory.search("wok")
        memory.recheck()
        found = memory.search("quokkas smile", mode="keyword").facts
        assert found is not None
        assert [hit["filename"] for hit in found["results"]] == ["woks.md"]
