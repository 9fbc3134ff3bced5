"""Joining hosts: invitations work once and expire, names and keys belong to one host."""

import socket
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import zmq

from actors.supervisor.host_registry import LAST_SECONDS, HostRegistry
from actors.supervisor.host_requests import reachable
from actors.supervisor.hosts import check_version
from agiraph import __version__
from agiraph.core.errors import AgiraphError, Refused
from agiraph.core.hosts import MachineFacts, read_invitation
from agiraph.messages.host import InviteHost, JoinHost
from agiraph.storage.home import Home

FACTS = MachineFacts(version=__version__)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def registry(folder: Path, clock: Clock | None = None) -> HostRegistry:
    return HostRegistry(Home(folder), clock or Clock())


def join(name: str, key: str = "") -> JoinHost:
    public = key or zmq.curve_keypair()[0].decode()
    return JoinHost(name=name, public_key=public, labels=("own",), facts=FACTS)


def invite(hosts: HostRegistry, name: str | None = None, seconds: float = 60.0) -> str:
    """Return the id of a new invitation."""
    asked = InviteHost(name=name, labels=("given",), seconds=seconds)
    line = hosts.invite(asked, "tcp://home:7400").line
    return read_invitation(line, 1000.0).id


def test_an_invitation_admits_one_host_once_also_after_a_restart(tmp_path: Path) -> None:
    clock = Clock()
    first = registry(tmp_path, clock)
    id = invite(first)
    assert f"invite/{id}" in first.known().values()
    again = registry(tmp_path, clock)
    asked = join("north")
    assert again.admit(id, asked).labels == ("given", "own")
    assert again.admit(id, asked).name == "north"  # its answer was lost
    with pytest.raises(Refused, match="was used, or has expired"):
        again.admit(id, join("south"))
    assert f"invite/{id}" in again.known().values()  # it waits for its answer
    clock.now += LAST_SECONDS
    assert set(again.known().values()) == {"host/north"}
    assert registry(tmp_path, clock).known() == {asked.public_key: "host/north"}
    again.remove("north")
    clock.now += LAST_SECONDS
    assert again.known() == {}


def test_an_invitation_is_used_once_under_its_own_name_too(tmp_path: Path) -> None:
    hosts = registry(tmp_path)
    id = invite(hosts, "north")
    other = invite(hosts, "south")
    first = join("north")
    hosts.admit(id, first)
    for again in (hosts, registry(tmp_path)):
        for invitation in (id, other):
            with pytest.raises(Refused):
                again.admit(invitation, join("north"))
        assert again.hosts["north"].public_key == first.public_key
    hosts.remove("north")
    for again in (hosts, registry(tmp_path)):
        with pytest.raises(Refused, match="was used, or has expired"):
            again.admit(id, join("north"))


def test_labels_requested_by_a_host_are_validated_and_bounded(tmp_path: Path) -> None:
    hosts = registry(tmp_path)
    for labels in (("\x1b[2J",), ("Big Label",), tuple(f"l{n}" for n in range(65))):
        asked = join("north").model_copy(update={"labels": labels})
        with pytest.raises(AgiraphError, match="label"):
            hosts.admit(invite(hosts), asked)
    with pytest.raises(ValueError, match="at most 500"):
        MachineFacts(version="x" * 1000)


def test_an_invitation_expires(tmp_path: Path) -> None:
    clock = Clock()
    hosts = registry(tmp_path, clock)
    id = invite(hosts, seconds=10)
    clock.now += 10
    assert hosts.known() == {}
    with pytest.raises(Refused, match="was used, or has expired"):
        hosts.admit(id, join("north"))


def test_a_name_and_a_key_belong_to_one_host(tmp_path: Path) -> None:
    hosts = registry(tmp_path)
    key = hosts.admit(invite(hosts, "north"), join("north")).public_key
    with pytest.raises(Refused, match="is for a host named 'east', not 'west'"):
        hosts.admit(invite(hosts, "east"), join("west"))
    for asked, said in (
        (join("north"), "there is a host 'north' already"),
        (join("west", key), "needs a CURVE key of its own"),
        (join("west", hosts.uplink_key().public), "needs a CURVE key of its own"),
        (join("home"), "the home's own machine"),
        (join("../x"), "cannot be the name of a host"),
    ):
        with pytest.raises(AgiraphError, match=said):
            hosts.admit(invite(hosts), asked)
    with pytest.raises(Refused, match="there is a host 'north' already"):
        invite(hosts, "north")


def test_the_homes_key_stays_and_is_private(tmp_path: Path) -> None:
    key = registry(tmp_path).uplink_key()
    assert registry(tmp_path).uplink_key() == key
    assert Home(tmp_path).system.uplink_key.stat().st_mode & 0o777 == 0o600


def test_another_minor_version_is_refused_by_name() -> None:
    check_version("north", FACTS)
    with pytest.raises(Refused, match=f"host 'north' has Agiraph 9.9.1, this home {__version__}"):
        check_version("north", MachineFacts(version="9.9.1"))


def test_a_home_without_a_way_to_other_networks_is_reached_in_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unreachable(*_: object) -> None:
        raise OSError("no route")

    assert reachable("tcp://192.0.2.7:7400") == "tcp://192.0.2.7:7400"
    stats = {name: SimpleNamespace(isup=name != "off0") for name in ("lo", "off0", "wan0")}
    addresses = {
        name: [SimpleNamespace(family=socket.AF_INET, address=address)]
        for name, address in zip(stats, ("127.0.0.1", "192.0.2.1", "192.0.2.2"), strict=True)
    }
    monkeypatch.setattr(socket.socket, "connect", unreachable)
    monkeypatch.setattr(psutil, "net_if_stats", lambda: stats)
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: addresses)
    for anywhere in ("0.0.0.0", "[::]", "*"):
        assert reachable(f"tcp://{anywhere}:7400") == "tcp://192.0.2.2:7400"
