"""Names of fields, kept in memoryfields.toml: which there are, where each leads, and how one is opened.

    [fields.team]
    location = "https://example.com/team.memoryfield.zip"
    sha256 = "…"

The file may be a project's, and come from anywhere with it: what it says is checked before it is followed.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import FieldNotFoundError, HashMismatchError, NamesFileError, RefusedError, UsageError
from ..names import is_field_name
from .base import Container
from .folders import config_folder, is_planted, is_regular
from .limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from .pin import Pin

FILE = "memoryfields.toml"
TABLE = "fields"
MAX_BYTES = 256 << 10
"""A larger file is no list of names."""

_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]+:"  # one letter and a colon are a drive
_USER = r"(?<=://)[^/?#]*@"


class Named(NamedTuple):
    """A field's name, and what the file says of it. With a `problem`, it cannot be used."""

    name: str
    file: Path
    location: str
    sha256: str = ""
    allow: tuple[str, ...] = ()
    problem: str = ""

    @property
    def is_url(self) -> bool:
        """Whether the archive has to be fetched."""
        return is_url(self.location)

    @property
    def path(self) -> Path:
        """The folder or archive on this machine; a relative location begins at the file that names it."""
        return self.file.parent / self.location

    @property
    def shown(self) -> str:
        """The location for people, without what gives access to it."""
        return re.sub(_USER, "", self.location)

    @property
    def pin(self) -> Pin:
        """What the archive must be."""
        from .pin import Pin

        return Pin(self.name, self.sha256)

    def checked(self) -> Named:
        """Itself, if it can be used.

        Raises:
            NamesFileError: its `problem`.
        """
        if self.problem:
            raise NamesFileError(f"{str(self.file)!r}: {self.problem}", hint="Edit the file.")
        return self

    def limits(self, given: Limits = DEFAULT_LIMITS) -> Limits:
        """The limits that were raised for this name, those raised now before them."""
        kept = Limits.read(self.allow)
        pairs = zip(given, DEFAULT_LIMITS, kept, strict=True)
        return Limits(*(now if now != default else own for now, default, own in pairs))


def check_name(name: str) -> str:
    """The name itself.

    Raises:
        UsageError: no field can be called this.
    """
    if not is_field_name(name):
        raise UsageError(
            f"{name!r} cannot be a field's name", hint="Lowercase letters, digits and hyphens, such as team-notes."
        )
    return name


def is_url(location: str) -> bool:
    """Whether a location is on the web."""
    return location.lower().startswith(("http://", "https://"))


def location_fault(location: str) -> str:
    """Why no field may lie there, or nothing."""
    if not location:
        return "is empty"
    if re.search(r"[\x00-\x1f\x7f-\x9f]", location):
        return "contains a control character"
    if re.match(r"[\\/]{2}", location):
        return "is a network path"
    scheme = re.match(_SCHEME, location)
    if scheme and not is_url(location):
        return f"begins with {scheme[0]!r}, and is neither a path nor https"
    if is_url(location) and re.search(_USER, location):
        return "contains a user name or password, which would be kept in the file"
    return ""


def is_sha256(text: str) -> bool:
    """Whether a text is one, in lowercase hexadecimal digits."""
    return re.fullmatch(r"[0-9a-f]{64}", text) is not None


# Finding


def find(location: str | Path) -> Named | None:
    """What a location names, if it is a name. A path that is meant as one has a separator, or is a `Path`.

    The nearest file upwards from the current folder goes before the user's own.

    Raises:
        NamesFileError: a file is no TOML.
        RefusedError: a file was put there by another user.
    """
    if not isinstance(location, str) or not is_field_name(location):
        return None
    for file in (nearest(), own_file()):
        if file and (found := read(file).get(location)):
            return found
    return None


def every() -> list[Named]:
    """Every name that can be used from the current folder: the project's, then the user's own, as they stand there."""
    found: dict[str, Named] = {}
    for file in (nearest(), own_file()):
        for name, named in read(file).items() if file else ():
            found.setdefault(name, named)
    return list(found.values())


def hint_for(name: str) -> str:
    """What to say of a name that is none: the names that are like it, or how to see all; nothing if there are none."""
    import difflib

    known = [named.name for named in every()]
    if close := difflib.get_close_matches(name, known, n=3, cutoff=0.6):
        return f"Did you mean {' or '.join(close)}?"
    return "`memoryfield fields` lists the names." if known else ""


def nearest() -> Path | None:
    """The file of the current folder, or of the nearest folder above it that has one."""
    try:
        folder = Path.cwd()
    except FileNotFoundError:
        return None
    place = str(folder)
    while True:
        file = os.path.join(place, FILE)  # noqa: PTH118 - a search waits for this
        if os.path.lexists(file):
            return Path(file)
        above = os.path.dirname(place)  # noqa: PTH120
        if above == place:
            return None
        place = above


def own_file() -> Path:
    """The user's own file; it need not be there."""
    return config_folder() / FILE


def read(file: Path) -> dict[str, Named]:
    """The names of a file, and what it says of each. Without a file there are none.

    Raises:
        NamesFileError: it cannot be read, or is no TOML.
        RefusedError: another user put it there.
    """
    raw = content(file)
    if not raw:
        return {}
    table = parsed(file, raw).get(TABLE, {})
    if not isinstance(table, dict):
        raise NamesFileError(f"{str(file)!r}: {TABLE} must be a table, such as [{TABLE}.notes]", hint="Edit the file.")
    return {name: _named(name, file, entry) for name, entry in table.items()}


