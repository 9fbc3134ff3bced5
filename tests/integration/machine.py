"""Another machine of a home, for tests: a real host process in its own folder, on this machine."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from agiraph.storage.host_folder import HostFolder
from tests.fakes.forked_command import ForkedCommand
from tests.integration.probed_supervisor import ROOT, ProbedSupervisor
from tests.integration.waiting import DEADLINE_SECONDS, await_gone, until

LISTENS = "hosts: {listen: tcp://127.0.0.1:0, lease_seconds: 5, renew_seconds: 1}\n"
"""Settings of a home that other machines can join."""


class Machine:
    """One host process, with probes in place of workers; `said` is its output."""

    def __init__(self, path: Path, **environ: str) -> None:
        self.folder = HostFolder(path)
        self.home = self.folder.home.path
        self._said = path.with_name(f"{path.name}.said")
        with open(self._said, "ab") as errors:
            self.process = ForkedCommand(
                ("--folder", str(path)),
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": str(ROOT)} | environ,
                stderr=errors.fileno(),
                program="tests.integration.probe:be_host",
            )

    @property
    def said(self) -> str:
        """The stderr of all host processes of this folder."""
        return self._said.read_text()

    def await_said(self, text: str) -> None:
        """Wait until its output contains a text."""
        until(lambda: text in self.said, f"'{text}' in: {self.said}")

    def births(self, address: str) -> list[str]:
        """Return the notes of each incarnation of a probe here about its birth, as JSON."""
        file = self.home / f"{address.replace('/', '.')}.births"
        return file.read_text().splitlines() if file.exists() else []

    def family(self) -> list[psutil.Process]:
        """Return the host process with every process below it."""
        me = psutil.Process(self.process.pid)
        return [me, *me.children(recursive=True)]

    def end(self, number: int = signal.SIGTERM) -> int:
        """Signal the host process and return its exit code."""
        self.process.send_signal(number)
        return self.process.wait(DEADLINE_SECONDS)


def invited(supervisor: ProbedSupervisor, **asked: Any) -> str:
    """Return the line of a new invitation, once the home listens."""

    def line() -> str | None:
        answer = supervisor.ask("supervisor", "host.invite", **asked)
        return str(answer["line"]) if "line" in answer else None

    return until(line, "an invitation")


def await_host(supervisor: ProbedSupervisor, name: str, **wanted: Any) -> dict[str, Any]:
    """Wait until a host's row has these values."""

    def found() -> dict[str, Any] | None:
        rows = supervisor.ask("supervisor", "host.list")["hosts"]
        row: dict[str, Any] = next((row for row in rows if row["name"] == name), {})
        return row if row and all(row[key] == value for key, value in wanted.items()) else None

    return until(found, f"host {name} with {wanted}")


@contextmanager
def running_host(path: Path, **environ: str) -> Iterator[Machine]:
    """Run a host process; kill its remaining processes at the end."""
    machine = Machine(path, **environ)
    family: list[psutil.Process] = []
    try:
        yield machine
    finally:
        if machine.process.poll() is None:
            family = machine.family()
            machine.process.send_signal(signal.SIGCONT)
            machine.process.kill()
        machine.process.communicate()
        await_gone(family, "the end of the processes of the host")
