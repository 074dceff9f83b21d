"""Merging: who is who, what a common ancestor tells, what each strategy does, and all or nothing."""

from __future__ import annotations

import itertools
import os
import random
import signal
import sys
import unicodedata
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from memoryfield import Field, Page
from memoryfield.archives.deciding import Strategy
from memoryfield.archives.merge import Merged, merge
from memoryfield.containers import open_container
from memoryfield.containers.directory import DirectoryContainer
from memoryfield.containers.journal import STAGE
from memoryfield.errors import (
    FieldNotFoundError,
    PageConflictError,
    ReadOnlyError,
    RefusedError,
    UsageError,
)
from memoryfield.names import folded, is_page

from ..support import full_disk, no_privileges

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")

U, V, W = (f"{digit * 8}-{digit * 4}-4{digit * 3}-8{digit * 3}-{digit * 12}" for digit in "123")
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

Files = Mapping[str, bytes]


def page(text: str = "text", uuid: str = "", updated: str = "") -> bytes:
    lines = [f"uuid: {uuid}"] if uuid else []
    lines += [f'updated: "{updated}"'] if updated else []
    return "\n".join(["---", "title: A page", *lines, "---", "", text, ""]).encode()


OLD = page("old", U, "2026-01-01T00:00:00Z")
NEW = page("new", U, "2026-02-02T00:00:00Z")
OTHER = page("another change", U, "2026-03-03T00:00:00Z")


