"""HostProcesses: the processes of entities on this machine: started, signalled, watched, killed.

The launchers of the home's own machine start them, in a mirror of the home and with the url of this
machine's relay.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from actors.host.lease import verdict_on_launch
from actors.runtime.kinds import entry_named
from actors.runtime.launch import ActorLaunch
from actors.runtime.linux import adopt_orphans
from actors.supervisor.orphan_processes import OrphanProcesses, kill_leftovers
from actors.supervisor.processes.handle import LocalHandle, ProcessFiles
from actors.supervisor.processes.launcher import ExecLauncher, ForkLauncher, further_variables
from actors.supervisor.processes.reaper import Reaper
from actors.supervisor.processes.restarts import ProcessExit, RestartPolicy
from actors.supervisor.processes.stopping import end_process, kill_process
from agiraph.core.concurrency import BackgroundTasks
from agiraph.core.errors import Refused, Unavailable
from agiraph.core.ids import Address
from agiraph.messages.host import ExitedOnHost, HostProcess
from agiraph.storage.disk_space import WAITS
from agiraph.storage.home import Home

WORKER: Final = "worker"
REMEMBERED_ENDS: Final = 10_000
SPAWNER_POLICY: Final = RestartPolicy("permanent", 5, 60.0, endless=True)


@dataclass(slots=True)
class HostedEntity:
    """The last incarnation of an address on this machine: starting, running or exited."""

    incarnation: int
    started: "asyncio.Future[LocalHandle]"
    exited: ExitedOnHost | None = None
    is_stopping: bool = False

    @property
    def process(self) -> LocalHandle | None:
        """The entity's process, None before it exists and if it could not be created."""
        is_made = self.started.done() and not self.started.cancelled()
        return self.started.result() if is_made and not self.started.exception() else None

    @property
    def is_running(self) -> bool:
        """Whether the entity has a process, or one is being created."""
        process = self.process
        return not self.started.done() or (process is not None and not process.ended.done())


