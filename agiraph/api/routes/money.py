"""Endpoints for spending, and for the budgets of agents, their triggers and runs."""

from collections.abc import Iterable, Sequence

from fastapi import APIRouter

from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import AgentDep, GatewayDep
from agiraph.api.routes.entities import EXTRA_SECONDS, triggers_of
from agiraph.api.strict_json import StrictRoute
from agiraph.core.errors import AgiraphError, InvalidInput
from agiraph.core.ids import (
    BROKER,
    COORDINATOR_NAME,
    HUMAN,
    HUMAN_NAME,
    AgentId,
    derived_message_id,
)
from agiraph.core.models import BUDGET, Agent
from agiraph.core.money import (
    ALL_UNITS,
    SET_ANEW,
    Budget,
    BudgetScope,
    BudgetState,
    Period,
    is_outdated,
    limit_of,
)
from agiraph.core.turns import Usage, UsageGroup, UsageRow
from agiraph.http.api import (
    BudgetView,
    SetBudgetRequest,
    UsageView,
)
from agiraph.http.errors import UNPROCESSABLE, ApiError
from agiraph.inbox.question_records import write_outcome
from agiraph.messages.model import (
    AskBudgets,
    AskUsage,
    BudgetTable,
    ResetBudget,
    SetBudgetMessage,
    UsageTable,
)

ALL_RUNS = "*"
NO_RUN = "none"

ELSEWHERE = "budget"

Order = SetBudgetMessage | ResetBudget

router = APIRouter(route_class=StrictRoute, tags=["budgets"])
usage_router = APIRouter(route_class=StrictRoute, dependencies=[READ], tags=["system"])


@router.get("/budgets", dependencies=[READ])
async def budgets(gateway: GatewayDep, agent: str | None = None) -> list[BudgetView]:
    """List the budgets of agents, their triggers and current runs; of one agent, or of all.

    A budget that was set to unlimited is listed; a scope that never had a limit is not. For all
    agents, only those triggers are listed that have a budget.
    """
    agents = gateway.agents.all() if agent is None else [gateway.agents.find(agent)]
    keys = [key for one in agents for key in _keys(gateway, one, whole=agent is not None)]
    request = AskBudgets(keys=tuple(keys))
    table = await gateway.bus.ask(BROKER, request, BudgetTable)
    return _views(gateway, agents, table.budgets)


@router.patch("/agents/{agent}/budgets/{period}", dependencies=[CONTROL])
async def change(
    agent: AgentDep, period: Period, body: SetBudgetRequest, gateway: GatewayDep
) -> BudgetView:
    """Set an agent's budget, in total or per day; units that are not named stay unchanged.

    Earlier raises become void. Open questions for more are answered; the askers check again.
    """
    return await set_budget(gateway, agent, None, period, body)


@router.delete("/agents/{agent}/budgets/{period}", dependencies=[CONTROL])
async def remove(agent: AgentDep, period: Period, gateway: GatewayDep) -> BudgetView:
    """Reset an agent's budget to the settings; the answer is the budget now in force."""
    return await unset_budget(gateway, agent, None, period)


@router.patch("/agents/{agent}/triggers/{trigger}/budgets/{period}", dependencies=[CONTROL])
async def change_of_trigger(
    agent: AgentDep, trigger: str, period: Period, body: SetBudgetRequest, gateway: GatewayDep
) -> BudgetView:
    """Set the budget for all work that a trigger's firings cause, in total or per day."""
    return await set_budget(gateway, agent, trigger, period, body)


@router.delete("/agents/{agent}/triggers/{trigger}/budgets/{period}", dependencies=[CONTROL])
async def remove_of_trigger(
    agent: AgentDep, trigger: str, period: Period, gateway: GatewayDep
) -> BudgetView:
    """Reset a trigger's budget to the settings; the answer is the budget now in force."""
    return await unset_budget(gateway, agent, trigger, period)


def _keys(gateway: Gateway, agent: Agent, *, whole: bool) -> list[tuple[BudgetScope, str]]:
    keys: list[tuple[BudgetScope, str]] = [("agent", agent.id)]
    keys += [("run", agent.run)] if agent.run else []
    triggers = triggers_of(gateway.agents, agent) if whole else None
    going_on = [t.id for t in triggers.triggers.values() if not t.has_ended] if triggers else []
    return [*keys, *(("trigger", f"{agent.id}/{id}") for id in going_on)]


