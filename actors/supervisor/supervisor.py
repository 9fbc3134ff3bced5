"""The supervisor's shell: one loop that starts the house, answers requests, and takes it down.

Exit codes: 0 asked to stop, 1 the home is held, 70 gave up (a service of the house cannot live).
"""

import asyncio
import json
import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from actors.kinds import KINDS, entry_named
from actors.launch import Launch
from actors.linux import adopt_orphans, hide_environment
from actors.supervisor.bus_side import BusSide
from actors.supervisor.house import make_folders, socket_url
from actors.supervisor.keeper import Keeper
from actors.supervisor.launcher import ExecLauncher, ForkLauncher, Spawned
from actors.supervisor.lock import HomeLock
from actors.supervisor.reaper import Reaper, kill_group
from actors.supervisor.register import Register
from actors.supervisor.restarts import Policy
from actors.supervisor.rows import own_rows, row_of
from actors.supervisor.sweep import boot_id, kill_all, started_at, sweep_leftovers, sweep_strays
from actors.supervisor.table import Desired, DesiredSet, ProcessBegan
from agiraph.config import Config
from agiraph.errors import Unavailable
from agiraph.home import Home
from agiraph.ids import BROKER, HUMAN, RECORDER, ROUTER, SUPERVISOR, Address, agent_of
from agiraph.log import logger
from agiraph.messages import (
    ChildFailed,
    ChildSpec,
    ChildStarted,
    ChildStopped,
    ChildTable,
    StopChild,
    Ticket,
)
from transport.errors import TransportError
from transport.tickets import KEY_BYTES, make_ticket

EXIT_DONE = 0
EXIT_GAVE_UP = 70

SERVICES = (ROUTER, RECORDER, BROKER, HUMAN)
SPAWNER_SECONDS = 15.0
SWEEP_SECONDS = 2.0
START_ATTEMPTS = 3
REPORTED = frozenset({"ready", "backing_off", "failed", "exited", "stopped"})


class GaveUp(Exception):
    """A service without which nothing works cannot be kept alive."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a supervisor is started with."""

    home: Path
    config: Config
    until_eof: bool = False
    kinds: Mapping[str, str] = field(default_factory=lambda: KINDS)
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)


