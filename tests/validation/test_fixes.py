"""What `validate --fix` does to a field: planned, shown, done, and what may happen in between."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryfield import Field, pack
from memoryfield.containers import open_container
from memoryfield.containers.directory import DirectoryContainer
from memoryfield.errors import ReadOnlyError
from memoryfield.index.files import open_index
from memoryfield.names import is_legal_page_name
from memoryfield.page import Page
from memoryfield.validation.fixes import Change, Outcome, apply, diff, plan

from ..doubles.ollama_server import OllamaServer
from ..support import full_disk

NOW = "2026-08-01T12:00:00Z"
UUID = "6f1c1c6e-8f39-4a52-9d1a-0d9f6f3a2b10"
HEAD = f'---\ntitle: A\nuuid: {UUID}\ncreated: "2026-03-14T09:12:40Z"\nupdated: "2026-03-14T09:12:40Z"\n---\n'
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="links, modes and signals of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> DirectoryContainer:
    (tmp_path / "notes").mkdir()
    return DirectoryContainer(tmp_path / "notes")


def put(folder: DirectoryContainer, pages: dict[str, str | bytes]) -> None:
    for name, text in pages.items():
        (folder.location / name).write_bytes(text if isinstance(text, bytes) else text.encode())


def files(folder: DirectoryContainer) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.location.iterdir() if path.is_file()}


def fix(folder: DirectoryContainer) -> list[Outcome]:
    """Apply a plan; another one finds nothing then."""
    outcomes = apply(folder, plan(folder, now=NOW))
    assert not [outcome for outcome in outcomes if outcome.problem]
    assert plan(folder, now=NOW) == []
    return outcomes


def planned(folder: DirectoryContainer) -> dict[str, Change]:
    return {change.filename: change for change in plan(folder, now=NOW)}


# planning


def test_a_plan_changes_nothing_and_tells_what_was_broken_where(folder: DirectoryContainer) -> None:
    put(folder, {"good.md": HEAD + "Text.\n", "Bad Name.md": HEAD.replace('"', "") + "Text.\r\n"})
    before = files(folder)
    (change,) = plan(folder, now=NOW)
    assert files(folder) == before
    assert (change.filename, change.new_name) == ("Bad Name.md", "bad-name.md")
    assert change.before == before["Bad Name.md"]
    assert change.after == (HEAD + "Text.\n").encode()
    assert [(mend[0], mend[1]) for mend in change.mended] == [("P-2", 0), ("R-7", 7), ("F-8", 4), ("F-8", 5)]


def test_what_cannot_be_read_is_passed_over(folder: DirectoryContainer) -> None:
    put(folder, {"a.md": "Text.\n", "notes.txt": "a\r\n", ".hidden.md": "a\r\n", "x.sync-conflict-1.md": "a\r\n"})
    (folder.location / "folder.md").mkdir()
    if sys.platform != "win32":
        os.mkfifo(folder.location / "pipe.md")
    assert list(planned(folder)) == ["a.md"]


def test_an_archive_is_planned_for_and_never_changed(folder: DirectoryContainer, tmp_path: Path) -> None:
    put(folder, {"a.md": "Text.\r\n", "Old Name.md": HEAD})
    with Field(folder) as field:
        pack(field, tmp_path / "notes.memoryfield.zip", force=True)
    archive = (tmp_path / "notes.memoryfield.zip").read_bytes()
    with closing(open_container(tmp_path / "notes.memoryfield.zip")) as container:
        changes = plan(container, now=NOW)
        assert [change.filename for change in changes] == ["Old Name.md", "a.md"]
        with pytest.raises(ReadOnlyError, match="unpack"):
            apply(container, changes)
        assert apply(container, []) == []
    assert (tmp_path / "notes.memoryfield.zip").read_bytes() == archive


# names


@pytest.mark.parametrize(
    ("existing", "expected"),
    [
        (["Old Name.md"], {"Old Name.md": "old-name.md"}),
        (["Old.MD"], {"Old.MD": "old.md"}),
        (["a_b.md", "a b.md"], {"a b.md": "a-b.md", "a_b.md": "a-b-2.md"}),
        (["a b.md", "a-b.md", "a-b-2.md"], {"a b.md": "a-b-3.md"}),
        (["A B.md", "a-b.sqlite3"], {"A B.md": "a-b.md"}),
        (["a b.md", "A-B.md"], {"A-B.md": "a-b.md", "a b.md": "a-b-2.md"}),
        (
            ["日本.md", "Ünï.md", "-.md", "тест.md"],
            {"日本.md": "ri-ben.md", "Ünï.md": "uni.md", "-.md": "page.md", "тест.md": "test.md"},
        ),
        (["Index.md"], {"Index.md": "index.md"}),
        (["Index .md", "index.md"], {"Index .md": "index-2.md"}),
        (["Listing_.md"], {"Listing_.md": "listing-2.md"}),
        (["CON.md"], {"CON.md": "con-page.md"}),
    ],
)
@posix_only
def test_a_page_gets_a_legal_name_that_is_free(
    folder: DirectoryContainer, existing: list[str], expected: dict[str, str]
) -> None:
    put(folder, dict.fromkeys(existing, HEAD))
    assert {name: change.new_name for name, change in planned(folder).items()} == expected
    fix(folder)
    assert sorted(files(folder)) == sorted({expected.get(name, name) for name in existing})


@posix_only
def test_a_name_is_not_given_to_what_is_no_page(folder: DirectoryContainer) -> None:
    put(folder, {"Old Name.md": HEAD})
    (folder.location / "old-name.md").mkdir()
    assert planned(folder)["Old Name.md"].new_name == "old-name-2.md"


def test_two_names_that_differ_in_capitals_do_not_meet(folder: DirectoryContainer) -> None:
    put(folder, {"foo.md": HEAD})
    if (folder.location / "FOO.md").exists():
        pytest.skip("this file system does not tell capitals apart")
    put(folder, {"Foo.md": HEAD + "1", "FOO.md": HEAD + "2"})
    assert {name: change.new_name for name, change in planned(folder).items()} == {
        "FOO.md": "foo-2.md",
        "Foo.md": "foo-3.md",
    }
    fix(folder)


class Insensitive(DirectoryContainer):
    """A folder as on a file system that does not tell capitals apart, and keeps those that a file has."""

    def _spelt(self, name: str) -> str:
        return next((one for one in self.names() if one.casefold() == name.casefold()), name)

    def rename(self, old: str, new: str) -> None:
        if self._spelt(old) != self._spelt(new):
            super().rename(self._spelt(old), new)

    def entry(self, name: str) -> object:  # type: ignore[override]
        return super().entry(self._spelt(name))

    def read(self, name: str, limit: int | None = None) -> bytes:
        return super().read(self._spelt(name), limit)


def test_a_name_gets_its_capitals_right_where_they_are_not_told_apart(tmp_path: Path) -> None:
    folder = Insensitive(tmp_path)
    put(folder, {"Foo.md": HEAD, "b.md": HEAD + "[foo](Foo.md)\n", "foo-2.md": HEAD})
    fix(folder)
    assert sorted(files(folder)) == ["b.md", "foo-2.md", "foo.md"]
    assert files(folder)["foo.md"] == HEAD.encode()


@posix_only
def test_a_page_that_a_link_leads_to_keeps_its_name_and_is_mended_once(folder: DirectoryContainer) -> None:
    put(folder, {"Old Name.md": "Text.\r\n", "notes.txt": "Text.\n"})
    (folder.location / "link.md").symlink_to("Old Name.md")
    (folder.location / "other.md").symlink_to("notes.txt")
    changes = planned(folder)
    assert sorted(changes) == ["Old Name.md", "other.md"]
    assert changes["Old Name.md"].new_name == ""
    assert [outcome.problem for outcome in apply(folder, list(changes.values()))] == ["", ""]
    assert plan(folder, now=NOW) == []
    assert (folder.location / "link.md").is_symlink()
    assert folder.read("link.md") == folder.read("Old Name.md") == changes["Old Name.md"].after


# links


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[x](<Old Name.md>)", "[x](<old-name.md>)"),
        ('[x](Old%20Name.md#the-end "t")', '[x](old-name.md#the-end "t")'),
        ("[x](./Old%20Name.md?a=b)", "[x](./old-name.md?a=b)"),
        ("![x](<Old Name.md>)", "![x](<old-name.md>)"),
        ("[x]: <Old Name.md> 'title'", "[x]: <old-name.md> 'title'"),
        ("[[Old Name]] [[Old Name.md]]", None),
        ("`[x](<Old Name.md>)`", None),
        ("```\n[x](<Old Name.md>)\n```", None),
        ("[x](<../Old Name.md>) [x](https://example.org/Old%20Name.md)", None),
        ("[x](Old Name.md)", None),
        ("[x](<old name.md>)", None),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_links_to_a_renamed_page_follow(folder: DirectoryContainer, link: str, expected: str | None, end: str) -> None:
    around = HEAD + "Before [a](b.md), é.\n\n{}\n\nAfter `Old Name.md`.\n"
    put(folder, {"Old Name.md": HEAD, "a.md": around.format(link).replace("\n", end)})
    fix(folder)
    assert files(folder)["a.md"].decode() == around.format(expected or link)


def test_a_page_that_has_more_than_one_reading_has_its_links_follow_and_nothing_else(
    folder: DirectoryContainer,
) -> None:
    broken = "\ufeff---\r\ntags:\r\n\t- '[x](<Old Name.md>)'\r\n---\r\n\r\n[x](<Old Name.md>)\r\n"
    put(folder, {"Old Name.md": HEAD, "a.md": broken, "b.md": b"caf\xe9 [x](<Old Name.md>)\r\n"})
    assert [(mend.requirement, mend.line) for mend in planned(folder)["a.md"].mended] == [("P-2", 6)]
    fix(folder)
    assert files(folder)["a.md"].decode() == broken.replace("\r\n[x](<Old Name.md>)", "\r\n[x](<old-name.md>)")
    assert files(folder)["b.md"] == b"caf\xe9 [x](<Old Name.md>)\r\n"


def test_pages_that_rename_each_other_follow_each_other(folder: DirectoryContainer) -> None:
    put(folder, {"A 1.md": HEAD + "[b](<B 2.md>) [a](<A 1.md>)", "B 2.md": HEAD + "[a](A%201.md)"})
    fix(folder)
    assert files(folder) == {
        "a-1.md": (HEAD + "[b](<b-2.md>) [a](<a-1.md>)").encode(),
        "b-2.md": (HEAD + "[a](a-1.md)").encode(),
    }


@pytest.mark.parametrize("old", [f"{{{UUID.upper()}}}", f"urn:uuid:{UUID}", UUID.replace("-", "").upper()])
@pytest.mark.parametrize("form", ['"{}"', '["{}", other]', "\n  - '{}'  # the old one\n  - other"])
def test_what_supersedes_a_page_follows_its_uuid(folder: DirectoryContainer, old: str, form: str) -> None:
    new = HEAD.replace(UUID, UUID.replace("6f", "7f")).replace("title", f"supersedes: {form.format(old)}\ntitle")
    put(folder, {"old.md": HEAD.replace(UUID, f"'{old}'"), "new.md": new})
    fix(folder)
    assert files(folder)["new.md"].decode() == new.replace(old, UUID)
    assert UUID in Page("", folder.read("new.md")).supersedes
    assert Page("", folder.read("old.md")).uuid == UUID


# showing


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_diff_is_a_patch_that_git_applies(folder: DirectoryContainer, tmp_path: Path) -> None:
    put(
        folder,
        {
            "a.md": "Text without an end",
            "b.md": "\ufeff" + HEAD.replace('"', "").replace("\n", "\r\n") + "a\x0cb\u2028c\r\n[x](<Old Name.md>)",
            "c.md": "a\rb\r",
            "Old Name.md": HEAD + "Text.\n" * 20,
            "D e.md": b"caf\xe9",
            "ü.md": HEAD.replace('"', "") + "Text.\n" * 20,
            "empty.md": "",
        },
    )
    changes = plan(folder, now=NOW)
    patch = tmp_path / "fix.patch"
    patch.write_bytes("".join(map(diff, changes)).encode())
    patched = tmp_path / "patched"
    shutil.copytree(folder.location, patched)
    git = ["git", "-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", str(patch)]
    done = subprocess.run(
        git, cwd=patched, capture_output=True, text=True, env={**os.environ, "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    )
    assert (done.returncode, done.stderr) == (0, "")
    apply(folder, changes)
    assert files(DirectoryContainer(patched)) == files(folder)


def test_a_diff_shows_a_change_and_a_new_name(folder: DirectoryContainer) -> None:
    put(folder, {"Old Name.md": HEAD.replace("title: A", "title: No"), "b c.md": HEAD})
    first, second = plan(folder, now=NOW)
    assert diff(first) == (
        "diff --git a/Old Name.md b/old-name.md\nrename from Old Name.md\nrename to old-name.md\n"
        "--- a/Old Name.md\t\n+++ b/old-name.md\n@@ -1,5 +1,5 @@\n"
        f" ---\n-title: No\n+title: 'No'\n uuid: {UUID}\n"
        ' created: "2026-03-14T09:12:40Z"\n updated: "2026-03-14T09:12:40Z"\n'
    )
    assert diff(second) == "diff --git a/b c.md b/b-c.md\nrename from b c.md\nrename to b-c.md\n"


# doing


def test_what_was_done_is_told_in_the_order_of_the_plan(folder: DirectoryContainer) -> None:
    put(folder, {"b c.md": HEAD, "a.md": "Text.\n", "good.md": HEAD})
    assert fix(folder) == [Outcome("a.md"), Outcome("b c.md", "b-c.md")]


@pytest.mark.parametrize("end", [b"Mine.\n", None])
def test_a_page_that_changed_since_the_plan_is_left_alone_and_named(
    folder: DirectoryContainer, end: bytes | None
) -> None:
    put(folder, {"a.md": "A.\n", "b.md": "B.\n", "C d.md": HEAD, "e.md": HEAD + "[c](<C d.md>)\n", "F.md": HEAD})
    changes = plan(folder, now=NOW)
    before = files(folder)
    for name in ("a.md", "C d.md"):
        if end is None:
            (folder.location / name).unlink()
        else:
            (folder.location / name).write_bytes(end)
    problems = {outcome.filename: outcome.problem for outcome in apply(folder, changes)}
    reason = "is gone" if end is None else "has changed since it was looked at, and was left alone"
    assert problems == {
        "a.md": reason,
        "C d.md": reason,
        "e.md": "was left alone: it links to C d.md, which is not renamed",
        "b.md": "",
        "F.md": "",
    }
    after = files(folder)
    assert after.get("a.md") == after.get("C d.md") == end
    assert after["e.md"] == before["e.md"]
    assert after["f.md"] == before["F.md"]
    assert after["b.md"] != before["b.md"]


def test_a_name_that_was_taken_since_the_plan_is_not_taken_again(folder: DirectoryContainer) -> None:
    put(folder, {"Old Name.md": HEAD + "1\r\n", "a.md": HEAD + "[x](<Old Name.md>)\n"})
    changes = plan(folder, now=NOW)
    put(folder, {"old-name.md": HEAD + "2\n"})
    before = files(folder)
    assert [outcome.problem for outcome in apply(folder, changes)] == [
        "was not renamed: old-name.md is there now",
        "was left alone: it links to Old Name.md, which is not renamed",
    ]
    assert files(folder) == before
    fix(folder)
    assert files(folder)["a.md"] == (HEAD + "[x](<old-name-2.md>)\n").encode()


def test_pages_that_hang_on_one_that_changed_are_left_alone_too(folder: DirectoryContainer) -> None:
    put(
        folder,
        {
            "a.md": HEAD + "[b](B.md)\n",
            "B.md": HEAD + "[c](C.md)\n",
            "C.md": HEAD,
            "d.md": HEAD + "[b](B.md)\n\n[g]:\r\ngood.md\r\n",  # a link only where lines end in LF
            "E.md": HEAD,
            "f.md": HEAD + "[e](E.md)\n",
        },
    )
    changes = plan(folder, now=NOW)
    put(folder, {"a.md": HEAD + "[b](B.md) More.\n"})
    before = files(folder)
    assert {outcome.filename: outcome.problem for outcome in apply(folder, changes)} == {
        "a.md": "has changed since it was looked at, and was left alone",
        "B.md": "was left alone: a.md links to it, and is not changed",
        "C.md": "was left alone: B.md links to it, and is not changed",
        "d.md": "was left alone: it links to B.md, which is not renamed",
        "E.md": "",
        "f.md": "",
    }
    after = files(folder)
    assert {name: after[name] for name in ("a.md", "B.md", "C.md", "d.md")} == {
        name: before[name] for name in ("a.md", "B.md", "C.md", "d.md")
    }
    fix(folder)
    assert files(folder)["a.md"] == (HEAD + "[b](b.md) More.\n").encode()


@posix_only
def test_a_full_disk_leaves_every_page_whole_and_does_not_stop_the_others(folder: DirectoryContainer) -> None:
    put(
        folder,
        {
            "big.md": "x" * 5000,
            "Linked.md": HEAD,
            "Big 2.md": HEAD + "[x](Linked.md)\n" + "y\r\n" * 5000,
            "Other.md": HEAD,
            "a.md": HEAD + "[x](<Big 2.md>) [y](Other.md)\n",
        },
    )
    changes = plan(folder, now=NOW)
    before = files(folder)
    with full_disk(1000):
        problems = {outcome.filename: outcome.problem for outcome in apply(folder, changes)}
    assert problems == {
        "Big 2.md": "could not be written: File too large",
        "Linked.md": "was not renamed: Big 2.md links to it, and could not be written",
        "Other.md": "",
        "a.md": "its link to Big 2.md was put back: that page was not renamed",
        "big.md": "could not be written: File too large",
    }
    assert files(folder) == {
        "Big 2.md": before["Big 2.md"],
        "Linked.md": before["Linked.md"],
        "a.md": (HEAD + "[x](<Big%202.md>) [y](other.md)\n").encode(),
        "big.md": before["big.md"],
        "other.md": before["Other.md"],
    }
    fix(folder)
    assert sorted(files(folder)) == ["a.md", "big-2.md", "big.md", "linked.md", "other.md"]
    assert files(folder)["big-2.md"].startswith((HEAD + "[x](linked.md)\n").encode())


@posix_only
def test_a_folder_that_cannot_be_written_is_refused(
    folder: DirectoryContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, {"a.md": "Text.\n"})
    changes = plan(folder, now=NOW)
    monkeypatch.chdir(folder.location)
    folder.location.chmod(0o555)
    child = os.fork()
    if child == 0:  # who may ask what it may write is the process, not a thread that took another user's part
        refused = 1
        with suppress(Exception):
            if os.geteuid() == 0:
                os.setuid(65534)
            try:
                apply(DirectoryContainer(Path()), changes)
            except ReadOnlyError as error:
                refused = 0 if "cannot write" in str(error) else 2
        os._exit(refused)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    folder.location.chmod(0o755)
    assert status == 0
    assert files(folder) == {"a.md": b"Text.\n"}


@posix_only
def test_it_waits_for_other_writers(folder: DirectoryContainer) -> None:
    put(folder, {"a.md": "Text.\n"})
    changes = plan(folder, now=NOW)
    script = (
        "import sys; from memoryfield.containers import open_container\n"
        "with open_container(sys.argv[1]).lock(): print('held', flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(folder.location)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdin
    assert holder.stdout
    assert holder.stdout.readline()
    fixing = threading.Thread(target=apply, args=(folder, changes))
    fixing.start()
    fixing.join(0.2)
    assert files(folder) == {"a.md": b"Text.\n"}
    holder.communicate(b"")
    fixing.join()
    assert files(folder)["a.md"] == changes[0].after


PAGES = 60


@posix_only
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_whenever_it_is_stopped_every_page_is_whole_and_the_next_run_does_the_rest(
    folder: DirectoryContainer, number: signal.Signals
) -> None:
    script = (
        "import sys; from memoryfield.containers import open_container; from memoryfield.validation.fixes import *\n"
        f"folder = open_container(sys.argv[1]); changes = plan(folder, now={NOW!r}); print('go', flush=True)\n"
        "apply(folder, changes)\n"
    )
    for wait in (0.0, 0.02, 0.05, 0.1):
        for name in files(folder):
            (folder.location / name).unlink()
        texts = {f"Page {at}.md": HEAD + f"[next](Page%20{(at + 1) % PAGES}.md)\r\n" for at in range(PAGES)}
        put(folder, dict(texts))
        wanted = {change.filename: change for change in plan(folder, now=NOW)}
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(folder.location)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout
        assert process.stdout.readline()
        time.sleep(wait)
        process.send_signal(number)
        process.communicate()
        left = {name: raw for name, raw in files(folder).items() if not name.endswith(".tmp")}
        assert len(left) == PAGES
        for change in wanted.values():
            raw = left.get(change.filename, left.get(change.new_name))
            assert raw in (change.before, change.after)
        fix(folder)
        assert {name: raw for name, raw in files(folder).items() if not name.endswith(".tmp")} == {
            change.new_name: change.after for change in wanted.values()
        }


def test_the_indexes_follow_new_names(folder: DirectoryContainer, ollama: OllamaServer) -> None:
    put(folder, {"Old Name.md": HEAD + "Woks.\n", "a.md": HEAD + "Pans.\n", "B.md": HEAD + "Pots.\n"})
    with Field(folder) as field:
        field.sync("nomic-embed-text-v1.5")
        asked = len(ollama.requests)
        fix(folder)
        with closing(open_index(folder, "nomic-embed-text-v1.5", None)) as store:
            assert sorted(store.rows()) == ["a.md", "b.md", "old-name.md"]
        report = field.sync("nomic-embed-text-v1.5")
        assert (report.added, report.changed, report.removed) == (0, 0, 0)
        assert len(ollama.requests) == asked


def test_an_index_that_cannot_follow_is_named(folder: DirectoryContainer) -> None:
    put(folder, {"Old Name.md": HEAD, "all-MiniLM-L6-v2.sqlite3": b"no database" * 100})
    page, index = apply(folder, plan(folder, now=NOW))
    assert page == Outcome("Old Name.md", "old-name.md")
    assert index.filename == ""
    assert index.problem.startswith("all-MiniLM-L6-v2.sqlite3 could not follow")


# everything

names = st.sampled_from(
    [
        "a.md",
        "A.md",
        "a b.md",
        "a_b.md",
        "a-b.md",
        "a-b-2.md",
        "Index.md",
        "index.md",
        "listing.md",
        "日本.md",
        "x.MD",
        "-.md",
    ]
)
parts = st.lists(
    st.sampled_from(
        [
            "[a](A.md)",
            "[b](<a b.md>)",
            "`[b](<a b.md>)`",
            "[c](a_b.md#x)",
            "[d]: 日本.md\n",
            "\n\n",
            "```\n",
            "text ",
            "\r\n",
            "[e](x.MD)",
            "é",
        ]
    )
).map("".join)
heads = st.sampled_from(
    ["", HEAD, HEAD.replace('"', ""), "---\ntitle: Re: a\nmine: [1]\n---\n", "---\nx: [\n---\n", "\ufeff" + HEAD]
)
pages = st.dictionaries(names, st.tuples(heads, parts).map("".join), min_size=1, max_size=6)


@posix_only
@settings(max_examples=60, deadline=None)
@given(pages)
def test_every_page_survives_under_a_legal_name_and_links_lead_where_they_led(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str]
) -> None:
    from memoryfield.validation.links import links

    folder = DirectoryContainer(tmp_path_factory.mktemp("notes"))
    put(folder, dict(texts))
    renamed = {outcome.filename: outcome.new_name for outcome in fix(folder) if outcome.new_name}
    after = files(folder)
    assert len(after) == len(texts)
    assert all(map(is_legal_page_name, after))
    for name, text in texts.items():
        before, result = Page(name, text.encode()), Page("", after[renamed.get(name, name)])
        led = [renamed.get(link.page or "", link.page) for link in links(before.body.replace("\r\n", "\n"))]
        assert [link.page for link in links(result.body)] == led
        if not renamed and result.raw != before.raw:
            assert result.body.strip("\n") == before.body.replace("\r\n", "\n").strip("\n")
