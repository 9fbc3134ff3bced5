"""What a coordinator has besides its conversation: its goal, its board, its plan, its memory."""

import json

from actors.coordinator.files import AgentFiles
from agiraph.agent.compaction import CompactionContext, SummarySection
from agiraph.agent.listing import listing, read_texts
from agiraph.board.board import Board
from agiraph.board.view import node_row, worker_row
from agiraph.storage.files import entries

MOST_FILES = 1000
OWN_FOLDERS = ("nodes", "workers", "_messages")


def coordinator_belongings(task: str, board: Board, files: AgentFiles) -> CompactionContext:
    """Return what a coordinator's new conversation is to tell of; `task` as it was given."""
    run = files.run
    own = [one for one in entries(run.path, MOST_FILES) if one.name not in OWN_FOLDERS]
    folders = [listing(run.path / one.name, f"{one.name}/") for one in own if one.kind == "folder"]
    written = [f"- {one.name} ({one.size} bytes)" for one in own if one.kind == "file"]
    return CompactionContext(
        task=task,
        files=(
            SummarySection("The board as it stands", board_lines(board)),
            SummarySection("Your memory", files.memory()),
            SummarySection("The plan", read_texts((run.plan,))),
            SummarySection("Files of this run", "\n".join([*written, *filter(None, folders)])),
        ),
    )


def board_lines(board: Board) -> str:
    """Return the board as it stands, a node or a worker a line."""
    nodes = [
        f"- node {json.dumps(node_row(board, node), ensure_ascii=False)} in nodes/{node.folder}/"
        for node in board.nodes.values()
    ]
    workers = [
        f"- worker {json.dumps(worker_row(board, worker), ensure_ascii=False)}"
        for worker in board.workers.values()
        if worker.status != "stopped"
    ]
    return "\n".join([*workers, *nodes]) or "(empty)"
