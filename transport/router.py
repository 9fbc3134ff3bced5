"""The router: ROUTER sockets, drained in batches into a RouterCore.

A plain synchronous loop on raw two-frame messages `[routing id, blob]` (the multipart helpers cost
several times more than the rest of a hop); frames from other machines arrive by the `Uplink`, if
there is one. Per turn: wait, drain up to BATCH frames, let the core settle (one commit), send; when
no frame arrives, commit the messages that receivers have done. No send ever blocks: frames that a
full peer does not accept wait in the `Outlet`. A peer with more waiting frames than a reading peer
ever has is disconnected: it must say hello again, and other peers get `link.down`.
"""

import secrets
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

import zmq

from transport import sockets
from transport.errors import BindRefused
from transport.mailboxes import Mailboxes
from transport.outlet import Outlet
from transport.peers import Rid, Topology
from transport.router_core import Outgoing, RouterCore

if TYPE_CHECKING:
    from transport.uplink import Uplink

RETRY_MS = 5
REST_MS = 50
FULL_MS = 1000
EPOCH_BYTES = 8


class Router:
    """Binds to `url` and passes messages until `stop`, which any thread or signal handler may call.

    `uplink` is the address for other machines; it is opened once the controller has sent the keys.
    `log` gets lines for the operator.
    """

    def __init__(
        self,
        url: str,
        key: bytes,
        mailboxes: Mailboxes,
        *,
        topology: Topology,
        uplink: sockets.UplinkSettings | None = None,
        log: Callable[[str], None] = print,
    ) -> None:
        self.url = url
        self._log = log
        self.core = RouterCore(key, mailboxes, secrets.token_bytes(EPOCH_BYTES), topology)
        self._is_stopped = False
        self._wakeup = sockets.WakePipe()
        self._lock: IO[bytes] | None = None
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket: zmq.Socket[bytes] | None = None
        self._outlet: Outlet | None = None
        self.uplink: Uplink | None = None
        if uplink is not None:
            self.uplink = _load_uplink()(uplink, self._context, self.core, log, self._cut_off)

    @property
    def wake_fd(self) -> int:
        """The descriptor for `signal.set_wakeup_fd`: a signal must end the wait for frames."""
        return self._wakeup.write_fd

    def bind(self) -> None:
        """Bind the address. Raises BindRefused if another router has it or it is not private."""
        self._socket = sockets.router_socket(self._context)
        try:
            self._lock = sockets.bind_private(self._socket, self.url)
        except BindRefused:
            self.close()
            raise
        self._outlet = Outlet(
            sockets.plain(self._socket).send,
            on_gone=self.core.peer_gone,
            on_cut_off=self._cut_off,
            counts=self.core.counts,
        )

    def run(self) -> None:
        """Pass messages until `stop` is called or the controller sends `control.stop`."""
        socket, outlet, uplink = self._socket, self._outlet, self.uplink
        if socket is None or outlet is None:
            raise BindRefused("bind first")
        poller = zmq.Poller()
        poller.register(socket, zmq.POLLIN)
        poller.register(self._wakeup.read_fd, zmq.POLLIN)
        receive, settle = self.core.receive, self.core.settle
        while not (self._is_stopped or self.core.is_stopping):
            found = poller.poll(self._timeout_ms())
            if not found:
                self.core.commit_rest()
            for ready, _ in found:
                if ready is socket:
                    for rid, blob in sockets.drain(socket):
                        receive(rid, blob)
                elif ready == self._wakeup.read_fd:
                    self._wakeup.clear()
                elif uplink is not None:
                    uplink.read(ready)
            outlet.flush()
            if uplink is not None:
                uplink.turn(poller)
            # Sending may find that a peer has disconnected: the others get `link.down`.
            while frames := settle():
                self._send_all(frames)
        self.core.commit_rest()

    def stop(self) -> None:
        """Make `run` return soon."""
        self._is_stopped = True
        self._wakeup.wake()

    def close(self) -> None:
        """Release the address. The lock file stays, as others may be waiting on it."""
        self._socket = None
        self._context.destroy(linger=0)
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        self._wakeup.close()

    def _timeout_ms(self) -> int | None:
        """Return how many milliseconds to wait for a frame; None: until there is one."""
        outlet, uplink = self._outlet, self.uplink
        if self.core.has_leftovers:
            return FULL_MS if self.core.is_full else REST_MS
        if (outlet is not None and outlet.backlogs) or (uplink is not None and uplink.is_full):
            return RETRY_MS
        return None if uplink is None else uplink.timeout_ms()

    def _send_all(self, frames: list[Outgoing]) -> None:
        """Send each frame over the socket of its peer."""
        assert self._outlet is not None
        if self.uplink is None:
            self._outlet.send_all(frames)
            return
        here: list[Outgoing] = []
        there: list[Outgoing] = []
        for frame in frames:
            (there if type(frame[0]) is tuple else here).append(frame)
        self._outlet.send_all(here)
        self.uplink.send_all(there)

    def _cut_off(self, rid: Rid, waiting: int) -> None:
        """Disconnect a peer that does not read."""
        who = self.core.name_of(rid) or f"a connection without a hello ({rid!r})"
        self._log(f"{who} does not read: it is cut off, {waiting} frames for it are dropped")
        self.core.peer_gone(rid)


def _load_uplink() -> "type[Uplink]":
    """Return the class Uplink, imported only in homes that use other machines."""
    from transport.uplink import Uplink

    return Uplink
