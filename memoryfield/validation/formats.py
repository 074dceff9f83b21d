"""A validation's report as other programs read it: one JSON object, GitHub's annotations, SARIF."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .report import Fault
from .requirements import Requirement, requirements

_SARIF_LEVELS = {"error": "error", "warning": "warning", "notice": "note"}
_SPECIFICATION = "spec/memoryfield.md"


def count(faults: Iterable[Fault]) -> dict[str, int]:
    """How many errors, warnings and notices there are."""
    found = {"errors": 0, "warnings": 0, "notices": 0}
    for fault in faults:
        found[f"{fault.severity}s"] += 1
    return found


def as_json(field: str, pages: int, faults: list[Fault], notes: list[str]) -> dict[str, Any]:
    """The report as one object."""
    return {
        "field": field,
        "pages": pages,
        **count(faults),
        "notes": notes,
        "faults": [fault.to_dict() for fault in faults],
    }


def as_github(location: Path, faults: list[Fault]) -> Iterator[str]:
    """GitHub's workflow commands, one a fault: each becomes an annotation at its file and line."""
    in_archive = location.is_file()
    for fault in faults:
        where = {"file": _path(location, "" if in_archive else fault.filename)}
        if fault.line and not in_archive:
            where["line"] = str(fault.line)
            where |= {"col": str(fault.column)} if fault.column else {}
        where["title"] = f"memoryfield {fault.requirement}"
        properties = ",".join(f"{key}={_property(value)}" for key, value in where.items())
        message = f"{fault.place}: {fault.message}" if in_archive else fault.message
        yield f"::{fault.severity} {properties}::{_data(message)}"


def _path(location: Path, filename: str) -> str:
    path = location / filename if filename else location
    return path.as_posix()


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_sarif(location: Path, faults: list[Fault], *, version: str) -> dict[str, Any]:
    """A log in SARIF 2.1.0, with every requirement that a file can break as a rule. `version`: this tool's."""
    rules = [one for one in requirements().values() if one.is_visible]
    places = {one.id: place for place, one in enumerate(rules)}
    return {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "memoryfield", "semanticVersion": version, "rules": list(map(_rule, rules))}
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(location, fault, places[fault.requirement]) for fault in faults],
            }
        ],
    }


def _rule(requirement: Requirement) -> dict[str, Any]:
    return {
        "id": requirement.id,
        "shortDescription": {"text": requirement.text},
        "fullDescription": {"text": f"{requirement.text} Why: {requirement.why}"},
        "help": {"text": f"{requirement.mend} ({_SPECIFICATION}, {requirement.id})"},
        "defaultConfiguration": {"level": _SARIF_LEVELS[requirement.severity]},
    }


def _result(location: Path, fault: Fault, place: int) -> dict[str, Any]:
    in_archive = location.is_file()
    region: dict[str, Any] = {"startLine": 1}  # GitHub wants a line, also for what is about a whole file
    if fault.line and not in_archive:
        region["startLine"] = fault.line
        region |= {"startColumn": fault.column} if fault.column else {}
        region |= {"snippet": {"text": fault.source}} if fault.source else {}
    artifact = {"uri": _uri(location, "" if in_archive else fault.filename)}
    where: dict[str, Any] = {"physicalLocation": {"artifactLocation": artifact, "region": region}}
    if fault.filename and in_archive:
        where["logicalLocations"] = [{"name": fault.place, "kind": "member"}]
    identity = "\0".join((fault.requirement, fault.filename, fault.source or fault.message))
    return {
        "ruleId": fault.requirement,
        "ruleIndex": place,
        "level": _SARIF_LEVELS[fault.severity],
        "message": {"text": f"{fault.place}: {fault.message}" if in_archive else fault.message},
        "locations": [where],
        "partialFingerprints": {"faultHash/v1": hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()},
    }


def _uri(location: Path, filename: str) -> str:
    path = location / filename if filename else location
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))
