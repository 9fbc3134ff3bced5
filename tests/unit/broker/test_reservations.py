"""BudgetReservations: a run cannot exceed its budget, with any number of parallel calls."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.broker.reservations import SHORTEST_ANSWER, BudgetReservations, affordable_tokens
from agiraph.core.money import BudgetState
from agiraph.core.turns import ModelRequest
from agiraph.llm.base import ProviderError
from agiraph.llm.token_counts import InputSize, guess_input_tokens, input_size
from agiraph.models.prices import MILLION, Price
from tests.unit.llm.requests import ask

PRICE = Price(input=1, output=10)


def request(budget: float | None, max_tokens: int = 8192) -> ModelRequest:
    return ask(budget_usd=budget, max_tokens=max_tokens)


def of_run(spent: Callable[[], float]) -> BudgetReservations:
    """Return budgets of runs that have spent so much."""

    def states(request: ModelRequest) -> list[BudgetState]:
        usd, key = request.budget_usd, request.run_id
        if usd is None:
            return []
        return [BudgetState(scope="run", key=key, usd=usd, spent_usd=spent())]

    return BudgetReservations(states)


def of_all(*states: BudgetState) -> BudgetReservations:
    """Return budgets that hold for every call."""
    return BudgetReservations(lambda request: states)


def cost_of(request: ModelRequest, answer_tokens: int) -> float:
    return (guess_input_tokens(request) * 1 + answer_tokens * 10) / MILLION


async def granted(
    budgets: BudgetReservations, wanted: ModelRequest, price: Price | None = PRICE
) -> int:
    async with budgets.reserved(wanted, input_size(wanted), price) as tokens:
        return tokens


FREE = Price(input=0, output=0)
RUN = BudgetState(scope="run", key="run-1", usd=1.0)
PAYS_2000 = RUN.model_copy(update={"usd": cost_of(request(None), 2000) + 5e-6})
PAYS_51 = RUN.model_copy(update={"usd": cost_of(request(None), 51)})
OVERDRAWN = RUN.model_copy(update={"spent_usd": 1.2})
IN_TOKENS = BudgetState(scope="run", key="run-1", tokens=100_000)


@pytest.mark.parametrize(
    ("states", "wanted", "price", "answer"),
    [
        pytest.param((), 8192, None, 8192, id="no budget"),
        pytest.param((RUN,), 8192, PRICE, 8192, id="enough money"),
        pytest.param((PAYS_2000,), 8192, PRICE, 2000, id="a shorter answer for little money"),
        pytest.param((PAYS_51,), 50, PRICE, 50, id="a short answer needs only its own length"),
        pytest.param((OVERDRAWN,), 8192, FREE, 8192, id="what costs nothing always fits"),
        pytest.param((IN_TOKENS,), 8192, None, 8192, id="a budget in tokens needs no price"),
    ],
)
async def test_an_answer_is_as_long_as_the_budgets_pay_for(
    states: tuple[BudgetState, ...], wanted: int, price: Price | None, answer: int
) -> None:
    assert await granted(of_all(*states), request(None, wanted), price) == answer


async def test_too_little_money_is_out_of_budget_and_names_the_rest() -> None:
    with pytest.raises(ProviderError, match=r"\$0\.9990 of the \$1\.00 of this run") as caught:
        await granted(of_run(lambda: 0.999), request(1.0))
    assert caught.value.kind == "out_of_budget"


async def test_a_budget_without_a_price_is_refused() -> None:
    with pytest.raises(ProviderError, match=r"prices\.yaml") as caught:
        await granted(of_run(lambda: 0.0), request(1.0), None)
    assert caught.value.kind == "bad_request"


async def test_call_waits_for_money_reserved_by_another_call() -> None:
    spent = 0.0
    budgets = of_run(lambda: spent)
    wanted = request(cost_of(request(0.0), 8192) * 1.5)
    first = budgets.reserved(wanted, input_size(wanted), PRICE)
    await first.__aenter__()
    second = asyncio.create_task(granted(budgets, wanted))
    other_run = wanted.model_copy(update={"run_id": "run-2"})
    assert await granted(budgets, other_run) == 8192, "other runs have money of their own"
    assert not second.done()
    spent = 0.00001
    await first.__aexit__(None, None, None)
    assert await asyncio.wait_for(second, 10) == 8192


async def test_cancelled_call_releases_its_reservation() -> None:
    budgets = of_run(lambda: 0.0)
    wanted = request(cost_of(request(0.0), 8192) * 1.5)

    async def hold() -> None:
        async with budgets.reserved(wanted, input_size(wanted), PRICE):
            await asyncio.Event().wait()

    holder = asyncio.create_task(hold())
    waiter = asyncio.create_task(granted(budgets, wanted))
    gives_up = asyncio.create_task(granted(budgets, wanted))
    await asyncio.sleep(0)
    gives_up.cancel()
    holder.cancel()
    assert await asyncio.wait_for(waiter, 10) == 8192


@given(st.floats(0, 100), st.floats(0, 100), st.integers(1, 100_000))
def test_granted_tokens_are_affordable(money: float, input_cost: float, wanted: int) -> None:
    tokens = affordable_tokens(money, input_cost, PRICE, wanted)
    assert 0 <= tokens <= wanted
    assert tokens == 0 or input_cost + tokens * 10 / MILLION <= money * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0.05, 1), min_size=1, max_size=8), st.floats(0.01, 0.4))
def test_a_run_never_spends_more_than_its_budget(shares: list[float], budget: float) -> None:
    """Many calls at once, each spending some share of its grant."""

    async def main() -> float:
        spent = 0.0
        budgets = of_run(lambda: spent)
        wanted = request(budget)

        async def one(share: float) -> None:
            nonlocal spent
            try:
                async with budgets.reserved(wanted, input_size(wanted), PRICE) as tokens:
                    assert tokens >= SHORTEST_ANSWER
                    await asyncio.sleep(0)
                    spent += cost_of(wanted, int(tokens * share))
            except ProviderError:
                pass  # out of budget: the others had it all

        await asyncio.wait_for(asyncio.gather(*map(one, shares)), 10)
        return spent

    assert asyncio.run(main()) <= budget * (1 + 1e-9)


async def test_the_narrowest_of_several_budgets_decides() -> None:
    wide = BudgetState(scope="run", key="run-1", usd=100.0)
    narrow = BudgetState(scope="agent", key="shop-1", tokens=5000)
    tokens = await granted(of_all(wide, narrow), request(None), PRICE)
    assert tokens == 5000 - guess_input_tokens(request(None))
    spent = narrow.model_copy(update={"spent_tokens": 4500})
    with pytest.raises(ProviderError, match="4,500 tokens of the 5,000 tokens of the agent") as it:
        await granted(of_all(wide, spent), request(None), PRICE)
    assert it.value.shortage is not None
    assert (it.value.shortage.unit, it.value.shortage.budget.scope) == ("tokens", "agent")


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(0.05, 1), min_size=1, max_size=8),
    st.integers(1000, 60_000),
    st.integers(1000, 60_000),
)
def test_neither_of_two_budgets_in_tokens_is_overdrawn(
    shares: list[float], run: int, agent: int
) -> None:
    async def main() -> int:
        spent = 0

        def states(request: ModelRequest) -> list[BudgetState]:
            return [
                BudgetState(scope="run", key="run-1", tokens=run, spent_tokens=spent),
                BudgetState(scope="agent", key="shop-1", tokens=agent, spent_tokens=spent),
            ]

        budgets, wanted = BudgetReservations(states), request(None)

        async def one(share: float) -> None:
            nonlocal spent
            try:
                async with budgets.reserved(wanted, input_size(wanted), None) as tokens:
                    await asyncio.sleep(0)
                    spent += guess_input_tokens(wanted) + int(tokens * share)
            except ProviderError:
                pass

        await asyncio.wait_for(asyncio.gather(*map(one, shares)), 10)
        return spent

    assert asyncio.run(main()) <= min(run, agent)


async def test_calls_are_bounded_also_while_others_are_in_flight() -> None:
    made = 0

    def states(request: ModelRequest) -> list[BudgetState]:
        return [BudgetState(scope="node", key="r/n/1", calls=3, spent_calls=made)]

    async def one(budgets: BudgetReservations) -> str:
        nonlocal made
        try:
            async with budgets.reserved(request(None), input_size(request(None)), None):
                await asyncio.sleep(0)
                made += 1
        except ProviderError as error:
            return error.shortage.in_words() if error.shortage else str(error)
        return "made"

    async def all_at_once() -> list[str]:
        budgets = BudgetReservations(states)
        return await asyncio.gather(*(one(budgets) for _ in range(5)))

    refused = "3 calls of the 3 calls of the node n are spent"
    assert await all_at_once() == ["made"] * 3 + [refused] * 2


async def test_the_error_of_an_estimate_counts_once_for_all_calls_of_an_external_agent() -> None:
    """Eight calls at once, each with three times the input that was estimated."""
    size, budget = InputSize(guess=1000, most=3000), 20_000
    spent = in_flight = most_in_flight = 0

    def states(request: ModelRequest) -> list[BudgetState]:
        return [BudgetState(scope="run", key="run-1", tokens=budget, spent_tokens=spent)]

    budgets = BudgetReservations(states)
    wanted = request(None, max_tokens=100).model_copy(update={"door": "d"})

    async def one() -> None:
        nonlocal spent, in_flight, most_in_flight
        try:
            async with budgets.reserved(wanted, size, None) as tokens:
                in_flight += 1
                most_in_flight = max(in_flight, most_in_flight)
                for _ in range(20):
                    await asyncio.sleep(0)
                spent += size.most + tokens
                in_flight -= 1
        except ProviderError:
            pass  # out of budget

    await asyncio.wait_for(asyncio.gather(*(one() for _ in range(8))), 10)
    assert most_in_flight == 6, "as many as fit even if the estimates are wrong"
    assert budget < spent + size.guess + 100
    assert spent <= budget + size.most - size.guess
