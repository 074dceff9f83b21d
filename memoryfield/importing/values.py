"""What a page's own keys can hold, and what becomes of a value that they cannot: it is kept beside, and told."""

from __future__ import annotations

import json
from collections.abc import MutableMapping
from typing import Any

from . import keys as words
from .items import Gathered

_NOTHING: tuple[Any, ...] = (None, "", [])
_TEXTS = ("title", "summary")
_DATES = ("created", "updated")
_LISTS = ("tags", "aliases")
OWN = frozenset({*_TEXTS, *_DATES, *_LISTS, "uuid", "source"})


def text_of(value: Any) -> str:
    """A value as one line: a text, a number, or several of them with commas between; empty for all else."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, list) and all(_is_plain(one) for one in value):
        return ", ".join(filter(None, map(text_of, value)))
    return json.dumps(value) if _is_plain(value) else ""


def shown(value: Any) -> str:
    """A value as one line whatever it is: as JSON, where it is no text."""
    return text_of(value) or json.dumps(value, ensure_ascii=False, default=str)


def is_words(value: Any) -> bool:
    """Whether all of a value can be tags or aliases."""
    if isinstance(value, list):
        return all(one is None or (_is_plain(one) and not isinstance(one, bool)) for one in value)
    return isinstance(value, str)


def is_date(value: Any) -> bool:
    """Whether a value is one moment, and nothing besides."""
    return not (isinstance(value, list) and len(value) > 1) and bool(words.moment_text(value))


def put(keys: MutableMapping[str, Any], key: str, value: Any, place: str, gathered: Gathered) -> None:
    """Add a key; where the page says something else under it, under another name, and told."""
    if value in _NOTHING or keys.get(key) == value:
        keys.setdefault(key, value)
    elif keys.get(key) in _NOTHING:
        keys[key] = value
    else:
        _keep_beside(keys, key, value, place, "is there twice", gathered)


def set_aside(keys: MutableMapping[str, Any], place: str, gathered: Gathered) -> None:
    """Take from a page's own keys what no page can have there; it stays under another name, and is told."""
    for key in (*_TEXTS, *_DATES, *_LISTS):
        value = keys.get(key)
        if value not in _NOTHING and not _fits(key, value):
            del keys[key]
            _keep_beside(keys, key, value, place, _FAULTS[key], gathered)


_FAULTS = (
    dict.fromkeys(_TEXTS, "is no text")
    | dict.fromkeys(_DATES, "is no date that can be told for sure")
    | dict.fromkeys(_LISTS, "is more than words")
)


def _fits(key: str, value: Any) -> bool:
    if key in _TEXTS:
        return bool(text_of(value)) or isinstance(value, str)
    if key in _LISTS:
        return is_words(value)
    return is_date(value)


def _keep_beside(
    keys: MutableMapping[str, Any], key: str, value: Any, place: str, fault: str, gathered: Gathered
) -> None:
    other = f"{key}-before"
    while other in keys and keys[other] != value:
        other += "-before"
    keys[other] = value
    gathered.leave("frontmatter", place, f"{key}: {shown(value)[:60]!r} {fault}; it is kept as {other}")


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)
