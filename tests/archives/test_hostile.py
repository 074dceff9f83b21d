"""Every hostile archive of the vectors, against every command that opens archives: refused, and nothing is written."""

from __future__ import annotations

import hashlib
import json
import pkgutil
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import memoryfield as package
from memoryfield import Field
from memoryfield.cli.main import COMMANDS

from ..cli.support import PANS, Run, forked, forked_in_turn, memoryfield, write_page
from ..conftest import VECTORS

ARCHIVE, FIELD, ANOTHER = "hostile.memoryfield.zip", "kitchen", "pantry"
"""What lies in the folder in which the commands are run: the archive, and two fields of one page."""

OPENING: dict[str, list[list[str]]] = {
    "write": [["write", "new.md", "-f", ARCHIVE]],
    "read": [["read", "green-tea", "-f", ARCHIVE]],
    "list": [["list", "-f", ARCHIVE]],
    "edit": [["edit", "green-tea", "-f", ARCHIVE]],
    "split": [["split", "green-tea", "-f", ARCHIVE]],
    "rename": [["rename", "green-tea", "tea", "-f", ARCHIVE]],
    "delete": [["delete", "green-tea", "--yes", "-f", ARCHIVE]],
    "info": [["info", "-f", ARCHIVE]],
    "embed": [["embed", "-f", ARCHIVE]],
    "search": [["search", "tea", "-f", ARCHIVE]],
    "similar": [["similar", "green-tea", "-f", ARCHIVE]],
    "validate": [["validate", "-f", ARCHIVE]],
    "pack": [["pack", "-f", ARCHIVE, "-o", "copy.memoryfield.zip"]],
    "unpack": [["unpack", ARCHIVE, "copy"], ["unpack", ARCHIVE, "--into", FIELD]],
    "verify": [["verify", ARCHIVE]],
    "diff": [["diff", ARCHIVE, FIELD], ["diff", FIELD, ARCHIVE]],
    "merge": [["merge", ARCHIVE, "-f", FIELD], ["merge", ANOTHER, "-f", FIELD, "--base", ARCHIVE]],
    "add": [["add", "stranger", ARCHIVE]],
    "mcp": [["mcp", "install", "--agent", "cursor", "-f", ARCHIVE]],
    "import": [["import", ANOTHER, "-f", ARCHIVE]],
    "export": [["export", "copy", "--to", "markdown", "-f", ARCHIVE], ["export", "-", "--to", "jsonl", "-f", ARCHIVE]],
}
"""How each command is given the archive."""

NOT_OPENING = {
    "schema": "it tells about commands",
    "skill": "it knows no field",
    "create": "it makes a folder",
    "models": "it knows no field",
    "fields": "what it lists came in by `add`",
    "remove": "it forgets a name",
    "update": "it is given a name that came in by `add`",
}

REASONS = {
    "A-4": "encrypted",
    "A-5": "twice",
    "A-13": "limit",
    "A-14": "control character|regular|special|link|file|folder",
    "S-1": "has a name that",
}
"""What is said of an archive that breaks these; A-12 has many words."""


class Case(NamedTuple):
    """A hostile archive: its name among the vectors, and what is expected."""

    name: str
    expect: dict[str, Any]

    @property
    def reasons(self) -> list[tuple[str, str]]:
        """Requirement and entry of all for which it may be refused."""
        found = [(one["requirement"], one["filename"]) for one in self.expect["faults"]]
        return [one for one in found if one[0] in REASONS or one[0] == "A-12"]

    @property
    def is_error(self) -> bool:
        return any(one["severity"] == "error" for one in self.expect["faults"])


def cases() -> Iterator[Case]:
    for file in sorted(VECTORS.glob("invalid/*/expect.json")):
        yield Case(file.parent.name, json.loads(file.read_text(encoding="utf-8")))


REFUSED = [case for case in cases() if "refused" in case.expect]
LIARS = [case for case in cases() if case.name.startswith("a-1-") and "S-14" in case.expect.get("keeps", [])]
BOMBS = [case for case in REFUSED if "A-13" in case.expect["breaks"]]


def ids(case: Case) -> str:
    return case.name


@pytest.fixture(scope="module", autouse=True)
def loaded(made: Path) -> None:
    """All that commands load while they run is there before they are forked a thousand times."""
    for module in pkgutil.walk_packages(package.__path__, "memoryfield."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    with Field.open(made / "valid" / "a-1-stored" / "field.memoryfield.zip") as field:
        field.validate()
        field.search("tea", mode="keyword")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder to run commands in, and beside it all the places where programs keep things."""
    for name in ("here", "cache", "home", "tmp"):
        (tmp_path / name).mkdir()
    for name in (FIELD, ANOTHER):
        (tmp_path / "here" / name).mkdir()
        write_page(tmp_path / "here" / name, "pans.md", PANS)
    return tmp_path


def bring(made: Path, case: Case, place: Path) -> None:
    """Put a case's archive into the folder in which commands are run."""
    shutil.copy(made / "invalid" / case.name / "field.memoryfield.zip", place / "here" / ARCHIVE)


def surroundings(place: Path) -> dict[str, str]:
    """An environment in which nothing is kept elsewhere."""
    home = str(place / "home")
    names = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(place / "tmp"))
    editor = f"{sys.executable} -c pass"
    cache = str(place / "cache")
    return {**dict.fromkeys(names, home), **temporary, "MEMORYFIELD_CACHE": cache, "EDITOR": editor, "VISUAL": editor}


