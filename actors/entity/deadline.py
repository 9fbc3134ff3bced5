"""NodeDeadline: a node's time limit, which stands still while others are waited for."""

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager

from agiraph.agent.conversation import Conversation
from agiraph.agent.records import StateNoted
from agiraph.agent.worktime import AWAY_SECONDS


class NodeDeadline:
    """A limit in seconds; put `timer` round the work, `standing_still` round the waits.

    `was_told`: whether the one who works under it was told that it is near.
    """

    @classmethod
    def of_node(cls, conversation: Conversation, seconds: float, now: float) -> "NodeDeadline":
        """Return what is left of a node's `seconds`: a restart of its worker gives it no more.

        A long absence is noted in the conversation first, because it must not count again later.
        """
        transcript = conversation.transcript
        seen_at = transcript.work.seen_at
        if seen_at and not transcript.is_waiting and now - seen_at > AWAY_SECONDS:
            conversation.append(StateNoted(what="away", ts=now))
        work = transcript.work.at(now, is_waiting=transcript.is_waiting)
        return cls(seconds - work.seconds)

    def __init__(self, seconds: float) -> None:
        """Allow `seconds` of the loop's time from now; none is left if they are negative."""
        self._loop = asyncio.get_running_loop()
        self.timer = asyncio.timeout(max(0.0, seconds))
        self.was_told = False

    @property
    def remaining_seconds(self) -> float:
        """How much of it is left; infinite while it stands still."""
        ends_at = self.timer.when()
        return math.inf if ends_at is None else ends_at - self._loop.time()

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Stop the clock inside this block."""
        ends_at = self.timer.when()
        if ends_at is None or self.timer.expired():
            yield
            return
        remaining = ends_at - self._loop.time()
        self.timer.reschedule(None)
        try:
            yield
        finally:
            if not self.timer.expired():
                self.timer.reschedule(self._loop.time() + max(0.0, remaining))
