"""Commands that compare: two fields with each other (diff), an archive with what was promised (verify)."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..containers import Limits
from ..errors import ArchiveError, UsageError
from ..field import Field
from .common import AllowOption, JsonOption, command_group, print_json, tell_notes
from .options import PlainCommand
from .progress import progress_bar
from .render import cells, clipped, contents, escaped, is_terminal, plural, say, size, styled, width

if TYPE_CHECKING:
    from ..archives.diff import Diff, FileChange, FileStat, KeyChange
    from ..archives.verify import Verified

app = command_group()

EXPECTED_WIDTH = 120
"""Columns of a line with a value in it where output goes elsewhere."""
STAT_WIDTH = 80
"""Columns of a line of --stat where output goes elsewhere; the name is then never cut."""
_COLOURS = {"added": 32, "removed": 31, "changed": 33, "renamed": 36}


@app.command(cls=PlainCommand)
def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A field: a folder or a .memoryfield.zip.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The field that it is compared with.")],
    patch: Annotated[bool, typer.Option("--patch", "-p", help="Show the text that differs, as a patch.")] = False,
    stat: Annotated[bool, typer.Option("--stat", help="Count the lines that differ.")] = False,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what became of A in B: pages and other files added, removed, changed, renamed; exit 1 if any.

    A page keeps its identity under a new name if its uuid or its bytes are the same. Indexes are not
    compared. The patch makes the text of B out of a copy of A: `patch -p1` and `git apply` take it.

    \b
    Example:
      $ memoryfield diff notes.memoryfield.zip notes
      $ memoryfield diff -p notes.memoryfield.zip notes
    """
    if patch + stat + as_json > 1:
        raise UsageError("--patch, --stat and --json are three forms", hint="Choose one.")
    from ..archives.diff import diff as compare

    limits = Limits.read(allow or ())
    with _opened(a, limits) as field_a, _opened(b, limits) as field_b:
        with _readable(), progress_bar("comparing", at_once=False) as progress:
            found = compare(field_a, field_b, progress=progress)
        if as_json:
            print_json(found.to_dict())
        elif patch:
            print_patch(found)
        elif stat:
            _print_stat(list(found.stat()))
        else:
            print_changes(found)
    if not as_json:
        _say_what_was_compared(found, a, b)
    raise typer.Exit(int(not found.is_same))


