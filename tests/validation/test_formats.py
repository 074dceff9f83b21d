"""A report as other programs read it: JSON, GitHub's annotations, SARIF."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from sarif_pydantic import Sarif

from memoryfield.validation import Fault, requirements
from memoryfield.validation.formats import as_github, as_json, as_sarif, count

from .support import check, pack, page, write

FAULTS = [
    Fault("", 0, 0, "C-1", "a field must hold at least one page"),
    Fault("a.md", 0, 0, "P-4", "is 9,000 bytes"),
    Fault("a.md", 3, 0, "R-7", "lines end in CR"),
    Fault("a.md", 3, 7, "F-11", "'x' is not a uuid", "uuid: x"),
]

JSON_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["field", "pages", "errors", "warnings", "notices", "notes", "faults"],
    "properties": {
        "field": {"type": "string"},
        **{name: {"type": "integer", "minimum": 0} for name in ("pages", "errors", "warnings", "notices")},
        "notes": {"type": "array", "items": {"type": "string"}},
        "faults": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["filename", "line", "column", "severity", "requirement", "message", "source"],
                "properties": {
                    **{name: {"type": "string"} for name in ("filename", "message", "source")},
                    **{name: {"type": "integer", "minimum": 0} for name in ("line", "column")},
                    "severity": {"enum": ["error", "warning", "notice"]},
                    "requirement": {"type": "string", "pattern": r"^[A-Z]-\d+$"},
                },
            },
        },
    },
}


def odd_field(folder: Path) -> list[Fault]:
    """Faults of every kind of place, with names and texts that need care."""
    folder.mkdir()
    files: dict[str, str | bytes] = {
        "a.md": page(title="No", body="50% \u200b, ::x::\n[x](gone.md)\x1b"),
        "ünï, 100%: a.md": b"\xff",
        "炭素.md": b"",
        "c.md": page(created="today"),
    }
    if os.name != "nt":
        files["line\nend.txt.md"] = page()
    write(folder, files)
    found = check(folder)
    assert {fault.severity for fault in found} >= {"error", "warning"}
    return found


def test_faults_are_counted_by_severity() -> None:
    assert count([]) == {"errors": 0, "warnings": 0, "notices": 0}
    assert count(FAULTS) == {"errors": 1, "warnings": 2, "notices": 1}


# JSON


def test_the_json_report_has_its_shape(tmp_path: Path) -> None:
    report = as_json("kitchen", 4, odd_field(tmp_path / "field"), ["a note"])
    jsonschema.validate(json.loads(json.dumps(report)), JSON_SCHEMA)
    jsonschema.validate(as_json("kitchen", 0, [], []), JSON_SCHEMA)
    assert report["notes"] == ["a note"]


# GitHub


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """An annotation as GitHub's runner reads it: its kind, its properties and its message."""
    match = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
    assert match, line
    properties = dict(part.split("=", 1) for part in match[2].split(","))
    unescaped = {
        key: re.sub("%(25|0D|0A|3A|2C)", lambda found: unquote(found[0]), value) for key, value in properties.items()
    }
    return match[1], unescaped, re.sub("%(25|0D|0A)", lambda found: unquote(found[0]), match[3])


def test_each_fault_is_an_annotation() -> None:
    assert list(as_github(Path("notes"), FAULTS)) == [
        "::error file=notes,title=memoryfield C-1::a field must hold at least one page",
        "::warning file=notes/a.md,title=memoryfield P-4::is 9,000 bytes",
        "::notice file=notes/a.md,line=3,title=memoryfield R-7::lines end in CR",
        "::warning file=notes/a.md,line=3,col=7,title=memoryfield F-11::'x' is not a uuid",
    ]


def test_what_github_would_misread_is_escaped() -> None:
    message = "50% of\r\nlines: a, b ::error::x"
    (line,) = as_github(Path("a,b"), [Fault("c: 100%\n.md", 1, 2, "P-2", message)])
    assert line.startswith(
        "::error file=a%2Cb/c%3A 100%25%0A.md,line=1,col=2,title=memoryfield P-2::50%25 of%0D%0Alines: a"
    )
    assert parsed(line) == (
        "error",
        {"file": "a,b/c: 100%\n.md", "line": "1", "col": "2", "title": "memoryfield P-2"},
        message,
    )


def test_every_annotation_is_one_line_that_can_be_read_back(tmp_path: Path) -> None:
    found = odd_field(tmp_path / "field")
    for line, fault in zip(as_github(tmp_path / "field", found), found, strict=True):
        assert "\n" not in line
        kind, properties, message = parsed(line)
        assert (kind, message) == (fault.severity, fault.message)
        assert Path(properties["file"]) == tmp_path / "field" / fault.filename
        assert properties.get("line", "0") == str(fault.line)


