"""Portable memory archives: Markdown pages in a folder or a zip, searched offline.

The public API, and nothing else. Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .answers import Written as Written
    from .archives.diff import Diff as Diff
    from .archives.diff import diff as diff
    from .archives.merge import Merged as Merged
    from .archives.merge import merge as merge
    from .archives.pack import Packed as Packed
    from .archives.pack import pack as pack
    from .archives.unpack import unpack as unpack
    from .archives.verify import Verified as Verified
    from .archives.verify import verify as verify
    from .containers.limits import Limits as Limits
    from .errors import MemoryfieldError as MemoryfieldError
    from .field import Field as Field
    from .page import Page as Page
    from .page import Problem as Problem
    from .search.result import Hit as Hit
    from .search.result import SearchResult as SearchResult
    from .search.searcher import Searcher as Searcher

_HOMES = {
    "Diff": "archives.diff",
    "Field": "field",
    "Hit": "search.result",
    "Limits": "containers.limits",
    "MemoryfieldError": "errors",
    "Merged": "archives.merge",
    "Packed": "archives.pack",
    "Page": "page",
    "Problem": "page",
    "SearchResult": "search.result",
    "Searcher": "search.searcher",
    "Verified": "archives.verify",
    "Written": "answers",
    "diff": "archives.diff",
    "merge": "archives.merge",
    "pack": "archives.pack",
    "unpack": "archives.unpack",
    "verify": "archives.verify",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
