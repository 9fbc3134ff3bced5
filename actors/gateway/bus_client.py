"""What the gateway asks of the bus, and how the bus's failures become HTTP statuses."""

import asyncio
from typing import Protocol, TypeVar

from pydantic import BaseModel

from actors.gateway.problems import INSUFFICIENT_STORAGE
from agiraph.core.models import Event
from agiraph.http.api import ApiError
from agiraph.messages import RefusedReply
from transport.endpoint import Received
from transport.errors import DeadlineExceeded, Nacked, NotStored, PeerLost, TransportError

REFUSED = 409
UNAVAILABLE = 503
TOO_LATE = 504
PAUSE_SECONDS = 0.05

Reply = TypeVar("Reply", bound=BaseModel)


class BusClient(Protocol):
    """The bus as the gateway uses it; `actors.runtime.runtime.Runtime` is one."""

    async def send(
        self, to: str, body: BaseModel, *, id: bytes | None = None, reply_to: bytes | None = None
    ) -> bytes:
        """Send; for a durable body return its id once the router has accepted it."""
        ...

    async def ask(
        self,
        to: str,
        body: BaseModel,
        *,
        id: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Received:
        """Send and wait for the reply."""
        ...

    async def receive(self) -> Received:
        """Return the next message."""
        ...

    def done(self, received: Received) -> None:
        """Say that a durable message and its effect are recorded here."""
        ...

    def report(self, *events: Event) -> None:
        """Hand events to the recorder in the background."""
        ...


async def ask_for(
    line: BusClient,
    to: str,
    body: BaseModel,
    expected: type[Reply],
    *,
    within_seconds: float,
    refused: int = REFUSED,
    id: bytes | None = None,
) -> Reply:
    """Ask `to` and return its reply, which must be an `expected`. `id` is the question's.

    If `to` is being restarted it is asked again within that time. Raises ApiError: `refused` with
    the reason if it was refused, 504 if no answer came in time, 503 if it cannot be reached now.
    """
    try:
        received = await _ask_again(line, to, body, within_seconds, id)
    except TransportError as error:
        raise as_api_error(error, to) from error
    line.done(received)
    if isinstance(received.body, RefusedReply):
        raise ApiError(refused, received.body.reason)
    if not isinstance(received.body, expected):
        raise ApiError(UNAVAILABLE, f"{to} answered with {type(received.body).__name__}")
    return received.body


async def _ask_again(
    line: BusClient, to: str, body: BaseModel, within_seconds: float, id: bytes | None
) -> Received:
    """Ask until `to` lives to answer; raises PeerLost if it is away all the time."""
    now = asyncio.get_running_loop().time
    give_up_at = now() + within_seconds
    while True:
        try:
            return await line.ask(to, body, id=id, within_seconds=within_seconds)
        except PeerLost:
            if now() >= give_up_at:
                raise
            await asyncio.sleep(PAUSE_SECONDS)


async def deliver(line: BusClient, to: str, body: BaseModel, *, id: bytes) -> None:
    """Send a durable message and wait until the router holds it; raises ApiError."""
    try:
        await line.send(to, body, id=id)
    except TransportError as error:
        raise as_api_error(error, to) from error


def as_api_error(error: TransportError, to: str) -> ApiError:
    """Return what a failure of the bus means to the one who called the API."""
    match error:
        case NotStored():
            return ApiError(INSUFFICIENT_STORAGE, f"the disk is full: nothing was sent to {to}")
        case DeadlineExceeded():
            return ApiError(TOO_LATE, f"{to} did not answer in time")
        case Nacked(reason="mailbox_full"):
            return ApiError(UNAVAILABLE, f"the mailbox of {to} is full")
        case Nacked(reason="too_large"):
            return ApiError(413, f"the message to {to} is too large")
        case Nacked():
            return ApiError(REFUSED, f"{to} cannot be reached ({error})")
        case _:
            return ApiError(UNAVAILABLE, f"{to} cannot be reached now ({error})")
