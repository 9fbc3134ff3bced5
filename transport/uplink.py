"""The uplink: the home's end of the connections from other machines.

One ROUTER socket on TCP, encrypted (CURVE). Frames are `[connection, routing id, blob]`: a host
sends the frames of all its processes over one connection, and the core sees each of them behind the
routing id `(owner, connection, routing id)`, which no local connection can have.

Rules:

- ZeroMQ requests a decision on each connection (ZAP, in the router's own loop): only holders of
  keys
  that the controller announced are admitted. Before that, the socket is not open. The User-Id of a
  connection is its key, and is checked for each frame, so that removed keys have no effect.
- A connection whose key was removed from the list is closed.
- ZeroMQ does not report whose connection was lost, so after each loss all are tested with an empty
  frame.
- A key has at most MOST_CONNECTIONS, counted from their first frames; a connection without a frame
  within SILENT_SECONDS is closed. A relay and a host send frames at once.
- Refusals are logged, and reported to the controller, each once in REPEAT_SECONDS.
"""

import os
import socket as plain_socket
import struct
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import zmq
from zmq.utils import z85

from transport import protocol, sockets
from transport.outlet import LAST, MORE, Outlet
from transport.peers import Rid
from transport.router_core import Outgoing, RouterCore

PROBE_MS, PROBE_SECONDS = 50, 0.5
OPEN_AGAIN_MS = 2_000
REPEAT_SECONDS = 60.0
MOST_REFUSED = 64
MOST_CONNECTIONS = 8
"""For one key: its relay's, its host's own, and earlier ones left half-open by a cut."""
SILENT_SECONDS = 10.0
SILENT_LOOK_MS = 500

Socket = zmq.Socket[bytes]


class Refusals:
    """Limits reports of refused messages: equal ones once in REPEAT_SECONDS, MOST_REFUSED in all.

    `held_back` is the number of refusals that were not reported since the last report.
    """

    def __init__(self) -> None:
        self.held_back = 0
        self._told_at: dict[Hashable, float] = {}

    def is_new(self, refusal: Hashable, now: float) -> bool:
        """Whether to report a refusal now; count it as reported or as held back."""
        told = self._told_at
        if refusal not in told and len(told) >= MOST_REFUSED:
            self._told_at = told = {
                key: at for key, at in told.items() if now - at < REPEAT_SECONDS
            }
        if now - told.get(refusal, -REPEAT_SECONDS) < REPEAT_SECONDS or len(told) >= MOST_REFUSED:
            self.held_back += 1
            return False
        told[refusal] = now
        return True


@dataclass(slots=True)
class Connection:
    """A connection over which frames have arrived: its key, owner, and TCP descriptor and peer."""

    key: str
    owner: str
    descriptor: int
    peer: str


