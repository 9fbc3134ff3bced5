"""Supervisor: starts the services and agents of a home, watches them, and stops them in order.

Exit codes: 0 asked to stop, 1 another supervisor runs on the home, 70 gave up (a service cannot be
kept alive).
"""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from actors.runtime.environment import addresses_in, secret_names
from actors.runtime.linux import hide_environment
from actors.supervisor.child_monitor import ChildMonitor
from actors.supervisor.children import Children
from actors.supervisor.options import OPTIONAL, SERVICES, SupervisorOptions, on_demand
from actors.supervisor.processes.stopping import kill_descendants
from actors.supervisor.supervisor_endpoint import SupervisorEndpoint
from actors.supervisor.supervisor_service import SupervisorService
from agiraph.core.ids import HUMAN, ROUTER, SCALER, SUPERVISOR, TRACER, Address, agent_of
from agiraph.core.json_text import parse_json
from agiraph.logs.log import logger
from agiraph.readmodel.child_register import Desired
from agiraph.storage.files import read_bytes
from agiraph.storage.home import Home
from agiraph.storage.home_folders import (
    HomeLock,
    make_folders,
    remove_socket_folder,
    remove_stale_socket_folders,
)
from agiraph.storage.home_format import claim_format
from agiraph.storage.home_users import wait_until_unused
from agiraph.storage.supervisor_note import remove_note, write_note
from transport.errors import TransportError

EXIT_DONE = 0
EXIT_GAVE_UP = 70

STOP_SECONDS = 4.5
STAGE_SHARE = 0.5


class ServiceGivenUp(Exception):
    """A service could not be started, and was given up."""


