"""The YAML block at the head of a page: found, read tolerantly, edited without touching anything else.

YAML in a page is data from anywhere. It is read with a safe loader that keeps dates as they were
written, refuses merge keys, and gives up on what would grow beyond bounds.
"""

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node

KNOWN_KEYS = ("title", "summary", "uuid", "created", "updated")
"""The keys that are understood one by one where the block as a whole is not YAML."""

MAX_BLOCK_CHARS = 65_536
MAX_VALUES = 10_000
MAX_CHARS = 1_000_000
MAX_DEPTH = 50

_OPENING = re.compile(r"(?:\s*[\r\n])?---[ \t]*(?:\r\n|\n|\r|\Z)")
_CLOSING = re.compile(r"(?<![^\r\n])(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)")
_KNOWN_LINE = re.compile(rf"^({'|'.join(KNOWN_KEYS)})[ \t]*:[ \t]*([^\r\n]*)", re.MULTILINE)
_KEY_LINE = re.compile(r"^[A-Za-z_][\w .-]*:", re.MULTILINE)


class Problem(NamedTuple):
    """Something in a page that could not be understood. `line` and `column` count from 1."""

    line: int
    column: int
    message: str


class Block(NamedTuple):
    """Where the frontmatter stands in a page's text: `text[start:end]` is the YAML, the body begins at `body`."""

    start: int
    end: int
    body: int
    closed: bool = True


def find_block(text: str) -> Block | None:
    """The frontmatter block at the beginning of a text, below empty lines at most, or None.

    A block that is never closed is found too (`closed` is false, and everything is body).
    """
    opening = _OPENING.match(text)
    if not opening:
        return None
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        return Block(opening.end(), len(text), 0, closed=False)
    return Block(opening.end(), closing.start(), closing.end())


def parse_block(text: str, block: Block) -> tuple[dict[str, Any], list[Problem], bool]:
    """Read a block.

    Returns:
        The keys, with values that JSON can hold; what was wrong; and whether the text between the
        lines is frontmatter at all (false where `---` was only a rule above prose).
    """
    values, problem, is_frontmatter = read_block(text, block)
    problems = [problem] if problem else _second_block(text, block)
    return values, problems, is_frontmatter


def read_block(text: str, block: Block) -> tuple[dict[str, Any], Problem | None, bool]:
    """The keys of a block, what is wrong with it, and whether it is frontmatter at all."""
    source = text[block.start : block.end]
    first = text.count("\n", 0, block.start) + 1  # the line below the opening one
    if not block.closed:
        known = known_lines(re.split(r"\r?\n[ \t]*\r?\n", source[:MAX_BLOCK_CHARS], maxsplit=1)[0])
        return known, Problem(max(1, first - 1), 1, "the frontmatter is not closed: no second line of `---`"), True
    if len(source) > MAX_BLOCK_CHARS:
        problem = Problem(
            max(1, first - 1), 1, f"the frontmatter is longer than {MAX_BLOCK_CHARS} characters and was not read"
        )
        return known_lines(source[:MAX_BLOCK_CHARS]), problem, True
    try:
        value = load_yaml(source)
        if value is None:
            return {}, None, True
        if isinstance(value, dict):
            return _plain_mapping(value), None, True
        if isinstance(value, str) and not _KEY_LINE.search(source):
            return {}, Problem(max(1, first - 1), 1, "the text between the lines of `---` is no frontmatter"), False
        problem = Problem(first, 1, f"the frontmatter is a {_kind(value)}, not keys and values")
    except YamlError as fault:
        problem = Problem(fault.line + first, fault.column + 1, f"the frontmatter is not valid YAML: {fault.message}")
    return known_lines(source), problem, True


def _second_block(text: str, block: Block) -> list[Problem]:
    rest = text[block.body :]
    stripped = rest.lstrip()
    second = find_block(stripped)
    if second is None or not second.closed or not _KEY_LINE.match(stripped, second.start):
        return []
    line = text.count("\n", 0, len(text) - len(stripped)) + 1
    return [Problem(line, 1, "a second frontmatter block follows the first; it is read as text")]


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "text" if isinstance(value, str) else "single value"


