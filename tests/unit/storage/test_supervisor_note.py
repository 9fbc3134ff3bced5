"""Which process holds a home, as other processes see it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agiraph.storage.home import Home
from agiraph.storage.supervisor_note import pid_here

HOLDER = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_EX)
print(os.getpid(), flush=True)
sys.stdin.read()
"""


@contextmanager
def held(home: Home, *prefix: str) -> Iterator[subprocess.Popen[str]]:
    """Have a process hold a home."""
    home.system.path.mkdir(parents=True)
    words = [*prefix, sys.executable, "-c", HOLDER, str(home.system.path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield process


def test_holder_is_the_process_that_wrote_its_pid(tmp_path: Path) -> None:
    with held(Home(tmp_path)) as process:
        assert pid_here(process.pid, Home(tmp_path).system.path) == process.pid


def test_pid_of_another_process_is_not_the_holder(tmp_path: Path) -> None:
    with held(Home(tmp_path)):
        assert pid_here(os.getpid(), Home(tmp_path).system.path) is None


def test_holder_in_a_container_is_known_by_its_pid_outside(tmp_path: Path) -> None:
    words = ("unshare", "-Umrpf")
    if subprocess.run([*words, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no PID namespaces here")
    with held(Home(tmp_path), *words) as process:
        found = pid_here(1, Home(tmp_path).system.path)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert [str(found)] == children
