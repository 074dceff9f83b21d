"""The Ollama embedder against a double of the server: what it asks, and what it makes of each way to fail."""

from __future__ import annotations

import math
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable

import pytest

from memoryfield.embedders import find_embedder
from memoryfield.embedders.ollama import OllamaEmbedder
from memoryfield.embedders.remote import QUERY
from memoryfield.embedders.specs import parse
from memoryfield.errors import EmbedderError, EmbedderUnavailableError

from ..doubles.ollama_server import BUSY, NAN_IN_VECTOR, Answer, OllamaServer, hashed_vector
from ..doubles.openai_server import OpenAIServer

TEXTS = ["carbon steel woks", "poems about the sea", "time zones in SQLite"]


def nomic() -> OllamaEmbedder:
    found = find_embedder("nomic-embed-text-v1.5")
    assert isinstance(found, OllamaEmbedder)
    return found


def numbers(vector: bytes | EmbedderError) -> tuple[float, ...]:
    assert isinstance(vector, bytes), vector
    return struct.unpack(f"<{len(vector) // 4}f", vector)


def cosine(a: bytes | EmbedderError, b: bytes | EmbedderError) -> float:
    return math.fsum(x * y for x, y in zip(numbers(a), numbers(b), strict=True))


def is_vector_of(vector: bytes | EmbedderError, text: str) -> bool:
    return numbers(vector) == pytest.approx(hashed_vector(text), abs=1e-6)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# what is asked, and what comes of it


def test_making_an_embedder_asks_nothing(ollama: OllamaServer) -> None:
    nomic()
    assert ollama.received == []


def test_pages_and_queries_carry_the_prefixes_of_the_model(ollama: OllamaServer) -> None:
    embedder = nomic()
    embedder.embed_pages(TEXTS)
    embedder.embed_query("which wok?")
    assert ollama.embedded == [*(f"search_document: {text}" for text in TEXTS), "search_query: which wok?"]


def test_a_batch_is_one_request_that_forbids_truncating(ollama: OllamaServer) -> None:
    nomic().embed_pages(TEXTS)
    (request,) = ollama.requests
    assert request.body["model"] == "nomic-embed-text"
    assert request.body["truncate"] is False


def test_vectors_come_in_the_order_of_the_texts_and_in_unit_length(ollama: OllamaServer) -> None:
    vectors = nomic().embed_pages(TEXTS)
    assert [is_vector_of(vector, text) for vector, text in zip(vectors, TEXTS, strict=True)] == [True] * 3
    for vector in vectors:
        assert len(numbers(vector)) == 768
        assert math.isclose(math.hypot(*numbers(vector)), 1.0, abs_tol=1e-6)


def test_a_query_is_nearest_to_the_page_with_its_words(ollama: OllamaServer) -> None:
    embedder = nomic()
    query = embedder.embed_query("woks of carbon steel?")
    near = [cosine(query, page) for page in embedder.embed_pages(TEXTS)]
    assert near.index(max(near)) == 0


def test_no_texts_give_no_vectors(ollama: OllamaServer) -> None:
    assert nomic().embed_pages([]) == []


def test_dimensions_that_were_not_known_are_those_of_the_first_answer(ollama: OllamaServer) -> None:
    embedder = OllamaEmbedder(parse("ollama:some-model"))
    assert embedder.dimensions is None
    ollama.models.append("some-model")
    embedder.embed_query("wok")
    assert embedder.dimensions == 768
    ollama.answer = "short"
    with pytest.raises(EmbedderError, match="384 dimensions instead of 768"):
        embedder.embed_query("wok")


# failures that pass


@pytest.mark.parametrize("status", [500, 502, 503, 429])
@pytest.mark.parametrize("times", [1, QUERY.attempts - 1])
def test_a_failure_that_passes_is_waited_for(status: int, times: int, ollama: OllamaServer) -> None:
    ollama.failures = [(status, "for now")] * times
    assert is_vector_of(nomic().embed_query("wok"), "wok")
    assert len(ollama.requests) == times + 1


