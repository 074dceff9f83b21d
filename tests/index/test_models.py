"""Whose vectors an index holds: noted at each sync, believed only as far as it can be, asked again later."""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.containers import open_container
from memoryfield.embedders.minilm import MiniLM
from memoryfield.embedders.ollama import OllamaEmbedder
from memoryfield.embedders.openai import OpenAIEmbedder
from memoryfield.errors import UnknownModelError, UsageError
from memoryfield.index.files import embedder_of
from memoryfield.index.models import list_models

from ..cli.support import make_kitchen, write_page
from ..doubles.ollama_server import OllamaServer
from ..doubles.openai_server import OpenAIServer
from ..doubles.server import bundled_vectors, hashed_vectors

OPENAI = "openai:BAAI/bge-m3"
CODE = "BAAI-bge-m3"
NOMIC = "nomic-embed-text-v1.5"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_kitchen(tmp_path / "notes")


@pytest.fixture
def field(folder: Path) -> Iterator[Field]:
    with Field.open(folder) as opened:
        yield opened


@pytest.fixture
def embedded(field: Field, folder: Path, openai: OpenAIServer) -> Path:
    """The index of a field that has one of a model of the OpenAI double alone."""
    openai.models = ["BAAI/bge-m3"]
    assert field.sync(OPENAI).embedded == 3
    openai.received.clear()
    openai.embedded.clear()
    return folder / f"{CODE}.sqlite3"


def meta(index: Path) -> dict[str, str]:
    with closing(sqlite3.connect(index)) as connection:
        return dict(connection.execute("SELECT key, value FROM memoryfield_meta"))


def note(index: Path, spec: str) -> None:
    """Write a spec into an index, as anybody can."""
    with closing(sqlite3.connect(index)) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO memoryfield_meta VALUES ('embedder', ?)", (spec,))


# noted


def test_the_index_is_named_by_the_code_and_tells_the_spec(embedded: Path) -> None:
    assert meta(embedded)["embedder"] == OPENAI
    assert meta(embedded)["model"] == CODE


def test_the_bundled_model_is_noted_too(field: Field, folder: Path) -> None:
    field.sync()
    assert meta(folder / "all-MiniLM-L6-v2.sqlite3")["embedder"] == "all-MiniLM-L6-v2"


def test_neither_address_nor_key_is_in_the_file(embedded: Path, openai: OpenAIServer) -> None:
    assert openai.address.encode() not in embedded.read_bytes()
    assert b"127.0.0.1" not in embedded.read_bytes()


def test_an_index_that_is_up_to_date_stays_as_it_is(embedded: Path, field: Field) -> None:
    field.sync(OPENAI)
    before = embedded.read_bytes()
    report = field.sync(OPENAI)
    assert (report.unchanged, report.embedded) == (3, 0)
    assert embedded.read_bytes() == before


def test_a_keyword_sync_does_not_forget_it(embedded: Path, field: Field, folder: Path) -> None:
    write_page(folder, "new.md", "# New\n\nText.\n")
    field.search("text", mode="keyword")
    assert meta(embedded)["embedder"] == OPENAI


# asked again


@pytest.mark.parametrize("given", [None, CODE, OPENAI])
def test_a_later_sync_asks_the_same_server(
    given: str | None, embedded: Path, field: Field, folder: Path, openai: OpenAIServer
) -> None:
    write_page(folder, "new.md", "# New\n\nText.\n")
    report = field.sync(given)
    assert (report.model, report.embedded) == (CODE, 1)
    assert openai.embedded == ["# New\n\nText.\n"]
    assert {path.name for path in folder.glob("*.sqlite3")} == {embedded.name}


@pytest.mark.parametrize("given", [None, CODE, OPENAI])
@pytest.mark.usefixtures("embedded")
def test_a_later_search_asks_the_same_server(given: str | None, field: Field, openai: OpenAIServer) -> None:
    found = field.search("which wok heats evenly?", model=given)
    assert (found.model, found.mode, found.notes) == (CODE, "hybrid", [])
    assert found.results[0].filename == "woks.md"
    assert openai.embedded == ["which wok heats evenly?"]


