"""HeartbeatMonitor: detects processes that do not become ready or whose event loop hangs. Pure.

A started process must report that it is ready within its own time limit. From then on every actor
posts a `child.beat` from its event loop every few seconds, through the router. A process that is
stopped, spins, or waits inside a call that never returns sends none, though it lives: after
`suspect_seconds` of silence it is suspect, after `hung_seconds` hung.

One rule decides for both limits which time counts: only time in which the report or the beat could
have arrived. The supervisor sends beats to itself through the same router: while those do not
return, the router causes the silence. After the supervisor itself did not run (a suspended laptop,
a busy machine), at most the time of two checks is counted. For a process that the caller excuses
(it waits for room on the disk, its machine is out of reach) the count begins again at zero.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agiraph.core.ids import ROUTER

LATE_CHECKS = 2.0


@dataclass(frozen=True, slots=True)
class HeartbeatLimits:
    """The interval of beats, and the silence after which a process is suspect, and hung."""

    beat_seconds: float
    suspect_seconds: float
    hung_seconds: float


@dataclass(frozen=True, slots=True)
class SuspectedHang:
    """The finding that a process's event loop was silent for `suspect_seconds`."""

    address: str
    incarnation: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Hung:
    """The finding that a process's event loop was silent for `hung_seconds`."""

    address: str
    incarnation: int
    seconds: float


@dataclass(frozen=True, slots=True)
class NotReady:
    """The finding that a process has not become ready within `limit` seconds."""

    address: str
    incarnation: int
    limit: float


Finding = SuspectedHang | Hung | NotReady


@dataclass(slots=True)
class _Silence:
    """The counted silence of one incarnation; `ready_within`: its limit while it is starting."""

    incarnation: int
    ready_within: float | None = None
    seconds: float = 0.0
    is_new: bool = True
    is_suspect: bool = False
    is_over: bool = False

    @property
    def is_starting(self) -> bool:
        return self.ready_within is not None


class HeartbeatMonitor:
    """Counts the silence of each child; the caller passes in the monotonic time."""

    def __init__(self, bounds: HeartbeatLimits) -> None:
        self._bounds = bounds
        self._checked_at = 0.0
        self._silences: dict[str, _Silence] = {}

    def started(self, address: str, incarnation: int, ready_within: float) -> None:
        """Watch a process that must become ready within `ready_within` seconds."""
        self._silences[address] = _Silence(incarnation, ready_within)

    def began(self, address: str, incarnation: int) -> None:
        """Watch the heartbeats of an incarnation that is ready.

        When the router becomes ready, all silence is reset.
        """
        self._silences[address] = _Silence(incarnation)
        if address == ROUTER:
            for silence in self._silences.values():
                silence.seconds = 0.0

    def ended(self, address: str) -> None:
        """Stop watching an address."""
        self._silences.pop(address, None)

    def record(self, address: str, incarnation: int) -> bool:
        """Record a beat; return whether the incarnation was suspect until now."""
        silence = self._silences.get(address)
        if silence is None or silence.incarnation != incarnation or silence.is_starting:
            return False
        was_suspect, silence.is_suspect = silence.is_suspect, False
        silence.seconds = 0.0
        return was_suspect

    def record_router(self) -> bool:
        """Record that our own beat came back; return whether the router was suspect."""
        router = self._silences.get(ROUTER)
        return router is not None and self.record(ROUTER, router.incarnation)

    def check(self, now: float, is_excused: Callable[[str], bool]) -> list[Finding]:
        """Count the time since the last check; return the processes that have exceeded a limit.

        `is_excused` is called with each address that has missed a beat or is not ready.
        """
        longest = LATE_CHECKS * self._bounds.beat_seconds
        passed, self._checked_at = min(now - self._checked_at, longest), now
        router = self._silences.get(ROUTER)
        is_reachable = router is not None and not router.is_starting and router.seconds <= longest
        found: list[Finding] = []
        for address, silence in self._silences.items():
            if not (is_reachable or silence is router):
                continue  # no message of this process can arrive
            silence.seconds += 0.0 if silence.is_new else passed
            silence.is_new = False
            if (silence.is_starting or silence.seconds > longest) and is_excused(address):
                silence.seconds, silence.is_suspect, silence.is_over = 0.0, False, False
            found += self._judge(address, silence)
        return found

    def _judge(self, address: str, silence: _Silence) -> Iterator[Finding]:
        if silence.ready_within is not None:
            if silence.seconds >= silence.ready_within and not silence.is_over:
                silence.is_over = True
                yield NotReady(address, silence.incarnation, silence.ready_within)
            return
        if silence.seconds >= self._bounds.suspect_seconds and not silence.is_suspect:
            silence.is_suspect = True
            yield SuspectedHang(address, silence.incarnation, silence.seconds)
        if silence.seconds >= self._bounds.hung_seconds and not silence.is_over:
            silence.is_over = True
            yield Hung(address, silence.incarnation, silence.seconds)
