"""What each entity last reported that it does; telemetry, in memory only."""

from dataclasses import dataclass, replace

from agiraph.messages.event import EntityStatus

MOST = 20_000


@dataclass(frozen=True, slots=True)
class EntityActivity:
    """The last report of one incarnation, and since when it reports that (epoch seconds)."""

    incarnation: int
    state: str
    step: str
    since: float = 0.0


class EntityActivities:
    """The latest report by address; that of an older incarnation is ignored."""

    def __init__(self) -> None:
        self._latest: dict[str, EntityActivity] = {}

    def record(self, address: str, incarnation: int, status: EntityStatus, at: float = 0.0) -> None:
        """Record a status that was sent at `at`; a repeated one keeps its first time."""
        known = self._latest.pop(address, None)
        if known is not None and known.incarnation > incarnation:
            self._latest[address] = known
            return
        doing = EntityActivity(incarnation, status.state, status.step, at)
        if known is not None and doing == replace(known, since=at):
            doing = known
        self._latest[address] = doing
        if len(self._latest) > MOST:
            self._latest.pop(next(iter(self._latest)))

    def get(self, address: str, incarnation: int | None = None) -> EntityActivity | None:
        """Return the last report of an address (of this incarnation, if one is named)."""
        known = self._latest.get(address)
        if known is None or incarnation not in (None, known.incarnation):
            return None
        return known

    def step_of(self, address: str) -> str:
        """Return what an entity does right now, '' if it did not report."""
        known = self._latest.get(address)
        return known.step if known else ""
