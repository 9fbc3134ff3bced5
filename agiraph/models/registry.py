"""The known model services, the names of models, and the default model.

The table is `configs/providers.yaml`, overridden by the person's own `{home}/providers.yaml`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from pydantic import Field, ValidationError, field_validator

from agiraph.core.errors import InvalidInput, unknown
from agiraph.core.ids import TEXT_PREFIX
from agiraph.core.record import misfit_in_words
from agiraph.foreign.proxies import is_loopback, proxy_for
from agiraph.models.local_weights import HONESTLY, own_name, why_not
from agiraph.settings.config import Config, ConfigSection, configs_folder
from agiraph.settings.yaml_text import is_absent, key_lines, nearest, parse_yaml, read_text

JsonObject = dict[str, Any]
SURVEY = "script/survey"
WITHOUT_KEY = (
    "name a local model (--model ollama/NAME), or the script that surveys a folder without a "
    f"model (--model {SURVEY} --input DIR)"
)
NO_KEY = (
    "no model is named, and no provider's key is set; possible: set a key where the supervisor "
    f"starts (export ANTHROPIC_API_KEY=...), {WITHOUT_KEY}; `agiraph init` shows what is here"
)
NO_KEY_OFFLINE = f"no model is named, and models.offline is set; possible: {WITHOUT_KEY}"
OFFLINE = "models.offline is set, and this is not on this machine"
UNKNOWN_WINDOW = 32_768
BUILT_IN = ("script", "local", "replay")  # answered in the broker itself: no address, no key
DATE = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2}|latest)$")
Row = TypeVar("Row", bound=ConfigSection)

Api = Literal["anthropic", "openai", "responses", "google", "script", "local", "replay"]


MERGED: Final[JsonObject] = {"merged": True}
"""Marks a table in a schema whose shipped rows are merged with a person's rows."""


class ModelTraits(ConfigSection):
    """The properties of a service's models, which may differ between them.

    `tool_mode` is how a model receives tools; `none`: it has none, and its first answer is the
    result. `strength` is shown to coordinators, which choose models for their workers. `vision`: it
    sees pictures; other models get a line of text instead. `effort` is for models that reason;
    `extra` is added to every request (a value of null removes a field).
    """

    api: Api
    context: int | None = Field(None, ge=1)
    max_output: int | None = Field(None, ge=1)
    max_tokens_field: str = "max_tokens"
    tool_mode: Literal["native", "text", "none"] = "native"
    structured: Literal["native", "text"] = "text"
    cache: Literal["marks", "automatic", "none"] = "automatic"
    reasoning: Literal["kept", "dropped"] = "kept"
    effort: str | None = None
    strength: Literal["strong", "medium", "light"] | None = None
    vision: bool = False
    extra: JsonObject = Field(default_factory=dict)


