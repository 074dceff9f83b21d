"""Changes single values in JSON that may hold comments and trailing commas; every other byte stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import RefusedError

DEEPEST = 200
"""Of objects and arrays within each other; deeper ones are refused."""

_BLANK = re.compile(r"(?:[ \t\r\n]|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_PLAIN = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.+-])")


class BrokenJsonError(RefusedError):
    """A text that is no JSON, not even with comments. `line` and `column` begin with 1."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.line = text.count("\n", 0, position) + 1
        self.column = position - (text.rfind("\n", 0, position) + 1) + 1
        super().__init__(f"{self.line}:{self.column}: {message}")


class _Node(NamedTuple):
    """A value from `start` to `end`; of an object, its members, and whether a comma follows the last."""

    start: int
    end: int
    members: list[_Member] | None = None
    items: list[_Node] | None = None


class _Member(NamedTuple):
    name: str
    start: int
    value: _Node
    comma: int | None
    """Where the comma after it stands, if there is one."""


class _Parser:
    """Where everything stands in a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 1 if text.startswith("\ufeff") else 0

    def document(self) -> _Node:
        self._skip()
        root = self._value(0)
        self._skip()
        if self.place < len(self.text):
            raise self._broken("something follows the end")
        return root

    def _broken(self, message: str) -> BrokenJsonError:
        return BrokenJsonError(message, self.text, self.place)

    def _skip(self) -> None:
        blank = _BLANK.match(self.text, self.place)
        assert blank
        self.place = blank.end()

    def _is(self, character: str) -> bool:
        return self.text.startswith(character, self.place)

    def _value(self, depth: int) -> _Node:
        if depth > DEEPEST:
            raise self._broken("this is nested too deeply")
        if self._is("{"):
            return self._object(depth)
        if self._is("["):
            return self._array(depth)
        return self._token(_STRING if self._is('"') else _PLAIN, "a value should stand here")

    def _token(self, pattern: re.Pattern[str], otherwise: str) -> _Node:
        found = pattern.match(self.text, self.place)
        if not found:
            raise self._broken(otherwise)
        self.place = found.end()
        return _Node(found.start(), found.end())

    def _object(self, depth: int) -> _Node:
        start, members = self.place, list[_Member]()
        self.place += 1
        self._skip()
        while not self._is("}"):
            if members and members[-1].comma is None:
                raise self._broken("a comma or } should stand here")
            key = self._token(_STRING, "a name in double quotes, or }, should stand here")
            self._skip()
            if not self._is(":"):
                raise self._broken("a colon should stand here")
            self.place += 1
            self._skip()
            value = self._value(depth + 1)
            comma = self._comma()
            members.append(_Member(json.loads(self.text[key.start : key.end]), key.start, value, comma))
        self.place += 1
        return _Node(start, self.place, members=members)

    def _array(self, depth: int) -> _Node:
        start, items, comma = self.place, list[_Node](), 0
        self.place += 1
        self._skip()
        while not self._is("]"):
            if comma is None:
                raise self._broken("a comma or ] should stand here")
            items.append(self._value(depth + 1))
            comma = self._comma()  # type: ignore[assignment]
        self.place += 1
        return _Node(start, self.place, items=items)

    def _comma(self) -> int | None:
        self._skip()
        if not self._is(","):
            return None
        place = self.place
        self.place += 1
        self._skip()
        return place


def get(text: str, path: Sequence[str]) -> Any:
    """The value at a path of names; None where there is none.

    Raises:
        BrokenJsonError: the text is no JSON.
        RefusedError: something on the way is no object, or stands twice.
    """
    if not _has_something(text):
        return None
    if not path:
        return _read(text, _Parser(text).document())
    found = _found(text, path)
    return None if found is None else _read(text, found[1].value)


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with a value at a path; objects that are missing on the way are made.

    Raises:
        BrokenJsonError: the text is no JSON.
        RefusedError: something on the way is no object, or stands twice.
    """
    if not _has_something(text):
        text = f"{text[:1] if text.startswith(chr(0xFEFF)) else ''}{{}}\n"
    root = node = _Parser(text).document()
    for depth, name in enumerate(path):
        member = _member(node, path, depth)
        if member is None:
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            return _inserted(text, root, node, name, value)
        node = member.value
    if _same(_read(text, node), value):
        return text
    return text[: node.start] + _written(text, root, value, _indent_at(text, node.start)) + text[node.end :]


