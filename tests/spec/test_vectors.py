"""The conformance vectors of spec/vectors: our reader, search and validator find what they say; judges see the rest."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from memoryfield import Field
from memoryfield.containers import open_container
from memoryfield.embedders.base import page_input
from memoryfield.errors import ArchiveError, UnsafeArchiveError
from memoryfield.page import Page

from .changes import broken_by_change
from .exchanges import Server, alternatives
from .profile import broken_by_archive, content_hash

SPEC = Path(__file__).parents[2] / "spec"
VECTORS = SPEC / "vectors"
PROFILE = {"A-6", "A-7", "A-8", "A-9", "A-10"}
TRANSPORTS = {"folder": ("T-1", "modified"), "git": ("T-2", "committed"), "s3": ("T-3", "listed")}


class Case(NamedTuple):
    """One case: its name, `valid/…` or `invalid/…`, and its expect.json."""

    name: str
    expect: dict[str, Any]

    @property
    def breaks(self) -> set[str]:
        return set(self.expect.get("breaks", []))

    @property
    def claims(self) -> set[str]:
        """The requirements that it is about."""
        return self.breaks | set(self.expect.get("keeps", []))


CASES = [
    Case(f"{file.parent.parent.name}/{file.parent.name}", json.loads(file.read_text(encoding="utf-8")))
    for file in sorted(VECTORS.glob("*valid/*/expect.json"))
]


def cases_with(key: str) -> pytest.MarkDecorator:
    """A test of every case whose expectations have this key."""
    chosen = [case for case in CASES if key in case.expect]
    return pytest.mark.parametrize("case", chosen, ids=[case.name for case in chosen])


def make(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run make.py."""
    return subprocess.run([sys.executable, "-B", VECTORS / "make.py", *arguments], capture_output=True, text=True)


def test_make_tells_of_a_file_that_is_not_listed(tmp_path: Path) -> None:
    folder = tmp_path / "valid" / "small-field" / "field"
    folder.mkdir(parents=True)
    (folder / "extra.md").write_text("# Of an earlier time\n", encoding="utf-8")
    run = make(tmp_path)
    assert run.returncode == 1
    assert run.stderr.splitlines()[-1] == "valid/small-field/field/extra.md: is not listed"


def folder_of(made: Path, case: Case) -> Path:
    """A case's folder, or no test where it needs links, or names that differ by case, and there are none."""
    folder = made / case.name
    if not folder.exists():
        pytest.skip("this file system cannot hold it")
    return folder


def location_of(folder: Path) -> Path:
    """The field of a case: a folder, or an archive."""
    return next(folder.glob("*.zip"), folder / "field")


def opened(location: Path) -> Field | None:
    """The field; None for a file that is no zip."""
    try:
        return Field.open(location)
    except ArchiveError:
        return None


# reading


@cases_with("pages")
def test_a_reader_finds_the_pages(made: Path, case: Case) -> None:
    field = opened(location_of(folder_of(made, case)))
    found = {page.filename: page for page in field.pages([])} if field else {}
    if field:
        field.close()
    expected = case.expect["pages"]
    required = {name for name, page in expected.items() if page is not None}
    assert required <= found.keys() <= expected.keys()
    for name in required:
        ours = seen(found[name])
        assert {key: ours[key] for key in expected[name]} == expected[name], name


def seen(page: Page) -> dict[str, Any]:
    """What a reader makes of a page, as expect.json has it."""
    return {
        "title": page.title,
        "frontmatter": page.frontmatter if page.has_frontmatter else None,
        "body_sha256": hashlib.sha256(page.body.encode()).hexdigest(),
        "sha256": page.sha256,
    }


OF_ARCHIVES = {"A-4", "A-5", "A-12", "A-13", "A-14", "S-1"}


@cases_with("refused")
def test_a_reader_refuses_it(made: Path, case: Case) -> None:
    reasons = {one["filename"] for one in case.expect["faults"] if one["requirement"] in OF_ARCHIVES}
    assert case.expect["refused"] in reasons
    assert "pages" not in case.expect
    with pytest.raises(UnsafeArchiveError) as caught:
        Field.open(location_of(folder_of(made, case)))
    assert caught.value.entry in reasons


