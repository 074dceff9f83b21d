"""`python -m memoryfield`."""

from .cli import entry

entry()
