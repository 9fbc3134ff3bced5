"""The bus of one actor without a bus: simulated messages and answers, and a record of sent
messages."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from agiraph.core.clock import SystemClock
from agiraph.core.models import Event
from agiraph.messages.body import MessageBody
from agiraph.settings.config import load_config
from agiraph.storage.home import Home
from transport.endpoint import Received
from transport.envelope import VERSION, Flag, Header
from transport.errors import TransportError

Answer = MessageBody | TransportError
Answerer = Callable[[Any], Answer]

_numbers = itertools.count(1)


def arrived(
    body: MessageBody,
    sender: str,
    *,
    to: str = "human",
    id: bytes | None = None,
    incarnation: int = 1,
    sent_at: float = 1000.0,
    is_tap: bool = False,
) -> Received:
    """Return a message as it comes out of an endpoint."""
    flags = (Flag.DURABLE if body.DURABLE else 0) | (Flag.TAP if is_tap else 0)
    identity = id if id is not None else next(_numbers).to_bytes(16, "big")
    header = Header(
        VERSION, identity, body.TYPE, to, sender, incarnation, None, sent_at, flags, None
    )
    return Received(header, body)


class SilentLog:
    """A log that stores its lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def _keep(self, text: str, **facts: Any) -> None:
        self.lines.append(f"{text} {facts}")

    debug = info = warning = error = _keep


class FakeRuntime:
    """Replaces `actors.runtime.runtime.Runtime`, with the same methods.

    `answers` maps a type of request to a function of the request. `sent` contains (to, body, id,
    reply_to) of each sent message, each message id once, as in the router.
    """

    def __init__(self, home: Path) -> None:
        self.home = Home(home)
        self.config = load_config()
        self.clock = SystemClock()
        self.log = SilentLog()
        self.answers: dict[type[MessageBody], Answerer] = {}
        self.refusals: dict[str, TransportError] = {}
        self.sent: list[SimpleNamespace] = []
        self.asked: list[tuple[str, Any]] = []
        self.posted: list[tuple[str, Any]] = []
        self.reported: list[Event] = []
        self.finished: list[bytes] = []
        self.heartbeat = SimpleNamespace(waiting_for=nullcontext)
        self.is_ready = asyncio.Event()
        self.is_announced = False
        self._ids: set[bytes] = set()
        self._incoming: asyncio.Queue[Received] = asyncio.Queue()
        self._changed = asyncio.Event()

    async def receive_ahead(self) -> Received:
        """Return the next message."""
        return await self.receive()

    def take_up(self, ids: Sequence[str]) -> int:
        """Let all messages be handled together."""
        return len(ids)

    def put(self, received: Received) -> None:
        """Deliver a message."""
        self._incoming.put_nowait(received)

    def status(self, *args: Any, **more: Any) -> None:
        """Show nothing."""

    async def ready(self) -> None:
        """Record that the actor accepts messages."""
        self.is_ready.set()

    async def send(
        self, to: str, body: BaseModel, *, id: bytes | None = None, reply_to: bytes | None = None
    ) -> bytes:
        """Record a sent message, or refuse it."""
        if to in self.refusals:
            raise self.refusals[to]
        identity = id if id is not None else next(_numbers).to_bytes(16, "little")
        if identity not in self._ids:
            self._ids.add(identity)
            self.sent.append(SimpleNamespace(to=to, body=body, id=identity, reply_to=reply_to))
            self._changed.set()
        return identity

    async def reply(self, received: Received, body: BaseModel) -> None:
        """Record a reply."""
        await self.send(received.header.sender, body, reply_to=received.header.id)

    @asynccontextmanager
    async def handling(self, received: Received) -> AsyncIterator[None]:
        """Let a message be handled beside others."""
        yield

    def post(self, to: str, body: BaseModel, *, reply_to: bytes | None = None) -> None:
        """Record a passing message."""
        self.posted.append((to, body))

    async def ask(
        self,
        to: str,
        body: BaseModel,
        *,
        id: bytes | None = None,
        within_seconds: float | None = None,
    ) -> Received:
        """Return the answer that `answers` contains for the request."""
        self.asked.append((to, body))
        answer = self.answers[type(body)](body)  # type: ignore[index]
        if isinstance(answer, TransportError):
            raise answer
        return arrived(answer, to)

    async def receive(self) -> Received:
        """Return the next delivered message."""
        return await self._incoming.get()

    def done(self, received: Received) -> None:
        """Record that a message is acknowledged."""
        self.finished.append(received.header.id)
        self._changed.set()

    def report(self, *events: Event) -> None:
        """Record reported events."""
        self.reported.extend(events)

    def events(self) -> list[Event]:
        """Return all events that were sent to the recorder."""
        reports = [message.body for message in self.sent if message.to == "recorder"]
        return [event for report in reports for event in report.events]

    def sent_to(self, to: str) -> list[Any]:
        """Return the bodies that went to one address."""
        return [message.body for message in self.sent if message.to == to]

    async def until_logged(self, text: str, within_seconds: float = 5.0) -> None:
        """Wait until the log contains `text`."""
        async with asyncio.timeout(within_seconds):
            while not any(text in line for line in self.log.lines):  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def until(self, is_so: Callable[[], bool], within_seconds: float = 5.0) -> None:
        """Wait until a sent or acknowledged message makes `is_so` true."""
        async with asyncio.timeout(within_seconds):
            while not is_so():
                self._changed.clear()
                await self._changed.wait()


def events_of(agent: str, types: Iterable[str]) -> tuple[Event, ...]:
    """Return one event of each type."""
    return tuple(Event(type=type, agent_id=agent, ts=1.0) for type in types)
