"""Endpoints: the home's Agentic Team, and what a team has said in a run."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from actors.gateway.api.agents import default_model
from actors.gateway.api.dependencies import AgentDep, GatewayDep
from actors.gateway.auth.scopes import READ
from actors.gateway.gateway import UNPROCESSABLE, Gateway
from actors.gateway.team_config import bound_team, configured_team
from agiraph.agentic_team.engine import edges_of
from agiraph.agentic_team.on_board import current_turn, turn_times
from agiraph.core.errors import InvalidInput
from agiraph.core.models import Agent
from agiraph.http.api import ApiError, CheckTeamRequest, TeamRolesView, TeamRunView

NO_TEAM = 404

router = APIRouter(tags=["team"])


@router.get("/team", dependencies=[READ])
async def show(gateway: GatewayDep, offline: bool = False) -> TeamRolesView:
    """Show the team of agents.yaml, what does each role's work, and what is wrong with it."""
    return await _checked(gateway, CheckTeamRequest(offline=offline))


@router.post("/team/check", dependencies=[READ])
async def check(body: CheckTeamRequest, gateway: GatewayDep) -> TeamRolesView:
    """Check a team before a run: `problems` name each role that could not work; nothing starts."""
    return await _checked(gateway, body)


async def _checked(gateway: Gateway, asked: CheckTeamRequest) -> TeamRolesView:
    try:
        team = await asyncio.to_thread(configured_team, gateway, asked.section)
    except InvalidInput as error:
        return TeamRolesView(problems=tuple(str(error).splitlines()), is_offline=asked.offline)
    try:
        model = asked.model or await default_model(gateway)
    except ApiError as error:
        if error.status != UNPROCESSABLE:
            raise
        model = ""
    return await bound_team(gateway, team, model, offline=asked.offline)


@router.get("/agents/{agent}/team", dependencies=[READ])
async def turns(
    agent: AgentDep,
    gateway: GatewayDep,
    after: Annotated[int, Query(ge=0, description="Only the turns behind this one.")] = 0,
) -> TeamRunView:
    """Show what the team of an agent's current run has said; 404 for a run without a team."""
    return _view(gateway, agent, after)


def _view(gateway: Gateway, agent: Agent, after: int) -> TeamRunView:
    team = agent.terms.team
    if team is None:
        raise ApiError(NO_TEAM, f"the run of '{agent.name}' is not the work of a team of roles")
    board = gateway.boards.get(gateway.agents.run_of(agent))
    state = current_turn(board, team, agent.goal).state
    is_over = not board.is_running and board.run is not None
    end = state.end
    return TeamRunView(
        run=agent.run,
        task=state.task,
        status=end.how if end else "stopped" if is_over else "running",
        lead_role=team.lead_role,
        max_turns=team.max_turns,
        roles=team.roles,
        turns=state.turns[after:],
        times=turn_times(board)[after : len(state.turns)],
        edges=edges_of(state.turns),
        role="" if end or is_over else state.role,
        ending=end.how if end else None,
        final_output=end.output if end else None,
    )
