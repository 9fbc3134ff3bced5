"""What it costs that a process is on another machine: over loopback, so without the line's time.

    bare      a DEALER and a ROUTER with CURVE, echoing: what ZeroMQ alone needs, encrypted
    local     source and sink beside the router
    far       the sink behind a relay, its frames over the uplink

Each is a process of its own; all are measured in turn, round after round.
"""

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import zmq

from benchmarks.bus import (
    BODY,
    KEY,
    MEET_SECONDS,
    QUICK_ROUNDS,
    ROUND_TRIPS,
    ROUNDS,
    UNTAPPED,
    End,
    Socket,
    measure,
    sink,
)
from benchmarks.product import Options, progress
from benchmarks.report import Figure, at_least, at_most
from transport import protocol, sockets
from transport.envelope import body_of, read_map
from transport.mailboxes import Mailboxes
from transport.protocol import link_frame
from transport.relay import Relay
from transport.router import Router
from transport.sockets import UplinkSettings, UplinkTarget
from transport.stored_mailboxes import StoredMailboxes

HOST = "host/far"
LEGS = 3
"""Source to router, router to relay, relay to sink."""
Keys = tuple[str, str]
SPAWN = multiprocessing.get_context("spawn")


def serve_home(folder: str, keys: Keys, is_on_disk: bool) -> None:
    """A router that listens for other machines."""
    uplink = UplinkSettings("tcp://127.0.0.1:0", *keys)
    url = f"ipc://{folder}/bus"
    boxes: Mailboxes = Mailboxes()
    if is_on_disk:
        boxes = StoredMailboxes(Path(folder) / "mailboxes.db", durability="full")
    router = Router(url, KEY, boxes, topology=UNTAPPED, uplink=uplink, log=_ignore)
    router.bind()
    router.run()


def serve_relay(folder: str, target: UplinkTarget) -> None:
    """The host's relay."""
    relay = Relay(f"ipc://{folder}/bus", target, log=_ignore)
    relay.bind()
    relay.run()


def _ignore(text: str) -> None:
    """Standard output is for the figures."""


def serve_echo(keys: Keys, told: Connection) -> None:
    """Send everything back, encrypted."""
    context = zmq.Context[Socket]()
    socket = sockets.router_socket(context)
    socket.setsockopt(zmq.CURVE_SERVER, 1)
    socket.setsockopt(zmq.CURVE_SECRETKEY, keys[1].encode())
    socket.bind("tcp://127.0.0.1:0")
    told.send(socket.getsockopt_string(zmq.LAST_ENDPOINT))
    while True:
        rid = socket.recv()
        blob = socket.recv()
        socket.send(rid, zmq.SNDMORE)
        socket.send(blob)


class Home:
    """A home in processes of its own that end with it; `mode` is that of its ends."""

    def __init__(self, mode: str, folder: str, *, is_on_disk: bool = False) -> None:
        self._mode = mode
        self._folder = folder
        self._keys, self._far = _curve_keys(), _curve_keys()
        self._running: list[SpawnProcess] = []
        self.start(serve_home, folder, self._keys, is_on_disk)

    def measure(self, *, is_far: bool) -> tuple[float, float]:
        """Return messages a second and the median round trip in microseconds."""
        barrier = SPAWN.Barrier(2, timeout=MEET_SECONDS)
        folder, host = self._folder, ""
        if is_far:
            folder, host = self.join_host(), HOST
        self.start(sink, self._mode, folder, barrier, host)
        return measure(self._mode, self._folder, barrier)

    def join_host(self) -> str:
        """Start a relay that is HOST's; return the folder of its bus."""
        folder = f"{self._folder}/far"
        target = UplinkTarget(self._listen(), self._keys[0], *self._far)
        self.start(serve_relay, folder, target)
        return folder

    def close(self) -> None:
        for process in self._running:
            process.kill()
            process.join()

    def start(self, entry: Callable[..., None], *args: Any) -> None:
        """Start a process that ends with this home."""
        process = SPAWN.Process(target=entry, args=args, daemon=True)
        process.start()
        self._running.append(process)

    def _listen(self) -> str:
        """Announce the host; return where it connects."""
        controller = End("router", self._folder, "supervisor")
        known = {"known": {self._far[0]: HOST}}
        controller.socket.send(
            link_frame(protocol.KNOWN_HOSTS, known, sender="supervisor", incarnation=1)
        )
        while not (url := read_map(body_of(controller.socket.recv())).get("url")):
            pass  # a welcome
        controller.close()
        return str(url)


def _home(mode: str, *, is_far: bool) -> tuple[float, float]:
    with tempfile.TemporaryDirectory(prefix="agiraph-") as folder:
        home = Home(mode, folder)
        try:
            return home.measure(is_far=is_far)
        finally:
            home.close()


def _bare_trip() -> float:
    """Return the median round trip of bare ZeroMQ with CURVE, in microseconds."""
    keys, (theirs, ours) = _curve_keys(), SPAWN.Pipe()
    echo = SPAWN.Process(target=serve_echo, args=(keys, theirs), daemon=True)
    echo.start()
    context = zmq.Context[Socket]()
    try:
        target = UplinkTarget(ours.recv(), keys[0], *_curve_keys())
        socket = sockets.uplink_dealer_socket(context, target)
        socket.connect(target.url)
        trips = []
        for _ in range(2 * ROUND_TRIPS):
            started = time.perf_counter()
            socket.send(BODY)
            socket.recv()
            trips.append(time.perf_counter() - started)
        return statistics.median(trips[ROUND_TRIPS:]) * 1e6
    finally:
        context.destroy(linger=0)
        echo.kill()
        echo.join()


def _curve_keys() -> Keys:
    public, secret = zmq.curve_keypair()
    return public.decode(), secret.decode()


def run(options: Options) -> list[Figure]:
    """Measure all in turn, round after round; ratios are taken within a round."""
    trips: list[tuple[float, float, float]] = []
    rates: list[tuple[float, float]] = []
    for number in range(options.count(ROUNDS, QUICK_ROUNDS)):
        progress(f"round {number + 1}")
        far_trip, local_trip = (_home("router", is_far=where)[1] for where in (True, False))
        trips.append((far_trip, _bare_trip(), local_trip))
        far_rate, local_rate = (_home("durable", is_far=where)[0] for where in (True, False))
        rates.append((far_rate, local_rate))
    far, bare, local = (statistics.median(column) for column in zip(*trips, strict=True))
    rate, local_rate = (statistics.median(column) for column in zip(*rates, strict=True))
    seen = f"{far:.0f}, {bare:.0f} and {local:.0f} us"
    return [
        at_most("an ask across machines: round trip", "three bare CURVE round trips",
                statistics.median(one[0] / (LEGS * one[1]) for one in trips), 1.5, seen),
        at_most("an ask across machines: round trip", "an ask on this machine and a bare CURVE one",
                statistics.median(one[0] / (one[1] + one[2]) for one in trips), 2.0, seen),
        at_least("a durable message to another machine: rate", "one on this machine",
                 statistics.median(one[0] / one[1] for one in rates), 0.6,
                 f"{rate:,.0f} and {local_rate:,.0f} messages/s"),
    ]  # fmt: skip
