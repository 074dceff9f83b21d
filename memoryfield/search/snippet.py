"""The passage of a page that answers for it in a list of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate

from ..index.schema import UNSPACED, may_be_unspaced
from ..page import Page

LENGTH = 240
"""Characters, at most."""
NEARLY = 0.9
"""Pages put the answer first: an earlier passage with so much of the best one's weight is preferred."""
NEAR = 7
"""So many words before what is looked for are worth the whole sentence, though it may lose its end."""
MAX_BODY = 200_000
"""Of a longer body, this many characters are looked at."""

_CODE = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,})[^\n]*\n(?P<block>.*?)(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?<!`)(?P<tick>`++)(?P<span>[^`\n]+)(?P=tick)(?!`)",
    re.MULTILINE | re.DOTALL,
)
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+.*$", re.MULTILINE)
_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?![\w*])|`+")
_LEAD = re.compile(r"^ {0,3}(?:>+|[-+*]|\d+[.)])[ \t]+", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*(?:(?:=[ \t]*){2,}|(?:[-*_|:][ \t]*){3,})$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")

Weigh = Callable[[list[str]], dict[int, dict[str, float]]]
"""Which of many words have a stem of the query, by their places: those stems with their weights."""


def plain(page: Page) -> str:
    """A page's body as one line of text: no frontmatter, headings, Markdown marks, control characters."""
    body = page.body[:MAX_BODY]
    if "`" not in body and "~~~" not in body:
        return one_line(_without_marks(body))
    pieces: list[str] = []
    place = 0
    for code in _CODE.finditer(body):  # which is shown as it is
        pieces += [_without_marks(body[place : code.start()]), code["block"] or code["span"] or ""]
        place = code.end()
    pieces.append(_without_marks(body[place:]))
    return one_line("".join(pieces))


def one_line(text: str) -> str:
    """A text on one line, without characters that do not show."""
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


def _without_marks(text: str) -> str:
    """Text between code. A pattern is tried only where its sign occurs: most pages have few of them."""
    text = _RULE.sub(" ", _HEADING.sub(" ", text) if "#" in text else text)
    if "|" in text:
        text = _TABLE_ROW.sub(lambda row: row[0].replace("|", " "), text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    text = _LEAD.sub("", text)
    return _EMPHASIS.sub("", text) if "*" in text or "`" in text else text


def words_of(text: str) -> list[tuple[int, int]]:
    """Where the words of a text on one line stand; a character of a script without spaces is one."""
    if may_be_unspaced(text):
        return [match.span() for match in _word().finditer(text)]
    words = text.split(" ")
    ends = accumulate(len(word) + 1 for word in words)
    return [(end - 1 - len(word), end - 1) for word, end in zip(words, ends, strict=True) if word]


@cache
def _word() -> re.Pattern[str]:
    return re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]+")


def snippet(page: Page, weigh: Weigh | None, length: int = LENGTH) -> str:
    """The first passage with nearly the most of the query's weight; else the summary; else the beginning.

    A title with as much of it asks the query itself: then the page's answer comes first, too.

    Cut at words, at most `length` characters; a body that is no longer is shown whole.
    """
    text = plain(page)
    words = words_of(text)
    weights = weigh([text[start:end] for start, end in words]) if weigh else {}
    if weights and len(text) <= length:
        return text
    first, weight = _best(text, words, weights, length - 2) if weights else (0, 0.0)
    if weigh is None or weight <= _weight(weigh(page.title.split())):
        text = one_line(page.summary) or text
        return _cut(text, words_of(text), 0, length)
    return _cut(text, words, first, length)


def _weight(weights: dict[int, dict[str, float]]) -> float:
    """Of the distinct stems of the query that some words have."""
    return sum({stem: value for found in weights.values() for stem, value in found.items()}.values())


def _best(
    text: str, words: Sequence[tuple[int, int]], weights: dict[int, dict[str, float]], length: int
) -> tuple[int, float]:
    """The word at which the best passage begins, the first that holds nearly the most distinct weight; and the most."""
    places = sorted(weights)
    weight = {stem: value for found in weights.values() for stem, value in found.items()}
    totals: dict[int, float] = {}
    inside: dict[str, int] = {}
    end = 0
    for first, place in enumerate(places):
        start = words[place][0]
        while end < len(places) and words[places[end]][1] - start <= length:
            for stem in weights[places[end]]:
                inside[stem] = inside.get(stem, 0) + 1
            end += 1
        totals[place] = sum(weight[stem] for stem, count in inside.items() if count)
        if end == first:  # a word longer than the passage
            end += 1
            continue
        for stem in weights[place]:
            inside[stem] -= 1
    most = max(totals.values())
    first = next(first for first, total in totals.items() if total >= NEARLY * most)
    needed: set[str] = set()
    last = first
    for place in places[places.index(first) :]:
        if words[place][1] - words[first][0] <= length and not weights[place].keys() <= needed:
            needed |= weights[place].keys()
            last = place
    return _sentence_start(text, words, first, words[last][1] - length), most


def begins_sentence(text: str, words: Sequence[tuple[int, int]], place: int) -> bool:
    """Whether a word is the first of a sentence."""
    return place == 0 or text[words[place - 1][1] - 1] in ".!?:。！？"


def _sentence_start(text: str, words: Sequence[tuple[int, int]], place: int, least: int) -> int:
    """The first word of a word's sentence, if it is near, or stands no earlier in the text than at `least`."""
    for back in range(place, -1, -1):
        if words[back][0] < least and place - back > NEAR:
            break
        if begins_sentence(text, words, back):
            return back
    return place


def _cut(text: str, words: Sequence[tuple[int, int]], first: int, length: int) -> str:
    if not words:
        return ""
    start = words[first][0]
    head = "… " if start else ""
    if len(text) - start + len(head) <= length:
        return head + text[start:]
    room = length - len(head) - 2
    ends = [end for _, end in words[first:] if end - start <= room]
    end = ends[-1] if ends else start + room  # one word longer than the passage is cut within
    return f"{head}{text[start:end]} …"
