"""Guaranteed stop: whatever a process does, it ends within its bound and leaves no descendant."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from tests.integration.commands_left import HELD, LEFT_BEHIND, NAMELESS, has_ended, shelled
from tests.integration.house import House, is_gone, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the subreaper of Linux")

COMMANDS = {"held": HELD, "left": LEFT_BEHIND, "nameless": NAMELESS}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_stop_takes_what_began_another_session(house: House, command: str, how: str) -> None:
    address = f"{how}/{command}"
    sleeper = shelled(house, address, COMMANDS[command])
    if command != "held":
        until(lambda: has_ended(house, address), "the command has ended by itself")
    answer = house.stop_child(address, how)
    assert answer["type"] == "child.stopped"
    if how == "stop":
        assert is_gone(sleeper)
    until(lambda: is_gone(sleeper), "the sleeper is gone")
    house.stop_child(address, "forget")


@pytest.mark.parametrize("command", ["held", "left"])
def test_a_crash_takes_what_began_another_session(house: House, command: str) -> None:
    address = f"crash/{command}"
    sleeper = shelled(house, address, COMMANDS[command])
    os.kill(house.row(address)["pid"], signal.SIGKILL)
    until(lambda: is_gone(sleeper), "the sleeper is gone")
    house.stop_child(address, "forget")


def test_a_processor_loop_is_stopped(house: House) -> None:
    house.start("loop/bob", args={"spin": True}, shutdown_seconds=0.3)
    process = psutil.Process(house.await_row("loop/bob", state="ready")["pid"])
    assert house.stop_child("loop/bob")["state"] == "stopped"
    assert is_gone(process)


def test_what_a_worker_adopted_and_has_ended_is_no_zombie(house: House) -> None:
    sleeper = shelled(house, "adopts/ada", LEFT_BEHIND)
    until(lambda: has_ended(house, "adopts/ada"), "the command has ended")
    worker = psutil.Process(house.row("adopts/ada")["pid"])
    assert sleeper.ppid() == worker.pid
    sleeper.kill()
    until(lambda: not worker.children(), "the worker has waited for it")
    house.stop_child("adopts/ada")


def test_a_child_that_is_started_while_it_is_stopped_and_forgotten_runs(house: House) -> None:
    address = "again/ada"
    house.start(address, args={"spin": True}, shutdown_seconds=0.5)
    first = house.await_row(address, state="ready")
    with ThreadPoolExecutor(1) as pool:
        forgotten = pool.submit(house.stop_child, address, "forget")
        house.await_row(address, state="stopping")
        assert house.start(address)["type"] == "child.started"
        assert forgotten.result()["type"] == "child.stopped"
    assert house.await_row(address, state="ready")["pid"] != first["pid"]
    house.stop_child(address, "forget")
