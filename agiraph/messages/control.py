"""Control: stop, pause and resume of processes, plain answers, dead letters."""

from agiraph.messages.body import MessageBody


class Stop(MessageBody):
    """Stop: cancel calls in flight, record that, send bye, exit 0. Supervisor to any process.

    With `after_step` a worker first finishes its current step, and parks (exit 77).
    """

    TYPE = "control.stop"
    reason: str = ""
    after_step: bool = False


class Pause(MessageBody):
    """Pause at the next yield point. Human gateway to coordinator or worker."""

    TYPE = "control.pause"
    DURABLE = True


class Step(MessageBody):
    """Do one step, then pause again. Human gateway to a paused coordinator or worker."""

    TYPE = "control.step"
    DURABLE = True


class Resume(MessageBody):
    """Resume after a pause. Human gateway to coordinator or worker."""

    TYPE = "control.resume"
    DURABLE = True


class Ok(MessageBody):
    """The request was carried out. Answers a request that has no other result."""

    TYPE = "control.ok"
    DURABLE = True


class RefusedReply(MessageBody):
    """The request was refused. Answers any request; `reason` can be shown to users."""

    TYPE = "control.refused"
    DURABLE = True
    IS_REFUSAL = True
    reason: str
    kind: str = "Refused"


class AddressTable(MessageBody):
    """The existing addresses. Supervisor to router, whenever its table of children changes."""

    TYPE = "control.addresses"
    known: tuple[str, ...]


class AskMailboxDepths(MessageBody):
    """Request the mailbox sizes of the addresses that begin with `prefix`. To the router.

    Answered by `control.depths`.
    """

    TYPE = "control.ask_depths"
    prefix: str = ""


class MailboxDepths(MessageBody):
    """Messages and bytes waiting per address. Router to the requester."""

    TYPE = "control.depths"
    depths: dict[str, tuple[int, int]]


class DeadLetter(MessageBody):
    """Store a dead letter: message `letter` repeatedly crashed its receiver. To the human gateway.

    The other fields are those of its envelope; `content` is its body as received.
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


class RetryLetter(MessageBody):
    """Process this message as if it had just arrived. Human gateway to its receiver, on request."""

    TYPE = "control.retry"
    DURABLE = True
    letter: DeadLetter
