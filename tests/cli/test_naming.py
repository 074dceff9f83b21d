"""The commands on names of fields: add, fields, remove, update; and names wherever a field is given."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..doubles.file_server import FileServer
from .support import command, contents, environment, forked, lines, make_kitchen, on_terminal, unstyled, write_page

ARCHIVE = "kitchen.memoryfield.zip"
TERMINAL = pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a field, and an archive of it."""
    make_kitchen(tmp_path / "kitchen", embedded=True)
    assert forked("pack", "-f", "kitchen", cwd=tmp_path).code == 0
    return tmp_path


@pytest.fixture
def server(place: Path) -> Iterator[FileServer]:
    with FileServer((place / ARCHIVE).read_bytes()) as running:
        yield running


def sha256(place: Path) -> str:
    return hashlib.sha256((place / ARCHIVE).read_bytes()).hexdigest()


def change(place: Path) -> None:
    """The next version of the archive."""
    write_page(place / "kitchen", "woks.md", "---\ntitle: Woks\n---\n\nCarbon steel, revised.\n")
    write_page(place / "kitchen", "lids.md", "---\ntitle: Lids\n---\n\nGlass.\n")
    (place / "kitchen" / "pans.md").unlink()
    assert forked("pack", "-f", "kitchen", "--replace", cwd=place).code == 0


# add


def test_what_was_added_is_told(place: Path) -> None:
    content = forked("info", "-f", ARCHIVE, "--json", cwd=place).json["content_hash"]
    run = forked("add", "team", ARCHIVE, cwd=place)
    assert run.code == 0
    assert lines(run.out) == [f"team: {place / ARCHIVE}, 3 pages", f"sha256 {sha256(place)}", f"content {content}"]
    assert "memoryfields.toml" in run.err
    assert "note: pinned is what is there now: compare the sha256 with that of whoever sent it\n" in run.err
    again = forked("add", "team", ARCHIVE, cwd=place)
    assert again.code == 3
    assert "`memoryfield update team`" in again.err
    assert "note" not in forked("add", "folder", "kitchen", cwd=place).err
    promised = forked("add", "other", ARCHIVE, "--sha256", sha256(place), "--project", "--json", cwd=place)
    assert promised.err == ""
    assert promised.json == {
        "schema": 1,
        "name": "other",
        "location": ARCHIVE,
        "file": str(place / "memoryfields.toml"),
        "pages": 3,
        "sha256": sha256(place),
        "content_hash": content,
    }


def test_a_name_that_hides_another_is_told(place: Path) -> None:
    own = forked("add", "team", "kitchen", "--json", cwd=place)
    assert own.err == ""
    run = forked("add", "team", ARCHIVE, "--sha256", sha256(place), "--project", cwd=place)
    assert run.code == 0
    hint = f"note: here, it hides 'team' of {own.json['file']!r}, which is {place / 'kitchen'}"
    assert lines(run.err) == [hint, "kept in memoryfields.toml"]
    (place / "deep").mkdir()
    deep = forked("add", "team", "../kitchen", "--project", cwd=place / "deep")
    assert f"hides 'team' of {str(place / 'memoryfields.toml')!r}, which is {ARCHIVE}" in deep.err
    assert forked("add", "other", "kitchen", "--project", cwd=place).err == "kept in memoryfields.toml\n"


def test_another_sha256_than_promised_is_refused_with_both(place: Path) -> None:
    run = forked("add", "team", ARCHIVE, "--sha256", "0" * 64, cwd=place)
    assert run.code == 3
    assert run.out == ""
    assert "0" * 64 in run.err
    assert sha256(place) in run.err
    assert forked("fields", cwd=place).out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["Team", ARCHIVE],
        ["../team", ARCHIVE],
        ["team", "nowhere"],
        ["team", "ftp://example.com/a.zip"],
        ["team", "//host/share"],
        ["team", "kitchen", "--sha256", "0" * 64],
        ["team", ARCHIVE, "--sha256", "abc"],
        ["team", ARCHIVE, "--allow", "total=lots"],
    ],
)
def test_wrong_usage_is_told_in_one_line(place: Path, arguments: list[str]) -> None:
    run = forked("add", *arguments, cwd=place)
    assert (run.code, run.out, len(lines(run.err))) == (2, "", 1)


