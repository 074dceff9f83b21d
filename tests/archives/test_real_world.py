"""Archives that real programs make on this machine: each is the same field as the folder that was packed."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryfield import Field

from ..cli.support import PAGES, environment, forked, make_kitchen

ARCHIVE = "kitchen.memoryfield.zip"
PICTURE = "s\u00fc\u00df.svg"


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A field with all that is found in one: pages, a picture, an empty file, a folder, debris."""
    folder = make_kitchen(tmp_path / "kitchen")
    (folder / PICTURE).write_text("<svg/>\n", encoding="utf-8")
    (folder / "empty.txt").touch()
    (folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1")
    (folder / "logs").mkdir()
    (folder / "logs" / "a.txt").write_text("x\n", encoding="utf-8")
    return folder


def call(*words: str | Path, cwd: Path) -> bytes:
    """What another program prints; no test where it is not installed."""
    if not shutil.which(str(words[0])):
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run(words, cwd=cwd, capture_output=True, env=environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def by_zip(kitchen: Path, archive: Path) -> None:
    call("zip", "-q", "-r", archive, ".", cwd=kitchen)


def by_zip_stored(kitchen: Path, archive: Path) -> None:
    call("zip", "-q", "-0", "-D", "-r", archive, ".", cwd=kitchen)


def by_zip_without_extra_fields(kitchen: Path, archive: Path) -> None:
    call("zip", "-q", "-X", "-r", archive, ".", cwd=kitchen)


def by_zip_in_a_pipe(kitchen: Path, archive: Path) -> None:
    archive.write_bytes(call("zip", "-q", "-r", "-", ".", cwd=kitchen))


def by_zip_with_zip64(kitchen: Path, archive: Path) -> None:
    call("zip", "-q", "-fz", "-r", archive, ".", cwd=kitchen)


def by_zip_with_a_comment(kitchen: Path, archive: Path) -> None:
    call("zip", "-q", "-r", archive, ".", cwd=kitchen)
    subprocess.run(["zip", "-q", "-z", archive], input=b"Packed on a Friday.\n", check=True, env=environment())


def by_zip_added_to(kitchen: Path, archive: Path) -> None:
    call("zip", "-q", archive, "index.md", cwd=kitchen)
    call("zip", "-q", "-r", archive, ".", cwd=kitchen)


def by_seven_zip(kitchen: Path, archive: Path) -> None:
    call("7z", "a", "-bso0", "-bsp0", archive, ".", cwd=kitchen)


def by_tar(kitchen: Path, archive: Path) -> None:
    call("bsdtar", "-a", "-c", "-f", archive, *sorted(path.name for path in kitchen.iterdir()), cwd=kitchen)


def by_ditto(kitchen: Path, archive: Path) -> None:
    call("ditto", "-c", "-k", kitchen, archive, cwd=kitchen)


def by_git(kitchen: Path, archive: Path) -> None:
    call("git", "init", "-q", ".", cwd=kitchen)
    call("git", "add", "-A", cwd=kitchen)
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    call("git", *who, "commit", "-q", "-m", "All of it", cwd=kitchen)
    call("git", "archive", "--format=zip", "-o", archive, "HEAD", cwd=kitchen)


def by_jar(kitchen: Path, archive: Path) -> None:
    call("jar", "-c", "-f", archive, ".", cwd=kitchen)


def by_jar_without_a_manifest(kitchen: Path, archive: Path) -> None:
    call("jar", "-c", "-M", "-0", "-f", archive, ".", cwd=kitchen)


def by_python(kitchen: Path, archive: Path) -> None:
    call(sys.executable, "-m", "zipfile", "-c", archive, *(path.name for path in kitchen.iterdir()), cwd=kitchen)


def by_shutil(kitchen: Path, archive: Path) -> None:
    shutil.make_archive(str(archive.with_suffix("")), "zip", kitchen)


class Pipe(io.RawIOBase):
    """A file in which nobody can go back."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("wb")

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return self._file.write(bytes(data))  # type: ignore[call-overload]

    def close(self) -> None:
        self._file.close()
        super().close()


def by_python_in_a_pipe(kitchen: Path, archive: Path) -> None:
    _write(kitchen, archive, zipfile.ZIP_DEFLATED, is_large=False)


def by_python_in_a_pipe_stored(kitchen: Path, archive: Path) -> None:
    _write(kitchen, archive, zipfile.ZIP_STORED, is_large=False)


def by_python_in_a_pipe_with_zip64(kitchen: Path, archive: Path) -> None:
    _write(kitchen, archive, zipfile.ZIP_DEFLATED, is_large=True)


def _write(kitchen: Path, archive: Path, method: int, *, is_large: bool) -> None:
    with Pipe(archive) as pipe, zipfile.ZipFile(pipe, "w", method) as packed:
        for path in sorted(path for path in kitchen.iterdir() if path.is_file()):
            with packed.open(path.name, "w", force_zip64=is_large) as file:
                file.write(path.read_bytes())


AT_THE_ROOT = [
    by_zip,
    by_zip_stored,
    by_zip_without_extra_fields,
    by_zip_in_a_pipe,
    by_zip_with_zip64,
    by_zip_with_a_comment,
    by_zip_added_to,
    by_seven_zip,
    by_tar,
    by_ditto,
    by_git,
    by_jar,
    by_jar_without_a_manifest,
    by_python,
    by_shutil,
    by_python_in_a_pipe,
    by_python_in_a_pipe_stored,
    by_python_in_a_pipe_with_zip64,
]


def zip_with_its_folder(kitchen: Path, archive: Path) -> None:
    call("zip", "-q", "-r", archive, kitchen.name, cwd=kitchen.parent)


def seven_zip_with_its_folder(kitchen: Path, archive: Path) -> None:
    call("7z", "a", "-bso0", "-bsp0", archive, kitchen.name, cwd=kitchen.parent)


def ditto_with_its_folder(kitchen: Path, archive: Path) -> None:
    call("ditto", "-c", "-k", "--sequesterRsrc", "--keepParent", kitchen.name, archive, cwd=kitchen.parent)


def python_with_its_folder(kitchen: Path, archive: Path) -> None:
    call(sys.executable, "-m", "zipfile", "-c", archive, kitchen.name, cwd=kitchen.parent)


WITH_ITS_FOLDER = [zip_with_its_folder, seven_zip_with_its_folder, ditto_with_its_folder, python_with_its_folder]
BOTH = [*((tool, 0) for tool in AT_THE_ROOT), *((tool, 1) for tool in WITH_ITS_FOLDER)]


@pytest.mark.parametrize(("pack", "faults"), BOTH, ids=[tool.__name__ for tool, _ in BOTH])
def test_it_is_the_field_that_was_packed(
    kitchen: Path, tmp_path: Path, pack: Callable[[Path, Path], None], faults: int
) -> None:
    with Field.open(kitchen) as field:
        wanted = field.content_hash()
    pack(kitchen, tmp_path / ARCHIVE)
    with Field.open(tmp_path / ARCHIVE) as field:
        assert field.content_hash() == wanted
    listed = forked("list", "-f", ARCHIVE, "--json", cwd=tmp_path)
    assert {page["filename"] for page in listed.json["pages"]} == PAGES.keys()
    found = forked("search", "carbon steel wok", "-f", ARCHIVE, "--mode", "keyword", "--json", cwd=tmp_path)
    assert found.json["results"][0]["filename"] == "woks.md"
    report = forked("validate", "-f", ARCHIVE, "--json", cwd=tmp_path)
    errors = [fault["requirement"] for fault in report.json["faults"] if fault["severity"] == "error"]
    assert errors == ["A-3"] * faults
    assert forked("unpack", ARCHIVE, "copy", cwd=tmp_path).code == 0
    with Field.open(tmp_path / "copy") as field:
        assert field.content_hash() == wanted
    assert (tmp_path / "copy" / PICTURE).read_bytes() == (kitchen / PICTURE).read_bytes()
