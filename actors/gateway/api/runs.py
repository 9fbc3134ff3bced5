"""Further runs of an agent: begin one with another goal; list those that there were."""

import asyncio

from fastapi import APIRouter

from actors.gateway.api.agents import (
    BEGIN_SECONDS,
    LOOK_SECONDS,
    START_SECONDS,
    check_model,
    check_orders,
    coordinator_spec,
)
from actors.gateway.api.dependencies import AgentDep, CauseDep, GatewayDep
from actors.gateway.api.entities import DOWN, children
from actors.gateway.auth.scopes import CONTROL, READ
from actors.gateway.call_cause import CallCause
from actors.gateway.gateway import Gateway
from actors.gateway.state.agents import agent_summary
from agiraph.board.board import RunFacts
from agiraph.core.ids import SUPERVISOR, AgentId, RunId, coordinator_address
from agiraph.core.models import Agent
from agiraph.http.api import (
    AgentView,
    ApiError,
    RunView,
    StartRunRequest,
)
from agiraph.messages.child import ChildInfo, ChildStarted, ChildStopped, StartChild, StopChild
from agiraph.messages.control import Ok
from agiraph.messages.run import BeginRun

router = APIRouter(tags=["agents"])


@router.post("/agents/{agent}/runs", dependencies=[CONTROL], status_code=201)
async def begin(
    agent: AgentDep, request: StartRunRequest, gateway: GatewayDep, cause: CauseDep
) -> AgentView:
    """Give an agent another goal; `last_event` is the cursor of the last event before it."""
    last_event = gateway.agents.events_of(agent).last()
    begun = await begin_run(gateway, agent, request, cause)
    return agent_summary(begun, begun.status, last_event=last_event)


@router.get("/agents/{agent}/runs", dependencies=[READ])
async def runs(agent: AgentDep, gateway: GatewayDep) -> list[RunView]:
    """List an agent's runs, oldest first."""
    home = gateway.agents.home_of(agent)
    boards = (gateway.boards.get(home.run(run)) for run in gateway.agents.runs_of(agent))
    views = [_run_view(board.run, agent) for board in boards if board.run is not None]
    return sorted(views, key=lambda run: run.started_at)


async def begin_run(
    gateway: Gateway, agent: Agent, request: StartRunRequest, cause: CallCause
) -> Agent:
    """Give an agent another goal; return it once its coordinator is in the new run.

    A run that was stopped by its human is given up for it. Raises ApiError: 409 while a run is
    running, 422 for what was asked wrongly, 503 and 504 if the processes do not answer.
    """
    home, config = gateway.home.path, gateway.config.sandbox
    await asyncio.to_thread(check_orders, request, home, config)
    for model in dict.fromkeys((request.model, request.worker_model)):
        if model is not None:
            await check_model(gateway, model)
    run = RunId(request.run) if request.run else cause.run
    if agent.run == run:
        return agent
    child = await _coordinator_child(gateway, agent)
    is_down = child is None or child.state in DOWN
    body = BeginRun(
        goal=request.goal,
        run=run,
        mode=request.mode,
        model=request.model,
        worker_model=request.worker_model,
        input_dir=request.input,
        cycle_seconds=request.cycle_seconds,
        plan=request.plan,
        budget_usd=request.budget_usd,
        terms=request.terms,
        abandon=is_down,
    )
    if child is None:
        await _start_coordinator(gateway, agent)
    asking = asyncio.create_task(_ask_to_begin(gateway, agent, body))
    try:
        if child is not None and is_down:
            await _restart_coordinator(gateway, child)
        return await _wait_until_begun(gateway, agent.id, run, asking)
    finally:
        asking.cancel()
        await asyncio.wait([asking])


async def _ask_to_begin(gateway: Gateway, agent: Agent, body: BeginRun) -> Ok:
    to = coordinator_address(agent.id)
    return await gateway.ask(to, body, Ok, within_seconds=BEGIN_SECONDS)


async def _coordinator_child(gateway: Gateway, agent: Agent) -> ChildInfo | None:
    address = coordinator_address(agent.id)
    return next((child for child in await children(gateway) if child.address == address), None)


async def _restart_coordinator(gateway: Gateway, child: ChildInfo) -> None:
    order = StopChild(address=child.address, how="restart", reason="a new run begins")
    await gateway.ask(SUPERVISOR, order, ChildStopped, within_seconds=START_SECONDS)


async def _start_coordinator(gateway: Gateway, agent: Agent) -> None:
    """Start the coordinator of an agent that the supervisor does not know."""
    order = StartChild(spec=coordinator_spec(agent))
    await gateway.ask(SUPERVISOR, order, ChildStarted, within_seconds=START_SECONDS)


async def _wait_until_begun(
    gateway: Gateway, id: AgentId, run: RunId, asking: "asyncio.Task[Ok]"
) -> Agent:
    """Return the agent once its record names the new run; raise the refusal of the request."""
    give_up_at = gateway.clock.monotonic() + BEGIN_SECONDS
    with gateway.signals.subscribe(id) as signal:
        while (agent := gateway.agents.get(id)) is None or agent.run != run:
            if asking.done():
                asking.result()
            if gateway.clock.monotonic() > give_up_at:
                raise ApiError(504, f"agent '{id}' was given its goal but has not yet begun")
            await signal.next(LOOK_SECONDS)
    return agent


def _run_view(run: RunFacts, agent: Agent) -> RunView:
    return RunView(
        id=run.id,
        goal=run.goal,
        status=run.status,
        mode=run.mode,
        model=run.model,
        worker_model=run.worker_model,
        result=run.summary,
        reason=run.reason,
        started_at=run.started_at,
        ended_at=run.ended_at,
        is_current=run.id == agent.run,
    )
