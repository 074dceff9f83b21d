"""What is told of pages that say nearly what is about to be written; real pages, real indexes, the real model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from memoryfield import Field, Page
from memoryfield.embedders.minilm import MiniLM
from memoryfield.errors import DuplicateError, PageExistsError
from memoryfield.search import near

from ..cli.support import INDEX, make_kitchen, memoryfield
from ..doubles.openai_server import OpenAIServer

WOKS = "# Which wok heats evenly?\n\nCarbon steel heats evenly and fast, and weighs half of what cast iron weighs.\n"
TOLD_AGAIN = (
    "# The best wok for even heat\n\nTake carbon steel: it is fast and even in heating, with half the weight of iron.\n"
)
BREAD = "# How long does the rye bread prove?\n\nAn hour and a half in its basket, at 26 degrees.\n"


@pytest.fixture
def field(tmp_path: Path) -> Field:
    """A field with one page, which is in no index."""
    opened = Field.create(tmp_path / "notes")
    opened.write("woks", WOKS)
    return opened


@pytest.mark.parametrize("indexed", [False, True])
def test_a_memory_that_is_told_again_is_told_of(field: Field, indexed: bool) -> None:
    if indexed:
        field.sync()
    written = field.write("pan", TOLD_AGAIN, duplicates="tell")
    (found,) = written.similar
    assert (found.field, found.filename, found.title) == ("notes", "woks.md", "Which wok heats evenly?")
    assert found.meaning is not None
    assert found.score == pytest.approx((found.words + found.meaning) / 2)
    assert near.THRESHOLD <= found.score < 1
    assert written.notes == ()
    assert written.to_dict()["similar"] == [found.to_dict()]


@pytest.mark.parametrize("indexed", [False, True])
def test_another_memory_is_not(field: Field, indexed: bool) -> None:
    if indexed:
        field.sync()
    assert field.write("bread", BREAD, duplicates="tell").similar == ()


def test_the_library_does_not_look_unless_told_to(field: Field) -> None:
    assert field.write("pan", WOKS).similar == ()


def test_a_copy_with_other_frontmatter_is_as_near_as_can_be(field: Field) -> None:
    field.sync()
    copy = f'---\ntitle: "Which wok heats evenly?"\ncreated: "2020-01-01"\ntags: [x]\n---\n\n{WOKS}'
    (found,) = field.write("copy", copy, duplicates="tell").similar
    assert found.words == 1
    assert found.score > 0.9


def test_a_new_page_is_refused_before_anything_is_written(field: Field) -> None:
    field.sync()
    with pytest.raises(DuplicateError, match=r"woks\.md \('Which wok heats evenly\?', 0\.\d\d\)") as caught:
        field.write("pan", TOLD_AGAIN, duplicates="refuse")
    assert [page.filename for page in caught.value.similar] == ["woks.md"]  # type: ignore[attr-defined]
    assert caught.value.exit_code == 3
    assert [entry.name for entry in field.entries()] == ["index.md", "woks.md"]


def test_a_page_that_is_there_is_replaced_and_added_to_all_the_same(field: Field) -> None:
    field.write("pan", TOLD_AGAIN)
    written = field.write("pan", TOLD_AGAIN + "\nTried.\n", mode="replace", duplicates="refuse")
    assert [page.filename for page in written.similar] == ["woks.md"]
    assert field.write("pan", WOKS, mode="append", duplicates="refuse").similar == ()
    assert field.write("woks", WOKS, mode="replace", duplicates="refuse").created is False


def test_a_page_is_not_told_of_itself(field: Field) -> None:
    field.sync()
    assert field.write("woks", WOKS, mode="replace", duplicates="tell").similar == ()


def test_that_the_name_is_taken_comes_first(field: Field) -> None:
    with pytest.raises(PageExistsError):
        field.write("woks", WOKS, duplicates="refuse")


def test_what_was_written_after_the_last_sync_is_found(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "ALIKE", 2)
    field.write("bread", BREAD)
    field.sync()
    field.write("rye", "# Rye bread\n\nIt must prove for an hour and a half in the basket, at 26 degrees.\n")
    told = field.write("loaf", BREAD, duplicates="tell").similar
    assert {page.filename: page.meaning is not None for page in told} == {"bread.md": True, "rye.md": True}


def test_what_comes_while_it_is_compared_is_found_by_its_words(field: Field) -> None:
    nearness = near.Nearness(field.container, Page("pan.md", BREAD.encode()))
    assert nearness.look() == []
    field.write("bread", BREAD)
    (found,) = nearness.look_again()
    assert (found.filename, found.score, found.meaning) == ("bread.md", 1, None)


def test_of_many_writers_of_one_memory_only_one_is_let_in(field: Field) -> None:
    command = [sys.executable, "-m", "memoryfield", "write", "--no-duplicates", "-f", str(field.location)]
    writers = [
        subprocess.Popen([*command, f"bread-{number}"], stdin=subprocess.PIPE, stdout=-1, stderr=-1)
        for number in range(4)
    ]
    for writer in writers:
        assert writer.stdin
        writer.stdin.write(BREAD.encode())
        writer.stdin.close()
    codes = sorted(writer.wait(60) for writer in writers)
    for writer in writers:
        assert writer.stdout
        assert writer.stderr
        writer.stdout.close()
        writer.stderr.close()
    assert codes == [0, 3, 3, 3]
    assert sum(entry.name.startswith("bread") for entry in field.entries()) == 1


def test_no_model_is_loaded_where_no_words_are_shared(field: Field) -> None:
    field.sync()
    code = (
        "import sys; from memoryfield import Field\n"
        f"Field.open({str(field.location)!r}).write('bread', {BREAD!r}, duplicates='tell')\n"
        "assert not {'onnxruntime', 'numpy', 'tokenizers'} & set(sys.modules), 'loaded'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_model_may_be_one_that_is_loaded_already(field: Field) -> None:
    field.sync()
    asked: list[str] = []

    class Loaded(MiniLM):
        def embed_query(self, text: str) -> bytes:
            asked.append(text)
            return super().embed_query(text)

    written = field.write("pan", TOLD_AGAIN, duplicates="tell", share=lambda embedder: Loaded())
    assert written.similar[0].meaning is not None
    assert asked == [TOLD_AGAIN.strip()]


def test_a_damaged_index_stops_no_write(field: Field) -> None:
    (field.location / INDEX).write_bytes(b"SQLite format 3\0" + b"no database" * 1000)
    written = field.write("pan", WOKS, duplicates="tell")
    assert [page.filename for page in written.similar] == ["woks.md"]


def test_an_index_that_is_locked_stops_no_write(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "TIMEOUT_MS", 10)
    field.sync()
    other = apsw.Connection(str(field.location / INDEX))
    other.execute("BEGIN EXCLUSIVE")
    written = field.write("pan", WOKS, duplicates="tell")
    other.execute("ROLLBACK")
    assert written.created
    assert [page.filename for page in written.similar] == ["woks.md"]


def test_a_server_that_is_slow_is_not_waited_for(
    tmp_path: Path, openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near, "SERVER_WAIT", 0.3)
    monkeypatch.setattr(near, "ALIKE", 2)
    openai.models = ["BAAI/bge-m3"]
    with Field.open(make_kitchen(tmp_path / "notes")) as kitchen:
        kitchen.write("steel", WOKS)
        kitchen.sync("openai:BAAI/bge-m3")
        openai.slow = 1.5
        written = kitchen.write("pan", WOKS, duplicates="tell")
    (note,) = written.notes
    assert note == "compared with other pages by words alone: no vector came within 0.3 seconds"
    assert (written.similar[0].filename, written.similar[0].meaning) == ("steel.md", None)


def test_a_server_is_asked_for_the_vector_of_a_page(
    tmp_path: Path, openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai.models = ["BAAI/bge-m3"]
    with Field.open(make_kitchen(tmp_path / "notes")) as kitchen:
        kitchen.write("steel", WOKS)
        kitchen.sync("openai:BAAI/bge-m3")
        openai.embedded.clear()
        copied = kitchen.write("copy", WOKS, duplicates="tell")
        assert openai.embedded == []  # the words say enough
        monkeypatch.setattr(near, "ALIKE", 2)
        written = kitchen.write("pan", WOKS, duplicates="tell")
    assert copied.similar[0].filename == "steel.md"
    assert all(page.meaning is None for page in copied.similar)
    assert openai.embedded[0] == WOKS.strip()
    assert [page.meaning is not None for page in written.similar if page.filename == "steel.md"] == [True]


def test_more_pages_without_an_index_than_can_be_read_are_told(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "MAX_UNKNOWN", 1)
    written = field.write("pan", WOKS, duplicates="refuse")
    assert written.notes == ("2 pages are in no index yet and were not compared: run `memoryfield embed`",)


@pytest.mark.parametrize("text", ["---\ntitle: x\n", "the of and", "caf\xe9".encode("latin-1")])
def test_texts_without_words_are_near_to_nothing(field: Field, text: str | bytes) -> None:
    assert field.write("empty", text, title="the", duplicates="refuse").similar == ()


def test_words_of_scripts_without_spaces_are_compared(field: Field) -> None:
    field.write("tea", "# お茶\n\n緑茶は八十度のお湯で二分間いれます。\n")
    (found,) = field.write("green", "# 緑茶\n\n緑茶は八十度のお湯で二分間いれます。\n", duplicates="tell").similar
    assert found.filename == "tea.md"


def test_the_command_tells_in_a_note_and_in_json(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "notes")
    told = memoryfield(
        "write", "again", "-f", kitchen, "--json", stdin=(kitchen / "woks.md").read_text().split("---\n")[2]
    )
    assert told.code == 0
    assert [page["filename"] for page in json.loads(told.out)["similar"]] == ["woks.md"]
    assert "note: nearly the same: woks.md ('Which wok heats evenly?', " in told.err


def test_the_command_refuses_with_exit_code_3(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "notes")
    text = (kitchen / "woks.md").read_text().split("---\n")[2]
    told = memoryfield("write", "again", "-f", kitchen, "--no-duplicates", stdin=text)
    assert (told.code, told.out) == (3, "")
    assert "woks.md ('Which wok heats evenly?', " in told.err
    assert f"memoryfield write -f {kitchen} woks --append" in told.err
    assert not (kitchen / "again.md").exists()


def test_a_page_of_the_same_title_is_told_whatever_else_it_says(field: Field) -> None:
    field.write("oven", "Forty minutes at 180 degrees, " + "and so on. " * 50, title="How long does bread bake?")
    (found,) = field.write("bread", "As long as it takes.", title="How long does bread bake", duplicates="tell").similar
    assert (found.filename, found.meaning) == ("oven.md", None)


def test_titles_without_words_are_not_the_same_title(field: Field) -> None:
    field.write("sun", "It shone for an hour.", title="☀️")
    assert field.write("rain", "Nine millimetres fell.", title="🌧️", duplicates="tell").similar == ()


LONG = """# Keeping the two hives behind the barn

