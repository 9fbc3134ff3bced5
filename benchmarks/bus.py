"""How fast the router passes messages, against what ZeroMQ alone can do on the same machine.

Each broker stands in a process of its own, a source and a sink are two more, on ipc with 200-byte
bodies. All brokers are measured in turn, round after round, in one run: only the ratios mean
something, as the machine's mood moves all of them together.

    c_proxy   zmq.proxy, in C: no routing at all
    bare      a Python loop on raw frames that reads the receiver from the header and sends on
    router    transport.router.Router with all it does, for passing messages
    durable   the same for durable ones: mailbox, accepted, done (each acknowledged in batches)
    recorded  durable, with the recorder's copy of each message delivered too
    full      durable, on disk, each batch synced: what `router.durability: full` does
    normal    durable, on disk, not synced

Run it as `python -m benchmarks.bus`; `run()` returns the rows.
"""

import gc
import multiprocessing
import secrets
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from multiprocessing.synchronize import Barrier as BarrierType
from pathlib import Path

import msgpack
import zmq

from actors.router.topology import TOPOLOGY
from benchmarks.figures import Figure
from transport import protocol, sockets, tickets
from transport.envelope import VERSION, Flag, body_of, pack_fields, read_map
from transport.mailbox_file import Durability
from transport.mailboxes import MemoryMailboxes
from transport.peers import Topology
from transport.protocol import link_frame
from transport.router import LAST, MORE, Router
from transport.stored_mailboxes import StoredMailboxes

BODY = bytes(200)
MESSAGES = 20_000
ROUND_TRIPS = 1_000
IN_FLIGHT = 750
RECEIPT_EVERY = 250
ROUNDS = 5
RECORDER = "recorder"
UNTAPPED = replace(TOPOLOGY, tap=None)
KEY = bytes(tickets.KEY_BYTES)
ACK_EVERY = 64
MEET_SECONDS = 30.0
MODES = ("c_proxy", "bare", "router", "durable", "recorded", "full", "normal")
DURABLE_MODES = ("durable", "recorded", "full", "normal")
STORED_MODES = ("full", "normal")
# how often a broker passes something on for one message: the message, `accepted`, `done`, and
# the recorder's copy with its `done`
PASSES = {"router": 1, "durable": 3, "recorded": 5}
WORDS = {
    "router": "a passing message",
    "durable": "a durable message",
    "recorded": "a durable message with the recorder's copy",
}

Socket = zmq.Socket[bytes]
# messages per second, round trip in microseconds, bytes written to disk per message
Sample = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Row:
    """One broker: medians over the rounds, ratios taken within each round."""

    mode: str
    messages_per_second: float
    of_bare: float
    of_c_proxy: float
    round_trip_us: float
    round_trip_of_bare: float
    of_router: float
    disk_bytes: float


# --- the brokers ---------------------------------------------------------------------------------


def _serve_proxy(folder: str) -> None:
    """Pass everything between two sides, in C."""
    context = zmq.Context[Socket]()
    front, back = context.socket(zmq.DEALER), context.socket(zmq.DEALER)
    front.bind(f"ipc://{folder}/source")
    back.bind(f"ipc://{folder}/sink")
    zmq.proxy(front, back)


def _serve_bare(folder: str) -> None:
    """Read the receiver from each header and send the blob there; nothing else."""
    context = zmq.Context[Socket]()
    socket = sockets.router_socket(context)
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
            except zmq.ZMQError:
                continue  # the other end is not there yet
            send(blob, LAST)


def _serve_router(folder: str, topology: Topology = UNTAPPED) -> None:
    """Our router."""
    router = Router(f"ipc://{folder}/bus", KEY, MemoryMailboxes(), topology=topology)
    router.bind()
    router.run()


def _serve_recorded(folder: str) -> None:
    """Our router, with copies for the recorder."""
    _serve_router(folder, TOPOLOGY)


def _serve_full(folder: str, durability: Durability = "full") -> None:
    """Our router, with mailboxes on disk."""
    mailboxes = StoredMailboxes(Path(folder) / "mailboxes.db", durability=durability)
    router = Router(f"ipc://{folder}/bus", KEY, mailboxes, topology=UNTAPPED)
    router.bind()
    router.run()


def _serve_normal(folder: str) -> None:
    _serve_full(folder, "normal")


