"""Queues: which calls wait for a failing service, which leave, which goes first after a refusal."""

import asyncio

import pytest

from actors.broker.provider_queue import ProviderQueue, QueueEntry
from agiraph.core.clock import SystemClock
from agiraph.llm.base import FailureKind, ProviderError
from tests.unit.broker.stubs import quick_config


def queue_of(**broker: float) -> ProviderQueue:
    return ProviderQueue(quick_config(**broker).broker, SystemClock())


async def fail(queue: ProviderQueue, entry: QueueEntry, kind: FailureKind = "overloaded") -> None:
    with pytest.raises(ProviderError):
        async with queue.slot(entry):
            raise ProviderError(kind, "busy")


async def opened(queue: ProviderQueue) -> None:
    """Open the circuit breaker of a queue."""
    while queue.breaker.state(SystemClock().monotonic()) == "closed":
        await fail(queue, queue.entry(may_leave=False))


async def test_call_with_a_fallback_does_not_wait_for_an_open_breaker() -> None:
    queue = queue_of(breaker_seconds=60)
    await opened(queue)
    with pytest.raises(ProviderError, match="busy"):
        async with queue.slot(queue.entry(may_leave=True)):
            raise AssertionError("nobody calls while it is open")


async def test_one_call_probes_the_service_and_the_others_share_its_result() -> None:
    queue, tried = queue_of(breaker_seconds=0.01), 0
    await opened(queue)

    async def call() -> str:
        nonlocal tried
        try:
            async with queue.slot(queue.entry(may_leave=False)):
                tried += 1
                await asyncio.sleep(0)
                raise ProviderError("overloaded", "still busy")
        except ProviderError as error:
            return str(error)

    async with asyncio.timeout(10):
        told = await asyncio.gather(*(call() for _ in range(20)))
    assert told == ["still busy"] * 20
    assert tried == 1


async def test_calls_run_in_order_of_arrival_even_after_a_refusal() -> None:
    queue = queue_of(concurrent_calls=1)
    tickets = [queue.entry(may_leave=False) for _ in range(5)]
    await fail(queue, tickets[0], "rate_limited")
    went: list[int] = []

    async def call(entry: QueueEntry) -> None:
        async with queue.slot(entry):
            went.append(entry.number)

    async with asyncio.timeout(10):
        async with queue.slot(queue.entry(may_leave=False)):  # the others wait behind this one
            going = [asyncio.create_task(call(entry)) for entry in reversed(tickets)]
            await asyncio.sleep(0)
        await asyncio.gather(*going)
    assert went == sorted(went)


async def test_cancelled_waiter_frees_its_place() -> None:
    queue = queue_of(concurrent_calls=1)
    let_go = asyncio.Event()

    async def hold() -> None:
        async with queue.slot(queue.entry(may_leave=False)):
            await let_go.wait()

    tasks = [asyncio.create_task(hold()) for _ in range(3)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[0].cancel()
    let_go.set()
    async with asyncio.timeout(10):
        await asyncio.gather(*tasks, return_exceptions=True)
    assert [task.cancelled() for task in tasks] == [True, True, False]
    assert queue.concurrency.in_flight == 0


@pytest.mark.parametrize("kind", ["overloaded", "rate_limited"])
async def test_too_long_retry_after_does_not_delay_other_calls(kind: FailureKind) -> None:
    queue = queue_of(timeout_seconds=25)
    with pytest.raises(ProviderError):
        async with queue.slot(queue.entry(may_leave=False)):
            raise ProviderError(kind, "wait for ever", retry_after=99_999_999_999.0)
    async with asyncio.timeout(10), queue.slot(queue.entry(may_leave=False)):
        pass
    assert queue.concurrency.rests_until - SystemClock().monotonic() < 10


async def test_acceptable_retry_after_pauses_all_calls() -> None:
    queue = queue_of(timeout_seconds=25)
    with pytest.raises(ProviderError):
        async with queue.slot(queue.entry(may_leave=False)):
            raise ProviderError("rate_limited", "wait", retry_after=20.0)
    assert queue.concurrency.rests_until - SystemClock().monotonic() > 15


async def test_call_that_waits_for_a_pause_is_notified_of_its_end_and_cause() -> None:
    queue = queue_of(first_delay_seconds=0.001)
    told: list[tuple[float, str]] = []
    with pytest.raises(ProviderError):
        async with queue.slot(queue.entry(may_leave=False)):
            raise ProviderError("rate_limited", "too many requests", retry_after=60)
    entry = queue.entry(
        may_leave=False, on_pause=lambda seconds, cause: told.append((seconds, str(cause)))
    )
    waiting = asyncio.create_task(queue.slot(entry).__aenter__())
    other = asyncio.create_task(queue.slot(queue.entry(may_leave=False)).__aenter__())
    for _ in range(3):
        await asyncio.sleep(0)
    [(seconds, cause)] = told  # the other call did not repeat it
    assert 50 < seconds < 70
    assert cause == "too many requests"
    assert entry.paused_until is not None
    for task in (waiting, other):
        task.cancel()


async def test_waiting_calls_are_notified_when_the_breaker_opens() -> None:
    queue, told = queue_of(concurrent_calls=1, breaker_seconds=60, breaker_failures=1), list[str]()
    entry = queue.entry(may_leave=False, on_pause=lambda seconds, cause: told.append(str(cause)))
    failing = queue.slot(queue.entry(may_leave=False))
    await failing.__aenter__()
    waiting = asyncio.create_task(queue.slot(entry).__aenter__())
    await asyncio.sleep(0)
    error = ProviderError("overloaded", "busy")
    await failing.__aexit__(ProviderError, error, None)
    assert told == ["busy"]
    waiting.cancel()
