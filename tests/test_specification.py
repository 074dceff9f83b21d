"""The JSON Schemas of spec/: valid where they lie, open, and complete in themselves when the library gives one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from memoryfield import errors
from memoryfield.errors import MemoryfieldError, PageNotFoundError, UsageError
from memoryfield.specification import document, referred, shape, shapes

SPEC = Path(__file__).parents[1] / "spec"
BASE = "https://example.org/spec/"
FILES = {
    file.relative_to(SPEC).as_posix(): json.loads(file.read_text(encoding="utf-8"))
    for file in [*SPEC.glob("schemas/*.json"), SPEC / "search-result.schema.json"]
}
REGISTRY: Any = Registry().with_resources(
    (BASE + name, Resource.from_contents(contents)) for name, contents in FILES.items()
)


def parts(schema: Any) -> list[dict[str, Any]]:
    """Every object in a schema."""
    if isinstance(schema, list):
        return [found for part in schema for found in parts(part)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(found for part in schema.values() for found in parts(part))]


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_a_schema_with_a_title_whose_references_lead_somewhere(name: str) -> None:
    schema = FILES[name]
    Draft202012Validator.check_schema(schema)
    assert schema["title"]
    resolver = REGISTRY.resolver(BASE + name)
    for part in parts(schema):
        if isinstance(part.get("$ref"), str):
            assert resolver.lookup(part["$ref"]).contents


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_open_and_every_key_that_is_required_is_described(name: str) -> None:
    for part in parts(FILES[name]):
        assert part.get("additionalProperties") is not False
        if isinstance(part.get("properties"), dict):
            assert set(part["required"]) <= part["properties"].keys()


def test_no_two_things_have_one_name() -> None:
    names = [name for schema in FILES.values() for name in schema.get("$defs", {})]
    names += [Path(name).name.split(".")[0] for name in FILES if name != "schemas/common.json"]
    assert sorted(names) == sorted(shapes())


@pytest.mark.parametrize("name", sorted(shapes()))
def test_a_shape_is_complete_in_itself(name: str) -> None:
    found = shape(name)
    Draft202012Validator.check_schema(found)
    assert set(referred(found)) == found.get("$defs", {}).keys()
    assert "$ref" not in found


def test_a_shape_says_what_the_file_says() -> None:
    """The same answers are valid, by the file with its references and by what the library makes of it."""
    by_file = Draft202012Validator({"$ref": BASE + "schemas/update.json"}, registry=REGISTRY)
    ours = Draft202012Validator(shape("update"))
    sha, content = "0" * 64, "mf1:" + "0" * 64
    answer = {"schema": 1, "name": "a", "location": "a.zip", "pinned": sha, "found": sha, "pages": 1}
    answer |= {"content_hash": content, "changes": None, "moved": False}
    for value, holds in ((answer, True), ({**answer, "found": "0"}, False), ({**answer, "changes": {}}, False)):
        assert by_file.is_valid(value) is ours.is_valid(value) is holds


def test_a_document_that_is_missing_is_told() -> None:
    with pytest.raises(MemoryfieldError, match=r"spec/nothing\.md is missing from the installation"):
        document("nothing.md")


# errors


def test_every_kind_of_error_is_in_the_schema() -> None:
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, MemoryfieldError)]
    kinds = shapes()["error"]["properties"]["error"]["properties"]["kind"]["enum"]
    assert sorted(kinds) == sorted([*(one.kind for one in classes), "system"])
    assert len(set(kinds)) == len(kinds)


def test_an_error_from_elsewhere_is_of_the_nearest_kind() -> None:
    class OddError(UsageError):
        pass

    assert (UsageError.kind, OddError.kind, MemoryfieldError("x").kind) == ("usage", "usage", "error")


def test_an_error_tells_its_facts() -> None:
    assert PageNotFoundError("wok", ("woks.md",)).to_dict() == {
        "kind": "page-not-found",
        "message": "no page 'wok'",
        "hint": "Did you mean woks.md?",
        "exit": 1,
        "wanted": "wok",
        "suggestions": ["woks.md"],
    }


def test_every_fact_that_an_error_carries_is_in_the_schema() -> None:
    assert {*errors._FACTS} <= shapes()["error"]["properties"]["error"]["properties"].keys()
