"""`agiraph init`: the models and tools that a team can use here, and its default model."""

import asyncio
import os
import time
from dataclasses import dataclass
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING

import click

from agiraph.core.errors import InvalidInput, Refused
from agiraph.storage.home import Home
from cli.exits import DONE, FAILED
from cli.options.everywhere import remark
from cli.options.shared import examples, home_option, json_option, settings_of
from cli.output.formats import yes_or_no
from cli.output.listing import Column, JsonObject, Listing, print_json
from cli.run.screen import can_prompt

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agiraph.models.registry import ProviderPreset
    from agiraph.settings.config import Config

    Presets = Mapping[str, ProviderPreset]

FOUND = (
    Column("KIND", "kind"),
    Column("NAME", "name"),
    Column("FOUND", "found", yes_or_no),
    Column("WHAT, OR HOW TO GET IT", "about", wide=True, wraps=True),
)
HINTS = {
    "key": "export ANTHROPIC_API_KEY=...",
    "server": "they do not answer",
    "agent": "see agiraph outside",
}
TRY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Discovery:
    """The discovered items: the rows of the table, and the possible default models, best first."""

    rows: tuple[JsonObject, ...]
    models: tuple[str, ...]


@click.command(
    epilog=examples(
        "agiraph init", "agiraph init --yes --try", "agiraph init --model ollama/qwen3 --yes"
    )
)
@click.option("-m", "--model", help="The default model [default: the first that is found].")
@click.option("-y", "--yes", is_flag=True, help="Write the settings without asking.")
@click.option("--try", "is_tried", is_flag=True, help="Call the model once; it may cost a little.")
@home_option
@json_option("one JSON object: found (array), model, settings, written, answer")
def init(model: str | None, yes: bool, is_tried: bool, home: Path, as_json: bool) -> int:
    """Show the models and tools that a team can use on this machine, and set the default model.

    Looks for keys in the environment, model servers on this machine, command-line agents and the
    sandbox. Keys stay in the environment: none is printed or written. Only models.default is
    written, into agiraph.yaml in the home, after you agree, or with --yes. Exits 1 if there is no
    model, or if the tried model does not answer.
    """
    from agiraph.models.registry import load_presets

    config, presets = settings_of(home), load_presets(home / "providers.yaml")
    found = _discovered(home, config, presets)
    own, current = Home(home).config, config.models.default
    usual = current or next(iter(found.models), None)
    wanted = usual if model is None else _checked(model, presets)
    if not as_json:
        Listing(_in_short(found.rows), FOUND, "nothing was found").print(as_json=False)
    is_written = wanted is not None and _is_agreed(
        wanted, own, is_set=wanted == current, yes=yes, as_json=as_json
    )
    if wanted is not None and is_written:
        set_default(own, wanted)
        remark(f"models.default is {wanted} now, in {own}")
    answer = asyncio.run(_tried(wanted, presets)) if wanted and is_tried else None
    if as_json:
        about = {"model": wanted, "settings": str(own), "written": is_written, "answer": answer}
        print_json({"found": list(found.rows)} | about)
    elif answer is not None:
        remark(f"{wanted} {answer['in_words']}")
    elif wanted is None:
        remark(f"no model: {_ways()}")
    return FAILED if wanted is None or (answer and not answer["ok"]) else DONE


def _ways() -> str:
    from agiraph.models.registry import WITHOUT_KEY

    return f"set a key (export ANTHROPIC_API_KEY=...), {WITHOUT_KEY}"


# --- found here -----------------------------------------------------------------------------------


def _discovered(home: Path, config: "Config", presets: "Presets") -> Discovery:
    from agiraph.models.local_servers import find_servers
    from agiraph.models.registry import is_out_of_reach

    environ = os.environ
    rows: list[JsonObject] = []
    models: list[str] = []
    for name, preset in presets.items():
        if preset.local or not preset.key_names or name == "openai-responses":
            continue
        variable = preset.key_name(environ)
        rows.append(_row("key", name, variable is not None, _key_about(preset, variable)))
        is_allowed = not is_out_of_reach(preset, environ, config.models.offline)
        if variable and preset.default_model and preset.is_usable(environ) and is_allowed:
            models.append(f"{name}/{preset.default_model}")
    for name, server in find_servers(presets, environ).items():
        rows.append(_row("server", name, not server.problem, server.in_words))
        usual = presets[name].default_model
        if server.models:
            first = usual if usual in server.models else server.models[0]
            models.append(f"{name}/{first}")
    return Discovery((*rows, *_beside_models(home, config)), tuple(models))


def _key_about(preset: "ProviderPreset", variable: str | None) -> str:
    return f"{variable} is set" if variable else f"export {preset.key_names[0]}=..."


