"""How long a good peer waits for the router while another floods it with what is refused.

The flooder sends messages of a kind that nobody takes, as fast as it can, and reads none of the
refusals. The good peer asks for a sign of life, one after the other: first alone, then during the
flood. Router, flooder and good peer are a process each.
"""

import multiprocessing
import statistics
import tempfile
import time
from multiprocessing.synchronize import Event

from actors.router.main import TOPOLOGY
from benchmarks.bus import End, Socket, serve_router
from benchmarks.product import Options, percentile, progress
from benchmarks.report import Figure, at_most
from transport import protocol
from transport.envelope import read_header
from transport.protocol import link_frame
from transport.sockets import HIGH_WATER

QUESTIONS = 2_000
SETTLE_SECONDS = 2.0
FLOODER, GOOD = "flooder", "good"


def run(_options: Options) -> list[Figure]:
    """Measure a good peer's round trips alone and in the flood."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        router = spawn.Process(target=serve_router, args=(folder, TOPOLOGY), daemon=True)
        router.start()
        begun = spawn.Event()
        flooder = spawn.Process(target=_flood, args=(folder, begun), daemon=True)
        try:
            good = End("router", folder, GOOD, HIGH_WATER).socket
            progress("alone")
            alone = _round_trips(good)
            flooder.start()
            begun.wait(30)
            progress("in the flood")
            time.sleep(SETTLE_SECONDS)  # what is measured is the flood, not its first moment
            flood = _round_trips(good)
        finally:
            for process in (flooder, router):
                if process.pid is not None:
                    process.kill()
                    process.join()
    late, before = percentile(flood, 0.99), percentile(alone, 0.99)
    seen = (
        f"{late:.2f} ms (median {statistics.median(flood):.2f}); "
        f"alone {before:.2f} ({statistics.median(alone):.2f})"
    )
    what = "a good peer's round trip while another floods the router and reads nothing: p99"
    return [at_most(what, "5 ms", late / 5.0, 1.0, seen)]


def _flood(folder: str, begun: Event) -> None:
    socket = End("router", folder, FLOODER, HIGH_WATER).socket
    frame = link_frame("no.such", {}, to=protocol.ROUTER, sender=FLOODER, incarnation=1)
    begun.set()
    while True:
        socket.send(frame)


def _round_trips(socket: Socket) -> list[float]:
    """Return the milliseconds of each."""
    heartbeat = link_frame(protocol.HEARTBEAT, {"lag": 0.0}, sender=GOOD, incarnation=1)
    found = []
    for _ in range(QUESTIONS):
        began = time.perf_counter()
        socket.send(heartbeat)
        while read_header(socket.recv()).type != protocol.ALIVE:
            pass  # the news that the flooder was disconnected
        found.append(1000 * (time.perf_counter() - began))
    return found