class Supervisor:
    """Owner of every process of one home, from `run` to its return."""

    def __init__(self, options: SupervisorOptions) -> None:
        self.home = options.home
        self.log = logger()
        self._options = options
        self._paths = Home(options.home)
        self._children = Children(options, self.log, self._give_up)
        service = SupervisorService(self._children)
        self._bus = SupervisorEndpoint(service.answer, self._welcomed, service.peer_gone, self.log)
        self._end = asyncio.Event()
        self._failure: str | None = None
        self._stop_by: float | None = None

    async def run(self) -> int:
        """Start everything, serve until asked to stop, stop everything; return the exit code.

        Raises HomeLocked, Refused, Corrupt, OSError before anything was started.
        """
        make_folders(self._paths)
        lock = HomeLock(self.home, self._paths.system.lock)
        lock.acquire()
        try:
            claim_format(self._paths)
            write_note(
                self._paths,
                time.time(),
                ends_with_command=self._options.until_eof or self._options.until_unused,
                belongs_to_users=self._options.until_unused,
                variables=secret_names(self._options.environ),
                addresses=addresses_in(self._options.environ),
            )
            self._children.open(self._paths, self._bus)
            hide_environment()
            self._listen_to_signals()
            try:
                await self._serve()
            finally:
                await self._shut_down()
                remove_socket_folder(self._paths, self._children.url)
        finally:
            remove_note(self._paths)
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
        """Check for hung event loops, and for agents whose command has ended, every few seconds."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._options.config.supervisor.beat_seconds)
            self._children.hangs.check(loop.time())
            if self._children.hosts is not None:
                self._children.hosts.check()
            self._children.stop_left()

    async def _start(self) -> None:
        """Start everything in order: the router, the other services, the agents.

        Only the router's start is awaited: the others need no other process at their start.
        """
        children = self._children
        if children.fork is not None:
            children.fork.start()
        for address, kind in on_demand(self._options.config, self._paths).items():
            children.service(address, kind, "parked")
        children.announce()
        await self._start_service(ROUTER)
        if children.fork is not None and not await children.fork.await_spawner():
            self.log.warning("the spawner is not ready, starting fresh interpreters meanwhile")
        services = [asyncio.create_task(self._start_service(each)) for each in SERVICES[1:]]
        await asyncio.sleep(0)  # so that they begin before the agents
        for row in children.register.table.rows.values():
            is_left = children.is_left(agent_of(row.spec.address))
            # Not recorded: a supervisor that is not bound to commands continues these agents.
            desired: Desired = "stopped" if is_left else row.desired
            monitor = children.monitor(row.spec, desired)
            if desired == "running":
                self._bus.run_in_background(_forget_result(monitor.start()))
        children.announce()
        await asyncio.gather(*services)
        if self._options.config.telemetry.otlp_endpoint:
            self._bus.run_in_background(_forget_result(children.service(TRACER).start()))
        if self._options.config.hosts.launcher != "none":
            self._bus.run_in_background(_forget_result(children.service(SCALER).start()))
        self._report_ready()
        if removed := remove_stale_socket_folders(os.environ, time.time()):
            self.log.info("removed folders of sockets whose homes are gone", count=len(removed))

    async def _start_service(self, address: Address) -> None:
        monitor = self._children.service(address)
        await monitor.start()
        if address == ROUTER:
            await self._join_bus(monitor)
        if not await monitor.wait_ready():
            raise ServiceGivenUp(f"{address} does not start: {monitor.cause}")

    async def _join_bus(self, router: ChildMonitor) -> None:
        """Connect to the router; its welcome also marks the router as ready."""
        number = self._children.register.allot(SUPERVISOR)
        ticket = self._children.ticket(SUPERVISOR, number)
        settings = self._options.config.supervisor
        limit = settings.ready_within_seconds * settings.start_attempts
        hello = asyncio.create_task(self._bus.join(self._children.url, number, ticket, limit))
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

    def _report_ready(self) -> None:
        text = f"agiraph-supervisor ready: home {self.home}, API {self._api_url()}"
        with suppress(OSError):  # stdout may be a file on a full disk
            print(text, flush=True)
        self.log.info("ready", home=str(self.home), api=self._api_url())

    def _api_url(self) -> str:
        process = self._children.monitors[HUMAN].process
        try:
            address = parse_json(read_bytes(self._paths.human.address))
            if process is not None and address["pid"] == process.handle.pid:
                return str(address["url"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # the gateway has written no address
        return "none"

    async def _shut_down(self) -> None:
        """Stop everything in reverse order, then kill until no descendant is left.

        Takes at most STOP_SECONDS, whatever hangs: each stage may use half of the remaining time
        (as much for the request as for SIGTERM) before its processes are killed.
        """
        children = self._children
        children.is_stopping = True
        if children.hosts is not None:
            children.hosts.stop()
        monitors = children.monitors
        services = {*SERVICES, *OPTIONAL}
        agents = [monitor for address, monitor in monitors.items() if address not in services]
        await self._stop_all([monitor for monitor in agents if monitor.spec.kind != "coordinator"])
        await self._stop_all([monitor for monitor in agents if monitor.spec.kind == "coordinator"])
        for address in reversed((*SERVICES, *OPTIONAL)):
            if address == ROUTER:
                await self._bus.leave()
            if address in monitors:
                await self._stop_all([monitors[address]])
        if children.fork is not None:
            await children.fork.stop()
        if left := await kill_descendants(children.reaper):
            self.log.error("could not end", pids=left)
        children.register.close()

    async def _stop_all(self, monitors: list[ChildMonitor]) -> None:
        now = asyncio.get_running_loop().time()
        if self._stop_by is None:
            self._stop_by = now + STOP_SECONDS
        grace = max(0.0, self._stop_by - now) * STAGE_SHARE / 2
        await asyncio.gather(*(monitor.stop(grace) for monitor in monitors))

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                loop.add_signal_handler(number, self.stop)
        if self._options.until_eof or self._options.until_unused:
            threading.Thread(target=self._end_after_eof, args=(loop,), daemon=True).start()

    def _end_after_eof(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait until stdin is closed (and, if requested, no user is left), then stop.

        Runs in a thread.
        """
        _await_eof()
        if self._options.until_unused:
            wait_until_unused(self.home)
        with suppress(RuntimeError):  # the supervisor has ended for another reason
            loop.call_soon_threadsafe(self._end.set)

    def stop(self) -> None:
        """Begin to stop; a second call kills all running processes at once."""
        if self._end.is_set():
            for monitor in self._children.monitors.values():
                if monitor.process is not None and not monitor.process.handle.ended.done():
                    monitor.process.handle.signal_group(signal.SIGKILL)
        self._end.set()

    def _give_up(self, reason: str) -> None:
        self._failure = reason
        self._end.set()

    def _welcomed(self) -> None:
        """Mark the router as ready, because it has admitted the supervisor."""
        if self._children.hosts is not None:
            self._children.hosts.welcomed()
        monitor = self._children.monitors[ROUTER]
        if monitor.process is not None:
            monitor.ready(monitor.process.incarnation)


async def _forget_result(work: Coroutine[Any, Any, Any]) -> None:
    await work


def _await_eof() -> None:
    """Wait until our stdin is closed."""
    try:
        while os.read(0, 1024):
            pass
    except OSError:
        pass  # a missing stdin counts as closed
