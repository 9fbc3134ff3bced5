"""The link: an endpoint's side of its connection to the router, without a socket.

    CONNECTING --connected--> GREETING --welcome--> UP
        ^                        |  ^                |
        |                        |  +--who, silence--+
        +------disconnected------+-------------------+
    any --nack of a hello--> REFUSED    any --stale_incarnation--> FENCED    UP --bye--> LEFT

Rules:

- `out` has the frames for the socket, in order. Only a hello is in it before UP.
- A durable message stays in `unaccepted` until the router has accepted or refused it; every welcome
  sends all of them again, in order (the router drops known ones).
- A message that the router could not store (its disk is full) is kept and sent again a moment
  later, with all messages after it, unless the link `raises_when_full`: then it is refused.
- Passing ones wait for UP in a bounded backlog, oldest expendable ones dropped.
- A durable message that arrives is delivered once; a repetition is dropped, and acknowledged again
  if it was done. It is also dropped before the welcome: the router may take a connection that was
  broken and restored for the old one, and may have lost earlier messages. After a welcome it
  delivers from the oldest message on.
- The router answers heartbeats. After SILENCE seconds without a frame, or with a message that is
  not accepted, the link greets again.
"""

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeVar

from transport import protocol
from transport.backlog import Backlog
from transport.envelope import NO_ID, Header, body_of, read_header, read_map
from transport.errors import MalformedFrame
from transport.protocol import hello_frame, link_frame

T = TypeVar("T")

HEARTBEAT_EVERY = 2.0
SILENCE = 6.0
GREET_AGAIN = 1.0
STORE_AGAIN = 0.5
REMEMBERED_DONE = 4_096


class LinkState(Enum):
    """The state of the connection."""

    CONNECTING = auto()
    GREETING = auto()
    UP = auto()
    LEFT = auto()
    FENCED = auto()
    REFUSED = auto()


ENDED = frozenset({LinkState.LEFT, LinkState.FENCED, LinkState.REFUSED})


@dataclass(frozen=True, slots=True)
class LinkWelcomed:
    """The router has admitted us. `lost`: earlier passing messages may not have arrived."""

    epoch: bytes
    lost: bool


@dataclass(frozen=True, slots=True)
class MessageAccepted:
    """The router has stored this message."""

    id: bytes


@dataclass(frozen=True, slots=True)
class MessageRefused:
    """A message was refused, by the router or by the peer `by`."""

    id: bytes
    reason: str
    detail: str
    by: str


@dataclass(frozen=True, slots=True)
class PeerDown:
    """An incarnation has disconnected; or, with `ask`, the receiver of that question is absent.

    `is_back`: it lives, but lost its connection, and the messages in flight to and from it.
    """

    address: str
    incarnation: int
    ask: bytes | None
    is_back: bool = False


@dataclass(frozen=True, slots=True)
class MessageArrived:
    """A message for us; call `done(header.id)` when a durable one has had its effect."""

    header: Header
    body: bytes


@dataclass(frozen=True, slots=True)
class LinkEnded:
    """The link has ended: `state` is FENCED, REFUSED or LEFT."""

    state: LinkState
    reason: str
    detail: str


LinkEvent = LinkWelcomed | MessageAccepted | MessageRefused | PeerDown | MessageArrived | LinkEnded


