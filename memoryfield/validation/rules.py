"""Every rule, over every page, and over the field as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from .. import processes
from ..containers import Container, Skipped
from ..containers.archive import ArchiveContainer
from ..page import Page
from . import aside, pages, secrets, text
from .across import Across
from .indexes import Soundness, indexes
from .layout import gate_faults, layout, skipped
from .report import Fault
from .requirements import chosen
from .walk import WORD_RULES, Rule, is_legible, page_names, read_pages, with_sources, word_faults, word_rules

Progress = Callable[[int, int], None]
"""Called with the number of pages that were looked at, and of all."""
PROGRESS_EACH = 100
_FIRST_RULES: tuple[Rule, ...] = (pages.name, pages.encoding)
"""What can be said of a page that is no text."""
_OF_ACROSS = frozenset("R-1 R-5 L-1 I-2 K-6 K-7".split())
"""What `Across` looks for beside what is a MUST."""


def validate(
    container: Container,
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    progress: Progress | None = None,
    look: Callable[[Page], None] | None = None,
) -> list[Fault]:
    """Every fault of a field, sorted by file, line and column. An empty list: it follows the format to the letter.

    Args:
        select: identifiers of requirements (`F-8`), or their letters (`F`); none: all that files can show.
        ignore: those that are left out.
        progress: called now and then.
        look: is shown each page that can be read, once.

    Raises:
        UsageError: an identifier that is none; or `S-7` itself is selected and detect-secrets is not installed.
    """
    select = list(select)
    wanted = chosen(select, list(ignore))
    if any(one.strip().upper() == "S-7" for item in select for one in item.split(",")):
        secrets.require()
    return sorted(fault for fault in _all(container, wanted, progress, look) if fault.requirement in wanted)


def no_archive(message: str) -> Fault:
    """A-1: the fault of a file that cannot be opened as a field at all."""
    return Fault("", 0, 0, "A-1", message)


def _all(
    container: Container, wanted: frozenset[str], progress: Progress | None, look: Callable[[Page], None] | None
) -> Iterator[Fault]:
    if isinstance(container, ArchiveContainer) and not container.is_readable:
        yield from gate_faults(container)
        return
    listed = page_names(container)
    words = [requirement for requirement in WORD_RULES if requirement in wanted]
    if len(listed) < processes.MANY or not words:
        yield from _beside_each_other(container, listed, wanted, words, progress, look)
        return
    collect, give_up = aside.begin(container, words)
    try:
        yield from _beside_each_other(container, listed, wanted, [], progress, look)
        found = collect()
    except BaseException:
        give_up()
        raise
    yield from word_faults(container, words) if found is None else found


def _beside_each_other(
    container: Container,
    listed: list[str],
    wanted: frozenset[str],
    words: list[str],
    progress: Progress | None,
    look: Callable[[Page], None] | None,
) -> Iterator[Fault]:
    """Each page by itself, then the pages beside each other, the field, and its indexes."""
    across = Across(set(listed))
    beside = across.musts if wanted.isdisjoint(_OF_ACROSS) else across.look
    rules = [*_page_rules(wanted), *word_rules(words)]
    hashes: dict[str, bytes] = {}
    soundness = Soundness(container)
    for done, page in enumerate(read_pages(container, listed), 1):
        if isinstance(page, Fault):
            yield page
            continue
        if look:
            look(page)
        hashes[page.filename] = bytes.fromhex(page.sha256) if page.text.strip() else b""
        found = [fault for rule in (rules if is_legible(page) else _FIRST_RULES) for fault in rule(page)]
        found += beside(page) if is_legible(page) else ()
        yield from with_sources(page, found)
        if progress and done % PROGRESS_EACH == 0:
            progress(done, len(listed))
    yield from across.finish()
    yield from layout(container, len(listed))
    yield from indexes(container, hashes, soundness)


def _page_rules(wanted: frozenset[str]) -> list[Rule]:
    """Those that look for any of the wanted requirements."""
    rules: list[tuple[str, Rule]] = [
        ("P-4 P-8 P-9 R-7", pages.content),
        ("P-3 F-7 F-15 F-16 F-21", pages.block),
        ("F-3 F-4 F-5 F-6 F-11 F-14", pages.keys),
        ("F-8", pages.quoted_dates),
        ("F-9 F-10 F-18 F-19", partial(pages.dates, now_ns=time.time_ns())),
        ("K-1 K-2 K-3 K-5", pages.optional_keys),
        ("R-2 R-3 R-4", pages.headline),
        ("P-10", text.control_characters),
        ("S-6", text.hidden_characters),
        ("P-10 S-6", text.escaped_characters),
    ]
    return [*_FIRST_RULES, *(rule for ids, rule in rules if not wanted.isdisjoint(ids.split()))]


class Musts:
    """The rules whose breach is an error and that look at pages, alone, one page after the other: quicker than all.

    `listed` are all pages that are there.
    """

    def __init__(self, listed: set[str]) -> None:
        self._across = Across(listed)

    def look(self, page: Page) -> Iterator[Fault]:
        """P-1, P-2, F-8, F-13 and I-1."""
        yield from pages.name(page)
        yield from pages.encoding(page)
        if is_legible(page):
            yield from pages.quoted_dates(page)
            yield from self._across.musts(page)


def unread_pages(items: Iterable[Skipped]) -> list[Fault]:
    """P-2 and P-12: what is named as a page, and is passed over by its container."""
    return sorted(fault for fault in skipped(items) if fault.requirement in ("P-2", "P-12"))