SERVERS: dict[str, Callable[[str], None]] = {
    "c_proxy": _serve_proxy,
    "bare": _serve_bare,
    "router": _serve_router,
    "durable": _serve_router,
    "recorded": _serve_recorded,
    "full": _serve_full,
    "normal": _serve_normal,
}


# --- the two ends --------------------------------------------------------------------------------


class _End:
    """A raw synchronous peer: as cheap as it can be, so that the broker is what is measured."""

    def __init__(self, mode: str, folder: str, address: str) -> None:
        self._context = zmq.Context[Socket]()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.ROUTING_ID, _rid(address))
        self._socket.setsockopt(zmq.SNDHWM, 0)
        self._socket.setsockopt(zmq.RCVHWM, 0)
        side = f"{address}" if mode == "c_proxy" else "bus"
        self._socket.connect(f"ipc://{folder}/{side}")
        self._poller = zmq.Poller()
        self._poller.register(self._socket, zmq.POLLIN)
        self._mode = mode
        self._address = address
        self._done: list[bytes] = []
        self._is_durable = mode in DURABLE_MODES
        if mode not in ("c_proxy", "bare"):
            self._hello()

    def send(self, to: str, kind: str, id: bytes) -> None:
        """Send one message."""
        flags = int(Flag.DURABLE) if self._is_durable else 0
        fields = (VERSION, id, kind, to, self._address, 1, None, 1.0, flags, None)
        self._socket.send(pack_fields(fields, BODY))

    def meet(self) -> None:
        """Exchange messages with the sink until one came back, and then no more come."""
        self.send("sink", "trip", secrets.token_bytes(16))
        while not self.take(50):
            self.send("sink", "trip", secrets.token_bytes(16))
        while self.take(200):
            pass

    def take(self, within_ms: int | None = None) -> list[tuple[str, bytes]]:
        """Wait, then return (type, id) of every message that is there; answer what must be."""
        self._poller.poll(within_ms)
        found = []
        for _ in range(ACK_EVERY):
            try:
                blob = self._socket.recv(zmq.NOBLOCK)
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
            self._socket.send(link_frame(protocol.ACK, body, sender=self._address, incarnation=1))
            self._done = []
        return found

    def close(self) -> None:
        """Let go."""
        self._context.destroy(linger=0)

    def _hello(self) -> None:
        body = {
            "address": self._address,
            "incarnation": 1,
            "ticket": tickets.make_ticket(KEY, self._address, 1),
            "pid": 1,
            "version": protocol.PROTOCOL_VERSION,
        }
        frame = link_frame(protocol.HELLO, body, sender=self._address, incarnation=1)
        self._socket.send(frame)
        self._socket.recv()


def _sink(mode: str, folder: str, barrier: BarrierType) -> None:
    """Send a receipt for every RECEIPT_EVERY messages of the load, and each `trip` back."""
    end = _End(mode, folder, "sink")
    barrier.wait()
    seen = 0
    while True:
        for kind, id_ in end.take():
            seen += kind == "load"
            if kind == "trip" or seen % RECEIPT_EVERY == 0:
                end.send("source", kind, bytes(reversed(id_)))


def _record(mode: str, folder: str, barrier: BarrierType) -> None:
    end = _End(mode, folder, RECORDER)
    barrier.wait()
    while True:
        end.take()


def _measure(mode: str, folder: str, barrier: BarrierType) -> tuple[float, float]:
    """Return messages per second (windowed) and the median round trip in microseconds."""
    end = _End(mode, folder, "source")
    barrier.wait()
    end.meet()
    ids = [secrets.token_bytes(16) for _ in range(MESSAGES)]
    sent = back = 0
    started = time.perf_counter()
    while back < MESSAGES:
        while sent < MESSAGES and sent - back < IN_FLIGHT:
            end.send("sink", "load", ids[sent])
            sent += 1
        back += RECEIPT_EVERY * len(end.take())
    rate = MESSAGES / (time.perf_counter() - started)
    trips = []
    for _ in range(ROUND_TRIPS):
        started = time.perf_counter()
        end.send("sink", "trip", secrets.token_bytes(16))
        while not end.take():
            pass
        trips.append(time.perf_counter() - started)
    end.close()
    return rate, statistics.median(trips) * 1e6


