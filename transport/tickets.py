"""Tickets: the proof that the supervisor admitted this incarnation of an address to the bus.

A ticket is an HMAC over `address#incarnation`, and the host if the process runs on another machine,
with a key that only the supervisor and the router have. It is valid over that host's connection
alone. The routing id of the socket is derived from the ticket, so that a process without it cannot
take a connection over by presenting its name.
"""

import hashlib
import hmac

KEY_BYTES = 32
TICKET_BYTES = 32
NO_TICKET = bytes(TICKET_BYTES)
"""The ticket of a host or an invitation: their CURVE keys have authenticated them."""


def make_ticket(key: bytes, address: str, incarnation: int, host: str = "") -> bytes:
    """Return the ticket with which this incarnation of `address` may say hello.

    `host` is the address of the host that it runs on, '' for the machine of the router.
    """
    machine = f"@{host}" if host else ""
    return hmac.digest(key, f"{address}#{incarnation}{machine}".encode(), "sha256")


def is_valid(ticket: bytes, key: bytes, address: str, incarnation: int, host: str = "") -> bool:
    """Whether `ticket` was made with `key` for exactly this incarnation on this host."""
    return hmac.compare_digest(ticket, make_ticket(key, address, incarnation, host))


def routing_id(ticket: bytes) -> bytes:
    """Return the socket's routing id: 16 bytes that cannot be guessed without the ticket."""
    return b"a" + hashlib.blake2b(ticket, digest_size=15, person=b"agiraph-rid").digest()
