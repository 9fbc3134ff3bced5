"""ProviderQueues: the way to one service, shared by all who call it: its pace, its breaker, and who
is next.

Whoever came first goes first, also when it comes back after a refusal: a storm of refusals slows
everybody down and starves nobody. While the breaker is open, one call at a time tries the service;
who has somewhere else to go does not wait for that, and who has not shares what becomes of it.
"""

import asyncio
import heapq
import itertools
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agiraph.core.clock import Clock
from agiraph.core.config import BrokerConfig
from agiraph.llm.adaptive_concurrency import AdaptiveConcurrency, RestTimes
from agiraph.llm.base import FailureKind, ProviderError
from agiraph.llm.circuit_breaker import CircuitBreaker

IN_TROUBLE: frozenset[FailureKind] = frozenset({"overloaded", "unreachable", "timed_out"})
TOO_MANY: FailureKind = "rate_limited"
OVERLOADED: FailureKind = "overloaded"


@dataclass(slots=True)
class QueueEntry:
    """One call's place in the row, for as long as it tries; `may_leave`: it has elsewhere to go."""

    number: int
    since: float
    may_leave: bool


@dataclass(slots=True)
class CallSlot:
    """One attempt that was let through."""

    began: float
    is_probe: bool


class ProviderQueue:
    """The way to one service."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        """Begin with nothing known against the service."""
        rests = RestTimes(config.first_delay_seconds, config.max_delay_seconds)
        self._clock = clock
        self._patience = config.patience_seconds
        self.pace = AdaptiveConcurrency(config.concurrent_calls, rests)
        self.breaker = CircuitBreaker(config.breaker_failures, config.breaker_seconds)
        self._waiting: list[tuple[int, int, QueueEntry, asyncio.Future[CallSlot]]] = []
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._last_error: ProviderError | None = None

    def entry(self, *, may_leave: bool) -> QueueEntry:
        """Return a place behind all who have come before."""
        return QueueEntry(next(self._order), self._clock.monotonic(), may_leave)

    @asynccontextmanager
    async def turn(self, entry: QueueEntry) -> AsyncIterator[None]:
        """Wait until it is this call's turn, hold its place, and learn from what becomes of it.

        Raises the service's last error if waiting is of no use: the breaker is open and this call
        has elsewhere to go, or the call that tried the service meanwhile has failed too.
        """
        turn = await self._let_through(entry)
        try:
            yield
        except ProviderError as error:
            self._failed(turn, error)
            raise
        except BaseException:
            self.breaker.released(was_probe=turn.is_probe)
            raise
        else:
            self.pace.succeeded(self._clock.monotonic())
            self.breaker.succeeded()
        finally:
            self.pace.ended()
            self._pump()

    def is_stuck(self, entry: QueueEntry) -> bool:
        """Whether the service has answered nobody for longer than patience lasts."""
        return self.pace.is_stuck(entry.since, self._clock.monotonic(), self._patience)

    # --- waiting ---------------------------------------------------------------------------------

    async def _let_through(self, entry: QueueEntry) -> CallSlot:
        now = self._clock.monotonic()
        if entry.may_leave and self._last_error and self.breaker.wait(now) != 0:
            raise again(self._last_error)
        future: asyncio.Future[CallSlot] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (entry.number, next(self._order), entry, future))
        self._pump()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.breaker.released(was_probe=future.result().is_probe)
                self.pace.ended()  # it was let through in the same moment
                self._pump()
            raise

    def _pump(self) -> None:
        """Let through whoever may go now; look again when a rest is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            if self._waiting[0][-1].done():  # it was cancelled
                heapq.heappop(self._waiting)
                continue
            now = self._clock.monotonic()
            waits = (self.pace.wait(now), self.breaker.wait(now))
            if None in waits:
                return  # whoever is in flight pumps when it ends
            wait = max(seconds for seconds in waits if seconds is not None)
            if wait > 0:
                self._timer = asyncio.get_running_loop().call_later(wait, self._pump)
                return
            future = heapq.heappop(self._waiting)[-1]
            self.pace.begin()
            future.set_result(CallSlot(now, self.breaker.begin(now)))

    # --- what becomes of calls -------------------------------------------------------------------

    def _failed(self, turn: CallSlot, error: ProviderError) -> None:
        now = self._clock.monotonic()
        if error.kind == TOO_MANY or (error.kind == OVERLOADED and error.retry_after is not None):
            self.pace.refused(turn.began, now, error.retry_after, random.random())
        if error.kind not in IN_TROUBLE:
            self.breaker.released(was_probe=turn.is_probe)
            return
        self._last_error = error
        if self.breaker.failed(now, was_probe=turn.is_probe):
            self._send_away(error, everybody=turn.is_probe)

    def _send_away(self, error: ProviderError, *, everybody: bool) -> None:
        """Fail those who wait, or only those who have elsewhere to go."""
        staying = []
        for waiting in self._waiting:
            _, _, entry, future = waiting
            if not (everybody or entry.may_leave):
                staying.append(waiting)
            elif not future.done():
                future.set_exception(again(error))
        heapq.heapify(staying)
        self._waiting = staying


def again(error: ProviderError) -> ProviderError:
    """Return the error once more, for another call: an exception carries one traceback."""
    return ProviderError(error.kind, str(error), retry_after=error.retry_after)


class ProviderQueues:
    """The lanes to all services, each made when first needed."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        """Begin with none."""
        self._make: Callable[[], ProviderQueue] = lambda: ProviderQueue(config, clock)
        self._queues: dict[str, ProviderQueue] = {}

    def of(self, provider: str) -> ProviderQueue:
        """Return the lane to a service."""
        if provider not in self._queues:
            self._queues[provider] = self._make()
        return self._queues[provider]
