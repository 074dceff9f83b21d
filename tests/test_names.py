"""Names inside a field: which are pages, which are legal, and what a title becomes."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryfield import names

LEGAL = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?\.md")

TITLES = {
    "Carbon Fibre Woks": "carbon-fibre-woks",
    "Ünïcöde": "unicode",
    "炭素": "tan-su",
    "Ångström & Co.": "angstrom-co",
    "Привет, мир": "privet-mir",
    "Ελληνικά": "ellenika",
    "東京の天気": "dong-jing-notian-qi",
    "it's 3:00 -- what now?": "it-s-3-00-what-now",
    "--- already-a-slug.md ---": "already-a-slug-md",
    "C:\\Windows\\..\\x": "c-windows-x",
}


@pytest.mark.parametrize(
    "name", ["a.md", "7.md", "index.md", "a-b.md", "a--b.md", "0-9.md", "md.md", "x" * 200 + ".md"]
)
def test_a_legal_page_name_is_accepted(name: str) -> None:
    assert names.is_legal_page_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".md",
        "a",
        "a.MD",
        "A.md",
        "aB.md",
        "-a.md",
        "a-.md",
        "-.md",
        "a b.md",
        "a_b.md",
        "a.b.md",
        "a.md.md",
        "ä.md",
        "ａ.md",
        "١.md",
        "a.md\n",
        "a\n.md",
        "\na.md",
        "a/b.md",
        "../a.md",
        "a.md~",
        "a.markdown",
    ],
)
def test_an_illegal_page_name_is_refused(name: str) -> None:
    assert not names.is_legal_page_name(name)


@given(st.text(max_size=12).map(lambda text: text + ".md"))
def test_legality_is_exactly_the_rule_of_the_format(name: str) -> None:
    assert names.is_legal_page_name(name) == (LEGAL.fullmatch(name) is not None)


@pytest.mark.parametrize("name", ["a.md", "Capitals.md", "with space.md", "LOUD.MD", "ünï.md", "a.b.md", "-.md"])
def test_a_page_with_an_illegal_name_is_still_a_page(name: str) -> None:
    assert names.is_page(name)
    assert not names.is_debris(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "notes.txt",
        "amd",
        "md",
        "a.md.bak",
        ".md",
        ".hidden.md",
        "a.md~",
        "a.sync-conflict-20260314-091240-ABCDEFG.md",
        ".a.md.swp",
        "model.sqlite3",
    ],
)
def test_other_files_are_no_pages(name: str) -> None:
    assert not names.is_page(name)


@pytest.mark.parametrize(
    "name",
    [
        ".DS_Store",
        "desktop.ini",
        "Desktop.ini",
        "Thumbs.db",
        "thumbs.db",
        ".git",
        ".a.md.0a1b2c3d.tmp",
        "a~",
        "a.md~",
        "a.sync-conflict-1.sqlite3",
    ],
)
def test_what_systems_leave_behind_is_debris(name: str) -> None:
    assert names.is_debris(name)
    assert not names.is_page(name)
    assert not names.is_index(name)


def test_an_index_is_named_by_its_model_code() -> None:
    assert names.is_index("nomic-embed-text-v1.5.sqlite3")
    assert names.model_code("nomic-embed-text-v1.5.sqlite3") == "nomic-embed-text-v1.5"
    assert not names.is_index("nomic-embed-text-v1.5.sqlite3-wal")
    assert not names.is_index("notes.md")


@pytest.mark.parametrize(
    ("given_name", "stem", "full"),
    [("a", "a", "a.md"), ("a.md", "a", "a.md"), ("A.MD", "A", "A.MD"), ("a.b", "a.b", "a.b.md"), ("", "", ".md")],
)
def test_the_suffix_is_added_once_and_taken_off_once(given_name: str, stem: str, full: str) -> None:
    assert names.stem(given_name) == stem
    assert names.with_suffix(given_name) == full
    assert names.stem(names.with_suffix(given_name)) == stem


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "empty"),
        (".", "folder"),
        ("..", "folder"),
        ("../a.md", "separator"),
        ("/etc/passwd", "separator"),
        ("a/b.md", "separator"),
        ("a\\b.md", "separator"),
        ("..\\a.md", "separator"),
        ("C:a.md", "drive"),
        ("c:a.md", "drive"),
        ("a\x00.md", "control"),
        ("a\n.md", "control"),
        ("a\x7f.md", "control"),
        ("a\x1b[2J.md", "control"),
    ],
)
def test_a_name_that_could_lead_elsewhere_has_a_fault(name: str, fault: str) -> None:
    assert fault in (names.plain_name_fault(name) or "")


@pytest.mark.parametrize("name", ["a.md", "..a.md", "a..md", "Capitals and spaces.md", "炭素.md", "1:2.md", "~a", ".x"])
def test_a_plain_name_has_no_fault(name: str) -> None:
    assert names.plain_name_fault(name) is None


@pytest.mark.parametrize(("title", "expected"), TITLES.items())
def test_a_title_in_any_script_becomes_a_readable_name(title: str, expected: str) -> None:
    assert names.slug(title) == expected
    assert names.is_legal_page_name(names.slug(title) + ".md")


@pytest.mark.parametrize("title", ["", " ", "---", "!?", "😀", "\n", "\x00", "\udcff"])
def test_a_title_without_a_letter_still_gets_a_name(title: str) -> None:
    assert names.slug(title) == "page"


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=150))
@example("x" * 150)
@example("ab " * 60)
@example("-" * 120 + "a")
@example("ﷺ" * 40)
def test_every_title_becomes_a_legal_name_of_at_most_a_hundred_characters(title: str) -> None:
    made = names.slug(title)
    assert names.is_legal_page_name(made + names.PAGE_SUFFIX)
    assert len(made) <= 100
    assert names.slug(made) == made


@settings(deadline=None)
@given(st.lists(st.text("abcdefgh", min_size=1, max_size=40), min_size=1, max_size=12))
@example(["a" * 90, "b" * 30, "c"])
def test_a_long_title_is_cut_at_its_end_and_loses_no_word_before(words: list[str]) -> None:
    made = names.slug(" ".join(words))
    kept = made.split("-")
    assert kept == words[: len(kept)]
