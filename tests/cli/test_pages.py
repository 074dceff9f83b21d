"""The commands on pages: write, read, list, edit, rename, delete."""

from __future__ import annotations

import hashlib
import sys
import uuid
from pathlib import Path

import pytest

from memoryfield import Field, Page
from memoryfield.errors import PageNotFoundError
from memoryfield.index.store import IndexStore

from .support import ABOUT, INDEX, PANS, WOKS, contents, forked, make_kitchen, write_page


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A field of three pages."""
    return make_kitchen(tmp_path / "kitchen")


def page_of(folder: Path, name: str) -> Page:
    """A page as it lies in the folder."""
    return Page(name, (folder / name).read_bytes())


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# write


def test_a_page_is_written_from_standard_input(kitchen: Path) -> None:
    run = forked("write", "lids", "--title", "Lids", "--summary", "Keep it in.", cwd=kitchen, stdin="Glass lids.\n")
    assert (run.code, run.out) == (0, "lids.md\n")
    page = page_of(kitchen, "lids.md")
    assert page.title == "Lids"
    assert page.summary == "Keep it in."
    assert page.body == "\nGlass lids.\n"
    assert str(uuid.UUID(page.uuid)) == page.uuid
    assert page.created == page.updated
    assert page.created.endswith("Z")
    assert list(page.frontmatter) == ["title", "summary", "uuid", "created", "updated"]


def test_a_page_is_written_from_a_file(kitchen: Path, tmp_path: Path) -> None:
    draft = tmp_path / "my-draft.md"
    draft.write_text("Text without a heading.\n", encoding="utf-8")
    assert forked("write", "--from", draft, cwd=kitchen).out == "my-draft.md\n"
    assert page_of(kitchen, "my-draft.md").title == "my-draft"
    assert forked("write", "other.md", "--from", draft, cwd=kitchen).out == "other.md\n"
    draft.write_text("# The heading\n", encoding="utf-8")
    assert forked("write", "--from", draft, cwd=kitchen).out == "the-heading.md\n"
    assert draft.read_text(encoding="utf-8") == "# The heading\n"


def test_the_report_in_json(kitchen: Path) -> None:
    run = forked("write", "lids", "--json", cwd=kitchen, stdin="Glass lids.\n")
    page = page_of(kitchen, "lids.md")
    assert run.json == {
        "schema": 1,
        "field": "kitchen",
        "filename": "lids.md",
        "created": True,
        "uuid": page.uuid,
        "sha256": sha256(page.raw),
        "bytes": len(page.raw),
        "notes": [],
        "similar": [],
        "changed": True,
    }
    again = forked("write", "lids", "--append", "--json", cwd=kitchen, stdin="More.\n").json
    assert again["created"] is False
    assert again["uuid"] == page.uuid


def test_nothing_on_standard_input_makes_no_page_and_changes_none(kitchen: Path) -> None:
    before = contents(kitchen)
    run = forked("write", "lids", "--title", "Lids", cwd=kitchen)
    assert (run.code, run.out) == (2, "")
    assert "lids.md would have no text" in run.err
    run = forked("write", "woks", "--append", "--json", cwd=kitchen)
    assert (run.code, run.json["changed"]) == (0, False)
    assert "nothing was changed" in run.err
    assert contents(kitchen) == before


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Which wok heats evenly?", "which-wok-heats-evenly.md"),
        ("Ünïcöde", "unicode.md"),
        ("炭素鋼", None),
        ("กระทะ", None),
        ("../../etc/passwd", None),
        ("🍳", None),
        ("x" * 500, None),
    ],
)
def test_a_name_is_made_from_a_title_in_any_script(kitchen: Path, title: str, name: str | None) -> None:
    before = set(contents(kitchen))
    run = forked("write", f"--title={title}", cwd=kitchen, stdin="Text.\n")
    assert run.code == 0, run.err
    (made,) = set(contents(kitchen)) - before
    assert run.out == f"{made}\n"
    assert made == (name or made)
    assert made.removesuffix(".md").replace("-", "a").isalnum()
    assert made.isascii()
    assert made == made.lower()
    assert page_of(kitchen, made).title == title


def test_the_name_comes_from_a_heading_or_a_title_in_the_text(kitchen: Path) -> None:
    assert forked("write", cwd=kitchen, stdin="# Glass Lids\n\nText.\n").out == "glass-lids.md\n"
    assert forked("write", cwd=kitchen, stdin="---\ntitle: Steel Lids\n---\nText.\n").out == "steel-lids.md\n"
    run = forked("write", cwd=kitchen, stdin="Just text.\n")
    assert run.code == 2
    assert "--title" in run.err


@pytest.mark.parametrize("name", ["My lids", "../lids", "", "lids-", "c:lids"])
def test_a_name_that_no_page_can_have_is_refused(kitchen: Path, name: str) -> None:
    before = contents(kitchen)
    run = forked("write", "--", name, cwd=kitchen, stdin="Just text.\n")
    assert run.code == 2
    assert run.out == ""
    assert contents(kitchen) == before
    assert sorted(path.name for path in kitchen.parent.iterdir()) == ["kitchen"]


def test_a_page_that_is_there_is_not_overwritten(kitchen: Path) -> None:
    run = forked("write", "woks", cwd=kitchen, stdin="Other text.\n")
    assert run.code == 3
    assert run.out == ""
    assert "woks.md" in run.err
    assert "--replace" in run.err
    assert "--append" in run.err
    assert (kitchen / "woks.md").read_text(encoding="utf-8") == WOKS


def test_replacing_keeps_uuid_and_created(kitchen: Path) -> None:
    before = page_of(kitchen, "woks.md")
    run = forked("write", "woks", "--replace", cwd=kitchen, stdin="# New\n\nOther text.\n")
    assert run.code == 0
    after = page_of(kitchen, "woks.md")
    assert (after.uuid, after.created) == (before.uuid, before.created)
    assert after.updated > before.updated
    assert after.title == "New"
    assert "Other text." in after.body


def test_replacing_by_a_text_with_another_uuid_is_refused(kitchen: Path) -> None:
    run = forked("write", "woks", "--replace", cwd=kitchen, stdin=PANS)
    assert run.code == 3
    assert (kitchen / "woks.md").read_text(encoding="utf-8") == WOKS


def test_appending_keeps_what_is_there(kitchen: Path) -> None:
    run = forked("write", "woks", "--append", cwd=kitchen, stdin="One more thing.\n")
    assert run.code == 0
    after = page_of(kitchen, "woks.md")
    assert after.body == Page("woks.md", WOKS.encode()).body + "\nOne more thing.\n"
    assert after.created == "2026-01-01T00:00:00Z"
    assert after.updated > "2026-01-03T00:00:00Z"
    assert forked("write", "new", "--append", cwd=kitchen, stdin="First.\n").code == 0


def test_if_match_lets_no_writer_lose_a_page(kitchen: Path) -> None:
    seen = sha256(WOKS.encode())
    arguments = ("write", "woks", "--replace", "--if-match")
    first = forked(*arguments, seen, "--json", cwd=kitchen, stdin="The first writer.\n")
    assert first.code == 0
    second = forked(*arguments, seen, cwd=kitchen, stdin="The second writer.\n")
    assert second.code == 3
    assert first.json["sha256"] in second.err
    assert "The first writer." in (kitchen / "woks.md").read_text(encoding="utf-8")
    assert forked(*arguments, first.json["sha256"].upper(), cwd=kitchen, stdin="Again.\n").code == 0
    assert forked("write", "absent", "--if-match", seen, cwd=kitchen, stdin="x").code == 3
    assert not (kitchen / "absent.md").exists()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b"One\r\nTwo\r\n", b"One\r\nTwo\r\n"),
        (b"\xef\xbb\xbfText.\n", b"Text.\n"),
        (b"nul \x00 byte\n", b"nul \x00 byte\n"),
        (b"\xff\xfe\x00\x80", b"\xff\xfe\x00\x80"),
        (b"---\ntitle: [broken\n---\nText\n", b"---\ntitle: [broken\n---\nText\n"),
        (b"---\ntitle: never closed\n\nText\n", b"---\ntitle: never closed\n\nText\n"),
        (b"---\ntitle: Re: a thing\n---\nText\n", b"---\ntitle: Re: a thing\n---\nText\n"),
    ],
    ids=["crlf", "bom", "nul", "binary", "broken", "open", "colon"],
)
def test_unusual_text_is_stored_and_nothing_of_it_lost(kitchen: Path, text: bytes, kept: bytes) -> None:
    run = forked("write", "odd", "--title", "Odd", cwd=kitchen, stdin=text)
    assert run.code == 0, run.err
    stored = (kitchen / "odd.md").read_bytes()
    assert stored.endswith(kept)
    assert stored.count(b"---\n") + stored.count(b"---\r\n") <= 2
    if text.startswith((b"---", b"\xff")):
        assert stored == text  # what could not be understood was not touched, and that is said
        assert "odd.md:" in run.err


def test_what_frontmatter_says_is_kept_to_the_letter(kitchen: Path) -> None:
    text = (
        "---\n# a comment\ntags: [a,   b]\ntitle:   'Odd'   # mine\n"
        "uuid: 44444444-4444-4444-8444-444444444444\n---\nText\n"
    )
    assert forked("write", "odd", cwd=kitchen, stdin=text).code == 0
    stored = (kitchen / "odd.md").read_text(encoding="utf-8")
    assert stored.startswith(text[: text.index("---\nText")])
    assert stored.endswith("---\nText\n")
    assert page_of(kitchen, "odd.md").created


def test_a_large_page_is_noted(kitchen: Path) -> None:
    run = forked("write", "large", cwd=kitchen, stdin="word " * 2000)
    assert run.code == 0
    assert "8,192" in run.err


def test_a_source_that_cannot_be_read_is_named(kitchen: Path) -> None:
    before = contents(kitchen)
    run = forked("write", "odd", "--from", "missing.txt", cwd=kitchen)
    assert run.code in (1, 2)
    assert "missing.txt" in run.err

    assert len(run.err.splitlines()) == 1
    assert contents(kitchen) == before


# read


def test_one_page_is_printed_byte_for_byte(kitchen: Path) -> None:
    raw = b"\xef\xbb\xbf---\r\ntitle: Odd\r\n---\r\n\r\nText \x00 \x1b[31m \xff \xe2\x80\xae without a line end"
    write_page(kitchen, "odd.md", raw)
    run = forked("read", "odd.md", cwd=kitchen)
    assert (run.code, run.raw, run.err) == (0, raw, "")


@pytest.mark.parametrize("wanted", ["woks.md", "11111111-1111-4111-8111-111111111111", "11111111"])
def test_a_page_is_found_by_name_stem_and_uuid(kitchen: Path, wanted: str) -> None:
    assert forked("read", wanted, cwd=kitchen).out == WOKS


def test_the_frontmatter_is_left_out(kitchen: Path) -> None:
    assert forked("read", "--body", "woks", cwd=kitchen).out == Page("woks.md", WOKS.encode()).body
    write_page(kitchen, "odd.md", b"---\ntitle: Odd\n---\nText \xff\n")
    assert forked("read", "--body", "odd", cwd=kitchen).raw == b"Text \xff\n"


def test_several_pages_stand_under_their_names(kitchen: Path) -> None:
    run = forked("read", "woks", "pans", "index.md", cwd=kitchen)
    assert run.code == 0
    assert run.out.splitlines()[0] == "==> woks.md <=="
    first, second, third = (run.out.index(f"==> {name}.md <==\n") for name in ("woks", "pans", "index"))
    assert WOKS in run.out[first:second]
    assert PANS in run.out[second:third]
    assert run.out[third:].endswith(ABOUT)


def test_a_page_that_is_not_there_is_named_with_the_closest(kitchen: Path) -> None:
    run = forked("read", "wokks", "pans", "nothing-like-it", cwd=kitchen)
    assert run.code == 1
    assert PANS in run.out
    assert "woks" not in run.out
    assert "wokks" in run.err
    assert "woks.md" in run.err
    assert "nothing-like-it" in run.err


def test_a_beginning_of_two_uuids_names_both_and_the_other_pages_are_printed(kitchen: Path) -> None:
    write_page(kitchen, "twin.md", WOKS.replace("111111111111\n", "111111111112\n"))
    run = forked("read", "11111111", "pans", cwd=kitchen)
    assert run.code in (1, 2)
    assert "woks.md" in run.err
    assert "twin.md" in run.err
    assert PANS in run.out


@pytest.mark.parametrize("wanted", ["1111111", "../kitchen/woks", ""])
def test_what_names_no_page_finds_none(kitchen: Path, wanted: str) -> None:
    run = forked("read", wanted, cwd=kitchen)
    assert run.code in (1, 2)
    assert run.out == ""


def test_pages_in_json(kitchen: Path) -> None:
    run = forked("read", "--json", "woks", "wokks", cwd=kitchen)
    assert run.code == 1
    assert run.json["field"] == "kitchen"
    (page,) = run.json["pages"]
    facts = {"filename", "title", "uuid", "sha256", "bytes", "section", "frontmatter", "body", "problems", "text"}
    assert set(page) == facts
    assert page["section"] is None
    assert page["text"] == WOKS
    assert page["sha256"] == sha256(WOKS.encode())
    assert page["frontmatter"]["created"] == "2026-01-01T00:00:00Z"
    (missing,) = run.json["missing"]
    assert missing["wanted"] == "wokks"
    assert "woks.md" in missing["suggestions"]
    assert "text" not in forked("read", "--json", "--body", "woks", cwd=kitchen).json["pages"][0]


LONG = """---
title: Long
---

