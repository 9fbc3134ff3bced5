"""Requests: who may ask the supervisor for what, and the answers."""

from collections.abc import Awaitable
from typing import Protocol

from pydantic import BaseModel

from actors.supervisor.child_monitor import ChildMonitor
from agiraph.core.errors import AgiraphError, InvalidInput, Refused, unknown
from agiraph.core.ids import agent_of
from agiraph.messages import (
    AttachConsole,
    AttachTicket,
    ChildHeartbeat,
    ChildReady,
    ChildSpec,
    ChildStarted,
    ChildStopped,
    ChildTable,
    ListChildren,
    Ok,
    RefusedReply,
    StartChild,
    StopChild,
    WakeChild,
)
from agiraph.messages.authorization import refusal
from transport.endpoint import Received
from transport.envelope import Flag

ADDRESS_LIMIT = 128


class SupervisorCommands(Protocol):
    """What the supervisor does when it is asked."""

    def find(self, address: str) -> ChildMonitor | None:
        """Return the keeper of an address."""
        ...

    def addresses(self) -> list[str]:
        """Return the addresses of all children."""
        ...

    def startable(self) -> list[str]:
        """Return the kinds that may be started by message."""
        ...

    def beat(self, sender: str, incarnation: int, body: ChildHeartbeat) -> None:
        """Note what a child that turns its loop is doing."""
        ...

    def start_child(self, spec: ChildSpec) -> Awaitable[ChildStarted]:
        """Start or confirm a child."""
        ...

    def stop_child(self, monitor: ChildMonitor, body: StopChild) -> Awaitable[ChildStopped]:
        """Stop, kill, restart or forget a child."""
        ...

    def wake(self, monitor: ChildMonitor) -> Awaitable[None]:
        """Have a parked child run again."""
        ...

    def table(self) -> ChildTable:
        """Return all processes."""
        ...

    def attach(self) -> AttachTicket:
        """Return the ticket of a new console."""
        ...

    def peer_gone(self, address: str, incarnation: int) -> None:
        """Note that somebody left the bus."""
        ...


async def answer(desk: SupervisorCommands, received: Received) -> BaseModel | None:
    """Do what a message asks and return the reply; None for what is no request."""
    sender, body = received.header.sender, received.body
    if (reason := refusal(sender, received.header.to, body)) is not None:
        return RefusedReply(reason=reason) if received.header.flags & Flag.ASK else None
    try:
        match body:
            case ChildHeartbeat():
                desk.beat(sender, received.header.incarnation, body)
                return None
            case ChildReady():
                return _ready(desk, sender, received.header.incarnation)
            case WakeChild(address=address):
                await _wake(desk, address)
                return None
            case ListChildren():
                return desk.table()
            case StartChild(spec=spec):
                check_start(desk, spec)
                return await desk.start_child(spec)
            case StopChild():
                return await desk.stop_child(check_stop(desk, body), body)
            case AttachConsole():
                return desk.attach()
            case _:
                return None
    except AgiraphError as error:
        return RefusedReply(reason=str(error), kind=type(error).__name__)
    except OSError as error:
        reason = f"the supervisor cannot write this down: {error.strerror or error}"
        return RefusedReply(reason=reason, kind=type(error).__name__)


def check_start(desk: SupervisorCommands, spec: ChildSpec) -> None:
    """Raise InvalidInput unless this child can be started by message."""
    if spec.kind not in desk.startable():
        raise unknown("kind of process to start", spec.kind, desk.startable())
    agent = agent_of(spec.address)
    if agent is None or not _is_plain(spec.address):
        raise InvalidInput(f"'{spec.address}' is no address of an agent's child")


def check_stop(desk: SupervisorCommands, body: StopChild) -> ChildMonitor:
    """Return the keeper to stop; raises Refused if there is none, or it can be restarted only."""
    monitor = desk.find(body.address)
    if monitor is None:
        raise unknown("process", body.address, desk.addresses())
    if agent_of(body.address) is None and body.how in ("stop", "forget"):
        raise Refused(f"{body.address} is a service of the house: it can be restarted, not stopped")
    return monitor


def _ready(desk: SupervisorCommands, sender: str, incarnation: int) -> Ok:
    monitor = desk.find(sender)
    if monitor is not None:
        monitor.ready(incarnation)
    return Ok()


async def _wake(desk: SupervisorCommands, address: str) -> None:
    monitor = desk.find(address)
    if monitor is not None:
        await desk.wake(monitor)


def _is_plain(address: str) -> bool:
    """Whether an address can also be a file's name: two plain words, nothing that climbs."""
    parts = address.split("/")
    return (
        len(parts) == 2
        and len(address) <= ADDRESS_LIMIT
        and all(part and part[0] != "." for part in parts)
        and address.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum()
    )
