"""Which model of which server: `all-MiniLM-L6-v2`, `ollama:TAG`, `openai:MODEL`, and the code that names its index."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..errors import UnknownModelError

BUNDLED = "all-MiniLM-L6-v2"
NOMIC = "nomic-embed-text-v1.5"
MODELS = (NOMIC, BUNDLED)
"""The known model codes; of several indexes, a search takes the first of them that answers."""
SERVERS = ("ollama", "openai")
MAX_CODE = 100
"""Characters of a model code: it has to fit into a file's name."""

HINT = f"Known are {', '.join(MODELS)}, ollama:TAG and openai:MODEL; `memoryfield models` lists them."

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_NOMIC_NAMES = {
    ("ollama", "nomic-embed-text"),
    ("ollama", "nomic-embed-text:v1.5"),
    *((server, NOMIC) for server in SERVERS),
    ("openai", f"text-embedding-{NOMIC}"),  # as LM Studio has it
    ("openai", f"nomic-ai/{NOMIC}"),  # as vLLM and others that load from a hub do
}
"""What servers call it."""


class Spec(NamedTuple):
    """A model: the server's kind (empty: bundled), the server's name for it, and its code."""

    server: str
    name: str
    code: str

    def __str__(self) -> str:
        return f"{self.server}:{self.name}" if self.server else self.name


def parse(text: str) -> Spec:
    """The model that is meant by a known code or a spec.

    Raises:
        UnknownModelError: neither.
    """
    if text == BUNDLED:
        return Spec("", BUNDLED, BUNDLED)
    if text == NOMIC:
        return Spec("ollama", "nomic-embed-text", NOMIC)
    server, _, name = text.partition(":")
    if server not in SERVERS:
        raise UnknownModelError(f"unknown model {text!r}", hint=HINT)
    if server == "ollama":
        name = name.removesuffix(":latest")  # which is what Ollama takes a name without a tag for
    return Spec(server, name, _code(server, name, text))


def _code(server: str, name: str, text: str) -> str:
    """A name that a file can have, made of a server's name for a model."""
    plain = name.removesuffix(":latest")
    if (server, plain.lower()) in _NOMIC_NAMES:
        return NOMIC
    code = _UNSAFE.sub("-", plain).lstrip(".-")
    if not code or not name.isprintable():
        raise UnknownModelError(f"{text!r} names no model", hint=HINT)
    if _like_a_known_one(code):
        code = f"{server}-{code}"
    if len(code) > MAX_CODE:
        raise UnknownModelError(f"the model's name in {text!r} is longer than {MAX_CODE} characters", hint=HINT)
    return code


def _like_a_known_one(code: str) -> bool:
    """Whether an index of this code would be taken for a known model's, or on some file systems is its very file."""
    return any(begins_with(code.lower(), model.lower()) for model in MODELS)


def begins_with(name: str, model: str) -> bool:
    """Whether a name begins with a model's code, and not with that of a model whose code only begins alike."""
    return name.startswith(model) and not name[len(model) :][:1].isalnum()