@pytest.mark.usefixtures("embedded")
def test_a_search_embeds_what_changed_with_the_same_server(field: Field, folder: Path, openai: OpenAIServer) -> None:
    write_page(folder, "new.md", "# Griddles\n\nA griddle is flat.\n")
    found = field.search("a flat griddle")
    assert (found.results[0].filename, found.notes) == ("new.md", [])
    assert sorted(openai.embedded) == ["# Griddles\n\nA griddle is flat.\n", "a flat griddle"]


def test_nomic_of_another_server_is_asked_there(field: Field, folder: Path, openai: OpenAIServer) -> None:
    openai.models = ["text-embedding-nomic-embed-text-v1.5"]
    field.sync("openai:text-embedding-nomic-embed-text-v1.5")
    assert [path.name for path in folder.glob("*.sqlite3")] == [f"{NOMIC}.sqlite3"]
    found = field.search("which wok?", model=NOMIC)
    assert (found.model, found.notes) == (NOMIC, [])
    assert openai.embedded[-1] == "search_query: which wok?"


def test_a_spec_that_is_given_counts_more_than_the_one_that_is_noted(
    embedded: Path, field: Field, folder: Path, ollama: OllamaServer
) -> None:
    ollama.models = ["BAAI/bge-m3"]
    write_page(folder, "new.md", "# New\n\nText.\n")
    assert field.sync("ollama:BAAI/bge-m3").embedded == 1
    assert ollama.embedded == ["# New\n\nText.\n"]
    assert meta(embedded)["embedder"] == "ollama:BAAI/bge-m3"


@pytest.mark.usefixtures("embedded")
def test_vectors_of_another_length_than_those_that_are_there_are_refused(
    field: Field, folder: Path, openai: OpenAIServer
) -> None:
    openai.dimensions = 384
    write_page(folder, "new.md", "# New\n\nText.\n")
    (failed,) = field.sync().failed
    assert failed[0] == "new.md"
    assert "384 dimensions instead of 768" in failed[1]
    found = field.search("wok")
    assert found.mode == "keyword"
    assert any("384 dimensions instead of 768" in text for text in found.notes)
    assert field.sync(rebuild=True).embedded == 4
    assert field.search("wok").model == CODE


def test_vectors_of_mixed_lengths_are_made_anew(embedded: Path, field: Field) -> None:
    with closing(sqlite3.connect(embedded)) as connection, connection:
        connection.execute(
            "UPDATE pages SET embedding = ? WHERE rowid = (SELECT max(rowid) FROM pages)", (struct.pack("<f", 1),)
        )
    assert field.sync().embedded == 1


# which index


@pytest.mark.usefixtures("embedded")
def test_nomic_and_the_bundled_model_come_before_others(field: Field, ollama: OllamaServer) -> None:
    field.sync("all-MiniLM-L6-v2")
    assert field.search("wok").model == "all-MiniLM-L6-v2"
    field.sync(NOMIC)
    assert field.search("wok").model == NOMIC
    ollama.stop()
    found = field.search("wok")
    assert found.model == "all-MiniLM-L6-v2"
    assert any(text.startswith(f"{NOMIC} was not used: no Ollama server answers") for text in found.notes)
    assert field.models() == [NOMIC, "all-MiniLM-L6-v2", CODE]
    field.drop_index("all-MiniLM-L6-v2")
    field.drop_index("ollama:nomic-embed-text")
    assert field.search("wok").model == CODE
    field.drop_index(OPENAI)
    assert field.models() == ["all-MiniLM-L6-v2"]


@pytest.mark.usefixtures("embedded")
def test_without_any_answer_words_alone_are_searched_and_it_is_said(field: Field, openai: OpenAIServer) -> None:
    openai.stop()
    found = field.search("wok")
    assert (found.mode, found.model) == ("keyword", None)
    assert found.notes[0].startswith(f"{CODE} was not used: no server answers at {openai.base_url}")
    assert found.notes[1] == "searched by keyword alone"


def test_a_model_without_an_index_is_said_with_the_command_that_makes_one(field: Field, openai: OpenAIServer) -> None:
    openai.models = ["BAAI/bge-m3"]
    found = field.search("wok", model=OPENAI)
    assert (found.mode, found.results[0].filename) == ("keyword", "woks.md")
    assert f"there is no index of {CODE}: run `memoryfield embed --model {OPENAI}`" in found.notes


