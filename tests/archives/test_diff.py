"""What differs between two fields, and patches that other programs apply."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from memoryfield import Field, diff
from memoryfield.archives.diff import Diff, KeyChange
from memoryfield.archives.patches import MAX_COMPARED, patch
from memoryfield.containers.directory import DirectoryContainer
from tests.support import no_privileges

UUIDS = [f"00000000-0000-4000-8000-{number:012d}" for number in range(10)]


def page(uuid: str = "", body: str = "Text.\n", **keys: str) -> str:
    """A page with these keys."""
    head = "".join(f"{key}: {value}\n" for key, value in ({"uuid": uuid} | keys if uuid else keys).items())
    return f"---\n{head}---\n\n{body}"


def make(folder: Path, files: dict[str, str | bytes]) -> Path:
    """A folder of these files."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def zipped(folder: Path) -> Path:
    """A zip of a folder's files."""
    location = folder.with_name(folder.name + ".memoryfield.zip")
    with zipfile.ZipFile(location, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    return location


def compared(tmp_path: Path, a: dict[str, str | bytes], b: dict[str, str | bytes]) -> Diff:
    """What differs between two folders of these files."""
    return between(make(tmp_path / "a", a), make(tmp_path / "b", b))


def between(a: Path, b: Path) -> Diff:
    """What differs between two fields that are then closed."""
    with Field.open(a) as first, Field.open(b) as second:
        return diff(first, second)


def told(found: Diff) -> list[str]:
    """The changes in few words."""
    return [
        f"{change.kind} {change.old_name} {change.name} {change.by}{' edited' if change.is_edited else ''}"
        if change.kind == "renamed"
        else f"{change.kind} {change.name}"
        for change in found.changes
    ]


def test_fields_of_the_same_files_do_not_differ_whatever_carries_them(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a.md": page(UUIDS[0]),
        "b.png": b"\x00\xff",
        "x.sqlite3": b"one",
        ".DS_Store": b"1",
    }
    a = make(tmp_path / "a", files)
    b = make(tmp_path / "b", {**files, "x.sqlite3": b"two", "y.sqlite3-journal": b"", "c.md~": "old"})
    for other in (b, zipped(b)):
        found = between(a, other)
        assert (found.changes, found.unread) == ([], [])
        assert found.is_same
        assert found.a.content_hash == found.b.content_hash
        assert found.a.content_hash.startswith("mf1:")


def test_pages_are_added_removed_changed_and_renamed(tmp_path: Path) -> None:
    a: dict[str, str | bytes] = {
        "same.md": page(UUIDS[0]),
        "changed.md": page(UUIDS[1], "One.\n"),
        "gone.md": page(UUIDS[2], "Gone.\n"),
        "moved.md": page(UUIDS[3], "Moved.\n"),
        "edited.md": page(UUIDS[4], "Before.\n"),
        "plain.md": "No frontmatter.\n",
    }
    b: dict[str, str | bytes] = {
        "same.md": page(UUIDS[0]),
        "changed.md": page(UUIDS[1], "Two.\n"),
        "new.md": page(UUIDS[5], "New.\n"),
        "moved-on.md": page(UUIDS[3], "Moved.\n"),
        "edited-on.md": page(UUIDS[4], "After.\n"),
        "plain-on.md": "No frontmatter.\n",
    }
    found = compared(tmp_path, a, b)
    assert told(found) == [
        "changed changed.md",
        "renamed edited.md edited-on.md uuid edited",
        "removed gone.md",
        "renamed moved.md moved-on.md uuid",
        "added new.md",
        "renamed plain.md plain-on.md content",
    ]
    assert not found.is_same
    assert [change.name for change in found.pages("renamed")] == ["edited-on.md", "moved-on.md", "plain-on.md"]
    assert found.attachments("renamed") == []


def test_other_files_are_told_of_beside_the_pages(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        {"a.md": "A", "old.png": b"\x89one", "data.csv": "1\n", "gone.txt": "x"},
        {"a.md": "A", "new.png": b"\x89one", "data.csv": "2\n", "more.txt": "y"},
    )
    assert {kind: [c.name for c in found.attachments(kind)] for kind in ("added", "removed", "changed", "renamed")} == {
        "added": ["more.txt"],
        "removed": ["gone.txt"],
        "changed": ["data.csv"],
        "renamed": ["new.png"],
    }
    assert not any(found.pages(kind) for kind in ("added", "removed", "changed", "renamed"))


def test_keys_and_body_are_told_apart(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        {
            "keys.md": page(title="Woks", tags="[a, b]", flag="1", gone="yes sir"),
            "body.md": page(title="Woks"),
            "form.md": page(title="Woks"),
        },
        {
            "keys.md": page(title="Pans", tags="[a, b]", flag="true", new="{x: 1}"),
            "body.md": page(title="Woks", body="Other.\n"),
            "form.md": page(title='"Woks"'),
        },
    )
    body, form, keys = found.changes
    assert (body.keys, body.body, body.notes) == ((), True, ())
    assert (form.keys, form.body, form.notes) == ((), False, ("only how its frontmatter is written",))
    assert keys.body is False
    assert keys.keys == (
        KeyChange("title", "changed", "Woks", "Pans"),
        KeyChange("flag", "changed", 1, True),
        KeyChange("gone", "removed", "yes sir", None),
        KeyChange("new", "added", None, {"x": 1}),
    )


@pytest.mark.parametrize(
    "written", [f"uuid: {UUIDS[0]}", f'"uuid": "{UUIDS[0].upper()}" # mine', f"{{uuid: {UUIDS[0]}}}"]
)
def test_a_uuid_that_occurs_twice_matches_nobody(tmp_path: Path, written: str) -> None:
    found = compared(
        tmp_path,
        {"old.md": page(UUIDS[0], "One.\n")},
        {"new.md": page(UUIDS[0], "Two.\n"), "twin.md": f"---\n{written}\n---\nThree.\n"},
    )
    assert told(found) == ["added new.md", "removed old.md", "added twin.md"]


def test_a_uuid_that_a_page_only_mentions_is_not_its_own(tmp_path: Path) -> None:
    about: dict[str, str | bytes] = {
        "about.md": f"# Pages\n\nuuid: {UUIDS[0]} is that of the woks.\n\nuuid: {UUIDS[0]}\n"
    }
    found = compared(
        tmp_path, {"old.md": page(UUIDS[0], "One.\n"), **about}, {"new.md": page(UUIDS[0], "Two.\n"), **about}
    )
    assert told(found) == ["renamed old.md new.md uuid edited"]


def test_the_name_goes_before_the_uuid(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        {"a.md": page(UUIDS[0], "One.\n"), "b.md": page(UUIDS[1], "Two.\n")},
        {"a.md": page(UUIDS[1], "Two.\n"), "c.md": page(UUIDS[0], "One.\n")},
    )
    assert told(found) == ["changed a.md", "removed b.md", "added c.md"]
    assert [key.key for key in found.changes[0].keys] == ["uuid"]


def test_copies_are_matched_one_by_one_and_empty_files_are_not(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        {"a.md": "Same.\n", "b.md": "Same.\n", "empty.md": "", "text.txt": "Other.\n"},
        {"c.md": "Same.\n", "blank.md": "", "d.md": "Other.\n"},
    )
    assert told(found) == [
        "removed b.md",
        "added blank.md",
        "renamed a.md c.md content",
        "added d.md",
        "removed empty.md",
        "removed text.txt",
    ]


def test_pages_that_cannot_be_understood_are_compared_all_the_same(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        {"latin.md": b"caf\xe9\n", "broken.md": "---\ntitle: a: b\n---\nText\n", "wide.md": "x".encode("utf-16")},
        {"latin.md": b"caf\xe8\n", "broken.md": page(title="a b"), "wide.md": "y".encode("utf-16")},
    )
    broken, latin, wide = found.changes
    assert [key.key for key in broken.keys] == ["title"]
    assert len(broken.notes) == 1
    assert broken.notes[0].startswith("a:2: the frontmatter is not valid YAML")
    assert [note.partition(" ")[0] for note in latin.notes] == ["a:1:", "b:1:"]
    assert wide.is_edited


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are not those of POSIX")
def test_a_file_that_cannot_be_read_is_told_of_and_nothing_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: dict[str, str | bytes] = {"a.md": "A", "b.md": "B"}
    a, b = make(tmp_path / "a", {**files, "c.md": "C"}), make(tmp_path / "b", files)
    for path in (a / "b.md", a / "c.md", b / "a.md"):
        path.chmod(0)
    monkeypatch.chdir(a)  # above it, nobody may pass
    with Field(DirectoryContainer(Path())) as first, Field(DirectoryContainer(Path("../b"))) as second:
        tmp_path.chmod(0o755)
        with no_privileges():
            found = diff(first, second)
    assert found.changes == []
    assert [(one.side, one.name, one.reason) for one in found.unread] == [
        ("a", "b.md", "Permission denied"),
        ("a", "c.md", "Permission denied"),
        ("b", "a.md", "Permission denied"),
    ]
    assert not found.is_same
    assert (found.a.content_hash, found.to_dict()["b"]["content_hash"]) == ("", None)


def test_the_report_has_one_shape(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        {"a.md": page(UUIDS[0], title="A"), "b.md": "B", "c.md": "C\n"},
        {"a.md": page(UUIDS[0], title="B"), "d.md": "D", "e.md": "C\n"},
    ).to_dict()
    assert list(found) == ["same", "a", "b", "pages", "attachments", "unread"]
    assert list(found["a"]) == ["field", "location", "content_hash", "pages"]
    assert list(found["pages"]) == list(found["attachments"]) == ["added", "removed", "changed", "renamed"]
    (changed,) = found["pages"]["changed"]
    assert list(changed) == ["name", "old_sha256", "new_sha256", "keys", "body", "notes"]
    assert changed["keys"] == [{"key": "title", "kind": "changed", "old": "A", "new": "B"}]
    assert list(found["pages"]["added"][0]) == ["name", "new_sha256"]
    assert list(found["pages"]["removed"][0]) == ["name", "old_sha256"]
    (renamed,) = found["pages"]["renamed"]
    assert (renamed["old_name"], renamed["name"], renamed["by"], renamed["edited"]) == (
        "c.md",
        "e.md",
        "content",
        False,
    )


def test_progress_counts_the_files_of_both(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"page-{number}.md": "x" for number in range(600)}
    a, b = make(tmp_path / "a", files), make(tmp_path / "b", files)
    seen: list[tuple[int, int]] = []
    with Field.open(a) as first, Field.open(b) as second:
        diff(first, second, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1000, 1200)]


