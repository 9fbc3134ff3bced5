"""Calls about budgets: what agents, their triggers and runs may spend."""

from typing import Literal

from agiraph.core.money import Period
from agiraph.http.api import BudgetView, SetBudgetRequest
from agiraph.http.client.call import ApiCall, ApiMethod, delete, get, named, of_agent, reader


class BudgetCalls:
    """What may be spent."""

    @ApiMethod
    def budgets(self, agent: str | None = None) -> ApiCall[list[BudgetView]]:
        """Return the budgets of one agent, its triggers and its current run, or of all of them."""
        return get("/budgets", list[BudgetView], named(agent=agent))

    @ApiMethod
    def set_budget(
        self,
        agent: str,
        *,
        usd: float | Literal["none"] | None = None,
        tokens: int | Literal["none"] | None = None,
        period: Period = "total",
        trigger: str | None = None,
    ) -> ApiCall[BudgetView]:
        """Let an agent, or one trigger of it, spend so much: in all, or on each day of UTC.

        What is None stays as it is; "none" is no bound, also where the settings have one. Entities
        that asked for more go on. Raises ApiError: 404 lists the known, 422 for what is no limit,
        and for dollars if the price of the agent's model is not known.
        """
        body = SetBudgetRequest(usd=usd, tokens=tokens)
        content = body.model_dump_json(exclude_none=True).encode()
        return ApiCall("PATCH", _path(agent, trigger, period), reader(BudgetView), content=content)

    @ApiMethod
    def remove_budget(
        self, agent: str, *, period: Period = "total", trigger: str | None = None
    ) -> ApiCall[BudgetView]:
        """Let the budget of the settings hold again, if they have one; return what holds now."""
        return delete(_path(agent, trigger, period), BudgetView)


def _path(agent: str, trigger: str | None, period: Period) -> str:
    whose = () if trigger is None else ("triggers", trigger)
    return of_agent(agent, *whose, "budgets", period)
