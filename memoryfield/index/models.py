"""Which models there are to embed with, here and behind the servers, and whether each answers now."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..containers import Container
from ..embedders import DEFAULT_MODEL, MODELS, Embedder, find_embedder
from ..embedders.specs import parse
from ..errors import EmbedderError, UnknownModelError
from .files import embedder_of, index_files

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

AT_ONCE = 16
"""So many servers and models are asked side by side: one that does not answer holds up no other."""


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model. `spec` is what `--model` takes; `problem` says why it does not answer."""

    model: str
    spec: str
    dimensions: int | None
    where: str
    problem: str = ""

    @property
    def answers(self) -> bool:
        """Whether it can embed now."""
        return not self.problem

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        names = ("model", "spec", "dimensions", "where", "answers", "problem")
        return {name: getattr(self, name) for name in names}


def list_models(container: Container | None = None) -> list[ModelStatus]:
    """The known models, those that the servers have, and those of a field's indexes.

    A server with OpenAI's call is asked only where OPENAI_BASE_URL or OPENAI_API_KEY is set.
    """
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(AT_ONCE) as pool:
        servers = [pool.submit(_of_ollama), *([pool.submit(_of_openai)] if _openai_is_set() else [])]
        rows = {row.spec: row for row in _checked(pool, _named(container))}
        for server in servers:
            for row in server.result():
                rows.setdefault(row.spec, row)
    return sorted(rows.values(), key=lambda row: (row.model != DEFAULT_MODEL, row.model not in MODELS, row.model))


def _openai_is_set() -> bool:
    return any(os.environ.get(name, "").strip() for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"))


def _named(container: Container | None) -> list[Embedder | ModelStatus]:
    """The embedders of the known models and of the indexes; a row as it is for an index without any."""
    named: dict[str, Embedder | ModelStatus] = {}
    for code in index_files(container) if container else ():
        assert container is not None
        try:
            embedder = embedder_of(container, code)
            named[embedder.spec] = embedder
        except UnknownModelError:
            named[code] = ModelStatus(code, "", None, "", "its index does not tell which server it is from")
    for code in MODELS:
        known = find_embedder(code)
        if not any(entry.model == code for entry in named.values()):
            named[known.spec] = known
    return list(named.values())


def _checked(pool: ThreadPoolExecutor, named: list[Embedder | ModelStatus]) -> list[ModelStatus]:
    return list(pool.map(lambda entry: entry if isinstance(entry, ModelStatus) else _asked(entry), named))


def _asked(embedder: Embedder) -> ModelStatus:
    problem = embedder.unavailable()
    return ModelStatus(embedder.model, embedder.spec, embedder.dimensions, embedder.where, problem)


def _of_ollama() -> list[ModelStatus]:
    """The embedding models that the Ollama server has; none if there is no server."""
    from ..embedders.ollama import OllamaEmbedder

    server = OllamaEmbedder(parse(MODELS[0]))
    return _rows("ollama", server.where, server.models)


def _of_openai() -> list[ModelStatus]:
    """What the other server lists: those with "embed" in their names if there are any, for it lists all alike."""
    from ..embedders.openai import OpenAIEmbedder

    server = OpenAIEmbedder(parse("openai:any"))

    def names() -> dict[str, int | None]:
        listed = server.names()
        return dict.fromkeys([name for name in listed if "embed" in name.lower()] or listed)

    return _rows("openai", server.where, names)


def _rows(kind: str, where: str, ask: Callable[[], dict[str, int | None]]) -> list[ModelStatus]:
    rows: list[ModelStatus] = []
    try:
        for name, dimensions in ask().items():
            try:
                embedder = find_embedder(f"{kind}:{name}", dimensions=dimensions)
            except UnknownModelError:  # a name that no index can have
                continue
            rows.append(ModelStatus(embedder.model, embedder.spec, embedder.dimensions, where))
    except EmbedderError as error:
        if kind == "openai":  # somebody has set it up, and wants to know
            rows.append(ModelStatus("", "openai:MODEL", None, where, str(error)))
    return rows
