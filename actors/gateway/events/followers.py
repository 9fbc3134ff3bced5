"""Following an agent's events live: the log is the queue, a message from the recorder the bell.

A follower reads the log from its cursor on, so nothing is missed and nothing comes twice, however
many `event.appended` messages get lost (they are passing). What waits for a slow follower waits in
the file, not in memory: one page at most is in its hands, and a follower that takes nothing for
STALL_SECONDS is let go with the cursor to come back with. Those who have caught up are shown what
comes together (`subscribers.py`).
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from actors.gateway.events.event_subscribers import EventSubscriber, EventSubscribers, FrameWriter
from actors.recorder.event_log import EVERYTHING, EventLog
from agiraph.core.errors import Corrupt
from agiraph.core.event_filter import EventFilter
from agiraph.core.ids import AgentId

PAGE = 200
LOOK_SECONDS = 1.0
STAY_SECONDS = 2.0
STALL_SECONDS = 20.0
FAREWELL_SECONDS = 2.0

LONGEST_REASON = 100
"""A WebSocket's goodbye has room for 123 bytes (RFC 6455, section 5.5)."""

FAULT = 1011
GOING_AWAY = 1012
TRY_AGAIN = 1013
GONE = 1000


class FollowerSocket(Protocol):
    """An accepted WebSocket, as followers use it."""

    async def send_text(self, data: str) -> None:
        """Send one frame; waits while the other side does not read."""
        ...

    async def close(self, code: int = 1000, reason: str | None = None) -> None:
        """Say goodbye."""
        ...


class LogSignals:
    """Rings when something was appended to an agent's log, or when nothing more will come."""

    def __init__(self) -> None:
        """Begin with nobody listening."""
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._gone: set[str] = set()
        self._audiences: dict[str, EventSubscribers] = {}
        self.ear: Callable[[AgentId | str], None] = lambda _agent: None
        self.is_closing = False

    def ring(self, agent: AgentId | str) -> None:
        """Wake everyone who waits for this agent."""
        for bell in self._waiting.get(agent, ()):
            bell.set()
        subscribers = self._audiences.get(agent)
        if subscribers is not None:
            subscribers.ring()
        self.ear(agent)

    def subscribers(self, agent: AgentId | str, log: EventLog) -> EventSubscribers:
        """Return those who follow this agent at the end of its log."""
        if agent not in self._audiences:
            self._audiences[agent] = EventSubscribers(log)
        return self._audiences[agent]

    def say_gone(self, agent: AgentId | str) -> None:
        """Let the followers of an archived agent go."""
        self._gone.add(agent)
        self._dismiss(agent)
        self.ring(agent)

    def say_back(self, agent: AgentId | str) -> None:
        """Take back that an agent was archived."""
        self._gone.discard(agent)

    def close(self) -> None:
        """Let all followers go: the gateway stops."""
        self.is_closing = True
        for agent in list(self._waiting):
            self._dismiss(agent)
            self.ring(agent)

    def _dismiss(self, agent: AgentId | str) -> None:
        subscribers = self._audiences.pop(agent, None)
        if subscribers is not None:
            subscribers.dismiss()

    def has_gone(self, agent: AgentId | str) -> bool:
        """Whether this agent was archived."""
        return agent in self._gone

    @property
    def listeners(self) -> int:
        """How many listen now."""
        return sum(len(bells) for bells in self._waiting.values())

    def listen(self, agent: AgentId | str) -> "LogSubscription":
        """Return what to wait on; use it as a context manager."""
        return LogSubscription(self._waiting, str(agent))


class LogSubscription:
    """One listener. A ring between two waits is not lost."""

    def __init__(self, waiting: dict[str, set[asyncio.Event]], agent: str) -> None:
        """Listen for `agent` once entered."""
        self._waiting = waiting
        self._agent = agent
        self._bell = asyncio.Event()

    async def wait(self, within_seconds: float) -> None:
        """Return when the bell rang since the last wait, or when the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_seconds):
                await self._bell.wait()
        self._bell.clear()

    def __enter__(self) -> "LogSubscription":
        """Begin to listen."""
        self._waiting[self._agent].add(self._bell)
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop."""
        self._waiting[self._agent].discard(self._bell)
        if not self._waiting[self._agent]:
            del self._waiting[self._agent]


async def follow(
    socket: FollowerSocket,
    log: EventLog,
    bells: LogSignals,
    agent: AgentId,
    after: int,
    wanted: EventFilter = EVERYTHING,
    frames: FrameWriter | None = None,
) -> None:
    """Send every wanted event after `after`, each as one JSON text, until the gateway stops.

    `frames` is the socket's connection, if frames can be written to it past the socket.
    Returns after saying goodbye with a reason; raises what the socket raises when it breaks.
    """
    try:
        await _follow(socket, log, bells, agent, after, wanted, frames)
    except Corrupt as error:  # the log is damaged there, or of a newer version
        await _part(socket, FAULT, str(error)[-LONGEST_REASON:])


async def _follow(
    socket: FollowerSocket,
    log: EventLog,
    bells: LogSignals,
    agent: AgentId,
    after: int,
    wanted: EventFilter,
    frames: FrameWriter | None,
) -> None:
    cursor = after
    with bells.listen(agent) as listening:
        while not bells.is_closing:
            events, seen = log.pick(cursor, PAGE, wanted)
            for event in events:
                try:
                    async with asyncio.timeout(STALL_SECONDS):
                        await socket.send_text(event.model_dump_json())
                except TimeoutError:
                    await _part(socket, TRY_AGAIN, f"too slow: come back with after={cursor}")
                    return
                cursor = event.seq
                if bells.is_closing:
                    break
            if seen > cursor or events:
                cursor = max(cursor, seen)
                continue
            if bells.has_gone(agent):
                await _part(socket, GONE, "the agent was archived")
                return
            if frames is not None and frames.takes_more:
                member = EventSubscriber(frames, cursor, wanted)
                await _stay(bells.subscribers(agent, log), member)
                cursor = member.cursor
            else:
                await listening.wait(LOOK_SECONDS)
    await _part(socket, GOING_AWAY, "the gateway stops")


async def _stay(subscribers: EventSubscribers, member: EventSubscriber) -> None:
    """Be shown what comes, until there is a reason to look oneself."""
    if not subscribers.join(member):
        return
    try:
        while not member.is_out.is_set():
            try:
                async with asyncio.timeout(STAY_SECONDS):
                    await member.is_out.wait()
            except TimeoutError:
                subscribers.show()  # a ring may have been lost
    finally:
        subscribers.leave(member)


async def _part(socket: FollowerSocket, code: int, reason: str) -> None:
    """Say goodbye, but do not wait long for one who does not listen."""
    with suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL_SECONDS):
            await socket.close(code, reason)
