"""A double of an Ollama server: the real protocol over a real socket, with the bundled model behind it.

It follows what Ollama documents (docs/api.md of ollama/ollama) and what its EmbedHandler does
(server/routes.go there): POST /api/embed, GET /api/tags, POST /api/show, GET /api/version, and
errors as `{"error": "..."}`, with the messages that the real server gives. Where a text is too long
and `truncate` is false, those are status 400 and "the input length exceeds the context length";
other versions have answered 500, 413, or "input length exceeds maximum context length". A model
whose vector holds NaN makes the real server answer 500, "failed to encode response: json:
unsupported value: NaN" (issues 9639 and 15582 there).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .server import DIMENSIONS, Answer, EmbeddingServer, Failure, Received, hashed_vector, hashed_vectors

__all__ = [
    "BUSY",
    "DIMENSIONS",
    "NAN_IN_VECTOR",
    "Answer",
    "Failure",
    "OllamaServer",
    "hashed_vector",
    "hashed_vectors",
]

NAN_IN_VECTOR = (500, "failed to encode response: json: unsupported value: NaN")
BUSY = (503, "server busy, please try again.  maximum pending requests exceeded")


@dataclass
class OllamaServer(EmbeddingServer):
    """The server; it listens as long as the `with` block lasts.

    ```python
    with OllamaServer() as server:
        server.failures = [(503, "server busy")] * 2   # the next two requests fail, then all is well
        ...
        assert server.embedded == ["search_query: woks"]
    ```
    """

    models: list[str] = field(default_factory=lambda: ["nomic-embed-text:latest"])
    talkers: list[str] = field(default_factory=list)
    """Models that are there and do not embed."""
    embed_path = "/api/embed"

    @property
    def host(self) -> str:
        """As OLLAMA_HOST has it."""
        return self.address

    def has(self, model: str) -> bool:
        return model in self.models or f"{model}:latest" in self.models

    def error(self, status: int, message: str) -> Any:
        return {"error": message}

    def answered(self, model: str, vectors: list[list[float]], texts: list[str]) -> Any:
        return {"model": model, "embeddings": vectors, "total_duration": 1, "load_duration": 1}

    def other(self, request: Received) -> tuple[int, Any]:
        if request.path == "/api/tags":
            return 200, self.tags()
        if request.path == "/api/show" and isinstance(request.body, dict):
            return self._shown(str(request.body.get("model")))
        if request.path == "/api/version":
            return 200, {"version": "0.13.0"}
        return (200, "Ollama is running") if request.path == "/" else (404, "404 page not found")

    def tags(self) -> dict[str, Any]:
        """The models that are there, as `ollama list` shows them."""
        details = {"format": "gguf", "family": "nomic-bert", "parameter_size": "137M", "quantization_level": "F16"}
        common = {"modified_at": "2024-11-04T14:56:49.277302595-07:00", "size": 274302450, "details": details}
        names = [*self.models, *self.talkers]
        return {"models": [{"name": name, "model": name, "digest": "0a109f422b47", **common} for name in names]}

    def _shown(self, model: str) -> tuple[int, Any]:
        if model in self.talkers:
            capable, kind = ["completion", "tools"], "llama"
        elif self.has(model):
            capable, kind = ["embedding"], "nomic-bert"
        else:
            return 404, self.error(404, self.unknown(model))
        info = {"general.architecture": kind, f"{kind}.embedding_length": self.dimensions}
        return 200, {"details": {"family": kind}, "model_info": info, "capabilities": capable}
