"""The rows of `ps`: every process, with what it does, holds, weighs and has cost."""

import asyncio
import socket
from functools import partial

from actors.gateway.gateway import Gateway
from actors.gateway.resources.wake_times import next_wake
from actors.gateway.state.activities import EntityActivity
from agiraph.core.errors import AgiraphError
from agiraph.core.ids import (
    COORDINATOR_NAME,
    coordinator_address,
    worker_address,
)
from agiraph.core.turns import Usage
from agiraph.http.api import EntityView
from agiraph.messages import (
    ChildInfo,
)
from agiraph.storage.disk_space import WAITS

THINKING = "thinking "
CPU_SECONDS = 0.5

AT_WORK = ("starting", "ready", "backing_off", "parked")


async def children(gateway: Gateway) -> tuple[ChildInfo, ...]:
    """Return the supervisor's table; raise ApiError 503 or 504 if it does not answer."""
    return await gateway.overview.children()


async def entity_rows(gateway: Gateway) -> tuple[EntityView, ...]:
    """Return a row for every process; mailboxes and money are left out while nobody tells them."""
    return await gateway.overview.rows(partial(_rows, gateway))


async def _rows(gateway: Gateway) -> tuple[EntityView, ...]:
    overview = gateway.overview
    table, depths, usage = await asyncio.gather(
        overview.children(), overview.depths(), overview.usage()
    )
    names, host = _names(gateway), socket.gethostname()
    rows = [_row(gateway, names, host, child, depths, usage) for child in table]
    alive = {(child.address, child.pid) for child in table}
    gateway.cpu = {key: sample for key, sample in gateway.cpu.items() if key in alive}
    return tuple(sorted(rows, key=lambda row: ("/" in row.address, _rank(row))))


def _row(
    gateway: Gateway,
    names: dict[str, str],
    host: str,
    child: ChildInfo,
    depths: dict[str, tuple[int, int]],
    usage: dict[str, Usage],
) -> EntityView:
    word = _word(gateway, child)
    spent = usage.get(child.address, Usage())
    waking = _returning(gateway, child)
    return EntityView(
        address=child.address,
        kind=child.kind,
        name=names.get(child.address, child.address),
        state=word.state if word else child.state,
        pid=child.pid,
        incarnation=child.incarnation,
        host=host,
        cpu=_cpu(gateway, child),
        memory_bytes=child.memory_bytes,
        mailbox=depths.get(child.address, (0, 0))[0],
        tokens=spent.tokens,
        cost_usd=spent.cost_usd,
        step=word.step if word else waking,
        restarts=child.restarts,
        cause=child.cause,
        doing=doing_told(word.state, word.step) if word else waking,
        doing_since=word.since or None if word else None,
    )


def _word(gateway: Gateway, child: ChildInfo) -> EntityActivity | None:
    """Return what a live process said last: to us, or else with its heartbeat.

    A gateway that was restarted has heard nothing yet from one that is busy for a while.
    """
    if child.state != "ready":
        return None
    if child.step == WAITS:  # it cannot say so itself
        return EntityActivity(child.incarnation, "waiting_for_room", WAITS, child.step_since or 0.0)
    heard = gateway.statuses.of(child.address, child.incarnation)
    state, colon, step = child.step.partition(": ")
    if heard is not None or not colon:
        return heard
    return EntityActivity(child.incarnation, state, step, child.step_since or 0.0)


def doing_told(state: str, step: str) -> str:
    """Return what an entity does in words for people."""
    match state:
        case "busy" if step.startswith(THINKING):
            return f"waits for the model {step.removeprefix(THINKING)}".rstrip()
        case "waiting_for_human":
            return f"waits for you: {step}" if step else "waits for you"
        case "waiting_for_nodes":
            awaited = step.removeprefix("wait").removeprefix(": ")
            return f"waits for {awaited or 'its nodes or a message'}"
        case "paused":
            return "paused"
        case _:
            return step


def _returning(gateway: Gateway, child: ChildInfo) -> str:
    """Return when one that has no process is started again: it backs off, or wakes by itself."""
    if child.state == "backing_off":
        left = max(0.0, (child.next_start or 0.0) - gateway.clock.now())
        return f"starts again in {left:.0f} s: {child.cause}"
    agent_id, _, inner = child.address.partition("/")
    if child.state != "parked" or inner != COORDINATOR_NAME:
        return ""
    agent = gateway.agents.get(agent_id)
    return next_wake(gateway.agents, agent) if agent else ""


def _cpu(gateway: Gateway, child: ChildInfo) -> float:
    """Return the percentage of a core used since the last listing, or since the start.

    Listings that follow each other closely (several consoles) share one measurement.
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
    """Sort an agent's coordinator before its workers."""
    agent, _, inner = row.address.partition("/")
    return agent if inner else "", inner != COORDINATOR_NAME, row.name


def _names(gateway: Gateway) -> dict[str, str]:
    """Return the names that people know agents' entities by, by address."""
    names: dict[str, str] = {}
    for agent in gateway.agents.all():
        names[coordinator_address(agent.id)] = agent.name
        try:
            board = gateway.boards.of(gateway.agents.run_of(agent))
        except (AgiraphError, OSError):
            continue  # a damaged board is told where it is asked for; `ps` must work all the same
        for worker in board.workers.values():
            names[worker_address(agent.id, worker.id)] = worker.name
    return names
