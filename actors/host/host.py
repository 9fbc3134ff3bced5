"""Host: the process of a machine that has joined a home: relay, processes, bus and lease.

Exit codes: 0 asked to stop, 1 refused (another process is this host, the folder is in use).
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil

from actors.host.facts import machine_facts
from actors.host.host_processes import HostProcesses
from actors.host.lease import Lease
from actors.runtime.background_tasks import BackgroundTasks
from agiraph.core.errors import AgiraphError, Refused
from agiraph.core.ids import HOST_PREFIX, SUPERVISOR
from agiraph.logs.log import logger
from agiraph.messages.authorization import MESSAGES, refusal
from agiraph.messages.body import Body
from agiraph.messages.control import Ok, RefusedReply, Stop
from agiraph.messages.host import (
    ExitedOnHost,
    LeaseRenewed,
    ProcessSpawned,
    RenewLease,
    SignalOnHost,
    SpawnOnHost,
)
from transport.codec import Codec
from transport.endpoint import Endpoint, Received
from transport.errors import Fenced, TransportError
from transport.signal import Signal

HELLO_SECONDS: Final = 10.0
RETRY_SECONDS: Final = (0.5, 1.0, 2.0, 5.0)
"""The pauses before another hello; the last is that of all others."""
RENEW_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 5.0
LOOK_SECONDS: Final = 0.2
"""How often the lease is looked at: a machine that slept wakes with one that has ended."""
EPOCH_SECONDS: Final = 5.0
GRACE_SECONDS: Final = 2.0
CLOCK: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def host_clock() -> float:
    """Return seconds that go on while the machine sleeps, and that nobody sets."""
    return time.clock_gettime(CLOCK)


@dataclass(frozen=True, slots=True)
class HostOptions:
    """What a host process is started with. `kinds` says which function runs a worker."""

    folder: HostFolder
    environ: Mapping[str, str]
    kinds: Mapping[str, str]


class Host:
    """One host, from `run` to its return. `say` is told of each change, in a line."""

    def __init__(self, options: HostOptions, say: Callable[[str], None]) -> None:
        self._folder = folder = options.folder
        self._options = options
        self._record = folder.record()
        self._address = f"{HOST_PREFIX}{self._record.name}"
        self._say = say
        self._said = ""
        self._end = asyncio.Event()
        self._tasks = BackgroundTasks()
        self._changed = Signal()
        self._renew_now = Signal()
        self._lease = Lease()
        self._renew_seconds = RENEW_SECONDS
        self._latency: float | None = None
        self._is_new_connection = True
        self._is_stopping = False
        self._endpoint: Endpoint | None = None
        self._processes: HostProcesses
        self._relay: Relay

    async def run(self) -> int:
        """Serve the home until told to stop; raises Refused, Corrupt, OSError, Fenced."""
        home = self._folder.home
        make_private(self._folder.path)
        lock = HomeLock(self._folder.path, self._folder.lock, "host folder", "agiraph-host")
        lock.acquire()
        try:
            make_folders(home)
            url = socket_url(home)
            self._processes = HostProcesses(
                home, url, self._options.environ, self._options.kinds, self._exited, logger()
            )
            self._processes.open()
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                asyncio.get_running_loop().add_signal_handler(number, self._end.set)
            self._relay = Relay(self._record, self._folder.key(), url, self._processes.reaper)
            for work in (self._relay.run(), self._keep_to_lease(), self._talk(url)):
                self._tasks.start(work)
            try:
                await first_to_end(self._tasks.until_broken(), self._end.wait())
            finally:
                await self._shut_down()
                remove_socket_folder(home, url)
        finally:
            lock.release()
        return 0

    # --- the home -------------------------------------------------------------------------------

    async def _talk(self, url: str) -> None:
        """Say hello until the home lets us in, then answer, and renew the lease, for ever."""
        incarnation = self._folder.next_start()
        attempt = 0
        while self._endpoint is None:
            endpoint = Endpoint(
                url=url,
                address=self._address,
                incarnation=incarnation,
                ticket=NO_TICKET,
                codec=Codec(MESSAGES),
                wire=ZmqWire(url, HOST_RID),
            )
            endpoint.on_welcome = lambda _epoch: self._welcomed()
            try:
                await endpoint.start(within_seconds=HELLO_SECONDS)
                self._endpoint = endpoint
            except Fenced:
                raise
            except TransportError as error:
                self._tell(f"the home at {self._record.url} does not let us in: {error}; retrying")
                await asyncio.sleep(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
                attempt += 1
        await first_to_end(self._listen(self._endpoint), self._renew_for_ever(self._endpoint))

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

    async def _obey(self, body: object) -> Body | None:
        match body:
            case SpawnOnHost():
                return ProcessSpawned(pid=await self._spawn(body))
            case SignalOnHost():
                self._processes.signal(body.address, body.incarnation, body.signal)
                return Ok()
            case Stop():
                self._tell(f"the home ended this host: {body.reason or 'by order'}")
                self._end.set()
        return None

    async def _spawn(self, body: SpawnOnHost) -> int:
        """Start what is asked for by the supervisor that the lease is of; raises Refused."""
        with suppress(TimeoutError):  # the order may overtake the answer that is its lease
            async with asyncio.timeout(EPOCH_SECONDS):
                await self._changed.until(lambda: self._lease.epoch == body.epoch)
        if self._lease.epoch != body.epoch or not self._lease.is_valid(host_clock()):
            raise Refused("it has no lease of this supervisor")
        if self._is_stopping:
            raise Refused("it is about to stop")
        return await self._processes.spawn(body.launch)

    def _exited(self, exited: ExitedOnHost) -> None:
        if self._endpoint is not None:
            self._tasks.start(self._report(self._endpoint, exited))

    async def _report(self, endpoint: Endpoint, exited: ExitedOnHost) -> None:
        try:
            await endpoint.send(SUPERVISOR, exited)
        except TransportError as error:
            logger().warning("an end could not be reported", reason=str(error))

    # --- the lease ------------------------------------------------------------------------------

    async def _renew_for_ever(self, endpoint: Endpoint) -> None:
        while True:
            await self._renew(endpoint)
            await self._renew_now.next(self._renew_seconds)

    async def _renew(self, endpoint: Endpoint) -> None:
        """Ask for the lease once more, and take what is answered."""
        asked = self._question()
        limit = self._lease.seconds / 3 or ANSWER_SECONDS
        try:
            answer = await endpoint.ask(SUPERVISOR, asked, within_seconds=limit)
        except Fenced:
            raise
        except TransportError as error:
            left = self._lease.left(host_clock())
            self._tell(
                f"the home does not answer ({type(error).__name__});"
                + (f" the lease ends in {left:.0f} s" if left else " trying again and again"),
                "away" if left else "lost",
            )
            return
        endpoint.done(answer)
        self._latency = host_clock() - asked.sent_at
        if isinstance(answer.body, LeaseRenewed):
            self._is_new_connection = self._is_new_connection and asked.facts is None
            await self._take(answer.body)
        elif isinstance(answer.body, RefusedReply):
            self._tell(f"the home refuses this host: {answer.body.reason}")

    def _question(self) -> RenewLease:
        return RenewLease(
            sent_at=host_clock(),
            now=time.time(),
            load=os.getloadavg()[0],
            free_memory_bytes=psutil.virtual_memory().available,
            facts=machine_facts() if self._is_new_connection else None,
            processes=self._processes.rows(),
            latency_seconds=self._latency,
            is_stopping=self._is_stopping,
        )

    async def _take(self, granted: LeaseRenewed) -> None:
        if self._lease.must_end(granted):
            killed = await self._processes.kill_all()
            self._tell(f"the home has another supervisor: killed {killed} processes of the last")
        self._lease = self._lease.renewed(granted, host_clock())
        self._renew_seconds = granted.renew_seconds
        self._relay.note_lease(self._lease.left(host_clock()))
        self._changed.set()
        self._tell(
            f"{self._record.name} works for the home at {self._record.url}"
            f" (lease {granted.seconds:g} s)"
        )

    async def _keep_to_lease(self) -> None:
        """Kill everything as soon as there is no lease for it."""
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, self._lease.left(host_clock()) or LOOK_SECONDS))
            if self._processes.running and not self._lease.is_valid(host_clock()):
                killed = await self._processes.kill_all()
                self._tell(f"the lease has ended: killed {killed} processes; trying again", "lost")

    # --- the end --------------------------------------------------------------------------------

    async def _shut_down(self) -> None:
        """Have all processes end in order while the lease is kept, then leave the bus."""
        self._is_stopping = True
        self._renew_now.set()
        self._tell("stopping")
        await self._processes.stop(GRACE_SECONDS)
        await self._tasks.stop()
        if self._endpoint is not None:
            await self._endpoint.close()
        await self._relay.stop()

    def _tell(self, text: str, state: str = "") -> None:
        """Say a line, unless it is about the state that was told last."""
        if (state or text) != self._said:
            self._said = state or text
            self._say(text)
