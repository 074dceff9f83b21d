"""What was imported is updated by the next import; what was edited here is never overwritten in silence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.errors import PageConflictError, RefusedError
from memoryfield.importing import import_source
from memoryfield.importing.naming import uuid_of

from .support import bring, make, make_lines, pages

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
