"""What is mended in one page, and that everything else in it stays."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memoryfield.frontmatter import known_lines
from memoryfield.page import Page
from memoryfield.validation import pages
from memoryfield.validation.mending import in_utc, mended

UUID = "6f1c1c6e-8f39-4a52-9d1a-0d9f6f3a2b10"
MOMENT = "2026-03-14T09:12:40Z"
NOW = "2026-08-01T12:00:00Z"
FILE_TIME = 1_780_000_000 * 1_000_000_000 + 7
"""2026-05-28T20:26:40Z."""
COMPLETE = f'title: Woks\nuuid: {UUID}\ncreated: "{MOMENT}"\nupdated: "{MOMENT}"\n'
BODY = "\n# Woks\n\nThey heat evenly.\n"
BOM = "\ufeff"


def mend(text: str | bytes, name: str = "woks.md", mtime_ns: int = FILE_TIME) -> tuple[str, list[tuple[str, int]]]:
    """The page's text as it should be, and what was broken where."""
    raw = text if isinstance(text, bytes) else text.encode()
    after, mends = mended(Page(name, raw, mtime_ns=mtime_ns), {}, NOW)
    assert (after == raw) == (not mends)
    assert all(found.message for found in mends)
    return after.decode(errors="surrogateescape"), [(found.requirement, found.line) for found in mends]


def page(block: str, body: str = BODY) -> str:
    return f"---\n{block}---\n{body}"


def complete(**lines: str) -> str:
    """A block with every key, some of its lines written otherwise; without those that are empty."""
    block = {key: line for line in COMPLETE.splitlines(keepends=True) for key in [line.partition(":")[0]]}
    block |= {key: f"{key}:{value}\n" if value else "" for key, value in lines.items()}
    return page("".join(block.values()))


# what is in order


@pytest.mark.parametrize(
    "text",
    [
        page(COMPLETE),
        page(COMPLETE, ""),
        page(f"# a comment\n{COMPLETE}tags: [a, b]\nmine: 2026-03-14\n"),
        page(COMPLETE, "\n---\nsecond: block\n---\n"),
        complete(created=" '2026-03-14T09:12:40.123456789+00:00'"),
        complete(title=" >\n  No\n  way"),
        complete(title=' "No"', uuid=f" '{UUID}'"),
        complete(expires=' "2026-03-14"', supersedes=f" [{UUID}]", summary=""),
        page("{title: Woks, uuid: " + UUID + f', created: "{MOMENT}", updated: "{MOMENT}"}}\n'),
        f"\n\n{page(COMPLETE)}",
    ],
)
def test_a_page_without_a_fault_is_not_touched(text: str) -> None:
    assert mend(text) == (text, [])


@pytest.mark.parametrize("style", ["|", ">", "|-", ">-"])
def test_a_block_scalar_is_a_string(style: str) -> None:
    text = page(COMPLETE).replace(f'created: "{MOMENT}"', f"created: {style}\n  {MOMENT}")
    assert mend(text) == (text, [])


@pytest.mark.parametrize(
    "text",
    [
        b"caf\xe9\r\n",
        f"{BOM}---\r\ntitle: Re: a\r\ncreated: 2026-03-14\r\n",
        "---\r\ntags:\r\n\t- a\r\n---\r\n",
        page("title: Re: a thing\ntags:\n\t- a\n"),
        page("title: Re: a thing\n  and more of it\n"),
        page("title: Re: a\ntitle: Re: b\n"),
        page("title: Re: a\x1b[31mred\n"),
        page("title: K8s\ntitle: Kubernetes\nowner: @ops\n"),
        page("base: &b {n: 1}\n<<: *b\n"),
        page('title: "Woks" and pans\nn: `a`\n')[:-1].replace("---\n\n", "", 1),
        page("x: [" + "1," * 12_000 + "]\n"),
        page("title: Woks\n" + "#" * 70_000 + "\n"),
        page('"my key": a: b\n'),
    ],
)
def test_a_page_that_has_more_than_one_reading_is_left_as_it_is(text: str | bytes) -> None:
    after, mends = mend(text)
    assert mends == []
    assert after.encode(errors="surrogateescape") == (text.encode() if isinstance(text, str) else text)


# bytes


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_a_mark_is_removed_and_lines_end_in_lf(end: str) -> None:
    text = BOM + page(COMPLETE).replace("\n", end)
    assert mend(text) == (page(COMPLETE), [("P-9", 1), ("R-7", 1)])


