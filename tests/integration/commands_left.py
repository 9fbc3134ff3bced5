"""Commands of a worker that leave a process behind, each in a session of its own.

A command's runner kills all processes that its command started, so two of them kill their runner.
"""

import psutil

from tests.integration.probed_supervisor import ProbedSupervisor
from tests.integration.waiting import until

HELD = "setsid sleep 1000.1 & echo $! > {}; sleep 1000.2"
LEFT_BEHIND = "setsid sleep 1000.1 & echo $! > {}; kill -9 $PPID"
NAMELESS = "env -i setsid sleep 1000.3 & echo $! > {}; kill -9 $PPID"


def shelled(supervisor: ProbedSupervisor, address: str, command: str) -> psutil.Process:
    """Start a worker with this command; return the process that it started in another session."""
    pid_file = supervisor.home / f"{address.replace('/', '.')}.pid"
    supervisor.start(address, args={"command": command.format(pid_file)}, shutdown_seconds=1)
    supervisor.await_row(address, state="ready")
    pid = until(
        lambda: pid_file.read_text().strip() if pid_file.exists() else None, "the command runs"
    )
    return psutil.Process(int(pid))


def has_ended(supervisor: ProbedSupervisor, address: str) -> bool:
    """Whether the command of a worker has ended by itself."""
    return (supervisor.home / f"{address.replace('/', '.')}.ended").exists()
