"""Secrets in settings files: hidden from readers, kept in changes.

A hidden value is shown as BLOT. BLOT at the same place in a changed text stands for the stored
value. A new secret is refused: it belongs in a variable, `${NAME}`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import yaml

from agiraph.core.redaction import BLOT, redact_text
from agiraph.http.api import SettingsProblemView
from agiraph.settings.channels import SECRETS, shown_url
from agiraph.settings.variables import VARIABLE
from agiraph.settings.yaml_text import LOADER, KeyPath, read_yaml

QUOTED: Final = f'"{BLOT}"'
ADVICE: Final = "write ${NAME} there, and set the variable where the supervisor starts"


@dataclass(frozen=True, slots=True)
class HiddenValue:
    """A value at key `path` that is not shown.

    `raw` is its source, at index `start` of the text.
    """

    path: KeyPath
    start: int
    line: int
    raw: str
    may_be_written: bool


def shown(text: str) -> str:
    """Return the text of a settings file with its secrets replaced by BLOT."""
    return redact_text(_without(text, _hidden(text)))


def shown_values(value: Any, path: KeyPath = ()) -> Any:
    """Return the values of a settings file with their secrets replaced by BLOT."""
    if isinstance(value, dict):
        return {key: shown_values(inner, (*path, str(key))) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [shown_values(inner, (*path, number)) for number, inner in enumerate(value)]
    if isinstance(value, str) and _why_hidden(path, value) is not None:
        return BLOT
    return value


def restored(text: str, before: str) -> str:
    """Return a text in which each BLOT is replaced by the value at its place in `before`."""
    kept = {one.path: one.raw for one in _hidden(before)}
    places = [
        (node.start_mark.index, text[node.start_mark.index : node.end_mark.index], kept[path])
        for path, node in _scalars(text)
        if node.value == BLOT and path in kept
    ]
    return _replaced(text, places)


def new_secrets(text: str, before: str) -> Iterator[SettingsProblemView]:
    """Yield a problem for each secret in a text that `before` does not contain."""
    known = {(one.path, one.raw) for one in _hidden(before)}
    hidden = _hidden(text)
    for one in hidden:
        if not one.may_be_written and (one.path, one.raw) not in known:
            name = ".".join(map(str, one.path))
            detail = f"{name}: a secret does not belong into this file: {ADVICE}"
            yield SettingsProblemView(line=one.line, key=one.path, detail=detail)
    lines_before = set(_without(before, _hidden(before)).splitlines())
    for number, line in enumerate(_without(text, hidden).splitlines(), start=1):
        if redact_text(line) != line and line not in lines_before:
            detail = f"this line seems to contain a secret: {ADVICE}"
            yield SettingsProblemView(line=number, detail=detail)


def _why_hidden(path: KeyPath, value: str) -> bool | None:
    """Return None for a value that may be shown, otherwise whether it may still be written."""
    if value == BLOT:
        return False  # it stands for a value that is missing
    if VARIABLE.fullmatch(value) or not value:
        return None
    match path:
        case ("channels", _, "url") if shown_url(value) != value:
            return redact_text(value) == value
        case ("channels", _, str(key)) if key in SECRETS:
            return False
        case ("mcp", "servers", _, "env" | "headers", _) if not VARIABLE.search(value):
            return redact_text(value) == value
    return None if redact_text(value) == value else False


def _hidden(text: str) -> list[HiddenValue]:
    """Return the scalars of a text that are not shown, none if it is not YAML."""
    found = []
    for path, node in _scalars(text):
        may_be_written = _why_hidden(path, node.value)
        if may_be_written is not None:
            start = node.start_mark.index
            raw = text[start : node.end_mark.index]
            found.append(HiddenValue(path, start, node.start_mark.line + 1, raw, may_be_written))
    return found


def _scalars(text: str) -> Iterator[tuple[KeyPath, yaml.ScalarNode]]:
    try:
        read_yaml(text)  # bounds the input
        node = yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError:
        return
    waiting: list[tuple[KeyPath, yaml.Node | None]] = [((), node)]
    while waiting:
        path, node = waiting.pop()
        match node:
            case yaml.ScalarNode():
                yield path, node
            case yaml.MappingNode():
                waiting += [((*path, str(key.value)), value) for key, value in node.value]
            case yaml.SequenceNode():
                waiting += [((*path, n), item) for n, item in enumerate(node.value)]


def _without(text: str, hidden: list[HiddenValue]) -> str:
    return _replaced(text, [(one.start, one.raw, QUOTED) for one in hidden])


def _replaced(text: str, places: Iterable[tuple[int, str, str]]) -> str:
    for start, old, new in sorted(places, reverse=True):
        text = text[:start] + new + text[start + len(old) :]
    return text