class Link:
    """One endpoint's connection. `now` is the caller's monotonic time in seconds."""

    def __init__(
        self,
        address: str,
        incarnation: int,
        ticket: bytes,
        pid: int,
        *,
        raises_when_full: bool = False,
    ) -> None:
        self.address = address
        self.incarnation = incarnation
        self._hello = hello_frame(address, incarnation, ticket, pid)
        self.state = LinkState.CONNECTING
        self.out = Backlog()
        self._early = Backlog()
        self.unaccepted: OrderedDict[bytes, bytes] = OrderedDict()
        self._overdue_at: float | None = None
        self._raises_when_full = raises_when_full
        self._store_again_at: float | None = None
        self._held: set[bytes] = set()
        self._was_done: OrderedDict[bytes, None] = OrderedDict()
        self._to_ack: list[bytes] = []
        self._epoch: bytes | None = None
        self._was_cut = False
        self._greeted_at = 0.0
        self._received_at = 0.0
        self._beat_at = 0.0
        self.malformed = 0

    @property
    def is_idle(self) -> bool:
        """Whether no message waits to be sent or to be accepted."""
        return not (self.out or self.unaccepted or self._to_ack)

    @property
    def holds(self) -> int:
        """The number of durable messages that have arrived and are not acknowledged as done."""
        return len(self._held)

    # --- events of the socket -------------------------------------------------------------------

    def connected(self, now: float) -> None:
        """Put a hello into `out`: a connection is open."""
        if self.state not in ENDED:
            self._greet(now)

    def disconnected(self) -> None:
        """Handle the loss of the connection; frames in `out` are lost or will be sent again."""
        if self.state not in ENDED:
            self._was_cut = True
            self.out.clear()
            self.state = LinkState.CONNECTING

    def tick(self, now: float, lag: float) -> None:
        """Send due heartbeats (`lag`: delay of the loop in seconds); greet again after silence."""
        if self.state is LinkState.GREETING and now - self._greeted_at >= GREET_AGAIN:
            self._greet(now)
        if self.state is not LinkState.UP:
            return
        if self._store_again_at is not None and now >= self._store_again_at:
            self._send_unaccepted(now)
        is_overdue = self._overdue_at is not None and now >= self._overdue_at
        # After a pause of our own loop, the answer may be unread in the socket: ask again.
        is_silent = now - self._received_at >= SILENCE and self._beat_at > self._received_at
        if is_overdue or (is_silent and lag < HEARTBEAT_EVERY):
            self._greet(now)
        elif now - self._beat_at >= HEARTBEAT_EVERY:
            self._beat_at = now
            self.out.push(self._frame(protocol.HEARTBEAT, {"lag": lag}), True)

    # --- calls of the endpoint ------------------------------------------------------------------

    def submit(
        self, id: bytes, blob: bytes, *, durable: bool, expendable: bool, now: float
    ) -> None:
        """Send a message: as soon as the link is up, and for a durable one until it is accepted."""
        if durable:
            if id in self.unaccepted:
                return
            self.unaccepted[id] = blob
            if self._overdue_at is None:
                self._overdue_at = now + SILENCE
        if self.state is LinkState.UP:
            if not durable or self._store_again_at is None:
                self.out.push(blob, expendable)
        elif not durable:
            self._early.push(blob, expendable)

    def done(self, id: bytes) -> None:
        """Acknowledge that a durable message has had its effect. Unknown ids are ignored."""
        if id not in self._held:
            return
        self._held.remove(id)
        self._was_done[id] = None
        if len(self._was_done) > REMEMBERED_DONE:
            self._was_done.popitem(last=False)
        self._to_ack.append(id)

    def flush_acks(self) -> None:
        """Put the acknowledgements since the last call into `out`, many in one frame."""
        if self.state is not LinkState.UP or not self._to_ack:
            return
        for start in range(0, len(self._to_ack), protocol.ACKS_A_FRAME):
            ids = self._to_ack[start : start + protocol.ACKS_A_FRAME]
            body = {"ids": ids, "stage": protocol.DONE}
            self.out.push(self._frame(protocol.ACK, body), False)
        self._to_ack = []

    def refuse(self, header: Header, detail: str) -> None:
        """Tell the sender of a message that its body cannot be decoded here."""
        body = {"id": header.id, "reason": "malformed", "detail": detail}
        if self.state is LinkState.UP:
            self.out.push(self._frame(protocol.NACK, body, to=header.sender), False)

    def close(self) -> None:
        """Send bye; the router's answer ends the link."""
        if self.state is LinkState.UP:
            self.flush_acks()
            self.out.push(self._frame(protocol.BYE, {}), False)

    # --- frames from the router -----------------------------------------------------------------

    def arrived(self, blob: bytes, now: float) -> Iterator[LinkEvent]:
        """Read one frame; yield its events. Malformed frames are counted."""
        try:
            header = read_header(blob)
            self._received_at = now
            if not header.type.startswith(protocol.LINK_PREFIX):
                yield from self._message(header, blob)
            elif header.sender == protocol.ROUTER:
                yield from self._on_link_frame(header.type, read_map(body_of(blob)), now)
            elif header.type == protocol.NACK:
                yield from self._nacked(read_map(body_of(blob)), header.sender, now)
        except MalformedFrame:
            self.malformed += 1

    def _on_link_frame(self, type_: str, body: dict[str, Any], now: float) -> Iterator[LinkEvent]:
        if self.state in ENDED:
            return
        if type_ == protocol.WELCOME:
            yield self._welcome(_of(bytes, body, "epoch"), now)
        elif type_ == protocol.ACK:
            for id_ in _of(list, body, "ids"):
                if type(id_) is bytes and self.unaccepted.pop(id_, None) is not None:
                    yield MessageAccepted(id_)
            self._overdue_at = now + SILENCE if self.unaccepted else None
        elif type_ == protocol.NACK:
            yield from self._nacked(body, protocol.ROUTER, now)
        elif type_ == protocol.DOWN:
            ask = body.get("id")
            yield PeerDown(
                _of(str, body, "address"),
                _of(int, body, "incarnation"),
                ask if type(ask) is bytes else None,
                body.get("is_back") is True,
            )
            yield from _other_downs(body.get("others"))
        elif type_ == protocol.WHO and self.state is LinkState.UP:
            self._was_cut = True  # frames sent since the router forgot us were dropped
            self._greet(now)
        elif type_ == protocol.BYE:
            self.state = LinkState.LEFT
            yield LinkEnded(self.state, "left", "")

    def _welcome(self, epoch: bytes, now: float) -> LinkWelcomed:
        is_lossy = self._was_cut or (self._epoch is not None and epoch != self._epoch)
        self._epoch, self._was_cut = epoch, False
        self.state = LinkState.UP
        self._received_at = self._beat_at = now
        self.out.clear()
        self._send_unaccepted(now)
        while self._early:
            self.out.push(*self._early.pop())
        return LinkWelcomed(epoch, is_lossy)

    def _send_unaccepted(self, now: float) -> None:
        self._store_again_at = None
        for blob in self.unaccepted.values():
            self.out.push(blob, False)
        self._overdue_at = now + SILENCE if self.unaccepted else None

    def _nacked(self, body: dict[str, Any], by: str, now: float) -> Iterator[LinkEvent]:
        id_, reason, detail = body.get("id"), _of(str, body, "reason"), _of(str, body, "detail")
        if by != protocol.ROUTER:
            if type(id_) is bytes:
                yield MessageRefused(id_, reason, detail, by)
            return
        if reason == "stale_incarnation":
            self.state = LinkState.FENCED
            yield LinkEnded(self.state, reason, detail)
        elif id_ == NO_ID and self.state is LinkState.GREETING:
            self.state = LinkState.REFUSED
            yield LinkEnded(self.state, reason, detail)
        elif reason == "not_stored" and not self._raises_when_full:
            self._store_again_at, self._overdue_at = now + STORE_AGAIN, now + SILENCE
        elif type(id_) is bytes:
            self.unaccepted.pop(id_, None)
            yield MessageRefused(id_, reason, detail, by)

    def _message(self, header: Header, blob: bytes) -> Iterator[LinkEvent]:
        if header.is_durable:
            if self.state is not LinkState.UP:
                return  # it is delivered again after the welcome, in its order
            if header.id in self._held:
                return
            if header.id in self._was_done:
                self._to_ack.append(header.id)
                return
            self._held.add(header.id)
        yield MessageArrived(header, body_of(blob))

    def _greet(self, now: float) -> None:
        self._was_cut = self._was_cut or bool(self.out)
        self.out.clear()
        self.out.push(self._hello, False)
        self.state = LinkState.GREETING
        self._greeted_at = now

    def _frame(self, type_: str, body: dict[str, Any], to: str = protocol.ROUTER) -> bytes:
        return link_frame(type_, body, to=to, sender=self.address, incarnation=self.incarnation)


def _other_downs(others: object) -> Iterator[PeerDown]:
    """Yield the peers that went down together with the first one. Raises MalformedFrame."""
    for other in others if type(others) is list else ():
        match other:
            case [str(address), int(incarnation), bool(is_back)]:
                yield PeerDown(address, incarnation, None, is_back)
            case _:
                raise MalformedFrame("others are lists of address, incarnation and is_back")


def _of(kind: type[T], body: dict[str, Any], name: str) -> T:
    """Return the field `name`, which must have exactly the type `kind`. Raises MalformedFrame."""
    value = body.get(name)
    if type(value) is not kind:
        raise MalformedFrame(f"{name} is not of type {kind.__name__}")
    return value
