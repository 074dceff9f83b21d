"""The skill: SKILL.md teaches an agent to use a field; it is put where harnesses look for skills, and taken away again.

A file of ours is known by its stamp, a hash of the rest of it in its frontmatter: one that somebody
edited, or that is not ours at all, is never written and never removed.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from ..containers.directory import DirectoryContainer
from ..errors import MemoryfieldError, RefusedError, reason_of
from .harnesses import HARNESSES, SCOPES, SHARED, Harness, named, project_root, used

NAME = "memoryfield"
"""The skill's name, which is that of its folder."""
FILE = "SKILL.md"

_STAMP = re.compile(rb'^  memoryfield-skill: "([0-9a-f]*)"$', re.MULTILINE)


class State(StrEnum):
    """What lies in the place of a skill."""

    CURRENT = "current"
    OLD = "old version"
    EDITED = "edited"
    FOREIGN = "not ours"
    ABSENT = "not there"


class Placed(NamedTuple):
    """One file that was to be written or removed, whose it is, and what came of it."""

    agents: list[str]
    path: Path
    result: str
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"agents": self.agents, "path": str(self.path), "result": self.result, "reason": self.reason}


class Report(NamedTuple):
    """What was done in each place, and in plain words what is to be known of the choice."""

    scope: str
    places: list[Placed]
    notes: list[str]

    @property
    def exit_code(self) -> int:
        """3 if a place was refused, 1 if one failed, or nothing was there to remove."""
        results = {placed.result for placed in self.places}
        if "refused" in results:
            return RefusedError.exit_code
        return 1 if "failed" in results or results <= {State.ABSENT.value} else 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"scope": self.scope, "places": [placed.to_dict() for placed in self.places], "notes": self.notes}


class Found(NamedTuple):
    """What one harness finds, in a project or for the user."""

    agent: str
    scope: str
    path: Path
    state: State

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"agent": self.agent, "scope": self.scope, "path": str(self.path), "state": self.state.value}


def content() -> bytes:
    """The skill's file, as it is installed: with LF, whatever a checkout made of its line ends."""
    return _with_lf(Path(__file__).with_name(FILE).read_bytes())


def stamped(text: bytes) -> bytes:
    """A skill's file with the stamp that it must have."""
    return _STAMP.sub(b'  memoryfield-skill: "' + _hash(text) + b'"', text, count=1)


def install(agents: Sequence[str] = (), scope: str = "user", start: Path | None = None) -> Report:
    """Put the skill where harnesses look for it. What is there and current stays as it is.

    Args:
        agents: names of harnesses; without any, those that are used here, else the folder that most read.
        scope: "project", the repository that `start` (else the current folder) lies in; or "user".

    Raises:
        UsageError: a name is not known, or there is no home folder.
    """
    root = project_root(start or Path())
    chosen, notes = (named(agents, HARNESSES), []) if agents else _chosen(scope, root)
    return Report(scope, _each(chosen, scope, root, _write), notes)


def uninstall(agents: Sequence[str] = (), scope: str = "user", start: Path | None = None) -> Report:
    """Remove the skill, and the folder `memoryfield` if nothing else is in it; without names, of all harnesses.

    Raises:
        UsageError: a name is not known, or there is no home folder.
    """
    root = project_root(start or Path())
    chosen = named(agents, HARNESSES) if agents else HARNESSES
    placed = _each(chosen, scope, root, _remove)
    if not agents:
        placed = [one for one in placed if one.result != State.ABSENT]
    return Report(scope, placed, [] if placed else ["it is not installed"])


def status(start: Path | None = None, scopes: Sequence[str] = SCOPES) -> list[Found]:
    """What each harness finds in the project, and of the user's: in its own folder, else in the shared one.

    In the home folder, which is no project of its own, the user's alone, unless only the project's is asked for.
    """
    root = project_root(start or Path())
    scopes = scopes[-1:] if root == Path(os.path.expanduser("~")) else scopes  # noqa: PTH111 (no home: no error)
    return [_found(harness, scope, root) for harness in HARNESSES for scope in scopes]


