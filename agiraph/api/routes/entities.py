"""The rows of `ps`: every process with its activity, node, memory and cost."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, TypeVar

from fastapi import APIRouter

from agiraph.api.auth.scopes import READ
from agiraph.api.gateway import Gateway
from agiraph.api.routes.dependencies import GatewayDep
from agiraph.api.strict_json import StrictRoute
from agiraph.core.clock import iso
from agiraph.core.errors import AgiraphError
from agiraph.core.hosts import HOME_HOST
from agiraph.core.ids import (
    BROKER,
    COORDINATOR_NAME,
    ROUTER,
    SUPERVISOR,
    coordinator_address,
    worker_address,
)
from agiraph.core.models import Agent, EntityState
from agiraph.core.turns import Usage
from agiraph.http.api import (
    ApiError,
    EntityView,
)
from agiraph.messages.child import ChildInfo, ChildTable, ListChildren
from agiraph.messages.control import AskMailboxDepths, MailboxDepths
from agiraph.messages.model import AskUsage, UsageTable
from agiraph.readmodel.agents import AgentDirectory
from agiraph.readmodel.statuses import StatusReader
from agiraph.triggers.trigger_set import TriggerSet, load_triggers

Answer = TypeVar("Answer")

CPU_SECONDS = 0.5
TABLE_SECONDS = 5.0
EXTRA_SECONDS = 1.0

AT_WORK = ("starting", "ready", "backing_off", "parked")

router = APIRouter(route_class=StrictRoute, tags=["system"])


@router.get("/entities", dependencies=[READ])
async def entities(gateway: GatewayDep) -> tuple[EntityView, ...]:
    """List every process."""
    return await entity_rows(gateway)


async def children(gateway: Gateway) -> tuple[ChildInfo, ...]:
    """Return the supervisor's table; raise ApiError 503 or 504 if it does not answer."""
    table = await gateway.bus.ask(
        SUPERVISOR, ListChildren(), ChildTable, within_seconds=TABLE_SECONDS
    )
    return table.children


def child_at(table: Iterable[ChildInfo], address: str) -> ChildInfo | None:
    """Return the child with exactly this address, None if there is none."""
    return next((child for child in table if child.address == address), None)


def machine_of(child: ChildInfo) -> str:
    """Return the host on which a child's process runs, '' if it has no process."""
    return (child.host or HOME_HOST) if child.pid is not None else ""


async def if_answered(asking: Awaitable[Answer]) -> Answer | None:
    """Return the awaited answer of another process, None if that raises ApiError."""
    try:
        return await asking
    except ApiError:
        return None


async def entity_rows(gateway: Gateway) -> tuple[EntityView, ...]:
    """Return a row for every process; mailboxes and cost are empty without an answer."""
    mailboxes = gateway.bus.ask(
        ROUTER, AskMailboxDepths(), MailboxDepths, within_seconds=EXTRA_SECONDS
    )
    money = gateway.bus.ask(BROKER, AskUsage(), UsageTable, within_seconds=EXTRA_SECONDS)
    table, depths, usage = await asyncio.gather(
        children(gateway), if_answered(mailboxes), if_answered(money)
    )
    names = entity_names(gateway)
    statuses = gateway.statuses(table)
    rows = [
        _row(gateway, child, statuses, names.get(child.address, child.address), depths, usage)
        for child in table
    ]
    alive = {(child.address, child.pid) for child in table}
    gateway.cpu = {key: sample for key, sample in gateway.cpu.items() if key in alive}
    return tuple(sorted(rows, key=lambda row: ("/" in row.address, _rank(row))))


def _row(
    gateway: Gateway,
    child: ChildInfo,
    statuses: StatusReader,
    name: str,
    depths: MailboxDepths | None,
    usage: UsageTable | None,
) -> EntityView:
    activity = statuses.activity(child.address)
    spent = usage.by_entity.get(child.address, Usage()) if usage else Usage()
    shown = {
        "name": name,
        "host": machine_of(child),
        "state": activity.state if activity else child.state,
        "cpu": _cpu(gateway, child),
        "mailbox": depths.depths.get(child.address, (0, 0))[0] if depths else 0,
        **spent.sums(),
    }
    doing = shown_activity(gateway, statuses, child.address)
    return EntityView.model_validate(dict(child) | shown | doing)


