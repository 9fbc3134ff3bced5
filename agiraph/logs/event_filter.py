"""EventFilter: selects events by type, entity, node and audience. Pure."""

from dataclasses import dataclass

from agiraph.core.event_types import Audience
from agiraph.core.models import Event
from agiraph.logs.event_text import is_for

ABOUT = ("worker",)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Filter of events; None is no limit. `entity` is a name, an id or an address, `node` an id.

    `audience` selects the events for these readers: with `team` also the events for everyone.
    """

    types: frozenset[str] | None = None
    entity: str | None = None
    node: str | None = None
    audience: Audience = "log"

    @property
    def takes_all(self) -> bool:
        """Whether the filter selects every event."""
        return self == EventFilter()

    def takes(self, event: Event) -> bool:
        """Whether an event matches all parts of the filter."""
        if self.types is not None and event.type not in self.types:
            return False
        if self.node is not None and event.node_id != self.node:
            return False
        if self.audience != "log" and not is_for(self.audience, event):
            return False
        return self.entity is None or self._is_of(event, self.entity.casefold())

    def _is_of(self, event: Event, wanted: str) -> bool:
        named = [event.entity, *(event.data.get(key) for key in ABOUT)]
        if event.type.startswith("worker."):
            named.append(event.data.get("name"))
        return any(wanted in names_of(name) for name in named if isinstance(name, str))


def names_of(entity: str) -> frozenset[str]:
    """Return the names of an entity: `shop-1/ada-7f3` also `ada-7f3` and `ada`."""
    last = entity.rpartition("/")[2]
    names = {entity, last}
    if "/" in entity and "-" in last:
        names.add(last.rpartition("-")[0])
    return frozenset(name.casefold() for name in names)
