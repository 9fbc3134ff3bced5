"""One question for all who wait, and no answer older than its asking."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from actors.gateway.single_flight import BURST, PER_SECOND, SingleFlight


class Oracle:
    """Answers with how often it was asked, when it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()

    async def ask(self) -> int:
        self.asked += 1
        number = self.asked
        await self.may_answer.wait()
        if number == 2:
            raise ValueError("the second one fails")
        return number


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def told(play: Callable[[Oracle, SingleFlight[int]], Awaitable[None]]) -> None:
    async def run() -> None:
        oracle = Oracle()
        await play(oracle, SingleFlight(oracle.ask))

    asyncio.run(run())


def test_all_who_come_at_once_share_a_question() -> None:
    async def play(oracle: Oracle, together: SingleFlight[int]) -> None:
        oracle.may_answer.set()
        assert await asyncio.gather(*(together.get() for _ in range(9))) == [1] * 9

    told(play)


def test_who_comes_while_a_question_is_on_its_way_gets_the_next_answer() -> None:
    async def play(oracle: Oracle, together: SingleFlight[int]) -> None:
        first = asyncio.ensure_future(together.get())
        await settle()
        late = [asyncio.ensure_future(together.get()) for _ in range(3)]
        await settle()
        assert oracle.asked == 1
        oracle.may_answer.set()
        assert await first == 1
        answers = await asyncio.gather(*late, return_exceptions=True)
        assert [str(answer) for answer in answers] == ["the second one fails"] * 3
        assert await together.get() == 3

    told(play)


def test_one_who_leaves_takes_no_answer_from_the_others() -> None:
    async def play(oracle: Oracle, together: SingleFlight[int]) -> None:
        stays, leaves = (asyncio.ensure_future(together.get()) for _ in range(2))
        await settle()
        leaves.cancel()
        oracle.may_answer.set()
        assert await stays == 1
        with pytest.raises(asyncio.CancelledError):
            await leaves

    told(play)


def test_who_comes_a_few_times_waits_for_no_pace_and_a_crowd_shares_each_turn() -> None:
    asked = 0

    async def ask() -> int:
        nonlocal asked
        asked += 1
        return asked

    async def play() -> None:
        together = SingleFlight(ask)
        for number in range(int(BURST)):
            assert together._wait() == 0.0, number
        assert 0.0 < together._wait() <= 1 / PER_SECOND
        assert 1 / PER_SECOND < together._wait() <= 2 / PER_SECOND
        for _ in range(2):
            assert len(set(await asyncio.gather(*(together.get() for _ in range(50))))) == 1

    asyncio.run(play())
    assert asked == 2
