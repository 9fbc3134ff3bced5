"""Parse YAML text into plain values, within limits; libyaml, if available, is ten times as fast.

The events of a text are checked before values are made from it, so that the cost of a foreign text
is limited by its length: aliases count as their expanded values, and nesting is limited.
"""

import errno
import os
import stat
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar, Union, get_args, get_origin

import yaml
from pydantic import AliasChoices, BaseModel

from agiraph.core.errors import InvalidInput

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MOST_READ: Final = 16_000_000
MOST_CHARACTERS: Final = 1_000_000
MOST_VALUES: Final = 100_000
DEEPEST: Final = 64
TOO_DEEP: Final = f"more than {DEEPEST} levels deep"
LIBYAML_TOO_DEEP: Final = "exceeded maximum nesting depth"
LONGEST_NUMBER: Final = 128
MERGE: Final = "<<"
"""The key that merges the values of another mapping; it may occur more than once."""
NUMBERS: Final = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "timestamp"))
NUMERIC: Final = frozenset("0123456789abcdefABCDEFxXoO_:.+-TZtz")
NUMBER_BEGINS: Final = tuple("+-.0123456789")
KeyPath = tuple[str | int, ...]
Lines = dict[KeyPath, int]
"""The line of each key and list item of a text, by their path of keys and indices."""
Place = TypeVar("Place")
BROKEN = (ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError)
"""Errors of PyYAML's constructors for values that only look like a date or a number."""


def is_absent(file: Path) -> bool:
    """Whether the path of a settings file does not exist: only then the defaults apply.

    A link whose target does not exist, a folder and a file without permission are present, and
    `read_text` refuses them: a rule must not be dropped because its file cannot be read. A path
    below a file is absent: there is no home either.
    """
    try:
        os.lstat(file)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def present(*files: Path) -> list[Path]:
    """Return the settings files that are not absent."""
    return [file for file in files if not is_absent(file)]


def read_text(file: Path) -> str:
    """Return the text of a person's own file. Raises InvalidInput, which names it.

    Refuses folders, pipes, devices and more than MOST_READ characters. Links are followed. A path
    in `/dev` or `/proc` may be a pipe: the shell passes a pipe for `<(...)`.
    """
    try:
        with open(file, encoding="utf-8", opener=_open_regular) as opened:  # plain: the person's
            text = opened.read(MOST_READ + 1)
    except FileNotFoundError as error:
        if is_absent(file):
            raise InvalidInput(f"{file}: cannot be read ({error.strerror})") from None
        told = f"it is a link to {os.path.realpath(file)}, which does not exist"
        raise InvalidInput(f"{file}: cannot be read ({told})") from None
    except OSError as error:
        raise InvalidInput(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file}: is not UTF-8 text (byte {error.start})") from None
    if len(text) > MOST_READ:
        raise InvalidInput(f"{file}: has more than {MOST_READ} characters")
    return text


def _open_regular(path: str, flags: int) -> int:
    is_given_by_shell = path.startswith(("/dev/", "/proc/"))
    fd = os.open(path, flags | (0 if is_given_by_shell else os.O_NONBLOCK))  # plain: the person's
    mode = os.fstat(fd).st_mode
    if stat.S_ISREG(mode) or (is_given_by_shell and not stat.S_ISDIR(mode)):
        return fd
    os.close(fd)
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.ENXIO, "Not a regular file")


def read_yaml(
    text: str, most_characters: int = MOST_CHARACTERS, most_values: int = MOST_VALUES
) -> Any:
    """Return the values of a text, as `yaml.safe_load` does.

    Raises yaml.YAMLError, also for a text that is too long, too deep, or expands too much.
    """
    if len(text) > most_characters:
        raise yaml.YAMLError(f"{len(text)} characters; {most_characters} are possible")
    try:
        _check(text, most_values)
        return yaml.load(text, Loader=LOADER)
    except yaml.MarkedYAMLError as error:
        # libyaml reads ahead for the key of a mapping: it reaches its own depth limit, if it has
        # one, before the first event that `_check` could count.
        if error.problem == LIBYAML_TOO_DEEP:
            error.problem = TOO_DEEP
        raise
    except BROKEN as error:
        raise yaml.YAMLError(f"a value cannot be read: {error}"[:200]) from None


def parse_yaml(
    text: str,
    name: str,
    most_characters: int = MOST_CHARACTERS,
    most_values: int = MOST_VALUES,
) -> Any:
    """Return the values in the text of a file. Raises InvalidInput with the file and the line."""
    try:
        return read_yaml(text, most_characters, most_values)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidInput(f"{name}:{line}: is not YAML ({error.problem})") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InvalidInput(f"{name}:{line}: is not YAML ({error.reason})") from None
    except yaml.YAMLError as error:
        raise InvalidInput(f"{name}: is not YAML ({error})") from None


