"""The models that can embed, by their code or spec."""

from __future__ import annotations

from ..errors import UnknownModelError
from .base import Embedder, Vector, page_input
from .specs import BUNDLED as DEFAULT_MODEL
from .specs import MODELS, NOMIC, parse

__all__ = [
    "DEFAULT_MODEL",
    "MODELS",
    "Embedder",
    "Vector",
    "code_of_spec",
    "dimensions_of",
    "find_embedder",
    "is_known",
    "page_input",
]


def is_known(model: str) -> bool:
    """Whether `find_embedder` finds one."""
    try:
        parse(model)
    except UnknownModelError:
        return False
    return True


def code_of_spec(model: str) -> str:
    """The model code of a spec; any other name is one already."""
    return parse(model).code if is_known(model) else model


def dimensions_of(model: str) -> int | None:
    """The length of a model's vectors, or None where only the model itself can tell. Loads nothing."""
    return {DEFAULT_MODEL: 384, NOMIC: 768}.get(code_of_spec(model))


def find_embedder(model: str, *, dimensions: int | None = None, threads: int | None = None) -> Embedder:
    """The embedder of a known code, or of a spec (`ollama:TAG`, `openai:MODEL`). Nothing is loaded yet.

    Args:
        dimensions: the length of the vectors that are there already, where the model alone does not tell.
        threads: how many the bundled model uses; else one for each core.

    Raises:
        UnknownModelError: no embedder is known for it.
    """
    spec = parse(model)
    if not spec.server:
        from .minilm import MiniLM

        return MiniLM(threads)
    dimensions = dimensions_of(model) or dimensions
    if spec.server == "ollama":
        from .ollama import OllamaEmbedder

        return OllamaEmbedder(spec, dimensions)
    from .openai import OpenAIEmbedder

    return OpenAIEmbedder(spec, dimensions)