def _beside_models(home: Path, config: "Config") -> list[JsonObject]:
    """Return the rows of the model on this machine, external agents and the sandbox."""
    from agiraph.external.preset import known_agents
    from agiraph.models.local_weights import why_not
    from agiraph.tools.sandbox.sandbox import find_sandbox

    missing = why_not()
    about = missing or "a very small model: local/smollm2"
    rows = [_row("local", "smollm2", missing is None, about)]
    for agent in known_agents(home, os.environ):
        about = agent.program or f"see: agiraph outside ({agent.preset.install})"
        rows.append(_row("agent", agent.name, agent.program is not None, about))
    wall = find_sandbox(config.sandbox)
    about = wall.found.program if wall.is_up else f"{wall.why_missing}; {wall.advice}".rstrip("; ")
    rows.append(_row("sandbox", "bubblewrap", wall.is_up, str(about)))
    return rows


def _in_short(rows: tuple[JsonObject, ...]) -> list[JsonObject]:
    """Return the rows of found items, and one row for all missing items of each kind."""
    short: list[JsonObject] = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        of_kind = [row for row in rows if row["kind"] == kind]
        missing = [row for row in of_kind if not row["found"]]
        short += [row for row in of_kind if row["found"]]
        if len(missing) == 1:
            short += missing
        elif missing:
            names = ", ".join(row["name"] for row in missing)
            short.append(_row(kind, "others", False, f"{HINTS[kind]}: {names}"))
    return short


def _row(kind: str, name: str, found: bool, about: str) -> JsonObject:
    return {"kind": kind, "name": name, "found": found, "about": about}


# --- the default model ---------------------------------------------------------------------------


def _checked(model: str, presets: "Presets") -> str:
    """Return the full name of a model. Raises InvalidInput for a model that cannot be called."""
    from agiraph.models.registry import parse_model, why_unusable

    name = parse_model(model, presets)
    missing = why_unusable(presets[name.provider], os.environ)
    if missing is not None:
        raise InvalidInput(f"model {name} cannot be called: {missing}")
    return str(name)


def _is_agreed(model: str, own: Path, *, is_set: bool, yes: bool, as_json: bool) -> bool:
    """Whether to write the model as the default; False if it is the default (`is_set`)."""
    if is_set:
        remark(f"models.default is {model} already, in {own}")
        return False
    if yes:
        return True
    if as_json or not can_prompt():
        remark(f"nothing is written; with --yes: models.default: {model}, in {own}")
        return False
    return click.confirm(
        f"Write models.default: {model} into {own.name} of this home?", default=True, err=True
    )


def set_default(own: Path, model: str) -> None:
    """Write models.default into a settings file; all other lines stay unchanged.

    Raises Refused if the file's format does not allow a change line by line.
    """
    import yaml

    from agiraph.settings.yaml_edit import YamlChange, edited
    from agiraph.settings.yaml_text import is_absent, read_text
    from agiraph.storage.files import replace_bytes

    is_new = is_absent(own)
    before = "" if is_new else read_text(own)
    try:
        after = edited(before, [YamlChange(("models", "default"), model)])
    except (yaml.YAMLError, Refused):
        advice = f"write it yourself; models.default: {model}"
        raise Refused(f"{own} cannot be changed line by line; {advice}") from None
    replace_bytes(own, after.encode(), 0o600 if is_new else S_IMODE(own.stat().st_mode))


# --- one call ------------------------------------------------------------------------------------


async def _tried(model: str, presets: "Presets") -> JsonObject:
    """Call the model once; return whether it answered, and after how long, or why not."""
    from agiraph.core.turns import ModelRequest, UserTurn
    from agiraph.llm.base import ProviderError
    from agiraph.llm.connect import connect as connect_provider
    from agiraph.models.registry import parse_model

    name, started = parse_model(model, presets), time.monotonic()
    request = ModelRequest(
        model=name.plain,
        system="You are helpful.",
        turns=(UserTurn(content="Say hello in one word."),),
        max_tokens=64,
    )
    try:
        provider = connect_provider(
            name.provider, presets, os.environ, timeout_seconds=TRY_SECONDS, model=name.name
        )
        try:
            async with asyncio.timeout(TRY_SECONDS):
                answer = await provider.generate(request, lambda _text: None)
        finally:
            await provider.close()
    except TimeoutError:
        return {"ok": False, "in_words": f"did not answer within {TRY_SECONDS:g} s"}
    except ProviderError as error:
        return {"ok": False, "in_words": f"did not answer: {error}"}
    seconds, tokens = time.monotonic() - started, answer.usage.tokens
    return {"ok": True, "in_words": f"answered in {seconds:.1f} s ({tokens} tokens)"}
