"""Ask again: requests that are repeated while the receiver restarts; a refusal is an error.

The wait for a receiver has no limit: a service is always restarted, and an entity that was given up
answers after a person has started it again.
"""

import asyncio
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from agiraph.core.errors import InvalidInput, Refused
from agiraph.messages.control import RefusedReply
from transport.errors import DeadlineExceeded, PeerLost

if TYPE_CHECKING:
    from actors.runtime.runtime import Runtime
    from transport.endpoint import Received

FIRST_PAUSE_SECONDS = 0.05
LONGEST_PAUSE_SECONDS = 2.0

Reply = TypeVar("Reply", bound=BaseModel)


async def ask_until_answered(
    runtime: "Runtime",
    to: str,
    body: BaseModel,
    *,
    id: bytes | None = None,
) -> "Received":
    """Return the reply of `to`; ask again with the same `id` each time `to` dies.

    Raises Refused with the receiver's reason, InvalidInput if the receiver raised that.
    """
    with runtime.heartbeat.waiting_for(to):
        received = await _answer_of(runtime, to, body, id)
    if isinstance(received.body, RefusedReply):
        runtime.done(received)
        is_input = received.body.kind == InvalidInput.__name__
        raise (InvalidInput if is_input else Refused)(received.body.reason)
    return received


async def _answer_of(runtime: "Runtime", to: str, body: BaseModel, id: bytes | None) -> "Received":
    """Return the reply of `to`; ask again each time that it dies."""
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            return await runtime.ask(to, body, id=id)
        except PeerLost:
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


async def ask_for(
    runtime: "Runtime",
    to: str,
    body: BaseModel,
    expect: type[Reply],
    *,
    within_seconds: float | None = None,
    id: bytes | None = None,
) -> Reply:
    """Like `ask_until_answered`, for a reply that needs no record: return its body, an `expect`.

    Raises DeadlineExceeded if no reply comes within `within_seconds`, however often `to` was asked.
    """
    try:
        async with asyncio.timeout(within_seconds):
            received = await ask_until_answered(runtime, to, body, id=id)
    except TimeoutError:
        raise DeadlineExceeded(f"{to} did not answer within {within_seconds:g} s") from None
    runtime.done(received)
    return checked(received, expect)


def checked(received: "Received", expect: type[Reply]) -> Reply:
    """Return the body of a reply. Raises TypeError if it is not an `expect`."""
    if not isinstance(received.body, expect):
        header = received.header
        raise TypeError(f"{header.sender} answered with {header.type}, not {expect.__name__}")
    return received.body