class ProviderPreset(ModelTraits):
    """One model service. `key_env` and `base_url_env` name variables; nothing here is secret.

    Of several variables for its key the first one that is set is used. `model` (a file), `threads`
    and `idle_seconds` belong to the local model alone. `models` has the deviations of single
    models: by name, by name without its date, or by a pattern (`gpt-5*`).
    """

    base_url: str | None = None
    base_url_env: str | None = None
    key_env: str | tuple[str, ...] | None = None
    needs_key: bool = True
    default_model: str | None = None
    local: bool = False
    headers: dict[str, str] = Field(default_factory=dict)
    contexts: dict[str, int] = Field(default_factory=dict, json_schema_extra=MERGED)
    model: str | None = None
    threads: int | None = Field(default=None, ge=1)
    idle_seconds: float = Field(default=300, gt=0)
    models: dict[str, JsonObject] = Field(default_factory=dict, json_schema_extra=MERGED)

    @field_validator("models")
    @classmethod
    def _are_traits(cls, models: dict[str, JsonObject]) -> dict[str, JsonObject]:
        for name, values in models.items():
            for key in values:
                if key not in ModelTraits.model_fields:
                    known = ", ".join(sorted(ModelTraits.model_fields))
                    raise ValueError(f"unknown key '{key}' of {name} (known: {known})")
            ModelTraits.model_validate({"api": "openai"} | values)
        return models

    def of(self, model: str) -> "ProviderPreset":
        """Return this preset with the values that differ for one model."""
        values = self.models.get(model) or self.models.get(undated(model))
        if values is None:
            patterns = (name for name in self.models if fnmatchcase(model, name))
            values = self.models.get(next(patterns, ""))
        return type(self).model_validate(self.model_dump() | values) if values else self

    def url(self, environ: Mapping[str, str]) -> str | None:
        """Return the URL of the service, from `environ` or the preset."""
        return environ.get(self.base_url_env or "") or self.base_url

    @property
    def key_names(self) -> tuple[str, ...]:
        """The variables that may contain the service's key, in order of precedence."""
        return (self.key_env,) if isinstance(self.key_env, str) else self.key_env or ()

    def key_name(self, environ: Mapping[str, str]) -> str | None:
        """Return the variable that contains the service's key, None if none does."""
        return next((name for name in self.key_names if environ.get(name)), None)

    def key(self, environ: Mapping[str, str]) -> str | None:
        """Return the service's key from the environment, None if no key variable is set."""
        return environ.get(self.key_name(environ) or "") or None

    def window(self, model: str) -> int:
        """Return the context window of a model in tokens, with or without a date in its name."""
        return self.known_window(model) or UNKNOWN_WINDOW

    def known_window(self, model: str) -> int | None:
        """Return the context window of a model in tokens, None if the table does not have it."""
        known = self.contexts.get(model) or self.contexts.get(undated(model))
        return known or self.of(model).context

    def answer_tokens(self, model: str, wanted: int) -> int:
        """Return `wanted`, or the model's longest answer in tokens if that is less."""
        most = self.of(model).max_output
        return wanted if most is None else min(wanted, most)

    def is_usable(self, environ: Mapping[str, str]) -> bool:
        """Whether a call could be made: the service has a URL, and a key if it needs one."""
        return why_unusable(self, environ) is None

    def is_on_this_machine(self, environ: Mapping[str, str]) -> bool:
        """Whether calls of the service never leave this machine."""
        if self.api in BUILT_IN:
            return True
        return self.local and is_loopback(self.url(environ) or "")

    @property
    def usual_model(self) -> str | None:
        """The model to use if only the provider is named; a person's own file comes first."""
        return own_name(self.model) if self.api == "local" and self.model else self.default_model


def undated(model: str) -> str:
    """Return a model's name without the date at its end."""
    return DATE.sub("", model)


def why_unusable(preset: ProviderPreset, environ: Mapping[str, str]) -> str | None:
    """Return the missing requirement of a service, None if it can be called."""
    if preset.api == "local":
        return why_not(preset.model)
    if preset.api in BUILT_IN:
        return None
    url = preset.url(environ)
    if url is None:
        variable = preset.base_url_env
        return f"{variable} is not set" if variable else "has no base_url in its preset"
    try:
        proxy_for(url, environ)
    except InvalidInput as error:
        return str(error)
    if not preset.needs_key or preset.local or preset.key(environ) is not None:
        return None
    names = " or ".join(preset.key_names)
    return f"{names} is not set" if names else "has no key_env in its preset"


@dataclass(frozen=True, slots=True)
class ModelName:
    """A model's full name: the provider, and the provider's name for it.

    `in_text`: the model has no tool calling, and gets tools as text (`text_tools`).
    """

    provider: str
    name: str
    in_text: bool = False

    @property
    def plain(self) -> str:
        """The name in the table of prices: `provider/name`."""
        return f"{self.provider}/{self.name}"

    def __str__(self) -> str:
        """Return `provider/name`, or `text:provider/name`."""
        return f"{TEXT_PREFIX}{self.plain}" if self.in_text else self.plain