# patches

BEFORE: dict[str, str | bytes] = {
    "same.md": "Same.\n",
    "changed.md": "\n".join(str(number) for number in range(50)) + "\n",
    "no-end.md": "one\ntwo",
    "end.md": "one\ntwo\n",
    "both-without.md": "one\ntwo",
    "crlf.md": "one\r\ntwo\r\nthree\r\n",
    "marked.md": "\ufeffone\ntwo\n",
    "odd.md": "one\x0c two\x85three\u2028four\rfive\nsix\n",
    "gone.md": page(UUIDS[1], "Gone.\n"),
    "gone-empty.md": "",
    "emptied.md": "text\n",
    "filled.md": "",
    "with space.md": "one\n",
    "moved.md": page(UUIDS[2], "Moved.\n"),
    "edited page.md": page(UUIDS[3], "Before.\n" + "line\n" * 9),
    "käse.md": "eins\n",
    "picture.png": b"\x89PNG\x00",
    "latin.md": b"caf\xe9\n",
    "dashes.md": "-- a\n++ b\n@@ c\n",
}
AFTER: dict[str, str | bytes] = {
    "same.md": "Same.\n",
    "changed.md": "\n".join(str(number * (number not in (3, 40))) for number in range(50)) + "\nmore\n",
    "no-end.md": "one\ntwo\n",
    "end.md": "one\ntwo",
    "both-without.md": "one\nthree",
    "crlf.md": "one\r\n2\r\nthree\n",
    "marked.md": "one\ntwo\n",
    "odd.md": "one\x0c two\x85three\u2028vier\rfive\nsix\n",
    "new.md": "New.",
    "new-empty.md": "",
    "emptied.md": "",
    "filled.md": "text\n",
    "with space.md": "two\n",
    "moved-on.md": page(UUIDS[2], "Moved.\n"),
    "edited page on.md": page(UUIDS[3], "After.\n" + "line\n" * 9),
    "käse.md": "zwei\n",
    "picture.png": b"\x89PNG\x01\x00",
    "latin.md": b"caf\xe8\n",
    "dashes.md": "-- b\n++ a\n@@ d\n",
}
NOT_TEXT = {"picture.png", "latin.md"}


