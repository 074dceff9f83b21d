"""Keys set in a block without touching anything else, and whole new blocks."""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ..names import UUID
from .blocks import Block, find_block, newline_of
from .plain_yaml import NOT_TEXT
from .reading import key_places, read_block

if TYPE_CHECKING:
    from yaml.nodes import MappingNode, Node


def new_block(values: Mapping[str, Any], newline: str = "\n") -> str:
    """A whole frontmatter block, lines of `---` included, as text.

    Strings that YAML would read as something else, dates among them, are quoted.
    """
    return newline.join(["---", *_export(values).split("\n"), "---", ""])


def pair(key: str, value: Any) -> str:
    """A key and its value as they stand in a block, line end included: a list of texts on the same line."""
    if not re.fullmatch(r"[A-Za-z_][\w-]*", key) or not (isinstance(value, str) or is_texts(value)):
        return _export({key: value}) + "\n"
    name = _name(key)
    return f"{name}: {_scalar(value, in_flow=False)}\n"


@cache
def _name(key: str) -> str:
    """A key as it is written: in quotes, where YAML takes it for something else."""
    return _export({key: 0}).rpartition(":")[0]


def is_texts(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _export(values: Mapping[str, Any]) -> str:
    from frontmatter.default_handlers import YAMLHandler

    options = {"sort_keys": False, "width": 1 << 30, "Dumper": _dumper()}
    return YAMLHandler().export(dict(values), **options)


@cache
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


def set_keys(text: str, block: Block, values: Mapping[str, str | list[str]]) -> str | None:
    """Set or add keys in a block and leave everything else as it is: comments, order, quotes, line ends.

    A list of texts goes on one line. Of equal keys the last one is set, which counts.

    Returns:
        The page's new text, or None where the block cannot be edited safely: the result is read
        back, and must hold the new values and all the old ones.
    """
    before = read_block(text, block)
    if not before.is_valid:
        return None
    edited = _edited(text, block, before.root, values, set(before.values))
    moved = find_block(edited) if edited is not None else None
    if edited is None or moved is None or edited[moved.body :] != text[block.body :]:
        return None
    after = read_block(edited, moved)
    return edited if after.is_valid and after.values == {**before.values, **values} else None


def _edited(
    text: str, block: Block, root: "Node | None", values: Mapping[str, str | list[str]], present: set[str]
) -> str | None:
    """The text with the keys set, or None where a key that is present has no place of its own."""
    from yaml.nodes import MappingNode

    if root is not None and not isinstance(root, MappingNode):
        return None
    newline = newline_of(text[: block.body])
    in_flow = bool(root is not None and root.flow_style)
    places = key_places(text, block, root)
    edits: list[tuple[int, int, str]] = []
    added: list[str] = []
    for key, value in values.items():
        scalar = _scalar(value, in_flow).replace("\n", newline)
        if at := places.get(key):
            space = "" if text[at.value_start - 1] in " \t" else " "
            edits.append((at.value_start, at.value_end, space + scalar))
        elif key in present:
            return None
        else:
            added.append(f"{key}: {scalar}")
    if added:
        edits.append(_addition(text, block, root, added, newline))
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


def _scalar(value: str | list[str], in_flow: bool) -> str:
    """A text, or a list of texts, as it stands after a key."""
    if isinstance(value, list):
        return f"[{', '.join(_item(item) for item in value)}]"
    if in_flow and not re.fullmatch(r"[\w-]+", value):
        import json

        return json.dumps(value, ensure_ascii=False)  # also YAML, and nothing in it ends the mapping
    if _is_plain(value):
        return value
    if _QUOTED_DATE.fullmatch(value):
        return f'"{value}"'
    return _export({"key": value}).split(":", 1)[1].strip(" \n")


_PLAIN = re.compile(rf"[A-Za-z][A-Za-z0-9()/._-]*+(?: [A-Za-z0-9()/._-]++)*+|{UUID}")
_QUOTED_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)


def _is_plain(text: str) -> bool:
    """Whether a text is beyond doubt one that YAML writes without quotes: its dumper takes a while to say so."""
    return _PLAIN.fullmatch(text) is not None and text.lower() not in NOT_TEXT


def _item(text: str) -> str:
    """A text in a list on one line."""
    is_word = re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", text) and _is_plain(text)
    return text if is_word else _scalar(text, in_flow=True)


def _addition(
    text: str, block: Block, root: "MappingNode | None", pairs: list[str], newline: str
) -> tuple[int, int, str]:
    """Where new pairs go: the end of a block mapping, or before the brace of a flow mapping."""
    source = text[block.start : block.end]
    if root is not None and root.flow_style:
        end = source.rindex("}", 0, root.end_mark.index)
        last = root.value[-1][1].end_mark.index if root.value else root.start_mark.index + 1
        comma = "" if not root.value or "," in re.sub(r"#[^\r\n]*", "", source[last:end]) else ", "
        at = block.start + (last if comma else end)
        return at, at, comma + ", ".join(pairs)
    indent = " " * root.start_mark.column if root is not None else ""
    ending = "" if not source or source.endswith(("\n", "\r")) else newline
    return block.end, block.end, ending + "".join(indent + pair + newline for pair in pairs)
