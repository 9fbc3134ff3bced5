"""The console's seat on the bus: taken with a ticket of the gateway, anew when it is void.

A router that restarts lets the same endpoint in again. After a restart of the supervisor the old
ticket is worth nothing: the seat asks for another one, until the console leaves. A text keeps its
id through all that, so the router takes it once.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from agiraph.http.api import ApiError, ConsoleTicketView, NotReachable
from agiraph.messages import MESSAGES, Body
from agiraph.messages.authorization import refusal
from transport.codec import Codec
from transport.endpoint import Endpoint, Received
from transport.errors import Nacked, TransportError

HELLO_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 0.5

Tickets = Callable[[], Awaitable[ConsoleTicketView]]
Hear = Callable[[Received], None]


def attach(ticket: ConsoleTicketView) -> Endpoint:
    """Return the endpoint that a ticket admits, not started yet."""
    return Endpoint(
        url=ticket.router_url,
        address=ticket.address,
        incarnation=ticket.incarnation,
        ticket=bytes.fromhex(ticket.ticket),
        codec=Codec(MESSAGES),
    )


class ConsoleEndpoint:
    """One place on the bus. `hear` is called with each message that comes."""

    def __init__(self, tickets: Tickets, hear: Hear) -> None:
        """Take tickets from `tickets`; the caller runs `run` as a task."""
        self._tickets = tickets
        self._hear = hear
        self._endpoint: Endpoint | None = None
        self._is_seated = asyncio.Event()

    @property
    def is_seated(self) -> bool:
        """Whether the router knows us right now."""
        return self._endpoint is not None and self._endpoint.is_up

    async def run(self) -> None:
        """Sit, and sit down again, until cancelled; then say goodbye."""
        while True:
            try:
                await self._sit()
            except (ApiError, NotReachable, TransportError):
                await asyncio.sleep(RETRY_SECONDS)

    async def _sit(self) -> None:
        endpoint = attach(await self._tickets())
        try:
            await endpoint.start(HELLO_SECONDS)
            self._endpoint = endpoint
            self._is_seated.set()
            while True:
                received = await endpoint.receive()
                header = received.header
                if refusal(header.sender, header.to, received.body) is None:
                    self._hear(received)
                endpoint.done(received)
        finally:
            self._is_seated.clear()
            self._endpoint = None
            await endpoint.close()

    async def send(self, to: str, body: Body, id: bytes) -> None:
        """Send a durable message; return when the router keeps it, however long it is away.

        Raises Nacked if it can never pass (no such recipient, too large).
        """
        while True:
            await self._is_seated.wait()
            endpoint = self._endpoint
            if endpoint is None:
                continue
            try:
                await endpoint.send(to, body, id=id)
                return
            except Nacked:
                if not endpoint.fenced.is_set():
                    raise
            except TransportError:
                pass  # the seat is lost: it is sent again from the next one, under the same id
            await asyncio.sleep(RETRY_SECONDS)

    def post(self, to: str, body: Body) -> None:
        """Send a passing message if we sit; else it is dropped."""
        if self._endpoint is not None:
            self._endpoint.post(to, body)
