"""Rules of a node's life: create, reserve, assign, start, block, complete, fail, cancel.

pending -> assigned -> running <-> blocked running or blocked -> completed; anything that has not
ended -> failed | cancelled failed -> pending, if it is retried (`retries`)
"""

from collections.abc import Iterable
from itertools import chain

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board, RunFacts
from agiraph.board.events import BoardEvent
from agiraph.board.matching import require_can_do
from agiraph.board.names import (
    find_node,
    find_worker,
    idle_names,
    new_id,
    new_node_name,
    numbered_name,
)
from agiraph.board.plan_stages import can_be_enough, plan_stage_of
from agiraph.board.rules.moves import released
from agiraph.board.rules.plans import is_of_plan
from agiraph.board.rules.runs import require_running
from agiraph.board.rules.stages import open_stage
from agiraph.board.rules.sub_nodes import (
    cancelled_with,
    refuse_parent_cycle,
    require_room_below,
    waits_of,
)
from agiraph.board.rules.workers import spawn
from agiraph.board.wait_cycles import awaited_by, find_cycle
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.ids import NodeId
from agiraph.core.models import HELD_NODE, Worker, WorkNode
from agiraph.core.results import normal_checks
from agiraph.core.specs import ForEach, NodeSpec, WorkerSpec, WorkerType
from agiraph.storage.file_names import is_below


class WaitCycle(IllegalTransition):
    """A wait would close a `cycle`: each node in it waits for the next, the last for the first."""

    def __init__(self, message: str, cycle: tuple[NodeId, ...]) -> None:
        super().__init__(message)
        self.cycle = cycle


