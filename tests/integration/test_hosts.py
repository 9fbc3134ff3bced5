"""A home of three machines: where workers start, how they are moved, and what becomes of them when
a machine is lost, drained or removed, and when the supervisor is killed.
"""

import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.house import House, await_gone, is_gone, running, until
from tests.integration.machine import Machine, await_host, invited, running_host

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
    hosts = f"{{listen: '{listen}', lease_seconds: 3, renew_seconds: 0.3, default_host: later}}"
    (home / "agiraph.yaml").write_text(f"hosts: {hosts}\n")
    return home


@pytest.fixture(scope="module")
def house(home: Path) -> Iterator[House]:
    with running(home) as house:
        yield house


@pytest.fixture(scope="module")
def machines(house: House, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The folders of two hosts that have joined; `north` is big."""
    folders = {name: tmp_path_factory.mktemp("machines") / name for name in NAMES}
    for name, folder in folders.items():
        line = invited(house, name=name, labels=("big",) if name == "north" else ())
        with running_host(folder, AGIRAPH_INVITATION=line) as machine:
            await_host(house, name, state="ready")
            assert machine.end() == 0
    return folders


@pytest.fixture
def north(house: House, machines: dict[str, Path]) -> Iterator[Machine]:
    with running_host(machines["north"]) as machine:
        await_host(house, "north", state="ready")
        yield machine


@pytest.fixture
def south(house: House, machines: dict[str, Path]) -> Iterator[Machine]:
    with running_host(machines["south"]) as machine:
        await_host(house, "south", state="ready")
        yield machine


def move(house: House, address: str, host: str = "") -> dict[str, Any]:
    return house.ask("supervisor", "child.move", address=address, host=host)


def change(house: House, name: str, how: str, **more: Any) -> dict[str, Any]:
    return house.ask("supervisor", "host.change", name=name, how=how, **more)


def test_a_worker_is_moved_as_asked_and_who_cannot_be_moved_stays(
    house: House, north: Machine, south: Machine
) -> None:
    house.start("shop/bea", labels=("big",))
    bea = house.await_row("shop/bea", state="ready", host="north")
    told = move(house, "shop/bea", "south")
    assert "machine 'south' does not have the label big" in told["reason"]
    house.start("shop/boss", kind="coordinator")
    assert "only workers can be moved" in move(house, "shop/boss", "south")["reason"]
    assert "unknown machine 'west'" in house.start("shop/bob", host="west")["reason"]

    with suppress(OSError, ValueError):  # the answer comes when it has a place
        house.start("shop/lea", within_seconds=0.2, host="later")
    house.await_row("shop/lea", state="backing_off", cause=DEFAULT_IS_AWAY)
    house.stop_child("shop/lea", "forget")

    house.start("shop/dan", host="north")
    house.await_row("shop/dan", state="ready", host="north")
    told = move(house, "shop/dan", "south")
    assert told.get("incarnation") == 2, told
    house.ask("shop/dan", "text", content="hello", from_name="you", from_id="human", mode="steer")
    dan = house.await_row("shop/dan", state="ready", host="south", incarnation=2)
    assert (dan["restarts"], dan["cause"]) == (0, None)
    heard = south.home / "heard.txt"
    until(lambda: heard.exists() and heard.read_text() == "shop/dan: hello\n", "it hears")
    moved = until(lambda: house.events("child.moved", "shop/dan"), "it is told")
    assert moved[0]["data"].items() >= {"from": "north", "to": "south"}.items()
    assert move(house, "shop/dan", "home")["incarnation"] == 3
    house.await_row("shop/dan", state="ready", host="")
    assert house.row("shop/bea")["pid"] == bea["pid"]
    house.stop_child("shop/dan", "forget")


def test_what_ran_on_a_lost_machine_is_started_elsewhere_once_its_lease_has_ended(
    house: House, north: Machine, south: Machine
) -> None:
    house.start("shop/eva")
    move(house, "shop/eva", "south")
    eva = house.await_row("shop/eva", state="ready", host="south")
    house.start("shop/fay", host="south")
    house.await_row("shop/fay", state="ready", host="south")
    family = south.family()
    for process in family:
        process.send_signal(signal.SIGSTOP)  # as if a cable was cut: nobody says goodbye

    def is_back() -> bool:
        row, host = house.row("shop/eva"), await_host(house, "south")
        if row["incarnation"] == eva["incarnation"]:
            return False
        assert (host["state"], host["lease_seconds"]) == ("lost", 0)
        return bool(row["state"] == "ready")

    until(is_back, "eva works elsewhere")
    row = house.row("shop/eva")
    assert row["host"] != "south"
    assert row["cause"] == "its machine 'south' cannot be reached, and its lease has ended"
    fay = house.await_row("shop/fay", state="backing_off")
    assert fay["cause"] == "it waits for south, which cannot be reached or takes no new work"
    until(lambda: house.events("host.lost", "host/south"), "it is told")
    for process in reversed(family):
        process.kill()
    await_gone(family, "the machine is off")
    with running_host(south.folder.path):
        house.await_row("shop/fay", state="ready", host="south")
        until(lambda: house.events("host.back", "host/south"), "it is told")
    for address in ("shop/eva", "shop/fay"):
        house.stop_child(address, "forget")


def test_a_machine_is_drained_and_removed(house: House, north: Machine, south: Machine) -> None:
    house.start("shop/gil")
    house.await_row("shop/gil", state="ready")
    told = move(house, "shop/gil", "north")
    assert "incarnation" in told or "is on 'north'" in told.get("reason", ""), told
    house.await_row("shop/gil", state="ready", host="north")
    told = change(house, "north", "drain")
    assert "'north' is cordoned, but not empty: shop/bea cannot be moved" in told["reason"]
    gil = house.await_row("shop/gil", state="ready")
    assert gil["host"] != "north"
    assert house.row("shop/bea")["host"] == "north"
    assert "takes no new work" in move(house, "shop/gil", "north")["reason"]
    change(house, "north", "uncordon")
    move(house, "shop/gil", "south")
    process = psutil.Process(house.await_row("shop/gil", state="ready", host="south")["pid"])
    house.start("shop/hal", host="south")
    house.await_row("shop/hal", state="ready", host="south")
    told = change(house, "south", "remove")["reason"]
    assert "shop/hal asks for 'south' by name: `agiraph move shop/hal HOST`" in told
    assert "`agiraph host remove south --force`" in told
    gil = house.await_row("shop/gil", state="ready")
    assert gil["host"] != "south", "what can be moved was moved"
    left = change(house, "south", "remove", force=True)["hosts"]
    assert [row["name"] for row in left] == ["north"]
    cause = "there is no machine 'south' (known: home, north)"
    house.await_row("shop/hal", state="backing_off", cause=cause)
    house.stop_child("shop/hal", "forget")
    assert is_gone(process)
    house.await_row("shop/gil", state="ready")
    south.await_said("does not know this host's key")
    house.stop_child("shop/gil", "forget")


def test_the_next_supervisor_starts_nothing_twice(house: House, home: Path, north: Machine) -> None:
    row = house.await_row("shop/bea", state="ready", host="north")
    old = psutil.Process(row["pid"])
    house.end(signal.SIGKILL)
    with running(home) as following:
        following.await_row("shop/bea", state="ready", host="north")
        assert is_gone(old)
        assert following.row("shop/bea")["incarnation"] > row["incarnation"]
