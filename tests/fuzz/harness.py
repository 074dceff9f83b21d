"""What must hold for any bytes at all: of the parser, and of the writer. With seeds and words to begin from.

Each check takes raw bytes and raises AssertionError, or whatever should not have been raised.
`run.py` feeds them by coverage, `test_fuzz.py` by hypothesis.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import yaml

from memoryfield.frontmatter import KeyPlace, Problem, read_block
from memoryfield.frontmatter.blocks import Block, find_block, place
from memoryfield.frontmatter.rewriting import new_block
from memoryfield.frontmatter.safe_yaml import load, plain_mapping
from memoryfield.page import Page, with_block_of, with_filled_frontmatter, with_keys

CODES = set(
    "not-utf8 unclosed not-yaml merge-key too-long expands not-mapping no-frontmatter second-block duplicate-key"
    " escape toml json tag".split()
)
KEYS = ("title", "summary", "uuid", "created", "updated", "n", "名", "a b")
LINE_END = re.compile("\r\n|\r|\n")

# the parser


def check_parser(raw: bytes) -> None:
    """Any bytes can be read, and what is told of them fits them."""
    page = Page("fuzz.md", raw)
    _check_text(page, raw)
    _check_values(page)
    _check_problems(page)
    _check_places(page)
    _check_against_yaml(page)
    _check_again(page)
    if b"\r" not in raw:
        for newline in ("\r\n", "\r"):
            _check_line_ends(page, newline)


def _check_text(page: Page, raw: bytes) -> None:
    assert page.raw is raw
    assert page.size == len(raw)
    assert len(page.sha256) == 64
    assert page.text in (raw.decode("utf-8", "replace"), raw.decode("utf-8", "replace")[1:])
    assert page.text.endswith(page.body)
    block = page.block
    if block is not None:
        assert 0 <= block.start <= block.end <= len(page.text)
        assert block.closed == bool(block.body)
        assert not block.body or block.end <= block.body <= len(page.text)


def _check_values(page: Page) -> None:
    json.dumps(page.frontmatter, allow_nan=False, ensure_ascii=False).encode()
    told = [page.title, page.summary, page.uuid, page.created, page.updated, *page.supersedes]
    assert page.title
    assert not any("\n" in text for text in told[:-1][:5])
    assert isinstance(page.heading, str | None)
    for moment in (page.created_ns, page.updated_ns, page.expires_ns):
        assert isinstance(moment, int | None)
    assert page.has_frontmatter or not page.frontmatter


def _check_problems(page: Page) -> None:
    lines = len(LINE_END.findall(page.raw.decode("latin-1"))) + 1
    for problem in page.problems:
        assert 1 <= problem.line <= lines, problem
        assert problem.column >= 1
        assert problem.message
        assert len(problem.message) < 400
        assert not LINE_END.search(problem.message)
        assert problem.code in CODES
    if page.has_frontmatter and not page.frontmatter_is_valid:
        assert any(problem.code != "not-utf8" for problem in page.problems)


def _check_places(page: Page) -> None:
    places = page.key_places
    assert set(places) <= set(page.frontmatter)
    if places:
        assert page.frontmatter_is_valid
    block = page.block
    done = block.start if block else 0
    for key, at in sorted(places.items(), key=lambda item: item[1].start):
        assert block is not None
        assert done <= at.start <= at.end <= at.value_start <= at.value_end <= block.end
        done = at.value_end
        assert page.text[at.value_start : at.value_end] == at.source == at.source.rstrip()
        assert place(page.text, at.start) == (at.line, at.column)
        assert place(page.text, at.value_start) == (at.value_line, at.value_column)
        assert (at.style == "empty") == (not at.source)
        _check_source(page.frontmatter[key], at)
        _check_key(page.text[at.start : at.end], key)
    if page.frontmatter_is_valid:
        assert {feature.kind for feature in page.yaml_features} <= {"anchor", "alias", "tag"}
        unusual = page.yaml_features or "?" in page.text
        assert unusual or set(places) == set(page.frontmatter)


def _check_key(written: str, key: str) -> None:
    if re.fullmatch("[a-z]+", key) and "\\" not in written:
        assert key in written.lower()


def _check_source(value: Any, at: KeyPlace) -> None:
    """What is written there is what was read, as far as it can be read alone."""
    if at.style in ("single", "double", "flow") and not re.search(r"[*\r\n]", at.source):
        assert plain_mapping({"": load(at.source).value})[""] == value
    if at.style == "empty":
        assert value is None


def _check_against_yaml(page: Page) -> None:
    """PyYAML as it comes reads the same texts, numbers and lists of a valid block."""
    if not page.frontmatter_is_valid or page.block is None or "\ufeff" in page.text:
        return  # a byte order mark at the head of a line is nothing to libyaml, and a letter to PyYAML's own parser
    try:
        other = yaml.safe_load(page.text[page.block.start : page.block.end])
    except (yaml.YAMLError, ValueError, TypeError):
        return  # at a date that is none, a lone `=`
    for key, value in (other or {}).items():
        if isinstance(key, str) and isinstance(value, str) and Counter(map(_text, other))[key] == 1:
            assert page.frontmatter[key] == value


def _text(key: object) -> str:
    try:
        return str(key)
    except ValueError:
        return ""


def _check_again(page: Page) -> None:
    again = Page("fuzz.md", page.raw)
    assert again.frontmatter_is_valid == page.frontmatter_is_valid
    if page.frontmatter_is_valid:
        again = Page("fuzz.md", page.raw)
        again.take_frontmatter(page.frontmatter)
        assert again.key_places == page.key_places
        assert again.body == page.body


def _check_line_ends(page: Page, newline: str) -> None:
    """The same page with other line ends says the same."""
    other = Page("fuzz.md", page.raw.replace(b"\n", newline.encode()))
    assert other.frontmatter == page.frontmatter
    assert other.body == page.body.replace("\n", newline)
    assert list(map(_place, other.problems)) == list(map(_place, page.problems))
    assert other.title == page.title
    assert {key: at.source.replace(newline, "\n") for key, at in other.key_places.items()} == {
        key: at.source for key, at in page.key_places.items()
    }


def _place(problem: Problem) -> tuple[int, int, str]:
    return problem.line, problem.column, problem.code


# the writer


def check_writer(raw: bytes) -> None:
    """A page changes where it was asked to and nowhere else. The first line: which key, and its new value."""
    head, _, rest = raw.partition(b"\n")
    key = KEYS[head[0] % len(KEYS)] if head else KEYS[0]
    value = head[1:].decode("utf-8", "replace").replace("\\n", "\n").replace("\\r", "\r")
    page = Page("fuzz.md", rest)
    _check_set(page, key, value)
    _check_filled(page, value)
    _check_new_block(key, value)
    _check_handed_on(page)


def _check_set(page: Page, key: str, value: str) -> None:
    written = with_keys(page, **{key: value})
    if written is None:
        return
    again = Page("fuzz.md", written)
    before, after = page.block, again.block
    assert before is not None
    assert after is not None
    assert page.is_utf8
    assert again.frontmatter_is_valid
    assert again.frontmatter == {**page.frontmatter, key: value}
    assert list(again.frontmatter) == list({**page.frontmatter, key: value})
    assert again.body == page.body
    assert again.text[: after.start] == page.text[: before.start]
    assert again.text[after.end :] == page.text[before.end :]
    assert page.raw[:3] == again.raw[:3] or not page.raw.startswith(b"\xef\xbb\xbf")
    assert with_keys(again, **{key: value}) == written
    codes = Counter(problem.code for problem in page.problems)
    if re.match(r"[A-Za-z]:[^ -~]", value):  # which is escaped as a Windows path should be, and is not
        codes["escape"] += 1
    assert Counter(problem.code for problem in again.problems) <= codes
    _check_untouched(page, again, before, after, key)
    _check_endings(page, again, value)


def _check_untouched(page: Page, again: Page, before: Block, after: Block, key: str) -> None:
    """All that stands in the block beside one value stays, to the character."""
    for other, at in page.key_places.items():
        if other != key:
            assert again.key_places[other].source == at.source
    old, new = page.text[before.start : before.end], again.text[after.start : after.end]
    if changed := page.key_places.get(key):
        start, end = changed.value_start - before.start, changed.value_end - before.start
        assert new.startswith(old[:start])
        assert new.endswith(old[end:])
    else:
        lines = iter(new)
        assert all(character in lines for character in old)  # nothing but additions


def _check_endings(page: Page, again: Page, value: str) -> None:
    endings = set(LINE_END.findall(page.text))
    if len(endings) == 1 and not re.search(r"[\r\x85\u2028\u2029]", value):
        assert set(LINE_END.findall(again.text)) <= endings


def _check_filled(page: Page, title: str) -> None:
    for given in ("", title):
        raw = with_filled_frontmatter(page, title=given)
        filled = Page("fuzz.md", raw)
        if raw == page.raw:
            continue
        assert page.is_utf8
        assert filled.frontmatter_is_valid
        assert filled.body.endswith(page.body)
        assert raw.endswith(page.body.encode())
        assert all(filled.frontmatter[key] not in (None, "") for key in ("uuid", "created", "updated"))
        if given.strip():
            assert filled.frontmatter["title"] == given
        assert with_filled_frontmatter(filled) == raw or not filled.frontmatter["title"]
        for key, value in page.frontmatter.items():
            assert filled.frontmatter[key] == value or value in (None, "") or key == "title"


def _check_new_block(key: str, value: str) -> None:
    newline = ("\n", "\r\n", "\r")[len(value) % 3]
    text = new_block({key: value, "tags": [value]}, newline) + "Body\n" + value
    block = find_block(text)
    assert block is not None
    assert text[block.body :] == "Body\n" + value
    read = read_block(text, block)
    assert read.is_valid
    assert read.values == {key: value, "tags": [value]}


def _check_handed_on(page: Page) -> None:
    new = Page("fuzz.md", b"New text\n")
    both = with_block_of(page, new)
    if both is new:
        return
    assert page.frontmatter_is_valid
    assert both.frontmatter == page.frontmatter
    assert both.text.endswith("New text\n")


CHECKS: dict[str, Callable[[bytes], None]] = {"parser": check_parser, "writer": check_writer}

# what to begin from

UUID = "6f1c1c6e-8f39-4a52-9d1a-0d9f6f3a2b10"
BLOCKS = [
    "",
    "title: Woks\n",
    f"# by hand\ntitle: 'Woks' # why\nuuid: {UUID}\ncreated: \"2026-03-14T09:12:40Z\"\nupdated: 2026-03-14\n",
    "title: Re: a thing\nsummary: `jq` [[x]]\n",
    "title: *bold* @home %d &a !b\n",
    'title: "C:\\new"\nn: "C:\\\\x \\u00e9 \\"q\\""\n',
    "title: 'it''s'\nn: a: b\n",
    "tags: [git, 'a, b', {c: d}]  # flow\nn:\n- a\n-   b # why\n",
    "note: |\n  title: not this\n\n  # no comment\nfolded: >-\n    deep\n    er\nn: |+\n  a\n\n",
    "&k anchored: &value [1]\nalias: *value\nlist:\n  - *value # *k\n",
    "*k : v\n",
    "? explicit\n: key\n? [a]\n: b\n",
    "7: 0x1f\n~: 1:30\nyes: .nan\n1.50: -.inf\nx: 1e5\n",
    "title: a\ntitle: b\nn: {m: 1, m: 2}\n",
    "base: &b {n: 1}\n<<: *b\n",
    "{title: Woks, n: [1, 2]} # why\n",
    "{\n  n: 1, # why\n}\n",
    "title:\nuuid: ~\ncreated: ''\nn: !!str 1\nm: !!binary aGk=\no: !!set {x}\np: !!timestamp 2026-03-14\n",
    "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "  title: Woks\n  n: 1\n",
    "title:\tWoks\ntags:\n\t- a\n",
    "n: &n [*n]\n",
    "- a\n- b\n",
    "Just words.\n",
    "a: b\x85c\u2028d\n",
    "名前: 🐟 炭素\n",
]
SEEDS = [
    *(f"---\n{block}---\n\n# Heading\n\nBody\n" for block in BLOCKS),
    "",
    "# Heading\n\nText\n",
    *(f"---\n{BLOCKS[2]}---\n\nBody\n".replace("\n", newline) for newline in ("\r\n", "\r")),
    "\ufeff---\ntitle: a\n---\n",
    "\n\n---\ntitle: a\n...\nBody\n",
    "---\ntitle: a\n---\n\n---\ntitle: b\n---\n",
    "---\ntitle: not closed\n\nText\n",
    "---\n\nJust words.\n",
    '+++\n# c\ntitle = "a \\"b\\""\nd = 2026-03-14T09:12:40Z\nt = 07:32:00\n[x.y]\nz = [1, {a = \'b\'}]\n+++\nBody\n',
    "+++\ntitle = 'a'\nn = \n+++\nBody\n",
    '{\n  "title": "a",\n  "n": [1, {"b": null}]\n}\n\nBody\n',
    '{\n  "title": "a",\n}\nBody\n',
]
WORDS = [
    *'--- +++ ... title: summary: uuid: created: updated: title = "title": <<: !!str !!set *a &a ? - # | > |+ >-'.split(
        " "
    ),
    *["\n---\n", "\n+++\n", "\n...\n", "\r\n", "\r", ": ", "'", '"', '\\"', "''", "[", "]", "{", "}", ", ", "  ", "\t"],
    *[
        "2026-03-14",
        "0x1f",
        "12:30",
        ".nan",
        "~",
        "=",
        "\ufeff",
        "\x85",
        "\u2028",
        "\0",
        "C:\\n",
        "\\u00e9",
        "```",
        UUID,
    ],
]


def seeds(name: str) -> list[bytes]:
    """Small inputs that reach far into what a check looks at."""
    if name == "parser":
        return [seed.encode() for seed in SEEDS]
    values = ["New", "Re: a # b", "2026-03-14", "a\\nb", 'it\'s "q"', ", ]}", ""]
    return [f"{index}{values[index % len(values)]}\n{seed}".encode() for index, seed in enumerate(SEEDS)]
