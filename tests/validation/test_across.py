"""Rules about pages beside each other."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from memoryfield.page import Page
from memoryfield.validation.across import Across, in_circles

from .support import OTHER, UUID, check, only, page, told, uuid_of, write


def field(folder: Path, *pages: str, select: str = "") -> list[str]:
    """What is told of a field of these pages, named p0.md and so on."""
    write(folder, {f"p{number}.md": text for number, text in enumerate(pages)})
    return told(check(folder, select))


# F-13


def test_each_page_with_the_uuid_of_another_is_an_error_that_names_the_first(tmp_path: Path) -> None:
    pages = [page(title=f"T{number}", body=f"B{number}") for number in range(3)]
    write(tmp_path, {"a.md": pages[0], "b.md": pages[1], "c.md": pages[2]})
    found = check(tmp_path)
    assert told(found) == ["b.md:3:1 error F-13", "c.md:3:1 error F-13"]
    assert all("a.md" in fault.message for fault in found)


def test_capitals_make_no_other_uuid(tmp_path: Path) -> None:
    found = field(tmp_path, page(), page(uuid=UUID.upper()), select="F-13,F-11")
    assert found == ["p1.md:3:1 warning F-11", "p1.md:3:1 error F-13"]


def test_pages_without_a_uuid_share_none(tmp_path: Path) -> None:
    assert field(tmp_path, page(uuid=""), page(uuid=""), "# No block\n", select="F-13") == []


#


@pytest.mark.parametrize("title", ["Woks", "WOKS", '" Woks "'])
def test_a_title_that_another_page_has_is_a_notice(tmp_path: Path, title: str) -> None:
    found = field(tmp_path, page(body="one"), page(title=title, uuid=OTHER, body="two"))
    assert found == ["p1.md:2:1 notice R-1"]


def test_titles_that_are_headings_or_names_are_not_compared(tmp_path: Path) -> None:
    assert field(tmp_path, "# Woks\n\none\n", "# Woks\n\ntwo\n", select="R") == []


@pytest.mark.parametrize("body", ["Text", "\n\nText\n\n"])
def test_a_body_that_another_page_has_is_a_notice(tmp_path: Path, body: str) -> None:
    assert field(tmp_path, page(), page(title="Pans", uuid=OTHER, body=body)) == ["p1.md notice R-5"]


def test_empty_bodies_are_not_the_same_text(tmp_path: Path) -> None:
    assert field(tmp_path, page(body=""), page(uuid=OTHER, body=""), select="R-5") == []


# K-6, K-7


def chain(numbers: list[list[int]]) -> dict[str, str | bytes]:
    """Pages, each of which supersedes those with the given numbers."""
    return {
        f"p{number}.md": page(
            title=f"T{number}",
            uuid=uuid_of(number),
            body=f"B{number}",
            more=f"supersedes: [{', '.join(map(uuid_of, targets))}]\n",
        )
        for number, targets in enumerate(numbers)
    }


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([[1], [2], []], []),
        ([[1, 2], [2], []], []),
        ([[0]], ["p0.md:6:1 warning K-7"]),
        ([[1], [0]], ["p0.md:6:1 warning K-7", "p1.md:6:1 warning K-7"]),
        ([[1], [2], [0], [0]], ["p0.md:6:1 warning K-7", "p1.md:6:1 warning K-7", "p2.md:6:1 warning K-7"]),
        ([[1], [9]], ["p1.md:6:1 warning K-6"]),
        ([[8, 9], []], ["p0.md:6:1 warning K-6"] * 2),
    ],
)
def test_supersedes_leads_to_pages_and_never_back(
    tmp_path: Path, numbers: list[list[int]], expected: list[str]
) -> None:
    write(tmp_path, chain(numbers))
    assert told(check(tmp_path)) == expected


def test_a_page_without_uuid_may_supersede_another(tmp_path: Path) -> None:
    first = page(uuid="", more=f"supersedes: {OTHER}\n")
    assert field(tmp_path, first, page(title="Pans", uuid=OTHER, body="two"), select="K") == []


def test_circles_are_those_from_which_a_way_leads_back() -> None:
    rng = random.Random(7)
    for _ in range(300):
        names = [str(number) for number in range(rng.randint(1, 8))]
        targets = {name: rng.choices([*names, "gone"], k=rng.randint(0, 3)) for name in names if rng.random() < 0.9}
        expected = {name for name in targets if name in reached(targets, name)}
        assert in_circles(targets) == expected, targets


def reached(targets: dict[str, list[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(targets[start])
    while waiting:
        if (name := waiting.pop()) not in found:
            found.add(name)
            waiting += targets.get(name, [])
    return found


class Counted(str):
    """A name that counts how often it is compared or looked up."""

    __slots__ = ()
    looks = 0

    def __hash__(self) -> int:
        Counted.looks += 1
        return str.__hash__(self)

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("shape", ["line", "ring", "pairs", "fan"])
def test_circles_are_found_in_linear_time(shape: str) -> None:
    def looks(count: int) -> int:
        nodes = [Counted(number) for number in range(count)]
        ways: dict[str, Callable[[int], list[Counted]]] = {
            "line": lambda at: nodes[at + 1 : at + 2],
            "ring": lambda at: [nodes[(at + 1) % count]],
            "pairs": lambda at: [*nodes[at + 1 : at + 2], nodes[max(0, at - 1)]] if at % 2 else nodes[at + 1 : at + 2],
            "fan": lambda at: nodes[1:] if at == 0 else [nodes[0]],
        }
        targets = {node: list(ways[shape](at)) for at, node in enumerate(nodes)}
        Counted.looks = 0
        in_circles(targets)  # type: ignore[arg-type]
        return Counted.looks

    assert looks(10_000) < 12 * looks(1_000)


# L-1


@pytest.mark.parametrize(
    "body",
    [
        "[b](b.md), [b](b.md#part), [b](./b.md), [b](<b.md>), [b][1]\n\n[1]: b.md",
        "[web](https://example.com/gone.md), [mail](mailto:a@b.md), [up](../gone.md)",
        "[in](sub/gone.md), [top](#gone.md)",
        "`[x](gone.md)` and ``[x](gone.md)``",
        "```\n[x](gone.md)\n[1]: gone.md\n```",
        "Text\n\n    [x](gone.md)\n",
        "<!-- [x](gone.md) -->",
        "[picture](gone.png), [text](gone.markdown), gone.md",
        "[a](a.md \"itself\"), [b](b.md 'b')",
    ],
)
def test_links_to_pages_and_elsewhere_are_no_fault(tmp_path: Path, body: str) -> None:
    write(tmp_path, {"a.md": page(body=body), "b.md": page(title="Pans", uuid=OTHER)})
    assert told(check(tmp_path)) == []


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("[x](gone.md)", "8:5"),
        ("one\ntwo [x](gone.md#part)", "9:9"),
        ("[x][1]\n\n[1]: gone.md", "10:6"),
        ("[x](<gone.md>)", "8:6"),
        ("`code` [x](gone.md)", "8:12"),
        ("![x](gone.md)", "8:6"),
        ("- [x](./gone.md)", "8:7"),
        ("[x](g%6fne.md)", "8:5"),
        ("> [x](gone.md)", "8:7"),
    ],
)
def test_a_link_to_a_page_that_is_not_there_is_a_warning_at_its_place(tmp_path: Path, body: str, place: str) -> None:
    write(tmp_path, {"a.md": page(body=body)})
    fault = only(check(tmp_path))
    assert told([fault]) == [f"a.md:{place} warning L-1"]
    assert "gone.md" in fault.message


def test_the_page_that_was_meant_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": page(body="[x](A.md)")})
    assert "(a.md is)" in only(check(tmp_path)).message


def test_two_links_of_one_line_are_two_faults_and_of_many_the_first_are_told(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": page(body="[x](gone.md) [y](lost.md)")})
    assert told(check(tmp_path)) == ["a.md:8:18 warning L-1", "a.md:8:5 warning L-1"][::-1]
    write(tmp_path, {"a.md": page(body="[x](gone.md)\n" * 100)})
    found = check(tmp_path)
    assert len(found) == 21
    assert (found[-1].line, "80 more links" in found[-1].message) == (28, True)


# I-1, I-2


def catalogue(folder: Path, named: int, others: int, *, as_text: bool = False) -> list[str]:
    pages: dict[str, str | bytes] = {
        f"p{number}.md": page(title=f"T{number}", uuid=uuid_of(number), body=f"B{number}") for number in range(others)
    }
    lines = [f"- p{number}.md" if as_text else f"- [T](p{number}.md)" for number in range(named)]
    write(folder, {**pages, "index.md": page(body="\n".join(["About.", "", *lines]))})
    return told(check(folder))


@pytest.mark.parametrize(
    ("named", "others", "expected"),
    [
        (9, 9, []),
        (10, 10, ["index.md error I-1"]),
        (10, 19, ["index.md error I-1"]),
        (10, 20, []),
        (11, 20, ["index.md error I-1"]),
        (0, 3, []),
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_an_introduction_with_some_links_is_no_catalogue(
    tmp_path: Path, named: int, others: int, expected: list[str], as_text: bool
) -> None:
    assert catalogue(tmp_path, named, others, as_text=as_text) == expected


def test_a_listing_names_pages_by_whatever_names_they_have(tmp_path: Path) -> None:
    pages = {
        name: page(title=name, uuid=uuid_of(number), body=name) for number, name in enumerate(["The B.md", "ü.md"])
    }
    write(tmp_path, {**pages, "listing.md": page(title="L", uuid=OTHER, body="- The B.md")})
    assert told(check(tmp_path, select="I-2")) == ["listing.md warning I-2"]
    write(tmp_path, {"listing.md": page(title="L", uuid=OTHER, body="- The B.md\n- ü.md")})
    assert told(check(tmp_path, select="I-2")) == []


def test_one_page_named_often_is_no_catalogue(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": page(), "index.md": page(title="I", uuid=OTHER, body="[a](a.md) " * 20)})
    assert told(check(tmp_path)) == []


def test_a_listing_names_every_page(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {
        f"p{number}.md": page(title=f"T{number}", uuid=uuid_of(number), body=f"B{number}") for number in range(6)
    }
    listing = page(body="[p0](p0.md), p1.md, [p2][2]\n\n[2]: p2.md\n\np3.md p4.md p5.md")
    write(tmp_path, {**pages, "listing.md": listing})
    assert told(check(tmp_path)) == []
    write(tmp_path, {"listing.md": page(body="p0.md and `p1.md`")})
    fault = only(check(tmp_path))
    assert told([fault]) == ["listing.md warning I-2"]
    assert "p2.md, p3.md, p4.md and 1 more" in fault.message


def test_a_page_of_one_long_word_is_looked_through_in_linear_time() -> None:
    across = Across({"index.md", "a.md"})
    text = page(body="a" * 400_000)  # quadratic, it would take minutes
    assert list(across.look(Page("index.md", text.encode()))) == []


def test_a_page_of_broken_links_is_told_in_linear_time() -> None:
    across = Across({"a.md"})
    found = list(across.look(Page("a.md", page(body="[x](gone.md)\n" * 100_000).encode())))
    assert len(found) == 21
