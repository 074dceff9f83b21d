"""Eight writers, and others who embed, search and pack, at one field at once, some of them killed: nothing is lost."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from .cli.support import environment, forked
from .crowd import Crowd
from .doubles.ollama_server import OllamaServer

NOMIC = "nomic-embed-text-v1.5"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")


def test_nothing_is_lost_torn_or_left_half_done(tmp_path: Path, ollama: OllamaServer) -> None:
    variables = environment(OLLAMA_HOST=ollama.host, NO_PROXY="127.0.0.1")
    crowd = Crowd(tmp_path / "notes", NOMIC, variables, writes=6, kills=5, embedding=1, searching=1)
    crowd.run()
    assert list(crowd.check()) == []
    assert crowd.count(lambda write: write.is_done) > 20
    assert crowd.killed["write"] > 0
    for name in crowd.left():
        os.utime(crowd.folder / name, (time.time() - 3600,) * 2)
    forked("write", "last", "-f", crowd.folder, stdin="The last one.")
    assert crowd.left() == []
