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
from . import addressing, pages, secrets, text
from .across import Across
from .indexes import indexes
from .layout import layout, odd_entries
from .report import Fault
from .requirements import chosen

Progress = Callable[[int, int], None]
"""Called with the number of pages that were looked at, and of all."""
Rule = Callable[[Page], Iterator[Fault]]
MAX_SOURCE_CHARS = 200
_LINE_END = re.compile(BREAK)
_FIRST_RULES: tuple[Rule, ...] = (pages.name, pages.encoding)
"""What can be said of a page that is no text."""


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
    listed = sorted(entry.name for entry in container.entries() if names.is_page(entry.name))
    rules = _page_rules(wanted)
    across = Across(set(listed))
    hashes: dict[str, bytes] = {}
    unpackable = {fault.filename for fault in odd_entries(container)}
    for done, name in enumerate(listed, 1):
        if name in unpackable:
            continue
        page = _read(container, name)
        if isinstance(page, Fault):
            yield page
            continue
        hashes[name] = sha256(page.raw).digest() if page.text.strip() else b""
        legible = page.is_utf8 or b"\0" not in page.raw  # of UTF-16, nothing more can be said
        found = [fault for rule in (rules if legible else _FIRST_RULES) for fault in rule(page)]
        found += across.look(page) if legible else ()
        yield from _with_sources(page, found)
        if progress and done % 100 == 0:
            progress(done, len(listed))
    yield from across.finish()
    yield from layout(container, len(listed))
    yield from indexes(container, hashes)


def _read(container: Container, name: str) -> Page | Fault:
    try:
        return Page(name, container.read(name))
    except PageNameError as error:
        return Fault(name, 0, 0, "P-2", error.message)
    except OSError as error:
        requirement = "A-1" if isinstance(container, ArchiveContainer) else "P-12"
        return Fault(name, 0, 0, requirement, f"cannot be read: {error.strerror or error}")


def _page_rules(wanted: frozenset[str]) -> list[Rule]:
    """The rules for a page alone; the costly ones only where they are wanted."""
    rules: list[Rule] = [
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
    if "R-6" in wanted:
        rules.append(addressing.addresses_a_model)
    if "S-7" in wanted and secrets.is_installed():
        rules.append(secrets.secrets)
    return rules


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
