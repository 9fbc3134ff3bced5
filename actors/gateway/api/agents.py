"""Endpoints: the life of agents."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from actors.gateway.api.dependencies import CauseDep, GatewayDep, AgentDep
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

router = APIRouter(tags=["agents"])


@router.post("/agents", status_code=201)
async def create(request: CreateAgentRequest, gateway: GatewayDep, cause: CauseDep) -> AgentView:
    """Create an agent and start it."""
    agent = await create_agent(gateway, request, cause)
    return agent_summary(agent, agent.status, 0)


@router.get("/agents")
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


@router.post("/agents/{agent}/runs", status_code=201)
async def begin(agent: AgentDep, request: StartRunRequest, gateway: GatewayDep, cause: CauseDep) -> AgentView:
    """Give an agent another goal; `last_event` is the cursor of the last event before it."""
    last_event = gateway.events_of(agent).last()
    begun = await begin_run(gateway, agent, request, cause)
    return agent_summary(begun, begun.status, 0, last_event)


@router.get("/agents/{agent}/runs")
async def runs(agent: AgentDep, gateway: GatewayDep) -> list[RunView]:
    """List an agent's runs, oldest first."""
    return run_views(gateway, agent)


@router.get("/agents/{agent}")
async def show(agent: AgentDep, gateway: GatewayDep) -> AgentView:
    """Show one agent; `last_event` is the cursor of the last event of its log."""
    table = await _children(gateway)
    return _summary(gateway, agent, table, gateway.events_of(agent).last())


@router.post("/agents/{agent}/pause")
async def pause(agent: AgentDep, gateway: GatewayDep) -> SteeredView:
    """Let coordinator and workers stand still."""
    return await act_on_agent(gateway, agent, "pause")


@router.post("/agents/{agent}/resume")
async def resume(agent: AgentDep, gateway: GatewayDep) -> SteeredView:
    """Let a paused agent go on, start a stopped one again."""
    return await act_on_agent(gateway, agent, "resume")


@router.post("/agents/{agent}/stop")
async def stop(agent: AgentDep, gateway: GatewayDep) -> SteeredView:
    """Stop the agent's processes; its files stay."""
    return await act_on_agent(gateway, agent, "stop")


async def _children(gateway: Gateway) -> Sequence[ChildInfo]:
    """Return the process table, or none: what agents wrote can be shown without it."""
    try:
        return await children(gateway)
    except ApiError:
        return ()


def _summary(
    gateway: Gateway, agent: Agent, table: Sequence[ChildInfo], last_event: int = 0
) -> AgentView:
    facts = (shown_status(agent, table), len(gateway.questions.open(agent.id)), last_event)
    return gateway.summaries.get(agent.id, (agent, facts), lambda: agent_summary(agent, *facts))
