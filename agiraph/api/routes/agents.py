"""Endpoints that create, list and show agents, and start further runs."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from agiraph.api.auth.credentials import Principal
from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.call_cause import CallCause
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import AgentDep, CallerDep, CauseDep, GatewayDep
from agiraph.api.routes.entities import DOWN, child_at, children, if_answered, shown_activity
from agiraph.api.routes.money import spent_in_run
from agiraph.api.routes.run_checks import RunCheck
from agiraph.api.strict_json import StrictRoute
from agiraph.board.failure_class import suspended_by
from agiraph.core.ids import (
    HUMAN,
    SUPERVISOR,
    AgentId,
    RunId,
    agent_id_for,
    coordinator_address,
    tools_address,
)
from agiraph.core.models import Agent, AgentStatus
from agiraph.core.specs import Mode
from agiraph.core.titles import title_of
from agiraph.core.worker_models import limit_of
from agiraph.http.api import (
    AgentView,
    ApiError,
    CreateAgentRequest,
    StartRunRequest,
)
from agiraph.http.api.access import HOME_TOKEN
from agiraph.messages.child import (
    ChildSpec,
    ChildStarted,
    ChildStopped,
    StartChild,
    StopChild,
)
from agiraph.messages.control import Ok
from agiraph.messages.run import BeginRun
from agiraph.readmodel.agents import agent_summary
from agiraph.readmodel.statuses import StatusReader
from agiraph.storage.run_lease import detach_agent

START_SECONDS = 20.0
LOOK_SECONDS = 0.1

router = APIRouter(route_class=StrictRoute, tags=["agents"])


@router.post("/agents", dependencies=[CONTROL], status_code=201)
async def create(
    request: CreateAgentRequest, gateway: GatewayDep, cause: CauseDep, caller: CallerDep
) -> AgentView:
    """Create an agent and start it."""
    agent = await create_agent(gateway, request, cause, caller.name)
    return agent_summary(agent, agent.status)


@router.get("/agents", dependencies=[READ])
async def list_agents(
    gateway: GatewayDep,
    caller: CallerDep,
    status: Annotated[list[AgentStatus] | None, Query(description="One of these.")] = None,
    mode: Mode | None = None,
    q: Annotated[str, Query(description="In the name or the goal.", max_length=200)] = "",
    has_roles: Annotated[
        bool | None, Query(description="Whether the current run is an Agentic Team's.")
    ] = None,
    mine: Annotated[bool, Query(description="Only what the caller's token has created.")] = False,
) -> list[AgentView]:
    """List all agents, or the agents that match the filters, oldest first."""
    statuses = gateway.statuses(await if_answered(children(gateway)) or ())
    wanted = q.casefold()
    found = (
        summary(gateway, agent, statuses)
        for agent in gateway.agents.all()
        if mode in (None, agent.mode)
        and has_roles in (None, agent.roles is not None)
        and (not mine or is_creator(agent, caller))
        and wanted in f"{agent.name}\n{agent.goal}".casefold()
    )
    return [agent for agent in found if not status or agent.status in status]


@router.get("/agents/{agent}", dependencies=[READ])
async def show(agent: AgentDep, gateway: GatewayDep) -> AgentView:
    """Show one agent; `last_event` is the cursor of the last event of its log."""
    table, spent = await asyncio.gather(
        if_answered(children(gateway)), if_answered(spent_in_run(gateway, agent))
    )
    last_event = gateway.agents.events_of(agent).last()
    shown = summary(gateway, agent, gateway.statuses(table or ()), last_event)
    if spent is None:
        return shown
    return shown.model_copy(update=spent.sums())


@router.post("/agents/{agent}/runs", dependencies=[CONTROL], status_code=201)
async def begin(
    agent: AgentDep,
    request: StartRunRequest,
    gateway: GatewayDep,
    cause: CauseDep,
    caller: CallerDep,
) -> AgentView:
    """Give an agent another goal; `last_event` is the cursor of the last event before it.

    403 for an agent with roles that another token has created: only that token and the home's
    own may continue it.
    """
    if agent.roles is not None and caller.name != HOME_TOKEN:
        _require_creator(agent, caller)
    last_event = gateway.agents.events_of(agent).last()
    begun = await begin_run(gateway, agent, request, cause)
    return agent_summary(begun, begun.status, last_event=last_event)


def summary(
    gateway: Gateway, agent: Agent, statuses: StatusReader, last_event: int = 0
) -> AgentView:
    """Return the view of an agent in listings."""
    at = coordinator_address(agent.id)
    child, doing = statuses.child(at), shown_activity(gateway, statuses, at)
    outage = statuses.outage(agent)
    return agent_summary(
        agent,
        statuses.agent(agent),
        open_questions=len(gateway.questions.open(agent.id)),
        unread=sum(gateway.messages.unread(agent.id).values()),
        last_event=last_event,
        process=child.state if child is not None else None,
        doing=doing["doing"],
        doing_since=doing["doing_since"],
        standstill=statuses.standstill(agent),
        outage=outage,
        reason=suspended_by(outage) if outage is not None else agent.reason,
    )


def is_creator(agent: Agent, caller: Principal) -> bool:
    """Whether the caller's token has created an agent; by default the home's own token has."""
    return (agent.created_by or HOME_TOKEN) == caller.name


def _require_creator(agent: Agent, caller: Principal) -> None:
    """Raise ApiError 403 unless the caller's token has created the agent."""
    if not is_creator(agent, caller):
        raise ApiError(
            403,
            f"the agent '{agent.name}' of the Agentic Team belongs to the token "
            f"'{agent.created_by or HOME_TOKEN}', not to '{caller.name}': "
            "create an agent of your own",
        )


