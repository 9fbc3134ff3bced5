"""Calls: the way of one model call: budget, attempts with back-off, and settling what it took."""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from actors.broker.budgets import Budgets
from actors.broker.ledger import Ledger, Outcome, Spent
from actors.broker.services import Services
from agiraph.clock import Clock
from agiraph.config import BrokerConfig
from agiraph.errors import InvalidInput
from agiraph.providers.base import FailureKind, OnText, Provider, ProviderError
from agiraph.providers.prices import FREE, Price, guess_input_tokens, price_of
from agiraph.providers.registry import ModelName
from agiraph.providers.retry import RetryPolicy
from agiraph.providers.text_tools import TextTools
from agiraph.turns import ModelRequest, ModelResponse, Usage

CHARACTERS_PER_TOKEN = 4
CROWDED: frozenset[FailureKind] = frozenset({"rate_limited", "overloaded"})


@dataclass(frozen=True, slots=True)
class Retry:
    """A call failed and will be tried again after a wait."""

    attempt: int
    kind: FailureKind
    message: str
    wait_seconds: float


OnRetry = Callable[[Retry], None]


class Calls:
    """Makes calls; at most `concurrent_calls` attempts are in flight at once."""

    def __init__(
        self,
        config: BrokerConfig,
        services: Services,
        prices: Mapping[str, Price],
        ledger: Ledger,
        clock: Clock,
    ) -> None:
        """Make calls through `services` and write what they took to `ledger`."""
        self._services = services
        self._prices = prices
        self._ledger = ledger
        self._clock = clock
        self._policy = RetryPolicy.of(config)
        self._timeout_seconds = config.timeout_seconds
        self._budgets = Budgets(ledger.spent_usd)
        self._slots = asyncio.Semaphore(config.concurrent_calls)

    async def answer(
        self, request: ModelRequest, on_text: OnText, on_retry: OnRetry
    ) -> ModelResponse:
        """Return the answer to `request`; ProviderError when it cannot be had."""
        try:
            name = self._services.name(request.model)
        except InvalidInput as error:
            raise ProviderError("unknown_model", str(error)) from None
        request = request.model_copy(update={"model": str(name)})
        price = self._price(name)
        provider = await self._services.provider(name.provider)
        if name.in_text:
            provider = TextTools(provider)
        async with self._budgets.reserved(request, price) as max_tokens:
            request = request.model_copy(update={"max_tokens": max_tokens})
            attempt = 1
            while True:
                await self._wait_for_turn(name.provider)
                try:
                    response = await self._attempt(provider, request, price, on_text)
                    await self._ledger.kept()
                    return response.model_copy(update={"window": self._services.window(name)})
                except ProviderError as error:
                    await self._back_off(name.provider, error, attempt, on_retry)
                attempt += 1

    def _price(self, name: ModelName) -> Price | None:
        known = price_of(name.plain, self._prices)
        return FREE if known is None and self._services.is_free(name.provider) else known

    async def _wait_for_turn(self, provider: str) -> None:
        """Wait while the provider rests; another call may have made the rest longer meanwhile."""
        # Not an event: what is waited for is a time, and it may move.
        while (left := self._services.rests_until(provider) - self._clock.monotonic()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(left + random.uniform(0, left / 10))

    async def _back_off(
        self, provider: str, error: ProviderError, attempt: int, on_retry: OnRetry
    ) -> None:
        """Wait before the next attempt, or raise `error` if there is to be none."""
        wait = self._policy.wait_after(error, attempt, random.random())
        if wait is None:
            raise self._services.advised(provider, error)
        if error.kind in CROWDED and error.retry_after is not None:
            self._services.rest(provider, self._clock.monotonic() + error.retry_after)
        on_retry(Retry(attempt, error.kind, str(error), wait))
        await asyncio.sleep(wait)

    async def _attempt(
        self, provider: Provider, request: ModelRequest, price: Price | None, on_text: OnText
    ) -> ModelResponse:
        """Try once, and write down what it took: the count of the provider, or a guess."""
        streamed = 0

        def count(text: str) -> None:
            nonlocal streamed
            streamed += len(text)
            on_text(text)

        outcome: Outcome = "failed"
        usage: Usage | None = None
        async with self._slots:
            started = self._clock.monotonic()
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    response = await provider.generate(request, count)
                usage = _priced(response.usage, price)
                outcome = "answered"
                return response.model_copy(update={"usage": usage})
            except TimeoutError:
                text = f"{request.model} was not done within {self._timeout_seconds:g} s"
                raise ProviderError("timed_out", text) from None
            except asyncio.CancelledError:
                outcome = "cancelled"
                raise
            finally:
                # A call that is cut off has no count, but what it streamed is on the bill.
                if usage is None and streamed:
                    usage = _priced(_guess(request, streamed), price)
                if usage is not None:
                    self._settle(request, outcome, usage, started)

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
            )
        )


def _priced(usage: Usage, price: Price | None) -> Usage:
    """Return `usage` with its cost: what the service says, else by our price, else unknown."""
    if usage.cost_usd is not None or price is None:
        return usage
    return usage.model_copy(update={"cost_usd": price.cost(usage)})


def _guess(request: ModelRequest, streamed: int) -> Usage:
    return Usage(
        input_tokens=guess_input_tokens(request),
        output_tokens=streamed // CHARACTERS_PER_TOKEN + 1,
    )
