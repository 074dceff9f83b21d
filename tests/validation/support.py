"""Fields for the validator's tests: a page without a fault, and a report in few words."""

from __future__ import annotations

import zipfile
from pathlib import Path

from memoryfield.containers import open_container
from memoryfield.validation import Fault, validate

UUID = "6f1c1c6e-8f39-4a52-9d1a-0d9f6f3a2b10"
OTHER = "99999999-9999-4999-8999-999999999999"
MOMENT = "2026-03-14T09:12:40Z"


def uuid_of(number: int) -> str:
    """One of many."""
    return f"00000000-0000-4000-8000-{number:012d}"


def page(
    *,
    title: str = "Woks",
    uuid: str = UUID,
    created: str = f'"{MOMENT}"',
    updated: str = f'"{MOMENT}"',
    body: str = "Text",
    more: str = "",
) -> str:
    """A page, faultless as it stands: title is line 2, uuid 3, created 4, updated 5, the body 8.

    Args:
        more: further lines of frontmatter, the first of which is line 6.
    """
    head = f"title: {title}\nuuid: {uuid}\ncreated: {created}\nupdated: {updated}\n{more}"
    return f"---\n{head}---\n\n{body}\n"


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    """Files of a field, byte for byte."""
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def pack(location: Path, files: dict[str, str | bytes]) -> Path:
    """A zip of these files."""
    with zipfile.ZipFile(location, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return location


def check(location: Path, select: str = "", ignore: str = "") -> list[Fault]:
    """What a validation finds in a folder or an archive."""
    container = open_container(location, strict=False)
    try:
        return validate(container, select=[select] if select else [], ignore=[ignore] if ignore else [])
    finally:
        container.close()


def check_page(folder: Path, content: str | bytes, select: str = "", ignore: str = "") -> list[Fault]:
    """What it finds in a field of this one page, `a.md`."""
    write(folder, {"a.md": content})
    return check(folder, select, ignore)


def told(found: list[Fault]) -> list[str]:
    """The faults without their messages: `a.md:2:1 warning F-3`."""
    return [f"{fault.place} {fault.severity} {fault.requirement}" for fault in found]


def only(found: list[Fault]) -> Fault:
    """The one fault that there is."""
    assert len(found) == 1, [str(fault) for fault in found]
    return found[0]
