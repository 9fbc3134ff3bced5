"""Host: the process of a machine that has joined a home: relay, processes, bus and lease.

While there is a lease, the processes that the home's supervisor requested run; when it ends, all of
them are killed at once (and if this process hangs, its relay kills it, which ends them, too). It
tries forever to reach the home again.
"""

import asyncio
import math
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil

from actors.host.facts import machine_facts
from actors.host.host_processes import HostProcesses
from actors.host.lease import Lease
from actors.host.relay import RelayProcess
from actors.runtime.environment import environment_for
from actors.supervisor.processes.stopping import kill_descendants
from agiraph.core.concurrency import BackgroundTasks, Signal, first_to_end
from agiraph.core.errors import AgiraphError, Refused
from agiraph.core.ids import HOST_PREFIX, SUPERVISOR
from agiraph.logs.log import logger
from agiraph.messages.authorization import MESSAGES, refusal
from agiraph.messages.body import MessageBody
from agiraph.messages.control import RefusedReply, Stop
from agiraph.messages.host import (
    ExitedOnHost,
    LeaseRenewed,
    ProcessSpawned,
    RenewLease,
    SignalOnHost,
    SpawnOnHost,
)
from agiraph.storage.files import remove_tree
from agiraph.storage.home_folders import (
    HomeLock,
    make_folders,
    make_private,
    remove_socket_folder,
    socket_url,
)
from agiraph.storage.host_folder import HostFolder
from transport.codec import Codec
from transport.endpoint import Endpoint, Received
from transport.errors import Fenced, TransportError
from transport.sockets import UplinkTarget
from transport.tickets import NO_TICKET
from transport.uplink_wire import UplinkWire
from transport.watchdog import steady_seconds

HELLO_SECONDS: Final = 10.0
RETRY_SECONDS: Final = (0.5, 1.0, 2.0, 5.0)
"""The pauses before another hello; the last value is used for all further pauses."""
RENEW_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 0.2
"""How often the lease is checked: a machine that slept may wake after its lease has ended."""
KILL_SECONDS: Final = 0.4
"""How long after the lease's end the relay kills this process, unless all were killed by then."""
LEASE_WAIT_SECONDS: Final = 5.0
GRACE_SECONDS: Final = 2.0
REPORT_SECONDS: Final = 2.0
RELAY_AGAIN_SECONDS: Final = 0.5
DAY_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class HostOptions:
    """The arguments of a host process. `kinds` maps a kind of process to its function.

    `say` receives a line about each change.
    """

    folder: HostFolder
    environ: Mapping[str, str]
    kinds: Mapping[str, str]
    say: Callable[[str], None]


