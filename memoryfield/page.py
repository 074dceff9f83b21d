"""Page: one Markdown file, parsed tolerantly and written back losslessly."""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

from .dates import moment_of
from .frontmatter import (
    Block,
    Feature,
    KeyPlace,
    Problem,
    Reading,
    find_block,
    key_places,
    newline_of,
    place,
    read_block,
    yaml_features,
)
from .names import stem

__all__ = ["Page", "Problem", "now", "with_block_of", "with_filled_frontmatter", "with_keys"]

_BOM = "\ufeff"
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)$")
_SETEXT = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_NO_PARAGRAPH = re.compile(r" {0,3}(?:>|#{1,6}[ \t])|\t| {4}")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?: {1,4}(?=\S)|[ \t])")
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")


class Page:
    """One page, made from its bytes. Whatever is wrong with it, it can be read.

    ```python
    page = Page("woks.md", b"---\\ntitle: Woks\\n---\\n\\nThey heat evenly.\\n")
    page.title          # "Woks"
    page.frontmatter    # {"title": "Woks"}, values as JSON can hold them
    page.body           # "\\nThey heat evenly.\\n"
    page.problems       # what could not be understood, with line and column
    page.raw            # the bytes, untouched
    ```
    """

    def __init__(self, filename: str, raw: bytes, *, mtime_ns: int = 0) -> None:
        self.filename = filename
        self.raw = raw
        self.mtime_ns = mtime_ns

    @property
    def size(self) -> int:
        """In bytes."""
        return len(self.raw)

    @cached_property
    def sha256(self) -> str:
        """Of the bytes, as 64 hexadecimal digits."""
        return hashlib.sha256(self.raw).hexdigest()

    @cached_property
    def _decoded(self) -> tuple[str, Problem | None]:
        try:
            return self.raw.decode("utf-8"), None
        except UnicodeDecodeError as error:
            line, column = place(self.raw.decode("latin-1"), error.start)  # in bytes
            message = f"not UTF-8: the byte 0x{self.raw[error.start]:02x}"
            problem = Problem(line, column, message, "not-utf8")
            return self.raw.decode("utf-8", "replace"), problem

    @property
    def is_utf8(self) -> bool:
        """Whether the bytes are UTF-8; where not, `text` holds replacement characters."""
        return self._decoded[1] is None

    @cached_property
    def text(self) -> str:
        """The whole page, frontmatter included, without a byte order mark."""
        return self._decoded[0].removeprefix(_BOM)

    @cached_property
    def block(self) -> Block | None:
        """Where the frontmatter stands in `text`, of what kind it is (`yaml`, `toml`, `json`), and whether it ends."""
        return find_block(self.text)

    @cached_property
    def _reading(self) -> Reading:
        return Reading({}, [], is_frontmatter=False) if self.block is None else read_block(self.text, self.block)

    def take_frontmatter(self, known: dict[str, Any]) -> None:
        """Use keys that were read from these very bytes before, and found in order: YAML is slow."""
        if self.block is not None:
            self.__dict__["_reading"] = Reading(known, [], is_valid=True)

    @property
    def has_frontmatter(self) -> bool:
        """Whether frontmatter begins the page, broken or not; a rule above prose is none."""
        return self.block is not None and self._reading.is_frontmatter

    @property
    def frontmatter_is_valid(self) -> bool:
        """Whether the block is keys and values in YAML, as it should be."""
        return self._reading.is_valid

    @cached_property
    def key_places(self) -> dict[str, KeyPlace]:
        """Where each key of a valid block stands in `text`, and its value; of equal keys, the last."""
        if self.block is None or not self.frontmatter_is_valid:
            return {}
        return key_places(self.text, self.block, self._reading.root)

    @cached_property
    def yaml_features(self) -> list[Feature]:
        """The anchors, aliases, tags and merge keys that the block uses, with their offsets in `text`."""
        return [] if self.block is None else yaml_features(self.text, self.block)

    @property
    def frontmatter(self) -> dict[str, Any]:
        """The keys of the block; where it is broken, those that are understood all the same."""
        return self._reading.values

    @property
    def problems(self) -> list[Problem]:
        """What could not be understood."""
        undecodable = self._decoded[1]
        return ([undecodable] if undecodable else []) + self._reading.problems

    @cached_property
    def body(self) -> str:
        """The text after the frontmatter."""
        if self.block is None or not self._reading.is_frontmatter:
            return self.text
        return self.text[self.block.body :]

    @property
    def head(self) -> bytes:
        """All that stands above the body, as bytes; nothing where the page is not UTF-8."""
        return self.raw[: len(self.raw) - len(self.body.encode("utf-8"))] if self.is_utf8 else b""

    @cached_property
    def heading(self) -> str | None:
        """The text of the first heading, outside code."""
        return next((heading.text for heading in headings(self.body)), None)

    @property
    def title(self) -> str:
        """The frontmatter's title, else the first heading, else the name."""
        return self._text_of("title") or self.heading or stem(self.filename)

    @property
    def summary(self) -> str:
        """The frontmatter's summary, or nothing."""
        return self._text_of("summary")

    @cached_property
    def uuid(self) -> str:
        """The frontmatter's uuid in lowercase, or nothing."""
        return self._text_of("uuid").lower()

    @property
    def created(self) -> str:
        """The frontmatter's created, as written, or nothing."""
        return self._text_of("created")

    @property
    def updated(self) -> str:
        """The frontmatter's updated, as written, or nothing."""
        return self._text_of("updated")

    @cached_property
    def created_ns(self) -> int | None:
        """The moment of `created`, where that is a date: in nanoseconds since 1970, UTC."""
        return moment_of(self.created)

    @cached_property
    def updated_ns(self) -> int | None:
        """The moment of `updated`, likewise."""
        return moment_of(self.updated)

    @property
    def expires_ns(self) -> int | None:
        """The last moment at which the page is valid: of a date alone, its end."""
        return moment_of(self.frontmatter.get("expires"), end_of_day=True)

    @property
    def supersedes(self) -> tuple[str, ...]:
        """The uuids, in lowercase, of the pages that this one takes the place of: one, or a list."""
        value = self.frontmatter.get("supersedes")
        given = value if isinstance(value, list) else [value]
        return tuple(uuid.strip().lower() for uuid in given if isinstance(uuid, str) and uuid.strip())

    def _text_of(self, key: str) -> str:
        value = self.frontmatter.get(key)
        if isinstance(value, bool | int | float) and (written := self.key_places.get(key)):
            value = written.source  # `title: Yes`
        return "" if value is None or isinstance(value, dict | list) else " ".join(str(value).split())


