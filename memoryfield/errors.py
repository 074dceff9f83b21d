"""Every exception that memoryfield raises, one tree under `MemoryfieldError`.

An error speaks to the person: `message` says what is wrong and where, `hint`
what to do next. `exit_code` is what the command line exits with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_FACTS = ("wanted", "suggestions", "entry", "faults", "similar", "expected", "found")
"""What errors carry besides their message, and JSON tells."""


class MemoryfieldError(Exception):
    """The base of all errors that memoryfield raises on purpose."""

    exit_code = 1
    kind = "error"
    """What it is called in JSON: after its class, or the nearest one of this module, as in `page-exists`."""

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__:
            cls.kind = re.sub("(?<!^)(?=[A-Z])", "-", cls.__name__.removesuffix("Error")).lower()

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, with the facts that this kind of error carries."""
        facts = {name: _plain(getattr(self, name)) for name in _FACTS if hasattr(self, name)}
        return {"kind": self.kind, "message": self.message, "hint": self.hint, "exit": self.exit_code, **facts}


def reason_of(error: BaseException) -> str:
    """What went wrong, in words: without what to do about it, and without the number of the system's error."""
    if isinstance(error, MemoryfieldError):
        return error.message
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def _plain(fact: Any) -> Any:
    if isinstance(fact, str):
        return fact
    return [one.to_dict() if hasattr(one, "to_dict") else str(one) for one in fact]


class UsageError(MemoryfieldError):
    """The call cannot mean anything: a wrong name, place, model or option."""

    exit_code = 2


class FieldNotFoundError(UsageError):
    """There is no memoryfield at the given location, or none was given."""


class NamesFileError(UsageError):
    """A memoryfields.toml cannot be read, or says of a field what cannot be."""


class PageNameError(UsageError):
    """A name that no page can have."""


class UnknownModelError(UsageError):
    """No embedder is known for this model code."""


class PageNotFoundError(MemoryfieldError):
    """No page has this name or uuid. `suggestions` are the closest names."""

    def __init__(self, wanted: str, suggestions: tuple[str, ...] = ()) -> None:
        hint = f"Did you mean {' or '.join(suggestions)}?" if suggestions else ""
        super().__init__(f"no page {wanted!r}", hint=hint)
        self.wanted = wanted
        self.suggestions = suggestions


class SectionNotFoundError(MemoryfieldError):
    """No section of a page has this heading, or several have. `suggestions` are the closest, as `page.md#anchor`."""

    def __init__(self, message: str, wanted: str, suggestions: tuple[str, ...] = (), *, hint: str = "") -> None:
        super().__init__(message, hint=f"Did you mean {' or '.join(suggestions)}?" if suggestions else hint)
        self.wanted = wanted
        self.suggestions = suggestions


class ContainerError(MemoryfieldError):
    """The bytes of a field cannot be read or written."""


class ArchiveError(ContainerError):
    """A file that should be a memoryfield archive is not a readable zip."""


class FetchError(ContainerError):
    """An archive cannot be had from its URL."""


class IndexFileError(MemoryfieldError):
    """An index file cannot be used as it is; it can be deleted and rebuilt."""


class IndexUnreadableError(IndexFileError):
    """An index file cannot be opened now; nothing is known against it."""


class EmbedderError(MemoryfieldError):
    """An embedder answered with something that cannot be used."""


class EmbedderUnavailableError(EmbedderError):
    """The embedder of a model cannot be reached or started."""


class RefusedError(MemoryfieldError):
    """Not done, because it would lose or overwrite something, or is not safe."""

    exit_code = 3


class PageExistsError(RefusedError):
    """A page of this name is there already."""


class PageConflictError(RefusedError):
    """The stored page is not the one that the writer had seen, or carries another uuid."""


class DuplicateError(RefusedError):
    """A new page was not written, since others say nearly the same. `similar` are those, as `Similar`."""

    def __init__(self, message: str, *, similar: Sequence[object], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.similar = similar


class ReadOnlyError(RefusedError):
    """The field cannot be written: an archive, or a folder without permission."""


class BrokenFieldError(RefusedError):
    """A field breaks what the format says that it MUST. `faults` are the first of its faults."""

    def __init__(self, message: str, *, faults: Sequence[object], hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.faults = faults


class NotEmptyError(RefusedError):
    """The place for a new field or an unpacked archive holds something already."""


class UnsafeArchiveError(RefusedError):
    """An archive holds an entry that must not be written. `entry` is its name."""

    def __init__(self, message: str, *, entry: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.entry = entry


class HashMismatchError(RefusedError):
    """An archive is not the one that was pinned or promised. `expected` and `found` are the sha256, in hexadecimal."""

    def __init__(self, message: str, *, expected: str, found: str, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.expected = expected
        self.found = found
