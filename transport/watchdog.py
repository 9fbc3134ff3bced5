"""The watchdog: kills the process that started this one if its lease has ended and it lives on.

The parent writes into a pipe until when it may run. A parent that hangs, or is stopped, cannot end
by itself what it runs; that this process kills it ends its children, too (PR_SET_PDEATHSIG).
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
    """Return seconds that go on evenly, also while the machine sleeps; the same in all processes.

    The clock of leases: time.monotonic() stands still while a Linux machine is suspended.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(clock) if clock is not None else time.monotonic()


def pack_deadline(until: float) -> bytes:
    """Return what the parent writes: it may run until this time by `steady_seconds`."""
    return VALUE.pack(until)


class Watchdog:
    """Watches `parent`; `descriptor` is the pipe's end to read, whose EOF says that it has gone.

    Before the first deadline there is nothing to watch. `kill` is called once the last is over.
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
        """Return in how many milliseconds to look again; a machine that sleeps wakes in between."""
        if self._until is None:
            return LOOK_MS
        left = 1000 * (self._until - steady_seconds())
        return math.ceil(max(0.0, min(LOOK_MS, left)))

    def look(self, is_ready: bool) -> bool:
        """Read the pipe if it is ready and check the deadline; False if the parent has gone."""
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
        # Once it is dead we have another parent, and its number may be another process's.
        if os.getppid() == self._parent:
            os.kill(self._parent, signal.SIGKILL)
