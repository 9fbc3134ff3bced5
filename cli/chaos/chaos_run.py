"""ChaosRun: a team works, and its processes are struck until the strikes are used up."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from agiraph.core.errors import Unavailable
from agiraph.core.models import Agent
from agiraph.http.api import CreateAgentRequest, NotReachable
from agiraph.http.client import Client
from agiraph.storage.files import open_file, read_bytes, remove_tree, write_all
from agiraph.storage.home import Home, RunHome
from cli.chaos.chaos_supervisor import ChaosSupervisor
from cli.chaos.comparison import RunCounts, RunDifference, difference, take, ticks_left
from cli.chaos.schedule import ALL_AT_ONCE, Fault, How
from cli.chaos.targets import SPAWNER, SUPERVISOR, FaultTarget, living

MODEL = "script/chaos"
GOAL = "Write the lines"
NOISE = 0.01
FREEZE_SECONDS = 0.5
API_WITHIN_SECONDS = 30.0
RUN_WITHIN_SECONDS = 300.0
TICKS_WITHIN_SECONDS = 30.0
RUNS_IN_VAIN = 3
LOOK_SECONDS = 0.05
TORN = b'{"kind":"heard","role":"us'
ENDED = ("completed", "failed", "stopped")

Tell = Callable[[str], None]


@dataclass(slots=True)
class ChaosReport:
    """What was done to the team, and what came of it."""

    strikes: Counter[str] = field(default_factory=Counter)
    recoveries: list[float] = field(default_factory=list)
    runs: int = 0
    messages: int = 0
    steps: int = 0
    difference: RunDifference = field(default_factory=RunDifference)

    @property
    def is_good(self) -> bool:
        """Whether nothing was lost and nothing done twice."""
        return self.difference.is_none


class ChaosRun:
    """One experiment in one folder: an undisturbed run, then disturbed ones."""

    def __init__(
        self,
        folder: Path,
        schedule: Iterator[Fault],
        noise: float = NOISE,
        tell: Tell = print,
    ) -> None:
        """Experiment in `folder`, which is emptied of earlier homes, and strike by `schedule`.

        `tell` hears of progress. `noise` is the share of the bus's frames that are repeated, held
        back or lost.
        """
        self._noise = noise
        self._folder = folder.resolve()
        self._strikes = schedule
        self._tell = tell
        self._struck: list[tuple[str, float]] = []
        self.report = ChaosReport()
        for home in (self._calm_home, self._storm_home):
            with suppress(OSError):
                remove_tree(home)

    @property
    def _calm_home(self) -> Path:
        return self._folder / "calm"

    @property
    def _storm_home(self) -> Path:
        return self._folder / "storm"

    def run(self, count: int) -> ChaosReport:
        """Strike `count` times, over as many runs as that takes. Raises Unavailable."""
        undisturbed = self._undisturbed()
        house = ChaosSupervisor(self._storm_home, self._noise)
        house.start()
        left, in_vain = count, 0
        try:
            while left > 0:
                agent = _create(house.home)
                before, left = left, self._disturb(house, agent, left)
                in_vain = in_vain + 1 if left == before else 0
                if in_vain == RUNS_IN_VAIN:
                    raise Unavailable("nobody of the kinds that are to be struck was there")
                self._finish(house, agent)
                self._note_recoveries(house)
                self._count(house.home, agent, undisturbed)
        finally:
            house.close()
        return self.report

    def _undisturbed(self) -> RunCounts:
        self._tell("an undisturbed run")
        house = ChaosSupervisor(self._calm_home)
        house.start()
        try:
            agent = _create(house.home)
            self._finish(house, agent)
            return take(_run_of(house.home, agent))
        finally:
            house.close()

    def _disturb(self, house: ChaosSupervisor, agent: str, left: int) -> int:
        """Strike until the agent's run has ended or no strike is left; return what is left."""
        for fault in self._strikes:
            time.sleep(fault.pause_seconds)
            if left == 0 or status_of(house.home, agent) in ENDED:
                return left
            if self._strike(house, fault):
                left -= 1
                if left % 10 == 0:
                    self._tell(f"{self.report.strikes.total()} strikes, {left} to go")
        return left

    def _strike(self, house: ChaosSupervisor, fault: Fault) -> bool:
        """Carry one strike out; return False if nobody of that kind lives."""
        alive = living(house.home, house.pid)
        targets = sorted((v for v in alive if v.kind == fault.kind), key=lambda v: v.address)
        if fault.kind == ALL_AT_ONCE:
            targets = alive
        elif targets:
            targets = [targets[int(fault.pick * len(targets))]]
        for target in targets:
            self._blow(target, fault.how)
        if targets:
            self.report.strikes[f"{fault.kind} {fault.how}"] += 1
        if any(target.kind == SUPERVISOR for target in targets):
            house.revive()
        return bool(targets)

    def _blow(self, target: FaultTarget, how: How) -> None:
        if how == "freeze":
            _signal(target, signal.SIGSTOP)
            time.sleep(FREEZE_SECONDS)
            _signal(target, signal.SIGCONT)
            return
        if how == "tear" and target.journal is not None:
            _tear(target, target.journal)
        _signal(target, signal.SIGKILL)
        if target.kind != SPAWNER:
            self._struck.append((target.address, time.monotonic()))

    def _note_recoveries(self, house: ChaosSupervisor) -> None:
        """Note how long after the last blow each victim was ready again.

        One that was struck again on its way back counts once, one whose work was over not at all.
        """
        last_blow: dict[tuple[str, float], float] = {}
        for address, struck_at in self._struck:
            later = [at for at in house.ready_at.get(address, ()) if at > struck_at]
            if later:
                last_blow[address, later[0]] = struck_at
        for (_, ready_at), struck_at in last_blow.items():
            self.report.recoveries.append(ready_at - struck_at)
        self._struck.clear()

    def _finish(self, house: ChaosSupervisor, agent: str) -> None:
        deadline = time.monotonic() + RUN_WITHIN_SECONDS
        while status_of(house.home, agent) not in ENDED:
            if time.monotonic() > deadline:
                self._tell(f"{agent} does not come to an end")
                return
            time.sleep(LOOK_SECONDS)
        self._await_ticks(house.home, agent)

    def _await_ticks(self, home: Path, agent: str) -> None:
        """Wait until the agent's triggers have fired and what they told stands in the log."""
        deadline = time.monotonic() + TICKS_WITHIN_SECONDS
        while ticks_left(Home(home).agent(agent), _run_of(home, agent)):
            if time.monotonic() > deadline:
                self._tell(f"{agent} has a trigger that does not fire, or nobody hears of it")
                return
            time.sleep(LOOK_SECONDS)

    def _count(self, home: Path, agent: str, undisturbed: RunCounts) -> None:
        counts = take(_run_of(home, agent))
        self.report.runs += 1
        self.report.messages += counts.messages.total()
        self.report.steps += counts.lines.total()
        self.report.difference += difference(undisturbed, counts)


