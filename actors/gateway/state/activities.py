"""What each entity said last about what it does; telemetry, kept in memory only."""

from dataclasses import dataclass, replace

from agiraph.messages import EntityStatus

MOST = 20_000


@dataclass(frozen=True, slots=True)
class EntityActivity:
    """The last word of one incarnation, and when it was said first (seconds since the epoch)."""

    incarnation: int
    state: str
    step: str
    since: float = 0.0


class EntityActivities:
    """The latest status by address; a word of an older incarnation is not believed."""

    def __init__(self) -> None:
        """Begin with none heard."""
        self._latest: dict[str, EntityActivity] = {}

    def hear(self, address: str, incarnation: int, status: EntityStatus, at: float = 0.0) -> None:
        """Take a status in that was sent at `at`; the same one again began when it did."""
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

    def of(self, address: str, incarnation: int | None = None) -> EntityActivity | None:
        """Return the last word of an address (of this incarnation of it, if one is named)."""
        known = self._latest.get(address)
        if known is None or incarnation not in (None, known.incarnation):
            return None
        return known

    def step_of(self, address: str) -> str:
        """Return what an entity does right now, empty if it did not say."""
        known = self._latest.get(address)
        return known.step if known else ""