def load_presets(*files: Path) -> dict[str, ProviderPreset]:
    """Return the known providers by name: the shipped ones, overridden by existing `files`.

    Raises InvalidInput with the file and the key for a row that is not a valid preset.
    """
    presets = dict(_shipped_presets())
    for file in files:
        _lay_over(presets, file)
    return presets


@cache
def _shipped_presets() -> Mapping[str, ProviderPreset]:
    """Return the shipped providers; read once, as every coordinator and worker needs them."""
    presets: dict[str, ProviderPreset] = {}
    _lay_over(presets, configs_folder() / "providers.yaml")
    return presets


def _lay_over(presets: dict[str, ProviderPreset], file: Path) -> None:
    """Add the providers in a file to `presets`; values of known providers are overridden."""
    for name, values in read_table(file).items():
        if not isinstance(values, dict) or "/" in name:
            raise InvalidInput(f"{file}: {name}: expected a name and `key: value` lines")
        base = presets[name].model_dump() if name in presets else {}
        presets[name] = read_row(file, name, ProviderPreset, _overridden(base, values))


def read_row(file: Path, name: str, kind: type[Row], values: object) -> Row:
    """Return a row of a table as a record. Raises InvalidInput with the file, line and key."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        problem = error.errors()[0]
        path = (name, *problem["loc"])
        line = nearest(path, key_lines(read_text(file)))
        key = ".".join(map(str, path))
        raise InvalidInput(f"{file}:{line or 1}: {key}: {misfit_in_words(problem)}") from None


def _overridden(base: JsonObject, values: JsonObject) -> JsonObject:
    """Return `base` overridden by `values`; tables of single models are merged."""
    tables = {
        key: base[key] | values[key]
        for key in ("models", "contexts")
        if isinstance(base.get(key), dict) and isinstance(values.get(key), dict)
    }
    return base | values | tables


def read_table(file: Path) -> JsonObject:
    """Return the mapping in a YAML file, empty if there is no file. Raises InvalidInput."""
    if is_absent(file):
        return {}
    values = parse_yaml(read_text(file), str(file))
    if values is None:
        return {}
    if not isinstance(values, dict):
        raise InvalidInput(f"{file}:1: expected `name:` with its values under it")
    return {str(name): value for name, value in values.items()}


def parse_model(text: str, presets: Mapping[str, ProviderPreset]) -> ModelName:
    """Return the model named by `provider/name` (or `provider` alone), with or without `text:`.

    Raises InvalidInput for an unknown provider, listing the known ones, or a missing name.
    """
    full = text.strip().removeprefix(TEXT_PREFIX)
    provider, slash, name = full.partition("/")
    if provider not in presets:
        hint = f" in model '{text}' (a model is named provider/name)" if provider != full else ""
        meant = _named_like(provider, presets) if provider == full else ""
        error = unknown("provider", provider, list(presets), meant=[meant] if meant else ())
        raise InvalidInput(f"{error}{hint}")
    usual = presets[provider].usual_model
    if not name and (slash or not usual):
        alone = f", or {provider} alone for {provider}/{usual}" if usual else ""
        raise InvalidInput(f"model '{text}': which one? write {provider}/NAME{alone}")
    name = name or usual or ""
    in_text = text.strip().startswith(TEXT_PREFIX) and presets[provider].api not in BUILT_IN
    return ModelName(provider, name, in_text)


def preset_of(model: str, presets: Mapping[str, ProviderPreset]) -> ProviderPreset | None:
    """Return the service named in a model's name, None if the service is unknown."""
    return presets.get(model.strip().removeprefix(TEXT_PREFIX).partition("/")[0])


