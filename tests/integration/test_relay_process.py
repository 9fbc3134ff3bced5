"""The relay's process: it kills a hung host, and exits when its host exits."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

HOST = """
import os, signal, sys
from pathlib import Path
from actors.host.relay import RelayProcess
from transport.sockets import UplinkTarget
from transport.watchdog import steady_seconds
import zmq
public, secret = (key.decode() for key in zmq.curve_keypair())
target = UplinkTarget("tcp://127.0.0.1:9", public, public, secret)
folder = Path(sys.argv[1])
relay = RelayProcess.start(f"ipc://{folder}/run/relay", target, dict(os.environ), folder / "log")
print(relay.pid, flush=True)
relay.allow_until(steady_seconds() + float(sys.argv[2]))
os.kill(os.getpid(), getattr(signal, sys.argv[3]))
"""


def run_host(folder: Path, seconds: float, end: str) -> tuple[int, psutil.Process]:
    """Run a host that hangs or exits; return its exit and its relay."""
    words = [sys.executable, "-c", HOST, str(folder), str(seconds), end]
    root = Path(__file__).parents[2]
    environ = {**os.environ, "PYTHONPATH": str(root)}
    host = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environ, cwd=root)
    assert host.stdout is not None
    relay = psutil.Process(int(host.stdout.readline()))
    host.stdout.close()
    return host.wait(60), relay


def test_a_host_that_hangs_is_killed_when_its_lease_is_over(tmp_path: Path) -> None:
    code, relay = run_host(tmp_path, 1.0, "SIGSTOP")
    assert code == -signal.SIGKILL
    assert psutil.wait_procs([relay], 30)[1] == []


def test_a_relay_ends_with_its_host(tmp_path: Path) -> None:
    _, relay = run_host(tmp_path, 3600, "SIGKILL")
    assert psutil.wait_procs([relay], 30)[1] == []
