"""Members: the worker behind an address, according to the records of a home.

The router guarantees only the sender's address. A service that needs facts about a worker, which
may run on another machine, finds them here: the agent's record names the current run, and the
board's journal has the run's workers and the nodes that they hold. No claim of the sender is used.
"""

from dataclasses import dataclass
from pathlib import Path

from agiraph.board.board import Board
from agiraph.board.store import fold_events, read_events
from agiraph.core.errors import OutOfScope
from agiraph.core.ids import WorkerId, agent_of, is_plain_name
from agiraph.core.models import HELD_NODE, Agent, Worker, WorkNode
from agiraph.storage.files import read_bytes
from agiraph.storage.home import Home, RunHome
from agiraph.storage.journal import JournalPosition, read_on


class BoardCache:
    """Board cache for runs; applies only new journal records. Usable by any thread."""

    def __init__(self) -> None:
        self._folded: dict[Path, tuple[JournalPosition | None, Board]] = {}

    def of(self, run: RunHome) -> Board:
        """Return the board of a run, empty before its journal exists.

        Raises OSError, Corrupt.
        """
        at, board = self._folded.get(run.path, (None, Board()))
        try:
            found = read_on(run.journal, at)
        except FileNotFoundError:
            return Board()
        happened = read_events(found.records, run.journal)
        board = fold_events(happened, run.journal, Board() if found.are_all else board)
        self._folded[run.path] = (found.at, board)
        return board


@dataclass(frozen=True, slots=True)
class Member:
    """A worker of its agent's current run; `node` is the node that it holds now, if any."""

    agent: Agent
    run: RunHome
    board: Board
    worker: Worker
    node: WorkNode | None


def member_at(sender: str, home: Home, boards: BoardCache) -> Member:
    """Return the worker with this address.

    Raises OutOfScope if its agent's current run has none.
    """
    agent, worker = agent_of(sender), WorkerId(sender.partition("/")[2])
    if agent is None or not (is_plain_name(agent) and is_plain_name(worker)):
        raise OutOfScope(f"{sender} is no worker")
    file = home.agent(agent).record
    try:
        record = Agent.model_validate_json(read_bytes(file))
    except FileNotFoundError:
        raise OutOfScope(f"{sender} is a worker of no agent of this home") from None
    run = home.agent(agent).run(record.run or "")
    board = boards.of(run) if record.run else Board()
    if worker not in board.workers:
        raise OutOfScope(f"{sender} is no worker of the run '{record.run}'")
    nodes = (node for node in board.nodes.values() if node.assigned_worker == worker)
    held = next((node for node in nodes if node.status in HELD_NODE), None)
    return Member(record, run, board, board.workers[worker], held)
