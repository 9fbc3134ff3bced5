"""The queue of an actor's messages: in order; idle when nothing waits and nothing is handled."""

import asyncio

from actors.runtime.message_queue import MessageQueue
from agiraph.messages.control import Pause
from tests.fakes.fake_runtime import arrived


async def test_queue_is_idle_only_while_its_reader_waits() -> None:
    queue, first, second = MessageQueue(), arrived(Pause(), "human"), arrived(Pause(), "human")
    assert not queue.is_idle, "nobody reads yet"
    reading = asyncio.ensure_future(queue.get())
    await asyncio.sleep(0)
    assert queue.is_idle
    queue.put(first)
    queue.put(second)
    assert not queue.is_idle, "what came must not be overtaken"
    assert await reading is first
    assert not queue.is_idle, "the first is being handled, the second waits"
    assert await queue.get() is second
