"""The supervisor's life: one loop that starts the house, watches over it, and takes it down.

Exit codes: 0 asked to stop, 1 the home is held, 70 gave up (a service of the house cannot live).
"""

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import psutil

from actors.runtime.linux import hide_environment
from actors.runtime.processes import kill_all
from actors.supervisor.child_monitor import ChildMonitor
from actors.supervisor.children import Children
from actors.supervisor.launcher import ForkLauncher
from actors.supervisor.lock import HomeLock
from actors.supervisor.options import OPTIONAL, SERVICES, SupervisorOptions, on_demand
from actors.supervisor.paths import make_folders, remove_socket_folder
from actors.supervisor.reaper import kill_group
from actors.supervisor.supervisor_endpoint import SupervisorEndpoint
from actors.supervisor.supervisor_service import SupervisorService
from agiraph.core.ids import HUMAN, ROUTER, SUPERVISOR, TRACER, Address
from agiraph.logs.log import logger
from agiraph.storage.files import read_bytes
from agiraph.storage.home import Home
from transport.errors import TransportError

EXIT_DONE = 0
EXIT_GAVE_UP = 70

SPAWNER_SECONDS = 15.0
STOP_SECONDS = 4.5
STAGE_SHARE = 0.5
SWEEP_SECONDS = 2.0


class ServiceGivenUp(Exception):
    """A service without which nothing works cannot be kept alive."""


