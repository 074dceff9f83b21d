"""Field: the pages of one container, and the rules for changing them.

`Field` is also the library's front: `sync`, `search` and `validate` hand the work to the modules of
that name, and load them only when they are called.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from . import names
from .answers import Created, PageList, PageRead, PagesRead, Similar, Written, listed
from .appending import appended, gathered
from .containers import DEFAULT_LIMITS, Container, Entry, Limits, open_container
from .errors import (
    DuplicateError,
    FieldNotFoundError,
    MemoryfieldError,
    NotEmptyError,
    PageConflictError,
    PageExistsError,
    PageNameError,
    PageNotFoundError,
    RefusedError,
    SectionNotFoundError,
    UsageError,
    reason_of,
)
from .page import Page, now, with_block_of, with_filled_frontmatter, with_keys
from .sections import find_section

if TYPE_CHECKING:
    from typing import Unpack

    from .embedders import Embedder
    from .index.status import IndexStatus
    from .index.sync import Progress, SyncReport
    from .search.ask import Options
    from .search.near import Nearness
    from .search.result import SearchResult
    from .splitting import Split
    from .validation import Fault
    from .validation.fixes import Change, Outcome

SortKey = Literal["filename", "title", "updated", "created", "bytes"]
Duplicates = Literal["ignore", "tell", "refuse"]
"""What is done about other pages that say nearly the same as one that is written: see `Field.write`."""
MIN_UUID_CHARS = 8
INDEX_PAGE = "index.md"
_MOST_NAMED = 5
"""So many pages are named in a note."""


class Field:
    """The pages of a folder or an archive.

    ```python
    with Field.open("notes") as field:
        field.write("woks.md", "They heat evenly.", title="Woks")
        field.sync()
        for hit in field.search("which wok heats evenly?").results:
            print(hit.score, hit.filename)
    ```
    """

    made: Created | None = None
    """What `create` did."""

    def __init__(self, container: Container) -> None:
        self.container = container

    @classmethod
    def open(cls, location: str | Path, limits: Limits = DEFAULT_LIMITS) -> "Field":
        """The field at a location: a folder, or a .memoryfield.zip within the limits.

        Raises:
            FieldNotFoundError: nothing is there.
            ArchiveError: a file that is no readable zip.
            UnsafeArchiveError: an archive that is refused, and why.
        """
        return cls(open_container(location, limits))

    @classmethod
    def create(cls, location: str | Path, *, title: str = "", summary: str = "", git: bool = False) -> "Field":
        """Make a folder for a new field, with an index.md that introduces it.

        Args:
            git: make a repository of it, with a .gitignore and a .gitattributes. Within another repository
                it gets the files alone; the folder may hold an empty one. A field that is there already
                gets what it lacks of these, and is left as it is.

        Raises:
            NotEmptyError: the folder holds something already.
            RefusedError: its .git is a link to nothing.
            UsageError: there is no git; nothing is made.
        """
        path = Path(location)
        if git:
            from . import repository

            inside = repository.enclosing(path)
        if path.is_dir() and any(not (git and item.name == repository.FOLDER) for item in path.iterdir()):
            is_field = _holds_page(path)
            if is_field and git and not (title or summary):
                field = cls.open(path)
                page = field._stored(INDEX_PAGE)
                done = repository.prepare(path, inside)
                field.made = Created(field.name, page.title if page else field.name, [], done)
                return field
            kind = "is a memoryfield already" if is_field else "holds other files"
            other = ", or leave --title and --summary out" if is_field and git else ""
            raise NotEmptyError(f"{str(location)!r} {kind}", hint=f"Choose a new or an empty folder{other}.")
        if path.exists() and not path.is_dir():
            raise NotEmptyError(f"{str(location)!r} is a file", hint="Choose a new or an empty folder.")
        path.mkdir(parents=True, exist_ok=True)
        field = cls.open(path)
        title = " ".join(title.split()) or path.resolve().name
        field.write(INDEX_PAGE, _introduction(title, summary), title=title, summary=summary)
        field.made = Created(field.name, title, [INDEX_PAGE], repository.prepare(path, inside) if git else None)
        return field

    def is_as_created(self, page: Page) -> bool:
        """Whether a page is the index.md that `create` makes where it is told nothing about the field."""
        return (
            page.filename == INDEX_PAGE
            and page.frontmatter.keys() <= {"title", "uuid", "created", "updated"}
            and page.body.strip() == _introduction(self.location.resolve().name).strip()
        )

    def __enter__(self) -> "Field":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of open files."""
        self.container.close()

    @property
    def name(self) -> str:
        """The folder's or the archive's name."""
        return self.container.name

    @property
    def location(self) -> Path:
        """Where the field lies."""
        return self.container.location

    # reading

    def entries(self) -> list[Entry]:
        """The pages' names, sizes and times, sorted by name. Reads no page."""
        found = [entry for entry in self.container.entries() if names.is_page(entry.name)]
        return sorted(found, key=lambda entry: entry.name)

    def pages(self, unreadable: list[tuple[str, str]] | None = None) -> Iterator[Page]:
        """Every page that can be read, sorted by name; the others' names and reasons go into `unreadable`."""
        for entry in self.entries():
            try:
                yield self._load(entry.name)
            except FileNotFoundError:
                continue
            except OSError as error:
                if unreadable is not None:
                    unreadable.append((entry.name, reason_of(error)))

    def content_hash(self) -> str:
        """What names the pages and other files, whatever carries them: `mf1:` and hexadecimal digits (A-11).

        Raises:
            OSError: a file cannot be read.
        """
        from .containers.contents import content_hash, file_hashes

        return content_hash(file_hashes(self.container))

    def find(self, wanted: str) -> str:
        """The file name of a page: given by name, by name without `.md`, or by (the beginning of) its uuid.

        Raises:
            PageNotFoundError: there is none; `suggestions` are the closest names.
            UsageError: several uuids begin like this.
        """
        there = self.container.names()
        for candidate in (wanted, wanted + names.PAGE_SUFFIX):
            if candidate in there and names.is_page(candidate):  # found without a look at every file
                with suppress(OSError, PageNameError):
                    return self.container.entry(candidate).name
        existing = [entry.name for entry in self.entries()]
        for name in existing:
            if names.stem(name) == wanted:
                return name
        if len(wanted) >= MIN_UUID_CHARS and re.fullmatch(r"[0-9A-Fa-f-]+", wanted):
            beginning = wanted.lower()
            matches = [page.filename for page in self._holding([beginning]) if page.uuid.startswith(beginning)]
            if len(matches) > 1:
                raise UsageError(f"{len(matches)} pages have a uuid that begins with {wanted!r}: {', '.join(matches)}")
            if matches:
                return matches[0]
        raise PageNotFoundError(wanted, tuple(_suggested(wanted, existing)))

    def _holding(self, words: Collection[str]) -> Iterator[Page]:
        """The pages, sorted by name, whose bytes hold one of these words in whatever case: 10,000 take 0.15 s."""
        marks = [word.lower().encode("utf-8") for word in words]
        for name in sorted(filter(names.is_page, self.container.names())):
            with suppress(OSError, MemoryfieldError):
                raw = self.container.read(name)
                lower = raw.lower()
                if any(mark in lower for mark in marks):
                    yield Page(name, raw)

    def read(self, wanted: str) -> Page:
        """A page, found as `find` finds it.

        Raises:
            PageNotFoundError: there is none.
            OSError: it cannot be read.
        """
        return self._load(self.find(wanted))

    def read_many(self, wanted: Iterable[str]) -> PagesRead:
        """Pages, each found as `find` finds it, and sections of pages, as `page#heading`, found as `find_section` does.

        One that is missing or cannot be read does not stop the others.
        """
        found = PagesRead(self.name, [], [], [])
        for one in wanted:
            try:
                found.pages.append(self._read_part(one))
            except (PageNotFoundError, SectionNotFoundError) as error:
                error.wanted = one
                found.missing.append(error)
            except (MemoryfieldError, OSError) as error:
                found.failed.append((one, error))
        return found

    def _read_part(self, wanted: str) -> PageRead:
        name, heading = self._parts(wanted)
        page = self.read(name)
        return PageRead(page, None if heading is None else find_section(page, heading))

    def _parts(self, wanted: str) -> tuple[str, str | None]:
        """Which page is wanted, and which heading. No legal name has a `#`; a page whose name has one can be read."""
        name, mark, heading = wanted.partition("#")
        if mark:
            existing = {entry.name for entry in self.entries()}
            places = [place for place, sign in enumerate(wanted) if sign == "#"]
            for end in (len(wanted), *reversed(places)):
                if not existing.isdisjoint((wanted[:end], names.with_suffix(wanted[:end]))):
                    return wanted[:end], wanted[end + 1 :] if end < len(wanted) else None
        return name, heading if mark else None

    def list_pages(self, sort: SortKey = "filename", *, reverse: bool = False) -> PageList:
        """What every page says of itself, in order of a key; dates and sizes begin with the greatest."""
        unreadable: list[tuple[str, str]] = []
        rows = [listed(page) for page in self.pages(unreadable)]  # in order of their names
        descending = sort in ("updated", "created", "bytes")
        rows.sort(key=lambda row: _sortable(row[sort]), reverse=descending != reverse)
        return PageList(self.name, rows, unreadable)

    def _load(self, name: str) -> Page:
        entry = self.container.entry(name)
        return Page(name, self.container.read(name), mtime_ns=entry.mtime_ns)

    # changing

    def write(
        self,
        name: str,
        text: str | bytes,
        *,
        title: str = "",
        summary: str = "",
        mode: Literal["new", "replace", "append"] = "new",
        section: str = "",
        if_match: str = "",
        duplicates: Duplicates = "ignore",
        share: "Callable[[Embedder], Embedder] | None" = None,
    ) -> Written:
        """Store a page. Missing frontmatter is filled in; what the text has is kept as it is.

        Args:
            name: with or without `.md`; empty: made from the title.
            text: the page, with or without frontmatter; for `append`, what comes after the stored text.
                Of its own frontmatter the page gets the tags and sources, and `notes` tells what is left out.
            mode: `new` refuses an existing page; `replace` keeps its uuid and created, and all of its
                frontmatter where the text has none.
            section: for `append`, the heading (or its anchor) at the end of whose section the text is to
                stand, before the next heading of its level or higher. Written as `## Heading`, it is
                made at the page's end where it is not there.
            if_match: sha256 that the stored page must have.
            duplicates: `tell` looks for other pages that say nearly the same, except to add to a page:
                `similar` of the answer; `refuse` does not write a new page then.
            share: gives for the model that compares pages one of its kind that is loaded already.

        Raises:
            SectionNotFoundError: the page has no such section, or several.
            PageNameError: no legal name.
            PageExistsError: the page is there, and mode is `new`.
            DuplicateError: others say nearly the same, and are to be refused.
            PageConflictError: the stored page has another sha256, or another uuid than the text; or the
                uuid of a new page is that of another.
            RefusedError: an empty text would replace a page.
            ReadOnlyError: the field cannot be written.
        """
        if section and mode != "append":
            raise UsageError("a section can only be appended to", hint="Say --append, too.")
        raw = _encoded(text) if isinstance(text, str) else text
        notes: list[str] = []
        title, summary = " ".join(title.split()), " ".join(summary.split())
        name = check_page_name(name or _name_for(Page("page.md", raw), title))
        nearness = None
        if duplicates != "ignore" and (mode == "replace" or self._stored(name) is None):
            filled = with_filled_frontmatter(Page(name, raw), title=title, summary=summary)
            nearness = self._nearness(filled, name, share)
        similar = nearness.look() if nearness else []  # before the lock: a model may take a while
        with self.container.lock():
            stored = self._stored(name)
            check_match(name, stored, if_match)
            if stored is not None and mode == "new":
                raise PageExistsError(
                    f"{name} exists already ({stored.title!r})",
                    hint=f"Use --replace to replace it, --append to add to it, or another name: {self._free(name)}.",
                )
            if stored is None and mode != "new":
                close = _closest(name, [entry.name for entry in self.entries()], 0.8)
                question = f"; did you mean {', '.join(close)}?" if close else ""
                notes.append(f"{name} was not there, and is new{question}")
            given = Page(name, raw)
            keys: dict[str, str | list[str]] = {}
            _check_uuid(given, stored)
            if stored is None and not raw.strip():
                raise UsageError(f"{name} would have no text", hint="Give what it is to say; a title answers nothing.")
            if stored is not None and mode == "replace":
                title, summary = _kept_words(stored, given, title, summary, notes)
                given = _replacing(stored, given)
            elif mode == "append" and (stored is not None or section):
                raw = appended(stored, given, section, notes)
                keys = gathered(stored, given, notes) if stored else {}
                given = Page(name, raw)
            similar += nearness.look_again() if nearness else []
            if similar and stored is None and duplicates == "refuse":
                raise _duplicate(similar)
            if stored is None and given.uuid:
                self._check_new_uuid(given)
            raw = with_filled_frontmatter(given, title=title, summary=summary, kept=stored)
            raw = (keys and with_keys(Page(name, raw), **keys)) or raw
            changed = stored is None or bool(keys) or _differs(stored, given, Page(name, raw), title, summary)
            if changed:
                self.container.write(name, raw)
            page = self._load(name)
        if not changed:
            notes.append(f"{name} says this already: nothing was changed")
        notes += [*_notes(page), *(nearness.notes if nearness else ())]
        return Written(page, stored is None, tuple(notes), self.name, tuple(similar), changed)

    def _check_new_uuid(self, given: Page) -> None:
        uuid = names.usual_uuid(given.uuid) or given.uuid
        for page in self._holding([uuid]):
            if page.uuid == uuid:
                raise PageConflictError(
                    f"the text carries uuid {uuid}, which is that of {page.filename}: no two pages have the same",
                    hint="Take the uuid out of the text; `memoryfield rename` gives a page another name.",
                )

    def _nearness(self, raw: bytes, name: str, share: "Callable[[Embedder], Embedder] | None") -> "Nearness | None":
        """What compares a text with the other pages; None where it cannot be written anyhow."""
        if not self.container.writable:
            return None
        from .search.near import Nearness

        return Nearness(self.container, Page(name, raw), share)

    def _free(self, name: str) -> str:
        """A name like this one that no page has."""
        taken = {entry.name for entry in self.entries()}
        return next(free for free in names.alternatives(names.stem(name)) if free not in taken)

    def rewrite(self, name: str, before: Page, raw: bytes) -> Written:
        """Store an edited page; `updated` changes only if the text did, and what `write` would keep is kept.

        Raises:
            PageConflictError: the stored page is no longer `before`, or the text has another uuid.
            RefusedError: the text is empty.
        """
        notes: list[str] = []
        with self.container.lock():
            stored = self._stored(name)
            if stored is None or stored.raw != before.raw:
                raise PageConflictError(f"{name} was changed by somebody else meanwhile")
            if raw != before.raw:
                given = Page(name, raw)
                _check_uuid(given, stored)
                page = _replacing(stored, given)
                if page is not given:
                    notes.append("the text had no frontmatter: that of the page was kept")
                self.container.write(name, _refreshed(page, stored, notes))
            page = self._load(name)
        return Written(page, False, (*notes, *_notes(page)), self.name)

    def split(self, wanted: str, *, if_match: str = "", dry_run: bool = False) -> "Split":
        """Cut a page that is over 8,192 bytes into pages within them, at its headings: all of it or nothing.

        The first part keeps the page's name, uuid and frontmatter, and lists the others. Links to
        headings follow, those of other pages, too.

        Args:
            wanted: the page, found as `find` finds it.
            if_match: sha256 that the stored page must have.
            dry_run: only tell what would be done.

        Raises:
            PageNotFoundError: there is no such page.
            PageConflictError: it has another sha256.
            RefusedError: it is not UTF-8, its frontmatter is broken, or it is a link.
            ReadOnlyError: the field cannot be written.
        """
        from .splitting import split_page

        return split_page(self, wanted, if_match=if_match, dry_run=dry_run)

    def rename(self, wanted: str, new: str, notes: list[str] | None = None) -> str:
        """Give a page another name; its uuid stays, and its rows in every index follow.

        `notes` tells of an index that could not, and which pages link to the old name.

        Raises:
            PageNameError: no legal name.
            PageExistsError: a page has the new name already.
        """
        new = check_page_name(new)
        with self.container.lock():
            old = self.find(wanted)
            if new != old and self._stored(new) is not None and not self._is_same_file(old, new):
                raise PageExistsError(f"{new} exists already", hint="Choose another name, or delete that page first.")
            if new == old:
                return old
            self.container.rename(old, new)
        from .index.status import follow_renames

        news = follow_renames(self.container, {old: new})
        if notes is not None:
            notes += [*_name_notes(new), *news, *self.dead_links([old], old)]
        return old

    def _is_same_file(self, old: str, new: str) -> bool:
        """Two names of one file, on a file system that does not tell capitals apart."""
        listed = {entry.name for entry in self.container.entries()}
        return old in listed and new not in listed

    def delete(self, wanted: str, notes: list[str] | None = None) -> str:
        """Delete a page, and its rows in every index, words included; `notes` tells of an index that kept them.

        Raises:
            PageNotFoundError: there is none.
        """
        (name,) = self.delete_many([wanted], notes)
        return name

    def delete_many(self, wanted: Iterable[str], notes: list[str] | None = None) -> Iterator[str]:
        """Delete pages, each as its name is asked for; the indexes follow once, when the last is told, or one fails.

        Raises:
            PageNotFoundError: one is not there; those before it are deleted.
        """
        deleted: list[str] = []
        try:
            for one in wanted:
                with self.container.lock():
                    name = self.find(one)
                    self.container.delete(name)
                deleted.append(name)
                yield name
        finally:
            if deleted:
                from .index.status import follow_deletions

                told = follow_deletions(self.container, deleted)
                if notes is not None:
                    notes += told

    def dead_links(self, gone: Collection[str], called: str = "what was deleted") -> list[str]:
        """In plain words, which pages link to pages that are gone; nothing where none does.

        It reads every page, once: 0.2 s for 10,000.
        """
        from .validation.links import links

        found = [page.filename for page in self._holding(gone) if any(link.page in gone for link in links(page.body))]
        if not found:
            return []
        more = f" and {len(found) - _MOST_NAMED:,} more" if len(found) > _MOST_NAMED else ""
        return [f"links to {called} are left in {', '.join(found[:_MOST_NAMED])}{more}"]

    def _stored(self, name: str) -> Page | None:
        try:
            return self._load(name)
        except FileNotFoundError:
            return None

    # derived

    def sync(
        self,
        model: str | None = None,
        *,
        rebuild: bool = False,
        threads: int | None = None,
        progress: "Progress | None" = None,
    ) -> "SyncReport":
        """Bring an index up to date: the one of `model`, else the field's first, else a new one of the default.

        Args:
            model: a code, or a spec such as `ollama:bge-m3` or `openai:text-embedding-3-small`.
            rebuild: throw away what is there.
            threads: how many the bundled model uses; else one for each core.

        Raises:
            UnknownModelError: no embedder is known for the model.
            ReadOnlyError: the field cannot be written.
            UsageError: less than one thread.
        """
        from .index.status import sync_index

        return sync_index(self.container, model, rebuild=rebuild, threads=threads, progress=progress)

    def models(self) -> list[str]:
        """The models whose indexes the field has and whose embedders are known; the default one without any."""
        from .index.status import models_of

        return models_of(self.container)

    def drop_index(self, model: str) -> str:
        """Delete the index of a model, given by its code or a spec; the file's name.

        Raises:
            UsageError: there is none.
            ReadOnlyError: the field cannot be written.
        """
        from .embedders import code_of_spec
        from .index.files import discard_index, index_files

        code = code_of_spec(model)
        name = index_files(self.container).get(code)
        if name is None:
            raise UsageError(f"there is no index of {model!r}", hint="`memoryfield info` lists them.")
        discard_index(self.container, code)
        return name

    def indexes(self) -> "list[IndexStatus]":
        """What is in each index, and how much of it is out of date."""
        from .index.status import index_status

        return index_status(self.container)

    def search(self, query: str, **options: "Unpack[Options]") -> "SearchResult":
        """The pages that answer a query best.

        ```python
        field.search("which wok?", limit=3, where=["status=tested"], since="2026-01-01", recency="90d")
        ```

        Args:
            query: words or a question; a phrase in double quotes must stand in the page.
            options: see `memoryfield.search.ask.Options`.

        Raises:
            UsageError: an empty query, an option that means nothing, an unknown model.
        """
        from .search.searcher import Searcher

        with Searcher([self.container], **options) as searcher:
            return searcher.search(query)

    def similar(self, wanted: str, **options: "Unpack[Options]") -> "SearchResult":
        """The pages nearest to one page, by their stored vectors; itself left out.

        Args:
            wanted: the page, found as `find` finds it.
            options: as for `search`.

        Raises:
            PageNotFoundError: there is no such page.
            MemoryfieldError: it has no vector yet.
        """
        from .search.searcher import Searcher

        options["mode"] = "semantic"
        with Searcher([self.container], **options) as searcher:
            return searcher.similar(self.find(wanted))

    def validate(
        self, *, select: Iterable[str] = (), ignore: Iterable[str] = (), progress: "Progress | None" = None
    ) -> "list[Fault]":
        """Every fault in every page and index, and in the field as a whole.

        Args:
            select: identifiers of requirements in the written format (`F-8`), or their letters (`F`); none: all.
            ignore: those that are left out.

        Raises:
            UsageError: an identifier that is none.
        """
        from .validation import validate

        return validate(self.container, select=select, ignore=ignore, progress=progress)

    def fixes(self) -> "list[Change]":
        """What could be mended without guessing, page by page. Nothing is changed."""
        from .validation.fixes import plan

        return plan(self.container, now=now())

    def fix(self, changes: "Sequence[Change]") -> "list[Outcome]":
        """Make changes that `fixes` proposed; a page that has changed since is left alone, and told of.

        Raises:
            ReadOnlyError: the field cannot be written.
        """
        from .validation.fixes import apply

        return apply(self.container, changes)


