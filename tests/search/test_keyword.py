"""The keyword half of the score: BM25 over its ceiling, and which words of a query find which pages."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryfield import Field, MemoryfieldError, SearchResult

OTHER = "nothing in common here"
"""The text of a page that no query of these tests is about."""


def make_field(folder: Path, pages: Mapping[str, str]) -> None:
    """Pages as files, by their stem."""
    for stem, text in pages.items():
        (folder / f"{stem}.md").write_text(text, encoding="utf-8")


def searched(folder: Path, query: str) -> SearchResult:
    """Every page that has a word of the query, whatever its score."""
    with Field.open(folder) as field:
        return field.search(query, mode="keyword", min_score=0, limit=100)


def scores(folder: Path, query: str) -> dict[str, float]:
    """The scores by stem."""
    return {hit.filename.removesuffix(".md"): hit.score for hit in searched(folder, query).results}


def found_in(text: str, query: str) -> bool:
    """Whether a query finds a page of this text, beside one with another text."""
    with tempfile.TemporaryDirectory() as folder:
        make_field(Path(folder), {"page": text, "other": OTHER})
        return "page" in scores(Path(folder), query)


def idf(pages: int, holding: int) -> float:
    """FTS5's, as the design gives it."""
    return max(1e-6, math.log((pages - holding + 0.5) / (holding + 0.5)))


def bm25_over_ceiling(pages: Mapping[str, Sequence[str]], query: Sequence[str]) -> dict[str, float]:
    """The keyword half of every page that has a term, worked out by hand. Pages and query as plain words."""
    k1, b = 1.2, 0.75
    average = sum(map(len, pages.values())) / len(pages)
    terms = list(dict.fromkeys(query))
    telling = {term: idf(len(pages), sum(term in words for words in pages.values())) for term in terms}
    ceiling = sum(telling.values()) * (k1 + 1)
    result: dict[str, float] = {}
    for stem, words in pages.items():
        if not any(term in words for term in terms):
            continue
        total = 0.0
        for term in terms:
            often = words.count(term)
            total += telling[term] * often * (k1 + 1) / (often + k1 * (1 - b + b * len(words) / average))
        result[stem] = total / ceiling
    return result


# The score

WORDS = "wok pan iron salt egg"
"""Words that are their own stems."""


@given(
    pages=st.lists(st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=12), min_size=1, max_size=6),
    query=st.lists(st.sampled_from([*WORDS.split(), "zinc"]), min_size=1, max_size=5),
)
@settings(max_examples=40, deadline=None)
def test_the_score_is_bm25_divided_by_its_ceiling(pages: list[list[str]], query: list[str]) -> None:
    by_stem = {f"page-{number}": words for number, words in enumerate(pages)}
    with tempfile.TemporaryDirectory() as folder:
        make_field(Path(folder), {stem: " ".join(words) for stem, words in by_stem.items()})
        found = scores(Path(folder), " ".join(query))
    assert found == pytest.approx(bm25_over_ceiling(by_stem, query), rel=1e-9)
    assert all(0 <= score <= 1 for score in found.values())


def test_a_term_that_no_page_has_counts_in_the_ceiling(tmp_path: Path) -> None:
    make_field(tmp_path, {"woks": "wok iron", "pans": "pan iron", "eggs": "egg salt"})
    alone, with_absent = scores(tmp_path, "wok")["woks"], scores(tmp_path, "wok zinc")["woks"]
    assert with_absent == pytest.approx(alone * idf(3, 1) / (idf(3, 1) + idf(3, 0)))
    assert with_absent < alone / 2


def test_a_page_full_of_one_word_stays_below_one(tmp_path: Path) -> None:
    make_field(tmp_path, {"woks": "wok " * 5000, "pans": "pan iron", "eggs": "egg salt"})
    assert 0.9 < scores(tmp_path, "wok")["woks"] < 1


def test_a_word_that_every_page_has_still_finds_them(tmp_path: Path) -> None:
    make_field(tmp_path, {"woks": "wok iron", "pans": "pan iron"})
    found = scores(tmp_path, "iron")
    assert found.keys() == {"woks", "pans"}
    assert all(0 < score < 1 for score in found.values())


def test_the_frontmatter_is_searched_too(tmp_path: Path) -> None:
    make_field(tmp_path, {"woks": "---\ntitle: Quench\n---\n\nText.\n", "other": OTHER})
    assert scores(tmp_path, "quench").keys() == {"woks"}


def test_a_word_counts_once_however_often_the_query_says_it(tmp_path: Path) -> None:
    make_field(tmp_path, {"woks": "wok iron", "pans": "pan iron", "other": OTHER})
    assert scores(tmp_path, "wok Wok woks WOKS, (wok)") == scores(tmp_path, "wok")


