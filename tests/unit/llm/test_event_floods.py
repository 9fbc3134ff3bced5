"""A service that sends as fast as it can does not keep other calls from their turns."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import httpx2
import pytest

from agiraph.llm.connect import FORMATS
from agiraph.llm.providers.service import BYTES_IN_A_ROW, EVENTS_IN_A_ROW, events_of

EVENTS = 20 * EVENTS_IN_A_ROW
FLOODS = {
    "blank lines": b"\n\n",
    "blank lines with returns": b"\r\n\r\n",
    "comments": b": ping\n\n",
    "events without data": b"event: ping\n\n",
    "events of empty data": b"data:\n\n",
    "empty objects": b"data: {}\n\n",
    "text": b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n',
}


async def count_other_turns(
    line: bytes, most: int, pieces: int, key: str
) -> tuple[int, int, Counter[int]]:
    """Read a flood that is always ready; return its events, and the turns of another task.

    The counter has the number of events that were read in each turn.
    """
    data = line * most
    size = len(data) // pieces

    async def body() -> AsyncIterator[bytes]:
        for start in range(0, len(data), size):
            yield data[start : start + size]

    response = httpx2.Response(
        200,
        headers={"content-type": "text/event-stream"},
        content=body(),
        request=httpx2.Request("POST", "http://127.0.0.1"),
    )
    turn = 0

    async def take_turns() -> None:
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(take_turns())
    found: Counter[int] = Counter()
    async for _ in events_of(response, FORMATS["openai"], key):
        found[turn] += 1
    other.cancel()
    return found.total(), turn, found


@pytest.mark.parametrize("line", FLOODS.values(), ids=FLOODS)
@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("key", ["", "sk-0123456789abcdef"])
async def test_other_tasks_get_a_turn_after_few_events_of_a_flood(
    line: bytes, pieces: int, key: str
) -> None:
    events, turns, found = await count_other_turns(line, EVENTS, pieces, key)
    assert events == EVENTS
    assert turns >= EVENTS // EVENTS_IN_A_ROW
    assert max(found.values()) <= EVENTS_IN_A_ROW


async def test_other_tasks_get_a_turn_while_one_long_event_arrives() -> None:
    line = b": " + b"x" * (40 * BYTES_IN_A_ROW) + b"\n\n"
    events, turns, _ = await count_other_turns(line, 1, 1, "")
    assert events == 1
    assert turns >= 40
