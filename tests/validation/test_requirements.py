"""The requirements, read from the written format: how grave each is, and how a breach is mended."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memoryfield.errors import UsageError
from memoryfield.validation import explain, requirements
from memoryfield.validation.requirements import _UNSEEN, MENDING, chosen

SPEC = (Path(__file__).parents[2] / "spec" / "memoryfield.md").read_text(encoding="utf-8")
IDENTIFIERS = re.findall(r"^- \*\*([A-Z]-\d+)\*\*", SPEC, re.MULTILINE)


def test_every_requirement_of_the_document_is_known_once() -> None:
    assert list(requirements()) == IDENTIFIERS
    assert len(set(IDENTIFIERS)) == len(IDENTIFIERS) > 100


def test_each_is_either_looked_for_or_excused() -> None:
    assert not MENDING.keys() & _UNSEEN.keys()
    assert MENDING.keys() | _UNSEEN.keys() == set(IDENTIFIERS)


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_each_can_be_explained(identifier: str) -> None:
    found = explain(f" {identifier.lower()} ")
    assert found.id == identifier
    assert f"**{identifier}** {found.text}\n  Why: {found.why}\n" in SPEC.replace(" *(ours)*", "")
    assert found.mend[0].isupper() or found.mend.startswith("`")
    assert found.mend.endswith((".", "`"))
    assert found.is_visible is not found.mend.startswith("No file shows this")


@pytest.mark.parametrize(
    ("identifier", "severity"),
    [("C-1", "error"), ("C-2", "error"), ("P-4", "warning"), ("F-8", "error"), ("R-1", "notice"), ("T-19", "error")],
)
def test_severity_follows_the_key_word(identifier: str, severity: str) -> None:
    assert explain(identifier).severity == severity


def test_the_gravest_key_word_counts() -> None:
    for one in requirements().values():
        words = [word for word in ("MUST", "SHOULD", "MAY") if word in one.text]
        assert {"MUST": "error", "SHOULD": "warning", "MAY": "notice"}[words[0]] == one.severity


@pytest.mark.parametrize("identifier", ["Z-1", "F-0", "F-99", "F", "", "8", "F-8, F-9", "F8"])
def test_an_identifier_of_none_is_wrong_usage(identifier: str) -> None:
    with pytest.raises(UsageError, match="no requirement"):
        explain(identifier)


def test_all_that_files_can_show_are_looked_for_unless_chosen() -> None:
    assert chosen([], []) == set(MENDING)
    assert chosen(["F"], []) == {one for one in MENDING if one.startswith("F-")}
    assert chosen(["f", "r-1, P-4"], ["F-8"]) == chosen(["F"], []) - {"F-8"} | {"R-1", "P-4"}
    assert chosen(["F-1" + "8"], []) == {"F-18"}
    assert chosen([], ["F,C"]) == {one for one in MENDING if one[0] not in "FC"}
    assert chosen(["F-8"], ["F-8"]) == set()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("Z", "neither"),
        ("", "neither"),
        ("F,", "neither"),
        ("all", "neither"),
        ("F-99", "no requirement 'F-99'"),
        ("F-1", "nothing looks for F-1"),
        ("T-5", "asked of servers"),
        ("T", "neither"),
        ("-", "no requirement"),
    ],
)
def test_what_cannot_be_looked_for_is_wrong_usage(given: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        chosen([given], [])
    with pytest.raises(UsageError, match=words):
        chosen([], [given])