def test_mixed_line_ends_are_named_at_the_first_of_them() -> None:
    assert mend(page(COMPLETE, "a\nb\r\rc\r\n")) == (page(COMPLETE, "a\nb\n\nc\n"), [("R-7", 8)])


def test_several_marks_are_removed() -> None:
    assert mend(BOM * 3 + page(COMPLETE)) == (page(COMPLETE), [("P-9", 1)])


# frontmatter that is not there


@pytest.mark.parametrize(
    ("text", "name", "title"),
    [
        ("Text.\n\n# A `heading`: yes #\n", "woks.md", "'A `heading`: yes'"),
        ("Text.\n", "My woks.md", "My woks"),
        ("\nText.\n", "12.md", "'12'"),
        ("", "woks.md", "woks"),
        ("a\r\n# b\r\n", "woks.md", "b"),
        ("# \xa0\n", "woks.md", "woks"),
        ("Text.\n", " .md", "page"),
    ],
)
def test_a_page_without_frontmatter_gets_it(text: str, name: str, title: str) -> None:
    after, mends = mend(text, name)
    assert ("P-3", 1) in mends
    moment = "2026-05-28T20:26:40Z"
    head = (
        re.escape(f"---\ntitle: {title}\nuuid: ")
        + "[0-9a-f-]{36}"
        + re.escape(f'\ncreated: "{moment}"\nupdated: "{moment}"\n---\n')
    )
    plain = text.replace("\r\n", "\n")
    gap = "" if not plain or plain.startswith("\n") else "\n"
    assert re.fullmatch(head + re.escape(gap + plain), after)
    assert mend(after, name) == (after, [])


def test_an_empty_block_is_filled() -> None:
    after, mends = mend("---\n---\nText.\n")
    assert [found for found, _ in mends] == ["F-3", "F-4", "F-5", "F-6"]
    assert after.endswith("---\nText.\n")
    assert list(Page("woks.md", after.encode()).frontmatter) == ["title", "uuid", "created", "updated"]


@pytest.mark.parametrize("key", ["title", "uuid", "created", "updated"])
@pytest.mark.parametrize("empty", ["", " ", " ~", " null", ' ""', " '  '", " # to do"])
def test_a_key_that_is_missing_or_empty_is_added(key: str, empty: str) -> None:
    text = complete(**{key: empty})
    after, mends = mend(text)
    assert [found for found, _ in mends] == [{"title": "F-3", "uuid": "F-4", "created": "F-5", "updated": "F-6"}[key]]
    before, now = Page("", text.encode()).frontmatter, Page("", after.encode()).frontmatter
    assert {**before, key: now[key]} == now
    assert now[key] == MOMENT if key == "created" else now[key]
    assert ("# to do" in after) == ("# to do" in text)
    assert after.endswith(BODY)


@pytest.mark.parametrize(
    ("created", "updated", "mtime_ns", "expected"),
    [
        ("", "", FILE_TIME, ("2026-05-28T20:26:40Z", "2026-05-28T20:26:40Z")),
        ("", "", 0, (NOW, NOW)),
        ("", "", 2_000_000_000 * 10**9, (NOW, NOW)),
        ("", ' "2026-03-14T10:12:40.50+01:00"', FILE_TIME, ("2026-03-14T09:12:40.50Z", "2026-03-14T09:12:40.50Z")),
        ("", ' "long ago"', FILE_TIME, ("2026-05-28T20:26:40Z", "long ago")),
        (f' "{MOMENT}"', "", FILE_TIME, (MOMENT, "2026-05-28T20:26:40Z")),
        (' "2026-06-01T00:00:00Z"', "", FILE_TIME, ("2026-06-01T00:00:00Z", "2026-06-01T00:00:00Z")),
        (' "long ago"', "", FILE_TIME, ("long ago", "2026-05-28T20:26:40Z")),
    ],
)
def test_times_that_are_missing_come_from_each_other_or_from_the_file(
    created: str, updated: str, mtime_ns: int, expected: tuple[str, str]
) -> None:
    after, _ = mend(complete(created=created, updated=updated), mtime_ns=mtime_ns)
    result = Page("", after.encode())
    assert (result.created, result.updated) == expected


# dates