class Uplink:
    """Opened when `core` receives the known keys; its router calls `read` and `turn`."""

    def __init__(
        self,
        settings: sockets.UplinkSettings,
        context: zmq.Context[Socket],
        core: RouterCore,
        log: Callable[[str], None],
        on_cut_off: Callable[[Rid, int], None],
    ) -> None:
        self._settings = settings
        self._context = context
        self._core = core
        self._log = log
        self._on_cut_off = on_cut_off
        self._refusals = Refusals()
        self._connections: dict[bytes, Connection] = {}
        self._zap: Socket | None = None
        self._socket: Socket | None = None
        self._monitor: Socket | None = None
        self._zap_fd = self._monitor_fd = -1
        self._silent: dict[int, tuple[tuple[Any, ...], float]] = {}
        """Connected peers without a frame yet, and since when; by descriptor."""
        self._outlet: Outlet | None = None
        self._problem = ""
        self._probe_until = self._probe_at = self._open_at = 0.0
        self._is_wanted = False
        self.url = ""
        """The listening address with its actual port; empty while it does not listen."""
        core.on_known = self._known_changed
        core.on_refused = self.refused
        core.uplink_state = self._state

    @property
    def is_full(self) -> bool:
        """Whether frames wait because a connection is full."""
        return self._outlet is not None and bool(self._outlet.backlogs)

    def timeout_ms(self) -> int | None:
        """Return how many milliseconds may pass until the next `turn`; None: any time."""
        if self._probe_until:
            return PROBE_MS
        if self._silent:
            return SILENT_LOOK_MS
        return OPEN_AGAIN_MS if self._is_wanted and self._socket is None else None

    def turn(self, poller: zmq.Poller) -> None:
        """Do the due work: open the socket, retry full connections, find lost ones."""
        if self._is_wanted and self._socket is None and time.monotonic() >= self._open_at:
            self._open(poller)
        if self._outlet is not None and self._outlet.backlogs:
            self._outlet.flush()
        if self._silent:
            self._end_silent(time.monotonic())
        if self._probe_until and (now := time.monotonic()) >= self._probe_at:
            self._probe_at = now + PROBE_MS / 1000
            if now > self._probe_until:
                self._probe_until = 0.0
            self._probe()

    def read(self, ready: Any) -> None:
        """Read from `ready`, one of our sockets or the descriptor of one."""
        if ready is self._socket:
            self._drain(cast(Socket, ready))
        elif ready == self._zap_fd and self._zap is not None:
            while sockets.has_frames(self._zap):
                self._admit(self._zap)
        elif ready == self._monitor_fd and self._monitor is not None:
            while sockets.has_frames(self._monitor):
                self._read_monitor(self._monitor)

    def send_all(self, frames: list[Outgoing]) -> None:
        """Send frames to peers on other machines."""
        if self._outlet is not None:
            self._outlet.send_all(frames)

    def refused(self, peer: str, reason: str) -> None:
        """Log a refusal, and report it to the controller."""
        if self._refusals.is_new((peer, reason), time.monotonic()):
            held_back, self._refusals.held_back = self._refusals.held_back, 0
            self._log(f"uplink: {peer} was refused: {reason}")
            told = {"peer": peer, "reason": reason, "held_back": held_back}
            self._core.tell_controller(protocol.HOST_REFUSED, told)

    # --- opening --------------------------------------------------------------------------------

    def _known_changed(self) -> None:
        """Close connections whose key is no longer known; the first call opens the socket."""
        self._is_wanted = True
        known = self._core.admission.known
        for id_, connection in list(self._connections.items()):
            if known.get(connection.key) != connection.owner:
                self._log(
                    f"uplink: the connection of {connection.owner} is closed: its key is void"
                )
                self._lose(id_)
                _hang_up(connection)

    def _open(self, poller: zmq.Poller) -> None:
        settings = self._settings
        self._zap = self._zap or sockets.zap_socket(self._context)
        socket = sockets.uplink_router_socket(self._context, settings.public, settings.secret)
        if "[" in settings.url:
            socket.setsockopt(zmq.IPV6, 1)
        try:
            socket.bind(settings.url)
        except zmq.ZMQError as error:
            socket.close()
            self._open_at = time.monotonic() + OPEN_AGAIN_MS / 1000
            self._set_state(f"cannot listen on {settings.url}: {error}")
            return
        self._socket = socket
        self._monitor = socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._outlet = Outlet(
            _sender(socket),
            on_gone=self._core.peer_gone,
            on_cut_off=self._on_cut_off,
            counts=self._core.counts,
        )
        poller.register(socket, zmq.POLLIN)
        self._zap_fd = sockets.watch(poller, self._zap)
        self._monitor_fd = sockets.watch(poller, self._monitor)
        self.read(self._zap_fd)
        self.read(self._monitor_fd)
        self.url = socket.getsockopt_string(zmq.LAST_ENDPOINT)
        self._set_state("")

    def _set_state(self, problem: str) -> None:
        if problem != self._problem or not problem:
            self._log(problem or f"uplink: listening on {self.url}")
            self._problem = problem
            self._core.tell_controller(protocol.UPLINK_STATE, self._state())

    def _state(self) -> dict[str, str]:
        """Return the uplink's URL or problem for the controller; empty before there is one."""
        is_told = bool(self.url or self._problem)
        return {"url": self.url, "problem": self._problem} if is_told else {}

    # --- admission ------------------------------------------------------------------------------

    def _admit(self, zap: Socket) -> None:
        """Answer ZeroMQ's request whether a key may connect."""
        version, request, _, address, _, mechanism, *credentials = zap.recv_multipart()
        key = z85.encode(credentials[0]).decode() if mechanism == b"CURVE" else ""
        if key in self._core.admission.known:
            answer = [b"200", b"OK", key.encode(), b""]
        else:
            self.refused(address.decode(errors="replace"), "its key is not known")
            answer = [b"400", b"this key is not known", b"", b""]
        zap.send_multipart([version, request, *answer])

    def _drain(self, socket: Socket) -> None:
        """Pass the available frames to the core, at most BATCH."""
        receive, core = socket.recv, self._core
        option = cast(Callable[[int], int], sockets.plain(socket).get)
        for index in range(sockets.BATCH):
            if index == 1 and not option(zmq.EVENTS) & zmq.POLLIN:
                return
            try:
                first = receive(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            rid, blob = receive(zmq.NOBLOCK), None
            if option(zmq.RCVMORE):
                blob = receive(zmq.NOBLOCK)
            while option(zmq.RCVMORE):
                receive(zmq.NOBLOCK)
                blob = None
            key, id_ = cast(str, first.get("User-Id")), first.bytes
            connection = self._connections.get(id_)
            if connection is None or connection.key != key:
                connection = self._met(id_, key, first)
            if not connection.owner:
                _hang_up(connection)
            elif blob is not None and rid:
                core.receive_from_host((connection.owner, id_, rid), blob)

    def _met(self, id: bytes, key: str, first: zmq.Frame) -> Connection:
        """Return a new connection, with its owner; an older one with its routing id has ended."""
        if id in self._connections:
            self._lose(id)
        owner = self._core.admission.known.get(key, "")
        self._silent.pop(first.get(zmq.SRCFD), None)
        if sum(one.owner == owner for one in self._connections.values()) >= MOST_CONNECTIONS:
            self.refused(owner, f"it has {MOST_CONNECTIONS} connections already")
            owner = ""
        peer = cast(str, first.get("Peer-Address"))
        connection = Connection(key, owner, first.get(zmq.SRCFD), peer)
        if owner:
            self._connections[id] = connection
        return connection

    # --- lost connections -----------------------------------------------------------------------

    def _read_monitor(self, monitor: Socket) -> None:
        first, *_ = monitor.recv_multipart(zmq.NOBLOCK)
        event, descriptor = struct.unpack("=HI", first)
        if event == zmq.EVENT_ACCEPTED:
            if all(one.descriptor != descriptor for one in self._connections.values()):
                self._silent[descriptor] = _peer_of(descriptor), time.monotonic()
            return
        self._silent.pop(descriptor, None)
        # The event comes a moment before sends to the connection fail.
        self._probe_until = time.monotonic() + PROBE_SECONDS

    def _end_silent(self, now: float) -> None:
        """Close the connections over which no frame has arrived within SILENT_SECONDS."""
        for descriptor, (peer, since) in list(self._silent.items()):
            if now - since < SILENT_SECONDS:
                return
            del self._silent[descriptor]
            if _shut(descriptor, *peer):
                self.refused(peer[0], f"it said nothing for {SILENT_SECONDS:g} s")

    def _probe(self) -> None:
        """Find the connections to which sends fail."""
        assert self._socket is not None
        send = sockets.plain(self._socket).send
        for id_ in list(self._connections):
            try:
                send(id_, MORE)
                send(b"", MORE)
                send(b"", LAST)
            except zmq.Again:
                continue
            except zmq.ZMQError as error:
                if error.errno != zmq.EHOSTUNREACH:
                    raise
                self._lose(id_)

    def _lose(self, id: bytes) -> None:
        del self._connections[id]
        self._core.uplink_gone(id)


def _sender(socket: Socket) -> Callable[[Rid, int], object]:
    """Return a function that sends a part.

    Of `(owner, connection, local)` it sends the last two.
    """
    send = sockets.plain(socket).send

    def send_part(part: Rid, flags: int) -> object:
        if isinstance(part, bytes):
            return send(part, flags)
        _, connection, local = part
        send(connection, MORE)
        return send(local, flags)

    return send_part


def _hang_up(connection: Connection) -> None:
    """End a TCP connection of ZeroMQ, whose API cannot do that.

    The descriptor may belong to another connection by now: a connection from another machine is not
    ended, and the same machine reconnects.
    """
    _shut(connection.descriptor, connection.peer)


def _shut(descriptor: int, *peer: object) -> bool:
    """End a TCP connection if its other end is `peer` (address, port ...); return if it ended."""
    if not peer or _peer_of(descriptor)[: len(peer)] != peer:
        return False
    with suppress(OSError), plain_socket.socket(fileno=os.dup(descriptor)) as tcp:
        tcp.shutdown(plain_socket.SHUT_RDWR)
        return True
    return False  # it is already over


def _peer_of(descriptor: int) -> tuple[Any, ...]:
    """Return the address of a TCP connection's other end, empty if it is over."""
    try:
        with plain_socket.socket(fileno=os.dup(descriptor)) as tcp:
            return tuple(tcp.getpeername())
    except OSError:
        return ()
