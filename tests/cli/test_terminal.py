"""On a terminal: lines that fit, words that stand out, questions asked, and nothing that a page could command."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from .support import cells, contents, lines, make_kitchen, memoryfield, on_terminal, unstyled, write_page

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="terminals are made otherwise there")

HARMFUL = "\x1b]0;x\x07\x1b[31m\x9b31m\x08\r\u202eevil\u2066\u200f"
"""What would name a window, colour, go back, and turn text around."""


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A field of three pages."""
    return make_kitchen(tmp_path / "kitchen")


def is_harmful(shown: str) -> bool:
    """Whether a terminal would obey anything but our own styles in it."""
    return bool(
        re.search(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", unstyled(shown))
    )


# Lines that fit


def _fill(kitchen: Path) -> None:
    words = "quench the wok in oil, " * 20
    write_page(kitchen, "long.md", f"---\ntitle: {'A very long title about a wok ' * 4}\n---\n\n{words}\n")
    write_page(kitchen, f"{'long-name-' * 12}x.md", f"# Short quench\n\nquench {'x' * 300} wok\n")
    write_page(kitchen, "wide.md", f"# {'炭素鋼の中華鍋' * 6}\n\nquench {'中華鍋は均一に熱くなる。' * 12}\n")
    write_page(kitchen, "thai.md", f"# {'กระทะเหล็ก' * 6}\n\nquench {'กระทะเหล็กคาร์บอนร้อน' * 12}\n")
    accents = "cre\u0300me "
    write_page(kitchen, "accents.md", f"# {accents * 12}\n\nquench {accents * 50}\n")
    write_page(kitchen, "emoji.md", f"# {'🍳🥘' * 20}\n\nquench {'🍳 🥘 ' * 40}\n")
    title, summary = "quench \\e]0;x\\a" * 8, "a \\e[31m \\u202E " * 9
    write_page(kitchen, "evil.md", f'---\ntitle: "{title}"\nsummary: "{summary}"\n---\n\nText.\n')


@pytest.mark.parametrize(
    ("columns", "arguments"),
    [(40, ["search", "-n", "20", "--min-score", "0", "quench wok 中華鍋"]), (40, ["list"]), (140, ["list"])],
)
def test_no_line_is_wider_than_the_terminal(kitchen: Path, columns: int, arguments: list[str]) -> None:
    _fill(kitchen)
    run = on_terminal(*arguments, cwd=kitchen, columns=columns, talk_too=False)
    assert run.code == 0
    shown = lines(unstyled(run.out))
    for line in shown:
        assert cells(line) <= columns, line
    text = "".join(shown)
    for name in ("long.md", "wide.md", "thai.md", "emoji.md", "accents.md", "evil.md"):
        assert name in text
    assert not is_harmful(run.out)


def test_results_on_a_narrow_terminal_say_all(kitchen: Path) -> None:
    run = on_terminal("search", "which wok heats evenly?", cwd=kitchen, columns=40, talk_too=False)
    assert run.code == 0
    text = " ".join(unstyled(run.out).split())
    for fact in (
        "strong 0.",
        "woks.md",
        "A carbon steel wok heats evenly, and it is light.",
    ):
        assert fact in text


# Style


def test_the_words_of_the_query_stand_out(kitchen: Path) -> None:
    run = on_terminal("search", "which wok heats evenly?", cwd=kitchen, talk_too=False)
    marked = re.findall(r"\x1b\[[0-9;]+m([^\x1b]*)\x1b\[0m", run.out)
    assert {"wok", "heats", "evenly,"} <= set(marked)
    assert not {"carbon", "steel", "light."} & set(marked)


@pytest.mark.parametrize(
    ("env", "arguments"),
    [({"NO_COLOR": "1"}, ["search", "wok"]), ({"NO_COLOR": "1"}, ["list"]), ({"TERM": "dumb"}, ["info"])],
)
def test_style_can_be_switched_off(kitchen: Path, env: dict[str, str], arguments: list[str]) -> None:
    styled = on_terminal(*arguments, cwd=kitchen)
    plain = on_terminal(*arguments, cwd=kitchen, env=env)
    assert "\x1b[" in styled.out
    assert "\x1b" not in plain.out
    assert plain.out == unstyled(styled.out)


def test_an_empty_no_color_switches_nothing_off(kitchen: Path) -> None:
    assert (
        "\x1b[" in on_terminal("list", cwd=kitchen, env={"NO_COLOR": ""}).out
    )  # no-color.org: "and not an empty string"


# What a page could command


@pytest.fixture
def evil(kitchen: Path) -> Path:
    """A field with pages that would give orders to a terminal."""
    yaml = HARMFUL.encode("unicode_escape").decode().replace("\\x1b", "\\e")
    write_page(kitchen, "title.md", f'---\ntitle: "{yaml}"\nsummary: "{yaml}"\n---\n\nA quench {HARMFUL} here.\n')
    write_page(kitchen, "broken.md", f"---\ntitle: [{HARMFUL}\n---\n\nA quench {HARMFUL} here.\n")
    write_page(kitchen, f"name{HARMFUL}.md", "# Quench\n")
    return kitchen


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["search", "quench"],
        ["read", "title", "broken", "nam"],
        ["info"],
        ["validate"],
    ],
)
def test_text_of_a_page_is_harmless_on_a_terminal(evil: Path, arguments: list[str]) -> None:
    run = on_terminal(*arguments, cwd=evil, talk_too=False)  # a progress bar, where it takes long, moves the cursor
    assert run.raw
    assert not is_harmful(run.out.replace("\r\n", "\n") + run.err), run.out


