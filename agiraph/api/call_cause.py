"""CallCause: the identity of one call of the API; the ids of all its effects derive from it.

These are ids of messages, runs and triggers. A call with an `Idempotency-Key` that is repeated (for
example after a crash of the gateway) has the same cause, so it has the same effects, which their
receivers recognize.
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
    """The identity `id` of one call. `at` is the time of the first call with this identity.

    `is_again`: the first call was cut off, and this one repeats it.
    """

    id: str
    at: float
    is_again: bool = False

    def message(self, what: str) -> MessageId:
        """Return the id of the message that causes the effect `what` of this call.

        A repeated call sends the same id, so its receiver recognizes the repetition.
        """
        return derived_message_id(HUMAN, f"{what}:{self.id}")

    @property
    def run(self) -> RunId:
        """The id of the run that this call starts."""
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self.at))
        return RunId(f"{stamp}-{short_derived_id('run', self.id)}")


def new_cause(now: float) -> CallCause:
    """Return a new cause, for a call without an Idempotency-Key at the time `now`."""
    return CallCause(message_id().hex(), now)


def cause_of_key(key: str, at: float, *, is_again: bool) -> CallCause:
    """Return the cause of a call with an Idempotency-Key.

    `at` is the time of the first such call.
    """
    return CallCause(sha256(key.encode()).hexdigest(), at, is_again)
