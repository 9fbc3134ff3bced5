"""The values in force, and the source of each: `agiraph config`."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click

from agiraph.storage.home import HOME_VARIABLE, Home
from agiraph.storage.project_file import RUN_KEYS, ProjectFile, project_file
from cli.options.shared import settings_of
from cli.output.listing import Column, JsonObject, Listing

DEFAULT: Final = "default"
OPTION: Final = "--home"
ELSEWHERE: Final = {
    "model": ("models.default",),
    "worker-model": ("models.worker",),
    "cycle": ("run.cycle_seconds",),
    "budget": ("budgets.run_usd", "budgets.run_tokens"),
    "when-spent": ("budgets.when_spent",),
}
"""The settings that apply if neither the command line nor the project file has the option."""
SECRET: Final = ("channels", "mcp")
SOURCES: Final = (
    Column("KEY", "key"),
    Column("VALUE", "value", wide=True),
    Column("FROM", "from"),
)


def sources(home: Path, *, is_named: bool) -> Listing:
    """Return the changed settings and their sources; `is_named`: the command line names the home.

    A key `run.model` is an option of `agiraph run`, any other a setting. Raises InvalidInput.
    """
    file = project_file()
    rows = [_of_home(home, file, is_named=is_named)]
    set_there = dict(_of_settings(home))
    usual = _leaves(settings_of(home).model_dump(mode="json"))
    run = dict(file.run) if file is not None else {}
    for key in RUN_KEYS:
        others = ELSEWHERE.get(key, ())
        if file is not None and key in run:
            rows.append(_row(f"run.{key}", run[key], file.path))
        elif others:
            found = next((one for one in others if one in set_there), others[0])
            rows.append(_row(f"run.{key}", usual.get(found), set_there.get(found, DEFAULT)))
    rows += [_row(key, usual.get(key), source) for key, source in sorted(set_there.items())]
    return Listing(rows, SOURCES, "")


def _row(key: str, value: Any, source: Path | str) -> JsonObject:
    shown = ", ".join(map(str, value)) if isinstance(value, list) else value
    return {"key": key, "value": "" if shown is None else shown, "from": str(source)}


def _of_home(home: Path, file: ProjectFile | None, *, is_named: bool) -> JsonObject:
    if is_named:
        return _row("home", home, OPTION)
    if os.environ.get(HOME_VARIABLE):
        return _row("home", home, HOME_VARIABLE)
    return _row("home", home, file.path if file is not None and file.home else DEFAULT)


def _of_settings(home: Path) -> Iterator[tuple[str, Path]]:
    """Yield each key that the settings of a home change, without keys that may be secret."""
    from agiraph.settings.yaml_text import is_absent, read_text, read_yaml

    own = Home(home).config
    values = None if is_absent(own) else read_yaml(read_text(own))
    for key in _leaves(values or {}):
        if key.partition(".")[0] not in SECRET:
            yield key, own


def _leaves(values: JsonObject, above: str = "") -> JsonObject:
    """Return the values of nested tables by their dotted keys."""
    found: JsonObject = {}
    for key, value in values.items():
        name = f"{above}{key}"
        found |= _leaves(value, f"{name}.") if isinstance(value, dict) and value else {name: value}
    return found


def is_on_the_line(ctx: click.Context, option: str) -> bool:
    """Whether an option is given on the command line."""
    return ctx.get_parameter_source(option) is click.core.ParameterSource.COMMANDLINE
