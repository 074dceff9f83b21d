"""What `validate --fix` does to a field: planned without touching anything, shown as a diff, then done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import quote

from .. import names
from ..containers import Container, Entry
from ..containers.base import require_writable
from ..errors import MemoryfieldError
from ..page import Page
from .links import links
from .mending import Mend, mended, with_new_names, with_usual_uuids

_SPOKEN_FOR = ("index.md", "listing.md")
"""Names with a meaning, which no page gets that had another one."""


class Change(NamedTuple):
    """What is to be done to one page. `new_name` is empty where it keeps its name."""

    filename: str
    new_name: str
    before: bytes
    after: bytes
    mended: tuple[Mend, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, without the bytes."""
        mended = [mend._asdict() for mend in self.mended]
        return {"filename": self.filename, "new_name": self.new_name, "mended": mended}


class Outcome(NamedTuple):
    """What was done to one page: the new name that it got, if any, and what could not be done and why.

    Without a file name, the problem is that an index could not follow; the next sync mends it.
    """

    filename: str
    new_name: str = ""
    problem: str = ""


# planning


def plan(container: Container, *, now: str) -> list[Change]:
    """What can be mended in a field without guessing, sorted by name. Nothing is changed.

    Pages that cannot be read, or that are not UTF-8, keep their bytes. A link within the folder
    keeps them too, since the page that it leads to is mended; and that page keeps its name.

    Args:
        container: of any kind: what should be done to an archive can be shown, too.
        now: the present moment, as pages write it, for pages whose file has no time.
    """
    entries = sorted(entry for entry in container.entries() if names.is_page(entry.name))
    linked = _linked(container, entries)
    renames = _new_names(container, entries, keep=frozenset(linked.values()))
    pages = {entry.name for entry in entries}
    changes = (_change(container, entry, renames, now, linked.get(entry.name) in pages) for entry in entries)
    return [change for change in _with_usual_uuids(list(filter(None, changes))) if change.mended]


def _linked(container: Container, entries: Sequence[Entry]) -> dict[str, str]:
    """The links within the folder, and the names that they lead to."""
    paths = ((entry.name, container.local_path(entry.name)) for entry in entries)
    return {name: path.readlink().name for name, path in paths if path is not None and path.is_symlink()}


def _new_names(container: Container, entries: Sequence[Entry], keep: frozenset[str]) -> dict[str, str]:
    """Legal and free names for the pages that have none.

    Who has the name already, but for its capitals, comes first: the file systems that do not tell
    capitals apart could give it to nobody else.
    """
    wanted = {
        entry.name: names.slug(names.stem(entry.name))
        for entry in entries
        if not names.is_legal_page_name(entry.name) and entry.name not in keep
    }
    taken = {names.folded(name) for name in container.names() if name not in wanted}
    found: dict[str, str] = {}
    for name, stem in sorted(
        wanted.items(), key=lambda item: (not _is_same(item[0], item[1] + names.PAGE_SUFFIX), item[0])
    ):
        free = (full for full in names.alternatives(stem) if full not in taken)
        found[name] = next(full for full in free if full not in _SPOKEN_FOR or _is_same(name, full))
        taken.add(found[name])
    return found


def _is_same(name: str, other: str) -> bool:
    """Whether two names differ in their capitals at most."""
    return names.folded(name) == names.folded(other)


def _change(container: Container, entry: Entry, renames: Mapping[str, str], now: str, is_link: bool) -> Change | None:
    """What is to be done to one page, if only nothing; None where it cannot be read."""
    try:
        raw = container.read(entry.name)
    except (OSError, MemoryfieldError):
        return None
    after, mends = (raw, []) if is_link else mended(Page(entry.name, raw, mtime_ns=entry.mtime_ns), renames, now)
    new = renames.get(entry.name, "")
    renamed = [Mend("P-2", 0, f"renames it to {new}")] if new else []
    return Change(entry.name, new, raw, after, (*renamed, *mends))


