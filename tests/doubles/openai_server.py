"""A double of a server with OpenAI's embeddings call, with the bundled model behind it.

It follows OpenAI's reference (POST /v1/embeddings, GET /v1/models; errors as `{"error": {"message":
..., "type": ..., "code": ...}}`; an empty input is refused), and says "too long" in the words of
OpenAI, llama.cpp (issues 11105 and 12295 of ggml-org/llama.cpp), vLLM (issue 19798 of
vllm-project/vllm), or whatever else it is told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from .server import EmbeddingServer, Received

TOO_LONG = {
    "OpenAI": (
        400,
        "This model's maximum context length is 8192 tokens, however you requested 8610 tokens (8610 in your prompt;"
        " 0 for the completion). Please reduce your prompt; or completion length.",
    ),
    "OpenAI, newer": (400, "Invalid 'input[0]': maximum input length is 8192 tokens."),
    "llama.cpp": (500, "input is too large to process. increase the physical batch size"),
    "llama.cpp, newer": (500, "input (992 tokens) is too large to process. increase the physical batch size"),
    "llama.cpp, context": (400, "the request exceeds the available context size. try increasing the context size"),
    "vLLM": (
        400,
        "This model's maximum context length is 512 tokens. However, you requested 1451 tokens in the input for"
        " embedding generation. Please reduce the length of the input.",
    ),
    "text-embeddings-inference": (413, "Input validation error: `inputs` must have less than 512 tokens. Given: 602"),
}


@dataclass
class OpenAIServer(EmbeddingServer):
    """The server; it listens as long as the `with` block lasts.

    ```python
    with OpenAIServer(key="sk-test") as server:
        os.environ |= {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "sk-test"}
    ```
    """

    models: list[str] = field(default_factory=lambda: ["text-embedding-3-small"])
    too_long: tuple[int, str] = TOO_LONG["OpenAI"]
    key: str = ""
    """The key that a request must carry, if any."""
    echoes: str = "Incorrect API key provided: {authorization}."
    """What is said of a wrong one."""
    lists_models: bool = True
    reverses: bool = False
    """The vectors come in another order than the texts; `index` tells."""
    embed_path = "/v1/embeddings"

    @property
    def base_url(self) -> str:
        """As OPENAI_BASE_URL has it."""
        return f"{self.address}/v1"

    def refused(self, request: Received) -> tuple[int, Any] | None:
        given = request.headers.get("authorization", "")
        if not self.key or given == f"Bearer {self.key}":
            return None
        return 401, self.error(401, self.echoes.format(authorization=given))

    def error(self, status: int, message: str) -> Any:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": status}}

    def unknown(self, model: str) -> str:
        return f"The model `{model}` does not exist or you do not have access to it."

    def answered(self, model: str, vectors: list[list[float]], texts: list[str]) -> Any:
        # llama.cpp's JSON has null for what is no number
        shown = [[None if math.isnan(value) else value for value in vector] for vector in vectors]
        data = [{"object": "embedding", "index": place, "embedding": vector} for place, vector in enumerate(shown)]
        count = sum(len(text.split()) for text in texts)
        usage = {"prompt_tokens": count, "total_tokens": count}
        return {"object": "list", "data": data[::-1] if self.reverses else data, "model": model, "usage": usage}

    def other(self, request: Received) -> tuple[int, Any]:
        if request.path == "/v1/models" and self.lists_models:
            items = [{"id": name, "object": "model", "created": 1686935002, "owned_by": "me"} for name in self.models]
            return 200, {"object": "list", "data": items}
        return 404, self.error(404, f"Invalid URL ({request.method} {request.path})")
