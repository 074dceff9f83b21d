"""The file of the reference MCP memory server: JSON lines of entities, with observations, and of relations.

An entity becomes a page: its observations a list, its relations a list of links, its type a tag.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import keys as words
from .items import Gathered, Note, digest_of
from .jsonl import lines_of, times_of

_OWN = frozenset({"type", "name", "entityType", "observations"})


def read(source: Path, label: str, gathered: Gathered, beside: Path | None = None) -> None:
    """Read a memory file."""
    entities: dict[str, dict[str, Any]] = {}
    relations: list[tuple[int, dict[str, Any]]] = []
    for number, line in _lines(source, gathered):
        if line.get("type") == "relation":
            relations.append((number, line))
        elif line.get("type") == "entity" and isinstance(line.get("name"), str) and line["name"].strip():
            _unite(entities, line)
        else:
            gathered.leave("line", f"{source.name}:{number}", "is neither an entity with a name nor a relation")
    outgoing = _outgoing(entities, relations, source.name, gathered)
    times = times_of(source)
    for name, entity in entities.items():
        note = _note(name, entity, outgoing.get(name, []), source, label, gathered)
        note.file_times = times
        gathered.notes.append(note)


def _lines(source: Path, gathered: Gathered) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of a memory file; those that an answer of `read_graph` would be, whose two lists have no types."""
    for number, line in lines_of(source, gathered):
        if not isinstance(line.get("entities"), list):
            yield number, line
            continue
        for kind, key in (("entity", "entities"), ("relation", "relations")):
            listed = line.get(key)
            for one in listed if isinstance(listed, list) else []:
                yield number, {**one, "type": kind} if isinstance(one, dict) else {}


def _unite(entities: dict[str, dict[str, Any]], line: dict[str, Any]) -> None:
    """An entity that is there again: its observations are added."""
    known = entities.setdefault(line["name"], {**line, "observations": []})
    for observation in _texts(line.get("observations")):
        if observation not in known["observations"]:
            known["observations"].append(observation)


def _texts(observations: Any) -> list[str]:
    """Observations as text; some servers keep them as objects with a `content`."""
    given = observations if isinstance(observations, list) else [observations]
    texts = (one.get("content") or one.get("text") if isinstance(one, dict) else one for one in given)
    return [str(text).strip() for text in texts if text not in (None, "")]


def _outgoing(
    entities: dict[str, dict[str, Any]], relations: list[tuple[int, dict[str, Any]]], file: str, gathered: Gathered
) -> dict[str, list[str]]:
    """For each entity, the lines that tell its relations."""
    found: dict[str, list[str]] = {}
    for number, line in relations:
        start, end, kind = (str(line.get(key) or "") for key in ("from", "to", "relationType"))
        place = f"{file}:{number}"
        if start in entities:
            is_link = end in entities and not set("[]|\n") & set(end)
            text = f"- {kind} {f'[[{end}]]' if is_link else end}"
            if end not in entities:
                gathered.leave("relation", place, f"leads to {end!r}, which is no entity here: it stays text")
        elif end in entities:
            text = f"- {start} {kind} {end}"
            gathered.leave("relation", place, f"is one of {start!r}, which is no entity here: it is told with {end!r}")
        else:
            gathered.leave("line", place, "is a relation between two that are no entities here")
            continue
        lines = found.setdefault(start if start in entities else end, [])
        if text not in lines:
            lines.append(text)
    return found


def _note(
    name: str, entity: dict[str, Any], relations: list[str], source: Path, label: str, gathered: Gathered
) -> Note:
    observations = [f"- {text}".replace("\n", "\n  ") for text in entity["observations"]]
    body = f"# {' '.join(name.split())}\n"
    if observations:
        body += "\n" + "\n".join(observations) + "\n"
    if relations:
        body += "\n## Relations\n\n" + "\n".join(relations) + "\n"
    kind = entity.get("entityType")
    keys = {key: value for key, value in entity.items() if key not in _OWN and value is not None}
    if isinstance(kind, str) and kind:
        keys["type"] = kind
    created, updated, odd = words.dates(keys)
    for reason in odd:
        gathered.leave("date", f"{label}#{name}", reason)
    return Note(
        path=f"{source.name}#{name}",
        identity=f"{label}#{name}",
        source=f"{label}#{name}",
        name=name,
        title=" ".join(name.split()),
        body=body,
        keys=keys,
        digest=digest_of(repr((entity, relations)).encode("utf-8", "replace")),
        tags=[kind] if isinstance(kind, str) and kind else [],
        given_dates=(created, updated or created),
    )
