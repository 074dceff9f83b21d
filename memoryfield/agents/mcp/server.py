"""Speaks the Model Context Protocol, over standard input and output or over HTTP, by the official SDK.

All calls are answered by one thread, in the order in which they came: the library's searcher, its model and its
SQLite connections belong to one thread, and two that search would only take turns.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import math
import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, unquote

import anyio
import apsw
import jsonschema
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from ... import __version__
from ...errors import MemoryfieldError, UsageError
from ...escaping import escaped_page
from .memory import Answer, Memory, explained, short
from .tools import WRITES, Tool, instructions, tools

SCHEME = "memoryfield://"
PATH = "/mcp"
LOOPBACK = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost", "[::1]")
"""What a request may call us, and where a page may come from that calls us: nothing else is this machine."""
RESOURCES_AT_ONCE = 500
END_SECONDS = 2
"""So long a request that is being answered is waited for when the server is to end."""

_Context = Any


class MemoryServer:
    """A server of fields."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.tools = {tool.name: tool for tool in tools(memory.names, memory.allow_writes)}
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="memoryfield")
        self._turn = threading.Lock()
        self._serving = threading.Event()
        self._serving.set()
        self._waiting = 0
        self._validators = {tool.name: jsonschema.Draft202012Validator(tool.takes) for tool in self.tools.values()}
        self._calls: dict[str, Callable[..., Answer | Iterator[Answer | None]]] = {
            "search": memory.search,
            "read": memory.read,
            "list": memory.list_pages,
            "write": memory.write,
            "delete": memory.delete,
        }
        self.protocol: Server[Any] = Server(
            "memoryfield",
            version=__version__,
            title="Memory",
            instructions=instructions(memory.names, memory.allow_writes),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    async def _in_turn(self, work: Callable[[], Any]) -> Any:
        """Work done by the one thread that may touch fields; what is called off before its turn is not done."""
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, self._unless_ending, work)
        finally:
            self._waiting -= 1

    def _unless_ending(self, work: Callable[[], Any]) -> Any:
        """Work, if the server goes on; else nothing is begun, until the process has ended."""
        self._serving.wait()
        with self._turn:
            return work()

    def _at_leisure(self, work: Callable[[], None]) -> None:
        """What nobody waits for, unless somebody waits for something else."""
        if not self._waiting:
            work()

    # tools

    async def _list_tools(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_as_sent(tool) for tool in self.tools.values()])

    async def _call_tool(self, context: _Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        steps = self._answer(params.name, params.arguments or {})
        found: Answer | None = None
        while found is None:
            found = await self._in_turn(lambda: next(steps))
        if not found.is_error:
            later = self.memory.refresh if params.name in WRITES else self.memory.recheck
            self._worker.submit(self._unless_ending, lambda: self._at_leisure(later))
        return types.CallToolResult(
            content=[types.TextContent(text=escaped_page(found.text))],
            structured_content=_sendable(found.facts),
            is_error=found.is_error,
        )

    def _answer(self, name: str, arguments: dict[str, Any]) -> Iterator[Answer | None]:
        """What a tool answers, last; whatever goes wrong, in words that a model can act on."""
        try:
            if name not in self.tools:
                off = " The server only reads: it was started without --allow-writes." if name in WRITES else ""
                raise UsageError(f"there is no tool {name[:40]!r}.{off} The tools are {', '.join(self.tools)}")
            arguments = self._without_field(arguments)
            self._check(name, arguments)
            found = self._calls[name](**_with_integers(arguments))
            yield from [found] if isinstance(found, Answer) else found
        except MemoryfieldError as error:
            yield Answer(None, explained(error), True)
        except OSError as error:
            told = f"{name} failed: {explained(error)}. If another name or a shorter text is no help, tell the user."
            yield Answer(None, told, True)
        except apsw.Error as error:
            yield Answer(None, f"the index cannot be used now: {error}", True)
        except Exception as error:
            logging.getLogger(__name__).exception("the tool %s failed", name)
            yield Answer(None, short(f"{name} failed: {type(error).__name__}: {error}"), True)

    def _without_field(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Arguments without the name of the only field: no tool takes it, as each word of a schema costs.

        Raises:
            UsageError: it is another name.
        """
        only, *others = self.memory.names
        if others or "field" not in arguments:
            return arguments
        if arguments["field"] != only:
            wanted = short(repr(arguments["field"]))
            raise UsageError(f"there is no field {wanted}", hint=f"The only one is {only}: leave field out.")
        return {key: value for key, value in arguments.items() if key != "field"}

    def _check(self, name: str, arguments: dict[str, Any]) -> None:
        """Look whether a tool takes these arguments.

        Raises:
            UsageError: it does not, and why.
        """
        faults = list(islice(self._validators[name].iter_errors(arguments), 3))
        told = [f"{'.'.join(map(str, fault.absolute_path)) or 'arguments'}: {short(fault.message)}" for fault in faults]
        told += [
            f"{key}: {value} is no finite number"  # which is within all limits that a schema can set
            for key, value in arguments.items()
            if isinstance(value, float) and not math.isfinite(value)
        ]
        if told:
            unknown = any(fault.validator == "additionalProperties" for fault in faults)
            taken = f"It takes: {', '.join(self.tools[name].takes['properties'])}." if unknown else ""
            raise UsageError(f"{name} does not take this: {'; '.join(told)}", hint=taken)

    # resources

    async def _list_resources(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        after = _read_cursor(params.cursor if params else None)
        found: types.ListResourcesResult = await self._in_turn(lambda: self._some_resources(after))
        return found

    def _some_resources(self, after: tuple[str, str]) -> types.ListResourcesResult:
        """Those that come after a page of a field, field by field and by name."""
        names = self.memory.names
        first = names.index(after[0]) if after[0] in names else 0
        pages = (
            (field, entry)
            for field in names[first:]
            for entry in self.memory.entries(field)
            if field != after[0] or entry.name > after[1]
        )
        some = [pair for pair, _ in zip(pages, range(RESOURCES_AT_ONCE + 1), strict=False)]
        more = len(some) > RESOURCES_AT_ONCE
        some = some[:RESOURCES_AT_ONCE]
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=_uri(field, entry.name),
                    name=_sendable(entry.name),
                    mime_type="text/markdown",
                    size=entry.size,
                )
                for field, entry in some
            ],
            next_cursor=_cursor(some[-1][0], some[-1][1].name) if more else None,
        )

    async def _list_templates(
        self, context: _Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=f"{SCHEME}{quote(field, safe='')}/{{page}}",
                    name=field,
                    description="A page, by its file name.",
                    mime_type="text/markdown",
                )
                for field in self.memory.names
            ]
        )

    async def _read_resource(
        self, context: _Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        contents = await self._in_turn(lambda: self._resource(uri))
        return types.ReadResourceResult(contents=[contents])

    def _resource(self, uri: str) -> types.TextResourceContents | types.BlobResourceContents:
        field, slash, name = uri.removeprefix(SCHEME).partition("/")
        try:
            if not (uri.startswith(SCHEME) and slash):
                raise MCPError(types.INVALID_PARAMS, f"no resource {uri!r}: they are {SCHEME}FIELD/PAGE", {"uri": uri})
            page = self.memory.page(unquote(field), unquote(name))
        except (MemoryfieldError, OSError) as error:
            raise MCPError(types.INVALID_PARAMS, escaped_page(explained(error)), {"uri": uri}) from None
        if page.is_utf8:
            return types.TextResourceContents(uri=uri, mime_type="text/markdown", text=page.raw.decode("utf-8"))
        blob = base64.b64encode(page.raw).decode("ascii")
        return types.BlobResourceContents(uri=uri, mime_type="text/markdown", blob=blob)

    # transports

    async def over_stdio(self) -> None:
        """Answer until standard input is closed."""
        async with stdio_server() as (coming, going):
            messages = _Messages(coming, going)
            await self.protocol.run(messages, going, self.protocol.create_initialization_options())

    async def over_http(self, listening: socket.socket) -> None:
        """Answer on a socket until the process is asked to end."""
        import uvicorn

        app = self.protocol.streamable_http_app(
            streamable_http_path=PATH,
            json_response=True,
            stateless_http=True,  # nothing that we keep belongs to one client
            transport_security=TransportSecuritySettings(
                allowed_hosts=[*NAMES, *(f"{name}:*" for name in NAMES)],
                allowed_origins=[origin for name in NAMES for origin in (f"http://{name}", f"http://{name}:*")],
            ),
        )
        config = uvicorn.Config(app, log_config=None, access_log=False, timeout_graceful_shutdown=END_SECONDS)
        await uvicorn.Server(config).serve(sockets=[listening])

    def end_soon(self, number: int, frame: object) -> None:
        """End the process for a signal; not from within, as that may come while a lock is held."""
        threading.Thread(target=self.end, daemon=True).start()

    def end(self) -> NoReturn:
        """End the process: what the thread is at is waited for a little, and what waits for its turn is not done."""
        self._serving.clear()
        if self._turn.acquire(timeout=END_SECONDS):
            self.memory.close()
        os._exit(0)  # a thread may still wait for a line of input, and would be waited for


class _Messages:
    """The messages that a transport reads. Lines that are none are answered here: the SDK would pass over them."""

    def __init__(self, coming: Any, going: Any) -> None:
        self._coming, self._going = coming, going

    async def receive(self) -> SessionMessage | Exception:
        """The next message.

        Raises:
            anyio.EndOfStream: there is none.
        """
        while True:
            item: SessionMessage | Exception = await self._coming.receive()
            if isinstance(item, ValidationError):
                read = _read_again(item)
                if isinstance(read, types.JSONRPCError):
                    await self._going.send(SessionMessage(read))
                    continue
                item = SessionMessage(read)
            return item

    def __aiter__(self) -> _Messages:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        with suppress(anyio.EndOfStream):
            return await self.receive()
        raise StopAsyncIteration

    async def __aenter__(self) -> _Messages:
        return self

    async def __aexit__(self, *ending: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Let go of the transport."""
        await self._coming.aclose()


def _read_again(error: ValidationError) -> types.JSONRPCMessage:
    """The message of a line that the SDK did not take, or what it is answered.

    Half a character, as clients send that cut texts anywhere, is no reason to leave them without an answer.
    """
    first = error.errors()[0]
    if first["type"] != "json_invalid":
        whole = [fault["input"] for fault in error.errors() if isinstance(fault["input"], dict)]
        return _refusal(types.INVALID_REQUEST, "not a message of JSON-RPC 2.0", whole[0].get("id") if whole else None)
    try:
        told = _sendable(json.loads(first["input"]))
        return types.jsonrpc_message_adapter.validate_python(told, by_name=False)
    except (ValueError, RecursionError):
        return _refusal(types.PARSE_ERROR, first["msg"])


def _refusal(code: int, message: str, number: Any = None) -> types.JSONRPCError:
    number = number if type(number) in (str, int) else None
    return types.JSONRPCError(jsonrpc="2.0", id=number, error=types.ErrorData(code=code, message=message))


def serve(memory: Memory, port: int | None = None) -> NoReturn:
    """Answer until the input is closed or the process is asked to end; then end it.

    Args:
        port: over HTTP on this port of the loopback interface (0: any that is free); else over standard
            input and output.

    Raises:
        MemoryfieldError: the port is taken.
    """
    _log_plainly()
    listening = None if port is None else _listen(port)
    server = MemoryServer(memory)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, server.end_soon)
    if listening is None:
        asyncio.run(server.over_stdio())
    else:
        print(f"http://{LOOPBACK}:{listening.getsockname()[1]}{PATH}", file=sys.stderr, flush=True)
        asyncio.run(server.over_http(listening))
    server.end()


def _log_plainly() -> None:
    """Warnings of all parts go to standard error, without tracebacks; of clients that leave, nothing is said."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain("%(name)s: %(message)s"))
    handler.addFilter(lambda record: not (record.exc_info and "Disconnect" in str(record.exc_info[0])))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


class _Plain(logging.Formatter):
    """Tells of an exception what it is, and the place where it was raised."""

    def formatException(self, ei: Any) -> str:  # noqa: N802
        frame = traceback.extract_tb(ei[2])[-1]
        return f"{ei[0].__name__}: {ei[1]} ({Path(frame.filename).name}:{frame.lineno})"


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    if sys.platform != "win32":  # there it would let a second server take the port away
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        raise MemoryfieldError(
            f"cannot listen on port {port}: {error.strerror}", hint="Choose another with --port; 0 takes a free one."
        ) from None
    return listening


def _as_sent(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.takes,
        output_schema=tool.gives,
        annotations=types.ToolAnnotations.model_validate(tool.hints),
    )


def _with_integers(arguments: dict[str, Any]) -> dict[str, Any]:
    """Numbers without a fraction as integers: JSON knows no difference between 5 and 5.0."""
    return {
        key: int(value) if isinstance(value, float) and value.is_integer() else value
        for key, value in arguments.items()
    }


def _uri(field: str, name: str) -> str:
    return f"{SCHEME}{quote(field, safe='')}/{quote(name, safe='')}"


def _cursor(field: str, name: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([field, name]).encode()).decode("ascii")


def _read_cursor(cursor: str | None) -> tuple[str, str]:
    """The field and the page after which the list goes on.

    Raises:
        MCPError: it is none of ours.
    """
    if cursor is None:
        return "", ""
    try:
        field, name = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        if isinstance(field, str) and isinstance(name, str):
            return field, name
    except ValueError:
        pass
    raise MCPError(types.INVALID_PARAMS, f"no cursor of this server: {cursor[:100]!r}")


def _sendable(value: Any) -> Any:
    """A value whose strings hold no lone surrogates: the transport would break on them."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
