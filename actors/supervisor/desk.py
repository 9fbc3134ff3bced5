"""The front desk: what the supervisor does when it is asked for something."""

import time

from actors.supervisor.keeper import Keeper
from actors.supervisor.nursery import Nursery
from actors.supervisor.options import ON_DEMAND_KINDS, OPTIONAL, SERVICES
from actors.supervisor.rows import own_rows, row_of
from actors.supervisor.table import DesiredSet
from agiraph.errors import Unavailable
from agiraph.ids import ROUTER, SUPERVISOR, Address, agent_of
from agiraph.messages import (
    ChildBeat,
    ChildSpec,
    ChildStarted,
    ChildStopped,
    ChildTable,
    StopChild,
    Ticket,
)
from agiraph.storage.room import has_room, outlasting


class FrontDesk:
    """Carries out requests on the nursery; who may ask was checked before."""

    def __init__(self, nursery: Nursery) -> None:
        """Serve one house."""
        self._nursery = nursery

    def find(self, address: str) -> Keeper | None:
        """Return the keeper of an address."""
        return self._nursery.keepers.get(address)

    def addresses(self) -> list[str]:
        """Return the addresses of all children."""
        return list(self._nursery.keepers)

    def startable(self) -> list[str]:
        """Return the kinds that may be started by message."""
        services = {*SERVICES, *OPTIONAL, *ON_DEMAND_KINDS}
        return [kind for kind in self._nursery.options.kinds if kind not in services]

    def beat(self, sender: str, incarnation: int, body: ChildBeat) -> None:
        """Note that a child turns its loop and what it does; our own beat shows the router's."""
        pulses = self._nursery.pulses
        was_suspect = (
            pulses.router_beat() if sender == SUPERVISOR else pulses.beat(sender, incarnation)
        )
        if was_suspect:
            self._nursery.recovered(ROUTER if sender == SUPERVISOR else sender)
        keeper = self.find(sender)
        process = keeper.process if keeper is not None else None
        if process is not None and process.incarnation == incarnation:
            process.note_step(body.step, time.time())

    async def start_child(self, spec: ChildSpec) -> ChildStarted:
        """Start a child, or confirm that it runs or is parked."""
        nursery = self._nursery
        known = self.find(spec.address)
        if known is not None and known.state == "parked":
            incarnation = nursery.register.table.incarnations[spec.address]
            return ChildStarted(address=spec.address, incarnation=incarnation)
        if nursery.is_stopping:
            raise Unavailable("the supervisor is stopping")
        await self._declare(spec)
        keeper = nursery.keeper(spec)
        process = await keeper.start()
        if process is None:
            raise Unavailable(f"{spec.address} cannot be started: {keeper.cause}")
        nursery.announce()
        return ChildStarted(address=spec.address, incarnation=process.incarnation)

    async def wake(self, keeper: Keeper) -> None:
        """Have a parked child run again."""
        if keeper.state == "parked" and agent_of(keeper.address) is not None:
            await self._declare(keeper.spec)
        await keeper.wake()

    async def _declare(self, spec: ChildSpec) -> None:
        """Note that a child is wanted, once the disk has room for that."""

        async def declare() -> None:
            self._nursery.register.declare(spec)

        await outlasting(declare)

    async def stop_child(self, keeper: Keeper, body: StopChild) -> ChildStopped:
        """Stop, kill, restart or forget a child."""
        address = keeper.spec.address
        register = self._nursery.register
        match body.how:
            case "kill":
                await keeper.kill()
            case "restart":
                if agent_of(address) is not None:
                    await self._declare(keeper.spec)
                await keeper.restart()
            case "stop" | "forget":
                register.rest(
                    DesiredSet(address=address, desired="stopped", cause=body.reason or None)
                )
                await keeper.stop()
        if body.how == "forget":
            self._nursery.forget(address)
        return ChildStopped(address=address, state=keeper.state)

    def attach(self) -> Ticket:
        """Return the ticket of a new console."""
        nursery = self._nursery
        number = 1
        while f"console/{number}" in nursery.consoles:
            number += 1
        address = Address(f"console/{number}")
        incarnation = nursery.consoles[address] = nursery.allot(address)
        nursery.announce()
        return Ticket(
            address=address,
            incarnation=incarnation,
            ticket=nursery.ticket(address, incarnation),
            router_url=nursery.url,
        )

    def peer_gone(self, address: str, incarnation: int) -> None:
        """Drop a console that left; children are watched by the kernel's word instead."""
        nursery = self._nursery
        if nursery.consoles.get(address) == incarnation:
            del nursery.consoles[address]
            nursery.announce()

    def table(self) -> ChildTable:
        """Return all processes, the supervisor and the spawner first."""
        nursery = self._nursery
        if not has_room(nursery.home):
            nursery.note_who_waits_for_room()
        numbers = nursery.register.table.incarnations
        rows = own_rows(numbers.get(SUPERVISOR, 0), nursery.fork)
        rows += [row_of(keeper, numbers.get(at, 0)) for at, keeper in nursery.keepers.items()]
        return ChildTable(children=tuple(rows))