def test_no_password_is_ever_shown_or_kept(place: Path) -> None:
    run = forked("add", "team", "https://user:secret@example.com/a.zip", cwd=place)
    assert run.code == 2
    assert "secret" not in run.out + run.err
    (place / "memoryfields.toml").write_text(
        '[fields.team]\nlocation = "https://user:secret@example.com/a.zip"\n', "utf-8"
    )
    for arguments in (["fields"], ["fields", "--json"], ["list", "-f", "team"], ["update", "team"]):
        run = forked(*arguments, cwd=place)
        assert "secret" not in run.out + run.err


def test_a_url_is_pinned_fetched_and_searched_without_its_server(place: Path, server: FileServer) -> None:
    run = forked("add", "team", server.url, cwd=place, env={"NO_PROXY": "*"})
    assert run.code == 0
    server.status = [500] * 100
    found = forked("search", "--mode", "keyword", "-f", "team", "--json", "wok", cwd=place)
    assert found.code == 0
    assert {hit["field"] for hit in found.json["results"]} == {"team"}
    assert len(server.seen) == 1


# names wherever a field is given


def test_a_name_does_wherever_a_field_is_given(place: Path) -> None:
    assert forked("add", "team", ARCHIVE, cwd=place).code == 0
    for arguments in (["list"], ["info"], ["validate"], ["read", "woks"], ["search", "--mode", "keyword", "wok"]):
        by_name = forked(*arguments, "-f", "team", cwd=place)
        by_path = forked(*arguments, "-f", ARCHIVE, cwd=place)
        assert by_name.code == by_path.code == 0, by_name
        assert by_name.out.replace("team", "kitchen") == by_path.out
        assert forked(*arguments, cwd=place, env={"MEMORYFIELD": "team"}).out == by_name.out
    packed = forked("pack", "-f", "team", "--json", cwd=place).json
    assert packed["path"] == "team.memoryfield.zip"


def test_a_name_is_unpacked_verified_compared_and_merged(place: Path) -> None:
    assert forked("add", "team", ARCHIVE, cwd=place).code == 0
    (place / "team").mkdir()
    write_page(place / "team", "other.md", "# A folder of the same name, which is not meant\n")
    assert forked("unpack", "team", "copy", cwd=place).code == 0
    assert forked("diff", "copy", "team", cwd=place).code == 0
    verified = forked("verify", "team", cwd=place)
    assert verified.out.startswith("ok sha256: as pinned\n")
    assert f"sha256 {sha256(place)}" in verified.out
    assert forked("merge", "team", "-f", "copy", cwd=place).code == 0
    assert forked("unpack", "team", "--into", "copy", cwd=place).code == 0
    assert forked("merge", "team", "-f", "./team", cwd=place).code == 0
    assert (place / "team" / "woks.md").is_file()
    (place / ARCHIVE).write_bytes((place / ARCHIVE).read_bytes() + b"x")
    for arguments in (["unpack", "team", "new"], ["verify", "team"], ["diff", "copy", "team"], ["merge", "team"]):
        run = forked(*arguments, *(["-f", "copy"] if arguments[0] == "merge" else []), cwd=place)
        assert (run.code, run.out) == (3, ""), arguments
        assert "`memoryfield update team --dry-run`" in run.err
    assert not (place / "new").exists()


def test_a_named_folder_is_written_and_validated_there(place: Path) -> None:
    assert forked("add", "team", "kitchen", cwd=place).code == 0
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    run = forked("write", "-f", "team", "--title", "Lids", cwd=elsewhere, stdin="Glass.")
    assert run.code == 0
    assert (place / "kitchen" / "lids.md").is_file()
    write_page(place / "kitchen", "Bad Name.md", "no frontmatter")
    assert forked("validate", "-f", "team", cwd=elsewhere).code == 1
    sarif = forked("validate", "-f", "team", "--format", "sarif", cwd=elsewhere)
    assert "kitchen" in sarif.out
    assert list(elsewhere.iterdir()) == []


