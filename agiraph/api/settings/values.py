"""The values of settings: which are set, which are in force, their sources and remarks."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from agiraph.api.settings.files import CONFIG, SETTINGS_FILES
from agiraph.api.settings.secrets import shown_values
from agiraph.core.errors import InvalidInput
from agiraph.http.api import JsonObject, SettingView
from agiraph.settings.config import Config, configs_folder, load_config
from agiraph.settings.yaml_text import KeyPath, key_lines, parse_yaml, present, read_text

REMARK: Final = re.compile(r"(?:^|\s)#\s?(.*)$")
QUOTED: Final = re.compile(r'"[^"]*"')


def values_in(name: str, text: str) -> JsonObject:
    """Return the values of a settings file's text by key; {} if it is not a mapping."""
    try:
        found = parse_yaml(text, name)
    except InvalidInput:
        return {}
    return found if isinstance(found, dict) else {}


def rows_of(name: str, own: JsonObject, file: Path, in_force: Config) -> list[SettingView]:
    """Return a row for each setting of a file; of a file with a table, a row for each name."""
    if name == CONFIG:
        return list(_settings(own, file, in_force))
    shipped, about = _shipped(name), SETTINGS_FILES[name]
    if about.replaces and own:
        shipped = {key: shipped.get(key) for key in own}
    rows = []
    for key in [*shipped, *(key for key in own if key not in shipped)]:
        default, said = shipped.get(key), own.get(key)
        both = isinstance(default, dict) and isinstance(said, dict) and not about.whole_rows
        value = {**default, **said} if both and default and said else said
        rows.append(
            SettingView(
                key=(str(key),),
                value=shown_values(value if key in own else default),
                default=default,
                source="file" if key in own else "default",
            )
        )
    return rows


def _settings(own: JsonObject, file: Path, in_force: Config) -> Iterator[SettingView]:
    """Yield the settings; a changed value that is not in force yet is in `after_restart`."""
    defaults = _leaves(load_config())
    now = _leaves(in_force)
    try:
        later = _leaves(load_config(*present(file)))
    except InvalidInput:
        later = now
    for key, value in now.items():
        is_set = _is_set(own, key)
        differs = value != later[key]
        yield SettingView(
            key=key,
            value=shown_values(value, key),
            default=defaults[key],
            source="start" if differs else "file" if is_set else "default",
            after_restart=shown_values(later[key], key) if differs else None,
            is_pending=differs,
            about=remarks().get(key, ""),
        )


def _leaves(config: Config) -> dict[tuple[str, ...], Any]:
    """Return the values of the settings by section and key."""
    found: dict[tuple[str, ...], Any] = {}
    for name, section in config:
        if isinstance(section, BaseModel):
            plain = section.model_dump(mode="json")
            found |= {(name, key): value for key, value in plain.items()}
        else:
            found[name,] = _plain(section)
    return found


def _plain(values: Mapping[str, Any]) -> JsonObject:
    return {
        key: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for key, value in values.items()
    }


def _is_set(own: JsonObject, key: KeyPath) -> bool:
    for part in key:
        if not isinstance(own, dict) or part not in own:
            return False
        own = own[part]
    return True


@cache
def _shipped(name: str) -> JsonObject:
    file = configs_folder() / name
    return values_in(name, read_text(file))


@cache
def remarks() -> Mapping[KeyPath, str]:
    """Return the comments in the shipped agiraph.yaml, by the key path that they describe."""
    text = read_text(configs_folder() / CONFIG)
    lines = text.splitlines()
    found: dict[KeyPath, str] = {}
    for path, number in key_lines(text).items():
        said = _remark(lines[number - 1])
        for more in lines[number:] if said else []:
            if not more.strip().startswith("#"):
                break
            said = f"{said} {_remark(more)}"
        found[path] = said
    return found


def _remark(line: str) -> str:
    bare = QUOTED.sub(lambda text: "_" * len(text[0]), line)  # a quoted `#` begins no comment
    match = REMARK.search(bare)
    return " ".join(line[match.start(1) :].split()) if match else ""
