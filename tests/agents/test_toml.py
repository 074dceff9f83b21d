"""Single values change in TOML, and every other byte stays."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryfield.agents.toml import get, put, remove
from memoryfield.errors import RefusedError

KEYS = ("mcp_servers", "memoryfield")
ARGUMENTS = ["mcp", "-f", 'a "b" \\ é \x7f\t\u2028']


def installed(text: str, arguments: list[str]) -> str:
    """With our entry."""
    return put(put(text, (*KEYS, "command"), "memoryfield"), (*KEYS, "args"), arguments)


STATEMENTS = st.sampled_from(
    [
        "k{0} = 1",
        "k{0} = nan # not a number",
        'k{0} = "[mcp_servers.memoryfield]"',
        'k{0} = "a # \\" b" # c',
        "k{0}.b = '#\"'  ",
        "'k{0} = [' = true",
        'k{0} = """\n[mcp_servers.memoryfield]\n\\"""" # """ b"""""',
        "k{0} = '''\n[mcp_servers.memoryfield]\n'''''",
        'k{0} = [ # one\n  1, "]", # two\n\n [2]]',
        "k{0} = {{ a = {{ b = [1,\n2] }} }}",
        "[t{0}]",
        "  [ t{0} . 'x.y' ] # t",
        "[[l{0}]]\nx = 1\n\n[[l{0}]]\n\n[l{0}.inner]",
        "[mcp_servers.s{0}]\ncommand = 's'",
        "[mcp_servers]\ns{0}.command = 's'",
        "[mcp_servers.s{0}.env] # why\n# inner",
        "# a comment",
        "# ['\"[",
        "",
        " \t",
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> str:
    """TOML that somebody wrote, with either line end, and with or without one at its end."""
    lines = [line.format(index) for index, line in enumerate(draw(st.lists(STATEMENTS, max_size=8)))]
    if draw(st.booleans()):
        lines.insert(0, "mcp_servers.first.command = 'x'")
        lines = [line for line in lines if "[mcp_servers]" not in line]
    seen = [index for index, line in enumerate(lines) if line.startswith("[mcp_servers]")]
    text = "\n".join(line for index, line in enumerate(lines) if index not in seen[1:])
    text = draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n", "\n\n", "\n  ", "\n# end"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(documents(), st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3))
def test_what_was_put_can_be_taken_away_without_a_trace(text: str, arguments: list[str]) -> None:
    before = tomllib.loads(text.removeprefix("\ufeff"))
    changed = installed(text, ["mcp"])
    assert changed.startswith(text)
    assert remove(changed, KEYS) == text
    again = installed(changed, arguments)
    assert get(again, KEYS) == {"command": "memoryfield", "args": arguments}
    assert installed(again, arguments) == again
    assert "\n" not in again.replace("\r\n", "") or "\r" not in again
    assert remove(again, KEYS) == text
    after = tomllib.loads(again.removeprefix("\ufeff"))
    del after["mcp_servers"]["memoryfield"]
    before.setdefault("mcp_servers", {})
    assert repr(sorted(after.items())) == repr(sorted(before.items()))


@given(documents(), documents())
def test_what_somebody_wrote_behind_stays(text: str, behind: str) -> None:
    newline = "\r\n" if "\r\n" in text + behind else "\n"
    text, behind = (part.replace("\r\n", "\n").replace("\n", newline) for part in (text, behind))
    behind = f"# of the next{newline}[[next]]{newline}" + "".join(
        line for line in behind.splitlines(keepends=True) if line.strip().startswith("#")
    )
    changed = installed(text, ["mcp"])
    changed += "" if changed.endswith("\n") else newline
    left = remove(changed + behind, KEYS)
    assert left.endswith(behind)
    assert left.removesuffix(behind).rstrip() == text.rstrip()


def test_an_entry_goes_with_its_tables_wherever_they_stand() -> None:
    text = (
        "[a]\n# before\n[mcp_servers.memoryfield] # ours\ncommand = 'x'\n# inner\nargs = [] # why\n# of b\n[b]\n"
        "[mcp_servers . 'memoryfield'.env]\nx = 1"
    )
    assert remove(text, KEYS) == "[a]\n# before\n# of b\n[b]"
    assert remove("[mcp_servers]\nmemoryfield = {x = 1}\nb = {}\n", KEYS) == "[mcp_servers]\nb = {}\n"
    assert remove("mcp_servers.memoryfield.x = 1\n# b\nb = 2\n", KEYS) == "# b\nb = 2\n"
    assert remove("b = 1\n", KEYS) == "b = 1\n"


def test_a_value_is_replaced_where_it_stands() -> None:
    text = "[mcp_servers.memoryfield]\r\nargs = [\r\n  1 # one\r\n] # a\r\ncommand='x' # b\r\ntimeout = 20"
    changed = installed(text, ARGUMENTS)
    assert changed.endswith(' # a\r\ncommand="memoryfield" # b\r\ntimeout = 20')
    assert get(changed, KEYS) == {"args": ARGUMENTS, "command": "memoryfield", "timeout": 20}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("mcp_servers = {}", "cannot be changed here"),
        ("mcp_servers = {b = {command = 'b'}}", "cannot be changed here"),
        ("mcp_servers = 3", "mcp_servers is no table"),
        ("mcp_servers = []", "mcp_servers is no table"),
        ("[[mcp_servers]]\nname = 'b'", "mcp_servers is no table"),
        ("[mcp_servers]\nmemoryfield = 'x'", "mcp_servers.memoryfield is no table"),
        ("[mcp_servers]\nmemoryfield = {}", "cannot be changed here"),
        ("a = 1\nbroken", "2:7"),
        ("a = 1\na = 2\n", "2:6"),
        ("a = 1\na = '''", "2:8"),
        ("a = " + "[" * 100_000, "nested too deeply"),
        ("a = " + "1" * 5_000, "^Exceeds the limit"),
    ],
)
def test_what_cannot_be_changed_is_refused(text: str, says: str) -> None:
    with pytest.raises(RefusedError, match=says):
        installed(text, ["mcp"])


def test_what_stands_within_a_value_is_not_taken_out() -> None:
    with pytest.raises(RefusedError, match="cannot be changed here"):
        remove("mcp_servers = {memoryfield = {command = 'x'}, b = {}}", KEYS)
