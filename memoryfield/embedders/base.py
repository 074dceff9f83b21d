"""What an embedder is: text in, unit vectors out."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from ..errors import EmbedderError, EmbedderUnavailableError
from ..names import MAX_PAGE_BYTES

Vector = bytes
"""A vector of unit length as an index stores it: float32 values, little-endian, 4 bytes a dimension."""


class Embedder(Protocol):
    """Makes vectors of texts with one model. Loading is lazy: making an embedder costs nothing."""

    @property
    def model(self) -> str:
        """The model's full code, version included; it names the index file."""
        ...

    @property
    def spec(self) -> str:
        """What `find_embedder` finds it by, server included; it names the server's kind, never its address."""
        ...

    @property
    def where(self) -> str:
        """Where it runs, for people."""
        ...

    @property
    def dimensions(self) -> int | None:
        """The length of its vectors, or None where only the first answer tells."""
        ...

    @property
    def batch(self) -> int:
        """How many pages are worth giving at once, the next time."""
        ...

    def load(self) -> None:
        """Import what the embedder needs; what follows then computes mostly outside the interpreter.

        Raises:
            EmbedderUnavailableError: it is not installed.
        """
        ...

    def embed_pages(self, texts: Sequence[str]) -> list[Vector | EmbedderError]:
        """One vector a text, in order; an error in place of each that could not be embedded.

        Raises:
            EmbedderUnavailableError: none could be embedded, and trying again now will not help.
        """
        ...

    def embed_query(self, text: str) -> Vector:
        """The vector of a question.

        Raises:
            EmbedderUnavailableError: the model cannot be reached or started.
            EmbedderError: the answer is no vector.
        """
        ...

    def embed_queries(self, texts: Sequence[str]) -> list[Vector | EmbedderError]:
        """The vectors of many questions, as `embed_pages` gives those of pages."""
        ...

    def unavailable(self) -> str:
        """Why the embedder cannot answer now; empty if it can."""
        ...


def import_library(name: str) -> None:
    """Import a library that only some embedder needs.

    Raises:
        EmbedderUnavailableError: it is not installed, or cannot be loaded here.
    """
    try:
        import_module(name)
    except ImportError as error:
        raise EmbedderUnavailableError(f"{name} cannot be loaded: {error}", hint=f"Run `pip install {name}`.") from None


def page_input(raw: bytes) -> str:
    """What an embedder reads of a page: the complete file, cut at 8,192 bytes on a character boundary."""
    return raw[:MAX_PAGE_BYTES].decode("utf-8", "ignore")


def unit_vector(values: Sequence[float], dimensions: int | None, what: str) -> Vector:
    """Values from elsewhere as a vector of unit length.

    Raises:
        EmbedderError: wrong length, all zeros, or not finite. `what` names the text in its message.
    """
    if dimensions is not None and len(values) != dimensions:
        raise EmbedderError(
            f"{what}: the vector has {len(values)} dimensions instead of {dimensions}",
            hint="If that model is another one now, `memoryfield embed --rebuild` makes its index anew.",
        )
    try:
        length = math.hypot(*values)
        if length == math.inf and math.inf not in map(abs, values):  # beyond the range of floats, and no value is
            greatest = max(map(abs, values))
            values = [value / greatest for value in values]
            length = math.hypot(*values)
    except (TypeError, OverflowError):  # llama.cpp says null for what is no number
        raise EmbedderError(f"{what}: the vector holds values that are no numbers") from None
    if not math.isfinite(length):
        raise EmbedderError(f"{what}: the vector holds values that are not finite")
    if length == 0:
        raise EmbedderError(f"{what}: the vector is all zeros")
    if abs(length - 1) > 1e-7:  # most models give unit vectors already
        values = [value / length for value in values]
    return struct.pack(f"<{len(values)}f", *values)


def unit_vectors(found: Sequence[Sequence[float]], dimensions: int | None, what: str) -> list[Vector]:
    """The same for many, a good deal quicker where there is nothing wrong with any.

    Raises:
        EmbedderError: as for the first that is wrong.
    """
    import_library("numpy")
    import numpy as np

    try:
        values = np.array(found, dtype=np.float64)
    except (ValueError, TypeError):  # of several lengths
        values = np.zeros((0, 0))
    sound = values.ndim == 2 and values.size and values.shape[1] == (dimensions or values.shape[1])
    if sound and np.isfinite(values).all() and (greatest := np.abs(values).max(axis=1, keepdims=True)).all():
        values /= greatest  # so that no square overflows
        values /= np.linalg.norm(values, axis=1, keepdims=True)
        return [row.tobytes() for row in values.astype("<f4")]
    return [unit_vector(one, dimensions, what) for one in found]


def mean_vector(vectors: Sequence[Vector], weights: Sequence[float]) -> Vector:
    """The weighted mean of unit vectors, of unit length again."""
    dimensions = len(vectors[0]) // 4
    sums = [0.0] * dimensions
    for vector, weight in zip(vectors, weights, strict=True):
        for place, value in enumerate(struct.unpack(f"<{dimensions}f", vector)):
            sums[place] += weight * value
    return unit_vector(sums, dimensions, "mean of parts")
