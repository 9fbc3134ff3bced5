"""FaultInjectingWire: a wire with random faults, for tests of the bus's recovery.

ZeroMQ never loses or repeats a frame of an open connection; connections break, and all frames in
flight are lost with them. So a share of the frames, either way, is repeated, held back for a moment
(order is kept), or lost together with the connection, which is then restored.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable

from transport.wire import Wire, WireEvents

HOLD_SECONDS = 0.02
CUT_SECONDS = 0.05
CUTS = 0.2
REPEATS = 0.6

Pass = Callable[[bytes], object]


class FaultInjectingWire:
    """A wrapper of a wire; `share` of the frames meets a fault, which `dice` choose (seeded)."""

    def __init__(self, wire: Wire, share: float, dice: random.Random) -> None:
        self._wire = wire
        self._share = share
        self._dice = dice
        self._is_cut = False
        self._out = WireDirection(wire.send)
        self._in = WireDirection(lambda blob: self._events.frame(blob))

    # --- Wire ---

    def open(self, events: WireEvents) -> None:
        """Begin to connect; `events` receives this wire's events."""
        self._events = events
        self._loop = asyncio.get_running_loop()
        self._wire.open(self)

    def send(self, blob: bytes) -> bool:
        """Send a frame, or lose it without an error; always True."""
        self._pass(self._out, blob)
        return True

    def poll(self) -> None:
        """Check for events that a lost wake-up may have hidden."""
        self._wire.poll()

    def close(self, linger_seconds: float) -> None:
        """Close the wire; held frames are sent first."""
        self._out.release()
        self._in.drop()
        self._wire.close(linger_seconds)

    # --- WireEvents ---

    def connected(self) -> None:
        """Forward the event of a new connection."""
        if not self._is_cut:
            self._events.connected()

    def disconnected(self) -> None:
        """Forward the event of a lost connection."""
        if not self._is_cut:
            self._events.disconnected()

    def frame(self, blob: bytes) -> None:
        """Forward a frame, or lose it."""
        self._pass(self._in, blob)

    def writable(self) -> None:
        """Forward the event that there is room again."""
        self._events.writable()

    # --- faults ---

    def _pass(self, lane: "WireDirection", blob: bytes) -> None:
        if self._is_cut:
            return
        if self._dice.random() >= self._share:
            lane.put(blob)
            return
        kind = self._dice.random()
        if kind < CUTS:
            self._cut()
        elif kind < REPEATS:
            lane.put(blob)
            lane.put(blob)
        else:
            lane.hold()
            lane.put(blob)
            self._loop.call_later(HOLD_SECONDS, lane.release)

    def _cut(self) -> None:
        """Lose the connection and all frames in flight; restore it after CUT_SECONDS."""
        self._is_cut = True
        self._out.drop()
        self._in.drop()
        # Not within `send`: a real wire reports a lost connection from its monitor.
        self._loop.call_soon(self._events.disconnected)
        self._loop.call_later(CUT_SECONDS, self._mend)

    def _mend(self) -> None:
        self._is_cut = False
        self._events.connected()


class WireDirection:
    """One direction of the wire: forwards frames, or holds them back in order."""

    def __init__(self, pass_on: Pass) -> None:
        self._pass_on = pass_on
        self._held: deque[bytes] = deque()
        self._holds = 0

    def put(self, blob: bytes) -> None:
        """Forward or hold a frame."""
        if self._holds or self._held:
            self._held.append(blob)
        else:
            self._pass_on(blob)

    def hold(self) -> None:
        """Hold all frames back until `release` was called once for each `hold`."""
        self._holds += 1

    def release(self) -> None:
        """End one `hold`; forward the held frames when no other hold remains."""
        self._holds = max(0, self._holds - 1)
        while self._held and not self._holds:
            self._pass_on(self._held.popleft())

    def drop(self) -> None:
        """Lose the held frames."""
        self._held.clear()
        self._holds = 0
