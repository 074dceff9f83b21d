"""The same field gives the same bytes, whatever happened to it and wherever it is packed. Nothing else is in them."""

from __future__ import annotations

import getpass
import hashlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
import pytest

from memoryfield import Field, pack, unpack
from memoryfield.archives.planning import plan
from memoryfield.containers import Limits, open_container
from memoryfield.embedders.minilm import MiniLM
from memoryfield.errors import BrokenFieldError, NotEmptyError, UsageError
from memoryfield.index.files import open_index
from memoryfield.index.sync import CLOCK_SLACK_NS, look

from ..cli.support import INDEX, MODEL, PAGES, make_kitchen
from ..doubles.ollama_server import OllamaServer
from ..spec import profile

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and permissions")

FOREIGN = "some-model-1.sqlite3"
GOLDEN = "334a0de9b8857d5b643a468f421dc4c6b367c198ae5348d32109602c2b935bc3"
PLAIN = '---\ntitle: {0}\nuuid: {1:08d}-0000-4000-8000-000000000000\nupdated: "{2}"\n---\n\n# {0}\n\n{3}\n'


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A field of three pages and a photo, with an index."""
    folder = make_kitchen(tmp_path / "kitchen", embedded=True)
    (folder / "photo.jpg").write_bytes(bytes(range(256)) * 9)
    return folder


def packed_bytes(location: Path, target: Path, *, store: bool = False) -> bytes:
    with Field.open(location) as field:
        packed = pack(field, target, replace=True, store=store)
    assert packed.indexes == [INDEX], packed.left_out
    return target.read_bytes()


def inflated(location: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(location) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def index_in(archive: Path, scratch: Path, name: str = INDEX) -> apsw.Connection:
    scratch.write_bytes(inflated(archive)[name])
    return apsw.Connection(str(scratch))


@pytest.mark.parametrize("store", [False, True])
def test_an_archive_keeps_the_profile_of_the_format(kitchen: Path, tmp_path: Path, store: bool) -> None:
    (kitchen / "données.csv").write_bytes(b"a,b\n")
    (kitchen / "empty").write_bytes(b"")
    packed_bytes(kitchen, tmp_path / "a.memoryfield.zip", store=store)
    assert profile.broken_by_archive(tmp_path / "a.memoryfield.zip", tmp_path / "scratch") == set()
    methods = {info.compress_type for info in zipfile.ZipFile(tmp_path / "a.memoryfield.zip").infolist()}
    assert methods == {zipfile.ZIP_STORED if store else zipfile.ZIP_DEFLATED}


@pytest.mark.parametrize(
    ("block", "time"),
    [
        ('updated: "2026-05-02T16:30:05Z"\ncreated: "2020-01-01T00:00:00Z"', (2026, 5, 2, 16, 30, 4)),
        ('created: "2026-03-14T10:12:41+01:00"', (2026, 3, 14, 9, 12, 40)),
        ('updated: "soon"\ncreated: "2020-01-01"', (2020, 1, 1, 0, 0, 0)),
        ('updated: "1815-12-10T00:00:00Z"', (1980, 1, 1, 0, 0, 0)),
        ('updated: "2900-01-01T00:00:00Z"', (2107, 12, 31, 23, 59, 58)),
        ("title: none", (1980, 1, 1, 0, 0, 0)),
    ],
)
def test_the_time_of_an_entry_is_that_of_its_page(tmp_path: Path, block: str, time: tuple[int, ...]) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "page.md").write_text(f"---\n{block}\n---\n\nText.\n", encoding="utf-8")
    packed = pack(Field.open(tmp_path / "notes"), tmp_path / "a.zip")
    assert [info.date_time for info in zipfile.ZipFile(packed.path).infolist()] == [time]


# the same bytes


def lived(kitchen: Path, tmp_path: Path) -> Path:
    """The same pages and vectors, with another history: order, times, pages that came and went, an index that grew."""
    other = tmp_path / "elsewhere" / "kitchen"
    other.mkdir(parents=True)
    field = Field.open(other)
    for name in [*reversed(PAGES), "photo.jpg"]:
        shutil.copyfile(kitchen / name, other / name)
        field.sync()
    (other / "passing.md").write_text("# Passing\n\nThis page comes and goes.\n", encoding="utf-8")
    (other / "woks.md").write_text("# Woks\n\nAnother text for a while.\n", encoding="utf-8")
    field.sync()
    shutil.copyfile(kitchen / "woks.md", other / "woks.md")
    field.delete("passing")
    (other / ".hidden").write_bytes(b"x")
    return other


def test_another_history_gives_the_same_bytes(kitchen: Path, tmp_path: Path) -> None:
    first = packed_bytes(kitchen, tmp_path / "a.zip")
    assert packed_bytes(lived(kitchen, tmp_path), tmp_path / "b.zip") == first


def test_an_archive_that_is_packed_again_and_a_folder_that_was_unpacked_give_the_same_bytes(
    kitchen: Path, tmp_path: Path
) -> None:
    first = packed_bytes(kitchen, tmp_path / "kitchen.memoryfield.zip")
    assert packed_bytes(tmp_path / "kitchen.memoryfield.zip", tmp_path / "b.zip") == first
    unpack(tmp_path / "kitchen.memoryfield.zip", tmp_path / "copy")
    assert packed_bytes(tmp_path / "copy", tmp_path / "c.zip") == first


@posix_only
def test_another_environment_gives_the_same_bytes(kitchen: Path, tmp_path: Path) -> None:
    script = (
        "import os, sys, time; os.umask(int(sys.argv[1])); from memoryfield import Field, pack;"
        "pack(Field.open('kitchen'), sys.argv[2])"
    )
    made: list[bytes] = []
    for number, (umask, zone, seed, locale) in enumerate(
        [("18", "UTC", "0", "C.UTF-8"), ("63", "Pacific/Kiritimati", "4711", "C")]
    ):
        environment = {**os.environ, "TZ": zone, "PYTHONHASHSEED": seed, "LC_ALL": locale}
        command = [sys.executable, "-c", script, umask, f"{number}.zip"]
        subprocess.run(command, cwd=tmp_path, env=environment, check=True)
        made.append((tmp_path / f"{number}.zip").read_bytes())
        for file in kitchen.iterdir():
            os.utime(file, (1_600_000_000 + number, 1_600_000_000))
    assert made[0] == made[1]


def foreign_field(folder: Path) -> Path:
    """A field with an index whose vectors are known to the bit."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / FOREIGN)) as connection, connection:
        connection.execute(
            "CREATE TABLE pages (filename TEXT PRIMARY KEY, frontmatter JSON NOT NULL,"
            " last_modified DATETIME NOT NULL, sha256_hash BLOB NOT NULL, embedding BLOB NOT NULL)"
        )
        for number in (3, 1, 2):
            text = PLAIN.format(f"Page {number}", number, f"2026-01-0{number}T00:00:00Z", "C++ 鋼 and café. " * 40)
            (folder / f"page-{number}.md").write_text(text, encoding="utf-8", newline="")
            vector = bytes([number]) * 64
            digest = hashlib.sha256(text.encode()).digest()
            connection.execute("INSERT INTO pages VALUES (?, '{}', '0', ?, ?)", (f"page-{number}.md", digest, vector))
    return folder


