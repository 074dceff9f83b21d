"""Fixtures that several test modules use."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .doubles.ollama_server import OllamaServer
from .doubles.openai_server import OpenAIServer
from .doubles.server import hashed_vectors

VECTORS = Path(__file__).parents[1] / "spec" / "vectors"


@pytest.fixture(autouse=True)
def cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where this test's searches keep what they made of archives: never the user's own cache. Not made yet.

    The names of fields are not the user's own, either.
    """
    base = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("MEMORYFIELD_CACHE", str(base))
    monkeypatch.setenv("MEMORYFIELD_CONFIG", str(base / "config"))
    return base / "archives"


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All conformance vectors, written by make.py as another implementer would have them; it checks their hashes."""
    out = tmp_path_factory.mktemp("vectors")
    run = subprocess.run([sys.executable, "-B", VECTORS / "make.py", out], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return out


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[OllamaServer]:
    """A double of an Ollama server that OLLAMA_HOST leads to. Waits between attempts are cut short."""
    from memoryfield.embedders import remote

    monkeypatch.setattr(remote, "FIRST_WAIT", 0.001)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OllamaServer(make_vectors=hashed_vectors) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.host)
        yield server


@pytest.fixture
def openai(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A double of a server with OpenAI's embeddings call that OPENAI_BASE_URL leads to; it wants no key."""
    from memoryfield.embedders import remote

    monkeypatch.setattr(remote, "FIRST_WAIT", 0.001)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with OpenAIServer(make_vectors=hashed_vectors) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server