def remove(text: str, path: Sequence[str]) -> str:
    """The text without what stands at a path, and without the objects on the way that become empty by that.

    Raises:
        BrokenJsonError: the text is no JSON.
        RefusedError: something on the way is no object, or stands twice.
    """
    if not _has_something(text):
        return text
    while path and (found := _found(text, path)) is not None:
        text = _without(text, *found)
        path = path[:-1]
        left = _found(text, path) if path else None
        if left is None or text[left[1].value.start + 1 : left[1].value.end - 1].strip():
            break
    return text


def _has_something(text: str) -> bool:
    return bool(text.strip("\ufeff \t\r\n"))


def _found(text: str, path: Sequence[str]) -> tuple[_Node, _Member] | None:
    """The member at a path, and the object that it is in."""
    node = _Parser(text).document()
    for depth in range(len(path)):
        member = _member(node, path, depth)
        if member is None:
            return None
        if depth == len(path) - 1:
            return node, member
        node = member.value
    return None


def _member(node: _Node, path: Sequence[str], depth: int) -> _Member | None:
    """The member of an object that a path leads to."""
    if node.members is None:
        raise RefusedError(f"{'.'.join(path[:depth]) or 'the whole'} is no object")
    found = [member for member in node.members if member.name == path[depth]]
    if len(found) > 1:
        raise RefusedError(f"{'.'.join(path[: depth + 1])} stands twice")
    return found[0] if found else None


def _read(text: str, node: _Node) -> Any:
    if node.members is not None:
        return {member.name: _read(text, member.value) for member in node.members}
    if node.items is not None:
        return [_read(text, item) for item in node.items]
    try:
        return json.loads(text[node.start : node.end])
    except ValueError as error:  # a number that is too long for Python
        raise RefusedError(str(error)) from None


def _same(one: Any, other: Any) -> bool:
    return json.dumps(one) == json.dumps(other)  # 1 is not true here


def _inserted(text: str, root: _Node, owner: _Node, name: str, value: Any) -> str:
    """With a member after an object's last."""
    members = owner.members or []
    newline, unit = _newline(text), _unit(text, root)
    end = owner.end - 1
    inside_end = owner.start + 1 + len(text[owner.start + 1 : end].rstrip(" \t\r\n"))
    has_lines = "\n" in text[owner.start : end] or not text[owner.start + 1 : end].strip()
    outer = _indent_at(text, owner.start)
    indent = _indent_at(text, members[0].start) if members and has_lines else outer + unit
    written = f"{json.dumps(name, ensure_ascii=False)}: {_written(text, root, value, indent, has_lines)}"
    if members and members[-1].comma is not None:
        written += ","  # as the last one had it
    lead = newline + indent if has_lines else " "
    tail = text[inside_end:]
    if not members and has_lines and "\n" not in text[inside_end:end]:
        tail = newline + outer + text[end:]
    text = text[:inside_end] + lead + written + tail
    if members and members[-1].comma is None:
        place = members[-1].value.end
        text = text[:place] + "," + text[place:]
    return text


def _without(text: str, owner: _Node, member: _Member) -> str:
    members = owner.members or []
    place = members.index(member)
    end = member.value.end if member.comma is None else member.comma + 1
    start = len(text[: member.start].rstrip(" \t\r\n"))
    if len(members) == 1 and not (text[owner.start + 1 : start] + text[end : owner.end - 1]).strip():
        return text[: owner.start] + "{}" + text[owner.end :]
    kept = text[:start] + text[end:]
    if member.comma is None and place and (comma := members[place - 1].comma) is not None:
        kept = kept[:comma] + kept[comma + 1 :]
    return kept


def _written(text: str, root: _Node, value: Any, indent: str, has_lines: bool = True) -> str:
    if not has_lines:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text, root)).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str, root: _Node) -> str:
    """By what the text is indented."""
    first = root.members[0].start if root.members else 0
    return (_indent_at(text, first) if "\n" in text[root.start : first] else "") or "  "


def _indent_at(text: str, place: int) -> str:
    """What the line of a place begins with."""
    line = text[text.rfind("\n", 0, place) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]