def test_several_fields_by_name_and_by_path(place: Path) -> None:
    assert forked("add", "team", ARCHIVE, cwd=place).code == 0
    found = forked("search", "--mode", "keyword", "--json", "-f", "team", "-f", "kitchen", "wok", cwd=place).json
    assert {hit["field"] for hit in found["results"]} == {"team", "kitchen"}


def test_one_changed_byte_is_caught_by_every_command(place: Path) -> None:
    assert forked("add", "team", ARCHIVE, cwd=place).code == 0
    pinned = sha256(place)
    content = bytearray((place / ARCHIVE).read_bytes())
    content[10] ^= 1
    (place / ARCHIVE).write_bytes(content)
    for arguments in (
        ["list"],
        ["info"],
        ["validate"],
        ["read", "woks"],
        ["search", "wok"],
        ["similar", "woks"],
        ["pack", "-o", "copy.memoryfield.zip"],
        ["embed"],
        ["models"],
    ):
        run = forked(*arguments, "-f", "team", cwd=place)
        assert (run.code, run.out) == (3, ""), (arguments, run)
        assert pinned in run.err
        assert sha256(place) in run.err
        assert "`memoryfield update team --dry-run`" in run.err
        assert "If you expected no new version, do not open it; ask for it again." in run.err
    assert not (place / "copy.memoryfield.zip").exists()


def test_a_broken_names_file_is_wrong_usage_and_hurts_no_path(place: Path) -> None:
    (place / "memoryfields.toml").write_text("[fields.team]\nlocation = \n", "utf-8")
    for arguments in (["list", "-f", "kitchen"], ["fields"], ["add", "x", ARCHIVE], ["remove", "x"]):
        run = forked(*arguments, cwd=place)
        assert (run.code, run.out, len(lines(run.err))) == (2, "", 1)
        assert "memoryfields.toml:2:12: invalid value" in run.err
    assert forked("list", "-f", "./kitchen", cwd=place).code == 0
    assert forked("list", cwd=place / "kitchen").code == 0


def test_a_name_that_goes_before_a_folder_is_told(place: Path) -> None:
    assert forked("add", "team", ARCHIVE, cwd=place).code == 0
    make_kitchen(place / "team")
    note = f"note: 'team' is the field of this name at {place / ARCHIVE}; ./team is the folder"
    for arguments in (
        ["list", "-f", "team"],
        ["search", "--mode", "keyword", "-f", "team", "wok"],
        ["validate", "-f", "team"],
        ["diff", "team", "kitchen"],
        ["merge", "team", "-f", "kitchen"],
    ):
        run = forked(*arguments, cwd=place)
        assert run.code == (arguments[0] == "validate"), run  # it warns of a date
        assert lines(run.err).count(note) == 1, (arguments, run.err)
        assert note not in forked(*("./team" if word == "team" else word for word in arguments), cwd=place).err
    assert forked("add", "kitchen", "kitchen", cwd=place).code == 0
    assert "note" not in forked("list", "-f", "kitchen", cwd=place).err


def test_what_may_be_a_name_is_told_what_names_there_are(place: Path) -> None:
    create = "`memoryfield create PATH` makes a new field."
    assert create in forked("list", "-f", "bikez", cwd=place).err
    assert forked("add", "bikes", "kitchen", cwd=place).code == 0
    for arguments in (
        ["list", "-f", "WORD"],
        ["search", "-f", "WORD", "wok"],
        ["diff", "WORD", "kitchen"],
        ["verify", "WORD"],
        ["merge", "WORD", "-f", "kitchen"],
    ):
        close, far = (forked(*(word.replace("WORD", name) for word in arguments), cwd=place) for name in ("bikez", "x"))
        assert close.code == far.code == 2
        assert "no folder or archive at 'bikez'. Did you mean bikes?" in close.err
        assert "no folder or archive at 'x'. `memoryfield fields` lists the names." in far.err
    assert create in forked("list", "-f", "./bikez", cwd=place).err
    assert create not in forked("diff", "kitchen", "bikez.memoryfield.zip", cwd=place).err


# fields


