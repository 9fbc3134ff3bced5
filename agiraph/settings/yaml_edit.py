"""Single values of a YAML text changed in its lines: the rest of the text stays unchanged.

A place is found by the marks of the parsed text and its characters are replaced. The result is
parsed again: if it differs from the wanted values, the collection above the place is rewritten, and
finally the change is refused. So an edit may lose comments inside the value that it replaces, but
no other comment and never a value.
"""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import yaml

from agiraph.core.errors import Refused
from agiraph.settings.yaml_text import LOADER, KeyPath, read_yaml

ONE_LINE: Final = 88
STEP: Final = 2


@dataclass(frozen=True, slots=True)
class YamlChange:
    """A value for the place `path` (keys, and numbers of list items), or its removal.

    The number after the last item adds an item. A collection that loses its last key is removed
    too.
    """

    path: KeyPath
    value: Any = None
    is_removal: bool = False


def edited(text: str, changes: Sequence[YamlChange]) -> str:
    """Return the text with these changes made, one after the other.

    Raises Refused for a place that does not exist or cannot be changed in the text, yaml.YAMLError
    for a text that is not YAML.
    """
    for change in changes:
        text = _changed(text, change)
    return text


def _changed(text: str, change: YamlChange) -> str:
    before = read_yaml(text)
    if change.is_removal:
        path = _pruned(before, change.path)
        if path is None:
            return text
        wanted = _without(before, path)
    else:
        path, wanted = change.path, _with(before, change.path, change.value)
    if _is_same(before, wanted):
        return text
    if change.is_removal and (after := _tried(text, path, wanted, _Removal())) is not None:
        return after
    above = path[:-1] if change.is_removal else path
    for depth in range(len(above), 0, -1):
        place = above[:depth]
        after = _tried(text, place, wanted, _Value(_at(wanted, place)))
        if after is not None:
            return after
    raise Refused(f"'{'.'.join(map(str, change.path))}' cannot be changed in the text as it is")


# --- the plain values -----------------------------------------------------------------------------


def _at(values: Any, path: KeyPath) -> Any:
    for part in path:
        values = values[part]
    return values


def _with(values: Any, path: KeyPath, value: Any) -> Any:
    """Return a copy of plain values with `value` at `path`; missing parents are created.

    Raises Refused.
    """
    if not path:
        return value
    part, rest = path[0], path[1:]
    if isinstance(values, list) and isinstance(part, int) and 0 <= part <= len(values):
        item = _with(values[part] if part < len(values) else None, rest, value)
        return [*values[:part], item, *values[part + 1 :]]
    if isinstance(part, int) or not isinstance(values, dict | None):
        raise Refused(f"there is no place '{part}' to set a value at")
    return {**(values or {}), part: _with((values or {}).get(part), rest, value)}


def _pruned(values: Any, path: KeyPath) -> KeyPath | None:
    """Return the path to remove with `path`: the outermost collection without other values.

    None if `path` does not exist.
    """
    try:
        _at(values, path)
    except (KeyError, IndexError, TypeError):
        return None
    while len(path) > 1 and isinstance(path[-1], str) and len(_at(values, path[:-1])) == 1:
        path = path[:-1]
    return path


def _without(values: Any, path: KeyPath) -> Any:
    changed = copy.deepcopy(values)
    del _at(changed, path[:-1])[path[-1]]
    return changed or None


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values have equal content in equal order; 1 is neither true nor 1.0."""
    return json.dumps(one, default=str) == json.dumps(other, default=str)


# --- the text -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Value:
    value: Any


@dataclass(frozen=True, slots=True)
class _Removal:
    pass


def _tried(text: str, path: KeyPath, wanted: Any, act: _Value | _Removal) -> str | None:
    """Return the text changed at `path` by `act`, None unless its values are then `wanted`."""
    try:
        after = _edit(text, path, act)
        return after if _is_same(read_yaml(after), wanted) else None
    except (yaml.YAMLError, LookupError, ValueError):
        return None


def _edit(text: str, path: KeyPath, act: _Value | _Removal) -> str:
    node = yaml.compose(text, Loader=LOADER)
    if node is None:
        return _appended(text, path, act)
    for depth, part in enumerate(path):
        place = _child(node, part)
        if place is None:
            return _added(text, node, path[depth:], act)
        if depth == len(path) - 1:
            key, value = place
            match act:
                case _Removal():
                    return _cut(text, key or value, value)
                case _Value(value=new):
                    return _replaced(text, key, value, new)
        node = place[1]
        if isinstance(node, yaml.ScalarNode):  # `models:` without a value
            return _replaced(text, *place, _nested(path[depth + 1 :], act))
    raise LookupError(path)


def _child(node: yaml.Node, part: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next((pair for pair in node.value if pair[0].value == str(part)), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return None, node.value[part]
    return None


def _nested(path: KeyPath, act: _Value | _Removal) -> Any:
    assert isinstance(act, _Value)
    value = act.value
    for part in reversed(path):
        value = [value] if isinstance(part, int) else {part: value}
    return value


def _appended(text: str, path: KeyPath, act: _Value | _Removal) -> str:
    """Return a YAML text with the value of a new top-level key at its end, after an empty line."""
    said = text.rstrip("\n")
    body = _block(_nested(path, act), 0)
    return f"{said}\n\n{body}\n" if said else f"{body}\n"


def _added(text: str, node: yaml.Node, path: KeyPath, act: _Value | _Removal) -> str:
    """Return a YAML text with a new entry at the end of the block collection `node`."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        raise LookupError(path)
    if node.start_mark.column == 0 and isinstance(node, yaml.MappingNode):
        return _appended(text, path, act)
    last = node.value[-1]
    end = _line_end(text, _end(text, last[1] if isinstance(last, tuple) else last))
    body = _block(_nested(path, act), node.start_mark.column)
    return f"{text[:end]}\n{body}{text[end:]}"


