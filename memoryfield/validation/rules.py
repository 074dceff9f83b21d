"""Every rule, over every page, and over the field as a whole."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import sha256

from .. import names
from ..containers import Container
from ..containers.archive import ArchiveContainer
from ..errors import PageNameError
from ..frontmatter.blocks import BREAK
from ..page import Page
from . import addressing, aside, pages, secrets, text
from .across import Across
from .indexes import Soundness, indexes
from .layout import layout, odd_entries
from .report import Fault
from .requirements import chosen

Progress = Callable[[int, int], None]
"""Called with the number of pages that were looked at, and of all."""
Rule = Callable[[Page], Iterator[Fault]]
MAX_SOURCE_CHARS = 200
PROGRESS_EACH = 100
_LINE_END = re.compile(BREAK)
_FIRST_RULES: tuple[Rule, ...] = (pages.name, pages.encoding)
"""What can be said of a page that is no text."""
WORD_RULES: dict[str, Rule] = {"R-6": addressing.addresses_a_model, "S-7": secrets.secrets}
"""Those that go through every page for words."""


def validate(
    container: Container,
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    progress: Progress | None = None,
) -> list[Fault]:
    """Every fault of a field, sorted by file, line and column. An empty list: it follows the format to the letter.

    Args:
        select: identifiers of requirements (`F-8`), or their letters (`F`); none: all that files can show.
        ignore: those that are left out.
        progress: called now and then.

    Raises:
        UsageError: an identifier that is none; or `S-7` itself is selected and detect-secrets is not installed.
    """
    select = list(select)
    wanted = chosen(select, list(ignore))
    if any(one.strip().upper() == "S-7" for item in select for one in item.split(",")):
        secrets.require()
    return sorted(fault for fault in _all(container, wanted, progress) if fault.requirement in wanted)


def no_archive(message: str) -> Fault:
    """A-1: the fault of a file that cannot be opened as a field at all."""
    return Fault("", 0, 0, "A-1", message)


def _all(container: Container, wanted: frozenset[str], progress: Progress | None) -> Iterator[Fault]:
    listed = _listed(container)
    words = [requirement for requirement in WORD_RULES if requirement in wanted]
    if len(listed) < aside.MANY or not words:
        yield from _beside_each_other(container, listed, _page_rules() + _word_rules(wanted), progress)
        return
    collect, give_up = aside.begin(container, words)
    try:
        yield from _beside_each_other(container, listed, _page_rules(), progress)
        found = collect()
    except BaseException:
        give_up()
        raise
    yield from word_faults(container, wanted) if found is None else found


def _listed(container: Container) -> list[str]:
    return sorted(entry.name for entry in container.entries() if names.is_page(entry.name))


def _beside_each_other(
    container: Container, listed: list[str], rules: list[Rule], progress: Progress | None
) -> Iterator[Fault]:
    """Each page by itself, then the pages beside each other, the field, and its indexes."""
    across = Across(set(listed))
    hashes: dict[str, bytes] = {}
    soundness = Soundness(container)
    unpackable = {fault.filename for fault in odd_entries(container)}
    for done, name in enumerate(listed, 1):
        if name in unpackable:
            continue
        page = _read(container, name)
        if isinstance(page, Fault):
            yield page
            continue
        hashes[name] = sha256(page.raw).digest() if page.text.strip() else b""
        found = [fault for rule in (rules if _is_legible(page) else _FIRST_RULES) for fault in rule(page)]
        found += across.look(page) if _is_legible(page) else ()
        yield from _with_sources(page, found)
        if progress and done % PROGRESS_EACH == 0:
            progress(done, len(listed))
    yield from across.finish()
    yield from layout(container, len(listed))
    yield from indexes(container, hashes, soundness)


def word_faults(container: Container, wanted: frozenset[str]) -> Iterator[Fault]:
    """What the rules that look for words find, in every page."""
    rules = _word_rules(wanted)
    for name in _listed(container):
        page = _read(container, name)
        if isinstance(page, Page) and _is_legible(page):
            yield from _with_sources(page, [fault for rule in rules for fault in rule(page)])


def _is_legible(page: Page) -> bool:
    """Whether there is a text; of UTF-16, nothing more can be said."""
    return page.is_utf8 or b"\0" not in page.raw


def _read(container: Container, name: str) -> Page | Fault:
    try:
        return Page(name, container.read(name))
    except PageNameError as error:
        return Fault(name, 0, 0, "P-2", error.message)
    except OSError as error:
        requirement = "A-1" if isinstance(container, ArchiveContainer) else "P-12"
        return Fault(name, 0, 0, requirement, f"cannot be read: {error.strerror or error}")


def _page_rules() -> list[Rule]:
    return [
        *_FIRST_RULES,
        pages.content,
        pages.block,
        pages.keys,
        partial(pages.dates, now_ns=time.time_ns()),
        pages.optional_keys,
        pages.headline,
        text.control_characters,
        text.hidden_characters,
    ]


def _word_rules(wanted: frozenset[str]) -> list[Rule]:
    return [rule for requirement, rule in WORD_RULES.items() if requirement in wanted]


def _with_sources(page: Page, found: list[Fault]) -> Iterator[Fault]:
    """The faults with the lines on which they are, as far as these can be shown."""
    if not any(fault.column for fault in found):
        yield from found
        return
    lines = _LINE_END.split(page.text)
    for fault in found:
        source = lines[fault.line - 1] if fault.column and fault.line <= len(lines) else ""
        start = max(0, min(fault.column - MAX_SOURCE_CHARS // 2, len(source) - MAX_SOURCE_CHARS))
        yield replace(fault, source=source[start : start + MAX_SOURCE_CHARS]) if source else fault
