"""Public events: the events that people, logs and triggers follow, made of board events.

The event of a run's end contains the whole result. Texts of nodes are cut, with a mark, because a
run may have thousands of nodes; the board has the whole texts.
"""

from typing import Any, Final

from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.board.commands import OF_ROLES
from agiraph.board.failure_class import failure_class
from agiraph.board.progress import lines_of
from agiraph.core.ids import AgentId, NodeId, RunId
from agiraph.core.models import Event
from agiraph.core.naming import cut
from agiraph.core.turns import JsonObject

TASK_CHARACTERS: Final = 500
SUMMARY_CHARACTERS: Final = 1000

Told = tuple[str, NodeId | None, JsonObject]
NodeEvent = (
    e.NodeUpdated
    | e.NodeAssigned
    | e.NodeStarted
    | e.NodeBlocked
    | e.NodeUnblocked
    | e.NodeCompleted
    | e.NodeFailed
    | e.NodeCancelled
    | e.NodeRetried
    | e.NodeMoved
    | e.NodeReleased
    | e.NodeConditionsDecided
    | e.NodeSkipped
    | e.NodeExpanded
)
"""The events that change the status of one node; the public event of each has the same type."""
ENDS_OF_NODES = (e.NodeCompleted, e.NodeFailed, e.NodeCancelled, e.NodeSkipped)


def public_events(board: Board, event: e.BoardEvent) -> list[Told]:
    """Return (type, node, data) of each public event for a board event."""
    match event:
        case e.NodeReserved() | e.StagePlanned() | e.StageLaunched() | e.BoardEpochBegan():
            return []
        case e.RunStarted():
            return [("agent.started", None, {"goal": event.goal, "model": event.model})]
        case e.RunFinished():
            finished: JsonObject = {"result": event.summary}
            if event.incomplete:
                finished["incomplete"] = list(event.incomplete)
            return [("agent.completed", None, finished)]
        case e.RunStopped():
            stopped: JsonObject = {"reason": event.reason}
            if event.status == "failed":
                stopped["failure_class"] = failure_class(event.reason)
            return [(f"agent.{event.status}", None, stopped)]
        case e.RunReopened():
            return [("agent.reopened", None, {})]
        case e.CycleEnded():
            ended = {"cycle": event.cycle, "notes": event.notes, "next_at": event.next_at}
            return [("agent.cycle_ended", None, ended)]
        case e.CycleStarted():
            return [("agent.cycle_started", None, {"cycle": event.cycle})]
        case e.StageStarted() | e.StageMet() | e.StageReconvened():
            return _of_stage(board, event)
        case e.WorkerSpawned(worker=worker):
            spawned = {"name": worker.name, "role": worker.role, "model": worker.model}
            return [("worker.spawned", None, spawned)]
        case e.WorkerStopped():
            name = board.workers[event.worker_id].name
            return [("worker.stopped", None, {"name": name, "reason": event.reason})]
        case e.NodeCreated(node=node):
            # The first line of the task names the turn of an Agentic Team.
            task = (
                node.task.split("\n")[0]
                if node.cause.startswith(OF_ROLES)
                else cut(node.task, TASK_CHARACTERS)
            )
            created: JsonObject = {"name": node.name, "role": node.role, "task": task}
            if node.parent_node is not None:
                created["parent_node"] = node.parent_node
            return [("node.created", node.id, created)]
        case e.DeadlockFound():
            cycle = _names(board, event.cycle)
            found = {"cycle": cycle, "text": event.text, "is_refused": event.is_refused}
            return [("node.deadlock", event.cycle[0], found)]
        case e.StandstillFound(standstill=found):
            text = "; ".join(lines_of(found))
            return [("agent.standstill", None, {"text": text, **found.model_dump(mode="json")})]
        case _:
            return _of_node(board, event)