def _cut(text: str, first: yaml.Node, last: yaml.Node) -> str:
    """Return a YAML text without the lines of a block collection's entry, `first` to `last`."""
    start = text.rfind("\n", 0, first.start_mark.index) + 1
    if text[start : first.start_mark.index].strip(" -"):
        raise LookupError(start)
    end = _line_end(text, _end(text, last))
    return text[:start] + text[end + 1 :]


def _replaced(text: str, key: yaml.Node | None, old: yaml.Node, new: Any) -> str:
    """Return the text with another value; a comment in the key's line stays."""
    start = old.start_mark.index
    end = max(_end(text, old), start)
    if key is None:
        return text[:start] + _inline(new) + text[end:]
    colon = text.index(":", key.end_mark.index) + 1
    body = _inline(new)
    was_short = isinstance(old, yaml.CollectionNode) and old.flow_style and old.value
    is_long = _is_long(new, body) and not (was_short and len(body) <= ONE_LINE)
    inner = _block(new, key.start_mark.column + STEP) if is_long else None
    line = _line_end(text, colon)
    if end <= line:  # the old value is in the line of its key, or is missing
        rest = text[end:line] if end > colon else text[colon:line]
        kept = f"{text[:colon]} {body}" if inner is None else text[:colon]
        return kept + rest + (f"\n{inner}" if inner is not None else "") + text[line:]
    remark = text[colon:line] if start > line else ""
    if inner is None:
        return f"{text[:colon]} {body}{remark}{text[end:]}"
    return f"{text[:colon]}{remark}\n{inner}{text[end:]}"


def _end(text: str, node: yaml.Node) -> int:
    """Return the offset at which a value ends in the text; for a block, its last entry's end."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return max(_end(text, part) for part in (last if isinstance(last, tuple) else (last,)))
    end: int = node.end_mark.index
    return len(text[:end].rstrip()) if node.end_mark.column == 0 else end


def _line_end(text: str, index: int) -> int:
    end = text.find("\n", index)
    return len(text) if end < 0 else end


# --- new text -------------------------------------------------------------------------------------


def _is_long(value: Any, body: str) -> bool:
    """Whether a value is written in separate lines below its key (`body` is its one-line form)."""
    if isinstance(value, dict):
        return bool(value)
    if not isinstance(value, list):
        return False
    return len(body) > ONE_LINE or any(isinstance(item, dict | list) for item in value)


def _block(value: Any, indent: int) -> str:
    """Return a mapping or list as indented YAML lines; each item of a list is in one line."""
    margin = " " * indent
    if isinstance(value, list):
        return "\n".join(f"{margin}- {_inline(item)}" for item in value)
    lines = []
    for key, inner in value.items():
        body = _inline(inner)
        head = f"{margin}{_inline(str(key))}:"
        is_long = _is_long(inner, body)
        lines.append(f"{head}\n{_block(inner, indent + STEP)}" if is_long else f"{head} {body}")
    return "\n".join(lines)


def _inline(value: Any) -> str:
    """Return a value as YAML in one line."""
    if value is None:
        return "null"
    as_json = json.dumps(value, ensure_ascii=False)
    quoted = "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in as_json)
    if quoted != as_json or (isinstance(value, str) and not value.isprintable()):
        return quoted
    said = yaml.safe_dump(
        value, default_flow_style=True, width=10**9, allow_unicode=True, sort_keys=False
    )
    said = said.removesuffix("\n").removesuffix("\n...").strip()
    return quoted if "\n" in said else said