Intro.

# Long

Begin.

## Why `it` is?

Because.

### Example

One.

## Example

Two, \u00e9."""
WHY = "## Why `it` is?\n\nBecause.\n\n### Example\n\nOne.\n\n"


@pytest.mark.parametrize("wanted", ["long#Why `it` is?", "long.md#why it  is?", "long#why-it-is"])
def test_a_section_is_printed_alone(kitchen: Path, wanted: str) -> None:
    write_page(kitchen, "long.md", LONG)
    run = forked("read", wanted, cwd=kitchen)
    assert (run.code, run.out, run.err) == (0, WHY, "")
    assert forked("read", "--body", wanted, cwd=kitchen).out == WHY


def test_sections_and_pages_are_read_together(kitchen: Path) -> None:
    write_page(kitchen, "long.md", LONG)
    run = forked("read", "woks", "11111111#woks", "long#example-1", cwd=kitchen)
    assert run.code == 0
    woks = WOKS[WOKS.index("# Woks") :]
    assert run.out == (
        f"==> woks.md <==\n{WOKS}\n==> woks.md#Woks <==\n{woks}\n==> long.md#Example <==\n## Example\n\nTwo, \u00e9."
    )


def test_a_section_in_json_has_the_sha256_of_its_page(kitchen: Path) -> None:
    write_page(kitchen, "long.md", LONG)
    run = forked("read", "--json", "long#why-it-is", "long", cwd=kitchen)
    section, page = run.json["pages"]
    assert (section["section"], section["text"], section["body"]) == ("Why `it` is?", WHY, WHY)
    assert (section["sha256"], section["bytes"]) == (page["sha256"], page["bytes"])
    assert (page["section"], page["text"]) == (None, LONG)


def test_a_section_that_is_not_there_is_named_with_the_closest(kitchen: Path) -> None:
    write_page(kitchen, "long.md", LONG)
    run = forked("read", "long#exampel", "pans", "long#", "long#Example", "wokks#why", cwd=kitchen)
    assert run.code == 1
    assert run.out == f"==> pans.md <==\n{PANS}"
    assert "no section 'exampel'. Did you mean long.md#example or long.md#example-1?" in run.err
    assert "2 sections 'Example'" in run.err
    run = forked("read", "--json", "long#exampel", "long#", "wokks#why", cwd=kitchen)
    assert run.json["missing"] == [
        {"wanted": "long#exampel", "suggestions": ["long.md#example", "long.md#example-1"]},
        {"wanted": "long#", "suggestions": []},
        {"wanted": "wokks#why", "suggestions": ["woks.md"]},
    ]


def test_a_page_with_the_sign_in_its_name_is_still_read(kitchen: Path) -> None:
    write_page(kitchen, "c#-notes.md", "# In C# too\n\nText.\n")
    write_page(kitchen, "c.md", "# -notes.md\n")
    for wanted in ("c#-notes.md", "c#-notes", "c#-notes#In C# too", "c#-notes.md#in-c-too"):
        assert forked("read", wanted, cwd=kitchen).out == "# In C# too\n\nText.\n"


def test_an_outline_is_a_line_for_each_heading(kitchen: Path) -> None:
    write_page(kitchen, "long.md", LONG)
    run = forked("read", "--outline", "long", "long#why-it-is", "nothing-like-it", "pans", cwd=kitchen)
    assert run.code == 1
    pans = len(PANS[PANS.index("# Pans") :])
    assert run.out.splitlines() == [
        f"long.md  {len(LONG.encode())} bytes  Long",
        f"  Long  {len(LONG[LONG.index('# Long') :].encode())}",
        f"    Why `it` is?  {len(WHY)}",
        "      Example  19  #example",
        "    Example  20  #example-1",
        f"long.md#Why `it` is?  {len(LONG.encode())} bytes  Long",
        f"    Why `it` is?  {len(WHY)}",
        "      Example  19",
        f"pans.md  {len(PANS)} bytes  Cast iron pans",
        f"  Pans  {pans}",
    ]


def test_an_outline_in_json(kitchen: Path) -> None:
    write_page(kitchen, "long.md", LONG)
    (page,) = forked("read", "--json", "--outline", "long#why-it-is", cwd=kitchen).json["pages"]
    assert set(page) == {"filename", "title", "uuid", "sha256", "bytes", "section", "outline"}
    assert page["outline"] == [
        {"level": 2, "heading": "Why `it` is?", "anchor": "why-it-is", "bytes": len(WHY)},
        {"level": 3, "heading": "Example", "anchor": "example", "bytes": 19},
    ]
    assert forked("read", "--outline", "--body", "long", cwd=kitchen).code == 2


def test_nothing_that_a_terminal_obeys_is_in_an_outline(kitchen: Path) -> None:
    write_page(kitchen, "odd.md", "# A \x1b[31m\n")
    assert forked("read", "--outline", "odd", cwd=kitchen).out.splitlines()[1].startswith("  A \\x1b[31m")


# list


@pytest.mark.parametrize(
    ("options", "order"),
    [
        ([], ["index", "pans", "woks"]),
        (["--reverse"], ["woks", "pans", "index"]),
        (["--sort", "title"], ["pans", "index", "woks"]),
        (["--sort", "updated"], ["woks", "pans", "index"]),
        (["--sort", "created"], ["index", "pans", "woks"]),
        (["--sort", "size"], ["pans", "woks", "index"]),
        (["--sort", "size", "--reverse"], ["index", "woks", "pans"]),
    ],
)
def test_pages_are_sorted(kitchen: Path, options: list[str], order: list[str]) -> None:
    run = forked("list", *options, cwd=kitchen)
    assert run.code == 0
    assert [line.split(".md")[0] for line in run.out.splitlines()] == order


def test_a_list_through_a_pipe_is_one_line_a_page(kitchen: Path) -> None:
    write_page(kitchen, "odd.md", '---\ntitle: "two\\nlines\\tand a tab \\e]0;x\\a"\n---\n')
    write_page(kitchen, "broken.md", "---\ntitle: [unclosed\n---\nText.\n")
    write_page(kitchen, "My Notes.MD", "# Mine\n")
    for name in (".hidden.md", "old.md~", "woks.sync-conflict-1.md", "notes.txt", ".DS_Store"):
        write_page(kitchen, name, "# No page\n")
    run = forked("list", cwd=kitchen)
    rows = [line.split("\t") for line in run.out.splitlines()]
    assert {row[0] for row in rows} == {"My Notes.MD", "broken.md", "index.md", "odd.md", "pans.md", "woks.md"}
    assert all(len(row) == 2 for row in rows)
    assert "\x1b" not in run.out


def test_a_list_in_json(kitchen: Path) -> None:
    run = forked("list", "--json", cwd=kitchen)
    assert run.json["field"] == "kitchen"
    assert [page["filename"] for page in run.json["pages"]] == ["index.md", "pans.md", "woks.md"]
    assert run.json["pages"][2] == {
        "filename": "woks.md",
        "title": "Which wok heats evenly?",
        "summary": "Carbon steel.",
        "uuid": "11111111-1111-4111-8111-111111111111",
        "created": "2026-01-01T00:00:00Z",
        "updated": "2026-01-03T00:00:00Z",
        "bytes": len(WOKS),
    }


def test_an_empty_field_lists_nothing(tmp_path: Path) -> None:
    run = forked("list", "-f", tmp_path)
    assert (run.code, run.out) == (0, "")


# edit


def editor(place: Path, script: str) -> dict[str, str]:
    """An environment whose editor is a Python script; in it, `page` is the path of the file to edit."""
    path = place / "the editor.py"
    path.write_text(f"import pathlib, sys\npage = pathlib.Path(sys.argv[1])\n{script}\n", encoding="utf-8")
    return {"EDITOR": f"{sys.executable} '{path}'"}


def test_an_edit_is_stored_with_a_new_updated(kitchen: Path) -> None:
    before = page_of(kitchen, "woks.md")
    env = editor(kitchen.parent, "page.write_text(page.read_text().replace('light', 'handy'))")
    run = forked("edit", "woks", cwd=kitchen, env=env)
    assert (run.code, run.out) == (0, "woks.md\n")
    after = page_of(kitchen, "woks.md")
    assert after.body == before.body.replace("light", "handy")
    assert after.updated > before.updated
    assert (after.uuid, after.created) == (before.uuid, before.created)


def test_an_edit_that_changes_nothing_changes_nothing(kitchen: Path) -> None:
    before = (kitchen / "woks.md").stat()
    run = forked("edit", "woks", cwd=kitchen, env=editor(kitchen.parent, "page.write_bytes(page.read_bytes())"))
    assert (run.code, run.out) == (0, "")
    assert (kitchen / "woks.md").read_text(encoding="utf-8") == WOKS
    assert (kitchen / "woks.md").stat().st_mtime_ns == before.st_mtime_ns


def test_the_visual_editor_goes_first(kitchen: Path) -> None:
    env = editor(kitchen.parent, "page.write_text('visual')")
    assert forked("edit", "woks", cwd=kitchen, env={"VISUAL": env["EDITOR"], "EDITOR": "false"}).code == 0
    assert page_of(kitchen, "woks.md").body.strip() == "visual"


def test_an_edit_that_breaks_its_frontmatter_is_saved_and_reported(kitchen: Path) -> None:
    broken = WOKS.replace("title: ", "title: [")
    env = editor(kitchen.parent, "page.write_text(page.read_text().replace('title: ', 'title: ['))")
    run = forked("edit", "woks", cwd=kitchen, env=env)
    assert (kitchen / "woks.md").read_text(encoding="utf-8") == broken
    assert "woks.md:" in run.err


def test_an_editor_that_fails_is_reported_and_loses_nothing(kitchen: Path) -> None:
    run = forked("edit", "woks", cwd=kitchen, env=editor(kitchen.parent, "sys.exit(3)"))
    assert "3" in run.err
    assert run.code not in (0, 2)
    assert (kitchen / "woks.md").read_text(encoding="utf-8") == WOKS


def draft_of(err: str) -> Path:
    """The draft that is told to be kept."""
    (draft,) = [word for word in err.split() if word.endswith("woks.md") and Path(word).is_absolute()]
    return Path(draft)


@pytest.mark.parametrize(
    ("script", "code", "words"),
    [
        ("page.write_text('')", 3, "is empty"),
        ("page.write_text('half'); sys.exit(4)", 1, "ended with 4"),
        ("page.write_text(page.read_text().replace('11111111-', '99999999-'))", 3, "two pages"),
    ],
)
def test_an_edit_that_would_lose_something_is_kept_as_a_draft(
    kitchen: Path, script: str, code: int, words: str
) -> None:
    run = forked("edit", "woks", cwd=kitchen, env=editor(kitchen.parent, script))
    assert run.code == code
    assert words in run.err
    assert (kitchen / "woks.md").read_text(encoding="utf-8") == WOKS
    draft_of(run.err).unlink()


def test_an_edit_keeps_what_a_page_is_known_by(kitchen: Path) -> None:
    before = page_of(kitchen, "woks.md")
    env = editor(kitchen.parent, "page.write_text('New.')")
    run = forked("edit", "woks", cwd=kitchen, env=env)
    after = page_of(kitchen, "woks.md")
    assert {**after.frontmatter, "updated": 0} == {**before.frontmatter, "updated": 0}
    assert (run.code, after.body.strip()) == (0, "New.")
    assert "frontmatter" in run.err
    env = editor(kitchen.parent, "page.write_text('---\\ntitle: Other\\n---\\n\\nNew.')")
    run = forked("edit", "woks", cwd=kitchen, env=env)
    after = page_of(kitchen, "woks.md")
    assert (after.title, after.uuid, after.created) == ("Other", before.uuid, before.created)
    assert "uuid, created" in run.err


def test_an_editor_that_deletes_the_file_loses_nothing(kitchen: Path) -> None:
    run = forked("edit", "woks", cwd=kitchen, env=editor(kitchen.parent, "page.unlink()"))
    assert run.code not in (0, 2)
    assert len(run.err.splitlines()) == 1
    assert (kitchen / "woks.md").read_text(encoding="utf-8") == WOKS


def test_a_page_that_somebody_else_changed_meanwhile_is_not_overwritten(kitchen: Path) -> None:
    theirs = f"pathlib.Path({str(kitchen / 'woks.md')!r}).write_text('theirs')"
    run = forked("edit", "woks", cwd=kitchen, env=editor(kitchen.parent, f"page.write_text('mine'); {theirs}"))
    assert run.code == 3
    assert (kitchen / "woks.md").read_text(encoding="utf-8") == "theirs"
    (draft,) = [word for word in run.err.split() if word.endswith("woks.md") and Path(word).is_absolute()]
    assert Path(draft).read_text(encoding="utf-8") == "mine"
    Path(draft).unlink()


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_an_interrupt_meant_for_the_editor_loses_no_text(kitchen: Path) -> None:
    script = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(0.5); page.write_text('mine')"
    run = forked("edit", "woks", cwd=kitchen, env=editor(kitchen.parent, script))
    drafts = [Path(word) for word in run.err.split() if word.endswith("woks.md") and Path(word).is_absolute()]
    assert any(path.read_text(encoding="utf-8").endswith("mine") for path in (kitchen / "woks.md", *drafts))


@pytest.mark.parametrize("command", ["", "no-such-editor", "'unbalanced"])
def test_without_an_editor_it_is_said_what_to_set(kitchen: Path, command: str) -> None:
    run = forked("edit", "woks", cwd=kitchen, env={"EDITOR": command})
    assert run.code == 2
    assert "editor" in run.err.lower()
    assert len(run.err.splitlines()) == 1
    assert (kitchen / "woks.md").read_text(encoding="utf-8") == WOKS


# rename


def test_a_renamed_page_keeps_its_uuid_and_its_vector(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen", embedded=True)
    run = forked("rename", "woks", "steel-woks", cwd=kitchen)
    assert run.code == 0
    assert "woks.md" in run.out
    assert "steel-woks.md" in run.out
    assert not (kitchen / "woks.md").exists()
    assert (kitchen / "steel-woks.md").read_text(encoding="utf-8") == WOKS
    index = forked("info", "--json", cwd=kitchen).json["indexes"][0]
    assert (index["embedded"], index["pending"]) == (3, 0)
    found = forked("search", "carbon steel wok", "--mode", "keyword", "--json", cwd=kitchen).json
    assert [hit["filename"] for hit in found["results"]] == ["steel-woks.md"]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [("woks", "pans", 3), ("nothing", "other", 1), ("woks", "../woks", 2)],
)
def test_a_renaming_that_cannot_be_is_refused(kitchen: Path, old: str, new: str, code: int) -> None:
    before = contents(kitchen)
    run = forked("rename", old, new, cwd=kitchen)
    assert run.code == code
    assert len(run.err.splitlines()) == 1
    assert contents(kitchen) == before


def test_pages_that_link_to_the_old_name_are_told(kitchen: Path) -> None:
    (kitchen / "care.md").write_text("See [woks](woks.md).\n", encoding="utf-8")
    run = forked("rename", "woks", "steel", "--json", cwd=kitchen)
    assert run.code == 0
    assert run.json["notes"] == ["links to woks.md are left in care.md"]
    assert "note: links to woks.md are left in care.md" in run.err
    assert forked("rename", "pans", "iron", cwd=kitchen).err == ""


def test_a_page_with_an_illegal_name_can_be_renamed(kitchen: Path) -> None:
    write_page(kitchen, "My Notes.MD", "# Mine\n")
    assert forked("rename", "My Notes.MD", "my-notes", cwd=kitchen).code == 0
    assert (kitchen / "my-notes.md").read_text(encoding="utf-8") == "# Mine\n"


# delete


def test_deleted_pages_leave_the_folder_and_the_index(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen", embedded=True)
    assert b"woks.md" in (kitchen / INDEX).read_bytes()
    run = forked("delete", "--yes", "woks", "22222222", cwd=kitchen)
    assert run.code == 0
    assert run.out == "woks.md\npans.md\n"
    assert set(contents(kitchen)) == {"index.md", INDEX}
    left = (kitchen / INDEX).read_bytes()
    for trace in (b"woks.md", b"pans.md", b"Carbon steel", b"carbon", b"11111111-1111"):
        assert trace not in left
    assert forked("search", "cookware", "--mode", "keyword", cwd=kitchen).code == 0


def test_pages_that_link_to_a_deleted_one_are_told(kitchen: Path) -> None:
    write_page(kitchen, "care.md", "See [woks](woks.md#care), `[pans](pans.md)`.\n")
    write_page(kitchen, "old-woks.md", "See woks.md, [older](old-woks.md), [pans](./pans.md).\n")
    for number in range(6):
        write_page(kitchen, f"x{number}.md", "[index](index.md)\n")
    run = forked("delete", "--yes", "woks", "--json", cwd=kitchen)
    assert run.json["notes"] == ["links to what was deleted are left in care.md"]
    assert "note: links to what was deleted are left in care.md" in run.err
    run = forked("delete", "--yes", "pans", "old-woks", cwd=kitchen)
    assert "links" not in run.err
    run = forked("delete", "--yes", "index", cwd=kitchen)
    assert "left in x0.md, x1.md, x2.md, x3.md, x4.md and 1 more\n" in run.err


def test_the_indexes_follow_many_deletions_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    field = Field.open(make_kitchen(tmp_path / "kitchen", embedded=True))
    asked: list[list[str]] = []

    def counted(store: IndexStore, names: list[str]) -> None:
        asked.append(names)
        remove(store, names)

    remove = IndexStore.remove
    monkeypatch.setattr(IndexStore, "remove", counted)
    with pytest.raises(PageNotFoundError):
        list(field.delete_many(["woks", "pans", "none", "index"]))
    assert asked == [["woks.md", "pans.md"]]
    assert [index.gone for index in field.indexes()] == [0]
    assert [entry.name for entry in field.entries()] == ["index.md"]


def test_nothing_is_deleted_unasked(kitchen: Path) -> None:
    before = contents(kitchen)
    run = forked("delete", "woks", cwd=kitchen, stdin="y\n")
    assert run.code == 3
    assert run.out == ""
    assert "--yes" in run.err
    assert contents(kitchen) == before


def test_nothing_is_deleted_where_one_page_is_not_there(kitchen: Path) -> None:
    before = contents(kitchen)
    run = forked("delete", "--yes", "woks", "pams", cwd=kitchen)
    assert run.code == 1
    assert "pans.md" in run.err
    assert contents(kitchen) == before
