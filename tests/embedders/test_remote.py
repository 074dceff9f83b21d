"""What both protocols share, over each of them: patience, batches that one text spoils, texts that are too long."""

from __future__ import annotations

import math
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from memoryfield.embedders import find_embedder, remote
from memoryfield.embedders.ollama import OllamaEmbedder
from memoryfield.embedders.remote import PAGES, QUERY, Patience, RemoteEmbedder, told
from memoryfield.errors import EmbedderError, EmbedderUnavailableError

from ..doubles.ollama_server import OllamaServer
from ..doubles.server import DRIP, Answer, EmbeddingServer, Failure, hashed_vector

TEXTS = ["carbon steel woks", "poems about the sea", "time zones in SQLite", "cast iron pans"]


@pytest.fixture(params=["ollama", "openai"])
def server(request: pytest.FixtureRequest) -> EmbeddingServer:
    """A double of each kind, with a model that wants no prefixes."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, EmbeddingServer)
    found.models = ["bge-m3"]
    return found


@pytest.fixture
def embedder(server: EmbeddingServer) -> RemoteEmbedder:
    kind = type(server).__name__.removesuffix("Server").lower()
    found = find_embedder(f"{kind}:bge-m3", dimensions=768)
    assert isinstance(found, RemoteEmbedder)
    return found


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were slept between attempts, which take none."""
    slept: list[float] = []
    monkeypatch.setattr(remote, "FIRST_WAIT", 0.25)
    monkeypatch.setattr("memoryfield.embedders.remote.time.sleep", slept.append)
    return slept


def is_vector_of(vector: bytes | EmbedderError, text: str) -> bool:
    assert isinstance(vector, bytes), vector
    return struct.unpack(f"<{len(vector) // 4}f", vector) == pytest.approx(hashed_vector(text), abs=1e-6)


def all_right(vectors: list[bytes | EmbedderError], texts: list[str]) -> bool:
    return all(is_vector_of(vector, text) for vector, text in zip(vectors, texts, strict=True))


# patience


@pytest.mark.parametrize("failure", [(500, "oh"), (502, "bad gateway"), (503, "Loading model"), (429, "slow down")])
def test_waits_grow(
    failure: tuple[int, str], embedder: RemoteEmbedder, server: EmbeddingServer, waits: list[float]
) -> None:
    server.failures = [failure] * (PAGES.attempts - 1)
    assert all_right(embedder.embed_pages(TEXTS), TEXTS)
    assert waits == [0.25, 0.5, 1, 2, 4]


def test_an_answer_that_was_cut_off_is_asked_for_again(embedder: RemoteEmbedder, server: EmbeddingServer) -> None:
    server.answers = ["cut off", "no json", "no vectors"]
    assert all_right(embedder.embed_pages(TEXTS), TEXTS)
    assert len(server.requests) == 4


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_asks_to_be_left_alone_is(
    status: int, embedder: RemoteEmbedder, server: EmbeddingServer, waits: list[float]
) -> None:
    server.failures = [Failure(status, "busy", {"Retry-After": "3"}), Failure(status, "busy", {"Retry-After": "0"})]
    assert is_vector_of(embedder.embed_query("wok"), "wok")
    assert waits == [3, 0.5]


@pytest.mark.parametrize("header", ["Wed, 21 Oct 2026 07:28:00 GMT", "soon", "-5", "nan"])
def test_a_wait_that_is_no_number_of_seconds_is_passed_over(
    header: str, embedder: RemoteEmbedder, server: EmbeddingServer, waits: list[float]
) -> None:
    server.failures = [Failure(429, "busy", {"Retry-After": header})]
    assert is_vector_of(embedder.embed_query("wok"), "wok")
    assert waits == [0.25]


def test_who_wants_to_be_left_alone_for_long_is_given_up(
    embedder: RemoteEmbedder, server: EmbeddingServer, waits: list[float]
) -> None:
    server.failures = [Failure(429, "quota", {"Retry-After": "3600"})] * 9
    with pytest.raises(EmbedderUnavailableError, match=r"429, quota.*3600 seconds"):
        embedder.embed_pages(TEXTS)
    assert (waits, len(server.requests)) == ([], 1)


def test_a_busy_server_is_not_asked_which_text_is_to_blame(embedder: RemoteEmbedder, server: EmbeddingServer) -> None:
    server.failures = [(429, "slow down")] * 99
    with pytest.raises(EmbedderUnavailableError, match=f"{PAGES.attempts} times: status 429, slow down"):
        embedder.embed_pages(TEXTS)
    assert len(server.requests) == PAGES.attempts


