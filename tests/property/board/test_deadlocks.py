"""A node is stuck exactly if it remains after all possible work, and cycles are real cycles."""

from hypothesis import given
from hypothesis import strategies as st

from agiraph.board import commands as c
from agiraph.board.board import Board, fold
from agiraph.board.deadlock import find_deadlocks, stuck
from agiraph.board.decide import decide
from agiraph.board.scheduler import SchedulingLimits, plan
from agiraph.board.wait_cycles import awaited_by
from agiraph.core.errors import Refused
from agiraph.core.ids import NodeId
from agiraph.core.models import NodeResult
from agiraph.core.specs import NodeSpec, WorkerSpec, WorkMode
from tests.unit.board.board_driver import BoardDriver

Step = tuple[str, int, int, int]
KINDS = st.sampled_from(["create", "create", "keep", "keep", "block", "block", "block", "fail"])
NUMBERS = st.integers(0, 7)
STEPS = st.lists(st.tuples(KINDS, NUMBERS, NUMBERS, NUMBERS), min_size=8, max_size=30)
EASY = SchedulingLimits(max_concurrent=2)


def do(board: Board, command: c.Command) -> Board:
    """Execute a command; a refused command changes nothing."""
    try:
        return fold(decide(board, command, 1.0), board)
    except Refused:
        return board


def at_rest(board: Board) -> Board:
    """Execute all actions of the scheduler."""
    while actions := plan(board, EASY):
        for action in actions:
            board = do(board, action)
    return board


def made(steps: list[Step], max_workers: int) -> Board:
    """Return a board on which these steps were tried, each with the nodes that existed then."""
    board = BoardDriver(max_workers=max_workers).board
    for number in range(max_workers):
        mode: WorkMode = "single_inference" if number == 2 else "multi_turn"
        spec = WorkerSpec(name=f"worker{number}", mode=mode)
        board = do(board, c.SpawnWorker(f"w{number}", spec))
    for number, step in enumerate(steps):
        board = at_rest(do(board, command_of(board, number, step)))
    return board


def command_of(board: Board, number: int, step: Step) -> c.Command:
    """Return the command of a step; its numbers are positions among the nodes and workers."""
    kind, first, second, third = step
    nodes = [node.id for node in board.nodes.values() if not node.has_ended] or [NodeId("none")]
    at_work = [n.id for n in board.nodes.values() if n.status in ("assigned", "running")] or nodes
    team = [worker.id for worker in board.team]
    some = tuple(dict.fromkeys(nodes[place % len(nodes)] for place in (second, third)))
    match kind:
        case "block":
            return c.BlockNode(at_work[first % len(at_work)], some)
        case "fail" if third == 0:
            return c.FailNode(nodes[first % len(nodes)], None, "no")
        case "keep":
            return c.CreateNode(f"n{number}", NodeSpec(task="t", worker=team[first % len(team)]))
        case _:
            parent = at_work[first % len(at_work)] if first < 4 and board.nodes else None
            needs = some[:1] if second < 2 and board.nodes else ()
            mode: WorkMode = "single_inference" if third == 7 else "multi_turn"
            return c.CreateNode(
                f"n{number}", NodeSpec(task="t", dependencies=needs, mode=mode), parent_node=parent
            )


def left_over(board: Board) -> set[str]:
    """Complete all working nodes and end all satisfied waits, until no node can continue."""
    while True:
        before = board
        for node in board.nodes.values():
            if node.status in ("assigned", "running"):
                board = do(board, c.CompleteNode(node.id, node.attempt, NodeResult(summary="done")))
            elif node.status == "blocked" and all(
                board.nodes[other].has_ended for other in awaited_by(board, node.id)
            ):
                board = do(board, c.UnblockNode(node.id))
        board = at_rest(board)
        if board == before:
            return {node.id for node in board.nodes.values() if not node.has_ended}


@given(STEPS, st.integers(1, 3))
def test_stuck_nodes_are_those_that_remain_when_all_others_finish(
    steps: list[Step], max_workers: int
) -> None:
    board = made(steps, max_workers)
    held_up = stuck(board)
    assert set(held_up) == left_over(board)
    for cycle in find_deadlocks(board):
        for node, after in zip(cycle.cycle, (*cycle.cycle[1:], cycle.cycle[0]), strict=True):
            assert held_up[node].by == after
            assert board.nodes[node].name in cycle.text
    assert bool(find_deadlocks(board)) == bool(held_up)


@given(STEPS, st.integers(1, 3))
def test_a_cycle_is_noted_once(steps: list[Step], max_workers: int) -> None:
    board = made(steps, max_workers)
    for found in find_deadlocks(board):
        noted = do(board, c.NoteDeadlock(found.cycle, found.text))
        assert noted.deadlocks == (*board.deadlocks, found.cycle)
        turned = (*found.cycle[1:], found.cycle[0])
        assert do(noted, c.NoteDeadlock(turned, "again")) == noted
        board = noted
