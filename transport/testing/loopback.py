"""The loopback: a router and its wires within one process and one event loop, for tests.

It has the same core, link and endpoint as the real bus, so only the carrier differs. Connections
can be cut and the router restarted; `FaultInjectingWire` also loses and repeats frames.
"""

import asyncio
import secrets
from collections import deque

from transport import tickets
from transport.codec import Codec
from transport.endpoint import Endpoint
from transport.mailboxes import Mailboxes
from transport.peers import Rid, Topology
from transport.router import EPOCH_BYTES
from transport.router_core import RouterCore
from transport.wire import WireEvents

URL = "loopback://"


class LoopbackRouter:
    """A router that runs in the caller's event loop. All its actions happen in later turns of
    it.
    """

    def __init__(
        self,
        mailboxes: Mailboxes | None = None,
        *,
        key: bytes | None = None,
        topology: Topology = Topology(),  # noqa: B008 (immutable)
    ) -> None:
        self.key = key or secrets.token_bytes(tickets.KEY_BYTES)
        self._topology = topology
        self._wires: dict[Rid, LoopbackWire] = {}
        self._is_scheduled = False
        self._begin(mailboxes)

    def endpoint(self, address: str, incarnation: int = 1, *, codec: Codec) -> Endpoint:
        """Return an endpoint on this bus, not yet started."""
        ticket = tickets.make_ticket(self.key, address, incarnation)
        return Endpoint(
            url=URL,
            address=address,
            incarnation=incarnation,
            ticket=ticket,
            codec=codec,
            wire=LoopbackWire(self, address, tickets.routing_id(ticket)),
        )

    # --- faults ---------------------------------------------------------------------------------

    def cut(self, address: str) -> None:
        """Break the connection of an address; frames in flight are lost. `mend` restores it."""
        self._wire(address).cut()

    def mend(self, address: str) -> None:
        """Let an address connect again."""
        self._wire(address).mend()

    def restart(self, mailboxes: Mailboxes | None = None) -> None:
        """Kill the router and start another one, with these mailboxes (or new empty ones)."""
        wires = list(self._wires.values())
        for wire in wires:
            wire.cut()
        self._begin(mailboxes)
        for wire in wires:
            wire.mend()

    # --- called by the wires --------------------------------------------------------------------

    def attach(self, wire: "LoopbackWire") -> None:
        """Connect a wire to the router."""
        self._wires[wire.routing_id] = wire

    def detach(self, wire: "LoopbackWire") -> None:
        """Remove a closed wire."""
        if self._wires.get(wire.routing_id) is wire:
            del self._wires[wire.routing_id]
            self.core.peer_gone(wire.routing_id)
            self.schedule()

    def schedule(self) -> None:
        """Move frames at the next turn of the loop."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _begin(self, mailboxes: Mailboxes | None) -> None:
        self.mailboxes = mailboxes if mailboxes is not None else Mailboxes()
        epoch = secrets.token_bytes(EPOCH_BYTES)
        self.core = RouterCore(self.key, self.mailboxes, epoch, self._topology)

    def _wire(self, address: str) -> "LoopbackWire":
        found = [wire for wire in self._wires.values() if wire.address == address]
        if not found:
            raise LookupError(f"{address} is not on this loopback")
        return found[-1]

    def _turn(self) -> None:
        self._is_scheduled = False
        for rid, wire in list(self._wires.items()):
            while wire.up:
                self.core.receive(rid, wire.up.popleft())
        while frames := self.core.settle():
            for rid, blob, _ in frames:
                target = self._wires.get(rid)
                if target is None:
                    self.core.peer_gone(rid)
                elif target.is_connected:
                    target.down.append(blob)
        self.core.commit_rest()
        for wire in list(self._wires.values()):
            wire.deliver()


class LoopbackWire:
    """One endpoint's connection to a LoopbackRouter."""

    def __init__(self, router: LoopbackRouter, address: str, routing_id: bytes) -> None:
        self._router = router
        self._events: WireEvents | None = None
        self.address = address
        self.routing_id = routing_id
        self.up: deque[bytes] = deque()
        self.down: deque[bytes] = deque()
        self.is_connected = False

    def open(self, events: WireEvents) -> None:
        """Connect at the next turn of the loop."""
        self._events = events
        self._router.attach(self)
        asyncio.get_running_loop().call_soon(self.mend)

    def send(self, blob: bytes) -> bool:
        """Send a frame; False while the connection is cut."""
        if not self.is_connected:
            return False
        self.up.append(blob)
        self._router.schedule()
        return True

    def poll(self) -> None:
        """Do nothing: no event is ever hidden here."""

    def close(self, linger_seconds: float) -> None:
        """Disconnect from the router."""
        self._events = None
        self.is_connected = False
        self._router.detach(self)

    def cut(self) -> None:
        """Lose the connection and all frames in flight."""
        self.up.clear()
        self.down.clear()
        if self.is_connected:
            self.is_connected = False
            if self._events is not None:
                self._events.disconnected()

    def mend(self) -> None:
        """Connect, if open and not connected."""
        if self._events is not None and not self.is_connected:
            self._router.attach(self)
            self.is_connected = True
            self._events.connected()
            self._router.schedule()

    def deliver(self) -> None:
        """Deliver the received frames; the listener may close this wire at any frame."""
        frames = list(self.down)
        self.down.clear()
        for blob in frames:
            if self._events is not None and self.is_connected:
                self._events.frame(blob)