@cases_with("searches")
def test_a_search_finds_them(made: Path, case: Case) -> None:
    with Field.open(location_of(folder_of(made, case))) as field:
        for search in case.expect["searches"]:
            result = field.search(
                search["q"], mode="keyword", min_score=0, limit=100, as_of=search.get("as_of"), sync=True
            )
            found = {hit.filename for hit in result.results}
            assert found >= set(search["results"]), search["q"]
            assert not found & set(search.get("absent", [])), search["q"]


@cases_with("searches")
def test_every_word_that_is_searched_for_stands_in_the_page(made: Path, case: Case) -> None:
    with Field.open(location_of(folder_of(made, case))) as field:
        for search in case.expect["searches"]:
            for name in search["results"]:
                page = field.read(name)
                held = f"{name} {page.title} {page.summary} {page.body}".casefold()
                assert all(word in held for word in search["q"].casefold().split()), search["q"]


# validating


@cases_with("faults")
def test_a_validator_finds_the_faults(made: Path, case: Case) -> None:
    expected = [(one["requirement"], one["severity"], one["filename"], one["line"]) for one in case.expect["faults"]]
    if "S-7" in case.breaks and find_spec("detect_secrets") is None:
        pytest.skip("secrets are looked for with detect-secrets")
    allowed = case.expect.get("may_report", [])
    found = [one for one in reported(location_of(folder_of(made, case))) if one[0] not in allowed]
    assert sorted(map(_on_windows, found)) == sorted(map(_on_windows, expected))


def _on_windows(fault: tuple[str, str, str, int]) -> tuple[str, str, str, int]:
    """A fault as Windows has it: its Python gives an entry's name with slashes only."""
    return (fault[0], fault[1], fault[2].replace("\\", "/"), fault[3])


def reported(location: Path) -> list[tuple[str, str, str, int]]:
    """What our validator says of a field, also of one that no reader opens; a file that is no zip is refused before."""
    try:
        container = open_container(location, strict=False)
    except ArchiveError:
        return [("A-1", "error", "", 0)]
    with Field(container) as field:
        return [(fault.requirement, fault.severity, fault.filename, fault.line) for fault in field.validate()]


def test_valid_cases_have_notices_at_most() -> None:
    for case in CASES:
        severities = {fault["severity"] for fault in case.expect.get("faults", [])}
        assert case.breaks if case.name.startswith("invalid") else severities <= {"notice"}, case.name


def test_severity_follows_the_key_word() -> None:
    severities = {"MUST": "error", "SHOULD": "warning", "MAY": "notice"}
    for case in CASES:
        for fault in case.expect.get("faults", []):
            word = next(word for word in severities if word in REQUIREMENTS[fault["requirement"]])
            assert fault["severity"] == severities[word], case.name


# what the judges say


@cases_with("exchange")
def test_an_exchange(made: Path, case: Case) -> None:
    for exchange in alternatives(case.expect["exchange"]):
        assert Server(folder_of(made, case) / "field", case.expect.get("server", {})).breaks(exchange) == case.breaks


CHANGES = [case for case in CASES if not case.expect.keys() & {"exchange", "faults", "pages"}]


@pytest.mark.parametrize("case", CHANGES, ids=[case.name for case in CHANGES])
def test_a_change(made: Path, case: Case) -> None:
    folder = folder_of(made, case)
    renamed = case.expect.get("renamed", {})
    assert broken_by_change(folder / "before", folder / "after", renamed) == case.breaks


PACKED = [case for case in CASES if case.claims & PROFILE]


@pytest.mark.parametrize("case", PACKED, ids=[case.name for case in PACKED])
def test_a_reproducible_archive(made: Path, case: Case, tmp_path: Path) -> None:
    assert broken_by_archive(location_of(folder_of(made, case)), tmp_path) == case.breaks