def container_of(given: Container | Field) -> Container:
    """The container of a field; a container itself."""
    return given.container if isinstance(given, Field) else given


def _introduction(title: str, summary: str = "") -> str:
    """The text of a new field's index.md."""
    return f"# {title}\n\n{summary or _INTRODUCTION}\n"


_INTRODUCTION = (
    "A memoryfield: one question a page, the answer first. Search it with\n"
    '`memoryfield search "..."`, and add pages with `memoryfield write`.'
)


def _suggested(wanted: str, existing: list[str]) -> list[str]:
    """Names for one that is not there: those in which all of its words stand, then the most alike; three at most."""
    words = set(re.findall(r"[^\W_]+", names.stem(wanted).lower()))
    holding = [name for name in existing if words and words <= set(names.stem(name).split("-"))]
    close = _closest(names.with_suffix(wanted), existing, 0.6)
    return list(dict.fromkeys(sorted(holding, key=len) + close))[:3]


def _closest(name: str, existing: list[str], cutoff: float) -> list[str]:
    """The names most like one, three at most; the higher the cutoff, to 1, the more alike."""
    import difflib

    return difflib.get_close_matches(name, existing, n=3, cutoff=cutoff)


def _holds_page(path: Path) -> bool:
    """Whether a folder is a field: a repository with its README.md is none, so the name must be one of a page."""
    return any(names.is_legal_page_name(item.name) and item.is_file() for item in path.iterdir())


