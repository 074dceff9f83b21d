"""What a Markdown text is made of, line by line: where it can be cut, what its headings are, what it defines."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

PARAGRAPH = 7
"""The rank of a cut between two blocks; that of one before a heading is the heading's level, from 1 to 6."""
ITEM = 8
LINE = 9
WITHIN = 10
"""Within a line of prose that is long."""

MOST_UNCUT = 1024
"""So many characters of a line of prose are left without a cut, if it has a place for one."""
MOST_FOLLOWED = 1024
"""Of footnotes that refer to footnotes, so many characters come along: a long chain would fill every part."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){1,999})\]")
_FOOTNOTE = re.compile(r" {0,3}\[(\^[^\[\]\s]+)\]:")
_OWN_ANCHOR = re.compile(r"""(?:\b(?:id|name)\s?=\s?["']|\{#)([^"'<>{}\s]+)""")


class Cut(NamedTuple):
    """A line, from 0, before which a text can be cut; the lower its rank, the better."""

    line: int
    rank: int
    heading: str = ""


class Definition(NamedTuple):
    """The lines, from `start` to before `end`, that say what a label of a link or footnote stands for."""

    label: str
    start: int
    end: int


class Outline(NamedTuple):
    """A text's lines, with their ends, and what was found in them."""

    lines: list[str]
    cuts: list[Cut]
    """By line. Nothing below leads into a block of code, a table, a list's item or a footnote."""
    own_anchors: dict[str, int]
    """Anchors that the text sets itself, and their lines."""
    definitions: dict[str, Definition]
    uses: list[tuple[int, str]]
    """The lines that may use a label that is defined."""

    def within(self, start: int, end: int) -> list[Cut]:
        """The cuts between lines that leave something on both sides."""
        first = next((line for line in range(start, end) if self.lines[line].strip()), end)
        return [cut for cut in self.cuts if first < cut.line < end]

    def needed(self, start: int, end: int) -> list[Definition]:
        """The definitions that lines use, and that stand elsewhere; those that these use, within `MOST_FOLLOWED`."""
        found: dict[str, Definition] = {}
        spans = [(start, end)]  # grows while it is gone through
        room = MOST_FOLLOWED
        for first, last in spans:
            for _, label in self.uses[bisect_left(self.uses, (first, "")) : bisect_left(self.uses, (last, ""))]:
                definition = self.definitions[label]
                if label in found or (start <= definition.start and definition.end <= end):
                    continue
                found[label] = definition
                if room > 0:
                    room -= sum(map(len, self.lines[definition.start : definition.end]))
                    spans.append((definition.start, definition.end))
        return sorted(found.values(), key=lambda definition: definition.start)


def outline(text: str) -> Outline:
    """Read a text as CommonMark with tables and footnotes. A long line of prose counts as several."""
    whole = _LINE.findall(text)
    references: dict[str, list[int]] = {}
    tokens = _blocks(text, references)
    cuts = {cut.line: cut for cut in _cuts(tokens, whole)}
    labels = {label: Definition(label, *span) for label, span in references.items()}
    labels |= {note.label: note for note in _footnotes(tokens, whole)}
    cuts = {line: Cut(line, PARAGRAPH) for line in (d.start for d in labels.values())} | cuts
    broken = {line: parts for line in _prose(tokens, whole) if len(parts := _broken(whole[line])) > 1}
    lines, starts = _with_broken(whole, broken)
    labels = {name: Definition(d.label, starts[d.start], starts[d.end]) for name, d in labels.items()}
    within = (
        Cut(start, WITHIN)
        for line, parts in broken.items()
        for start in range(starts[line] + 1, starts[line] + len(parts))
    )
    ordered = sorted([*(cut._replace(line=starts[cut.line]) for cut in cuts.values()), *within])
    return Outline(lines, ordered, _own_anchors(lines), labels, list(_uses(lines, labels)))


def _with_broken(whole: list[str], broken: dict[int, list[str]]) -> tuple[list[str], list[int]]:
    """The lines, some of them in parts, and where each whole one begins among them, and the last one ends."""
    lines: list[str] = []
    starts = [0]
    for number, line in enumerate(whole):
        lines += broken.get(number, [line])
        starts.append(len(lines))
    return lines, starts


def closing(text: str) -> str:
    """What ends the last block of a text, if what stood behind it would belong to that: code, or a comment."""
    if not any(opening in text for opening in ("```", "~~~", "<")):
        return ""  # most texts need not be read
    last = next(reversed(_blocks(f"{text}\n\nx", {})), None)
    if last is None or last.content == "x":
        return ""
    if last.type == "fence":
        return last.markup
    opening = _RAW.match(last.content.lstrip())
    return _CLOSING.get(opening[0].lower(), ">") if opening else ""


_CLOSING = {"<!--": "-->", "<?": "?>", "<![cdata[": "]]>"} | {
    f"<{name}": f"</{name}>" for name in ("pre", "script", "style", "textarea")
}
_RAW = re.compile(r"<(?:!--|\?|!\[CDATA\[|pre|script|style|textarea|!)", re.IGNORECASE)


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("table")
    reader.core.ruler.enableOnly(["normalize", "block"])
    return reader


def _blocks(text: str, references: dict[str, list[int]]) -> list[Token]:
    """The blocks that are not within another, and the items of lists; labels and their lines go into `references`."""
    found: dict[str, dict[str, dict[str, list[int]]]] = {}
    tokens = _reader().parse(text, found)
    references |= {label: entry["map"] for label, entry in found.get("references", {}).items()}
    return [
        token
        for token in tokens
        if token.map and (token.level == 0 or (token.level == 1 and token.type in ("list_item_open", "inline")))
    ]


def _cuts(tokens: list[Token], lines: list[str]) -> Iterator[Cut]:
    for at, token in enumerate(tokens):
        start = token.map[0] if token.map else 0
        if token.type == "heading_open":
            yield Cut(start, int(token.tag[1:]), " ".join(tokens[at + 1].content.split()))
        elif token.type == "list_item_open":
            if tokens[at - 1].map != token.map and tokens[at - 1].type not in _LISTS:
                yield Cut(start, ITEM)
        elif token.type not in ("code_block", "inline"):  # what is indented may belong to what stands above
            yield Cut(start, PARAGRAPH)
    yield from (Cut(line, LINE) for line in _prose(tokens, lines, first=1) if lines[line][:1].isalpha())


def _prose(tokens: list[Token], lines: list[str], first: int = 0) -> Iterator[int]:
    """The lines of paragraphs, each paragraph's from its `first` on; of none that footnotes are in."""
    for token in tokens:
        start, end = token.map or (0, 0)
        if token.type == "paragraph_open" and not any(map(_FOOTNOTE.match, lines[start:end])):
            yield from range(start + first, end)


_SPAN = 500
_UNBROKEN = re.compile(
    rf"(?P<tick>(?<!`)`+(?!`)).{{1,{_SPAN}}}?(?<!`)(?P=tick)(?!`)"
    rf"|!?\[[^\[\]]{{0,{_SPAN}}}\](?:\([^()]{{0,{_SPAN}}}\)|\[[^\[\]]{{0,{_SPAN}}}\])?"
    rf"|<[^<>]{{1,{_SPAN}}}>"
)
"""What is not cut within a line: code, links and images, tags."""
_PLACES = tuple(
    re.compile(rf"{before}(?=[^\W\d_]|[\"'“‘„«「『（])")
    for before in (
        r"(?:[.!?…][\"'”’»)]*\s+|[。！？][」』”’）]*)",
        r"(?:[^\S\r\n]+|[、，；：])",
        r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af](?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])",
    )
)
"""Behind what a line is cut, the best first: a sentence, a word, a character of a script that has no spaces. What comes
next must be a letter or a quotation mark, so that nothing new begins there, such as a list."""


