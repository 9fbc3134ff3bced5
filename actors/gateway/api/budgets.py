"""Endpoints of budgets: what agents, their triggers and runs may spend, and setting it."""

from collections.abc import Iterable

from fastapi import APIRouter

from actors.gateway.api.dependencies import AgentDep, GatewayDep
from actors.gateway.api.entities import triggers_of
from actors.gateway.auth.scopes import CONTROL, READ
from actors.gateway.gateway import Gateway
from actors.gateway.questions.outcomes import write_outcome
from agiraph.core.errors import InvalidInput
from agiraph.core.ids import BROKER, HUMAN, HUMAN_NAME, AgentId, derived_message_id
from agiraph.core.models import BUDGET, Agent
from agiraph.core.money import (
    ALL_UNITS,
    SET_ANEW,
    Budget,
    BudgetScope,
    BudgetState,
    Period,
    is_outdated,
)
from agiraph.http.api import ApiError, BudgetView, SetBudgetRequest
from agiraph.messages.model import AskBudgets, BudgetTable, ResetBudget, SetBudgetMessage

UNPROCESSABLE = 422
ELSEWHERE = "budget"

Order = SetBudgetMessage | ResetBudget

router = APIRouter(tags=["budgets"])


@router.get("/budgets", dependencies=[READ])
async def budgets(gateway: GatewayDep, agent: str | None = None) -> list[BudgetView]:
    """List what agents, their triggers and current runs may spend; of one agent, or of all.

    One that was set to bound nothing is listed, what never had a limit is not. Of all agents, the
    triggers are listed for which a budget was set.
    """
    agents = gateway.agents.all() if agent is None else [gateway.agents.find(agent)]
    keys = [key for one in agents for key in _keys(gateway, one, whole=agent is not None)]
    request = AskBudgets(keys=tuple(keys))
    table = await gateway.ask(BROKER, request, BudgetTable)
    return _views(gateway, agents, table.budgets)


@router.patch("/agents/{agent}/budgets/{period}", dependencies=[CONTROL])
async def change(
    agent: AgentDep, period: Period, body: SetBudgetRequest, gateway: GatewayDep
) -> BudgetView:
    """Let an agent spend so much, in all or a day; what is not named stays as it is.

    Earlier raises are void. Open questions for more of it are answered; their askers check again.
    """
    return await set_budget(gateway, agent, None, period, body)


@router.delete("/agents/{agent}/budgets/{period}", dependencies=[CONTROL])
async def remove(agent: AgentDep, period: Period, gateway: GatewayDep) -> BudgetView:
    """Let the settings' budget of an agent hold again; the answer is what holds then."""
    return await unset_budget(gateway, agent, None, period)


@router.patch("/agents/{agent}/triggers/{trigger}/budgets/{period}", dependencies=[CONTROL])
async def change_of_trigger(
    agent: AgentDep, trigger: str, period: Period, body: SetBudgetRequest, gateway: GatewayDep
) -> BudgetView:
    """Let all that a trigger's firings lead to spend so much, in all or a day."""
    return await set_budget(gateway, agent, trigger, period, body)


@router.delete("/agents/{agent}/triggers/{trigger}/budgets/{period}", dependencies=[CONTROL])
async def remove_of_trigger(
    agent: AgentDep, trigger: str, period: Period, gateway: GatewayDep
) -> BudgetView:
    """Let the settings' budget of a trigger hold again; the answer is what holds then."""
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
    """Let an agent, or one trigger of it, spend so much; return the budget as it is.

    Open questions for more of it are answered. Raises ApiError: 404 for an unknown
    trigger, 422 if nothing is named or it cannot be kept.
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
    """Let the settings' budget hold again; return what holds then. Raises ApiError."""
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
    table = await gateway.ask(
        BROKER,
        order,
        BudgetTable,
        refused=UNPROCESSABLE,
    )
    (state,) = table.budgets
    _answer_outdated(gateway, agent, state)
    await _report(gateway, agent, state)
    (view,) = _views(gateway, [agent], [state])
    return view


def _answer_outdated(gateway: Gateway, agent: Agent, state: BudgetState) -> None:
    """Answer the open questions for more of a budget that is another one now."""
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
    """Report the event, once for each change of a budget."""
    if not state.sets:
        return
    changed = state.model_dump(include={"scope", "key", "period", "usd", "tokens", "is_own"})
    change = f"{state.scope}:{state.key}:{state.period}:{state.sets}"
    cause = derived_message_id(HUMAN, f"budget:{change}")
    await gateway.reporter.report("human.budget", agent.id, cause, {**changed, "by": HUMAN_NAME})


def _views(
    gateway: Gateway, agents: Iterable[Agent], states: Iterable[BudgetState]
) -> list[BudgetView]:
    """Return budgets under the names that people know, agent by agent."""
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
    key, name = state.key, agent.name
    if state.scope == "trigger":
        key = state.key.partition("/")[2]
        known = triggers_of(gateway.agents, agent).triggers.get(key)
        name = known.name if known is not None else ""
    elif state.scope == "run":
        name = ""
    left_usd = None if state.usd is None else max(0.0, state.usd - state.spent_usd)
    left_tokens = None if state.tokens is None else max(0, state.tokens - state.spent_tokens)
    return BudgetView(
        scope=state.scope,
        agent=agent.id,
        agent_name=agent.name,
        key=key,
        name=name,
        period=state.period,
        day=state.day,
        usd=state.usd,
        tokens=state.tokens,
        spent_usd=state.spent_usd,
        spent_tokens=state.spent_tokens,
        left_usd=left_usd,
        left_tokens=left_tokens,
        raises=state.raises,
        is_own=state.is_own,
    )
