"""README.md and samples/README.md: every command runs, and prints what the document shows."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.validation.links import links

from . import console
from .doubles.ollama_server import OllamaServer
from .doubles.openai_server import OpenAIServer

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["README.md", "samples/README.md"])
def test_examples_print_what_the_document_shows(name: str) -> None:
    document = ROOT / name
    expected = console.examples(document)
    assert expected
    with console.workplace(document) as place:
        printed = console.run(expected, place, console.environment())
    assert len(printed) == len(expected)
    for example, output in zip(expected, printed, strict=True):
        shown = console.masked("\n".join(example.output))
        assert console.masked("\n".join(console.said(output))) == shown, example.command


def test_the_library_example_in_the_readme(tmp_path: Path) -> None:
    code = re.search(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert code
    subprocess.run(
        [sys.executable, "-m", "memoryfield", "create", "notes"], cwd=tmp_path, env=console.environment(), check=True
    )
    done = subprocess.run(
        [sys.executable, "-c", code[1]],
        cwd=tmp_path,
        env=console.environment(),
        check=True,
        capture_output=True,
        text=True,
    )
    assert "storage.md" in done.stdout
    assert re.search(r"^[0-9a-f]{64}$", done.stdout, re.M)


def test_the_servers_example_in_the_readme(tmp_path: Path) -> None:
    """With doubles in the place of the servers; nothing is pulled."""
    block = re.search(
        r"^With a server running:\n\n```text\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.M | re.S
    )
    assert block
    ollama = OllamaServer(models=["nomic-embed-text:latest", "bge-m3:latest"])
    openai = OpenAIServer(models=["text-embedding-bge-m3"], dimensions=1024)
    with ollama, openai, Field.create(tmp_path / "notes") as field:
        for name in ("one", "two"):
            field.write(name, f"Page {name}.")
        shown = (
            block[1]
            .replace("ollama pull nomic-embed-text && ", "")
            .replace("http://localhost:1234/v1", openai.base_url)
        )
        (document := tmp_path / "example.md").write_text(f"```console\n{shown}```\n", encoding="utf-8")
        expected = console.examples(document)
        servers = {"OLLAMA_HOST": ollama.host, "NO_PROXY": "127.0.0.1"}
        printed = console.run(expected, tmp_path, {**console.environment(), **servers})
    for example, output in zip(expected, printed, strict=True):
        assert console.masked(output) == console.masked("\n".join(example.output)), example.command


@pytest.mark.parametrize(
    "name", ["README.md", "samples/README.md", "tests/README.md", "spec/memoryfield.md", "spec/vectors/README.md"]
)
def test_links_in_documents_lead_somewhere(name: str) -> None:
    document = ROOT / name
    for link in links(document.read_text(encoding="utf-8")):
        if not link.target.startswith("https:"):
            assert (document.parent / link.target.partition("#")[0]).exists(), link.target


def test_the_first_command_answers_with_the_right_page() -> None:
    """The README's first command, without its installation: the page about clocks is on top."""
    command = next(
        line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if "search -f" in line
    )
    query = command.rsplit('"', 2)[1]
    done = subprocess.run(
        [sys.executable, "-m", "memoryfield", "search", "-f", "samples/fieldnotes", "--mode", "keyword", query],
        cwd=ROOT,
        env=console.environment(),
        check=True,
        capture_output=True,
        text=True,
    )
    assert "time-cron-dst.md" in done.stdout.splitlines()[0]