def _with_usual_uuids(changes: list[Change]) -> list[Change]:
    """The changes; where a uuid is written in another way, the pages that supersede its page follow."""
    usual: dict[str, str] = {}
    for change in changes:
        if any(mend.requirement == "F-11" for mend in change.mended):
            old, new = Page("", change.before).uuid, Page("", change.after).uuid
            usual |= {old: new} if old != new else {}
    return [_following(change, usual) for change in changes] if usual else changes


def _following(change: Change, usual: Mapping[str, str]) -> Change:
    if b"supersedes" not in change.after:
        return change
    after, mends = with_usual_uuids(Page(change.filename, change.after), usual)
    return change._replace(after=after, mended=(*change.mended, *mends))


# showing


def diff(change: Change) -> str:
    """A change as a patch that `git apply` and `patch` take.

    Line ends and a byte order mark stand in it as they are in the page: on a terminal they are to be escaped.
    """
    new = change.new_name or change.filename
    lines = [f"diff --git a/{change.filename} b/{new}\n"]
    if change.new_name:
        lines += [f"rename from {change.filename}\n", f"rename to {new}\n"]
    if change.before != change.after:
        lines += _hunks(change, new)
    return "".join(lines)


def _hunks(change: Change, new: str) -> Iterator[str]:
    from difflib import unified_diff

    before, after = _lines(change.before), _lines(change.after)
    # A name with a space in it ends with a tab, or `patch` would take the space for its end.
    old, new = (f"{name}\t" if " " in name else name for name in (f"a/{change.filename}", f"b/{new}"))
    for line in unified_diff(before, after, old, new):
        yield line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"


def _lines(raw: bytes) -> list[str]:
    """The lines of a page with their ends; nothing but LF ends one here."""
    return re.findall(r"[^\n]*\n|[^\n]+", raw.decode("utf-8", "replace"))


# doing


def apply(container: Container, changes: Sequence[Change]) -> list[Outcome]:
    """Make the changes of a plan: first what the pages say, then their names, which the indexes follow.

    A page that is no longer what it was when the plan was made is left alone, and so are those whose
    links or names hang on it. A page that cannot be written does not stop the others, but no page
    gets a new name while a link to the old one is left. Whenever it is interrupted, every page is
    whole, and another plan finds what is left to do.

    Returns:
        What was done to each page, in the order of the changes, and the indexes that could not follow.

    Raises:
        ReadOnlyError: the field cannot be written.
    """
    if not changes:
        return []
    require_writable(container)
    problems = _not_to_be_done(container, changes)
    _write_all(container, changes, problems)
    renamed: dict[str, str] = {}
    notes: list[str] = []
    try:
        _rename_all(container, changes, problems, renamed)
        _put_back(container, changes, problems, renamed)
    finally:
        if renamed:
            from ..index.status import follow_renames

            notes = follow_renames(container, renamed)
    done = (Outcome(name, renamed.get(name, ""), problems.get(name, "")) for name in (c.filename for c in changes))
    return [*done, *(Outcome("", problem=note) for note in notes)]


def _put_back(
    container: Container, changes: Sequence[Change], problems: dict[str, str], renamed: Mapping[str, str]
) -> None:
    """Let links lead to the old names again of pages that got no new ones after all."""
    kept = {c.new_name: c.filename for c in changes if c.new_name and c.filename not in renamed}
    for change in changes if kept else ():
        olds = {new: kept[new] for new in _new_links(change) & kept.keys()}
        if not olds or change.before == change.after:
            continue
        text, _ = with_new_names(change.after.decode("utf-8"), {new: quote(old) for new, old in olds.items()})
        name = renamed.get(change.filename, change.filename)
        undo = change._replace(filename=name, before=change.after, after=text.encode("utf-8"))
        if not _stale(container, undo):
            old = min(olds.values())
            problem = _write(container, undo)
            problems[change.filename] = problem or f"its link to {old} was put back: that page was not renamed"


