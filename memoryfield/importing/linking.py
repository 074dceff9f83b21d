"""Links between the notes of a source, found and rewritten into links between pages.

A link to a note or file that came along leads to its page or copy afterwards, with the text that was shown;
every other one stays as it is written, and is told of.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote

from ..names import folded
from ..page import Page
from ..sections import anchor
from ..validation.links import links, without_code
from .html import references
from .items import Gathered, Note, SourceFile
from .naming import plain_name

NOTE_SUFFIXES = (".md", ".markdown")
_WIKILINK = re.compile(r"(?<![#\\])(!?)\[\[([^\[\]\n]{1,1000})\]\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_SIZE = re.compile(r"\d+(?:x\d+)?")
_PICTURE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|avif|bmp|ico|tiff?)$", re.IGNORECASE)
_MEMORY_URL = "memory://"
"""The addresses of basic-memory."""


class Edit(NamedTuple):
    """What takes the place of `text[start:end]`."""

    start: int
    end: int
    text: str


def stem_of(path: str) -> str:
    """A note's path without its suffix."""
    lower = path.lower()
    return next((path[: -len(suffix)] for suffix in NOTE_SUFFIXES if lower.endswith(suffix)), path)


class Known:
    """Notes, and the pages that they became, found as a link names them."""

    def __init__(self, notes: Iterable[Note], page_names: Iterable[str], *, exactly: bool = False) -> None:
        """Args:
        page_names: the page that each note becomes.
        exactly: only by paths and names, capitals and all; else whatever the case, and by titles too.
        """
        self._fold: Callable[[str], str] = str if exactly else folded
        self._notes = list(notes)
        self._names = list(page_names)
        self._paths: dict[str, int] = {}
        self._stems: dict[str, list[int]] = {}
        self._titles: dict[str, list[int]] = {}
        for number, note in enumerate(self._notes):
            self._learn(number, note)

    def _learn(self, number: int, note: Note) -> None:
        path = self._fold(stem_of(note.path))
        self._paths.setdefault(path, number)
        if note.is_index and (folder := posixpath.dirname(path)):
            self._paths.setdefault(folder, number)
        for name in (posixpath.basename(path), *map(self._fold, (note.name, *note.names))):
            _add(self._stems, name, number)
        for title in (note.title, *note.aliases, *_texts(note.keys.get("aliases"))):
            if self._fold is folded:
                _add(self._titles, folded(title), number)

    def page(self, target: str, folder: str, *, rooted: bool = False) -> str | None:
        """The page of the note that a target names for one in this folder: by path, name, title or alias.

        Args:
            rooted: a path from the source's root comes before one from the folder, as in Obsidian's `[[links]]`.
        """
        rooted = rooted or target.startswith("/")
        whole = target.strip().removeprefix(_MEMORY_URL).strip("/")
        for wanted in dict.fromkeys((whole, stem_of(whole))):  # a name may end in .md itself
            number = self._find(self._fold(wanted), folder, rooted) if wanted else None
            if number is not None:
                return self._names[number]
        return None

    def _find(self, wanted: str, folder: str, rooted: bool) -> int | None:
        near = posixpath.normpath(posixpath.join(self._fold(folder), wanted))
        for path in (wanted, near) if rooted else (near, wanted):
            if path in self._paths:
                return self._paths[path]
        if found := self._stems.get(wanted):
            return self._nearest(found, folder)
        if "/" in wanted and (found := self._ending(wanted)):
            return self._nearest(found, folder)
        found = self._titles.get(wanted)
        return self._nearest(found, folder) if found else None

    def _ending(self, wanted: str) -> list[int]:
        candidates = self._stems.get(posixpath.basename(wanted), [])
        return [one for one in candidates if self._fold(stem_of(self._notes[one].path)).endswith("/" + wanted)]

    def _nearest(self, found: list[int], folder: str) -> int:
        """Of several notes of one name: that in the same folder, else the one with the shortest path."""

        def distance(number: int) -> tuple[bool, int, str]:
            path = self._notes[number].path
            return posixpath.dirname(path) != folder, path.count("/"), path

        return min(found, key=distance)


