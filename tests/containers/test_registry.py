"""Names of fields: where they are kept, what they lead to, what a names file may not say, and what a pin holds."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

import platformdirs
import pytest

from memoryfield import Field, Searcher
from memoryfield.containers import Limits, fetch, open_container, pin, registering, registry
from memoryfield.containers.archive import ArchiveContainer
from memoryfield.containers.folders import config_folder
from memoryfield.containers.pin import Pin
from memoryfield.containers.registry import FILE, Named
from memoryfield.errors import (
    FieldNotFoundError,
    HashMismatchError,
    MemoryfieldError,
    NamesFileError,
    ReadOnlyError,
    RefusedError,
)

from ..doubles.file_server import FileServer
from ..support import no_privileges

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="as POSIX has it")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project's folder, which is the current one."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own names file; it is not there yet."""
    folder = tmp_path / "config"
    folder.mkdir()
    monkeypatch.setenv("MEMORYFIELD_CONFIG", str(folder))
    return folder / FILE


def make_folder(path: Path, text: str = "# Woks\n") -> Path:
    path.mkdir(parents=True)
    (path / "woks.md").write_text(text, "utf-8")
    return path


def make_archive(path: Path, text: str = "# Woks\n", page: str = "woks.md") -> str:
    """A zip of one page; its sha256."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(page, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def say(file: Path, name: str, location: str | Path, sha256: str = "", more: str = "") -> None:
    """Write a name into a file, as a person does."""
    text = file.read_text("utf-8") if file.exists() else ""
    pin = f'sha256 = "{sha256}"\n' if sha256 else ""
    file.write_text(f"{text}[fields.{name}]\nlocation = '{location}'\n{pin}{more}", "utf-8")


def text_of(location: str) -> str:
    with Field.open(location) as field:
        return field.read("woks.md").text


# Where a name leads


def test_a_name_leads_to_a_folder_and_is_what_the_field_is_called(place: Path, tmp_path: Path) -> None:
    make_folder(tmp_path / "elsewhere" / "kitchen")
    say(place / FILE, "team", "../elsewhere/kitchen")
    with Field.open("team") as field:
        assert (field.name, [entry.name for entry in field.entries()]) == ("team", ["woks.md"])
        field.write("pans.md", "They are heavy.", title="Pans")
    assert (tmp_path / "elsewhere" / "kitchen" / "pans.md").is_file()


def test_a_name_leads_to_an_archive_with_its_sha256(place: Path) -> None:
    say(place / FILE, "team", "a.memoryfield.zip", make_archive(place / "a.memoryfield.zip"))
    with Field.open("team") as field:
        assert field.name == "team"
        assert field.read("woks.md").text == "# Woks\n"


def test_hits_of_a_named_field_are_called_as_it_is(place: Path) -> None:
    say(place / FILE, "team", "a.zip", make_archive(place / "a.zip"))
    make_folder(place / "mine")
    with Searcher.open(["team", "./mine", "team"], mode="keyword", min_score=0) as searcher:
        assert sorted(hit.field for hit in searcher.search("woks").results) == ["mine", "team"]


def test_a_name_and_a_folder_called_like_it_are_two_fields(place: Path, tmp_path: Path) -> None:
    make_folder(tmp_path / "named", "# Woks, named\n")
    make_folder(place / "notes", "# Woks, here\n")
    say(place / FILE, "notes", "../named")
    assert text_of("notes") == "# Woks, named\n"
    assert text_of("./notes") == "# Woks, here\n"
    with Field.open(Path("notes")) as field:
        assert field.read("woks.md").text == "# Woks, here\n"
    with Searcher.open(["notes", "./notes"], mode="keyword", min_score=0) as searcher:
        assert len(searcher.search("woks").results) == 2


def test_making_a_folder_makes_it_here_whatever_has_its_name(place: Path, tmp_path: Path) -> None:
    make_folder(tmp_path / "named")
    say(place / FILE, "notes", "../named")
    with Field.create("notes") as field:
        assert field.location.resolve() == place / "notes"
    assert [path.name for path in (tmp_path / "named").iterdir()] == ["woks.md"]


def test_a_word_that_is_no_name_is_a_path(place: Path) -> None:
    make_folder(place / "notes")
    assert text_of("notes") == "# Woks\n"
    say(place / FILE, "others", "nowhere")
    assert text_of("notes") == "# Woks\n"


def test_the_nearest_file_upwards_goes_before_the_users_own(
    place: Path, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("own", "above", "near"):
        make_folder(tmp_path / name, f"# Woks {name}\n")
    say(own, "team", tmp_path / "own")
    say(own, "mine", tmp_path / "own")
    say(tmp_path / FILE, "team", "above")
    say(tmp_path / FILE, "hidden", "above")
    assert text_of("team") == "# Woks above\n"
    say(place / FILE, "team", "../near")
    (place / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(place / "deep" / "er")
    assert text_of("team") == "# Woks near\n"
    assert text_of("mine") == "# Woks own\n"
    with pytest.raises(FieldNotFoundError):
        Field.open("hidden")
    assert [(named.name, named.file.parent) for named in registry.every()] == [("team", place), ("mine", own.parent)]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere platformdirs itself is asked")
@pytest.mark.parametrize("base", ["", "/tmp/x", "  "])
def test_the_users_own_file_lies_where_the_system_has_such_files(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORYFIELD_CONFIG")
    monkeypatch.setenv("XDG_CONFIG_HOME", base)
    assert config_folder() == platformdirs.user_config_path("memoryfield", appauthor=False)


def test_nothing_is_there(place: Path) -> None:
    say(place / FILE, "team", "nowhere")
    with pytest.raises(FieldNotFoundError, match=r"no folder or archive at 'nowhere', where .* says that 'team' lies"):
        Field.open("team")


@pytest.mark.parametrize("home", ["null", "closed"])
def test_a_home_that_is_none_or_somebody_elses_has_no_names(
    place: Path, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0)
    monkeypatch.setenv("MEMORYFIELD_CONFIG", os.devnull if home == "null" else str(closed / "of" / "another"))
    with no_privileges():
        assert registry.read(registry.own_file()) == {}
    closed.chmod(0o700)


def test_a_current_folder_that_is_gone_has_no_names(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = place / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert registry.nearest() is None


def test_a_url_that_has_no_name_is_told_how_to_get_one() -> None:
    with pytest.raises(FieldNotFoundError, match="memoryfield add NAME URL"):
        Field.open("https://example.com/a.zip")


# Pins


def test_a_changed_archive_is_refused_with_both_sums_and_what_to_do(place: Path) -> None:
    pinned = make_archive(place / "a.zip")
    say(place / FILE, "team", "a.zip", pinned)
    found = make_archive(place / "a.zip", "# Woks, forged\n")
    with pytest.raises(HashMismatchError) as caught:
        Field.open("team")
    assert (caught.value.expected, caught.value.found, caught.value.exit_code) == (pinned, found, 3)
    for part in (pinned, found, "`memoryfield update team --dry-run`", "`memoryfield update team`"):
        assert part in str(caught.value)


def test_one_byte_is_enough(place: Path) -> None:
    say(place / FILE, "team", "a.zip", make_archive(place / "a.zip"))
    content = bytearray((place / "a.zip").read_bytes())
    content[12] ^= 1  # the date in a local header, which nothing reads
    (place / "a.zip").write_bytes(content)
    assert text_of("./a.zip") == "# Woks\n"
    with pytest.raises(HashMismatchError):
        Field.open("team")


def test_nothing_of_another_archive_is_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_archive(place / "a.zip")
    say(place / FILE, "team", "a.zip", "0" * 64)
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_, **__: pytest.fail("parsed"))
    with pytest.raises(HashMismatchError):
        Field.open("team")


def test_the_sum_in_capitals_is_the_same(place: Path) -> None:
    say(place / FILE, "team", "a.zip", make_archive(place / "a.zip").upper())
    assert text_of("team") == "# Woks\n"


def test_an_archive_without_a_pin_is_not_used(place: Path) -> None:
    make_archive(place / "a.zip")
    say(place / FILE, "team", "a.zip")
    say(place / FILE, "web", "https://example.com/a.zip")
    for name in ("team", "web"):
        with pytest.raises(RefusedError, match=rf"without a sha256 .*`memoryfield update {name}`"):
            Field.open(name)


def test_a_folder_in_the_place_of_a_pinned_archive_is_refused(place: Path) -> None:
    say(place / FILE, "team", "a.zip", make_archive(place / "a.zip"))
    (place / "a.zip").unlink()
    make_folder(place / "a.zip")
    with pytest.raises(RefusedError, match="is a folder now"):
        Field.open("team")


def test_an_archive_in_the_place_of_a_folder_is_refused(place: Path) -> None:
    say(place / FILE, "team", "notes")
    make_archive(place / "notes")
    with pytest.raises(RefusedError, match="without a sha256"):
        Field.open("team")


def test_an_archive_that_is_written_over_while_it_is_read_is_noticed(place: Path) -> None:
    say(place / FILE, "team", "a.zip", make_archive(place / "a.zip", "# Woks\n" * 5000))
    length = (place / "a.zip").stat().st_size
    with Field.open("team") as field:
        assert field.read("woks.md").text
        times = (place / "a.zip").stat()
        forged = (place / "a.zip").read_bytes().replace(b"# Woks\n# Woks\n", b"# Pots\n# Woks\n")
        with (place / "a.zip").open("r+b") as file:
            file.write(forged)
        os.utime(place / "a.zip", ns=(times.st_atime_ns, times.st_mtime_ns))
        assert (place / "a.zip").stat().st_size == length
        with pytest.raises(HashMismatchError):
            field.read("woks.md")


def test_an_archive_that_was_only_touched_or_replaced_goes_on_being_read(place: Path) -> None:
    say(place / FILE, "team", "a.zip", make_archive(place / "a.zip"))
    with Field.open("team") as field:
        os.utime(place / "a.zip")
        assert field.read("woks.md").text == "# Woks\n"
        make_archive(place / "b.zip", "# Woks, forged\n")
        (place / "b.zip").replace(place / "a.zip")
        assert field.read("woks.md").text == "# Woks\n"


def test_a_search_that_goes_on_refuses_what_has_taken_the_archives_place(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memoryfield.search import searcher as searching

    monkeypatch.setattr(searching, "REFRESH_SECONDS", 0)
    say(place / FILE, "team", "a.zip", make_archive(place / "a.zip"))
    make_folder(place / "mine")
    with Searcher.open(["team", "./mine"], mode="keyword", min_score=0) as searcher:
        assert len(searcher.search("woks").results) == 2
        make_archive(place / "b.zip", "# Woks, forged\n")
        (place / "b.zip").replace(place / "a.zip")
        result = searcher.search("woks")
    assert [hit.field for hit in result.results] == ["mine"]
    assert any("team was not searched" in note and "pinned" in note for note in result.notes)


def test_bytes_that_stand_in_a_pinned_archive_for_a_moment_are_not_read(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody writes other bytes, and puts back what was there before the sha256 is compared again."""
    path = place / "a.zip"
    pinned = make_archive(path)
    sound = path.read_bytes()
    archive = Pin("team", pinned).open(path)
    path.write_bytes(bytes(len(sound)))
    look = pin._Unchanging._stamp_now

    def put_back(file: pin._Unchanging) -> tuple[int, ...]:
        monkeypatch.undo()
        path.write_bytes(sound)
        return look(file)

    monkeypatch.setattr(pin._Unchanging, "_stamp_now", put_back)
    assert archive.read() == sound
    archive.close()


