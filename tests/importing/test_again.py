"""What was imported is updated by the next import; what was edited here is never overwritten in silence."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.errors import PageConflictError, RefusedError
from memoryfield.exporting import export_jsonl, export_markdown
from memoryfield.importing import import_source, importer, sameness
from memoryfield.importing.naming import uuid_of
from memoryfield.page import Page

from .support import bring, faults, left, make, make_lines, pages

VAULT = {"Woks.md": "---\ntags: [a]\n---\nThey heat evenly. [[Steel]]\n", "Steel.md": "It rusts.\n", "C.md": "C.\n"}


def snapshot(field: Path) -> dict[str, tuple[int, bytes]]:
    return {path.name: (path.stat().st_ino, path.read_bytes()) for path in field.iterdir()}


def test_nothing_is_written_again_where_nothing_changed(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, vault)
    before = snapshot(field)
    for path in vault.iterdir():
        os.utime(path)  # a copy, or a checkout: the same notes with other times
    again = bring(field, vault)
    assert (again.same, again.added, again.updated) == (3, [], [])
    assert snapshot(field) == before


def test_the_uuid_is_made_of_the_kind_and_the_path(tmp_path: Path) -> None:
    bring(tmp_path / "field", make(tmp_path / "vault", VAULT))
    assert pages(tmp_path / "field")["woks.md"].uuid == uuid_of("markdown", "vault/Woks.md")
    assert uuid_of("markdown", "vault/Woks.md") == "3180f509-e6ba-598d-89d5-3e91cb3a12dc"  # for ever


def test_a_changed_note_updates_its_page_whatever_that_is_called_now(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, vault)
    with Field.open(field) as opened:
        opened.rename("steel.md", "carbon-steel.md")
    make(vault, {"Steel.md": "It rusts no more.\n"})
    again = bring(field, vault)
    found = pages(field)
    assert sorted(found) == ["c.md", "carbon-steel.md", "woks.md"]
    assert found["carbon-steel.md"].body == "\nIt rusts no more.\n"
    assert "[Steel](carbon-steel.md)" in found["woks.md"].body
    assert [page.filename for page in again.updated] == ["carbon-steel.md", "woks.md"]


def edit(field: Path, name: str, old: str, new: str) -> bytes:
    path = field / name
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return path.read_bytes()


def test_an_edited_page_stays_while_its_source_does(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, vault)
    edited = edit(field, "steel.md", "It rusts.", "It rusts, if wet.")
    again = bring(field, vault)
    assert [page.filename for page in again.kept] == ["steel.md"]
    assert (again.same, again.conflicts) == (2, [])
    assert (field / "steel.md").read_bytes() == edited


def test_replacing_is_for_conflicts_alone(tmp_path: Path) -> None:
    """Whoever settles one conflict does not lose what was edited in other pages."""
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, vault)
    edited = edit(field, "steel.md", "It rusts.", "It rusts, if wet.")
    edit(field, "woks.md", "tags: [a]", "tags: [a, mine]")
    make(vault, {"Woks.md": "Changed.\n"})
    again = bring(field, vault, replace=True)
    assert [page.filename for page in again.kept] == ["steel.md"]
    assert [page.filename for page in again.updated] == ["woks.md"]
    assert (field / "steel.md").read_bytes() == edited


def test_a_page_that_changed_on_both_sides_is_a_conflict(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, vault)
    edited = edit(field, "steel.md", "It rusts.", "It rusts, if wet.")
    make(vault, {"Steel.md": "It is oiled.\n", "Woks.md": "Changed.\n"})
    again = bring(field, vault)
    assert [page.filename for page in again.conflicts] == ["steel.md"]
    assert [page.filename for page in again.updated] == ["woks.md"]
    assert (field / "steel.md").read_bytes() == edited
    replaced = bring(field, vault, replace=True)
    assert [page.filename for page in replaced.updated] == ["steel.md"]
    assert pages(field)["steel.md"].body == "\nIt is oiled.\n"
    assert bring(field, vault).same == 3


def test_an_edit_of_the_frontmatter_counts_too(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, vault)
    edited = edit(field, "woks.md", "tags: [a]", "tags: [a, mine]")
    make(vault, {"Woks.md": "Changed.\n"})
    assert [page.filename for page in bring(field, vault).conflicts] == ["woks.md"]
    assert (field / "woks.md").read_bytes() == edited


def test_both_sides_changed_alike_is_none(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, vault)
    edit(field, "steel.md", "It rusts.", "It is oiled.")
    make(vault, {"Steel.md": "It is oiled.\n"})
    again = bring(field, vault)
    assert (again.same, again.conflicts) == (3, [])


def test_what_the_source_has_no_more_stays_and_is_told(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, vault)
    (vault / "Steel.md").unlink()
    again = bring(field, vault)
    assert again.gone == ["steel.md"]
    assert "steel.md" in pages(field)
    assert bring(field, vault / "Woks.md").gone == []


def test_a_folder_that_is_taken_for_another_kind_is_still_the_same(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, vault)
    for kind in ("basic-memory", "claude"):
        make(vault, {"MEMORY.md": "[[Woks]]\n"})
        assert bring(field, vault, kind=kind).same >= 3
    assert len(pages(field)) == 4


def test_what_came_from_a_file_beside_the_notes_is_not_gone(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, make_lines(vault / "m.jsonl", {"id": "1", "text": "Text."}))
    bring(field, vault)
    (vault / "Steel.md").unlink()
    (vault / "C.md").unlink()
    assert bring(field, vault).gone == ["c.md", "steel.md"]  # though one note is left


# what is called the same


def test_another_folder_of_the_same_name_does_not_overwrite_the_first(tmp_path: Path) -> None:
    field = tmp_path / "field"
    bring(field, make(tmp_path / "a" / "vault", {"README.md": "Of a.\n", "x.md": "X.\n"}))
    other = make(tmp_path / "b" / "vault", {"README.md": "Of b.\n", "y.md": "Y.\n"})
    before = snapshot(field)
    with pytest.raises(RefusedError, match="--label"):
        bring(field, other)
    assert snapshot(field) == before
    assert len(bring(field, other, label="b").added) == 2
    assert sorted(pages(field)) == ["b-readme.md", "vault-readme.md", "x.md", "y.md"]


@pytest.mark.parametrize(
    "other",
    [
        {"todo.md": "Call Ann.\n", "ideas.md": "A boat.\n"},  # nothing new, nothing gone
        {"todo.md": "Call Ann.\n"},
        {"todo.md": "# Todo\n\nCall Ann.\n", "ideas.md": "A kite.\n"},  # one of them is the same
        {"todo.md": "# Todo\n\nCall Ann.\n", "more.md": "More.\n", "README.md": "Notes.\n"},
    ],
)
def test_what_pages_of_another_source_say_is_not_overwritten(tmp_path: Path, other: dict[str, str]) -> None:
    notes = {"todo.md": "# Todo\n\nBuy milk.\n", "ideas.md": "A kite.\n", "README.md": "Notes.\n"}
    field = tmp_path / "field"
    bring(field, make(tmp_path / "a" / "vault", notes))
    before = snapshot(field)
    for dry_run in (True, False):
        with pytest.raises(RefusedError, match="todo"):
            bring(field, make(tmp_path / "b" / "vault", other), dry_run=dry_run)
    assert snapshot(field) == before
    assert bring(field, tmp_path / "b" / "vault", replace=True).updated


def test_where_a_source_lies_it_may_change_as_it_likes(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", {"a.md": "A.\n", "b.md": "B.\n"}), tmp_path / "field"
    bring(field, vault)
    make(vault, {"a.md": "All new.\n"})
    (vault / "b.md").rename(vault / "c.md")
    again = bring(field, vault)
    assert [page.filename for page in again.updated] == ["a.md"]
    assert ([page.filename for page in again.added], again.gone) == (["c.md"], ["b.md"])
    make(vault, {"a.md": "Newer.\n"})
    assert [page.filename for page in bring(field, vault / "a.md").updated] == ["a.md"]


@pytest.mark.parametrize(
    "notes", [{"a.md": "A.\n\nMore.\n"}, {"a.md": "A.\n", "b.md": "B.\n", "c.md": "C.\n\nMore.\n"}]
)
def test_a_source_that_was_moved_updates_its_pages(tmp_path: Path, notes: dict[str, str]) -> None:
    vault, field = make(tmp_path / "here" / "vault", notes), tmp_path / "field"
    bring(field, vault)
    moved = tmp_path / "there" / "vault"
    moved.parent.mkdir()
    vault.rename(moved)
    before = snapshot(field)
    assert bring(field, moved).same == len(notes)
    assert snapshot(field) == before
    make(moved, {"a.md": "Changed.\n\nA.\n"})
    again = bring(field, moved)
    assert (again.added, [page.filename for page in again.updated]) == ([], ["a.md"])
    make(moved, {"a.md": "All new.\n"})
    assert [page.filename for page in bring(field, moved).updated] == ["a.md"]


@pytest.mark.parametrize("kind", ["markdown", "mcp-memory", "jsonl", "jsonl without ids"])
def test_a_source_that_was_renamed_is_not_made_again_untold(tmp_path: Path, kind: str) -> None:
    field, old, new = tmp_path / "field", tmp_path / "old" / "notes", tmp_path / "new" / "notes"
    make(old, VAULT)
    source, moved = old, new
    if kind != "markdown":
        graph = ({"type": "entity", "name": f"E{number}", "entityType": "x", "observations": []} for number in range(3))
        keys = [{} if "without" in kind else {"key": f"k{number}"} for number in range(3)]
        lines = graph if kind == "mcp-memory" else ({"text": f"{number}", **key} for number, key in enumerate(keys))
        kind = kind.split()[0]
        source, moved = make_lines(old / "m.jsonl", *lines), new / "m.jsonl"
    first = bring(field, source, kind=kind)
    before = snapshot(field)
    old.parent.rename(new.parent)
    make(new, {"Steel.md": "It is oiled.\n"})
    with pytest.raises(RefusedError) as caught:
        bring(field, moved, kind=kind)
    assert snapshot(field) == before
    assert f"--label '{first.label}'" in caught.value.hint
    again = bring(field, moved, kind=kind, label=first.label)
    assert (len(again.updated), again.added) == (1 if kind == "markdown" else 0, [])
    assert len(bring(field, moved, kind=kind, label="new/notes").added) == 3


def test_notes_that_have_a_uuid_are_known_wherever_they_lie(tmp_path: Path) -> None:
    field, old = tmp_path / "field", make(tmp_path / "old" / "notes", {"a.md": f"---\n{OWN}---\nA.\n"})
    bring(field, old)
    old.parent.rename(tmp_path / "new")
    again = bring(field, tmp_path / "new" / "notes")
    assert ([page.filename for page in again.updated], again.added) == (["a.md"], [])


def test_two_files_of_lines_that_are_called_the_same(tmp_path: Path) -> None:
    field = tmp_path / "field"
    bring(field, make_lines(tmp_path / "a" / "mem" / "m.jsonl", {"key": "tea", "text": "Ann likes tea."}))
    other = make_lines(tmp_path / "b" / "mem" / "m.jsonl", {"key": "tea", "text": "Never on Mondays."})
    with pytest.raises(RefusedError, match="--label"):
        bring(field, other)
    first = make_lines(tmp_path / "a" / "mem" / "m.jsonl", {"key": "tea", "text": "Ann likes coffee."})
    assert len(bring(field, first).updated) == 1


def test_where_a_source_lies_cannot_be_read_off_its_pages(tmp_path: Path) -> None:
    field = tmp_path / "field"
    bring(field, make(tmp_path / "secret" / "vault", {"a.md": "A.\n"}))
    mark = pages(field)["a.md"].frontmatter["imported"]
    assert [len(part) for part in mark.split("-")] == [16, 16, 4]
    assert b"secret" not in (field / "a.md").read_bytes()


def test_a_mark_of_before_places_were_told_still_counts(tmp_path: Path) -> None:
    field, vault = tmp_path / "field", make(tmp_path / "vault", {"a.md": "A.\n\nMore.\n"})
    bring(field, vault)
    mark = pages(field)["a.md"].frontmatter["imported"]
    edit(field, "a.md", mark, mark[:33])
    assert bring(field, vault).same == 1
    make(vault, {"a.md": "A.\n\nAnd more.\n"})
    assert len(bring(field, vault).updated) == 1


# the mark, and a key of its name

MARKED = 'imported: "0123456789abcdef-0123456789abcdef"\n'
OWN = "uuid: 11111111-1111-4111-8111-111111111111\n"


@pytest.mark.parametrize(
    ("own", "value"),
    [
        ("imported: 2024-01-01 # by hand", "2024-01-01"),
        ("imported: [a, {b: c}]", ["a", {"b": "c"}]),
        ("'imported': 'x'", "x"),
        ("{imported: x, y: z}", "x"),
        ("imported: x\r", "x"),
        ("imported: |\n  imported: x\n", "imported: x\n"),
    ],
)
def test_a_key_of_that_name_which_the_note_has_is_kept_under_another(tmp_path: Path, own: str, value: object) -> None:
    newline = "\r\n" if own.endswith("\r") else "\n"
    note = f"---\nx: 1 # one\n{own}\n---\nText.\n" if own[0] != "{" else f"---\n{own}\n---\nText.\n"
    vault = make(tmp_path / "vault", {"a.md": note.replace("\r", "").replace("\n", newline)})
    imported, page = bring(tmp_path / "field", vault), pages(tmp_path / "field")["a.md"]
    assert page.frontmatter["imported-before"] == value
    assert page.problems == []
    assert ("x: 1 # one" in page.text) == (own[0] not in "{'")  # the comment stays where the block could be edited
    assert len(left(imported, "key")) == 1
    assert faults(tmp_path / "field") == []
    assert bring(tmp_path / "field", vault).same == 1
    make(vault, {"a.md": note + "More.\n"})
    assert len(bring(tmp_path / "field", vault).updated) == 1


def test_a_field_that_was_imported_is_moved_on_and_stays_in_step(tmp_path: Path) -> None:
    first, copy, second = tmp_path / "first", tmp_path / "copy", tmp_path / "second"
    bring(first, make(tmp_path / "vault", VAULT))
    for form in ("markdown", "jsonl"):
        text = "It rusts.\n"
        for change in ("", "It is oiled.\n", "It is oiled well.\n"):
            edit(first, "steel.md", text, text + change)
            text += change
            with Field.open(first) as field:
                if form == "markdown":
                    shutil.rmtree(copy, ignore_errors=True)
                    export_markdown(field, copy)
                else:
                    export_jsonl(field, tmp_path / "copy.jsonl", replace=True)
            bring(second, copy if form == "markdown" else tmp_path / "copy.jsonl")
            assert text in pages(second)["steel.md"].body
            assert all(page.raw.count(b"imported:") == 1 for page in pages(second).values())
        edit(first, "steel.md", text, "It rusts.\n")
        shutil.rmtree(second)
    bring(first, copy)
    assert bring(first, copy).same == 3


def test_two_marks_that_an_earlier_import_left_are_no_edit(tmp_path: Path) -> None:
    from memoryfield.importing.composing import is_edited, mark_of, marked

    raw = marked(f"---\n{OWN}{MARKED}---\nText.\n".encode(), "0" * 16, "abcd")
    page = Page("a.md", raw)
    mark = mark_of(page)
    assert mark is not None
    assert (mark.source, mark.place, is_edited(page, mark)) == ("0" * 16, "abcd", False)
    assert is_edited(Page("a.md", raw + MARKED.encode()), mark)  # the line in the text is none


def test_the_field_itself_is_refused(tmp_path: Path) -> None:
    field = make(tmp_path / "field", {"a.md": "A.\n"})
    with pytest.raises(RefusedError, match="the field itself"):
        bring(field, field)


def test_a_page_written_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    field.mkdir()

    def another(done: int, of: int) -> None:
        (field / "n0.md").write_text("Another's.\n", encoding="utf-8")

    make(vault, {f"n{number}.md": f"{number}\n" for number in range(100)})
    with Field.open(field) as opened, pytest.raises(PageConflictError):
        import_source(opened, vault, progress=another)
    assert [path.name for path in field.iterdir()] == ["n0.md"]
    assert (field / "n0.md").read_text(encoding="utf-8") == "Another's.\n"


def test_an_interrupted_import_leaves_nothing_half_done(tmp_path: Path) -> None:
    vault, field = (
        make(tmp_path / "vault", {f"n{number}.md": f"{number}\n" for number in range(200)}),
        tmp_path / "field",
    )
    field.mkdir()

    def interrupt(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with Field.open(field) as opened, pytest.raises(KeyboardInterrupt):
        import_source(opened, vault, progress=interrupt)
    assert list(field.iterdir()) == []
    assert len(bring(field, vault).added) == 200


def test_a_long_note_is_split_the_same_way_each_time(tmp_path: Path) -> None:
    sections = "".join(f"## Part {number}\n\n{'Words and words. ' * 150}\n\n" for number in range(8))
    vault, field = (
        make(
            tmp_path / "vault", {"Long.md": "# Long\n\nBegin.\n\n" + sections, "Other.md": "[[Long#Part 7]] [[Long]]\n"}
        ),
        tmp_path / "field",
    )
    imported = bring(field, vault)
    found = pages(field)
    assert found.pop("other.md").body == "\n[Long > Part 7](long-part-7.md#part-7) [Long](long.md)\n"
    assert len(found) > 2
    assert all(page.size <= 8192 for page in found.values())
    assert all(page.frontmatter["source"] == "vault/Long.md" for page in found.values())
    assert len({page.uuid for page in found.values()}) == len(found) == len(imported.added) - 1
    before = snapshot(field)
    assert bring(field, vault).same == len(found) + 1
    assert snapshot(field) == before
    with Field.open(field) as opened:
        opened.rename("long.md", "renamed.md")
    again = bring(field, vault)
    assert again.added == []
    assert len(pages(field)) == len(found) + 1
    assert pages(field)["other.md"].body == "\n[Long > Part 7](long-part-7.md#part-7) [Long](renamed.md)\n"


def make_long(vault: Path, headings: list[str]) -> None:
    body = "".join(f"## {name}\n\n{f'All of {name}. ' * 200}\n\n" for name in headings)
    make(vault, {"Long.md": "# Long\n\nBegin.\n\n" + body})


@pytest.mark.parametrize("edited", ["long.md", "long-c.md"])
def test_the_parts_of_a_note_are_written_all_or_none(tmp_path: Path, edited: str) -> None:
    vault, field = tmp_path / "vault", tmp_path / "field"
    make_long(vault, ["A", "B", "C", "D", "E", "F"])
    bring(field, vault)
    assert edited in pages(field)
    edit(field, edited, "All of", "Mine. All of")
    before = snapshot(field)
    make_long(vault, ["F", "E", "D", "New", "C", "B", "A", "Z"])
    again = bring(field, vault)
    assert snapshot(field) == before
    assert again.conflicts
    assert (again.added, again.updated) == ([], [])
    assert {page.filename for page in again.conflicts} <= set(before)
    assert any("none of its parts" in note for note in again.notes)
    bring(field, vault, replace=True)
    text = "".join(page.body for page in pages(field).values())
    assert all(f"All of {name}." in text for name in ("A", "C", "New", "Z"))
    assert bring(field, vault).conflicts == []


# what links lead to

LINKED = {
    "Woks.md": "[[Steel]] [[Steel#Rust|rust]] [s](deep/Steel.md#rust) ![[pan.png]] ![p](deep/pan.png) [[Nowhere]]\n",
    "deep/Steel.md": "# Steel\n\n## Rust\n\nIt rusts.\n",
    "deep/pan.png": "x",
}


@pytest.mark.parametrize("moved", [False, True])
def test_links_still_lead_to_the_pages_of_notes_that_have_gone(tmp_path: Path, moved: bool) -> None:
    vault, field = make(tmp_path / "vault", LINKED), tmp_path / "field"
    bring(field, vault)
    with Field.open(field) as opened:
        opened.rename("steel.md", "carbon-steel.md")
    bring(field, vault)
    before = pages(field)["woks.md"]
    if moved:
        vault = vault.rename(make(tmp_path / "there", {"x": ""}) / "vault")
    (vault / "deep" / "Steel.md").unlink()
    (vault / "deep" / "pan.png").unlink()
    again = bring(field, vault)
    assert (again.same, again.updated, again.gone) == (1, [], ["carbon-steel.md"])
    assert pages(field)["woks.md"].raw == before.raw
    assert "[Steel](carbon-steel.md)" in before.body
    assert [place for place, _ in left(again, "link")] == ["Woks.md"]
    make(vault, {"Steel.md": "Another.\n"})
    bring(field, vault)
    assert "[Steel](steel.md)" in pages(field)["woks.md"].body  # what is there comes first


def test_a_single_note_links_to_the_pages_of_its_folder(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", LINKED), tmp_path / "field"
    bring(field, vault)
    assert bring(field, vault / "Woks.md").same == 1


def test_links_to_headings_of_a_split_note_that_has_gone(tmp_path: Path) -> None:
    vault, field = tmp_path / "vault", tmp_path / "field"
    make_long(vault, ["A", "B", "C", "D", "E", "F"])
    make(vault, {"Other.md": "[[Long#F]] [[Long]] [x](Long.md#c)\n"})
    bring(field, vault)
    before = pages(field)["other.md"]
    assert "long-" in before.body
    (vault / "Long.md").unlink()
    assert bring(field, vault).same == 1
    assert pages(field)["other.md"].raw == before.raw


def test_what_somebody_split_off_a_page_is_not_called_gone(tmp_path: Path) -> None:
    vault, field = make(tmp_path / "vault", VAULT), tmp_path / "field"
    bring(field, vault)
    edit(field, "steel.md", "It rusts.\n", "".join(f"## {name}\n\n{'Of steel. ' * 300}\n\n" for name in "ABCD"))
    with Field.open(field) as opened:
        parts = opened.split("steel.md").parts
    assert len(parts) > 1
    again = bring(field, vault)
    assert (again.gone, [page.filename for page in again.kept]) == ([], ["steel.md"])


def test_a_long_note_that_was_moved_is_gone_through_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    lines_of = sameness.lines_of

    def counted(text: str) -> set[str]:
        read.append(text)
        return lines_of(text)

    for module in (sameness, importer):
        monkeypatch.setattr(module, "lines_of", counted)
    vault, field = tmp_path / "here" / "vault", tmp_path / "field"
    make_long(vault, list("ABCDEFGHIJ"))
    parts = len(bring(field, vault).added)
    moved = vault.rename(make(tmp_path / "there", {"x": ""}) / "vault")
    make_long(moved, list("ABCDEFGHIZ"))
    bring(field, moved)
    assert parts < len(read) <= 2 * parts + 1


@pytest.mark.parametrize("written", ["![](gone.png)", "[x](gone.pdf)", "[x](gone.md)", "![](deep/gone.png)"])
def test_a_link_that_leads_nowhere_is_told_each_time(tmp_path: Path, written: str) -> None:
    vault, field = make(tmp_path / "vault", {"a.md": f"A. {written}\n"}), tmp_path / "field"
    first = left(bring(field, vault), "link")
    assert [place for place, _ in first] == ["a.md"]
    assert left(bring(field, vault), "link") == first
