"""ProviderQueue: the calls that wait for one service, with its concurrency and circuit breaker.

The oldest call goes first, also when it is retried after a refusal: many refusals slow all calls
down and starve none. While the breaker is open, one call at a time probes the service; a call with
a fallback does not wait for the result, a call without a fallback shares it.
"""

import asyncio
import heapq
import itertools
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from agiraph.core.clock import Clock
from agiraph.llm.adaptive_concurrency import AdaptiveConcurrency, Backoff
from agiraph.llm.base import FailureKind, ProviderError
from agiraph.llm.circuit_breaker import CircuitBreaker
from agiraph.settings.config import BrokerConfig

IN_TROUBLE: frozenset[FailureKind] = frozenset({"overloaded", "unreachable", "timed_out"})
TOO_MANY: FailureKind = "rate_limited"
OVERLOADED: FailureKind = "overloaded"
SHOWN_SECONDS = 1.0
"""The shortest pause that is reported, and the shortest extension of a reported pause."""
OnPause = Callable[[float, ProviderError], None]
"""Receives the seconds for which the service pauses, and the failure that caused the pause."""


@dataclass(slots=True)
class QueueEntry:
    """One call's place in the queue while it is tried; `may_leave`: it has a fallback.

    `on_pause` is called when the call waits because the service pauses, and again when the pause
    becomes longer. `paused_until` is the end that was reported last, None once the call is made.
    """

    number: int
    since: float
    may_leave: bool
    on_pause: OnPause
    paused_until: float | None = None


@dataclass(slots=True)
class CallSlot:
    """An attempt that the queue has admitted to the service."""

    began: float
    is_probe: bool


class ProviderQueue:
    """The calls that wait for one service."""

    def __init__(self, config: BrokerConfig, clock: Clock) -> None:
        backoff = Backoff(config.first_delay_seconds, config.max_delay_seconds)
        self._clock = clock
        self._patience = config.patience_seconds
        self._longest_wish = config.timeout_seconds
        self.concurrency = AdaptiveConcurrency(config.concurrent_calls, backoff)
        self.breaker = CircuitBreaker(config.breaker_failures, config.breaker_seconds)
        self._waiting: list[tuple[int, int, QueueEntry, asyncio.Future[CallSlot]]] = []
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self._last_error: ProviderError | None = None
        self._paused_by: ProviderError | None = None

    def entry(
        self, *, may_leave: bool, on_pause: OnPause = lambda seconds, cause: None
    ) -> QueueEntry:
        """Return a place behind all earlier calls."""
        return QueueEntry(next(self._order), self._clock.monotonic(), may_leave, on_pause)

    @asynccontextmanager
    async def slot(self, entry: QueueEntry) -> AsyncIterator[None]:
        """Wait for admission, run the block as an attempt, and adapt to its outcome.

        Raises the service's last error if waiting is useless: the breaker is open and this call has
        a fallback, or the call that probed the service meanwhile has failed too.
        """
        slot = await self._admit(entry)
        try:
            yield
        except ProviderError as error:
            self._failed(slot, error)
            raise
        except BaseException:
            self.breaker.released(was_probe=slot.is_probe)
            raise
        else:
            self.concurrency.succeeded(self._clock.monotonic())
            self.breaker.succeeded()
        finally:
            self.concurrency.ended()
            self._pump()

    def is_stuck(self, entry: QueueEntry) -> bool:
        """Whether the service has answered no call for `broker.patience_seconds`."""
        return self.concurrency.is_stuck(entry.since, self._clock.monotonic(), self._patience)

    # --- waiting ---------------------------------------------------------------------------------

    async def _admit(self, entry: QueueEntry) -> CallSlot:
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
                self.concurrency.ended()  # it was admitted at the moment of its cancellation
                self._pump()
            raise

    def _pump(self) -> None:
        """Admit the calls that may begin now; check again when a pause is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            if self._waiting[0][-1].done():  # it was cancelled
                heapq.heappop(self._waiting)
                continue
            now = self._clock.monotonic()
            waits = (self.concurrency.wait(now), self.breaker.wait(now))
            if None in waits:
                return  # a call in flight pumps when it ends
            wait = max(seconds for seconds in waits if seconds is not None)
            if wait > 0:
                self._timer = asyncio.get_running_loop().call_later(wait, self._pump)
                self._report_pause(now, wait)
                return
            future = heapq.heappop(self._waiting)[-1]
            self.concurrency.begin()
            future.set_result(CallSlot(now, self.breaker.begin(now)))

    def _report_pause(self, now: float, wait: float) -> None:
        """Report a pause to the waiting calls that do not know it, or if it has become longer."""
        cause = self._paused_by
        if cause is None or wait < SHOWN_SECONDS:
            return
        for *_, entry, future in self._waiting:
            is_known = entry.paused_until is not None and (
                now + wait < entry.paused_until + SHOWN_SECONDS
            )
            if not (is_known or future.done()):
                entry.paused_until = now + wait
                entry.on_pause(wait, cause)

    # --- outcomes --------------------------------------------------------------------------------

    def _failed(self, slot: CallSlot, error: ProviderError) -> None:
        now = self._clock.monotonic()
        if error.kind == TOO_MANY or (error.kind == OVERLOADED and error.retry_after is not None):
            wish = error.retry_after
            # No call waits that long: this call fails with the reason, and so does each other call
            # after its own request to the service.
            is_bearable = wish is not None and wish <= self._longest_wish
            pause = wish if is_bearable else None
            self.concurrency.refused(slot.began, now, pause, random.random())
            self._paused_by = error
        if error.kind not in IN_TROUBLE:
            self.breaker.released(was_probe=slot.is_probe)
            return
        self._last_error = error
        if self.breaker.failed(now, was_probe=slot.is_probe):
            self._paused_by = error
            self._reject(error, all_calls=slot.is_probe)

    def _reject(self, error: ProviderError, *, all_calls: bool) -> None:
        """Reject the waiting calls, or only the waiting calls that have a fallback."""
        staying = []
        for waiting in self._waiting:
            _, _, entry, future = waiting
            if not (all_calls or entry.may_leave):
                staying.append(waiting)
            elif not future.done():
                future.set_exception(again(error))
        heapq.heapify(staying)
        self._waiting = staying


def again(error: ProviderError) -> ProviderError:
    """Return a copy of an error for another call: an exception carries one traceback."""
    return ProviderError(error.kind, str(error), retry_after=error.retry_after)