def test_what_is_made_harmless_can_still_be_seen(evil: Path) -> None:
    assert "\\x1b]0;x\\x07" in on_terminal("read", "title", cwd=evil).out
    assert "\\u202e" in on_terminal("list", cwd=evil).out


@pytest.mark.parametrize("arguments", [["list"], ["search", "quench"]])
def test_text_of_a_page_is_harmless_through_a_pipe_too(evil: Path, arguments: list[str]) -> None:
    run = memoryfield(*arguments, cwd=evil)
    assert not is_harmful(run.out.replace("\t", " ") + run.err)


def test_a_page_reads_well_on_a_terminal(kitchen: Path) -> None:
    write_page(kitchen, "crlf.md", b"One\r\n\tTwo \xe7\x82\xad\r\n")
    assert on_terminal("read", "crlf", cwd=kitchen).raw.replace(b"\r\n", b"\n") == "One\n\tTwo 炭\n".encode()


# Questions


def test_a_deletion_is_asked_about_and_done(kitchen: Path) -> None:
    run = on_terminal("delete", "woks", "pans", cwd=kitchen, answers=[("pans.md", b"y\n")])
    assert run.code == 0
    assert "woks.md" in run.out
    assert set(contents(kitchen)) == {"index.md"}


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"\x04"], ids=["no", "nothing", "end"])
def test_a_deletion_that_is_not_wanted_is_not_done(kitchen: Path, answer: bytes) -> None:
    before = contents(kitchen)
    run = on_terminal("delete", "woks", cwd=kitchen, answers=[("woks.md", answer)])
    assert contents(kitchen) == before
    assert run.code in (1, 3)
    assert "interrupted" not in run.out


def test_a_deletion_can_be_interrupted(kitchen: Path) -> None:
    before = contents(kitchen)
    run = on_terminal("delete", "woks", cwd=kitchen, answers=[("woks.md", b"\x03")])
    assert run.code == 130
    assert contents(kitchen) == before


def test_nothing_is_asked_with_yes(kitchen: Path) -> None:
    assert on_terminal("delete", "--yes", "woks", cwd=kitchen).code == 0
    assert not (kitchen / "woks.md").exists()


# Progress and input


def test_embed_shows_its_progress_on_a_terminal_only(kitchen: Path) -> None:
    run = on_terminal("embed", cwd=kitchen)
    assert run.code == 0
    shown = unstyled(run.out)
    assert re.search(r"\d/3", shown)
    assert "pages/s" in shown
    assert "all-MiniLM-L6-v2: 3 pages" in shown.splitlines()[-1]


def test_a_page_can_be_typed(kitchen: Path) -> None:
    run = on_terminal("write", "typed", cwd=kitchen, answers=[("Ctrl-D", b"Typed text.\n\x04")])
    assert run.code == 0
    assert (kitchen / "typed.md").read_text(encoding="utf-8").endswith("Typed text.\n")


def test_a_page_that_is_being_typed_can_be_given_up(kitchen: Path) -> None:
    before = contents(kitchen)
    run = on_terminal("write", "typed", cwd=kitchen, answers=[("Ctrl-D", b"Typed\n\x03")])
    assert run.code == 130
    assert contents(kitchen) == before
