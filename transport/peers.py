"""Peers of the router: addresses with special roles, connected peers, and the hello message."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from transport import protocol, tickets
from transport.envelope import MAX_INCARNATION, MAX_NAME, Fields
from transport.errors import MalformedFrame

HOST_RID = b"host"
"""The routing id with which a host, or an invitation, sends its own messages."""

UplinkRid = tuple[str, bytes, bytes]
"""A peer on another machine: the owner of the key, the connection's routing id, the peer's there.

No local connection can have such an id, as local ids are bytes. A plain tuple: it is made for each
frame.
"""

Rid = bytes | UplinkRid


@dataclass(frozen=True, slots=True)
class Topology:
    """The addresses with a role in the router's work.

    `controller` may stop the router and reports the existing addresses, and is asked to start an
    absent receiver. `known` exist without a report. `tap` receives a copy of every durable message
    whose type is in `tapped`. An address that is no longer reported loses its messages, unless it
    is `known` or begins with one of `kept_prefixes`. The addresses of other machines begin with
    `host_prefix`; a peer whose address begins with `host_prefix` or `guest_prefix` may send to the
    controller alone. An address `group/member` belongs to a group, unless its first part is in
    `ungrouped`; members of two groups cannot send to each other. To an address without a group a
    member sends only durable messages whose types begin as in `taken` for it, or for the prefix of
    its address; None: all.
    """

    controller: str = ""
    known: frozenset[str] = frozenset()
    tap: str | None = None
    tapped: frozenset[str] = frozenset()
    kept_prefixes: tuple[str, ...] = ()
    host_prefix: str = "\0"
    guest_prefix: str = "\0"
    ungrouped: frozenset[str] = frozenset()
    taken: Mapping[str, tuple[str, ...]] | None = None


@dataclass(slots=True, eq=False)
class Peer:
    """A connection that has said hello; its delivery begins with its oldest message."""

    rid: Rid
    address: str
    incarnation: int
    in_flight: set[bytes] = field(default_factory=set)
    cursor: int = 0
    is_behind: bool = True


MAX_HELD = 10_000
MAX_HELD_BYTES = 64 * 1024 * 1024


class HeldMessages:
    """Messages that wait until the router knows the existing addresses; bounded."""

    def __init__(self) -> None:
        self.messages: list[tuple[Peer, Fields, bytes]] = []
        self._bytes = 0

    def add(self, peer: Peer, fields: Fields, blob: bytes) -> bool:
        """Keep a message of `peer`; False if there is no room."""
        if len(self.messages) >= MAX_HELD or self._bytes + len(blob) > MAX_HELD_BYTES:
            return False
        self.messages.append((peer, fields, blob))
        self._bytes += len(blob)
        return True


def down_frames(lost: list[Peer], present: Mapping[Rid, Peer]) -> Iterator[tuple[Rid, bytes]]:
    """Yield for each peer the frame that reports the other peers that lost their connections."""
    downs = [
        (peer.address, peer.incarnation, present.get(peer.rid) is peer)  # is it back?
        for peer in lost
    ]
    concerned = {down[0] for down in downs}
    frame = protocol.down_frame(downs)
    for rid, peer in present.items():
        if peer.address not in concerned:
            yield rid, frame
        elif others := [down for down in downs if down[0] != peer.address]:
            yield rid, protocol.down_frame(others)


def read_hello(body: dict[str, Any]) -> tuple[str, int, bytes]:
    """Return address, incarnation and ticket of a hello. Raises MalformedFrame."""
    address, incarnation = body.get("address"), body.get("incarnation")
    ticket = body.get("ticket")
    if body.get("version") != protocol.PROTOCOL_VERSION:
        raise MalformedFrame(f"protocol {body.get('version')!r:.20} is not spoken here")
    if (
        type(address) is not str
        or not 0 < len(address) <= MAX_NAME
        or type(incarnation) is not int
        or not 0 <= incarnation <= MAX_INCARNATION
        or type(ticket) is not bytes
        or len(ticket) != tickets.TICKET_BYTES
        or type(body.get("pid")) is not int
    ):
        raise MalformedFrame("a hello has address, incarnation, ticket and pid")
    return address, incarnation, ticket