def _broken(line: str) -> list[str]:
    """A line in parts that can stand on different pages; one that is not long, or has no place for a cut, is whole."""
    if len(line) <= MOST_UNCUT:
        return [line]
    kept = [found.span() for found in _UNBROKEN.finditer(line)]
    free = [[at for at in _ends(places, line) if not _inside(kept, at)] for places in _PLACES]
    parts = []
    start = 0
    while len(line) - start > MOST_UNCUT:
        latest = (_latest(places, start, start + MOST_UNCUT) for places in free)
        end = next(filter(None, latest), None) or min(
            filter(None, (_next(places, start) for places in free)), default=0
        )
        if not end:
            break
        parts.append(line[start:end])
        start = end
    return [*parts, line[start:]]


def _ends(places: re.Pattern[str], line: str) -> list[int]:
    return [found.end() for found in places.finditer(line)]


def _inside(spans: list[tuple[int, int]], at: int) -> bool:
    place = bisect_right(spans, (at, 0)) - 1
    return place >= 0 and spans[place][0] < at < spans[place][1]


def _latest(places: list[int], start: int, most: int) -> int:
    """The last of places behind one and up to another; 0: there is none."""
    place = bisect_right(places, most) - 1
    return places[place] if place >= 0 and places[place] > start else 0


def _next(places: list[int], start: int) -> int:
    place = bisect_right(places, start)
    return places[place] if place < len(places) else 0


_LISTS = ("bullet_list_open", "ordered_list_open")


def _footnotes(tokens: list[Token], lines: list[str]) -> Iterator[Definition]:
    """Footnotes: to CommonMark, a paragraph and, indented below it, code."""
    blocks = [token for token in tokens if token.type != "inline"]
    for at, token in enumerate(blocks):
        start, end = token.map or (0, 0)
        if token.type != "paragraph_open":
            continue
        starts = [line for line in range(start, end) if _FOOTNOTE.match(lines[line])]
        following = at + 1
        while following < len(blocks) and blocks[following].type == "code_block":
            end = (blocks[following].map or (0, end))[1]
            following += 1
        for first, last in pairwise([*starts, end]):
            if match := _FOOTNOTE.match(lines[first]):
                yield Definition(_normal(match[1]), first, last)


def _uses(lines: list[str], labels: dict[str, Definition]) -> Iterator[tuple[int, str]]:
    """Where labels may be used; in code they are not, and a copy more does no harm."""
    if not labels:
        return
    text = "".join(lines)
    line = place = 0
    for match in _LABEL.finditer(text):
        while place + len(lines[line]) <= match.start():
            place += len(lines[line])
            line += 1
        label = _normal(match[1])
        if label in labels and line != labels[label].start:
            yield line, label


def _normal(label: str) -> str:
    from markdown_it.common.utils import normalizeReference

    return normalizeReference(label)


def _own_anchors(lines: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, line in enumerate(lines):
        if "=" in line or "{#" in line:
            for match in _OWN_ANCHOR.finditer(line):
                found.setdefault(match[1], number)
    return found
