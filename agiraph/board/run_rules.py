"""Rules of a run (start, finish, stop), and of the cycles of an infinite one."""

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board, RunFacts
from agiraph.board.events import BoardEvent
from agiraph.core.errors import IllegalTransition, InvalidInput


def require_running(board: Board) -> RunFacts:
    """Return the run's facts; IllegalTransition if it has not begun or has ended."""
    if board.run is None:
        raise IllegalTransition("no run has been started on this board")
    if board.run.status != "running":
        raise IllegalTransition(f"run {board.run.id} has ended: it is {board.run.status}")
    return board.run


def start(board: Board, command: c.StartRun, now: float) -> tuple[BoardEvent, ...]:
    """Begin the run; a board holds one."""
    if board.run is not None:
        if board.run.id == command.run_id:
            return ()
        raise IllegalTransition(f"this board belongs to run {board.run.id}")
    for bound in ("max_nodes", "max_workers", "max_depth"):
        if getattr(command, bound) < 1:
            raise InvalidInput(f"{bound} must be at least 1, not {getattr(command, bound)}")
    return (e.RunStarted(ts=now, **dict(command)),)


def finish(board: Board, command: c.FinishRun, now: float) -> tuple[BoardEvent, ...]:
    """End the run with its result; nodes that have not ended are cancelled."""
    if board.run is not None and board.run.status == "completed":
        return ()
    require_running(board)
    cancelled = _cancel_unfinished(board, "the run was finished", now)
    return (*cancelled, e.RunFinished(ts=now, summary=command.summary))


def stop(board: Board, command: c.StopRun, now: float) -> tuple[BoardEvent, ...]:
    """End the run without its result; nodes that have not ended are cancelled."""
    if board.run is not None and board.run.status == command.status:
        return ()
    require_running(board)
    cancelled = _cancel_unfinished(board, command.reason or "the run was stopped", now)
    return (*cancelled, e.RunStopped(ts=now, status=command.status, reason=command.reason))


def _cancel_unfinished(board: Board, reason: str, now: float) -> tuple[BoardEvent, ...]:
    unfinished = (node for node in board.nodes.values() if not node.has_ended)
    return tuple(e.NodeCancelled(ts=now, node_id=node.id, reason=reason) for node in unfinished)


def end_cycle(board: Board, command: c.EndCycle, now: float) -> tuple[BoardEvent, ...]:
    """Let the run sleep; the same cause ends a cycle once."""
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
    """Begin the cycle after the one that `cause` ended, once."""
    run = require_running(board)
    if not run.is_asleep or run.cycle_cause != command.cause:
        return ()
    return (e.CycleStarted(ts=now, cycle=run.cycle + 1),)
