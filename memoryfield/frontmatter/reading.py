"""The block at the head of a page, read tolerantly: what it says, what is wrong with it, and where things stand.

YAML is what it should be; see `safe_yaml` for what is not let in. Where it is broken, the keys
that everybody needs are understood all the same.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from . import plain_yaml
from .blocks import BREAK, KNOWN_KEYS, MAX_BLOCK_CHARS, Block, find_block, place
from .safe_yaml import Feature, YamlError, compose, features, key_of, load, plain_mapping, scalars, text_of

if TYPE_CHECKING:
    from yaml.nodes import Node, ScalarNode

MAX_ALIKE = 20
"""Of so many problems of one kind each is told."""

_KNOWN_LINE = re.compile(rf"(?<![^\r\n])({'|'.join(KNOWN_KEYS)})[ \t]*:[ \t]*([^\r\n]*)")
_KEY_LINE = re.compile(r"(?<![^\r\n])[A-Za-z_][\w .-]*:")
_ANY_KEY = r"""\A\s*+[{\[]|(?<![^\r\n])[ \t]*+["'`*@%&!?]*+\w[^:\r\n]*+:(?!\S)"""
"""What may be meant as a key of YAML, in whatever way it is broken."""
_BREAK = re.compile(BREAK)
_EMPTY_LINE = rf"{BREAK}[ \t]*{BREAK}"
_WINDOWS_PATH = r"\"[A-Za-z]:\\[^\\\"xuU]"
"""The escapes in hexadecimal are left out: who writes them knows what they do."""


class Problem(NamedTuple):
    """Something in a page that could not be understood. `line` and `column` count from 1.

    `code` says in a word what kind of problem it is: `not-utf8`; `unclosed`; `not-yaml`; `merge-key`;
    `too-long`; `expands` (to too many values or characters, or too deeply); `not-mapping`;
    `tag` (one that would make more than plain values); `no-frontmatter` (a rule above prose);
    `second-block`; `duplicate-key`; `escape` (a Windows path in double quotes); `toml`; `json`.
    """

    line: int
    column: int
    message: str
    code: str


class Reading(NamedTuple):
    """What was understood of a block."""

    values: dict[str, Any]
    """The keys, with values that JSON can hold."""
    problems: list[Problem]
    is_frontmatter: bool = True
    """Else what seemed to be a block is text below a rule."""
    is_valid: bool = False
    """Whether it is keys and values in YAML, which can be edited."""
    root: "Node | None" = None
    """The nodes of the YAML, where it is valid."""


def read_block(text: str, block: Block) -> Reading:
    """Read a block of a page's text."""
    if block.end - block.start > MAX_BLOCK_CHARS and block.closed:
        message = f"the frontmatter is longer than {MAX_BLOCK_CHARS} characters and was not read"
        return Reading(_known_lines_of(text, block), [_at_opening(text, block, message, "too-long")])
    if block.kind != "yaml":
        return _read_foreign(text, block)
    if not block.closed:
        return _read_unclosed(text, block)
    return _read_yaml(text, block)


def _at_opening(text: str, block: Block, message: str, code: str) -> Problem:
    """A problem of a block as a whole: at the line that opens it."""
    line = place(text, block.start)[0]
    return Problem(line if block.kind == "json" else max(1, line - 1), 1, message, code)


def _known_lines_of(text: str, block: Block) -> dict[str, Any]:
    source = text[block.start : min(block.end, block.start + MAX_BLOCK_CHARS)]
    if not block.closed:
        source = re.split(_EMPTY_LINE, source, maxsplit=1)[0]
    if block.kind == "yaml":
        return known_lines(source)
    from . import foreign

    return {**foreign.known_lines(source, block.kind)}


def _read_unclosed(text: str, block: Block) -> Reading:
    known = _known_lines_of(text, block)
    head = re.split(_EMPTY_LINE, text[block.start : block.start + MAX_BLOCK_CHARS], maxsplit=1)[0]
    if block.kind == "yaml" and head and not known and not re.search(_ANY_KEY, head):
        return _no_frontmatter(text, block)
    line = "+++" if block.kind == "toml" else "---"
    message = f"the frontmatter is not closed: no second line of `{line}`"
    return Reading(known, [_at_opening(text, block, message, "unclosed")])


def _no_frontmatter(text: str, block: Block) -> Reading:
    where = "between the lines" if block.closed else "below the line"
    message = f"the text {where} of `---` is no frontmatter"
    return Reading({}, [_at_opening(text, block, message, "no-frontmatter")], is_frontmatter=False)


def _read_foreign(text: str, block: Block) -> Reading:
    from . import foreign

    if not block.closed:
        return _read_unclosed(text, block)
    name = block.kind.upper()
    try:
        values = foreign.load(text[block.start : block.end], block.kind)
        message = f"the frontmatter is {name}, not YAML: it is read, and never edited"
        return Reading(values, [_at_opening(text, block, message, block.kind)])
    except YamlError as error:
        problem = _at_opening(text, block, f"the frontmatter was not read: {error.message}", error.code)
    except foreign.ForeignError as error:
        message = f"the frontmatter is {name}, not YAML, and not valid {name}: {error.message}"
        problem = Problem(*place(text, block.start + error.index), message, block.kind)
    return Reading(_known_lines_of(text, block), [problem])


def _read_yaml(text: str, block: Block) -> Reading:
    source = text[block.start : block.end]
    plain = plain_yaml.read(source)
    if plain is not None:
        return Reading(dict(plain), list(_second_block(text, block)), is_valid=True)
    try:
        value, root, repeated = load(source)
        if value is None:
            return Reading({}, list(_second_block(text, block)), is_valid=True, root=root)
        if isinstance(value, dict):
            values = plain_mapping(value)
            problems = [_repeated(text, block, *again) for again in repeated[:MAX_ALIKE]]
            if root is not None and ":\\" in source:
                problems += _windows_paths(text, block, root)
            return Reading(values, [*problems, *_second_block(text, block)], is_valid=True, root=root)
    except YamlError as error:
        if error.code == "not-yaml" and not re.search(_ANY_KEY, source):
            return _no_frontmatter(text, block)
        return Reading(known_lines(source), [_not_yaml(text, block, error)])
    if isinstance(value, str) and not _KEY_LINE.search(source):
        return _no_frontmatter(text, block)
    message = f"the frontmatter is a {_kind(value)}, not keys and values"
    return Reading(known_lines(source), [Problem(place(text, block.start)[0], 1, message, "not-mapping")])


def _not_yaml(text: str, block: Block, error: "YamlError") -> Problem:
    line, column = place(text, block.start + (error.index or 0))
    start = "the frontmatter was not read" if error.code in ("expands", "tag") else "the frontmatter is not valid YAML"
    if error.code == "merge-key":
        start = "the frontmatter is not read as YAML"
    return Problem(line, column, f"{start}: {_IN_OTHER_WORDS.get(error.message, error.message)}", error.code)


_IN_OTHER_WORDS = {
    "mapping values are not allowed in this context": "a colon in a value that is not in quotes",
    "found character that cannot start any token": "a value that begins with a sign or a tab and is not in quotes",
    "did not find expected alphabetic or numeric character": "a value that begins with * or & and is not in quotes",
    "did not find expected key": "something between the keys that is none",
    "could not find expected ':'": "a line that is no key and no value",
    "found unexpected end of stream": "quotes or brackets that are not closed",
    "did not find expected ',' or ']'": "a bracket that is not closed",
    "did not find expected ',' or '}'": "a brace that is not closed",
}
"""What libyaml says, for people who do not know YAML from within."""


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "text" if isinstance(value, str) else "single value"


def _repeated(text: str, block: Block, key: str, index: int, first: int) -> Problem:
    line = place(text, block.start + first)[0]
    shown = key if len(key) <= 60 else key[:60] + "…"
    message = f"the key {shown!r} stands here again, after line {line}; the last one counts"
    return Problem(*place(text, block.start + index), message, "duplicate-key")


def _windows_paths(text: str, block: Block, root: "Node") -> Iterator[Problem]:
    """Paths such as "C:\\new", of which YAML makes something else."""
    found = (node.start_mark.index + block.start for node in scalars(root) if node.style == '"')
    paths = sorted(index for index in found if re.compile(_WINDOWS_PATH).match(text, index))
    for index in paths[:MAX_ALIKE]:
        message = "a backslash in double quotes begins an escape: write this path in single quotes"
        yield Problem(*place(text, index), message, "escape")


def _second_block(text: str, block: Block) -> Iterator[Problem]:
    second = find_block(text, block.body)
    if second and second.closed and second.kind == "yaml" and _KEY_LINE.match(text, second.start):
        line = place(text, second.start)[0] - 1
        yield Problem(line, 1, "a second frontmatter block follows the first; it is read as text", "second-block")


# broken YAML


def known_lines(source: str) -> dict[str, Any]:
    """The known keys that stand on lines of their own, taken as text."""
    found: dict[str, Any] = {}
    for match in _KNOWN_LINE.finditer(source):
        if match[1] in found:
            continue
        value = _value_on_line(match[2].strip())
        if value and not re.fullmatch(r"[|>][+-]?\d?", value):
            found[match[1]] = value
    return found


def _value_on_line(value: str) -> str:
    """A value without its quotes, or without the comment after it."""
    if quoted := re.fullmatch(r"'((?:[^']|'')*+)'(?:[ \t]+#.*)?", value):
        return quoted[1].replace("''", "'")
    if quoted := re.fullmatch(r"(\"(?:[^\"\\]|\\.)*+\")(?:[ \t]+#.*)?", value):
        return _unescaped(quoted[1])
    if quoted := re.fullmatch(r"\"([^\"]*)\"(?:[ \t]+#.*)?", value):
        return quoted[1]
    return re.split(r"(?:^|[ \t])#", value, maxsplit=1)[0].rstrip()


def _unescaped(quoted: str) -> str:
    """Text in double quotes as YAML reads it; as it stands, where YAML cannot, or where it is a Windows path."""
    if "\\" in quoted and not re.match(_WINDOWS_PATH, quoted):
        try:
            return text_of(load(quoted).value)
        except YamlError:
            pass
    return quoted[1:-1]


# places


class KeyPlace(NamedTuple):
    """Where a key of a block and its value stand in a page's text.

    Lines and columns count from 1, `start` and `end` are offsets into the text. The value's `source`
    is what is written there, from its first to its last character; `style` is how: `plain`,
    `single` or `double` (in quotes), `literal` or `folded` (below `|` or `>`), `flow` (in brackets),
    `block` (a list or mapping on lines of its own), `alias`, or `empty`.
    """

    line: int
    column: int
    start: int
    end: int
    value_line: int
    value_column: int
    value_start: int
    value_end: int
    style: str
    source: str

    @property
    def quoted(self) -> bool:
        """Whether the value is written as text."""
        return self.style in _SCALAR_STYLES.values()


_SCALAR_STYLES = {"'": "single", '"': "double", "|": "literal", ">": "folded"}


def key_places(text: str, block: Block, root: "Node | None" = None) -> dict[str, KeyPlace]:
    """Where each key of a block that is YAML stands, by its name; of equal keys, the last.

    Args:
        root: the nodes of the block, where they are at hand.
    """
    import yaml

    if block.kind != "yaml" or not block.closed or block.end - block.start > MAX_BLOCK_CHARS:
        return {}
    source = text[block.start : block.end]
    places: dict[str, KeyPlace] = {}
    try:
        root = root or compose(source)
        pairs = root.value if isinstance(root, yaml.MappingNode) else []
        breaks = [0, *(match.end() for match in _BREAK.finditer(text, 0, block.end))]
        done = 0
        for key, value in pairs:
            if not isinstance(key, yaml.ScalarNode):
                continue
            name = key_of(key)
            places.pop(name, None)
            span = _span(source, key, value) if key.start_mark.index >= done else None  # else the key is an alias
            if span:
                places[name] = _key_place(breaks, block.start, source, key, span)
                done = span[1]
    except YamlError:
        return {}
    return places


def yaml_features(text: str, block: Block) -> list[Feature]:
    """The anchors, aliases, tags and merge keys that a block uses, with their places in the text."""
    if block.kind != "yaml" or not block.closed or block.end - block.start > MAX_BLOCK_CHARS:
        return []
    return [Feature(kind, block.start + at) for kind, at in features(text[block.start : block.end])]


def _key_place(breaks: list[int], offset: int, source: str, key: "Node", span: tuple[int, int, str]) -> KeyPlace:
    start, end, style = span
    key_start = key.start_mark.index + offset
    line, value_line = bisect_right(breaks, key_start), bisect_right(breaks, start + offset)
    return KeyPlace(
        line,
        key_start - breaks[line - 1] + 1,
        key_start,
        key.end_mark.index + offset,
        value_line,
        start + offset - breaks[value_line - 1] + 1,
        start + offset,
        end + offset,
        style,
        source[start:end],
    )


def _span(source: str, key: "ScalarNode", value: "Node") -> tuple[int, int, str] | None:
    """Where a value begins and ends in the block, and its style; None where that cannot be told."""
    start = value.start_mark.index
    if start < key.end_mark.index:  # the node that it is an alias of stands above
        alias = re.compile(r"\s*+:\s*+(\*[\w-]+)").match(source, key.end_mark.index)
        return (*alias.span(1), "alias") if alias else None
    end = start + len(source[start : _end(source, value)].rstrip())  # a block scalar's last line end
    if start == end:
        return start, end, "empty"
    if isinstance(value.value, str):
        return start, end, _SCALAR_STYLES.get(getattr(value, "style", None) or "", "plain")
    return start, end, "flow" if getattr(value, "flow_style", True) else "block"


def _end(source: str, node: "Node") -> int:
    """Where a value ends; for a list or mapping on lines of its own, at its last item, before any comment."""
    if isinstance(node.value, str) or getattr(node, "flow_style", True) or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1][1] if isinstance(node.value[-1], tuple) else node.value[-1]
    if last.start_mark.index <= node.start_mark.index:  # an alias: its node stands above
        return _end_of_alias(source, node.start_mark.index, node.end_mark.index)
    return _end(source, last)


def _end_of_alias(source: str, start: int, end: int) -> int:
    """The end of an alias that is the last thing between two places, comments aside."""
    lines = source[start:end].splitlines(keepends=True)
    while lines:
        end -= len(lines[-1])
        line = lines.pop()
        if line.lstrip().startswith("#"):
            continue
        if found := re.search(r"\*[\w-]+(?=\s*+(?:#.*)?$)", line):
            return end + found.end()
    return end
