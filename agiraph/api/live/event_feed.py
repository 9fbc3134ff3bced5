"""Live feed of an agent's events: the log is the queue, the recorder's message a signal.

A follower reads the log from its cursor on, so no event is missed or repeated, however many
`event.appended` messages are lost (they are transient). Events for a slow follower wait in the
file, not in memory: it holds at most one page.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager

from agiraph.api.live.feeds import FAULT, GONE, LONGEST_REASON, STOPPING, FeedEnd
from agiraph.core.concurrency import Signal
from agiraph.core.errors import Corrupt
from agiraph.core.ids import AgentId
from agiraph.core.models import Event
from agiraph.logs.event_filter import EventFilter
from agiraph.logs.event_log import EVERYTHING, EventLog

PAGE = 200
POLL_SECONDS = 1.0


class LogSignals:
    """Wakes followers when an agent's log has grown or has ended."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[Signal]] = defaultdict(set)
        self._archived: set[str] = set()
        self.on_notify: Callable[[AgentId | str], None] = lambda _agent: None
        self.is_closing = False

    def notify(self, agent: AgentId | str) -> None:
        """Wake all followers of this agent."""
        for signal in self._waiting.get(agent, ()):
            signal.set()
        self.on_notify(agent)

    def archive(self, agent: AgentId | str) -> None:
        """End the feeds of an archived agent."""
        self._archived.add(agent)
        self.notify(agent)

    def restore(self, agent: AgentId | str) -> None:
        """Record that an archived agent was restored."""
        self._archived.discard(agent)

    def close(self) -> None:
        """End all feeds because the gateway stops."""
        self.is_closing = True
        for agent in list(self._waiting):
            self.notify(agent)

    def is_archived(self, agent: AgentId | str) -> bool:
        """Whether this agent was archived."""
        return agent in self._archived

    @property
    def followers(self) -> int:
        """The number of followers of all agents."""
        return sum(len(signals) for signals in self._waiting.values())

    @contextmanager
    def subscribe(self, agent: AgentId | str) -> Iterator[Signal]:
        """Yield a signal that is set whenever this agent's log changes; for the block."""
        signal = Signal()
        self._waiting[agent].add(signal)
        try:
            yield signal
        finally:
            self._waiting[agent].discard(signal)
            if not self._waiting[agent]:
                del self._waiting[agent]


async def follow(
    log: EventLog,
    signals: LogSignals,
    agent: AgentId,
    after: int,
    wanted: EventFilter = EVERYTHING,
) -> AsyncIterator[list[Event] | FeedEnd]:
    """Yield pages of the wanted events after seq `after`, as they occur, and a FeedEnd at the end.

    A page is empty after POLL_SECONDS without events: a notification may have been lost.
    """
    cursor = after
    with signals.subscribe(agent) as subscription:
        while not signals.is_closing:
            try:
                events, seen = log.pick(cursor, PAGE, wanted)
            except Corrupt as error:  # the log is damaged there, or of a newer version
                yield FeedEnd(FAULT, str(error)[-LONGEST_REASON:])
                return
            if events:
                yield events
            elif seen == cursor and signals.is_archived(agent):
                yield FeedEnd(GONE, "the agent was archived")
                return
            elif seen == cursor:
                await subscription.next(POLL_SECONDS)
                yield []
            cursor = seen
    yield STOPPING
