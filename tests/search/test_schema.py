"""The shape of a result, as spec/search-result.schema.json has it: always the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from memoryfield import Field, Searcher
from memoryfield.answers import answer

from ..cli import shapes
from ..cli.support import make_kitchen, memoryfield


def faults(result: dict[str, Any]) -> list[str]:
    """What of a result, as it is sent, is not as the schema says."""
    return shapes.faults("search", json.loads(json.dumps(answer(result))))


def test_the_schema_is_one() -> None:
    file = Path(__file__).parents[2] / "spec" / "search-result.schema.json"
    Draft202012Validator.check_schema(schema := json.loads(file.read_text(encoding="utf-8")))
    answered = {"schema": 1, "query": "wok", "mode": "keyword", "model": None, "notes": [], "results": []}
    assert Draft202012Validator(schema).is_valid(answered)
    assert not any(
        Draft202012Validator(schema).is_valid({key: value for key, value in answered.items() if key != missing})
        for missing in answered
    )


def test_who_reads_a_result_must_expect_more_keys() -> None:
    """The published schema is open, that of the tests is not."""
    file = Path(__file__).parents[2] / "spec" / "search-result.schema.json"
    more: dict[str, Any] = {"query": "wok", "mode": "keyword", "model": None, "notes": [], "results": [], "took_ms": 12}
    assert Draft202012Validator(json.loads(file.read_text(encoding="utf-8"))).is_valid(answer(more))
    assert faults(more)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
@pytest.mark.parametrize(
    "options", [{}, {"include_stale": True}, {"full": True}, {"budget": 60}, {"where": ["a=b"]}], ids=str
)
def test_every_result_has_its_shape(tmp_path: Path, mode: str, options: dict[str, Any]) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen", embedded=True)
    (kitchen / "broken.md").write_bytes(b"---\ntitle: [\n---\nA wok \xff")
    other = make_kitchen(tmp_path / "other")
    with Searcher.open([kitchen, other, tmp_path / "missing"], mode=mode, min_score=0, **options) as searcher:
        for query in ("wok", "zzz", "", 'wok "steel"'):
            (result,) = searcher.search_many([query])
            assert faults(result.to_dict()) == []
            for hit in result.to_dict()["results"]:
                assert ("stale" in hit, "text" in hit) == (
                    "include_stale" in options,
                    bool({"full", "budget"} & {*options}),
                )
    with Field.open(kitchen) as field:
        assert faults(field.similar("woks", min_score=0, **options).to_dict()) == []


def test_the_command_prints_the_same(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen", embedded=True)
    for arguments in (["search", "wok", "--json"], ["similar", "woks", "--json"]):
        printed = memoryfield(*arguments, "--min-score", "0", cwd=kitchen).json
        assert printed["results"]
        assert shapes.faults("search", printed) == []


def test_a_page_without_frontmatter_has_null_and_one_with_an_empty_block_an_object(tmp_path: Path) -> None:
    for name, text in (("none.md", "A wok.\n"), ("rule.md", "---\n\nA wok.\n"), ("empty.md", "---\n---\n\nA wok.\n")):
        (tmp_path / name).write_text(text)
    with Field.open(tmp_path) as field:
        for _ in range(2):  # read from the pages, then beside an index
            found = {hit.filename: hit.to_dict() for hit in field.search("wok", mode="keyword", min_score=0).results}
            assert {name: hit["frontmatter"] for name, hit in found.items()} == {
                "none.md": None,
                "rule.md": None,
                "empty.md": {},
            }
            assert not [
                fault for hit in found.values() for fault in faults({**field.search("x").to_dict(), "results": [hit]})
            ]
            field.sync()
