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

import zmq

from actors.router.topology import TOPOLOGY
from benchmarks.product import Options, percentile, progress
from benchmarks.report import Figure, at_most
from transport import protocol, sockets, tickets
from transport.envelope import read_header
from transport.mailboxes import Mailboxes
from transport.protocol import link_frame
from transport.router import Router

KEY = bytes(tickets.KEY_BYTES)
QUESTIONS = 2_000
SETTLE_SECONDS = 2.0
FLOODER, GOOD = "flooder", "good"

Socket = zmq.Socket[bytes]


def run(_options: Options) -> list[Figure]:
    """Measure a good peer's round trips alone and in the flood."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        router = spawn.Process(target=_route, args=(folder,), daemon=True)
        router.start()
        begun = spawn.Event()
        flooder = spawn.Process(target=_flood, args=(folder, begun), daemon=True)
        try:
            good = _connected(folder, GOOD)
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


def _route(folder: str) -> None:
    router = Router(f"ipc://{folder}/bus", KEY, Mailboxes(), topology=TOPOLOGY)
    router.bind()
    router.run()


def _connected(folder: str, address: str) -> Socket:
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


def _flood(folder: str, begun: Event) -> None:
    socket = _connected(folder, FLOODER)
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
