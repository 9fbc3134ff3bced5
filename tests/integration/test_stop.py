"""Guaranteed stop: whatever a process does, it ends within its bound and leaves no descendant."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.integration.house import House, all_gone, is_gone, running, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the subreaper of Linux")

LEFT_BEHIND = "setsid sleep 1000.1 & echo $! > left.pid"
HELD = f"{LEFT_BEHIND}; sleep 1000.2"
NAMELESS = "env -i setsid sleep 1000.3 & echo $! > left.pid"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with running(tmp_path) as house:
        yield house


def shelled(house: House, command: str) -> psutil.Process:
    """Start shop/ada with this command; return what it started in another session."""
    house.start("shop/ada", args={"command": command}, shutdown_seconds=1)
    house.await_row("shop/ada", state="ready")
    pid_file = house.home / "left.pid"
    pid = until(
        lambda: pid_file.read_text().strip() if pid_file.exists() else None, "the command runs"
    )
    return psutil.Process(int(pid))


def ended(house: House) -> bool:
    return (house.home / "shop.ada.ended").exists()


@pytest.mark.parametrize("command", [HELD, LEFT_BEHIND, NAMELESS])
@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_stop_takes_what_began_another_session(house: House, command: str, how: str) -> None:
    sleeper = shelled(house, command)
    if command != HELD:
        until(lambda: ended(house), "the command has ended by itself")
    answer = house.stop_child("shop/ada", how)
    assert answer["type"] == "child.stopped"
    if how == "stop":
        assert is_gone(sleeper)
    until(lambda: is_gone(sleeper), "the sleeper is gone")


@pytest.mark.parametrize("command", [HELD, LEFT_BEHIND])
def test_a_crash_takes_what_began_another_session(house: House, command: str) -> None:
    sleeper = shelled(house, command)
    os.kill(house.row("shop/ada")["pid"], signal.SIGKILL)
    until(lambda: is_gone(sleeper), "the sleeper is gone")


@pytest.mark.parametrize("command", [HELD, LEFT_BEHIND])
def test_the_supervisor_killed_with_its_worker_takes_everything_along(
    house: House, command: str
) -> None:
    sleeper = shelled(house, command)
    family = house.descendants()
    os.kill(house.row("shop/ada")["pid"], signal.SIGKILL)
    house.process.kill()
    until(lambda: all_gone([*family, sleeper]), "nothing is left, and no other supervisor came")


def test_a_processor_loop_is_stopped(house: House) -> None:
    house.start("shop/bob", args={"spin": True}, shutdown_seconds=0.3)
    process = psutil.Process(house.await_row("shop/bob", state="ready")["pid"])
    assert house.stop_child("shop/bob")["state"] == "stopped"
    assert is_gone(process)


def test_a_house_of_processes_that_hang_is_taken_down(house: House) -> None:
    for name in ("coordinator", "ada", "bob", "cleo"):
        kind = "coordinator" if name == "coordinator" else "worker"
        house.start(f"shop/{name}", kind=kind, args={"ignore_stop": True}, shutdown_seconds=60)
        house.await_row(f"shop/{name}", state="ready")
    family = house.descendants()
    code, errors = house.end(signal.SIGINT)
    assert code == 0, errors
    assert all_gone(family)


def test_what_a_worker_adopted_and_has_ended_is_no_zombie(tmp_path: Path) -> None:
    (tmp_path / "agiraph.yaml").write_text("supervisor:\n  beat_seconds: 0.1\n")
    with running(tmp_path) as house:
        sleeper = shelled(house, LEFT_BEHIND)
        until(lambda: ended(house), "the command has ended")
        worker = psutil.Process(house.row("shop/ada")["pid"])
        assert sleeper.ppid() == worker.pid
        sleeper.kill()
        until(lambda: not worker.children(), "the worker has waited for it")
