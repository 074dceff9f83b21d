"""Changes single values in TOML; every other byte stays as it is.

A look at the statements tells where a value stands, and tomllib, before and after, whether that was right: what cannot
be changed without changing anything else is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from ..errors import RefusedError

_BOM = "\ufeff"
_PIECE = re.compile(
    r'''"""(?:[^\\]|\\.)*?"{3,5} | \'{3}.*?\'{3,5} | "(?:[^"\\]|\\.)*" | '[^']*'   # strings
    | \#[^\n]* | [ \t\r]+ | [\n=\[\]{}] | [^\s"'\#=\[\]{}]+''',
    re.DOTALL | re.VERBOSE,
)


class _Statement(NamedTuple):
    """A table's head, or a key with its value, from `start`; `value` and `end` are where the value stands.

    `after` is where the next line begins.
    """

    table: tuple[str, ...]
    path: tuple[str, ...]
    start: int
    value: int | None
    end: int
    after: int


def get(text: str, path: Sequence[str]) -> Any:
    """The value at a path of names; None where there is none.

    Raises:
        RefusedError: the text is no TOML, or something on the way is no table.
    """
    value: Any = _parsed(text)
    for depth, name in enumerate(path):
        if not isinstance(value, dict):
            raise RefusedError(f"{'.'.join(path[:depth])} is no table")
        if name not in value:
            return None
        value = value[name]
    return value


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path of bare names; a table that is missing is added at the end.

    Raises:
        RefusedError: as `get` does, or the table is not one that a line can be added to.
    """
    if get(text, path) == value:
        return text
    return _checked(text, _with(text, tuple(path), json.dumps(value, ensure_ascii=False)), path, value)


def remove(text: str, path: Sequence[str]) -> str:
    """The text without what stands at a path, and without the empty line that `put` leaves before a table.

    Raises:
        RefusedError: as `get` does, or it stands within a value.
    """
    if get(text, path) is None:
        return text
    changed = text
    runs = [(ours, list(run)) for ours, run in groupby(_statements(text), lambda one: _is_in(one.path, path))]
    for run in [run for ours, run in reversed(runs) if ours]:
        before, after = text[: run[0].start], run[-1].after
        if run[0].value is None:
            blank = r"((?:^|\n)\ufeff?)\r?\n\Z" if text[:after].endswith("\n") else r"()\r?\n(?:\r?\n)?\Z"
            before = re.sub(blank, r"\1", before)
        changed = before + changed[after:]
    return _checked(text, changed, path, None)


def _with(text: str, path: tuple[str, ...], written: str) -> str:
    written = written.replace("\x7f", "\\u007f")  # the one character that JSON has in strings, and TOML has not
    statements = list(_statements(text))
    for one in statements:
        if one.path == path and one.value is not None:
            return text[: one.value] + written + text[one.end :]
    newline = "\r\n" if "\r\n" in text else "\n"
    line = f"{path[-1]} = {written}"
    if lines := [one for one in statements if one.table == path[:-1]]:
        place = len(text[: lines[-1].after].rstrip("\r\n"))
        return text[:place] + newline + line + text[place:]
    table = f"[{'.'.join(path[:-1])}]{newline}{line}"
    if text.removeprefix(_BOM) and not text.endswith("\n"):
        return text + newline * 2 + table  # the last line has no end, so that `remove` sees what was added
    return text + (newline if text.removeprefix(_BOM) else "") + table + newline


def _checked(text: str, changed: str, path: Sequence[str], value: Any) -> str:
    """The changed text, if nothing but the value at the path has changed."""
    try:
        if get(changed, path) == value and _rest(changed, path) == _rest(text, path):
            return changed
    except RefusedError:
        pass
    raise RefusedError(f"{path[0]} is written in a way that cannot be changed here; it should be tables, [{path[0]}.…]")


def _rest(text: str, path: Sequence[str]) -> str:
    """What is in a text besides one value, and the tables that are empty without it."""
    document = _parsed(text)
    owners = [document]
    for name in path[:-1]:
        owners.append(owners[-1].get(name, {}))
    for owner, name in zip(reversed(owners), reversed(path), strict=True):
        if name == path[-1] or not owner.get(name):
            owner.pop(name, None)
    return repr(document)  # so that 1 is not true, and nan is nan


def _is_in(path: tuple[str, ...], owner: Sequence[str]) -> bool:
    return path[: len(owner)] == tuple(owner)


def _parsed(text: str) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except RecursionError:
        raise RefusedError("this is nested too deeply") from None
    except ValueError as error:
        message, _, place = str(error).partition(" (at ")
        lines = text.split("\n")
        numbers = re.findall(r"\d+", place) or ([str(len(lines)), str(len(lines[-1]) + 1)] if place else [])
        raise RefusedError(f"{':'.join(numbers)}: {message}" if numbers else message) from None


def _statements(text: str) -> Iterator[_Statement]:
    """The statements of a text that tomllib reads."""
    table: tuple[str, ...] = ()
    pieces: list[re.Match[str]] = []
    depth, start = 0, len(text) - len(text.removeprefix(_BOM))
    for piece in _PIECE.finditer(text + "\n", start):
        depth += (piece[0] in "[{") - (piece[0] in "]}")
        if piece[0] != "\n" or depth:
            pieces += [] if piece[0][0] in " \t\r\n#" else [piece]
            continue
        after = min(piece.end(), len(text))
        if pieces:
            statement = _statement(text, table, pieces, start, after)
            table = statement.table
            yield statement
        pieces, start = [], after


def _statement(text: str, table: tuple[str, ...], pieces: list[re.Match[str]], start: int, after: int) -> _Statement:
    first, end = pieces[0].start(), pieces[-1].end()
    if pieces[0][0] == "[":
        table = _names(text[first:end])
        return _Statement(table, table, start, None, end, after)
    equals = next(index for index, piece in enumerate(pieces) if piece[0] == "=")
    key = text[first : pieces[equals].end()]
    return _Statement(table, table + _names(f"{key} 0"), start, pieces[equals + 1].start(), end, after)


def _names(statement: str) -> tuple[str, ...]:
    """The names that a head or a key consists of."""
    names: list[str] = []
    value: Any = _parsed(statement)
    while isinstance(value, dict) and value:
        ((name, value),) = value.items()
        names.append(name)
    return tuple(names)
