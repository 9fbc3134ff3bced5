"""CallQuarantine: refuse a model call that was in flight when the broker crashed twice.

Callers send their calls again after the broker has been restarted. A call whose answer crashes the
broker would crash it again and again, and stop the calls of all agents. Therefore a file
(`CrashCounter`) contains the ids of the calls in flight, and a crash of the broker counts against
each of them. After the first crash these calls run one at a time, beside newer calls, so that a
second crash identifies the faulty call. Its caller receives an error with the cause.
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
    """The ids of the calls in flight (16 bytes in hex), and the crashes that `crashes` counts."""

    def __init__(self, crashes: CrashCounter) -> None:
        self._crashes = crashes
        self._suspects = asyncio.Lock()

    @classmethod
    def of(cls, runtime: Runtime) -> "CallQuarantine":
        """Return the quarantine for the calls of a process."""
        launch, folder = runtime.launch, runtime.home.system.attempts
        name = f"{file_name(launch.address)}.calls"
        crashes = CrashCounter(folder, name, launch.incarnation, launch.last_end, CALL_LIMIT)
        return cls(crashes)

    @asynccontextmanager
    async def making(self, id: str) -> AsyncIterator[None]:
        """Count a call as in flight in the block.

        Raises ProviderError if the call is in quarantine.
        """
        if self._crashes.is_poison(id):
            self._crashes.forget(id)  # a new attempt by a person starts a new count
            cause = self._crashes.last_end or "see the broker's log"
            raise ProviderError("internal", SET_ASIDE.format(count=CALL_LIMIT, cause=cause))
        async with self._suspects if self._crashes.is_suspect(id) else nullcontext():
            self._crashes.begin(id)
            try:
                yield
            except asyncio.CancelledError:
                self._crashes.end(id)  # its caller may send it again, under the same id
                raise
            except BaseException:
                self._crashes.done(id)
                raise
            self._crashes.done(id)

    def close(self) -> None:
        """Close the file."""
        self._crashes.close()
