"""A host that keeps its lease and acknowledges nothing else delays no other, and is removed."""

import asyncio
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from actors.host.facts import machine_facts
from actors.host.joining import join_home
from actors.runtime.launch import ActorLaunch
from agiraph.core.hosts import read_invitation
from agiraph.core.ids import SUPERVISOR, Address
from agiraph.messages.authorization import MESSAGES
from agiraph.messages.control import RefusedReply
from agiraph.messages.host import (
    HostProcess,
    LeaseRenewed,
    ProcessSpawned,
    RenewLease,
    SignalOnHost,
    SpawnOnHost,
)
from agiraph.settings.config import Config
from agiraph.storage.host_folder import HostFolder
from tests.integration.machine import LISTENS, await_host, invited
from tests.integration.probed_supervisor import ProbedSupervisor, running
from tests.integration.waiting import until
from transport.codec import Codec
from transport.endpoint import Endpoint
from transport.errors import Nacked, TransportError
from transport.sockets import UplinkTarget
from transport.tickets import NO_TICKET, routing_id
from transport.uplink_wire import UplinkWire
from transport.wire import ZmqWire

RENEW_SECONDS = 0.3
CODEC = Codec(MESSAGES)
SECRETS = ("hook-secret", "mail-secret", "header-secret", "env-secret", "arg-secret")
SETTINGS = f"""{LISTENS}
channels:
  hook: {{kind: webhook, url: 'https://example.org/hook-secret'}}
  mail: {{kind: email, to: a@b, sender: a@b, server: b, user: a, password: mail-secret}}
mcp:
  servers:
    far: {{url: 'https://example.org', headers: {{A: header-secret}}}}
    near: {{command: cat, args: [arg-secret], env: {{A: env-secret}}}}
"""


class StubbornHost:
    """A host that joins, renews its lease, and obeys no order.

    It `confirms` launches or not, and lists its launches as running (`lists`) for ever.
    """

    def __init__(self, folder: Path, line: str, name: str, confirms: bool, lists: bool) -> None:
        self._folder, self._line, self._name = HostFolder(folder), line, name
        self._confirms, self._lists = confirms, lists
        self._started: dict[str, HostProcess] = {}
        self.launches: list[ActorLaunch] = []
        self.signals: list[int] = []
        self.refusals: list[str] = []
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()

    def endpoint(self, address: str, ticket: bytes = NO_TICKET) -> Endpoint:
        """Return an endpoint over a connection with the key of this host."""
        record, key = self._folder.record(), self._folder.key()
        target = UplinkTarget(record.url, record.server_key, key.public, key.secret)
        wire = UplinkWire(target)
        return Endpoint(
            url="", address=address, incarnation=1, ticket=ticket, codec=CODEC, wire=wire
        )

    async def _run(self) -> None:
        invitation = read_invitation(self._line, time.time())
        await join_home(self._folder, invitation, self._name, ())
        endpoint = self.endpoint(f"host/{self._name}")
        await endpoint.start(10.0)
        obeying = asyncio.create_task(self._obey(endpoint))
        while not self._is_over.is_set():
            with suppress(TransportError):
                await self._renew(endpoint)
            await asyncio.sleep(RENEW_SECONDS)
        obeying.cancel()
        endpoint.abort()

    async def _renew(self, endpoint: Endpoint) -> None:
        listed = tuple(self._started.values()) if self._lists else ()
        question = RenewLease(
            sent_at=time.monotonic(), now=time.time(), facts=machine_facts(), processes=listed
        )
        answer = (await endpoint.ask(SUPERVISOR, question, within_seconds=2.0)).body
        if isinstance(answer, RefusedReply):
            self.refusals.append(answer.reason)
        else:
            assert isinstance(answer, LeaseRenewed)

    async def _obey(self, endpoint: Endpoint) -> None:
        while True:
            received = await endpoint.receive()
            match received.body:
                case SpawnOnHost(launch=packed):
                    self.launches.append(launch := ActorLaunch.unpack(packed))
                    self._started[launch.address] = HostProcess(
                        address=Address(launch.address),
                        incarnation=launch.incarnation,
                        pid=os.getpid(),
                    )
                    if self._confirms:
                        await endpoint.reply(received, ProcessSpawned(pid=os.getpid()))
                case SignalOnHost(signal=number):
                    self.signals.append(number)

    def close(self) -> None:
        self._is_over.set()
        self._thread.join()


