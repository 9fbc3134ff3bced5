"""IdleParking: how long an entity waits with a process of its own before it parks.

What waits costs nothing: its process ends, its identity, mailbox and journal stay, and the next
message to it makes the supervisor start it again. It then asks for what it waited for anew, under
the same ids.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from actors.runtime.runtime import Runtime

AT_ONCE_SECONDS = 0.5


class IdleParking:
    """The patience of one entity. `may_park` says whether nothing here would be lost."""

    def __init__(self, runtime: Runtime, may_park: Callable[[], bool]) -> None:
        """Wait `run.park_after_seconds` before parking (0: never), and again while it may not be.

        Who parks before the supervisor knows that it is ready would count as one that cannot start.
        """
        self._runtime = runtime
        self._seconds = runtime.config.run.park_after_seconds or None
        self._may_park = may_park

    async def first_of(
        self, *waits: Awaitable[Any], at_once: bool = False
    ) -> list["asyncio.Future[Any]"]:
        """Wait until one of them has come; return all, what had not come cancelled.

        `at_once`: it is known that nothing comes soon, so do not wait long before parking.
        Raises Parking if none comes for long and the entity may park.
        """
        seconds = self._seconds
        if at_once and seconds is not None:
            seconds = min(seconds, AT_ONCE_SECONDS)
        tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(wait) for wait in waits]
        try:
            while True:
                done, _ = await asyncio.wait(
                    tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
                )
                if done:
                    return tasks
                if self._runtime.is_announced and self._may_park():
                    self._runtime.park()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
