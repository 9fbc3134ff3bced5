"""CallRetries: calls one model until it answers or a limit is reached; meters each attempt."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

from actors.broker.provider_queue import SHOWN_SECONDS, TOO_MANY, ProviderQueue, QueueEntry
from agiraph.core.clock import Clock
from agiraph.core.turns import JsonObject, ModelRequest, ModelResponse, Usage
from agiraph.llm.adaptive_concurrency import Backoff
from agiraph.llm.base import (
    FailureKind,
    OnText,
    PartialUsage,
    Provider,
    ProviderError,
    UsageSoFar,
)
from agiraph.llm.fallback import FallbackStarted
from agiraph.llm.token_counts import (
    UNSEEN_TOKENS_PER_SECOND,
    InputSize,
    believed_usage,
    byte_length,
    is_possible_cost,
)
from agiraph.models.prices import HIGHEST, Price
from agiraph.settings.config import BrokerConfig
from agiraph.spending.ledger import LedgerRow, Outcome, UsageLedger

BAD_ANSWER: FailureKind = "bad_answer"
BAD_ANSWER_ATTEMPTS = 3
"""Most attempts of a call whose answers cannot be read: each attempt is billed."""


@dataclass(frozen=True, slots=True)
class RetryPlanned:
    """A call failed and will be retried after a wait.

    `attempt` is the number of the failed attempt, of at most `attempts`; `attempts` is None if
    attempts are not counted, because the service is only busy. `attempt` is 0 if the call has not
    been made yet, because its service pauses after the failure of another call; kind and message
    describe that failure.
    """

    EVENT: ClassVar = "model.retry"
    model: str
    attempt: int
    attempts: int | None
    kind: FailureKind
    message: str
    wait_seconds: float

    def event_data(self) -> JsonObject:
        """Return the data of the event that reports the planned retry."""
        return {**asdict(self), "wait_seconds": round(self.wait_seconds, 3)}


@dataclass(frozen=True, slots=True)
class WaitEnded:
    """The wait of a RetryPlanned of at least SHOWN_SECONDS has ended: the call is made now."""


AttemptFailure = RetryPlanned | FallbackStarted
"""An attempt failed and its streamed text is void; another attempt follows."""
OnFailure = Callable[[AttemptFailure | WaitEnded], None]
Reserve = Callable[[], AbstractAsyncContextManager[int]]
"""Reserves the most that one attempt may use; yields the longest answer, in tokens."""


@dataclass(slots=True)
class AttemptMeter:
    """Measures the usage of one attempt: the streamed answer, the text so far, the outcome.

    `size` is the size of the request's input, `price` the price of its model.
    """

    clock: Clock
    size: InputSize
    price: Price | None
    so_far: UsageSoFar | None = None
    sent_at: float = 0.0
    streamed_bytes: int = 0
    response: ModelResponse | None = None
    outcome: Outcome = "failed"
    is_cut_off: bool = False

    def on_answer(self, so_far: UsageSoFar) -> None:
        """Record that the request has been sent."""
        self.so_far, self.sent_at = so_far, self.clock.monotonic()

    def usage(self, request: ModelRequest) -> Usage | None:
        """Return the billed usage of the attempt, with its cost; None if nothing is billed.

        The service's own counts and cost are used if they are plausible, otherwise estimates. A
        service that failed before any part of an answer arrived bills nothing; a call that was
        interrupted before that point is billed for its input. An agent at the LLM proxy may hang up
        at will, so an interrupted call of it without a count is billed for the longest input.
        """
        if self.so_far is None and self.response is not None:
            return priced(self.response.usage, self.price)  # counted in this process
        so_far = self._so_far()
        if not (so_far.has_begun or so_far.is_complete or so_far.streamed_bytes):
            return None
        unseen = self._unseen_tokens() if so_far.is_accepted else 0
        size = self.size
        if request.door and self.is_cut_off:
            size = replace(size, uncounted=size.most)
        usage = believed_usage(so_far, size, request.max_tokens, unseen)
        usual = 0.0 if self.price is None else self.price.cost(usage)
        most = self._most_usd(max(request.max_tokens, usage.output_tokens))
        if usage.cost_usd is not None and not is_possible_cost(usage.cost_usd, usual, most):
            usage = usage.model_copy(update={"cost_usd": None, "is_estimate": True})
        return priced(usage, self.price)

    def _so_far(self) -> PartialUsage:
        """Return the usage of the answer so far, also if the provider does not report it."""
        if self.so_far is None:
            return PartialUsage(Usage(), self.streamed_bytes, has_begun=self.is_cut_off)
        so_far = self.so_far()
        return replace(
            so_far,
            streamed_bytes=max(so_far.streamed_bytes, self.streamed_bytes),
            has_begun=so_far.has_begun or self.is_cut_off,
            is_complete=so_far.is_complete or self.response is not None,
        )

    def _unseen_tokens(self) -> int:
        """Return an estimate of the tokens that were not streamed; 0 if they are free."""
        if self.price is not None and not self.price.output:
            return 0
        return int((self.clock.monotonic() - self.sent_at) * UNSEEN_TOKENS_PER_SECOND)

    def _most_usd(self, output_tokens: int) -> float:
        """Return the highest possible cost of the attempt in US dollars."""
        return (self.price or HIGHEST).most(self.size.most, output_tokens)


class CallRetries:
    """Calls one model; at most `concurrent_calls` attempts of all models run at once."""

    def __init__(self, config: BrokerConfig, ledger: UsageLedger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._attempts = config.attempts
        self._backoff = Backoff(config.first_delay_seconds, config.max_delay_seconds)
        self._fallback_attempts = config.fallback_attempts
        self._timeout_seconds = config.timeout_seconds
        self._slots = asyncio.Semaphore(config.concurrent_calls)

    async def until_answered(
        self,
        provider: Provider,
        queue: ProviderQueue,
        request: ModelRequest,
        size: InputSize,
        price: Price | None,
        reserve: Reserve,
        on_text: OnText,
        on_failure: OnFailure,
        *,
        may_leave: bool,
    ) -> ModelResponse:
        """Return the answer; raise ProviderError when no attempt succeeds.

        Each attempt has its own reservation. Its usage is recorded before the reservation is
        released, so the next attempt sees the amount already spent. With `may_leave` there is a
        fallback, so few attempts are made.
        """

        def on_pause(seconds: float, cause: ProviderError) -> None:
            on_failure(RetryPlanned(request.model, 0, None, cause.kind, str(cause), seconds))

        entry = queue.entry(may_leave=may_leave, on_pause=on_pause)
        attempt = 1
        while True:
            tried_at = self._clock.monotonic()
            try:
                async with reserve() as max_tokens, queue.slot(entry):
                    if entry.paused_until is not None:
                        entry.paused_until = None
                        on_failure(WaitEnded())
                    own = request.model_copy(update={"max_tokens": max_tokens})
                    return await self._once(provider, own, size, price, on_text)
            except ProviderError as error:
                wait = self._wait_after(error, attempt, queue, entry)
                rest = max(0.0, queue.concurrency.rests_until - self._clock.monotonic())
                wait_seconds = max(wait, rest)
                if wait_seconds >= SHOWN_SECONDS:
                    entry.paused_until = self._clock.monotonic() + wait_seconds
                was_refused = error.kind == TOO_MANY
                most = None if was_refused else self._most(entry, error.kind)
                on_failure(
                    RetryPlanned(request.model, attempt, most, error.kind, str(error), wait_seconds)
                )
            await asyncio.sleep(wait)
            # A service that answers other calls is only slow: this attempt does not count.
            if not (was_refused and queue.concurrency.answered_at >= tried_at):
                attempt += 1

    def _most(self, entry: QueueEntry, kind: FailureKind) -> int:
        """Return the most attempts for a call with this kind of failure."""
        most = BAD_ANSWER_ATTEMPTS if kind == BAD_ANSWER else self._attempts
        most = min(most, self._attempts)
        return min(most, self._fallback_attempts) if entry.may_leave else most

    def _wait_after(
        self, error: ProviderError, attempt: int, queue: ProviderQueue, entry: QueueEntry
    ) -> float:
        """Return the seconds until this call enters the queue again; raise `error` to give up.

        After a 429 the queue pauses, for all calls.
        """
        wish = error.retry_after or 0.0
        if not error.is_retryable or wish > self._timeout_seconds:
            raise error
        longest = self._backoff.longest_seconds
        most = self._most(entry, error.kind)
        if entry.may_leave and (attempt >= most or wish > longest):
            raise error
        if error.kind == TOO_MANY:
            if queue.is_stuck(entry):
                raise error
            return 0.0
        if attempt >= most:
            raise error
        return self._backoff.after(attempt, error.retry_after, random.random())

    async def _once(
        self,
        provider: Provider,
        request: ModelRequest,
        size: InputSize,
        price: Price | None,
        on_text: OnText,
    ) -> ModelResponse:
        async with self._slots, self.metered(request, size, price) as meter:

            def count(text: str) -> None:
                meter.streamed_bytes += byte_length(text)
                on_text(text)

            try:
                async with asyncio.timeout(self._timeout_seconds):
                    meter.response = await provider.generate(request, count, meter.on_answer)
            except TimeoutError:
                meter.is_cut_off = True
                text = f"{request.model} was not done within {self._timeout_seconds:g} s"
                raise ProviderError("timed_out", text) from None
            usage = meter.usage(request) or Usage()
            return meter.response.model_copy(update={"usage": usage})

    @asynccontextmanager
    async def metered(
        self, request: ModelRequest, size: InputSize, price: Price | None
    ) -> AsyncIterator[AttemptMeter]:
        """Yield the meter of an attempt, and record its usage however the block ends."""
        meter, started = AttemptMeter(self._clock, size, price), self._clock.monotonic()
        try:
            yield meter
            meter.outcome = "answered"
        except asyncio.CancelledError:
            meter.outcome, meter.is_cut_off = "cancelled", True
            raise
        except ProviderError as error:
            # The service has answered with success, and bills it although it cannot be read.
            meter.is_cut_off = meter.is_cut_off or error.kind == BAD_ANSWER
            raise
        finally:
            usage = meter.usage(request)
            if usage is not None:
                seconds = self._clock.monotonic() - started
                row = LedgerRow(self._clock.now(), request, meter.outcome, usage, seconds)
                self._ledger.note(row)


def priced(usage: Usage, price: Price | None) -> Usage:
    """Return `usage` with its cost: the service's own value, else our price, else unknown."""
    if usage.cost_usd is not None or price is None:
        return usage
    return usage.model_copy(update={"cost_usd": price.cost(usage)})
