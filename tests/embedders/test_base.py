"""What every embedder shares: unit vectors as bytes, what is read of a page, which models there are."""

from __future__ import annotations

import math
import struct
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryfield.embedders import DEFAULT_MODEL, MODELS, dimensions_of, find_embedder, page_input
from memoryfield.embedders.base import mean_vector, unit_vector, unit_vectors
from memoryfield.errors import EmbedderError, EmbedderUnavailableError, UnknownModelError
from memoryfield.names import MAX_PAGE_BYTES


def numbers(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


@given(st.lists(st.floats(min_value=-1e6, max_value=1e6, width=32), min_size=1, max_size=40).filter(any))
def test_a_unit_vector_has_length_one_and_keeps_the_direction(values: list[float]) -> None:
    made = numbers(unit_vector(values, len(values), "text"))
    length = math.hypot(*values)
    assert math.isclose(math.hypot(*made), 1.0, rel_tol=1e-5)
    assert all(
        math.isclose(a * length, b, rel_tol=1e-5, abs_tol=1e-5 * length) for a, b in zip(made, values, strict=True)
    )


def test_a_vector_is_stored_as_little_endian_float32() -> None:
    assert unit_vector([3.0, 0.0, -4.0], 3, "text") == bytes.fromhex("9a99193f00000000cdcc4cbf")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 2.0], "2 dimensions instead of 3"),
        ([1.0] * 4, "4 dimensions instead of 3"),
        ([], "0 dimensions instead of 3"),
        ([0.0, 0.0, 0.0], "all zeros"),
        ([0.0, -0.0, 0.0], "all zeros"),
        ([1.0, math.nan, 0.0], "not finite"),
        ([1.0, math.inf, 0.0], "not finite"),
        ([math.inf, -math.inf, 0.0], "not finite"),
    ],
)
def test_what_is_no_vector_is_refused_by_name(values: list[float], message: str) -> None:
    with pytest.raises(EmbedderError, match=f"^woks.md: .*{message}"):
        unit_vector(values, 3, "woks.md")
    with pytest.raises(EmbedderError, match=f"^woks.md: .*{message}"):
        unit_vectors([[1.0, 2.0, 3.0], values, [3.0, 2.0, 1.0]], 3, "woks.md")


@pytest.mark.parametrize("length", [None, 3])
def test_many_vectors_at_once_are_those_made_one_by_one(length: int | None) -> None:
    many = [[3.0, 0.0, -4.0], [1e200, 1e200, 0.0], [5e-324, 0.0, 0.0], [0.1, 0.2, 0.3]]
    alone = [numbers(unit_vector(values, 3, "text")) for values in many]
    made = [numbers(vector) for vector in unit_vectors(many, length, "text")]
    assert made == [pytest.approx(one, rel=1e-6) for one in alone]


@pytest.mark.parametrize("values", [[1e154] * 3, [1e200, 1e200, 0.0], [1e-200, 1e-200, 0.0], [5e-324, 0.0, 0.0]])
def test_values_of_any_finite_size_make_a_unit_vector(values: list[float]) -> None:
    assert math.isclose(math.hypot(*numbers(unit_vector(values, 3, "text"))), 1.0, rel_tol=1e-5)


def test_any_length_will_do_where_the_dimensions_are_not_known_yet() -> None:
    assert len(unit_vector([1.0] * 7, None, "text")) == 28


def test_the_mean_of_vectors_counts_each_by_its_weight() -> None:
    right, up = unit_vector([1.0, 0.0], 2, "a"), unit_vector([0.0, 1.0], 2, "b")
    assert numbers(mean_vector([right, up], [3, 4])) == pytest.approx((0.6, 0.8))
    assert mean_vector([right], [17]) == right


def test_a_page_is_read_to_its_limit_and_no_further() -> None:
    raw = b"---\ntitle: Woks\n---\n" + b"a" * MAX_PAGE_BYTES
    assert page_input(raw) == raw[:MAX_PAGE_BYTES].decode()
    assert page_input(raw[:MAX_PAGE_BYTES]) == raw[:MAX_PAGE_BYTES].decode()


@pytest.mark.parametrize("character", ["é", "炭", "\U0001f373"])
@pytest.mark.parametrize("before", range(4))
def test_a_character_on_the_limit_is_left_out_whole(character: str, before: int) -> None:
    text = "a" * (MAX_PAGE_BYTES - before) + character + "b" * 10
    read = page_input(text.encode())
    assert text.startswith(read)
    assert MAX_PAGE_BYTES - len(character.encode()) < len(read.encode()) <= MAX_PAGE_BYTES


@given(st.text())
def test_a_short_page_is_read_whole(text: str) -> None:
    raw = text.encode("utf-8", "ignore")
    assert page_input(raw) == raw.decode()


@pytest.mark.parametrize("model", MODELS)
def test_each_known_model_has_an_embedder_of_its_name(model: str) -> None:
    embedder = find_embedder(model)
    assert embedder.model == model
    assert embedder.dimensions == {"all-MiniLM-L6-v2": 384, "nomic-embed-text-v1.5": 768}[model]
    assert dimensions_of(model) == embedder.dimensions
    assert embedder.batch > 0


def test_the_dimensions_of_an_unknown_model_are_not_known() -> None:
    assert dimensions_of("text-embedding-3-small") is None


@pytest.mark.parametrize(
    ("model", "library"),
    [(DEFAULT_MODEL, "numpy"), (DEFAULT_MODEL, "onnxruntime"), (DEFAULT_MODEL, "tokenizers"), (MODELS[0], "ollama")],
)
def test_a_library_that_cannot_be_loaded_makes_the_embedder_unavailable(
    model: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_embedder(model).load()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EmbedderUnavailableError, match=library):
        find_embedder(model).load()


def test_the_bundled_model_is_the_default() -> None:
    assert DEFAULT_MODEL == "all-MiniLM-L6-v2"
    assert DEFAULT_MODEL in MODELS


@pytest.mark.parametrize("model", ["", "all-minilm", "nomic-embed-text", "ALL-MINILM-L6-V2"])
def test_an_unknown_model_is_refused_with_the_names_of_the_known_ones(model: str) -> None:
    with pytest.raises(UnknownModelError) as caught:
        find_embedder(model)
    assert repr(model) in str(caught.value)
    assert all(known in str(caught.value) for known in MODELS)


def test_finding_an_embedder_loads_nothing_heavy() -> None:
    code = (
        "import sys; from memoryfield.embedders import MODELS, find_embedder; [find_embedder(m) for m in MODELS];"
        "print(*({'numpy', 'onnxruntime', 'tokenizers', 'httpx', 'ollama'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
