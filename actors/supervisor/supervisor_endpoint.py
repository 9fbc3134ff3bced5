"""The supervisor's side of the bus: hello, requests, the list of addresses, events, last words."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from pydantic import BaseModel

from actors.runtime.event_reporter import EventReporter
from actors.supervisor.requests import SupervisorCommands, answer
from agiraph.core.ids import ROUTER, SUPERVISOR, AgentId
from agiraph.core.models import Event
from agiraph.messages import MESSAGES, AddressTable, ChildHeartbeat, Stop
from transport.codec import Codec
from transport.endpoint import Endpoint, Received
from transport.errors import LinkDown, TransportError


class SupervisorEndpoint:
    """Everything that the supervisor says and hears; silent until `join`, and after `leave`."""

    def __init__(self, desk: SupervisorCommands, log: Any, on_welcome: Callable[[], None]) -> None:
        """Let `desk` answer requests; `on_welcome` is called whenever the router lets us in."""
        self._desk = desk
        self._log = log
        self._on_welcome = on_welcome
        self._endpoint: Endpoint | None = None
        self._reporter: EventReporter | None = None
        self._is_up = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._known: tuple[str, ...] = ()

    async def join(self, url: str, incarnation: int, ticket: bytes, within_seconds: float) -> None:
        """Say hello to the router and begin to answer; raises TransportError."""
        endpoint = Endpoint(
            url=url,
            address=SUPERVISOR,
            incarnation=incarnation,
            ticket=ticket,
            codec=Codec(MESSAGES),
        )
        endpoint.on_welcome = lambda _epoch: self._welcomed()
        endpoint.on_down = self._peer_gone
        self._endpoint = endpoint
        self._reporter = EventReporter(endpoint, self._log)
        await endpoint.start(within_seconds=within_seconds)
        self.do(self._reporter.run())
        self.do(self._listen(endpoint))

    async def leave(self) -> None:
        """Stop answering and say bye; does nothing the second time."""
        tasks, self._tasks = self._tasks, set()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        endpoint, self._endpoint, self._reporter = self._endpoint, None, None
        if endpoint is not None:
            await endpoint.close()

    def router_ended(self) -> None:
        """Note that nothing can be said until the router lets us in again."""
        self._is_up = False

    def ask_to_stop(self, address: str) -> bool:
        """Send `control.stop` if the bus stands; return whether it does."""
        if self._endpoint is None or not self._is_up or address == ROUTER:
            return False
        self._endpoint.post(address, Stop())
        return True

    def announce(self, known: tuple[str, ...]) -> None:
        """Tell the router which addresses exist, now and whenever it lets us in again."""
        self._known = known
        if self._endpoint is not None and self._is_up:
            self._endpoint.post(ROUTER, AddressTable(known=known))

    def beat(self) -> None:
        """Beat to ourselves through the router: while that comes back, everybody can be heard."""
        if self._endpoint is not None and self._is_up:
            self._endpoint.post(SUPERVISOR, ChildHeartbeat())

    def report(self, agent: AgentId, type: str, entity: str, data: dict[str, Any]) -> None:
        """Report an event of an agent's child."""
        if self._reporter is not None:
            event = Event(type=type, agent_id=agent, ts=time.time(), entity=entity, data=data)
            self._reporter.report(event)

    def tell(self, to: str, body: BaseModel) -> None:
        """Send a durable message in the background."""
        self.do(self._tell(to, body))

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in the background until `leave`."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell(self, to: str, body: BaseModel) -> None:
        endpoint = self._endpoint
        if endpoint is None:
            return
        try:
            await endpoint.send(to, body)
        except TransportError as error:
            self._log.warning("could not tell", to=to, reason=str(error))

    async def _listen(self, endpoint: Endpoint) -> None:
        while True:
            try:
                received = await endpoint.receive()
            except LinkDown:
                return
            self.do(self._answer(endpoint, received))

    async def _answer(self, endpoint: Endpoint, received: Received) -> None:
        reply = await answer(self._desk, received)
        try:
            if reply is not None:
                await endpoint.reply(received, reply)
        except TransportError as error:
            self._log.warning("no answer", to=received.header.sender, reason=str(error))
        endpoint.done(received)

    def _welcomed(self) -> None:
        self._is_up = True
        self.announce(self._known)
        self._on_welcome()

    def _peer_gone(self, address: str, incarnation: int) -> None:
        self._desk.peer_gone(address, incarnation)
