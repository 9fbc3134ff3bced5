"""Llm proxy: how a worker opens the broker's HTTP door for the outside agent that it runs."""

from agiraph.core.money import NodeBudget, Shortage
from agiraph.core.turns import Usage
from agiraph.messages.body import Body


class OpenProxy(Body):
    """Let the outside agent that I run call models. A worker to the broker.

    Answered by `door.opened` or `control.refused`. `model` is what a name that is none of ours gets
    (`claude-sonnet-5`, `any`); `models` may be asked for by their full names besides. A door that
    the worker had open before is closed; the same message again is answered by the same door.
    `trigger` is that of a ModelRequest, for each call. `bounds` are what all calls of this
    `attempt` at the node may take, through whichever doors they came.
    """

    TYPE = "door.open"
    run_id: str
    node_id: str
    model: str
    models: tuple[str, ...] = ()
    trigger: str = ""
    attempt: int = 0
    bounds: NodeBudget = NodeBudget()


class ProxyOpened(Body):
    """Where the door is, and its key. Broker to the worker.

    `{url}/anthropic` is an ANTHROPIC_BASE_URL, `{url}/openai/v1` an OPENAI_BASE_URL (Chat
    Completions and Responses), `{url}/google` a GOOGLE_GEMINI_BASE_URL; `token` stands in for the
    service's key. `model` is the full name of the model that was granted.
    """

    TYPE = "door.opened"
    url: str
    token: str
    model: str


class ProxyCallFailed(Body):
    """A call of your agent failed for good; the agent was told so too. Broker to the worker.

    `kind` is a FailureKind: `out_of_budget` is a matter for the human, whatever the agent does;
    `shortage` tells which budget is spent. If that is the node's, its bound is reached: the node
    ends, and nobody is asked.
    """

    TYPE = "door.failed"
    kind: str
    message: str
    shortage: Shortage | None = None


class ProxyBudgetLow(Body):
    """Your agent is near a bound of its node. Broker to the worker, once a door.

    `shortage` tells which one; its `needs` is what one of its calls has taken on average.
    """

    TYPE = "door.low"
    shortage: Shortage


class CloseProxy(Body):
    """My agent has ended: let nobody in any more, and end what is under way. Worker to the broker.

    With a `token`, only the door of that token is closed.
    """

    TYPE = "door.close"
    DURABLE = True
    token: str = ""


class SettleProxyCosts(Body):
    """Close the door of this token, and tell me what its calls have taken. Worker to the broker.

    Answered by `door.settled` when nothing is under way through it any more; a door that is closed
    already is answered alike.
    """

    TYPE = "door.settle"
    token: str


class ProxyCostsSettled(Body):
    """What the calls through a door have taken. Broker to the worker.

    `calls` is how many of them were paid for.
    """

    TYPE = "door.settled"
    usage: Usage
    calls: int
