"""A field in git: what `create --git` makes, and that a checkout costs no more than what it changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.index.sync import SyncReport

from .cli.support import contents, forked, memoryfield
from .doubles.ollama_server import OllamaServer

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
NOMIC = "nomic-embed-text-v1.5"
LONG_AGO = 1_700_000_000


@pytest.fixture(autouse=True)
def own_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but git's own."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "change")


def is_ignored(folder: Path, name: str) -> bool:
    return subprocess.run(["git", "check-ignore", "-q", name], cwd=folder, check=False).returncode == 0


def aged(folder: Path) -> None:
    """As if all pages had been written long ago."""
    for path in folder.glob("*.md"):
        os.utime(path, (LONG_AGO, LONG_AGO))


# create --git


def test_a_repository_is_made_in_which_indexes_are_left_out(tmp_path: Path) -> None:
    run = forked("create", "notes", "--git", cwd=tmp_path)
    folder = tmp_path / "notes"
    assert (run.code, run.out) == (0, "notes: a new field, with index.md\n")
    assert "a git repository" in run.err
    assert git(folder, "status", "--porcelain").splitlines() == ["?? .gitattributes", "?? .gitignore", "?? index.md"]
    ignored = ["a.sqlite3", "a.sqlite3-wal", ".memoryfield.lock", ".memoryfield-changes/1", ".memoryfield-0f.tmp"]
    assert [is_ignored(folder, name) for name in ignored] == [True] * len(ignored)
    assert not is_ignored(folder, "woks.md")
    assert forked("validate", cwd=folder).code == 0


def test_within_a_repository_none_is_made(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    git(tmp_path / "code", "init", "-q")
    run = forked("create", "docs/notes", "--git", cwd=tmp_path / "code")
    folder = tmp_path / "code" / "docs" / "notes"
    assert run.code == 0
    assert "lies in a git repository already" in run.err
    assert sorted(path.name for path in folder.iterdir()) == [".gitattributes", ".gitignore", "index.md"]
    assert is_ignored(folder, "a.sqlite3")


def test_an_empty_clone_becomes_a_field(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "notes")
    assert forked("create", "notes", cwd=tmp_path).code == 3
    assert forked("create", "notes", "--git", cwd=tmp_path).code == 0
    assert (tmp_path / "notes" / ".gitignore").exists()


def test_a_field_that_is_there_gets_what_it_lacks(tmp_path: Path) -> None:
    forked("create", "notes", cwd=tmp_path)
    before = contents(tmp_path / "notes")
    (tmp_path / "notes" / ".gitignore").write_text("mine\n", encoding="utf-8")
    assert forked("create", "notes", "--git", "--title", "Other", cwd=tmp_path).code == 3
    run = forked("create", "notes", "--git", cwd=tmp_path)
    assert (run.code, run.out) == (0, "notes: the field was there already\n")
    assert "a git repository, with .gitattributes;" in run.err
    assert "left as it was: .gitignore" in run.err
    assert (tmp_path / "notes" / ".git").is_dir()
    assert (tmp_path / "notes" / ".gitignore").read_text(encoding="utf-8") == "mine\n"
    assert (tmp_path / "notes" / "index.md").read_bytes() == before["index.md"]
    again = forked("create", "notes", "--git", "--json", cwd=tmp_path).json
    kept = [".gitignore", ".gitattributes"]
    assert again["git"] == {"repository": "already there", "written": [], "kept": kept}
    assert again["pages"] == []
    assert forked("create", "other", "--git", "--json", cwd=tmp_path).json["git"]["written"] == kept
    assert forked("create", "third", "--json", cwd=tmp_path).json["git"] is None


@pytest.mark.skipif(os.name == "nt", reason="links are POSIX")
def test_a_repository_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / ".git").symlink_to("gone")
    run = forked("create", "notes", "--git", cwd=tmp_path)
    assert run.code == 3
    assert "leads nowhere" in run.err
    assert [item.name for item in (tmp_path / "notes").iterdir()] == [".git"]


def test_a_hook_that_calls_us_is_not_mistaken_for_the_place(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "other")
    run = memoryfield("create", "notes", "--git", cwd=tmp_path, env={"GIT_DIR": str(tmp_path / "other" / ".git")})
    assert run.code == 0
    assert (tmp_path / "notes" / ".git").is_dir()


def test_without_git_nothing_is_made(tmp_path: Path) -> None:
    run = memoryfield("create", "notes", "--git", cwd=tmp_path, env={"PATH": str(tmp_path)})
    assert run.code == 2
    assert "git is not installed" in run.err
    assert not (tmp_path / "notes").exists()


@pytest.mark.parametrize("autocrlf", ["true", "input", "false"])
def test_every_file_has_the_same_bytes_in_every_checkout(tmp_path: Path, autocrlf: str) -> None:
    forked("create", "notes", "--git", cwd=tmp_path)
    notes, copy = tmp_path / "notes", tmp_path / "copy"
    (notes / "crlf.md").write_bytes(b"---\r\ntitle: A\r\n---\r\n\r\nA.\r\n")
    (notes / "mixed.md").write_bytes(b"One.\nTwo.\r\nThree.\r")
    (notes / "data.csv").write_bytes(b"a,b\r\n1,2\n")
    settings = ["-c", f"core.autocrlf={autocrlf}", "-c", "core.safecrlf=false"]
    git(notes, *settings, "add", "-A")
    git(notes, *settings, "commit", "-qm", "pages")
    git(tmp_path, *settings, "clone", "-q", "notes", "copy")
    assert contents(copy) == contents(notes)
    assert git(copy, *settings, "status", "--porcelain") == ""
    with Field.open(notes) as here, Field.open(copy) as there:
        assert here.content_hash() == there.content_hash()


# what is embedded again


@pytest.fixture
def notes(tmp_path: Path, ollama: OllamaServer) -> Path:
    """A repository of twenty pages, committed and embedded; a branch `other` has changed three of them."""
    folder = tmp_path / "notes"
    with Field.create(folder, git=True) as field:
        for number in range(20):
            field.write(f"page-{number}", f"What page {number} says.", title=f"Page {number}")
    commit(folder)
    git(folder, "checkout", "-qb", "other")
    (folder / "page-1.md").write_bytes((folder / "page-1.md").read_bytes() + b"\nMore.\n")
    (folder / "page-2.md").unlink()
    (folder / "page-20.md").write_text("---\ntitle: New\n---\n\nNew.\n", "utf-8")
    commit(folder)
    git(folder, "checkout", "-q", "-")
    aged(folder)
    embed(folder)
    assert git(folder, "status", "--porcelain") == ""
    return folder


def embed(folder: Path) -> SyncReport:
    with Field.open(folder) as field:
        return field.sync(NOMIC)


def counts(report: SyncReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.removed, report.embedded


def test_switching_branches_embeds_what_differs(notes: Path, ollama: OllamaServer) -> None:
    git(notes, "checkout", "-q", "other")
    assert counts(embed(notes)) == (1, 1, 1, 2)
    git(notes, "checkout", "-q", "-")
    assert counts(embed(notes)) == (1, 1, 1, 2)
    assert counts(embed(notes)) == (0, 0, 0, 0)


def test_so_does_a_pull(notes: Path, tmp_path: Path, ollama: OllamaServer) -> None:
    git(tmp_path, "clone", "-q", "notes", "copy")
    embed(tmp_path / "copy")
    git(notes, "merge", "-q", "other")
    git(tmp_path / "copy", "pull", "-q")
    assert counts(embed(tmp_path / "copy")) == (1, 1, 1, 2)


def test_there_and_back_again_embeds_nothing(notes: Path, ollama: OllamaServer) -> None:
    before = (notes / "page-1.md").stat().st_mtime
    git(notes, "checkout", "-q", "other")
    git(notes, "checkout", "-q", "-")
    assert (notes / "page-1.md").stat().st_mtime != before
    asked = len(ollama.embedded)
    assert counts(embed(notes)) == (0, 0, 0, 0)
    assert len(ollama.embedded) == asked


def test_a_change_of_the_same_length_in_the_same_moment_is_seen(notes: Path, ollama: OllamaServer) -> None:
    path = notes / "page-3.md"
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"What", b"This"))
    commit(notes)
    assert counts(embed(notes)) == (0, 1, 0, 1)
    git(notes, "checkout", "-q", "HEAD~")
    assert path.stat().st_size == status.st_size
    assert counts(embed(notes)) == (0, 1, 0, 1)


def test_a_clone_has_no_index_and_with_a_copied_one_embeds_nothing(
    notes: Path, tmp_path: Path, ollama: OllamaServer
) -> None:
    git(tmp_path, "clone", "-q", "notes", "copy")
    copy = tmp_path / "copy"
    assert not list(copy.glob("*.sqlite3"))
    assert all(path.stat().st_mtime > LONG_AGO + 1 for path in copy.glob("*.md"))
    for path in notes.glob("*.sqlite3"):
        shutil.copy(path, copy)
    assert counts(embed(copy)) == (0, 0, 0, 0)
    (copy / f"{NOMIC}.sqlite3").unlink()
    assert embed(copy).embedded == 21


def test_dates_in_the_frontmatter_survive_a_clone_and_those_of_files_do_not(notes: Path, tmp_path: Path) -> None:
    (notes / "plain.md").write_text("No frontmatter.\n", "utf-8")
    commit(notes)
    aged(notes)
    git(tmp_path, "clone", "-q", "notes", "copy")
    today = time.strftime("%Y-%m-%d", time.gmtime())

    def updated(folder: Path) -> dict[str, str]:
        with Field.open(folder) as field:
            return {row["filename"]: row["updated"] for row in field.list_pages().pages}

    here, there = updated(notes), updated(tmp_path / "copy")
    assert here.pop("plain.md").startswith("2023-11-14")
    assert there.pop("plain.md") >= today
    assert here == there