def make(folder: Path, files: Files) -> Path:
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Fields:
    """A field, a source, and a common ancestor; every source has one page more, for it must not be empty."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.numbers = itertools.count()

    def merge(
        self, ours: Files, theirs: Files, base: Files | None = None, resolve: Strategy = "", **more: Any
    ) -> tuple[dict[str, bytes], Merged]:
        """What is in the field afterwards, but for that one page. The same merge once more changes nothing."""
        number = next(self.numbers)
        filler = {"filler.md": b"# Filler\n"}
        folder = make(self.place / f"ours-{number}", {**filler, **ours})
        source = make(self.place / f"theirs-{number}", {**filler, **theirs})
        ancestor = None if base is None else open_container(make(self.place / f"base-{number}", {**filler, **base}))
        with Field.open(folder) as field, Field.open(source) as other:
            merged = merge(field, other, base=ancestor, resolve=resolve, **more)
            if merged.written and ancestor is None:
                once = content(folder)
                assert merge(field, other, resolve=resolve).written
                assert content(folder) == once, (ours, theirs, resolve)
        assert content(source) == {**filler, **theirs}
        found = content(folder)
        assert found.pop("filler.md") == b"# Filler\n"
        if merged.conflicts:
            assert found == ours
        assert merged.written == (not merged.conflicts and not more.get("dry_run"))
        return found, merged


@pytest.fixture
def fields(tmp_path: Path) -> Fields:
    return Fields(tmp_path)


# without an ancestor


def test_new_files_are_added_and_equal_ones_left(fields: Fields) -> None:
    found, merged = fields.merge(
        {"woks.md": OLD, "only-here.md": b"here", "a.jpg": b"a"},
        {"woks.md": OLD, "pans.md": page("pans", V), "a.jpg": b"a", "b.jpg": b"b"},
    )
    assert found == {
        "woks.md": OLD, "only-here.md": b"here", "a.jpg": b"a", "pans.md": page("pans", V), "b.jpg": b"b",
    }  # fmt: skip
    assert (merged.added, merged.same, merged.taken, merged.kept) == (["b.jpg", "pans.md"], 3, [], [])
    assert merged.to_dict()["written"] is True


@pytest.mark.parametrize("name", ["woks.md", "woks.jpg"])
def test_what_differs_is_a_conflict_and_nothing_is_written(fields: Fields, name: str) -> None:
    _, merged = fields.merge({name: OLD}, {name: NEW, "new.md": b"new"})
    (conflict,) = merged.conflicts
    assert (conflict.filename, conflict.kind) == (name, "changed")
    told = conflict.to_dict()
    assert told["ours"]["sha256"] == Page(name, OLD).sha256
    assert told["theirs"]["sha256"] == Page(name, NEW).sha256
    if name == "woks.md":
        assert told["theirs"] == {
            "filename": name, "sha256": Page(name, NEW).sha256, "uuid": U, "updated": "2026-02-02T00:00:00Z",
        }  # fmt: skip


def test_a_dry_run_tells_the_same_and_changes_nothing(fields: Fields) -> None:
    ours, theirs = {"woks.md": OLD}, {"woks.md": NEW, "pans.md": b"pans"}
    found, dry = fields.merge(ours, theirs, resolve="both", dry_run=True)
    assert found == ours
    _, wet = fields.merge(ours, theirs, resolve="both")
    assert {**dry.to_dict(), "field": "", "source": ""} == {
        **wet.to_dict(),
        "field": "",
        "source": "",
        "written": False,
    }
    assert dry.added == ["pans.md", "woks-2.md"]


def test_ours_and_theirs_and_the_newer_one(fields: Fields) -> None:
    for resolve, expected in (("ours", OLD), ("theirs", NEW), ("newer", NEW)):
        found, merged = fields.merge({"woks.md": OLD}, {"woks.md": NEW}, resolve=resolve)  # type: ignore[arg-type]
        assert found == {"woks.md": expected}
        assert [conflict.decided for conflict in merged.resolved] == ["ours" if expected is OLD else "theirs"]
        assert (merged.kept, merged.taken) == ((["woks.md"], []) if expected is OLD else ([], ["woks.md"]))
    assert fields.merge({"woks.md": NEW}, {"woks.md": OLD}, resolve="newer")[0] == {"woks.md": NEW}


@pytest.mark.parametrize(
    ("theirs", "said"),
    [
        (page("new", U, "2026-01-01T00:00:00Z"), "the same"),
        (page("new", U, "2026-01-01T01:00:00+01:00"), "the same"),
        (page("new", U), "not there"),
        (page("new", U, "lately"), "not there"),
    ],
)
def test_what_is_no_newer_stays_a_conflict(fields: Fields, theirs: bytes, said: str) -> None:
    _, merged = fields.merge({"woks.md": OLD}, {"woks.md": theirs}, resolve="newer")
    assert said in merged.conflicts[0].reason


def test_both_keeps_ours_and_gives_theirs_a_free_name_a_uuid_and_its_origin(fields: Fields) -> None:
    ours = {"woks.md": OLD, "woks-2.md": b"taken"}
    found, merged = fields.merge(ours, {"woks.md": NEW, "woks-3.md": b"taken there"}, resolve="both")
    copy = Page("woks-4.md", found.pop("woks-4.md"))
    assert found == {**ours, "woks-3.md": b"taken there"}
    assert copy.uuid not in ("", U)
    assert copy.updated == "2026-02-02T00:00:00Z"
    assert copy.frontmatter["merged-from"] == f"{merged.source}/woks.md ({U})"
    assert copy.body == Page("woks.md", NEW).body
    assert merged.resolved[0].decided == "both"


def test_both_again_makes_no_second_copy(fields: Fields) -> None:
    for ours, theirs in ((OLD, NEW), (OLD, page("x", V)), (OLD, page("x")), (b"ours", b"theirs"), (b"", page("x"))):
        found, _ = fields.merge({"woks.md": ours, "w.jpg": b"a"}, {"woks.md": theirs, "w.jpg": b"b"}, resolve="both")
        assert set(found) == {"woks.md", "w.jpg", "woks-2.md", "w-2.jpg"}
    assert Page("", found["woks-2.md"]).uuid


def test_both_copies_what_is_here_under_a_name_that_goes(fields: Fields) -> None:
    """The source has made another kind of file of a page: under its old name it goes, and the new one is taken."""
    found, _ = fields.merge({"a.md": b"a", "x.txt": b"x"}, {"x.txt": b"a"}, {"a.md": b"a"}, "both")
    assert found["x.txt"] == b"x"
    assert b"a" in found.values()


def test_frontmatter_that_cannot_be_parsed_is_copied_byte_for_byte(fields: Fields) -> None:
    broken = b"---\ntitle: [never closed\n---\n\ntheirs\n"
    found, merged = fields.merge({"woks.md": OLD}, {"woks.md": broken}, resolve="both")
    assert found == {"woks.md": OLD, "woks-2.md": broken}
    assert any("byte for byte" in note for note in merged.notes)


def test_but_not_so_that_two_pages_have_one_uuid(fields: Fields) -> None:
    broken = f"---\ntitle: [never closed\nuuid: {U}\n---\n\ntheirs\n".encode()
    _, merged = fields.merge({"woks.md": OLD}, {"woks.md": broken}, resolve="both")
    assert merged.conflicts[0].kind == "uuid"


@pytest.mark.parametrize(
    "theirs",
    [b"", b"\xff\xfe not UTF-8", b"plain", b"\xef\xbb\xbf# BOM\n", OTHER.replace(b"\n", b"\r\n"), page("x", V).upper()],
    ids=["empty", "not UTF-8", "no frontmatter", "BOM", "CRLF", "capitals"],
)
def test_pages_of_every_kind_come_over_whole(fields: Fields, theirs: bytes) -> None:
    assert fields.merge({}, {"woks.md": theirs})[0] == {"woks.md": theirs}
    assert fields.merge({"woks.md": page()}, {"woks.md": theirs}, resolve="theirs")[0] == {"woks.md": theirs}
    copy = fields.merge({"woks.md": page()}, {"woks.md": theirs}, resolve="both")[0]["woks-2.md"]
    assert Page("", copy).body == Page("", theirs).body
    assert copy == theirs or copy.startswith(theirs[: theirs.index(b"---", 3)])
    assert copy.count(b"\n") == copy.count(b"\r\n") or b"\r\n" not in theirs


def test_the_uuid_of_ours_stays_where_theirs_has_none(fields: Fields) -> None:
    found, _ = fields.merge({"woks.md": OLD}, {"woks.md": page("new")}, resolve="theirs")
    assert Page("woks.md", found["woks.md"]).uuid == U
    assert b"new" in found["woks.md"]


# who is who


def test_one_name_and_two_uuids_are_two_pages(fields: Fields) -> None:
    ours, theirs = {"woks.md": OLD}, {"woks.md": page("theirs", V, "2026-02-02T00:00:00Z")}
    assert fields.merge(ours, theirs)[1].conflicts[0].kind == "two-pages"
    assert fields.merge(ours, theirs, resolve="ours")[0] == ours
    assert fields.merge(ours, theirs, resolve="theirs")[0] == theirs
    unchanged, merged = fields.merge(ours, theirs, resolve="newer")
    assert unchanged == ours
    assert "neither is a newer version of the other" in merged.conflicts[0].reason
    found, _ = fields.merge(ours, theirs, resolve="both")
    assert found["woks.md"] == OLD
    assert Page("", found["woks-2.md"]).uuid == V, "it is the page that it was (F-12)"


def test_one_uuid_and_two_names_are_one_page(fields: Fields) -> None:
    found, merged = fields.merge({"woks.md": OLD}, {"pans.md": OLD})
    assert found == {"woks.md": OLD}
    assert "pans.md" in merged.notes[0]
    assert fields.merge({"woks.md": OLD}, {"pans.md": OLD}, resolve="theirs")[0] == {"pans.md": OLD}
    ours, theirs = {"woks.md": OLD}, {"pans.md": NEW}
    assert fields.merge(ours, theirs)[1].conflicts[0].kind == "two-names"
    assert fields.merge(ours, theirs, resolve="ours")[0] == ours
    assert fields.merge(ours, theirs, resolve="newer")[0] == theirs
    found, _ = fields.merge(ours, theirs, resolve="both")
    assert found["woks.md"] == OLD
    assert Page("", found["pans.md"]).uuid not in ("", U)


def test_the_ancestor_tells_who_renamed(fields: Fields) -> None:
    base = {"woks.md": OLD}
    found, merged = fields.merge({"woks.md": OLD}, {"pans.md": OLD}, base)
    assert (found, merged.renamed) == ({"pans.md": OLD}, [("woks.md", "pans.md")])
    assert fields.merge({"woks.md": OLD}, {"pans.md": NEW}, base)[0] == {"pans.md": NEW}
    assert fields.merge({"woks.md": NEW}, {"pans.md": OLD}, base)[0] == {"pans.md": NEW}
    assert fields.merge({"pans.md": OLD}, {"woks.md": NEW}, base)[0] == {"pans.md": NEW}
    assert fields.merge({"pans.md": OLD}, {"pots.md": OLD}, base)[1].conflicts[0].kind == "two-names"
    assert fields.merge({"pans.md": OLD}, {"pots.md": NEW}, base, "ours")[0] == {"pans.md": NEW}
    assert fields.merge({"pans.md": OLD}, {"pots.md": NEW}, base, "theirs")[0] == {"pots.md": NEW}


def test_pages_that_change_names_with_each_other(fields: Fields) -> None:
    a, b = page("a", U), page("b", V)
    found, merged = fields.merge({"a.md": a, "b.md": b}, {"a.md": b, "b.md": a}, {"a.md": a, "b.md": b})
    assert found == {"a.md": b, "b.md": a}
    assert merged.renamed == [("a.md", "b.md"), ("b.md", "a.md")]


def test_a_new_name_that_another_page_has_here(fields: Fields) -> None:
    base = {"woks.md": OLD}
    ours, theirs = {"woks.md": OLD, "pans.md": page("ours", V)}, {"pans.md": NEW}
    assert fields.merge(ours, theirs, base)[1].conflicts[0].kind == "two-pages"
    assert fields.merge(ours, theirs, base, "ours")[0] == {**ours, "woks.md": NEW}
    assert fields.merge(ours, theirs, base, "both")[0] == {**ours, "woks.md": NEW}
    assert fields.merge(ours, theirs, base, "theirs")[1].conflicts


def test_a_uuid_that_the_source_has_twice(fields: Fields) -> None:
    theirs = {"a.md": page("a", U), "b.md": page("b", U)}
    _, merged = fields.merge({}, theirs)
    assert [conflict.kind for conflict in merged.conflicts] == ["uuid"]
    assert set(fields.merge({}, theirs, resolve="ours")[0]) == {"a.md"}
    found, _ = fields.merge({}, theirs, resolve="both")
    assert set(found) == {"a.md", "b.md"}
    assert Page("", found["b.md"]).uuid not in ("", U)
    assert fields.merge({"a.md": page("a", U)}, theirs)[1].conflicts[0].kind == "uuid"
    assert fields.merge(theirs, theirs)[1].same == 3, "it was so before"


def test_names_that_differ_by_capitals_or_accents_alone(fields: Fields) -> None:
    found, merged = fields.merge({"woks.md": OLD, "café.jpg": b"x"}, {"Woks.md": OLD, "cafe\u0301.jpg": b"x"})
    assert set(found) == {"woks.md", unicodedata.normalize("NFC", "café.jpg")}
    assert merged.same == 3
    assert fields.merge({"woks.md": OLD}, {"Woks.md": NEW}, resolve="theirs")[0] == {"woks.md": NEW}
    assert fields.merge({"woks.md": OLD}, {"Woks.md": page("x", V)})[1].conflicts[0].kind == "name"
    assert set(fields.merge({"woks.md": OLD}, {"Woks.md": page("x", V)}, resolve="both")[0]) == {"woks.md", "woks-2.md"}


@pytest.mark.skipif(sys.platform != "linux", reason="needs names that differ by capitals alone")
def test_such_names_in_the_source_itself(fields: Fields) -> None:
    theirs = {"Woks.md": page("a", U), "woks.md": page("b", V)}
    assert [conflict.kind for conflict in fields.merge({}, theirs)[1].conflicts] == ["name"]
    assert len(fields.merge({}, theirs, resolve="both")[0]) == 2
    assert len(fields.merge({}, theirs, resolve="ours")[0]) == 1


def test_a_page_that_goes_and_one_that_comes_with_other_capitals(fields: Fields) -> None:
    base = {"woks.md": OLD}
    found, _ = fields.merge({"woks.md": OLD}, {"Woks.md": page("theirs", V)}, base)
    assert found == {"woks.md": page("theirs", V)}


@pytest.mark.skipif(sys.platform != "linux", reason="needs names that differ by capitals alone")
def test_a_page_stays_beside_one_of_nearly_its_name_that_goes(fields: Fields) -> None:
    found, _ = fields.merge({"B.md": OLD, "b.md": page("b", V)}, {"a.md": OLD}, resolve="theirs")
    assert found == {"a.md": OLD, "b.md": page("b", V)}


def test_illegal_names_come_with_a_word(fields: Fields) -> None:
    for name in ("Cast Iron.md", "鍋.md", "Сковорода.md", "café.MD"):
        found, merged = fields.merge({}, {name: page()})
        assert found == {name: page()}
        assert any(name in note and "P-2" not in note for note in merged.notes)


# with an ancestor


def test_what_one_side_alone_changed_wins(fields: Fields) -> None:
    base = {"woks.md": OLD, "wok.jpg": b"old", "gone.md": b"gone", "deleted.md": b"deleted"}
    ours = {"woks.md": NEW, "wok.jpg": b"old", "gone.md": b"gone", "only.md": b"only here"}
    theirs = {"woks.md": OLD, "wok.jpg": b"new", "deleted.md": b"deleted"}
    found, merged = fields.merge(ours, theirs, base)
    assert found == {"woks.md": NEW, "wok.jpg": b"new", "only.md": b"only here"}
    assert (merged.taken, merged.kept) == (["wok.jpg"], ["woks.md"])
    assert (merged.removed, merged.stay_deleted) == (["gone.md"], ["deleted.md"])


def test_what_both_changed(fields: Fields) -> None:
    base = {"woks.md": OLD}
    assert fields.merge({"woks.md": NEW}, {"woks.md": NEW}, base)[1].same == 2
    assert fields.merge({"woks.md": NEW}, {"woks.md": OTHER}, base)[1].conflicts[0].kind == "changed"
    assert fields.merge({"woks.md": NEW}, {"woks.md": OTHER}, base, "newer")[0] == {"woks.md": OTHER}


@pytest.mark.parametrize(("ours", "theirs"), [({}, {"woks.md": NEW}), ({"woks.md": NEW}, {})])
def test_changed_on_one_side_and_deleted_on_the_other(fields: Fields, ours: Files, theirs: Files) -> None:
    base = {"woks.md": OLD}
    assert fields.merge(ours, theirs, base)[1].conflicts[0].kind == ("deleted-there" if ours else "deleted-here")
    assert fields.merge(ours, theirs, base, "ours")[0] == ours
    assert fields.merge(ours, theirs, base, "theirs")[0] == theirs
    assert fields.merge(ours, theirs, base, "newer")[1].conflicts
    assert fields.merge(ours, theirs, base, "both")[0] == {"woks.md": NEW}


def test_renamed_here_and_deleted_there_is_no_deletion(fields: Fields) -> None:
    assert fields.merge({"pans.md": OLD}, {}, {"woks.md": OLD})[1].conflicts[0].kind == "deleted-there"


def test_a_page_in_the_place_of_another(fields: Fields) -> None:
    found, merged = fields.merge({"woks.md": OLD}, {"woks.md": page("theirs", V)}, {"woks.md": OLD})
    assert found == {"woks.md": page("theirs", V)}
    assert (merged.taken, merged.added, merged.removed) == (["woks.md"], [], [])


# sources, places, permissions


def test_an_archive_and_its_indexes_are_read_in_place(tmp_path: Path) -> None:
    source = make(tmp_path / "source", {"woks.md": NEW, "all-MiniLM-L6-v2.sqlite3": b"no index of ours"})
    with zipfile.ZipFile(tmp_path / "s.memoryfield.zip", "w") as archive:
        for path in source.iterdir():
            archive.write(path, path.name)
    folder = make(tmp_path / "field", {"woks.md": OLD})
    with Field.open(folder) as field, Field.open(tmp_path / "s.memoryfield.zip") as other:
        merge(field, other, resolve="theirs")
        assert content(folder) == {"woks.md": NEW}
        with pytest.raises(ReadOnlyError):
            merge(other, field)


def test_the_field_itself_and_what_has_no_pages_are_refused(tmp_path: Path) -> None:
    folder = make(tmp_path / "field", {"woks.md": OLD})
    empty = make(tmp_path / "empty", {"a.jpg": b"no page"})
    with Field.open(folder) as field:
        with pytest.raises(UsageError, match="itself"):
            merge(field, open_container(tmp_path / "empty" / ".." / "field"))
        with pytest.raises(FieldNotFoundError, match="no pages"):
            merge(field, open_container(empty))
        with pytest.raises(FieldNotFoundError, match="no pages"):
            merge(field, open_container(make(tmp_path / "s", {"a.md": b""})), base=open_container(empty))


def test_a_source_within_the_field_and_around_it(tmp_path: Path) -> None:
    outer = make(tmp_path / "outer", {"woks.md": OLD})
    inner = make(outer / "inner", {"pans.md": b"pans"})
    with Field.open(outer) as field, Field.open(inner) as source:
        merge(field, source)
        assert set(content(outer)) == {"woks.md", "pans.md", str(Path("inner/pans.md"))}
        merge(source, field)
    assert set(content(inner)) == {"woks.md", "pans.md"}


@posix_only
def test_a_link_is_not_written_through_and_not_read_out_of_the_field(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_bytes(b"secret")
    folder, source = (
        make(tmp_path / "field", {"woks.md": page("here")}),
        make(tmp_path / "source", {"pans.md": page("x")}),
    )
    (source / "stolen.md").symlink_to(tmp_path / "secret.md")
    (folder / "pans.md").symlink_to("woks.md")
    (folder / "pots.md").symlink_to(tmp_path / "secret.md")
    (folder / "folder.md").mkdir()
    (source / "pots.md").write_bytes(b"pots")
    (source / "folder.md").write_bytes(b"folder")
    with Field.open(folder) as field, Field.open(source) as other:
        merged = merge(field, other, resolve="theirs")
        assert {conflict.filename: conflict.kind for conflict in merged.conflicts} == {
            "pans.md": "name", "pots.md": "name", "folder.md": "name",
        }  # fmt: skip
        assert any("stolen.md" in note for note in merged.notes)
        merged = merge(field, other, resolve="both")
    assert merged.added == ["folder-2.md", "pans-2.md", "pots-2.md"]
    assert (tmp_path / "secret.md").read_bytes() == b"secret"
    assert (folder / "pans.md").is_symlink()
    assert not (folder / "stolen.md").exists()


@posix_only
def test_a_folder_that_cannot_be_written_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path / "field", {"woks.md": OLD})
    make(folder / "source", {"pans.md": b"x"})
    monkeypatch.chdir(folder)
    folder.chmod(0o555)
    field, source = Field(DirectoryContainer(Path())), DirectoryContainer(Path("source"))
    with no_privileges():
        with pytest.raises(ReadOnlyError):
            merge(field, source)
        assert merge(field, source, dry_run=True).added == ["pans.md"]
    folder.chmod(0o755)


@posix_only
def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    folder = make(tmp_path / "field", {"woks.md": OLD})
    source = make(tmp_path / "source", {"a.md": b"small", "pans.md": bytes(10_000)})
    field, other = Field.open(folder), Field.open(source)
    with full_disk(4096), pytest.raises(OSError, match="File too large"):
        merge(field, other)
    assert content(folder) == {"woks.md": OLD}
    assert not (folder / STAGE).exists()


def test_a_page_that_cannot_be_read_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    folder = make(tmp_path / "field", {"woks.md": OLD})
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        archive.writestr("a.md", b"fine")
        archive.writestr("b.md", b"iron")
    damaged = (tmp_path / "s.zip").read_bytes().replace(b"iron", b"Iron")
    (tmp_path / "s.zip").write_bytes(damaged)
    with Field.open(folder) as field, Field.open(tmp_path / "s.zip") as source, pytest.raises(OSError, match=r"b\.md"):
        merge(field, source)
    assert content(folder) == {"woks.md": OLD}


@pytest.mark.parametrize("name", ["woks.md", "pans.md"])
def test_a_page_that_changes_meanwhile_stops_it(tmp_path: Path, name: str) -> None:
    folder = make(tmp_path / "field", {"woks.md": OLD})
    source = make(tmp_path / "source", {"woks.md": NEW, "pans.md": b"pans"})
    with Field.open(folder) as field, Field.open(source) as other:

        def edit(done: int, total: int) -> None:
            (folder / name).write_bytes(b"an editor's")

        with pytest.raises(PageConflictError, match=name):
            merge(field, other, resolve="theirs", progress=edit)
    assert content(folder) == {"woks.md": OLD, name: b"an editor's"}


def test_what_was_left_by_another_folder_stops_it(tmp_path: Path) -> None:
    folder, source = make(tmp_path / "field", {"woks.md": OLD}), make(tmp_path / "source", {"pans.md": b"x"})
    (folder / STAGE).mkdir()
    (folder / STAGE / "plan-1").write_bytes(b"[]")
    with Field.open(folder) as field, Field.open(source) as other, pytest.raises(RefusedError, match=STAGE):
        merge(field, other)


def test_the_rows_of_what_is_gone_leave_the_index_at_once(tmp_path: Path) -> None:
    base = {"gone.md": page("goneword", V), "old.md": page("kept", U), "woks.md": page("x", W)}
    folder = make(tmp_path / "field", base)
    source = make(tmp_path / "source", {"new.md": base["old.md"], "woks.md": page("y", W)})
    with Field.open(folder) as field, Field.open(source) as other:
        field.sync()
        assert b"goneword" in (folder / "all-MiniLM-L6-v2.sqlite3").read_bytes()
        merged = merge(field, other, base=open_container(make(tmp_path / "base", base)))
        assert b"goneword" not in (folder / "all-MiniLM-L6-v2.sqlite3").read_bytes()
        assert any("1 of the pages" in note and "embed" in note for note in merged.notes)
        report = field.sync()
        assert (report.embedded, field.indexes()[0].gone) == (1, 0), "the renamed page kept its vector"


# killed


MERGES: dict[str, tuple[Files, Files, Files | None, Strategy]] = {
    "new pages": ({"woks.md": OLD}, {"pans.md": b"pans", "pots.md": b"pots"}, None, ""),
    "all kinds": (
        {"woks.md": OLD, "gone.md": b"gone", "old.md": page("r", V), "a.jpg": b"a"},
        {"woks.md": NEW, "new.md": page("r", V), "a.jpg": b"b", "added.md": b"added"},
        {"woks.md": OLD, "gone.md": b"gone", "old.md": page("r", V), "a.jpg": b"a"},
        "",
    ),
    "both": ({"woks.md": OLD}, {"woks.md": NEW}, None, "both"),
}
STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.listdir", "os.scandir"}


@posix_only
@pytest.mark.parametrize("kind", MERGES)
def test_killed_at_any_operation_the_field_is_before_or_after(tmp_path: Path, kind: str) -> None:
    ours, theirs, base, resolve = MERGES[kind]
    after, _ = Fields(tmp_path).merge(ours, theirs, base, resolve)
    source = make(tmp_path / "theirs-0-again", {"filler.md": b"# Filler\n", **theirs}).rename(tmp_path / "again")
    (tmp_path / "theirs-0").rename(tmp_path / "first")
    source = source.rename(tmp_path / "theirs-0")
    ancestor = None if base is None else tmp_path / "base-0"
    seen = []
    for step in itertools.count():
        folder = make(tmp_path / f"killed-{step}", {"filler.md": b"# Filler\n", **ours})
        was_killed = killed(folder, step, lambda folder: _merge_all(folder, source, ancestor, resolve))
        open_container(folder).close()
        found = content(folder)
        del found["filler.md"]
        assert found in (ours, after)
        assert not (folder / STAGE).exists()
        seen.append(found == after)
        if not was_killed:
            break
    assert seen == sorted(seen)
    assert 3 < seen.index(True) < len(seen) - 3


def _merge_all(folder: Path, source: Path, base: Path | None, resolve: Strategy) -> None:
    with Field.open(folder) as field, Field.open(source) as other:
        merge(field, other, base=None if base is None else open_container(base), resolve=resolve)


def killed(folder: Path, left: int, doing: Callable[[Path], object]) -> bool:
    """Do it in a process that is killed before its file operation of this number, from 0; whether it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of a fork beside threads: ours are idle
        child = os.fork()
    if not child:
        code = 1
        try:

            def watch(event: str, arguments: tuple[object, ...]) -> None:
                nonlocal left
                if event in STEPS and str(folder) in str(arguments):
                    left -= 1
                    if left < 0:
                        os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(watch)
            doing(folder)
            code = 0
        except BaseException as error:
            print(repr(error), file=sys.__stderr__, flush=True)
        finally:
            os._exit(code)
    _, how = os.waitpid(child, 0)
    assert how in (0, signal.SIGKILL), how
    return how != 0


