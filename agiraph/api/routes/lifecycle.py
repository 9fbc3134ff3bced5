"""Endpoints that pause, resume, step, interrupt, restart, stop and kill; and the archive."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

from fastapi import APIRouter

from agiraph.api.auth.scopes import CONTROL, READ
from agiraph.api.call_cause import CallCause
from agiraph.api.gateway import Gateway
from agiraph.api.routes.agents import start_coordinator
from agiraph.api.routes.dependencies import AgentDep, CauseDep, GatewayDep
from agiraph.api.routes.entities import (
    DOWN,
    child_at,
    children,
    entity_names,
    if_answered,
)
from agiraph.api.routes.steering import check_can_pause, interrupt_all, pause_all, step_all
from agiraph.api.strict_json import StrictRoute
from agiraph.core.ids import (
    CLOCK,
    COORDINATOR_NAME,
    HUMAN,
    HUMAN_NAME,
    SUPERVISOR,
    AgentId,
    agent_of,
    coordinator_address,
    message_id,
)
from agiraph.core.models import ENDED_AGENT, Agent
from agiraph.http.api import (
    AgentView,
    ApiError,
    ArchivedView,
    DeletedView,
    EntityAct,
    SteeredEntityView,
    SteeredView,
)
from agiraph.knowledge.database import KnowledgeUnavailable
from agiraph.knowledge.store import KnowledgeStore
from agiraph.messages.child import ChildInfo, ChildStopped, StopChild
from agiraph.messages.control import Resume
from agiraph.messages.trigger import ListTriggers, TriggerTable
from agiraph.readmodel.agents import ARCHIVE, AgentDirectory, agent_summary
from agiraph.readmodel.names import meant
from agiraph.storage.files import entries, files_below, move, remove_tree, status_of
from agiraph.storage.home import Home
from agiraph.storage.run_lease import detach_agent

DELETING = ".deleting-"


ARCHIVED = "archived"
STOPPED = "stopped"

STOP_SECONDS = 20.0
HEAD_START_SECONDS = 0.5
ENDS_A_PROCESS = ("kill", "restart")

How = Literal["stop", "kill", "restart", "forget"]

router = APIRouter(route_class=StrictRoute)


@router.post("/agents/{agent}/pause", dependencies=[CONTROL], tags=["agents"])
async def pause(agent: AgentDep, gateway: GatewayDep, cause: CauseDep) -> SteeredView:
    """Pause coordinator and workers."""
    return await _act_on_agent(gateway, agent, "pause", cause)


@router.post("/agents/{agent}/resume", dependencies=[CONTROL], tags=["agents"])
async def resume(agent: AgentDep, gateway: GatewayDep, cause: CauseDep) -> SteeredView:
    """Continue a paused agent, restart a stopped one."""
    return await _act_on_agent(gateway, agent, "resume", cause)


@router.post("/agents/{agent}/stop", dependencies=[CONTROL], tags=["agents"])
async def stop(agent: AgentDep, gateway: GatewayDep, cause: CauseDep) -> SteeredView:
    """Stop the agent's processes; its files stay."""
    return await _act_on_agent(gateway, agent, "stop", cause)


@router.post("/entities/{entity:path}/{act}", dependencies=[CONTROL], tags=["system"])
async def act(entity: str, act: EntityAct, gateway: GatewayDep, cause: CauseDep) -> SteeredView:
    """Pause, step, resume, interrupt, restart, stop or kill one entity or a whole agent."""
    table = await children(gateway)
    exact = child_at(table, entity)
    if exact is not None:
        if exact.address == HUMAN and act in ENDS_A_PROCESS and cause.is_again:
            # The gateway that began this was stopped by it: this is the next incarnation.
            done = SteeredEntityView(address=exact.address, state=exact.state)
            return SteeredView(act=act, entities=(done,))
        return await _act_on_all(gateway, [exact], act, cause)
    found = entity_named(gateway, table, entity)
    if isinstance(found, Agent):
        return await _act_on_agent(gateway, found, act, cause)
    return await _act_on_all(gateway, [found], act, cause)


async def _act_on_agent(
    gateway: Gateway, agent: Agent, act: EntityAct, cause: CallCause
) -> SteeredView:
    """Act on an agent's coordinator, then on its workers; return the new state of each."""
    if act != "stop":
        team = _team(await children(gateway), agent)
        if act == "resume" and not team:
            detach_agent(gateway.home.path, agent.id)
            started = await start_coordinator(gateway, agent)  # it was archived
            entity = SteeredEntityView(address=started.address, state="resuming")
            return SteeredView(act=act, entities=(entity,))
        return await _act_on_all(gateway, team, act, cause)
    entities = await stop_team(gateway, agent, "stop")
    detach_agent(gateway.home.path, agent.id)
    if entities:
        data = {"by": HUMAN_NAME, "entities": [entity.address for entity in entities]}
        await gateway.reporter.report("agent.stopped", agent.id, message_id(), data)
    return SteeredView(act=act, entities=tuple(entities))