def tree(place: Path) -> dict[str, tuple[int, str]]:
    """Every file and folder, with the time of its last change and what it holds."""
    found = {}
    for path in sorted(place.rglob("*")):
        status = path.stat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and status.st_size < SMALL else ""
        found[str(path.relative_to(place))] = (status.st_mtime_ns, content)
    return found


SMALL = 1 << 20
"""Of larger files, the archives themselves, the time is enough."""


def run(place: Path, arguments: list[str], how: Callable[..., Run] = forked) -> Run:
    return how(*arguments, cwd=place / "here", stdin="A page.\n", env=surroundings(place))


def invocations() -> list[list[str]]:
    """Each way to give the archive to a command that there is."""
    return [arguments for command, ways in OPENING.items() if command in COMMANDS for arguments in ways]


def test_every_command_that_opens_archives_is_tried() -> None:
    assert COMMANDS.keys() <= OPENING.keys() | NOT_OPENING.keys()
    assert not OPENING.keys() & NOT_OPENING.keys()
    for command, ways in OPENING.items():
        assert all(way[0] == command and ARCHIVE in way for way in ways)


def test_there_are_enough_hostile_archives() -> None:
    assert len(REFUSED) >= 40
    broken = {requirement for case in REFUSED for requirement, _ in case.reasons}
    assert broken == {"A-4", "A-5", "A-12", "A-13", "A-14", "S-1"}


@pytest.mark.parametrize("arguments", invocations(), ids=" ".join)
def test_a_sound_archive_is_not_refused(made: Path, arguments: list[str], place: Path) -> None:
    """Else the others would show nothing."""
    shutil.copy(made / "valid" / "a-1-stored" / "field.memoryfield.zip", place / "here" / ARCHIVE)
    done = run(place, arguments)
    assert done.code in (0, 1) or re.search("archives are read-only|cannot be written", done.err), done.err


@pytest.mark.parametrize("case", REFUSED, ids=ids)
def test_it_is_refused_and_nothing_is_written(made: Path, case: Case, place: Path) -> None:
    bring(made, case, place)
    before = tree(place)
    turns = forked_in_turn(invocations(), place / "here", "A page.\n", surroundings(place), lambda: tree(place))
    for arguments, done, now in turns:
        where = f"{' '.join(arguments)}: {done.code}\n{done.out}{done.err}"
        if arguments[0] == "validate":
            assert done.code == 1 or (done.code == 0 and not case.is_error), where
            assert all(requirement in done.out for requirement, _ in case.reasons), where
        else:
            assert done.code == 3, where
            assert "green tea" not in done.out, where
            assert is_told(case, done.out + done.err), where
        assert not re.search(r"[^\n -~\xa0-\U0010ffff]", done.out + done.err), where
        assert now == before, where


def is_told(case: Case, talk: str) -> bool:
    """Whether a message names one of the entries for which the archive may be refused, and that reason."""
    return any(
        repr(name)[1:-1].replace("\\\\", "\\") in talk.replace("\\\\", "\\")
        and re.search(REASONS.get(requirement, "archive"), talk)
        for requirement, name in case.reasons
    )


@pytest.mark.parametrize("case", LIARS, ids=ids)
def test_an_entry_that_lies_about_itself_harms_nothing_else(made: Path, case: Case, place: Path) -> None:
    bring(made, case, place)
    before = {name: content for name, (_, content) in tree(place).items()}
    assert run(place, ["read", "green-tea", "-f", ARCHIVE]).code == 0
    for arguments in (["read", "seasoning", "-f", ARCHIVE], ["unpack", ARCHIVE, "copy"]):
        done = run(place, arguments)
        assert done.code in (1, 3), done.out
        assert "seasoning.md" in done.err
        assert not done.out
    assert {name: content for name, (_, content) in tree(place).items()} == before


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of memory")
@pytest.mark.parametrize("case", [*BOMBS, *LIARS], ids=ids)
@pytest.mark.parametrize("arguments", [["unpack", ARCHIVE, "copy"], ["validate", "-f", ARCHIVE]], ids=" ".join)
def test_it_takes_little_memory(made: Path, case: Case, arguments: list[str], place: Path) -> None:
    resource = pytest.importorskip("resource")
    bring(made, case, place)

    def limited(*given: str, **more: Any) -> Run:
        return memoryfield(*given, **more, before=lambda: resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM)))

    done = run(place, arguments, limited)
    if arguments[0] == "unpack" and case in BOMBS:
        assert done.code == 3, done.err
    assert done.code in (0, 1, 3), done.err
    assert "memory" not in done.err.lower().replace("memoryfield", "")


ROOM = 256 << 20
"""Bytes of address space: enough for the program, and not for what the bombs hold."""