def locate(given: str | None, environment: str | None, here: Path) -> str:
    """Which field is meant: the given one, else the environment's, else the current folder if it holds a page.

    Raises:
        FieldNotFoundError: none of them.
    """
    if given:
        return given
    if environment:
        return environment
    if _holds_page(here):
        return str(here)
    raise FieldNotFoundError(
        "no memoryfield here",
        hint="Name one with -f FOLDER, set MEMORYFIELD, or make one with `memoryfield create PATH`.",
    )


def check_page_name(name: str) -> str:
    """A page's file name, `.md` added if it is missing.

    Raises:
        PageNameError: not lowercase ASCII letters, digits and hyphens, first and last a letter or digit, or too long.
    """
    full = names.with_suffix(name)
    if len(full.encode("utf-8", "replace")) > names.MAX_NAME_BYTES:
        raise PageNameError(
            f"{full[:40]!r}… is too long for a page's name: {len(full):,} characters, and file systems take"
            f" {names.MAX_NAME_BYTES}, .md included",
            hint=f"How about {names.slug(names.stem(name))}?",
        )
    if names.is_legal_page_name(full):
        return full
    raise PageNameError(
        f"{name!r} is no name for a page: lowercase letters, digits and hyphens only",
        hint=f"How about {names.slug(names.stem(name))}?",
    )


