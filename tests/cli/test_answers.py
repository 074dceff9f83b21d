"""What commands answer with --json: each has a schema, and each key that a schema describes occurs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from memoryfield.answers import SCHEMA
from memoryfield.cli.main import COMMANDS
from memoryfield.specification import shapes

from .shapes import answers, closed, faults
from .support import PAGES, WOKS, Run, command, environment, forked, make_kitchen, memoryfield, write_page
from .test_help import SUBCOMMANDS

ZIP = "kitchen.memoryfield.zip"
DAMAGED = "damaged.memoryfield.zip"
UNSAFE = "unsafe.memoryfield.zip"
BROKEN = "---\ntitle: Re: the hose\ncreated: 2026-05-02 10:00:00+02:00\ntags: [\n---\n\nThe hose.\n"
STALE = '---\ntitle: A wok on fire\nexpires: "2020-01-01"\n---\n\nA wok.\n'


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every key of every answer can be had."""
    folder = tmp_path_factory.mktemp("answers")
    kitchen = make_kitchen(folder / "kitchen", embedded=True)
    (kitchen / "photo.jpg").write_bytes(b"\xff\xd8 a photo")
    (kitchen / ".DS_Store").write_bytes(b"debris")
    for name in (ZIP, DAMAGED, "old.memoryfield.zip"):
        assert forked("pack", "-f", "kitchen", "--store", "-o", name, cwd=folder).code == 0
    _damage(folder / DAMAGED)
    _make_unsafe(folder / UNSAFE)
    broken = make_kitchen(folder / "broken")
    write_page(broken, "broken.md", BROKEN)
    write_page(broken, "latin.md", b"# W\xf6ks\n\nText.\n")
    write_page(broken, "stale.md", STALE)
    (broken / "nomic-embed-text-v1.5.sqlite3").write_bytes(b"no index")
    mendable = make_kitchen(folder / "mendable")
    write_page(mendable, "The Hose.md", "---\ntitle: Re: the hose\n---\n\nThe hose.\n")
    again = "# The wok that heats evenly\n\nTake one of carbon steel: it heats evenly, and it is light.\n"
    write_page(folder, "again.txt", again)
    _make_relatives(folder)
    return folder


def _damage(archive: Path) -> None:
    raw = archive.read_bytes()
    start = raw.index(b"A carbon steel wok")
    archive.write_bytes(raw[:start] + b"X" + raw[start + 1 :])


def _make_unsafe(archive: Path) -> None:
    import zipfile

    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("../out.md", "Text.")
        zipped.writestr("__MACOSX/._in.md", "debris")


def _make_relatives(folder: Path) -> None:
    """A field that others were made of: `theirs` changed, renamed, added and deleted in."""
    make_kitchen(folder / "base")
    ours, theirs = make_kitchen(folder / "ours"), make_kitchen(folder / "theirs")
    (ours / "photo.jpg").write_bytes(b"\xff\xd8 a photo")
    (theirs / "picture.jpg").write_bytes(b"\xff\xd8 a photo")
    (ours / "woks.md").write_text(WOKS.replace("light", "thin").replace("summary: Carbon steel.\n", ""))
    (theirs / "woks.md").write_text(WOKS.replace("light", "cheap").replace("title: Which", "rank: 1\ntitle: What"))
    (theirs / "pans.md").rename(theirs / "cast-iron-pans.md")


def _editor(folder: Path) -> str:
    script = folder / "editor.py"
    script.write_text("import sys; open(sys.argv[1], 'a').write('More.\\n')")
    return f"{sys.executable} {script}"


