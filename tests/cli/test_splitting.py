"""The command `split`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.containers.journal import STAGE
from memoryfield.page import Page
from memoryfield.validation.links import links

from .support import ABOUT, WOKS, command, contents, environment, forked, make_kitchen, memoryfield, write_page

LONG = WOKS.replace('updated: "', 'source: https://example.org/woks\nupdated: "') + "".join(
    f"\n## {heading}\n\n" + f"What is known of {heading.lower()} stands here.\n" * 150 for heading in ("Steel", "Iron")
)
LINKING = ABOUT + "\nSee [iron](woks.md#iron), [steel](woks.md#steel) and [woks](woks.md).\n"


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A field with a page that is too long, and one that links to its headings."""
    folder = make_kitchen(tmp_path / "kitchen")
    write_page(folder, "woks.md", LONG)
    write_page(folder, "index.md", LINKING)
    return folder


def test_the_way_to_split_is_named_when_a_long_page_is_written(tmp_path: Path) -> None:
    tmp_path = make_kitchen(tmp_path / "kitchen")
    run = forked("write", "long", cwd=tmp_path, stdin="# Long\n\n" + "Words.\n" * 1500)
    assert run.code == 0
    assert "`memoryfield split long`" in run.err


def test_a_page_is_cut_and_the_links_follow(kitchen: Path) -> None:
    run = forked("split", "woks", "--json", cwd=kitchen)
    assert (run.code, run.err) == (0, "")
    answer = run.json
    assert [part["filename"] for part in answer["parts"]] == ["woks.md", "woks-iron.md"]
    assert (answer["schema"], answer["written"], answer["followed"], answer["notes"]) == (1, True, ["index.md"], [])
    for part in answer["parts"]:
        stored = Page(part["filename"], (kitchen / part["filename"]).read_bytes())
        assert (stored.uuid, stored.sha256, stored.size) == (part["uuid"], part["sha256"], part["bytes"])
        assert stored.size <= 8192
        assert stored.frontmatter["source"] == "https://example.org/woks"
        assert stored.created == "2026-01-01T00:00:00Z"
        assert stored.updated > "2026-01-03T00:00:00Z"
    assert Page("", (kitchen / "woks.md").read_bytes()).uuid == Page("", WOKS.encode()).uuid
    expected = LINKING.replace("woks.md#iron", "woks-iron.md#iron")
    assert (kitchen / "index.md").read_text("utf-8") == expected
    with Field.open(kitchen) as field:
        assert [fault for fault in field.validate() if fault.requirement in ("L-1", "P-4", "F-1")] == []


def test_a_dry_run_tells_the_same_and_writes_nothing(kitchen: Path) -> None:
    before = contents(kitchen)
    dry = forked("split", "woks", "--dry-run", cwd=kitchen)
    assert dry.code == 0
    assert "nothing was written" in dry.err
    assert contents(kitchen) == before
    run = forked("split", "woks", cwd=kitchen)
    assert run.out == dry.out
    assert run.out.splitlines()[1:] == [
        "woks-iron.md: Which wok heats evenly?: Iron, 5,499 bytes",
        "index.md: its links lead to the parts",
    ]


def test_a_page_within_the_limit_stays_as_it_is(kitchen: Path) -> None:
    before = contents(kitchen)
    run = forked("split", "pans", cwd=kitchen)
    assert run.code == 0
    assert "within the limit of 8,192" in run.err
    assert contents(kitchen) == before


def test_what_cannot_be_cut_is_said(kitchen: Path) -> None:
    write_page(kitchen, "woks.md", WOKS.partition("# Woks")[0] + "```\n" + "x = 1\n" * 2000 + "```\n")
    before = contents(kitchen)
    run = forked("split", "woks", "--json", cwd=kitchen)
    assert run.code == 0
    assert "one block, which stays whole" in run.err
    assert run.json["written"] is False
    assert contents(kitchen) == before


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (LONG.encode() + b"\xff\n", "not UTF-8"),
        (LONG.replace("title: ", "title: a: b: ").encode(), "not valid YAML"),
    ],
)
def test_what_cannot_be_understood_is_refused(kitchen: Path, raw: bytes, reason: str) -> None:
    (kitchen / "woks.md").write_bytes(raw)
    before = contents(kitchen)
    run = forked("split", "woks", cwd=kitchen)
    assert run.code == 3
    assert reason in run.err
    assert contents(kitchen) == before


def test_another_page_than_was_seen_is_refused(kitchen: Path) -> None:
    run = forked("split", "woks", "--if-match", "0" * 64, cwd=kitchen)
    assert run.code == 3
    assert "has changed" in run.err
    page = Page("woks.md", (kitchen / "woks.md").read_bytes())
    assert forked("split", "woks", "--if-match", page.sha256, cwd=kitchen).code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="links need privileges there")
def test_a_link_is_refused(kitchen: Path) -> None:
    (kitchen / "woks.md").rename(kitchen / "steel.md")
    (kitchen / "woks.md").symlink_to("steel.md")
    run = forked("split", "woks", cwd=kitchen)
    assert run.code == 3
    assert "is a link" in run.err
    assert (kitchen / "woks.md").is_symlink()


def test_a_page_that_links_and_is_not_utf8_is_told_of(kitchen: Path) -> None:
    write_page(kitchen, "odd.md", "[iron](woks.md#iron) ")
    (kitchen / "odd.md").write_bytes((kitchen / "odd.md").read_bytes() + b"\xff\n")
    run = forked("split", "woks", cwd=kitchen)
    assert run.code == 0
    assert "odd.md is not UTF-8" in run.err


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_killed_at_any_moment_the_field_is_as_before_or_as_after(tmp_path: Path) -> None:
    sections = "".join(f"\n## Number {number}\n\n" + "Some words of it.\n" * 350 for number in range(40))
    seen = set()
    for attempt in range(8):
        folder = make_kitchen(tmp_path / str(attempt))
        write_page(folder, "woks.md", WOKS + sections)
        process = subprocess.Popen(
            command("split", "woks"),
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while not (folder / STAGE).exists() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(attempt * 0.004)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert memoryfield("list", cwd=folder).code == 0
        assert not (folder / STAGE).exists()
        pages = sorted(path.name for path in folder.glob("woks*.md"))
        seen.add(len(pages))
        assert len(pages) in (1, 40)
        text = "".join((folder / name).read_text("utf-8") for name in pages)
        assert all(text.count(f"## Number {number}\n") == 1 for number in range(40))
        first = Page("woks.md", (folder / "woks.md").read_bytes())
        assert {link.page for link in links(first.body)} <= {*pages, None}
    assert seen <= {1, 40}
