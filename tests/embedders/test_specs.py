"""Which model a name means, and the code that its index is named by."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryfield.embedders import MODELS, dimensions_of, find_embedder, is_known
from memoryfield.embedders.ollama import OllamaEmbedder
from memoryfield.embedders.openai import OpenAIEmbedder
from memoryfield.embedders.specs import parse
from memoryfield.errors import UnknownModelError
from memoryfield.index.files import code_of
from memoryfield.names import is_index

NOMIC = "nomic-embed-text-v1.5"


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("ollama:bge-m3", "bge-m3"),
        ("ollama:bge-m3:latest", "bge-m3"),
        ("ollama:bge-m3:567m", "bge-m3-567m"),
        ("ollama:hf.co/Qwen/Qwen3-Embedding-0.6B-GGUF:Q8_0", "hf.co-Qwen-Qwen3-Embedding-0.6B-GGUF-Q8_0"),
        ("openai:text-embedding-3-small", "text-embedding-3-small"),
        ("openai:BAAI/bge-m3", "BAAI-bge-m3"),
        ("openai:/models/../bge m3.gguf", "models-..-bge-m3.gguf"),
        ("openai:.hidden", "hidden"),
        ("openai:--rm", "rm"),
        ("openai:bge-m3:latest", "bge-m3"),
        ("openai:C:\\models\\x", "C--models-x"),
    ],
)
def test_the_code_is_the_name_made_safe(spec: str, code: str) -> None:
    assert parse(spec).code == code
    assert find_embedder(spec).model == code


@pytest.mark.parametrize(
    "spec",
    [
        NOMIC,
        "ollama:nomic-embed-text",
        "ollama:nomic-embed-text:latest",
        "ollama:nomic-embed-text:v1.5",
        "openai:nomic-embed-text-v1.5",
        "openai:text-embedding-nomic-embed-text-v1.5",
        "openai:nomic-ai/nomic-embed-text-v1.5",
    ],
)
def test_nomic_is_one_model_whatever_a_server_calls_it(spec: str) -> None:
    assert parse(spec).code == NOMIC
    assert dimensions_of(spec) == find_embedder(spec).dimensions == 768


def test_a_server_is_asked_for_the_name_that_was_given() -> None:
    assert parse("ollama:nomic-embed-text:v1.5").name == "nomic-embed-text:v1.5"
    assert parse("openai:bge-m3:latest").name == "bge-m3:latest"
    assert parse("ollama:bge-m3:latest").name == "bge-m3"


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "All-Minilm-L6-V2", "all-MiniLM-L6-v2-q8", f"{NOMIC}:q8"])
@pytest.mark.parametrize("server", ["ollama", "openai"])
def test_an_index_is_never_taken_for_that_of_a_known_model(server: str, name: str) -> None:
    code = parse(f"{server}:{name}").code
    assert code.startswith(f"{server}-")
    assert code_of(f"{code}.sqlite3") == code


@pytest.mark.parametrize(
    "spec",
    [
        *[
            "",
            "ollama:",
            "openai:",
            "openai:...",
            "openai:/",
            "ollama::latest",
            "bge-m3",
            "http://x",
            "openai",
            "mlx:x",
        ],
        *["openai:炭", "openai:a\nb", "openai:\udc80x", "openai:\x1b[31m", "openai:" + "x" * 101],
    ],
)
def test_what_names_no_model_is_refused_with_the_forms_that_do(spec: str) -> None:
    assert not is_known(spec)
    assert dimensions_of(spec) is None
    with pytest.raises(UnknownModelError) as caught:
        find_embedder(spec)
    assert all(form in str(caught.value) for form in (*MODELS, "ollama:TAG", "openai:MODEL", "memoryfield models"))


@given(st.sampled_from(["ollama", "openai"]), st.text(max_size=40))
def test_a_code_is_a_plain_file_name_and_its_spec_leads_back_to_it(server: str, name: str) -> None:
    try:
        spec = parse(f"{server}:{name}")
    except UnknownModelError:
        return
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", spec.code)
    assert is_index(f"{spec.code}.sqlite3")
    assert parse(str(spec)) == spec


def test_a_spec_tells_the_kind_of_server() -> None:
    assert isinstance(find_embedder("ollama:bge-m3"), OllamaEmbedder)
    assert isinstance(find_embedder("openai:bge-m3"), OpenAIEmbedder)
    assert find_embedder("ollama:bge-m3:latest").spec == "ollama:bge-m3"
    assert find_embedder(NOMIC).spec == "ollama:nomic-embed-text"
