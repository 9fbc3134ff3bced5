"""CallQuarantine: a model call that was in flight at two ends of the broker is not made again.

A call is made again after the broker has ended. If its answer is what ends the broker, that would
go on for ever, and stop the calls of all agents. Therefore the ids of the calls in flight are in a
file (`CrashCounter`); an end by the broker's own fault counts against each of them. After the first
one they are made one at a time, beside those that came later, so that the second one names the
guilty call. Its caller gets an error with the cause.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

from actors.runtime.crash_counter import CrashCounter, file_name
from actors.runtime.runtime import Runtime
from agiraph.llm.base import ProviderError

CALL_LIMIT = 2
SET_ASIDE = (
    "this call was in flight when the broker ended {count} times by its own fault, and is not made "
    "again: {cause}"
)


class CallQuarantine:
    """The calls in flight, by their ids (16 bytes in hex), as `crashes` counts them."""

    def __init__(self, crashes: CrashCounter) -> None:
        self._crashes = crashes
        self._suspects = asyncio.Lock()

    @classmethod
    def of(cls, runtime: Runtime) -> "CallQuarantine":
        """Return the quarantine of the calls that a process makes."""
        launch, folder = runtime.launch, runtime.home.system.attempts
        name = f"{file_name(launch.address)}.calls"
        crashes = CrashCounter(folder, name, launch.incarnation, launch.last_end, CALL_LIMIT)
        return cls(crashes)

    @asynccontextmanager
    async def making(self, id: str) -> AsyncIterator[None]:
        """Let a call count as in flight. Raises ProviderError for one that is set aside."""
        if self._crashes.is_poison(id):
            self._crashes.forget(id)  # a person who tries again gets a new count
            cause = self._crashes.last_end or "see the broker's log"
            raise ProviderError("internal", SET_ASIDE.format(count=CALL_LIMIT, cause=cause))
        async with self._suspects if self._crashes.is_suspect(id) else nullcontext():
            self._crashes.begin(id)
            try:
                yield
            except asyncio.CancelledError:
                self._crashes.end(id)  # it may be made again, under the same id
                raise
            except BaseException:
                self._crashes.done(id)
                raise
            self._crashes.done(id)

    def close(self) -> None:
        """Close the file."""
        self._crashes.close()
