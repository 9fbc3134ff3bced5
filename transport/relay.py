"""The relay: a host's end of the uplink, for all of its processes.

    endpoint --- DEALER ~~~ ipc ~~~ ROUTER --- relay --- DEALER ~~~ CURVE on TCP ~~~ home's router

It carries `[routing id, blob]` both ways and stores nothing, so an endpoint uses it like the
router.

Rules:

- A local peer that disconnected, or does not read, is reported by an empty blob. A frame of the
  home with an empty routing id has no content: it tests the connection.
- While there is no connection to the home, frames from local peers are dropped; after a
  reconnect all of them are asked to say hello (`link.who`), as if the router had restarted.
- While the connection is full, nothing is read from local peers.
- HOST_RID is the host's own, and not a local peer's.
"""

from collections import Counter
from collections.abc import Callable
from typing import IO, cast

import zmq

from transport import protocol, sockets
from transport.envelope import read_fields
from transport.errors import BindRefused, MalformedFrame
from transport.outlet import LAST, MORE, Outlet
from transport.peers import HOST_RID, Rid
from transport.protocol import link_frame
from transport.sockets import UplinkTarget
from transport.watchdog import Watchdog

RETRY_MS = 5


class Relay:
    """Forwards frames between `url` and the home until `stop` or the watchdog's pipe is closed."""

    def __init__(
        self,
        url: str,
        target: UplinkTarget,
        *,
        watchdog: Watchdog | None = None,
        log: Callable[[str], None] = print,
    ) -> None:
        self.url = url
        self._target = target
        self._watchdog = watchdog
        self._log = log
        self.counts: Counter[str] = Counter()
        self._peers: set[bytes] = set()
        self._held: tuple[bytes, bytes] | None = None
        self._is_reading = True
        self._is_connected = self._was_refused = self._is_stopped = False
        self._wakeup = sockets.WakePipe()
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._lock: IO[bytes] | None = None

    def bind(self) -> None:
        """Bind the address and begin to connect to the home. Raises BindRefused."""
        self._local = sockets.router_socket(self._context)
        try:
            self._lock = sockets.bind_private(self._local, self.url)
        except BindRefused:
            self.close()
            raise
        self._outlet = Outlet(
            sockets.plain(self._local).send,
            on_gone=self._gone,
            on_cut_off=self._cut_off,
            counts=self.counts,
        )
        self._home = sockets.uplink_dealer_socket(self._context, self._target)
        self._monitor = self._home.get_monitor_socket(sockets.MONITORED)
        self._home.connect(self._target.url)
        self._send = sockets.plain(self._home).send

    def run(self) -> None:
        """Forward frames until `stop` is called or the watchdog's owner has exited."""
        watched = self._watchdog.descriptor if self._watchdog is not None else None
        poller = zmq.Poller()
        for one in (self._local, self._home, self._wakeup.read_fd):
            poller.register(one, zmq.POLLIN)
        monitored = sockets.watch(poller, self._monitor)
        self._read_monitor()
        if watched is not None:
            poller.register(watched, zmq.POLLIN)
        while not self._is_stopped:
            found = dict(poller.poll(self._timeout_ms()))
            if monitored in found:
                self._read_monitor()
            if self._home in found:
                self._bring_down()
            if self._local in found:
                self._bring_up()
            if self._outlet.backlogs:
                self._outlet.flush()
            self._hold_or_go_on(poller)
            if self._wakeup.read_fd in found:
                self._wakeup.clear()
            if self._watchdog is not None and not self._watchdog.look(watched in found):
                return

    def stop(self) -> None:
        """Make `run` return soon."""
        self._is_stopped = True
        self._wakeup.wake()

    def close(self) -> None:
        """Close all sockets, and release the lock on the local address."""
        self._context.destroy(linger=0)
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        self._wakeup.close()

    def _timeout_ms(self) -> int | None:
        if self._outlet.backlogs or self._held is not None:
            return RETRY_MS
        return self._watchdog.left_ms() if self._watchdog is not None else None

    # --- up -------------------------------------------------------------------------------------

    def _bring_up(self) -> None:
        """Forward frames from local peers, at most BATCH; hold the first frame that is refused."""
        for rid, blob in sockets.drain(self._local):
            if rid == HOST_RID or not blob:
                continue
            self._peers.add(rid)
            if self._is_connected and not self._up(rid, blob):
                self._held = (rid, blob)
                return

    def _up(self, rid: bytes, blob: bytes) -> bool:
        """Send a frame to the home; False if the connection is full."""
        try:
            self._send(rid, MORE)
            self._send(blob, LAST)
        except zmq.Again:
            return False
        return True

    def _hold_or_go_on(self, poller: zmq.Poller) -> None:
        """Read from local peers only while no frame waits for the connection to the home."""
        if self._held is not None and (not self._is_connected or self._up(*self._held)):
            self._held = None
        if self._is_reading != (self._held is None):
            self._is_reading = self._held is None
            poller.modify(self._local, zmq.POLLIN if self._is_reading else 0)

    # --- down -----------------------------------------------------------------------------------

    def _bring_down(self) -> None:
        """Forward frames from the home, at most BATCH."""
        receive = self._home.recv
        option = cast(Callable[[int], int], sockets.plain(self._home).get)
        frames: list[tuple[Rid, bytes, bool]] = []
        for index in range(sockets.BATCH):
            if index == 1 and not option(zmq.EVENTS) & zmq.POLLIN:
                break
            try:
                rid = receive(zmq.NOBLOCK)
            except zmq.Again:
                break
            parts = []
            while option(zmq.RCVMORE):
                parts.append(receive(zmq.NOBLOCK))
            if rid and len(parts) == 1:
                frames.append((rid, parts[0], self._is_expendable(rid, parts[0])))
        self._outlet.send_all(frames)

    def _is_expendable(self, rid: bytes, blob: bytes) -> bool:
        """Whether a frame may be dropped; only called if its receiver is already full."""
        if rid not in self._outlet.backlogs:
            return False
        try:
            fields = read_fields(blob)
        except MalformedFrame:
            return True
        return fields[6] is None and not fields[8] and not fields[2].startswith("link.")

    def _gone(self, rid: Rid) -> None:
        """Report to the home that a local peer has disconnected."""
        local = cast(bytes, rid)
        self._peers.discard(local)
        if self._is_connected and not self._up(local, b""):
            self.counts["unreported"] += 1  # reported with the home's next frame for that peer

    def _cut_off(self, rid: Rid, waiting: int) -> None:
        self._log(f"a process does not read: it is cut off, {waiting} frames for it are dropped")
        self._gone(rid)

    # --- the connection to the home -------------------------------------------------------------

    def _read_monitor(self) -> None:
        while sockets.has_frames(self._monitor):
            event = self._event()
            if event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                self._connected()
            elif event == zmq.EVENT_DISCONNECTED and self._is_connected:
                self._is_connected = False
                self._log(f"the connection to {self._target.url} is lost")
            elif event == zmq.EVENT_HANDSHAKE_FAILED_AUTH and not self._was_refused:
                self._was_refused = True
                self._log(f"{self._target.url} does not know this host's key")

    def _event(self) -> int:
        first, _ = self._monitor.recv_multipart(zmq.NOBLOCK)
        return int.from_bytes(first[:2], "little")

    def _connected(self) -> None:
        self._is_connected, self._was_refused = True, False
        self._log(f"connected to {self._target.url}")
        self._up(b"", b"")  # the home closes a connection without frames
        peers, self._peers = self._peers, set()  # connected peers answer
        who = link_frame(protocol.WHO, {})
        self._outlet.send_all([(rid, who, True) for rid in peers])