CALLS: list[tuple[int, list[str]]] = [
    (0, ["create", "new", "--title", "New"]),
    (0, ["create", "with-git", "--git"]),
    (0, ["write", "-f", "new", "page"]),
    (0, ["edit", "-f", "new", "page"]),
    (0, ["rename", "-f", "new", "page", "other"]),
    (0, ["delete", "-f", "new", "other", "--yes"]),
    (1, ["read", "-f", "broken", "broken", "pans", "wok"]),
    (0, ["read", "-f", "kitchen", "woks", "--body"]),
    (1, ["read", "-f", DAMAGED, "woks"]),
    (0, ["list", "-f", "broken"]),
    (1, ["list", "-f", DAMAGED]),
    (1, ["embed", "-f", "broken", "--model", "all-MiniLM-L6-v2"]),
    (0, ["info", "-f", "broken"]),
    (0, ["search", "-f", "broken", "wok", "--include-stale", "--full"]),
    (0, ["similar", "-f", "kitchen", "woks", "--min-score", "0"]),
    (0, ["embed", "-f", "broken", "--drop", "all-MiniLM-L6-v2"]),
    (0, ["models"]),
    (1, ["validate", "-f", "broken"]),
    (1, ["validate", "-f", "mendable", "--diff"]),
    (0, ["validate", "-f", "mendable", "--fix"]),
    (0, ["validate", "--explain", "F"]),
    (0, ["validate", "--explain", "F-8"]),
    (0, ["pack", "-f", "kitchen", "--store", "--sidecar", "--replace"]),
    (3, ["pack", "-f", "broken", "--dry-run"]),
    (0, ["unpack", ZIP, "unpacked"]),
    (0, ["unpack", ZIP, "--into", "unpacked"]),
    (0, ["verify", ZIP, "--sidecar"]),
    (1, ["verify", DAMAGED]),
    (1, ["diff", "ours", "theirs"]),
    (1, ["diff", "kitchen", DAMAGED]),
    (3, ["merge", "theirs", "-f", "ours", "--base", "base"]),
    (0, ["merge", "theirs", "-f", "ours", "--base", "base", "--both"]),
    (0, ["add", "cook", ZIP]),
    (0, ["fields", "--check"]),
    (0, ["update", "cook"]),
    (0, ["update", "cook", "--yes"]),
    (3, ["fields", "--check"]),
    (0, ["remove", "cook"]),
    (1, ["rename", "-f", "kitchen", "wok", "pan"]),
    (3, ["search", "-f", UNSAFE, "wok"]),
    (3, ["verify", ZIP, "--sha256", "0" * 64]),
    (3, ["pack", "-f", "broken"]),
    (1, ["read", "-f", "kitchen", "woks#Woks", "woks#wok"]),
    (0, ["read", "-f", "kitchen", "woks", "--outline"]),
    (0, ["write", "-f", "kitchen", "woks-again", "--from", "again.txt"]),
    (3, ["write", "-f", "kitchen", "woks-anew", "--no-duplicates", "--from", "again.txt"]),
    (0, ["split", "-f", "kitchen", "long"]),
    (1, ["import", "notes", "-f", "kitchen"]),
    (0, ["export", "kitchen.jsonl", "-f", "kitchen", "--to", "jsonl"]),
    (0, ["skill", "install", "--project", "--agent", "codex"]),
    (0, ["skill", "status"]),
    (0, ["skill", "uninstall", "--project"]),
    (0, ["mcp", "install", "--project", "--agent", "codex", "-f", "kitchen"]),
    (0, ["mcp", "status"]),
    (0, ["mcp", "uninstall", "--project", "--agent", "codex"]),
]
"""Calls in their order, each with --json, and the exit code. Together they answer with every key that there is."""


def call(place: Path, arguments: list[str]) -> Run:
    """One of the calls; before some, something happens."""
    if arguments == ["update", "cook", "--yes"]:
        write_page(place / "kitchen", "pans.md", PAGES["pans.md"].replace("heavy", "very heavy"))
        assert forked("pack", "-f", "kitchen", "-o", ZIP, "--replace", cwd=place).code == 0
    if arguments == ["fields", "--check"] and (place / "seen").exists():
        (place / ZIP).write_bytes((place / ZIP).read_bytes() + b"X")
    if arguments[0] == "split":
        write_page(
            place / "kitchen", "long.md", "# Long\n\n" + "".join(f"## Part {n}\n\n{'Text. ' * 900}\n\n" for n in "ab")
        )
    if arguments[0] == "import":
        (place / "notes").mkdir()
        write_page(place / "notes", "Note.md", "A note with ![a picture](nowhere.png).\n")
        write_page(place / "notes", "latin.md", "x")
        (place / "notes" / "latin.md").write_bytes(b"W\xf6k\n")
    (place / "seen").touch() if arguments[0] == "fields" else None
    run = memoryfield if arguments[0] in ("embed", "search", "similar", "write") else forked
    env = {"EDITOR": _editor(place), "HOME": str(place / "home")}
    return run(*arguments, "--json", cwd=place, stdin="Text.\n", env=env)


