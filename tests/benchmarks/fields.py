"""Fields for the benchmarks: deterministic, made of words, with frontmatter."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from memoryfield.index.store import IndexStore
from memoryfield.index.sync import sync

MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384

_SYLLABLES = "ba be bi bo bu da de di do du fa fe fi fo fu ka ke ki ko ku la le li lo lu ma me mi mo mu".split()
_SYLLABLES += "na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo vu".split()


def vocabulary(size: int, seed: int = 7) -> list[str]:
    """Distinct words of two to four syllables."""
    rng = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < size:
        words["".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))] = None
    return list(words)


def pages(count: int, size: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """Names and texts of pages of about `size` bytes; words as frequent as in a language (Zipf)."""
    words = vocabulary(20_000, seed)
    weights = list(accumulate(1 / (rank + 2) for rank in range(len(words))))
    rng = random.Random(seed)
    for number in range(count):
        title = " ".join(rng.choices(words, cum_weights=weights, k=4))
        head = (
            f'---\ntitle: "{title}"\nuuid: {rng.getrandbits(32):08x}-0000-4000-8000-{number:012d}\n'
            f'created: "2026-01-01T00:00:00Z"\nupdated: "2026-01-02T00:00:00Z"\n---\n\n# {title}\n\n'
        )
        drawn = rng.choices(words, cum_weights=weights, k=size // 5)  # a word and its space: about 7 bytes
        body = ".\n\n".join(" ".join(drawn[place : place + 50]) for place in range(0, len(drawn), 50))
        yield f"page-{number:06d}.md", (head + body)[: size - 1] + "\n"


def write_field(folder: Path, count: int, size: int, seed: int = 7) -> None:
    """A folder with pages, as if written an hour ago."""
    import os
    import time

    folder.mkdir(parents=True)
    past = time.time() - 3600
    for name, text in pages(count, size, seed):
        path = folder / name
        path.write_text(text, encoding="utf-8")
        os.utime(path, (past, past))


class FreeEmbedder:
    """An embedder whose own time is next to nothing: vectors from a seeded generator, of unit length."""

    model = spec = MODEL
    where = "here"
    dimensions: int | None = DIMENSIONS
    batch = 256

    def __init__(self) -> None:
        import numpy as np

        self._numpy = np
        self._random = np.random.default_rng(7)

    def load(self) -> None:
        """Nothing to load."""

    def embed_pages(self, texts: list[str]) -> list[bytes]:
        """Random unit vectors."""
        vectors = self._random.standard_normal((len(texts), DIMENSIONS)).astype("<f4")
        vectors /= self._numpy.linalg.norm(vectors, axis=1, keepdims=True)
        return [vector.tobytes() for vector in vectors]

    def embed_query(self, text: str) -> bytes:
        """A random unit vector."""
        return self.embed_pages([text])[0]

    embed_queries = embed_pages

    def unavailable(self) -> str:
        """It always answers."""
        return ""


def index_field(folder: Path) -> None:
    """An up-to-date index beside the pages, with vectors that cost nothing."""
    from memoryfield.containers import open_container

    store = IndexStore.open(folder / f"{MODEL}.sqlite3", MODEL, DIMENSIONS, create=True)
    try:
        sync(open_container(folder), store, FreeEmbedder())  # type: ignore[arg-type]
    finally:
        store.close()
