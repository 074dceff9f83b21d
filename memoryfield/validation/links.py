"""The links in a page's Markdown: inline and by reference, not inside code."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

from .. import names


class Link(NamedTuple):
    """A link's destination. `start` and `end` are its offsets in the text, without angle brackets around it."""

    target: str
    """As it is written, with percent-encoding and backslashes undone."""
    start: int
    end: int
    page: str | None
    """The name of the page of the same field that it leads to, there or not; None where it leads elsewhere."""


# Nothing here can be tried twice over the same characters: a page may hold a megabyte of brackets.
_DESTINATION = r"(?:<(?P<pointed>[^<>\n]*)>|(?P<plain>(?:[^\s()\\<]|\\.|\((?:[^\s()\\]|\\.)*\))+))"
_GAP = r"[ \t\n]{0,9}"
_INLINE = re.compile(rf"\]\({_GAP}{_DESTINATION}(?={_GAP}\)|[ \t\n]{_GAP}[\"'(])")
_REFERENCE = re.compile(rf"^ {{0,3}}\[(?!\^)(?:[^\[\]\\\n]|\\.)+\]:{_GAP}{_DESTINATION}", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(?:> ?)*(?:[-*+] +|\d+[.)] +)?\s*(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_TICKS = re.compile(r"(?<![\\`])(`+)(?!`)")


def links(text: str) -> Iterator[Link]:
    """The links of a Markdown text, in their order."""
    if "](" not in text and "]:" not in text:
        return
    visible = without_code(text)
    inline = (match for match in _INLINE.finditer(visible) if _is_open(visible, match.start()))
    found = [*inline, *_REFERENCE.finditer(visible)]
    for match in sorted(found, key=lambda match: match.start()):
        group = "pointed" if match["pointed"] is not None else "plain"
        target = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", match[group])
        yield Link(unquote(target), match.start(group), match.end(group), _page(target))


def with_targets(text: str, target: Callable[[Link], str | None]) -> str:
    """A Markdown text whose links lead elsewhere.

    Args:
        target: what is to stand in a link's place, as it is to be written; None leaves it as it is.
    """
    parts: list[str] = []
    done = 0
    for link in links(text):
        if (new := target(link)) is not None:
            parts += (text[done : link.start], new)
            done = link.end
    return "".join([*parts, text[done:]])


_MAX_LABEL = 1000
"""So many characters of a link's text are looked at."""


def _is_open(text: str, end: int) -> bool:
    """Whether a bracket that is not escaped, and not closed before, opens the one that closes at `end`."""
    inner = 0
    for at in range(end - 1, max(-1, end - _MAX_LABEL), -1):
        if text[at] not in "[]" or text[at - 1 : at] == "\\":
            continue
        if text[at] == "]":
            inner += 1
        elif inner:
            inner -= 1
        else:
            return True
    return False


def _page(target: str) -> str | None:
    path = unquote(re.split(r"[?#]", target, maxsplit=1)[0]).removeprefix("./")
    return path if path.lower().endswith(names.PAGE_SUFFIX) and not re.search(r"[/\\:]", path) else None


def without_code(text: str) -> str:
    """The text with every character of code, comments and HTML that is shown as it stands replaced by a space."""
    if not any(sign in text for sign in ("`", "~~~", "    ", "\t", "<!--", *_OPENING)):
        return text
    lines = [" " * len(line) if is_code else line for line, is_code in _told_apart(text.split("\n"))]
    return _without_spans("\n".join(lines))


def _told_apart(lines: list[str]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a block of code."""
    fence, quoted, least = "", False, 0
    indent = 0  # of what the last list item holds
    after_blank = True
    for line in lines:
        blank = not line.strip()
        leading = 0 if blank else len(_blanks(line).expandtabs(4))
        if fence and not blank and (leading < least or (quoted and not line.lstrip().startswith(">"))):
            fence = ""  # the item or the quotation has ended, and its fence with it
        mark = None if leading >= indent + 4 else _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and set(line.strip(" \t\r>")) == {fence[0]}:
                fence = ""
            yield line, True
        elif mark:
            item = _ITEM.match(line)
            fence, quoted = mark[1], line.lstrip().startswith(">")
            indent = len(item[0]) if item else indent if leading >= indent else 0
            least = indent
            yield line, True
        elif after_blank and not blank and leading >= indent + 4:
            yield line, True
            continue  # the next line that is indented so belongs to it, blank line or not
        else:
            if item := _ITEM.match(line):
                indent = len(item[0])
            elif not blank and leading < indent and after_blank:
                indent = 0
            yield line, False
        after_blank = blank


def _blanks(line: str) -> str:
    """What a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


_OPENING = ("<pre", "<script", "<style", "<textarea")


def _without_spans(text: str) -> str:
    """The text without code spans, each of which ends in its paragraph, comments, and HTML that holds no Markdown."""
    if "`" in text:
        paragraphs = re.split(r"(\n[ \t]*\n)", text)
        text = "".join(_without_ticks(part) if "`" in part else part for part in paragraphs)
    text = _blank_between(text, "<!--", "-->")
    for opening in _OPENING:
        if opening in text:
            text = _blank_between(text, opening, "</" + opening[1:])
    return text


def _blank_between(text: str, opening: str, closing: str) -> str:
    parts: list[str] = []
    done = 0
    while (begin := text.find(opening, done)) >= 0 and (end := text.find(closing, begin + len(opening))) >= 0:
        parts += (text[done:begin], _blanked(text[begin : end + len(closing)]))
        done = end + len(closing)
    return "".join(parts) + text[done:]


def _without_ticks(paragraph: str) -> str:
    runs = [(match.start(1), match.end(1)) for match in _TICKS.finditer(paragraph)]
    last = {end - start: place for place, (start, end) in enumerate(runs)}  # where each length occurs for the last time
    result: list[str] = []
    done = place = 0
    while place < len(runs):
        start, end = runs[place]
        length = end - start
        if last[length] <= place:
            place += 1
            continue
        closing = next(at for at in range(place + 1, len(runs)) if runs[at][1] - runs[at][0] == length)
        stop = runs[closing][1]
        result += (paragraph[done:start], _blanked(paragraph[start:stop]))
        done, place = stop, closing + 1
    return "".join(result) + paragraph[done:]


def _blanked(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