def test_a_pinned_archive_is_read_once_a_later_change_will_show_in_its_time(place: Path) -> None:
    pinned = make_archive(place / "a.zip")
    Pin("team", pinned).open(place / "a.zip").close()
    assert time.time_ns() - (place / "a.zip").stat().st_ctime_ns >= pin._TICK * 1e9


def test_the_cache_of_searches_knows_a_pinned_archive_without_hashing_it_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = make_archive(place / "a.zip")
    archive = ArchiveContainer(place / "a.zip", pin=Pin("team", pinned))
    monkeypatch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("hashed again"))
    assert archive.sha256() == pinned
    archive.close()


def test_limits_that_were_raised_for_a_name_apply_to_it(place: Path) -> None:
    say(place / FILE, "team", "a.zip", make_archive(place / "a.zip"), more='allow = ["total=4G", "ratio=300"]\n')
    container = open_container("team")
    assert isinstance(container, ArchiveContainer)
    assert container.limits == Limits(total=4 << 30, ratio=300)
    container.close()
    container = open_container("team", Limits(total=5 << 30))
    assert isinstance(container, ArchiveContainer)
    assert container.limits == Limits(total=5 << 30, ratio=300)
    container.close()


# Archives from the web


def test_a_url_is_fetched_once_and_then_read_from_the_cache(place: Path) -> None:
    pinned = make_archive(place / "a.zip")
    with FileServer((place / "a.zip").read_bytes()) as server:
        say(place / FILE, "team", server.url, pinned)
        assert text_of("team") == "# Woks\n"
        assert text_of("team") == "# Woks\n"
        assert len(server.seen) == 1
    assert text_of("team") == "# Woks\n"  # without a server
    fetch.kept(pinned).write_bytes(b"PK damaged")
    with pytest.raises(MemoryfieldError, match="no server answers"):
        text_of("team")


