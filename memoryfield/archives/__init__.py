"""A field as one file: packed, and unpacked with care."""

from __future__ import annotations

from .pack import Packed, pack
from .planning import Plan, plan
from .unpack import Unpacked, unpack

__all__ = ["Packed", "Plan", "Unpacked", "pack", "plan", "unpack"]
