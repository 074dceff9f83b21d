"""Results in few tokens: a line a page, for agents, which pay for every word, and for people.

Five lines with the passage that answers take at most 200 tokens of o200k_base, and five with the
summary at most 80: counted over samples/fieldnotes by tests/benchmarks/tokens.py. What one line
leaves over, the next may use.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..names import stem
from .result import Hit, SearchResult
from .snippet import begins_sentence, words_of

_FOR_PASSAGES = 194
"""Tokens of five lines, as `cost` reckons them: a little less than they may be."""
_FOR_SUMMARIES = 77
_LINES = 5
"""Fewer share what so many may take: a result alone is told at length."""
_ELLIPSIS = "…"
_PIECE = re.compile(r"[A-Z]*[a-z]+|[A-Z]+|\d{1,3}|[^\sA-Za-z\d]")
_LETTERS = 8
"""Of a longer run of letters, so many are reckoned to be a token."""

Span = tuple[int, int]


class Line(NamedTuple):
    """A result as it is shown: how well it matches, which page it is, and what that says.

    `marks` are the places of the query's words in the text.
    """

    head: str
    name: str
    text: str
    marks: tuple[Span, ...] = ()


def passages(found: SearchResult) -> list[Line]:
    """A line a page: strength, score, name, a title that the name does not tell, and the passage that answers."""
    room = _FOR_PASSAGES * max(_LINES, len(found.results)) // _LINES
    lines: list[Line] = []
    for place, hit in enumerate(found.results):
        share = room // (len(found.results) - place)
        head = head_of(hit)
        name = name_of(hit, found.several) + _title(hit, share // 2)
        start = cost(f"{head} {name}:")
        text, marks = _passage(hit.snippet, hit.marks, share - start)
        lines.append(Line(head, name, text, marks))
        room -= start + cost(text)
    return lines


def summaries(found: SearchResult) -> list[Line]:
    """A line a page: strength, name without `.md`, and the beginning of its summary; else of its title or passage."""
    room = _FOR_SUMMARIES * max(_LINES, len(found.results)) // _LINES
    lines: list[Line] = []
    for place, hit in enumerate(found.results):
        head, name = _strength(hit), stem(name_of(hit, found.several))
        title = hit.title if hit.title != stem(hit.filename) else ""
        start = cost(f"{head} {name}:")
        text, _ = _passage(hit.summary or title or hit.snippet, (), room // (len(found.results) - place) - start)
        lines.append(Line(head, name, text))
        room -= start + cost(text)
    return lines


def head_of(hit: Hit) -> str:
    """How well a page matches, and why it is not valid."""
    strength, _, stale = _strength(hit).partition(" ")
    score = f"{int(hit.score * 100) / 100:.2f}"  # cut: a weak 0.449 is not shown as 0.45
    return f"{strength} {score} {stale}".rstrip()


def name_of(hit: Hit, several: bool) -> str:
    """A page's name, with its field's where there are several."""
    return f"{hit.field}/{hit.filename}" if several else hit.filename


def cost(text: str) -> int:
    """About how many tokens a text has: one for a word, a number, a sign, and each letter of another script."""
    pieces = _PIECE.findall(text)
    return sum(1 + len(piece) // _LETTERS if piece.isascii() and piece.isalpha() else 1 for piece in pieces)


def _strength(hit: Hit) -> str:
    return f"{hit.match} {hit.extra.get('stale') or ''}".rstrip()


def _title(hit: Hit, room: int) -> str:
    """The title in brackets, if the name has none of its words."""
    name = stem(hit.filename)
    if hit.title == name or any(_are_alike(one, other) for one in _words(name) for other in _words(hit.title)):
        return ""
    return f" ({_passage(hit.title, (), room)[0]})"


def _are_alike(one: str, other: str) -> bool:
    """Whether two words are the same but for their ends: `wok` and `woks`."""
    return one.startswith(other) or other.startswith(one)


def _words(text: str) -> set[str]:
    """What a name can tell of a title: no short words, and no numbers."""
    return {word for word in re.split(r"\W+|_", text.lower()) if len(word) > 2 and not word.isdigit()}


def _passage(text: str, marks: tuple[Span, ...], room: int) -> tuple[str, tuple[Span, ...]]:
    """The part of a text with the most words of the query that costs no more than the room, cut at words.

    Returns:
        The part, with an ellipsis where something is left out, and the marks inside of it.
    """
    if cost(text) <= room:
        return text, marks
    words = [span for span in words_of(text) if text[slice(*span)] != _ELLIPSIS]
    if not words:
        return "", ()
    costs = [cost(text[start:end]) for start, end in words]
    first, last = _window(text, words, costs, marks, room - 2)
    start = words[first][0]
    end = words[last - 1][1] if last > first else start + max(room - 2, 0)  # within a word that is longer than the room
    head = f"{_ELLIPSIS} " if text[:start].strip() else ""
    tail = f" {_ELLIPSIS}" if text[end:].strip() else ""
    moved = len(head) - start
    inside = tuple((begin + moved, stop + moved) for begin, stop in marks if begin >= start and stop <= end)
    return (head + text[start:end] + tail).strip(), inside


def _window(text: str, words: list[Span], costs: list[int], marks: tuple[Span, ...], room: int) -> Span:
    """The first and the last word, exclusive, of the first passage with the most distinct words of the query.

    It begins with a sentence, unless one that does not has more of them.
    """

    def end_of(first: int) -> int:
        left, last = room, first
        while last < len(words) and costs[last] <= left:
            left -= costs[last]
            last += 1
        return last

    def weight(first: int, last: int) -> int:
        if last == first:
            return 0
        start, end = words[first][0], words[last - 1][1]
        return len({text[begin:stop].lower() for begin, stop in marks if begin >= start and stop <= end})

    starts = [place for place in range(len(words)) if begins_sentence(text, words, place)]
    starts += [
        place for place, (start, end) in enumerate(words) if any(start < stop and begin < end for begin, stop in marks)
    ]
    first, last = max(((first, end_of(first)) for first in starts), key=lambda window: weight(*window))
    left = room - sum(costs[first:last])
    while first and costs[first - 1] <= left and last == len(words):  # what stands before the end
        first -= 1
        left -= costs[first]
    return first, last
