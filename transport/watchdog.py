"""The watchdog: kills the parent process if its lease has ended and it still runs.

The parent writes into a pipe until when it may run. A parent that hangs, or is stopped, cannot end
its children itself; when this process kills it, its children end, too (PR_SET_PDEATHSIG).
"""

import contextlib
import math
import os
import signal
import struct
import time
from collections.abc import Callable

VALUE = struct.Struct("=d")
LARGEST_READ = 65_536
LOOK_MS = 200


def steady_seconds() -> float:
    """Return seconds that advance evenly, also while the machine sleeps; equal in all processes.

    The clock of leases: time.monotonic() stops while a Linux machine is suspended.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(clock) if clock is not None else time.monotonic()


def pack_deadline(until: float) -> bytes:
    """Return the bytes for the pipe: the parent may run until this time by `steady_seconds`."""
    return VALUE.pack(until)


class Watchdog:
    """Watches `parent`; `descriptor` is the read end of the pipe, whose EOF reports its exit.

    Nothing is watched until a first deadline was received. `kill` is called once the last deadline
    is over.
    """

    def __init__(
        self, descriptor: int, parent: int, kill: Callable[[], None] | None = None
    ) -> None:
        self.descriptor = descriptor
        os.set_blocking(descriptor, False)
        self._parent = parent
        self._kill = kill or self._kill_parent
        self._rest = b""
        self._until: float | None = None

    def left_ms(self) -> int:
        """Return the milliseconds until the next check; a machine that sleeps wakes in between."""
        if self._until is None:
            return LOOK_MS
        left = 1000 * (self._until - steady_seconds())
        return math.ceil(max(0.0, min(LOOK_MS, left)))

    def look(self, is_ready: bool) -> bool:
        """Read the pipe if ready and check the deadline; False if the parent has ended."""
        if is_ready and not self._read():
            return False
        if self._until is None or steady_seconds() < self._until:
            return True
        self._kill()
        return False

    def _read(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            data = os.read(self.descriptor, LARGEST_READ)
            if not data:
                return False
            data = self._rest + data
            whole = len(data) - len(data) % VALUE.size
            self._rest = data[whole:]
            for (until,) in VALUE.iter_unpack(data[:whole]):
                self._until = until
        return True

    def _kill_parent(self) -> None:
        # After its death we have another parent, and its pid may be another process's.
        if os.getppid() == self._parent:
            os.kill(self._parent, signal.SIGKILL)