@app.command(cls=PlainCommand)
def verify(
    archive: Annotated[str, typer.Argument(metavar="FILE", help="The .memoryfield.zip.")],
    sha256: Annotated[str, typer.Option("--sha256", metavar="HEX", help="The sha256 that was promised.")] = "",
    sidecar: Annotated[bool, typer.Option("--sidecar", help="Take it from FILE.sha256 beside the archive.")] = False,
    allow: AllowOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at all of an archive before it is used: is it the one that was promised, whole, and sound.

    Its sha256, whether it is safe to open, each entry, what the format says pages MUST keep, and that
    each row of each index is of its page. Exit 1 for faults, 3 for another archive than the one that
    was promised, and for one that must not be opened. That the vectors are those of the text is not
    checked.

    \b
    Example:
      $ memoryfield verify notes.memoryfield.zip
    """
    from ..archives.verify import verify as look_at

    with progress_bar("verifying", at_once=False) as progress:
        found = look_at(archive, sha256=sha256, sidecar=sidecar, limits=Limits.read(allow or ()), progress=progress)
    if as_json:
        print_json(found.to_dict())
    else:
        _print_verified(found)
    raise typer.Exit(int(not found.holds))


def _print_verified(found: "Verified") -> None:
    for finding in found.findings:
        kind = styled(f"error {finding.requirement}", 31)
        print(f"{styled(escaped(finding.place), 1)}: {kind}: {escaped(finding.message)}")
    for check in found.checks:
        mark = styled("ok", 32) if check.holds else styled("FAULTS", 31)
        print(f"{mark} {escaped(check.what)}: {escaped(check.detail)}")
    held = contents(found.pages, found.attachments, len(found.indexes))
    print(f"{escaped(str(found.path))}: {held}, {size(found.bytes)}")
    print(f"sha256 {found.sha256}")
    print(f"content {found.content_hash}" if found.content_hash else "no content hash: not all could be read")
    if not found.holds:
        say(plural(len(found.findings), "fault"))
    elif not found.promise:
        say("note: nothing was promised: compare the sha256 with that of whoever sent it, or give it with --sha256")


def _opened(location: str, limits: Limits) -> Field:
    """A field to be compared."""
    if not location:
        raise UsageError("a field's location is empty", hint="Is a variable not set?")
    with _readable(location):
        opened = Field.open(location, limits)
    tell_notes(opened.container)
    return opened


@contextmanager
def _readable(location: str = "") -> Iterator[None]:
    """A field that cannot be read is wrong usage: exit 1 says that two fields differ."""
    try:
        yield
    except ArchiveError as error:
        raise UsageError(error.message, hint=error.hint) from error
    except OSError as error:
        raise UsageError(f"{location or error.filename}: {error.strerror or error}") from error


def print_changes(found: "Diff") -> None:
    """A line for each file that differs, and below it how."""
    for change in found.changes:
        print(f"{styled(change.kind, _COLOURS[change.kind])} {_name_of(change)}")
        for line in _details(change):
            print("    " + clipped(line, (width() or EXPECTED_WIDTH) - 4))


def _details(change: "FileChange") -> Iterator[str]:
    """How a page differs, a line for each key."""
    for key in change.keys:
        yield f"{escaped(key.key)} {key.kind}: {_values(key)}"
    if change.body:
        yield "text changed"
    elif change.kind == "renamed" and change.is_edited and not change.is_page:
        yield "content changed"
    yield from map(escaped, change.notes)


def _values(key: "KeyChange") -> str:
    if key.kind == "changed":
        return f"{_shown(key.old)} → {_shown(key.new)}"
    return _shown(key.new if key.kind == "added" else key.old)


def _shown(value: Any) -> str:
    return escaped(json.dumps(value, ensure_ascii=False))


def print_patch(found: "Diff") -> None:
    """The text that differs."""
    for line in found.patch():
        if is_terminal():
            print(_for_the_eye(line))
        else:  # byte for byte, whatever the system's encoding and line ends are
            sys.stdout.buffer.write(line.encode("utf-8"))


def _for_the_eye(line: str) -> str:
    """A line of a patch on a terminal, coloured; nothing in it is obeyed, and tabs stay."""
    colour = {"+": (32,), "-": (31,), "@": (36,)}.get(line[0], ())
    return styled("\t".join(map(escaped, line.removesuffix("\n").split("\t"))), *colour)


def _print_stat(stats: "list[FileStat]") -> None:
    """A line for each file as `git diff --stat` has it, and a sum."""
    columns = width()
    names = [_name_of(one.change) for one in stats]
    numbers = ["-" if one.added is None else f"{one.added + (one.removed or 0):,}" for one in stats]
    digits = max(map(len, numbers), default=0)
    room = max(map(cells, names), default=0)
    if columns:
        room = min(room, max(8, columns - digits - 14))
    bar = max(4, (columns or STAT_WIDTH) - room - digits - 5)
    most = max(((one.added or 0) + (one.removed or 0) for one in stats), default=0)
    for one, name, number in zip(stats, names, numbers, strict=True):
        shown = clipped(name, room)
        print(f" {shown}{' ' * (room - cells(shown))} | {number:>{digits}} {_bar(one, most, bar)}".rstrip())
    added, removed = sum(one.added or 0 for one in stats), sum(one.removed or 0 for one in stats)
    if stats:
        counts = f"{plural(added, 'line')} added, {plural(removed, 'line')} removed"
        print(f" {plural(len(stats), 'file')} changed, {counts}")


def _name_of(change: "FileChange") -> str:
    name = escaped(change.name)
    return f"{escaped(change.old_name)} → {name}" if change.kind == "renamed" else name


def _bar(one: "FileStat", most: int, columns: int) -> str:
    """Plus and minus for the lines of a file; where one stands for many, there is at least one of each kind."""
    if one.added is None:
        return "no text"
    scale = min(1.0, (columns - 1) / most) if most else 1.0  # one for rounding up
    plus, minus = (max(bool(lines), int(lines * scale)) for lines in (one.added, one.removed or 0))
    return styled("+" * plus, 32) + styled("-" * minus, 31)


def _say_what_was_compared(found: "Diff", a: str, b: str) -> None:
    for one in found.unread:
        say(f"error: {one.name} in {a if one.side == 'a' else b} cannot be read: {one.reason}")
    if found.is_same:
        say(f"no difference: content {found.a.content_hash}")
        return
    for location, side in ((a, found.a), (b, found.b)):
        say(f"{location}: content {side.content_hash or 'not known'}")
    if counts := [*_counts(found, "page"), *_counts(found, "other file")]:
        say(", ".join(counts))


def _counts(found: "Diff", word: str) -> Iterator[str]:
    from ..archives.diff import KINDS

    for kind in KINDS:
        if count := len(found.pages(kind) if word == "page" else found.attachments(kind)):
            yield f"{plural(count, word)} {kind}"
