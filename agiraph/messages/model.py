"""Model: calls through the broker."""

from pydantic import Field

from agiraph.core.ids import AgentId
from agiraph.core.money import Budget, BudgetScope, BudgetState, Period, Shortage, Unit
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse, Usage, UsageBy, UsageRow
from agiraph.messages.body import Body


class CallModel(Body):
    """Ask a model. Any entity to the broker; answered by `model.answer` or `model.failed`.

    `turns` are packed turns (`agiraph.llm.packing`) that follow those of `request`.
    """

    TYPE = "model.call"
    request: ModelRequest
    turns: tuple[bytes, ...] = ()


class ModelAnswer(Body):
    """The model's whole answer."""

    TYPE = "model.answer"
    response: ModelResponse


class ModelFailed(Body):
    """The call failed for good (after the broker's own retries); `kind` is a FailureKind.

    `shortage` tells which budget is spent, if that is why.
    """

    TYPE = "model.failed"
    kind: str
    message: str
    retryable: bool = False
    shortage: Shortage | None = None


class ModelDelta(Body):
    """A piece of text as it streams in. Broker to the asker; `call` is the request's message id.

    `restarted`: forget what streamed before, the call broke off and is tried again.
    """

    TYPE = "model.delta"
    call: bytes
    text: str
    restarted: bool = False


class SubscribeToStream(Body):
    """Let me hear what this agent's models say, for some seconds. Console to the broker."""

    TYPE = "model.listen"
    agent: AgentId


class StreamDelta(Body):
    """A piece of text as it streams in for `entity`. Broker to the consoles that listen.

    A worker tells the broker what its outside agent says. `call` tells answers apart; `restarted`:
    what streamed of it before is void.
    """

    TYPE = "model.overheard"
    entity: str
    call: bytes
    text: str
    restarted: bool = False


class CancelCall(Body):
    """Drop a call in flight. The asker to the broker; `call` is the request's message id."""

    TYPE = "model.cancel"
    call: bytes


class ListModels(Body):
    """Which providers and models are usable, and why not? To the broker."""

    TYPE = "model.list"


class ModelCatalog(Body):
    """A row per provider (name, usable, reason, default model, base_url, models); the default.

    Of each model that is known: name, strength, context, and its prices (`input`, `output`).
    """

    TYPE = "model.catalog"
    providers: tuple[JsonObject, ...]
    default: str


class CheckModel(Body):
    """Could this model be called? To the broker; answered by `control.ok` or `control.refused`."""

    TYPE = "model.check"
    model: str


class RaiseBudget(Body):
    """So much more may be spent of this budget. To the broker; `control.ok` when it stands.

    The human gateway's alone. `cause` is the id of the question that the human answered: asked
    again under it, it is the same raise.
    """

    TYPE = "model.raise"
    budget: BudgetState
    usd: float = Field(default=0.0, ge=0)
    tokens: int = Field(default=0, ge=0)
    cause: str


class SetBudgetMessage(Body):
    """Let this budget hold from now on. Human gateway to the broker; `model.budgets` as it stands.

    Of the units in `keep` it says nothing: they stay as they are. What was raised before is void in
    the others. One without any limit bounds nothing, also where the settings have one. `models` are
    those that must have a price if it is in dollars.
    """

    TYPE = "model.set_budget"
    budget: Budget
    keep: tuple[Unit, ...] = ()
    models: tuple[str, ...] = ()


class ResetBudget(Body):
    """Let the settings' budget hold again. Human gateway to the broker; `model.budgets`."""

    TYPE = "model.unset_budget"
    scope: BudgetScope
    key: str
    period: Period = "total"


class AskBudgets(Body):
    """How do these agents, runs and triggers stand with money? To the broker; `model.budgets`.

    `keys` are scopes and keys. Of an agent those are told too that were set for its triggers.
    """

    TYPE = "model.ask_budgets"
    keys: tuple[tuple[BudgetScope, str], ...]


class BudgetTable(Body):
    """Budgets as they stand. Broker to the one who asked, or who changed one: that one.

    One that was set to bound nothing is among them, what never had a limit is not.
    """

    TYPE = "model.budgets"
    budgets: tuple[BudgetState, ...]


class AskUsage(Body):
    """What was spent, by this run or this agent (all if both are empty)? To the broker.

    `by` is what the rows of the answer are of, besides the usage of each entity. `budgets_of` is
    the agent whose budgets are told besides those of the run (by default `agent`).
    """

    TYPE = "model.ask_usage"
    run_id: str = ""
    agent: str = ""
    budgets_of: str = ""
    by: UsageBy | None = None


class UsageTable(Body):
    """Usage by entity address, and in rows if some were asked for. Broker to the one who asked.

    `budgets` are those of what was asked about, with what is spent of them.
    """

    TYPE = "model.usage"
    by_entity: dict[str, Usage]
    total: Usage
    rows: tuple[UsageRow, ...] = ()
    budgets: tuple[BudgetState, ...] = ()
