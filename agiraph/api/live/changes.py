"""HomeChanges: changes in the home, for followers of the whole home. In memory only.

A change is recorded by its subject, and only for current followers. A follower receives the state
of the subject at the time of sending: however often a subject changes, a follower is notified a few
times a second, and at most one change per subject waits for a slow follower.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from agiraph.api.live.feeds import BEAT_SECONDS, STOPPING, Feed
from agiraph.core.concurrency import Signal
from agiraph.http.api import ChangeView, EventsChangeView, HomeView

GATHER_SECONDS = 0.1

SubjectKind = Literal["archived", "restored", "deleted", "inbox", "question", "entity"]
Subject = tuple[SubjectKind, str]
"""The subject of a change: the id of an agent or a question, or an entity's address."""


class PendingChanges:
    """The changes that one follower has not yet received."""

    def __init__(self) -> None:
        self.news = Signal()
        self._grown: dict[str, EventsChangeView] = {}
        self._noted: dict[Subject, None] = {}

    def add_events(self, grown: EventsChangeView) -> None:
        """Record that an agent's log has grown; merged with a pending change of this log."""
        known = self._grown.get(grown.agent)
        if known is not None:
            types = tuple(sorted({*known.types, *grown.types}))
            grown = known.model_copy(update={"seq": max(known.seq, grown.seq), "types": types})
        self._grown[grown.agent] = grown
        self.news.set()

    def note(self, subject: Subject) -> None:
        """Record that a subject has changed."""
        self._noted[subject] = None
        self.news.set()

    def take(self) -> tuple[list[EventsChangeView], list[Subject]]:
        """Return and remove the pending changes."""
        grown, noted = list(self._grown.values()), list(self._noted)
        self._grown, self._noted = {}, {}
        return grown, noted


class HomeChanges:
    """Records changes for all followers; called in the gateway's event loop only."""

    def __init__(self) -> None:
        self._followers: set[PendingChanges] = set()
        self._is_closing = False

    @property
    def followers(self) -> int:
        """The number of followers."""
        return len(self._followers)

    def log_grew(self, agent: str, seq: int, types: Iterable[str]) -> None:
        """Record that events of these types were added to an agent's log, up to `seq`."""
        if self._followers:
            told = {"agent": agent, "seq": seq, "types": sorted(types)}
            grown = EventsChangeView.model_validate(told)
            for follower in self._followers:
                follower.add_events(grown)

    def note(self, kind: SubjectKind, id: str) -> None:
        """Record a change of the subject `id` (an agent's log: `log_grew`)."""
        for follower in self._followers:
            follower.note((kind, id))

    def close(self) -> None:
        """End all feeds because the gateway stops."""
        self._is_closing = True
        for follower in self._followers:
            follower.news.set()

    @contextmanager
    def _subscribed(self) -> Iterator[PendingChanges]:
        follower = PendingChanges()
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)

    async def follow(
        self,
        snapshot: Callable[[], HomeView],
        shown: Callable[[Sequence[Subject]], Sequence[ChangeView]],
    ) -> Feed[ChangeView]:
        """Yield a snapshot, then the changes since, at most once each GATHER_SECONDS.

        `shown` returns the current state of some subjects.
        """
        with self._subscribed() as pending:
            yield [snapshot()]
            while not self._is_closing:
                await pending.news.next(BEAT_SECONDS)
                if self._is_closing:
                    break
                grown, noted = pending.take()
                yield [*grown, *shown(noted)]
                await asyncio.sleep(GATHER_SECONDS)
        yield STOPPING
