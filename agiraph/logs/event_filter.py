"""EventFilter: which events somebody wants to see: by type, entity and node. Pure."""

from dataclasses import dataclass

from agiraph.core.models import Event

ABOUT = ("worker",)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """None is no limit. `entity` is a name, an id or an address; `node` is a node's id."""

    types: frozenset[str] | None = None
    entity: str | None = None
    node: str | None = None

    @property
    def takes_all(self) -> bool:
        """Whether it lets every event through."""
        return self.types is None and self.entity is None and self.node is None

    def takes(self, event: Event) -> bool:
        """Whether an event is wanted: of the types, by or about the entity, and of the node."""
        if self.types is not None and event.type not in self.types:
            return False
        if self.node is not None and event.node_id != self.node:
            return False
        return self.entity is None or self._is_of(event, self.entity.casefold())

    def _is_of(self, event: Event, wanted: str) -> bool:
        named = [event.entity, *(event.data.get(key) for key in ABOUT)]
        if event.type.startswith("worker."):
            named.append(event.data.get("name"))
        return any(wanted in names_of(name) for name in named if isinstance(name, str))


def names_of(entity: str) -> frozenset[str]:
    """Return how an entity may be called: `shop-1/ada-7f3` also `ada-7f3` and `ada`."""
    last = entity.rpartition("/")[2]
    names = {entity, last}
    if "/" in entity and "-" in last:
        names.add(last.rpartition("-")[0])
    return frozenset(name.casefold() for name in names)
