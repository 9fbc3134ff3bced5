"""How fast the router passes messages, beside what ZeroMQ alone can do on the same machine.

Each broker is a process of its own, a source and a sink are two more, over ipc with 200-byte
bodies. All brokers are measured in turn, round after round; ratios are taken within a round.

    bare      a Python loop on raw frames that reads the receiver from the header and sends on
    router    transport.router.Router with all it does, for passing messages
    durable   the same for durable ones: mailbox, accepted, done (each acknowledged in batches)
    recorded  durable, with the recorder's copy of each message delivered too
    full      durable, on disk, each batch synced: what `router.durability: full` does
    normal    durable, on disk, not synced
"""

import gc
import multiprocessing
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.synchronize import Barrier as BarrierType
from pathlib import Path

import msgpack
import zmq

from actors.router.main import TOPOLOGY
from benchmarks.product import Options, progress
from benchmarks.report import Figure, at_least, at_most
from transport import protocol, sockets, tickets
from transport.envelope import VERSION, Flag, body_of, pack_fields, read_header, read_map
from transport.mailbox_file import Durability
from transport.mailboxes import Mailboxes
from transport.outlet import LAST, MORE
from transport.peers import Topology
from transport.protocol import hello_frame, link_frame
from transport.router import Router
from transport.stored_mailboxes import StoredMailboxes

BODY = bytes(200)
MESSAGES = 20_000
ROUND_TRIPS = 1_000
IN_FLIGHT = 750
RECEIPT_EVERY = 250
RECORDER = "recorder"
UNTAPPED = replace(TOPOLOGY, tap=None)
TAPPED = replace(TOPOLOGY, tapped=frozenset({"trip", "load"}))
ROUNDS, QUICK_ROUNDS = 3, 1
KEY = bytes(tickets.KEY_BYTES)
ACK_EVERY = 64
MEET_SECONDS = 30.0
SILENCE_SECONDS = 10.0
HELLO_AGAIN_MS = 1_000
DURABLE = ("durable", "recorded", "full", "normal")
STORED = ("full", "normal")
# how often a broker passes something on for one message: the message, `accepted`, `done`, and
# the recorder's copy with its `done`
PASSES = {"router": 1, "durable": 3, "recorded": 5}
NAMES = {
    "router": "a passing message",
    "durable": "a durable message",
    "recorded": "a durable message with the recorder's copy",
}

Socket = zmq.Socket[bytes]


@dataclass(frozen=True, slots=True)
class Sample:
    """One broker in one round: messages a second, the median round trip, bytes written to disk."""

    rate: float
    trip_us: float
    disk_bytes: float


# --- the brokers ---------------------------------------------------------------------------------


def _serve_bare(folder: str) -> None:
    """Read the receiver from each header and send the blob there; nothing else."""
    context = zmq.Context[Socket]()
    socket = sockets.router_socket(context)
    socket.setsockopt(zmq.SNDHWM, 0)  # else a frame for a slow reader is refused, and lost
    socket.bind(f"ipc://{folder}/bus")
    poller = zmq.Poller()
    poller.register(socket, zmq.POLLIN)
    receive, send, option = socket.recv, socket.send, socket.getsockopt
    while True:
        poller.poll()
        for _ in range(256):
            try:
                rid = receive(zmq.NOBLOCK)
            except zmq.Again:
                break
            blob = receive(zmq.NOBLOCK)
            if option(zmq.RCVMORE):
                continue
            end = 2 + (blob[0] << 8 | blob[1])
            header = msgpack.unpackb(blob[2:end], use_list=False)
            rid = _rid(header[3])
            try:
                send(rid, MORE)
            except zmq.ZMQError as error:
                if error.errno != zmq.EHOSTUNREACH:
                    raise
                continue  # the other end is not there yet
            send(blob, LAST)


def serve_router(
    folder: str, topology: Topology = UNTAPPED, durability: Durability | None = None
) -> None:
    """Our router; with mailboxes on disk if a durability is given."""
    mailboxes: Mailboxes = Mailboxes()
    if durability is not None:
        mailboxes = StoredMailboxes(Path(folder) / "mailboxes.db", durability=durability)
    router = Router(f"ipc://{folder}/bus", KEY, mailboxes, topology=topology)
    router.bind()
    router.run()