def test_names_are_listed_with_what_is_wrong(place: Path) -> None:
    assert forked("add", "team", ARCHIVE, cwd=place).code == 0
    assert forked("add", "mine", "kitchen", cwd=place).code == 0
    run = forked("fields", cwd=place)
    assert run.code == 0
    first, second = lines(run.out)
    assert first.startswith(f"team  {place / ARCHIVE}  3 pages  sha256 {sha256(place)[:12]}  checked 20")
    assert second.startswith(f"mine  {place / 'kitchen'}  3 pages  no pin  checked 20")
    assert forked("fields", "--check", cwd=place).code == 0
    change(place)
    assert forked("fields", cwd=place).code == 0
    run = forked("fields", "--check", cwd=place)
    assert run.code == 3
    assert len(lines(run.out)) == 3
    assert "`memoryfield update team`" in lines(run.out)[1]
    assert "  fails, was well on 20" in lines(run.out)[0]
    assert "checked" not in lines(run.out)[0]
    (without,) = lines(forked("fields", "--check", cwd=place, env={"MEMORYFIELD_CACHE": ""}).out)[2:]
    assert "  checked 20" in without
    (place / ARCHIVE).unlink()
    assert forked("fields", "--check", cwd=place).code == 1
    listed = forked("fields", "--check", "--json", cwd=place)
    assert listed.code == 1
    assert [(one["name"], bool(one["problem"])) for one in listed.json["fields"]] == [("team", True), ("mine", False)]


def test_without_names_it_says_how_to_get_one(place: Path) -> None:
    run = forked("fields", cwd=place)
    assert (run.code, run.out) == (0, "")
    assert "memoryfield add NAME LOCATION" in run.err
    assert forked("fields", "--check", "--json", cwd=place).json == {"schema": 1, "fields": []}


def test_nothing_in_a_hostile_file_reaches_the_terminal(place: Path) -> None:
    text = '[fields."\\u001b[31mred"]\nlocation = "a"\n[fields.team]\nlocation = "\\u001b]0;x\\u0007\\u202e"\n'
    (place / "memoryfields.toml").write_text(f"{text}[fields.web]\nlocation = '\u202egpj.exe'\n", "utf-8")
    for arguments in (["fields"], ["fields", "--json"], ["list", "-f", "team"], ["list", "-f", "web"]):
        run = forked(*arguments, cwd=place)
        shown = run.out + run.err if "--json" not in arguments else run.err
        assert not set("\x1b\x07\u202e") & set(shown)


# update


def test_an_update_shows_what_changed_and_needs_a_yes(place: Path) -> None:
    assert forked("add", "team", ARCHIVE, "--project", cwd=place).code == 0
    pinned, file = sha256(place), place / "memoryfields.toml"
    same = forked("update", "team", cwd=place)
    assert same.code == 0
    assert "unchanged" in same.out
    change(place)
    before = file.read_bytes()
    dry = forked("update", "team", "--dry-run", cwd=place)
    assert dry.code == 0
    expected = [
        f"team: {ARCHIVE}, 3 pages",
        f"pinned sha256 {pinned}",
        f"found  sha256 {sha256(place)}",
        "added lids.md",
        "removed pans.md",
        "changed woks.md",
        "    how is not known: the old one is not here any more",
    ]
    assert lines(dry.out) == expected
    nobody = forked("update", "team", cwd=place)
    assert nobody.code == 3
    assert "--yes" in nobody.err
    both = forked("update", "team", "--dry-run", "--yes", cwd=place)
    assert both.code == 0
    assert file.read_bytes() == before
    moved = forked("update", "team", "--yes", cwd=place)
    assert moved.code == 0
    assert lines(moved.out) == [*expected, f"team: pinned is now {sha256(place)}"]
    assert forked("read", "lids", "-f", "team", cwd=place).code == 0


def test_an_update_to_another_sha256_than_promised_is_refused(place: Path) -> None:
    assert forked("add", "team", ARCHIVE, cwd=place).code == 0
    change(place)
    run = forked("update", "team", "--yes", "--sha256", "0" * 64, cwd=place)
    assert (run.code, run.out) == (3, "")
    assert sha256(place) in run.err
    assert forked("update", "team", "--sha256", sha256(place), cwd=place).code == 3  # nobody said yes
    assert forked("update", "team", "--yes", "--sha256", sha256(place), cwd=place).code == 0


