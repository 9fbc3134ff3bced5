"""A noisy wire repeats, delays and cuts; it never reorders, and it announces losses."""

import asyncio
import random

from transport.testing.fault_injecting_wire import FaultInjectingWire
from transport.wire import WireEvents


class RecordingWire:
    """A wire that records its frames, and delivers on request."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.events: WireEvents

    def open(self, events: WireEvents) -> None:
        self.events = events

    def send(self, blob: bytes) -> bool:
        self.sent.append(blob)
        return True

    def poll(self) -> None: ...

    def close(self, linger_seconds: float) -> None: ...


class Listener:
    """The listener of the noisy wire."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.ups = 0
        self.downs = 0

    def connected(self) -> None:
        self.ups += 1

    def disconnected(self) -> None:
        self.downs += 1

    def frame(self, blob: bytes) -> None:
        self.frames.append(blob)

    def writable(self) -> None: ...


class ScriptedRandom(random.Random):
    """Rolls given numbers, then never a fault again."""

    def __init__(self, *rolls: float) -> None:
        super().__init__()
        self.rolls = list(rolls)

    def random(self) -> float:
        return self.rolls.pop(0) if self.rolls else 1.0


FAULT, CUT, REPEAT, HOLD = 0.0, 0.1, 0.5, 0.9


async def scene(dice: ScriptedRandom, frames: int = 3) -> tuple[RecordingWire, Listener]:
    """Send some frames over a noisy wire and let it come to rest."""
    quiet, listener = RecordingWire(), Listener()
    wire = FaultInjectingWire(quiet, 0.01, dice)
    wire.open(listener)
    for number in range(frames):
        wire.send(bytes([number]))
    assert listener.downs == 0, "the sender would be interrupted in its own `send`"
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        while listener.ups < listener.downs or wire._out._held:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    wire.send(b"last")
    return quiet, listener


async def test_wire_without_faults_passes_every_frame_once() -> None:
    quiet, listener = await scene(ScriptedRandom())
    assert quiet.sent == [b"\0", b"\1", b"\2", b"last"]
    assert listener.downs == 0


async def test_frame_may_be_repeated() -> None:
    quiet, _ = await scene(ScriptedRandom(FAULT, REPEAT))
    assert quiet.sent == [b"\0", b"\0", b"\1", b"\2", b"last"]


async def test_delayed_frames_keep_their_order() -> None:
    quiet, listener = await scene(ScriptedRandom(FAULT, HOLD))
    assert quiet.sent == [b"\0", b"\1", b"\2", b"last"]
    assert listener.downs == 0


async def test_frame_may_be_lost_with_its_connection() -> None:
    quiet, listener = await scene(ScriptedRandom(1.0, FAULT, CUT))
    assert quiet.sent == [b"\0", b"last"]
    assert (listener.downs, listener.ups) == (1, 1)
