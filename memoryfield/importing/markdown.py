"""Trees of Markdown: vaults of Obsidian, graphs of Logseq, sites of Hugo, wikis, folders of notes."""

from __future__ import annotations

import codecs
import posixpath
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from .. import names
from ..dates import second_of
from ..errors import reason_of
from ..page import Page
from ..validation.links import without_code
from . import keys as words
from .items import Gathered, Note, SourceFile, digest_of, readable
from .linking import NOTE_SUFFIXES, stem_of
from .tree import files, single_file
from .values import set_aside, text_of

MAX_NOTE_BYTES = 8 << 20
MAX_FILE_BYTES = 64 << 20
"""What the format recommends as the largest entry of an archive (A-13)."""

_GENERIC = frozenset({"readme", "index", "_index", "claude", "claude.local", "memory", "agents"})
"""Names that say nothing without that of their folder."""
_INDEXES = frozenset({"index", "_index"})
_TAG = re.compile(r"(?<!\S)#(?:\[\[([^\[\]\n]+)\]\]|([\w/-]*[^\W\d][\w/-]*))")
_HEADING_FIRST = re.compile(r"\s*# +(\S[^\r\n]*)")
_SUMMARIES = ("summary", "description")
_FOREIGN = (
    ("of Logseq's block references", re.compile(rf"\(\({names.UUID}\)\)", re.IGNORECASE), True),
    ("of Hugo's shortcodes", re.compile(r"\{\{[<%][^{}\n]{1,1000}[>%]\}\}"), True),
    ("of Logseq's macros", re.compile(r"\{\{(?![<%])[^{}\n]{1,1000}\}\}"), False),
)
"""What only another program understands, and whether it is looked for in every tree, or in graphs of Logseq alone."""
_PROPERTY = re.compile(r"(?:- )?([A-Za-z][\w./-]*):: *([^\r\n]*)(?:\r\n|\n|\r|$)")


Wanted = Callable[[str], bool]


def read(
    source: Path,
    label: str,
    gathered: Gathered,
    *,
    wanted: Wanted = lambda path: True,
    hidden: frozenset[str] = frozenset(),
    beside: Path | None = None,
    kind: str = "markdown",
) -> None:
    """Read the notes of a tree, or a single one, whatever its suffix, and list its other files.

    Args:
        label: what the source is called: its folder's name.
        wanted: whether a note of this path is one of the source's; the others are told as left.
        hidden: folders that are entered although they begin with a dot.
        beside: the field, which may lie within.
    """
    is_tree = source.is_dir()
    found = files(source, gathered, hidden=hidden, beside=beside) if is_tree else [single_file(source)]
    logseq = is_tree and is_logseq(source)
    for file in found:
        if is_tree and not file.path.lower().endswith(NOTE_SUFFIXES):
            gathered.files[file.path] = file
        elif not wanted(file.path):
            gathered.leave("file", readable(file.path), f"is none of the notes that {kind} keeps")
        elif note := note_of(file, label, gathered, kind=kind, logseq=logseq):
            gathered.notes.append(note)


def file_at(root: Path, path: str) -> SourceFile | None:
    """The file at a path that `files` has told of; none of it is a link."""
    try:
        return single_file(root / path)._replace(path=path)
    except OSError:
        return None


def is_logseq(folder: Path) -> bool:
    """Whether a folder is a graph of Logseq."""
    return (folder / "logseq" / "config.edn").is_file()


def note_of(file: SourceFile, label: str, gathered: Gathered, *, kind: str, logseq: bool = False) -> Note | None:
    """A file as a note; None, and told, where it is none that can be carried over."""
    path = readable(file.path)
    raw = _raw(file, path, gathered)
    if raw is None:
        return None
    page = Page("page.md", raw)
    readable_head = page.block is None or not page.has_frontmatter or _is_understood(page)
    if not readable_head:
        problem = next(iter(page.problems))
        gathered.leave("frontmatter", f"{path}:{problem.line}", f"{problem.message}; it stays in the text, as it is")
    body = page.body if readable_head else page.text
    note = Note(
        path=path,
        identity=f"{label}/{path}",
        source=f"{label}/{path}",
        name=posixpath.basename(stem_of(path)),
        title="",
        body=body,
        keys={**page.frontmatter, **_spelled(page)},
        digest=digest_of(raw),
        folders=tuple(posixpath.dirname(path).split("/")) if "/" in path else (),
        head=page if page.has_frontmatter and page.frontmatter_is_valid else None,
        file_times=(second_of(file.birth_ns), second_of(file.mtime_ns)),
    )
    if logseq:
        _read_logseq(note)
    if not note.body.strip() and not note.keys:
        gathered.leave("empty", path, "holds nothing")
        return None
    set_aside(note.keys, path, gathered)
    _name(note, label)
    _date(note, gathered)
    note.tags += inline_tags(note.body)
    _tell_foreign(note, gathered, logseq=logseq)
    return note