@pytest.mark.parametrize(
    ("written", "expected", "found"),
    [
        (MOMENT, MOMENT, ["F-8"]),
        ("2026-03-14", "2026-03-14T00:00:00Z", ["F-8", "F-9"]),
        ('"2026-03-14"', "2026-03-14T00:00:00Z", ["F-9"]),
        ("2026-03-14 10:12:40+01:00", MOMENT, ["F-8", "F-9"]),
        ("'2026-03-14T10:12:40+01:00'", MOMENT, ["F-10"]),
        ("'2026-03-14T09:12:40'", MOMENT, ["F-10"]),
        ("'2026-03-14T09:12Z'", "2026-03-14T09:12:00Z", ["F-9"]),
        ("'2026-03-14t09:12:40z'", MOMENT, ["F-9"]),
        ("' 2026-03-14 04:12:40.1230 -0500'", "2026-03-14T09:12:40.1230Z", ["F-9"]),
        ("'2026-03-14 09:12:40,5 UTC'", "2026-03-14T09:12:40.5Z", ["F-9"]),
        ("2026-01-01T00:30:00+01", "2025-12-31T23:30:00Z", ["F-8", "F-9"]),
        ("!!str 2026-03-14", "2026-03-14T00:00:00Z", ["F-8", "F-9"]),
    ],
)
@pytest.mark.parametrize("key", ["created", "updated"])
def test_dates_are_put_in_quotes_and_into_utc(key: str, written: str, expected: str, found: list[str]) -> None:
    after, mends = mend(complete(**{key: f" {written}  # as I remember"}))
    line = {"created": 4, "updated": 5}[key]
    assert mends == [(one, line) for one in found]
    quote = "[\"']" if not re.match(r"\d{4}-\d\d-\d\d", expected) else '"'
    assert re.search(rf"^{key}: (?:!!str )?{quote}{re.escape(expected)}{quote}  # as I remember$", after, re.MULTILINE)


@pytest.mark.parametrize(
    "written",
    [
        "yesterday",
        "2026",
        "1710407560123",
        "20260314",
        "14.03.2026",
        "'yesterday'",
        "'2026-02-30T00:00:00Z'",
        "[2026-03-14]",
        "'0001-01-01T00:00:00+01:00'",
    ],
)
def test_what_is_no_datetime_is_left_alone(written: str) -> None:
    text = complete(created=f" {written}")
    assert mend(text) == (text, [])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("2026-03-14", '"2026-03-14"'),
        ("2026-03-14 10:12", '"2026-03-14 10:12"'),
        ("never", "never"),
        ("2026-W11", "2026-W11"),
        ("20260314", "20260314"),
    ],
)
def test_expires_is_put_in_quotes_where_it_is_a_date(written: str, expected: str) -> None:
    after, mends = mend(complete(expires=f" {written}"))
    assert after == complete(expires=f" {expected}")
    assert mends == ([("K-3", 6)] if written != expected else [])


@given(st.datetimes(), st.integers(-23 * 60 - 59, 23 * 60 + 59))
def test_every_datetime_keeps_its_moment(moment: object, offset: int) -> None:
    from memoryfield.dates import moment_of

    written = f"{moment}{'-' if offset < 0 else '+'}{abs(offset) // 60:02}:{abs(offset) % 60:02}"
    result = in_utc(written)
    if result is not None:  # beyond the year 1 or 9999
        assert moment_of(result) == moment_of(written)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", result)
        assert in_utc(result) == result


# texts


@pytest.mark.parametrize(
    "written",
    ["No", "1.10", "1_000", "0x1f", "12:30", "2026-03-14", "2026", ".inf", "9" * 30, "[[Woks]]", "yes"],
)
@pytest.mark.parametrize("key", ["title", "summary"])
def test_a_text_that_yaml_reads_as_something_else_is_put_in_quotes_as_it_is_written(key: str, written: str) -> None:
    after, mends = mend(complete(**{key: f"  {written} # so"}))
    assert [found for found, _ in mends] == ["F-14"]
    assert after in [complete(**{key: f"  {quote}{written}{quote} # so"}) for quote in "'\""]
    assert Page("", after.encode()).frontmatter[key] == written


@pytest.mark.parametrize("value", ["[a, b]", "{a: b}", "\n  - a", "\n  a: b", "&x [1]", "!!int '5'"])
def test_a_title_that_is_a_list_or_a_mapping_is_left_alone(value: str) -> None:
    text = complete(title=f" {value}")
    assert mend(text) == (text, [])


@pytest.mark.parametrize(
    "written",
    [
        UUID.upper(),
        f"'{{{UUID}}}'",
        f"{{{UUID.upper()}}}",
        f"urn:uuid:{UUID}",
        UUID.replace("-", ""),
        f'" {UUID}"',
    ],
)
def test_a_uuid_gets_its_usual_form(written: str) -> None:
    after, mends = mend(complete(uuid=f" {written}"))
    assert Page("", after.encode()).frontmatter["uuid"] == UUID
    assert ("F-11", 3) in mends


