"""How well a search finds what a test collection says is relevant, in each mode, through the public API.

    python -m tests.benchmarks.retrieval PATH [--json FILE] [--keep FOLDER]

PATH is a folder that holds a collection; which one is told from its files. Another collection is
another loader: documents (name, title, text), queries, and for each query the relevant names with
their grades.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memoryfield import Field

from .measure import save, table

MODES = ("hybrid", "keyword", "semantic")
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Document:
    """A text of a collection; `name` becomes the page's name."""

    name: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Collection:
    """Documents, queries by their number, and for each query the grades of the relevant documents."""

    name: str
    documents: list[Document]
    queries: dict[int, str]
    relevant: dict[int, dict[str, int]]


def cranfield(folder: Path) -> Collection:
    """The Cranfield collection: 1,400 abstracts, 225 queries in order, judgements with codes from 1 to 4."""
    documents = []
    for block in re.split(r"^\.I ", (folder / "cran.all.1400").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        number, rest = block.split("\n", 1)
        parts = re.split(r"^\.([TABW])\n", rest, flags=re.MULTILINE)
        fields = dict(zip(parts[1::2], (" ".join(part.split()) for part in parts[2::2]), strict=True))
        documents.append(Document(f"document-{int(number):04d}.md", fields["T"], fields["W"]))
    texts = re.split(r"^\.I \d+\n\.W\n", (folder / "cran.qry").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    relevant: dict[int, dict[str, int]] = {}
    for line in (folder / "cranqrel").read_text(encoding="utf-8").splitlines():
        query, document, code = map(int, line.split()[:3])
        if code > 0:  # -1 marks the source of the query itself in some copies
            relevant.setdefault(query, {})[f"document-{document:04d}.md"] = 1
    return Collection("Cranfield", documents, {n: " ".join(t.split()) for n, t in enumerate(texts, 1)}, relevant)


LOADERS = {"cran.all.1400": cranfield}
"""A file that only this collection has, and its loader."""


def load(folder: Path) -> Collection:
    """The collection in a folder."""
    for mark, loader in LOADERS.items():
        if (folder / mark).exists():
            return loader(folder)
    raise SystemExit(f"{folder} holds no collection that is known here: none of {', '.join(LOADERS)}")


def write(collection: Collection, folder: Path) -> Field:
    """The collection as a field, embedded with the bundled model."""
    folder.mkdir(parents=True, exist_ok=True)
    for document in collection.documents:
        title = document.title.replace('"', "'")
        text = f'---\ntitle: "{title}"\n---\n\n# {title}\n\n{document.text}\n'
        path = folder / document.name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    field = Field.open(folder)
    field.sync()
    return field


def measures(found: Sequence[str], grades: Mapping[str, int]) -> dict[str, float]:
    """hit@1, recall@5, MRR@10 and nDCG@10 of one query (Järvelin and Kekäläinen, 2002, for the last)."""
    gains = [grades.get(name, 0) for name in found[:DEPTH]]
    ideal = sorted(grades.values(), reverse=True)[:DEPTH]
    first = next((rank for rank, gain in enumerate(gains, 1) if gain), 0)
    return {
        "hit@1": float(bool(gains and gains[0])),
        "recall@5": sum(map(bool, gains[:5])) / len(grades),
        "MRR@10": 1 / first if first else 0.0,
        "nDCG@10": _dcg(gains) / _dcg(ideal),
    }


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def evaluate(collection: Collection, field: Field, mode: str) -> dict[str, float]:
    """The means over all queries that have a relevant document, and seconds a query."""
    totals: dict[str, float] = {}
    queries = [number for number in collection.queries if collection.relevant.get(number)]
    start = time.perf_counter()
    for number in queries:
        found = field.search(collection.queries[number], limit=DEPTH, mode=mode, min_score=0)
        names = [hit.filename for hit in found.results]
        for key, value in measures(names, collection.relevant[number]).items():
            totals[key] = totals.get(key, 0.0) + value
    seconds = (time.perf_counter() - start) / len(queries)
    return {**{key: value / len(queries) for key, value in totals.items()}, "seconds": seconds}


def main() -> None:
    """Load, write, search, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="the folder of the collection")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--keep", type=Path, help="the field's folder, kept for the next run")
    arguments = parser.parse_args()
    collection = load(arguments.path)
    with (
        tempfile.TemporaryDirectory() as scratch,
        write(collection, arguments.keep or Path(scratch) / "field") as field,
    ):
        results: dict[str, Any] = {mode: evaluate(collection, field, mode) for mode in MODES}
    header = [f"{collection.name}, {len(collection.documents):,} pages", *next(iter(results.values()))]
    print(table(header, [[mode, *(f"{value:.3f}" for value in row.values())] for mode, row in results.items()]))
    save({"collection": collection.name, **results}, arguments.json)


if __name__ == "__main__":
    main()
