"""SupervisorService: executes the requests to the supervisor, and checks their senders."""

from functools import cached_property
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from actors.supervisor.child_monitor import ChildMonitor
from actors.supervisor.children import Children
from actors.supervisor.options import ON_DEMAND_KINDS, OPTIONAL, SERVICES, TOOLS, on_demand
from actors.supervisor.process_table import child_row, own_rows
from agiraph.core.errors import AgiraphError, InvalidInput, Refused, Unavailable, unknown
from agiraph.core.hosts import HOME_HOST
from agiraph.core.ids import ROUTER, SUPERVISOR, Address, AgentId, agent_of
from agiraph.messages.authorization import refusal
from agiraph.messages.body import MessageBody
from agiraph.messages.child import (
    AttachConsole,
    AttachTicket,
    ChildHeartbeat,
    ChildReady,
    ChildSpec,
    ChildStarted,
    ChildStopped,
    ChildTable,
    ListChildren,
    StartChild,
    StopChild,
    WakeChild,
)
from agiraph.messages.control import Ok, RefusedReply
from agiraph.messages.host import HostTable, ListHosts, MoveChild
from agiraph.readmodel.child_register import DesiredStateSet
from agiraph.storage.disk_space import outlasting
from agiraph.storage.home import Home
from transport.endpoint import Received
from transport.envelope import Flag

if TYPE_CHECKING:
    from actors.supervisor.host_requests import HostRequests

ADDRESS_LIMIT = 128
ONE_MACHINE: Final = (
    "this home has no other machine (possible: set hosts.listen, as in tcp://0.0.0.0:7400, restart"
    " the supervisor, then `agiraph host invite`)"
)


