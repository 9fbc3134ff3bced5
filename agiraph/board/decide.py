"""decide: the events of a command, or the reason why it is refused.

Refusals name the problem and the possible values: IllegalTransition if the state forbids the
command, InvalidInput if a name or value is wrong. A command that has had its effect returns ().
"""

from typing import assert_never

from agiraph.board import commands as c
from agiraph.board.board import Board
from agiraph.board.events import BoardEvent
from agiraph.board.rules import (
    flow,
    launches,
    moves,
    nodes,
    retries,
    runs,
    stages,
    updates,
    workers,
)


def decide(board: Board, command: c.Command, now: float) -> tuple[BoardEvent, ...]:
    """Return the events of a command at `now`. Raises IllegalTransition, InvalidInput."""
    match command:
        case c.StartRun():
            return runs.start(board, command, now)
        case c.FinishRun() | c.StopRun():
            return runs.end(board, command, now)
        case c.Reconvene():
            return stages.reconvene(board, command, now)
        case c.LaunchRoles():
            return launches.launch(board, command, now)
        case c.LaunchStage():
            return stages.begin_wait(board, now)
        case c.EndStageEarly():
            return stages.end_early(board, command, now)
        case c.CreateNode():
            return nodes.create(board, command, now)
        case c.ReserveNode():
            return nodes.reserve(board, command, now)
        case c.UpdateNode():
            return updates.update(board, command, now)
        case c.AssignNode():
            return nodes.assign(board, command, now)
        case c.StartNode():
            return nodes.start(board, command, now)
        case c.BlockNode():
            return nodes.block(board, command, now)
        case c.UnblockNode():
            return nodes.unblock(board, command, now)
        case c.NoteDeadlock():
            return nodes.note_deadlock(board, command, now)
        case c.NoteStandstill():
            return runs.note_standstill(board, command, now)
        case c.CompleteNode():
            return nodes.complete(board, command, now)
        case c.FailNode():
            return nodes.fail(board, command, now)
        case c.CancelNode():
            return nodes.cancel(board, command, now)
        case c.RetryNode():
            return retries.retry(board, command, now)
        case c.RetryFailedNode():
            return retries.do_again(board, command, now)
        case c.DecideNode():
            return flow.decide_node(board, command, now)
        case c.MoveNode():
            return moves.move(board, command, now)
        case c.ReleaseNode():
            return moves.release(board, command, now)
        case c.SpawnWorker():
            return workers.spawn(board, command, now)
        case c.RetireWorker():
            return workers.retire(board, command, now)
        case c.LoseWorker():
            return workers.lose(board, command, now)
        case c.EndCycle() | c.StartCycle():
            return runs.cycle(board, command, now)
        case _:
            assert_never(command)
