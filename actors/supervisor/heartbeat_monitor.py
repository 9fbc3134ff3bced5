"""HeartbeatMonitor: which processes' event loops have stopped turning. Pure.

Every actor posts a `child.beat` from its event loop every few seconds, through the router. A
process that is stopped, spins, or waits inside a call that never returns sends none, though it
lives: after `suspect_seconds` of silence it is suspect, after `hung_seconds` hung.

Silence counts only while a beat could arrive. The supervisor sends beats to itself through the same
router: while those do not return, the silence is the router's alone. After the supervisor itself
stood still (a laptop that slept, a busy machine) no more than one check's worth is counted. So a
healthy process is never taken for a hung one because of another.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from agiraph.core.ids import ROUTER

LATE_CHECKS = 2.0


@dataclass(frozen=True, slots=True)
class HeartbeatLimits:
    """How often beats are sent, and how much silence makes a process suspect, and hung."""

    beat_seconds: float
    suspect_seconds: float
    hung_seconds: float


@dataclass(frozen=True, slots=True)
class SuspectedHang:
    """Its loop has not turned for `suspect_seconds`."""

    address: str
    incarnation: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Hung:
    """Its loop has not turned for `hung_seconds`."""

    address: str
    incarnation: int
    seconds: float


Finding = SuspectedHang | Hung


@dataclass(slots=True)
class _Silence:
    incarnation: int
    seconds: float = 0.0
    is_suspect: bool = False
    is_hung: bool = False


class HeartbeatMonitor:
    """The silence of each child. The caller passes in the time."""

    def __init__(self, bounds: HeartbeatLimits) -> None:
        self._bounds = bounds
        self._checked_at = 0.0
        self._silences: dict[str, _Silence] = {}

    def began(self, address: str, incarnation: int) -> None:
        """Watch this incarnation from now on. A router that starts resets all silence."""
        self._silences[address] = _Silence(incarnation)
        if address == ROUTER:
            for silence in self._silences.values():
                silence.seconds = 0.0

    def ended(self, address: str) -> None:
        """Stop watching an address."""
        self._silences.pop(address, None)

    def record(self, address: str, incarnation: int) -> bool:
        """Record a beat; return whether it comes from a suspect."""
        silence = self._silences.get(address)
        if silence is None or silence.incarnation != incarnation:
            return False
        was_suspect, silence.is_suspect = silence.is_suspect, False
        silence.seconds = 0.0
        return was_suspect

    def forgive(self, address: str) -> None:
        """Reset the silence of a process that is silent for a reason not its own."""
        silence = self._silences.get(address)
        if silence is not None:
            silence.seconds, silence.is_suspect, silence.is_hung = 0.0, False, False

    def record_router(self) -> bool:
        """Record that our own beat came back; return whether the router was suspect."""
        router = self._silences.get(ROUTER)
        return router is not None and self.record(ROUTER, router.incarnation)

    def check(self, now: float) -> list[Finding]:
        """Count the time since the last check; return who became suspect or hung in it."""
        longest = LATE_CHECKS * self._bounds.beat_seconds
        passed, self._checked_at = min(now - self._checked_at, longest), now
        router = self._silences.get(ROUTER)
        if router is None:
            return []  # no beat can arrive
        is_reachable = router.seconds <= longest
        found: list[Finding] = []
        for address, silence in self._silences.items():
            if is_reachable or silence is router:
                silence.seconds += passed
                found += self._judge(address, silence)
        return found

    def _judge(self, address: str, silence: _Silence) -> Iterator[Finding]:
        if silence.seconds >= self._bounds.suspect_seconds and not silence.is_suspect:
            silence.is_suspect = True
            yield SuspectedHang(address, silence.incarnation, silence.seconds)
        if silence.seconds >= self._bounds.hung_seconds and not silence.is_hung:
            silence.is_hung = True
            yield Hung(address, silence.incarnation, silence.seconds)