async def create_agent(
    gateway: Gateway, request: CreateAgentRequest, cause: CallCause, creator: str
) -> Agent:
    """Create an agent and return it once its coordinator has written its record.

    Raises ApiError: 422 for an invalid request, 409 for a taken name, 503 and 504 if the processes
    involved do not answer.
    """
    run = RunId(request.run) if request.run else cause.run
    id = agent_id_for(request.name or title_of(request.goal), run)
    if (begun := gateway.agents.get(id)) is not None:
        return begun
    found = RunCheck(gateway, request)
    await found.require()
    await _offer_registered(gateway, request.mcp_servers)
    resolved = {
        "id": id,
        "name": found.name,
        "run": run,
        "model": found.model,
        "worker_model": found.worker_model,
        "worker_models": limit_of(request.worker_model),
        "roles": found.roles,
        "created_by": creator,
        "created_at": cause.at,
        "updated_at": cause.at,
    }
    agent = Agent.model_validate(dict(request) | resolved)
    await start_coordinator(gateway, agent, request.tools)

    def check() -> None:
        page = gateway.messages.page(id, after=0, limit=100)
        for message in page.messages:
            if message.kind == "notice":
                raise ApiError(503, f"agent '{id}' did not begin: {message.content}")

    late = f"agent '{id}' was started but has not yet begun"
    return await _wait_until_begun(gateway, id, lambda agent: True, check, late)


async def begin_run(
    gateway: Gateway, agent: Agent, request: StartRunRequest, cause: CallCause
) -> Agent:
    """Give an agent another goal; return it once its coordinator is in the new run.

    A run that the person has stopped is abandoned. Raises ApiError: 409 while a run is running, 422
    for an invalid request, 503 and 504 if the processes do not answer.
    """
    run = RunId(request.run) if request.run else cause.run
    if agent.run == run:
        return agent
    found = RunCheck(gateway, request, agent)
    await found.require()
    await _offer_registered(gateway, request.mcp_servers)
    detach_agent(gateway.home.path, agent.id)  # the new run's command is attached already
    to = coordinator_address(agent.id)
    child = child_at(await children(gateway), to)
    is_down = child is None or child.state in DOWN
    if child is None:
        await start_coordinator(gateway, agent)
    body = BeginRun.model_validate(
        dict(request) | {"run": run, "roles": found.roles, "abandon": is_down}
    )
    asking = asyncio.create_task(gateway.bus.ask(to, body, Ok, within_seconds=START_SECONDS))
    try:
        if child is not None and is_down:
            order = StopChild(address=to, how="restart", reason="a new run begins")
            await gateway.bus.ask(SUPERVISOR, order, ChildStopped, within_seconds=START_SECONDS)
        late = f"agent '{agent.id}' was given its goal but has not yet begun"
        return await _wait_until_begun(
            gateway,
            agent.id,
            lambda one: one.run == run,
            lambda: asking.done() and asking.result(),
            late,
        )
    finally:
        asking.cancel()
        await asyncio.wait([asking])


async def start_coordinator(
    gateway: Gateway,
    agent: Agent,
    tools: tuple[str, ...] | None = None,
) -> ChildStarted:
    """Start a coordinator that the supervisor does not know; return the supervisor's reply.

    `tools` are the names of its tools; None: the default set. Raises ApiError.
    """
    spec = ChildSpec(
        address=coordinator_address(agent.id),
        kind="coordinator",
        restart="permanent",
        owner=HUMAN,
        args={
            "agent": agent.model_dump(mode="json"),
            "run": agent.run,
            "tools": list(tools) if tools is not None else None,
        },
    )
    order = StartChild(spec=spec)
    return await gateway.bus.ask(SUPERVISOR, order, ChildStarted, within_seconds=START_SECONDS)


async def _wait_until_begun(
    gateway: Gateway,
    id: AgentId,
    has_begun: Callable[[Agent], bool],
    check: Callable[[], object],
    late: str,
) -> Agent:
    """Return the agent once its record says that it has begun.

    `check` is called repeatedly, and raises the error that prevents the begin. Raises ApiError 504
    with the text `late` after START_SECONDS.
    """
    give_up_at = gateway.clock.monotonic() + START_SECONDS
    with gateway.signals.subscribe(id) as signal:
        while (agent := gateway.agents.get(id)) is None or not has_begun(agent):
            check()
            if gateway.clock.monotonic() > give_up_at:
                raise ApiError(504, late)
            await signal.next(LOOK_SECONDS)
    return agent


async def _offer_registered(gateway: Gateway, named: Sequence[str]) -> None:
    """Start the registered tool servers in `named` that are missing in the settings.

    The supervisor knows them from then on.
    """
    for name in {*named} - {*gateway.config.mcp.servers}:
        order = StartChild(spec=ChildSpec(address=tools_address(name), kind="tools"))
        await gateway.bus.ask(SUPERVISOR, order, ChildStarted, within_seconds=START_SECONDS)
