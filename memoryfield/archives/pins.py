"""Names of fields, and the pins of their archives: made, listed, checked, moved and removed.

What was pinned is remembered page by page in the user's cache, so that `update` can tell what changed
where the old archive is no more; the time of that note is when the name was last checked.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing, suppress
from hashlib import sha256 as sha256_hash
from pathlib import Path
from typing import Any, NamedTuple

from ..containers import Container, Limits, fetch, registering, registry
from ..containers.contents import content_hash, file_hashes
from ..containers.folders import cache_folder
from ..containers.registry import Named
from ..errors import (
    ArchiveError,
    FieldNotFoundError,
    HashMismatchError,
    MemoryfieldError,
    RefusedError,
    UsageError,
    reason_of,
)
from ..names import is_page
from .diff import Diff, compared
from .matching import Noted, Side

NOTES = "pins"
"""The cache's folder of what was pinned."""

Progress = fetch.Progress


class Pinned(NamedTuple):
    """A name as it was added: what it leads to, and what is there. `sha256` is empty for a folder.

    `hides` is what the same name led to until now, by another file, if it did.
    """

    named: Named
    pages: int
    content_hash: str
    hides: Named | None = None

    def to_dict(self) -> dict[str, Any]:
        """As `--json` shows it."""
        return {
            "name": self.named.name,
            "location": self.named.shown,
            "file": str(self.named.file),
            "pages": self.pages,
            "sha256": self.named.sha256 or None,
            "content_hash": self.content_hash,
        }


class Update(NamedTuple):
    """What an update found. `diff` is None where nothing is known of what was pinned before.

    As long as it is being accepted, `diff` can read both archives, if the old one `is_at_hand`; else the
    old one's files are known by their hashes alone.
    """

    named: Named
    sha256: str
    pages: int
    content_hash: str
    diff: Diff | None
    is_moved: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether there is another archive than the one that is pinned."""
        return self.sha256 != self.named.sha256

    @property
    def is_at_hand(self) -> bool:
        """Whether the archive that was pinned is here, and not only its files' hashes."""
        return self.diff is not None and not isinstance(self.diff.a, Noted)

    def to_dict(self) -> dict[str, Any]:
        """As `--json` shows it."""
        return {
            "name": self.named.name,
            "location": self.named.shown,
            "pinned": self.named.sha256 or None,
            "found": self.sha256,
            "pages": self.pages,
            "content_hash": self.content_hash,
            "changes": self.diff and self.diff.to_dict(),
            "moved": self.is_moved,
        }


class Listed(NamedTuple):
    """A name in the list. `pages` is None where that is not known; `error` is what is wrong with it.

    `checked` is when it was last checked and nothing was wrong.
    """

    named: Named
    pages: int | None
    checked: float | None
    error: MemoryfieldError | OSError | None = None

    @property
    def exit_code(self) -> int:
        """What the command line should end with: 0 if nothing is wrong."""
        return getattr(self.error, "exit_code", 1) if self.error else 0

    @property
    def problem(self) -> str:
        """What is wrong, in words."""
        if isinstance(self.error, OSError):
            return f"{self.error.filename or ''}: {self.error.strerror or self.error}".removeprefix(": ")
        return str(self.error or "")

    def to_dict(self) -> dict[str, Any]:
        """As `--json` shows it."""
        return {
            "name": self.named.name,
            "location": self.named.shown,
            "file": str(self.named.file),
            "pages": self.pages,
            "sha256": self.named.sha256 or None,
            "checked": self.checked and time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.checked)),
            "problem": self.problem or None,
        }


def add(
    name: str,
    location: str,
    *,
    sha256: str = "",
    allow: Iterable[str] = (),
    project: bool = False,
    progress: Progress | None = None,
) -> Pinned:
    """Give a field a name; an archive is pinned as it is now.

    Args:
        location: a folder, an archive, or the URL of one.
        sha256: what the archive must have.
        allow: limits to raise for this archive, as `Limits.read` takes them; they are kept with the name.
        project: keep the name in the current folder's file, which is made if need be.

    Raises:
        UsageError: the name or the location cannot be one; a sha256 for a folder.
        RefusedError: the name is taken; the archive is not safe.
        HashMismatchError: the archive has another sha256 than it must have.
        FetchError: the archive cannot be had.
    """
    named = _as_given(name, location, sha256, tuple(allow), project)
    if named.is_url:
        return _add_fetched(named, progress)
    if named.path.is_dir():
        if sha256:
            raise UsageError(f"{location!r} is a folder, and only an archive has a sha256")
    elif named.path.is_file():
        named = named._replace(sha256=_promised(named, fetch.sha256_of(named.path)))
    else:
        raise FieldNotFoundError(f"no folder or archive at {location!r}")
    return _put(named)


