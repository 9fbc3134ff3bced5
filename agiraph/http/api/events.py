"""Stretches of an agent's event log."""

from agiraph.core.models import Event
from agiraph.http.api.base import ApiView


class EventPageView(ApiView):
    """A stretch of the event log, oldest first; `next` is the `seq` to pass as `after`."""

    events: tuple[Event, ...]
    next: int
