"""What other programs for memory keep: Claude Code, basic-memory, the MCP memory server, JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memoryfield.errors import FieldNotFoundError, UsageError
from memoryfield.frontmatter.rewriting import pair
from memoryfield.importing.detect import kind_of, label_of
from memoryfield.page import Page

from .support import bring, faults, left, make, make_lines, pages

# Claude Code


def test_a_memory_folder_of_claude_code(tmp_path: Path) -> None:
    topic = (
        "---\nname: Use tabs\ndescription: The user wants tabs.\nmetadata:\n  type: feedback\n---\n"
        "Tabs, not spaces; see [[deploy]].\n"
    )
    source = make(
        tmp_path / "projects" / "-home-me-shop" / "memory",
        {
            "MEMORY.md": "- [Tabs](feedback_tabs.md): wants tabs\n",
            "feedback_tabs.md": topic,
            "deploy.md": "# Deploying\n\nOn Fridays never.\n",
        },
    )
    imported = bring(tmp_path / "field", source)
    assert (imported.kind, imported.label) == ("claude", "-home-me-shop/memory")
    found = pages(tmp_path / "field")
    assert sorted(found) == ["deploy.md", "feedback-tabs.md", "home-me-shop-memory.md"]
    tabs = found["feedback-tabs.md"]
    assert (tabs.title, tabs.summary, tabs.frontmatter["tags"]) == ("Use tabs", "The user wants tabs.", ["feedback"])
    assert tabs.frontmatter["metadata"] == {"type": "feedback"}
    assert tabs.body == "Tabs, not spaces; see [deploy](deploy.md).\n"
    assert "[Tabs](feedback-tabs.md)" in found["home-me-shop-memory.md"].body
    assert faults(tmp_path / "field") == []


def test_claude_files_of_a_project_and_what_they_import(tmp_path: Path) -> None:
    source = make(
        tmp_path / "shop",
        {
            "CLAUDE.md": "# Shop\n\nSee @docs/style.md and @../outside.md, @~/.claude/me.md; `@docs/no.md`, me@x.md\n",
            "web/CLAUDE.md": "Run the tests.\n",
            ".claude/rules/api.md": "Version all.\n",
            ".claude/settings.json": "{}",
            "docs/style.md": "Tabs. @more.md\n",
            "docs/more.md": "More.\n",
            "docs/no.md": "No.\n",
            "README.md": "# Readme\n",
        },
    )
    make(tmp_path, {"outside.md": "Secret.\n"})
    imported = bring(tmp_path / "field", source, kind="claude")
    found = pages(tmp_path / "field")
    assert sorted(found) == ["api.md", "more.md", "shop-claude.md", "style.md", "web-claude.md"]
    body = found["shop-claude.md"].body
    assert "See [@docs/style.md](style.md) and @../outside.md, @~/.claude/me.md; `@docs/no.md`, me@x.md\n" in body
    assert found["style.md"].body == "\nTabs. [@more.md](more.md)\n"
    assert [place for place, _ in left(imported, "link")] == ["CLAUDE.md", "CLAUDE.md"]
    assert [place for place, _ in left(imported, "file")] == [".claude/settings.json", "README.md", "docs/no.md"]
    assert not any(b"Secret" in page.raw for page in found.values())
    assert bring(tmp_path / "field", source, kind="claude").same == 5


def test_files_that_are_no_markdown_are_imported_by_a_claude_file_too(tmp_path: Path) -> None:
    text = "@docs/x.txt, @README and @package.json; @somebody, @types/node, @./gone.txt, @docs/gone.txt. Mail @me.\n"
    source = make(
        tmp_path / "shop",
        {"CLAUDE.md": text, "docs/x.txt": "X.\n", "README": "R.\n", "package.json": "{}", "me.txt": ""},
    )
    imported = bring(tmp_path / "field", source, kind="claude")
    body = pages(tmp_path / "field")["shop-claude.md"].body
    assert body == (
        "\n[@docs/x.txt](x.txt), [@README](readme) and [@package.json](package.json); "
        "@somebody, @types/node, @./gone.txt, @docs/gone.txt. Mail @me.\n"
    )
    assert [reason.split()[0] for _, reason in left(imported, "link")] == ["@docs/gone.txt", "@./gone.txt"]
    assert [place for place, _ in left(imported, "file")] == ["me.txt"]


def test_two_claude_files_of_two_projects(tmp_path: Path) -> None:
    for project in ("one", "two"):
        make(tmp_path / project, {"CLAUDE.md": f"Of {project}.\n"})
        imported = bring(tmp_path / "field", tmp_path / project / "CLAUDE.md")
        assert (imported.kind, len(imported.added)) == ("claude", 1)
    assert sorted(pages(tmp_path / "field")) == ["one-claude.md", "two-claude.md"]


# basic-memory


def test_notes_of_basic_memory(tmp_path: Path) -> None:
    coffee = (
        "---\ntitle: Coffee Methods\ntype: note\npermalink: brewing/coffee-methods\ntags:\n- coffee\n---\n\n"
        "# Coffee Methods\n\n- [method] Pour over is clear #brewing (from the book)\n- relates_to [[Tea Methods]]\n"
        "- see [tea](memory://brewing/tea)\n- part_of [[Unwritten]]\n"
    )
    tea = "---\ntitle: Tea Methods\ntype: note\npermalink: brewing/tea\n---\n- relates_to [[brewing/coffee-methods]]\n"
    source = make(tmp_path / "bm", {"brewing/Coffee Methods.md": coffee, "brewing/Tea.md": tea})
    imported = bring(tmp_path / "field", source)
    assert imported.kind == "basic-memory"
    found = pages(tmp_path / "field")
    page = found["coffee-methods.md"]
    assert page.frontmatter["aliases"] == ["brewing/coffee-methods"]
    assert page.frontmatter["permalink"] == "brewing/coffee-methods"
    assert page.frontmatter["type"] == "note"
    assert page.frontmatter["tags"] == ["coffee", "brewing"]
    assert "- [method] Pour over is clear #brewing (from the book)\n" in page.body
    assert "- relates_to [Tea Methods](tea.md)\n- see [tea](tea.md)\n- part_of [[Unwritten]]\n" in page.body
    assert found["tea.md"].body == "- relates_to [brewing/coffee-methods](coffee-methods.md)\n"
    assert len(left(imported, "link")) == 1
    assert faults(tmp_path / "field") == []


# the MCP memory server


def entity(name: str, kind: str, *observations: Any, **more: Any) -> dict[str, Any]:
    return {"type": "entity", "name": name, "entityType": kind, "observations": list(observations), **more}


def relation(start: str, end: str, kind: str) -> dict[str, Any]:
    return {"type": "relation", "from": start, "to": end, "relationType": kind}


def test_a_file_of_the_mcp_memory_server(tmp_path: Path) -> None:
    source = make_lines(
        tmp_path / "mem" / "memory.jsonl",
        entity("Ann Lee", "person", "Likes tea", "Two\nlines", {"content": "As an object", "at": 1}),
        entity("C#", "language"),
        entity("Ann Lee", "person", "Likes tea", "Was told again", createdAt="2024-02-03T04:05:06Z"),
        relation("Ann Lee", "C#", "writes"),
        relation("Ann Lee", "C#", "writes"),
        relation("Ann Lee", "Nobody", "knows"),
        relation("Ghost", "Ann Lee", "haunts"),
        relation("Ghost", "Ghoul", "haunts"),
        "not json",
        [1],
        {"type": "entity", "name": " "},
    )
    imported = bring(tmp_path / "field", source)
    assert imported.kind == "mcp-memory"
    found = pages(tmp_path / "field")
    assert sorted(found) == ["ann-lee.md", "c.md"]
    page = found["ann-lee.md"]
    assert page.body == (
        "\n# Ann Lee\n\n- Likes tea\n- Two\n  lines\n- As an object (at: 1)\n- Was told again\n\n"
        "## Relations\n\n- writes [C#](c.md)\n- knows Nobody\n- Ghost haunts Ann Lee\n"
    )
    assert page.frontmatter["type"] == "person"
    assert page.frontmatter["tags"] == ["person"]
    assert page.frontmatter["source"] == "mem/memory.jsonl#Ann Lee"
    assert [place for place, _ in left(imported, "relation")] == ["memory.jsonl:6", "memory.jsonl:7"]
    assert [place.rpartition(":")[2] for place, _ in left(imported, "line")] == ["10", "11", "8", "9"]
    assert faults(tmp_path / "field") == []


def test_nothing_of_an_entity_is_lost(tmp_path: Path) -> None:
    source = make_lines(
        tmp_path / "memory.jsonl",
        entity("Ann", "person", 5, True, None, ["a", {"b": 1}], {"b": 2}, {"text": "T", "by": {"x": 1}}, color="red"),
        entity("Ann", "writer", color="blue", size=3, title=["x", {}], created="some day", embedding=[0.5] * 20),
        {"type": "entity", "name": "Bob", "entityType": ["a", 1], "observations": "One"},
        {**relation("Ann", "Bob", "knows"), "since": 2020, "how": {"deep": ["x"]}},
        {"type": "relation", "from": "Ann", "to": ["Bob"], "relationType": {"x": 1}},
        relation("Ann", "C[]", "writes"),
        entity("C[]", "language"),
    )
    imported = bring(tmp_path / "field", source)
    page = pages(tmp_path / "field")["ann.md"]
    assert page.body == (
        '\n# Ann\n\n- 5\n- true\n- ["a", {"b": 1}]\n- {"b": 2}\n- T (by: {"x": 1})\n\n## Relations\n\n'
        '- knows [Bob](bob.md) (since: 2020, how: {"deep": ["x"]})\n- {"x": 1} ["Bob"]\n- writes C[]\n'
    )
    assert page.frontmatter["tags"] == ["person", "writer"]
    wanted = {"type": "person", "color": "red", "color-before": "blue", "size": 3, "title-before": ["x", {}]}
    assert wanted | {"created-before": "some day"} == {
        key: page.frontmatter[key] for key in (*wanted, "created-before")
    }
    bob = pages(tmp_path / "field")["bob.md"]
    assert (bob.frontmatter["entityType"], bob.body) == (["a", 1], "\n# Bob\n\n- One\n")
    told = {kind: [place for place, _ in left(imported, kind)] for kind in ("frontmatter", "key", "relation")}
    assert told == {
        "frontmatter": ["memory.jsonl:2"] * 3,
        "key": ["memory.jsonl:2"],
        "relation": ["memory.jsonl:5", "memory.jsonl:6"],
    }
    assert bring(tmp_path / "field", source).same == 3


@pytest.mark.parametrize("name", ["memory.jsonl", "m[1]|x.jsonl"])
def test_entities_whose_names_differ_in_case_are_linked_each_to_its_own_page(tmp_path: Path, name: str) -> None:
    lines = [entity("Go", "game"), entity("GO", "code"), entity("go.md", "file"), entity("x", "y")]
    relations = [relation("x", end, "is") for end in ("Go", "GO", "go.md")]
    bring(tmp_path / "field", make_lines(tmp_path / name, *lines, *relations), kind="mcp-memory")
    found = {page.title: page for page in pages(tmp_path / "field").values()}
    links = "".join(f"- is [{end}]({found[end].filename})\n" for end in ("Go", "GO", "go.md"))
    assert found["x"].body == f"\n# x\n\n## Relations\n\n{links}"
    mark = found["x"].frontmatter["imported"]
    make_lines(tmp_path / name, *reversed(lines), *relations)
    assert bring(tmp_path / "field", tmp_path / name, kind="mcp-memory").same == 4
    assert {page.title: page.frontmatter["imported"] for page in pages(tmp_path / "field").values()}["x"] == mark


def test_an_entity_that_learned_more_updates_its_page(tmp_path: Path) -> None:
    source = tmp_path / "memory.jsonl"
    make_lines(source, entity("Ann", "person", "One"), entity("Bob", "person", "One"))
    bring(tmp_path / "field", source)
    make_lines(source, entity("Bob", "person", "One"), entity("Ann", "person", "One", "Two"))
    again = bring(tmp_path / "field", source)
    assert (again.same, [page.filename for page in again.updated]) == (1, ["ann.md"])


def test_entities_that_differ_in_case_keep_their_relations(tmp_path: Path) -> None:
    source = make_lines(
        tmp_path / "memory.jsonl",
        entity("Go", "language"),
        entity("go", "game"),
        entity("Go.md", "file"),
        relation("go", "Go.md", "is not"),
        relation("Go", "go", "is not"),
        relation("go", "Go", "is not"),
    )
    bring(tmp_path / "field", source)
    found = {page.frontmatter["type"]: page for page in pages(tmp_path / "field").values()}
    assert f"- is not [go]({found['game'].filename})" in found["language"].body
    assert f"- is not [Go.md]({found['file'].filename})\n- is not [Go]({found['language'].filename})\n" in (
        found["game"].body
    )


def test_the_answer_of_read_graph(tmp_path: Path) -> None:
    graph: dict[str, Any] = {
        "entities": [{"name": "Ann", "entityType": "person", "observations": ["One"]}],
        "relations": [],
    }
    make(tmp_path, {"graph.json": json.dumps(graph, indent=2)})
    imported = bring(tmp_path / "field", tmp_path / "graph.json")
    assert (imported.kind, [page.filename for page in imported.added]) == ("mcp-memory", ["ann.md"])
    assert imported.left == []
    graph["relations"], graph["total"] = "none", 1
    graph["entities"].append(5)
    make(tmp_path, {"graph.json": json.dumps(graph)})
    again = bring(tmp_path / "field", tmp_path / "graph.json")
    assert [(kind, place) for kind, place, _ in again.left] == [
        ("key", "graph.json:1"),
        ("key", "graph.json:1"),
        ("line", "graph.json:1:entities:2"),
    ]


# JSON lines

MEM0 = {
    "id": "3c90c3cc-0d44-4b50-8888-8dd25736052a",
    "memory": "User likes tea",
    "user_id": "u1",
    "agent_id": None,
    "hash": "0f1e",
    "metadata": {"room": "kitchen"},
    "categories": ["drinks", "likes"],
    "created_at": "2025-11-06T21:31:56.123-08:00",
    "updated_at": None,
}
LETTA = {
    "id": "passage-3c90c3cc-0d44-4b50-8888-8dd257360521",
    "text": "The user's birthday is in May.\n",
    "embedding": [0.5] * 32,
    "embedding_config": {"embedding_dim": 32},
    "tags": ["people"],
    "created_at": "2025-11-07T05:31:56Z",
    "updated_at": "2025-11-08T05:31:56Z",
    "archive_id": "archive-1",
}


def test_what_mem0_answers(tmp_path: Path) -> None:
    make(tmp_path, {"mem0.json": json.dumps({"count": 1, "results": [MEM0]})})
    imported = bring(tmp_path / "field", tmp_path / "mem0.json")
    assert (imported.kind, imported.left) == ("jsonl", [])
    page = pages(tmp_path / "field")["user-likes-tea.md"]
    assert (page.title, page.body) == ("User likes tea", "\nUser likes tea\n")
    assert (page.created, page.updated) == ("2025-11-07T05:31:56Z", "2025-11-07T05:31:56Z")
    assert page.frontmatter["tags"] == ["drinks", "likes"]
    kept = {key: page.frontmatter[key] for key in ("id", "user_id", "hash", "metadata")}
    assert kept == {key: MEM0[key] for key in kept}
    assert "agent_id" not in page.frontmatter
    assert faults(tmp_path / "field") == []


def test_passages_and_blocks_of_letta(tmp_path: Path) -> None:
    block = {"label": "human", "value": "Name: Chad", "description": "About the user", "limit": 5000}
    imported = bring(tmp_path / "field", make_lines(tmp_path / "letta.jsonl", LETTA, block))
    found = pages(tmp_path / "field")
    assert sorted(found) == ["human.md", "the-user-s-birthday-is-in-may.md"]
    passage, human = found["the-user-s-birthday-is-in-may.md"], found["human.md"]
    assert (passage.created, passage.updated) == ("2025-11-07T05:31:56Z", "2025-11-08T05:31:56Z")
    assert passage.frontmatter["tags"] == ["people"]
    assert passage.frontmatter["archive_id"] == "archive-1"
    assert (human.title, human.summary, human.body) == ("human", "About the user", "\nName: Chad\n")
    assert [reason.split(":")[0] for _, reason in left(imported, "key")] == ["embedding", "embedding_config"]
    assert faults(tmp_path / "field") == []


def test_a_changed_memory_is_found_by_its_id_whatever_its_line(tmp_path: Path) -> None:
    source = make_lines(tmp_path / "m.jsonl", MEM0, {"text": "Another."})
    bring(tmp_path / "field", source)
    make_lines(source, {"text": "First."}, {"text": "Another."}, {**MEM0, "memory": "User likes coffee"})
    again = bring(tmp_path / "field", source)
    assert [page.filename for page in again.added] == ["first.md"]
    assert [page.filename for page in again.updated] == ["user-likes-tea.md"]
    assert again.same == 1
    make_lines(tmp_path / "elsewhere" / "copy.jsonl", {**MEM0, "memory": "User likes coffee"})
    assert bring(tmp_path / "field", tmp_path / "elsewhere" / "copy.jsonl").added == []  # the id is unique in itself


def test_keys_of_every_kind(tmp_path: Path) -> None:
    line = {
        "content": "Body.\n",
        "name": "A name",
        "summary": "In short",
        "url": "https://example.com/x",
        "tags": "a, b",
        "timestamp": 1700000000,
        "nested": {"deep": [1, None, {"x": True}]},
        "yes": "no",
        "a: b": "colon",
        "odd": "- : # \u2028 'x'",
    }
    bring(tmp_path / "field", make_lines(tmp_path / "x.jsonl", line))
    page = pages(tmp_path / "field")["a-name.md"]
    assert page.problems == []
    assert (page.title, page.summary, page.created) == ("A name", "In short", "2023-11-14T22:13:20Z")
    assert page.frontmatter["source"] == "https://example.com/x"
    assert page.frontmatter["tags"] == ["a", "b"]
    for key in ("nested", "yes", "a: b", "odd", "timestamp"):
        assert page.frontmatter[key] == line[key]


def only(field: Path) -> Page:
    """The one page of a field."""
    (page,) = pages(field).values()
    return page


def test_a_line_with_frontmatter_keeps_its_other_keys(tmp_path: Path) -> None:
    own = {"uuid": "11111111-1111-4111-8111-111111111111", "title": "Own", "tags": ["a"], "n": 1}
    line = {
        "text": "Text.\n",
        "frontmatter": own,
        "title": "Other",
        "name": "Third",
        "tags": ["a", "b"],
        "categories": ["c"],
        "source": "https://example.com",
        "created": "2024-01-02",
        "updated": "some day",
        "score": 0.5,
        "n": 2,
        "filename": "Über uns.md",
        "uuid": "22222222-2222-4222-8222-222222222222",
    }
    imported = bring(tmp_path / "field", make_lines(tmp_path / "x.jsonl", line))
    page = only(tmp_path / "field")
    assert page.body == "Text.\n"
    told = ("title", "n", "uuid", "updated")
    assert {key: value for key, value in page.frontmatter.items() if key not in ("imported", "updated")} == {
        **own,
        "tags": ["a", "b"],
        "categories": ["c"],
        "name": "Third",
        "source": "https://example.com",
        "created": "2024-01-02T00:00:00Z",
        "score": 0.5,
        "filename": "Über uns.md",
        **{f"{key}-before": line[key] for key in told},
    }
    assert sorted(reason.partition(":")[0] for _, reason in left(imported, "frontmatter")) == sorted(told)
    assert bring(tmp_path / "field", tmp_path / "x.jsonl").same == 1


def test_a_key_that_is_there_twice_is_kept_twice(tmp_path: Path) -> None:
    bring(tmp_path / "field", make_lines(tmp_path / "x.jsonl", '{"text": "One.", "a": 1, "text": "Two.", "a": 1}'))
    page = only(tmp_path / "field")
    assert (page.body, page.frontmatter["text-before"], page.frontmatter["a"]) == ("\nTwo.\n", "One.", 1)
    assert "a-before" not in page.frontmatter


def test_frontmatter_that_is_no_object_is_a_key_like_others(tmp_path: Path) -> None:
    bring(tmp_path / "field", make_lines(tmp_path / "x.jsonl", {"text": "Text.", "frontmatter": ["x"]}))
    assert only(tmp_path / "field").frontmatter["frontmatter"] == ["x"]


def test_what_a_line_says_beside_the_frontmatter_of_its_text_is_kept(tmp_path: Path) -> None:
    line = {"text": "---\ntitle: Own\nx: 1\n---\nBody.\n", "title": "Other", "x": 2, "summary": "Short"}
    imported = bring(tmp_path / "field", make_lines(tmp_path / "x.jsonl", line))
    page = only(tmp_path / "field")
    assert (page.title, page.summary, page.frontmatter["x"]) == ("Own", "Short", 1)
    assert (page.frontmatter["title-before"], page.frontmatter["x-before"]) == ("Other", 2)
    assert sum("kept as" in reason for _, reason in left(imported, "frontmatter")) == 2


@pytest.mark.parametrize(
    ("line", "wanted", "told"),
    [
        ({"title": ["a", "b"]}, {"title": "a, b"}, 0),
        ({"title": True}, {"title": "true"}, 0),
        ({"title": [{"x": 1}]}, {"title": "Text.", "title-before": [{"x": 1}]}, 1),
        ({"title": {"x": 1}, "name": "N"}, {"title": "N", "title-before": {"x": 1}}, 1),
        ({"summary": ["a", 1]}, {"summary": "a, 1"}, 0),
        ({"summary": {"x": 1}, "description": "D"}, {"summary": "D", "summary-before": {"x": 1}}, 1),
        ({"source": ["https://a.example", "b"]}, {"source": ["https://a.example", "b"]}, 0),
        ({"source": {"file": "x"}, "url": "https://a.example"}, {"source": {"file": "x"}}, 0),
        ({"id": ["x", 1]}, {"source": "{label}#x, 1", "id": ["x", 1]}, 0),
        ({"filename": ["x"]}, {"filename": ["x"]}, 0),
        ({"tags": ["a", {"b": 1}]}, {"tags-before": ["a", {"b": 1}]}, 1),
        ({"tags": {"a": 1}, "labels": ["b"]}, {"tags": ["b"], "tags-before": {"a": 1}}, 1),
        ({"aliases": {"a": 1}}, {"aliases-before": {"a": 1}}, 1),
        ({"created": "some day"}, {"created-before": "some day"}, 1),
        ({"created": ["2024-01-01", "2024-01-02"]}, {"created-before": ["2024-01-01", "2024-01-02"]}, 1),
        ({"created": "2024-01-01", "created_at": "2024-02-02"}, {"created_at": "2024-02-02"}, 0),
    ],
)
def test_nothing_of_a_line_is_lost(tmp_path: Path, line: dict[str, Any], wanted: dict[str, Any], told: int) -> None:
    imported = bring(tmp_path / "field", make_lines(tmp_path / "x.jsonl", {"text": "Text.", **line}))
    page = only(tmp_path / "field")
    label = imported.label
    wanted = {key: value.format(label=label) if isinstance(value, str) else value for key, value in wanted.items()}
    assert {key: page.frontmatter.get(key) for key in wanted} == wanted
    assert len(left(imported, "frontmatter")) == told
    assert "['" not in page.text
    assert page.problems == []


def test_lines_that_are_none(tmp_path: Path) -> None:
    lines = ["{", [1], {"text": 5}, {"no": "text"}, {"text": " "}, {"text": "Fine."}, {"text": "Fine."}, "\ud7ff"]
    imported = bring(tmp_path / "field", make_lines(tmp_path / "x.jsonl", *lines))
    assert [page.filename for page in imported.added] == ["fine.md"]
    assert [place.rpartition(":")[2] for place, _ in left(imported, "line")] == ["1", "2", "3", "4", "8"]
    assert [place for place, _ in left(imported, "empty")] == ["x.jsonl:5"]
    assert [place for place, _ in left(imported, "duplicate")] == ["x.jsonl:7"]


LINES = '{"text": "One."}\r\n{"text": "Zwölf."}\r\n'


@pytest.mark.parametrize(
    ("raw", "added", "told"),
    [
        (LINES.encode("utf-8-sig"), 2, []),
        (LINES.encode("utf-16"), 2, []),
        (LINES.encode("utf-16-be"), 2, []),
        (LINES.encode("utf-32"), 2, []),
        (LINES.encode("utf-16") + b"x", 0, ["x.jsonl"]),
        (LINES.encode("latin-1"), 1, ["x.jsonl:2"]),
        (b"\n \n", 0, []),
        (b"[]", 0, []),
        (b"5", 0, ["x.jsonl:1"]),
        (b'[1]\n2\n"x"\nnull', 0, ["x.jsonl:1", "x.jsonl:2", "x.jsonl:3", "x.jsonl:4"]),
        (b"[" * 100_000, 0, ["x.jsonl:1"]),
        (b'{"text": "x", "n": ' + b"9" * 5000 + b"}", 0, ["x.jsonl:1"]),
        (b'{"text": "One."}\n{"text": "Tw', 1, ["x.jsonl:2"]),
        (b"\0" * 1000, 0, ["x.jsonl:1"]),
    ],
)
def test_lines_of_every_encoding_and_of_none(tmp_path: Path, raw: bytes, added: int, told: list[str]) -> None:
    imported = bring(tmp_path / "field", make(tmp_path, {"x.jsonl": raw}) / "x.jsonl")
    assert (len(imported.added), [item.place for item in imported.failed]) == (added, told)


def test_two_memories_of_one_id_both_come_along(tmp_path: Path) -> None:
    source = make_lines(tmp_path / "x.jsonl", {"id": 7, "text": "One."}, {"id": 7, "text": "Two."})
    assert len(bring(tmp_path / "field", source).added) == 2
    assert bring(tmp_path / "field", source).same == 2


def test_text_with_its_own_frontmatter(tmp_path: Path) -> None:
    text = "---\ntitle: Own\nx: 1 # kept\n---\nBody.\n"
    bring(tmp_path / "field", make_lines(tmp_path / "x.jsonl", {"id": "1", "text": text}))
    bring(tmp_path / "field", make_lines(tmp_path / "y.jsonl", {"text": text, "page": "3", "n": 1, "title": "Other"}))
    page = pages(tmp_path / "field")["own.md"]
    assert (page.title, page.frontmatter["x"], page.body) == ("Own", 1, "Body.\n")
    assert "x: 1 # kept\n" in page.text
    other = pages(tmp_path / "field")["own-2.md"]
    assert (other.frontmatter["page"], other.frontmatter["n"], other.frontmatter["x"]) == ("3", 1, 1)


def test_halves_of_characters(tmp_path: Path) -> None:
    lines = (
        r'{"text": "A \ud83d\ude42 b \ud800 c \\ud800", "title": "T \uDC00", "tags": ["\ud9ff"], "k\udfff": "\udfff"}',
        r'{"type": "entity", "name": "\ud800x", "entityType": "\ud800", "observations": ["\ud800"]}',
    )
    first = bring(tmp_path / "field", make_lines(tmp_path / "x.jsonl", lines[0]))
    page = pages(tmp_path / "field")["t.md"]
    assert page.body == "\nA \U0001f642 b \ufffd c \\ud800\n"
    assert (page.title, page.frontmatter["tags"]) == ("T \ufffd", ["\ufffd"])
    assert left(first, "text") == [("x.jsonl:1", "halves of characters, which became \ufffd: 5")]
    raw = make(tmp_path, {"z.jsonl": b'{"text": "\\ud83d\\ude42"}\n{"text": "\xed\xa0\x80 z"}\n'}) / "z.jsonl"
    assert [place for place, _ in left(bring(tmp_path / "other", raw), "text")] == ["z.jsonl:2"]
    assert "\n\ufffd z\n" in [page.body for page in pages(tmp_path / "other").values()]
    imported = bring(tmp_path / "field", make_lines(tmp_path / "y.jsonl", lines[1]), kind="mcp-memory")
    assert [page.filename for page in imported.added] == ["x.md"]


# names

ODD_NAMES = (
    *("x" * 300, "word " * 100, "日本語" * 120, "Привет мир", "عربى", "𝕏", "🙂", "e\u0301", "é"),
    *("!!!", "...", "#", "..", "-", "---", "%2e", "a|b", "a/b", "[[x]]", "`x`", "title: x", "- x", "{x", "'x", "@x"),
    *(
        "con",
        "CON",
        "nul",
        "NUL.",
        "aux.md",
        "com1",
        "COM\u00b9",
        "CON.txt",
        "index",
        "README",
        " lead",
        "a\u2028b",
        "a\tb",
    ),
)


def of_lines(key: str) -> Callable[[Path], Path]:
    return lambda folder: make_lines(folder / "x.jsonl", *({"text": f"T {n}", key: n, "id": n} for n in ODD_NAMES))


def of_entities(folder: Path) -> Path:
    entities = (entity(name, name, name) for name in ODD_NAMES)
    return make_lines(folder / "memory.jsonl", *entities, *(relation("con", name, name) for name in ODD_NAMES))


def of_notes(key: str) -> Callable[[Path], Path]:
    texts = {f"{at}.md": f"---\n{pair(key, name)}---\nText {at}.\n" for at, name in enumerate(ODD_NAMES)}
    return lambda folder: make(folder / "v", texts)


def of_files(folder: Path) -> Path:
    names = [name for name in ODD_NAMES if "/" not in name and len(name.encode()) < 250 and name[:1] != "."]
    return make(folder / "v", {f"{name}.md": f"Text of {name}.\n" for name in names if os.name != "nt"})


@pytest.mark.parametrize(
    ("kind", "source_in"),
    [
        ("jsonl", of_lines("title")),
        ("jsonl", of_lines("filename")),
        ("jsonl", of_lines("source")),
        ("mcp-memory", of_entities),
        ("markdown", of_notes("title")),
        ("markdown", of_files),
        ("claude", of_notes("name")),
        ("basic-memory", of_notes("permalink")),
    ],
)
def test_every_name_gives_a_sound_page(tmp_path: Path, kind: str, source_in: Callable[[Path], Path]) -> None:
    source = source_in(tmp_path)
    if kind == "claude":
        make(source, {"MEMORY.md": "Text.\n"})
    imported = bring(tmp_path / "field", source, kind=kind)
    count = len(imported.added)
    assert count >= len(ODD_NAMES) - 6
    assert not imported.failed
    assert [fault for fault in faults(tmp_path / "field") if "S-6" not in fault] == []
    assert all(len(name) < 120 for name in pages(tmp_path / "field"))
    assert bring(tmp_path / "field", source, kind=kind).same == count


def test_an_entity_is_linked_whatever_its_name(tmp_path: Path) -> None:
    bring(tmp_path / "field", of_entities(tmp_path))
    found = {page.frontmatter["type"]: page for page in pages(tmp_path / "field").values()}
    body = found["con"].body
    assert [name for name in ODD_NAMES if f"]({found[name.strip()].filename})\n" not in body] == ["[[x]]"]
    assert "- `x` [`x`](" in body


# which is which


@pytest.mark.parametrize(
    ("files", "source", "kind"),
    [
        ({"a.md": "x"}, "", "markdown"),
        ({"a.md": "x", "CLAUDE.md": "x"}, "", "markdown"),
        ({"CLAUDE.md": "x", "web/CLAUDE.md": "x"}, "", "claude"),
        ({".claude/CLAUDE.md": "x"}, "", "claude"),
        ({"MEMORY.md": "x", "a.md": "x"}, "", "claude"),
        ({"MEMORY.md": "x", ".obsidian/app.json": "{}"}, "", "markdown"),
        ({"a.md": "---\npermalink: a\n---\n", "b.md": "---\npermalink: b\n---\n", "c.md": "x"}, "", "basic-memory"),
        ({"a.md": "---\npermalink: a\n---\n", "b.md": "x"}, "", "markdown"),
        ({"CLAUDE.md": "x"}, "CLAUDE.md", "claude"),
        ({"a.markdown": "x"}, "a.markdown", "markdown"),
        ({"m.json": '{"type":"relation","from":"a","to":"b","relationType":"c"}\n'}, "m.json", "mcp-memory"),
        ({"m.jsonl": '{"type":"entity","text":"a"}\n'}, "m.jsonl", "jsonl"),
        ({"m.ndjson": ""}, "m.ndjson", "jsonl"),
        ({"m.json": '{"entities": [], "relations": []}'}, "m.json", "mcp-memory"),
    ],
)
def test_a_source_tells_its_kind(tmp_path: Path, files: dict[str, str], source: str, kind: str) -> None:
    assert kind_of(make(tmp_path / "source", files) / source) == kind


@pytest.mark.parametrize("files", [{"a.txt": "x"}, {"memory.jsonl": "{}"}, {"x.zip": "PK"}])
def test_what_is_of_no_kind_says_what_to_do(tmp_path: Path, files: dict[str, str]) -> None:
    source = make(tmp_path / "source", files)
    for place in (source, source / "x.zip") if "x.zip" in files else (source,):
        with pytest.raises(UsageError) as caught:
            kind_of(place)
        assert caught.value.hint


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
@pytest.mark.parametrize("name", ["x.jsonl", "x.md"])
def test_a_pipe_is_no_source(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(OSError, match="no regular file"):
        bring(tmp_path / "field", tmp_path / name)


def test_a_file_that_is_said_to_be_a_note_is_one(tmp_path: Path) -> None:
    imported = bring(tmp_path / "field", make(tmp_path, {"x.txt": "Text.\n"}) / "x.txt", kind="markdown")
    assert ([page.filename for page in imported.added], imported.left) == (["x-txt.md"], [])


def test_labels(tmp_path: Path) -> None:
    make(tmp_path / "p", {"memory/MEMORY.md": "", "vault/a.md": "", "m.jsonl": ""})
    assert label_of(tmp_path / "p" / "vault", "markdown") == "vault"
    assert label_of(tmp_path / "p" / "vault" / "a.md", "markdown") == "vault"
    assert label_of(tmp_path / "p" / "memory", "claude") == "p/memory"
    assert label_of(tmp_path / "p" / "m.jsonl", "jsonl") == "p/m.jsonl"


def test_what_is_not_there_or_not_of_the_kind(tmp_path: Path) -> None:
    with pytest.raises(FieldNotFoundError):
        bring(tmp_path / "field", tmp_path / "nowhere")
    with pytest.raises(UsageError):
        bring(tmp_path / "field", make(tmp_path / "vault", {"a.md": "x"}), kind="jsonl")


def test_an_empty_text_does_not_hide_the_one_that_says_something(tmp_path: Path) -> None:
    source = make_lines(tmp_path / "k.jsonl", {"id": "2", "text": " ", "memory": "only here"})
    bring(tmp_path / "field", source)
    (page,) = pages(tmp_path / "field").values()
    assert "only here" in page.body


@pytest.mark.parametrize("kind", ["markdown", "claude", "basic-memory"])
@pytest.mark.parametrize(
    ("line", "name", "wanted"),
    [
        ({"text": "Mine.", "uuid": "3180f509-e6ba-598d-89d5-3e91cb3a12dc"}, "exp.jsonl", "jsonl"),
        ({"text": "Mine."}, "EXP.JSON", "jsonl"),
        ({"type": "entity", "name": "x", "entityType": "y", "observations": []}, "memory.json", "mcp-memory"),
    ],
)
def test_a_file_of_json_is_no_note(tmp_path: Path, kind: str, line: object, name: str, wanted: str) -> None:
    with pytest.raises(UsageError, match="is a file of JSON") as caught:
        bring(tmp_path / "field", make_lines(tmp_path / name, line), kind=kind)
    assert f"looks like {wanted}:" in caught.value.hint
    assert list((tmp_path / "field").iterdir()) == []


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ('{"text": "x", "n": ' + "9" * 5000 + "}", "has a number of more than 4,300 digits"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"text": "x"', "is not JSON"),
        ("5", "is no JSON object"),
    ],
)
def test_why_a_line_is_none(tmp_path: Path, raw: str, reason: str) -> None:
    imported = bring(tmp_path / "field", make_lines(tmp_path / "x.jsonl", {"text": "Fine."}, raw))
    assert left(imported, "line") == [("x.jsonl:2", reason)]


def test_written_is_what_was_written(tmp_path: Path) -> None:
    source = make_lines(tmp_path / "x.jsonl", "{}")
    assert bring(tmp_path / "field", source).written is False
    make_lines(source, {"text": "Fine."})
    assert bring(tmp_path / "field", source, dry_run=True).written is False
    assert bring(tmp_path / "field", source).written is True
    assert bring(tmp_path / "field", source).written is False  # all of it was there
