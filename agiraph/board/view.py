"""Views: the board as models see it (`check_board`) and as the HTTP API shows it."""

from collections import Counter
from typing import Any

from agiraph.board.board import Board, NodeTimes
from agiraph.board.handoff import suggestion
from agiraph.core.ids import NodeId, WorkerId
from agiraph.core.models import Stage, Worker, WorkNode

JsonObject = dict[str, Any]

NODES_SHOWN = 60
SUMMARY_CHARACTERS = 300


def board_view(board: Board, nodes_shown: int = NODES_SHOWN) -> JsonObject:
    """Return {"stage", "nodes", "workers"}, short: what `check_board` tells a model.

    Of a big board the nodes that have not ended and the newest of the others are shown, at most
    `nodes_shown`, and the workers on the team; `left_out` then counts the rest by their status.
    """
    shown = _nodes_to_show(board, nodes_shown)
    view: JsonObject = {
        "stage": board.stages[-1].name if board.stages else None,
        "nodes": [_short_row(board, node) for node in shown],
        "workers": [worker_row(board, worker) for worker in _workers_to_show(board)],
    }
    if left := len(board.nodes) - len(shown):
        view["left_out"] = _left_out(board, shown, left)
    return view


def _nodes_to_show(board: Board, limit: int) -> list[WorkNode]:
    """Return the open nodes first come, then the newest that have ended, in order of creation."""
    if len(board.nodes) <= limit:
        return list(board.nodes.values())
    open_nodes = [node.id for node in board.nodes.values() if not node.has_ended][:limit]
    ended = [node.id for node in board.nodes.values() if node.has_ended]
    kept = {*open_nodes, *ended[len(ended) - (limit - len(open_nodes)) :]}
    return [node for node in board.nodes.values() if node.id in kept]


def _workers_to_show(board: Board) -> list[Worker]:
    if len(board.workers) <= NODES_SHOWN:
        return list(board.workers.values())
    return list(board.team)


def _short_row(board: Board, node: WorkNode) -> JsonObject:
    row = node_row(board, node)
    said = row["summary"]
    if said is not None and len(said) > SUMMARY_CHARACTERS:
        row["summary"] = f"{said[:SUMMARY_CHARACTERS]} [...]"
    return row


def _left_out(board: Board, shown: list[WorkNode], left: int) -> JsonObject:
    kept = {node.id for node in shown}
    rest = Counter(node.status for node in board.nodes.values() if node.id not in kept)
    return {
        "nodes": left,
        "by_status": dict(rest),
        "see": "_plan.md tells of every stage; nodes/ has a folder for each",
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
        "goal": stage.goal,
        "assessment": stage.assessment,
        "decided": stage.decided,
        "over": stage.over,
        "went_on_without": _node_names(board, stage.stragglers),
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
        "checks": list(node.checks),
        "evidence": node.evidence.model_dump(mode="json") if node.evidence else None,
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
