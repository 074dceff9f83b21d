"""The OpenAI embedder against a double of such a server: what it asks, and that no secret ever gets out."""

from __future__ import annotations

import base64
import logging
import socket
import traceback
from pathlib import Path
from typing import Any

import pytest

from memoryfield.embedders import find_embedder
from memoryfield.embedders.openai import OpenAIEmbedder
from memoryfield.embedders.specs import parse
from memoryfield.errors import EmbedderError, EmbedderUnavailableError

from ..cli.support import make_kitchen, memoryfield
from ..doubles.openai_server import TOO_LONG, OpenAIServer
from .test_remote import SEA, TEXTS, all_right, is_vector_of

KEY = "sk-proj-4fK9zQ27mNbX81tLw0"
MODEL = "openai:text-embedding-3-small"


def embedder(spec: str = MODEL) -> OpenAIEmbedder:
    return OpenAIEmbedder(parse(spec))


# what is asked


def test_a_batch_is_one_request_as_the_reference_has_it(openai: OpenAIServer) -> None:
    assert all_right(embedder().embed_pages(TEXTS), TEXTS)
    (request,) = openai.requests
    assert request.body == {"model": "text-embedding-3-small", "input": TEXTS, "encoding_format": "float"}
    assert "authorization" not in request.headers


def test_the_key_is_sent_as_a_bearer(openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    openai.key = KEY
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    embedder().embed_query("wok")
    assert openai.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_user_in_the_address_is_sent_where_there_is_no_key(
    openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai.base_url.replace("//", "//me:pass%20word@"))
    embedder().embed_query("wok")
    assert openai.requests[0].headers["authorization"] == f"Basic {base64.b64encode(b'me:pass word').decode()}"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder().embed_query("wok")
    assert openai.requests[1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("ending", ["", "/", "//", "?version=1", " "])
def test_an_address_may_end_in_a_slash(ending: str, openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai.base_url + ending)
    if ending == "//":
        openai.embed_path = "/v1//embeddings"
    assert is_vector_of(embedder().embed_query("wok"), "wok")


def test_vectors_are_put_in_order_by_their_index(openai: OpenAIServer) -> None:
    openai.reverses = True
    assert all_right(embedder().embed_pages(TEXTS), TEXTS)


@pytest.mark.parametrize(
    "name",
    [
        "nomic-embed-text-v1.5",
        "text-embedding-nomic-embed-text-v1.5",
        "nomic-embed-text:latest",
        "nomic-embed-text-v2-moe",
    ],
)
def test_nomic_gets_its_prefixes_from_this_server_too(name: str, openai: OpenAIServer) -> None:
    openai.models = [name]
    asked = find_embedder(f"openai:{name}")
    asked.embed_pages(["wok"])
    asked.embed_query("wok?")
    assert openai.embedded == ["search_document: wok", "search_query: wok?"]


@pytest.mark.parametrize("error", TOO_LONG.values(), ids=list(TOO_LONG))
def test_a_text_that_is_too_long_is_embedded_in_parts(error: tuple[int, str], openai: OpenAIServer) -> None:
    openai.longest, openai.too_long = 30, error
    first, long = embedder().embed_pages(["wok", SEA])
    assert is_vector_of(first, "wok")
    assert isinstance(long, bytes)
    assert "".join(openai.embedded[1:]) == SEA


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        {"data": None},
        {"data": [1]},
        {"data": [{"index": 0}]},
        {"data": [{"index": 0, "embedding": "AACAPw=="}]},
        {"error": "Unexpected endpoint or method."},
        "text",
    ],
)
def test_an_answer_of_another_shape_is_one_error(
    content: Any, openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "answered", lambda *_: content)
    with pytest.raises(EmbedderError, match=openai.address):
        embedder().embed_query("wok")


@pytest.mark.parametrize("values", [["a"], [None, 1.0], [[1.0, 2.0]], [10**400], [True, {}]])
def test_values_that_are_no_numbers_are_refused(
    values: list[Any], openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "answered", lambda *_: {"data": [{"index": 0, "embedding": values}]})
    with pytest.raises(EmbedderError, match="no numbers"):
        embedder().embed_query("wok")


# whether it is there


def test_a_model_that_is_listed_is_available(openai: OpenAIServer) -> None:
    assert embedder().unavailable() == ""
    assert [request.path for request in openai.received] == ["/v1/models"]


def test_a_model_that_is_not_listed_is_said_to_be_missing_with_what_there_is(openai: OpenAIServer) -> None:
    openai.models = ["a", "b", "c", "d"]
    said = embedder().unavailable()
    assert "does not have the model text-embedding-3-small; it has a, b, c, …" in said
    with pytest.raises(EmbedderUnavailableError, match="does not have the model text-embedding-3-small: The model"):
        embedder().embed_query("wok")


def test_a_server_that_lists_nothing_but_embeds_is_available(openai: OpenAIServer) -> None:
    openai.lists_models = False
    assert embedder().unavailable() == ""
    openai.models = []
    assert "does not have the model" in embedder().unavailable()
    openai.lists_models = True
    assert embedder().unavailable() == ""


def test_a_wrong_address_is_said_with_how_most_end(openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai.address)
    assert "/v1" in embedder().unavailable()


def test_without_address_and_key_nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def connect(*_: object) -> None:
        raise AssertionError("a connection was made")

    monkeypatch.setattr(socket.socket, "connect", connect)
    assert "Set OPENAI_API_KEY" in embedder().unavailable()
    with pytest.raises(EmbedderUnavailableError, match="no key"):
        embedder().embed_query("wok")


# secrets