async def set_budget(
    gateway: Gateway, agent: Agent, trigger: str | None, period: Period, wanted: SetBudgetRequest
) -> BudgetView:
    """Set the budget of an agent, or of one of its triggers; return the new budget.

    Open questions for more of it are answered. Raises ApiError: 404 for an unknown trigger, 422 if
    nothing is named or the budget cannot be enforced.
    """
    if wanted.usd is None and wanted.tokens is None:
        raise ApiError(UNPROCESSABLE, "name a limit: usd, tokens or both ('none' is no bound)")
    scope, key = _scope(gateway, agent, trigger)
    budget = Budget(
        scope=scope,
        key=key,
        usd=None if wanted.usd == "none" else wanted.usd,
        tokens=None if wanted.tokens == "none" else wanted.tokens,
        period=period,
    )
    keep = tuple(unit for unit in ALL_UNITS if getattr(wanted, unit) is None)
    models = tuple(dict.fromkeys((agent.model, agent.worker_model)))
    return await _change(gateway, agent, SetBudgetMessage(budget=budget, keep=keep, models=models))


async def unset_budget(
    gateway: Gateway, agent: Agent, trigger: str | None, period: Period
) -> BudgetView:
    """Reset a budget to the settings; return the budget now in force. Raises ApiError."""
    scope, key = _scope(gateway, agent, trigger)
    return await _change(gateway, agent, ResetBudget(scope=scope, key=key, period=period))


def _scope(gateway: Gateway, agent: Agent, trigger: str | None) -> tuple[BudgetScope, str]:
    if trigger is None:
        return "agent", agent.id
    try:
        return "trigger", f"{agent.id}/{triggers_of(gateway.agents, agent).find(trigger).id}"
    except InvalidInput as error:
        raise ApiError(404, str(error)) from None


async def _change(gateway: Gateway, agent: Agent, order: Order) -> BudgetView:
    table = await gateway.bus.ask(BROKER, order, BudgetTable, refused=UNPROCESSABLE)
    (state,) = table.budgets
    _answer_outdated(gateway, agent, state)
    await _report(gateway, agent, state)
    (view,) = _views(gateway, [agent], [state])
    return view


def _answer_outdated(gateway: Gateway, agent: Agent, state: BudgetState) -> None:
    """Answer the open questions for more of a budget that has changed since they were asked."""
    now = gateway.clock.now()
    for question in gateway.questions.open(agent.id):
        about = question.about
        if question.kind != BUDGET or about is None or not about.shortage:
            continue
        if is_outdated(about.shortage, state):
            answered = gateway.questions.answer(question.id, SET_ANEW, HUMAN_NAME, now, ELSEWHERE)
            write_outcome(gateway.messages, answered)
    gateway.answer_delivery.notify()


async def _report(gateway: Gateway, agent: Agent, state: BudgetState) -> None:
    """Report the event `human.budget`; the same change of a budget is reported once."""
    if not state.sets:
        return
    changed = state.model_dump(include={"scope", "key", "period", "usd", "tokens", "is_own"})
    data = {**changed, "limit": limit_of(state), "by": HUMAN_NAME}
    change = f"{state.scope}:{state.key}:{state.period}:{state.sets}"
    cause = derived_message_id(HUMAN, f"budget:{change}")
    await gateway.reporter.report("human.budget", agent.id, cause, data)


def _views(
    gateway: Gateway, agents: Iterable[Agent], states: Iterable[BudgetState]
) -> list[BudgetView]:
    """Return budgets with the names that people use, agent by agent."""
    of_agent: dict[str, Agent] = {agent.id: agent for agent in agents}
    of_run: dict[str, Agent] = {agent.run: agent for agent in of_agent.values() if agent.run}
    shown: dict[AgentId, list[BudgetView]] = {agent.id: [] for agent in of_agent.values()}
    for state in states:
        whose = of_run if state.scope == "run" else of_agent
        agent = whose.get(state.key.partition("/")[0])
        if agent is not None:
            shown[agent.id].append(_view(gateway, agent, state))
    return [view for views in shown.values() for view in views]


def _view(gateway: Gateway, agent: Agent, state: BudgetState) -> BudgetView:
    known_as = {
        "agent": agent.id,
        "agent_name": agent.name,
        "key": state.key.partition("/")[2] if state.scope == "trigger" else state.key,
        "name": _name_of(gateway, agent, state),
        "left_usd": None if state.usd is None else max(0.0, state.usd - state.spent_usd),
        "left_tokens": None if state.tokens is None else max(0, state.tokens - state.spent_tokens),
    }
    return BudgetView.model_validate(dict(state) | known_as)


