"""BoardNotifications: events of the board as messages to the coordinator's model.

They are computed from the board and the conversation, so no crash loses a notification.
"""

from collections.abc import Collection, Sequence

from actors.coordinator.board_service import BoardService
from actors.coordinator.context import CoordinatorContext
from agiraph.agent.records import InputReceived
from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.board.progress import MOST_NOTICES, lines_of
from agiraph.board.rules.stages import over_in_words
from agiraph.board.rules.sub_nodes import is_coordinators, open_below
from agiraph.board.view import node_row, suggestion
from agiraph.core.ids import NodeId
from agiraph.core.models import Standstill, WorkNode
from agiraph.core.naming import cut_at_sentence

SHOWN_CHARACTERS = 1500

BOARD_NAME = "board"


class BoardNotifications:
    """The events of the board that the model has not seen yet.

    The first of them follows the last event that the conversation contains.
    """

    def __init__(self, board_service: BoardService, context: CoordinatorContext) -> None:
        self._board_service = board_service
        self._context = context
        # A board whose journal lost its end has fewer events than the conversation refers to.
        self._noticed = min(context.transcript.board_seq, board_service.store.count)
        board, fresh = board_service.board, board_service.store.since(self._noticed)
        known = sum(isinstance(event, e.DeadlockFound) for event in fresh)
        self._noticed_deadlocks = len(board.deadlocks) - known
        has_found = any(isinstance(event, e.StandstillFound) for event in fresh)
        self._noticed_standstill = None if has_found else board.standstill

    def take(self) -> list[InputReceived]:
        """Return all notifications as one turn, and mark them as seen."""
        lines = self._lines()
        covers = tuple(node for _, node, _ in lines if node)
        self._noticed = self._board_service.store.count
        self._noticed_deadlocks = len(self._board_service.board.deadlocks)
        self._noticed_standstill = self._board_service.board.standstill
        self._board_service.store.forget(self._noticed)
        if not lines:
            return []
        triggers = {trigger for _, _, trigger in lines}
        return [
            InputReceived(
                content="\n".join(line for line, _, _ in lines),
                from_name=BOARD_NAME,
                ts=self._context.now(),
                board_seq=self._noticed,
                covers=covers,
                trigger=(triggers.pop() or None) if len(triggers) == 1 else None,
            )
        ]

    def has_news(self) -> bool:
        """Whether there are notifications."""
        return bool(self._lines())

    def has_alarm(self) -> bool:
        """Whether there is a deadlock or a standstill that the model has not seen yet."""
        board = self._board_service.board
        found = board.standstill
        is_notice = found is not None and not found.for_human
        is_new = is_notice and found != self._noticed_standstill
        return is_new or len(board.deadlocks) > self._noticed_deadlocks

    def _lines(self) -> list[tuple[str, NodeId | None, str]]:
        """Return the line of each event, the node that ended, and the trigger that caused it.

        Without a trigger it is ''.
        """
        board, covered = self._board_service.board, self._context.transcript.covered
        fresh = _without_retried(self._board_service.store.since(self._noticed))
        lines = [(event, notice(board, event, covered)) for event in fresh]
        return [(line, _ended(event), self._trigger_of(event)) for event, line in lines if line]

    def _trigger_of(self, event: e.BoardEvent) -> str:
        node = self._board_service.board.nodes.get(getattr(event, "node_id", NodeId("")))
        return node.trigger if node is not None else ""


def _ended(event: e.BoardEvent) -> NodeId | None:
    return event.node_id if isinstance(event, e.NodeCompleted | e.NodeFailed) else None


def _without_retried(events: Sequence[e.BoardEvent]) -> list[e.BoardEvent]:
    """Return the events without the failures after which the board tried the node again."""
    kept: list[e.BoardEvent] = []
    retried: set[NodeId] = set()
    for event in reversed(events):
        if isinstance(event, e.NodeRetried) and event.not_before is not None:
            retried.add(event.node_id)
        elif isinstance(event, e.NodeFailed) and event.node_id in retried:
            retried.discard(event.node_id)
            continue
        kept.append(event)
    return kept[::-1]


