"""Asking: a question put again while the one asked is being restarted; a refusal is an error."""

import asyncio

from pydantic import BaseModel

from actors.runtime import Runtime
from agiraph.errors import Refused, Unavailable
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
    give_up_after_seconds: float = 120.0,
) -> Received:
    """Ask, and ask again (with the same `id`) when `to` dies meanwhile.

    Raises Refused with the other's reason, Unavailable when `to` does not come back in time.
    """
    ends_at = runtime.clock.monotonic() + give_up_after_seconds
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            received = await runtime.ask(to, body, id=id)
        except PeerLost:
            if runtime.clock.monotonic() > ends_at:
                raise Unavailable(f"{to} did not come back") from None
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            continue
        if isinstance(received.body, RefusedReply):
            runtime.done(received)
            raise Refused(received.body.reason)
        return received
