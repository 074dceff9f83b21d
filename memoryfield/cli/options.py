"""Options read without pydantic.

Typer reads every option's value through pydantic, and loading that takes longer than a keyword
search of ten thousand pages. A command's plain values are read here; whatever is not plain (a
number that is none, a choice that is not offered) is left to Typer, with its messages.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any

from typer.core import TyperCommand


class PlainCommand(TyperCommand):
    """A command whose options and arguments are read by `PlainReader` where that is enough."""

    def get_params(self, ctx: Any) -> list[Any]:
        return read_plainly(super().get_params(ctx))


def read_plainly(params: list[Any]) -> list[Any]:
    """Give each parameter a `PlainReader`, in a Typer that makes its own when a value is first read."""
    for param in params:
        if getattr(param, "_runtime_param", param) is None:
            param._runtime_param = PlainReader(param)
    return params


class PlainReader:
    """Reads strings, numbers, choices, paths and lists of strings; hands on everything else."""

    def __init__(self, param: Any) -> None:
        self._annotation = param.type_descriptor.annotation
        self._bounds = (param.type_descriptor.parameter_info.min, param.type_descriptor.parameter_info.max)

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """What Typer calls for each value."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        try:
            return self._plain(value)
        except (ValueError, TypeError):
            param._runtime_param = None
            return param.get_runtime_param().coerce(value, param=param, ctx=ctx)

    def _plain(self, value: Any) -> Any:
        wanted = self._annotation
        if wanted == list[str] and isinstance(value, list | tuple):
            return list(value)
        if wanted is Path or wanted is str:
            return wanted(value)
        if isinstance(wanted, type) and issubclass(wanted, Enum):
            return wanted(value)
        if wanted is int or wanted is float:
            number = wanted(value)
            low, high = self._bounds
            if (low is None or number >= low) and (high is None or number <= high):
                return number
        raise ValueError(value)
