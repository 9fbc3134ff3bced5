"""Two links and a switch on a bad line: every durable message has its effect once, and in order.

Frames are lost, repeated and overtake each other; connections break; processes die and come back;
the router dies and comes back (its mailboxes survive); the power fails, and the unsynced part of
the mailboxes is lost. In the end the line is healed, and every message must have arrived. The
behaviour of the real wire (it loses frames only when it breaks, and never reorders) is a separate
machine, which must keep the order too.
"""

from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field, replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from actors.router.main import TOPOLOGY
from transport import tickets
from transport.envelope import Flag, Header, pack
from transport.link import (
    Link,
    LinkEnded,
    LinkState,
    MessageAccepted,
    MessageArrived,
    MessageRefused,
)
from transport.mailboxes import Mailboxes
from transport.router_core import Outgoing, RouterCore

KEY = bytes(32)
NO_TAP = replace(TOPOLOGY, tap=None)
NAMES = ("ada", "bob")
names = st.sampled_from(NAMES)


@dataclass
class ConnectedProcess:
    """One address: its link, its line, and the journals that outlive it."""

    name: str
    incarnation: int = 0
    up: list[bytes] = field(default_factory=list)
    down: list[bytes] = field(default_factory=list)
    inbox: list[bytes] = field(default_factory=list)
    to_send: dict[bytes, str] = field(default_factory=dict)
    journal: list[bytes] = field(default_factory=list)

    def start(self) -> None:
        """Begin the next incarnation; send unaccepted messages again, as a re-run step does."""
        self.incarnation += 1
        ticket = tickets.make_ticket(KEY, self.name, self.incarnation)
        self.rid = tickets.routing_id(ticket)
        self.link = Link(self.name, self.incarnation, ticket, 1)
        self.up, self.down, self.inbox = [], [], []
        for id_, to in self.to_send.items():
            self.submit(id_, to)
        self.connect()

    def submit(self, id_: bytes, to: str) -> None:
        """Send a durable message."""
        flags = int(Flag.DURABLE)
        header = Header(1, id_, "text", to, self.name, self.incarnation, None, 1.0, flags, None)
        blob = pack(header, b"")
        self.link.submit(id_, blob, durable=True, expendable=False, now=0.0)

    def cut(self) -> None:
        """Lose the connection and the frames on the line."""
        self.up, self.down = [], []
        self.link.disconnected()

    def connect(self) -> None:
        """Connect and greet."""
        self.link.connected(0.0)
        self.flush()

    def flush(self) -> None:
        """Send the link's outgoing frames over the connection."""
        self.link.flush_acks()
        while self.link.out:
            self.up.append(self.link.out.pop().blob)

    def hear(self, blob: bytes) -> None:
        """Handle a frame from the line."""
        for event in self.link.arrived(blob, 0.0):
            match event:
                case MessageAccepted(id_):
                    self.to_send.pop(id_, None)
                case MessageArrived(header, _):
                    assert header.id not in self.inbox
                    self.inbox.append(header.id)
                case MessageRefused() | LinkEnded():
                    raise AssertionError(f"nothing may be refused here: {event}")
        self.flush()

    def work(self) -> None:
        """Handle the oldest message: journal its effect unless it is there, and acknowledge it."""
        id_ = self.inbox.pop(0)
        if id_ not in self.journal:
            self.journal.append(id_)
        self.link.done(id_)
        self.flush()


class SlowDisk(Mailboxes):
    """Mailboxes that keep only their synced part after a power cut."""

    def __init__(self) -> None:
        super().__init__()
        self.synced = Mailboxes()

    def sync(self) -> None:
        self.synced = Mailboxes()
        self.synced.__dict__ = deepcopy({**self.__dict__, "synced": None})

    def cut_power(self) -> None:
        self.__dict__.update(deepcopy(self.synced.__dict__) | {"synced": self.synced})


