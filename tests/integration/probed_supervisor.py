"""A real supervisor on a home of its own, with probes in place of the actors, for tests."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.fakes.forked_command import ForkedCommand
from tests.integration.probe import EVENTS, FAILED, orders_socket
from tests.integration.waiting import DEADLINE_SECONDS, await_gone, until

ROOT = Path(__file__).resolve().parents[2]


def keep_port(home: Path) -> int:
    """Give a home a port that no other home of the tests tries; return it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    file = home / "human" / "port"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    file.write_text(f"{port}\n")
    return port


class ProbedSupervisor:
    """One running supervisor."""

    def __init__(self, home: Path, *options: str, **environ: str) -> None:
        self.home = home
        self.process = ForkedCommand(
            ("--home", str(home), *options),
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | environ,
            stdin=subprocess.PIPE,
            program="tests.integration.probe:supervise",
        )
        self.said = ""

    def await_ready(self) -> None:
        """Wait for the line on stdout; it is stored in `said`."""
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        if not self.said:
            _, errors = self.process.communicate(timeout=DEADLINE_SECONDS)
            raise AssertionError(f"the supervisor ended before it was ready: {errors}")

    def ask(
        self, to: str, type_: str, within_seconds: float = DEADLINE_SECONDS, **body: Any
    ) -> dict[str, Any]:
        """Ask something on the bus as the human gateway."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(within_seconds)
            link.connect(str(orders_socket(self.home)))
            link.sendall(json.dumps({"to": to, "type": type_, "body": body}).encode() + b"\n")
            answer: dict[str, Any] = json.loads(link.makefile().readline())
        return answer

    def start(
        self, address: str, within_seconds: float = DEADLINE_SECONDS, **spec: Any
    ) -> dict[str, Any]:
        """Ask for a child."""
        spec = {"address": address, "kind": "worker", "owner": "human"} | spec
        return self.ask("supervisor", "child.start", within_seconds, spec=spec)

    def stop_child(self, address: str, how: str = "stop") -> dict[str, Any]:
        """Stop a child one way or another."""
        return self.ask("supervisor", "child.stop", address=address, how=how)

    def row(self, address: str) -> dict[str, Any]:
        """Return a child's row of the process table."""
        rows = self.ask("supervisor", "child.list")["children"]
        return next(row for row in rows if row["address"] == address)

    def await_row(self, address: str, **wanted: Any) -> dict[str, Any]:
        """Wait until a child's row has these values."""

        def found() -> dict[str, Any] | None:
            row = self.row(address)
            return row if all(row[key] == value for key, value in wanted.items()) else None

        return until(found, f"{address} with {wanted}")

    def births(self, address: str) -> list[dict[str, Any]]:
        """Return the notes of each incarnation of a probe about its birth."""
        file = self.home / f"{address.replace('/', '.')}.births"
        return [json.loads(line) for line in file.read_text().splitlines()]

    def failures(self) -> list[dict[str, Any]]:
        """Return the `child.failed` messages that the human gateway has received."""
        file = self.home / FAILED
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def events(self, type_: str, entity: str) -> list[dict[str, Any]]:
        """Return the reported events of this type about an entity."""
        file = self.home / EVENTS
        lines = file.read_text().splitlines() if file.exists() else []
        events = [json.loads(line) for line in lines]
        return [one for one in events if (one["type"], one["entity"]) == (type_, entity)]

    def log(self, address: str) -> str:
        """Return the stderr of the processes of an address, '' before the first process."""
        file = self.home / "system" / "logs" / f"{address.replace('/', '.')}.log"
        return file.read_text() if file.exists() else ""

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Signal the supervisor and return its exit code and its stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=DEADLINE_SECONDS)
        return self.process.wait(), errors

    def close_stdin(self) -> None:
        """Close the supervisor's standard input, like the end of its starter."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.stdin = None

    def descendants(self) -> list[psutil.Process]:
        """Return every process below the supervisor."""
        return psutil.Process(self.process.pid).children(recursive=True)


@contextmanager
def running(home: Path, *options: str, **environ: str) -> Iterator[ProbedSupervisor]:
    """Run a supervisor until it is ready; kill its remaining processes at the end."""
    supervisor = ProbedSupervisor(home, *options, **environ)
    family: list[psutil.Process] = []
    try:
        supervisor.await_ready()
        yield supervisor
    finally:
        if supervisor.process.poll() is None:
            family = supervisor.descendants()
            supervisor.process.kill()
        supervisor.process.communicate()
        await_gone(family, "the end of the processes of the test")
        orders_socket(home).unlink(missing_ok=True)