def _round(mode: str) -> Sample:
    """Start a broker and its ends, measure once, end them all."""
    fork = multiprocessing.get_context("spawn")
    has_recorder = mode == "recorded"
    barrier = fork.Barrier(3 if has_recorder else 2, timeout=MEET_SECONDS)
    with tempfile.TemporaryDirectory(prefix="agiraph-") as folder:
        processes = [fork.Process(target=SERVERS[mode], args=(folder,), daemon=True)]
        processes.append(fork.Process(target=_sink, args=(mode, folder, barrier), daemon=True))
        if has_recorder:
            args = (mode, folder, barrier)
            processes.append(fork.Process(target=_record, args=args, daemon=True))
        for process in processes:
            process.start()
        gc.collect()
        try:
            rate, trip = _measure(mode, folder, barrier)
            written = _written_by(processes[0].pid) if mode in STORED_MODES else 0
            return rate, trip, written / (MESSAGES + 2 * ROUND_TRIPS)
        finally:
            for process in processes:
                process.kill()
                process.join()


def _written_by(pid: int | None) -> int:
    """Return how many bytes a process has sent to the disk; 0 where the kernel does not tell."""
    try:
        told = Path(f"/proc/{pid}/io").read_text(encoding="ascii")
    except OSError:
        return 0
    return int(told.partition("\nwrite_bytes: ")[2].split()[0])


def run(rounds: int = ROUNDS) -> list[Row]:
    """Measure every broker `rounds` times in turn and return one row each."""
    seen: dict[str, list[Sample]] = {mode: [] for mode in MODES}
    for _ in range(rounds):
        for mode in MODES:
            seen[mode].append(_round(mode))
    return [_row(mode, seen) for mode in MODES]


def _row(mode: str, seen: dict[str, list[Sample]]) -> Row:
    mine = seen[mode]

    def ratio(other: str, index: int) -> float:
        pairs = zip(mine, seen[other], strict=True)
        return statistics.median(one[index] / two[index] for one, two in pairs)

    return Row(
        mode,
        statistics.median(one[0] for one in mine),
        ratio("bare", 0),
        ratio("c_proxy", 0),
        statistics.median(one[1] for one in mine),
        ratio("bare", 1),
        ratio("router", 0),
        statistics.median(one[2] for one in mine),
    )


def figures(rows: list[Row]) -> list[Figure]:
    """Return the ratios to look at. A message that needs n passes may cost n bare ones."""
    by_mode = {row.mode: row for row in rows}
    bare, proxy = by_mode["bare"], by_mode["c_proxy"]
    found = [
        Figure(
            "router, a passing message: rate",
            "zmq.proxy in C, which does not route",
            by_mode["router"].of_c_proxy,
            "at least",
            0.5,
            _rates(by_mode["router"], proxy),
        )
    ]
    peer = "a bare Python loop"
    for mode, passes in PASSES.items():
        row = by_mode[mode]
        least = round(0.9 / passes, 2)
        rates, trips = _rates(row, bare), f"{row.round_trip_us:.0f} and {bare.round_trip_us:.0f} us"
        most = 1.25 * passes
        found += [
            Figure(f"router, {WORDS[mode]}: rate", peer, row.of_bare, "at least", least, rates),
            Figure(
                f"router, {WORDS[mode]}: round trip",
                peer,
                row.round_trip_of_bare,
                "at most",
                most,
                trips,
            ),
        ]
    passing = by_mode["router"]
    for mode in STORED_MODES:
        row = by_mode[mode]
        what = f"router, a durable message on disk ({mode}): rate"
        seen = f"{_rates(row, passing)}, {row.disk_bytes:,.0f} bytes written per message"
        found.append(Figure(what, "a passing message", row.of_router, "at least", 0.6, seen))
    return found


def _rates(one: Row, other: Row) -> str:
    return f"{one.messages_per_second:,.0f} and {other.messages_per_second:,.0f} messages/s"


def _rid(address: str) -> bytes:
    return b"a" + address.encode()


def main() -> None:
    """Print the table."""
    print(
        f"{'broker':10} {'msgs/s':>9} {'x bare':>7} {'x C':>6} {'rtt us':>8} {'x bare':>7}"
        f" {'x router':>8} {'disk B':>7}"
    )
    for row in run():
        print(
            f"{row.mode:10} {row.messages_per_second:9,.0f} {row.of_bare:7.2f} "
            f"{row.of_c_proxy:6.2f} {row.round_trip_us:8.0f} {row.round_trip_of_bare:7.2f} "
            f"{row.of_router:8.2f} {row.disk_bytes:7,.0f}"
        )


if __name__ == "__main__":
    main()
