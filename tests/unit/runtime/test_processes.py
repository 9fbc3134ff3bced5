"""Which processes are killed with others."""

import subprocess

import psutil

from actors.runtime.processes import kill_trees
from tests.integration.house import await_gone


def test_what_a_process_has_started_since_it_was_found_is_killed_with_it() -> None:
    begins = "read _; setsid sleep 300 & echo $!; wait"
    with subprocess.Popen(
        ["sh", "-c", begins], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as shell:
        assert shell.stdin is not None
        assert shell.stdout is not None
        found = [psutil.Process(shell.pid)]
        shell.stdin.write("\n")
        shell.stdin.flush()
        sleeper = psutil.Process(int(shell.stdout.readline()))
        kill_trees(found)
        shell.wait(timeout=30)
    await_gone([sleeper], "what it started is gone")