def _team(table: Sequence[ChildInfo], agent: Agent) -> list[ChildInfo]:
    mine = [child for child in table if child.address.startswith(f"{agent.id}/")]
    return sorted(mine, key=lambda child: child.address != coordinator_address(agent.id))


def entity_named(gateway: Gateway, table: Sequence[ChildInfo], text: str) -> Agent | ChildInfo:
    """Return the agent or child that `text` names: id, name, `AGENT/NAME`, or a beginning of these.

    An agent comes before a worker of the same name. Raises ApiError 404, 409 that list the known.
    """
    agents = {str(agent.id): agent for agent in gateway.agents.all()}
    if any(text in (agent.id, agent.name) for agent in agents.values()):
        return gateway.agents.find(text)
    rows = {str(child.address): child for child in table}
    part, slash, _ = text.partition("/")
    owner = gateway.agents.find(part).id if slash else None
    names = [] if slash else [(name, id) for id, a in agents.items() for name in (a.name, id)]
    shown_as, before = entity_names(gateway), f"{part}/" if slash else ""
    for address in rows:
        agent, inner = agent_of(address), address.partition("/")[2]
        if owner in (None, agent):
            also = shown_as.get(address, inner) if inner != COORDINATOR_NAME else inner
            names += [(before + name, address) for name in ((inner, also) if agent else (address,))]
    found = meant("entity", text, names, known=[*rows])
    return rows[found] if found in rows else agents[found]


async def _act_on_all(
    gateway: Gateway, targets: Sequence[ChildInfo], act: EntityAct, cause: CallCause
) -> SteeredView:
    match act:
        case "kill":
            entities = await _stop_all(gateway, _with_a_process(targets), act)
        case "stop" | "restart":
            _let_go_on(gateway, targets)
            entities = await _stop_all(gateway, targets, act)
        case "pause":
            entities = await pause_all(gateway, targets)
        case "step":
            entities = await step_all(gateway, targets, cause)
        case "interrupt":
            entities = await interrupt_all(gateway, targets, cause)
        case "resume":
            _let_go_on(gateway, targets)
            entities = await _resume_all(gateway, targets)
    return SteeredView(act=act, entities=tuple(entities))


def _let_go_on(gateway: Gateway, targets: Sequence[ChildInfo]) -> None:
    """Detach the agents of `targets` from the commands that attend them, so that they continue."""
    for agent in dict.fromkeys(filter(None, (agent_of(child.address) for child in targets))):
        detach_agent(gateway.home.path, agent)


async def stop_team(gateway: Gateway, agent: Agent, how: How) -> list[SteeredEntityView]:
    """Stop an agent's processes, also workers that start meanwhile; return their states."""
    stopped: dict[str, SteeredEntityView] = {}
    while True:
        team = _team(await children(gateway), agent)
        left = [child for child in team if child.address not in stopped]
        if not left:
            return list(stopped.values())
        acted = await _stop_all(gateway, left, how)
        stopped |= {entity.address: entity for entity in acted}


async def _stop_all(
    gateway: Gateway, targets: Sequence[ChildInfo], how: How
) -> list[SteeredEntityView]:
    """Stop children, the first of them earlier: a coordinator must not react to its workers' end.

    A hanging coordinator does not react either, so the wait is bounded by HEAD_START_SECONDS.
    """
    if not targets:
        return []
    first = asyncio.create_task(_stop(gateway, targets[0], how))
    await asyncio.wait([first], timeout=HEAD_START_SECONDS)
    if first.done():
        first.result()
    stops = (_stop(gateway, child, how) for child in targets[1:])
    return list(await asyncio.gather(first, *stops))


async def _stop(gateway: Gateway, child: ChildInfo, how: How) -> SteeredEntityView:
    if child.address == SUPERVISOR:
        raise ApiError(409, "the supervisor is not its own child: end it with SIGTERM or Ctrl-C")
    order = StopChild(address=child.address, how=how, reason="asked by the human")
    try:
        stopped = await gateway.bus.ask(
            SUPERVISOR, order, ChildStopped, within_seconds=STOP_SECONDS
        )
    except ApiError:
        if how not in ("stop", "forget"):
            raise
        if child.address not in {other.address for other in await children(gateway)}:
            # Its coordinator has ended it meanwhile.
            return SteeredEntityView(address=child.address, state="stopped")
        raise
    return SteeredEntityView(address=child.address, state=stopped.state)


def _with_a_process(targets: Sequence[ChildInfo]) -> list[ChildInfo]:
    """Return the children that have a process; raise ApiError 409 if none has."""
    running = [child for child in targets if child.pid is not None]
    if not running:
        states = "".join(f"; {child.address} is {child.state}" for child in targets)
        raise ApiError(409, f"nothing to kill: there is no process{states}")
    return running


