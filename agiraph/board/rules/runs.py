"""Rules of a run (start, finish, stop), and of the cycles of an infinite run."""

from dataclasses import asdict

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board, RunFacts
from agiraph.board.events import BoardEvent
from agiraph.board.rules.plans import (
    given_up_of_plan,
    incomplete_of_plan,
    named,
    named_with_reason,
    open_of_plan,
)
from agiraph.core.errors import IllegalTransition, InvalidInput
from agiraph.core.models import WorkNode


def require_running(board: Board) -> RunFacts:
    """Return the run's facts. Raises IllegalTransition if it has not begun or has ended."""
    if board.run is None:
        raise IllegalTransition("no run has been started on this board")
    if board.run.status != "running":
        raise IllegalTransition(f"run {board.run.id} has ended: it is {board.run.status}")
    return board.run


def start(board: Board, command: c.StartRun, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that begin the run; () if it has begun.

    Raises IllegalTransition for another run.
    """
    if board.run is not None:
        if board.run.id == command.run_id:
            return ()
        raise IllegalTransition(f"this board belongs to run {board.run.id}")
    for bound in ("max_nodes", "max_workers", "max_depth"):
        if getattr(command, bound) < 1:
            raise InvalidInput(f"{bound} must be at least 1, not {getattr(command, bound)}")
    return (e.RunStarted(ts=now, **dict(command)),)


def end(board: Board, command: c.FinishRun | c.StopRun, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that end the run, with or without result, and cancel its open nodes.

    Raises IllegalTransition if the run cannot be finished because nodes of its plan have not ended.
    If the coordinator abandoned required nodes of the plan, the run has failed instead of finished.
    """
    if _is_done(board, command):
        return ()
    require_running(board)
    if isinstance(command, c.FinishRun):
        ended, why = _finished(board, command, now), "the run was finished"
    else:
        ended = e.RunStopped(ts=now, **asdict(command))
        why = command.reason or "the run was stopped"
    unfinished = (node for node in board.nodes.values() if not node.has_ended)
    cancelled = (e.NodeCancelled(ts=now, node_id=node.id, reason=why) for node in unfinished)
    return (*cancelled, ended)


def _is_done(board: Board, command: c.FinishRun | c.StopRun) -> bool:
    """Whether the run has already ended as the command asks.

    FinishRun may have ended the run as failed; the same summary identifies that.
    """
    if board.run is None:
        return False
    if isinstance(command, c.StopRun):
        return board.run.status == command.status
    has_failed = board.run.status == "failed" and board.run.summary == command.summary
    return board.run.status == "completed" or has_failed


def _finished(board: Board, command: c.FinishRun, now: float) -> e.RunFinished | e.RunStopped:
    if open_nodes := open_of_plan(board):
        has = "has" if len(open_nodes) == 1 else "have"
        raise IllegalTransition(
            f"the plan is not carried out: {named(open_nodes)} {has} not ended (possible: `wait`, "
            "or give a node up by `cancel_node` with a reason)"
        )
    if given_up := given_up_of_plan(board):
        why = f"the coordinator gave up nodes of the plan: {named_with_reason(given_up)}"
        return e.RunStopped(ts=now, status="failed", reason=why, summary=command.summary)
    missing = (node.name for node in incomplete_of_plan(board))
    incomplete = (*missing, *command.never_opened)
    return e.RunFinished(ts=now, summary=command.summary, incomplete=incomplete)


def cancelled_at_end(board: Board) -> tuple[WorkNode, ...]:
    """Return the nodes that were cancelled because the run ended."""
    if board.run is None or board.run.ended_at is None:
        return ()
    return tuple(
        node
        for node in board.nodes.values()
        if node.status == "cancelled" and board.times[node.id].ended == board.run.ended_at
    )


def note_standstill(board: Board, command: c.NoteStandstill, now: float) -> tuple[BoardEvent, ...]:
    """Return the event that nothing can happen by itself; () if the run has ended."""
    if not board.is_running:
        return ()
    return (e.StandstillFound(ts=now, standstill=command.standstill),)


def cycle(board: Board, command: c.EndCycle | c.StartCycle, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that end the current cycle, or start the next one."""
    if isinstance(command, c.EndCycle):
        return end_cycle(board, command, now)
    return start_cycle(board, command, now)


def end_cycle(board: Board, command: c.EndCycle, now: float) -> tuple[BoardEvent, ...]:
    """Return the events that end a cycle; () if `cause` has ended one."""
    run = require_running(board)
    if run.mode != "infinite":
        raise IllegalTransition(f"run {run.id} is finite: it has no cycles")
    if run.cycle_cause == command.cause:
        return ()
    if run.is_asleep:
        raise IllegalTransition(f"cycle {run.cycle} of run {run.id} has ended already")
    return (
        e.CycleEnded(
            ts=now,
            cycle=run.cycle,
            cause=command.cause,
            notes=command.notes,
            next_at=command.next_at,
            turns=command.turns,
        ),
    )


def start_cycle(board: Board, command: c.StartCycle, now: float) -> tuple[BoardEvent, ...]:
    """Return the event that begins the cycle after the one that `cause` ended, once."""
    run = require_running(board)
    if not run.is_asleep or run.cycle_cause != command.cause:
        return ()
    return (e.CycleStarted(ts=now, cycle=run.cycle + 1),)
