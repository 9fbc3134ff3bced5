"""Child: start, stop and state of processes."""

from typing import Literal

from pydantic import Field

from agiraph.core.ids import Address, AgentId
from agiraph.core.models import EntityState
from agiraph.core.record import Record, Seconds
from agiraph.core.turns import JsonObject
from agiraph.messages.body import MessageBody

ChildState = Literal[
    "starting", "ready", "backing_off", "stopping", "stopped", "failed", "parked", "exited"
]


CauseKind = Literal[
    "exit",
    "signal",
    "out_of_memory",
    "no_space",
    "hung",
    "not_ready",
    "not_made",
    "ordered",
    "host_lost",
]


class ExitCause(Record):
    """Why a process ended: a description (`text`), and the reports of the kernel and its own log.

    `step` is the last activity that it reported; `stderr` its last lines, secrets redacted.
    """

    kind: CauseKind
    text: str
    exit_code: int | None = None
    signal: int | None = None
    step: str = ""
    stderr: str = ""


class ChildSpec(Record):
    """How the supervisor starts a child, and how it reacts when the child exits.

    `args` is passed to the actor unchanged. `owner` is notified when the child is given up. A child
    is marked failed after more than `intensity` restarts by its own fault within `period_seconds`,
    unless it is a service, which is never given up. It runs on the machine `host` (`home`: the
    home's own; None: any suitable machine), on a machine that has all `labels`; `stays` is the
    reason why it can run on the home's machine only, '' if there is none.
    """

    address: Address
    kind: str
    args: JsonObject = Field(default_factory=dict)
    restart: Literal["permanent", "transient", "temporary"] = "transient"
    owner: Address | None = None
    intensity: int = 5
    period_seconds: float = 60.0
    ready_within_seconds: float = 15.0
    shutdown_seconds: float = 2.0
    host: str | None = None
    labels: tuple[str, ...] = ()
    stays: str = ""


class ChildInfo(Record):
    """One row of the process table. `doing` is the state that the process reported last.

    `next_start` (Unix time) is when a process that backs off is restarted. `host` is the name of
    the host that it runs on, empty on the home's machine. `awaits` are the addresses whose answers
    it waits for without a limit. `faults` counts the exits of a service by its own fault that
    followed each other within `supervisor.period_seconds`.
    """

    address: Address
    kind: str
    state: ChildState
    pid: int | None = None
    incarnation: int = 0
    restarts: int = 0
    started_at: float | None = None
    cpu_seconds: float = 0.0
    memory_bytes: int = 0
    cause: str | None = None
    doing: EntityState = EntityState()
    next_start: float | None = None
    host: str = ""
    awaits: tuple[str, ...] = ()
    faults: int = 0


class StartChild(MessageBody):
    """Start this child, or confirm that it runs. To the supervisor; answered by `child.started`."""

    TYPE = "child.start"
    DURABLE = True
    spec: ChildSpec


class ChildStarted(MessageBody):
    """The child's process exists. Supervisor to the requester.

    `host` is set for a child that was moved: the host where it runs, or is started next if it has
    no process; empty for the home's machine.
    """

    TYPE = "child.started"
    DURABLE = True
    address: Address
    incarnation: int
    host: str = ""


class ChildReady(MessageBody):
    """The sender has read its state and accepts messages. Any process to the supervisor."""

    TYPE = "child.ready"
    address: Address
    incarnation: int
    pid: int


class ChildHeartbeat(MessageBody):
    """Heartbeat of the event loop. Any process to the supervisor, regularly; a new state also to
    the human gateway.

    `lag` is the delay of the loop in seconds; `doing` is the current state; `awaits` are the
    addresses whose answers the sender waits for without a limit.
    """

    TYPE = "child.beat"
    lag: Seconds = 0.0
    doing: EntityState = EntityState()
    awaits: tuple[str, ...] = ()


class StopChild(MessageBody):
    """Stop, kill or restart a child (`forget`: stop it and drop its address). To the supervisor."""

    TYPE = "child.stop"
    DURABLE = True
    address: Address
    how: Literal["stop", "kill", "restart", "forget"] = "stop"
    reason: str = ""


class ChildStopped(MessageBody):
    """The child is stopped (or, for `restart`, running again). Supervisor to the requester."""

    TYPE = "child.stopped"
    DURABLE = True
    address: Address
    state: ChildState


class WakeChild(MessageBody):
    """Messages wait for an absent entity. Router to supervisor, which wakes it if it is parked."""

    TYPE = "child.wake"
    address: Address


class ListChildren(MessageBody):
    """Request the table of processes. To the supervisor; answered by `child.table`.

    A coordinator may request the rows of its own `agent` only.
    """

    TYPE = "child.list"
    agent: AgentId | None = None


class ChildTable(MessageBody):
    """All children, including the supervisor itself and the spawner; or those of one agent."""

    TYPE = "child.table"
    children: tuple[ChildInfo, ...]


class ChildFailed(MessageBody):
    """A child was given up after too many restarts; `why` is its last exit. Supervisor to owner."""

    TYPE = "child.failed"
    DURABLE = True
    address: Address
    incarnation: int
    cause: str
    why: ExitCause | None = None


class AttachConsole(MessageBody):
    """Request a ticket for a console. Human gateway to supervisor; answered by `child.ticket`."""

    TYPE = "child.attach"


class AttachTicket(MessageBody):
    """The data that a console needs to connect to the router."""

    TYPE = "child.ticket"
    address: Address
    incarnation: int
    ticket: bytes
    router_url: str
