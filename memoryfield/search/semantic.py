"""The semantic half of the score: the cosine of query and page, floored at 0. Exact: every vector is read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from ..index.store import IndexStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Nearest(Protocol):
    """Compares a query's vector with the pages'."""

    def best(self, vector: bytes, most: int) -> dict[str, float]:
        """The `most` nearest pages (-1: all), by file name, each with its cosine."""
        ...

    def of(self, vector: bytes, names: list[str]) -> dict[str, float]:
        """The cosine of each of these pages that has a vector."""
        ...


class Stored:
    """The vectors as they lie in an index, read by sqlite-vec: nothing to load, good for one query."""

    def __init__(self, store: IndexStore) -> None:
        self._connection = store.connection
        store.load_vectors()

    def best(self, vector: bytes, most: int) -> dict[str, float]:
        sql = """
            SELECT filename, vec_distance_cosine(embedding, ?1) AS distance FROM pages
            WHERE length(embedding) = ?2 AND typeof(filename) = 'text'
            ORDER BY distance NULLS LAST, filename LIMIT ?3
        """
        rows = self._connection.execute(sql, (vector, len(vector), most))
        return {name: cosine(distance) for name, distance in rows}

    def of(self, vector: bytes, names: list[str]) -> dict[str, float]:
        if not names:
            return {}
        sql = """
            SELECT filename, vec_distance_cosine(embedding, ?1) FROM pages
            WHERE filename IN (SELECT value FROM json_each(?2)) AND length(embedding) = ?3
        """
        rows = self._connection.execute(sql, (vector, json.dumps(names), len(vector)))
        return {name: cosine(distance) for name, distance in rows}


class Matrix:
    """The vectors in memory, 4 bytes a dimension and page: pays from the second query on."""

    def __init__(self, store: IndexStore, dimensions: int) -> None:
        import numpy as np

        rows = "FROM pages WHERE length(embedding) = ? AND typeof(filename) = 'text' AND typeof(embedding) = 'blob'"
        sql = f"SELECT filename, embedding {rows} ORDER BY filename"
        width = 4 * dimensions
        count = store.count(f"SELECT count(*) {rows}", (width,))
        self._names: list[str] = []
        self._pages = np.zeros((count, dimensions), dtype="<f4")
        for row, (name, embedding) in enumerate(store.connection.execute(sql, (width,))):
            self._names.append(name)
            self._pages[row] = np.frombuffer(embedding, dtype="<f4")
        self._row = {name: row for row, name in enumerate(self._names)}
        lengths = np.linalg.norm(self._pages, axis=1, keepdims=True)
        self._pages /= np.where(lengths > 0, lengths, 1)
        self._compared: dict[bytes, NDArray[np.float32]] = {}

    def compare(self, vectors: list[bytes]) -> None:
        """Compare several queries at once, which is quicker than one after the other."""
        import numpy as np

        queries = np.array([np.frombuffer(vector, dtype="<f4") for vector in vectors])
        queries = queries / np.linalg.norm(queries, axis=1, keepdims=True)
        cosines = np.clip(np.nan_to_num(queries @ self._pages.T), 0, 1)
        self._compared = dict(zip(vectors, cosines, strict=True))

    def best(self, vector: bytes, most: int) -> dict[str, float]:
        import numpy as np

        scores = self._scores(vector)
        rows = first(scores, np.arange(len(scores)), most)
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        return {self._names[row]: float(scores[row]) for row in rows.tolist()}

    def of(self, vector: bytes, names: list[str]) -> dict[str, float]:
        scores = self._scores(vector)
        return {name: float(scores[self._row[name]]) for name in names if name in self._row}

    def _scores(self, vector: bytes) -> NDArray[np.float32]:
        """The cosine of every page, floored at 0."""
        if vector not in self._compared:
            self.compare([vector])
        return self._compared[vector]


def first(scores: NDArray[Any], rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The `most` of these rows (-1: all) with the best scores, in their order; of equals, the first."""
    import numpy as np

    if not 0 <= most < len(rows):
        return rows
    least = np.partition(scores[rows], len(rows) - most)[len(rows) - most]
    better, equal = scores[rows] > least, scores[rows] == least
    equal &= np.cumsum(equal) <= most - np.count_nonzero(better)
    chosen: NDArray[np.int64] = rows[better | equal]
    return chosen


def cosine(distance: float | None) -> float:
    """From a cosine distance; a vector of zeros has none."""
    return 0.0 if distance is None else min(1.0, max(0.0, 1.0 - distance))
