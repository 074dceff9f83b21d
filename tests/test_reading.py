"""What people really have is understood, and alike by every command: list, read, search, with and without an index."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryfield import Field
from memoryfield.index.store import IndexStore
from memoryfield.index.sync import sync
from memoryfield.page import Page

from .cli.support import INDEX, MODEL, memoryfield, write_page
from .frontmatter.test_foreign import FOREIGN
from .frontmatter.test_frontmatter import BROKEN, REAL, UUID

WORDS = "quixotic marmalade\n"
PAGES = [
    *(f"---\n{block}---\n\n{WORDS}" for block, *_ in (*REAL.values(), *BROKEN.values())),
    *(text + WORDS for text in FOREIGN.values()),
    f"\ufeff---\r\ntitle: Woks\r\ntags: [a]\r\n...\r\n\r\n{WORDS}",
    f"---\rtitle: Woks\rcreated: 2026-03-14\r---\r\r{WORDS}",
    f"---\ntitle: Woks\n\n{WORDS}",
    f"---\n\nJust words.\n\n---\n\n{WORDS}",
    f"---\ntitle: Woks\n---\n\n---\ntitle: Second\n---\n\n{WORDS}",
    f"---\ntitle: Yes\nuuid: {UUID}\nupdated: 2026-03-14T09:12:40Z\n---\n\n{WORDS}",
    f"---\ntitle: Woks\nn: {'x' * 5_000_000}\n---\n\n{WORDS}",
]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A field of such pages. They are old: nothing has changed since they were indexed."""
    folder = tmp_path_factory.mktemp("shelf")
    for number, text in enumerate(PAGES):
        write_page(folder, f"page-{number:03}.md", text)
    return folder


@pytest.mark.parametrize("index", ["without an index", "with an index"])
def test_every_command_understands_a_page_alike(shelf: Path, index: str) -> None:
    if index == "with an index":
        with Field.open(shelf) as field:
            store = IndexStore.open(shelf / INDEX, MODEL, None, create=True)
            sync(field.container, store, None)
            store.close()
    pages = [Page(path.name, path.read_bytes()) for path in sorted(shelf.glob("*.md"))]
    expected = {page.filename: (page.title, page.summary) for page in pages}
    everything = ("--mode", "keyword", "-n", "1000", "--min-score", "0")
    read = memoryfield("read", "-f", shelf, "--json", *expected).json["pages"]
    listed = memoryfield("list", "-f", shelf, "--json").json["pages"]
    found = memoryfield("search", "-f", shelf, "--json", *everything, "quixotic marmalade").json["results"]
    assert {page["filename"]: page["title"] for page in read} == {name: title for name, (title, _) in expected.items()}
    assert {page["filename"]: (page["title"], page["summary"]) for page in listed} == expected
    assert {page["filename"]: (page["title"], page["summary"]) for page in found} == expected
    by_name = {page.filename: page.frontmatter for page in pages}
    assert {page["filename"]: page["frontmatter"] for page in read} == by_name
    assert {page["filename"]: page["frontmatter"] or {} for page in found} == by_name
    woks = memoryfield("search", "-f", shelf, "--json", *everything, "--where", "title=Woks", "marmalade").json
    assert {page["filename"] for page in woks["results"]} == {
        page.filename for page in pages if page.frontmatter.get("title") == "Woks"
    }
