"""HeartbeatMonitor: whose event loop has stopped turning. Pure.

Every actor posts a `child.beat` from its loop every few seconds, through the router. A process that
is stopped, spins or waits inside a call that never returns beats no more, though it lives; silence
of `suspect_seconds` makes it suspect, of `hung_seconds` hung.

Silence counts only while a beat could be heard. The supervisor beats to itself through the same
router: while that does not come back, the silence is the router's and nobody else's; and after the
supervisor itself stood still (a laptop that slept, a busy machine), no more than one look's worth
is counted. So a healthy process is never taken for a hung one because of somebody else.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from agiraph.core.ids import ROUTER

LATE_LOOKS = 2.0


@dataclass(frozen=True, slots=True)
class HeartbeatLimits:
    """How often beats come, and after how much silence a process is suspect, and hung."""

    beat_seconds: float
    suspect_seconds: float
    hung_seconds: float


@dataclass(frozen=True, slots=True)
class SuspectedHang:
    """It has not turned its loop for a while."""

    address: str
    incarnation: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Hung:
    """It will not turn its loop any more."""

    address: str
    incarnation: int
    seconds: float


Finding = SuspectedHang | Hung


@dataclass(slots=True)
class _Pulse:
    incarnation: int
    silent: float = 0.0
    is_suspect: bool = False
    is_hung: bool = False


class HeartbeatMonitor:
    """The pulses of all children; `look` says what stands out. The caller hands in the time."""

    def __init__(self, bounds: HeartbeatLimits) -> None:
        """Begin with nobody to watch."""
        self._bounds = bounds
        self._looked_at = 0.0
        self._heartbeats: dict[str, _Pulse] = {}

    def began(self, address: str, incarnation: int) -> None:
        """Watch this incarnation from now on. A router that begins sets all silence back."""
        self._heartbeats[address] = _Pulse(incarnation)
        if address == ROUTER:
            for heartbeat in self._heartbeats.values():
                heartbeat.silent = 0.0

    def ended(self, address: str) -> None:
        """Watch it no more."""
        self._heartbeats.pop(address, None)

    def beat(self, address: str, incarnation: int) -> bool:
        """Note a beat; return whether it comes from one that was suspect."""
        heartbeat = self._heartbeats.get(address)
        if heartbeat is None or heartbeat.incarnation != incarnation:
            return False
        was_suspect, heartbeat.is_suspect = heartbeat.is_suspect, False
        heartbeat.silent = 0.0
        return was_suspect

    def forgive(self, address: str) -> None:
        """Count the silence of this one from now: it has a reason that is not its own."""
        heartbeat = self._heartbeats.get(address)
        if heartbeat is not None:
            heartbeat.silent, heartbeat.is_suspect, heartbeat.is_hung = 0.0, False, False

    def router_beat(self) -> bool:
        """Note that our own beat came back; return whether the router was suspect."""
        router = self._heartbeats.get(ROUTER)
        return router is not None and self.beat(ROUTER, router.incarnation)

    def look(self, now: float) -> list[Finding]:
        """Count the time since the last look; return who became suspect or hung in it."""
        longest = LATE_LOOKS * self._bounds.beat_seconds
        passed, self._looked_at = min(now - self._looked_at, longest), now
        router = self._heartbeats.get(ROUTER)
        if router is None:
            return []  # nobody can be heard
        is_heard = router.silent <= longest
        found: list[Finding] = []
        for address, heartbeat in self._heartbeats.items():
            if is_heard or heartbeat is router:
                heartbeat.silent += passed
                found += self._judge(address, heartbeat)
        return found

    def _judge(self, address: str, heartbeat: _Pulse) -> Iterator[Finding]:
        if heartbeat.silent >= self._bounds.suspect_seconds and not heartbeat.is_suspect:
            heartbeat.is_suspect = True
            yield SuspectedHang(address, heartbeat.incarnation, heartbeat.silent)
        if heartbeat.silent >= self._bounds.hung_seconds and not heartbeat.is_hung:
            heartbeat.is_hung = True
            yield Hung(address, heartbeat.incarnation, heartbeat.silent)
