"""Hosts: the other machines of this home, their processes, and their leases.

A host is known by its own report every few seconds (`host.renew`); each answer renews its lease
(`leases`). When the lease of a silent host has ended, its processes have ended too, and are started
elsewhere. Processes that an earlier supervisor started on a host are awaited in the same way, until
the host reports that it does not run them.
"""

import asyncio
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil

from actors.runtime.launch import ActorLaunch
from actors.runtime.machine import cores, found_labels
from actors.supervisor.child_monitor import ChildMonitor
from actors.supervisor.host_registry import HostRegistry
from actors.supervisor.leases import GrantedLease, OverdueKills, unknown_lease
from actors.supervisor.placement import Machine, NotPlaced, PlacementRequest, place
from actors.supervisor.remote_handle import RemoteHandle
from actors.supervisor.supervisor_endpoint import SupervisorEndpoint
from agiraph import __version__
from agiraph.core.concurrency import Signal
from agiraph.core.errors import Refused, listed
from agiraph.core.hosts import HOME_HOST, HostInfo, HostState, MachineFacts
from agiraph.core.ids import HOST_PREFIX, ROUTER, Address, AgentId, agent_of
from agiraph.messages.child import ChildSpec
from agiraph.messages.control import RefusedReply
from agiraph.messages.host import (
    ExitedOnHost,
    HostProcess,
    KnownHosts,
    LeaseRenewed,
    ProcessSpawned,
    RenewLease,
    SignalOnHost,
    SpawnOnHost,
)
from agiraph.readmodel.child_register import ProcessStarted
from agiraph.readmodel.host_records import RegisteredHost
from agiraph.settings.hosts import HostsConfig
from agiraph.storage.home import Home
from transport.errors import TransportError

SPAWN_SECONDS = 5.0
SPAWN_AGAIN_SECONDS = 0.5
REFUSED_SECONDS = 10.0
STOP_PATIENCE_SECONDS = 0.5
SIGKILL = 9


@dataclass(slots=True)
class _Host:
    """The state of one host since this supervisor has started.

    `strangers` are addresses that may still run there for an earlier supervisor; `concerned` the
    agents that had entities there when it was lost; `kills` the processes that it was asked to kill
    and still lists. A host that is `leaving` gets no further lease.
    """

    lease: GrantedLease = field(default_factory=GrantedLease)
    handles: dict[str, RemoteHandle] = field(default_factory=dict)
    strangers: set[str] = field(default_factory=set)
    concerned: set[AgentId] = field(default_factory=set)
    kills: OverdueKills = field(default_factory=OverdueKills)
    is_leaving: bool = False
    said: RenewLease | None = None
    seen_at: float | None = None
    skew_seconds: float | None = None
    shown: HostState = "away"
    closed_until: float = 0.0
    timer: asyncio.TimerHandle | None = None


