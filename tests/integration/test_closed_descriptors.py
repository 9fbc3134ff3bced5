"""Processes that are started without stdin, stdout or stderr, and a home whose path is too long."""

import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from agiraph.storage.home import Home
from agiraph.storage.home_folders import socket_folder
from tests.scenarios.scenario_home import ROOT

CLOSED = {0: "<&-", 1: ">&-", 2: "2>&-"}
SOME = [some for size in (1, 2, 3) for some in combinations(CLOSED, size)]
LOOK = """\
import os, sys
from agiraph.__main__ import open_standard_descriptors as fill
fill()
told = [os.readlink(f"/proc/self/fd/{fd}") for fd in range(3)]
print("out"), print("err", file=sys.stderr), sys.stdin.read()
opened = os.open(sys.argv[1], os.O_WRONLY)
os.write(opened, repr((opened > 2, told)).encode())
"""


def without(some: tuple[int, ...], *command: str) -> list[str]:
    """Return words that run a command with these descriptors closed."""
    return ["sh", "-c", f'exec "$@" {" ".join(CLOSED[one] for one in some)}', "sh", *command]


@pytest.mark.parametrize("some", SOME)
def test_a_descriptor_that_is_closed_is_the_null_device(
    some: tuple[int, ...], tmp_path: Path
) -> None:
    told = tmp_path / "told"
    told.touch()
    command = without(some, sys.executable, "-P", "-c", LOOK, str(told))
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environ, input=b"", capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    is_above, opened = eval(told.read_text())
    assert is_above
    for descriptor in CLOSED:
        assert (opened[descriptor] == "/dev/null") == (descriptor in some)
    assert done.stdout == (b"" if 1 in some else b"out\n")
    assert done.stderr == (b"" if 2 in some else b"err\n")


@pytest.mark.parametrize("some", [(2,), (0, 1, 2)])
def test_command_works_without_standard_descriptors(some: tuple[int, ...], tmp_path: Path) -> None:
    words = ("-P", "-m", "agiraph", "doctor", "--json", "--home", str(tmp_path))
    command = without(some, sys.executable, *words)
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environ, input=b"", capture_output=True, check=False)
    assert done.returncode in (0, 1)
    assert (b"socket path" in done.stdout) == (1 not in some)
    assert done.stderr == b""


def test_supervisor_without_stderr_works_in_a_home_with_a_too_long_path(
    tmp_path: Path,
) -> None:
    home, temporary = tmp_path / ("h" * 110), tmp_path / ("t" * 110)
    home.mkdir()
    temporary.mkdir()
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    environ.pop("XDG_RUNTIME_DIR", None)
    words = ("-m", "agiraph", "_supervisor", "--home", str(home), "--until-eof")
    process = subprocess.Popen(
        without((2,), sys.executable, "-P", *words),
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    folder = socket_folder(Home(home), environ)
    try:
        assert b"agiraph-supervisor ready: " in process.stdout.readline()
        assert (folder / "router.sock").is_socket()
        assert os.readlink(f"/proc/{process.pid}/fd/2") == os.devnull
    finally:
        process.stdin.close()
        assert process.wait(60) == 0
        process.stdout.close()
    assert not folder.exists()