@pytest.fixture(scope="module")
def answered(place: Path) -> dict[str, list[Any]]:
    """What all calls answered, by the name of its schema; each is as its schema says, or the call fails."""
    found: dict[str, list[Any]] = {}
    for code, arguments in CALLS:
        run = call(place, arguments)
        assert run.code == code, (arguments, run)
        for name, value in answers([*arguments, "--json"], run.raw):
            found.setdefault(name, []).append(value)
    found["schema"] = [forked("schema", cwd=place).json]
    return found


def described(schema: Any, pointer: str) -> Iterator[str]:
    """Where keys are described in a schema, what it refers to left out."""
    if isinstance(schema, list):
        for number, part in enumerate(schema):
            yield from described(part, f"{pointer}/{number}")
    if isinstance(schema, dict):
        for key in schema.get("properties", {}) if isinstance(schema.get("properties"), dict) else ():
            yield f"{pointer}/{key}"
            yield from described(schema["properties"][key], f"{pointer}/{key}")
        for key in ("items", "anyOf"):
            yield from described(schema.get(key), f"{pointer}/{key}")


def occurring(schema: Any, value: Any, pointer: str) -> Iterator[str]:
    """Which of these occur in a value, and are not null."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        yield from occurring(shapes()[name], value, name)
    for number, choice in enumerate(schema.get("anyOf", [])):
        if Draft202012Validator({**closed(choice), "$defs": closed(shapes())}).is_valid(value):
            yield from occurring(choice, value, f"{pointer}/anyOf/{number}")
    if isinstance(value, list):
        for one in value:
            yield from occurring(schema.get("items", {}), one, f"{pointer}/items")
    if isinstance(value, dict):
        for key in schema.get("properties", {}).keys() & value.keys():
            if value[key] is not None:
                yield f"{pointer}/{key}"
            yield from occurring(schema["properties"][key], value[key], f"{pointer}/{key}")


def test_every_key_that_is_described_occurs(answered: dict[str, list[Any]]) -> None:
    seen = {
        pointer
        for name, values in answered.items()
        for value in values
        for pointer in occurring(shapes()[name], value, name)
    }
    every = {pointer for name, schema in shapes().items() for pointer in described(schema, name)}
    assert " ".join(sorted(every - seen)) == ""
    assert seen <= every


def test_every_command_with_json_has_a_schema_and_no_other(answered: dict[str, list[Any]]) -> None:
    (told,) = answered["schema"]
    with_json = {one["name"] for one in told["commands"] for option in one["options"] if "--json" in option["names"]}
    expected = (COMMANDS.keys() | set(SUBCOMMANDS)) - {"skill", "mcp"}
    assert with_json == expected - {"schema"}
    assert answered.keys() == {name.replace(" ", "-") for name in expected} | {"error"}


def test_every_answer_says_its_version_first(answered: dict[str, list[Any]]) -> None:
    for values in answered.values():
        assert all(next(iter(value.items())) == ("schema", SCHEMA) for value in values)


def test_the_tests_refuse_keys_that_no_schema_knows_and_the_published_schemas_do_not(
    answered: dict[str, list[Any]],
) -> None:
    for name, values in answered.items():
        for value in values:
            assert faults(name, {**value, "a-new-key": 1}) != []
            assert Draft202012Validator({**shapes()[name], "$defs": shapes()}).is_valid({**value, "a-new-key": 1})
        assert faults(name, {key: part for key, part in values[0].items() if key != "schema"}) != []


# errors


def test_with_json_an_error_is_json_too_and_is_said_as_before(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen")
    run = forked("write", "woks", "--json", cwd=kitchen, stdin="Text.")
    assert run.json == {
        "schema": 1,
        "error": {
            "kind": "page-exists",
            "message": "woks.md exists already ('Which wok heats evenly?')",
            "hint": "Use --replace to replace it, --append to add to it, or another name: woks-2.md.",
            "exit": 3,
        },
    }
    assert run.out.count("\n") == 1
    plain = forked("write", "woks", cwd=kitchen, stdin="Text.")
    assert (plain.code, plain.out, plain.err) == (3, "", run.err)


@pytest.mark.parametrize(
    ("arguments", "kind", "code"),
    [
        (["search", "--nonsense", "--json"], "usage", 2),
        (["nonsense", "--json"], "usage", 2),
        (["list", "-f", "nowhere", "--json"], "field-not-found", 2),
        (["write", "--from", "nowhere.md", "--json"], "system", 1),
        (["search", "wok", "--model", "nonsense", "--json"], "unknown-model", 2),
        (["search", "-", "-f", "nowhere", "--json"], "field-not-found", 2),
        (["similar", "wok", "--json"], "page-not-found", 1),
    ],
)
def test_every_kind_of_error_is_told_with_its_exit_code(
    tmp_path: Path, arguments: list[str], kind: str, code: int
) -> None:
    run = forked(*arguments, cwd=make_kitchen(tmp_path / "kitchen"), stdin="wok\n")
    assert (run.code, run.json["error"]["kind"], run.json["error"]["exit"]) == (code, kind, code)
    assert faults("error", run.json) == []
    assert run.err


def test_an_error_after_the_answer_is_on_standard_error_alone(place: Path, tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen")
    assert forked("pack", "-f", kitchen, cwd=tmp_path).code == 0
    assert forked("add", "cook", ZIP, cwd=tmp_path).code == 0
    write_page(kitchen, "new.md", "# New\n\nText.\n")
    assert forked("pack", "-f", kitchen, "--replace", cwd=tmp_path).code == 0
    run = forked("update", "cook", "--json", cwd=tmp_path)
    assert (run.code, run.json["moved"]) == (3, False)
    assert "the pin was not moved" in run.err


@pytest.mark.skipif(sys.platform == "win32", reason="pipes end otherwise there")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_error_for_which_nobody_is_there_or_no_room_is_said_once(tmp_path: Path, unbuffered: str) -> None:
    env = environment(PYTHONUNBUFFERED=unbuffered)
    reader, writer = os.pipe()
    os.close(reader)
    full = os.open("/dev/full", os.O_WRONLY) if Path("/dev/full").exists() else writer
    for out, codes in ((writer, (141, -13)), (full, (1, 141))):
        done = subprocess.run(
            command("list", "-f", "nowhere", "--json"), cwd=tmp_path, env=env, stdout=out, stderr=-1, check=False
        )
        assert done.returncode in codes
        assert done.stderr.count(b"\n") == 1, done.stderr
        assert done.stderr.startswith(b"error: no folder or archive at 'nowhere'")


def test_what_comes_after_the_options_does_not_ask_for_json(tmp_path: Path) -> None:
    run = forked("search", "-f", "nowhere", "--", "--json", cwd=tmp_path)
    assert (run.code, run.out) == (2, "")


# edit, rename, delete


def test_edit_says_whether_the_text_changed(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen")
    same = forked("edit", "woks", "--json", cwd=kitchen, env={"EDITOR": "true"})
    assert (same.code, same.json["changed"], same.json["filename"]) == (0, False, "woks.md")
    other = forked("edit", "woks", "--json", cwd=kitchen, env={"EDITOR": _editor(tmp_path)})
    assert (other.code, other.json["changed"]) == (0, True)
    assert other.json["sha256"] != same.json["sha256"]
    failed = forked("edit", "woks", "--json", cwd=kitchen, env={"EDITOR": "false"})
    assert (failed.code, failed.json["changed"]) == (1, False)


def test_rename_and_delete_answer_with_names(tmp_path: Path) -> None:
    kitchen = make_kitchen(tmp_path / "kitchen")
    renamed = forked("rename", "woks", "carbon-woks", "--json", cwd=kitchen)
    expected = {"schema": 1, "field": "kitchen", "filename": "carbon-woks.md", "old_name": "woks.md", "notes": []}
    assert renamed.json == expected
    deleted = forked("delete", "carbon-woks", "pans.md", "--yes", "--json", cwd=kitchen)
    assert deleted.json == {
        "schema": 1,
        "field": "kitchen",
        "deleted": ["carbon-woks.md", "pans.md"],
        "notes": [],
    }
    assert sorted(path.name for path in kitchen.iterdir()) == ["index.md"]


def test_what_was_deleted_before_one_could_not_be_is_told(tmp_path: Path) -> None:
    """The second is deleted by somebody else while the first is."""
    kitchen = make_kitchen(tmp_path / "kitchen")
    code = (
        "from memoryfield.containers.directory import DirectoryContainer as Folder\n"
        "from memoryfield.cli.main import main; delete = Folder.delete\n"
        "def slow(self, name):\n"
        "    delete(self, name); (self.location / 'woks.md').unlink()\n"
        "Folder.delete = slow; import sys; sys.argv = 'memoryfield delete pans woks --yes --json'.split(); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=kitchen, capture_output=True, check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout)["deleted"] == ["pans.md"]
    assert b"no page 'woks.md'" in done.stderr