class Hosts:
    """The other machines of one home: their leases and their processes.

    `processes` returns where each address ran last, `note` records that; `count_at_home` returns
    the number of children on this machine; `tell_all` reports an event to every working agent;
    `files` is the service that every worker on a host needs at its start.
    """

    def __init__(
        self,
        home: Home,
        config: HostsConfig,
        bus: SupervisorEndpoint,
        processes: Callable[[], Mapping[str, ProcessStarted]],
        note: Callable[[ProcessStarted], None],
        count_at_home: Callable[[], int],
        tell_all: Callable[[str, str, dict[str, Any]], None],
        files: Callable[[], ChildMonitor | None],
        log: Any,
    ) -> None:
        self.registry = HostRegistry(home)
        self.config = config
        self.url = self.problem = ""
        self.is_stopping = False
        self.epoch = secrets.token_hex(8)
        self.preferred: dict[str, str] = {}
        """The machine on which an address is started next, if possible: it is being moved there."""
        self._bus = bus
        self._processes = processes
        self._note = note
        self._count_at_home = count_at_home
        self._tell_all = tell_all
        self._files = files
        self._log = log
        self._labels = frozenset(found_labels())
        self._announced: dict[str, str] = {}
        self._hosts: dict[str, _Host] = {}
        self._changed = Signal()
        for name, host in self.registry.hosts.items():
            self._hosts[name] = _Host()
            self._expect_strangers(name, host.lease_seconds or config.lease_seconds)

    def _expect_strangers(self, name: str, seconds: float) -> None:
        """Expect that an earlier supervisor's processes run on a host until its lease has ended."""
        host = self._hosts[name]
        host.strangers = {
            at for at, last in self._processes().items() if last.host == name and not last.has_ended
        }
        if host.strangers:
            host.lease = unknown_lease(self._time(), seconds)
            self._set_timer(name, host)

    # --- keys that may connect ------------------------------------------------------------------

    def uplink(self) -> dict[str, str] | None:
        """Return the router's settings for other machines, None if it should not listen."""
        if not self.config.listen:
            return None
        key = self.registry.uplink_key()
        return {"url": self.config.listen, "public": key.public, "secret": key.secret}

    def welcomed(self) -> None:
        """Send the router the keys that may connect, after it has admitted the supervisor."""
        self._announced = self.registry.known()
        if self.config.listen:
            self._bus.post(ROUTER, KnownHosts(known=self._announced))

    def listens(self, url: str, problem: str) -> None:
        """Record where the router listens, or why it cannot."""
        self.url, self.problem = url, problem
        if problem:
            self._log.error("other machines cannot connect", reason=problem)
        else:
            self._log.info("other machines connect", url=url)

    def known_changed(self) -> None:
        """Send the router the keys that may connect, if they have changed (invitations expire)."""
        if self.registry.known() != self._announced:
            self.welcomed()

    def joined(self, host: RegisteredHost) -> None:
        """Add a host that has just joined."""
        self._hosts.setdefault(host.name, _Host())
        labels = list(self._labels_of(host))
        self._log.info("host joined", host=host.name, labels=labels)
        self._tell_all(
            "host.joined", host_address(host.name), {"host": host.name, "labels": labels}
        )
        self.known_changed()

    async def remove(self, name: str) -> None:
        """Forget a host once no process can run there, at the latest when its lease has ended."""
        host = self._hosts[name]
        host.is_leaving = True
        try:
            for handle in list(host.handles.values()):
                handle.give_up(f"its machine '{name}' was removed")
                await asyncio.wait([handle.ended])
            await self._changed.until(lambda: not host.strangers)
        finally:
            host.is_leaving = False
        self.registry.remove(name)
        del self._hosts[name]
        if host.timer is not None:
            host.timer.cancel()
        self._log.info("host removed", host=name)
        self.known_changed()

    # --- leases ---------------------------------------------------------------------------------

    def renew(self, name: str, body: RenewLease) -> LeaseRenewed:
        """Renew a host's lease and return it; compare the reported processes.

        Raises Refused, OSError.
        """
        seconds = self.config.lease_seconds
        facts = body.facts or self.registry.named(name).facts
        self.registry.change(name, lease_seconds=seconds, facts=facts)
        check_version(name, facts)
        host, now = self._hosts[name], self._time()
        host.said = body.model_copy(update={"facts": None})
        host.seen_at, host.skew_seconds = time.time(), body.now - time.time()
        self._compare(name, host, body, now)
        self._check_obeys(name, host, now)
        host.lease = host.lease.granted(now, seconds)
        self._set_timer(name, host)
        self._show(name, host)
        return LeaseRenewed(
            sent_at=body.sent_at,
            seconds=seconds,
            epoch=self.epoch,
            renew_seconds=self.config.renew_seconds,
        )

    def _check_obeys(self, name: str, host: _Host, now: float) -> None:
        """Raise Refused for a host that gets no further lease: it is removed, or ignores kills."""
        if host.is_leaving:
            raise Refused(f"host '{name}' is being removed")
        if ignored := host.kills.ignored(now, self.config.lease_seconds):
            raise Refused(
                f"host '{name}' still runs {listed(ignored)}, which it was told to kill: it gets no"
                " lease until it has"
            )

    def exited(self, name: str, body: ExitedOnHost) -> None:
        """Record that a process has ended on a host."""
        host = self._hosts.get(name)
        handle = host.handles.get(body.address) if host is not None else None
        if handle is not None and handle.incarnation == body.incarnation:
            handle.exited(body)

    def check(self) -> None:
        """Detect hosts that have become silent, and invitations that have expired."""
        self.known_changed()
        for name, host in self._hosts.items():
            self._show(name, host)

    def is_silent(self, name: str) -> bool:
        """Whether a host is silent, so that its processes cannot be heard either."""
        host = self._hosts.get(name)
        return host is not None and self._state(host) != "ready"

    def stop(self) -> None:
        """Give up the processes of silent hosts: they end with the hosts' leases."""
        self.is_stopping = True
        for name, host in self._hosts.items():
            if self.is_silent(name):
                self._lose(name, host, may_still_run=True)

    def _compare(self, name: str, host: _Host, said: RenewLease, now: float) -> None:
        """Compare the processes that a host lists with the processes that it should run.

        A missing process has certainly ended only after the host has learned of this supervisor:
        before, the host might be starting it for the earlier supervisor.
        """
        running: dict[tuple[str, int], HostProcess] = {
            (process.address, process.incarnation): process for process in said.processes
        }
        doomed = set(running)
        for handle in list(host.handles.values()):
            at = handle.address, handle.incarnation
            process = running.pop(at, None)
            if process is None:
                handle.is_not_listed()
            else:
                handle.runs(process)
                if not handle.is_killed:
                    doomed.discard(at)
        host.kills = host.kills.listed(doomed, now)
        addresses = {address for address, _ in running}
        if said.epoch in ("", self.epoch):
            for gone in host.strangers - addresses:
                self._has_ended(gone)
            host.strangers &= addresses
            self._changed.set()
        for address, incarnation in running:
            kill = SignalOnHost(address=address, incarnation=incarnation, signal=SIGKILL)
            self._bus.post(host_address(name), kill)

    def _set_timer(self, name: str, host: _Host) -> None:
        """Check the host again when its lease ends."""
        if host.timer is not None:
            host.timer.cancel()
        loop = asyncio.get_running_loop()
        host.timer = loop.call_at(host.lease.ends_at, self._lease_ended, name, host)

    def _lease_ended(self, name: str, host: _Host) -> None:
        host.timer = None
        self._lose(name, host, may_still_run=False)
        self._show(name, host)

    def _lose(self, name: str, host: _Host, *, may_still_run: bool) -> None:
        """Count the processes of a silent host as ended.

        `may_still_run`: its lease has not ended.
        """
        host.concerned |= set(filter(None, map(agent_of, host.handles)))
        for address in host.strangers:
            self._has_ended(address)
        host.strangers.clear()
        self._changed.set()
        for handle in list(host.handles.values()):
            reason = f"its machine '{name}' cannot be reached, and its lease has ended"
            handle.lost(reason, may_still_run=may_still_run)

    def _show(self, name: str, host: _Host) -> None:
        """Log and report a host's state if it has changed since the last call."""
        now, before = self._state(host), host.shown
        if now == before or self.is_stopping:
            return
        host.shown = now
        about = {"host": name, "state": now}
        if now == "ready":
            self._log.info("host ready", **about)
            self._wake_files()
            if before == "lost":
                self._report(name, host, "host.back", {})
        else:
            self._log.warning(f"host {now}", seconds=round(self._silence(host), 1), **about)
            if now == "lost":
                self._report(name, host, "host.lost", {"seconds": round(self._silence(host), 1)})

    def _report(self, name: str, host: _Host, type: str, data: dict[str, Any]) -> None:
        """Report an event of a host to the agents that have, or had, entities there."""
        agents = host.concerned | set(filter(None, map(agent_of, host.handles)))
        for agent in sorted(agents):
            self._bus.report_event(agent, type, host_address(name), {"host": name, **data})
        host.concerned = agents if type == "host.lost" else set()

    def _state(self, host: _Host) -> HostState:
        return host.lease.state(self._time(), self.config.renew_seconds)

    def _silence(self, host: _Host) -> float:
        return 0.0 if host.seen_at is None else max(0.0, time.time() - host.seen_at)

    def _time(self) -> float:
        return asyncio.get_running_loop().time()

    # --- processes ------------------------------------------------------------------------------

    def place(self, spec: ChildSpec, *, but: str = "") -> str | NotPlaced:
        """Return the host to start a child on, '' for this machine, or why it must wait.

        `but` is a machine that the child is to leave.
        """
        last = self._processes().get(spec.address)
        for name, host in self._hosts.items():
            if spec.address in host.strangers:
                return NotPlaced(f"it may still run on '{name}', until its lease there ends")
        if spec.kind != "worker":
            return ""
        ran_on = "" if last is None else last.host or HOME_HOST
        wish = PlacementRequest(spec.host, spec.labels, self.preferred.get(spec.address, ran_on))
        placed = place(wish, [one for one in self._machines() if one.name != but])
        return placed if isinstance(placed, NotPlaced) else host_of(placed)

    def launch(self, name: str, launch: ActorLaunch) -> RemoteHandle:
        """Request the start of a process from a host; return its handle."""
        host, address = self._hosts[name], launch.address
        handle = RemoteHandle(
            name, address, launch.incarnation, lambda body: self._signal(name, handle, body)
        )
        self.preferred.pop(address, None)
        self._wake_files()
        started = ProcessStarted(address=address, pid=0, started_at=0, boot="", host=name)
        self._note(started)
        host.handles[address] = handle
        handle.ended.add_done_callback(lambda _: self._ended(host, handle))
        self._bus.run_in_background(self._spawn(host, handle, launch.pack()))
        return handle

    def _wake_files(self) -> None:
        """Start the service `files`, unless it is running."""
        monitor = self._files()
        if monitor is not None and monitor.state == "parked" and not self.is_stopping:
            self._bus.run_in_background(monitor.wake())

    def _signal(self, name: str, handle: RemoteHandle, body: SignalOnHost) -> None:
        self._bus.post(host_address(name), body)
        if self.is_stopping and body.signal == SIGKILL:
            reason = f"its machine '{name}' does not answer"
            loop = asyncio.get_running_loop()
            loop.call_later(STOP_PATIENCE_SECONDS, lambda: handle.lost(reason, may_still_run=True))

    async def _spawn(self, host: _Host, handle: RemoteHandle, launch: bytes) -> None:
        """Repeat the request for a start until the host answers, or the process is given up."""
        body = SpawnOnHost(launch=launch, epoch=self.epoch)
        while not (handle.ended.done() or handle.is_killed):
            try:
                answer = await self._bus.ask(host_address(handle.host), body, SPAWN_SECONDS)
            except TransportError:
                await asyncio.wait([handle.ended], timeout=SPAWN_AGAIN_SECONDS)
                continue
            match answer:
                case ProcessSpawned(pid=pid):
                    handle.pid = pid
                case RefusedReply(reason=reason):
                    host.closed_until = self._time() + REFUSED_SECONDS
                    handle.not_made(f"{handle.host}: {reason}")
            return

    def _ended(self, host: _Host, handle: RemoteHandle) -> None:
        if host.handles.get(handle.address) is handle:
            del host.handles[handle.address]
        if not handle.may_still_run:
            self._has_ended(handle.address)

    def _has_ended(self, address: str) -> None:
        last = self._processes().get(address)
        if last is not None and last.host and not last.has_ended:
            self._note(last.model_copy(update={"has_ended": True}))

    # --- the table ------------------------------------------------------------------------------

    def _machines(self) -> list[Machine]:
        """Return the current state of all machines, this machine first."""
        home = Machine(
            HOME_HOST,
            self._labels,
            cores=cores(),
            load=os.getloadavg()[0],
            processes=self._count_at_home(),
            free_memory_bytes=psutil.virtual_memory().available,
        )
        return [home, *(self._machine(name) for name in self._hosts)]

    def _machine(self, name: str) -> Machine:
        host, registered = self._hosts[name], self.registry.hosts[name]
        facts, said = registered.facts, host.said
        return Machine(
            name,
            frozenset(self._labels_of(registered)),
            is_open=self._state(host) == "ready"
            and not registered.is_cordoned
            and not (said and said.is_stopping)
            and self._time() >= host.closed_until,
            cores=facts.cores if facts else 1,
            load=said.load if said else 0.0,
            processes=len(host.handles),
            free_memory_bytes=said.free_memory_bytes or None if said else None,
        )

    def _labels_of(self, registered: RegisteredHost) -> tuple[str, ...]:
        found = registered.facts.labels if registered.facts else ()
        return tuple(dict.fromkeys((*registered.labels, *found)))

    def running_on(self, name: str) -> list[str]:
        """Return the addresses of the children on a host."""
        return list(self._hosts[name].handles)

    def info(self) -> tuple[HostInfo, ...]:
        """Return a row for each host."""
        return tuple(self._info(name, host) for name, host in self._hosts.items())

    def _info(self, name: str, host: _Host) -> HostInfo:
        registered, said = self.registry.hosts[name], host.said
        return HostInfo(
            name=name,
            state=self._state(host),
            is_cordoned=registered.is_cordoned,
            labels=self._labels_of(registered),
            facts=registered.facts,
            processes=len(host.handles),
            load=said.load if said else 0.0,
            free_memory_bytes=said.free_memory_bytes if said else 0,
            latency_seconds=said.latency_seconds if said else None,
            skew_seconds=host.skew_seconds,
            seen_at=host.seen_at,
            lease_seconds=host.lease.left(self._time()),
        )


def host_address(name: str) -> Address:
    """Return the address of a host."""
    return Address(HOST_PREFIX + name)


def host_of(machine: str) -> str:
    """Return the host of a machine's name, '' for the home's own machine."""
    return "" if machine == HOME_HOST else machine


def check_version(name: str, facts: MachineFacts | None) -> None:
    """Raise Refused unless a machine has the same release of Agiraph, except the last number."""
    if facts is not None and _release(facts.version) != _release(__version__):
        raise Refused(
            f"host '{name}' has Agiraph {facts.version}, this home {__version__}: install"
            f" {_release(__version__)} there"
        )


def _release(version: str) -> str:
    return ".".join(version.split(".")[:2])
