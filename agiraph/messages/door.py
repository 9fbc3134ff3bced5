"""Door: how a worker opens the broker's HTTP door for the outside agent that it runs."""

from agiraph.messages.body import Body
from agiraph.money import Shortage


class OpenDoor(Body):
    """Let the outside agent that I run call models. A worker to the broker.

    Answered by `door.opened` or `control.refused`. `model` is what a name that is none of ours gets
    (`claude-sonnet-5`, `any`); `models` may be asked for by their full names besides. A door that
    the worker had open before is closed; the same message again is answered by the same door.
    `trigger` is that of a ModelRequest, for each call.
    """

    TYPE = "door.open"
    run_id: str
    node_id: str
    model: str
    models: tuple[str, ...] = ()
    trigger: str = ""


class DoorOpened(Body):
    """Where the door is, and its key. Broker to the worker.

    `{url}/anthropic` is an ANTHROPIC_BASE_URL, `{url}/openai/v1` an OPENAI_BASE_URL (Chat
    Completions and Responses), `{url}/google` a GOOGLE_GEMINI_BASE_URL; `token` stands in for the
    service's key. `model` is the full name of the model that was granted.
    """

    TYPE = "door.opened"
    url: str
    token: str
    model: str


class DoorFailed(Body):
    """A call of your agent failed for good; the agent was told so too. Broker to the worker.

    `kind` is a FailureKind: `out_of_budget` is a matter for the human, whatever the agent does;
    `shortage` tells which budget is spent.
    """

    TYPE = "door.failed"
    kind: str
    message: str
    shortage: Shortage | None = None


class CloseDoor(Body):
    """My agent has ended: let nobody in any more, and end what is under way. Worker to the broker.

    With a `token`, only the door of that token is closed.
    """

    TYPE = "door.close"
    DURABLE = True
    token: str = ""