class Links:
    """Knows all notes and files of a source, and rewrites the links of a note's text.

    ```python
    links = Links(gathered, page_names, former, copy)
    body = links.rewritten(0)       # of the first note
    gathered.left                   # what leads nowhere
    ```
    """

    def __init__(
        self,
        gathered: Gathered,
        page_names: list[str],
        former: Known,
        existing: Container[str],
        copied: Callable[[SourceFile], str | None],
    ) -> None:
        """Args:
        page_names: the page that each note becomes.
        former: notes that the source had before, whose pages are still there; a link leads to them if to no other.
        existing: names of the files of the field, among them copies made before.
        copied: called with a file that a note links to; the name of its copy, or None if there is none.
        """
        self._notes = gathered.notes
        notes = gathered.notes
        self._known = (Known(notes, page_names, exactly=True), Known(notes, page_names), former)
        self._existing = existing
        self._copied = copied
        self._files = gathered.files
        self._gathered = gathered
        self._before = ""
        self._by_file: dict[str, list[str]] = {}
        for path in sorted(self._files):
            self._by_file.setdefault(folded(posixpath.basename(path)), []).append(path)

    # finding

    def page(self, target: str, folder: str, *, rooted: bool = False) -> str | None:
        """The page that a target names for a note in this folder."""
        found = (known.page(target, folder, rooted=rooted) for known in self._known)
        return next((page for page in found if page), None)

    def file(self, target: str, folder: str) -> SourceFile | None:
        """The file that a target names."""
        near = posixpath.normpath(posixpath.join(folder, target))
        for path in (near, target.lstrip("/")):
            if path in self._files:
                return self._files[path]
        found = self._by_file.get(folded(posixpath.basename(target)), [])
        tail = "/" + folded(target.lstrip("./"))
        fitting = [path for path in found if ("/" + folded(path)).endswith(tail)]
        return self._files[min(fitting, key=lambda path: (path.count("/"), path))] if fitting else None

    def _copy(self, target: str, folder: str) -> str | None:
        """The name of the copy of the file that a target names."""
        if found := self.file(target, folder):
            return self._copied(found)
        name = plain_name(target)
        return name if name in self._existing and f"]({name})" in self._before else None

    # rewriting

    def rewritten(self, number: int, before: Page | None = None) -> str:
        """The note's body with every link that can be followed leading to a page, or to a copy of a file.

        Args:
            before: the page that it was; copies to which that links are still there, though the file has gone.
        """
        note = self._notes[number]
        self._before = before.body if before is not None else ""
        if "[" not in note.body and "<" not in note.body:
            return note.body
        folder = posixpath.dirname(note.path)
        body, done = note.body, -1
        parts: list[str] = []
        at = 0
        for edit in sorted((*self._wikilinks(note, folder), *self._markdown_links(note, folder))):
            if edit.start < done:
                continue
            parts += (body[at : edit.start], edit.text)
            at = done = edit.end
        return "".join(parts) + body[at:]

    def _wikilinks(self, note: Note, folder: str) -> Iterator[Edit]:
        if "[[" not in note.body:
            return
        for match in _WIKILINK.finditer(without_code(note.body)):
            inner = note.body[match.start(2) : match.end(2)]  # with the code that may be in it
            text = self._for_wikilink(note, folder, inner, embedded=bool(match[1]))
            if text is not None:
                yield Edit(match.start(), match.end(), text)
            else:
                written = note.body[match.start() : match.end()]
                self._gathered.leave("link", note.path, f"{written} leads to nothing that came along")

    def _for_wikilink(self, note: Note, folder: str, inner: str, *, embedded: bool) -> str | None:
        """The Markdown link for what stands between double brackets, or None."""
        whole, _, shown = inner.replace("\\|", "|").partition("|")
        whole, shown = whole.strip(), shown.strip()
        target, fragment = whole, ""
        page = self.page(whole, folder, rooted=True)
        if page is None:
            target, _, fragment = whole.partition("#")
            if not target and fragment:
                return self._within(note, fragment, shown)
            page = self.page(target, folder, rooted=True) if target else None
        if page is not None:
            if embedded:
                self._gathered.leave("link", note.path, f"![[{inner}]] becomes a link: no page shows another within it")
            text = shown or " > ".join(filter(None, (target, *fragment.split("#"))))
            return f"[{text}]({page}{self._fragment(note, whole, fragment)})"
        copy = self._copy(target, folder)
        if copy is None:
            return None
        picture = "!" if embedded and _PICTURE.search(copy) else ""
        text = shown if shown and not (picture and _SIZE.fullmatch(shown)) else posixpath.basename(target)
        if picture and _SIZE.fullmatch(shown):
            text = f"{text}|{shown}"
        return f"{picture}[{text}]({copy}{'#' + fragment if fragment else ''})"

    def _within(self, note: Note, fragment: str, shown: str) -> str | None:
        if fragment.startswith("^"):
            return None
        last = fragment.split("#")[-1]
        return f"[{shown or last}](#{quote(anchor(last), safe='-_')})"

    def _fragment(self, note: Note, whole: str, fragment: str) -> str:
        """`#` and the anchor of the heading that a link leads to; of a block, which pages know nothing of, nothing."""
        last = fragment.split("#")[-1]
        if last.startswith("^"):
            self._gathered.leave("link", note.path, f"[[{whole}]] leads to the page, not to the block in it")
            return ""
        made = anchor(unquote(last))
        return f"#{quote(made, safe='-_')}" if made else ""

    def _markdown_links(self, note: Note, folder: str) -> Iterator[Edit]:
        for start, end, written in (*_in_markdown(note.body), *_in_html(note.body)):
            path, sign, fragment = written.partition("#")
            path = unquote(path.partition("?")[0])
            if not path or (_SCHEME.match(path) and not path.startswith(_MEMORY_URL)):
                continue
            destination = self._destination(note, folder, path, fragment if sign else "")
            if destination is None:
                self._gathered.leave("link", note.path, f"({written}) leads to nothing that came along")
            elif destination != note.body[start:end]:
                yield Edit(start, end, destination)

    def _destination(self, note: Note, folder: str, path: str, fragment: str) -> str | None:
        if found := self._exact_file(path, folder):
            copy = self._copied(found)
            return copy and copy + (f"#{fragment}" if fragment else "")
        page = self.page(path, folder)
        if page is None:
            copy = self._copy(path, folder)
            return copy and copy + (f"#{fragment}" if fragment else "")
        return page + self._fragment(note, f"{path}#{fragment}", fragment)

    def _exact_file(self, path: str, folder: str) -> SourceFile | None:
        return self._files.get(posixpath.normpath(posixpath.join(folder, path)))


def _in_markdown(body: str) -> Iterator[tuple[int, int, str]]:
    return ((link.start, link.end, body[link.start : link.end].replace("\\", "")) for link in links(body))


def _in_html(body: str) -> Iterator[tuple[int, int, str]]:
    return references(without_code(body)) if "<" in body else iter(())


def _add(index: dict[str, list[int]], key: str, number: int) -> None:
    if key:
        found = index.setdefault(key, [])
        if number not in found[-1:]:
            found.append(number)


def _texts(value: object) -> Iterable[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
