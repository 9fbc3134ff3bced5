"""ChaosRun: a team works while faults are injected into its processes."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from agiraph.core.errors import Unavailable
from agiraph.core.models import ENDED_AGENT, Agent
from agiraph.http.api import CreateAgentRequest, NotReachable
from agiraph.http.client import Client
from agiraph.http.own_supervisor import OwnSupervisor
from agiraph.logs.logbook import LogQuery, read_past
from agiraph.storage.files import (
    make_folder,
    open_file,
    read_bytes,
    remove_tree,
    replace_file,
    write_all,
)
from agiraph.storage.home import Home, RunHome
from cli.chaos.comparison import RunCounts, RunDifference, count_run, difference, ticks_left
from cli.chaos.schedule import ALL_AT_ONCE, Fault, How
from cli.chaos.targets import SPAWNER, SUPERVISOR, FaultTarget, living

EXIT_WITHIN_SECONDS = 1.0
STOP_WITHIN_SECONDS = 20.0
SECRETS = ("_API_KEY", "_TOKEN", "_SECRET")
SETTINGS = """\
# Written by `agiraph chaos`; all else is as in any home.
bus:
  noise: {noise}
"""
MODEL = "script/chaos"
GOAL = "Write the lines"
NOISE = 0.01
FREEZE_SECONDS = 0.5
API_WITHIN_SECONDS = 30.0
RUN_WITHIN_SECONDS = 300.0
TICKS_WITHIN_SECONDS = 30.0
IDLE_RUNS = 3
LOOK_SECONDS = 0.05
TORN = b'{"kind":"heard","role":"us'

Report = Callable[[str], None]


@dataclass(slots=True)
class ChaosReport:
    """The faults that were injected, and the outcome."""

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
    """One experiment in one folder: an undisturbed run, then runs with the faults of a schedule.

    Earlier homes are removed from the folder. `report` is called with progress; `noise` is the
    share of the bus's frames that are repeated, delayed or lost.
    """

    def __init__(
        self,
        folder: Path,
        schedule: Iterator[Fault],
        noise: float = NOISE,
        report: Report = print,
    ) -> None:
        self._noise = noise
        self._folder = folder.resolve()
        self._strikes = schedule
        self._print = report
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
        """Inject `count` faults, over as many runs as necessary; return a report.

        Raises Unavailable.
        """
        undisturbed = self._undisturbed()
        supervisor = new_supervisor(self._storm_home, self._noise, self._more_settings())
        supervisor.start()
        left, idle_runs = count, 0
        try:
            self._set_up(supervisor)
            while left > 0:
                agent = create(supervisor.home)
                before, left = left, self._disturb(supervisor, agent, left)
                idle_runs = idle_runs + 1 if left == before else 0
                if idle_runs == IDLE_RUNS:
                    raise Unavailable("no process of the wanted kinds was running")
                self._finish(supervisor, agent)
                self._note_recoveries(supervisor)
                self._count(supervisor.home, agent, undisturbed)
        finally:
            self._take_down()
            supervisor.stop(STOP_WITHIN_SECONDS)
        return self.report

    def _more_settings(self) -> str:
        """Return the settings of the disturbed home besides `noise`, as YAML."""
        return ""

    def _set_up(self, supervisor: OwnSupervisor) -> None:
        """Prepare the running disturbed home; for subclasses."""

    def _tend(self) -> None:
        """Do the due work while the team works, repeatedly; for subclasses."""

    def _take_down(self) -> None:
        """Remove the resources of `_set_up`; for subclasses."""

    def _undisturbed(self) -> RunCounts:
        self._print("an undisturbed run")
        supervisor = new_supervisor(self._calm_home)
        supervisor.start()
        try:
            agent = create(supervisor.home)
            self._finish(supervisor, agent)
            return count_run(run_of(supervisor.home, agent))
        finally:
            supervisor.stop(STOP_WITHIN_SECONDS)

    def _disturb(self, supervisor: OwnSupervisor, agent: str, left: int) -> int:
        """Inject faults until the run has ended; return how many of `left` remain."""
        for fault in self._strikes:
            time.sleep(fault.pause_seconds)
            self._tend()
            if left == 0 or status_of(supervisor.home, agent) in ENDED_AGENT:
                return left
            if self._strike(supervisor, fault):
                left -= 1
                if left % 10 == 0:
                    self._print(f"{self.report.strikes.total()} faults, {left} to go")
        return left

    def _strike(self, supervisor: OwnSupervisor, fault: Fault) -> bool:
        """Inject one fault; return False if no process of that kind is running."""
        assert supervisor.pid is not None
        alive = living(supervisor.home, supervisor.pid)
        targets = sorted((v for v in alive if v.kind == fault.kind), key=lambda v: v.address)
        if fault.kind == ALL_AT_ONCE:
            targets = alive
        elif targets:
            targets = [targets[int(fault.pick * len(targets))]]
        for target in targets:
            self._hit(target, fault.how)
        if targets:
            self.report.strikes[f"{fault.kind} {fault.how}"] += 1
        is_struck = any(target.kind == SUPERVISOR for target in targets)
        if is_struck and supervisor.has_ended(EXIT_WITHIN_SECONDS):
            supervisor.stop()
            supervisor.start()
        return bool(targets)

    def _hit(self, target: FaultTarget, how: How) -> None:
        if how == "freeze":
            _signal(target, signal.SIGSTOP)
            time.sleep(FREEZE_SECONDS)
            _signal(target, signal.SIGCONT)
            return
        if how == "tear" and target.journal is not None:
            _tear(target, target.journal)
        _signal(target, signal.SIGKILL)
        if target.kind != SPAWNER:
            self._struck.append((target.address, time.time()))

    def _note_recoveries(self, supervisor: OwnSupervisor) -> None:
        """Record how long after the last fault each target was ready again.

        A target that was hit again during its restart counts once, a target that had finished not
        at all.
        """
        ready_at = _ready_times(supervisor.home)
        last_hit: dict[tuple[str, float], float] = {}
        for address, struck_at in self._struck:
            later = [at for at in ready_at.get(address, ()) if at > struck_at]
            if later:
                last_hit[address, later[0]] = struck_at
        for (_, back_at), struck_at in last_hit.items():
            self.report.recoveries.append(back_at - struck_at)
        self._struck.clear()

    def _finish(self, supervisor: OwnSupervisor, agent: str) -> None:
        deadline = time.monotonic() + RUN_WITHIN_SECONDS
        while status_of(supervisor.home, agent) not in ENDED_AGENT:
            if time.monotonic() > deadline:
                self._print(f"{agent} does not finish")
                return
            self._tend()
            time.sleep(LOOK_SECONDS)
        self._await_ticks(supervisor.home, agent)

    def _await_ticks(self, home: Path, agent: str) -> None:
        """Wait until the agent's triggers have fired and their messages are in the log."""
        deadline = time.monotonic() + TICKS_WITHIN_SECONDS
        while ticks_left(Home(home).agent(agent), run_of(home, agent)):
            if time.monotonic() > deadline:
                self._print(f"{agent} has a trigger that does not fire or is not reported")
                return
            self._tend()
            time.sleep(LOOK_SECONDS)

    def _count(self, home: Path, agent: str, undisturbed: RunCounts) -> None:
        counts = count_run(run_of(home, agent))
        self.report.runs += 1
        self.report.messages += counts.messages.total()
        self.report.steps += counts.lines.total()
        self.report.difference += difference(undisturbed, counts)


