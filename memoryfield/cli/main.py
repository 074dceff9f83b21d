"""The entry point: which command lives in which module, and how every error ends."""

import io
import os
import signal
import sys
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

from .. import __version__
from ..errors import MemoryfieldError
from .options import read_plainly
from .render import say

COMMANDS = {
    "create": "fields",
    "write": "pages",
    "read": "pages",
    "list": "pages",
    "edit": "pages",
    "split": "splitting",
    "rename": "pages",
    "delete": "pages",
    "info": "fields",
    "embed": "finding",
    "search": "finding",
    "similar": "finding",
    "models": "models",
    "validate": "validation",
    "pack": "sharing",
    "unpack": "sharing",
    "verify": "comparing",
    "diff": "comparing",
    "merge": "merging",
    "import": "moving",
    "export": "moving",
    "add": "naming",
    "fields": "naming",
    "remove": "naming",
    "update": "naming",
    "skill": "skill",
    "mcp": "mcp",
    "schema": "schema",
}
"""Each command and the module that it is loaded from when it is asked for."""

JSON_OPTION = "--json"
INTERRUPTED = 130
CLOSED_PIPE = 141


class LazyGroup(TyperGroup):
    """The commands, each module imported only when one of its commands is needed."""

    def get_params(self, ctx: Any) -> list[Any]:
        return read_plainly(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            self.commands = dict.fromkeys(COMMANDS, self)  # for "did you mean"
            return None
        module = import_module(f".{COMMANDS[cmd_name]}", __package__)
        return get_group(module.app).commands[cmd_name]


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"memoryfield {__version__}")
        raise typer.Exit


@app.callback()
def memoryfield(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    """Keep memory in files: Markdown pages that are searched offline, validated, packed and shared.

    A field is a folder of pages. Commands take it from -f/--field, else from the environment's
    MEMORYFIELD, else the current folder is it, if it holds a page. A name that `add` gave is one, too.

    \b
    Example:
      $ memoryfield create notes --title "Kitchen notes"
      $ echo "Carbon steel heats evenly." | memoryfield write -f notes --title "Woks"
      $ memoryfield embed -f notes
      $ memoryfield search -f notes "what heats evenly?"
    """


def main() -> None:
    """Run the command line and exit: 0 done or found, 1 nothing found or problems, 2 usage, 3 refused."""
    _prepare_streams()
    code = 1
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        code = _closed_pipe()
    except OSError as error:
        if not code:
            say(f"error: the output could not be written: {error.strerror}")
        code = _closed_pipe() and 1
    sys.exit(code)


def _prepare_streams() -> None:
    """Streams that were closed before we began lead nowhere; characters that one cannot show are escaped."""
    sys.stdin = sys.stdin or Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _end_cleanly() -> None:
    """Being asked to end, or left by the terminal, cleans up as Ctrl-C does, unless that is to be ignored (nohup)."""

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # once is enough: the cleaning up is not interrupted
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # Windows knows no SIGHUP
        if number and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)


def run(arguments: list[str]) -> int:
    """Run one command; whatever happens, one clear line and an exit code."""
    try:
        _end_cleanly()
        group = get_group(app)
        with group.make_context("memoryfield", arguments) as context:
            group.invoke(context)
        return 0
    except typer.Exit as ending:
        return ending.exit_code
    except typer.TyperException as error:
        _show(error)
        return _ended(arguments, _facts("usage", error.format_message(), int(error.exit_code)))
    except MemoryfieldError as error:
        say(f"error: {error}")
        return _ended(arguments, error.to_dict())
    except BrokenPipeError:
        return _closed_pipe()
    except (KeyboardInterrupt, EOFError, typer.Abort):
        say("interrupted")
        return INTERRUPTED
    except OSError as error:
        message = f"{error.filename}: " if error.filename else ""
        message += error.strerror or str(error)
        say(f"error: {message}")
        return _ended(arguments, _facts("system", message))
    except Exception as error:
        if type(error).__module__ != "apsw":
            raise
        message = _INDEX_ERRORS.get(type(error).__name__, _INDEX_ERROR).format(error)
        say(f"error: {message}")
        return _ended(arguments, _facts("index-file", message))


def _show(error: Any) -> None:
    """What Typer has to say of how it was called."""
    show = getattr(error, "show", None)
    if not show:
        say(f"error: {error.format_message()}")
        return
    show()
    if "unexpected extra argument" in error.format_message():
        say("A field is named by -f: memoryfield COMMAND -f FIELD")


def _facts(kind: str, message: str, code: int = 1) -> dict[str, Any]:
    """An error that is not one of ours, as JSON has it."""
    return {"kind": kind, "message": message, "hint": "", "exit": code}


def _ended(arguments: list[str], facts: dict[str, Any]) -> int:
    """An error ends the command: who asked for JSON gets it as JSON, too. Its exit code."""
    if JSON_OPTION in takewhile("--".__ne__, arguments):
        from .common import print_json_error

        print_json_error(facts)
    return int(facts["exit"])


_INDEX_ERROR = "the index cannot be used ({}): delete it, `memoryfield embed` makes it again"
_INDEX_ERRORS = {
    "FullError": "the disk is full; what the index held before stays",
    "BusyError": "another process keeps the index locked; try again when it has finished",
    "IOError": "the index cannot be read or written ({}); is the disk full?",
    "ReadOnlyError": "the index cannot be written ({})",
}
"""What SQLite's errors mean to a person, by the names of apsw's classes."""


def _closed_pipe() -> int:
    """Whoever read our output has gone: stop quietly, as a program that a signal ended."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return CLOSED_PIPE if hasattr(signal, "SIGPIPE") else 1
