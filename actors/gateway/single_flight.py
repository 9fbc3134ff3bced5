"""Asking once for all who wait: a hundred who want the same thing now are one question.

Nobody gets an answer that is older than his asking: who comes while a question is on its way gets
the answer to the next one, with all who came meanwhile. A crowd asks at a pace (PER_SECOND), so
that those who answer have time for their work; who comes alone, or a few times (BURST), never
waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

PER_SECOND = 50.0
BURST = 25.0

Answer = TypeVar("Answer")


class SingleFlight(Generic[Answer]):
    """One thing that is asked for, by any number at once."""

    def __init__(
        self, ask: Callable[[], Awaitable[Answer]], per_second: float | None = PER_SECOND
    ) -> None:
        """Ask by calling `ask`, never twice at the same time; at no pace if that is None."""
        self._ask = ask
        self._per_second = per_second
        self._paced_until = 0.0
        self._now: asyncio.Task[Answer] | None = None
        self._next: asyncio.Task[Answer] | None = None

    async def get(self) -> Answer:
        """Return an answer that was asked for after this call; raises what asking raised."""
        if self._next is None:
            self._next = asyncio.create_task(self._after(self._now))
            self._next.add_done_callback(_look)
        return await asyncio.shield(self._next)

    async def _after(self, before: "asyncio.Task[Answer] | None") -> Answer:
        if before is not None:
            await asyncio.wait([before])
        if wait := self._wait():
            await asyncio.sleep(wait)
        self._now, self._next = self._next, None
        return await self._ask()

    def _wait(self) -> float:
        """Return how long the question that comes now has to wait for its turn."""
        if self._per_second is None:
            return 0.0
        now = asyncio.get_running_loop().time()
        self._paced_until = max(self._paced_until, now) + 1 / self._per_second
        return max(0.0, self._paced_until - now - BURST / self._per_second)


def _look(task: "asyncio.Task[Answer]") -> None:
    """See how a question ended, also when all who waited have gone."""
    if not task.cancelled():
        task.exception()
