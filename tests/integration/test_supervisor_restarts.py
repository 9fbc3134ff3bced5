"""Supervisors that end in different ways: no process is left, and the next supervisor continues."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.integration.commands_left import HELD, LEFT_BEHIND, shelled
from tests.integration.probed_supervisor import ProbedSupervisor, running
from tests.integration.waiting import all_gone, await_gone, until

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs the subreaper of Linux")


@linux_only
def test_only_forked_agents_continue_under_the_next_supervisor(
    tmp_path: Path,
) -> None:
    settle(tmp_path, "fork")
    with running(tmp_path, "--until-eof") as supervisor:
        start_shop_agents(supervisor)
        family = supervisor.descendants()
        assert len(family) >= 7
        supervisor.close_stdin()
        assert supervisor.process.wait(timeout=30) == 0
        assert all_gone(family)
    with running(tmp_path) as supervisor:
        is_resumed(supervisor, incarnation=2)
        workers_die_with_their_supervisor(supervisor)
    with orphaned_shell(tmp_path) as left, running(tmp_path) as supervisor:
        assert left.wait(timeout=30) == -signal.SIGKILL
        is_resumed(supervisor, incarnation=3)
        hung_supervisor_is_stopped(supervisor)


def test_only_executed_agents_continue_under_the_next_supervisor(
    tmp_path: Path,
) -> None:
    home = tmp_path / ("d" * 100)
    settle(home, "exec")
    with running(home) as supervisor:
        has_a_short_socket(supervisor)
        start_shop_agents(supervisor)
        family = supervisor.descendants()
        assert len(family) >= 7
        code, errors = supervisor.end(signal.SIGTERM)
        assert code == 0, errors
        assert all_gone(family)
    with running(home) as supervisor:
        is_resumed(supervisor, incarnation=2)
        await_stray_process(supervisor)
        supervisor.stop_child("shop/cleo", "forget")
        family = supervisor.descendants()
        supervisor.end(signal.SIGKILL)
        await_gone(family, "the children die with the supervisor")


def settle(home: Path, launch: str) -> None:
    home.mkdir(exist_ok=True)
    (home / "agiraph.yaml").write_text(f"supervisor:\n  launch: {launch}\n")


def has_a_short_socket(supervisor: ProbedSupervisor) -> None:
    """A path as deep as this home's is longer than a socket's may be."""
    url = supervisor.ask("supervisor", "child.attach")["router_url"]
    folder = Path(url.removeprefix("ipc://")).parent
    assert not folder.is_relative_to(supervisor.home)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def start_shop_agents(supervisor: ProbedSupervisor) -> None:
    """Start a team: one of it has a descendant in another session, one was stopped."""
    pid_file = supervisor.home / "stray"
    supervisor.start("shop/coordinator", kind="coordinator", restart="permanent")
    supervisor.start("shop/ada")
    supervisor.start("shop/bob")
    supervisor.start("shop/cleo", args={"stray": str(pid_file)})
    supervisor.await_row("shop/ada", state="ready")
    supervisor.stop_child("shop/bob")
    until(pid_file.exists, "the stray runs")


def await_stray_process(supervisor: ProbedSupervisor) -> None:
    """Wait until the stray process of cleo runs: one that is still being started may survive a stop
    for a moment."""
    until(lambda: "sleep" in map(name_of, supervisor.descendants()), "the stray runs again")


def name_of(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def is_resumed(supervisor: ProbedSupervisor, incarnation: int) -> None:
    """The team works again, except for the stopped worker."""
    supervisor.await_row("shop/coordinator", state="ready", incarnation=incarnation)
    supervisor.await_row("shop/ada", state="ready", incarnation=incarnation)
    assert supervisor.row("shop/bob")["state"] == "stopped"


def workers_die_with_their_supervisor(supervisor: ProbedSupervisor) -> None:
    """Kill the supervisor with two of its workers; the others are killed with it. The exit of a
    supervisor does not end the stray process of a worker, which is stopped before."""
    await_stray_process(supervisor)
    supervisor.stop_child("shop/cleo", "forget")
    sleepers = [
        shelled(supervisor, f"shells/{number}", command)
        for number, command in enumerate((HELD, LEFT_BEHIND))
    ]
    family = supervisor.descendants()
    for number in range(len(sleepers)):
        os.kill(supervisor.row(f"shells/{number}")["pid"], signal.SIGKILL)
    supervisor.process.kill()
    await_gone([*family, *sleepers], "nothing is left, and no other supervisor came")


def hung_supervisor_is_stopped(supervisor: ProbedSupervisor) -> None:
    """Start processes that hang and would be given a minute; an interrupt takes them down."""
    for name in ("coordinator", "ada", "bob", "cleo"):
        kind = "coordinator" if name == "coordinator" else "worker"
        args = {"ignore_stop": True}
        supervisor.start(f"hangs/{name}", kind=kind, args=args, shutdown_seconds=60)
        supervisor.await_row(f"hangs/{name}", state="ready")
    family = supervisor.descendants()
    code, errors = supervisor.end(signal.SIGINT)
    assert code == 0, errors
    assert all_gone(family)


@contextmanager
def orphaned_shell(home: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command as a run of this home would; a command of another home is not affected."""
    run = home / "agents" / "shop" / "runs" / "r1"
    with (
        subprocess.Popen(["sleep", "300"], env={"AGIRAPH_RUN": str(run)}) as ours,
        subprocess.Popen(["sleep", "300"], env={"AGIRAPH_RUN": "/elsewhere"}) as other,
    ):
        try:
            yield ours
            assert other.poll() is None
        finally:
            ours.kill()
            other.kill()


@pytest.mark.parametrize("damage", ["removed", "cut"])
def test_supervisor_without_its_register_continues_above_the_router_incarnations(
    tmp_path: Path, damage: str
) -> None:
    register = tmp_path / "system" / "children.journal"
    (tmp_path / "agents" / "shop").mkdir(parents=True)
    begun = b""
    for _ in range(2):
        with running(tmp_path) as supervisor:
            supervisor.start("shop/ada")
            supervisor.await_row("shop/ada", state="ready")
            supervisor.end(signal.SIGKILL)
        begun = begun or register.read_bytes()
    register.unlink()
    if damage == "cut":
        register.write_bytes(begun[: len(begun) // 2])
    with running(tmp_path) as supervisor:
        rows = supervisor.ask("supervisor", "child.list")["children"]
        assert {row["incarnation"] for row in rows if row["address"] in ("broker", "human")} == {3}
        assert supervisor.start("shop/ada")["incarnation"] == 3
        supervisor.await_row("shop/ada", state="ready")
        _, errors = supervisor.end(signal.SIGTERM)
    assert f"{register} has lost its end" in errors
