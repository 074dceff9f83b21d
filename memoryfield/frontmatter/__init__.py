"""The block at the head of a page: found, read tolerantly, edited without touching anything else.

`blocks` finds it; `reading` says what it says, with `safe_yaml` (and `plain_yaml`, which is quick)
or, where it is TOML or JSON, `foreign`; `rewriting` sets keys.
"""

from .blocks import Block, find_block, newline_of, place
from .reading import KeyPlace, Problem, Reading, key_places, known_lines, read_block, yaml_features
from .safe_yaml import Feature

__all__ = [
    "Block",
    "Feature",
    "KeyPlace",
    "Problem",
    "Reading",
    "find_block",
    "key_places",
    "known_lines",
    "newline_of",
    "place",
    "read_block",
    "yaml_features",
]