def test_an_update_reports_in_json(place: Path) -> None:
    assert forked("add", "team", ARCHIVE, "--project", cwd=place).code == 0
    pinned = sha256(place)
    change(place)
    refused = forked("update", "team", "--json", cwd=place)
    assert refused.code == 3
    assert (refused.json["pinned"], refused.json["found"], refused.json["moved"]) == (pinned, sha256(place), False)
    pages = refused.json["changes"]["pages"]
    found = {kind: [page["name"] for page in pages[kind]] for kind in pages}
    assert found == {"added": ["lids.md"], "removed": ["pans.md"], "changed": ["woks.md"], "renamed": []}
    assert forked("update", "team", "--json", "--yes", cwd=place).json["moved"] is True


def test_an_update_of_a_url_is_shown_as_diff_shows_it(place: Path, server: FileServer) -> None:
    assert forked("add", "team", server.url, cwd=place).code == 0
    old = place / "old.memoryfield.zip"
    old.write_bytes(server.content)
    change(place)
    server.content = (place / ARCHIVE).read_bytes()
    shown = forked("update", "team", "--dry-run", cwd=place)
    assert shown.out.endswith(found := forked("diff", old, ARCHIVE, cwd=place).out)
    assert "title changed" in found
    patch = forked("update", "team", "--dry-run", "-p", cwd=place)
    assert patch.raw.endswith(lines_of := forked("diff", "-p", old, ARCHIVE, cwd=place).raw)
    assert b"+Carbon steel, revised." in lines_of
    report = forked("update", "team", "--dry-run", "--json", cwd=place).json["changes"]
    assert report["pages"] == forked("diff", old, ARCHIVE, "--json", cwd=place).json["pages"]
    assert forked("update", "team", "--dry-run", "-p", "--json", cwd=place).code == 2


def test_a_patch_against_what_is_not_here_any_more_is_told(place: Path) -> None:
    assert forked("add", "team", ARCHIVE, cwd=place).code == 0
    change(place)
    run = forked("update", "team", "--dry-run", "-p", cwd=place)
    assert run.code == 0
    assert "changed woks.md" in run.out
    assert "not here any more" in run.err


@TERMINAL
@pytest.mark.parametrize(("keys", "code"), [(b"y\n", 0), (b"n\n", 3), (b"\n", 3), (b"\x04", 3)])
def test_on_a_terminal_it_asks(place: Path, server: FileServer, keys: bytes, code: int) -> None:
    assert forked("add", "team", server.url, cwd=place).code == 0
    change(place)
    server.content = (place / ARCHIVE).read_bytes()
    run = on_terminal("update", "team", cwd=place, answers=[("Pin this one? [y/N]", keys)])
    assert run.code == code
    assert "changed woks.md" in unstyled(run.out)
    assert (forked("read", "lids", "-f", "team", cwd=place).code == 0) == (code == 0)


# remove


def test_a_name_is_removed_and_the_field_stays(place: Path) -> None:
    assert forked("add", "team", "kitchen", cwd=place).code == 0
    before = contents(place / "kitchen")
    run = forked("remove", "team", cwd=place)
    assert run.code == 0
    assert run.out.startswith("team: removed from ")
    assert contents(place / "kitchen") == before
    assert forked("list", "-f", "team", cwd=place).code == 2
    gone = forked("remove", "team", cwd=place)
    assert gone.code == 2
    assert "no field is named 'team'" in gone.err


def test_looking_for_a_name_loads_nothing_that_takes_long(place: Path) -> None:

    done = subprocess.run(
        [sys.executable, "-X", "importtime", *command()[1:], "list", "-f", "kitchen"],
        cwd=place,
        capture_output=True,
        env=environment(),
        text=True,
        check=True,
    )
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "memoryfield.containers.registry" in imported
    assert not imported & {"tomllib", "tomlkit", "httpx", "platformdirs", "memoryfield.containers.fetch"}
