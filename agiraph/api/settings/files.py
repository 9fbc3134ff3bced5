"""SETTINGS_FILES: the YAML files that a person may write in a home, and their checks.

A text is checked as the processes would read it: in a temporary folder, beside copies of the other
files of its home.
"""

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from pydantic import BaseModel

from agiraph.core.errors import InvalidInput
from agiraph.core.roles import SECTION, roles_of
from agiraph.external.preset import AgentPreset, load_agents
from agiraph.http.api import JsonObject, SettingsProblemView
from agiraph.models.prices import Price, load_prices
from agiraph.models.registry import (
    ModelTraits,
    ProviderPreset,
    load_presets,
    parse_model,
    read_table,
)
from agiraph.settings.config import Config, load_config
from agiraph.settings.yaml_text import (
    KeyPath,
    Lines,
    is_absent,
    key_lines,
    present,
    read_text,
    read_yaml,
)
from agiraph.tools.approvals.policy import ApprovalRule
from agiraph.tools.approvals.policy_file import policy_file, read_policy
from agiraph.tools.table import tool_names

CONFIG: Final = "agiraph.yaml"
PROVIDERS: Final = "providers.yaml"
AGENTS: Final = "agents.yaml"
PLACED: Final = re.compile(r"^\S*?(?P<file>[a-z]+\.yaml)(?::(?P<line>\d+))?: (?P<detail>.*)$")
"""One line of an InvalidInput: the file, its line, the problem."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """One settings file: its purpose, when a change takes effect, its reader and its schema.

    `load` reads the file of a home, merged with the shipped one. `replaces`: it is used instead of
    the shipped file; `whole_rows`: each of its rows replaces the shipped row.
    """

    name: str
    about: str
    takes_effect: str
    load: Callable[[Path], object]
    schema: Callable[[], JsonObject]
    replaces: bool = False
    whole_rows: bool = False


def _table_of(row: type[BaseModel]) -> Callable[[], JsonObject]:
    def schema() -> JsonObject:
        shape = row.model_json_schema()
        shared = shape.pop("$defs", {})
        return {"type": "object", "additionalProperties": shape, "$defs": shared}

    return schema


def _providers() -> JsonObject:
    """Return the JSON Schema of providers.yaml, including the traits of a single model."""
    shape = _table_of(ProviderPreset)()
    traits = ModelTraits.model_json_schema()
    traits.pop("required", None)
    shape["additionalProperties"]["properties"]["models"]["additionalProperties"] = traits
    return shape


def _rules() -> JsonObject:
    rule = ApprovalRule.model_json_schema()
    for name in ("tool", "worker"):
        one = {"type": "string"}
        rule["properties"][name] |= {"anyOf": [one, {"type": "array", "items": one}]}
    rules = {"type": "array", "items": rule}
    return {"type": "object", "properties": {"rules": rules}, "required": ["rules"]}


def _load_agents_and_roles(home: Path) -> None:
    """Read agents.yaml and its team of roles. Raises InvalidInput with the lines."""
    load_agents(home)
    file = home / AGENTS
    try:
        roles_of(read_table(file).get(SECTION) or {})
    except InvalidInput as error:
        lines = lines_of(read_text(file))
        by_name = {".".join(map(str, path)): line for path, line in lines.items()}
        first = by_name.get(SECTION, 1)
        raise InvalidInput(
            "\n".join(
                f"{file}:{by_name.get(one.partition(': ')[0], first)}: {one}"
                for one in str(error).splitlines()
            )
        ) from None


_FILES: Final = (
    SettingsFile(
        CONFIG,
        "All settings that differ from the defaults.",
        "when the supervisor starts again (agiraph down, agiraph up)",
        lambda home: load_config(*present(home / CONFIG)),
        Config.model_json_schema,
    ),
    SettingsFile(
        "approvals.yaml",
        "Which actions of a team need your approval. It replaces the shipped rules.",
        "at once, from the next action on",
        lambda home: read_policy(policy_file(home), tool_names()),
        _rules,
        replaces=True,
    ),
    SettingsFile(
        PROVIDERS,
        "Model services of your own, and what differs from the shipped ones.",
        "with the next run, a new key when the broker starts again (agiraph restart broker); for "
        "an entity at its next start",
        lambda home: load_presets(home / PROVIDERS),
        _providers,
    ),
    SettingsFile(
        "prices.yaml",
        "What models cost, in US dollars per million tokens.",
        "when the broker starts again (agiraph restart broker)",
        lambda home: load_prices(home / "prices.yaml"),
        _table_of(Price),
        whole_rows=True,
    ),
    SettingsFile(
        AGENTS,
        "External agents of your own, what differs from the shipped ones, and the team of roles.",
        "at once, for every external agent and every task of the team that begins from now on",
        _load_agents_and_roles,
        _table_of(AgentPreset),
    ),
)
SETTINGS_FILES: Final[Mapping[str, SettingsFile]] = {file.name: file for file in _FILES}


def problems_of(home: Path, name: str, text: str) -> tuple[SettingsProblemView, ...]:
    """Return the problems of a text as the file `name` of a home, in order."""
    with tempfile.TemporaryDirectory(prefix="agiraph-settings-") as folder:
        trial = Path(folder)
        for file in SETTINGS_FILES:
            if file != name and not is_absent(home / file):
                with suppress(InvalidInput):  # the other file's problems are reported there
                    text_of_other = read_text(home / file)
                    (trial / file).write_text(text_of_other, "utf-8")  # plain: a new folder
        (trial / name).write_text(text, "utf-8")  # plain: the same
        try:
            SETTINGS_FILES[name].load(trial)
        except InvalidInput as error:
            return tuple(_placed(name, str(error), text))
        if name in (CONFIG, PROVIDERS):
            return tuple(_unknown_models(trial, name, text))
    return ()


def _placed(name: str, said: str, text: str) -> Iterator[SettingsProblemView]:
    """Yield the problems in an error's text, each at its line; line 1 if it names none."""
    for row in said.splitlines():
        found = PLACED.match(row)
        if found is None:
            yield SettingsProblemView(line=1, detail=row.strip())
            continue
        line = int(found["line"] or 1) if found["file"] == name else 1
        key = _key_at(text, line, found["detail"])
        yield SettingsProblemView(line=line, key=key, detail=found["detail"])


