"""The tables as the format has them, and text as words: scripts without spaces, and all others."""

from __future__ import annotations

import sqlite3
import sys
import unicodedata
from functools import cache

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryfield.index import schema
from memoryfield.index.schema import words

FORMAT = """
    CREATE TABLE pages (
        filename      TEXT PRIMARY KEY,
        frontmatter   JSON NOT NULL,
        last_modified DATETIME NOT NULL,
        sha256_hash   BLOB NOT NULL,
        embedding     BLOB NOT NULL
    );
"""
"""The table as the format writes it."""


@cache
def keyword_table() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.execute(schema.OURS)
    return connection


def finds(text: str, phrase: str) -> bool:
    """Whether the keyword table finds a phrase in a text, both taken as `words` gives them."""
    connection = keyword_table()
    connection.execute("INSERT OR REPLACE INTO memoryfield_keyword (rowid, text) VALUES (1, ?)", (words(text),))
    sql = "SELECT count(*) FROM memoryfield_keyword WHERE memoryfield_keyword MATCH ?"
    quoted = '"' + words(phrase).replace('"', '""') + '"'
    return connection.execute(sql, (quoted,)).fetchall() == [(1,)]


def tokens(text: str) -> list[str]:
    tokenizer = keyword_table().fts5_tokenizer(*schema.TOKENIZER)
    found = tokenizer(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False)
    return [str(token) for token in found]


def test_pages_has_the_columns_of_the_format_and_no_others() -> None:
    ours, theirs = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    ours.executescript(schema.PAGES)
    theirs.executescript(FORMAT)
    columns = "PRAGMA table_info(pages)"
    assert ours.execute(columns).fetchall() == theirs.execute(columns).fetchall()
    ours.close()
    theirs.close()


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("炭素鋼の中華鍋は均一に熱くなる", "中華鍋"),
        ("炭素鋼の中華鍋は均一に熱くなる", "鍋は均"),
        ("炭素鋼の中華鍋は均一に熱くなる", "炭"),
        ("碳钢炒锅受热均匀", "受热均匀"),
        ("データベースを移す", "ベース"),
        ("カタカナ・デ・ラ", "・デ"),
        ("ﾃﾞｰﾀ", "ｰﾀ"),
        ("탄소강 웍은 고르게 가열됩니다", "탄소강"),
        ("탄소강 웍은 고르게 가열됩니다", "소강"),
        ("กระทะเหล็กร้อนสม่ำเสมอ", "เหล็ก"),
        ("กระทะเหล็กร้อนสม่ำเสมอ", "สม่ำเสมอ"),
        ("ຂໍ້ຄວາມພາສາລາວ", "ພາສາ"),
        ("မြန်မာဘာသာ", "ဘာသာ"),
        ("អក្សរខ្មែរ", "ខ្មែរ"),
        ("\U00020000\U00020001\U00030000", "\U00020001\U00030000"),
    ],
)
def test_any_part_of_a_run_without_spaces_is_found(text: str, phrase: str) -> None:
    assert finds(text, phrase)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("炭素鋼の中華鍋", "鋼炭素"),
        ("กระทะเหล็ก", "เหลก"),
        ("데이터베이스", "이데터"),
        ("炭素鋼", "中"),
    ],
)
def test_other_characters_and_another_order_are_not_found(text: str, phrase: str) -> None:
    assert not finds(text, phrase)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SQLiteのインデックス", "sqlite"),
        ("前のPythonと", "Python"),
        ("第3章", "3"),
        ("ใช้git rebaseได้", "rebase"),
        ("웍wok은", "wok"),
        ("10GBのファイル", "10gb"),
    ],
)
def test_words_that_are_glued_to_such_a_run_are_found(text: str, word: str) -> None:
    assert finds(text, word)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Ünïcöde", "unicode"),
        ("l'été à Zürich", "zurich"),
        ("heating heats heated", "heat"),
        ("Равномерно нагревается", "равномерно"),
        ("before\x00after", "after"),
        ("before\x00after", "before"),
        ("a \U0001f373 wok", "wok"),
        ("WOK", "wok"),
        ("e\u0301tude", "étude"),
    ],
)
def test_words_of_other_scripts_are_found(text: str, word: str) -> None:
    assert finds(text, word)


def test_each_character_of_a_script_without_spaces_is_one_word_of_its_own() -> None:
    several: list[str] = []
    seen: dict[str, str] = {}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if words(character) == character or unicodedata.category(character) == "Cn":
            continue
        if not unicodedata.is_normalized("NFC", character):
            assert words(character) == words(unicodedata.normalize("NFC", character))
            continue
        found = tokens(words(character))
        if len(found) != 1 or found[0] in seen:
            several.append(f"{code:x} {found}")
        seen[found[0]] = character
    assert len(seen) > 90_000
    assert several == []


@pytest.mark.parametrize("text", ["한국어 찾기", "がぎぐ", "étude", "Ωmega"])
def test_composed_and_decomposed_characters_are_the_same_words(text: str) -> None:
    for form in ("NFC", "NFD"):
        assert words(unicodedata.normalize(form, text)) == words(text)
        assert finds(unicodedata.normalize(form, text), words(text))


LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="+#").filter(
    lambda each: words(each) == each or each.isalnum()
)


@given(st.text(alphabet=LETTERS | st.sampled_from("炭素가나ไทย")))
def test_words_only_puts_spaces_in(text: str) -> None:
    assert words(text).replace(" ", "") == unicodedata.normalize("NFC", text).replace(" ", "")


@given(st.text(alphabet=st.characters(max_codepoint=0x0DFF, exclude_categories=["Cs"], exclude_characters="+#")))
def test_text_with_spaces_stays_as_it_is(text: str) -> None:
    assert words(text) == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", ["C++", "templates in C++.", "(C++)", "Notepad++ or C++", "c++/cli"])
def test_signs_at_the_end_of_a_word_tell_it_from_the_word_alone(text: str) -> None:
    assert finds(text, words("C++"))
    assert finds(text, "c") is True
    assert not finds(text.replace("++", ""), words("C++"))
    assert not finds(text.replace("++", "#"), words("C++"))


@pytest.mark.parametrize("text", ["# Heading", "issue #4", "a + b", "a+b", "+1", "https://example.org/#top", "&#43;"])
def test_other_signs_stay_as_they_are(text: str) -> None:
    assert words(text) == text
