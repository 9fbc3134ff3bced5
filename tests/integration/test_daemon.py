"""`agiraph-supervisor --daemon` and SIGHUP, through the real command."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from agiraph.http.client import Client
from agiraph.http.discovery import is_held
from tests.integration.commands import Commands, await_nothing_left
from tests.integration.waiting import until


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    home = tmp_path / "home"
    yield home
    if is_held(home):
        os.kill(holder(home), signal.SIGTERM)
    await_nothing_left(home)


def daemon(home: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    return Commands(home).run("_supervisor", "--daemon", *options)


def holder(home: Path) -> int:
    return int((home / "system" / "lock").read_text())


def test_daemon_returns_when_ready_and_stops_in_order_on_a_hangup(home: Path) -> None:
    begun = Commands(home).program("_supervisor", "--daemon")
    assert (begun.returncode, begun.stderr) == (0, "")
    log = home / "system" / "logs" / "supervisor.log"
    pid = holder(home)
    with Client.for_home(home) as client:
        url = client.url
        assert client.health().agents == 0
    assert begun.stdout == (
        f"agiraph-supervisor runs: pid {pid}, home {home}, API {url}, log {log}\n"
    )
    supervisor = psutil.Process(pid)
    assert os.getsid(pid) == pid
    assert supervisor.terminal() is None

    second = daemon(home)
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr == f"home {home} is held by supervisor pid {pid}\n"

    family = supervisor.children(recursive=True)
    supervisor.send_signal(signal.SIGHUP)
    until(lambda: not any(one.is_running() for one in (supervisor, *family)), "all have ended")
    assert not is_held(home)
    assert not (home / "human" / "address.json").exists()
    assert "child=human" in log.read_text().rpartition("stopped")[0]


def test_failed_start_of_a_daemon_names_the_reason(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        begun = daemon(home, "--http", f"127.0.0.1:{port}")
    assert (begun.returncode, begun.stdout) == (70, "")
    assert begun.stderr.startswith("agiraph-supervisor did not start: gave up: human does not")
    assert str(port) in begun.stderr
    assert begun.stderr.endswith("supervisor.log)\n")
    assert not is_held(home)


def test_options_that_exclude_each_other_are_refused(home: Path) -> None:
    begun = daemon(home, "--until-eof")
    assert (begun.returncode, begun.stderr) == (2, "--daemon and --until-eof exclude each other\n")
    assert not home.exists()
