"""Asyncio tools of every process: a signal that wakes tasks, and tasks beside the main work.

The exception of a task that is not awaited is not seen, and the code that waits for its effect
waits forever. So an error in a background task ends the main work: the process crashes, and its
next incarnation, or a clear failure, is better.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any


class Signal(asyncio.Event):
    """An event that is awaited again and again: `set` wakes all waiters."""

    async def next(self, within_seconds: float | None = None) -> None:
        """Return when it was set since the last call (one waiter), or when the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_seconds):
                await self.wait()
        self.clear()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until `is_so`, which is called again each time that it is set (any waiters)."""
        while not is_so():
            self.clear()
            await self.wait()


class BackgroundTasks:
    """The tasks beside one main work."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None
        self._broken = asyncio.Event()

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Begin `work`; call from the running loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    @property
    def is_empty(self) -> bool:
        """Whether no task runs."""
        return not self._tasks

    async def until_empty(self) -> None:
        """Wait until none of the tasks that run now does."""
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    async def until_broken(self) -> None:
        """Wait until one of the tasks raises, and raise that."""
        await self._broken.wait()
        assert self._error is not None
        raise self._error

    async def stop(self) -> None:
        """Cancel what still runs and wait for its end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None and self._error is None:
            self._error = error
            self._broken.set()


async def first_to_end(*works: Awaitable[object]) -> None:
    """Run all until one returns or raises; cancel and await the others; raise what it raised."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
