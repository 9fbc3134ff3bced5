"""The home's Agentic Team: read from agents.yaml, its agents checked, as a run is to have it."""

import asyncio
import os
from collections.abc import Iterable
from typing import Any

from actors.gateway.gateway import UNPROCESSABLE, Gateway
from agiraph.core.errors import InvalidInput, Refused, listed
from agiraph.core.ids import BROKER
from agiraph.core.team import (
    DEFAULT_ROLES,
    SECTION,
    TeamSpec,
    TeamTerms,
    agents_of,
    command_of,
    kind_of,
    problems_of,
    team_of,
)
from agiraph.external.preflight import check_agent_command
from agiraph.external.preset import load_agents
from agiraph.http.api import ApiError, TeamRequest, TeamRolesView, TeamRoleView
from agiraph.llm.registry import (
    ProviderPreset,
    load_presets,
    only_writes,
    preset_of,
    read_table,
)
from agiraph.messages.control import Ok
from agiraph.messages.model import CheckModel

AGENTS_FILE = "agents.yaml"


def configured_team(gateway: Gateway, section: dict[str, Any] | None = None) -> TeamSpec:
    """Return the team of agents.yaml, or of a `section` instead; InvalidInput."""
    if section is not None:
        return team_of(section)
    table = read_table(gateway.home.path / AGENTS_FILE)
    return team_of(table.get(SECTION) or {})


async def resolved_team(gateway: Gateway, asked: TeamRequest, model: str) -> TeamTerms:
    """Return the team that a run begins with; ApiError 422 names each role that cannot work."""
    try:
        team = await asyncio.to_thread(configured_team, gateway, asked.section)
    except InvalidInput as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None
    shown = await bound_team(gateway, team, model, offline=asked.offline)
    if shown.problems:
        raise ApiError(UNPROCESSABLE, "\n".join(shown.problems))
    bound = dict(_rebound(team, shown.roles)) | {"max_turns": asked.max_turns or team.max_turns}
    return TeamTerms(**bound, earlier=asked.earlier)


def _rebound(team: TeamSpec, roles: Iterable[TeamRoleView]) -> TeamSpec:
    """Return the team with the agents that its roles have as they are shown."""
    bound = {
        role.name: team.roles[role.name].model_copy(
            update={"agent": role.agent, "fallback": role.fallback}
        )
        for role in roles
    }
    return team.model_copy(update={"roles": bound})


async def bound_team(
    gateway: Gateway,
    team: TeamSpec,
    model: str,
    *,
    offline: bool = False,
    named_only: bool = False,
) -> TeamRolesView:
    """Return a team with what does each role's work, and what is wrong with that.

    With `named_only` the run's own `model` is not checked.
    """
    presets = await asyncio.to_thread(load_presets, gateway.home.path / "providers.yaml")
    unusable = await _unusable(gateway, [] if named_only else [""], team, model)
    roles, left_out = [], dict[str, str]()
    for name, role in team.roles.items():
        agent, fallback = role.agent, role.fallback
        if offline:
            local = [one for one in (agent, fallback, "") if _is_local(one, model, presets)]
            if not local:
                unusable[agent] = _needs_network(agent or model)
            elif local[0] != agent:
                left_out[name], agent = agent, local[0]
            fallback = fallback if fallback != agent and fallback in local else ""
        is_local = _is_local(agent, model, presets)
        kind = kind_of(agent)
        roles.append(
            TeamRoleView(
                **{**dict(role), "agent": agent, "fallback": fallback},
                name=name,
                is_lead=name == team.lead_role,
                is_default=name in DEFAULT_ROLES,
                kind=kind,
                model="" if kind == "cli" else agent or model,
                is_local=is_local,
                advisory=kind == "model"
                and only_writes(agent or model, presets)
                and not role.may_write,
                left_out=left_out.get(name, ""),
                problem=unusable.get(agent, ""),
            )
        )
    return TeamRolesView(
        **{**dict(team), "roles": tuple(roles)},
        problems=tuple(problems_of(_rebound(team, roles), unusable)),
        is_offline=offline,
    )


async def _unusable(
    gateway: Gateway, more: list[str], team: TeamSpec, model: str
) -> dict[str, str]:
    """Return each agent of a team, and of some more, that cannot be used, and why."""
    found: dict[str, str] = {}
    for agent in [*more, *agents_of(team)]:
        if why := await _why_unusable(gateway, agent, model):
            found[agent] = why
    return found


async def _why_unusable(gateway: Gateway, agent: str, model: str) -> str:
    if kind_of(agent) == "cli":
        args = (gateway.home.path, gateway.config.sandbox, os.environ)
        try:
            await asyncio.to_thread(check_agent_command, command_of(agent), *args)
        except Refused as error:
            known = listed(sorted(load_agents(gateway.home.path)))
            return f"agent '{agent}': {error} (possible: {known}, or a model as provider/model)"
        return ""
    try:
        await gateway.ask(BROKER, CheckModel(model=agent or model), Ok, refused=UNPROCESSABLE)
    except ApiError as error:
        if error.status != UNPROCESSABLE:
            raise
        return f"agent '{agent or model}': {error.detail}"
    return ""


def _is_local(agent: str, model: str, presets: dict[str, ProviderPreset]) -> bool:
    """Whether an agent needs no network: a local model, or a CLI that calls one (by the proxy)."""
    name = model if kind_of(agent) == "cli" else agent or model
    preset = preset_of(name, presets)
    return preset is not None and preset.local


def _needs_network(agent: str) -> str:
    return (
        f"'{agent}' needs the network, and so does all that could take its place (offline: name a "
        "local model, such as ollama/qwen3, or run one with `agiraph local`)"
    )