def content(file: Path) -> bytes:
    """A file's bytes; none if there is no file.

    Raises:
        NamesFileError: it cannot be read, or is too large.
        RefusedError: another user put it there.
    """
    try:
        with open(file, "rb", opener=_open) as opened:  # Path.open takes no opener
            found = os.fstat(opened.fileno())
            if not is_regular(found):
                raise NamesFileError(f"{str(file)!r} is no file", hint="Remove it.")
            if is_planted(found, file.parent):
                raise RefusedError(
                    f"{str(file)!r} was put there by another user, and is not read", hint="Work in another folder."
                )
            raw = opened.read(MAX_BYTES + 1)
    except FileNotFoundError:
        if file.is_symlink():
            raise NamesFileError(f"{str(file)!r} is a link that leads nowhere", hint="Remove it.") from None
        return b""
    except OSError as error:
        if not os.path.lexists(file):  # a home that is /dev/null, or somebody else's
            return b""
        raise NamesFileError(f"{str(file)!r} cannot be read: {error.strerror}") from None
    if len(raw) > MAX_BYTES:
        raise NamesFileError(f"{str(file)!r} is larger than {MAX_BYTES:,} bytes, and is not read")
    return raw


def parsed(file: Path, raw: bytes) -> dict[str, Any]:
    """What a file's bytes say.

    Raises:
        NamesFileError: they are no TOML; it tells line and column.
    """
    import tomllib

    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise NamesFileError(f"{file}:{line}:{column}: not UTF-8", hint="Edit the file.") from None
    except tomllib.TOMLDecodeError as error:
        told = re.sub(r" \(at .*\)$", "", str(error))
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        last_line = raw.count(b"\n") + 1
        where = f"{place[1]}:{place[2]}" if place else f"{last_line}:1"
        raise NamesFileError(f"{file}:{where}: {told[:1].lower()}{told[1:]}", hint="Edit the file.") from None
    except RecursionError:
        raise NamesFileError(f"{file}:1:1: nested too deeply", hint="Edit the file.") from None


def _open(path: str, flags: int) -> int:
    """A file; a pipe in its place is not waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _named(name: str, file: Path, entry: Any) -> Named:
    """What a file says of a name; the first thing that is wrong is its problem."""
    if not is_field_name(name):
        return Named(name, file, "", problem=f"{name!r} cannot be a field's name")
    if not isinstance(entry, dict):
        return Named(name, file, "", problem=f"{TABLE}.{name} must be a table")
    location, sha256, allow = entry.get("location"), entry.get("sha256", ""), entry.get("allow", [])
    for key, value in (("location", location), ("sha256", sha256)):
        if not isinstance(value, str):
            problem = f"{TABLE}.{name}.{key} {'is missing' if value is None else 'must be text'}"
            return Named(name, file, location if isinstance(location, str) else "", problem=problem)
    if not isinstance(allow, list) or not all(isinstance(item, str) for item in allow):
        return Named(name, file, str(location), problem=f"{TABLE}.{name}.allow must be a list of texts")
    named = Named(name, file, str(location), sha256.lower(), tuple(allow))
    return named._replace(problem=_problem(named))


def _problem(named: Named) -> str:
    if fault := location_fault(named.location):
        return f"{TABLE}.{named.name}.location {fault}"
    if named.sha256 and not is_sha256(named.sha256):
        return f"{TABLE}.{named.name}.sha256 must be 64 hexadecimal digits"
    try:
        named.limits()
    except UsageError as error:
        return f"{TABLE}.{named.name}.allow: {error.message}"
    return ""


# Opening


def open_named(named: Named, given: Limits = DEFAULT_LIMITS, *, strict: bool = True) -> Container:
    """The container that a name leads to, called as it is named.

    Raises:
        NamesFileError: what the file says of it cannot be used.
        FieldNotFoundError: nothing is there.
        HashMismatchError: an archive that is not the one that was pinned.
        RefusedError: an archive that has no pin; a folder in an archive's place.
    """
    limits = named.checked().limits(given)
    if named.is_url:
        return _of_url(named, limits, strict)
    if named.path.is_dir():
        if named.sha256:
            raise RefusedError(
                f"{named.name!r} was pinned as an archive, and {named.shown!r} is a folder now",
                hint=f"If it is meant, `memoryfield remove {named.name}` and add it again.",
            )
        from .directory import DirectoryContainer

        folder = DirectoryContainer(named.path)
        folder.name = named.name
        return folder
    if named.path.is_file():
        return open_pinned(named, named.path, limits, strict=strict)
    raise FieldNotFoundError(
        f"no folder or archive at {named.shown!r}, where {str(named.file)!r} says that {named.name!r} lies",
        hint=f"`memoryfield remove {named.name}` forgets the name.",
    )


def open_pinned(named: Named, path: Path, limits: Limits, *, strict: bool = True) -> Container:
    """A name's archive, where it lies, if it is the one that was pinned.

    Raises:
        HashMismatchError: it is another.
        RefusedError: there is no pin.
    """
    from .archive import ArchiveContainer

    if not named.sha256:
        raise RefusedError(
            f"{named.name!r} is an archive without a sha256 in {str(named.file)!r}, so that nothing vouches for it",
            hint=f"`memoryfield update {named.name}` shows what it is, and pins it.",
        )
    return ArchiveContainer(path, limits, strict=strict, pin=named.pin)


def _of_url(named: Named, limits: Limits, strict: bool) -> Container:
    """The archive as it was fetched, fetched again where it is missing or damaged."""
    from . import fetch

    if named.sha256:
        try:
            return open_pinned(named, fetch.used(named.sha256), limits, strict=strict)
        except (FieldNotFoundError, HashMismatchError):
            pass
        try:
            fetched = fetch.fetch(named.location, limits.total, expected=named.sha256)
        except HashMismatchError as error:
            raise named.pin.mismatch(error.found) from None
        return open_pinned(named, fetched.path, limits, strict=strict)
    return open_pinned(named, Path(), limits)