# whatever the fields


def _random_field(chance: random.Random) -> dict[str, bytes]:
    names = ["a.md", "b.md", "c.md", "a-2.md", "B.md", "x.jpg"] if sys.platform == "linux" else ["a.md", "b.md", "c.md"]
    found: dict[str, bytes] = {}
    for name in chance.sample(names, chance.randint(0, len(names))):
        uuid = chance.choice(["", U, V, W])
        updated = chance.choice(["", "2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z"])
        broken = f"---\nuuid: {uuid}\ntitle: [\n---\n".encode()
        made = page(chance.choice("xyz"), uuid, updated)
        found[name] = made if chance.random() < 0.9 else chance.choice([b"", b"plain", broken])
    return found


def _shared(files: Files) -> int:
    """How many uuids and names, once capitals are set aside, occur more than once."""
    uuids = [uuid for name, data in files.items() if is_page(name) and (uuid := Page(name, data).uuid)]
    return len(uuids) - len(set(uuids)) + len(files) - len({folded(name) for name in files})


def test_no_two_pages_get_one_name_or_uuid_and_no_page_is_lost(fields: Fields) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # pytest shows it with a failure
    chance = random.Random(seed)
    written = 0
    for _ in range(150):
        ours, theirs = _random_field(chance), _random_field(chance)
        base = chance.choice([None, _random_field(chance), ours, theirs])
        for resolve in STRATEGIES:
            case = f"{ours=}\n{theirs=}\n{base=}\n{resolve=}"
            found, merged = fields.merge(ours, theirs, base, resolve)
            if merged.conflicts:
                continue
            written += 1
            assert _shared(found) <= _shared(ours), case
            if resolve in ("ours", "both") and base is None:
                assert all(found.get(name) == data for name, data in ours.items()), case
            if resolve == "both" and base is None:
                bodies = {Page("", data).body for data in found.values()}
                assert bodies >= {Page("", data).body for data in theirs.values()}, case
            if base is None or resolve != "theirs":
                reported = {*merged.removed, *(old for old, _ in merged.renamed)}
                assert {name for name in ours if name not in found} <= reported, case
    assert written > 150