def test_a_copy_in_the_cache_that_somebody_changed_is_fetched_again(place: Path) -> None:
    pinned = make_archive(place / "a.zip")
    with FileServer((place / "a.zip").read_bytes()) as server:
        say(place / FILE, "team", server.url, pinned)
        text_of("team")
        make_archive(fetch.kept(pinned), "# Woks, forged\n")
        assert text_of("team") == "# Woks\n"


def test_another_file_at_the_url_is_refused_and_the_copy_serves_on(place: Path) -> None:
    pinned = make_archive(place / "a.zip")
    with FileServer((place / "a.zip").read_bytes()) as server:
        say(place / FILE, "team", server.url, pinned)
        text_of("team")
        found = make_archive(place / "a.zip", "# Woks, forged\n")
        server.content = (place / "a.zip").read_bytes()
        assert text_of("team") == "# Woks\n"
        fetch.forget(pinned)
        with pytest.raises(HashMismatchError, match=r"`memoryfield update team`") as caught:
            text_of("team")
        assert caught.value.found == found
        assert list(fetch.kept(pinned).parent.iterdir()) == []


# What a names file may say


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("", "is empty"),
        ("//host/share", "is a network path"),
        ("\\\\\\\\host\\\\share", "is a network path"),
        ("/\\\\host\\\\share", "is a network path"),
        ("file:///etc/passwd", "begins with 'file:'"),
        ("ftp://example.com/a.zip", "begins with 'ftp:'"),
        ("javascript:alert(1)", "begins with 'javascript:'"),
        ("a\\u001b[31mb", "contains a control character"),
        ("a\\u0000b", "contains a control character"),
        ("a\\u009bb", "contains a control character"),
        ("https://user:secret@example.com/a.zip", "contains a user name or password"),
        ("HTTPS://user@example.com/a.zip", "contains a user name or password"),
    ],
)
def test_locations_of_a_hostile_file_are_refused(place: Path, location: str, told: str) -> None:
    (place / FILE).write_text(f'[fields.team]\nlocation = "{location}"\n', "utf-8")
    with pytest.raises(NamesFileError) as caught:
        Field.open("team")
    assert f"fields.team.location {told}" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert all("secret" not in named.shown for named in registry.every())


