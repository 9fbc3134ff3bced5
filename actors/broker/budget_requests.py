"""Budget requests: the gateway reads, sets, resets and raises budgets."""

from collections.abc import Sequence

from actors.broker.calls import ModelCalls
from agiraph.llm.base import ProviderError
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.model import (
    AskBudgets,
    BudgetTable,
    RaiseBudget,
    ResetBudget,
    SetBudgetMessage,
)

BudgetRequest = RaiseBudget | SetBudgetMessage | ResetBudget | AskBudgets
BudgetReply = Ok | RefusedReply | BudgetTable


def handle_budget_request(request: BudgetRequest, calls: ModelCalls) -> BudgetReply:
    """Do what is requested, and return the answer."""
    limits = calls.limits
    match request:
        case AskBudgets(keys=keys):
            return BudgetTable(budgets=tuple(limits.among(keys)))
        case SetBudgetMessage(budget=budget):
            model = _without_price(request.models, calls) if budget.usd is not None else None
            if model is not None:
                return _refused(
                    f"the price of {model} is not known, so a budget in dollars cannot be kept: "
                    "add it to prices.yaml in the home (then: agiraph restart broker), "
                    "or set one in tokens"
                )
            return BudgetTable(budgets=(limits.set(budget, request.keep),))
        case ResetBudget(scope=scope, key=key, period=period):
            return BudgetTable(budgets=(limits.unset(scope, key, period),))
        case RaiseBudget(budget=state):
            limits.raise_by(state, request.usd, request.tokens, request.cause)
            return Ok()


def _without_price(models: Sequence[str], calls: ModelCalls) -> str | None:
    """Return the first model whose price is not known, None if there is none."""
    for model in models:
        try:
            name = calls.named(model)
        except ProviderError:
            continue  # it cannot be called at all; a call says so
        if calls.price(name) is None:
            return str(name)
    return None


def _refused(reason: str) -> RefusedReply:
    return RefusedReply(reason=reason, kind="Refused")