class Heading(NamedTuple):
    """A heading of Markdown text: its line (from 1), its text as written, and its level (1 to 6).

    `start` is the place of its first character, and `end` that after its last line.
    """

    line: int
    text: str
    level: int
    start: int
    end: int


def headings(body: str) -> Iterator[Heading]:
    """The headings of Markdown text outside fenced code, lists and quotes."""
    fence = ""
    indent = 0  # of what a list item holds
    paragraph: list[str] = []
    begin = 0  # of the paragraph
    for number, match in enumerate(_LINE.finditer(body), 1):
        line = match[0].rstrip("\r\n")
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and set(line.strip(" \t")) == {fence[0]}:
                fence = ""
            paragraph = []
            continue
        if fence:
            continue
        if item := _ITEM.match(line):
            indent, paragraph = len(item[0]), []
            continue
        if line.strip() and len(line) - len(line.lstrip(" ")) < indent:
            indent = 0
        if indent:
            continue
        if (heading := _HEADING.match(line)) and (text := _without_closing(heading[2])):
            yield Heading(number, text, len(heading[1]), match.start(), match.end())
        elif paragraph and _SETEXT.match(line):
            level = 1 if line.strip().startswith("=") else 2
            yield Heading(number - len(paragraph), " ".join(paragraph), level, begin, match.end())
        if line.strip() and not _NO_PARAGRAPH.match(line) and not _SETEXT.match(line):
            begin = begin if paragraph else match.start()
            paragraph.append(line.strip())
        else:
            paragraph = []


def _without_closing(heading: str) -> str:
    """A heading's text without the `#` that may close it."""
    text = heading.strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else text


def now() -> str:
    """The present moment as pages write it: RFC 3339, UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def with_keys(page: Page, **values: str | list[str]) -> bytes | None:
    """The page's bytes with frontmatter keys set, everything else untouched.

    Returns:
        None where the frontmatter cannot be edited safely (it is broken, or not UTF-8).
    """
    from .frontmatter.rewriting import set_keys

    if not page.is_utf8 or page.block is None:
        return None
    edited = set_keys(page.text, page.block, values)
    return None if edited is None else _encode(page, edited)


def with_filled_frontmatter(page: Page, *, title: str = "", summary: str = "", kept: Page | None = None) -> bytes:
    """The page's bytes with the missing keys added: title, uuid, created, updated, and a given summary.

    `kept` is the page that this one replaces; its uuid and created stay, and updated is fresh.
    What is there stays as it is; a block that is broken is not touched, and none is put on top of it.
    """
    import uuid

    moment = now()
    values = {"title": title or page.title}
    if summary:
        values["summary"] = summary
    values["uuid"] = (kept and kept.uuid) or str(uuid.uuid4())
    values["created"] = (kept and kept.created) or moment
    values["updated"] = moment
    if not page.is_utf8:
        return page.raw
    if not page.has_frontmatter:
        from .frontmatter.rewriting import new_block

        newline = newline_of(page.text)
        gap = "" if not page.text or page.text.startswith(("\n", "\r")) else newline
        return _encode(page, new_block(values, newline) + gap + page.text)
    given = {key for key, value in (("title", title), ("summary", summary)) if value}
    if kept is not None:
        given |= {"updated"} | ({"created"} if kept.created else set())
    missing = {k: v for k, v in values.items() if k in given or page.frontmatter.get(k) in (None, "")}
    return (with_keys(page, **missing) if missing else None) or page.raw


def with_block_of(stored: Page, page: Page) -> Page:
    """A page without frontmatter gets that of the page which it replaces; any other is left as it is."""
    if page.has_frontmatter or not page.is_utf8 or not stored.frontmatter_is_valid:
        return page
    assert stored.block is not None
    head = stored.text[: stored.block.body]
    gap = "" if page.text.startswith(("\n", "\r")) else newline_of(head)
    return Page(page.filename, _encode(stored, head + gap + page.text))


def _encode(page: Page, text: str) -> bytes:
    mark = _BOM if page._decoded[0].startswith(_BOM) else ""
    return (mark + text).encode("utf-8")
