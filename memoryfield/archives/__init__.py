"""A field as one file: packed, and unpacked with care."""

from __future__ import annotations

from .pack import Packed, pack
from .unpack import Unpacked, unpack

__all__ = ["Packed", "Unpacked", "pack", "unpack"]
