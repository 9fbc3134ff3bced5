"""Event and status."""

from pydantic import Field

from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.messages.body import MessageBody


class ReportEvents(MessageBody):
    """Events in order. Any process to the recorder, which writes them to the log."""

    TYPE = "event.report"
    DURABLE = True
    events: tuple[Event, ...]


class EventAppended(MessageBody):
    """An event and all earlier ones are in the log. Recorder to the human gateway.

    For followers and metrics. `counts` are the numbers of events appended with it, by type.
    """

    TYPE = "event.appended"
    event: Event
    counts: dict[str, int] = Field(default_factory=dict)


class EventsGrew(MessageBody):
    """The logs of these agents have grown. Recorder to the scheduler and the tracer.

    They read the events that they need.
    """

    TYPE = "event.grew"
    agents: tuple[AgentId, ...]
