"""A host with a real home: it joins, runs a worker, fences itself, and leaves nothing behind."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from actors.supervisor.hang_watch import WAITS_FOR_ROOM
from agiraph.storage.disk_space import WAITS
from tests.integration.machine import (
    LISTENS,
    Machine,
    await_host,
    invited,
    running_host,
)
from tests.integration.probed_supervisor import ProbedSupervisor, running
from tests.integration.waiting import all_gone, await_gone, is_gone, until

ADA = "shop/ada"


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProbedSupervisor]:
    home = tmp_path_factory.mktemp("home")
    (home / "agiraph.yaml").write_text(LISTENS)
    with running(home) as running_house:
        yield running_house


@pytest.fixture(scope="module")
def folder(supervisor: ProbedSupervisor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the host `north`, which joins by its environment, as a container does."""
    folder = tmp_path_factory.mktemp("machine") / "north"
    line = invited(supervisor, name="north", labels=("quiet",))
    with running_host(folder, AGIRAPH_INVITATION=line, AGIRAPH_HOST_LABELS="big") as machine:
        await_host(supervisor, "north", state="ready")
        assert machine.end() == 0
    with running_host(folder.with_name("south"), AGIRAPH_INVITATION=line) as other:
        assert other.process.wait(30) == 1
        assert "was used" in other.said
        assert not other.folder.has_joined
    return folder


@pytest.fixture
def machine(supervisor: ProbedSupervisor, folder: Path) -> Iterator[Machine]:
    with running_host(folder, NORTH_API_KEY="k-1", AGIRAPH_INVITATION="used") as machine:
        row = await_host(supervisor, "north", state="ready")
        assert {"quiet", "big", "linux"} <= {*row["labels"]}
        yield machine


def process_of(machine: Machine, supervisor: ProbedSupervisor, *, but: int = 0) -> psutil.Process:
    """Return the process that ADA has here, another one than `but`, once it is ready."""

    def found() -> psutil.Process | None:
        row = supervisor.row(ADA)
        if (row["state"], row["host"]) != ("ready", "north") or row["pid"] == but:
            return None
        return next((one for one in machine.family() if one.pid == row["pid"]), None)

    return until(found, f"{ADA} runs here")


def test_worker_runs_on_the_host_and_its_end_is_reported_home(
    supervisor: ProbedSupervisor, machine: Machine
) -> None:
    assert supervisor.start(ADA, host="north")["type"] == "child.started"
    first = process_of(machine, supervisor)
    environ = json.loads(machine.births(ADA)[0])["environ"]
    assert not {"NORTH_API_KEY", "AGIRAPH_INVITATION"} & environ.keys()
    assert first.ppid() == machine.process.pid
    os.kill(first.pid, signal.SIGKILL)
    second = process_of(machine, supervisor, but=first.pid)
    assert supervisor.row(ADA)["restarts"] == 1
    assert "SIGKILL" in supervisor.row(ADA)["cause"]
    room = machine.home / "room"
    supervisor.start("shop/eli", host="north", args={"room": str(room)})
    until(
        lambda: supervisor.row("shop/eli")["doing"]["state"] == WAITS_FOR_ROOM.state,
        "the supervisor knows that it waits for room",
    )
    room.touch()
    until(lambda: supervisor.row("shop/eli")["doing"]["step"] != WAITS, "the process continues")
    supervisor.stop_child("shop/eli", "forget")
    family = machine.family()
    assert machine.end() == 0
    assert is_gone(second)
    assert all_gone(family)


def test_expired_lease_kills_only_the_processes_of_the_host(
    supervisor: ProbedSupervisor, machine: Machine
) -> None:
    process = process_of(machine, supervisor)
    router = psutil.Process(supervisor.row("router")["pid"])
    router.suspend()
    try:
        machine.await_said("the lease has ended: killed 1 processes")
        assert is_gone(process)
    finally:
        router.resume()
    process_of(machine, supervisor, but=process.pid)
    assert machine.said.count("works for the home") >= 2


def test_hung_host_process_is_killed_with_its_children(
    supervisor: ProbedSupervisor, machine: Machine
) -> None:
    process_of(machine, supervisor)
    family = machine.family()
    os.kill(machine.process.pid, signal.SIGSTOP)
    await_gone(family, "the end of all processes of the host")
    await_host(supervisor, "north", state="lost")
