"""Asking once for all who wait: a hundred who want the same thing now are one question.

Nobody gets an answer that is older than his asking: who comes while a question is on its way gets
the answer to the next one, with all who came meanwhile.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Together(Generic[Answer]):
    """One thing that is asked for, by any number at once."""

    def __init__(self, ask: Callable[[], Awaitable[Answer]]) -> None:
        """Ask by calling `ask`, never twice at the same time."""
        self._ask = ask
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
        self._now, self._next = self._next, None
        return await self._ask()


def _look(task: "asyncio.Task[Answer]") -> None:
    """See how a question ended, also when all who waited have gone."""
    if not task.cancelled():
        task.exception()
