"""Idle service: a process that answers calls, and parks when there was none for a while."""

import asyncio
from collections.abc import Callable

from actors.runtime.ask_again import LONGEST_PAUSE_SECONDS
from actors.runtime.runtime import Runtime
from transport.endpoint import Received

AT_LEAST_SECONDS = 2 * LONGEST_PAUSE_SECONDS
"""Who woke a process asks again after a pause: it must still be there by then."""


async def take_until_idle(
    runtime: Runtime,
    take: Callable[[Received], None],
    is_idle: Callable[[], bool],
    park_after_seconds: float,
) -> None:
    """Hand every message to `take`; park once none has come for so long (0: never) and all is done.

    Never returns: parking ends the process.
    """
    patience = max(park_after_seconds, AT_LEAST_SECONDS) if park_after_seconds else None
    receiving = asyncio.ensure_future(runtime.receive())
    try:
        while True:
            done, _ = await asyncio.wait({receiving}, timeout=patience)
            if done:
                take(receiving.result())
                receiving = asyncio.ensure_future(runtime.receive())
            elif runtime.is_announced and is_idle():
                runtime.park()
    finally:
        receiving.cancel()
