"""Searches with models of servers: which is asked, by how many fields, and how often."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.errors import UnknownModelError
from memoryfield.search.searcher import Searcher

from ..cli.support import make_kitchen
from ..doubles.ollama_server import OllamaServer
from ..doubles.openai_server import OpenAIServer

SPEC = "openai:BAAI/bge-m3"
CODE = "BAAI-bge-m3"


@pytest.fixture
def folders(tmp_path: Path, openai: OpenAIServer) -> list[Path]:
    """Two fields whose indexes are of one model of one server."""
    openai.models = ["BAAI/bge-m3"]
    made = [make_kitchen(tmp_path / name) for name in ("one", "two")]
    for folder in made:
        with Field.open(folder) as field:
            field.sync(SPEC)
    openai.embedded.clear()
    return made


def test_a_query_is_embedded_once_for_all_fields_of_one_server(folders: list[Path], openai: OpenAIServer) -> None:
    with Searcher.open(folders) as searcher:
        found = searcher.search("which wok heats evenly?")
    assert {hit.field for hit in found.results} == {"one", "two"}
    assert (found.model, found.notes) == (CODE, [])
    assert openai.embedded == ["which wok heats evenly?"]


def test_fields_of_one_code_on_two_servers_each_ask_their_own(
    folders: list[Path], openai: OpenAIServer, ollama: OllamaServer
) -> None:
    ollama.models = ["BAAI/bge-m3"]
    with Field.open(folders[1]) as field:
        field.sync("ollama:BAAI/bge-m3")
    with Searcher.open(folders) as searcher:
        found = searcher.search("wok")
    assert (found.model, found.notes) == (CODE, [])
    assert openai.embedded == ollama.embedded == ["wok"]


def test_many_queries_are_each_embedded_once(folders: list[Path], openai: OpenAIServer) -> None:
    queries = [f"wok number {number}" for number in range(100)]
    with Searcher.open(folders[:1]) as searcher:
        answers = list(searcher.search_many(queries))
    assert [answer.query for answer in answers] == queries
    assert {answer.model for answer in answers} == {CODE}
    assert sorted(openai.embedded) == sorted(queries)


def test_a_code_that_one_field_knows_is_enough(folders: list[Path], tmp_path: Path) -> None:
    other = make_kitchen(tmp_path / "other")
    with Searcher.open([*folders[:1], other], model=CODE) as searcher:
        found = searcher.search("wok")
    assert found.model == CODE
    assert f"other: no embedder is known for the index of {CODE}" in found.notes
    with pytest.raises(UnknownModelError), Searcher.open([other], model=CODE):
        pass


def test_pages_like_one_are_found_without_the_server(folders: list[Path], openai: OpenAIServer) -> None:
    openai.stop()
    with Field.open(folders[0]) as field:
        found = field.similar("woks")
    assert [hit.filename for hit in found.results]
    assert openai.embedded == []


def test_a_server_that_takes_too_long_is_given_up(
    folders: list[Path], openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryfield.search.source.LONGEST_WAIT", 0.2)
    openai.slow = 3
    started = time.monotonic()
    with Searcher.open(folders[:1], min_score=0) as searcher:
        found = searcher.search("wok")
    assert time.monotonic() - started < openai.slow
    assert found.results[0].filename == "woks.md"
    assert (found.mode, found.model) == ("keyword", None)
    assert found.notes[0].startswith(f"{CODE} was not used: no vector of the query came within 0.2 seconds")
