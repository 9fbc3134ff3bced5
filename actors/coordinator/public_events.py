"""Public events: board events as the public events that people, logs and triggers follow."""

from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.core.ids import AgentId, NodeId, RunId
from agiraph.core.models import Event, Worker
from agiraph.core.turns import JsonObject

Told = tuple[str, NodeId | None, JsonObject]


def public_events(board: Board, event: e.BoardEvent) -> list[Told]:
    """Return (type, node, data) of each public event that a board event stands for."""
    match event:
        case e.RunStarted():
            return [("agent.started", None, {"goal": event.goal, "model": event.model})]
        case e.StageStarted():
            contract = event.contract.model_dump(mode="json")
            return [("stage.started", None, {"stage": event.name, "contract": contract})]
        case e.NodeCreated(node=node):
            created: JsonObject = {"name": node.name, "role": node.role, "task": node.task[:500]}
            if node.parent_node is not None:
                created["parent_node"] = node.parent_node
            return [("node.created", node.id, created)]
        case e.NodeAssigned():
            assigned = {**_names(board, event.node_id), "attempt": event.attempt}
            busy = {"worker": _worker(board, event.worker_id).name}
            return [
                ("node.assigned", event.node_id, assigned),
                ("worker.busy", event.node_id, busy),
            ]
        case e.NodeStarted():
            return [("node.started", event.node_id, _names(board, event.node_id))]
        case e.NodeBlocked():
            waits = [board.nodes[node].name for node in event.waits_for]
            return [("node.blocked", event.node_id, {**_names(board, event.node_id), "on": waits})]
        case e.NodeUnblocked():
            return [("node.unblocked", event.node_id, _names(board, event.node_id))]
        case e.NodeCompleted():
            result: JsonObject = {"summary": event.summary[:1000], "files": list(event.files)}
            if event.missing:
                result |= {"missing": event.missing[:1000], "bound": event.bound}
            if event.evidence:
                passed = len(event.evidence.checks)
                result |= {"checks_passed": passed, "digest": event.evidence.digest}
            return _ended(board, "node.completed", event.node_id, result)
        case e.NodeFailed():
            return _ended(board, "node.failed", event.node_id, {"reason": event.reason})
        case e.NodeCancelled():
            return _ended(board, "node.cancelled", event.node_id, {"reason": event.reason})
        case e.WorkerSpawned(worker=worker):
            spawned = {"name": worker.name, "role": worker.role, "model": worker.model}
            return [("worker.spawned", None, spawned)]
        case e.WorkerStopped():
            name = _worker(board, event.worker_id).name
            return [("worker.stopped", None, {"name": name, "reason": event.reason})]
        case e.StageMet():
            return [("stage.met", None, _met(board, event))]
        case e.StageReconvened():
            stage = board.stages[event.stage].name
            closed = {
                "stage": stage,
                "assessment": event.assessment,
                "decided": event.decided,
                "without": [board.nodes[node].name for node in event.stragglers],
            }
            return [("stage.reconvened", None, closed), ("stage.completed", None, {"stage": stage})]
        case e.RunFinished():
            return [("agent.completed", None, {"result": event.summary[:2000]})]
        case e.RunStopped(status="failed"):
            return [("agent.failed", None, {"reason": event.reason})]
        case e.RunStopped():
            return [("agent.stopped", None, {"reason": event.reason})]
        case e.DeadlockFound():
            ring = [board.nodes[node].name for node in event.ring]
            found = {"ring": ring, "text": event.text, "is_refused": event.is_refused}
            return [("node.deadlock", event.ring[0], found)]
        case e.CycleEnded():
            ended = {"cycle": event.cycle, "notes": event.notes[:1000], "next_at": event.next_at}
            return [("agent.cycle_ended", None, ended)]
        case e.CycleStarted():
            return [("agent.cycle_started", None, {"cycle": event.cycle})]
        case e.NodeReserved() | e.StagePlanned() | e.StageLaunched() | e.BoardEpochBegan():
            return []


def tell(
    board: Board, event: e.BoardEvent, place: int, *, agent: AgentId, run: RunId, entity: str
) -> list[Event]:
    """Return the public events of the board event at this place of the run's journal.

    Told again after a crash, they are the same events.
    """
    return [
        Event(
            type=kind,
            agent_id=agent,
            ts=event.ts,
            entity=entity,
            run_id=run,
            node_id=node,
            data=data,
            key=f"board:{board.key(run)}:{place}:{number}",
        )
        for number, (kind, node, data) in enumerate(public_events(board, event))
    ]


def _met(board: Board, event: e.StageMet) -> JsonObject:
    return {
        "stage": board.stages[event.stage].name,
        "why": event.why,
        "completed": event.completed,
        "of": event.of,
        "without": [board.nodes[node].name for node in event.stragglers],
    }


def _ended(board: Board, kind: str, node_id: NodeId, data: JsonObject) -> list[Told]:
    names = _names(board, node_id)
    ended: list[Told] = [(kind, node_id, {**names, **data})]
    if names["worker"] is not None:
        ended.append(("worker.idle", None, {"worker": names["worker"]}))
    return ended


def _names(board: Board, node_id: NodeId) -> JsonObject:
    node = board.nodes[node_id]
    worker = board.workers.get(node.assigned_worker) if node.assigned_worker else None
    return {"name": node.name, "worker": worker.name if worker else None}


def _worker(board: Board, worker_id: str) -> Worker:
    return next(worker for worker in board.workers.values() if worker.id == worker_id)
