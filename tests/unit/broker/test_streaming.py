"""Streamed text is gathered in order and can be voided; consoles get it while they subscribe."""

import asyncio

from actors.broker.streaming import LEASE_SECONDS, MOST, DeltaBuffer, StreamSubscribers, TextDelta
from agiraph.core.ids import AgentId

SHOP, FARM = AgentId("shop-1"), AgentId("farm-2")


async def test_text_is_gathered_and_sent_once() -> None:
    sent: list[TextDelta] = []
    deltas = DeltaBuffer(sent.append)
    for piece in "abc":
        deltas.add(piece)
    assert sent == []
    deltas.flush()
    deltas.flush()
    assert sent == [TextDelta("abc")]


async def test_text_is_sent_by_itself_after_a_moment() -> None:
    sent: asyncio.Queue[TextDelta] = asyncio.Queue()
    DeltaBuffer(sent.put_nowait).add("x")
    async with asyncio.timeout(10):
        assert await sent.get() == TextDelta("x")


async def test_a_restart_voids_what_was_sent_and_drops_what_was_not() -> None:
    sent: list[TextDelta] = []
    deltas = DeltaBuffer(sent.append)
    deltas.add("lost")
    deltas.restart()
    assert sent == [], "nothing was shown, so there is nothing to take back"
    deltas.add("half")
    deltas.flush()
    deltas.add("lost")
    deltas.restart()
    deltas.add("whole")
    deltas.flush()
    assert sent == [TextDelta("half"), TextDelta("", restarted=True), TextDelta("whole")]


def test_a_console_is_subscribed_for_as_long_as_it_asks() -> None:
    subscribers = StreamSubscribers()
    subscribers.subscribe(SHOP, "console/1", 0.0)
    subscribers.subscribe(FARM, "console/2", 0.0)
    assert subscribers.addresses(SHOP, 1.0) == ["console/1"]
    subscribers.subscribe(SHOP, "console/1", 5.0)
    assert subscribers.addresses(SHOP, LEASE_SECONDS + 1) == ["console/1"]
    assert subscribers.addresses(SHOP, 5.0 + LEASE_SECONDS) == []
    assert subscribers.addresses(None, 0.0) == []
    for number in range(MOST + 5):
        subscribers.subscribe(SHOP, f"console/{number}", 0.0)
    assert len(subscribers.addresses(SHOP, 1.0)) == MOST
