"""Views: the board as models see it (`check_board`) and as the HTTP API shows it."""

from typing import Any

from agiraph.board.board import Board, NodeTimes
from agiraph.board.handoff import suggestion
from agiraph.ids import NodeId, WorkerId
from agiraph.models import Stage, Worker, WorkNode

JsonObject = dict[str, Any]


def board_view(board: Board) -> JsonObject:
    """Return {"stage", "nodes", "workers"}, short: what `check_board` tells a model."""
    return {
        "stage": board.stages[-1].name if board.stages else None,
        "nodes": [node_row(board, node) for node in board.nodes.values()],
        "workers": [worker_row(board, worker) for worker in board.workers.values()],
    }


def node_row(board: Board, node: WorkNode) -> JsonObject:
    """Return a node in one line; the summary of one that failed or was cancelled is its reason."""
    return {
        "id": node.id,
        "name": node.name,
        "status": node.status,
        "worker": _worker_name(board, node.assigned_worker),
        "summary": _told(node),
    }


def _told(node: WorkNode) -> str | None:
    """Return what is told of a node's end; a result in part is marked so."""
    if node.summary is None:
        return node.reason
    return f"{node.summary}\n[in part; missing: {node.missing}]" if node.missing else node.summary


def waited_row(board: Board, node: WorkNode) -> JsonObject:
    """Return a node as `wait` tells of it: its row, its files, how to go on if it was cut short."""
    row = node_row(board, node)
    if node.status == "completed":
        row["published"] = [f"nodes/{node.folder}/published/{file}" for file in node.published]
    if how_to_go_on := suggestion(node):
        row["suggestion"] = how_to_go_on
    return row


def worker_row(board: Board, worker: Worker) -> JsonObject:
    """Return a worker in one line."""
    return {
        "id": worker.id,
        "name": worker.name,
        "status": worker.status,
        "node": _node_name(board, worker.node),
    }


def full_board(board: Board) -> JsonObject:
    """Return all of a board, with run and stages, for people and programs."""
    return {
        "run": run_view(board),
        "stage": board.stages[-1].name if board.stages else None,
        "stages": [stage_view(board, stage) for stage in board.stages],
        "nodes": [node_view(board, node) for node in board.nodes.values()],
        "workers": [worker_view(board, worker) for worker in board.workers.values()],
    }


def run_view(board: Board) -> JsonObject | None:
    """Return the facts of the run; None before it began."""
    run = board.run
    if run is None:
        return None
    return {
        "id": run.id,
        "goal": run.goal,
        "status": run.status,
        "mode": run.mode,
        "model": run.model,
        "worker_model": run.worker_model,
        "summary": run.summary,
        "reason": run.reason,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    }


def stage_view(board: Board, stage: Stage) -> JsonObject:
    """Return one stage with the names of its nodes."""
    return {
        "name": stage.name,
        "status": stage.status,
        "nodes": [board.nodes[node_id].name for node_id in stage.nodes],
        "assessment": stage.assessment,
        "contract": stage.contract.model_dump(mode="json"),
    }


def node_view(board: Board, node: WorkNode) -> JsonObject:
    """Return all of one node; other nodes and workers in it by name."""
    times = board.times.get(node.id) or NodeTimes(created=0.0)
    return {
        **node_row(board, node),
        "role": node.role,
        "task": node.task,
        "folder": node.folder,
        "stage": board.stages[node.stage].name,
        "dependencies": _node_names(board, node.dependencies),
        "waits_for": _node_names(board, board.waits.get(node.id, ())),
        "refs": dict(node.refs),
        "parent": _node_name(board, node.parent_node),
        "children": _node_names(board, node.children),
        "wanted_worker": _worker_name(board, node.wanted_worker),
        "reason": node.reason,
        "published": list(node.published),
        "missing": node.missing,
        "attempt": node.attempt,
        "created_at": times.created,
        "assigned_at": times.assigned,
        "started_at": times.started,
        "ended_at": times.ended,
    }


def worker_view(board: Board, worker: Worker) -> JsonObject:
    """Return all of one worker but for its memory."""
    return {
        **worker_row(board, worker),
        "type": worker.type,
        "role": worker.role,
        "model": worker.model,
        "agent_command": worker.agent_command,
        "tools": list(worker.tools) if worker.tools is not None else None,
        "completed": [
            node.name
            for node in board.nodes.values()
            if node.assigned_worker == worker.id and node.status == "completed"
        ],
    }


def _node_names(board: Board, ids: tuple[NodeId, ...]) -> list[str]:
    return [board.nodes[node_id].name for node_id in ids]


def _node_name(board: Board, node_id: NodeId | None) -> str | None:
    return board.nodes[node_id].name if node_id else None


def _worker_name(board: Board, worker_id: WorkerId | None) -> str | None:
    return board.workers[worker_id].name if worker_id else None