def notice(board: Board, event: e.BoardEvent, covered: Collection[NodeId]) -> str | None:
    """Return the line for an event, None if the model need not react or knows of the event."""
    match event:
        case e.NodeCompleted(node_id=node_id) if _is_news(board, node_id, covered):
            node = board.nodes[node_id]
            files = ", ".join(f"nodes/{node.folder}/published/{file}" for file in event.files)
            worker = node_row(board, node)["worker"]
            summary = cut_at_sentence(event.summary, SHOWN_CHARACTERS)
            if len(summary) < len(event.summary):
                summary += f" [cut; the whole summary is in nodes/{node.folder}/_status.md]"
            done = "completed" if not event.missing else "completed, in part,"
            return (
                f"[Board]: {worker} {done} node '{node.name}': {summary}\nPublished: {files}"
                + _offered(event.insight)
                + _left_over(board, node)
                + _how_to_go_on(node)
            )
        case e.NodeFailed(node_id=node_id) if _is_news(board, node_id, covered):
            node = board.nodes[node_id]
            return f"[Board]: node '{node.name}' failed: {event.reason}" + _how_to_go_on(node)
        case e.WorkerStopped(worker_id=worker_id) if event.reason != "retired":
            return f"[Board]: worker '{board.workers[worker_id].name}' is gone: {event.reason}"
        case e.DeadlockFound():
            return _deadlock(board, event)
        case e.StandstillFound(standstill=found) if not found.for_human:
            return _standstill(found)
        case e.StageMet():
            return _over(board, event)
        case _:
            return None


def _is_news(board: Board, node_id: NodeId, covered: Collection[NodeId]) -> bool:
    """Whether a node is the coordinator's own, and the model does not know of its end."""
    node = board.nodes[node_id]
    return (node_id not in covered or bool(node.retried_by)) and is_coordinators(board, node)


def _deadlock(board: Board, event: e.DeadlockFound) -> str:
    cycle = " -> ".join(board.nodes[node].name for node in (*event.cycle, event.cycle[0]))
    if event.is_refused:
        return (
            f"[Board]: a wait that would have closed a cycle was refused ({cycle}): {event.text}. "
            "Its worker was notified and continues; help it if it writes to you."
        )
    return (
        f"[Board]: deadlock: {cycle}. None of these nodes can continue: {event.text}. Break it: "
        "`cancel_node` one of them and create it again without that wait, give a node that is kept "
        "for a busy worker to another worker with `assign_worker`, or write to a waiting worker "
        "(a message ends its wait)."
    )


def _standstill(found: Standstill) -> str:
    lines = "\n".join(f"- {line}" for line in lines_of(found))
    return (
        f"[Board]: the run stands still: nothing in it can happen by itself any more.\n{lines}\n"
        "Act now: `send_message` to an entity that waits for a message (plain text reaches only "
        "the human); `cancel_node`, and create the node again without that wait; "
        "give a node to another worker with `assign_worker`; ask the human with `ask_human`; or "
        f"`finish`. This is notice {found.notices} of {MOST_NOTICES}: if nothing changes after the "
        "last one, the run fails."
    )


def _left_over(board: Board, node: WorkNode) -> str:
    """Return the line on the sub-nodes that a completed node leaves to the coordinator."""
    left = ", ".join(f"{child.name} ({child.status})" for child in open_below(board, node))
    return f"\nIts sub-nodes that have not ended are yours now: {left}" if left else ""


def _offered(insight: str) -> str:
    """Return the line on an insight that a completed node offers to the long-term memory."""
    if not insight:
        return ""
    return (
        f"\nInsight: {insight}\nIf it will be useful after this run, write it into your memory "
        "with `memory_write`, with the name of the worker."
    )


def _how_to_go_on(node: WorkNode) -> str:
    """Return a line that suggests how to continue after a node that ended early."""
    text = suggestion(node)
    return f"\nSuggestion: {text}" if text else ""


def _over(board: Board, event: e.StageMet) -> str:
    """Return the text for a stage that ended early, with the names of its stragglers."""
    stage = board.stages[event.stage]
    why = over_in_words(event.why, stage.contract)
    names = ", ".join(board.nodes[node].name for node in event.stragglers)
    without = f"cancelled, their files stay in scratch/: {names}" if names else "none left"
    return (
        f"[Board]: stage '{stage.name}' is over: {why}. "
        f"Completed: {event.completed} of {event.of}; {without}. "
        "Read the published files and `reconvene`."
    )
