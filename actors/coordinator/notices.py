"""Notices: what the board tells the coordinator's mind, in words."""

from collections.abc import Collection

from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.board.view import node_row
from agiraph.ids import NodeId

SHOWN_CHARACTERS = 1500


def notice(board: Board, event: e.BoardEvent, covered: Collection[NodeId]) -> str | None:
    """Return the line for an event, or None if it needs no thought or the mind knows of it."""
    match event:
        case e.NodeCompleted(node_id=node_id) if node_id not in covered and _is_top(board, node_id):
            node = board.nodes[node_id]
            files = ", ".join(f"nodes/{node.folder}/published/{file}" for file in event.files)
            worker = node_row(board, node)["worker"]
            summary = event.summary[:SHOWN_CHARACTERS]
            return f"[Board]: {worker} completed node '{node.name}': {summary}\nPublished: {files}"
        case e.NodeFailed(node_id=node_id) if node_id not in covered:
            return f"[Board]: node '{board.nodes[node_id].name}' failed: {event.reason}"
        case e.WorkerStopped(worker_id=worker_id) if event.reason != "retired":
            return f"[Board]: worker '{board.workers[worker_id].name}' is gone: {event.reason}"
        case _:
            return None


def _is_top(board: Board, node_id: NodeId) -> bool:
    """Whether a node is the coordinator's own concern and not a worker's sub-node."""
    return board.nodes[node_id].parent_node is None
