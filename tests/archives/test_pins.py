"""Names and pins through the library: what adding, listing, updating and removing does, and what it leaves undone."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.archives import pins
from memoryfield.archives.diff import Diff
from memoryfield.archives.pins import Update
from memoryfield.containers import fetch, registry
from memoryfield.containers.registry import FILE
from memoryfield.errors import (
    ArchiveError,
    FetchError,
    FieldNotFoundError,
    HashMismatchError,
    MemoryfieldError,
    RefusedError,
    UsageError,
)

from ..doubles.file_server import FileServer

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="as POSIX has it")
FIRST = {"woks.md": "# Woks\n", "pans.md": "# Pans\n", "pots.md": "# Pots\n"}
SECOND = {"woks.md": "# Woks, revised\n", "pans.md": "# Pans\n", "lids.md": "# Lids\n"}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without a names file upwards."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def server(place: Path) -> Iterator[FileServer]:
    """A server of the first archive."""
    make_archive(place / "a.zip", FIRST)
    with FileServer((place / "a.zip").read_bytes()) as running:
        yield running


def make_archive(path: Path, pages: dict[str, str]) -> str:
    """A zip of pages; its sha256."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in pages.items():
            archive.writestr(zipfile.ZipInfo(name), text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetched() -> list[str]:
    """What the cache holds of archives."""
    folder = fetch.kept("x").parent
    return sorted(path.name.partition(".")[0] or path.name for path in folder.iterdir())


def shown(diff: Diff | None) -> list[str]:
    """What differs, in short."""
    assert diff
    return [f"{one.kind} {one.name}" for one in diff.changes]


def yes(_: Update) -> bool:
    return True


def no(_: Update) -> bool:
    return False


# add


def test_an_archive_is_pinned_as_it_is_now(place: Path) -> None:
    sha256 = make_archive(place / "a.zip", FIRST)
    pinned = pins.add("team", "a.zip")
    with Field.open("./a.zip") as field:
        assert (pinned.pages, pinned.named.sha256, pinned.content_hash) == (3, sha256, field.content_hash())
    assert pinned.named.file == registry.own_file()
    with Field.open("team") as field:
        assert field.name == "team"


def test_a_folder_is_only_named(place: Path) -> None:
    (place / "notes").mkdir()
    (place / "notes" / "woks.md").write_text("# Woks\n", "utf-8")
    pinned = pins.add("team", "notes")
    assert (pinned.pages, pinned.named.sha256) == (1, "")
    assert "sha256" not in registry.own_file().read_text("utf-8")
    with pytest.raises(UsageError, match="only an archive has a sha256"):
        pins.add("other", "notes", sha256="0" * 64)


def test_in_a_project_a_relative_location_stays_relative_to_its_file(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_archive(tmp_path / "a.zip", FIRST)
    (place / FILE).touch()
    (place / "deep").mkdir()
    monkeypatch.chdir(place / "deep")
    assert pins.add("team", "../../a.zip").named.location == "../a.zip"
    assert pins.add("whole", str(tmp_path / "a.zip")).named.location == str(tmp_path / "a.zip")
    shutil.move(place, tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved" / "deep")
    with Field.open("team") as field:
        assert len(field.entries()) == 3


def test_in_the_users_own_file_a_location_is_absolute(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    assert pins.add("team", "a.zip").named.location == str(place / "a.zip")


def test_a_project_gets_a_file_where_one_is_asked_for(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    assert pins.add("team", "a.zip", project=True).named.file == place / FILE
    assert 'location = "a.zip"' in (place / FILE).read_text("utf-8")
    assert not registry.own_file().exists()


def test_the_sha256_that_was_promised_must_be_there(place: Path) -> None:
    sha256 = make_archive(place / "a.zip", FIRST)
    with pytest.raises(HashMismatchError) as caught:
        pins.add("team", "a.zip", sha256="0" * 64)
    assert (caught.value.expected, caught.value.found) == ("0" * 64, sha256)
    assert not registry.own_file().exists()
    assert pins.add("team", "a.zip", sha256=sha256.upper()).named.sha256 == sha256


@pytest.mark.parametrize(
    "name", ["", "Team", "../team", "a/b", "a.b", "-a", "a-", "a b", "x" * 101, "ä", ".", "team\n"]
)
def test_what_looks_like_a_path_is_no_name(place: Path, name: str) -> None:
    make_archive(place / "a.zip", FIRST)
    with pytest.raises(UsageError, match="cannot be a field's name"):
        pins.add(name, "a.zip")


@pytest.mark.parametrize(
    "location", ["", "//host/share", "file:///etc", "ftp://example.com/a.zip", "https://u:p@example.com/a", "a\x00b"]
)
def test_locations_that_a_file_may_not_say_cannot_be_added(location: str) -> None:
    with pytest.raises(UsageError, match="the location"):
        pins.add("team", location)
    assert not registry.own_file().exists()


def test_nothing_there_and_no_zip_are_told(place: Path) -> None:
    with pytest.raises(FieldNotFoundError):
        pins.add("team", "nowhere")
    (place / "a.zip").write_bytes(b"no zip")
    with pytest.raises(MemoryfieldError, match="not a readable zip"):
        pins.add("team", "a.zip")
    assert not registry.own_file().exists()


@pytest.mark.parametrize("sha256", ["abc", "g" * 64, "0" * 63])
def test_what_is_no_sha256_is_told(place: Path, sha256: str) -> None:
    make_archive(place / "a.zip", FIRST)
    with pytest.raises(UsageError, match="is no sha256"):
        pins.add("team", "a.zip", sha256=sha256)


def test_a_name_that_is_taken_stays(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    make_archive(place / "b.zip", SECOND)
    pins.add("team", "a.zip")
    before = registry.own_file().read_bytes()
    with pytest.raises(RefusedError, match=r"`memoryfield update team`.*`memoryfield remove team`"):
        pins.add("team", "b.zip")
    assert registry.own_file().read_bytes() == before


def test_limits_that_are_raised_are_kept(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    pins.add("team", "a.zip", allow=["total=4G"])
    assert registry.read(registry.own_file())["team"].allow == ("total=4G",)
    with pytest.raises(UsageError, match="is no limit"):
        pins.add("other", "a.zip", allow=["total=lots"])


def test_a_url_is_fetched_and_pinned(server: FileServer) -> None:
    pinned = pins.add("team", server.url)
    assert fetched() == [pinned.named.sha256]
    with Field.open("team") as field:
        assert field.read("woks.md").text == "# Woks\n"
    assert len(server.seen) == 1


@pytest.mark.parametrize("fault", ["sha256", "zip", "size", "status"])
def test_a_url_that_is_not_accepted_leaves_nothing(server: FileServer, fault: str) -> None:
    sha256 = "0" * 64 if fault == "sha256" else ""
    if fault == "zip":
        server.content = b"PK no zip"
    if fault == "status":
        server.status = [404]
    with pytest.raises(MemoryfieldError):
        pins.add("team", server.url, sha256=sha256, allow=["total=10"] if fault == "size" else [])
    assert fetched() == []
    assert not registry.own_file().exists()


def test_what_is_not_accepted_does_not_take_away_what_another_name_has(server: FileServer, place: Path) -> None:
    pinned = pins.add("team", server.url)
    (place / FILE).write_text("[fields]\nother = 5\n", "utf-8")
    with pytest.raises(MemoryfieldError):
        pins.add("other", server.url)
    assert fetched() == [pinned.named.sha256]


# list


def test_each_name_is_listed_and_a_broken_one_stops_nothing(server: FileServer, place: Path) -> None:
    make_archive(place / "b.zip", FIRST)
    pins.add("web", server.url)
    pins.add("team", "b.zip")
    pins.add("gone", "b.zip")
    file = registry.own_file()
    file.write_text(file.read_text("utf-8") + "[fields.bad]\nlocation = 5\n", "utf-8")
    make_archive(place / "c.zip", SECOND)
    (place / "c.zip").replace(place / "b.zip")
    found = {one.named.name: one for one in pins.listed()}
    assert list(found) == ["web", "team", "gone", "bad"]
    assert (found["web"].pages, found["web"].exit_code, found["web"].problem) == (3, 0, "")
    assert found["team"].exit_code == 3
    assert "update team" in found["team"].problem
    assert found["bad"].exit_code == 2
    assert "must be text" in found["bad"].problem


def test_what_was_not_fetched_is_fetched_only_to_be_checked(server: FileServer) -> None:
    sha256 = pins.add("web", server.url).named.sha256
    fetch.forget(sha256)
    (one,) = pins.listed()
    assert (one.pages, one.error, len(server.seen)) == (None, None, 1)
    (one,) = pins.listed(check=True)
    assert (one.pages, one.error, len(server.seen)) == (3, None, 2)


def test_a_check_reads_every_page(place: Path) -> None:
    sha256 = make_archive(place / "a.zip", FIRST)
    content = (place / "a.zip").read_bytes().replace(b"# Woks\n", b"# Pots\n")
    (place / "a.zip").write_bytes(content)
    (place / FILE).write_text(
        f'[fields.team]\nlocation = "a.zip"\nsha256 = "{hashlib.sha256(content).hexdigest()}"\n', "utf-8"
    )
    assert sha256 not in (place / FILE).read_text("utf-8")
    (one,) = pins.listed()
    assert one.exit_code == 0
    (one,) = pins.listed(check=True)
    assert one.exit_code == 1
    assert "the archive of 'team' at 'a.zip' is damaged: woks.md cannot be read (" in one.problem


@pytest.mark.parametrize("kind", ["file", "url"])
def test_a_damaged_archive_is_called_that(server: FileServer, place: Path, kind: str) -> None:
    location = server.url if kind == "url" else "a.zip"
    whole = (place / "a.zip").read_bytes()
    pins.add("team", location)
    server.content = whole.replace(b"# Woks\n", b"# Pots\n", 1)
    (place / "a.zip").write_bytes(server.content)
    for call in (lambda: pins.update("team", yes), lambda: pins.add("other", location)):
        with pytest.raises(ArchiveError, match=r"is damaged: woks\.md.*ask for it again") as caught:
            call()
        assert location.rpartition("/")[2] in str(caught.value)


def test_when_it_was_last_checked_is_kept_outside_of_the_file(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    (place / FILE).touch()
    pins.add("team", "a.zip")
    text = (place / FILE).read_text("utf-8")
    for path in fetch.kept("x").parent.parent.glob("pins/*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    assert [one.checked for one in pins.listed()] == [1_000_000_000]
    assert pins.listed()[0].to_dict()["checked"] == "2001-09-09T01:46:40Z"
    (one,) = pins.listed(check=True)
    assert one.checked
    assert one.checked > 1_000_000_000
    assert (place / FILE).read_text("utf-8") == text


def test_without_a_cache_names_of_files_work_and_urls_say_what_they_need(
    server: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORYFIELD_CACHE", "")
    pins.add("team", "a.zip")
    (one,) = pins.listed(check=True)
    assert (one.pages, bool(one.checked), one.error) == (3, True, None)
    assert pins.listed()[0].checked is None
    with pytest.raises(FetchError, match="needs a cache"):
        pins.add("web", server.url)


@POSIX
def test_what_is_noted_is_the_users_alone(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    before = os.umask(0)
    try:
        pins.add("team", "a.zip")
    finally:
        os.umask(before)
    folder = fetch.kept("x").parent.parent / "pins"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600]


# update


@pytest.mark.parametrize("kind", ["file", "url"])
def test_an_update_tells_what_changed_and_moves_the_pin_if_it_is_accepted(
    server: FileServer, place: Path, kind: str
) -> None:
    old = pins.add("team", server.url if kind == "url" else "a.zip").named.sha256
    new = make_archive(place / "a.zip", SECOND)
    server.content = (place / "a.zip").read_bytes()
    file = registry.own_file()
    before = file.read_bytes()

    refused = pins.update("team", no)
    assert shown(refused.diff) == ["added lids.md", "removed pots.md", "changed woks.md"]
    assert refused.is_at_hand == (kind == "url")
    assert (refused.named.sha256, refused.sha256, refused.is_moved) == (old, new, False)
    assert file.read_bytes() == before
    assert fetched() == ([old] if kind == "url" else [])

    accepted = pins.update("team", yes)
    assert shown(accepted.diff) == shown(refused.diff)
    assert accepted.is_moved
    assert file.read_bytes() == before.replace(old.encode(), new.encode())
    assert fetched() == (sorted([old, new]) if kind == "url" else [])
    with Field.open("team") as field:
        assert field.read("woks.md").text == "# Woks, revised\n"

    again = pins.update("team", lambda _: pytest.fail("asked about nothing"))
    assert not again.is_changed


@pytest.mark.parametrize("kind", ["file", "url"])
def test_an_update_that_was_promised_must_be_that(server: FileServer, place: Path, kind: str) -> None:
    old = pins.add("team", server.url if kind == "url" else "a.zip").named.sha256
    new = make_archive(place / "a.zip", SECOND)
    server.content = (place / "a.zip").read_bytes()
    before = registry.own_file().read_bytes()
    with pytest.raises(HashMismatchError, match="not the one that was promised") as caught:
        pins.update("team", lambda _: pytest.fail("asked"), sha256="0" * 64)
    assert caught.value.found == new
    assert fetched() == ([old] if kind == "url" else [])
    with pytest.raises(UsageError, match="is no sha256"):
        pins.update("team", yes, sha256="abc")
    assert not pins.update("team", no, sha256=new).is_moved
    assert registry.own_file().read_bytes() == before
    assert pins.update("team", yes, sha256=new.upper()).is_moved


PAGE = "---\ntitle: {}\nuuid: 1f0b5a52-6d0e-4b6c-9d4c-0f5d3a7f9a10\n---\n\n{}\n"


@pytest.mark.parametrize("kind", ["file", "url"])
def test_a_page_that_was_renamed_is_shown_as_one(server: FileServer, place: Path, kind: str) -> None:
    old = {"woks.md": PAGE.format("Woks", "Steel."), "pots.md": "# Pots\n"}
    new = {"steel-woks.md": PAGE.format("Steel woks", "Steel."), "kettles.md": "# Pots\n"}
    make_archive(place / "a.zip", old)
    server.content = (place / "a.zip").read_bytes()
    pins.add("team", server.url if kind == "url" else "a.zip")
    make_archive(place / "a.zip", new)
    server.content = (place / "a.zip").read_bytes()
    lines: list[str] = []

    def look(update: Update) -> bool:
        if update.diff and update.is_at_hand:
            lines.extend(update.diff.patch())
        return False

    seen = pins.update("team", look)
    assert seen.diff
    found = {change.name: (change.kind, change.old_name, change.by) for change in seen.diff.changes}
    assert found["kettles.md"] == ("renamed", "pots.md", "content")
    if kind == "url":
        assert found["steel-woks.md"] == ("renamed", "woks.md", "uuid")
        assert "+title: Steel woks\n" in lines
    else:
        assert found["steel-woks.md"][0] == "added"
        assert found["woks.md"][0] == "removed"
        assert lines == []


def test_a_new_version_that_is_too_large_is_taken_where_limits_are_raised(server: FileServer) -> None:
    pins.add("team", server.url, allow=["total=1K", "ratio=300"])
    make_archive(Path("a.zip"), {"woks.md": "# Woks\n" * 1000})
    server.content = Path("a.zip").read_bytes()
    with pytest.raises(RefusedError, match="--allow total="):
        pins.update("team", yes)
    assert pins.update("team", yes, allow=["total=1M"]).is_moved
    assert registry.read(registry.own_file())["team"].allow == ("total=1M", "ratio=300")
    with Field.open("team") as field:
        assert len(field.entries()) == 1


def test_pages_that_are_packed_in_another_way_are_no_change_of_pages(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    pins.add("team", "a.zip")
    make_archive(place / "a.zip", dict(reversed(FIRST.items())))
    update = pins.update("team", no)
    assert update.is_changed
    assert update.diff
    assert update.diff.is_same


def test_where_nothing_is_known_of_what_was_pinned_it_says_so(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_archive(place / "a.zip", FIRST)
    pins.add("team", "a.zip")
    make_archive(place / "a.zip", SECOND)
    (note,) = (fetch.kept("x").parent.parent / "pins").iterdir()
    for content in ("[]", "{", '{"woks.md": 5}', '{"woks.md": "xx"}'):
        note.write_text(content, "utf-8")
        assert pins.update("team", no).diff is None
    monkeypatch.setenv("MEMORYFIELD_CACHE", "")
    assert pins.update("team", no).diff is None


def test_an_archive_that_was_named_by_hand_is_pinned(place: Path) -> None:
    sha256 = make_archive(place / "a.zip", FIRST)
    (place / FILE).write_text('# ours\n[fields.team]\nlocation = "a.zip"  # the newest\n', "utf-8")
    assert pins.update("team", yes).is_moved
    expected = f'# ours\n[fields.team]\nlocation = "a.zip"  # the newest\nsha256 = "{sha256}"\n'
    assert (place / FILE).read_text("utf-8") == expected


def test_what_is_no_archive_has_no_pin_to_move(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    pins.add("team", "a.zip")
    (place / "a.zip").unlink()
    with pytest.raises(FieldNotFoundError):
        pins.update("team", yes)
    (place / "a.zip").mkdir()
    with pytest.raises(RefusedError, match="is a folder now"):
        pins.update("team", yes)
    pins.add("folder", "a.zip")
    with pytest.raises(UsageError, match="has no pin"):
        pins.update("folder", yes)


@pytest.mark.parametrize("kind", ["file", "url"])
def test_an_update_that_cannot_be_read_moves_nothing(server: FileServer, place: Path, kind: str) -> None:
    old = pins.add("team", server.url if kind == "url" else "a.zip").named.sha256
    before = registry.own_file().read_bytes()
    server.content = b"PK no zip"
    (place / "a.zip").write_bytes(server.content)
    with pytest.raises(MemoryfieldError):
        pins.update("team", yes)
    assert registry.own_file().read_bytes() == before
    assert fetched() == ([old] if kind == "url" else [])


def test_a_pin_that_was_moved_meanwhile_is_not_moved_back(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    pins.add("team", "a.zip")
    make_archive(place / "a.zip", SECOND)

    def accept(_: Update) -> bool:
        assert pins.update("team", yes).is_moved
        return True

    with pytest.raises(RefusedError, match="changed meanwhile"):
        pins.update("team", accept)


def test_an_archive_that_changes_while_it_is_shown_is_not_what_gets_pinned(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    pins.add("team", "a.zip")
    shown = make_archive(place / "a.zip", SECOND)

    def accept(_: Update) -> bool:
        make_archive(place / "a.zip", {"evil.md": "# Evil\n"})
        return True

    assert pins.update("team", accept).sha256 == shown
    with pytest.raises(HashMismatchError):
        Field.open("team")


# remove


def test_a_name_is_forgotten_and_the_field_stays(place: Path) -> None:
    make_archive(place / "a.zip", FIRST)
    pins.add("team", "a.zip")
    pins.remove("team")
    assert registry.every() == []
    assert (place / "a.zip").is_file()
    assert list((fetch.kept("x").parent.parent / "pins").iterdir()) == []


@pytest.mark.parametrize("how", ["remove", "update"])
def test_what_another_project_has_pinned_stays_in_the_cache(
    server: FileServer, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    sha256 = pins.add("team", server.url, project=True).named.sha256
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    pins.add("team", server.url, project=True)
    make_archive(place / "a.zip", SECOND)
    server.content = (place / "a.zip").read_bytes()
    if how == "remove":
        pins.remove("team")
    else:
        assert pins.update("team", yes).is_moved
    assert sha256 in fetched()
    monkeypatch.chdir(place)
    server.status = [500] * 100
    with Field.open("team") as field:
        assert field.read("woks.md").text == "# Woks\n"


def test_an_archive_that_nobody_used_for_long_goes_when_another_is_fetched(server: FileServer, place: Path) -> None:
    def make_old() -> None:
        os.utime(path, (moment := path.stat().st_mtime - 91 * 86_400, moment))

    old = pins.add("team", server.url).named.sha256
    path = fetch.kept(old)
    make_old()
    Field.open("team").close()  # a use
    make_archive(place / "a.zip", SECOND)
    server.content = (place / "a.zip").read_bytes()
    new = pins.add("next", server.url).named.sha256
    assert fetched() == sorted([old, new])
    make_old()
    make_archive(place / "a.zip", {"lids.md": "# Lids\n"})
    server.content = (place / "a.zip").read_bytes()
    newest = pins.add("newest", server.url).named.sha256
    assert fetched() == sorted([new, newest])


def test_an_old_archive_is_compared_with_the_new_one_before_it_goes(server: FileServer, place: Path) -> None:
    path = fetch.kept(pins.add("team", server.url).named.sha256)
    os.utime(path, (moment := path.stat().st_mtime - 91 * 86_400, moment))
    make_archive(place / "a.zip", SECOND)
    server.content = (place / "a.zip").read_bytes()
    pins.update("team", no)
    assert path.exists()


def test_a_name_with_a_problem_can_be_removed(place: Path) -> None:
    (place / FILE).write_text("[fields.bad]\nlocation = 5\n", "utf-8")
    pins.remove("bad")
    assert registry.every() == []


@pytest.mark.parametrize("call", [pins.remove, lambda name: pins.update(name, yes)])
def test_a_name_that_is_none_is_told_and_the_nearest_one(place: Path, call: object) -> None:
    assert callable(call)
    make_archive(place / "a.zip", FIRST)
    pins.add("kitchen", "a.zip")
    with pytest.raises(UsageError, match=r"no field is named 'kitchn'. Did you mean kitchen\?"):
        call("kitchn")
    with pytest.raises(UsageError, match="cannot be a field's name"):
        call("../kitchen")
