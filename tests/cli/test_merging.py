"""The command `merge`, and `unpack --into`, which is the same."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.containers import open_container
from memoryfield.containers.journal import STAGE
from memoryfield.page import Page

from .support import PAGES, WOKS, contents, forked, make_kitchen, memoryfield, on_terminal, write_page

NEWER = WOKS.replace("2026-01-03", "2026-05-05").replace("evenly, and", "very evenly, and")
NEW = "---\ntitle: Lids\nuuid: 44444444-4444-4444-8444-444444444444\n---\n\nGlass.\n"

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX processes")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A field `kitchen`, and `team`, which has another woks.md, and lids.md."""
    make_kitchen(tmp_path / "kitchen")
    team = make_kitchen(tmp_path / "team")
    write_page(team, "woks.md", NEWER)
    write_page(team, "lids.md", NEW)
    return tmp_path


def test_a_conflict_is_listed_with_the_ways_out_and_nothing_is_written(place: Path) -> None:
    run = forked("merge", "team", "-f", "kitchen", cwd=place)
    assert (run.code, run.out) == (3, "")
    conflict, error = run.err.splitlines()
    assert conflict.startswith("conflict: woks.md differs")
    assert "2026-01-03" in conflict
    assert "2026-05-05" in conflict
    assert all(option in error for option in ("--ours", "--theirs", "--newer", "--both", "--base"))
    assert contents(place / "kitchen") == {name: text.encode() for name, text in PAGES.items()}


def test_each_way_out(place: Path) -> None:
    dry = forked("merge", "team", "-f", "kitchen", "--newer", "--dry-run", cwd=place)
    assert dry.code == 0
    assert dry.out.splitlines()[-1] == "1 added, 1 taken, 2 the same; nothing was written"
    assert (place / "kitchen" / "woks.md").read_text("utf-8") == WOKS
    run = forked("merge", "team", "-f", "kitchen", "--newer", cwd=place)
    assert run.out.splitlines() == ["added: lids.md", "taken: woks.md", "1 added, 1 taken, 2 the same"]
    assert run.out.splitlines()[:2] == dry.out.splitlines()[:2]
    assert contents(place / "kitchen") == contents(place / "team")


def test_an_ancestor_decides(place: Path) -> None:
    make_kitchen(place / "once")
    write_page(place / "kitchen", "pans.md", PAGES["pans.md"] + "\nOurs.\n")
    run = forked("merge", "team", "-f", "kitchen", "--base", "once", "--json", cwd=place)
    assert run.code == 0
    told = run.json
    assert (told["added"], told["taken"], told["kept"], told["same"]) == (["lids.md"], ["woks.md"], ["pans.md"], 1)
    assert told["written"] is True


def test_conflicts_in_json(place: Path) -> None:
    run = forked("merge", "team", "-f", "kitchen", "--json", cwd=place)
    assert run.code == 3
    (conflict,) = run.json["conflicts"]
    assert conflict["ours"]["sha256"] == Page("", WOKS.encode()).sha256
    assert conflict["theirs"]["updated"] == "2026-05-05T00:00:00Z"
    assert run.json["written"] is False


def test_options_that_exclude_each_other(place: Path) -> None:
    run = forked("merge", "team", "-f", "kitchen", "--ours", "--both", cwd=place)
    assert run.code == 2
    assert "--ours and --both" in run.err


def test_unpack_into_is_merge(place: Path) -> None:
    assert forked("pack", "-f", "team", cwd=place).code == 0
    refused = forked("unpack", "team.memoryfield.zip", "--into", "kitchen", cwd=place)
    assert refused.code == 3
    assert "memoryfield merge" in refused.err
    write_page(place / "kitchen", "woks.md", NEWER)
    run = forked("unpack", "team.memoryfield.zip", "--into", "kitchen", cwd=place)
    assert (run.code, run.out.splitlines()[0]) == (0, "added: lids.md")
    assert contents(place / "kitchen") == contents(place / "team")
    assert forked("unpack", "team.memoryfield.zip", "elsewhere", "--into", "kitchen", cwd=place).code == 2
    assert forked("unpack", "nothing.zip", "--into", "kitchen", cwd=place).code == 2
    assert not (place / "elsewhere").exists()


def test_what_cannot_be_merged_into_is_said(place: Path) -> None:
    assert forked("pack", "-f", "team", cwd=place).code == 0
    archive = forked("merge", "kitchen", "-f", "team.memoryfield.zip", cwd=place)
    assert archive.code == 3
    assert "read-only" in archive.err
    assert forked("merge", "kitchen", "-f", "kitchen", cwd=place).code == 2
    assert forked("merge", "nowhere", "-f", "kitchen", cwd=place).code == 2


@posix_only
def test_names_from_a_field_do_nothing_to_a_terminal(place: Path) -> None:
    write_page(place / "team", "x\u202e.md", "a")
    run = on_terminal("merge", "team", "-f", "kitchen", "--ours", cwd=place)
    assert run.code == 0
    assert "\u202e" not in run.out


@posix_only
def test_a_change_that_was_never_completed_is_told_of(place: Path) -> None:
    (place / "kitchen" / STAGE).mkdir()
    (place / "kitchen" / STAGE / "plan-1").write_bytes(b"[]")
    for command in (["list"], ["search", "--mode", "keyword", "woks"], ["info"]):
        run = forked(*command, "-f", "kitchen", cwd=place)
        assert run.code == 0
        assert STAGE in run.err
    run = forked("merge", "team", "-f", "kitchen", "--ours", cwd=place)
    assert run.code == 3


@posix_only
def test_two_merges_and_a_writer_at_once(place: Path) -> None:
    """Each sees the other's whole result; nothing of what was written is lost."""
    for source in ("one", "two"):
        folder = make_kitchen(place / source)
        for number in range(150):
            write_page(folder, f"{source}-{number}.md", f"# {source} {number}\n")
    children = []
    for what in ("one", "two", "writer"):
        child = os.fork()
        if not child:
            _work(place, what)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    assert len(contents(place / "kitchen")) == 3 + 150 + 150 + 20
    assert not (place / "kitchen" / STAGE).exists()


def _work(place: Path, what: str) -> None:
    from memoryfield.archives.merge import merge

    code = 1
    try:
        with Field.open(place / "kitchen") as field:
            if what == "writer":
                for number in range(20):
                    field.write(f"written-{number}", "text", title="Written")
            else:
                assert merge(field, open_container(place / what)).written
        code = 0
    except BaseException as error:
        print(repr(error), file=sys.__stderr__, flush=True)
    finally:
        os._exit(code)


@posix_only
def test_the_command_killed_again_and_again_ends_in_one_piece(place: Path) -> None:
    """With the real command and real signals; each operation by itself is tested in the library."""
    import subprocess

    from .support import command, environment

    for number in range(300):
        write_page(place / "team", f"page-{number}.md", f"# {number}\n")
    before, whole = contents(place / "kitchen"), contents(place / "team")
    start = time.monotonic()
    assert memoryfield("merge", "team", "-f", "kitchen", "--theirs", "--dry-run", cwd=place).code == 0
    longest = time.monotonic() - start
    for part in range(12):
        process = subprocess.Popen(
            command("merge", "team", "-f", "kitchen", "--theirs"),
            cwd=place,
            env=environment(),
            stdout=subprocess.DEVNULL,
        )
        time.sleep(longest * part / 8)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert forked("list", "-f", "kitchen", cwd=place).code == 0
        assert contents(place / "kitchen") in (before, whole)
        assert not (place / "kitchen" / STAGE).exists()
