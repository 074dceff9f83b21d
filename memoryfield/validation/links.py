"""The links in a page's Markdown: inline and by reference, not inside code."""

from __future__ import annotations

import re
from collections.abc import Iterator
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
    visible = _without_code(text)
    inline = (match for match in _INLINE.finditer(visible) if _is_open(visible, match.start()))
    found = [*inline, *_REFERENCE.finditer(visible)]
    for match in sorted(found, key=lambda match: match.start()):
        group = "pointed" if match["pointed"] is not None else "plain"
        target = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", match[group])
        yield Link(unquote(target), match.start(group), match.end(group), _page(target))


_MAX_LABEL = 1000
"""So many characters of a link's text are looked at."""


def _is_open(text: str, end: int) -> bool:
    """Whether a bracket that is not escaped opens the one that closes at `end`."""
    least = max(0, end - _MAX_LABEL)
    start = text.rfind("[", least, end)
    while start > 0 and text[start - 1] == "\\":
        start = text.rfind("[", least, start)
    return start >= 0


def _page(target: str) -> str | None:
    path = unquote(re.split(r"[?#]", target, maxsplit=1)[0]).removeprefix("./")
    return path if path.lower().endswith(names.PAGE_SUFFIX) and not re.search(r"[/\\:]", path) else None


def _without_code(text: str) -> str:
    """The text with every character of code blocks and code spans replaced by a space, line ends kept."""
    if "`" not in text and "~~~" not in text and "    " not in text and "\t" not in text and "<!--" not in text:
        return text
    lines: list[str] = []
    fence = ""
    in_list, after_blank = False, True
    for line in text.split("\n"):
        blank = not line.strip()
        mark = None if line.startswith(("    ", "\t")) and not in_list else _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and set(line.strip(" \t\r>")) == {fence[0]}:
                fence = ""
            lines.append(" " * len(line))
        elif mark:
            fence = mark[1]
            lines.append(" " * len(line))
        elif line.startswith(("    ", "\t")) and after_blank and not in_list and not blank:
            lines.append(" " * len(line))
            continue  # the next indented line belongs to it, blank line or not
        else:
            lines.append(line)
            if _ITEM.match(line):
                in_list = True
            elif not blank and not line.startswith((" ", "\t")) and after_blank:
                in_list = False
        after_blank = blank
    return _without_spans("\n".join(lines))


def _without_spans(text: str) -> str:
    """The text without code spans and comments: each ends in the paragraph in which it begins."""
    if "`" in text:
        paragraphs = re.split(r"(\n[ \t]*\n)", text)
        text = "".join(_without_ticks(part) if "`" in part else part for part in paragraphs)
    parts: list[str] = []
    done = 0
    while (begin := text.find("<!--", done)) >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        parts += (text[done:begin], _blanked(text[begin : end + 3]))
        done = end + 3
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
