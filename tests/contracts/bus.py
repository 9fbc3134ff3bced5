"""The buses for contract tests: in one process, and over ZeroMQ with a real router.

The bus in one process has mailboxes in memory or in a file, the router has them in a file. All have
the same methods, so that each test is written once.
"""

import asyncio
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

from pydantic import BaseModel

from actors.router.main import TOPOLOGY
from actors.runtime.launch import ActorLaunch
from agiraph.messages.host import HostRefused, KnownHosts, UplinkState
from tests.fakes.forked_command import forking
from tests.fakes.launches import launch_of
from transport import tickets
from transport.codec import Codec
from transport.endpoint import Endpoint, Received
from transport.envelope import body_of, read_header, read_map
from transport.mailboxes import Mailboxes
from transport.protocol import HELLO, WELCOME, link_frame
from transport.stored_mailboxes import StoredMailboxes
from transport.testing.loopback import LoopbackRouter, LoopbackWire
from transport.wire import Wire, ZmqWire

PATIENCE = 60.0
REPOSITORY = Path(__file__).parents[2]
BusName = Literal["loopback", "stored", "zeromq"]
BUSES: tuple[BusName, ...] = get_args(BusName)


class Task(BaseModel):
    """A durable message."""

    TYPE: ClassVar[str] = "test.task"
    DURABLE: ClassVar[bool] = True
    n: int = 0
    data: bytes = b""


class Result(BaseModel):
    """A durable answer."""

    TYPE: ClassVar[str] = "test.result"
    DURABLE: ClassVar[bool] = True
    n: int = 0


class Refusal(BaseModel):
    """The reply in place of an answer that cannot be sent."""

    TYPE: ClassVar[str] = "test.refusal"
    DURABLE: ClassVar[bool] = True
    IS_REFUSAL: ClassVar[bool] = True
    reason: str


class Ping(BaseModel):
    """A passing message."""

    TYPE: ClassVar[str] = "test.ping"
    n: int = 0
    data: bytes = b""


class Text(BaseModel):
    """A message that is copied to the recorder."""

    TYPE: ClassVar[str] = "text"
    DURABLE: ClassVar[bool] = True
    n: int = 0


class Addresses(BaseModel):
    """The supervisor's announcement of addresses."""

    TYPE: ClassVar[str] = "control.addresses"
    known: list[str]


class Stop(BaseModel):
    """The message that stops the router."""

    TYPE: ClassVar[str] = "control.stop"


class AskDepths(BaseModel):
    """A request for the number of waiting messages."""

    TYPE: ClassVar[str] = "control.ask_depths"


class Depths(BaseModel):
    """The router's answer."""

    TYPE: ClassVar[str] = "control.depths"
    depths: dict[str, tuple[int, int]]


HOSTS = (KnownHosts, HostRefused, UplinkState)
CODEC = Codec([Task, Result, Refusal, Ping, Text, Addresses, Stop, AskDepths, Depths, *HOSTS])


class LoopbackBus:
    """The bus within the process, with mailboxes in a file if it is given a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self._path = folder / "mailboxes.db" if folder is not None else None
        self.router = LoopbackRouter(self._open(), topology=TOPOLOGY)
        self.key = self.router.key

    def _open(self) -> Mailboxes:
        return StoredMailboxes(self._path) if self._path is not None else Mailboxes()

    def wire(self, address: str, routing_id: bytes) -> Wire:
        return LoopbackWire(self.router, address, routing_id)

    def endpoint(
        self, address: str, incarnation: int = 1, *, ticket: bytes | None = None
    ) -> Endpoint:
        ticket = ticket or tickets.make_ticket(self.key, address, incarnation)
        wire = self.wire(address, tickets.routing_id(ticket))
        return Endpoint(
            url="loopback://",
            address=address,
            incarnation=incarnation,
            ticket=ticket,
            codec=CODEC,
            wire=wire,
        )

    async def restart_router(self) -> None:
        self.close()
        kept = self.router.mailboxes
        self.router.restart(self._open() if isinstance(kept, StoredMailboxes) else kept)

    def close(self) -> None:
        if isinstance(self.router.mailboxes, StoredMailboxes):
            self.router.mailboxes.close()

    async def router_has_stopped(self) -> bool:
        await until(lambda: self.router.core.is_stopping)
        return True


ROUTER_MODULE = "actors.router.main"


def be_router(module: str, launch: bytes) -> None:
    """Run the router's process."""
    sys.exit(import_module(module).main(ActorLaunch.unpack(launch)))


