"""Control: the supervisor and the human steer a process."""

from agiraph.messages.body import Body


class Stop(Body):
    """Finish now: cancel what is in flight, record it, say bye, exit 0. Supervisor to any actor."""

    TYPE = "control.stop"
    reason: str = ""


class Pause(Body):
    """Stand still at the next yield point until resumed. Human gateway to coordinator or worker."""

    TYPE = "control.pause"
    DURABLE = True


class Resume(Body):
    """Go on after a pause. Human gateway to coordinator or worker."""

    TYPE = "control.resume"
    DURABLE = True


class Ok(Body):
    """It is done. The answer to a request that has nothing else to say."""

    TYPE = "control.ok"
    DURABLE = True


class RefusedReply(Body):
    """It cannot be done as asked. The answer to any request; `reason` is fit to show."""

    TYPE = "control.refused"
    DURABLE = True
    reason: str
    kind: str = "Refused"


class AddressTable(Body):
    """The addresses that exist. Supervisor to router, whenever its table of children changes."""

    TYPE = "control.addresses"
    known: tuple[str, ...]


class AskMailboxDepths(Body):
    """How full are the mailboxes? Human gateway to router; answered by `control.depths`."""

    TYPE = "control.ask_depths"


class MailboxDepths(Body):
    """Messages and bytes waiting per address. Router to the one who asked."""

    TYPE = "control.depths"
    depths: dict[str, tuple[int, int]]


class DeadLetter(Body):
    """This message (id `letter`) ended me again and again: keep it. Any actor to human gateway.

    The other fields are those of its envelope; `content` is its body as it came.
    """

    TYPE = "control.dead"
    DURABLE = True
    letter: bytes
    to: str
    type: str
    sender: str
    incarnation: int
    reply_to: bytes | None
    sent_at: float
    flags: int
    content: bytes
    cause: str


class RetryLetter(Body):
    """Take this message as if it came just now. Human gateway to its receiver, when told to."""

    TYPE = "control.retry"
    DURABLE = True
    letter: DeadLetter
