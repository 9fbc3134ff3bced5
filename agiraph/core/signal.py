"""Signal: wakes tasks when something has changed."""

import asyncio
from collections.abc import Callable
from contextlib import suppress


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
