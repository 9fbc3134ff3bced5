"""GatedEndpoint: the endpoint of a process whose files are kept on another machine.

A durable message, a request, and the acknowledgement of a message leave the process only after its
files have been sent. So on any machine the process continues with at least the state that other
processes know of. The gate's own requests pass it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from pydantic import BaseModel

from agiraph.core.errors import Refused
from agiraph.core.ids import FILES
from transport.codec import is_durable
from transport.endpoint import CLOSE_SECONDS, Endpoint, Received
from transport.errors import TransportError

Gate = Callable[[], Awaitable[None]]


class GatedEndpoint(Endpoint):
    """An endpoint that awaits `gate`, if there is one, before it sends durable messages."""

    gate: Gate | None = None
    _recorded: list[Received] | None = None
    _telling: "asyncio.Task[None] | None" = None

    async def send(
        self,
        to: str,
        body: BaseModel,
        *,
        id: bytes | None = None,
        reply_to: bytes | None = None,
        trace: str | None = None,
    ) -> bytes:
        """Send like `Endpoint.send`; a durable message waits for `gate`, others go at once."""
        if self.gate is not None and is_durable(type(body)):
            await self.gate()
        return await super().send(to, body, id=id, reply_to=reply_to, trace=trace)

    async def ask(
        self,
        to: str,
        body: BaseModel,
        *,
        id: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Received:
        """Ask like `Endpoint.ask`, after waiting for `gate`, except for the service `files`."""
        if self.gate is not None and to != FILES:
            await self.gate()
        return await super().ask(to, body, id=id, within_seconds=within_seconds)

    def done(self, received: Received) -> None:
        """Acknowledge a message in the background, after waiting for `gate`.

        A message from the service `files` is acknowledged at once.
        """
        if self.gate is None or received.header.sender == FILES:
            super().done(received)
            return
        self._recorded = [*(self._recorded or ()), received]
        if self._telling is None or self._telling.done():
            self._telling = asyncio.get_running_loop().create_task(self._tell())

    async def _tell(self) -> None:
        while self._recorded and self.gate is not None:
            recorded, self._recorded = self._recorded, []
            # Unacknowledged messages are delivered again, to the next process.
            with suppress(TransportError, Refused, OSError):
                await self.gate()
                for one in recorded:
                    super().done(one)

    async def close(self) -> None:
        """Acknowledge the messages that wait for `gate`, for CLOSE_SECONDS at most, and close."""
        if self._telling is not None:
            await asyncio.wait([self._telling], timeout=CLOSE_SECONDS)
        await super().close()
