"""A long page cut into pages: where, what they say, and that nothing is lost."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryfield.errors import RefusedError
from memoryfield.outline import closing, outline
from memoryfield.page import Page
from memoryfield.splitting import Part, split_text
from memoryfield.validation.links import links

UUID = "0b8e9a3e-6f1c-4d6a-9a55-1d2c3b4a5f60"
HEAD = f"""---
title: Woks
summary: All about them.
uuid: {UUID}
created: "2026-01-02T03:04:05Z"
updated: "2026-01-03T03:04:05Z"
tags: [pans, steel]
aliases: [pan]
supersedes: 7d0b2c1e-0000-4000-8000-000000000001
source:
- https://example.org/woks
---

"""


def page(body: str, head: str = HEAD) -> Page:
    return Page("woks.md", (head + body).encode("utf-8"))


def prose(heading: str, size: int) -> str:
    """A section of so many bytes or a little more."""
    sentence = f"What is said of {heading.lstrip('# ').lower()} is said in this sentence.\n"
    return f"{heading}\n\n" + sentence * (size // len(sentence) + 1) + "\n"


def body(part: Part) -> str:
    return Page(part.name, part.raw).body


def names(parts: list[Part]) -> list[str]:
    return [part.name for part in parts]


def test_a_page_within_the_limit_stays_as_it_is() -> None:
    short = page("Short.\n")
    assert split_text(short) == [Part("woks.md", "Woks", short.raw)]


def test_it_is_cut_at_the_highest_headings_that_are_enough() -> None:
    text = "# Woks\n\nHello.\n\n" + prose("## Steel", 4000) + prose("### Care", 3000) + prose("## Iron", 6000)
    parts = split_text(page(text))
    assert names(parts) == ["woks.md", "woks-iron.md"]
    assert [part.title for part in parts] == ["Woks", "Woks: Iron"]
    assert max(len(part.raw) for part in parts) <= 8192


def test_only_a_section_that_is_too_long_is_cut_deeper() -> None:
    text = prose("## Steel", 3000) + prose("## Iron", 1000) + prose("### Old", 5000) + prose("### New", 6000)
    parts = split_text(page(text + prose("## Brass", 4000)))
    assert names(parts) == ["woks.md", "woks-iron.md", "woks-new.md", "woks-brass.md"]


def test_small_sections_share_a_page() -> None:
    parts = split_text(page("".join(prose(f"## Section {number}", 500) for number in range(30))))
    assert 2 <= len(parts) <= 4
    assert all(part.title.startswith("Woks") for part in parts)


def test_a_section_without_headings_is_cut_between_paragraphs_and_then_between_lines() -> None:
    paragraphs = "".join(f"Paragraph {number} says this.\nAnd that.\n\n" for number in range(500))
    parts = split_text(page(f"## Long\n\n{paragraphs}"))
    assert names(parts) == ["woks.md", "woks-long.md", "woks-long-2.md"]
    assert [part.title for part in parts] == ["Woks", "Woks: Long", "Woks: Long (2)"]
    assert all(body(part).strip().startswith(("## Long", "Paragraph")) for part in parts)
    one = split_text(page("".join(f"Line {number} of one paragraph.\n" for number in range(600))))
    assert len(one) > 1
    assert max(len(part.raw) for part in one) <= 8192


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("Some prose that is never broken. And 2 more, e.g. this one! " * 400, (".", "!")),
        ("words without an end " * 900, ("words", "without", "an", "end")),
        ("漢字の文章です。「これも」文章です。" * 400, ("。",)),
        ("漢字、" * 3000, ("、",)),
        ("漢字" * 5000, ("漢", "字")),
        ("か\u3099" * 5000, ("\u3099",)),
        ("문장입니다. " * 1500, (".",)),
    ],
)
def test_a_long_line_of_prose_is_cut_behind_a_sentence_or_else_a_word(line: str, ends: tuple[str, ...]) -> None:
    parts = split_text(page(f"# Woks\n\n{line}\n\nThe end.\n"))
    assert len(parts) > 1
    assert all(len(part.raw) <= 8192 and not part.note for part in parts)
    own = [body(part).partition("\n\nPart ")[0].partition("\nThe other parts")[0].strip("\n") for part in parts]
    assert re.sub(r"\s", "", "".join(own)) == re.sub(r"\s", "", f"# Woks{line}The end.")
    assert all(text.rstrip().endswith(ends) for text in own[:-1])


def test_what_belongs_together_in_a_line_is_not_cut() -> None:
    whole = ["[a b. C d](https://example.org/a_b)", "`x y. Z`", "![One. Two][p]", '<b title="A. B">', "[[Some. Page]]"]
    line = "".join(f"{one} {number:0{3 + number % 7}} words so. " for number in range(200) for one in whole)
    parts = split_text(page(f"{line}\n\n[p]: p.png\n"))
    text = "\n".join(map(body, parts))
    assert len(parts) > 2
    assert all(len(part.raw) <= 8192 for part in parts)
    assert [text.count(one) for one in whole] == [200] * len(whole)
    assert all("[p]: p.png" in body(part) for part in parts)


@pytest.mark.parametrize("data", ['{"a":[1,2],"b":null},' * 600, "QUJD" * 3000, "1 2 3 - 4 # 5 " * 900])
def test_a_line_that_is_no_prose_stays_whole(data: str) -> None:
    (part,) = split_text(page(data))
    assert "one block, which stays whole" in part.note


@pytest.mark.parametrize("text", ["`" * 1_000_000, "[" * 1_000_000, "<a" * 500_000, "漢" * 500_000, "a. " * 300_000])
def test_no_line_takes_long(text: str) -> None:
    def seconds(part: str) -> float:
        start = time.process_time()
        outline(part)
        return time.process_time() - start

    assert seconds(text) < 16 * max(seconds(text[: len(text) // 4]), 0.05)


@pytest.mark.parametrize(
    "block",
    [
        "```python\n" + "x = 1\n\n# no heading\n\n" * 500 + "```\n",
        "| a | b |\n| - | - |\n" + "| one | two |\n" * 900,
        "- an item\n\n" + "  its paragraph\n\n" * 800,
        "    indented code\n\n" * 600,
        "<!-- a comment\n\n" + "# hidden\n\n" * 1200 + "-->\n",
    ],
)
def test_a_block_that_is_too_long_stays_whole_and_a_note_says_so(block: str) -> None:
    parts = split_text(page(prose("## Before", 3000) + block + "\n" + prose("## After", 3000)))
    holding = [part for part in parts if block in body(part)]
    assert len(holding) == 1
    assert holding[0].note.startswith(f"{holding[0].name} is ")
    assert all(len(part.raw) <= 8192 and not part.note for part in parts if part is not holding[0])


def test_a_list_is_cut_between_its_items() -> None:
    parts = split_text(page("".join(f"- item {number}\n  goes on\n\n" for number in range(800))))
    assert len(parts) > 1
    assert all(body(part).lstrip().startswith("- item") for part in parts)
    assert max(len(part.raw) for part in parts) <= 8192


def test_the_first_part_keeps_the_frontmatter_and_each_other_gets_what_fits_it() -> None:
    first, second = split_text(page(prose("## One", 6000) + prose("## Two", 6000)))
    assert first.raw.decode().startswith(HEAD)
    keys = Page(second.name, second.raw).frontmatter
    assert keys.pop("uuid") not in ("", UUID)
    assert keys == {
        "title": "Woks: Two",
        "created": "2026-01-02T03:04:05Z",
        "updated": "2026-01-03T03:04:05Z",
        "tags": ["pans", "steel"],
        "source": ["https://example.org/woks"],
    }


def test_uuids_are_the_same_each_time_unless_the_parts_are_fresh() -> None:
    long = page(prose("## One", 6000) + prose("## Two", 6000))
    assert split_text(long) == split_text(long)
    fresh = [Page(part.name, part.raw) for part in split_text(long, fresh=True)]
    assert fresh[0].uuid == UUID
    assert fresh[1].uuid != Page("", split_text(long)[1].raw).uuid
    assert all(part.updated > "2026-01-03T03:04:05Z" and part.created == "2026-01-02T03:04:05Z" for part in fresh)


def test_names_are_legal_and_free() -> None:
    text = prose("## Öl & Fett", 6000) + prose("## öl fett", 6000) + prose("## 油", 6000) + prose("## !", 6000)
    parts = split_text(page(text), taken=["WOKS-ol-fett.md", "woks.md"])
    assert names(parts) == ["woks.md", "woks-ol-fett-2.md", "woks-you.md", "woks-2.md"]


def test_the_parts_lead_to_each_other() -> None:
    parts = split_text(page("".join(prose(f"## Nr [{number}]", 6000) for number in range(4))))
    led = [[link.target for link in links(body(part))] for part in parts]
    one, two, three, four = names(parts)
    assert led == [[two, three, four], [one, three], [one, two, four], [one, three]]
    many = split_text(page("".join(prose(f"## Number {number}", 6000) for number in range(60))))
    assert [link.target for link in links(body(many[0]))] == [many[1].name]
    assert max(len(part.raw) for part in many) <= 8192


def test_what_links_and_footnotes_stand_for_comes_along() -> None:
    uses = "See [the list][List], [short], ![pic][p] and a note[^1].\n\n"
    defined = (
        '[list]: https://example.org/list\n  "The list"\n[SHORT]: <#one>\n[p]: p.png\n\n'
        "[^1]: Says [more].\n\n    And more.\n\n[more]: m.md\n[unused]: u.md\n"
    )
    first, second, third = split_text(
        page(f"## One\n\n{uses}" + prose("### A", 5500) + prose("## Two", 6000) + prose("## Three", 6000) + defined)
    )
    for wanted in (
        '[list]: https://example.org/list\n  "The list"',
        "[p]: p.png",
        "[^1]: Says [more].\n\n    And more.",
        "[more]: m.md",
    ):
        assert body(first).count(wanted) == 1
        assert wanted not in body(second)
        assert body(third).count(wanted) == 1
    assert "[SHORT]: <#one>" in body(first)
    assert "[SHORT]: <woks.md#one>" in body(third)
    assert "[unused]" not in body(first) + body(second)


def test_a_long_chain_of_footnotes_does_not_come_along_whole() -> None:
    def chain(count: int) -> list[Part]:
        notes = "".join(f"[^{number}]: Says this, see[^{number + 1}].\n\n" for number in range(1, count))
        return split_text(page(f"See[^1].\n\n{notes}[^{count}]: The end.\n"))

    parts = chain(500)
    assert len(chain(1000)) < 3 * len(parts) < 30
    assert max(len(part.raw) for part in parts) <= 8192
    for part in parts:
        text = body(part)
        for number in re.findall(r"^\[\^(\d+)\]:", text, re.MULTILINE)[:20]:
            assert text.count(f"[^{number}]: ") == 1
    assert all("".join(map(body, parts)).count(f"[^{number}]: ") >= 1 for number in range(1, 501))
    assert "[^1]: Says" in body(parts[0])


def test_links_to_headings_lead_to_where_those_are_now() -> None:
    ends = 'See [a](#one), [b](#two "T"), [c](woks.md#two), [d](#care-1), [e](#none), [f](#own), `[g](#one)`.\n'
    text = prose("## One", 5000) + prose("## Care", 1000) + ends + "\n" + prose("## Two", 4000)
    first, second = split_text(page(text + prose("## Care", 1500) + f'<a id="own"></a>\n\n{ends}'))
    assert 'See [a](#one), [b](woks-two.md#two "T"), [c](woks-two.md#two), [d](woks-two.md#care)' in body(first)
    assert '[a](woks.md#one), [b](#two "T"), [c](#two), [d](#care), [e](#none), [f](#own), `[g](#one)`' in body(second)
    assert "[e](#none), [f](woks-two.md#own)" in body(first)


def test_what_never_ends_does_not_swallow_the_links() -> None:
    *_, last = split_text(page(prose("## One", 6000) + "```\n" + "code\n" * 900))
    assert "```" in body(last)
    assert next(iter(links(body(last)))).target == "woks.md"


def test_a_page_without_frontmatter_gets_it() -> None:
    first, second = split_text(page("# Woks\n\n" + prose("## One", 6000) + prose("## Two", 6000), head=""))
    assert Page("", first.raw).frontmatter.keys() == {"title", "uuid", "created", "updated"}
    assert (first.title, second.title) == ("Woks", "Woks: Two")


@pytest.mark.parametrize("head", ["---\ntitle: a: b: c\n---\n", "---\ntitle: Woks\n\n", '+++\ntitle = "Woks"\n+++\n'])
def test_broken_frontmatter_is_refused(head: str) -> None:
    with pytest.raises(RefusedError, match=r"woks\.md:1|woks\.md:2"):
        split_text(page(prose("## One", 9000), head=head))


def test_what_is_not_utf8_is_refused() -> None:
    with pytest.raises(RefusedError, match="not UTF-8"):
        split_text(Page("woks.md", HEAD.encode() + b"\xff" * 9000))


BLOCKS = st.sampled_from(
    [
        "# Title\n",
        "## Section\n",
        "Section\n---\n",
        "### Deep [x](#section)\n",
        "Words, [a][r], [b](#title).\n",
        "One paragraph\nof three\nlines.\n",
        "```\ncode\n\n# none\n```\n",
        "~~~\nopen",
        "- item\n\n  more\n- item [^n]\n",
        "1. one\n2. two\n",
        "| a |\n| - |\n| b |\n",
        "    code\n",
        "\tcode\n",
        "> quoted\nlazy\n",
        "[r]: https://example.org\n",
        "[^n]: note\n    more\n\n    still\n",
        "<!-- open\n",
        "-->\n",
        "<div>\n",
        "---\n",
        "\r",
        "\u2028\x0c\n",
        "[r\n",
        "x" * 300 + "\n",
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(BLOCKS, st.sampled_from(["", "\n", "\r\n", "\n\n"])), min_size=1, max_size=60),
    st.integers(400, 900),
)
def test_nothing_is_lost(blocks: list[tuple[str, str]], limit: int) -> None:
    text = "".join(block + gap for block, gap in blocks)
    head = f"---\ntitle: Woks\nuuid: {UUID}\ncreated: '2026-01-02T03:04:05Z'\n---\n"
    long = page(text, head)
    parts = split_text(long, limit=limit)
    made = iter([plain(line) for part in parts for line in body(part).splitlines()])
    for line in long.body.splitlines():
        assert plain(line) in made, line  # each is looked for behind the one before
    assert len({part.name for part in parts}) == len(parts)
    for part in parts:
        assert Page(part.name, part.raw).frontmatter["title"] == part.title
        assert len(part.raw) <= limit or part.note
    assert b"".join(part.raw for part in parts).count(b"[r]: ") >= text.count("[r]: ")


def test_titles_that_leave_too_little_room_are_told() -> None:
    parts = split_text(page(f"# Title\n{'x' * 300}\nSection\n---\nOne paragraph\nof three\nlines.\n"), limit=400)
    assert "too little room" in "".join(part.note for part in parts)
    assert all(len(part.raw) <= 400 or part.note for part in parts)


def plain(line: str) -> str:
    """A line without the part that a link's anchor was given."""
    return re.sub(r"\((?:woks[a-z0-9-]*\.md)?#", "(#", line)


def test_a_text_without_code_is_not_read_for_what_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (closing("```\nx"), closing("~~~~\nx"), closing("a\n\n<!-- x"), closing("<pre>x")) == (
        "```",
        "~~~~",
        "-->",
        "</pre>",
    )
    monkeypatch.delattr("memoryfield.outline._blocks")
    assert closing("# a\n" * 1000 + "`x` ~~y~~\n") == ""
