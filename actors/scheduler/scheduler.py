"""The scheduler: waits for the next due time or for news, decides by the books, delivers what
fired.

Whatever a book decides is on disk before it is delivered, and stands in the book's outbox until it
is; the ids follow from trigger and occasion. So a clock that dies at any point fires each occasion
once.
"""

import asyncio
import contextlib

from actors.runtime.background_tasks import BackgroundTasks, first_to_end
from actors.runtime.runtime import Runtime
from actors.scheduler.delivery import carry_out, deliver
from actors.scheduler.time_source import TimeSource
from actors.scheduler.trigger_requests import TriggerRequests
from actors.scheduler.trigger_store import TriggerStore
from agiraph.core.errors import Corrupt
from agiraph.core.ids import AgentId
from agiraph.messages import Body, EventsGrew, RefusedReply
from agiraph.triggers.records import Firing
from agiraph.triggers.trigger_set import FiringLimits, TriggerSet
from transport.endpoint import Received
from transport.envelope import Flag
from transport.errors import TransportError

RETRY_SECONDS = 5.0
LOOK_AGAIN_SECONDS = 30.0


class Scheduler:
    """One home's clock."""

    def __init__(self, runtime: Runtime, time: TimeSource) -> None:
        """Keep the triggers of the runtime's home by this time."""
        settings = runtime.config.triggers
        bounds = FiringLimits(late_seconds=settings.late_seconds, per_minute=settings.per_minute)
        self._runtime = runtime
        self._time = time
        self._shelf = TriggerStore(runtime.home, bounds, runtime.log, runtime.report, time.now)
        self._desk = TriggerRequests(self._shelf, runtime.config, runtime.report)
        self._bell = asyncio.Event()
        self._grown: set[AgentId] = set()
        self._side = BackgroundTasks()
        self._under_way: set[str] = set()
        self._retry_at: float | None = None
        self._look_at = 0.0

    async def run(self) -> None:
        """Keep time for as long as the process lives."""
        self._shelf.load()
        await first_to_end(self._receive(), self._keep_time(), self._side.until_broken())

    async def close(self) -> None:
        """End what runs beside."""
        await self._side.stop()

    # --- what comes in ---------------------------------------------------------------------------

    async def _receive(self) -> None:
        while True:
            await self._take(await self._runtime.receive())

    async def _take(self, received: Received) -> None:
        body = received.body
        if isinstance(body, EventsGrew):
            self._grown.update(agent for agent in body.agents if agent in self._shelf.books)
            self._bell.set()
            return
        reply = self._desk.answer(received, self._time.now())
        if reply is not None and received.header.flags & Flag.ASK:
            await self._reply(received, reply)
        elif isinstance(reply, RefusedReply):
            header = received.header
            self._runtime.log.warning("refused", sender=header.sender, reason=reply.reason)
        self._runtime.done(received)
        self._bell.set()

    async def _reply(self, received: Received, reply: Body) -> None:
        header = received.header
        try:
            await self._runtime.send(header.sender, reply, reply_to=header.id)
        except TransportError as error:
            self._runtime.log.warning("no answer", to=header.sender, reason=str(error))

    # --- time ------------------------------------------------------------------------------------

    async def _keep_time(self) -> None:
        while True:
            grown = self._grown if self._bell.is_set() else set(self._shelf.books)
            self._grown, self._retry_at = set(), None
            self._bell.clear()
            self._look_at_damaged()
            for book in list(self._shelf.books.values()):
                try:
                    await self._settle(book, has_grown=book.agent in grown)
                except Corrupt as error:  # the others' triggers go on
                    self._runtime.log.warning("triggers stand still", reason=str(error))
            await self._time.wait(self._next(), self._bell)

    def _look_at_damaged(self) -> None:
        """Read again, at a pace, what was set aside."""
        now = self._time.now()
        if self._shelf.damaged and now >= self._look_at:
            self._look_at = now + LOOK_AGAIN_SECONDS
            self._shelf.load_again()

    def _next(self) -> float | None:
        """Return when to look again: something is due, or was not delivered; None: when rung."""
        look = self._look_at if self._shelf.damaged else None
        due = [book.next_due for book in self._shelf.books.values()]
        return min((at for at in (*due, self._retry_at, look) if at is not None), default=None)

    async def _settle(self, book: TriggerSet, *, has_grown: bool) -> None:
        """Let a book take in what happened, fire what is due, and deliver what has fired."""
        now = self._time.now()
        is_due = book.next_due is not None and book.next_due <= now
        is_changed = False
        if is_due or (has_grown and book.is_listening):
            is_changed = self._shelf.catch_up(book, now)
        if book.tick(now) or is_changed:
            self._shelf.save(book)
        await self._deliver_all(book, now)

    async def _deliver_all(self, book: TriggerSet, now: float) -> None:
        waiting = [firing for firing in book.outbox.values() if firing.id not in self._under_way]
        for firing in waiting:
            if firing.action.type == "run_callback":
                self._under_way.add(firing.id)
                self._side.start(self._carry_out(book, firing, now))
                continue
            try:
                await deliver(self._runtime, book.agent, firing, now)
            except TransportError as error:
                self._runtime.log.warning("a firing waits", agent=book.agent, reason=str(error))
                self._retry_at = now + RETRY_SECONDS
                return
            book.delivered(firing.id)
            self._shelf.save(book)

    async def _carry_out(self, book: TriggerSet, firing: Firing, now: float) -> None:
        while True:
            try:
                await carry_out(self._runtime, book.agent, firing, now)
                break
            except TransportError as error:
                self._runtime.log.warning("a callback is told later", reason=str(error))
                await asyncio.sleep(RETRY_SECONDS)
        self._under_way.discard(firing.id)
        book.delivered(firing.id)
        with contextlib.suppress(Corrupt):  # it is set aside, and that is told
            self._shelf.save(book)
