"""Guaranteed stop: whatever a process does, it ends within its bound and leaves no descendant."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from tests.integration.commands_left import HELD, LEFT_BEHIND, NAMELESS, has_ended, shelled
from tests.integration.probed_supervisor import ProbedSupervisor
from tests.integration.waiting import is_gone, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the subreaper of Linux")

COMMANDS = {"held": HELD, "left": LEFT_BEHIND, "nameless": NAMELESS}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_stop_kills_processes_of_another_session(
    supervisor: ProbedSupervisor, command: str, how: str
) -> None:
    address = f"{how}/{command}"
    sleeper = shelled(supervisor, address, COMMANDS[command])
    if command != "held":
        until(lambda: has_ended(supervisor, address), "the command has ended by itself")
    answer = supervisor.stop_child(address, how)
    assert answer["type"] == "child.stopped"
    if how == "stop":
        assert is_gone(sleeper)
    until(lambda: is_gone(sleeper), "the sleeper is gone")
    supervisor.stop_child(address, "forget")


@pytest.mark.parametrize("command", ["held", "left"])
def test_crash_kills_processes_of_another_session(
    supervisor: ProbedSupervisor, command: str
) -> None:
    address = f"crash/{command}"
    sleeper = shelled(supervisor, address, COMMANDS[command])
    os.kill(supervisor.row(address)["pid"], signal.SIGKILL)
    until(lambda: is_gone(sleeper), "the sleeper is gone")
    supervisor.stop_child(address, "forget")


def test_a_processor_loop_is_stopped(supervisor: ProbedSupervisor) -> None:
    supervisor.start("loop/bob", args={"spin": True}, shutdown_seconds=0.3)
    process = psutil.Process(supervisor.await_row("loop/bob", state="ready")["pid"])
    assert supervisor.stop_child("loop/bob")["state"] == "stopped"
    assert is_gone(process)


def test_worker_reaps_adopted_processes(supervisor: ProbedSupervisor) -> None:
    sleeper = shelled(supervisor, "adopts/ada", LEFT_BEHIND)
    until(lambda: has_ended(supervisor, "adopts/ada"), "the command has ended")
    worker = psutil.Process(supervisor.row("adopts/ada")["pid"])
    assert sleeper.ppid() == worker.pid
    sleeper.kill()
    until(lambda: not worker.children(), "the worker has reaped it")
    supervisor.stop_child("adopts/ada")


def test_child_started_while_it_is_being_forgotten_runs(
    supervisor: ProbedSupervisor,
) -> None:
    address = "again/ada"
    supervisor.start(address, args={"spin": True}, shutdown_seconds=0.5)
    first = supervisor.await_row(address, state="ready")
    with ThreadPoolExecutor(1) as pool:
        forgotten = pool.submit(supervisor.stop_child, address, "forget")
        supervisor.await_row(address, state="stopping")
        assert supervisor.start(address)["type"] == "child.started"
        assert forgotten.result()["type"] == "child.stopped"
    assert supervisor.await_row(address, state="ready")["pid"] != first["pid"]
    supervisor.stop_child(address, "forget")
