"""A home of three machines: where workers start, how they are moved, and how they continue when a
machine is lost, drained or removed, and when the supervisor is killed."""

import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.machine import Machine, await_host, invited, running_host
from tests.integration.probed_supervisor import ProbedSupervisor, running
from tests.integration.waiting import await_gone, is_gone, until

NAMES = ("north", "south")
DEFAULT_IS_AWAY = "there is no machine 'later' (known: home, north, south)"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    listen = f"tcp://127.0.0.1:{free_port()}"
    hosts = f"{{listen: '{listen}', lease_seconds: 5, renew_seconds: 1, default_host: later}}"
    (home / "agiraph.yaml").write_text(f"hosts: {hosts}\n")
    return home


@pytest.fixture(scope="module")
def supervisor(home: Path) -> Iterator[ProbedSupervisor]:
    with running(home) as supervisor:
        yield supervisor


@pytest.fixture(scope="module")
def machines(
    supervisor: ProbedSupervisor, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The folders of two hosts that have joined; `north` is big."""
    folders = {name: tmp_path_factory.mktemp("machines") / name for name in NAMES}
    for name, folder in folders.items():
        line = invited(supervisor, name=name, labels=("big",) if name == "north" else ())
        with running_host(folder, AGIRAPH_INVITATION=line) as machine:
            await_host(supervisor, name, state="ready")
            assert machine.end() == 0
    return folders


@pytest.fixture
def north(supervisor: ProbedSupervisor, machines: dict[str, Path]) -> Iterator[Machine]:
    with running_host(machines["north"]) as machine:
        await_host(supervisor, "north", state="ready")
        yield machine


@pytest.fixture
def south(supervisor: ProbedSupervisor, machines: dict[str, Path]) -> Iterator[Machine]:
    with running_host(machines["south"]) as machine:
        await_host(supervisor, "south", state="ready")
        yield machine


def move(supervisor: ProbedSupervisor, address: str, host: str = "") -> dict[str, Any]:
    return supervisor.ask("supervisor", "child.move", address=address, host=host)


def change(supervisor: ProbedSupervisor, name: str, how: str, **more: Any) -> dict[str, Any]:
    return supervisor.ask("supervisor", "host.change", name=name, how=how, **more)


def test_worker_is_moved_on_request_and_an_immovable_one_stays(
    supervisor: ProbedSupervisor, north: Machine, south: Machine
) -> None:
    supervisor.start("shop/bea", labels=("big",))
    bea = supervisor.await_row("shop/bea", state="ready", host="north")
    told = move(supervisor, "shop/bea", "south")
    assert "machine 'south' does not have the label big" in told["reason"]
    supervisor.start("shop/boss", kind="coordinator")
    assert "only workers can be moved" in move(supervisor, "shop/boss", "south")["reason"]
    assert "unknown machine 'west'" in supervisor.start("shop/bob", host="west")["reason"]

    with suppress(OSError, ValueError):  # the answer comes when it has a place
        supervisor.start("shop/lea", within_seconds=0.2, host="later")
    supervisor.await_row("shop/lea", state="backing_off", cause=DEFAULT_IS_AWAY)
    supervisor.stop_child("shop/lea", "forget")

    supervisor.start("shop/dan", host="north")
    supervisor.await_row("shop/dan", state="ready", host="north")
    told = move(supervisor, "shop/dan", "south")
    assert told.get("incarnation") == 2, told
    supervisor.ask(
        "shop/dan", "text", content="hello", from_name="you", from_id="human", mode="steer"
    )
    dan = supervisor.await_row("shop/dan", state="ready", host="south", incarnation=2)
    assert (dan["restarts"], dan["cause"]) == (0, None)
    heard = south.home / "heard.txt"
    until(lambda: heard.exists() and heard.read_text() == "shop/dan: hello\n", "it hears")
    moved = until(lambda: supervisor.events("child.moved", "shop/dan"), "the report")
    assert moved[0]["data"].items() >= {"from": "north", "to": "south"}.items()
    assert move(supervisor, "shop/dan", "home")["incarnation"] == 3
    supervisor.await_row("shop/dan", state="ready", host="")
    assert supervisor.row("shop/bea")["pid"] == bea["pid"]
    supervisor.stop_child("shop/dan", "forget")


def test_workers_of_a_lost_machine_are_started_elsewhere_once_its_lease_has_ended(
    supervisor: ProbedSupervisor, north: Machine, south: Machine
) -> None:
    supervisor.start("shop/eva")
    move(supervisor, "shop/eva", "south")
    eva = supervisor.await_row("shop/eva", state="ready", host="south")
    supervisor.start("shop/fay", host="south")
    supervisor.await_row("shop/fay", state="ready", host="south")
    family = south.family()
    for process in family:
        process.send_signal(signal.SIGSTOP)  # as if a cable was cut: no connection is closed

    def is_back() -> bool:
        row, host = supervisor.row("shop/eva"), await_host(supervisor, "south")
        if row["incarnation"] == eva["incarnation"]:
            return False
        assert (host["state"], host["lease_seconds"]) == ("lost", 0)
        return bool(row["state"] == "ready")

    until(is_back, "eva works elsewhere")
    row = supervisor.row("shop/eva")
    assert row["host"] != "south"
    assert row["cause"] == "its machine 'south' cannot be reached, and its lease has ended"
    fay = supervisor.await_row("shop/fay", state="backing_off")
    assert fay["cause"] == "it waits for south, which cannot be reached or takes no new work"
    until(lambda: supervisor.events("host.lost", "host/south"), "the report")
    for process in reversed(family):
        process.kill()
    await_gone(family, "the machine is off")
    with running_host(south.folder.path):
        supervisor.await_row("shop/fay", state="ready", host="south")
        until(lambda: supervisor.events("host.back", "host/south"), "the report")
    for address in ("shop/eva", "shop/fay"):
        supervisor.stop_child(address, "forget")


def test_a_machine_is_drained_and_removed(
    supervisor: ProbedSupervisor, north: Machine, south: Machine
) -> None:
    supervisor.start("shop/gil")
    supervisor.await_row("shop/gil", state="ready")

    def is_there() -> bool:
        told = move(supervisor, "shop/gil", "north")
        return "incarnation" in told or "is on 'north'" in told.get("reason", "")

    until(is_there, "north can be reached, and gil is moved there")
    supervisor.await_row("shop/gil", state="ready", host="north")
    told = change(supervisor, "north", "drain")
    assert "'north' is cordoned, but not empty: shop/bea cannot be moved" in told["reason"]
    gil = supervisor.await_row("shop/gil", state="ready")
    assert gil["host"] != "north"
    assert supervisor.row("shop/bea")["host"] == "north"
    assert "takes no new work" in move(supervisor, "shop/gil", "north")["reason"]
    change(supervisor, "north", "uncordon")
    move(supervisor, "shop/gil", "south")
    process = psutil.Process(supervisor.await_row("shop/gil", state="ready", host="south")["pid"])
    supervisor.start("shop/hal", host="south")
    supervisor.await_row("shop/hal", state="ready", host="south")
    told = change(supervisor, "south", "remove")["reason"]
    assert "shop/hal asks for 'south' by name: `agiraph move shop/hal HOST`" in told
    assert "`agiraph host remove south --force`" in told
    gil = supervisor.await_row("shop/gil", state="ready")
    assert gil["host"] != "south", "what can be moved was moved"
    left = change(supervisor, "south", "remove", force=True)["hosts"]
    assert [row["name"] for row in left] == ["north"]
    cause = "there is no machine 'south' (known: home, north)"
    supervisor.await_row("shop/hal", state="backing_off", cause=cause)
    supervisor.stop_child("shop/hal", "forget")
    assert is_gone(process)
    supervisor.await_row("shop/gil", state="ready")
    south.await_said("does not know this host's key")
    supervisor.stop_child("shop/gil", "forget")


def test_the_next_supervisor_starts_nothing_twice(
    supervisor: ProbedSupervisor, home: Path, north: Machine
) -> None:
    row = supervisor.await_row("shop/bea", state="ready", host="north")
    old = psutil.Process(row["pid"])
    supervisor.end(signal.SIGKILL)
    with running(home) as following:
        following.await_row("shop/bea", state="ready", host="north")
        assert is_gone(old)
        assert following.row("shop/bea")["incarnation"] > row["incarnation"]
