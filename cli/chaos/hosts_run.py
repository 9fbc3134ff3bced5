"""HostsRun: a team works on several machines while machines, hosts and links fail.

Each machine is a network namespace with a host's processes in it; the network between them loses,
delays and reorders packets. A host process that ends is started again, as systemd would.
"""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from agiraph.core.errors import Unavailable
from agiraph.http.api import InviteHostRequest, NotReachable
from agiraph.http.client import Client
from agiraph.http.own_supervisor import OwnSupervisor
from agiraph.storage.files import remove_tree
from cli.chaos.chaos_run import LOOK_SECONDS, ChaosReport, ChaosRun, Report
from cli.chaos.network import Network, Weather
from cli.chaos.schedule import KINDS, Fault, strikes

HOME = "home"
RELAY = "relay"
PORT = 7400
LEASE_SECONDS = 3.0
SETTINGS = """\
hosts:
  listen: tcp://{address}:{port}
  lease_seconds: {lease}
  renew_seconds: 0.5
"""
WEATHER = Weather(loss=0.01, delay=0.001, jitter=0.004, reordered=0.02)
OF_HOSTS = ("host", "relay", "link", "machine")
"""Kinds of faults.

A host's process or its relay is killed; its cable is pulled for some time; all its processes are
killed at once, and it is off for some time.
"""
AWAY_SECONDS = (0.2, 2.5 * LEASE_SECONDS)
READY_WITHIN_SECONDS = 60.0
STOP_SECONDS = 10.0
AGIRAPH = (sys.executable, "-P", "-m", "agiraph")


@dataclass(slots=True)
class ChaosMachine:
    """One machine: its folder, its host process, and the ends of its present faults.

    Times are monotonic seconds. A process that is frozen longer than its lease is killed by its
    relay.
    """

    name: str
    folder: Path
    process: "subprocess.Popen[bytes] | None" = None
    off_until: float = 0.0
    cut_until: float = 0.0
    frozen_until: float = 0.0

    def descendants(self) -> list[psutil.Process]:
        """Return the processes that run on the machine, except the host process itself."""
        if self.process is None or self.process.poll() is not None:
            return []
        try:
            return psutil.Process(self.process.pid).children(recursive=True)
        except psutil.Error:
            return []

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the machine's host process, if it runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)


class HostsRun(ChaosRun):
    """The chaos run with further machines; this process must run in its own namespace."""

    def __init__(self, folder: Path, count: int, seed: int, noise: float, report: Report) -> None:
        super().__init__(folder, strikes(seed, (*KINDS, *OF_HOSTS)), noise=noise, report=report)
        names = [f"machine-{number}" for number in range(1, count + 1)]
        self._dice = random.Random(seed)
        self._network = Network([HOME, *names], WEATHER, seed)
        self._machines = [ChaosMachine(name, folder.resolve() / name) for name in names]

    def run(self, count: int) -> ChaosReport:
        """Inject `count` faults, as in any chaos run. Returns a report.

        Raises Unavailable, InvalidInput.
        """
        with self._network:
            return super().run(count)

    def _more_settings(self) -> str:
        address = self._network.addresses[HOME]
        return SETTINGS.format(address=address, port=PORT, lease=LEASE_SECONDS)

    # --- machines --------------------------------------------------------------------------------

    def _set_up(self, supervisor: OwnSupervisor) -> None:
        for machine in self._machines:
            remove_tree(machine.folder)
            with Client.for_home(supervisor.home) as client:
                line = client.invite_host(InviteHostRequest(name=machine.name)).line
            words = ("host", "join", line, "--no-run", "--folder", str(machine.folder))
            command = self._network.inside(machine.name, [*AGIRAPH, *words])
            joined = subprocess.run(command, check=False, capture_output=True, text=True)
            if joined.returncode != 0:
                raise Unavailable(f"{machine.name} cannot join: {joined.stderr.strip()}")
            self._start(machine)
        self._await_ready(supervisor.home)

    def _start(self, machine: ChaosMachine) -> None:
        words = ("host", "run", "--folder", str(machine.folder))
        with open(machine.folder.with_suffix(".log"), "ab") as log:  # plain: not in a home
            machine.process = subprocess.Popen(
                self._network.inside(machine.name, [*AGIRAPH, *words]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _await_ready(self, home: Path) -> None:
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        while time.monotonic() < deadline:
            with suppress(NotReachable), Client.for_home(home) as client:
                if all(host.state == "ready" for host in client.hosts().hosts):
                    return
            time.sleep(LOOK_SECONDS)
        raise Unavailable("the hosts are not ready in time")

    def _tend(self) -> None:
        """End the faults whose time is over, and restart the processes that should run."""
        now = time.monotonic()
        for machine in self._machines:
            if machine.cut_until and now >= machine.cut_until:
                machine.cut_until = 0.0
                self._network.heal(machine.name)
            if machine.frozen_until and now >= machine.frozen_until:
                machine.frozen_until = 0.0
                machine.signal(signal.SIGCONT)
            has_ended = machine.process is not None and machine.process.poll() is not None
            if has_ended and now >= machine.off_until:
                self._start(machine)

    def _take_down(self) -> None:
        for machine in self._machines:
            machine.signal(signal.SIGCONT)
            machine.signal(signal.SIGTERM)
        for machine in self._machines:
            if machine.process is not None:
                try:
                    machine.process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    _kill(machine.descendants())
                    machine.process.kill()
                    machine.process.wait()

    # --- faults ----------------------------------------------------------------------------------

    def _strike(self, supervisor: OwnSupervisor, fault: Fault) -> bool:
        if fault.kind not in OF_HOSTS:
            return super()._strike(supervisor, fault)
        machine = self._machines[int(fault.pick * len(self._machines))]
        if machine.process is None or machine.process.poll() is not None:
            return False
        until = time.monotonic() + self._dice.uniform(*AWAY_SECONDS)
        how = "kill"
        match fault.kind:
            case "link":
                how, machine.cut_until = "cut", until
                self._network.cut(machine.name)
            case "host" if fault.how == "freeze":
                how, machine.frozen_until = "freeze", until
                machine.signal(signal.SIGSTOP)
            case "host":
                machine.signal(signal.SIGKILL)
            case "relay":
                _kill([one for one in machine.descendants() if RELAY in _title(one)])
            case _:
                how, machine.off_until = "off", until
                left = machine.descendants()
                machine.signal(signal.SIGKILL)
                _kill(left)
        self.report.strikes[f"{fault.kind} {how}"] += 1
        return True


def _kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.kill()


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
