"""Endpoints: the life of agents."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from actors.gateway.api.dependencies import Caused, Door, Named
from actors.gateway.gateway import Gateway
from actors.gateway.resources.agent_creation import create_agent
from actors.gateway.resources.entities import children
from actors.gateway.resources.lifecycle import act_on_agent, shown_status
from actors.gateway.resources.runs import begin_run, run_views
from actors.gateway.state.agents import agent_summary
from agiraph.core.models import Agent, AgentStatus, Mode
from agiraph.http.api import (
    AgentView,
    ApiError,
    CreateAgentRequest,
    RunView,
    StartRunRequest,
    SteeredView,
)
from agiraph.messages import ChildInfo

router = APIRouter()


@router.post("/agents", status_code=201)
async def create(request: CreateAgentRequest, door: Door, cause: Caused) -> AgentView:
    """Create an agent and start it."""
    agent = await create_agent(door, request, cause)
    return agent_summary(agent, agent.status, 0)


@router.get("/agents")
async def list_agents(
    door: Door,
    status: Annotated[list[AgentStatus] | None, Query(description="One of these.")] = None,
    mode: Mode | None = None,
    q: Annotated[str, Query(description="In the name or the goal.", max_length=200)] = "",
) -> list[AgentView]:
    """List all agents, or those that are wanted, oldest first."""
    table = await _children(door)
    wanted = q.casefold()
    found = (
        _summary(door, agent, table)
        for agent in door.agents.all()
        if mode in (None, agent.mode) and wanted in f"{agent.name}\n{agent.goal}".casefold()
    )
    return [agent for agent in found if not status or agent.status in status]


@router.post("/agents/{agent}/runs", status_code=201)
async def begin(agent: Named, request: StartRunRequest, door: Door, cause: Caused) -> AgentView:
    """Give an agent another goal; `last_event` is the cursor of the last event before it."""
    last_event = door.events_of(agent).last()
    begun = await begin_run(door, agent, request, cause)
    return agent_summary(begun, begun.status, 0, last_event)


@router.get("/agents/{agent}/runs")
async def runs(agent: Named, door: Door) -> list[RunView]:
    """List an agent's runs, oldest first."""
    return run_views(door, agent)


@router.get("/agents/{agent}")
async def show(agent: Named, door: Door) -> AgentView:
    """Show one agent; `last_event` is the cursor of the last event of its log."""
    table = await _children(door)
    return _summary(door, agent, table, door.events_of(agent).last())


@router.post("/agents/{agent}/pause")
async def pause(agent: Named, door: Door) -> SteeredView:
    """Let coordinator and workers stand still."""
    return await act_on_agent(door, agent, "pause")


@router.post("/agents/{agent}/resume")
async def resume(agent: Named, door: Door) -> SteeredView:
    """Let a paused agent go on, start a stopped one again."""
    return await act_on_agent(door, agent, "resume")


@router.post("/agents/{agent}/stop")
async def stop(agent: Named, door: Door) -> SteeredView:
    """Stop the agent's processes; its files stay."""
    return await act_on_agent(door, agent, "stop")


async def _children(door: Gateway) -> Sequence[ChildInfo]:
    """Return the process table, or none: what agents wrote can be shown without it."""
    try:
        return await children(door)
    except ApiError:
        return ()


def _summary(
    door: Gateway, agent: Agent, table: Sequence[ChildInfo], last_event: int = 0
) -> AgentView:
    facts = (shown_status(agent, table), len(door.questions.open(agent.id)), last_event)
    return door.summaries.get(agent.id, (agent, facts), lambda: agent_summary(agent, *facts))
