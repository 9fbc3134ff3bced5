"""One request for all who wait, and no answer older than its request."""

import asyncio

import pytest

from actors.gateway.state.process_overview import SharedRequest


class Oracle:
    """Answers with how often it was asked, once it may; the second answer fails."""

    def __init__(self) -> None:
        self.asked = 0
        self.may_answer = asyncio.Event()
        self.shared = SharedRequest(self.ask)

    async def ask(self) -> int:
        self.asked += 1
        number = self.asked
        await self.may_answer.wait()
        if number == 2:
            raise ValueError("the second one fails")
        return number

    async def begin(self, count: int = 1) -> "list[asyncio.Task[int]]":
        """Make requests and let them get as far as they can."""
        tasks = [asyncio.create_task(self.shared.get()) for _ in range(count)]
        for _ in range(5):
            await asyncio.sleep(0)
        return tasks


async def test_requests_at_the_same_time_are_one() -> None:
    oracle = Oracle()
    requests = await oracle.begin(9)
    oracle.may_answer.set()
    assert await asyncio.gather(*requests) == [1] * 9


async def test_a_request_made_while_another_is_in_flight_gets_the_next_answer() -> None:
    oracle = Oracle()
    [first], late = await oracle.begin(), await oracle.begin(3)
    assert oracle.asked == 1
    oracle.may_answer.set()
    assert await first == 1
    answers = await asyncio.gather(*late, return_exceptions=True)
    assert [str(answer) for answer in answers] == ["the second one fails"] * 3
    assert await oracle.shared.get() == 3


async def test_a_cancelled_request_takes_no_answer_from_the_others() -> None:
    oracle = Oracle()
    stays, leaves = await oracle.begin(2)
    leaves.cancel()
    oracle.may_answer.set()
    assert await stays == 1
    with pytest.raises(asyncio.CancelledError):
        await leaves