SERVERS: dict[str, Callable[[str], None]] = {
    "bare": _serve_bare,
    "router": serve_router,
    "durable": serve_router,
    "recorded": partial(serve_router, topology=TAPPED),
    "full": partial(serve_router, durability="full"),
    "normal": partial(serve_router, durability="normal"),
}


# --- the two ends --------------------------------------------------------------------------------


class End:
    """A raw synchronous peer: as cheap as it can be, so that the broker is what is measured."""

    def __init__(
        self, mode: str, folder: str, address: str, high_water: int = 0, host: str = ""
    ) -> None:
        self._context = zmq.Context[Socket]()
        self.socket = self._context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.ROUTING_ID, _rid(address))
        self.socket.setsockopt(zmq.SNDHWM, high_water)
        self.socket.setsockopt(zmq.RCVHWM, high_water)
        self.socket.connect(f"ipc://{folder}/bus")
        self._poller = zmq.Poller()
        self._poller.register(self.socket, zmq.POLLIN)
        self._address = address
        self._host = host
        self._done: list[bytes] = []
        self._is_durable = mode in DURABLE
        if mode != "bare":
            self._hello()

    def send(self, to: str, kind: str, id: bytes) -> None:
        """Send one message."""
        flags = int(Flag.DURABLE) if self._is_durable else 0
        fields = (VERSION, id, kind, to, self._address, 1, None, 1.0, flags, None)
        self.socket.send(pack_fields(fields, BODY))

    def meet(self) -> None:
        """Exchange messages with the sink until one came back, and then no more come."""
        self.send("sink", "trip", secrets.token_bytes(16))
        give_up_at = time.monotonic() + MEET_SECONDS
        while not self.take(50):
            if time.monotonic() > give_up_at:
                raise TimeoutError(f"no answer from the sink within {MEET_SECONDS:g} s")
            self.send("sink", "trip", secrets.token_bytes(16))
        while self.take(200):
            pass

    def take(self, within_ms: int | None = None) -> list[tuple[str, bytes]]:
        """Wait, then return (type, id) of every message that is there; acknowledge them."""
        self._poller.poll(within_ms)
        found = []
        for _ in range(ACK_EVERY):
            try:
                blob = self.socket.recv(zmq.NOBLOCK)
            except zmq.Again:
                break
            header = msgpack.unpackb(blob[2 : 2 + (blob[0] << 8 | blob[1])], use_list=False)
            if header[2] == protocol.NACK:
                raise RuntimeError(f"refused: {read_map(body_of(blob))}")
            if not header[2].startswith(protocol.LINK_PREFIX):
                found.append((header[2], header[1]))
                if self._is_durable:
                    self._done.append(header[1])
        if self._done:
            body = {"ids": self._done, "stage": protocol.DONE}
            self.socket.send(link_frame(protocol.ACK, body, sender=self._address, incarnation=1))
            self._done = []
        return found

    def expect(self) -> list[tuple[str, bytes]]:
        """Return the next messages; TimeoutError when none comes for long."""
        give_up_at = time.monotonic() + SILENCE_SECONDS
        while time.monotonic() < give_up_at:
            if found := self.take(1000):
                return found
        raise TimeoutError(f"no message came for {SILENCE_SECONDS:g} s: one was lost")

    def close(self) -> None:
        """Close the socket."""
        self._context.destroy(linger=0)

    def _hello(self) -> None:
        ticket = tickets.make_ticket(KEY, self._address, 1, self._host)
        hello = hello_frame(self._address, 1, ticket, 1)
        self.socket.send(hello)
        while not self._is_welcome():
            self.socket.send(hello)  # its relay had no connection yet

    def _is_welcome(self) -> bool:
        return bool(self._poller.poll(HELLO_AGAIN_MS)) and (
            read_header(self.socket.recv()).type == protocol.WELCOME
        )


def sink(mode: str, folder: str, barrier: BarrierType, host: str = "") -> None:
    """Send a receipt for every RECEIPT_EVERY messages of the load, and each `trip` back."""
    end = End(mode, folder, "sink", host=host)
    barrier.wait()
    seen = 0
    while True:
        for kind, id_ in end.take():
            seen += kind == "load"
            if kind == "trip" or seen % RECEIPT_EVERY == 0:
                end.send("source", kind, bytes(reversed(id_)))


def _record(mode: str, folder: str, barrier: BarrierType) -> None:
    end = End(mode, folder, RECORDER)
    barrier.wait()
    while True:
        end.take()


