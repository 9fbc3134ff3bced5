"""The dispatcher: reads what is new, writes down what goes where, and has it delivered until it is.

Its sources are journals, read from cursors that move in the same append as what was found there:
so a question that was asked while the gateway was dying is told once to each channel, by the next
incarnation. Towards the outside a delivery may come twice (killed between the receiver's word and
our journal), under the same id.

Each channel has a task of its own; one that hangs holds up neither the bus nor the other channels.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from actors.gateway.event_feed import LogSignals
from actors.gateway.event_reporter import GatewayEventReporter
from actors.gateway.notifications.answer_links import AnswerLinks
from actors.gateway.notifications.channel import Channel, DeliveryFailed, Notification
from actors.gateway.notifications.delivery_journal import DeliveryJournal
from actors.gateway.notifications.sources import (
    ENDS,
    EVENT_KINDS,
    notice_of_event,
    notice_of_message,
)
from actors.gateway.notifications.table import open_channel
from actors.gateway.questions.questions import QuestionStore
from actors.gateway.state.agents import AgentDirectory
from actors.gateway.state.message_history import MessageHistory
from actors.recorder.event_log import EventLog
from agiraph.core.channel_settings import ChannelConfig, MissingChannelVariable
from agiraph.core.clock import Clock
from agiraph.core.config import GatewayConfig
from agiraph.core.errors import Corrupt, InvalidInput
from agiraph.core.ids import AgentId
from agiraph.core.models import Agent
from agiraph.http.api import ApiError
from agiraph.notifications.delivery_queue import Delivery, DeliveryQueue, backoff
from agiraph.notifications.notice import Notice

LOOK_SECONDS = 120.0
GRACE_SECONDS = 5.0
PASSED = 1000
"""Events that are read on without a notice before that is written down."""


class DispatcherContext(Protocol):
    """What the courier reads, and by whom it has failures told."""

    agents: AgentDirectory
    thread: MessageHistory
    questions: QuestionStore
    telling: GatewayEventReporter
    bells: LogSignals
    clock: Clock
    log: Any

    def events_of(self, agent: Agent) -> EventLog:
        """Return the reader of an agent's event log."""
        ...