@pytest.mark.parametrize("location", ["C:/notes", "c:notes", "./a.b:c", "notes/2024:a", "https://example.com/a?b=c@d"])
def test_other_locations_are_none_of_these(location: str) -> None:
    assert registry.location_fault(location) == ""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[fields.team]\nlocation = 5\n", "fields.team.location must be text"),
        ("[fields.team]\nlocation = ['a']\n", "fields.team.location must be text"),
        ("[fields.team]\n", "fields.team.location is missing"),
        ("[fields]\nteam = 'notes'\n", "fields.team must be a table"),
        ("[fields.team]\nlocation = 'a'\nsha256 = 5\n", "fields.team.sha256 must be text"),
        ("[fields.team]\nlocation = 'a'\nsha256 = 'abc'\n", "fields.team.sha256 must be 64 hexadecimal digits"),
        ("[fields.team]\nlocation = 'a'\nallow = 'total=4G'\n", "fields.team.allow must be a list of texts"),
        ("[fields.team]\nlocation = 'a'\nallow = [4]\n", "fields.team.allow must be a list of texts"),
        ("[fields.team]\nlocation = 'a'\nallow = ['x=4']\n", "fields.team.allow: 'x=4' is no limit"),
        ("fields = 5\n", "fields must be a table"),
        ("fields = [1]\n", "fields must be a table"),
    ],
)
def test_wrong_types_are_named(place: Path, text: str, told: str) -> None:
    (place / FILE).write_text(text, "utf-8")
    with pytest.raises(NamesFileError) as caught:
        Field.open("team")
    assert told in str(caught.value)
    assert caught.value.exit_code == 2
    assert str(place / FILE) in str(caught.value)


