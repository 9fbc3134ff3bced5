"""Events on their way to the screen: in order, each once, never more held than can be shown."""

import asyncio
import threading
from typing import Any

from agiraph.http.api import ThreadEntryView
from agiraph.http.errors import ApiError, NotReachable
from agiraph.readmodel.thread import Thread
from cli.console import client_thread
from cli.console.client_thread import ThreadFeed
from tests.integration.waiting import until
from tests.unit.cli.console.ui.fakes import happened

TOTAL = 300


class BreakingFollower:
    """A follower that fails now and then, as if its gateway were restarted."""

    def __init__(self, after: int, log: list[ThreadEntryView]) -> None:
        self._at = after
        self._log = log
        self._left = 90

    def next(self, within_seconds: float | None = None) -> ThreadEntryView | None:
        if self._at >= len(self._log):
            threading.Event().wait(0.005)
            return None
        if self._left == 0:
            raise NotReachable("the gateway is gone")
        self._left -= 1
        self._at += 1
        return self._log[self._at - 1]

    def __enter__(self) -> "BreakingFollower":
        return self

    def __exit__(self, *_: object) -> None:
        pass


async def test_a_slow_screen_gets_every_entry_once_and_the_rest_waits_in_the_log(
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr(client_thread, "MOST", 50)
    monkeypatch.setattr(client_thread, "POLL_SECONDS", 0.01)
    happenings = (happened("stage.started", seq) for seq in range(1, TOTAL + 1))
    log = Thread().add_all(happenings)
    follow: Any = lambda after: BreakingFollower(after, log)  # noqa: E731
    feed = ThreadFeed(follow, 0)
    feed.start()
    seen: list[int] = []
    try:

        def drained() -> bool:
            taken = feed.take(1000)
            assert len(taken) <= 50
            seen.extend(entry.changed for entry in taken)
            return len(seen) >= TOTAL

        await asyncio.to_thread(until, drained, "all entries")
    finally:
        feed.close()
    assert seen == list(range(1, TOTAL + 1))


async def test_missing_agent_is_reported() -> None:
    def follow(_after: int) -> Any:
        raise ApiError(404, "unknown agent")

    feed = ThreadFeed(follow, 0)
    feed.start()
    await asyncio.to_thread(until, lambda: feed.refusal is not None, "the refusal")
    feed.close()
