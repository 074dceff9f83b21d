"""What a search answers: one shape for the library, `--json`, and every server."""

from typing import Any, NamedTuple

STRONG = 0.45
"""From this score on, a match is strong."""
MIN_SCORE = 0.25
"""Under this score, a page is not returned unless asked for."""


class Hit(NamedTuple):
    """A page that was found. Scores lie between 0 and 1; a half that was not computed is None."""

    field: str
    filename: str
    score: float
    keyword: float | None
    semantic: float | None
    title: str
    summary: str
    snippet: str
    bytes: int
    frontmatter: dict[str, Any] | None
    marks: tuple[tuple[int, int], ...] = ()
    """Where in the snippet words of the query stand, as places of characters."""
    extra: dict[str, Any] = {}  # noqa: RUF012  # never changed
    """What only some searches ask for: `stale`, why a page is not valid (or None), and `text`, all of it."""

    @property
    def match(self) -> str:
        """`strong` or `weak`."""
        return "strong" if self.score >= STRONG else "weak"

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it; scores to four digits."""
        return {
            "field": self.field,
            "filename": self.filename,
            "score": _rounded(self.score),
            "match": self.match,
            "keyword": _rounded(self.keyword),
            "semantic": _rounded(self.semantic),
            "title": self.title,
            "summary": self.summary,
            "snippet": self.snippet,
            "bytes": self.bytes,
            "frontmatter": self.frontmatter,
            **self.extra,
        }


class SearchResult(NamedTuple):
    """The answer to a query, best page first.

    `mode` is how it was searched in the end, and `model` by which vectors (None for keyword alone).
    `notes` says in plain words what the caller should know: what is not embedded, which model did
    not answer.
    """

    query: str
    mode: str
    model: str | None
    notes: list[str]
    results: list[Hit]
    several: bool = False
    """Whether more than one field was searched."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "query": self.query,
            "mode": self.mode,
            "model": self.model,
            "notes": self.notes,
            "results": [hit.to_dict() for hit in self.results],
        }


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)
