"""Lanes: who waits for a service in trouble, who leaves, and who goes first after a refusal."""

import asyncio

import pytest

from actors.broker.provider_queue import ProviderQueue, QueueEntry
from agiraph.core.clock import SystemClock
from agiraph.llm.base import FailureKind, ProviderError
from tests.unit.broker.stubs import quick_config


def lane(**broker: float) -> ProviderQueue:
    return ProviderQueue(quick_config(**broker).broker, SystemClock())


async def fail(way: ProviderQueue, entry: QueueEntry, kind: FailureKind = "overloaded") -> None:
    with pytest.raises(ProviderError):
        async with way.slot(entry):
            raise ProviderError(kind, "busy")


async def opened(way: ProviderQueue) -> None:
    """Let the lane's breaker open."""
    while way.breaker.state(SystemClock().monotonic()) == "closed":
        await fail(way, way.entry(may_leave=False))


def test_who_has_elsewhere_to_go_does_not_wait_for_a_service_in_trouble() -> None:
    async def main() -> None:
        way = lane(breaker_seconds=60)
        await opened(way)
        with pytest.raises(ProviderError, match="busy"):
            async with way.slot(way.entry(may_leave=True)):
                raise AssertionError("nobody calls while it is open")

    asyncio.run(main())


def test_one_call_tries_the_service_and_the_others_share_what_became_of_it() -> None:
    async def main() -> None:
        way, tried = lane(breaker_seconds=0.01), 0
        await opened(way)

        async def call() -> str:
            nonlocal tried
            try:
                async with way.slot(way.entry(may_leave=False)):
                    tried += 1
                    await asyncio.sleep(0)
                    raise ProviderError("overloaded", "still busy")
            except ProviderError as error:
                return str(error)

        async with asyncio.timeout(10):
            told = await asyncio.gather(*(call() for _ in range(20)))
        assert told == ["still busy"] * 20
        assert tried == 1

    asyncio.run(main())


def test_whoever_came_first_goes_first_also_after_a_refusal() -> None:
    async def main() -> None:
        way = lane(concurrent_calls=1)
        tickets = [way.entry(may_leave=False) for _ in range(5)]
        await fail(way, tickets[0], "rate_limited")
        went: list[int] = []

        async def call(entry: QueueEntry) -> None:
            async with way.slot(entry):
                went.append(entry.number)

        async with asyncio.timeout(10):
            async with way.slot(way.entry(may_leave=False)):  # the others wait behind this one
                going = [asyncio.create_task(call(entry)) for entry in reversed(tickets)]
                await asyncio.sleep(0)
            await asyncio.gather(*going)
        assert went == sorted(went)

    asyncio.run(main())


def test_a_waiter_that_is_cancelled_leaves_its_place_to_others() -> None:
    async def main() -> None:
        way = lane(concurrent_calls=1)
        let_go = asyncio.Event()

        async def hold() -> None:
            async with way.slot(way.entry(may_leave=False)):
                await let_go.wait()

        tasks = [asyncio.create_task(hold()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[0].cancel()
        let_go.set()
        async with asyncio.timeout(10):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert [task.cancelled() for task in tasks] == [True, True, False]
        assert way.concurrency.in_flight == 0

    asyncio.run(main())
