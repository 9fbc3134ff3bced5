"""Event and status."""

from agiraph.ids import AgentId, NodeId
from agiraph.messages.body import Body
from agiraph.models import Event


class ReportEvents(Body):
    """Things that happened, in order. Any actor to the recorder, who writes them down."""

    TYPE = "event.report"
    DURABLE = True
    events: tuple[Event, ...]


class EventAppended(Body):
    """An event stands in the log, with all before it.

    Recorder to the human gateway, for followers.
    """

    TYPE = "event.appended"
    event: Event


class EventsGrew(Body):
    """The logs of these agents have grown. Recorder to the clock, which reads what it needs."""

    TYPE = "event.grew"
    agents: tuple[AgentId, ...]


class Status(Body):
    """What an entity is doing now; the latest wins. Coordinator or worker to human gateway."""

    TYPE = "event.status"
    state: str
    step: str = ""
    node_id: NodeId | None = None