def test_an_answer_that_is_no_json_is_asked_for_again(ollama: OllamaServer) -> None:
    ollama.answers = ["no json"]
    assert is_vector_of(nomic().embed_query("wok"), "wok")


@pytest.mark.parametrize(
    "ask", [lambda e: e.embed_query("wok"), lambda e: e.embed_pages(TEXTS)], ids=["query", "pages"]
)
def test_a_server_that_goes_on_failing_is_unavailable(
    ask: Callable[[OllamaEmbedder], object], ollama: OllamaServer
) -> None:
    ollama.failures = [BUSY] * 100
    with pytest.raises(EmbedderUnavailableError, match="503, server busy") as caught:
        ask(nomic())
    assert ollama.host in str(caught.value)


@pytest.mark.parametrize("answer", ["no json", "no vectors"])
def test_a_server_that_speaks_something_else_is_unavailable(answer: Answer, ollama: OllamaServer) -> None:
    ollama.answer = answer
    with pytest.raises(EmbedderUnavailableError) as caught:
        nomic().embed_query("wok")
    assert ollama.host in str(caught.value)


def test_a_refusal_is_not_tried_again(ollama: OllamaServer) -> None:
    ollama.failures = [(400, "invalid options: num_ctx")]
    with pytest.raises(EmbedderError, match="invalid options: num_ctx"):
        nomic().embed_query("wok")
    assert len(ollama.requests) == 1


# no server, no model


def test_no_server_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    host = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("OLLAMA_HOST", host)
    for ask in (lambda: nomic().embed_query("wok"), lambda: nomic().embed_pages(TEXTS)):
        with pytest.raises(EmbedderUnavailableError) as caught:
            ask()
        assert f"no Ollama server answers at {host}" in str(caught.value)
        assert "ollama serve" in caught.value.hint
    assert host in nomic().unavailable()


BAD_HOSTS = ["localhost:eleven", "http://[::1", "http://localhost:99999999", "ftp://localhost", "http://\x01"]


