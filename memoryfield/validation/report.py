"""What a validation found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .requirements import Severity, severity_of


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One breach of one requirement.

    `filename` is empty for the field as a whole. `line` and `column` count from 1, in characters;
    0 stands for the whole file, and for the whole line. `source` is the line as it stands there.
    """

    filename: str
    line: int
    column: int
    requirement: str
    message: str
    source: str = ""

    @property
    def severity(self) -> Severity:
        """`error`: a MUST of the format is broken; `warning`: a SHOULD; `notice`: worth a look."""
        return severity_of(self.requirement)

    @property
    def place(self) -> str:
        """File, line and column, as far as they are known, with colons between."""
        return ":".join([self.filename or ".", *(str(number) for number in (self.line, self.column) if number)])

    def __str__(self) -> str:
        return f"{self.place}: {self.severity} {self.requirement}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        names = ("filename", "line", "severity", "message", "requirement", "column", "source")
        return {name: getattr(self, name) for name in names}
