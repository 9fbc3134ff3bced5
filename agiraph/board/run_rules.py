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


def end(board: Board, command: c.FinishRun | c.StopRun, now: float) -> tuple[BoardEvent, ...]:
    """End the run, with its result or without; nodes that have not ended are cancelled."""
    if isinstance(command, c.FinishRun):
        status, why = "completed", "the run was finished"
        ended: BoardEvent = e.RunFinished(ts=now, summary=command.summary)
    else:
        status, why = command.status, command.reason or "the run was stopped"
        ended = e.RunStopped(ts=now, status=command.status, reason=command.reason)
    if board.run is not None and board.run.status == status:
        return ()
    require_running(board)
    unfinished = (node for node in board.nodes.values() if not node.has_ended)
    cancelled = (e.NodeCancelled(ts=now, node_id=node.id, reason=why) for node in unfinished)
    return (*cancelled, ended)


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
