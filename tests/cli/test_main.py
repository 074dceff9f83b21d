"""What holds for every command: cheap starts, which field is meant, where output goes, how errors end."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryfield import __version__

from .support import INDEX, command, environment, forked, make_kitchen, memoryfield, write_page

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
HEAVY = {"numpy", "onnxruntime", "tokenizers", "httpx", "ollama", "rich.table", "apsw", "yaml", "pydantic"}


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """A field of three pages."""
    return make_kitchen(tmp_path / "kitchen")


# Starting


def test_the_version_is_told() -> None:
    run = memoryfield("--version")
    assert (run.code, run.out, run.err) == (0, f"memoryfield {__version__}\n", "")


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_import_nothing_heavy(option: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memoryfield", option],
        capture_output=True,
        env=environment(),
        text=True,
        check=True,
    )
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "memoryfield.cli.main" in imported
    assert not imported & HEAVY


def test_a_keyword_search_imports_no_model(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen", embedded=True)
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "memoryfield", "search", "--mode", "keyword", "wok"],
        cwd=kitchen,
        capture_output=True,
        env=environment(),
        text=True,
        check=True,
    )
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "memoryfield.search.keyword" in imported
    assert not imported & {"numpy", "onnxruntime", "tokenizers", "httpx", "ollama", "rich.table"}


def test_help_names_every_command() -> None:
    run = memoryfield("--help")
    assert run.code == 0
    for name in "create write read list edit rename delete info embed search validate pack unpack".split():
        assert re.search(rf"^ +{name} ", run.out, re.MULTILINE), name


# Wrong usage


@pytest.mark.parametrize(("typed", "meant"), [("serch", "search"), ("unpck", "unpack")])
def test_a_mistyped_command_is_answered_with_the_right_one(typed: str, meant: str) -> None:
    run = forked(typed)
    assert run.code == 2
    assert run.out == ""
    assert meant in run.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["search", "--mdoe", "keyword", "x"], "--mode"),
        (["list", "--sort", "colour"], "updated"),
        (["search", "-n", "0", "x"], "-n"),
        (["search", "--min-score", "nan", "x"], "--min-score"),
        (["read"], "PAGE"),
        (["rename", "woks"], "new"),
        (["search", "--model", "no-such-model", "x"], "all-MiniLM-L6-v2"),
        (["search", " \t"], "empty"),
    ],
)
def test_wrong_usage_says_what_would_be_right(kitchen: Path, arguments: list[str], told: str) -> None:
    run = forked(*arguments, cwd=kitchen)
    assert run.code == 2
    assert run.out == ""
    assert told.lower() in run.err.lower()


# Which field


def test_without_a_field_it_is_said_what_to_do(tmp_path: Path) -> None:
    run = forked("list", cwd=tmp_path)
    assert run.code == 2
    assert run.out == ""
    assert len(run.err.splitlines()) == 1
    for way in ("-f", "MEMORYFIELD", "create"):
        assert way in run.err


def test_a_folder_without_a_page_is_not_taken_for_a_field(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    (tmp_path / "sub.md").mkdir()
    (tmp_path / ".hidden.md").write_text("x", encoding="utf-8")
    for name in ("list", "embed"):
        assert forked(name, cwd=tmp_path).code == 2
    assert not (tmp_path / INDEX).exists()


@pytest.mark.parametrize("arguments", [["list"], ["search", "x"], ["embed"]])
def test_a_field_that_is_not_there_is_named(tmp_path: Path, arguments: list[str]) -> None:
    run = forked(*arguments, "-f", "nowhere", cwd=tmp_path)
    assert run.code == 2
    assert run.out == ""
    assert "nowhere" in run.err
    assert list(tmp_path.iterdir()) == []


def test_the_option_goes_before_the_environment_and_that_before_the_folder(tmp_path: Path) -> None:
    for name in ("given", "named", "here"):
        folder = tmp_path / name
        folder.mkdir()
        write_page(folder, f"{name}.md", f"# {name}\n")
    here, named = tmp_path / "here", {"MEMORYFIELD": str(tmp_path / "named")}
    assert "given.md" in forked("list", "-f", "../given", cwd=here, env=named).out
    assert "given.md" in forked("list", "--field", tmp_path / "given", cwd=here, env=named).out
    assert "named.md" in forked("list", cwd=here, env=named).out
    assert "here.md" in forked("list", cwd=here, env={"MEMORYFIELD": ""}).out


def test_a_wrong_field_of_the_environment_does_not_fall_back_to_the_folder(kitchen: Path) -> None:
    run = forked("list", cwd=kitchen, env={"MEMORYFIELD": "nowhere"})
    assert run.code == 2
    assert "nowhere" in run.err


# Streams


def test_json_is_json_in_every_encoding(kitchen: Path) -> None:
    title = 'Café — "炭素" 🍳'
    write_page(kitchen, "odd.md", f"---\ntitle: {json.dumps(title, ensure_ascii=False)}\n---\n\nText.\n")
    for encoding in ("ascii", "cp1252"):
        run = memoryfield("list", "--json", cwd=kitchen, env={"PYTHONIOENCODING": encoding})
        assert run.code == 0
        titles = [page["title"] for page in json.loads(run.raw.decode(encoding))["pages"]]
        assert title in titles, encoding


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}],
)
def test_a_plain_locale_stops_nothing(kitchen: Path, env: dict[str, str]) -> None:
    write_page(kitchen, "odd.md", "# Café 炭素 🍳\n\nThe café has a wok — 炭素.\n")
    for arguments in (["list"], ["search", "wok"]):
        run = memoryfield(*arguments, cwd=kitchen, env=env)
        assert run.code == 0, (arguments, run)
        assert "odd.md" in run.out
    assert "café has a wok — 炭素".encode() in memoryfield("read", "odd", cwd=kitchen, env=env).raw


def _many_pages(folder: Path) -> None:
    for number in range(2000):
        (folder / f"page-{number:04d}-{'x' * 60}.md").write_text(f"# Page {number} wok {'y' * 60}\n", encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
@pytest.mark.parametrize("arguments", [["list"], ["search", "-n", "2000", "wok"]])
def test_output_into_a_closed_pipe_ends_quietly(kitchen: Path, arguments: list[str]) -> None:
    _many_pages(kitchen)
    process = subprocess.Popen(
        command(*arguments), cwd=kitchen, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(1)
    process.stdout.close()
    talk = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) in (141, -13)
    assert "Traceback" not in talk
    assert "Broken pipe" not in talk


@pytest.mark.skipif(sys.platform == "win32", reason="file descriptors are POSIX")
@pytest.mark.parametrize(
    ("closed", "arguments", "code"),
    [
        (1, ["--version"], 0),
        (1, ["read", "woks"], 0),
        (2, ["list"], 0),
        (2, ["read", "nothing-like-it"], 1),
        (0, ["write", "new"], None),
        (0, ["delete", "woks"], 3),
    ],
)
def test_a_stream_that_is_closed_from_the_start_is_no_crash(
    kitchen: Path, closed: int, arguments: list[str], code: int | None
) -> None:
    run = memoryfield(*arguments, cwd=kitchen, before=lambda: os.close(closed))
    if code is not None:
        assert run.code == code
    assert (kitchen / "woks.md").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("arguments", [["--version"], ["read", "woks"], ["search", "wok"]])
def test_output_to_a_full_disk_is_one_line_and_a_failure(kitchen: Path, arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(*arguments), cwd=kitchen, env=environment(), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode not in (0, 2)
    talk = [line for line in done.stderr.decode().splitlines() if not line.startswith("note:")]
    assert len(talk) == 1
    assert os.strerror(errno.ENOSPC) in talk[0]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["diff", "kitchen", "other"], 1), (["search", "-f", "kitchen", "wok"], 0), (["diff", "kitchen", "none"], 2)],
)
def test_talk_that_a_full_disk_swallows_changes_nothing(kitchen: Path, arguments: list[str], code: int) -> None:
    write_page(make_kitchen(kitchen.parent / "other"), "new.md", "# New\n")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(*arguments),
            cwd=kitchen.parent,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=full,
            check=False,
        )
    assert (done.returncode, bool(done.stdout)) == (code, code < 2)


# Odd places


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="file names are Unicode there")
@pytest.mark.parametrize(
    "arguments",
    [["list", "--json"], ["validate"], ["search", "wok"], ["embed"], ["pack", "--force", "-o", "../x.zip"]],
)
def test_a_file_name_that_is_not_utf8_stops_nothing(kitchen: Path, arguments: list[str]) -> None:
    (kitchen / os.fsdecode(b"caf\xe9.md")).write_text("# Coffee\n", encoding="utf-8")
    run = forked(*arguments, cwd=kitchen)
    assert run.code in (0, 1)
    assert run.out
    assert "error: the index" not in run.err


def test_a_query_that_is_not_utf8_is_no_crash(kitchen: Path) -> None:
    run = memoryfield("search", os.fsdecode(b"caf\xe9 wok"), "--min-score", "0", "--json", cwd=kitchen)
    assert run.code == 0
    assert [hit["filename"] for hit in run.json["results"]] == ["woks.md"]


def _cannot_read(folder: Path) -> None:
    (folder / "pans.md").chmod(0)


def _is_a_folder(folder: Path) -> None:
    (folder / "pans.md").unlink()
    (folder / "pans.md").mkdir()


def _obey_permissions() -> None:
    """Take the right to ignore permissions from a process of root's, before it starts its program."""
    if os.geteuid() == 0:
        import ctypes

        library = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            library.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such permissions there")