def measure(mode: str, folder: str, barrier: BarrierType) -> tuple[float, float]:
    """Return messages per second (windowed) and the median round trip in microseconds."""
    end = End(mode, folder, "source")
    barrier.wait()
    end.meet()
    ids = [secrets.token_bytes(16) for _ in range(MESSAGES)]
    sent = back = 0
    started = time.perf_counter()
    while back < MESSAGES:
        while sent < MESSAGES and sent - back < IN_FLIGHT:
            end.send("sink", "load", ids[sent])
            sent += 1
        back += RECEIPT_EVERY * len(end.expect())
    rate = MESSAGES / (time.perf_counter() - started)
    trips = []
    for _ in range(ROUND_TRIPS):
        started = time.perf_counter()
        end.send("sink", "trip", secrets.token_bytes(16))
        end.expect()
        trips.append(time.perf_counter() - started)
    end.close()
    return rate, statistics.median(trips) * 1e6


def _round(mode: str) -> Sample:
    """Start a broker and its ends, measure once, end them all."""
    spawn = multiprocessing.get_context("spawn")
    ends = [sink, _record] if mode == "recorded" else [sink]
    barrier = spawn.Barrier(1 + len(ends), timeout=MEET_SECONDS)
    with tempfile.TemporaryDirectory(prefix="agiraph-") as folder:
        broker = spawn.Process(target=SERVERS[mode], args=(folder,), daemon=True)
        others = [
            spawn.Process(target=end, args=(mode, folder, barrier), daemon=True) for end in ends
        ]
        for process in (broker, *others):
            process.start()
        gc.collect()
        try:
            rate, trip = measure(mode, folder, barrier)
            written = _written_by(broker.pid) if mode in STORED else 0
            return Sample(rate, trip, written / (MESSAGES + 2 * ROUND_TRIPS))
        finally:
            for process in (broker, *others):
                process.kill()
                process.join()


def _written_by(pid: int | None) -> int:
    """Return how many bytes a process has sent to the disk; 0 where the kernel does not tell."""
    try:
        text = Path(f"/proc/{pid}/io").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(text.partition("\nwrite_bytes: ")[2].split()[0])


def run(options: Options) -> list[Figure]:
    """Measure every broker in turn; a message that needs n passes may cost n bare ones."""
    seen: dict[str, list[Sample]] = {mode: [] for mode in SERVERS}
    for number in range(options.count(ROUNDS, QUICK_ROUNDS)):
        progress(f"round {number + 1}")
        turned = number % len(SERVERS)  # the first of a round is at an advantage
        for mode in (*list(SERVERS)[turned:], *list(SERVERS)[:turned]):
            seen[mode].append(_round(mode))
    passing, bare = seen["router"], seen["bare"]
    found: list[Figure] = []
    for mode, passes in PASSES.items():
        trips = [
            statistics.median(sample.trip_us for sample in each) for each in (seen[mode], bare)
        ]
        slower = statistics.median(
            one.trip_us / two.trip_us for one, two in zip(seen[mode], bare, strict=True)
        )
        found += [
            at_least(f"router, {NAMES[mode]}: rate", "a bare Python loop",
                     _ratio(seen[mode], bare), round(0.9 / passes, 2), _rates(seen[mode], bare)),
            at_most(f"router, {NAMES[mode]}: round trip", "a bare Python loop", slower,
                    1.25 * passes, f"{trips[0]:.0f} and {trips[1]:.0f} us"),
        ]  # fmt: skip
    for mode in STORED:
        written = statistics.median(sample.disk_bytes for sample in seen[mode])
        found.append(
            at_least(f"router, a durable message on disk ({mode}): rate", "a passing message",
                     _ratio(seen[mode], passing), 0.6,
                     f"{_rates(seen[mode], passing)}, {written:,.0f} bytes written per message")
        )  # fmt: skip
    return found


def _ratio(ours: list[Sample], peers: list[Sample]) -> float:
    pairs = zip(ours, peers, strict=True)
    return statistics.median(one.rate / two.rate for one, two in pairs)


def _rates(ours: list[Sample], peers: list[Sample]) -> str:
    mine, other = (statistics.median(sample.rate for sample in each) for each in (ours, peers))
    return f"{mine:,.0f} and {other:,.0f} messages/s"


def _rid(address: str) -> bytes:
    return b"a" + address.encode()
