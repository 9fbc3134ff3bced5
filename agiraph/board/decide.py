"""decide: which events a command leads to, or why it is refused.

Refusals name what was wrong and what was possible: IllegalTransition if the state forbids it,
InvalidInput if a name or value is wrong. A command that has had its effect already leads to ().
"""

from typing import assert_never

from agiraph.board import commands as c
from agiraph.board import (
    flow_rules,
    launch_rules,
    move_rules,
    node_rules,
    retry_rules,
    run_rules,
    stage_rules,
    worker_rules,
)
from agiraph.board.board import Board
from agiraph.board.events import BoardEvent


def decide(board: Board, command: c.Command, now: float) -> tuple[BoardEvent, ...]:
    """Return what happens if `command` is carried out at `now`; IllegalTransition, InvalidInput."""
    match command:
        case c.StartRun():
            return run_rules.start(board, command, now)
        case c.FinishRun() | c.StopRun():
            return run_rules.end(board, command, now)
        case c.Reconvene():
            return stage_rules.reconvene(board, command, now)
        case c.LaunchRoles():
            return launch_rules.launch(board, command, now)
        case c.LaunchStage():
            return stage_rules.begin_wait(board, now)
        case c.EndStageEarly():
            return stage_rules.end_early(board, command, now)
        case c.CreateNode():
            return node_rules.create(board, command, now)
        case c.ReserveNode():
            return node_rules.reserve(board, command, now)
        case c.AssignNode():
            return node_rules.assign(board, command, now)
        case c.StartNode():
            return node_rules.start(board, command, now)
        case c.BlockNode():
            return node_rules.block(board, command, now)
        case c.UnblockNode():
            return node_rules.unblock(board, command, now)
        case c.NoteDeadlock():
            return node_rules.note_deadlock(board, command, now)
        case c.NoteStandstill():
            return run_rules.note_standstill(board, command, now)
        case c.CompleteNode():
            return node_rules.complete(board, command, now)
        case c.FailNode():
            return node_rules.fail(board, command, now)
        case c.CancelNode():
            return node_rules.cancel(board, command, now)
        case c.RetryNode():
            return retry_rules.retry(board, command, now)
        case c.DoAgain():
            return retry_rules.do_again(board, command, now)
        case c.DecideNode():
            return flow_rules.decide_node(board, command, now)
        case c.MoveNode():
            return move_rules.move(board, command, now)
        case c.ReleaseNode():
            return move_rules.release(board, command, now)
        case c.SpawnWorker():
            return worker_rules.spawn(board, command, now)
        case c.RetireWorker():
            return worker_rules.retire(board, command, now)
        case c.LoseWorker():
            return worker_rules.lose(board, command, now)
        case c.EndCycle():
            return run_rules.end_cycle(board, command, now)
        case c.StartCycle():
            return run_rules.start_cycle(board, command, now)
        case _:
            assert_never(command)