def test_of_a_very_long_query_the_first_words_count(tmp_path: Path) -> None:
    make_field(tmp_path, {"first": "zero", "last": "ninety", "other": OTHER})
    query = " ".join(["zero", *(f"filler{number}" for number in range(89)), "ninety"])
    assert scores(tmp_path, query).keys() == {"first"}


# Stop words


@pytest.mark.parametrize(
    "query",
    [
        "which wok is the best",
        "Which wok is the best?",
        "what about the best of the woks",
        "THE best (of all) woks!",
        "what's the best wok?",
        "What’s “the” best wok?",
    ],
)
def test_stop_words_change_nothing(tmp_path: Path, query: str) -> None:
    make_field(tmp_path, {"woks": "best wok", "pans": "best pan", "other": "which is the one of all, that's what"})
    assert scores(tmp_path, query) == scores(tmp_path, "best wok")


def test_a_query_of_stop_words_alone_is_searched_by_them(tmp_path: Path) -> None:
    make_field(tmp_path, {"hamlet": "to be or not to be", "woks": "wok iron", "pans": "pan iron"})
    assert scores(tmp_path, "to be or not to be").keys() == {"hamlet"}


def test_a_query_without_a_word_says_so(tmp_path: Path) -> None:
    make_field(tmp_path, {"woks": "wok iron"})
    found = searched(tmp_path, "?! … --- 🍳")
    assert found.results == []
    assert any("words" in note for note in found.notes)


# The user's text is never query syntax


@pytest.mark.parametrize(
    "query",
    [
        '"',
        '"wok',
        'wok"',
        '""wok""',
        "wok AND zinc",
        "zinc OR wok",
        "wok NOT pan",
        "NOT wok",
        "NEAR ( wok zinc, 2 )",
        "(wok",
        "wok)",
        "((((wok",
        "^wok",
        "-wok",
        "+wok",
        "wok*",
        "{wok}: zinc",
        "wok : zinc",
        "wok; DROP TABLE pages",
        "wok' OR '1'='1",
        "wok\x00zinc",
        "\x00wok\x00",
        "%wok% _",
        "wok\\",
        "wok\u2028zinc",
        "wok\nzinc\ttin\r\nlead",
        "\ufeffwok",
        "wok \udcff",
        "caf\udce9 wok",
    ],
)
def test_query_text_is_never_syntax(tmp_path: Path, query: str) -> None:
    make_field(tmp_path, {"woks": "wok iron", "pans": "pan iron", "other": OTHER})
    found = searched(tmp_path, query)
    assert found.query in (query, query.encode("utf-8", "replace").decode())
    assert "pans" not in [hit.filename for hit in found.results if "pan" not in query]
    assert ("woks.md" in [hit.filename for hit in found.results]) == ("wok" in query)


def test_operators_neither_widen_nor_narrow(tmp_path: Path) -> None:
    make_field(tmp_path, {"both": "pan wok", "pans": "pan iron", "cakes": "pancake", "other": OTHER})
    assert scores(tmp_path, "pan NOT wok").keys() == {"both", "pans"}
    assert scores(tmp_path, "pan AND wok").keys() == {"both", "pans"}
    assert scores(tmp_path, "pan*").keys() == {"both", "pans"}
    assert scores(tmp_path, "text:pan") == {}  # a phrase of two words, not a column and a word


@pytest.mark.parametrize(
    "query",
    [
        "a" * 100_000,
        "wok " * 25_000,
        "wok-" * 25_000,
        '"' * 100_000,
        "(" * 100_000,
        "NEAR(" * 20_000,
        "炭素" * 50_000,
        "🍳" * 100_000,
        " ".join(f"word{number}" for number in range(11_000)),
    ],
    ids=["one word", "one word repeated", "one phrase", "quotes", "brackets", "near", "han", "emoji", "many words"],
)
def test_a_query_of_a_hundred_thousand_characters_is_answered(tmp_path: Path, query: str) -> None:
    make_field(tmp_path, {"woks": "wok iron", "other": OTHER})
    assert len(query) > 90_000
    assert isinstance(searched(tmp_path, query), SearchResult)


_PIECES = st.sampled_from([*"()\"'*^:+-{}", "\x00", "\udce9", " AND ", " OR ", " NOT ", "NEAR(", "wok", " "])
_ANY_CHARACTER = st.characters(codec=None)  # lone surrogates too


@given(query=st.lists(_PIECES | st.text(_ANY_CHARACTER, max_size=5), max_size=10).map("".join))
@settings(max_examples=200, deadline=None)
def test_no_query_raises_anything_but_our_own_errors(query: str, shared_field: Path) -> None:
    with Field.open(shared_field) as field:
        try:
            found = field.search(query, mode="keyword", min_score=0)
        except MemoryfieldError:
            assert not query.strip()
            return
    assert all(0 <= hit.score <= 1 for hit in found.results)