class NotificationDispatcher:
    """One task for the sources and one for each channel; the caller runs `run`."""

    def __init__(
        self,
        ledger: DeliveryJournal,
        links: AnswerLinks,
        channels: Mapping[str, ChannelConfig],
        bounds: GatewayConfig,
        environ: Mapping[str, str],
    ) -> None:
        """Deliver by `channels`; `environ` holds the variables that they name."""
        self._ledger = ledger
        self.links = links
        self.settings = channels
        self._bounds = bounds
        self._environ = environ
        self._news = asyncio.Event()
        self._grown: set[str] = set()
        self._bells = {name: asyncio.Event() for name in channels}
        self._channels: dict[str, Channel] = {}
        self.when_delivered: Callable[[str, float], None] = lambda _channel, _seconds: None

    @property
    def book(self) -> DeliveryQueue:
        """What was told, and what is still to go out."""
        return self._ledger.book

    def ring(self) -> None:
        """There is something new in the thread."""
        self._news.set()

    def hear(self, agent: AgentId | str) -> None:
        """An agent's log has grown."""
        if self._reads_events:
            self._grown.add(str(agent))
            self._news.set()

    def write(self, record: dict[str, Any]) -> None:
        """Write down what a person decided (away, back, again), and look what follows."""
        self._ledger.write(record)
        for bell in self._bells.values():
            bell.set()

    @property
    def _reads_events(self) -> bool:
        return any(EVENT_KINDS.intersection(one.notices) for one in self.settings.values())

    async def run(self, told: DispatcherContext) -> None:
        """Deliver for ever; with no channel there is nothing to do."""
        self._open(told)
        if not self.settings:
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(told))
                for name in self.settings:
                    group.create_task(self._serve(told, name))
        finally:
            for channel in self._channels.values():
                await channel.close()

    def _open(self, told: DispatcherContext) -> None:
        """Write down which channels there are; the first ones begin with what comes from now on."""
        seqs: dict[str, int] | None = {} if self._reads_events else None
        if seqs is not None and not self.book.reads_events:
            seqs |= {agent.id: _last_of(told, agent) for agent in told.agents.all()}
        record = self.book.opening(self.settings, told.thread.count, seqs)
        if record is not None:
            self._ledger.write(record)

    # --- what is new ---

    async def _read(self, told: DispatcherContext) -> None:
        while True:
            if self._reads_events:  # all of them now and then, for a ring may have been lost
                self._grown.update(agent.id for agent in told.agents.all())
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._read_as_it_comes(told)

    async def _read_as_it_comes(self, told: DispatcherContext) -> None:
        while True:
            self._news.clear()
            self._read_thread(told)
            while self._grown:
                agent = self._grown.pop()
                try:
                    self._read_events(told, agent)
                except (Corrupt, ApiError) as error:  # of one agent; the others' notices go out
                    told.log.warning("events cannot be read", agent=agent, reason=str(error))
                await asyncio.sleep(0)
            await self._news.wait()

    def _read_thread(self, told: DispatcherContext) -> None:
        for message in told.thread.since(self.book.thread):
            question = told.questions.get(message.question_id) if message.question_id else None
            agent = told.agents.get(message.agent)
            name = agent.name if agent else message.agent
            self._take(told, notice_of_message(message, name, question), {"thread": message.seq})
        if told.thread.count > self.book.thread:
            self._ledger.write({"type": "passed", "thread": told.thread.count})

    def _read_events(self, told: DispatcherContext, id: str) -> None:
        agent = told.agents.get(id)
        if agent is None:
            return
        written = self.book.events.get(id, 0)
        after = written
        while True:
            events, seen = told.events_of(agent).pick(after, PASSED, ENDS)
            for event in events:
                self._take(told, notice_of_event(event, agent), {"events": {id: event.seq}})
            if seen == after:
                break
            after = seen
        if after - self.book.events.get(id, 0) >= PASSED:
            self._ledger.write({"type": "passed", "events": {id: after}})

    def _take(self, told: DispatcherContext, notice: Notice | None, read: dict[str, Any]) -> None:
        if notice is None:
            return
        record = self.book.noticing(notice, self.settings, told.clock.now(), read)
        if record is None:
            return
        self._ledger.write(record)
        for name in record["to"]:
            self._bells[name].set()

    # --- what goes out ---

    async def _serve(self, told: DispatcherContext, name: str) -> None:
        """Deliver to one channel what is due, one after the other."""
        bell = self._bells[name]
        holds = self._bounds.while_away == "wait"
        while True:
            bell.clear()
            now = told.clock.now()
            due = self.book.due(name, now, holds=holds)
            if due:
                await self._handle(told, due[0])
                continue
            next_at = self.book.next_due(name, now)
            with suppress(TimeoutError):
                async with asyncio.timeout(None if next_at is None else max(0.0, next_at - now)):
                    await bell.wait()

    async def _handle(self, told: DispatcherContext, delivery: Delivery) -> None:
        id = delivery.id
        if self._is_needless(told, delivery.notice):
            self._ledger.write({"type": "dropped", "id": id})
            return
        try:
            await self._attempt(delivery.channel, self.parcel(delivery.notice, id))
        except DeliveryFailed as failure:
            self._put_off(told, delivery, str(failure), failure.retry_after)
            await self._tell_if_dead(told, id)
            return
        except Exception as fault:  # a fault in one channel is none of the person's door
            told.log.error("a channel broke", channel=delivery.channel, exc_info=fault)
            self._put_off(told, delivery, f"a fault in the gateway: {type(fault).__name__}", 0.0)
            await self._tell_if_dead(told, id)
            return
        now = told.clock.now()
        self._ledger.write({"type": "delivered", "id": id, "at": now})
        self.when_delivered(delivery.channel, max(0.0, now - delivery.notice.ts))

    def _is_needless(self, told: DispatcherContext, notice: Notice) -> bool:
        if notice.question_id is None:
            return False
        question = told.questions.get(notice.question_id)
        return question is None or question.status != "open"

    def parcel(self, notice: Notice, id: str) -> Notification:
        """Return a notice as it is handed over."""
        return Notification(id, notice, self.links.link_of(notice))

    async def _attempt(self, name: str, parcel: Notification) -> None:
        try:
            async with asyncio.timeout(self._bounds.delivery_timeout_seconds + GRACE_SECONDS):
                await self._channel(name).deliver(parcel)
        except TimeoutError:
            raise DeliveryFailed("it took too long") from None
        except (MissingChannelVariable, InvalidInput) as wrong:
            raise DeliveryFailed(str(wrong)) from None

    async def test(self, name: str, notice: Notice, id: str) -> None:
        """Deliver a notice now, once, whatever the book says; raise DeliveryFailed."""
        await self._attempt(name, self.parcel(notice, id))

    def _channel(self, name: str) -> Channel:
        settings = self.settings[name]
        opened = self._channels.get(name)
        if opened is None:
            opened = open_channel(settings, self._bounds.delivery_timeout_seconds, self._environ)
            self._channels[name] = opened
        return opened

    def _put_off(
        self, told: DispatcherContext, delivery: Delivery, error: str, retry_after: float
    ) -> None:
        """Write a failure down: it is tried again later, or was the last try."""
        bounds, attempts, now = self._bounds, delivery.attempts + 1, told.clock.now()
        told.log.warning(
            "not delivered", channel=delivery.channel, notice=delivery.notice.id, reason=error
        )
        if attempts >= bounds.delivery_attempts:
            self._ledger.write({"type": "dead", "id": delivery.id, "error": error, "at": now})
            return
        wait = backoff(
            attempts, bounds.delivery_first_delay_seconds, bounds.delivery_max_delay_seconds
        )
        self._ledger.write(
            {
                "type": "tried",
                "id": delivery.id,
                "attempts": attempts,
                "error": error,
                "at": now,
                "next_at": now + max(wait, retry_after),
            }
        )

    async def _tell_if_dead(self, told: DispatcherContext, id: str) -> None:
        delivery = self.book.deliveries.get(id)
        if delivery is None or delivery.status != "dead":
            return
        data = {
            "channel": delivery.channel,
            "notice": delivery.notice.kind,
            "delivery": id,
            "reason": delivery.error,
        }
        agent = AgentId(delivery.notice.agent)
        if told.agents.get(agent) is not None:
            await told.telling.tell("channel.dead", agent, id.encode(), data)

    def close(self) -> None:
        """Close the journal."""
        self._ledger.close()


def named(channels: Iterable[str]) -> str:
    """Return names for an error: what would have been possible."""
    return ", ".join(sorted(channels)) or "none; see docs/channels.md"


def _last_of(told: DispatcherContext, agent: Agent) -> int:
    """Return the number of an agent's last event, 0 if its log cannot be read."""
    try:
        return told.events_of(agent).last()
    except Corrupt:
        return 0