@pytest.mark.parametrize("name", ["QUERY", "PAGES", "CHECK"])
def test_a_slow_server_is_not_waited_for_for_ever(
    name: str, embedder: RemoteEmbedder, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = type(embedder).__module__
    for place in ("memoryfield.embedders.remote", module):
        monkeypatch.setattr(f"{place}.{name}", Patience(3, 0.05, 0), raising=False)
    server.slow = 0.5
    ask: Callable[[], object] = {
        "QUERY": lambda: embedder.embed_query("wok"),
        "PAGES": lambda: embedder.embed_pages(TEXTS),
        "CHECK": embedder._check,
    }[name]
    start = time.monotonic()
    with pytest.raises(EmbedderUnavailableError, match="did not answer in time"):
        ask()
    assert time.monotonic() - start < 10 * server.slow
    assert len(server.received) <= 1


def test_pages_have_more_time_than_a_question() -> None:
    assert PAGES.timeout > 10 * QUERY.timeout


def test_no_server_is_said_with_its_address(embedder: RemoteEmbedder, server: EmbeddingServer) -> None:
    server.stop()
    for ask in (lambda: embedder.embed_query("wok"), lambda: embedder.embed_pages(TEXTS)):
        with pytest.raises(EmbedderUnavailableError, match=f"answers at {server.address}"):
            ask()
    assert server.address in embedder.unavailable()


def test_a_connection_is_kept(embedder: RemoteEmbedder, server: EmbeddingServer) -> None:
    for _ in range(5):
        embedder.embed_pages(TEXTS)
    assert len(server.requests) == 5
    assert server.connections == 1


# answers without end

ASKS: dict[str, Callable[[RemoteEmbedder], object]] = {
    "query": lambda embedder: embedder.embed_query("wok"),
    "pages": lambda embedder: embedder.embed_pages(TEXTS),
    "check": lambda embedder: embedder._check(),
}
NESTED = "[" * 200_000 + "]" * 200_000
ENOUGH = 24 << 20
"""Bytes: far less than a flood; what is on its way in the system's buffers is part of it."""


@contextmanager
def little_memory() -> Iterator[None]:
    """What runs within takes little, at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < ENOUGH
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("ask", ASKS.values(), ids=list(ASKS))
def test_an_answer_without_end_is_not_read_to_its_end(
    ask: Callable[[RemoteEmbedder], object], embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    server.flood = "huge"
    with little_memory(), pytest.raises(EmbedderUnavailableError, match=r"at http.* answered with more than \d+ bytes"):
        ask(embedder)
    assert server.poured < ENOUGH
    assert len(server.received) == 1, "and is not asked for again"


def test_an_answer_may_be_as_long_as_many_long_vectors_and_no_longer(
    embedder: RemoteEmbedder, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = find_embedder(embedder.spec, dimensions=8192)
    assert isinstance(long, RemoteEmbedder)
    server.dimensions = 8192
    monkeypatch.setattr(remote, "MAX_OTHER", 10_000)
    server.make_vectors = lambda texts, n: [[1.2345678901234567e-101] * n for _ in texts]
    assert len(embedder._ask(lambda: embedder._call(TEXTS, PAGES), PAGES, len(TEXTS))) == len(TEXTS)
    server.make_vectors = lambda texts, n: [[0.1] * 15 * n for _ in texts]
    with pytest.raises(EmbedderUnavailableError, match="answered with more than"):
        embedder.embed_pages(TEXTS)


def test_an_error_without_end_is_not_read_to_its_end(embedder: RemoteEmbedder, server: EmbeddingServer) -> None:
    texts = ["wok"] * 256
    server.failures = [(400, "x" * (remote.MAX_OTHER + 1))]
    with pytest.raises(EmbedderUnavailableError, match=f"answered with more than {remote.MAX_OTHER} bytes"):
        embedder.embed_pages(texts)


@pytest.mark.parametrize("ask", ASKS.values(), ids=list(ASKS))
def test_an_answer_that_is_compressed_is_not_unpacked(
    ask: Callable[[RemoteEmbedder], object], embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    server.flood = "gzip bomb"
    with little_memory(), pytest.raises(EmbedderUnavailableError, match=r"at http.* answered with compressed"):
        ask(embedder)
    assert [request.headers["accept-encoding"] for request in server.received] == ["identity"]


@pytest.mark.parametrize("name", ["QUERY", "PAGES", "CHECK"])
def test_an_answer_that_drips_is_not_waited_for_for_ever(
    name: str, embedder: RemoteEmbedder, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("memoryfield.embedders.remote", type(embedder).__module__):
        monkeypatch.setattr(f"{place}.{name}", Patience(3, 10 * DRIP, 0), raising=False)
    server.flood = "drip"
    ask = ASKS[{"QUERY": "query"}.get(name, name.lower())]
    with pytest.raises(EmbedderUnavailableError, match="did not answer in time"):
        ask(embedder)
    assert len(server.received) == 1
    assert 1 <= server.poured < 100


@pytest.mark.parametrize("ask", ASKS.values(), ids=list(ASKS))
@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_that_is_nested_deeply_is_no_json(
    status: int,
    ask: Callable[[RemoteEmbedder], object],
    embedder: RemoteEmbedder,
    server: EmbeddingServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "respond", lambda request: (status, NESTED, {}))
    with pytest.raises(EmbedderUnavailableError, match=r"failed.*(an answer that is no JSON|status 500, \[\[)"):
        ask(embedder)


def test_the_nested_error_of_an_answer_is_told_if_it_can_be(
    embedder: RemoteEmbedder, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some depth can be read, and not be written again."""
    for depth in range(800, 1000, 3):
        nested = f'{{"error": {"[" * depth}{"]" * depth}}}'
        for status in (200, 500):
            monkeypatch.setattr(server, "respond", lambda request, s=status, n=nested: (s, n, {}))
            with pytest.raises(EmbedderUnavailableError, match="failed"):
                embedder._ask(lambda: embedder._call(["wok"], QUERY), Patience(1, 5, 0))


@pytest.mark.parametrize("path", ["/api/tags", "/api/show"])
def test_the_list_of_models_is_bounded_too(path: str, ollama: OllamaServer, monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = find_embedder("nomic-embed-text-v1.5")
    assert isinstance(embedder, OllamaEmbedder)
    ollama.flood, ollama.flooded = "huge", path
    with little_memory(), pytest.raises(EmbedderUnavailableError, match="answered with more than"):
        embedder.models()
    ollama.flood = "gzip bomb"
    with pytest.raises(EmbedderUnavailableError, match="compressed"):
        embedder.models()
    ollama.flood, right = None, ollama.respond
    monkeypatch.setattr(
        ollama, "respond", lambda request: (200, NESTED, {}) if request.path == path else right(request)
    )
    with pytest.raises(EmbedderUnavailableError, match="an answer that is no JSON"):
        embedder.models()


# batches


def test_batches_grow_while_the_server_is_quick_and_shrink_when_it_is_slow(
    embedder: RemoteEmbedder, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []
    for _ in range(6):
        sizes.append(embedder.batch)
        embedder.embed_pages(["wok"] * embedder.batch)
    assert sizes == [64, 128, 256, 256, 256, 256]
    assert len(server.requests) == 6
    embedder.embed_pages(["wok"])
    assert embedder.batch == 256
    monkeypatch.setattr(remote, "SLOW", 0.0)
    for _ in range(9):
        embedder.embed_pages(["wok"])
    assert embedder.batch == 1


def test_many_questions_are_one_request(embedder: RemoteEmbedder, server: EmbeddingServer) -> None:
    server.spoiled = {"poems": "zeros"}
    found = embedder.embed_queries(TEXTS)
    assert isinstance(found.pop(1), EmbedderError)
    assert all_right(found, [TEXTS[0], *TEXTS[2:]])
    server.spoiled = {}
    server.received.clear()
    assert all_right(embedder.embed_queries(TEXTS), TEXTS)
    assert len(server.requests) == 1
    assert embedder.embed_queries([]) == []


def test_a_server_that_takes_fewer_texts_at_once_gets_fewer(embedder: RemoteEmbedder, server: EmbeddingServer) -> None:
    server.most = 2
    texts = [f"wok {number}" for number in range(9)]
    assert all_right(embedder.embed_pages(texts), texts)


def test_one_bad_text_among_many_costs_few_requests(embedder: RemoteEmbedder, server: EmbeddingServer) -> None:
    server.spoiled = {"poems": "nan"}
    texts = [f"wok {number}" for number in range(63)]
    texts.insert(40, "poems")
    found = embedder.embed_pages(texts)
    assert [place for place, vector in enumerate(found) if isinstance(vector, EmbedderError)] == [40]
    assert len(server.requests) <= 13


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("short", "384 dimensions instead of 768"),
        ("zeros", "all zeros"),
        ("nan", "not finite|no numbers"),
        ("fewer", "0 vectors for 1 texts"),
    ],
)
def test_a_vector_that_is_none_is_an_error_in_its_place(
    answer: Answer, message: str, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    server.answer = answer
    for error in embedder.embed_pages(TEXTS):
        with pytest.raises(EmbedderError, match=message):
            raise error if isinstance(error, EmbedderError) else AssertionError(error)


@pytest.mark.parametrize("answer", ["short", "zeros", "nan"])
def test_one_text_without_a_vector_spoils_only_itself(
    answer: Answer, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    server.spoiled = {"poems": answer}
    found = embedder.embed_pages(TEXTS)
    assert isinstance(found.pop(1), EmbedderError)
    assert all_right(found, [TEXTS[0], *TEXTS[2:]])


def test_the_dimensions_are_those_of_most_vectors_of_the_first_answer(server: EmbeddingServer) -> None:
    kind = type(server).__name__.removesuffix("Server").lower()
    embedder = find_embedder(f"{kind}:bge-m3")
    server.spoiled = {TEXTS[0]: "short"}
    found = embedder.embed_pages(TEXTS)
    assert isinstance(found[0], EmbedderError)
    assert embedder.dimensions == 768
    assert all_right(found[1:], TEXTS[1:])


@pytest.mark.parametrize("status", [500, 400, 422])
def test_one_text_that_the_server_fails_at_spoils_only_itself(
    status: int, embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    server.poisoned = {"poems": (status, "cannot embed this")}
    found = embedder.embed_pages(TEXTS)
    error = found.pop(1)
    assert isinstance(error, EmbedderError)
    assert not isinstance(error, EmbedderUnavailableError)
    assert "cannot embed this" in str(error)
    assert all_right(found, [TEXTS[0], *TEXTS[2:]])


# too long

SEA = "salt wind waves gulls harbour rope sail anchor tide foam"


def test_a_text_that_is_too_long_is_averaged_of_its_parts(embedder: RemoteEmbedder, server: EmbeddingServer) -> None:
    server.longest = 30
    first, long, third = embedder.embed_pages(["wok", SEA, "zone"])
    assert is_vector_of(first, "wok")
    assert is_vector_of(third, "zone")
    assert isinstance(long, bytes)
    assert math.isclose(math.hypot(*struct.unpack("<768f", long)), 1.0, abs_tol=1e-6)
    assert "".join(server.embedded[1:-1]) == SEA, "nothing was cut away"


def test_parts_that_cancel_each_other_out_are_one_failed_text(
    embedder: RemoteEmbedder, server: EmbeddingServer
) -> None:
    server.longest = 4
    server.make_vectors = lambda texts, n: [[1.0 if text < "b" else -1.0] + [0.0] * (n - 1) for text in texts]
    found = embedder.embed_pages(["aaa bbbb", "a"])
    assert isinstance(found[0], EmbedderError)
    assert isinstance(found[1], bytes)


def test_a_server_that_takes_nothing_is_not_asked_for_ever(embedder: RemoteEmbedder, server: EmbeddingServer) -> None:
    server.longest = 0
    (error,) = embedder.embed_pages([SEA])
    assert isinstance(error, EmbedderError)
    assert "refuses even 1 characters" in str(error)
    assert len(server.requests) < 12


# what a server says


@pytest.mark.parametrize(
    "text",
    [
        "wrong key: {key}",
        "Bearer {key}, {key}",
        "{KEY}",
        "Incorrect API key provided: sk-1234567890****",
        "…67890abcdef ghij",
        "{key}" * 50,
        "x" * 190 + "{key}",
    ],
)
def test_no_part_of_a_secret_is_told(text: str) -> None:
    key = "sk-1234567890abcdefghij"
    shown = told(text.format(key=key, KEY=key.upper()), ["", key]).lower()
    assert not any(key[start : start + 6] in shown for start in range(len(key) - 5))
    assert len(shown) <= 200


def test_only_the_beginning_of_a_long_fault_is_looked_through() -> None:
    key = "sk-1234567890abcdefghij"
    for blanks in range(remote.MAX_FAULT * 10 - len(key), remote.MAX_FAULT * 10):
        shown = told(" " * blanks + key + "x" * 1_000_000, [key])
        assert not any(key[start : start + 6] in shown for start in range(len(key) - 5))


def test_what_is_told_is_one_line_and_keeps_the_rest() -> None:
    assert told("İ is no\r\n  key: abcdefgh!", ["abcdefgh"]) == "İ is no key: ********!"