def key_lines(text: str) -> Lines:
    """Return the line of each entry in a text that `read_yaml` has accepted."""
    lines: Lines = {}
    _collect_lines(yaml.compose(text, Loader=LOADER), (), lines)
    return lines


def nearest(path: KeyPath, places: Mapping[KeyPath, Place]) -> Place | None:
    """Return the place of a path, else of its nearest parent that has a place."""
    return next((places[path[:n]] for n in range(len(path), 0, -1) if path[:n] in places), None)


def _collect_lines(node: yaml.Node | None, path: KeyPath, lines: Lines) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*path, str(key.value))
            lines[here] = key.start_mark.line + 1
            _collect_lines(value, here, lines)
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            lines[*path, number] = item.start_mark.line + 1
            _collect_lines(item, (*path, number), lines)


class _OpenCollection:
    """A mapping or sequence whose end has not been read, and the keys of a mapping so far."""

    def __init__(self, event: yaml.CollectionStartEvent, counted: int) -> None:
        self.anchor: str | None = event.anchor
        self.counted_before = counted
        self._keys: dict[tuple[str, bool], int] | None = None
        if isinstance(event, yaml.MappingStartEvent):
            self._keys = {}
        self._expects_key = True

    def add(self, event: yaml.NodeEvent) -> None:
        """Record a member. Raises yaml.MarkedYAMLError for a duplicate key of the mapping."""
        if self._keys is None:
            return
        is_key, self._expects_key = self._expects_key, not self._expects_key
        if not is_key or not isinstance(event, yaml.ScalarEvent) or event.value == MERGE:
            return
        key = event.value, _is_number(event)
        if key in self._keys:
            first = self._keys[key]
            raise _refused(event, f"the key '{event.value}' is in line {first} already")
        self._keys[key] = event.start_mark.line + 1 if event.start_mark else 0


def _check(text: str, most_values: int) -> None:
    """Raise yaml.YAMLError if a text has too many values, too deep nesting or too many aliases."""
    counted = 0
    sizes: dict[str | None, int] = {}
    open_: list[_OpenCollection] = []
    for event in yaml.parse(text, Loader=LOADER):
        if open_ and isinstance(event, yaml.NodeEvent):
            open_[-1].add(event)
        match event:
            case yaml.CollectionStartEvent():
                open_.append(_OpenCollection(event, counted))
                counted += 1
                if len(open_) > DEEPEST:
                    raise _refused(event, TOO_DEEP)
            case yaml.CollectionEndEvent():
                ended = open_.pop()
                sizes |= {ended.anchor: counted - ended.counted_before} if ended.anchor else {}
            case yaml.ScalarEvent(anchor=anchor):
                counted += 1
                sizes |= {anchor: 1} if anchor else {}
                if len(event.value) > LONGEST_NUMBER and _is_number(event):
                    raise _refused(event, f"a number of {len(event.value)} characters")
            case yaml.AliasEvent(anchor=anchor):
                if any(anchor == around.anchor for around in open_):
                    raise _refused(event, f"*{anchor} stands in itself")
                counted += sizes.get(anchor or "", 1)
        if counted > most_values:
            raise _refused(
                event, f"more than {most_values} values, an alias counts as all it holds"
            )


def _is_number(event: yaml.ScalarEvent) -> bool:
    """Whether PyYAML may convert a scalar to a number or a date."""
    looks_like_one = event.value.startswith(NUMBER_BEGINS) and NUMERIC.issuperset(event.value)
    return event.tag in NUMBERS or (event.implicit[0] and looks_like_one)


def _refused(event: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


# --- forms: the keys of nested pydantic models ---


def keys_of(model: type[BaseModel], name: str) -> list[str]:
    """Return the keys accepted for a field, the usual one first."""
    alias = model.model_fields[name].validation_alias
    return [str(choice) for choice in alias.choices] if isinstance(alias, AliasChoices) else [name]


def model_at(form: type[BaseModel], path: KeyPath) -> type[BaseModel]:
    """Return the pydantic model of the value at a key path, or of the nearest enclosing value."""
    model = form
    for part in path:
        field = model.model_fields.get(str(part))
        model = (_model_in(field.annotation) if field else None) or model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the model inside an annotation such as `tuple[GraphNode, ...]`."""
    if get_origin(annotation) in (tuple, Union, types.UnionType):
        inside = (_model_in(argument) for argument in get_args(annotation))
        return next((model for model in inside if model), None)
    is_model = isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return annotation if is_model else None