def check_match(name: str, stored: Page | None, sha256: str) -> None:
    """See that a stored page is the one that a writer has seen, where it says which.

    Raises:
        PageConflictError: it is another, or none.
    """
    wanted = "".join(sha256.lower().split()[:1])  # `sha256sum` prints a name behind it
    if not wanted:
        return
    if stored is None:
        raise PageConflictError(f"{name} is not there, so it does not match {wanted}")
    if stored.sha256 != wanted:
        raise PageConflictError(
            f"{name} has changed: its sha256 is now {stored.sha256}", hint="Read it again, then write."
        )


def _sortable(value: str | int) -> str | int:
    return value.casefold() if isinstance(value, str) else value


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise UsageError(f"line {line} of the text holds a lone surrogate, which UTF-8 cannot hold") from None


def _check_uuid(page: Page, stored: Page | None) -> None:
    if stored is not None and page.uuid and stored.uuid and page.uuid != stored.uuid:
        raise PageConflictError(
            f"the text carries uuid {page.uuid}, the stored {stored.filename} {stored.uuid}: they are two pages",
            hint="Write it under another name, or take the uuid out of the text.",
        )


def _name_for(page: Page, title: str) -> str:
    """The stem for a page that has no name, made from its title.

    Raises:
        UsageError: it has none.
    """
    if not (title or page.frontmatter.get("title") or page.heading):
        raise UsageError("the page has neither a name nor a title", hint="Give a name, or --title.")
    return names.slug(title or page.title)


