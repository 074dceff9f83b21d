"""The JSON Schemas of what commands answer, closed: in the tests, a key that no schema knows is a fault."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import takewhile
from typing import Any

from jsonschema import Draft202012Validator

from memoryfield.cli.main import CLOSED_PIPE
from memoryfield.cli.schema import EXIT_CODES
from memoryfield.specification import shape


def closed(schema: Any) -> Any:
    """A schema under which objects have no other keys than those that are described."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **inside} if isinstance(schema.get("properties"), dict) else inside


@cache
def validator(name: str) -> Any:
    """What holds an answer against the closed schema of a command, or of `error`."""
    return Draft202012Validator(closed(shape(name)))


def faults(name: str, value: Any) -> list[str]:
    """What of a JSON value is not as the schema says."""
    return [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(value)]


def answers(arguments: Sequence[str], raw: bytes) -> Iterator[tuple[str, Any]]:
    """The JSON objects in the output of a command that was asked for them, each with its schema's name."""
    name = "-".join(arguments[: 2 if arguments[:1] in (["skill"], ["mcp"]) else 1])
    given = [*takewhile("--".__ne__, arguments)]
    by_line = arguments[:1] == ["search"] and "-" in arguments
    if not raw.strip() or not (by_line or "--json" in given or arguments[:1] == ["schema"]):
        return
    for text in raw.splitlines() if by_line else [raw]:
        value = json.loads(text)
        yield "error" if "error" in value and "commands" not in value else name, value


def check_answer(arguments: Sequence[str], code: int, raw: bytes) -> None:
    """Hold what a command printed against its schema, and how it ended against the exit codes that there are."""
    assert code in EXIT_CODES or code == CLOSED_PIPE or code < 0, (arguments, code)
    if "--help" in arguments or "-h" in arguments:
        return
    for name, value in answers(arguments, raw):
        assert next(iter(value)) == "schema", arguments
        assert faults(name, value) == [], arguments
        if name == "error":
            assert value["error"]["exit"] == code, arguments