def _as_given(name: str, location: str, sha256: str, allow: tuple[str, ...], project: bool) -> Named:
    """A new name, looked at before anything is done."""
    registry.check_name(name)
    Limits.read(allow)
    sha256 = _as_sha256(sha256)
    file = _file_for(project)
    if name in registry.read(file):
        raise RefusedError(
            f"{name!r} is the name of a field already",
            hint=f"`memoryfield update {name}` moves its pin, `memoryfield remove {name}` forgets it.",
        )
    if fault := registry.location_fault(location):
        raise UsageError(f"the location {fault}", hint="Name a folder, an archive, or an https URL of one.")
    return Named(name, file, _kept_location(location, file), sha256, allow)


def _as_sha256(given: str) -> str:
    """What was given as one, or nothing."""
    if given and not registry.is_sha256(given.lower()):
        raise UsageError(f"{given!r} is no sha256", hint="It has 64 hexadecimal digits.")
    return given.lower()


def _file_for(project: bool) -> Path:
    if project:
        return Path.cwd() / registry.FILE
    return registry.nearest() or registry.own_file()


def _kept_location(location: str, file: Path) -> str:
    """A location as the file has it: a relative one stays relative, to the file; the user's own has none."""
    if registry.is_url(location):
        return location
    path = Path(location)
    if path.is_absolute():
        return location
    if file == registry.own_file():
        return str(Path.cwd() / path)
    try:
        return Path(os.path.relpath(path, file.parent)).as_posix()
    except ValueError:  # on another drive
        return str(path.absolute())


def _promised(named: Named, found: str) -> str:
    """The sha256 that was found.

    Raises:
        HashMismatchError: it is not the one that was given.
    """
    if named.sha256 and found != named.sha256:
        raise HashMismatchError(
            f"the archive for {named.name!r} is not the one that was promised: given is sha256 {named.sha256},"
            f" and there is {found}",
            expected=named.sha256,
            found=found,
            hint="Do not trust it before whoever sent it has confirmed the sha256.",
        )
    return found


def _add_fetched(named: Named, progress: Progress | None) -> Pinned:
    fetched = _fetched(named, progress)
    try:
        return _put(named._replace(sha256=fetched.sha256))
    except BaseException:
        if fetched.is_new:
            fetch.forget(fetched.sha256)
        raise


def _fetched(named: Named, progress: Progress | None) -> fetch.Fetched:
    """The archive, and no other than the one that was promised, if any was."""
    try:
        return fetch.fetch(named.location, named.limits().total, expected=named.sha256, progress=progress)
    except HashMismatchError as error:
        _promised(named, error.found)
        raise


def _put(named: Named) -> Pinned:
    """Open what is to be named, and write its name down if that is well."""
    pages, hashes = _looked_at(named)
    hidden = None
    with suppress(MemoryfieldError):  # of another file, which is not the one that is written
        hidden = registry.find(named.name)
    registering.put(named)
    _note(named, hashes)
    return Pinned(named, pages, content_hash(hashes), hidden)


def _looked_at(named: Named) -> tuple[int, dict[str, bytes]]:
    """How many pages a field has, and the hash of each of its files: all of them are read.

    Raises:
        ArchiveError: an archive of which one cannot be read.
    """
    container = registry.open_named(named)
    try:
        return _pages(container), file_hashes(container)
    except OSError as error:
        if not named.sha256:
            raise
        why = reason_of(error).removeprefix("in the archive, ")
        raise ArchiveError(
            f"the archive of {named.name!r} at {named.shown!r} is damaged: {error.filename} cannot be read ({why})",
            hint="Do not use it; ask for it again.",
        ) from error
    finally:
        container.close()


def _pages(container: Container) -> int:
    return sum(is_page(entry.name) for entry in container.entries())


def get(name: str) -> Named:
    """What a name stands for.

    Raises:
        UsageError: there is no such name.
    """
    if found := registry.find(registry.check_name(name)):
        return found
    hint = registry.hint_for(name) or "`memoryfield add NAME LOCATION` gives a field a name."
    raise UsageError(f"no field is named {name!r}", hint=hint)


def remove(name: str) -> Named:
    """Forget a name, and what was noted for it. The field itself is left alone; so is what was fetched,
    which another project may have pinned, too, until nobody has used it for long.

    Raises:
        UsageError: there is no such name.
    """
    named = get(name)
    registering.drop(named)
    _forget(named)
    return named


def _forget(named: Named) -> None:
    """Remove what was noted of a name's pin that it has no more."""
    if path := _note_file(named):
        with suppress(OSError):
            path.unlink()


def listed(*, check: bool = False) -> list[Listed]:
    """Every name, and what is wrong with it.

    Args:
        check: read everything, and fetch what is missing; otherwise what was not fetched is left out.
    """
    return [_listed(named, check) for named in registry.every()]