def _create(home: Path) -> str:
    """Create an agent, through a gateway that may be on its way back."""
    for client in _clients(home):
        with client:
            return client.create_agent(CreateAgentRequest(goal=GOAL, model=MODEL)).id
    raise Unavailable("the API does not come back")


def _clients(home: Path) -> Iterator[Client]:
    deadline = time.monotonic() + API_WITHIN_SECONDS
    while time.monotonic() < deadline:
        with suppress(NotReachable):
            yield Client.for_home(home)
        time.sleep(LOOK_SECONDS)


def status_of(home: Path, agent: str) -> str:
    """Read an agent's status from its own file: no process has to live for that."""
    record = Home(home).agent(agent).record
    return Agent.model_validate_json(read_bytes(record)).status


def _run_of(home: Path, agent: str) -> RunHome:
    files = Home(home).agent(agent)
    record = Agent.model_validate_json(read_bytes(files.record))
    assert record.run is not None
    return files.run(record.run)


def _tear(target: FaultTarget, journal: Path) -> None:
    """Leave half a record behind, as a process does that dies in the middle of a write."""
    _signal(target, signal.SIGSTOP)
    with suppress(FileNotFoundError):
        fd = open_file(journal, os.O_WRONLY | os.O_APPEND)
        try:
            write_all(fd, TORN)
        finally:
            os.close(fd)


def _signal(target: FaultTarget, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(target.pid, number)