def _not_to_be_done(container: Container, changes: Sequence[Change]) -> dict[str, str]:
    """The pages that changed since, or whose new names were taken; those that link to them or that they
    link to by new names, and so on; and why."""
    problems: dict[str, str] = {}
    for change in changes:
        if problem := _stale(container, change) or (_taken(container, change) if change.new_name else ""):
            problems[change.filename] = problem
    if not problems:
        return problems
    old_names = {change.new_name: change.filename for change in changes if change.new_name}
    linked = {change.filename: [old_names[new] for new in _new_links(change) if new in old_names] for change in changes}
    linking: dict[str, list[str]] = {}
    for name, others in linked.items():
        for other in others:
            linking.setdefault(other, []).append(name)
    unseen = list(problems)
    while unseen:
        name = unseen.pop()
        told = dict.fromkeys(linking.get(name, []), f"was left alone: it links to {name}, which is not renamed")
        told |= dict.fromkeys(linked[name], f"was left alone: {name} links to it, and is not changed")
        new = {other: problem for other, problem in told.items() if other not in problems}
        problems |= new
        unseen += new
    return problems


def _new_links(change: Change) -> set[str]:
    """The new names to which a change makes a page link."""
    if not any(mend.requirement == "P-2" and mend.line for mend in change.mended):
        return set()
    before, after = (
        {link.page for link in links(Page("", raw).body) if link.page} for raw in (change.before, change.after)
    )
    return after - before


def _write_all(container: Container, changes: Sequence[Change], problems: dict[str, str]) -> None:
    """Store what the pages should say, and note the problems; what such a page links to keeps its name."""
    held: dict[str, str] = {}
    for change in changes:
        if change.filename not in problems and (problem := _write(container, change)):
            problems[change.filename] = problem
            held |= dict.fromkeys(_new_links(change), change.filename)
    for change in changes:
        if change.new_name in held and change.filename not in problems:
            linking = held[change.new_name]
            problems[change.filename] = f"was not renamed: {linking} links to it, and could not be written"


def _stale(container: Container, change: Change) -> str:
    """Why a page is not what it was when the plan was made; empty if it is."""
    try:
        same = container.read(change.filename) == change.before
    except FileNotFoundError:
        return "is gone"
    except (OSError, MemoryfieldError) as error:
        return _reason(error)
    return "" if same else "has changed since it was looked at, and was left alone"


def _taken(container: Container, change: Change) -> str:
    try:
        container.entry(change.new_name)
    except FileNotFoundError:
        return ""
    except (OSError, MemoryfieldError) as error:
        return _reason(error)
    if _is_same(change.filename, change.new_name) and change.new_name not in container.names():
        return ""  # itself, where capitals are not told apart
    return f"was not renamed: {change.new_name} is there now"


def _write(container: Container, change: Change) -> str:
    """Store what a page should say; why it could not be, or nothing."""
    if change.before == change.after:
        return ""
    try:
        with container.lock():
            if problem := _stale(container, change):
                return problem
            container.write(change.filename, change.after)
    except (OSError, MemoryfieldError) as error:
        return f"could not be written: {_reason(error)}"
    return ""


def _rename_all(
    container: Container, changes: Sequence[Change], problems: dict[str, str], renamed: dict[str, str]
) -> None:
    """Give the pages that have no problem their new names; note which got it, and the problems."""
    for change in changes:
        if not change.new_name or change.filename in problems:
            continue
        if problem := _rename(container, change):
            problems[change.filename] = problem
        else:
            renamed[change.filename] = change.new_name


def _rename(container: Container, change: Change) -> str:
    """Give a page its new name; why it could not be, or nothing."""
    try:
        with container.lock():
            if problem := _taken(container, change):
                return problem
            _give_name(container, change.filename, change.new_name)
    except FileNotFoundError:
        return "is gone"
    except (OSError, MemoryfieldError) as error:
        return f"could not be renamed: {_reason(error)}"
    return ""


def _give_name(container: Container, old: str, new: str) -> None:
    container.rename(old, new)
    if not _is_same(old, new) or old not in container.names():
        return
    # To some file systems the two are one name, and nothing was to be done: by way of a third one, which
    # a page may have too, if it comes to nothing more.
    stem = names.stem(new)
    existing = {names.folded(name) for name in container.names()}
    between = next(name for name in islice(names.alternatives(stem), 1, None) if name not in existing)
    container.rename(old, between)
    container.rename(between, new)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
