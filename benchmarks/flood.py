"""How long a good peer waits for the router while another floods it with what is refused.

The flooder sends messages of a kind that nobody takes, as fast as it can, and reads none of the
refusals. The good peer asks for a sign of life, one after the other: first in peace, then in the
flood. Router, flooder and good peer are a process each. Run it as `python -m benchmarks.flood`.
"""

import multiprocessing
import statistics
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.synchronize import Event

import zmq

from actors.router.topology import TOPOLOGY
from transport import protocol, sockets, tickets
from transport.envelope import read_header
from transport.mailboxes import MemoryMailboxes
from transport.protocol import link_frame
from transport.router import Router

KEY = bytes(tickets.KEY_BYTES)
ASKS = 2_000
SETTLE_SECONDS = 2.0
FLOODER, GOOD = "flooder", "good"

Socket = zmq.Socket[bytes]


@dataclass(frozen=True, slots=True)
class Waits:
    """Round trips in milliseconds: half of them, and all but one in a hundred, take at most so."""

    half: float
    most: float


def _route(folder: str) -> None:
    router = Router(f"ipc://{folder}/bus", KEY, MemoryMailboxes(), topology=TOPOLOGY)
    router.bind()
    router.run()


def _seated(folder: str, address: str) -> Socket:
    """Return the socket of a peer that the router has let in."""
    ticket = tickets.make_ticket(KEY, address, 1)
    socket = sockets.dealer_socket(zmq.Context[Socket](), tickets.routing_id(ticket))
    socket.connect(f"ipc://{folder}/bus")
    body = {
        "address": address,
        "incarnation": 1,
        "ticket": ticket,
        "pid": 1,
        "version": protocol.PROTOCOL_VERSION,
    }
    socket.send(link_frame(protocol.HELLO, body, sender=address, incarnation=1))
    while read_header(socket.recv()).type != protocol.WELCOME:
        pass
    return socket


def _flood(folder: str, flows: Event) -> None:
    socket = _seated(folder, FLOODER)
    frame = link_frame("no.such", {}, to=protocol.ROUTER, sender=FLOODER, incarnation=1)
    flows.set()
    while True:
        socket.send(frame)


def _waits(socket: Socket) -> Waits:
    beat = link_frame(protocol.HEARTBEAT, {"lag": 0.0}, sender=GOOD, incarnation=1)
    found = []
    for _ in range(ASKS):
        began = time.perf_counter()
        socket.send(beat)
        while read_header(socket.recv()).type != protocol.ALIVE:
            pass  # that the flooder was cut off
        found.append(1000 * (time.perf_counter() - began))
    return Waits(statistics.median(found), statistics.quantiles(found, n=100)[-1])


def run() -> tuple[Waits, Waits]:
    """Return a good peer's waits in peace and in the flood."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        router = spawn.Process(target=_route, args=(folder,), daemon=True)
        router.start()
        flows = spawn.Event()
        flooder = spawn.Process(target=_flood, args=(folder, flows), daemon=True)
        try:
            good = _seated(folder, GOOD)
            calm = _waits(good)
            flooder.start()
            flows.wait()
            time.sleep(SETTLE_SECONDS)  # what is measured is the flood, not its first moment
            return calm, _waits(good)
        finally:
            for process in (flooder, router):
                if process.pid is not None:
                    process.kill()
                    process.join()


if __name__ == "__main__":
    peace, flood = run()
    for name, waits in (("in peace", peace), ("in the flood", flood)):
        print(f"{name:13} p50 {waits.half:7.3f} ms  p99 {waits.most:7.3f} ms")
    print(f"{'ratio':13} p50 {flood.half / peace.half:7.1f}     p99 {flood.most / peace.most:7.1f}")
