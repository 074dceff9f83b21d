"""What the server does with its fields: each call gives facts, as JSON has them, and a short text that says the same.

It knows nothing of the protocol. The fields are fixed when it begins, and named, never located, by its callers. It
is not made for several threads at once.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import apsw

from ...answers import PageList, PagesRead, answer, listed
from ...containers import DEFAULT_LIMITS, Container, Entry, Limits
from ...dates import second_of
from ...errors import FieldNotFoundError, MemoryfieldError, PageNotFoundError, ReadOnlyError, UsageError, reason_of
from ...field import Field
from ...page import Page
from ...search.ask import Options
from ...search.searcher import Searcher

if TYPE_CHECKING:
    from ...search.result import Hit, SearchResult

MOST_TEXT = 60_000
"""So many characters of pages are in one answer: no harness takes more than some 25,000 tokens."""
MOST_FRONTMATTER = 4_000
"""So many characters of a page's frontmatter, as JSON."""
MOST_STRING = 500
"""So many of a title, a summary, or any other fact."""
MOST_PROBLEMS = 20
AT_ONCE = 32
"""After so many pages, others may have their turn."""
RECHECK_SECONDS = 5.0
"""So old a look at all pages may be when a search has been answered."""
MOST_BYTES = 4 << 20
"""A larger page is not given as a resource: those are whole, or not at all."""

Mode = Literal["new", "replace", "append"]


class Answer(NamedTuple):
    """What a call answers. `is_error`: nothing was done or found that was asked for; `text` says why."""

    facts: dict[str, Any] | None
    text: str
    is_error: bool = False


