"""The scheduler: waits for the next due time or for events, and delivers firings.

A firing is on disk before it is delivered, and stays in the outbox of its trigger set until then;
its id is derived from trigger and occasion. So each occasion fires once, wherever the process
crashes.
"""

import asyncio
import time
from contextlib import suppress

from actors.runtime.launch import ActorLaunch
from actors.runtime.runtime import Runtime, run_actor
from actors.scheduler.delivery import NoReceiver, carry_out, deliver
from actors.scheduler.trigger_requests import TriggerRequests
from actors.scheduler.trigger_store import TriggerStore
from agiraph.core.concurrency import BackgroundTasks, first_to_end
from agiraph.core.errors import Corrupt, InvalidInput
from agiraph.core.ids import AgentId
from agiraph.messages.body import MessageBody
from agiraph.messages.control import RefusedReply
from agiraph.messages.event import EventsGrew
from agiraph.triggers.records import TriggerRun
from agiraph.triggers.trigger_set import FiringLimits, TriggerSet
from transport.endpoint import Received
from transport.envelope import Flag
from transport.errors import TransportError

RETRY_SECONDS = 5.0
RELOAD_SECONDS = 30.0
LONGEST_SLEEP_SECONDS = 60.0


class TimeSource:
    """The machine's time, and waiting for it; tests pass a clock that they set by hand."""

    def now(self) -> float:
        """Return wall time in seconds since the epoch."""
        return time.time()

    async def wait(self, until: float | None, news: asyncio.Event) -> None:
        """Return at `until` (None: never), or earlier when `news` is set.

        It also returns every minute, because clocks are set and laptops sleep.
        """
        seconds = None
        if until is not None:
            seconds = min(max(0.0, until - self.now()), LONGEST_SLEEP_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await news.wait()


class Scheduler:
    """Schedules the triggers of the runtime's home."""

    def __init__(self, runtime: Runtime, time: TimeSource) -> None:
        settings = runtime.config.triggers
        bounds = FiringLimits(late_seconds=settings.late_seconds, per_minute=settings.per_minute)
        self._runtime = runtime
        self._time = time
        self._store = TriggerStore(runtime.home, bounds, runtime.log, runtime.report, time.now)
        self._requests = TriggerRequests(self._store, runtime.config, runtime.report)
        self._news = asyncio.Event()
        self._grown: set[AgentId] = set()
        self._background = BackgroundTasks()
        self._under_way: set[str] = set()
        self._retry_at: float | None = None
        self._reload_at = 0.0

    async def run(self) -> None:
        """Schedule until cancelled."""
        self._store.load()
        await first_to_end(self._receive(), self._fire_due(), self._background.until_broken())

    async def close(self) -> None:
        """Cancel the running callbacks."""
        await self._background.stop()

    # --- messages -----------------------------------------------------------------------------

    async def _receive(self) -> None:
        while True:
            await self._handle(await self._runtime.receive())

    async def _handle(self, received: Received) -> None:
        body = received.body
        if isinstance(body, EventsGrew):
            self._grown.update(agent for agent in body.agents if self._store.has_any(agent))
            self._news.set()
            return
        reply = self._requests.answer(received, self._time.now())
        if reply is not None and received.header.flags & Flag.ASK:
            await self._reply(received, reply)
        elif isinstance(reply, RefusedReply):
            header = received.header
            self._runtime.log.warning("refused", sender=header.sender, reason=reply.reason)
        self._runtime.done(received)
        self._news.set()

    async def _reply(self, received: Received, reply: MessageBody) -> None:
        header = received.header
        try:
            await self._runtime.send(header.sender, reply, reply_to=header.id)
        except TransportError as error:
            self._runtime.log.warning("a reply was not sent", to=header.sender, reason=str(error))

    # --- firing ----------------------------------------------------------------------------------

    async def _fire_due(self) -> None:
        while True:
            grown = self._grown if self._news.is_set() else set(self._store.trigger_sets)
            self._grown, self._retry_at = set(), None
            self._news.clear()
            self._reload_damaged()
            for book in list(self._store.trigger_sets.values()):
                try:
                    await self._settle(book, has_grown=book.agent in grown)
                except Corrupt as error:  # the triggers of other agents continue
                    self._runtime.log.warning("triggers cannot be used", reason=str(error))
            await self._time.wait(self._next(), self._news)

    def _reload_damaged(self) -> None:
        """Read the damaged trigger files again, at most every RELOAD_SECONDS."""
        now = self._time.now()
        if self._store.damaged and now >= self._reload_at:
            self._reload_at = now + RELOAD_SECONDS
            self._store.load_again()

    def _next(self) -> float | None:
        """Return the next time at which work is due or retried.

        None: only a message brings work.
        """
        reload = self._reload_at if self._store.damaged else None
        due = [book.next_due for book in self._store.trigger_sets.values()]
        return min((at for at in (*due, self._retry_at, reload) if at is not None), default=None)

    async def _settle(self, book: TriggerSet, *, has_grown: bool) -> None:
        """Apply events to a trigger set, fire due triggers, and deliver the firings.

        `has_grown`: the agent's event log may contain new events.
        """
        now = self._time.now()
        is_due = book.next_due is not None and book.next_due <= now
        if (is_due or book.outbox) and not self._store.is_there(book.agent):
            self._store.forget(book.agent)
            return
        is_changed = False
        if is_due or (has_grown and book.is_listening):
            is_changed = self._store.catch_up(book, now)
        if book.tick(now) or is_changed:
            self._store.save(book)
        await self._deliver_all(book, now)

    async def _deliver_all(self, book: TriggerSet, now: float) -> None:
        waiting = [firing for firing in book.outbox.values() if firing.id not in self._under_way]
        for firing in waiting:
            if firing.action.type == "run_callback":
                self._under_way.add(firing.id)
                self._background.start(self._carry_out(book.agent, firing, now))
                continue
            try:
                await deliver(self._runtime, book.agent, firing, book.fired_at(firing, now))
            except NoReceiver as error:
                self._runtime.log.info("firings wait", agent=book.agent, reason=str(error))
                self._store.forget(book.agent)
                return
            except TransportError as error:
                self._runtime.log.warning("a firing waits", agent=book.agent, reason=str(error))
                self._retry_at = now + RETRY_SECONDS
                return
            book.delivered(firing.id)
            self._store.save(book)

    async def _carry_out(self, agent: AgentId, firing: TriggerRun, now: float) -> None:
        while True:
            try:
                await carry_out(self._runtime, agent, firing, now)
                break
            except TransportError as error:
                self._runtime.log.warning("a callback is reported later", reason=str(error))
                await asyncio.sleep(RETRY_SECONDS)
        self._under_way.discard(firing.id)
        with suppress(Corrupt, InvalidInput):  # reported as damaged; or the agent is away
            book = self._store.book(agent)
            book.delivered(firing.id)
            self._store.save(book)


async def serve(runtime: Runtime, time: TimeSource | None = None) -> None:
    """Schedule until cancelled."""
    scheduler = Scheduler(runtime, time or TimeSource())
    await runtime.ready()
    try:
        await scheduler.run()
    finally:
        await scheduler.close()


def main(launch: ActorLaunch) -> int:
    """Run the scheduler; return its exit code."""
    return run_actor(launch, serve)
