"""Scaler: compares the needed and the existing hosts periodically, and starts and ends hosts."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress

from pydantic import BaseModel

from actors.runtime.launch import ActorLaunch
from actors.runtime.machine import cores, found_labels
from actors.runtime.runtime import Runtime, run_actor
from actors.scaler.decide import Limits, OwnHost, decide
from actors.scaler.ends import HostEnd, LauncherFailed
from actors.scaler.launch import Launcher, launcher_for
from agiraph.core.concurrency import first_to_end
from agiraph.core.hosts import AUTO_PREFIX, HostInfo
from agiraph.core.ids import SUPERVISOR, short_id
from agiraph.messages.control import RefusedReply
from agiraph.messages.host import ChangeHost, HostInvited, HostTable, InviteHost, ListHosts
from agiraph.settings.config import Config
from agiraph.storage.home import Home
from transport.errors import TransportError

LOOK_SECONDS = 1.0
ASK_SECONDS = 10.0
CHANGE_SECONDS = 60.0
BUSY = 1.0
"""The load of each processor on a machine that counts as busy."""
LONGEST_WAIT_SECONDS = 120.0

MakeLauncher = Callable[[Config, Home], Launcher]


class Scaler:
    """Starts and ends this home's own hosts; each `look` compares need and hosts once."""

    def __init__(self, runtime: Runtime, launcher: Launcher) -> None:
        self._runtime = runtime
        self._launcher = launcher
        self._log = runtime.log
        self._settings = runtime.config.scaler
        settings = self._settings
        self._limits = Limits(settings.min_hosts, settings.max_hosts, settings.idle_seconds)
        self._labels = frozenset((*settings.labels, *found_labels()))
        self._since: dict[str, float] = {}
        """When each own host was first seen."""
        self._worked: dict[str, float] = {}
        """When each own host was last seen at work."""
        self._told: set[str] = set()
        """The own hosts whose end is in the log."""
        self._failures = 0
        self._closed_until = 0.0

    async def run(self) -> None:
        """Call `look` periodically until cancelled."""
        while True:
            try:
                await self.look()
            except LauncherFailed as error:
                self._failed(str(error))
            except TransportError as error:
                self._log.warning("the supervisor does not answer", reason=str(error))
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Start and end hosts as decided; raises LauncherFailed, TransportError."""
        table = await self._ask(ListHosts())
        if not isinstance(table, HostTable):
            return
        rows = {row.name: row for row in table.hosts if row.name.startswith(AUTO_PREFIX)}
        ends = await self._launcher.instances()
        now = time.monotonic()
        own = [self._own(name, rows.get(name), ends, now) for name in {**rows, **ends}]
        for known in (self._since, self._worked):
            for name in known.keys() - rows.keys() - ends.keys():
                del known[name]
        self._told &= {*rows, *ends}
        if any(host.is_ready for host in own):
            self._failures = 0
        decision = decide(own, self._limits, is_needed=self._is_needed(table))
        for name in decision.end:
            row = rows.get(name)
            if row is None or not row.processes:  # else its processes wait for the end of its lease
                await self._end(name, is_known=row is not None)
        if table.listens_at and now >= self._closed_until:
            for _ in range(decision.start):
                await self._start()

    def _own(
        self, name: str, row: HostInfo | None, ends: dict[str, HostEnd | None], now: float
    ) -> OwnHost:
        """Return the facts about a host that this home started; log why it ended, once."""
        since = self._since.setdefault(name, now)
        if row is None or row.state != "ready" or row.processes:
            self._worked[name] = now
        end = ends.get(name, HostEnd("gone", "the launcher does not know it"))
        if end is None and row is None and now - since > self._settings.start_seconds:
            end = HostEnd("late", f"it has not joined within {self._settings.start_seconds:.0f} s")
        if end is not None and name not in self._told:
            self._told.add(name)
            self._log.warning("a host is gone", host=name, cause=end.kind, reason=end.text)
            if row is None:
                self._failed(end.text)
        return OwnHost(
            name,
            is_ready=row is not None and row.state == "ready",
            is_gone=end is not None,
            processes=row.processes if row is not None else 0,
            idle_seconds=now - self._worked.get(name, since),
        )

    def _is_needed(self, table: HostTable) -> bool:
        """Whether a host with our labels would get waiting work, or all machines are busy."""
        if any(self._labels.issuperset(labels) for labels in table.unplaced):
            return True
        if table.workers == 0 or self._runtime.config.hosts.launcher == "local":
            return False  # another process here would make this machine no larger
        ours = [row for row in table.hosts if row.name.startswith(AUTO_PREFIX)]
        if any(row.state == "ready" and not row.processes for row in ours):
            return False
        loads = [row.load / row.facts.cores for row in table.hosts if row.facts is not None]
        return min((os.getloadavg()[0] / cores(), *loads)) >= BUSY

    async def _start(self) -> None:
        """Invite a host and start it."""
        name = AUTO_PREFIX + short_id()
        asked = InviteHost(
            name=name, labels=self._settings.labels, seconds=self._settings.start_seconds
        )
        answer = await self._ask(asked)
        if not isinstance(answer, HostInvited):
            self._failed(getattr(answer, "reason", "no invitation"))
            return
        self._log.info("starts a host", host=name)
        self._since[name] = time.monotonic()
        await self._launcher.start(name, answer.line)

    async def _end(self, name: str, *, is_known: bool) -> None:
        """Remove a host's work and key, then end it; a host whose work cannot move stays."""
        if is_known:
            answer = await self._ask(ChangeHost(name=name, how="remove"), CHANGE_SECONDS)
            if isinstance(answer, RefusedReply):
                self._log.warning("a host stays", host=name, reason=answer.reason)
                await self._ask(ChangeHost(name=name, how="uncordon"))
                return
        await self._launcher.end(name)
        self._log.info("ended a host", host=name)

    def _failed(self, reason: str) -> None:
        """Log a failed start, and wait before the next one, longer each time."""
        wait = min(2.0**self._failures, LONGEST_WAIT_SECONDS)
        self._failures += 1
        self._closed_until = time.monotonic() + wait
        self._log.error("no host was started", reason=reason, again_in_seconds=wait)

    async def _ask(self, body: BaseModel, seconds: float = ASK_SECONDS) -> BaseModel:
        received = await self._runtime.ask(SUPERVISOR, body, within_seconds=seconds)
        self._runtime.done(received)
        return received.body


async def serve(runtime: Runtime, make: MakeLauncher = launcher_for) -> None:
    """Scale until cancelled; the launcher then ends hosts that cannot live without this process."""
    launcher = make(runtime.config, runtime.home)
    await runtime.ready()
    try:
        await first_to_end(Scaler(runtime, launcher).run(), _discard(runtime))
    finally:
        with suppress(LauncherFailed):
            await launcher.close()


async def _discard(runtime: Runtime) -> None:
    while True:
        runtime.done(await runtime.receive())


def main(launch: ActorLaunch) -> int:
    """Run the scaler; return its exit code."""
    return run_actor(launch, serve)