def _spelled(page: Page) -> dict[str, str]:
    """Titles and summaries that YAML takes for a number or a truth, as they are written: `title: 1.10`."""
    numbers = [key for key in ("title", *_SUMMARIES) if isinstance(page.frontmatter.get(key), int | float)]
    return {key: page.key_places[key].source for key in numbers if key in page.key_places}


def _tell_foreign(note: Note, gathered: Gathered, *, logseq: bool) -> None:
    """Tell how much there is in a text that only the program understands for which it was written."""
    if "((" not in note.body and "{{" not in note.body:
        return
    visible = without_code(note.body)
    for what, pattern, is_told in _FOREIGN:
        if (is_told or logseq) and (found := pattern.findall(visible)):
            gathered.leave("link", note.path, f"{len(found):,} {what}, such as {found[0][:60]}: stays text")


def _is_understood(page: Page) -> bool:
    """Whether all that its frontmatter says is in `frontmatter`; of TOML and JSON too."""
    if page.frontmatter_is_valid:
        return True
    return all(problem.code in ("toml", "json") and "not valid" not in problem.message for problem in page.problems)


def _raw(file: SourceFile, path: str, gathered: Gathered) -> bytes | None:
    """A note's bytes in UTF-8, without a byte order mark."""
    if file.size > MAX_NOTE_BYTES:
        gathered.leave("note", path, f"is {file.size:,} bytes; a note of more than {MAX_NOTE_BYTES:,} is none")
        return None
    try:
        raw = file.place.read_bytes()
        if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raw = raw.decode("utf-16").encode("utf-8")
        raw.decode("utf-8")
    except UnicodeError as error:
        where = f" at byte {error.start:,}" if isinstance(error, UnicodeDecodeError) else ""
        gathered.leave("note", path, f"is not UTF-8{where}; save it as UTF-8, and import it again")
        return None
    except OSError as error:
        gathered.leave("note", path, reason_of(error))
        return None
    return raw.removeprefix(codecs.BOM_UTF8)


def _name(note: Note, label: str) -> None:
    """Its name and title: one that says nothing by itself gets that of its folder."""
    stem = note.name
    if stem.lower() in _GENERIC:
        folders = (*label.split("/"), *note.folders)
        around = next((folder for folder in reversed(folders) if folder.lower() != stem.lower()), stem)
        note.is_index = stem.lower() in _INDEXES
        note.names.append(stem)
        note.name = around if note.is_index else f"{around}-{stem}"
    first = _HEADING_FIRST.match(note.body)
    heading = first[1].rstrip("# ").strip() if first else ""
    note.title = text_of(note.keys.get("title")) or heading or note.name
    note.summary = next(filter(None, (text_of(note.keys.get(key)) for key in _SUMMARIES)), "")


def _date(note: Note, gathered: Gathered) -> None:
    created, updated, odd = words.dates(note.keys)
    for reason in odd:
        gathered.leave("date", note.path, reason)
    note.given_dates = (created or words.date_in_name(posixpath.basename(note.path)), updated)


def inline_tags(body: str) -> list[str]:
    """The `#tags` of a text, outside code, in their order, each once."""
    if "#" not in body:
        return []
    found = (match[1] or match[2].rstrip("/-") for match in _TAG.finditer(without_code(body)))
    return words.added((), filter(None, found))


def _read_logseq(note: Note) -> None:
    """The properties at the head of a page become keys; names with `___` or `%2F` are names of a namespace."""
    found: dict[str, Any] = {}
    at = 0
    while match := _PROPERTY.match(note.body, at):
        found[match[1]] = match[2].strip()
        at = match.end()
    if found:
        note.body = note.body[at:]
        note.keys.update({key: value for key, value in found.items() if key not in ("tags", "alias", "aliases")})
        note.tags += words.words_of(found.get("tags"))
        for key in ("alias", "aliases"):
            note.aliases += words.words_of(found.get(key))
        note.head = None
    name = unquote(note.name.replace("___", "/"))
    if name != note.name:
        note.names.append(name)
    if note.folders[:1] == ("pages",):
        note.folders = note.folders[1:]
    if note.folders[:1] == ("journals",):
        name = name.replace("_", "-")
    note.name = name
