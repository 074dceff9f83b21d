"""Frontmatter in TOML or JSON, as other tools write it: read, never written."""

import json
import re
from typing import Any

from .blocks import BREAK, KNOWN_KEYS, Kind
from .safe_yaml import MAX_DEPTH, YamlError, plain_mapping

_NAME = r"""(?:(?<![\w-])[\w-]++|"[^"\r\n]*+"|'[^'\r\n]*+')"""
_TOO_DEEP = rf"(?:{_NAME}[ \t]*+\.[ \t]*+){{{MAX_DEPTH}}}"
"""A key of so many parts: tomllib takes a time for it that grows with their square."""
_KNOWN = "|".join(KNOWN_KEYS)
_KNOWN_LINES = {
    "toml": rf"(?<![^\r\n])[ \t]*+({_KNOWN})[ \t]*+=[ \t]*+([^\r\n]*)",
    "json": rf"(?:\A\{{|(?<![^\r\n]))[ \t]*+\"({_KNOWN})\"[ \t]*+:[ \t]*+([^\r\n]*)",
}


class ForeignError(Exception):
    """A block that was not understood. `index` is where, in characters, if that is known."""

    def __init__(self, message: str, index: int = 0) -> None:
        super().__init__(message)
        self.message, self.index = message, index


def load(source: str, kind: Kind) -> dict[str, Any]:
    """The keys, with values as JSON can hold them and dates as text.

    Raises:
        YamlError: it expands beyond the bounds.
        ForeignError: it is not what it should be.
    """
    try:
        return plain_mapping(_load_toml(source) if kind == "toml" else _load_json(source))
    except RecursionError:
        raise YamlError("it nests too deeply", code="expands") from None
    except json.JSONDecodeError as error:
        raise ForeignError(error.msg, error.pos) from None
    except ValueError as error:
        raise ForeignError(str(error)) from None


def _load_json(source: str) -> dict[str, Any]:
    value = json.loads(source)
    if not isinstance(value, dict):
        raise ForeignError("no keys and values")
    return value


def _load_toml(source: str) -> dict[str, Any]:
    import tomllib

    if re.search(_TOO_DEEP, source):
        raise YamlError(f"a key of more than {MAX_DEPTH} parts", code="expands")
    lines = re.sub(BREAK, "\n", source)
    try:
        return tomllib.loads(lines)
    except tomllib.TOMLDecodeError as error:
        told = re.fullmatch(r"(.*?) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
        if told is None:
            raise ForeignError(str(error)) from None
        raise ForeignError(told[1], _index(source, int(told[2] or 0), int(told[3] or 0))) from None


def _index(source: str, line: int, column: int) -> int:
    """Where a line and a column are, both from 1; of line 0, the end."""
    if not line:
        return len(source)
    starts = [0, *(match.end() for match in re.finditer(BREAK, source))]
    return min(starts[min(line, len(starts)) - 1] + column - 1, len(source))


def known_lines(source: str, kind: Kind) -> dict[str, str]:
    """The known keys that stand on lines of their own in a block that was not understood."""
    found: dict[str, str] = {}
    for match in re.finditer(_KNOWN_LINES[kind], source):
        if value := _unquoted(match[2].strip()):
            found.setdefault(match[1], value)
    return found


def _unquoted(value: str) -> str:
    """A value on a line: text in quotes without them, anything else up to a comment or the comma at its end."""
    if quoted := re.match(r"\"(?:[^\"\\]|\\.)*+\"(?=[ \t]*(?:,|\#|\Z))", value):
        try:
            return str(json.loads(quoted[0], strict=False)).encode("utf-8", "replace").decode()
        except ValueError:
            return quoted[0][1:-1]
    if quoted := re.match(r"'([^']*)'(?=[ \t]*(?:,|\#|\Z))", value):
        return quoted[1]
    value = re.split(r"(?:^|[ \t])#", value, maxsplit=1)[0].rstrip(" \t,")
    return "" if value[:1] in ("[", "{") else value.strip("\"'")
