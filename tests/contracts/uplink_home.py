"""A home with an uplink, and its hosts: relays in threads, endpoints behind them."""

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from agiraph.messages.host import HostRefused, KnownHosts, UplinkState
from tests.contracts.bus import CODEC, PATIENCE, ManagedBus, ZeromqBus, depths_of, take
from transport import tickets
from transport.endpoint import Endpoint
from transport.relay import Relay
from transport.sockets import UplinkTarget, curve_keys
from transport.uplink_wire import UplinkWire
from transport.wire import ZmqWire

Keys = tuple[str, str]


class Host:
    """A host of the home: its keys, its relay, and the endpoints on it."""

    def __init__(self, far: "UplinkHome", name: str, keys: Keys, url: str) -> None:
        self.address = f"host/{name}"
        self.keys = keys
        self._far = far
        self.target = UplinkTarget(url, far.keys[0], *keys)
        self.url = f"ipc://{far.folder}/{name}/relay"
        self.said: list[str] = []
        self.relay = Relay(self.url, self.target, log=self.said.append)
        self.relay.bind()
        self._thread = threading.Thread(target=self.relay.run)
        self._thread.start()

    def endpoint(
        self, address: str, incarnation: int = 1, *, ticket: bytes | None = None
    ) -> Endpoint:
        """Return an endpoint behind the relay, by default with a ticket bound to this host."""
        ticket = ticket or self._far.ticket(address, incarnation, self.address)
        wire = ZmqWire(self.url, tickets.routing_id(ticket))
        endpoint = Endpoint(
            url="", address=address, incarnation=incarnation, ticket=ticket, codec=CODEC, wire=wire
        )
        self._far.started.append(endpoint)
        return endpoint

    async def join(self, address: str, incarnation: int = 1) -> Endpoint:
        """Return a started endpoint."""
        endpoint = self.endpoint(address, incarnation)
        await endpoint.start(PATIENCE)
        return endpoint

    def close(self) -> None:
        self.relay.stop()
        self._thread.join()
        self.relay.close()


class UplinkHome:
    """A home with an uplink on a free port, its supervisor, and hosts."""

    def __init__(self, managed: ManagedBus, supervisor: Endpoint, keys: Keys, folder: Path) -> None:
        self.managed = managed
        self.supervisor = supervisor
        self.keys = keys
        self.folder = folder
        self.url = ""
        self.known: dict[str, str] = {}
        self.started: list[Endpoint] = []
        self._hosts: list[Host] = []

    async def know(self, **owners: Keys) -> None:
        """Announce a list of keys, by their owners (`host_far` is host/far)."""
        self.known = {keys[0]: name.replace("_", "/") for name, keys in owners.items()}
        await self.supervisor.send("router", KnownHosts(known=self.known))
        await depths_of(self.supervisor)  # answered after it: so the router has received it

    def ticket(self, address: str, incarnation: int, host: str) -> bytes:
        """Return a ticket of this home."""
        return tickets.make_ticket(self.managed.bus.key, address, incarnation, host)

    async def listens(self) -> str:
        """Return the URL at which the uplink listens, once it does."""
        body = (await take(self.supervisor)).body
        assert isinstance(body, UplinkState)
        assert not body.problem
        return body.url

    async def refusal(self) -> HostRefused:
        """Return the next refusal that is reported to the supervisor."""
        body = (await take(self.supervisor)).body
        assert isinstance(body, HostRefused)
        return body

    def host(self, name: str, keys: Keys, url: str = "") -> Host:
        """Start the relay of a host."""
        host = Host(self, name, keys, url or self.url)
        self._hosts.append(host)
        return host

    def direct(
        self, address: str, keys: Keys, *, on_refused: Callable[[], None] = lambda: None
    ) -> Endpoint:
        """Return the endpoint of a host, or of an invitation, itself."""
        target = UplinkTarget(self.url, self.keys[0], *keys)
        endpoint = Endpoint(
            url=self.url,
            address=address,
            incarnation=1,
            ticket=tickets.NO_TICKET,
            codec=CODEC,
            wire=UplinkWire(target, on_refused),
        )
        self.started.append(endpoint)
        return endpoint

    def close(self) -> None:
        for endpoint in self.started:
            endpoint.abort()
        for host in self._hosts:
            host.close()


@asynccontextmanager
async def uplink_home(folder: Path) -> AsyncIterator[UplinkHome]:
    """Run a home that listens for other machines; it knows none yet."""
    keys = curve_keys()
    uplink = {"url": "tcp://127.0.0.1:0", "public": keys[0], "secret": keys[1]}
    bus = ZeromqBus(folder, uplink=uplink)
    managed = ManagedBus(bus)
    try:
        far = UplinkHome(managed, await managed.announce("ada", "bob"), keys, folder)
        try:
            await far.know()
            far.url = uplink["url"] = await far.listens()  # the next router uses the same
            yield far
        finally:
            far.close()
    finally:
        await managed.close()
        bus.close()