@pytest.mark.parametrize(
    ("spoil", "arguments"),
    [
        (_cannot_read, ["list"]),
        (_cannot_read, ["search", "wok"]),
        (_cannot_read, ["read", "pans", "woks"]),
        (_cannot_read, ["validate"]),
        (_is_a_folder, ["search", "wok"]),
    ],
)
def test_a_page_that_cannot_be_read_spoils_only_itself(
    kitchen: Path, spoil: Callable[[Path], None], arguments: list[str]
) -> None:
    spoil(kitchen)
    run = memoryfield(*arguments, cwd=kitchen, before=_obey_permissions)
    assert run.code in (0, 1)
    if arguments[0] != "validate":
        assert "woks.md" in run.out
    if spoil is _cannot_read and arguments[0] != "list":
        assert "pans" in run.out + run.err


# Being ended


ENDED = {
    "write": ["write", "-f", "kitchen", "new.md"],
    "merge": ["merge", "other", "-f", "kitchen"],
    "add": ["add", "--project", "notes", "other"],
}


@posix_only
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("name", ENDED)
def test_a_command_that_is_asked_to_end_leaves_nothing_half_made(kitchen: Path, name: str, number: str) -> None:
    place = kitchen.parent
    make_kitchen(place / "other")
    write_page(place / "other", "new.md", "# New\n")
    write_page(kitchen, "bare.md", "# Bare\n")
    before = sorted(path.relative_to(place) for path in place.rglob("*"))
    slow = (
        "import os, sys, time\n"
        "def slow(*_): print('x', flush=True); time.sleep(0.7)\n"
        "os.fsync = slow\n"
        "from memoryfield.cli import entry; entry()"
    )
    told = [sys.executable, "-c", slow, *ENDED[name]]
    with subprocess.Popen(
        told, cwd=place, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"# New\n")
        process.stdin.close()
        assert process.stdout.readline() == b"x\n"
        process.send_signal(getattr(signal, number))
        process.wait(30)
        assert process.stderr
        assert (process.returncode, process.stderr.read()) == (130, b"interrupted\n")
    assert sorted(path.relative_to(place) for path in place.rglob("*")) == before


