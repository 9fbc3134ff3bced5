"""A noisy wire repeats, holds back and cuts; it never reorders, and what it loses is announced."""

import asyncio
import random

from transport.noisy_wire import NoisyWire
from transport.wire import WireEvents

FRAMES = 3000


class Quiet:
    """A wire that keeps what it is given, and can be made to deliver."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.events: WireEvents

    def open(self, events: WireEvents) -> None:
        self.events = events

    def send(self, blob: bytes) -> bool:
        self.sent.append(blob)
        return True

    def look(self) -> None: ...

    def close(self, linger_seconds: float) -> None: ...


class Listener:
    """Who hears the noisy wire."""

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


async def noise(share: float) -> tuple[Quiet, Listener]:
    quiet, listener = Quiet(), Listener()
    wire = NoisyWire(quiet, share, random.Random(7))
    wire.open(listener)
    for number in range(FRAMES):
        blob = number.to_bytes(4, "big")
        wire.send(blob)
        quiet.events.frame(blob)
        if number % 50 == 0:
            await asyncio.sleep(0.001)
    await asyncio.sleep(0.1)
    return quiet, listener


def test_a_wire_without_noise_passes_everything_once() -> None:
    quiet, listener = asyncio.run(noise(0.0))
    assert len(quiet.sent) == len(listener.frames) == FRAMES
    assert listener.downs == 0


def test_noise_repeats_and_loses_but_never_reorders() -> None:
    quiet, listener = asyncio.run(noise(0.02))
    for frames in (quiet.sent, listener.frames):
        assert frames == sorted(frames)
        assert len(set(frames)) < FRAMES
        assert len(frames) > len(set(frames))
    assert listener.downs == listener.ups > 0
