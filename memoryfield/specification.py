"""What lies in spec/: its documents, and the JSON Schemas of what is answered, each complete in itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from .errors import MemoryfieldError

_REFERENCE = re.compile(r"(?:(?:\.\./)?(?P<file>[\w-]+)(?:\.schema)?\.json)?(?:#/\$defs/(?P<name>[\w-]+))?")
_SEARCH_RESULT = "search-result"
_ABOUT_THE_FILE = ("$schema", "$defs", "title")


def document(name: str) -> Traversable:
    """A file or folder of spec/: in an installed package beside the modules, in a checkout beside the package.

    Raises:
        MemoryfieldError: it is not there.
    """
    package = files(__package__)
    for place in (package / "spec", package / ".." / "spec"):
        if (found := place / name).is_file() or found.is_dir():
            return found
    raise MemoryfieldError(f"spec/{name} is missing from the installation", hint="Install memoryfield-cli again.")


@cache
def shapes() -> dict[str, Any]:
    """All JSON Schemas of spec/schemas and what they share, by name; what they refer to is `#/$defs/NAME`."""
    found = {_SEARCH_RESULT: document(f"{_SEARCH_RESULT}.schema.json")}
    found |= {file.name.removesuffix(".json"): file for file in document("schemas").iterdir()}
    gathered: dict[str, Any] = {}
    for name in sorted(found):
        schema = json.loads(found[name].read_text(encoding="utf-8"))
        gathered |= _inside(schema.get("$defs", {}))
        if name != "common":
            gathered[name] = _inside({key: value for key, value in schema.items() if key not in _ABOUT_THE_FILE})
    return gathered


def _inside(schema: Any) -> Any:
    """A schema with references that hold where all of them are the `$defs` of one."""
    if isinstance(schema, list):
        return [_inside(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: _inside(value) for key, value in schema.items()}
    if isinstance(reference := inside.get("$ref"), str) and (parts := _REFERENCE.fullmatch(reference)):
        inside["$ref"] = f"#/$defs/{parts['name'] or parts['file']}"
    return inside


def shape(name: str) -> dict[str, Any]:
    """The JSON Schema of what a command answers (or of `error`), with all that it refers to.

    Raises:
        KeyError: no schema has this name.
    """
    found = shapes()[name]
    if found.get("$ref"):
        found = {**shapes()[referred(found)[0]], **{key: value for key, value in found.items() if key != "$ref"}}
    needed = closure(referred(found))
    return {**found, "$defs": needed} if needed else found


def closure(names: Iterable[str]) -> dict[str, Any]:
    """These schemas and all that they refer to, sorted by name."""
    needed: set[str] = set()
    waiting = [*names]
    while waiting:
        if (name := waiting.pop()) not in needed:
            needed.add(name)
            waiting += referred(shapes()[name])
    return {name: shapes()[name] for name in sorted(needed)}


def referred(schema: Any) -> list[str]:
    """The names that a schema refers to."""
    if isinstance(schema, list):
        return [name for part in schema for name in referred(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"].removeprefix("#/$defs/")] if isinstance(schema.get("$ref"), str) else []
    return own + [name for value in schema.values() for name in referred(value)]