def test_keys_in_one_line_are_mended_as_well() -> None:
    text = "---\n{title: No, uuid: %s, created: 2026-03-14, updated: '%s'}\n---\n"
    after, mends = mend(text % (UUID.upper(), MOMENT))
    assert mends == [("F-14", 2), ("F-11", 2), ("F-8", 2), ("F-9", 2)]
    assert after == (text % (UUID, MOMENT)).replace("No", "'No'").replace("2026-03-14,", '"2026-03-14T00:00:00Z",')


def test_a_uuid_of_digits_is_no_number() -> None:
    after, mends = mend(complete(uuid=" 12345678123446781234567812345678"))
    assert mends == [("F-14", 3), ("F-11", 3)]
    assert Page("", after.encode()).frontmatter["uuid"] == "12345678-1234-4678-1234-567812345678"


@pytest.mark.parametrize("written", ["page-one", "abc", f"{UUID}0", "'6f1c-1c6e8f394a529d1a0d9f6f3a2b10'"])
def test_what_is_no_uuid_is_left_alone(written: str) -> None:
    text = complete(uuid=f" {written}")
    assert mend(text)[0] == text


# values that YAML refuses


REFUSED = [
    "Re: a thing",
    "`jq` in five lines",
    "*bold* move",
    "*bold move",
    "[[Woks]] and pans",
    "[draft] woks",
    "@home",
    "%d items",
    '"C:\\Users\\me"',
    "'it's'",
    "ends with:",
    "{{ name }}",
    "- a",
    "? why",
    "> a quotation",
    '"left open',
    "!important",
    "& more",
    "Re:\ta tab",
    "}",
    ", a",
]


@pytest.mark.parametrize("written", REFUSED)
@pytest.mark.parametrize("key", ["title", "summary", "mine", "My own key"])
@pytest.mark.parametrize("after", ["", " ", "  # a comment", "\n# a comment\n"])
def test_a_value_that_yaml_refuses_is_put_in_quotes(key: str, written: str, after: str) -> None:
    text = complete(tags=" [a, 'b']  # both", **{key: f"  {written}{after}"})
    mended_text, mends = mend(text)
    assert [found for found, _ in mends] == ["F-7"]
    frontmatter = Page("", mended_text.encode()).frontmatter
    assert frontmatter[key] == known_lines(f"title: {written}")["title"]
    assert frontmatter["tags"] == ["a", "b"]
    place = mends[0][1] - 1
    changed = [number for number, line in enumerate(text.split("\n")) if line != mended_text.split("\n")[number]]
    assert changed == [place]
    assert mended_text.split("\n")[place].startswith(f"{key}:  ")
    assert mended_text.split("\n")[place].endswith(after.split("\n")[0])


def test_several_values_that_yaml_refuses_are_put_in_quotes_and_the_rest_is_mended_too() -> None:
    after, mends = mend(
        page(f"title: Re: a\nmine: @b\nuuid: {UUID.upper()}\n\n# c\ncreated: 2026-03-14 09:12:40\nn: *d\n")
    )
    assert mends == [("F-7", 2), ("F-7", 3), ("F-7", 8), ("F-11", 4), ("F-8", 7), ("F-9", 7), ("F-6", 1)]
    assert after == page(
        f"title: 'Re: a'\nmine: '@b'\nuuid: {UUID}\n\n# c\ncreated: \"{MOMENT}\"\nn: '*d'\n"
        'updated: "2026-05-28T20:26:40Z"\n'
    )


def test_a_known_key_needs_no_blank_after_its_colon_and_another_one_does() -> None:
    assert "title: Woks\n" in mend(complete(title="Woks"))[0]
    text = page("http://example.org\ntitle: Re: a\n")
    assert mend(text) == (text, [])


def test_an_alias_that_means_something_is_no_fault() -> None:
    text = page(COMPLETE.replace("title: Woks", "title: Re: a") + "a: &x [1]\nb: *x\n")
    after, mends = mend(text)
    assert mends == [("F-7", 2)]
    assert after == text.replace("Re: a", "'Re: a'")


def test_a_key_that_cannot_be_set_does_not_keep_others_from_being_mended() -> None:
    after, mends = mend(complete(title=" No", created=" &c 2026-03-14", mine=" *c"))
    assert mends == [("F-14", 2)]
    assert after == complete(title=" 'No'", created=" &c 2026-03-14", mine=" *c")