def create(board: Board, command: c.CreateNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that put a node on the board; () if its cause has created one already."""
    if board.node_by_cause(command.cause):
        return ()
    run, spec = require_running(board), command.spec
    if not spec.task.strip():
        raise InvalidInput("a node needs a task: describe the work")
    _require_room(board, run, command.cause)
    refs, sources = normal_refs(board, spec.refs)
    needed = [find_node(board, named) for named in spec.dependencies]
    dependencies = dependencies_of(board, needed, sources)
    parent = find_node(board, command.parent_node) if command.parent_node else None
    hired = _hired(board, command, now)
    wanted = _wanted(board, spec, hired)
    require_room_below(board, run, parent)
    name = new_node_name(board, spec.name, spec.task)
    refuse_parent_cycle(board, name, parent, dependencies, wanted)
    stage, opened = open_stage(board, now, command.stage)
    role = (spec.role or "").strip() or "worker"
    node_id = NodeId(new_id(run.id, command.cause, board.nodes.keys()))
    placed = {
        "id": node_id,
        "name": name,
        "role": role,
        "mode": spec.mode or (wanted.mode if wanted else "multi_turn"),
        "type": _type(spec, wanted),
        "dependencies": dependencies,
        "refs": refs,
        "wanted_worker": wanted.id if wanted else None,
        "parent_node": parent.id if parent else None,
        "stage": stage,
        "cause": command.cause,
        "plan_stage": command.plan_stage,
        "enough": command.enough,
        "checks": normal_checks(spec.checks),
        "when": {find_node(board, one).id: text for one, text in command.when.items()},
        "for_each": _each(board, command.for_each),
        "trigger": command.trigger or (parent.trigger if parent else ""),
        "optional": command.optional,
    }
    node = WorkNode.model_validate({**dict(spec), **placed})
    if wanted is not None:
        require_can_do(board, node, wanted)
    return (*opened, *hired, e.NodeCreated(ts=now, node=node))


def _hired(board: Board, command: c.CreateNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the event of the new worker that a node asks for, () if it asks for none."""
    spec = command.spec
    if spec.worker is None or not c.is_new_worker(spec.worker):
        return ()
    taken = {worker.name.casefold() for worker in board.workers.values()}
    asked = {"name": numbered_name(spec.role or "", taken), "tools": None}  # its node has tools
    worker = WorkerSpec.model_validate({**spec.shared_with(WorkerSpec), **asked})
    if (spec.agent_command or "").strip():
        worker = worker.model_copy(update={"type": "autonomous"})
    return spawn(board, c.SpawnWorker(f"{command.cause}#worker", worker), now)


def _wanted(board: Board, spec: NodeSpec, hired: tuple[BoardEvent, ...]) -> Worker | None:
    """Return the worker that a node names, or the one that was hired for it."""
    for event in hired:
        if isinstance(event, e.WorkerSpawned):
            return event.worker
    return _on_team(find_worker(board, spec.worker)) if spec.worker else None


def _each(board: Board, each: ForEach | None) -> ForEach | None:
    """Return the `for_each` with the id of the node that has the list. Raises InvalidInput."""
    if each is None:
        return None
    return each.model_copy(update={"node": find_node(board, each.node).id})


def _require_room(board: Board, run: RunFacts, cause: str) -> None:
    if run.is_fixed and not cause.startswith(c.OF_PLAN):
        raise IllegalTransition(
            "this run was planned whole before it began (static planning): no node is added to it "
            "(possible: continue with the results so far, and name the missing part in the result)"
        )
    if len(board.nodes) - run.cycle_nodes >= run.max_nodes:
        raise IllegalTransition(
            f"this run has its {run.max_nodes} nodes (run.max_nodes); no more can be created "
            "(possible: continue with the results so far, do the rest yourself, name missing parts)"
        )


def _type(spec: NodeSpec, wanted: Worker | None) -> WorkerType | None:
    """Return the type of worker that a node asks for; with an `agent_command` an external agent."""
    if not (spec.agent_command or "").strip():
        if spec.type == "autonomous" and wanted is None:
            raise InvalidInput("an autonomous node needs an agent_command or a named worker")
        return spec.type
    if spec.type == "harnessed":
        raise InvalidInput("a harnessed node has no agent_command: leave one of the two out")
    return "autonomous"


def dependencies_of(
    board: Board, needed: list[WorkNode], sources: list[WorkNode]
) -> tuple[NodeId, ...]:
    """Return the dependencies of a node: named nodes, and nodes of refs that are not completed."""
    wanted = [*needed, *(node for node in sources if node.status != "completed")]
    for node in wanted:
        is_lost = node.status in ("failed", "cancelled")
        if is_lost and not can_be_enough(plan_stage_of(board.nodes.values(), node)):
            raise IllegalTransition(
                f"node '{node.name}' is {node.status} and will never be completed"
                f"{': ' + node.reason if node.reason else ''}"
            )
    ids = (node.copies or (node.id,) for node in wanted)
    return tuple(dict.fromkeys(chain.from_iterable(ids)))


def reserve(board: Board, command: c.ReserveNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the event that reserves a pending node for a worker.

    The scheduler assigns the node when both are free.
    """
    require_running(board)
    node, worker = find_node(board, command.node), find_worker(board, command.worker)
    _require(node, "reserved", "pending")
    require_can_do(board, node, _on_team(worker))
    if node.wanted_worker == worker.id:
        return ()
    parent = board.nodes[node.parent_node] if node.parent_node else None
    refuse_parent_cycle(board, node.name, parent, node.dependencies, worker)
    return (e.NodeReserved(ts=now, node_id=node.id, worker_id=worker.id),)


def assign(board: Board, command: c.AssignNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the event that assigns a ready node to an idle worker."""
    require_running(board)
    node, worker = find_node(board, command.node), find_worker(board, command.worker)
    if node.status in HELD_NODE and node.assigned_worker == worker.id:
        return ()
    _require(node, "assigned", "pending")
    require_can_do(board, node, _on_team(worker))
    missing = board.waiting_for(node)
    if not missing and board.is_undecided(node):
        raise IllegalTransition(f"node '{node.name}' is not ready: its conditions are open")
    if missing:
        rows = ", ".join(f"{other.name} ({other.status})" for other in missing)
        raise IllegalTransition(f"node '{node.name}' is not ready: it waits for {rows}")
    if worker.status != "idle":
        held = f" with node '{board.nodes[worker.node].name}'" if worker.node else ""
        idle = idle_names(board)
        raise IllegalTransition(f"worker '{worker.name}' is {worker.status}{held} (idle: {idle})")
    return (e.NodeAssigned(ts=now, node_id=node.id, worker_id=worker.id, attempt=node.attempt + 1),)


def start(board: Board, command: c.StartNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the event that the worker of an assigned node has begun."""
    node, worker = find_node(board, command.node), find_worker(board, command.worker)
    _require_attempt(node, command.attempt)
    if node.assigned_worker != worker.id:
        raise IllegalTransition(f"node '{node.name}' is not assigned to worker '{worker.name}'")
    if node.status in ("running", "blocked"):
        return ()
    _require(node, "started", "assigned")
    return (e.NodeStarted(ts=now, node_id=node.id),)


def block(board: Board, command: c.BlockNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the events of a wait of a node's worker for nodes or a message.

    Refuses a wait that closes a cycle.
    """
    node = find_node(board, command.node)
    waits_for = tuple(find_node(board, named).id for named in command.waits_for)
    if node.status == "blocked" and awaited_by(board, node.id) == waits_for:
        return ()
    _require(node, "blocked", "assigned", "running", "blocked")
    _refuse_cycle(board, node, waits_for)
    blocked = e.NodeBlocked(
        ts=now,
        node_id=node.id,
        waits_for=waits_for,
        until=command.until,
        is_timer=command.is_timer,
    )
    return (*_started(node, now), blocked)


def _refuse_cycle(board: Board, node: WorkNode, waits_for: tuple[NodeId, ...]) -> None:
    waits: dict[str, tuple[str, ...]] = dict(waits_of(board).items())
    waits[node.id] = (*node.dependencies, *waits_for)
    cycle = find_cycle(waits)
    if cycle:
        nodes = tuple(NodeId(node_id) for node_id in cycle)
        names = " -> ".join(board.nodes[node_id].name for node_id in nodes)
        raise WaitCycle(f"node '{node.name}' would wait for itself: {names}", nodes[:-1])


def note_deadlock(board: Board, command: c.NoteDeadlock, now: float) -> tuple[BoardEvent, ...]:
    """Return the event of a cycle of waits; () if the same cycle is recorded."""
    first = command.cycle.index(min(command.cycle))
    cycle = (*command.cycle[first:], *command.cycle[:first])
    if cycle in board.deadlocks or not board.is_running:
        return ()
    found = e.DeadlockFound(ts=now, cycle=cycle, text=command.text, is_refused=command.is_refused)
    return (found,)


def unblock(board: Board, command: c.UnblockNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the event that a node's worker continues; () if it is running."""
    node = find_node(board, command.node)
    if node.status == "running":
        return ()
    _require(node, "unblocked", "blocked")
    return (e.NodeUnblocked(ts=now, node_id=node.id),)


def complete(board: Board, command: c.CompleteNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that complete a node; () if it is completed already.

    Raises IllegalTransition, InvalidInput.
    """
    node = find_node(board, command.node)
    _require_attempt(node, command.attempt)
    if node.status == "completed":
        return ()
    _require(node, "completed", *HELD_NODE)
    evidence = command.result.evidence
    _require_below("published", command.result.files)
    _require_below("published", evidence.artifacts if evidence is not None else ())
    kept = {**dict(command.result), "missing": command.result.missing.strip()}
    completed = e.NodeCompleted(ts=now, node_id=node.id, **kept)
    return (*_started(node, now), completed)


def _require_below(folder: str, files: Iterable[str]) -> None:
    """Raise InvalidInput for a path in `files` that leads out of the node's folder `folder`."""
    for file in files:
        if not is_below(file):
            raise InvalidInput(
                f"files: {file[:100]!r} leads out of {folder}/ "
                f"(possible: the path of a file in {folder}/, relative to it)"
            )


def fail(board: Board, command: c.FailNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that fail a node; () if it has failed already.

    Raises IllegalTransition, InvalidInput. A node that is to be moved is released instead.
    """
    node = find_node(board, command.node)
    if command.attempt is not None:
        _require_attempt(node, command.attempt)
    if node.status == "failed":
        return ()
    _require(node, "failed", "pending", *HELD_NODE)
    _require_below("scratch", command.left)
    if command.attempt is not None and (let_go := released(board, node, now, command.reason)):
        return let_go
    failed = e.NodeFailed(
        ts=now,
        node_id=node.id,
        reason=command.reason,
        left=command.left,
        details=command.details[-e.MOST_DETAILS :],
    )
    return (failed, *cancelled_with(board, node, f"failed: {command.reason}", now))


def cancel(board: Board, command: c.CancelNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that cancel a node; () if it is cancelled already.

    Raises IllegalTransition if the node has ended, InvalidInput without a required reason.
    """
    node = find_node(board, command.node)
    if node.status == "cancelled":
        return ()
    _require(node, "cancelled", "pending", *HELD_NODE)
    if command.by == "coordinator" and is_of_plan(node) and not command.reason.strip():
        raise InvalidInput(
            f"node '{node.name}' is of the plan: giving it up needs a reason "
            f"({'it is optional' if node.optional else 'the run then fails'})"
        )
    cancelled = e.NodeCancelled(ts=now, node_id=node.id, reason=command.reason, by=command.by)
    why = f"was cancelled: {command.reason}" if command.reason else "was cancelled"
    return (cancelled, *cancelled_with(board, node, why, now))


def _started(node: WorkNode, now: float) -> tuple[BoardEvent, ...]:
    """Return the event NodeStarted if a report of the node's worker implies it, else ()."""
    return (e.NodeStarted(ts=now, node_id=node.id),) if node.status == "assigned" else ()


def _require(node: WorkNode, verb: str, *possible: str) -> None:
    if node.status not in possible:
        raise IllegalTransition(
            f"node '{node.name}' is {node.status} and cannot be {verb} "
            f"(only when {' or '.join(possible)})"
        )


def _require_attempt(node: WorkNode, attempt: int) -> None:
    if attempt != node.attempt or (node.status == "pending" and node.retried_by):
        raise IllegalTransition(
            f"attempt {attempt} of node '{node.name}' is stale (now: {node.attempt})"
        )


def _on_team(worker: Worker) -> Worker:
    if worker.status == "stopped":
        raise IllegalTransition(f"worker '{worker.name}' has stopped")
    return worker


def normal_refs(board: Board, refs: dict[str, str]) -> tuple[dict[str, str], list[WorkNode]]:
    """Return refs as `nodes/{folder}/published[/file]`, and the nodes they lead to.

    A value may be a node's name or id, `NODE/published/FILE`, or the whole path.
    """
    paths: dict[str, str] = {}
    nodes: list[WorkNode] = []
    for name, value in refs.items():
        node, inner = _parse(board, name, value)
        found = {f"{name}-{at}": board.nodes[one] for at, one in enumerate(node.copies, start=1)}
        for ref, one in (found or {name: node}).items():
            paths[ref] = "/".join(("nodes", one.folder, "published", *inner))
            nodes.append(one)
    return paths, nodes


def _parse(board: Board, name: str, value: str) -> tuple[WorkNode, tuple[str, ...]]:
    parts = tuple(part for part in value.strip().split("/") if part not in ("", "."))
    if not name.strip() or not parts or ".." in parts or value.strip().startswith("/"):
        raise InvalidInput(
            f"ref '{name}': '{value}' is not a reference "
            "(possible: NODE, NODE/published/FILE, nodes/NODE/published/FILE)"
        )
    if parts[0] == "nodes" and len(parts) > 1:
        parts = parts[1:]
    node, inner = find_node(board, parts[0]), parts[1:]
    return node, inner[1:] if inner[:1] == ("published",) else inner
