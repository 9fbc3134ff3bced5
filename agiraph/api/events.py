"""Stretches of an agent's event log."""

from agiraph.api.base import View
from agiraph.models import Event


class EventPage(View):
    """A stretch of the event log, oldest first; `next` is the `seq` to pass as `after`."""

    events: tuple[Event, ...]
    next: int
