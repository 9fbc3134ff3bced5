"""Attempts: one model is asked until it answers or patience is over; each attempt is metered."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from actors.broker.lanes import TOO_MANY, Lane, Ticket
from actors.broker.ledger import Ledger, Outcome, Spent
from agiraph.clock import Clock
from agiraph.config import BrokerConfig
from agiraph.providers.base import FailureKind, OnText, Provider, ProviderError
from agiraph.providers.prices import Price, guess_input_tokens
from agiraph.providers.retry import RetryPolicy
from agiraph.turns import ModelRequest, ModelResponse, Usage

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Retry:
    """A call failed and will be tried again after a wait."""

    attempt: int
    kind: FailureKind
    message: str
    wait_seconds: float


OnRetry = Callable[[Retry], None]


@dataclass(slots=True)
class Meter:
    """What one attempt has taken: count streamed text, and set what the service counted."""

    streamed: int = 0
    usage: Usage | None = None
    outcome: Outcome = "failed"


class Attempts:
    """Asks one model; at most `concurrent_calls` attempts of all models are in flight at once."""

    def __init__(self, config: BrokerConfig, ledger: Ledger, clock: Clock) -> None:
        """Write what attempts took to `ledger`."""
        self._ledger = ledger
        self._clock = clock
        self._policy = RetryPolicy.of(config)
        self._fallback_attempts = config.fallback_attempts
        self._longest_rest = config.max_delay_seconds
        self._timeout_seconds = config.timeout_seconds
        self._slots = asyncio.Semaphore(config.concurrent_calls)

    async def until_answered(
        self,
        provider: Provider,
        lane: Lane,
        request: ModelRequest,
        price: Price | None,
        on_text: OnText,
        on_retry: OnRetry,
        *,
        may_leave: bool,
    ) -> ModelResponse:
        """Return the answer; raise ProviderError when it cannot be had.

        `may_leave`: another model can be asked, so patience is short.
        """
        ticket = lane.ticket(may_leave=may_leave)
        attempt = 1
        while True:
            tried_at = self._clock.monotonic()
            try:
                async with lane.turn(ticket):
                    return await self._once(provider, request, price, on_text)
            except ProviderError as error:
                wait = self._wait_after(error, attempt, lane, ticket)
                rest = max(0.0, lane.pace.rests_until - self._clock.monotonic())
                on_retry(Retry(attempt, error.kind, str(error), max(wait, rest)))
                is_crowded = error.kind == TOO_MANY
            await asyncio.sleep(wait)
            # A service that answers others is only slow: no attempt of this call is used up.
            if not (is_crowded and lane.pace.answered_at >= tried_at):
                attempt += 1

    def _wait_after(self, error: ProviderError, attempt: int, lane: Lane, ticket: Ticket) -> float:
        """Return how long this call waits before it is in the row again; raise if it gives up.

        After a 429 it is the lane that rests, for everybody.
        """
        wish = error.retry_after or 0.0
        if not error.is_retryable or wish > self._policy.longest_wish_seconds:
            raise error
        if ticket.may_leave and (attempt >= self._fallback_attempts or wish > self._longest_rest):
            raise error
        if error.kind == TOO_MANY:
            if lane.is_stuck(ticket):
                raise error
            return 0.0
        wait = self._policy.wait_after(error, attempt, random.random())
        if wait is None:
            raise error
        return wait

    async def _once(
        self, provider: Provider, request: ModelRequest, price: Price | None, on_text: OnText
    ) -> ModelResponse:
        async with self._slots, self.metered(request, price) as meter:

            def count(text: str) -> None:
                meter.streamed += len(text)
                on_text(text)

            try:
                async with asyncio.timeout(self._timeout_seconds):
                    response = await provider.generate(request, count)
            except TimeoutError:
                text = f"{request.model} was not done within {self._timeout_seconds:g} s"
                raise ProviderError("timed_out", text) from None
            meter.usage = priced(response.usage, price)
            return response.model_copy(update={"usage": meter.usage})

    @asynccontextmanager
    async def metered(self, request: ModelRequest, price: Price | None) -> AsyncIterator[Meter]:
        """Write down what is done inside: the service's count, or a guess of what was cut off."""
        meter, started = Meter(), self._clock.monotonic()
        try:
            yield meter
            meter.outcome = "answered"
        except asyncio.CancelledError:
            meter.outcome = "cancelled"
            raise
        finally:
            usage = meter.usage
            # A call that is cut off has no count, but what it streamed is on the bill.
            if usage is None and meter.streamed:
                usage = _guess(request, meter.streamed)
            if usage is not None:
                self._settle(request, meter.outcome, priced(usage, price), started)

    def _settle(
        self, request: ModelRequest, outcome: Outcome, usage: Usage, started: float
    ) -> None:
        self._ledger.note(
            Spent(
                ts=self._clock.now(),
                run_id=request.run_id,
                node_id=request.node_id,
                entity=request.entity,
                model=request.model,
                outcome=outcome,
                usage=usage,
                seconds=self._clock.monotonic() - started,
                trigger=request.trigger,
            )
        )


def priced(usage: Usage, price: Price | None) -> Usage:
    """Return `usage` with its cost: what the service says, else by our price, else unknown."""
    if usage.cost_usd is not None or price is None:
        return usage
    return usage.model_copy(update={"cost_usd": price.cost(usage)})


def _guess(request: ModelRequest, streamed: int) -> Usage:
    return Usage(
        input_tokens=guess_input_tokens(request),
        output_tokens=streamed // CHARACTERS_PER_TOKEN + 1,
    )