# not believed


@pytest.mark.parametrize(
    "spec",
    [
        "ollama:another",
        "http://127.0.0.1:1/BAAI-bge-m3",
        "all-MiniLM-L6-v2",
        "openai:",
        "",
        "openai:BAAI/bge-m3\n",
        "mlx:BAAI/bge-m3",
        NOMIC,
    ],
)
def test_a_spec_that_is_not_of_this_index_is_ignored(
    spec: str, embedded: Path, field: Field, openai: OpenAIServer, ollama: OllamaServer
) -> None:
    note(embedded, spec)
    with pytest.raises(UnknownModelError, match="ollama:TAG"):
        embedder_of(open_container(embedded.parent), CODE)
    found = field.search("wok")
    assert found.mode == "keyword"
    assert f"no embedder is known for the index of {CODE}" in found.notes
    assert field.models() == ["all-MiniLM-L6-v2"]
    assert openai.received == ollama.received == []


def test_the_bundled_model_is_never_asked_elsewhere(field: Field, folder: Path, openai: OpenAIServer) -> None:
    field.sync()
    note(folder / "all-MiniLM-L6-v2.sqlite3", "openai:all-MiniLM-L6-v2")
    assert isinstance(embedder_of(field.container, "all-MiniLM-L6-v2"), MiniLM)
    assert field.search("wok").model == "all-MiniLM-L6-v2"
    assert openai.received == []


def test_an_index_that_does_not_tell_is_searched_with_the_spec_that_is_given(
    embedded: Path, field: Field, folder: Path
) -> None:
    with closing(sqlite3.connect(embedded)) as connection, connection:
        for table in ("meta", "files"):
            connection.execute(f"DROP TABLE memoryfield_{table}")
    assert field.search("wok", model=OPENAI).model == CODE
    assert meta(embedded)["embedder"] == OPENAI
    assert field.search("wok").model == CODE


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_a_damaged_index_tells_nothing(content: bytes, embedded: Path, field: Field) -> None:
    embedded.write_bytes(content)
    with pytest.raises(UnknownModelError):
        embedder_of(field.container, CODE)
    assert isinstance(embedder_of(field.container, OPENAI), OpenAIEmbedder)
    assert field.search("wok").mode == "keyword"


def test_an_archive_keeps_whose_vectors_they_are(embedded: Path, field: Field, tmp_path: Path) -> None:
    from memoryfield import pack

    pack(field, tmp_path / "x.memoryfield.zip")
    with Field.open(tmp_path / "x.memoryfield.zip") as archive:
        found = archive.search("which wok heats evenly?")
        assert (found.model, found.results[0].filename, found.notes) == (CODE, "woks.md", [])
    assert embedded.exists()


# threads


@pytest.mark.parametrize("threads", [0, -1])
def test_less_than_one_thread_is_refused(threads: int, field: Field, folder: Path) -> None:
    with pytest.raises(UsageError, match=f"{threads} threads"):
        field.sync(threads=threads)
    assert not list(folder.glob("*.sqlite3"))


def test_threads_are_the_bundled_model_s(field: Field, monkeypatch: pytest.MonkeyPatch, openai: OpenAIServer) -> None:
    from concurrent import futures

    counts: list[int] = []

    class Pool(futures.ThreadPoolExecutor):
        def __init__(self, threads: int) -> None:
            counts.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(futures, "ThreadPoolExecutor", Pool)
    write_page(field.location, "long.md", "A carbon steel wok heats evenly. " * 200)
    field.sync("all-MiniLM-L6-v2", threads=1)
    field.sync("all-MiniLM-L6-v2", threads=3, rebuild=True)
    assert counts == [1, 3]
    openai.models = ["BAAI/bge-m3"]
    assert field.sync(OPENAI, threads=1).embedded == 4


# all the models


