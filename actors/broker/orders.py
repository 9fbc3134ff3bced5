"""Orders: what is asked about budgets and done to them, and who may."""

from collections.abc import Sequence

from actors.broker.calls import Calls
from actors.broker.limits import is_of
from agiraph.ids import HUMAN, agent_of
from agiraph.messages import (
    AskBudgets,
    BudgetTable,
    Ok,
    RaiseBudget,
    RefusedReply,
    SetBudget,
    UnsetBudget,
)
from agiraph.providers.base import ProviderError

Order = RaiseBudget | SetBudget | UnsetBudget | AskBudgets
Answer = Ok | RefusedReply | BudgetTable


def minded(order: Order, sender: str, calls: Calls) -> Answer:
    """Do what `sender` orders, if it may, and return the answer.

    The human gateway may do anything, an entity may raise what is its own agent's.
    """
    limits = calls.limits
    match order:
        case AskBudgets(keys=keys) if sender == HUMAN:
            return BudgetTable(budgets=tuple(limits.among(keys)))
        case SetBudget(budget=budget) if sender == HUMAN:
            model = _without_price(order.models, calls) if budget.usd is not None else None
            if model is not None:
                return _refused(
                    f"the price of {model} is not known, so a budget in dollars cannot be kept: "
                    "add it to prices.yaml in the home (then: agiraph restart broker), "
                    "or set one in tokens"
                )
            return BudgetTable(budgets=(limits.set(budget, order.keep),))
        case UnsetBudget(scope=scope, key=key, period=period) if sender == HUMAN:
            return BudgetTable(budgets=(limits.unset(scope, key, period),))
        case RaiseBudget(budget=state) if sender == HUMAN or is_of(state, agent_of(sender)):
            limits.raise_by(state, order.usd, order.tokens, order.cause)
            return Ok()
        case _:
            return _refused("this budget is not yours")


def _without_price(models: Sequence[str], calls: Calls) -> str | None:
    """Return the first model of which nobody knows what it costs; None if there is none."""
    for model in models:
        try:
            name = calls.named(model)
        except ProviderError:
            continue  # it cannot be called at all, and says so when it is
        if calls.price(name) is None:
            return str(name)
    return None


def _refused(reason: str) -> RefusedReply:
    return RefusedReply(reason=reason, kind="Refused")