async def _resume_all(gateway: Gateway, targets: Sequence[ChildInfo]) -> list[SteeredEntityView]:
    """Let children continue, and restart those that are down; return their states.

    A restarted coordinator starts its workers itself, as far as its board needs them.
    """
    for child in targets:
        check_can_pause(child)
    for child in targets:
        await gateway.bus.send(child.address, Resume(), id=message_id())
    entities = []
    for child in targets:
        state = "resuming"
        if child.state in DOWN:
            state = (await _stop(gateway, child, "restart")).state
        entities.append(SteeredEntityView(address=child.address, state=state))
        if child.kind == "coordinator" and child.state in DOWN:
            break
    return entities


@router.get("/archive", dependencies=[READ], tags=["archive"])
def archived(gateway: GatewayDep) -> list[AgentView]:
    """List the agents in the archive, oldest first."""
    return [agent_summary(agent, ARCHIVED) for agent in _archive_of(gateway).all()]


@router.post("/agents/{agent}/archive", dependencies=[CONTROL], tags=["archive"])
async def put_away(agent: AgentDep, gateway: GatewayDep) -> ArchivedView:
    """Stop an agent for good and move its folder to the archive."""
    await stop_team(gateway, agent, "forget")
    path = gateway.agents.archive(agent)
    detach_agent(gateway.home.path, agent.id)
    await _have_triggers_read(gateway, agent.id)
    gateway.questions.withdraw(agent.id)
    gateway.signals.archive(agent.id)
    gateway.changes.note("archived", agent.id)
    return ArchivedView(id=agent.id, path=str(path))


@router.delete("/agents/{agent}", dependencies=[CONTROL], tags=["archive"])
async def put_away_too(agent: AgentDep, gateway: GatewayDep) -> ArchivedView:
    """Stop an agent for good and move its folder to the archive; it can be deleted there."""
    return await put_away(agent, gateway)


@router.post("/archive/{agent}/restore", dependencies=[CONTROL], tags=["archive"])
async def bring_back(agent: str, gateway: GatewayDep) -> AgentView:
    """Restore an agent from the archive; `resume` or a new run starts its processes."""
    found = _archive_of(gateway).find(agent)
    folder = gateway.home.agent(found.id).path
    if status_of(folder) is not None:
        raise ApiError(409, f"there is an agent '{found.id}' again: archive that one first")
    move(_folder(gateway.home) / found.id, folder)
    gateway.signals.restore(found.id)
    gateway.changes.note("restored", found.id)
    await _have_triggers_read(gateway, found.id)
    return agent_summary(found, found.status if found.status in ENDED_AGENT else STOPPED)


async def _have_triggers_read(gateway: Gateway, agent: AgentId) -> None:
    """Ask the scheduler for an agent's triggers, so that it reads the moved file at once."""
    await if_answered(gateway.bus.ask(CLOCK, ListTriggers(agent=agent), TriggerTable))


@router.delete("/archive/{agent}", dependencies=[CONTROL], tags=["archive"])
async def delete_for_good(agent: str, gateway: GatewayDep, forget: bool = False) -> DeletedView:
    """Delete an archived agent with all its files; its lessons stay unless `forget` is set."""
    deleted = await asyncio.to_thread(_delete, gateway, agent)
    gateway.changes.note("deleted", deleted.id)
    return await _with_lessons(gateway, deleted, forget=forget)


async def _with_lessons(gateway: Gateway, deleted: DeletedView, *, forget: bool) -> DeletedView:
    """Return `deleted` with the number of the agent's knowledge nodes, removed if `forget`.

    Raises ApiError if the database is not available.
    """

    def work(store: KnowledgeStore) -> dict[str, int]:
        ids = store.ids(agent=deleted.id)
        return {"forgotten": store.remove(ids)} if forget else {"taught": len(ids)}

    try:
        return deleted.model_copy(update=await gateway.knowledge.use(work))
    except KnowledgeUnavailable as error:
        if not forget:
            return deleted
        words = f"{deleted.id} is deleted, but what it taught could not be removed: {error}"
        raise ApiError(500, words) from error


def _delete(gateway: Gateway, named: str) -> DeletedView:
    found = _archive_of(gateway).find(named)
    folder = _folder(gateway.home)
    deleting = folder / f"{DELETING}{found.id}"
    remove_tree(deleting)
    move(folder / found.id, deleting)
    freed = _size_of(deleting)
    remove_tree(deleting)
    return DeletedView(id=found.id, name=found.name, freed_bytes=freed)


def _size_of(folder: Path) -> int:
    """Return the size of a folder's files in bytes, as far as they are readable."""
    with suppress(OSError):
        return sum(entry.size for _, entry in files_below(folder))
    return 0


def remove_half_deleted(home: Home) -> None:
    """Remove the rest of agents whose deletion a crash interrupted; errors are ignored."""
    folder = _folder(home)
    with suppress(OSError):
        for left in entries(folder):
            if left.name.startswith(DELETING):
                with suppress(OSError):
                    remove_tree(folder / left.name)


def _archive_of(gateway: Gateway) -> AgentDirectory:
    return AgentDirectory(gateway.home, _folder(gateway.home), " in the archive")


def _folder(home: Home) -> Path:
    return home.agents / ARCHIVE
