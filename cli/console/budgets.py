"""Budgets in the console and in commands: asking for them, setting one, and both in words."""

from typing import TYPE_CHECKING

from agiraph.core.money import Unit, shown
from agiraph.http.api import BudgetView
from cli.console.commands import BudgetCommand

if TYPE_CHECKING:
    from agiraph.http.client import Client


def mind_budget(client: "Client", agent: str, act: BudgetCommand) -> list[str]:
    """Do what was typed about an agent's budget; return what stands then, a line for each.

    Raises ApiError, NotReachable.
    """
    if not act.is_change:
        lines = [told_budget(one) for one in client.budgets(agent)]
        return lines or ["no budget is set (/budget $5 sets one)"]
    made = client.set_budget(agent, usd=act.usd, tokens=act.tokens, period=act.period)
    return [told_budget(made)]


def told_budget(one: BudgetView) -> str:
    """Return a budget in one line: whose, how much, what is spent and left."""
    per = "a day" if one.period == "day" else "in all"
    told = "; ".join(
        f"{shown(limit, unit)} {per} ({shown(spent, unit)} spent, {shown(left, unit)} left)"
        for unit, limit, spent, left in limits_of(one)
    )
    by = "" if one.is_own or not told else ", by the settings"
    return f"{whose_is(one)}: {told or f'no bound {per}'}{by}"


def whose_is(one: BudgetView) -> str:
    """Return whose a budget is: the agent, and what of it."""
    match one.scope:
        case "trigger":
            return f"{one.agent_name}, trigger {one.name or one.key}"
        case "run":
            return f"{one.agent_name}, run {one.key}"
        case _:
            return one.agent_name


def limits_of(one: BudgetView) -> list[tuple[Unit, float, float, float]]:
    """Return each limit of a budget: its unit, what may be spent, what is, and what is left."""
    limits: list[tuple[Unit, float, float, float]] = []
    if one.usd is not None and one.left_usd is not None:
        limits.append(("usd", one.usd, one.spent_usd, one.left_usd))
    if one.tokens is not None and one.left_tokens is not None:
        limits.append(("tokens", one.tokens, one.spent_tokens, one.left_tokens))
    return limits