ECHOES = [
    "Incorrect API key provided: {authorization}.",
    "{authorization}",
    "token " + KEY[:12] + "… is unknown",
]


def everything_said(caught: BaseException) -> str:
    return "".join(traceback.format_exception(caught)) + repr(caught) + repr(vars(caught))


def assert_not_told(text: str, secret: str = KEY) -> None:
    assert not any(secret[start : start + 8] in text for start in range(max(1, len(secret) - 7)))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422, 429, 500, 503])
@pytest.mark.parametrize("echo", ECHOES)
def test_a_key_that_the_server_repeats_is_not_told(
    echo: str,
    status: int,
    openai: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    text = echo.format(authorization=f"Bearer {KEY}")
    openai.poisoned = {"wok": (status, text)}
    monkeypatch.setattr(openai, "other", lambda _: (status, text))
    said = embedder().unavailable() + caplog.text
    for ask in (embedder().embed_query, lambda text: embedder().embed_pages([text])[0]):
        try:
            answer = ask("wok")
        except EmbedderError as error:
            answer = error
        said += "" if isinstance(answer, bytes) else everything_said(answer)
    assert status == 413 or "status" in said or "server at" in said, "which parts of a text may well come through"
    assert_not_told(said + caplog.text)


def test_a_refused_key_is_said_without_it(openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    openai.key = "another"
    assert "asks for a key. Set OPENAI_API_KEY" in embedder().unavailable()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert "refuses the key in OPENAI_API_KEY" in embedder().unavailable()
    assert len(openai.received) == 2


@pytest.mark.parametrize("key", [f"{KEY}\nX-Other: 1", f"{KEY[:9]}\r\n{KEY[9:]}", f"{KEY}é", f"{KEY}\x00", f"“{KEY}”"])
def test_a_key_that_no_header_can_carry_is_said_without_it(
    key: str, openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.environ", {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": openai.base_url})
    with pytest.raises(EmbedderUnavailableError, match="OPENAI_API_KEY holds a character") as caught:
        embedder().embed_query("wok")
    assert_not_told(everything_said(caught.value))
    assert openai.received == []


BAD_ADDRESSES = [
    "localhost:8080/v1",
    "me:hunter2hunter2@localhost:8080/v1",
    "ftp://me:hunter2hunter2@localhost/v1",
    "http://",
    "http://me:hunter2hunter2@/v1",
    "http://me:hunter2hunter2@localhost:eleven/v1",
    "http://me:hunter2hunter2@[::1/v1",
    "http://me:hunter2hunter2\n@localhost/v1",
    "http://me:hunter2hunter2@localhost:99999999/v1",
]


@pytest.mark.parametrize("address", BAD_ADDRESSES)
def test_an_address_that_is_none_is_said_without_its_password(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(EmbedderUnavailableError) as caught:
        embedder().embed_query("wok")
    assert_not_told(everything_said(caught.value) + embedder().unavailable() + embedder().where, "hunter2hunter2")


@pytest.mark.parametrize("password", ["hunter2hunter2", "hun%2Fter%202hunter2", "hünter2hünter2"])
def test_a_password_in_the_address_is_not_told(
    password: str, openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_BASE_URL", openai.base_url.replace("//", f"//my-name:{password}@"))
    said = embedder().where
    assert said == f"OpenAI-compatible server at {openai.base_url}"
    embedder().embed_query("wok")
    basic = openai.requests[0].headers["authorization"]
    for fault in ((500, f"{basic} {password}"), (404, f"http://my-name:{password}@x"), (400, basic)):
        openai.poisoned = {"wok": fault}
        with pytest.raises(EmbedderError) as caught:
            embedder().embed_query("wok")
        said += everything_said(caught.value)
    openai.stop()
    said += embedder().unavailable() + caplog.text
    assert "Connection refused" in said
    for secret in (password, "hunter2", "hünter2", "my-name:", basic.removeprefix("Basic ")):
        assert secret not in said


def test_a_proxy_that_cannot_be_used_is_said_without_its_password(
    openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "gopher://me:hunter2hunter2@127.0.0.1:1")
    with pytest.raises(EmbedderUnavailableError, match="ALL_PROXY") as caught:
        embedder().embed_query("wok")
    assert_not_told(everything_said(caught.value), "hunter2hunter2")


def test_the_key_is_in_no_output_and_in_no_byte_of_the_index(tmp_path: Path, openai: OpenAIServer) -> None:
    folder = make_kitchen(tmp_path / "notes")
    openai.key = KEY
    secret = openai.base_url.replace("//", "//me:hunter2hunter2@")
    env = {"OPENAI_BASE_URL": secret, "OPENAI_API_KEY": KEY}
    said = b""
    for arguments in (["embed", "--model", MODEL], ["search", "--json", "wok"], ["models", "--json"], ["info"]):
        run = memoryfield(*arguments, "-f", folder, env=env)
        assert run.code == 0, run.err
        said += run.raw + run.talk
    openai.key = "another"
    for arguments in (["embed", "--rebuild"], ["search", "wok"], ["models"]):
        run = memoryfield(*arguments, "-f", folder, env=env)
        assert "refuses the key" in run.out + run.err
        said += run.raw + run.talk
    openai.failures = [(500, f"no such key: {KEY}")] * 99
    openai.key = ""
    said += memoryfield("embed", "-f", folder, "--rebuild", env=env).talk
    stored = b"".join(path.read_bytes() for path in folder.iterdir())
    for kept in (said, stored):
        assert b"hunter2" not in kept
        assert_not_told(kept.decode("latin-1"))
    assert openai.address.encode() not in stored
