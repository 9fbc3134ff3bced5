"""The dispatcher: read new notices, record the channels that get them, and deliver them.

Its sources are journals, read from cursors that are written in the same record as the notices found
there. So a question asked while the gateway died is delivered once to each channel by the next
incarnation. A receiver may get a delivery twice (if the gateway is killed between the receiver's
reply and our record of it), under the same id.

Each channel has a task of its own; a slow channel delays neither the bus nor the other channels.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from agiraph.core.concurrency import Signal
from agiraph.core.errors import Corrupt, InvalidInput
from agiraph.core.ids import AgentId
from agiraph.core.models import Agent
from agiraph.http.errors import ApiError
from agiraph.inbox.bus import Bus
from agiraph.inbox.channels.answer_links import AnswerLinks
from agiraph.inbox.channels.channel import DeliveryFailed, Notification, deliver_by
from agiraph.inbox.channels.delivery_journal import DeliveryJournal
from agiraph.inbox.channels.sources import (
    ENDS,
    EVENT_KINDS,
    notice_of_event,
    notice_of_message,
)
from agiraph.inbox.event_reporter import GatewayEventReporter
from agiraph.inbox.message_history import MessageHistory
from agiraph.inbox.questions import QuestionStore
from agiraph.notifications.delivery_queue import Delivery, DeliveryQueue, backoff
from agiraph.notifications.notice import Notice
from agiraph.readmodel.agents import AgentDirectory
from agiraph.settings.channels import MissingChannelVariable, filled_in

POLL_SECONDS = 120.0
GRACE_SECONDS = 5.0
UNRECORDED = 1000
"""Events without a notice after which the cursor is recorded."""


class NotificationDispatcher:
    """One task for the sources and one for each channel; the caller runs `run`.

    `environ` contains the variables that the settings of channels name.
    """

    def __init__(
        self,
        bus: Bus,
        environ: Mapping[str, str],
        agents: AgentDirectory,
        history: MessageHistory,
        questions: QuestionStore,
        reporter: GatewayEventReporter,
    ) -> None:
        self._bounds, files = bus.config.gateway, bus.home.human
        self._journal = DeliveryJournal(files.channels)
        self.links = AnswerLinks(files.answer_key, self._bounds.answer_link_seconds)
        self.settings = bus.config.channels
        self._environ = environ
        self._agents = agents
        self._history = history
        self._questions = questions
        self._reporter = reporter
        self._clock, self._log = bus.clock, bus.log
        self._news = Signal()
        self._grown: set[str] = set()
        self._due = {name: Signal() for name in self.settings}
        self.when_delivered: Callable[[str, float], None] = lambda _channel, _seconds: None

    @property
    def queue(self) -> DeliveryQueue:
        """The notices, and the pending deliveries."""
        return self._journal.queue

    def on_message(self) -> None:
        """Read new messages soon: the message history has grown."""
        self._news.set()

    def on_event(self, agent: AgentId | str) -> None:
        """Read an agent's new events soon: its event log has grown."""
        if self._reads_events:
            self._grown.add(str(agent))
            self._news.set()

    def write(self, record: dict[str, Any]) -> None:
        """Record a person's decision (away, back, again), and wake the tasks of all channels."""
        self._journal.write(record)
        for due in self._due.values():
            due.set()

    @property
    def _reads_events(self) -> bool:
        return any(EVENT_KINDS.intersection(one.notices) for one in self.settings.values())

    async def run(self) -> None:
        """Deliver until cancelled; without channels return at once."""
        self._open()
        if not self.settings:
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            for name in self.settings:
                group.create_task(self._serve(name))

    def _open(self) -> None:
        """Record the configured channels; a new channel gets notices from now on."""
        seqs: dict[str, int] | None = {} if self._reads_events else None
        if seqs is not None and not self.queue.reads_events:
            seqs |= {agent.id: self._last_event(agent) for agent in self._agents.all()}
        record = self.queue.opening(self.settings, self._history.count, seqs)
        if record is not None:
            self._journal.write(record)

    def _last_event(self, agent: Agent) -> int:
        """Return the number of an agent's last event, 0 if its log cannot be read."""
        try:
            return self._agents.events_of(agent).last()
        except Corrupt:
            return 0

    # --- new notices ---

    async def _read(self) -> None:
        while True:
            if self._reads_events:  # all of them regularly: a signal may have been lost
                self._grown.update(agent.id for agent in self._agents.all())
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._read_as_it_comes()

    async def _read_as_it_comes(self) -> None:
        while True:
            self._read_messages()
            while self._grown:
                agent = self._grown.pop()
                try:
                    self._read_events(agent)
                except (Corrupt, ApiError) as error:  # only for this agent
                    self._log.warning("events cannot be read", agent=agent, reason=str(error))
                await asyncio.sleep(0)
            await self._news.next()

    def _read_messages(self) -> None:
        for message in self._history.since(self.queue.thread):
            id = message.question_id
            question = self._questions.get(id) if id else None
            agent = self._agents.get(message.agent)
            name = agent.name if agent else message.agent
            self._record(notice_of_message(message, name, question), {"thread": message.seq})
        if self._history.count > self.queue.thread:
            self._journal.write({"type": "passed", "thread": self._history.count})

    def _read_events(self, id: str) -> None:
        agent = self._agents.get(id)
        if agent is None:
            return
        after, last = -1, self.queue.events.get(id, 0)
        while after != last:
            after = last
            events, last = self._agents.events_of(agent).pick(after, UNRECORDED, ENDS)
            for event in events:
                self._record(notice_of_event(event, agent), {"events": {id: event.seq}})
        if after - self.queue.events.get(id, 0) >= UNRECORDED:
            self._journal.write({"type": "passed", "events": {id: after}})

    def _record(self, notice: Notice | None, read: dict[str, Any]) -> None:
        """Record a notice for its channels, with the new cursor of its source."""
        if notice is None:
            return
        record = self.queue.noticing(notice, self.settings, self._clock.now(), read)
        if record is None:
            return
        self._journal.write(record)
        for name in record["to"]:
            self._due[name].set()

    # --- deliveries ---

    async def _serve(self, name: str) -> None:
        """Deliver the due notices to one channel, one after the other."""
        holds = self._bounds.while_away == "wait"
        while True:
            now = self._clock.now()
            due = self.queue.due(name, now, holds=holds)
            if due:
                await self._handle(due[0])
                continue
            next_at = self.queue.next_due(name, now)
            await self._due[name].next(None if next_at is None else max(0.0, next_at - now))

    async def _handle(self, delivery: Delivery) -> None:
        id = delivery.id
        if self._is_needless(delivery.notice):
            self._journal.write({"type": "dropped", "id": id})
            return
        try:
            await self._attempt(delivery.channel, delivery.notice, id)
        except DeliveryFailed as failure:
            await self._reschedule(delivery, str(failure), failure.retry_after)
            return
        except Exception as fault:  # a fault in one channel must not end the gateway
            self._log.error("a channel failed", channel=delivery.channel, exc_info=fault)
            await self._reschedule(delivery, f"a fault in the gateway: {type(fault).__name__}", 0.0)
            return
        now = self._clock.now()
        self._journal.write({"type": "delivered", "id": id, "at": now})
        self.when_delivered(delivery.channel, max(0.0, now - delivery.notice.ts))

    def _is_needless(self, notice: Notice) -> bool:
        """Whether a notice is about a question that is no longer open."""
        if notice.question_id is None:
            return False
        question = self._questions.get(notice.question_id)
        return question is None or question.status != "open"

    async def _attempt(self, name: str, notice: Notice, id: str) -> None:
        seconds = self._bounds.delivery_timeout_seconds
        notification = Notification(
            id, notice, self.links.link_of(notice), self.links.page_of(notice)
        )
        try:
            settings = filled_in(self.settings[name], self._environ)
            async with asyncio.timeout(seconds + GRACE_SECONDS):
                await deliver_by(settings.kind)(settings, notification, seconds)
        except TimeoutError:
            raise DeliveryFailed("it took too long") from None
        except (MissingChannelVariable, InvalidInput) as wrong:
            raise DeliveryFailed(str(wrong)) from None

    async def test(self, name: str, notice: Notice, id: str) -> None:
        """Deliver a notice now, once, without recording it. Raises DeliveryFailed."""
        await self._attempt(name, notice, id)

    async def _reschedule(self, delivery: Delivery, error: str, retry_after: float) -> None:
        """Record a failed attempt: the delivery is retried later, or given up.

        `error` is the reason, `retry_after` the wait in seconds that the receiver asks for, or 0.
        """
        bounds, attempts, now = self._bounds, delivery.attempts + 1, self._clock.now()
        self._log.warning(
            "not delivered", channel=delivery.channel, notice=delivery.notice.id, reason=error
        )
        if attempts >= bounds.delivery_attempts:
            self._journal.write({"type": "dead", "id": delivery.id, "error": error, "at": now})
            await self._report_dead(delivery, error)
            return
        wait = backoff(
            attempts, bounds.delivery_first_delay_seconds, bounds.delivery_max_delay_seconds
        )
        self._journal.write(
            {
                "type": "tried",
                "id": delivery.id,
                "attempts": attempts,
                "error": error,
                "at": now,
                "next_at": now + max(wait, retry_after),
            }
        )

    async def _report_dead(self, delivery: Delivery, error: str) -> None:
        data = {
            "channel": delivery.channel,
            "notice": delivery.notice.kind,
            "delivery": delivery.id,
            "reason": error,
        }
        agent = AgentId(delivery.notice.agent)
        if self._agents.get(agent) is not None:
            await self._reporter.report("channel.dead", agent, delivery.id.encode(), data)

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()


def named(channels: Iterable[str]) -> str:
    """Return the names of the configured channels for an error message."""
    return ", ".join(sorted(channels)) or "none; see docs/humans.md"