class SupervisorService:
    """Answers messages from the bus, and acts on the children."""

    def __init__(self, children: Children) -> None:
        self._children = children

    async def answer(self, received: Received) -> BaseModel | None:
        """Execute a message and return the reply; None for a message that is no request."""
        sender, body = received.header.sender, received.body
        if (reason := refusal(sender, received.header.to, body)) is not None:
            return RefusedReply(reason=reason) if received.header.flags & Flag.ASK else None
        try:
            return await self._do(sender, received.header.incarnation, body)
        except AgiraphError as error:
            return RefusedReply(reason=str(error), kind=type(error).__name__)
        except OSError as error:
            reason = f"the supervisor cannot write this down: {error.strerror or error}"
            return RefusedReply(reason=reason, kind=type(error).__name__)

    async def _do(self, sender: str, incarnation: int, body: BaseModel) -> BaseModel | None:
        match body:
            case ChildHeartbeat():
                self._note_beat(sender, incarnation, body)
            case ChildReady():
                if (monitor := self._find(sender)) is not None:
                    monitor.ready(incarnation)
                return Ok()
            case WakeChild(address=address):
                if (monitor := self._find(address)) is not None:
                    await self._wake(monitor)
            case ListChildren(agent=agent):
                return self._table(agent)
            case StartChild(spec=spec) if spec.kind == TOOLS:
                return self._offer_tools(spec.address)
            case StartChild(spec=spec):
                check_start(spec, self._startable())
                self._check_host(spec.host)
                return await self._start_child(spec)
            case StopChild():
                return await self._stop_child(body)
            case AttachConsole():
                return self._attach()
            case ListHosts() if self._hosts is None:
                return HostTable()
            case MessageBody() if body.TYPE.startswith("host.") or isinstance(body, MoveChild):
                if self._hosts is None:
                    raise Refused(ONE_MACHINE)
                return await self._hosts.answer(sender, body)
        return None

    @cached_property
    def _hosts(self) -> "HostRequests | None":
        """The handler of requests about other machines, None if this home has an uplink to none."""
        if self._children.hosts is None:
            return None
        from actors.supervisor.host_requests import HostRequests  # most homes have one machine

        return HostRequests(self._children, self._children.hosts)

    def _find(self, address: str) -> ChildMonitor | None:
        return self._children.monitors.get(address)

    def _startable(self) -> list[str]:
        """Return the kinds that may be started by message."""
        services = {*SERVICES, *OPTIONAL, *ON_DEMAND_KINDS}
        return [kind for kind in self._children.options.kinds if kind not in services]

    def _offer_tools(self, address: Address) -> ChildStarted:
        """Add an address for a server of tools, whose first call starts it; return the reply."""
        children = self._children
        offered = on_demand(children.options.config, Home(children.home))
        if address not in offered:
            raise unknown("server of tools", address, sorted(offered))
        if address not in children.monitors:
            children.service(address, TOOLS, "parked")
            children.announce()
        return ChildStarted(address=address, incarnation=0)

    def _check_host(self, host: str | None) -> None:
        """Raise InvalidInput for an unknown machine.

        The default machine of the settings is accepted: it may join later.
        """
        hosts = self._children.hosts
        if hosts is not None and host == hosts.config.default_host:
            return
        known = [HOME_HOST, *(hosts.registry.hosts if hosts is not None else ())]
        if host is not None and host not in known:
            raise unknown("machine", host, known)

    def _note_beat(self, sender: str, incarnation: int, body: ChildHeartbeat) -> None:
        """Record a heartbeat with the child's state.

        The supervisor's own shows a working router.
        """
        heartbeats = self._children.hangs.heartbeats
        was_suspect = (
            heartbeats.record_router()
            if sender == SUPERVISOR
            else heartbeats.record(sender, incarnation)
        )
        if was_suspect:
            self._children.hangs.recovered(ROUTER if sender == SUPERVISOR else sender)
        monitor = self._find(sender)
        process = monitor.process if monitor is not None else None
        if process is not None and process.incarnation == incarnation:
            process.doing = body.doing
            process.awaits = body.awaits

    async def _start_child(self, spec: ChildSpec) -> ChildStarted | None:
        """Start a child, or confirm that it is running or parked; return the reply.

        While the supervisor stops it does not reply: the sender is stopped too, and asks again
        after its restart. A refusal would count as the loss of a worker.
        """
        children = self._children
        known = self._find(spec.address)
        if known is not None and known.state == "parked":
            return ChildStarted(
                address=spec.address, incarnation=children.incarnation(spec.address)
            )
        while not children.is_stopping:
            await self._declare(spec)
            monitor = children.monitor(spec)
            process = await monitor.start()
            if process is not None:
                children.announce()
                return ChildStarted(address=spec.address, incarnation=process.incarnation)
            if not (monitor.is_forgotten or children.is_stopping):
                raise Unavailable(f"{spec.address} cannot be started: {monitor.cause}")
        return None

    async def _wake(self, monitor: ChildMonitor) -> None:
        """Start a parked child again."""
        if monitor.state == "parked" and agent_of(monitor.address) is not None:
            await self._declare(monitor.spec)
        await monitor.wake()

    async def _declare(self, spec: ChildSpec) -> None:
        """Record in the register that a child should run; waits for room on a full disk."""

        async def declare() -> None:
            self._children.register.declare(spec)

        await outlasting(declare)

    async def _stop_child(self, body: StopChild) -> ChildStopped:
        """Stop, kill, restart or forget a child; return the reply."""
        monitor = self._to_stop(body)
        address = monitor.address
        match body.how:
            case "kill":
                await monitor.kill()
            case "restart":
                if agent_of(address) is not None:
                    await self._declare(monitor.spec)
                await monitor.restart()
            case "stop" | "forget":
                self._children.register.rest(
                    DesiredStateSet(address=address, desired="stopped", cause=body.reason or None)
                )
                await monitor.stop()
        if body.how == "forget":
            self._children.forget(address)
        return ChildStopped(address=address, state=monitor.state)

    def _to_stop(self, body: StopChild) -> ChildMonitor:
        """Return the monitor of the child; raises Refused if it is unknown or only restarts."""
        monitor = self._find(body.address)
        if monitor is None:
            raise unknown("process", body.address, list(self._children.monitors))
        if agent_of(body.address) is None and body.how in ("stop", "forget"):
            raise Refused(f"{body.address} is a service: it can be restarted, not stopped")
        return monitor

    def _attach(self) -> AttachTicket:
        """Return the ticket of a new console."""
        children = self._children
        number = 1
        while f"console/{number}" in children.consoles:
            number += 1
        address = Address(f"console/{number}")
        incarnation = children.consoles[address] = children.register.allot(address)
        children.announce()
        return AttachTicket(
            address=address,
            incarnation=incarnation,
            ticket=children.ticket(address, incarnation),
            router_url=children.url,
        )

    def peer_gone(self, address: str, incarnation: int) -> None:
        """Forget a console that has disconnected; exits of children come from the kernel."""
        children = self._children
        if children.consoles.get(address) == incarnation:
            del children.consoles[address]
            children.announce()

    def _table(self, agent: AgentId | None) -> ChildTable:
        """Return all processes, the supervisor and the spawner first; or those of one agent."""
        children = self._children
        children.hangs.note_who_waits_for_room()
        rows = own_rows(children.incarnation(SUPERVISOR), children.fork) if agent is None else []
        rows += [
            child_row(each, children.incarnation(at))
            for at, each in children.monitors.items()
            if agent in (None, agent_of(at))
        ]
        return ChildTable(children=tuple(rows))


def check_start(spec: ChildSpec, startable: list[str]) -> None:
    """Raise InvalidInput unless this child can be started by message."""
    if spec.kind not in startable:
        raise unknown("kind of process to start", spec.kind, startable)
    if agent_of(spec.address) is None or not _is_plain(spec.address):
        raise InvalidInput(f"'{spec.address}' is no address of an agent's child")
    if spec.kind != "worker" and (spec.labels or spec.host not in (None, HOME_HOST)):
        raise InvalidInput(f"{spec.address} is a {spec.kind}: only workers run on other machines")


def _is_plain(address: str) -> bool:
    """Whether an address can also be a file name: two plain words, without `..`."""
    parts = address.split("/")
    return (
        len(parts) == 2
        and len(address) <= ADDRESS_LIMIT
        and all(part and part[0] != "." for part in parts)
        and address.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum()
    )
