"""Peers of the router: which have a part in how it works, who is connected, what a hello says."""

from dataclasses import dataclass, field
from typing import Any

from transport import protocol, tickets
from transport.envelope import MAX_INCARNATION, MAX_NAME
from transport.errors import MalformedFrame


@dataclass(frozen=True, slots=True)
class Topology:
    """The addresses with a part in how the router works.

    `controller` may stop the router and reports which addresses exist, and is asked to start a
    receiver that is absent. `known` exist without being reported. `tap` receives a copy of every
    durable message whose type is not in `untapped`. An address that is not reported any more loses
    its messages, unless it is `known` or begins with one of `kept_prefixes`.
    """

    controller: str = ""
    known: frozenset[str] = frozenset()
    tap: str | None = None
    untapped: frozenset[str] = frozenset()
    kept_prefixes: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Peer:
    """A connection that has said hello; it begins with the oldest message of its mailbox."""

    rid: bytes
    address: str
    incarnation: int
    in_flight: set[bytes] = field(default_factory=set)
    cursor: int = 0
    is_behind: bool = True


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