def _kept_words(stored: Page, given: Page, title: str, summary: str, notes: list[str]) -> tuple[str, str]:
    """The title and summary for a page that takes the place of another: what the text does not give, stays."""
    if not given.has_frontmatter:  # it gets the stored one
        return title or given.heading or "", summary
    kept = {key: getattr(stored, key) for key in ("title", "summary") if stored.frontmatter.get(key)}
    has = {key for key, value in given.frontmatter.items() if key != "title" or value}  # no page is without a title
    lost = {key: value for key, value in kept.items() if key not in has}
    if title or given.heading:
        lost.pop("title", None)
    if summary:
        lost.pop("summary", None)
    _tell_kept(lost, notes)
    return title or lost.get("title", ""), summary or lost.get("summary", "")


def _replacing(stored: Page, given: Page) -> Page:
    """The page that takes the place of another: with its frontmatter, where it has none of its own.

    Raises:
        RefusedError: it would have no text, or no uuid since its frontmatter cannot be read.
    """
    is_broken = given.has_frontmatter and not given.frontmatter_is_valid
    if is_broken and stored.uuid not in ("", given.uuid):
        problem = given.problems[0]
        raise RefusedError(
            f"line {problem.line} of the text: {problem.message}; so {stored.filename} would lose its uuid",
            hint="Mend the frontmatter, or leave it out: then that of the page is kept.",
        )
    if not (given.raw if is_broken else given.body).strip() and stored.body.strip():
        raise RefusedError(
            f"the text is empty, and {stored.filename} is not", hint="`memoryfield delete` deletes a page."
        )
    return with_block_of(stored, given)


