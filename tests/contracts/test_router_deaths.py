"""The router is killed at every named point: accepted messages arrive, once in effect, in order."""

import asyncio
import signal
from pathlib import Path

import pytest

from tests.contracts.bus import (
    PATIENCE,
    Addresses,
    Task,
    ZeromqBus,
    managed_bus_on,
    number,
    take,
    until,
    until_depth,
)
from tests.contracts.dying_router import POINTS
from transport.endpoint import Endpoint

MESSAGES = 30
KNOWN = ["ada", "bob"]


async def work(bob: Endpoint, journal: list[int]) -> None:
    """Receive, record the effect unless it is in the journal, say done, as an actor does."""
    while True:
        received = await bob.receive()
        if number(received) not in journal:
            journal.append(number(received))
        bob.done(received)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("point", POINTS)
async def test_killed_router_neither_loses_nor_repeats_messages(
    tmp_path: Path, point: str, count: int
) -> None:
    bus = ZeromqBus(tmp_path, "tests.contracts.dying_router", point=point, count=count)
    async with managed_bus_on(bus) as managed:
        supervisor = await managed.announce(*KNOWN)
        supervisor.on_welcome = lambda _: supervisor.post("router", Addresses(known=KNOWN))
        ada, bob = await managed.join("ada"), await managed.join("bob")
        journal: list[int] = []
        working = asyncio.create_task(work(bob, journal))
        sending = asyncio.create_task(send_all(ada))
        assert await asyncio.to_thread(bus.ended) == -signal.SIGKILL
        await bus.restart_router()
        await asyncio.wait_for(sending, PATIENCE)
        await until(lambda: len(journal) == MESSAGES)
        assert journal == list(range(MESSAGES))
        working.cancel()
        await asyncio.wait([working])
        await until_depth(ada, "bob", 0)


async def send_all(ada: Endpoint) -> None:
    """Send the first half one by one, each after the other was accepted, and the rest at once."""
    half = MESSAGES // 2
    for n in range(half):
        await ada.send("bob", Task(n=n))
    await asyncio.gather(*(ada.send("bob", Task(n=n)) for n in range(half, MESSAGES)))


async def test_router_killed_after_a_delivery_delivers_again(tmp_path: Path) -> None:
    bus = ZeromqBus(tmp_path)
    async with managed_bus_on(bus) as managed:
        supervisor = await managed.announce(*KNOWN)
        ada, bob = await managed.join("ada"), await managed.join("bob")
        await ada.send("bob", Task(n=1))
        assert number(await take(bob)) == 1
        bob.abort()
        await managed.restart_router(supervisor, *KNOWN)
        heir = await managed.join("bob", 2)
        assert number(await take(heir)) == 1
