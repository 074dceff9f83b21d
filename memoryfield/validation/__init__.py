"""One rule per requirement of the format, with the same identifier; every fault of every file."""

from __future__ import annotations

from .layout import unread
from .report import Fault
from .requirements import Requirement, chosen, explain, requirements
from .rules import no_archive, validate

__all__ = ["Fault", "Requirement", "chosen", "explain", "no_archive", "requirements", "unread", "validate"]
