"""The home's Agentic Team: read from agents.yaml, its agents checked, prepared for a run."""

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agiraph.api.gateway import Gateway
from agiraph.core.errors import InvalidInput, Refused, listed
from agiraph.core.ids import BROKER
from agiraph.core.roles import (
    DEFAULT_ROLES,
    SECTION,
    RoleTeamSpec,
    RoleTeamTerms,
    agents_of,
    command_of,
    kind_of,
    problems_of,
    roles_of,
)
from agiraph.core.specs import AskedAgent
from agiraph.external.preflight import check_agent
from agiraph.external.preset import AgentPreset, find_program, load_agents
from agiraph.http.api import ApiError, RoleTeamRequest, RoleTeamView, RoleView
from agiraph.http.errors import UNPROCESSABLE
from agiraph.messages.control import Ok
from agiraph.messages.model import CheckModel
from agiraph.models.registry import (
    ProviderPreset,
    load_presets,
    only_writes,
    pick_default,
    preset_of,
    read_table,
)

AGENTS_FILE = "agents.yaml"


@dataclass(frozen=True, slots=True)
class KnownAgents:
    """Agents that can fill a role, by name: model services and external agents."""

    models: Mapping[str, ProviderPreset]
    external: Mapping[str, AgentPreset]

    @classmethod
    def of(cls, home: Path) -> "KnownAgents":
        """Return the agents of a home's tables. Raises InvalidInput."""
        return cls(load_presets(home / "providers.yaml"), load_agents(home))

    def is_local(self, agent: str, model: str) -> bool:
        """Whether an agent needs no network, if `model` is the run's model.

        Such an agent is a local model, or a CLI that calls a local model through the LLM proxy;
        never a CLI with its own account.
        """
        if kind_of(agent) == "model":
            preset = preset_of(agent or model, self.models)
            return preset is not None and preset.local
        external = self.external.get(command_of(agent).split(" ")[0])
        is_own = external is not None and external.account == "own"
        return not is_own and self.is_local("", model)

    def why_not(self, agent: str, reason: str) -> str:
        """Return why an external agent cannot be used, and possible replacements."""
        if (service := self.models.get(agent)) is not None:
            model = service.default_model or "MODEL"
            return f"agent '{agent}' is no external agent; its models are named {agent}/{model}"
        usable = [name for name, one in self.external.items() if find_program(one, os.environ)]
        others = f", or an installed agent: {listed(sorted(usable))}" if usable else ""
        return f"agent '{agent}': {reason} (possible: a model as provider/model{others})"


def configured_roles(gateway: Gateway, section: dict[str, Any] | None = None) -> RoleTeamSpec:
    """Return the team of agents.yaml, or of a `section` instead. Raises InvalidInput."""
    if section is not None:
        return roles_of(section)
    table = read_table(gateway.home.path / AGENTS_FILE)
    return roles_of(table.get(SECTION) or {})


def model_of_roles(gateway: Gateway, asked: RoleTeamRequest) -> str:
    """Return the first model that a role of a team names, '' if none does.

    Offline, a local model is preferred. An unreadable team gives ''.
    """
    try:
        team = configured_roles(gateway, asked.section)
        known = KnownAgents.of(gateway.home.path)
    except InvalidInput:
        return ""
    models = [agent for agent in agents_of(team) if kind_of(agent) == "model"]
    local = [model for model in models if known.is_local(model, "")]
    return next(iter((local if asked.offline else []) + models), "")


async def resolved_roles(gateway: Gateway, asked: RoleTeamRequest, model: str) -> RoleTeamTerms:
    """Return the team for a new run.

    Raises ApiError 422, which names each role that cannot work.
    """
    try:
        team = await asyncio.to_thread(configured_roles, gateway, asked.section)
        shown = await bound_roles(gateway, team, model, offline=asked.offline)
    except InvalidInput as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None
    if shown.problems:
        raise ApiError(UNPROCESSABLE, "\n".join(shown.problems))
    bound = _rebound(team, shown.roles)
    roles = {  # by name, so that each turn records the model that did it
        name: role if role.agent else role.model_copy(update={"agent": model})
        for name, role in bound.roles.items()
    }
    terms = dict(bound) | {"roles": roles, "max_turns": asked.max_turns or team.max_turns}
    return RoleTeamTerms(**terms, earlier=asked.earlier)


