"""YAML from anywhere, as plain values: nothing in it is run, grows beyond bounds, or becomes a date.

The loader is PyYAML's safe one (the C one where there is one). Text is composed once; the nodes
are kept, for whoever asks where a value stands.
"""

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from yaml.events import Event
    from yaml.nodes import MappingNode, Node, ScalarNode

MAX_VALUES = 10_000
MAX_CHARS = 1_000_000
MAX_DEPTH = 50
MAX_MESSAGE_CHARS = 200

_WRONG_TAG = "a value is not what its tag says"


class YamlError(Exception):
    """YAML that was not understood. `index` is where, in characters, if that is known."""

    def __init__(self, message: str, index: int | None = None, code: str = "not-yaml") -> None:
        super().__init__(message)
        self.message, self.index, self.code = message[:MAX_MESSAGE_CHARS], index, code


class Repeated(NamedTuple):
    """A key that stands in a mapping again: where, and where it stood first."""

    key: str
    at: int
    first: int


class Loaded(NamedTuple):
    """What YAML says, its nodes (None if it says nothing), and the keys that it says twice."""

    value: Any
    root: "Node | None"
    repeated: list[Repeated]


@cache
def _loader() -> type[Any]:
    """The loader's class, made when it is first needed."""
    import yaml

    base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        def construct_mapping(self, node: "MappingNode", deep: bool = False) -> dict[str, Any]:
            """Keys are text from the first: to Python, `true`, `1` and `1.0` would be the same key."""
            if not isinstance(node, yaml.MappingNode):
                raise YamlError(_WRONG_TAG, node.start_mark.index)
            mapping: dict[str, Any] = {}
            for key, value in node.value:
                mapping[self.key(key, deep)] = self.construct_object(value, deep=deep)
            if len(mapping) != len(node.value):
                self.note_repeated(node)
            return mapping

        def key(self, node: "Node", deep: bool = False) -> str:
            if node.tag == "tag:yaml.org,2002:merge":
                raise YamlError("merge keys (<<) are not read", node.start_mark.index, "merge-key")
            value = self.construct_object(node, deep=deep)
            if isinstance(value, list | dict | set):
                raise YamlError("a key is a list or a mapping", node.start_mark.index)
            return value if type(value) is str else text_of(value)

        def note_repeated(self, node: "MappingNode") -> None:
            first: dict[str, int] = {}
            for key, _ in node.value:
                text, index = self.key(key), key.start_mark.index
                if text in first:
                    self.repeated.append(Repeated(text, index, first[text]))
                first.setdefault(text, index)

    # Dates stay text, and so does a lone `=`, of which PyYAML can make nothing.
    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":value"))]
        for first, resolvers in base.yaml_implicit_resolvers.items()
    }
    return Loader


def load(source: str) -> Loaded:
    """YAML as Python values, with its nodes.

    Raises:
        YamlError: it is not YAML, nests too deeply, or holds a value that cannot be made.
    """
    return _guarded(source, construct=True)


def compose(source: str) -> "Node | None":
    """The nodes alone.

    Raises:
        YamlError: it is not YAML, or nests too deeply.
    """
    return _guarded(source, construct=False).root


def _guarded(source: str, construct: bool) -> Loaded:
    import yaml

    try:
        loader = _loader()(source)
        loader.repeated = []
        try:
            root = loader.get_single_node()
            value = loader.construct_document(root) if construct and root is not None else None
            return Loaded(value, root, loader.repeated)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        code = "tag" if "constructor for the tag" in (error.problem or "") else "not-yaml"
        raise YamlError(error.problem or "?", mark.index if mark else None, code) from None
    except yaml.reader.ReaderError:
        raise _not_printable(source) from None
    except RecursionError:
        raise YamlError("it nests too deeply", code="expands") from None
    except (yaml.YAMLError, ValueError, TypeError, OverflowError) as error:
        raise YamlError(str(error).splitlines()[0] if str(error) else "a value cannot be made") from None
    except (AttributeError, LookupError):  # what PyYAML says to `!!timestamp x`, `!!bool x`, `!!int ""`
        raise YamlError(_WRONG_TAG) from None


def _not_printable(source: str) -> YamlError:
    import yaml

    found = yaml.reader.Reader.NON_PRINTABLE.search(source)
    if found is None:
        return YamlError("a character is not allowed")
    return YamlError(f"the character {found[0]!r} is not allowed", found.start())


class Feature(NamedTuple):
    """One of YAML's ways to say more than text, `anchor`, `alias`, `tag` or `merge`, and where, in characters."""

    kind: str
    at: int


def features(source: str) -> list[Feature]:
    """The anchors, aliases, tags and merge keys of a block; none of one that is no YAML."""
    import yaml

    found: list[Feature] = []
    if not any(mark in source for mark in ("&", "*", "!", "<<")):
        return found
    try:
        for event in yaml.parse(source, Loader=_loader()):
            if isinstance(event, yaml.AliasEvent):
                found.append(Feature("alias", _start(event)))
            elif isinstance(event, yaml.NodeEvent):
                at = _start(event)
                if event.anchor:
                    found.append(Feature("anchor", at))
                if getattr(event, "tag", None):
                    found.append(Feature("tag", at))
                if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
                    found.append(Feature("merge", at))
    except yaml.YAMLError:
        return []
    return found


def _start(event: "Event") -> int:
    return event.start_mark.index if event.start_mark else 0


def scalars(root: "Node") -> "Iterator[ScalarNode]":
    """Every scalar below a node, once."""
    seen: set[int] = set()
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node.value, str):
            yield node
        else:
            waiting += [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]


def key_of(node: "ScalarNode") -> str:
    """The key that a scalar becomes."""
    if node.tag == "tag:yaml.org,2002:str":
        return str(node.value)
    from yaml.constructor import SafeConstructor

    return text_of(SafeConstructor().construct_object(node))


def plain_mapping(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Keys and values as JSON can hold them.

    Raises:
        YamlError: there are too many, they nest too deeply or are too long.
    """
    plain = _Plainer().plain(value, 0)
    assert isinstance(plain, dict)
    return plain


class _Plainer:
    """Makes of YAML's values what JSON can hold. Aliases that multiply are cut off where the bounds are."""

    def __init__(self) -> None:
        self._values = MAX_VALUES
        self._characters = MAX_CHARS

    def plain(self, value: Any, depth: int) -> Any:
        self._values -= 1
        if self._values < 0 or depth > MAX_DEPTH:
            raise YamlError(f"it expands to more than {MAX_VALUES} values or {MAX_DEPTH} levels", code="expands")
        if isinstance(value, str):
            return self._text(value)
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
        text = text_of(value)
        self._characters -= len(text)
        if self._characters < 0:
            raise YamlError(f"it expands to more than {MAX_CHARS} characters", code="expands")
        return text


def text_of(value: object) -> str:
    """A value as text; a date as ISO 8601 has it.

    Raises:
        YamlError: a number with more digits than Python writes out.
    """
    try:
        text = value if isinstance(value, str) else _written(value)
    except ValueError as error:
        raise YamlError(str(error)) from None
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _written(value: object) -> str:
    moment = getattr(value, "isoformat", None)
    return str(moment()).replace("+00:00", "Z") if moment else str(value)
