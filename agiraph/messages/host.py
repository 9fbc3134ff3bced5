"""Hosts: the other machines of a home, how they join it, and the processes that run on them.

A host's address is `host/{name}`; its connection is authenticated by its CURVE key. An invitation
is also a key: a machine that connects with it has the address `invite/{id}` and may only join.
"""

from typing import Literal

from pydantic import Field

from agiraph.core.hosts import HostInfo as HostInfo
from agiraph.core.hosts import MachineFacts as MachineFacts
from agiraph.core.ids import Address
from agiraph.core.record import Count, Record, Seconds, UnixTime
from agiraph.messages.body import MessageBody

MOST_PROCESSES = 10_000


class HostProcess(Record):
    """A process of an entity on a host; `started_at` in seconds since the epoch.

    A process that `waits_for_room` on the disk of its host may be silent meanwhile.
    """

    address: Address
    incarnation: Count
    pid: Count
    started_at: UnixTime = 0.0
    cpu_seconds: Seconds = 0.0
    memory_bytes: Count = 0
    waits_for_room: bool = False


class KnownHosts(MessageBody):
    """The CURVE keys that may use the uplink. Supervisor to router, whenever they change.

    Public key (Z85) to the address of its owner, `host/{name}` or `invite/{id}`. Each list is
    complete: a connection whose key is not on it is closed.
    """

    TYPE = "host.known"
    known: dict[str, str] = Field(default_factory=dict)


class HostRefused(MessageBody):
    """A connection to the uplink was refused; for the audit. Router to supervisor to human.

    `peer` is an IP address, or the owner of the key (`host/{name}`, `invite/{id}`). Each refusal is
    reported once a minute; `held_back` is the number of other refusals that were not reported
    before it. The router sends it as a passing message.
    """

    TYPE = "host.refused"
    DURABLE = True
    peer: str
    reason: str
    held_back: int = 0


class UplinkState(MessageBody):
    """Where the uplink listens. Router to supervisor, when that changes and after its hello.

    `url` has the chosen port if the settings name none (0); it is empty while the router cannot
    listen, for the reason in `problem`. The router retries by itself.
    """

    TYPE = "host.listens"
    url: str = ""
    problem: str = ""


class JoinHost(MessageBody):
    """Join the home under an unused name. Holder of an invitation to supervisor.

    `public_key` is the CURVE key that the host made for itself. Answered by `host.joined`.
    """

    TYPE = "host.join"
    name: str
    public_key: str
    labels: tuple[str, ...] = ()
    facts: MachineFacts


class HostJoined(MessageBody):
    """The host was admitted; its invitation has ended. Supervisor to the requester."""

    TYPE = "host.joined"
    name: str


class LeaveHome(MessageBody):
    """The host leaves the home for good. Host to supervisor; answered by `control.ok`."""

    TYPE = "host.leave"


class RenewLease(MessageBody):
    """The host is connected, and runs these processes. Host to supervisor, regularly.

    `sent_at` is read from the host's monotonic clock and returned in the answer, `host.lease`;
    `now` is its wall clock. `facts` are in the first message of each connection. A host that
    `is_stopping` gets no new work: it ends its processes, which are started on other machines, then
    itself. `epoch` is the epoch of its lease, empty if it has none.
    """

    TYPE = "host.renew"
    sent_at: Seconds
    now: UnixTime
    load: Seconds = 0.0
    free_memory_bytes: Count = 0
    facts: MachineFacts | None = None
    processes: tuple[HostProcess, ...] = Field(default=(), max_length=MOST_PROCESSES)
    latency_seconds: Seconds | None = None
    is_stopping: bool = False
    epoch: str = ""


class LeaseRenewed(MessageBody):
    """The host may run its processes until `sent_at + seconds`, by its own clock.

    It renews the lease after `renew_seconds`. `epoch` changes with each start of the supervisor:
    the host first kills the processes that it started in another epoch. Supervisor to host.
    """

    TYPE = "host.lease"
    sent_at: float
    seconds: float
    epoch: str
    renew_seconds: float = 2.0


class SpawnOnHost(MessageBody):
    """Start the process of this launch (`ActorLaunch.pack`). Supervisor to host.

    Answered by `host.spawned` or `control.refused`; a launch that already runs is confirmed.
    """

    TYPE = "host.spawn"
    launch: bytes
    epoch: str


class ProcessSpawned(MessageBody):
    """The process exists. Host to the requester."""

    TYPE = "host.spawned"
    pid: Count


class SignalOnHost(MessageBody):
    """Send a signal to a process, or with SIGTERM and SIGKILL to its group. Supervisor to host.

    A process that does not run there is reported by `host.exited` again.
    """

    TYPE = "host.signal"
    address: Address
    incarnation: int
    signal: int


class ExitedOnHost(MessageBody):
    """A process has ended. Host to supervisor.

    `tail` has the last lines of its stderr; `step`, its last activity in words, and `was_ready` are
    from its own note; `oom_kills` is the number of processes that the kernel killed for lack of
    memory during its life; `is_repeated_crash`: it died over a message over which it died before.
    """

    TYPE = "host.exited"
    DURABLE = True
    address: Address
    incarnation: Count
    exit_code: int | None = None
    signal: int | None = None
    oom_kills: Count = 0
    tail: tuple[str, ...] = ()
    step: str = ""
    was_ready: bool = False
    is_repeated_crash: bool = False


class InviteHost(MessageBody):
    """Make an invitation, which ends when it is used or after `seconds`. Human to supervisor.

    `name` and `labels` are given to the host; without a name it chooses its own.
    """

    TYPE = "host.invite"
    name: str | None = None
    labels: tuple[str, ...] = ()
    seconds: float = Field(default=3600.0, gt=0)
    url: str | None = None
    """The url by which the other machine reaches this one, if the listening address differs."""


class HostInvited(MessageBody):
    """The line with which another machine joins, a secret, valid until `expires_at` (Unix time)."""

    TYPE = "host.invited"
    line: str
    expires_at: float


class ListHosts(MessageBody):
    """Request the table of hosts. Human or scaler to supervisor; answered by `host.table`."""

    TYPE = "host.list"


class HostTable(MessageBody):
    """All hosts that have joined. `listens_at` is the uplink's url, empty if it is closed.

    `problem` is why the router cannot listen, empty if it does or should not. `unplaced` has the
    required labels of each process that no machine can take and that requests no machine by name;
    `workers` is the number of workers with a process.
    """

    TYPE = "host.table"
    hosts: tuple[HostInfo, ...] = ()
    listens_at: str = ""
    invitations: int = 0
    problem: str = ""
    unplaced: tuple[tuple[str, ...], ...] = ()
    workers: int = 0


class ChangeHost(MessageBody):
    """Change a host. Human to supervisor; answered by `host.table`.

    `cordon`: it gets no new work; `drain`: cordon it and move its processes to other machines;
    `remove`: drain it and refuse its key from then on; `label`: replace the labels given by a
    person. A host with processes that cannot be moved is removed only by `force`: they are killed,
    and wait for a machine.
    """

    TYPE = "host.change"
    DURABLE = True
    name: str
    how: Literal["cordon", "uncordon", "drain", "remove", "label"]
    labels: tuple[str, ...] = ()
    force: bool = False


class MoveChild(MessageBody):
    """Move an entity to another machine, between two of its steps. Human to supervisor.

    `host` is a host's name, `home`, or empty for any suitable machine. Answered by `child.started`
    once it runs there, or refused; then it stays where it is.
    """

    TYPE = "child.move"
    DURABLE = True
    address: Address
    host: str = ""
