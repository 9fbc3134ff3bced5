"""Endpoints of budgets: what agents, their triggers and runs may spend, and setting it."""

from fastapi import APIRouter

from actors.gateway.api.dependencies import GatewayDep, AgentDep
from actors.gateway.resources.budgets import budgets_of, set_budget, unset_budget
from agiraph.core.money import Period
from agiraph.http.api import BudgetView, SetBudgetRequest

router = APIRouter(tags=["budgets"])


@router.get("/budgets")
async def budgets(gateway: GatewayDep, agent: str | None = None) -> list[BudgetView]:
    """List what agents, their triggers and current runs may spend; of one agent, or of all.

    One that was set to bound nothing is listed, what never had a limit is not. Of all agents, the
    triggers are listed for which a budget was set.
    """
    return await budgets_of(gateway, agent)


@router.patch("/agents/{agent}/budgets/{period}")
async def change(agent: AgentDep, period: Period, body: SetBudgetRequest, gateway: GatewayDep) -> BudgetView:
    """Let an agent spend so much, in all or a day; what is not named stays as it is.

    What was raised before is void. Who asked for more of it looks again and goes on, or asks anew.
    """
    return await set_budget(gateway, agent, None, period, body)


@router.delete("/agents/{agent}/budgets/{period}")
async def remove(agent: AgentDep, period: Period, gateway: GatewayDep) -> BudgetView:
    """Let the settings' budget of an agent hold again; the answer is what holds then."""
    return await unset_budget(gateway, agent, None, period)


@router.patch("/agents/{agent}/triggers/{trigger}/budgets/{period}")
async def change_of_trigger(
    agent: AgentDep, trigger: str, period: Period, body: SetBudgetRequest, gateway: GatewayDep
) -> BudgetView:
    """Let all that a trigger's firings lead to spend so much, in all or a day."""
    return await set_budget(gateway, agent, trigger, period, body)


@router.delete("/agents/{agent}/triggers/{trigger}/budgets/{period}")
async def remove_of_trigger(agent: AgentDep, trigger: str, period: Period, gateway: GatewayDep) -> BudgetView:
    """Let the settings' budget of a trigger hold again; the answer is what holds then."""
    return await unset_budget(gateway, agent, trigger, period)