@pytest.mark.parametrize("program", [["git", "apply", "-p1"], ["patch", "-p1", "--binary", "-s"]])
@pytest.mark.parametrize("form", [lambda folder: folder, zipped])
def test_programs_that_apply_patches_make_one_field_of_the_other(
    tmp_path: Path, program: list[str], form: type[Path]
) -> None:
    if not shutil.which(program[0]) or sys.platform == "win32":
        pytest.skip(f"there is no {program[0]}")
    a, b = make(tmp_path / "a", BEFORE), make(tmp_path / "b", AFTER)
    with Field.open(form(a)) as first, Field.open(form(b)) as second:
        lines = list(diff(first, second).patch())
    assert "Binary files a/picture.png and b/picture.png differ\n" in lines
    assert "Binary files a/latin.md and b/latin.md differ\n" in lines
    copy = tmp_path / "copy"
    shutil.copytree(a, copy)
    done = subprocess.run(program, input="".join(lines).encode(), cwd=copy, capture_output=True, check=False)
    assert done.returncode == 0, done
    made = {path.name: path.read_bytes() for path in copy.iterdir()}
    assert made.keys() == {*AFTER}
    assert {name for name, raw in made.items() if raw != (b / name).read_bytes()} == NOT_TEXT


def test_a_patch_reads_as_git_writes_it() -> None:
    assert "".join(patch("a.md", "a.md", b"one\ntwo\n", b"one\n2")) == (
        "diff --git a/a.md b/a.md\n--- a/a.md\n+++ b/a.md\n"
        "@@ -1,2 +1,2 @@\n one\n-two\n+2\n\\ No newline at end of file\n"
    )
    assert "".join(patch("a.md", "b.md", b"x", b"x")) == (
        "diff --git a/a.md b/b.md\nsimilarity index 100%\nrename from a.md\nrename to b.md\n"
    )
    assert "".join(patch('"q".md', '"q".md', None, b"x\n")) == (
        'diff --git "a/\\"q\\".md" "b/\\"q\\".md"\nnew file mode 100644\n--- /dev/null\n+++ "b/\\"q\\".md"\n'
        "@@ -0,0 +1 @@\n+x\n"
    )
    assert list(patch("a.png", "a.png", None, b"\x00")) == ["Binary files /dev/null and b/a.png differ\n"]


def test_what_has_very_many_lines_is_replaced_where_it_differs() -> None:
    lines = int(MAX_COMPARED**0.5) + 10
    old = b"first\n" + b"".join(b"%d\n" % number for number in range(lines)) + b"last\n"
    new = b"first\n" + b"".join(b"%d\n" % -number for number in range(1, lines)) + b"last\n"
    made = list(patch("a.txt", "a.txt", old, new))
    assert made[3] == f"@@ -1,{lines + 2} +1,{lines + 1} @@\n"
    assert made[4:6] == [" first\n", "-0\n"]
    assert made[-1] == " last\n"


def test_lines_are_counted_and_what_is_no_text_is_not(tmp_path: Path) -> None:
    a = make(tmp_path / "a", {"a.md": "one\ntwo\n", "b.png": b"\x00", "c.md": "x\n"})
    b = make(tmp_path / "b", {"a.md": "one\n2\n3\n", "b.png": b"\x01\x00", "d.md": "y\nz"})
    with Field.open(a) as first, Field.open(b) as second:
        stats = [(one.change.name, one.added, one.removed) for one in diff(first, second).stat()]
    assert stats == [("a.md", 2, 1), ("b.png", None, None), ("c.md", 0, 1), ("d.md", 2, 0)]
