"""What the gateway asks on the bus, and how failures of the bus become HTTP statuses."""

import asyncio
from typing import TypeVar

from pydantic import BaseModel

from actors.gateway.problems import INSUFFICIENT_STORAGE
from actors.runtime.ask_again import ask_until_answered
from actors.runtime.runtime import Runtime
from agiraph.core.errors import Refused
from agiraph.http.errors import ApiError
from transport.errors import DeadlineExceeded, Nacked, NotStored, TransportError

REFUSED = 409
UNAVAILABLE = 503
TOO_LATE = 504

Reply = TypeVar("Reply", bound=BaseModel)


async def ask_for(
    bus: Runtime,
    to: str,
    body: BaseModel,
    expected: type[Reply],
    *,
    within_seconds: float,
    refused: int = REFUSED,
    id: bytes | None = None,
) -> Reply:
    """Ask `to` and return its reply, which must be an `expected`. `id` is that of the request.

    If `to` is being restarted it is asked again within that time. Raises ApiError: `refused` with
    the reason if it was refused, 504 if no reply came in time, 503 if it cannot be reached now.
    """
    try:
        async with asyncio.timeout(within_seconds):
            received = await ask_until_answered(bus, to, body, id=id)
    except Refused as error:
        raise ApiError(refused, str(error)) from None
    except TimeoutError:
        raise ApiError(TOO_LATE, f"{to} did not answer in time") from None
    except TransportError as error:
        raise as_api_error(error, to) from error
    bus.done(received)
    if not isinstance(received.body, expected):
        raise ApiError(UNAVAILABLE, f"{to} answered with {type(received.body).__name__}")
    return received.body


async def deliver(bus: Runtime, to: str, body: BaseModel, *, id: bytes) -> None:
    """Send a durable message and wait until the router has stored it; raises ApiError."""
    try:
        await bus.send(to, body, id=id)
    except TransportError as error:
        raise as_api_error(error, to) from error


def as_api_error(error: TransportError, to: str) -> ApiError:
    """Return a failure of the bus as a refusal of the API."""
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