@pytest.mark.parametrize("host", BAD_HOSTS)
@pytest.mark.usefixtures("ollama")
def test_an_address_that_is_none_is_said(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    with pytest.raises(EmbedderUnavailableError):
        nomic().embed_query("wok")
    assert nomic().unavailable()


@pytest.mark.parametrize("host", ["http://me:hunter2@localhost:eleven", "http://me:hunt/er2@localhost"])
def test_a_password_in_an_address_that_is_none_is_not_told(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    said = nomic().unavailable() + nomic().where
    assert "OLLAMA_HOST should be like localhost:11434" in said
    assert "hunt" not in said


def test_a_key_that_the_package_sends_is_not_told(ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "abcdef0123456789")
    ollama.failures = [(403, "abcdef0123456789 may not do that")]
    with pytest.raises(EmbedderError, match=r"[*]{16} may not do that"):
        nomic().embed_query("wok")
    assert ollama.requests[0].headers["authorization"] == "Bearer abcdef0123456789"


IN_A_NEW_PROCESS = """
from memoryfield.embedders import find_embedder
from memoryfield.embedders import remote
from memoryfield.errors import EmbedderUnavailableError
remote.FIRST_WAIT = 0.001
embedder = find_embedder("nomic-embed-text-v1.5")
assert embedder.unavailable()
for ask in (lambda: embedder.embed_query("wok"), lambda: embedder.embed_pages(["wok"])):
    try:
        ask()
    except EmbedderUnavailableError as error:
        print(error)
try:
    embedder.load()
except EmbedderUnavailableError:
    pass
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("OLLAMA_HOST", host) for host in BAD_HOSTS[:3]),
        ("ALL_PROXY", "socks5://127.0.0.1:1"),
        ("ALL_PROXY", "socks://127.0.0.1:1"),
        ("ALL_PROXY", "http://[::1"),
    ],
)
def test_bad_settings_are_said_in_a_new_process_too(name: str, value: str) -> None:
    """Ollama's package makes a client as it is imported, and stumbles over them there."""
    settings = {key: text for key, text in os.environ.items() if not key.upper().endswith("_PROXY")}
    settings |= {"OLLAMA_HOST": f"127.0.0.1:{free_port()}", name: value}
    command = [sys.executable, "-c", IN_A_NEW_PROCESS]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == 2


def test_a_missing_model_is_said_with_what_to_do(ollama: OllamaServer) -> None:
    ollama.models = ["all-minilm:latest"]
    with pytest.raises(EmbedderUnavailableError) as caught:
        nomic().embed_query("wok")
    assert caught.value.hint == "Run `ollama pull nomic-embed-text`."
    with pytest.raises(EmbedderUnavailableError):
        nomic().embed_pages(TEXTS)
    assert len(ollama.requests) == 2
    assert "ollama pull" in nomic().unavailable()


def test_a_server_that_is_no_ollama_is_said(
    ollama: OllamaServer, openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", openai.address)
    assert f"what answers at {openai.address} is no Ollama server" in nomic().unavailable()
    with pytest.raises(EmbedderUnavailableError, match="is no Ollama server"):
        nomic().embed_query("wok")
    assert ollama.received == []


def test_a_server_with_the_model_is_available(ollama: OllamaServer) -> None:
    assert nomic().unavailable() == ""
    assert [request.path for request in ollama.received] == ["/api/tags"]


def test_a_model_that_is_there_under_another_tag_only_is_not_available(ollama: OllamaServer) -> None:
    ollama.models = ["nomic-embed-text:v1.5"]
    with pytest.raises(EmbedderUnavailableError):
        nomic().embed_query("wok")
    assert nomic().unavailable()


def test_a_server_that_dies_half_way_leaves_what_it_gave(ollama: OllamaServer) -> None:
    ollama.dies_after = 1
    embedder = nomic()
    assert is_vector_of(embedder.embed_pages(TEXTS)[0], TEXTS[0])
    with pytest.raises(EmbedderUnavailableError) as caught:
        embedder.embed_pages(TEXTS)
    assert ollama.host in str(caught.value)


# answers that are no vectors


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("short", "384 dimensions instead of 768"),
        ("zeros", "all zeros"),
        ("nan", "not finite"),
        ("fewer", "0 vectors for 1 texts"),
    ],
)
def test_a_vector_that_is_none_is_an_error_in_its_place(answer: Answer, message: str, ollama: OllamaServer) -> None:
    ollama.answer = answer
    found = nomic().embed_pages(TEXTS)
    assert len(found) == 3
    for error in found:
        assert isinstance(error, EmbedderError)
        assert message in str(error)
    with pytest.raises(EmbedderError, match=message):
        nomic().embed_query("wok")


@pytest.mark.parametrize("answer", ["short", "zeros", "nan"])
def test_one_text_without_a_vector_spoils_only_itself(answer: Answer, ollama: OllamaServer) -> None:
    ollama.spoiled = {"poems": answer}
    first, second, third = nomic().embed_pages(TEXTS)
    assert is_vector_of(first, TEXTS[0])
    assert isinstance(second, EmbedderError)
    assert is_vector_of(third, TEXTS[2])


def test_fewer_vectors_than_texts_are_not_given_to_the_wrong_texts(ollama: OllamaServer) -> None:
    ollama.answers = ["fewer"]
    vectors = nomic().embed_pages(TEXTS)
    assert all(is_vector_of(vector, text) for vector, text in zip(vectors, TEXTS, strict=True))


@pytest.mark.parametrize("error", [(400, "embedding contains NaN or Inf values"), NAN_IN_VECTOR])
def test_one_text_that_the_server_fails_at_spoils_only_itself(error: tuple[int, str], ollama: OllamaServer) -> None:
    ollama.poisoned = {"poems": error}
    first, second, third = nomic().embed_pages(TEXTS)
    assert is_vector_of(first, TEXTS[0])
    assert isinstance(second, EmbedderError)
    assert not isinstance(second, EmbedderUnavailableError)
    assert error[1] in str(second)
    assert is_vector_of(third, TEXTS[2])


def test_a_text_that_the_server_fails_at_is_to_blame_even_where_it_is_alone(ollama: OllamaServer) -> None:
    ollama.poisoned = {"poems": NAN_IN_VECTOR}
    embedder = nomic()
    (error,) = embedder.embed_pages([TEXTS[1]])
    assert isinstance(error, EmbedderError)
    assert not isinstance(error, EmbedderUnavailableError)
    assert NAN_IN_VECTOR[1] in str(error)
    assert is_vector_of(embedder.embed_pages([TEXTS[0]])[0], TEXTS[0])


def test_several_texts_that_the_server_fails_at_are_to_blame_each(ollama: OllamaServer) -> None:
    ollama.poisoned = {"poems": NAN_IN_VECTOR}
    found = nomic().embed_pages([TEXTS[1], TEXTS[1] + "!"])
    assert all(isinstance(error, EmbedderError) for error in found)


def test_a_lone_surrogate_spoils_neither_its_text_nor_the_others(ollama: OllamaServer) -> None:
    good, odd = nomic().embed_pages(["wok", "before \ud800 after"])
    assert is_vector_of(good, "wok")
    assert isinstance(odd, bytes | EmbedderError)


# texts that are too long

SEA = "salt wind waves gulls harbour rope sail anchor tide foam"


@pytest.mark.parametrize(
    "error",
    [
        (400, "the input length exceeds the context length"),
        (500, "the input length exceeds the context length"),
        (413, "the input length exceeds the context length"),
        (400, "input length exceeds maximum context length"),
    ],
    ids=lambda error: f"{error[0]} {error[1]}",
)
def test_a_text_that_is_too_long_is_embedded_in_parts(error: tuple[int, str], ollama: OllamaServer) -> None:
    ollama.longest, ollama.too_long = len("search_document: ") + 30, error
    first, long, third = nomic().embed_pages(["wok", SEA, "zone"])
    assert is_vector_of(first, "wok")
    assert is_vector_of(third, "zone")
    assert math.isclose(math.hypot(*numbers(long)), 1.0, abs_tol=1e-6)
    ollama.longest = None
    whole = nomic().embed_pages([SEA])[0]
    assert cosine(long, whole) > 0.9


def test_the_parts_are_the_whole_text_each_with_the_prefix(ollama: OllamaServer) -> None:
    prefix = "search_query: "
    ollama.longest = len(prefix) + 20
    nomic().embed_query(SEA)
    assert all(text.startswith(prefix) for text in ollama.embedded)
    assert "".join(text.removeprefix(prefix) for text in ollama.embedded) == SEA


@pytest.mark.parametrize("text", ["x" * 200, "炭素" * 100, "ab " + "c" * 200, " " * 100 + "y" * 100])
def test_a_text_without_a_place_to_cut_is_cut_all_the_same(text: str, ollama: OllamaServer) -> None:
    ollama.longest = len("search_document: ") + 20
    (vector,) = nomic().embed_pages([text])
    assert math.isclose(math.hypot(*numbers(vector)), 1.0, abs_tol=1e-6)


def test_a_server_that_takes_no_text_at_all_is_not_asked_for_ever(ollama: OllamaServer) -> None:
    ollama.longest = 3
    (error,) = nomic().embed_pages([SEA])
    assert isinstance(error, EmbedderError)
    assert "too long" in str(error)
    assert len(ollama.requests) < 12
