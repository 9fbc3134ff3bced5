"""Rules of cycles in an infinite run: one ends and the run is asleep, the next one begins."""

from agiraph.board import commands as c
from agiraph.board import events as e
from agiraph.board.board import Board
from agiraph.board.events import BoardEvent
from agiraph.board.run_rules import require_running
from agiraph.core.errors import IllegalTransition


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
