"""CallCause: what one call of the API is known by, so that all it brings about follows from it.

Ids of messages, runs and triggers are derived from it. A call with an `Idempotency-Key` that is
repeated (after a crash of the gateway, say) has the same cause, so it makes the same things,
which their receivers know already.
"""

import time
from dataclasses import dataclass
from hashlib import sha256

from agiraph.core.ids import (
    HUMAN,
    MessageId,
    RunId,
    derived_message_id,
    message_id,
    short_derived_id,
)

SCOPE_KEY = "agiraph.cause"


@dataclass(frozen=True, slots=True)
class CallCause:
    """`at` is when the call came for the first time; `is_again`: it came before and was cut off."""

    id: str
    at: float
    is_again: bool = False

    def message(self, what: str) -> MessageId:
        """Return the id of the message that does `what` for this call."""
        return derived_message_id(HUMAN, f"{what}:{self.id}")

    @property
    def run(self) -> RunId:
        """The id of the run that this call begins."""
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self.at))
        return RunId(f"{stamp}-{short_derived_id('run', self.id)}")


def new_cause(now: float) -> CallCause:
    """Return the cause of a call that carries no key."""
    return CallCause(message_id().hex(), now)


def cause_of_key(key: str, at: float, *, is_again: bool) -> CallCause:
    """Return the cause of a call with an Idempotency-Key."""
    return CallCause(sha256(key.encode()).hexdigest(), at, is_again)
