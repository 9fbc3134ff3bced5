"""HostRequests: the supervisor's answers to requests about other machines."""

import asyncio
import socket
import time
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

import psutil
from pydantic import BaseModel

from actors.supervisor.child_monitor import ChildMonitor
from actors.supervisor.children import Children
from actors.supervisor.hosts import Hosts, check_version
from actors.supervisor.placement import NotPlaced
from agiraph.core.errors import AgiraphError, InvalidInput, Refused, Unavailable, listed, unknown
from agiraph.core.hosts import HOME_HOST
from agiraph.core.ids import HOST_PREFIX, HUMAN, INVITE_PREFIX
from agiraph.messages.child import ChildStarted
from agiraph.messages.control import Ok
from agiraph.messages.host import (
    ChangeHost,
    ExitedOnHost,
    HostInvited,
    HostJoined,
    HostRefused,
    HostTable,
    InviteHost,
    JoinHost,
    LeaseRenewed,
    LeaveHome,
    ListHosts,
    MoveChild,
    RenewLease,
    UplinkState,
)
from agiraph.readmodel.child_register import ProcessStarted
from transport.uplink import Refusals

LEAVE_SECONDS: Final = 5.0
"""How long entities have to move away from a host that leaves, or is removed by force."""
ANYWHERE: Final = frozenset({"0.0.0.0", "::", "*", ""})
ELSEWHERE: Final = ("192.0.2.1", 9)
"""An address for documentation: connecting UDP to it sends nothing, and shows our own address."""


