"""Event and status."""

from pydantic import Field

from agiraph.core.ids import AgentId, NodeId
from agiraph.core.models import Event
from agiraph.messages.body import Body


class ReportEvents(Body):
    """Things that happened, in order. Any actor to the recorder, who writes them down."""

    TYPE = "event.report"
    DURABLE = True
    events: tuple[Event, ...]


class EventAppended(Body):
    """An event stands in the log, with all before it. `counts` are the types of those with it.

    Recorder to the human gateway, for followers and metrics.
    """

    TYPE = "event.appended"
    event: Event
    counts: dict[str, int] = Field(default_factory=dict)


class EventsGrew(Body):
    """The logs of these agents have grown. Recorder to the clock and the tracer.

    They read what they need.
    """

    TYPE = "event.grew"
    agents: tuple[AgentId, ...]


class EntityStatus(Body):
    """What an entity is doing now; the latest wins. Coordinator or worker to human gateway."""

    TYPE = "event.status"
    state: str
    step: str = ""
    node_id: NodeId | None = None