class Supervisor:
    """Owner of every process of one home. `run` lives it from lock to last sweep."""

    def __init__(self, options: SupervisorOptions) -> None:
        """Take the options; nothing is touched before `run`."""
        self.home = options.home
        self.log = logger(address=SUPERVISOR)
        self._options = options
        self._house = Home(options.home)
        self._all_children = Children(options, self.log, self._give_up)
        self._bus = SupervisorEndpoint(
            SupervisorService(self._all_children), self.log, self._welcomed
        )
        self._end = asyncio.Event()
        self._failure: str | None = None
        self._stop_by: float | None = None

    # --- life -----------------------------------------------------------------------------------

    async def run(self) -> int:
        """Start the house, serve until told to stop, take it down; return the exit code.

        Raises HomeLocked, Refused, Corrupt, OSError before anything was started.
        """
        make_folders(self._house)
        lock = HomeLock(self.home, self._house.system.lock)
        lock.take()
        try:
            self._all_children.open(self._house, self._bus)
            hide_environment()
            self._listen_to_signals()
            try:
                await self._serve()
            finally:
                await self._take_down()
                remove_socket_folder(self._house, self._all_children.url)
        finally:
            lock.release()
        if self._failure is not None:
            with suppress(OSError):
                print(f"gave up: {self._failure}", file=sys.stderr, flush=True)
            return EXIT_GAVE_UP
        return EXIT_DONE

    async def _serve(self) -> None:
        starting = asyncio.create_task(self._start())
        watching = asyncio.create_task(self._watch())
        ending = asyncio.create_task(self._end.wait())
        try:
            await asyncio.wait([starting, watching, ending], return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                starting.result()
                await asyncio.wait([watching, ending], return_when=asyncio.FIRST_COMPLETED)
            if watching.done():
                watching.result()
        except ServiceGivenUp as error:
            self._failure = str(error)
        finally:
            for task in (starting, watching, ending):
                task.cancel()

    async def _watch(self) -> None:
        """Look again and again who does not turn its loop any more."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._options.config.supervisor.beat_seconds)
            self._all_children.look_for_hung(loop.time())

    async def _start(self) -> None:
        """Start everything in order: the router, the other services, the agents.

        Only the router is waited for: everybody else outlives the absence of any other.
        """
        all_children = self._all_children
        if all_children.fork is not None:
            all_children.fork.start()
        for address, kind in on_demand(self._options.config).items():
            all_children.service(address, kind, "parked")
        all_children.announce()
        await self._start_service(ROUTER)
        if all_children.fork is not None:
            await self._await_spawner(all_children.fork)
        services = [asyncio.create_task(self._start_service(each)) for each in SERVICES[1:]]
        await asyncio.sleep(0)  # so that they begin before the agents
        for row in all_children.register.table.rows.values():
            monitor = all_children.monitor(row.spec, row.desired)
            if row.desired == "running":
                self._bus.do(_forget_result(monitor.start()))
        all_children.announce()
        await asyncio.gather(*services)
        if self._options.config.telemetry.otlp_endpoint:
            self._bus.do(_forget_result(all_children.service(TRACER).start()))
        self._say_ready()

    async def _start_service(self, address: Address) -> None:
        monitor = self._all_children.service(address)
        await monitor.start()
        if address == ROUTER:
            await self._join_bus(monitor)
        if not await monitor.wait_ready():
            raise ServiceGivenUp(f"{address} does not start: {monitor.cause}")

    async def _join_bus(self, router: ChildMonitor) -> None:
        """Say hello to the router; its welcome is also what makes the router ready."""
        number = self._all_children.allot(SUPERVISOR)
        ticket = self._all_children.ticket(SUPERVISOR, number)
        settings = self._options.config.supervisor
        limit = settings.ready_within_seconds * settings.start_attempts
        hello = asyncio.create_task(self._bus.join(self._all_children.url, number, ticket, limit))
        router_settles = asyncio.create_task(router.wait_ready())
        await asyncio.wait([hello, router_settles], return_when=asyncio.FIRST_COMPLETED)
        if router_settles.done() and not router_settles.result():
            hello.cancel()
            raise ServiceGivenUp(f"the router does not start: {router.cause}")
        try:
            await hello
        except TransportError as error:
            raise ServiceGivenUp(f"the router does not answer: {error}") from None
        finally:
            router_settles.cancel()

    async def _await_spawner(self, fork: ForkLauncher) -> None:
        try:
            async with asyncio.timeout(SPAWNER_SECONDS):
                await fork.ready.wait()
        except TimeoutError:
            self.log.warning("the spawner is not ready, starting fresh interpreters meanwhile")

    def _say_ready(self) -> None:
        text = f"agiraph-supervisor ready: home {self.home}, API {self._api_url()}"
        with suppress(OSError):  # it may go into a file on a full disk
            print(text, flush=True)
        self.log.info("ready", home=str(self.home), api=self._api_url())

    def _api_url(self) -> str:
        process = self._all_children.monitors[HUMAN].process
        try:
            told = json.loads(read_bytes(self._house.human.address))
            if process is not None and told["pid"] == process.spawned.pid:
                return str(told["url"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # the gateway has written none
        return "none"

    async def _take_down(self) -> None:
        """Stop everything in reverse order, then sweep until no descendant is left.

        Whatever hangs, it is over within STOP_SECONDS: each stage may use half of what is left, an
        ask and a SIGTERM of equal length, before it is killed.
        """
        all_children = self._all_children
        all_children.is_stopping = True
        monitors = all_children.monitors
        services = {*SERVICES, *OPTIONAL}
        agents = [monitor for address, monitor in monitors.items() if address not in services]
        await self._stop_all([monitor for monitor in agents if monitor.spec.kind != "coordinator"])
        await self._stop_all([monitor for monitor in agents if monitor.spec.kind == "coordinator"])
        for address in reversed((*SERVICES, *OPTIONAL)):
            if address == ROUTER:
                await self._bus.leave()
            if address in monitors:
                await self._stop_all([monitors[address]])
        if all_children.fork is not None:
            await all_children.fork.stop()
        await self._sweep_to_the_end()
        all_children.register.close()

    async def _stop_all(self, monitors: list[ChildMonitor]) -> None:
        now = asyncio.get_running_loop().time()
        if self._stop_by is None:
            self._stop_by = now + STOP_SECONDS
        grace = max(0.0, self._stop_by - now) * STAGE_SHARE / 2
        await asyncio.gather(*(monitor.stop(grace) for monitor in monitors))

    async def _sweep_to_the_end(self) -> None:
        deadline = asyncio.get_running_loop().time() + SWEEP_SECONDS
        me = psutil.Process()
        while children := me.children(recursive=True):
            kill_all(children)
            self._all_children.reaper.reap()
            if asyncio.get_running_loop().time() > deadline:
                self.log.error("could not end", pids=[child.pid for child in children])
                return
            await asyncio.sleep(0.005)

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                loop.add_signal_handler(number, self.stop)
        if self._options.until_eof:
            threading.Thread(target=_call_at_eof, args=(loop, self._end.set), daemon=True).start()

    def stop(self) -> None:
        """Begin to stop; the second call does not wait for anybody's grace."""
        if self._end.is_set():
            for monitor in self._all_children.monitors.values():
                if monitor.process is not None and not monitor.process.spawned.ended.done():
                    kill_group(monitor.process.spawned.pid)
        self._end.set()

    def _give_up(self, reason: str) -> None:
        self._failure = reason
        self._end.set()

    def _welcomed(self) -> None:
        """The router lets us in: that is how it is known to be ready."""
        monitor = self._all_children.monitors[ROUTER]
        if monitor.process is not None:
            monitor.ready(monitor.process.incarnation)


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