def _of_stage(board: Board, event: e.StageStarted | e.StageMet | e.StageReconvened) -> list[Told]:
    stage = board.stages[event.stage].name
    match event:
        case e.StageStarted():
            contract = event.contract.model_dump(mode="json")
            return [("stage.started", None, {"stage": event.name, "contract": contract})]
        case e.StageMet():
            facts = {"why": event.why, "completed": event.completed, "of": event.of}
            met = {"stage": stage, **facts, "without": _names(board, event.stragglers)}
            return [("stage.met", None, met)]
        case e.StageReconvened():
            said = {"assessment": event.assessment, "decided": event.decided}
            closed = {"stage": stage, **said, "without": _names(board, event.stragglers)}
            return [("stage.reconvened", None, closed), ("stage.completed", None, {"stage": stage})]


def _of_node(board: Board, event: NodeEvent) -> list[Told]:
    """Return a node's public event, with its name and its worker's, and the worker's event."""
    node = board.nodes[event.node_id]
    worker = board.workers[node.assigned_worker].name if node.assigned_worker else None
    facts: JsonObject = {"name": node.name, "worker": worker}
    about_worker: list[Told] = []
    match event:
        case e.NodeUpdated():
            facts |= {"changed": list(event.new.named), "changes": _changes(event)}
            facts["accepted"] = cut(event.accepted, TASK_CHARACTERS)
        case e.NodeAssigned():
            facts["attempt"] = event.attempt
            about_worker = [("worker.busy", node.id, {"worker": worker})]
        case e.NodeBlocked():
            facts["on"] = _names(board, event.waits_for)
        case e.NodeCompleted():
            facts |= {"summary": cut(event.summary, SUMMARY_CHARACTERS), "files": list(event.files)}
            if event.missing:
                facts |= {"missing": cut(event.missing, SUMMARY_CHARACTERS), "bound": event.bound}
            if event.evidence:
                passed = sum(check.has_passed for check in event.evidence.checks)
                facts |= {"checks_passed": passed, "digest": event.evidence.digest}
        case e.NodeRetried():
            facts |= {"reason": node.failed_before, "because": event.because}
            if event.not_before is not None:
                facts["not_before"] = event.not_before
        case e.NodeMoved(move=move):
            to = board.workers[move.worker].name if move.worker else None
            facts |= {"to": to, "model": move.model, "because": move.because}
        case e.NodeConditionsDecided():
            facts["conditions"] = [
                {
                    "node": board.nodes[one].name,
                    "when": node.when[one],
                    "counts": event.edges[one],
                    "result": seen,
                }
                for one, seen in event.seen.items()
            ]
        case e.NodeExpanded():
            facts["copies"] = _names(board, event.copies)
        case e.NodeFailed():
            facts |= {"reason": event.reason, "failure_class": failure_class(event.reason)}
        case e.NodeSkipped() | e.NodeReleased() | e.NodeCancelled():
            facts["reason"] = event.reason
        case e.NodeStarted() | e.NodeUnblocked():
            pass
    # By the event, not by the board: a restarted coordinator reports the events before it again.
    if isinstance(event, ENDS_OF_NODES) and worker is not None:
        about_worker = [("worker.idle", None, {"worker": worker})]
    return [(event.type, node.id, facts), *about_worker]


def _changes(event: e.NodeUpdated) -> JsonObject:
    """Return the old and the new value of each changed term, long ones shortened."""
    return {
        name: [_short(getattr(event.old, name)), _short(getattr(event.new, name))]
        for name in event.new.named
    }


def _short(value: Any) -> Any:
    return cut(value, TASK_CHARACTERS) if isinstance(value, str) else value


def _names(board: Board, nodes: tuple[NodeId, ...]) -> list[str]:
    return [board.nodes[node].name for node in nodes]


def events_of(
    board: Board, event: e.BoardEvent, place: int, *, agent: AgentId, run: RunId, entity: str
) -> list[Event]:
    """Return the public events of a board event at the position `place` of the run's journal.

    Their keys make them the same events if they are reported again after a crash.
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
            key=e.public_key(board.key(run), place, number),
        )
        for number, (kind, node, data) in enumerate(public_events(board, event))
    ]
