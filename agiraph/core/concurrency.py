"""Asyncio helpers: a reusable wake-up signal, and background tasks beside the main work.

The exception of a task that is not awaited is lost, and code that waits for its result waits
forever. Therefore an error in a background task ends the main work: a crash and a restart, or a
clear failure, is better.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any


class Signal(asyncio.Event):
    """An event that can be awaited repeatedly; `set` wakes all waiting tasks."""

    async def next(self, within_seconds: float | None = None) -> None:
        """Wait for a call of `set`, at most `within_seconds` (None: no limit); then clear the
        event.

        A `set` since the last `next` ends the wait at once. The timeout raises no error. Only one
        task may wait with `next`.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within_seconds):
                await self.wait()
        self.clear()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until `is_so()` is true; `is_so` is called at once and after each `set`.

        Several tasks may wait.
        """
        while not is_so():
            self.clear()
            await self.wait()


class BackgroundTasks:
    """Asyncio tasks beside the main work; an error of a task is raised by `until_broken`."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._error: BaseException | None = None
        self._broken = asyncio.Event()

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Start `work` as a task and return the task; call this inside the running loop."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    @property
    def is_empty(self) -> bool:
        """Whether no task is running."""
        return not self._tasks

    async def until_empty(self) -> None:
        """Wait until all tasks that are running now have ended."""
        if self._tasks:
            await asyncio.wait(list(self._tasks))

    async def until_broken(self) -> None:
        """Wait until one of the tasks raises, and raise its exception."""
        await self._broken.wait()
        assert self._error is not None
        raise self._error

    async def stop(self) -> None:
        """Cancel the running tasks and wait until they have ended."""
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
    """Run all until the first one ends, cancel and await the others, and raise its exception."""
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
