"""The models that can embed, by their code."""

from __future__ import annotations

from ..errors import UnknownModelError
from .base import Embedder, Vector, page_input

__all__ = ["DEFAULT_MODEL", "MODELS", "Embedder", "Vector", "dimensions_of", "find_embedder", "is_known", "page_input"]

DEFAULT_MODEL = "all-MiniLM-L6-v2"
MODELS = ("nomic-embed-text-v1.5", DEFAULT_MODEL)
"""The known model codes; of several indexes, a search takes the first of them that answers."""


def is_known(model: str) -> bool:
    """Whether `find_embedder` finds one."""
    return model in MODELS


def dimensions_of(model: str) -> int | None:
    """The length of a model's vectors, or None where only the model itself can tell. Loads nothing."""
    return {DEFAULT_MODEL: 384, "nomic-embed-text-v1.5": 768}.get(model)


def find_embedder(model: str) -> Embedder:
    """The embedder of a model code. Nothing is loaded yet.

    Raises:
        UnknownModelError: no embedder is known for it.
    """
    if model == DEFAULT_MODEL:
        from .minilm import MiniLM

        return MiniLM()
    if model == "nomic-embed-text-v1.5":
        from .ollama import OllamaEmbedder

        return OllamaEmbedder(
            model, "nomic-embed-text", 768, page_prefix="search_document: ", query_prefix="search_query: "
        )
    raise UnknownModelError(f"unknown model {model!r}", hint=f"Known models: {', '.join(MODELS)}.")
