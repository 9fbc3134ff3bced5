"""The board and the workers of an agent's current run, folded from the coordinator's journal."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from agiraph.board.board import Board, NodeTimes, RunFacts
from agiraph.board.events import BoardEvent
from agiraph.board.failure_class import class_of
from agiraph.board.store import fold_events, read_events
from agiraph.core.errors import Corrupt
from agiraph.core.ids import AgentId, NodeId, worker_address
from agiraph.core.models import Worker, WorkNode
from agiraph.http.api import ApiError, BoardView, NodeDetailView, NodeView, StageView, WorkerView
from agiraph.storage.files import entries, status_of
from agiraph.storage.home import RunHome
from agiraph.storage.journal import JournalPosition, read_journal, read_on
from agiraph.storage.walk import UnsafeFile

PREVIEW = 200
NO_STAGE = -1


class FoldedJournal(NamedTuple):
    """The board of a journal of `size` bytes, its number of events, the position after them."""

    size: int
    board: Board
    seq: int
    at: JournalPosition | None


class BoardReader:
    """Board cache; applies only the new records of a journal that has grown."""

    def __init__(self) -> None:
        self._folded: dict[Path, FoldedJournal] = {}
        self._facts: dict[Path, tuple[int, RunFacts | None]] = {}

    def get(self, run: RunHome | None) -> Board:
        """Return the board of a run, an empty board before its first event."""
        return self.with_seq(run)[0]

    def with_seq(self, run: RunHome | None) -> tuple[Board, int]:
        """Return the board of a run and the number of its events."""
        if run is None:
            return Board(), 0
        journal = Path(run.journal)
        try:
            status = status_of(journal)
        except UnsafeFile as error:
            raise Corrupt(str(error)) from error
        if status is None:
            return Board(), 0
        known = self._folded.get(journal)
        if known is None or known.size != status.st_size:
            known = self._folded[journal] = _folded_on(journal, status.st_size, known)
        return known.board, known.seq

    def facts(self, run: RunHome) -> RunFacts | None:
        """Return the facts of a run, None before it has begun; also for use in threads.

        Only the facts are kept for a run whose board is not shown.
        """
        journal = Path(run.journal)
        status = status_of(journal)
        if status is None:
            return None
        known = self._facts.get(journal)
        if known is None or known[0] != status.st_size:
            known = (status.st_size, _folded_on(journal, status.st_size, None).board.run)
            self._facts[journal] = known
        return known[1]

    def view(self, run: RunHome | None) -> BoardView:
        """Return the board of a run as the API shows it."""
        return board_view(*self.with_seq(run))

    def at(self, run: RunHome | None, seq: int) -> Board:
        """Return the board after its first `seq` events. Raises ApiError 404 if it has fewer."""
        now, last = self.with_seq(run)
        if seq == last or run is None:
            return now
        if seq > last:
            raise ApiError(404, f"the board is at {last}, there is no {seq} yet")
        happened = _events(run.journal)
        return fold_events(happened[:seq], run.journal)


def _folded_on(journal: Path, size: int, known: FoldedJournal | None) -> FoldedJournal:
    """Return the board of a journal that now has `size` bytes, from the `known` earlier one."""
    try:
        read = read_on(journal, known.at if known else None)
    except FileNotFoundError:
        return FoldedJournal(0, Board(), 0, None)
    except UnsafeFile as error:
        raise Corrupt(str(error)) from error
    happened = read_events(read.records, journal)
    if known is None or read.are_all:
        return FoldedJournal(size, fold_events(happened, journal), len(happened), read.at)
    board = fold_events(happened, journal, known.board)
    return FoldedJournal(size, board, known.seq + len(happened), read.at)


def _events(journal: Path) -> list[BoardEvent]:
    try:
        return read_events(read_journal(journal), journal)
    except UnsafeFile as error:
        raise Corrupt(str(error)) from error


def board_view(board: Board, seq: int) -> BoardView:
    """Return a board as the API shows it."""
    return BoardView(
        seq=seq,
        run=board.run.id if board.run else None,
        nodes=tuple(node_view(board, node) for node in board.nodes.values()),
        stages=tuple(
            StageView(
                name=stage.name,
                nodes=tuple(board.nodes[node].name for node in stage.nodes),
                status=stage.status,
                assessment=stage.assessment,
            )
            for stage in board.stages
        ),
        current_stage=len(board.stages) - 1 if board.stages else NO_STAGE,
    )


def node_view(board: Board, node: WorkNode) -> NodeView:
    """Return one node as the API shows it, with the names of other nodes and its worker."""
    times = board.times.get(node.id) or NodeTimes(created=0.0)
    holder = node.assigned_worker
    result = node.summary or node.reason
    each = node.for_each
    shown = {
        "assigned_worker": board.workers[holder].name if holder else None,
        "dependencies": tuple(board.nodes[other].name for other in node.dependencies),
        "parent_node": board.nodes[node.parent_node].name if node.parent_node else None,
        "children": tuple(board.nodes[other].name for other in node.children),
        "result_preview": result[:PREVIEW] if result else None,
        "failure_class": class_of(node.status, node.reason),
        "created_at": times.created,
        "started_at": times.started,
        "ended_at": times.ended,
        "when": {board.nodes[other].name: text for other, text in node.when.items()},
        "for_each": each and each.model_copy(update={"node": board.nodes[NodeId(each.node)].name}),
        "copy_of": board.nodes[node.copy_of].name if node.copy_of else None,
    }
    return NodeView.model_validate({**dict(node), **shown})


def node_detail(board: Board, node: WorkNode, earlier: Sequence[int] = ()) -> NodeDetailView:
    """Return one node with its references and the path of its files.

    `earlier` are its attempts whose published files were set aside.
    """
    facts = node_view(board, node).model_dump()
    more = {"path": f"nodes/{node.folder}", "earlier_attempts": earlier}
    return NodeDetailView.model_validate({**dict(node), **facts, **more})


def earlier_attempts(run: RunHome, node: WorkNode) -> tuple[int, ...]:
    """Return the attempts of a node whose published files were set aside, the first one first."""
    if not node.completed_before:
        return ()
    try:
        names = [one.name for one in entries(run.node(node.folder).attempts)]
    except OSError:
        return ()
    return tuple(sorted(int(name) for name in names if name.isascii() and name.isdigit()))


def worker_view(
    board: Board, agent: AgentId, worker: Worker, status: str, **shown: object
) -> WorkerView:
    """Return one worker; `shown` are the fields of the view that the board does not have."""
    known = {
        "node": board.nodes[worker.node].name if worker.node else None,
        "node_id": worker.node,
        "address": worker_address(agent, worker.id),
        "status": status,
    }
    return WorkerView.model_validate({**dict(worker), **known, **shown})
