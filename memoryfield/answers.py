"""What is answered about pages: the objects that the library returns, and their one shape in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .dates import second_of
from .errors import MemoryfieldError, PageNotFoundError, SectionNotFoundError, reason_of
from .page import Page
from .sections import Section, sections

if TYPE_CHECKING:
    from .repository import Prepared

SCHEMA = 1
"""The version of every JSON object's shape. Keys are only ever added, so it changes when one must go."""


def answer(facts: dict[str, Any]) -> dict[str, Any]:
    """A JSON object as the command line, and every server, sends it: its shape's version first."""
    return {"schema": SCHEMA, **facts}


class Created(NamedTuple):
    """What `create` did: the pages that were written, none in a field that was there, and what git got."""

    field: str
    title: str
    pages: list[str]
    git: Prepared | None

    @property
    def is_new(self) -> bool:
        return bool(self.pages)

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self._asdict(), "git": self.git and self.git.to_dict()}


class Similar(NamedTuple):
    """A page that says nearly what another text says: its score, and how alike words and meaning are, from 0 to 1.

    Where there was no vector to compare, `meaning` is None, and the score is that of the words.
    """

    field: str
    filename: str
    title: str
    score: float
    words: float
    meaning: float | None

    def __str__(self) -> str:
        return f"{self.filename} ({self.title!r}, {self.score:.2f})"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        facts = self._asdict()
        return {key: round(value, 4) if isinstance(value, float) else value for key, value in facts.items()}


class Written(NamedTuple):
    """A page that was stored, and in plain words what its writer should know.

    `similar` are other pages that say nearly the same, if they were looked for; `changed` is false
    where the page said all of it already, and was left as it is.
    """

    page: Page
    created: bool
    notes: tuple[str, ...] = ()
    field: str = ""
    similar: tuple[Similar, ...] = ()
    changed: bool = True

    @property
    def told(self) -> list[str]:
        """The notes, and one for each page that says nearly the same."""
        return [*self.notes, *(f"nearly the same: {similar}" for similar in self.similar)]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "field": self.field,
            "filename": self.page.filename,
            "created": self.created,
            "uuid": self.page.uuid,
            "sha256": self.page.sha256,
            "bytes": self.page.size,
            "notes": list(self.notes),
            "similar": [page.to_dict() for page in self.similar],
            "changed": self.changed,
        }


class PageRead(NamedTuple):
    """A page that was asked for, or one section of it."""

    page: Page
    section: Section | None = None

    @property
    def filename(self) -> str:
        """The page's."""
        return self.page.filename

    @property
    def body(self) -> str:
        """The section, with its heading; without one, the text after the frontmatter."""
        return self.page.body if self.section is None else self.page.body[self.section.start : self.section.end]

    @property
    def text(self) -> str:
        """The section; without one, the whole page."""
        return self.page.text if self.section is None else self.body

    @property
    def outline(self) -> list[Section]:
        """The sections of the page, or those inside of the section, which is the first."""
        first, last = (0, len(self.page.body)) if self.section is None else self.section[-2:]
        return [section for section in sections(self.page.body) if first <= section.start < last]

    def to_dict(self, *, body: bool = False, outline: bool = False) -> dict[str, Any]:
        """As JSON has it; with `body`, without the whole text; with `outline`, the headings in place of the text."""
        page = self.page
        facts = {
            "filename": page.filename,
            "title": page.title,
            "uuid": page.uuid,
            "sha256": page.sha256,
            "bytes": page.size,
            "section": self.section and self.section.text,
        }
        if outline:
            return {**facts, "outline": [section.to_dict(page.body) for section in self.outline]}
        facts |= {
            "frontmatter": page.frontmatter,
            "body": self.body,
            "problems": [
                {"line": problem.line, "column": problem.column, "message": problem.message}
                for problem in page.problems
            ],
        }
        return facts if body else {**facts, "text": self.text}


class Renamed(NamedTuple):
    """A page that has another name, and in plain words what should be known."""

    field: str
    filename: str
    old_name: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self._asdict(), "notes": list(self.notes)}


class Deleted(NamedTuple):
    """The file names of pages that were deleted, and in plain words what should be known."""

    field: str
    deleted: list[str]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self._asdict(), "notes": list(self.notes)}


class PagesRead(NamedTuple):
    """Pages and sections that were asked for, in order; those that are not there, and those that cannot be read."""

    field: str
    pages: list[PageRead]
    missing: list[PageNotFoundError | SectionNotFoundError]
    failed: list[tuple[str, MemoryfieldError | OSError]]
    """What was asked for, and why it cannot be had."""

    @property
    def is_complete(self) -> bool:
        """Whether all that was asked for is there."""
        return not (self.missing or self.failed)

    def to_dict(self, *, body: bool = False, outline: bool = False) -> dict[str, Any]:
        """As JSON has it; with `body`, without the pages' whole text; with `outline`, their headings alone."""
        return {
            "field": self.field,
            "pages": [page.to_dict(body=body, outline=outline) for page in self.pages],
            "missing": [{"wanted": error.wanted, "suggestions": list(error.suggestions)} for error in self.missing],
            "failed": [{"wanted": wanted, "reason": reason_of(error)} for wanted, error in self.failed],
            "notes": [],
        }


class PageList(NamedTuple):
    """What a field holds: each page's facts as JSON has them, and the pages that cannot be read."""

    field: str
    pages: list[dict[str, Any]]
    failed: list[tuple[str, str]]
    """File name and reason."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        failed = [{"filename": name, "reason": reason} for name, reason in self.failed]
        return {"field": self.field, "pages": self.pages, "failed": failed, "total": len(self.pages) + len(failed)}


def listed(page: Page) -> dict[str, Any]:
    """A page's facts in a list; `updated` is the file's time where the page does not tell it."""
    return {
        "filename": page.filename,
        "title": page.title,
        "summary": page.summary,
        "uuid": page.uuid,
        "created": page.created,
        "updated": page.updated or second_of(page.mtime_ns),
        "bytes": page.size,
    }
