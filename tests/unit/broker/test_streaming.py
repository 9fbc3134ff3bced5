"""Streamed text is gathered in order and can be voided; late subscribers get all of it."""

import asyncio
from typing import Any

from actors.broker.streaming import (
    KEPT_CALLS,
    KEPT_CHARACTERS,
    LEASE_SECONDS,
    MOST,
    DeltaBuffer,
    StreamedTexts,
    StreamSubscribers,
    TextDelta,
)
from agiraph.core.ids import AgentId
from agiraph.messages.model import StreamDelta

SHOP, FARM = AgentId("shop-1"), AgentId("farm-2")


async def test_text_is_buffered_and_the_rest_at_the_end_is_not_sent() -> None:
    sent: list[TextDelta] = []
    deltas = DeltaBuffer(sent.append)
    for piece in "abc":
        deltas.add(piece)
    assert (deltas.end(), deltas.end(), sent) == ("abc", "", [])


async def test_buffered_text_is_sent_after_a_delay() -> None:
    sent: asyncio.Queue[TextDelta] = asyncio.Queue()
    deltas = DeltaBuffer(sent.put_nowait)
    deltas.add("x")
    deltas.add("y")
    async with asyncio.timeout(10):
        assert await sent.get() == TextDelta("xy")
    assert (deltas.end(), sent.empty()) == ("", True)


async def test_restart_discards_sent_and_buffered_text() -> None:
    sent: asyncio.Queue[TextDelta] = asyncio.Queue()
    deltas = DeltaBuffer(sent.put_nowait)
    deltas.add("lost")
    deltas.restart()
    assert sent.empty(), "nothing was shown, so there is nothing to take back"
    deltas.add("half")
    async with asyncio.timeout(10):
        assert await sent.get() == TextDelta("half")
    deltas.add("lost")
    deltas.restart()
    assert sent.get_nowait() == TextDelta("", restarted=True)
    deltas.add("whole")
    assert (deltas.end(), sent.empty()) == ("whole", True)


def test_console_subscription_lasts_for_one_lease() -> None:
    subscribers = StreamSubscribers()
    assert subscribers.subscribe(SHOP, "console/1", 0.0)
    assert subscribers.subscribe(FARM, "console/2", 0.0)
    assert subscribers.addresses(SHOP, 1.0) == ["console/1"]
    assert not subscribers.subscribe(SHOP, "console/1", 5.0)
    assert subscribers.addresses(SHOP, LEASE_SECONDS + 1) == ["console/1"]
    assert subscribers.addresses(SHOP, 5.0 + LEASE_SECONDS) == []
    assert subscribers.addresses(None, 0.0) == []
    for number in range(MOST + 5):
        subscribers.subscribe(SHOP, f"console/{number}", 0.0)
    assert len(subscribers.addresses(SHOP, 1.0)) == MOST


def piece(
    text: str = "", call: bytes = b"1", entity: str = "shop-1/ada", **more: Any
) -> StreamDelta:
    return StreamDelta(entity=entity, call=call, text=text, **more)


def test_each_delta_has_its_offset_and_late_subscribers_get_earlier_text() -> None:
    texts = StreamedTexts()
    assert [texts.place(piece(text)).at for text in ("ab", "", "cde", "f")] == [0, 2, 2, 5]
    texts.place(piece("other", call=b"2", entity="farm-2/bo"))
    assert texts.of(SHOP) == [piece("abcdef")]
    void = texts.place(piece(restarted=True, reason="busy"))
    assert (void.at, void.reason, texts.of(SHOP)) == (0, "busy", [])
    assert texts.place(piece("x")).at == 0
    assert texts.place(piece("y", is_end=True)).at == 1
    assert texts.of(SHOP) == []
    texts.forget("farm-2/bo")
    assert texts.of(FARM) == []


def test_text_kept_for_late_subscribers_is_bounded() -> None:
    texts = StreamedTexts()
    texts.place(piece("a" * KEPT_CHARACTERS))
    texts.place(piece("bc"))
    [kept] = texts.of(SHOP)
    assert (len(kept.text), kept.text[-3:], kept.at) == (KEPT_CHARACTERS, "abc", 2)
    assert texts.place(piece("d")).at == KEPT_CHARACTERS + 2
    for number in range(KEPT_CALLS + 5):
        texts.place(piece("x", call=number.to_bytes(8, "big")))
    assert len(texts.of(SHOP)) == KEPT_CALLS