def _key_at(text: str, line: int, detail: str) -> KeyPath:
    """Return the key that a problem's text begins with, or the only deepest key of its line."""
    found = [path for path, at in lines_of(text).items() if at == line]
    named = detail.partition(": ")[0]
    for path in found:
        if ".".join(map(str, path)) == named:
            return path
    longest = max((len(path) for path in found), default=0)
    deepest = [path for path in found if len(path) == longest]
    return deepest[0] if len(deepest) == 1 else ()


def lines_of(text: str) -> Lines:
    """Return the line numbers of a text's keys, empty if it is not YAML."""
    try:
        read_yaml(text)  # bounds the input
        return key_lines(text)
    except yaml.YAMLError:
        return {}


def _unknown_models(trial: Path, name: str, text: str) -> Iterator[SettingsProblemView]:
    """Yield a problem for each named model that the providers do not have."""
    try:
        config, presets = load_config(*present(trial / CONFIG)), load_presets(trial / PROVIDERS)
    except InvalidInput:
        return  # the other file was invalid before
    lines = lines_of(text) if name == CONFIG else {}
    for path, model in _models_named(config):
        try:
            parse_model(model, presets)
        except InvalidInput as error:
            where = "" if name == CONFIG else f"{CONFIG}: "
            detail = f"{where}{'.'.join(map(str, path))}: {error}"
            line = lines.get(path) or lines.get(path[:2]) or 1
            yield SettingsProblemView(line=line, key=path if name == CONFIG else (), detail=detail)


def _models_named(config: Config) -> Iterator[tuple[KeyPath, str]]:
    models = config.models
    for key, model in (("default", models.default), ("worker", models.worker)):
        if model:
            yield ("models", key), model
    for asked, instead in models.fallbacks.items():
        for number, model in enumerate(instead):
            yield ("models", "fallbacks", asked, number), model
