"""LLM proxy: how a worker lets its external agent call models through the broker."""

from agiraph.core.money import Shortage, SpendingLimits
from agiraph.core.turns import Usage
from agiraph.messages.body import MessageBody


class OpenProxy(MessageBody):
    """Permit the sender's external agent to call models. Worker to broker.

    Answered by `door.opened` or `control.refused`. `model` is used for every unknown model name
    (`claude-sonnet-5`, `any`); `models` may be requested by their full names. The worker's earlier
    grant is closed; a repeated message is answered with the same grant. `trigger` is the trigger of
    each call's ModelRequest. `bounds` limit all calls of this `attempt` at the node, over all
    grants.
    """

    TYPE = "door.open"
    run_id: str
    node_id: str
    model: str
    models: tuple[str, ...] = ()
    trigger: str = ""
    attempt: int = 0
    bounds: SpendingLimits = SpendingLimits()


class ProxyOpened(MessageBody):
    """The URL of the LLM proxy and a token for it. Broker to worker.

    `{url}/anthropic` is an ANTHROPIC_BASE_URL, `{url}/openai/v1` an OPENAI_BASE_URL (Chat
    Completions and Responses), `{url}/google` a GOOGLE_GEMINI_BASE_URL; `token` replaces the
    service's key. `model` is the full name of the granted model.
    """

    TYPE = "door.opened"
    url: str
    token: str
    model: str


class ProxyCallFailed(MessageBody):
    """A call of the external agent failed; the agent received the error too. Broker to worker.

    `kind` is a FailureKind: `out_of_budget` is a question for the human, whatever the agent does;
    `shortage` is the spent budget. If that is the node's limit, the node ends, and no question is
    asked.
    """

    TYPE = "door.failed"
    kind: str
    message: str
    shortage: Shortage | None = None


class ProxyBudgetLow(MessageBody):
    """The external agent is near a limit of its node. Broker to worker, once per grant.

    `shortage` is that limit; its `needs` is the average usage of the agent's calls.
    """

    TYPE = "door.low"
    shortage: Shortage


class CloseProxy(MessageBody):
    """The external agent has ended: close its grant and end its open calls. Worker to broker.

    With a `token`, only the grant of that token is closed.
    """

    TYPE = "door.close"
    DURABLE = True
    token: str = ""


class SettleProxyCosts(MessageBody):
    """Close the grant of this token and report the usage of its calls. Worker to broker.

    Answered by `door.settled` when no call is in flight; also for a grant that is closed
    already.
    """

    TYPE = "door.settle"
    token: str


class ProxyCostsSettled(MessageBody):
    """The usage of a grant's calls. Broker to worker. `calls` is the number of billed calls."""

    TYPE = "door.settled"
    usage: Usage
    calls: int
