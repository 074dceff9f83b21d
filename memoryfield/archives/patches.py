"""A unified diff of two texts in the form that `git apply` and `patch -p1` take, and what it counts to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

MAX_COMPARED = 20_000_000
"""Lines of one text times lines of the other: what is more is replaced as a whole, for comparing takes too long."""
CONTEXT = 3
_NOTHING = "e69de29"
"""How git names an empty file."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")

Opcode = tuple[str, int, int, int, int]


class _Known(SequenceMatcher[str]):
    """Groups opcodes that are known already."""

    def __init__(self, opcodes: list[Opcode]) -> None:
        super().__init__(None, "", "")
        self._known = opcodes

    def get_opcodes(self) -> list[Opcode]:  # type: ignore[override]
        return self._known


def text_of(raw: bytes) -> str | None:
    """The text of a file, byte order mark and line ends as they are; None if it is binary, or not UTF-8."""
    if b"\0" in raw:
        return None
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def count(before: bytes | None, after: bytes | None) -> tuple[int, int] | None:
    """How many lines are added and removed; None if one of the two is no text. None stands for no file."""
    old, new = text_of(before or b""), text_of(after or b"")
    if old is None or new is None:
        return None
    added = removed = 0
    for kind, start, end, new_start, new_end in _opcodes(_lines(old), _lines(new)):
        if kind != "equal":
            removed += end - start
            added += new_end - new_start
    return added, removed


def patch(old_name: str, new_name: str, before: bytes | None, after: bytes | None) -> Iterator[str]:
    """The patch of one file, line by line, each with its end. None stands for no file on that side.

    Where one side is no text, a single line says that they differ: programs that apply patches pass over it.
    """
    a, b = _quoted(f"a/{old_name}"), _quoted(f"b/{new_name}")
    old, new = text_of(before or b""), text_of(after or b"")
    if (old is None or new is None) and before != after:
        a, b = a if before is not None else "/dev/null", b if after is not None else "/dev/null"
        yield f"Binary files {a} and {b} differ\n"
        return
    yield f"diff --git {a} {b}\n"
    if before is None:
        yield "new file mode 100644\n"
    elif after is None:
        yield "deleted file mode 100644\n"
        if not before:
            yield f"index {_NOTHING}..0000000\n"  # else `patch` asks whether it is meant
    elif old_name != new_name:
        yield from _renaming(old_name, new_name, is_same=before == after)
    if old != new and old is not None and new is not None:
        yield f"--- {'/dev/null' if before is None else _ended(a)}\n"
        yield f"+++ {'/dev/null' if after is None else _ended(b)}\n"
        yield from _hunks(_lines(old), _lines(new))


def _renaming(old_name: str, new_name: str, *, is_same: bool) -> Iterator[str]:
    if is_same:
        yield "similarity index 100%\n"
    yield f"rename from {_quoted(old_name)}\n"
    yield f"rename to {_quoted(new_name)}\n"


def _quoted(name: str) -> str:
    """A name as git writes it: in quotes if there are some in it."""
    return '"' + name.replace('"', '\\"') + '"' if '"' in name else name


def _ended(name: str) -> str:
    """A name with a space in it ends with a tab, or `patch` would take the space for its end."""
    return f"{name}\t" if " " in name and not name.startswith('"') else name


def _hunks(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    for group in _Known(_opcodes(old, new)).get_grouped_opcodes(CONTEXT):
        yield f"@@ -{_range(group[0][1], group[-1][2])} +{_range(group[0][3], group[-1][4])} @@\n"
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                yield from _marked(" ", old[start:end])
                continue
            yield from _marked("-", old[start:end])
            yield from _marked("+", new[new_start:new_end])


def _range(start: int, end: int) -> str:
    """Lines as a hunk's head counts them: from 1; of none, the line before."""
    length = end - start
    beginning = start + 1 if length else start
    return str(beginning) if length == 1 else f"{beginning},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if line.endswith("\n"):
            yield f"{mark}{line}"
        else:
            yield f"{mark}{line}\n"
            yield "\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends; nothing but LF ends one here."""
    return _LINE.findall(text)


def _opcodes(old: Sequence[str], new: Sequence[str]) -> list[Opcode]:
    """How one becomes the other, as `SequenceMatcher` says it; what both begin and end with is not compared."""
    shorter = min(len(old), len(new))
    head = next((place for place in range(shorter) if old[place] != new[place]), shorter)
    room = shorter - head
    tail = next((place for place in range(room) if old[-1 - place] != new[-1 - place]), room)
    end, new_end = len(old) - tail, len(new) - tail
    found: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    if (end - head) * (new_end - head) > MAX_COMPARED:
        found.append(("replace", head, end, head, new_end))
    elif end > head or new_end > head:
        matcher = SequenceMatcher(None, old[head:end], new[head:new_end])
        found += [
            (kind, start + head, stop + head, new_start + head, new_stop + head)
            for kind, start, stop, new_start, new_stop in matcher.get_opcodes()
        ]
    if tail:
        found.append(("equal", end, len(old), new_end, len(new)))
    return found