def test_a_very_long_line_takes_no_time_of_its_own() -> None:
    for line in (
        "a" + " " * 60_000 + "b",
        "title: Re: " + " " * 60_000 + "x",
        "a: `" + " #" * 30_000,
        "a:" + " *x" * 20_000,
    ):
        mend(page(f"{line}\ntitle: Re: a\n"))


# everything


line = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\x85\u2028\u2029"), max_size=12)
values = st.sampled_from(
    [
        *REFUSED,
        "Woks",
        "No",
        "2026-03-14",
        "2026-03-14 10:12:40+01:00",
        f'"{MOMENT}"',
        UUID,
        UUID.upper(),
        "",
        "~",
        "[a, b]",
        *["&x 1", "*x", "|\n  a", "'a'", '"a"', "1.10", "\n  - a", "{a: b}", "!!str 5", "'a' # b", "a # b"],
    ]
)
keys = st.sampled_from(["title", "uuid", "created", "updated", "summary", "expires", "tags", "mine", "supersedes"])
blocks = st.lists(
    st.tuples(keys, st.sampled_from([": ", ":", ":  ", " : ", ":\t"]), values | line).map("".join)
    | line.map("# {}".format)
    | line
    | st.just("")
).map(lambda lines: "".join(f"{line}\n" for line in lines))
texts = st.tuples(
    st.sampled_from(["", BOM, "\n", BOM * 2, " \n"]),
    st.tuples(blocks, line).map(lambda parts: page(parts[0], parts[1])) | line | blocks,
    st.sampled_from(["", "\n# Heading\n\nText.\n", "\n---\nb: 2\n---\n", "\rtext\r\n", "\ntext \n\n"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
).map(lambda parts: "".join(parts[:3]).replace("\n", parts[3]))


def plain(text: str) -> str:
    return text.lstrip(BOM).replace("\r\n", "\n").replace("\r", "\n")


@settings(max_examples=500, deadline=None)
@given(texts)
@example(page("title: Re: a\nmine: 'x' # y\n"))
def test_the_body_and_what_is_not_mended_stay_and_a_second_time_finds_nothing(text: str) -> None:
    after, mends = mend(text)
    before, result = Page("woks.md", plain(text).encode()), Page("woks.md", after.encode())
    if not mends:
        assert after == text
        return
    assert mend(after) == (after, [])
    gap = "\n" if result.body == f"\n{before.body}" and not before.has_frontmatter else ""
    assert result.body == gap + before.body
    mended_keys = {"title", "uuid", "created", "updated", "summary", "expires"}
    if not before.problems:
        for key in before.frontmatter.keys() - mended_keys:
            assert result.frontmatter[key] == before.frontmatter[key]
    assert [line for line in after.split("\n") if line.startswith("#")] == [
        line for line in plain(text).split("\n") if line.startswith("#")
    ]
    assert {number for _, number in mends} <= set(range(1, plain(text).count("\n") + 2))


@settings(max_examples=300, deadline=None)
@given(texts)
def test_the_rules_find_nothing_of_what_can_always_be_mended(text: str) -> None:
    after, _ = mend(text)
    page = Page("woks.md", after.encode())
    if page.frontmatter_is_valid and not page.yaml_features:
        found = [*pages.content(page), *pages.block(page), *pages.keys(page), *pages.dates(page, now_ns=FILE_TIME)]
        assert not {fault.requirement for fault in found} & {"P-3", "P-9", "R-7", "F-3", "F-4", "F-5", "F-6", "F-10"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ('"2026-03-14"', ", in UTC, since it names no zone"),
        ('"2026-03-14 10:00"', ", in UTC, since it names no zone"),
        ('"2026-03-14T10:00:00"', "takes created for UTC, since it names no zone"),
        ('"2026-03-14T10:00:00+01:00"', "turns created into UTC: 2026-03-14T09:00:00Z"),
        ('"2026-03-14 10:00Z"', "writes created as 2026-03-14T10:00:00Z"),
    ],
)
def test_a_time_that_is_taken_for_utc_is_told(value: str, words: str) -> None:
    raw = page(COMPLETE).replace('"2026-03-14T09:12:40Z"', value, 1).encode()
    _, mends = mended(Page("woks.md", raw), {}, "2026-11-30T00:00:00Z")
    (message,) = [mend.message for mend in mends]
    assert words in message
    assert ("zone" in message) == ("zone" in words)