def test_every_version_of_everything_gives_these_bytes(tmp_path: Path) -> None:
    """With an SQLite, a Python or a system that gives others, archives are not the same everywhere."""
    packed = pack(Field.open(foreign_field(tmp_path / "notes")), tmp_path / "a.zip", store=True)
    assert packed.indexes == [FOREIGN]
    assert packed.sha256 == GOLDEN


# an index made afresh


def test_nothing_is_out_of_date_in_the_archive_and_unpacked(kitchen: Path, tmp_path: Path) -> None:
    archive = tmp_path / "kitchen.memoryfield.zip"
    packed_bytes(kitchen, archive)
    unpack(archive, tmp_path / "copy")
    for location in (archive, tmp_path / "copy"):
        container = open_container(location)
        with closing(open_index(container, MODEL, 384)) as store:
            assert store.is_current(container.fingerprint(), vectors=True)
            assert look(container, store).none
            assert all(row.indexed_ns - CLOCK_SLACK_NS > row.mtime_ns for row in store.rows().values())
        container.close()
        found = Field.open(location).search("which wok heats evenly?")
        assert (found.notes, found.results[0].filename) == ([], "woks.md")
    assert Field.open(tmp_path / "copy").validate(select=["X", "R-8", "A"]) == []


def test_a_packed_index_is_one_segment_without_free_pages_and_tells_of_no_version(
    kitchen: Path, tmp_path: Path
) -> None:
    packed_bytes(kitchen, tmp_path / "a.zip")
    with closing(index_in(tmp_path / "a.zip", tmp_path / "index")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA freelist_count").fetchone() == (0,)
        names = [row[0] for row in connection.execute("SELECT filename FROM pages ORDER BY rowid")]
        assert names == sorted(PAGES)
        assert connection.execute("SELECT k FROM memoryfield_keyword_config").fetchall() == [("version",)]
    content = inflated(tmp_path / "a.zip")[INDEX]
    assert int.from_bytes(content[96:100], "big") == 3_047_001
    assert content[24:28] == content[92:96] == b"\0\0\0\1"


def test_words_are_one_segment_however_often_they_were_written(
    kitchen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = packed_bytes(kitchen, tmp_path / "a.zip")
    monkeypatch.setattr("memoryfield.index.packed.FLUSH_BYTES", 1)
    monkeypatch.setattr("memoryfield.archives.filling.BATCH_BYTES", 1)
    assert len(packed_bytes(kitchen, tmp_path / "b.zip")) == pytest.approx(len(once), rel=0.1)
    with closing(index_in(tmp_path / "b.zip", tmp_path / "index")) as connection:
        assert connection.execute("SELECT count(DISTINCT segid) FROM memoryfield_keyword_idx").fetchone() == (1,)
        found = connection.execute("SELECT rowid FROM memoryfield_keyword WHERE memoryfield_keyword MATCH 'wok'")
        assert found.fetchall() == [(3,)]


def test_a_page_with_every_character_is_found_as_in_a_lived_index(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "odd.md").write_bytes(b'# Odd\n\nbefore\x00after \x01\x7f "quoted\\" {"a": [1]} C++ \xf0\x9f\x98\x80\n')
    field = Field.open(folder)
    field.sync()
    packed_bytes(folder, tmp_path / "a.zip")
    for words in ("before", "after", "quoted", "C++"):
        for location in (folder, tmp_path / "a.zip"):
            assert len(Field.open(location).search(words, mode="keyword").results) == 1, (words, location)


# never stale


def test_an_index_that_is_behind_is_brought_up_to_date_first(kitchen: Path, tmp_path: Path) -> None:
    (kitchen / "woks.md").write_text("# Woks\n\nQuite another text.\n", encoding="utf-8")
    packed_bytes(kitchen, tmp_path / "a.zip")
    assert Field.open(tmp_path / "a.zip").validate(select=["X"]) == []
    [status] = Field.open(kitchen).indexes()
    assert status.is_complete


@posix_only
def test_of_a_folder_that_cannot_be_written_a_copy_of_the_index_is_brought_up_to_date(
    kitchen: Path, tmp_path: Path
) -> None:
    (kitchen / "woks.md").write_text("# Woks\n\nQuite another text.\n", encoding="utf-8")
    before = (kitchen / INDEX).read_bytes()
    with read_only(kitchen):
        packed_bytes(kitchen, tmp_path / "a.zip")
    assert Field.open(tmp_path / "a.zip").validate(select=["X"]) == []
    assert (kitchen / INDEX).read_bytes() == before


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that cannot be written, not even by the superuser, who becomes somebody else; all others can be."""
    for path in (folder.parent, *folder.parent.parents):
        if path.stat().st_uid == os.getuid() and path.stat().st_mode & 0o055 != 0o055:
            path.chmod(path.stat().st_mode | 0o055)
    folder.parent.chmod(0o777)
    folder.chmod(0o555)
    superuser = os.getuid() == 0 and hasattr(os, "setresuid")
    if superuser:
        os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        if superuser:
            os.setresuid(0, 0, 0)
        folder.chmod(0o755)


def test_an_index_that_is_complete_needs_no_model(
    kitchen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MiniLM, "unavailable", lambda self: "there is no such model")
    packed_bytes(kitchen, tmp_path / "a.zip")
    (kitchen / "woks.md").rename(kitchen / "pans-and-woks.md")
    packed_bytes(kitchen, tmp_path / "a.zip")
    (kitchen / "new.md").write_text("# New\n\nNothing knows this.\n", encoding="utf-8")
    with Field.open(kitchen) as field:
        packed = pack(field, tmp_path / "b.zip")
    assert packed.indexes == []
    assert [(name, "new.md" in reason, "no such model" in reason) for name, reason in packed.left_out] == [
        (INDEX, True, True)
    ]


def test_pages_that_cannot_have_a_vector_do_not_make_an_index_incomplete(kitchen: Path, tmp_path: Path) -> None:
    (kitchen / "blank.md").write_bytes(b"\n")
    Field.open(kitchen).sync()
    packed_bytes(kitchen, tmp_path / "a.zip")


def test_an_index_of_a_server_is_completed_and_keeps_its_spec(
    kitchen: Path, tmp_path: Path, ollama: OllamaServer
) -> None:
    with Field.open(kitchen) as field:
        field.sync("ollama:nomic-embed-text")
        (kitchen / "woks.md").write_text("# Woks\n\nQuite another text.\n", encoding="utf-8")
        packed = pack(field, tmp_path / "a.zip")
        assert packed.indexes == [INDEX, "nomic-embed-text-v1.5.sqlite3"], packed.left_out
        assert pack(field, tmp_path / "b.zip", models=["ollama:nomic-embed-text"]).indexes == [
            "nomic-embed-text-v1.5.sqlite3"
        ]
        assert pack(field, tmp_path / "c.zip", models=[]).indexes == []
        with pytest.raises(UsageError, match=MODEL):
            pack(field, tmp_path / "d.zip", models=["another"])
    assert profile.broken_by_archive(tmp_path / "a.zip", tmp_path / "scratch") == set()
    assert Field.open(tmp_path / "a.zip").validate(select=["X"]) == []


@pytest.mark.parametrize("again", [False, True])
def test_a_page_that_changes_while_it_is_packed_has_the_vector_of_the_bytes_that_were_packed(
    kitchen: Path, tmp_path: Path, again: bool
) -> None:
    """Once it is read, it changes (and changes again before the index looks at it): both ways all fits together."""
    page = kitchen / "woks.md"
    if again:
        page.write_text("# Woks\n\nNobody has embedded this text.\n", encoding="utf-8")
    text = page.read_bytes()

    def change(done: int, total: int) -> None:
        if total == 5 and done == 4:
            page.write_text("# Woks\n\nQuite another text.\n", encoding="utf-8")

    with Field.open(kitchen) as field:
        assert pack(field, tmp_path / "a.zip", progress=change).indexes == [INDEX]
    assert page.read_bytes() != text
    assert inflated(tmp_path / "a.zip")["woks.md"] == text
    assert Field.open(tmp_path / "a.zip").validate(select=["X"]) == []
    with closing(index_in(tmp_path / "a.zip", tmp_path / "index")) as connection:
        names = [row[0] for row in connection.execute("SELECT filename FROM pages ORDER BY rowid")]
    assert names == sorted(PAGES)


# nothing private


def test_nothing_of_what_was_deleted_or_of_the_machine_is_in_the_bytes(kitchen: Path, tmp_path: Path) -> None:
    field = Field.open(kitchen)
    field.write("secret", "The word is Zanzibarish and Flumboxic.\n", title="Zanzibarish")
    (kitchen / "woks.md").write_text("# Woks\n\nAn older text, Quuxomatic.\n", encoding="utf-8")
    field.sync()
    field.delete("secret")
    (kitchen / "woks.md").write_text(PAGES["woks.md"], encoding="utf-8")
    raw = packed_bytes(kitchen, tmp_path / "a.zip", store=True)
    for word in ("zanzibarish", "flumbox", "quuxomat"):
        assert word.encode() not in raw.lower()
    for private in (str(kitchen), tmp_path.name, getpass.getuser() + "@", socket.gethostname(), str(Path.home())):
        assert len(private) < 3 or private.encode() not in raw, private


# what breaks a MUST


def test_a_field_that_breaks_a_must_is_refused_with_its_first_faults(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(20):
        (folder / f"page-{number:02d}.md").write_text("---\ncreated: 2026-01-01\n---\n\nText.\n", encoding="utf-8")
    field = Field.open(folder)
    with pytest.raises(BrokenFieldError, match=r"page-00\.md:2:\d+: F-8") as caught:
        pack(field, tmp_path / "a.zip")
    assert caught.value.exit_code == 3
    assert len(caught.value.faults) == 5
    assert list(tmp_path.iterdir()) == [folder]
    assert len(plan(field).faults) == 20
    assert pack(field, tmp_path / "a.zip", force=True).pages == 20


def test_what_the_fresh_index_mends_and_what_stays_out_is_no_reason_to_refuse(kitchen: Path, tmp_path: Path) -> None:
    (kitchen / "drafts").mkdir()
    (kitchen / "drafts" / "page.md").write_bytes(b"Text.\n")
    with closing(sqlite3.connect(kitchen / INDEX)) as connection, connection:
        connection.execute("UPDATE pages SET embedding = x'0000'")
    assert {fault.requirement for fault in Field.open(kitchen).validate(select=["X", "C"])} >= {"X-7", "C-2"}
    packed_bytes(kitchen, tmp_path / "a.zip")
    assert Field.open(tmp_path / "a.zip").validate(select=["X", "C"]) == []
    assert "drafts/page.md" in dict(pack(Field.open(kitchen), tmp_path / "b.zip").left_out)["drafts"]


def test_a_page_that_nobody_can_read_is_a_reason_to_refuse(kitchen: Path, tmp_path: Path) -> None:
    try:
        (kitchen / "lost.md").symlink_to("nowhere.md")
    except OSError:
        pytest.skip("no links here")
    with pytest.raises(BrokenFieldError, match="P-12"):
        pack(Field.open(kitchen), tmp_path / "a.zip")


# what is reported


def test_a_plan_tells_what_pack_does(kitchen: Path, tmp_path: Path) -> None:
    (kitchen / "old.md~").write_bytes(b"x")
    (kitchen / "new.md").write_text("# New\n\nNot embedded yet.\n", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in kitchen.iterdir()}
    planned = plan(Field.open(kitchen))
    assert {path.name: path.read_bytes() for path in kitchen.iterdir()} == before
    packed = pack(Field.open(kitchen), tmp_path / "a.zip")
    infos = zipfile.ZipFile(tmp_path / "a.zip").infolist()
    assert [file.name for file in planned.files] == [info.filename for info in infos]
    times = [time.strftime("%Y-%m-%dT%H:%M:%SZ", (*info.date_time, 0, 0, 0)) for info in infos]
    assert [file.time for file in planned.files] == times
    assert planned.left_out == packed.left_out
    assert [file.kind for file in planned.files] == ["index", "page", "page", "page", "file", "page"]
    assert "1" in planned.notes[0]


def test_an_archive_beyond_the_limits_tells_which_option_opens_it(
    kitchen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kitchen / "zeros.bin").write_bytes(bytes(3 << 20))
    assert [note for note in pack(Field.open(kitchen), tmp_path / "a.zip").notes if "ratio=" in note]
    small = Limits(entries=3, total=2 << 20, entry=1 << 20, ratio=10_000)
    monkeypatch.setattr(sys.modules[pack.__module__], "DEFAULT_LIMITS", small)
    [note] = pack(Field.open(kitchen), tmp_path / "b.zip").notes
    assert "--allow entries=6 --allow total=4M --allow entry=3M" in note
    assert "ratio" not in note


def test_a_sidecar_of_a_strange_name_is_read_by_sha256sum(kitchen: Path, tmp_path: Path) -> None:
    packed = pack(Field.open(kitchen), tmp_path / "mes données.zip", sidecar=True)
    assert packed.sidecar is not None
    assert packed.sidecar.read_text(encoding="utf-8") == f"{packed.sha256}  mes données.zip\n"
    (kitchen / "woks.md").write_text("# Woks\n\nOther.\n", encoding="utf-8")
    assert pack(Field.open(kitchen), packed.path, replace=True).notes != []
    assert pack(Field.open(kitchen), packed.path, replace=True, sidecar=True).notes == []


# ended before its end


@posix_only
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_the_old_archive_and_nothing_else(kitchen: Path, tmp_path: Path, number: int) -> None:
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "a.zip"
    target.write_bytes(b"the old archive")
    script = (
        "import sys, time; from memoryfield.archives import filling; tell = filling.Filling._tell\n"
        "def slow(self): print('x', flush=True); time.sleep(0.2); tell(self)\n"
        "filling.Filling._tell = slow\n"
        "from memoryfield.cli import entry; sys.argv = ['memoryfield', 'pack', '--replace', *sys.argv[1:]]; entry()"
    )
    command = [sys.executable, "-c", script, "-f", str(kitchen), "-o", str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode != 0
    assert {path.name: path.read_bytes() for path in target.parent.iterdir()} == {"a.zip": b"the old archive"}


@posix_only
def test_what_a_killed_pack_left_behind_is_gone_after_the_next(kitchen: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    target = tmp_path / "out" / "a.zip"
    script = (
        "import sys, time; from memoryfield.archives import filling\n"
        "def slow(self): print('x', flush=True); time.sleep(60)\n"
        "filling.Filling._tell = slow\n"
        "from memoryfield import Field, pack; pack(Field.open(sys.argv[1]), sys.argv[2])"
    )
    command = [sys.executable, "-c", script, str(kitchen), str(target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (scratch,) = target.parent.iterdir()
        pack(Field.open(kitchen), target)
        assert set(target.parent.iterdir()) == {scratch, target}  # of one that is at work
        process.kill()
    pack(Field.open(kitchen), target, replace=True)
    assert list(target.parent.iterdir()) == [target]


def test_an_archive_that_came_into_being_meanwhile_is_not_written_over(kitchen: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.zip"

    def progress(done: int, total: int) -> None:
        target.write_bytes(b"theirs")

    with pytest.raises(NotEmptyError, match="exists already"):
        pack(Field.open(kitchen), target, progress=progress)
    assert target.read_bytes() == b"theirs"
    assert {path.name for path in tmp_path.iterdir()} == {"a.zip", kitchen.name}