@pytest.fixture(scope="module")
def shared_field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shared")
    make_field(folder, {"woks": "wok and near or not", "han": "炭素鋼の中華鍋", "other": OTHER})
    return folder


# Which words find a page


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("炭素鋼の中華鍋は均一に熱くなる", ["炭素鋼", "炭素", "素鋼", "中華鍋", "華鍋は", "熱くなる", "なる"]),
        ("碳钢炒锅受热均匀", ["碳钢", "炒锅", "受热均匀", "锅受"]),
        ("カーボンスチール", ["カーボン", "スチール", "ンス", "ール"]),
        ("ｶｰﾎﾞﾝ鍋", ["ｶｰ", "ﾎﾞﾝ"]),
        ("𠮷野家の牛丼", ["𠮷野", "𠮷野家", "牛丼"]),
        ("กระทะเหล็กคาร์บอนร้อนสม่ำเสมอ", ["กระทะ", "เหล็ก", "คาร์บอน", "สม่ำเสมอ", "ทะ"]),
        ("ກະທະເຫຼັກ", ["ກະທະ", "ເຫຼັກ"]),
        ("ខ្ទះដែក", ["ខ្ទះ", "ដែក"]),
        ("သံဒယ်အိုး", ["သံ", "ဒယ်အိုး"]),
        ("탄소강프라이팬은 고르게 달궈진다", ["탄소강", "탄소", "소강", "프라이팬", "고르게", "팬은"]),
    ],
    ids=["japanese", "chinese", "katakana", "halfwidth", "supplementary", "thai", "lao", "khmer", "burmese", "hangul"],
)
def test_scripts_without_spaces_are_found_in_whole_and_by_part(tmp_path: Path, text: str, parts: list[str]) -> None:
    make_field(tmp_path, {"page": f"# Wok\n\nabout {text} here\n", "other": OTHER})
    for query in [text, *parts]:
        assert scores(tmp_path, query).keys() == {"page"}, query


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("炭素鋼の中華鍋", "鋼炭"),
        ("炭素鋼の中華鍋", "素の"),
        ("คาร์บอน", "คอ"),
        ("탄소강프라이팬", "강탄"),
        ("炭素鋼", "素鍋"),
    ],
)
def test_characters_that_do_not_stand_together_are_not_found(text: str, query: str) -> None:
    assert not found_in(text, query)


def test_a_single_character_of_a_script_without_spaces_is_found() -> None:
    assert found_in("中華鍋は熱い", "鍋")
    assert not found_in("中華鍋は熱い", "湯")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("SQLiteを使う", "sqlite"),
        ("SQLiteを使う", "を使う"),
        ("SQLiteを使う", "SQLiteを使う"),
        ("これはSQLite3です", "SQLite3"),
        ("C言語", "言語"),
        ("웍wok팬", "wok"),
        ("หม้อwokร้อน", "wok"),
    ],
)
def test_latin_words_glued_to_such_a_script_are_found(text: str, query: str) -> None:
    assert found_in(text, query)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Crème brûlée", "creme brulee"),
        ("creme brulee", "Crème Brûlée"),
        ("CRÈME", "crème"),
        ("cre\u0300me", "crème"),
        ("crème", "cre\u0300me"),
        ("Phở bò", "pho bo"),
        ("Ångström", "angstrom"),
        ("WOK", "wok"),
        ("wok", "WoK"),
        ("ЧУГУН", "чугун"),
        ("ΤΗΓΑΝΙ", "τηγανι"),
    ],
)
def test_capitals_and_diacritics_do_not_matter(text: str, query: str) -> None:
    assert found_in(text, query)


def test_words_are_found_by_their_stem() -> None:
    assert found_in("seasoned woks heating evenly", "season wok heat")


@pytest.mark.parametrize(
    "name",
    [
        "enable_load_extension",
        "--no-verify",
        "C++",
        "404",
        "v1.5.2",
        "0b8f6f0e-63f5-4b8e-9d39-5d2c1f6a7e10",
        "https://example.org/a/b?c=d#e",
        "someone@example.org",
        "std::vector<int>",
        "$HOME/.config",
        "git rebase -i HEAD~3",
        "application/vnd.api+json",
    ],
)
def test_identifiers_are_found_as_they_stand(name: str) -> None:
    assert found_in(f"Call `{name}` first.\n", name)
    assert found_in(f"Call ({name}), first.\n", name)


def test_the_parts_of_an_identifier_count_in_their_order_only(tmp_path: Path) -> None:
    make_field(
        tmp_path,
        {"right": "call enable_load_extension now", "wrong": "the extension can load, enable it", "other": OTHER},
    )
    assert scores(tmp_path, "enable_load_extension").keys() == {"right"}


def test_an_identifier_is_found_by_its_parts() -> None:
    assert found_in("call enable_load_extension now", "load extension")
