"""Budget requests: what the human gateway asks about budgets and does to them."""

from collections.abc import Sequence

from actors.broker.calls import ModelCalls
from agiraph.llm.base import ProviderError
from agiraph.messages import (
    AskBudgets,
    BudgetTable,
    Ok,
    RaiseBudget,
    RefusedReply,
    ResetBudget,
    SetBudgetMessage,
)

Order = RaiseBudget | SetBudgetMessage | ResetBudget | AskBudgets
Answer = Ok | RefusedReply | BudgetTable


def minded(order: Order, calls: ModelCalls) -> Answer:
    """Do what the human gateway orders, and return the answer."""
    limits = calls.limits
    match order:
        case AskBudgets(keys=keys):
            return BudgetTable(budgets=tuple(limits.among(keys)))
        case SetBudgetMessage(budget=budget):
            model = _without_price(order.models, calls) if budget.usd is not None else None
            if model is not None:
                return _refused(
                    f"the price of {model} is not known, so a budget in dollars cannot be kept: "
                    "add it to prices.yaml in the home (then: agiraph restart broker), "
                    "or set one in tokens"
                )
            return BudgetTable(budgets=(limits.set(budget, order.keep),))
        case ResetBudget(scope=scope, key=key, period=period):
            return BudgetTable(budgets=(limits.unset(scope, key, period),))
        case RaiseBudget(budget=state):
            limits.raise_by(state, order.usd, order.tokens, order.cause)
            return Ok()


def _without_price(models: Sequence[str], calls: ModelCalls) -> str | None:
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
