"""The pages that a source makes, held against those of the field, and written: all at once, or none."""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Container, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote

from .. import names
from ..containers.base import require_writable
from ..containers.directory import changing
from ..errors import FieldNotFoundError, RefusedError, UsageError, reason_of
from ..field import Field
from ..page import Page
from ..sections import sections
from ..validation.links import Link, with_targets
from . import detect, naming
from . import keys as words
from .composing import MARK, Mark, composed, give_way, is_edited, mark_of, marked, unmarked
from .items import Gathered, Note, SourceFile, digest_of, readable
from .linking import Known, Links, stem_of
from .markdown import MAX_FILE_BYTES
from .report import Brought, Imported
from .sameness import lines_of, place_of, stands_in

if TYPE_CHECKING:
    from ..containers.journal import Changes

Progress = Callable[[int, int], None]
Fate = Literal["added", "updated", "same", "kept", "conflicts"]
PROGRESS_EACH = 100
_MODULES = {kind: kind.replace("-", "_") for kind in detect.KINDS}
_ROOM = names.MAX_PAGE_BYTES - 64
"""What a part may have, so that its mark fits."""


def import_source(
    field: Field,
    source: str | Path,
    *,
    kind: str = "",
    label: str = "",
    folders: str = "tags",
    replace: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Imported:
    """Bring the notes of a source into a field; what was imported before is updated.

    Args:
        source: a folder or a file.
        kind: one of `detect.KINDS`; empty: the one that it looks like.
        label: what the source is called, in uuids and in `source`; empty: its folder's name.
        folders: whether the folders in which a note lies become `tags`, or part of its `name`.
        replace: take the source's text where it has changed, although the page was edited in the field.
        dry_run: only tell what would be done.

    Raises:
        FieldNotFoundError: there is no such source.
        UsageError: it is of no kind that can be told, or not of the kind that was given.
        RefusedError: it is the field itself; or a source of the same name was imported before and is another one;
            or it was imported before under another name, and none is given.
        ReadOnlyError: the field cannot be written.
        PageConflictError: a page was changed meanwhile by something else; nothing is written.
        OSError: the disk is full; nothing is written.
    """
    place = Path(source)
    kind = _checked(field, place, kind)
    if not dry_run:
        require_writable(field.container)
    given, label = bool(label), label or readable(detect.label_of(place, kind))
    imported = Imported(field.name, str(source), kind, label)
    gathered = Gathered()
    import_module(f".{_MODULES[kind]}", __package__).read(place, label, gathered, beside=field.location.resolve())
    with changing(field.container, dry_run=dry_run) as changes:
        root = place if place.is_dir() or kind in detect.IN_FILES else place.parent
        work = _Import(field, gathered, imported, changes, place=place_of(root), replace=replace)
        if not given:
            work.check_new()
        work.plan(folders, progress)
        imported.written = changes is not None and bool(imported.added or imported.updated or imported.attachments)
    imported.left = sorted(gathered.left, key=lambda item: (item.kind, item.place))
    return imported


def _checked(field: Field, source: Path, kind: str) -> str:
    """The kind, given or told by the source."""
    if not source.exists():
        raise FieldNotFoundError(f"there is nothing at {str(source)!r}", hint="Name a folder or a file to import.")
    if source.samefile(field.location):
        raise RefusedError(f"{str(source)!r} is the field itself", hint="Name what to import into it.")
    if kind and kind not in detect.KINDS:
        raise UsageError(f"{kind!r} is no kind of source", hint=f"There are {', '.join(detect.KINDS)}.")
    if kind and kind not in detect.IN_FILES and detect.is_json(source) and source.is_file():
        raise UsageError(
            f"{str(source)!r} is a file of JSON, and no note of {kind}",
            hint=f"It looks like {detect.kind_of(source)}: say so with --from, or leave that away.",
        )
    kind = kind or detect.kind_of(source)
    if kind in detect.IN_FILES and source.is_dir():
        raise UsageError(f"{str(source)!r} is a folder; of {kind}, name the file")
    return kind


class _Made(NamedTuple):
    """A page as the source makes it."""

    uuid: str
    name: str
    raw: bytes
    note: Note


class _Import:
    """One import: what the field has, what the source makes, and what becomes of each."""

    def __init__(
        self,
        field: Field,
        gathered: Gathered,
        imported: Imported,
        changes: Changes | None,
        *,
        place: str,
        replace: bool,
    ) -> None:
        """Args:
        place: digest of where the source lies.
        """
        self._container = field.container
        self._gathered = gathered
        self._imported = imported
        self._changes = changes
        self._replace = replace
        self._place = place
        self._stored: dict[str, Page] = {}
        self._marks: dict[str, Mark] = {}
        self._copies: dict[str, str | None] = {}
        self._anchors: dict[tuple[str, str], tuple[str, str]] = {}
        """Headings of pages that were split: page and anchor, as links have them, and where they are now."""
        self._nameless: dict[str, Page] = {}
        """Pages without a uuid, by their names."""
        self._index: Page | None = None
        """The index.md of a new field: one of the source takes its place."""
        for page in field.pages():
            if not page.uuid:
                self._nameless[page.filename] = page
                continue
            self._stored.setdefault(page.uuid, page)
            if mark := mark_of(page):
                self._marks[page.uuid] = mark
            if field.is_as_created(page):
                self._index = page
        existing = [entry.name for entry in self._container.entries()]
        self._existing = frozenset(existing)
        self._names = naming.PageNames(existing)
        self._file_names = naming.FileNames(existing, self._digest)

    def _digest(self, name: str) -> str:
        """Of a file in the field; empty for what no copy can be."""
        try:
            too_large = self._container.entry(name).size > MAX_FILE_BYTES
            return "" if too_large or names.is_page(name) else digest_of(self._container.read(name))
        except OSError:
            return ""

    def plan(self, folders: str, progress: Progress | None) -> None:
        """Make every page, and put into the changes what is new or has changed."""
        notes = self._gathered.notes
        uuids = naming.uuids(self._gathered, self._imported.kind)
        wishes = [naming.wishes(note, folders) for note in notes]
        if self._index is not None and self._index.uuid not in uuids:
            self._names.give_up(self._index.filename)
        for uuid, note, wanted in zip(uuids, notes, wishes, strict=True):
            self._find_nameless(uuid, note, wanted)
        page_names = self._page_names(uuids, wishes)
        if folders == "tags":
            for note in notes:
                note.tags += _folder_tags(note)
        self._places = {self._place, *self._places_before(uuids)}
        links = Links(self._gathered, page_names, self._former(set(uuids)), self._existing, self._copied)
        made: list[list[_Made]] = []
        for number, note in enumerate(notes):
            uuid = uuids[number]
            stored = self._stored.get(uuid)
            if other := give_way(note):
                self._gathered.leave("key", note.path, f"imported: is called {other} here, where an import has its own")
            raw, is_anew = composed(note, links.rewritten(number, stored), uuid, stored)
            if is_anew:
                self._gathered.leave("frontmatter", note.path, "was written anew: comments in it, if any, are gone")
            made.append(self._parts(_Made(uuid, page_names[number], raw, note), wishes[number][0]))
            if progress and (number + 1) % PROGRESS_EACH == 0:
                progress(number + 1, len(notes))
        if self._anchors:
            made = [[part._replace(raw=_with_links(part.raw, {}, self._anchors)) for part in parts] for parts in made]
        if not self._replace:
            self._check_same(made)
        for parts in made:
            self._bring(parts)
        self._tell_gone({part.uuid: part.note.source for parts in made for part in parts})
        self._tell_unlinked()

    def _page_names(self, uuids: list[str], wishes: list[list[str]]) -> list[str]:
        """The notes' names; of two that wish for the same, the one gets it that lies less deep."""
        paths = [note.path for note in self._gathered.notes]
        order = sorted(range(len(paths)), key=lambda number: (paths[number].count("/"), paths[number]))
        given = {number: self._name(uuids[number], wishes[number]) for number in order}
        return [given[number] for number in range(len(paths))]

    def _find_nameless(self, uuid: str, note: Note, wishes: list[str]) -> None:
        """A page without uuid that has the note's name and text is that note, whichever was there first."""
        for name in map(names.with_suffix, wishes):
            page = self._nameless.get(name)
            if page is not None and note.body.strip() in (page.body.strip(), page.text.strip()):
                self._stored.setdefault(uuid, self._nameless.pop(name))

    def _name(self, uuid: str, wishes: list[str]) -> str:
        stored = self._stored.get(uuid)
        return stored.filename if stored is not None else self._names.free(wishes)

    def _check_same(self, made: list[list[_Made]]) -> None:
        """That it is no other source of the same name, whose pages would be overwritten.

        Raises:
            RefusedError: it seems to be one.
        """
        other: list[str] = []
        alike = 0
        for parts in made:
            note = parts[0].note
            if parts[0].uuid != naming.uuid_of(self._imported.kind, note.identity) or not self._is_labelled(
                note.identity
            ):
                continue  # it is known by an id of its own, whatever its source is called
            marks = [(part, self._marks[part.uuid]) for part in parts if part.uuid in self._marks]
            elsewhere = [(part, mark) for part, mark in marks if mark.place != self._place]
            there = set[str]().union(*(lines_of(Page(one.name, one.raw).body) for one in parts if elsewhere))
            for part, mark in elsewhere:
                if mark.source == note.digest or stands_in(self._stored[part.uuid].body, there):
                    alike += 1
                else:
                    other.append(part.name)
        if other and len(other) >= alike:
            raise RefusedError(
                f"another {self._imported.label!r} was imported before, from elsewhere: it is what {_some(other)} "
                f"came from, and little of that is in this one",
                hint="Give this one a name of its own with --label. If it is the same one, moved and rewritten, "
                "--replace takes its text.",
            )

    def check_new(self) -> None:
        """That what seems to be a new source is not one that was renamed, whose pages would all be made again.

        Raises:
            RefusedError: more than half of it was imported under another name.
        """
        imported = self._imported
        own = (note for note in self._gathered.notes if not note.keys.get("uuid"))
        named = [note for note in own if note.source == imported.label or self._is_labelled(note.source)]
        if any(naming.uuid_of(imported.kind, note.identity) in self._stored for note in named):
            return
        known: dict[str, set[str]] = {}
        for uuid, mark in self._marks.items():
            known.setdefault(mark.source, set()).add(str(self._stored[uuid].frontmatter.get("source")))
        labels: Counter[str] = Counter()
        for note in named:
            path = note.source[len(imported.label) :]
            found = known.get(note.digest, ())
            labels.update(source.removesuffix(path) for source in found if source.endswith(path))
        for label, count in labels.most_common(1):
            if 2 * count > len(named):
                raise RefusedError(
                    f"this seems to be {label!r}, which was imported before: {count:,} of its {len(named):,} notes "
                    "are the same",
                    hint=f"--label '{label}' brings those pages up to date; --label '{imported.label}' makes others.",
                )

    def _is_labelled(self, identity: str) -> bool:
        return identity.startswith((f"{self._imported.label}/", f"{self._imported.label}#"))

    # what was imported before

    def _places_before(self, uuids: list[str]) -> Iterator[str]:
        """Where this very source has lain, as far as notes tell that have not changed since."""
        for uuid, note in zip(uuids, self._gathered.notes, strict=True):
            mark = self._marks.get(uuid)
            if mark is not None and mark.source == note.digest:
                yield mark.place

    def _brought_before(self, made: Container[str]) -> Iterator[Page]:
        """The pages that this source made once, and does not make now."""
        for uuid, mark in self._marks.items():
            if uuid not in made and mark.place in self._places:
                yield self._stored[uuid]

    def _former(self, uuids: Container[str]) -> Known:
        """The notes of those pages. Where one was split, links to its headings lead to the parts that have them."""
        present = {note.source for note in self._gathered.notes}
        first: dict[str, str] = {}
        known: dict[str, Note] = {}
        for page in sorted(self._brought_before(uuids), key=lambda page: (len(page.filename), page.filename)):
            source = str(page.frontmatter.get("source"))
            if not self._is_labelled(source):
                path = page.filename
            elif source in present:
                continue  # a part of a note that is there
            else:
                path = source[len(self._imported.label) + 1 :]
                main = first.setdefault(source, page.filename)
                found = (section.anchor for section in sections(page.body) if main != page.filename)
                self._anchors |= {(main, anchor): (page.filename, anchor) for anchor in found}
            name = posixpath.basename(stem_of(path))
            known[page.filename] = Note(path, "", source, name, page.title, "", page.frontmatter, "")
        return Known(known.values(), known)

    # pages

    def _parts(self, made: _Made, stem: str) -> list[_Made]:
        """A page, or where it is too long those into which it is cut.

        Args:
            stem: what it would be called in an empty field: the parts are told apart by names made of it, which do
                not change with the field.
        """
        if len(made.raw) <= _ROOM:
            return [made]
        from ..splitting import splitting

        try:
            parts, anchors = splitting(Page(stem + names.PAGE_SUFFIX, made.raw), limit=_ROOM)
        except RefusedError as error:
            self._imported.notes.append(f"{made.name}: {error.message}; it was not split")
            return [made]
        uuids = [made.uuid, *(Page(part.name, part.raw).uuid for part in parts[1:])]
        final = {parts[0].name: made.name}
        for part, uuid in zip(parts[1:], uuids[1:], strict=True):
            final[part.name] = self._name(uuid, [names.stem(part.name)])
        self._anchors |= {(made.name, old): (final[name], new) for old, (name, new) in anchors.items()}
        self._imported.notes += [f"{final[part.name]}: {part.note}" for part in parts if part.note]
        return [
            _Made(uuid, final[part.name], _with_links(part.raw, final, {}), made.note)
            for part, uuid in zip(parts, uuids, strict=True)
        ]

    def _bring(self, parts: list[_Made]) -> None:
        """Write the pages of a note that are new or changed: all of them or, where one must stay, none.

        What has moved from one part to another would else stand in neither, or in both.
        """
        fates = [self._fate(part) for part in parts]
        stays: Fate | None = next((fate for fate in ("conflicts", "kept") if fate in fates), None)
        for part, fate in zip(parts, fates, strict=True):
            if fate == "same":
                self._imported.same += 1
            elif stays is None or fate in ("conflicts", "kept"):
                self._record(part, fate)
            elif fate == "updated":
                self._record(part, stays)
        if stays is not None and {"added", "updated"} & set(fates):
            self._imported.notes.append(
                f"{parts[0].name}: a part of it was edited here, so none of its parts is written"
            )

    def _fate(self, made: _Made) -> Fate:
        """What is to become of a page by itself."""
        stored = self._stored.get(made.uuid)
        if stored is None:
            return "added"
        mark = self._marks.get(made.uuid)
        if _is_same(stored, made.raw):
            return "same"
        if mark is not None and not is_edited(stored, mark):
            return "updated"
        if not stored.uuid or (mark is not None and mark.source == made.note.digest):
            return "kept"
        return "updated" if self._replace else "conflicts"

    def _record(self, made: _Made, fate: Fate) -> None:
        raw = marked(made.raw, made.note.digest, self._place)
        brought = Brought(made.name, made.note.source, made.uuid, len(raw))
        pages: list[Brought] = getattr(self._imported, fate)
        pages.append(brought)
        before = self._stored.get(made.uuid)
        if before is None and self._index is not None and made.name == self._index.filename:
            before = self._index
            self._imported.notes.append(f"{made.name} takes the place of the one that the new field had")
        if fate in ("added", "updated"):
            self._put(made.name, raw, before.sha256 if before is not None else "")

    def _put(self, name: str, raw: bytes, before: str) -> None:
        if self._changes is not None:
            self._changes.put(name, raw, before)

    # files

    def _copied(self, file: SourceFile) -> str | None:
        """The name of the copy of a file that a note links to; None where it cannot be copied."""
        if file.path not in self._copies:
            self._copies[file.path] = self._copy(file)
        return self._copies[file.path]

    def _copy(self, file: SourceFile) -> str | None:
        path = readable(file.path)
        if file.size > MAX_FILE_BYTES:
            self._gathered.leave(
                "file", path, f"is {file.size:,} bytes; files of more than {MAX_FILE_BYTES:,} stay out"
            )
            return None
        try:
            raw = file.place.read_bytes()
        except OSError as error:
            self._gathered.leave("file", path, reason_of(error))
            return None
        name = self._file_names.name(path, raw)
        if names.is_index(name) or names.is_journal(name) or names.is_debris(name):
            self._gathered.leave("file", path, "would be taken for an index of the field")
            return None
        try:
            self._container.entry(name)
        except FileNotFoundError:
            self._imported.attachments.append(Brought(name, path, "", len(raw)))
            self._put(name, raw, "")
        return name

    # what is told

    def _tell_gone(self, made: dict[str, str]) -> None:
        """Pages of this source that nothing makes any more."""
        imported = self._imported
        left = {f"{imported.label}/{item.place}" for item in self._gathered.left}
        sources = set(made.values())
        whole = Path(imported.source).is_dir() or imported.kind in detect.IN_FILES
        for page in self._brought_before(made):
            source = str(page.frontmatter.get("source"))
            is_ours = self._is_labelled(source) and (
                naming.uuid_of(imported.kind, source)
                in self._stored  # and it is of this kind: itself, or its first part
            )
            if source not in left and (source in sources or (whole and is_ours)):
                imported.gone.append(page.filename)
        imported.gone.sort()

    def _tell_unlinked(self) -> None:
        for path in self._gathered.files:
            if path not in self._copies:
                self._gathered.leave("file", readable(path), "is linked from no note")


def _some(pages: list[str]) -> str:
    return ", ".join(pages[:3]) + (f" and {len(pages) - 3:,} more" if len(pages) > 3 else "")


def _folder_tags(note: Note) -> list[str]:
    inside = note.folders
    tags = ["-".join(folder.lower().split()) for folder in inside if not folder.startswith(".")]
    return words.added(note.tags, tags)


def _is_same(stored: Page, raw: bytes) -> bool:
    """Whether a page says already what would be imported, whatever the order of its keys.

    One that was not imported need not have the keys that an import adds.
    """
    if unmarked(stored) == raw:
        return True
    new = Page(stored.filename, raw)
    keys = {key: value for key, value in stored.frontmatter.items() if key != MARK}
    if mark_of(stored) is None:
        return keys.items() <= new.frontmatter.items() and stored.body.strip() == new.body.strip()
    return keys == new.frontmatter and stored.body == new.body


def _with_links(raw: bytes, final: dict[str, str], anchors: dict[tuple[str, str], tuple[str, str]]) -> bytes:
    """A page with its links to pages that were split leading to the right part, by the name that it has here."""

    def target(link: Link) -> str | None:
        name, _, fragment = link.target.partition("#")
        if link.page is None:
            return None
        page, anchor = anchors.get((name, fragment), (final.get(name, name), fragment))
        if (page, anchor) == (name, fragment):
            return None
        return page + (f"#{quote(anchor, safe='-_')}" if anchor else "")

    return with_targets(raw.decode("utf-8"), target).encode("utf-8")
