"""`memoryfield models`, and `embed` and `search` with models of servers, as a user runs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..doubles.ollama_server import OllamaServer
from ..doubles.openai_server import OpenAIServer
from .support import INDEX, forked, lines, make_kitchen, memoryfield, write_page

OPENAI = "openai:BAAI/bge-m3"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_kitchen(tmp_path / "notes")


@pytest.fixture
def env(ollama: OllamaServer, openai: OpenAIServer) -> dict[str, str]:
    """Both servers, as a command finds them."""
    ollama.models, openai.models = ["nomic-embed-text:latest", "mxbai-embed-large:latest"], ["BAAI/bge-m3"]
    return {"OLLAMA_HOST": ollama.host, "OPENAI_BASE_URL": openai.base_url, "NO_PROXY": "127.0.0.1"}


# models


def test_without_servers_the_two_known_models_are_listed() -> None:
    run = memoryfield("models")
    assert (run.code, run.err) == (0, "")
    bundled, nomic = lines(run.out)
    assert bundled == "all-MiniLM-L6-v2  384 dimensions  bundled  yes"
    assert nomic.startswith("nomic-embed-text-v1.5  768 dimensions  Ollama at http://127.0.0.1:9  no: no Ollama server")


def test_a_line_a_model_says_where_it_runs_and_whether_it_answers(
    env: dict[str, str], ollama: OllamaServer, openai: OpenAIServer
) -> None:
    run = memoryfield("models", env=env)
    assert (run.code, run.err) == (0, "")
    assert lines(run.out) == [
        "all-MiniLM-L6-v2  384 dimensions  bundled  yes",
        f"nomic-embed-text-v1.5  768 dimensions  Ollama at {ollama.host}  yes",
        f"BAAI-bge-m3  dimensions not known  OpenAI-compatible server at {openai.base_url}  yes",
        f"mxbai-embed-large  768 dimensions  Ollama at {ollama.host}  yes",
    ]


def test_json_has_a_row_a_model(env: dict[str, str], openai: OpenAIServer) -> None:
    rows = memoryfield("models", "--json", env=env).json["models"]
    assert [row["model"] for row in rows] == [
        *["all-MiniLM-L6-v2", "nomic-embed-text-v1.5", "BAAI-bge-m3", "mxbai-embed-large"]
    ]
    assert rows[2] == {
        "model": "BAAI-bge-m3",
        "spec": OPENAI,
        "dimensions": None,
        "where": f"OpenAI-compatible server at {openai.base_url}",
        "answers": True,
        "problem": "",
    }


def test_a_field_s_indexes_are_listed_too(env: dict[str, str], folder: Path, openai: OpenAIServer) -> None:
    assert memoryfield("embed", "-f", folder, "--model", OPENAI, env=env).code == 0
    openai.stop()
    rows = memoryfield("models", "-f", folder, "--json", env=env).json["models"]
    (row,) = [row for row in rows if row["model"] == "BAAI-bge-m3"]
    assert (row["spec"], row["dimensions"], row["answers"]) == (OPENAI, 768, False)
    assert row["problem"].startswith(f"no server answers at {openai.base_url}")


def test_a_server_that_is_set_up_and_silent_is_said(env: dict[str, str], openai: OpenAIServer) -> None:
    openai.stop()
    run = memoryfield("models", env=env)
    assert run.code == 0
    assert any(line.startswith("openai:MODEL  ") and "no: no server answers at" in line for line in lines(run.out))


def test_a_server_that_lists_nothing_is_said(env: dict[str, str], openai: OpenAIServer) -> None:
    openai.lists_models = False
    (row,) = [row for row in memoryfield("models", "--json", env=env).json["models"] if "openai" in row["spec"]]
    assert (row["spec"], row["answers"]) == ("openai:MODEL", False)
    assert row["problem"] == f"the server at {openai.base_url} does not list its models. Name one yourself."


def test_no_field_is_an_error_only_where_one_is_named(tmp_path: Path) -> None:
    assert forked("models", "-f", "nowhere", cwd=tmp_path).code == 2
    assert forked("models", cwd=tmp_path, env={"MEMORYFIELD": "nowhere"}).code == 0


# embed and search with them


def test_embed_search_and_drop_with_a_server_s_model(env: dict[str, str], folder: Path) -> None:
    run = memoryfield("embed", "-f", folder, "--model", OPENAI, "--model", "ollama:mxbai-embed-large", env=env)
    assert (run.code, run.err) == (0, "")
    assert [line.partition(";")[0] for line in lines(run.out)] == [
        "BAAI-bge-m3: 3 pages: 3 added",
        "mxbai-embed-large: 3 pages: 3 added",
    ]
    write_page(folder, "new.md", "# New\n\nText.\n")
    run = memoryfield("embed", "-f", folder, env=env)
    assert [line.partition(";")[0] for line in lines(run.out)] == [
        "BAAI-bge-m3: 4 pages: 1 added, 3 unchanged",
        "mxbai-embed-large: 4 pages: 1 added, 3 unchanged",
    ], "embed alone refreshes each"
    for given in ("mxbai-embed-large", "ollama:mxbai-embed-large"):
        found = memoryfield("search", "-f", folder, "--model", given, "--json", "wok", env=env).json
        assert (found["model"], found["notes"]) == ("mxbai-embed-large", [])
    assert memoryfield("search", "-f", folder, "--json", "wok", env=env).json["model"] == "BAAI-bge-m3"
    assert forked("embed", "-f", folder, "--drop", "mxbai-embed-large").out == "mxbai-embed-large.sqlite3 deleted\n"
    assert forked("embed", "-f", folder, "--drop", OPENAI).out == "BAAI-bge-m3.sqlite3 deleted\n"
    assert not list(folder.glob("*.sqlite3"))


@pytest.mark.parametrize("command", [["embed"], ["search", "wok"]])
@pytest.mark.parametrize("model", ["bge-m3", "ollama:", "mlx:bge-m3", "http://localhost/v1"])
def test_an_unknown_model_is_wrong_usage_and_the_forms_are_told(command: list[str], model: str, folder: Path) -> None:
    run = forked(*command, "-f", folder, "--model", model)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith(f"error: unknown model {model!r}") or "names no model" in run.err
    assert "ollama:TAG and openai:MODEL" in run.err
    assert len(lines(run.err)) == 1


@pytest.mark.parametrize("spec", ["ollama:nomic-embed-text", "openai:BAAI/bge-m3"])
def test_a_server_that_stops_in_the_middle_leaves_what_is_done(
    spec: str, env: dict[str, str], tmp_path: Path, ollama: OllamaServer, openai: OpenAIServer
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(80):
        write_page(folder, f"page-{number:02}.md", f"# Page {number}\n\nAbout wok{number}.\n")
    ollama.dies_after = openai.dies_after = 1
    run = memoryfield("embed", "-f", folder, "--model", spec, env=env)
    assert run.code == 1
    (error,) = lines(run.err)
    assert error.startswith("error: no ")
    assert "answers at http://127.0.0.1:" in error
    assert error.endswith(f"What is embedded stays; `memoryfield embed -f {folder}` goes on from there")
    assert "80 pages: 80 added, 64 embedded, 16 still to embed" in run.out
    run = memoryfield("search", "-f", folder, "--no-sync", "--json", "wok7", env=env)
    assert run.json["results"][0]["filename"] == "page-07.md"
    assert any("searched by keyword alone" in note for note in run.json["notes"])


def test_a_page_with_a_bad_vector_is_named_and_the_others_go_in(
    env: dict[str, str], folder: Path, openai: OpenAIServer
) -> None:
    openai.spoiled = {"cast iron": "zeros"}
    run = memoryfield("embed", "-f", folder, "--model", OPENAI, env=env)
    assert run.code == 1
    assert lines(run.err) == ["error: pans.md: cannot be embedded: BAAI/bge-m3: the vector is all zeros"]
    assert "2 embedded, 1 still to embed, 1 failed" in run.out


# threads


@pytest.mark.parametrize("threads", ["0", "-2", "many"])
def test_threads_that_are_no_number_above_zero_are_wrong_usage(threads: str, folder: Path) -> None:
    run = forked("embed", "-f", folder, "--threads", threads)
    assert run.code == 2
    assert "--threads" in run.err
    assert not list(folder.glob("*.sqlite3"))


def test_one_thread_makes_the_same_vectors(folder: Path, tmp_path: Path) -> None:
    other = make_kitchen(tmp_path / "other")
    assert memoryfield("embed", "-f", folder).code == 0
    assert memoryfield("embed", "-f", other, "--threads", "1").code == 0
    run = memoryfield("search", "-f", folder, "--json", "wok").json["results"]
    assert [hit | {"field": ""} for hit in run] == [
        hit | {"field": ""} for hit in memoryfield("search", "-f", other, "--json", "wok").json["results"]
    ]
    assert (other / INDEX).exists()