@posix_only
def test_a_command_that_is_not_to_mind_the_terminal_goes_on(kitchen: Path) -> None:
    slow = (
        "import os, signal; from memoryfield import field; really = field.Field.open\n"
        "def late(*given): os.kill(os.getpid(), signal.SIGHUP); return really(*given)\n"
        "field.Field.open = late\n"
        "from memoryfield.cli import entry; entry()"
    )
    told = [sys.executable, "-c", slow, "list", "-f", str(kitchen)]
    ignored = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # noqa: E731 - as nohup does
    done = subprocess.run(told, capture_output=True, env=environment(), preexec_fn=ignored, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


# what is advised


def test_an_advised_command_names_the_field_as_it_was_given(tmp_path: Path) -> None:
    make_kitchen(tmp_path / "my kitchen")
    long = "# Long\n\n" + "Words.\n" * 1500
    run = forked("write", "-f", "my kitchen", "long", cwd=tmp_path, stdin=long)
    assert "`memoryfield split -f 'my kitchen' long` cuts it" in run.err
    given = ("read", "-f", "my kitchen", "woks#x", "--json")
    assert "`memoryfield read -f 'my kitchen' --outline woks.md`" in forked(*given, cwd=tmp_path).err
    refused = forked("write", "-f", "my kitchen", "woks", "--replace", "--json", cwd=tmp_path, stdin="\n")
    assert refused.json["error"]["hint"] == "`memoryfield delete -f 'my kitchen'` deletes a page."
    assert "no index: run `memoryfield embed -f 'my kitchen'`" in forked("info", "-f", "my kitchen", cwd=tmp_path).out


def test_it_names_none_where_the_place_tells(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen")
    for env in ({}, {"MEMORYFIELD": str(kitchen)}):
        assert "run `memoryfield embed`\n" in forked("info", cwd=kitchen, env=env).out