class HostProcesses:
    """All processes of entities on this machine. No file or process is touched before `open`.

    `url` is the relay's URL; `exited` is called at each exit of a process, and again when a signal
    for an exited process is requested.
    """

    def __init__(
        self,
        home: Home,
        url: str,
        environ: Mapping[str, str],
        kinds: Mapping[str, str],
        exited: Callable[[ExitedOnHost], None],
        log: Any,
    ) -> None:
        self._home = home.path
        self._url = url
        self._environ = environ
        self._kinds = kinds
        self._exited = exited
        self._log = log
        self._entities: dict[str, HostedEntity] = {}
        self._kills = 0
        self.reaper = Reaper(on_death=self.kill_orphans)
        self._orphans = OrphanProcesses(self.reaper)
        self._exec = ExecLauncher(self.reaper, environ)
        self._fork: ForkLauncher | None = None
        self._tasks = BackgroundTasks()

    def open(self) -> None:
        """Kill leftovers of an earlier host process in this folder, and prepare the launchers."""
        if left := kill_leftovers(self._home, ()):
            self._log.warning("killed leftovers of an earlier host process", pids=left)
        is_subreaper = adopt_orphans()
        self.reaper.listen()
        if is_subreaper:
            self._fork = ForkLauncher(
                self.reaper,
                self._environ,
                self._exec,
                self._home,
                self.kill_orphans,
                SPAWNER_POLICY,
                self._log,
                prepares=True,
            )
            self._fork.start()

    @property
    def running(self) -> dict[str, HostedEntity]:
        """The entities that have a process, or for which one is being created."""
        return {address: one for address, one in self._entities.items() if one.is_running}

    def rows(self) -> tuple[HostProcess, ...]:
        """Return the running processes: address, incarnation, pid, kernel's figures."""
        return tuple(
            _row(address, one.incarnation, one.process)
            for address, one in self.running.items()
            if one.process is not None
        )

    # --- starting -------------------------------------------------------------------------------

    async def spawn(self, packed: bytes) -> int:
        """Start the process of a launch and return its pid; a running process is confirmed.

        Raises Refused, Unavailable.
        """
        launch = self._own(packed)
        known = self._entities.get(launch.address)
        verdict = verdict_on_launch(
            launch.incarnation,
            None if known is None else known.incarnation,
            known is not None and known.is_running,
        )
        if verdict == "stale":
            raise Refused(f"{launch.address}#{launch.incarnation} is over: a newer one was here")
        if known is not None and verdict in ("confirm", "ended"):
            process = await asyncio.shield(known.started)
            if known.exited is not None:
                self._exited(known.exited)
            return process.pid
        started: asyncio.Future[LocalHandle] = asyncio.get_running_loop().create_future()
        self._entities[launch.address] = HostedEntity(launch.incarnation, started)
        if known is not None and verdict == "replace":
            await self._kill(known)
        await self._start(launch, self._entities[launch.address])
        self._forget_oldest()
        return (await started).pid

    def _own(self, packed: bytes) -> ActorLaunch:
        """Return a decoded launch, with home, router URL and program of this machine.

        Raises Refused for a launch that cannot be read, or that is not of a worker.
        """
        try:
            launch = ActorLaunch.unpack(packed)
        except (ValueError, TypeError, KeyError) as error:
            raise Refused(f"the launch cannot be read: {type(error).__name__}: {error}") from None
        if launch.kind != WORKER:
            raise Refused(
                f"a host runs processes of kind '{WORKER}' only: {launch.address} is a"
                f" '{launch.kind}', which runs on the home's own machine"
            )
        entry = entry_named(launch.kind, self._kinds)
        return replace(launch, home=self._home, router_url=self._url, entry=entry)

    async def _start(self, launch: ActorLaunch, entity: HostedEntity) -> None:
        """Create the process of `launch`; `entity.started` receives the process, or the error."""
        kills, files = self._kills, ProcessFiles(self._home, launch.address, launch.incarnation)
        has_secrets = bool(further_variables(launch, self._environ))
        launcher = self._exec if has_secrets or self._fork is None else self._fork
        try:
            await self.prepared()
            spawned = await launcher.spawn(launch)
        except BaseException as error:
            entity.started.set_exception(
                error if isinstance(error, Unavailable) else Unavailable(f"not started: {error}")
            )
            entity.started.exception()  # its waiter gets the error; there may be no waiter
            raise
        process = LocalHandle(spawned, files)
        self._tasks.start(self._watch(Address(launch.address), entity, process))
        entity.started.set_result(process)
        if kills != self._kills:  # all were killed meanwhile
            await kill_process(process)

    async def prepared(self) -> None:
        """Wait until the first spawner is ready: starting interpreters would delay it."""
        if self._fork is not None and self._fork.state == "starting" and not self._fork.restarts:
            await self._fork.await_spawner()

    async def _watch(self, address: Address, entity: HostedEntity, process: LocalHandle) -> None:
        how = await process.ended
        entity.exited = _exit_of(address, entity, how, process)
        self._exited(entity.exited)

    # --- ending ---------------------------------------------------------------------------------

    def signal(self, address: Address, incarnation: int, number: int) -> None:
        """Signal a process (its group for SIGTERM, SIGKILL); report a past exit again."""
        entity = self._entities.get(address)
        if entity is None or entity.incarnation != incarnation:
            self._exited(ExitedOnHost(address=address, incarnation=incarnation))
            return
        process = entity.process
        if process is not None and not process.ended.done():
            if number in (signal.SIGTERM, signal.SIGKILL):
                process.signal_group(number)
            else:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)
        elif entity.exited is not None:
            self._exited(entity.exited)
        elif number == signal.SIGKILL:  # it is being started
            self._tasks.start(self._kill(entity))

    async def kill_all(self) -> int:
        """Kill all processes with all descendants; return the number of processes."""
        self._kills += 1
        running = list(self.running.values())
        await asyncio.gather(*map(self._kill, running))
        self._orphans.kill_due(asyncio.get_running_loop().time(), linger_seconds=0)
        return len(running)

    async def stop(self, grace_seconds: float) -> None:
        """End all processes in order, within three times the grace; then the launchers.

        The home treats these exits as the loss of a machine: it restarts the entities on another.
        """
        ended = [self._end(one, grace_seconds) for one in self.running.values()]
        await asyncio.gather(*ended)
        await self._tasks.until_empty()  # each exit is reported
        if self._fork is not None:
            await self._fork.stop()

    async def _end(self, entity: HostedEntity, grace_seconds: float) -> None:
        entity.is_stopping = True
        with suppress(Unavailable):
            process = await asyncio.shield(entity.started)
            await end_process(process, process.terminate, grace_seconds)

    async def _kill(self, entity: HostedEntity) -> None:
        with suppress(Unavailable):
            await kill_process(await asyncio.shield(entity.started))

    def kill_orphans(self) -> None:
        """Kill descendants without an owner, unless they end by themselves in a moment."""
        self._orphans.kill()

    def _forget_oldest(self) -> None:
        ended = [address for address, one in self._entities.items() if not one.is_running]
        for address in ended[: max(0, len(self._entities) - REMEMBERED_ENDS)]:
            del self._entities[address]


def _row(address: str, incarnation: int, process: LocalHandle | None) -> HostProcess:
    assert process is not None
    row = HostProcess(
        address=Address(address),
        incarnation=incarnation,
        pid=process.pid,
        waits_for_room=process.noted_step() == WAITS,
    )
    stats = process.stats()
    if stats is None:
        return row
    return row.model_copy(
        update={
            "started_at": stats.started_at,
            "cpu_seconds": stats.cpu_seconds,
            "memory_bytes": stats.memory_bytes,
        }
    )


def _exit_of(
    address: Address, entity: HostedEntity, how: ProcessExit, process: LocalHandle
) -> ExitedOnHost:
    """Return a process's exit; a clean exit at this host's stop counts as one by SIGTERM."""
    left = process.evidence()
    is_ours = entity.is_stopping and how.is_clean
    return ExitedOnHost(
        address=address,
        incarnation=entity.incarnation,
        exit_code=None if is_ours else how.code,
        signal=signal.SIGTERM if is_ours else how.signal,
        oom_kills=left.oom_kills,
        tail=left.tail,
        step=left.step or "",
        was_ready=left.was_ready,
        is_repeated_crash=left.is_repeated_crash,
    )
