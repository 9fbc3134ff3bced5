"""Budgets in the console and in commands: asking for them, setting one, and both in words."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from actors.console.typed import MindBudget
from agiraph.api import BudgetView
from agiraph.money import Unit, shown

if TYPE_CHECKING:
    from agiraph.client import Client


def mind_budget(client: "Client", agent: str, act: MindBudget) -> list[str]:
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
        f"{limit} {per} ({spent} spent, {left} left)" for limit, spent, left in limits_of(one)
    )
    whose = one.agent_name if one.scope == "agent" else f"{one.agent_name}, {whose_is(one)}"
    by = "" if one.is_own or not told else ", by the settings"
    return f"{whose}: {told or f'no bound {per}'}{by}"


def whose_is(one: BudgetView) -> str:
    """Return what of its agent a budget is of."""
    match one.scope:
        case "trigger":
            return f"trigger {one.name or one.key}"
        case "run":
            return f"run {one.key}"
        case _:
            return one.scope


def limits_of(one: BudgetView) -> Sequence[tuple[str, str, str]]:
    """Return each limit of a budget in words, with what is spent and what is left of it."""
    limits: list[tuple[Unit, float | None, float, float | None]] = [
        ("usd", one.usd, one.spent_usd, one.left_usd),
        ("tokens", one.tokens, float(one.spent_tokens), one.left_tokens),
    ]
    return [
        (shown(limit, unit), shown(spent, unit), shown(left, unit))
        for unit, limit, spent, left in limits
        if limit is not None and left is not None
    ]