@pytest.fixture(scope="module")
def supervisor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProbedSupervisor]:
    home = tmp_path_factory.mktemp("home")
    (home / "agiraph.yaml").write_text(SETTINGS)
    with running(home) as supervisor:
        yield supervisor


@contextmanager
def stubborn(
    supervisor: ProbedSupervisor,
    folder: Path,
    name: str,
    *,
    confirms: bool = True,
    lists: bool = True,
) -> Iterator[StubbornHost]:
    line = invited(supervisor, name=name)
    host = StubbornHost(folder, line, name, confirms, lists)
    try:
        await_host(supervisor, name, state="ready")
        yield host
    finally:
        host.close()


def start_there(supervisor: ProbedSupervisor, address: str, name: str) -> dict[str, Any]:
    """Start a worker on a host; it never becomes ready there."""
    supervisor.start(address, host=name, ready_within_seconds=60, shutdown_seconds=0.1)
    return supervisor.await_row(address, state="starting", host=name)


@pytest.mark.parametrize(
    ("name", "confirms", "lists"),
    [("ignores-kills", True, True), ("starts-nothing", False, False), ("forgets", True, False)],
)
def test_workers_of_an_unresponsive_host_are_stopped_and_started_elsewhere(
    supervisor: ProbedSupervisor, tmp_path: Path, name: str, confirms: bool, lists: bool
) -> None:
    address = f"shop/{name}"
    with stubborn(supervisor, tmp_path / name, name, confirms=confirms, lists=lists) as host:
        start_there(supervisor, address, name)
        supervisor.stop_child(address)
        assert supervisor.row(address)["state"] == "stopped"
        assert 9 in host.signals
        supervisor.start(address, host="home")
        supervisor.await_row(address, state="ready", host="")
        if lists:
            assert "was told to kill" in host.refusals[0]
            await_host(supervisor, name, state="lost")
        left = supervisor.ask("supervisor", "host.change", name=name, how="remove", force=True)
        assert [row["name"] for row in left["hosts"]] == []
    supervisor.stop_child(address, "forget")


def test_a_host_that_ignores_its_kills_is_removed_by_force(
    supervisor: ProbedSupervisor, tmp_path: Path
) -> None:
    with stubborn(supervisor, tmp_path / "west", "west") as host:
        start_there(supervisor, "shop/ada", "west")
        left = supervisor.ask("supervisor", "host.change", name="west", how="remove", force=True)
        assert [row["name"] for row in left["hosts"]] == []
        until(lambda: any("is being removed" in one for one in host.refusals), "the report")
    supervisor.await_row("shop/ada", state="backing_off")
    supervisor.stop_child("shop/ada", "forget")


def test_a_ticket_that_is_stolen_from_a_host_opens_nothing_elsewhere(
    supervisor: ProbedSupervisor, tmp_path: Path
) -> None:
    """The launch with the ticket reveals no secret of the home to the host either."""

    async def is_refused(endpoint: Endpoint) -> bool:
        try:
            await endpoint.start(20.0)
        except Nacked as error:
            return "no valid ticket for shop/eve#1" in str(error)
        finally:
            endpoint.abort()
        return False

    with (
        stubborn(supervisor, tmp_path / "north", "north") as north,
        stubborn(supervisor, tmp_path / "south", "south") as south,
    ):
        start_there(supervisor, "shop/eve", "north")
        launch = north.launches[0]
        assert not [one for one in SECRETS if one in json.dumps(launch.config)]
        assert Config.model_validate(launch.config).channels.keys() == {"hook", "mail"}
        url = supervisor.ask("supervisor", "child.attach")["router_url"]
        at_home = ZmqWire(url, routing_id(launch.ticket))
        local = Endpoint(
            url=url,
            address="shop/eve",
            incarnation=1,
            ticket=launch.ticket,
            codec=CODEC,
            wire=at_home,
        )
        assert asyncio.run(is_refused(south.endpoint("shop/eve", launch.ticket)))
        assert asyncio.run(is_refused(local))
        supervisor.ask("supervisor", "host.change", name="north", how="remove", force=True)
        supervisor.ask("supervisor", "host.change", name="south", how="remove", force=True)
    supervisor.stop_child("shop/eve", "forget")
