"""SupervisorEndpoint: the supervisor on the bus: hello, requests, the list of addresses, events."""

import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from pydantic import BaseModel

from actors.runtime.event_reporter import EventReporter
from agiraph.core.concurrency import BackgroundTasks
from agiraph.core.ids import ROUTER, SUPERVISOR, AgentId
from agiraph.core.models import Event
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.child import ChildHeartbeat
from agiraph.messages.control import AddressTable, Stop
from transport.codec import Codec
from transport.endpoint import Endpoint, Received
from transport.errors import LinkDown, TransportError


class SupervisorEndpoint:
    """The messages of the supervisor; silent before `join` and after `leave`.

    `answer` returns the reply to a request (None: no reply), `on_welcome` is called whenever the
    router admits the supervisor, `on_peer_gone` with the address and incarnation of a peer that
    left.
    """

    def __init__(
        self,
        answer: Callable[[Received], Awaitable[BaseModel | None]],
        on_welcome: Callable[[], None],
        on_peer_gone: Callable[[str, int], None],
        log: Any,
    ) -> None:
        self._answer = answer
        self._on_welcome = on_welcome
        self._on_peer_gone = on_peer_gone
        self._log = log
        self._endpoint: Endpoint | None = None
        self._reporter: EventReporter | None = None
        self._is_up = False
        self._tasks = BackgroundTasks()
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
        endpoint.on_down = self._on_peer_gone
        self._endpoint = endpoint
        self._reporter = EventReporter(endpoint, self._log)
        await endpoint.start(within_seconds=within_seconds)
        self.run_in_background(self._reporter.run())
        self.run_in_background(self._listen(endpoint))

    async def leave(self) -> None:
        """Stop answering and say bye; a second call does nothing."""
        await self._tasks.stop()
        endpoint, self._endpoint, self._reporter = self._endpoint, None, None
        if endpoint is not None:
            await endpoint.close()

    def router_ended(self) -> None:
        """Record that the router ended: nothing is sent until it admits the supervisor again."""
        self._is_up = False

    def ask_to_stop(self, address: str, *, after_step: bool = False) -> bool:
        """Send `control.stop` if the router can be reached; return whether it can."""
        if self._endpoint is None or not self._is_up or address == ROUTER:
            return False
        self._endpoint.post(address, Stop(after_step=after_step))
        return True

    def announce(self, known: tuple[str, ...]) -> None:
        """Send the router the existing addresses, now and each time it admits the supervisor."""
        self._known = known
        if self._endpoint is not None and self._is_up:
            self._endpoint.post(ROUTER, AddressTable(known=known))

    def beat(self) -> None:
        """Send a heartbeat to ourselves through the router: while it returns, the router works."""
        if self._endpoint is not None and self._is_up:
            self._endpoint.post(SUPERVISOR, ChildHeartbeat())

    def report_event(self, agent: AgentId, type: str, entity: str, data: dict[str, Any]) -> None:
        """Report an event of an agent's child to the recorder."""
        if self._reporter is not None:
            event = Event(type=type, agent_id=agent, ts=time.time(), entity=entity, data=data)
            self._reporter.report(event)

    def post(self, to: str, body: BaseModel) -> None:
        """Send a passing message, if the router can be reached."""
        if self._endpoint is not None and self._is_up:
            self._endpoint.post(to, body)

    async def ask(self, to: str, body: BaseModel, within_seconds: float) -> BaseModel:
        """Return the body of the answer to a passing request; raises TransportError."""
        if self._endpoint is None:
            raise LinkDown("the supervisor is not on the bus")
        return (await self._endpoint.ask(to, body, within_seconds=within_seconds)).body

    def send(self, to: str, body: BaseModel) -> None:
        """Send a durable message in the background."""
        self.run_in_background(self._send(to, body))

    def run_in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` as a task until `leave`."""
        self._tasks.start(work)

    async def _send(self, to: str, body: BaseModel) -> None:
        endpoint = self._endpoint
        if endpoint is None:
            return
        try:
            await endpoint.send(to, body)
        except TransportError as error:
            self._log.warning("could not be sent", to=to, reason=str(error))

    async def _listen(self, endpoint: Endpoint) -> None:
        while True:
            try:
                received = await endpoint.receive()
            except LinkDown:
                return
            self.run_in_background(self._reply(endpoint, received))

    async def _reply(self, endpoint: Endpoint, received: Received) -> None:
        reply = await self._answer(received)
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