class ZeromqBus:
    """A router in its own process, on an ipc socket.

    `module` has the `main` of the first router, `args` are its arguments besides its key; the next
    router is the plain one.
    """

    def __init__(self, folder: Path, module: str = ROUTER_MODULE, **args: Any) -> None:
        self.key = secrets.token_bytes(tickets.KEY_BYTES)
        self.url = f"ipc://{folder}/run/router"
        self._folder = folder
        self.uplink: dict[str, str] | None = args.get("uplink")
        self.process = self._start(module, args)

    def _start(self, module: str, args: dict[str, Any]) -> BaseProcess:
        args = {"key": self.key, **args}
        launch = launch_of(self._folder, router_url=self.url, args=args)
        process = forking().Process(target=be_router, args=(module, launch.pack()), daemon=True)
        process.start()
        return process

    def wire(self, address: str, routing_id: bytes) -> Wire:
        return ZmqWire(self.url, routing_id)

    def endpoint(
        self, address: str, incarnation: int = 1, *, ticket: bytes | None = None
    ) -> Endpoint:
        ticket = ticket or tickets.make_ticket(self.key, address, incarnation)
        return Endpoint(
            url=self.url, address=address, incarnation=incarnation, ticket=ticket, codec=CODEC
        )

    async def restart_router(self) -> None:
        self.process.kill()
        self.ended()
        self.process = self._start(ROUTER_MODULE, {"uplink": self.uplink})

    def ended(self) -> int | None:
        """Wait until the router has ended; return its exit code, negative after a signal."""
        self.process.join(PATIENCE)
        return self.process.exitcode

    async def router_has_stopped(self) -> bool:
        return await asyncio.to_thread(self.ended) == 0

    def close(self) -> None:
        self.process.terminate()
        assert self.ended() in (0, -signal.SIGKILL)


Bus = LoopbackBus | ZeromqBus


class ManagedBus:
    """A bus that closes the endpoints and peers of a test."""

    def __init__(self, bus: Bus) -> None:
        self.bus = bus
        self._started: list[Endpoint] = []
        self._raw: list[RawPeer] = []

    async def intrude(self, *, greet: bool = True) -> "RawPeer":
        """Return a connected peer that can send any frame, under the address `eve`."""
        raw = RawPeer(self.bus, "eve")
        self._raw.append(raw)
        await raw.open(greet=greet)
        return raw

    async def join(self, address: str, incarnation: int = 1) -> Endpoint:
        """Return a started endpoint."""
        endpoint = self.bus.endpoint(address, incarnation)
        self._started.append(endpoint)
        await endpoint.start(PATIENCE)
        return endpoint

    async def announce(self, *known: str) -> Endpoint:
        """Let the supervisor announce existing addresses to the router; return the supervisor."""
        supervisor = await self.join("supervisor")
        await supervisor.send("router", Addresses(known=list(known)))
        await depths_of(supervisor)  # answered after it: so the router has received it
        return supervisor

    async def restart_router(self, supervisor: Endpoint, *known: str) -> None:
        """Kill the router; let the supervisor announce these addresses to the next one."""
        welcomed = asyncio.Event()
        supervisor.on_welcome = lambda _: welcomed.set()
        await self.bus.restart_router()
        async with asyncio.timeout(PATIENCE):
            await welcomed.wait()
        await supervisor.send("router", Addresses(known=list(known)))
        await depths_of(supervisor)

    async def close(self) -> None:
        for endpoint in self._started:
            endpoint.abort()
        for raw in self._raw:
            raw.wire.close(0)


