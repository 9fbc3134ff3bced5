"""VirtualTimeLoop: an event loop whose time jumps to the next timer whenever it is idle.

An hour of waiting takes no time. Work for threads is executed at once, in the loop's own thread, so
that a run is determined by its inputs alone.
"""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

EPOCH = 1_800_000_000.0
"""The wall time at which virtual time begins, in seconds."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Runs its callbacks without waiting. `time` begins at 0."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        super().__init__(_JumpingSelector(self))
        self.set_default_executor(_InlineExecutor(max_workers=1))

    def time(self) -> float:
        """Return virtual seconds since the loop was made."""
        return self.elapsed


class VirtualClock:
    """The clock of a virtual loop (`agiraph.core.clock.Clock`)."""

    def __init__(self, loop: VirtualTimeLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        """Return virtual wall time in seconds since the epoch."""
        return EPOCH + self._loop.time()

    def monotonic(self) -> float:
        """Return virtual seconds that never go backwards."""
        return self._loop.time()


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualTimeLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if not found and timeout is None:
            raise RuntimeError("no timer and nothing to do: the simulation cannot continue")
        if not found and timeout:
            self._loop.elapsed += timeout
        return found


class _InlineExecutor(ThreadPoolExecutor):
    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(work(*args, **kwargs))
        except BaseException as error:
            future.set_exception(error)
        return future
