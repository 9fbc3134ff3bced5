"""Model: calls through the broker."""

from pydantic import Field

from agiraph.core.ids import AgentId
from agiraph.core.money import Budget, BudgetScope, BudgetState, Period, Shortage, Unit
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse, Usage, UsageBy, UsageRow
from agiraph.messages.body import MessageBody


class CallModel(MessageBody):
    """Call a model. Any entity to the broker; answered by `model.answer` or `model.failed`.

    `turns` are packed turns (`agiraph.llm.packing`) that follow those of `request`, `tools` its
    packed tools.
    """

    TYPE = "model.call"
    request: ModelRequest
    turns: tuple[bytes, ...] = ()
    tools: bytes = b""


class ModelAnswer(MessageBody):
    """The model's complete answer."""

    TYPE = "model.answer"
    response: ModelResponse


class ModelFailed(MessageBody):
    """The call failed, after the broker's own retries; `kind` is a FailureKind.

    `shortage` is the spent budget, if that is the reason.
    """

    TYPE = "model.failed"
    kind: str
    message: str
    retryable: bool = False
    shortage: Shortage | None = None


class ModelDelta(MessageBody):
    """A piece of streamed text. Broker to the requester; `call` is the request's message id.

    `restarted`: discard the text so far; the call broke off and is retried. `waits`: the
    service for which the call waits, until when and why; empty: it waits no longer.
    """

    TYPE = "model.delta"
    call: bytes
    text: str
    restarted: bool = False
    waits: str | None = None


class SubscribeToStream(MessageBody):
    """Subscribe to the text of this agent's models for some seconds. To the broker.

    Sent by consoles and the human gateway. First the text streamed so far by open calls is sent, if
    the sender was not subscribed, or with `from_start`.
    """

    TYPE = "model.listen"
    agent: AgentId
    from_start: bool = False


class StreamDelta(MessageBody):
    """A piece of text streamed for `entity`. Broker to the subscribed consoles and gateway.

    A worker sends the output of its external agent to the broker. `call` identifies the answer,
    `at` is how many characters of it the broker had before `text`. `restarted`: discard the text
    streamed before, for this `reason`. `is_end`: the stream ends; `reason` if it failed.
    """

    TYPE = "model.overheard"
    entity: str
    call: bytes
    text: str = ""
    restarted: bool = False
    at: int = 0
    is_end: bool = False
    reason: str = ""


class CancelCall(MessageBody):
    """Cancel a call in flight. Requester to the broker; `call` is the request's message id."""

    TYPE = "model.cancel"
    call: bytes


class ListModels(MessageBody):
    """Request the providers and models, and whether they are usable.

    Coordinator or human gateway to the broker. `asks_servers`: the model servers on this machine
    are also contacted.
    """

    TYPE = "model.list"
    asks_servers: bool = False


class ModelCatalog(MessageBody):
    """One row per provider (name, usable, reason, default model, base_url, models); the default.

    For each known model: name, strength, vision, context, and its prices (`input`, `output`).
    `why` is the reason for the default, or describes how to get a default.
    """

    TYPE = "model.catalog"
    providers: tuple[JsonObject, ...]
    default: str | None
    why: str = ""


class CheckModel(MessageBody):
    """Ask whether this model could be called. To the broker; `control.ok` or `control.refused`.

    Its window, or a fallback's window, must have room for a goal of `characters`, and it must
    support tools if `needs_tools` names a use of them, and have a price if dollars limit it. A
    million tokens of its output may cost `most_usd` dollars.
    """

    TYPE = "model.check"
    model: str
    characters: int = 0
    needs_tools: str = ""
    has_usd_budget: bool = False
    most_usd: float | None = None


class CountTokens(MessageBody):
    """Ask how many tokens this request has for its model. Any entity to the broker.

    Answered by `model.tokens`.
    """

    TYPE = "model.count"
    request: ModelRequest


class TokensCounted(MessageBody):
    """How many tokens a request has, by the model's own tokenizer; None: it is not reachable."""

    TYPE = "model.tokens"
    tokens: int | None


class RaiseBudget(MessageBody):
    """Raise `budget` by `usd` and `tokens`. Human gateway to the broker; answered by `control.ok`.

    `cause` is the id of the question that the human answered: a repeated request with the same
    id raises the budget only once.
    """

    TYPE = "model.raise"
    budget: BudgetState
    usd: float = Field(default=0.0, ge=0)
    tokens: int = Field(default=0, ge=0)
    cause: str


class SetBudgetMessage(MessageBody):
    """Set a budget's limits. Human gateway to the broker; answered by `model.budgets`.

    The units in `keep` stay unchanged; in the others earlier raises are void. A budget without any
    limit permits everything, even where the settings have a limit. `models` must have a price if
    the budget is in dollars.
    """

    TYPE = "model.set_budget"
    budget: Budget
    keep: tuple[Unit, ...] = ()
    models: tuple[str, ...] = ()


class ResetBudget(MessageBody):
    """Reset a budget to the settings. Human gateway to the broker; answered by `model.budgets`."""

    TYPE = "model.unset_budget"
    scope: BudgetScope
    key: str
    period: Period = "total"


class AskBudgets(MessageBody):
    """Request budgets of agents, runs and triggers. To the broker; answered by `model.budgets`.

    `keys` are scopes and keys. For an agent, those set for its triggers are included.
    """

    TYPE = "model.ask_budgets"
    keys: tuple[tuple[BudgetScope, str], ...]


class BudgetTable(MessageBody):
    """Current budgets. Broker to the requester; after a change only the changed one.

    A budget that was set to no limit is included, a budget that never had a limit is not.
    """

    TYPE = "model.budgets"
    budgets: tuple[BudgetState, ...]


class AskUsage(MessageBody):
    """Request the usage of this run or agent (of all if both are empty). To the broker.

    An entity names its own agent. `by` selects the rows of the answer, besides the usage of
    each entity. `budgets_of` is the agent whose budgets are included besides those of the run
    (by default `agent`). With `runs` only the usage of each entity in these.
    """

    TYPE = "model.ask_usage"
    run_id: str = ""
    agent: str = ""
    budgets_of: str = ""
    by: UsageBy | None = None
    runs: tuple[str, ...] = ()


class UsageTable(MessageBody):
    """Usage by entity address, and in rows if requested. Broker to the requester.

    `budgets` are the budgets of the subject of the request, with the spent amounts.
    """

    TYPE = "model.usage"
    by_entity: dict[str, Usage]
    total: Usage
    rows: tuple[UsageRow, ...] = ()
    budgets: tuple[BudgetState, ...] = ()