def _chosen(scope: str, root: Path) -> tuple[list[Harness], list[str]]:
    """The harnesses to install for, and what is said about that.

    One that reads the shared folder needs no second file, if the skill goes there anyway.
    """
    known = {harness.name: harness for harness in HARNESSES}
    here = used(scope, root)
    if not here:
        return [known["agents"]], [
            f"no agent was found here; most read {SHARED}. --agent names one: {', '.join(known)}"
        ]
    notes = [f"found here: {', '.join(harness.title for harness in here)}; --agent chooses others"]
    if not any(harness.project == SHARED for harness in here):
        return here, notes
    also = [harness for harness in here if _is_served(harness, scope, root)]
    if also:
        notes.append(f"{', '.join(harness.title for harness in also)}: also read {SHARED}")
    return [harness for harness in here if harness not in also], notes


def _is_served(harness: Harness, scope: str, root: Path) -> bool:
    """Whether the shared folder is enough: it is read, and no file in the harness's own needs to be kept current."""
    own = _file(harness, scope, root)
    return harness.reads_shared and harness.project != SHARED and _state(own) == State.ABSENT


def _found(harness: Harness, scope: str, root: Path) -> Found:
    own = _file(harness, scope, root)
    state = _state(own)
    if state == State.ABSENT and harness.reads_shared:
        shared = _file(HARNESSES[-1], scope, root)
        if (other := _state(shared)) != State.ABSENT:
            return Found(harness.name, scope, shared, other)
    return Found(harness.name, scope, own, state)


def _file(harness: Harness, scope: str, root: Path) -> Path:
    return harness.folder(scope, root) / NAME / FILE


def _each(
    harnesses: Sequence[Harness], scope: str, root: Path, change: Callable[[Path], tuple[str, str]]
) -> list[Placed]:
    """Change each file once, whatever links lead to it; what goes wrong in one place does not stop the others."""
    files: dict[str, tuple[Path, list[str]]] = {}
    for harness in harnesses:
        file = _file(harness, scope, root)
        real = os.path.realpath(file.parent)
        files.setdefault(real, (file, []))[1].append(harness.name)
    return [Placed(agents, file, *_tried(change, file)) for file, agents in files.values()]


def _tried(change: Callable[[Path], tuple[str, str]], file: Path) -> tuple[str, str]:
    """What came of a change, and why."""
    try:
        return change(file)
    except RefusedError as error:
        return "refused", str(error)
    except MemoryfieldError as error:
        return "failed", str(error)
    except OSError as error:
        return "failed", reason_of(error)


def _write(file: Path) -> tuple[str, str]:
    state = _state(file)
    if state == State.CURRENT:
        return "unchanged", ""
    _check_ours(state)
    folder = Path(os.path.realpath(file.parent))
    folder.mkdir(parents=True, exist_ok=True)
    DirectoryContainer(folder).write(FILE, content())
    return ("updated" if state == State.OLD else "installed"), ""


def _remove(file: Path) -> tuple[str, str]:
    state = _state(file)
    if state == State.ABSENT:
        return State.ABSENT.value, ""
    _check_ours(state)
    if file.is_symlink():
        raise RefusedError("it is a link that somebody else made", hint="Remove it yourself.")
    file.unlink()
    if not file.parent.is_symlink():  # else somebody made the link, and the folder
        with suppress(OSError):  # something else is in it
            file.parent.rmdir()
    return "removed", ""


def _check_ours(state: State) -> None:
    """Refuse what would lose somebody's text."""
    if state == State.EDITED:
        raise RefusedError("it was edited since it was installed", hint="Move it away or delete it, then try again.")
    if state == State.FOREIGN:
        raise RefusedError("another file is there, which is not ours", hint="Move it away, then try again.")


def _state(file: Path) -> State:
    """What lies there. Line ends do not count: git changes them on the way."""
    if file.exists() and not file.is_file():  # a pipe would keep its reader waiting
        return State.FOREIGN
    try:
        text = _with_lf(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return State.FOREIGN if file.is_symlink() else State.ABSENT
    except OSError:
        return State.FOREIGN
    if text == content():
        return State.CURRENT
    stamp = _STAMP.search(text)
    if stamp is None or file.is_symlink():
        return State.FOREIGN
    return State.OLD if stamp[1] == _hash(text) else State.EDITED


def _with_lf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n")


def _hash(text: bytes) -> bytes:
    """The first twelve hexadecimal digits of a text's sha256, counted without its stamp."""
    rest = _STAMP.sub(b'  memoryfield-skill: ""', text, count=1)
    return hashlib.sha256(rest).hexdigest()[:12].encode("ascii")
