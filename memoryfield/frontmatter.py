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

_OPENING = re.compile(r"---[ \t]*(?:\r\n|\n|\r|\Z)")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*(?:\r\n|\n|\r|\Z)", re.MULTILINE)
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
    """The frontmatter block at the very beginning of a text, or None.

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
    source = text[block.start : block.end]
    if not block.closed:
        known = _known_lines(source.split("\n\n", 1)[0][:MAX_BLOCK_CHARS])
        return known, [Problem(1, 1, "the frontmatter is not closed: no second line of `---`")], True
    if len(source) > MAX_BLOCK_CHARS:
        problem = Problem(1, 1, f"the frontmatter is longer than {MAX_BLOCK_CHARS} characters and was not read")
        return _known_lines(source[:MAX_BLOCK_CHARS]), [problem], True
    try:
        value = load_yaml(source)
        if value is None:
            return {}, [], True
        if isinstance(value, dict):
            return _plain_mapping(value), _second_block(text, block), True
        if isinstance(value, str) and not _KEY_LINE.search(source):
            problem = Problem(1, 1, "the text between the lines of `---` is no frontmatter")
            return {}, [problem], False
        problem = Problem(2, 1, f"the frontmatter is a {_kind(value)}, not keys and values")
    except YamlError as fault:
        problem = Problem(fault.line + 2, fault.column + 1, f"the frontmatter is not valid YAML: {fault.message}")
    return _known_lines(source), [problem], True


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


def _known_lines(source: str) -> dict[str, Any]:
    """The known keys that stand on lines of their own, taken as plain text."""
    found: dict[str, Any] = {}
    for match in _KNOWN_LINE.finditer(source):
        value = match[2].strip()
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        if value:
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
    budget = [MAX_VALUES]
    plain = _plain(value, budget, 0)
    assert isinstance(plain, dict)
    return plain


def _plain(value: Any, budget: list[int], depth: int) -> Any:
    """A value as JSON can hold it. Aliases that multiply are cut off where the budget ends."""
    budget[0] -= 1
    if budget[0] < 0 or depth > 50:
        raise YamlError(f"it expands to more than {MAX_VALUES} values or 50 levels")
    if value is None or isinstance(value, bool | str):
        return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): _plain(item, budget, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(item, budget, depth + 1) for item in value]
    return str(value)


def new_block(values: Mapping[str, Any], newline: str = "\n") -> str:
    """A whole frontmatter block, lines of `---` included, as text.

    Strings that YAML would read as something else, dates among them, are quoted.
    """
    return newline.join(["---", *_export(values).splitlines(), "---", ""])


def _export(values: Mapping[str, Any]) -> str:
    from frontmatter.default_handlers import YAMLHandler

    return YAMLHandler().export(dict(values), sort_keys=False, width=10_000, Dumper=_dumper())


def _dumper() -> type[Any]:
    """PyYAML's safe dumper, writing dates in double quotes as the format shows them."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def represent_str(dumper: yaml.SafeDumper, value: str) -> "Node":
        style = '"' if re.match(r"\d{4}-\d\d-\d\d", value) else None
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
    before, problems, _ = parse_block(text, block)
    if problems and not _second_block(text, block):
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
        root = yaml.compose(source, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise YamlError(str(error)) from None
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise YamlError("not a mapping")
    places = {key.value: node for key, node in root.value} if root is not None else {}
    edits: list[tuple[int, int, str]] = []
    added: list[str] = []
    for key, value in values.items():
        pair = _export({key: value})
        if key in places:
            node = places[key]
            scalar = pair.split(":", 1)[1].strip()
            start, end = node.start_mark.index, node.end_mark.index
            end -= len(source[start:end]) - len(source[start:end].rstrip())  # a block scalar's last line end
            space = "" if source[start - 1 : start] in (" ", "\t") else " "
            edits.append((start, end, space + scalar))
        else:
            added.append(pair)
    if added:
        edits.append(_addition(source, root, added, newline))
    for start, end, replacement in sorted(edits, reverse=True):
        source = source[:start] + replacement + source[end:]
    return source


def _addition(source: str, root: "MappingNode | None", pairs: list[str], newline: str) -> tuple[int, int, str]:
    """Where new pairs go: the end of a block mapping, or before the brace of a flow mapping."""
    if root is not None and root.flow_style:
        place = source.rindex("}", 0, root.end_mark.index)
        comma = ", " if root.value else ""
        return place, place, comma + ", ".join(pairs)
    ending = "" if not source or source.endswith(("\n", "\r")) else newline
    return len(source), len(source), ending + "".join(pair + newline for pair in pairs)
