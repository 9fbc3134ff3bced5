"""Views: the board for models (`check_board`) and for the HTTP API.

Incomplete work (a partial result, or files that a failed node left in `scratch/`) is shown with a
suggestion that can be followed literally.
"""

from collections import Counter

from agiraph.board.board import Board
from agiraph.board.rules.runs import cancelled_at_end
from agiraph.core.ids import NodeId, WorkerId
from agiraph.core.models import Worker, WorkNode
from agiraph.core.turns import JsonObject

NODES_SHOWN = 60
SHOWN_FILES = 12
SUMMARY_CHARACTERS = 300


def board_view(board: Board, nodes_shown: int = NODES_SHOWN) -> JsonObject:
    """Return {"stage", "nodes", "workers"}, short: the result of `check_board` for a model.

    Of a big board the open nodes and the newest ended nodes are shown, at most `nodes_shown`, and
    the workers on the team; `left_out` then counts the rest by their status.
    """
    shown = _nodes_to_show(board, nodes_shown)
    workers = board.team if len(board.workers) > NODES_SHOWN else board.workers.values()
    view: JsonObject = {
        "stage": board.stages[-1].name if board.stages else None,
        "nodes": [_short_row(board, node) for node in shown],
        "workers": [worker_row(board, worker) for worker in workers],
    }
    if left := len(board.nodes) - len(shown):
        view["left_out"] = _left_out(board, shown, left)
    return view


def _nodes_to_show(board: Board, limit: int) -> list[WorkNode]:
    """Return the oldest open nodes, and then the newest ended nodes, in order of creation."""
    if len(board.nodes) <= limit:
        return list(board.nodes.values())
    open_nodes = [node.id for node in board.nodes.values() if not node.has_ended][:limit]
    ended = [node.id for node in board.nodes.values() if node.has_ended]
    kept = {*open_nodes, *ended[len(ended) - (limit - len(open_nodes)) :]}
    return [node for node in board.nodes.values() if node.id in kept]


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
    """Return a node as a row: id, name, status, worker, summary.

    The summary of a failed or cancelled node is its reason.
    """
    return {
        "id": node.id,
        "name": node.name,
        "status": node.status,
        "worker": _worker_name(board, node.assigned_worker),
        "summary": _told(node),
    }


def _told(node: WorkNode) -> str | None:
    """Return the summary or reason of a node's end; a partial result is marked."""
    if node.summary is None:
        return node.reason
    checks = node.evidence.checks if node.evidence is not None else ()
    failed = "; ".join(f"`{one.command}`" for one in checks if not one.has_passed)
    if not node.missing and not failed:
        return node.summary
    if not node.missing:
        return f"{node.summary}\n[accepted by the coordinator; failed checks: {failed}]"
    more = f"; failed checks: {failed}" if failed else ""
    return f"{node.summary}\n[in part; missing: {node.missing}{more}]"


def waited_row(board: Board, node: WorkNode) -> JsonObject:
    """Return a node in the result of the tool `wait`: its row, files, and a suggestion.

    The suggestion says how to continue partial work.
    """
    row = node_row(board, node)
    if node.status == "completed":
        row["published"] = [f"nodes/{node.folder}/published/{file}" for file in node.published]
        if node.insight:
            row["insight"] = node.insight
    if how_to_go_on := suggestion(node):
        row["suggestion"] = how_to_go_on
    return row


def known_row(board: Board, node: WorkNode) -> JsonObject:
    """Return an ended node in one line, for a model that has read its whole row before."""
    row = node_row(board, node)
    del row["summary"], row["worker"]
    return {**row, "told_before": f"the whole is in nodes/{node.folder}/_status.md"}


def ending_in_words(board: Board) -> str:
    """Return text for the model that ended the run: the run's status and the cancelled nodes."""
    run = board.run
    if run is not None and run.status == "failed":
        return f"The run has ended as failed: {run.reason}. Your summary is in _output.md."
    ended = "The run is finished; your summary is in _output.md."
    if run is not None and run.incomplete:
        ended += f" Nodes of the plan that were not completed: {', '.join(run.incomplete)}."
    if names := ", ".join(node.name for node in cancelled_at_end(board)):
        ended += f" It cancelled the unfinished nodes: {names}."
    return ended


def worker_row(board: Board, worker: Worker) -> JsonObject:
    """Return a worker as a row: id, name, status, and the name of its node."""
    return {
        "id": worker.id,
        "name": worker.name,
        "status": worker.status,
        "node": _node_name(board, worker.node),
    }


def _node_name(board: Board, node_id: NodeId | None) -> str | None:
    return board.nodes[node_id].name if node_id else None


def _worker_name(board: Board, worker_id: WorkerId | None) -> str | None:
    return board.workers[worker_id].name if worker_id else None


def suggestion(node: WorkNode) -> str:
    """Return how to continue incomplete work; empty if the work is complete."""
    if node.status == "completed" and node.missing:
        cut = f" because {node.bound}" if node.bound else ""
        return (
            f"node '{node.name}' was published in part{cut}; to go on, create a node "
            f'\'{node.name}-rest\' with refs {{"{node.name}": "{node.name}"}} and the missing part '
            f"as its task: {node.missing}"
        )
    if node.status != "failed" or not node.left:
        return ""
    shown = ", ".join(node.left[:SHOWN_FILES])
    more = f" and {len(node.left) - SHOWN_FILES} more" if len(node.left) > SHOWN_FILES else ""
    return (
        f"node '{node.name}' published nothing, but left in nodes/{node.folder}/scratch/: "
        f"{shown}{more}; to go on, create a smaller node, and put the useful parts into its task"
    )