def _listed(named: Named, check: bool) -> Listed:
    try:
        if check:
            pages, hashes = _looked_at(named.checked())
            _note(named, hashes)
            return Listed(named, pages, time.time())
        if named.checked().is_url and named.sha256 and not fetch.kept(named.sha256).exists():
            return Listed(named, None, _last_checked(named))
        container = registry.open_named(named)
        try:
            return Listed(named, _pages(container), _last_checked(named))
        finally:
            container.close()
    except (MemoryfieldError, OSError) as error:
        return Listed(named, None, _last_checked(named), error)


def update(
    name: str,
    accept: Callable[[Update], bool],
    *,
    sha256: str = "",
    allow: Iterable[str] = (),
    progress: Progress | None = None,
) -> Update:
    """Look at what lies at a name's location now, and move the pin to it if that is accepted.

    Args:
        accept: is told what was found, if it is another archive, and says whether to pin it.
        sha256: what must be found.
        allow: limits to raise beyond those that are kept with the name; they are kept with the new pin.

    Raises:
        UsageError: there is no such name, or it is that of a folder; what was given is no sha256.
        RefusedError: the archive is not safe, or has become a folder.
        HashMismatchError: what is found is another archive than it must be.
        FetchError: it cannot be had.
    """
    named = get(name).checked()
    raised = {item.partition("=")[0]: item for item in (*named.allow, *allow)}
    new = named._replace(allow=tuple(raised.values()), sha256=_as_sha256(sha256))
    fetched = None
    if named.is_url:
        if named.sha256:
            fetch.used(named.sha256)  # else it might go now, and could not be compared
        fetched = _fetched(new, progress)
        found = fetched.sha256
    else:
        found = _promised(new, _hash_of(named))
    new = new._replace(sha256=found)
    with ExitStack() as refused:
        if fetched and fetched.is_new:
            refused.callback(fetch.forget, found)
        pages, hashes = _looked_at(new)
        seen = Update(named, found, pages, content_hash(hashes), None)
        if seen.is_changed:
            seen = _shown(seen, new, accept)
            if not seen.is_moved:
                return seen
            registering.put(new, before=named)
        refused.pop_all()
    _note(new, hashes)
    if seen.is_moved:
        _forget(named)
    return seen


def _shown(seen: Update, new: Named, accept: Callable[[Update], bool]) -> Update:
    """What changed, shown to who accepts it or not; meanwhile the archives are open."""
    with ExitStack() as opened:
        if old := _pinned_side(seen.named, opened):
            side = Side(opened.enter_context(closing(registry.open_named(new))))
            seen = seen._replace(diff=compared(old, side))
        return seen._replace(is_moved=accept(seen))


def _hash_of(named: Named) -> str:
    """The sha256 of what lies there now.

    Raises:
        UsageError: it is a folder, which has no pin.
    """
    if named.path.is_dir() and not named.sha256:
        raise UsageError(f"{named.name!r} is a folder, and has no pin to be moved")
    if not named.path.is_file():
        registry.open_named(named)  # says what is wrong
    return fetch.sha256_of(named.path)


def _pinned_side(named: Named, opened: ExitStack) -> Side | None:
    """What was pinned: the archive if it is still here, else the hashes that were noted."""
    if named.is_url and named.sha256:
        with suppress(MemoryfieldError, OSError):
            container = registry.open_pinned(named, fetch.kept(named.sha256), named.limits())
            return Side(opened.enter_context(closing(container)))
    noted = _noted(named)
    return Noted(noted, named.name) if noted else None


# What the cache keeps of a pin


def _note_file(named: Named) -> Path | None:
    folder = cache_folder(NOTES)
    key = "\0".join((str(named.file.absolute()), named.name, named.sha256 or named.location))
    return folder and folder / f"{sha256_hash(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.json"


def _note(named: Named, hashes: Mapping[str, bytes]) -> None:
    """Keep what was found, and that it was now. Without a cache, nothing is kept."""
    path = _note_file(named)
    if path is None:
        return
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    with suppress(OSError):
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
                json.dump({name: digest.hex() for name, digest in hashes.items()}, file)
            temporary.replace(path)
        finally:
            with suppress(OSError):
                temporary.unlink()


def _noted(named: Named) -> dict[str, bytes] | None:
    path = _note_file(named)
    try:
        found = json.loads(path.read_text("utf-8")) if path else None
        return {str(name): bytes.fromhex(digest) for name, digest in found.items()} if found else None
    except (OSError, ValueError, AttributeError, TypeError):
        return None


def _last_checked(named: Named) -> float | None:
    path = _note_file(named)
    try:
        return path.stat().st_mtime if path else None
    except OSError:
        return None
