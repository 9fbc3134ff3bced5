"""Budgets: money is reserved before a call is made, so that a run cannot spend more than it may.

A reservation is the most that the call can cost: its input, and an answer of full length. While
other calls of the run are in flight their reservations stand in the way, and a call that would only
fit without them waits for them to be settled. One that does not fit even then gets a shorter
answer, down to SHORTEST_ANSWER tokens; below that the run is out of budget.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from agiraph.providers.base import ProviderError
from agiraph.providers.prices import MILLION, Price, guess_input_tokens
from agiraph.turns import ModelRequest

SHORTEST_ANSWER = 1024


def affordable_tokens(money: float, input_cost: float, price: Price, wanted: int) -> int:
    """Return how many of the `wanted` tokens of answer `money` (US dollars) pays for."""
    left = money - input_cost
    if left < 0:
        return 0
    if price.output == 0:
        return wanted
    return min(wanted, int(left * MILLION / price.output))


class Budgets:
    """What is reserved, per run."""

    def __init__(self, spent_usd: Callable[[str], float]) -> None:
        """Keep budgets over what `spent_usd(run_id)` says was spent."""
        self._spent_usd = spent_usd
        self._reserved: defaultdict[str, float] = defaultdict(float)
        self._in_flight: defaultdict[str, int] = defaultdict(int)
        self._settled = asyncio.Condition()

    @asynccontextmanager
    async def reserved(self, request: ModelRequest, price: Price | None) -> AsyncIterator[int]:
        """Hold the call's money while it runs; yield how long its answer may be, in tokens.

        What was spent must be in the ledger before this is left. Raises ProviderError:
        out_of_budget, or bad_request if there is a budget but no known price to keep it with.
        """
        if request.budget_usd is None:
            yield request.max_tokens
            return
        if price is None:
            raise ProviderError(
                "bad_request",
                f"the price of {request.model} is not known, so a budget in dollars cannot be "
                "kept: add it to prices.yaml in the home, or run without a budget",
            )
        input_cost = guess_input_tokens(request) * price.dearest_input / MILLION
        tokens = await self._wait_for_money(request, request.budget_usd, price, input_cost)
        amount = input_cost + tokens * price.output / MILLION
        self._reserved[request.run_id] += amount
        self._in_flight[request.run_id] += 1
        try:
            yield tokens
        finally:
            await self._release(request.run_id, amount)

    async def _wait_for_money(
        self, request: ModelRequest, budget: float, price: Price, input_cost: float
    ) -> int:
        run, wanted = request.run_id, request.max_tokens
        async with self._settled:
            while True:
                left = budget - self._spent_usd(run)
                free = left - self._reserved[run]
                if affordable_tokens(free, input_cost, price, wanted) == wanted:
                    return wanted
                tokens = affordable_tokens(left, input_cost, price, wanted)
                if tokens < min(wanted, SHORTEST_ANSWER):
                    raise ProviderError("out_of_budget", _refusal(budget, left, request.model))
                if not self._in_flight[run]:
                    return tokens
                await self._settled.wait()

    async def _release(self, run: str, amount: float) -> None:
        self._in_flight[run] -= 1
        self._reserved[run] -= amount
        if not self._in_flight[run]:  # also clears what rounding has left
            del self._in_flight[run], self._reserved[run]
        async with self._settled:
            self._settled.notify_all()


def _refusal(budget: float, left: float, model: str) -> str:
    spent = budget - left
    return (
        f"out of budget: ${spent:.4f} of ${budget:.4f} are spent, and what is left does not cover "
        f"another call of {model}"
    )
