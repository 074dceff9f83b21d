"""The file of the reference MCP memory server: JSON lines of entities, with observations, and of relations.

An entity becomes a page: its observations a list, its relations a list of links, its type a tag. Further keys go into
the frontmatter; those of an observation or a relation stand in parentheses behind it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import keys as words
from .items import Gathered, Note, digest_of
from .jsonl import held, lines_of, times_of
from .values import put, set_aside, shown

_ENDS = ("from", "to", "relationType")
_MAX_LINK = 800
"""So many characters a name may have that stands in a link."""
_PLACE = re.compile(r"\[\[[^|\[\]]*\|")


@dataclass
class _Entity:
    """What all lines of one name say. `place` is that of the first."""

    place: str
    keys: dict[str, Any] = field(default_factory=dict)
    types: list[str] = field(default_factory=list)
    observations: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)


def read(source: Path, label: str, gathered: Gathered, beside: Path | None = None) -> None:
    """Read a memory file."""
    entities: dict[str, _Entity] = {}
    relations: list[tuple[str, dict[str, Any]]] = []
    for place, line in _lines(source, gathered):
        name = line.get("name")
        if line.get("type") == "relation":
            relations.append((place, line))
        elif line.get("type") == "entity" and isinstance(name, str) and name.strip():
            _unite(entities.setdefault(name, _Entity(place)), line, place, gathered)
        else:
            gathered.leave("line", place, "is neither an entity with a name nor a relation")
    for place, line in relations:
        _relate(entities, line, place, gathered)
    times = times_of(source)
    for name, entity in entities.items():
        note = _note(name, entity, label, gathered)
        note.file_times = times
        gathered.notes.append(note)


def _lines(source: Path, gathered: Gathered) -> Iterator[tuple[str, dict[str, Any]]]:
    """The lines of a memory file, and where each stands; those that an answer of `read_graph` would be, whose two
    lists have no types.

    A place has nothing in it that would end a link.
    """
    file = re.sub(r"[\[\]|\r\n]", "-", source.name)
    for number, line in lines_of(source, gathered):
        place = f"{file}:{number}"
        if not isinstance(line.get("entities"), list):
            yield place, line
            continue
        for key, listed in line.items():
            kind = {"entities": "entity", "relations": "relation"}.get(key)
            if kind is None or not isinstance(listed, list):
                gathered.leave("key", place, f"{key}: is no list of entities or relations")
                continue
            for item, one in enumerate(listed, 1):
                yield f"{place}:{key}:{item}", {**one, "type": kind} if isinstance(one, dict) else {}


def _unite(entity: _Entity, line: dict[str, Any], place: str, gathered: Gathered) -> None:
    """Add what a line says of an entity."""
    rest = {key: value for key, value in line.items() if key not in ("type", "name") and value is not None}
    given = rest.pop("observations", [])
    for observation in given if isinstance(given, list) else [given]:
        text = _observation(observation)
        if text and text not in entity.observations:
            entity.observations.append(text)
    kind = rest.get("entityType")
    if isinstance(kind, str):
        del rest["entityType"]
        entity.types += words.added(entity.types, filter(None, [kind.strip()]))
    set_aside(rest, place, gathered)
    for key, value in held(rest, place, gathered).items():
        put(entity.keys, key, value, place, gathered)


def _observation(given: Any) -> str:
    """An observation as text; some servers keep them as objects with a `content`."""
    if isinstance(given, dict):
        for key in ("content", "text"):
            if isinstance(given.get(key), str) and (text := given[key].strip()):
                return f"{text}{_further(given, {key})}"
    return _said(given).strip()


def _said(value: Any) -> str:
    """A text as it is, and all else as JSON; nothing of nothing."""
    if isinstance(value, str):
        return value
    return "" if value in (None, {}, []) else json.dumps(value, ensure_ascii=False)


def _further(given: dict[str, Any], told: set[str]) -> str:
    """The other keys of something that has become a line of text."""
    others = [f"{key}: {shown(value)}" for key, value in given.items() if key not in told and value is not None]
    return f" ({', '.join(others)})" if others else ""


def _relate(entities: dict[str, _Entity], line: dict[str, Any], place: str, gathered: Gathered) -> None:
    """Add the line that tells a relation to the entity with which it begins, else to that with which it ends."""
    start, end, kind = (_said(line.get(key)) for key in _ENDS)
    words_of_it, further = " ".join(kind.split()), _further(line, {"type", *_ENDS})
    into, other = entities.get(start), entities.get(end)
    if into is not None:
        text = f"- {words_of_it} {_link(end, other) or end}{further}"
        if not _link(end, other):
            fault = "is no entity here" if other is None else "cannot stand in a link"
            gathered.leave("relation", place, f"leads to {end[:100]!r}, which {fault}: it stays text")
    elif other is not None:
        into, text = other, f"- {start} {words_of_it} {end}{further}"
        gathered.leave("relation", place, f"is one of {start!r}, which is no entity here: it is told with {end!r}")
    else:
        gathered.leave("line", place, "is a relation between two that are no entities here")
        return
    if text not in into.relations:
        into.relations.append(text)


def _link(name: str, entity: _Entity | None) -> str:
    """A link by the place, which is one entity's alone: another's name may differ in its case only."""
    fits = entity is not None and len(name) < _MAX_LINK and not set("[]\n") & set(name)
    return f"[[{entity.place}|{name}]]" if fits and entity is not None else ""


def _note(name: str, entity: _Entity, label: str, gathered: Gathered) -> Note:
    title = " ".join(name.split())
    body = f"# {title}\n"
    if entity.observations:
        body += "\n" + "".join(f"- {text}".replace("\n", "\n  ") + "\n" for text in entity.observations)
    if entity.relations:
        body += "\n## Relations\n\n" + "\n".join(entity.relations) + "\n"
    if entity.types:
        put(entity.keys, "type", entity.types[0], entity.place, gathered)
    created, updated, odd = words.dates(entity.keys)
    for reason in odd:
        gathered.leave("date", entity.place, reason)
    relations = [_PLACE.sub("[[", line) for line in entity.relations]
    said = repr((entity.keys, entity.types, entity.observations, relations))
    return Note(
        path=entity.place,
        identity=f"{label}#{name}",
        source=f"{label}#{name}",
        name=name,
        title=title,
        body=body,
        keys=entity.keys,
        digest=digest_of(said.encode("utf-8", "replace")),
        tags=entity.types,
        given_dates=(created, updated or created),
    )
