"""The front desk: what the supervisor does when it is asked for something."""

import time

from actors.supervisor.child_monitor import ChildMonitor
from actors.supervisor.children import Children
from actors.supervisor.options import ON_DEMAND_KINDS, OPTIONAL, SERVICES
from actors.supervisor.process_table import own_rows, row_of
from actors.supervisor.registered_children import DesiredStateSet
from agiraph.core.errors import Unavailable
from agiraph.core.ids import ROUTER, SUPERVISOR, Address, agent_of
from agiraph.messages import (
    AttachTicket,
    ChildHeartbeat,
    ChildSpec,
    ChildStarted,
    ChildStopped,
    ChildTable,
    StopChild,
)
from agiraph.storage.disk_space import has_room, outlasting


class SupervisorService:
    """Carries out requests on the nursery; who may ask was checked before."""

    def __init__(self, all_children: Children) -> None:
        """Serve one house."""
        self._all_children = all_children

    def find(self, address: str) -> ChildMonitor | None:
        """Return the keeper of an address."""
        return self._all_children.monitors.get(address)

    def addresses(self) -> list[str]:
        """Return the addresses of all children."""
        return list(self._all_children.monitors)

    def startable(self) -> list[str]:
        """Return the kinds that may be started by message."""
        services = {*SERVICES, *OPTIONAL, *ON_DEMAND_KINDS}
        return [kind for kind in self._all_children.options.kinds if kind not in services]

    def beat(self, sender: str, incarnation: int, body: ChildHeartbeat) -> None:
        """Note that a child turns its loop and what it does; our own beat shows the router's."""
        heartbeats = self._all_children.heartbeats
        was_suspect = (
            heartbeats.router_beat()
            if sender == SUPERVISOR
            else heartbeats.beat(sender, incarnation)
        )
        if was_suspect:
            self._all_children.recovered(ROUTER if sender == SUPERVISOR else sender)
        monitor = self.find(sender)
        process = monitor.process if monitor is not None else None
        if process is not None and process.incarnation == incarnation:
            process.note_step(body.step, time.time())

    async def start_child(self, spec: ChildSpec) -> ChildStarted:
        """Start a child, or confirm that it runs or is parked."""
        all_children = self._all_children
        known = self.find(spec.address)
        if known is not None and known.state == "parked":
            incarnation = all_children.register.table.incarnations[spec.address]
            return ChildStarted(address=spec.address, incarnation=incarnation)
        if all_children.is_stopping:
            raise Unavailable("the supervisor is stopping")
        await self._declare(spec)
        monitor = all_children.monitor(spec)
        process = await monitor.start()
        if process is None:
            raise Unavailable(f"{spec.address} cannot be started: {monitor.cause}")
        all_children.announce()
        return ChildStarted(address=spec.address, incarnation=process.incarnation)

    async def wake(self, monitor: ChildMonitor) -> None:
        """Have a parked child run again."""
        if monitor.state == "parked" and agent_of(monitor.address) is not None:
            await self._declare(monitor.spec)
        await monitor.wake()

    async def _declare(self, spec: ChildSpec) -> None:
        """Note that a child is wanted, once the disk has room for that."""

        async def declare() -> None:
            self._all_children.register.declare(spec)

        await outlasting(declare)

    async def stop_child(self, monitor: ChildMonitor, body: StopChild) -> ChildStopped:
        """Stop, kill, restart or forget a child."""
        address = monitor.spec.address
        register = self._all_children.register
        match body.how:
            case "kill":
                await monitor.kill()
            case "restart":
                if agent_of(address) is not None:
                    await self._declare(monitor.spec)
                await monitor.restart()
            case "stop" | "forget":
                register.rest(
                    DesiredStateSet(address=address, desired="stopped", cause=body.reason or None)
                )
                await monitor.stop()
        if body.how == "forget":
            self._all_children.forget(address)
        return ChildStopped(address=address, state=monitor.state)

    def attach(self) -> AttachTicket:
        """Return the ticket of a new console."""
        all_children = self._all_children
        number = 1
        while f"console/{number}" in all_children.consoles:
            number += 1
        address = Address(f"console/{number}")
        incarnation = all_children.consoles[address] = all_children.allot(address)
        all_children.announce()
        return AttachTicket(
            address=address,
            incarnation=incarnation,
            ticket=all_children.ticket(address, incarnation),
            router_url=all_children.url,
        )

    def peer_gone(self, address: str, incarnation: int) -> None:
        """Drop a console that left; children are watched by the kernel's word instead."""
        all_children = self._all_children
        if all_children.consoles.get(address) == incarnation:
            del all_children.consoles[address]
            all_children.announce()

    def table(self) -> ChildTable:
        """Return all processes, the supervisor and the spawner first."""
        all_children = self._all_children
        if not has_room(all_children.home):
            all_children.note_who_waits_for_room()
        numbers = all_children.register.table.incarnations
        rows = own_rows(numbers.get(SUPERVISOR, 0), all_children.fork)
        rows += [
            row_of(monitor, numbers.get(at, 0)) for at, monitor in all_children.monitors.items()
        ]
        return ChildTable(children=tuple(rows))