def test_in_an_archive_the_place_is_told_in_the_message(tmp_path: Path) -> None:
    packed = pack(tmp_path / "notes.memoryfield.zip", {"a.md": page(title="No")})
    (line,) = as_github(packed, check(packed))
    _, properties, message = parsed(line)
    assert properties == {"file": packed.as_posix(), "title": "memoryfield F-14"}
    assert message.startswith("a.md:2:1: ")


# SARIF


def results(location: Path, faults: list[Fault]) -> list[dict[str, Any]]:
    """The results, after everything was checked that every one of them needs."""
    log = json.loads(json.dumps(as_sarif(location, faults, version="1.2.3")))
    Sarif.model_validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        (place,) = result["locations"]
        assert place["physicalLocation"]["region"]["startLine"] >= 1
        assert not re.search(r"[\s%](?![0-9A-F]{2})", place["physicalLocation"]["artifactLocation"]["uri"])
    found: list[dict[str, Any]] = run["results"]
    return found


def test_a_log_is_what_github_takes(tmp_path: Path) -> None:
    log = as_sarif(tmp_path, FAULTS, version="1.2.3")
    assert (log["version"], log["$schema"].rsplit("/")[-1]) == ("2.1.0", "sarif-schema-2.1.0.json")
    driver = log["runs"][0]["tool"]["driver"]
    assert (driver["name"], driver["semanticVersion"]) == ("memoryfield", "1.2.3")
    assert [rule["id"] for rule in driver["rules"]] == [one.id for one in requirements().values() if one.is_visible]
    for rule in driver["rules"]:
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")
        assert all(rule[key]["text"] for key in ("shortDescription", "fullDescription", "help"))


def test_each_fault_is_a_result_at_its_place() -> None:
    found = results(Path("my notes"), FAULTS)
    assert [(one["ruleId"], one["level"]) for one in found] == [
        ("C-1", "error"),
        ("P-4", "warning"),
        ("R-7", "note"),
        ("F-11", "warning"),
    ]
    places = [one["locations"][0]["physicalLocation"] for one in found]
    assert [place["artifactLocation"]["uri"] for place in places] == ["my%20notes", *["my%20notes/a.md"] * 3]
    assert [place["region"] for place in places] == [
        {"startLine": 1},
        {"startLine": 1},
        {"startLine": 3},
        {"startLine": 3, "startColumn": 7, "snippet": {"text": "uuid: x"}},
    ]


def test_every_result_can_be_read_whatever_it_is_about(tmp_path: Path) -> None:
    found = odd_field(tmp_path / "field")
    for location in (tmp_path / "field", Path(os.path.relpath(tmp_path / "field"))):
        for one, fault in zip(results(location, found), found, strict=True):
            uri = one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            assert unquote(uri).endswith(f"field/{fault.filename}".rstrip("/"))
            assert uri.startswith("file://") is location.is_absolute()


@pytest.mark.skipif(os.name == "nt", reason="such names cannot be made there")
def test_a_name_that_is_not_utf8_breaks_no_report(tmp_path: Path) -> None:
    fault = Fault(os.fsdecode(b"caf\xe9.md"), 0, 0, "P-2", "has a name that is not UTF-8")
    for location in (tmp_path, Path("notes")):
        (one,) = results(location, [fault])
        assert one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("/caf%E9.md")
    assert len(list(as_github(tmp_path, [fault]))) == 1


def test_in_an_archive_the_result_is_about_the_archive(tmp_path: Path) -> None:
    packed = pack(tmp_path / "notes.memoryfield.zip", {"a.md": page(title="No")})
    (one,) = results(packed, check(packed))
    place = one["locations"][0]
    assert place["physicalLocation"] == {"artifactLocation": {"uri": packed.as_uri()}, "region": {"startLine": 1}}
    assert place["logicalLocations"] == [{"name": "a.md:2:1", "kind": "member"}]
    assert one["message"]["text"].startswith("a.md:2:1: ")


def test_a_fault_keeps_its_fingerprint_when_lines_are_added_above_it() -> None:
    def mark(fault: Fault) -> str:
        (one,) = results(Path("notes"), [fault])
        return str(one["partialFingerprints"]["faultHash/v1"])

    fault = FAULTS[3]
    moved = Fault("a.md", 30, 7, "F-11", "'x' is not a uuid", "uuid: x")
    others = [Fault("b.md", 3, 7, "F-11", fault.message, fault.source), *FAULTS[:3]]
    assert mark(fault) == mark(moved)
    assert mark(fault) not in {mark(one) for one in others}