def test_one_bad_name_spoils_only_itself(place: Path) -> None:
    make_folder(place / "notes")
    text = "[fields.team]\nlocation = 5\n[fields.'../x']\nlocation = 'a'\n[fields.Good]\nlocation = 'a'\n"
    (place / FILE).write_text(f"unknown = 1\n{text}[fields.fine]\nlocation = 'notes'\ncolour = 'red'\n", "utf-8")
    assert text_of("fine") == "# Woks\n"
    problems = {named.name: named.problem for named in registry.every()}
    assert problems["fine"] == ""
    assert "cannot be a field's name" in problems["../x"]
    assert "cannot be a field's name" in problems["Good"]


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"[fields.team]\nlocation = 'a'\nsha256 = \n", r":3:10: invalid value"),
        (b"[fields.team\n", r":1:13: "),
        (b"a = 1\na = 2\n", r":\d+:\d+: cannot overwrite"),
        (b"a = 1\nb = '\xff'\n", r":2:6: not UTF-8"),
        (b"a = '", r":1:\d+: "),
        (b"<<<<<<< HEAD\n", r":1:1: "),
        (b"a = " + b"[" * 100_000, r":1:1: nested too deeply"),
        (b"# " + b"x" * 300_000, r"larger than"),
    ],
    ids=["value", "header", "twice", "bytes", "end", "conflict", "deep", "large"],
)
def test_a_broken_file_is_told_with_line_and_column(place: Path, content: bytes, where: str) -> None:
    (place / FILE).write_bytes(content)
    make_folder(place / "team")
    with pytest.raises(NamesFileError) as caught:
        Field.open("team")
    assert re.search(re.escape(str(place / FILE)) + ".*" + where, str(caught.value), re.DOTALL), str(caught.value)
    assert text_of("./team") == "# Woks\n"


def test_a_byte_order_mark_is_no_fault(place: Path) -> None:
    make_folder(place / "notes")
    (place / FILE).write_bytes(b"\xef\xbb\xbf[fields.team]\r\nlocation = 'notes'\r\n")
    assert text_of("team") == "# Woks\n"


@POSIX
def test_what_is_no_file_is_told_and_not_waited_for(place: Path) -> None:
    os.mkfifo(place / FILE)
    with pytest.raises(NamesFileError, match="is no file"):
        Field.open("team")
    (place / FILE).unlink()
    (place / FILE).mkdir()
    with pytest.raises(NamesFileError, match=r"is no file|Is a directory|Permission"):
        Field.open("team")
    (place / FILE).rmdir()
    (place / FILE).symlink_to("nowhere")
    with pytest.raises(NamesFileError, match="leads nowhere"):
        Field.open("team")


@POSIX
def test_a_file_without_permission_is_told() -> None:
    with tempfile.TemporaryDirectory() as folder:  # others cannot look into pytest's
        Path(folder).chmod(0o755)
        file = Path(folder) / FILE
        say(file, "team", "notes")
        file.chmod(0)
        with no_privileges(), pytest.raises(NamesFileError, match="cannot be read: Permission denied"):
            registry.read(file)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="files are given away")
def test_a_file_that_another_user_put_there_is_not_read(place: Path) -> None:
    make_folder(place / "notes")
    say(place / FILE, "team", "notes")
    os.chown(place / FILE, 65534, -1)
    with pytest.raises(RefusedError, match="put there by another user"):
        Field.open("team")
    os.chown(place, 65534, -1)  # the whole project is another's
    assert text_of("team") == "# Woks\n"


# Writing


WRITTEN = """# Our fields
title = "ours"  # kept

[fields.zoo]   # first, though last by name
location = "zoo"   # a folder
colour = "red"

[other]
x = [1,
  2]

[fields."a-b"]
location = 'b'
"""


def new(file: Path, name: str = "team", location: str = "notes", sha256: str = "") -> Named:
    return Named(name, file, location, sha256)


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "BOM"])
def test_all_else_in_the_file_stays_as_it_is(place: Path, ends: str, mark: str) -> None:
    file = place / FILE
    before = (mark + WRITTEN.replace("\n", ends)).encode()
    file.write_bytes(before)
    named = new(file, sha256="1" * 64)
    registering.put(named)
    after = file.read_bytes()
    assert registry.read(file)["team"] == named
    lines = after.decode().split(ends)
    assert [line for line in before.decode().split(ends) if line not in lines] == []
    assert after.replace(b"\r\n", b"").count(b"\n") == (0 if ends == "\r\n" else after.count(b"\n"))
    registering.put(named._replace(sha256="2" * 64), before=named)
    assert file.read_bytes() == after.replace(b"1" * 64, b"2" * 64)
    registering.drop(named._replace(sha256="2" * 64))
    kept = [line for line in file.read_text("utf-8-sig").splitlines() if line]
    assert kept == [line for line in WRITTEN.splitlines() if line]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[fields]\n",
        "fields.a.location = 'x'\n",
        "fields = { a = { location = 'x' } }\n",
        "[fields]\na = { location = 'x' }\n",
        "[fields]\na.location = 'x'\n",
        "[fields.a]\nlocation = 'x'\n\n[z]\n[fields.b]\nlocation = 'y'\n",
        "[z]\ny = 1",
        "[[list]]\nx = 1\n",
    ],
)
def test_a_name_goes_in_and_out_however_the_file_is_written(place: Path, text: str) -> None:
    file = place / FILE
    file.write_text(text, "utf-8")
    before = registry.read(file)
    registering.put(new(file))
    assert registry.read(file) == {**before, "team": new(file)}
    registering.drop(new(file))
    assert registry.read(file) == before


