"""Asking: a question put again while the one asked is being restarted; a refusal is an error.

A service of the house is always restarted, so it is waited for without a limit; an entity for as
long as its supervisor has not given it up.
"""

import asyncio

from pydantic import BaseModel

from actors.runtime import Runtime
from agiraph.errors import Refused, Unavailable
from agiraph.ids import SUPERVISOR, agent_of
from agiraph.messages import ChildTable, ListChildren, RefusedReply
from transport.endpoint import Received
from transport.errors import PeerLost, TransportError

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 2.0
TABLE_SECONDS = 5.0
GONE = frozenset({"failed", "stopped", "exited"})


async def ask_until_answered(
    runtime: Runtime,
    to: str,
    body: BaseModel,
    *,
    id: bytes | None = None,
) -> Received:
    """Ask, and ask again (with the same `id`) when `to` dies meanwhile.

    Raises Refused with the other's reason, Unavailable when `to` is an entity that was given up.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            received = await runtime.ask(to, body, id=id)
        except PeerLost:
            if pause == LONGEST_PAUSE_SECONDS and agent_of(to) is not None:
                await _require_wanted(runtime, to)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            continue
        if isinstance(received.body, RefusedReply):
            runtime.done(received)
            raise Refused(received.body.reason)
        return received


async def _require_wanted(runtime: Runtime, entity: str) -> None:
    """Raise Unavailable if the supervisor does not start this entity again."""
    try:
        told = await runtime.ask(SUPERVISOR, ListChildren(), within_seconds=TABLE_SECONDS)
    except TransportError:
        return  # nobody says that it is gone
    runtime.done(told)
    rows = told.body.children if isinstance(told.body, ChildTable) else ()
    found = next((row for row in rows if row.address == entity), None)
    if found is not None and found.state in GONE:
        why = f" ({found.cause})" if found.cause else ""
        raise Unavailable(f"{entity} is {found.state}{why}")
