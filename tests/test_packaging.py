"""What is installed: the wheel holds the written format, and explains it without a checkout beside it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

EXPLAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import memoryfield
from memoryfield.validation import explain, requirements
assert memoryfield.__file__.startswith(sys.argv[1]), memoryfield.__file__
print(explain("f-8").text)
print(len(requirements()))
"""


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as pip builds it."""
    hatchling = pytest.importorskip("hatchling.build")
    out = tmp_path_factory.mktemp("wheel")
    with working_in(ROOT):
        return out / str(hatchling.build_wheel(str(out)))


def test_the_wheel_holds_the_written_format(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("memoryfield/spec/memoryfield.md") == (ROOT / "spec" / "memoryfield.md").read_bytes()
        names = archive.namelist()
        for file in [*(ROOT / "spec").glob("schemas/*.json"), ROOT / "spec" / "search-result.schema.json"]:
            assert archive.read(f"memoryfield/{file.relative_to(ROOT).as_posix()}") == file.read_bytes()
    assert "memoryfield/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "spec/", "samples/"))]


def test_the_wheel_holds_the_skill(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("memoryfield/agents/SKILL.md") == (ROOT / "memoryfield/agents/SKILL.md").read_bytes()


def test_an_installed_package_explains_requirements(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    run = subprocess.run(
        [sys.executable, "-c", EXPLAIN, place], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    text, count = run.stdout.splitlines()
    document = (ROOT / "spec" / "memoryfield.md").read_text(encoding="utf-8")
    assert f"**F-8** {text}" in document
    assert int(count) == len(re.findall(r"^- \*\*[A-Z]-\d+\*\*", document, re.MULTILINE))


def test_an_installed_package_tells_the_shapes_of_answers(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    tell = f"import sys; sys.path.insert(0, {str(place)!r}); from memoryfield.cli.main import main; main()"
    run = subprocess.run([sys.executable, "-c", tell, "schema"], cwd=tmp_path, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr
    here = subprocess.run([sys.executable, "-m", "memoryfield", "schema"], capture_output=True, check=True)
    assert run.stdout == here.stdout


def test_an_installation_without_the_format_says_so(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    (place / "memoryfield" / "spec" / "memoryfield.md").unlink()
    run = subprocess.run(
        [sys.executable, "-c", EXPLAIN, place], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "MemoryfieldError: spec/memoryfield.md is missing from the installation" in run.stderr