@cases_with("content_hash")
def test_a_content_hash(made: Path, case: Case) -> None:
    is_right = content_hash(folder_of(made, case) / "field") == case.expect["content_hash"]
    assert is_right is ("A-11" not in case.breaks)


@cases_with("embedding_input")
def test_what_is_embedded(made: Path, case: Case) -> None:
    for name, expected in case.expect["embedding_input"].items():
        raw = (folder_of(made, case) / "field" / name).read_bytes()
        ours = page_input(raw).encode()
        is_ours = {"bytes": len(ours), "sha256": hashlib.sha256(ours).hexdigest()} == expected
        assert is_ours is ("X-4" not in case.breaks)


@cases_with("times")
def test_the_time_that_an_index_has(made: Path, case: Case) -> None:
    requirement, key = TRANSPORTS[case.expect["transport"]]
    (file,) = (folder_of(made, case) / "field").glob("*.sqlite3")
    with closing(sqlite3.connect(file)) as connection:
        rows = dict(connection.execute("SELECT filename, last_modified FROM pages"))
    is_right = all(
        datetime.datetime.fromisoformat(rows[name]) == datetime.datetime.fromisoformat(times[key])
        for name, times in case.expect["times"].items()
    )
    assert is_right is (requirement not in case.breaks)


# completeness


REQUIREMENTS = dict(re.findall(r"^- \*\*([A-Z]-\d+)\*\* (.*)", (SPEC / "memoryfield.md").read_text("utf-8"), re.M))


README = (VECTORS / "README.md").read_text(encoding="utf-8")
_IDENTIFIERS = r"[A-Z]-\d+(?:(?: to |, )[A-Z]-\d+)*"


def identifiers(cell: str) -> Iterator[str]:
    """The requirements in a cell such as `F-3 to F-6, F-9`."""
    for letter, first, last in re.findall(r"([A-Z])-(\d+)(?: to [A-Z]-(\d+))?", cell):
        yield from (f"{letter}-{number}" for number in range(int(first), int(last or first) + 1))


def without_cases() -> dict[str, set[str]]:
    """The requirements that the README says have no case, and what is missing: keeps, breaks."""
    rows = re.findall(rf"^\| ({_IDENTIFIERS}) \| ([a-z ]+) \| \S.*\|$", README, re.MULTILINE)
    return {one: set(kinds.split(" and ")) for cell, kinds in rows for one in identifiers(cell)}


def test_every_requirement_is_kept_and_broken_or_excused() -> None:
    excused = without_cases()
    missing = {
        requirement: lacking
        for requirement in REQUIREMENTS
        if (
            lacking := {
                key for key in ("keeps", "breaks") if not any(requirement in case.expect.get(key, []) for case in CASES)
            }
        )
    }
    assert missing == excused


def test_the_readme_says_where_each_fault_stands() -> None:
    lines: dict[str, set[int]] = {}
    for fault in (fault for case in CASES for fault in case.expect.get("faults", [])):
        lines.setdefault(fault["requirement"], set()).add(fault["line"])
    rows = re.findall(rf"^\| ({_IDENTIFIERS}) \| ([^|]+) \|$", README, re.MULTILINE)
    of_the_file = {one: "line 0" in where for cell, where in rows for one in identifiers(cell)}
    assert of_the_file == {requirement: found == {0} for requirement, found in lines.items()}


def test_the_coverage_is_printed() -> None:
    lines = make("--coverage").stdout.splitlines()
    assert [line.split()[0] for line in lines] == sorted(
        set().union(*(case.claims for case in CASES)), key=lambda name: (name[0], int(name[2:]))
    )


def test_no_case_names_an_unknown_requirement() -> None:
    named = {fault["requirement"] for case in CASES for fault in case.expect.get("faults", [])}
    assert named.union(*(case.claims for case in CASES)) <= REQUIREMENTS.keys()


def test_every_fault_is_of_a_requirement_that_the_case_names() -> None:
    for case in CASES:
        assert {fault["requirement"] for fault in case.expect.get("faults", [])} <= case.claims, case.name
