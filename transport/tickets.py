"""Tickets: the proof that the supervisor let this incarnation of an address onto the bus.

A ticket is an HMAC over `address#incarnation` with a key that only the supervisor and the router
hold. The routing id of the socket follows from the ticket, so that nobody without it can take a
connection over by presenting its name.
"""

import hashlib
import hmac

KEY_BYTES = 32
TICKET_BYTES = 32


def make_ticket(key: bytes, address: str, incarnation: int) -> bytes:
    """Return the ticket with which this incarnation of `address` may say hello."""
    return hmac.digest(key, f"{address}#{incarnation}".encode(), "sha256")


def is_valid(ticket: bytes, key: bytes, address: str, incarnation: int) -> bool:
    """Say whether `ticket` was made with `key` for exactly this incarnation."""
    return hmac.compare_digest(ticket, make_ticket(key, address, incarnation))


def routing_id(ticket: bytes) -> bytes:
    """Return the socket's routing id: 16 bytes that cannot be guessed without the ticket."""
    return b"a" + hashlib.blake2b(ticket, digest_size=15, person=b"agiraph-rid").digest()
