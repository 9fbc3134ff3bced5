"""GatewayBus: the API's `Bus` over the gateway's endpoint; failures become HTTP statuses."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from pydantic import BaseModel

from actors.runtime.ask_again import ask_for
from actors.runtime.runtime import Runtime
from agiraph.api.problems import INSUFFICIENT_STORAGE
from agiraph.core.errors import InvalidInput, Refused
from agiraph.core.ids import SUPERVISOR, agent_of
from agiraph.core.models import Event
from agiraph.http.errors import CONFLICT, TOO_LARGE, TOO_LATE, UNAVAILABLE, UNPROCESSABLE, ApiError
from agiraph.inbox.bus import ANSWER_SECONDS, Reply
from agiraph.messages.child import ChildInfo, ChildTable, ListChildren
from transport.errors import DeadlineExceeded, Nacked, NotStored, TransportError

FAILED_AFTER_SECONDS = 1.0
"""After this time without an answer the supervisor is asked whether the entity was given up."""


class GatewayBus:
    """The processes of a home, reached through the gateway's `runtime`."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.home, self.config = runtime.home, runtime.config
        self.clock, self.log = runtime.clock, runtime.log

    async def ask(
        self,
        to: str,
        body: BaseModel,
        expect: type[Reply],
        *,
        within_seconds: float = ANSWER_SECONDS,
        refused: int = CONFLICT,
        id: bytes | None = None,
    ) -> Reply:
        """Ask a process and return its reply; see `Bus.ask`."""
        asking = ask_for(self._runtime, to, body, expect, within_seconds=within_seconds, id=id)
        try:
            return await (asking if agent_of(to) is None else self._unless_failed(to, asking))
        except InvalidInput as error:
            raise ApiError(UNPROCESSABLE, str(error)) from None
        except Refused as error:
            raise ApiError(refused, str(error)) from None
        except DeadlineExceeded as error:
            raise ApiError(TOO_LATE, f"{to} did not answer in time{await self._why(to)}") from error
        except TransportError as error:
            raise _as_api_error(error, to) from error

    async def _why(self, service: str) -> str:
        """Return why a service does not run, as the end of an error text; '' if it runs."""
        row = await self._child(service) if service != SUPERVISOR else None
        is_away = row is not None and row.state in ("starting", "backing_off")
        return f": it is restarted after {row.cause}" if row and is_away and row.cause else ""

    async def _unless_failed(self, to: str, asking: Coroutine[Any, Any, Reply]) -> Reply:
        """Return the reply of an entity.

        Raises ApiError 409 with the cause if it has been given up.
        """
        task = asyncio.create_task(asking)
        try:
            while True:
                await asyncio.wait([task], timeout=FAILED_AFTER_SECONDS)
                if task.done():
                    return task.result()
                if (cause := await self._failed_for(to)) is not None:
                    raise ApiError(CONFLICT, f"{to} does not run: {cause}")
        finally:
            task.cancel()
            await asyncio.wait([task])

    async def _failed_for(self, address: str) -> str | None:
        """Return why the supervisor gave up a process; None if not given up or not known."""
        row = await self._child(address)
        return row.cause or "" if row is not None and row.state == "failed" else None

    async def _child(self, address: str) -> ChildInfo | None:
        """Return the supervisor's row of a process; None if there is no row or no answer."""
        try:
            table = await self.ask(SUPERVISOR, ListChildren(), ChildTable)
        except ApiError:
            return None
        return next((one for one in table.children if one.address == address), None)

    async def send(self, to: str, body: BaseModel, *, id: bytes) -> None:
        """Send a durable message and wait until the router has stored it; see `Bus.send`."""
        try:
            await self._runtime.send(to, body, id=id)
        except TransportError as error:
            raise _as_api_error(error, to) from error

    def post(self, to: str, body: BaseModel) -> None:
        """Send a message that is not durable, without waiting; it may be lost."""
        self._runtime.post(to, body)

    def report(self, *events: Event) -> None:
        """Send events to the recorder in the background."""
        self._runtime.report(*events)


def _as_api_error(error: TransportError, to: str) -> ApiError:
    """Return a failure of the bus as a refusal of the API."""
    match error:
        case NotStored():
            return ApiError(INSUFFICIENT_STORAGE, f"the disk is full: nothing was sent to {to}")
        case Nacked(reason="mailbox_full"):
            return ApiError(UNAVAILABLE, f"the mailbox of {to} is full")
        case Nacked(reason="too_large"):
            return ApiError(TOO_LARGE, f"the message to {to} is too large")
        case Nacked():
            return ApiError(CONFLICT, f"{to} cannot be reached ({error})")
        case _:
            return ApiError(UNAVAILABLE, f"{to} cannot be reached now ({error})")
