"""BudgetReservations: money and tokens are reserved before a call, so that no budget is exceeded.

A reservation is the most that the call can use: its input, and an answer of full length. A call
that would fit only without the reservations of other calls in flight waits until they are settled.
The input is estimated. The text of an external agent's call does not come from this program, so
such a call runs beside others only if its input fits at one byte per token: the error of an
estimate then counts once, however many calls the agent makes at the same time. A call that does not
fit even then gets a shorter answer, down to SHORTEST_ANSWER tokens; below that the budget is spent.
Several budgets apply to a call: the budgets of its run, agent, node and trigger.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from agiraph.core.money import BudgetScope, BudgetState, Shortage, Unit
from agiraph.core.turns import ModelRequest
from agiraph.llm.base import ProviderError
from agiraph.llm.token_counts import InputSize
from agiraph.models.prices import MILLION, Price, no_dollars

SHORTEST_ANSWER = 1024
Key = tuple[BudgetScope, str, str]


@dataclass(slots=True)
class Reservation:
    """The amounts that the calls in flight have reserved of one budget."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The most that a call may cost: for its input, and an answer of up to `wanted` tokens."""

    input_tokens: int
    wanted: int
    price: Price | None

    @property
    def input_usd(self) -> float:
        """The highest cost of the input in US dollars."""
        return self.input_tokens * self.price.dearest_input / MILLION if self.price else 0.0

    def usd(self, answer: int) -> float:
        """Return the highest cost in US dollars with an answer of `answer` tokens."""
        return self.input_usd + (answer * self.price.output / MILLION if self.price else 0.0)

    def least(self, unit: Unit) -> float:
        """Return the amount in `unit` that the call uses with the shortest useful answer."""
        tokens = self.input_tokens + self.shortest
        return {"usd": self.usd(self.shortest), "tokens": float(tokens), "calls": 1.0}[unit]

    @property
    def shortest(self) -> int:
        """The shortest useful answer, in tokens."""
        return min(self.wanted, SHORTEST_ANSWER)


def affordable_tokens(money: float, input_cost: float, price: Price, wanted: int) -> int:
    """Return how many of the `wanted` answer tokens `money` (US dollars) pays for."""
    left = money - input_cost
    if left < 0:
        return 0
    if price.output == 0:
        return wanted
    return min(wanted, int(left * MILLION / price.output))


def affordable(state: BudgetState, held: Reservation, need: CostEstimate) -> tuple[int, Unit]:
    """Return the longest answer that this budget pays for, and the unit that limits the answer.

    `held` is the amount that other calls have reserved of this budget.
    """
    if state.calls is not None and state.spent_calls + held.calls >= state.calls:
        return 0, "calls"
    longest = need.wanted
    if state.usd is not None and need.price is not None and need.usd(need.wanted) > 0:
        left = state.usd - state.spent_usd - held.usd
        longest = affordable_tokens(left, need.input_usd, need.price, need.wanted)
    if state.tokens is not None:
        left_tokens = state.tokens - state.spent_tokens - held.tokens - need.input_tokens
        if left_tokens < longest:
            return max(0, left_tokens), "tokens"
    return longest, "usd"


class BudgetReservations:
    """The reservations of each budget.

    `states` returns the budgets that apply to a request, with the amounts spent of them.
    """

    def __init__(self, states: Callable[[ModelRequest], Sequence[BudgetState]]) -> None:
        self._states = states
        self._held: defaultdict[Key, Reservation] = defaultdict(Reservation)
        self._settled = asyncio.Condition()

    @asynccontextmanager
    async def reserved(
        self, request: ModelRequest, size: InputSize, price: Price | None
    ) -> AsyncIterator[int]:
        """Reserve the most that the call may use while it runs; yield the longest answer, in
        tokens.

        The usage must be in the ledger before the block is left. Raises ProviderError:
        out_of_budget, or bad_request if there is a budget but no known price to apply it with.
        """
        states = self._states(request)
        if not states:
            yield request.max_tokens
            return
        if price is None and any(state.usd is not None for state in states):
            raise ProviderError("bad_request", no_dollars(request.model))
        alone = CostEstimate(size.guess, request.max_tokens, price)
        beside = replace(alone, input_tokens=size.most) if request.door else alone
        answer = await self._wait_until_affordable(request, alone, beside)
        keys = [_key(state) for state in states]
        usd, tokens = beside.usd(answer), beside.input_tokens + answer
        self._hold(keys, usd, tokens, calls=1)
        try:
            yield answer
        finally:
            self._hold(keys, -usd, -tokens, calls=-1)
            async with self._settled:
                self._settled.notify_all()

    async def _wait_until_affordable(
        self, request: ModelRequest, alone: CostEstimate, beside: CostEstimate
    ) -> int:
        """Wait until the budgets have room; return the longest answer in tokens.

        `beside` is the call's need in a budget of which other calls have reserved a part.
        """
        wanted = alone.wanted
        async with self._settled:
            while True:
                states = self._states(request)
                held = [self._held.get(_key(state), Reservation()) for state in states]
                free = [
                    affordable(state, h, beside if h.calls else alone)[0]
                    for state, h in zip(states, held, strict=True)
                ]
                if min(free) == wanted:
                    return wanted
                for state in states:
                    self._refuse_if_spent(state, alone, request.model)
                # Only calls whose reservations prevent this call are waited for.
                if not any(h.calls for h, f in zip(held, free, strict=True) if f < wanted):
                    return min(free)
                await self._settled.wait()

    def _refuse_if_spent(self, state: BudgetState, need: CostEstimate, model: str) -> None:
        longest, unit = affordable(state, Reservation(), need)
        if longest >= need.shortest:
            return
        shortage = Shortage(budget=state, unit=unit, needs=need.least(unit))
        text = f"out of budget: {shortage.in_words()}, and the rest does not cover another call"
        raise ProviderError("out_of_budget", f"{text} of {model}", shortage=shortage)

    def _hold(self, keys: Sequence[Key], usd: float, tokens: int, calls: int) -> None:
        for key in keys:
            held = self._held[key]
            held.usd += usd
            held.tokens += tokens
            held.calls += calls
            if not held.calls:  # also removes rounding errors
                del self._held[key]


def _key(state: BudgetState) -> Key:
    return state.scope, state.key, state.day