class RawPeer:
    """A peer that can send any frame."""

    def __init__(self, bus: Bus, address: str, incarnation: int = 1) -> None:
        self.address = address
        self.incarnation = incarnation
        self.ticket = tickets.make_ticket(bus.key, address, incarnation)
        self.wire = bus.wire(address, secrets.token_bytes(12))
        self._frames: asyncio.Queue[bytes] = asyncio.Queue()
        self._is_connected = asyncio.Event()

    def connected(self) -> None:
        self._is_connected.set()

    def disconnected(self) -> None:
        pass

    def writable(self) -> None:
        pass

    def frame(self, blob: bytes) -> None:
        self._frames.put_nowait(blob)

    async def open(self, *, greet: bool = True) -> None:
        """Connect, and greet correctly."""
        self.wire.open(self)
        async with asyncio.timeout(PATIENCE):
            await self._is_connected.wait()
        if greet:
            self.hello()
            assert (await self.next())[0] == WELCOME

    def hello(self, **changes: Any) -> None:
        """Send a hello, valid except for the changes."""
        body = {
            "address": self.address,
            "incarnation": self.incarnation,
            "ticket": self.ticket,
            "pid": 1,
            "version": 1,
        }
        self.send(link_frame(HELLO, body | changes, sender=self.address, incarnation=1))

    def send(self, blob: bytes) -> None:
        """Send any bytes."""
        assert self.wire.send(blob)

    async def next(self) -> tuple[str, dict[str, Any]]:
        """Return type and body of the next frame."""
        async with asyncio.timeout(PATIENCE):
            blob = await self._frames.get()
        return read_header(blob).type, read_map(body_of(blob))


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for a state, with a deadline."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110 (the state lies in another process)
            await asyncio.sleep(0.005)


async def depths_of(endpoint: Endpoint) -> dict[str, tuple[int, int]]:
    """Ask the router for the numbers of waiting messages."""
    body = (await endpoint.ask("router", AskDepths(), within_seconds=PATIENCE)).body
    assert isinstance(body, Depths)
    return body.depths


async def until_depth(endpoint: Endpoint, address: str, count: int) -> None:
    """Ask the router until `count` messages wait for an address."""
    async with asyncio.timeout(PATIENCE):
        # The state lies in another process.
        while (await depths_of(endpoint)).get(address, (0, 0))[0] != count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def take(endpoint: Endpoint) -> Received:
    """Return the next message, with a deadline."""
    async with asyncio.timeout(PATIENCE):
        return await endpoint.receive()


async def numbers(endpoint: Endpoint, count: int) -> list[int]:
    """Receive and acknowledge `count` messages, and return their numbers."""
    found = []
    for _ in range(count):
        received = await take(endpoint)
        endpoint.done(received)
        found.append(number(received))
    return found


def number(received: Received) -> int:
    """Return the number in a test message."""
    assert isinstance(received.body, Task | Result | Ping | Text)
    return received.body.n


@asynccontextmanager
async def open_managed_bus(name: BusName, folder: Path) -> AsyncIterator[ManagedBus]:
    """Run a bus for one test."""
    async with managed_bus_on(make_bus(name, folder)) as managed:
        yield managed


def make_bus(name: BusName, folder: Path) -> Bus:
    """Return the bus of this name."""
    match name:
        case "loopback":
            return LoopbackBus()
        case "stored":
            return LoopbackBus(folder)
        case "zeromq":
            return ZeromqBus(folder)


@asynccontextmanager
async def managed_bus_on(bus: Bus) -> AsyncIterator[ManagedBus]:
    """Manage a bus while the block runs; close its endpoints and the bus."""
    managed = ManagedBus(bus)
    try:
        yield managed
    finally:
        await managed.close()
        bus.close()
