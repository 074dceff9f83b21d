"""The requirements of the format, as spec/memoryfield.md states them, and how a breach of each is mended."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, NamedTuple

from ..errors import UsageError
from ..specification import document

Severity = Literal["error", "warning", "notice"]

_REQUIREMENT = re.compile(r"^- \*\*([A-Z]-\d+)\*\* (.+)\n  Why: (.+)$", re.MULTILINE)
_LEVELS: tuple[tuple[str, Severity], ...] = (("MUST", "error"), ("SHOULD", "warning"), ("MAY", "notice"))


class Requirement(NamedTuple):
    """One requirement: what is asked, why, how to mend what breaks it (or why no file shows it)."""

    id: str
    severity: Severity
    text: str
    why: str
    mend: str
    is_visible: bool
    """Whether the files of a field can show that it is broken: then a rule looks for it."""


@cache
def requirements() -> dict[str, Requirement]:
    """Every requirement by its identifier, in the order of the document."""
    found = {}
    for identifier, text, why in _REQUIREMENT.findall(document("memoryfield.md").read_text(encoding="utf-8")):
        text = text.removesuffix(" *(ours)*")  # which the document tells of
        severity = next(severity for word, severity in _LEVELS if word in text)
        mend = MENDING.get(identifier)
        found[identifier] = Requirement(identifier, severity, text, why, mend or _UNSEEN[identifier], mend is not None)
    return found


def severity_of(identifier: str) -> Severity:
    """How grave it is to break a requirement."""
    return requirements()[identifier].severity


def explain(identifier: str) -> Requirement:
    """The requirement of an identifier, in whatever case it is given.

    Raises:
        UsageError: there is none.
    """
    try:
        return requirements()[identifier.strip().upper()]
    except KeyError:
        raise UsageError(
            f"there is no requirement {identifier!r}", hint="They run from C-1 to R-8: see spec/memoryfield.md."
        ) from None


def chosen(select: list[str], ignore: list[str]) -> frozenset[str]:
    """The identifiers that are looked for.

    Args:
        select: identifiers such as `F-8`, or their letters such as `F`; several may be joined by commas. None: all.
        ignore: likewise, what is left out of them.

    Raises:
        UsageError: one that no requirement has, or that no file can show.
    """
    visible = [one.id for one in requirements().values() if one.is_visible]
    wanted = _matching(select, visible) if select else frozenset(visible)
    return wanted - _matching(ignore, visible)


def _matching(given: list[str], visible: list[str]) -> frozenset[str]:
    found: set[str] = set()
    for one in (part.strip().upper() for item in given for part in item.split(",")):
        matching = {identifier for identifier in visible if one == identifier or one == identifier.partition("-")[0]}
        if not matching and "-" in one:
            raise UsageError(f"nothing looks for {one}: {explain(one).mend}")
        if not matching:
            letters = ", ".join(sorted({identifier[0] for identifier in visible}))
            raise UsageError(f"{one!r} is neither a requirement nor the letter of some", hint=f"Letters: {letters}.")
        found |= matching
    return frozenset(found)


_FIX = "`memoryfield validate --fix` "

MENDING = {
    "C-1": "Check the path; or write the first page with `memoryfield write`.",
    "C-2": "Move the pages to the root of the field, or give them another suffix.",
    "C-8": "Rename one of them with `memoryfield rename`.",
    "A-1": "Ask for the archive again, and compare its sha256.",
    "A-2": "Rename the archive.",
    "A-3": "Zip the files of the folder, not the folder: `memoryfield pack` does.",
    "A-4": "Pack the field again with `memoryfield pack`.",
    "A-5": "Unpack it, decide which of the two is meant, and pack again.",
    "A-12": "Ask whoever packed it to pack it again, as with `memoryfield pack`.",
    "A-13": "If you trust it, allow more, as with `--allow total=4G`.",
    "A-14": "Leave out what is no file, rename one of two names, and pack again.",
    "P-1": "Save the page as UTF-8, as with `iconv -f WINDOWS-1252 -t UTF-8`.",
    "P-2": _FIX + "renames it, and links to it follow.",
    "P-3": _FIX + "puts a block on top.",
    "P-4": "Split it into pages that each answer one question.",
    "P-8": "Write what is known, or delete the page.",
    "P-9": _FIX + "removes it.",
    "P-10": "Delete the characters at that place.",
    "P-12": "Put a file in its place, or delete it.",
    "F-3": _FIX + "adds one, from the first heading or the file name.",
    "F-4": _FIX + "adds one.",
    "F-5": _FIX + "adds one: what `updated` says, else the file's time.",
    "F-6": _FIX + "adds one: the file's time, which in a fresh checkout is that of the checkout.",
    "F-7": "Put the value in quotes; " + _FIX + "does where only one reading is possible.",
    "F-8": _FIX + "puts quotes around it, if it is a date.",
    "F-9": "Write it as in 2026-03-14T09:12:40Z; " + _FIX + "does, taking a date alone for its first moment.",
    "F-10": _FIX + "turns it into UTC; a time without a zone is taken for UTC, as YAML 1.1 does.",
    "F-11": "Take a new one, as with `uuidgen`; "
    + _FIX
    + "puts one that is only written otherwise into its usual form.",
    "F-13": "Give the page that is not the original a new one.",
    "F-14": _FIX + "puts the value in quotes, as it is written.",
    "F-15": "Delete the one that is not meant.",
    "F-16": "Write the value out where it is used.",
    "F-18": "Correct one of them.",
    "F-19": "Correct it; the clock of the machine may be wrong.",
    "F-21": "Move the keys of the second block into the first.",
    "K-1": 'Write a list: `tags: ["one", "two"]`.',
    "K-2": "Write a URL or a list of them.",
    "K-3": 'Write a date in quotes, as in `expires: "2026-03-14"`; ' + _FIX + "puts the quotes.",
    "K-5": "Write the uuid that stands in the other page's frontmatter.",
    "K-6": "Correct the uuid, or delete the key.",
    "K-7": "Delete the key in the page that is the newest.",
    "L-1": "Correct the name, or write the page that is missing.",
    "I-1": "Say what the field is about; leave the list to `memoryfield list`, or to listing.md.",
    "I-2": "Add the missing pages.",
    "X-1": "Make one with `memoryfield embed`.",
    "X-3": "Rename it to the full model code, or delete it and run `memoryfield embed`.",
    "X-5": "Delete it, and make an index in SQLite with `memoryfield embed`.",
    "X-6": "Delete it; `memoryfield embed` makes it again.",
    "X-7": "Make it again with `memoryfield embed --rebuild`.",
    "X-8": "Run `memoryfield embed`.",
    "X-9": "Unpack it, run `memoryfield embed`, and pack it again.",
    "X-10": "Delete it; `memoryfield embed` makes it again.",
    "S-1": "Leave it out; an archive with such a name was not made by accident.",
    "S-6": "Look at the line in an editor that shows such characters, and delete them.",
    "S-7": "Take it out, and revoke it: what was in a file has been copied.",
    "R-1": "Make the titles differ, or join the pages.",
    "R-2": "Make them the same, or leave it.",
    "R-3": "Shorten it to one sentence.",
    "R-4": "Say what the page answers, or leave the summary out.",
    "R-5": "Delete one of them; `supersedes` can tell which.",
    "R-6": "Read it before a model does.",
    "R-7": _FIX + "turns them into LF.",
    "R-8": "Run `memoryfield embed`; a search catches up with a few pages by itself.",
}
"""How a breach is mended, for each requirement that the files of a field can break."""

_READER = "No file shows this: it is asked of programs that read fields."
_PRODUCER = "No file shows this: it is asked of whoever writes pages, and shows in what was before and after."
_PACKER = "No file shows this: it is a promise of whoever packs an archive."
_SERVER = "No file shows this: it is asked of servers, and shows in their answers."
_INDEXER = "No file shows this: it is asked of programs that make indexes."
_UNSEEN = {
    **dict.fromkeys("C-3 C-4 C-5 C-6 P-5 P-11 F-1 F-2 F-20 K-4 K-8 T-4 Q-1 Q-2 Q-3 V-1".split(), _READER),
    **dict.fromkeys("X-11 S-4 S-5 S-8 S-9 S-10 S-11 S-13 S-14".split(), _READER),
    **dict.fromkeys("P-6 F-12 F-17 X-2 X-13 S-2 S-12".split(), _PRODUCER),
    "C-7": "No file shows this: a log looks like any other page.",
    "P-7": "No file shows this: which statement needs a source, a person decides.",
    "V-2": "No file shows this: it binds this document.",
    **dict.fromkeys("A-6 A-7 A-8 A-9 A-10 A-11".split(), _PACKER),
    **dict.fromkeys("X-4 X-12 T-1 T-2 T-3".split(), _INDEXER),
    **dict.fromkeys([f"T-{number}" for number in range(5, 22)], _SERVER),
    "S-3": _SERVER,
}
"""Those that no file can show, and who is asked."""
