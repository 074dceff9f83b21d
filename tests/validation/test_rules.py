"""Validation: each rule with what keeps it and what breaks it, and at which line."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import pytest

from memoryfield.containers import open_container
from memoryfield.names import is_legal_page_name
from memoryfield.validation import Fault, validate

SAMPLES = Path(__file__).parents[2] / "samples" / "fieldnotes"
UUID = "6f1c1c6e-8f39-4a52-9d1a-0d9f6f3a2b10"
MOMENT = "2026-03-14T09:12:40Z"


def page(
    *,
    title: str = "Woks",
    uuid: str = UUID,
    created: str = f'"{MOMENT}"',
    updated: str = f'"{MOMENT}"',
    body: str = "Text",
) -> str:
    """A page, faultless as it stands: title is line 2, uuid 3, created 4, updated 5, the body 8."""
    return f"---\ntitle: {title}\nuuid: {uuid}\ncreated: {created}\nupdated: {updated}\n---\n\n{body}\n"


def faults(folder: Path, **pages: str | bytes) -> list[Fault]:
    """The faults of a field that holds these pages, `_` in a name standing for the dot before `md`."""
    for name, content in pages.items():
        data = content.encode() if isinstance(content, str) else content
        (folder / name.replace("_", ".")).write_bytes(data)
    return validate(open_container(folder))


def places(found: list[Fault]) -> list[tuple[str, int, str]]:
    return [(fault.filename, fault.line, fault.severity) for fault in found]


def only(found: list[Fault]) -> Fault:
    assert len(found) == 1, [str(fault) for fault in found]
    return found[0]


def about(found: list[Fault], word: str) -> list[tuple[int, str]]:
    """Line and severity of the faults that speak of something."""
    return [(fault.line, fault.severity) for fault in found if word in fault.message]


# the field


def test_the_samples_follow_the_format_to_the_letter() -> None:
    assert [str(fault) for fault in validate(open_container(SAMPLES))] == []


@pytest.mark.parametrize(
    "text",
    [
        page(),
        page().replace("\n", "\r\n"),
        page(title="'Re: a thing'"),
        page().replace("title:", "tags: [a]\nsummary: One question.\ntitle:"),
    ],
)
def test_a_page_that_follows_the_format_has_no_fault(tmp_path: Path, text: str) -> None:
    assert faults(tmp_path, a_md=text) == []


@pytest.mark.parametrize(
    "name",
    ["notes.txt", "model.sqlite3", ".hidden.md", "a.md~", "a.sync-conflict-1.md", ".DS_Store", "Thumbs.db", "X Y.png"],
)
def test_files_that_are_no_pages_are_nobodys_business(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\x00 not a page")
    (tmp_path / "Some Folder.md").mkdir()
    (tmp_path / "Some Folder.md" / "Bad Name.md").write_bytes(b"\xff")
    assert faults(tmp_path, a_md=page()) == []


def test_a_field_without_a_page_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no page")
    (tmp_path / ".hidden.md").write_text("no page")
    assert places(validate(open_container(tmp_path))) == [("", 0, "error")]


def test_every_fault_of_every_page_is_reported_in_order(tmp_path: Path) -> None:
    found = faults(
        tmp_path,
        b_md=page(uuid="x", created="yesterday", updated=MOMENT, body="NUL \x00"),
        a_md=b"\xff",
        C_md=page(uuid=UUID.replace("6", "7")),
        d_md=page(uuid=UUID.replace("6", "8")),
    )
    assert places(found) == [
        ("C.md", 0, "error"),
        ("a.md", 1, "error"),
        ("a.md", 1, "warning"),
        ("b.md", 3, "warning"),
        ("b.md", 4, "warning"),
        ("b.md", 5, "warning"),
        ("b.md", 8, "warning"),
    ]
    assert found == sorted(found)


def test_an_archive_is_validated_in_place(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "notes.memoryfield.zip", "w") as archive:
        archive.writestr("a.md", page())
        archive.writestr("b.md", page(uuid="x"))
        archive.writestr("folder/c.md", "no page of this field")
    found = validate(open_container(tmp_path / "notes.memoryfield.zip"))
    assert places(found) == [("b.md", 3, "warning")]
    assert [item.name for item in tmp_path.iterdir()] == ["notes.memoryfield.zip"]


def test_a_page_that_cannot_be_read_is_an_error_and_the_others_are_still_looked_at(tmp_path: Path) -> None:
    location = tmp_path / "notes.memoryfield.zip"
    with zipfile.ZipFile(location, "w") as archive:
        archive.writestr("a.md", page(body="SPOILED"))
        archive.writestr("b.md", page(uuid="x"))
    location.write_bytes(location.read_bytes().replace(b"SPOILED", b"spoiled"))
    found = validate(open_container(location))
    assert places(found) == [("a.md", 0, "error"), ("b.md", 3, "warning")]
    assert "cannot be read" in found[0].message


def link(folder: Path, name: str, target: Path) -> None:
    try:
        (folder / name).symlink_to(target)
    except OSError:
        pytest.skip("no links can be made here")


def test_a_page_that_is_a_link_to_a_file_outside_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text(page())
    field = tmp_path / "field"
    field.mkdir()
    link(field, "b.md", tmp_path / "outside.md")
    link(field, "c.txt", tmp_path / "outside.md")
    found = faults(field, a_md=page())
    assert places(found) == [("b.md", 0, "error")]
    assert "outside" in found[0].message


def test_a_link_to_a_page_of_the_field_is_read_as_that_page(tmp_path: Path) -> None:
    link(tmp_path, "b.md", tmp_path / "a.md")
    assert places(faults(tmp_path, a_md=page())) == [("b.md", 3, "error")]


def test_a_page_that_is_a_link_in_an_archive_is_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "notes.memoryfield.zip", "w") as archive:
        archive.writestr("a.md", page())
        info = zipfile.ZipInfo("b.md")
        info.create_system = 3
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "../outside.md")
    assert places(validate(open_container(tmp_path / "notes.memoryfield.zip"))) == [("b.md", 0, "error")]


# names


@pytest.mark.parametrize("name", ["a.md", "7.md", "a-b.md", "a--b.md", "index.md"])
def test_a_legal_name_is_no_fault(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(page())
    assert validate(open_container(tmp_path)) == []


@pytest.mark.parametrize(
    "name",
    ["Capitals.md", "with space.md", "under_score.md", "-a.md", "a-.md", "ünï.md", "炭素.md", "a.b.md", "a.MD", "-.md"],
)
def test_an_illegal_name_is_an_error_that_names_a_legal_one(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(page())
    fault = only(validate(open_container(tmp_path)))
    assert (fault.line, fault.severity) == (0, "error")
    assert is_legal_page_name(fault.message.split("such as ")[1].rstrip(")"))


@pytest.mark.parametrize("name", ["c:d.md", "a\tb.md", "a\nb.md", *(["a\\b.md"] if os.sep == "/" else [])])
def test_a_name_that_is_not_plain_is_an_error_and_the_others_are_still_looked_at(tmp_path: Path, name: str) -> None:
    location = tmp_path / "notes.memoryfield.zip"
    with zipfile.ZipFile(location, "w") as archive:
        archive.writestr(name, page())
        archive.writestr("z.md", page(uuid="x"))
    found = validate(open_container(location))
    assert (name, "error") in [(fault.filename, fault.severity) for fault in found]
    assert ("z.md", 3, "warning") in places(found)


# content


def test_a_byte_order_mark_is_a_warning(tmp_path: Path) -> None:
    fault = only(faults(tmp_path, a_md=b"\xef\xbb\xbf" + page().encode()))
    assert (fault.line, fault.severity) == (1, "warning")
    assert "byte order mark" in fault.message


def test_a_nul_byte_is_a_warning_at_its_line(tmp_path: Path) -> None:
    fault = only(faults(tmp_path, a_md=page(body="one\ntwo \x00\nthree \x00")))
    assert (fault.line, fault.severity) == (9, "warning")
    assert "NUL" in fault.message


@pytest.mark.parametrize("body", ["", "\n\n", " \t\n"])
def test_a_page_without_text_is_a_warning(tmp_path: Path, body: str) -> None:
    fault = only(faults(tmp_path, a_md=page(body=body)))
    assert (fault.line, fault.severity) == (0, "warning")
    assert "no text" in fault.message


@pytest.mark.parametrize(("size", "expected"), [(8192, []), (8193, [("a.md", 0, "warning")])])
def test_a_page_should_stay_within_8192_bytes(tmp_path: Path, size: int, expected: list[tuple[str, int, str]]) -> None:
    filler = "é" * ((size - len(page(body="").encode())) // 2)
    text = page(body=filler + "x" * (size - len(page(body=filler).encode())))
    assert len(text.encode()) == size
    found = faults(tmp_path, a_md=text)
    assert places(found) == expected
    assert all("8,193" in fault.message for fault in found)


def test_an_empty_page_is_valid_and_warned_about(tmp_path: Path) -> None:
    assert {fault.severity for fault in faults(tmp_path, a_md=b"")} == {"warning"}


def test_a_page_that_is_not_utf8_is_an_error_at_its_line(tmp_path: Path) -> None:
    fault = only(faults(tmp_path, a_md=page(body="one\ncaf\u00e9").encode("latin-1")))
    assert (fault.line, fault.severity) == (9, "error")
    assert "0xe9" in fault.message


# frontmatter


def test_a_page_without_frontmatter_is_valid_and_warned_about(tmp_path: Path) -> None:
    fault = only(faults(tmp_path, a_md="# Heading\n\nText\n"))
    assert (fault.line, fault.severity) == (1, "warning")
    assert "should begin with frontmatter" in fault.message


@pytest.mark.parametrize("key", ["title", "uuid", "created", "updated"])
@pytest.mark.parametrize("value", [None, "", "~", "''"])
def test_a_missing_or_empty_key_is_a_warning(tmp_path: Path, key: str, value: str | None) -> None:
    text = page(**{key: value or ""})
    if value is None:
        text = text.replace(f"{key}: \n", "")
    fault = only(faults(tmp_path, a_md=text))
    assert fault.severity == "warning"
    assert f"should have {key}" in fault.message


def test_a_summary_is_not_asked_for(tmp_path: Path) -> None:
    assert faults(tmp_path, a_md=page()) == []
    assert faults(tmp_path, a_md=page().replace("title:", "summary:\ntitle:")) == []


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("---\ntitle: Woks\n\nText\n", 1, "not closed"),
        ("---\n- a\n- b\n---\n\nText\n", 2, "list"),
        ("---\ntitle: Woks\ntags:\n\t- a\n---\n\nText\n", 4, "not valid YAML"),
        ("---\ntitle: Re: a thing\n---\n\nText\n", 2, "not valid YAML"),
        ("---\ntitle: `jq`\n---\n\nText\n", 2, "not valid YAML"),
        ("---\ntitle: *bold* move\n---\n\nText\n", 2, "not valid YAML"),
        ("---\na: &a {n: 1}\nb:\n  <<: *a\n---\n\nText\n", 4, "merge keys"),
        ("---\nJust words.\n---\n\nText\n", 1, "no frontmatter"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_frontmatter_that_was_not_understood_is_a_warning_at_its_line(
    tmp_path: Path, text: str, line: int, words: str, newline: str
) -> None:
    fault = only(faults(tmp_path, a_md=text.replace("\n", newline)))
    assert (fault.line, fault.severity) == (line, "warning")
    assert words in fault.message


def test_a_second_block_is_a_warning_at_its_line(tmp_path: Path) -> None:
    assert about(faults(tmp_path, a_md=page(body="---\ntitle: b\n---\n\nText")), "second") == [(8, "warning")]


def test_what_frontmatter_should_have_is_reported_beside_other_faults(tmp_path: Path) -> None:
    second = faults(tmp_path, a_md=page(updated="", body="---\ntitle: b\n---\n\nText"))
    assert about(second, "second") == [(8, "warning")]
    assert [severity for _, severity in about(second, "should have updated")] == ["warning"]
    latin = faults(tmp_path, a_md=page(updated="", body="caf\u00e9").encode("latin-1"))
    assert about(latin, "not UTF-8") == [(8, "error")]
    assert [severity for _, severity in about(latin, "should have updated")] == ["warning"]


def test_broken_frontmatter_is_a_warning_also_where_the_page_is_not_utf8(tmp_path: Path) -> None:
    found = faults(tmp_path, a_md="---\ntitle: Woks\n\ncaf\u00e9\n".encode("latin-1"))
    assert about(found, "not UTF-8") == [(4, "error")]
    assert about(found, "not closed") == [(1, "warning")]


@pytest.mark.parametrize(("key", "line"), [("title", 2), ("uuid", 3)])
@pytest.mark.parametrize("value", ["[a, b]", "{a: b}"])
def test_a_key_that_should_be_text_and_is_a_collection_is_a_warning(
    tmp_path: Path, key: str, line: int, value: str
) -> None:
    fault = only(faults(tmp_path, a_md=page(**{key: value})))
    assert (fault.line, fault.severity) == (line, "warning")
    assert key in fault.message


# uuid


@pytest.mark.parametrize("uuid", [UUID, f"'{UUID}'", UUID.upper(), "00000000-0000-0000-0000-000000000000"])
def test_a_uuid_is_no_fault(tmp_path: Path, uuid: str) -> None:
    assert faults(tmp_path, a_md=page(uuid=uuid)) == []


@pytest.mark.parametrize(
    "uuid",
    ["x", "12", UUID[:-1], UUID + "0", UUID.replace("-", ""), f"'{{{UUID}}}'", f"urn:uuid:{UUID}", UUID[:-1] + "g"],
)
def test_what_is_no_uuid_is_a_warning_at_its_line(tmp_path: Path, uuid: str) -> None:
    fault = only(faults(tmp_path, a_md=page(uuid=uuid)))
    assert (fault.line, fault.severity) == (3, "warning")


def test_two_pages_with_one_uuid_are_an_error_that_names_the_other(tmp_path: Path) -> None:
    fault = only(faults(tmp_path, a_md=page(), b_md=page(uuid=UUID.upper()), c_md=page(uuid=UUID.replace("6", "7"))))
    assert (fault.filename, fault.line, fault.severity) == ("b.md", 3, "error")
    assert "a.md" in fault.message


# dates


@pytest.mark.parametrize("key", ["created", "updated"])
@pytest.mark.parametrize(
    "value",
    [
        f'"{MOMENT}"',
        f"'{MOMENT}'",
        f'"{MOMENT}"  # by hand',
        f'   "{MOMENT}"',
        '"2026-03-14T09:12Z"',
        '"2026-03-14T09:12:40.123456Z"',
        '"2026-03-14T09:12:40+00:00"',
        '"2024-02-29T00:00:00Z"',
        f'!!str "{MOMENT}"',
        f'&moment "{MOMENT}"',
        f'\n  "{MOMENT}"',
    ],
)
def test_a_quoted_datetime_in_utc_is_no_fault(tmp_path: Path, key: str, value: str) -> None:
    assert faults(tmp_path, a_md=page(**{key: value})) == []


@pytest.mark.parametrize(("key", "line"), [("created", 4), ("updated", 5)])
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (MOMENT, "quoted"),
        ("2026-03-14T09:12:40+00:00  # 'by hand'", "quoted"),
        ('"2026-03-14T09:12:40"', "UTC"),
        ('"2026-03-14T09:12:40+01:00"', "UTC"),
        ('"2026-03-14T09:12:40-0730"', "UTC"),
        ('"2026-03-14"', "ISO 8601"),
        ("2026-03-14", "ISO 8601"),
        ('"2026-03-14 09:12:40Z"', "ISO 8601"),
        ('"14 March 2026"', "ISO 8601"),
        ('"09:12:40Z"', "ISO 8601"),
        ("yesterday", "ISO 8601"),
        ("20260314", "ISO 8601"),
        ("true", "ISO 8601"),
        (f'["{MOMENT}"]', "ISO 8601"),
        ('"2026-13-14T09:12:40Z"', "ISO 8601"),
        ('"2026-02-30T09:12:40Z"', "ISO 8601"),
        ('"2026-03-14T25:12:40Z"', "ISO 8601"),
        ('"2026-03-14T09:61:40Z"', "ISO 8601"),
        ('"٢٠٢٦-03-14T09:12:40Z"', "ISO 8601"),
    ],
)
def test_another_date_is_a_warning_at_its_line(tmp_path: Path, key: str, line: int, value: str, words: str) -> None:
    fault = only(faults(tmp_path, a_md=page(**{key: value})))
    assert (fault.line, fault.severity) == (line, "warning")
    assert key in fault.message
    assert words in fault.message


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_line_of_a_key_is_right_whatever_stands_around_it(tmp_path: Path, newline: str) -> None:
    text = page(created="yesterday").replace("title:", "# a comment: created: no\nnote: |\n  created: no\n\ntitle:")
    fault = only(faults(tmp_path, a_md=text.replace("\n", newline)))
    assert fault.line == 8


@pytest.mark.parametrize(
    ("block", "lines"),
    [
        (f'"title": Woks\n"uuid": {UUID}\n"created": "{MOMENT}"\n\'updated\': "{MOMENT}"\n', []),
        (f'title: Woks\nuuid: {UUID}\n"created": yesterday\nupdated: "{MOMENT}"\n', [4]),
        (f'{{title: Woks, uuid: {UUID}, created: "{MOMENT}", updated: "{MOMENT}"}}\n', []),
        (f'{{title: Woks,\n uuid: {UUID},\n created: yesterday,\n updated: "{MOMENT}"}}\n', [4]),
        (f'  title: Woks\n  uuid: {UUID}\n  created: "{MOMENT}"\n  updated: {MOMENT}\n', [5]),
    ],
)
def test_keys_are_judged_however_they_are_written(tmp_path: Path, block: str, lines: list[int]) -> None:
    assert [fault.line for fault in faults(tmp_path, a_md=f"---\n{block}---\n\nText\n")] == lines


# the report


def test_a_fault_reads_as_file_line_severity_and_text() -> None:
    assert str(Fault("a.md", 3, "warning", "is odd")) == "a.md:3: warning: is odd"
    assert str(Fault("a.md", 0, "error", "is odd")) == "a.md: error: is odd"
    assert str(Fault("", 0, "error", "is odd")) == ".: error: is odd"
    assert Fault("a.md", 3, "notice", "is odd").to_dict() == {
        "filename": "a.md",
        "line": 3,
        "severity": "notice",
        "message": "is odd",
    }


OTHER = "99999999-9999-4999-8999-999999999999"


def with_line(line: str) -> str:
    """A page with one more line of frontmatter, the sixth."""
    return page().replace("\n---\n\n", f"\n{line}\n---\n\n")


@pytest.mark.parametrize(
    "line",
    [
        "expires: 2026-01-01",
        'expires: "2026-01-01T00:00:00Z"',
        "expires:",
        f"supersedes: {OTHER}",
        f"supersedes: [{OTHER}, {OTHER.upper()}]",
        "supersedes: []",
    ],
)
def test_how_long_a_page_is_valid_is_no_fault(tmp_path: Path, line: str) -> None:
    assert faults(tmp_path, a_md=with_line(line)) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("expires: soon", "expires should be an ISO 8601 date"),
        ("expires: 2026", "ISO 8601"),
        ("supersedes: old-page.md", "'old-page.md' is none"),
        (f"supersedes: [{OTHER}, 7]", "7 is none"),
    ],
)
def test_a_validity_that_means_nothing_is_a_warning_at_its_line(tmp_path: Path, line: str, words: str) -> None:
    fault = only(faults(tmp_path, a_md=with_line(line)))
    assert (fault.line, fault.severity) == (6, "warning")
    assert words in fault.message
