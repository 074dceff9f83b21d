"""Trees of Markdown become pages: names, links, tags, dates, files, and nothing lost in silence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memoryfield.importing import import_source

from .support import bring, faults, left, make, pages

WOKS = """---
date: 2024-01-05
tags: kitchen
aliases: [Wok pans]
custom: {a: 1}  # a comment
---
They heat evenly. #wok/carbon
"""


def test_a_vault_becomes_a_sound_field(tmp_path: Path) -> None:
    vault = make(
        tmp_path / "vault",
        {
            "Woks.md": WOKS,
            "Cookware/Cast Iron.md": "# Cast iron\n\nIt rusts.\n",
            ".obsidian/app.json": "{}",
        },
    )
    imported = bring(tmp_path / "field", vault)
    assert imported.kind == "markdown"
    assert [page.filename for page in imported.added] == ["cast-iron.md", "woks.md"]
    assert faults(tmp_path / "field") == []
    woks = pages(tmp_path / "field")["woks.md"]
    assert woks.title == "Woks"
    assert woks.frontmatter["source"] == "vault/Woks.md"
    assert woks.frontmatter["custom"] == {"a": 1}
    assert "custom: {a: 1}  # a comment\n" in woks.text  # what nobody had to touch is as it was
    assert woks.frontmatter["tags"] == ["kitchen", "wok/carbon"]
    assert woks.frontmatter["aliases"] == ["Wok pans"]
    assert woks.created == "2024-01-05T00:00:00Z"
    assert woks.updated == "2023-11-14T22:13:20Z" or woks.updated >= woks.created
    assert pages(tmp_path / "field")["cast-iron.md"].frontmatter["tags"] == ["cookware"]
    assert left(imported, "folder") == [(".obsidian", "begins with a dot")]


def test_the_folders_can_become_part_of_the_name(tmp_path: Path) -> None:
    vault = make(tmp_path / "vault", {"Cook ware/Pans/Iron.md": "Text.\n"})
    bring(tmp_path / "field", vault, folders="name")
    page = pages(tmp_path / "field")["cook-ware-pans-iron.md"]
    assert "tags" not in page.frontmatter


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("[[Steel]]", "[Steel](steel.md)"),
        ("[[steel]]", "[steel](steel.md)"),
        ("[[Cookware/Steel]]", "[Cookware/Steel](steel.md)"),
        ("[[Steel.md]]", "[Steel.md](steel.md)"),
        ("[[Steel|that one]]", "[that one](steel.md)"),
        ("[[Steel\\|that one]]", "[that one](steel.md)"),
        ("[[Steel#Rust & care|care]]", "[care](steel.md#rust--care)"),
        ("[[Steel#Rust & care]]", "[Steel > Rust & care](steel.md#rust--care)"),
        ("[[Steel#Rust#Care]]", "[Steel > Rust > Care](steel.md#care)"),
        ("[[The metal]]", "[The metal](steel.md)"),
        ("[[Carbon steel]]", "[Carbon steel](steel.md)"),
        ("![[Steel]]", "[Steel](steel.md)"),
        ("![[Steel#Rust]]", "[Steel > Rust](steel.md#rust)"),
        ("[[Steel#^a1b2]]", "[Steel > ^a1b2](steel.md)"),
        ("[[#My heading]]", "[My heading](#my-heading)"),
        ("[[C#]]", "[C#](c.md)"),
        ("[x](Cookware/Steel.md)", "[x](steel.md)"),
        ("[x](<Cookware/Steel.md>)", "[x](<steel.md>)"),
        ("[x](Cookware%2FSteel.md#Rust%20%26%20care)", "[x](steel.md#rust--care)"),
        ("[x](./Cookware/../Cookware/Steel.md 'title')", "[x](steel.md 'title')"),
        ("![[pan.png]]", "![pan.png](pan.png)"),
        ("![[pan.png|100x50]]", "![pan.png|100x50](pan.png)"),
        ("![[img/pan.png|A pan]]", "![A pan](pan.png)"),
        ("![A pan](img/pan.png)", "![A pan](pan.png)"),
        ("[[My report.PDF]]", "[My report.PDF](my-report.pdf)"),
        ("[[My report.PDF#page=2]]", "[My report.PDF](my-report.pdf#page=2)"),
        ("[[Nowhere]]", "[[Nowhere]]"),
        ("[[Nowhere#h|x]]", "[[Nowhere#h|x]]"),
        ("[x](nowhere.md)", "[x](nowhere.md)"),
        ("[x](../../outside.md)", "[x](../../outside.md)"),
        ("[x](https://example.com/Cookware/Steel.md)", "[x](https://example.com/Cookware/Steel.md)"),
        ("[[Steel|the `x` one]]", "[the `x` one](steel.md)"),
        ("[[Nowhere|`x`]]", "[[Nowhere|`x`]]"),
        ("`[[Steel]]`", "`[[Steel]]`"),
        ("    [[Steel]]", "    [[Steel]]"),
        ("```\n[[Steel]] [x](Cookware/Steel.md)\n```", "```\n[[Steel]] [x](Cookware/Steel.md)\n```"),
        ("\\[[Steel]]", "\\[[Steel]]"),
    ],
)
def test_links_lead_to_pages_where_their_targets_came_along(tmp_path: Path, written: str, wanted: str) -> None:
    vault = make(
        tmp_path / "vault",
        {
            "Note.md": f"# Note\n\nText.\n\n{written}\n",
            "Cookware/Steel.md": "---\ntitle: Carbon steel\naliases: The metal\n---\nIt rusts.\n",
            "C#.md": "A language.\n",
            "img/pan.png": b"\x89PNG",
            "img/My report.PDF": b"%PDF",
        },
    )
    imported = bring(tmp_path / "field", vault)
    assert pages(tmp_path / "field")["note.md"].body.endswith(f"\nText.\n\n{wanted}\n")
    stays = written == wanted and "://" not in written and not written.startswith((" ", "\\", "`"))
    assert bool(left(imported, "link")) == (stays or "^" in written or written.startswith("![[Steel"))


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ('<img src="img/My pan.png" width=50>', '<img src="my-pan.png" width=50>'),
        ("<IMG alt='a' SRC = 'img/My%20pan.png'/>", "<IMG alt='a' SRC = 'my-pan.png'/>"),
        ("<img src=img/a&amp;b.png>", "<img src=a-b.png>"),
        (
            '<a class="x" href="Cookware/Steel.md#Rust%20&amp;%20care">**x**</a>',
            '<a class="x" href="steel.md#rust--care">**x**</a>',
        ),
        (
            '<video poster="img/a&amp;b.png"\n  src="img/v.mp4"></video>',
            '<video poster="a-b.png"\n  src="v.mp4"></video>',
        ),
        ('<object data="img/v.mp4"></object>', '<object data="v.mp4"></object>'),
        (
            '<source srcset="img/v.mp4 1x, img/gone.png 2.5x">',
            '<source srcset="v.mp4 1x, img/gone.png 2.5x">',
        ),
        ('<img src="img/gone.png">', '<img src="img/gone.png">'),
        ('<img src="https://example.com/img/v.mp4">', '<img src="https://example.com/img/v.mp4">'),
        ('<img data-src="img/v.mp4">', '<img data-src="img/v.mp4">'),
        ('`<img src="img/v.mp4">`', '`<img src="img/v.mp4">`'),
        ('<!-- <img src="img/v.mp4"> -->', '<!-- <img src="img/v.mp4"> -->'),
        ('<a href="#here"></a>', '<a href="#here"></a>'),
    ],
)
def test_references_in_html_are_links_too(tmp_path: Path, written: str, wanted: str) -> None:
    files: dict[str, str | bytes] = {f"img/{name}": name for name in ("My pan.png", "a&b.png", "v.mp4")}
    vault = make(tmp_path / "vault", files | {"Note.md": f"# Note\n\n{written}\n", "Cookware/Steel.md": "It rusts.\n"})
    imported = bring(tmp_path / "field", vault)
    assert pages(tmp_path / "field")["note.md"].body == f"\n# Note\n\n{wanted}\n"
    assert bool(left(imported, "link")) == ("gone" in written)
    unlinked = {place for place, _ in left(imported, "file")}
    assert {f"img/{item.source[4:]}" for item in imported.attachments} == set(files) - unlinked


def test_what_only_another_program_understands_is_told_once_for_each_note(tmp_path: Path) -> None:
    block = "((64a1b2c3-0000-4000-8000-0123456789ab))"
    hugo = '{{< figure src="a.png" >}} {{% x %}}'
    text = f"- {block} x {block} `{block}`\n- {{{{embed {block}}}}}\n{hugo} {{{{y}}}}\n"
    vault = make(tmp_path / "vault", {"a.md": text})
    assert left(bring(tmp_path / "field", vault), "link") == [
        ("a.md", f"3 of Logseq's block references, such as {block}: stays text"),
        ("a.md", '2 of Hugo\'s shortcodes, such as {{< figure src="a.png" >}}: stays text'),
    ]
    graph = make(tmp_path / "graph", {"a.md": text, "logseq/config.edn": ""})
    assert ("a.md", f"2 of Logseq's macros, such as {{{{embed {block}}}}}: stays text") in left(
        bring(tmp_path / "other", graph), "link"
    )
    assert pages(tmp_path / "field")["a.md"].body == "\n" + text


@pytest.mark.parametrize(
    ("keys", "wanted", "told"),
    [
        ("title: [a, b]", {"title": "a, b"}, 0),
        ("title: 1.10", {"title": "1.10"}, 0),
        ("title: Yes", {"title": "Yes"}, 0),
        ("title: {en: x}", {"title": "a", "title-before": {"en": "x"}}, 1),
        ("title: [{en: x}]", {"title": "a", "title-before": [{"en": "x"}]}, 1),
        ("summary: [a, b]\ndescription: c", {"summary": "a, b", "description": "c"}, 0),
        ("summary: 007\ndescription: c", {"summary": "007", "description": "c"}, 0),
        ("summary: {en: x}\ndescription: c", {"summary": "c", "summary-before": {"en": "x"}}, 1),
        ("created: {en: x}", {"created": "2023-11-14T22:13:20Z", "created-before": {"en": "x"}}, 1),
        ("updated: [2024-01-01, 2024-02-02]", {"updated-before": ["2024-01-01", "2024-02-02"]}, 1),
        ("created: [2020-01-01]", {"created": "2020-01-01T00:00:00Z"}, 0),
        ("created: 05/01/2024\ncreated-before: x", {"created-before-before": "05/01/2024"}, 1),
        ("tags: {x: y}", {"tags": ["inline"], "tags-before": {"x": "y"}}, 1),
        ("tags: 2024", {"tags": ["inline"], "tags-before": 2024}, 1),
        ("tags: [a, , {x: y}]", {"tags": ["inline"], "tags-before": ["a", None, {"x": "y"}]}, 1),
        ("tags: [2024, null]", {"tags": ["2024", "inline"]}, 0),
        ("aliases: {x: y}", {"aliases-before": {"x": "y"}}, 1),
        ("source: [a, b]", {"source": ["a", "b"]}, 0),
    ],
)
def test_no_value_is_written_over_untold(tmp_path: Path, keys: str, wanted: dict[str, object], told: int) -> None:
    keys = keys.replace("[a, ,", "[a, ~,")
    imported = bring(tmp_path / "field", make(tmp_path / "vault", {"a.md": f"---\n{keys}\n---\nText. #inline\n"}))
    page = pages(tmp_path / "field")["a.md"]
    assert {key: page.frontmatter.get(key) for key in wanted} == wanted
    assert sum("kept as" in reason for _, reason in left(imported, "frontmatter")) == told
    assert page.problems == []


def test_a_change_before_the_making_is_told(tmp_path: Path) -> None:
    keys = "created: 2024-01-02\nupdated: 2024-01-01"
    imported = bring(tmp_path / "field", make(tmp_path / "vault", {"a.md": f"---\n{keys}\n---\nText.\n"}))
    assert [place for place, _ in left(imported, "date")] == ["a.md"]


def test_of_several_notes_of_one_name_the_nearest_is_meant(tmp_path: Path) -> None:
    vault = make(
        tmp_path / "vault",
        {
            "a/Plan.md": "A.\n",
            "a/Note.md": "[[Plan]] [[b/Plan]] [p](../b/Plan.md)\n",
            "b/Plan.md": "B.\n",
            "b/deep/Plan.md": "C.\n",
            "Far.md": "[[Plan]]\n",
        },
    )
    bring(tmp_path / "field", vault)
    found = pages(tmp_path / "field")
    assert found["note.md"].body == "\n[Plan](plan.md) [b/Plan](b-plan.md) [p](b-plan.md)\n"
    assert found["far.md"].body == "\n[Plan](plan.md)\n"
    assert found["plan.md"].frontmatter["source"] == "vault/a/Plan.md"
    assert found["deep-plan.md"].frontmatter["source"] == "vault/b/deep/Plan.md"


def test_a_note_at_the_root_is_meant_before_one_beside_or_the_note_itself(tmp_path: Path) -> None:
    links = "[[other]] [[Other#A]] [[./other]] [[d/other]] [x](other.md) [x](/other.md)"
    notes = {"other.md": "Root.\n", "d/other.md": f"{links}\n", "d/note.md": f"{links}\n"}
    bring(tmp_path / "field", make(tmp_path / "v", notes))
    wanted = (
        "[other](other.md) [Other > A](other.md#a) [./other](d-other.md) [d/other](d-other.md) [x](d-other.md) "
        "[x](other.md)"
    )
    found = pages(tmp_path / "field")
    assert (found["d-other.md"].body, found["note.md"].body) == (f"\n{wanted}\n", f"\n{wanted}\n")
    (tmp_path / "v" / "other.md").unlink()
    bring(tmp_path / "alone", tmp_path / "v")
    assert pages(tmp_path / "alone")["other.md"].body.startswith("\n[other](other.md) ")


def test_of_notes_that_differ_in_case_the_one_is_meant_that_is_written_so(tmp_path: Path) -> None:
    vault = make(
        tmp_path / "vault",
        {
            "Ann.md": "A.\n",
            "ann.md": "B.\n",
            "x/ANN.md": "C.\n",
            "n.md": "[[Ann]] [[ann]] [x](ann.md) [[ANN]] [[aNN]]\n",
        },
    )
    if len(list(vault.iterdir())) < 4:
        pytest.skip("files here have no case")
    bring(tmp_path / "field", vault)
    found = {page.body.strip(): name for name, page in pages(tmp_path / "field").items()}
    a, b, c = found["A."], found["B."], found["C."]
    assert pages(tmp_path / "field")["n.md"].body == f"\n[Ann]({a}) [ann]({b}) [x]({b}) [ANN]({c}) [aNN]({a})\n"


def test_names_are_legal_and_unique_in_every_script(tmp_path: Path) -> None:
    names = ["Über.md", "über.md", "日本.md", "🙂.md", "🙃.md", "CON.md", "a" * 150 + ".md", "x.MARKDOWN"]
    vault = make(tmp_path / "vault", {name: f"{number}\n" for number, name in enumerate(names)})
    bring(tmp_path / "field", vault)
    found = pages(tmp_path / "field")
    assert len(found) == len(names)
    assert faults(tmp_path / "field") == []
    assert {"uber.md", "uber-2.md", "ri-ben.md", "page.md", "page-2.md", "con-page.md", "x.md"} <= set(found)


def test_a_name_that_the_field_has_is_not_taken(tmp_path: Path) -> None:
    field = make(tmp_path / "field", {"woks.md": "Ours.\n"})
    bring(field, make(tmp_path / "vault", {"Woks.md": "Theirs.\n"}))
    found = pages(field)
    assert found["woks.md"].raw == b"Ours.\n"
    assert found["woks-2.md"].body == "\nTheirs.\n"


def test_tags_are_found_in_text_only(tmp_path: Path) -> None:
    text = (
        "# Heading\n\n#one and #two/three, (#no) #4 #5a; `#code` https://x.org/#frag\n\n```\n#fenced\n```\n"
        "#One again, #ümlaut\n"
    )
    bring(tmp_path / "field", make(tmp_path / "vault", {"a.md": text}))
    page = pages(tmp_path / "field")["a.md"]
    assert page.frontmatter["tags"] == ["one", "two/three", "5a", "ümlaut"]
    assert page.body == "\n" + text


@pytest.mark.parametrize(
    ("keys", "created", "updated"),
    [
        (
            "created: 2024-03-01 10:00\nmodified: 2024-03-02T10:00:00+02:00",
            "2024-03-01T10:00:00Z",
            "2024-03-02T08:00:00Z",
        ),
        ("Date Created: March 1, 2020\nlast-modified: 2020/03/02", "2020-03-01T00:00:00Z", "2020-03-02T00:00:00Z"),
        ("date: 1600000000\nlastmod: 1600000001000", "2020-09-13T12:26:40Z", "2020-09-13T12:26:41Z"),
        ("pubDate: Tue, 10 Nov 2020 09:00:00 GMT", "2020-11-10T09:00:00Z", "2023-11-14T22:13:20Z"),
        ("x: y", "2023-11-14T22:13:20Z", "2023-11-14T22:13:20Z"),
        ("created: '[[2021-01-02]]'", "2021-01-02T00:00:00Z", "2023-11-14T22:13:20Z"),
        ("updated: 2019-01-01", "2019-01-01T00:00:00Z", "2019-01-01T00:00:00Z"),
    ],
)
def test_dates_come_from_the_source(tmp_path: Path, keys: str, created: str, updated: str) -> None:
    imported = bring(tmp_path / "field", make(tmp_path / "vault", {"a.md": f"---\n{keys}\n---\nText.\n"}))
    page = pages(tmp_path / "field")["a.md"]
    assert (page.created, page.updated) == (created, updated)
    assert left(imported, "date") == []


def test_a_date_that_nobody_can_tell_is_told_of(tmp_path: Path) -> None:
    imported = bring(tmp_path / "field", make(tmp_path / "vault", {"a.md": "---\ndate: 05/01/2024\n---\nText.\n"}))
    assert [place for place, _ in left(imported, "date")] == ["a.md"]
    page = pages(tmp_path / "field")["a.md"]
    assert page.frontmatter["date"] == "05/01/2024"
    assert page.created == "2023-11-14T22:13:20Z"


def test_a_site_of_hugo(tmp_path: Path) -> None:
    toml = '+++\ntitle = "Hello"\ndate = 2023-02-03T04:05:06Z\ntags = ["a b", "c"]\n[params]\nx = 1\n+++\n'
    text = "See ![](pic.png).\n"
    site = make(
        tmp_path / "site",
        {
            "posts/_index.md": "---\ntitle: Posts\n---\nAll of them.\n",
            "posts/hello/index.md": toml + text,
            "posts/hello/pic.png": b"\x89PNG",
            "posts/2022-05-06-json.md": '{\n  "title": "In JSON",\n  "x": [1]\n}\n[hello](/posts/hello/)\n',
        },
    )
    bring(tmp_path / "field", site)
    found = pages(tmp_path / "field")
    assert sorted(found) == ["2022-05-06-json.md", "hello.md", "posts.md"]
    hello = found["hello.md"]
    assert (hello.title, hello.created) == ("Hello", "2023-02-03T04:05:06Z")
    assert hello.frontmatter["params"] == {"x": 1}
    assert hello.frontmatter["tags"] == ["a b", "c", "posts", "hello"]
    assert hello.body == "\nSee ![](pic.png).\n"
    assert found["2022-05-06-json.md"].created == "2022-05-06T00:00:00Z"
    assert found["2022-05-06-json.md"].frontmatter["x"] == [1]
    assert "[hello](hello.md)" in found["2022-05-06-json.md"].body
    assert faults(tmp_path / "field") == []


def test_a_graph_of_logseq(tmp_path: Path) -> None:
    graph = make(
        tmp_path / "graph",
        {
            "logseq/config.edn": "{}",
            "pages/main.md": "tags:: a, [[b c]]\nalias:: AA\nkind:: tool\n\n- [[proj/sub]] #[[two words]]\n",
            "pages/proj___sub.md": "- [[AA]] [[2024_01_05]]\n\t- ![p](../assets/p.png)\n",
            "journals/2024_01_05.md": "- a day\n",
            "assets/p.png": b"\x89PNG",
        },
    )
    bring(tmp_path / "field", graph)
    found = pages(tmp_path / "field")
    main, sub, day = found["main.md"], found["proj-sub.md"], found["2024-01-05.md"]
    assert main.frontmatter["tags"] == ["a", "b c", "two words"]
    assert main.frontmatter["aliases"] == ["AA"]
    assert main.frontmatter["kind"] == "tool"
    assert main.body == "\n- [proj/sub](proj-sub.md) #[[two words]]\n"
    assert sub.title == "proj/sub"
    assert sub.body == "\n- [AA](main.md) [2024_01_05](2024-01-05.md)\n\t- ![p](p.png)\n"
    assert (day.title, day.created) == ("2024-01-05", "2024-01-05T00:00:00Z")
    assert day.frontmatter["tags"] == ["journals"]
    assert faults(tmp_path / "field") == []


def test_what_cannot_be_a_page_is_told_and_the_rest_comes_along(tmp_path: Path) -> None:
    vault = make(
        tmp_path / "vault",
        {
            "latin.md": b"caf\xe9\n",
            "utf16.md": "Zwölf\n".encode("utf-16"),
            "bom.md": b"\xef\xbb\xbfText\r\n",
            "empty.md": " \n",
            "broken.md": "---\ntitle: [a\nsummary: fine\n---\nText.\n",
            "unclosed.md": "---\ntitle: Open\n\nText.\n",
            "node_modules/x.md": "x",
            ".hidden.md": "x",
            "unlinked.png": b"x",
        },
    )
    imported = bring(tmp_path / "field", vault)
    found = pages(tmp_path / "field")
    assert sorted(found) == ["bom.md", "broken.md", "unclosed.md", "utf16.md"]
    assert found["utf16.md"].body == "\nZwölf\n"
    assert found["bom.md"].raw.startswith(b"---\r\n")
    assert found["bom.md"].body == "\r\nText\r\n"
    assert found["broken.md"].body == "\n---\ntitle: [a\nsummary: fine\n---\nText.\n"  # byte for byte
    assert found["broken.md"].summary == "fine"
    assert found["unclosed.md"].body == "\n---\ntitle: Open\n\nText.\n"
    assert found["unclosed.md"].title == "Open"
    assert [place for place, _ in left(imported, "note")] == ["latin.md"]
    assert [place for place, _ in left(imported, "empty")] == ["empty.md"]
    assert [place for place, _ in left(imported, "folder")] == ["node_modules"]
    assert [place for place, _ in left(imported, "file")] == [".hidden.md", "unlinked.png"]
    assert [place for place, _ in left(imported, "frontmatter")] == ["broken.md:3", "unclosed.md:1"]
    assert imported.failed


def test_no_link_is_followed_out_of_the_source(tmp_path: Path) -> None:
    make(tmp_path, {"secret.md": "Secret.\n", "outside/deep.md": "Secret.\n", "secret.png": b"Secret."})
    vault = make(tmp_path / "vault", {"a.md": "![s](pic.png) ![t](../secret.png) [[secret]] [d](../secret.md)\n"})
    (vault / "secret.md").symlink_to(tmp_path / "secret.md")
    (vault / "pic.png").symlink_to(tmp_path / "secret.png")
    (vault / "outside").symlink_to(tmp_path / "outside")
    (vault / "loop").symlink_to(vault)
    imported = bring(tmp_path / "field", vault)
    assert sorted(path.name for path in (tmp_path / "field").iterdir()) == ["a.md"]
    assert [place for place, _ in left(imported, "file")] == ["loop", "outside", "pic.png", "secret.md"]
    assert b"Secret" not in (tmp_path / "field" / "a.md").read_bytes()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    vault = make(tmp_path / "vault", {"a.md": "Text.\n"})
    os.mkfifo(vault / "pipe.md")
    imported = bring(tmp_path / "field", vault)
    assert left(imported, "file") == [("pipe.md", "is no regular file")]


def test_files_are_copied_once_and_never_over_another(tmp_path: Path) -> None:
    field = make(tmp_path / "field", {"pan.png": b"ours"})
    vault = make(
        tmp_path / "vault",
        {
            "a.md": "![](x/pan.png) ![](y/pan.png) ![](z/Same.png) ![](db.sqlite3) ![](odd)\n",
            "x/pan.png": b"one",
            "y/pan.png": b"two",
            "z/Same.png": b"one",
            "db.sqlite3": b"SQLite",
            "odd": b"odd",
        },
    )
    imported = bring(field, vault)
    assert (field / "pan.png").read_bytes() == b"ours"
    body = pages(field)["a.md"].body
    copies = {item.filename: (field / item.filename).read_bytes() for item in imported.attachments}
    assert sorted(copies.values()) == [b"odd", b"one", b"one", b"two"]
    assert all(f"]({name})" in body for name in copies)
    assert "](db.sqlite3)" in body
    assert ("db.sqlite3", "would be taken for an index of the field") in left(imported, "file")
    assert bring(field, vault).attachments == []


def test_a_field_inside_the_source_is_not_imported(tmp_path: Path) -> None:
    vault = make(tmp_path / "vault", {"a.md": "A.\n", "field/own.md": "Own.\n"})
    imported = bring(vault / "field", vault)
    assert sorted(pages(vault / "field")) == ["a.md", "own.md"]
    assert left(imported, "folder") == [("field", "is the field itself")]


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    vault = make(tmp_path / "vault", {"a.md": "![](p.png)\n", "p.png": b"x"})
    imported = bring(tmp_path / "field", vault, dry_run=True)
    assert [page.filename for page in imported.added] == ["a.md"]
    assert [page.filename for page in imported.attachments] == ["p.png"]
    assert not imported.written
    assert list((tmp_path / "field").iterdir()) == []


def test_one_file_is_the_same_as_in_its_folder(tmp_path: Path) -> None:
    vault = make(tmp_path / "vault", {"a.md": "A.\n", "b.md": "B.\n"})
    bring(tmp_path / "field", vault / "a.md")
    imported = bring(tmp_path / "field", vault)
    assert imported.same == 1
    assert [page.filename for page in imported.added] == ["b.md"]


def test_a_uuid_that_a_note_has_stays_its_own(tmp_path: Path) -> None:
    own = "11111111-1111-4111-8111-111111111111"
    note = f"---\nuuid: {own}\n---\n"
    vault = make(tmp_path / "vault", {"a.md": note + "A.\n", "b.md": note + "B.\n", "c.md": "---\nuuid: 7\n---\nC.\n"})
    imported = bring(tmp_path / "field", vault)
    found = pages(tmp_path / "field")
    assert found["a.md"].uuid == own
    assert len({page.uuid for page in found.values()}) == 3
    assert [place for place, _ in left(imported, "frontmatter")] == ["b.md", "c.md"]
    assert faults(tmp_path / "field") == []


def test_progress_is_told(tmp_path: Path) -> None:
    from memoryfield import Field

    vault = make(tmp_path / "vault", {f"{number}.md": "Text.\n" for number in range(205)})
    (tmp_path / "field").mkdir()
    told: list[tuple[int, int]] = []
    with Field.open(tmp_path / "field") as field:
        import_source(field, vault, progress=lambda done, of: told.append((done, of)))
    assert told == [(100, 205), (200, 205)]