class SteadyConnectionMachine(RuleBasedStateMachine):
    """A line that loses frames only when it breaks."""

    def __init__(self) -> None:
        super().__init__()
        self.mailboxes = SlowDisk()
        self.lives = 0
        self.said: list[tuple[bytes, str, str]] = []
        self.processes = {name: ConnectedProcess(name) for name in NAMES}
        self._begin()
        for process in self.processes.values():
            process.start()
        self.flow(2)

    def _begin(self) -> None:
        self.lives += 1
        self.core = RouterCore(KEY, self.mailboxes, bytes([self.lives % 256]), NO_TAP)

    @rule(sender=names, to=names)
    def say(self, sender: str, to: str) -> None:
        id_ = len(self.said).to_bytes(16, "big")
        self.said.append((id_, sender, to))
        process = self.processes[sender]
        process.to_send[id_] = to
        process.submit(id_, to)
        process.flush()

    @rule(rounds=st.integers(1, 3))
    def flow(self, rounds: int) -> None:
        """Carry all frames on the lines, both ways."""
        for _ in range(rounds):
            for name, process in self.processes.items():
                self.carry_up(name, len(process.up))
            for name, process in self.processes.items():
                self.carry_down(name, len(process.down))

    @rule(name=names, count=st.integers(1, 5))
    def carry_up(self, name: str, count: int) -> None:
        process = self.processes[name]
        for _ in range(min(count, len(process.up))):
            self.core.receive(process.rid, process.up.pop(0))
        self._settle()

    @rule(name=names, count=st.integers(1, 5))
    def carry_down(self, name: str, count: int) -> None:
        process = self.processes[name]
        for _ in range(min(count, len(process.down))):
            process.hear(process.down.pop(0))

    @rule(name=names)
    def work(self, name: str) -> None:
        if self.processes[name].inbox:
            self.processes[name].work()

    @rule(name=names, what=st.sampled_from(["break", "break", "kill", "vanish", "router"]))
    def disturb(self, name: str, what: str) -> None:
        process = self.processes[name]
        if what == "break":
            process.cut()
            process.connect()
        elif what == "router":
            self._begin()
            for one in self.processes.values():
                one.cut()
                one.connect()
        else:
            if what == "vanish":
                self.core.peer_gone(process.rid)
                self._settle()
            process.start()

    @rule(worked=st.integers(0, 3))
    def power_cut(self, worked: int) -> None:
        """Deliver all frames, let some messages be handled, and lose the unsynced part."""
        for process in self.processes.values():
            while process.up:
                self.core.receive(process.rid, process.up.pop(0))
        self._pass_on(self.core.settle())
        for name, process in self.processes.items():
            self.carry_down(name, len(process.down))
            for _ in range(min(worked, len(process.inbox))):
                process.work()
        self.mailboxes.cut_power()
        self._begin()
        for process in self.processes.values():
            process.start()

    @invariant()
    def each_message_takes_effect_once(self) -> None:
        for process in self.processes.values():
            assert max(Counter(process.journal).values(), default=1) == 1

    def teardown(self) -> None:
        for _ in range(4):
            for process in self.processes.values():
                process.cut()
                process.connect()
            self._calm()
        for process in self.processes.values():
            assert process.link.state is LinkState.UP
            assert not process.to_send
            expected = [id_ for id_, _, to in self.said if to == process.name]
            assert sorted(process.journal) == expected
            self._check_order(process)
        assert self.mailboxes.depths() == {}

    def _check_order(self, process: ConnectedProcess) -> None:
        for sender in NAMES:
            said = [id_ for id_, by, to in self.said if (by, to) == (sender, process.name)]
            assert [id_ for id_ in process.journal if id_ in said] == said

    def _calm(self) -> None:
        while any(one.up or one.down or one.inbox for one in self.processes.values()):
            for name, process in self.processes.items():
                self.carry_up(name, len(process.up) or 1)
                self.carry_down(name, len(process.down) or 1)
                self.work(name)

    def _settle(self) -> None:
        while frames := self.core.settle():
            self._pass_on(frames)

    def _pass_on(self, frames: list[Outgoing]) -> None:
        for rid, blob, _ in frames:
            for process in self.processes.values():
                if process.rid == rid:
                    process.down.append(blob)


class BadConnectionMachine(SteadyConnectionMachine):
    """A line that also loses, repeats and reorders; order cannot be kept on it."""

    @rule(
        name=names,
        is_up=st.booleans(),
        at=st.integers(0, 3),
        what=st.sampled_from(["lose", "repeat", "repeat", "overtake"]),
    )
    def garble(self, name: str, is_up: bool, at: int, what: str) -> None:
        process = self.processes[name]
        lane = process.up if is_up else process.down
        if at >= len(lane):
            return
        if what == "lose":
            del lane[at]
        elif what == "repeat":
            lane.append(lane[at])
        else:
            lane.insert(0, lane.pop(at))

    def _check_order(self, process: ConnectedProcess) -> None:
        pass


LIMITS = settings(max_examples=80, stateful_step_count=50, deadline=None)
TestSteadyConnection = SteadyConnectionMachine.TestCase
TestSteadyConnection.settings = LIMITS
TestBadConnection = BadConnectionMachine.TestCase
TestBadConnection.settings = LIMITS
