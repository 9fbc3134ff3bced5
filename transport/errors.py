"""The errors of the bus, split by whether a retry can succeed.

TransportError
├── Nacked            the router, or the receiver, refused this message: it can never succeed
unchanged
├── MalformedFrame    bytes that are not a message of ours
├── UnknownType       a body type that this process does not know
├── MalformedBody     a body that does not fit its type
├── BindRefused       the router cannot have its socket (taken, too long a path, open to others)
├── StoreRefused      the file of the mailboxes cannot be used (newer, held by another, unreadable)
├── Fenced            a newer incarnation of this address exists: this process must exit
└── Unavailable       may succeed later: retry
    ├── NotStored         the mailboxes cannot be written: the disk of the router is full
    ├── LinkDown          the router cannot be reached
    ├── PeerLost          the receiver of a question disconnected, and the question is lost
    └── DeadlineExceeded  no answer in time
"""

import errno
from typing import Literal

NackReason = Literal[
    "unknown_recipient",
    "mailbox_full",
    "not_stored",
    "too_large",
    "stale_incarnation",
    "not_allowed",
    "malformed",
]


class TransportError(Exception):
    """Base of every error that the bus raises on purpose."""


class Nacked(TransportError):
    """Router or receiver refused a message; `reason` is a NackReason, `detail` describes why."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class MalformedFrame(TransportError):
    """The bytes are not an envelope."""


class UnknownType(TransportError):
    """No model is registered for a body's type."""


class MalformedBody(TransportError):
    """A body cannot be encoded from, or decoded to, its model."""


class BindRefused(TransportError):
    """The router may not or cannot listen at its address."""


class StoreRefused(TransportError):
    """The router cannot use the file of its mailboxes; a person must fix it."""


class Fenced(TransportError):
    """A newer incarnation of this address exists: this process must exit."""


class BusUnavailable(TransportError):
    """A resource is not available now; the same call may succeed later."""


class NotStored(BusUnavailable):
    """Messages could not be written: the disk is full. `taken_back` has (address, id) of each."""

    errno = errno.ENOSPC

    def __init__(self, detail: str, taken_back: frozenset[tuple[str, bytes]] = frozenset()) -> None:
        super().__init__(detail)
        self.taken_back = taken_back


class LinkDown(BusUnavailable):
    """The router cannot be reached."""


class PeerLost(BusUnavailable):
    """The peer that was asked disconnected before it answered."""


class DeadlineExceeded(BusUnavailable):
    """The answer did not arrive in time."""
