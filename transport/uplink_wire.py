"""A direct wire to the home, for a host itself and for the holder of an invitation.

The frames of a host's other processes go through the host's relay.
"""

from collections.abc import Callable

import zmq

from transport import sockets
from transport.outlet import LAST, MORE
from transport.peers import HOST_RID
from transport.sockets import UplinkTarget
from transport.wire import ZmqWire


class UplinkWire(ZmqWire):
    """A DEALER socket to the home. `on_refused` is called when the home does not know our key."""

    def __init__(self, target: UplinkTarget, on_refused: Callable[[], None] = lambda: None) -> None:
        super().__init__(target.url, HOST_RID)
        self._target = target
        self._on_refused = on_refused

    def _make_socket(self, context: zmq.Context[zmq.Socket[bytes]]) -> zmq.Socket[bytes]:
        return sockets.uplink_dealer_socket(context, self._target)

    def _put(self, socket: zmq.Socket[bytes], blob: bytes) -> None:
        socket.send(HOST_RID, MORE)
        socket.send(blob, LAST)

    def _take(self, socket: zmq.Socket[bytes]) -> bytes | None:
        parts = socket.recv_multipart(zmq.NOBLOCK)
        return parts[1] if len(parts) == 2 and parts[0] == HOST_RID else None

    def _refused(self) -> None:
        self._on_refused()
