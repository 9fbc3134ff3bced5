"""PromptFacts: the parts of a coordinator's prompt that change with time.

These are the date, the memory, and the usable models and external agents. They are read when a run,
a cycle or a shortened conversation begins, and stored: so a prompt is the same from turn to turn
and after a restart, and never older than the period that it begins.
"""

import asyncio
import os
from collections.abc import Iterable, Iterator

from pydantic import Field, ValidationError

from actors.coordinator.context import CoordinatorContext
from actors.entity.sandbox_report import OF_COORDINATOR, CommandPlace, machine_in_words
from actors.runtime.ask_again import ask_for
from agiraph.core.clock import iso_date
from agiraph.core.errors import Refused
from agiraph.core.ids import BROKER, COORDINATOR_NAME, split_model
from agiraph.core.record import Record
from agiraph.core.turns import JsonObject
from agiraph.core.worker_models import read_worker_models
from agiraph.memory.loading import memory_text
from agiraph.messages.model import ListModels, ModelCatalog
from agiraph.storage.files import read_bytes, replace_file
from agiraph.storage.home import AgentHome

MODELS_SHOWN = 24


class AvailableAgent(Record):
    """An external agent that can be used here, by its name for `agent_command`.

    `parameters` are the agent's parameters, each with its possible values.
    """

    name: str
    about: str
    parameters: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class PromptFacts(Record):
    """The facts for a prompt in one `period`: a cycle, or the part of it after a compaction.

    `machine` is the text about the machine on which the coordinator's commands run. A row of
    `models` is a row of `agiraph.models.prices.priced_models`.
    """

    period: str
    today: str
    memory: str
    models: tuple[JsonObject, ...] = ()
    agents: tuple[AvailableAgent, ...] = ()
    machine: str = ""


async def facts_for(context: CoordinatorContext, period: str) -> PromptFacts:
    """Return the facts of a period: the stored facts, or facts read now."""
    home = context.files.home
    if (stored := _stored(home)) is not None and stored.period == period:
        return stored
    models, agents, machine = await asyncio.gather(
        _usable_models(context),
        asyncio.to_thread(_usable_agents, context),
        asyncio.to_thread(_machine, context),
    )
    facts = PromptFacts(
        period=period,
        today=iso_date(context.now()),
        memory=memory_text(home, context.runtime.config.memory.prompt_limit),
        models=models,
        agents=agents,
        machine=machine,
    )
    replace_file(home.memory_at_start, facts.model_dump_json() + "\n")
    return facts


def _stored(home: AgentHome) -> PromptFacts | None:
    try:
        return PromptFacts.model_validate_json(read_bytes(home.memory_at_start))
    except (OSError, ValidationError):  # there is no file, or it has an older version
        return None


async def _usable_models(context: CoordinatorContext) -> tuple[JsonObject, ...]:
    """Return the models that the broker can call, the run's own first; () if the broker refuses."""
    try:
        catalog = await ask_for(context.runtime, BROKER, ListModels(), ModelCatalog)
    except Refused:
        return ()
    own = (context.args.agent.model, context.args.agent.worker_model)
    rows = usable_models(catalog.providers, own)
    return tuple(_allowed(rows, context.spec.worker_models))[:MODELS_SHOWN]


def _allowed(rows: Iterable[JsonObject], text: str) -> Iterator[JsonObject]:
    """Yield the rows of the models that the human allows for workers; none for a single model."""
    allowed = read_worker_models(text)
    for row in rows:
        is_cheap = allowed.most_usd is None or (
            row["output"] is not None and row["output"] <= allowed.most_usd
        )
        if len(allowed.names) != 1 and not allowed.why_not(row["name"]) and is_cheap:
            yield row


def usable_models(providers: Iterable[JsonObject], own: tuple[str, ...]) -> tuple[JsonObject, ...]:
    """Return the rows of all models of usable services, the models of `own` first.

    A local service, which may not be running, and a second name of one service count only if the
    run uses one of their models.
    """
    rows: list[JsonObject] = []
    places = set[str]()
    for provider in providers:
        is_doubtful = provider["local"] or provider["base_url"] in places
        if provider["usable"] and (not is_doubtful or _serves(provider["name"], own)):
            places.add(provider["base_url"])
            rows += provider["models"]
    return tuple(sorted(rows, key=lambda row: row["name"] not in own))


def _serves(provider: str, models: Iterable[str]) -> bool:
    return any(split_model(model)[0] == provider for model in models)


def _machine(context: CoordinatorContext) -> str:
    config, scope = context.runtime.config, context.scope
    place = CommandPlace(
        context.command_path,
        scope.input_dir,
        context.runtime.home.path.resolve(),
        (COORDINATOR_NAME,),
        OF_COORDINATOR,
    )
    return machine_in_words(config, place)


def _usable_agents(context: CoordinatorContext) -> tuple[AvailableAgent, ...]:
    """Return the external agents that are installed and that the approval rules allow."""
    from agiraph.external.preflight import permitted_agents  # few processes need it

    found = permitted_agents(context.runtime.home.path, context.runtime.config.sandbox, os.environ)
    return tuple(
        AvailableAgent(
            name=agent.name,
            about=agent.preset.about,
            parameters={name: tuple(values) for name, values in agent.preset.parameters.items()},
        )
        for agent in found
    )
