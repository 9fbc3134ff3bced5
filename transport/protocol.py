"""The protocol between an endpoint and the router: the `link.` types and their frames.

Their bodies are plain msgpack maps, so that the router needs no message models:

    link.hello      endpoint -> router   address, incarnation, ticket, pid, version
    link.welcome    router -> endpoint   epoch: changes with every start of the router
    link.who        router -> endpoint   your routing id is unknown here: say hello
    link.ack        both ways            ids, stage: accepted (by the router) | done (by a receiver)
    link.nack       both ways            id, reason, detail
    link.heartbeat  endpoint -> router   lag: seconds by which the event loop was late
    link.alive      router -> endpoint   the answer to a heartbeat
    link.bye        both ways            I disconnect; the router's answer is its last frame
    link.down       router -> endpoint   address, incarnation; id: the ask without a receiver;
                                         is_back: it lost its connection and has a new one;
                                         others: (address, incarnation, is_back) of more peers
"""

from collections.abc import Mapping, Sequence
from typing import Any

from transport.envelope import NO_ID, VERSION, Fields, pack_fields, pack_map, read_map
from transport.errors import MalformedFrame

PROTOCOL_VERSION = 1

HELLO = "link.hello"
WELCOME = "link.welcome"
WHO = "link.who"
ACK = "link.ack"
NACK = "link.nack"
HEARTBEAT = "link.heartbeat"
ALIVE = "link.alive"
BYE = "link.bye"
DOWN = "link.down"
LINK_PREFIX = "link."

ACCEPTED = "accepted"
DONE = "done"
ACKS_A_FRAME = 256

ROUTER = "router"

STOP = "control.stop"
WAKE = "child.wake"
ADDRESSES = "control.addresses"
ASK_DEPTHS = "control.ask_depths"
DEPTHS = "control.depths"
KNOWN_HOSTS = "host.known"
HOST_REFUSED = "host.refused"
UPLINK_STATE = "host.listens"

# Address, incarnation, is_back of a peer that has lost its connection.
Down = tuple[str, int, bool]


def link_frame(
    type_: str,
    body: dict[str, Any],
    *,
    to: str = ROUTER,
    sender: str = ROUTER,
    incarnation: int = 0,
    id: bytes = NO_ID,
    reply_to: bytes | None = None,
    sent_at: float = 0.0,
) -> bytes:
    """Return the blob of a passing message of a `link.` type."""
    fields: Fields = (VERSION, id, type_, to, sender, incarnation, reply_to, sent_at, 0, None)
    return pack_fields(fields, pack_map(body))


def depths_frame(asked: Fields, about: bytes, depths: Mapping[str, tuple[int, int]]) -> bytes:
    """Return the answer to a request for the depths of mailboxes with an address prefix."""
    try:
        prefix = str(read_map(about).get("prefix", ""))
    except MalformedFrame:
        prefix = ""
    found = {to: list(depth) for to, depth in depths.items() if to.startswith(prefix)}
    body = {"depths": found}
    id_ = asked[1]
    return link_frame(DEPTHS, body, to=asked[4], id=id_, reply_to=id_, sent_at=asked[7])


def nack_frame(id_: bytes | None, reason: str, detail: str) -> bytes:
    """Return the router's refusal of the message `id_`, or (None) of a connection."""
    return link_frame(NACK, {"id": id_, "reason": reason, "detail": detail})


def down_frame(downs: Sequence[Down]) -> bytes:
    """Return the frame that reports peers that lost their connections."""
    address, incarnation, is_back = downs[0]
    body: dict[str, Any] = {"address": address, "incarnation": incarnation, "is_back": is_back}
    if len(downs) > 1:
        body["others"] = downs[1:]
    return link_frame(DOWN, body)


def hello_frame(address: str, incarnation: int, ticket: bytes, pid: int) -> bytes:
    """Return the hello with which an incarnation of `address` asks to be admitted."""
    body = {
        "address": address,
        "incarnation": incarnation,
        "ticket": ticket,
        "pid": pid,
        "version": PROTOCOL_VERSION,
    }
    return link_frame(HELLO, body, sender=address, incarnation=incarnation)