class Memory:
    """The fields of a server.

    ```python
    with Memory(["notes", "team.memoryfield.zip"]) as memory:
        memory.search("which wok?", limit=3).text
        memory.read(["woks"], field="notes").facts
    ```
    """

    def __init__(
        self, locations: Sequence[str | Path], *, allow_writes: bool = False, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        """Open the fields.

        Raises:
            MemoryfieldError: none can be opened.
        """
        self.allow_writes = allow_writes
        self._searcher = Searcher.open(locations, limits)
        self._searcher.expect_many()
        self._searcher.watch()
        self._has_searched = False
        self._checked = time.monotonic()
        self._dates: dict[str, dict[Entry, str]] = {}
        self.names = self._searcher.names
        self.unopened = self._searcher.unopened

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *ending: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all files."""
        self._searcher.close()

    # what tools do

    def search(
        self,
        query: str,
        *,
        field: str = "",
        budget: int | None = None,
        **options: Any,
    ) -> Answer:
        """The pages that answer a query best; with a budget, whole ones, in tokens of 4 characters.

        Args:
            options: `limit`, `mode`, `min_score`, `where`, `since`, `until`: see `search.ask.Options`.
        """
        asked: Options = {"limit": 5, "mode": "hybrid", **options}  # type: ignore[typeddict-item]
        if budget is not None:
            asked |= {"full": True, "budget": budget}
        self._has_searched = True
        try:
            found = self._searcher.search(query, among=[self._known(field)] if field else None, **asked)
        except OSError as error:
            raise _gone(field or self.names[0], error) from None
        facts = found.to_dict()
        facts["notes"] = [self._note(note, field) for note in facts["notes"]]
        for hit in facts["results"]:
            hit["frontmatter"] = hit["frontmatter"] and _some_of(hit["frontmatter"], hit["filename"], facts["notes"])
        return Answer(answer(_clipped(facts)), _found(found, facts["notes"]))

    def read(self, pages: Sequence[str], *, field: str = "") -> Iterator[Answer | None]:
        """Pages by name; the text of all together is bounded, and what is left out is told.

        The answer comes last; None before says that others may have their turn.
        """
        found = PagesRead(self._open(field).name, [], [], [])
        for page in pages:
            one = Field(self._container(field)).read_many([page])
            found.pages.extend(one.pages)
            found.missing.extend(one.missing)
            found.failed.extend(one.failed)
            yield None
        yield self._read(found)

    def _read(self, found: PagesRead) -> Answer:
        if not found.pages:
            return Answer(None, "\n".join(self._unread(found)), True)
        facts = found.to_dict(body=True)
        notes: list[str] = []
        texts: list[str] = []
        left = MOST_TEXT
        for page, told in zip(found.pages, facts["pages"], strict=True):
            told["frontmatter"] = _some_of(told["frontmatter"], page.filename, notes)
            told["problems"] = told["problems"][:MOST_PROBLEMS]
            text = _beginning(page.text, left)
            left -= len(text)
            if missing := len(page.text) - len(text):
                told["body"] = told["body"][: max(0, len(told["body"]) - missing)]
                notes.append(
                    f"{page.filename}: the last {missing:,} of {len(page.text):,} characters are left out; "
                    f'"{page.filename}#HEADING" gives one section'
                )
            version = f", sha256 {told['sha256']}" if self.allow_writes else ""  # for if_match
            texts.append(f"==> {page.filename}{version} <==\n{text}")
        facts = answer({**_clipped(facts), "notes": notes})
        told = "\n".join(f"note: {note}" for note in [*notes, *self._unread(found)])
        return Answer(facts, "\n".join([*texts, told] if told else texts))

    def list_pages(
        self, *, field: str = "", sort: str = "name", limit: int = 50, offset: int = 0
    ) -> Iterator[Answer | None]:
        """Some of the pages with their titles. By name only those are read; by date, all that have changed are.

        The answer comes last; None before says that others may have their turn.
        """
        entries = self._open(field).entries()
        if sort == "updated":
            yield from self._learn_dates(field, entries)
            dates = self._dates[field]
            entries.sort(key=lambda entry: dates[entry].casefold(), reverse=True)
        some = entries[offset : offset + limit]
        found = PageList(self._open(field).name, [], [])
        for number, entry in enumerate(some):
            if number % AT_ONCE == 0:
                yield None
            try:
                found.pages.append(listed(self._page(field, entry)))
            except (MemoryfieldError, OSError) as error:
                found.failed.append((entry.name, explained(error)))
        facts = answer({**_clipped(found.to_dict()), "total": len(entries)})
        lines = [f"{row['filename']}\t{row['title']}" for row in facts["pages"]]
        left = len(entries) - offset - len(found.pages) - len(found.failed)
        if left > 0:
            lines.append(f"note: {left:,} more of {len(entries):,}; offset {offset + limit} goes on, or search")
        lines += [f"note: {row['filename']}: {row['reason']}" for row in facts["failed"]]
        yield Answer(facts, "\n".join(lines) or "no pages")

    def _learn_dates(self, field: str, entries: Sequence[Entry]) -> Iterator[None]:
        """When each page was updated; kept, as long as the file is the same."""
        known = self._dates.get(field, {})
        dates: dict[Entry, str] = {}
        for entry in entries:
            if entry in known:
                dates[entry] = known[entry]
                continue
            try:
                dates[entry] = str(listed(self._page(field, entry))["updated"])
            except (MemoryfieldError, OSError):
                dates[entry] = second_of(entry.mtime_ns)
            if len(dates) % AT_ONCE == 0:
                yield None
        self._dates[field] = dates

    def _page(self, field: str, entry: Entry) -> Page:
        return Page(entry.name, self._container(field).read(entry.name), mtime_ns=entry.mtime_ns)

    def write(
        self,
        text: str,
        *,
        field: str = "",
        name: str = "",
        title: str = "",
        summary: str = "",
        mode: Mode = "new",
        section: str = "",
        if_match: str = "",
        no_duplicates: bool = False,
    ) -> Answer:
        """Store a page."""
        opened = self._writable(field)
        duplicates: Any = "refuse" if no_duplicates else "tell"
        written = opened.write(
            name,
            text,
            title=title,
            summary=summary,
            mode=mode,
            section=section,
            if_match=if_match,
            duplicates=duplicates,
            share=self._searcher.share,
        )
        facts = answer(_clipped(written.to_dict()))
        facts["notes"] = [self._note(note, field) for note in facts["notes"]]
        done = "created" if written.created else "appended to" if mode == "append" else "replaced"
        done = done if written.changed else "did not change"
        notes = [f"note: {self._note(note, field)}" for note in written.told]
        if written.similar:
            notes.append('note: if it is one memory, keep one page: write to it with mode "append", delete the other')
        return Answer(facts, "\n".join([f"{done} {written.page.filename}, sha256 {written.page.sha256}", *notes]))

    def delete(self, page: str, *, field: str = "") -> Answer:
        """Delete a page, and what any index holds of it."""
        opened = self._writable(field)
        notes: list[str] = []
        name = opened.delete(page, notes)
        notes += opened.dead_links([name])
        notes = [self._note(note, field) for note in notes]
        facts = answer({"field": opened.name, "deleted": [name], "notes": notes})
        return Answer(facts, "\n".join([f"deleted {name}", *(f"note: {note}" for note in notes)]))

    def refresh(self) -> None:
        """Take in what was written, before somebody asks: else the next search would have to wait for it."""
        if self._has_searched:
            with suppress(MemoryfieldError, OSError, apsw.Error):
                self._searcher.search("refresh", limit=1)

    def recheck(self) -> None:
        """See what the system does not tell of, now and then: the search after this one knows it."""
        if time.monotonic() - self._checked > RECHECK_SECONDS:
            self._searcher.recheck()
            self._checked = time.monotonic()

    # what resources are

    def entries(self, field: str) -> list[Entry]:
        """A field's pages, by name; none where the field has gone."""
        try:
            return Field(self._searcher.container(field)).entries()
        except (MemoryfieldError, OSError):
            return []

    def page(self, field: str, filename: str) -> Page:
        """One page, by its file name alone.

        Raises:
            PageNotFoundError, UsageError, OSError: it cannot be had.
        """
        opened = self._open(field)
        if opened.find(filename) != filename:
            raise PageNotFoundError(filename, (opened.find(filename),))
        if (size := opened.container.entry(filename).size) > MOST_BYTES:
            raise UsageError(f"{filename} has {size:,} bytes, and more than {MOST_BYTES:,} are not sent")
        return opened.read(filename)

    def _note(self, note: str, field: str) -> str:
        """A note in the words of whoever calls tools; of several fields that were searched, it begins with the name."""
        name = field or (note.partition(": ")[0] if len(self.names) > 1 else self.names[0])
        location = ""
        with suppress(KeyError, MemoryfieldError, OSError):  # it names none, or one that has gone meanwhile
            location = str(self._searcher.container(name).location.absolute())
        return short(_in_tools(note, location))

    def _container(self, field: str) -> Container:
        """That of a field as it is now; of the only one, where none is named."""
        return self._searcher.container(field or self.names[0])

    def _known(self, field: str) -> str:
        if field not in self.names:
            raise UsageError(f"there is no field {field!r}", hint=f"The fields are {', '.join(self.names)}.")
        return field

    def _open(self, field: str) -> Field:
        """A field, as it is now.

        Raises:
            UsageError: no field has this name, or none is named and there are several.
            MemoryfieldError: it has gone.
        """
        if not field and len(self.names) > 1:
            raise UsageError("there are several fields", hint=f"Say which: {', '.join(self.names)}.")
        name = self._known(field or self.names[0])
        try:
            opened = Field(self._searcher.container(name))
            opened.container.names()  # a folder that is not there any more says so here
        except OSError as error:
            raise _gone(name, error) from None
        return opened

    def _writable(self, field: str) -> Field:
        if not self.allow_writes:
            raise ReadOnlyError(
                "this server only reads", hint="Whoever runs it can start it with --allow-writes; tell the user."
            )
        return self._open(field)

    def _unread(self, found: PagesRead) -> list[str]:
        """What is missing, and why."""
        lines: list[str] = []
        for error in found.missing:
            field, slash, name = error.wanted.partition("/")
            if slash and field in self.names:
                lines.append(f'no page {error.wanted!r}. Ask for page "{name}" with field "{field}".')
            else:
                lines.append(explained(error))
        return lines + [f"{wanted}: {explained(error)}" for wanted, error in found.failed]


def explained(error: MemoryfieldError | OSError) -> str:
    """What went wrong and what to do, in the words of whoever calls tools, and not commands."""
    text = short(reason_of(error) if isinstance(error, OSError) else _in_tools(str(error)))
    if isinstance(error, PageNotFoundError) and not error.suggestions:
        text += ". Search finds pages by what they say."
    return text


def short(text: str) -> str:
    """The beginning and the end of a message; what callers gave may be in it, however long."""
    return text if len(text) <= MOST_STRING else f"{text[: MOST_STRING - 200]} … {text[-200:]}"


def _gone(field: str, error: OSError) -> FieldNotFoundError:
    return FieldNotFoundError(
        f"the field {field!r} cannot be read now: {reason_of(error)}",
        hint="It may have been moved or deleted: tell the user; once it is back, the same call works.",
    )


def _in_tools(text: str, location: str = "") -> str:
    """A message of the library without options; commands are for the user, who has to name the field's location."""
    for command, tool in _IN_TOOLS:
        text = text.replace(command, tool)
    where = f" -f {shlex.quote(location)}" if location else ""
    text = _COMMAND.sub(lambda found: f"tell the user to run `{found[1]}{where}`", text)
    text = _DUPLICATE.sub(r'Read "\1", and add what is new with mode "append".', text)
    text = _OUTLINE.sub(r'Read "\1" whole to see its headings', text)
    if "`memoryfield " in text and "tell the user" not in text:
        text = f"{text.removesuffix('.')}. That is for the user to run: tell them."
    return text


_DUPLICATE = re.compile(r"`memoryfield read (\S+)`, and add .*is written beside it\.")
_OUTLINE = re.compile(r"`memoryfield read --outline ([^`]*)` shows its headings")
_COMMAND = re.compile(r"(?:run )?`(memoryfield (?:embed|rename|split)\b[^`]*)`(?: (?:cuts|makes) [^.;:]*)?")
_IN_TOOLS = (
    (
        "unpack the archive, run `memoryfield embed` on the folder",
        "tell the user to unpack the archive, embed the folder",
    ),
    ("Unpack it (`memoryfield unpack`), change the folder, and", "Tell the user to unpack it, change the folder, and"),
    ("Say --append, too", 'Say mode "append", too'),
    ("Use --replace to replace it, --append to add to it", 'Use mode "replace", mode "append"'),
    ("`memoryfield delete` deletes a page.", "The tool `delete` deletes a page."),
    ("or --title", "or a title"),
    ("--min-score 0 shows them", "min_score 0 shows them"),
    ("; --include-stale shows them", ""),
    ("; --include-stale shows it", ""),
)
"""Hints of the library that name options of the command line, and what they are here."""


def _found(found: SearchResult, notes: Sequence[str]) -> str:
    """A result in few words."""
    lines = [line for rank, hit in enumerate(found.results, 1) for line in _hit(rank, hit, found.several)]
    return "\n".join([*(lines or ["nothing found"]), *(f"note: {note}" for note in notes)])


def _hit(rank: int, hit: Hit, several: bool) -> list[str]:
    place = f"{hit.filename} (field {hit.field})" if several else hit.filename
    head = f"{rank} {hit.match} {int(hit.score * 100) / 100:.2f} {place}: {hit.title[:MOST_STRING]}"
    text = hit.extra.get("text")
    return [head, text if text is not None else f"  {hit.snippet}"]


def _some_of(frontmatter: dict[str, Any], filename: str, notes: list[str]) -> dict[str, Any]:
    """The keys that fit, in their order; the others are told."""
    left = MOST_FRONTMATTER
    kept: dict[str, Any] = {}
    for key, value in frontmatter.items():
        size = len(key) + len(json.dumps(value, ensure_ascii=False))
        if size <= left:
            kept[key] = value
            left -= size
    if missing := [key for key in frontmatter if key not in kept]:
        named = ", ".join(key[:40] for key in missing[:5])
        more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
        notes.append(f"{filename}: too long, and left out of its frontmatter: {named}{more}")
    return kept


def _clipped(facts: dict[str, Any]) -> dict[str, Any]:
    """Facts without overlong strings, but for the texts, which are bounded otherwise."""
    return {key: value if key in _TEXTS else _clip(value) for key, value in facts.items()}


_TEXTS = ("body", "text", "frontmatter", "query", "notes")


def _clip(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= MOST_STRING else f"{value[: MOST_STRING - 1]}…"
    if isinstance(value, list):
        return [_clip(item) for item in value]
    return _clipped(value) if isinstance(value, dict) else value


def _beginning(text: str, most: int) -> str:
    """At most so many characters, to the end of a line, if one ends in the second half."""
    if len(text) <= most:
        return text
    end = text.rfind("\n", most // 2, most) + 1
    return text[: end or most]