def test_what_cannot_be_changed_is_said_and_left_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import tomlkit

    file = place / FILE
    file.write_text(WRITTEN, "utf-8")
    monkeypatch.setattr(tomlkit.TOMLDocument, "as_string", lambda self: "title = 'lost'\n")
    with pytest.raises(NamesFileError, match="cannot be changed by program"):
        registering.put(new(file))
    assert file.read_text("utf-8") == WRITTEN


def test_a_name_that_another_process_wrote_meanwhile_is_not_overwritten(place: Path) -> None:
    file = place / FILE
    registering.put(new(file, location="theirs"))
    with pytest.raises(RefusedError, match="was changed meanwhile"):
        registering.put(new(file))
    with pytest.raises(RefusedError, match="was changed meanwhile"):
        registering.put(new(file, sha256="1" * 64), before=new(file, location="mine"))
    assert registry.read(file)["team"].location == "theirs"


def test_many_writers_lose_nothing(place: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from memoryfield.containers import registering\n"
        "from memoryfield.containers.registry import Named\n"
        "for n in range(10): registering.put(Named(f'{sys.argv[1]}-{n}', Path(sys.argv[2]), 'x'))"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, f"w{i}", place / FILE]) for i in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    assert len(registry.read(place / FILE)) == 40
    assert [path.name for path in place.iterdir() if path.suffix == ".tmp"] == []


def test_readers_never_see_half_a_file(place: Path) -> None:
    file = place / FILE
    registering.put(new(file, "first"))
    stop = threading.Event()
    failures: list[Exception] = []

    def look() -> None:
        while not stop.is_set():
            try:
                assert "first" in registry.read(file)
            except Exception as error:
                failures.append(error)

    reader = threading.Thread(target=look)
    reader.start()
    for number in range(20):
        registering.put(new(file, f"n{number}"))
    stop.set()
    reader.join()
    assert failures == []


@POSIX
def test_a_file_that_is_read_only_is_not_written(place: Path) -> None:
    file = place / FILE
    registering.put(new(file))
    file.chmod(0o444)
    place.chmod(0o777)
    before = file.read_bytes()
    with no_privileges(), pytest.raises(ReadOnlyError, match=r"memoryfields.toml' cannot be written: Permission"):
        registering.put(new(Path(FILE), "other"))
    assert file.read_bytes() == before


@POSIX
def test_a_folder_that_cannot_be_written_is_told(place: Path) -> None:
    place.chmod(0o555)
    with no_privileges(), pytest.raises(ReadOnlyError, match="cannot write in"):
        registering.put(new(Path(FILE)))


@POSIX
def test_a_folder_that_cannot_be_made_is_told(place: Path) -> None:
    place.chmod(0o555)
    with no_privileges(), pytest.raises(ReadOnlyError, match=r"memoryfields.toml' cannot be written: Permission"):
        registering.put(new(Path("config", FILE)))


@POSIX
def test_the_users_own_file_may_be_a_link_and_stays_one(own: Path, tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "fields.toml").write_text("# mine\n", "utf-8")
    own.symlink_to(tmp_path / "dotfiles" / "fields.toml")
    registering.put(new(own))
    assert own.is_symlink()
    assert "[fields.team]" in (tmp_path / "dotfiles" / "fields.toml").read_text("utf-8")


@POSIX
def test_a_projects_file_that_is_a_link_out_of_it_is_not_written_through(place: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.toml").write_text("a = 1\n", "utf-8")
    (place / FILE).symlink_to(tmp_path / "secret.toml")
    with pytest.raises(RefusedError, match="a link that leads out of its folder"):
        registering.put(new(place / FILE))
    assert (tmp_path / "secret.toml").read_text("utf-8") == "a = 1\n"
