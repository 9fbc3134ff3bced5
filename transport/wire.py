"""The wire: the carrier of an endpoint's frames. Here over ZeroMQ; in `loopback` within a process.

ZeroMQ under asyncio, without zmq.asyncio (which costs 2.5 times the CPU): the loop watches the
socket's FD. That FD is edge-triggered, and *any* send, receive or read of EVENTS may consume the
edge; so after each of them a turn is scheduled that reads again.
"""

import asyncio
from typing import Protocol, cast

import zmq
from zmq.utils.monitor import parse_monitor_message

from transport import sockets

FRAMES_A_TURN = 256


class WireEvents(Protocol):
    """The callbacks of a wire, called from the event loop."""

    def connected(self) -> None:
        """A connection is open (again)."""

    def disconnected(self) -> None:
        """The connection is lost; the wire reconnects by itself."""

    def frame(self, blob: bytes) -> None:
        """A frame arrived."""

    def writable(self) -> None:
        """There is room again after `send` returned False."""


class Wire(Protocol):
    """A two-way connection to a router that is restored whenever it breaks."""

    def open(self, events: WireEvents) -> None:
        """Begin to connect; call from the event loop to use."""

    def send(self, blob: bytes) -> bool:
        """Send a frame; False if there is no room now (`writable` will be called)."""
        ...

    def poll(self) -> None:
        """Check for events that a lost wake-up may have hidden."""

    def close(self, linger_seconds: float) -> None:
        """Close the wire, after at most `linger_seconds` for unsent frames."""


class ZmqWire:
    """A wire over a DEALER socket, watched by the event loop."""

    def __init__(self, url: str, routing_id: bytes) -> None:
        self._url = url
        self._routing_id = routing_id
        self._context: zmq.Context[zmq.Socket[bytes]] | None = None
        self._socket: zmq.Socket[bytes] | None = None
        self._monitor: zmq.Socket[bytes] | None = None
        self._is_full = False
        self._is_scheduled = False

    def open(self, events: WireEvents) -> None:
        """Begin to connect; `events` receives the wire's events."""
        self._events = events
        self._loop = asyncio.get_running_loop()
        # A context never crosses a fork, so it is made here and not at import.
        self._context = zmq.Context()
        self._socket = self._make_socket(self._context)
        self._monitor = self._socket.get_monitor_socket(sockets.MONITORED)
        self._loop.add_reader(self._socket.FD, self._turn)
        self._loop.add_reader(self._monitor.FD, self._read_monitor)
        self._socket.connect(self._url)
        self.poll()

    def send(self, blob: bytes) -> bool:
        """Send a frame; False if there is no room now."""
        if self._socket is None:
            return False
        self._schedule()
        try:
            self._put(self._socket, blob)
        except zmq.Again:
            self._is_full = True
            return False
        return True

    def poll(self) -> None:
        """Check for events that a lost wake-up may have hidden."""
        self._read_monitor()
        self._schedule()

    def close(self, linger_seconds: float) -> None:
        """Close the wire, after at most `linger_seconds` for unsent frames."""
        socket, monitor, context = self._socket, self._monitor, self._context
        if socket is None or monitor is None or context is None:
            return
        self._socket = self._monitor = self._context = None
        self._loop.remove_reader(socket.FD)
        self._loop.remove_reader(monitor.FD)
        # An open monitor makes the context's end hang forever.
        socket.disable_monitor()
        monitor.close(linger=0)
        socket.close(linger=int(linger_seconds * 1000))
        context.term()

    def _schedule(self) -> None:
        if not self._is_scheduled and self._socket is not None:
            self._is_scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Read a bounded number of frames, and schedule another turn if there may be more."""
        self._is_scheduled = False
        ready = self._read_frames()
        if self._socket is None:
            return
        if self._is_full and ready & zmq.POLLOUT:
            self._is_full = False
            self._events.writable()
        if ready & zmq.POLLIN:
            self._schedule()

    def _read_frames(self) -> int:
        """Read at most FRAMES_A_TURN; return the events that the socket still has.

        Connection events of the monitor are handled before the frames of the connection.
        """
        ready, taken = 0, 0
        # A listener may close the wire at any frame.
        while (socket := self._socket) is not None:
            ready = _events(socket)
            if not ready & zmq.POLLIN or taken == FRAMES_A_TURN:
                break
            if taken == 0:
                self._read_monitor()
                if self._socket is None:
                    break
            taken += 1
            try:
                blob = self._take(socket)
            except zmq.Again:
                continue
            if blob is not None:
                self._events.frame(blob)
        return ready

    # --- the shape of frames --------------------------------------------------------------------

    def _make_socket(self, context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
        return sockets.dealer_socket(context, self._routing_id)

    def _put(self, socket: zmq.Socket[bytes], blob: bytes) -> None:
        socket.send(blob, zmq.NOBLOCK)

    def _take(self, socket: zmq.Socket[bytes]) -> bytes | None:
        """Return the next message; None if its parts are not one blob. Raises zmq.Again."""
        blob, is_alone = socket.recv(zmq.NOBLOCK), True
        while socket.getsockopt(zmq.RCVMORE):
            socket.recv(zmq.NOBLOCK)
            is_alone = False
        return blob if is_alone else None

    def _refused(self) -> None:
        """Handle that the other end does not know our key; only an uplink does more."""

    def _read_monitor(self) -> None:
        while (monitor := self._monitor) is not None and _events(monitor) & zmq.POLLIN:
            message = parse_monitor_message(monitor.recv_multipart(zmq.NOBLOCK))
            if message["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._events.connected()
            elif message["event"] == zmq.EVENT_DISCONNECTED:
                self._events.disconnected()
            elif message["event"] == zmq.EVENT_HANDSHAKE_FAILED_AUTH:
                self._refused()


def _events(socket: zmq.Socket[bytes]) -> int:
    return cast(int, socket.getsockopt(zmq.EVENTS))
