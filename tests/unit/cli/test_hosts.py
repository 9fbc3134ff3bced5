"""Other machines on the command line: listed, invited, controlled, and in other outputs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import zmq
from click.testing import CliRunner

from actors.supervisor.host_registry import HostRegistry
from actors.supervisor.main import load, options_again, with_options
from agiraph import __version__
from agiraph.core.hosts import HostInfo, MachineFacts, read_invitation
from agiraph.http.api import (
    EntityView,
    HostsView,
    InvitationView,
    InviteHostRequest,
    LabelHostRequest,
    MovedEntityView,
)
from agiraph.messages.host import InviteHost, JoinHost
from agiraph.storage.home import Home
from cli.console.entities import top_rows
from cli.doctor_checks.hosts import wrong_with
from cli.main import agiraph
from tests.unit.cli.fakes import FakeClient, command, json_of

FACTS = MachineFacts(version=__version__, cores=8, memory_bytes=16_000_000_000)
NORTH = HostInfo(
    name="north",
    state="ready",
    is_cordoned=True,
    labels=("gpu",),
    facts=FACTS,
    processes=3,
    load=1.25,
    free_memory_bytes=9_000_000_000,
    latency_seconds=0.012,
    skew_seconds=-0.2,
    lease_seconds=14,
)
FAR = EntityView(
    address="survey-3fa9c1/ada-1", kind="worker", name="Ada", state="busy", host="north"
)


@dataclass
class HostClient(FakeClient):
    """A home with one host."""

    listens_at: str = "tcp://0.0.0.0:7400"
    problem: str = ""

    def hosts(self) -> HostsView:
        found = (NORTH,) if self.listens_at else ()
        return HostsView(hosts=found, listens_at=self.listens_at, problem=self.problem)

    def invite_host(self, invitation: InviteHostRequest) -> InvitationView:
        self.did.append(("invite", invitation))
        return InvitationView(line="agiraph-invitation:1:abc", expires_at=60)

    def steer_host(self, host: str, act: str) -> HostsView:
        self.did.append((act, host))
        return self.hosts()

    def label_host(self, host: str, labels: LabelHostRequest) -> HostsView:
        self.did.append(("label", host, labels.labels))
        return self.hosts()

    def remove_host(self, host: str, *, force: bool = False) -> HostsView:
        self.did.append(("force" if force else "remove", host))
        return self.hosts()

    def move(self, entity: str, *, host: str | None = None) -> MovedEntityView:
        self.did.append(("move", entity, host))
        return MovedEntityView(address="survey-3fa9c1/ada-1", host=host or "home", incarnation=2)

    def entities(self) -> list[EntityView]:
        return [one.model_copy(update={"host": "atlas"}) for one in super().entities()] + [FAR]


def test_an_invitation_is_one_line_to_copy() -> None:
    client = HostClient()
    words = ("--name", "build-2", "--label", "gpu", "--label", "has:docker", "--for", "10m")
    told = command(client, "host", "invite", *words, "--url", "tcp://home.example:7400")
    assert told.stdout == "agiraph host join agiraph-invitation:1:abc\n"
    assert "works once" in told.stderr
    asked = InviteHostRequest(
        name="build-2", labels=("gpu", "has:docker"), seconds=600, url="tcp://home.example:7400"
    )
    assert client.did == [("invite", asked)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("invite", "--name", "Build 2"), "'Build 2' is not a host's name"),
        (("invite", "--label", "a b"), "'a b' is not a label"),
        (("invite", "--url", "http://x"), "'http://x' is not tcp://HOST:PORT"),
        (("invite", "--for", "soon"), "soon"),
        (("label", "north", "?"), "'?' is not a label"),
    ],
    ids=" ".join,
)
def test_unknown_value_is_named(words: tuple[str, ...], expected: str) -> None:
    told = command(HostClient(), "host", *words)
    assert (told.exit_code, expected in told.stderr) == (2, True), told.stderr


def test_hosts_are_listed_with_their_facts_and_load() -> None:
    told = command(HostClient(), "host", "list").stdout
    for word in ("north", "ready, cordoned", "3", "8", "1.2", "9.0G/16.0G", "12 ms", "-0.2 s"):
        assert word in told
    (row,) = json_of(command(HostClient(), "host", "list", "--json"))
    assert (row["name"], row["facts"]["cores"], row["lease_seconds"]) == ("north", 8, 14)
    closed = command(HostClient(listens_at=""), "host", "list")
    assert (closed.exit_code, closed.stdout) == (0, "")
    assert "agiraph up --listen" in closed.stderr
    taken = command(HostClient(listens_at="", problem="port 7400 is taken"), "host", "list")
    assert "no host can connect: port 7400 is taken" in taken.stderr


def test_hosts_are_steered_and_workers_moved() -> None:
    client = HostClient()
    for words in (("cordon",), ("uncordon",), ("drain",), ("label",), ("remove", "--yes")):
        told = command(client, "host", words[0], "north", *words[1:])
        assert (told.exit_code, "north" in told.stdout) == (0, True), told.stderr
    command(client, "host", "label", "north", "gpu", "linux")
    moved = command(client, "move", "Ada", "north")
    assert moved.stdout == "survey-3fa9c1/ada-1 continues on north\n"
    command(client, "move", "Ada")
    assert [done[0] for done in client.did[:3]] == ["cordon", "uncordon", "drain"]
    assert client.did[3:] == [
        ("label", "north", ()),
        ("remove", "north"),
        ("label", "north", ("gpu", "linux")),
        ("move", "Ada", "north"),
        ("move", "Ada", None),
    ]
    refused = command(client, "host", "remove", "north", stdin="n\n")
    assert (refused.exit_code, "nothing was removed" in refused.stderr) == (1, True)


def test_only_a_home_with_hosts_shows_where_processes_run() -> None:
    assert "HOST" not in command(FakeClient(), "ps").stdout
    told = command(HostClient(), "ps").stdout
    assert "HOST" in told
    assert "atlas" in told
    assert [row.label for row in top_rows(HostClient().entities(), 0.0)][-1].endswith("@north")
    assert "@" not in "".join(row.label for row in top_rows(FakeClient().entities(), 0.0))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"state": "lost"}, "north is lost: it cannot be reached"),
        ({"skew_seconds": 61.0}, "the clock of north is +61 s off"),
        ({"facts": FACTS.model_copy(update={"version": "9.9.1"})}, "north has Agiraph 9.9.1"),
    ],
)
def test_doctor_names_the_problem_of_a_host(facts: dict[str, Any], expected: str) -> None:
    assert wrong_with(NORTH) == []
    (wrong,) = wrong_with(NORTH.model_copy(update=facts))
    assert wrong.startswith(expected)


def test_listen_address_is_an_option_of_the_supervisor(tmp_path: Path) -> None:
    url = "tcp://0.0.0.0:7400"
    config = with_options(load(tmp_path, None), None, False, url)
    assert config.hosts.listen == url
    assert options_again(None, None, listen=url) == ("--listen", url)
    for wrong in ("0.0.0.0:7400", "tcp://x", "tcp://x:0", "tcp://a b:1", "tcp://x:70000"):
        told = command(None, "up", "--listen", wrong)
        assert (told.exit_code, "is not tcp://ADDR:PORT" in told.stderr) == (2, True), wrong


def test_doctor_reports_that_a_home_has_no_hosts(tmp_path: Path) -> None:
    told = command(None, "doctor", "--home", str(tmp_path), "--json")
    checks = {one["name"]: one for one in json.loads(told.stdout)["checks"]}
    assert (checks["hosts"]["status"], checks["hosts"]["detail"]) == ("ok", "none")


def test_a_home_at_rest_knows_its_hosts(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.system.path.mkdir(parents=True)
    registry = HostRegistry(home)
    line = registry.invite(InviteHost(labels=("gpu",)), "tcp://home.example:7400").line
    key = zmq.curve_keypair()[0].decode()
    asked = JoinHost(name="north", public_key=key, facts=FACTS)
    registry.admit(read_invitation(line, 0.0).id, asked)
    registry.change("north", is_cordoned=True)
    words = ["host", "list", "--json", "--home", str(home.path)]
    told = CliRunner().invoke(agiraph, words)
    (row,) = json_of(told)
    assert (row["name"], row["state"], row["labels"]) == ("north", "away", ["gpu"])
