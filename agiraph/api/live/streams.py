"""TextStreams: texts that models are writing now, for watchers of an agent. In memory only.

The broker sends each piece once, however many watch an agent: the gateway is subscribed there as
long as there is a watcher. A slow watcher loses the oldest pieces; the positions of the pieces
(`at`) show the gap.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from agiraph.api.live.feeds import BEAT_SECONDS, STOPPING, Feed
from agiraph.core.concurrency import Signal
from agiraph.core.ids import BROKER, AgentId, agent_of
from agiraph.inbox.bus import Bus
from agiraph.messages.model import StreamDelta, SubscribeToStream

RENEW_SECONDS = 2.0
"""The broker drops subscriptions after 10 seconds without a renewal. Its next incarnation has no
subscriptions: it begins with the text streamed so far."""

GATHER_SECONDS = 0.05
MOST_CHARACTERS = 1 << 18
MOST_PIECES = 1000

Shown = TypeVar("Shown")


class StreamWatcher:
    """The pieces that one watcher has not yet received."""

    def __init__(self) -> None:
        self.news = Signal()
        self._pieces: deque[StreamDelta] = deque()
        self._characters = 0

    def add(self, piece: StreamDelta) -> None:
        """Add a piece; the oldest pieces are dropped beyond MOST_PIECES or MOST_CHARACTERS."""
        self._pieces.append(piece)
        self._characters += len(piece.text)
        while len(self._pieces) > MOST_PIECES or self._characters > MOST_CHARACTERS:
            self._characters -= len(self._pieces.popleft().text)
        self.news.set()

    def take(self) -> list[StreamDelta]:
        """Return and remove all pending pieces."""
        pieces, self._characters = list(self._pieces), 0
        self._pieces.clear()
        return pieces


class TextStreams:
    """Passes the broker's pieces to watchers; the caller runs `run`, which keeps the subscription.

    Called in the gateway's event loop only.
    """

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._watchers: dict[AgentId, set[StreamWatcher]] = {}
        self._watched = Signal()
        self._is_closing = False

    @property
    def followers(self) -> int:
        """The number of watchers of all agents."""
        return sum(map(len, self._watchers.values()))

    def on_delta(self, piece: StreamDelta) -> None:
        """Pass a piece to all watchers of its agent."""
        agent = agent_of(piece.entity)
        for watcher in self._watchers.get(agent, ()) if agent else ():
            watcher.add(piece)

    async def run(self) -> None:
        """Keep the subscription at the broker for all watched agents, forever."""
        while True:
            await self._watched.until(lambda: bool(self._watchers))
            for agent in self._watchers:
                self._bus.post(BROKER, SubscribeToStream(agent=agent))
            await asyncio.sleep(RENEW_SECONDS)

    def close(self) -> None:
        """End all feeds because the gateway stops."""
        self._is_closing = True
        for watchers in self._watchers.values():
            for watcher in watchers:
                watcher.news.set()

    @contextmanager
    def _watching(self, agent: AgentId) -> Iterator[StreamWatcher]:
        watcher = StreamWatcher()
        self._watchers.setdefault(agent, set()).add(watcher)
        # All its watchers receive the text so far again; its positions mark it as a repetition.
        self._bus.post(BROKER, SubscribeToStream(agent=agent, from_start=True))
        self._watched.set()
        try:
            yield watcher
        finally:
            self._watchers[agent].discard(watcher)
            if not self._watchers[agent]:
                del self._watchers[agent]

    async def watch(
        self, agent: AgentId, shown: Callable[[StreamDelta], Shown | None]
    ) -> Feed[Shown]:
        """Yield new text of an agent's models, without pieces for which `shown` returns None."""
        with self._watching(agent) as watcher:
            while not self._is_closing:
                await watcher.news.next(BEAT_SECONDS)
                if self._is_closing:
                    break
                found = [shown(piece) for piece in watcher.take()]
                yield [piece for piece in found if piece is not None]
                await asyncio.sleep(GATHER_SECONDS)
        yield STOPPING
