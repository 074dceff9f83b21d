"""What a validation found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "notice"]


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault. `error`: a MUST of the format is broken; `warning`: a SHOULD; `notice`: worth a look.

    `filename` is empty for the field as a whole; `line` counts from 1, 0 stands for the whole file.
    """

    filename: str
    line: int
    severity: Severity
    message: str

    def __str__(self) -> str:
        place = f"{self.filename or '.'}:{self.line}" if self.line else self.filename or "."
        return f"{place}: {self.severity}: {self.message}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "filename": self.filename,
            "line": self.line,
            "severity": self.severity,
            "message": self.message,
        }
