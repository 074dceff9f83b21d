"""Changes to memoryfields.toml: one name put in, changed or taken out; everything else in the file stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import NamesFileError, ReadOnlyError, RefusedError
from . import registry
from .directory import DirectoryContainer
from .registry import TABLE, Named

_BOM = "\ufeff"


def put(named: Named, before: Named | None = None) -> None:
    """Write a name into its file, which is made if need be.

    Args:
        before: what the file says of the name now; None if it is to be a new one.

    Raises:
        RefusedError: the file says something else of it, since another process was quicker.
        NamesFileError: the file cannot be read or changed.
        ReadOnlyError: it cannot be written.
    """

    def change(fields: Any) -> None:
        import tomlkit
        from tomlkit.items import InlineTable

        if named.name not in fields:
            fields[named.name] = tomlkit.inline_table() if isinstance(fields, InlineTable) else tomlkit.table()
        entry = fields[named.name]
        for key, value in (("location", named.location), ("sha256", named.sha256), ("allow", list(named.allow))):
            if value and entry.get(key) != value:
                entry[key] = value

    _change(named.file, change, named.name, before)


def drop(named: Named) -> None:
    """Take a name out of its file.

    Raises:
        As `put`.
    """

    def change(fields: Any) -> None:
        del fields[named.name]

    _change(named.file, change, named.name, named)


def _change(file: Path, change: Callable[[Any], None], name: str, before: Named | None) -> None:
    """Change the table of fields, under a lock, and put the file in its place."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReadOnlyError(f"{str(file)!r} cannot be written: {error.strerror}") from None
    target = _target(file)
    folder = DirectoryContainer(target.parent)
    with folder.lock():
        if registry.read(file).get(name) != before:
            raise RefusedError(
                f"{str(file)!r} was changed meanwhile, and says something else of {name!r}", hint="Try again."
            )
        raw = registry.content(file)
        _check_writable(target)
        folder.write(target.name, _changed(file, raw, change))


def _check_writable(file: Path) -> None:
    """Ask for permission to write into a file, which replacing it would not do."""
    try:
        file.open("r+b").close()
    except FileNotFoundError:
        return
    except OSError as error:
        raise ReadOnlyError(f"{str(file)!r} cannot be written: {error.strerror}") from None


def _target(file: Path) -> Path:
    """The file itself. One that is a link is written where it leads, unless a project's leads out of it."""
    if not file.is_symlink():
        return file
    target = file.resolve()
    if file != registry.own_file() and target.parent != file.parent.resolve():
        raise RefusedError(
            f"{str(file)!r} is a link that leads out of its folder, and is not written through",
            hint="Put the file itself there.",
        )
    return target


def _changed(file: Path, raw: bytes, change: Callable[[Any], None]) -> bytes:
    """A file's bytes, changed; its line ends are kept.

    Raises:
        NamesFileError: it is written in a way in which it cannot be changed.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    expected = registry.parsed(file, raw)
    text = raw.decode("utf-8-sig")
    made: str | None = None
    try:
        document = tomlkit.parse(text)
        for root in (document, expected):
            if TABLE not in root:
                root[TABLE] = tomlkit.table(is_super_table=True) if root is document else {}
            change(root[TABLE])
        made = document.as_string()
    except (TOMLKitError, TypeError, ValueError, KeyError, AttributeError, RecursionError):
        pass
    if made is not None and "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        made = made.replace("\r\n", "\n").replace("\n", "\r\n")
    new = (_BOM if raw.startswith(_BOM.encode()) else "").encode() + (made or "").encode()
    if made is None or _said(registry.parsed(file, new)) != _said(expected):
        raise NamesFileError(
            f"{str(file)!r} is written in a way in which it cannot be changed by program",
            hint=f"Change the table [{TABLE}] by hand, or write it as [{TABLE}.NAME].",
        )
    return new


def _said(value: dict[str, Any]) -> dict[str, Any]:
    """What a file says, in values of Python's own; an empty table of fields says nothing."""
    said: dict[str, Any] = _plain(value)
    return {key: inner for key, inner in said.items() if key != TABLE or inner}


def _plain(value: Any) -> Any:
    """The same in dictionaries, lists and values of Python's own."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    unwrap = getattr(value, "unwrap", None)
    return unwrap() if unwrap else value
