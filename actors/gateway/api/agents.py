"""Endpoints: agents and their runs: creating, listing and showing them, further runs."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Query

from actors.gateway.api.dependencies import AgentDep, CallerDep, CauseDep, GatewayDep
from actors.gateway.api.entities import DOWN, child_at, children, if_answered, shown_activity
from actors.gateway.api.money import spent_in_run
from actors.gateway.api.run_checks import (
    check_cycles,
    check_input,
    check_leader,
    check_plan,
    check_planning,
    check_servers,
)
from actors.gateway.api.system import require_tools
from actors.gateway.auth.credentials import Principal
from actors.gateway.auth.scopes import CONTROL, READ
from actors.gateway.call_cause import CallCause
from actors.gateway.gateway import UNPROCESSABLE, Gateway
from actors.gateway.state.agents import agent_summary
from actors.gateway.statuses import StatusReader
from actors.gateway.strict_json import StrictRoute
from agiraph.board.failure_class import suspended_by
from agiraph.core.errors import InvalidInput
from agiraph.core.ids import (
    BROKER,
    HUMAN,
    SUPERVISOR,
    AgentId,
    RunId,
    agent_id_for,
    coordinator_address,
    slug,
    tools_address,
)
from agiraph.core.models import Agent, AgentStatus
from agiraph.core.specs import Mode
from agiraph.core.team import TeamTerms
from agiraph.http.api import (
    AgentView,
    ApiError,
    CreateAgentRequest,
    RunRequest,
    StartRunRequest,
    TeamRequest,
)
from agiraph.http.api.access import HOME_TOKEN
from agiraph.llm.registry import check_folder
from agiraph.messages.child import (
    ChildSpec,
    ChildStarted,
    ChildStopped,
    StartChild,
    StopChild,
)
from agiraph.messages.control import Ok
from agiraph.messages.model import CheckModel, ListModels, ModelCatalog
from agiraph.messages.run import BeginRun
from agiraph.storage.attendance import let_go_on

NAME_WORDS = 4
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
    has_team: Annotated[
        bool | None, Query(description="Whether the current run is an Agentic Team's.")
    ] = None,
    mine: Annotated[bool, Query(description="Only what the caller's token has created.")] = False,
) -> list[AgentView]:
    """List all agents, or those that are wanted, oldest first."""
    statuses = gateway.statuses(await if_answered(children(gateway)) or ())
    wanted = q.casefold()
    found = (
        summary(gateway, agent, statuses)
        for agent in gateway.agents.all()
        if mode in (None, agent.mode)
        and has_team in (None, agent.team is not None)
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

    403 for a team's session that another token has begun: only that one and the home's own go on
    with it.
    """
    if agent.team is not None and caller.name != HOME_TOKEN:
        _require_creator(agent, caller)
    last_event = gateway.agents.events_of(agent).last()
    begun = await begin_run(gateway, agent, request, cause)
    return agent_summary(begun, begun.status, last_event=last_event)


def summary(
    gateway: Gateway, agent: Agent, statuses: StatusReader, last_event: int = 0
) -> AgentView:
    """Return an agent as listings show it."""
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
    """Whether the caller's token has created an agent; what none has is the home's own."""
    return (agent.created_by or HOME_TOKEN) == caller.name


def _require_creator(agent: Agent, caller: Principal) -> None:
    """Raise ApiError 403 unless the caller's token has created an agent."""
    if not is_creator(agent, caller):
        raise ApiError(
            403,
            f"the team's session '{agent.name}' is that of the token "
            f"'{agent.created_by or HOME_TOKEN}', not of '{caller.name}': begin one of your own",
        )


async def create_agent(
    gateway: Gateway, request: CreateAgentRequest, cause: CallCause, creator: str
) -> Agent:
    """Create an agent and return it once its coordinator has written its record.

    Raises ApiError: 422 for what was asked wrongly, 409 for a taken name, 503 and 504 if the
    processes involved do not answer.
    """
    await _check_orders(gateway, request)
    model = request.model or await unnamed_model(gateway, request.team)
    worker_model = request.worker_model or gateway.config.models.worker or model
    team = await team_for(gateway, request, worker_model)
    run = RunId(request.run) if request.run else cause.run
    id = agent_id_for(request.name or request.goal, run)
    if (begun := gateway.agents.get(id)) is not None:
        return begun
    name = name_for(gateway, request)
    if request.tools is not None:
        await require_tools(gateway, request.tools)
    require_folder(model, request.input)
    await _check_models(gateway, request, model, worker_model)
    resolved = {"model": model, "worker_model": worker_model, "team": team, "run": run}
    made = {"id": id, "name": name, "created_by": creator, "created_at": cause.at}
    agent = Agent.model_validate(dict(request) | resolved | made | {"updated_at": cause.at})
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

    A run that was stopped by its human is given up for it. Raises ApiError: 409 while a run is
    running, 422 for what was asked wrongly, 503 and 504 if the processes do not answer.
    """
    await _check_orders(gateway, request)
    require_folder(request.model or agent.model, request.input or agent.input)
    await _check_models(gateway, request, request.model or agent.model, request.worker_model)
    run = RunId(request.run) if request.run else cause.run
    if agent.run == run:
        return agent
    let_go_on(gateway.home.path, agent.id)  # a command that attends this run does so already
    to = coordinator_address(agent.id)
    child = child_at(await children(gateway), to)
    is_down = child is None or child.state in DOWN
    worker_model = request.worker_model or request.model or agent.worker_model
    team = await team_for(gateway, request, worker_model)
    if child is None:
        await start_coordinator(gateway, agent)
    body = BeginRun.model_validate(dict(request) | {"run": run, "team": team, "abandon": is_down})
    asking = asyncio.create_task(gateway.ask(to, body, Ok, within_seconds=START_SECONDS))
    try:
        if child is not None and is_down:
            order = StopChild(address=to, how="restart", reason="a new run begins")
            await gateway.ask(SUPERVISOR, order, ChildStopped, within_seconds=START_SECONDS)
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
    """Start the coordinator of an agent that the supervisor does not know; ApiError.

    `tools` overrides the default tool set.
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
    return await gateway.ask(SUPERVISOR, order, ChildStarted, within_seconds=START_SECONDS)


