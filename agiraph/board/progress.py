"""Progress: whether anything can still happen in a run by itself, and the reaction; pure.

A run makes progress while a model call or a tool is in flight, a process starts, a timer or a
trigger is due, a node waits for its next attempt or for its move, a message is on its way, or the
person is asked. Otherwise every entity waits for another one, and the run is at a standstill:
nothing changes until its coordinator acts. The coordinator receives up to `MOST_NOTICES` notices.
If the board has not changed after the last of them, the run fails. A run without a model that could
act on a notice (an Agentic Team, a model that only writes) is continued by the board itself: waits
for a message end, and nodes that cannot start fail.

The board knows which nodes are open and what each waits for. `WorkerState` has the facts about a
worker that the board does not know: its process, its unread messages, and whether the person holds
it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from agiraph.board.board import Board
from agiraph.board.commands import Command, FailNode, NoteStandstill, StopRun, UnblockNode
from agiraph.board.deadlock import find_deadlocks
from agiraph.board.wait_cycles import awaited_by
from agiraph.core.clock import iso
from agiraph.core.ids import COORDINATOR_NAME, NodeId, WorkerId
from agiraph.core.models import Standstill, WaitingEntity, Worker, WorkNode

MOST_NOTICES: Final = 2
MOST_LINES: Final = 20
FOR_MESSAGE: Final = "for a message"

ProcessState = Literal["at_work", "waiting", "parked", "stopped", "ended", "without_machine"]


@dataclass(frozen=True, slots=True)
class WorkerState:
    """The facts about a worker that the board does not know.

    `process`: `at_work` starts or does something, `waiting` only waits, `stopped` was stopped by
    the person, `ended` will not be started again, `without_machine` cannot be started for lack of a
    machine. `is_held`: it is paused, or has asked the person. `has_mail`: an unread message is on
    its way to it.
    """

    process: ProcessState = "at_work"
    is_held: bool = False
    has_mail: bool = False


@dataclass(frozen=True, slots=True)
class CoordinatorState:
    """The wait of an idle coordinator, and since when; `asks_human`: it waits for the person."""

    waits: str
    since: float
    asks_human: bool = False


def find_standstill(
    board: Board,
    workers: Mapping[WorkerId, WorkerState],
    coordinator: CoordinatorState,
    next_due: float | None,
) -> Standstill | None:
    """Return the waits of all entities if nothing can happen by itself; None if something can.

    `next_due` is when the next timer or trigger of the run is due. A run without open nodes is not
    at a standstill: its coordinator is asked to finish it.
    """
    if not board.is_running or next_due is not None or (board.run and board.run.is_asleep):
        return None
    waiting: list[WaitingEntity] = []
    for node in board.nodes.values():
        if node.has_ended:
            continue
        if (line := _wait_of(board, node, workers)) is None:
            return None
        waiting.append(line)
    if not waiting:
        return None
    lead = WaitingEntity(
        entity=COORDINATOR_NAME, node="", waits=coordinator.waits, since=coordinator.since
    )
    since = max(one.since for one in (*waiting, lead))
    for_human = coordinator.asks_human
    return Standstill(since=since, waiting=(*waiting, lead), for_human=for_human)


def _wait_of(
    board: Board, node: WorkNode, workers: Mapping[WorkerId, WorkerState]
) -> WaitingEntity | None:
    """Return the wait of an open node; None if it can continue by itself."""
    if node.status == "pending":
        return _wait_of_pending(board, node)
    if node.assigned_worker is None:
        return None
    state = workers.get(node.assigned_worker, WorkerState())
    if state.process in ("at_work", "stopped") or state.is_held:
        return None
    if (waits := _WITHOUT_PROCESS.get(state.process)) is not None:
        return _line(board, node, waits)  # also with mail, such as its assignment: it reads none
    if state.has_mail:
        return None
    if node.move is not None and state.process == "waiting":
        return None
    if node.status != "blocked":
        return _line(board, node, FOR_MESSAGE)
    wait = board.waits[node.id]
    left = [one for one in wait.waits_for if not board.nodes[one].has_ended]
    if wait.is_timer or (wait.waits_for and not left):
        return None
    waits = f"for {_names(board, left)}" if left else FOR_MESSAGE
    return _line(board, node, waits).model_copy(update={"since": wait.ts})


_WITHOUT_PROCESS: Final[Mapping[ProcessState, str]] = {
    "ended": "for its process, which has ended",
    "without_machine": "for a machine on which its process can start",
}


def _wait_of_pending(board: Board, node: WorkNode) -> WaitingEntity:
    """Return the wait of a pending node."""
    if needed := _names(board, [one.id for one in board.waiting_for(node)]):
        return _line(board, node, f"for {needed}")
    if node.wanted_worker is not None:
        wanted = board.workers[node.wanted_worker]
        held = f", which has node '{board.nodes[wanted.node].name}'" if wanted.node else ""
        return _line(board, node, f"for {wanted.name}{held}")
    return _line(board, node, "for a free worker")


def _line(board: Board, node: WorkNode, waits: str) -> WaitingEntity:
    times = board.times[node.id]
    return WaitingEntity(
        entity=_worker_of(board, node).name if node.assigned_worker else "",
        node=node.name,
        waits=waits,
        since=times.started or times.assigned or times.created,
    )


def _worker_of(board: Board, node: WorkNode) -> Worker:
    assert node.assigned_worker is not None
    return board.workers[node.assigned_worker]


def _names(board: Board, nodes: Iterable[NodeId]) -> str:
    return ", ".join(f"'{board.nodes[one].name}'" for one in nodes)


# --- reactions ------------------------------------------------------------------------------------


def commands_after(board: Board, found: Standstill, *, is_led: bool) -> tuple[Command, ...]:
    """Return the commands that react to a standstill; () if only the person can act and knows.

    `is_led`: a model leads the run and can act on a notice.
    """
    before = board.standstill
    if found.for_human:
        is_noted = before is not None and before.for_human
        return () if is_noted else (NoteStandstill(found),)
    if not is_led:
        return _by_the_board(board)
    notices = before.notices if before is not None and not before.for_human else 0
    if notices < MOST_NOTICES:
        since = before.since if before is not None and notices else found.since
        noted = found.model_copy(update={"notices": notices + 1, "since": since})
        return (NoteStandstill(noted),)
    return (StopRun("failed", _reason(board, found)),)


def _by_the_board(board: Board) -> tuple[Command, ...]:
    """Return the commands by which the board continues a run that no model leads."""
    waits = [node for node in board.nodes.values() if _waits_for_message(board, node)]
    if waits:
        return tuple(UnblockNode(node.id) for node in waits)
    open_nodes = [node for node in board.nodes.values() if not node.has_ended]
    pending = [node for node in open_nodes if node.status == "pending"]
    why = "the run stood still: nothing else in it could continue, and this node could not either"
    return tuple(FailNode(node.id, None, why) for node in pending or open_nodes)


def _waits_for_message(board: Board, node: WorkNode) -> bool:
    return node.status == "blocked" and not awaited_by(board, node.id)


def _reason(board: Board, found: Standstill) -> str:
    """Return the reason of the failure of a run at a standstill; deadlocks are named first."""
    cycles = "".join(f"deadlock: {cycle.text}; " for cycle in find_deadlocks(board))
    what = f"the coordinator changed nothing after {MOST_NOTICES} notices"
    return f"{cycles}the run stood still, and {what}: {'; '.join(lines_of(found))}"


def lines_of(found: Standstill) -> list[str]:
    """Return one line per waiting entity: its name, its wait, and since when.

    At most MOST_LINES.
    """
    lines = [f"{_who(one)} waits {one.waits} since {iso(one.since)}" for one in found.waiting]
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[: MOST_LINES - 1], f"and {len(lines) - MOST_LINES + 1} more", lines[-1]]


def shown_standstill(found: Standstill) -> str:
    """Return one line of text that names the first MOST_LINES waiting entities and their waits."""
    told = "; ".join(f"{_who(one)} waits {one.waits}" for one in found.waiting[:MOST_LINES])
    return f"notice {found.notices} of {MOST_NOTICES}: {told}" if found.notices else told


def _who(one: WaitingEntity) -> str:
    if not one.entity:
        return f"node '{one.node}', which no worker has,"
    return f"{one.entity} (node '{one.node}')" if one.node else one.entity