def shown_activity(gateway: Gateway, statuses: StatusReader, address: str) -> dict[str, Any]:
    """Return the view fields of an entity's activity: step, doing, doing_since."""
    activity, child = statuses.activity(address), statuses.child(address)
    if activity is None:
        step = _next_start(gateway, child) if child is not None else ""
        is_parked = child is not None and child.state == "parked"
        waits = statuses.wait_of(address) if is_parked and not step else None
        doing, since = waits or (step, None)
        return {"step": step, "doing": doing, "doing_since": since}
    doing = describe_activity(activity)
    return {"step": activity.step, "doing": doing, "doing_since": activity.since or None}


def describe_activity(doing: EntityState) -> str:
    """Return a description of an entity's activity for people."""
    step = doing.step
    match doing.state:
        case "busy" if doing.model:
            return f"waits for the model ({doing.model})"
        case "waiting_for_human":
            return f"waits for you: {step}" if step else "waits for you"
        case "waiting_for_nodes":
            return f"waits for {step or 'its nodes or a message'}"
        case "waiting_for_message":
            return "waits for a message"
        case "waiting_for_service":
            return f"waits {step}"
        case "standing_still":
            return f"the run stands still: {step}"
        case "paused":
            return "paused"
        case _:
            return step


def _next_start(gateway: Gateway, child: ChildInfo) -> str:
    """Return when a child without a process starts next, as text; '' if unknown or never.

    The start is after the child's backoff, or when its agent wakes.
    """
    if child.state == "backing_off" and child.next_start is None:
        return child.cause or ""  # it waits for a host
    if child.state == "backing_off":
        left = max(0.0, (child.next_start or 0.0) - gateway.clock.now())
        return f"starts again in {left:.0f} s: {child.cause}"
    agent_id, _, inner = child.address.partition("/")
    if child.state != "parked" or inner != COORDINATOR_NAME:
        return ""
    agent = gateway.agents.get(agent_id)
    return next_wake(gateway.agents, agent) if agent else ""


def _cpu(gateway: Gateway, child: ChildInfo) -> float:
    """Return the percentage of a core that a child used since the last listing, or since its start.

    Listings in quick succession (several consoles) share one measurement.
    """
    if child.pid is None or child.started_at is None:
        return 0.0
    key, now = (child.address, child.pid), gateway.clock.now()
    since, used, last = gateway.cpu.get(key, (child.started_at, 0.0, 0.0))
    elapsed = now - since
    if elapsed < CPU_SECONDS:
        return last
    percent = round(100 * max(0.0, child.cpu_seconds - used) / elapsed, 1)
    gateway.cpu[key] = (now, child.cpu_seconds, percent)
    return percent


def _rank(row: EntityView) -> tuple[str, bool, str]:
    """Return the sort key of a row: an agent's coordinator comes before its workers."""
    agent, _, inner = row.address.partition("/")
    return agent if inner else "", inner != COORDINATOR_NAME, row.name


def entity_names(gateway: Gateway) -> dict[str, str]:
    """Return the display names of agents' entities, by address."""
    names: dict[str, str] = {}
    for agent in gateway.agents.all():
        names[coordinator_address(agent.id)] = agent.name
        try:
            board = gateway.boards.get(gateway.agents.run_of(agent))
        except (AgiraphError, OSError):
            continue  # a damaged board is reported where it is requested; `ps` must work
        for worker in board.workers.values():
            names[worker_address(agent.id, worker.id)] = worker.name
    return names


DOWN = ("stopped", "failed", "exited")


def triggers_of(agents: AgentDirectory, agent: Agent) -> TriggerSet:
    """Return an agent's triggers, an empty set if they cannot be read."""
    return load_triggers(agents.home_of(agent).triggers, agent.id)


def next_wake(agents: AgentDirectory, agent: Agent) -> str:
    """Return when an agent's next cycle begins or its next trigger is due, '' for neither.

    A heartbeat is due, and lets the agent sleep, when nothing has happened.
    """
    if agent.next_cycle_at is not None:
        return f"cycle {agent.cycle + 1} at {iso(agent.next_cycle_at)}"
    active = [t for t in triggers_of(agents, agent).triggers.values() if t.is_active]
    due = min(((t.next_due, t.name) for t in active if t.next_due is not None), default=None)
    return f"'{due[1]}' at {iso(due[0])}" if due else ""
