"""One rule per requirement of the format; every fault in every page."""

from __future__ import annotations

from .report import Fault
from .rules import validate

__all__ = ["Fault", "validate"]