class Supervisor:
    """Owner of every process of one home. `run` lives it from lock to last sweep."""

    def __init__(self, options: Options) -> None:
        """Take the options; nothing is touched before `run`."""
        self.home = options.home
        self.log = logger(address=SUPERVISOR)
        self._options = options
        self._house = Home(options.home)
        self._settings = options.config.supervisor
        self._config = options.config.model_dump(mode="json")
        self._key = secrets.token_bytes(KEY_BYTES)
        self._keepers: dict[str, Keeper] = {}
        self._consoles: dict[str, int] = {}
        self._reaper = Reaper(on_death=self._sweep)
        self._end = asyncio.Event()
        self._failure: str | None = None
        self._is_stopping = False
        self._url = ""
        self._boot = boot_id()
        self._bus = BusSide(self, self.log, self._welcomed)
        self._exec = ExecLauncher(self._reaper, options.environ)
        self._fork: ForkLauncher | None = None
        self._register: Register

    # --- life -----------------------------------------------------------------------------------

    async def run(self) -> int:
        """Start the house, serve until told to stop, take it down; return the exit code.

        Raises HomeIsHeld, Refused, Corrupt, OSError before anything was started.
        """
        make_folders(self._house)
        lock = HomeLock(self.home, self._house.system.lock)
        lock.take()
        try:
            self._prepare()
            try:
                await self._serve()
            finally:
                await self._take_down()
        finally:
            lock.release()
        if self._failure is not None:
            print(f"gave up: {self._failure}", file=sys.stderr, flush=True)
            return EXIT_GAVE_UP
        return EXIT_DONE

    def _prepare(self) -> None:
        self._register = Register(self._house.system.children)
        left = sweep_leftovers(self.home, self._register.table.processes.values())
        if left:
            self.log.warning("swept leftovers of an earlier supervisor", pids=left)
        self._url = socket_url(self._house)
        is_subreaper = adopt_orphans()
        hide_environment()
        self._reaper.listen()
        self._listen_to_signals()
        wanted = self._settings.launch
        if wanted in ("auto", "fork") and is_subreaper:
            self._fork = ForkLauncher(
                self._reaper, self._options.environ, self._exec, self.home, self._sweep, self.log
            )
        elif wanted == "fork":
            self.log.warning("fork needs Linux; starting fresh interpreters instead")

    async def _serve(self) -> None:
        starting = asyncio.create_task(self._start())
        ending = asyncio.create_task(self._end.wait())
        try:
            await asyncio.wait([starting, ending], return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                await ending
        except GaveUp as error:
            self._failure = str(error)
        finally:
            starting.cancel()
            ending.cancel()

    async def _start(self) -> None:
        """Start everything in order: the services, one after the other, then the agents."""
        if self._fork is not None:
            self._fork.start()
        await self._start_service(ROUTER)
        if self._fork is not None:
            await self._await_spawner(self._fork)
        for address in SERVICES[1:]:
            await self._start_service(address)
        for row in self._register.table.rows.values():
            keeper = self._keeper(row.spec, row.desired)
            if row.desired == "running":
                self._bus.do(_forget_result(keeper.start()))
        self._announce()
        self._say_ready()

    async def _start_service(self, address: Address) -> None:
        keeper = self._keeper(self._service_spec(address))
        await keeper.start()
        if address == ROUTER:
            await self._join_bus(keeper)
        if not await keeper.wait_ready():
            raise GaveUp(f"{address} does not start: {keeper.cause}")

    async def _join_bus(self, router: Keeper) -> None:
        """Say hello to the router; its welcome is also what makes the router ready."""
        number = self.allot(SUPERVISOR)
        ticket = make_ticket(self._key, SUPERVISOR, number)
        limit = self._settings.ready_within_seconds * START_ATTEMPTS
        hello = asyncio.create_task(self._bus.join(self._url, number, ticket, limit))
        router_settles = asyncio.create_task(router.wait_ready())
        await asyncio.wait([hello, router_settles], return_when=asyncio.FIRST_COMPLETED)
        if router_settles.done() and not router_settles.result():
            hello.cancel()
            raise GaveUp(f"the router does not start: {router.cause}")
        try:
            await hello
        except TransportError as error:
            raise GaveUp(f"the router does not answer: {error}") from None
        finally:
            router_settles.cancel()

    async def _await_spawner(self, fork: ForkLauncher) -> None:
        try:
            await asyncio.wait_for(fork.ready.wait(), SPAWNER_SECONDS)
        except TimeoutError:
            self.log.warning("the spawner is not ready, starting fresh interpreters meanwhile")

    def _say_ready(self) -> None:
        text = f"agiraph-supervisor ready: home {self.home}, API {self._api_url()}"
        print(text, flush=True)
        self.log.info("ready", home=str(self.home), api=self._api_url())

    def _api_url(self) -> str:
        process = self._keepers[HUMAN].process
        try:
            told = json.loads(self._house.human.address.read_text())
            if process is not None and told["pid"] == process.spawned.pid:
                return str(told["url"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # the gateway has written none
        return "none"

    async def _take_down(self) -> None:
        """Stop everything in reverse order, then sweep until no descendant is left."""
        self._is_stopping = True
        services = set(SERVICES)
        agents = [keeper for address, keeper in self._keepers.items() if address not in services]
        workers = [keeper for keeper in agents if keeper.spec.kind != "coordinator"]
        leaders = [keeper for keeper in agents if keeper.spec.kind == "coordinator"]
        for group in (workers, leaders):
            await asyncio.gather(*(keeper.stop() for keeper in group))
        for address in reversed(SERVICES):
            if address == ROUTER:
                await self._bus.leave()
            if address in self._keepers:
                await self._keepers[address].stop()
        if self._fork is not None:
            await self._fork.stop()
        await self._sweep_to_the_end()
        self._register.close()

    async def _sweep_to_the_end(self) -> None:
        deadline = asyncio.get_running_loop().time() + SWEEP_SECONDS
        me = psutil.Process()
        while children := me.children(recursive=True):
            kill_all(children)
            self._reaper.reap()
            if asyncio.get_running_loop().time() > deadline:
                self.log.error("could not end", pids=[child.pid for child in children])
                return
            await asyncio.sleep(0.005)

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        if self._options.until_eof:
            threading.Thread(target=_call_at_eof, args=(loop, self._end.set), daemon=True).start()

    def stop(self) -> None:
        """Begin to stop; the second call does not wait for anybody's grace."""
        if self._end.is_set():
            for keeper in self._keepers.values():
                if keeper.process is not None and not keeper.process.spawned.ended.done():
                    kill_group(keeper.process.spawned.pid)
        self._end.set()

    # --- the household of the keepers -----------------------------------------------------------

    def policy(self, spec: ChildSpec) -> Policy:
        """Return how often this child may be restarted."""
        return Policy(
            restart=spec.restart,
            intensity=spec.intensity,
            period_seconds=spec.period_seconds,
            first_backoff_seconds=self._settings.first_backoff_seconds,
            max_backoff_seconds=self._settings.max_backoff_seconds,
        )

    def allot(self, address: str) -> int:
        """Return the next incarnation of an address, written down."""
        return self._register.allot(address)

    async def launch(self, spec: ChildSpec, incarnation: int) -> Spawned:
        """Start the process of a child; the router always gets a fresh interpreter of its own."""
        launch = self._launch_of(spec, incarnation)
        launcher = self._exec if self._fork is None or spec.kind == "router" else self._fork
        spawned = await launcher.spawn(launch)
        self.log.info("started", child=spec.address, incarnation=incarnation, pid=spawned.pid)
        self._register.write(
            ProcessBegan(
                address=spec.address,
                pid=spawned.pid,
                started_at=started_at(spawned.pid),
                boot=self._boot,
            )
        )
        return spawned

    def ask_to_stop(self, address: str) -> bool:
        """Send `control.stop` if the bus stands; return whether it does."""
        return self._bus.ask_to_stop(address)

    def changed(self, keeper: Keeper, cause: str | None) -> None:
        """Log, remember and report a new state of a child."""
        incarnation = self._register.table.incarnations.get(keeper.address, 0)
        about = {"child": keeper.address, "incarnation": incarnation}
        if cause is not None:
            about["cause"] = cause
        if keeper.state in ("backing_off", "failed"):
            self.log.warning(keeper.state, **about)
        elif keeper.state != "starting":
            self.log.info(keeper.state, **about)
        self._report(keeper, incarnation, cause)
        if keeper.address == ROUTER and keeper.state != "ready":
            self._bus.router_ended()
        if keeper.state in ("failed", "exited") and not self._is_stopping:
            self._register.rest(
                DesiredSet(address=keeper.address, desired=keeper.desired, cause=cause)
            )
        if keeper.state == "failed":
            self._gave_up(keeper, incarnation, cause or "")

    def broken(self, address: str, error: BaseException) -> None:
        """Stop: a keeper met what it cannot handle, and nobody watches its child any more."""
        self.log.error("keeper broke", child=address, exc_info=error)
        self._failure = f"the keeper of {address} broke: {error}"
        self._end.set()

    def _gave_up(self, keeper: Keeper, incarnation: int, cause: str) -> None:
        if keeper.address == ROUTER:
            self._failure = f"the router cannot be kept alive: {cause}"
            self._end.set()
        owner = keeper.spec.owner
        if owner is not None and owner != keeper.address and not self._is_stopping:
            self._bus.tell(
                owner,
                ChildFailed(address=keeper.spec.address, incarnation=incarnation, cause=cause),
            )

    def _report(self, keeper: Keeper, incarnation: int, cause: str | None) -> None:
        agent = agent_of(keeper.address)
        if agent is None or keeper.state not in REPORTED:
            return
        data: dict[str, Any] = {"kind": keeper.spec.kind, "incarnation": incarnation}
        if cause is not None:
            data["cause"] = cause
        self._bus.report(agent, f"child.{keeper.state}", keeper.address, data)

    # --- the desk of the requests ---------------------------------------------------------------

    def find(self, address: str) -> Keeper | None:
        """Return the keeper of an address."""
        return self._keepers.get(address)

    def addresses(self) -> list[str]:
        """Return the addresses of all children."""
        return list(self._keepers)

    def startable(self) -> list[str]:
        """Return the kinds that may be started by message."""
        return [kind for kind in self._options.kinds if kind not in SERVICES]

    async def start_child(self, spec: ChildSpec) -> ChildStarted:
        """Start a child, or confirm that it runs."""
        if self._is_stopping:
            raise Unavailable("the supervisor is stopping")
        self._register.declare(spec)
        keeper = self._keeper(spec)
        process = await keeper.start()
        if process is None:
            raise Unavailable(f"{spec.address} cannot be started: {keeper.cause}")
        self._announce()
        return ChildStarted(address=spec.address, incarnation=process.incarnation)

    async def stop_child(self, keeper: Keeper, body: StopChild) -> ChildStopped:
        """Stop, kill, restart or forget a child."""
        address = keeper.spec.address
        match body.how:
            case "kill":
                await keeper.kill()
            case "restart":
                if agent_of(address) is not None:
                    self._register.declare(keeper.spec)
                await keeper.restart()
            case "stop" | "forget":
                self._register.rest(
                    DesiredSet(address=address, desired="stopped", cause=body.reason or None)
                )
                await keeper.stop()
        if body.how == "forget":
            self._register.forget(address)
            self._keepers.pop(address, None)
            self._announce()
        return ChildStopped(address=address, state=keeper.state)

    def attach(self) -> Ticket:
        """Return the ticket of a new console."""
        number = 1
        while f"console/{number}" in self._consoles:
            number += 1
        address = Address(f"console/{number}")
        incarnation = self._consoles[address] = self.allot(address)
        self._announce()
        return Ticket(
            address=address,
            incarnation=incarnation,
            ticket=make_ticket(self._key, address, incarnation),
            router_url=self._url,
        )

    def peer_gone(self, address: str, incarnation: int) -> None:
        """Drop a console that left; children are watched by the kernel's word instead."""
        if self._consoles.get(address) == incarnation:
            del self._consoles[address]
            self._announce()

    def table(self) -> ChildTable:
        """Return all processes, the supervisor and the spawner first."""
        numbers = self._register.table.incarnations
        spawner = self._fork.pid if self._fork is not None else None
        rows = own_rows(numbers.get(SUPERVISOR, 0), spawner)
        rows += [row_of(keeper, numbers.get(at, 0)) for at, keeper in self._keepers.items()]
        return ChildTable(children=tuple(rows))

    # --- inside ---------------------------------------------------------------------------------

    def _keeper(self, spec: ChildSpec, desired: Desired = "running") -> Keeper:
        """Return the keeper of a child, with this spec from its next start on."""
        keeper = self._keepers.get(spec.address)
        if keeper is None:
            keeper = self._keepers[spec.address] = Keeper(spec, self, desired)
        keeper.spec = spec
        return keeper

    def _service_spec(self, address: Address) -> ChildSpec:
        settings = self._settings
        return ChildSpec(
            address=address,
            kind=address,
            restart="permanent",
            owner=HUMAN,
            intensity=settings.intensity,
            period_seconds=settings.period_seconds,
            ready_within_seconds=settings.ready_within_seconds,
            shutdown_seconds=settings.shutdown_seconds,
        )

    def _launch_of(self, spec: ChildSpec, incarnation: int) -> Launch:
        # The key of the tickets is the router's alone, and is never written anywhere.
        args = {"key": self._key} if spec.kind == ROUTER else spec.args
        return Launch(
            address=spec.address,
            kind=spec.kind,
            incarnation=incarnation,
            ticket=make_ticket(self._key, spec.address, incarnation),
            router_url=self._url,
            home=self.home,
            args=args,
            config=self._config,
            entry=entry_named(spec.kind, self._options.kinds),
        )

    def _announce(self) -> None:
        self._bus.announce((*SERVICES, SUPERVISOR, *self._keepers, *self._consoles))

    def _welcomed(self) -> None:
        """The router lets us in: that is how it is known to be ready."""
        keeper = self._keepers[ROUTER]
        if keeper.process is not None:
            keeper.ready(keeper.process.incarnation)

    def _sweep(self) -> None:
        killed = sweep_strays(self._reaper)
        if killed:
            self.log.info("swept processes whose actor is gone", count=killed)


async def _forget_result(work: Coroutine[Any, Any, Any]) -> None:
    await work


def _call_at_eof(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    """Wait, in a thread of its own, until whoever started us closes our stdin."""
    try:
        while os.read(0, 1024):
            pass
    except OSError:
        pass  # no stdin is an end, too
    loop.call_soon_threadsafe(act)