def new_supervisor(home: Path, noise: float = 0.0, more: str = "") -> OwnSupervisor:
    """Return the supervisor of a new home whose bus has `noise`, without keys."""
    make_folder(Home(home).path)
    replace_file(Home(home).config, SETTINGS.format(noise=noise) + more)
    environ = {name: value for name, value in os.environ.items() if not name.endswith(SECRETS)}
    return OwnSupervisor(home, environ=environ)


def _ready_times(home: Path) -> dict[str, list[float]]:
    """Return the times (Unix) at which each address was ready, from the supervisor's log."""
    found: dict[str, list[float]] = {}
    for line in read_past([Home(home).system.log(SUPERVISOR)], LogQuery(level="info")):
        if line.get("event") == "ready":
            at = datetime.fromisoformat(line["timestamp"]).timestamp()
            found.setdefault(str(line.get("child", SUPERVISOR)), []).append(at)
    return found


def create(home: Path, goal: str = GOAL, model: str = MODEL) -> str:
    """Create an agent and return its id; retries while the gateway restarts.

    Raises Unavailable if the gateway does not return.
    """
    for client in _clients(home):
        with client:
            return client.create_agent(CreateAgentRequest(goal=goal, model=model)).id
    raise Unavailable("the API does not respond again")


def _clients(home: Path) -> Iterator[Client]:
    deadline = time.monotonic() + API_WITHIN_SECONDS
    while time.monotonic() < deadline:
        with suppress(NotReachable):
            yield Client.for_home(home)
        time.sleep(LOOK_SECONDS)


def status_of(home: Path, agent: str) -> str:
    """Return an agent's status from its file, without any process."""
    record = Home(home).agent(agent).record
    return Agent.model_validate_json(read_bytes(record)).status


def run_of(home: Path, agent: str) -> RunHome:
    """Return the folder of an agent's run."""
    files = Home(home).agent(agent)
    record = Agent.model_validate_json(read_bytes(files.record))
    assert record.run is not None
    return files.run(record.run)


def _tear(target: FaultTarget, journal: Path) -> None:
    """Write a partial record into a journal, as a process that crashes during a write would."""
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