def _rebound(team: RoleTeamSpec, roles: Iterable[RoleView]) -> RoleTeamSpec:
    """Return a team in which each role has the agent and fallback of its view in `roles`."""
    bound = {
        role.name: team.roles[role.name].model_copy(
            update={"agent": role.agent, "fallback": role.fallback}
        )
        for role in roles
    }
    return team.model_copy(update={"roles": bound})


async def bound_roles(
    gateway: Gateway,
    team: RoleTeamSpec,
    model: str,
    *,
    offline: bool = False,
    named_only: bool = False,
) -> RoleTeamView:
    """Return a team with the agent of each role, and the problems found.

    With `named_only` the run's own `model` is not checked. Raises InvalidInput if tables of the
    home are unreadable.
    """
    known = await asyncio.to_thread(KnownAgents.of, gateway.home.path)
    unusable = await _unusable(gateway, team, model, known, named_only=named_only)
    roles, left_out = [], dict[str, str]()
    for name, role in team.roles.items():
        agent, fallback = role.agent, role.fallback
        if offline:
            local = [one for one in (agent, fallback, "") if known.is_local(one, model)]
            if not local:
                unusable.setdefault(agent, _needs_network(agent or model))
            elif local[0] != agent:
                left_out[name], agent = agent, local[0]
            fallback = fallback if fallback != agent and fallback in local else ""
        kind = kind_of(agent)
        roles.append(
            RoleView(
                **{**dict(role), "agent": agent, "fallback": fallback},
                name=name,
                is_lead=name == team.lead_role,
                is_default=name in DEFAULT_ROLES,
                kind=kind,
                model="" if kind == "cli" else agent or model,
                is_local=known.is_local(agent, model),
                advisory=kind == "model"
                and only_writes(agent or model, known.models)
                and not role.may_write,
                left_out=left_out.get(name, ""),
                problem=unusable.get(agent, ""),
            )
        )
    return RoleTeamView(
        **{**dict(team), "roles": tuple(roles)},
        problems=tuple(problems_of(_rebound(team, roles), unusable)),
        is_offline=offline,
    )


async def _unusable(
    gateway: Gateway, team: RoleTeamSpec, model: str, known: KnownAgents, *, named_only: bool
) -> dict[str, str]:
    """Return the unusable agents of a team with the reasons; the key '' is the run's model."""
    found: dict[str, str] = {}
    for agent in [*([] if named_only else [""]), *agents_of(team)]:
        if kind_of(agent) == "cli":
            why = await asyncio.to_thread(_why_not_outside, gateway, team, agent, known)
        else:
            why = await _why_unusable(gateway, agent, model, known)
        if why:
            found[agent] = why
    return found


def _why_not_outside(gateway: Gateway, team: RoleTeamSpec, agent: str, known: KnownAgents) -> str:
    """Return why the external agent `agent` cannot or may not fill its roles, '' if it can."""
    try:
        for asked in _asked_for(team, agent):
            check_agent(asked, gateway.home.path, gateway.config.sandbox, os.environ)
    except Refused as error:
        return known.why_not(agent, str(error))
    return ""


def _asked_for(team: RoleTeamSpec, agent: str) -> Iterator[AskedAgent]:
    """Yield an agent once for each role that names it as its agent or its fallback."""
    for name, role in team.roles.items():
        for worker, named in ((name, role.agent), (f"{name}-fallback", role.fallback)):
            if named == agent:
                yield AskedAgent(
                    command=command_of(agent),
                    author="person",
                    name=worker,
                    role=role.title or name,
                )


async def _why_unusable(gateway: Gateway, agent: str, model: str, known: KnownAgents) -> str:
    if not (agent or model):
        return pick_default(gateway.config, known.models, os.environ)[1]
    try:
        await gateway.bus.ask(BROKER, CheckModel(model=agent or model), Ok, refused=UNPROCESSABLE)
    except ApiError as error:
        if error.status != UNPROCESSABLE:
            raise
        return f"agent '{agent or model}': {error.detail}"
    return ""


def _needs_network(agent: str) -> str:
    return (
        f"'{agent}' needs the network, and so does all that could take its place (offline: name a "
        "local model, such as ollama/qwen3, or run one with `agiraph local`)"
    )
