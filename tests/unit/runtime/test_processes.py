"""Which processes are killed with others."""

import subprocess
import sys

import psutil

from actors.runtime.processes import descendants, kill_trees
from tests.integration.waiting import await_gone, until


def test_descendants_are_listed_regardless_of_the_starting_thread() -> None:
    begins = "import subprocess, threading\nend = ['sh', '-c', 'echo; read _; sleep 300 & wait']\n"
    begins += "threading.Thread(target=subprocess.run, args=(end,)).start()"
    with subprocess.Popen(
        [sys.executable, "-c", begins], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdout.readline()
        [shell] = descendants(program.pid)
        assert descendants(shell.pid) == []
        program.stdin.write(b"\n")
        program.stdin.flush()
        until(lambda: len(descendants(program.pid)) == 2, "the shell has begun another")
        [sleeper] = descendants(shell.pid)
        kill_trees([psutil.Process(program.pid)])
    await_gone([shell, sleeper], "all have ended")
    assert descendants(shell.pid) == []


def test_children_started_after_the_listing_are_killed_too() -> None:
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
    await_gone([sleeper], "the end of its descendants")