class Host:
    """One host, from `run` to its return."""

    def __init__(self, options: HostOptions) -> None:
        self._options = options
        self._folder = folder = options.folder
        self._record, key = folder.record(), folder.key()
        self._target = UplinkTarget(
            self._record.url, self._record.server_key, key.public, key.secret
        )
        self._address = f"{HOST_PREFIX}{self._record.name}"
        self._said = ""
        self._end = asyncio.Event()
        self._tasks, self._reports = BackgroundTasks(), BackgroundTasks()
        self._changed, self._renew_now = Signal(), Signal()
        self._leasing = asyncio.Lock()
        self._lease = Lease()
        self._is_fenced = True
        self._renew_seconds = RENEW_SECONDS
        self._latency: float | None = None
        self._is_new_connection = True
        self._is_stopping = False
        self._endpoint: Endpoint | None = None
        self._relay: RelayProcess | None = None
        self._processes: HostProcesses

    async def run(self) -> None:
        """Serve the home until the process is stopped; raises Refused, Corrupt, OSError."""
        make_private(self._folder.path)
        lock = HomeLock(self._folder.path, self._folder.lock, "the host's folder", "agiraph-host")
        lock.acquire()
        try:
            home = self._folder.home
            make_folders(home)
            url = socket_url(home)
            self._processes = HostProcesses(
                home, url, self._options.environ, self._options.kinds, self._exited, logger()
            )
            self._processes.open()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._end.set)
            works = (self._keep_relay(url), self._keep_to_lease(), self._talk(), self._keep_room())
            for work in works:
                self._tasks.start(work)
            try:
                await first_to_end(self._tasks.until_broken(), self._end.wait())
            finally:
                await self._shut_down()
                remove_socket_folder(home, url)
        finally:
            lock.release()

    async def _shut_down(self) -> None:
        """End all processes in order while the lease is renewed, then leave the bus."""
        self._tell("stopping")
        self._is_stopping = True
        self._renew_now.set()
        await self._processes.stop(GRACE_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(REPORT_SECONDS):
                await self._reports.until_empty()
        endpoint, self._endpoint = self._endpoint, None
        await self._reports.stop()
        if endpoint is not None:
            await endpoint.close()
        await self._tasks.stop()
        await kill_descendants(self._processes.reaper)

    async def _keep_relay(self, url: str) -> None:
        """Run the relay, and start it again whenever it ends."""
        environ = environment_for("relay", self._options.environ)
        log = self._folder.path / "relay.log"
        while True:
            self._relay = relay = RelayProcess.start(url, self._target, environ, log)
            if not self._is_fenced:
                relay.allow_until(self._lease.ends_at + KILL_SECONDS)
            try:
                await self._processes.reaper.watch(relay.pid)
            finally:
                self._relay = None
                relay.close()
            logger().warning("the relay ended, starting another")
            await asyncio.sleep(RELAY_AGAIN_SECONDS)

    async def _keep_room(self) -> None:
        """Remove files that no worker has needed for long, now and then once a day."""
        while True:
            in_use = {address.replace("/", ".") for address in self._processes.running}
            try:
                self._folder.set_aside_unused(time.time(), in_use)
                await asyncio.to_thread(remove_tree, self._folder.unused)
            except OSError as error:
                logger().warning("old copies are not removed", reason=str(error))
            await asyncio.sleep(DAY_SECONDS)

    # --- the home -------------------------------------------------------------------------------

    async def _talk(self) -> None:
        """Connect until the home admits this host, then serve its requests and renew the lease.

        Repeats this after each lost connection. Raises Refused if another process is this host.
        """
        incarnation, attempt = self._folder.next_start(), 0
        await self._processes.prepared()  # the first worker would wait for it
        while True:
            try:
                await self._serve(incarnation)
            except Fenced as error:
                await self._processes.kill_all()
                raise Refused(
                    f"another process is host {self._record.name} of this home ({error}); a folder"
                    " that was copied to another machine must join again"
                ) from None
            except TransportError as error:
                was_in, self._endpoint = self._endpoint is not None, None
                attempt = 0 if was_in else attempt + 1
                self._tell(f"no way to the home: {error}; trying again and again", "away")
            await asyncio.sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])

    async def _serve(self, incarnation: int) -> None:
        """Serve the home until it no longer admits this host. Raises TransportError, Fenced."""
        endpoint = Endpoint(
            url=self._record.url,
            address=self._address,
            incarnation=incarnation,
            ticket=NO_TICKET,
            codec=Codec(MESSAGES),
            wire=UplinkWire(self._target, self._key_refused),
        )
        endpoint.on_welcome = lambda _epoch: self._welcomed()
        await endpoint.start(within_seconds=HELLO_SECONDS)
        self._endpoint = endpoint
        self._changed.set()
        try:
            await first_to_end(self._listen(endpoint), self._renew_for_ever(endpoint))
        finally:
            if not self._is_stopping:
                endpoint.abort()

    def _key_refused(self) -> None:
        self._tell(
            f"the home at {self._record.url} does not know this host's key: it was removed, or has"
            f" another home's files (key {self._target.public}); trying again and again"
        )

    def _welcomed(self) -> None:
        self._is_new_connection = True
        self._renew_now.set()

    async def _listen(self, endpoint: Endpoint) -> None:
        while True:
            received = await endpoint.receive()
            header = received.header
            reason = refusal(header.sender, header.to, received.body)
            if reason is not None:
                logger().warning("not authorized", reason=reason)
                endpoint.done(received)
            else:
                self._tasks.start(self._answer(endpoint, received))

    async def _answer(self, endpoint: Endpoint, received: Received) -> None:
        try:
            reply = await self._obey(received.body)
        except AgiraphError as error:
            reply = RefusedReply(reason=f"{self._address}: {error}", kind=type(error).__name__)
        with suppress(TransportError):
            if reply is not None:
                await endpoint.reply(received, reply)
        endpoint.done(received)

    async def _obey(self, body: object) -> MessageBody | None:
        match body:
            case SpawnOnHost():
                return ProcessSpawned(pid=await self._spawn(body))
            case SignalOnHost():
                self._processes.signal(body.address, body.incarnation, body.signal)
            case Stop():
                self._tell(f"the home ends this host: {body.reason or 'by order'}")
                self._end.set()
        return None

    async def _spawn(self, body: SpawnOnHost) -> int:
        """Start a process for the supervisor that granted the lease; return its pid.

        Raises Refused.
        """

        def is_leased() -> bool:
            return self._lease.epoch == body.epoch and self._lease.is_valid(steady_seconds())

        with suppress(TimeoutError):  # the order may overtake the answer that is its lease
            async with asyncio.timeout(LEASE_WAIT_SECONDS):
                await self._changed.until(is_leased)
        if not is_leased():
            raise Refused("it has no lease of this supervisor")
        if self._is_stopping:
            raise Refused("it is about to stop")
        return await self._processes.spawn(body.launch)

    def _exited(self, exited: ExitedOnHost) -> None:
        self._reports.start(self._report(exited))

    async def _report(self, exited: ExitedOnHost) -> None:
        """Report an exit until the home stores the message."""
        while True:
            await self._changed.until(lambda: self._endpoint is not None)
            assert self._endpoint is not None
            try:
                await self._endpoint.send(SUPERVISOR, exited)
                return
            except TransportError as error:
                logger().warning("an end is not reported yet", reason=str(error))
                await asyncio.sleep(RETRY_SECONDS[0])

    # --- the lease ------------------------------------------------------------------------------

    async def _renew_for_ever(self, endpoint: Endpoint) -> None:
        while True:
            epoch = self._lease.epoch
            await self._renew(endpoint)
            if epoch in ("", self._lease.epoch):  # a new supervisor waits for the list of processes
                await self._renew_now.next(self._renew_seconds)

    async def _renew(self, endpoint: Endpoint) -> None:
        """Request a renewal of the lease, and apply the answer."""
        asked = self._question()
        limit = self._lease.seconds / 3 or ANSWER_SECONDS
        try:
            answer = await endpoint.ask(SUPERVISOR, asked, within_seconds=limit)
        except Fenced:
            raise
        except TransportError as error:
            self._tell_away(f"the home does not answer ({type(error).__name__})")
            return
        endpoint.done(answer)
        self._latency = steady_seconds() - asked.sent_at
        if isinstance(answer.body, LeaseRenewed):
            self._is_new_connection = self._is_new_connection and asked.facts is None
            async with self._leasing:
                await self._take(answer.body)
        elif isinstance(answer.body, RefusedReply):
            self._tell(f"the home refuses this host: {answer.body.reason}")

    def _question(self) -> RenewLease:
        return RenewLease(
            sent_at=steady_seconds(),
            now=time.time(),
            load=os.getloadavg()[0],
            free_memory_bytes=psutil.virtual_memory().available,
            facts=machine_facts() if self._is_new_connection else None,
            processes=self._processes.rows(),
            latency_seconds=self._latency,
            is_stopping=self._is_stopping,
            epoch=self._lease.epoch,
        )

    async def _take(self, granted: LeaseRenewed) -> None:
        if self._lease.must_end(granted):
            killed = await self._processes.kill_all()
            self._tell(f"the home's supervisor was restarted: killed {killed} processes")
        self._lease = self._lease.renewed(granted, steady_seconds())
        self._renew_seconds = granted.renew_seconds
        self._is_fenced = False
        self._changed.set()
        if self._relay is not None:
            self._relay.allow_until(self._lease.ends_at + KILL_SECONDS)
        self._tell(
            f"host {self._record.name} works for the home at {self._record.url}"
            f" (lease {granted.seconds:g} s)"
        )

    async def _keep_to_lease(self) -> None:
        """Kill all processes as soon as this host's lease has ended."""
        while True:
            left = self._lease.left(steady_seconds())
            await asyncio.sleep(min(LOOK_SECONDS, left) if left else LOOK_SECONDS)
            async with self._leasing:
                if not self._is_fenced and not self._lease.is_valid(steady_seconds()):
                    await self._fence()

    async def _fence(self) -> None:
        killed = await self._processes.kill_all()
        self._is_fenced = True
        if self._relay is not None:
            self._relay.allow_until(math.inf)
        self._tell(f"the lease has ended: killed {killed} processes; trying again and again")

    def _tell_away(self, text: str) -> None:
        if not self._is_fenced:
            left = self._lease.left(steady_seconds())
            self._tell(f"{text}; the lease ends in {left:.0f} s", "away")

    def _tell(self, text: str, state: str = "") -> None:
        """Print a line, unless the last line was about the same `state`."""
        if (state or text) != self._said and not self._is_stopping:
            self._said = state or text
            self._options.say(text)