def test_every_model_is_listed_once_with_where_it_runs(
    embedded: Path, field: Field, ollama: OllamaServer, openai: OpenAIServer
) -> None:
    ollama.models = ["nomic-embed-text:latest", "bge-m3:latest", "bge-m3:567m"]
    ollama.talkers = ["llama3.2:latest"]
    rows = {row.spec: row for row in list_models(field.container)}
    assert list(rows) == [
        *["all-MiniLM-L6-v2", "ollama:nomic-embed-text"],
        *[OPENAI, "ollama:bge-m3", "ollama:bge-m3:567m"],
    ]
    assert {row.model for row in rows.values()} == {"all-MiniLM-L6-v2", NOMIC, CODE, "bge-m3", "bge-m3-567m"}
    assert all(row.answers for row in rows.values()), rows
    assert [row.dimensions for row in rows.values()] == [384, 768, 768, 768, 768]
    assert rows["all-MiniLM-L6-v2"].where == "bundled"
    assert rows["ollama:bge-m3"].where == f"Ollama at {ollama.host}"
    assert rows[OPENAI].where == f"OpenAI-compatible server at {openai.base_url}"
    assert ollama.embedded == openai.embedded == [], "nothing is embedded for it"


@pytest.mark.usefixtures("ollama")
def test_of_a_long_list_those_are_shown_that_embed_by_their_name(openai: OpenAIServer) -> None:
    openai.models = ["gpt-5", "text-embedding-3-small", "text-embedding-3-large", "whisper-1", "bad\nname-embed"]
    specs = [row.spec for row in list_models() if row.spec.startswith("openai:")]
    assert specs == ["openai:text-embedding-3-large", "openai:text-embedding-3-small"]
    openai.models = ["BAAI/bge-m3"]
    assert "openai:BAAI/bge-m3" in [row.spec for row in list_models()]


@pytest.mark.usefixtures("ollama")
def test_a_server_that_nobody_set_up_is_not_asked(openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL")
    assert not [row for row in list_models() if "openai" in row.spec]
    assert openai.received == []


def test_an_index_without_a_known_embedder_is_listed_as_such(embedded: Path, field: Field) -> None:
    note(embedded, "")
    row, listed = [row for row in list_models(field.container) if row.model == CODE]
    assert (row.answers, row.spec) == (False, "")
    assert (listed.answers, listed.spec) == (True, OPENAI)


@pytest.mark.usefixtures("embedded")
def test_dead_servers_are_said_and_waited_for_side_by_side(
    field: Field, ollama: OllamaServer, openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memoryfield.embedders import remote

    check = remote.Patience(1, 0.3, 0)
    for name in ("ollama", "openai"):
        monkeypatch.setattr(f"memoryfield.embedders.{name}.CHECK", check)
    ollama.slow = openai.slow = 0.6
    rows = list_models(field.container)
    silent = [row for row in rows if not row.answers]
    assert len(silent) == 3
    assert all("did not answer in time" in row.problem for row in silent)
    begun = [request.path for request in (*ollama.received, *openai.received)]
    assert sorted(begun) == ["/api/tags", "/api/tags", "/v1/models", "/v1/models"]


# the doubles


@pytest.mark.parametrize("dimensions", [256, 768, 1024])
def test_the_doubles_embed_by_meaning_in_any_number_of_dimensions(dimensions: int) -> None:
    def cosine(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)

    texts = ["How do I fry vegetables?", "A wok is a pan for stir-frying greens.", "The moon pulls at the tides."]
    query, pan, moon = bundled_vectors(texts, dimensions)
    assert len(query) == dimensions
    assert cosine(query, pan) > cosine(query, moon) + 0.2
    query, pan, moon = hashed_vectors(texts, dimensions)
    assert abs(cosine(query, pan)) < 0.2


@pytest.mark.parametrize("kind", [OllamaServer, OpenAIServer])
def test_a_field_is_searched_by_meaning_through_either_double(
    kind: type[OllamaServer] | type[OpenAIServer], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with kind(models=["bge-m3"], dimensions=1024) as server, Field.open(folder) as field:
        monkeypatch.setenv("OLLAMA_HOST", server.address)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
        field.sync(f"{kind.__name__.removesuffix('Server').lower()}:bge-m3")
        found = field.search("protecting ironware from corrosion", mode="semantic", min_score=0)
    assert found.model == "bge-m3"
    assert found.results[0].filename == "pans.md"
    assert isinstance(embedder_of(open_container(folder), "bge-m3"), OllamaEmbedder | OpenAIEmbedder)