def known_lines(source: str) -> dict[str, Any]:
    """The known keys that stand on lines of their own, taken as plain text."""
    found: dict[str, Any] = {}
    for match in _KNOWN_LINE.finditer(source):
        value = match[2].strip()
        quoted = re.fullmatch(r"(?:\"([^\"]*)\"|'([^']*)')(?:[ \t]+#.*)?", value)
        value = (quoted[1] or quoted[2] or "") if quoted else re.split(r"(?:^|[ \t])#", value, maxsplit=1)[0].rstrip()
        if value and not re.fullmatch(r"[|>][+-]?\d?", value):
            found.setdefault(match[1], value)
    return found


class YamlError(Exception):
    """YAML that was not understood. `line` and `column` count from 0, within the block."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


def _loader() -> type[Any]:
    """PyYAML's safe loader (the C one where there is one), with dates kept as text."""
    global _loader_class
    if _loader_class is None:
        import yaml

        base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

        class Loader(base):  # type: ignore[misc]
            def flatten_mapping(self, node: "MappingNode") -> None:
                for key, _ in node.value:
                    if key.tag == "tag:yaml.org,2002:merge":
                        raise yaml.constructor.ConstructorError(
                            None, None, "merge keys (<<) are not read in frontmatter", key.start_mark
                        )

        Loader.yaml_implicit_resolvers = {
            first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
            for first, resolvers in base.yaml_implicit_resolvers.items()
        }
        _loader_class = Loader
    return _loader_class


_loader_class: type[Any] | None = None


def load_yaml(source: str) -> Any:
    """YAML as Python values.

    Raises:
        YamlError: it is not YAML, nests too deeply, or holds a value that cannot be made.
    """
    import yaml
    from frontmatter.default_handlers import YAMLHandler

    try:
        return YAMLHandler().load(source, Loader=_loader())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(error.problem or "?", mark.line if mark else 0, mark.column if mark else 0) from None
    except yaml.reader.ReaderError as error:
        before = source[: error.position] if isinstance(error.position, int) else ""
        raise YamlError(f"the character {error.character!r} is not allowed", before.count("\n")) from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise YamlError(str(error).splitlines()[0] if str(error) else "it nests too deeply") from None


def _plain_mapping(value: dict[Any, Any]) -> dict[str, Any]:
    plain = _Plainer().plain(value, 0)
    assert isinstance(plain, dict)
    return plain


class _Plainer:
    """Makes of YAML's values what JSON can hold. Aliases that multiply are cut off where the bounds are."""

    def __init__(self) -> None:
        self._values = MAX_VALUES
        self._characters = MAX_CHARS

    def plain(self, value: Any, depth: int) -> Any:
        """One value.

        Raises:
            YamlError: there are too many, they nest too deeply or are too long.
        """
        self._values -= 1
        if self._values < 0 or depth > MAX_DEPTH:
            raise YamlError(f"it expands to more than {MAX_VALUES} values or {MAX_DEPTH} levels")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int) and abs(value) < 2**63:
            return value
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, dict):
            return {self._text(key): self.plain(item, depth + 1) for key, item in value.items()}
        if isinstance(value, set):
            value = sorted(value, key=repr)  # which has no order of its own
        if isinstance(value, list | tuple):
            return [self.plain(item, depth + 1) for item in value]
        return self._text(value)

    def _text(self, value: Any) -> str:
        try:
            text = str(value).encode("utf-8", "replace").decode()
        except ValueError as error:  # a number with more digits than Python writes out
            raise YamlError(str(error)) from None
        self._characters -= len(text)
        if self._characters < 0:
            raise YamlError(f"it expands to more than {MAX_CHARS} characters")
        return text


class KeyPlace(NamedTuple):
    """Where a key of a block stands: its line in the page, from 1, and whether its value is written as text."""

    line: int
    quoted: bool


def key_places(text: str, block: Block) -> dict[str, KeyPlace]:
    """Where each key of a block that is valid YAML stands; nothing for any other block."""
    import yaml

    try:
        root = yaml.compose(text[block.start : block.end], Loader=_loader())
    except (yaml.YAMLError, RecursionError):
        return {}
    if not isinstance(root, yaml.MappingNode):
        return {}
    first = text.count("\n", 0, block.start) + 1
    return {
        str(key.value): KeyPlace(key.start_mark.line + first, bool(getattr(value, "style", None)))
        for key, value in root.value
        if isinstance(key, yaml.ScalarNode)
    }


def new_block(values: Mapping[str, Any], newline: str = "\n") -> str:
    """A whole frontmatter block, lines of `---` included, as text.

    Strings that YAML would read as something else, dates among them, are quoted.
    """
    return newline.join(["---", *_export(values).split("\n"), "---", ""])