async def _wait_until_begun(
    gateway: Gateway,
    id: AgentId,
    has_begun: Callable[[Agent], bool],
    check: Callable[[], object],
    late: str,
) -> Agent:
    """Return the agent once its record says that it has begun.

    `check` raises what keeps it from that. ApiError 504 with the text `late`.
    """
    give_up_at = gateway.clock.monotonic() + START_SECONDS
    with gateway.signals.subscribe(id) as signal:
        while (agent := gateway.agents.get(id)) is None or not has_begun(agent):
            check()
            if gateway.clock.monotonic() > give_up_at:
                raise ApiError(504, late)
            await signal.next(LOOK_SECONDS)
    return agent


async def _check_orders(gateway: Gateway, request: RunRequest) -> None:
    """Raise ApiError 422 for a mode, an input folder or a plan that cannot be."""
    check_cycles(request)
    check_planning(request, gateway)
    if request.input is not None:
        await asyncio.to_thread(check_input, request.input, gateway.home.path)
    plan = None
    if request.plan is not None:
        plan = await asyncio.to_thread(check_plan, request.plan, gateway)
    check_leader(request, plan)
    if request.mcp_servers:
        await asyncio.to_thread(check_servers, request, gateway)
        await _offer_registered(gateway, request.mcp_servers)


async def team_for(gateway: Gateway, request: RunRequest, model: str) -> TeamTerms | None:
    """Return the team that a run is asked for, as it is now; ApiError 422 if it cannot work.

    `model` is that of roles that name no agent.
    """
    if request.team is None:
        return None
    from actors.gateway.team_config import resolved_team  # few runs have one

    if request.plan is not None or request.mode == "infinite":
        what = "a plan" if request.plan is not None else "infinite mode"
        raise ApiError(UNPROCESSABLE, f"a run with a team of roles cannot have {what}")
    return await resolved_team(gateway, request.team, model)


async def _offer_registered(gateway: Gateway, named: Sequence[str]) -> None:
    """Have the supervisor know the servers that a program has registered since it started."""
    for name in {*named} - {*gateway.config.mcp.servers}:
        order = StartChild(spec=ChildSpec(address=tools_address(name), kind="tools"))
        await gateway.ask(SUPERVISOR, order, ChildStarted, within_seconds=START_SECONDS)


def name_for(gateway: Gateway, request: CreateAgentRequest) -> str:
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


async def unnamed_model(gateway: Gateway, team: TeamRequest | None) -> str:
    """Return the model of a run that names none; ApiError 422 says how to get one.

    It is the default, else one that a role of its team names: then no other is needed.
    """
    try:
        return await default_model(gateway)
    except ApiError as error:
        if error.status != UNPROCESSABLE or team is None:
            raise
        from actors.gateway.team_config import model_of_roles  # few runs have a team

        if model := await asyncio.to_thread(model_of_roles, gateway, team):
            return model
        raise


async def default_model(gateway: Gateway) -> str:
    """Return the model of who names none; ApiError 422 says how to get one."""
    if named := gateway.config.models.default:
        return named  # whether it can be called is checked with every other name
    catalog = await gateway.ask(BROKER, ListModels(), ModelCatalog)
    if catalog.default is None:
        raise ApiError(UNPROCESSABLE, catalog.why)
    return catalog.default


def require_folder(model: str, folder: str | None) -> None:
    """Raise ApiError 422 for a model that needs an input folder and has none."""
    try:
        check_folder(model, folder)
    except InvalidInput as error:
        raise ApiError(UNPROCESSABLE, str(error)) from None


def needs_tools(request: RunRequest) -> str:
    """Return what a coordinator cannot do for this request without tools, '' if nothing."""
    if request.input is not None:
        return "read the input folder"
    return "work in cycles" if request.mode == "infinite" else ""


def has_usd_budget(gateway: Gateway, request: RunRequest) -> bool:
    """Whether a run, as requested or by the settings, has a budget in dollars."""
    settings = gateway.config.budgets
    limits = (request.budget_usd, settings.run_usd, settings.agent_usd, settings.agent_usd_per_day)
    return any(limit is not None for limit in limits)


async def _check_models(
    gateway: Gateway, request: RunRequest, model: str, worker_model: str | None
) -> None:
    """Raise ApiError 422 with the reason unless the broker knows these models and can use them.

    The first one must have room for the goal, and they a price if dollars limit the run.
    """
    needs, usd = needs_tools(request), has_usd_budget(gateway, request)
    checks = [
        CheckModel(model=model, characters=len(request.goal), needs_tools=needs, has_usd_budget=usd)
    ]
    if worker_model not in (None, model):
        checks.append(CheckModel(model=worker_model, has_usd_budget=usd))
    for check in checks:
        await gateway.ask(BROKER, check, Ok, refused=UNPROCESSABLE)
