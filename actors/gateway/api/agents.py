"""Endpoints: the life of agents."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query

from actors.gateway.api.dependencies import AgentDep, CauseDep, GatewayDep
from actors.gateway.api.entities import children, shown_status
from actors.gateway.api.tool_servers import require_tools
from actors.gateway.auth.scopes import CONTROL, READ
from actors.gateway.call_cause import CallCause
from actors.gateway.gateway import Gateway
from actors.gateway.state.agents import agent_summary
from agiraph.board.commands import agents_hired
from agiraph.board.plans.plan import parse_plan, plan_commands
from agiraph.core.config import SandboxConfig
from agiraph.core.errors import Refused
from agiraph.core.ids import (
    BROKER,
    HUMAN,
    SUPERVISOR,
    AgentId,
    RunId,
    coordinator_address,
    short_derived_id,
    slug,
)
from agiraph.core.models import Agent, AgentStatus, Mode
from agiraph.http.api import (
    AgentView,
    ApiError,
    CreateAgentRequest,
    RunRequest,
)
from agiraph.messages.child import ChildInfo, ChildSpec, ChildStarted, StartChild
from agiraph.messages.control import Ok
from agiraph.messages.model import CheckModel, ListModels, ModelCatalog

UNPROCESSABLE = 422
ID_WORDS = 24
NAME_WORDS = 4
START_SECONDS = 20.0
BEGIN_SECONDS = 20.0
LOOK_SECONDS = 0.1

router = APIRouter(tags=["agents"])


@router.post("/agents", dependencies=[CONTROL], status_code=201)
async def create(request: CreateAgentRequest, gateway: GatewayDep, cause: CauseDep) -> AgentView:
    """Create an agent and start it."""
    agent = await create_agent(gateway, request, cause)
    return agent_summary(agent, agent.status)


@router.get("/agents", dependencies=[READ])
async def list_agents(
    gateway: GatewayDep,
    status: Annotated[list[AgentStatus] | None, Query(description="One of these.")] = None,
    mode: Mode | None = None,
    q: Annotated[str, Query(description="In the name or the goal.", max_length=200)] = "",
) -> list[AgentView]:
    """List all agents, or those that are wanted, oldest first."""
    table = await _children(gateway)
    wanted = q.casefold()
    found = (
        _summary(gateway, agent, table)
        for agent in gateway.agents.all()
        if mode in (None, agent.mode) and wanted in f"{agent.name}\n{agent.goal}".casefold()
    )
    return [agent for agent in found if not status or agent.status in status]


@router.get("/agents/{agent}", dependencies=[READ])
async def show(agent: AgentDep, gateway: GatewayDep) -> AgentView:
    """Show one agent; `last_event` is the cursor of the last event of its log."""
    table = await _children(gateway)
    return _summary(gateway, agent, table, gateway.agents.events_of(agent).last())


async def _children(gateway: Gateway) -> Sequence[ChildInfo]:
    """Return the process table, or none: what agents wrote can be shown without it."""
    try:
        return await children(gateway)
    except ApiError:
        return ()


def _summary(
    gateway: Gateway, agent: Agent, table: Sequence[ChildInfo], last_event: int = 0
) -> AgentView:
    status = shown_status(agent, table)
    if status == "working" and gateway.waits_for_human(agent):
        status = "waiting_for_human"
    return agent_summary(
        agent,
        status,
        open_questions=len(gateway.questions.open(agent.id)),
        unread=sum(gateway.messages.unread(agent.id).values()),
        last_event=last_event,
    )


async def create_agent(gateway: Gateway, request: CreateAgentRequest, cause: CallCause) -> Agent:
    """Create an agent and return it once its coordinator has written its record.

    Raises ApiError: 422 for what was asked wrongly, 409 for a taken name, 503 and 504 if the
    processes involved do not answer.
    """
    await asyncio.to_thread(check_orders, request, gateway.home.path, gateway.config.sandbox)
    run = RunId(request.run) if request.run else cause.run
    id = _new_id(request.name or request.goal, run)
    if (begun := gateway.agents.get(id)) is not None:
        return begun
    name = _name_for(gateway, request)
    if request.tools is not None:
        await require_tools(gateway, request.tools)
    model, worker_model = await _models_for(gateway, request)
    agent = Agent(
        id=id,
        name=name,
        goal=request.goal,
        mode=request.mode,
        model=model,
        worker_model=worker_model,
        run=run,
        input_dir=request.input,
        cycle_seconds=request.cycle_seconds,
        created_at=cause.at,
        updated_at=cause.at,
    )
    await gateway.ask(
        SUPERVISOR,
        StartChild(spec=coordinator_spec(agent, request)),
        ChildStarted,
        within_seconds=START_SECONDS,
    )
    return await _wait_for(gateway, agent)


def check_orders(request: RunRequest, home: Path, config: SandboxConfig) -> None:
    """Raise ApiError 422 for a mode, an input folder or a plan that cannot be."""
    if request.cycle_seconds is not None and request.mode != "infinite":
        mode = request.mode or "finite"
        raise ApiError(UNPROCESSABLE, f"a {mode} run has no cycles (possible: infinite)")
    if request.input is not None:
        _check_input(request.input)
    if request.plan is not None:
        _check_plan(request.plan, home, config)


def _check_plan(text: str, home: Path, config: SandboxConfig) -> None:
    from agiraph.external.preflight import check_agent_command  # few plans need it

    try:
        for command in plan_commands(parse_plan(text)):
            for agent_command in agents_hired(command):
                check_agent_command(agent_command, home, config, os.environ)
    except Refused as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None


def _check_input(named: str) -> None:
    path = Path(named)
    if not path.is_absolute():
        raise ApiError(UNPROCESSABLE, f"input '{named}' is not an absolute path")
    if not path.is_dir():
        raise ApiError(UNPROCESSABLE, f"input '{named}' is not an existing folder")
    if not os.access(path, os.R_OK | os.X_OK):
        raise ApiError(UNPROCESSABLE, f"input '{named}' may not be read")


def _name_for(gateway: Gateway, request: CreateAgentRequest) -> str:
    """Return the wanted name if it is free, else one made of the goal's first words."""
    agents = gateway.agents.all()
    taken = {agent.name for agent in agents} | {agent.id for agent in agents}
    if request.name is not None:
        if request.name in taken:
            raise ApiError(409, f"the name '{request.name}' is taken by another agent")
        return request.name
    wanted = slug(" ".join(request.goal.split()[:NAME_WORDS]), fallback="agent")
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