def _export(values: Mapping[str, Any]) -> str:
    from frontmatter.default_handlers import YAMLHandler

    options = {"sort_keys": False, "width": 1 << 30, "Dumper": _dumper()}
    return YAMLHandler().export(dict(values), **options)


def _dumper() -> type[Any]:
    """PyYAML's safe dumper, writing dates in double quotes as the format shows them."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def represent_str(dumper: yaml.SafeDumper, value: str) -> "Node":
        # In double quotes: dates, as the format shows them, and spaces that a reader may take for none.
        value = value.encode("utf-8", "replace").decode()
        odd = value != value.strip() or re.search(r"[\x85\xa0\u2028\u2029\ufeff]", value)
        style = '"' if odd or re.match(r"\d{4}-\d\d-\d\d", value) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, represent_str)
    return Dumper


def set_keys(text: str, block: Block, values: Mapping[str, str]) -> str | None:
    """Set or add keys in a block and leave everything else as it is: comments, order, quotes, line ends.

    Returns:
        The page's new text, or None where the block cannot be edited safely: the result is read
        back, and must hold the new values and all the old ones.
    """
    source = text[block.start : block.end]
    before, problem, _ = read_block(text, block)
    if problem:
        return None
    newline = "\r\n" if "\r\n" in text[: block.body] else "\n"
    try:
        edited = _edit(source, values, newline)
    except YamlError:
        return None
    result = text[: block.start] + edited + text[block.end :]
    moved = find_block(result)
    if moved is None or result[moved.body :] != text[block.body :]:
        return None
    after, _, _ = parse_block(result, moved)
    return result if after == {**before, **values} else None


def _edit(source: str, values: Mapping[str, str], newline: str) -> str:
    import yaml

    try:
        root = yaml.compose(source, Loader=_loader())
    except yaml.YAMLError as error:
        raise YamlError(str(error)) from None
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise YamlError("not a mapping")
    places = {key.value: node for key, node in root.value} if root is not None else {}
    in_flow = bool(root is not None and root.flow_style)
    edits: list[tuple[int, int, str]] = []
    added: list[str] = []
    for key, value in values.items():
        scalar = _scalar(value, in_flow).replace("\n", newline)
        if key in places:
            node = places[key]
            start, end = node.start_mark.index, _end(node)
            end -= len(source[start:end]) - len(source[start:end].rstrip())  # a block scalar's last line end
            space = "" if source[start - 1 : start] in (" ", "\t") else " "
            edits.append((start, end, space + scalar))
        else:
            added.append(f"{key}: {scalar}")
    if added:
        edits.append(_addition(source, root, added, newline))
    for start, end, replacement in sorted(edits, reverse=True):
        source = source[:start] + replacement + source[end:]
    return source


def _end(node: "Node") -> int:
    """Where a value ends; for a list or mapping on lines of its own, at its last item, before any comment."""
    items = [part for pair in node.value for part in (pair if isinstance(pair, tuple) else (pair,))]
    if isinstance(node.value, str) or getattr(node, "flow_style", True) or not items:
        return int(node.end_mark.index)
    return _end(items[-1])


def _scalar(value: str, in_flow: bool) -> str:
    """A text as it stands after a key."""
    if in_flow and not re.fullmatch(r"[\w-]+", value):
        import json

        return json.dumps(value, ensure_ascii=False)  # also YAML, and nothing in it ends the mapping
    return _export({"key": value}).split(":", 1)[1].strip(" \n")


def _addition(source: str, root: "MappingNode | None", pairs: list[str], newline: str) -> tuple[int, int, str]:
    """Where new pairs go: the end of a block mapping, or before the brace of a flow mapping."""
    if root is not None and root.flow_style:
        place = source.rindex("}", 0, root.end_mark.index)
        last = _end(root.value[-1][1]) if root.value else root.start_mark.index + 1
        comma = "" if not root.value or "," in re.sub(r"#[^\r\n]*", "", source[last:place]) else ", "
        return (last, last, comma + ", ".join(pairs)) if comma else (place, place, ", ".join(pairs))
    indent = " " * root.start_mark.column if root is not None else ""
    ending = "" if not source or source.endswith(("\n", "\r")) else newline
    return len(source), len(source), ending + "".join(indent + pair + newline for pair in pairs)
