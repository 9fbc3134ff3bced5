"""Quarantine: a message that ends its receiver becomes a dead letter, and can be sent again."""

import asyncio
from pathlib import Path
from typing import Any

from actors.runtime.crash_counter import CrashCounter
from actors.runtime.quarantine import Quarantine, letter_of
from agiraph.core.ids import HUMAN
from agiraph.logs.log import logger
from agiraph.messages.control import RetryLetter
from agiraph.messages.text import TextMessage
from transport.endpoint import Received
from transport.envelope import Flag, Header

ADA = "shop/ada"


class SlowEndpoint:
    """An endpoint with late acknowledgements of the router."""

    address = ADA

    def __init__(self) -> None:
        self.sent, self.accepted = asyncio.Event(), asyncio.Event()

    async def send(self, to: str, body: Any, *, id: bytes) -> None:
        self.sent.set()
        await self.accepted.wait()


def durable(id: bytes, sender: str, body: Any) -> Received:
    header = Header(1, id, body.TYPE, ADA, sender, 1, None, 0.0, int(Flag.DURABLE), None)
    return Received(header, body)


async def test_returned_message_waits_until_its_quarantine_is_complete(
    tmp_path: Path,
) -> None:
    line = SlowEndpoint()
    attempts = CrashCounter(tmp_path, "ada", 4, "killed by SIGSEGV")
    quarantine = Quarantine(line, attempts, 4, logger())  # type: ignore[arg-type]
    message = durable(b"m" * 16, HUMAN, TextMessage(content="die", from_name="human"))
    retry = durable(b"r" * 16, HUMAN, RetryLetter(letter=letter_of(message, ADA, "it ended it")))

    async def quarantine_message() -> Received | None:
        await quarantine.add(message)
        return quarantine.carrier_of(message)

    going = asyncio.create_task(quarantine_message())
    await line.sent.wait()
    coming = asyncio.create_task(quarantine.opened(retry))
    line.accepted.set()
    again = await coming
    assert going.done()
    assert await going is None, "it is not done with what brings the message back"
    assert again.body == message.body
    assert quarantine.carrier_of(again) is retry