async def _models_for(gateway: Gateway, request: CreateAgentRequest) -> tuple[str, str]:
    """Return the models of coordinator and workers; the broker knows and can use them."""
    models = gateway.config.models
    model = request.model or models.default or await _default_model(gateway)
    worker_model = request.worker_model or models.worker or model
    for wanted in dict.fromkeys((model, worker_model)):
        await check_model(gateway, wanted)
    return model, worker_model


async def check_model(gateway: Gateway, wanted: str) -> None:
    """Raise ApiError 422 with the reason unless the broker knows this model and can use it."""
    await gateway.ask(
        BROKER,
        CheckModel(model=wanted),
        Ok,
        refused=UNPROCESSABLE,
    )


async def _default_model(gateway: Gateway) -> str:
    catalog = await gateway.ask(BROKER, ListModels(), ModelCatalog)
    return catalog.default


def _new_id(words: str, run: RunId) -> AgentId:
    """Return the id of the agent whose first run this is: the same run, the same agent."""
    return AgentId(f"{slug(words, fallback='agent')[:ID_WORDS].strip('-')}-{short_derived_id(run)}")


def coordinator_spec(agent: Agent, request: CreateAgentRequest | None = None) -> ChildSpec:
    """Return how an agent's coordinator is started; `request` is what its first run was asked."""
    asked = request or CreateAgentRequest(goal=agent.goal)
    return ChildSpec(
        address=coordinator_address(agent.id),
        kind="coordinator",
        restart="permanent",
        owner=HUMAN,
        args={
            "agent": agent.model_dump(mode="json"),
            "run": agent.run,
            "budget_usd": asked.budget_usd,
            "terms": asked.terms.model_dump(mode="json"),
            "plan": asked.plan,
            "tools": list(asked.tools) if asked.tools is not None else None,
        },
    )


async def _wait_for(gateway: Gateway, agent: Agent) -> Agent:
    """Return the agent as its coordinator wrote it."""
    give_up_at = gateway.clock.monotonic() + BEGIN_SECONDS
    with gateway.signals.subscribe(agent.id) as signal:
        while (begun := gateway.agents.get(agent.id)) is None:
            if notice := _notice_of_failure(gateway, agent):
                raise ApiError(503, f"agent '{agent.id}' did not begin: {notice}")
            if gateway.clock.monotonic() > give_up_at:
                raise ApiError(504, f"agent '{agent.id}' was started but has not yet begun")
            await signal.next(LOOK_SECONDS)
    return begun


def _notice_of_failure(gateway: Gateway, agent: Agent) -> str | None:
    page = gateway.messages.page(agent.id, after=0, limit=100)
    return next((m.content for m in page.messages if m.kind == "notice"), None)