class HostRequests:
    """Answers requests about machines from hosts, holders of invitations and the human."""

    def __init__(self, children: Children, hosts: Hosts) -> None:
        self._children = children
        self._hosts = hosts
        self._moving: set[str] = set()
        self._refusals = Refusals()

    async def answer(self, sender: str, body: BaseModel) -> BaseModel | None:
        """Execute a request; return the reply, None for a message without one.

        Raises AgiraphError, OSError.
        """
        match body:
            case RenewLease():
                return self._renew(sender, body)
            case ExitedOnHost():
                self._hosts.exited(sender.removeprefix(HOST_PREFIX), body)
            case HostRefused():
                self._refused(body)
            case UplinkState(url=url, problem=problem):
                self._hosts.listens(url, problem)
            case JoinHost():
                return self._join(sender.removeprefix(INVITE_PREFIX), body)
            case LeaveHome():
                return await self._leave(sender.removeprefix(HOST_PREFIX))
            case InviteHost():
                return self._invite(body)
            case ListHosts():
                return self._table()
            case ChangeHost():
                await self._change(body)
                return self._table()
            case MoveChild(address=address, host=host):
                return await self._move(self._movable(address), host)
        return None

    # --- joining and leaving --------------------------------------------------------------------

    def _invite(self, asked: InviteHost) -> HostInvited:
        url = asked.url or self._hosts.config.advertise or reachable(self._hosts.url)
        if not url:
            raise Unavailable(self._hosts.problem or "the router does not listen yet: try again")
        invited = self._hosts.registry.invite(asked, url)
        self._hosts.known_changed()
        return invited

    def _join(self, invitation: str, asked: JoinHost) -> HostJoined:
        try:
            check_version(asked.name, asked.facts)
            host = self._hosts.registry.admit(invitation, asked)
        except (Refused, InvalidInput) as error:
            self._audit(INVITE_PREFIX + invitation, error)
            raise
        self._hosts.joined(host)
        return HostJoined(name=asked.name)

    def _renew(self, sender: str, body: RenewLease) -> LeaseRenewed:
        """Renew a host's lease and return it. A refusal is audited and raised.

        A host that is refused because of its version asks again repeatedly.
        """
        try:
            return self._hosts.renew(sender.removeprefix(HOST_PREFIX), body)
        except Refused as error:
            self._audit(sender, error)
            raise

    def _audit(self, peer: str, error: AgiraphError) -> None:
        """Audit a refusal, unless the same one was audited a moment ago."""
        if self._refusals.is_new(str(error), time.monotonic()):
            self._refused(HostRefused(peer=peer, reason=str(error)))

    def _refused(self, refusal: HostRefused) -> None:
        """Log a refusal at the uplink, and send it to the gateway for the audit log."""
        self._children.log.warning(
            "refused at the uplink", peer=refusal.peer, reason=refusal.reason
        )
        self._children.bus.send(HUMAN, refusal)

    async def _leave(self, name: str) -> Ok:
        """Move a host's entities within LEAVE_SECONDS, then forget the host; return Ok."""
        await self._drain_for_a_while(name)
        await self._hosts.remove(name)
        return Ok()

    async def _drain_for_a_while(self, name: str) -> None:
        """Move a host's entities for LEAVE_SECONDS; the remaining ones are killed with the host."""
        with suppress(TimeoutError, Refused):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._drain(name)

    # --- changing -------------------------------------------------------------------------------

    def _table(self) -> HostTable:
        hosts, monitors = self._hosts, self._children.monitors.values()
        open_ones = len(hosts.registry.invitations())
        return HostTable(
            hosts=hosts.info(),
            listens_at=hosts.url,
            invitations=open_ones,
            problem=hosts.problem,
            unplaced=tuple(
                monitor.spec.labels
                for monitor in monitors
                if monitor.lacks_place and monitor.spec.host is None
            ),
            workers=sum(one.spec.kind == "worker" and one.process is not None for one in monitors),
        )

    async def _change(self, asked: ChangeHost) -> None:
        registry = self._hosts.registry
        match asked.how:
            case "cordon" | "uncordon":
                registry.change(asked.name, is_cordoned=asked.how == "cordon")
            case "label":
                registry.change(asked.name, labels=tuple(dict.fromkeys(asked.labels)))
            case "drain":
                await self._drain(asked.name)
            case "remove" if asked.force:
                await self._drain_for_a_while(asked.name)
                await self._hosts.remove(asked.name)
            case "remove":
                try:
                    await self._drain(asked.name)
                except Refused as error:
                    hint = f"`agiraph host remove {asked.name} --force` kills it: it then waits"
                    raise Refused(f"{error}. {hint} for a machine") from None
                await self._hosts.remove(asked.name)

    async def _drain(self, name: str) -> None:
        """Cordon a host and move its entities. Raises Refused with the entities that stay."""
        self._hosts.registry.change(name, is_cordoned=True)
        monitors = [self._children.monitors[at] for at in self._hosts.running_on(name)]
        moves = [self._move(monitor, "") for monitor in monitors]
        ends = await asyncio.gather(*moves, return_exceptions=True)
        for end in ends:
            if isinstance(end, BaseException) and not isinstance(end, AgiraphError):
                raise end
        stays = [str(end) for end in ends if isinstance(end, AgiraphError)]
        if stays:
            raise Refused(f"'{name}' is cordoned, but not empty: {listed(stays)}")

    # --- moving ---------------------------------------------------------------------------------

    def _movable(self, address: str) -> ChildMonitor:
        monitor = self._children.monitors.get(address)
        if monitor is None:
            raise unknown("process", address, list(self._children.monitors))
        if monitor.spec.kind != "worker":
            raise Refused(
                f"{address} is a {monitor.spec.kind}: it runs on the home's machine, only workers"
                " can be moved"
            )
        return monitor

    async def _move(self, monitor: ChildMonitor, host: str) -> ChildStarted:
        """Move an entity to `host` ('': another machine); return its new start.

        The target is chosen before the entity is stopped.
        """
        address = monitor.spec.address
        if address in self._moving:
            raise Refused(f"{address} is being moved already")
        self._moving.add(address)
        try:
            target = self._target(monitor, host)
            if monitor.process is None:
                self._start_next_at(monitor, target)
            elif monitor.process.handle.host != target:
                await self._hand_over(monitor, target)
        finally:
            self._moving.discard(address)
        number = self._children.incarnation(address)
        return ChildStarted(address=address, incarnation=number, host=target)

    def _target(self, monitor: ChildMonitor, host: str) -> str:
        """Return the machine to move an entity to; `host` '' means any. Raises Refused."""
        spec, process = monitor.spec, monitor.process
        if spec.stays and host not in ("", HOME_HOST):
            raise Refused(f"{spec.address} stays on the home's machine: it {spec.stays}")
        here = "" if process is None else process.handle.host or HOME_HOST
        if not host and spec.host == here:
            raise Refused(
                f"{spec.address} asks for '{here}' by name: `agiraph move {spec.address} HOST` has"
                " it ask for another machine"
            )
        wanted = spec.model_copy(update={"host": host}) if host else spec
        placed = self._hosts.place(wanted, but="" if host else here)
        if isinstance(placed, NotPlaced):
            raise Refused(f"{spec.address} cannot be moved: {placed.reason}")
        if spec.host not in (None, host) and host:
            monitor.spec = wanted
            self._children.register.declare(wanted)
        return placed

    def _start_next_at(self, monitor: ChildMonitor, target: str) -> None:
        """Record that an entity without a process is started on `target` when it wakes."""
        self._children.register.note(
            ProcessStarted(
                address=monitor.address, pid=0, started_at=0, boot="", host=target, has_ended=True
            )
        )

    async def _hand_over(self, monitor: ChildMonitor, target: str) -> None:
        """End an entity's process after its step, and start its next process on `target`."""
        address, came_from = monitor.address, monitor.process and monitor.process.handle.host
        self._hosts.preferred[address] = target or HOME_HOST
        try:
            process = await monitor.hand_over()
        finally:
            self._hosts.preferred.pop(address, None)
        if process is None:
            raise Refused(f"{address} was not moved: it is {monitor.state} ({monitor.cause})")
        now_at = process.handle.host
        data = {"from": came_from or HOME_HOST, "to": now_at or HOME_HOST}
        self._children.report(monitor, "child.moved", data)
        if now_at != target:
            raise Refused(f"{address} went to {now_at or HOME_HOST}: {target} took it no more")


def reachable(url: str) -> str:
    """Return a url that other machines can use: with an address of this machine, not 0.0.0.0."""
    parts = urlsplit(url)
    if not url or (parts.hostname or "") not in ANYWHERE:
        return url
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(ELSEWHERE)
            address = probe.getsockname()[0]
    except OSError:  # no route to other networks
        address = address_here() or socket.gethostname()
    return f"tcp://{address}:{parts.port}"


def address_here() -> str:
    """Return this machine's address in a network, '' if it is in no network."""
    up = {name for name, stats in psutil.net_if_stats().items() if stats.isup}
    found = [
        one.address
        for name in sorted(up)
        for one in psutil.net_if_addrs().get(name, ())
        if one.family == socket.AF_INET
    ]
    return next((one for one in found if not one.startswith("127.")), "")
