"""The semantic half of the score: the cosine of query and page, floored at 0. Exact: every vector is read."""

from __future__ import annotations

from ..index.store import IndexStore


def semantic_scores(store: IndexStore, vector: bytes, most: int) -> dict[str, float]:
    """The `most` nearest pages, by file name, each with its cosine."""
    store.load_vectors()
    sql = """
        SELECT filename, vec_distance_cosine(embedding, ?1) AS distance FROM pages
        WHERE length(embedding) = ?2 ORDER BY distance NULLS LAST LIMIT ?3
    """
    rows = store.connection.execute(sql, (vector, len(vector), most))
    return {name: cosine(distance) for name, distance in rows}


def semantic_of(store: IndexStore, vector: bytes, names: list[str]) -> dict[str, float]:
    """The cosine of each of these pages that has a vector."""
    import json

    store.load_vectors()
    sql = """
        SELECT filename, vec_distance_cosine(embedding, ?1) FROM pages
        WHERE filename IN (SELECT value FROM json_each(?2)) AND length(embedding) = ?3
    """
    rows = store.connection.execute(sql, (vector, json.dumps(names), len(vector)))
    return {name: cosine(distance) for name, distance in rows}


def cosine(distance: float | None) -> float:
    """From a cosine distance; a vector of zeros has none."""
    return 0.0 if distance is None else min(1.0, max(0.0, 1.0 - distance))
