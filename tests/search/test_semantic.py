"""The semantic half of the score: exact cosines over every stored vector, floored at 0."""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryfield.index.store import IndexStore, Record
from memoryfield.search.semantic import Matrix, Nearest, Stored, cosine


def packed(values: Sequence[float]) -> bytes:
    """A vector as an index stores it."""
    return struct.pack(f"<{len(values)}f", *values)


def index_of(vectors: Mapping[str, Sequence[float]], dimensions: int = 3) -> IndexStore:
    """An index in memory whose pages have these vectors."""
    store = IndexStore.memory("hand-made", dimensions)
    store.prepare()
    with store.transaction():
        for name, values in vectors.items():
            store.put(
                Record(
                    filename=name,
                    size=4,
                    mtime_ns=0,
                    crc32=0,
                    sha256=hashlib.sha256(name.encode()).digest(),
                    indexed_ns=1,
                    broken=False,
                    text=name,
                    frontmatter={},
                    vector=packed(values),
                )
            )
    return store


def in_memory(store: IndexStore) -> Nearest:
    """The other way to compare, for many queries."""
    return Matrix(store, 3)


BOTH = pytest.mark.parametrize("comparing", [Stored, in_memory])
Comparing = Callable[[IndexStore], Nearest]


def cosine_by_hand(first: Sequence[float], second: Sequence[float]) -> float:
    """Floored at 0; 0 where a vector has no direction."""
    lengths = math.sqrt(math.fsum(x * x for x in first)) * math.sqrt(math.fsum(x * x for x in second))
    product = math.fsum(x * y for x, y in zip(first, second, strict=True))
    return max(0.0, product / lengths) if lengths else 0.0


_VALUES = st.floats(-1, 1, width=32).map(lambda value: value if abs(value) > 1e-3 else 0.0)
_VECTORS = st.lists(_VALUES, min_size=3, max_size=3)


@BOTH
@given(vectors=st.lists(_VECTORS, min_size=1, max_size=8), query=_VECTORS.filter(any))
@settings(max_examples=60, deadline=None)
def test_each_score_is_the_cosine_floored_at_zero(
    comparing: Comparing, vectors: list[list[float]], query: list[float]
) -> None:
    pages = {f"page-{number}.md": values for number, values in enumerate(vectors)}
    store = index_of(pages)
    expected = {name: cosine_by_hand(values, query) for name, values in pages.items()}
    nearest = comparing(store)
    for found in (
        nearest.best(packed(query), 100),
        nearest.best(packed(query), -1),
        nearest.of(packed(query), list(pages)),
    ):
        assert found == pytest.approx(expected, abs=1e-5)
        assert all(0 <= score <= 1 for score in found.values())


@BOTH
def test_only_the_nearest_are_given(comparing: Comparing) -> None:
    store = index_of({"far.md": (0, 1, 0), "near.md": (1, 0.1, 0), "nearest.md": (2, 0, 0), "behind.md": (-1, 0, 0)})
    assert list(comparing(store).best(packed((1, 0, 0)), 2)) == ["nearest.md", "near.md"]


@BOTH
def test_pages_are_compared_by_name(comparing: Comparing) -> None:
    store = index_of({"a.md": (1, 0, 0), "b.md": (1, 1, 0), "c.md": (0, 1, 0)})
    found = comparing(store).of(packed((1, 0, 0)), ["b.md", "c.md", "not-there.md"])
    assert found == pytest.approx({"b.md": math.sqrt(0.5), "c.md": 0.0})


@BOTH
def test_vectors_of_another_length_are_left_out(comparing: Comparing) -> None:
    store = index_of({"good.md": (1, 0, 0), "short.md": (1, 0), "long.md": (1, 0, 0, 0)})
    assert comparing(store).best(packed((1, 0, 0)), 10) == pytest.approx({"good.md": 1.0})
    assert comparing(store).of(packed((1, 0, 0)), ["good.md", "short.md"]) == pytest.approx({"good.md": 1.0})


@BOTH
@pytest.mark.parametrize("odd", [(0, 0, 0), (math.nan, 0, 0)], ids=["zeros", "not a number"])
def test_a_vector_without_direction_does_not_push_a_real_one_out(odd: Sequence[float], comparing: Comparing) -> None:
    store = index_of({"a-odd.md": odd, "real.md": (1, 0.5, 0)})
    assert list(comparing(store).best(packed((1, 0, 0)), 1)) == ["real.md"]
    assert comparing(store).best(packed((1, 0, 0)), 2).get("a-odd.md", 0.0) == 0.0


@pytest.mark.parametrize(
    ("distance", "score"), [(0.0, 1.0), (0.25, 0.75), (1.0, 0.0), (1.7, 0.0), (2.0, 0.0), (-1e-7, 1.0), (None, 0.0)]
)
def test_a_distance_becomes_a_score_between_zero_and_one(distance: float | None, score: float) -> None:
    assert cosine(distance) == score