def only_writes(model: str, presets: Mapping[str, ProviderPreset]) -> bool:
    """Whether a model runs on this machine and in a team of roles only writes text.

    A playbook is excluded: it has its own actions.
    """
    preset = preset_of(model, presets)
    return preset is not None and preset.local and preset.api != "script"


def _named_like(model: str, presets: Mapping[str, ProviderPreset]) -> str:
    """Return the `provider/name` for a model's bare name, or a similar provider; '' if unknown.

    Of several providers the first is used.
    """
    known = [
        (name, provider)
        for provider, preset in presets.items()
        for name in (*preset.models, *preset.contexts, preset.default_model or "")
        if "/" not in name
    ]
    for name, provider in known:
        if fnmatchcase(model, name):
            return f"{provider}/{model}"
    named = {name.rstrip("*"): f"{provider}/{name.rstrip('*')}" for name, provider in known[::-1]}
    close = get_close_matches(model, [*presets, *named], n=1, cutoff=0.7)
    return named.get(close[0], close[0]) if close else ""


def usable(
    presets: Mapping[str, ProviderPreset], environ: Mapping[str, str], *, offline: bool = False
) -> tuple[JsonObject, ...]:
    """Return a row of `ModelCatalog` per provider: whether it is usable, and why not."""
    return tuple(
        {
            "name": name,
            "usable": preset.is_usable(environ) and not is_out_of_reach(preset, environ, offline),
            "reason": _reason(preset, environ, offline=offline),
            "default_model": f"{name}/{preset.usual_model}" if preset.usual_model else None,
            "base_url": preset.url(environ),
            "api": preset.of(preset.default_model or "").api,
            "local": preset.local,
            "context": preset.window(preset.default_model or ""),
            "max_output": preset.of(preset.default_model or "").max_output,
            "tool_mode": preset.of(preset.default_model or "").tool_mode,
        }
        for name, preset in presets.items()
    )


def is_out_of_reach(preset: ProviderPreset, environ: Mapping[str, str], offline: bool) -> bool:
    """Whether calls of a service are refused because no data may leave this machine (`offline`)."""
    return offline and not preset.is_on_this_machine(environ)


def _reason(preset: ProviderPreset, environ: Mapping[str, str], *, offline: bool) -> str:
    if is_out_of_reach(preset, environ, offline):
        return OFFLINE
    if (missing := why_unusable(preset, environ)) is not None:
        return missing
    if preset.api == "replay":
        return "built in: plays a recorded run again: replay/FILE"
    if preset.api == "script":
        return "built in: plays a playbook, needs no key and no network"
    if preset.api == "local":
        what = f"runs {preset.model} on this machine" if preset.model else ""
        return what or f"runs on this machine; {HONESTLY}"
    if (key := preset.key_name(environ)) is not None:
        return f"{key} is set"
    return "needs no key; whether it runs is seen at the first call"


def pick_default(
    config: Config, presets: Mapping[str, ProviderPreset], environ: Mapping[str, str]
) -> tuple[str | None, str]:
    """Return the default model, and the reason for it; None, and a remedy, if there is none.

    It is `models.default` of the settings, else the default of the first provider with a key.
    """
    if config.models.default:
        return str(parse_model(config.models.default, presets)), "models.default in the settings"
    for name, preset in presets.items():
        if is_out_of_reach(preset, environ, config.models.offline):
            continue
        is_meant = preset.key(environ) is not None and not preset.local
        if preset.default_model and is_meant and preset.is_usable(environ):
            return f"{name}/{preset.default_model}", f"{preset.key_name(environ)} is set"
    return None, NO_KEY_OFFLINE if config.models.offline else NO_KEY


def check_folder(model: str, folder: str | None) -> None:
    """Raise InvalidInput if `model` is the survey playbook and no folder to survey is given."""
    if folder is None and model.removeprefix(TEXT_PREFIX) in (SURVEY, SURVEY.partition("/")[0]):
        raise InvalidInput(f"{SURVEY} surveys a folder, and none is named; possible: --input DIR")
