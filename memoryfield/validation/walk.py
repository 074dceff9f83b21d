"""Goes from page to page: reads each, lets rules look at it, and adds the lines on which they found something."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from .. import names
from ..containers import Container
from ..containers.archive import ArchiveContainer
from ..errors import PageNameError
from ..frontmatter.blocks import BREAK
from ..page import Page
from . import addressing, secrets
from .layout import unreadable
from .report import Fault

Rule = Callable[[Page], Iterator[Fault]]
MAX_SOURCE_CHARS = 200
WORD_RULES: dict[str, Rule] = {"R-6": addressing.addresses_a_model, "S-7": secrets.secrets}
"""Those that go through every page for words: they take longest."""
_LINE_END = re.compile(BREAK)


def page_names(container: Container) -> list[str]:
    """The pages, sorted by name."""
    return sorted(entry.name for entry in container.entries() if names.is_page(entry.name))


def read_pages(container: Container, listed: Iterable[str]) -> Iterator[Page | Fault]:
    """Each page, or why it cannot be read; of what is `unreadable`, others tell."""
    unpackable = unreadable(container)
    for name in listed:
        if name not in unpackable:
            yield _read(container, name)


def _read(container: Container, name: str) -> Page | Fault:
    try:
        return Page(name, container.read(name))
    except PageNameError as error:
        return Fault(name, 0, 0, "P-2", error.message)
    except OSError as error:
        requirement = "A-1" if isinstance(container, ArchiveContainer) else "P-12"
        return Fault(name, 0, 0, requirement, f"cannot be read: {error.strerror or error}")


def word_rules(wanted: Iterable[str]) -> list[Rule]:
    """Those of the `WORD_RULES` that look for the wanted requirements."""
    return [WORD_RULES[requirement] for requirement in wanted if requirement in WORD_RULES]


def word_faults(container: Container, wanted: Iterable[str]) -> Iterator[Fault]:
    """What these rules find, in every page."""
    rules = word_rules(wanted)
    for page in read_pages(container, page_names(container)):
        if isinstance(page, Page) and is_legible(page):
            yield from with_sources(page, [fault for rule in rules for fault in rule(page)])


def is_legible(page: Page) -> bool:
    """Whether there is a text; of UTF-16, nothing more can be said."""
    return page.is_utf8 or b"\0" not in page.raw


def with_sources(page: Page, found: list[Fault]) -> Iterator[Fault]:
    """The faults with the lines on which they are, as far as these can be shown; a secret's line is not."""
    if not any(fault.column for fault in found):
        yield from found
        return
    lines = _LINE_END.split(page.text)
    for fault in found:
        shown = fault.column and fault.line <= len(lines) and fault.requirement != "S-7"
        source = lines[fault.line - 1] if shown else ""
        start = max(0, min(fault.column - MAX_SOURCE_CHARS // 2, len(source) - MAX_SOURCE_CHARS))
        yield replace(fault, source=source[start : start + MAX_SOURCE_CHARS]) if source else fault