def _name_of(gateway: Gateway, agent: Agent, state: BudgetState) -> str:
    """Return the display name of the subject of a budget, '' if it has no name."""
    match state.scope:
        case "agent":
            return agent.name
        case "trigger":
            known = triggers_of(gateway.agents, agent).triggers.get(state.key.partition("/")[2])
            return known.name if known is not None else ""
        case _:
            return ""


# --- spending ---


@usage_router.get("/usage")
async def usage(
    gateway: GatewayDep, agent: str | None = None, run: str | None = None, by: UsageGroup = "entity"
) -> UsageView:
    """Show the spending of an agent's current run, of another run, or of all runs (`run=*`).

    Without an agent: of everything in this home. Rows are grouped by entity, agent, node, stage,
    run, model, day or trigger.
    """
    if agent is None and run is not None:
        raise ApiError(UNPROCESSABLE, "run: name the agent whose run it is")
    asked = AskUsage(by="node" if by == "stage" else by)  # the ledger knows nodes, boards stages
    if agent is not None:
        asked = asked.model_copy(update=_whose(gateway, gateway.agents.find(agent), run))
    table = await gateway.bus.ask(BROKER, asked, UsageTable)
    return UsageView(
        by_entity=table.by_entity,
        total=table.total,
        by=by,
        rows=tuple(_named_rows(gateway, table.rows, by)),
        budgets=tuple(_named_budget(gateway, state) for state in table.budgets),
    )


async def spent_in_run(gateway: Gateway, agent: Agent) -> Usage:
    """Return the spending of an agent's current run, including workers that have left."""
    asked = AskUsage(runs=(agent.run or NO_RUN,))
    table = await gateway.bus.ask(BROKER, asked, UsageTable, within_seconds=EXTRA_SECONDS)
    return table.total


def _whose(gateway: Gateway, agent: Agent, run: str | None) -> dict[str, str]:
    """Return the request fields for an agent's spending in one run, or in all runs."""
    if run == ALL_RUNS:
        return {"agent": agent.id}
    found = gateway.agents.run_of(agent, run)
    return {"run_id": found.path.name if found else NO_RUN, "budgets_of": agent.id}


def _named_budget(gateway: Gateway, state: BudgetState) -> BudgetState:
    agent = gateway.agents.get(AgentId(state.key.partition("/")[0]))
    name = _name_of(gateway, agent, state) if agent is not None else ""
    return state.model_copy(update={"name": name})


def _named_rows(gateway: Gateway, rows: Sequence[UsageRow], by: UsageGroup) -> Iterable[UsageRow]:
    """Return the ledger's rows with display names; by stage, the rows of its nodes are summed."""
    if by == "agent":
        names: dict[str, str] = {agent.id: agent.name for agent in gateway.agents.all()}
        return [row.model_copy(update={"name": names.get(row.key, "")}) for row in rows]
    if by not in ("entity", "node", "stage"):
        return rows
    labels = _labels(gateway, rows, is_by_stage=by == "stage")
    sums: dict[tuple[str, str], UsageRow] = {}
    for row in rows:
        key, name = labels.get((row.run, row.key), ("" if by == "stage" else row.key, ""))
        named = row.model_copy(update={"key": key, "name": name})
        known = sums.get((row.run, key))
        sums[row.run, key] = named if known is None else known + named
    if by == "stage":
        return sorted(sums.values(), key=lambda row: (row.run, int(row.key or -1)))
    return sums.values()


def _labels(
    gateway: Gateway, rows: Sequence[UsageRow], *, is_by_stage: bool
) -> dict[tuple[str, str], tuple[str, str]]:
    """Return (key, name) of the entity, node or stage of each ledger row, by its (run, key)."""
    agents = {row.key.partition("/")[0] for row in rows}
    runs = {row.run for row in rows}
    labels: dict[tuple[str, str], tuple[str, str]] = {}
    for agent in gateway.agents.all():
        address = f"{agent.id}/{COORDINATOR_NAME}"
        labels["", address] = address, agent.name
        for run in gateway.agents.runs_of(agent):
            if agent.id not in agents and run not in runs:
                continue
            try:
                board = gateway.boards.get(gateway.agents.run_of(agent, run))
            except (AgiraphError, OSError):
                continue  # its spending is listed nevertheless
            for worker in board.workers.values():
                address = f"{agent.id}/{worker.id}"
                labels["", address] = address, worker.name
            for node in board.nodes.values():
                stage = (str(node.stage), board.stages[node.stage].name)
                labels[run, node.id] = stage if is_by_stage else (node.id, node.name)
    return labels