def _differs(stored: Page, given: Page, filled: Page, title: str, summary: str) -> bool:
    """Whether a page changes in more than `updated`."""
    same = given.raw == stored.raw and title in ("", stored.title) and summary in ("", stored.summary)
    return not (same or with_keys(filled, updated=stored.updated) == stored.raw)


def _duplicate(similar: list[Similar]) -> DuplicateError:
    first = names.stem(similar[0].filename)
    return DuplicateError(
        f"not written, for nearly the same is there already: {', '.join(map(str, similar))}",
        similar=similar,
        hint=f"`memoryfield read {first}`, and add what is new with `memoryfield write {first} --append`,"
        " or write it anew with --replace --if-match SHA256; without --no-duplicates, this is written beside it.",
    )


def _refreshed(page: Page, stored: Page, notes: list[str]) -> bytes:
    """The page's bytes with `updated` set to now and what the stored one is known by, where they can be set."""
    lost = {key: value for key in ("uuid", "created") if (value := getattr(stored, key)) and not getattr(page, key)}
    raw = with_keys(page, updated=now(), **lost)
    if raw:
        _tell_kept(lost, notes)
    return raw or page.raw


def _tell_kept(keys: Collection[str], notes: list[str]) -> None:
    if keys:
        notes.append(f"kept of the page, since the text had none: {', '.join(keys)}")


def _name_notes(name: str) -> Iterator[str]:
    """What is to be known of a legal name: the format allows it, and one system does not."""
    if fault := names.windows_name_fault(name):
        free = names.slug(names.stem(name))
        yield f"the name {name} {fault}, where it cannot be read: `memoryfield rename {name} {free}`"


def _notes(page: Page) -> Iterator[str]:
    yield from _name_notes(page.filename)
    for problem in page.problems:
        yield f"{page.filename}:{problem.line}:{problem.column}: {problem.message}; the text was kept as it is"
    if page.size > names.MAX_PAGE_BYTES:
        way = f"`memoryfield split {names.stem(page.filename)}` cuts it"
        yield f"{page.filename} is {page.size:,} bytes; pages should stay within {names.MAX_PAGE_BYTES:,}: {way}"
