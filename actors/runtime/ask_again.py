"""Ask again: a question put again while the one asked is being restarted; a refusal is an error.

Who is asked is waited for without a limit: a service of the house is always restarted, and an
entity that was given up answers once a person has it started again.
"""

import asyncio

from pydantic import BaseModel

from actors.runtime.runtime import Runtime
from agiraph.core.errors import Refused
from agiraph.messages import RefusedReply
from transport.endpoint import Received
from transport.errors import PeerLost

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 2.0


async def ask_until_answered(
    runtime: Runtime,
    to: str,
    body: BaseModel,
    *,
    id: bytes | None = None,
) -> Received:
    """Ask, and ask again (with the same `id`) when `to` dies meanwhile.

    Raises Refused with the other's reason.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            received = await runtime.ask(to, body, id=id)
        except PeerLost:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            continue
        if isinstance(received.body, RefusedReply):
            runtime.done(received)
            raise Refused(received.body.reason)
        return received