The two hives are looked through every nine days from April to July, in the warm hours after noon. The left
colony is the gentle one, the right one stings when the weather turns.

## Swarming

Look for queen cells at the lower edges of the combs. If there are cells with larvae, take the old queen with
three combs of brood into the small box and move it beyond the pond; the rest raises a new queen.

## Honey

The supers are put on when the cherries blossom, above a queen excluder. Honey is ripe when two thirds of the
comb are capped, or when nothing drops from it in the jerk test; its water must be below 18 %.

## Winter

After the last harvest each colony gets fifteen kilograms of syrup, in portions of four litres in the evening.
Against mites oxalic acid is trickled once in December, when there is no brood.
"""
PART = "Honey is ripe if two thirds of the comb are capped, or nothing drops from it in the jerk test.\n"


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("title", ["When is honey ripe?", "Zebra 4711"])
def test_a_short_memory_is_told_of_the_long_page_of_which_a_part_says_it(
    field: Field, title: str, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near, "embedder_of", lambda *_: pytest.fail("a model was loaded"))
    field.write("hives", LONG)
    if indexed:
        field.sync()
    (found,) = field.write("honey", PART, title=title, duplicates="tell").similar
    assert (found.filename, found.meaning) == ("hives.md", None)
    assert near.ALIKE <= found.score == found.words <= 1


def test_what_the_long_page_does_not_say_of_its_subject_is_not_told(field: Field) -> None:
    field.write("hives", LONG)
    other = (
        "A third of the combs of each colony is replaced in April, the darkest first; the wax of the brood is molten.\n"
    )
    assert field.write("combs", other, title="How old may combs be?", duplicates="tell").similar == ()


def test_words_that_are_spread_over_a_long_page_are_not_a_part_of_it(field: Field) -> None:
    field.write("hives", LONG)
    spread = (
        "Larvae drop from combs when cherries blossom; the excluder stings, and syrup is trickled from barn to pond.\n"
    )
    assert field.write("spread", spread, title="Larvae", duplicates="tell").similar == ()


def test_a_few_words_that_stand_somewhere_in_a_long_page_are_not_told(field: Field) -> None:
    field.write("hives", LONG)
    assert field.write("note", "The cherries blossom.\n", title="Spring", duplicates="tell").similar == ()


def test_a_part_of_a_page_that_came_meanwhile_is_told(field: Field) -> None:
    nearness = near.Nearness(field.container, Page("honey.md", PART.encode()))
    assert nearness.look() == []
    field.write("hives", LONG)
    assert [page.filename for page in nearness.look_again()] == ["hives.md"]
