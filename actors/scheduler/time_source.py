"""TimeSource: what time it is, and waiting for a time or a bell, whichever comes first."""

import asyncio
import time
from contextlib import suppress
from typing import Protocol

LONGEST_SECONDS = 60.0


class TimeSource(Protocol):
    """What the clock goes by; tests hand in one that they turn by hand."""

    def now(self) -> float:
        """Return wall time in seconds since the epoch."""
        ...

    async def wait(self, until: float | None, bell: asyncio.Event) -> None:
        """Return once it is `until` (None: never) or the bell rings, at the latest; or earlier."""
        ...


class SystemTime:
    """The machine's own time. It looks again every minute: wall clocks are set, laptops sleep."""

    def now(self) -> float:
        """Return wall time in seconds since the epoch."""
        return time.time()

    async def wait(self, until: float | None, bell: asyncio.Event) -> None:
        """Wait for the bell, until `until`, or for a minute if there is something to wait for."""
        if until is None:
            await bell.wait()
            return
        seconds = min(max(0.0, until - self.now()), LONGEST_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await bell.wait()
