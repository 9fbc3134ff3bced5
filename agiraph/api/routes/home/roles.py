"""Endpoints for the home's Agentic Team (read, check, write) and a team's turns in a run."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query

from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.gateway import Gateway
from agiraph.api.role_config import AGENTS_FILE, bound_roles, configured_roles
from agiraph.api.routes.dependencies import AgentDep, GatewayDep, RunDep
from agiraph.api.routes.home.settings import IfMatch
from agiraph.api.routes.run_checks import unnamed_model
from agiraph.api.strict_json import StrictRoute
from agiraph.board.board import Board
from agiraph.core.errors import InvalidInput
from agiraph.core.models import Agent
from agiraph.core.roles import RoleTeamSpec
from agiraph.http.api import (
    ApiError,
    CheckRolesRequest,
    RoleTeamRequest,
    RoleTeamRunView,
    RoleTeamView,
    SaveRolesRequest,
)
from agiraph.http.errors import UNPROCESSABLE
from agiraph.roles.engine import edges_of
from agiraph.roles.on_board import current_turn, turn_times

NO_ROLES = 404

router = APIRouter(route_class=StrictRoute, tags=["roles"])


@router.get("/roles", dependencies=[READ])
async def show(gateway: GatewayDep, offline: bool = False) -> RoleTeamView:
    """Show the team of agents.yaml, the agent of each role, and the problems found."""
    etag = await asyncio.to_thread(_etag, gateway)
    shown = await _checked(gateway, CheckRolesRequest(offline=offline))
    return shown.model_copy(update={"etag": etag})


@router.post("/roles/check", dependencies=[READ])
async def check(body: CheckRolesRequest, gateway: GatewayDep) -> RoleTeamView:
    """Check a team before a run: `problems` name each role that could not work; nothing starts."""
    return await _checked(gateway, body)


@router.put("/roles", dependencies=[CONTROL])
async def save(
    body: SaveRolesRequest, gateway: GatewayDep, if_match: IfMatch = None
) -> RoleTeamView:
    """Write the team into agents.yaml unless it was changed meanwhile; 422 if it cannot work.

    The rest of the file and its comments stay. A current run keeps its team.
    """
    from agiraph.api.settings.roles_section import save_roles

    asked = CheckRolesRequest(section=body.section, named_only=True)
    shown = await _checked(gateway, asked)
    if shown.problems:
        raise ApiError(UNPROCESSABLE, "\n".join(shown.problems))
    team = configured_roles(gateway, body.section)
    async with gateway.settings_turn:
        etag = await asyncio.to_thread(save_roles, gateway.home, team, if_match)
    gateway.log.info("settings changed", file=AGENTS_FILE)
    return shown.model_copy(update={"etag": etag})


def _etag(gateway: Gateway) -> str:
    """Return the etag of agents.yaml, '' if it is unreadable."""
    from agiraph.api.settings.store import SettingsStore

    try:
        return SettingsStore(gateway.home).read(AGENTS_FILE).etag
    except InvalidInput:
        return ""


async def _checked(gateway: Gateway, asked: CheckRolesRequest) -> RoleTeamView:
    try:
        team = await asyncio.to_thread(configured_roles, gateway, asked.section)
        model = await _model(gateway, asked)
        return await bound_roles(
            gateway, team, model, offline=asked.offline, named_only=asked.named_only
        )
    except InvalidInput as error:
        return RoleTeamView(problems=tuple(str(error).splitlines()), is_offline=asked.offline)


async def _model(gateway: Gateway, asked: CheckRolesRequest) -> str:
    """Return the model that a run with this team would have, '' if there is none."""
    team = RoleTeamRequest(section=asked.section, offline=asked.offline)
    try:
        return asked.model or await unnamed_model(gateway, team)
    except ApiError as error:
        if error.status != UNPROCESSABLE:
            raise
        return ""


@router.get("/agents/{agent}/roles", dependencies=[READ])
async def turns(
    agent: AgentDep,
    run: RunDep,
    gateway: GatewayDep,
    after: Annotated[int, Query(ge=0, description="Only the turns behind this one.")] = 0,
) -> RoleTeamRunView:
    """Show the turns of the team in a run, by default the current run; 404 without a team."""
    id = run.path.name if run is not None else ""
    return _view(agent, id, gateway.boards.get(run), after)


def _view(agent: Agent, run: str, board: Board, after: int) -> RoleTeamRunView:
    is_current = run in ("", agent.run)
    team: RoleTeamSpec | None = board.run.roles if board.run is not None else None
    if team is None and is_current:
        team = agent.roles
    if team is None:
        raise ApiError(NO_ROLES, f"the run of '{agent.name}' is not the work of a team of roles")
    state = current_turn(board, team, board.run.goal if board.run is not None else agent.goal).state
    is_over = not board.is_running and board.run is not None
    end = state.end
    return RoleTeamRunView(
        agent=agent.id,
        run=run,
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
